"""Symbols: what names mean inside of a loop's body. Numbers as expressions, values that may be None, small lists, views
of arrays."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from rfactor.ir.expr import Expr, apply
from rfactor.ir.simplify import simplify
from rfactor.loops.kinds import FALSE, TRUE, Require, Scalar, Untyped, choose, literal


@dataclass(frozen=True)
class Optional:
    """A number, or None."""

    has: Expr
    value: Scalar | None
    """The number where `has` holds; None where there is never one."""


@dataclass(frozen=True)
class Parts:
    """A tuple, list or small array whose elements are known one by one."""

    items: tuple[Symbol, ...]
    form: str
    """`tuple`, `list` or `array`."""
    shape: tuple[int, ...] = ()
    dtype: str = ""

    @property
    def outline(self) -> tuple[str, tuple[int, ...], int]:
        """What it is, its elements aside."""
        return self.form, self.shape, len(self.items)

    def with_item(self, index: int, item: Symbol) -> Parts:
        """The same with one element replaced."""
        return Parts((*self.items[:index], item, *self.items[index + 1 :]), self.form, self.shape, self.dtype)


@dataclass(frozen=True)
class Complex:
    """A complex number."""

    real: Scalar
    imag: Scalar
    kind: str = "complex"


@dataclass(frozen=True)
class View:
    """An array at a place that the step determines; without remaining dimensions it is a number."""

    array: str
    """The name of the array among those of the loop."""
    indices: tuple[Expr, ...]
    shape: tuple[int, ...]
    """Of the whole array, when the loop was read: its length is not part of what is compiled."""
    dtype: str
    kind: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fixed:
    """A value that stays the same through the loop."""

    value: Any


@dataclass(frozen=True)
class Opaque:
    """A value of the step alone that Python computes."""


@dataclass(frozen=True)
class Place:
    """The element of an array, list, dict or set that this step's key names."""

    has: Expr
    """Is the key there? True of arrays and lists."""
    value: Scalar | None
    """None in a set, and where nothing was ever stored."""


@dataclass(frozen=True)
class Truth:
    """A value of which only the truth is known."""

    expr: Expr


@dataclass(frozen=True)
class Missing:
    """A name that may be unbound, or a value of which nothing is known."""

    why: str


Symbol = Scalar | Optional | Parts | Complex | View | Fixed | Opaque | Place | Truth | Missing


@dataclass(frozen=True)
class Binding:
    """A name's value, and how Python computes it from the step's own names."""

    symbol: Symbol
    node: ast.expr | None = None
    """None where it depends on the state."""


def merged(condition: Expr, node: ast.expr | None, true: Binding, false: Binding, require: Require) -> Binding:
    """A value after a branch; `node` is the condition in Python where it does not depend on the state."""
    if true == false:
        return true
    after = None
    if node is not None and true.node is not None and false.node is not None:
        after = ast.IfExp(node, true.node, false.node)
    a, b = true.symbol, false.symbol
    try:
        return Binding(merge(condition, a, b, require), after)
    except Untyped as error:
        if after is not None:
            return Binding(Opaque(), after)
        return Binding(Missing(str(error)))


def merge(condition: Expr, a: Symbol, b: Symbol, require: Require) -> Symbol:
    """One symbol or the other. Raises `Untyped`."""
    if a == b:
        return a
    for side in (a, b):
        if isinstance(side, Missing):
            return side
    if isinstance(a, Optional) or isinstance(b, Optional):
        p, q = (s if isinstance(s, Optional) else Optional(TRUE, s) for s in (a, b))  # type: ignore[arg-type]
        if not all(s.value is None or isinstance(s.value, Scalar) for s in (p, q)):
            raise Untyped("a value is None in one case and no number in another")
        has = simplify(_select(condition, p.has, q.has))
        if p.value is None or q.value is None:
            return Optional(has, p.value or q.value)
        return Optional(has, choose(condition, p.value, q.value, require))
    if isinstance(a, Place) and isinstance(b, Place):
        has = a.has if a.has == b.has else simplify(_select(condition, a.has, b.has))
        if a.value is None or b.value is None:
            return Place(has, a.value or b.value)
        return Place(has, choose(condition, a.value, b.value, require))
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return choose(condition, a, b, require)
    if (
        isinstance(a, Parts)
        and isinstance(b, Parts)
        and (a.form, a.shape, len(a.items)) == (b.form, b.shape, len(b.items))
    ):
        items = tuple(merge(condition, p, q, require) for p, q in zip(a.items, b.items, strict=True))
        return Parts(items, a.form, a.shape, a.dtype)
    if isinstance(a, Complex | Scalar) and isinstance(b, Complex | Scalar):
        c, d = as_complex(a), as_complex(b)
        if c.kind != d.kind:
            raise Untyped("a value is a complex number of Python in one case and of NumPy in another")
        return Complex(choose(condition, c.real, d.real, require), choose(condition, c.imag, d.imag, require), c.kind)
    raise Untyped("a value is of different forms in two cases")


def _select(condition: Expr, a: Expr, b: Expr) -> Expr:
    from rfactor.ir.expr import select

    return a if a == b else select(condition, a, b)


def as_complex(a: Complex | Scalar) -> Complex:
    """A number as a complex one. Raises `Untyped`."""
    if isinstance(a, Complex):
        return a
    if a.expr.type.is_float:
        return Complex(a, literal(0.0))
    raise Untyped("an integer beside complex numbers")


def conjunction(a: Expr, b: Expr) -> Expr:
    """Both, shortened."""
    if a == TRUE:
        return b
    return a if b == TRUE else simplify(apply("and", a, b))


def disjunction(a: Expr, b: Expr) -> Expr:
    """Either, shortened."""
    if a == FALSE:
        return b
    return a if b == FALSE else simplify(apply("or", a, b))


def negation(a: Expr) -> Expr:
    """The opposite of a condition."""
    return simplify(apply("not", a))
