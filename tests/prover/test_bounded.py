"""Claims that cannot overflow are proved as claims about integers, others are not."""

from __future__ import annotations

import random

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, apply, names, select, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F32, I8, I16, I64
from rfactor.prover.bounded import with_amounts, without_overflow
from rfactor.prover.equality import prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Refuted

FLAG = Var(BOOL, "c")
TYPES = {"x": I8, "a": I8, "v": I16, "w": I16}


def test_a_sum_of_widened_bytes_cannot_overflow() -> None:
    assert without_overflow([parse_expr("i16(x) + i16(a)", TYPES)], ()) is not None


def test_a_sum_of_bytes_can_overflow() -> None:
    assert without_overflow([parse_expr("x + a", TYPES)], ()) is None
    left, right = (parse_expr(t, TYPES) for t in ("max(x, a) + 1", "max(x + 1, a + 1)"))
    assert isinstance(prove_equal((left,), (right,)), Refuted)


def test_a_narrowing_that_loses_bits_is_not_taken_for_the_value() -> None:
    assert without_overflow([parse_expr("i8(i16(x) + i16(a))", TYPES)], ()) is None
    assert without_overflow([parse_expr("i8(min(max(i16(x) + i16(a), -128), 127))", TYPES)], ()) is not None


def test_assumed_ranges_count_and_so_do_those_that_come_through_another_variable() -> None:
    assumed = tuple(parse_expr(t, TYPES, BOOL) for t in ("-100 <= v", "v <= w", "w <= 100"))
    total = parse_expr("v + w", TYPES)
    assert without_overflow([total], assumed) is not None
    assert without_overflow([total], assumed[:2]) is None
    left, right = (parse_expr(t, TYPES) for t in ("max(v, w) + 50", "max(v + 50, w + 50)"))
    assert isinstance(prove_equal((left,), (right,), assumptions=assumed), Proven)


def test_what_overflows_inside_a_clamp_is_some_value_within_it() -> None:
    clamped = parse_expr("max(min(v + w, 100), -100)", TYPES)
    found = without_overflow([parse_expr("max(min(v + w, 100), -100) + v // 2", TYPES)], ())
    assert found is not None
    assert not any("w" in names(e) for e in found.exprs)
    assert without_overflow([parse_expr("max(min(v + w, 100), -100) + v", TYPES)], ()) is None
    # Beside one literal it may be anything that the type has on the other side.
    assert without_overflow([parse_expr("min(v + w, 100) + 1", TYPES)], ()) is not None
    assert without_overflow([parse_expr("min(v + w, 100) - 1", TYPES)], ()) is None
    assert without_overflow([parse_expr("max(v + w, 100) - 1", TYPES)], ()) is not None
    assert without_overflow([parse_expr("max(v + w, 100) + 1", TYPES)], ()) is None
    one, other = parse_expr("max(min(v - w, 100), -100)", TYPES), clamped
    assert not isinstance(prove_equal((one,), (other,)), Proven)


def test_a_claim_about_clamps_of_what_wraps_is_proved_for_each_choice() -> None:
    types = TYPES | {"c": BOOL, "d": BOOL}
    left = parse_expr("select(c, min(max(min(v + w, 100), 0) + 50, 120), w)", types)
    right = parse_expr("select(c, max(min(min(max(v + w, 0), 100) + 50, 120), 50), w)", types)
    assert isinstance(prove_equal((left,), (right,)), Proven)
    wrong = parse_expr("select(c, max(min(v + w + 50, 120), 50), w)", types)  # the sum may wrap
    assert isinstance(prove_equal((left,), (wrong,)), Refuted)


def test_a_branch_is_read_where_it_is_chosen() -> None:
    types = TYPES | {"c": BOOL}
    for text in (
        "select(v > 0, v - 1, 0)",
        "select(v <= 0, 0, v - 1)",
        "select(c and not (0 >= v), v - 1, 0)",
        "select(v == 3, v - 4, 7)",
        "select(v < -5 or 5 < v, 1, v + w // 2)",
        "select(c, select(v < 7, v + 1, v), 0)",
    ):
        assert without_overflow([parse_expr(text, types)], ()) is not None, text
    for text in (
        "select(v > 0, 0, v - 1)",
        "select(v >= 0, v - 1, 0) + select(v > 0, 0, v - 1)",
        "select(c or v > 0, v - 1, 0)",
        "select(v != 3, v - 4, 7)",
        "select(v > 0, v - 1, 0) + (v - 1)",  # the same difference where nothing is known of v
        "select(v < 7, v + 1, v) + select(c, v + 1, v)",
    ):
        assert without_overflow([parse_expr(text, types)], ()) is None, text
    one, other = (parse_expr(t, types) for t in ("select(v > 0, v - 1, 0)", "max(v, 1) - 1"))
    assert isinstance(prove_equal((one,), (other,)), Proven)
    assert isinstance(prove_equal((parse_expr("select(v >= 0, v - 1, -1)", types),), (other,)), Refuted)


