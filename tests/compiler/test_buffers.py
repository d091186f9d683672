"""Buffers: an array and its place, the names and numbers of Halide's bindings, and nothing copied."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, OutOfBounds, TypeMismatch

ARRAY = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

SHAPES = [
    "b", "b.translated(1, 5)", "b.translated([1, 2])", "b.translated([1, 2, 3])", "b.cropped(0, 1, 2)",
    "b.cropped([(1, 2), (0, 2), (0, 1)])", "b.sliced(0, 1)", "b.sliced(2)", "b.sliced(1, 2)", "b.embedded(1, 5)",
    "b.embedded(3)", "b.embedded(0)", "b.transposed(0, 1)", "b.transposed([2, 0, 1])", "b.transposed(0, 2)",
    "b.cropped(dimension=0, min=1, extent=2)", "b.cropped(rect=[(1, 2)])", "b.translated(dimension=1, dx=5)",
    "b.translated(delta=[4])", "b.transposed(d1=0, d2=2)", "b.transposed(order=[1, 2, 0])",
    "hl.Buffer(type=hl.UInt(8), sizes=[4, 3, 2], storage_order=[2, 0, 1])",
    "hl.Buffer.make_interleaved(type=hl.UInt(8), width=4, height=3, channels=2)",
    "b.reverse_axes()", "b.copy()", "hl.Buffer(b)", "b.translated([7, 8, 9]).cropped(1, 9, 2).sliced(0, 8)",
    "hl.Buffer(a[:, ::-1])", "hl.Buffer(a[::2])", "hl.Buffer(a.transpose(1, 2, 0))", "hl.Buffer(a, 'named', False)",
    "hl.Buffer(a, reverse_axes=False)", "hl.Buffer(hl.Int(32), [4, 3])", "hl.Buffer(hl.Int(32), [4, 3, 2], [2, 0, 1])",
    "hl.Buffer(hl.Int(32), [4, 3, 2], [1, 2, 0], 'n')", "hl.Buffer.make_interleaved(hl.UInt(8), 4, 3, 2)",
    "hl.Buffer.make_scalar(hl.Float(32))", "hl.Buffer.make_with_shape_of(b.transposed(0, 1))",
    "hl.Buffer(hl.Int(32), [])", "hl.Buffer(hl.Int(32), np.array([4, 3]), np.array([1, 0]))",
    "hl.Buffer(hl.Int(32), range(2, 4))",
    "hl.Buffer(memoryview(a))", "hl.Buffer(bytearray(5))",
]  # fmt: skip


def told(buffer: Any) -> list[tuple[int, int, int, int]]:
    """The box and the strides as each API tells them, a stride only where there is a next element."""
    dims = (buffer.dim(d) for d in range(buffer.dimensions()))
    return [(d.min(), d.extent(), d.max(), d.stride() if d.extent() > 1 else 0) for d in dims]


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_and_elements_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    ours, theirs = (eval(text, {"hl": api, "np": np, "a": ARRAY, "b": api.Buffer(ARRAY)}) for api in (hl, halide))
    assert str(ours.type()) == str(theirs.type())
    assert told(ours) == told(theirs)
    assert ours.number_of_elements() == theirs.number_of_elements()
    assert (ours.width(), ours.height(), ours.channels()) == tuple(
        theirs.dim(d).extent() if d < theirs.dimensions() else 1 for d in range(3)
    )
    if "make_" not in text and "hl.Int" not in text and "type=" not in text:
        assert np.array_equal(np.asarray(ours), np.array(theirs))


def test_its_memory_is_that_of_its_array() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    buffer = hl.Buffer(array)
    memory = memoryview(buffer) if sys.version_info >= (3, 12) else buffer.__buffer__(1)
    memory[1, 2] = 7
    assert array[1, 2] == 7
    array.setflags(write=False)
    assert hl.Buffer(array).__buffer__(0).readonly
    with pytest.raises(BufferError, match="may not be written"):
        hl.Buffer(array).__buffer__(1)


@pytest.mark.parametrize("dtype", ["?", "b", "h", "i", "l", "B", "H", "I", "L", "e", "f", "d"])
def test_every_type_goes_in_and_out_without_a_copy(dtype: str) -> None:
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    buffer = hl.Buffer(array)
    f[x, y] = buffer[x, y]
    out = np.zeros_like(array)
    f.realize(hl.Buffer(out))
    assert np.array_equal(out, array)
    assert np.shares_memory(np.asarray(buffer), array)
    assert np.asarray(f.realize([3, 2])).dtype == array.dtype


@pytest.mark.parametrize(
    ("type", "value", "element"),
    [
        (hl.Bool(), 300, True), (hl.Bool(), 0.0, False), (hl.Bool(), np.float32(0.5), True),
        (hl.UInt(8), np.float32(2.5), 2), (hl.Int(32), np.float16(-2.5), -2), (hl.Float(32), np.float32(2.5), 2.5),
    ],
)  # fmt: skip
def test_an_element_takes_numbers_of_numpy_and_a_boolean_whether_it_is_zero(
    type: Any, value: Any, element: Any
) -> None:
    b = hl.Buffer(type, [2])
    b[1] = value
    assert b[1] == element
    b.fill(value)
    assert b[0] == element


@pytest.mark.parametrize("value", [2.5, np.float64(2.5), np.float32(300), np.float32("nan"), np.float32("inf"), None])
def test_an_integer_does_not_take_a_fraction_or_what_it_does_not_hold(value: Any) -> None:
    with pytest.raises(TypeMismatch):
        hl.Buffer(hl.UInt(8), [2])[0] = value


def test_elements_are_read_and_written_at_coordinates() -> None:
    b = hl.Buffer(ARRAY.copy())
    b.set_min(10, 20)
    assert b[11, 21, 1] == b[[11, 21, 1]] == ARRAY[1, 1, 1]
    assert isinstance(b[10, 20, 0], int)
    b[10, 20, 0] = -5
    assert b.array[0, 0, 0] == -5
    assert b.contains([10, 20, 0])
    assert not b.contains([9, 20, 0])
    seen: list[list[int]] = []
    b.sliced(2).for_each_element(seen.append)
    assert seen[:5] == [[10, 20], [11, 20], [12, 20], [13, 20], [10, 21]]
    assert hl.Buffer(np.zeros((), np.float32))[()] == 0.0


def test_sizes_and_coordinates_may_be_arrays() -> None:
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    f[x, y] = x + 10 * y
    assert told(f.realize(np.array([3, 4]))) == [(0, 3, 2, 1), (0, 4, 3, 3)]
    b = hl.Buffer(ARRAY)
    assert b[np.array([3, 2, 1])] == b[3, 2, 1] == 23
    b.set_min(np.array([1, 2, 3]))
    assert b[[1, 2, 3]] == 0
    g = hl.Func("g")
    g[x] = x
    out = np.zeros(1, np.int32) - 7
    g.realize(out)  # an array of the output's rank is computed into
    assert out.tolist() == [0]


def test_a_copy_by_numpy_keeps_the_order_in_memory() -> None:
    assert np.array(hl.Buffer.make_interleaved(hl.UInt(8), 5, 4, 3)).strides == (1, 15, 3)


def test_an_image_without_an_array_gives_an_undefined_one() -> None:
    im, f, x = hl.ImageParam(hl.Int(32), 1), hl.Func("f"), hl.Var("x")
    assert not im.get().defined()
    f[x] = im[x]
    with pytest.raises(BufferError, match="has no array"):
        f.realize([3])


def test_crops_and_slices_are_of_the_same_elements() -> None:
    b = hl.Buffer(ARRAY.copy())
    part = b.cropped(0, 1, 2).sliced(2, 1)
    part.fill(9)
    assert b.array[1, :, 1:3].tolist() == [[9, 9]] * 3
    assert part.all_equal(9)
    assert not b.all_equal(9)
    b.transpose(0, 2)
    b.crop(0, 1, 1)
    b.slice(0)
    b.embed(0, 4)
    b.add_dimension()
    assert told(b) == [(4, 1, 4, 0), (0, 3, 2, 4), (0, 4, 3, 1), (0, 1, 0, 0)]
    assert b.array[0, :, 2, 0].tolist() == [20, 9, 9, 23]


def test_what_two_have_in_common_is_copied() -> None:
    one, other = hl.Buffer(np.zeros((3, 3), np.int32)), hl.Buffer(np.full((3, 3), 7, np.int32))
    other.set_min(1, 2)
    one.copy_from(other)
    assert one.array.tolist() == [[0, 0, 0], [0, 0, 0], [0, 7, 7]]
    other.translate([5, 5])
    one.copy_from(other)
    with pytest.raises(BufferError, match="copy_from"):
        one.copy_from(hl.Buffer(np.zeros(3, np.int32)))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda b: b[4, 0, 0], IndexError, "index 4 is out of bounds for axis 0 with min=0, extent=4"),
        (lambda b: b[1, 2], BufferError, "has 3 dimensions, 2 indices"),
        (lambda b: b.dim(3), BufferError, "hence no dimension 3"),
        (lambda b: b.cropped(0, 1, 20), OutOfBounds, "crop of .* to 1 … 20 in dimension 0, where it holds 0 to 3"),
        (lambda b: b.sliced(1, 3), OutOfBounds, "slice of .* at 3"),
        (lambda b: b.transposed([0, 0, 1]), BufferError, "each of its 3 dimensions once"),
        (lambda b: b.translated([1, 2, 3, 4]), BufferError, "translate"),
        (lambda b: b.set_min(1, 2, 3, 4), BufferError, "takes 3 coordinates"),
        (lambda b: b.embedded(5), BufferError, "in dimension 5"),
        (lambda b: b.fill(3.7), TypeMismatch, "3.7 is no i32"),
        (lambda b: b.fill(1 << 40), TypeMismatch, "does not fit i32"),
        (lambda b: b.fill("3"), TypeMismatch, "is no number"),
        (lambda b: hl.Buffer(7), TypeMismatch, "takes an array, a type and sizes"),
        (lambda b: hl.Buffer(hl.Int(32), 4), TypeMismatch, "takes an array, a type and sizes"),
        (lambda b: hl.Buffer(hl.Int(32), [-4]), BufferError, "sizes are 0 or more"),
        (lambda b: hl.Buffer(hl.Int(32), [4, 3], [0, 0]), TypeMismatch, "names each of 2 dimensions once"),
        (lambda b: hl.Buffer(np.zeros(3, np.complex64)), ValueError, "arrays of complex64"),
        (lambda b: hl.Buffer().array, BufferError, "undefined Buffer"),
    ],
)
def test_what_a_buffer_does_not_have_is_said(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(hl.Buffer(ARRAY))


def test_an_undefined_buffer_says_so() -> None:
    assert not hl.Buffer().defined()
    assert hl.Buffer(ARRAY).defined()


def test_any_order_in_memory_may_be_computed_into() -> None:
    x, y, c, f = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Func("f")
    f[x, y, c] = x + 10 * y + 100 * c
    planar, interleaved = hl.Buffer(hl.Int(32), [4, 3, 2]), hl.Buffer(hl.Int(32), [4, 3, 2], [2, 0, 1])
    interleaved.set_min([1, 1, 0])
    f.realize(planar)
    f.realize(interleaved)
    assert interleaved[2, 3, 1] == planar.cropped(0, 2, 1)[2, 2, 1] + 10
    g = hl.Func("g")
    g[x, y] = interleaved[x, y, 1]
    at = hl.Buffer(hl.Int(32), [2, 2])
    at.set_min([2, 1])
    g.realize(at)
    assert at[3, 2] == 123
    flipped = np.zeros((3, 4), np.int32)[:, ::-1]
    h = hl.Func("h")
    h[x, y] = x + 10 * y
    h.realize(hl.Buffer(flipped))
    assert flipped[2].tolist() == [20, 21, 22, 23]


# -- images given later ------------------------------------------------------------------------------------------------


def test_the_alignment_that_was_said_is_kept() -> None:
    image = hl.ImageParam(hl.UInt(16), 1, "im")
    assert image.host_alignment() == 2
    assert image.set_host_alignment(64).host_alignment() == image.parameter().host_alignment() == 64
    for wrong in (0, -16, 1 << 40):
        with pytest.raises(BufferError, match=f"set_host_alignment.{wrong}. of im: an alignment is a number of bytes"):
            image.set_host_alignment(wrong)
    assert image.host_alignment() == 64


def past_a_boundary(boundary: int, bytes: int) -> hl.Buffer:
    memory = np.zeros(2 * boundary + 64, np.uint8)
    start = -memory.ctypes.data % boundary + bytes
    return hl.Buffer(memory[start : start + 40])


def test_the_alignment_that_was_said_is_checked_on_entry() -> None:
    im, x, f = hl.ImageParam(hl.UInt(8), 1, "im"), hl.Var("x"), hl.Func("f")
    f[x] = im[x]
    im.set(past_a_boundary(512, 1))
    f.realize([40])
    im.set_host_alignment(512)
    with pytest.raises(BufferError, match="pointer of im is not aligned to a 512 bytes boundary: it is 1 bytes past"):
        f.realize([40])
    call = f.compile_to_callable([im])
    with pytest.raises(BufferError, match="im is not aligned"):
        call(past_a_boundary(512, 16), hl.Buffer(hl.UInt(8), [40]))
    call(past_a_boundary(512, 0), hl.Buffer(hl.UInt(8), [40]))
    im.set(past_a_boundary(512, 16))
    im.set_host_alignment(16)
    f.output_buffer().set_host_alignment(128)
    f.realize([40])
    with pytest.raises(BufferError, match="pointer of f is not aligned to a 128 bytes boundary: it is 1 bytes past"):
        f.realize(past_a_boundary(128, 1))
    f.output_buffer().set_host_alignment(1)
    f.realize(past_a_boundary(128, 1))


def test_new_arrays_are_aligned_as_those_of_halide() -> None:
    x, f, im = hl.Var("x"), hl.Func("f"), hl.ImageParam(hl.Int(32), 1, "im")
    f[x] = im[x]
    f.infer_input_bounds([9])
    b = hl.Buffer(hl.UInt(8), [5, 3])
    made = [b, b.copy(), hl.Buffer.make_with_shape_of(b), hl.Buffer.make_interleaved(hl.UInt(8), 3, 4, 3), im.get()]
    made += [hl.Buffer(hl.Float(64), [3, 2], [1, 0]), f.realize([9]), hl.Buffer.make_scalar(hl.UInt(8))]
    assert [one.array.__array_interface__["data"][0] % 128 for one in made] == [0] * len(made)


def test_promises_of_an_image_are_checked_on_entry() -> None:
    im, n = hl.ImageParam(hl.Int(32), 2, "im"), hl.Param(hl.Int(32), "n")
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = im[x, 0]
    im.set(np.zeros((3, 4), np.int32))
    assert np.asarray(f.realize([4])).tolist() == [0] * 4
    im.dim(0).set_min(0).set_extent(n)
    n.set(4)
    f.realize([4])
    n.set(5)
    with pytest.raises(BufferError, match="input im has extent 4 in dimension 0, where 5 was promised"):
        f.realize([4])
    n.set(4)
    im.dim(1).set_stride(8)
    with pytest.raises(BufferError, match="input im has stride 4 in dimension 1, where 8 was promised"):
        f.realize([4])
    im.set(np.zeros((3, 8), np.int32)[:, :4])
    f.realize([4])


def test_promises_of_an_output_are_checked_on_entry() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = x
    f.output_buffer().dim(0).set_bounds(2, 8)
    with pytest.raises(BufferError, match="output f has min 0 in dimension 0, where 2 was promised"):
        f.realize([8])
    out = hl.Buffer(hl.Int(32), [8])
    out.set_min([2])
    f.realize(out)
    assert out[9] == 9


def test_the_order_in_memory_of_an_output_may_be_promised() -> None:
    x, y, c, f = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl.Func("f")
    f[x, y, c] = hl.u8(x + y + c)
    f.output_buffer().dim(0).set_stride(3).dim(2).set_stride(1).set_extent(3)
    out = hl.Buffer.make_interleaved(hl.UInt(8), 4, 5, 3)
    f.realize(out)
    assert out[3, 4, 2] == 9
    with pytest.raises(BufferError, match="output f has stride 1 in dimension 0, where 3 was promised"):
        f.realize(hl.Buffer(hl.UInt(8), [4, 5, 3]))


def _promising(*strides: Any) -> hl.Func:
    x, y, z, f = hl.Var("x"), hl.Var("y"), hl.Var("z"), hl.Func("f")
    f[x, y, z] = x + 10 * y + 100 * z
    for d, stride in strides:
        f.output_buffer().dim(d).set_stride(stride)
    return f


@pytest.mark.parametrize(
    ("strides", "extents", "wanted"),
    [
        ([(1, 16)], [4, 3, 2], (1, 16, 12)),
        ([(1, 4), (2, 20)], [4, 3, 2], (1, 4, 20)),
        ([(0, 3), (2, 1)], [4, 5, 3], (3, 12, 1)),
        ([(0, 2)], [4, 3, 2], (2, 7, 21)),
        ([(2, 5)], [1, 5, 2], (1, 1, 5)),
        ([(1, 4)], [1, 3, 2], (1, 4, 3)),
    ],
)
def test_new_arrays_have_the_strides_that_were_promised(
    strides: list[tuple[int, int]], extents: list[int], wanted: tuple[int, ...]
) -> None:
    made = _promising(*strides).realize(extents)
    assert tuple(made.dim(d).stride() for d in range(3)) == wanted
    z, y, x = np.mgrid[: extents[2], : extents[1], : extents[0]]
    assert np.array_equal(np.asarray(made), x + 10 * y + 100 * z)


def test_strides_may_be_of_parameters_and_boxes() -> None:
    p, f = hl.Param(hl.Int(32), "p", 8), _promising()
    out = f.output_buffer()
    out.dim(1).set_stride((out.dim(0).extent() + p - 1) / p * p)
    assert f.realize([10, 2, 2]).dim(1).stride() == 16
    p.set(5)
    assert f.realize([10, 2, 2]).dim(1).stride() == 10
    x, y, im, g = hl.Var("x"), hl.Var("y"), hl.ImageParam(hl.UInt(8), 2, "im"), hl.Func("g")
    g[x, y] = im[x, y]
    im.dim(1).set_stride(16)
    g.infer_input_bounds([10, 3])
    assert im.get().dim(1).stride() == 16
    assert not np.asarray(g.realize([10, 3])).any()


@pytest.mark.parametrize("strides", [[(0, 3), (1, 4)], [(0, 0)], [(0, -1)], [(1, 1), (2, 1)]])
def test_elements_that_would_share_memory_are_refused(strides: list[tuple[int, int]]) -> None:
    with pytest.raises(BufferError, match=r"where -?[0-9] was promised"):
        _promising(*strides).realize([5, 4, 3])


def test_the_range_of_a_parameter_is_checked_on_entry() -> None:
    n, x, f = hl.Param(hl.Int(32), "n", 3), hl.Var("x"), hl.Func("f")
    n.set_range(1, 5)
    f[x] = x * n
    assert np.asarray(f.realize([3])).tolist() == [0, 3, 6]
    n.set(6)
    with pytest.raises(BufferError, match="the parameter n is 6, where at most 5 was promised"):
        f.realize([3])
    assert (format(n.min_value()), format(n.max_value())) == ("1", "5")


def test_the_box_of_an_image_is_an_expression() -> None:
    im, x, f = hl.ImageParam(hl.UInt(8), 2, "im"), hl.Var("x"), hl.Func("f")
    ends = [
        im.left(),
        im.right(),
        im.top(),
        im.bottom(),
        im.width(),
        im.height(),
        im.dim(0).stride(),
        im.dim(1).stride(),
    ]
    f[x] = hl.mux(x, ends)
    buffer = hl.Buffer(np.zeros((3, 10), np.uint8)[:, ::2])
    buffer.set_min([3, 4])
    im.set(buffer)
    assert np.asarray(f.realize([8])).tolist() == [3, 7, 4, 6, 5, 3, 2, 10]
    im.reset()
    with pytest.raises(BufferError, match="has no array"):
        f.realize([8])


@pytest.mark.parametrize(
    ("type", "given", "value"),
    [
        (hl.UInt(8), -1, 255), (hl.UInt(8), -128, 128), (hl.Int(8), 200, -56), (hl.Int(8), -128, -128),
        (hl.UInt(16), np.int16(-3), 65533), (hl.UInt(32), -5, 2**32 - 5), (hl.Int(32), 2**31, -(2**31)),
        (hl.UInt(64), -1, 2**64 - 1), (hl.Int(64), 2**63, -(2**63)), (hl.UInt(8), True, 1), (hl.Float(32), -1, -1.0),
    ],
)  # fmt: skip
def test_a_parameter_has_the_bits_that_it_is_given(type: Any, given: Any, value: Any) -> None:
    p, x = hl.Param(type, given), hl.Var("x")
    f = hl.Func("f")
    f[x] = p
    assert p.get() == np.asarray(f.realize([1]))[0] == value


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda im: im.dim(2), BufferError, "hence no dimension 2"),
        (lambda im: im.dim(0).set_min(1.5), TypeMismatch, "is an integer"),
        (lambda im: im.dim(0).set_min(im[0, 0]), hl.Error, "known before anything is computed"),
        (lambda im: im.set(np.zeros((2, 2), np.int8)), BufferError,
         "Input buffer im.* has type uint8 but type of the buffer passed in is int8"),
        (lambda im: im.set(np.zeros(2, np.uint8)), BufferError,
         "requires a buffer of exactly 2 dimensions, but the buffer passed in has 1 dimensions"),
        (lambda im: im[hl.Var("x")], TypeMismatch, "has 2 dimensions, 1 indices"),
        (lambda im: im.store_in(1), TypeMismatch, "store_in takes a MemoryType"),
        (lambda im: im.store_in(hl.MemoryType.GPUShared), NotImplementedError, "of devices"),
        (lambda im: hl.Param(hl.UInt(8), 300), TypeMismatch, "300 does not fit u8"),
        (lambda im: hl.Param(hl.UInt(8), -129), TypeMismatch, "-129 does not fit u8"),
        (lambda im: hl.Param(hl.Int(8)).set(256), TypeMismatch, "256 does not fit i8"),
        (lambda im: hl.Param(hl.UInt(1)).set(-1), TypeMismatch, "-1 is no bool"),
        (lambda im: hl.Param(hl.Int(32), 1.5), TypeMismatch, "1.5 is no i32"),
        (lambda im: hl.Param(hl.Int(32), "p").get(), BufferError, "has no value"),
    ],
)  # fmt: skip
def test_what_an_image_or_a_parameter_refuses(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(hl.ImageParam(hl.UInt(8), 2, "im"))
