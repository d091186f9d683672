"""Minima and maxima of coordinates: arms that differ by constants are one, and equal extremes look equal."""

from __future__ import annotations

import random

import numpy as np

from rfactor.compiler.lower import affine
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Op, Var, walk
from rfactor.ir.types import I32

A, B, C = (Var(I32, name) for name in "abc")


def moved(expr: Expr, by: int) -> Expr:
    return affine.add(expr, affine.integer(by))


def test_extremes_that_differ_by_a_constant_are_seen_to() -> None:
    low = affine.minimum(moved(A, 3), B)
    assert affine.constant_value(affine.subtract(affine.minimum(moved(A, 8), moved(B, 5)), low)) == 5
    assert affine.maximum(low, moved(affine.minimum(moved(A, 1), moved(B, -2)), 1)) == low
    assert affine.constant_value(affine.subtract(affine.minimum(moved(A, 8), moved(B, 4)), low)) is None


def test_arms_are_merged_however_deep_they_stand() -> None:
    chain = affine.maximum(affine.maximum(affine.maximum(A, B), moved(A, 2)), moved(B, -1))
    assert chain == affine.maximum(moved(A, 2), B)
    assert affine.minimum(affine.minimum(A, affine.integer(7)), affine.integer(5)) == affine.minimum(
        A, affine.integer(5)
    )
    assert affine.maximum(affine.minimum(A, B), A) != A  # a maximum is no minimum


def test_arms_are_compared_moved_and_computed_where_they_are() -> None:
    far = affine.maximum(A, moved(B, -(2**31 - 1)))
    values = {"a": np.array([5, 2**31 - 1], np.int32), "b": np.array([7, 0], np.int32)}
    assert evaluate(far, values).tolist() == [5, 2**31 - 1]
    assert affine.constant_value(affine.subtract(moved(far, 3), far)) == 3
    said = Op(I32, "max", (Op(I32, "max", (moved(A, 4), moved(A, 1))), B))  # as a user wrote it
    assert affine.constant_value(affine.subtract(said, affine.maximum(moved(A, 1), B))) is None
    assert affine.constant_value(affine.subtract(said, affine.maximum(moved(A, 4), B))) == 0


def test_merged_extremes_have_the_values_of_what_was_merged() -> None:
    rng = random.Random(0)

    def drawn(depth: int) -> tuple[Expr, Expr]:
        """A random extreme, merged and as it was said."""
        if depth == 0:
            atom: Expr = rng.choice((A, B, C, affine.integer(rng.randint(-4, 4))))
            by = rng.randint(-3, 3)
            return moved(atom, by), moved(atom, by)
        (a, plain_a), (b, plain_b) = drawn(depth - 1), drawn(rng.randrange(depth))
        op, by = rng.choice(("min", "max")), rng.randint(-3, 3)
        merged = (affine.minimum if op == "min" else affine.maximum)(a, b)
        return moved(merged, by), Op(I32, "+", (Op(I32, op, (plain_a, plain_b)), affine.integer(by)))

    for _ in range(200):
        merged, plain = drawn(4)
        assert len(list(walk(merged))) <= len(list(walk(plain)))
        for _ in range(10):
            values = {name: np.array([rng.randint(-9, 9)], np.int32) for name in "abc"}
            assert int(evaluate(merged, values)[0]) == int(evaluate(plain, values)[0])
