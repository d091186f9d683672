"""Places that steps write: elements at the step's own index, what is appended or added, and groups by key."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.ir.expr import Expr, apply, const, select
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops import purity
from rfactor.loops.affine import coefficient
from rfactor.loops.kinds import FALSE, TRUE, Scalar, Untyped
from rfactor.loops.sequences import typed
from rfactor.loops.symbols import Binding, Missing, Optional, Parts, Place, Symbol, disjunction
from rfactor.loops.update import is_stateful

if TYPE_CHECKING:
    from rfactor.loops.body import Body, Env


# -- what a name holds -------------------------------------------------------------------------------------------------


def keyed_slot(body: Body, name: str, value: dict[Any, Any] | set[Any]) -> Symbol:
    """The element of a dict or set that the step's key names."""
    calls = [s for s in body.stores.get(name, []) if isinstance(s, ast.Call)]
    for call in calls:
        function = call.func
        assert isinstance(function, ast.Attribute)
        if function.attr not in ("add", "setdefault"):
            raise body.no(f"{name}.{function.attr}() changes {name} as a whole", call, "R3", "change one key in a step")
    if isinstance(value, set) and not _is_read(body, name):
        return Missing(f"{name} is changed in place")
    has = body._var(name, "at has", frozenset({"bool"})).expr
    if isinstance(value, set):
        return Place(has, None)
    if isinstance(value, defaultdict) and value.default_factory not in (int, float, bool):
        raise body.no(f"{name} holds what grows: a list or dict by key", body._store_of(name), "R3",
                      "keep numbers by key")  # fmt: skip
    if value and (name, "at value") not in body.kinds:
        try:
            body.kinds[name, "at value"] = frozenset(map(K.kind_of, value.values()))
        except Untyped as error:
            raise body.no(f"a value of {name}: {error}", body._store_of(name), "R10", "keep numbers by key") from None
    kinds = body.kinds.get((name, "at value"))
    if kinds is None:
        return Place(FALSE, None)  # as it is in the first step, which tells what is stored
    return Place(has, body._var(name, "at value", kinds))


def _is_read(body: Body, name: str) -> bool:
    """Is a set asked what it holds?"""
    added = {id(s.func.value) for s in body.stores.get(name, []) if isinstance(s, ast.Call)}  # type: ignore[attr-defined]
    return any(isinstance(n, ast.Name) and n.id == name and id(n) not in added for s in body.body for n in ast.walk(s))


def sequence_slot(body: Body, name: str, value: Any, subscripts: list[ast.Subscript]) -> Symbol:
    """What an array or list that steps write holds: an output of each step, or elements by key."""
    found = typed(value)
    if found is None or found.array.ndim > 2 or not found.kind:
        raise body.no(f"{name} holds what is no number, or of several types", subscripts[0], "R10")
    steps = {_own_index(body, s) for s in subscripts if isinstance(s.ctx, ast.Store)}
    if len(steps) == 1 and (index := steps.pop()) is not None:
        body.outputs[name] = index
        back = max((_steps_back(body, n, name, index) for s in body.body for n in ast.walk(s)), default=0)
        if back:
            lasts = tuple(body._var(name, f"last {d}", frozenset({found.kind})) for d in range(1, back + 1))
            return Parts(lasts, "last")
        return Missing(f"{name} is written in every step")
    return Place(TRUE, body._var(name, "at value", frozenset({found.kind})))


def _own_index(body: Body, node: ast.Subscript) -> Expr | None:
    """The index of a store, where it grows by one from step to step."""
    if not isinstance(node.value, ast.Name) or isinstance(node.slice, ast.Tuple | ast.Slice):
        return None
    try:
        number = body.scalar(body.value(node.slice, dict(body.header_env)), node)
    except (FoldError, Untyped):
        return None
    if is_stateful(number.expr) or coefficient(number.expr, body.steps) not in (1, -1):
        return None
    return number.expr


