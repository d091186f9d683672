"""What overflows where the serial loop does not says so, a lifting or exponentials, and what cannot does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.matcher.answer import Answer
from rfactor.matcher.check import check
from rfactor.matcher.report import to_json, to_text

RUNS, STEPS = 200, 24


def overflows(answer: Answer, scale: float, seed: int = 0) -> bool:
    """Whether some run in f16 ends in numbers serially, and by what was found, half by half, in infinities or NaN."""
    random = np.random.default_rng(seed)
    update = answer.update
    data, operator, action = answer.data, answer.operator, answer.operator
    if answer.lift is not None:
        data, operator, action = answer.lift.data, answer.lift.operator, answer.lift.apply

    def draw(type_: Any) -> Any:
        if type_.is_bool:
            return random.integers(0, 2, RUNS) == 0
        return np.clip(random.standard_normal(RUNS) * scale, -60000, 60000).astype(np.float16)

    def run(exprs: Any, env: Any) -> list[Any]:
        return [np.broadcast_to(evaluate(e, env), (RUNS,)) for e in exprs]

    def named(letter: str, values: Any) -> dict[str, Any]:
        return {f"{letter}{i}": value for i, value in enumerate(values)}

    start = [draw(x.type) for x in update.accumulators]
    steps = [{var.name: draw(var.type) for var in update.data} for _ in range(STEPS)]
    serial, finite = start, np.ones(RUNS, dtype=bool)
    for step in steps:
        serial = run(update.components, named("x", serial) | step)
        finite &= np.all([np.isfinite(value) for value in serial], axis=0)
    parts = [run(data, step) for step in steps]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [run(operator, named("x", one) | named("y", other)) for one, other in pairs]
        parts = joined + parts[2 * len(joined) :]
    ends = run(action, named("x", start) | named("y", parts[0]))
    return bool(np.any(finite & ~np.all([np.isfinite(value) for value in ends], axis=0)))


@pytest.mark.parametrize(
    ("update", "types", "scale"),
    [
        ("max(min(x*a + b, 6.0), 0.0)", {}, 4.0),
        ("max(x*a, b)", {}, 4.0),
        ("select(c, max(x*a, b), x)", {"c": "bool"}, 8.0),
        ("clamp(x + a, -1.0, 1.0)", {}, 20000.0),
    ],
)
def test_what_overflows_in_the_lifting_alone_is_said(update: str, types: dict[str, str], scale: float) -> None:
    answer = check(update, "f16", types)
    assert answer.verdict == "lifted"
    assert overflows(answer, scale)
    assert "may overflow f16" in answer.caveats[0]


@pytest.mark.parametrize(
    ("update", "types", "scale"),
    [
        ("x*0.5 + a*0.5", {}, 30000.0),
        ("x + (a - x)/3", {}, 20000.0),
        ("select(c, a, x + a)", {"c": "bool"}, 8000.0),
        ("a, x1 + (a - x0)*(a - x0)", {}, 40.0),
        ("select(a > 0.0, x + a, 0.0)", {}, 8000.0),
    ],
)
def test_what_does_not_has_no_caveat(update: str, types: dict[str, str], scale: float) -> None:
    answer = check(update, "f16", types)
    assert answer.verdict == "lifted"
    assert not overflows(answer, scale)
    assert answer.caveats == ()


@pytest.mark.parametrize(
    ("update", "works"),
    [
        ("x0 + a*exp(x1 + b), x1 + b", "relative to its largest exponent"),
        ("x0 + a*exp(-(x1 + b)), x1 + b", "relative to its largest exponent"),
        ("x0 + a*exp(-0.5*x1), x1 + b", "relative to its largest exponent"),
        ("x0 + a*pow(2.0, x1), x1 + b", "relative to its largest exponent"),
        ("x*exp(a)", "the sum of the exponents"),
        ("x/exp(a)", "the sum of the exponents"),
    ],
)
@pytest.mark.parametrize("type_", ["f16", "bf16", "f32", "f64"])
def test_exponentials_that_overflow_apart_are_said(update: str, works: str, type_: str) -> None:
    answer = check(update, type_)
    assert answer.verdict == "associative"
    if type_ == "f16":
        assert overflows(answer, 8.0)
    (said,) = answer.caveats
    assert said.startswith(f"y0 may overflow {type_}, or be no number, where the serial loop stays finite")
    assert f"what would work is {works}" in said or f"what would work is a sum {works}" in said
    assert to_json(answer)["caveats"] == [said]
    assert f"caveat      {said}" in to_text(answer, update)


@pytest.mark.parametrize("scale", [1.0, 4.0, 8.0, 60.0])
@pytest.mark.parametrize(
    "update",
    [
        "log(exp(x) + exp(a))",
        "max(x, a) + log(1.0 + exp(-abs(x - a)))",
        "max(x0, a), x1*exp(x0 - max(x0, a)) + exp(a - max(x0, a))",
        "max(x0, a), x1*exp(x0 - max(x0, a)) + b*exp(a - max(x0, a))",
        "x0*exp(a), x1*exp(a) + b",
        "x + exp(a)",
        "max(x, exp(a))",
        "x + a*exp(-b*b)",
        "sqrt(x*x + exp(a))",
        "x0 + a*exp(-x1), x1 + abs(b)",
    ],
)
def test_exponentials_that_do_not_have_no_caveat(update: str, scale: float) -> None:
    answer = check(update, "f16")
    assert answer.verdict == "associative"
    assert not overflows(answer, scale)
    assert [check(update, type_).caveats for type_ in ("f16", "bf16", "f32", "f64")] == [()] * 4


def test_integers_have_none() -> None:
    for semantics in ("wrap", "math"):
        assert check("x*a + b", "i32", semantics=semantics).caveats == ()
    assert check("x + a", "f16").caveats == ()


KAHAN = "x0 + (a - x1), (x0 + (a - x1) - x0) - (a - x1)"


@pytest.mark.parametrize(
    ("update", "component", "gone"),
    [
        (KAHAN, 1, "x0, a, x1 cancel"),
        ("x0 + a, x1 + ((x0 - (x0 + a)) + a)", 1, "x0, a cancel"),
        ("x0 + a, x1 + select(abs(x0) >= abs(a), (x0 - (x0 + a)) + a, (a - (x0 + a)) + x0)", 1, "x0, a cancel"),
        ("(x + a) - a", 0, "a cancels"),
        ("x + ((a + k) - k)", 0, "k cancels"),
    ],
)
@pytest.mark.parametrize("type_", ["f32", "f64"])
def test_what_only_floats_keep_is_a_caveat(update: str, component: int, gone: str, type_: str) -> None:
    answer = check(update, type=type_)
    assert answer.ok
    (caveat,) = [one for one in answer.caveats if "over the reals" in one]
    assert f"over the reals {gone} in x{component};" in caveat
    assert caveat in str(answer)


@pytest.mark.parametrize(
    ("update", "type_"),
    [
        (KAHAN, "i32"),
        ("x0 + a, x1 + a*a", "f32"),
        ("x + a - a*0.5", "f32"),
        ("x*a + b", "f32"),
        ("max(x, a - b)", "f64"),
        ("0.5*(x + a + abs(x - a))", "f32"),
        ("x + 1.0*a", "f32"),
        ("x0 + 1, x1 + (a - x1)/(f32(x0) + 1.0)", "f32"),
    ],
)
def test_what_floats_keep_as_reals_do_is_none(update: str, type_: str) -> None:
    types = {"x0": "i32"} if "f32(x0)" in update else {}
    assert not [one for one in check(update, type=type_, types=types).caveats if "over the reals" in one]
