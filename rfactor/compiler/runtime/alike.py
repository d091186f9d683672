"""Whether arrays are as they were at an earlier call, in so little code that caches full of data do not matter.

A call's own data has thrown Python out of the caches: to ask five arrays for their addresses and shapes then takes
0.1 ms, as long as reading 4 MB. So a native function compares what NumPy's arrays hold, and where nothing differs it
starts the pipeline: the way from Python and back is most of a small call, and it is gone once. Where the fields of
arrays lie is what every compiled extension of NumPy relies on; it is tried out once on arrays of several kinds, and
where it does not hold nothing is ever said to be alike.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.runtime.arguments import address
from rfactor.native.engine import compile_module, host

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
@name = internal constant [9 x i8] c"repeated\\00"
@method = internal global {{ ptr, ptr, i32, ptr }} {{ ptr @name, ptr @repeated, i32 {METH_O}, ptr null }}

; A function of Python's of which `self` is a tuple: see `Look.calling`.
define ptr @made(ptr %self) {{
  %function = call ptr {PyCFunction_NewEx}(ptr @method, ptr %self, ptr null)
  ret ptr %function
}}

define internal ptr @repeated(ptr %self, ptr %given) {{
entry:
  %words.in = call ptr {PyTuple_GetItem}(ptr %self, i64 0)
  %words = call ptr {PyBytes_AsString}(ptr %words.in)
  %marks = call ptr {PyTuple_GetItem}(ptr %self, i64 1)
  %own = call ptr {PyTuple_GetItem}(ptr %self, i64 2)
  %mark = call ptr {PyList_GetItem}(ptr %own, i64 0)
  %latest = call ptr {PyList_GetItem}(ptr %marks, i64 0)
  %unchanged = icmp eq ptr %latest, %mark
  br i1 %unchanged, label %waking, label %no

no:
  %no.answer = call ptr {PyBool_FromLong}(i64 0)
  ret ptr %no.answer

waking:
  %wake.at = getelementptr i64, ptr %words, i64 {WAKE}
  %wake = load ptr, ptr %wake.at
  %asleep = icmp eq ptr %wake, null
  %function.at = getelementptr i64, ptr %words, i64 {FUNCTION}
  %function = load ptr, ptr %function.at
  br i1 %asleep, label %asked, label %wakes

wakes:
  call void %wake(ptr %function)
  br label %asked

; What was given is the tuple itself, or the tuple or list that is its one element.
asked:
  %number = call i64 {PyTuple_Size}(ptr %given)
  %single = icmp eq i64 %number, 1
  br i1 %single, label %one, label %several

one:
  %only = call ptr {PyTuple_GetItem}(ptr %given, i64 0)
  %only.type.at = getelementptr i8, ptr %only, i64 {type}
  %only.type = load ptr, ptr %only.type.at
  %is.tuple = icmp eq ptr %only.type, {TUPLE}
  %is.list = icmp eq ptr %only.type, {LIST}
  %listed = or i1 %is.tuple, %is.list
  %within = select i1 %listed, ptr %only, ptr %given
  br label %several

several:
  %arrays = phi ptr [ %given, %asked ], [ %within, %one ]
  %size = call i64 {PySequence_Size}(ptr %arrays)
  %outputs.at = getelementptr i64, ptr %words, i64 {OUTPUTS}
  %outputs = load i64, ptr %outputs.at
  %fits = icmp eq i64 %size, %outputs
  %some = icmp ne i64 %size, 0
  %right = and i1 %fits, %some
  br i1 %right, label %room, label %no

room:
  %inputs.at = getelementptr i64, ptr %words, i64 {INPUTS}
  %inputs = load i64, ptr %inputs.at
  %count = add i64 %inputs, %outputs
  %zeroth = call ptr {PySequence_GetItem}(ptr %arrays, i64 0)
  %zeroth.type.at = getelementptr i8, ptr %zeroth, i64 {type}
  %kind = load ptr, ptr %zeroth.type.at
  call void {Py_DecRef}(ptr %zeroth)
  %held = alloca ptr, i64 %count
  %looks = getelementptr i64, ptr %words, i64 {LOOKS}
  %images = call ptr {PyTuple_GetItem}(ptr %self, i64 3)
  %mins = call ptr {PyTuple_GetItem}(ptr %self, i64 4)
  br label %images.next

images.next:
  %i = phi i64 [ 0, %room ], [ %i.after, %image.same ]
  %i.look = phi ptr [ %looks, %room ], [ %image.next, %image.same ]
  %i.more = icmp ult i64 %i, %inputs
  br i1 %i.more, label %image, label %outputs.next

image:
  %image.given = call ptr {PyTuple_GetItem}(ptr %images, i64 %i)
  %image.mins = call ptr {PyTuple_GetItem}(ptr %mins, i64 %i)
  %image.array = call ptr @image_array(ptr %image.given, ptr %image.mins)
  %image.none = icmp eq ptr %image.array, null
  br i1 %image.none, label %image.failed, label %image.held

image.failed:
  br label %differs

image.held:
  %image.hold = getelementptr ptr, ptr %held, i64 %i
  store ptr %image.array, ptr %image.hold
  %i.after = add i64 %i, 1
  %image.next = call ptr @same(ptr %i.look, ptr %image.array)
  %image.other = icmp eq ptr %image.next, null
  br i1 %image.other, label %differs, label %image.same

image.same:
  br label %images.next

outputs.next:
  %o = phi i64 [ 0, %images.next ], [ %o.after, %output.same ]
  %o.look = phi ptr [ %i.look, %images.next ], [ %output.next, %output.same ]
  %o.held = add i64 %inputs, %o
  %o.more = icmp ult i64 %o, %outputs
  br i1 %o.more, label %output, label %start

output:
  %output.given = call ptr {PySequence_GetItem}(ptr %arrays, i64 %o)
  %output.array = call ptr @output_array(ptr %output.given, ptr %kind)
  %output.none = icmp eq ptr %output.array, null
  br i1 %output.none, label %differs, label %output.held

output.held:
  %output.hold = getelementptr ptr, ptr %held, i64 %o.held
  store ptr %output.array, ptr %output.hold
  %o.after = add i64 %o, 1
  %o.held.after = add i64 %o.held, 1
  %output.next = call ptr @same(ptr %o.look, ptr %output.array)
  %output.other = icmp eq ptr %output.next, null
  br i1 %output.other, label %differs, label %output.same

output.same:
  br label %outputs.next

differs:
  %taken = phi i64 [ %i, %image.failed ], [ %i.after, %image.held ],
               [ %o.held, %output ], [ %o.held.after, %output.held ]
  %error = call ptr {PyErr_Occurred}()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %drop, label %answers

answers:
  %differ.answer = call ptr {PyBool_FromLong}(i64 0)
  br label %drop

; The arrays are held until the code is done with them, while other threads of Python's run.
start:
  %none = icmp eq ptr %function, null
  br i1 %none, label %otherwise, label %call

call:
  %slots.at = getelementptr i64, ptr %words, i64 {SLOTS}
  %slots = load ptr, ptr %slots.at
  %runtime.at = getelementptr i64, ptr %words, i64 {RUNTIME}
  %runtime = load ptr, ptr %runtime.at
  %report.at = getelementptr i64, ptr %words, i64 {REPORT}
  %report = load ptr, ptr %report.at
  %thread = call ptr {PyEval_SaveThread}()
  %status.is = call i32 %function(ptr %slots, ptr %runtime, ptr %report)
  call void {PyEval_RestoreThread}(ptr %thread)
  %done = icmp eq i32 %status.is, 0
  br i1 %done, label %ran, label %otherwise

ran:
  %yes = call ptr {PyBool_FromLong}(i64 1)
  br label %drop

otherwise:
  %status = phi i32 [ 0, %start ], [ %status.is, %call ]
  %wide = sext i32 %status to i64
  %said = call ptr {PyLong_FromLongLong}(i64 %wide)
  %tell = call ptr {PyTuple_GetItem}(ptr %self, i64 5)
  %told = call ptr {PyObject_CallOneArg}(ptr %tell, ptr %said)
  call void {Py_DecRef}(ptr %said)
  br label %drop

drop:
  %left = phi i64 [ %taken, %differs ], [ %taken, %answers ], [ %count, %ran ], [ %count, %otherwise ]
  %answer = phi ptr [ null, %differs ], [ %differ.answer, %answers ], [ %yes, %ran ], [ %told, %otherwise ]
  br label %drops

drops:
  %k = phi i64 [ 0, %drop ], [ %k.after, %dropped ]
  %k.more = icmp ult i64 %k, %left
  br i1 %k.more, label %dropped, label %end

dropped:
  %drop.at = getelementptr ptr, ptr %held, i64 %k
  %gone = load ptr, ptr %drop.at
  call void {Py_DecRef}(ptr %gone)
  %k.after = add i64 %k, 1
  br label %drops

end:
  ret ptr %answer
}}

; Whether a type is `Buffer`, or a class of the user's that is made of it.
define internal i1 @is_buffer(ptr %type) {{
entry:
  %itself = icmp eq ptr %type, {BUFFER}
  br i1 %itself, label %answer, label %derived

derived:
  %is = call i32 {PyType_IsSubtype}(ptr %type, ptr {BUFFER})
  %made = icmp ne i32 %is, 0
  br label %answer

answer:
  %buffer = phi i1 [ true, %entry ], [ %made, %derived ]
  ret i1 %buffer
}}

; The array of a `Buffer` or of the one that was set of an `ImageParam`, where it begins at `mins`; else null.
define internal ptr @image_array(ptr %image, ptr %mins) {{
entry:
  %image.type.at = getelementptr i8, ptr %image, i64 {type}
  %image.type = load ptr, ptr %image.type.at
  %plain = call i1 @is_buffer(ptr %image.type)
  br i1 %plain, label %itself, label %parameter

itself:
  call void {Py_IncRef}(ptr %image)
  br label %buffer

parameter:
  %set = call ptr {PyObject_GetAttr}(ptr %image, ptr {_buffer})
  %failed = icmp eq ptr %set, null
  br i1 %failed, label %nothing, label %is.set

nothing:
  ret ptr null

is.set:
  %set.type.at = getelementptr i8, ptr %set, i64 {type}
  %set.type = load ptr, ptr %set.type.at
  %set.plain = call i1 @is_buffer(ptr %set.type)
  br i1 %set.plain, label %buffer, label %other

buffer:
  %held = phi ptr [ %image, %itself ], [ %set, %is.set ]
  %now = call ptr {PyObject_GetAttr}(ptr %held, ptr {_mins})
  %missing = icmp eq ptr %now, null
  br i1 %missing, label %other, label %compare

compare:
  %equal = call i32 {PyObject_RichCompareBool}(ptr %now, ptr %mins, i32 {PY_EQ})
  call void {Py_DecRef}(ptr %now)
  %there = icmp eq i32 %equal, 1
  br i1 %there, label %take, label %other

take:
  %array = call ptr {PyObject_GetAttr}(ptr %held, ptr {_array})
  call void {Py_DecRef}(ptr %held)
  ret ptr %array

other:
  %left = phi ptr [ %set, %is.set ], [ %held, %buffer ], [ %held, %compare ]
  call void {Py_DecRef}(ptr %left)
  ret ptr null
}}

; What was given where that is of this type; of a `Buffer` its array, where it begins at 0 and asks for nothing. Else
; null. It takes the reference over.
define internal ptr @output_array(ptr %given, ptr %kind) {{
entry:
  %missing = icmp eq ptr %given, null
  br i1 %missing, label %nothing, label %typed

nothing:
  ret ptr null

typed:
  %given.type.at = getelementptr i8, ptr %given, i64 {type}
  %given.type = load ptr, ptr %given.type.at
  %alike = icmp eq ptr %given.type, %kind
  br i1 %alike, label %right, label %other

right:
  %placed = call i1 @is_buffer(ptr %kind)
  br i1 %placed, label %buffer, label %plain

plain:
  ret ptr %given

buffer:
  %asks = call ptr {PyObject_GetAttr}(ptr %given, ptr {asks})
  %unknown = icmp eq ptr %asks, null
  br i1 %unknown, label %other, label %known

known:
  call void {Py_DecRef}(ptr %asks)
  %asks.not = icmp eq ptr %asks, {FALSE}
  br i1 %asks.not, label %place, label %other

place:
  %mins = call ptr {PyObject_GetAttr}(ptr %given, ptr {_mins})
  %nowhere = icmp eq ptr %mins, null
  br i1 %nowhere, label %other, label %somewhere

somewhere:
  %rank = call i64 {PyTuple_Size}(ptr %mins)
  br label %mins.next

mins.next:
  %d = phi i64 [ 0, %somewhere ], [ %d.after, %min ]
  %d.more = icmp slt i64 %d, %rank
  br i1 %d.more, label %min, label %origin

min:
  %d.after = add i64 %d, 1
  %low = call ptr {PyTuple_GetItem}(ptr %mins, i64 %d)
  %moved = call i32 {PyObject_IsTrue}(ptr %low)
  %zero = icmp eq i32 %moved, 0
  br i1 %zero, label %mins.next, label %elsewhere

elsewhere:
  call void {Py_DecRef}(ptr %mins)
  br label %other

origin:
  call void {Py_DecRef}(ptr %mins)
  %array = call ptr {PyObject_GetAttr}(ptr %given, ptr {_array})
  call void {Py_DecRef}(ptr %given)
  ret ptr %array

other:
  call void {Py_DecRef}(ptr %given)
  ret ptr null
}}

; Where the next array's look begins, if this array is as it was seen; else null.
define internal ptr @same(ptr %last, ptr %array) {{
entry:
{type_is}
  br i1 %type.same, label %fields, label %differs

fields:
{data_is}
{dtype_is}
{flags_is}
{dimensions_is}
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
  %box.look = getelementptr i64, ptr %last, i64 {COMPARED}
  br label %dimension

dimension:
  %d = phi i32 [ 0, %box ], [ %d.next, %extent ]
  %at = phi ptr [ %box.look, %box ], [ %after, %extent ]
  %left = icmp ult i32 %d, %rank
  br i1 %left, label %extent, label %end

extent:
  %d.next = add i32 %d, 1
  %extent.at = getelementptr i64, ptr %shape, i32 %d
  %extent.is = load i64, ptr %extent.at
  %extent.seen = load i64, ptr %at
  %extent.same = icmp eq i64 %extent.is, %extent.seen
  %stride.at = getelementptr i64, ptr %strides, i32 %d
  %stride.is = load i64, ptr %stride.at
  %stride.look = getelementptr i64, ptr %at, i64 1
  %stride.seen = load i64, ptr %stride.look
  %stride.same = icmp eq i64 %stride.is, %stride.seen
  %after = getelementptr i64, ptr %at, i64 2
  %both = and i1 %extent.same, %stride.same
  br i1 %both, label %dimension, label %differs

end:
  ret ptr %at

differs:
  ret ptr null
}}
"""

