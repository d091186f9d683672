"""Bit-exact simplification, for code: what it returns has the same bits everywhere, NaN and signed zeros included.

With `coordinates`, i32 arithmetic is taken not to overflow, which the language promises for coordinates and bounds;
then comparisons, minima and maxima of expressions that differ by a constant are decided, and a sum of which i32 does
not hold a coefficient or the constant stays in parts: as one of integers it would be another.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from rfactor.ir.evaluate import evaluate, to_value
from rfactor.ir.expr import Const, Expr, Op, rebuild
from rfactor.ir.linear import Coefficient, collected, from_linear, linear, reduce
from rfactor.ir.loopnest import Broadcast, Ramp
from rfactor.ir.types import BOOL, I32, Type

_SUMS = frozenset({"+", "-", "neg", "*"})
_FLIP = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_HOLDS = {"<": lambda d: d < 0, "<=": lambda d: d <= 0, ">": lambda d: d > 0, ">=": lambda d: d >= 0,
          "==": lambda d: d == 0, "!=": lambda d: d != 0}  # fmt: skip
TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)


def simplify(expr: Expr, coordinates: bool = False) -> Expr:
    """`expr` folded and shortened."""
    memo = _memos[coordinates]
    if len(memo) > _REMEMBERED:
        memo = _memos[coordinates] = {}  # not cleared: another thread may be at work in it
    return _rewritten(expr, memo, _with_coordinates if coordinates else _exact, coordinates)


def simplify_real(expr: Expr) -> Expr:
    """`expr` shortened as one of reals: literals are folded only where the result is exact."""
    memo = _real_memo[0]
    if len(memo) > _REMEMBERED:
        memo = _real_memo[0] = {}  # as above
    return _rewritten(expr, memo, _exact_on_reals)


def _rewritten(expr: Expr, memo: dict[Expr, Expr], rule: Callable[[Expr], Expr], coordinates: bool = False) -> Expr:
    """As `rewriting.rewrite`, but that a sum of integers is put together once and not again for each of its addends."""
    pending = [expr]
    while pending:
        node = pending[-1]
        if node in memo:
            pending.pop()
            continue
        addends = _addends(node)
        operands = node.children if addends is None else [addend for addend, _ in addends]
        missing = [operand for operand in operands if operand not in memo]
        if missing:
            pending += reversed(missing)
            continue
        pending.pop()
        if addends is not None:
            total = _total(node.type, [(memo[addend], factor) for addend, factor in addends], coordinates)
            memo[node] = node if total is None else total
        elif operands:
            memo[node] = rule(rebuild(node, tuple([memo[operand] for operand in operands])))
        else:
            memo[node] = rule(node)
    return memo[expr]


def _addends(expr: Expr) -> list[tuple[Expr, int]] | None:
    """What a scalar sum of integers adds up, and how many times: the operands along its left side, left to right.

    Only there, so that as many are found as there are operations, even where a sum adds one to itself.
    """
    if not (isinstance(expr, Op) and expr.op in _SUMS and expr.type.is_int and expr.type.lanes == 1):
        return None
    found: list[tuple[Expr, int]] = []
    node: Expr = expr
    factor = 1
    while isinstance(node, Op) and node.op in _SUMS:
        first, last = node.args[0], node.args[-1]
        if node.op == "*":
            if not isinstance(last, Const):
                first, last = last, first
            if not isinstance(last, Const):
                break
            factor *= int(last.value)
        elif node.op == "neg":
            factor = -factor
        else:
            found.append((last, factor if node.op == "+" else -factor))
        node = first
    if node is expr:
        return None
    found.append((node, factor))
    return found[::-1]


def _total(type_: Type, addends: Iterable[tuple[Expr, int]], coordinates: bool) -> Expr | None:
    """The sum of simplified addends as an expression of one integer type; None of coordinates that it does not hold."""
    terms: dict[Expr, Coefficient] = {}
    constant: Coefficient = 0
    for addend, factor in addends:
        own, more = collected(addend)
        constant += factor * more
        for atom, times in own.items():
            terms[atom] = terms.get(atom, 0) + factor * times
    if coordinates and not _holds(type_, terms, constant):
        return None
    kept = [(atom, times) for atom, value in terms.items() if (times := reduce(type_, value)) != 0]
    return from_linear(type_, kept, reduce(type_, constant))


def _holds(type: Type, terms: Mapping[Expr, Coefficient], constant: Coefficient) -> bool:
    """Whether a type holds the coefficients of a sum, their opposites and its constant, where it is i32."""
    return type != I32 or (type.min <= constant <= type.max and all(abs(c) <= type.max for c in terms.values()))


def _exact_on_reals(expr: Expr) -> Expr:
    inexact = (
        expr.type.is_float
        and isinstance(expr, Op)
        and expr.op in _EXACTLY
        and all(isinstance(arg, Const) and math.isfinite(float(arg.value)) for arg in expr.args)
        and not _folds_exactly(expr)
    )
    return expr if inexact else _exact(expr)


def _folds_exactly(expr: Op) -> bool:
    a, b = (Fraction(arg.value) for arg in expr.args if isinstance(arg, Const))
    if expr.op == "/" and b == 0:
        return True
    folded = fold(expr)
    return (
        isinstance(folded, Const) and math.isfinite(folded.value) and Fraction(folded.value) == _EXACTLY[expr.op](a, b)
    )


_EXACTLY: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_OF_INTEGERS: dict[str, Callable[..., int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "min": min, "max": max,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
"""Operations that are those of Python's integers, but for the range of the result."""
_REMEMBERED = 1 << 15
_memos: list[dict[Expr, Expr]] = [{}, {}]
"""What nodes with simplified operands become, in values and in coordinates."""
_real_memo: list[dict[Expr, Expr]] = [{}]


