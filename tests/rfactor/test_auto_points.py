"""`auto_rfactor` of functions with points of their own: threads over those where there are enough, and lanes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.auto.apply import auto_rfactor
from rfactor.compiler.auto.machine import Machine
from rfactor.errors import AlgorithmError, ScheduleError

EAGER = Machine(2, 256, threads_ns=60, chunk_ns=15, function_ns=0)
"""On which everything pays soon, so that small arrays have threads and lanes."""
THREADS, ALONE = Machine(2, 256), Machine(1, 256)
Made = tuple[hl.Func, hl.ImageParam]
x, y, c, i = (hl.Var(name) for name in ("x", "y", "c", "i"))


def source(type_: Any = None, dimensions: int = 2) -> hl.ImageParam:
    return hl.ImageParam(type_ or hl.Int(32), dimensions, "image")


def columns() -> Made:
    image, f = source(), hl.Func("f")
    r = hl.RDom([(0, image.height())], "r")
    f[x] = hl.i32(0)
    f[x] += image[x, r.x]
    return f, image


def rows() -> Made:
    image, f = source(), hl.Func("f")
    r = hl.RDom([(0, image.width())], "r")
    f[y] = hl.i32(0)
    f[y] = hl.max(f[y], image[r.x, y])
    return f, image


def counted_by_row() -> Made:
    image, f = source(), hl.Func("f")
    r = hl.RDom([(0, image.width())], "r")
    f[i, y] = hl.i32(0)
    f[image[r.x, y] & 7, y] += 1
    return f, image


def product() -> Made:
    image, f = source(), hl.Func("f")
    r = hl.RDom([(0, image.height())], "r")
    f[x, y] = hl.i32(0)
    f[x, y] += image[x, r.x] * image[y, r.x]
    return f, image


def first_of_row() -> Made:
    image, f = source(), hl.Func("f")
    r = hl.RDom([(0, image.width())], "r")
    f[y] = (hl.i32(2**31 - 1), hl.i32(-1))
    better = image[r.x, y] < f[y][0]
    f[y] = (hl.select(better, image[r.x, y], f[y][0]), hl.select(better, r.x, f[y][1]))
    return f, image


def of_three() -> Made:
    """Sums over the middle of three dimensions."""
    image, f = source(dimensions=3), hl.Func("f")
    r = hl.RDom([(0, image.height())], "r")
    f[x, y, c] = hl.i32(0)
    f[x, y, c] += image[x, r.x, c] * (y + 1)
    return f, image


PROGRAMS = [columns, rows, counted_by_row, product, first_of_row, of_three]


def estimated(program: Callable[[], Made], extent: int = 200) -> Made:
    f, image = program()
    f.set_estimates([(0, extent)] * f.dimensions())
    return f, image


def answers(f: hl.Func, image: hl.ImageParam, data: Any, sizes: list[int]) -> list[Any]:
    image.set(data)
    found = f.realize(sizes)
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_bits_are_those_of_the_serial_loop(program):
    """Whatever is estimated: boxes of no point, of one, of less than a vector, and of more than was said."""
    serial, (scheduled, given) = program(), estimated(program)
    chosen = auto_rfactor(scheduled, 0, EAGER)
    assert "own points for threads" in chosen.why
    random = np.random.default_rng(5)
    for extent in (0, 1, 5, 37, 130):
        sizes = {counted_by_row: [8, extent], of_three: [extent, 3, min(extent, 2)]}.get(program)
        for steps in (0, 1, 70):
            # Rows that are reduced are `steps` long, columns so many.
            shape = (steps, extent) if program in (columns, product) else (extent, steps)
            shape = (2, steps, extent) if program is of_three else shape
            data = random.integers(-(2**31), 2**31, shape, np.int32)
            asked = sizes or [extent] * scheduled.dimensions()
            for a, b in zip(answers(*serial, data, asked), answers(scheduled, given, data, asked), strict=True):
                np.testing.assert_array_equal(a, b, f"{extent} points, {steps} steps")


def text(program: Callable[[], Made], machine: Machine, *extents: int, by: str = "set_estimate") -> str:
    f, _ = program()
    for variable, extent in zip(f.args(), extents, strict=False):
        getattr(f, by)(variable, 0, extent)
    return str(auto_rfactor(f, 0, machine))


@pytest.mark.parametrize("by", ["set_estimate", "bound"])
def test_threads_share_points_that_are_known_of(by):
    found = text(columns, THREADS, 4096, by=by)
    assert "rfactor" not in found
    assert 'f.update(0).split("x", "xo", "xi", 32)' in found  # four vectors of 256 bits
    assert "f.update(0).specialize(rx.extent() > " in found
    assert '.parallel("xo")' in found


def test_points_that_nothing_is_known_of_are_not_shared():
    found = text(columns, THREADS)
    assert "own points" not in found
    assert 'vectorize("x", 8)' in found
    assert 'parallel("x' not in found


def test_few_points_are_not_shared():
    assert "own points" in text(rows, EAGER, 4)
    few = text(rows, EAGER, 3)
    assert "own points" not in few
    assert "chunks" in few


def test_points_of_little_work_are_not_shared():
    f, r = hl.Func("f"), hl.RDom([(0, 8)], "r")
    f[y] = hl.i32(0)
    f[y] += source()[r.x, y]
    f.set_estimate(y, 0, 64)
    assert "parallel" not in str(auto_rfactor(f, 0, THREADS))
    g = hl.Func("g")
    g[y] = hl.i32(0)
    g[y] += source()[r.x, y]
    g.set_estimate(y, 0, 1 << 20)
    assert 'g.update(0).parallel("y")  # 2 threads' in str(auto_rfactor(g, 0, THREADS))


def test_one_thread_gets_several_vectors():
    found = text(product, ALONE, 512, 512)
    assert 'vectorize("x", 32)' in found
    assert "parallel" not in found


def test_rows_shared_by_threads_are_in_lanes_of_the_reduction():
    found = text(first_of_row, THREADS, 4096)
    assert 'lanes.compute_at(f, "y")' in found
    assert 'f.update(0).specialize(rx.extent() > 34).specialize(rx.extent() > 240).parallel("y")' in found
    assert 'f.update(0).specialize(rx.extent() > 240).parallel("y")' in found
    assert "lanes" not in text(rows, THREADS, 4096).partition("\n")[2]  # LLVM makes vectors of those


def test_loops_of_few_points_are_joined():
    found = text(of_three, EAGER, 64, 3, 2)
    assert 'fuse("y", "c", "t")' in found
    assert '.parallel("t")' in found


def test_estimates_are_numbers_or_nothing():
    f, image = columns()
    for end in (image.width(), x):
        with pytest.raises(AlgorithmError, match=r"the estimate .* of x of f is no constant: give the number"):
            f.set_estimate(x, 0, end)
    f.set_estimate(x, hl.Expr(), hl.Expr())
    assert f.estimates == {}
    f.set_estimate(x, 0, hl.i32(40) + 60)
    assert f.estimates == {"x": 100}
    with pytest.raises(ScheduleError, match="no such pure variable"):
        f.set_estimate(y, 0, 3)
    with pytest.raises(ScheduleError, match="one \\(min, extent\\) a dimension"):
        f.set_estimates([])


def sums_of_columns(points: int) -> str:
    f, r = hl.Func("f"), hl.RDom([(0, 100_000)], "r")
    f[x] = hl.f32(0)
    f[x] += source(hl.Float(32))[x, r.x]
    f.set_estimate(x, 0, points)
    return str(auto_rfactor(f, 0, ALONE))


@pytest.mark.parametrize(("points", "lanes"), [(12, 4), (40, 8), (48, 16), (1024, 32), (15, 16)])
def test_rows_are_cut_into_whole_vectors_where_that_is_faster(points, lanes):
    assert f'vectorize("x", {lanes})' in sums_of_columns(points)


@pytest.mark.parametrize("points", [1, 3, 5])
def test_rows_of_few_points_get_no_lanes(points):
    found = sums_of_columns(points)
    assert "few points" in found
    assert "vectorize" not in found


def test_serial_loops_that_are_vectors_already_get_no_lanes():
    """LLVM makes vectors of a row's greatest integer, not of one whose elements lie apart."""

    def found(place: Callable[[Any], Any]) -> str:
        f, r = hl.Func("f"), hl.RDom([(0, 1024)], "r")
        f[y] = hl.i32(0)
        f[y] = hl.max(f[y], source()[place(r.x), y])
        return str(auto_rfactor(f, 0, ALONE))

    assert "vectorize" not in found(lambda k: k)
    assert "vectorize" in found(lambda k: 2 * k)


