"""Values of real expressions with their slopes: exact, at points around which an expression is smooth."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Const, Expr, Op, Value, Var, walk
from rfactor.ir.meaning import Meaning

_SMOOTH = frozenset(("+", "-", "*", "neg", "abs", "min", "max", "select"))


class NotSmooth(Exception):
    """Of this expression, or around this point, no slope is known."""


@dataclass(frozen=True, slots=True)
class Sloped:
    """A real with its slopes along each of some directions."""

    value: Fraction
    slopes: tuple[Fraction, ...]

    def plus(self, other: Sloped, sign: int = 1) -> Sloped:
        """The sum, or the difference."""
        slopes = tuple(a + sign * b for a, b in zip(self.slopes, other.slopes, strict=True))
        return Sloped(self.value + sign * other.value, slopes)

    def times(self, other: Sloped) -> Sloped:
        """The product."""
        pairs = zip(self.slopes, other.slopes, strict=True)
        return Sloped(self.value * other.value, tuple(a * other.value + self.value * b for a, b in pairs))


Sample = Sloped | bool | int
"""A real with its slopes, or another value, which is the same all around."""


def everywhere_defined(expr: Expr) -> bool:
    """Whether an expression is one of those that `sloped` knows, which have a value for all reals."""
    return all(_known(node) for node in walk(expr))


def _known(node: Expr) -> bool:
    if isinstance(node, Const):
        return math.isfinite(node.value)
    if isinstance(node, Var):
        return True
    if not isinstance(node, Op):
        return False
    if node.op in ("/", "//", "%"):
        return isinstance(node.args[1], Const) and node.args[1].value != 0
    if node.type.is_float:
        return node.op in _SMOOTH or (node.op == "cast" and not node.args[0].type.is_float)
    return node.op != "cast" or not node.args[0].type.is_float


def sloped(expr: Expr, values: Mapping[str, Sample], width: int, decimal: bool = False) -> Sample:
    """The value of an expression that is `everywhere_defined`, with its slopes along `width` directions.

    Literals are the floats that they are, or with `decimal` the decimal numbers that are written. Raises `NotSmooth`
    where a comparison of reals may turn.
    """
    known: dict[Expr, Sample] = {}
    for node in walk(expr):
        if isinstance(node, Const):
            number = Fraction(str(node.value)) if decimal and node.type.is_float else node.value
            known[node] = real(number, width) if node.type.is_float else _plain(node.value)
        else:
            known[node] = _node(node, known, values, width)
    return known[expr]


def real(value: Value | Fraction, width: int) -> Sloped:
    """A number that does not depend on anything."""
    return Sloped(Fraction(value), (Fraction(0),) * width)


def _node(node: Expr, known: Mapping[Expr, Sample], values: Mapping[str, Sample], width: int) -> Sample:
    if isinstance(node, Var):
        return values[node.name]
    assert isinstance(node, Op)
    args = [known[arg] for arg in node.args]
    if node.op == "select":
        return args[1] if args[0] else args[2]
    if node.op == "cast" and node.type.is_float:
        (number,) = args
        assert not isinstance(number, Sloped)
        return real(number, width)
    one = args[0]
    if isinstance(one, Sloped):
        return _of_reals(node, one, args[1] if len(args) > 1 else one)
    plain = tuple(Const(arg.type, value) for arg, value in zip(node.args, args, strict=True))  # type: ignore[arg-type]
    return _plain(evaluate_scalar(Op(node.type, node.op, plain), {}, Meaning.WRAP))


def _plain(value: Value) -> bool | int:
    assert not isinstance(value, float)
    return value


def _of_reals(node: Op, one: Sloped, other: Sample) -> Sample:
    assert isinstance(other, Sloped)
    op = node.op
    if op in ("+", "-"):
        return one.plus(other, 1 if op == "+" else -1)
    if op == "*":
        return one.times(other)
    if op == "/":
        return Sloped(one.value / other.value, tuple(a / other.value for a in one.slopes))
    if op == "neg":
        return Sloped(-one.value, tuple(-a for a in one.slopes))
    if op == "abs":
        if one.value == 0:
            raise NotSmooth
        return one if one.value > 0 else Sloped(-one.value, tuple(-a for a in one.slopes))
    if one.value == other.value and node.args[0] != node.args[1]:
        raise NotSmooth
    if op in ("min", "max"):
        return one if (one.value < other.value) == (op == "min") else other
    return _compared(op, one.value, other.value)


def _compared(op: str, one: Fraction, other: Fraction) -> bool:
    if op in ("==", "!="):
        return (one == other) == (op == "==")
    if op in ("<", ">"):
        return one < other if op == "<" else one > other
    return one <= other if op == "<=" else one >= other


def rank(rows: Sequence[Sequence[Fraction]]) -> int:
    """The rank of a matrix."""
    left = [list(row) for row in rows if any(row)]
    found = 0
    while left:
        pivot = left.pop()
        at = next((i for i, value in enumerate(pivot) if value), None)
        if at is None:
            continue
        found += 1
        for row in left:
            if row[at]:
                factor = row[at] / pivot[at]
                for i, value in enumerate(pivot):
                    row[i] -= factor * value
    return found
