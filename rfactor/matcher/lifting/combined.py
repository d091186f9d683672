"""Liftings of running sums that are read together, as one: did one ever catch up with the other, and where.

In `x0 + a, x1 + b, x2 or x0 + a >= x1 + b` the flag reads x0 - x1 alone, which is a running sum itself. A run is the
sums, and how the rest acts beside that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rfactor.ir.expr import Expr, Op, Var, apply, const, names, rebuild, substitute
from rfactor.ir.linear import Coefficient, from_linear, linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import OPPOSITE
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, Exprs, Inner, bind, operands
from rfactor.matcher.terms import accumulator_names, free_of
from rfactor.prover.claim import Claim, Lift

Combination = dict[int, Coefficient]
"""What running sums are multiplied by and added up to."""
_NAME = "all together"
"""What the combination is called; no name of a user's has a space."""
_RELATIONS = frozenset((*OPPOSITE, "==", "!="))


class _Unread(Exception):
    """The rest reads something else of the sums."""


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for signed numbers that keep an order, two or more of them sums, and what reads these together."""
    exact = [t.is_float or (t.code == "int" and update.meaning is Meaning.MATH) for t in update.types]
    added = {i: e for i, fine in enumerate(exact) if fine and (e := _added(update, i)) is not None}
    rest = [i for i in range(len(update.types)) if i not in added]
    if len(added) < 2 or not rest or len({update.types[i] for i in added}) != 1:
        return
    type_ = update.types[next(iter(added))]
    one = _Together(update, type_, {x.name: i for i, x in enumerate(update.accumulators) if i in added})
    try:
        read = [one.read(update.components[i]) for i in rest]
    except _Unread:
        return
    if not one.combination:
        return
    places = {f"x{old}": Var(update.types[old], f"x{new}") for new, old in enumerate(rest, 1)}
    sum_ = one.of(added)
    x0 = Var(type_, "x0")
    components = (apply("+", x0, sum_), *(substitute(e, places | {_NAME: x0}) for e in read))
    types = (type_, *(update.types[i] for i in rest))
    action = inner(Update(components, types, update.constants, update.meaning))
    if action is None:
        return
    at = _sum_in(action)
    if at is None:
        return
    kept = [j for j in range(len(action.types)) if j != at]
    types = (*(type_ for _ in added), *(action.types[j] for j in kept))
    x, own, other = update.accumulators, operands("x", types), operands("y", types)
    mine, more = (dict(zip(added, state, strict=False)) for state in (own, other))

    def with_sum(state: Exprs) -> Exprs:
        """The action's state: the sum that all are read as is made of them."""
        parts = dict(zip(kept, state[len(added) :], strict=True)) | {at: one.of(dict(zip(added, state, strict=False)))}
        return tuple(parts[j] for j in range(len(action.types)))

    joined = action.combine(with_sum(own), with_sum(other))
    after = action.act((one.of(dict(enumerate(x))), *(x[i] for i in rest)), with_sum(other))
    applied = dict(zip(rest, after[1:], strict=True)) | {i: apply("+", x[i], y) for i, y in more.items()}
    lift = Lift(
        types,
        (*added.values(), *(action.data[j] for j in kept)),
        (*(apply("+", mine[i], more[i]) for i in added), *(joined[j] for j in kept)),
        (*(const(type_, 0) for _ in added), *(action.identity[j] for j in kept)),
        tuple(applied[i] for i in range(len(x))),
    )
    invariant = bind(action.invariant, (), with_sum(other))
    yield Claim(update, lift=lift, invariant=invariant, assumes=action.assumes)


def _sum_in(action: Action) -> int | None:
    """Which component of the action is what it adds to the first of the state."""
    x0 = Var(action.types[0], "x0")
    sums = (j for j in range(len(action.types)) if action.apply[0] == apply("+", x0, Var(x0.type, f"y{j}")))
    return next(sums, None)


def _added(update: Update, i: int) -> Expr | None:
    """h of `x_i + h`, which reads no accumulator."""
    terms, constant = linear(update.components[i])
    free = free_of(accumulator_names(update))
    if terms.pop(update.accumulators[i], 0) != 1 or not all(map(free, terms)):
        return None
    return from_linear(update.types[i], terms.items(), constant)


@dataclass(slots=True)
class _Together:
    """Reads expressions in which sums stand only as one combination."""

    update: Update
    type: Type
    sums: Mapping[str, int]
    combination: Combination | None = None

    def read(self, expr: Expr) -> Expr:
        """The expression over that combination. Raises `_Unread`."""
        if not names(expr) & self.sums.keys():
            return expr
        if isinstance(expr, Op) and expr.op in _RELATIONS and expr.args[0].type == self.type:
            return apply(expr.op, self.form(apply("-", *expr.args)), const(self.type, 0))
        if isinstance(expr, Var) or (isinstance(expr, Op) and expr.op in ("+", "-", "neg") and expr.type == self.type):
            return self.form(expr)
        return rebuild(expr, tuple(map(self.read, expr.children)))

    def form(self, expr: Expr) -> Expr:
        """A sum over the combination."""
        terms, constant = linear(expr)
        own = {self.sums[t.name]: f for t, f in terms.items() if isinstance(t, Var) and t.name in self.sums}
        others = [(self.read(t), f) for t, f in terms.items() if not (isinstance(t, Var) and t.name in self.sums)]
        if not own:
            return from_linear(self.type, others, constant)
        if self.combination is None:
            self.combination = own
        factor = next((f for f in (1, -1) if {i: f * c for i, c in self.combination.items()} == own), None)
        if factor is None or len(own) < 2:
            raise _Unread
        return from_linear(self.type, [*others, (Var(self.type, _NAME), factor)], constant)

    def of(self, values: Mapping[int, Expr]) -> Expr:
        """The combination of some values."""
        assert self.combination is not None
        return from_linear(self.type, ((values[i], c) for i, c in self.combination.items()), 0)


__all__ = ["claims"]
