"""Claims about `-x`, `~x` or `x ^ k` alone, read as claims about any value: one-to-one maps of a type onto itself.

Where `x` occurs as `~x` only, what holds for every `~x` holds for every value; the other operand of `x ^ k` may be
anything that does not depend on `x`. Two sides that end in the same such map are equal where its operands are. What is
read of numbers by their magnitude only, `abs(x)`, holds of any value that is not below 0. A magnitude of a product does
not depend on the signs of factors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, is_held, names, replace, transform, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import OPERATIONS

Pair = tuple[Expr, Expr]
_OF_INTEGERS, _OF_REALS, _OF_BOOLS = map(
    frozenset, (("neg", "~", "+", "-", "^"), ("neg", "+", "-"), ("not", "==", "!="))
)


def mapped(expr: Expr, meaning: Meaning) -> tuple[int, ...]:
    """The places of operands of which `expr` takes each value of its type once, whatever the other operand is."""
    if not isinstance(expr, Op) or len(expr.args) > 2 or any(arg.type != expr.type for arg in expr.args):
        return ()
    type_, op = expr.type, expr.op
    places = range(len(expr.args))
    if type_.is_bool:
        return tuple(places) if op in _OF_BOOLS else ()
    if type_.is_int and op in _OF_INTEGERS:
        return tuple(places) if meaning is Meaning.WRAP or type_.is_signed else ()
    if type_.is_int and (op != "*" or meaning is Meaning.MATH):
        return ()
    if type_.is_float and op == "neg":
        return (0,)
    literals = [(1 - at, arg.value) for at, arg in enumerate(expr.args) if isinstance(arg, Const)]
    if type_.is_int:
        return tuple(at for at, value in literals if int(value) % 2)
    known = op in _OF_REALS or op == "*"
    return tuple(at for at, value in literals if known and math.isfinite(value) and (op != "*" or value != 0))


def inverse(expr: Expr, place: int) -> Expr | None:
    """What the inverse of the map in `expr` does to the operand at `place`, where that can be written."""
    assert isinstance(expr, Op)
    op, type_, operand = expr.op, expr.type, expr.args[place]
    if len(expr.args) == 1 or op in ("^", "==", "!=") or (op == "-" and place == 1):
        return expr
    other = expr.args[1 - place]
    if op != "*":
        return apply("-" if op == "+" else "+", operand, other)
    assert isinstance(other, Const)
    if type_.is_int:
        return apply("*", operand, Const(type_, type_.wrap(pow(int(other.value), -1, 1 << type_.bits))))
    factor = 1 / Fraction(other.value)
    return apply("*", operand, const(type_, float(factor))) if is_held(type_, factor) else None


def cancelled(expr: Expr, meaning: Meaning) -> Expr:
    """`expr` where nothing is left of a map that follows its inverse."""

    def rule(node: Expr) -> Expr | None:
        for place in mapped(node, meaning):
            first = node.children[place]
            # For any operand v: at v = y alone, `y - (y + v)` reads as `(y + v) - y` does, which gives v back.
            any_ = Var(first.type, "any operand")
            then = replace_at(node, place, any_)
            for inner in mapped(first, meaning):
                back = inverse(replace_at(first, inner, any_), inner)
                if back is not None and then in _spellings(back):
                    return first.children[inner]
        return None

    return transform(expr, rule)


def _spellings(expr: Expr) -> tuple[Expr, ...]:
    """An operation with its operands in either order, where that is the same."""
    assert isinstance(expr, Op)
    turns = len(expr.args) == 2 and OPERATIONS[expr.op].commutative
    return (expr, Op(expr.type, expr.op, expr.args[::-1])) if turns else (expr,)


def replace_at(expr: Expr, place: int, operand: Expr) -> Op:
    """An operation with another operand at a place."""
    assert isinstance(expr, Op)
    return Op(expr.type, expr.op, tuple(operand if at == place else arg for at, arg in enumerate(expr.args)))


def without_bijections(
    pairs: Sequence[Pair], assumptions: tuple[Expr, ...], meaning: Meaning
) -> tuple[list[Pair], tuple[Expr, ...]] | None:
    """The claim without maps that say nothing; None where there are none."""
    before = None
    after = list(pairs), assumptions
    while after != before:
        before = after
        after = _freed(*before, meaning)
    return None if after == (list(pairs), assumptions) else after


def _freed(pairs: list[Pair], assumptions: tuple[Expr, ...], meaning: Meaning) -> tuple[list[Pair], tuple[Expr, ...]]:
    """The claim without the maps at its ends and those that are all that reads a variable."""

    def shorter(expr: Expr) -> Expr:
        return transform(cancelled(expr, meaning), _without_signs)

    ends = [_without_ends((shorter(a), shorter(b)), meaning) for a, b in pairs]
    whole = [*(e for pair in ends for e in pair), *assumptions]
    readers: dict[Expr, set[Expr | None]] = {e: {None} for e in whole if isinstance(e, Var)}
    for node in dict.fromkeys(node for e in whole for node in walk(e)):
        for child in node.children:
            if isinstance(child, Var):
                readers.setdefault(child, set()).add(node)
    values: dict[Expr, Expr] = {}
    known: list[Expr] = []
    for var, found in readers.items():
        (reader, *more) = found
        if more or reader is None or not isinstance(var, Var):
            continue
        image = Var(var.type, f"{var.name} mapped")
        places = [at for at in mapped(reader, meaning) if reader.children[at] == var]
        if len(places) == 1 and all(var.name not in names(e) for e in _others(reader, places[0])):
            values[reader] = image
        elif _is_magnitude(reader, meaning):
            values[reader] = image
            known.append(apply("<=", const(var.type, 0), image))
    given = tuple(replace(e, values) for e in assumptions)
    return [(replace(a, values), replace(b, values)) for a, b in ends], (*given, *known)


def _is_magnitude(expr: Expr, meaning: Meaning) -> bool:
    """Whether `expr` is the magnitude of a real or of an unbounded integer: it takes each value from 0 on."""
    unbounded = expr.type.is_float or (expr.type.is_signed and meaning is Meaning.MATH)
    return isinstance(expr, Op) and expr.op == "abs" and unbounded


def _without_signs(node: Expr) -> Expr | None:
    """A magnitude of a product without what turns the sign of a factor alone: |(-u) * |v|| = |u * v|, also where
    signed integers wrap, as |v| is v or -v there too."""
    if not isinstance(node, Op) or node.op != "abs" or node.type.code == "uint":
        return None
    inner = _unsigned(node.args[0])
    return None if inner == node.args[0] else apply("abs", inner)


def _unsigned(expr: Expr) -> Expr:
    if isinstance(expr, Op) and expr.op in ("neg", "abs"):
        return _unsigned(expr.args[0])
    if isinstance(expr, Op) and expr.op == "*":
        return apply("*", *map(_unsigned, expr.args))
    return expr


def _others(expr: Expr, place: int) -> list[Expr]:
    return [child for at, child in enumerate(expr.children) if at != place]


def _without_ends(pair: Pair, meaning: Meaning) -> Pair:
    a, b = pair
    while True:
        inner = next(filter(None, (_operands(a, b, at) for at in mapped(a, meaning))), None)
        if inner is None:
            return a, b
        a, b = inner


def _operands(a: Expr, b: Expr, place: int) -> Pair | None:
    """The operands at a place of two operations that differ in these alone."""
    assert isinstance(a, Op)
    if not isinstance(b, Op) or len(b.args) != len(a.args) or replace_at(a, place, b.args[place]) != b:
        return None
    return a.args[place], b.args[place]
