"""What integers leave by powers of two, and vectors inside of one multiple.

x*32 + y*8 + 3                ->   3 by 8
ramp(x*32, 1, 32) % 32        ->   ramp(0, 1, 32)
ramp(x*32 + 4, 2, 8) // 96    ->   (x*32 + 4) // 96, the same in all lanes

Powers of two divide what integers wrap by: all of it holds whatever the variables are.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from types import MappingProxyType

from rfactor.ir.expr import Const, Expr, Op, Var, walk
from rfactor.ir.loopnest import Ramp
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type

Rest = tuple[int, int]
"""A power of two, and what is left by it: from 0 on, less than it."""
Rests = Mapping[str, Rest]
"""Of variables, by name."""
NO_RESTS: Rests = MappingProxyType({})
_ANY: Rest = (1, 0)
_MOST = 1 << 12
"""No vector has more lanes."""


def rest(expr: Expr, known: Rests) -> Rest:
    """By the greatest power of two that is known of."""
    found = dict[Expr, Rest]()
    for node in walk(expr):
        power, left = _rest(node, [found[child] for child in node.children], known)
        power = min(power, _most(node.type))
        found[node] = power, left % power
    return found[expr]


def _most(type_: Type) -> int:
    """No more than half of what integers of the type wrap by: they have their sign in no multiple."""
    return min(_MOST, 1 << (type_.bits - 1)) if type_.is_int else 1


def _rest(node: Expr, operands: list[Rest], known: Rests) -> Rest:
    if isinstance(node, Const) and node.type.is_int:
        return _MOST, int(node.value)
    if isinstance(node, Var):
        return known.get(node.name, _ANY)
    if not isinstance(node, Op) or not node.type.is_int or node.type.lanes > 1:
        return _ANY
    if node.op == "cast" or node.op == "neg":
        ((power, left),) = operands
        return power, -left if node.op == "neg" else left
    if node.op in ("+", "-"):
        (power, first), (other, second) = operands
        return min(power, other), first + second if node.op == "+" else first - second
    if node.op == "*":
        (power, first), (other, second) = operands
        return gcd(power * other, power * second, other * first), first * second
    if node.op in ("min", "max", "select"):
        (power, first), (other, second) = operands[-2:]
        return gcd(power, other, first - second), first
    if node.op == "%" and isinstance(node.args[1], Const) and int(node.args[1].value) > 0:
        (power, left), _ = operands
        return gcd(power, int(node.args[1].value)), left
    return _ANY


def in_one_multiple(op: str, ramp: Ramp, count: Expr, known: Rests) -> Expr | None:
    """`ramp // count` or `ramp % count`, where all lanes are between two multiples next to each other of a power of two
    that divides `count`: one quotient, and remainders that are a ramp. None where that is not known."""
    if not (isinstance(count, Const) and isinstance(ramp.stride, Const) and int(count.value) > 0):
        return None
    power, left = rest(ramp.base, known)
    whole = gcd(power, int(count.value))
    first = left % whole
    if not 0 <= first + int(ramp.stride.value) * (ramp.type.lanes - 1) < whole:
        return None
    if op == "//":
        return simplify(Op(count.type, "//", (ramp.base, count)))
    low = Const(count.type, first) if whole == count.value else simplify(Op(count.type, "%", (ramp.base, count)))
    return Ramp(low, ramp.stride, ramp.type.lanes)


def never_wraps(ramp: Ramp) -> bool:
    """Whether it is known of a ramp that none of its lanes is beyond what its type holds."""
    base, stride = ramp.base, ramp.stride
    if not isinstance(stride, Const):
        return False
    if isinstance(base, Const):
        least = most = int(base.value)
    elif isinstance(base, Op) and base.op == "%" and isinstance(base.args[1], Const) and int(base.args[1].value) > 0:
        least, most = 0, int(base.args[1].value) - 1
    else:
        return False
    moved = int(stride.value) * (ramp.type.lanes - 1)
    return int(base.type.min) <= least + min(moved, 0) and most + max(moved, 0) <= int(base.type.max)
