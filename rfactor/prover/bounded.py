"""Machine integers that cannot overflow are integers: a claim about them is one about unbounded arithmetic.

Every part's interval is found from the variables' types and from assumptions of the form `c <= v` and `v <= c`. If
each lies within its type, wrapping never happens, and the claim may be proved under `math` with the ranges assumed.
Saturation through a wider type is the common case: the solver is quick on it there, and slow on its bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, rebuild, replace, walk
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import Type

Interval = tuple[int, int]
_OTHERWISE = {**OPPOSITE, "==": "!=", "!=": "=="}
_RELATIONS = frozenset(_OTHERWISE)


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
    So is what lies between two literals, or beside one. A branch of a choice need not overflow only where it is chosen.
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


def with_amounts(exprs: Sequence[Expr]) -> tuple[tuple[Expr, ...], tuple[Expr, ...]] | None:
    """The expressions with a variable for each choice between literals that only truth values make, and its range.

    What holds for every amount in the range holds for those that are chosen. None where truth values choose anything
    else.
    """
    amounts: dict[Expr, Expr] = {}
    ranges: list[Expr] = []
    pending, seen = list(exprs), set[Expr]()
    while pending:
        node = pending.pop()
        if node in seen:
            continue
        seen.add(node)
        if _is_amount(node):
            var = amounts[node] = Var(node.type, f"amount {len(amounts)}")
            ends = [int(part.value) for part in walk(node) if isinstance(part, Const) and part.type == node.type]
            ranges += [apply("<=", Const(node.type, min(ends)), var), apply("<=", var, Const(node.type, max(ends)))]
        elif isinstance(node, Var) and node.type.is_bool:
            return None
        else:
            pending += node.children
    return (tuple(replace(e, amounts) for e in exprs), tuple(ranges)) if amounts else None


def _is_amount(expr: Expr) -> bool:
    """Whether an integer is one of several literals, by choices that read truth values alone."""
    if not (isinstance(expr, Op) and expr.op == "select" and expr.type.is_int):
        return False
    condition, *branches = expr.args
    logical = all(node.type.is_bool for node in walk(condition))
    return logical and all(isinstance(branch, Const) or _is_amount(branch) for branch in branches)


class _MayOverflow(Exception):
    """A part that may not fit its type, or that is not read."""


_DEEPEST = 4
"""Choices inside one another of which the branches are read on their own."""


class _Reader:
    def __init__(self, outer: _Reader | None = None) -> None:
        self.intervals: dict[Expr, Interval] = {} if outer is None else dict(outer.intervals)
        self.images: dict[Expr, Expr] = {} if outer is None else dict(outer.images)
        self.met: dict[Expr, Var] = {} if outer is None else outer.met
        self.depth: int = 0 if outer is None else outer.depth + 1

    def image(self, expr: Expr) -> Expr:
        found = self.images.get(expr)
        if found is None:
            found = self.images[expr] = self.made(expr)
        return found

    def made(self, expr: Expr) -> Expr:
        if expr.type.is_float:
            raise _MayOverflow
        low_bits = _low_bits(expr)
        if low_bits is not None:
            return self.image(low_bits)
        try:
            args = tuple(map(self.image, expr.children))
        except _MayOverflow:
            chosen = self.choice(expr)
            return self.within(expr) if chosen is None else chosen
        image = rebuild(expr, args) if args else expr
        if expr.type.is_int and image not in self.intervals:
            interval = _interval(image, self.intervals)
            if interval is None or not _fits(interval, expr.type):
                raise _MayOverflow
            self.intervals[image] = interval
        return image

    def choice(self, expr: Expr) -> Expr | None:
        """A choice between numbers, each of which is read where its condition holds; None where that is too little."""
        if not (isinstance(expr, Op) and expr.op == "select" and expr.type.is_int) or self.depth == _DEEPEST:
            return None
        branches: list[Expr] = []
        ends: list[int] = []
        try:
            condition = self.image(expr.args[0])
            for branch, holds in zip(expr.args[1:], (True, False), strict=True):
                there = _Reader(self)
                for part, low, high in _implied(condition, holds):
                    if part in there.intervals:
                        least, most = there.intervals[part]
                        least, most = max(least, low), min(most, high)
                        if least <= most:  # else the branch is never chosen
                            there.intervals[part] = least, most
                branches.append(there.image(branch))
                ends += there.intervals[branches[-1]]
        except _MayOverflow:
            return None
        for part, var in self.met.items():
            interval = _literal_ends(part)
            assert interval is not None
            self.intervals.setdefault(var, interval)
        image = rebuild(expr, (condition, *branches))
        self.intervals[image] = min(ends), max(ends)
        return image

    def within(self, expr: Expr) -> Expr:
        """A variable for what is within literal ends, though what it is made of may overflow."""
        interval = _literal_ends(expr)
        if interval is None:
            raise _MayOverflow
        var = self.met.setdefault(expr, Var(expr.type, f"within {len(self.met)}"))  # met in another branch too
        self.intervals[var] = interval
        return var


def _low_bits(expr: Expr) -> Expr | None:
    """A mask of the low bits as a remainder by a literal."""
    if not (isinstance(expr, Op) and expr.op == "&" and expr.type.is_int):
        return None
    for other, mask in (expr.args, expr.args[::-1]):
        if isinstance(mask, Const) and 0 < mask.value < mask.type.max and not int(mask.value) & (int(mask.value) + 1):
            return apply("%", other, Const(mask.type, int(mask.value) + 1))
    return None


def _literal_ends(expr: Expr) -> Interval | None:
    """The ends of a remainder by a literal, or of an extremum of one and anything."""
    if not isinstance(expr, Op) or not expr.type.is_int or not isinstance(expr.args[-1], Const):
        return None
    inner, literal, type_ = expr.args[0], int(expr.args[-1].value), expr.type
    if expr.op == "%" and literal > 0:
        return 0, literal - 1
    if expr.op in ("min", "max") and isinstance(inner, Op) and isinstance(inner.args[-1], Const):
        other = int(inner.args[-1].value)
        if (expr.op, inner.op) == ("max", "min"):
            return literal, max(literal, other)
        if (expr.op, inner.op) == ("min", "max"):
            return min(literal, other), literal
    if expr.op == "min":
        return int(type_.min), literal
    return (literal, int(type_.max)) if expr.op == "max" else None


def _implied(condition: Expr, holds: bool) -> Iterator[tuple[Expr, int, int]]:
    """What a condition says of integers where it holds, or where it does not: parts with their ends."""
    if not isinstance(condition, Op):
        return
    op, args = condition.op, condition.args
    if op == "not" or (op in ("and", "or") and (op == "and") == holds):
        for arg in args:
            yield from _implied(arg, holds != (op == "not"))
        return
    if op not in _RELATIONS or not args[0].type.is_int:
        return
    if isinstance(args[0], Const):
        op, args = MIRRORED.get(op, op), args[::-1]
    if not isinstance(args[1], Const):
        return
    op, value = op if holds else _OTHERWISE[op], int(args[1].value)
    if op != "!=":
        low = value + (op == ">") if op in (">", ">=", "==") else int(args[0].type.min)
        high = value - (op == "<") if op in ("<", "<=", "==") else int(args[0].type.max)
        yield args[0], low, high


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
        one, other = node.args
        (low, high), (least, most) = _total(one, other, 1, known), _total(other, one, 1, known)
        return max(low, least), min(high, most)
    if node.op == "-":
        return _total(node.args[0], node.args[1], -1, known)
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


def _total(part: Expr, other: Expr, sign: int, known: dict[Expr, Interval]) -> Interval:
    """The values of `part + sign * other`, where the part may hold the other: `min(v, 100 - w) + w` is at most 100."""
    (a, b), (c, d) = known[part], known[other]
    low, high = (a + c, b + d) if sign > 0 else (a - d, b - c)
    if not isinstance(part, Op) or part.type != other.type:
        return low, high
    if part.op in ("min", "max", "select") and all(arg in known for arg in part.args[-2:]):  # not only where chosen
        ends = [_total(arg, other, sign, known) for arg in part.args[-2:]]
        lows, highs = zip(*ends, strict=True)
        least = max(lows) if part.op == "max" else min(lows)
        most = min(highs) if part.op == "min" else max(highs)
        return max(low, least), min(high, most)
    if part.op == ("-" if sign > 0 else "+") and part.args[1] == other:
        return known[part.args[0]]
    if part.op == "+" and sign < 0 and part.args[0] == other:
        return known[part.args[1]]
    return low, high
