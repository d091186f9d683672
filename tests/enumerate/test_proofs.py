"""What is proved of a survivor, and what is not."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.enumerate.circle import NotLinear, on_circle, over_reals
from rfactor.enumerate.groups import groups
from rfactor.enumerate.prove import Outcome, mirror_row, prove
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Var, apply, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BY_NAME, F32, I8, I32, U8, Type
from rfactor.native.lanes import CODE
from rfactor.prover.equality import prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven
from tests.enumerate.test_search import as_programs

X0, X1, Y0, Y1, K = range(5)


def outcome(
    trees: list[tuple[int, ...]], types: str, meaning: Meaning = Meaning.WRAP, *, need: bool = False
) -> Outcome:
    (group,) = groups([BY_NAME[name] for name in types.split(",")], [meaning])
    return prove(group, tuple(as_programs(trees)), group.all_types, 0, need_identity=need)


def the_row(trees: list[tuple[int, ...]], types: str, meaning: Meaning = Meaning.WRAP) -> dict:
    (row,) = outcome(trees, types, meaning).rows
    return row


MIN, MAX, ADD, SUB, MUL, LESS = (CODE[op] for op in ("min", "max", "+", "-", "*", "<"))


def test_one_row_speaks_of_every_width():
    row = the_row([(X0, Y0, MIN)], "i8,i16,i32,i64")
    assert (row["types"], row["identity"], row["identity_kind"], row["commutative"]) == (
        "signed",
        "MAX",
        "two-sided",
        1,
    )


def test_polynomials_are_proved_by_normal_form():
    row = the_row([(X0, Y0, ADD, X0, Y0, MUL, K, MUL, ADD)], "u8,u32")
    assert (row["types"], row["method"], row["identity"]) == ("u8|u32", "normal_form", "0")


def test_what_is_false_gives_no_row():
    assert outcome([(X0, Y0, SUB)], "i32").rows == []
    assert outcome([(X0, Y0, SUB)], "i32").refuted == 1


def test_an_operator_without_identity_is_counted_where_one_is_needed():
    assert outcome([(X0, Y0, MUL, K, MUL)], "i32").rows[0]["identity_kind"] == "none"
    needed = outcome([(X0, Y0, MUL, K, MUL)], "i32", need=True)
    assert needed.rows == []
    assert needed.without_identity == 1


def test_identities_over_k():
    assert the_row([(X0, Y0, ADD, K, ADD, K, ADD)], "i32")["identity"] == "-k * 2"
    assert the_row([(X0, K, SUB, Y0, ADD)], "u8")["identity"] == "k"


def test_one_half_is_the_identity_of_doubled_products_of_reals_alone():
    doubled = [(X0, Y0, MUL, X0, Y0, MUL, ADD)]
    assert the_row(doubled, "f32")["identity"] == "0.5"
    assert the_row(doubled, "i32")["identity_kind"] == "none"


def test_clamp_then_min_has_a_left_identity_alone_and_its_mirror_a_right_one():
    row = the_row([(X0, K, MAX, Y0, MIN)], "i32")
    assert (row["identity"], row["right_identity"], row["identity_kind"], row["commutative"]) == (
        "MAX",
        None,
        "left",
        0,
    )
    (group,) = groups([I32], [Meaning.WRAP])
    back = mirror_row(row, group)
    assert back["operator"] == "min(x0, max(y0, k))"
    assert (back["identity"], back["right_identity"], back["identity_kind"]) == (None, "MAX", "right")


def test_argmin_is_open_in_its_payload_and_ties_decide_its_identity():
    strict = [(X0, Y0, MIN), (X0, Y0, X1, Y1, LESS)]
    row = the_row(strict, "u8,u16,u32,u64")
    assert (row["types"], row["identity_kind"], row["commutative"]) == ("unsigned,*", "left", 0)
    loose = the_row([(X0, Y0, MIN), (Y0, X0, Y1, X1, LESS)], "i32")
    assert (loose["types"], loose["identity_kind"]) == ("i32,*", "right")


def test_a_payload_that_is_computed_with_is_not_open():
    # (sum, sum of products so far): x1 + y1 + x0 * y0
    row = the_row([(X0, Y0, ADD), (X1, Y1, ADD, X0, Y0, MUL, ADD)], "i32")
    assert row["types"] == "i32,i32"


@pytest.mark.parametrize(
    ("types", "meaning", "rows"), [("i32", Meaning.MATH, 1), ("i32", Meaning.WRAP, 0), ("f32", Meaning.WRAP, 1)]
)
def test_sum_with_largest_prefix_sum_needs_unbounded_arithmetic(types: str, meaning: Meaning, rows: int):
    found = outcome([(X0, Y0, ADD), (X1, X0, Y1, ADD, MAX)], types, meaning)
    assert len(found.rows) == rows
    if rows:
        assert found.rows[0]["identity"] == "0, MIN"


def test_a_witness_against_commutativity_names_every_variable():
    row = the_row([(X0, K, MAX, Y0, MIN)], "i8,i64")
    (witness,) = [p["witness"] for p in json.loads(row["proofs"]) if p["claim"] == "not_commutative"]
    assert set(witness) == {"x0", "y0", "k"}
    for type_ in (I8, BY_NAME["i64"]):
        tree = parse_expr(row["operator"], dict.fromkeys(("x0", "y0", "k"), type_), type_)
        env = {name: np.array([value], f"i{type_.bits // 8}") for name, value in witness.items()}
        turned = env | {"x0": env["y0"], "y0": env["x0"]}
        assert evaluate(tree, env) != evaluate(tree, turned)


def test_truth_values():
    both = the_row([(X0, Y0, CODE["&"])], "bool")
    assert (both["operator"], both["identity"], both["commutative"]) == ("x0 and y0", "1", 1)


# The circle.


def linear(type_: Type) -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([Var(type_, "a"), Var(type_, "b")])

    def extend(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        binary = st.builds(apply, st.sampled_from(["+", "-", "min", "max"]), children, children)
        condition = st.builds(apply, st.sampled_from(["<", "=="]), children, children)
        return binary | st.builds(select, condition, children, children)

    return st.recursive(leaves, extend, max_leaves=5)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from([I8, U8]))
def test_what_holds_on_the_circle_holds_for_every_value_of_8_bits(data: st.DataObject, type_: Type):
    left, right = data.draw(linear(type_)), data.draw(linear(type_))
    (one, other), ranges = on_circle([left, right])
    every = np.arange(256, dtype=np.uint8).view(f"{type_.code[0]}1")
    env = {"a": np.repeat(every, 256), "b": np.tile(every, 256)}
    equal = np.array_equal(
        np.broadcast_to(evaluate(left, env, Meaning.WRAP), (65536,)),
        np.broadcast_to(evaluate(right, env, Meaning.WRAP), (65536,)),
    )
    verdict = prove_equal((one,), (other,), assumptions=ranges, limits=Limits(rlimit=1_000_000))
    if isinstance(verdict, Proven):
        assert equal, (left, right)


def test_overflow_counts_on_the_circle():
    kinds = dict.fromkeys("abk", I32)
    for text, holds in (("min(a + k, b + k)", False), ("a + k - k", True)):
        left = parse_expr(text, kinds, I32)
        right = parse_expr("min(a, b) + k" if "min" in text else "a", kinds, I32)
        (one, other), ranges = on_circle([left, right])
        assert isinstance(prove_equal((one,), (other,), assumptions=ranges), Proven) is holds


def test_products_are_not_of_the_circle():
    with pytest.raises(NotLinear):
        on_circle([parse_expr("a * b", {"a": I32, "b": I32}, I32)])


def test_unsigned_variables_are_not_negative_over_the_reals():
    left = parse_expr("max(a, a + b)", {"a": U8, "b": U8}, U8)
    right = parse_expr("a + b", {"a": U8, "b": U8}, U8)
    (one, other), ranges = over_reals([left, right])
    assert isinstance(prove_equal((one,), (other,), assumptions=ranges), Proven)
    assert not isinstance(prove_equal((one,), (other,)), Proven)
    assert F32.is_float
