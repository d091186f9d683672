"""Sums as coefficients: an expression of one ring type as `constant + sum(coefficient * atom)`.

Exact for integers: coefficients are taken modulo 2^width. For floats it is exact over the reals only, so it is used for
floats in canonical forms and never in code.
"""

from __future__ import annotations

from collections.abc import Iterable

from rfactor.ir.expr import Const, Expr, Op
from rfactor.ir.types import Type

Coefficient = int | float
Sum = tuple[dict[Expr, Coefficient], Coefficient]


def reduce(type: Type, value: Coefficient) -> Coefficient:
    """A coefficient in the type's ring: for integers the representative nearest to zero."""
    if type.is_float:
        return value
    modulus = 1 << type.bits
    value = int(value) % modulus
    return value - modulus if value > modulus // 2 else value


def linear(expr: Expr) -> Sum:
    """The atoms of `expr` with their coefficients, in order of first occurrence, and the constant."""
    terms, constant = collected(expr)
    reduced = {atom: c for atom, value in terms.items() if (c := reduce(expr.type, value)) != 0}
    return reduced, reduce(expr.type, constant)


def collected(expr: Expr) -> Sum:
    """As `linear`, over the integers where `expr` is of integers: coefficients may leave the type, and be 0."""
    terms: dict[Expr, Coefficient] = {}
    constant: Coefficient = 0
    stack: list[tuple[Expr, Coefficient]] = [(expr, 1)]
    while stack:
        node, factor = stack.pop()
        if isinstance(node, Const):
            constant += factor * node.value
            continue
        if isinstance(node, Op):
            args = node.args
            if node.op == "+":
                stack += [(args[1], factor), (args[0], factor)]
                continue
            if node.op == "-":
                stack += [(args[1], -factor), (args[0], factor)]
                continue
            if node.op == "neg":
                stack.append((args[0], -factor))
                continue
            if node.op == "*" and isinstance(args[1], Const):
                stack.append((args[0], factor * args[1].value))
                continue
            if node.op == "*" and isinstance(args[0], Const):
                stack.append((args[1], factor * args[0].value))
                continue
        terms[node] = terms.get(node, 0) + factor
    return terms, constant


def from_linear(type: Type, terms: Iterable[tuple[Expr, Coefficient]], constant: Coefficient) -> Expr:
    """The sum as an expression: additions first, then subtractions, the constant last."""
    items = list(terms)
    plus = [(atom, c) for atom, c in items if c > 0]
    minus = [(atom, -c) for atom, c in items if c < 0]
    result: Expr | None = None

    def term(atom: Expr, coefficient: Coefficient) -> Expr:
        return atom if coefficient == 1 else Op(type, "*", (atom, _constant(type, coefficient)))

    for atom, c in plus:
        result = term(atom, c) if result is None else Op(type, "+", (result, term(atom, c)))
    if result is None and minus and constant > 0:
        result, constant = _constant(type, constant), 0
    for atom, c in minus:
        if result is not None:
            result = Op(type, "-", (result, term(atom, c)))
        elif c == 1:
            result = Op(type, "neg", (atom,))
        else:
            result = Op(type, "*", (atom, _constant(type, -c)))
    if result is None:
        return _constant(type, constant)
    if constant > 0 or (constant and -constant > type.max):
        return Op(type, "+", (result, _constant(type, constant)))
    if constant < 0:
        return Op(type, "-", (result, _constant(type, -constant)))
    return result


def _constant(type: Type, value: Coefficient) -> Const:
    return Const(type, value if type.is_float else type.wrap(int(value)))
