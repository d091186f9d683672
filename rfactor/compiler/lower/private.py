"""Storage inside a vectorised loop as one buffer that has a place for each lane.

vectorized for x in (0, 8):             vectorized for x in (0, 8):
  allocate m[u8 * 3]                      allocate m[u8 * 24]
    for i in (x, 3):               ->       let i.begin = x
      m[i - x] = a[i]                         for i.from in (0, 3):
                                                let i = i.begin + i.from
                                                  m[(i - x)*8 + x] = a[i]

What is computed in the iterations of a vectorised loop, as an inline reduction is, is so computed in lanes. Lanes begin
an inner loop where they like, but all take as many iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import widen
from rfactor.ir.expr import Const, Expr, Var, names, transform
from rfactor.ir.loopnest import Allocate, Atomic, Block, For, If, Let, Load, Produce, Stmt, Store
from rfactor.ir.types import I32, I64

_MOST = 1 << 12
"""Elements of a buffer of all lanes, which lies on the stack."""


class _Shared(Exception):
    """Lanes cannot have storage of their own."""


def private(loop: For, lanes: int) -> For | None:
    """The loop whose `lanes` iterations share no storage that is allocated in it; None where that cannot be had."""
    try:
        return replace(loop, body=_Lanes(loop, lanes).visit(loop.body, frozenset((loop.name,)), frozenset()))
    except _Shared:
        return None


class _Lanes:
    """A loop whose iterations become the lanes of vectors."""

    def __init__(self, loop: For, lanes: int) -> None:
        self._lane = affine.subtract(widen(Var(I32, loop.name)), widen(loop.min))
        self._lanes = lanes

    def visit(self, stmt: Stmt, varying: frozenset[str], own: frozenset[str]) -> Stmt:
        """`stmt` with places for all lanes in the buffers `own`; `varying` are the names that differ between lanes."""
        if isinstance(stmt, Block):
            return Block(tuple(self.visit(part, varying, own) for part in stmt.statements))
        new = self._reading(own)
        if isinstance(stmt, Allocate):
            size = affine.constant_value(stmt.size)
            if size is None or size * self._lanes > _MOST:
                raise _Shared
            body = self.visit(stmt.body, varying, own | {stmt.buffer})
            return replace(stmt, size=Const(I64, size * self._lanes), body=body)
        if isinstance(stmt, For):
            return self._loop(replace(stmt, min=new(stmt.min), extent=new(stmt.extent)), varying, own)
        if isinstance(stmt, If):
            otherwise = None if stmt.otherwise is None else self.visit(stmt.otherwise, varying, own)
            return If(new(stmt.condition), self.visit(stmt.then, varying, own), otherwise)
        if isinstance(stmt, Let):
            value = new(stmt.value)
            more = {stmt.name} if names(value) & varying else set()
            return Let(stmt.name, value, self.visit(stmt.body, varying | more, own))
        if isinstance(stmt, Produce | Atomic):
            return replace(stmt, body=self.visit(stmt.body, varying, own))
        if isinstance(stmt, Store):
            index, value, predicate = map(new, (stmt.index, stmt.value, stmt.predicate))
            return Store(stmt.buffer, self._place(index) if stmt.buffer in own else index, value, predicate)
        raise _Shared

    def _loop(self, loop: For, varying: frozenset[str], own: frozenset[str]) -> Stmt:
        if (loop.kind == "parallel" and own) or names(loop.extent) & varying:
            raise _Shared
        if not names(loop.min) & varying:
            return replace(loop, body=self.visit(loop.body, varying - {loop.name}, own))
        begin, counter = f"{loop.name}.begin", f"{loop.name}.from"
        body = self.visit(loop.body, varying | {loop.name}, own)
        here = affine.add(Var(I32, begin), Var(I32, counter))
        counted = replace(loop, name=counter, min=affine.integer(0), body=Let(loop.name, here, body))
        return Let(begin, loop.min, counted)

    def _reading(self, own: frozenset[str]) -> Callable[[Expr], Expr]:
        if not own:
            return lambda expr: expr

        def load(node: Expr) -> Expr | None:
            if not isinstance(node, Load) or node.buffer not in own:
                return None
            if node.type.lanes > 1:
                raise _Shared
            return Load(node.type, node.buffer, self._place(node.index), node.predicate)

        return lambda expr: transform(expr, load)

    def _place(self, index: Expr) -> Expr:
        if index.type.lanes > 1:
            raise _Shared
        wide = widen(index) if index.type == I32 else index
        return affine.add(affine.multiply(wide, Const(I64, self._lanes)), self._lane)
