"""Random stages of stencils, computed and kept anywhere: what is refused says why, what runs gives the serial bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.errors import BufferError, ScheduleError
from tests.compiler.pipelines import computed, expected, same
from tests.fuzz.execute import passes_of, tried
from tests.fuzz.schedules import has_loops

x, y = hl.Var("x"), hl.Var("y")
TAILS = list(hl.TailStrategy)


def stencil(random: Random, name: str, producers: list[Any], image: Any, output: bool) -> Any:
    """A stage that reads one or two earlier ones around its point, perhaps updated."""
    f = hl.Func(name)
    value: Any = hl.i32(0)
    for p in random.sample(producers, min(len(producers), random.choice([1, 1, 2]))):
        for _ in range(random.randint(1, 3)):
            fx, fy = random.choice([1, 1, 1, 1, 2, -1]), random.choice([1, 1, 1, 1, 2, -1])
            at = (x * fx + random.randint(-2, 2), y * fy + random.randint(-2, 2))
            if random.random() < 0.15:
                at = (x // 2 + random.randint(0, 1), at[1])
            if random.random() < 0.1:
                at = (at[0], hl.clamp(at[1], random.randint(-2, 1), random.randint(2, 6)))
            value = value * 3 + p[at]
    if not producers:
        value = image[hl.clamp(x, 0, 6), hl.clamp(y, 0, 5)] * (x + 2 * y)
    f[x, y] = value
    kind = random.choice(["", "", "", "pointwise", "columns", "row"])
    if kind == "pointwise":
        f[x, y] += x - y
    elif kind == "columns":
        r = hl.RDom([(0, 3)], f"r{name}")
        f[x, y] += r.x * x
    elif kind == "row" and not output:
        f[x, random.randint(0, 3)] += 7
    return f


def loops_of(func: Any) -> list[str]:
    return [d.name for d in func.stages[0].schedule.dimensions]


def random_loops(random: Random, f: Any, log: list[str]) -> None:
    """A split, perhaps, and a way for some loops to run."""
    for step in range(random.randint(0, 3)):
        name = random.choice(loops_of(f))
        kind = random.choice(["split", "split", "vectorize", "parallel", "unroll", "reorder"])
        arguments: dict[str, tuple[Any, ...]] = {
            "split": (name, f"o{step}", f"i{step}", random.choice([2, 3, 4]), random.choice(TAILS)),
            "vectorize": (name, random.choice([2, 4]), random.choice(TAILS)),
            "parallel": (name,),
            "unroll": (name, random.choice([2, 3])),
            "reorder": (name, random.choice(loops_of(f))),
        }
        attempt(log, f"{f.name()} {kind} {arguments[kind]}", partial(getattr(f, kind), *arguments[kind]))


def attempt(log: list[str], what: str, directive: Callable[[], Any]) -> None:
    try:
        directive()
    except ScheduleError as refused:
        log.append(f"refused: {what}: {refused}")
        return
    log.append(what)


def random_place(random: Random, f: Any, consumers: list[Any], log: list[str]) -> None:
    consumer = random.choice([*consumers, *consumers[-1:] * 3])
    loops = loops_of(consumer)
    where = random.choice(["inline", "root", "at", "store", "store", "store", "hoist"])
    inner, outer = sorted(random.choices(range(len(loops)), k=2))
    if where == "inline":
        attempt(log, f"{f.name()} inline", f.compute_inline)
        if f.has_update_definition():
            f.compute_root()
    elif where == "root":
        f.compute_root()
    else:
        f.compute_at(consumer, loops[inner])
        keep = f.hoist_storage if where == "hoist" else f.store_at
        if where != "at" and random.random() < 0.5:
            _ = f.hoist_storage_root() if where == "hoist" else f.store_root()
        elif where != "at":
            keep(consumer, loops[outer])
    log.append(f"{f.name()} {where}: {f.level}, {f.store_level}")
    for variable in (x, y):
        if random.random() < 0.15:
            f.align_bounds(variable, random.choice([2, 4]), random.randint(0, 3))
        if random.random() < 0.1:
            f.align_storage(variable, random.choice([2, 8]))
        if random.random() < 0.1:
            f.bound(variable, -40, 100)
        if random.random() < 0.05:
            f.bound_extent(variable, 60)
    if random.random() < 0.2:
        f.reorder_storage(y, x)
    log.append(f"{f.name()} {f.bounds} {f.storage}")


def specialized(random: Random, f: Any, p: Any, log: list[str]) -> None:
    stage = f.specialize(p > random.randint(0, 3))
    attempt(log, f"{f.name()} specialized parallel", lambda: stage.parallel(random.choice(loops_of(f))))
    attempt(log, f"{f.name()} specialized vectorize", lambda: stage.vectorize(x, 4))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_stages_anywhere_give_the_serial_bits(seed: int) -> None:
    log, before, func, sizes = scheduled(seed)
    for line in log:
        note(line)
    try:
        with tried(passes_of(seed)):
            after = computed(func, sizes)
    except ScheduleError as refused:
        note(str(refused))
        return
    except BufferError as refused:
        if "give a wider bound" not in str(refused):
            raise
        return
    for a, b in zip(before, after, strict=True):
        assert same(a, b), f"{log}\ninterpreted {a}\ncompiled {b}\n{func.lowered()}"


def scheduled(seed: int) -> tuple[list[str], list[np.ndarray[Any, Any]], Any, list[int]]:
    """A random pipeline under random directives, with the interpreter's answer from before them."""
    random = Random(seed)
    image = hl.Buffer(np.array([[random.randint(-9, 9) for _ in range(7)] for _ in range(6)], np.int32))
    p = hl.Param(hl.Int(32), f"p{seed}")
    p.set(random.randint(0, 4))
    funcs: list[Any] = []
    count = random.randint(2, 4)
    for place in range(count):
        funcs.append(stencil(random, f"s{place}", funcs, image, place == count - 1))
    func = funcs[-1]
    sizes = [random.randint(0, 9), random.randint(0, 8)]
    log: list[str] = [f"{sizes}", *(str(f.function) for f in funcs)]
    before = expected(func, sizes)
    for f in reversed(funcs):
        random_loops(random, f, log)
    for place in range(len(funcs) - 1):
        random_place(random, funcs[place], funcs[place + 1 :], log)
    for f in funcs:
        if f.has_update_definition() and random.random() < 0.5:
            loop = random.choice([d.name for d in f.stages[1].schedule.dimensions] or ["none"])
            run = random.choice([f.update().parallel, partial(f.update().vectorize, factor=3)])
            attempt(log, f"{f.name()} atomic {loop}", partial(run, f.update().atomic() and loop))
    if random.random() < 0.5:
        one, other = random.sample(funcs, 2)
        attempt(log, f"{one.name()} with {other.name()}", partial(one.compute_with, other, random.choice([x, y])))
    if random.random() < 0.3:
        specialized(random, random.choice(funcs), p, log)
    for f in funcs[:-1]:
        if f.level.kind == "inlined" and has_loops(f):
            f.compute_root()
    return log, before, func, sizes
