"""The reference evaluation against Python's integers, one rule of the language at a time."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rfactor.ir.evaluate import as_array, dtype_of, evaluate, evaluate_scalar, to_value
from rfactor.ir.expr import Op, Var, apply, cast, const, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.simplify import fold
from rfactor.ir.types import BF16, BOOL, BY_NAME, F32, F64, I8, SCALARS, U8

EDGES = {I8: [-128, -127, -7, -2, -1, 0, 1, 2, 5, 7, 8, 9, 126, 127], U8: [0, 1, 2, 5, 7, 8, 9, 127, 128, 254, 255]}


def euclid(a, b):
    if b == 0:
        return 0, 0
    r = a % abs(b)
    return (a - r) // b, r


def shift(a, n, bits):
    if n >= 0:
        return a << min(n, 2 * bits)
    return a >> min(-n, 2 * bits)


ORACLE = {
    "+": lambda a, b, t: a + b,
    "-": lambda a, b, t: a - b,
    "*": lambda a, b, t: a * b,
    "//": lambda a, b, t: euclid(a, b)[0],
    "%": lambda a, b, t: euclid(a, b)[1],
    "min": lambda a, b, t: min(a, b),
    "max": lambda a, b, t: max(a, b),
    "&": lambda a, b, t: a & b,
    "|": lambda a, b, t: a | b,
    "^": lambda a, b, t: a ^ b,
    "<<": lambda a, b, t: shift(a, b, t.bits),
    ">>": lambda a, b, t: shift(a, -b, t.bits),
}


@pytest.mark.parametrize("type_", [I8, U8])
@pytest.mark.parametrize("op", ORACLE)
def test_binary_operations_wrap_the_exact_result(type_, op):
    pairs = list(itertools.product(EDGES[type_], repeat=2))
    env = {name: as_array(type_, column) for name, column in zip("ab", zip(*pairs, strict=True), strict=True)}
    result = evaluate(apply(op, Var(type_, "a"), Var(type_, "b")), env)
    assert result.tolist() == [type_.wrap(ORACLE[op](a, b, type_)) for a, b in pairs]
    assert result.dtype == env["a"].dtype


@pytest.mark.parametrize("type_", [I8, U8])
@pytest.mark.parametrize("op", ["//", "%"])
def test_division_by_one_number_is_that_by_many(type_, op):
    many = as_array(type_, EDGES[type_])
    for b in EDGES[type_]:
        result = evaluate(apply(op, Var(type_, "a"), Var(type_, "b")), {"a": many, "b": as_array(type_, [b])})
        assert result.tolist() == [type_.wrap(ORACLE[op](a, b, type_)) for a in EDGES[type_]], b
        assert result.dtype == many.dtype


@pytest.mark.parametrize("type_", [t for t in SCALARS if t.is_int])
def test_folded_literals_are_what_arrays_of_them_give(type_):
    values = [type_.min, type_.min + 1, 0, 1, 3, type_.max - 1, type_.max]
    operations = ("+", "-", "*", "min", "max", "<", "<=", ">", ">=", "==", "!=")
    for a, b in itertools.product(values, repeat=2):
        env = {"a": as_array(type_, [a]), "b": as_array(type_, [b])}
        for op in operations:
            folded = fold(apply(op, const(type_, a), const(type_, b)))
            wanted = evaluate(apply(op, Var(type_, "a"), Var(type_, "b")), env)
            assert folded == const(folded.type, to_value(wanted[0])), (a, op, b)


@pytest.mark.parametrize("type_", [I8, U8])
def test_math_meaning_never_wraps(type_):
    pairs = list(itertools.product(EDGES[type_], repeat=2))
    env = {
        name: as_array(type_, column, Meaning.MATH) for name, column in zip("ab", zip(*pairs, strict=True), strict=True)
    }
    for op in ("+", "-", "*", "//", "%", "min"):
        result = evaluate(apply(op, Var(type_, "a"), Var(type_, "b")), env, Meaning.MATH)
        assert result.tolist() == [ORACLE[op](a, b, type_) for a, b in pairs], op
    for op, sign in (("<<", 1), (">>", -1)):
        result = evaluate(apply(op, Var(type_, "a"), Var(type_, "b")), env, Meaning.MATH)
        assert result.tolist() == [shift(a, sign * b, 4096) for a, b in pairs], op


def test_abs_and_neg_of_the_least_value_stay():
    assert evaluate_scalar(parse_expr("abs(x)", {"x": I8}), {"x": -128}) == -128
    assert evaluate_scalar(parse_expr("-x", {"x": I8}), {"x": -128}) == -128
    assert evaluate_scalar(parse_expr("abs(x)", {"x": I8}), {"x": -128}, Meaning.MATH) == 128


def test_complement_of_an_unsigned_number_keeps_its_width_under_both_meanings():
    expr = parse_expr("~x", {"x": U8})
    assert evaluate_scalar(expr, {"x": 3}) == evaluate_scalar(expr, {"x": 3}, Meaning.MATH) == 252


@pytest.mark.parametrize("type_", [t for t in SCALARS if t.is_int])
def test_float_to_integer_truncates_saturates_and_nan_is_zero(type_):
    values = [np.nan, np.inf, -np.inf, 1e30, -1e30, -1.9, 1.9, 200.7, 2.0**63, -(2.0**63), 2.0**31, 2.0**64]
    expected = [
        0 if v != v else int(type_.max) if v > type_.max else int(type_.min) if v < type_.min else int(v)
        for v in values
    ]
    assert evaluate(cast(type_, Var(F64, "v")), {"v": np.array(values)}).tolist() == expected


@pytest.mark.parametrize("type_", [BF16, F32, F64], ids=str)
def test_an_integer_beyond_all_floats_is_infinite(type_):
    env = {"a": as_array(BY_NAME["i64"], [10**400, -(10**400), 2**70], Meaning.MATH)}
    found = evaluate(cast(type_, Var(BY_NAME["i64"], "a")), env, Meaning.MATH)
    assert found.tolist() == [np.inf, -np.inf, 2.0**70]
    assert found.dtype == dtype_of(type_)


def test_minimum_of_floats_propagates_nan_and_orders_zeros():
    a = np.array([0.0, -0.0, np.nan, 1.0, np.inf], np.float32)
    b = np.array([-0.0, 0.0, 1.0, np.nan, 2.0], np.float32)
    least = evaluate(apply("min", Var(F32, "a"), Var(F32, "b")), {"a": a, "b": b})
    most = evaluate(apply("max", Var(F32, "a"), Var(F32, "b")), {"a": a, "b": b})
    assert np.signbit(least).tolist()[:2] == [True, True]
    assert np.signbit(most).tolist()[:2] == [False, False]
    assert np.isnan(least).tolist() == [False, False, True, True, False]
    assert most[4] == np.inf


def test_select_and_comparisons_of_bool():
    false, true = Var(BOOL, "f"), Var(BOOL, "t")
    env = {"f": np.array([False]), "t": np.array([True])}
    assert evaluate(apply("<", false, true), env).tolist() == [True]
    assert evaluate(select(true, false, true), env).tolist() == [False]
    assert evaluate(Op(BOOL, "~", (true,)), env).tolist() == [False]


def test_reals_are_exact():
    expr = parse_expr("(a + b) - a", {"a": F32, "b": F32})
    env = {"a": as_array(F32, [1e30], floats="real"), "b": as_array(F32, [1.0], floats="real")}
    assert evaluate(expr, env, floats="real").tolist() == [1]
    third = parse_expr("(a / 3) * 3", {"a": F32})
    assert evaluate(third, {"a": as_array(F32, [1.0], floats="real")}, floats="real").tolist() == [1]


def test_a_function_call_has_no_value_by_itself():
    from rfactor.ir.expr import Call

    with pytest.raises(KeyError):
        evaluate(Call(BY_NAME["i32"], "f", (), "func"), {})


def test_bits_of_unbounded_integers_are_those_of_their_type():
    values = np.empty(4, dtype=object)
    values[:] = [-1, 255, 1 << 40, float("inf")]
    counted = evaluate(parse_expr("popcount(x)", {"x": I8}, I8), {"x": values}, Meaning.MATH).tolist()
    assert counted[:3] == [8, 8, 0]
    assert counted[3] != counted[3]
