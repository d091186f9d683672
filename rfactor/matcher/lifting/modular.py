"""Liftings of affine steps under a remainder: `(x*31 + a) % 1009`, `(x + a) & 7`, `(2*x + bit) % k`.

Remainders may be left out inside a remainder by the same modulus, if nothing wraps or the modulus is a power of two. A
run of at least one step is then x -> (x*m + v) % modulus.

Where a step from anywhere may wrap, one from a remainder may not: `(x*31 + u32(byte)) % 1009`, the sums of Adler and
Fletcher. A run is then its first data, for the first step, and how the others act without their remainders, by the
inner update's own action, whose states may be reduced as it is made of sums and products alone. Remainders by a power
of two, and masks of low bits, are what they are however steps wrap: there the inner action is enough.

Where runs put together need not fit the type (slopes of `(x*31 + u32(byte)) % 1000003`), they are kept in 64 bits.

A narrow integer whose steps are done in a wider type, `u32((u64(x)*31 + u64(a)) % p)`, is lifted as the wider is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, names, substitute, variables, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Exprs, Inner, bind, choose, joined, marked, nought, operands
from rfactor.matcher.lifting.semiring import OFFSET, affine, semirings
from rfactor.matcher.terms import tidy
from rfactor.prover.bounded import without_overflow
from rfactor.prover.claim import Claim, Lift


def settled(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for integers that all end in a remainder by one literal."""
    parts = [remainder(e) if isinstance(e, Op) else None for e in update.components]
    if None in parts or not all(t.is_int for t in update.types):
        return
    moduli = {part[1] for part in parts if part is not None}
    (modulus, *others) = moduli
    if others or not isinstance(modulus, Const) or modulus.value < 2:
        return
    nearby = [apply("<=", x, Const(x.type, int(modulus.value) - 1)) for x in update.accumulators]
    nearby += [apply("<=", nought(x.type), x) for x in update.accumulators]
    wraps = update.meaning is Meaning.WRAP
    low_bits = wraps and int(modulus.value) & (int(modulus.value) - 1) == 0
    if wraps and not low_bits and _may_overflow([p[0] for p in parts if p is not None], nearby):
        return  # a step from a remainder may wrap too
    plain = replace(update, components=tuple(without(p[0], modulus) for p in parts if p is not None))
    action = _polynomial(plain, inner, modulus.type)
    if action is None:
        return
    if low_bits:
        yield Claim(update, lift=_of_low_bits(update, action, modulus))
        return
    claim = _claim(update, action, modulus)
    assert claim.lift is not None
    reduced = (*claim.invariant, *bind(claim.invariant, (), operands("x", claim.lift.types)))
    if wraps and modulus.type.bits <= 32 and _may_overflow(claim.lift.operator, reduced):
        wide = Type(modulus.type.code, 64)
        widened = [_in_type(wide, e, update) for e in plain.components]
        exprs = tuple(e for e in widened if e is not None)
        if len(exprs) < len(widened):
            return
        action = _polynomial(Update(exprs, (wide,) * len(exprs), update.constants, update.meaning), inner, wide)
        if action is None:
            return
        claim = _claim(update, action, Const(wide, modulus.value))
    yield claim


def _polynomial(update: Update, inner: Inner, type_: Type) -> Action | None:
    """How an update acts, if by sums and products of one type alone."""
    action = inner(update)
    if action is None or action.invariant or action.assumes or {*action.types} != {type_}:
        return None
    return action if all(map(_is_polynomial, _every(action))) else None


def _in_type(wide: Type, expr: Expr, update: Update) -> Expr | None:
    """A sum of products that does not overflow, taken in a wider type; None for others."""
    own = {x.name for x in update.accumulators}
    if names(expr).isdisjoint(own):
        return cast(wide, expr)
    if isinstance(expr, Var):
        return Var(wide, expr.name)
    if not isinstance(expr, Op) or expr.op not in ("+", "-", "*", "neg"):
        return None
    args = [_in_type(wide, arg, update) for arg in expr.args]
    return None if None in args else apply(expr.op, *(arg for arg in args if arg is not None))


