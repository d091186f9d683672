"""Refusals that teach: that there is no operator is proved, with runs that show it; what has one is not refuted."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

from rfactor.ir.evaluate import as_array, evaluate
from rfactor.ir.expr import Const, const, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import F64, U8, U32, Type, parse_type
from rfactor.matcher import recognize
from rfactor.matcher.check import check
from rfactor.matcher.refusal import degrees_of_freedom, infinite_starts, made_up, made_up_words, mixed_bytes, search
from rfactor.matcher.refusal.instance import told
from rfactor.matcher.refusal.refute import first_data, refute
from rfactor.matcher.respell import respelled
from rfactor.prover.infinity import Undefined
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven

REFUTED = [
    ("x + a*x*x", "i32", "wrap"),
    ("x - x*x*a", "u32", "wrap"),
    ("x + a*x*x", "f64", "wrap"),
    ("x + a*x*x", "i32", "math"),
    ("x // a", "i32", "wrap"),
    ("x // a", "u16", "wrap"),
    ("x % a + a", "i64", "wrap"),
    ("min(x + a, k)", "i32", "wrap"),
    ("x ^ (x >> a) ^ 1", "u8", "wrap"),
    ("u8(f32(x)*0.9 + f32(a)*0.1)", "u8", "wrap"),
    ("select(x >= a, a, 2)", "u8", "wrap"),
    ("select(x == 255, a, select(x == a, x, 254))", "u8", "wrap"),
    ("abs(x - a)", "i16", "wrap"),
    ("x*33 ^ a", "i32", "math"),
    ("x * a % 1000000007", "u64", "wrap"),
    ("(x + a) % 16000", "i16", "wrap"),
    ("(x*x + a) % 1009", "u32", "wrap"),
    ("(((x ^ a) << 13) | ((x ^ a) >> 19)) * 5 + 0xe6546b64", "u32", "wrap"),
]
LEFT_ALONE = [
    ("max(x0, a), max(min(x0, a), x1)", "i32", "math"),
    ("min(x0, a), x1 + min(x0, a) - min(x0, a) + b", "i64", "math"),
    ("max(x0, a) + b, x1 + b", "f64", "wrap"),
    ("x + a*(1 + k*x)", "i32", "wrap"),
    ("x + a", "u8", "wrap"),
    ("x >> (a & 1)", "u8", "wrap"),
    ("(x + a) % 256", "i32", "wrap"),
    ("x * a % 1024", "i64", "wrap"),
    ("x*a", "i16", "wrap"),
    ("((x ^ 5) + a) ^ 5", "u32", "wrap"),
    ("min(x, k) ^ 0", "u8", "wrap"),
    ("select(a < x, a, x)", "u8", "wrap"),
    ("select(x == a, x, 0)", "u8", "wrap"),
    ("select(x == a, x, k)", "i32", "wrap"),
    ("x + max(a - x, 0)", "i32", "math"),
    ("x & (x - 1)", "u8", "wrap"),
    ("x & (x - 1)", "u32", "wrap"),
    ("pow(x, a)", "f32", "wrap"),
    ("0.5*(x + a + abs(x - a))", "f32", "wrap"),
]
"""The last have an operator without an identity, or one that is infinite, where the update says nothing. From ~0 the
bits that `x & (x - 1)` has taken off tell how often it was applied; 2**a tells powers of what is above 0 apart."""


@pytest.mark.parametrize(("text", "type_", "semantics"), REFUTED)
def test_what_has_no_operator_is_refuted_with_runs_that_show_it(text: str, type_: str, semantics: str) -> None:
    update = parse_update(text, parse_type(type_), {}, (), Meaning(semantics))
    found = refute(update, Limits(seconds=20.0).starting_now())
    assert found is not None
    instance: dict[str, Any] = dict(found.instance)
    data = {v.name for v in update.data}
    ends = {}
    for start in ("e0", "x0"):
        for mark in ("", "'"):
            steps = [
                {name: instance[f"{name}{mark}{suffix}"] for name in data}
                for suffix in ("", "1", "2")
                if all(f"{name}{mark}{suffix}" in instance for name in data)
            ]
            state = instance[start]
            for datum in steps:
                types: dict[str, Type] = {v.name: v.type for v in variables(update.components[0])}
                values = datum | {"x0": state} | {name: instance[name] for name in update.constants}
                env = {name: as_array(types[name], [value], update.meaning, "real") for name, value in values.items()}
                state = evaluate(update.components[0], env, update.meaning, "real")[0]
            ends[start, mark] = state
    assert ends["e0", ""] == ends["e0", "'"]
    assert ends["x0", ""] != ends["x0", "'"]


@pytest.mark.parametrize(("text", "type_", "semantics"), LEFT_ALONE)
def test_what_may_have_an_operator_is_not_refuted(text: str, type_: str, semantics: str) -> None:
    update = parse_update(text, parse_type(type_), {}, (), Meaning(semantics))
    assert refute(update, Limits(seconds=20.0).starting_now()) is None


def test_an_instance_that_exact_values_do_not_show_is_not_told() -> None:
    update = parse_update("u8(f32(x)*0.9 + f32(a)*0.1)", parse_type("u8"), {}, (), Meaning.WRAP)
    in_floats = np.float32(1) * np.float32(0.9) + np.float32(1) * np.float32(0.1)
    assert int(in_floats) == 1  # as data 3 do: alike in floats, not among the reals
    assert told(update, [1], [2], ([{"a": 1}], [{"a": 3}]), {}, Proven("exhaustive")) is None
    assert told(update, [0], [10], ([{"a": 0}], [{"a": 1}]), {}, Proven("exhaustive")) is not None


def test_constants_of_an_instance_are_named() -> None:
    answer = check("min(x + a, k)", type="u8")
    assert answer.verdict == "not_associative"
    assert answer.counterexample is not None
    assert "k" in answer.counterexample
    assert f"with k = {answer.counterexample['k']}" in (answer.reason or "")


def test_no_refutation_rests_on_a_quotient_that_only_a_condition_sees():
    update = "select(a == 0, select(1/a > 0, min(x, i), x & i), max(x, i))"
    assert check(update, "u8", {"a": "f64"}).verdict == "unknown"
    pair = "select(a == 0, min(x0, i), max(x0, i)), select(a != 0 and i > x0, b, x1*(a/a))"
    assert check(pair, "f64", {"x0": "u8", "i": "u8"}).verdict == "unknown"


def test_what_assumes_the_impossible_is_no_claim():
    assert check("x/0", "f64").verdict in ("unknown", "not_associative")
    assert check("max(x, b)/0", "f64").verdict in ("unknown", "not_associative")
    assert check("x/a", "f64").verdict == "associative"


@pytest.mark.parametrize("type_", ["i8", "i32", "f64"])
def test_an_infinity_that_adds_up_is_no_identity(type_):
    """-inf would be one of max, but min(-inf, y) is -inf: that it is near to 0 was once the rounding of an infinity."""
    answer = check("max(x0, a), x1 + min(x0, a)", type_, semantics="math")
    assert (answer.verdict, answer.identity, answer.identity_kind) == ("associative", None, "none")


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("~min(x0, a), x1", "u8"),
        ("~min(x0, a), x1 + b", "u8"),
        ("x0 + a, abs(x1 - b)", "i32"),
        ("x0 + a, max(x1 + b, c), x2 + k", "i32"),
        ("x0 + k*a, ~min(x1, a1), x2 + a", "u8"),
        ("x0 + e0, ~min(x1, a)", "u8"),
        ("x0 + a/b, abs(x1 - c)", "f64"),
        ("(x0 + a)//2, x1 + x0", "i32"),
    ],
)
def test_an_instance_holds_all_that_the_whole_update_reads(text: str, type_: str) -> None:
    update = parse_update(text, parse_type(type_))
    answer = check(text, type=type_)
    assert answer.verdict == "not_associative"
    instance = dict(answer.counterexample or {})
    start = "start" if "e0" in {v.name for v in update.data} else "e"
    types = {v.name: v.type for component in update.components for v in variables(component)}
    data = [v.name for v in update.data]
    gap = "." if any(f"{name}{n}" in data for name in data for n in (1, 2)) else ""
    numbers = range(len(update.types))
    ends, told = {}, {f"{first}{i}" for first in (start, "x") for i in numbers} | {v.name for v in update.accumulators}
    told |= {name for name in update.constants if name in types}
    for mark in ("", "'"):
        suffixes = [s for s in ("", f"{gap}1", f"{gap}2") if f"{data[0]}{mark}{s}" in instance]
        told |= {f"{name}{mark}{suffix}" for suffix in suffixes for name in data}
        for first in (start, "x"):
            state = [instance[f"{first}{i}"] for i in numbers]
            for suffix in suffixes:
                values = {name: instance.get(name) for name in types} | {f"x{i}": state[i] for i in numbers}
                values |= {name: instance[f"{name}{mark}{suffix}"] for name in data}
                env = {name: as_array(types[name], [values[name]], update.meaning, "real") for name in types}
                state = [evaluate(component, env, update.meaning, "real")[0] for component in update.components]
            ends[first, mark] = state
    assert set(instance) == told
    assert ends[start, ""] == ends[start, "'"]
    assert ends["x", ""] != ends["x", "'"]


@pytest.mark.parametrize(
    "text", ["x + select(c, max(a - x, 0.0), 0.0)", "select(c, 0.5*(x + a + abs(x - a)), x)", "select(c, max(x, a), x)"]
)
def test_an_operator_may_have_an_infinite_operand_where_the_update_has_no_value(text: str) -> None:
    # max(x, y) with y = a, or -inf where c is false: the update from -inf is NaN.
    update = parse_update(text, parse_type("f32"), {"c": parse_type("bool")})
    assert refute(update, Limits()) is None


def test_infinite_operands_are_excluded_by_runs_of_several_data() -> None:
    # From -inf the data (no, then 1) and (yes and 0, then yes and 1) end at 0.5 both.
    update = parse_update("select(c, max(x, a)*0.5, x)", parse_type("f32"), {"c": parse_type("bool")})
    assert refute(update, Limits()) is not None
    assert refute(parse_update("x*x + a", parse_type("f32")), Limits()) is not None


@pytest.mark.parametrize(
    ("text", "type_", "meaning"),
    [
        ("x0 + a, x1 + abs(x0)", "i32", Meaning.MATH),
        ("x0 + a, x1 + select(x0 + a > 100, 1, 0)", "f64", Meaning.WRAP),
        ("max(x0, a), x1 + x0", "i32", Meaning.MATH),
        ("min(x0, a), x1 + min(x0, a)", "f64", Meaning.WRAP),
        ("max(x0, a), x1 + select(a > x0, 1, 0)", "u32", Meaning.MATH),
        ("x0 + a, x1 + max(x0, 0)", "f64", Meaning.WRAP),
    ],
)
def test_sums_of_what_the_state_was_are_refuted(text: str, type_: str, meaning: Meaning) -> None:
    assert refute(parse_update(text, parse_type(type_), meaning=meaning), Limits()) is not None


def test_infinite_starts_of_a_part_are_left_open() -> None:
    """What else the operands of the whole update hold may tell apart data that agree in those of the part."""
    update = parse_update("max(x0, a), x1*x0", parse_type("f64"))
    assert refute(update, Limits()) is not None
    assert refute(update, Limits(), same_length=True) is None
    # From (inf, -inf) all data lead to no number: they end alike.
    assert refute(parse_update("max(x0, a), x1 + x0", parse_type("f64")), Limits(), same_length=True) is not None


@pytest.mark.parametrize(
    ("text", "type_", "meaning", "left"),
    [
        ("max(x, a)", "f32", Meaning.WRAP, [(-math.inf,)]),
        ("x + a", "f32", Meaning.WRAP, []),
        ("x + a", "i32", Meaning.MATH, []),
        ("x + a", "i32", Meaning.WRAP, []),
        (
            "x0*x1, x0 + a",
            "f64",
            Meaning.WRAP,
            [(None, math.inf), (None, -math.inf), (math.inf, None), (-math.inf, None)],
        ),
    ],
)
def test_infinite_starts_are_open_where_no_two_runs_end_alike(
    text: str, type_: str, meaning: Meaning, left: list[tuple[float | None, ...]]
) -> None:
    datum_type = parse_type(type_)
    update = parse_update(text, datum_type, meaning=meaning)
    starts = infinite_starts.infinite_starts(update, (("a", const(datum_type, 7)),))
    left_open = [e for e in starts.all if starts.is_open(e)]
    found = [tuple(part.value if isinstance(part, Const) else None for part in e) for e in left_open]
    assert found == left
    assert starts.any_open() == bool(left)


@pytest.mark.parametrize(("left", "refuted"), [((math.inf, math.inf), True), ((None, math.inf), False)])
def test_no_start_that_is_partly_finite_is_left_open(
    left: tuple[float | None, ...], refuted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are infinitely many, and a proof after another datum is about one."""
    start = tuple(None if part is None else Const(F64, part) for part in left)
    monkeypatch.setattr(infinite_starts.InfiniteStarts, "is_open", lambda _, e: e == start)
    monkeypatch.setattr(search.Search, "applies_at", lambda *_: False)
    monkeypatch.setattr(degrees_of_freedom, "refute", lambda *_: None)
    assert (refute(parse_update("max(x0, a), x1 + x0", F64), Limits()) is not None) == refuted


