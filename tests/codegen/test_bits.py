"""Scalar code, vectors of any width, and code after every pass have the bits of the reference evaluation."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline, generate
from rfactor.compiler.runtime.arguments import Binding
from rfactor.compiler.runtime.threads import cell
from rfactor.ir.bfloat import STORED, of_words, stored
from rfactor.ir.evaluate import evaluate, held, stored_dtype_of
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, cast, intrinsic
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.loopnest import Broadcast, For, LoweredPipeline, ScalarArgument, block
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.routines import ROUTINES
from rfactor.ir.types import BF16, F16, F32, F64, I32, I64, SCALARS, Type
from rfactor.native.engine import Target, compile_module, host
from tests.codegen.reference import load, pipeline, ramp, sink, source, store, times, var, wide
from tests.native.test_evaluator import CASES, boundary, pairs, same_bits

PLAIN = replace(host(), level=0)
PASSES = replace(host(), loop_vectorizer=True, slp_vectorizer=True, loop_unroller=True)
OLDER = [replace(PASSES, cpu="haswell", features="", vector_bits=256)] if host().vector_bits == 512 else []
"""A machine of narrower vectors and other instructions, whose code this one runs."""


def widened(expr: Expr, lanes: int, values: dict[str, Expr]) -> Expr:
    """`expr` in lanes, with the variables' values."""
    if isinstance(expr, Var):
        return values[expr.name]
    if isinstance(expr, Const):
        return Broadcast(expr, lanes) if lanes > 1 else expr
    if isinstance(expr, Call):
        return intrinsic(expr.name, *(widened(arg, lanes, values) for arg in expr.args))
    assert isinstance(expr, Op)
    return Op(expr.type.with_lanes(lanes), expr.op, tuple(widened(arg, lanes, values) for arg in expr.args))


def elementwise(exprs: list[Expr], arguments: dict[str, Type], lanes: int) -> LoweredPipeline:
    """`out.k[i] = exprs[k]` over arrays, `lanes` elements at a time; the length is a multiple of them."""
    at = times(wide("i"), lanes) if lanes == 1 else ramp(times(wide("i"), lanes), 1, lanes)
    values: dict[str, Expr] = {name: load(type, name, at) for name, type in arguments.items()}
    stores = [store(f"out.{k}", at, widened(e, lanes, values)) for k, e in zip(range(len(exprs)), exprs, strict=True)]
    count = apply("//", var("a.extent.0"), Const(I32, lanes))
    return pipeline(
        For("i", Const(I32, 0), count, "serial", block(*stores)),
        *(source(name, type) for name, type in arguments.items()),
        *(sink(f"out.{k}", e.type) for k, e in zip(range(len(exprs)), exprs, strict=True)),
    )


