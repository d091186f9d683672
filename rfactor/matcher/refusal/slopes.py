"""Values of real expressions with their slopes, at points around which an expression is smooth: exact, or between two
floats where there is an `exp`, a `sin` or the like.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.meaning import Meaning
from rfactor.prover.enclosure import Undecided, Within

Number = Fraction | Within
_SMOOTH = frozenset(("+", "-", "*", "neg", "abs", "min", "max", "select"))
_SLOPES: dict[str, Callable[[Within, Within], Number]] = {
    "exp": lambda v, of: of,
    "tanh": lambda v, of: 1 - of * of,
    "sin": lambda v, of: v.function("cos"),
    "cos": lambda v, of: -v.function("sin"),
    "atan": lambda v, of: 1 / (1 + v * v),
}
"""The slopes of functions that are smooth at all reals, given an argument and the value there."""


class NotSmooth(Exception):
    """Of this expression, or around this point, no slope is known."""


@dataclass(frozen=True, slots=True)
class Sloped:
    """A real with its slopes along each of some directions."""

    value: Number
    slopes: tuple[Number, ...]

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
    if isinstance(node, Call):
        return node.kind == "intrinsic" and node.name in _SLOPES
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
            try:
                known[node] = _node(node, known, values, width)
            except Undecided as error:
                raise NotSmooth from error
    return known[expr]


def real(value: Value | Fraction, width: int) -> Sloped:
    """A number that does not depend on anything."""
    return Sloped(Fraction(value), (Fraction(0),) * width)


def _node(node: Expr, known: Mapping[Expr, Sample], values: Mapping[str, Sample], width: int) -> Sample:
    if isinstance(node, Var):
        return values[node.name]
    if isinstance(node, Call):
        operand = known[node.args[0]]
        assert isinstance(operand, Sloped)
        return _of_function(node.name, operand)
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


def _of_function(name: str, operand: Sloped) -> Sloped:
    at = Within.of(operand.value)
    value = at.function(name)
    slope = _SLOPES[name](at, value)
    return Sloped(value, tuple(slope * along if along else Fraction(0) for along in operand.slopes))


def _compared(op: str, one: Number, other: Number) -> bool:
    if op in ("==", "!="):
        return (one == other) == (op == "==")
    if op in ("<", ">"):
        return one < other if op == "<" else one > other
    return one <= other if op == "<=" else one >= other


def rank(rows: Sequence[Sequence[Number]]) -> int:
    """The rank of a matrix; of numbers that are known between two floats, one that it has at least."""
    left = [list(row) for row in rows]
    found = 0
    while True:
        at = max(((_sure(v), i, j) for i, row in enumerate(left) for j, v in enumerate(row)), default=(0.0, 0, 0))
        if at[0] <= 0:
            return found
        found += 1
        pivot = left.pop(at[1])
        for row in left:
            if not _is_zero(row[at[2]]):
                factor = row[at[2]] / pivot[at[2]]
                for i, value in enumerate(pivot):
                    row[i] = row[i] - factor * value if i != at[2] else Fraction(0)


def _sure(value: Number) -> float:
    """How far a number is from 0 at least."""
    return value.magnitude if isinstance(value, Within) else float(value != 0)


def _is_zero(value: Number) -> bool:
    return not isinstance(value, Within) and value == 0
