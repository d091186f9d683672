"""Updates that are others with a datum left out: a carry without the high digit, an argmax that counts its own index.

`x1 + select(x0 + a < x0, 1, 0)` is `x1 + b + …` where b is 0, and `select(a > x0, x2, x1)` is that with `x2 + i`
where i is 0: the operator of the update with the datum serves the one without. `max(x1, x0)` is `max(x1, x0 + b)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.ir.expr import Expr, Op, Var, apply, const, names, select, substitute
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.update import Update
from rfactor.matcher.operators import substitution
from rfactor.matcher.refusal.separation import promising
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim
from rfactor.prover.limits import DEFAULT, Limits

_LEFT_OUT = "left out "
"""Before names of data that are added; no name of a user's has a space."""


def claims(update: Update, limits: Limits = DEFAULT) -> Iterator[Claim]:
    """Claims of the update with what it leaves out, told of the update itself."""
    count = len(update.types)
    if count < 2:
        return
    general = replace(update, components=tuple(_generalized(update, i) for i in range(count)))
    if general.components == update.components:
        return
    nothing: dict[str, Expr] = {
        f"{_LEFT_OUT}{i}": const(t, 0) for i, t in zip(range(count), update.types, strict=True) if not t.is_bool
    }
    # What a start does not tell apart of the update it does not of the one with more data.
    starts = promising(update, substitution.likely(update))
    for claim in substitution.claims(general, starts_given=starts, limits=limits):
        if claim.data is not None:
            data = tuple(tidy(substitute(e, nothing)) for e in claim.data)
            yield replace(claim, update=update, data=data)


def _generalized(update: Update, i: int) -> Expr:
    """A component with the datum that it may leave out."""
    component, x = update.components[i], update.accumulators[i]
    if x.type.is_bool or not isinstance(component, Op):
        return component
    datum = Var(x.type, f"{_LEFT_OUT}{i}")
    if component.op == "select":
        return _in_choice(component, x, update, datum)
    others = _others(update, x)
    if component.op in ("min", "max") and x in component.args:
        compared = [isinstance(arg, Var) and arg.name in others for arg in component.args]
        return apply(
            component.op, *(apply("+", a, datum) if c else a for a, c in zip(component.args, compared, strict=True))
        )
    terms, _ = linear(component)
    if terms.get(x) == 1 and any(names(term) & others for term in terms if term != x):
        return apply("+", component, datum)
    return component


def _others(update: Update, x: Var) -> frozenset[str]:
    return frozenset(v.name for v in update.accumulators if v != x)


def _in_choice(component: Op, x: Var, update: Update, datum: Var) -> Expr:
    """A choice that turns on an accumulator: of two amounts to add, or of x and another accumulator."""
    condition, *branches = component.args
    if not names(condition) & {v.name for v in update.accumulators}:
        return component
    amounts = [linear(branch) for branch in branches]
    if x.type.is_int and all(terms.pop(x, 0) == 1 for terms, _ in amounts):
        added = [from_linear(x.type, terms.items(), constant) for terms, constant in amounts]
        return apply("+", apply("+", x, select(condition, added[0], added[1])), datum)
    others = _others(update, x)
    taken = [isinstance(branch, Var) and branch.name in others for branch in branches]
    if x not in branches or not any(taken):
        return component
    first, second = (apply("+", b, datum) if over else b for b, over in zip(branches, taken, strict=True))
    return select(condition, first, second)
