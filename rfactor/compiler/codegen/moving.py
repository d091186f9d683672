"""Indices that move with the counter of an innermost loop by more than an instruction scales: counted beside it.

for i in (0, n): f[i*16 .. i*16 + 15] = …     each iteration copies the counter, shifts it, counts, and compares
s = 0; while s != n*16: …; s = s + 16         counts and compares, which says where the loop ends too

x86 adds a register, scaled by 1, 2, 4 or 8, to an address for nothing. LLVM's own search for what moves with a loop
takes long (`strides`).
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.compiler.codegen.free import expressions, within
from rfactor.compiler.codegen.lanes import turns
from rfactor.compiler.lower import affine
from rfactor.ir.expr import Expr, Var, cast, walk
from rfactor.ir.loopnest import Broadcast, For, Load, Ramp, Stmt, Store
from rfactor.ir.types import I32, I64, Type

_SCALES = (1, 2, 4, 8)
"""Bytes that an instruction multiplies a register by."""
_MOST = 3
"""Numbers that are counted beside the counter: each takes a register."""
_LITTLE = 8
"""Loads and stores of a loop in which it shows: with more it only takes longer to compile."""


def moving(name: str, body: Stmt) -> dict[int, int]:
    """By how many elements at a time indices move with the loop `name`, and of which of these numbers each is a
    multiple that an instruction makes: itself for those that are to be counted. None where `body` has loops, no
    vectors, or much to do."""
    inside = list(within(body))
    if any(isinstance(one, For) for one in inside):
        return {}
    accesses = list(_accesses(inside))
    if len(accesses) > _LITTLE or all(index.type.lanes == 1 for index, _ in accesses):
        return {}
    steps: dict[int, int] = {}
    for index, type in accesses:
        for first in _firsts(index):
            step = dict(affine.affine(first)[0]).get(cast(I64, Var(I32, name)), 0)
            size = max(type.bits // 8, 1)
            if 0 < step <= I32.max and step * size not in _SCALES:
                steps[step] = max(steps.get(step, 0), size)
    counted: list[int] = []
    found = {}
    for step in sorted(steps):
        found[step] = next((one for one in counted if step % one == 0 and step // one * steps[step] in _SCALES), step)
        if found[step] == step:
            counted.append(step)
    return found if len(counted) <= _MOST else {}


def _accesses(statements: list[Stmt]) -> Iterator[tuple[Expr, Type]]:
    """All indices, with the types of elements."""
    for one in statements:
        if isinstance(one, Store):
            yield one.index, one.value.type.element
        for expr in expressions(one):
            yield from ((node.index, node.type.element) for node in walk(expr) if isinstance(node, Load))


def _firsts(index: Expr) -> tuple[Expr, ...]:
    """The scalar indices that addresses are made of; none where each lane has one of its own."""
    if index.type.element != I64:
        return ()
    if isinstance(index, Ramp):
        return (index.base,)
    if isinstance(index, Broadcast):
        return (index.value,)
    if index.type.lanes == 1:
        return (index,)
    found = turns(index)
    return () if found is None else found.starts
