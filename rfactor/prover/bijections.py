"""Claims about `-x`, `~x` or `x + 5` alone, read as claims about any value: one-to-one maps of a type onto itself.

Where `x` occurs as `~x` only, what holds for every `~x` holds for every value. Two sides that end in the same such map
are equal where its operands are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, is_held, replace, transform, walk
from rfactor.ir.meaning import Meaning

Pair = tuple[Expr, Expr]
_OF_INTEGERS, _OF_REALS = frozenset(("neg", "~", "+", "-")), frozenset(("neg", "+", "-"))


def mapped(expr: Expr, meaning: Meaning) -> Expr | None:
    """The operand of a map of one operand and literals that takes each value of its type once; None for others."""
    if not isinstance(expr, Op):
        return None
    type_ = expr.type
    operands = [arg for arg in expr.args if not isinstance(arg, Const)]
    literals = [arg.value for arg in expr.args if isinstance(arg, Const)]
    if len(operands) != 1 or operands[0].type != type_ or not all(map(math.isfinite, literals)):
        return None
    if type_.is_bool:
        known = expr.op == "not"
    elif type_.is_float:
        known = expr.op in _OF_REALS or (expr.op == "*" and literals[0] != 0)
    elif meaning is Meaning.WRAP:
        known = expr.op in _OF_INTEGERS or expr.op == "^"
    else:
        known = expr.op in _OF_INTEGERS and type_.is_signed
    return operands[0] if known else None


def inverse(expr: Expr, operand: Expr) -> Expr | None:
    """What the inverse of the map in `expr` does to its operand, where literals are enough to write it."""
    assert isinstance(expr, Op)
    op, type_ = expr.op, expr.type
    if len(expr.args) == 1 or op == "^" or (op == "-" and expr.args[1] == operand):
        return expr
    literal = next(arg for arg in expr.args if isinstance(arg, Const))
    if op == "*":
        factor = 1 / Fraction(literal.value)
        return apply("*", operand, const(type_, float(factor))) if is_held(type_, factor) else None
    return apply("-" if op == "+" else "+", operand, literal)


def cancelled(expr: Expr, meaning: Meaning) -> Expr:
    """`expr` where nothing is left of a map that follows its inverse."""

    def rule(node: Expr) -> Expr | None:
        first = mapped(node, meaning)
        second = None if first is None else mapped(first, meaning)
        if first is None or second is None:
            return None
        return second if inverse(first, second) == replace(node, {first: second}) else None

    return transform(expr, rule)


def without_bijections(
    pairs: Sequence[Pair], assumptions: tuple[Expr, ...], meaning: Meaning
) -> tuple[list[Pair], tuple[Expr, ...]] | None:
    """The claim without maps that say nothing; None where there are none."""
    ends = [_without_ends((cancelled(a, meaning), cancelled(b, meaning)), meaning) for a, b in pairs]
    whole = [*(e for pair in ends for e in pair), *assumptions]
    nodes = dict.fromkeys(node for e in whole for node in walk(e))
    readers: dict[Expr, set[Expr | None]] = {e: {None} for e in whole if isinstance(e, Var)}
    for node in nodes:
        for child in node.children:
            if isinstance(child, Var):
                readers.setdefault(child, set()).add(node)
    values: dict[Expr, Expr] = {}
    for var, found in readers.items():
        (reader, *more) = found
        if not more and reader is not None and isinstance(var, Var) and mapped(reader, meaning) == var:
            values[reader] = Var(var.type, f"{var.name} mapped")
    if not values and ends == list(pairs):
        return None
    return [(replace(a, values), replace(b, values)) for a, b in ends], tuple(replace(e, values) for e in assumptions)


def _without_ends(pair: Pair, meaning: Meaning) -> Pair:
    a, b = pair
    while True:
        first, second = mapped(a, meaning), mapped(b, meaning)
        if first is None or second is None or replace(a, {first: second}) != b:
            return a, b
        a, b = first, second