@pytest.mark.parametrize(
    "text",
    [
        "x0 + a, max(x1, x0)",
        "max(x0, x1*a), min(x1, x0*b)",
        "select(a > x0, a, x0*0.5)",
        "x0 + a, select(x0 > 0.0, x1 + b, x1 - b)",
        "x0*x1 + a, x0 + b",
        "log(exp(x0) + exp(a))",
        "x0 + max(a - x0, 0.0), a",
    ],
)
def test_runs_that_are_left_out_end_alike_with_no_other(text: str) -> None:
    """From an infinite start only those runs are followed symbolically that numbers do not tell apart."""
    update = parse_update(text, F64)
    runs = infinite_starts._LiteralRuns(update, first_data(update, update.accumulators)[0])
    followed = 0
    for e in itertools.product((None, Const(F64, math.inf), Const(F64, -math.inf)), repeat=len(update.types)):
        ways = infinite_starts._Ways(runs, e)
        for of_one_length in infinite_starts._LITERAL_RUNS:
            ends = {}
            for run in of_one_length:
                with contextlib.suppress(Undefined):
                    ends[run] = ways.end(run)
            kept = set(runs.like_others(of_one_length, e))
            followed += len(kept)
            times = Counter(ends.values())
            assert {run for run, end in ends.items() if times[end] > 1} <= kept
    assert followed < sum(map(len, infinite_starts._LITERAL_RUNS)) * 3 ** len(update.types)


