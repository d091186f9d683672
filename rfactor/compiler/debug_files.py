"""Values of functions in files: `Func.debug_to_file`.

`.npy` has the elements as they lie, dimension 0 innermost, and for its shape the extents, that of dimension 0 first, as
Halide writes it: `np.load(file).ravel().reshape(shape[::-1])` is the array. Any other ending has five i32 (four
extents, the number of the type), then the elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.compiler.input_bounds import bounds_for
from rfactor.compiler.language.buffer import Buffer
from rfactor.compiler.pipeline import Prepared
from rfactor.errors import ScheduleError, TypeMismatch

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
    """Write elements. Raises `NotImplementedError` for `.tiff` and `.mat`, `TypeMismatch` where a format has none."""
    ending = Path(file).suffix
    if ending in (".tiff", ".tif", ".mat"):
        raise NotImplementedError(f"debug_to_file of {ending} is not there: .npy is")
    flat = np.ascontiguousarray(array)
    extents = flat.shape[::-1]
    if ending == ".npy":
        with Path(file).open("wb") as stream:
            np.save(stream, flat.reshape(extents))
        return
    plain = flat.astype(np.uint8) if flat.dtype == np.bool_ else flat
    if plain.dtype.name not in _NUMBERS or len(extents) > 4:
        raise TypeMismatch(f"{file}: {plain.dtype} in {len(extents)} dimensions; write .npy")
    head = np.array([*extents, *[1] * (4 - len(extents)), _NUMBERS.index(plain.dtype.name)], np.int32)
    Path(file).write_bytes(head.tobytes() + plain.tobytes())
