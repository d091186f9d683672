"""Expressions as text, computed by this package, by its interpreter, and by Halide where it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def names_of(hl: Any, arrays: Mapping[str, Array]) -> tuple[dict[str, Any], Any]:
    """What an expression may say: `hl`, `x`, and an element of each array under its name; and `x`."""
    x = hl.Var("x")
    buffers = {name: hl.Buffer(_known(array), name=f"{name}_") for name, array in arrays.items()}
    return {"hl": hl, "np": np, "x": x, **{name: buffer[x] for name, buffer in buffers.items()}}, x


def _known(array: Array) -> Array:
    """The array, of the one of NumPy's names for u64 that Halide's bindings know."""
    return array.astype(np.ulonglong) if array.dtype == np.uint64 else array


def values(hl: Any, text: str, arrays: Mapping[str, Array], length: int, lanes: int = 1) -> list[Array]:
    """The values of the expression (or the tuple of expressions) at every x, a component each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope, x = names_of(hl, arrays)
        f = hl.Func("f")
        f[x] = eval(text, scope)
        if lanes > 1:
            f.vectorize(x, lanes)
        result = f.realize([length])
    return [np.array(part) for part in (result if isinstance(result, tuple | list) else (result,))]
