"""Integers that floats decide have the serial bits under every schedule, or the schedule is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import FactorError, ScheduleError
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import F32
from rfactor.matcher.check import check
from rfactor.matcher.rounding import _is_natural

Step = Callable[[Any, Any, Any], tuple[Any, ...]]
_F, _I = hl.f32, hl.i32


def _best_prefix(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    total = x[0] + a
    return total, hl.select(total > x[1], total, x[1]), hl.select(total > x[1], i, x[2])


def _vanished(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    return x[0] * a, hl.select(x[0] * a == _F(0.0), 1, x[1])


def _sum_before(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    return x[0] + a, _I(x[0])


def _largest_after_adding(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    return hl.select(x[0] + _F(9.0) < a + _F(9.0), a, x[0]), hl.select(x[0] < a, i, x[1])


def _multiplied_out(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    key = a * _F(0.1) + a * (a * _F(3.3))
    return hl.select(x[0] < key, a * (_F(0.1) + a * _F(3.3)), x[0]), hl.select(x[0] < key, i, x[1])


def _argmax(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    return hl.max(x[0], a), hl.select(a > x[0], i, x[1])


def _positive_argmax(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    better = (a * a < _F(100.0)) & (a * _F(0.1) > x[0])
    return hl.select(better, a * _F(0.1), x[0]), hl.select(better, i, x[1])


def _largest_complex(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    b = a * _F(0.5) - _F(0.1)
    better = x[0] * x[0] + x[1] * x[1] < a * a + b * b
    return hl.select(better, a, x[0]), hl.select(better, b, x[1]), hl.select(better, i, x[2])


def _scaled_maximum(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    most = hl.max(x[0], a * _F(0.3) + _F(0.1))
    return most, _I(most * _F(255.0))


def _sum_and_count(x: Any, a: Any, i: Any) -> tuple[Any, ...]:
    return x[0] + a, x[1] + 1


_REFUSED: list[tuple[Step, tuple[Any, ...]]] = [
    (_best_prefix, (_F(0.0), _F(0.0), _I(0))),
    (_vanished, (_F(1.0), _I(0))),
    (_sum_before, (_F(0.0), _I(0))),
    (_largest_after_adding, (_F(-9.0), _I(0))),
    (_multiplied_out, (_F(0.0), _I(0))),
]
_TAKEN: list[tuple[Step, tuple[Any, ...]]] = [
    (_argmax, (_F(-1e30), _I(0))),
    (_positive_argmax, (_F(0.0), _I(0))),
    (_largest_complex, (_F(0.0), _F(0.0), _I(0))),
    (_scaled_maximum, (_F(-1e30), _I(0))),
    (_sum_and_count, (_F(0.0), _I(0))),
]
_DATA = np.random.default_rng(5).normal(size=64).astype(np.float32)


def _reduction(step: Step, start: tuple[Any, ...]) -> tuple[hl.Func, hl.RDom]:
    a, r, f = hl.Buffer(_DATA), hl.RDom([(0, 64)]), hl.Func("f")
    f[()] = start
    f[()] = step(f[()], a[r], r.x)
    return f, r


def _recurrence(step: Step, start: tuple[Any, ...]) -> tuple[hl.Func, hl.RDom]:
    a, r, f, x = hl.Buffer(_DATA), hl.RDom([(1, 63)]), hl.Func("f"), hl.Var("x")
    f[x] = start
    f[r] = step(f[r - 1], a[r], r.x)
    return f, r


@pytest.mark.parametrize(("step", "start"), _REFUSED)
def test_an_integer_that_rounded_floats_decide_is_not_factored(step: Step, start: tuple[Any, ...]) -> None:
    f, r = _reduction(step, start)
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).split(r.x, outer, inner, 8)
    with pytest.raises(FactorError, match=r"the integer x\d may depend on how floats are rounded \(.*semantics="):
        f.update(0).rfactor([(outer, hl.Var("u"))])
    assert "are rounded" in (f.update(0)._commutes() or "")
    f.update(0).rfactor([(outer, hl.Var("u"))], semantics="math")


def test_an_integer_that_rounded_floats_decide_gets_no_schedule_of_its_own() -> None:
    f, _ = _reduction(*_REFUSED[0])
    with pytest.raises(FactorError, match=r"the integer x2 may depend on how floats are rounded \(.*semantics="):
        f.update(0).auto_rfactor()


@pytest.mark.parametrize(("step", "start"), _REFUSED)
def test_an_integer_that_rounded_floats_decide_is_not_scanned(step: Step, start: tuple[Any, ...]) -> None:
    f, r = _recurrence(step, start)
    with pytest.raises(ScheduleError, match=r"the integer (x\d) may depend on how floats are rounded .*compute \1 in"):
        f.update(0).parallel_scan(r.x, 8)


@pytest.mark.parametrize(("step", "start"), _TAKEN)
def test_an_integer_that_unrounded_floats_decide_is_that_of_the_serial_loop(step: Step, start: tuple[Any, ...]) -> None:
    plain, _ = _reduction(step, start)
    f, r = _reduction(step, start)
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).split(r.x, outer, inner, 8)
    f.update(0).rfactor([(outer, hl.Var("u"))])
    assert int(f.realize()[-1][()]) == int(plain.realize()[-1][()])


_TYPES = {"x0": "f32", "x1": "i32", "x2": "i32", "a": "f32", "b": "f32", "c": "f32", "i": "i32"}


@pytest.mark.parametrize(
    ("update", "own", "rounded"),
    [
        ("max(x0, a), select(x0 + 1.0 > x0, x1 + 1, x1*x1)", {}, "x0 + 1.0"),
        ("max(x0, a), i32(x0 * 255.0)", {}, None),
        ("max(x0, a*b), i32(max(x0, a*b) * 255.0)", {}, None),
        ("min(x0, (a - k)*(a - k)), select((a - k)*(a - k) < x0, i, x1)", {"k": "f32"}, None),
        ("x0 + a, i32(x0 + a)", {}, "x0 + a"),
        ("select(x0 + 1.0 < a + 1.0, a, x0), select(x0 < a, i, x1)", {}, "x0 + 1.0"),
        ("select(x0 < a*b + a*c, a*(b + c), x0), select(x0 < a*b + a*c, i, x1)", {}, "a * (b + c)"),
        (
            "select(x0 + x1 < a + b, a + c, x0), select(x0 + x1 < a + b, b - c, x1), select(x0 + x1 < a + b, i, x2)",
            {"x1": "f32"},
            "x0 + x1",
        ),
        ("select(x0*x0 < a*a, a, x0), select(x0*x0 < a*a, i, x1)", {}, None),
        ("select(k*x0 + x0*x0 < k*a + a*a, a, x0), select(k*x0 + x0*x0 < k*a + a*a, i, x1)", {"k": "f32"}, None),
        (
            "select(abs(x0 - 0.1) < abs(a - 0.1), a, x0), select(abs(x0 - 0.1) < abs(a - 0.1), i, x1)",
            {},
            None,
        ),
        ("select(a - x0 > 0.0, a, x0), select(a - x0 > 0.0, i, x1)", {}, None),  # where a > x0, of any floats
        ("select(0.0 > x0 - a, a, x0), select(x0 - a < 0.0, i, x1)", {}, None),
        ("max(x0, a), select(x0 + -a < 0.0, i, x1)", {}, None),
        ("select(a - x0 >= 0.0, a, x0), select(a - x0 >= 0.0, i, x1)", {}, "a - x0"),  # no number where both are inf
        ("max(x0, a*b + a*c), select(x0 < a*b + a*c, i, x1)", {}, None),
        ("x0 + a, max(x1, a), select(x1 < a, i, x2)", {"x1": "f32"}, None),
        ("x0 + a, x0 + a", {"x1": "f32"}, None),
        ("x0 + a, x1 and a < b", {"x1": "bool"}, None),
    ],
)
def test_which_floats_decide_is_seen_in_the_update_and_its_operator(
    update: str, own: dict[str, str], rounded: str | None
) -> None:
    types = _TYPES | own
    used = {name: type_ for name, type_ in types.items() if re.search(rf"\b{name}\b", update) or name in own}
    answer = check(update, types=used, const=["k"])
    found = answer.rounded
    assert answer.verdict in ("associative", "lifted")
    assert (None if found is None else str(found[1])) == rounded
    assert [sentence for sentence in answer.caveats if "integer" in sentence] == (
        []
        if found is None
        else [f"the integer x{found[0]} may depend on how floats are rounded ({rounded}), hence on the order"]
    )


def test_a_sum_of_squares_is_0_with_its_parts_unless_a_literal_is_one() -> None:
    natural = {text: _is_natural(parse_expr(text, {"x": F32}, F32)) for text in ("x*x + 2.0*2.0", "x*x + sqrt(x*x)")}
    assert natural == {"x*x + 2.0*2.0": False, "x*x + sqrt(x*x)": True}
