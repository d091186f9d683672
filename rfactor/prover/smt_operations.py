"""Each operation of expressions as what it makes of Z3 terms: of bit-vectors, of numbers, of truth values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import z3

# Terms are made by the C interface: its Python one looks at the sort and context of every operand anew, which takes
# longer than most answers. Operands have the same sort here, because they have the same type.


def _formula(make: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: z3.BoolRef(make(a.ctx.ref(), a.ast, b.ast), a.ctx)


def _formula_of_many(make: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: z3.BoolRef(make(a.ctx.ref(), 2, (z3.Ast * 2)(a.ast, b.ast)), a.ctx)


def _number_of_many(make: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: z3.ArithRef(make(a.ctx.ref(), 2, (z3.Ast * 2)(a.ast, b.ast)), a.ctx)


def _not(a: Any) -> Any:
    return z3.BoolRef(z3.Z3_mk_not(a.ctx.ref(), a.ast), a.ctx)


def if_(condition: Any, true: Any, false: Any) -> Any:
    kind = next(kind for kind in (z3.ArithRef, z3.BitVecRef, z3.BoolRef) if isinstance(true, kind))
    return kind(z3.Z3_mk_ite(true.ctx.ref(), condition.ast, true.ast, false.ast), true.ctx)


_and, _or = _formula_of_many(z3.Z3_mk_and), _formula_of_many(z3.Z3_mk_or)
_differ = _formula_of_many(z3.Z3_mk_distinct)
_same, _below, _at_most = _formula(z3.Z3_mk_eq), _formula(z3.Z3_mk_lt), _formula(z3.Z3_mk_le)


def _less(signed: bool, a: Any, b: Any) -> Any:
    return a < b if signed else z3.ULT(a, b)


def _less_equal(signed: bool, a: Any, b: Any) -> Any:
    return a <= b if signed else z3.ULE(a, b)


def _quotient(signed: bool, a: Any, b: Any) -> Any:
    if not signed:
        return if_(b == 0, b, z3.UDiv(a, b))
    rest = z3.SRem(a, b)
    return if_(b == 0, b, if_(rest < 0, if_(b < 0, a / b + 1, a / b - 1), a / b))


def _remainder(signed: bool, a: Any, b: Any) -> Any:
    if not signed:
        return if_(b == 0, b, z3.URem(a, b))
    rest = z3.SRem(a, b)
    return if_(b == 0, b, if_(rest < 0, if_(b < 0, rest - b, rest + b), rest))


def _right(signed: bool, a: Any, count: Any) -> Any:
    return a >> count if signed else z3.LShR(a, count)


def _shift_left(signed: bool, a: Any, count: Any) -> Any:
    return if_(count < 0, _right(True, a, -count), a << count) if signed else a << count


def _shift_right(signed: bool, a: Any, count: Any) -> Any:
    return if_(count < 0, a << -count, _right(True, a, count)) if signed else _right(False, a, count)


def bits_counted(word: Any, bits: int) -> Any:
    """How many bits a word has, as a word of so many bits."""
    ones = [z3.ZeroExt(bits - 1, z3.Extract(i, i, word)) for i in range(word.size())]
    while len(ones) > 1:
        ones = [a + b for a, b in zip(ones[::2], ones[1::2], strict=True)]
    return ones[0]


WRAP: dict[str, Callable[..., Any]] = {
    "+": lambda s, a, b: a + b,
    "-": lambda s, a, b: a - b,
    "*": lambda s, a, b: a * b,
    "//": _quotient,
    "%": _remainder,
    "min": lambda s, a, b: if_(_less(s, a, b), a, b),
    "max": lambda s, a, b: if_(_less(s, a, b), b, a),
    "neg": lambda s, a: -a,
    "abs": lambda s, a: if_(a < 0, -a, a) if s else a,
    "&": lambda s, a, b: a & b,
    "|": lambda s, a, b: a | b,
    "^": lambda s, a, b: a ^ b,
    "~": lambda s, a: ~a,
    "<<": _shift_left,
    ">>": _shift_right,
    "<": _less,
    "<=": _less_equal,
    ">": lambda s, a, b: _less(s, b, a),
    ">=": lambda s, a, b: _less_equal(s, b, a),
    "==": lambda s, a, b: a == b,
    "!=": lambda s, a, b: a != b,
}
"""Operations on bit-vectors; the first argument says whether the type is signed."""

EXACT: dict[str, Callable[..., Any]] = {
    "+": _number_of_many(z3.Z3_mk_add),
    "-": _number_of_many(z3.Z3_mk_sub),
    "*": _number_of_many(z3.Z3_mk_mul),
    "/": lambda a, b: a / b,
    "//": lambda a, b: if_(b == 0, b, a / b),
    "%": lambda a, b: if_(b == 0, b, a % b),
    "min": lambda a, b: if_(_below(a, b), a, b),
    "max": lambda a, b: if_(_below(a, b), b, a),
    "neg": lambda a: -a,
    "abs": lambda a: if_(a < 0, -a, a),
    "<": _below,
    "<=": _at_most,
    ">": lambda a, b: _below(b, a),
    ">=": lambda a, b: _at_most(b, a),
    "==": _same,
    "!=": _differ,
}
"""Operations on unbounded integers and reals that have a faithful term."""

BOOL: dict[str, Callable[..., Any]] = {
    "and": _and, "&": _and, "min": _and, "or": _or, "|": _or, "max": _or,
    "^": _differ, "!=": _differ, "==": _same, "not": _not, "~": _not,
    "<": lambda a, b: _and(_not(a), b), "<=": lambda a, b: _or(_not(a), b),
    ">": lambda a, b: _and(a, _not(b)), ">=": lambda a, b: _or(a, _not(b)),
}  # fmt: skip