_FIELD = """  %{name}.at = getelementptr i8, ptr %array, i64 {offset}
  %{name}.is = load i{bits}, ptr %{name}.at
  %{name}.look = getelementptr i64, ptr %last, i64 {place}
  %{name}.seen = load i{bits}, ptr %{name}.look
  %{name}.same = icmp eq i{bits} %{name}.is, %{name}.seen"""

_COMPARED = ("type", "data", "dtype", "flags", "dimensions")


_WORDS = ("INPUTS", "OUTPUTS", "FUNCTION", "SLOTS", "RUNTIME", "REPORT", "WAKE", "LOOKS")
"""What the words of a `Look` begin with."""
_METH_O = 8
"""Of a function of Python's that takes one argument."""
_PY_EQ = 2
_NAMES = ("_array", "_mins", "_buffer", "asks")
"""Attributes that native code asks for."""


@dataclass(frozen=True, slots=True)
class Call:
    """What is to be called where arrays are alike, and how: `function(slots, runtime, report)`, addresses all."""

    function: int = 0
    """0 where `otherwise` is all that is called."""
    slots: int = 0
    runtime: int = 0
    report: int = 0
    wake: int = 0
    """What is called with `function` before anything is looked at; 0 for nothing."""
    otherwise: Callable[[int], bool] = bool
    """Called with what `function` returned where that is not 0, with 0 where there is none; its answer is that of the
    whole call."""
    keep: object = None
    """What must stay alive for this."""


