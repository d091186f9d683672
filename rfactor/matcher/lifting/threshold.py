"""Liftings of flags that every step must pass, or one may: balanced brackets, did it ever exceed, is it sorted.

`x1 and (x0 + a >= 0)` beside `x0 + a` asks of x0 that it is at least what each step asks, less what was added before:
all steps of a run together ask for the greatest. So they do where x0 is a maximum or a minimum, except that a step
there may be passed, or failed, whatever x0 was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from rfactor.ir.expr import Const, Expr, Op, Var, apply, conjunction, const, names, substitute, transform
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, chain, free_of
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY


def _as_logic(node: Expr) -> Expr | None:
    """A choice with a truth value as a branch, by `and` and `or`."""
    if not isinstance(node, Op) or node.op != "select" or not node.type.is_bool:
        return None
    condition, true, false = node.args
    return choose(apply("not", condition), false, true) if false == TRUE else choose(condition, true, false)


def _if(condition: Expr, then: Expr) -> Expr:
    """That something holds where the condition does."""
    return choose(condition, then, TRUE)


@dataclass(slots=True)
class Asked:
    """What one step asks of the number: relations with thresholds, and conditions on the data alone."""

    thresholds: dict[str, Expr] = field(default_factory=dict)
    where: dict[str, Expr] = field(default_factory=dict)
    """Where on data it asks so."""
    free: list[Expr] = field(default_factory=list)


def claims(update: Update) -> Iterator[Claim]:
    """The claims for a number that is added to, or an extremum, and flags that compare it."""
    flags = [i for i, type_ in zip(range(len(update.types)), update.types, strict=True) if type_.is_bool]
    numbers = [i for i in range(len(update.types)) if i not in flags]
    if len(numbers) != 1 or not flags or names(update.components[numbers[0]]) & {f"x{i}" for i in flags}:
        return
    type_ = update.types[numbers[0]]
    for op in ("+", "max", "min"):
        if op == "+" and type_.is_int and update.meaning is Meaning.WRAP:
            continue  # sums that wrap keep no order
        lifts = [lift for flag in flags if (lift := Reader(update, numbers[0], flag, op).lift()) is not None]
        if len(lifts) == len(flags):
            yield Claim(update, lift=_together(lifts, [*numbers, *flags]))


def _together(lifts: Sequence[Lift], order: Sequence[int]) -> Lift:
    """Liftings of one number with a flag each, whose first component is the number's, as one.

    `order`: which components of the update the number and the flags are.
    """
    types = [lifts[0].types[0]]
    data, operator, identity = ([part[0]] for part in (lifts[0].data, lifts[0].operator, lifts[0].identity))
    applied = {order[0]: lifts[0].apply[0]}
    for flag, lift in zip(order[1:], lifts, strict=True):
        places = {0: 0} | {i: len(types) - 1 + i for i in range(1, len(lift.types))}
        right: dict[str, Expr] = {f"y{i}": Var(t, f"y{places[i]}") for i, t in zip(places, lift.types, strict=True)}
        applied[flag] = substitute(lift.apply[1], right)
        operator += [renumbered(e, places) for e in lift.operator[1:]]
        types += lift.types[1:]
        data += lift.data[1:]
        identity += lift.identity[1:]
    return Lift(tuple(types), tuple(data), tuple(operator), tuple(identity), tuple(applied[i] for i in sorted(applied)))


class Reader:
    def __init__(self, update: Update, number: int, flag: int, op: str) -> None:
        self.update, self.number, self.flag, self.op = update, number, flag, op
        self.type: Type = update.types[number]
        self.x, self.f = update.accumulators[number], update.accumulators[flag]
        self.free = free_of(accumulator_names(update))

    def lift(self) -> Lift | None:
        """The lifting of the number and the flag, in this order."""
        added = self.operand(self.update.components[self.number])
        found = self.condition(self.update.components[self.flag])
        if added is None or found is None:
            return None
        asked, all_ = found
        if not asked.thresholds:
            return None
        relations = list(asked.thresholds)
        # What does not depend on the number: the data alone, or one extremum against another.
        decides = bool(asked.free) or any(self.fails(r) for r in relations)
        # A flag tells whether a step asked: data may say that it does not, and where none did there is no threshold
        # that an infinite number passes strictly.
        told = [r for r in relations if asked.where[r] != TRUE or (self.type.is_float and len(r) == 1)]
        types = (self.type, *(self.type for _ in relations), *([BOOL] if decides else []), *(BOOL for _ in told))
        first, second = ([Var(t, f"{v}{i}") for i, t in zip(range(len(types)), types, strict=True)] for v in "xy")
        start = len(types) - len(told)
        asking = {r: (first[start + i], second[start + i]) for i, r in enumerate(told)}
        operator: list[Expr] = [apply(self.op, first[0], second[0])]
        at = 1 + len(relations)
        passed: list[Expr] = [first[at], second[at]] if decides else []
        kept: list[Expr] = []
        flags: list[Expr] = []
        for relation, one, other in zip(relations, first[1:], second[1:], strict=False):
            asked_before, asks_now = asking.get(relation, (TRUE, TRUE))
            asks = other if self.op != "+" else self.less(other, first[0], relation)
            stronger: Expr = apply("max" if relation[0] == ">" else "min", one, asks)
            fine: Expr = apply(relation, first[0], other)
            if self.fails(relation):
                if self.unpassed(relation):  # no element before: the end asks no more than the step did of itself
                    fine = apply("or", fine, apply("==", first[0], self.end(lowest=relation[0] == "<")))
                passed.append(_if(asks_now, fine))
            elif self.op != "+":
                stronger = choose(fine, one, stronger)
            if relation in told:
                known = self.op != "+" and not self.fails(relation)
                flags.append(
                    apply("or", asked_before, apply("and", asks_now, apply("not", fine)) if known else asks_now)
                )
            operator.append(choose(asked_before, choose(asks_now, stronger, one), asks))
            kept.append(_if(asks_now, apply(relation, self.x, other)))
        if decides:
            operator.append(conjunction(*passed))
        operator += flags
        data = [added, *asked.thresholds.values(), *([conjunction(*asked.free)] if decides else [])]
        data += [asked.where[r] for r in told]
        least = [const(self.type, 0) if r in told else self.least_asked(r) for r in relations]
        identity = [self.nothing(self.op), *least, *([TRUE] if decides else []), *(FALSE for _ in told)]
        held = conjunction(*kept, *([second[at]] if decides else []))
        number = apply(self.op, self.x, second[0])
        flag = apply("and", self.f, held) if all_ else apply("or", self.f, apply("not", held))
        return Lift(types, tuple(data), tuple(operator), tuple(identity), (number, flag))

    def fails(self, relation: str) -> bool:
        """Whether the extremum alone may fail the relation, whatever the number was; else it may alone pass it."""
        return (self.op, relation[0]) in (("max", "<"), ("min", ">"))

    def unpassed(self, relation: str) -> bool:
        """Whether a threshold, an infinity that data may be, is passed by no number, the extremum of nothing too."""
        return self.type.is_float and len(relation) == 1 and self.fails(relation)

    def nothing(self, op: str) -> Expr:
        """What leaves the number as it is."""
        return const(self.type, 0) if op == "+" else self.end(lowest=op == "max")

    def less(self, bound: Expr, other: Expr, relation: str) -> Expr:
        """The threshold for a number to which `other` is added; an unsigned one passes all that are not above 0."""
        above = self.counted and relation == ">="
        return apply("-", apply("max", bound, other) if above else bound, other)

    @property
    def counted(self) -> bool:
        """Whether the number is an unsigned sum."""
        return self.op == "+" and self.type.code == "uint"

    def least_asked(self, relation: str) -> Expr:
        """A threshold that every number passes, strict relations aside."""
        if self.counted and relation == ">=":
            return const(self.type, 0)
        return self.end(lowest=relation[0] == ">")

    def end(self, *, lowest: bool) -> Expr:
        if self.type.is_int and self.update.meaning is Meaning.MATH:
            return MINUS_INFINITY if lowest else INFINITY
        return Const(self.type, self.type.min if lowest else self.type.max)

    def without(self, expr: Expr) -> Expr:
        """`expr` where the number is 0."""
        return simplify(substitute(expr, {self.x.name: const(self.type, 0)}))

    def operand(self, component: Expr) -> Expr | None:
        """h of `x + h`, `max(x, h)` or `min(x, h)`."""
        if self.op == "+":  # whether it is that, the step's proof says
            return self.without(component) if self.x.name in names(component) else None
        if not isinstance(component, Op) or component.op != self.op:
            return None
        parts = [part for part in chain(self.op, component) if part != self.x]
        if len(parts) + 1 != len(chain(self.op, component)) or not all(map(self.free, parts)):
            return None
        return reduce(lambda a, b: apply(self.op, a, b), parts)

    def condition(self, component: Expr) -> tuple[Asked, bool] | None:
        """What a step that makes the flag `component` asks, and whether all steps must be passed (`and`), or one failed
        is what counts (`or`)."""
        component = transform(component, _as_logic)
        for op in ("and", "or"):
            parts = chain(op, component) if isinstance(component, Op) and component.op == op else []
            rest = [part for part in parts if part != self.f]
            if len(rest) + 1 == len(parts) and not any(self.f.name in names(part) for part in rest):
                asked = Asked()
                if all(self.ask(part, asked, op == "and") for part in rest):
                    return asked, op == "and"
        return None

    def ask(self, expr: Expr, asked: Asked, positive: bool, guard: Expr = TRUE) -> bool:
        """Enter what `expr`, or what is not it, asks where the guard holds; whether it could be read."""
        if self.free(expr):
            asked.free.append(_if(guard, expr if positive else apply("not", expr)))
            return True
        if not isinstance(expr, Op):
            return False
        if expr.op == "not":
            return self.ask(expr.args[0], asked, not positive, guard)
        if expr.op == ("and" if positive else "or"):
            return all(self.ask(part, asked, positive, guard) for part in expr.args)
        if expr.op in ("and", "or"):
            for one, other in (expr.args, expr.args[::-1]):
                if self.free(one):
                    return self.ask(
                        other, asked, positive, choose(guard, apply("not", one) if positive else one, FALSE)
                    )
            return False
        if expr.op not in OPPOSITE or expr.args[0].type != self.type:
            return False
        relation = expr.op if positive else OPPOSITE[expr.op]
        left, right = expr.args
        if self.free(left):
            left, right, relation = right, left, MIRRORED[relation]
        # max(a, b) <= c asks that of both.
        if isinstance(left, Op) and left.op in ("min", "max") and self.free(right):
            if (left.op == "max") != (relation[0] == "<"):
                return False
            return all(self.ask(apply(relation, part, right), asked, True, guard) for part in left.args)
        if isinstance(left, Op) and left.op == "abs" and self.free(right):
            low, high = apply("neg", right), left.args[0]
            ends = apply(relation, high, right), apply(MIRRORED[relation], high, low)
            return relation[0] == "<" and all(self.ask(end, asked, True, guard) for end in ends)
        return self.threshold(relation, left, right, asked, guard)

    def threshold(self, relation: str, left: Expr, right: Expr, asked: Asked, guard: Expr) -> bool:
        """Enter `x relation t` for a comparison that is that."""
        if left == self.x and self.free(right) and not self.counted:
            bound = right
        elif self.type.is_int and self.update.meaning is Meaning.WRAP:
            return False
        else:
            # The literals stay as they are: their sum may be no value of the type.
            terms, _ = linear(apply("-", left, right))
            factor = terms.pop(self.x, 0)
            if factor not in (1, -1) or not all(map(self.free, terms)):
                return False
            low, high = (self.without(side) for side in ((left, right) if factor == 1 else (right, left)))
            relation = relation if factor == 1 else MIRRORED[relation]
            if self.counted and relation == ">":
                high, relation = apply("+", high, const(self.type, 1)), ">="
            bound = self.less(high, low, relation)
        if len(relation) == 1 and self.type.is_int and self.update.meaning is Meaning.WRAP:
            # No strict relation is passed by every number of the type.
            asked.free.append(_if(guard, apply("!=", bound, self.end(lowest=relation == "<"))))
            bound = apply("-" if relation == "<" else "+", bound, const(self.type, 1))
            relation += "="
        if self.unpassed(relation):
            asked.free.append(_if(guard, apply("!=", bound, self.end(lowest=relation[0] == "<"))))
        if relation in asked.thresholds:
            before, where = asked.thresholds[relation], asked.where[relation]
            both = apply("max" if relation[0] == ">" else "min", before, bound)
            bound, guard = choose(where, choose(guard, both, before), bound), choose(where, TRUE, guard)
        asked.thresholds[relation], asked.where[relation] = bound, guard
        return True
