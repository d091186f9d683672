"""`rfactor check --operator`: the laws of a binary operator over x and y as it stands."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import click

from rfactor.cli.objects import meaning_of, state_of, type_of, types_of
from rfactor.errors import Error, ParseError
from rfactor.ir.expr import Expr, Var, names, substitute
from rfactor.ir.parser import parse_update
from rfactor.ir.printer import show
from rfactor.ir.unknown import signatures
from rfactor.matcher.decisions import Rounded, check_exact
from rfactor.matcher.report import values_json
from rfactor.prover import defined
from rfactor.prover.identities import identities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, associative, commutative, idempotent
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict

_TAKEN = re.compile(r"z\d*|left|right")
EXIT_CODES = {"associative": 0, "not_associative": 1, "unknown": 3}


def check_operator(text: str, settings: Mapping[str, Any], timeout: float, as_json: bool) -> int:
    """Print the laws of the operator `text`; the exit code."""
    op = parse_operator(text, settings)
    limits = Limits(seconds=timeout).starting_now()
    try:
        answer = laws(op, limits)
    except RecursionError:
        answer = {"verdict": "unknown", "reason": "the operator is nested too deep"}
    answer = {"operator": [show(e) for e in op.components], "semantics": settings["semantics"]} | answer
    if as_json:
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        click.echo(_text(answer))
    return EXIT_CODES[answer["verdict"]]


def parse_operator(text: str, settings: Mapping[str, Any]) -> Operator:
    """The operator of a text over `x` = `x0`, `x1`, … and `y` = `y0`, `y1`, …; other names are constants."""
    if state_of(settings):
        raise Error("--operator is over x and y: it takes no --state")
    types, default, meaning = types_of(settings), type_of(settings), meaning_of(settings)
    declared = {("x0" if name == "x" else "y0" if name == "y" else name): type_ for name, type_ in types.items()}
    update = parse_update(text, default, declared, (), meaning)
    for i, type_ in zip(range(len(update.types)), update.types, strict=True):
        # The right operand has the left one's types; a second reading gives them to its names.
        for name in (f"y{i}", *(["y"] if i == 0 else [])):
            declared.setdefault(name, type_)
    update = parse_update(text, default, declared, (), meaning)
    for name in signatures(update.components):
        raise ParseError(
            f"unknown function {name!r}: the laws of an operator that calls any function are not decided: {text}"
        )
    renamed: dict[str, Expr] = {"y": Var(update.types[0], "y0")}
    components = tuple(substitute(e, renamed) if "y" in names(e) else e for e in update.components)
    op = Operator(components, update.types, update.meaning)
    for var in op.constants:
        if var.name[0] == "y" and var.name[1:].isdigit():
            raise ParseError(f"{var.name} is an operand, but the operator has {len(op.types)} components: {text}")
        if _TAKEN.fullmatch(var.name):
            raise ParseError(
                f"a constant cannot be called {var.name}: the answer calls the third operand z, and the two sides left "
                f"and right; constants are k, k0, … or any other name: {text}"
            )
    return op


def laws(op: Operator, limits: Limits) -> dict[str, Any]:
    """What is true of the operator, with a counterexample where associativity is not."""
    verdict = associative(op, limits)
    if isinstance(verdict, Refuted):
        values = values_json(verdict.counterexample)
        example: dict[str, Any] = {}
        for letter in "xyz":
            row = [values.get(f"{letter}{i}", 0) for i in range(len(op.types))]
            example[letter] = row[0] if len(row) == 1 else row
        constants = {var.name: values.get(var.name, 0) for var in op.constants}
        example |= constants
        example["left"], example["right"] = _side(verdict.left), _side(verdict.right)
        return {
            "verdict": "not_associative",
            "counterexample": example,
            "commutative": _known(commutative(op, limits)),
            "idempotent": _known(idempotent(op, limits)),
        }
    if isinstance(verdict, Unknown):
        reason = verdict.reason
        for divisor in defined.conditions(op.components, everywhere=True):
            reason += f"; it has no value where {show(divisor)} fails"
        return {"verdict": "unknown", "reason": reason}
    try:
        numbered = zip(range(len(op.types)), op.types, strict=True)
        check_exact(op.components, {f"{letter}{i}": type_ for i, type_ in numbered for letter in "xy"})
    except Rounded as rounded:
        return {"verdict": "unknown", "reason": f"it holds of real numbers, but {rounded} may be rounded, or NaN"}
    commutes, repeats = _known(commutative(op, limits)), _known(idempotent(op, limits))
    found = identities(op, limits, infinite=True)
    value = None if found.value is None else [show(e) for e in found.value]
    return {
        "verdict": "associative",
        "method": verdict.method,
        "left_identity": value if found.kind in ("two-sided", "left") else None,
        "right_identity": value if found.kind in ("two-sided", "right") else None,
        "identity_kind": found.kind,
        "no_identity": [side for side in ("left", "right") if f"{side}_identity" in found.absent],
        "commutative": commutes,
        "idempotent": repeats,
    }


def _side(values: tuple[Any, ...]) -> Any:
    row = [values_json({"v": value})["v"] for value in values]
    return row[0] if len(row) == 1 else row


def _known(verdict: Verdict) -> bool | None:
    return True if isinstance(verdict, Proven) else False if isinstance(verdict, Refuted) else None


def _text(answer: dict[str, Any]) -> str:
    words = {True: "yes", False: "no", None: "unknown"}
    lines = [f"operator       {', '.join(answer['operator'])}", f"verdict        {answer['verdict'].replace('_', ' ')}"]
    if "counterexample" in answer:
        example = answer["counterexample"]
        at = ", ".join(f"{name} = {value}" for name, value in example.items() if name not in ("left", "right"))
        lines.append(
            f"because        at {at}: op(op(x, y), z) = {example['left']}, op(x, op(y, z)) = {example['right']}"
        )
    if "reason" in answer:
        lines.append(f"because        {answer['reason']}")
    for side in ("left", "right"):
        if f"{side}_identity" in answer:
            value = answer[f"{side}_identity"]
            missing = "none" if side in answer["no_identity"] else "not found"
            lines.append(f"{side + ' identity':<15}{missing if value is None else ', '.join(value)}")
    for law in ("commutative", "idempotent"):
        if law in answer:
            lines.append(f"{law:<15}{words[answer[law]]}")
    return "\n".join(lines)
