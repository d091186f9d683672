"""Types as users name them: `Int(32)`, `UInt(8)`, `Float(32)`, `Bool()`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from rfactor.errors import TypeMismatch
from rfactor.ir import types as ir
from rfactor.ir.expr import Const
from rfactor.ir.types import Type as IrType

if TYPE_CHECKING:
    import numpy as np

    from rfactor.compiler.language.expr import Expr


class TypeCode(Enum):
    """Kind of number."""

    Int = 0
    UInt = 1
    Float = 2
    Handle = 3


_KINDS: dict[ir.Code, TypeCode] = {
    "int": TypeCode.Int,
    "uint": TypeCode.UInt,
    "bool": TypeCode.UInt,
    "float": TypeCode.Float,
}


@dataclass(frozen=True, slots=True, init=False)
class Type:
    """A scalar type: `Int(32)`, or `Type(TypeCode.Int, 32, 1)`."""

    ir: IrType

    def __init__(self, code: IrType | TypeCode, bits: int = 32, lanes: int = 1) -> None:
        """Raises `TypeMismatch` for a width that there is not."""
        object.__setattr__(self, "ir", _of(code, bits, lanes).ir if isinstance(code, TypeCode) else code)

    def bits(self) -> int:
        """Width in bits."""
        return self.ir.bits

    def bytes(self) -> int:
        """Width in bytes."""
        return (self.ir.bits + 7) // 8

    def code(self) -> TypeCode:
        """Kind of number; bool is an unsigned integer of one bit."""
        return _KINDS[self.ir.code]

    def lanes(self) -> int:
        """1: vectors are the schedule's."""
        return 1

    def is_scalar(self) -> bool:
        """True: vectors are the schedule's."""
        return True

    def is_vector(self) -> bool:
        """False: vectors are the schedule's."""
        return False

    def element_of(self) -> Type:
        """The type itself."""
        return self

    def with_bits(self, bits: int) -> Type:
        """The type of the same kind and another width."""
        return _of(self.code(), bits, 1)

    def with_code(self, code: TypeCode) -> Type:
        """The type of another kind and the same width."""
        return _of(code, self.bits(), 1)

    def with_lanes(self, lanes: int) -> Type:
        """The type itself. Raises `TypeMismatch` for more than one lane."""
        return _of(self.code(), self.bits(), lanes)

    def can_represent(self, other: Type) -> bool:
        """Whether every value of `other` is one of this type."""
        from rfactor.compiler.language.functions import can_represent

        return can_represent(self.ir, other.ir)

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

    def is_bfloat(self) -> bool:
        """False: there are no such types here."""
        return False

    def is_handle(self) -> bool:
        """False: there are no pointers here."""
        return False

    def is_max(self, value: int) -> bool:
        """Whether `value` is the greatest one."""
        return bool(value == self.ir.max)

    def is_min(self, value: int) -> bool:
        """Whether `value` is the least one."""
        return bool(value == self.ir.min)

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


def meant(what: str, given: object) -> ir.Type:
    """The type that a function was given. Raises `TypeMismatch` for anything else, saying how `what` is called."""
    if isinstance(given, Type):
        return given.ir
    raise TypeMismatch(f"{what} takes a type first, as in {what}(Int(32), …), not {given!r}")


def _of(code: TypeCode, bits: int, lanes: int) -> Type:
    if lanes != 1:
        raise TypeMismatch(f"{lanes} lanes: values are scalars here, vectors are made by vectorize()")
    makers = {TypeCode.Int: Int, TypeCode.UInt: UInt, TypeCode.Float: Float}
    if code not in makers:
        raise NotImplementedError("Handle: pointers are for extern stages, which are not there")
    return makers[code](bits)


def _sized(name: str, code: ir.Code, bits: int, lanes: int, allowed: tuple[int, ...]) -> Type:
    if bits not in allowed:
        raise TypeMismatch(f"{name}({bits}): widths are {', '.join(map(str, allowed))}")
    if lanes != 1:
        raise TypeMismatch(f"{name}({bits}, {lanes}): values are scalars here, vectors are made by vectorize()")
    return Type(ir.Type(code, bits))


def Int(bits: int, lanes: int = 1) -> Type:
    """The signed integer type of 8, 16, 32 or 64 bits."""
    return _sized("Int", "int", bits, lanes, (8, 16, 32, 64))


def UInt(bits: int, lanes: int = 1) -> Type:
    """The unsigned integer type of 8, 16, 32 or 64 bits; of 1 bit, bool."""
    return Bool(lanes) if bits == 1 else _sized("UInt", "uint", bits, lanes, (1, 8, 16, 32, 64))


def Float(bits: int, lanes: int = 1) -> Type:
    """The float type of 16, 32 or 64 bits."""
    return _sized("Float", "float", bits, lanes, (16, 32, 64))


def Bool(lanes: int = 1) -> Type:
    """The type of conditions."""
    return _sized("Bool", "bool", 1, lanes, (1,))


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