def run(exprs: list[Expr], env: dict[str, Any], types: dict[str, Type], lanes: int, target: Target) -> list[Any]:
    length = -(-len(env["a"]) // 64) * 64
    arrays = {name: stored(types[name], np.resize(array, length)) for name, array in env.items()}
    outs = {f"out.{k}": np.zeros(length, stored_dtype_of(e.type)) for k, e in enumerate(exprs)}
    compile_pipeline(elementwise(exprs, types, lanes), target)(arrays | outs)
    return [values_of(out[: len(env["a"])]) for out in outs.values()]


def values_of(array: Any) -> Any:
    """As `evaluate` holds them."""
    return of_words(array) if array.dtype == STORED else array


@pytest.mark.parametrize("lanes", [1, 4, 64])
@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_every_operation_in_scalar_code_and_in_lanes(type: Type, lanes: int) -> None:
    names = [name for name, t in CASES if t == type]
    a, b = Var(type, "a"), Var(type, "b")
    exprs: list[Expr] = [apply(name, *(a, b)[: OPERATIONS[name].arity]) for name in names]
    exprs += [cast(new, a) for new in SCALARS if new != type]
    left, right = pairs(type)
    env = {"a": left, "b": right}
    for target in (PLAIN, PASSES, *OLDER):
        for expr, result in zip(exprs, run(exprs, env, {"a": type, "b": type}, lanes, target), strict=True):
            assert same_bits(result, np.broadcast_to(evaluate(expr, env), left.shape)), f"{expr} in {lanes} lanes"


@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
@pytest.mark.parametrize("type", [F16, BF16, F32], ids=str)
def test_functions_of_floats_in_scalar_code_and_in_lanes(type: Type, lanes: int) -> None:
    """Angles of which some, all and none of the lanes are large among them."""
    names = [row.name for row in INTRINSICS.values() if row.name in ROUTINES and row.accepts(type)]
    a, b = Var(type, "a"), Var(type, "b")
    exprs: list[Expr] = [intrinsic(name, *(a, b)[: INTRINSICS[name].arity]) for name in names]
    left, right = pairs(type)
    random = np.random.default_rng(lanes)
    few = held(type, random.uniform(-4, 4, (2, 512)))
    env = {"a": np.concatenate([left, few[0]]), "b": np.concatenate([right, few[1]])}
    for target in (PLAIN, PASSES, *OLDER):
        results = run(exprs, env, {"a": type, "b": type}, lanes, target)
        for name, expr, result in zip(names, exprs, results, strict=True):
            assert same_bits(result, evaluate(expr, env)), f"{name} in {lanes} lanes"


@pytest.mark.parametrize("type", [t for t in SCALARS if t.is_int], ids=str)
def test_division_and_shifts_by_constants_in_scalar_code(type: Type) -> None:
    a, values = Var(type, "a"), boundary(type)
    numbers = [n for n in (0, 1, 2, 3, 7, 8, 100, int(type.max), -1, -2, -3, int(type.min)) if n >= type.min]
    exprs: list[Expr] = [apply(op, a, Const(type, n)) for n in numbers for op in ("//", "%", "<<", ">>")]
    exprs += [apply(op, Const(type, n), a) for n in numbers for op in ("//", "%")]
    for expr, result in zip(exprs, run(exprs, {"a": values}, {"a": type}, 1, PASSES), strict=True):
        assert same_bits(result, np.broadcast_to(evaluate(expr, {"a": values}), values.shape)), str(expr)


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_extrema_of_floats_by_llvm_are_the_same(type: Type) -> None:
    """Machines other than x86 get LLVM's minimum and maximum; x86 runs them as well."""
    exprs: list[Expr] = [apply(name, Var(type, "a"), Var(type, "b")) for name in ("min", "max")]
    left, right = pairs(type)
    lowered = elementwise(exprs, {"a": type, "b": type}, 16)
    elsewhere = replace(PLAIN, triple="aarch64-unknown-linux-gnu")
    text, _ = generate(lowered, elsewhere)
    assert "llvm.minimum" in text
    assert "llvm.minimum" not in generate(lowered, PLAIN)[0] or not PLAIN.triple.startswith("x86_64")
    length = -(-len(left) // 16) * 16
    arrays = {"a": stored(type, np.resize(left, length)), "b": stored(type, np.resize(right, length))}
    outs = {name: np.zeros(length, stored_dtype_of(type)) for name in ("out.0", "out.1")}
    code = compile_module(text, ["pipeline"], PLAIN)
    given, _ = Binding(lowered.arguments)(arrays | outs)
    function = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(code.addresses["pipeline"])
    assert function(given, cell(), (ctypes.c_int64 * 4)()) == 0
    for expr, result in zip(exprs, outs.values(), strict=True):
        assert same_bits(values_of(result)[: len(left)], evaluate(expr, {"a": left, "b": right})), str(expr)


def test_a_sum_of_floats_keeps_its_order_under_all_passes() -> None:
    """The vectorizer must not split one accumulator into several: it has no leave to reassociate."""
    at = wide("i")
    total = apply("+", load(F32, "s", Const(I64, 0)), load(F32, "a", at))
    lowered = pipeline(For("i", Const(I32, 0), var("n"), "serial", store("s", Const(I64, 0), total)),
                       source("a", F32), ScalarArgument("n", I32), sink("s", F32))  # fmt: skip
    a = np.random.default_rng(3).normal(size=10_000).astype(np.float32)
    s = np.zeros(1, np.float32)
    compile_pipeline(lowered, PASSES)({"a": a, "n": len(a), "s": s})
    assert s[0] == np.add.accumulate(a)[-1]
