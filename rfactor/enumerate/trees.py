"""Programs of the kernels as expressions, and which leaves a program uses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rfactor.ir.expr import Expr, Var, apply, select
from rfactor.ir.types import Type
from rfactor.native.lanes import BOOLEAN_OPS, CODE, FIRST_OP, LEAVES, OPS
from rfactor.native.programs import WIDTH


def expression(program: np.ndarray, types: Sequence[Type], constant: Type) -> Expr:
    """The tree of a program over x0 x1 y0 y1 of `types` and k of type `constant`."""
    kinds = {"x0": types[0], "y0": types[0], "x1": types[-1], "y1": types[-1], "k": constant}
    stack: list[Expr] = []
    for code in program[: program[WIDTH - 1]].tolist():
        if code < FIRST_OP:
            stack.append(Var(kinds[LEAVES[code]], LEAVES[code]))
        elif code >= CODE["<"]:
            left, right, true, false = stack[-4:]
            stack[-4:] = [select(apply(OPS[code - FIRST_OP], left, right), true, false)]
        else:
            left, right = stack[-2:]
            op = OPS[code - FIRST_OP]
            stack[-2:] = [_logic(op, left, right) if left.type.is_bool else apply(op, left, right)]
    return stack[0]


def _logic(code: str, left: Expr, right: Expr) -> Expr:
    op = BOOLEAN_OPS[code]
    if op.startswith("not "):
        return apply("not", apply(op.removeprefix("not "), left, right))
    return apply(op, left, right)


def leaf_counts(programs: np.ndarray) -> np.ndarray:
    """(n, 5) occurrences of each leaf in programs (n, 16)."""
    inside = np.arange(WIDTH - 1) < programs[:, -1:]
    return np.stack([((programs[:, :-1] == leaf) & inside).sum(axis=1) for leaf in range(len(LEAVES))], axis=1)


def renamed(programs: np.ndarray, names: dict[str, str]) -> np.ndarray:
    """Programs with leaves renamed, e.g. x and y exchanged."""
    table = np.arange(256, dtype=np.uint8)
    for old, new in names.items():
        table[LEAVES.index(old)] = LEAVES.index(new)
    inside = np.arange(WIDTH - 1) < programs[:, -1:]
    result = programs.copy()
    result[:, :-1] = np.where(inside, table[programs[:, :-1]], 0)
    return result


REVERSED = {"x0": "y0", "y0": "x0", "x1": "y1", "y1": "x1"}
SWAPPED = {"x0": "x1", "x1": "x0", "y0": "y1", "y1": "y0"}
