"""What `auto_rfactor` chooses beside every schedule of a set: chunks for threads, lanes, copies and parts in turns.

python -m benchmarks.schedules [--trials N] [--bits 22] [NAME …]

All schedules of an update take turns over the same arrays; the least of all trials counts.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import rfactor as hl
from rfactor.bench.rounds import in_turn
from rfactor.compiler.runtime.threads import thread_count
from rfactor.native.engine import host

TRIALS = 25
BINS = 256
Schedule = Callable[[Any, Any], None]
"""Gives directives to update 0 of a Func over its domain."""


@dataclass(frozen=True, slots=True)
class Update:
    """A reduction over a line, and what may be done with it."""

    write: Callable[..., None]
    """`write(f, r, *images)`: the initial value and the update."""
    types: tuple[Any, ...]
    """Of the arrays that it reads."""
    lanes: bool = True
    """Whether neighbours may be combined in lanes; not where the operator does not commute."""
    bits: int = 32
    """Of the widest component."""
    small: bool = False
    """Whether data are 0 or 1 as a rule."""


def folded(first: Any, step: Callable[..., Any]) -> Callable[..., None]:
    """`f() = first`, then `f() = step(f(), coordinate, elements…)`; tuples of either."""

    def write(f: Any, r: Any, *images: Any) -> None:
        f[()] = first
        f[()] = step(f[()], r.x, *(image[r.x] for image in images))

    return write


def counted(f: Any, r: Any, image: Any) -> None:
    i = hl.Var("i")
    f[i] = hl.i32(0)
    f[hl.i32(image[r.x])] += 1
    f.bound(i, 0, BINS)


def _least(x: Any, i: Any, a: Any) -> Any:
    return hl.select(a < x[0], a, x[0]), hl.select(a < x[0], i, x[1])


def _moments(x: Any, i: Any, a: Any) -> Any:
    return x[0] + 1, x[1] + a, x[2] + a * a


def _complex(x: Any, i: Any, a: Any, b: Any) -> Any:
    return x[0] * a - x[1] * b, x[1] * a + x[0] * b


def _matrix(x: Any, i: Any, a: Any, b: Any) -> Any:
    return x[0] * a + x[1] * b, x[0] * b + x[1], x[2] * a + x[3] * b, x[2] * b + x[3]


def _carry(x: Any, i: Any, a: Any, b: Any) -> Any:
    return x[0] + a, x[1] + b + hl.select(x[0] + a < x[0], hl.u64(1), hl.u64(0))


def _sink(x: Any, i: Any, a: Any) -> Any:
    more, less = a > x[2], a < x[4]
    even = hl.select((a & 1) == 0, 1, 0)
    return (
        x[0] * a, x[1] + a, hl.select(more, a, x[2]), hl.select(more, i, x[3]),
        hl.select(less, a, x[4]), hl.select(less, i, x[5]), x[6] + a * a, x[7] + even,
    )  # fmt: skip


I32, U8, U64, F32, F64 = hl.Int(32), hl.UInt(8), hl.UInt(64), hl.Float(32), hl.Float(64)
LOW, HIGH = -(1 << 31), (1 << 31) - 1
UPDATES = {
    "maximum": Update(folded(hl.i32(LOW), lambda x, i, a: hl.max(x, a)), (I32,)),
    "sum, i32": Update(folded(hl.i32(0), lambda x, i, a: x + a), (I32,)),
    "sum, u8": Update(folded(hl.u8(0), lambda x, i, a: x + a), (U8,), bits=8),
    "sum of u8, i32": Update(folded(hl.i32(0), lambda x, i, a: x + hl.i32(a)), (U8,)),
    "sum, f32": Update(folded(hl.f32(0), lambda x, i, a: x + a), (F32,)),
    "sum, f64": Update(folded(hl.f64(0), lambda x, i, a: x + a), (F64,), bits=64),
    "dot, f32": Update(folded(hl.f32(0), lambda x, i, a, b: x + a * b), (F32, F32)),
    "product": Update(folded(hl.i32(1), lambda x, i, a: x * a), (I32,)),
    "x + a + 7xa": Update(folded(hl.i32(1), lambda x, i, a: x + a + 7 * x * a), (I32,)),
    "all": Update(folded(hl.cast(hl.Bool(), 1), lambda x, i, a: x & (a >= 0)), (I32,), bits=8),
    "any": Update(folded(hl.cast(hl.Bool(), 0), lambda x, i, a: x | (a > 250)), (U8,), bits=8, small=True),
    "saturating sum": Update(
        folded(hl.u8(0), lambda x, i, a: hl.u8(hl.min(hl.u16(x) + hl.u16(a), 255))), (U8,), bits=8
    ),
    "argmin": Update(folded((hl.i32(HIGH), hl.i32(-1)), _least), (I32,)),
    "argmin, u8": Update(folded((hl.u8(255), hl.i32(-1)), _least), (U8,)),
    "moments": Update(folded((hl.i32(0),) * 3, _moments), (I32,)),
    "complex product": Update(folded((hl.i32(1), hl.i32(0)), _complex), (I32, I32)),
    "kitchen sink": Update(
        folded(tuple(map(hl.i32, (1, 0, LOW, -1, HIGH, -1, 0, 0))), _sink), (I32,)
    ),
    "carry, 128 bits": Update(folded((hl.u64(0), hl.u64(0)), _carry), (U64, U64), bits=64),
    "histogram": Update(counted, (U8,), lanes=False),
    "x * a + b": Update(folded(hl.i32(1), lambda x, i, a, b: x * a + b), (I32, I32), lanes=False),
    "x * 31 + a": Update(folded(hl.i32(1), lambda x, i, a: x * 31 + a), (I32,), lanes=False),
    "min(max(x, a), b)": Update(
        folded(hl.i32(3), lambda x, i, a, b: hl.min(hl.max(x, a), b)), (I32, I32), lanes=False
    ),
    "last of a kind": Update(
        folded(hl.i32(-1), lambda x, i, a: hl.select((a & 7) == 3, i, x)), (I32,), lanes=False
    ),
    "matrix, 2 by 2": Update(folded(tuple(map(hl.i32, (1, 0, 0, 1))), _matrix), (I32, I32), lanes=False),
}  # fmt: skip


def main() -> None:
    """Print a line for each update; milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--bits", type=int, default=22)
    parser.add_argument("--all", action="store_true", help="every schedule's time too")
    parser.add_argument("names", nargs="*", help=f"some of {'; '.join(UPDATES)}")
    given = parser.parse_args()
    unknown = [name for name in given.names if name not in UPDATES]
    if unknown:
        parser.error(f"{'; '.join(unknown)}: not one of {'; '.join(UPDATES)}")
    print(f"{'update':20}{'serial':>9}{'auto':>9}{'best':>9}{'ratio':>7}  of medians  best schedule")
    for name in given.names or UPDATES:
        compared(name, UPDATES[name], 1 << given.bits, given.trials, given.all)


