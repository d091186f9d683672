"""The data of random loops: one column an argument, with extremes now and then, as arrays, lists, bytes or strings.

Floats are multiples of 1/4 below 2**12: their sums, and sums of their squares, are exact in every order, so that the
comparison need not allow for rounding. NaN, infinities and the negative zero do not change that.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

ALPHABET = "ab1 (),"


@dataclass(frozen=True)
class Column:
    """A kind of data: its container and what its elements are."""

    container: str
    """array, list, bytes, str or rows (an array of rows of three)."""
    element: str
    """The dtype of an array; int, float or bool in a list."""
    values: str = "small"
    """small, large (near 2**62), full (the whole range), huge (beyond 64 bits), dirty (NaN, -0.0, infinities)."""

    @property
    def kind(self) -> str:
        """Give what an element is in expressions: int, float, bool or char."""
        if self.container == "str":
            return "char"
        if self.container == "bytes":
            return "int"
        return "float" if self.element.startswith("float") else "bool" if self.element == "bool" else "int"

    @property
    def unbounded(self) -> bool:
        """Return True where an element is a Python int, whose sums do not wrap."""
        return self.container in ("list", "bytes") and self.kind == "int"


COMMON = [
    (Column("array", "int64"), 8),
    (Column("array", "int64", "large"), 2),
    (Column("array", "int64", "full"), 1),
    (Column("array", "uint8"), 4),
    (Column("array", "int32"), 3),
    (Column("array", "int32", "full"), 2),
    (Column("array", "uint64", "full"), 1),
    (Column("array", "float64"), 6),
    (Column("array", "float64", "dirty"), 3),
    (Column("array", "bool"), 2),
    (Column("list", "int"), 6),
    (Column("list", "int", "large"), 2),
    (Column("list", "int", "huge"), 1),
    (Column("list", "float"), 2),
    (Column("list", "float", "dirty"), 1),
    (Column("list", "bool"), 1),
    (Column("bytes", "int"), 4),
    (Column("str", "char"), 4),
]
"""Columns with their weights."""


def column(rng: random.Random) -> Column:
    """Draw a kind of data."""
    return rng.choices([one for one, _ in COMMON], [weight for _, weight in COMMON])[0]


def values(one: Column, n: int, rng: np.random.Generator) -> Any:
    """Draw n elements of a column."""
    if one.container == "rows":
        return values(Column("array", one.element, one.values), 3 * n, rng).reshape(n, 3)
    if one.container == "str":
        return "".join(ALPHABET[k] for k in rng.integers(0, len(ALPHABET), n))
    if one.container == "bytes":
        return bytes(ALPHABET[k].encode()[0] for k in rng.integers(0, len(ALPHABET), n))
    if one.kind == "bool":
        flags = rng.random(n) < rng.choice([0.1, 0.5, 0.9])
        return flags if one.container == "array" else flags.tolist()
    if one.kind == "float":
        floats = np.round(rng.normal(size=n) * rng.choice([2, 16]) * 4) / 4
        if one.values == "dirty":
            strange = rng.random(n) < rng.choice([0.02, 0.3])
            floats[strange] = rng.choice([np.nan, -0.0, 0.0, np.inf, -np.inf], int(strange.sum()))
        return floats if one.container == "array" else floats.tolist()
    return _ints(one, n, rng)


def _ints(one: Column, n: int, rng: np.random.Generator) -> Any:
    """Draw integers; those of lists are Python ints."""
    if one.container == "list":
        if one.values == "huge":
            return [(int(v) << 60) + k for k, v in enumerate(rng.integers(-99, 99, n))]
        lo, hi = (-(2**62), 2**62) if one.values == "large" else (-50, 50)
        return rng.integers(lo, hi, n).tolist()
    dtype = np.dtype(one.element)
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    lo, hi = {"small": (-50, 50), "large": (-(2**62), 2**62), "full": (least, most + 1)}[one.values]
    if one.element == "uint8":
        lo, hi = 0, 256
    out = rng.integers(max(lo, least), min(hi, most + 1), n, dtype=dtype)
    if one.values == "full" and n:
        extreme = rng.random(n) < 0.1
        out[extreme] = rng.choice(np.array([least, most, 0], dtype=dtype), int(extreme.sum()))
    return out


def literal(data: Any) -> str:
    """Print data so that it can be pasted: it needs `np`, `inf` and `nan`."""
    if isinstance(data, np.ndarray):
        return f"np.array({data.tolist()!r}, dtype=np.{data.dtype.name}).reshape({data.shape!r})"
    return repr(data)