def _steps_back(body: Body, node: ast.AST, name: str, index: Expr) -> int:
    """How many steps ago the element was written that a piece of the body reads; 0 where it reads no such."""
    if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
        return 0
    if not (isinstance(node.value, ast.Name) and node.value.id == name):
        return 0
    own = _own_index(body, node)
    by = coefficient(index, body.steps)
    gap = None if own is None else _distance(body, index, own)
    if gap is None or by is None or not 1 <= gap // by <= FURTHEST:
        return 0
    return gap // by


FURTHEST = 4
"""Steps back that an output may be read."""


def _distance(body: Body, a: Expr, b: Expr) -> int | None:
    """By how much one index is greater than another in all steps."""
    from rfactor.ir.expr import Const

    gap = simplify(apply("-", a, b))
    return int(gap.value) if isinstance(gap, Const) else None


# -- keys --------------------------------------------------------------------------------------------------------------


def _use_key(body: Body, name: str, node: ast.expr, env: Env, place: ast.AST) -> None:
    """Note the key of a step's element. Raises `FoldError` where it depends on the state, or is another than before."""
    from rfactor.loops.body import Key

    base = body.around.values.get(name)
    value = body.value(node, env)
    guard = body._guard()
    path = body.path
    symbol = value.symbol
    if isinstance(base, np.ndarray | list):
        parts = symbol.items if isinstance(symbol, Parts) else (symbol,)
        numbers = [body.scalar(Binding(p, value.node if len(parts) == 1 else None), node) for p in parts]
        if any(not n.expr.type.is_int for n in numbers):
            raise body.no("an index that is no integer", node, "R6")
        if any(is_stateful(n.expr) for n in numbers):
            raise body.no(f"the place that is written depends on the state: {ast.unparse(place)}", place, "R2",
                          "the loop is a walk along its own data, and serial")  # fmt: skip
        shape = base.shape if isinstance(base, np.ndarray) else (len(base),)
        if len(numbers) != len(shape):
            raise body.no(f"a part of {name} is written as a whole", place, "R5", "name one element")
        expr: Expr = const(I64, 0)
        for n, size in zip(numbers, shape, strict=True):
            index = K.converted(n, I64, body.require)
            K.require_between(index, -size, size - 1, body.require, "an index out of range")
            if n.expr.type.is_signed:
                index = select(apply("<", index, const(I64, 0)), apply("+", index, const(I64, size)), index)
            expr = simplify(apply("+", apply("*", expr, const(I64, size)), index))
        text = f"{expr} of {shape}"
        shown = ast.parse(f"{name}.shape" if isinstance(base, np.ndarray) else f"len({name})", mode="eval").body
        body.note(shown, shape if isinstance(base, np.ndarray) else len(base))
        key = Key(expr, None, None, "int", path)
    else:
        if isinstance(symbol, Scalar) and len(symbol.kinds) == 1:
            if is_stateful(symbol.expr):
                raise body.no(f"the key depends on the state: {ast.unparse(place)}", place, "R2",
                              "the loop remembers what it saw, and is serial")  # fmt: skip
            text = str(symbol.expr)
            key = Key(symbol.expr, None, None, next(iter(symbol.kinds)), path)
        else:
            own = value.node
            if own is None:
                raise body.no(f"the key depends on the state: {ast.unparse(place)}", place, "R2",
                              "the loop remembers what it saw, and is serial")  # fmt: skip
            text = ast.unparse(own)
            key = Key(None, own, guard, "", path)
    known = body.reading.key_of.setdefault(name, text)
    if known != text:
        raise body.no(f"two elements of {name} are used in one step", place, "R5", "use one key in a step")
    before = body.reading.keys.get(text)
    if before is not None and before.path != path:
        both = before.guard is not None and guard is not None
        either = ast.BoolOp(ast.Or(), [before.guard, guard]) if both else None  # type: ignore[list-item]
        key = Key(key.expr, key.node, either, key.kind, disjunction(before.path, path))
    body.reading.keys[text] = key


def _place(body: Body, name: str | None, env: Env) -> Place | None:
    symbol = env[name].symbol if name in env else None
    return symbol if isinstance(symbol, Place) else None


