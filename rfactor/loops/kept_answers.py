"""Keep on disk what was found behind updates, as claims: each is proved again before it is used.

The key is the update that the loop's text, its helpers and the types of its names come to, the values that it starts
from, and the version. What is kept is the claim alone. A file that is damaged, foreign or wrong therefore costs the
time of a proof that fails and nothing else: the search is made as if the file were not there. That nothing was found is
not kept. An answer is written only where what is read back and proved again is the same answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rfactor import disk_cache
from rfactor.ir.expr import Const, Expr, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.printer import show, whole
from rfactor.ir.types import BOOL, Type, parse_type
from rfactor.ir.unknown import signatures
from rfactor.ir.update import Update
from rfactor.loops.update import Abstracted, abstracted
from rfactor.matcher.answer import Answer, FromStart, Lifting, ProofRecord
from rfactor.matcher.decisions import Rounded, claim_without_decisions
from rfactor.matcher.invariants.inductive import Simplification, Unproved, prove
from rfactor.matcher.rounding import rounded_integer
from rfactor.prover.claim import Claim, Discharged, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY
from rfactor.prover.limits import Limits

Start = tuple[Expr | None, ...]
WORTH = 0.02
"""Seconds of search from which on an answer is kept: what the tables know is found as fast as it is proved."""
_LONGEST = 100_000
_WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError)
"""What reading a record raises that is none; `ParseError` is a `ValueError`."""


def recalled(
    update: Sequence[Expr], start: Start, floats: str, limits: Limits
) -> tuple[Abstracted, Answer, tuple[Expr, ...]] | None:
    """Give the form that was asked about, the answer and its invariants, proved again; None where nothing is kept."""
    data = disk_cache.read("answers", _key(update, start, floats))
    if data is None:
        return None
    try:
        record = json.loads(data)
        form = abstracted(update, Meaning(record["meaning"]), bool(record["whole"]))
        answer = _proved(form.update, start, record, limits)
    except _WRONG:
        return None
    if answer is None:
        return None
    return form, answer, () if answer.from_start is None else answer.from_start.invariants


def keep(
    update: Sequence[Expr], start: Start, floats: str, form: Abstracted, is_whole: bool, answer: Answer, seconds: float
) -> None:
    """Write an answer that took so long to find, if it is the same after it is read back."""
    if seconds < WORTH or not disk_cache.enabled():
        return
    record = _record(answer, is_whole)
    try:
        text = json.dumps(record)
        if len(text) > _LONGEST:
            return
        again = _proved(form.update, start, json.loads(text), Limits(seconds=2.0).starting_now())
    except _WRONG:
        return
    if again is not None and _said(again) == _said(answer):
        disk_cache.write("answers", _key(update, start, floats), text.encode())


def _key(update: Sequence[Expr], start: Start, floats: str) -> str:
    types = " ".join(f"{v.name}:{v.type}" for e in update for v in variables(e))
    begins = " ".join("?" if e is None else f"{e.type}:{whole(e)}" for e in start)
    return disk_cache.key_of("answer", "; ".join(map(whole, update)), types, begins, floats)


def _said(answer: Answer) -> tuple[Any, ...]:
    """Give all of an answer that a plan is made of."""
    held = answer.from_start
    return (
        answer.update, answer.verdict, answer.operator, answer.identity, answer.identity_kind, answer.data,
        answer.commutative, answer.lift, answer.invariant, answer.assumes, answer.rounded,
        None if held is None else held.invariants,
    )  # fmt: skip


def _record(answer: Answer, is_whole: bool) -> dict[str, Any]:
    lift, held = answer.lift, answer.from_start
    return {
        "meaning": answer.update.meaning.value,
        "whole": is_whole,
        "update": _texts(answer.update.components),
        "operator": _texts(answer.operator),
        "identity": _texts(answer.identity),
        "data": _texts(answer.data),
        "lift": None if lift is None else {
            "types": [t.name for t in lift.types], "data": _texts(lift.data), "operator": _texts(lift.operator),
            "identity": _texts(lift.identity), "apply": _texts(lift.apply),
        },
        "invariant": _texts(answer.invariant),
        "assumes": _texts(answer.assumed_of_data),
        "from_start": None if held is None else _texts(held.invariants),
        "source": answer.source,
        "groups": answer.groups,
    }  # fmt: skip


def _texts(exprs: Sequence[Expr] | None) -> list[str] | None:
    return None if exprs is None else [show(e) for e in exprs]


def _proved(asked: Update, start: Start, record: dict[str, Any], limits: Limits) -> Answer | None:
    """Give the answer that a record makes, with its proofs; None where any of them is not found."""
    update, claim = _read(asked, record)
    held = None
    if update != asked:
        simplified = Simplification(asked, update, _exprs(record["from_start"], _of_state(asked), BOOL), start)
        shown = prove(simplified, limits)
        if isinstance(shown, Unproved):
            return None
        held = FromStart(asked, simplified.invariants, shown, start, ())
    result = discharge(claim, limits)
    if not isinstance(result, Discharged) or (claim.identity is not None and result.claim.identity is None):
        return None
    try:
        exact = claim_without_decisions(claim)
    except Rounded:
        return None
    if exact != claim and not isinstance(discharge(exact, limits), Discharged):
        return None
    said, lift = result.claim, result.claim.lift
    answer = Answer(
        update, "associative" if lift is None else "lifted", operator=said.operator, identity=said.identity,
        identity_kind=result.identity_kind, data=said.data,
        commutative=result.commutative, groups=tuple(tuple(g) for g in record["groups"]), source=record["source"],
        invariant=said.invariant, assumes=said.assumes,
        lift=None if lift is None else Lifting(lift.types, lift.data, lift.operator, lift.identity, lift.apply),
        proofs=tuple(ProofRecord(n, p.method, p.ms) for n, p in result.proofs), from_start=held,
    )  # fmt: skip
    return replace(answer, rounded=rounded_integer(answer, limits))


def _read(asked: Update, record: dict[str, Any]) -> tuple[Update, Claim]:
    """Read the update that a record is about and the claim that it makes. Raise an error of `_WRONG`."""
    functions = signatures(asked.components)
    names = {v.name: v.type for e in asked.components for v in variables(e)} | {
        v.name: v.type for v in asked.accumulators
    }
    components = tuple(
        parse_tuple(text, names, [t], functions)[0] for text, t in zip(record["update"], asked.types, strict=True)
    )
    update = replace(asked, components=components)
    constants = {n: t for n, t in names.items() if n in asked.constants}
    states = {v.name for v in asked.accumulators}
    outside = {n: t for n, t in names.items() if n not in states}
    lift, held = None, record["lift"]
    if held is not None:
        types = tuple(map(parse_type, held["types"]))
        onto = _operands("x", asked.types) | _operands("y", types) | constants
        pair = _operands("x", types) | _operands("y", types) | constants
        lift = Lift(
            types, _components(held["data"], outside, types), _components(held["operator"], pair, types),
            _identity(held["identity"], constants, types), _components(held["apply"], onto, asked.types),
        )  # fmt: skip
    pair = _operands("x", asked.types) | _operands("y", asked.types) | constants
    over_y = _operands("y", asked.types if lift is None else lift.types) | constants

    def one(key: str, known: dict[str, Type]) -> tuple[Expr, ...] | None:
        return None if lift is not None else _components(record[key], known, asked.types)

    claim = Claim(
        update, operator=one("operator", pair),
        identity=None if lift is not None or record["identity"] is None
        else _identity(record["identity"], constants, asked.types),
        data=one("data", outside), lift=lift, invariant=_exprs(record["invariant"], over_y, BOOL),
        assumes=_exprs(record["assumes"], outside, BOOL),
    )  # fmt: skip
    return update, claim


def _of_state(update: Update) -> dict[str, Type]:
    own = {v.name for v in update.accumulators}
    every = {v.name: v.type for e in update.components for v in variables(e)} | _operands("x", update.types)
    return {n: t for n, t in every.items() if n in own or n in update.constants}


def _operands(letter: str, types: Sequence[Type]) -> dict[str, Type]:
    return {f"{letter}{k}": t for k, t in zip(range(len(types)), types, strict=True)}


def _exprs(texts: Sequence[str], names: dict[str, Type], type_: Type) -> tuple[Expr, ...]:
    return tuple(parse_expr(text, names, type_) for text in texts)


def _components(texts: Sequence[str], names: dict[str, Type], types: Sequence[Type]) -> tuple[Expr, ...]:
    return tuple(parse_expr(text, names, type_) for text, type_ in zip(texts, types, strict=True))


def _identity(texts: Sequence[str], names: dict[str, Type], types: Sequence[Type]) -> tuple[Expr, ...]:
    """Read the parts of an identity; `inf` and `-inf` also where the type is an integer."""
    infinite: dict[str, Const] = {"inf": INFINITY, "-inf": MINUS_INFINITY}
    return tuple(
        infinite[text] if text in infinite and type_.is_int else parse_expr(text, names, type_)
        for text, type_ in zip(texts, types, strict=True)
    )


__all__ = ["WORTH", "keep", "recalled"]