Repeated = Callable[[tuple[Any, ...]], bool]
"""Of the arrays or `Buffer`s that `realize` was given: whether the call was made."""


class Look:
    """What was seen of some arrays, those of images first, and of where images begin."""

    def __init__(
        self, images: Sequence[NDArray[Any]], arrays: Sequence[NDArray[Any]], made: Callable[..., Any]
    ) -> None:
        self._counts = len(images), len(arrays)
        self._words = [word for array in (*images, *arrays) for word in _seen(array)]
        self._dtypes = [array.dtype for array in (*images, *arrays)]  # held, so that no other comes to lie there
        self._made = made

    def calling(
        self, call: Call, marks: list[object], own: list[object], images: tuple[Any, ...], mins: tuple[Any, ...]
    ) -> Repeated:
        """A native function that makes `call` where `marks` holds what `own` does, the arrays of `images` (each a
        `Buffer` or an `ImageParam` that has one) are those that were seen and begin at `mins`, and it is given the
        others or `Buffer`s over them from 0. Of some arrays that are it says no.

        All that a call depends on is compared: the arrays' addresses, types, shapes, strides and flags. They are held
        until `call` is done; Python's lock is let go meanwhile.
        """
        words = (*self._counts, call.function, call.slots, call.runtime, call.report, call.wake, *self._words)
        packed = struct.pack(f"<{len(words)}q", *words)
        made: Repeated = self._made((packed, marks, own, images, mins, call.otherwise, call.keep, self._dtypes))
        return made


