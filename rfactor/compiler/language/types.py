"""Types as users name them: `Int(32)`, `UInt(8)`, `Float(32)`, `Bool()`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rfactor.compiler.language.public import public
from rfactor.compiler.numbered import Numbered
from rfactor.errors import NoElementType, TypeMismatch
from rfactor.ir import types as ir
from rfactor.ir.expr import Const
from rfactor.ir.types import Type as IrType

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rfactor.compiler.language.expr import Expr


class TypeCode(Numbered):
    """Kind of number."""

    Int = 0
    UInt = 1
    Float = 2
    Handle = 3
    BFloat = 4


_KINDS: dict[ir.Code, TypeCode] = {
    "int": TypeCode.Int,
    "uint": TypeCode.UInt,
    "bool": TypeCode.UInt,
    "float": TypeCode.Float,
    "bfloat": TypeCode.BFloat,
}


_Named = Literal["char64", "handle64", "handle0"]
"""Types without values."""
_BITS: dict[_Named, int] = {"char64": 64, "handle64": 64, "handle0": 0}


_MOST_LANES = 65535
"""Of a vector type, as in Halide."""


@public
@dataclass(frozen=True, slots=True, init=False)
class Type:
    """A type: `Int(32)`, or `Type(TypeCode.Int, 32, 1)`.

    Values are of scalar types of numbers. Vectors and pointers have names and can be asked; where values of one would
    be needed, that is an error.
    """

    _element: IrType | _Named
    _lanes: int

    def __init__(self, code: IrType | TypeCode | None = None, bits: int = 32, lanes: int = 1) -> None:
        """`Type()` is none: a pointer of no bits. Raises `TypeMismatch` for a width that there is not."""
        if code is None:
            object.__setattr__(self, "_element", "handle0")
            object.__setattr__(self, "_lanes", 0)
        else:
            if not isinstance(code, IrType | TypeCode):
                raise TypeMismatch(f"Type takes a TypeCode first, as in Type(TypeCode.Int, 32, 1), not {code!r}")
            self._become(_element(code, bits) if isinstance(code, TypeCode) else code, lanes)

    def _become(self, element: IrType | _Named, lanes: int) -> Type:
        if not 1 <= lanes <= _MOST_LANES:
            raise TypeMismatch(f"a type of {lanes} lanes: a scalar has one, a vector more, up to {_MOST_LANES}")
        object.__setattr__(self, "_element", element)
        object.__setattr__(self, "_lanes", lanes)
        return self

    @property
    def ir(self) -> IrType:
        """The type of values. Raises `TypeMismatch` for vectors, `NotImplementedError` where there are no values."""
        if isinstance(self._element, str):
            raise NotImplementedError(f"values of {self} are not there: pointers are for extern stages")
        if self._lanes != 1:
            raise TypeMismatch(f"{self}: values are scalars here, vectors are made by vectorize()")
        return self._element

    def bits(self) -> int:
        """Width of one lane in bits."""
        return _BITS[self._element] if isinstance(self._element, str) else self._element.bits

    def bytes(self) -> int:
        """Width of one lane in bytes."""
        return (self.bits() + 7) // 8

    def code(self) -> TypeCode:
        """Kind of number; bool is an unsigned integer of one bit."""
        if isinstance(self._element, str):
            return TypeCode.Handle
        return _KINDS[self._element.code]

    def lanes(self) -> int:
        """Of a scalar 1, of a vector their number."""
        return self._lanes

    def is_scalar(self) -> bool:
        """Whether it has one lane."""
        return self._lanes == 1

    def is_vector(self) -> bool:
        """Whether it has several lanes."""
        return self._lanes > 1

    def element_of(self) -> Type:
        """The type of one lane."""
        return self.with_lanes(1)

    def with_bits(self, bits: int) -> Type:
        """The type of the same kind and another width."""
        return Type(self.code(), bits, self._lanes)

    def with_code(self, code: TypeCode) -> Type:
        """The type of another kind and the same width."""
        return Type(code, self.bits(), self._lanes)

    def with_lanes(self, lanes: int) -> Type:
        """The type of the same element in another number of lanes."""
        return Type.__new__(Type)._become(self._element, lanes)

    def can_represent(self, other: Type) -> bool:
        """Whether every value of `other` is one of this type, which has as many lanes."""
        from rfactor.compiler.language.functions import can_represent

        if self == other or self._lanes != other._lanes:
            return self == other
        return can_represent(self.element_of().ir, other.element_of().ir)

    def is_int(self) -> bool:
        """Whether it is a signed integer type."""
        return self.code() == TypeCode.Int

    def is_uint(self) -> bool:
        """Whether it is an unsigned integer type or bool."""
        return self.code() == TypeCode.UInt

    def is_float(self) -> bool:
        """Whether it is a float type."""
        return self.code() in (TypeCode.Float, TypeCode.BFloat)

    def is_bool(self) -> bool:
        """Whether it is bool."""
        return self.is_uint() and self.bits() == 1

    def is_bfloat(self) -> bool:
        """Whether it is the 16-bit brain float type."""
        return self.code() == TypeCode.BFloat

    def is_handle(self) -> bool:
        """Whether it is the type of pointers."""
        return self.code() == TypeCode.Handle

    def same_handle_type(self, other: Type) -> bool:
        """Whether both point to the same kind of thing, if they are pointers."""
        return (self._element == "char64") == (other._element == "char64")

    def is_max(self, value: int) -> bool:
        """Whether `value` is the greatest one."""
        return bool(value == self.element_of().ir.max)

    def is_min(self, value: int) -> bool:
        """Whether `value` is the least one."""
        return bool(value == self.element_of().ir.min)

    def min(self) -> Expr:
        """The least value, as an expression; minus infinity of a float type."""
        from rfactor.compiler.language.expr import Expr

        return Expr(Const(self.ir, self.ir.min))

    def max(self) -> Expr:
        """The greatest value, as an expression; infinity of a float type."""
        from rfactor.compiler.language.expr import Expr

        return Expr(Const(self.ir, self.ir.max))

    def __str__(self) -> str:
        name = self._element if isinstance(self._element, str) else self._element.code
        sized = name if isinstance(self._element, str) or name == "bool" else f"{name}{self.bits()}"
        return sized if self._lanes < 2 else f"{sized}x{self._lanes}"

    def __repr__(self) -> str:
        return f"<halide.Type {self}>"


def meant(what: str, given: object) -> ir.Type:
    """The type that a function was given. Raises `TypeMismatch` for anything else, saying how `what` is called."""
    if isinstance(given, Type):
        return given.ir
    raise TypeMismatch(f"{what} takes a type first, as in {what}(Int(32), …), not {given!r}")


def _element(code: TypeCode, bits: int) -> IrType | _Named:
    makers = {
        TypeCode.Int: Int,
        TypeCode.UInt: UInt,
        TypeCode.Float: Float,
        TypeCode.BFloat: BFloat,
        TypeCode.Handle: _pointer,
    }
    return makers[code](bits)._element


def _sized(name: str, code: ir.Code, bits: int, lanes: int, allowed: tuple[int, ...]) -> Type:
    if bits not in allowed:
        raise TypeMismatch(f"{name}({bits}): widths are {', '.join(map(str, allowed))}")
    return Type(ir.Type(code, bits)).with_lanes(lanes)


def _pointer(bits: int) -> Type:
    if bits != 64:
        raise TypeMismatch(f"a pointer of {bits} bits: they have 64")
    return Handle()


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


def BFloat(bits: int, lanes: int = 1) -> Type:
    """The brain float type of 16 bits: the upper half of a `Float(32)`."""
    return _sized("BFloat", "bfloat", bits, lanes, (16,))


def Handle(lanes: int = 1) -> Type:
    """The type of pointers: a name, without values."""
    return Type.__new__(Type)._become("handle64", lanes)


_CODES: dict[str, ir.Code] = {"b": "bool", "u": "uint", "i": "int", "f": "float"}


def is_bfloat(dtype: np.dtype[np.generic]) -> bool:
    """Whether it is that of the package `ml_dtypes` for brain floats, or the one that arrays of `Buffer`s have here."""
    if dtype.kind != "V" or dtype.itemsize != 2:
        return False
    from rfactor.ir.bfloat import STORED

    return dtype.name == "bfloat16" or dtype == STORED


def in_memory(array: NDArray[Any]) -> NDArray[Any]:
    """An array as it is given to code: of brain floats the same elements, as words of a type of their own."""
    if array.dtype.kind != "V" or not is_bfloat(array.dtype):
        return array
    from rfactor.ir.bfloat import STORED

    return array.view(STORED)


@cache
def type_of_dtype(dtype: np.dtype[np.generic]) -> Type:
    """The type of a NumPy array's elements. Raises `NoElementType` for what the language has no type for."""
    if is_bfloat(dtype):
        return Type(ir.BF16)
    code = _CODES.get(dtype.kind)
    bits = 1 if dtype.kind == "b" else dtype.itemsize * 8
    if code is None or ir.Type(code, bits) not in ir.SCALARS:
        raise NoElementType(f"arrays of {dtype} are not supported; element types are {' '.join(ir.BY_NAME)}")
    if not dtype.isnative:
        raise NoElementType(f"arrays of {dtype} have foreign byte order: pass array.astype({dtype.newbyteorder('=')})")
    return Type(ir.Type(code, bits))


@cache
def dtype_of(type: ir.Type) -> np.dtype[np.generic]:
    """The NumPy type of arrays of a scalar type."""
    import numpy as np

    if type.is_bfloat:
        from rfactor.ir.bfloat import STORED

        return STORED
    return np.dtype(np.bool_) if type.is_bool else np.dtype(f"{type.code[0]}{type.bits // 8}")


def text() -> Type:
    """The type of texts: pointers to characters."""
    return Type.__new__(Type)._become("char64", 1)
