"""Compiled expressions have the bits of `ir.evaluate`, on every type and operation, at boundary values."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import ir

from rfactor.errors import TypeMismatch
from rfactor.ir.evaluate import dtype_of, evaluate, held
from rfactor.ir.expr import Const, Expr, Var, apply, cast, intrinsic, select
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I8, I16, I32, SCALARS, U8, U16, U64, Type
from rfactor.native.emit import Emitter
from rfactor.native.evaluator import compile_evaluator
from rfactor.native.quotients import factors
from rfactor.native.rules import RULES

Array = np.ndarray[Any, Any]


def boundary(type: Type) -> Array:
    """Values at which operations of `type` change what they do."""
    if type.is_bool:
        return np.array([False, True])
    if type.is_float:
        tiny = float(np.finfo(dtype_of(type)).smallest_subnormal) if not type.is_bfloat else 2.0**-133
        top = float(type.largest_finite)
        values = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, 7.0, 127.5, 128.0, 255.5, 2049.0, 32768.0, 65504.0, 1e-3, tiny, top]
        values += [65519.9, 65520.0, 2.0**31, 2.0**32, 2.0**63, 2.0**64, 1e300, 1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-40]
        values += [1 + 3 * 2.0**-11 - 2.0**-40, 2.0**-25, 2.0**-25 + 2.0**-60, np.inf, np.nan]
        values += [257.0, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40, 2.0**-134, 3.5 * 2.0**-133]
        values += [2.0**-134 + 2.0**-160, 2.0**128 - 2.0**119, 2.0**128 - 2.0**119 - 2.0**90]
        with np.errstate(over="ignore"):
            return held(type, np.array(values + [-v for v in values]))
    middle = [0, 1, 2, 3, 5, 7, 8, 9, 13, 15, 16, 31, 32, 63, 64, 100, 127, 128, 2**15, 2**24 + 1, 65519, 65520, 2**31]
    middle += [257, 2**30 + 2**22, 2**30 + 2**22 + 1, *(2**60 + 2**52 + by for by in (-1, 0, 1)), 2**63 + 2**55 + 1]
    whole = [*middle, *(-v for v in middle), int(type.min), int(type.min) + 1, int(type.max), int(type.max) - 1]
    return np.array(sorted({type.wrap(v) for v in whole}), dtype_of(type))


def pairs(type: Type) -> tuple[Array, Array]:
    values = boundary(type)
    left, right = np.meshgrid(values, values)
    return left.ravel(), right.ravel()


def same_bits(left: Array, right: Array) -> bool:
    """Equality that tells the zeros apart and takes every NaN for the same."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    nan = np.isnan(left) & np.isnan(right)
    return bool(np.all(nan | ((left == right) & (np.signbit(left) == np.signbit(right)))))


def accepts(name: str, type: Type) -> bool:
    try:
        apply(name, *[Var(type, "x")] * OPERATIONS[name].arity)
    except TypeError:
        return False
    return True


CASES = [(name, type) for name in OPERATIONS for type in SCALARS if accepts(name, type)]


def test_every_operation_has_a_rule() -> None:
    assert RULES.keys() == OPERATIONS.keys()


@pytest.mark.parametrize("type", SCALARS, ids=str)
def test_operations_have_the_reference_bits_at_boundaries(type: Type) -> None:
    """All operations of a type in one function, so that it is compiled once."""
    x, y = Var(type, "x"), Var(type, "y")
    names = [name for name, accepted in CASES if accepted == type]
    exprs = tuple(apply(name, *(x, y)[: OPERATIONS[name].arity]) for name in names)
    left, right = pairs(type)
    results = compile_evaluator(exprs, (x, y))({"x": left, "y": right})
    for name, expr, result in zip(names, exprs, results, strict=True):
        expected = np.broadcast_to(evaluate(expr, {"x": left, "y": right}), left.shape)
        assert same_bits(result, expected), f"{name} of {type}"


