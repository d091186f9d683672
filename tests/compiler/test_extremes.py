"""Minima and maxima of coordinates: of arms that are never less or never more than another one stays, and equal
extremes look equal."""

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


def test_of_an_extent_and_its_multiple_of_lanes_the_lesser_is_seen() -> None:
    up = affine.scale(affine.divide_up(A, 8), 8)
    assert affine.minimum(up, A) == affine.minimum(A, up) == A
    assert affine.maximum(moved(up, -1), moved(A, -1)) == moved(up, -1)
    twice = affine.scale(affine.divide_up(moved(up, 2), 16), 16)  # of a consumer's rounded extent
    assert affine.minimum(twice, moved(A, 2)) == moved(A, 2)
    assert affine.maximum(affine.divide_up(A, 8), affine.divide(A, 8)) == affine.divide_up(A, 8)
    halves = affine.add(affine.divide(A, 2), affine.divide(B, 2))  # less than (A + B)//2 by one at most
    assert affine.maximum(moved(halves, 1), affine.divide(affine.add(A, B), 2)) == moved(halves, 1)


def test_of_what_may_be_either_both_stay() -> None:
    down, up = affine.scale(affine.divide(A, 8), 8), affine.scale(affine.divide_up(A, 8), 8)
    for one, other in ((moved(up, -1), A), (moved(down, 7), moved(A, 1)), (up, B), (up, affine.scale(A, 2))):
        for extreme in (affine.minimum(one, other), affine.maximum(one, other)):
            assert isinstance(extreme, Op)
            assert extreme.op in ("min", "max")


def test_merged_extremes_have_the_values_of_what_was_merged() -> None:
    rng = random.Random(0)

    def drawn(depth: int) -> tuple[Expr, Expr]:
        """A random extreme, merged and as it was said."""
        if depth == 0:
            atom: Expr = rng.choice((A, B, C, affine.integer(rng.randint(-4, 4))))
            if rng.random() < 0.4:
                count = rng.choice((2, 3, 4))
                atom = affine.scale(affine.divide(moved(atom, rng.randint(-4, 4)), count), rng.choice((1, count)))
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
