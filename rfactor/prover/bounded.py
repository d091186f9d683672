"""Machine integers that cannot overflow are integers: a claim about them is one about unbounded arithmetic.

Every part's interval is found from the variables' types and from assumptions of the form `c <= v` and `v <= c`. If
each lies within its type, wrapping never happens, and the claim may be proved under `math` with the ranges assumed.
Saturation through a wider type is the common case: the solver is quick on it there, and slow on its bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, rebuild, walk
from rfactor.ir.types import Type

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Unbounded:
    """A claim about machine integers as one about unbounded ones."""

    exprs: tuple[Expr, ...]
    assumptions: tuple[Expr, ...]
    ranges: tuple[Expr, ...]
    """The ranges of the variables, as conditions."""
    exact: bool
    """Whether nothing that may overflow became a variable, so that what is false of these integers is false."""


def without_overflow(exprs: Sequence[Expr], assumptions: Sequence[Expr]) -> Unbounded | None:
    """The same expressions over unbounded integers, if nothing in them or the assumptions can overflow; else None.

    A remainder by a literal of what may overflow is some number below it: a variable, the same for the same remainder.
    So is what lies between two literals.
    """
    reader = _Reader()
    for expr in (*exprs, *assumptions):
        for node in walk(expr):
            if isinstance(node, Var) and node.type.is_int:
                reader.intervals[node] = (int(node.type.min), int(node.type.max))
    for claim in (*assumptions, *assumptions):  # twice, for bounds that come through another variable
        _narrow(claim, reader.intervals)
    try:
        images = tuple(map(reader.image, exprs))
        assumed = tuple(map(reader.image, assumptions))
    except _MayOverflow:
        return None
    conditions: list[Expr] = []
    for var, (low, high) in reader.intervals.items():
        if isinstance(var, Var):
            conditions += [apply("<=", Const(var.type, low), var), apply("<=", var, Const(var.type, high))]
    return Unbounded(images, assumed, tuple(conditions), exact=not reader.met)


class _MayOverflow(Exception):
    """A part that may not fit its type, or that is not read."""


class _Reader:
    def __init__(self) -> None:
        self.intervals: dict[Expr, Interval] = {}
        self.images: dict[Expr, Expr] = {}
        self.met: dict[Expr, Var] = {}

    def image(self, expr: Expr) -> Expr:
        found = self.images.get(expr)
        if found is None:
            found = self.images[expr] = self.made(expr)
        return found

    def made(self, expr: Expr) -> Expr:
        if expr.type.is_float:
            raise _MayOverflow
        try:
            args = tuple(map(self.image, expr.children))
        except _MayOverflow:
            return self.within(expr)
        image = rebuild(expr, args) if args else expr
        if expr.type.is_int and image not in self.intervals:
            interval = _interval(image, self.intervals)
            if interval is None or not _fits(interval, expr.type):
                raise _MayOverflow
            self.intervals[image] = interval
        return image

    def within(self, expr: Expr) -> Expr:
        """A variable for what is within literal ends, though what it is made of may overflow."""
        interval = _literal_ends(expr)
        if interval is None:
            raise _MayOverflow
        var = Var(expr.type, f"within {len(self.met)}")
        self.met[expr] = var
        self.intervals[var] = interval
        return var


def _literal_ends(expr: Expr) -> Interval | None:
    """The ends of a remainder by a literal, or of an extremum of an extremum."""
    if not isinstance(expr, Op) or not expr.type.is_int or not isinstance(expr.args[-1], Const):
        return None
    inner, literal = expr.args[0], int(expr.args[-1].value)
    if expr.op == "%" and literal > 0:
        return 0, literal - 1
    if expr.op in ("min", "max") and isinstance(inner, Op) and isinstance(inner.args[-1], Const):
        other = int(inner.args[-1].value)
        if (expr.op, inner.op) == ("max", "min"):
            return literal, max(literal, other)
        if (expr.op, inner.op) == ("min", "max"):
            return min(literal, other), literal
    if expr.op == "min" and expr.type.code == "uint":
        return 0, literal
    return None


def _fits(interval: Interval, type_: Type) -> bool:
    return type_.min <= interval[0] and interval[1] <= type_.max


def _narrow(claim: Expr, known: dict[Expr, Interval]) -> None:
    """Use `c <= v`, `v <= c` or `v <= w`."""
    if not (isinstance(claim, Op) and claim.op == "<="):
        return
    low, high = claim.args
    if isinstance(low, Const) and high in known:
        known[high] = (max(known[high][0], int(low.value)), known[high][1])
    elif isinstance(high, Const) and low in known:
        known[low] = (known[low][0], min(known[low][1], int(high.value)))
    elif low in known and high in known:
        known[low] = (known[low][0], min(known[low][1], known[high][1]))
        known[high] = (max(known[high][0], known[low][0]), known[high][1])


def _interval(node: Expr, known: dict[Expr, Interval]) -> Interval | None:
    """The values of an integer part, exactly computed; None for operations that are not read."""
    if isinstance(node, Const):
        return int(node.value), int(node.value)
    if not isinstance(node, Op):
        return None
    if node.op == "select":
        (a, b), (c, d) = known[node.args[1]], known[node.args[2]]
        return min(a, c), max(b, d)
    if node.op == "cast":
        return (0, 1) if node.args[0].type.is_bool else known.get(node.args[0])
    operands = [known[arg] for arg in node.args if arg in known]
    if len(operands) != len(node.args):
        return None
    (a, b), (c, d) = operands[0], operands[-1]
    if node.op == "+":
        return a + c, b + d
    if node.op == "-":
        return a - d, b - c
    if node.op == "neg":
        return -b, -a
    if node.op == "*":
        corners = (a * c, a * d, b * c, b * d)
        return min(corners), max(corners)
    if node.op == "min":
        return min(a, c), min(b, d)
    if node.op == "max":
        return max(a, c), max(b, d)
    if node.op == "%":
        return 0, max(abs(c), abs(d), 1) - 1
    if node.op == "//" and c > 0:
        return min(a // c, a // d), max(b // c, b // d)
    if node.op == "abs":
        return (0 if a <= 0 <= b else min(abs(a), abs(b))), max(abs(a), abs(b))
    return None
