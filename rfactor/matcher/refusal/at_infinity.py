"""Where a step leads from infinite states, by signs alone: what is infinite after it, and what the data still move.

What is no number (inf - inf) is a value like others, that does not vary.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.update import Update


@dataclass(frozen=True, slots=True)
class Size:
    """What is known of a real: None is "not known"."""

    infinite: bool | None
    sign: int | None
    """1, -1, or 0, which no infinite one has."""
    varies: bool
    """Whether it may change with the data, where it is finite."""


State = tuple[Size | None, ...]
"""None for parts that are no reals: nothing is known of them but that data change them at boundaries alone."""


@dataclass(frozen=True, slots=True)
class Case:
    """Starts with some infinite parts."""

    start: State
    is_one_start: bool
    """Whether they are one start, or as many as other parts have values."""


def cases(update: Update) -> list[Case]:
    """All infinite starts, by the signs of their parts."""
    kinds = [(True, 1), (True, -1), (False, 1), (False, -1), (False, 0)]
    choices = [
        [Size(infinite, sign, False) for infinite, sign in kinds] if t.is_float else [None] for t in update.types
    ]
    found = []
    for start in itertools.product(*choices):
        reals = [size for size in start if size is not None]
        if any(size.infinite for size in reals):
            found.append(Case(start, all(size.infinite or size.sign == 0 for size in reals)))
    return found


def varying_after(update: Update, state: State, datum: Mapping[str, Value]) -> tuple[State, int] | None:
    """The state after data with the signs of these, and how many of its reals the data may move.

    None where it may have no value. Integers and truth values are as in the datum.
    """
    given: dict[str, Size | bool | None] = {f"x{i}": size for i, size in enumerate(state)}
    for name, value in datum.items():
        if isinstance(value, float):
            given[name] = Size(False, (value > 0) - (value < 0), True)
        else:
            given[name] = value if isinstance(value, bool) else None
    try:
        after = tuple(_of(component, given) for component in update.components)
    except _NoValue:
        return None
    sizes = tuple(size if isinstance(size, Size) else None for size in after)
    return sizes, sum(size is not None and size.varies and size.infinite is not True for size in sizes)


class _NoValue(Exception):
    """There may be none."""


NO_NUMBER = Size(True, None, False)
"""That object alone: an infinite part of unknown sign is equal to it."""


_Known = Size | bool | None


def _of(expr: Expr, given: Mapping[str, _Known]) -> _Known:
    known: dict[Expr, _Known] = {}
    for node in walk(expr):
        if isinstance(node, Const):
            known[node] = _literal(node)
        elif isinstance(node, Var):
            known[node] = given[node.name]
        else:
            args = [known[arg] for arg in node.children]
            known[node] = _node(node, args) if isinstance(node, Op) else _called(node, args)
    return known[expr]


def _literal(node: Const) -> _Known:
    if node.type.is_float:
        return Size(False, (node.value > 0) - (node.value < 0), False)
    return bool(node.value) if node.type.is_bool else None


def _node(node: Op, args: list[_Known]) -> _Known:
    op = node.op
    if op == "select":
        return _chosen(args[0], args[1], args[2])
    if op == "not":
        return None if args[0] is None else not args[0]
    if op in ("and", "or"):
        end = op == "or"
        return end if end in [a for a in args if isinstance(a, bool)] else None if None in args else not end
    if any(arg is NO_NUMBER for arg in args):
        return None if node.type.is_bool else NO_NUMBER
    one = args[0]
    if not isinstance(one, Size):
        return Size(False, None, False) if node.type.is_float else None  # a number made of integers
    other = args[1] if len(args) > 1 else one
    assert isinstance(other, Size)
    if node.type.is_bool:
        return _compared(op, one, other)
    return _real(op, one, other, same=len(node.args) > 1 and node.args[0] == node.args[1])


def _called(node: Expr, args: list[_Known]) -> Size:
    """A function that is smooth at all reals, of one real."""
    assert isinstance(node, Call)
    (one,) = args
    assert isinstance(one, Size)
    if one is NO_NUMBER:
        return one
    if node.name in ("sin", "cos"):
        return NO_NUMBER if one.infinite else Size(one.infinite, None, one.varies)
    if node.name != "exp":  # odd and bounded
        return Size(False, one.sign, one.varies and one.infinite is not True)
    if not one.infinite:
        return Size(False, 1, one.varies) if one.infinite is False else Size(None, None, one.varies)
    return Size(None, None, False) if one.sign is None else Size(one.sign > 0, 1 if one.sign > 0 else 0, False)


def _chosen(condition: _Known, one: _Known, other: _Known) -> _Known:
    if isinstance(condition, bool):
        return one if condition else other
    if not isinstance(one, Size) or not isinstance(other, Size):
        return one if one == other else None
    return _either(one, other)


def _either(one: Size, other: Size) -> Size:
    return Size(
        one.infinite if one.infinite == other.infinite else None,
        one.sign if one.sign == other.sign else None,
        one.varies or other.varies,
    )


def _below(one: Size, other: Size) -> bool | None:
    """Whether the one is less than the other."""
    if one.sign is not None and other.sign is not None:
        if one.sign != other.sign:
            return one.sign < other.sign
        if one.sign == 0 or (one.infinite and other.infinite):
            return False
    for size, answer in ((one, _by_side(one, True)), (other, _by_side(other, False))):
        against = other if size is one else one
        if size.infinite and against.infinite is False and answer is not None:
            return answer
    return None


def _by_side(size: Size, left: bool) -> bool | None:
    """Whether an infinite number on this side of a finite one makes the left the less."""
    return None if size.sign is None else (size.sign < 0) == left


def _compared(op: str, one: Size, other: Size) -> bool | None:
    if op in (">", "<="):
        one, other = other, one
    less = _below(one, other)
    if op in ("<", ">"):
        return less
    if op in ("<=", ">="):
        return None if less is None else not less
    more = _below(other, one)
    if less or more:
        return op == "!="
    return None if less is None or more is None else op == "=="


def _real(op: str, one: Size, other: Size, same: bool) -> Size:
    if op == "neg":
        return Size(one.infinite, None if one.sign is None else -one.sign, one.varies)
    if op == "abs":
        return Size(one.infinite, None if one.sign is None else abs(one.sign), one.varies)
    if op == "-":
        other = _real("neg", other, other, False)
    if op in ("+", "-"):
        return _sum(one, other)
    if op in ("min", "max"):
        less = _below(one, other)
        if less is not None:
            return one if less == (op == "min") else other
        end = -1 if op == "min" else 1
        either = _either(one, other)
        return replace(either, sign=end) if end in (one.sign, other.sign) else either
    if op == "/":
        return Size(one.infinite, _sign(one, other), one.varies)
    assert op == "*"
    return Size(one.infinite, None if one.sign is None else abs(one.sign), one.varies) if same else _product(one, other)


def _sum(one: Size, other: Size) -> Size:
    varies = one.varies or other.varies
    sign = one.sign if one.sign == other.sign or other.sign == 0 else other.sign if one.sign == 0 else None
    if one.infinite is False and other.infinite is False:
        return Size(False, sign, varies)
    if one.infinite is not False and other.infinite is not False:
        if one.infinite and other.infinite and one.sign and other.sign and one.sign != other.sign:
            return NO_NUMBER
        if one.sign is None or one.sign != other.sign:
            raise _NoValue
        return Size(True if one.infinite or other.infinite else None, sign, varies)
    far = other if one.infinite is False else one
    return Size(far.infinite, far.sign if far.infinite else sign, varies)


def _product(one: Size, other: Size) -> Size:
    sign, varies = _sign(one, other), one.varies or other.varies
    if one.infinite is False and other.infinite is False:
        return Size(False, sign, varies)
    if not all(size.sign or (size.sign is None and size.infinite) for size in (one, other)):
        raise _NoValue  # a factor that may be 0 beside one that may be infinite
    return Size(True if one.infinite or other.infinite else None, sign, varies)


def _sign(one: Size, other: Size) -> int | None:
    if one.sign == 0 or other.sign == 0:
        return 0
    return None if one.sign is None or other.sign is None else one.sign * other.sign
