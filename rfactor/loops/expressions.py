"""Expressions of a loop's body: each form of Python's syntax, as numbers of the state and the step."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.ir.expr import Const, Expr, Var, apply, cast, const, intrinsic, select
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops import purity
from rfactor.loops.kinds import FALSE, TRUE, Scalar, Untyped
from rfactor.loops.sequences import Typed, typed
from rfactor.loops.symbols import (
    Binding,
    Complex,
    Fixed,
    Missing,
    Opaque,
    Optional,
    Parts,
    Place,
    Truth,
    View,
    as_complex,
    conjunction,
    disjunction,
    merged,
    negation,
)

if TYPE_CHECKING:
    from rfactor.loops.body import Body, Env

_BINARY: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE: dict[type, str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_UNARY: dict[type, str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "~"}


def value_of(body: Body, node: ast.expr, env: Env) -> Binding:
    """What an expression means. Raises `FoldError`, `Untyped`."""
    if isinstance(node, ast.Constant):
        return _constant(body, node)
    if isinstance(node, ast.Name) and node.id in env:
        binding = env[node.id]
        if isinstance(binding.symbol, Missing):
            raise body.no(binding.symbol.why, node, "R10")
        if isinstance(binding.symbol, Parts) and binding.symbol.form == "last":
            raise body.no(f"{node.id} is read as a whole, and written by steps", node, "R5", "read its elements")
        if is_number(binding.symbol):
            binding = env[node.id] = Binding(number_of(body, binding, node), binding.node)
        return binding
    if isinstance(node, ast.Name) and node.id in body.stored_names and node.id not in body.around.values:
        raise body.no(f"{node.id} may have no value yet", node, "R6", f"assign {node.id} before the loop")
    depends = body.dependence(node, env)
    if depends == 0 and not isinstance(node, ast.Tuple | ast.List):
        return _fixed(body, node, env)
    try:
        found = _structure(body, node, env)
    except (FoldError, Untyped) as error:
        if depends == 2:
            raise
        inlined = body.inlined_node(node, env)
        if inlined is None:
            raise error
        return Binding(Opaque(), inlined)
    if is_number(found.symbol):
        found = Binding(number_of(body, found, node), found.node)
    if depends == 2 or found.node is not None:
        return found
    return Binding(found.symbol, body.inlined_node(node, env))


def is_number(symbol: Any) -> bool:
    """Is it an element of an array, rather than a row or a record?"""
    return isinstance(symbol, View) and len(symbol.indices) == len(symbol.shape) and bool(symbol.kind)


def number_of(body: Body, binding: Binding, node: ast.AST) -> Scalar | Complex:
    """An element of an array as a number."""
    view = binding.symbol
    if isinstance(view, View) and view.kind.endswith(COMPLEX):
        parts = [
            body.read_view(View(view.array, view.indices, view.shape, view.dtype, "float", (*view.fields, part)))
            for part in ("real", "imag")
        ]
        return Complex(parts[0], parts[1], view.kind)
    return body.scalar(binding, node)


COMPLEX = ("complex", "complex128")
"""What kinds of complex numbers end with."""


def _constant(body: Body, node: ast.Constant) -> Binding:
    value = node.value
    if value is None:
        return Binding(Optional(FALSE, None), node)
    if isinstance(value, complex):
        return Binding(Complex(K.literal(value.real), K.literal(value.imag)), node)
    if isinstance(value, int | float | str):
        return Binding(K.literal(value), node)
    return Binding(Fixed(value), node)


def _fixed(body: Body, node: ast.expr, env: Env) -> Binding:
    """A value that is the same in all steps: a constant where it is a number."""
    body.check_attributes(node, env)
    for n in ast.walk(node):
        if isinstance(n, ast.Call):
            body.check_pure(n, env)
    if isinstance(node, ast.Name):
        value = body.lookup(node.id, node)
    else:
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id not in env and not _is_bound(node, n.id):
                body.lookup(n.id, n)
        try:
            value = body.around_value(node)
        except Exception as error:
            raise body.no(f"{ast.unparse(node)} cannot be computed: {error}", node, "R6") from None
    return fixed_binding(body, node, value)


def _is_bound(node: ast.AST, name: str) -> bool:
    from rfactor.loops.body import _bound_inside

    return name in _bound_inside(node)


def fixed_binding(body: Body, node: ast.expr, value: Any) -> Binding:
    """A value of `node` that stays the same."""
    if value is None:
        body.note(node, None)
        return Binding(Optional(FALSE, None), node)
    if isinstance(value, complex | np.complexfloating):
        body.note(node, value)
        kind = "np.complex128" if isinstance(value, np.generic) else "complex"
        return Binding(Complex(K.literal(float(value.real)), K.literal(float(value.imag)), kind), node)
    if type(value) is str:
        body.note(node, value)
        return Binding(K.literal(value), node)
    if isinstance(value, bool | int | float | np.generic) and not isinstance(value, np.void | np.str_ | np.bytes_):
        if type(value) is bool or body.specialized:
            body.note(node, value)
            return Binding(K.literal(value), node)
        return Binding(constant(body, node, value), node)
    if (
        isinstance(value, tuple | list)
        and len(value) <= 16
        and all(type(v) in (int, float, bool, str) or isinstance(v, np.generic) for v in value)
    ):
        body.note(node, (type(value).__name__, list(value)), "sequence")
        try:
            return Binding(Parts(tuple(K.literal(v) for v in value), type(value).__name__), node)
        except Untyped:
            return Binding(Fixed(value), node)
    return Binding(Fixed(value), node)


def constant(body: Body, node: ast.expr, value: Any) -> Scalar:
    """A number that stays the same, as a variable. Raises `Untyped`."""
    text, kind = ast.unparse(node), K.kind_of(value)
    if kind == "int" and not I64.min <= value <= I64.max:
        raise Untyped(f"{text} does not fit 64 bits")
    for name, (known, of) in body.reading.constants.items():
        if isinstance(known, ast.expr) and ast.unparse(known) == text and of == kind:
            return Scalar(Var(K.type_of({kind}), name), frozenset({kind}))
    name = f"k{len(body.reading.constants)}"
    body.reading.constants[name] = (node, kind)
    return Scalar(Var(K.type_of({kind}), name), frozenset({kind}))


def _structure(body: Body, node: ast.expr, env: Env) -> Binding:
    def value(n: ast.expr) -> Binding:
        return body.value(n, env)

    if isinstance(node, ast.Tuple | ast.List):
        if any(isinstance(e, ast.Starred) for e in node.elts):
            raise body.no("starred values are not taken", node, "R10")
        parts = [value(e) for e in node.elts]
        own = None
        if all(p.node is not None for p in parts):
            elements = [p.node for p in parts if p.node is not None]
            own = (ast.Tuple if isinstance(node, ast.Tuple) else ast.List)(elements, ast.Load())
        return Binding(Parts(tuple(p.symbol for p in parts), "tuple" if isinstance(node, ast.Tuple) else "list"), own)
    if isinstance(node, ast.BinOp):
        return Binding(_binary(body, node, value(node.left), value(node.right)))
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.Not):
            return Binding(_boolean(negation(body.condition(node.operand, env))))
        operand = value(node.operand)
        if isinstance(operand.symbol, Complex) and isinstance(node.op, ast.USub):
            c = operand.symbol
            return Binding(Complex(K.unary("neg", c.real, body.require), K.unary("neg", c.imag, body.require), c.kind))
        return Binding(K.unary(_UNARY[type(node.op)], body.scalar(operand, node.operand), body.require))
    if isinstance(node, ast.BoolOp):
        return _bool_op(body, node, env)
    if isinstance(node, ast.Compare):
        return Binding(_compare(body, node, env))
    if isinstance(node, ast.IfExp):
        return _if_exp(body, node, env)
    if isinstance(node, ast.Attribute):
        return _attribute(body, node, value(node.value))
    if isinstance(node, ast.Subscript):
        return _subscript(body, node, env)
    if isinstance(node, ast.Call):
        return _call(body, node, env)
    if isinstance(node, ast.NamedExpr):
        found = value(node.value)
        body.assign(node.target, found, env, ast.Expr(node))
        return found
    if isinstance(node, ast.JoinedStr):
        raise body.no("text is put together", node, "R3", "collect the values, and join them after the loop")
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        raise body.no("a comprehension reads the state", node, "R4", "write it out, or compute it after the loop")
    if isinstance(node, ast.Dict | ast.Set):
        raise body.no("a dict or set is made in every step", node, "R3", "make it before the loop")
    if isinstance(node, ast.Lambda):
        raise body.no("a function is made in every step", node, "R1", "define it before the loop")
    raise body.no(f"{ast.unparse(node)} is not taken", node, "R10")


def _boolean(expr: Expr, kinds: frozenset[str] = frozenset({"bool"})) -> Scalar:
    return Scalar(expr, kinds)


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _binary(body: Body, node: ast.BinOp, a: Binding, b: Binding) -> Scalar | Complex | Parts:
    op = _BINARY.get(type(node.op))
    if op is None:
        raise body.no("a product of matrices", node, "R10", "write its elements out")
    if isinstance(a.symbol, Parts) or isinstance(b.symbol, Parts):
        return _of_parts(body, node, op, a, b)
    a, b = (Binding(_plain(body, v, n), v.node) for v, n in ((a, node.left), (b, node.right)))
    if isinstance(a.symbol, Complex) or isinstance(b.symbol, Complex):
        return _of_complex(body, node, op, a, b)
    return K.binary(op, body.scalar(a, node.left), body.scalar(b, node.right), body.require)


def _of_parts(body: Body, node: ast.BinOp, op: str, a: Binding, b: Binding) -> Parts:
    p, q = a.symbol, b.symbol
    if isinstance(p, Parts) and isinstance(q, Parts) and op == "+" and p.form == q.form != "array":
        raise body.no("sequences are joined", node, "R3", "keep a fixed number of values")
    array = next((s for s in (p, q) if isinstance(s, Parts) and s.form == "array"), None)
    if array is None:
        raise body.no(f"{op} of a list or tuple", node, "R3", "keep a fixed number of values")
    if op in ("@",):
        raise body.no("a product of matrices", node, "R10", "write its elements out")
    size = len(array.items)
    sides = []
    for binding, side in ((a, node.left), (b, node.right)):
        symbol = binding.symbol
        if isinstance(symbol, Parts):
            if symbol.shape != array.shape or symbol.form != "array":
                raise body.no("arrays of different shapes", node, "R10")
            sides.append([body.scalar(Binding(item), side) for item in symbol.items])
        elif isinstance(symbol, View) and len(symbol.shape) - len(symbol.indices) == len(array.shape) == 1:
            if symbol.shape[-1] != size:
                raise body.no("arrays of different shapes", node, "R10")
            sides.append([body.scalar(Binding(body.element(symbol, const(I64, k))), side) for k in range(size)])
        else:
            sides.append([body.scalar(binding, side)] * size)
    items = tuple(K.binary(op, x, y, body.require) for x, y in zip(*sides, strict=True))
    kinds = {k for item in items for k in item.kinds}
    if len(kinds) != 1 or not next(iter(kinds)).startswith("np."):
        raise body.no("an array of several types", node, "R10")
    return Parts(items, "array", array.shape, next(iter(kinds))[3:])


def _of_complex(body: Body, node: ast.BinOp, op: str, a: Binding, b: Binding) -> Complex:
    sides = []
    for binding, side in ((a, node.left), (b, node.right)):
        symbol = binding.symbol
        if not isinstance(symbol, Complex):
            number = body.scalar(binding, side)
            symbol = as_complex(K.to_float(number, body.require))
        sides.append(symbol)
    p, q = sides
    kind = "np.complex128" if "np.complex128" in (p.kind, q.kind) else "complex"

    def make(o: str, x: Scalar, y: Scalar) -> Scalar:
        return K.binary(o, x, y, body.require)

    if op in ("+", "-"):
        return Complex(make(op, p.real, q.real), make(op, p.imag, q.imag), kind)
    if op == "*":
        return Complex(
            make("-", make("*", p.real, q.real), make("*", p.imag, q.imag)),
            make("+", make("*", p.real, q.imag), make("*", p.imag, q.real)), kind,
        )  # fmt: skip
    raise body.no(f"{op} of complex numbers", node, "R10")


# -- truth -------------------------------------------------------------------------------------------------------------


def _bool_op(body: Body, node: ast.BoolOp, env: Env) -> Binding:
    """`and` and `or`: the rest is computed only where it decides."""
    is_and = isinstance(node.op, ast.And)
    path, depth = body.path, len(body.guards)
    bindings: list[Binding] = []
    conditions: list[Expr] = []
    for operand in node.values:
        found = body.value(operand, env)
        condition = body.truth(found, operand)
        bindings.append(found)
        conditions.append(condition)
        if condition == (FALSE if is_and else TRUE):
            break
        on = condition if is_and else negation(condition)
        own = body.inlined_node(operand, env)
        body.path = conjunction(body.path, on)
        body.guards.append(own if is_and or own is None else ast.UnaryOp(ast.Not(), own))
    body.path = path
    del body.guards[depth:]
    join = conjunction if is_and else disjunction
    total: Expr = TRUE if is_and else FALSE
    for condition in conditions:
        total = join(total, condition)
    scalars = [b.symbol for b in bindings]
    if all(isinstance(s, Scalar) and s.kinds == frozenset({"bool"}) for s in scalars):
        return Binding(_boolean(total))
    result = bindings[-1]
    for binding, condition in zip(reversed(bindings[:-1]), reversed(conditions[:-1]), strict=True):
        arms = [result, binding] if is_and else [binding, result]
        try:
            true, false = (Binding(_plain(body, p, node)) for p in arms)
            result = merged(condition, None, true, false, body.require)
        except (Untyped, FoldError):
            return Binding(Truth(total))
        if isinstance(result.symbol, Missing):
            return Binding(Truth(total))
    return Binding(result.symbol)


def _plain(body: Body, binding: Binding, node: ast.AST) -> Any:
    """A symbol that can be merged: views as numbers."""
    if isinstance(binding.symbol, Opaque) or is_number(binding.symbol):
        return body.number(binding, node)
    return binding.symbol


def _if_exp(body: Body, node: ast.IfExp, env: Env) -> Binding:
    condition = body.condition(node.test, env)
    if condition in (TRUE, FALSE):
        return body.value(node.body if condition == TRUE else node.orelse, env)
    own = body.inlined_node(node.test, env)
    path = body.path
    body.path = conjunction(path, condition)
    body.guards.append(own)
    true = body.value(node.body, env)
    true = Binding(_plain(body, true, node.body), true.node)
    body.path = conjunction(path, negation(condition))
    body.guards[-1] = None if own is None else ast.UnaryOp(ast.Not(), own)
    false = body.value(node.orelse, env)
    false = Binding(_plain(body, false, node.orelse), false.node)
    body.guards.pop()
    body.path = path
    result = merged(condition, own, true, false, body.require)
    if isinstance(result.symbol, Missing):
        raise body.no(result.symbol.why, node, "R10")
    return Binding(result.symbol)


def _compare(body: Body, node: ast.Compare, env: Env) -> Scalar:
    """A chain of comparisons: the first that fails, or the last."""
    parts: list[Scalar] = []
    left, left_node = body.value(node.left, env), node.left
    path = body.path
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, ast.In | ast.NotIn):
            from rfactor.loops.places import contains

            found = contains(body, left_node, right_node, env)
            inside = _member(body, left, left_node, right_node, env) if found is None else found
            part = _boolean(inside if isinstance(op, ast.In) else negation(inside))
            right = Binding(Missing("a container"))
        else:
            right = body.value(right_node, env)
            part = _relation(body, op, left, left_node, right, right_node)
        parts.append(part)
        body.path = conjunction(body.path, part.expr)
        left, left_node = right, right_node
    body.path = path
    total = parts[-1]
    for part in reversed(parts[:-1]):
        total = K.choose(part.expr, total, part, body.require)
    return total


def _relation(body: Body, op: ast.cmpop, a: Binding, a_node: ast.AST, b: Binding, b_node: ast.AST) -> Scalar:
    if isinstance(op, ast.Is | ast.IsNot) or (
        isinstance(op, ast.Eq | ast.NotEq) and (_is_none(a.symbol) or _is_none(b.symbol))
    ):
        if not (_is_none(a.symbol) or _is_none(b.symbol)):
            p, q = a.symbol, b.symbol
            if all(isinstance(s, Scalar) and s.kinds == frozenset({"bool"}) for s in (p, q)):
                assert isinstance(p, Scalar)
                assert isinstance(q, Scalar)
                same = simplify(apply("==", p.expr, q.expr))
                return _boolean(same if isinstance(op, ast.Is) else negation(same))
            raise body.no("identity is asked of numbers", b_node, "R10", "write == or !=")
        other = b.symbol if _is_none(a.symbol) else a.symbol
        if isinstance(other, Optional):
            none = negation(other.has)
        elif isinstance(other, Opaque):
            node = a.node if not _is_none(a.symbol) else b.node
            assert node is not None
            none = body.opaque(ast.Compare(node, [ast.Is()], [ast.Constant(None)]), b_node).expr
        else:
            none = FALSE
        return _boolean(none if isinstance(op, ast.Is | ast.Eq) else negation(none))
    text = _COMPARE[type(op)]
    if isinstance(a.symbol, Parts) and isinstance(b.symbol, Parts):
        return _boolean(_lexicographic(body, text, a.symbol, a_node, b.symbol, b_node))
    a, b = (Binding(_plain(body, v, n), v.node) for v, n in ((a, a_node), (b, b_node)))
    if isinstance(a.symbol, Complex) or isinstance(b.symbol, Complex):
        if text not in ("==", "!="):
            raise body.no("complex numbers are compared", b_node, "R10", "compare abs() or the parts")
        sides = []
        for v, n in ((a, a_node), (b, b_node)):
            symbol = v.symbol
            number = None if isinstance(symbol, Complex) else K.to_float(body.scalar(v, n), body.require)
            sides.append(symbol if isinstance(symbol, Complex) else as_complex(number))  # type: ignore[arg-type]
        first, second = sides
        same = conjunction(
            K.binary("==", first.real, second.real, body.require).expr,
            K.binary("==", first.imag, second.imag, body.require).expr,
        )
        return _boolean(same if text == "==" else negation(same))
    return K.binary(text, body.scalar(a, a_node), body.scalar(b, b_node), body.require)


def _is_none(symbol: Any) -> bool:
    return isinstance(symbol, Optional) and symbol.has == FALSE and symbol.value is None


def _lexicographic(body: Body, op: str, a: Parts, a_node: ast.AST, b: Parts, b_node: ast.AST) -> Expr:
    """Tuples are compared by their first elements that differ."""
    if a.form == "array" or b.form == "array" or a.form != b.form:
        raise body.no("sequences of different forms are compared", b_node, "R10")
    pairs = [
        (body.scalar(Binding(p), a_node), body.scalar(Binding(q), b_node))
        for p, q in zip(a.items, b.items, strict=False)
    ]
    for pair in pairs:
        for number in pair:
            _require_number(body, number)

    def compare(o: str, p: Scalar, q: Scalar) -> Expr:
        return K.binary(o, p, q, body.require).expr

    if op in ("==", "!="):
        same: Expr = TRUE if len(a.items) == len(b.items) else FALSE
        for p, q in pairs:
            same = conjunction(same, compare("==", p, q))
        return same if op == "==" else negation(same)
    lengths = {"<": len(a.items) < len(b.items), "<=": len(a.items) <= len(b.items), ">": len(a.items) > len(b.items),
               ">=": len(a.items) >= len(b.items)}  # fmt: skip
    result: Expr = TRUE if lengths[op] else FALSE
    for p, q in reversed(pairs):
        result = simplify(select(compare("==", p, q), result, compare(op, p, q)))
    return result


def _require_number(body: Body, number: Scalar) -> None:
    """Note that a float is no NaN: tuples and containers take the same NaN object for equal."""
    if number.expr.type.is_float:
        body.require(apply("==", number.expr, number.expr), "NaN in a tuple or a container")


def _member(body: Body, left: Binding, left_node: ast.expr, container: ast.expr, env: Env) -> Expr:
    """`value in container`."""
    found = body.value(container, env) if not isinstance(container, ast.Set) else None
    if found is not None and isinstance(found.symbol, Fixed) and hasattr(found.symbol.value, "__next__"):
        raise body.no("an iterator is asked for a value, which uses it up", container, "R1", "make it a list before")
    if isinstance(container, ast.Set):
        found = Binding(Parts(tuple(body.value(e, env).symbol for e in container.elts), "tuple"))
    assert found is not None
    symbol = found.symbol
    if body.used_up and isinstance(symbol, Fixed | Opaque):
        raise body.no(
            "an iterator may be asked for a value, which uses it up", container, "R1", "make it a list before"
        )
    if left.node is not None and found.node is not None and not isinstance(left.symbol, Scalar | View):
        return body.opaque(ast.Compare(left.node, [ast.In()], [found.node]), container).expr
    choices: list[Any] | None = None
    if isinstance(symbol, Scalar) and isinstance(symbol.expr, Const) and "str" in symbol.kinds:
        text = K.python_value("str", symbol.expr.value)
        choices = list(text)
        value = body.scalar(left, left_node)
        if value.kinds != frozenset({"str"}):
            raise body.no("a number is looked for in a text", left_node, "R10")
        body.require(
            apply("<", value.expr, const(value.expr.type, K.EMPTY)), "a text of several characters is looked for"
        )
    elif isinstance(symbol, Fixed) and isinstance(symbol.value, set | frozenset | tuple | list | dict | range):
        if isinstance(symbol.value, range):
            raise body.no("a range is asked for a value", container, "R10", "compare with its ends")
        if len(symbol.value) <= 64 and all(type(v) in (int, str, bool) for v in symbol.value):
            choices = list(symbol.value)
            body.note(container, sorted(map(repr, choices)), "members")
    if choices is not None:
        value = body.scalar(left, left_node)
        parts = [K.literal(c) for c in choices]
    elif isinstance(symbol, Parts) and symbol.form != "array":
        value = body.scalar(left, left_node)
        parts = [body.scalar(Binding(item), container) for item in symbol.items]
    else:
        if left.node is not None and found.node is not None:
            return body.opaque(ast.Compare(left.node, [ast.In()], [found.node]), container).expr
        raise body.no("a container is asked for a value of the state", container, "R3")
    result: Expr = FALSE
    _require_number(body, value)
    for part in parts:
        if ("str" in part.kinds) != ("str" in value.kinds):
            continue
        result = disjunction(result, K.binary("==", value, part, body.require).expr)
    return result


# -- places ------------------------------------------------------------------------------------------------------------


def _attribute(body: Body, node: ast.Attribute, base: Binding) -> Binding:
    symbol = base.symbol
    if isinstance(symbol, Complex) and node.attr in ("real", "imag"):
        return Binding(symbol.real if node.attr == "real" else symbol.imag)
    if (isinstance(symbol, View) and node.attr in ("size", "ndim")) or (
        isinstance(symbol, View) and node.attr == "shape"
    ):
        body.note_shape(symbol)
        rest = symbol.shape[len(symbol.indices) :]
        if node.attr == "shape":
            return Binding(Parts(tuple(K.literal(n) for n in rest), "tuple"))
        return Binding(K.literal(int(np.prod(rest)) if node.attr == "size" else len(rest)))
    raise body.no(f"{ast.unparse(node)} of the state", node, "R10")


def _subscript(body: Body, node: ast.Subscript, env: Env) -> Binding:
    from rfactor.loops.places import place_of

    name = purity.root(node)
    if name in body.mutated and name in env:
        written = env[name].symbol
        if isinstance(written, Missing | Place) or (isinstance(written, Parts) and written.form == "last"):
            return place_of(body, node, env)
    if isinstance(node.value, ast.Name) and node.value.id in env:
        base = env[node.value.id]
    else:
        base = body.value(node.value, env)
    return element_of(body, base, node, env)


def element_of(body: Body, base: Binding, node: ast.Subscript, env: Env) -> Binding:
    """An element of a value."""
    symbol = base.symbol
    if isinstance(symbol, Parts):
        if isinstance(node.slice, ast.Slice):
            raise body.no("a slice of the state", node, "R3")
        depends = body.dependence(node.slice, env)
        if depends == 0 or isinstance(node.slice, ast.Constant | ast.UnaryOp | ast.Tuple):
            return Binding(symbol.items[body.fixed_index(node.slice, symbol, env, node)])
        return _chosen_part(body, symbol, node, env)
    if isinstance(symbol, Fixed) and body.inlined:
        raise body.no("an element of an array of the function's own", node, "R1", "give it as an argument")
    if isinstance(symbol, Fixed):
        found = view_of_value(body, ast.unparse(node.value), node.value, symbol.value)
        if found is None:
            raise body.no(f"elements of {ast.unparse(node.value)} are of several types", node, "R10")
        symbol = found
    if isinstance(symbol, View):
        return _element_of_view(body, symbol, node, env)
    if isinstance(symbol, Scalar) and "str" in symbol.kinds:
        raise body.no("a character of a text", node, "R10")
    raise body.no(f"an element of {ast.unparse(node.value)}", node, "R10")


def _chosen_part(body: Body, parts: Parts, node: ast.Subscript, env: Env) -> Binding:
    """An element of a small list whose number is known at run time."""
    index = body.scalar(body.value(node.slice, env), node.slice)
    size = len(parts.items)
    if not size or (parts.form == "array" and len(parts.shape) > 1):
        raise body.no("an element of an empty list" if not size else "a row of an accumulator", node, "R10")
    if not index.expr.type.is_int:
        raise body.no("an index that is no integer", node, "R10")
    K.require_between(
        index.expr, -size if index.expr.type.is_signed else 0, size - 1, body.require, "an index out of range"
    )
    result = body.scalar(Binding(parts.items[-1]), node)
    for k in range(size - 1):
        here = apply("==", index.expr, const(index.expr.type, k))
        if index.expr.type.is_signed:
            here = apply("or", here, apply("==", index.expr, const(index.expr.type, k - size)))
        result = K.choose(simplify(here), body.scalar(Binding(parts.items[k]), node), result, body.require)
    return Binding(result)


def view_of_value(body: Body, name: str, node: ast.expr, value: Any) -> View | None:
    """An array that stays the same, to be read an element a step; None where it is no array."""
    if isinstance(value, str | bytes | bytearray | list | tuple | range | np.ndarray) or hasattr(value, "typecode"):
        found = body.known_arrays.get(name) if hasattr(body, "known_arrays") else None
        if found is None:
            found = typed(value)
            if not hasattr(body, "known_arrays"):
                body.known_arrays = {}  # type: ignore[attr-defined]
            body.known_arrays[name] = found  # type: ignore[attr-defined]
        if found is None:
            return None
        return view_of(body, name, ("value", node), found)
    return None


def view_of(body: Body, name: str, where: Any, found: Typed) -> View:
    """An array of the loop, which `where` says how to find."""
    body.reading.arrays[name] = where
    return View(name, (), found.array.shape, _dtype_text(found.array.dtype), found.kind)


def _dtype_text(dtype: np.dtype[Any]) -> Any:
    return dtype if dtype.names else dtype.str


def _element_of_view(body: Body, view: View, node: ast.Subscript, env: Env) -> Binding:
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for index in indices:
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            dtype = view.dtype
            for name in view.fields:
                dtype = np.dtype(dtype)[name]  # type: ignore[assignment]
            inner = np.dtype(dtype)
            if not inner.names or index.value not in inner.names:
                raise body.no(f"there is no field {index.value!r}", node, "R6")
            field = inner[index.value]
            if field.subdtype is not None:
                raise body.no("a field that is an array", node, "R10")
            kind = "" if field.names else K.kind_of_dtype(field)
            view = View(view.array, view.indices, view.shape, view.dtype, kind, (*view.fields, index.value))
            continue
        if isinstance(index, ast.Slice | ast.Starred) or len(view.indices) >= len(view.shape):
            raise body.no("a slice of an array in every step", node, "R10", "compute it before the loop")
        if isinstance(index, ast.Constant) and index.value in (None, Ellipsis):
            raise body.no("a new axis in every step", node, "R10")
        number = body.scalar(body.value(index, env), index)
        if not number.expr.type.is_int:
            raise body.no("an index that is no integer", index, "R10")
        if _reads_state(body, number.expr):
            if index is indices[-1] and len(view.shape) == len(view.indices) + 1 and not view.fields:
                pointed = body.pointed(view, number.expr)
                if pointed is not None:
                    return Binding(pointed)
            raise body.no(f"the place that is read depends on the state: {ast.unparse(node)}", node, "R2",
                          "walk over the data in order")  # fmt: skip
        expr = number.expr if number.expr.type == I64 else K.converted(number, I64, body.require)
        view = body.element(view, simplify(expr))
    return Binding(view)


def _reads_state(body: Body, expr: Expr) -> bool:
    from rfactor.ir.expr import names

    return any(n[0] == "x" or n.startswith("kind_x") for n in names(expr))


# -- calls -------------------------------------------------------------------------------------------------------------


def _call(body: Body, node: ast.Call, env: Env) -> Binding:
    name = ast.unparse(node.func)
    if name == "len" and len(node.args) == 1 and isinstance(node.args[0], ast.Name):
        length = _length_of_written(body, node, node.args[0].id, env)
        if length is not None:
            return Binding(length)
    if isinstance(node.func, ast.Attribute):
        from rfactor.loops.places import method

        found = method(body, node, env)
        if found is not None:
            return found
    function = _callee(body, node, env)
    if node.keywords and not isinstance(function, FunctionType):
        raise body.no(f"{name}() with keywords", node, "R10")
    if any(isinstance(a, ast.Starred) for a in node.args):
        raise body.no("starred arguments", node, "R10")
    known = _CALLS.get(function) if _hashable(function) else None
    if known is not None:
        return Binding(known(body, node, [body.value(a, env) for a in node.args]))
    if isinstance(function, np.ufunc):
        known_ufunc = _UFUNCS.get(function.__name__)
        if known_ufunc is not None:
            return Binding(known_ufunc(body, node, [body.value(a, env) for a in node.args]))
    if isinstance(function, type) and issubclass(function, np.generic) and len(node.args) == 1:
        number = body.scalar(body.value(node.args[0], env), node)
        return Binding(K.to_kind(K.kind_of_dtype(np.dtype(function)), number, body.require))
    if function in (np.array, np.asarray) and len(node.args) == 1:
        return Binding(_new_array(body, node, body.value(node.args[0], env)))
    module = getattr(function, "__module__", None)
    if module == "math" and getattr(function, "__name__", "") in K.FUNCTIONS and len(node.args) == 1:
        short = function.__name__
        number = body.scalar(body.value(node.args[0], env), node)
        if short == "fabs":
            return Binding(K.unary("abs", K.to_float(number, body.require), body.require))
        return Binding(K.function(short, False, number, body.require))
    from rfactor.loops.fold import Fold

    if isinstance(function, Fold):
        function = function.python
    if isinstance(function, FunctionType | MethodType):
        if isinstance(node.func, ast.Name | ast.Attribute) and purity.root(node.func) not in env:
            body.note(node.func, body.around_value(node.func), "same")
        return _inlined(body, node, function, env)
    raise body.no(f"nothing is known of what {name}() gives for a value of the state", node, "R1",
                  "write it out, or compute it before the loop")  # fmt: skip


def _length_of_written(body: Body, node: ast.Call, name: str, env: Env) -> Scalar | None:
    """The length of an array or list of which steps write elements; None for anything else."""
    base = body.around.values.get(name)
    symbol = env[name].symbol if name in env else None
    written = isinstance(symbol, Missing | Place) or (isinstance(symbol, Parts) and symbol.form == "last")
    grows = any(isinstance(s, ast.Call) for s in body.stores.get(name, []))
    if not written or grows or not isinstance(base, list | np.ndarray):
        return None
    return constant(body, node, len(base))


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _callee(body: Body, node: ast.Call, env: Env) -> Any:
    function = node.func
    if isinstance(function, ast.Name):
        if function.id in env:
            symbol = env[function.id].symbol
            if isinstance(symbol, Fixed):
                return symbol.value
            raise body.no(f"nothing is known of what {function.id}() does", node, "R1")
        return body.lookup(function.id, function)
    if body.dependence(function, env) == 0:
        try:
            return body.around_value(function)
        except Exception:
            raise body.no(f"{ast.unparse(function)} has no value before the loop", node, "R6") from None
    raise body.no(f"nothing is known of what {ast.unparse(function)}() does", node, "R1")


def _extremum(op: str) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    """Python's `max`: the first of the largest, as comparisons choose it."""

    def extremum(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        if len(args) == 1:
            symbol = args[0].symbol
            if not isinstance(symbol, Parts) or not symbol.items:
                raise body.no(f"{ast.unparse(node.func)}() of one value", node, "R10")
            args = [Binding(item) for item in symbol.items]
        if any(isinstance(a.symbol, Parts) for a in args):
            best = args[0]
            for other in args[1:]:
                better = _relation(body, ast.Gt() if op == ">" else ast.Lt(), other, node, best, node).expr
                best = merged(better, None, Binding(other.symbol), Binding(best.symbol), body.require)
            return best.symbol
        best_ = body.scalar(args[0], node)
        for arg in args[1:]:
            number = body.scalar(arg, node)
            better = K.binary(op, number, best_, body.require).expr
            best_ = K.choose(better, number, best_, body.require)
        return best_

    return extremum


def _one(f: Callable[[Body, Scalar], Any]) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    def call(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        if len(args) != 1:
            raise body.no(f"{ast.unparse(node)} takes one argument here", node, "R10")
        return f(body, body.scalar(args[0], node))

    return call


def _absolute(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    if isinstance(args[0].symbol, Complex):
        raise body.no("abs() of a complex number", node, "R10", "compute with its parts")
    return K.unary("abs", body.scalar(args[0], node), body.require)


def _length(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    symbol = args[0].symbol
    if isinstance(symbol, Parts):
        return K.literal(symbol.shape[0] if symbol.form == "array" else len(symbol.items))
    if isinstance(symbol, View) and len(symbol.indices) < len(symbol.shape):
        body.note_shape(symbol)
        return K.literal(symbol.shape[len(symbol.indices)])
    raise body.no("the length of a value that is no sequence", node, "R10")


def _ord(body: Body, value: Scalar) -> Scalar:
    if value.kinds != frozenset({"str"}):
        raise Untyped("ord() of a number")
    body.require(simplify(apply("<", value.expr, const(value.expr.type, K.EMPTY))), "ord() of several characters")
    return Scalar(cast(I64, value.expr), frozenset({"int"}))


def _divmod(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    a, b = (body.scalar(x, node) for x in args)
    return Parts((K.binary("//", a, b, body.require), K.binary("%", a, b, body.require)), "tuple")


def _pow(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    if len(args) == 3:
        raise body.no("pow() with a modulus", node, "R10")
    return K.binary("**", body.scalar(args[0], node), body.scalar(args[1], node), body.require)


def _sum(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    symbol = args[0].symbol
    if not isinstance(symbol, Parts):
        raise body.no("sum() of what is no short list", node, "R10")
    total = K.literal(0) if len(args) == 1 else body.scalar(args[1], node)
    for item in symbol.items:
        total = K.binary("+", total, body.scalar(Binding(item), node), body.require)
    return total


def _quantified(is_all: bool) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    def call(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        symbol = args[0].symbol
        if not isinstance(symbol, Parts):
            raise body.no("a test of what is no short list", node, "R10")
        total: Expr = TRUE if is_all else FALSE
        for item in symbol.items:
            total = (conjunction if is_all else disjunction)(total, body.truth(Binding(item), node))
        return _boolean(total)

    return call


def _sequence(form: str) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    def call(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        symbol = args[0].symbol if args else Parts((), form)
        if not isinstance(symbol, Parts) or len(symbol.shape) > 1:
            raise body.no(f"{form}() of what is no short sequence", node, "R3")
        return Parts(symbol.items, form)

    return call


def _is_nan(body: Body, value: Scalar) -> Scalar:
    return _boolean(apply("!=", value.expr, value.expr) if value.expr.type.is_float else FALSE)


def _complex(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    parts = [K.to_float(body.scalar(a, node), body.require) for a in args]
    return Complex(parts[0], parts[1] if len(parts) > 1 else K.literal(0.0))


_CALLS: dict[Any, Callable[[Body, ast.Call, Sequence[Binding]], Any]] = {
    max: _extremum(">"), min: _extremum("<"), abs: _absolute, len: _length, divmod: _divmod, pow: _pow, sum: _sum,
    all: _quantified(True), any: _quantified(False), list: _sequence("list"), tuple: _sequence("tuple"),
    int: _one(lambda body, a: K.to_int(a, body.require)), float: _one(lambda body, a: K.to_float(a, body.require)),
    bool: _one(lambda body, a: _boolean(K.truth(a))), ord: _one(_ord), complex: _complex,
}  # fmt: skip
_CALLS[math.isnan] = _one(_is_nan)


def _ufunc_extremum(op: str) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    """NumPy's `maximum`, which gives NaN where either is one."""

    def call(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        a, b = (body.scalar(x, node) for x in args)
        function = getattr(np, op + "imum")
        kinds = frozenset(K.kind_of(function(K.sample(x), K.sample(y))) for x in a.kinds for y in b.kinds)
        type_ = K.type_of(kinds)
        p, q = (K.converted(x, type_, body.require) for x in (a, b))
        if len(kinds) != 1:
            raise Untyped(f"np.{op}imum of several types")
        return Scalar(simplify(apply(op, p, q)), kinds)

    return call


def _ufunc_of(op: str) -> Callable[[Body, ast.Call, Sequence[Binding]], Any]:
    def call(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
        numbers = [_as_numpy(body.scalar(a, node)) for a in args]
        if len(numbers) == 1:
            return K.unary(op, numbers[0], body.require)
        return K.binary(op, numbers[0], numbers[1], body.require)

    return call


def _as_numpy(a: Scalar) -> Scalar:
    """The number as a ufunc takes it."""
    names = {"int": "np.int64", "float": "np.float64", "bool": "np.bool"}
    return Scalar(a.expr, frozenset(names.get(k, k) for k in a.kinds), None)


def _ufunc_sqrt(body: Body, node: ast.Call, args: Sequence[Binding]) -> Any:
    value = body.scalar(args[0], node)
    if value.expr.type.bits != 64 or not value.expr.type.is_float:
        raise Untyped("np.sqrt of what is no f64")
    return Scalar(intrinsic("sqrt", value.expr), frozenset({"np.float64"}))


_UFUNCS: dict[str, Callable[[Body, ast.Call, Sequence[Binding]], Any]] = {
    "maximum": _ufunc_extremum("max"), "minimum": _ufunc_extremum("min"), "absolute": _ufunc_of("abs"),
    "add": _ufunc_of("+"), "subtract": _ufunc_of("-"), "multiply": _ufunc_of("*"), "negative": _ufunc_of("neg"),
    "bitwise_xor": _ufunc_of("^"), "bitwise_and": _ufunc_of("&"), "bitwise_or": _ufunc_of("|"), "sqrt": _ufunc_sqrt,
    "isnan": _one(lambda body, a: Scalar(_is_nan(body, a).expr, frozenset({"np.bool"}))),
}  # fmt: skip


def _new_array(body: Body, node: ast.Call, value: Binding) -> Parts:
    symbol = value.symbol
    if not isinstance(symbol, Parts) or symbol.form == "array":
        if isinstance(symbol, Parts):
            return symbol
        raise body.no("an array is made in every step", node, "R3")
    nested = [i for i in symbol.items if isinstance(i, Parts)]
    shape: tuple[int, ...]
    if nested:
        if len(nested) != len(symbol.items) or len({len(p.items) for p in nested}) != 1:
            raise body.no("a ragged array", node, "R6")
        flat, shape = [i for p in nested for i in p.items], (len(nested), len(nested[0].items))
    else:
        flat, shape = list(symbol.items), (len(symbol.items),)
    numbers = [body.scalar(Binding(i), node) for i in flat]
    dtype = np.result_type(*(np.asarray(K.sample(k)).dtype for n in numbers for k in n.kinds))
    items = tuple(K.to_kind(f"np.{dtype.name}", n, body.require) for n in numbers)
    return Parts(items, "array", shape, dtype.name)


def _inlined(body: Body, node: ast.Call, function: Any, env: Env) -> Binding:
    """What a function that a user wrote makes of its arguments."""
    if isinstance(function, MethodType):
        raise body.no("a method is called with a value of the state", node, "R1", "write it as a function")
    tree = purity.definition(function)
    if tree is None or not purity.is_pure_function(function):
        raise body.no(f"nothing is known of what {ast.unparse(node.func)}() does", node, "R1", "write it out")
    if body.inlined > 8:
        raise body.no("functions call each other too deep", node, "R8")
    if tree.args.vararg or tree.args.kwarg:
        raise body.no("a function of any number of arguments", node, "R1", "write it out")
    parameters = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args)]
    own: Env = {}
    for parameter, arg in zip(parameters, node.args, strict=False):
        own[parameter] = Binding(_plain_argument(body, body.value(arg, env), arg))
    for keyword in node.keywords:
        if keyword.arg is None:
            raise body.no("starred arguments", node, "R10")
        own[keyword.arg] = Binding(_plain_argument(body, body.value(keyword.value, env), keyword.value))
    defaults = dict(zip(parameters[::-1], (function.__defaults__ or ())[::-1], strict=False)) | (
        function.__kwdefaults__ or {}
    )
    for parameter, default in defaults.items():
        if parameter not in own:
            own[parameter] = body.literal_binding(default, node)
    if set(parameters) - set(own):
        raise body.no("an argument is missing", node, "R6")
    return Binding(_Helper(body, function).run(tree, own, node))


def _plain_argument(body: Body, binding: Binding, node: ast.AST) -> Any:
    if isinstance(binding.symbol, Opaque):
        return body.scalar(binding, node)
    return binding.symbol


class _Helper:
    """Reads a function of the user's with the state among its arguments."""

    def __init__(self, body: Body, function: FunctionType) -> None:
        self.body, self.function = body, function

    def run(self, tree: ast.FunctionDef, env: Env, node: ast.AST) -> Any:
        """What the function returns."""
        from rfactor.loops.body import Surroundings
        from rfactor.loops.source import Source, Text

        body = self.body
        keep = body.around, body.path, list(body.guards), body.stored_names, body.mutated, body.specialized
        free = zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True)
        values = {n: c.cell_contents for n, c in free}
        source = Source(self.function, tree, Text(body.around.source.text.file, ()), self.function.__globals__)
        body.inlined += 1
        body.specialized = True
        body.around = Surroundings(source, values, frozenset())
        body.guards = [None]
        body.stored_names = frozenset()
        body.mutated = set()
        start = body.path
        try:
            returned: list[tuple[Expr, Any]] = []
            self._block(tree.body, env, returned)
        except FoldError as error:
            raise keep[0].source.text.refusal(
                f"{self.function.__name__}(): {error.reason}", node, kind=error.kind, advice=error.advice
            ) from None
        finally:
            body.inlined -= 1
            body.around, body.path, body.guards, body.stored_names, body.mutated, body.specialized = keep
        del start
        if not returned:
            raise body.no(f"{self.function.__name__}() returns nothing", node, "R1")
        result = Binding(returned[-1][1])
        for condition, value in reversed(returned[:-1]):
            result = merged(condition, None, Binding(value), result, body.require)
        if isinstance(result.symbol, Missing):
            raise body.no(result.symbol.why, node, "R10")
        return result.symbol

    def _block(self, statements: Sequence[ast.stmt], env: Env, returned: list[tuple[Expr, Any]]) -> Env | None:
        body = self.body
        current: Env | None = env
        for s in statements:
            if current is None:
                return None
            if isinstance(s, ast.Return):
                value = body.value(s.value, current) if s.value is not None else Binding(Optional(FALSE, None))
                returned.append((body.path, _plain_argument(body, value, s)))
                return None
            if isinstance(s, ast.If):
                condition = body.condition(s.test, current)
                path = body.path
                body.path = conjunction(path, condition)
                true = self._block(s.body, dict(current), returned) if condition != FALSE else None
                body.path = conjunction(path, negation(condition))
                false = self._block(s.orelse, dict(current), returned) if condition != TRUE else None
                body.path = path
                if true is None and false is None:
                    return None
                if true is None or false is None:
                    took = conjunction(path, condition if false is None else negation(condition))
                    body.path = took
                    current = true if false is None else false
                else:
                    current = body._merge(condition, None, true, false)
                continue
            if isinstance(s, ast.For | ast.While | ast.Raise | ast.Assert | ast.Try | ast.With):
                raise body.no(f"{type(s).__name__.lower()} in a function that takes the state", s, "R4")
            current = body.statement(s, current, [])
        return current
