"""Values of functions in files: `Func.debug_to_file`.

`.npy` has the elements as they lie, dimension 0 innermost, and for its shape the extents, that of dimension 0 first, as
Halide writes it: `np.load(file).ravel().reshape(shape[::-1])` is the array. `.mat` is a MATLAB 5 file with one array,
called by the file's name; `.tiff` or `.tif` an image with a strip a channel, the last of three dimensions or four. Any
other ending has five i32 (four extents, the number of the type), then the elements.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.input_bounds import bounds_for
from rfactor.compiler.language.buffer import Buffer
from rfactor.compiler.pipeline import Prepared
from rfactor.errors import ScheduleError, TypeMismatch
from rfactor.files import write_whole

_NUMBERS = ("float32", "float64", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")


def write(prepared: Prepared, outputs: Sequence[Buffer]) -> None:
    """Write the files of all functions of a pipeline that has run for these outputs.

    A function that is no output is computed once more, over the box that was needed of it. Raises `ScheduleError`
    where that is not known: it has to be computed at the root.
    """
    computed = {one.function.name: buffer for one, buffer in zip(prepared.outputs, outputs, strict=True)}
    known: dict[str, Any] = {}
    for func in prepared.files:
        name = func.name()
        if len(func.types()) > 1:
            raise ScheduleError(f"debug_to_file of {name}, which has {len(func.types())} components: it takes one")
        if name in computed:
            save(str(func.debug_file), computed[name].array)
            continue
        known = known or bounds_for(prepared, outputs)[1]
        ends = [[f"{name}.{end}.{d}" for d in range(func.dimensions())] for end in ("min", "extent")]
        if not all(one in known for one in (*ends[0], *ends[1])):
            raise ScheduleError(f"debug_to_file of {name}: what is needed of it is not known, compute_root() it")
        buffer = Buffer(func.type(), [known[one] for one in ends[1]])
        buffer.set_min([known[one] for one in ends[0]])
        func.realize(buffer)


def save(file: str, array: NDArray[Any]) -> None:
    """Write elements. Raises `TypeMismatch` for elements or dimensions that a format does not have, and `FileError`."""
    ending = Path(file).suffix
    flat = np.ascontiguousarray(array)
    extents = flat.shape[::-1]
    if ending == ".npy":
        stream = io.BytesIO()
        np.save(stream, flat.reshape(extents))
        write_whole(file, stream.getvalue())
        return
    plain = flat.astype(np.uint8) if flat.dtype == np.bool_ else flat
    if plain.dtype.name not in _NUMBERS or len(extents) > 4:
        raise TypeMismatch(f"{file}: {plain.dtype} in {len(extents)} dimensions; write .npy")
    if ending == ".mat":
        content = _matlab(Path(file).stem, plain, extents)
    elif ending in (".tiff", ".tif"):
        content = _tiff(plain, extents)
    else:
        head = np.array([*extents, *[1] * (4 - len(extents)), _NUMBERS.index(plain.dtype.name)], np.int32)
        content = head.tobytes() + plain.tobytes()
    write_whole(file, content)


_CLASSES = {
    "float64": (6, 9), "float32": (7, 7), "int8": (8, 1), "uint8": (9, 2), "int16": (10, 3), "uint16": (11, 4),
    "int32": (12, 5), "uint32": (13, 6), "int64": (14, 12), "uint64": (15, 13),
}  # fmt: skip
"""What MATLAB calls the class of an array, and its elements."""


def _matlab(name: str, array: NDArray[Any], extents: tuple[int, ...]) -> bytes:
    kind, elements = _CLASSES[array.dtype.name]
    shape = extents + (1,) * (2 - len(extents))
    held = shape + (1,) * (len(shape) % 2)  # Halide fills up with a 1
    parts = (
        (6, struct.pack("<II", kind, 1), 8),
        (5, struct.pack(f"<{len(held)}i", *held), 4 * len(shape)),
        (1, name.encode(), len(name.encode())),
        (elements, array.tobytes(), array.nbytes),
    )
    body = b"".join(struct.pack("<II", tag, size) + part + b"\0" * (-len(part) % 8) for tag, part, size in parts)
    head = b"MATLAB 5.0 MAT-file, produced by Halide".ljust(124) + struct.pack("<H2s", 0x100, b"IM")
    return head + struct.pack("<II", 14, len(body)) + body


_SHORT, _LONG, _RATIONAL = 3, 4, 5
_TIFF_DATA = 8 + 2 + 15 * 12 + 4 + 16
"""Where what does not fit into a TIFF's list of 15 tags begins: after it, and two resolutions."""


def _tiff(array: NDArray[Any], extents: tuple[int, ...]) -> bytes:
    width, height, depth, channels = (*extents, *(1,) * (4 - len(extents)))
    if channels == 1:
        depth, channels = 1, depth
    size = width * height * depth * array.itemsize
    first = _TIFF_DATA + (8 * channels if channels > 1 else 0)
    starts = [first + size * channel for channel in range(channels)]
    form = {"f": 3, "u": 1, "i": 2}[array.dtype.kind]
    tags = (
        (256, _LONG, 1, width), (257, _LONG, 1, height), (258, _SHORT, 1, 8 * array.itemsize), (259, _SHORT, 1, 1),
        (262, _SHORT, 1, 2 if channels >= 3 else 1),
        (273, _LONG, channels, _TIFF_DATA), (277, _SHORT, 1, channels), (278, _LONG, 1, height),
        (279, _LONG, channels, size if channels == 1 else _TIFF_DATA + 4 * channels),
        (282, _RATIONAL, 1, _TIFF_DATA - 16), (283, _RATIONAL, 1, _TIFF_DATA - 8),
        (284, _SHORT, 1, 2), (296, _SHORT, 1, 1), (339, _SHORT, 1, form), (32997, _LONG, 1, depth),
    )  # fmt: skip
    head = struct.pack("<2sHIH", b"II", 42, 8, len(tags)) + b"".join(struct.pack("<HHII", *tag) for tag in tags)
    table = struct.pack(f"<{2 * channels}I", *starts, *[size] * channels) if channels > 1 else b""
    return head + struct.pack("<IIIII", 0, 1, 1, 1, 1) + table + array.tobytes()