@pytest.mark.parametrize("type", [t for t in SCALARS if t.is_int], ids=str)
def test_division_by_constants_is_euclidean(type: Type) -> None:
    x = Var(type, "x")
    divisors = [d for d in (0, 1, 2, 3, 7, 8, 100, int(type.max), -1, -2, -3, -8, int(type.min)) if d >= type.min]
    exprs = tuple(apply(op, x, Const(type, d)) for d in divisors for op in ("//", "%"))
    values = boundary(type)
    for expr, result in zip(exprs, compile_evaluator(exprs, (x,))((values,)), strict=True):
        assert same_bits(result, np.broadcast_to(evaluate(expr, {"x": values}), values.shape)), str(expr)


@pytest.mark.parametrize("old", SCALARS, ids=str)
def test_casts_have_the_reference_bits_at_boundaries(old: Type) -> None:
    x = Var(old, "x")
    targets = [new for new in SCALARS if new != old]
    values = boundary(old)
    exprs = tuple(cast(new, x) for new in targets)
    for new, expr, result in zip(targets, exprs, compile_evaluator(exprs)((values,)), strict=True):
        assert same_bits(result, evaluate(expr, {"x": values})), f"{old} to {new}"


@pytest.mark.parametrize("old", [F16, BF16, F32, F64], ids=str)
def test_floats_cast_and_held_between_constants_have_the_reference_bits(old: Type) -> None:
    """Ends that are floats and ends that are none, 0 among them and not, in either order, and the wrong way round."""
    x = Var(old, "x")
    exprs = []
    for new in (I8, U8, I32, U64):
        whole = cast(new, x)
        ends = [(0, 100), (5, 100), (0, int(new.max)), (int(new.max) - 1, int(new.max)), (100, 5)]
        ends += [(-7, 100), (-7, -3), (int(new.min), -7)] if new.is_signed else []
        ends += [(2**24 + 1, 2**24 + 3), (3, 2**24 + 1)] if new.bits > 8 else []
        for low, high in ends:
            exprs.append(apply("max", apply("min", whole, Const(new, high)), Const(new, low)))
            exprs.append(apply("min", apply("max", whole, Const(new, low)), Const(new, high)))
        exprs += [apply("max", whole, Const(new, 3)), apply("min", whole, Const(new, 3))]
    near = [end + part for end in (-7, -3, 0, 3, 5, 100) for part in (-1, -0.5, 0, 0.5, 1)]
    values = np.concatenate([boundary(old), held(old, np.array(near)), boundary(old)])
    for expr, result in zip(exprs, compile_evaluator(tuple(exprs), (x,))((values,)), strict=True):
        assert same_bits(result, evaluate(expr, {"x": values})), str(expr)


@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_quotients_of_small_integers_and_constants_have_the_reference_bits(type: Type) -> None:
    """All integers of 16 bits, by divisors that have factors and by some that have none."""
    values = np.arange(-(2**15), 2**15)
    x = Var(I32, "x")
    divisors = [Const(type, by) for by in (255.0, 65535.0, 12.0, -3.0, 0.1, 1023.0, 1e-44, 1e38, 0.0, np.inf, np.nan)]
    for integer in (U8, I16, U16):
        quotients = [apply("/", cast(type, Var(integer, "x")), by) for by in divisors]
        given = values.astype(dtype_of(integer))
        for expr, result in zip(quotients, compile_evaluator(tuple(quotients))((given,)), strict=True):
            assert same_bits(result, evaluate(expr, {"x": given})), str(expr)
    held = apply("max", apply("min", x, Const(I32, 40000)), Const(I32, -3))
    exprs = [apply("/", cast(type, whole), by) for by in divisors for whole in (held, x)]
    given = np.concatenate([values * 2, values * 70000]).astype(np.int32)
    for expr, result in zip(exprs, compile_evaluator(tuple(exprs))((given,)), strict=True):
        assert same_bits(result, evaluate(expr, {"x": given})), str(expr)


