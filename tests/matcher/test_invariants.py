"""Loop invariants from the start: what is inferred, what is assumed, and that neither is believed without proof."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rfactor
from rfactor.cli.check import check as command
from rfactor.errors import ParseError
from rfactor.ir.evaluate import as_array, evaluate_all, to_value
from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.types import BOOL, F32, I8, I32, I64, U8, Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.matcher.invariants.inductive import Simplification, Unproved, prove
from rfactor.matcher.invariants.infer import infer
from rfactor.matcher.invariants.recognize_from import recognize_assuming, recognize_from
from rfactor.matcher.invariants.simplify import simplify_under
from rfactor.matcher.invariants.stated import read_assumed, read_start
from rfactor.matcher.obligations import obligations_of
from rfactor.prover.limits import Limits

EITHER = "select(a < x0, a, x0), select(a < x0, x1, select(a > x1, a, x1))"
"""`if a < lo: lo = a elif a > hi: hi = a`"""
STRETCH = (
    "select(x0 + a <= 0, 0, x0 + a), select(x0 + a <= 0, x1, select(x0 + a > x1, x0 + a, x1)), "
    "select(x0 + a <= 0, i + 1, x2), select(x0 + a <= 0, x3, select(x0 + a > x1, x2, x3)), "
    "select(x0 + a <= 0, x4, select(x0 + a > x1, i + 1, x4))"
)
"""The best segment with its ends: cur, best, start, lo, hi."""
INDICES = {"x2": I64, "x3": I64, "x4": I64, "i": I64}


def update_of(text: str, type_: Type = I32, meaning: str = "wrap", **types: Type) -> Update:
    return parse_update(text, type_, types, (), Meaning(meaning))


def from_start(text: str, start: str, type_: Type = I32, meaning: str = "wrap", **types: Type) -> tuple[Answer, str]:
    update = update_of(text, type_, meaning, **types)
    answer, invariants, simplified = recognize_from(update, read_start(start, update))
    assert answer.update == simplified
    assert (simplified == update) == (answer.from_start is None) == (not invariants)
    return answer, show_tuple(invariants)


# What is inferred.


@pytest.mark.parametrize(
    ("text", "start", "types", "invariants"),
    [
        (EITHER, "s, s", {}, {"x0 <= x1", "x0 <= s", "s <= x1"}),
        (EITHER, "5, 3", {}, {"x0 <= 5", "3 <= x1", "0 <= x1"}),
        (EITHER, "_, _", {}, set()),
        ("True, select(x0, min(x1, a), a), select(x0, max(x2, a), a)", "False, _, _", {}, {"not x0 or x1 <= x2"}),
        ("max(x0, a), x1 + select(a > x0, 1, 0)", "7, 0", {}, {"7 <= x0", "0 <= x0"}),
        ("x0 or c, select(x0, x1, select(c, i, x1))", "False, -1", {"x0": BOOL}, {"x0 or x1 == -1"}),
        ("x0, x1 + a", "5, 0", {}, {"x0 == 5"}),
        ("x0 + a, x1 + a", "k, k", {}, {"x0 == x1"}),
    ],
)  # fmt: skip
def test_what_is_inferred(text, start, types, invariants):
    update = update_of(text, **types)
    found = {show(e) for e in infer(update, read_start(start, update))}
    assert invariants <= found
    assert bool(found) == bool(invariants)


def test_a_counter_may_wrap_and_may_not_where_integers_are_unbounded():
    for meaning, expected in (("wrap", set()), ("math", {"0 <= x0"})):
        update = update_of("x0 + 1", I32, meaning)
        assert {show(e) for e in infer(update, read_start("0", update))} == expected


GENERATED = [
    f"{first}, {second}"
    for first in ("select(a < x0, a, x0)", "max(x0, a)", "x0 + 1", "x0", "select(x0 < 3, x0 + 1, x0)")
    for second in ("select(a < x0, x1, select(a > x1, a, x1))", "select(x0 > x1, x0, x1)", "x1 + x0", "max(x1, x0)")
]


@pytest.mark.parametrize("type_", [I8, U8], ids=str)
@pytest.mark.parametrize("text", GENERATED)
def test_no_run_leaves_what_is_inferred_nor_differs_from_what_is_simplified(text, type_):
    """By exhaustion: all states that satisfy the invariants, all data of a narrow type that are near or at its ends."""
    update = update_of(text, type_)
    for start in itertools.product((0, 1, 3, None), repeat=2):
        given = tuple(None if v is None else const(type_, v) for v in start)
        found = infer(update, given)
        simple = simplify_under(update, found)
        values = np.array([int(type_.min), int(type_.min) + 1, -2, -1, 0, 1, 2, 3, 4, 7, int(type_.max) - 1,
                           int(type_.max)])  # fmt: skip
        values = np.unique(values.clip(int(type_.min), int(type_.max)))
        grid = np.meshgrid(values, values, values)
        env = {name: as_array(type_, part.ravel()) for name, part in zip(("x0", "x1", "a"), grid, strict=True)}
        allowed = np.ones(env["a"].shape, bool)
        for condition in evaluate_all(found, env):
            allowed &= condition
        before, after = (list(evaluate_all(u.components, env)) for u in (update, simple))
        for one, other in zip(before, after, strict=True):
            assert np.all((one == other) | ~allowed)
        later = env | {f"x{i}": np.broadcast_to(value, allowed.shape) for i, value in enumerate(before)}
        for condition in evaluate_all(found, later):
            assert np.all(condition | ~allowed)


# What it leaves.


@pytest.mark.parametrize(
    ("text", "assumed", "left"),
    [
        (EITHER, "x0 <= x1", "min(x0, a), max(x1, a)"),
        (EITHER, "x0 <= 7", None),
        ("select(x0 < 0, a*a, x0 + a)", "x0 >= 0", "x0 + a"),
        ("select(x0 < 0, a*a, x0 + a)", "x0 >= -1", None),
        ("select(x0 == 5, a, x1), x1", "x0 == 5", "a, x1"),
        ("x0 + x1, x0 + a", "x0 == x1", "x0 * 2, x0 + a"),
        ("max(max(x0, a), x1), x1", "x1 <= x0", "max(x0, a), x1"),
    ],
)
def test_what_an_invariant_leaves_of_an_update(text, assumed, left):
    update = update_of(text)
    simple = simplify_under(update, read_assumed(assumed, update))
    assert (show_tuple(simple.components) if simple != update else None) == left


def test_choices_of_floats_stay_choices():
    update = update_of(EITHER, F32)
    simple = simplify_under(update, read_assumed("x0 <= x1", update))
    assert show_tuple(simple.components) == "select(a < x0, a, x0), select(a > x1, a, x1)"


# Answers.


@pytest.mark.parametrize("type_", [I8, I32, I64, F32], ids=str)
def test_the_least_and_the_greatest_by_one_comparison_or_the_other(type_):
    answer, invariants = from_start(EITHER, "s, s", type_)
    assert answer.verdict == "associative"
    assert invariants == "x0 <= x1"
    assert {p.claim for p in answer.from_start.proofs} == {"initial", "inductive", "simplified"}
    assert answer.assumes == ()


def test_from_a_start_that_crosses_there_is_none():
    answer, invariants = from_start(EITHER, "inf, -inf", F32)
    assert (answer.verdict, invariants) == ("unknown", "")
    update = update_of(EITHER)
    assert recognize_from(update, (None, None), Limits(seconds=3.0))[0].verdict == "unknown"


@pytest.mark.parametrize(
    ("type_", "meaning", "types"),
    [(I64, "math", {}), (I32, "math", {}), (F32, "wrap", INDICES), (I32, "math", INDICES)],
)
def test_the_best_segment_with_its_ends_has_a_lifting(type_, meaning, types):
    answer, invariants = from_start(STRETCH, "0, 0, 0, 0, 0", type_, meaning, **types)
    assert answer.verdict == "lifted"
    assert invariants in ("0 <= x1", "0.0 <= x1")
    assert obligations_of(answer, Limits(seconds=10.0))


def test_the_best_segment_wraps():
    answer, invariants = from_start(STRETCH, "0, 0, 0, 0, 0")
    assert answer.verdict == "not_associative"
    assert invariants == ""


def test_what_has_an_operator_as_it_is_needs_no_invariant():
    for text in ("min(x0, a), max(x1, a)", "x0 + a, select(x0 < 0, x1, x1)"):
        answer, invariants = from_start(text, "0, 0")
        assert answer.verdict == "associative"
        assert invariants == ""


def run(update: Update, state: list[Any], data: list[dict[str, Any]]) -> list[Any]:
    types = {var.name: var.type for var in update.data} | {x.name: x.type for x in update.accumulators}
    for one in data:
        env = {n: as_array(types[n], [v], update.meaning) for n, v in one.items() if n in types}
        env |= {f"x{i}": as_array(types[f"x{i}"], [v], update.meaning) for i, v in enumerate(state)}
        state = [to_value(np.ravel(v)[0]) for v in evaluate_all(update.components, env, update.meaning)]
    return state


@pytest.mark.parametrize("seed", range(6))
def test_chunks_merge_to_the_serial_run(seed):
    """Chunks in any state, by the lifting of what is left, end where the loop as it was written does."""
    update = update_of(STRETCH, I64, "math")
    answer, _, _ = recognize_from(update, read_start("0, 0, 0, 0, 0", update))
    random, lift = np.random.default_rng(seed), answer.lift
    assert lift is not None
    data = [{"a": int(a), "i": i} for i, a in enumerate(random.integers(-9, 10, 40))]
    state: list[Any] = [0] * 5
    for chunk in np.array_split(np.arange(len(data)), 5):
        parts = [run_tuple(lift.data, data[i], update) for i in chunk]
        summary = parts[0]
        for part in parts[1:]:
            pair = {f"x{i}": v for i, v in enumerate(summary)} | {f"y{i}": v for i, v in enumerate(part)}
            summary = run_tuple(lift.operator, pair, update)
        pair = {f"x{i}": v for i, v in enumerate(state)} | {f"y{i}": v for i, v in enumerate(summary)}
        state = run_tuple(lift.apply, pair, update)
    assert state == run(update, [0] * 5, data)


def run_tuple(exprs: tuple[Expr, ...], env: dict[str, Any], update: Update) -> list[Any]:
    arrays = {n: np.array([v], dtype=object) for n, v in env.items()}
    arrays = {n: v.astype(bool) if isinstance(v[0], bool) else v for n, v in arrays.items()}
    return [to_value(np.ravel(v)[0]) for v in evaluate_all(exprs, arrays, update.meaning)]


# Assumptions.


def test_what_is_assumed_without_a_start_is_told():
    answer = rfactor.check(EITHER, assume="x0 <= x1")
    assert answer.verdict == "associative"
    assert [show(e) for e in answer.assumes] == ["x0 <= x1"]
    assert answer.assumed_of_data == ()
    assert answer.from_start.promised
    started = rfactor.check(EITHER, assume="x0 <= x1", start="0, 0")
    assert started.assumes == ()
    assert not started.from_start.promised


@pytest.mark.parametrize(
    ("text", "assumed", "start", "reason"),
    [
        (EITHER, "x0 >= 0", None, "no loop invariant"),
        (EITHER, "x0 <= x1", "1, 0", "does not hold at the start"),
        (EITHER, "x0 <= x1", "k, k0", "does not hold at the start"),
        (EITHER, "x0 <= x1, x1 <= 9", "0, 0", "x1 <= 9 is no loop invariant"),
        ("x0 + 1", "x0 >= 0", "0", "no loop invariant"),
        ("select(x0 >= 0.0, x0 + a, 0.0)", "x0 >= 0.0", None, "no loop invariant"),
    ],
)
def test_what_is_no_loop_invariant_is_refused_with_values(text, assumed, start, reason):
    answer = rfactor.check(text, type="f32" if "0.0" in text else "i32", assume=assumed, start=start)
    assert answer.verdict == "unknown"
    assert reason in (answer.reason or "")
    assert answer.from_start is None
    if "no loop" in reason:
        assert answer.counterexample


def test_what_rounding_may_break_is_no_invariant():
    """Equal sums of reals are not equal as floats."""
    text = "(x0 + a) + b, x1 + (a + b), select(x0 == x1, x2 + 1, x2*x2 + i)"
    types = {"x2": "i32", "i": "i32"}
    answer = rfactor.check(text, type="f32", types=types, assume="x0 == x1")
    assert answer.verdict == "unknown"
    assert "not proved" in (answer.reason or "") or "no loop invariant" in (answer.reason or "")
    assert rfactor.check(text, semantics="math", assume="x0 == x1").verdict != "not_associative"


def test_invariants_may_speak_of_constants_of_the_start():
    assert rfactor.check(EITHER, assume="x0 <= s, s <= x1", start="s, s").verdict == "associative"
    assert rfactor.check(EITHER, assume="x0 <= s, s <= x1", start="s, s - 1").verdict == "unknown"
    assert rfactor.check("select(x < k, a*a, max(x, a))", assume="x >= k").verdict == "associative"


def test_a_constant_that_is_assumed_is_told_even_with_a_start():
    answer = rfactor.check("select(k > 0, max(x0, a), x0*a + i)", assume="k > 0, x0 >= 0", start="0")
    assert answer.verdict == "associative"
    assert [show(e) for e in answer.assumes] == ["k > 0"]


def test_data_are_no_part_of_invariants_or_starts():
    update = update_of(EITHER)
    a = Var(I32, "a")
    for wrong in (
        lambda: infer(update, (a, a)),
        lambda: simplify_under(update, (apply("<=", Var(I32, "x0"), a),)),
        lambda: recognize_from(update, (a, a)),
        lambda: recognize_from(update, (Var(I32, "x1"), None)),
        lambda: prove(Simplification(update, update, (apply("<=", Var(I32, "x0"), a),), None), Limits()),
    ):
        with pytest.raises(ValueError, match=r"data of an iteration|accumulators"):
            wrong()
    for stated in ({"assume": "x0 <= a"}, {"start": "a, a"}, {"start": "x1, 0"}, {"start": "0"}, {"assume": "x0 + 1"},
                   {"assume": "x7 > 0"}, {"start": [True, 0]}, {"start": "0.5, 1"}):  # fmt: skip
        with pytest.raises(ParseError):
            rfactor.check(EITHER, **stated)


def test_a_false_simplification_is_not_proved():
    update = update_of(EITHER)
    wrong = update_of("min(x0, a), max(x1, a)")
    invariant = parse_expr("x0 <= x1", {"x0": I32, "x1": I32}, BOOL)
    limits = Limits(seconds=3.0)
    unproved = prove(Simplification(update, wrong, (), None), limits)
    assert isinstance(unproved, Unproved)
    assert unproved.claim == "simplified"
    assert not isinstance(prove(Simplification(update, wrong, (invariant,), None), limits), Unproved)
    assert recognize_assuming(update, (invariant,), None, limits).verdict == "associative"


# The command.


def object_of(*arguments: str, text: str | None = None) -> dict[str, Any]:
    result = CliRunner().invoke(command, [*arguments, "--json"], standalone_mode=False, input=text)
    assert result.exception is None
    found: dict[str, Any] = json.loads(result.output)
    return found


def test_the_object_has_the_invariants_and_what_they_leave():
    found = object_of(EITHER, "--start", "s, s")
    assert found["update"] == EITHER
    assert found["loop_invariant"] == ["x0 <= x1"]
    assert found["simplified"] == ["min(x0, a)", "max(x1, a)"]
    assert {"initial", "inductive", "simplified"} <= {proof["claim"] for proof in found["proofs"]}
    assert object_of(EITHER, "--assume", "x0 <= x1")["assumes"] == ["x0 <= x1"]
    assert "loop_invariant" not in object_of("x + a", "--start", "0")


def test_obligations_of_invariants_are_written_and_hold(tmp_path):
    import z3

    CliRunner().invoke(command, [EITHER, "--start", "s, s", "--emit-smt2", str(tmp_path)], standalone_mode=False)
    names = sorted(path.stem[3:] for path in tmp_path.iterdir())
    assert {"initial", "inductive", "simplified", "step", "associative"} <= set(names)
    for path in tmp_path.iterdir():
        solver = z3.Solver()
        solver.from_string(path.read_text())
        assert solver.check() == z3.unsat, path.name


def test_lines_of_a_batch_have_starts_and_assumptions():
    lines = [{"start": [0, 0]}, {"start": "s, s"}, {"assume": ["x0 <= x1"]}, {"start": 3}]
    text = "\n".join(json.dumps({"update": EITHER} | line) for line in lines)
    result = CliRunner().invoke(command, ["--batch", "-", "--json"], standalone_mode=False, input=text)
    first, second, third, bad = map(json.loads, result.output.splitlines())
    assert first["verdict"] == second["verdict"] == third["verdict"] == "associative"
    assert third["assumes"] == ["x0 <= x1"]
    assert "start is" in bad["error"]