def _claim(update: Update, action: Action, modulus: Const) -> Claim:
    lift = _settled(update, action, modulus)
    return Claim(update, lift=lift, invariant=_reduced(operands("y", lift.types)[-len(action.types) :], modulus))


def _reduced(states: Exprs, modulus: Const) -> Exprs:
    """That states are remainders."""
    largest = Const(modulus.type, int(modulus.value) - 1)
    below = [apply("<=", state, largest) for state in states]
    above = [apply("<=", nought(state.type), state) for state in states if state.type.is_signed]
    return (*below, *above)


def _may_overflow(exprs: Sequence[Expr], given: Sequence[Expr]) -> bool:
    """Whether parts of expressions may not fit their type."""
    found = without_overflow(exprs, given)
    return found is None or not found.exact


def _every(action: Action) -> Iterator[Expr]:
    for exprs in (action.operator, action.identity, action.apply):
        yield from exprs


def _is_polynomial(expr: Expr) -> bool:
    return expr.type.is_int and all(not isinstance(n, Op) or n.op in ("+", "-", "*", "neg") for n in walk(expr))


def _of_low_bits(update: Update, action: Action, modulus: Const) -> Lift:
    """State: whether there was an element, and the inner action, of which the low bits are right though it wraps."""
    types = (BOOL, *action.types)
    (some, *first), (more, *second) = operands("x", types), operands("y", types)
    runs = joined(some, more, action.combine(first, second), first, second)
    x = update.accumulators
    after = [tidy(apply("%", e, modulus)) for e in action.act(x, second)]
    applied = tuple(choose(more, new, old) for new, old in zip(after, x, strict=True))
    return Lift(types, (TRUE, *action.data), (apply("or", some, more), *runs), (FALSE, *action.identity), applied)


