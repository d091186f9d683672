"""Random updates under random schedules: what the compiled code computes is what the interpreter says, bit for bit.

The values are few, so that ties are common and the ends of the types occur: that is where reductions go wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.errors import ScheduleError
from rfactor.ir.types import I8, I16, I32, I64, U8, U16, U32, U64
from rfactor.ir.types import Type as IrType
from tests.compiler.pipelines import computed, expected, same

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


def pixels(draw: st.DrawFn, type: IrType, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
    """Few different values, the ends of the type among them."""
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    near = [0, 1, 2, 3] if type.code == "uint" else [-1, 0, 1, 2]
    choices = near * 2 + draw(st.sampled_from([[], [type.max], [type.min], [type.min, type.max]]))
    return np.array([int(c) for c in choices], dtype_of(type))[random.integers(0, len(choices), shape)]


@dataclass
class Scheduled:
    """A pipeline with the directives that it accepted, and the interpreter's answer from before them."""

    func: Any
    sizes: list[int]
    before: list[np.ndarray[Any, Any]]
    log: list[str] = field(default_factory=list)


@st.composite
def reductions(draw: st.DrawFn) -> Scheduled:
    """An update of a family over a domain, with a predicate perhaps, at a point, of rows, or scattered."""
    name = draw(st.sampled_from(sorted(FAMILIES)))
    family, own = FAMILIES[name], draw(st.sampled_from(TYPES))
    width, height = draw(st.integers(0, 21)), draw(st.integers(0, 4))
    a, b = (hl.Buffer(pixels(draw, own, (height, width))) for _ in "ab")
    r, x, f = hl.RDom([(0, width), (0, height)], "r"), hl.Var("x"), hl.Func("f")
    where = draw(st.sampled_from(["", "", "data", "triangle", "none"]))
    if where == "data":
        r.where(b[r.x, r.y] > 1)
    elif where == "triangle":
        r.where(r.x + 3 * r.y < draw(st.integers(1, 18)))
    elif where == "none":
        r.where(r.x < 0)
    t = Type(own)
    data = Data(t, a[r.x, r.y], b[r.x, r.y], r, hl.cast(t, draw(st.integers(0, 3))))
    left = draw(st.sampled_from(["point", "point", "rows", "bins", "row", "alone"]))
    if left == "rows":
        data.v = data.v + hl.cast(t, x)
    points = {
        "point": (), "rows": (x,), "bins": (hl.i32(b[r.x, r.y] & hl.cast(t, 3)),),
        "row": (hl.i32(1),), "alone": (r.y,),
    }  # fmt: skip
    point = points[left]
    first = tuple(hl.cast(Type(own if c is None else c), draw(st.integers(0, 3))) for c in family.types)
    f[(x,) if point else ()] = first if len(first) > 1 else first[0]
    f[point] = family.update(f[point], data)
    sizes = [] if not point else [draw(st.integers(0, 9))] if left == "rows" else [4]
    found = Scheduled(f, sizes, expected(f, sizes))
    found.log.append(f"{name} of {own}, {width} x {height}, where {where or 'all'}, at {left}, {sizes}")
    return found


def loops_of(func: Any, stage: int) -> list[str]:
    return [d.name for d in func.stages[stage].schedule.dimensions]


def accepted(log: list[str], text: str, directive: Callable[[], Any]) -> Any:
    """What the directive returns; None if it is refused."""
    try:
        made = directive()
    except ScheduleError:
        return None
    log.append(text)
    return made


@st.composite
def scheduled(draw: st.DrawFn) -> Scheduled:
    case = draw(reductions())
    funcs = [case.func]
    for step in range(draw(st.integers(1, 6))):
        func = draw(st.sampled_from(funcs))
        index = draw(st.integers(0 if step > 2 else 1, func.num_update_definitions()))
        stage = func if index == 0 else func.update(index - 1)
        loops = loops_of(func, index)
        if not loops:
            continue
        name, other = draw(st.sampled_from(loops)), draw(st.sampled_from(loops))
        factor = draw(st.sampled_from([1, 2, 3, 4, 8]))
        kind = draw(
            st.sampled_from(["split", "split", "fuse", "reorder", "vectorize", "parallel", "unroll", *["rfactor"] * 5])
        )
        at = f"{func.name()}.s{index}"
        if kind == "rfactor":
            if index == 0:
                continue
            own = [d.name for d in func.stages[index].schedule.dimensions if d.reduction]
            if not own:
                continue
            chosen = draw(st.lists(st.sampled_from(own), min_size=1, max_size=2, unique=True))
            pairs = [(rvar, hl.Var(f"u{step}{i}")) for i, rvar in enumerate(chosen)]
            made = accepted(case.log, f"{at} rfactor {chosen}", partial(stage.rfactor, pairs))
            if made is not None:
                funcs.append(made)
                _place(draw, case, made, func, index, pairs, factor)
            continue
        arguments = {
            "split": (name, f"o{step}", f"i{step}", factor), "fuse": (name, other, f"t{step}"),
            "reorder": (name, other), "vectorize": (name, factor), "parallel": (name,), "unroll": (name, factor),
        }[kind]  # fmt: skip
        accepted(case.log, f"{at} {kind} {arguments}", partial(getattr(stage, kind), *arguments))
    return case


def _place(draw: st.DrawFn, case: Scheduled, made: Any, consumer: Any, index: int, pairs: Any, factor: int) -> None:
    """Where an intermediate is computed, and its new loops."""
    pure = [name for name in loops_of(consumer, index) if name in consumer.function.variables]
    if pure and draw(st.booleans()):
        loop = draw(st.sampled_from(pure))
        accepted(
            case.log, f"{made.name()} at {consumer.name()} {loop}", lambda: made.compute_at(consumer, hl.Var(loop))
        )
    for _, var in pairs:
        kind = draw(st.sampled_from(["", "", "parallel", "vectorize"]))
        if kind:
            given = (var, factor) if kind == "vectorize" else (var,)
            stage = made.update(0)
            accepted(case.log, f"{made.name()}.s1 {kind} {var}", partial(getattr(stage, kind), *given))


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(scheduled())
def test_any_schedule_gives_the_serial_bits(case: Scheduled) -> None:
    for line in case.log:
        note(line)
    try:
        after = computed(case.func, case.sizes)
    except ScheduleError as refused:
        note(str(refused))
        assume(False)
    for a, b in zip(case.before, after, strict=True):
        assert same(a, b), f"{case.log}\ninterpreted {a}\ncompiled {b}\n{case.func.lowered()}"
