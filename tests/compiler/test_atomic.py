"""Atomic updates: iterations that meet at a point run at once, and the serial bits come out."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import ScheduleError
from tests.compiler.pipelines import computed, expected, same
from tests.fuzz.execute import PASSES, tried

WIDTH, HEIGHT = 203, 9
x, u = hl.Var("x"), hl.Var("u")
DATA = np.random.default_rng(1).integers(0, 256, (HEIGHT, WIDTH)).astype(np.uint8)

Update = Callable[[Any, Any], Any]
UPDATES: dict[str, Update] = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "differences": lambda a, b: b * 3 - b // 2 + a - b,
    "product": lambda a, b: a * b,
    "least": hl.min,
    "greatest": hl.max,
    "xor": lambda a, b: a ^ b,
    "union": lambda a, b: b | a,
    "intersection": lambda a, b: a & b,
    "chosen": lambda a, b: hl.select(b > a, b, a),
}
TYPES = ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"]
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "parallel": lambda stage, r: stage.parallel(r.y),
    "both parallel": lambda stage, r: stage.parallel(r.x, 16).parallel(r.y),
    "vectors": lambda stage, r: stage.vectorize(r.x, 8),
    "vectors of six": lambda stage, r: stage.vectorize(r.x, 6),
    "parallel vectors": lambda stage, r: stage.parallel(r.y).vectorize(r.x, 8),
    "fused": lambda stage, r: stage.fuse(r.x, r.y, u).parallel(u, 64),
}


def histogram(update: Update, type_: str) -> tuple[Any, Any]:
    cast = getattr(hl, type_)
    image, f, r = hl.Buffer(DATA), hl.Func("h"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[x] = cast(3)
    bin_ = hl.i32(image[r.x, r.y] & 15)
    f[bin_] = update(f[bin_], cast(image[r.x, r.y] // 3 + r.y))
    return f, r


def whole(update: Update, type_: str) -> tuple[Any, Any]:
    cast = getattr(hl, type_)
    image, f, r = hl.Buffer(DATA), hl.Func("s"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    r.where(image[r.x, r.y] > 40)
    f[()] = cast(3)
    f[()] = update(f[()], cast(image[r.x, r.y] // 3 + r.y))
    return f, r


def agrees(f: Any, sizes: list[int], schedule: Callable[[], Any]) -> None:
    before = expected(f, sizes)
    schedule()
    for a, b in zip(before, computed(f, sizes), strict=True):
        assert same(a, b), f"{a}\n{b}\n{f.lowered()}"


def scheduled(schedule: str, f: Any, r: Any) -> Callable[[], Any]:
    """What gives the update one of the schedules."""
    return lambda: SCHEDULES[schedule](f.update().atomic(), r)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("update", UPDATES)
def test_integers_keep_their_bits_where_iterations_meet(update: str, schedule: str) -> None:
    types = Random(update + schedule).sample(TYPES, 2)
    for type_, passes in zip(types, (PASSES, 0), strict=True):
        with tried(passes):
            f, r = histogram(UPDATES[update], type_)
            agrees(f, [16], scheduled(schedule, f, r))
            g, q = whole(UPDATES[update], type_)
            agrees(g, [], scheduled(schedule, g, q))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_conditions_are_one_bit_each(schedule: str) -> None:
    image, f, r = hl.Buffer(DATA), hl.Func("f"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[x] = hl.cast(hl.Bool(), 0)
    bin_ = hl.i32(image[r.x, r.y] & 15)
    f[bin_] = f[bin_] ^ (image[r.x, r.y] > 99)
    agrees(f, [16], lambda: SCHEDULES[schedule](f.update().atomic(), r))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("bins", [1, 16])
def test_components_that_read_each_other_change_together(schedule: str, bins: int) -> None:
    image, f, r = hl.Buffer(DATA), hl.Func("f"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[x] = (hl.i32(1), hl.i32(0))
    here = hl.i32(image[r.x, r.y])
    at = here % bins
    f[at] = (f[at][0] * here - f[at][1] * r.x, f[at][0] * r.x + f[at][1] * here)
    agrees(f, [bins], lambda: SCHEDULES[schedule](f.update().atomic(), r))


@pytest.mark.parametrize("update", ["sum", "product", "both components"])
def test_threads_that_meet_often_lose_nothing(update: str) -> None:
    """Long enough that threads overlap whatever else the machine does."""
    width, height = 1024, 16384
    answers = []
    for threads in (False, True):
        f, r = hl.Func("f"), hl.RDom([(0, width), (0, height)], "r")
        here = (r.x * r.y) & 255
        if update == "both components":
            f[x] = (hl.i32(1), hl.i32(0))
            c, d = here * 2 + 1, r.y * 2
            f[0] = (f[0][0] * c - f[0][1] * d, f[0][0] * d + f[0][1] * c)
        else:
            f[x] = hl.i32(1)
            f[0] = UPDATES[update](f[0], here * 2 + 1)
        if threads:
            f.update().atomic().parallel(r.y)
        answers.append(computed(f, [1]))
    for a, b in zip(*answers, strict=True):
        assert same(a, b)


def test_one_component_is_one_instruction(tmp_path: Path) -> None:
    wanted = {"sum": "atomicrmw add", "least": "atomicrmw umin", "product": "cmpxchg", "chosen": "cmpxchg"}
    for update, instruction in wanted.items():
        f, r = histogram(UPDATES[update], "u32")
        for threads in (False, True):
            if threads:
                f.update().atomic().parallel(r.y)
            f.compile_to_llvm_assembly(str(tmp_path / "f.ll"))
            assert (instruction in (tmp_path / "f.ll").read_text()) == threads


def test_components_that_do_not_are_updated_one_by_one() -> None:
    image, f, r = hl.Buffer(DATA), hl.Func("f"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    f[()] = (hl.i32(0), hl.u8(0))
    f[()] = (f[()][0] + image[r.x, r.y], hl.max(f[()][1], image[r.x, r.y]))
    agrees(f, [], lambda: f.update().atomic().parallel(r.y).vectorize(r.x, 8))
    shown = f.lowered()
    assert "lanes[+]" in shown
    assert "lanes[max]" in shown
    assert ".value" not in shown


def test_lanes_of_one_point_are_joined_before_they_are_stored() -> None:
    f, r = whole(UPDATES["sum"], "i32")
    f.update().atomic().vectorize(r.x, 8)
    shown = f.lowered()
    assert "lanes[+]" in shown
    assert "atomic" not in shown
    f.update().parallel(r.y)
    assert "atomic" in f.lowered()
    g, q = histogram(UPDATES["sum"], "i32")
    g.update().atomic().vectorize(q.x, 8)
    assert "lanes[+]" not in g.lowered()


def test_lanes_that_do_not_run_touch_nothing() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 8)], "r")
    bound = hl.Param(hl.Int(32), "bound")
    r.where(r.x < bound)
    f[x] = 7
    f[bound] += r.x
    f.update().atomic().vectorize(r.x, 8)
    for count in (0, 3):
        bound.set(count)
        assert same(expected(f, [4])[0], computed(f, [4])[0])


def test_other_loops_keep_running_as_they_did() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 30), (0, 5)], "r")
    f[x] = 1
    f[x] += r.x * x + r.y
    agrees(f, [37], lambda: f.update().atomic().reorder(x, r.x, r.y).parallel(r.y).vectorize(x, 8))


def test_data_may_be_computed_inside_the_parallel_loop() -> None:
    g, f, r = hl.Func("g"), hl.Func("f"), hl.RDom([(0, 30), (0, 5)], "r")
    y = hl.Var("y")
    g[x, y] = x * 7 + y
    f[x] = 1
    f[g[r.x, r.y] % 8] += g[r.x, r.y]
    agrees(f, [8], lambda: (g.compute_at(f, r.y), f.update().atomic().parallel(r.y)))


def test_floats_only_where_they_are_not_rounded_or_rounding_is_asked_for() -> None:
    f, r = whole(UPDATES["greatest"], "f32")
    agrees(f, [], lambda: f.update().atomic().parallel(r.y).vectorize(r.x, 8))
    for update in ("sum", "product", "chosen"):
        g, q = histogram(UPDATES[update], "f32")
        with pytest.raises(ScheduleError, match=r"rounded in another order.*override_associativity_test=True"):
            g.update().atomic().parallel(q.y)
    h, q = histogram(UPDATES["sum"], "f64")
    before = expected(h, [16])
    h.update().atomic(override_associativity_test=True).parallel(q.y).vectorize(q.x, 4)
    np.testing.assert_allclose(computed(h, [16])[0], before[0], rtol=1e-12)


def test_without_a_proof_nothing_runs_at_once() -> None:
    f, r = histogram(lambda a, b: a * 2 + b, "i32")
    with pytest.raises(ScheduleError, match=r"update\(0\): parallel\(r.*\.y\) .* does not commute"):
        f.update().atomic().parallel(r.y)
    with pytest.raises(ScheduleError, match=r"vectorize\(r.*\.x\) .* leave the loop serial"):
        f.update().atomic().vectorize(r.x, 8)
    agrees(f, [16], lambda: f.update().atomic(True).parallel(r.y).vectorize(r.x, 8))
    assert not {"parallel", "vectorized", "atomic"} & set(re.findall(r"\w+", f.lowered()))
    g = hl.Func("g")
    g[x] = x
    q = hl.RDom([(1, 9)], "q")
    g[q.x] = g[q.x - 1] + 1
    with pytest.raises(ScheduleError, match="another point"):
        g.update().atomic().parallel(q.x)


def test_an_override_runs_what_is_not_proved_in_order() -> None:
    f, r = hl.Func("f"), hl.RDom([(2, 50)], "r")
    f[x] = (0, 1)
    f[r.x] = (f[r.x - 2][1] + 1, f[r.x - 2][0] * 2)
    agrees(f, [52], lambda: f.update().atomic(True).parallel(r.x, 4).vectorize(r.x, 2))
    g, q = hl.Func("g"), hl.RDom([(0, WIDTH)], "q")
    g[x] = 0
    q.where(g[hl.i32(hl.Buffer(DATA)[q.x, 0] & 15)] < 3)
    g[hl.i32(hl.Buffer(DATA)[q.x, 0] & 15)] += 1
    agrees(g, [16], lambda: g.update().atomic(True).parallel(q.x))


_READING_ITSELF: dict[str, Callable[[Any, Any], Any]] = {
    "value at a point that it tells": lambda f, r: f.__setitem__(hl.clamp(f[r.x][0], 0, 9), (5, 7)),
    "update of a point that it tells": lambda f, r: f.__setitem__(
        hl.clamp(f[r.x][0], 0, 9),
        (f[hl.clamp(f[r.x][0], 0, 9)][0] + 1, f[hl.clamp(f[r.x][0], 0, 9)][1] + f[hl.clamp(f[r.x][0], 0, 9)][0]),
    ),
    "update where it says": lambda f, r: (
        r.where(f[r.x][0] < 9),
        f.__setitem__(r.y, (f[r.y][0] + 1, f[r.y][1] + f[r.y][0])),
    ),
}


@pytest.mark.parametrize("kind", ["parallel", "vectorize", "both"])
@pytest.mark.parametrize("name", _READING_ITSELF)
def test_what_the_function_itself_decides_runs_in_order(name: str, kind: str) -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10), (0, 10)], "r")
    f[x] = (x * 3 % 7, x)
    _READING_ITSELF[name](f, r)
    stage = f.update().atomic(override_associativity_test=True)
    before = expected(f, [10])
    if kind != "vectorize":
        stage.parallel(r.y)
    if kind != "parallel":
        stage.vectorize(r.x, 4)
    for a, b in zip(before, computed(f, [10]), strict=True):
        assert same(a, b)
    assert not {"parallel", "vectorized", "atomic"} & set(re.findall(r"\w+", f.lowered()))


SAME: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a constant": lambda f, r, bin_: 5,
    "of pure variables": lambda f, r, bin_: x * 3,
    "of the point": lambda f, r, bin_: bin_ * bin_ + x,
    "components": lambda f, r, bin_: (bin_, x, 7),
}
OTHERS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "of the iteration": lambda f, r, bin_: r.y,
    "of data": lambda f, r, bin_: hl.i32(hl.Buffer(DATA)[r.x, r.y]),
    "of a part of the point": lambda f, r, bin_: bin_ // 2 + r.y // 2,
    "of what is there": lambda f, r, bin_: 5 - f[bin_, x],
    "of what another point holds": lambda f, r, bin_: f[15 - bin_, x],
    "one component": lambda f, r, bin_: (bin_, r.x),
}


def splat(value: Callable[[Any, Any, Any], Any], components: int) -> tuple[Any, Any]:
    """A function of which some bins are written, by many iterations each."""
    f, r = hl.Func("f"), hl.RDom([(0, WIDTH), (0, HEIGHT)], "r")
    r.where(hl.Buffer(DATA)[r.x, r.y] > 60)
    bin_ = hl.i32(hl.Buffer(DATA)[r.x, r.y] % 16)
    f[u, x] = (x, -1, u)[:components] if components > 1 else u - x
    f[bin_, x] = value(f, r, bin_)
    return f, r


@pytest.mark.parametrize("name", SAME)
def test_iterations_that_write_the_same_run_in_any_order_and_at_once(name: str) -> None:
    f, r = splat(SAME[name], 3 if name == "components" else 1)
    with pytest.raises(ScheduleError, match=r"or atomic\(\) before"):
        f.update().parallel(r.y)
    schedule = "parallel vectors" if name == "of the point" else "both parallel"
    agrees(f, [16, 5], lambda: SCHEDULES[schedule](f.update().reorder(r.y, x, r.x).atomic(), r))


@pytest.mark.parametrize("name", OTHERS)
def test_iterations_that_write_something_else_keep_their_order(name: str) -> None:
    f, r = splat(OTHERS[name], 2 if name == "one component" else 1)
    with pytest.raises(ScheduleError, match="changes the order"):
        f.update().reorder(r.y, r.x)
    with pytest.raises(ScheduleError, match="changes the order of its iterations"):
        f.update().atomic().parallel(r.y)


def test_what_is_written_where_the_function_says_keeps_its_order() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    r, s = (hl.RDom([(0, 10), (0, 4)], name) for name in ("r", "s"))
    f[x] = x
    f[hl.clamp(f[r.x] + r.y, 0, 12)] = 5
    g[x] = x
    s.where(g[s.x] + s.y < 9)
    g[hl.clamp(s.x - s.y, 0, 9)] = 5
    for h, domain in ((f, r), (g, s)):
        with pytest.raises(ScheduleError, match="changes the order"):
            h.update().reorder(domain.y, domain.x)


def test_without_atomic_it_is_suggested() -> None:
    f, r = histogram(UPDATES["sum"], "i32")
    with pytest.raises(ScheduleError, match=r"or atomic\(\) before parallel\(r\.y\)"):
        f.update().parallel(r.y)


def test_rfactor_of_an_atomic_update_starts_from_serial_loops() -> None:
    f, r = histogram(UPDATES["sum"], "i32")

    def schedule() -> None:
        f.update().atomic().parallel(r.y)
        f.update().rfactor(r.y, u).compute_root().update().parallel(u)

    agrees(f, [16], schedule)
