"""Components that are functions of the new values of others: the range beside the extrema, a flag beside a sum.

`max(x0, a), min(x1, a), max(x0, a) - min(x1, a)`: the operator makes of its other components what the update makes of
them. So does each right operand, and an identity is one on the left: what the component was before is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Expr, Op, Var, apply, names, replace, substitute, walk
from rfactor.ir.graph import Subgraph, restrict
from rfactor.ir.update import Update
from rfactor.matcher.action import bind, nought, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Discharged

_NEW = "new "
"""Before the numbers of components after a step; no name of a user's has a space."""


def claims(update: Update, solve: Callable[[Update], Discharged | None]) -> Iterator[Claim]:
    """The claim for the components that no other reads and that read the new values of others alone."""
    count = len(update.types)
    found_parts = made_of(update)
    if found_parts is None:
        return
    rest, made = found_parts
    last = list(made)
    found = solve(restrict(update, rest))
    claim = None if found is None else found.claim
    if claim is None or claim.operator is None or claim.identity is None or claim.data is None:
        return
    x, y = update.accumulators, operands("y", update.types)
    sides = tuple(x[i] for i in rest), tuple(y[i] for i in rest)

    def whole(exprs: tuple[Expr, ...], ends: dict[int, Expr] | None = None) -> tuple[Expr, ...]:
        """Expressions for the others with what is made of them."""
        values = dict(zip(rest, exprs, strict=True))
        parts = {f"{_NEW}{i}": value for i, value in values.items()}
        values |= ends or {i: tidy(substitute(expr, parts)) for i, expr in made.items()}
        return tuple(values[i] for i in range(count))

    kept = whole(sides[1])
    yield Claim(
        update,
        operator=whole(bind(claim.operator, *sides)),
        identity=whole(claim.identity, {i: nought(update.types[i]) for i in last}),
        data=whole(claim.data),
        invariant=(
            *bind(claim.invariant, *sides),
            *(apply("==", y[i], kept[i]) for i in last),
        ),
        assumes=claim.assumes,
    )


def made_of(update: Update) -> tuple[Subgraph, dict[int, Expr]] | None:
    """The components that some component reads, and how the others are made of the new values of these.

    Those are `new_value(update, i)`. None where one of the others reads anything else but constants.
    """
    read = [names(component) for component in update.components]
    rest = tuple(i for i in range(len(read)) if any(f"x{i}" in other for other in read))
    last = [i for i in range(len(read)) if i not in rest]
    if not rest or not last:
        return None
    for components in (update.components, tuple(map(canonical, update.components))):
        new: dict[Expr, Expr] = {components[i]: new_value(update, i) for i in rest}
        made = {i: replace(components[i], new) for i in last}
        known = {f"{_NEW}{i}" for i in rest} | update.constants
        divides = any(isinstance(n, Op) and n.op == "/" and names(n.args[1]) for e in made.values() for n in walk(e))
        # What starts from nothing may divide by zero, where the whole run does not.
        if all(names(expr) <= known for expr in made.values()) and not divides:
            return rest, made
    return None


def new_value(update: Update, i: int) -> Var:
    """What stands for a component after a step."""
    return Var(update.types[i], f"{_NEW}{i}")


__all__ = ["claims", "made_of", "new_value"]
