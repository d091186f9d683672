"""Simplification keeps every bit; the canonical form keeps the meaning and is canonical."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rfactor.ir.simplify as simplification
from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Var, apply, variables
from rfactor.ir.graph import closures, groupings, restrict, subgraphs
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, BY_NAME, F32, I8, I32, SCALARS, U8
from tests.strategies import awkward_values, expressions

INTEGERS = [BOOL, U8, I8, I32, BY_NAME["u64"]]


def bits(array, count):
    array = np.broadcast_to(array, (count,))
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)  # the payload of a NaN is not ours
    return array.tobytes()


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SCALARS).flatmap(expressions), st.integers(0, 1000))
def test_simplify_keeps_every_bit(expr, seed):
    env = {v.name: awkward_values(v.type, 40, seed + i) for i, v in enumerate(variables(expr))}
    assert bits(evaluate(simplify(expr), env), 40) == bits(evaluate(expr, env), 40)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(INTEGERS).flatmap(lambda t: expressions(t, casts=False)), st.integers(0, 1000))
def test_canonical_form_keeps_the_meaning_of_integers_and_is_idempotent(expr, seed):
    form = canonical(expr)
    env = {v.name: awkward_values(v.type, 40, seed + i) for i, v in enumerate(variables(expr))}
    assert bits(evaluate(form, env), 40) == bits(evaluate(expr, env), 40)
    assert canonical(form) == form


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("a + x", "x0 + a"),
        ("x - 5*a", "x0 - a * 5"),
        ("2*x*a", "x0 * a * 2"),
        ("select(x < a, x, a)", "min(x0, a)"),
        ("select(x <= a, a, x)", "max(x0, a)"),
        ("max(max(min(x, a+2), x), a+2)", "max(x0, a + 2)"),
        ("-(a*x)", "-(x0 * a)"),
        ("x + a + 7*x*a", "x0 + x0 * a * 7 + a"),
        ("k + a + x", "x0 + a + k"),
        ("min(3, x, 5, x)", "min(x0, 3)"),
        ("select(not (a < b), x, 3)", "select(a < b, 3, x0)"),
    ],
)
def test_spellings_of_one_update_have_one_canonical_form(text, form):
    assert show_tuple(map(canonical, parse_update(text).components)) == form


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("(m + x*16 + y) - m", "x * 16 + y"),
        ("min(x + 3, x + 5)", "x + 3"),
        ("x < x + 1", "True"),
        ("(x*16 + y + 35) // 16", "x + 2 + (y + 3) // 16"),
        ("(x*16 + 35) % 16", "3"),
        ("min(min(x, 3), 5)", "min(x, 3)"),
        ("not (x < y)", "x >= y"),
    ],
)
def test_coordinate_arithmetic_does_not_overflow(text, short):
    types = dict.fromkeys("mxy", I32)
    assert show(simplify(parse_expr(text, types), coordinates=True)) == short


def test_without_that_promise_comparisons_of_sums_stay():
    assert show(simplify(parse_expr("x < x + 1", {"x": I32}))) == "x < x + 1"


def test_float_sums_are_not_folded_in_code():
    assert show(simplify(parse_expr("x + 0.0", {"x": F32}))) == "x + 0.0"


def test_argmin_of_two_coordinates_decomposes_into_two_argmins():
    update = parse_update("min(x0, a), select(x0 < a, x1, i), select(x0 < a, x2, j)")
    assert closures(update) == ((0,), (0, 1), (0, 2))
    assert subgraphs(update) == ((0, 1), (0, 2))
    assert show_tuple(restrict(update, (0, 2)).components) == "min(x0, a), select(x0 < a, x1, j)"


def test_matrix_rows_are_joined_only_through_shared_data():
    matrix = parse_update("x0*a + x1*c, x0*b + x1*d, x2*a + x3*c, x2*b + x3*d")
    assert list(groupings(matrix)) == [((0, 1), (2, 3)), ((0, 1, 2, 3),)]
    apart = parse_update("x0 + a, x1*b")
    assert list(groupings(apart)) == [((0,), (1,))]
    assert list(groupings(matrix, largest=3)) == [((0, 1), (2, 3))]


def test_a_long_sum_is_put_together_once(monkeypatch):
    atoms = [Var(I32, f"long{i}") for i in range(300)]
    total = atoms[0]
    for i, atom in enumerate(atoms[1:], 1):
        total = apply("+" if i % 3 else "-", total, apply("+", atom, Const(I32, i)))
    work = []
    put_together = simplification.from_linear

    def counted(type_, terms, constant):
        terms = list(terms)
        work.append(len(terms))
        return put_together(type_, terms, constant)

    monkeypatch.setattr(simplification, "from_linear", counted)
    result = simplify(total)
    env = {v.name: awkward_values(I32, 40, i) for i, v in enumerate(atoms)}
    assert bits(evaluate(result, env), 40) == bits(evaluate(total, env), 40)
    assert sum(work) < 5 * len(atoms)


@pytest.mark.parametrize(("times", "expected"), [(3, "x*8"), (31, "x*-2147483648"), (32, "0"), (500, "0")])
def test_a_sum_of_itself_is_a_product(times, expected):
    total = Var(I32, "x")
    for _ in range(times):
        total = apply("+", total, total)
    assert show(simplify(total)) == show(simplify(parse_expr(expected, {"x": I32}))) == expected.replace("*", " * ")
