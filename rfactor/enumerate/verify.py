"""Proving a table again, row by row, from the text of its rows alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.backend import Backend, Serial
from rfactor.enumerate.columns import wrong_columns
from rfactor.enumerate.exhaust import exhausted, has_few_states
from rfactor.enumerate.laws import Decision, as_reals, by_cases, equal, regrouped, sides
from rfactor.enumerate.prove import open_components
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Call, Const, Expr, Var, apply, select, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show
from rfactor.ir.types import I64, Type
from rfactor.prover import sampling, solvers
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import Obligation, write_smtlib
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven, Refuted, Unknown
from rfactor.table.mirror import mirrored, spelled
from rfactor.table.row import Row
from rfactor.table.rules import CHOICE, is_choice
from rfactor.table.schema import OPERATORS
from rfactor.table.scope import Scope, parse_scope
from rfactor.table.store import Table, open_table

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


def verify(
    table: Table,
    *,
    exhaustive: bool = False,
    rows: Sequence[int] = (),
    solver: solvers.Name | None = None,
    seconds: float = 10.0,
    only: str = "",
    backend: Backend | None = None,
    progress: Callable[[str, int, int], None] = lambda *_: None,
) -> Iterator[Checked]:
    """Checks the rule `choice`, then every claim of every row (or of those with the given ids) at every type.

    A mirror has the proofs of its row, with the operands exchanged. With `exhaustive`, nothing is proved: the laws of
    rows of one component of 8 bits, and of truth values, are tried on all values. With a `solver`, laws are decided by
    it alone, each within so many `seconds`. `only` is the one type at which rows are looked at, by name.
    """
    if solver is not None:
        solvers.available(solver)
    digest = table.check_whole()
    yield check_rule()
    ids = [values[0] for values in table.stored() if not rows or values[0] in set(rows)]
    tasks = [
        _Task(table.path, digest, tuple(ids[start : start + _BATCH]), exhaustive, solver, seconds, only)
        for start in range(0, len(ids), _BATCH)
    ]
    done = 0
    progress("verify", 0, len(ids))
    for index, found in (backend or Serial()).run(check_rows, tasks):
        yield from found
        done += len(tasks[index].rows)
        progress("verify", done, len(ids))


def sampled(table: Table, count: int, only: str = "") -> tuple[int, ...]:
    """So many rows of a table (that hold at the type `only`), the same ones each time."""
    types = {values[0]: values[_COLUMNS.index("types")] for values in table.stored()}
    fitting = [
        number for number, scope in types.items() if not only or only in (t.name for t in parse_scope(scope).types)
    ]
    return tuple(sorted(random.Random(0).sample(fitting, min(count, len(fitting)))))


def emit(table: Table, folder: Path, rows: Sequence[int] = (), only: str = "") -> int:
    """Writes the laws of the rows (all if none are named) at each type as SMT-LIB; the number of files."""
    table.check_whole()
    chosen = set(rows)
    written = 0
    for values in table.stored():
        scope = parse_scope(values[_COLUMNS.index("types")])
        for type_ in scope.types if not rows or values[0] in chosen else ():
            if only in ("", type_.name):
                row = Row(values, _representative(scope, type_))
                about = [f"row {row.id}: {row.column('operator')}", f"every component of type {type_.name}"]
                written += write_smtlib(obligations(row), folder, about, f"{row.id:06d}-{type_.name}-")
    return written


_BATCH = 32
"""Rows checked in one task."""


@dataclass(frozen=True, slots=True)
class _Task:
    path: Path
    digest: str
    rows: tuple[int, ...]
    exhaustive: bool
    solver: solvers.Name | None
    seconds: float
    only: str


@lru_cache(maxsize=1)
def _stored(
    path: Path, digest: str
) -> tuple[dict[int, tuple[Any, ...]], Mapping[int, Sequence[tuple[str, str]]], Mapping[int, set[int]]]:
    """The rows of a table of this digest and their spellings by number, and the prints by class."""
    table = open_table(path)
    held = {values[0]: values for values in table.stored()}
    prints: dict[int, set[int]] = {}
    for values in held.values():
        prints.setdefault(values[_COLUMNS.index("class")], set()).add(values[_COLUMNS.index("print")])
    return held, table.spellings, prints


def check_rows(task: _Task) -> list[Checked]:
    """Every claim of the rows of a task, at every type."""
    held, spellings, prints = _stored(task.path, task.digest)
    checks: list[Checked] = []
    for number in task.rows:
        types = held[number][_COLUMNS.index("types")]
        stored = Row(held[number], _representative(parse_scope(types), parse_scope(types).types[-1]))
        wrong = list(wrong_columns(stored, prints[stored.klass]))
        if wrong:  # of a row that does not say what it is about no claim is looked at
            checks += [Checked(number, types, "columns", "refuted", reason) for reason in wrong]
            continue
        scope = parse_scope(held[number][_COLUMNS.index("types")])
        for type_ in scope.types:
            if task.only not in ("", type_.name):
                continue
            row = Row(held[number], _representative(scope, type_))
            if task.solver is not None:
                checks += check_by(row, task.solver, task.seconds)
                continue
            if task.exhaustive:
                checks += check_by_exhaustion(row) if has_few_states(row) else []
                continue
            checks += check_row(row)
            checks += [check_spelling(row, operator) for operator, _ in spellings.get(number, ())]
    return checks


def _representative(scope: Scope, type_: Type) -> tuple[Type, ...]:
    """Types for a proof: an open component may have any type, so it has that of the others."""
    return tuple(type_ for _ in scope.open)


def check_rule() -> Checked:
    """Associativity of `select(p, x0, y0)` for an opaque p, by cases."""

    def op(x: Expr, y: Expr) -> Expr:
        p = Call(I64, "p", (x, Var(I64, "k")), "intrinsic")
        return select(apply("<", p, Const(I64, 0)), x, y)

    x, y, z = (Var(I64, name) for name in "xyz")
    verdict = equal((op(op(x, y), z),), (op(x, op(y, z)),), Meaning.WRAP).verdict
    return Checked(0, "*", f"rule {CHOICE}", "proved" if isinstance(verdict, Proven) else "unknown")


def check_row(row: Row) -> list[Checked]:
    """Every claim of one row at its types."""
    op = Operator(row.components, row.types, row.meaning)
    x, y = map(op.operands, "xy")
    found = [_checked(row, "associative", _associative(row, op))]
    if row.identity is not None:
        found.append(_checked(row, "left_identity", _identity(op, row.identity, "left")))
    if row.identity is not None and row.identity_kind == "two-sided":
        found.append(_checked(row, "right_identity", _identity(op, row.identity, "right")))
    if row.identity is not None and row.identity_kind == "left" and not is_choice(row.components):
        found += _only_left(row, op, row.identity)
    if row.right_identity is not None:
        found.append(_checked(row, "right_identity", _identity(op, row.right_identity, "right")))
    if row.commutative:
        found.append(_checked(row, "commutative", _patiently(op(x, y), op(y, x), row.meaning)))
    elif row.commutative is False:
        found.append(_never_commutes(row, op) if "rule" in row.column("proofs") else _witness(row, op))
    return found


def obligations(row: Row) -> list[Obligation]:
    """The laws of a row at its types as statements; that it does not commute is shown by a witness and is none."""
    op = Operator(row.components, row.types, row.meaning)
    x, y = map(op.operands, "xy")
    laws: list[tuple[str, tuple[Expr, ...], tuple[Expr, ...]]] = [("associative", *sides(op))]
    e = row.identity
    if e is not None:
        laws.append(("left_identity", op(e, y), y))
    if e is not None and row.identity_kind == "two-sided":
        laws.append(("right_identity", op(x, e), x))
    if row.right_identity is not None:
        laws.append(("right_identity", op(x, row.right_identity), x))
    if row.commutative:
        laws.append(("commutative", op(x, y), op(y, x)))
    return [Obligation(name, _finite(left), right, (), row.meaning) for name, left, right in laws]


def _finite(side: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Without infinities where what is left has a value; else as it is, which no solver is asked."""
    try:
        return tuple(map(without_infinities, side))
    except Undefined:
        return side


