"""Whether `auto_rfactor` ever loses to the serial loop: many updates at many sizes, beside lanes by hand too.

python -m benchmarks.small [--sizes known|given|both] [--elements N …] [--of NAME] [--by-hand] [--apart MS]

All contenders of an update take turns over the same arrays; the least of all trials counts. Sizes are numbers in the
program, or given when it runs. What takes longer than 1.05 times serial and 0.3 µs is marked.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod
from random import Random
from typing import Any

import numpy as np

import rfactor as hl
from benchmarks.schedules import HIGH, UPDATES, automatic, drawn, no_schedule
from rfactor.native.engine import host

SIZES = (1, 2, 3, 7, 16, 100, 1000, *(1 << bits for bits in range(12, 21, 2)))
TRIALS = 15
BATCH_US = 150.0
SLACK, SLACK_US = 1.05, 0.3
"""What a schedule may take longer than the serial loop: so many times, and so much beside."""
U8, I16, I32, F32, F64 = hl.UInt(8), hl.Int(16), hl.Int(32), hl.Float(32), hl.Float(64)
x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")

Shape = Callable[[int], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Update:
    """A reduction that is timed at many sizes."""

    write: Callable[..., None]
    """`write(f, sizes, *images)`, where `sizes` are the extents of the first image."""
    types: tuple[Any, ...]
    """Of the images."""
    shape: Shape
    """The extents of the images for so many elements."""
    points: Callable[[tuple[int, ...]], list[int]] = lambda shape: []
    """What is computed, by those extents."""
    small: bool = False
    """Whether data are 0 or 1."""
    by_hand: bool = False
    """Whether lanes may be tried beside: a reduction of a line to a scalar."""


def of_line(number: int) -> tuple[int, ...]:
    return (number,)


def rows_of(length: int) -> Shape:
    return lambda number: (length, max(number // length, 1))


def columns_of(height: int) -> Shape:
    return lambda number: (max(number // height, 1), height)


def line(first: Any, step: Callable[..., Any]) -> Callable[..., None]:
    """A line to a scalar: `f() = step(f(), coordinate, elements…)`."""

    def write(f: Any, sizes: tuple[Any, ...], *images: Any) -> None:
        r = hl.RDom([(0, sizes[0])], "r")
        f[()] = first
        f[()] = step(f[()], r.x, *(image[r.x] for image in images))

    return write


def each_row(first: Any, step: Callable[..., Any]) -> Callable[..., None]:
    """Each row of a table to a point."""

    def write(f: Any, sizes: tuple[Any, ...], *images: Any) -> None:
        r = hl.RDom([(0, sizes[0])], "r")
        f[y] = first
        f[y] = step(f[y], r.x, *(image[r.x, y] for image in images))

    return write


def each_column(first: Any, step: Callable[..., Any]) -> Callable[..., None]:
    """Each column of a table to a point."""

    def write(f: Any, sizes: tuple[Any, ...], *images: Any) -> None:
        r = hl.RDom([(0, sizes[1])], "r")
        f[x] = first
        f[x] = step(f[x], r.x, *(image[x, r.x] for image in images))

    return write


def whole(first: Any, step: Callable[..., Any]) -> Callable[..., None]:
    """A table to a scalar."""

    def write(f: Any, sizes: tuple[Any, ...], *images: Any) -> None:
        r = hl.RDom([(0, sizes[0]), (0, sizes[1])], "r")
        f[()] = first
        f[()] = step(f[()], r.x + 1000 * r.y, *(image[r.x, r.y] for image in images))

    return write


def counted(f: Any, sizes: tuple[Any, ...], image: Any) -> None:
    r = hl.RDom([(0, sizes[0])], "r")
    f[i] = hl.i32(0)
    f[hl.i32(image[r.x])] += 1
    f.bound(i, 0, 256)


def tapped(taps: int) -> Callable[..., None]:
    def write(f: Any, sizes: tuple[Any, ...], image: Any) -> None:
        r = hl.RDom([(0, taps)], "r")
        f[x] = hl.f32(0)
        f[x] += image[x + r.x] * hl.f32(0.5)

    return write


def pooled(f: Any, sizes: tuple[Any, ...], image: Any) -> None:
    r = hl.RDom([(0, 2), (0, 2)], "r")
    f[x, y] = hl.u8(0)
    f[x, y] = hl.max(f[x, y], image[2 * x + r.x, 2 * y + r.y])


def guarded(f: Any, sizes: tuple[Any, ...], image: Any) -> None:
    r = hl.RDom([(0, sizes[0])], "r")
    r.where(image[r.x] > 0)
    f[()] = hl.i32(0)
    f[()] += image[r.x]


def total(x: Any, i: Any, a: Any) -> Any:
    return x + a


def least(x: Any, i: Any, a: Any) -> Any:
    return hl.select(a < x[0], a, x[0]), hl.select(a < x[0], i, x[1])


def least_last(x: Any, i: Any, a: Any) -> Any:
    return hl.select(a <= x[0], a, x[0]), hl.select(a <= x[0], i, x[1])


def greatest(x: Any, i: Any, a: Any) -> Any:
    return hl.select(a > x[0], a, x[0]), hl.select(a > x[0], i, x[1])


def two_sums(x: Any, i: Any, a: Any) -> Any:
    return x[0] + a, x[1] + a * a


def saturating(x: Any, i: Any, a: Any) -> Any:
    return hl.u8(hl.min(hl.u16(x) + hl.u16(a), 255))


def multiplied(x: Any, i: Any, a: Any) -> Any:
    return x[0] * a - x[1] * (a + 1), x[1] * a + x[0] * (a + 1)


def no_less(a: Any) -> Any:
    return hl.cast(a, 0)


TYPES = (hl.UInt(8), hl.Int(16), hl.UInt(16), hl.UInt(32), hl.Int(64), F32, F64)
REDUCED: dict[str, tuple[Any, Callable[..., Any], Any]] = {
    "sum, i32": (hl.i32(0), total, I32),
    "sum, f32": (hl.f32(0), total, F32),
    "two sums, f32": ((hl.f32(0), hl.f32(0)), two_sums, F32),
    "argmin, i32": ((hl.i32(HIGH), hl.i32(-1)), least, I32),
    "argmin, u8": ((hl.u8(255), hl.i32(-1)), least, U8),
    "saturating sum": (hl.u8(0), saturating, U8),
    "complex product": ((hl.i32(1), hl.i32(0)), multiplied, I32),
    "x*31 + a": (hl.i32(1), lambda x, i, a: x * 31 + a, I32),
}
"""Of rows, of columns, of tables."""


def updates() -> Iterator[tuple[str, Update]]:
    """All by name."""
    for name, one in UPDATES.items():
        if name not in ("histogram", "matrix, 2 by 2"):
            yield name, Update(_line_of(one.write), one.types, of_line, small=one.small, by_hand=one.lanes)
    for type_ in TYPES:
        yield f"sum of {type_}", Update(line(hl.cast(type_, 0), total), (type_,), of_line, by_hand=True)
    lines = {
        "minimum, f32": (hl.f32(9), lambda x, i, a: hl.min(x, a), F32),
        "maximum, u8": (hl.u8(0), lambda x, i, a: hl.max(x, a), U8),
        "argmin, last": ((hl.i32(HIGH), hl.i32(-1)), least_last, I32),
        "argmax, f32": ((hl.f32(-9), hl.i32(-1)), greatest, F32),
        "argmax, i16": ((hl.i16(-99), hl.i32(-1)), greatest, I16),
        "two sums, f32": REDUCED["two sums, f32"],
        "count of u8": (hl.i32(0), lambda x, i, a: x + hl.select(a > 100, 1, 0), U8),
        "clamp": (hl.i32(3), lambda x, i, a: hl.min(hl.max(x, a), a + 9), I32),
        "parity": (hl.i32(0), lambda x, i, a: x ^ (a & 1), I32),
        "x*0.5 + a": (hl.f32(0), lambda x, i, a: x * hl.f32(0.5) + a, F32),
    }
    for name, (first, step, type_) in lines.items():
        yield name, Update(line(first, step), (type_,), of_line, by_hand=not name.startswith(("clamp", "x*")))
    yield "sum where", Update(guarded, (I32,), of_line)
    yield "histogram", Update(counted, (U8,), of_line, lambda shape: [256])
    yield "histogram, 0 or 1", Update(counted, (U8,), of_line, lambda shape: [256], small=True)
    for name, (first, step, type_) in REDUCED.items():
        for length in (2, 3, 5, 8, 12, 16, 24, 64, 512):
            shape = rows_of(length)
            yield f"rows of {length}: {name}", Update(each_row(first, step), (type_,), shape, lambda s: [s[1]])
        for height in (3, 8, 64):
            shape = columns_of(height)
            yield f"columns of {height}: {name}", Update(each_column(first, step), (type_,), shape, lambda s: [s[0]])
        for width in (3, 8, 64):
            yield f"tables {width} wide: {name}", Update(whole(first, step), (type_,), rows_of(width))
    for taps in (3, 7, 40):
        write = tapped(taps)
        yield f"{taps} taps", Update(write, (F32,), lambda n, t=taps: (n + t,), lambda s, t=taps: [s[0] - t])  # type: ignore[misc]
    yield "pool", Update(pooled, (U8,), lambda n: _square(4 * n), lambda s: [s[0] // 2, s[1] // 2])


def _square(number: int) -> tuple[int, int]:
    side = max(2, 2 * int(number**0.5 / 2))
    return side, max(2, number // side // 2 * 2)


def _line_of(write: Callable[..., None]) -> Callable[..., None]:
    """Those of `benchmarks.schedules`, which take the domain."""
    return lambda f, sizes, *images: write(f, hl.RDom([(0, sizes[0])], "r"), *images)


def call(update: Update, arrays: list[Any], given: bool, schedule: Callable[[Any, Any], None]) -> Any:
    """What runs the update over arrays, whose sizes are numbers in the program or `given` when it runs."""
    f = hl.Func("f")
    shape = arrays[0].shape[::-1]
    if given:
        images = [hl.ImageParam(t, len(shape)) for t in update.types]
        for image, array in zip(images, arrays, strict=True):
            image.set(array)
        ways = ("width", "height")
        update.write(f, tuple(getattr(images[0], way)() for way, _ in zip(ways, shape, strict=False)), *images)
    else:
        update.write(f, shape, *map(hl.Buffer, arrays))
    schedule(f, None)
    made = f.realize(update.points(shape))
    outputs = tuple(map(np.asarray, made)) if isinstance(made, tuple) else np.asarray(made)
    return partial(f.realize, outputs)


def lanes(vectors: int, bits: int, f: Any, r: Any) -> None:
    """So many vectors of lanes on one core."""
    rx, v = f.rvars(0)[0], hl.Var("v")
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).split(rx, outer, inner, vectors * host().vector_bits // bits)
    made = f.update(0).rfactor([(inner, v)])
    made.compute_root().vectorize(v).update(0).vectorize(v)


def microseconds(calls: list[Callable[[], object]], trials: int, apart: float) -> list[float]:
    """The least of each, in turn: of as many in a row as take a while, or of one call after a rest of `apart` ms."""
    number = [1] * len(calls)
    best = [float("inf")] * len(calls)
    for trial in range(trials):
        order = list(range(len(calls)))
        Random(trial).shuffle(order)
        for at in order:
            if apart:
                time.sleep(apart / 1000)
            one, start = calls[at], time.perf_counter()
            for _ in range(number[at]):
                one()
            taken = (time.perf_counter() - start) * 1e6 / number[at]
            best[at] = min(best[at], taken)
            if trial < 2 and not apart:
                number[at] = max(1, round(BATCH_US / taken))
    return best


def compared(name: str, update: Update, number: int, given: bool, apart: float, trials: int, by_hand: bool) -> str:
    """A line about an update over so many elements."""
    shape = update.shape(number)
    arrays = [drawn(t, prod(shape), update.small).reshape(shape[::-1]) for t in update.types]
    schedules: dict[str, Callable[[Any, Any], None]] = {"serial": no_schedule, "auto": automatic}
    if by_hand and update.by_hand and number >= 64:
        bits = max(t.bits() for t in update.types)
        schedules |= {f"{many} vectors": partial(lanes, many, bits) for many in (1, 4)}
    calls = [call(update, arrays, given, schedule) for schedule in schedules.values()]
    times = dict(zip(schedules, microseconds(calls, trials, apart), strict=True))
    serial, auto = times["serial"], times["auto"]
    best = min(times, key=lambda one: times[one])
    text = f"{name:34}{number:8}{'given' if given else 'known':>7}{serial:9.2f}{auto:9.2f}{auto / serial:6.2f}"
    if by_hand:
        text += f"{times[best]:9.2f}  {best:12}"
    return text + (" <--" if auto > SLACK * serial + SLACK_US else "")


def main() -> None:
    """Print a line for each update and size; microseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", choices=("known", "given", "both"), default="both")
    parser.add_argument("--apart", type=float, default=0.0, metavar="MS", help="a rest before each call")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--elements", type=int, nargs="*", default=SIZES)
    parser.add_argument("--by-hand", action="store_true", help="lanes by hand too")
    parser.add_argument("--of", default="", help="only updates with that in their names")
    parser.add_argument("--share", default="0/1", help="i/n: every n-th update from the i-th on")
    given = parser.parse_args()
    first, step = map(int, given.share.split("/"))
    named = [(name, one) for name, one in updates() if given.of in name][first::step]
    for name, update in named:
        for number in given.elements:
            if number < prod(update.shape(1)) and number > 1:
                continue
            for later in {"known": (False,), "given": (True,), "both": (False, True)}[given.sizes]:
                print(compared(name, update, number, later, given.apart, given.trials, given.by_hand), flush=True)


if __name__ == "__main__":
    main()
