"""The six reductions of the paper's Table 1, over 2^24 elements each, with what a good machine code would reach.

A reduction is written for a language `hl`: the module `rfactor`, or `halide`, whose programs these are too. With `last`
the last of equal elements wins in argmin and argmax: the only ones that Halide's table of operators has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isqrt
from typing import Any

import numpy as np

import rfactor
from rfactor.bench.program import Array, Program
from rfactor.bench.schedules import (
    chunks_and_lanes,
    chunks_streams_and_lanes,
    lanes_that_fit,
    slabs_and_lanes,
    strips,
    strips_and_copies,
)

SIZE = 1 << 24
CHUNK = 1 << 16
"""Elements that a thread takes at a time."""

Maker = Callable[..., Program]
"""`maker(hl, last, *arrays)`."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A time that is to be reached: at most `limit` times that of a peer in the same run."""

    limit: float
    of: str
    """`reading` or the name of a contender."""

    def __str__(self) -> str:
        return f"{self.limit:g}x {self.of}"


@dataclass(frozen=True, slots=True)
class Case:
    """A reduction over given data."""

    key: str
    function: str
    """What peers that are written by hand call it."""
    maker: Maker
    arrays: tuple[Array, ...]
    bar: Bar
    note: str = ""
    """What is special about the data."""

    def program(self, hl: Any = rfactor, last: bool = False) -> Program:
        """The program in a language."""
        return self.maker(hl, last, *self.arrays)

    @property
    def title(self) -> str:
        """The reduction, its type, and its data."""
        return self.program().title + (f", {self.note}" if self.note else "")


def maximum(hl: Any, last: bool, a: Array) -> Program:
    values = hl.Buffer(a)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("maximum"), hl.RDom([(0, len(a))])
        f[()] = hl.i32(-(2**31))
        f[()] = hl.max(f[()], values[r.x])
        return f, r

    schedule = chunks_streams_and_lanes(hl, CHUNK, 4, lanes_that_fit(4, streams=4))
    published = chunks_and_lanes(hl, 4 * 8192, 8)
    return Program(
        "maximum, i32", algorithm, schedule, outputs(np.int32), lambda: (a.max(),), (a,), published, lanes_that_fit(4)
    )


def dot(hl: Any, last: bool, a: Array, b: Array) -> Program:
    left, right = hl.Buffer(a), hl.Buffer(b)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("dot"), hl.RDom([(0, len(a))])
        f[()] = hl.f32(0)
        f[()] = f[()] + left[r.x] * right[r.x]
        return f, r

    schedule = chunks_streams_and_lanes(hl, CHUNK, 2, lanes_that_fit(4, streams=2))
    published = chunks_and_lanes(hl, 4 * 8192, 8)
    return Program(
        "dot product, f32",
        algorithm,
        schedule,
        outputs(np.float32),
        lambda: (a @ b,),
        (a, b),
        published,
        lanes_that_fit(4),
    )


def complex_product(hl: Any, last: bool, a: Array, b: Array) -> Program:
    real, imaginary = hl.Buffer(a), hl.Buffer(b)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("product"), hl.RDom([(0, len(a))])
        f[()] = (hl.i32(1), hl.i32(0))
        re, im = real[r.x], imaginary[r.x]
        f[()] = (f[()][0] * re - f[()][1] * im, f[()][0] * im + f[()][1] * re)
        return f, r

    schedule = chunks_streams_and_lanes(hl, CHUNK, 2, lanes_that_fit(4, state=8, streams=2))
    published = chunks_and_lanes(hl, 2 * 8192, 8)
    return Program(
        "complex product, i32",
        algorithm,
        schedule,
        outputs(np.int32, np.int32),
        None,
        (a, b),
        published,
        lanes_that_fit(4, state=8),
    )


