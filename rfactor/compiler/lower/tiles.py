"""Whole tiles, apart from those that guards cut: their loops of vectors have as many iterations each.

    for x in (0, e):                             for x in (0, n // 64):
      for xi in (0, 8):                            for xi in (0, 8): f[x*64 + xi*8 …] = …
        if x*64 + xi*8 + 7 < n: f[…] = …    ->   for x in (n // 64, e - n // 64): as it was

What is computed for a whole tile has constant extents too. Tiles in which coordinates are clamped stay together: their
own loops are split (`borders`), which leaves fewer vectors to be gathered.
"""

from __future__ import annotations

from math import prod

from rfactor.compiler.lower.borders import SHORT, limited
from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.lower.guards import (
    all_near,
    assuming,
    beyond,
    bound_in,
    decided,
    end_of_safe,
    guards_in,
    is_short,
    solve,
)
from rfactor.compiler.lower.spans import Spans
from rfactor.ir.expr import Const, Expr, names, walk
from rfactor.ir.loopnest import For, Load, Stmt

_ROWS = 4
"""Rows of vectors that are worth loops of their own: what is unrolled for them needs no guard then."""


def whole_tiles(loop: For, spans: Spans) -> tuple[Expr, Stmt] | None:
    """The coordinate before which iterations of `loop` are whole tiles, of whose vectors no guard stops any, and what
    these do; None where it has no tiles. It may lie before the loop."""
    guards = list(guards_in(loop.body, loop.name, {}))
    tiled = {c for c, loops in guards if _tiled(c, loops)}
    if not tiled or limited(loop.body):
        return None
    # Where one stands in several loops, it is solved in all.
    solved = [solve(c, loop.name, loops) for c, loops in guards if c in tiled]
    safe = [s for s in solved if s is not None]
    unknown = bound_in(loop.body)
    if len(safe) < len(solved) or any(s.mins or any(unknown & names(e) for e in s.told) for s in safe):
        return None
    limits = [limit for s in safe for limit in s.ends]
    last = end_of_safe(loop, beyond(loop), limits, all_near(loop, safe, spans))
    held = {conjunct for s in safe for conjunct in conjuncts(s.condition)}
    return last, decided(assuming(loop.body, held), [one for s in safe for one in s.below])


def _tiled(condition: Expr, loops: dict[str, For]) -> bool:
    """Whether a guard that depends on these loops inside of another is of a tile: of few vectors, as many whatever the
    loop around does, or of very few rows."""
    if any(isinstance(node, Load) for node in walk(condition)):
        return False
    serial = [loop for loop in loops.values() if not is_short(loop)]
    most = SHORT if any(loop.kind == "vectorized" for loop in loops.values()) else _ROWS
    extents = [int(loop.extent.value) if isinstance(loop.extent, Const) else most + 1 for loop in serial]
    return bool(serial) and all(loop.kind == "serial" for loop in serial) and prod(extents) <= most
