"""`rfactor check --claim`: prove a claim written by hand or by another tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from rfactor.cli.objects import (
    constants_of,
    functions_of,
    known_type,
    meaning_of,
    read_object,
    state_of,
    texts_of,
    type_of,
    types_of,
    with_settings,
)
from rfactor.errors import Error, ParseError
from rfactor.ir.expr import Const, Expr
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import BOOL, Type
from rfactor.ir.unknown import Functions, signatures
from rfactor.ir.update import Update
from rfactor.matcher.decisions import Rounded, claim_without_decisions
from rfactor.matcher.question import read_question
from rfactor.matcher.report import names_of, values_json
from rfactor.prover.claim import Claim, Discharged, Failed, Lift
from rfactor.prover.discharge import discharge
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, has_infinity
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import write_smtlib
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Refuted, Unknown

_GIVEN = {"invariant": "where", "assumes": "assuming"}
EXIT_CODES = {"proved": 0, "refuted": 1, "unknown": 3}


def check_claim(
    text: str,
    timeout: float,
    as_json: bool,
    folder: Path | None = None,
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> int:
    """Prove the claim in a JSON object with the keys of `check --json`; print the result, return the exit code.

    The settings are for keys that the object has not. Raises `rfactor.Error` for what is no claim.
    """
    claim = read_claim(with_settings(read_object(text, _NEEDS), settings))
    try:
        result = _proved(claim, Limits(seconds=timeout).starting_now())
    except ValueError as error:
        raise Error(str(error)) from None
    if folder is not None and isinstance(result, Discharged):
        write_smtlib(result.obligations, folder, [f"update: {', '.join(map(show, claim.update.components))}"])
    answer = _answer(result)
    click.echo(json.dumps(answer, ensure_ascii=False) if as_json else _text(answer))
    return EXIT_CODES[answer["verdict"]]


def _proved(claim: Claim, limits: Limits) -> Discharged | Failed:
    """The claim discharged, whatever floats decide of integers."""
    result = discharge(claim, limits)
    if isinstance(result, Failed):
        return result
    if claim.identity is not None and result.claim.identity is None:
        return Failed("left_identity", _no_start(claim, claim.identity, limits))
    try:
        other = claim_without_decisions(claim)
    except Rounded as rounded:
        return Failed("step", Unknown(f"it holds of real numbers, but {rounded} may be rounded, or NaN"))
    found = result if other == claim else discharge(other, limits)
    if isinstance(found, Discharged):
        return result
    return Failed(found.name, Unknown("it holds of real numbers, but what is compared may be NaN, infinite or rounded"))


def _no_start(claim: Claim, identity: tuple[Expr, ...], limits: Limits) -> Refuted | Unknown:
    """Why a claim that is proved without its identity is not with it: a slice of one step, from there, is merged."""
    assert claim.operator is not None
    assert claim.data is not None
    if not any(map(has_infinity, identity)):
        update = claim.update
        op = Operator(claim.operator, update.types, update.meaning)
        merged = op(op.operands("x"), op(identity, claim.data))
        found = prove_equal(update.components, merged, meaning=update.meaning, assumptions=claim.assumes, limits=limits)
        if isinstance(found, Refuted):
            return found
    return Unknown("the rest of the claim is proved, that this is an identity is not")


_NEEDS = "a claim is a JSON object with update, operator, identity and data (or lift) as in check --json"


def read_claim(record: Mapping[str, Any]) -> Claim:
    """The claim in an object with `update`, `operator`, `identity`, `data` or `lift`. Raises `rfactor.Error`."""
    if not isinstance(record.get("update"), str):
        raise Error(_NEEDS)
    functions: Functions = functions_of(record)
    meaning, state = meaning_of(record), state_of(record)
    update = read_question(
        record["update"], type_of(record), types_of(record), constants_of(record), meaning, functions, state
    ).update
    functions = {**functions, **signatures(update.components)}
    inputs = {v.name: v.type for v in names_of(update)}
    constants = {name: t for name, t in inputs.items() if name in update.constants}
    outside = {name: t for name, t in inputs.items() if name not in {x.name for x in update.accumulators}}
    invariant_types = update.types
    lift = None
    if record.get("lift") is not None:
        lift = _lift(record["lift"], update, constants, outside, functions)
        invariant_types = lift.types
    over_y = _operands("y", invariant_types) | constants
    return Claim(
        update,
        operator=None if lift else _exprs(record, "operator", _pair(update.types) | constants, update.types, functions),
        identity=None
        if lift or record.get("identity") is None
        else _identity(record["identity"], constants, update.types),
        data=None if lift else _exprs(record, "data", outside, update.types, functions),
        lift=lift,
        invariant=tuple(parse_expr(t, over_y, BOOL, functions) for t in texts_of(record, "invariant")),
        assumes=tuple(parse_expr(t, outside, BOOL, functions) for t in texts_of(record, "assumes")),
    )


def _operands(letter: str, types: tuple[Type, ...]) -> dict[str, Type]:
    return {f"{letter}{i}": t for i, t in zip(range(len(types)), types, strict=True)}


def _pair(types: tuple[Type, ...]) -> dict[str, Type]:
    return _operands("x", types) | _operands("y", types)


def _exprs(
    record: Mapping[str, Any], key: str, names: dict[str, Type], types: tuple[Type, ...], functions: Functions
) -> tuple[Expr, ...]:
    texts = texts_of(record, key)
    if len(texts) != len(types):
        raise ParseError(f"{key} has {len(texts)} parts where {len(types)} are needed")
    return tuple(parse_tuple(text, names, [type_], functions)[0] for text, type_ in zip(texts, types, strict=True))


def _identity(texts: Any, names: dict[str, Type], types: tuple[Type, ...]) -> tuple[Expr, ...]:
    """Parts of an identity; `inf` and `-inf` also where the type is an integer."""
    parts: list[Expr] = []
    for text, type_ in zip(texts_of({"identity": texts}, "identity"), types, strict=False):
        infinite: dict[str, Const] = {"inf": INFINITY, "-inf": MINUS_INFINITY}
        if text.strip() in infinite and type_.is_int:
            parts.append(infinite[text.strip()])
        else:
            parts.append(parse_expr(text, names, type_))
    if len(parts) != len(types):
        raise ParseError(f"identity has {len(parts)} parts where {len(types)} are needed")
    return tuple(parts)


def _lift(
    record: Any, update: Update, constants: dict[str, Type], outside: dict[str, Type], functions: Functions
) -> Lift:
    names = record.get("types") if isinstance(record, dict) else None
    if not isinstance(names, list) or not names:
        raise Error("lift is an object with types, data, operator, identity and apply; types is a list")
    types = tuple(map(known_type, names))
    onto = _operands("x", update.types) | _operands("y", types) | constants
    return Lift(
        types,
        _exprs(record, "data", outside, types, functions),
        _exprs(record, "operator", _pair(types) | constants, types, functions),
        _identity(record.get("identity"), constants, types),
        _exprs(record, "apply", onto, update.types, functions),
    )


def _answer(result: Discharged | Failed) -> dict[str, Any]:
    if isinstance(result, Discharged):
        proved = result.claim
        return {
            "verdict": "proved",
            "identity_kind": result.identity_kind,
            "commutative": result.commutative,
            "invariant": [show(e) for e in proved.invariant],
            "assumes": [show(e) for e in proved.assumes],
            "proofs": [{"claim": n, "method": p.method, "ms": round(p.ms, 3)} for n, p in result.proofs],
        }
    verdict = result.verdict
    if isinstance(verdict, Refuted):
        return {
            "verdict": "refuted",
            "failing": result.name,
            "counterexample": values_json(verdict.counterexample),
            "left": [values_json({"v": v})["v"] for v in verdict.left],
            "right": [values_json({"v": v})["v"] for v in verdict.right],
        }
    return {"verdict": "unknown", "failing": result.name, "reason": verdict.reason}


def _text(answer: dict[str, Any]) -> str:
    if answer["verdict"] == "proved":
        claims = ", ".join(f"{p['claim']} ({p['method']})" for p in answer["proofs"])
        given = "".join(f"; {word} {', '.join(answer[key])}" for key, word in _GIVEN.items() if answer.get(key))
        return f"proved: {claims}; identity {answer['identity_kind']}{given}"
    if answer["verdict"] == "refuted":
        at = ", ".join(f"{n} = {v}" for n, v in answer["counterexample"].items())
        return f"refuted: {answer['failing']} fails at {at}: {answer['left']} against {answer['right']}"
    return f"unknown: {answer['failing']}: {answer['reason']}"
