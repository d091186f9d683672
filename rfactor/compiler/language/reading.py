"""What is read of images before anything is computed: ends of domains, what loops are specialized by.

Functions of one definition are read too, as what they are made of: with g(x) = a(x) + p, g(0) > 3 is a(0) + p > 3.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rfactor.compiler.deep import deep
from rfactor.compiler.language.expr import Expr, OnEntry, Uses, entry_names
from rfactor.compiler.language.names import Named
from rfactor.errors import AlgorithmError
from rfactor.ir import algorithm as ir_algorithm
from rfactor.ir import expr as ir
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call
from rfactor.ir.printer import brief

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func

_LONGEST = 40
"""Of the text of an element by which it is named: that is in messages, where a domain ends or the like."""


class Reading(OnEntry, Named):
    """An element of an image that is read before anything is computed."""

    def __init__(self, value: Call, references: Uses) -> None:
        told = brief(value).replace(".", "_")
        super().__init__(told if len(told) <= _LONGEST else None, "loaded")
        self.reading = ir_algorithm.Reading(ir.Var(value.type, self._name), value)
        self.references = references
        """What it refers to, by name: the image, parameters, other elements."""

    def entry_names(self) -> frozenset[str]:
        """That of the element."""
        return frozenset({self.reading.var.name})


def read_before(what: str, expr: Expr, known: Iterable[Reading] = ()) -> Expr:
    """`expr` with names for what it reads of images, those of `known` where they are of the same element.

    Raises `AlgorithmError` where a point varies.
    """
    made: dict[ir.Expr, Reading] = {one.reading.value: one for one in known}
    uses: dict[str, Any] = {**expr.uses, **{one.name(): one for one in made.values()}}

    def named(node: ir.Expr) -> ir.Expr | None:
        if not (isinstance(node, Call) and node.kind == "image"):
            return None
        on_entry = entry_names(uses)
        called = (part.name for part in ir.walk(node) if isinstance(part, Call) and part.kind == "func")
        varies = next(iter((*called, *(v.name for v in ir.variables(node) if v.name not in on_entry))), None)
        if varies is not None:
            raise AlgorithmError(
                f"the {what} reads data at a point that varies with {varies}: it is of numbers, parameters and what "
                "images hold at points of such"
            )
        reading = made.get(node)
        if reading is None:
            reading = made[node] = Reading(node, dict(uses))
            uses[reading.name()] = reading
        return reading.reading.var

    return Expr(ir.transform(expr.node, named), uses)


def written_out(what: str, expr: Expr) -> tuple[Expr, list[Func]]:
    """`expr` with what functions of one definition are made of in place of calls of them, and those functions: whoever
    uses it gives them no more updates.

    Raises `AlgorithmError` where a function has updates, is undefined in part, or prints: its values are not known by
    its definition alone.
    """
    from rfactor.compiler.language.func import Func

    uses: dict[str, Any] = dict(expr.uses)
    bodies: dict[tuple[str, int], ir.Expr] = {}
    read: list[Func] = []

    def inlined(node: ir.Expr) -> ir.Expr | None:
        if not (isinstance(node, Call) and node.kind == "func"):
            return None
        func, key = uses[node.name], (node.name, node.index)
        if not isinstance(func, Func):  # a random number, which is refused where it is asked for
            return None
        if key not in bodies:
            reason = _not_its_definition(func, node.index)
            if reason is not None:
                raise AlgorithmError(
                    f"{brief(node)} is not known before {node.name} is computed, which {reason}: the {what} is of "
                    "numbers, parameters, what images hold, and functions of one definition of those; compute "
                    f"{node.name} in a pipeline of its own, and give the result as a Param or an ImageParam"
                )
            read.append(func)
            uses.update(func.references)
            bodies[key] = ir.transform(func.function.pure.values[node.index], inlined)
        return ir.substitute(bodies[key], dict(zip(func.function.variables, node.args, strict=True)))

    made = deep(ir.transform)(expr.node, inlined)
    return Expr(made, {name: used for name, used in uses.items() if not isinstance(used, Func)}), read


def _not_its_definition(func: Func, component: int) -> str | None:
    """Why a component may have other values than its pure definition says, or does more; None where it does not."""
    function = func.function
    if function.updates:
        return "has updates"
    if function.pure.may_keep(component):
        return "is undefined in part"
    return "prints or checks" if any(isinstance(n, Print) for n in ir.walk(function.pure.values[component])) else None
