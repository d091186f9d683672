"""How far out of the loops around it a value can be computed.

    for y in (0, h):                  s = y*stride          computed before the loop over x
      for x in (0, w):           ->   a = x + s             computed in it
        f[x + y*stride] = …

What is left to LLVM it finds as well, but only after it has been through every copy of it in the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Const, Expr, Op, Var
from rfactor.ir.loopnest import Broadcast, Ramp
from rfactor.ir.types import I64
from rfactor.native.emit import Known, Place
from rfactor.native.literal import LLVMValue

_HERE = 1 << 30
"""More loops than there are."""


class Places:
    """The loops around what is emitted in one function, and the variables that they bind."""

    def __init__(self, names: Iterable[str]) -> None:
        """`names` are known outside of all loops."""
        self._loops: list[Place] = []
        self._bound = dict.fromkeys(names, 0)
        self._depths: dict[Expr, int] = {}

    @contextmanager
    def loop(self, block: LLVMValue, known: Known) -> Iterator[None]:
        """Inside a loop, `block` before it."""
        self._loops.append(Place(block, dict(known)))
        yield
        self._loops.pop()

    @property
    def inside(self) -> bool:
        """Whether there is a loop around this place."""
        return bool(self._loops)

    def bind(self, name: str) -> None:
        """`name` changes with the innermost loop from here on."""
        depth = len(self._loops)
        if self._bound.get(name, depth) != depth:
            self._depths.clear()
        self._bound[name] = depth

    def outside(self, expr: Expr) -> Place | None:
        """Where to compute `expr` once for many iterations; None for here."""
        if not self._loops or not isinstance(expr, Op | Broadcast | Ramp):
            return None
        return self._place(self._depth(expr))

    def _place(self, depth: int) -> Place | None:
        return self._loops[depth] if depth < len(self._loops) else None

    def _depth(self, expr: Expr) -> int:
        """The number of loops that `expr` has to be in. What reads data or calls stays where it is."""
        depths, pending = self._depths, [expr]
        while expr not in depths:
            node = pending[-1]
            summed = isinstance(node, Const | Op | Broadcast | Ramp)
            missing = [child for child in node.children if child not in depths] if summed else []
            if missing:
                pending += missing
                continue
            pending.pop()
            if isinstance(node, Var):
                depths[node] = self._bound[node.name]
            else:
                depths[node] = max([depths[child] for child in node.children], default=0) if summed else _HERE
        return depths[expr]

    def parts(self, index: Expr) -> tuple[list[tuple[Expr, Place | None]], int]:
        """A scalar index (i64) as what each loop contributes to it and where, outer loops first, and a constant."""
        terms, constant = affine.affine(index)
        groups: dict[int, list[tuple[Expr, int]]] = {}
        for term, factor in terms:
            groups.setdefault(self._depth(term), []).append((term, factor))
        sums = [(affine.from_affine(tuple(groups[depth]), 0, I64), self._place(depth)) for depth in sorted(groups)]
        return sums, constant
