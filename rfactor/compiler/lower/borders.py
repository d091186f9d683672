"""Iterations in which a clamp changes no index, and comparisons of coordinates have one answer: there vectors, and what
an innermost loop loads one by one, are loaded as if there were none.

Remainders, as those of repeated and mirrored images, are clamps in this sense. Quotients, as those of images that are
enlarged, are compared by what they divide: `s//n <= r` where `s <= r*n + n - 1`, `s//n >= r` where `s >= r*n`.

    for x in (0, e):                                         for x in (0, b): as it was
      vectorized for xi in (0, 8):                           for x in (b, m - b): f[…] = a[ramp(x*8 - 1, 1, 8)]
        f[x*8 + xi] = a[max(min(x*8 + xi - 1, n), 0)]   ->   for x in (m, e - m): as it was

`b` is the first `x` with `x*8 >= 1`, `m` the first with `x*8 + 6 > n`; `partition` makes the loops. Coordinates are
compared in i64: what they are clamped to may be any number that a user gives.

A choice between an arm that loads and one that loads less, as of images with a constant around them, takes the former:

    f[…] = select(x*8 + xi >= 0 and x*8 + xi < n, a[…], 0)    ->    as it was; f[…] = a[…]; as it was

so in loops around those of vectors too. What is compared there need be no coordinate that entry checks hold within i32:
where it may be beyond, it wraps, and the iterations are left as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeGuard

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.overflow import in_i32, sum_in_i64
from rfactor.ir.expr import Const, Expr, Op, Var, names, substitute, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Allocate, Block, For, If, Let, Load, Produce, Stmt, Store
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.statements import parts, with_parts
from rfactor.ir.types import BOOL, I32, I64

_LARGEST, _DEEPEST = 1 << 12, 2
"""Divisors that sums are multiplied by, and how many of them one after the other: i64 holds sums of a thousand
coordinates then."""
SHORT = 16
"""Serial loops of constant extent up to this stand for their worst iteration."""


@dataclass(frozen=True, slots=True)
class Borders:
    """The iterations `first <= x < end` (where known) of a loop in which no clamp of `plain` changes a coordinate."""

    first: Expr | None
    end: Expr | None
    plain: Mapping[Expr, Expr]
    """What clamped coordinates (i64) are without their clamp, and the answers of comparisons."""
    in_lanes: bool
    """Whether vectors are loaded there, and not elements one by one."""


def borders(loop: For, around: bool = False) -> Borders | None:
    """Where `loop` reads vectors between the ends of what they are clamped to or chosen by, or values where it is an
    innermost loop with no vectorised one `around` it; None where it clamps and chooses none."""
    if isinstance(loop.extent, Const) and int(loop.extent.value) <= SHORT:
        return None
    found = [one for one in _limited(loop.body, _Place({}, frozenset(), {})) if not (around and one[0].op != "cast")]
    alone = not around and loop.kind == "serial" and _innermost(loop.body)
    wanted: dict[Expr, bool | None] = {}
    """The answers of comparisons; None of clamps."""
    left: set[Expr] = set()
    for one, place in found:
        lanes = {loop.name} if alone else _lanes(place.inner)
        if one.op == "cast" and lanes & names(place.told(one)):
            wanted[one] = None
        for comparison, holds in _asked(one) if one.op == "select" and lanes else ():
            if loop.name in names(place.told(comparison)) and wanted.setdefault(comparison, holds) != holds:
                left.add(comparison)
    plain: dict[Expr, Expr] = {}
    first: Expr | None = None
    end: Expr | None = None
    for one, place in found:
        if one not in wanted or one in left:
            continue
        answer = wanted[one]
        if answer is None:
            moving = {*place.inner, loop.name} if alone else set(place.inner)
            coordinate, differences = _without_clamp(place.told(one.children[0]), moving)
            value: Expr = affine.tidy(_wide(coordinate))
        else:
            value, differences = Const(BOOL, answer), _answered(one, answer, place, {*place.inner, loop.name})
        solved = [_solved(difference, loop.name, place.inner, place.bound) for difference in differences]
        if not differences or None in solved:
            left.add(one)
            continue
        if plain.setdefault(one, value) != value:  # one text at two places, where names in it are of other values
            left.add(one)
            continue
        for low, beyond in filter(None, solved):
            if low is not None:
                first = low if first is None else affine.maximum(first, low)
            if beyond is not None:
                end = beyond if end is None else affine.minimum(end, beyond)
    kept = {one: value for one, value in plain.items() if one not in left}
    return Borders(first, end, kept, not alone) if kept else None


def limited(stmt: Stmt) -> bool:
    """Whether `stmt` clamps coordinates, or chooses by them what to load."""
    found = (one for one, _ in _limited(stmt, _Place({}, frozenset(), {})))
    return any(one.op == "cast" or (one.op == "select" and _asked(one)) for one in found)


def _innermost(body: Stmt) -> bool:
    """Whether no loop in `body` is long or made of vectors."""
    if isinstance(body, For):
        short = isinstance(body.extent, Const) and int(body.extent.value) <= SHORT
        return (body.kind == "unrolled" or (body.kind == "serial" and short)) and _innermost(body.body)
    return all(map(_innermost, parts(body)))


def unclamped(stmt: Stmt, plain: Mapping[Expr, Expr]) -> Stmt:
    """`stmt` with coordinates as they are without their clamp, and comparisons answered."""
    stmt = with_parts(stmt, lambda part: unclamped(part, plain))
    if not isinstance(stmt, Let | Store):
        return stmt
    value = replaced(stmt.value, plain)
    return stmt if value is stmt.value else replace(stmt, value=value)


@dataclass(frozen=True, slots=True)
class _Place:
    """What is around a place inside the loop."""

    inner: Mapping[str, For]
    """The loops."""
    bound: frozenset[str]
    """Names that are bound by something else, of which nothing is known."""
    values: Mapping[str, Expr]
    """Names of coordinates, and these, in terms of loops and of what is outside."""
    coordinates: frozenset[Expr] = frozenset()
    """What is clamped to make an index of the value that is looked at: entry checks hold it within i32."""

    def told(self, expr: Expr) -> Expr:
        """`expr` without such names."""
        return substitute(expr, self.values) if self.values else expr

    def within(self, loop: For) -> _Place:
        """Inside a loop."""
        around = {name: value for name, value in self.values.items() if name != loop.name}
        return replace(self, inner={**self.inner, loop.name: replace(loop, min=self.told(loop.min))}, values=around)

    def inside(self, definition: Let) -> _Place:
        """Where something has a name."""
        name, value = definition.name, self.told(definition.value)
        if value.type == I32 and not affine.reads(value) and not names(value) & self.bound:
            return replace(self, values={**self.values, name: value})
        return replace(self, bound=self.bound | {name})


def _limited(stmt: Stmt, place: _Place) -> Iterator[tuple[Op, _Place]]:
    """The coordinates in `stmt` that are clamped, what it compares and its choices, each with where it is."""
    if isinstance(stmt, Block):
        for part in stmt.statements:
            yield from _limited(part, place)
    elif isinstance(stmt, For):
        yield from _limited(stmt.body, place.within(stmt))
    elif isinstance(stmt, If):
        for branch in (stmt.then, stmt.otherwise):
            if branch is not None:
                yield from _limited(branch, place)
    elif isinstance(stmt, Let):
        yield from _in(stmt.value, place)
        yield from _limited(stmt.body, place.inside(stmt))
    elif isinstance(stmt, Produce | Allocate):
        yield from _limited(stmt.body, place)
    elif isinstance(stmt, Store):
        yield from _in(stmt.value, place)


def _in(value: Expr, place: _Place) -> Iterator[tuple[Op, _Place]]:
    """The coordinates in the indices of `value` that are clamped, its comparisons of coordinates, and its choices."""
    coordinates = set[Expr]()
    asked = list[Op]()
    for node in walk(value):
        if isinstance(node, Load):
            for part in walk(node.index):
                if isinstance(part, Op) and part.op == "cast" and part.type == I64 and not affine.reads(part):
                    coordinates |= set(walk(part.children[0]))
                    if _is_clamp(part.children[0]):
                        yield part, place
        elif isinstance(node, Op) and (node.op == "select" or _is_comparison(node)):
            asked.append(node)
    here = replace(place, coordinates=frozenset(coordinates))
    yield from ((one, here) for one in asked)


def _is_comparison(expr: Expr) -> TypeGuard[Op]:
    """Whether coordinates are compared, of which one is to be less."""
    ordered = isinstance(expr, Op) and expr.op in OPPOSITE
    return ordered and expr.children[0].type == I32 and not affine.reads(expr)


def _asked(choice: Op) -> list[tuple[Op, bool]]:
    """The comparisons, and their answers, that are to be so for `choice` to take the arm that loads more."""
    condition, *arms = choice.args
    more, less = (len({node for node in walk(arm) if isinstance(node, Load)}) for arm in arms)
    return [] if more == less else list(_answers(condition, more > less))


def _answers(condition: Expr, holds: bool) -> Iterator[tuple[Op, bool]]:
    """The comparisons, and their answers, that must all be so for `condition` to hold, or not to."""
    if _is_comparison(condition):
        yield condition, holds
    elif isinstance(condition, Op) and condition.op == "not":
        yield from _answers(condition.args[0], not holds)
    elif isinstance(condition, Op) and condition.op in (("and", "&") if holds else ("or", "|")):
        for part in condition.args:
            yield from _answers(part, holds)


def _answered(comparison: Op, holds: bool, place: _Place, moving: set[str]) -> list[Expr]:
    """Differences (i64) that are <= 0 only where `comparison` has this answer as i32 has it, wrapping or not."""
    op, (low, high) = comparison.op, comparison.args
    op = op if holds else OPPOSITE[op]
    if op in (">", ">="):
        op, low, high = MIRRORED[op], high, low
    below, above = (_sum(place.told(side), moving) for side in (low, high))
    found = [affine.add(affine.subtract(below, above), Const(I64, int(op == "<")))]
    for one in filter(_is_sum, (*_dividends(below), *_dividends(above))):
        found += [affine.subtract(Const(I64, int(I32.min)), one), affine.subtract(one, Const(I64, int(I32.max)))]
    if _is_sum(below) and low not in place.coordinates:
        found.append(affine.subtract(Const(I64, int(I32.min)), below))
    if _is_sum(above) and high not in place.coordinates:
        found.append(affine.subtract(above, Const(I64, int(I32.max))))
    return found


def _lanes(inner: Mapping[str, For]) -> set[str]:
    return {name for name, loop in inner.items() if loop.kind == "vectorized"}


def _is_clamp(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.op in ("min", "max") and expr.type == I32


def _without_clamp(expr: Expr, loops: set[str]) -> tuple[Expr, list[Expr]]:
    """The coordinate that is clamped, which moves with `loops`, and differences (i64) that are <= 0 where the clamp
    does not change it.

    So it is with remainders, of what is between 0 and the modulus, and with the lesser of two arms, of which the first
    is taken, where one is the other mirrored.
    """
    if not (isinstance(expr, Op) and expr.type == I32 and expr.op in ("min", "max", "%", "+", "-")):
        return expr, []
    moving = [bool(names(arg) & loops) for arg in expr.args]
    if expr.op in ("+", "-"):
        parts = [_without_clamp(arg, loops) for arg in expr.args]
        ends = [end for _, found in parts for end in found]
        return (Op(I32, expr.op, tuple(part for part, _ in parts)), ends) if ends else (expr, [])
    if expr.op == "%":
        over, modulus = expr.args
        short = isinstance(modulus, Const) and int(modulus.value) <= SHORT  # no vector is inside, or few are
        if moving != [True, False] or short:
            return expr, []
        coordinate, ends = _without_clamp(over, loops)
        here = _wide(coordinate)
        beyond = affine.add(affine.subtract(here, _wide(modulus)), Const(I64, 1))
        return coordinate, [*ends, affine.scale(here, -1), beyond]
    if moving == [True, True] and not _mirrored(*expr.args):
        return expr, []
    if not any(moving):
        return expr, []
    arm, end = expr.args if moving[0] else expr.args[::-1]
    coordinate, ends = _without_clamp(arm, loops)
    other, others = _without_clamp(end, loops) if all(moving) else (end, [])
    pair = _wide(coordinate), _wide(other)
    return coordinate, [*ends, *others, affine.subtract(*(pair if expr.op == "min" else pair[::-1]))]


def _mirrored(arm: Expr, other: Expr) -> bool:
    """Whether both are sums of one remainder and of what is else the same in all iterations."""
    of_arm, of_other = ([term for term, _ in affine.affine(one)[0] if _is_remainder(term)] for one in (arm, other))
    return len(of_arm) == 1 and of_arm == of_other


def _is_remainder(term: Expr) -> bool:
    return isinstance(term, Op) and term.op == "%"


def _solved(
    difference: Expr, name: str, inner: Mapping[str, For], bound: frozenset[str]
) -> tuple[Expr | None, Expr | None] | None:
    """The least iteration of the loop `name` in which `difference` is <= 0 whatever the loops inside do, and the one
    after the greatest; one of them is known. None where that is not known."""
    difference = _without_quotient(difference, {name, *inner})
    for loop in reversed(list(inner.values())):
        difference, known = _worst(difference, loop)
        if not known:
            return None
    terms, constant = affine.affine(difference)
    if not sum_in_i64(difference):
        return None
    here = Op(I64, "cast", (Var(I32, name),))
    factor = dict(terms).get(here, 0)
    others = tuple((term, own) for term, own in terms if term != here)
    if not factor or any(names(term) & (bound | {name}) for term, _ in others):
        return None
    rest = affine.from_affine(others, constant, I64)
    if factor > 0:  # factor*x + rest <= 0
        return None, in_i32(affine.add(affine.divide(affine.scale(rest, -1), factor), Const(I64, 1)))
    return in_i32(affine.divide_up(rest, -factor)), None


def _without_quotient(difference: Expr, loops: set[str], deep: int = _DEEPEST) -> Expr:
    """A difference that is <= 0 where this one is, without the one quotient in it that moves with `loops`, or quotient
    of a quotient."""
    terms, constant = affine.affine(difference)
    moving = [(d, factor, term) for term, factor in terms if names(term) & loops and (d := _divided(term))]
    if len(moving) != 1 or abs(moving[0][1]) != 1 or not deep:
        return difference
    (((over, divisor), factor, quotient),) = moving
    rest = affine.from_affine(tuple(one for one in terms if one[0] != quotient), constant, I64)
    most = divisor - 1 if factor > 0 else 0
    found = affine.subtract(affine.add(affine.scale(over, factor), affine.scale(rest, divisor)), Const(I64, most))
    return _without_quotient(found, loops, deep - 1)


def _divided(expr: Expr) -> tuple[Expr, int] | None:
    """What is divided by a number above 0 that is not large, and this number."""
    if not (isinstance(expr, Op) and expr.op == "//" and isinstance(expr.args[1], Const)):
        return None
    divisor = int(expr.args[1].value)
    return (expr.args[0], divisor) if 0 < divisor <= _LARGEST else None


def _worst(difference: Expr, loop: For) -> tuple[Expr, bool]:
    """`difference` in that iteration of `loop` in which it is greatest; whether there is one that is known."""
    if loop.name not in names(difference):
        return difference, True
    lanes = loop.kind in ("vectorized", "unrolled")
    if not isinstance(loop.extent, Const) or not (lanes or int(loop.extent.value) <= SHORT):
        return difference, False
    here = Op(I64, "cast", (Var(I32, loop.name),))
    factor = dict(affine.affine(difference)[0]).get(here, 0)
    low = _wide(loop.min)
    last = affine.add(low, Const(I64, int(loop.extent.value) - 1))
    worst = affine.replace_terms(difference, {here: last if factor > 0 else low})
    return worst, loop.name not in names(worst)


def _wide(expr: Expr) -> Expr:
    """An i32 coordinate as i64: its sums, products and quotients, which are checked on entry, there, all else as i32
    has it."""
    if isinstance(expr, Const):
        return Const(I64, expr.value)
    if isinstance(expr, Op) and (expr.op in ("+", "-", "*", "neg") or _divided(expr)):
        return Op(I64, expr.op, tuple(map(_wide, expr.args)))
    return Op(I64, "cast", (expr,))


def _sum(expr: Expr, moving: set[str]) -> Expr:
    """An i32 value as i64: sums that move with `moving` and quotients of them as they are where nothing wraps, all else
    as i32 has it."""
    if isinstance(expr, Const):
        return Const(I64, expr.value)
    if not isinstance(expr, Op) or not names(expr) & moving:
        return Op(I64, "cast", (expr,))
    if expr.op in ("+", "-", "neg") or (expr.op == "*" and any(isinstance(arg, Const) for arg in expr.args)):
        return Op(I64, expr.op, tuple(_sum(arg, moving) for arg in expr.args))
    if (divided := _divided(expr)) is not None:
        return Op(I64, "//", (_sum(divided[0], moving), Const(I64, divided[1])))
    return Op(I64, "cast", (expr,))


def _dividends(expr: Expr) -> Iterator[Expr]:
    """What is divided in what `_sum` gives."""
    for node in walk(expr):
        if isinstance(node, Op) and node.op == "//" and node.type == I64:
            yield node.args[0]


def _is_sum(expr: Expr) -> bool:
    """Whether `_sum` found something in an expression that may be beyond i32."""
    return isinstance(expr, Op) and expr.op != "cast"
