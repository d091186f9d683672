"""A lifting that overflows where the serial loop does not says so, and one that cannot does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.matcher.answer import Answer
from rfactor.matcher.check import check

RUNS, STEPS = 200, 24


def overflows(answer: Answer, scale: float, seed: int = 0) -> bool:
    """Whether some run in f16 ends in numbers serially, and by the lifting, half by half, in infinities or NaN."""
    random = np.random.default_rng(seed)
    update, lift = answer.update, answer.lift
    assert lift is not None

    def draw(type_: Any) -> Any:
        if type_.is_bool:
            return random.integers(0, 2, RUNS) == 0
        return np.clip(random.standard_normal(RUNS) * scale, -60000, 60000).astype(np.float16)

    def run(exprs: Any, env: Any) -> list[Any]:
        return [np.broadcast_to(evaluate(e, env), (RUNS,)) for e in exprs]

    def named(letter: str, values: Any) -> dict[str, Any]:
        return {f"{letter}{i}": value for i, value in enumerate(values)}

    start = [draw(x.type) for x in update.accumulators]
    data = [{var.name: draw(var.type) for var in update.data} for _ in range(STEPS)]
    serial, finite = start, np.ones(RUNS, dtype=bool)
    for step in data:
        serial = run(update.components, named("x", serial) | step)
        finite &= np.all([np.isfinite(value) for value in serial], axis=0)
    parts = [run(lift.data, step) for step in data]
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        joined = [run(lift.operator, named("x", one) | named("y", other)) for one, other in pairs]
        parts = joined + parts[2 * len(joined) :]
    ends = run(lift.apply, named("x", start) | named("y", parts[0]))
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


def test_integers_have_none() -> None:
    for semantics in ("wrap", "math"):
        assert check("x*a + b", "i32", semantics=semantics).caveats == ()
    assert check("x + a", "f16").caveats == ()
