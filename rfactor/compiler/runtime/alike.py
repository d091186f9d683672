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
from pathlib import Path
from string import Template
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


_SOURCE = Path(__file__).with_name("alike.ll")
"""The code, a template: `${name}` is filled in."""

_FIELD = Template("""  %${name}.at = getelementptr i8, ptr %array, i64 ${offset}
  %${name}.is = load i${bits}, ptr %${name}.at
  %${name}.look = getelementptr i64, ptr %last, i64 ${place}
  %${name}.seen = load i${bits}, ptr %${name}.look
  %${name}.same = icmp eq i${bits} %${name}.is, %${name}.seen""")

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
    source = _SOURCE.read_text(encoding="utf-8")
    functions = re.findall(r"call \w+ \${(\w+)}", source)
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
        f"{name}_is": _FIELD.substitute(
            name=name, offset=offsets[name], place=place, bits=8 * getattr(_Fields, name).size
        )
        for place, name in enumerate(_COMPARED)
    }
    called = {name: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in functions}
    known = {name: sys.intern(name) for name in _NAMES}
    objects = {"TUPLE": tuple, "LIST": list, "BUFFER": buffer, "FALSE": False, **known}
    _alive.extend(objects.values())
    addresses = called | {name: id(one) for name, one in objects.items()}
    text = Template(source).substitute(
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
