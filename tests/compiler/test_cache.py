"""What is compiled again and what is not: the second `realize`, other sizes, the same pipeline built again."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler import pipeline
from rfactor.compiler.codegen import module
from rfactor.errors import AlgorithmError, BufferError

x, y = hl.Var("x"), hl.Var("y")


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the pipelines that are compiled, from an empty cache."""
    names: list[str] = []
    original = module.compile_pipeline

    def noted(lowered: Any, *more: Any) -> Any:
        names.append(lowered.name)
        return original(lowered, *more)

    monkeypatch.setattr(module, "compile_pipeline", noted)
    pipeline._compiled.clear()
    yield names
    pipeline._compiled.clear()


def blurred(image: Any, by: int = 3, name: str | None = "blurred") -> hl.Func:
    """A sum of `by` rows of a sum of columns, with a histogram-like update."""
    source = hl.Buffer(image)
    rows, f = hl.Func(name), hl.Func(name)
    r = hl.RDom([(0, by)])
    rows[x, y] = hl.i32(source[x, y]) + hl.i32(source[x + 1, y])
    f[x, y] = 0
    f[x, y] += rows[x, y + r.x]
    rows.compute_at(f, y).vectorize(x, 4)
    f.parallel(y)
    return f


def reference(image: np.ndarray, by: int = 3) -> np.ndarray:
    rows = image[:, :-1].astype(np.int32) + image[:, 1:]
    return sum(rows[i : rows.shape[0] - by + 1 + i] for i in range(by))


def check(f: hl.Func, image: np.ndarray, by: int = 3) -> None:
    expected = reference(image, by)
    out = np.zeros_like(expected)
    f.realize(out)
    assert np.array_equal(out, expected)


def test_a_second_realize_compiles_nothing(compiled: list[str]) -> None:
    image = np.random.default_rng(0).integers(0, 256, (9, 11), np.uint8)
    f = blurred(image)
    for _ in range(3):
        check(f, image)
    assert len(compiled) == 1


@pytest.mark.parametrize("name", ["blurred", None])
def test_a_pipeline_built_again_over_another_array_compiles_nothing(compiled: list[str], name: str | None) -> None:
    rng, kept = np.random.default_rng(1), []
    for shape in ((9, 11), (5, 6), (40, 33), (9, 11)):
        image = rng.integers(0, 256, shape, np.uint8)
        kept.append(blurred(image, name=name))
        check(kept[-1], image)
    assert len({f.name() for f in kept}) == 4
    assert len(compiled) == 1


@pytest.mark.parametrize("name", [None, "total"])
def test_a_reduction_factored_again_compiles_nothing(compiled: list[str], name: str | None) -> None:
    kept = []
    for size in (40, 90):
        data, f, r, u = np.arange(size, dtype=np.int32), hl.Func(name), hl.RDom([(0, 40)]), hl.Var("u")
        source, ro, ri = hl.Buffer(data), hl.RVar("ro"), hl.RVar("ri")
        f[()] = 0
        f[()] += source[r.x]
        f.update().split(r.x, ro, ri, 8)
        f.update().rfactor(ro, u).compute_root().update().parallel(u)
        assert int(np.asarray(f.realize())) == data[:40].sum()
        kept.append(f)  # so that the next has another name
    assert len({f.name() for f in kept}) == 2
    assert len(compiled) == 1


def test_what_differs_in_more_than_names_is_compiled(compiled: list[str]) -> None:
    image = np.random.default_rng(2).integers(0, 256, (12, 13), np.uint8)
    check(blurred(image), image)
    check(blurred(image, 4), image, 4)
    check(blurred(image.astype(np.int16)), image)
    scheduled = blurred(image)
    scheduled.vectorize(x, 8)
    check(scheduled, image)
    check(blurred(np.asfortranarray(image)), image)
    assert len(compiled) == 5
    check(blurred(image, 4), image, 4)
    check(blurred(np.asfortranarray(image)), image)
    assert len(compiled) == 5


def test_two_inputs_that_become_one_are_another_pipeline(compiled: list[str]) -> None:
    a, b = np.arange(5, dtype=np.int32), np.full(5, 10, np.int32)

    def difference(first: Any, second: Any) -> list[int]:
        f = hl.Func()
        f[x] = first[x] - second[x]
        return np.asarray(f.realize([5])).tolist()

    one, two = hl.Buffer(a), hl.Buffer(b)
    assert difference(one, two) == (a - b).tolist()
    assert difference(two, one) == (b - a).tolist()
    assert difference(one, one) == [0] * 5
    assert len(compiled) == 2


