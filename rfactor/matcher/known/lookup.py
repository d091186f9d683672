"""What is known of an update without search: a row of the table of known reductions about its form.

A row was proved when the table was made, about an update that is the same function up to names, for every value of its
constants. So it holds of an update with literals in their place; what it does not say of all constants (that an
identity is on one side alone, that nothing is associative) is not taken from it then.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import cache

from rfactor.errors import TableError
from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import Const, Op, Var, substitute_all, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import FALSE, TRUE, simplify
from rfactor.ir.types import F16, F32, F64, Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, ProofRecord
from rfactor.matcher.known.folded import folded
from rfactor.matcher.known.guarded import Guarded, under
from rfactor.matcher.known.joined import Ask, in_another_order, of_groups
from rfactor.matcher.known.record import has_numbers_of, read
from rfactor.matcher.known.refused import by_condition, by_parts
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.obligations import claim_of
from rfactor.prover.claim import Discharged, Failed
from rfactor.prover.commuting import is_refuted
from rfactor.prover.discharge import discharge, starts
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.sampling import used
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
        return _found(update, table)
    except RecursionError:
        return None
    except (TableError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        LOG.warning("a known reduction does not read: %s", error)
        return None


def _found(update: Update, table: KnownTable) -> Answer | None:
    """What is known of the update as it is, or of others that it is made of."""

    def ask(other: Update) -> Answer | None:
        return _of_whole(other, table)

    ways: tuple[Ask, ...] = (
        ask,
        lambda other: in_another_order(other, ask),
        lambda other: _by_condition(other, table),
        lambda other: by_parts(other, ask),
    )

    def ask_of_one(other: Update) -> Answer | None:
        return next((answer for way in ways if (answer := way(other)) is not None), None)

    found = ask_of_one(update)
    if found is None:
        found = of_groups(update, ask_of_one)
    if found is None:
        plain = folded(update)
        answer = None if plain is None else _found(plain, table)
        found = None if answer is None else _spelled(replace(answer, update=update))
    return found


def _by_condition(update: Update, table: KnownTable) -> Answer | None:
    """What is known of what the update does where a condition on its data holds."""
    guarded = Guarded.of(update)
    answer = None if guarded is None else _found(guarded.inner, table)
    if guarded is None or answer is None:
        return None
    if answer.verdict == "not_associative":
        return by_condition(update, guarded, answer)
    found = under(guarded.condition, answer, update)
    if found is None or (found.commutative is False and not _is_refuted(found)):
        return None
    return _spelled(found) if _is_decided(found) else None


def _is_decided(answer: Answer) -> bool:
    """Whether nothing is chosen between a number and an infinity in a richer state, nor of unbounded integers; or the
    prover decides it.
    """
    unbounded = answer.update.meaning is Meaning.MATH and any(type_.is_int for type_ in answer.update.types)
    if not unbounded and (answer.lift is None or not any(map(has_infinity, answer.lift.data))):
        return True
    claim = claim_of(answer)
    return claim is not None and isinstance(discharge(claim, Limits(seconds=1.0).starting_now()), Discharged)


def _of_whole(update: Update, table: KnownTable) -> Answer | None:
    """The answer of one row, if it holds of the update as it is spelled where runs start from an infinity."""
    answer = _of_form(update, table)
    return None if answer is None else _spelled(answer)


def _spelled(answer: Answer) -> Answer | None:
    """The answer, if the update as it is spelled may start where its runs do."""
    claim = None if answer.lift is not None else claim_of(answer)
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
    return found if found is not None else _of_constants(update, table, parts)


def _of_constants(update: Update, table: KnownTable, shape: Shape) -> Answer | None:
    """The answer of a row about all constants, for the literals that are in their place."""
    literals = [value for value in shape.values.values() if isinstance(value, Const)]
    if not literals or any(map(_is_special, literals)):
        return None
    row = _row(table, shape, "")
    answer = None if row is None else _instance(row, update, shape)
    return None if answer is None or answer.identity_kind != "two-sided" else replace(answer, overflowing=None)


_FLOATS = (F32, F64, F16)
"""Of which rows speak."""


def _row(table: KnownTable, shape: Shape, literals: str) -> Known | None:
    """The row about a form; of floats, of any width: they are reasoned about as reals."""
    row = table.find(shape.text, types_text(shape.types), shape.meaning.value, literals)
    own = [type_ for type_ in shape.types if type_.is_float]
    if row is not None or len(own) != 1 or " cast:" in shape.text:
        return row
    for other in _FLOATS:
        if other != own[0]:
            types = tuple([other if type_ == own[0] else type_ for type_ in shape.types])
            row = table.find(shape.text, types_text(types), shape.meaning.value, literals)
            if row is not None and has_numbers_of(row.answer, own[0], types.index(other)):
                return row
    return None


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
    assumes = tuple([e if not simplifies_exactly((e,), update.meaning) else simplify(e) for e in answer.assumes])
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
