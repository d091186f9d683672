"""The update itself read as an operator, its data as the right operand: what is associative without an identity.

`select(x == a, x, 0)`, which says whether all are equal, has no start that keeps every datum; as `op(x, y)` it is
associative all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from rfactor.ir.expr import Expr, Var, names, replace
from rfactor.ir.update import Update
from rfactor.matcher.terms import accumulator_names, free_of, gathered, maximal_free
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.operator import Operator

_MOST = 4
"""Components of which every order of the data is tried."""


def claims(update: Update) -> Iterator[Claim]:
    """The claims that the right operand is the data: terms of it, or its variables in some order."""
    yield from _of_terms(update)
    yield from _of_variables(update)


def _of_variables(update: Update) -> Iterator[Claim]:
    """The claims for as many data as components: matrices by their entries."""
    count = len(update.types)
    if len(update.data) != count or count > _MOST:
        return
    for data in permutations(update.data):
        if tuple(v.type for v in data) != update.types:
            continue
        right: dict[Expr, Expr] = {v: Var(v.type, f"y{i}") for i, v in zip(range(count), data, strict=True)}
        operator = tuple(replace(component, right) for component in update.components)
        op = Operator(operator, update.types, update.meaning)
        x, y, z = map(op.operands, "xyz")
        if sampling.refute(op(op(x, y), z), op(x, op(y, z)), update.meaning) is None:
            yield Claim(update, operator, None, data)


def _of_terms(update: Update) -> Iterator[Claim]:
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
