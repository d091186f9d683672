"""Places that steps write: elements of arrays and lists, what is appended or added, and groups by key."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.ir.expr import names
from rfactor.loops import purity
from rfactor.loops.kinds import TRUE, Scalar
from rfactor.loops.symbols import Binding, Missing

if TYPE_CHECKING:
    from rfactor.loops.body import Body, Env


def store(body: Body, target: ast.Subscript, value: Binding, env: Env, s: ast.stmt) -> None:
    """An element of an array, list or dict that a step assigns."""
    from rfactor.loops.body import Stored

    name = purity.root(target)
    base = body.around.values.get(name) if name else None
    if name is None or not isinstance(target.value, ast.Name) or base is None:
        raise body.no(f"{ast.unparse(target)} is assigned", target, "R5", "accumulate in numbers")
    if isinstance(base, np.ndarray | list) and not isinstance(target.slice, ast.Slice | ast.Tuple):
        index = body.scalar(body.value(target.slice, env), target.slice)
        if _is_step(body, index):
            number = body.scalar(value, s)
            body.reading.stored.append(Stored(name, "index", number, body.path, index.expr, target))
            env[_last(name)] = Binding(number)
            return
        if any(n[0] == "x" for n in names(index.expr)):
            raise body.no("the place that is written depends on the state", target, "R2", "write in order")
    raise body.no(f"groups by key are not taken here: {ast.unparse(target)}", target, "R5")


def _last(name: str) -> str:
    return f"last element of {name}"


def _is_step(body: Body, index: Scalar) -> bool:
    """Does the index grow by one from step to step?"""
    from rfactor.loops.affine import coefficient

    return index.expr.type.is_int and coefficient(index.expr, body.steps) == 1


def place_of(body: Body, node: ast.Subscript, env: Env) -> Binding:
    """The value of a place that steps write."""
    raise body.no(f"{ast.unparse(node)} is read, and written by other steps", node, "R5", "keep the last value in a variable")


def effect(body: Body, node: ast.Call, env: Env) -> bool:
    """Take a call that is made for its effect; False where it is not of this sort."""
    from rfactor.loops.body import Stored

    function = node.func
    assert isinstance(function, ast.Attribute)
    if not isinstance(function.value, ast.Name) or node.keywords or len(node.args) != 1:
        return False
    name = function.value.id
    base = body.around.values.get(name)
    binding = env.get(name)
    if binding is None or not isinstance(binding.symbol, Missing):
        return False
    if function.attr == "append" and type(base) is list or function.attr == "add" and type(base) is set:
        number = body.scalar(body.value(node.args[0], env), node.args[0])
        if len(number.kinds) != 1:
            raise body.no("what is collected is of several types", node, "R10", "give it one type")
        body.reading.stored.append(Stored(name, function.attr, number, body.path, None, node))
        return True
    return False


def method(body: Body, node: ast.Call, env: Env) -> Binding | None:
    """The value of a method's call, where it is one of a place; None elsewhere."""
    return None


_UNUSED: Any = TRUE
