"""What can be asked of a function: its types, its definitions, the arrays that it is computed into."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rfactor.compiler.language.expr import Expr, read_on_entry
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.public import public
from rfactor.compiler.language.stage import StageState
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import RVar, Var
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Expr as IrExpr
from rfactor.ir.types import Type as IrType


@public
class Queries:
    """Of a function as it is now. What needs a definition raises `AlgorithmError` if there is none."""

    stages: list[StageState]
    references: Mapping[str, Any]
    output_images: list[OutputImageParam]
    _variables: tuple[str, ...]
    _types: tuple[IrType, ...]
    _required: tuple[tuple[IrType, ...], int] | None
    """The types and the number of dimensions that its definition must have."""

    def name(self) -> str:
        """Its name."""
        raise NotImplementedError

    def defined(self) -> bool:
        """Whether it has its pure definition."""
        return bool(self.stages)

    def require(self) -> None:
        """Raise `AlgorithmError` unless it is defined."""
        if not self.stages:
            raise AlgorithmError(
                f"{self.name()} is used before it is defined (it is undefined): write {self.name()}[…] = … first"
            )

    @property
    def function(self) -> Function:
        """Its definition as it is now. Raises `AlgorithmError` if there is none."""
        self.require()
        pure, *updates = (state.definition for state in self.stages)
        return Function(self.name(), self._variables, self._types, pure, tuple(updates))

    def dimensions(self) -> int:
        """The number of dimensions."""
        if not self.stages and self._required is not None:
            return self._required[1]
        return len(self.function.variables)

    def args(self) -> list[Var]:
        """Its pure variables; none before it is defined."""
        return [] if not self.stages else [Var(name) for name in self.function.variables]

    def types(self) -> list[Type]:
        """The type of each component."""
        if not self.stages and self._required is not None:
            return [Type(type_) for type_ in self._required[0]]
        return [Type(type_) for type_ in self.function.types]

    def type(self) -> Type:
        """The type of its one component. Raises `TypeMismatch` for several."""
        found = self.types()
        if len(found) != 1:
            raise TypeMismatch(f"{self.name()} has {len(found)} components (it returns a Tuple): ask for types()")
        return found[0]

    def output_types(self) -> list[Type]:
        """The type of each component."""
        return self.types()

    def outputs(self) -> int:
        """The number of components."""
        return len(self.types())

    def is_extern(self) -> bool:
        """False: there are no extern stages."""
        return False

    def extern_function_name(self) -> str:
        """Nothing: there are no extern stages."""
        return ""

    def num_update_definitions(self) -> int:
        """The number of updates."""
        return max(len(self.stages) - 1, 0)

    def has_update_definition(self) -> bool:
        """Whether it has updates."""
        return len(self.stages) > 1

    def value(self) -> Expr:
        """The value of the pure definition. Raises `TypeMismatch` for several components."""
        return self._only(self.values(), "values()")

    def values(self) -> tuple[Expr, ...]:
        """The values of the pure definition."""
        return tuple(Expr(value, self.references) for value in self.function.pure.values)

    def update_args(self, idx: int = 0) -> list[Expr]:
        """The left-hand side of an update."""
        return [Expr(argument, self.references) for argument in self._update_definition(idx).arguments]

    def update_value(self, idx: int = 0) -> Expr:
        """The value of an update. Raises `TypeMismatch` for several components."""
        return self._only(self.update_values(idx), f"update_values({idx})")

    def update_values(self, idx: int = 0) -> tuple[Expr, ...]:
        """The values of an update."""
        return tuple(Expr(value, self.references) for value in self._update_definition(idx).values)

    def rvars(self, idx: int = 0) -> list[RVar]:
        """The reduction variables of an update, innermost first."""
        domain = self._update_definition(idx).domain
        found = () if domain is None else domain.variables
        return [RVar.named(rv.name, self._of_inputs(rv.min), self._of_inputs(rv.extent)) for rv in found]

    def _of_inputs(self, bound: IrExpr) -> Expr:
        """An expression of parameters and boxes of images alone."""
        return Expr(bound, read_on_entry(bound, self.references))

    def output_buffers(self) -> list[OutputImageParam]:
        """The arrays that it is computed into, a component each: promises of their boxes may be made."""
        if not self.output_images:
            types, rank = self.types(), self.dimensions()
            for component in range(len(types)):
                buffer = f"{self.name()}.{component}"
                self.output_images.append(OutputImageParam.of_output(self.name(), types[component], rank, buffer))
        return self.output_images

    def output_buffer(self) -> OutputImageParam:
        """The array that its one component is computed into. Raises `TypeMismatch` for several."""
        found = self.output_buffers()
        if len(found) != 1:
            raise TypeMismatch(f"{self.name()} has {len(found)} components: take output_buffers()[i]")
        return found[0]

    def _only(self, values: tuple[Expr, ...], instead: str) -> Expr:
        if len(values) != 1:
            raise TypeMismatch(f"{self.name()} has {len(values)} components: ask for {instead}")
        return values[0]

    def _update_definition(self, idx: int) -> Definition:
        self.require()
        if not 0 <= idx < self.num_update_definitions():
            raise AlgorithmError(f"{self.name()} has {self.num_update_definitions()} updates, hence no update {idx}")
        return self.stages[idx + 1].definition