def test_another_spelling_is_not_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(recognize, "refute", lambda update, *rest, **more: asked.append(update))
    update = parse_update("x*x + f64(a > x)*a", F64)
    assert respelled(update) != update
    assert recognize.recognize(update).verdict == "unknown"
    assert asked == [update]


@pytest.mark.parametrize(
    ("text", "type_", "meaning"),
    [
        ("x0 + 1, x1 + x0", "i32", Meaning.MATH),
        ("x0 + a, max(x1, x0)", "f64", Meaning.WRAP),
        ("max(x0, a), x1 + a", "f64", Meaning.WRAP),
        ("max(x0, a), select(a > x0, 1, x1 + select(a == x0, 1, 0))", "i32", Meaning.MATH),
        ("x0 + a, x1 + a*x0", "f64", Meaning.WRAP),
    ],
)
def test_their_twins_with_an_operator_are_not(text: str, type_: str, meaning: Meaning) -> None:
    assert refute(parse_update(text, parse_type(type_), meaning=meaning), Limits()) is None


def test_bounds_near_the_end_of_the_widest_type_are_read() -> None:
    text = "select(c, a + x0*x0, 0), x1 + select(c and x0 > 9223372036854775807, 8, 0)"
    assert check(text, type="u64", types={"c": "bool"}).verdict in ("not_associative", "unknown")


