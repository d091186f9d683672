"""The two meanings of integer arithmetic, and how floats are read in each."""

from __future__ import annotations

from enum import StrEnum


class Meaning(StrEnum):
    """What `+ - * …` on integers mean. In proofs floats are reals (with ±inf) under both."""

    WRAP = "wrap"
    """Two's complement at the type's width, for signed types too: what the machine does."""
    MATH = "math"
    """The unbounded integers; variables of unsigned types are >= 0."""
