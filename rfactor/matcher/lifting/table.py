"""Liftings of small automata: a run as the table of where it takes each state.

For up to three bools every state has a row. For an integer that the update only compares with literals, each literal
has a row, and all other values share one: they are either kept or sent to one value.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, transform, walk
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update, apply_update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_MOST_BOOLS, _MOST_LITERALS = 3, 8


def claims(update: Update) -> Iterator[Claim]:
    """The claim that the table of images is the state of a run."""
    if all(type_.is_bool for type_ in update.types):
        if len(update.types) <= _MOST_BOOLS:
            yield Claim(update, lift=_of_bools(update))
    elif len(update.types) == 1 and update.types[0].is_int:
        lift = _of_literals(update)
        if lift is not None:
            yield Claim(update, lift=lift)


def _of_bools(update: Update) -> Lift:
    count = len(update.types)
    states = list(itertools.product((False, True), repeat=count))
    data: list[Expr] = []
    for state in states:
        data += map(tidy, apply_update(update, [Const(BOOL, value) for value in state]))
    wide = (BOOL,) * len(data)
    first, second = operands("x", wide), operands("y", wide)

    def looked_up(table: tuple[Expr, ...], state: tuple[Expr, ...]) -> list[Expr]:
        def choice(i: int, at: int, low: int, high: int) -> Expr:
            if high - low == 1:
                return table[low * count + i]
            middle = (low + high) // 2
            return choose(state[at], choice(i, at + 1, middle, high), choice(i, at + 1, low, middle))

        return [choice(i, 0, 0, len(states)) for i in range(count)]

    operator: list[Expr] = []
    for row in range(len(states)):
        operator += looked_up(second, first[row * count : (row + 1) * count])
    identity = tuple(Const(BOOL, value) for state in states for value in state)
    return Lift(wide, tuple(data), tuple(operator), identity, tuple(looked_up(second, update.accumulators)))


def _of_literals(update: Update) -> Lift | None:
    (x,) = update.accumulators
    type_ = x.type
    literals = _compared(update.components[0], x)
    if literals is None or not 1 <= len(literals) <= _MOST_LITERALS:
        return None
    images = [tidy(apply_update(update, [literal])[0]) for literal in literals]
    elsewhere = tidy(transform(update.components[0], lambda node: _apart(node, x)))
    split = kept_or_sent(elsewhere, x)
    if split is None:
        return None
    kept, sent = split
    count = len(literals)
    wide = (type_,) * (count + 1) + (BOOL,)
    first, second = operands("x", wide), operands("y", wide)

    def moved(table: tuple[Expr, ...], value: Expr) -> Expr:
        result = choose(table[-1], value, table[count])
        for literal, image in zip(reversed(literals), reversed(table[:count]), strict=True):
            result = choose(apply("==", value, literal), image, result)
        return result

    operator = (
        *(moved(second, value) for value in first[:count]),
        choose(first[-1], second[count], moved(second, first[count])),
        apply("and", first[-1], second[-1]),
    )
    return Lift(
        wide, (*images, tidy(sent), tidy(kept)), operator, (*literals, nought(type_), TRUE), (moved(second, x),)
    )


def _compared(expr: Expr, x: Var) -> list[Const] | None:
    """The literals that x is compared with for equality; None if it is used in another way than being kept."""
    found: dict[Const, None] = {}
    for node in walk(expr):
        if not isinstance(node, Op) or x not in node.args:
            continue
        if node.op in ("==", "!="):
            other = node.args[1] if node.args[0] == x else node.args[0]
            if not isinstance(other, Const):
                return None
            found.setdefault(other)
        elif node.op != "select" or node.args[0] == x:
            return None
    return list(found)


def _apart(node: Expr, x: Var) -> Expr | None:
    """A comparison of x with a literal, where x is none of them."""
    if isinstance(node, Op) and node.op in ("==", "!=") and x in node.args:
        return Const(BOOL, node.op == "!=")
    return None


def kept_or_sent(expr: Expr, x: Var) -> tuple[Expr, Expr] | None:
    """When x is kept, and what it becomes otherwise; None if neither."""
    if expr == x:
        return TRUE, nought(x.type)
    if x.name not in names(expr):
        return FALSE, expr
    if isinstance(expr, Op) and expr.op == "select" and x.name not in names(expr.args[0]):
        a, b = kept_or_sent(expr.args[1], x), kept_or_sent(expr.args[2], x)
        if a is not None and b is not None:
            condition = expr.args[0]
            return (
                apply("or", apply("and", condition, a[0]), apply("and", apply("not", condition), b[0])),
                choose(condition, a[1], b[1]),
            )
    return None