def test_taps_run_along_their_own_points():
    f, r, taps = hl.Func("f"), hl.RDom([(0, 19)], "r"), source(hl.Float(32), 1)
    f[x] = hl.f32(0)
    f[x] += taps[r.x] * source(hl.Float(32), 1)[x + r.x]
    f.set_estimate(x, 0, 4096)
    assert 'f.update(0).vectorize("x", 32)' in str(auto_rfactor(f, 0, ALONE))


def test_what_lies_apart_is_not_gathered_by_short_sums():
    f, r = hl.Func("f"), hl.RDom([(0, 3), (0, 1 << 14)], "r")
    f[()] = hl.f32(0)
    f[()] += source(hl.Float(32))[r.x, r.y]
    found = str(auto_rfactor(f, 0, ALONE))
    assert "runs along memory" in found
    assert "vectorize" not in found


def test_threads_share_histograms_that_are_filled():
    """A row of counters that another thread has set costs time to take over."""

    def found(extent: int) -> str:
        f, r = hl.Func("f"), hl.RDom([(0, extent)], "r")
        f[i, y] = hl.i32(0)
        f[hl.i32(source(hl.UInt(8))[r.x, y]), y] += 1
        f.set_estimate(y, 0, 1024)
        return str(auto_rfactor(f, 0, THREADS))

    assert "parallel" not in found(1024)
    assert "own points" in found(8192)


