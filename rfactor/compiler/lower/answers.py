"""What a condition that is known to hold, or not to, says of other conditions.

p > 73 holds                 p > 50 does, p == 9 does not
a and b hold                 a does, b does
a or b does not hold         neither does
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Const, Expr, Op, transform
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import BOOL

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)
_OPPOSITE = {**OPPOSITE, "==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Answers:
    """What is known of conditions."""

    conditions: dict[Expr, bool]
    """Whether they hold."""
    numbers: dict[Expr, tuple[int, int]]
    """The least and the greatest value of integers that were compared with numbers."""

    def of(self, condition: Expr) -> bool | None:
        """Whether `condition` holds; None where that is not known."""
        if condition in self.conditions:
            return self.conditions[condition]
        compared = _compared(condition)
        if compared is None or compared[1] not in self.numbers:
            return None
        relation, value, number = compared
        low, high = self.numbers[value]
        if relation in ("==", "!="):
            same = True if low == high == number else None if low <= number <= high else False
            return same if same is None or relation == "==" else not same
        least, greatest = _holding(relation, number, low, high)
        return True if (least, greatest) == (low, high) else False if least > greatest else None


def answers(condition: Expr, holds: bool) -> Answers:
    """What follows where `condition` holds, or does not."""
    found = Answers({}, {})
    for one, is_so in _parts(condition, holds):
        found.conditions[one] = is_so
        compared = _compared(one)
        if compared is None:
            continue
        relation, value, number = compared
        low, high = found.numbers.get(value, (int(value.type.min), int(value.type.max)))
        found.numbers[value] = _holding(relation if is_so else _OPPOSITE[relation], number, low, high)
    return found


def _parts(condition: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    yield condition, holds
    if isinstance(condition, Op) and condition.type.is_bool:
        if condition.op in (("and", "&") if holds else ("or", "|")):
            for one in condition.args:
                yield from _parts(one, holds)
        elif condition.op == "not":
            yield from _parts(condition.args[0], not holds)


def _compared(condition: Expr) -> tuple[str, Expr, int] | None:
    """The relation of an integer with a number, the integer and the number; None of anything else."""
    if not isinstance(condition, Op) or condition.op not in _OPPOSITE:
        return None
    relation, (a, b) = condition.op, condition.args
    if isinstance(a, Const):
        relation, a, b = MIRRORED.get(relation, relation), b, a
    return (relation, a, int(b.value)) if isinstance(b, Const) and b.type.is_int and b.type.lanes == 1 else None


def _holding(relation: str, number: int, low: int, high: int) -> tuple[int, int]:
    """The ends between `low` and `high` where the relation with `number` holds; of `!=` both."""
    if relation == "==":
        return max(low, number), min(high, number)
    if relation in ("<", "<="):
        return low, min(high, number - (relation == "<"))
    return (max(low, number + (relation == ">")), high) if relation in (">", ">=") else (low, high)


def assumed_of(function: Function, index: int, condition: Expr, value: Const) -> Function:
    """The function where `condition` is known to be true or false: stage `index` asks it no more."""
    stage = assumed(function.stages[index], condition, value)
    if index == 0:
        return replace(function, pure=stage)
    return replace(function, updates=(*function.updates[: index - 1], stage, *function.updates[index:]))


def assumed(stage: Definition, condition: Expr, value: Const) -> Definition:
    """The stage where `condition` is known to be true or false."""
    where = None if stage.where is None else answered(stage.where, condition, value)
    domain = stage.domain
    if domain is not None:
        domain = replace(domain, predicate=answered(domain.predicate, condition, value))
    values = tuple(answered(one, condition, value) for one in stage.values)
    return replace(stage, values=values, domain=domain, where=where)


def answered(expr: Expr, condition: Expr, value: Const) -> Expr:
    """`expr` where `condition` is known to be true or false."""

    told = answers(condition, value == TRUE)

    def known(node: Expr) -> Expr | None:
        holds = told.of(node) if node.type.is_bool else None
        if holds is not None:
            return TRUE if holds else FALSE
        if not isinstance(node, Op) or not {TRUE, FALSE} & {*node.args}:
            return None
        if node.op == "select" and node.args[0] in (TRUE, FALSE):
            return node.args[1 if node.args[0] == TRUE else 2]
        if node.type.is_bool and node.op in ("and", "&", "or", "|"):
            ends, (a, b) = FALSE if node.op in ("and", "&") else TRUE, node.args
            return ends if ends in node.args else b if a in (TRUE, FALSE) else a
        return (FALSE if node.args[0] == TRUE else TRUE) if node.op == "not" else None

    return transform(expr, known)
