"""Programs end to end: every type, tuples, odd sizes, empty domains, strides, and what run-time errors say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.types import Type
from rfactor.errors import AlgorithmError, BufferError
from rfactor.ir.bfloat import stored
from rfactor.ir.evaluate import held
from rfactor.ir.types import BOOL, SCALARS

x, y, i = hl.Var("x"), hl.Var("y"), hl.Var("i")


@pytest.mark.parametrize("type_", SCALARS, ids=str)
@pytest.mark.parametrize("size", [0, 1, 7, 16, 33])
def test_every_type_at_odd_sizes(type_: Any, size: int) -> None:
    random = np.random.default_rng(size)
    array = held(type_, random.integers(0, 2 if type_ == BOOL else 100, size))
    a, f = hl.Buffer(stored(type_, array)), hl.Func("f")
    value = a[x]
    f[x] = ~value if type_ == BOOL else value + hl.cast(Type(type_), 1)
    f.vectorize(x, 8)
    expected = ~array if type_ == BOOL else array + np.ones(1, array.dtype)
    found = f.realize([size])
    assert found.type() == Type(type_)
    assert np.array_equal(np.asarray(found, array.dtype), expected)


@pytest.mark.parametrize("size", [0, 1, 5, 64, 100])
def test_an_empty_domain_leaves_the_initial_value(size: int) -> None:
    array = np.arange(size, dtype=np.int32)
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    a.set(array)
    r = hl.RDom(a, "r")
    f[()] = (7, 1)
    f[()] = (f[()][0] + a[r.x], hl.max(f[()][1], a[r.x]))
    total, largest = f.realize()
    assert (total[()], largest[()]) == (7 + array.sum(), max([1, *array.tolist()]))


def test_one_compiled_pipeline_serves_every_size() -> None:
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    f[x] = a[x] * 2
    f.vectorize(x, 4)
    for size in (3, 0, 9, 1):
        a.set(np.arange(size, dtype=np.int32))
        assert np.asarray(f.realize([size])).tolist() == [2 * v for v in range(size)]
    assert len(f.prepared.executables) == 1


def test_arrays_are_written_in_place_and_views_keep_their_strides() -> None:
    array = np.arange(24, dtype=np.int16).reshape(4, 6)
    f = hl.Func("f")
    f[x, y] = hl.Buffer(array[::2, ::-1])[x, y] + 1
    f.vectorize(x, 4)
    out = np.zeros((6, 2), np.int16).T
    assert f.realize(out) is None
    assert np.array_equal(out, array[::2, ::-1] + 1)


def test_a_tuple_goes_into_a_tuple_of_arrays() -> None:
    f = hl.Func("f")
    f[x] = (x, hl.f32(x) / 2)
    whole, half = np.zeros(5, np.int32), np.zeros(5, np.float32)
    f.realize((whole, half))
    assert whole.tolist() == [0, 1, 2, 3, 4]
    assert half.tolist() == [0, 0.5, 1, 1.5, 2]
    with pytest.raises(BufferError, match="realize takes 2 arrays, 1 were given"):
        f.realize((whole,))


def test_a_buffer_may_lie_anywhere_in_the_plane() -> None:
    f = hl.Func("f")
    f[x, y] = x * 100 + y
    out = hl.Buffer(hl.Int(32), [2, 3])
    out.set_min(-5, 40)
    f.realize(out)
    assert np.asarray(out).tolist() == [[-460, -360], [-459, -359], [-458, -358]]


def test_parameters_are_given_at_run_time() -> None:
    k, f = hl.Param(hl.Int(32), "k"), hl.Func("f")
    f[x] = x * k
    with pytest.raises(BufferError, match=r"the parameter k has no value: call k\.set"):
        f.realize([3])
    k.set(5)
    assert np.asarray(f.realize([3])).tolist() == [0, 5, 10]
    k.set(-1)
    assert np.asarray(f.realize([3])).tolist() == [0, -1, -2]


def test_reading_outside_an_input_is_an_error_that_names_the_range() -> None:
    f = hl.Func("f")
    f[x] = hl.Buffer(np.zeros(10, np.int32), name="a")[x + 1]
    f.realize([9])
    with pytest.raises(BufferError, match="input a is read from 1 to 10 in dimension 0, but it holds 0 to 9"):
        f.realize([10])


def test_reading_outside_an_input_is_an_error_that_names_the_stages_that_read() -> None:
    a, n = hl.ImageParam(hl.Int(32), 1, "a"), hl.Param(hl.Int(32), "n", 2)
    g, f, r = hl.Func("g"), hl.Func("f"), hl.RDom([(0, n)], "r")
    g[x] = a[x]
    f[x] = g[x]
    f[x] += x
    f[x] += a[x + r.x]
    g.compute_root()
    a.set(np.zeros(10, np.int32))
    f.realize([9])
    with pytest.raises(BufferError, match=r"0 to 9 \(read by g, f\.update\(1\): give a larger array, or clamp"):
        f.realize([10])


def test_a_scatter_outside_its_output_is_an_error_even_where_nothing_else_is_asked() -> None:
    data, f = hl.Buffer(np.array([3, 200], np.uint8)), hl.Func("f")
    r = hl.RDom([(0, 2)], "r")
    f[i] = 0
    f[hl.i32(data[r.x])] += 1
    assert np.asarray(f.realize([256])).nonzero()[0].tolist() == [3, 200]
    for size in (0, 100):
        with pytest.raises(
            BufferError,
            match=rf"is computed from 0 to 255 in dimension 0, but it holds 0 to {size - 1} \(written by .*update\(0\)",
        ):
            f.realize(np.zeros(size, np.int32))


def test_sizes_that_are_less_than_is_computed_give_their_part_of_it() -> None:
    data, f, g = hl.Buffer(np.array([3, 200, 3], np.uint8)), hl.Func("f"), hl.Func("g")
    r = hl.RDom([(0, 3)], "r")
    f[i] = 0
    f[hl.i32(data[r.x])] += 1
    for size in (0, 1, 8, 256, 300):
        got = f.realize([size])
        assert np.asarray(got).tolist() == np.bincount([3, 200, 3], minlength=300)[:size].tolist()
        assert (got.dim(0).min(), got.dim(0).extent()) == (0, size)
    k = hl.Param(hl.Int(32), "k", 5)
    f = hl.Func("f")
    f[x, y] = (x * y, x + y)
    g[x, y] = f[x + k, y - 1][0]
    first, second, third = hl.Pipeline([f, g]).realize([4, 3])  # an output that another reads beyond its size
    assert np.asarray(first).tolist() == [[a * b for a in range(4)] for b in range(3)]
    assert np.asarray(second).tolist() == [[a + b for a in range(4)] for b in range(3)]
    assert np.asarray(third).tolist() == [[(a + 5) * (b - 1) for a in range(4)] for b in range(3)]
    few = hl.Buffer(np.arange(10, dtype=np.int32), name="few")
    h = hl.Func("h")
    h[x] = few[x]
    h[hl.clamp(few[r.x], 0, 20)] += 1
    with pytest.raises(BufferError, match=r"input few is read from 0 to 20 in dimension 0, but it holds 0 to 9"):
        h.realize([8])  # all of it is computed


def test_what_fails_again_and_again_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from rfactor.compiler.codegen import module

    f = hl.Func("f")
    f[x] = hl.Buffer(np.zeros(10, np.uint8), name="a")[x + 1]
    f.compile_jit()
    made, generate = iter(range(9)), module.generate
    monkeypatch.setattr(module, "generate", lambda *given: (generate(*given), next(made))[0])
    for size in (10, 10, 12):
        with pytest.raises(BufferError, match=f"input a is read from 1 to {size} in dimension 0, but it holds 0 to 9"):
            f.realize([size])
    assert next(made) == 1


def test_coordinates_that_leave_i32_are_an_error() -> None:
    f = hl.Func("f")
    f[x] = hl.Buffer(np.zeros(10, np.uint8), name="a")[x * 100000]
    assert np.asarray(f.realize([1])).tolist() == [0]
    where = r"f, where a is read in dimension 0 at f.s0.x \* 100000"
    with pytest.raises(
        BufferError, match=rf"{where}: coordinates reach beyond the range of i32 \(from 0 to 2999900000\)"
    ):
        f.realize([30000])


def test_what_leaves_i32_is_named() -> None:
    p, r = hl.Param(hl.Int(32), "p", 1 << 20), hl.RDom([(0, 1 << 12)], "r")
    r.where(r.x < p + 7)
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = 0
    f[x] += g[hl.clamp(r.x * p, 0, 9)]
    g.compute_root()
    with pytest.raises(BufferError, match=r"^f.update\(0\), where g is read .*: coordinates .* \(from 0 to 4293918720"):
        f.realize([1])
    p.set((1 << 31) - 7)
    with pytest.raises(BufferError, match=r"^a guard of f.update\(0\): .* < p \+ 7: coordinates reach beyond"):
        f.realize([1])


def test_an_output_too_large_to_be_had_is_named() -> None:
    f, g = hl.Func("large"), hl.Func("pair")
    f[x, y] = hl.u8(x + y)
    g[x] = (x, hl.f64(x))
    for func, sizes, named in ((f, [1 << 24, 1 << 24], "large"), (g, [1 << 46], "pair.0")):
        with pytest.raises(MemoryError, match=rf"^{named} of sizes .*{sizes[0]}.*: "):
            func.realize(sizes)


def test_an_intermediate_too_large_to_be_had_is_an_error() -> None:
    g, f, r = hl.Func("g"), hl.Func("f"), hl.RDom([(0, 3)], "r")
    k = hl.Param(hl.Int(32), "k", 1 << 17)
    g[x, y] = hl.u8(x + y)
    f[()] = hl.u8(0)
    f[()] += g[r.x * k, r.x * k]
    g.compute_root()
    with pytest.raises(BufferError, match="storage of g would exceed 2147483647 elements"):
        f.realize()
    k.set(2)
    assert f.realize()[()] == 12


def test_a_wrong_array_is_an_error_that_says_what_is_expected() -> None:
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(BufferError, match="Output buffer f has type int32 but type of the buffer passed in is float64"):
        f.realize(np.zeros(3))
    with pytest.raises(BufferError, match="realize takes 1 sizes, not"):
        f.realize([2, 3])
    with pytest.raises(BufferError, match="a has type int32 but type of the buffer passed in is uint8"):
        hl.ImageParam(hl.Int(32), 1, "a").set(np.zeros((2, 2), np.uint8))


def test_an_output_that_overlaps_an_input_is_an_error() -> None:
    array, f = np.arange(6, dtype=np.int32), hl.Func("f")
    f[x] = hl.Buffer(array)[5 - x]
    with pytest.raises(BufferError, match="overlaps"):
        f.realize(array)


def test_the_later_stages_of_the_compiler_print(tmp_path: Any) -> None:
    f = hl.Func("f")
    f[x] = x * 2
    f.vectorize(x, 8)
    f.compile_to_lowered_stmt(str(tmp_path / "f.stmt"))
    f.compile_to_llvm_assembly(str(tmp_path / "f.ll"))
    f.compile_to_assembly(str(tmp_path / "f.s"))
    assert "produce f:" in (tmp_path / "f.stmt").read_text()
    assert "<8 x i32>" in (tmp_path / "f.ll").read_text()
    assert (tmp_path / "f.s").read_text()


def test_a_reduction_inside_an_expression_is_a_function_of_its_own() -> None:
    array = np.random.default_rng(1).integers(-50, 50, (7, 5), dtype=np.int32)
    a, r = hl.Buffer(array), hl.RDom([(0, 5)], "r")
    f = hl.Func("f")
    f[y] = (hl.sum(a[r.x, y]) + 1, hl.maximum(a[r.x, y]), hl.minimum(r, a[r.x, y]), *hl.argmin(a[r.x, y]))
    total, largest, smallest, where, least = (np.asarray(b) for b in f.realize([7]))
    assert total.tolist() == (array.sum(1) + 1).tolist()
    assert largest.tolist() == array.max(1).tolist()
    assert smallest.tolist() == least.tolist() == array.min(1).tolist()
    assert where.tolist() == array.argmin(1).tolist()


def test_a_predicate_on_data_bounds_the_index_that_it_names() -> None:
    data = np.array([3, -7, 2**31 - 1, 0, -(2**31), 9, 3], np.int32)
    b, f, r = hl.Buffer(data), hl.Func("f"), hl.RDom([(0, 7)])
    at = b[r.x]
    r.where((at >= 0) & (at < 10))
    f[i] = 0
    f[at] += 1
    assert np.asarray(f.realize([10])).tolist() == [1, 0, 0, 2, 0, 0, 0, 0, 0, 1]


def test_data_that_wrap_around_are_no_bound_for_another_index() -> None:
    b, f, r = hl.Buffer(np.array([2**31 - 1], np.int32)), hl.Func("f"), hl.RDom([(0, 1)])
    at = b[r.x]
    r.where((at + 1 < 10) & (at >= 0))
    f[i] = 0
    f[at] += 1
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        f.realize([10])


def test_every_change_after_a_call_is_seen_by_the_next() -> None:
    a, offset, f, g = hl.ImageParam(hl.Int(32), 1, "a"), hl.Param(hl.Int(32)), hl.Func("f"), hl.Func("g")
    a.set(np.arange(8, dtype=np.int32))
    offset.set(1)
    g[x] = a[x] + offset
    f[x] = g[x] * 2
    out = np.zeros(8, np.int32)

    def is_now(expected: Any) -> None:
        for _ in range(2):
            out.fill(-1)
            f.realize(out)
            assert out.tolist() == expected.tolist()

    numbers = np.arange(8)
    is_now((numbers + 1) * 2)
    offset.set(5)
    is_now((numbers + 5) * 2)
    a.set(np.arange(8, 16, dtype=np.int32))
    is_now((numbers + 13) * 2)
    a.set(np.arange(8, 24, dtype=np.int32)[::2])
    is_now((numbers * 2 + 13) * 2)
    code = [one.code for one in f.prepared.executables.values()][-1]
    g.compute_root()
    is_now((numbers * 2 + 13) * 2)
    assert all(one.code is not code for one in f.prepared.executables.values())
    code = [one.code for one in f.prepared.executables.values()][-1]
    g.in_(f).compute_root()
    is_now((numbers * 2 + 13) * 2)
    assert all(one.code is not code for one in f.prepared.executables.values())


def test_an_array_that_changed_in_place_is_looked_at_again() -> None:
    array, f = np.arange(8, dtype=np.int32), hl.Func("f")
    f[x] = hl.Buffer(array)[x] + 1
    out = np.zeros(8, np.int32)
    f.realize(out)
    f.realize(out)
    assert out.tolist() == list(range(1, 9))
    out.flags.writeable = False
    with pytest.raises(BufferError, match="must be writeable"):
        f.realize(out)
    out.flags.writeable = True
    f.realize(out)
    array.shape = (4, 2)
    with pytest.raises(BufferError, match="must have 1 dimensions"):
        f.realize(out)
    array.shape = (8,)
    with pytest.raises(BufferError, match="overlaps"):
        f.realize(array[::-1])


def test_an_output_that_shares_memory_with_itself_is_refused() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + 10 * y
    g[x] = x
    memory = np.zeros(20, np.int32)
    with pytest.raises(BufferError, match="share memory with each other"):
        g.realize(np.lib.stride_tricks.as_strided(memory, (8,), (0,)))
    with pytest.raises(BufferError, match="share memory with each other"):
        f.realize(np.lib.stride_tricks.as_strided(memory, (4, 4), (4, 4)))
    apart = memory[::-1].reshape(4, 5).T[::2, ::3]
    f.realize(apart)
    assert apart.tolist() == [[0, 1], [10, 11], [20, 21]]


def test_a_parameter_is_no_variable_of_the_same_name() -> None:
    p, f = hl.Param(hl.Int(32), "x"), hl.Func("f")
    p.set(7)
    f[x] = p + x
    assert np.array(f.realize([4])).tolist() == [7, 8, 9, 10]


def test_an_output_may_be_asked_for_less_than_is_promised_of_its_array() -> None:
    def part(api: Any, low: int, sizes: list[int]) -> Any:
        x, y = api.vars("x y")
        f = api.Func("f")
        f[x, y] = x + 10 * y
        f.output_buffer().dim(0).set_bounds(low, 8)
        f.output_buffer().dim(1).set_extent(4)
        f.vectorize(x, 8)
        return np.array(f.realize(sizes))

    meant = np.arange(5) + 10 * np.arange(3)[:, None]
    assert np.array_equal(part(hl, 0, [5, 3]), meant)
    assert np.array_equal(part(hl, -3, [5, 4]), np.arange(5) + 10 * np.arange(4)[:, None])
    for low, size in ((1, 5), (0, 9), (-4, 5)):  # not all of what is asked for is in what is promised
        with pytest.raises(hl.HalideError, match=r"where .* was promised"):
            part(hl, low, [size, 3])
    assert np.array_equal(part(pytest.importorskip("halide"), 0, [5, 3]), meant)


def test_less_may_be_asked_for_than_is_computed() -> None:
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = x + 10 * y
    f.bound(x, 0, 8).bound_extent(y, 4).unroll(y)
    want = np.add.outer(10 * np.arange(3), np.arange(5))
    given = f.realize([5, 3])
    assert (given.width(), given.height()) == (5, 3)
    assert np.asarray(given).tolist() == want.tolist()
    assert np.asarray(f.realize([8, 4])).shape == (4, 8)
    with pytest.raises(BufferError, match=r"Bounds given for \S+ in x \(from 0 to 7\)"):
        f.realize([9, 4])
    with pytest.raises(BufferError, match="is computed from 0 to 7"):
        f.realize(np.zeros((4, 5), np.int32))
