"""Infinities among finite values: an expression with ±inf in it, rewritten to one without.

An identity may be an infinity where no finite value will do. What it does to finite operands follows the rules of IEEE
arithmetic: `min(inf, a)` is `a`, `inf + a` is `inf`, `inf < a` is false; `inf - inf` and `0 * inf` have no value, and a
claim that meets them is not made. Variables stand for finite values here, except where an operation only compares and
chooses, which is left as it is. Unbounded integers share these rules, their infinity being the float constant `inf`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from rfactor.errors import Error
from rfactor.ir.expr import Call, Const, Expr, Op, apply, const, rebuild, replace, select, walk
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F64, Type

INFINITY, MINUS_INFINITY = Const(F64, math.inf), Const(F64, -math.inf)
"""How an infinite component of unbounded integers is written."""


class Undefined(Error):
    """An infinity meets an operation that has no value there."""


def is_infinite(expr: Expr) -> bool:
    """Whether `expr` is the constant ±inf."""
    return isinstance(expr, Const) and isinstance(expr.value, float) and math.isinf(expr.value)


@lru_cache(maxsize=1 << 14)
def has_infinity(expr: Expr) -> bool:
    """Whether ±inf occurs in `expr`."""
    return any(map(is_infinite, walk(expr)))


@lru_cache(maxsize=1 << 14)
def is_among_reals(expr: Expr) -> bool:
    """Whether neither ±inf nor NaN occurs in `expr`: these have no place among the reals."""
    floats = (node.value for node in walk(expr) if isinstance(node, Const) and isinstance(node.value, float))
    return all(map(math.isfinite, floats))


def writable(expr: Expr) -> bool:
    """Whether the parser reads `expr` back: literals are values of their types, ±inf stands among floats of its own."""
    if any(
        isinstance(node, Const) and node.type.is_float and const(node.type, node.value) != node for node in walk(expr)
    ):
        return False
    if not has_infinity(expr):
        return True
    for node in walk(expr):
        chooses = isinstance(node, Op) and node.op == "select"
        operands = node.children[1:] if chooses else node.children
        if any(map(is_infinite, operands)):
            alike = {arg.type for arg in operands} | ({node.type} if chooses else set())
            if len(alike) > 1:
                return False
    return True


def without_infinities(expr: Expr, numbers: frozenset[Expr] = frozenset()) -> Expr:
    """An equal expression in which ±inf stands only as a branch of selects at the top. Raises `Undefined`.

    The `numbers` are known to be finite.
    """
    return _Rewriter(numbers).visit(expr) if has_infinity(expr) else expr


class _Rewriter:
    def __init__(self, numbers: frozenset[Expr]) -> None:
        self.memo: dict[Expr, Expr] = {}
        self.numbers = numbers

    def visit(self, expr: Expr) -> Expr:
        found = self.memo.get(expr)
        if found is None:
            found = self.memo[expr] = self.compute(expr)
        return found

    def compute(self, expr: Expr) -> Expr:
        if not expr.children:
            return expr
        if isinstance(expr, Op) and expr.op == "select":
            condition = self.visit(expr.args[0])
            if isinstance(condition, Const):  # the other branch need not have a value
                return self.visit(expr.args[1 if condition.value else 2])
            if isinstance(condition, Op) and condition.op == "select" and any(map(has_infinity, expr.args[1:])):
                # What decides the condition decides the branches too.
                decides, *outcomes = condition.args
                branches = []
                for outcome, holds in zip(outcomes, (True, False), strict=True):
                    known = {decides: Const(BOOL, holds)}
                    branches.append(self.visit(rebuild(expr, (outcome, *(replace(a, known) for a in expr.args[1:])))))
                return _select(decides, branches[0], branches[1])
        args = tuple(map(self.visit, expr.children))
        if not any(map(may_be_infinite, args)):
            if isinstance(expr, Call) and expr.name == "log" and simplify(args[0]) == Const(expr.type, 0.0):
                return _infinite(expr.type, -1)
            return _rebuilt(expr, args)
        if isinstance(expr, Op) and expr.op == "select":
            return _select(*args)
        for at, arg in zip(range(len(args)), args, strict=True):
            if isinstance(arg, Op) and may_be_infinite(arg):  # a select with an infinite branch: pull it to the top
                condition, true, false = arg.args
                branches = [self.visit(_rebuilt(expr, (*args[:at], b, *args[at + 1 :]))) for b in (true, false)]
                return _select(condition, branches[0], branches[1])
        if isinstance(expr, Op):
            return _operate(expr, args, self.numbers)
        if isinstance(expr, Call):
            return _function(expr, args)
        raise Undefined(f"{expr} of an infinity")


def may_be_infinite(expr: Expr) -> bool:
    """Whether the value may be infinite: ±inf itself, or a select with it as a branch."""
    return is_infinite(expr) or (
        isinstance(expr, Op) and expr.op == "select" and any(map(may_be_infinite, expr.args[1:]))
    )


def _rebuilt(expr: Expr, args: tuple[Expr, ...]) -> Expr:
    if isinstance(expr, Op):
        return Op(expr.type, expr.op, args)
    return rebuild(expr, args)


def _select(condition: Expr, true: Expr, false: Expr) -> Expr:
    if isinstance(condition, Const):
        return true if condition.value else false
    if true == false:
        return true
    if condition.type.is_bool and true.type == false.type:
        return select(condition, true, false)
    return Op(_wider(true, false), "select", (condition, true, false))


def _wider(true: Expr, false: Expr) -> Type:
    return false.type if is_infinite(true) else true.type


def _sign(expr: Expr) -> int:
    """1 or -1 for an infinity, 0 for a finite value."""
    if not is_infinite(expr):
        return 0
    assert isinstance(expr, Const)
    return 1 if float(expr.value) > 0 else -1


def _infinite(type_: Type, sign: int) -> Const:
    return Const(type_ if type_.is_float else F64, math.inf * sign)


def _operate(expr: Op, args: tuple[Expr, ...], numbers: frozenset[Expr]) -> Expr:
    op, signs = expr.op, [_sign(arg) for arg in args]
    if len(args) == 1:
        if op == "neg":
            return _infinite(expr.type, -signs[0])
        if op == "abs":
            return _infinite(expr.type, 1)
        if op == "cast" and expr.type.is_float:
            return _infinite(expr.type, signs[0])
        raise Undefined(f"{op} of an infinity, in {expr}")
    (a, b), (s, t) = args, signs
    if op in ("min", "max"):
        wanted = -1 if op == "min" else 1
        if s and t:
            return a if s == wanted else b
        if s:
            return a if s == wanted else b
        return b if t == wanted else a
    if op in ("<", "<=", ">", ">=", "==", "!="):
        beyond = {"<": (1, -1), ">=": (1, -1), ">": (-1, 1), "<=": (-1, 1)}.get(op)
        if beyond is not None and (s == beyond[0] or t == beyond[1]):
            return Const(BOOL, op in ("<=", ">="))  # nothing lies beyond an end
        other = a if t else b
        ranked = not (s and t) and a.type.is_float and b.type.is_float
        if ranked and not _finite(other) and _magnitude(other) not in numbers:
            return Op(BOOL, op, (a, b))  # the other may be infinite too: left to the theory of order
        p, q = float(s), float(t)
        return Const(BOOL, {"<": p < q, "<=": p <= q, ">": p > q, ">=": p >= q, "==": p == q, "!=": p != q}[op])
    if op in ("+", "-"):
        t = t if op == "+" else -t
        if s and t and s != t:
            raise Undefined(f"inf - inf in {expr}")
        return _infinite(expr.type, s or t)
    if op == "*":
        s, t = s or _constant_sign(a), t or _constant_sign(b)
        if s and t:
            return _infinite(expr.type, s * t)
        raise Undefined(f"an infinity times what may be 0, in {expr}")
    if op == "/" and not s:
        return apply("*", a, Const(a.type, 0))
    raise Undefined(f"{op} of an infinity, in {expr}")


def _function(expr: Call, args: tuple[Expr, ...]) -> Expr:
    """exp, log, sqrt and powers of a base above 1 at an end."""
    value, sign = args[-1], _sign(args[-1])
    if expr.name == "pow" and not (isinstance(args[0], Const) and 1 < float(args[0].value) < math.inf):
        raise Undefined(f"{expr} of an infinity")
    if expr.name in ("exp", "pow") and sign:
        return value if sign > 0 else Const(expr.type, 0)
    if expr.name in ("log", "sqrt") and sign > 0:
        return value
    raise Undefined(f"{expr} of an infinity")


def calculated_with(exprs: Sequence[Expr], variables: Sequence[Expr]) -> frozenset[Expr]:
    """The variables with which `exprs` calculate: they stand for numbers, and not only for ranks."""
    operands = {
        child
        for expr in exprs
        for node in walk(expr)
        if isinstance(node, Call) or (isinstance(node, Op) and node.op in ("+", "-", "*", "/", "neg", "abs"))
        for child in node.children
    }
    return frozenset(v for v in variables if v.type.is_float and v in operands)


def _finite(expr: Expr) -> bool:
    """Whether arithmetic stands behind the value, so that it is read as finite."""
    return (isinstance(expr, Op) and expr.op in ("+", "-", "*", "/")) or isinstance(expr, Const)


def _magnitude(expr: Expr) -> Expr:
    """What is finite just where the value is: without signs."""
    while isinstance(expr, Op) and expr.op in ("neg", "abs"):
        expr = expr.args[0]
    return expr


def _constant_sign(expr: Expr) -> int:
    if isinstance(expr, Const) and expr.value:
        return 1 if expr.value > 0 else -1
    return 0
