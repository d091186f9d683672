"""Scalar and vector types: what a value is, its width and its range."""

from __future__ import annotations

import difflib
import re
from functools import lru_cache
from typing import Literal

Code = Literal["bool", "uint", "int", "float", "bfloat"]

_FLOATS: dict[tuple[Code, int], tuple[int, float]] = {
    ("float", 16): (11, 65504.0),
    ("float", 32): (24, 3.4028234663852886e38),
    ("float", 64): (53, 1.7976931348623157e308),
    ("bfloat", 16): (8, 3.3895313892515355e38),
}
"""Binary digits of the significand and the greatest finite value."""
_made: dict[tuple[Code, int, int], Type] = {}


class Type:
    """A type: `lanes` values of one scalar type. Scalars have one lane.

    There is one object a type, so that types are compared, and found in dictionaries, by identity.
    """

    __slots__ = (
        "bits", "code", "is_bfloat", "is_bool", "is_float", "is_int", "is_signed", "lanes", "max", "min", "name",
    )  # fmt: skip

    code: Code
    """Kind of number; `bfloat` is the upper half of an f32, a float too."""
    bits: int
    """Width of one lane in bits; 1 for `bool`."""
    lanes: int
    """Number of lanes of a vector."""
    name: str
    """The name in the expression language: `i32`, `bool`, and `i32x8` for vectors."""
    is_bool: bool
    is_int: bool
    """Signed or unsigned integer (not bool)."""
    is_float: bool
    is_bfloat: bool
    """Whether it is bf16, also of several lanes."""
    is_signed: bool
    min: bool | int | float
    """The least value; minus infinity for floats."""
    max: bool | int | float
    """The greatest value; infinity for floats."""

    def __new__(cls, code: Code, bits: int, lanes: int = 1) -> Type:
        known = _made.get((code, bits, lanes))
        if known is not None:
            return known
        real = code in ("float", "bfloat")
        base = "bool" if code == "bool" else f"bf{bits}" if code == "bfloat" else f"{code[0]}{bits}"
        if real:
            low, high = float("-inf"), float("inf")
        else:
            low = -(1 << (bits - 1)) if code == "int" else 0
            high = (1 << (bits - (code == "int"))) - 1
        made = super().__new__(cls)
        values = {
            "code": code, "bits": bits, "lanes": lanes, "name": base if lanes == 1 else f"{base}x{lanes}",
            "is_bool": code == "bool", "is_int": code in ("int", "uint"), "is_float": real,
            "is_bfloat": code == "bfloat",
            "is_signed": code == "int" or real,
            "min": False if code == "bool" else low, "max": True if code == "bool" else high,
        }  # fmt: skip
        for name, value in values.items():
            object.__setattr__(made, name, value)
        return _made.setdefault((code, bits, lanes), made)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("types are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("types are immutable")

    def __reduce__(self) -> tuple[object, ...]:
        return (Type, (self.code, self.bits, self.lanes))

    @property
    def largest_finite(self) -> bool | int | float:
        """The greatest finite value."""
        return _FLOATS[self.code, self.bits][1] if self.is_float else self.max

    @property
    def digits(self) -> int:
        """Binary digits of a float's significand: the whole numbers of so many are held exactly."""
        return _FLOATS[self.code, self.bits][0]

    def holds(self, other: Type) -> bool:
        """Whether every value of a float type is one of this float type."""
        return other.digits <= self.digits and other.largest_finite <= self.largest_finite

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
BF16 = Type("bfloat", 16)

SCALARS: tuple[Type, ...] = (BOOL, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64)
"""Every scalar type, in the order used by listings."""
TABLED: tuple[Type, ...] = tuple(type_ for type_ in SCALARS if type_ is not BF16)
"""Those that rows of tables name. What rows say of floats is proved of reals, and holds for bf16 too."""

BY_NAME: dict[str, Type] = {type_.name: type_ for type_ in SCALARS}


@lru_cache(maxsize=256)
def parse_type(name: str) -> Type:
    """The scalar type called `name`. Raises `ValueError` naming the accepted ones."""
    try:
        return BY_NAME[name]
    except KeyError:
        meant = meant_types(name)
        hint = f" (did you mean {' or '.join(meant)}?)" if meant else ""
        raise ValueError(f"unknown type {name!r}{hint}; types are {' '.join(BY_NAME)}") from None


_ELSEWHERE: dict[str, tuple[str, ...]] = {
    "int": ("i32", "i64"), "integer": ("i32", "i64"), "uint": ("u32", "u64"), "unsigned": ("u32", "u64"),
    "float": ("f32", "f64"), "real": ("f32", "f64"), "single": ("f32",), "double": ("f64",), "half": ("f16",),
    "bfloat": ("bf16",), "short": ("i16",), "long": ("i64",), "byte": ("u8",), "ubyte": ("u8",), "char": ("i8", "u8"),
    "size": ("u64",), "boolean": ("bool",),
}  # fmt: skip
"""What types are called in other languages, without widths."""
_WIDE = re.compile(r"(int|uint|float|bfloat|bool|i|u|f)(\d*)")


def meant_types(name: str) -> tuple[str, ...]:
    """The types that a name of another language may stand for."""
    plain = name.strip().lower().rpartition(".")[2].removesuffix("_t").removesuffix("_")
    if plain in BY_NAME:
        return (plain,)
    if plain in _ELSEWHERE:
        return _ELSEWHERE[plain]
    wide = _WIDE.fullmatch(plain)
    if wide is not None:
        own = f"{'bf' if wide[1] == 'bfloat' else wide[1][0]}{wide[2]}"
        return (own,) if own in BY_NAME else ()
    return tuple(difflib.get_close_matches(plain, BY_NAME, 1, 0.6))
