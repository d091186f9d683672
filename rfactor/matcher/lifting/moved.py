"""Liftings of remainders by one modulus that other components take over: `(x0 + x1) % m, x0`.

A run is an affine map under the remainder; but what is only taken over is not reduced until it comes from a component
that is. So a run says too whether it was long enough for that, and until then what it takes over from where.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands, pruned
from rfactor.matcher.lifting.modular import remainder, without
from rfactor.matcher.lifting.semiring import OFFSET, affine, semirings
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_MOST = 3


@dataclass(frozen=True, slots=True)
class _Shape:
    """What components are: remainders of affine maps, or taken over from another."""

    type: Type
    modulus: Expr
    rows: tuple[tuple[Expr, ...], ...]
    """Of each component the factors of all, and what is added; as if it were reduced."""
    sources: tuple[int | None, ...]
    """Where a component is taken over from."""
    delays: tuple[int, ...]
    """After how many steps a component is reduced."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for unbounded integers, some of them remainders by one modulus, the others taken over."""
    type_, count = update.types[0], len(update.types)
    if not 2 <= count <= _MOST or not type_.is_int or update.meaning is not Meaning.MATH:
        return
    if any(t != type_ for t in update.types) or not any(isinstance(e, Var) for e in update.components):
        return
    shape = _read(update, type_)
    if shape is not None:
        flags = operands("y", (BOOL,) * max(shape.delays))
        nested = tuple(apply("or", few, apply("not", more)) for few, more in itertools.pairwise(flags))
        yield Claim(update, lift=_lifting(shape), invariant=nested)


def _read(update: Update, type_: Type) -> _Shape | None:
    place = {x: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
    sources: list[int | None] = []
    insides: list[Expr] = []
    moduli: dict[Expr, None] = {}
    for component in update.components:
        parts = remainder(component) if isinstance(component, Op) else None
        if isinstance(component, Var) and component in place:
            sources.append(place[component])
            insides.append(component)
        elif parts is None or not names(parts[1]) <= update.constants:
            return None
        else:
            sources.append(None)
            insides.append(parts[0])
            moduli[parts[1]] = None
    if len(moduli) != 1:
        return None
    (modulus,) = moduli
    plain = replace(update, components=tuple(without(inside, modulus) for inside in insides))
    rows = affine(plain, next(semirings(type_, update.meaning)))
    delays = [_delay(i, sources) for i in range(len(sources))]
    if rows is None or None in delays:
        return None
    columns = (*range(len(sources)), OFFSET)
    full = tuple(tuple(row.get(j, nought(type_)) for j in columns) for row in rows)
    return _Shape(type_, modulus, full, tuple(sources), tuple(d for d in delays if d is not None))


def _delay(i: int, sources: Sequence[int | None]) -> int | None:
    """After how many steps component i comes from a remainder; None if never."""
    at: int | None = i
    for steps in range(1, len(sources) + 1):
        at = None if at is None else sources[at]
        if at is None:
            return steps
    return None


def _taken(shape: _Shape, i: int, steps: int) -> tuple[Expr, ...]:
    """What component i is after so few steps that it is taken over."""
    at = i
    for _ in range(steps):
        source = shape.sources[at]
        assert source is not None
        at = source
    size = len(shape.rows)
    return tuple(Const(shape.type, int(j == at)) for j in range(size + 1))


def _lifting(shape: _Shape) -> Lift:
    """State: whether there was a step, two of them, and so on; the map as if all were reduced."""
    type_, size, longest = shape.type, len(shape.rows), max(shape.delays)
    types = (*(BOOL,) * longest, *(type_,) * (size * (size + 1)))

    def effective(letter: str) -> list[list[Expr]]:
        """The map as it acts, of a run of one step at least."""
        own = operands(letter, types)
        steps: list[Expr] = [TRUE, TRUE, *own[1:longest]]
        entries = [list(own[longest + i * (size + 1) :][: size + 1]) for i in range(size)]
        for i in range(size):
            for few in reversed(range(shape.delays[i])):
                taken = _taken(shape, i, few)
                entries[i] = [choose(steps[few + 1], e, t) for e, t in zip(entries[i], taken, strict=True)]
        return entries

    first, second = effective("x"), effective("y")

    def total(terms: Sequence[Expr]) -> Expr:
        result = terms[0]
        for term in terms[1:]:
            result = apply("+", result, term)
        return result

    left, right = operands("x", types), operands("y", types)
    operator: list[Expr] = []
    for count in range(1, longest + 1):
        enough: Expr = apply("or", left[count - 1], right[count - 1])
        for own in range(1, count):
            enough = apply("or", enough, apply("and", left[own - 1], right[count - own - 1]))
        operator.append(enough)
    for i, j in itertools.product(range(size), range(size + 1)):
        terms: list[Expr] = [apply("*", second[i][k], first[k][j]) for k in range(size)]
        terms += [second[i][size]] if j == size else []
        both = tidy(apply("%", total(terms), shape.modulus))
        at = len(operator)
        operator.append(choose(left[0], choose(right[0], both, left[at]), right[at]))
    x = operands("x", (type_,) * size)
    applied: list[Expr] = []
    raw, more = right[longest:], (TRUE, *right[:longest])
    for i in range(size):
        row = raw[i * (size + 1) :][: size + 1]
        value = total([*(apply("*", x[j], row[j]) for j in range(size)), row[size]])
        after: Expr = apply("%", value, shape.modulus)
        for few in reversed(range(shape.delays[i])):
            taken = _taken(shape, i, few)
            (source,) = [x[j] for j in range(size) if taken[j] == Const(type_, 1)]
            after = choose(more[few + 1], after, source)
        applied.append(after)
    data: list[Expr] = [TRUE, *(FALSE,) * (longest - 1)]
    data += [tidy(apply("%", e, shape.modulus)) if not isinstance(e, Const) else e for row in shape.rows for e in row]
    unit: list[Expr] = [FALSE] * longest
    unit += [Const(type_, int(i == j)) for i in range(size) for j in range(size + 1)]
    return pruned(Lift(types, tuple(data), tuple(operator), tuple(unit), tuple(applied)))


__all__ = ["claims"]