def histogram(hl: Any, last: bool, image: Array) -> Program:
    pixels = hl.Buffer(image)
    height, width = image.shape

    def algorithm() -> tuple[Any, Any]:
        f, i, r = hl.Func("histogram"), hl.Var("i"), hl.RDom([(0, width), (0, height)])
        f[i] = hl.i32(0)
        f[hl.i32(pixels[r.x, r.y])] += hl.i32(1)
        return f, r

    def peer() -> tuple[Any, ...]:
        return (np.bincount(image.ravel(), minlength=256),)

    schedule = strips_and_copies(hl, max(1, height // 16), 4, 8)
    made = (lambda: (np.zeros(256, np.int32),), peer, (image,))
    return Program("histogram, u8", algorithm, schedule, *made, strips(hl, 16, 8))


def argmin(hl: Any, last: bool, volume: Array) -> Program:
    values = hl.Buffer(volume)
    extents = volume.shape[::-1]

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("argmin"), hl.RDom([(0, extent) for extent in extents])
        f[()] = (hl.u8(255), *(hl.i32(0) for _ in range(4)))
        at = (r.x, r.y, r.z, r.w)
        best, here = f[()][0], values[at]
        moved = here <= best if last else here < best
        f[()] = (hl.min(best, here), *(hl.select(moved, at[i], f[()][i + 1]) for i in range(4)))
        return f, r

    def peer() -> tuple[Any, ...]:
        at = np.unravel_index(volume.argmin(), volume.shape)
        return (volume[at], *at[::-1])

    lanes = min(64, 1 << (extents[0].bit_length() - 1))
    schedule = slabs_and_lanes(hl, max(1, extents[3] // 16), lanes)
    published = slabs_and_lanes(hl, 1, 16)
    made = (outputs(np.uint8, *[np.int32] * 4), peer, (volume,))
    return Program("4-D argmin, u8", algorithm, schedule, *made, published, lanes)


def kitchen_sink(hl: Any, last: bool, a: Array) -> Program:
    values = hl.Buffer(a)

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("sink"), hl.RDom([(0, len(a))])
        low, high = hl.i32(-(2**31)), hl.i32(2**31 - 1)
        f[()] = (hl.i32(1), hl.i32(0), low, hl.i32(0), high, hl.i32(0), hl.i32(0), hl.i32(0))
        now, v = [f[()][i] for i in range(8)], values[r.x]
        f[()] = (
            now[0] * v,
            now[1] + v,
            hl.max(now[2], v),
            hl.select(v >= now[2] if last else v > now[2], r.x, now[3]),
            hl.min(now[4], v),
            hl.select(v <= now[4] if last else v < now[4], r.x, now[5]),
            now[6] + v * v,
            now[7] + hl.select((v & 1) == 0, hl.i32(1), hl.i32(0)),
        )
        return f, r

    lanes = lanes_that_fit(4, state=32)
    schedule = chunks_and_lanes(hl, CHUNK, lanes)  # the state of two streams is more than registers hold
    published = chunks_and_lanes(hl, 8192, 8)
    return Program(
        "kitchen sink, i32",
        algorithm,
        schedule,
        outputs(*[np.int32] * 8),
        None,
        (a,),
        published,
        lanes,
    )


def reading(*arrays: Array) -> Callable[[], object]:
    """Reads all whole words of the arrays in parallel and does next to nothing with them: the limit of memory."""
    hl: Any = rfactor
    loops = []
    for array in arrays:
        octets = array.reshape(-1).view(np.uint8)
        words = octets[: octets.size // 8 * 8].view(np.uint64)
        source, f, r = hl.Buffer(words), hl.Func("reading"), hl.RDom([(0, len(words))])
        f[()] = hl.u64(0)
        f[()] = f[()] | source[r.x]
        chunks_streams_and_lanes(hl, CHUNK // 2, 4, lanes_that_fit(8, streams=4))(f, r)
        result = np.zeros((), np.uint64)
        loops.append(partial(f.realize, result))

    def read() -> None:
        for loop in loops:
            loop()

    return read


def outputs(*types: type) -> Callable[[], tuple[Array, ...]]:
    """Makes one scalar array a component."""
    return partial(_zeros, types)


def _zeros(types: tuple[type, ...]) -> tuple[Array, ...]:
    return tuple(np.zeros((), type_) for type_ in types)


def case(key: str, size: int = SIZE, seed: int = 1) -> Case:
    """One of `KEYS` over random data: `size` elements a list, a square image, a volume of four equal sides.

    Raises `KeyError` for another key.
    """
    random = np.random.default_rng(seed)
    side = isqrt(size)
    edge = isqrt(side)

    def integers() -> Array:
        return random.integers(-(2**31), 2**31, size, dtype=np.int32)

    def floats() -> Array:
        return random.standard_normal(size, dtype=np.float32)

    def octets(*shape: int) -> Array:
        return random.integers(1, 256, shape, dtype=np.uint8)

    def odd() -> Array:
        made = integers()
        made |= 1
        return made

    def volume(late: int | None = None) -> Array:
        made = octets(edge, edge, edge, edge)
        if late is not None:
            made[-1, -1, -1, -1] = late
        return made

    def all_equal() -> Array:
        return np.full((edge,) * 4, 7, np.uint8)

    made: dict[str, Callable[[], Case]] = {
        "maximum": lambda: Case(key, "maximum", maximum, (integers(),), Bar(1.15, "reading")),
        "dot": lambda: Case(key, "dot", dot, (floats(), floats()), Bar(1.15, "reading")),
        "complex": lambda: Case(key, "complex_product", complex_product, (odd(), odd() - 1), Bar(1.2, "reading")),
        "histogram": lambda: Case(key, "histogram", histogram, (octets(side, side),), Bar(1.0, "OpenMP C")),
        "argmin": lambda: Case(key, "argmin", argmin, (volume(),), Bar(2.0, "reading")),
        "sink": lambda: Case(key, "kitchen_sink", kitchen_sink, (odd(),), Bar(2.2, "reading")),
        "argmin-equal": lambda: Case(key, "argmin", argmin, (all_equal(),), Bar(2.0, "reading"), "all equal"),
        "argmin-last": lambda: Case(key, "argmin", argmin, (volume(late=0),), Bar(2.0, "reading"), "least last"),
    }
    return made[key]()


KEYS = ("maximum", "dot", "complex", "histogram", "argmin", "sink")
"""The paper's six."""
HARD = ("argmin-equal", "argmin-last")
"""Argmin of data that do not let it pass over whole vectors after a few."""


def cases(size: int = SIZE, seed: int = 1, keys: Sequence[str] = KEYS) -> tuple[Case, ...]:
    """Those named."""
    return tuple(case(key, size, seed) for key in keys)


def programs(size: int = SIZE, seed: int = 1) -> tuple[Program, ...]:
    """The six in our language."""
    return tuple(case.program() for case in cases(size, seed))
