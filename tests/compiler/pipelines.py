"""Random pipelines and random schedules, and the interpreter's answer to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

import rfactor as hl
from rfactor.compiler.language.buffer import ImageParam
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.errors import FactorError, ScheduleError
from rfactor.ir.bfloat import STORED, of_words
from rfactor.ir.types import BOOL, I8, I16, I32, I64, SCALARS, U8, U16, U32, U64
from rfactor.semantics.interpreter import ImageValue, interpret
from tests.fuzz.schedules import has_loops

INTEGERS = (U8, U16, U32, U64, I8, I16, I32, I64)


def expected(func: Any, sizes: list[int]) -> list[np.ndarray[Any, Any]]:
    """What the interpreter says of `func` over `sizes`, a component each."""
    frozen = freeze(func)
    images = {}
    for image in frozen.images:
        buffer = image.get() if isinstance(image, ImageParam) else image
        images[image.name()] = ImageValue(buffer.array, buffer.mins)
    parameters = {p.variable.name: p.get() for p in frozen.parameters}
    box = tuple((0, size) for size in sizes)
    return list(interpret(frozen.algorithm, images, parameters, {func.name(): box})[func.name()])


def computed(func: Any, sizes: list[int]) -> list[np.ndarray[Any, Any]]:
    """What the compiled pipeline says."""
    result = func.realize(sizes)
    return [b.array for b in (result if isinstance(result, tuple) else (result,))]


def agrees(func: Any, before: list[np.ndarray[Any, Any]], sizes: list[int]) -> None:
    """Assert that the compiled values are those of `before`."""
    for a, b in zip(before, computed(func, sizes), strict=True):
        assert same(a, b), func.lowered()


def same(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have the same bits, NaNs of any payload being the same."""
    if a.dtype == STORED:
        return a.dtype == b.dtype and same(of_words(a), of_words(b))
    if a.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b)))
    return bool(np.array_equal(a, b))


@dataclass
class Case:
    """A pipeline to schedule and to run."""

    func: Any
    sizes: list[int]
    producers: list[Any] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    """The directives that were accepted."""