def test_a_parameter_and_an_image_in_each_other_s_place(compiled: list[str]) -> None:
    p, q = hl.Param(hl.Int(32), 5), hl.Param(hl.Int(32), 2)
    results = []
    for one, other in ((p, q), (q, p), (p, p)):
        f = hl.Func()
        f[x] = one * 10 + other
        results.append(np.asarray(f.realize([1]))[0])
    assert results == [52, 25, 55]
    assert len(compiled) == 2


def test_errors_speak_of_the_pipeline_that_is_run() -> None:
    images = [hl.ImageParam(hl.UInt(8), 1) for _ in range(2)]
    for image in images:
        f = hl.Func()
        f[x] = image[x + 1]
        image.set(np.zeros(4, np.uint8))
        f.realize([3])
        with pytest.raises(BufferError, match=rf"input {image.name()} is read from 1 to 4 .* holds 0 to 3"):
            f.realize([4])


def test_code_outlives_the_functions_that_it_was_compiled_for(compiled: list[str]) -> None:
    image = np.random.default_rng(3).integers(0, 256, (7, 8), np.uint8)
    first = blurred(image)
    check(first, image)
    del first
    gc.collect()
    check(blurred(image), image)
    assert len(compiled) == 1


def test_functions_are_let_go_though_their_code_is_kept() -> None:
    image = np.zeros((7, 8), np.uint8)
    f = blurred(image, name="let_go")
    check(f, image)
    held = sys.getrefcount(image)
    del f
    gc.collect()
    assert sys.getrefcount(image) < held


def test_old_code_goes_where_there_is_too_much(compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline._compiled, "most", 2)

    def run(k: int) -> None:
        f = hl.Func()
        f[x] = x + k
        assert np.asarray(f.realize([2])).tolist() == [k, k + 1]

    for k in (1, 2, 1, 3, 1):
        run(k)
    assert len(compiled) == 3
    run(2)
    assert len(compiled) == 4


def test_several_functions_are_computed_together(compiled: list[str]) -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = x * x
    g[x] = (f[x] + 1, hl.f32(f[x]))
    h[x, y] = f[x] + y
    f.compute_root()
    one, two, three = hl.Pipeline([f, g]).realize([4])
    assert np.asarray(one).tolist() == [0, 1, 4, 9]
    assert np.asarray(two).tolist() == [1, 2, 5, 10]
    assert np.asarray(three).tolist() == [0.0, 1.0, 4.0, 9.0]
    assert len(compiled) == 1
    both = hl.Pipeline([h, f])
    a, b = np.zeros((2, 3), np.int32), np.zeros(3, np.int32)
    for _ in range(2):
        assert both.realize((a, b)) is None
        assert a.tolist() == [[0, 1, 4], [1, 2, 5]]
        assert b.tolist() == [0, 1, 4]
        f.parallel(x)
    assert [func.name() for func in both.outputs()] == ["h", "f"]
    with pytest.raises(BufferError, match=r"h has 2 dimensions .* and f has 1 dimensions .* takes 1 sizes"):
        both.realize([3, 2])
    with pytest.raises(AlgorithmError, match="has no outputs"):
        hl.Pipeline().realize([3])
    with pytest.raises(AlgorithmError, match="each function once"):
        hl.Pipeline([f, f])


def test_a_callable_takes_arguments_in_order_or_by_name() -> None:
    image, factor = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Float(32), "factor")
    f = hl.Func("f")
    f[x, y] = hl.u8(image[x + 1, y] * factor)
    call = f.compile_to_callable([image, factor])
    source, out = np.arange(30, dtype=np.uint8).reshape(5, 6), np.zeros((4, 4), np.uint8)
    call(source, 2.0, out)
    assert np.array_equal(out, source[:4, 1:5] * 2)
    call(source, f=out, factor=3.0)
    assert np.array_equal(out, source[:4, 1:5] * 3)
    placed = hl.Buffer(source)
    placed.set_min(1, 0)
    call(placed, 1.0, hl.Buffer(out))
    assert np.array_equal(out, source[:4, :4])
    with pytest.raises(
        BufferError, match=r"Expected exactly 3 positional arguments, but saw 2\. .* image, factor, f\.0"
    ):
        call(source, 2.0)
    with pytest.raises(
        BufferError, match="Input buffer image has type uint8 but type of the buffer passed in is uint16"
    ):
        call(source.astype(np.uint16), 2.0, out)
    with pytest.raises(BufferError, match="Argument image specified multiple times"):
        call(source, 2.0, image=source)
    with pytest.raises(BufferError, match="image is read from 1 to 4"):
        call(source[:, :4], 2.0, out)
    with pytest.raises(AlgorithmError, match="lacks factor among its arguments"):
        f.compile_to_callable([image])


