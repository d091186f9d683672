"""Expressions to text that the parser reads back to the same expression."""

from __future__ import annotations

from collections.abc import Iterable

from rfactor.ir.expr import Call, Const, Expr, Op, Var

_PRECEDENCE = {
    "or": 1, "and": 2, "not": 3,
    "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
    "neg": 11, "~": 11,
}  # fmt: skip
_ATOM = 12
_COMPARISON = _PRECEDENCE["<"]


def show(expr: Expr, known: bool = True) -> str:
    """`expr` in the syntax of the parser.

    With `known`, the place where the text will stand determines its type (a component of an update does); otherwise a
    literal whose type nothing else determines is written with its type: `i8(3)`.
    """
    return _show(expr, known)[0]


def show_tuple(exprs: Iterable[Expr]) -> str:
    """The components separated by commas."""
    return ", ".join(show(expr) for expr in exprs)


def literal(value: Const, known: bool = True) -> str:
    """A constant as text; with its type unless the place determines it."""
    if value.type.is_bool:
        return str(bool(value.value))
    if value.type.is_float and value.type.bits == 32:
        import numpy as np

        text = str(np.float32(value.value))
    else:
        text = repr(value.value)
    return text if known else f"{value.type}({text})"


def _evident(expr: Expr) -> bool:
    """Whether the parser can tell the type of `expr` from its own text."""
    if isinstance(expr, Const):
        return expr.type.is_bool
    if isinstance(expr, Op):
        if expr.op == "cast" or expr.type.is_bool:
            return True
        return any(map(_evident, expr.args[1:] if expr.op == "select" else expr.args))
    if isinstance(expr, Call) and expr.kind == "intrinsic":
        return any(map(_evident, expr.args))
    return True


def _show(expr: Expr, known: bool) -> tuple[str, int]:
    """The text and how tightly it binds."""
    if isinstance(expr, Const):
        text = literal(expr, known)
        return text, _PRECEDENCE["neg"] if text.startswith("-") else _ATOM
    if isinstance(expr, Var):
        return expr.name, _ATOM
    if isinstance(expr, Call) and expr.kind == "unknown":
        return f"{expr.name}({', '.join(show(arg, False) for arg in expr.args)})", _ATOM
    if isinstance(expr, Call):
        settled = known or _evident(expr)
        text = ", ".join(show(arg, settled or expr.kind != "intrinsic") for arg in expr.args)
        suffix = f"[{expr.index}]" if expr.kind == "func" and expr.index else ""
        return f"{expr.name}({text}){suffix}", _ATOM
    if isinstance(expr, Op):
        return _show_op(expr, known)
    text = ", ".join(show(child) for child in expr.children)
    return f"{type(expr).__name__.lower()}({text})", _ATOM


def _operands(args: tuple[Expr, ...], known: bool) -> list[tuple[str, int]]:
    """Operands of one type: where the type is not evident, the first says it."""
    if known or any(map(_evident, args)):
        return [_show(arg, True) for arg in args]
    return [_show(args[0], False), *(_show(arg, True) for arg in args[1:])]


def _show_op(expr: Op, known: bool) -> tuple[str, int]:
    op, args = expr.op, expr.args
    if op == "cast":
        return f"{expr.type}({show(args[0], False)})", _ATOM
    if op == "select":
        branches = _operands(args[1:], known)
        return f"select({show(args[0])}, {branches[0][0]}, {branches[1][0]})", _ATOM
    own = _PRECEDENCE.get(op, 0)
    parts = _operands(args, known and own != _COMPARISON)
    if op in ("min", "max", "abs"):
        return f"{op}({', '.join(text for text, _ in parts)})", _ATOM
    if len(args) == 1:
        text, tight = parts[0]
        if op == "neg" and isinstance(args[0], Const) and not text.startswith("-"):
            return f"-(+{text})", own  # a bare sign before a literal would belong to the literal
        word = {"neg": "-", "not": "not "}.get(op, op)
        return word + (text if tight >= own else f"({text})"), own
    (left, left_tight), (right, right_tight) = parts
    # Comparisons do not chain here, and of equal precedence only the left operand goes without brackets.
    left_needs = own if own != _COMPARISON else own + 1
    return (
        f"{left if left_tight >= left_needs else f'({left})'} {op} {right if right_tight > own else f'({right})'}",
        own,
    )
