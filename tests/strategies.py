"""Random well-typed expressions and arrays of awkward values, for property tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from rfactor.ir.evaluate import as_array
from rfactor.ir.expr import Const, Expr, Var, apply, cast, const, select
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.types import BOOL, SCALARS, Type

ALL_NAMES = ("x0", "x1", "y0", "a", "b", "k")


def operations_of(type: Type) -> list[str]:
    """The operations whose operands and result have `type`."""
    taken = {
        "numeric": not type.is_bool,
        "bits": not type.is_float,
        "integer": type.is_int,
        "real": type.is_float,
        "logic": type.is_bool,
        "compare": False,
    }
    extra = ["min", "max"] if type.is_bool else []
    return [op.name for op in OPERATIONS.values() if taken[op.shape]] + extra


COMPARISONS = [op.name for op in OPERATIONS.values() if op.shape == "compare"]


@st.composite
def constants(draw: st.DrawFn, type: Type) -> Const:
    """Small numbers and the ends of the range."""
    if type.is_bool:
        return Const(BOOL, draw(st.booleans()))
    if type.is_float:
        values = [0.0, -0.0, 1.0, -1.0, 0.5, 3.25, type.largest_finite, float("inf"), float("-inf")]
        return const(type, draw(st.sampled_from(values)))
    edges = [type.min, type.max, 0, 1, int(type.max) // 2, type.bits, type.bits - 1]
    return Const(type, draw(st.one_of(st.sampled_from(edges), st.integers(max(int(type.min), -9), 9))))


@st.composite
def expressions(
    draw: st.DrawFn, type: Type, names: Sequence[str] = ALL_NAMES, depth: int = 4, casts: bool = True
) -> Expr:
    """An expression of `type`; a variable's name ends in its type's, so that every name has one type."""
    if depth == 0 or draw(st.integers(0, 5)) == 0:
        if draw(st.booleans()):
            return Var(type, f"{draw(st.sampled_from(names))}_{type}")
        return draw(constants(type))
    choices = ["operation", "operation", "select"] + ["cast"] * casts + ["compare"] * (2 * type.is_bool)
    kind = draw(st.sampled_from(choices))

    def operand(of: Type) -> Expr:
        return draw(expressions(of, names, depth - 1, casts))

    if kind == "select":
        return select(operand(BOOL), operand(type), operand(type))
    if kind == "cast":
        return cast(type, operand(draw(st.sampled_from(SCALARS))))
    if kind == "compare":
        of = draw(st.sampled_from(SCALARS)) if casts else draw(st.sampled_from([BOOL, *SCALARS[1:3]]))
        return apply(draw(st.sampled_from(COMPARISONS)), operand(of), operand(of))
    op = draw(st.sampled_from(operations_of(type)))
    return apply(op, *(operand(type) for _ in range(OPERATIONS[op].arity)))


def awkward_values(type: Type, count: int, seed: int) -> NDArray[Any]:
    """`count` values of `type`: ends of the range, small numbers, random magnitudes."""
    random = np.random.default_rng(seed)
    if type.is_bool:
        return random.integers(0, 2, count).astype(bool)
    if type.is_float:
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 255.7, -129.2, 1e9, -1e9, 6e4]
        return as_array(type, random.choice(edges, count).tolist())
    edges = [type.min, type.max, 0, 1, 2, int(type.max) - 1, int(type.max) // 2, type.bits, type.bits - 1]
    picked = [int(edges[i]) for i in random.integers(0, len(edges), count)]
    magnitudes = random.integers(0, type.bits, count)
    wild = [type.wrap(int.from_bytes(random.bytes(8)) >> (64 - int(m))) for m in magnitudes]
    signs = random.integers(0, 3, count)
    return as_array(
        type, [p if s == 0 else type.wrap(-w) if s == 1 else w for p, w, s in zip(picked, wild, signs, strict=True)]
    )
