"""Means weighted by exponentials are joined so that a slice is finite where the loop is, each by a proved operator."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rfactor.ir.expr import const
from rfactor.ir.parser import parse_expr
from rfactor.ir.printer import show
from rfactor.ir.types import F32
from rfactor.matcher.check import check
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.operators.conjugate import careful_log
from rfactor.prover.claim import Discharged, Failed
from rfactor.prover.discharge import discharge
from rfactor.prover.verdict import Refuted

LSE = "log(exp(x0) + exp(s))"
MEANS = [
    f"{LSE}, (x1*exp(x0) + v*exp(s))/(exp(x0) + exp(s))",
    f"{LSE}, x1 + (v - x1)*exp(s)/(exp(x0) + exp(s))",
    f"{LSE}, x1 + (v - x1)*exp(s - {LSE})",
    f"{LSE}, x1*exp(x0 - {LSE}) + v*exp(s - {LSE})",
    f"{LSE}, x1 + (v - x1)/(1.0 + exp(x0 - s))",
    f"{LSE}, (x1*exp(x0) + v*exp(s))/(exp(x0) + exp(s)), (x2*exp(x0) + w*exp(s))/(exp(x0) + exp(s))",
]
_NAMES = {"exp": np.exp, "log": np.log, "select": np.where, "__builtins__": {}}


def run(text: str, values: dict[str, np.ndarray]) -> np.ndarray:
    """An expression read as Python over arrays of f32: an evaluator of its own."""
    with np.errstate(all="ignore"):
        return np.asarray(eval(text, _NAMES, values), dtype=np.float32)


def ends(update: str, scale: float, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Where the loop ends and where halves joined by the operator do, in 300 runs of 32 steps."""
    random = np.random.default_rng(seed)
    answer = check(update, "f32")
    assert answer.verdict == "associative"
    assert answer.operator is not None
    assert answer.data is not None
    count = len(answer.operator)

    def named(letter: str, state: list[np.ndarray]) -> dict[str, np.ndarray]:
        return {f"{letter}{i}": value for i, value in enumerate(state)}

    def drawn() -> np.ndarray:
        return (random.standard_normal(300) * scale).astype(np.float32)

    serial = start = [drawn() for _ in range(count)]
    parts = []
    for _ in range(32):
        data = {name: drawn() for name in "svw"}
        texts = [show(e) for e in answer.update.components]
        serial = [run(text, {**named("x", serial), **data}) for text in texts]
        parts.append([np.broadcast_to(run(show(e), data), (300,)) for e in answer.data])
    operator = [show(e) for e in answer.operator]
    while len(parts) > 1:
        parts = [
            [run(text, {**named("x", one), **named("y", other)}) for text in operator]
            for one, other in zip(parts[::2], parts[1::2], strict=True)
        ]
    return serial, [run(text, {**named("x", start), **named("y", parts[0])}) for text in operator]


@pytest.mark.parametrize("update", MEANS)
def test_slices_are_finite_where_the_loop_is(update: str) -> None:
    for scale in (1.0, 8.0, 25.0, 60.0):
        serial, sliced = ends(update, scale, int(scale))
        sound = np.all([np.isfinite(value) for value in serial], axis=0)
        assert sound.sum() > 3
        for one, other in zip(serial, sliced, strict=True):
            assert np.all(np.isfinite(other[sound]))
            if scale < 10:
                assert np.allclose(one[sound], other[sound], rtol=1e-3, atol=1e-3)
    assert check(update, "f32").caveats == ()


@pytest.mark.parametrize("update", MEANS)
def test_what_is_told_is_proved(update: str) -> None:
    answer = check(update, "f32")
    claim = claim_of(answer)
    assert claim is not None
    assert claim.operator is not None
    proved = discharge(claim)
    assert isinstance(proved, Discharged)
    assert proved.identity_kind == answer.identity_kind
    assert {"step", "associative", "left_identity"} <= {name for name, _ in proved.proofs}


@pytest.mark.parametrize(
    "altered",
    [
        "x1/(exp(x0 - y0) + 1.0) + y1/(exp(y0 - x0) + 1.0)",
        "x1/(exp(y0 - x0) + 1.0) + y1/(exp(x0 - y0) + 2.0)",
        "x1/(exp(y0 - x0) + 1.0) - y1/(exp(x0 - y0) + 1.0)",
        "x1/(exp(y0) + 1.0) + y1/(exp(x0) + 1.0)",
    ],
)
def test_what_is_none_is_not_proved(altered: str) -> None:
    claim = claim_of(check(MEANS[0], "f32"))
    assert claim is not None
    assert claim.operator is not None
    names = {f"{letter}{i}": F32 for letter in "xy" for i in (0, 1)}
    wrong = type(claim)(claim.update, (claim.operator[0], parse_expr(altered, names, F32)), claim.identity, claim.data)
    failed = discharge(wrong)
    assert isinstance(failed, Failed)
    assert isinstance(failed.verdict, Refuted)


@pytest.mark.parametrize(
    ("update", "operator"),
    [
        ("log(exp(x) + exp(a))", ("log(exp(x0) + exp(y0))",)),
        ("x0 + a*exp(x1 + b), x1 + b", ("x0 + y0 * exp(x1)", "x1 + y1")),
        ("x0 + a, (x1*x0 + v*a)/(x0 + a)", None),
    ],
)
def test_what_is_steady_or_cannot_be_is_told_as_before(update: str, operator: tuple[str, ...] | None) -> None:
    answer = check(update, "f32")
    if operator is not None:
        assert answer.operator is not None
        assert tuple(map(show, answer.operator)) == operator
    assert not any("exp(x0 - y0)" in show(e) for e in answer.operator or ())


def test_a_logarithm_relative_to_the_larger_operand() -> None:
    x, y = (parse_expr(name, {"u": F32, "v": F32}, F32) for name in "uv")
    text = show(careful_log(const(F32, 1))(x, y))
    values = np.array([-math.inf, -200.0, -1.0, 0.0, 3.0, 150.0], dtype=np.float32)
    one, other = (column.ravel() for column in np.meshgrid(values, values))
    wanted = np.logaddexp(one.astype(np.float64), other.astype(np.float64))
    assert np.allclose(run(text, {"u": one, "v": other})[one != other], wanted[one != other])
    assert np.allclose(run(text, {"u": values, "v": values}), values + math.log(2))
