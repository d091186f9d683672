"""Algorithms as text, for people and for tests: one line a stage, loops outermost first."""

from __future__ import annotations

from rfactor.ir.algorithm import Definition, Function, ReductionVariable
from rfactor.ir.expr import Const
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.simplify import simplify


def show_function(function: Function) -> str:
    """The name with its types, then the stages: `f(x): i32`, `  f(x) = 0`, `  f(x) = f(x) + b(r) for r in [0, 8)`."""
    head = f"{function.name}({', '.join(function.variables)}): {', '.join(map(str, function.types))}"
    return "\n".join([head, *("  " + show_definition(function.name, stage) for stage in function.stages)])


def show_definition(name: str, definition: Definition) -> str:
    """One stage of the function `name`, as one line."""
    values = show_tuple(definition.values)
    text = f"{name}({show_tuple(definition.arguments)}) = {f'({values})' if len(definition.values) > 1 else values}"
    if definition.domain is not None:
        for rv in reversed(definition.domain.variables):
            text += f" for {_range(rv)}"
        predicate = definition.domain.predicate
        if not (isinstance(predicate, Const) and predicate.value is True):
            text += f" where {show(predicate)}"
    return text


def _range(rv: ReductionVariable) -> str:
    from rfactor.ir.expr import apply

    return f"{rv.name} in [{show(rv.min)}, {show(simplify(apply('+', rv.min, rv.extent)))})"
