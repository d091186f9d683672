"""An update that only chooses among floats has an operator that does: no number is told that is not in the data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import BOOL, F32
from rfactor.matcher.check import check
from rfactor.matcher.recognize import recognize

_TYPES = {"x0": "f32", "x1": "i32", "a": "f32", "i": "i32"}


@pytest.mark.parametrize(
    ("update", "operator", "identity"),
    [
        (
            "select(abs(x0 - 0.1) < abs(a - 0.1), a, x0)",
            ["select(abs(x0 - 0.1) < abs(y0 - 0.1), y0, x0)"],
            ["0.1"],
        ),
        ("select(abs(a - 0.1) < abs(x0 - 0.1), a, x0)", ["select(abs(y0 - 0.1) < abs(x0 - 0.1), y0, x0)"], None),
        (
            "select(abs(a - 0.1) < abs(x0 - 0.1), a, x0), select(abs(a - 0.1) < abs(x0 - 0.1), i, x1)",
            ["select(abs(y0 - 0.1) < abs(x0 - 0.1), y0, x0)", "select(abs(y0 - 0.1) < abs(x0 - 0.1), y1, x1)"],
            None,
        ),
    ],
)
def test_what_is_chosen_is_not_computed(update: str, operator: list[str], identity: list[str] | None) -> None:
    answer = check(update, types=_TYPES if len(operator) == 2 else {"x0": "f32", "a": "f32"})
    assert answer.operator is not None
    assert [str(e) for e in answer.operator] == operator
    assert (None if answer.identity is None else [str(e) for e in answer.identity]) == identity
    assert answer.rounded is None


def test_the_nearest_number_is_one_of_the_data() -> None:
    data = (np.random.default_rng(3).normal(size=256) / 1000).astype(np.float32)  # less 0.1 they are rounded
    found = []
    for factored in (False, True):
        a, f, r = hl.Buffer(data), hl.Func("f"), hl.RDom([(0, 256)])
        f[()] = hl.f32(1e9)
        f[()] = hl.select(hl.abs(a[r] - hl.f32(0.1)) < hl.abs(f[()] - hl.f32(0.1)), a[r], f[()])
        if factored:
            outer, inner = hl.RVar("outer"), hl.RVar("inner")
            f.update(0).split(r.x, outer, inner, 32)
            f.update(0).rfactor([(outer, hl.Var("u"))])
        found.append(float(f.realize()[()]))
    assert found[0] == found[1]
    assert np.float32(found[1]) in data


@pytest.mark.parametrize("start", [math.inf, -math.inf, 3.0])
def test_an_infinite_start_is_dropped_where_the_loop_drops_it(start: float) -> None:
    keeps = np.ones(64, dtype=bool)
    keeps[37] = False
    found = []
    for factored in (False, True):
        k, f, r = hl.Buffer(keeps), hl.Func("dropped"), hl.RDom([(0, 64)])
        f[()] = hl.f32(start)
        f[()] = hl.select(k[r], f[()], hl.f32(0.0))
        if factored:
            outer, inner = hl.RVar("outer"), hl.RVar("inner")
            f.update(0).split(r.x, outer, inner, 8)
            f.update(0).rfactor([(outer, hl.Var("u"))])
        found.append(float(f.realize()[()]))
    assert found == [0.0, 0.0]


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("update", "verdict"),
    [
        ("select(c, x*a, 0.0)", "associative"),
        ("select(c, 0.0, 0.5*x)", "associative"),
        ("select(c, x0*a, 0.0), x1 + a", "associative"),
        ("select(c, x*a + b, 0.0)", "lifted"),
        ("select(c, 0.0, 0.5*x + a)", "lifted"),
    ],
)
def test_zero_that_is_chosen_is_so_of_infinite_states(update: str, verdict: str, known: bool) -> None:
    types = {"x0": F32, "x1": F32, "a": F32, "b": F32, "c": BOOL}
    named = {"x0" if n == "x" and "x0" not in update else n: t for n, t in types.items() if n in update or n == "x0"}
    parsed = parse_update(update, F32, named, (), Meaning.WRAP)
    answer = recognize(parsed, known=known)
    assert answer.verdict == verdict
    merged, data = (answer.operator, answer.data) if answer.lift is None else (answer.lift.apply, answer.lift.data)
    assert merged is not None
    assert data is not None
    for start in (math.inf, -math.inf, 2.0):
        for chosen in (False, True):
            datum: dict[str, Any] = {"a": 3.0, "b": 1.0, "c": chosen}
            state: dict[str, Any] = {f"x{i}": start for i in range(len(parsed.types))}
            serial = [evaluate_scalar(e, state | datum) for e in parsed.components]
            run = {f"y{i}": evaluate_scalar(e, datum) for i, e in enumerate(data)}
            assert [evaluate_scalar(e, state | run) for e in merged] == serial


def test_products_that_the_loop_makes_too_are_left() -> None:
    for update in ("x*select(c, a, 0.0)", "x*a", "select(c, x*a, 1.0*x)"):
        answer = check(update, type="f32")
        assert answer.operator is not None
        assert [str(e) for e in answer.operator] == ["x0 * y0"]


_STATES = ("x0", "x1", "x2", "x3")


@pytest.mark.parametrize(
    "update",
    [
        "select(c, x0, 0.0)",
        "select(c, -x0, 0.0)",
        "select(a > 0.0, x0, 0.0)",
        "a, select(a < x0, x1, 0.0)",
        "a, x0, x1, x2",
        "a, x0, x1, x3 + x2*a",
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_infinities_are_handed_on_as_the_loop_does(update: str, known: bool) -> None:
    """Every state and datum in turn is infinite; runs of three and two steps are put together."""
    types = dict.fromkeys((*_STATES, "a"), F32) | {"c": BOOL}
    parsed = parse_update(update, F32, {n: t for n, t in types.items() if n in update}, (), Meaning.WRAP)
    answer = recognize(parsed, known=known)
    lift = answer.lift
    operator, data, apply = (answer.operator, answer.data, answer.operator) if lift is None else (
        lift.operator, lift.data, lift.apply)  # fmt: skip
    assert operator is not None
    assert data is not None
    assert apply is not None

    def run(exprs: tuple, env: dict) -> list:
        return [np.float32(e) if not isinstance(e, bool) else e for e in (evaluate_scalar(e, env) for e in exprs)]

    def named(letter: str, state: list) -> dict:
        return {f"{letter}{i}": value for i, value in enumerate(state)}

    count = len(parsed.types)
    for place in range(count + 5):
        values = [math.inf if i == place else float(i + 1) for i in range(count + 5)]
        start, given = values[:count], values[count:]
        steps = [{"a": value, "c": i != 3} for i, value in enumerate(given)]
        serial, runs = start, [run(data, step) for step in steps]
        for step in steps:
            serial = run(parsed.components, named("x", serial) | step)

        def joined(run_of: list, next_run: list) -> list:
            return run(operator, named("x", run_of) | named("y", next_run))

        whole = joined(joined(joined(runs[0], runs[1]), runs[2]), joined(runs[3], runs[4]))
        found = run(apply, named("x", start) | named("y", whole))
        chosen = slice(None) if "*" not in update else slice(3)
        assert found[chosen] == serial[chosen], place
