"""Compiled interpretation of small expression trees over lanes of samples: evaluation and the associativity test.

A *program* is 16 bytes: the postfix code of a tree of at most 8 leaves (see `rfactor.native.lanes`), its length in
the last byte. One interpreter serves every tree of a domain, so that millions of candidates need no compilation of
their own.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from rfactor.native.lanes import (
    CODE,
    FIRST_OP,
    I8,
    I64,
    LEAVES,
    SELECTS,
    Domain,
    Kernels,
    address,
    constant,
    counted,
    function,
    intrinsic,
    load,
    store,
    vector_at,
)

WIDTH = 16
"""Bytes of a program."""
GROUP = 16
"""Samples evaluated at a time."""
EXACT = 2.0**50
"""Magnitude of intermediate values up to which a lane of doubles is trusted."""


def _evaluator(module: ir.Module, domain: Domain) -> ir.Function:
    """`eval(program, leaves, stack)`: runs a program on one group; the result is stack[0].

    `leaves` holds one vector a leaf. For floating domains the greatest magnitude met is kept in stack[9].
    """
    vector = ir.VectorType(domain.element, GROUP)
    pointer = ir.PointerType()
    made = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, pointer, pointer]), "eval")
    made.linkage = "internal"
    program, leaves, stack = made.args
    b = ir.IRBuilder(made.append_basic_block("entry"))
    length = b.zext(load(b, program, constant(WIDTH - 1), I8), I64)
    head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
    entry = b.block
    b.branch(head)
    b.position_at_end(head)
    index = b.phi(I64, "pc")
    depth = b.phi(I64, "depth")
    index.add_incoming(constant(0), entry)
    depth.add_incoming(constant(0), entry)
    b.cbranch(b.icmp_signed("<", index, length), body, done)
    b.position_at_end(done)
    b.ret_void()
    b.position_at_end(body)
    code = b.zext(load(b, program, index, I8), I64)
    following = b.add(index, constant(1))
    leaf = b.append_basic_block("leaf")
    switch = b.switch(code, leaf)

    def finish(depth_after: Any) -> None:
        index.add_incoming(following, b.block)
        depth.add_incoming(depth_after, b.block)
        b.branch(head)

    b.position_at_end(leaf)
    store(b, load(b, leaves, code, vector), stack, depth)
    finish(b.add(depth, constant(1)))

    def operand(below: int) -> Any:
        return load(b, stack, b.sub(depth, constant(below)), vector)

    def push(value: Any, arity: int) -> None:
        if domain.floating:
            size = b.fsub(ir.Constant(vector, None), value)
            size = b.select(b.fcmp_ordered("<", value, ir.Constant(vector, None)), size, value)
            top = load(b, stack, constant(9), vector)
            store(b, b.select(b.fcmp_ordered("<", top, size), size, top), stack, constant(9))
        store(b, value, stack, b.sub(depth, constant(arity)))
        finish(b.sub(depth, constant(arity - 1)))

    for op in domain.operations():
        block = b.append_basic_block("op")
        switch.add_case(constant(CODE[op]), block)
        b.position_at_end(block)
        push(domain.apply(b, op, operand(2), operand(1)), 2)
    for name, compare in (("<", domain.less), ("==", domain.equal)):
        block = b.append_basic_block("select")
        switch.add_case(constant(CODE[name]), block)
        b.position_at_end(block)
        push(b.select(compare(b, operand(4), operand(3)), operand(2), operand(1)), 4)
    return made


def _build(domain: Domain) -> Kernels:
    module = ir.Module("programs")
    evaluate = _evaluator(module, domain)
    vector = ir.VectorType(domain.element, GROUP)
    byte_vector = ir.VectorType(I8, WIDTH)
    count = len(LEAVES)

    # values(programs, n, samples, groups, out): out[i, g] = program i on group g; samples[g, leaf] are vectors.
    b, args = function(module, "values", 5)
    programs, n, samples, groups, out = args[0], args[1], address(b, args[2]), args[3], address(b, args[4])
    programs = address(b, programs)
    stack = b.alloca(vector, 10)
    with counted(b, constant(0), n, "i") as i:
        program = vector_at(b, programs, i, byte_vector)
        with counted(b, constant(0), groups, "g") as g:
            leaves = vector_at(b, samples, b.mul(g, constant(count)), vector)
            b.call(evaluate, [program, leaves, stack])
            store(b, load(b, stack, constant(0), vector), out, b.add(b.mul(i, groups), g), align=1)
    b.ret(constant(0))

    _hashing(module, domain, evaluate)
    for components in (1, 2):
        _associativity(module, domain, evaluate, components)
    return Kernels(module, {"values": 5, "hashes": 5, "assoc1": 7, "assoc2": 7})


def _hashing(module: ir.Module, domain: Domain, evaluate: ir.Function) -> None:
    """`hashes(programs, n, samples, groups, out)`: out[i] = a 64-bit hash of the values of program i."""
    vector = ir.VectorType(domain.element, GROUP)
    wide = ir.VectorType(I64, GROUP)

    def each(number: int) -> ir.Constant:
        return ir.Constant(wide, [ir.Constant(I64, number)] * GROUP)

    b, args = function(module, "hashes", 5)
    programs, n, samples, groups, out = address(b, args[0]), args[1], address(b, args[2]), args[3], address(b, args[4])
    stack = b.alloca(vector, 10)
    total = b.alloca(wide)
    # Every lane has a multiplier of its own, so that it matters where a value stands.
    lanes = ir.Constant(wide, [ir.Constant(I64, _ODD * (2 * lane + 1) % (1 << 64)) for lane in range(GROUP)])
    with counted(b, constant(0), n, "i") as i:
        program = vector_at(b, programs, i, ir.VectorType(I8, WIDTH))
        b.store(each(1), total)
        with counted(b, constant(0), groups, "g") as g:
            leaves = vector_at(b, samples, b.mul(g, constant(len(LEAVES))), vector)
            b.call(evaluate, [program, leaves, stack])
            result = load(b, stack, constant(0), vector)
            if domain.floating:
                # -0.0 and 0.0 are the same real.
                result = b.bitcast(b.fadd(result, ir.Constant(vector, [0.0] * GROUP)), wide)
            elif domain.bits < 64:
                result = b.zext(result, wide)
            mixed = b.mul(b.xor(b.load(total, typ=wide), result), lanes)
            b.store(b.xor(mixed, b.lshr(mixed, each(29))), total)
        final = b.mul(b.load(total, typ=wide), lanes)
        final = b.mul(b.xor(final, b.lshr(final, each(32))), each(_ODD))
        store(b, intrinsic(b, f"llvm.vector.reduce.add.v{GROUP}i64", I64, final), out, i)
    b.ret(constant(0))


_ODD = 0x9E3779B97F4A7C15


def _associativity(module: ir.Module, domain: Domain, evaluate: ir.Function, components: int) -> None:
    """`assoc<m>(first, second, n, triples, groups, out, tolerance)`.

    out[i] = the first group on which candidate i is seen not to be associative, or `groups`. `triples[g]` holds the
    vectors x0 x1 y0 y1 z0 z1 k. In floating domains a lane counts only while it is exact (tolerance 0), or as far as
    the difference exceeds 1e-9 of the greatest magnitude (tolerance 1).
    """
    vector = ir.VectorType(domain.element, GROUP)
    bits = ir.VectorType(ir.IntType(1), GROUP)
    byte_vector = ir.VectorType(I8, WIDTH)
    zero = ir.Constant(vector, None)
    b, args = function(module, f"assoc{components}", 7)
    first, second = address(b, args[0]), address(b, args[1])
    n, triples, groups, out = args[2], address(b, args[3]), args[4], address(b, args[5])
    stack = b.alloca(vector, 10)
    leaves = b.alloca(vector, len(LEAVES))
    with counted(b, constant(0), n, "i") as i:
        parts = [vector_at(b, base, i, byte_vector) for base in (first, second)[:components]]
        entry = b.block
        head, body, done = (b.append_basic_block(name) for name in ("g.head", "g.body", "g.done"))
        b.branch(head)
        b.position_at_end(head)
        g = b.phi(I64, "g")
        g.add_incoming(constant(0), entry)
        b.cbranch(b.icmp_signed("<", g, groups), body, done)
        b.position_at_end(body)
        triple = vector_at(b, triples, b.mul(g, constant(7)), vector)
        x, y, z = ([load(b, triple, constant(2 * v + c), vector) for c in range(2)] for v in range(3))
        k = load(b, triple, constant(6), vector)
        store(b, k, leaves, constant(4))
        store(b, zero, stack, constant(9))

        def run(
            left: list[Any], right: list[Any], parts: list[Any] = parts, leaves: Any = leaves, stack: Any = stack
        ) -> list[Any]:
            for c in range(2):
                store(b, left[c], leaves, constant(c))
                store(b, right[c], leaves, constant(2 + c))
            results = []
            for part in parts:
                b.call(evaluate, [part, leaves, stack])
                results.append(load(b, stack, constant(0), vector))
            return results + left[len(parts) :]

        one, two = run(run(x, y), z), run(x, run(y, z))
        wrong: Any = ir.Constant(bits, None)
        if domain.floating:
            top = load(b, stack, constant(9), vector)
            exact = b.fcmp_ordered("<", top, ir.Constant(vector, [EXACT] * GROUP))
            slack = b.fmul(top, ir.Constant(vector, [1e-9] * GROUP))
            loose = b.icmp_signed("!=", args[6], constant(0))
            for p, q in zip(one, two, strict=True):
                gap = b.fsub(p, q)
                gap = b.select(b.fcmp_ordered("<", gap, zero), b.fsub(zero, gap), gap)
                strict = b.and_(exact, b.fcmp_ordered("!=", p, q))
                far = b.fcmp_ordered(">", gap, slack)
                wrong = b.or_(wrong, b.select(loose, far, strict))
        else:
            for p, q in zip(one, two, strict=True):
                wrong = b.or_(wrong, b.icmp_signed("!=", p, q))
        mask = b.bitcast(wrong, ir.IntType(GROUP))
        fine = b.icmp_signed("==", mask, ir.Constant(ir.IntType(GROUP), 0))
        following = b.add(g, constant(1))
        g.add_incoming(following, b.block)
        b.cbranch(fine, head, done)
        b.position_at_end(done)
        result = b.phi(I64, "failed")
        result.add_incoming(groups, head)
        result.add_incoming(g, body)
        b.position_at_end(done)
        store(b, result, out, i)
    b.ret(constant(0))


@lru_cache(maxsize=16)
def _kernels(domain: Domain) -> Kernels:
    return _build(domain)


def values(domain: Domain, programs: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Every program on every sample.

    `programs` is (n, 16) uint8, `samples` (5, s) of the domain's dtype in the order of `LEAVES`; the result (n, s).
    """
    size = samples.shape[1]
    groups = -(-size // GROUP)
    packed = _pack(samples, groups, domain)
    out = np.empty((len(programs), groups * GROUP), domain.dtype)
    _kernels(domain).call("values", np.ascontiguousarray(programs), len(programs), packed, groups, out)
    return out[:, :size]


def hashes(domain: Domain, programs: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """A 64-bit hash of the values of every program, (n,): equal where all values are. Shapes as for `values`."""
    groups = -(-samples.shape[1] // GROUP)
    out = np.empty(len(programs), np.uint64)
    packed = _pack(samples, groups, domain)
    _kernels(domain).call("hashes", np.ascontiguousarray(programs), len(programs), packed, groups, out)
    return out


def associative(
    domain: Domain, components: list[np.ndarray], triples: np.ndarray, *, approximate: bool = False
) -> np.ndarray:
    """Which candidates agree with associativity on all of `triples`: a boolean array.

    `components` are one or two (n, 16) arrays of programs; `triples` is (7, s): rows x0 x1 y0 y1 z0 z1 k.
    """
    n = len(components[0])
    groups = -(-triples.shape[1] // GROUP)
    packed = _pack(triples, groups, domain)
    out = np.empty(n, np.int64)
    first, second = np.ascontiguousarray(components[0]), np.ascontiguousarray(components[-1])
    _kernels(domain).call(f"assoc{len(components)}", first, second, n, packed, groups, out, int(approximate))
    passed: np.ndarray = np.equal(out, groups)
    return passed


def _pack(samples: np.ndarray, groups: int, domain: Domain) -> np.ndarray:
    """(rows, s) -> (groups, rows, 16), aligned to 128 bytes; the last group repeats the last sample."""
    rows, size = samples.shape
    wide = np.empty((rows, groups * GROUP), domain.dtype)
    wide[:, :size] = samples
    wide[:, size:] = samples[:, -1:]
    return aligned(wide.reshape(rows, groups, GROUP).transpose(1, 0, 2))


def aligned(array: np.ndarray) -> np.ndarray:
    """A contiguous copy that starts where vector loads want."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy


def empty(shape: tuple[int, ...], dtype: np.dtype, boundary: int = 256) -> np.ndarray:
    """An array not filled, contiguous, that starts at a multiple of `boundary` bytes."""
    size = math.prod(shape) * dtype.itemsize
    raw = np.empty(size + boundary, np.uint8)
    start = -raw.ctypes.data % boundary
    made: np.ndarray = raw[start : start + size].view(dtype).reshape(shape)
    return made


__all__ = ["FIRST_OP", "GROUP", "SELECTS", "WIDTH", "aligned", "associative", "empty", "hashes", "values"]
