"""Types as users name them: `Int(32)`, `UInt(8)`, `Float(32)`, `Bool()`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rfactor.errors import TypeMismatch
from rfactor.ir import types as ir
from rfactor.ir.expr import Const

if TYPE_CHECKING:
    import numpy as np

    from rfactor.compiler.language.expr import Expr


@dataclass(frozen=True, slots=True)
class Type:
    """A scalar type."""

    ir: ir.Type

    def bits(self) -> int:
        """Width in bits."""
        return self.ir.bits

    def bytes(self) -> int:
        """Width in bytes."""
        return (self.ir.bits + 7) // 8

    def lanes(self) -> int:
        """1: vectors are the schedule's."""
        return 1

    def is_int(self) -> bool:
        """Whether it is a signed integer type."""
        return self.ir.code == "int"

    def is_uint(self) -> bool:
        """Whether it is an unsigned integer type or bool."""
        return self.ir.code in ("uint", "bool")

    def is_float(self) -> bool:
        """Whether it is a float type."""
        return self.ir.is_float

    def is_bool(self) -> bool:
        """Whether it is bool."""
        return self.ir.is_bool

    def min(self) -> Expr:
        """The least value, as an expression; minus infinity of a float type."""
        from rfactor.compiler.language.expr import Expr

        return Expr(Const(self.ir, self.ir.min))

    def max(self) -> Expr:
        """The greatest value, as an expression; infinity of a float type."""
        from rfactor.compiler.language.expr import Expr

        return Expr(Const(self.ir, self.ir.max))

    def __str__(self) -> str:
        return {"bool": "bool", "uint": f"uint{self.ir.bits}", "int": f"int{self.ir.bits}"}.get(
            self.ir.code, f"float{self.ir.bits}"
        )

    __repr__ = __str__


def _sized(name: str, code: ir.Code, bits: int, allowed: tuple[int, ...]) -> Type:
    if bits not in allowed:
        raise TypeMismatch(f"{name}({bits}): widths are {', '.join(map(str, allowed))}")
    return Type(ir.Type(code, bits))


def Int(bits: int) -> Type:
    """The signed integer type of 8, 16, 32 or 64 bits."""
    return _sized("Int", "int", bits, (8, 16, 32, 64))


def UInt(bits: int) -> Type:
    """The unsigned integer type of 8, 16, 32 or 64 bits; of 1 bit, bool."""
    return Bool() if bits == 1 else _sized("UInt", "uint", bits, (1, 8, 16, 32, 64))


def Float(bits: int) -> Type:
    """The float type of 16, 32 or 64 bits."""
    return _sized("Float", "float", bits, (16, 32, 64))


def Bool() -> Type:
    """The type of conditions."""
    return Type(ir.BOOL)


_CODES: dict[str, ir.Code] = {"b": "bool", "u": "uint", "i": "int", "f": "float"}


def type_of_dtype(dtype: np.dtype[np.generic]) -> Type:
    """The type of a NumPy array's elements. Raises `TypeMismatch` for what the language has no type for."""
    code = _CODES.get(dtype.kind)
    bits = 1 if dtype.kind == "b" else dtype.itemsize * 8
    if code is None or ir.Type(code, bits) not in ir.SCALARS:
        raise TypeMismatch(f"arrays of {dtype} are not supported; element types are {' '.join(ir.BY_NAME)}")
    if not dtype.isnative:
        raise TypeMismatch(f"arrays of {dtype} have foreign byte order: pass array.astype({dtype.newbyteorder('=')})")
    return Type(ir.Type(code, bits))


def dtype_of(type: ir.Type) -> np.dtype[np.generic]:
    """The NumPy type of a scalar type."""
    import numpy as np

    return np.dtype(np.bool_) if type.is_bool else np.dtype(f"{type.code[0]}{type.bits // 8}")
