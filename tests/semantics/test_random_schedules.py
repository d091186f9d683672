"""Random updates under random schedules: what the compiled code computes is what the interpreter says, bit for bit.

The values are few, so that ties are common and the ends of the types occur: that is where reductions go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.errors import BufferError, ScheduleError
from rfactor.ir.types import I8, I16, I32, I64, U8, U16, U32, U64
from rfactor.ir.types import Type as IrType
from tests.compiler.pipelines import computed, expected, same
from tests.fuzz.execute import passes_of, tried

TYPES = (U8, U16, U32, U64, I8, I16, I32, I64)


@dataclass
class Data:
    """What an update may use: a value and another of its type, where they stand, and a small constant."""

    type: Type
    v: Any
    w: Any
    r: Any
    k: Any


Update = Callable[[Any, Data], Any]
"""From the function at the updated point and data to the new values."""


def pair(first: Update, second: Update) -> Update:
    return lambda f, d: (first(f, d), second(f, d))


def select_by(better: Callable[[Any, Any], Any], *payloads: Callable[[Data], Any]) -> Update:
    """The better value with what came with it."""

    def update(f: Any, d: Data) -> Any:
        c = better(d.v, f[0])
        return (hl.select(c, d.v, f[0]), *(hl.select(c, p(d), f[i + 1]) for i, p in enumerate(payloads)))

    return update


@dataclass(frozen=True)
class Family:
    """An update and the types of its components: `None` for that of the data."""

    update: Update
    types: tuple[IrType | None, ...] = (None,)


FAMILIES = {
    "sum": Family(lambda f, d: f + d.v),
    "product": Family(lambda f, d: f * d.v),
    "largest": Family(lambda f, d: hl.max(f, d.v - d.k)),
    "bits": Family(lambda f, d: f ^ (d.v & d.k)),
    "count": Family(lambda f, d: hl.select(d.v > d.k, f + 1, f)),
    "last": Family(lambda f, d: d.v),
    "clamped": Family(lambda f, d: hl.min(hl.max(f, d.k), d.v)),
    "horner": Family(lambda f, d: f * d.k + d.v),
    "first nonzero": Family(lambda f, d: hl.select(f != 0, f, d.v)),
    "sum and largest": Family(pair(lambda f, d: f[0] + d.v, lambda f, d: hl.max(f[1], d.w)), (None, None)),
    "complex": Family(pair(lambda f, d: f[0] * d.v - f[1] * d.w, lambda f, d: f[0] * d.w + f[1] * d.v), (None, None)),
    "argmin, last": Family(
        pair(lambda f, d: hl.min(f[0], d.v), lambda f, d: hl.select(f[0] < d.v, f[1], d.r.x)), (None, I32)
    ),
    "argmin, first": Family(
        pair(lambda f, d: hl.min(f[0], d.v), lambda f, d: hl.select(d.v < f[0], d.r.x, f[1])), (None, I32)
    ),
    "argmax, first": Family(select_by(lambda a, b: a > b, lambda d: d.r.x, lambda d: d.r.y), (None, I32, I32)),
    "argmax, last": Family(select_by(lambda a, b: a >= b, lambda d: d.r.x, lambda d: d.r.y), (None, I32, I32)),
    "value with the least": Family(select_by(lambda a, b: a < b, lambda d: d.w), (None, None)),
    "value with the last least": Family(select_by(lambda a, b: a <= b, lambda d: d.w), (None, None)),
}


def pixels(random: Random, type: IrType, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Few different values, the ends of the type among them."""
    near = [0, 1, 2, 3] if type.code == "uint" else [-1, 0, 1, 2]
    ends = random.choice([[], [type.max], [type.min], [type.min, type.max]])
    choices = [int(c) for c in near * 2 + ends]
    return np.array(
        [[random.choice(choices) for _ in range(shape[1])] for _ in range(shape[0])], dtype_of(type)
    ).reshape(shape)


@dataclass
class Scheduled:
    """A pipeline with the directives that it accepted, and the interpreter's answer from before them."""

    func: Any
    sizes: list[int]
    before: list[np.ndarray[Any, Any]]
    log: list[str] = field(default_factory=list)


def image(random: Random, type: IrType, shape: tuple[int, int], given: bool) -> Any:
    """An image, known now or given at run time."""
    buffer = hl.Buffer(pixels(random, type, shape))
    if not given:
        return buffer
    parameter = hl.ImageParam(Type(type), 2)
    parameter.set(buffer)
    return parameter


