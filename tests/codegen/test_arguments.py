"""Arrays from callers: taken as they are, or refused with a message that names the argument and what is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rfactor.compiler.codegen.module import Executable, compile_pipeline
from rfactor.compiler.runtime.arguments import Placed
from rfactor.errors import BufferError
from rfactor.ir.expr import Expr, apply, cast
from rfactor.ir.loopnest import BufferArgument, For, ScalarArgument
from rfactor.ir.types import F32, I32, I64, U8
from tests.codegen.reference import i32, load, pipeline, sink, source, store, var


@pytest.fixture(scope="module")
def negated() -> Executable:
    """`b[y][x] = -a[y][x]` over the extents of `b`."""

    def at(name: str) -> Expr:
        terms = [
            apply("*", cast(I64, apply("-", var(v), var(f"{name}.min.{d}"))), var(f"{name}.stride.{d}", I64))
            for d, v in ((0, "x"), (1, "y"))
        ]
        return apply("+", *terms)

    body = For("x", var("b.min.0"), var("b.extent.0"), "serial",
               store("b", at("b"), apply("neg", load(I32, "a", at("a")))))  # fmt: skip
    rows = For("y", var("b.min.1"), var("b.extent.1"), "serial", body)
    return compile_pipeline(pipeline(rows, BufferArgument("a", I32, 2, False, dense=False), sink("b", I32, 2)))


def numbers(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)


def test_views_are_read_and_written_where_they_lie(negated: Executable) -> None:
    whole = numbers(10, 20)
    for view in (whole[1:9:2, ::3], whole[::-1, ::-1], whole.T, whole[:, 4:5], whole[3:3]):
        target = np.zeros((view.shape[0], view.shape[1] + 5), np.int32)[:, 2 : 2 + view.shape[1]]
        negated({"a": view, "b": target})
        np.testing.assert_array_equal(target, -view)


def test_placed_arrays_begin_elsewhere(negated: Executable) -> None:
    whole, out = numbers(10, 20), np.zeros((3, 4), np.int32)
    negated({"a": Placed(whole, (-5, 100)), "b": Placed(out, (-3, 104))})
    np.testing.assert_array_equal(out, -whole[4:7, 2:6])


def test_read_only_inputs_are_taken(negated: Executable) -> None:
    constant, out = numbers(2, 3), np.zeros((2, 3), np.int32)
    constant.flags.writeable = False
    negated({"a": constant, "b": out})
    np.testing.assert_array_equal(out, -constant)


def test_what_cannot_be_taken_is_named(negated: Executable) -> None:
    good, out = numbers(4, 4), np.zeros((4, 4), np.int32)
    frozen = out.copy()
    frozen.flags.writeable = False
    crooked = np.frombuffer(bytearray(4 * 16 + 1), np.uint8)[1:].view(np.int32).reshape(4, 4)
    fields = np.zeros((4, 4), np.dtype([("v", "<i4"), ("w", "u1")]))["v"]
    big_endian = good.astype(">i4")
    far = np.lib.stride_tricks.as_strided(good, (4, 4), (1 << 62, 4))
    for bad, message in (
        ({"a": far}, "^a reaches beyond all addresses: look at its strides"),
        ({"a": good.astype(np.int64)}, r"^a must hold i32 \(NumPy's int32\), not int64"),
        ({"a": big_endian}, "^a must hold i32 .* not >i4"),
        ({"a": good[0]}, "^a must have 2 dimensions, not 1"),
        ({"a": [[1]]}, "^a must be an array of i32, not list"),
        ({"b": frozen}, "^b is an output and must be writeable"),
        ({"b": out.T}, "^b must be dense in dimension 0, .* its stride is 4 elements, 1 is needed"),
        ({"a": crooked}, "^a must be aligned to its elements of 4 bytes"),
        ({"a": fields}, "^a must (be aligned|have strides of whole elements)"),
        ({"a": Placed(good, (2**31 - 2, 0))}, "^a has 4 elements from 2147483646 in dimension 0"),
    ):
        with pytest.raises(BufferError, match=message):
            negated({"a": good, "b": out} | bad)
    with pytest.raises(KeyError, match="'a' is missing"):
        negated({"b": out})


def test_outputs_that_share_an_element_with_another_array_are_refused(negated: Executable) -> None:
    whole = np.zeros((8, 8), np.int32)
    with pytest.raises(BufferError, match=r"^b is an output and overlaps a in memory"):
        negated({"a": whole, "b": whole})
    with pytest.raises(BufferError, match="overlaps"):
        negated({"a": whole[2:6], "b": whole[5:8]})
    # Interleaved ranges without a common element are apart.
    negated({"a": whole[0:4, 1::2], "b": whole[4:8, 0:4]})
    negated({"a": whole[::2], "b": whole[1::2]})


def test_two_outputs_must_not_overlap() -> None:
    both = pipeline(For("i", i32(0), var("b.extent.0"), "serial", store("c", var("i"), i32(1))),
                    sink("b", I32), sink("c", I32))  # fmt: skip
    whole = np.zeros(8, np.int32)
    with pytest.raises(BufferError, match="overlaps"):
        compile_pipeline(both)({"b": whole[:5], "c": whole[4:]})


@pytest.mark.parametrize(
    ("type", "value", "message"),
    [
        (U8, 256, r"k is 256, which u8 does not hold \(0 to 255\)"),
        (U8, -1, "k is -1"),
        (I32, 1.5, "k must be a number of type i32, not 1.5"),
        (F32, "1", "k must be a number of type f32, not '1'"),
    ],
)
def test_scalars_must_fit(type: Any, value: Any, message: str) -> None:
    executable = compile_pipeline(
        pipeline(store("b", i32(0), var("k", type)), ScalarArgument("k", type), sink("b", type))
    )
    with pytest.raises(BufferError, match=message):
        executable({"k": value, "b": np.zeros(1, np.uint8 if type is U8 else f"{type.code[0]}4")})


def test_arrays_without_dimensions() -> None:
    lowered = pipeline(store("b", i32(0), apply("neg", load(I32, "a", i32(0)))), source("a", I32, 0), sink("b", I32, 0))
    out = np.array(0, np.int32)
    compile_pipeline(lowered)({"a": np.array(7, np.int32), "b": out})
    assert out == -7


def test_scalars_that_are_equal_as_numbers_only_are_told_apart() -> None:
    copy = compile_pipeline(pipeline(store("b", i32(0), var("k", F32)), ScalarArgument("k", F32), sink("b", F32)))
    out = np.zeros(1, np.float32)
    for value, shown in ((0.0, "0.0"), (-0.0, "-0.0"), (0, "0.0"), (1, "1.0"), (5e-324, "0.0"), (True, "1.0")):
        copy({"k": value, "b": out})
        assert str(out[0]) == shown
