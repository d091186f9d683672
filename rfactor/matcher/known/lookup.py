"""What is known of an update without search: a row of the table of known reductions about its form.

A row was proved when the table was made, about an update that is the same function up to names, for every value of its
constants. So it holds of an update with literals in their place; what it does not say of all constants (that an
identity is on one side alone, that nothing is associative) is not taken from it then.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations

from rfactor.errors import TableError
from rfactor.ir.expr import Const, Expr, Op, Var, substitute_all, walk
from rfactor.ir.graph import Subgraph, restrict, subgraphs
from rfactor.ir.simplify import FALSE, TRUE, simplify
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, ProofRecord
from rfactor.matcher.groups import first_groups
from rfactor.matcher.known.record import read
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.operators.by_table import reordered
from rfactor.matcher.recombine import answer_of, combine
from rfactor.matcher.solve import Solution, renumbered
from rfactor.prover.claim import Discharged, Failed, discharge, starts
from rfactor.prover.commuting import is_refuted
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.sampling import used
from rfactor.prover.verdict import Proven
from rfactor.table.known import Known, KnownTable, shipped_reductions

LOG = logging.getLogger("rfactor.matcher")


@cache
def shipped() -> KnownTable | None:
    """The shipped table, opened once; None where there is none, with a warning where it cannot be used."""
    path = shipped_reductions()
    try:
        return KnownTable(path) if path.exists() else None
    except TableError as error:
        LOG.warning("known reductions are not used: %s", error)
        return None


def types_text(types: tuple[Type, ...]) -> str:
    """Types as a row has them."""
    return ",".join([type_.name for type_ in types])


def known_answer(update: Update, table: KnownTable | None) -> Answer | None:
    """The answer of rows about the update's form; None where there is none, or the table is damaged."""
    if table is None:
        return None
    try:
        return _of_whole(update, table) or _of_groups(update, table) or _in_another_order(update, table)
    except RecursionError:
        return None
    except (TableError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        LOG.warning("a known reduction does not read: %s", error)
        return None


def _of_whole(update: Update, table: KnownTable) -> Answer | None:
    """The answer of one row, if it holds of the update as it is spelled where runs start from an infinity."""
    answer = _of_form(update, table)
    claim = None if answer is None or answer.lift is not None else claim_of(answer)
    return answer if claim is None or starts(claim, Limits(seconds=1.0).starting_now()) else None


def _of_form(update: Update, table: KnownTable) -> Answer | None:
    """The answer of one row about the update's form."""
    shape = Shape.of(update)
    if shape is None:
        return None
    row = _row(table, shape, shape.literals)
    if row is not None:
        return read(row.answer, update, shape.types, shape.values, row.id, shape.meaning)
    found = _of_constants(update, table, shape)
    if found is not None:
        return found
    parts = shape.over_parts()
    if parts is None:
        return None
    row = _row(table, parts, parts.literals)
    found = None if row is None else _instance(row, update, parts)
    return found or _of_constants(update, table, parts)


def _of_groups(update: Update, table: KnownTable) -> Answer | None:
    """The answer of one row for each group of components that do not read one another, put together."""
    groups = first_groups(update)
    if len(groups) == 1:
        return None
    solutions: list[tuple[Subgraph, Solution]] = []
    for group in groups:
        answer = _of_whole(restrict(update, group), table)
        claim = None if answer is None or answer.lift is not None else claim_of(answer)
        if answer is None or claim is None or answer.identity_kind is None:
            return None
        proofs = tuple([(proof.claim, Proven(proof.method, proof.ms, proof.row)) for proof in answer.proofs])
        proved = Discharged(claim, answer.identity_kind, answer.commutative, proofs)
        solutions.append((group, Solution(proved, answer.source or "")))
    whole = combine(len(update.types), solutions)
    return None if whole is None else answer_of(update, groups, whole)


_LARGEST = 3
"""Components of updates that are looked up in every order."""


def _in_another_order(update: Update, table: KnownTable) -> Answer | None:
    """The yes of a row about the update with its components in another order."""
    count = len(update.types)
    if not 1 < count <= _LARGEST or len(subgraphs(update)) > 1:
        return None
    for order in list(permutations(range(count)))[1:]:
        answer = _of_whole(reordered(update, order), table)
        if answer is not None and answer.verdict in ("associative", "lifted"):
            return _in_order(answer, update, order)
    return None


def _in_order(answer: Answer, update: Update, order: Subgraph) -> Answer:
    """What is said of the update with component `order[i]` as its i-th, said of the update."""
    numbers = dict(zip(range(len(order)), order, strict=True))
    place = [order.index(i) for i in range(len(order))]

    def moved(exprs: Sequence[Expr] | None, *, over_state: bool = False) -> tuple[Expr, ...] | None:
        if exprs is None:
            return None
        return tuple([renumbered(exprs[at], numbers) if over_state else exprs[at] for at in place])

    groups = tuple([tuple(sorted(numbers[i] for i in group)) for group in answer.groups])
    lift = answer.lift
    if lift is not None:
        states = {f"x{i}": Var(update.types[order[i]], f"x{order[i]}") for i in range(len(order))}
        apply = substitute_all(lift.apply, states)
        return replace(
            answer, update=update, groups=groups, lift=replace(lift, apply=tuple([apply[at] for at in place]))
        )
    return replace(
        answer,
        update=update,
        operator=moved(answer.operator, over_state=True),
        identity=moved(answer.identity),
        data=moved(answer.data),
        groups=tuple(sorted(groups)),
        invariant=tuple([renumbered(condition, numbers) for condition in answer.invariant]),
    )


def _of_constants(update: Update, table: KnownTable, shape: Shape) -> Answer | None:
    """The answer of a row about all constants, for the literals that are in their place."""
    literals = [value for value in shape.values.values() if isinstance(value, Const)]
    if not literals or any(map(_is_special, literals)):
        return None
    row = _row(table, shape, "")
    answer = None if row is None else _instance(row, update, shape)
    return None if answer is None or answer.identity_kind != "two-sided" else replace(answer, overflowing=None)


def _row(table: KnownTable, shape: Shape, literals: str) -> Known | None:
    return table.find(shape.text, types_text(shape.types), shape.meaning.value, literals)


def _is_special(literal: Const) -> bool:
    """Whether more may be so of a literal than of other values of a constant."""
    return literal.value in (0, 1, -1, literal.type.min, literal.type.max)


def _instance(row: Known, update: Update, shape: Shape) -> Answer | None:
    """What a row about all data and constants says of those that are in their place."""
    if row.verdict not in ("associative", "lifted") or (row.verdict == "lifted" and not shape.apart):
        return None
    answer = read(row.answer, update, shape.types, shape.values, row.id, shape.meaning)
    if answer is None or answer.identity_kind not in ("two-sided", "left"):
        return None
    assumes = tuple([simplify(condition) for condition in answer.assumes])
    if FALSE in assumes:
        return None
    answer = replace(answer, assumes=tuple([e for e in assumes if e != TRUE]))
    data = answer.data if answer.lift is None else answer.lift.data
    if data is None or any(map(has_infinity, data)):
        return _with_finite_data(answer)
    return None if answer.commutative is False and not _is_refuted(answer) else answer


_ARITHMETIC = ("+", "-", "*", "/")
"""What has finite values only."""


def _with_finite_data(answer: Answer) -> Answer | None:
    """The answer where data are computed and so finite, which a plain datum may not be: proved anew, and simpler."""
    if answer.lift is not None or answer.data is None:
        return None
    numbers = frozenset(
        node for e in answer.data for node in walk(e) if isinstance(node, Op) and node.op in _ARITHMETIC
    )
    try:
        data = tuple([without_infinities(e, numbers) for e in answer.data])
    except Undefined:
        return None
    claim = claim_of(replace(answer, data=data, invariant=()))
    if claim is None or any(map(has_infinity, data)):
        return None
    found = discharge(claim, Limits(seconds=1.0).starting_now())
    if isinstance(found, Failed) or found.identity_kind != answer.identity_kind:
        return None
    return replace(
        answer,
        data=data,
        commutative=found.commutative,
        invariant=found.claim.invariant,
        proofs=tuple([ProofRecord(name, proof.method, proof.ms) for name, proof in found.proofs]),
    )


ITS = "its "
"""Before names of data that are called like operands."""


def _is_operand(name: str) -> bool:
    """Whether a datum is called as an operand is."""
    return name[0] in "yz" and (not name[1:] or name[1:].isdigit())


def _is_refuted(answer: Answer) -> bool:
    """Whether a witness shows that the operator does not commute for these data and literals either."""
    lift, update = answer.lift, answer.update
    operator, data = (answer.operator, answer.data) if lift is None else (lift.operator, lift.data)
    types = update.types if lift is None else lift.types
    if operator is None or data is None:
        return False
    own = {var.name: Var(var.type, f"{ITS}{var.name}") for var in used(data) if _is_operand(var.name)}
    data, assumes = substitute_all(data, own), substitute_all(answer.assumes, own)
    return is_refuted(Operator(operator, types, update.meaning), update, data, assumes)
