"""Terms and conditions over unbounded integers, truth values and reals: how they are made and what they come to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from rfactor.ir.expr import Const, Expr, Op, Value, Var, walk
from rfactor.ir.types import BOOL, I64

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)


def integer(value: int) -> Expr:
    """A literal of any size."""
    if I64.min <= value <= I64.max:
        return Const(I64, value)
    high, low = divmod(value, 1 << 62)
    return plus(times(integer(high), integer(1 << 62)), integer(low))


def _number(op: str, a: Expr, b: Expr) -> Expr:
    return Op(I64, op, (a, b))


def plus(a: Expr, b: Expr) -> Expr:
    """`a + b`."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _folded("+", int(a.value) + int(b.value), a, b)
    return a if b == ZERO else b if a == ZERO else _number("+", a, b)


def minus(a: Expr, b: Expr) -> Expr:
    """`a - b`."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _folded("-", int(a.value) - int(b.value), a, b)
    return a if b == ZERO else _number("-", a, b)


def times(a: Expr, b: Expr) -> Expr:
    """`a * b`."""
    return _number("*", a, b)


def _folded(op: str, value: int, a: Expr, b: Expr) -> Expr:
    return Const(I64, value) if I64.min <= value <= I64.max else _number(op, a, b)


ZERO = Const(I64, 0)
ONE = Const(I64, 1)


def compare(op: str, a: Expr, b: Expr) -> Expr:
    """A comparison."""
    return Op(BOOL, op, (a, b))


def at_most(a: Expr, b: Expr) -> Expr:
    """`a <= b`."""
    return compare("<=", a, b)


def negation(a: Expr) -> Expr:
    """`not a`."""
    return FALSE if a == TRUE else TRUE if a == FALSE else Op(BOOL, "not", (a,))


def all_of(conditions: Iterable[Expr]) -> Expr:
    """The conjunction."""
    result: Expr = TRUE
    for one in conditions:
        result = one if result == TRUE else result if one == TRUE else Op(BOOL, "and", (result, one))
    return result


def any_of(conditions: Iterable[Expr]) -> Expr:
    """The disjunction."""
    result: Expr = FALSE
    for one in conditions:
        result = one if result == FALSE else result if one == FALSE else Op(BOOL, "or", (result, one))
    return result


def between(low: int, value: Expr, high: int) -> tuple[Expr, Expr]:
    """`low <= value` and `value <= high`."""
    return at_most(integer(low), value), at_most(value, integer(high))


def choice(condition: Expr, true: Expr, false: Expr) -> Expr:
    """`true` where `condition` holds, else `false`."""
    return true if true == false else Op(true.type, "select", (condition, true, false))


def evaluated(expr: Expr, model: Mapping[str, Value]) -> Value | None:
    """The value of a condition over unbounded integers; None where it speaks of reals or is beyond what is known."""
    found: dict[Expr, Value] = {}
    for node in walk(expr):
        if node.type.is_float:
            return None
        args = [found[child] for child in node.children]
        if isinstance(node, Const):
            found[node] = node.value
        elif isinstance(node, Var):
            found[node] = model.get(node.name, 0)
        elif isinstance(node, Op) and node.op in _VALUES:
            found[node] = _VALUES[node.op](*args)
        else:
            return None
    return found[expr]


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else (a - a % abs(b)) // b


_VALUES: dict[str, Callable[..., Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": _quotient,
    "%": lambda a, b: 0 if b == 0 else a % abs(b),
    "min": min,
    "max": max,
    "abs": abs,
    "select": lambda c, a, b: a if c else b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "&": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "not": lambda a: not a,
    "~": lambda a: not a,
}  # fmt: skip
