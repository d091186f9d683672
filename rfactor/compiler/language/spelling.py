"""Expressions as Halide prints them: what `str` and `repr` of an `Expr` say.

`f"{expression}"`, as in messages, is the language's own text: `x // 3` where Halide prints `(x/3)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from rfactor.compiler.deep import deep
from rfactor.ir.algorithm import plain
from rfactor.ir.expr import Call, Const, Expr, Op, Var
from rfactor.ir.printer import repeated
from rfactor.ir.types import I32, Type

_INFIX = {
    "+": " + ", "-": " - ", "*": "*", "/": "/", "//": "/", "%": " % ", "<": " < ", "<=": " <= ", ">": " > ",
    ">=": " >= ", "==": " == ", "!=": " != ", "and": " && ", "or": " || ",
}  # fmt: skip
_CALLS = {"<<": "shift_left", ">>": "shift_right", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor",
          "~": "bitwise_not", "abs": "abs"}  # fmt: skip
_REDUCTION = re.compile(r"(?P<domain>[^.]+)\.(?:(?P<axis>[xyzw])|d(?P<number>\d+))")
_UNTYPED = frozenset(["round", "fma", "popcount", "count_leading_zeros", "count_trailing_zeros"])
"""Functions whose name does not end in the type of their argument."""


def type_name(type: Type) -> str:
    """`int32`, `float32`, `uint1`."""
    return f"{'uint' if type.is_bool else type.code}{type.bits}"


def variable_name(name: str) -> str:
    """The name of a reduction variable: `r$x` of `r.x`; of others, as it is."""
    found = _REDUCTION.fullmatch(name)
    return name if found is None else f"{found['domain']}${found['axis'] or found['number']}"


@deep
def spelled(expr: Expr, uses: Mapping[str, Any]) -> str:
    """`expr` in Halide's notation; `uses` is what it refers to, by name.

    A long part that occurs several times is written once, `(let .t0 = x + 1 in .t0*.t0)`, where Halide repeats it.
    """
    names: dict[Expr, str] = {}

    def show(node: Expr) -> str:
        if node in names:
            return names[node]
        if isinstance(node, Const):
            return _constant(node)
        if isinstance(node, Var):
            name = plain(node.name)
            return f"{_prefix(node.type)}{name}" if name != node.name else variable_name(name)
        if isinstance(node, Op) and node.op in _INFIX and len(node.args) == 2:
            left, right = map(show, node.args)
            return f"({left}{_INFIX[node.op]}{right})"
        if isinstance(node, Op):
            return operation(node)
        if isinstance(node, Call):
            several = node.kind == "func" and (node.index or (node.name in uses and len(uses[node.name].types()) > 1))
            at = f"[{node.index}]" if several else ""
            return f"{_prefix(node.type)}{_called(node, uses)}({listed(node.args)}){at}"
        return str(node)

    def listed(nodes: Iterable[Expr]) -> str:
        return ", ".join(bare(show(node), node) for node in nodes)

    def bare(text: str, node: Expr) -> str:
        whole = isinstance(node, Op) and (node.op in _INFIX or node.op == "neg") and text.startswith("(")
        return text[1:-1] if whole else text

    def operation(node: Op) -> str:
        if node.op == "cast":
            return f"{type_name(node.type)}({listed(node.args)})"
        if node.op == "neg":
            return f"({_constant(Const(node.type, 0))} - {show(node.args[0])})"
        if node.op == "not":
            return f"!{show(node.args[0])}"
        if node.op in ("select", "min", "max"):
            return f"{node.op}({listed(node.args)})"
        called = f"{_prefix(node.type)}{_CALLS.get(node.op, node.op)}"
        if node.op in ("<<", ">>") and isinstance(node.args[1], Const) and node.args[1].value >= 0:
            count = node.args[1]  # of a number in Python, which is unsigned in Halide
            return f"{called}({listed(node.args[:1])}, (uint{count.type.bits}){int(count.value)})"
        return f"{called}({listed(node.args)})"

    lets = ""
    parts = repeated([expr])
    for i, part in enumerate(parts):
        lets += f"(let .t{i} = {bare(show(part), part)} in "
        names[part] = f".t{i}"
    return lets + show(expr) + ")" * len(parts)


def _called(node: Call, uses: Mapping[str, Any]) -> str:
    if node.kind == "image":
        return f"{node.name}_im" if hasattr(uses.get(node.name), "is_set") else node.name
    typed = node.kind == "intrinsic" and node.args and node.args[0].type.is_float and node.name not in _UNTYPED
    return f"{node.name}_f{node.args[0].type.bits}" if typed else node.name


def _prefix(type: Type) -> str:
    return "" if type == I32 else f"({type_name(type)})"


def _constant(node: Const) -> str:
    if node.type.is_float:
        return f"{node.value:f}" + {16: "h", 32: "f", 64: ""}[node.type.bits]
    return f"{_prefix(node.type)}{int(node.value)}"
