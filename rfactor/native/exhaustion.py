"""Associativity of a multiplication table, tried on all triples, compiled."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from llvmlite import ir

from rfactor.native.lanes import I8, I64, Kernels, address, constant, counted, function, load


@lru_cache(maxsize=1)
def _kernels() -> Kernels:
    """`failing(n, table)`: x * n + y of the first pair for which some z fails, or n * n.

    Row x of the (n, n) table is the map z -> op(x, z). The operator is associative exactly if the row of op(x, y) is
    the row of y followed by that of x.
    """
    module = ir.Module("exhaustion")
    b, (n, base) = function(module, "failing", 2)
    table = address(b, base)
    wrong = b.alloca(I8)
    with counted(b, constant(0), n, "x") as x:
        own = b.mul(x, n)
        with counted(b, constant(0), n, "y") as y:
            product = b.mul(b.zext(load(b, table, b.add(own, y), I8), I64), n)
            right = b.mul(y, n)
            b.store(ir.Constant(I8, 0), wrong)
            with counted(b, constant(0), n, "z") as z:
                left = load(b, table, b.add(product, z), I8)
                inner = b.zext(load(b, table, b.add(right, z), I8), I64)
                other = load(b, table, b.add(own, inner), I8)
                b.store(b.or_(b.load(wrong, typ=I8), b.xor(left, other)), wrong)
            with b.if_then(b.icmp_signed("!=", b.load(wrong, typ=I8), ir.Constant(I8, 0)), likely=False):
                b.ret(b.add(own, y))
    b.ret(b.mul(n, n))
    return Kernels(module, {"failing": 2})


def failing_triple(table: np.ndarray) -> tuple[int, int, int] | None:
    """Indices (x, y, z) for which `table[table[x, y], z] != table[x, table[y, z]]`; None where there are none.

    `table` is (n, n) uint8 of values below n, n <= 256.
    """
    n = len(table)
    at = _kernels().call("failing", n, np.ascontiguousarray(table, np.uint8))
    if at == n * n:
        return None
    x, y = divmod(at, n)
    z = int(np.flatnonzero(table[table[x, y]] != table[x, table[y]])[0])
    return x, y, z


__all__ = ["failing_triple"]
