"""What other languages and libraries write, and what is written for it here."""

from __future__ import annotations

import ast
import builtins
import math
import re

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
NOT_COMPOSED = frozenset(
    ["absd", "lerp", "is_nan", "is_inf", "is_finite", "fract", "saturating_cast", "mul_shift_right", "concat_bits"]
    + ["rounding_mul_shift_right", "rounding_shift_left", "rounding_shift_right", "div_round_to_zero", "mux"]
    + ["mod_round_to_zero", "extract_bits", "reinterpret", "sum", "product", "argmin", "argmax", "fast_inverse"]
    + ["fast_inverse_sqrt", *(f"widening_{one}" for one in ("add", "sub", "mul", "shift_left", "shift_right"))]
    + [f"widen_right_{one}" for one in ("add", "sub", "mul")]
)
"""Functions of pipelines that expressions in text have not."""
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
    known = name in INTRINSICS or name in NOT_COMPOSED
    return known or name.startswith("_") or hasattr(builtins, name) or hasattr(math, name)