def check_by(row: Row, solver: solvers.Name, seconds: float) -> list[Checked]:
    """The laws of a row at its types, decided by a solver that is asked in SMT-LIB."""
    types = ",".join(t.name for t in row.types)
    results: dict[str, Result] = {"unsat": "proved", "sat": "refuted"}
    found = []
    for obligation in obligations(row):
        answer, said = solvers.decide(obligation, solver, seconds)
        found.append(Checked(row.id, types, obligation.name, results.get(answer, "unknown"), said))
    return found


def check_by_exhaustion(row: Row) -> list[Checked]:
    """The laws of a row with few states, tried on all of them."""
    types = ",".join(t.name for t in row.types)
    return [
        Checked(row.id, types, law, "proved" if failing is None else "refuted", failing or "exhaustive")
        for law, failing in exhausted(row).items()
    ]


def check_spelling(row: Row, operator: str) -> Checked:
    """Whether an operator written differently is that of the row."""
    other = Operator(spelled(row, operator).components, row.types, row.meaning)
    scope = parse_scope(row.column("types"))
    if any(
        moved and not is_moved for moved, is_moved in zip(scope.open, open_components(other.components), strict=True)
    ):
        return _checked(row, f"spelling {operator}", Decision(Unknown("a component of any type is computed with")))
    x, y = map(other.operands, "xy")
    own = Operator(row.components, row.types, row.meaning)
    return _checked(row, f"spelling {operator}", _patiently(other(x, y), own(x, y), row.meaning))


