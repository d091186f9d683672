"""Derivatives of expressions: from what a value adds to a result to what each thing that it reads adds.

Only floats have derivatives: integers and conditions are constants. At a corner they are those of Halide: of
equals both operands of `max` count, and `abs` falls at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rfactor.errors import AlgorithmError
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, cast, conjunction, const, intrinsic, select, walk, zero
from rfactor.ir.types import BOOL, SCALARS

_Rule = Callable[..., tuple[Expr, ...]]
_ALWAYS = Const(BOOL, True)


@dataclass(frozen=True, slots=True)
class _Part:
    """What something adds: `value` where `where` holds, else nothing, though `value` may be no number there."""

    value: Expr
    where: Expr = _ALWAYS

    def expr(self) -> Expr:
        """As a value everywhere."""
        return self.value if self.where == _ALWAYS else select(self.where, self.value, zero(self.value.type))

    def joined(self, other: _Part) -> _Part:
        """With what is added besides."""
        if self.where == other.where:
            return _Part(apply("+", self.value, other.value), self.where)
        where = _ALWAYS if _ALWAYS in (self.where, other.where) else apply("or", self.where, other.where)
        return _Part(apply("+", self.expr(), other.expr()), where)


def adjoints(root: Expr, seed: Expr, read: Callable[[Expr], bool], dropped: set[str]) -> Mapping[Expr, Expr]:
    """What each node that `read` names adds, for each unit that it grows, where `root` adds `seed` for each of its own.

    `dropped` takes the names of the functions on the way whose derivatives Halide warns of: they are 0. Nodes inside of
    the places that something is read at count as constants. An arm that is not chosen adds nothing, though it be no
    number. Raises `AlgorithmError` for what has no derivative here.
    """
    found: dict[Expr, Expr] = {}
    waiting: dict[Expr, _Part] = {root: _Part(seed)}
    for node in reversed(list(walk(root))):
        adjoint = waiting.pop(node, None)
        if adjoint is None or not node.type.is_float:
            continue
        if read(node):
            found[node] = adjoint.expr()
            continue
        if isinstance(node, Call) and node.name in _TOLD:
            dropped.add(node.name)
        for child, part in zip(node.children, _parts(node, adjoint), strict=True):
            if child.type.is_float and part.value != zero(part.value.type):
                known = waiting.get(child)
                waiting[child] = part if known is None else known.joined(part)
    return found


def _parts(node: Expr, adjoint: _Part) -> tuple[_Part, ...]:
    """What each operand adds."""
    if isinstance(node, Op) and node.op in _CHOICES:
        return tuple(_Part(adjoint.value, conjunction(adjoint.where, one)) for one in _CHOICES[node.op](*node.args))
    return tuple(_Part(value, adjoint.where) for value in _values(node, adjoint.value))


def _values(node: Expr, adjoint: Expr) -> tuple[Expr, ...]:
    if isinstance(node, Const | Var):
        return ()
    if isinstance(node, Op) and node.op in _OPERATIONS:
        return _OPERATIONS[node.op](adjoint, node, *node.args)
    if isinstance(node, Call) and node.kind == "intrinsic" and node.name in _FUNCTIONS:
        return tuple(_times(adjoint, one) for one in _FUNCTIONS[node.name](node, *node.args))
    if isinstance(node, Print):
        return (adjoint, *(zero(node.type) for _ in node.children[1:]))
    if isinstance(node, Call) and node.kind == "intrinsic" and (node.name in _STEPS or node.name in _BITS):
        return (zero(node.type),)
    raise AlgorithmError(f"propagate_adjoints: {node} has no derivative here")


def _times(a: Expr, b: Expr) -> Expr:
    return zero(a.type) if zero(a.type) in (a, b) else b if a == const(a.type, 1) else apply("*", a, b)


def _where(condition: Expr, value: Expr) -> Expr:
    return select(condition, value, zero(value.type))


_CHOICES: dict[str, _Rule] = {
    "select": lambda condition, a, b: (condition, condition, apply("not", condition)),
    "min": lambda a, b: (apply("<=", a, b), apply("<" if a == b else "<=", b, a)),
    "max": lambda a, b: (apply(">=", a, b), apply(">" if a == b else ">=", b, a)),
}
"""Where each operand counts; where two are equal both do, as in Halide, but of one written twice the first."""
_OPERATIONS: dict[str, _Rule] = {
    "+": lambda adjoint, node, a, b: (adjoint, adjoint),
    "-": lambda adjoint, node, a, b: (adjoint, apply("neg", adjoint)),
    "*": lambda adjoint, node, a, b: (_times(adjoint, b), _times(adjoint, a)),
    "/": lambda adjoint, node, a, b: (
        apply("/", adjoint, b),
        apply("neg", apply("/", _times(adjoint, a), apply("*", b, b))),
    ),
    "neg": lambda adjoint, node, a: (apply("neg", adjoint),),
    "abs": lambda adjoint, node, a: (select(apply(">", a, zero(a.type)), adjoint, apply("neg", adjoint)),),
    "cast": lambda adjoint, node, a: (cast(a.type, adjoint) if a.type.is_float else zero(node.type),),
}


def _one(a: Expr) -> Expr:
    return const(a.type, 1)


def _inverse(a: Expr) -> Expr:
    return apply("/", _one(a), a)


def _square(a: Expr) -> Expr:
    return apply("*", a, a)


def _less(a: Expr) -> Expr:
    """1 - a²."""
    return apply("-", _one(a), _square(a))


def _more(a: Expr) -> Expr:
    """1 + a²."""
    return apply("+", _one(a), _square(a))


def _root(a: Expr) -> Expr:
    return intrinsic("sqrt", a)


def _power(node: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    lower = _where(apply("!=", b, zero(b.type)), apply("*", b, intrinsic("pow", a, apply("-", b, _one(b)))))
    return lower, _where(apply(">", a, zero(a.type)), apply("*", node, intrinsic("log", a)))


def _angle(node: Expr, a: Expr, b: Expr) -> tuple[Expr, Expr]:
    size = apply("+", _square(a), _square(b))
    return apply("/", b, size), apply("neg", apply("/", a, size))


_FUNCTIONS: dict[str, _Rule] = {
    "exp": lambda node, a: (node,),
    "log": lambda node, a: (_inverse(a),),
    "sqrt": lambda node, a: (apply("/", const(a.type, 0.5), node),),
    "sin": lambda node, a: (intrinsic("cos", a),),
    "cos": lambda node, a: (apply("neg", intrinsic("sin", a)),),
    "fast_sin": lambda node, a: (intrinsic("fast_cos", a),),
    "fast_cos": lambda node, a: (apply("neg", intrinsic("fast_sin", a)),),
    "tan": lambda node, a: (_more(node),),
    "asin": lambda node, a: (_inverse(_root(_less(a))),),
    "acos": lambda node, a: (apply("neg", _inverse(_root(_less(a)))),),
    "atan": lambda node, a: (_inverse(_more(a)),),
    "atan2": _angle,
    "sinh": lambda node, a: (intrinsic("cosh", a),),
    "cosh": lambda node, a: (intrinsic("sinh", a),),
    "tanh": lambda node, a: (_less(node),),
    "asinh": lambda node, a: (_inverse(_root(_more(a))),),
    "acosh": lambda node, a: (_inverse(_root(apply("-", _square(a), _one(a)))),),
    "atanh": lambda node, a: (_inverse(_less(a)),),
    "erf": lambda node, a: (
        apply("*", const(a.type, 2 / math.sqrt(math.pi)), intrinsic("exp", apply("neg", _square(a)))),
    ),
    "pow": _power,
    "fma": lambda node, a, b, c: (b, a, _one(c)),
}
_STEPS = frozenset(["floor", "ceil", "round", "trunc"])
"""Functions that do not change but where they jump."""
_BITS = frozenset(f"reinterpret_{type_}" for type_ in SCALARS if type_.is_float)
_TOLD = frozenset(["round"])
