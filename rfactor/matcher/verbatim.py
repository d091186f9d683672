"""The update itself read as an operator, its data as the right operand: what is associative without an identity.

`select(x == a, x, 0)`, which says whether all are equal, has no start that keeps every datum; as `op(x, y)` it is
associative all the same.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Expr, Var, names, replace
from rfactor.ir.update import Update
from rfactor.matcher.terms import accumulator_names, free_of, gathered, maximal_free
from rfactor.prover.claim import Claim


def claims(update: Update) -> Iterator[Claim]:
    """The claim that the one term of data that each component adds to those before it is its right operand."""
    free = free_of(accumulator_names(update))
    varying = frozenset(v.name for v in update.data)
    body = tuple(gathered(component, free) for component in update.components)
    data: list[Expr] = []
    for component, type_ in zip(body, update.types, strict=True):
        terms = [t for t in maximal_free([component], free) if t not in data and not names(t).isdisjoint(varying)]
        if len(terms) != 1 or terms[0].type != type_:
            return
        data += terms
    right: dict[Expr, Expr] = {term: Var(term.type, f"y{i}") for i, term in zip(range(len(data)), data, strict=True)}
    operator = tuple(replace(component, right) for component in body)
    yield Claim(update, operator, None, tuple(data))