def fold(expr: Expr) -> Expr:
    """The constant that an operation on constants is; the expression itself if it is not one."""
    if isinstance(expr, Op) and all(isinstance(arg, Const) for arg in expr.args):
        operand = expr.args[0].type
        if operand.is_int and operand.lanes == 1 and expr.op in _OF_INTEGERS:
            value = _OF_INTEGERS[expr.op](*(arg.value for arg in expr.args))  # type: ignore[attr-defined]
            return Const(expr.type, expr.type.wrap(value) if expr.type.is_int else value)
        return Const(expr.type, to_value(evaluate(expr, {})[0]))
    return expr


def _exact(expr: Expr) -> Expr:
    return _simplify(expr, False) or expr


def _with_coordinates(expr: Expr) -> Expr:
    return _simplify(expr, True) or expr


def _simplify(expr: Expr, coordinates: bool) -> Expr | None:
    if not isinstance(expr, Op):
        return None
    folded = fold(expr)
    if folded is not expr:
        return folded
    if expr.type.lanes > 1 or any(arg.type.lanes > 1 for arg in expr.args):
        return _vector(expr, coordinates)
    op, args = expr.op, expr.args
    if op in _SUMS and expr.type.is_int:
        return _sum(expr, coordinates)
    if op in ("*", "/") and expr.type.is_float and isinstance(args[1], Const) and args[1].value == 1.0:
        return args[0]
    if op in ("min", "max"):
        return _extremum(op, args[0], args[1], expr.type, coordinates)
    if op in _FLIP:
        return _comparison(op, args[0], args[1], coordinates)
    if op in ("and", "or"):
        return _junction(op, args[0], args[1])
    if op == "not":
        return _negation(args[0])
    if op == "select":
        return _choice(args[0], args[1], args[2])
    if op in ("//", "%"):
        return _division(op, args[0], args[1], expr.type, coordinates)
    if op == "cast":
        return conversion(expr.type, args[0])
    return None


def _sum(expr: Op, coordinates: bool) -> Expr | None:
    if expr.op == "*" and not any(isinstance(arg, Const) for arg in expr.args):
        return None
    if coordinates and not _holds(expr.type, *collected(expr)):
        return None
    terms, constant = linear(expr)
    result = from_linear(expr.type, terms.items(), constant)
    return None if result == expr else result


def _difference(a: Expr, b: Expr) -> int | None:
    """a - b where it is a constant; of integers that do not overflow."""
    if a == b:
        return 0
    terms, constant = collected(Op(a.type, "-", (a, b)))
    return None if any(terms.values()) else int(constant)


def _extremum(op: str, a: Expr, b: Expr, type: Type, coordinates: bool) -> Expr | None:
    if a == b:
        return a
    if type.is_float:
        return None
    if isinstance(a, Const):
        a, b = b, a
    if isinstance(b, Const):
        neutral, absorbing = (type.max, type.min) if op == "min" else (type.min, type.max)
        if b.value == neutral:
            return a
        if b.value == absorbing:
            return b
        if isinstance(a, Op) and a.op == op and isinstance(a.args[1], Const):
            inner = fold(Op(type, op, (a.args[1], b)))
            return Op(type, op, (a.args[0], inner))
    if isinstance(a, Op) and a.op == op and b in a.args:
        return a
    if isinstance(b, Op) and b.op == op and a in b.args:
        return b
    if coordinates and type == I32:
        difference = _difference(a, b)
        if difference is not None:
            return a if (difference <= 0) == (op == "min") else b
    return Op(type, op, (a, b))


def _comparison(op: str, a: Expr, b: Expr, coordinates: bool) -> Expr | None:
    type_ = a.type
    if type_.is_float:
        return None
    if a == b:
        return Const(BOOL, op in ("<=", ">=", "=="))
    if type_.is_bool:
        return None
    if isinstance(b, Const):
        always = {("<", type_.min): FALSE, (">=", type_.min): TRUE, (">", type_.max): FALSE, ("<=", type_.max): TRUE}
        decided = always.get((op, b.value))
        if decided is not None:
            return decided
    if coordinates and type_ == I32:
        difference = _difference(a, b)
        if difference is not None:
            return Const(BOOL, _HOLDS[op](difference))
    return None


