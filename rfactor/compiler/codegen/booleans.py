"""Truth values that are stored: made of bytes that are 0 or 1, as memory holds them, where they are made of loads.

f = f | a           ->   bytes of f | min(bytes of a, 1)
f = f + i32(a)      ->   f + i32(min(bytes of a, 1))

LLVM takes vectors of single bits apart lane by lane where a loop hands them on, and sees no reduction in a byte that
is compared with 0 and made a byte again. What is compared becomes bits in any case, and a byte at last.
"""

from __future__ import annotations

from collections.abc import Callable

from rfactor.ir.expr import Const, Expr, Op, transform, walk
from rfactor.ir.loopnest import Broadcast, Load
from rfactor.ir.types import Type

_SAME = {"and": "&", "&": "&", "min": "&", "or": "|", "|": "|", "max": "|", "^": "^"}
"""Operations of truth values as those of bytes."""
_OPPOSITE = ("not", "~")


def as_stored(value: Expr, ours: Callable[[str], bool]) -> Expr:
    """What a store of `value` puts into memory: `value`, of u8 where it is of bool.

    `ours` says of a buffer whether all that it holds was stored by code of ours: other memory may hold any byte that is
    not 0 for true.
    """
    known: dict[Expr, Expr | None] = {}

    def rule(node: Expr) -> Expr | None:
        if not (isinstance(node, Op) and node.op == "cast" and node.args[0].type.is_bool and node.type.is_int):
            return None
        byte = _bytes(node.args[0], known, ours)
        return None if byte is None else Op(node.type, "cast", (byte,)) if node.type.bits > 8 else byte

    if not value.type.is_bool:
        casts = any(isinstance(node, Op) and node.op == "cast" and node.args[0].type.is_bool for node in walk(value))
        return transform(value, rule) if casts else value
    return _bytes(value, known, ours) or _cast(value)


def _bytes(expr: Expr, known: dict[Expr, Expr | None], ours: Callable[[str], bool]) -> Expr | None:
    """`expr`, of bool, made of bytes; None where no operand of it is one in memory."""
    for node in walk(expr):
        if node.type.is_bool and node not in known:
            known[node] = _byte(node, known, ours)
    return known[expr]


def _byte(node: Expr, known: dict[Expr, Expr | None], ours: Callable[[str], bool]) -> Expr | None:
    """The same of one whose operands are `known`."""
    type = _word(node)
    if isinstance(node, Load):
        load = Load(type, node.buffer, node.index, node.predicate)
        return load if ours(node.buffer) else Op(type, "min", (load, _one(type)))
    if not isinstance(node, Op):
        return None
    operands = node.args[1:] if node.op == "select" else node.args
    if not (node.op in _SAME or node.op in _OPPOSITE or node.op == "select"):
        return None
    if all(known.get(operand) is None for operand in operands):
        return None
    made = [known[operand] or _cast(operand) for operand in operands]
    if node.op == "select":
        return Op(type, "select", (node.args[0], *made))
    if node.op in _OPPOSITE:
        return Op(type, "^", (*made, _one(type)))
    return Op(type, _SAME[node.op], tuple(made))


def _cast(expr: Expr) -> Expr:
    type = _word(expr)
    if isinstance(expr, Const):
        return Const(type, int(expr.value))
    if isinstance(expr, Broadcast):
        return Broadcast(_cast(expr.value), type.lanes)
    return Op(type, "cast", (expr,))


def _word(expr: Expr) -> Type:
    return Type("uint", 8, expr.type.lanes)


def _one(type: Type) -> Expr:
    one = Const(type.element, 1)
    return one if type.lanes == 1 else Broadcast(one, type.lanes)
