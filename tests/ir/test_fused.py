"""`fma` in the reference evaluator is the exact number, rounded once."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rfactor.errors import TypeMismatch
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, apply, const, intrinsic
from rfactor.ir.fused import as_sum, as_sums
from rfactor.ir.parser import parse_expr
from rfactor.ir.printer import show
from rfactor.ir.types import BF16, F16, F32, F64, I32, Type
from tests.fused import bits, nearest, values


@pytest.mark.parametrize(("type_", "dtype"), [(F32, "f4"), (F64, "f8")])
def test_values_are_exact_numbers_rounded_once(type_: Type, dtype: str) -> None:
    operands, expected = values(dtype)
    variables = [Var(type_, name) for name in "abc"]
    found = evaluate(intrinsic("fma", *variables), dict(zip("abc", operands, strict=True)))
    assert np.array_equal(bits(found), bits(expected))
    with np.errstate(all="ignore"):
        twice = operands[0] * operands[1] + operands[2]
    assert (bits(twice) != bits(expected)).sum() > 500, "the points do not tell one rounding from two"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_judge_rounds_as_numpy_does(dtype: str) -> None:
    """Of one operation, which NumPy rounds once."""
    a, b, _ = values(dtype)[0]
    with np.errstate(all="ignore"):
        for product, found in ((x, y) for x, y in zip(zip(a.tolist(), b.tolist(), strict=True), a * b, strict=True)):
            x, y = product
            if math.isfinite(x) and math.isfinite(y) and x and y:
                assert nearest(dtype, Fraction(x) * Fraction(y)) == found


def test_over_the_reals_it_is_a_product_and_a_sum() -> None:
    a, b, c = (Var(F32, name) for name in "abc")
    expr = intrinsic("fma", a, b, c)
    env = {name: np.array([value, Fraction(1, 3)], dtype=object) for name, value in zip("abc", (7, 5, 2), strict=True)}
    assert evaluate(expr, env, floats="real").tolist() == [37, Fraction(4, 9)]
    assert as_sums((apply("-", expr, a),), lambda _: True) == (apply("-", apply("+", apply("*", a, b), c), a),)
    nested = intrinsic("fma", expr, b, c)
    assert as_sums((nested,), lambda node: node == expr) == (intrinsic("fma", as_sum(expr), b, c),)
    plain: tuple[Expr, ...] = (apply("*", a, b),)
    assert as_sums(plain, lambda _: True) is plain


@pytest.mark.parametrize("type_", [F16, BF16, I32])
def test_it_is_of_f32_and_f64(type_: Type) -> None:
    one = const(type_, 1)
    with pytest.raises(TypeMismatch, match=f"fma takes f32 or f64, not {type_}"):
        intrinsic("fma", one, one, one)


def test_it_is_printed_and_read() -> None:
    expr = intrinsic("fma", Var(F32, "a"), Const(F32, 2.5), Var(F32, "c"))
    assert show(expr) == "fma(a, 2.5, c)"
    assert parse_expr(show(expr), {"a": F32, "c": F32}) == expr
