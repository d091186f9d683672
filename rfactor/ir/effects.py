"""Expressions that do something besides having a value."""

from __future__ import annotations

from rfactor.ir.expr import Expr
from rfactor.ir.nodes import _set


class Print(Expr):
    """The value of `value`; where `condition` (bool) holds, a line is written to the standard output.

    The line is `template`, a template for `str.format` over the values of `arguments`. It is written each time that the
    value is computed, which a schedule may do more than once, and in an order that is the schedule's.
    """

    __slots__ = ("arguments", "condition", "template", "value")
    template: str
    value: Expr
    condition: Expr
    arguments: tuple[Expr, ...]

    def __init__(self, template: str, value: Expr, condition: Expr, arguments: tuple[Expr, ...]) -> None:
        _set(self, "type", value.type)
        _set(self, "template", template)
        _set(self, "value", value)
        _set(self, "condition", condition)
        _set(self, "arguments", arguments)
        _set(self, "_hash", hash(("print", template, value, condition, arguments)))

    def _key(self) -> tuple[object, ...]:
        return (self.template, self.value, self.condition, self.arguments)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.template, len(self.arguments))

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value, self.condition, *self.arguments)

    def with_children(self, children: tuple[Expr, ...]) -> Print:
        return type(self)(self.template, children[0], children[1], children[2:])


class Told(Print):
    """A line about all lanes of a vector: where `condition` is one for all of them, it is written once, and shows what
    differs between lanes as `<1, 2, 3, 4>`."""

    __slots__ = ()


class Refuse(Print):
    """The value of `value`; where `condition` holds, the pipeline fails, and says the line instead of writing it.

    What else is computed is computed to the end; of several failures one is told.
    """

    __slots__ = ()
