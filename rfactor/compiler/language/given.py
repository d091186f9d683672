"""What directives are given: loops by name, whole numbers, expressions that are known before anything runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.compiler.language.expr import Expr, as_expr, varying
from rfactor.compiler.language.names import writable
from rfactor.compiler.language.var_or_rvar import VarOrRVar
from rfactor.compiler.language.variables import RDom, RVar, Var
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Const
from rfactor.ir.expr import Expr as IrExpr
from rfactor.ir.expr import Var as IrVar

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func


def variable_name(variable: Any) -> str:
    """The name of a loop given as `Var`, `RVar`, one-dimensional `RDom`, or text."""
    if isinstance(variable, str):
        return writable(variable)
    if isinstance(variable, VarOrRVar):
        variable = variable.rvar if variable.is_rvar else variable.var
    if isinstance(variable, RVar):
        return variable.loop
    if isinstance(variable, Var | RDom) and isinstance(variable.node, IrVar):
        return variable.node.name
    raise ScheduleError(f"{variable!r} names no loop: a Var, an RVar or a one-dimensional RDom does")


def whole(number: Any) -> Any:
    """A whole number that may be written as an expression; anything else as it is."""
    node = number.node if isinstance(number, Expr) else number
    value = node.value if isinstance(node, Const) else node
    return int(value) if isinstance(value, np.integer) else value


def startup(func: Func, value: Any, directive: str) -> IrExpr:
    """An expression that is known before anything runs: of numbers, parameters and boxes of images and outputs.

    Raises `ScheduleError` for any other. What it uses becomes an input of `func`.
    """
    expr = as_expr(value)
    node = varying(expr)
    if isinstance(node, IrVar):
        raise ScheduleError(
            f"{directive}({expr}): {node.name} varies while the pipeline runs; it may be made of parameters and "
            "boxes of images and outputs alone"
        )
    if node is not None:
        raise ScheduleError(
            f"{directive}({expr}): it reads {node}; only parameters and boxes of images and outputs are known"
        )
    func.references.update(expr.uses)
    return expr.node
