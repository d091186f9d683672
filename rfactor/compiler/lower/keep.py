"""Points that every iteration of an innermost loop reads and writes are kept apart from the array while it runs.

                                            if s >= 8 or s <= -8:
                                              allocate f.kept[16]
                                              f.kept[ramp(0, 1, 8)] = f[ramp(m, 1, 8)]; …
    for r in (0, 9):                          for r in (0, 9):
      f[ramp(m, 1, 8)] += a[r]         ->       f.kept[ramp(0, 1, 8)] += a[r]
      f[ramp(m + s, 1, 8)] += b[r]              f.kept[ramp(8, 1, 8)] += b[r]
                                              f[ramp(m, 1, 8)] = f.kept[ramp(0, 1, 8)]; …
                                            else: … (the loop as it was)

    for r in (0, 9):                        allocate f.kept[8]
      f[ramp(m, 16, 8)] += a[r]        ->   f.kept[ramp(0, 1, 8)] = f[ramp(m, 16, 8)]; …

    for r in (0, 9):                        allocate f.kept[8]
      f[ramp(m, 1, 8) if c] =               f.kept[ramp(0, 1, 8)] = f[ramp(m, 1, 8) if c]
        f[ramp(m, 1, 8) if c] + a[r]   ->   for r in (0, 9):
                                              f.kept[ramp(0, 1, 8)] += a[r]
                                            f[ramp(m, 1, 8) if c] = f.kept[ramp(0, 1, 8)]

LLVM keeps in registers what lies in places of its own. Points a known distance apart it tells apart itself; rows that
are a stride apart may overlap for all it knows, and are written and read again in every iteration (those of one output
do not, which is asked on entry). So are lanes that
are a stride apart, which are gathered and scattered, and those under a mask, which is the same in every iteration
here. What is computed of lanes that it leaves out is stored nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import positive
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Expr, Var, apply, conjunction, names, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Allocate, Broadcast, For, If, Let, Load, Ramp, Stmt, Store, block
from rfactor.ir.statements import is_innermost, walk_nest, with_parts
from rfactor.ir.types import I64, Type

_MOST = 24
"""Vectors that are kept: about as many as there are registers."""


def keep(stmt: Stmt) -> Stmt:
    """The flat nest with such points in storage of their own."""
    return _kept(stmt) if isinstance(stmt, For) and is_innermost(stmt) else with_parts(stmt, keep)


def _kept(loop: For) -> Stmt:
    stores: dict[str, list[Store]] = {}
    for part in walk_nest(loop.body):
        if isinstance(part, Store):
            stores.setdefault(part.buffer, []).append(part)
    kept: dict[str, _Points] = {}
    conditions: dict[Expr, None] = {}
    for buffer, own in stores.items():
        points = _points(loop, buffer, own)
        apart = None if points is None else _apart(points, f"{buffer}.stride.")
        if points is not None and apart is not None and (apart == ALWAYS or not points.masked):
            kept[buffer] = points
            conditions[apart] = None
    if not kept:
        return loop
    asked = [condition for condition in conditions if condition != ALWAYS]
    runs = () if affine.constant_value(loop.extent) is not None else (positive(loop.extent),)
    if not (runs or asked):
        return _with(loop, kept)
    return If(conjunction(*runs, *asked), _with(loop, kept), loop if asked else None)


@dataclass(frozen=True, slots=True)
class _Points:
    """Where a loop reads and writes an array, in every iteration."""

    type: Type
    masks: dict[Expr, Expr]
    """What each is read and written under, by its index."""

    @property
    def indices(self) -> tuple[Expr, ...]:
        return tuple(self.masks)

    @property
    def masked(self) -> bool:
        """Whether a mask leaves lanes out: loops that run few times, and of which there are no two."""
        return any(mask != ALWAYS for mask in self.masks.values())


def _points(loop: For, buffer: str, stores: list[Store]) -> _Points | None:
    """The points of `buffer` that the loop writes, where it writes and reads no others."""
    inside = list(walk_nest(loop.body))
    bound = {loop.name} | {part.name for part in inside if isinstance(part, Let)}
    type_ = stores[0].value.type
    masks = {store.index: _mask(store.predicate) for store in stores}
    if len(masks) > _MOST or any(s.value.type != type_ or masks[s.index] != _mask(s.predicate) for s in stores):
        return None
    for index, mask in masks.items():
        if (
            not (index.type.lanes == 1 or isinstance(index, Ramp))
            or index.type.element != I64
            or any(names(part) & bound or affine.reads(part) for part in (index, mask))
        ):
            return None
    for part in inside:
        values = (part.value,) if isinstance(part, Let) else ()
        for expr in (part.value, part.index, part.predicate) if isinstance(part, Store) else values:
            for node in walk(expr):
                if (
                    isinstance(node, Load)
                    and node.buffer == buffer
                    and (node.type != type_ or masks.get(node.index) != _mask(node.predicate))
                ):
                    return None
    return _Points(type_, masks)


def _mask(predicate: Expr) -> Expr:
    """A predicate of all lanes, or of one point; `ALWAYS` where it holds everywhere."""
    return ALWAYS if isinstance(predicate, Broadcast) and predicate.value == ALWAYS else predicate


def _apart(points: _Points, strides: str) -> Expr | None:
    """The condition under which no two points overlap; None where they do, or where that is known without asking.

    Points in two rows of an array that the caller gives, whose strides begin with `strides`, do not, as every iteration
    writes both: it is asked on entry that no two elements of an output are one.
    """
    lanes, step = points.type.lanes, _step(points)
    if step is None:
        (*others, index) = points.indices
        return apply("!=", index.stride, Const(I64, 0)) if isinstance(index, Ramp) and not others else None
    groups: dict[frozenset[tuple[Expr, int]], tuple[Expr, list[int]]] = {}
    for index in points.indices:
        terms, constant = affine.affine(index.base if isinstance(index, Ramp) else index)
        groups.setdefault(frozenset(terms), (affine.from_affine(terms, 0, I64), []))[1].append(constant)
    if len(groups) == 1 and step == 1 and not points.masked:
        return None
    for _, offsets in groups.values():
        if any((a - b) % step == 0 and abs(a - b) < lanes * step for a, b in combinations(offsets, 2)):
            return None
    span = (lanes - 1) * step + 1
    conditions: list[Expr] = []
    for (base_a, own_a), (base_b, own_b) in combinations(groups.values(), 2):
        distance = affine.subtract(base_b, base_a)
        if not points.masked and _is_across(distance, strides):
            continue
        after = apply(">=", distance, Const(I64, max(own_a) + span - min(own_b)))
        before = apply("<=", distance, Const(I64, min(own_a) - span - max(own_b)))
        conditions.append(apply("or", after, before))
    return conjunction(*dict.fromkeys(conditions)) if conditions else ALWAYS


def _is_across(distance: Expr, strides: str) -> bool:
    """Whether a distance is so many rows, planes and so on, and elements: numbers."""
    terms, _ = affine.affine(distance)
    return bool(terms) and all(isinstance(term, Var) and term.name.startswith(strides) for term, _ in terms)


def _step(points: _Points) -> int | None:
    """How far apart the lanes of every point are, a constant above 0; None where it is none, or not the same of all."""
    strides = {index.stride if isinstance(index, Ramp) else Const(I64, 1) for index in points.indices}
    step = affine.constant_value(strides.pop())
    return step if not strides and step is not None and step > 0 else None


def _with(loop: For, kept: dict[str, _Points]) -> Stmt:
    """The loop, over storage of its own for the points of all arrays."""
    places = {
        (buffer, index): _place(number, points.type.lanes)
        for buffer, points in kept.items()
        for number, index in zip(range(len(points.indices)), points.indices, strict=True)
    }
    loads: dict[Expr, Expr] = {
        Load(kept[buffer].type, buffer, index, predicate): Load(kept[buffer].type, _name(buffer), at, ALWAYS)
        for (buffer, index), at in places.items()
        for predicate in _spellings(kept[buffer].masks[index], kept[buffer].type.lanes)
    }

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Let):
            return Let(stmt.name, replaced(stmt.value, loads), visit(stmt.body))
        if not isinstance(stmt, Store):
            return with_parts(stmt, visit)
        value = replaced(stmt.value, loads)
        if stmt.buffer not in kept:
            index, predicate = replaced(stmt.index, loads), replaced(stmt.predicate, loads)
            return Store(stmt.buffer, index, value, predicate)
        return Store(_name(stmt.buffer), places[stmt.buffer, stmt.index], value, ALWAYS)

    def moved(buffer: str, index: Expr, at: Expr, *, back: bool) -> Stmt:
        type_, mask = kept[buffer].type, kept[buffer].masks[index]
        if back:
            return Store(buffer, index, Load(type_, _name(buffer), at, ALWAYS), mask)
        return Store(_name(buffer), at, Load(type_, buffer, index, mask), ALWAYS)

    result = block(
        *(moved(*point, at, back=False) for point, at in places.items()),
        replace(loop, body=visit(loop.body)),
        *(moved(*point, at, back=True) for point, at in places.items()),
    )
    for buffer, points in kept.items():
        size = affine.integer(len(points.indices) * points.type.lanes)
        result = Allocate(_name(buffer), points.type.element, size, result)
    return result


def _name(buffer: str) -> str:
    return f"{buffer}.kept"


def _place(number: int, lanes: int) -> Expr:
    first = Const(I64, number * lanes)
    return first if lanes == 1 else Ramp(first, Const(I64, 1), lanes)


def _spellings(mask: Expr, lanes: int) -> tuple[Expr, ...]:
    return (mask, Broadcast(ALWAYS, lanes)) if mask == ALWAYS and lanes > 1 else (mask,)
