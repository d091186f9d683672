"""Liftings of sums that start afresh, with what was met there: the best segment that ends here, and where it began.

`x0 := max(x0 + a, b)`, and x1 is kept where `x0 + a > b`, else replaced. A run adds s and gives at least m, which the
data reached that p goes with: x1 is kept where x0 + s > m, else it is p.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import MIRRORED, OPPOSITE, Const, Expr, Op, Var, apply, const, substitute
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, nought
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one number that adds up or starts afresh, and others that are kept or replaced with it."""
    if len(update.types) < 2:
        return
    for number in range(len(update.types)):
        type_ = update.types[number]
        exact = type_.is_float or (type_.is_int and update.meaning is Meaning.MATH)
        if exact:
            lift = _Reader(update, number).lift()
            if lift is not None:
                yield Claim(update, lift=lift)


class _Reader:
    def __init__(self, update: Update, number: int) -> None:
        self.update, self.number = update, number
        self.type: Type = update.types[number]
        self.x = update.accumulators[number]
        self.free = free_of(accumulator_names(update))

    def lift(self) -> Lift | None:
        shape = self.number_shape()
        if shape is None:
            return None
        op, sum_, fresh = shape
        added = self.added(sum_)
        payloads = [i for i in range(len(self.update.types)) if i != self.number]
        replaced = [self.replaced(i, sum_, fresh) for i in payloads]
        relations = {found[0] for found in replaced if found is not None}
        if added is None or None in replaced or len(relations) != 1:
            return None
        (relation,) = relations
        if (relation[0] == ">") != (op == "max"):
            return None
        types = (self.type, self.type, *(self.update.types[i] for i in payloads))
        (s, m, *own), (more, least, *other) = (
            [Var(t, f"{v}{i}") for i, t in zip(range(len(types)), types, strict=True)] for v in "xy"
        )
        kept = apply(relation, apply("+", m, more), least)
        operator = (
            apply("+", s, more),
            apply(op, apply("+", m, more), least),
            *(choose(kept, a, b) for a, b in zip(own, other, strict=True)),
        )
        total = apply("+", self.x, more)
        held = apply(relation, total, least)
        applied: dict[int, Expr] = {self.number: apply(op, total, least)}
        for i, new in zip(payloads, other, strict=True):
            applied[i] = choose(held, self.update.accumulators[i], new)
        data = (tidy(added), tidy(fresh), *(tidy(found[1]) for found in replaced if found is not None))
        identity = (const(self.type, 0), self.nothing(op), *(nought(self.update.types[i]) for i in payloads))
        return Lift(types, data, operator, identity, tuple(applied[i] for i in range(len(types) - 1)))

    def nothing(self, op: str) -> Expr:
        if self.type.is_int:
            return MINUS_INFINITY if op == "max" else INFINITY
        return Const(self.type, self.type.min if op == "max" else self.type.max)

    def number_shape(self) -> tuple[str, Expr, Expr] | None:
        """(max or min, x + a, b) of the number's component."""
        component = extremal(self.update.components[self.number], self.free)
        if not isinstance(component, Op) or component.op not in ("max", "min"):
            return None
        first, second = component.args
        sum_, fresh = (second, first) if self.free(first) else (first, second)
        return (component.op, sum_, fresh) if self.free(fresh) else None

    def added(self, sum_: Expr) -> Expr | None:
        """What is added to x; None where another thing is done to it."""
        terms, _ = linear(sum_)
        if terms.get(self.x) != 1 or not all(self.free(atom) for atom in terms if atom != self.x):
            return None
        return tidy(substitute(sum_, {self.x.name: const(self.type, 0)}))

    def replaced(self, i: int, sum_: Expr, fresh: Expr) -> tuple[str, Expr] | None:
        """(relation under which x_i is kept: x + a relation b, what it is replaced by)."""
        component, own = self.update.components[i], self.update.accumulators[i]
        if not isinstance(component, Op) or component.op != "select":
            return None
        condition, true, false = component.args
        if not isinstance(condition, Op) or condition.op not in OPPOSITE:
            return None
        relation = condition.op
        if false == own:
            true, false, relation = false, true, OPPOSITE[relation]
        if true != own or not self.free(false) or condition.args[0].type != self.type:
            return None
        compared, wanted = linear(apply("-", *condition.args)), linear(apply("-", sum_, fresh))
        if compared == wanted:
            return relation, false
        back = linear(apply("-", fresh, sum_))
        return (MIRRORED[relation], false) if compared == back else None