def counts_of(bits: int, bins: int, extent: int) -> str:
    f, r = hl.Func("f"), hl.RDom([(0, extent)], "r")
    f[i] = hl.i32(0)
    f[hl.i32(source(hl.UInt(bits), 1)[r.x] % bins)] += 1
    return str(auto_rfactor(f, 0, THREADS))


def test_chunks_of_histograms_take_many_times_as_long_as_their_points():
    size = int(re.findall(r"chunks of about (\d+) iterations", counts_of(16, 4096, 1 << 20))[0])
    assert 10 * 4096 < size < 1 << 19
    assert "# chunks of about 262144 iterations" in counts_of(16, 32768, 1 << 19)  # one for each thread, no more pays
    assert "parallel" not in counts_of(16, 32768, 1 << 17)


def test_slices_that_threads_scatter_to_share_no_cache_line():
    assert 'chunks.align_storage("i", 16)' in counts_of(16, 3001, 1 << 20)
    assert "align_storage" not in counts_of(8, 200, 1 << 20)  # copies are each thread's alone


def test_copies_pay_sooner_where_points_are_few_and_equal_neighbours_many():
    assert "; copies\n" in counts_of(8, 2, 1000)
    assert "few for 4 copies" in counts_of(8, 16, 1000)


def test_neighbours_that_read_every_other_element_are_computed_at_once():
    f, r = hl.Func("f"), hl.RDom([(0, 2), (0, 20)], "r")
    f[x, y] = hl.i32(0)
    f[x, y] += source()[2 * x + r.x, 2 * y + r.y]
    f.set_estimates([(0, 100), (0, 100)])
    assert 'f.update(0).vectorize("x", ' in str(auto_rfactor(f, 0, THREADS))


@pytest.mark.parametrize("points", [100, 2000])
def test_few_taps_are_written_out(points: int) -> None:
    """LLVM makes vectors of the points; 256 lanes of bytes that are loaded every other one take 30 times as long."""
    f, r, image = hl.Func("f"), hl.RDom([(0, 2), (0, 2)], "r"), source(hl.UInt(8))
    f[x, y] = hl.u8(0)
    f[x, y] = hl.max(f[x, y], image[2 * x + r.x, 2 * y + r.y])
    f.set_estimates([(0, points), (0, points)])
    found = str(auto_rfactor(f, 0, THREADS))
    assert found.splitlines()[3:5] == ["f.update(0).unroll(rx)", "f.update(0).unroll(ry)"]
    assert "vectorize" not in found
    assert ('f.update(0).parallel("y")' in found) == (points == 2000)
    data = np.random.default_rng(1).integers(0, 255, (30, 42), np.uint8)
    np.testing.assert_array_equal(answers(f, image, data, [21, 15])[0], data.reshape(15, 2, 21, 2).max((1, 3)))


def test_threads_take_over_vectors_of_points_only_where_work_outweighs_it():
    def summed(steps: int) -> str:
        f, r = hl.Func("f"), hl.RDom([(0, steps)], "r")
        f[x, y] = hl.i32(0)
        f[x, y] += source()[x + r.x, y]
        f.set_estimates([(0, 512), (0, 512)])
        return str(auto_rfactor(f, 0, THREADS))

    assert "parallel" not in summed(7)
    assert "parallel" in summed(40)


def lanes_of_rows(columns: Any, *, saturating: bool = False) -> str:
    """What is chosen for sums of rows."""
    f, r = hl.Func("f"), hl.RDom([(0, columns)], "r")
    if saturating:
        f[y] = hl.u8(0)
        f[y] = hl.u8(hl.min(hl.u16(f[y]) + hl.u16(source(hl.UInt(8))[r.x, y]), 255))
    else:
        f[y] = hl.f32(0)
        f[y] += source(hl.Float(32))[r.x, y]
    return str(auto_rfactor(f, 0, ALONE))


def test_short_rows_have_fewer_lanes_as_each_merges_its_own() -> None:
    assert '"xi", 8)' in lanes_of_rows(128, saturating=True)
    assert '"xi", 128)' in lanes_of_rows(16384, saturating=True)
    assert '"xi", 32)' in lanes_of_rows(16384)
    unknown = hl.Param(hl.Int(32), "columns")
    assert 'specialize(rx.extent() > 7).split(rx, "xo", "xi", 8)' in lanes_of_rows(unknown)  # as if of 64
    # What is merged one by one pays in longer rows.
    assert 'specialize(rx.extent() > 24).split(rx, "xo", "xi", 8)' in lanes_of_rows(unknown, saturating=True)


