"""Proving a table again, row by row, from the text of its rows alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.laws import Decision, equal
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover.infinity import Undefined, without_infinities
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven, Refuted, Unknown
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import Scope, parse_scope
from rfactor.table.store import Row, Table

Result = Literal["proved", "refuted", "unknown"]
_COLUMNS = tuple(OPERATORS)


@dataclass(frozen=True, slots=True)
class Checked:
    """What came of checking one claim of a row at one type."""

    row: int
    types: str
    claim: str
    result: Result
    detail: str = ""


def verify(table: Table, *, exhaustive: bool = False, rows: Sequence[int] = ()) -> Iterator[list[Checked]]:
    """Checks every claim of every row (or of those with the given ids) at every type, one list a row.

    With `exhaustive`, associativity of one component of 8 bits is also tried on all values.
    """
    for values in sorted(table.stored(), key=lambda values: values[0]):
        if rows and values[0] not in rows:
            continue
        scope = parse_scope(values[_COLUMNS.index("types")])
        checks: list[Checked] = []
        for type_ in scope.types:
            checks += check_row(Row(values, _representative(scope, type_)), exhaustive=exhaustive)
        yield checks


def _representative(scope: Scope, type_: Type) -> tuple[Type, ...]:
    """Types for a proof: an open component may have any type, so it has that of the others."""
    return tuple(type_ for _ in scope.open)


def check_row(row: Row, *, exhaustive: bool = False) -> list[Checked]:
    """Every claim of one row at its types."""
    op = Operator(row.components, row.types, row.meaning)
    x, y, z = map(op.operands, "xyz")
    found = [_checked(row, "associative", equal(op(op(x, y), z), op(x, op(y, z)), row.meaning))]
    if row.identity is not None:
        found.append(_checked(row, "left_identity", _identity(op, row.identity, "left")))
    if row.identity is not None and row.identity_kind == "two-sided":
        found.append(_checked(row, "right_identity", _identity(op, row.identity, "right")))
    if row.right_identity is not None:
        found.append(_checked(row, "right_identity", _identity(op, row.right_identity, "right")))
    if row.commutative:
        found.append(_checked(row, "commutative", equal(op(x, y), op(y, x), row.meaning)))
    elif row.commutative is False:
        found.append(_witness(row, op))
    if exhaustive and len(row.types) == 1 and row.types[0].bits <= 8 and row.meaning is Meaning.WRAP:
        found.append(exhausted(row))
    return found


def _checked(row: Row, claim: str, decision: Decision) -> Checked:
    verdict = decision.verdict
    types = ",".join(t.name for t in row.types)
    if isinstance(verdict, Proven):
        return Checked(row.id, types, claim, "proved", verdict.method)
    if isinstance(verdict, Refuted):
        return Checked(row.id, types, claim, "refuted", str(dict(verdict.counterexample)))
    return Checked(row.id, types, claim, "unknown", verdict.reason)


def _identity(op: Operator, e: tuple[Expr, ...], side: Literal["left", "right"]) -> Decision:
    other = op.operands("y" if side == "left" else "x")
    try:
        result = tuple(without_infinities(part) for part in (op(e, other) if side == "left" else op(other, e)))
    except Undefined as error:
        return Decision(Unknown(str(error)))
    return equal(result, other, op.meaning)


def _witness(row: Row, op: Operator) -> Checked:
    """Whether the stored witness shows that the operator does not commute."""
    stored: dict[str, Any] = next(
        (p["witness"] for p in json.loads(row.column("proofs")) if p["claim"] == "not_commutative"), {}
    )
    x, y = map(op.operands, "xy")
    kinds = {v.name: v.type for e in (*op(x, y), *op(y, x)) for v in variables(e)}
    env = {name: _scalar(stored.get(name, 0), type_, row.meaning) for name, type_ in kinds.items()}
    sides = [[evaluate(e, env, row.meaning, floats="real") for e in side] for side in (op(x, y), op(y, x))]
    differ = any((a != b).any() for a, b in zip(*sides, strict=True))
    types = ",".join(t.name for t in row.types)
    return Checked(row.id, types, "not_commutative", "proved" if differ else "refuted", str(stored))


def _scalar(value: Any, type_: Type, meaning: Meaning) -> np.ndarray:
    if type_.is_float or (type_.is_int and meaning is Meaning.MATH):
        from fractions import Fraction

        number: Any = Fraction(value) if type_.is_float else int(value)
        result = np.empty(1, object)
        result[0] = number
        return result
    return np.array([Const(type_, value).value], "bool" if type_.is_bool else f"{type_.code[0]}{type_.bits // 8}")


def exhausted(row: Row) -> Checked:
    """Associativity of a row of one component of at most 8 bits on all values of x, y, z and k."""
    (type_,) = row.types
    (component,) = row.components
    dtype = np.dtype("bool" if type_.is_bool else f"{type_.code[0]}1")
    every = np.array([False, True]) if type_.is_bool else np.arange(256, dtype=np.uint8).view(dtype)
    count = len(every)
    x, y = (part.ravel() for part in np.meshgrid(every, every, indexing="ij"))
    constants = every if any(v.name == "k" for v in variables(component)) else every[:1]
    for k in constants:
        env = {"x0": x, "y0": y, "k": np.full(len(x), k)}
        result = np.broadcast_to(evaluate(component, env, row.meaning), x.shape).reshape(count, count)
        table = result.view(np.uint8) if not type_.is_bool else result.astype(np.uint8)
        left, right = table[table], table[:, table]
        if not np.array_equal(left, right):
            at = np.argwhere(left != right)[0]
            point = {name: every[i].item() for name, i in zip(("x0", "y0", "z0"), at, strict=True)} | {"k": k.item()}
            return Checked(row.id, type_.name, "associative", "refuted", str(point))
    return Checked(row.id, type_.name, "associative", "proved", "exhaustive")
