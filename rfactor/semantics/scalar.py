"""Expressions evaluated at one point, in plain Python: the reference meaning of every operation (wrap, IEEE).

Values are Python's own: `bool`, `int` in the type's range, `float` exactly representable in the type. Written apart
from the array evaluator on purpose, so that each can be tested against the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rfactor.errors import BufferError
from rfactor.ir import bfloat
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.types import Type

Read = Callable[[str, int, tuple[int, ...]], Value]
"""The value of component `index` of the function or image `name` at a point: `read(name, index, point)`."""
Rule = Callable[..., Value]
"""From the values of operands to the value of an operation."""


def rounded(type: Type, value: float | int) -> float:
    """`value` rounded once to the float type."""
    if type.is_bfloat:
        return bfloat.nearest(value)
    with np.errstate(over="ignore"):
        if isinstance(value, int):
            return float(np.asarray(value).astype(dtype_of(type)))
        return float(dtype_of(type).type(value))


def to_type(type: Type, value: Value) -> Value:
    """`value` cast to `type`: integers wrap; float to int truncates and saturates, NaN gives 0; to bool is `!= 0`."""
    if type.is_bool:
        return value != 0
    if type.is_float:
        return rounded(type, int(value) if isinstance(value, bool) else value)
    if isinstance(value, float):
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return type.max if value > 0 else type.min
        return min(max(math.trunc(value), int(type.min)), int(type.max))
    return type.wrap(int(value))


def _euclid(a: int, b: int) -> tuple[int, int]:
    if b == 0:
        return 0, 0
    remainder = a % abs(b)
    return (a - remainder) // b, remainder


def _shifted(type: Type, a: int, count: int) -> int:
    """`a` moved left by `count` bits, right if negative, at the type's width."""
    if count >= 0:
        return a << count if count < type.bits else 0
    return a >> min(-count, type.bits)


def _least(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    if a == b:
        return a if math.copysign(1.0, a) < 0 else b
    return min(a, b)


def _divided(a: float, b: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(a) / np.float64(b))


_COMPARISONS: dict[str, Rule] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "select": lambda c, a, b: a if c else b,
}
_BOOLEANS: dict[str, Rule] = {
    "min": lambda a, b: a and b,
    "max": lambda a, b: a or b,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "~": lambda a: not a,
}
_FLOATS: dict[str, Rule] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "neg": lambda a: -a,
    "abs": abs,
    "min": _least,
    "max": lambda a, b: -_least(-a, -b),
}
_INTEGERS: dict[str, Rule] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: _euclid(a, b)[0],
    "%": lambda a, b: _euclid(a, b)[1],
    "neg": lambda a: -a,
    "abs": abs,
    "min": min,
    "max": max,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "~": lambda a: ~a,
}


def rule_of(expr: Op) -> Rule:
    """What `expr.op` does to the values of its operands, one lane each."""
    op, type_ = expr.op, expr.type.element
    if op == "cast":
        return lambda a: to_type(type_, a)
    if op in _COMPARISONS:
        return _COMPARISONS[op]
    if type_.is_bool:
        return _BOOLEANS[op]
    if type_.is_float:
        exact = _FLOATS[op]
        return exact if type_.bits == 64 else lambda *args: rounded(type_, exact(*args))
    if op in ("<<", ">>"):
        sign = 1 if op == "<<" else -1
        return lambda a, count: type_.wrap(_shifted(type_, a, sign * count))
    whole = _INTEGERS[op]
    return lambda *args: type_.wrap(int(whole(*args)))


def intrinsic_of(expr: Call) -> Rule:
    """Intrinsics are the array evaluator's: there is one routine for each."""
    arguments = tuple(Var(arg.type.element, f"a{i}") for i, arg in zip(range(len(expr.args)), expr.args, strict=True))
    call = Call(expr.type.element, expr.name, arguments)

    def rule(*values: Value) -> Value:
        env = {var.name: np.array([value], dtype_of(var.type)) for var, value in zip(arguments, values, strict=True)}
        value: Value = evaluate(call, env)[0].item()
        return value

    return rule


@dataclass(frozen=True, slots=True)
class Program:
    """Expressions as a list of steps, each the value of one distinct node."""

    size: int
    constants: tuple[tuple[int, Value], ...]
    variables: tuple[tuple[int, str], ...]
    steps: tuple[tuple[int, Rule | None, str, int, tuple[int, ...]], ...]
    """Slot, rule, and for a read (no rule) the name and component; the slots of the operands."""
    results: tuple[int, ...]

    def run(self, env: Mapping[str, Value], read: Read) -> tuple[Value, ...]:
        """The values of the expressions with the variables in `env`. Strict: every read is made."""
        slots: list[Value] = [0] * self.size
        for slot, value in self.constants:
            slots[slot] = value
        for slot, name in self.variables:
            slots[slot] = env[name]
        for slot, rule, name, index, operands in self.steps:
            values = [slots[operand] for operand in operands]
            slots[slot] = read(name, index, tuple(map(int, values))) if rule is None else rule(*values)
        return tuple(slots[slot] for slot in self.results)


def program(exprs: Sequence[Expr]) -> Program:
    """The expressions made ready to be evaluated many times."""
    slots: dict[Expr, int] = {}
    constants: list[tuple[int, Value]] = []
    names: list[tuple[int, str]] = []
    steps: list[tuple[int, Rule | None, str, int, tuple[int, ...]]] = []
    for expr in exprs:
        for node in walk(expr):
            if node in slots:
                continue
            slot = slots[node] = len(slots)
            operands = tuple(slots[child] for child in node.children)
            if isinstance(node, Const):
                constants.append((slot, node.value))
            elif isinstance(node, Var):
                names.append((slot, node.name))
            elif isinstance(node, Op):
                steps.append((slot, rule_of(node), "", 0, operands))
            elif isinstance(node, Call):
                rule = intrinsic_of(node) if node.kind == "intrinsic" else None
                steps.append((slot, rule, node.name, node.index, operands))
            elif isinstance(node, Print):
                steps.append((slot, refusal_of(node) if isinstance(node, Refuse) else _first, "", 0, operands))
            else:
                raise TypeError(f"{type(node).__name__} is no expression of an algorithm")
    return Program(len(slots), tuple(constants), tuple(names), tuple(steps), tuple(slots[expr] for expr in exprs))


def _first(value: Value, *rest: Value) -> Value:
    return value


def refusal_of(node: Refuse) -> Rule:
    """The value, the condition, and what is told to the value. Raises `BufferError` where the condition holds."""

    def rule(value: Value, condition: Value, *told: Value) -> Value:
        if condition:
            raise BufferError(node.template.format(*told))
        return value

    return rule