def look(images: Sequence[NDArray[Any]], arrays: Sequence[NDArray[Any]], buffer: type) -> Look | None:
    """What is to be seen of these, the arrays of images and others; `buffer` is the type `Buffer`. None of subclasses
    of NumPy's array, and where it is laid out in another way."""
    made = _made(buffer)
    if made is None or any(type(array) is not np.ndarray for array in (*images, *arrays)):
        return None
    return Look(images, arrays, made)


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
def _made(buffer: type) -> Callable[[tuple[Any, ...]], Repeated] | None:
    """What makes native functions, or None where arrays are laid out in another way."""
    locked = getattr(sys, "_is_gil_enabled", lambda: True)()  # what is looked at stays as it is while the lock is held
    if not locked or not hasattr(ctypes, "pythonapi") or _WORD != 8 or sys.byteorder != "little":
        return None
    functions = re.findall(r"call \w+ {(\w+)}", _TEXT)
    if not all(hasattr(ctypes.pythonapi, name) for name in functions):
        return None
    tried = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    fixed = np.zeros((), np.float64)
    fixed.flags.writeable = False
    for array in (tried, tried[::-1, 1:, ::2], tried.transpose(), tried[:0], fixed, np.zeros(7, np.uint8)):
        if _held(array) != _seen(array):
            return None
    offsets = {name: getattr(_Fields, name).offset for name, *_ in _Fields._fields_}
    compared = {
        f"{name}_is": _FIELD.format(name=name, offset=offsets[name], place=place, bits=8 * getattr(_Fields, name).size)
        for place, name in enumerate(_COMPARED)
    }
    called = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in functions}
    known = {name: sys.intern(name) for name in _NAMES}
    objects = {"TUPLE": tuple, "LIST": list, "BUFFER": buffer, "FALSE": False, **known}
    _alive.extend(objects.values())
    addresses = called | {name: id(one) for name, one in objects.items()}
    text = _TEXT.format(
        **offsets,
        **compared,
        **{name: f"inttoptr (i64 {at} to ptr)" for name, at in addresses.items()},
        **{name: place for place, name in enumerate(_WORDS)},
        COMPARED=len(_COMPARED),
        METH_O=_METH_O,
        PY_EQ=_PY_EQ,
    )
    code = compile_module(text, ["made"], replace(host(), level=1)).keep()
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(code.addresses["made"])


_alive: list[object] = []
"""What native code has the addresses of, as it lives as long as the process."""
