"""Whether arrays are as they were at an earlier call, in so little code that caches full of data do not matter.

A call's own data has thrown Python out of the caches: to ask five arrays for their addresses and shapes then takes
0.1 ms, as long as reading 4 MB. So a native function compares what NumPy's arrays hold. Where their fields lie is what
every compiled extension of NumPy relies on; it is tried out once on arrays of several kinds, and where it does not hold
nothing is ever said to be alike.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.runtime.arguments import address
from rfactor.native.engine import Code, compile_module, host

_WORD = ctypes.sizeof(ctypes.c_void_p)
_HEAD = object.__basicsize__
"""Bytes that every object begins with; the last word is its type."""


class _Fields(ctypes.Structure):
    """`PyArrayObject_fields` of NumPy's headers, as far as it is used."""

    _fields_ = [
        ("head", ctypes.c_char * (_HEAD - _WORD)),
        ("type", ctypes.c_size_t),
        ("data", ctypes.c_size_t),
        ("dimensions", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("base", ctypes.c_size_t),
        ("dtype", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    ]


_TEXT = """
define zeroext i1 @alike(ptr %looks, ptr %given) {{
entry:
  %known = load i64, ptr %looks
  %size = call i64 inttoptr (i64 {size} to ptr)(ptr %given)
  %fits = icmp eq i64 %size, %known
  br i1 %fits, label %next, label %differs

next:
  %i = phi i64 [ 0, %entry ], [ %after, %dimension ]
  %last = phi ptr [ %looks, %entry ], [ %at, %dimension ]
  %more = icmp ult i64 %i, %size
  br i1 %more, label %object, label %same

object:
  %after = add i64 %i, 1
  %array = call ptr inttoptr (i64 {item} to ptr)(ptr %given, i64 %i)
{type}
  br i1 %type.same, label %fields, label %differs

fields:
{data}
{dtype}
{flags}
{dimensions}
  %rank = load i32, ptr %dimensions.at
  %one = and i1 %data.same, %dtype.same
  %two = and i1 %flags.same, %dimensions.same
  %all = and i1 %one, %two
  br i1 %all, label %box, label %differs

box:
  %shape.at = getelementptr i8, ptr %array, i64 {shape}
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %array, i64 {strides}
  %strides = load ptr, ptr %strides.at
  br label %dimension

dimension:
  %d = phi i32 [ 0, %box ], [ %d.next, %extent ]
  %at = phi ptr [ %dimensions.look, %box ], [ %stride.look, %extent ]
  %left = icmp ult i32 %d, %rank
  br i1 %left, label %extent, label %next

extent:
  %d.next = add i32 %d, 1
  %extent.at = getelementptr i64, ptr %shape, i32 %d
  %extent.is = load i64, ptr %extent.at
  %extent.look = getelementptr i64, ptr %at, i64 1
  %extent.seen = load i64, ptr %extent.look
  %extent.same = icmp eq i64 %extent.is, %extent.seen
  %stride.at = getelementptr i64, ptr %strides, i32 %d
  %stride.is = load i64, ptr %stride.at
  %stride.look = getelementptr i64, ptr %at, i64 2
  %stride.seen = load i64, ptr %stride.look
  %stride.same = icmp eq i64 %stride.is, %stride.seen
  %both = and i1 %extent.same, %stride.same
  br i1 %both, label %dimension, label %differs

same:
  ret i1 true

differs:
  ret i1 false
}}
"""

_FIELD = """  %{name}.at = getelementptr i8, ptr %array, i64 {offset}
  %{name}.is = load i{bits}, ptr %{name}.at
  %{name}.look = getelementptr i64, ptr %last, i64 {place}
  %{name}.seen = load i{bits}, ptr %{name}.look
  %{name}.same = icmp eq i{bits} %{name}.is, %{name}.seen"""

_COMPARED = ("type", "data", "dtype", "flags", "dimensions")


class Look:
    """What was seen of some arrays."""

    def __init__(self, arrays: Sequence[NDArray[Any]], compare: Any, code: Code) -> None:
        words = [len(arrays)]
        for array in arrays:
            words += _seen(array)
        self._words = (ctypes.c_int64 * len(words))(*words)
        self._dtypes = [array.dtype for array in arrays]  # held, so that no other comes to lie there
        self._code = code
        self.again: Callable[[tuple[Any, ...]], bool] = partial(compare, ctypes.addressof(self._words))
        """Whether these are arrays of which all that a call depends on is the same: their addresses, types, shapes,
        strides and flags. Of some arrays that are it says no."""


def look(arrays: Sequence[NDArray[Any]]) -> Look | None:
    """What is to be seen of these; None of subclasses of NumPy's array, and where it is laid out in another way."""
    compare = _compare()
    if compare is None or any(type(array) is not np.ndarray for array in arrays):
        return None
    return Look(arrays, *compare)


def _seen(array: NDArray[Any]) -> list[int]:
    """What is compared, from its public attributes."""
    box = [word for pair in zip(array.shape, array.strides, strict=True) for word in pair]
    return [id(np.ndarray), address(array), id(array.dtype), array.flags.num, array.ndim, *box]


def _held(array: NDArray[Any]) -> list[int]:
    """The same from where its fields are taken to lie."""
    fields = _Fields.from_address(id(array))
    found = [getattr(fields, name) for name in _COMPARED]
    if found != _seen(array)[: len(found)]:
        return found
    words = ctypes.c_int64 * array.ndim
    boxes = [words.from_address(at) if array.ndim else () for at in (fields.shape, fields.strides)]
    return found + [word for pair in zip(*boxes, strict=True) for word in pair]


@cache
def _compare() -> tuple[Any, Code] | None:
    """The native function and what it lives in, or None where arrays are laid out in another way."""
    if not hasattr(ctypes, "pythonapi") or _WORD != 8 or sys.byteorder != "little":
        return None
    tried = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    fixed = np.zeros((), np.float64)
    fixed.flags.writeable = False
    for array in (tried, tried[::-1, 1:, ::2], tried.transpose(), tried[:0], fixed, np.zeros(7, np.uint8)):
        if _held(array) != _seen(array):
            return None
    offsets = {name: getattr(_Fields, name).offset for name, *_ in _Fields._fields_}
    compared = {
        name: _FIELD.format(name=name, offset=offsets[name], place=place, bits=8 * getattr(_Fields, name).size)
        for place, name in enumerate(_COMPARED, 1)
    }
    calls = {
        key: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
        for key, name in (("size", "PyTuple_Size"), ("item", "PyTuple_GetItem"))
    }
    code = compile_module(_TEXT.format(**offsets | compared | calls), ["alike"], host())
    signature = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.py_object)
    return signature(code.addresses["alike"]), code