def values(draw: st.DrawFn, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    seed = draw(st.integers(0, 1 << 16))
    random = np.random.default_rng(seed)
    if dtype.kind == "f":
        return random.integers(-4, 5, shape).astype(dtype)
    raw = random.integers(0, 256, (*shape, dtype.itemsize), dtype=np.uint8)
    return raw.view(dtype)[..., 0] if dtype.kind != "b" else raw[..., 0] > 127


def _type(type: Any) -> Type:
    return Type(type)


@st.composite
def pointwise(draw: st.DrawFn) -> Case:
    """Two stages of neighbours, the first scheduled anywhere."""
    type_ = draw(st.sampled_from(SCALARS))
    width, height = draw(st.integers(0, 9)), draw(st.integers(0, 5))
    image = hl.Buffer(values(draw, (height + 2, width + 3), dtype_of(type_)))
    x, y, g, f = hl.Var("x"), hl.Var("y"), hl.Func("g"), hl.Func("f")
    at = image[hl.clamp(x, 0, width + 2), hl.clamp(y, 0, height + 1)]
    g[x, y] = ~at if type_ == BOOL else hl.max(at, hl.cast(_type(type_), 1))
    dx, dy = draw(st.integers(-1, 2)), draw(st.integers(0, 1))
    left, right = g[x, y], g[x + dx, y + dy]
    f[x, y] = hl.select(left < right, left, right) if type_ == BOOL else left + right
    return Case(f, [width, height], [g])


@st.composite
def reduction(draw: st.DrawFn) -> Case:
    """An associative update of a scalar, of rows, or of bins, perhaps of two components."""
    type_ = draw(st.sampled_from(INTEGERS))
    t = _type(type_)
    width, height = draw(st.integers(0, 20)), draw(st.integers(0, 4))
    image = hl.Buffer(values(draw, (height, width), dtype_of(type_)))
    r = hl.RDom([(0, width), (0, height)], "r")
    here = image[r.x, r.y]
    x, f = hl.Var("x"), hl.Func("f")
    condition = draw(st.integers(0, 4))
    if condition == 1:
        r.where(r.x + r.y < draw(st.integers(-1, 12)))
    elif condition == 2:
        r.where(here > 3)
    elif condition == 3:
        r.where((r.x >= 2) & (image[r.x - 2, r.y] > 1))
    shape = draw(st.sampled_from(["scalar", "bins", "rows", "pair"]))
    op: Callable[[Any, Any], Any] = draw(
        st.sampled_from([lambda a, b: a + b, hl.max, hl.min, lambda a, b: a ^ b, lambda a, b: a * b])
    )
    first = hl.cast(t, draw(st.integers(0, 5)))
    if shape == "scalar":
        f[()] = first
        f[()] = op(f[()], here)
        sizes: list[int] = []
    elif shape == "pair":
        f[()] = (first, hl.i32(1))
        f[()] = (op(f[()][0], here), f[()][1] + r.x)
        sizes = []
    elif shape == "bins":
        f[x] = first
        at = hl.i32(here & hl.cast(t, 7))
        f[at] = op(f[at], here)
        sizes = [8]
    else:
        f[x] = first
        f[x] = op(f[x], here + hl.cast(t, x))
        sizes = [draw(st.integers(0, 11))]
    return Case(f, sizes)


@st.composite
def scheduled(draw: st.DrawFn, cases: st.SearchStrategy[Case]) -> tuple[Case, list[np.ndarray[Any, Any]]]:
    """A case with whatever directives it accepted, and the interpreter's answer from before them."""
    case = draw(cases)
    before = expected(case.func, case.sizes)
    funcs = [case.func, *case.producers]
    for step in range(draw(st.integers(0, 6))):
        func = draw(st.sampled_from(funcs))
        index = draw(st.integers(0, func.num_update_definitions()))
        stage = func if index == 0 else func.update(index - 1)
        made = _direct(draw, case, func, stage, index, step)
        if made is not None:
            funcs.append(made)
    for producer in case.producers:
        _place(draw, case, producer)
    return case, before


def _place(draw: st.DrawFn, case: Case, producer: Any) -> None:
    where = draw(st.sampled_from(["root", "at"] if has_loops(producer) else ["root", "at", "inline"]))
    if where == "root":
        producer.compute_root()
    elif where == "at":
        loops = [d.name for d in case.func.stages[0].schedule.dimensions]
        producer.compute_at(case.func, draw(st.sampled_from(loops)))
    case.log.append(f"{producer.name()} {where}")


def _direct(draw: st.DrawFn, case: Case, func: Any, stage: Any, index: int, step: int) -> Any:
    loops = [d.name for d in func.stages[index].schedule.dimensions]
    if not loops:
        return None
    name = draw(st.sampled_from(loops))
    other = draw(st.sampled_from(loops))
    factor = draw(st.sampled_from([1, 2, 3, 4, 8]))
    kind = draw(st.sampled_from(["split", "fuse", "reorder", "vectorize", "parallel", "unroll", "rfactor", "rfactor"]))
    if kind in ("vectorize", "parallel") and draw(st.booleans()):
        stage.atomic()
        case.log.append(f"{func.name()}.s{index} atomic")
    try:
        if kind == "split":
            stage.split(name, f"o{step}", f"i{step}", factor)
        elif kind == "fuse":
            kinds = {d.name: d.kind for d in func.stages[index].schedule.dimensions}
            if kinds[name] in ("vectorized", "unrolled"):
                return None  # the fused loop would be so too, with an extent that is no constant
            stage.fuse(name, other, f"f{step}")
        elif kind == "reorder":
            stage.reorder(name, other)
        elif kind == "vectorize":
            stage.vectorize(name, factor)
        elif kind == "parallel":
            stage.parallel(name)
        elif kind == "unroll":
            stage.unroll(name, factor)
        elif index:
            made = stage.rfactor([(name, f"u{step}")])
            made.compute_root()
            if draw(st.booleans()):
                made.update(0).parallel(f"u{step}")
            if draw(st.booleans()):
                made.update(0).vectorize(f"u{step}", factor)
            case.log.append(f"{func.name()} rfactor {name}")
            return made
        else:
            return None
    except (ScheduleError, FactorError):
        return None
    case.log.append(f"{func.name()}.s{index} {kind} {name} {other} {factor}")
    return None
