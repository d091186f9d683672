"""Tuples of expressions: the values of a function with several components."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.compiler.language.expr import Expr, ExprLike, as_expr, is_sequence
from rfactor.compiler.language.public import public
from rfactor.errors import AlgorithmError


@public
class Tuple:
    """A fixed number of expressions."""

    __slots__ = ("_parts",)

    def __init__(self, *parts: ExprLike) -> None:
        values = parts
        if len(parts) == 1:
            if is_sequence(parts[0]):
                values = tuple(parts[0][i] for i in range(len(parts[0])))
            elif hasattr(parts[0], "components"):
                values = parts[0].components() or parts
        self._parts: tuple[Expr, ...] = tuple(as_expr(part) for part in values)
        if not self._parts:
            raise AlgorithmError("Tuples must have at least one element: write Tuple(a, b), or Tuple([a, b])")

    def components(self) -> tuple[Expr, ...]:
        """The expressions."""
        return self._parts

    def __len__(self) -> int:
        return len(self._parts)

    def size(self) -> int:
        """The number of components."""
        return len(self._parts)

    def __getitem__(self, index: int) -> Expr:
        try:
            return self._parts[index]
        except IndexError:
            raise IndexError(f"a Tuple of {len(self._parts)} expressions has no [{index}]") from None

    def __iter__(self) -> Iterator[Expr]:
        return iter(self._parts)

    def __repr__(self) -> str:
        return f"<halide.Tuple of size {len(self._parts)}>"