def test_factors_are_those_of_a_division_or_none() -> None:
    assert factors(F32, 0, 255, 255.0) is not None
    assert factors(F32, 0, 65535, 65535.0) is not None
    assert factors(F32, 0, 65535, 255.0) is None  # some of these quotients are rounded otherwise
    assert factors(F32, 0, 65536, 65535.0) is None  # more than are tried
    assert factors(F32, 2**64 - 9, 2**64 - 1, 2.0) is None  # more than are counted
    assert factors(F32, -128, 127, -255.0) is None  # 0 / -255 is -0.0, a sum of two zeros of both signs is not
    assert all(factors(F32, 0, 255, by) is None for by in (0.0, np.inf, np.nan))


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_extremes_of_floats_and_constants_have_the_reference_bits(type: Type) -> None:
    x = Var(type, "x")
    ends = [Const(type, end) for end in (0.0, -0.0, 1.5, -1.5, np.inf, -np.inf, np.nan)]
    exprs = [apply(op, *both) for op in ("min", "max") for end in ends for both in ((x, end), (end, x))]
    values = np.concatenate([boundary(type), boundary(type)])
    for expr, result in zip(exprs, compile_evaluator(tuple(exprs), (x,))((values,)), strict=True):
        assert same_bits(result, evaluate(expr, {"x": values})), str(expr)


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_exact_functions_have_the_reference_bits(type: Type) -> None:
    x = Var(type, "x")
    exprs = tuple(intrinsic(name, x) for name in ("sqrt", "floor", "ceil", "round", "trunc"))
    values = boundary(type)
    for expr, result in zip(exprs, compile_evaluator(exprs)((values,)), strict=True):
        assert same_bits(result, evaluate(expr, {"x": values})), str(expr)


@pytest.mark.parametrize("type", [t for t in SCALARS if not t.is_bool], ids=str)
def test_functions_of_bits_have_the_reference_bits(type: Type) -> None:
    x = Var(type, "x")
    rows = [row for row in INTRINSICS.values() if row.takes in ("integer", "bits") and row.accepts(type)]
    exprs = tuple(intrinsic(row.name, x) for row in rows)
    values = boundary(type)
    for expr, result in zip(exprs, compile_evaluator(exprs)((values,)), strict=True):
        expected = evaluate(expr, {"x": values})
        assert result.dtype == expected.dtype, str(expr)
        assert np.array_equal(result.view(np.uint8), expected.view(np.uint8)), str(expr)


def test_counts_of_bits_are_those_of_python() -> None:
    values = [0, 1, 2, 127, 128, 255]
    (x,) = (Var(U8, "x"),)
    counted = [
        compile_evaluator((intrinsic(name, x),))((np.array(values, np.uint8),))[0].tolist()
        for name in ("popcount", "count_leading_zeros", "count_trailing_zeros")
    ]
    assert counted[0] == [v.bit_count() for v in values]
    assert counted[1] == [8 - v.bit_length() for v in values]
    assert counted[2] == [(v & -v).bit_length() - 1 if v else 8 for v in values]


def test_a_function_refuses_what_it_does_not_take() -> None:
    for name, var in (("popcount", Var(F32, "x")), ("exp", Var(I32, "x")), ("reinterpret_f32", Var(U64, "x"))):
        with pytest.raises(TypeMismatch, match=f"{name} takes"):
            intrinsic(name, var)


