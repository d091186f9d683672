"""The functions that expressions may call, one row each: what they take and give, and where their values come from.

Each is a function of its arguments alone. Whatever can be written with the operations of `ir.expr` is no intrinsic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rfactor.ir.types import F32, F64, SCALARS, Type

Takes = Literal["real", "single", "wide", "integer", "bits"]


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """One function."""

    name: str
    arity: int
    takes: Takes = "real"
    """`real` floats of one type, `single` those of f32, `wide` those of f32 or of f64, `integer` integers of one type,
    `bits` a number as wide as what it gives."""
    libm: str | None = None
    """The routine of the C library for f64, called for every lane; of f32 it is arithmetic, see `ir.routines`."""
    llvm: str | None = None
    """The intrinsic of LLVM, on whole vectors."""
    gives: Type | None = None
    """The type of the value; None where it is that of the arguments."""

    def accepts(self, type: Type) -> bool:
        """Whether arguments may be of `type`."""
        if self.takes == "real":
            return type.is_float
        if self.takes == "single":
            return type.element == F32
        if self.takes == "wide":
            return type.element in (F32, F64)
        if self.takes == "integer":
            return type.is_int
        return not type.is_bool and self.gives is not None and type.bits == self.gives.bits

    def result(self, type: Type) -> Type:
        """The type of the value for arguments of `type`."""
        return type if self.gives is None else self.gives.with_lanes(type.lanes)


INTRINSICS: dict[str, Intrinsic] = {
    row.name: row
    for row in (
        Intrinsic("exp", 1, libm="exp"),
        Intrinsic("log", 1, libm="log"),
        Intrinsic("sqrt", 1, llvm="sqrt"),
        Intrinsic("sin", 1, libm="sin"),
        Intrinsic("cos", 1, libm="cos"),
        Intrinsic("fast_sin", 1, "single"),
        Intrinsic("fast_cos", 1, "single"),
        Intrinsic("tan", 1, libm="tan"),
        Intrinsic("asin", 1, libm="asin"),
        Intrinsic("acos", 1, libm="acos"),
        Intrinsic("atan", 1, libm="atan"),
        Intrinsic("atan2", 2, libm="atan2"),
        Intrinsic("sinh", 1, libm="sinh"),
        Intrinsic("cosh", 1, libm="cosh"),
        Intrinsic("tanh", 1, libm="tanh"),
        Intrinsic("asinh", 1, libm="asinh"),
        Intrinsic("acosh", 1, libm="acosh"),
        Intrinsic("atanh", 1, libm="atanh"),
        Intrinsic("erf", 1, libm="erf"),
        Intrinsic("floor", 1, llvm="floor"),
        Intrinsic("ceil", 1, llvm="ceil"),
        Intrinsic("round", 1, llvm="roundeven"),
        Intrinsic("trunc", 1, llvm="trunc"),
        Intrinsic("pow", 2, libm="pow"),
        Intrinsic("fma", 3, "wide", llvm="fma"),
        Intrinsic("popcount", 1, "integer", llvm="ctpop"),
        Intrinsic("count_leading_zeros", 1, "integer", llvm="ctlz"),
        Intrinsic("count_trailing_zeros", 1, "integer", llvm="cttz"),
        *(Intrinsic(f"reinterpret_{type}", 1, "bits", gives=type) for type in SCALARS if not type.is_bool),
    )
}
"""Every function. Of zero, all bits are leading and trailing zeros; `round` takes ties to even; `fma(a, b, c)` is
`a*b + c` rounded once."""

FUNCTIONS = tuple(row.name for row in INTRINSICS.values() if row.takes != "bits")
"""Those that an update may compute with: the matcher and the provers know them, or take them as they stand."""
