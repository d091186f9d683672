"""What other languages and libraries write, and what is written for it here."""

from __future__ import annotations

import ast
import builtins
import math
import re
from collections.abc import Callable

from rfactor.ir.expr import Call, Expr, apply, const
from rfactor.ir.intrinsics import INTRINSICS

OTHERS: dict[type[ast.operator], str] = {
    ast.Pow: "a power is written as a product, x * x, or with pow for floats",
    ast.MatMult: "a product is written *",
}
"""Operators of Python's that are not in the language."""
MEANT = {
    "maximum": "max", "fmax": "max", "amax": "max", "minimum": "min", "fmin": "min", "amin": "min",
    "where": "select", "clip": "clamp", "fabs": "abs", "absolute": "abs", "int": "i32", "float": "f32", "double": "f64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "f32", "float64": "f64",
}  # fmt: skip
"""What functions of other libraries are called here."""
SPELT: dict[str, Callable[[Expr], Expr]] = {
    "exp2": lambda v: Call(v.type, "pow", (const(v.type, 2), v)),
    "expm1": lambda v: apply("-", Call(v.type, "exp", (v,)), const(v.type, 1)),
    "log1p": lambda v: Call(v.type, "log", (apply("+", const(v.type, 1), v),)),
    "log2": lambda v: apply("/", Call(v.type, "log", (v,)), Call(v.type, "log", (const(v.type, 2),))),
}
"""Functions of reals that are others'."""
FOREIGN = (
    (re.compile(r"&&"), "&& is written and"),
    (re.compile(r"\|\|"), "|| is written or"),
    (re.compile(r"!(?!=)"), "! is written not"),
    (re.compile(r"\?"), "c ? a : b is written a if c else b, or select(c, a, b)"),
    (re.compile(r"<>"), "<> is written !="),
    (re.compile(r">>>"), ">>> is >> of an unsigned type"),
)
"""Operators of other languages."""
NOT_HERE: dict[type[ast.expr], str] = {
    ast.Attribute: "a name after a dot", ast.Subscript: "an index in brackets", ast.Lambda: "a function",
    ast.NamedExpr: "an assignment", ast.List: "a list", ast.Set: "a set", ast.Dict: "a dictionary",
    ast.JoinedStr: "a text", ast.Starred: "a starred part", ast.ListComp: "a loop", ast.SetComp: "a loop",
    ast.DictComp: "a loop", ast.GeneratorExp: "a loop", ast.Await: "await",
}  # fmt: skip
"""What of Python is not in the language."""


def has_a_meaning(name: str) -> bool:
    """Whether people know a function of this name: it is not any function."""
    return name.startswith("_") or hasattr(builtins, name) or hasattr(math, name) or name in INTRINSICS