def test_what_overflows_in_both_branches_is_one_variable_and_another_part_another() -> None:
    product, rare = "(v*w) % 8", "(v*w + select(v*v*v - w*w*w*w == 9876*w + 1235, 1, 0)) % 8"
    text = f"select(v > 0, (v - 1)//2 + ({product} - {product}), {product} - {rare})"
    found = without_overflow([parse_expr(text, TYPES)], ())
    assert found is not None
    assert str(found.exprs[0]).endswith("('within 0' - 'within 0'), 'within 0' - 'within 1')")
    wide = {"v": I64, "w": I64}
    one, other = parse_expr(text, wide), parse_expr("select(v > 0, (v - 1)//2, 0)", wide)
    assert not isinstance(prove_equal((one,), (other,), limits=Limits(rlimit=100_000)), Proven)


def test_a_sum_with_what_was_left_room_for_does_not_overflow() -> None:
    given = (parse_expr("0 <= w", TYPES, BOOL),)
    for text in ("min(v, 32767 - w) + w", "w + min(v, 32767 - w)", "max(w - 1, min(v, 32767 - w) + w)"):
        assert without_overflow([parse_expr(text, TYPES)], given) is not None, text
    wrong = (
        "max(v, 32767 - w) + w",
        "min(v, 32767 - w) + w + 1",
        "min(v, 32767 - w) - w",
        "w // 2 + 2 + w // 2",
        "0 - w - w",
    )
    for text in wrong:
        assert without_overflow([parse_expr(text, TYPES)], given) is None, text


def _random(draw: random.Random, depth: int) -> Expr:
    """Sums, extrema and choices of bytes, by comparisons with literals for the most part."""
    if depth == 0 or draw.random() < 0.15:
        return Var(I8, draw.choice("vw")) if draw.random() < 0.7 else Const(I8, draw.choice((-128, 127, -1, 0, 1, 3)))
    one, other = _random(draw, depth - 1), _random(draw, depth - 1)
    kind = draw.random()
    if kind < 0.4:
        less = apply(draw.choice(("<", "<=", ">", ">=", "==", "!=")), one, Const(I8, draw.choice((-100, -1, 0, 2, 60))))
        condition = draw.choice((less, apply("not", less), apply("and", less, FLAG), apply("or", FLAG, less)))
        step = apply(draw.choice("+-"), one, Const(I8, draw.choice((1, 2, 60))))
        return select(condition, *draw.choice(((step, other), (other, step), (other, one))))
    if kind < 0.7:
        return apply(draw.choice(("min", "max")), one, other)
    room = apply("min", other, apply("-", Const(I8, 127), one)) if kind < 0.8 else other
    return apply(draw.choice("+-"), room, one)


def test_what_is_said_not_to_overflow_does_not() -> None:
    draw = random.Random(7)
    values = np.random.default_rng(7)
    env = {name: values.integers(-128, 128, 2000).astype(np.int8) for name in "vw"}
    env["c"] = values.integers(0, 2, 2000).astype(bool)
    wide = env | {name: env[name].astype(object) for name in "vw"}
    read = 0
    for _ in range(1500):
        expr = _random(draw, 3)
        found = without_overflow([expr], ())
        if found is None or not found.exact or not expr.children:
            continue
        read += 1
        machine, unbounded = evaluate(expr, env), evaluate(found.exprs[0], wide, Meaning.MATH)
        assert np.all(machine == unbounded), expr
    assert read > 100


def test_infinite_ends_of_floats_are_left_alone() -> None:
    assert without_overflow([parse_expr("f < inf", {"f": F32}, BOOL)], ()) is None


def test_amounts_that_truth_values_choose_are_read_as_any_in_their_range() -> None:
    types = {"v": I16, "c": BOOL, "d": BOOL}
    amount, more = (parse_expr(text, types) for text in ("v + select(c, 3, select(not d, -2, 0))", "select(c, 7, 1)"))
    found = with_amounts((amount, more))
    assert found is not None
    (one, other), ranges = found
    assert not any(var.type == BOOL for e in (one, other) for var in variables(e))
    assert {str(r) for r in ranges} == {"-2 <= 'amount 1'", "'amount 1' <= 3", "1 <= 'amount 0'", "'amount 0' <= 7"}
    assert with_amounts((amount, parse_expr("c", types))) is None  # what is chosen together is not any of each
    assert with_amounts((parse_expr("select(c, 3, v)", types),)) is None
    assert with_amounts((parse_expr("v + 1", types),)) is None
    left, right = (f"select(d, max(min(v + 1, 100), 0) + select(c, 3, {n}), v)" for n in (5, 4))
    sides = (parse_expr(f"max(min({left}, 100), 0)", types), parse_expr(f"max(min({right}, 100), 0)", types))
    assert isinstance(prove_equal((sides[0],), (sides[1],)), Refuted)
    assert isinstance(prove_equal((sides[0],), (simplify(sides[0]),)), Proven)


def test_a_mask_of_low_bits_is_a_remainder() -> None:
    assert without_overflow([parse_expr("(v & 127)*250", TYPES)], ()) is not None
    assert without_overflow([parse_expr("(v & 255)*250", TYPES)], ()) is None
    assert without_overflow([parse_expr("(v & 126)*250", TYPES)], ()) is None
    one, other = parse_expr("max((v & 127)*250, w) - 1", TYPES), parse_expr("(v & 127)*250 + 1", TYPES)
    assert not isinstance(prove_equal((one,), (other,)), Proven)
