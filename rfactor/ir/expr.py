"""The one expression form: constants, variables, operations and calls, typed and immutable.

Nodes are in `nodes`, what walks and rewrites them is in `rewriting`, and here is what makes them and checks their
types; all are had from here. Operations are rows of one table, `operations.OPERATIONS`; evaluators, translators and
printers are dictionaries over the same names, so that adding an operation is adding a row to each.
"""

from __future__ import annotations

import math
from fractions import Fraction

from rfactor.errors import TypeMismatch
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.nodes import Call, CallKind, Const, Expr, Op, Value, Var
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.rewriting import (
    leaves,
    names,
    rebuild,
    replace,
    rewrite,
    substitute,
    substitute_all,
    transform,
    variables,
    walk,
)
from rfactor.ir.types import BOOL, Type

__all__ = [
    "Call",
    "CallKind",
    "Const",
    "Expr",
    "Op",
    "Value",
    "Var",
    "apply",
    "cast",
    "clamp",
    "conjunction",
    "const",
    "disjunction",
    "intrinsic",
    "is_held",
    "leaves",
    "names",
    "rebuild",
    "replace",
    "rewrite",
    "select",
    "substitute",
    "substitute_all",
    "transform",
    "variables",
    "walk",
    "zero",
]


def const(type: Type, value: Value) -> Const:
    """A literal of `type`; floats are rounded to the type, integers must fit (`TypeMismatch`)."""
    if type.is_float:
        try:
            float(value)
        except OverflowError:
            raise TypeMismatch(f"an integer of {int(value).bit_length()} bits is beyond all of {type}") from None
    if type.is_float and type.bits < 64 and math.isfinite(value):
        import numpy as np

        if type.is_bfloat:
            from rfactor.ir.bfloat import nearest

            return Const(type, nearest(value))
        with np.errstate(over="ignore"):
            value = float(np.dtype(f"f{type.bits // 8}").type(value))
    return Const(type, value)


def is_held(type: Type, value: int | Fraction) -> bool:
    """Whether a float type has exactly this value."""
    exact, largest = Fraction(value), float(type.largest_finite)
    return -largest <= exact <= largest and Fraction(const(type, float(exact)).value) == exact


def apply(op: str, *args: Expr) -> Op:
    """The operation `op` of `OPERATIONS` on `args`, type-checked.

    Operands have one type; comparisons give `bool` of the same lanes. Raises `TypeMismatch`.
    """
    rule = OPERATIONS[op]
    if len(args) != rule.arity:
        raise TypeMismatch(f"{op} takes {rule.arity} operands, {len(args)} given")
    type_ = args[0].type
    for arg in args[1:]:
        if arg.type != type_:
            raise TypeMismatch(f"{op} of {type_} and {arg.type} (in {args[0]} {op} {arg}): mixed types need a cast")
    shape = rule.shape
    if shape == "compare":
        return Op(BOOL.with_lanes(type_.lanes), op, args)
    if shape == "logic" and not type_.is_bool:
        raise TypeMismatch(f"{op} takes bool operands, not {type_} (in {args[0]}); compare with 0 first")
    if shape == "integer" and not type_.is_int:
        more = "; write / for floats" if op == "//" and type_.is_float else ""
        raise TypeMismatch(f"{op} takes integers, not {type_} (in {args[0]}){more}")
    if shape == "real" and not type_.is_float:
        raise TypeMismatch(f"{op} is for floats, not {type_} (in {args[0]}); write // for integers")
    if shape == "bits" and type_.is_float:
        raise TypeMismatch(f"{op} takes integers or bool, not {type_} (in {args[0]})")
    if shape == "numeric" and type_.is_bool and op not in ("min", "max"):
        raise TypeMismatch(f"{op} of bool (in {args[0]}): cast to an integer type first")
    return Op(type_, op, args)


def select(condition: Expr, true: Expr, false: Expr) -> Op:
    """`true` where `condition` holds, else `false`. Raises `TypeMismatch`."""
    if not condition.type.is_bool:
        raise TypeMismatch(f"the condition of select is {condition.type}, not bool (in {condition})")
    if true.type != false.type:
        raise TypeMismatch(f"select between {true.type} and {false.type} (in {true}, {false}): mixed types need a cast")
    return Op(true.type, "select", (condition, true, false))


def clamp(value: Expr, low: Expr, high: Expr) -> Op:
    """`value` brought between `low` and `high`: `low` where those cross, as Halide has it. Raises `TypeMismatch`."""
    return apply("max", apply("min", value, high), low)


def cast(type: Type, value: Expr) -> Expr:
    """`value` converted to `type` (lanes kept); the expression itself if it has that type already.

    Integers wrap; float to int truncates and saturates, NaN gives 0; anything to bool is `!= 0`.
    """
    type = type.with_lanes(value.type.lanes)
    return value if value.type == type else Op(type, "cast", (value,))


def intrinsic(name: str, *args: Expr) -> Call:
    """A call of one of `INTRINSICS`. Raises `TypeMismatch`."""
    row = INTRINSICS.get(name)
    if row is None:
        raise TypeMismatch(f"unknown function {name!r}; functions are {' '.join(INTRINSICS)}")
    if len(args) != row.arity:
        raise TypeMismatch(f"{name} takes {row.arity} arguments, {len(args)} given")
    for arg in args:
        if not row.accepts(arg.type) or arg.type != args[0].type:
            what = {
                "real": "floats of one type", "single": "f32", "wide": "f32 or f64", "integer": "integers",
                "bits": f"numbers as wide as {row.gives}",
            }  # fmt: skip
            raise TypeMismatch(f"{name} takes {what[row.takes]}, not {arg.type} (in {arg}); cast first")
    return Call(row.result(args[0].type), name, args)


def zero(type: Type) -> Const:
    return Const(type, 0)


def conjunction(*conditions: Expr) -> Expr:
    """All of the conditions; `True` of none."""
    terms = [c for c in conditions if not (isinstance(c, Const) and c.value is True)]
    if not terms:
        return Const(BOOL, True)
    result = terms[0]
    for term in terms[1:]:
        result = apply("and", result, term)
    return result


def disjunction(*conditions: Expr) -> Expr:
    """Some of the conditions; `False` of none."""
    if not conditions:
        return Const(BOOL, False)
    result = conditions[0]
    for term in conditions[1:]:
        result = apply("or", result, term)
    return result