def test_what_has_an_operator_or_one_after_a_function_is_not_refuted_by_data_that_make_up_for_others() -> None:
    for text in (
        "x + tanh(a)", "x*cos(a)", "x/(1 + a*x)", "x + a - x*a", "sqrt(x*x + a)", "log(exp(x) + a)",
        "-log(exp(-x) + a)", "exp(log(x) + a)", "x + a + 7.0*x*a", "(x + a)/2", "-x + a", "tan(atan(x) + a)",
    ):  # fmt: skip
        update = parse_update(text, F64)
        assert made_up.refute(update, update, {}) is None, text


@pytest.mark.parametrize("text", ["(x ^ u32(b)) * 16777619", "7 - (3 + x*65599 ^ u32(b))*5", "x*31 ^ u32(b & 127)"])
def test_bytes_mixed_into_words_make_runs_alike_from_every_start(text: str) -> None:
    update = parse_update(text, U32, {"b": U8}, (), Meaning.WRAP)
    read = mixed_bytes.read(update)
    rows = None if read is None else mixed_bytes.rows_of(read)
    assert read is not None
    assert rows is not None
    starts = np.random.default_rng(0).integers(0, 1 << 32, 100, dtype=np.uint32)
    for start in starts.tolist():
        ends = []
        for run in mixed_bytes.runs(read, start, rows):
            state = as_array(U32, [start], Meaning.WRAP)
            for b in run:
                env = {"x0": state, "b": as_array(U8, [b], Meaning.WRAP)}
                state = evaluate(update.components[0], env, Meaning.WRAP)
            ends.append(state[0])
        assert ends[0] == ends[1]