def test_a_callable_knows_names_that_others_had_before() -> None:
    living = [hl.ImageParam(hl.Int(32), 1, "named"), hl.Param(hl.Int(32), "number"), hl.Func("made")]
    image, factor, f = hl.ImageParam(hl.Int(32), 1, "named"), hl.Param(hl.Int(32), "number"), hl.Func("made")
    f[x] = image[x] * factor
    call = f.compile_to_callable([image, factor])
    source, out = np.arange(5, dtype=np.int32), np.zeros(5, np.int32)
    call(named=source, number=3, made=out)
    assert np.array_equal(out, source * 3)
    call(**{image.name(): source, factor.name(): 4, f"{f.name()}.0": out})
    assert np.array_equal(out, source * 4)
    with pytest.raises(BufferError, match="Argument number specified multiple times"):
        call(source, 2, out, number=3)
    assert [one.name() for one in living] == ["named", "number", "made"]
    g = hl.Func("named")
    g[x] = image[x] + 1
    call = g.compile_to_callable([image])
    with pytest.raises(BufferError, match="Unknown argument 'named'"):
        call(named=source)  # either is called so
    call(**{image.name(): source, g.name(): out})
    assert np.array_equal(out, source + 1)


def planes(image: Any) -> hl.Func:
    """The sum of three channels that lie side by side, sixteen pixels at a time."""
    source, f = image if isinstance(image, hl.ImageParam) else hl.Buffer(image), hl.Func("planes_summed")
    f[x, y] = sum(hl.i32(source[c, x, y]) for c in range(3))
    return f.bound(x, 0, 16).vectorize(x, 16)


def _whole(f: hl.Func) -> list[bool]:
    """Whether each code loads vectors: of three channels at a stride of 3 all elements at once."""
    codes = (one.initial_ir for one in f.prepared.executables.values())
    return ["load <16 x i8>" in code or "load <48 x i8>" in code for code in codes]


def test_channels_side_by_side_are_loaded_whole_for_the_stride_that_they_have() -> None:
    image = hl.ImageParam(hl.UInt(8), 3, "beside")
    f, random, out = planes(image), np.random.default_rng(2), np.zeros((5, 16), np.int32)
    for strided in (3, 4, 3, 5):
        pixels = random.integers(0, 256, (5, 16, strided), dtype=np.uint8)
        image.set(pixels)
        f.realize(out)
        np.testing.assert_array_equal(out, pixels[:, :, :3].sum(axis=2, dtype=np.int32))
    # One for strides of 3, one for those of 4, and one for any, lane by lane.
    assert _whole(f) == [True, True, False]


def test_arrays_of_other_strides_run_no_code_that_was_made_for_some() -> None:
    """Nor does code that was found by its structure."""
    pixels = np.random.default_rng(3).integers(0, 256, (4, 16, 3), dtype=np.uint8)
    wider = np.random.default_rng(3).integers(0, 256, (4, 16, 9), dtype=np.uint8)
    for image in (pixels, wider[:, :, :3], pixels, wider[:, :, 1:4], pixels[::-1, ::-1]):
        out = np.zeros((4, 16), np.int32)
        planes(image).realize(out)
        np.testing.assert_array_equal(out, image.sum(axis=2, dtype=np.int32))


def test_a_promised_stride_is_what_code_is_for() -> None:
    image = hl.ImageParam(hl.UInt(8), 3, "promised_beside")
    image.dim(1).set_stride(3)
    f = planes(image)
    image.set(np.ones((2, 16, 3), np.uint8))
    assert np.asarray(f.realize([16, 2])).tolist() == [[3] * 16] * 2
    assert _whole(f) == [True]
    image.set(np.ones((2, 16, 6), np.uint8))
    with pytest.raises(BufferError, match="stride 6 in dimension 1, where 3 was promised"):
        f.realize([16, 2])
