"""Implicit variables: `_` stands for as many of `_0`, `_1`, … as a function has dimensions that are not spelled out.

f[x, _] of three dimensions   ->   f[x, _0, _1]
g[_] = f[_, 0] + 1            ->   g[_0, _1] = f[_0, _1, 0] + 1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.variables import Var
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir


def is_placeholder(argument: object) -> bool:
    """Whether it is `_`."""
    return isinstance(argument, Var) and argument.name() == "_"


def implicit(argument: ir.Expr) -> int | None:
    """Which implicit variable it is; None for anything else."""
    found = re.fullmatch(r"_(\d+)", argument.name) if isinstance(argument, ir.Var) else None
    return None if found is None else int(found[1])


def expanded(what: str, arguments: Sequence[object], dimensions: int) -> list[object]:
    """The arguments of something of so many dimensions, `_` spelled out. Raises `TypeMismatch` for two of them."""
    places = [i for i in range(len(arguments)) if is_placeholder(arguments[i])]
    if not places:
        return list(arguments)
    if len(places) > 1:
        raise TypeMismatch(f"{what} is given _ {len(places)} times: it stands for all the other dimensions, once")
    (place,) = places
    own = max(dimensions - len(arguments) + 1, 0)
    return [*arguments[:place], *(Var(f"_{i}") for i in range(own)), *arguments[place + 1 :]]


def count(values: Iterable[Expr]) -> int:
    """How many implicit variables occur in `values`, up to the last one."""
    found = (implicit(node) for value in values for node in ir.walk(value.node))
    return max((index + 1 for index in found if index is not None), default=0)
