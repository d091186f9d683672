"""New arrays whose strides are those that were promised of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from rfactor.compiler.language.buffer import Buffer
from rfactor.compiler.language.memory import reserved
from rfactor.ir.evaluate import stored_dtype_of
from rfactor.ir.types import Type


def zeros(type: Type, box: Sequence[tuple[int, int]], promised: Mapping[int, int]) -> Buffer:
    """Zeros over a box, the least coordinate and the extent of each dimension.

    `promised` are strides in elements, by dimension; it is left alone where elements would share memory, and dimension
    0 is innermost then.
    """
    extents = [extent for _, extent in box]
    strides = strides_of(extents, promised)
    span = 1 + sum(stride * (extent - 1) for stride, extent in zip(strides, extents, strict=True))
    memory = reserved([span if all(extents) else 0], stored_dtype_of(type), zeros=True)
    steps = [stride * memory.itemsize for stride in reversed(strides)]
    result = Buffer(np.lib.stride_tricks.as_strided(memory, tuple(reversed(extents)), tuple(steps)))
    result.set_min([low for low, _ in box])
    return result


def strides_of(extents: Sequence[int], promised: Mapping[int, int]) -> list[int]:
    """What was promised, and of the other dimensions what an array without gaps has; or else beyond all that was."""
    ranks = range(len(extents))
    dense = [prod(extents[:d]) for d in ranks]
    beyond = dict(promised)
    for d in ranks:
        if d not in beyond:
            beyond[d] = 1 + sum(stride * (extents[k] - 1) for k, stride in beyond.items())
    choices = [promised.get(d, dense[d]) for d in ranks], [beyond[d] for d in ranks]
    return next((strides for strides in choices if _apart(extents, strides)), dense)


def _apart(extents: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether each stride steps over all that smaller strides reach, so that no two elements are one."""
    reached = 0
    for stride, extent in sorted(zip(strides, extents, strict=True)):
        if extent > 1:
            if stride <= reached:
                return False
            reached += stride * (extent - 1)
    return True