def _settled(update: Update, action: Action, modulus: Const) -> Lift:
    """State: whether there was an element, its data, and the inner action of those after it, reduced.

    The action's type may be wider than the update's.
    """
    type_, data = modulus.type, update.data
    wide = (BOOL, *(v.type for v in data), *action.types)
    cut = 1 + len(data)
    first, second = operands("x", wide), operands("y", wide)
    some, start, run = first[0], first[1:cut], first[cut:]
    more, next_start, next_run = second[0], second[1:cut], second[cut:]

    def reduced(exprs: Sequence[Expr]) -> Exprs:
        return tuple(tidy(apply("%", e, modulus)) for e in exprs)

    later = {v.name: datum for v, datum in zip(data, next_start, strict=True)}
    step = reduced(action.combine(run, reduced(marked(action.data, later))))
    through = reduced(action.combine(step, next_run))
    operator = (
        apply("or", some, more),
        *(choose(some, a, b) for a, b in zip(start, next_start, strict=True)),
        *joined(some, more, through, run, next_run),
    )
    x = update.accumulators
    first_step = tuple(cast(type_, e) for e in marked(update.components, later))
    after = reduced(action.act(first_step, next_run))
    applied = tuple(choose(more, cast(old.type, new), old) for new, old in zip(after, x, strict=True))
    identity = reduced(action.identity)
    empty = (FALSE, *(nought(v.type) for v in data), *identity)
    return Lift(wide, (TRUE, *data, *identity), operator, empty, applied)


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that ends in a remainder by a constant."""
    (type_, *more) = update.types
    component = update.components[0]
    if more or not type_.is_int or not isinstance(component, Op):
        return
    parts = remainder(component)
    if parts is None or not names(parts[1]) <= update.constants:
        return
    inside, modulus = parts
    plain = replace(update, components=(without(inside, modulus),))
    rows = affine(plain, next(semirings(type_, update.meaning)))
    if rows is None:
        return
    slope = rows[0].get(0, nought(type_))
    offset = rows[0].get(OFFSET, nought(type_))
    yield Claim(update, lift=_lifting(slope, offset, modulus))


def widened(update: Update) -> Iterator[Claim]:
    """The claim for one narrow integer that is a remainder in a wider type, where nothing overflows."""
    (type_, *more) = update.types
    component = update.components[0]
    if more or not type_.is_int or update.meaning is not Meaning.WRAP:
        return
    if not isinstance(component, Op) or component.op != "cast" or not isinstance(component.args[0], Op):
        return
    parts, wide = remainder(component.args[0]), component.args[0].type
    if parts is None or not isinstance(parts[1], Const) or not wide.is_int or wide.bits <= type_.bits:
        return
    if not wide.min <= type_.min <= type_.max <= wide.max:
        return
    (x,), own = update.accumulators, Var(wide, "x0")
    inside = exchange(without(parts[0], parts[1]), {cast(wide, x): own})
    if x in variables(inside):
        return
    rows = affine(replace(update, types=(wide,), components=(inside,)), next(semirings(wide, update.meaning)))
    if rows is None:
        return
    lift = _lifting(rows[0].get(0, nought(wide)), rows[0].get(OFFSET, nought(wide)), parts[1])
    applied = cast(type_, substitute(lift.apply[0], {own.name: cast(wide, x)}))
    largest = Const(wide, int(parts[1].value) - 1)
    states = operands("y", lift.types)[1:]
    bounds = [apply("<=", state, largest) for state in states]
    bounds += [apply("<=", nought(wide), state) for state in states if wide.is_signed]
    yield Claim(update, lift=replace(lift, apply=(applied,)), invariant=tuple(bounds))


def remainder(expr: Op) -> tuple[Expr, Expr] | None:
    """What is reduced, and by what; a mask of low bits is a remainder."""
    if expr.op == "%":
        return expr.args[0], expr.args[1]
    if expr.op == "&":
        for mask, other in (expr.args[::-1], expr.args):
            if isinstance(mask, Const) and 0 < mask.value < mask.type.max:
                size = int(mask.value) + 1
                return None if size & (size - 1) else (other, Const(mask.type, size))
    return None


def remainders(node: Expr) -> Expr | None:
    """A mask of low bits as a remainder, of which more is known."""
    parts = remainder(node) if isinstance(node, Op) and node.op == "&" else None
    return None if parts is None else apply("%", *parts)


def without(expr: Expr, modulus: Expr) -> Expr:
    """`expr` with remainders by the modulus left out of its sums and products."""
    if not isinstance(expr, Op):
        return expr
    if expr.op in ("+", "-", "*", "neg"):
        return Op(expr.type, expr.op, tuple(without(arg, modulus) for arg in expr.args))
    parts = remainder(expr)
    return without(parts[0], modulus) if parts is not None and parts[1] == modulus else expr


def _lifting(slope: Expr, offset: Expr, modulus: Expr) -> Lift:
    """State: whether there was an element, the offset, and the slope unless it is always 1."""
    type_ = modulus.type
    one = Const(type_, 1)
    scales = slope != one

    def reduced(value: Expr) -> Expr:
        return tidy(apply("%", value, modulus))

    some, added, factor = Var(BOOL, "x0"), Var(type_, "x1"), Var(type_, "x2")
    more, next_added, next_factor = Var(BOOL, "y0"), Var(type_, "y1"), Var(type_, "y2")

    def through(value: Expr) -> Expr:
        return reduced(apply("+", apply("*", value, next_factor) if scales else value, next_added))

    applied = choose(more, through(Var(type_, "x0")), Var(type_, "x0"))
    types, data = (BOOL, type_), (TRUE, reduced(offset))
    operator = (apply("or", some, more), *joined(some, more, [through(added)], [added], [next_added]))
    identity: tuple[Expr, ...] = (FALSE, nought(type_))
    if not scales:
        return Lift(types, data, operator, identity, (applied,))
    product = reduced(apply("*", factor, next_factor))
    return Lift(
        (*types, type_),
        (*data, reduced(slope)),
        (*operator, *joined(some, more, [product], [factor], [next_factor])),
        (*identity, one),
        (applied,),
    )