def _default(body: Body, name: str) -> Scalar | None:
    """What a key that is not there has."""
    base = body.around.values.get(name)
    if isinstance(base, Counter):
        return K.literal(0)
    if isinstance(base, defaultdict) and base.default_factory is not None:
        return K.literal(base.default_factory())
    return None


def _with_default(body: Body, place: Place, default: Scalar) -> Scalar:
    if place.value is None:
        return default
    return K.choose(place.has, place.value, default, body.require)


# -- reading and writing -----------------------------------------------------------------------------------------------


def store(body: Body, target: ast.Subscript, value: Binding, env: Env, s: ast.stmt) -> None:
    """An element of an array, list or dict that a step assigns."""
    from rfactor.loops.body import Stored

    name = purity.root(target)
    base = body.around.values.get(name) if name else None
    if name is None or base is None or isinstance(target.slice, ast.Slice):
        raise body.no(f"{ast.unparse(target)} is assigned", target, "R5", "accumulate in numbers")
    index_node: ast.expr = target.slice
    if isinstance(target.value, ast.Subscript) and isinstance(base, np.ndarray) and base.ndim == 2:
        index_node = ast.copy_location(ast.Tuple([target.value.slice, target.slice], ast.Load()), target)
    elif not isinstance(target.value, ast.Name):
        raise body.no(f"{ast.unparse(target)} is assigned", target, "R5", "accumulate in numbers")
    if name in body.outputs:
        number = _as_element(body, name, body.scalar(value, s))
        index = body.scalar(body.value(index_node, env), index_node)
        if index.expr != body.outputs[name]:
            raise body.no(f"two elements of {name} are written in one step", target, "R5")
        stored = Stored(name, "index", number, body.path, index.expr, target)
        if any(o.name == name for o in body.reading.stored):
            raise body.no(f"{name} is written twice in one step", target, "R5", "choose the value first")
        body.reading.stored.append(stored)
        lasts = env[name].symbol
        if isinstance(lasts, Parts):
            if body.path != TRUE:
                raise body.no(f"{name} is written in some steps, and read in later ones", target, "R5",
                              "write it in every step")  # fmt: skip
            env[name] = Binding(Parts((number, *lasts.items[:-1]), "last"))
        return
    place = _place(body, name, env)
    if place is None:
        raise body.no(f"{ast.unparse(target)} is assigned", target, "R5", "accumulate in numbers")
    number = body.scalar(value, s)
    _use_key(body, name, index_node, env, target)
    if isinstance(base, np.ndarray | list):
        number = _as_element(body, name, number)
    env[name] = Binding(Place(TRUE, number))


def _as_element(body: Body, name: str, number: Scalar) -> Scalar:
    """A number as an element of the array or list `name`."""
    base = body.around.values[name]
    if isinstance(base, np.ndarray):
        return K.to_kind(K.kind_of_dtype(base.dtype), number, body.require, stored=True)
    return number


def place_of(body: Body, node: ast.Subscript, env: Env) -> Binding:
    """The value of a place that steps write."""
    name = purity.root(node)
    assert name is not None
    place = _place(body, name, env)
    base = body.around.values.get(name)
    index_node: ast.expr = node.slice
    if isinstance(node.value, ast.Subscript) and isinstance(base, np.ndarray) and base.ndim == 2:
        index_node = ast.copy_location(ast.Tuple([node.value.slice, node.slice], ast.Load()), node)
    elif not isinstance(node.value, ast.Name):
        raise body.no(f"{ast.unparse(node)} is read", node, "R5")
    if name in body.outputs:
        return _own_output(body, name, index_node, node, env)
    if place is None:
        raise body.no(f"{ast.unparse(node)} is read, and written by other steps", node, "R5",
                      "keep the last value in a variable")  # fmt: skip
    _use_key(body, name, index_node, env, node)
    if isinstance(base, np.ndarray | list):
        assert place.value is not None
        return Binding(place.value)
    default = _default(body, name)
    if default is not None:
        value = _with_default(body, place, default)
        if isinstance(base, defaultdict):
            env[name] = Binding(Place(TRUE, value))
        return Binding(value)
    if place.value is None:
        raise body.no(f"{ast.unparse(node)} is read before anything is stored", node, "R6", "use .get()")
    body.require(place.has, "a key that is missing")
    return Binding(place.value)


