"""What conditions say of coordinates: expressions that are not positive, and bounds of data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from math import gcd

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.affine import reads
from rfactor.ir.expr import Const, Expr, Op, Var, apply, walk
from rfactor.ir.operations import OPPOSITE
from rfactor.ir.types import BOOL, I32

_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


_MOST = 16
"""Comparisons that follow from one condition."""


def nonpositive(condition: Expr) -> list[Expr]:
    """Coordinates that are <= 0 where `condition` holds: what its i32 comparisons say, those that read no data."""
    if not isinstance(condition, Op):
        return []
    if condition.op == "and" or (condition.op == "&" and condition.type == BOOL):
        return nonpositive(condition.args[0]) + nonpositive(condition.args[1])
    if condition.op not in _COMPARISONS or condition.op == "!=" or condition.args[0].type != I32 or reads(condition):
        return []
    a, b = condition.args
    one = affine.integer(1)
    if condition.op == "<":
        return [affine.add(affine.subtract(a, b), one)]
    if condition.op == "<=":
        return [affine.subtract(a, b)]
    if condition.op == ">":
        return [affine.add(affine.subtract(b, a), one)]
    if condition.op == ">=":
        return [affine.subtract(b, a)]
    return [affine.subtract(a, b), affine.subtract(b, a)]


def equal_constants(condition: Expr) -> Iterator[tuple[str, Const]]:
    """The i32 variables that have one value where `condition` holds."""
    if isinstance(condition, Op) and condition.type == BOOL:
        if condition.op in ("and", "&"):
            for part in condition.args:
                yield from equal_constants(part)
        elif condition.op == "==":
            for one, other in (condition.args, condition.args[::-1]):
                if isinstance(one, Var) and one.type == I32 and isinstance(other, Const):
                    yield one.name, other


@lru_cache(maxsize=1 << 14)
def is_comparison(condition: Expr) -> bool:
    """Whether a condition reads no data, and is made of truth values and of comparisons: then it is the same computed
    in i32 and in i64, if the sums that it compares are in i32."""
    if isinstance(condition, Op) and condition.op in ("and", "or", "not", "&", "|") and condition.type == BOOL:
        return all(map(is_comparison, condition.args))
    compares = isinstance(condition, Op) and condition.op in _COMPARISONS
    return isinstance(condition, Var | Const) or (compares and not reads(condition))


@lru_cache(maxsize=1 << 14)
def implied(condition: Expr) -> tuple[Expr, ...]:
    """Coordinates that are <= 0 where `condition` holds, and may be so elsewhere: of what `nonpositive` finds, that
    which follows for the operands of extremes and of quotients too; and what follows from each side of an `or`, or
    from each arm of a choice. Each part of a condition is gone through once, however often it is in it."""
    if isinstance(condition, Op) and condition.type == BOOL:
        if condition.op in ("and", "&"):
            return tuple(dict.fromkeys(implied(condition.args[0]) + implied(condition.args[1])))
        if condition.op in ("or", "|", "select"):
            first, second = map(implied, condition.args[-2:])
            either = [one for a in first for b in second for one in _either(a, b)]
            return tuple(dict.fromkeys(either))[:_MOST]
        if condition.op == "not":
            opposite = negated(condition.args[0])
            return () if opposite == condition else implied(opposite)
    return tuple(one for below in nonpositive(condition) for one in _solved(below))


def _either(a: Expr, b: Expr) -> list[Expr]:
    """What is <= 0 where one of two is, if they have a part in common: of `x - 3` and `x - p`, `x - max(3, p)`."""
    other = dict(affine.affine(b)[0])
    same = tuple((term, factor) for term, factor in affine.affine(a)[0] if other.get(term) == factor)
    if not same:
        return []
    common = affine.from_affine(same, 0)
    return [affine.add(common, affine.minimum(affine.subtract(a, common), affine.subtract(b, common)))]


def _solved(below: Expr) -> list[Expr]:
    """`below`, which is <= 0, and what follows from it.

    max(a, b) - c    a - c, b - c
    x // 4 - 2       x - 11
    2*x - 7          x - 3
    """
    pending, found = [below], list[Expr]()
    while pending and len(found) < _MOST:
        terms, constant = affine.affine(pending.pop(0))
        whole = gcd(*(factor for _, factor in terms))
        if whole > 1:
            terms, constant = tuple((term, factor // whole) for term, factor in terms), -(-constant // whole)
        found.append(affine.from_affine(terms, constant))
        for term, factor in terms:
            rest = tuple(one for one in terms if one[0] != term)
            if isinstance(term, Op) and term.op == ("max" if factor > 0 else "min"):
                others = affine.from_affine(rest, constant)
                pending += [affine.add(others, affine.scale(arm, factor)) for arm in term.args]
            elif isinstance(term, Op) and not rest:
                pending += _dividend(term, factor, constant)
    return found


def _solved_for(terms: Mapping[Expr, int], constant: int, term: Expr) -> Expr:
    """The sum that is <= 0, solved for one of its terms: `x - p // 3` for `3*x - p`."""
    rest = affine.from_affine(tuple(one for one in terms.items() if one[0] != term), constant)
    return affine.add(affine.scale(term, 1 if terms[term] > 0 else -1), affine.divide_up(rest, abs(terms[term])))


def multiples(
    terms: Mapping[Expr, int], shared: set[Expr], moving: set[Expr], own: Mapping[Expr, int], constant: int
) -> Iterator[tuple[Expr, int]]:
    """Of a condition of the terms `own`, what is <= 0 and how often to take it off a sum of `terms` so that those go
    that are `shared`; each of them apart where that is not as often, and they are all that is `moving`, or one alone
    that the sum is made of."""
    times = {divmod(terms[term], own[term]) for term in shared}
    if len(times) == 1 and not (one := next(iter(times)))[1]:
        yield affine.from_affine(tuple(own.items()), constant), one[0]
        return
    for term in own if shared == moving or len(shared) == len(terms) == 1 else ():
        if term in shared:
            yield _solved_for(own, constant, term), terms[term] if own[term] > 0 else -terms[term]


def _dividend(term: Op, factor: int, constant: int) -> list[Expr]:
    """What is <= 0 where `factor*term + constant` is, of the dividend of a quotient by a constant."""
    value = affine.constant_value(term.args[-1])
    if term.op == ">>" and value is not None and 0 <= value < I32.bits - 1:
        value = 1 << value
    elif term.op != "//" or value is None or value <= 0:
        return []
    assert abs(factor) == 1
    if factor > 0:  # at most -constant, so that the dividend is below the next multiple
        limit = -constant * value + value - 1
        return [affine.subtract(term.args[0], affine.integer(limit))] if _fits(limit) else []
    return [affine.subtract(affine.integer(constant * value), term.args[0])] if _fits(constant * value) else []


def _fits(value: int) -> bool:
    return int(I32.min) <= value <= int(I32.max)


def compared(condition: Expr) -> list[Expr]:
    """The sides of a condition's i32 comparisons that read no data: they are taken as comparisons of coordinates."""
    return [
        side
        for node in walk(condition)
        if isinstance(node, Op) and node.op in _COMPARISONS and node.args[0].type == I32 and not reads(node)
        for side in node.args
    ]


