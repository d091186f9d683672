"""Liftings of counters that start again after their last value, and of what is carried when they do.

`select(x0 == 59, 0, x0 + 1), x1 + select(x0 == 59, 1, 0)` depends on no data: a run is its number of steps n. It takes
t steps to the last value, from anywhere below; what is left of n goes round. Machine integers reach the last value from
anywhere; there n is kept as it is up to all that t may be, and beyond that by what remains of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, names, walk
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import BOOL, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, choose, nought, operands
from rfactor.matcher.lifting.passing import Look, look
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_CONTRARY = OPPOSITE | {"==": "!=", "!=": "=="}
_WIDEST = 64
"""Bits of the widest integer."""


@dataclass(frozen=True, slots=True)
class _Clock:
    """x -> select(again, first, x + 1), where `again` holds of the last value, and of no other below it."""

    x: Var
    first: int
    last: int
    again: Expr
    beyond: bool
    """Whether it holds of all values above the last, too."""

    @property
    def period(self) -> int:
        """How many values it goes through."""
        return self.last - self.first + 1


def claims(update: Update) -> Iterator[Claim]:
    """The claim for a counter up that is set back at a literal, and others that are added to when it is."""
    if update.data:
        return
    for number in range(len(update.types)):
        clock = _clock(update, number)
        if clock is None:
            continue
        found = {i: look(update, i, clock.x) for i in range(len(update.types)) if i != number}
        carried = {i: carry for i, own in found.items() if own is not None and (carry := _carry(own, clock))}
        if len(carried) < len(found):
            continue
        if update.meaning is Meaning.MATH:
            lift = _unbounded(update, number, clock, carried)
            yield Claim(update, lift=lift, invariant=(apply("<=", nought(clock.x.type), Var(clock.x.type, "y0")),))
        else:
            claim = _machine(update, number, clock, carried)
            if claim is not None:
                yield claim


def _clock(update: Update, number: int) -> _Clock | None:
    x, component = update.accumulators[number], update.components[number]
    if not x.type.is_int or not isinstance(component, Op) or component.op != "select":
        return None
    again, first, onward = component.args
    if isinstance(onward, Const):
        again, first, onward = apply("not", again), onward, first
    condition = again.args[0] if isinstance(again, Op) and again.op == "not" else again
    if not isinstance(first, Const) or names(component) != {x.name} or not isinstance(condition, Op):
        return None
    if linear(onward) != ({x: 1}, 1) or condition.op not in _CONTRARY or condition.args[0].type != x.type:
        return None
    relation = condition.op if condition is again else _CONTRARY[condition.op]
    terms, constant = linear(apply("-", *condition.args))
    factor = terms.pop(x, 0)
    if terms or factor not in (1, -1):
        return None
    bound = int(-constant * factor)
    relation = relation if factor == 1 else MIRRORED.get(relation, relation)
    if relation not in ("==", ">=", ">"):
        return None
    last = bound + (relation == ">")
    if not int(x.type.min) <= int(first.value) <= last < int(x.type.max):
        return None
    return _Clock(x, int(first.value), last, again, relation != "==")


@dataclass(frozen=True, slots=True)
class _Carry:
    """What is added when the counter is set back."""

    added: Expr
    from_above: bool
    """Whether also where it is set back from above its last value."""


def _carry(own: Look, clock: _Clock) -> _Carry | None:
    """How something is added just where the counter is set back; None in another way."""
    bound = own.bound.value if isinstance(own.bound, Const) else None
    if own.added is None:
        return None
    if own.relation == "==" and bound == clock.last:
        return _Carry(own.added, from_above=False)
    above = (own.relation == ">=" and bound == clock.last) or (own.relation == ">" and bound == clock.last - 1)
    return _Carry(own.added, from_above=True) if above and clock.beyond else None


def _unbounded(update: Update, number: int, clock: _Clock, carried: dict[int, _Carry]) -> Lift:
    """State: the number of steps."""
    x, type_ = clock.x, clock.x.type
    steps, zero, one = Var(type_, "y0"), nought(type_), Const(type_, 1)
    last, period = Const(type_, clock.last), Const(type_, clock.period)
    there = apply("-", last, x)
    if clock.beyond:
        there = apply("max", there, zero)
    onward = apply("<=", steps, there)
    if not clock.beyond:
        onward = apply("or", onward, apply("<", last, x))
    left = apply("-", apply("-", steps, there), one)
    again = tidy(apply("+", apply("%", left, period), Const(type_, clock.first)))
    applied: dict[int, Expr] = {number: choose(onward, apply("+", x, steps), again)}
    for i, carry in carried.items():
        own = update.accumulators[i]
        at_first = one if carry.from_above or not clock.beyond else choose(apply("<", last, x), zero, one)
        times = choose(onward, zero, apply("+", apply("//", left, period), at_first))
        applied[i] = apply("+", own, tidy(apply("*", carry.added, cast(own.type, times))))
    total = apply("+", Var(type_, "x0"), steps)
    return Lift((type_,), (one,), (total,), (zero,), tuple(applied[i] for i in sorted(applied)))


def _machine(update: Update, number: int, clock: _Clock, carried: dict[int, _Carry]) -> Claim | None:
    """State: whether there were more steps than the type has values; if not, how many; how many but for whole rounds;
    the whole rounds, where they are counted.

    All is said in a type so wide that nothing in it overflows.
    """
    x, turn, period = clock.x, 1 << clock.x.type.bits, clock.period
    counts = {update.types[i].bits for i in carried}
    bits = max(counts, default=x.type.bits)
    if 2 * bits > _WIDEST or len(counts) > 1 or bits < x.type.bits:
        return None
    if clock.beyond and not all(carry.from_above for carry in carried.values()):
        return None  # the solver does not end
    if not all(isinstance(c.added, Const) and c.added.value in (1, -1) for c in carried.values()):
        return None
    wide = parse_type(f"i{2 * bits}")

    def literal(value: int) -> Const:
        return Const(wide, value)

    def within(value: Expr, size: int = period, first: int = 0) -> Expr:
        """A number at most `size` below or above the `size` numbers from `first` as one of them."""
        low = choose(apply("<", value, literal(first)), apply("+", value, literal(size)), value)
        return choose(apply("<=", literal(first + size), value), apply("-", value, literal(size)), low)

    types = (BOOL, wide, wide, wide) if carried else (BOOL, wide, wide)
    (some, steps, left, *rounds), (far, more, new, *turns) = operands("x", types), operands("y", types)
    here, last = cast(wide, x), literal(clock.last)
    ahead = apply("-", last, here)

    def to_last(then: Callable[[Expr], Expr]) -> Expr:
        """Something of the number of steps to the last value."""
        below = apply("<=", here, last)
        if not clock.beyond:
            return choose(below, then(ahead), then(apply("+", ahead, literal(turn))))
        above = then(literal(0))
        if any(isinstance(node, Op) and node.type == x.type for node in walk(clock.again)):
            # `x + 1 > last` does not hold of the greatest value of the type, from which a step leads to the least.
            greatest = apply("==", here, literal(int(x.type.max)))
            above = choose(greatest, then(literal(clock.last - int(x.type.min) + 1)), above)
        return choose(below, then(ahead), above)

    def remainder(steps: Expr) -> Expr:
        return tidy(apply("%", apply("+", steps, literal(1)), literal(period)))

    there = to_last(lambda steps: steps)
    met = apply("or", far, apply("<", there, more))
    sum_ = apply("+", here, more)
    onward = choose(apply("<=", sum_, literal(int(x.type.max))), sum_, apply("-", sum_, literal(turn)))
    # The remainder of there + 1, where it is known without one.
    inside = apply("and", apply("<", literal(clock.first), here), apply("<=", here, last))
    rest = remainder(there) if carried or not clock.beyond else to_last(remainder)
    until = choose(inside, apply("+", ahead, literal(1)), rest)
    again = apply("+", within(apply("-", new, until)), literal(clock.first))
    ended = choose(met, again, onward)
    # The solver is told of the range by an operation that changes nothing.
    ended = apply("max", apply("min", ended, literal(int(x.type.max))), literal(int(x.type.min)))
    total = apply("+", steps, more)
    beyond = apply("or", apply("or", some, far), apply("<", literal(turn - 1), total))
    applied: dict[int, Expr] = {number: cast(x.type, ended)}
    sum_ = apply("+", left, new)
    operator = [beyond, choose(beyond, literal(0), total), within(sum_)]
    data, identity = [FALSE, literal(1), literal(1 % period)], [FALSE, literal(0), literal(0)]
    kept = [
        apply("<=", literal(0), more),
        apply("<=", more, literal(turn - 1)),
        apply("<=", literal(0), new),
        apply("<=", new, literal(period - 1)),
        apply("or", apply("not", far), apply("==", more, literal(0))),
    ]
    exact = apply("==", apply("%", more, literal(period)), new)
    if carried:
        (one,), (other,) = rounds, turns
        all_ = 1 << bits
        over = choose(apply("<=", literal(period), sum_), literal(1), literal(0))
        operator.append(within(apply("+", apply("+", one, other), over), all_))
        data.append(literal(1 // period))
        identity.append(literal(0))
        kept += [apply("<=", literal(0), other), apply("<=", other, literal(all_ - 1))]
        exact = apply("==", more, apply("+", apply("*", other, literal(period)), new))
        before = apply("//", apply("+", there, literal(1)), literal(period))
        short = choose(apply("<", new, until), literal(0), literal(1))
        for i, carry in carried.items():
            own, added = update.accumulators[i], carry.added
            assert isinstance(added, Const)
            times = choose(met, within(apply("+", apply("-", other, before), short), all_), literal(0))
            value = within(apply("+" if added.value == 1 else "-", cast(wide, own), times), all_, int(own.type.min))
            value = apply("max", apply("min", value, literal(int(own.type.max))), literal(int(own.type.min)))
            applied[i] = cast(own.type, value)
    kept.append(apply("or", far, exact))
    everything = tuple(applied[i] for i in sorted(applied))
    return Claim(
        update, lift=Lift(types, tuple(data), tuple(operator), tuple(identity), everything), invariant=tuple(kept)
    )
