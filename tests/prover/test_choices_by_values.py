"""What is shown of machine integers that cannot overflow, choice by choice or at once, agrees with all their values."""

from __future__ import annotations

import random

import numpy as np
import pytest

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, apply, cast, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, I8, I16, U8, Type
from rfactor.prover import smt
from rfactor.prover.equality import _without_overflow
from rfactor.prover.limits import Limits

LIMITS = Limits(rlimit=300_000)
FLAGS = (Var(BOOL, "c"), Var(BOOL, "d"))


def number(random_: random.Random, wide: Type, own: Type, depth: int) -> Expr:
    """A sum, choice, clamp or division of x and y in a type in which little overflows."""
    if depth == 0 or random_.random() < 0.1:
        leaf = random_.choice([Var(own, "x"), Var(own, "y"), None])
        return Const(wide, random_.randint(-3, 3) % 100) if leaf is None else cast(wide, leaf)

    def part() -> Expr:
        return number(random_, wide, own, depth - 1)

    kind = random_.randrange(7)
    if kind == 0:
        return apply(random_.choice("+-"), part(), part())
    if kind == 1:
        literal = Const(wide, random_.choice([2, 3, 5, 60]))
        return apply(random_.choice(["%", "//"]), part(), literal)
    if kind <= 3:
        return apply(random_.choice(["min", "max"]), part(), part())
    if kind == 4:
        return select(random_.choice(FLAGS), part(), part())
    if kind == 5:
        return select(apply(random_.choice(["<", "<=", "=="]), part(), part()), part(), part())
    return apply("max", apply("min", part(), Const(wide, 20)), Const(wide, random_.choice([0, 1, 5])))


def respelled(random_: random.Random, expr: Expr) -> Expr:
    """The same in other words, or nearly: what a lifting's two sides are to one another."""
    wide = expr.type
    kind = random_.randrange(6)
    if kind == 0:
        flag = random_.choice(FLAGS)
        return select(flag, apply("+", expr, Const(wide, 0)), expr)
    if kind == 1:
        low, high = Const(wide, 0), Const(wide, 90)
        return apply("max", apply("min", expr, high), low)
    if kind == 2:
        return select(
            apply("<", expr, Const(wide, 7)), apply("min", expr, Const(wide, 7)), apply("max", expr, Const(wide, 7))
        )
    if kind == 3:
        parts = (apply("//", expr, Const(wide, 3)), apply("%", expr, Const(wide, 3)))
        return apply("+", apply("*", parts[0], Const(wide, 3)), parts[1])
    if kind == 4:
        return apply("min", expr, apply("+", expr, Const(wide, random_.choice([-1, 0, 1]) % 100)))
    return apply("-", apply("+", expr, Const(wide, 1)), Const(wide, random_.choice([1, 1, 1, 2])))


@pytest.mark.parametrize(("own", "wide", "seed"), [(I8, I16, 1), (U8, I16, 2), (I8, I8, 3), (U8, U8, 4)])
def test_nothing_is_shown_that_values_contradict(own: Type, wide: Type, seed: int) -> None:
    random_ = random.Random(seed)
    index = np.arange(1 << 18)
    name = f"{own.code[0]}1"
    env = {"x": (index & 255).astype(name), "y": ((index >> 8) & 255).astype(name)}
    env |= {"c": (index >> 16 & 1).astype(bool), "d": (index >> 17 & 1).astype(bool)}
    shown = 0
    for _ in range(60):
        left = number(random_, wide, own, 2)
        right = respelled(random_, left)
        assumptions = tuple(
            apply("<=", Const(own, low), Var(own, var)) if up else apply("<=", Var(own, var), Const(own, high))
            for var in "xy"
            for up, low, high in [(True, random_.choice([-5, 0]) % 100, 0), (False, 0, random_.choice([9, 40]))]
            if random_.random() < 0.7
        )
        if _without_overflow((left,), (right,), assumptions, LIMITS) is None:
            continue
        shown += 1
        allowed = np.ones(index.shape, dtype=bool)
        for claim in assumptions:
            allowed &= np.asarray(evaluate(claim, env, Meaning.WRAP)).astype(bool)
        same = np.asarray(evaluate(left, env, Meaning.WRAP) == evaluate(right, env, Meaning.WRAP))
        assert (same | ~allowed).all(), f"{left} == {right} where {assumptions}"
    assert shown >= 5


@pytest.mark.parametrize("divisor", [2, 7, -2, -7])
@pytest.mark.parametrize("op", ["//", "%"])
def test_quotients_by_literals_are_what_they_are_where_integers_are_unbounded(op: str, divisor: int) -> None:
    x = Var(I16, "x")
    value = apply(op, x, Const(I16, divisor))
    for at in (-15, -14, -1, 0, 1, 13, 14):
        exact = int(evaluate(value, {"x": np.array([at], dtype=object)}, Meaning.MATH)[0])
        here = apply("==", x, Const(I16, at))
        outcomes = [
            smt.solve((here, apply(relation, value, Const(I16, exact))), Meaning.MATH, LIMITS)
            for relation in ("==", "!=")
        ]
        assert [type(outcome) for outcome in outcomes] == [smt.Sat, smt.Unsat]