@lru_cache(maxsize=1 << 14)
def negated(condition: Expr) -> Expr:
    """Where `condition` does not hold, as comparisons where it is made of them. Each part is gone through once."""
    if isinstance(condition, Op) and condition.type == BOOL:
        if condition.op in OPPOSITE and condition.args[0].type == I32:
            return Op(BOOL, OPPOSITE[condition.op], condition.args)
        if condition.op in ("or", "|", "and", "&"):
            return Op(BOOL, "and" if condition.op in ("or", "|") else "or", tuple(map(negated, condition.args)))
        if condition.op == "not":
            return condition.args[0]
    return Op(BOOL, "not", (condition,))


def joined(known: tuple[Expr, ...], more: Iterable[Expr]) -> tuple[Expr, ...] | None:
    """What is `known` to be <= 0 with `more` that is, of sums of the same terms the greater. None where no integers
    fulfil it: where a number above 0 follows from two."""
    result, places = list(known), {frozenset(affine.affine(one)[0]): place for place, one in enumerate(known)}
    for one in more:
        terms, constant = affine.affine(one)
        opposite = places.get(frozenset((term, -factor) for term, factor in terms))
        total = constant if opposite is None else constant + affine.affine(result[opposite])[1]
        if total > 0 and (opposite is not None or not terms):
            return None
        place = places.get(frozenset(terms))
        if place is None and terms:
            places[frozenset(terms)] = len(result)
            result.append(one)
        elif place is not None and constant > affine.affine(result[place])[1]:
            result[place] = one
    return tuple(result)


def ceilings(condition: Expr) -> list[tuple[Expr, Expr, int]]:
    """What an i32 comparison says of an operand that reads data, as bounds by the other operand, which reads none.

    Data wrap around, so that nothing follows for any other expression: the bounds are of the operand as it stands.
    """
    if not isinstance(condition, Op) or condition.op not in STRICT or condition.args[0].type != I32:
        return []
    a, b = condition.args
    sign, slack = STRICT[condition.op]
    one = affine.integer(slack)
    if reads(a) and not reads(b):
        return [(affine.tidy(a), affine.subtract(b, one) if sign > 0 else affine.add(b, one), sign)]
    if reads(b) and not reads(a):
        return [(affine.tidy(b), affine.add(a, one) if sign > 0 else affine.subtract(a, one), -sign)]
    return []


STRICT = {"<": (1, 1), "<=": (1, 0), ">": (-1, 1), ">=": (-1, 0)}
"""The direction of a comparison, and by how much its ends differ."""


def positive(extent: Expr) -> Expr:
    """`extent > 0`."""
    return apply(">", extent, affine.integer(0))


def conjuncts(condition: Expr) -> list[Expr]:
    """The terms of a conjunction, left to right; none for `True`."""
    if isinstance(condition, Op) and (condition.op == "and" or (condition.op == "&" and condition.type.is_bool)):
        return conjuncts(condition.args[0]) + conjuncts(condition.args[1])
    return [] if getattr(condition, "value", None) is True else [condition]