def reduction(random: Random) -> Scheduled:
    """An update of a family over a domain, with a predicate perhaps, at a point, of rows, or scattered."""
    name = random.choice(sorted(FAMILIES))
    family, own = FAMILIES[name], random.choice(TYPES)
    width, height = random.choice([0, 1, 2, 3, 5, 7, 8, 11, 16, 21]), random.randint(0, 4)
    given = random.random() < 0.4
    a, b = (image(random, own, (height, width), given) for _ in "ab")
    size = (a.width(), a.height()) if given else (width, height)
    r, x, f = hl.RDom([(0, size[0]), (0, size[1])], "r"), hl.Var("x"), hl.Func("f")
    where = random.choice(["", "", "", "data", "triangle", "none"])
    if where == "data":
        r.where(b[r.x, r.y] > 1)
    elif where == "triangle":
        r.where(r.x + 3 * r.y < random.randint(1, 18))
    elif where == "none":
        r.where(r.x < 0)
    t = Type(own)
    data = Data(t, a[r.x, r.y], b[r.x, r.y], r, hl.cast(t, random.randint(0, 3)))
    left = random.choice(["point", "point", "point", "rows", "bins", "row", "alone"])
    if left == "rows":
        data.v = data.v + hl.cast(t, x)
    points = {
        "point": (), "rows": (x,), "bins": (hl.i32(b[r.x, r.y] & hl.cast(t, 3)),),
        "row": (hl.i32(1),), "alone": (r.y,),
    }  # fmt: skip
    point = points[left]
    first = tuple(hl.cast(Type(own if c is None else c), random.randint(0, 3)) for c in family.types)
    f[(x,) if point else ()] = first if len(first) > 1 else first[0]
    f[point] = family.update(f[point], data)
    sizes = [] if not point else [random.randint(0, 9)] if left == "rows" else [4]
    found = Scheduled(f, sizes, expected(f, sizes))
    found.log.append(f"{name} of {own}, {width} x {height}, {given=}, where {where or 'all'}, at {left}, {sizes}")
    return found


def loops_of(func: Any, stage: int, *, reductions: bool = False) -> list[str]:
    return [d.name for d in func.stages[stage].schedule.dimensions if d.reduction or not reductions]


def accepted(log: list[str], text: str, directive: Callable[[], Any]) -> Any:
    """What the directive returns; None if it is refused."""
    try:
        made = directive()
    except ScheduleError:
        return None
    log.append(text)
    return made


def scheduled(seed: int) -> Scheduled:
    """A random pipeline under random directives. All choices come from one seed, which spreads them evenly."""
    random = Random(seed)
    case = reduction(random)
    funcs = [case.func]
    for step in range(random.randint(1, 7)):
        func = random.choice(funcs)
        index = random.randint(0 if step > 2 else 1, func.num_update_definitions())
        stage = func if index == 0 else func.update(index - 1)
        loops = loops_of(func, index)
        if not loops:
            continue
        if index and random.random() < 0.5:
            made = _factored(random, case, func, index, step)
            if made is not None:
                funcs.append(made)
            continue
        name, other, factor = random.choice(loops), random.choice(loops), random.choice([1, 2, 3, 4, 8])
        kind = random.choice(["split", "split", "split", "fuse", "reorder", "vectorize", "parallel", "unroll"])
        arguments = {
            "split": (name, f"o{step}", f"i{step}", factor), "fuse": (name, other, f"t{step}"),
            "reorder": (name, other), "vectorize": (name, factor), "parallel": (name,), "unroll": (name, factor),
        }[kind]  # fmt: skip
        accepted(case.log, f"{func.name()}.s{index} {kind} {arguments}", partial(getattr(stage, kind), *arguments))
    return case


def _factored(random: Random, case: Scheduled, func: Any, index: int, step: int) -> Any:
    """An intermediate, computed somewhere, its new loops run somehow; None if it is refused."""
    own = loops_of(func, index, reductions=True)
    chosen = random.sample(own, min(len(own), random.choice([1, 1, 2])))
    if not chosen:
        return None
    pairs = [(rvar, hl.Var(f"u{step}{i}")) for i, rvar in enumerate(chosen)]
    made = accepted(
        case.log, f"{func.name()}.s{index} rfactor {chosen}", partial(func.update(index - 1).rfactor, pairs)
    )
    if made is None:
        return None
    pure = [name for name in loops_of(func, index) if name in func.function.variables]
    if pure and random.random() < 0.5:
        loop = random.choice(pure)
        accepted(case.log, f"{made.name()} at {func.name()} {loop}", partial(made.compute_at, func, hl.Var(loop)))
    for _, var in pairs:
        kind = random.choice(["", "", "parallel", "vectorize"])
        if kind:
            given = (var, random.choice([2, 4, 8])) if kind == "vectorize" else (var,)
            accepted(case.log, f"{made.name()}.s1 {kind} {given}", partial(getattr(made.update(0), kind), *given))
    return made


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_any_schedule_gives_the_serial_bits(seed: int) -> None:
    """Confluence (Reinking et al. 2020, definition 3.3): the serial bits, or a check made on entry that fails."""
    case = scheduled(seed)
    for line in case.log:
        note(line)
    try:
        with tried(passes_of(seed)):
            after = computed(case.func, case.sizes)
    except (ScheduleError, BufferError) as refused:
        note(str(refused))
        assume(False)
    for a, b in zip(case.before, after, strict=True):
        assert same(a, b), f"{case.log}\ninterpreted {a}\ncompiled {b}\n{case.func.lowered()}"