def _associative(row: Row, op: Operator) -> Decision:
    """Whether it is associative; its mirror is as much, and what the prover meets first may be easier there."""
    forth = regrouped(op)
    if not isinstance(forth.verdict, Unknown):
        return forth
    turned = Operator(mirrored(row.column("operator"), row.types, row.column("types")), op.types, op.meaning)
    back = regrouped(turned)
    if isinstance(back.verdict, Proven):
        return back
    forth = _longer(*sides(op), op.meaning)
    back = _longer(*sides(turned), op.meaning) if isinstance(forth.verdict, Unknown) else forth
    return back if isinstance(back.verdict, Proven) else forth


_PATIENT = Limits(rlimit=5_000_000, cases=4000)
"""Of what stays open within the limits of the generator: it may have been another one that made the table."""


def _patiently(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning) -> Decision:
    decision = equal(left, right, meaning)
    return _longer(left, right, meaning) if isinstance(decision.verdict, Unknown) else decision


def _longer(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning) -> Decision:
    decision = as_reals(left, right, meaning, _PATIENT)
    if isinstance(decision.verdict, Proven):
        return decision
    return Decision(prove_equal(left, right, meaning=meaning, limits=_PATIENT))


def equality(operator: Operator, row: Row) -> str | None:
    """The method by which an operator is proved to be that of a row; None where it is not."""
    x, y = map(operator.operands, "xy")
    verdict = equal(operator(x, y), Operator(row.components, row.types, row.meaning)(x, y), row.meaning).verdict
    return verdict.method if isinstance(verdict, Proven) else None


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
    return _patiently(result, other, op.meaning)


def _only_left(row: Row, op: Operator, e: tuple[Expr, ...]) -> list[Checked]:
    """A refutation of the kind `left` where the identity is evidently one on the right too."""
    x = op.operands("x")
    try:
        result = tuple(without_infinities(part) for part in op(x, e))
    except Undefined:
        return []
    if sampling.refute(result, x, op.meaning, count=24) is not None:
        return []
    if not isinstance(by_cases(result, x, op.meaning).verdict, Proven):
        return []
    detail = f"{', '.join(map(show, e))} is an identity on both sides"
    return [Checked(row.id, ",".join(t.name for t in row.types), "identity_kind", "refuted", detail)]


def _witness(row: Row, op: Operator) -> Checked:
    """Whether the stored witness shows that the operator does not commute."""
    types = ",".join(t.name for t in row.types)
    stored: Any = next((p.get("witness") for p in row.proofs if p["claim"] == "not_commutative"), None)
    if not isinstance(stored, dict) or not all(isinstance(value, int | float) for value in stored.values()):
        return Checked(row.id, types, "not_commutative", "refuted", "it has no witness")
    x, y = map(op.operands, "xy")
    kinds = {v.name: v.type for e in (*op(x, y), *op(y, x)) for v in variables(e)}
    env = {name: _scalar(stored.get(name, 0), type_, row.meaning) for name, type_ in kinds.items()}
    sides = [[evaluate(e, env, row.meaning, floats="real") for e in side] for side in (op(x, y), op(y, x))]
    differ = any((a != b).any() for a, b in zip(*sides, strict=True))
    return Checked(row.id, types, "not_commutative", "proved" if differ else "refuted", str(stored))


def _never_commutes(row: Row, op: Operator) -> Checked:
    """A witness among three values, of which two share the condition of a choice."""
    (component,), (type_,) = op.components, op.types
    kinds = {v.name: v.type for v in variables(component)}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        both = [
            evaluate(
                component,
                {name: _scalar({"x0": x, "y0": y}.get(name, 0), type_, row.meaning) for name in kinds},
                row.meaning,
                floats="real",
            )
            for x, y in ((a, b), (b, a))
        ]
        if (both[0] != both[1]).any():
            return Checked(row.id, type_.name, "not_commutative", "proved", str({"x0": a, "y0": b, "k": 0}))
    return Checked(row.id, type_.name, "not_commutative", "refuted", "of three values no two share the condition")


def _scalar(value: Any, type_: Type, meaning: Meaning) -> np.ndarray:
    if type_.is_float or (type_.is_int and meaning is Meaning.MATH):
        from fractions import Fraction

        number: Any = Fraction(value) if type_.is_float else int(value)
        result = np.empty(1, object)
        result[0] = number
        return result
    return np.array([Const(type_, value).value], "bool" if type_.is_bool else f"{type_.code[0]}{type_.bits // 8}")
