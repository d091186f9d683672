"""Associativity of a multiplication table, tried on all triples, compiled."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from rfactor.native.lanes import I8, I64, Kernels, address, constant, counted, function, intrinsic, load

_LANES = 64
_LOOKUP = "llvm.x86.avx512.vpermi2var.qi.512"
"""Looks 64 bytes up in a table of 128, by one instruction."""


@lru_cache(maxsize=2)
def _kernels(wide: bool) -> Kernels:
    """`failing(n, table)`: x * n + y of the first pair for which some z fails, or n * n.

    Row x of the (n, n) table is the map z -> op(x, z). The operator is associative exactly if the row of op(x, y) is
    the row of y followed by that of x. With `wide`, n is 256 and 64 of the z are looked up at once.
    """
    module = ir.Module("exhaustion")
    b, (n, base) = function(module, "failing", 2)
    table = address(b, base)
    kind = ir.VectorType(I8, _LANES) if wide else I8
    wrong = b.alloca(kind)
    with counted(b, constant(0), n, "x") as x:
        own = b.mul(x, n)
        row = [_part(b, table, own, part) for part in range(4)] if wide else []
        with counted(b, constant(0), n, "y") as y:
            product = b.mul(b.zext(load(b, table, b.add(own, y), I8), I64), n)
            right = b.mul(y, n)
            b.store(ir.Constant(kind, None), wrong)
            if wide:
                for part in range(4):
                    left = _part(b, table, product, part)
                    other = _looked_up(b, row, _part(b, table, right, part))
                    b.store(b.or_(b.load(wrong, typ=kind), b.xor(left, other)), wrong)
            else:
                with counted(b, constant(0), n, "z") as z:
                    left = load(b, table, b.add(product, z), I8)
                    inner = b.zext(load(b, table, b.add(right, z), I8), I64)
                    other = load(b, table, b.add(own, inner), I8)
                    b.store(b.or_(b.load(wrong, typ=kind), b.xor(left, other)), wrong)
            some = b.icmp_unsigned("!=", b.load(wrong, typ=kind), ir.Constant(kind, None))
            if wide:
                whole = b.bitcast(some, ir.IntType(_LANES))
                some = b.icmp_unsigned("!=", whole, ir.Constant(whole.type, 0))
            with b.if_then(some, likely=False):
                b.ret(b.add(own, y))
    b.ret(b.mul(n, n))
    return Kernels(module, {"failing": 2})


def _part(b: ir.IRBuilder, table: Any, start: Any, part: int) -> Any:
    """64 of the bytes of a row, which starts at element `start`."""
    at = b.gep(table, [b.add(start, constant(part * _LANES))], source_etype=I8)
    return b.load(at, typ=ir.VectorType(I8, _LANES), align=1)


def _looked_up(b: ir.IRBuilder, row: list[Any], indices: Any) -> Any:
    """The bytes of a row of 256 at 64 indices."""
    low, high = (intrinsic(b, _LOOKUP, indices.type, row[at], indices, row[at + 1]) for at in (0, 2))
    return b.select(b.icmp_signed("<", indices, ir.Constant(indices.type, None)), high, low)


@lru_cache(maxsize=1)
def looks_up_many() -> bool:
    """Whether this processor looks up 64 bytes at once."""
    return bool(llvm.get_host_cpu_features().get("avx512vbmi"))


def failing_triple(table: np.ndarray, *, wide: bool | None = None) -> tuple[int, int, int] | None:
    """Indices (x, y, z) for which `table[table[x, y], z] != table[x, table[y, z]]`; None where there are none.

    `table` is (n, n) uint8 of values below n, n <= 256. `wide` says which code is run; by default the faster.
    """
    n = len(table)
    wide = looks_up_many() and n == 256 if wide is None else wide
    at = _kernels(wide).call("failing", n, np.ascontiguousarray(table, np.uint8))
    if at == n * n:
        return None
    x, y = divmod(at, n)
    z = int(np.flatnonzero(table[table[x, y]] != table[x, table[y]])[0])
    return x, y, z


__all__ = ["failing_triple", "looks_up_many"]
