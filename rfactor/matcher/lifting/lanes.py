"""Liftings of updates in which every bit of the state is an automaton of its own: counters by `^` and `&`, flip-flops.

A step is a polynomial over GF(2) in the components, bit by bit, and such polynomials are closed under composition: a
run is their coefficients, a word each. Only the coefficients that vary are carried: starting from the monomials of one
step, those that composition adds become parameters until nothing changes. Flags are words of one bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import reduce

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, select, walk
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.action import pruned
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift

_MOST_PARAMETERS = 24
_MOST_TERMS = 600
"""Monomials of one polynomial."""
_WORDS = frozenset(("&", "|", "^", "~", "select"))
_FLAGS = frozenset(("and", "or", "!=", "==", "not", "select"))
Monomial = frozenset[Expr]
"""What is multiplied; nothing for 1."""
Polynomial = frozenset[Monomial]
_ZERO: Polynomial = frozenset()
_ONE: Polynomial = frozenset((frozenset(),))
Key = tuple[int, tuple[int, ...]]
"""A component, and the components that are multiplied."""


class _Unread(Exception):
    """Something that is no operation on single bits, or too much of it."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for several components of one type, each bit of which depends on the same bit of the others."""
    type_, count = update.types[0], len(update.types)
    if count < 2 or any(t != type_ for t in update.types) or not (type_.is_int or type_.is_bool):
        return
    free = free_of(accumulator_names(update))
    used = {node.op for c in update.components for node in walk(c) if isinstance(node, Op) and not free(node)}
    if not used or not used <= (_FLAGS if type_.is_bool else _WORDS):
        return
    try:
        yield Claim(update, lift=_lifting(update, free))
    except _Unread:
        return


def _lifting(update: Update, free: Callable[[Expr], bool]) -> Lift:
    type_, state = update.types[0], update.accumulators
    step = [_read(component, free) for component in update.components]
    coefficients = [_by_state(poly, state) for poly in step]
    support = [set(parts) | {(i,)} for i, parts in enumerate(coefficients)]
    while True:
        keys = [(i, m) for i, own in enumerate(support) for m in sorted(own)]
        if len(keys) > _MOST_PARAMETERS:
            raise _Unread
        operator = _composed(keys, type_, state)
        grown = [own | set(parts) for own, parts in zip(support, operator, strict=True)]
        if grown == support:
            break
        support = grown
    after = _second(keys, type_, {(i,): frozenset((frozenset((x,)),)) for i, x in enumerate(state)})
    return pruned(
        Lift(
            (type_,) * len(keys),
            tuple(_expression(coefficients[i].get(m, _ZERO), type_) for i, m in keys),
            tuple(_expression(operator[i].get(m, _ZERO), type_) for i, m in keys),
            tuple(_expression(_ONE if m == (i,) else _ZERO, type_) for i, m in keys),
            tuple(_expression(poly, type_) for poly in after),
        )
    )


def _composed(keys: list[Key], type_: Type, state: tuple[Var, ...]) -> list[dict[tuple[int, ...], Polynomial]]:
    """The coefficients of the second's polynomials of the first's, by component and monomial of the state."""
    first: dict[tuple[int, ...], Polynomial] = {}
    marks = tuple(Var(x.type, f"state {i}") for i, x in enumerate(state))
    for number, (i, m) in enumerate(keys):
        term = frozenset((Var(type_, f"x{number}"), *(marks[j] for j in m)))
        first[(i,)] = first.get((i,), _ZERO) ^ {term}
    return [_by_state(poly, marks) for poly in _second(keys, type_, first)]


def _second(keys: list[Key], type_: Type, first: dict[tuple[int, ...], Polynomial]) -> list[Polynomial]:
    """The second's polynomials, of components that are polynomials themselves."""
    totals = [_ZERO] * len({i for i, _ in keys})
    known = {(): _ONE} | first
    for number, (i, m) in enumerate(keys):
        if m not in known:
            known[m] = reduce(_times, (first[(j,)] for j in m))
        coefficient: Polynomial = frozenset((frozenset((Var(type_, f"y{number}"),)),))
        totals[i] ^= _times(coefficient, known[m])
    return totals


def _by_state(poly: Polynomial, state: tuple[Var, ...]) -> dict[tuple[int, ...], Polynomial]:
    """The coefficients of the monomials of the state."""
    found: dict[tuple[int, ...], Polynomial] = {}
    for monomial in poly:
        key = tuple(i for i, x in enumerate(state) if x in monomial)
        found[key] = found.get(key, _ZERO) ^ {monomial.difference(state)}
    return {key: own for key, own in found.items() if own}


def _read(expr: Expr, free: Callable[[Expr], bool]) -> Polynomial:
    if isinstance(expr, Const):
        return _constant(expr)
    if free(expr) or not isinstance(expr, Op):
        return frozenset((frozenset((expr,)),))
    if expr.op == "select":
        condition, *arms = expr.args
        true, false = (_read(arm, free) for arm in arms)
        if expr.type.is_bool:
            chosen = _read(condition, free)
        elif free(condition):
            chosen = frozenset((frozenset((select(condition, _ones(expr.type), const(expr.type, 0)),)),))
        else:
            raise _Unread
        return false ^ _times(chosen, true ^ false)
    parts = [_read(arg, free) for arg in expr.args]
    if expr.op in ("^", "!="):
        return parts[0] ^ parts[1]
    if expr.op == "==":
        return parts[0] ^ parts[1] ^ _ONE
    if expr.op in ("&", "and"):
        return _times(*parts)
    if expr.op in ("|", "or"):
        return parts[0] ^ parts[1] ^ _times(*parts)
    return parts[0] ^ _ONE


def _constant(expr: Const) -> Polynomial:
    if not expr.value:
        return _ZERO
    return _ONE if expr == _ones(expr.type) else frozenset((frozenset((expr,)),))


def _ones(type_: Type) -> Const:
    """All bits set, of which an unsigned type has the largest number."""
    return const(type_, True if type_.is_bool else type_.wrap(-1))


def _times(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > _MOST_TERMS:
        raise _Unread
    found: set[Monomial] = set()
    for one, other in itertools.product(a, b):
        found ^= {one | other}
    return frozenset(found)


def _expression(poly: Polynomial, type_: Type) -> Expr:
    times, plus = ("and", "!=") if type_.is_bool else ("&", "^")

    def joined(op: str, parts: Iterable[Expr], unit: Expr) -> Expr:
        ordered = sorted(parts, key=str)
        return reduce(lambda a, b: apply(op, a, b), ordered) if ordered else unit

    return tidy(joined(plus, (joined(times, monomial, _ones(type_)) for monomial in poly), const(type_, 0)))