def compared(name: str, update: Update, size: int, trials: int, every: bool) -> None:
    """Time one update under all schedules."""
    arrays = [drawn(type_, size, update.small) for type_ in update.types]
    named = {"serial": no_schedule, "auto": automatic, **dict(candidates(update, size))}
    times = in_turn([call(update, arrays, schedule) for schedule in named.values()], trials)
    of = dict(zip(named, times, strict=True))
    auto = of.pop("auto")
    best = min(of, key=lambda one: of[one].least)
    steady = min(one.median for one in of.values())
    print(
        f"{name:20}{of['serial'].least:9.3f}{auto.least:9.3f}{of[best].least:9.3f}{auto.least / of[best].least:7.2f}"
        f"{auto.median / steady:12.2f}  {best}",
        flush=True,
    )
    for one in of if every else ():
        print(f"    {of[one].least:9.3f}{of[one].median:9.3f}  {one}")


def drawn(type_: Any, size: int, small: bool) -> Any:
    """Random elements."""
    dtype, random = np.dtype(str(type_)), np.random.default_rng(1)
    if dtype.kind == "f":
        return random.random(size, dtype)
    most = 2 if small else min(np.iinfo(dtype).max, HIGH)
    return random.integers(0, most, size, dtype)


def call(update: Update, arrays: list[Any], schedule: Schedule) -> Callable[[], object]:
    """The update over `arrays` under a schedule, computing into arrays that are there."""
    f, r = hl.Func("f"), hl.RDom([(0, len(arrays[0]))], "r")
    update.write(f, r, *map(hl.Buffer, arrays))
    schedule(f, r)
    shape = [BINS] * f.dimensions()
    made = f.realize(shape)
    outputs = tuple(map(np.asarray, made)) if isinstance(made, tuple) else np.asarray(made)
    return partial(f.realize, outputs)


def no_schedule(f: Any, r: Any) -> None:
    pass


def automatic(f: Any, r: Any) -> None:
    f.update(0).auto_rfactor()


def candidates(update: Update, size: int) -> Iterator[tuple[str, Schedule]]:
    """Chunks for threads, from none to 16 a thread, each with lanes, copies or parts of several numbers."""
    vector = host().vector_bits // update.bits
    threads = thread_count()
    cuts = (0, *dict.fromkeys(size // (threads * many) for many in (1, 4, 16))) if threads > 1 else (0,)
    inside = [("", 0)]
    if update.write is counted:
        inside += [("copies", many) for many in (2, 4, 8)]
    elif update.lanes:
        inside += [("lanes", vector * many) for many in (1, 2, 4, 8)]
    else:
        inside += [("parts", many) for many in (2, 4)]
    for chunk, (what, many) in product(cuts, inside):
        said = [f"chunks of {chunk}"] if chunk else []
        said += [f"{many} {what}"] if many else []
        if said:
            yield ", ".join(said), partial(scheduled, chunk, what, many)


def scheduled(chunk: int, what: str, many: int, f: Any, r: Any) -> None:
    """Chunks in parallel, if any, and what is done within them."""
    u, v = hl.Var("u"), hl.Var("v")
    xo, xi, outer, inner = (hl.RVar(name) for name in ("xo", "xi", "outer", "inner"))
    left, around = r.x, f
    if chunk:
        f.update(0).split(r.x, xo, xi, chunk)
        left = xi
        around = f.update(0).rfactor([(xo, u)])
        around.compute_root()
    if many:
        factor = (chunk or r.x.extent()) // many if what == "parts" else many
        around.update(0).split(left, outer, inner, factor)
        made = around.update(0).rfactor([(outer if what == "parts" else inner, v)])
        if chunk:
            made.compute_at(around, u)
        else:
            made.compute_root()
        if what == "parts":
            made.update(0).reorder(v, inner).unroll(v)
        elif what == "lanes":
            made.vectorize(v).update(0).vectorize(v)
        else:
            made.update(0).unroll(v)
            around.update(0).reorder(hl.Var("i"), inner, *([u] if chunk else []))
    if chunk:
        if f.dimensions():
            f.update(0).reorder(hl.Var("i"), xo)
        around.update(0).parallel(u)


if __name__ == "__main__":
    main()
