"""The text of expressions: what the parser takes, refuses and infers, and that printing is its inverse."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.errors import ParseError
from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Const, Op, Var, apply, variables
from rfactor.ir.parser import parse_expr, parse_tuple, parse_update
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.types import BOOL, BY_NAME, F32, F64, I8, I32, SCALARS, U8
from tests.strategies import expressions


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(SCALARS).flatmap(expressions))
def test_printing_and_parsing_gives_the_expression_back(expr):
    types = {var.name: var.type for var in variables(expr)}
    assert parse_expr(show(expr), types, expr.type) == expr
    assert parse_expr(show(expr, known=False), types) == expr


def test_a_sign_before_a_literal_belongs_to_it():
    assert parse_expr("-128", {}, I8) == Const(I8, -128)
    with pytest.raises(ParseError, match="128 does not fit i8"):
        parse_expr("x + 128", {"x": I8})
    assert parse_expr("-(+5)", {}, I8) == Op(I8, "neg", (Const(I8, 5),))


def test_literals_take_the_type_of_their_neighbour():
    update = parse_update("select(a > 0, x, 2*x) + 1", default=U8)
    assert {node.type for node in (update.components[0],)} == {U8}
    assert parse_expr("x + 2", {"x": F32}).args[1] == Const(F32, 2.0)


def test_undeclared_names_take_the_types_of_declared_ones_they_meet():
    update = parse_update("min(x0, a), select(x0 < a, x1, i)", types={"x0": U8, "i": I32})
    assert update.types == (U8, I32)
    assert [(v.name, v.type) for v in update.data] == [("a", U8), ("i", I32)]


def test_a_cast_does_not_change_the_type_of_undeclared_names():
    with pytest.raises(ParseError, match="i32 and u8 do not mix without a cast"):
        parse_update("x + u8(a)")


def test_names_used_as_conditions_are_bool():
    assert parse_update("select(b, x + a, x)").data[0].type == BOOL
    with pytest.raises(ParseError, match="condition must be bool"):
        parse_update("select(x, a, x)")


def test_an_accumulator_that_is_a_condition_and_becomes_one_is_bool():
    assert parse_update("x and a").types == (BOOL,)
    assert parse_update("x0 + a, not x1").types == (I32, BOOL)
    with pytest.raises(ParseError, match="do not mix"):
        parse_update("x > a")


def test_x_is_the_first_accumulator_and_k_names_are_constants():
    update = parse_update("x*k + a*k1 + c", constants={"c"})
    assert [v.name for v in update.accumulators] == ["x0"]
    assert update.constants == {"k", "k1", "c"}
    assert [v.name for v in update.data] == ["a"]


def test_chained_comparisons_conditionals_and_many_armed_minima():
    types = dict.fromkeys("abc", I32)
    assert parse_expr("a < b < c", types) == apply("and", parse_expr("a < b", types), parse_expr("b < c", types))
    assert parse_expr("a if b < c else b", types) == parse_expr("select(b < c, a, b)", types)
    assert parse_expr("min(a, b, c)", types) == parse_expr("min(min(a, b), c)", types)


def test_clamp_between_ends_that_cross_gives_the_low_one_as_in_the_language_of_pipelines():
    types = dict.fromkeys(("v", "low", "high"), I32)
    clamped = parse_expr("clamp(v, low, high)", types)
    assert clamped == parse_expr("max(min(v, high), low)", types)
    assert clamped == hl.clamp(*(hl.Var(name) for name in types)).node
    env = {"v": np.array([5, 20, -3]), "low": np.array([10, 10, 10]), "high": np.array([0, 0, 0])}
    assert evaluate(clamped, env).tolist() == [10, 10, 10]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty text"),
        ("x +", "up to its end"),
        ("x + + ) a", "column 7"),
        ("x.y", "a name after a dot is not part"),
        ("x ** 2", "a power is written as a product"),
        ("x > 0 && a > 0", "&& is written and, in: x > 0 && a > 0"),
        ("x || a", r"\|\| is written or"),
        ("!x", "! is written not"),
        ("x != a && b", "^not an expression: && is written and"),
        ("x > 0 ? a : b", "written a if c else b"),
        ("x <> a", "<> is written !="),
        ("x + (lambda: 3)", "a function is not part"),
        ("(x := a)", "an assignment is not part"),
        ("[x, a]", "a list is not part"),
        ("0 < a < x", "as in i32\\(…\\), which is 1 where a condition holds"),
        ("x += a", "without an assignment: x \\+ a"),
        ("x0, x1 = x0 + a, x1", "without an assignment: x0 \\+ a, x1"),
        ("x **= 2", "without an assignment$"),
        ("x0, x1 += 3", "without an assignment$"),
        ("x +=", "without an assignment$"),
        ("x +" + " " * 60_000 + "!", "not an expression"),
        ("np.maximum(x, a)", "as in max"),
        ("where(a > 0, x, a)", "write select"),
        ("int8(x)", "write i8"),
        ("__import__('os')", "unknown function '__import__'"),
        ("open('f')", "unknown function 'open'"),
        ("(lambda: x)()", "a call is of a name"),
        ("min(x)", "two arguments or more"),
        ("abs(x, a)", "abs takes 1 argument, 2 given"),
        ("x / a", "write // for integers"),
        ("x + 1.5", "1.5 is a float where i32 is needed"),
        ("x + True", "do not mix without a cast"),
        ("x + x1", "x1 is an accumulator, but the update has 1 component"),
        ("(x, a), x1", "a tuple inside an expression"),
        ("x < a", "do not mix"),
        ("()", "needs a component"),
        ("x + 99999999999", "does not fit i32, whose range is -2147483648 to 2147483647"),
        ("x is a", "comparisons are <, <="),
        ("x + 'a'", "a literal is"),
        ("exp(x)", "exp takes floats, not i32"),
        ("x[0]", "an index in brackets is not part"),
        ("min(*x)", "starred"),
        ("x + " + "(" * 500 + "a" + ")" * 500, "not an expression"),
        ("x" + " + -(a" * 600 + ")" * 600, "nested"),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_a_reason(text, says):
    with pytest.raises(ParseError, match=says):
        parse_update(text)


def test_unknown_names_are_listed_against_the_known_ones():
    with pytest.raises(ParseError, match="unknown name 'z'; names here are x0, y0"):
        parse_tuple("x0 + z", {"x0": I32, "y0": I32})


def test_the_truth_values_of_other_languages_are_no_data_unless_they_are_declared():
    with pytest.raises(ParseError, match="write False"):
        parse_update("select(x > a, false, x0)", BOOL)
    assert parse_update("x or true", BOOL, {"true": BOOL}).data == (Var(BOOL, "true"),)


def test_floats_print_shortest_and_infinities_by_name():
    assert show_tuple(parse_tuple("0.1, -inf, inf", {}, [F32] * 3)) == "0.1, -inf, inf"
    assert parse_expr("max(x, -inf)", {"x": BY_NAME["f64"]}).args[1] == Const(BY_NAME["f64"], float("-inf"))


def test_functions_of_others_are_read_by_what_they_mean():
    x = np.linspace(0.25, 3.0, 12)
    for name, meant in (("exp2", np.exp2), ("expm1", np.expm1), ("log1p", np.log1p), ("log2", np.log2)):
        assert np.allclose(evaluate(parse_expr(f"{name}(x)", {"x": F64}, F64), {"x": x}), meant(x), rtol=1e-14)
        with pytest.raises(ParseError, match=f"{name} takes floats"):
            parse_expr(f"{name}(i)", {"i": I32}, I32)
        with pytest.raises(ParseError, match=f"{name} takes 1 argument"):
            parse_expr(f"{name}(x, x)", {"x": F64}, F64)


@pytest.mark.parametrize("type_", ["u8", "i8"])
def test_functions_of_pipelines_mean_the_same_in_text(type_: str) -> None:
    own = BY_NAME[type_]
    low, high = int(own.min), int(own.max)
    a, b = (grid.ravel() for grid in np.meshgrid(*[np.arange(low, high + 1, dtype=dtype_of(own))] * 2))
    wide = a.astype(np.int32), b.astype(np.int32)
    for name, meant in (
        ("saturating_add", np.clip(wide[0] + wide[1], low, high)),
        ("saturating_sub", np.clip(wide[0] - wide[1], low, high)),
        ("halving_add", (wide[0] + wide[1]) >> 1),
        ("rounding_halving_add", (wide[0] + wide[1] + 1) >> 1),
        ("halving_sub", (wide[0] - wide[1]) >> 1),
    ):
        found = evaluate(parse_expr(f"{name}(a, b)", {"a": own, "b": own}, own), {"a": a, "b": b})
        assert (found == meant.astype(dtype_of(own))).all(), name
        with pytest.raises(ParseError, match=f"{name} takes integers"):
            parse_expr(f"{name}(x, x)", {"x": F64}, F64)
    three, four = np.array([3.0]), np.array([4.0])
    assert evaluate(parse_expr("hypot(x, y)", {"x": F64, "y": F64}, F64), {"x": three, "y": four}) == [5.0]


def test_a_tree_that_python_gives_up_on_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    parse, calls = ast.parse, list[str]()

    def once_in_vain(text: str, mode: str) -> ast.AST:
        calls.append(text)
        if len(calls) == 1:
            raise SystemError("AST constructor recursion depth mismatch")
        return parse(text, "<text>", mode)

    monkeypatch.setattr(ast, "parse", once_in_vain)
    assert str(parse_expr("x + 1", {"x": I32})) == "x + 1"
    assert len(calls) == 2
