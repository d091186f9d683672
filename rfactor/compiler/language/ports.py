"""Inputs and outputs as they are declared by a type and a number of dimensions alone: their names are chosen here."""

from __future__ import annotations

from typing import Any

from rfactor.compiler.language.buffer import ImageParam
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import Param


class InputBuffer(ImageParam):
    """An input array: an `ImageParam` of elements of `type` and of `dimensions` dimensions."""

    def __init__(self, type: Type, dimensions: int) -> None:
        """Raises `TypeMismatch` for what is no type or number of dimensions."""
        super().__init__(type, dimensions)


class InputScalar(Param):
    """An input number: a `Param` of `type`."""

    def __init__(self, type: Type) -> None:
        """Raises `TypeMismatch` for what is no type."""
        super().__init__(type)


class OutputBuffer(Func):
    """An output: a function whose definition must have these types (one, or one a component) and dimensions."""

    def __init__(self, types: Any, dimensions: int) -> None:
        """Raises `TypeMismatch` for what is no type or number of dimensions."""
        super().__init__(types, dimensions)


class OutputScalar(OutputBuffer):
    """An output without dimensions: `o[()] = …`."""

    def __init__(self, types: Any) -> None:
        """Raises `TypeMismatch` for what is no type."""
        super().__init__(types, 0)
