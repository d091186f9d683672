"""Products by literals as sums of shifted values, which a solver reads sooner beside operations on bits."""

from __future__ import annotations

from rfactor.ir.expr import Const, Expr, Op, apply, const, transform, walk

_DIGITS = 4
"""Most digits of a factor that is written by shifts."""


def with_shifts(expr: Expr) -> Expr:
    """Where bits are mixed, products by literals of few digits as sums of shifted values."""
    if not any(isinstance(node, Op) and node.op == "^" for node in walk(expr)):
        return expr

    def rule(node: Expr) -> Expr | None:
        if not isinstance(node, Op) or node.op != "*" or not node.type.is_int or not isinstance(node.args[1], Const):
            return None
        value, factor = node.args[0], int(node.args[1].value) % (1 << node.type.bits)
        total: Expr | None = None
        digits = 0
        for place in range(node.type.bits):
            if factor & 1:
                digit = 2 - factor % 4  # 1, or -1 at the end of a row of ones
                shifted = apply("<<", value, const(node.type, place)) if place else value
                total = apply("neg", shifted) if total is None and digit < 0 else total
                if total is None:
                    total = shifted
                elif digits:
                    total = apply("+" if digit > 0 else "-", total, shifted)
                digits, factor = digits + 1, factor - digit
            factor >>= 1
        return total if total is not None and digits <= _DIGITS else None

    return transform(expr, rule)
