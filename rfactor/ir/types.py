"""Scalar and vector types: what a value is, its width and its range."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Code = Literal["bool", "uint", "int", "float"]

_FLOAT_MAX = {16: 65504.0, 32: 3.4028234663852886e38, 64: 1.7976931348623157e308}


@dataclass(frozen=True, slots=True)
class Type:
    """A type: `lanes` values of one scalar type. Scalars have one lane."""

    code: Code
    """Kind of number."""
    bits: int
    """Width of one lane in bits; 1 for `bool`."""
    lanes: int = 1
    """Number of lanes of a vector."""

    @property
    def name(self) -> str:
        """The name in the expression language: `i32`, `bool`, and `i32x8` for vectors."""
        base = "bool" if self.code == "bool" else f"{self.code[0]}{self.bits}"
        return base if self.lanes == 1 else f"{base}x{self.lanes}"

    @property
    def is_bool(self) -> bool:
        return self.code == "bool"

    @property
    def is_int(self) -> bool:
        """Signed or unsigned integer (not bool)."""
        return self.code in ("int", "uint")

    @property
    def is_signed(self) -> bool:
        return self.code in ("int", "float")

    @property
    def is_float(self) -> bool:
        return self.code == "float"

    @property
    def min(self) -> bool | int | float:
        """The least value; minus infinity for floats."""
        if self.is_float:
            return float("-inf")
        if self.is_bool:
            return False
        return -(1 << (self.bits - 1)) if self.code == "int" else 0

    @property
    def max(self) -> bool | int | float:
        """The greatest value; infinity for floats."""
        if self.is_float:
            return float("inf")
        if self.is_bool:
            return True
        return (1 << (self.bits - (self.code == "int"))) - 1

    @property
    def largest_finite(self) -> bool | int | float:
        """The greatest finite value."""
        return _FLOAT_MAX[self.bits] if self.is_float else self.max

    def with_lanes(self, lanes: int) -> Type:
        return self if lanes == self.lanes else Type(self.code, self.bits, lanes)

    @property
    def element(self) -> Type:
        """The scalar type of one lane."""
        return self.with_lanes(1)

    def wrap(self, value: int) -> int:
        """`value` reduced to this integer type by two's complement."""
        value &= (1 << self.bits) - 1
        if self.code == "int" and value >> (self.bits - 1):
            value -= 1 << self.bits
        return value

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name


BOOL = Type("bool", 1)
U8, U16, U32, U64 = (Type("uint", bits) for bits in (8, 16, 32, 64))
I8, I16, I32, I64 = (Type("int", bits) for bits in (8, 16, 32, 64))
F16, F32, F64 = (Type("float", bits) for bits in (16, 32, 64))

SCALARS: tuple[Type, ...] = (BOOL, U8, U16, U32, U64, I8, I16, I32, I64, F16, F32, F64)
"""Every scalar type, in the order used by listings."""

BY_NAME: dict[str, Type] = {type_.name: type_ for type_ in SCALARS}


@lru_cache(maxsize=256)
def parse_type(name: str) -> Type:
    """The scalar type called `name`. Raises `ValueError` naming the accepted ones."""
    try:
        return BY_NAME[name]
    except KeyError:
        raise ValueError(f"unknown type {name!r}; types are {' '.join(BY_NAME)}") from None
