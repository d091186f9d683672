"""Terms of a sum that move together, and so are bounded together: a quotient and its remainder, the mean of two."""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.lower import affine
from rfactor.ir.expr import Const, Expr, Op


def joined_quotients(expr: Expr, filled: Callable[[Expr], Expr]) -> Expr:
    """`a - a // n * n` as `a % n`, `a - a % n` as `a // n * n`, and `a // n * n + a % n` as `a`: ends of what moves
    together are not apart.

    `filled` puts what names stand for in their place, as in the rest of `expr`.
    """
    terms, _ = affine.affine(expr)
    whole = dict(terms)
    for term, factor in terms:
        if not (isinstance(term, Op) and term.op in ("//", "%") and isinstance(term.args[1], Const)):
            continue
        dividend, count = filled(term.args[0]), int(term.args[1].value)
        if count <= 0:
            continue
        own = affine.affine(dividend)[0]
        if term.op == "%":
            if own and all(whole.get(part) == -factor * coefficient for part, coefficient in own):
                gone = affine.subtract(affine.scale(term, factor), affine.scale(dividend, factor))
                quotient = Op(term.type, "//", term.args)
                return affine.subtract(affine.subtract(expr, gone), affine.scale(quotient, factor * count))
            continue
        if factor % count:
            continue
        rest: Expr = Op(term.type, "%", term.args)
        times = factor // count
        found = next((one for one, own_ in terms if own_ == times and _is_rest(one, term, dividend, filled)), None)
        if found is not None:
            rest = found
            gone = affine.add(affine.scale(term, factor), affine.scale(rest, times))
            return affine.add(affine.subtract(expr, gone), affine.scale(dividend, times))
        if own and all(whole.get(part) == -times * coefficient for part, coefficient in own):
            gone = affine.subtract(affine.scale(term, factor), affine.scale(dividend, times))
            return affine.subtract(affine.subtract(expr, gone), affine.scale(rest, times))
    return expr


def _is_rest(rest: Expr, quotient: Op, dividend: Expr, filled: Callable[[Expr], Expr]) -> bool:
    """Whether `rest` is `dividend % n` for `quotient`, which is `dividend // n`: so it is of `dividend + 2*n` too."""
    if not (isinstance(rest, Op) and rest.op == "%" and rest.args[1] == quotient.args[1]):
        return False
    count = affine.constant_value(quotient.args[1])
    terms, constant = affine.affine(affine.subtract(filled(rest.args[0]), dividend))
    return bool(count) and all(number % count == 0 for number in (constant, *(factor for _, factor in terms)) if count)


def means(terms: affine.Terms) -> tuple[list[tuple[Expr, Expr, int]], affine.Terms]:
    """Means of two, each with its factor, among the terms of a sum, and the other terms.

    `(a & b) + ((a ^ b) >> 1)` and `(a | b) - ((a ^ b) >> 1)` lie between a and b, and leave their type nowhere.
    """
    left = dict(terms)
    found: list[tuple[Expr, Expr, int]] = []
    for term, factor in terms:
        if isinstance(term, Op) and term.op in ("&", "|") and term in left:
            apart = Op(term.type, "^", term.args)
            half = Op(term.type, ">>", (apart, Const(term.type, 1)))
            if left.get(half) == (factor if term.op == "&" else -factor):
                a, b = term.args
                found.append((a, b, factor))
                del left[term], left[half]
    return found, tuple(left.items())
