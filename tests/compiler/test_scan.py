"""`parallel_scan`: every prefix is that of the serial loop; what is no scan is refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.compiler.pipeline import loop_nest
from rfactor.errors import ScheduleError
from rfactor.ir.types import I8, I16, I32, I64, U8, U16, U32, U64
from tests.compiler.pipelines import agrees, computed, expected, same
from tests.compiler.test_lowering import printed
from tests.fuzz.execute import passes_of, tried

x, y = hl.Var("x"), hl.Var("y")
Step = Callable[[Any, Any, Any], Any]
"""From the value one step before, the element and a constant to the new value."""

STEPS: dict[str, tuple[Step, int]] = {
    "sum": (lambda f, a, k: f + a, 1),
    "product": (lambda f, a, k: f * a, 1),
    "largest": (lambda f, a, k: hl.max(f, a), 1),
    "bits": (lambda f, a, k: f ^ (a & k), 1),
    "affine": (lambda f, a, k: f * k + a, 1),
    "affine by data": (lambda f, a, k: f * a + k, 1),
    "clamped": (lambda f, a, k: hl.min(hl.max(f, k), a), 1),
    "last": (lambda f, a, k: a, 1),
    "fibonacci": (lambda f, a, k: (f[1], f[0] + f[1]), 2),
    "sum and largest": (lambda f, a, k: (f[0] + a, hl.max(f[1], a)), 2),
    "value and its least": (lambda f, a, k: (hl.min(f[0], a), hl.select(a < f[0], k, f[1])), 2),
}


def numbers(random: Random, type: Any, *shape: int) -> Any:
    """Few different values, the ends of the type among them."""
    choices = [0, 1, 2, 3, int(type.max), int(type.min)]
    values = [random.choice(choices) for _ in range(int(np.prod(shape)))]
    return hl.Buffer(np.array(values, dtype_of(type)).reshape(shape))


def recurrence(random: Random) -> tuple[Any, Any, list[int]]:
    """A function that steps along a dimension, the variable that steps, and sizes."""
    type_ = random.choice([U8, U16, U32, U64, I8, I16, I32, I64])
    step, components = STEPS[random.choice(sorted(STEPS))]
    first, count = random.randint(1, 3), random.randint(-1, 40)
    form = random.choice(["line", "rows", "columns", "rows by RVar", "at run time"])
    away = random.choice([0, 1 - first, 1, 5])
    f, size = hl.Func("f"), max(first + away + count, 1) + random.randint(0, 2)
    k = hl.cast(Type(type_), random.randint(0, 5))
    if form == "at run time":
        p = hl.Param(hl.Int(32), f"p{random.getrandbits(60)}")
        p.set(count)
        count = p
    bounds = [(first, count)] + ([(0, 3)] if form == "rows by RVar" else [])
    r, a = hl.RDom(bounds, "r"), numbers(random, type_, 3, 64)
    here, before = (r.x + away if away else r.x), r.x + (away - 1)

    def values(value: Any) -> Any:
        return value if components == 1 else (value, hl.cast(Type(type_), 2))

    if form in ("line", "at run time"):
        f[x] = values(a[x, 0])
        f[here] = step(f[before], a[r.x, 1], k)
        return f, r.x, [size]
    if form == "columns":
        f[x, y] = values(a[y, x])
        f[x, here] = step(f[x, before], a[r.x, x], k)
        return f, r.x, [3, size]
    row = y if form == "rows" else r.y
    f[x, y] = values(a[x, y])
    f[here, row] = step(f[before, row], a[r.x, row], k)
    return f, r.x, [size, 3]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_every_prefix_has_the_serial_bits(seed: int) -> None:
    random = Random(seed)
    f, stepping, sizes = recurrence(random)
    before = expected(f, sizes)
    f.update(0).parallel_scan(stepping, random.choice([2, 3, 4, 8, 16, 64]))
    pure = [d.name for d in f.stages[1].schedule.dimensions if not d.reduction]
    if pure and random.random() < 0.5:
        f.update(0).vectorize(pure[0], 2)
    with tried(passes_of(seed)):
        after = computed(f, sizes)
    for a, b in zip(before, after, strict=True):
        assert same(a, b), f"{f.function}\n{a}\n{b}\n{f.lowered()}"


def running_sum(count: int = 99) -> tuple[Any, Any]:
    a, f, r = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f"), hl.RDom([(1, count)], "r")
    f[x] = a[0]
    f[r.x] = f[r.x - 1] + a[r.x]
    return f, r


def test_blocks_are_reduced_in_lanes_then_scanned_then_run_at_once() -> None:
    f, r = running_sum(64 * 64 * 5 + 3)
    f.update(0).parallel_scan(r.x, 64)
    assert loop_nest([f]) == dedent("""\
        produce f.scan0:
          parallel r.x.block in [0, 319]:
            vectorized r.x.lane in [0, 63]:
              f.scan0(...) = ...
          parallel r.x.block in [0, 319]:
            for r.x.step in [1, 0]:
              vectorized r.x.lane in [0, 63]:
                f.scan0(...) = ...
          for r.x.block in [0, 319]:
            for r.x.other in [1, 63]:
              f.scan0(...) = ...
          for r.x.end in [1, 319]:
            f.scan0(...) = ...
        consume f.scan0:
          produce f:
            for x:
              f(...) = ...
            for r.x.end in [1, 320]:
              f(...) = ...
            parallel r.x.block in [0, 320]:
              for r.x.step in [0, 62]:
                f(...) = ...
        """)


def test_an_operator_that_does_not_commute_is_joined_in_order_in_tiles() -> None:
    a, f, r = hl.ImageParam(hl.Int(64), 1, "a"), hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x] = a[0]
    f[r.x] = f[r.x - 1] * 3 + a[r.x]
    f.update(0).parallel_scan(r.x, 4)
    assert loop_nest([f]) == dedent("""\
        produce f.scan0:
          parallel r.x.block in [0, 23]:
            f.scan0(...) = ...
          parallel r.x.block in [0, 23]:
            f.scan0(...) = ...
          parallel r.x.block in [0, 23]:
            produce f.scan0.whole:
              vectorized f.scan0.whole.lane in [0, 1]:
                f.scan0.whole(...) = ...
            consume f.scan0.whole:
              produce f.scan0.whole.0:
                f.scan0.whole.0(...) = ...
              consume f.scan0.whole.0:
                f.scan0(...) = ...
          for r.x.end in [1, 23]:
            f.scan0(...) = ...
        consume f.scan0:
          produce f:
            for x:
              f(...) = ...
            for r.x.end in [1, 24]:
              f(...) = ...
            parallel r.x.block in [0, 24]:
              for r.x.step in [0, 1]:
                produce f.scan0.run:
                  vectorized f.scan0.run.lane in [0, 1]:
                    f.scan0.run(...) = ...
                consume f.scan0.run:
                  produce f.scan0.run.0:
                    vectorized f.scan0.run.lane in [0, 1]:
                      f.scan0.run.0(...) = ...
                    f.scan0.run.0(...) = ...
                  consume f.scan0.run.0:
                    vectorized r.x.lane in [0, 1]:
                      f(...) = ...
            f(...) = ...
        """)


def test_what_does_not_lie_side_by_side_is_computed_point_by_point() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f"), hl.RDom([(1, 99)], "r")
    f[x, y] = 1
    f[x, r.x] = f[x, r.x - 1] * 3 + a[x, r.x]
    f.update(0).parallel_scan(r.x, 64)
    assert "lane" not in loop_nest([f])


@pytest.mark.parametrize("name", sorted(STEPS))
@pytest.mark.parametrize("type_", [U8, I64])
def test_tiles_and_what_fills_none_have_the_serial_bits(name: str, type_: Any) -> None:
    step, components = STEPS[name]
    a, k, count = numbers(Random(1), type_, 300), hl.cast(Type(type_), 3), hl.Param(hl.Int(32), "count")
    f, r = hl.Func("f"), hl.RDom([(2, count)], "r")
    f[x] = a[x] if components == 1 else (a[x], k)
    f[r.x] = step(f[r.x - 1], a[r.x], k)
    sizes = [-3, 0, 1, 31, 33, 64, 191, 297]
    before = []
    for size in sizes:
        count.set(size)
        before.append(expected(f, [300]))
    f.update(0).parallel_scan(r.x, 32)
    for size, serial in zip(sizes, before, strict=True):
        count.set(size)
        assert all(same(p, q) for p, q in zip(serial, computed(f, [300]), strict=True)), size


@pytest.mark.parametrize("block", [5, 12])
def test_blocks_that_no_vector_fills_have_the_serial_bits(block: int) -> None:
    a, f, r = numbers(Random(1), I64, 60), hl.Func("f"), hl.RDom([(1, 58)], "r")
    f[x] = a[x]
    f[r.x] = f[r.x - 1] * 3 + a[r.x]
    serial = expected(f, [60])
    f.update(0).parallel_scan(r.x, block)
    assert all(same(p, q) for p, q in zip(serial, computed(f, [60]), strict=True))


def test_a_later_update_keeps_its_number_and_a_consumer_sees_all() -> None:
    a, g = hl.Buffer(np.arange(40, dtype=np.int32)), hl.Func("g")
    f, r = hl.Func("f"), hl.RDom([(1, 39)], "r")
    f[x] = a[0]
    f[r.x] = f[r.x - 1] + a[r.x]
    f[x] += 1
    g[x] = f[x] + f[39 - x]
    before = expected(g, [40])
    f.compute_root().update(0).parallel_scan(r.x, 4)
    f.update(1).vectorize(x, 8)
    assert same(before[0], computed(g, [40])[0])


def refused(reason: str, f: Any, variable: Any) -> None:
    with pytest.raises(ScheduleError, match=rf"f\.update\(0\): parallel_scan\(.*\): {reason}"):
        f.update(0).parallel_scan(variable)


def test_what_is_no_scan_is_refused() -> None:
    def made(update: Callable[[Any, Any], Any], at: Callable[[Any], Any] = lambda r: r.x, **where: Any) -> Any:
        f, r = hl.Func("f"), hl.RDom([(2, 20), (0, 4)], "r") if where.get("two") else hl.RDom([(2, 20)], "r")
        if where.get("where"):
            r.where(r.x != 3)
        f[x] = x
        f[at(r)] = update(f, r)
        return f, r.x

    refused(r"the update reads f\(r\.x - 2\); .* f\(r\.x - 1\)", *made(lambda f, r: f[r.x - 1] + f[r.x - 2]))
    refused(r"the update reads f\(r\.x\)", *made(lambda f, r: f[r.x] + r.x))
    refused(r"the domain has a predicate", *made(lambda f, r: f[r.x - 1] + r.x, where=True))
    refused(r"r\.y does not stand alone as an argument of f\(r\.x\)", *made(lambda f, r: f[r.x - 1] + r.y, two=True))
    refused(
        r"f\(40 - r\.x\) is written, where 40 - r\.x is no reduction variable alone",
        *made(lambda f, r: f[41 - r.x] + 1, lambda r: 40 - r.x),
    )
    refused(r"the recurrence x0 \* x0 \+ .* is not associative", *made(lambda f, r: f[r.x - 1] * f[r.x - 1] + r.x))
    f, _ = made(lambda f, r: f[r.x - 1] + r.x)
    refused(r"the update has no such reduction variable; it has r\.x", f, hl.RVar("q"))
    with pytest.raises(ScheduleError, match="blocks of 2 iterations or more, not 1"):
        f.update(0).parallel_scan("r.x", 1)


def test_data_at_a_place_that_depends_on_the_function_is_refused() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f"), hl.RDom([(1, 20)], "r")
    f[x] = 0
    f[r.x] = f[r.x - 1] + a[hl.clamp(f[r.x - 1], 0, 9)]
    refused(r"it reads a\(.*\), at a place that depends on f", f, r.x)


def test_a_scan_takes_its_loop_as_it_is() -> None:
    f, r = running_sum()
    f.update(0).parallel_scan(r.x).split(r.x, "ro", "ri", 4)
    with pytest.raises(ScheduleError, match=r"f\.update\(0\): parallel_scan\(r\.x\) cuts the loop into blocks itself"):
        f.lowered()
    f, r = running_sum()
    f.update(0).parallel_scan(r.x).unroll(r.x)
    with pytest.raises(ScheduleError, match="the loop is unrolled already"):
        f.lowered()
    f, r = running_sum()
    p = hl.Param(hl.Int(32), "p")
    f.update(0).specialize(p > 3).parallel_scan(r.x).unroll(r.x)
    with pytest.raises(ScheduleError, match=r"f\S*\.update\(0\): parallel_scan\(\S*\): the loop is unrolled already"):
        f.lowered()
    f, r = running_sum()
    f.update(0).parallel_scan(r.x)
    with pytest.raises(ScheduleError, match="is a parallel scan"):
        f.update(0).rfactor(r.x, hl.Var("u"))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("size", [1, 7, 40, 131])
def test_a_case_of_an_update_is_a_scan(size: int, whole: bool) -> None:
    p, a, f = hl.Param(hl.Int(32), "p", 0), hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    a.set(np.random.default_rng(size).integers(0, 99, size).astype(np.int32))
    r = hl.RDom([(1, a.width() - 1)], "r")
    f[x] = a[hl.clamp(x, 0, a.width() - 1)]
    f[r.x] = hl.select(p > 3, f[r.x - 1] * 2 + a[r.x], f[r.x - 1] + a[r.x])
    before = {}
    for value in (0, 2, 5, 9):
        p.set(value)
        before[value] = expected(f, [size])
    update = f.update(0)
    update.specialize(p > 7).parallel_scan(r.x, 8)
    update.specialize(p > 3).unroll(r.x, 2)
    update.specialize(p > 1).parallel_scan(r.x, 16)
    if whole:
        update.parallel_scan(r.x, 4)
    text = printed(f, "tidy")
    assert len(re.findall(r"if .*:\n +produce f\S*\.scan\d:", text)) == (3 if whole else 2)
    for value, answer in before.items():
        p.set(value)
        agrees(f, answer, [size])
        assert np.array_equal(expected(f, [size])[0], answer[0])


def test_a_recurrence_is_a_scan_where_its_case_makes_it_one() -> None:
    p, f, r = hl.Param(hl.Int(32), "p", 5), hl.Func("f"), hl.RDom([(1, 40)], "r")
    f[x] = x
    f[r.x] = hl.select(p > 3, f[r.x - 1] + f[r.x] * 0 + r.x, f[r.x - 1] * f[r.x - 1] + r.x)
    with pytest.raises(ScheduleError, match="it may read only the point"):
        f.update(0).specialize(p > 9).parallel_scan(r.x)
    g = hl.Func("g")
    g[x] = x
    g[r.x] = hl.select(p > 3, g[r.x - 1] + r.x, g[r.x - 1] * g[r.x - 1] + r.x)
    with pytest.raises(ScheduleError, match="associative"):
        g.update(0).parallel_scan(r.x, 8)
    before = {}
    for value in (1, 5):
        p.set(value)
        before[value] = expected(g, [41])
    g.update(0).specialize(p > 3).parallel_scan(r.x, 8)
    for value in (1, 5):
        p.set(value)
        agrees(g, before[value], [41])