def _junction(op: str, a: Expr, b: Expr) -> Expr | None:
    neutral, absorbing = (TRUE, FALSE) if op == "and" else (FALSE, TRUE)
    if a in (neutral, b):
        return b
    if b == neutral:
        return a
    return absorbing if absorbing in (a, b) else None


def _negation(a: Expr) -> Expr | None:
    if isinstance(a, Op):
        if a.op == "not":
            return a.args[0]
        if a.op in _FLIP and (not a.args[0].type.is_float or a.op in ("==", "!=")):
            return Op(a.type, _FLIP[a.op], a.args)
    return None


def _choice(condition: Expr, true: Expr, false: Expr) -> Expr | None:
    if condition == TRUE or true == false:
        return true
    if condition == FALSE:
        return false
    if isinstance(condition, Op) and condition.op == "not":
        return Op(true.type, "select", (condition.args[0], false, true))
    return None


def _division(op: str, a: Expr, b: Expr, type: Type, coordinates: bool) -> Expr | None:
    if not isinstance(b, Const):
        return None
    if b.value == 0:
        return b
    if b.value == 1:
        return a if op == "//" else Const(type, 0)
    if not (coordinates and type == I32):
        return None
    divisor = int(b.value)
    terms, constant = collected(a)
    if b.value < 0 or not _holds(type, terms, constant):
        return None
    times = int(constant) // divisor if constant >= 0 else -(-int(constant) // divisor)
    whole = [(atom, c // divisor) for atom, c in terms.items() if c and c % divisor == 0]
    rest = [(atom, c) for atom, c in terms.items() if c % divisor]
    if not (whole or times):
        return None
    # What is left of the constant has its sign: so the sum lies between that of the atoms and the one that was given.
    kept = from_linear(type, rest, constant - times * divisor)
    if op == "%":
        return Op(type, "%", (kept, b)) if rest else Const(type, int(constant) % divisor)
    outside = from_linear(type, whole, times if rest else int(constant) // divisor)
    if not rest:
        return outside
    return Op(type, "+", (outside, Op(type, "//", (kept, b)))) if outside != Const(type, 0) else None


def conversion(type: Type, a: Expr) -> Expr | None:
    """`a` converted to `type`, where `a` is a conversion itself that changes nothing on the way; None otherwise."""
    if not (isinstance(a, Op) and a.op == "cast"):
        return None
    inner, middle = a.args[0], a.type
    if middle.is_int and type.is_int and (inner.type.is_int or inner.type.is_bool):
        holds = inner.type.is_bool or (
            middle.min <= inner.type.min and inner.type.max <= middle.max  # nothing was lost on the way
        )
        if holds or type.bits <= middle.bits:
            return inner if inner.type == type else Op(type, "cast", (inner,))
    return None


def _vector(expr: Op, coordinates: bool) -> Expr | None:
    """Operations on ramps and broadcasts stay ramps and broadcasts where they can."""
    lanes = max(arg.type.lanes for arg in expr.args)
    if all(isinstance(arg, Broadcast) for arg in expr.args):
        scalar = Op(expr.type.element, expr.op, tuple(arg.value for arg in expr.args))  # type: ignore[attr-defined]
        return Broadcast(simplify(scalar, coordinates), lanes)
    if expr.type.is_int and expr.op in ("+", "-") and all(isinstance(arg, Ramp | Broadcast) for arg in expr.args):
        (base_a, stride_a), (base_b, stride_b) = map(_base_and_stride, expr.args)
        element = expr.type.element
        base = simplify(Op(element, expr.op, (base_a, base_b)), coordinates)
        stride = simplify(Op(element, expr.op, (stride_a, stride_b)), coordinates)
        return Broadcast(base, lanes) if stride == Const(element, 0) else Ramp(base, stride, lanes)
    if expr.type.is_int and expr.op == "*":
        for ramp, factor in (expr.args, expr.args[::-1]):
            if isinstance(ramp, Ramp) and isinstance(factor, Broadcast):
                element = expr.type.element
                base = simplify(Op(element, "*", (ramp.base, factor.value)), coordinates)
                return Ramp(base, simplify(Op(element, "*", (ramp.stride, factor.value)), coordinates), lanes)
    if expr.op in ("and", "or"):
        neutral, absorbing = (TRUE, FALSE) if expr.op == "and" else (FALSE, TRUE)
        for one, other in (expr.args, expr.args[::-1]):
            if one == Broadcast(neutral, lanes):
                return other
            if one == Broadcast(absorbing, lanes):
                return one
    if expr.op == "select" and isinstance(expr.args[0], Broadcast):
        if expr.args[0].value == TRUE:
            return expr.args[1]
        if expr.args[0].value == FALSE:
            return expr.args[2]
    return None


def _base_and_stride(expr: Expr) -> tuple[Expr, Expr]:
    if isinstance(expr, Ramp):
        return expr.base, expr.stride
    assert isinstance(expr, Broadcast)
    return expr.value, Const(expr.type.element, 0)
