"""Coordinates without the clamps, remainders and casts that change nothing of them.

`clamp(r.y, 0, 255)`, `r.y % 256` and `i32(u8(r.y))` are `r.y` where `r.y` is over 0 to 255.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rfactor.ir.algorithm import ReductionVariable
from rfactor.ir.expr import Const, Expr, Op, Var, apply, rebuild
from rfactor.ir.types import I32, Type

Range = tuple[int, int]
"""The least and the greatest value; of a loop without iterations anything."""
_WHOLE = int(I32.min), int(I32.max)


class Number(NamedTuple):
    """The number that an expression of some type of integers is."""

    expr: Expr
    """i32."""
    low: int
    high: int


def constant_ranges(variables: Iterable[ReductionVariable]) -> dict[str, Range]:
    """The values of the variables whose ends are constants."""
    return {
        v.name: (int(v.min.value), int(v.min.value) + int(v.extent.value) - 1)
        for v in variables
        if isinstance(v.min, Const) and isinstance(v.extent, Const)
    }


def unclamped(coordinate: Expr, ranges: Mapping[str, Range]) -> Expr:
    """The i32 `coordinate`, for all values of the variables in `ranges`, without what changes nothing."""
    known: dict[Expr, Number | None] = {}
    pending = [coordinate]
    while pending:
        node = pending[-1]
        missing = [child for child in node.children if child not in known]
        if missing:
            pending += missing
        else:
            known[pending.pop()] = _number(node, [known[child] for child in node.children], ranges)
    found = known[coordinate]
    return coordinate if found is None else found.expr


def _number(node: Expr, parts: list[Number | None], ranges: Mapping[str, Range]) -> Number | None:
    """The number that `node` is, whose operands are `parts`; None where no expression of i32 is known to be it."""
    if not node.type.is_int or node.type.lanes != 1:
        return None
    if isinstance(node, Const):
        value = int(node.value)
        return Number(Const(I32, value), value, value) if _holds(I32, value, value) else None
    if isinstance(node, Op):
        whole = [part for part in parts if part is not None]
        found = _of_operation(node, whole) if len(whole) == len(parts) else None
        if found is not None and all(_holds(type_, found.low, found.high) for type_ in (node.type, I32)):
            return found
    if node.type != I32:
        return None
    low, high = _WHOLE
    if isinstance(node, Var):
        low, high = ranges.get(node.name, _WHOLE)
    elif isinstance(node, Op) and node.op == "cast" and _is_held(node.args[0].type):  # any other wraps
        low, high = int(node.args[0].type.min), int(node.args[0].type.max)
    operands = zip(node.children, parts, strict=True)
    same = tuple(part.expr if part is not None and child.type == I32 else child for child, part in operands)
    return Number(rebuild(node, same) if same else node, low, high)


def _of_operation(node: Op, parts: list[Number]) -> Number | None:
    """The number that an operation gives where its type and i32 hold it; None where that is not known."""
    if node.op == "cast":
        return parts[0]
    if len(parts) != 2:
        return None
    (a, low, high), (b, least, most) = parts
    match node.op:
        case "+":
            return Number(apply("+", a, b), low + least, high + most)
        case "-":
            return Number(apply("-", a, b), low - most, high - least)
        case "*":
            products = (low * least, low * most, high * least, high * most)
            return Number(apply("*", a, b), min(products), max(products))
        case "min" | "max":
            first, last = parts if node.op == "min" else parts[::-1]
            if high <= least or most <= low:
                return first if high <= least else last
            extreme = min if node.op == "min" else max
            return Number(apply(node.op, a, b), extreme(low, least), extreme(high, most))
        case "%" if least == most > 0:
            return parts[0] if low >= 0 and high < least else Number(apply("%", a, b), 0, least - 1)
        case "//" if least == most > 0:
            return Number(apply("//", a, b), low // least, high // least)
    return None


def _holds(type: Type, low: int, high: int) -> bool:
    return int(type.min) <= low and high <= int(type.max)


def _is_held(type: Type) -> bool:
    """Whether i32 holds all numbers of a type."""
    return type.is_int and _holds(I32, int(type.min), int(type.max))
