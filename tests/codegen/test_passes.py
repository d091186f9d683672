"""Which of LLVM's passes a nest gets: those that find something in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import generate, passes_for
from rfactor.compiler.codegen.straight import short, tight
from rfactor.compiler.pipeline import executable, lowered
from rfactor.ir.expr import Expr, apply, cast
from rfactor.ir.loopnest import Broadcast, For, block
from rfactor.ir.types import I32, I64
from rfactor.native.engine import host
from tests.codegen.reference import i32, load, ramp, store, var, wide

SOURCE = np.arange(64 * 32, dtype=np.uint8).reshape(32, 64)


def copied() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.Buffer(SOURCE)[x, y] + hl.u8(1)
    return f.parallel(y)


def filled() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.u8(7)
    return f.parallel(y)


def cleared() -> Any:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.u8(0)
    return f.parallel(y)


def counted() -> Any:
    f, i, y, r = hl.Func("f"), hl.Var("i"), hl.Var("y"), hl.RDom([(0, 64)])
    f[i, y] = hl.u32(0)
    f[hl.i32(hl.Buffer(SOURCE)[r.x, y]), y] += hl.u32(1)
    f.update(0).parallel(y)
    return f


def rows_summed() -> Any:
    f, y, r = hl.Func("f"), hl.Var("y"), hl.RDom([(0, 64)])
    f[y] = hl.i32(0)
    f[y] += hl.i32(hl.Buffer(SOURCE)[r.x, y])
    f.update(0).parallel(y)
    return f


def columns_summed() -> Any:
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 32)])
    f[x] = hl.i32(0)
    f[x] += hl.i32(hl.ImageParam(hl.UInt(8), 2, "rows")[x, r.x])
    f.update(0).parallel(x)
    return f


def far_apart() -> Any:
    f, r = hl.Func("f"), hl.RDom([(0, 32)])
    x = hl.Var("x")
    f[x] = hl.i32(0)
    f[x] += hl.i32(hl.Buffer(SOURCE.reshape(-1))[r.x * 64 + x])
    f.update(0).parallel(x)
    return f


def columns_worked() -> Any:
    """A power of each element, more work than where it lies."""
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 32)])
    power = element = hl.i32(hl.ImageParam(hl.UInt(8), 2, "rows")[x, r.x])
    for number in range(6):
        power = power * element + number
    f[x] = hl.i32(0)
    f[x] += power
    f.update(0).parallel(x)
    return f


def looked_up() -> Any:
    """Where data say how far away an element lies, times a stride."""
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 32)])
    rows, where = hl.ImageParam(hl.UInt(8), 2, "rows"), hl.ImageParam(hl.Int(32), 1, "where")
    f[x] = hl.i32(0)
    f[x] += hl.i32(rows[x, hl.clamp(where[r.x], 0, 7)])
    f.update(0).parallel(x)
    return f


def in_lanes() -> Any:
    return copied().vectorize(hl.Var("x"), 16)


@pytest.mark.parametrize(
    ("program", "found"),
    [
        (copied, True),
        (filled, True),
        (cleared, False),
        (counted, False),
        (rows_summed, True),
        (columns_summed, False),
        (far_apart, False),
        (in_lanes, False),
    ],
)
def test_llvms_vectorizers_run_where_they_may_find_something(program: Callable[[], Any], found: bool) -> None:
    target = passes_for(lowered([program()]))
    assert (target.loop_vectorizer, target.slp_vectorizer) == (found, found)
    assert target.level == (3 if found else 1)
    assert not target.loop_unroller


@pytest.mark.parametrize(
    ("program", "gains"),
    [
        (columns_summed, True),
        (far_apart, True),
        (columns_worked, False),
        (looked_up, False),
        (rows_summed, False),
        (copied, False),
        (in_lanes, False),
    ],
)
def test_pointers_are_looked_for_where_loops_walk_by_strides_and_do_little_else(
    program: Callable[[], Any], gains: bool
) -> None:
    assert passes_for(lowered([program()])).pointers == gains


def rows_in_a_case(*, lanes: bool) -> Any:
    """Sums of rows, of which long ones are reduced in lanes, or else in parallel."""
    image, f, y, v = hl.ImageParam(hl.Float(32), 2, "image"), hl.Func("f"), hl.Var("y"), hl.Var("v")
    r, xo, xi = hl.RDom([(0, image.width())], "r"), hl.RVar("xo"), hl.RVar("xi")
    f[y] = hl.f32(0)
    f[y] += image[r.x, y]
    stage = f.update(0).specialize(r.x.extent() > 15).split(r.x, xo, xi, 8)
    if lanes:
        slices = stage.rfactor([(xi, v)])
        slices.compute_at(f, y).vectorize(v).update(0).vectorize(v)
    else:
        stage.rfactor([(xo, v)]).compute_root().update(0).parallel(v)
    return f


@pytest.mark.parametrize("lanes", [True, False])
def test_a_case_that_is_as_written_gets_all_passes_beside_one_that_is_not(lanes: bool) -> None:
    """Rows of 8 floats took twice as long beside lanes for long rows, as LLVM did not unroll their loop."""
    pipeline = lowered([rows_in_a_case(lanes=lanes)])
    target = passes_for(pipeline)
    assert (target.level, target.loop_vectorizer, target.loop_unroller, target.cases) == (3, True, True, True)
    loops = [line for line in generate(pipeline, target)[0].splitlines() if "br i1" in line and ".loop" in line]
    left = [line for line in loops if "!llvm.loop" in line]
    assert left
    assert len(left) < len(loops)
    assert not any("s2.r.x.loop" in line or ".s0.y.loop" in line for line in left if lanes)


def test_a_case_of_two_conditions_is_one_though_its_branches_ask_one_after_the_other() -> None:
    """The rest runs where not both hold; where they do, a branch is within another."""
    f, a, v = hl.Func("two_conditions"), hl.ImageParam(hl.Int(32), 2), hl.Var("v")
    r, xo, xi = hl.RDom([(0, a.width()), (0, a.height())]), hl.RVar("xo"), hl.RVar("xi")
    f[()] = 0
    f[()] += a[r.x, r.y]
    case = f.update(0).specialize((r.x.extent() > 155) & (r.y.extent() > 1339 // r.x.extent()))
    case.split(r.x, xo, xi, 8)
    lanes = case.rfactor([(xi, v)])
    lanes.compute_root().vectorize(v)
    lanes.update(0).vectorize(v)
    assert passes_for(lowered([f])).cases


def test_loops_of_no_case_are_as_the_schedule_left_them() -> None:
    assert not passes_for(lowered([in_lanes()])).cases
    assert not passes_for(lowered([copied()])).cases


def test_without_a_schedule_all_passes_run() -> None:
    f, i = hl.Func("f"), hl.Var("i")
    f[i] = hl.u8(0)
    target = passes_for(lowered([f]))
    assert (target.level, target.loop_vectorizer, target.loop_unroller, target.pointers) == (3, True, True, True)


def test_loops_that_are_unrolled_far_are_not_looked_through_for_lanes() -> None:
    """The passes would take 14 s for 1024 stores. Tiles that registers hold are looked through: they gain most."""

    def unrolled(count: int) -> Any:
        f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
        f[x, y] = hl.ImageParam(hl.UInt(8), 2, "rows")[x, y] + 1
        return f.unroll(x, count)

    near, far = (passes_for(lowered([unrolled(count)])) for count in (256, 512))
    assert (near.level, near.loop_vectorizer, near.slp_vectorizer) == (3, True, True)
    assert (far.level, far.loop_vectorizer, far.slp_vectorizer) == (1, False, False)


def test_who_asks_for_no_passes_gets_none() -> None:
    assert passes_for(lowered([in_lanes()]), replace(host(), level=0)).level == 0


def test_each_function_is_simplified_by_itself() -> None:
    code = executable(columns_summed()).code
    assert code.target.level == 1
    assert "phi i32" not in code.text.replace("phi  i32", "phi i32")
    assert "phi i32" in code.llvm_ir()  # the sum is kept in a register


@pytest.mark.parametrize(
    ("type", "value", "called"),
    [
        (hl.UInt(8), 0, True),
        (hl.Float(32), 0.0, True),
        (hl.Bool(), False, True),
        (hl.Float(32), -0.0, False),
        (hl.UInt(8), 7, False),
    ],
)
def test_what_fills_with_zeros_is_a_call_and_stays_inside(type: Any, value: Any, called: bool) -> None:
    f, x, y = hl.Func("f"), hl.Var("x"), hl.Var("y")
    f[x, y] = hl.cast(type, value)
    assert ("llvm.memset" in executable(f).initial_ir) == called
    room = np.full((6, 12), 1, {"uint1": "bool"}.get(str(type), str(type)))
    f.realize([room[1:4, 2:9]])
    right = np.full_like(room, 1)
    right[1:4, 2:9] = value
    assert room.tobytes() == right.tobytes()
    f.realize([room[4:4, 2:9]])
    f.realize([room[4:, 3:3]])
    assert room.tobytes() == right.tobytes()


def test_what_is_apart_is_filled_element_by_element() -> None:
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = hl.u8(0)
    room = np.full(9, 7, np.uint8)
    f.realize([room[::2]])
    assert room.tolist() == [0, 7, 0, 7, 0, 7, 0, 7, 0]


def test_a_triangle_of_zeros_is_filled_row_by_row() -> None:
    f, x, y, r = hl.Func("f"), hl.Var("x"), hl.Var("y"), hl.RDom([(-2, 12), (0, 6)], "r")
    f[x, y] = hl.u8(7)
    r.where(r.x < r.y)
    f[r.x, r.y] = hl.u8(0)
    room = np.full((6, 12), 9, np.uint8)
    out = hl.Buffer(room)
    out.set_min([-2, 0])
    f.realize([out])
    columns, rows = np.meshgrid(np.arange(-2, 10), np.arange(6))
    assert (room == np.where(columns < rows, 0, 7)).all()


def windowed() -> Any:
    """Sums of windows in lanes."""
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 5)])
    f[x] = hl.i32(0)
    f[x] += hl.i32(hl.Buffer(SOURCE.reshape(-1))[x + r.x])
    f.vectorize(x, 8).update(0).reorder(r.x, x).vectorize(x, 8)
    return f


def spelled_out() -> Any:
    """The same, unrolled."""
    f, x, r = hl.Func("f"), hl.Var("x"), hl.RDom([(0, 5)])
    f[x] = hl.i32(0)
    f[x] += hl.i32(hl.Buffer(SOURCE.reshape(-1))[x + r.x])
    f.vectorize(x, 8).update(0).reorder(r.x, x).unroll(r.x).vectorize(x, 8)
    return f


def counted_after_lanes() -> Any:
    f, i, r = hl.Func("f"), hl.Var("i"), hl.RDom([(0, 64 * 32)])
    f[i] = hl.u32(0)
    f[hl.i32(hl.Buffer(SOURCE.reshape(-1))[r.x])] += hl.u32(1)
    return f.bound(i, 0, 256).vectorize(i, 8)


@pytest.mark.parametrize(
    ("program", "unrolled", "repeated", "removed"),
    [
        (windowed, True, False, True),
        (spelled_out, False, False, True),
        (counted_after_lanes, False, True, False),
        (in_lanes, False, False, False),
    ],
)
def test_passes_that_seldom_find_anything_run_where_they_do(
    program: Callable[[], Any], unrolled: bool, repeated: bool, removed: bool
) -> None:
    target = passes_for(lowered([program()]))
    assert (target.level, target.loop_unroller, target.loop_repeater) == (1, unrolled, repeated)
    assert target.store_remover == removed


@pytest.mark.parametrize("program", [windowed, spelled_out, counted_after_lanes])
def test_what_they_leave_has_the_same_values(program: Callable[[], Any]) -> None:
    flat = SOURCE.reshape(-1).astype(np.int64)
    if program is counted_after_lanes:
        right = np.bincount(flat, minlength=256)
    else:
        right = np.sum([flat[i : i + 1000] for i in range(5)], axis=0)
    assert np.array_equal(np.asarray(program().realize([len(right)])), right)


@pytest.mark.parametrize(("copies", "told"), [(4, False), (8, False), (16, True), (33, True)])
def test_iterations_of_loops_that_are_unrolled_far_are_not_put_together(copies: int, told: bool) -> None:
    """Their elements lie side by side: those of two iterations do not."""
    f, x = hl.Func("f"), hl.Var("x")
    f[x] = hl.i32(hl.Buffer(SOURCE.reshape(-1))[x]) * 3 + 1
    f.unroll(x, copies)
    text, _ = generate(lowered([f]), host())
    assert ('!"llvm.loop.vectorize.enable"' in text) == told
    assert np.array_equal(np.asarray(f.realize([1999])), SOURCE.reshape(-1)[:1999].astype(np.int32) * 3 + 1)


def test_several_loops_that_are_unrolled_far_are_told_apart() -> None:
    f, g, x = hl.Func("f"), hl.Func("g"), hl.Var("x")
    g[x] = hl.i32(hl.Buffer(SOURCE.reshape(-1))[x]) * 3 + 1
    f[x] = g[x] + g[x + 1]
    g.compute_root().unroll(x, 16)
    f.unroll(x, 16)
    text, _ = generate(lowered([f]), host())
    loops = [line.split("!llvm.loop ")[1] for line in text.splitlines() if "!llvm.loop " in line]
    assert len(set(loops)) == len(loops) >= 2
    flat = SOURCE.reshape(-1).astype(np.int32) * 3 + 1
    assert np.array_equal(np.asarray(f.realize([1000])), flat[:1000] + flat[1:1001])


def counting(data: Expr, extent: Expr) -> For:
    """`h[t[x]] = h[t[x]] + data`, and the same of `data` in lanes."""
    at = cast(I64, load(I32, "t", wide("x"))) if data.type.lanes == 1 else ramp(wide("x"), lanes=data.type.lanes)
    return For("x", i32(0), extent, "serial", store("h", at, apply("+", load(I32, "h", at), data)))


@pytest.mark.parametrize(("extent", "lanes", "few"), [(8, 4, True), (9, 4, False), (1, 4, False), (8, 1, False)])
def test_loops_of_vectors_are_short_up_to_eight_iterations(extent: int, lanes: int, few: bool) -> None:
    data = i32(1) if lanes == 1 else Broadcast(i32(1), lanes)
    assert short(counting(data, i32(extent))) is few
    assert not short(counting(data, var("n")))


def test_loops_that_do_little_are_tight_where_there_are_not_many() -> None:
    little = counting(i32(1), var("n"))
    terms: list[Expr] = [var(f"p{k}") for k in range(40)]
    much = counting(reduce(lambda a, b: apply("^", a, b), terms), var("n"))
    assert tight(little)
    assert tight(block(little, much))
    assert not tight(much)
    assert not tight(counting(i32(1), i32(7)))
    assert not tight(counting(Broadcast(i32(1), 4), var("n")))  # vectors beside each other
    assert tight(block(*[little] * 16))
    assert not tight(block(*[little] * 17))