def reduced_rows(first: Any, step: Any, type_: Any, columns: Any, machine: Machine = THREADS) -> str:
    """What is chosen for a reduction of rows."""
    f, r = hl.Func("f"), hl.RDom([(0, columns)], "r")
    f[y] = first
    f[y] = step(f[y], r.x, source(type_)[r.x, y])
    return str(auto_rfactor(f, 0, machine))


def test_short_rows_of_known_length_have_lanes_only_where_those_are_faster() -> None:
    """LLVM makes vectors of the rows: a complex product of 8 factors took four times as long in lanes."""

    def multiplied(x: Any, i: Any, a: Any) -> Any:
        return x[0] * a - x[1] * (a + 1), x[1] * a + x[0] * (a + 1)

    def two_sums(x: Any, i: Any, a: Any) -> Any:
        return x[0] + a, x[1] + a * a

    complex_ = ((hl.i32(1), hl.i32(0)), multiplied, hl.Int(32))
    sums = ((hl.f32(0), hl.f32(0)), two_sums, hl.Float(32))
    summed = (hl.i32(0), lambda x, i, a: x + a, hl.Int(32))
    for length in (8, 12, 24):
        assert "vectorize" not in reduced_rows(*complex_, length, Machine(2, 512))
    assert "vectorize" in reduced_rows(*complex_, 64)
    assert "vectorize" in reduced_rows(*sums, 24)
    assert "vectorize" not in reduced_rows(*sums, 8)
    assert "vectorize" not in reduced_rows(*summed, 24)


def test_rows_of_unknown_length_are_reduced_in_lanes_in_runs_in_which_they_are_long() -> None:
    """Rows of 3 bytes took seven times as long as serial, of 3 words 3.6 times; a recurrence over 8 words 1.5 times in
    chunks."""

    def least(x: Any, i: Any, a: Any) -> Any:
        return hl.select(a < x[0], a, x[0]), hl.select(a < x[0], i, x[1])

    unknown = hl.Param(hl.Int(32), "length")
    bytes_ = ((hl.u8(255), hl.i32(-1)), least, hl.UInt(8))
    words = ((hl.i32(99), hl.i32(-1)), least, hl.Int(32))
    recurrence = (hl.i32(1), lambda x, i, a: x * 31 + a, hl.Int(32))
    for kind, length in ((bytes_, 32), (words, 34)):
        lanes = f'lanes = f.update(0).specialize(rx.extent() > {length}).rfactor([("xi", "v")])'
        assert lanes in reduced_rows(*kind, unknown)
    chosen = reduced_rows(*recurrence, unknown)
    assert "chunks = f.update(0).specialize(rx.extent() > 18518).rfactor(" in chosen
    others = chosen.replace("f.update(0).specialize(rx.extent() > 18518)", "").split("f.update(0).")
    assert [one.split("(")[0] for one in others[1:]] == ["split", "reorder", "unroll"]  # two rows in turn
    assert "vectorize" in reduced_rows(*bytes_, 1 << 12)
    assert "parallel" in reduced_rows(*recurrence, 1 << 20)


def test_lanes_are_merged_pairwise_where_that_takes_one_operation() -> None:
    assert "f.update(0).atomic(True)" in lanes_of_rows(1024)
    assert lanes_of_rows(1024).endswith('f.update(0).vectorize("xi")')
    assert "atomic" not in lanes_of_rows(1024, saturating=True)


def test_chunks_of_points_are_merged_as_those_lie_in_memory() -> None:
    f, image = source_rows(hl.Float(32))
    threads = "f.update(0).specialize(rx.extent() > 262143)"
    assert f'{threads}.reorder("y", "xo")\n{threads}.vectorize("y", 8)' in str(auto_rfactor(f, 0, THREADS))
    f, image = source_rows(hl.Int(32))  # which LLVM makes vectors of
    text = str(auto_rfactor(f, 0, THREADS))
    assert 'f.update(0).specialize(rx.extent() > 524287).reorder("y", "xo")\n' in text
    assert "vectorize" not in text
    data = np.arange(300 * 7, dtype=np.int32).reshape(300, 7)
    assert answers(f, image, data, [300])[0].tolist() == data.sum(1).tolist()


def source_rows(type_: Any) -> Made:
    """Sums of rows of unknown length."""
    image, f = source(type_), hl.Func("f")
    r = hl.RDom([(0, image.width())], "r")
    f[y] = hl.cast(type_, 0)
    f[y] += image[r.x, y]
    return f, image
