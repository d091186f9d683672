"""Operators and functions: the types and the values of Halide's Python bindings, and the interpreter's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.pipeline import executable
from rfactor.errors import TypeMismatch
from tests.compiler.against_halide import names_of, values
from tests.compiler.pipelines import expected

Array = np.ndarray[Any, Any]
LENGTH = 64
DTYPES = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "h": np.float16, "f": np.float32, "d": np.float64, "b": np.bool_,
}  # fmt: skip


def sample(dtype: Any, seed: int) -> Array:
    """Ends, small values and random ones."""
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "b":
        return random.integers(0, 2, LENGTH).astype(dtype)
    if np.dtype(dtype).kind == "f":
        awkward = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.5, 3.0, -7.25, 100.0]
        return np.concatenate([awkward, random.uniform(-9, 9, LENGTH - len(awkward))]).astype(dtype)[:LENGTH]
    info = np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 5, 7, 8, 9]
    rest = random.integers(info.min, info.max, LENGTH - len(ends), dtype=dtype, endpoint=True)
    mixed = np.concatenate([np.array(ends, dtype), rest])
    return random.permutation(mixed)


ARRAYS = {
    name: array
    for i, (short, dtype) in enumerate(DTYPES.items())
    for name, array in ((short, sample(dtype, 2 * i)), (f"{short}2", sample(dtype, 2 * i + 1)))
}
ARRAYS["s8"] = np.random.default_rng(1).integers(0, 8, LENGTH).astype(np.uint8)
ARRAYS["t8"] = np.random.default_rng(2).integers(-7, 8, LENGTH).astype(np.int8)
ARRAYS["unit"] = np.linspace(-1, 1, LENGTH).astype(np.float32)
ARRAYS["share"] = np.linspace(0, 1, LENGTH).astype(np.float32)
ARRAYS["positive"] = np.linspace(0.01, 20, LENGTH).astype(np.float32)

INTEGERS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
NARROW = ("u8", "u16", "u32", "i8", "i16", "i32")

EXACT = [
    # numbers beside operands
    "u8 + 3", "u8 - 1", "1 - u8", "u8 + 3.5", "3.5 * u8", "x * 2.5", "h + 1", "h + 1.5", "d + 1.1", "d * 1",
    "x + 2**31",
    "u8 + 2**40", "u32 + 2**31", "x + True", "f * True", "u8 + np.int32(3)", "x + np.uint8(3)", "np.float32(2.5) + x",
    "d + np.float64(1.1)", "hl.f64(1.1) + d", "u64 + 2**40", "hl.min(d, 1.1)", "hl.cast(hl.Float(64), 1.1)",
    # two types
    "u8 + u16", "u8 + i8", "i8 + u8", "u32 + i16", "i64 + f", "u8 + h", "h + d", "b + i32", "b * f", "u8 < i8",
    "b == x",
    # of conditions
    "b & b2", "b | b2", "b ^ b2", "~b", "b + b2", "b - b2", "b * b2", "-b", "b == 1", "b & 1", "b == True", "x < 2.5",
    "hl.min(b, b2)", "hl.max(b, b2)", "hl.logical_not(b)", "b.logical_not()", "(x > 3) & (x < 9)",
    # division
    "x // 3", "x / 3", "x % 3", "(x - 9) // -4", "(x - 9) % -4", "1 / (x + 1)", "x // 2.0", "f // 2", "f % 2",
    "f % -2.5",
    "f / 2", "f // f2",
    # bits
    "x & 6", "u8 & b", "b | u16", "u32 ^ u8", "i8 & i64", "x & True", "u8 << b", "x >> b",
    "u8 | 9", "u8 ^ u82", "~x", "~u8", "x << 3", "u8 << 3", "u8 << s8", "i8 >> s8", "i16 << t8", "i32 >> t8",
    "u8 << (x & 31)", "x << -1", "x >> -1", "u16 >> s8", "1 << hl.cast(hl.Int(32), s8)",
    # powers by products
    "x ** 2", "f ** 3", "f ** 5", "f ** -2", "u8 ** 7", "hl.pow(x, 3)", "hl.pow(d, 4)", "x ** 0", "2 ** hl.Expr(3)",
    # extremes
    "hl.min(u8, 3)", "hl.min(u8, 300)", "hl.min(u8, i8)", "hl.max(u8, x, f)", "hl.min(x, 2.5)", "hl.max(3, x, 5, 7)",
    "hl.clamp(u8, 3, 200)", "hl.clamp(u8, 0.0, 9.0)", "hl.clamp(x, 0, u8)", "hl.clamp(f, 0, 1)", "hl.clamp(d, -1, 1.1)",
    "hl.abs(i8)", "hl.abs(i64)", "hl.abs(f)", "hl.absd(u8, u82)", "hl.absd(i8, i82)", "hl.absd(u8, i8)",
    "hl.absd(u8, 3)",
    "hl.absd(f, f2)", "hl.absd(i64, i642)",
    # choices
    "hl.select(b, 1, 2)", "hl.select(b, 1, 2.5)", "hl.select(b, u8, 3)", "hl.select(b, u8, 300)", "hl.select(b, 1, u8)",
    "hl.select(b, 1, b2, 2, 3.5)", "hl.select(b, b2, 0)", "hl.select(b, (x, u8), (1, 2))", "hl.select(True, x, 2)",
    "hl.select((b, b2), (x, u8), (1, 2))", "hl.select(b, hl.Tuple([x, f]), hl.Tuple([1, 2]))",
    "hl.mux(x, [4, 5, 6])", "hl.mux(u8, [1, 2])", "hl.mux(x - 1, [(1, 2.5), (3, 4.5)])", "hl.mux(x, [u8, u82])",
    "hl.mux(b, [x, 2])",
    # casts
    "hl.u8(x * 100)", "hl.i8(x * 7)", "hl.i32(2.7)", "hl.u8(300)", "hl.u8(-1)", "hl.i32(True)", "hl.f32(1)",
    "hl.f32(x)",
    "hl.cast(hl.UInt(8), 300)", "hl.cast(hl.Float(16), x)", "hl.cast(hl.Bool(), x)", "hl.cast(hl.Bool(), f)",
    "hl.u64(2**63)", "hl.i64(2**40)", "hl.i8_sat(x * 9)", "hl.u8_sat(f * 100)", "hl.i16_sat(1e9)", "hl.u8_sat(u64)",
    "hl.i64_sat(u64)", "hl.u16_sat(i64)", "hl.u64_sat(i8)", "hl.i32_sat(u32)", "hl.u32_sat(i32)",
    "hl.saturating_cast(hl.UInt(8), i16)", "hl.saturating_cast(hl.Bool(), x - 2)",
    "hl.saturating_cast(hl.Float(16), f)",
    "hl.reinterpret(hl.UInt(32), f)", "hl.reinterpret(hl.Float(32), x)", "hl.reinterpret(hl.Int(8), u8)",
    "hl.reinterpret(hl.Float(64), u64 >> 2)", "hl.reinterpret(hl.UInt(16), h)",
    # interpolation
    "hl.lerp(u8, u82, u8)", "hl.lerp(u8, u82, share)", "hl.lerp(i8, i82, u8)", "hl.lerp(i8, i82, share)",
    "hl.lerp(u16, u162, u16)", "hl.lerp(u16, u162, share)", "hl.lerp(i16, i162, u8)", "hl.lerp(u8, u82, u16)",
    "hl.lerp(u8, u82, u32)", "hl.lerp(i32, i322, share)", "hl.lerp(u32, u322, u32)", "hl.lerp(u8, 3, 0.5)",
    "hl.lerp(0, 10, 0.25)", "hl.lerp(u8, u82, b)", "hl.lerp(u8, u82, hl.f64(share))",
    "hl.lerp(u8 > 9, u82 > 9, u8)", "hl.lerp(u8 > 9, u82 > 9, u32)", "hl.lerp(u8 > 9, u82 > 9, share)",
    "hl.lerp(u8 > 9, u82 > 9, 0.5)",
    # numbers: what is shifted has the type that it has alone, powers that of what is multiplied
    "300 >> (u8 & 7)", "1 << (u8 & 15)", "True << s8", "3 << t8", "2**40 >> s8", "1 << s8",
    "hl.fast_pow(x, 3)", "hl.fast_pow(u8, 2)", "hl.fast_pow(i64, 2)", "hl.fast_pow(d, 2)", "b ** 2",
    "hl.mux(f, [1, 2])", "hl.mux(u8, [1, 2, 3])", "hl.mux(i64, [1, 2])", "hl.mux(d, [u8, u82])", "hl.mux(b, [1, 2])",
    "hl.select(1, x, x - 5)", "hl.select(0, 3, u8)", "hl.cast(hl.Bool(), 2) | b", "hl.u8(3.75) + u8",
    # hints
    "hl.likely(x)", "hl.likely_if_innermost(x)", "hl.strict_float(f) + 1", "hl.unsafe_promise_clamped(s8, 0, 9)",
    "hl.unsafe_promise_clamped(s8, hl.Expr(), 127)", "hl.unsafe_promise_clamped(f, -1e9, hl.Expr())",
    # floats, exactly
    "hl.sqrt(positive)", "hl.sqrt(x)", "hl.floor(f)", "hl.ceil(f)", "hl.round(f)", "hl.trunc(f)", "hl.round(d)",
    "hl.floor(x)",
    "hl.round(h)", "hl.fract(f)", "hl.fract(d)", "hl.hypot(x, 4)", "hl.hypot(u8, u82)", "hl.is_nan(f / f2)",
    "hl.is_inf(1.0 / f)", "hl.is_finite(1.0 / f)", "hl.is_nan(f - f)",
    # bits of integers
    "hl.concat_bits([u8, u82])", "hl.concat_bits([i8, i82, i8, i82])", "hl.concat_bits([u32, u322])",
    "hl.extract_bits(hl.UInt(8), u32, 12)", "hl.extract_bits(hl.Int(8), i32, 20)",
    "hl.extract_bits(hl.UInt(16), u32, s8)",
    "hl.widening_mul(u8, i8)", "hl.widening_mul(i16, u8)", "hl.widening_mul(u8, 3)", "hl.widening_mul(b, b2)",
    "hl.widening_add(u8, i8)", "hl.widening_add(u8, 3)", "hl.widening_add(f, f2)", "hl.widening_mul(h, h2)",
    "hl.widen_right_add(u16, u8)", "hl.widen_right_sub(i16, i8)", "hl.widen_right_mul(u32, u16)",
    "hl.saturating_add(u8, 3)", "hl.saturating_add(u8, i8)", "hl.halving_add(u8, 3)", "hl.halving_sub(u8, i8)",
    "hl.popcount(b)", "hl.rounding_shift_right(u8, 3)", "hl.rounding_shift_left(u8, 3)",
    "hl.rounding_shift_right(i8, -1)",
    "hl.rounding_shift_right(i8, s8)", "hl.rounding_shift_right(u8, t8)", "hl.rounding_shift_right(i16, t8)",
    "hl.rounding_shift_left(i16, t8)", "hl.rounding_shift_right(u8, x & 3)", "hl.widening_shift_left(u8, s8)",
    "hl.widening_shift_left(i8, 3)", "hl.widening_shift_left(u8, x & 7)", "hl.widening_shift_right(i8, t8)",
    "hl.mul_shift_right(u8, u82, 4)", "hl.mul_shift_right(i16, i162, 15)", "hl.mul_shift_right(i32, i322, 31)",
    "hl.mul_shift_right(u8, u82, s8)", "hl.mul_shift_right(i8, u8, 7)", "hl.rounding_mul_shift_right(i16, i162, 15)",
    "hl.rounding_mul_shift_right(u8, u82, 7)", "hl.rounding_mul_shift_right(i32, i322, 31)",
    *(f"hl.{name}({t})" for t in INTEGERS for name in ("popcount", "count_leading_zeros", "count_trailing_zeros")),
    *(
        f"hl.{name}({t}, {t}2)"
        for t in INTEGERS
        for name in ("saturating_add", "saturating_sub", "halving_add", "halving_sub", "rounding_halving_add")
    ),
    *(f"hl.{name}({t}, {t}2)" for t in NARROW for name in ("widening_add", "widening_sub", "widening_mul")),
    # Division by zero towards zero is not defined in Halide.
    *(f"hl.{name}({t}, {t}2 | 1)" for t in INTEGERS for name in ("div_round_to_zero", "mod_round_to_zero")),
    *(f"{t} {op} {t}2" for t in (*INTEGERS, "f", "d") for op in ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=")
      if (t, op) not in (("f", "%"), ("d", "%"))),
]  # fmt: skip

NEAR = [
    *(f"hl.{name}(unit)" for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "atanh", "exp", "erf",
        "fast_exp", "fast_sin", "fast_cos",
    )),
    *(f"hl.{name}(positive)" for name in ("log", "fast_log", "fast_inverse", "fast_inverse_sqrt")),
    # Halide computes these with one rounding where the machine can.
    "f % f2", "d % d2", "f % positive",
    "hl.acosh(positive + 1)", "hl.atan2(f, f2)", "hl.atan2(x - 3, 5)", "hl.hypot(f, f2)", "hl.hypot(d, f)",
    "hl.pow(positive, f)", "positive ** 0.5", "2 ** f", "x ** 0.5", "hl.fast_pow(positive, 2.5)", "hl.fast_pow(f, 2)",
    "hl.pow(positive, d)", "hl.pow(d * d, f)", "hl.atan2(f, d)", "hl.atan2(d, f)", "hl.atan2(h, d)",
    "hl.atan2(f, h)", "hl.pow(x, d)", "d ** f", "positive ** d",
    "hl.sin(x)", "hl.sin(d)", "hl.exp(h)", "hl.pow(2, x)", "hl.lerp(f, f2, share)", "hl.lerp(f, f2, u8)",
    "hl.lerp(d, d2, share)", "hl.lerp(0.0, 1.0, share)", "hl.lerp(f, 1, u16)",
]  # fmt: skip


def bits(array: Array) -> Array:
    """The bits of an array, one NaN for all."""
    if array.dtype.kind != "f":
        return array
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).view(f"u{array.dtype.itemsize}")


def used(text: str) -> dict[str, Array]:
    """The arrays that an expression names."""
    names = set(compile(text, "", "eval").co_names)
    return {name: array for name, array in ARRAYS.items() if name in names}


@pytest.mark.parametrize("text", EXACT)
def test_values_and_types_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    arrays = used(text)
    ours, theirs = values(hl, text, arrays, LENGTH), values(halide, text, arrays, LENGTH)
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("text", NEAR)
def test_functions_of_floats_are_near_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    arrays = used(text)
    ours, theirs = values(hl, text, arrays, LENGTH)[0], values(halide, text, arrays, LENGTH)[0]
    assert ours.dtype == theirs.dtype
    rough = 2e-3 if "inverse" in text or ours.dtype == np.float16 else 2e-5
    np.testing.assert_allclose(ours, theirs, rtol=rough, atol=1e-5)


@pytest.mark.parametrize("start", range(0, len(EXACT) + len(NEAR), 25))
def test_the_interpreter_and_vectors_have_the_same_values(start: int) -> None:
    """Many expressions in one pipeline, so that few are compiled."""
    texts = (EXACT + NEAR)[start : start + 25]
    scope, x = names_of(hl, {name: array for text in texts for name, array in used(text).items()})
    serial, lanes = hl.Func("serial"), hl.Func("lanes")
    parts = [part for text in texts for part in hl.Tuple(eval(text, scope))]
    serial[x] = lanes[x] = parts
    lanes.vectorize(x, 8)
    meant = expected(serial, [LENGTH])
    one, other = serial.realize([LENGTH]), lanes.realize([LENGTH])
    for text, wanted, a, b in zip(map(str, parts), meant, one, other, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert np.array_equal(bits(a), bits(b)), f"{text} differs between scalars and lanes"
        if wanted.dtype.kind != "f":
            assert np.array_equal(a, wanted), text
        else:
            np.testing.assert_allclose(a, wanted, rtol=4 * float(np.finfo(wanted.dtype).eps), err_msg=text)


@pytest.mark.parametrize("name", ["exp", "log", "sin", "erf", "tanh"])
@pytest.mark.parametrize(("bits", "called"), [(16, False), (32, False), (64, True)])
def test_functions_that_are_arithmetic_call_nothing(name: str, bits: int, called: bool) -> None:
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = getattr(hl, name)(hl.cast(hl.Float(bits), x))
    f.vectorize(x, 8)
    declared = [line for line in executable(f).initial_ir.splitlines() if line.startswith("declare")]
    assert any('@"rfactor.' in line for line in declared) == called


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda u8, f: u8 + 300, "300 does not fit u8"),
        (lambda u8, f: hl.clamp(u8, 3, 300), "300 does not fit u8"),
        (lambda u8, f: hl.clamp(u8, hl.i32(u8), 9), "its low end .* is i32; write u8"),
        (lambda u8, f: ~f, "takes integers or bool"),
        (lambda u8, f: hl.is_nan(u8), "is_nan.* of u8: it is for floats"),
        (lambda u8, f: hl.popcount(f), "popcount of f32"),
        (lambda u8, f: hl.logical_not(u8), "of u8: it is for bool"),
        (lambda u8, f: hl.reinterpret(hl.UInt(16), f), "must have as many bits"),
        (lambda u8, f: hl.saturating_add(f, f), "saturating_add of f32"),
        (lambda u8, f: hl.halving_add(f, 1.5), "halving_add of f32"),
        (lambda u8, f: hl.widening_add(hl.u64(u8), hl.u64(u8)), "no type of 128 bits"),
        (lambda u8, f: hl.mul_shift_right(u8, u8, hl.i8(1)), "the count is unsigned"),
        (lambda u8, f: hl.widen_right_add(u8, u8), "half the width"),
        (lambda u8, f: hl.concat_bits([u8, u8, u8]), "a power of two of values, not 3"),
        (lambda u8, f: hl.concat_bits([u8, f]), "integers of one type"),
        (lambda u8, f: hl.lerp(u8, u8, 3), "an unsigned integer or a float"),
        (lambda u8, f: hl.lerp(u8, hl.u16(u8), 0.5), "numbers of one type"),
        (lambda u8, f: hl.lerp(hl.i64(u8), hl.i64(u8), f), "products of 64 bits"),
        (lambda u8, f: hl.fast_exp(hl.f64(f)), r"it is for f32; write exp"),
        (lambda u8, f: hl.fast_inverse(hl.f64(f)), "f16 and f32"),
        (lambda u8, f: hl.erf(u8), "erf.* of u8"),
        (lambda u8, f: hl.div_round_to_zero(u8, f), "div_round_to_zero of f32"),
        (lambda u8, f: hl.select(u8, 1, 2), "not bool"),
        (lambda u8, f: hl.select(u8 > 1, 1, u8 > 2, 2), "an odd number of arguments, not 4"),
        (lambda u8, f: hl.select(u8 > 1, (1, 2), (1, 2, 3)), "identical sizes. Here are 2 and 3 components"),
        (lambda u8, f: hl.mux(u8, []), "one value or more"),
        (lambda u8, f: u8 << 2.5, "for integers only"),
        (lambda u8, f: (u8 > 1) << (u8 > 2), "for integers only"),
        (lambda u8, f: u8 & 1.5, "takes integers or bool"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(make: Any, message: str) -> None:
    x = hl.Var("x")
    with pytest.raises(TypeMismatch, match=message):
        make(hl.u8(x), hl.f32(x))


_SIGNS = (*INTEGERS, "b", "x", "3", "300", "-1", "2**40", "True", "hl.u8(3)", "hl.i32(3)", "1.5", "f")


@pytest.mark.parametrize("op", ["&", "|", "^"])
@pytest.mark.parametrize("left", _SIGNS[:10])
def test_bits_of_signed_and_unsigned_integers_meet_where_they_do_in_halide(op: str, left: str) -> None:
    halide = pytest.importorskip("halide")
    for right in _SIGNS:
        for text in (f"{left} {op} {right}", f"{right} {op} {left}"):
            told = []
            for api in (hl, halide):
                scope, _ = names_of(api, {name: ARRAYS[name] for name in (*INTEGERS, "b", "f")})
                try:
                    told.append(str(eval(text, scope).type()))
                except api.HalideError as error:
                    told.append(str(error).removeprefix("Error: "))
            ours, theirs = told
            signs = "must be both be signed or both be unsigned"
            if signs in theirs:
                assert ours.startswith(theirs.partition("\nLHS value")[0]), text
            elif "\n" not in theirs:
                assert ours == theirs, text
            else:
                assert "does not fit" in ours or "is no bool" in ours or "takes integers" in ours, (text, theirs)


TWO = [
    hl.saturating_add, hl.saturating_sub, hl.halving_add, hl.halving_sub, hl.rounding_halving_add, hl.widening_add,
    hl.widening_sub, hl.widening_mul, hl.div_round_to_zero, hl.mod_round_to_zero, hl.rounding_shift_left,
    hl.rounding_shift_right, hl.widening_shift_left, hl.widening_shift_right, hl.absd, hl.min, hl.max,
    lambda a, b: a << b, lambda a, b: a >> b, lambda a, b: a // b, lambda a, b: a % b, lambda a, b: a + b,
    lambda a, b: a * b, lambda a, b: a ^ b, lambda a, b: hl.select(a < b, a, b),
    lambda a, b: hl.lerp(a, b, hl.u8(a)), lambda a, b: hl.mul_shift_right(a, b, 3),
    lambda a, b: hl.rounding_mul_shift_right(a, b, 5), lambda a, b: hl.concat_bits([a, b]),
]  # fmt: skip
ONE = [
    hl.popcount, hl.count_leading_zeros, hl.count_trailing_zeros, hl.abs, hl.u8_sat, hl.i16_sat, hl.i64, hl.u32, hl.i8,
    lambda a: ~a, lambda a: -a, lambda a: a**3, lambda a: hl.extract_bits(hl.UInt(8), a, 3),
    lambda a: hl.reinterpret(hl.Int(a.type().bits()), a), lambda a: hl.cast(hl.Bool(), a),
]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_is_composed_has_the_interpreters_bits_in_scalars_and_lanes(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from([*INTEGERS, "b"]), min_size=2, max_size=3, unique=True))
    scope, x = names_of(hl, {name: ARRAYS[name] for name in chosen})
    pool = [scope[name] for name in chosen]
    for _ in range(data.draw(st.integers(1, 6))):
        a, b = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        function = data.draw(st.sampled_from(TWO + ONE))
        try:
            pool.append(function(a, b) if function in TWO else function(a))
        except TypeMismatch:
            continue
    serial, lanes = hl.Func("serial"), hl.Func("lanes")
    serial[x] = lanes[x] = tuple(pool)
    lanes.vectorize(x, 8)
    meant = expected(serial, [LENGTH])
    for expr, wanted, one, other in zip(pool, meant, serial.realize([LENGTH]), lanes.realize([LENGTH]), strict=True):
        assert np.array_equal(np.asarray(one), wanted), str(expr)
        assert np.array_equal(np.asarray(other), wanted), str(expr)


def test_a_zero_has_the_sign_of_ieee_754_folded_or_computed() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    zeros = hl.f32(0), hl.f32(x) * 0.0, hl.Buffer(np.zeros(8, np.float32))[x]
    negative = [made for v in zeros for made in (-v, v * -1.0, v / -3.0)]
    positive = [made for v in zeros for made in (0.0 - v, -v + 0.0)]
    f[x] = (*negative, *positive)
    signs = [np.signbit(np.array(one)).tolist() for one in f.realize([8])]
    assert signs == [[True] * 8] * len(negative) + [[False] * 8] * len(positive)
