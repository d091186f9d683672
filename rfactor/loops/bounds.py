"""Bounds of the state over all steps, so that conditions on Python's integers need not be looked at step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rfactor.ir.expr import Const, Expr, Op, Var, names
from rfactor.ir.types import Type

Range = tuple[float, float]
"""The least and the greatest value; Python integers where they are whole."""
_MOST = 1 << 62


def of_type(type_: Type) -> Range:
    """All values of a type."""
    if type_.is_bool:
        return 0, 1
    return (-math.inf, math.inf) if type_.is_float else (int(type_.min), int(type_.max))


def enclosure(expr: Expr, ranges: Mapping[str, Range], memo: dict[Expr, Range] | None = None) -> Range:
    """Bounds of an expression's value, where integers may wrap at their type; floats may be NaN besides."""
    memo = {} if memo is None else memo
    if expr not in memo:
        memo[expr] = _enclosure(expr, ranges, memo)
    return memo[expr]


def _enclosure(e: Expr, ranges: Mapping[str, Range], memo: dict[Expr, Range]) -> Range:
    whole = of_type(e.type)
    if isinstance(e, Const):
        return whole if e.value != e.value else (e.value, e.value)
    if isinstance(e, Var):
        return ranges.get(e.name, whole)
    if not isinstance(e, Op):
        return whole
    parts = [enclosure(a, ranges, memo) for a in e.args]
    if e.op == "select":
        if parts[0][0] == 1:
            return parts[1]
        if parts[0][1] == 0:
            return parts[2]
        return min(parts[1][0], parts[2][0]), max(parts[1][1], parts[2][1])
    if e.op == "cast":
        return _cast(e, parts[0], whole)
    found = _operation(e.op, parts, e)
    if found is None or any(v != v for v in found):
        return whole
    if e.type.is_float and not e.args[0].type.is_float:
        return whole
    return found if whole[0] <= found[0] and found[1] <= whole[1] else whole


def _cast(e: Op, part: Range, whole: Range) -> Range:
    source = e.args[0].type
    if e.type.is_float:
        if source.is_float:
            return part if e.type.bits >= source.bits else whole
        grow = 1 + 2.0**-20
        return tuple(float(v) * (grow if abs(v) > 1 << 24 else 1.0) for v in part)  # type: ignore[return-value]
    if e.type.is_bool:
        return (0, 0) if part == (0, 0) else (1, 1) if part[0] > 0 or part[1] < 0 else whole
    if source.is_float:
        return whole
    return part if whole[0] <= part[0] and part[1] <= whole[1] else whole


