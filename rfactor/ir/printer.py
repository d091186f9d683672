"""Expressions to text that the parser reads back to the same expression."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from rfactor.ir.algorithm import plain
from rfactor.ir.expr import Call, Const, Expr, Op, Var, rebuild, walk

_PRECEDENCE = {
    "or": 1, "and": 2, "not": 3,
    "<": 4, "<=": 4, ">": 4, ">=": 4, "==": 4, "!=": 4,
    "|": 5, "^": 6, "&": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "//": 10, "%": 10,
    "neg": 11, "~": 11,
}  # fmt: skip
_ATOM = 12
_COMPARISON = _PRECEDENCE["<"]
_PLAIN = re.compile(r"(?!\d)[\w$.]+")
"""Names that are read as such,"""
_WORDS = frozenset({"True", "False", "inf", "nan", "and", "or", "not", "let", "in"})
"""but for these."""
_MOST_REPEATED = 32
"""Nodes of a part that is written out wherever it occurs."""
_BRIEF = 300
"""Characters of the longest text that is not cut."""


def show(expr: Expr, known: bool = True) -> str:
    """`expr` in the syntax of the parser.

    With `known`, the place where the text will stand determines its type (a component of an update does); otherwise a
    literal whose type nothing else determines is written with its type: `i8(3)`.
    """
    return Printer().show(expr, known)


def show_tuple(exprs: Iterable[Expr]) -> str:
    """The components separated by commas."""
    printer = Printer()
    return ", ".join(map(printer.show, exprs))


def whole(expr: Expr) -> str:
    """All of `expr`: other text for other expressions, linear in the distinct nodes.

    A long part that occurs several times is written once: `let .t0 = x + 1 in .t0*.t0`. The parser reads `show`.
    """
    printer, lets = Printer(exact=True), ""
    for i, part in enumerate(repeated((expr,))):
        lets += f"let .t{i} = {printer.show(part)} in "
        printer.names[part] = f".t{i}"
    return lets + printer.show(expr)


def brief(expr: Expr, write: Callable[[Expr], str] = show) -> str:
    """`expr` as messages tell it: `write` of it, with `…` for what lies so deep that the text would be long.

    The time is linear in the distinct nodes, though parts that are shared make the whole text exponentially longer.
    """
    least: dict[Expr, int] = {}
    for node in walk(expr):  # " + " between operands
        parts = node.children
        least[node] = min(max(1, 3 * len(parts) - 2) + sum(least[part] for part in parts), _BRIEF + 1)
    if least[expr] <= _BRIEF and len(text := write(expr)) <= _BRIEF:
        return text
    depth, text = 1, write(_cut(expr, 1))
    while len(longer := write(_cut(expr, depth + 1))) <= _BRIEF:
        depth, text = depth + 1, longer
    return text


def _cut(expr: Expr, depth: int) -> Expr:
    """`expr` without the operands of what is `depth` below it."""
    if not expr.children:
        return expr
    if not depth:
        return Var(expr.type, "…")
    return rebuild(expr, tuple(_cut(child, depth - 1) for child in expr.children))


def repeated(exprs: Sequence[Expr]) -> list[Expr]:
    """The parts of `exprs` that are long and occur more than once, each after those that it is made of.

    Where each has a name, the text of all is linear in the number of distinct nodes.
    """
    uses, sizes, found = Counter(exprs), dict[Expr, int](), []
    nodes = dict.fromkeys(node for expr in exprs for node in walk(expr))
    for node in nodes:
        uses.update(node.children)
    for node in nodes:
        size = 1 + sum(sizes[child] for child in node.children)
        if size > _MOST_REPEATED and uses[node] > 1:
            found.append(node)
            size = 1
        sizes[node] = size
    return found


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


class Printer:
    """Texts of expressions."""

    def __init__(self, exact: bool = False) -> None:
        """`exact` texts tell parameters from variables, and names from what else would be written so."""
        self._exact = exact
        self.names: dict[Expr, str] = {}
        """What stands for an expression instead of its text, where it is a part of another."""
        self._evident: dict[Expr, bool] = {}

    def show(self, expr: Expr, known: bool = True) -> str:
        """See `show`."""
        return self._bound(expr, known)[0]

    def other(self, expr: Expr) -> str:
        """A node that the parser does not read."""
        return f"{type(expr).__name__.lower()}({', '.join(map(self.show, expr.children))})"

    def _bound(self, expr: Expr, known: bool) -> tuple[str, int]:
        """The text and how tightly it binds."""
        if expr in self.names:
            return self.names[expr], _ATOM
        if isinstance(expr, Const):
            text = literal(expr, known)
            return text, _PRECEDENCE["neg"] if text.startswith("-") else _ATOM
        if isinstance(expr, Var):
            return self._name(expr.name), _ATOM
        if isinstance(expr, Call) and expr.kind == "unknown":
            return f"{expr.name}({', '.join(self.show(arg, False) for arg in expr.args)})", _ATOM
        if isinstance(expr, Call):
            settled = known or self._is_evident(expr)
            text = ", ".join(self.show(arg, settled or expr.kind != "intrinsic") for arg in expr.args)
            suffix = f"[{expr.index}]" if expr.kind == "func" and expr.index else ""
            return f"{self._name(expr.name)}({text}){suffix}", _ATOM
        if isinstance(expr, Op):
            return self._operation(expr, known)
        return self.other(expr), _ATOM

    def _name(self, name: str) -> str:
        if not self._exact:
            return plain(name)
        return name if _PLAIN.fullmatch(name) and name not in _WORDS else repr(name)

    def _is_evident(self, expr: Expr) -> bool:
        """Whether the parser can tell the type of `expr` from its own text."""
        found = self._evident.get(expr)
        if found is None:
            found = self._evident[expr] = self._tells(expr)
        return found

    def _tells(self, expr: Expr) -> bool:
        if isinstance(expr, Const):
            return expr.type.is_bool
        if isinstance(expr, Op):
            if expr.op == "cast" or expr.type.is_bool:
                return True
            return any(map(self._is_evident, expr.args[1:] if expr.op == "select" else expr.args))
        if isinstance(expr, Call) and expr.kind == "intrinsic":
            return any(map(self._is_evident, expr.args))
        return True

    def _operands(self, args: tuple[Expr, ...], known: bool) -> list[tuple[str, int]]:
        """Operands of one type: where the type is not evident, the first says it."""
        if known or any(map(self._is_evident, args)):
            return [self._bound(arg, True) for arg in args]
        return [self._bound(args[0], False), *(self._bound(arg, True) for arg in args[1:])]

    def _operation(self, expr: Op, known: bool) -> tuple[str, int]:
        op, args = expr.op, expr.args
        if op == "cast":
            return f"{expr.type}({self.show(args[0], False)})", _ATOM
        if op == "select":
            branches = self._operands(args[1:], known)
            return f"select({self.show(args[0])}, {branches[0][0]}, {branches[1][0]})", _ATOM
        own = _PRECEDENCE.get(op, 0)
        parts = self._operands(args, known and own != _COMPARISON)
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
