"""What stands for a function in expressions: `f[x, y]`, a component of it, and an update before the definition."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language.buffer import coordinate
from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, joined
from rfactor.compiler.language.implicit import count, expanded, is_placeholder
from rfactor.compiler.language.public import listed, public
from rfactor.compiler.language.tuple import Tuple
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir import expr as ir

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func


@public
class FuncRef(Expr):
    """`f[x, y]`: the value of a function at a point, or a component of it by `[i]`."""

    __slots__ = ("_arguments", "_func")

    def __init__(self, func: Func, arguments: tuple[Expr, ...]) -> None:
        self._func, self._arguments = func, arguments

    @property
    def func(self) -> Func:
        """The function."""
        return self._func

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """The point."""
        return self._arguments

    @property
    def node(self) -> ir.Expr:
        if not self._func.defined():
            name = self._func.name()
            raise AlgorithmError(
                f'Error: Can\'t call Func "{name}" because it has not yet been defined. '
                f"{name} is used before it is defined: write {name}[…] = … first"
            )
        function = self._func.function
        if len(function.types) != 1:
            raise TypeMismatch(
                f"{self._func.name()} has {len(function.types)} components: take one, as in {self._func.name()}[…][0]"
            )
        return function.at(tuple(a.node for a in self._arguments))

    @property
    def uses(self) -> Uses:
        return {**(joined(*self._arguments) if self._arguments else {}), self._func.name(): self._func}

    def __getitem__(self, component: int) -> Expr:
        function = self._func.function
        if not 0 <= component < len(function.types):
            raise TypeMismatch(f"{self._func.name()} has {len(function.types)} components, hence no [{component}]")
        return FuncTupleElementRef(self, component)

    def __len__(self) -> int:
        return len(self._func.function.types)

    def size(self) -> int:
        """The number of components."""
        return len(self)

    def components(self) -> tuple[Expr, ...] | None:
        """The components of a function that has several; None of one."""
        return tuple(self[i] for i in range(len(self))) if len(self) > 1 else None

    def _updated(self, op: str, value: ExprLike) -> Any:
        """`f[…] op value`; what it is of a function that is not defined yet is seen where it is assigned."""
        if not self._func.defined():
            return Pending(self, op, int(value) if isinstance(value, bool) else value)
        if len(self) > 1:
            parts = Tuple(value)
            if len(parts) != len(self):
                raise TypeMismatch(
                    f"{self} {op} …: {self._func.name()} returns a Tuple of {len(self)}, the other side has "
                    f"{len(parts)}: take a component, as in {self}[0], or give {len(self)} values"
                )
            return Tuple([_OPERATORS[op](self[i], part) for i, part in zip(range(len(self)), parts, strict=True)])
        return _OPERATORS[op](Expr(self.node, self.uses), value)

    def __add__(self, value: ExprLike) -> Any:
        return self._updated("+", value)

    def __sub__(self, value: ExprLike) -> Any:
        return self._updated("-", value)

    def __mul__(self, value: ExprLike) -> Any:
        return self._updated("*", value)

    def __truediv__(self, value: ExprLike) -> Any:
        return self._updated("/", value)

    def __format__(self, spec: str) -> str:
        return format(f"{self._func.name()}({', '.join(map(format, self._arguments))})", spec)

    def __repr__(self) -> str:
        return f"<halide.FuncRef {self}>"


@public
class FuncTupleElementRef(Expr):
    """`f[x, y][i]`: a component of the value of a function at a point."""

    __slots__ = ("_index",)

    def __init__(self, reference: FuncRef, index: int) -> None:
        point = tuple(argument.node for argument in reference.arguments)
        super().__init__(reference.func.function.at(point, index), reference.uses)
        self._index = index

    def index(self) -> int:
        """Which component."""
        return self._index


class Pending(Expr):
    """`f[…] + value` of a function that is not defined yet: assigned to `f[…]` it starts the function.

    As any other expression it raises `AlgorithmError`.
    """

    __slots__ = ("_op", "_reference", "_value")

    def __init__(self, reference: FuncRef, op: str, value: ExprLike) -> None:
        self._reference, self._op, self._value = reference, op, value

    @property
    def func(self) -> Func:
        """The function."""
        return self._reference.func

    @property
    def node(self) -> ir.Expr:
        self.func.require()
        raise AlgorithmError(f"{self._reference} {self._op} … was written before {self.func.name()} was defined")

    def _augmented(self, op: str, value: Any) -> Any:
        raise TypeMismatch(
            f"unsupported operand type(s) for {op}=: 'halide.halide_._UnevaluatedFuncRefExpr' and "
            f"'{type(value).__name__}': assign it to {self._reference} first"
        )

    def __iadd__(self, value: Any) -> Any:
        return self._augmented("+", value)

    def __isub__(self, value: Any) -> Any:
        return self._augmented("-", value)

    def __imul__(self, value: Any) -> Any:
        return self._augmented("*", value)

    def __itruediv__(self, value: Any) -> Any:
        return self._augmented("/", value)

    def started(self, func: Func, index: Any) -> tuple[list[Expr], Any]:
        """Define the function as 0 (of products, 1) everywhere, where it is assigned to the same point.

        Returns the point and the value then. Raises `AlgorithmError` for another point or function.
        """
        given = point_of(func, (index,) if (several := listed(index)) is None else several)
        own = self._reference.arguments
        if func is not self.func or func.defined() or [e.node for e in given] != [e.node for e in own]:
            where = "when a pure definition already exists" if func is self.func and func.defined() else _ELSEWHERE
            raise AlgorithmError(
                f"Cannot use an unevaluated reference to '{func.name()}' to define an update {where}. "
                f"In {self._reference} {self._op} … {self.func.name()} is used before it is defined: that can only "
                f"be assigned to {self._reference} itself, once"
            )
        rank = len(own) - 1 + count(Tuple(self._value)) if any(map(is_placeholder, own)) else len(own)
        point = [as_expr(one) for one in expanded(func.name(), own, rank)]
        func.start(tuple(point), self._value, 0 if self._op in "+-" else 1)
        return point, func[tuple(point)]._updated(self._op, self._value)


def point_of(func: Func, given: Sequence[Any]) -> tuple[Expr, ...]:
    """What a function is indexed by, as coordinates."""
    return tuple(coordinate(func.name(), as_expr(one)) for one in given)


_ELSEWHERE = "at a different location"

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