def _operation(op: str, parts: list[Range], e: Op) -> Range | None:
    if len(parts) == 1:
        (a,) = parts
        if op == "neg":
            return -a[1], -a[0]
        if op == "abs":
            return (max(0, a[0], -a[1]), max(abs(a[0]), abs(a[1])))
        if op == "not":
            return 1 - a[1], 1 - a[0]
        return (-a[1] - 1, -a[0] - 1) if op == "~" and e.type.is_signed else None
    a, b = parts
    float_operands = e.args[0].type.is_float
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    if op == "*":
        corners = [x * y for x in a for y in b]
        return None if any(c != c for c in corners) else (min(corners), max(corners))
    if op == "min":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "max":
        return max(a[0], b[0]), max(a[1], b[1])
    if op == "and":
        return min(a[0], b[0]), min(a[1], b[1])
    if op == "or":
        return max(a[0], b[0]), max(a[1], b[1])
    if op in ("<", "<=", ">", ">="):
        if op in (">", ">="):
            a, b, op = b, a, {">": "<", ">=": "<="}[op]
        surely = a[1] < b[0] if op == "<" else a[1] <= b[0]
        never = a[0] >= b[1] if op == "<" else a[0] > b[1]
        if surely and not (float_operands and not all(map(math.isfinite, (*a, *b)))):
            return 1, 1  # bounds that are finite exclude NaN
        return (0, 0) if never else (0, 1)
    if op == "==":
        return (0, 0) if a[1] < b[0] or b[1] < a[0] else (1, 1) if a == b and a[0] == a[1] else (0, 1)
    if op == "!=":
        return (
            (1, 1)
            if a[1] < b[0] or b[1] < a[0]
            else (0, 0)
            if a == b and a[0] == a[1] and not float_operands
            else (0, 1)
        )
    if op == "%" and b[0] > 0:
        return (a[0], a[1]) if a[0] >= 0 and a[1] < b[0] else (0, b[1] - 1)
    if op == "//" and b[0] > 0:
        corners = [x // y for x in a for y in b]
        return min(corners), max(corners)
    if op == "&" and (a[0] >= 0 or b[0] >= 0):
        tops = [r[1] for r in (a, b) if r[0] >= 0]
        return 0, min(tops)
    if op in ("|", "^") and a[0] >= 0 and b[0] >= 0:
        return 0, (1 << max(int(a[1]).bit_length(), int(b[1]).bit_length())) - 1
    if op == ">>" and b[0] >= 0:
        corners = [int(x) >> min(int(y), 63) for x in a for y in b]
        return min(corners), max(corners)
    if op == "<<" and b[0] >= 0 and b[1] <= 62:
        corners = [int(x) << int(y) for x in a for y in b]
        return min(corners), max(corners)
    return None


Growth = dict[int | None, Range]
"""What a step adds to a number of the state (by its place), or between which bounds it sets it (None)."""


def growth(e: Expr, group: set[int], ranges: Mapping[str, Range], memo: dict[Expr, Range]) -> Growth | None:
    """How an expression grows over the numbers `group` of the state; None where it does otherwise."""
    own = {f"x{k}" for k in group}
    if not names(e) & own:
        return {None: enclosure(e, ranges, memo)}
    if isinstance(e, Var):
        return {int(e.name[1:]): (0, 0)}
    if not isinstance(e, Op):
        return None
    if e.op == "cast" and e.type.is_int and isinstance(e.args[0], Var) and e.type.bits >= e.args[0].type.bits:
        return growth(e.args[0], group, ranges, memo)
    if e.op in ("+", "-"):
        a, b = (growth(x, group, ranges, memo) for x in e.args)
        if a is None or b is None:
            return None
        if set(b) == {None}:
            low, high = b[None]
            by = (low, high) if e.op == "+" else (-high, -low)
        elif set(a) == {None} and e.op == "+":
            by, a = a[None], b
        else:
            return None
        return {k: (r[0] + by[0], r[1] + by[1]) for k, r in a.items()}
    if e.op in ("min", "max", "select"):
        total: Growth = {}
        for arg in e.args[1:] if e.op == "select" else e.args:
            part = growth(arg, group, ranges, memo)
            if part is None:
                return None
            for k, r in part.items():
                known = total.get(k, r)
                total[k] = min(known[0], r[0]), max(known[1], r[1])
        return total
    return None


def over_steps(update: Sequence[Expr], start: Sequence[Range], steps: int, ranges: Mapping[str, Range]) -> list[Range]:
    """Bounds of each number of the state before, between and after `steps` steps, if no integer wraps in them."""
    count = len(update)
    reads = [{int(n[1:]) for n in names(e) if n[0] == "x" and n[1:].isdigit()} for e in update]
    reach = [set(r) for r in reads]
    for _ in range(count):
        for k in range(count):
            for j in list(reach[k]):
                reach[k] |= reach[j]
    bounds: dict[int, Range] = {}
    pending = set(range(count))
    while pending:
        ready = [k for k in pending if all(j in bounds or k in reach[j] for j in reach[k])]
        k = ready[0]
        group = {j for j in reach[k] if k in reach[j]} | {k}
        known = {**ranges, **{f"x{j}": r for j, r in bounds.items()}}
        found = _of_group(group, update, start, steps, known)
        for j in group:
            bounds[j] = found if found is not None and not update[j].type.is_bool else of_type(update[j].type)
        pending -= group
    return [bounds[k] for k in range(count)]


def _of_group(
    group: set[int], update: Sequence[Expr], start: Sequence[Range], steps: int, ranges: Mapping[str, Range]
) -> Range | None:
    memo: dict[Expr, Range] = {}
    low = min(start[k][0] for k in group)
    high = max(start[k][1] for k in group)
    down, up = 0.0, 0.0
    for k in group:
        if update[k].type.is_bool:
            continue
        if update[k].type.is_float:
            return None
        found = growth(update[k], group, ranges, memo)
        if found is None:
            return None
        for source, r in found.items():
            if source is None:
                low, high = min(low, r[0]), max(high, r[1])
            else:
                down, up = min(down, r[0]), max(up, r[1])
    result = low + steps * down, high + steps * up
    if not all(math.isfinite(v) for v in result) or max(map(abs, result)) >= _MOST:
        return None
    for k in group:
        least, most = of_type(update[k].type)
        if not update[k].type.is_bool and not (least <= result[0] and result[1] <= most):
            return None
    return result
