"""Strided vectors of one iteration that lie between each other: one span of memory holds them all.

    b[…] = a[ramp(m, 3, 8)]             lanes 0, 3, 6, … of the 24 elements from a[m]
    c[…] = a[ramp(m + 1, 3, 8)]    ->   lanes 1, 4, 7, … of the same
    d[…] = a[ramp(m + 2, 3, 8)]         lanes 2, 5, 8, … of the same

A vector alone is loaded with nothing before its first element or after its last, which may not be there; what others
of the same iteration load is there. Each still loads the span where it stands: LLVM leaves out what it loaded before,
where nothing may have been stored since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Expr, names
from rfactor.ir.loopnest import Block, Broadcast, Let, Load, Ramp, Stmt, Store
from rfactor.ir.types import I64

_NEVER = Const(ALWAYS.type, False)


@dataclass(frozen=True, slots=True)
class Span:
    """Where a strided vector lies in what is loaded for it."""

    before: int
    """Elements before its first."""
    count: int
    """All elements."""


def spans(stmt: Stmt) -> dict[Load, Span]:
    """The loads of `stmt` that lie in one stride with others; none where it is more than stores one after the other."""
    if not _straight(stmt):
        return {}
    groups: dict[object, dict[int, Load]] = {}
    keys: dict[Load, set[object]] = {}
    for load, base, stride, bound in _strided(stmt, {}):
        terms, constant = affine.affine(base)
        # A name that is bound again means something else.
        key = (load.buffer, load.type, stride, frozenset(terms), frozenset((n, bound.get(n)) for n in names(base)))
        groups.setdefault(key, {})[constant] = load
        keys.setdefault(load, set()).add(key)
    found = {}
    for group in groups.values():
        left = sorted(group)
        while left:
            low = left[0]
            _, stride = _place(group[low]) or (None, 0)
            near = [constant for constant in left if constant - low < stride]
            left = left[len(near) :]
            count = near[-1] - low + (group[low].type.lanes - 1) * stride + 1
            if len(near) > 1:
                found.update({group[at]: Span(at - low, count) for at in near if len(keys[group[at]]) == 1})
    return found


def _straight(stmt: Stmt) -> bool:
    """Whether `stmt` executes all that it holds, once."""
    if isinstance(stmt, Block):
        return all(map(_straight, stmt.statements))
    return isinstance(stmt, Store) or (isinstance(stmt, Let) and _straight(stmt.body))


def _strided(stmt: Stmt, bound: Mapping[str, object]) -> Iterator[tuple[Load, Expr, int, Mapping[str, object]]]:
    """What straight code loads in strided vectors, whatever data say: the first index, the stride, what is bound."""
    if isinstance(stmt, Block):
        for child in stmt.statements:
            yield from _strided(child, bound)
        return
    assert isinstance(stmt, Let | Store)
    if isinstance(stmt, Let) or not _never(stmt.predicate):
        for load in _always(stmt.value):
            if (place := _place(load)) is not None:
                yield load, *place, bound
    if isinstance(stmt, Let):
        yield from _strided(stmt.body, {**bound, stmt.name: object()})


def _never(predicate: Expr) -> bool:
    """Whether what has this predicate does not happen, in any lane."""
    return _never(predicate.value) if isinstance(predicate, Broadcast) else predicate == _NEVER


def _always(expr: Expr) -> Iterator[Load]:
    """The loads of `expr` that nothing stands before."""
    seen: set[Expr] = set()
    pending = [expr]
    while pending:
        node = pending.pop()
        if node in seen or (isinstance(node, Load) and node.predicate != ALWAYS):
            continue
        seen.add(node)
        pending += node.children
        if isinstance(node, Load):
            yield node


def _place(load: Load) -> tuple[Expr, int] | None:
    """The first index and the stride of lanes that lie a known stride apart, at coordinates."""
    index = load.index
    if not (isinstance(index, Ramp) and isinstance(index.stride, Const) and index.type.element == I64):
        return None
    stride = int(index.stride.value)
    return None if stride < 2 or affine.reads(index.base) else (index.base, stride)
