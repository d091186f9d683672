"""`auto_rfactor`: the serial bits whatever it chooses, text that can be pasted, and when it leaves a loop alone."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.auto import apply, cost, plan
from rfactor.compiler.auto.apply import auto_rfactor, auto_rfactor_all
from rfactor.compiler.auto.directive import AutoSchedule, Directive, Word
from rfactor.compiler.auto.machine import BYTE_NS, CALL_NS, CYCLE_NS, Machine
from rfactor.compiler.auto.work import work
from rfactor.errors import ScheduleError
from rfactor.ir.evaluate import dtype_of

EAGER = Machine(3, 256, threads_ns=60, chunk_ns=15, function_ns=0)
"""On which everything pays soon, so that small arrays have chunks and lanes."""
LANES, THREADS = Machine(1, 256, function_ns=0), Machine(2, 256)
INTEGERS = [hl.UInt(8), hl.Int(8), hl.UInt(16), hl.Int(16), hl.UInt(32), hl.Int(32), hl.UInt(64), hl.Int(64)]
SIZES = [(0, 3), (1, 1), (1, 97), (131, 1), (33, 70), (7, 200)]

Made = tuple[hl.Func, list[hl.ImageParam]]


def total(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(t, 3)
    f[()] += a


def product(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(t, 1)
    f[()] = f[()] * (a | hl.cast(t, 1))


def least(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = t.max()
    f[()] = hl.min(f[()], a)


def argmin(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = (t.max(), hl.i32(-1), hl.i32(-1))
    better = a < f[()][0]
    f[()] = (hl.select(better, a, f[()][0]), hl.select(better, r.x, f[()][1]), hl.select(better, r.y, f[()][2]))


def last(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.i32(-7)
    f[()] = hl.select((a & hl.cast(t, 7)) == hl.cast(t, 3), r.x + 1000 * r.y, f[()])


def horner(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(t, 1)
    f[()] = f[()] * hl.cast(t, 31) + a


def pair(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = (hl.cast(t, 0), hl.cast(t, 0), t.min())
    f[()] = (f[()][0] + a, f[()][1] ^ a, hl.max(f[()][2], a))


def counted(f: Any, r: Any, a: Any, t: Any) -> None:
    i = hl.Var("i")
    f[i] = hl.i32(0)
    f[hl.i32(a & hl.cast(t, 15))] += 1


def rows(f: Any, r: Any, a: Any, t: Any) -> None:
    y = hl.Var("y")
    f[y] = hl.cast(t, 0)
    f[r.y] += a


def columns(f: Any, r: Any, a: Any, t: Any) -> None:
    x = hl.Var("x")
    f[x] = hl.cast(t, 0)
    f[r.x] = hl.max(f[r.x], a)


UPDATES = [total, product, least, argmin, last, horner, pair, counted, rows, columns]
SIDE = 256
"""What is computed of functions that have points."""


def made(update: Callable[..., None], type_: Any, shape: tuple[int, int] | None, guard: bool = False) -> Made:
    """The update over an image, of extents that are given at run time where there is no shape."""
    image = hl.ImageParam(type_, 2, "image")
    f = hl.Func("f")
    extents = [(0, image.width()), (0, image.height())] if shape is None else [(0, shape[1]), (0, shape[0])]
    r = hl.RDom(extents, "r")
    if guard:
        r.where(r.x + r.y != 5)
    update(f, r, image[r.x, r.y], type_)
    return f, [image]


def answer(one: Made, data: Any) -> list[Any]:
    f, (image,) = one
    image.set(data)
    size = [SIDE] * f.dimensions()
    arrays = tuple(np.zeros(size, dtype_of(t.ir)) for t in f.types())
    f.realize(arrays if len(arrays) > 1 else arrays[0])
    return list(arrays)


def random_data(type_: Any, shape: tuple[int, int], seed: int) -> Any:
    dtype = dtype_of(type_.ir)
    ends = np.iinfo(dtype)
    drawn = np.random.default_rng(seed).integers(ends.min, ends.max, shape, dtype, endpoint=True)
    return drawn % 5 if seed % 3 == 0 else drawn  # ties


@pytest.mark.parametrize("number", range(len(UPDATES)), ids=lambda number: UPDATES[number].__name__)
def test_bits_are_those_of_the_serial_loop(number):
    check_bits(UPDATES[number], INTEGERS[number % len(INTEGERS)], guard=number % 2 == 1)


def check_bits(update: Callable[..., None], type_: Any, guard: bool) -> None:
    """The serial bits on all sizes, given when it runs or before."""
    serial, scheduled = (made(update, type_, None, guard) for _ in range(2))
    auto_rfactor(scheduled[0], 0, EAGER)
    for seed, shape in enumerate(SIZES):
        data = random_data(type_, shape, seed)
        right = answer(serial, data)
        candidates = [scheduled]
        if shape == SIZES[-1]:
            candidates.append(made(update, type_, shape, guard))
            auto_rfactor(candidates[-1][0], 0, EAGER)
        for candidate in candidates:
            for a, b in zip(right, answer(candidate, data), strict=True):
                np.testing.assert_array_equal(a, b, f"{type_}, {shape}")


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.__name__)
@pytest.mark.parametrize("shape", [None, (4000, 600)], ids=["sizes given later", "sizes known"])
def test_the_text_is_the_schedule(update, shape):
    def lowered(schedule: Callable[[hl.Func], str]) -> tuple[str, str]:
        gc.collect()  # the names of functions that are gone are free
        f, _ = made(update, hl.Int(16), shape)
        text = schedule(f)
        return text, f.lowered()

    def pasted(f: hl.Func) -> str:
        exec(text, {"f": f})
        return text

    text, chosen = lowered(lambda f: str(auto_rfactor(f, 0, EAGER)))
    assert ("own points" if update is columns and shape else "rfactor(") in text
    assert lowered(pasted)[1] == chosen
    assert lowered(lambda f: "")[1] != chosen


def chosen(update: Callable[..., None], shape: tuple[int, int] | None, machine: Machine, type_: Any = None) -> str:
    f, _ = made(update, type_ or hl.UInt(8), shape)
    return str(auto_rfactor(f, 0, machine))


def test_large_domains_get_chunks_and_lanes():
    text = chosen(argmin, (4096, 4096), THREADS)
    assert "parallel" in text
    assert 'lanes.update(0).vectorize("v")' in text
    assert "specialize" not in text


@pytest.mark.parametrize("update", [total, least, argmin], ids=lambda update: update.__name__)
@pytest.mark.parametrize("shape", [(4, 1 << 21), (4096, 2048)], ids=["a line", "rows"])
def test_what_caches_do_not_hold_is_read_from_several_parts_of_a_chunk(update, shape):
    def streams(shape, machine):
        return "parts in turn" in chosen(update, shape, machine, hl.Int(32))

    assert streams(shape, THREADS)
    assert not streams((shape[0], shape[1] // 4), THREADS)
    assert not streams(None, THREADS)
    assert not streams(shape, LANES)


def test_lanes_of_records_are_few_and_their_chunks_long():
    """Each takes a while until it has found a small element: argmin of 2^24 bytes in rows of 64 took 0.21 ms in 16
    chunks of four parts, 0.11 in 4 chunks of one."""
    machine = Machine(2, 512)
    assert "of about 8388608 iterations" in chosen(argmin, (4, 1 << 22), machine)
    assert "of about 1677722 iterations" in chosen(argmin, (1 << 18, 64), machine)
    assert "parts in turn" not in chosen(argmin, (4, 1 << 22), machine)
    assert "parts in turn" in chosen(argmin, (4, 1 << 24), machine)


def test_parts_are_read_in_turn_only_where_neighbours_may_be_combined():
    assert "parts in turn," not in chosen(last, (4096, 4096), THREADS, hl.Int(32))


@pytest.mark.parametrize("shape", [(2, 4096), (3, 4999), (64, 160), (37, 163)])
@pytest.mark.parametrize("update", [total, least, argmin, pair], ids=lambda update: update.__name__)
def test_parts_that_are_read_in_turn_give_the_serial_bits(update, shape, monkeypatch):
    for figure, where in (("CACHED_BYTES", plan), ("RECORD_NS", cost), ("SETTLE_NS", cost)):
        monkeypatch.setattr(where, figure, 0)
    machine = replace(EAGER, chunk_ns=50)
    for seed, type_ in enumerate((hl.UInt(8), hl.Int(32))):
        data = random_data(type_, shape, seed)
        serial, scheduled, pasted = (made(update, type_, shape) for _ in range(3))
        text = str(auto_rfactor(scheduled[0], 0, machine))
        assert "parts in turn" in text or update is pair, text
        exec(text, {"f": pasted[0]})
        right = answer(serial, data)
        for one in (scheduled, pasted):
            for a, b in zip(right, answer(one, data), strict=True):
                np.testing.assert_array_equal(a, b, f"{type_}, {shape}")


def test_lanes_keep_no_registers_for_what_is_stored_beside_a_record():
    assert "32 lanes" in chosen(argmin, (4096, 512), THREADS, hl.UInt(32))
    assert "128 lanes" in chosen(argmin, (4096, 1024), THREADS, hl.UInt(8))


def test_functions_that_are_arithmetic_are_no_calls():
    def lane_ns(function: Any) -> float:
        f, r, image = hl.Func("summed_calls"), hl.RDom([(0, 100)]), hl.ImageParam(hl.Float(32), 1)
        f[()] = hl.f32(0)
        f[()] += function(image[r.x])
        return work(f.name(), f.function.updates[0], f.references, THREADS).lane_ns

    assert lane_ns(hl.exp) < CALL_NS / 2
    assert lane_ns(hl.log) < CALL_NS / 2
    assert lane_ns(hl.sin) < CALL_NS
    assert lane_ns(lambda x: hl.f32(hl.sin(hl.f64(x)))) >= CALL_NS


def test_threads_of_unknown_sizes_are_for_runs_with_work_for_them():
    """All that is done for threads is done in those; others have lanes alone, or the loop as it was written: argmin of
    bytes in rows of 3 took 35 times as long in 256 lanes, and of 16 bytes in a line twice as long."""
    text = chosen(argmin, None, THREADS)
    threads, lanes = (one for one in text.splitlines() if "= f.update(0)" in one and ".rfactor(" in one)
    assert "specialize((rx.extent() > 276) & (ry.extent() > 2785279 // rx.extent()))" in threads
    assert "specialize((rx.extent() > 276) & (ry.extent() > 716 // rx.extent()))" in lanes
    assert all(".specialize(" in one for one in text.splitlines() if one.startswith("f.update(0)."))
    assert 'chunks.update(0).parallel("u")' in text


@pytest.mark.parametrize(("width", "unrolled"), [(3, True), (8, True), (9, False)])
def test_few_iterations_inside_a_chunk_are_written_out(width, unrolled):
    def saturating(f: Any, r: Any, a: Any, t: Any) -> None:
        f[()] = hl.u8(0)
        f[()] = hl.u8(hl.min(hl.u16(f[()]) + hl.u16(a), 255))

    text = chosen(saturating, (1 << 20, width), THREADS)
    assert ("chunks.update(0).unroll(rx)" in text) == (unrolled and "lanes" not in text.partition("\n")[2])
    if width == 3:
        assert "chunks.update(0).unroll(rx)" in text


def test_one_thread_gets_lanes_alone():
    text = chosen(argmin, (4096, 4096), LANES)
    assert "there is one thread" in text
    assert "vectorize" in text
    assert "parallel" not in text


@pytest.mark.parametrize("update", [total, argmin, horner, counted], ids=lambda update: update.__name__)
def test_small_domains_stay_serial(update):
    f, _ = made(update, hl.UInt(8), (8, 8))
    before = f.lowered()
    found = f.update(0).auto_rfactor()
    assert not found
    assert not found.factored
    assert str(found).startswith("# f.update(0): no threads")
    assert f.lowered() == before
    exec(str(found), {})


def test_operators_that_do_not_commute_get_no_lanes():
    text = chosen(horner, (4096, 4096), THREADS)
    assert "parallel" in text
    assert "does not commute" in text
    assert "vectorize" not in text


def clamped(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(t, 3)
    f[()] = hl.min(hl.max(f[()], a), a ^ hl.cast(t, 5))


def since_zero(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.i32(0)
    f[()] = hl.select(a % 16 == 0, 0, f[()] + 1)


PARTED = Machine(2, 256, threads_ns=60)
"""On which arrays of a few chunks have threads, and chunks are large enough for parts."""


@pytest.mark.parametrize("update", [horner, clamped], ids=lambda update: update.__name__)
@pytest.mark.parametrize("shape", [(2, 10007), (70, 300), (10007, 2)], ids=str)
def test_iterations_that_wait_for_each_other_come_in_parts(update, shape):
    data = random_data(hl.Int(32), shape, 1)
    right = answer(made(update, hl.Int(32), None, True), data)
    known, pasted, later = (made(update, hl.Int(32), size, True) for size in (shape, shape, None))
    text = str(auto_rfactor(known[0], 0, PARTED))
    assert 'reorder("v"' in text
    assert 'parts.compute_at(chunks, "' in text  # iterations are left out: not beside what other threads store
    assert 'parts.update(0).unroll("v")' in text
    exec(text, {"f": pasted[0]})
    auto_rfactor(later[0], 0, PARTED)
    for one in (known, pasted, later):
        np.testing.assert_array_equal(answer(one, data), right)


@pytest.mark.parametrize("guard", [False, True])
def test_parts_of_unknown_sizes_come_in_turns_from_a_chunk_on(guard):
    """A smaller run is one part: three of four iterations would do nothing."""

    def rows_of_three() -> Made:
        image, f = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f")
        r = hl.RDom([(0, 3), (0, image.height())], "r")
        if guard:
            r.where(r.x + r.y != 5)
        horner(f, r, image[r.x, r.y], hl.Int(32))
        return f, [image]

    serial, found = rows_of_three(), rows_of_three()
    text = str(auto_rfactor(found[0], 0, PARTED))
    assert "# chunks of about 32768 iterations" in text
    assert 'chunks = f.update(0).specialize(ry.extent() > 21845).rfactor([("yo", "u")])' in text
    assert 'parts.update(0).unroll("v")' in text
    for height in (1, 2000, 20011, 40009):
        data = random_data(hl.Int(32), (height, 3), 1)
        np.testing.assert_array_equal(answer(found, data), answer(serial, data))


def each_row(step: Callable[[Any, Any], Any], first: int = 1) -> Made:
    """Rows of unknown length, each to a point, with the coordinates of few left out."""
    image, f, y = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f"), hl.Var("y")
    r = hl.RDom([(0, image.width())], "r")
    r.where(r.x != 3)
    f[y] = hl.i32(first)
    f[y] = step(f[y], image[r.x, y])
    return f, [image]


TURNS = {
    "horner": lambda x, a: x * 31 + a,
    "sum": lambda x, a: x + a,
    "clamp": lambda x, a: hl.min(hl.max(x, a), a ^ 5),
}


@pytest.mark.parametrize("step", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("machine", [LANES, THREADS, PARTED], ids=["one thread", "two", "threads soon"])
def test_two_rows_of_unknown_length_come_in_turn(step, machine):
    """Odd numbers of them, and one, too."""
    found, pasted = each_row(step), each_row(step)
    text = str(auto_rfactor(found[0], 0, machine))
    assert 'f.update(0).split("y", "y", "yi", 2)' in text
    assert 'f.update(0).unroll("yi")' in text
    exec(text, {"f": pasted[0]})
    for rows, length in [(1, 5), (2, 0), (3, 1), (8, 4), (77, 12), (5, 70), (3, 3000)]:
        data = random_data(hl.Int(32), (rows, length), 1)
        serial = each_row(step)
        for one in (serial, found, pasted):
            one[1][0].set(data)
        right, *others = (np.asarray(one[0].realize([rows])) for one in (serial, found, pasted))
        for other in others:
            np.testing.assert_array_equal(other, right, err_msg=f"{rows} rows of {length}")


@pytest.mark.parametrize("step", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("length", [2, 3, 4])
@pytest.mark.parametrize("points", [None, 1 << 22], ids=["alone", "shared"])
def test_two_short_rows_of_known_length_come_in_turn(step, length, points):
    """Threads that share the rows take so many that LLVM makes vectors of them."""

    def rows():
        image, f, y = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f"), hl.Var("y")
        r = hl.RDom([(0, length)])
        f[y] = hl.i32(3)
        f[y] = step(f[y], image[r.x, y])
        if points is not None:
            f.set_estimates([(0, points)])
        return f, image

    found, pasted = rows(), rows()
    text = str(auto_rfactor(found[0], 0, LANES if points is None else Machine(2, 256, threads_ns=100)))
    loop, two = ("y", "yi") if points is None else ("yi", "yi1")
    assert f'f.update(0).split("{loop}", "{loop}", "{two}", 2)' in text
    assert f'f.update(0).unroll("{two}")' in text
    assert "f.update(0).unroll(rx)" in text
    assert (points is not None) == ('f.update(0).split("y", "yo", "yi", 1024)' in text)
    assert (points is not None) == ('f.update(0).parallel("yo")' in text)
    exec(text, {"f": pasted[0]})
    for count in (1, 2, 3, 1023, 1025, 5001):
        data = random_data(hl.Int(32), (count, length), 1)
        serial = rows()
        for _, image in (serial, found, pasted):
            image.set(data)
        right, *others = (np.asarray(f.realize([count])) for f, _ in (serial, found, pasted))
        for other in others:
            np.testing.assert_array_equal(other, right, err_msg=f"{count} rows of {length}")


@pytest.mark.parametrize("length", [1, 5])
def test_rows_that_llvm_makes_better_vectors_of_stay_as_they_are(length):
    image, f, y, r = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f"), hl.Var("y"), hl.RDom([(0, length)])
    f[y] = hl.f32(0)
    f[y] += image[r.x, y]
    assert "split" not in str(auto_rfactor(f, 0, LANES))


def test_long_rows_that_llvm_makes_vectors_of_come_one_after_the_other():
    image, f, y = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f"), hl.Var("y")
    r = hl.RDom([(0, image.width())], "r")
    f[y] = hl.i32(0)
    f[y] += image[r.x, y]
    assert 'f.update(0).specialize(rx.extent() > 63).serial("y")' in str(auto_rfactor(f, 0, LANES))


@pytest.mark.parametrize(("step", "turns"), [("sum", False), ("horner", True)])
def test_long_rows_of_points_that_threads_share_are_theirs(step, turns):
    """The first case that holds decides: none may come before that of the threads."""
    image, f, y = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f"), hl.Var("y")
    r = hl.RDom([(0, image.width())], "r")
    f[y] = hl.i32(1)
    f[y] = TURNS[step](f[y], image[r.x, y])
    f.set_estimates([(0, 4096)])
    text = str(auto_rfactor(f, 0, THREADS))
    (case,) = [line for line in text.splitlines() if ".specialize(" in line]
    assert '.parallel("y")' in case
    assert ('unroll("yi")' in text) == turns


def test_rows_of_known_length_come_one_after_the_other():
    image, f, y = hl.ImageParam(hl.Int(32), 2, "image"), hl.Func("f"), hl.Var("y")
    r = hl.RDom([(0, 5)], "r")
    f[y] = hl.i32(1)
    f[y] = f[y] * 31 + image[r.x, y]
    assert not auto_rfactor(f, 0, THREADS)


def test_steps_that_take_little_beside_what_they_wait_come_in_more_parts() -> None:
    """By 31 is a shift and a difference; two products of integers take two cycles, and wait for four."""

    def stepped(factor: Callable[[Any], Any]) -> str:
        def update(f: Any, r: Any, a: Any, t: Any) -> None:
            f[()] = hl.i32(1)
            f[()] = f[()] * factor(a) + a

        return chosen(update, (1 << 6, 1 << 8), THREADS, hl.Int(32))

    assert "# 4 parts" in stepped(lambda a: 31)
    assert "# 4 parts" in stepped(lambda a: -5)
    assert "# 2 parts" in stepped(lambda a: 1103515245)
    assert "# 2 parts" in stepped(lambda a: a)


def test_parts_in_turns_pay_without_threads_too():
    shape = (3, 5003)
    data = random_data(hl.Int(32), shape, 1)
    found = made(horner, hl.Int(32), shape)
    text = str(auto_rfactor(found[0], 0, THREADS))
    assert "no threads" in text
    assert 'parts.update(0).unroll("v")' in text
    np.testing.assert_array_equal(answer(found, data), answer(made(horner, hl.Int(32), None), data))
    assert "parts" in chosen(horner, (3, 1000), THREADS, hl.Int(32))  # a microsecond less
    assert "parts" not in chosen(horner, (3, 100), THREADS, hl.Int(32))


def every(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(hl.Bool(), 1)
    f[()] = f[()] & (a > hl.cast(t, 3))


def greatest_float(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.f32(-1)
    f[()] = hl.max(f[()], hl.f32(a))


@pytest.mark.parametrize("update", [total, least, every, greatest_float], ids=lambda update: update.__name__)
def test_long_loops_that_llvm_makes_vectors_of_get_threads_alone(update):
    text = chosen(update, (2048, 4096), THREADS)
    assert "parallel" in text
    assert "vectorize" not in text
    assert "LLVM makes vectors" in text
    assert "vectorize" in chosen(update, (1 << 17, 128), THREADS)  # merged 2^17 times else
    assert "vectorize" in chosen(argmin, (4096, 4096), THREADS)


def test_beside_records_lanes_cost_what_it_costs_to_look_for_one():
    def lanes_take(type_: Any) -> float:
        f, _ = made(argmin, type_, (4096, 4096))
        return work(f.function.name, f.function.updates[0], f.references, THREADS).lane_ns

    assert lanes_take(hl.UInt(8)) == BYTE_NS
    assert lanes_take(hl.Int(32)) > 4 * BYTE_NS  # to choose positions as wide as the record is no dearer than to ask


@pytest.mark.parametrize("shape", [None, (2048, 2048)], ids=["sizes given later", "sizes known"])
def test_bins_are_merged_as_they_lie_in_memory(shape):
    text = chosen(lambda f, r, a, t: bins(f, a), shape, THREADS)
    if shape is None:
        assert text.count('.reorder("i", "yi")') == 1
        assert text.count('.reorder("i", "xi")') == 1
    else:
        assert 'f.update(0).reorder("i", "yo")' in text
    assert 'chunks.update(0).reorder("i", "xi", "u")' in text


def test_parts_of_a_chunk_begin_where_they_are_computed():
    """LLVM then knows what they begin with: there are as many as pay anywhere."""
    f, _ = made(horner, hl.Int(32), (300, 400))
    text = str(auto_rfactor(f, 0, PARTED))
    assert 'chunks = f.update(0).rfactor([("yo", "u")])' in text
    assert "# 4 parts" in text
    assert 'parts.compute_at(chunks, "u")' in text


@pytest.mark.parametrize("size", [1 << 15, 1 << 17])
def test_threads_pay_beside_what_one_core_takes_for_parts_in_turns(size):
    """2^15 steps take 35 µs one after the other and 12 in four parts."""

    def horner31(f: Any, r: Any, a: Any, t: Any) -> None:
        f[()] = hl.i32(1)
        f[()] = f[()] * 31 + a

    text = chosen(horner31, (size >> 8, 1 << 8), THREADS, hl.Int(32))
    assert "# 4 parts" in text
    assert ("parallel" in text) == (size > 1 << 15)


def test_iterations_that_hardly_wait_come_one_by_one():
    def automaton(f: Any, r: Any, a: Any, t: Any) -> None:
        f[()] = hl.i32(0)
        s, c = f[()], a & hl.cast(t, 1)
        moved = hl.select(s == 0, 2, s == 1, 0, s == 2, 3, 1)
        f[()] = hl.select(c == 0, moved, hl.select(s == 3, 1, s))

    text = chosen(automaton, (4096, 4096), Machine(16, 256))
    assert "parallel" in text
    assert "unroll" not in text
    assert "parts" not in text
    shape = (300, 400)
    data = random_data(hl.Int(32), shape, 1)
    guarded = made(automaton, hl.Int(32), shape, True)
    text = str(auto_rfactor(guarded[0], 0, Machine(16, 256, threads_ns=60)))
    assert "unroll" not in text
    assert 'parts.compute_at(chunks, "u")' in text
    np.testing.assert_array_equal(answer(guarded, data), answer(made(automaton, hl.Int(32), None, True), data))


def matrices(f: Any, r: Any, a: Any, t: Any) -> None:
    b = a ^ hl.cast(t, 5)
    f[()] = tuple(hl.cast(t, value) for value in (1, 0, 0, 1))
    x = f[()]
    f[()] = (x[0] * a + x[1] * b, x[0] * b + x[1], x[2] * a + x[3] * b, x[2] * b + x[3])


def test_a_richer_state_that_takes_longer_than_threads_gain_is_left_alone():
    text = chosen(matrices, (4096, 4096), THREADS, hl.Int(32))
    assert "costs more than 2 threads gain" in text
    assert "parallel" in chosen(matrices, (4096, 4096), Machine(8, 256), hl.Int(32))
    assert "parallel" in chosen(since_zero, (4096, 4096), THREADS, hl.Int(32))  # no more operations than the loop's


def fibonacci(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = (hl.cast(t, 1), hl.cast(t, 0))
    f[()] = (f[()][0] + f[()][1] * a, f[()][0])


def carried(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = (hl.cast(t, 0), hl.cast(t, 0))
    low = f[()][0] + a
    f[()] = (low, f[()][1] + a + hl.select(low < f[()][0], hl.cast(t, 1), hl.cast(t, 0)))


@pytest.mark.parametrize(("update", "cycles"), [(total, 1), (horner, 4), (fibonacci, 2), (carried, 2), (since_zero, 2)])
def test_an_iteration_waits_as_long_as_the_slowest_cycle_of_components(update, cycles):
    f, _ = made(update, hl.UInt(32), (40, 40))
    found = work(f.function.name, f.function.updates[0], f.references, THREADS)
    assert found.waits_ns == pytest.approx(cycles * CYCLE_NS)


def smoothed(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.f32(0)
    f[()] = f[()] * hl.f32(0.9) + hl.f32(a)


def test_slices_that_keep_products_of_floats_are_not_made():
    text = chosen(smoothed, (4096, 4096), Machine(16, 256), hl.Int(32))  # 0.9 ** 1000 is denormal
    assert "may become denormal" in text
    assert "rfactor(" not in text
    assert "rfactor(" in chosen(horner, (4096, 4096), Machine(16, 256), hl.Int(32))


def test_bins_of_any_number_are_not_copied():
    assert "parallel" in chosen(lambda f, r, a, t: bins(f, a), (4096, 4096), THREADS)
    text = chosen(lambda f, r, a, t: bins(f, a), (4096, 4096), THREADS, hl.Int(32))
    assert "data may choose any point" in text
    assert "rfactor(" not in text


def bins(f: Any, a: Any) -> None:
    f[hl.Var("i")] = hl.i32(0)
    f[hl.i32(a)] += 1


def test_products_of_matrices_run_along_their_own_points():
    a, b, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.ImageParam(hl.Int(32), 2, "b"), hl.Func("f")
    x, y, k = hl.Var("x"), hl.Var("y"), hl.RDom([(0, 64)], "k")
    f[x, y] = hl.i32(0)
    f[x, y] += a[k.x, y] * b[x, k.x]
    found = f.update(0).auto_rfactor()
    assert not found.factored
    assert '.vectorize("x", ' in str(found)
    left, right = (np.random.default_rng(seed).integers(-9, 9, (64, 64), np.int32) for seed in (1, 2))
    a.set(left)
    b.set(right)
    np.testing.assert_array_equal(np.asarray(f.realize([64, 64])), left @ right)


def test_what_is_not_proved_is_refused_and_unchanged():
    f, _ = made(lambda f, r, a, t: halves(f, a), hl.Int(32), (4096, 4096))
    before = f.lowered()
    with pytest.raises(ScheduleError, match="not associative"):
        f.update(0).auto_rfactor()
    assert f.lowered() == before


def halves(f: Any, a: Any) -> None:
    f[()] = hl.i32(0)
    f[()] = (f[()] + a) >> 1


def test_all_updates_at_once_or_none(monkeypatch):
    monkeypatch.setattr(apply, "this_machine", lambda: Machine(2, 256))
    f, (image,) = made(total, hl.UInt(32), (4096, 4096))
    r = hl.RDom([(0, 4096), (0, 4096)], "s")
    f[()] = hl.max(f[()], image[r.x, r.y])
    before = f.lowered()
    found = f.auto_rfactor()
    assert [one.update for one in found] == [0, 1]
    assert str(found).count("parallel") == 2
    assert f.lowered() != before
    g, (image,) = made(total, hl.Int(32), (4096, 4096))
    r = hl.RDom([(0, 4096), (0, 4096)], "s")
    g[()] = (g[()] + image[r.x, r.y]) >> 1
    before = g.lowered()
    with pytest.raises(ScheduleError, match="not associative"):
        auto_rfactor_all(g, EAGER)
    assert g.lowered() == before


def test_what_turns_out_illegal_is_taken_back(monkeypatch):
    def overconfident(*given: Any, vectors: bool) -> AutoSchedule:
        chosen = plan.choose(*given, vectors=vectors)
        wrong = Directive(Word("chunks"), 0, "unroll", ("nowhere",))
        return replace(chosen, directives=(*chosen.directives, wrong)) if vectors else chosen

    monkeypatch.setattr(apply, "choose", overconfident)
    f, (image,) = made(total, hl.UInt(32), (40, 300))
    found = auto_rfactor(f, 0, EAGER)
    assert "nowhere" in found.why
    assert "parallel" in str(found)
    assert "vectorize" not in str(found)
    data = random_data(hl.UInt(32), (40, 300), 1)
    assert answer((f, [image]), data) == [(3 + int(data.sum(dtype=np.uint64))) % 2**32]
    assert len([name for name in f.references if "intm" in name]) == 1


@pytest.mark.parametrize("name", ["lanes", "chunks", "lambda", "rx", "f"])
def test_names_in_the_text_are_those_of_python(name):
    def lowered(schedule: Callable[[hl.Func], object]) -> str:
        gc.collect()
        f, r = hl.Func(name), hl.RDom([(0, 100_000)], "r")
        f[()] = hl.f32(0)
        f[()] += hl.f32(r.x)
        schedule(f)
        return f.lowered()

    def remember(f: hl.Func) -> None:
        texts.append(str(auto_rfactor(f, 0, LANES)))

    texts: list[str] = []
    chosen = lowered(remember)
    assert "vectorize" in texts[0]
    assert lowered(lambda f: exec(texts[0], {"f": f})) == chosen


def test_other_directives_are_not_overruled():
    f, _ = made(total, hl.UInt(8), (4096, 4096))
    f.update(0).unroll("r.x", 4)
    with pytest.raises(ScheduleError, match="leave them out"):
        f.update(0).auto_rfactor()


def test_updates_without_a_reduction_are_left_alone():
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = x
    f[x] = f[x] * 2
    assert "nothing is reduced" in str(f.update(0).auto_rfactor())
    assert isinstance(f.update(0).auto_rfactor(), AutoSchedule)
