"""Arrays of other libraries as inputs and outputs: shared where they can be, refused where elements are missing."""

from __future__ import annotations

import array as arrays
from itertools import count
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, TypeMismatch

VALUES = np.arange(1, 11, dtype=np.int32)


def total(values: Any) -> int:
    """The sum of a column of i32 in a Buffer."""
    f, r = hl.Func("total"), hl.RDom([(0, 10)])
    f[()] = hl.i32(0)
    f[()] += hl.Buffer(values)[r.x]
    return int(np.asarray(f.realize([])))


class Interface:
    """An array of some library by NumPy's interface alone."""

    def __init__(self, own: np.ndarray) -> None:
        self.own, self.__array_interface__ = own, own.__array_interface__


class Dlpack:
    """A tensor by DLPack alone."""

    def __init__(self, own: np.ndarray) -> None:
        self.own = own

    def __dlpack__(self, **asked: Any) -> Any:
        return self.own.__dlpack__(**asked)

    def __dlpack_device__(self) -> Any:
        return self.own.__dlpack_device__()


class Converting:
    """What becomes an array when asked, a new one each time."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return VALUES.copy()


def of_pandas(kind: str):
    pandas = pytest.importorskip("pandas")
    return pandas.Series(VALUES, dtype=kind)


MAKERS = {
    "memoryview": lambda: VALUES.data,
    "array.array": lambda: arrays.array("i", VALUES.tolist()),
    "__array_interface__": lambda: Interface(VALUES),
    "__array__": Converting,
    "__dlpack__": lambda: Dlpack(VALUES),
    "pandas": lambda: of_pandas("int32"),
    "pandas with a mask": lambda: of_pandas("Int32"),
    "pandas over Arrow": lambda: of_pandas("int32[pyarrow]"),
    "pyarrow": lambda: pytest.importorskip("pyarrow").array(VALUES),
    "pyarrow in chunks": lambda: pytest.importorskip("pyarrow").chunked_array([VALUES[:3], VALUES[3:]]),
    "polars": lambda: pytest.importorskip("polars").Series(VALUES),
    "xarray": lambda: pytest.importorskip("xarray").DataArray(VALUES, dims="t"),
    "torch": lambda: pytest.importorskip("torch").from_numpy(VALUES.copy()),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_an_array_of_another_library_is_an_input(make) -> None:
    assert total(make()) == 55
    image, g = hl.ImageParam(hl.Int(32), 1), hl.Func("g")
    i = hl.Var("i")
    image.set(make())
    g[i] = image[i] * 2
    assert np.asarray(g.realize([10])).tolist() == (VALUES * 2).tolist()


SHARED = (
    "memoryview",
    "array.array",
    "__array_interface__",
    "__dlpack__",
    "pandas",
    "pyarrow",
    "polars",
    "xarray",
    "torch",
)


@pytest.mark.parametrize("name", SHARED)
def test_its_memory_is_shared(name: str) -> None:
    value = MAKERS[name]()
    assert np.shares_memory(hl.Buffer(value).array, hl.Buffer(value).array)


def test_booleans_of_arrow_are_unpacked() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    assert hl.Buffer(pyarrow.array([True, False, True])).array.tolist() == [True, False, True]


MISSING = {
    "pandas": lambda: pytest.importorskip("pandas").Series([1, None, 3], dtype="Int32"),
    "pandas over Arrow": lambda: pytest.importorskip("pandas").Series([1, None, 3], dtype="float[pyarrow]"),
    "a frame of pandas": lambda: pytest.importorskip("pandas").DataFrame({"a": [1.0, None]}, dtype="Float64"),
    "pyarrow": lambda: pytest.importorskip("pyarrow").array([1.0, None, 3.0]),
    "a table of Arrow": lambda: pytest.importorskip("pyarrow").table({"a": [1.0, None, 3.0]}),
    "polars": lambda: pytest.importorskip("polars").Series([1.0, None, 3.0]),
    "a frame of polars": lambda: pytest.importorskip("polars").DataFrame({"a": [1.0, None, 3.0]}),
}


@pytest.mark.parametrize("make", MISSING.values(), ids=MISSING)
def test_missing_elements_are_refused(make) -> None:
    with pytest.raises(BufferError, match=r"1 elements of this .* missing: fill them"):
        hl.Buffer(make())


def test_nan_is_a_value() -> None:
    pandas = pytest.importorskip("pandas")
    assert np.isnan(hl.Buffer(pandas.Series([1.0, float("nan")])).array[1])


@pytest.mark.parametrize("mask", [[False, True, False], False])
def test_a_masked_array_is_refused_and_told_what_works(mask) -> None:
    masked = np.ma.array([1, 2, 3], mask=mask, dtype=np.int32)
    image, f, i = hl.ImageParam(hl.Int(32), 1), hl.Func("f"), hl.Var("i")
    f[i] = i
    for use in (hl.Buffer, image.set, f.realize):
        with pytest.raises(BufferError, match=r"masked array .* \.filled|array.filled"):
            use(masked)
    assert hl.Buffer(masked.filled(0)).array.shape == (3,)
    assert hl.Buffer(np.ma.getmaskarray(masked)).type() == hl.Bool()


def test_lists_are_copied() -> None:
    values = [[1, 2, 3], [4, 5, 6]]
    buffer = hl.Buffer(values)
    values[0][0] = 9
    assert buffer.type() == hl.Int(64)
    assert [buffer[0, 0], buffer[2, 1]] == [1, 6]
    assert hl.Buffer([0.5, 1]).type() == hl.Float(64)
    assert hl.Buffer([1, 2], type=hl.UInt(8)).type() == hl.UInt(8)
    image = hl.ImageParam(hl.Float(32), 1)
    image.set([1, 2.5])
    assert image.get().array.dtype == np.float32


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hl.Buffer([[1, 2], [3]]), "lists of the same length"),
        (lambda: hl.Buffer(["a"]), "holds numbers"),
        (lambda: hl.Buffer([1, None]), "holds numbers"),
        (lambda: hl.Buffer([300], type=hl.UInt(8)), "holds values of that type"),
        (lambda: hl.Buffer([1.5], type=hl.Int(32)), "holds values of that type"),
        (lambda: hl.ImageParam(hl.UInt(8), 1).set([-1]), "holds values of that type"),
    ],
)
def test_a_list_of_something_else_is_refused(make, message: str) -> None:
    with pytest.raises(TypeMismatch, match=message):
        make()


def unaligned(values: np.ndarray) -> np.ndarray:
    """The same elements, one byte past where they should lie."""
    memory = np.empty(values.nbytes + 1, np.uint8)
    made = memory[1:].view(values.dtype).reshape(values.shape)
    made[...] = values
    assert not made.flags.aligned
    return made


@pytest.mark.parametrize("given", [False, True])
def test_inputs_need_not_be_aligned_and_are_read_at_each_call(given: bool) -> None:
    crooked, f, i = unaligned(VALUES), hl.Func("f"), hl.Var("i")
    if given:
        image: Any = hl.ImageParam(hl.Int(32), 1)
        image.set(crooked)
    else:
        image = hl.Buffer(crooked)
    f[i] = image[i] + 1
    out = np.zeros(10, np.int32)
    for round_ in range(4):
        crooked[3] = 100 * round_
        f.realize(out)
        assert out.tolist() == (crooked + 1).tolist()


def test_a_frame_of_packed_records_is_an_input() -> None:
    records = np.zeros(10, np.dtype([("flag", "u1"), ("value", "<i4")]))
    records["value"] = VALUES
    assert total(records["value"]) == 55


def test_an_output_that_is_not_aligned_is_refused() -> None:
    f, i = hl.Func("f"), hl.Var("i")
    f[i] = i
    out = unaligned(np.zeros(4, np.int32))
    with pytest.raises(BufferError, match=r"aligned|multiple of the size"):
        f.realize(out)
    with pytest.raises(BufferError, match=r"aligned|multiple of the size"):
        f.realize(hl.Buffer(out))
    assert not out.any()


def test_outputs_are_computed_into_memory_that_is_shared() -> None:
    torch = pytest.importorskip("torch")
    f, i = hl.Func("f"), hl.Var("i")
    f[i] = i * i
    tensor = torch.zeros(5, dtype=torch.int32)
    f.realize(tensor)
    assert tensor.tolist() == [0, 1, 4, 9, 16]


@pytest.mark.parametrize("name", ["__array__", "pyarrow", "pyarrow in chunks", "polars"])
def test_outputs_that_cannot_be_written_are_refused(name: str) -> None:
    f, i = hl.Func("f"), hl.Var("i")
    f[i] = i
    with pytest.raises(BufferError, match="cannot be written: pass a NumPy array"):
        f.realize(MAKERS[name]())


def test_a_tensor_that_keeps_gradients_says_why() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(BufferError, match="detach"):
        hl.Buffer(torch.zeros(3, requires_grad=True))


def test_compiled_callables_take_them() -> None:
    torch = pytest.importorskip("torch")
    image, f, i = hl.ImageParam(hl.Int(32), 1, "image"), hl.Func("f"), hl.Var("i")
    f[i] = image[i] + 1
    call = f.compile_to_callable([image])
    out = torch.zeros(10, dtype=torch.int32)
    call(torch.from_numpy(VALUES.copy()), out)
    assert out.tolist() == (VALUES + 1).tolist()


def test_what_is_no_array_is_refused() -> None:
    for value in (7, {"a": 1}, count(), object()):
        with pytest.raises(TypeMismatch, match="Buffer takes an array"):
            hl.Buffer(value)
