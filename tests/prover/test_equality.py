"""The provers: what they prove holds, what they refute is shown, and nothing else is said."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Const, Expr, Var, apply, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.types import BF16, BOOL, F16, F32, F64, I8, I32, U8, U16, U32, Type
from rfactor.prover import smt
from rfactor.prover.cases import Cases, prove_by_cases
from rfactor.prover.embedding import as_reals
from rfactor.prover.equality import _exhaust, prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Refuted, Unknown
from tests.strategies import expressions

NAMES = ("x", "y", "z", "a", "b", "k")


def exprs(left: str, right: str, type_: Type) -> tuple[tuple[Expr], tuple[Expr]]:
    types = dict.fromkeys(NAMES, type_)
    return (parse_expr(left, types, type_),), (parse_expr(right, types, type_),)


@pytest.mark.parametrize(
    ("left", "right", "type_", "method"),
    [
        ("(x + y) * (x - y)", "x*x - y*y", I32, "normal_form"),
        ("x * 3 - x", "x << 1", I32, "normal_form"),
        ("max(min(x, y), y)", "y", I32, "order"),
        ("min(x, max(y, z))", "max(min(x, y), min(x, z))", F32, "order"),
        ("select(x < y, x, y)", "min(y, x)", U8, "order"),
        ("(x & y) | (x & z)", "x & (y | z)", I32, "normal_form"),
        ("(x << 3) ^ (y << 3)", "(x ^ y) << 3", I32, "bits"),
        ("(x | y) - (x & y)", "x ^ y", U8, "normal_form"),
        ("x // 2 * 2 + x % 2", "x", I8, "exhaustive"),
        ("(x | y) + (x & y)", "x + y", U16, "normal_form"),
        ("(x ^ (y & ~z)) - 2*(y & z & x)", "x + y - 2*(x & y) - (y & z)", I8, "normal_form"),
        ("(x * y) >> 1", "(y * x + 0) // 2", U16, "smt"),
        ("cos(x + y)", "cos(x)*cos(y) - sin(y)*sin(x)", F64, "normal_form"),
        ("sin(x - y + z)", "sin(x + z)*cos(y) - cos(z + x)*sin(y)", F32, "normal_form"),
        ("sin(0.5*x - y) + cos(x - y)", "cos(y - x) - sin(y - x*0.5)", F64, "normal_form"),
    ],
)
def test_equal_functions_are_proved_by_the_cheapest_method(left: str, right: str, type_: Type, method: str) -> None:
    verdict = prove_equal(*exprs(left, right, type_))
    assert isinstance(verdict, Proven)
    assert verdict.method == method


@pytest.mark.parametrize(
    ("left", "right", "type_"),
    [
        ("(x + y) // 2", "x // 2 + y // 2", I32),
        ("max(x + a, y + a)", "max(x, y) + a", I32),
        ("abs(x)", "x", I32),
        ("x * x", "x * x + 1", I32),
        ("min(x, y)", "select(x <= y, y, x)", F32),
        ("x & y", "x | y", U8),
        ("sin(x + y)", "sin(x)*cos(y) - cos(x)*sin(y)", F64),
        ("cos(2.0*x)", "2.0*cos(x)", F64),
    ],
)
def test_what_differs_is_refuted_with_values_that_show_it(left: str, right: str, type_: Type) -> None:
    (one,), (other,) = exprs(left, right, type_)
    verdict = prove_equal((one,), (other,))
    assert isinstance(verdict, Refuted)
    assert evaluate_scalar(one, verdict.counterexample) != evaluate_scalar(other, verdict.counterexample)


def test_the_meaning_of_integers_decides() -> None:
    sides = exprs("max(x + a, y + a)", "max(x, y) + a", I32)
    assert isinstance(prove_equal(*sides, meaning=Meaning.MATH), Proven)
    assert isinstance(prove_equal(*sides, meaning=Meaning.WRAP), Refuted)


def test_assumptions_are_used_and_not_forgotten() -> None:
    sides = exprs("min(x, y)", "x", I32)
    ordered = parse_expr("x <= y", dict.fromkeys(NAMES, I32), BOOL)
    assert isinstance(prove_equal(*sides, assumptions=(ordered,)), Proven)
    assert isinstance(prove_equal(*sides), Refuted)


def test_division_is_cancelled_only_where_the_divisor_is_not_zero() -> None:
    sides = exprs("x / a * a", "x", F32)
    nonzero = parse_expr("a != 0", dict.fromkeys(NAMES, F32), BOOL)
    assert isinstance(prove_equal(*sides, assumptions=(nonzero,)), Proven)
    assert not isinstance(prove_equal(*sides), Proven)


def test_a_limit_gives_unknown_and_never_a_yes() -> None:
    hard = exprs("(x*x + y*y) * (z*z + a*a) % 1000003", "(z*z + a*a) * (y*y + x*x) % 1000003 + (x % 7919) // 7919", I32)
    verdict = prove_equal(*hard, limits=Limits(rlimit=1000, cases=1))
    assert isinstance(verdict, Unknown | Proven)
    unproved = exprs("(x * y) // 3 + (x | y) * z", "(y * x) // 3 + z * (x | y) + (x % 65537) // 65537", I32)
    assert isinstance(prove_equal(*unproved, limits=Limits(rlimit=100, cases=1)), Unknown)


def test_verdicts_are_no_truth_values() -> None:
    with pytest.raises(TypeError):
        bool(Proven("smt"))


@settings(max_examples=60, deadline=None)
@given(expressions(U8, depth=3), expressions(U8, depth=3), st.data())
def test_a_proof_by_cases_is_never_contradicted_by_values(one: Expr, other: Expr, data: st.DataObject) -> None:
    from rfactor.ir.expr import select, variables

    vars_ = {v.name: v for e in (one, other) for v in variables(e)}
    condition = parse_expr("u8(3) < u8(5)", {}, BOOL)
    same = select(condition, one, other)
    method = prove_by_cases((same,), (other,), Meaning.WRAP, (), Limits(cases=200))
    if method is None:
        return
    point: dict[str, bool | int | float] = {}
    for var in vars_.values():
        if var.type.is_bool:
            point[var.name] = data.draw(st.booleans())
        elif var.type.is_float:
            point[var.name] = data.draw(st.integers(-8, 8)) / 2
        else:
            point[var.name] = data.draw(st.integers(int(var.type.min), int(var.type.max)))
    assert evaluate_scalar(one, point) == evaluate_scalar(other, point)


@pytest.mark.parametrize(
    ("types", "meaning"), [((F16, F32), Meaning.WRAP), ((F16, BF16), Meaning.WRAP), ((I8, I32), Meaning.MATH)]
)
def test_a_constant_of_two_types_is_one_number(types: tuple[Type, Type], meaning: Meaning) -> None:
    names = {"x": types[0], "y": types[1]}
    left = parse_expr("select(x > 0 and y > 0, u8(1), u8(2))", names)
    right = parse_expr("u8(1)", names)
    assert prove_by_cases((left,), (right,), meaning, (), Limits(cases=200)) is None
    assert not isinstance(prove_equal((left,), (right,), meaning=meaning), Proven)


@pytest.mark.parametrize(
    ("left", "right", "names"),
    [
        ("select(f == -1, select(n > i8(-1), f, 255), 255)", "f32(255)", {"f": F32, "n": I8}),
        (
            "select(f > -7 and n > -7 and f < 12346 and f > 12345, f32(1), f32(0))",
            "f32(0)",
            {"f": F32, "n": I32},
        ),
    ],
)
def test_a_constant_of_two_rings_is_two_polynomials(left: str, right: str, names: dict[str, Type]) -> None:
    # -1 of i8 is 255 among polynomials modulo 2^8, -7 of i32 is 2^32 - 7: neither is what the float is.
    sides = (parse_expr(left, names),), (parse_expr(right, names),)
    assert prove_by_cases(*sides, Meaning.WRAP, (), Limits(cases=400)) is None


def test_an_infinity_is_near_nothing():
    """Within a part of an infinity lies every number: a tolerance relative to it once called -inf and 0 the same."""
    nothing, least = Const(F32, 0.0), Const(F32, float("-inf"))
    flag = Var(BOOL, "b")
    for one, other in (
        (least, nothing),
        (select(flag, least, nothing), nothing),
        (Const(F64, -math.inf), Const(I32, 0)),
    ):
        for meaning in Meaning:
            assert not isinstance(prove_equal((one,), (other,), meaning=meaning), Proven)
            assert not isinstance(prove_equal((other,), (one,), meaning=meaning), Proven)
    assert isinstance(prove_equal((least,), (nothing,)), Refuted)


def test_reals_that_differ_by_little_are_not_equal_by_trying_all_truth_values():
    one, other = (select(Var(BOOL, "b"), Const(F64, value), Const(F64, 0.0)) for value in (1.0, 1.0 + 2.0**-40))
    assert not isinstance(prove_equal((one,), (other,)), Proven)
    # Nor are those that doubles cannot tell apart.
    types = {"b": BOOL}
    (far,), (near,) = (parse_tuple(f"select(b, {text}, 0.0)", types, [F64]) for text in ("1e16 + 1.0", "1e16"))
    assert not isinstance(prove_equal((far,), (near,)), Proven)
    assert isinstance(_exhaust((far,), (near,), Meaning.WRAP, ()), Refuted | Unknown)


def test_a_component_that_is_settled_is_not_asked_of_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    from rfactor.prover import smt

    asked: list[str] = []
    solve = smt.solve

    def recorded(conditions: tuple[Expr, ...], *rest: object, **more: object) -> smt.Outcome:
        asked.extend(map(str, conditions))
        return solve(conditions, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(smt, "solve", recorded)
    types = dict.fromkeys(("x0", "x1", "y0", "y1"), U32)
    left = parse_tuple("x0 + y0, x1 + y1 + select(x0 + y0 < x0, 1, 0)", types, (U32, U32))
    right = parse_tuple("y0 + x0, y1 + x1 + select(y0 + x0 < y0, 1, 0)", types, (U32, U32))
    verdict = prove_equal(left, right)
    assert isinstance(verdict, Proven)
    assert verdict.method == "smt"
    assert asked
    assert all("x1" in condition for condition in asked)
    wrong = parse_tuple("y0 + x0 + 1, y1 + x1 + select(y0 + x0 < y0, 1, 0)", types, (U32, U32))
    assert isinstance(prove_equal(left, wrong), Refuted)


def test_the_solver_says_of_infinities_that_it_gives_up() -> None:
    from rfactor.prover.smt import GaveUp, Unsat, solve

    x = Var(F64, "x")
    above, not_above = (parse_expr(text, {"x": F64}, BOOL) for text in ("x > 2.0", "x < 2.0"))
    beyond = apply("<", x, Const(F64, math.inf))
    assert isinstance(solve((above, not_above), Meaning.WRAP, Limits()), Unsat)
    assert isinstance(solve((above, beyond), Meaning.WRAP, Limits()), GaveUp)


@settings(max_examples=40, deadline=None)
@given(
    expressions(U8, names=("x0", "a"), depth=2, casts=False), expressions(U8, names=("x0", "a"), depth=2, casts=False)
)
def test_a_quick_search_and_a_whole_one_show_no_less_than_a_whole_one_alone(one: Expr, other: Expr) -> None:
    limits = Limits(cases=200)
    both = apply("min", one, other), apply("min", other, one)
    for left, right in ((one, other), both):
        cases = Cases((left,), (right,), Meaning.WRAP, (), limits)
        assert prove_by_cases((left,), (left,), Meaning.WRAP, (), limits) is not None
        found = not cases.without_equal(cases.without_equal([(left, right)], few=32))
        assert found == (prove_by_cases((left,), (right,), Meaning.WRAP, (), limits) is not None)


@pytest.mark.parametrize(
    ("left", "right"),
    [("x & ~(x & y)", "x & ~y"), ("x ^ (y & ~y)", "x"), (f"x & {2**32 - 1}", "x"), ("~(x & y)", "~x | ~y")],
)
def test_unbounded_unsigned_integers_have_bits_beyond_the_width(left: str, right: str) -> None:
    sides = exprs(left, right, U32)
    assert isinstance(prove_equal(*sides), Proven)
    assert not isinstance(prove_equal(*sides, meaning=Meaning.MATH), Proven)


def test_bits_of_unbounded_integers_are_compared() -> None:
    for type_, left, right in ((I32, "~(x & y)", "~x | ~y"), (U32, "x & (x | y)", "x ^ (y & 0)")):
        assert isinstance(prove_equal(*exprs(left, right, type_), meaning=Meaning.MATH), Proven)


@pytest.mark.parametrize("meaning", list(Meaning))
def test_bits_are_counted_by_type(meaning: Meaning) -> None:
    narrow: dict[str, Type] = {"x": I8, "y": I8}

    def verdict(left: str, right: str, type_: Type) -> type:
        sides = ((parse_expr(text, narrow, type_),) for text in (left, right))
        return type(prove_equal(*sides, meaning=meaning))

    assert verdict("popcount(x + y) - popcount(y + x)", "i8(0)", I8) is Proven
    assert verdict("popcount(i32(x))", "i32(popcount(x))", I32) is Refuted
    assert verdict("popcount(i32(x) - i32(x) - 1)", "i32(popcount(x - x - i8(1)))", I32) is not Proven
    assert verdict("popcount(x)", "count_leading_zeros(x)", I8) is not Proven


def test_exponentials_of_equal_exponents_exclude_a_case() -> None:
    types: dict[str, Type] = dict.fromkeys(("x", "l", "a"), F64)
    weight = "l*exp(x - max(x, a)) + exp(a - max(x, a))"
    chosen = "select(x < a, l*exp(x - a) + 1.0, select(a < x, l + exp(a - x), l + {}))"
    given_ = (parse_expr(f"{weight} != 0.0", types, BOOL),)
    for one, proved in (("1.0", True), ("2.0", False)):
        claim = (parse_expr(f"{chosen.format(one)} != 0.0", types, BOOL),)
        found = prove_equal(claim, (Const(BOOL, True),), assumptions=given_)
        assert isinstance(found, Proven) is proved


def test_the_solver_is_asked_once_for_values_that_are_no_counterexample(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, solve = [], smt._solve

    def counted(*given: Any) -> Any:
        asked.append(given)
        return solve(*given)

    monkeypatch.setattr(smt, "_solve", counted)
    one = exprs("select(tanh(x) < 2.0, x, 0.0)", "x", F64)  # it knows nothing of tanh
    other = exprs("x * y", "x + y", F64)
    assert isinstance(prove_equal(*one), Unknown)
    first = len(asked)
    assert first > 0
    assert isinstance(prove_equal(*one), Unknown)
    assert len(asked) == first
    # What the values are tried on is the whole question: another component may differ at them.
    left, right = (a + b for a, b in zip(one, other, strict=True))
    assert isinstance(prove_equal(left, right), Refuted)


@pytest.mark.parametrize(
    ("left", "right", "meaning", "proved"),
    [
        ("a / f64(u + 1) + a / f64(v + 1)", "a * f64(u + v + 2) / f64((u + 1) * (v + 1))", Meaning.MATH, True),
        ("f64(n // 2)*2.0", "f64(n)", Meaning.MATH, False),
        ("select(2*n == 1, 1.0, f64(n))", "f64(n)", Meaning.MATH, True),  # of no integer, but of a real number
        ("f64(n + m)", "f64(n) + f64(m)", Meaning.WRAP, False),
        ("max(f64(u), -1.0)", "f64(u)", Meaning.MATH, True),
        ("max(f64(n), -1.0)", "f64(n)", Meaning.MATH, False),
    ],
)
def test_integers_that_become_floats_are_reals_where_nothing_overflows(
    left: str, right: str, meaning: Meaning, proved: bool
) -> None:
    types = {"a": F64, "n": I32, "m": I32, "u": U8, "v": U8}
    sides = (parse_expr(left, types, F64),), (parse_expr(right, types, F64),)
    assert isinstance(prove_equal(*sides, meaning=meaning), Proven) == proved


def test_reals_stand_for_integers_that_are_added_multiplied_and_compared() -> None:
    types = {"x": F32, "n": U32}
    of = {text: as_reals((parse_expr(text, types, F32),)) for text in ("x + f32(n*2)", "f32(n % 2)", "x + 1.0")}
    assert of == {
        "x + f32(n*2)": (parse_expr("x + n*2.0", {"x": F64, "n": F64}, F64),),
        "f32(n % 2)": None,
        "x + 1.0": None,
    }
