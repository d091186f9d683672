"""Programs joined to the program of a larger tree, compiled: see `rfactor.native.programs` for what a program is."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from rfactor.native.lanes import CODE, I8, I64, Kernels, address, constant, counted, function, load, store
from rfactor.native.programs import WIDTH


@lru_cache(maxsize=1)
def _kernels() -> Kernels:
    """`link(n, codes, operands, pool, out)`: out holds zeros; row i becomes the operands' programs and the code."""
    module = ir.Module("linking")
    b, args = function(module, "link", 5)
    codes, operands, pool, out = (address(b, arg) for arg in args[1:])
    length = b.alloca(I64)
    with counted(b, constant(0), args[0]) as i:
        code = load(b, codes, i, I64)
        arity = b.select(b.icmp_signed(">=", code, constant(CODE["<"])), constant(4), constant(2))
        row = b.mul(i, constant(WIDTH))
        b.store(constant(0), length)
        with counted(b, constant(0), arity, "operand") as j:
            operand = load(b, operands, b.add(b.mul(i, constant(4)), j), I64)
            start = b.mul(operand, constant(WIDTH))
            size = b.zext(load(b, pool, b.add(start, constant(WIDTH - 1)), I8), I64)
            at = b.load(length, typ=I64)
            with counted(b, constant(0), size, "byte") as byte:
                copied: Any = load(b, pool, b.add(start, byte), I8)
                store(b, copied, out, b.add(row, b.add(at, byte)))
            b.store(b.add(at, size), length)
        end = b.load(length, typ=I64)
        store(b, b.trunc(code, I8), out, b.add(row, end))
        store(b, b.trunc(b.add(end, constant(1)), I8), out, b.add(row, constant(WIDTH - 1)))
    b.ret(constant(0))
    return Kernels(module, {"link": 5})


def link(codes: np.ndarray, operands: np.ndarray, pool: np.ndarray) -> np.ndarray:
    """Programs (n, 16) of the trees with these roots, (n,), whose operands, (n, 4), are rows of `pool`, (m, 16)."""
    out = np.zeros((len(codes), WIDTH), np.uint8)
    _kernels().call(
        "link",
        len(codes),
        np.ascontiguousarray(codes, np.int64),
        np.ascontiguousarray(operands, np.int64),
        np.ascontiguousarray(pool),
        out,
    )
    return out


__all__ = ["link"]
