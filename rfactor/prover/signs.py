"""Equality of extrema of sums and products: in each case of the signs of factors, products distribute over min and max.

So do sums, always. What is left is made of min and max over polynomials, and the 0-1 principle decides it: such a claim
holds for all values if it holds where every polynomial is 0 or 1, as long as known orders of them are kept
(v*a + c <= v*b + c where a <= b and v is not below zero).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import Const, Expr, Op, Value, Var, apply, replace, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED
from rfactor.ir.simplify import simplify_real
from rfactor.ir.types import BOOL
from rfactor.prover import sampling
from rfactor.prover.polynomial import Number

_READ = frozenset(("+", "-", "neg", "*", "min", "max", "select", "and", "or", "not", "<", "<=", ">", ">="))
_MOST_FLAGS, _MOST_SIGNS, _MOST_ATOMS, _MOST_PARTS = 4, 6, 15, 64
Monomial = tuple[str, ...]
"""Names of the factors, sorted."""
Sum = frozenset[tuple[Monomial, Number]]
"""A polynomial: monomials with their factors, none of which is 0."""
Lattice = Sum | tuple[str, "Lattice", "Lattice"]
"""A polynomial, or `>` or `<` of two."""
Signs = dict[str, bool]
"""Which variables are not below zero; those that are not named may have either sign."""
Order = tuple[str, str]
"""Two variables of which the first is at most the second."""


class _Unread(Exception):
    """The claim is not of this kind."""


def equal_by_signs(
    left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, assumptions: tuple[Expr, ...]
) -> bool:
    """Whether left = right wherever the assumptions hold is shown so, for reals and unbounded integers."""
    exprs = (*left, *right)
    if not any(map(_is_product, (node for e in exprs for node in walk(e)))):
        return False
    if not all(map(_is_read, (node for e in exprs for node in walk(e)))):
        return False
    variables = sampling.used(exprs)
    if any(v.type.is_int for v in variables) and meaning is Meaning.WRAP:
        return False
    if not simplifies_exactly((*exprs, *assumptions), meaning):
        return False
    flags = [v for v in variables if v.type.is_bool]
    if len(flags) > _MOST_FLAGS:
        return False
    for values in itertools.product((True, False), repeat=len(flags)):
        chosen = {flag.name: Const(BOOL, value) for flag, value in zip(flags, values, strict=True)}
        sides = [[simplify_real(substitute(e, chosen)) for e in side] for side in (left, right)]
        orders = [order for a in assumptions for order in _orders(simplify_real(substitute(a, chosen)))]
        if not all(a == b or _equal_in_all_signs(a, b, orders) for a, b in zip(*sides, strict=True)):
            return False
    return True


def _is_product(node: Expr) -> bool:
    """Whether it is a product, other than with a literal."""
    return isinstance(node, Op) and node.op == "*" and not any(isinstance(arg, Const) for arg in node.args)


def _is_read(node: Expr) -> bool:
    if isinstance(node, Var):
        return True
    if isinstance(node, Const):
        return math.isfinite(node.value)
    if not isinstance(node, Op):
        return False
    return node.op in _READ


def _sign(node: Expr) -> tuple[str, bool] | None:
    """The variable of a condition that asks whether it is below zero, and what the condition says if it is not."""
    if not isinstance(node, Op) or node.op not in ("<", "<=", ">", ">="):
        return None
    relation, (value, zero) = node.op, node.args
    if isinstance(value, Const):
        relation, value, zero = MIRRORED[relation], zero, value
    if not isinstance(value, Var) or not isinstance(zero, Const) or zero.value != 0 or relation not in ("<", ">="):
        return None
    return value.name, relation == ">="


def _orders(claim: Expr) -> Iterator[Order]:
    """The orders of two variables that a claim is, or is made of."""
    if isinstance(claim, Op) and claim.op == "and":
        for arg in claim.args:
            yield from _orders(arg)
    elif isinstance(claim, Op) and claim.op == "<=":
        low, high = claim.args
        if isinstance(low, Var) and isinstance(high, Var):
            yield low.name, high.name


def _equal_in_all_signs(left: Expr, right: Expr, orders: Sequence[Order]) -> bool:
    needed = sorted({name for e in (left, right) for node in walk(e) for name in _needed(node)})
    if len(needed) > _MOST_SIGNS:
        return False
    asked = {node: sign for e in (left, right) for node in walk(e) if (sign := _sign(node)) is not None}
    for values in itertools.product((True, False), repeat=len(needed)):
        signs = dict(zip(needed, values, strict=True))
        if any(signs.get(low) and signs.get(high) is False for low, high in orders):
            continue  # low <= high excludes it
        told: dict[Expr, Expr] = {node: Const(BOOL, signs[name] == yes) for node, (name, yes) in asked.items()}
        try:
            for pair in _of_numbers(*(simplify_real(replace(e, told)) for e in (left, right))):
                one, other = (_read(e, signs) for e in pair)
                if not _equal_lattices(one, other, signs, orders):
                    return False
        except _Unread:
            return False
    return True


def _of_numbers(left: Expr, right: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The claim as one about numbers: p <= q says that max(p, q) = q."""
    if not left.type.is_bool:
        yield left, right
    elif left != right:
        if not isinstance(left, Op) or right != Const(BOOL, True):
            raise _Unread
        first, second = left.args[0], left.args[-1]
        if left.op == "and":
            yield from _of_numbers(first, right)
            yield from _of_numbers(second, right)
        elif left.op in ("<=", ">=") and not first.type.is_bool:
            low, high = (first, second) if left.op == "<=" else (second, first)
            yield apply("max", low, high), high
        else:
            raise _Unread


