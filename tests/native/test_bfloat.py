"""bf16, the upper half of an f32: all of its values, and every rounding to it, against a table of them."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.ir import bfloat
from rfactor.ir.evaluate import evaluate, held
from rfactor.ir.expr import Expr, Var, apply, cast, const, intrinsic, is_held, select
from rfactor.ir.loopnest import For
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BF16, F16, F32, F64, I8, I16, I32, I64, SCALARS, U8, U16, U32, U64, Type, parse_type
from rfactor.native.engine import host
from rfactor.native.evaluator import compile_evaluator
from rfactor.semantics.scalar import rounded
from tests.codegen.reference import elements, i32, load, pipeline, ramp, sink, source, store, times, wide
from tests.native.test_evaluator import same_bits

Array = np.ndarray[Any, Any]
WORDS = np.arange(1 << 16, dtype=np.uint16)
VALUES = np.array([struct.unpack("<f", struct.pack("<I", word << 16))[0] for word in range(1 << 16)], np.float32)
LADDER = np.append(VALUES[:0x7F80].astype(np.float64), 2.0**128)
"""All numbers from 0 on, by their bits; infinity is where the next number would be."""
MIDDLES = (LADDER[:-1] + LADDER[1:]) / 2


def nearest(numbers: Array) -> Array:
    """Doubles rounded by the table, ties to even bits."""
    size = np.abs(numbers)
    with np.errstate(invalid="ignore"):
        below = np.clip(np.searchsorted(LADDER, size, side="right") - 1, 0, 0x7F80)
    middle = np.append(MIDDLES, np.inf)[below]
    found = VALUES[below + ((size > middle) | ((size == middle) & (below % 2 == 1)))]
    return np.where(np.isnan(numbers), np.float32(np.nan), np.copysign(found, numbers)).astype(np.float32)


def meant(type: Type) -> Array:
    """Numbers of a float type at, above and below everything that bf16 rounds at, and many more."""
    random = np.random.default_rng(5)
    scalar: Any = np.float32 if type is F32 else np.float64
    with np.errstate(all="ignore"):
        middles = MIDDLES.astype(scalar)
        near = [middles, np.nextafter(middles, scalar(np.inf)), np.nextafter(middles, scalar(-np.inf))]
        wild = random.integers(0, 1 << 32, 200_000).astype(np.uint32).view(np.float32)
        if type is F64:
            wild = random.integers(0, 1 << 63, 200_000).astype(np.uint64).view(np.float64)
            near += [middles * (1 + 2.0**-30), middles * (1 - 2.0**-30), LADDER[1:] * (1 - 2.0**-52)]
            wild = np.concatenate([wild, random.normal(size=50_000) * 2.0 ** random.integers(-150, 130, 50_000)])
        numbers = np.concatenate([*near, wild, [np.nan, np.inf, 0.0]]).astype(scalar)
    return np.concatenate([numbers, -numbers])


def test_the_type_is_one_of_its_own() -> None:
    assert parse_type("bf16") is BF16
    assert BF16.name == "bf16"
    assert (BF16.bits, BF16.digits, BF16.largest_finite) == (16, 8, 3.3895313892515355e38)
    assert BF16 != F16
    assert BF16.with_lanes(8) is not F16.with_lanes(8)
    assert BF16.with_lanes(8).element is BF16
    assert [t.name for t in SCALARS if t.is_float] == ["f16", "bf16", "f32", "f64"]
    assert [t for t in (F16, BF16, F32, F64) if t.holds(BF16)] == [BF16, F32, F64]
    assert [t for t in (F16, BF16, F32, F64) if BF16.holds(t)] == [BF16]


@pytest.mark.parametrize("type", [F32, F64], ids=str)
def test_floats_are_rounded_once_to_the_nearest_ties_to_even(type: Type) -> None:
    numbers = meant(type)
    expected = nearest(numbers.astype(np.float64))
    expr = cast(BF16, Var(type, "x"))
    assert same_bits(held(BF16, numbers), expected)
    assert same_bits(evaluate(expr, {"x": numbers}), expected)
    assert same_bits(compile_evaluator((expr,))((numbers,))[0], expected)
    some = slice(0, None, 37)
    assert same_bits(np.array([rounded(BF16, v) for v in numbers[some].tolist()], np.float32), expected[some])
    assert same_bits(np.array([const(BF16, v).value for v in numbers[some].tolist()], np.float32), expected[some])


@pytest.mark.parametrize("type", [U8, U16, U32, U64, I8, I16, I32, I64], ids=str)
def test_integers_are_rounded_once_to_the_nearest_ties_to_even(type: Type) -> None:
    least, most = int(type.min), int(type.max)
    middles = [int(m) for m in MIDDLES[(MIDDLES >= 1) & (MIDDLES < 2.0**64)] if m == int(m)]
    near = {sign * m + by for m in middles for sign in (1, -1) for by in (-1, 0, 1)} | {least, most, 0}
    numbers = sorted(n for n in near if least <= n <= most)
    # Of what is told apart by more bits than a double has, the table is asked about the side of the middle.
    sides = [float(n) if abs(n) < 2**53 else _beside(n) for n in numbers]
    expected = nearest(np.array(sides))
    given = np.array(numbers, dtype=object).astype(f"{type.code[0]}{type.bits // 8}")
    expr = cast(BF16, Var(type, "x"))
    assert same_bits(evaluate(expr, {"x": given}), expected)
    assert same_bits(compile_evaluator((expr,))((given,))[0], expected)
    assert same_bits(np.array([rounded(BF16, n) for n in numbers], np.float32), expected)


def _beside(number: int) -> float:
    """A double on the same side of the same middle."""
    near = float(number)
    return near if int(near) == number else float(np.nextafter(near, np.inf if number > near else -np.inf))


def test_nan_stays_nan_and_is_quiet() -> None:
    bits = np.array([0x7F800001, 0xFF800001, 0x7FFFFFFF, 0xFFC00000, 0x7F80FFFF], np.uint32)
    expr = intrinsic("reinterpret_u16", cast(BF16, Var(F32, "x")))
    expected = [0x7FC0, 0xFFC0, 0x7FFF, 0xFFC0, 0x7FC0]
    assert evaluate(expr, {"x": bits.view(np.float32)}).tolist() == expected
    assert compile_evaluator((expr,))((bits.view(np.float32),))[0].tolist() == expected


def test_all_values_are_what_their_bits_say() -> None:
    word = Var(U16, "w")
    value = intrinsic("reinterpret_bf16", word)
    exprs: list[Expr] = [cast(F32, value), cast(F64, value), intrinsic("reinterpret_u16", value), cast(BF16, value)]
    exprs.append(intrinsic("reinterpret_i16", value))
    env = {"w": WORDS}
    for expr, found in zip(exprs, compile_evaluator(tuple(exprs))((WORDS,)), strict=True):
        assert same_bits(found, evaluate(expr, env)), str(expr)
    single, double, bits, itself, _ = compile_evaluator(tuple(exprs))((WORDS,))
    assert same_bits(single, VALUES)
    assert same_bits(double, VALUES.astype(np.float64))
    assert np.array_equal(bits, WORDS)
    assert same_bits(itself, VALUES)


def test_unary_operations_on_all_values() -> None:
    x = Var(BF16, "x")
    names = ("sqrt", "floor", "ceil", "round", "trunc", "exp", "log", "sin", "tanh")
    exprs = [apply("neg", x), apply("abs", x), *(intrinsic(name, x) for name in names)]
    exprs += [cast(type, x) for type in SCALARS if type is not BF16]
    with np.errstate(all="ignore"):
        wide = VALUES.astype(np.float64)
        exact = [-wide, np.abs(wide), np.sqrt(wide), np.floor(wide), np.ceil(wide), np.rint(wide), np.trunc(wide)]
        results = compile_evaluator(tuple(exprs))((VALUES,))
        for expr, found, number in zip(exprs[:7], results[:7], exact, strict=True):
            assert same_bits(found, nearest(number)), str(expr)
        for expr, found in zip(exprs, results, strict=True):
            expected = evaluate(expr, {"x": VALUES})
            if expr in exprs[9:11]:  # by the C library here, by NumPy there
                np.testing.assert_allclose(found, expected, rtol=2.0**-7, err_msg=str(expr))
            else:
                assert same_bits(found, expected), str(expr)


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "min", "max"])
def test_binary_operations_on_many_pairs(op: str) -> None:
    random = np.random.default_rng(11)
    left, right = VALUES[random.integers(0, 1 << 16, (2, 1 << 19))]
    # Half of the pairs are near each other, where sums are rounded and cancel.
    right[::2] = VALUES[(bfloat.words(left[::2]) + random.integers(-600, 600, 1 << 18)).astype(np.uint16)]
    x, y = Var(BF16, "x"), Var(BF16, "y")
    env = {"x": left, "y": right}
    with np.errstate(all="ignore"):
        a, b = left.astype(np.float64), right.astype(np.float64)
        # A double holds more than twice the digits: its rounding does not show.
        number = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}.get(op)
    expr = apply(op, x, y)
    (found,) = compile_evaluator((expr,), (x, y))(env)
    assert same_bits(found, evaluate(expr, env))
    if number is not None:
        assert same_bits(found, nearest(number))
    relations = [apply(relation, x, y) for relation in ("<", "<=", ">", ">=", "==", "!=")]
    chosen = [*relations, select(relations[0], x, y)]
    for one, result in zip(chosen, compile_evaluator(tuple(chosen), (x, y))(env), strict=True):
        assert same_bits(result, evaluate(one, env)), str(one)


def test_literals_are_rounded_and_written_as_numbers_of_the_type() -> None:
    x = {"x": BF16}
    assert str(parse_expr("x*0.1 + bf16(i)", {**x, "i": I32})) == "x * 0.10009765625 + bf16(i)"
    assert const(BF16, 2**63 + 2**55 + 1).value == 2.0**63 + 2.0**56
    assert const(BF16, 3.4e38).value == np.inf
    assert const(BF16, 3.39e38).value == BF16.largest_finite
    assert const(BF16, -(2.0**-134)).value == 0.0
    assert [is_held(BF16, n) for n in (256, 257, 258, 2**127, 2**128)] == [True, False, True, True, False]


def copied(new: Type, old: Type, lanes: int) -> Any:
    at = ramp(times(wide("i"), lanes), 1, lanes) if lanes > 1 else wide("i")
    body = store("b", at, cast(new, load(old, "a", at)))
    return pipeline(For("i", i32(0), i32(1 << 14), "serial", body), source("a", old), sink("b", new))


@pytest.mark.parametrize("lanes", [1, 16, 32])
@pytest.mark.parametrize(("new", "old"), [(BF16, F32), (F32, BF16), (BF16, F64), (BF16, I64), (BF16, BF16)], ids=str)
def test_conversions_in_memory_call_nothing_and_ask_for_no_instructions(new: Type, old: Type, lanes: int) -> None:
    """The type is unknown to LLVM, whose instructions for it would take denormals for zeros."""
    code = compile_pipeline(copied(new, old, lanes))
    assert not re.search(r"\bbfloat\b|\bhalf\b", code.initial_ir)
    assert "bf16" not in code.assembly()
    assert not re.search("__(trunc|extend|float)", code.assembly())
    a, count = elements(old, np.linspace(-300, 300, lanes << 14)), lanes << 14
    if old is BF16:
        a = WORDS[np.arange(count) % (1 << 16)].view(bfloat.STORED)
    b = np.zeros(count, bfloat.STORED if new is BF16 else np.float32)
    code({"a": a, "b": b})
    if new is old:
        assert np.array_equal(a.view(np.uint16), b.view(np.uint16))  # also of NaN
        return
    values = bfloat.of_words(a) if old is BF16 else a
    found = bfloat.of_words(b) if new is BF16 else b
    assert same_bits(found, evaluate(cast(new, Var(old, "x")), {"x": values}))


@pytest.mark.skipif(not host().triple.startswith("x86_64") or host().vector_bits < 256, reason="what x86 makes of it")
def test_vectors_are_converted_whole() -> None:
    """By shifts of 32-bit lanes, none of them taken out."""
    for new, old in ((BF16, F32), (F32, BF16)):
        text = compile_pipeline(copied(new, old, 32)).assembly()
        assert re.search(r"vpslld|vpsrld", text)
        assert not re.search(r"vpinsrw|vpextrw", text)