@pytest.mark.parametrize("type", [F16, BF16, F32, F64], ids=str)
def test_transcendental_functions_are_near_and_the_same_alone_as_among_others(type: Type) -> None:
    x, y = Var(type, "x"), Var(type, "y")
    exprs = tuple(intrinsic(row.name, *(x, y)[: row.arity]) for row in INTRINSICS.values() if row.libm)
    values = held(type, np.linspace(0.1, 5.0, 100))
    evaluator = compile_evaluator(exprs, (x, y))
    whole = evaluator((values, values))
    for expr, result in zip(exprs, whole, strict=True):
        reference = evaluate(expr, {"x": values, "y": values})
        np.testing.assert_allclose(result, reference, rtol=8 * 2.0**-type.digits, err_msg=str(expr))
    alone = [evaluator((values[i : i + 1], values[i : i + 1])) for i in range(0, 100, 13)]
    for k, single in enumerate(alone):
        for result, one in zip(whole, single, strict=True):
            assert same_bits(result[13 * k : 13 * k + 1], one)


@pytest.mark.parametrize("length", [0, 1, 2, 15, 16, 17, 63, 64, 65, 200])
def test_every_length_is_computed_whole(length: int) -> None:
    x, n = Var(I8, "x"), Var(U64, "n")
    rng = np.random.default_rng(length)
    env: dict[str, Array] = {"x": rng.integers(-128, 128, length).astype(np.int8)}
    env["n"] = rng.integers(0, 2**63, length).astype(np.uint64)
    exprs = (apply("+", x, x), apply("<", cast(U64, x), n))
    for expr, result in zip(exprs, compile_evaluator(exprs)(env), strict=True):
        assert same_bits(result, evaluate(expr, env))


def trees(type: Type, names: tuple[str, ...]) -> st.SearchStrategy[Expr]:
    values = boundary(type)
    leaf = st.one_of(
        st.sampled_from([Var(type, name) for name in names]),
        st.sampled_from([Const(type, v.item()) for v in values]),
    )
    binary = [name for name, t in CASES if t == type and OPERATIONS[name].arity == 2]
    closed = [name for name in binary if OPERATIONS[name].shape != "compare"]
    relations = [name for name in binary if OPERATIONS[name].shape == "compare"]

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(
            st.builds(apply, st.sampled_from(closed), inner, inner),
            st.builds(
                lambda op, a, b, c, d: select(apply(op, a, b), c, d),
                st.sampled_from(relations), inner, inner, inner, inner,
            ),
        )  # fmt: skip

    return st.recursive(leaf, grow, max_leaves=12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_expressions_have_the_reference_bits(data: st.DataObject) -> None:
    type = data.draw(st.sampled_from(SCALARS))
    expr = data.draw(trees(type, ("a", "b", "c")))
    values = boundary(type)
    rng = np.random.default_rng(1)
    env = {name: rng.choice(values, 100) for name in ("a", "b", "c")}
    (result,) = compile_evaluator((expr,), tuple(Var(type, n) for n in env))(env)
    assert same_bits(result, np.broadcast_to(evaluate(expr, env), (100,)))


def test_equal_calls_share_one_evaluator_and_threads_may_share_it() -> None:
    x = Var(I32, "x")
    evaluator = compile_evaluator((apply("*", x, x),))
    assert compile_evaluator((apply("*", x, x),)) is evaluator
    values, wrong = np.arange(1000, dtype=np.int32), []

    def work() -> None:
        for _ in range(20):
            if not np.array_equal(evaluator((values,))[0], values * values):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_wrong_arrays_are_refused_by_name() -> None:
    evaluator = compile_evaluator((apply("and", Var(BOOL, "p"), Var(BOOL, "q")),))
    good = np.array([True])
    with pytest.raises(ValueError, match=r"q must be .* bool, not .* int8"):
        evaluator({"p": good, "q": np.array([1], np.int8)})
    with pytest.raises(ValueError, match="q has 2 elements where others have 1"):
        evaluator((good, np.array([True, False])))
    with pytest.raises(ValueError, match="2 arrays are needed, 1 given"):
        evaluator((good,))


def test_deep_expressions_are_emitted() -> None:
    x = Var(I32, "x")
    total: Expr = x
    for _ in range(2000):
        total = apply("+", total, x)
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), [ir.IntType(32)]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(Emitter(builder, {"x": function.args[0]}).emit(total))
    assert str(module).count(" add ") == 2000
