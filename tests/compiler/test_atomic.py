"""Atomic updates: iterations that meet at a point run at once, and the serial bits come out."""

from __future__ import annotations

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
    for opted in (False, True):
        with pytest.raises(ScheduleError, match=r"update\(0\): parallel\(r.*\.y\) .* not proved to commute"):
            f.update().atomic(opted).parallel(r.y)
        with pytest.raises(ScheduleError, match=r"vectorize\(r.*\.x\) .* leave the loop serial"):
            f.update().atomic(opted).vectorize(r.x, 8)
    g = hl.Func("g")
    g[x] = x
    q = hl.RDom([(1, 9)], "q")
    g[q.x] = g[q.x - 1] + 1
    with pytest.raises(ScheduleError, match="another point"):
        g.update().atomic().parallel(q.x)


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