@pytest.mark.parametrize("text", ["x ^ u32(b)", "(x ^ u32(b)) << 8", "(x ^ u32(b & 5))*31", "(x*x ^ u32(b))*31"])
def test_bytes_that_no_run_makes_up_for_are_left_alone(text: str) -> None:
    update = parse_update(text, U32, {"b": U8}, (), Meaning.WRAP)
    assert mixed_bytes.refute(update, update, {}) is None


def test_words_are_not_shifted_farther_than_they_are_wide() -> None:
    for text, type_ in (("(x << -3) ^ i64(b)", "i64"), ("x << 18446744073709551615 ^ u64(b)", "u64")):
        assert mixed_bytes.read(parse_update(text, parse_type(type_), {"b": U8}, (), Meaning.WRAP)) is None


def test_a_last_word_makes_up_for_an_earlier_one_in_signed_words_too() -> None:
    """Words are turned as unsigned ones, whichever type the step has them in."""
    for text in ("i32((u32(x*33) ^ u32(a)) ^ ((u32(x*33) ^ u32(a)) >> 7))*5", "i32(u32(a) << 9 | u32(a) >> 23) - x*7"):
        update = parse_update(text, parse_type("i32"), {}, (), Meaning.WRAP)
        (datum,) = update.data
        inner = made_up_words._within(update.components[0], datum, update)
        way = made_up_words._way(inner, datum, update)
        assert way is not None
        search = made_up_words._Search(update, datum, inner, way, {})
        for x, (p, q, last) in itertools.product((0, -7, 123456, -(1 << 31)), ((0, 1, 0), (-1, 5, -9))):
            made_up_for = search.made_up(x, p, q, last)
            assert search.step(search.step(x, p), last) == search.step(search.step(x, q), made_up_for)


@pytest.mark.parametrize(
    ("text", "type_", "start"),
    [
        ("max(x, a*16*16)", "i8", -math.inf),
        ("min(x, a*16*16)", "u8", math.inf),
        ("max(x, min(a, 127))", "i8", -math.inf),
    ],
)
def test_infinite_starts_are_not_lost_to_literals_that_outgrow_their_type(text: str, type_: str, start: float) -> None:
    update = parse_update(text, parse_type(type_), {}, (), Meaning.MATH)
    first = first_data(update, update.accumulators)[0]
    starts = infinite_starts.infinite_starts(update, tuple(first.items()))
    assert [e for e in starts.all if starts.is_open(e)] == [(Const(F64, start),)]
