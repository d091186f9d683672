"""Numbers of Python and NumPy where a type is expected: types, values and refusals are those of Halide's bindings."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, Error, TypeMismatch

NUMBERS = [
    "-1", "0", "1", "128", "256", "-129", "65535", "2**31-1", "2**31", "2**40", "1.0", "1.5", "True", "np.uint8(200)",
    "np.int64(3)", "np.bool_(True)", "hl.i32(3)", "hl.u8(3)", "hl.i64(3)",
]  # fmt: skip
TYPES = [
    "Int(8)", "UInt(8)", "Int(16)", "UInt(16)", "Int(32)", "UInt(32)", "Int(64)", "UInt(64)", "Float(16)", "Float(32)",
    "Float(64)",
]  # fmt: skip
OF_ALL = [
    "a + n", "n + a", "a - n", "n - a", "a*n", "a/n", "n/a", "a//n", "a % n", "n % a", "a == n", "n == a", "a < n",
    "n < a", "hl.min(a, n)", "hl.max(n, a)", "hl.clamp(a, n, n)", "hl.select(x > 3, a, n)", "hl.select(x > 3, n, a)",
    "hl.mux(n, [a, a])", "hl.mux(x, [a, n])", "hl.mux(a, [n, n])", "a**n", "n**a", "hl.pow(a, n)", "hl.fast_pow(a, n)",
    "hl.absd(a, n)", "hl.lerp(a, n, hl.f32(0.5))", "hl.atan2(a, n)", "hl.hypot(a, n)", "hl.cast(a.type(), n)",
    "hl.saturating_cast(a.type(), n)", "hl.unsafe_promise_clamped(a, n, n)",
]  # fmt: skip
OF_INTEGERS = [
    "a & n", "n & a", "a | n", "a ^ n", "a << n", "a >> n", "n << a", "n >> a",
]  # fmt: skip
x, y = hl.Var("x"), hl.Var("y")


def told(api: Any, refusal: type[Exception], text: str, kind: str, number: str) -> str:
    """The type of an expression of a value `a` of type `kind` and a number `n`."""
    at = api.Var("x")
    scope = {"hl": api, "np": np, "x": at}
    try:
        scope |= {"a": api.cast(eval(f"hl.{kind}", scope), at), "n": eval(number, scope)}
        return str(eval(text, scope).type())
    except refusal:
        return "refused"


@pytest.mark.parametrize("text", [*OF_ALL, *OF_INTEGERS])
def test_types_and_refusals_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    kinds = TYPES if text in OF_ALL else [kind for kind in TYPES if "Float" not in kind]
    numbers = NUMBERS if text in OF_ALL else [number for number in NUMBERS if "." not in number or "(" in number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind in kinds:
            for number in numbers:
                if number == "np.bool_(True)" and text in OF_INTEGERS:  # an overload that Halide's bindings lack
                    continue
                given = kind, number
                assert (given, told(hl, Error, text, *given)) == (given, told(halide, Exception, text, *given))


def values(expr: Any, count: int = 4) -> list[Any]:
    f = hl.Func("f")
    f[x] = expr
    found: list[Any] = np.asarray(f.realize([count])).tolist()
    return found


def test_what_is_shifted_has_its_own_type() -> None:
    assert values(1 << hl.u8(x + 8)) == [256, 512, 1024, 2048]
    assert values(300 >> hl.u8(x)) == [300, 150, 75, 37]
    assert values(hl.i8(x) << 200) == [0] * 4
    assert values(hl.rounding_shift_right(hl.u8(x), np.int64(1))) == [0, 1, 1, 2]


def test_mux_counts_in_the_type_of_its_index() -> None:
    assert values(hl.mux(hl.f32(x) * 0.5, [1, 2])) == [1, 2, 2, 2]
    assert values(hl.mux(hl.i64(x) << 32, [1, 2])) == [1, 2, 2, 2]
    assert values(hl.mux(hl.u8(x), list(range(300)))) == [0, 1, 2, 3]
    assert values(hl.mux(x > 1, [3, 4, 5])) == [3, 3, 4, 4]


def test_powers_by_products_have_the_type_of_what_is_multiplied() -> None:
    assert values(hl.fast_pow(hl.i64(x) << 20, 2)) == [0, 1 << 40, 4 << 40, 9 << 40]
    assert str(hl.fast_pow(x, 3).type()) == "int32"
    assert values(hl.fast_pow(x, 3)) == [0, 1, 8, 27]
    assert values((x > 1) ** 2) == [False, False, True, True]


def test_functions_that_begin_by_a_truth_value_count() -> None:
    f = hl.Func("f")
    f[x] += True
    assert str(f.type()) == "int32"
    assert np.asarray(f.realize([3])).tolist() == [1, 1, 1]


def test_numbers_are_conditions_where_they_are_0_or_1() -> None:
    assert values(hl.select(1, x, -x)) == [0, 1, 2, 3]
    assert values(hl.select(0, x, -x)) == [0, -1, -2, -3]


@pytest.mark.parametrize("type", [hl.UInt(8), hl.Int(32), hl.Int(64)])
def test_parameters_take_whole_numbers_with_a_decimal_point(type: hl.Type) -> None:
    p = hl.Param(type, "p", 3.0)
    assert values(p)[0] == 3
    p.set(np.float64(4.0))
    p.set_estimate(5.0)
    assert (p.get(), str(p.parameter().estimate())) == (4, str(hl.cast(type, 5)))
    for wrong in (3.5, 1e30, float("nan"), float("inf")):
        with pytest.raises(TypeMismatch):
            p.set(wrong)


def test_constants_are_cast_when_they_are_written() -> None:
    for written, shown in [
        (hl.u8(3.75), "(uint8)3"),
        (hl.i8(-3.75), "(int8)-3"),
        (hl.cast(hl.Bool(), 2), "(uint1)0"),
        (hl.cast(hl.Bool(), 3.5), "(uint1)1"),
        (hl.clamp(x, 0.0, 9.0), "max(min(x, 9), 0)"),
    ]:
        assert f": {shown}>" in str(written)
    assert values(hl.u8(300.5))[0] == 255


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: hl.clamp(x, 0.5, 2.5), TypeMismatch, "0.5 is no i32: write a whole number, or clamp f32"),
        (lambda: hl.clamp(hl.f32(x), 0, (1 << 24) + 1), TypeMismatch, "16777217 is no f32, the nearest is 16777216"),
        (lambda: hl.clamp(x > 3, 0, 2), TypeMismatch, "2 is no bool"),
        (lambda: hl.select(2, x, 3), TypeMismatch, "the condition 2 is i32, not bool"),
        (lambda: hl.Tuple([]), AlgorithmError, "Tuples must have at least one element"),
        (lambda: hl.Buffer().width(), BufferError, "is an undefined Buffer"),
        (lambda: hl.Buffer().dimensions(), BufferError, "is an undefined Buffer"),
        (lambda: hl.Param(hl.Int(32), "p").set_estimate(x), AlgorithmError, "the estimate x of p is no constant"),
        (
            lambda: hl.ImageParam(hl.UInt(8), 1, "im").dim(0).set_estimate(0, hl.Param(hl.Int(32), "n")),
            AlgorithmError,
            "the estimate n of the extent of im is no constant: give the number that is usual",
        ),
    ],
)
def test_numbers_that_are_none_of_the_type_are_refused(
    wrong: Callable[[], Any], error: type[Error], message: str
) -> None:
    with pytest.raises(error, match=message):
        wrong()