def _needed(node: Expr) -> list[str]:
    """Variables whose sign says what the node is."""
    sign = _sign(node)
    if sign is not None:
        return [sign[0]]
    if not isinstance(node, Op) or node.op != "*":
        return []
    plain = [arg for arg in node.args if _is_polynomial(arg)]
    return [] if len(plain) == 2 else [n.name for arg in plain for n in walk(arg) if isinstance(n, Var)]


def _is_polynomial(expr: Expr) -> bool:
    return all(
        isinstance(node, Var | Const) or (isinstance(node, Op) and node.op in ("+", "-", "neg", "*"))
        for node in walk(expr)
    )


def _read(expr: Expr, signs: Signs) -> Lattice:
    if isinstance(expr, Var) and not expr.type.is_bool:
        return frozenset([((expr.name,), 1)])
    if isinstance(expr, Const) and not expr.type.is_bool:
        return _constant(expr.value)
    if not isinstance(expr, Op) or expr.op not in ("+", "-", "neg", "*", "min", "max"):
        raise _Unread
    first, *more = (_read(arg, signs) for arg in expr.args)
    if expr.op == "neg":
        return _times(first, _constant(-1), signs)
    (second,) = more
    if expr.op in ("min", "max"):
        return (">" if expr.op == "max" else "<", first, second)
    if expr.op == "*":
        return _times(second, first, signs) if isinstance(first, frozenset) else _times(first, second, signs)
    return _plus(first, second if expr.op == "+" else _times(second, _constant(-1), signs))


def _constant(value: Value) -> Sum:
    if not math.isfinite(value):
        raise _Unread
    number = Fraction(value)
    return frozenset([((), number.numerator if number.denominator == 1 else number)]) if value else frozenset()


def _plus(one: Lattice, other: Lattice) -> Lattice:
    """A sum: an extremum plus a term is the extremum of the sums."""
    if isinstance(one, tuple):
        return (one[0], _plus(one[1], other), _plus(one[2], other))
    if isinstance(other, tuple):
        return (other[0], _plus(one, other[1]), _plus(one, other[2]))
    return _total([*one, *other])


def _total(terms: Sequence[tuple[Monomial, Number]]) -> Sum:
    total: dict[Monomial, Number] = {}
    for monomial, factor in terms:
        total[monomial] = total.get(monomial, 0) + factor
    if len(total) > _MOST_PARTS:
        raise _Unread
    return frozenset((monomial, factor) for monomial, factor in total.items() if factor)


def _times(value: Lattice, factor: Lattice, signs: Signs) -> Lattice:
    """A lattice expression times a polynomial: an extremum times one term, which turns it over below zero."""
    if not isinstance(factor, frozenset):
        raise _Unread
    if isinstance(value, frozenset):
        return _total([(tuple(sorted((*m, *n))), a * b) for m, a in value for n, b in factor])
    if not factor:
        return factor
    up = {_is_up(m, a, signs) for m, a in factor}
    if len(factor) > 1 or None in up:
        raise _Unread
    op, first, second = value
    turned = op if up == {True} else {"<": ">", ">": "<"}[op]
    return (turned, _times(first, factor, signs), _times(second, factor, signs))


def _is_up(monomial: Monomial, factor: Number, signs: Signs) -> bool | None:
    """Whether a term is not below zero, False where it is not above; None where that is not known."""
    if not all(name in signs for name in monomial):
        return None
    return (sum(not signs[name] for name in monomial) % 2 == 0) == (factor > 0)


def _equal_lattices(left: Lattice, right: Lattice, signs: Signs, orders: Sequence[Order]) -> bool:
    if left == right:
        return True
    atoms = list(dict.fromkeys([*_atoms(left), *_atoms(right)]))
    count = len(atoms)
    if count > _MOST_ATOMS:
        raise _Unread
    index = np.arange(1 << count)
    columns = {atom: (index >> i) & 1 == 1 for i, atom in enumerate(atoms)}
    possible = np.ones(1 << count, dtype=bool)
    for low, high in itertools.permutations(atoms, 2):
        if _is_below(low, high, signs, orders):
            possible &= ~columns[low] | columns[high]
    return bool(np.all(~possible | (_cut(left, columns) == _cut(right, columns))))


def _atoms(value: Lattice) -> list[Sum]:
    """The polynomials of an expression, in order."""
    if isinstance(value, frozenset):
        return [value]
    return [*_atoms(value[1]), *_atoms(value[2])]


def _is_below(low: Sum, high: Sum, signs: Signs, orders: Sequence[Order]) -> bool:
    """Whether low <= high is known: the difference is made of v*(b - a) where a <= b, and of terms not below zero."""
    rest = dict(high - low)
    for monomial, factor in low - high:
        rest[monomial] = rest.get(monomial, 0) - factor
    for a, b in orders if len(rest) > 1 else ():
        for monomial, factor in [term for term in rest.items() if b in term[0]]:
            at = monomial.index(b)
            beside = (*monomial[:at], *monomial[at + 1 :])
            other = tuple(sorted((*beside, a)))
            if rest.get(monomial) == factor and rest.get(other) == -factor and _is_up(beside, factor, signs):
                del rest[monomial], rest[other]
    return all(_is_up(monomial, factor, signs) for monomial, factor in rest.items())


def _cut(value: Lattice, columns: dict[Sum, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    if isinstance(value, frozenset):
        return columns[value]
    op, first, second = value
    sides = _cut(first, columns), _cut(second, columns)
    result: NDArray[np.bool_] = sides[0] | sides[1] if op == ">" else sides[0] & sides[1]
    return result
