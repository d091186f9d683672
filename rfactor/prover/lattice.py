"""The 0-1 principle: two expressions of `min` and `max` alone are equal in every total order if they are on 0 and 1.

If they differ somewhere, cut the order between the two values: everything above the cut becomes 1, everything else 0,
and they differ there too. Cutting keeps `a <= b`, so assumptions of that form may be used.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.expr import Const, Expr, Op, Var, walk

_MOST = 16
"""Most variables; constants count as variables."""


def equal_by_cutting(left: Sequence[Expr], right: Sequence[Expr], assumptions: Sequence[Expr]) -> bool | None:
    """Whether left = right wherever the assumptions hold; None if they are more than `min`, `max` and `<=`.

    A no is about every total order together; a single type may still make it a yes.
    """
    atoms: dict[Expr, int] = {}
    for expr in (*left, *right):
        if not _collect(expr, atoms):
            return None
    for claim in assumptions:
        if not (isinstance(claim, Op) and claim.op == "<=" and all(_collect(arg, atoms) for arg in claim.args)):
            return None
    if not atoms or len(atoms) > _MOST or len({atom.type for atom in atoms}) > 1:
        return None
    rows = np.arange(1 << len(atoms))
    values: dict[Expr, NDArray[np.bool_]] = {atom: (rows >> bit) & 1 == 1 for atom, bit in atoms.items()}

    def value(expr: Expr) -> NDArray[np.bool_]:
        if expr not in values:
            assert isinstance(expr, Op)
            first, second = map(value, expr.args)
            values[expr] = first & second if expr.op == "min" else first | second
        return values[expr]

    allowed = np.ones(len(rows), dtype=bool)
    for claim in assumptions:
        allowed &= ~value(claim.children[0]) | value(claim.children[1])
    constants = sorted((atom for atom in atoms if isinstance(atom, Const)), key=lambda atom: atom.value)
    for low, high in itertools.pairwise(constants):
        allowed &= ~values[low] | values[high]
    return not any(bool(np.any((value(a) != value(b)) & allowed)) for a, b in zip(left, right, strict=True))


def _collect(expr: Expr, atoms: dict[Expr, int]) -> bool:
    """Number the variables and constants; whether there is nothing else but `min` and `max`."""
    for node in walk(expr):
        if isinstance(node, Var | Const) and not node.type.is_bool:
            if isinstance(node, Const) and node.value != node.value:
                return False
            atoms.setdefault(node, len(atoms))
        elif not (isinstance(node, Op) and node.op in ("min", "max")) or node.type.is_bool:
            return False
    return True
