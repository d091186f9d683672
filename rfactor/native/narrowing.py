"""Sums and differences that a wider type holds within the range of a narrow one, in the narrow type's own instructions.

u8(min(u16(a) + u16(b), 255))             ->   llvm.uadd.sat(a, b)
i16(max(min(i32(a) - i32(b), 32767), -32768))   ->   llvm.ssub.sat(a, b)

A vector of 64 bytes is one instruction then, not four vectors of a wider type and what parts and joins them.
"""

from __future__ import annotations

from rfactor.ir.expr import Const, Expr, Op
from rfactor.ir.loopnest import Broadcast
from rfactor.ir.types import Type


def saturated(expr: Op) -> tuple[str, Expr, Expr] | None:
    """LLVM's intrinsic and its operands for a cast to an integer type; None where it is no such sum."""
    type_ = expr.type.element
    if not type_.is_int or type_.is_bool or not expr.args[0].type.is_int:
        return None
    node, low, high = between(expr.args[0])
    while isinstance(node, Op) and node.op == "cast" and _holds(node.type, node.args[0].type):
        node = node.args[0]
    if not (isinstance(node, Op) and node.op in ("+", "-") and _holds_twice(node, type_)):
        return None
    least, most = _range(node.op, type_)
    # What the sum can be is held to the range of the narrow type, and no further.
    if min(max(least, low), high) != type_.min or min(max(most, low), high) != type_.max:
        return None
    operands = [_narrow(arg, expr.type) for arg in node.args]
    if operands[0] is None or operands[1] is None:
        return None
    name = f"{'s' if type_.is_signed else 'u'}{'add' if node.op == '+' else 'sub'}.sat"
    return name, operands[0], operands[1]


def between(expr: Expr) -> tuple[Expr, int, int]:
    """What `expr`, an integer, is before constants hold it between ends, and these ends or those of its type."""
    ends: list[tuple[str, int]] = []
    node = expr
    while isinstance(node, Op) and node.op in ("min", "max") and (end := constant(node.args[1])) is not None:
        ends.append((node.op, end))
        node = node.args[0]
    low, high = int(node.type.min), int(node.type.max)
    for op, end in reversed(ends):
        join = min if op == "min" else max
        low, high = join(low, end), join(high, end)
    return node, low, high


def constant(expr: Expr) -> int | None:
    """The integer that all lanes are."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return int(expr.value) if isinstance(expr, Const) and expr.type.is_int and not expr.type.is_bool else None


def _holds(wide: Type, narrow: Type) -> bool:
    """Whether one integer type has all values of another."""
    if not (narrow.is_int and wide.is_int) or narrow.is_bool or wide.is_bool:
        return False
    return wide.min <= narrow.min and narrow.max <= wide.max


def _range(op: str, type_: Type) -> tuple[int, int]:
    """The least and the greatest of the sums, or differences, of two values of a type."""
    least, most = int(type_.min), int(type_.max)
    return (least + least, most + most) if op == "+" else (least - most, most - least)


def _holds_twice(node: Op, type_: Type) -> bool:
    """Whether a sum or difference of two values of `type_` does not wrap in the type of `node`."""
    least, most = _range(node.op, type_)
    return node.type.is_int and node.type.min <= least and most <= node.type.max


def _narrow(expr: Expr, type_: Type) -> Expr | None:
    """What is a value of the narrow type before it is widened."""
    if isinstance(expr, Op) and expr.op == "cast" and expr.args[0].type.element == type_.element:
        return expr.args[0]
    number = constant(expr)
    if number is None or not type_.min <= number <= type_.max:
        return None
    literal = Const(type_.element, number)
    return literal if type_.lanes == 1 else Broadcast(literal, type_.lanes)
