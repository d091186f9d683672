"""Rows made from rows: an operator with its operands exchanged (the rule `mirror`), and written differently."""

from __future__ import annotations

import json
from typing import Any

from rfactor.ir.expr import Expr, Op, Var, leaves, substitute
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import Type
from rfactor.ir.widthless import canonical_at, twin
from rfactor.table.row import Row
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import parse_scope


def mirror(row: Row) -> Row:
    """The mirror op(y, x) of a row of kind `left`: every law carries over, left becoming right."""
    components = mirrored(row.column("operator"), row.types, row.column("types"))
    changed = {
        "operator": ", ".join(map(show, components)),
        "leaves": sum(map(leaves, components)),
        "root": ",".join(map(root, components)),
        "identity": None,
        "right_identity": row.column("identity"),
        "identity_kind": "right",
        "class": row.klass + 1,
        "proofs": json.dumps([mirrored_proof(proof) for proof in row.proofs]),
    }
    return Row(tuple(changed.get(name, row.column(name)) for name in OPERATORS), row.types)


def spelled(row: Row, operator: str) -> Row:
    """The row with its operator written differently."""
    written = Row(tuple(operator if name == "operator" else row.column(name) for name in OPERATORS), row.types)
    changed = {
        "operator": operator,
        "leaves": sum(map(leaves, written.components)),
        "root": ",".join(map(root, written.components)),
    }
    return Row(tuple(changed.get(name, row.column(name)) for name in OPERATORS), row.types)


def mirrored(operator: str, types: tuple[Type, ...], scope: str) -> tuple[Expr, ...]:
    """The operator with its operands exchanged, in canonical form (over the twin of its type)."""
    fixed = [t for t, free in zip(types, parse_scope(scope).open, strict=True) if not free]
    type_ = fixed[0] if fixed else types[0]
    like = twin(type_)
    kinds = {f"{letter}{i}": like for letter in "xy" for i in range(len(types))} | {"k": like}
    components = parse_tuple(operator, kinds, [like] * len(types))
    swap = {f"{a}{i}": Var(like, f"{b}{i}") for a, b in ("xy", "yx") for i in range(len(types))}
    return tuple(canonical_at(substitute(e, swap), type_) for e in components)


def root(expr: Expr) -> str:
    """The root node of an expression: its operation, or the variable."""
    return expr.op if isinstance(expr, Op) else expr.name if isinstance(expr, Var) else "literal"


def turned(name: str) -> str:
    """The variable in its place when the operands are exchanged."""
    return {"x": "y", "y": "x"}.get(name[0], name[0]) + name[1:]


def mirrored_proof(proof: dict[str, Any]) -> dict[str, Any]:
    """What is proved of an operator, as what is proved of its mirror."""
    claim = {"left_identity": "right_identity", "right_identity": "left_identity"}.get(proof["claim"], proof["claim"])
    carried = {**proof, "claim": claim}
    if "witness" in proof:
        carried["witness"] = {turned(name): value for name, value in proof["witness"].items()}
    return carried


__all__ = ["mirror", "mirrored", "mirrored_proof", "root", "turned"]