def _own_output(body: Body, name: str, index_node: ast.expr, node: ast.Subscript, env: Env) -> Binding:
    """An element of an output: one of a step before, or this step's own."""
    index = body.scalar(body.value(index_node, env), index_node)
    own = body.outputs[name]
    if index.expr == own:
        for s in body.reading.stored:
            if s.name == name and s.mask == TRUE:
                return Binding(s.value)
        raise body.no(f"{ast.unparse(node)} is read before it is written", node, "R5", "read from a copy of the array")
    by = coefficient(own, body.steps)
    lasts = env[name].symbol
    gap = _distance(body, own, index.expr)
    if isinstance(lasts, Parts) and gap is not None and by is not None and 1 <= gap // by <= len(lasts.items):
        written = any(s.name == name for s in body.reading.stored)
        back = gap // by + written
        if back > len(lasts.items):
            raise body.no(f"{ast.unparse(node)} is read after {name} is written", node, "R5", "read it first")
        return Binding(lasts.items[back - 1])
    raise body.no(f"{ast.unparse(node)} is read, and written by other steps", node, "R5",
                  "keep the last value in a variable")  # fmt: skip


def contains(body: Body, left: ast.expr, container: ast.expr, env: Env) -> Expr | None:
    """`key in d` for a dict or set that steps write; None for other containers."""
    if not isinstance(container, ast.Name):
        return None
    place = _place(body, container.id, env)
    if place is None or not isinstance(body.around.values.get(container.id), dict | set):
        return None
    _use_key(body, container.id, left, env, left)
    return place.has


def effect(body: Body, node: ast.Call, env: Env) -> bool:
    """Take a call that is made for its effect; False where it is not of this sort."""
    from rfactor.loops.body import Stored

    function = node.func
    assert isinstance(function, ast.Attribute)
    if not isinstance(function.value, ast.Name) or node.keywords:
        return False
    name = function.value.id
    base = body.around.values.get(name)
    binding = env.get(name)
    if binding is None:
        return False
    if isinstance(binding.symbol, Place):
        if function.attr == "add" and isinstance(base, set) and len(node.args) == 1:
            _use_key(body, name, node.args[0], env, node)
            env[name] = Binding(Place(TRUE, None))
            return True
        return method(body, node, env) is not None
    if not isinstance(binding.symbol, Missing) or len(node.args) != 1:
        return False
    if (function.attr == "append" and type(base) is list) or (function.attr == "add" and type(base) is set):
        number = body.scalar(body.value(node.args[0], env), node.args[0])
        body.reading.stored.append(Stored(name, function.attr, number, body.path, None, node))
        return True
    return False


def method(body: Body, node: ast.Call, env: Env) -> Binding | None:
    """The value of a method's call on a dict that steps write; None elsewhere."""
    function = node.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name) or node.keywords:
        return None
    name = function.value.id
    place = _place(body, name, env)
    if place is None or not isinstance(body.around.values.get(name), dict):
        return None
    if function.attr not in ("get", "setdefault") or not 1 <= len(node.args) <= 2:
        return None
    _use_key(body, name, node.args[0], env, node)
    if len(node.args) == 1:
        if function.attr == "setdefault":
            return None
        return Binding(Optional(FALSE if place.value is None else place.has, place.value))
    default = body.value(node.args[1], env)
    if isinstance(default.symbol, Optional) and function.attr == "get":
        return Binding(Optional(FALSE if place.value is None else place.has, place.value))
    value = _with_default(body, place, body.scalar(default, node))
    if function.attr == "setdefault":
        env[name] = Binding(Place(TRUE, value))
    return Binding(value)
