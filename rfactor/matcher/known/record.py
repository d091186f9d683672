"""Answers as text that a table of known reductions keeps, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rfactor.ir.expr import Call, Expr, Value, Var, const, transform
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, Lifting, ProofRecord
from rfactor.matcher.known.nodes import Encoder, decoded, number

Tuple = tuple[Expr, ...]
Values = Mapping[str, Expr | str]
_TOKEN = re.compile(r"@([dkf]\d+)@")
_PARTS = ("operator", "identity", "data", "invariant", "assumes")
_OF_LIFTING = ("data", "operator", "identity", "apply")


def token(short: str) -> str:
    """What a name of a form is called while its answer is sought: it is found again in any sentence."""
    return f"@{short}@"


def written(answer: Answer, types: Sequence[Type]) -> str | None:
    """The answer about an update whose names are tokens, as text.

    None where it cannot be told of other names, or where it is so long that a search is not much slower.
    """
    names = {token(f"{letter}{n}"): f"{letter}{n}" for letter in "dkf" for n in range(_MOST)}
    encoder = Encoder(types, names, growing=False)
    kept: dict[str, Any] = {"verdict": answer.verdict}
    try:
        for part in _PARTS:
            exprs: Tuple | None = getattr(answer, part)
            if exprs:
                kept[part] = encoder.roots(exprs)
        if answer.lift is not None:
            lift = answer.lift
            kept["lift"] = {part: encoder.roots(getattr(lift, part)) for part in _OF_LIFTING}
            kept["lift"]["types"] = [_index(type_, types) for type_ in lift.types]
            kept["overflowing"] = list(answer.overflowing or ())
        for name in ("identity_kind", "commutative", "source", "reason", "counterexample"):
            if getattr(answer, name) is not None:
                kept[name] = getattr(answer, name)
        if answer.groups:
            kept["groups"] = answer.groups
        kept["claims"] = [proof.claim for proof in answer.proofs]
        kept["nodes"] = " ".join(encoder.words)
        text = json.dumps(kept, separators=(",", ":"), sort_keys=True)
        return text if len(text) <= _LONGEST else None
    except (KeyError, TypeError):  # a name that is no token, a value that JSON has not
        return None


_MOST = 64
"""Names of one kind."""
_LONGEST = 100_000
"""Characters of an answer."""


def _index(type_: Type, types: Sequence[Type]) -> int | str:
    return types.index(type_) if type_ in types else type_.name


def read(text: str, update: Update, types: Sequence[Type], values: Values, row: int, meaning: Meaning) -> Answer | None:
    """The answer about an update from what is `written`, names replaced by what they stand for.

    None where the update's names would be confused, or where integers are met that the update has not, whose meaning
    may be another. Raises `ValueError`, `KeyError`, `IndexError` or `TypeError` where
    the text is none of ours.
    """
    kept = json.loads(text)
    nodes = decoded(kept["nodes"], types, values)
    if update.meaning is not meaning and any(node.type.is_int for node in nodes):
        return None

    def exprs(numbers: list[int] | None) -> Tuple | None:
        return None if numbers is None else tuple([nodes[number] for number in numbers])

    answer = Answer(
        update,
        kept["verdict"],
        operator=exprs(kept.get("operator")),
        identity=exprs(kept.get("identity")),
        identity_kind=kept.get("identity_kind"),
        data=exprs(kept.get("data")),
        commutative=kept.get("commutative"),
        groups=tuple([tuple(group) for group in kept.get("groups", ())]),
        source=kept.get("source"),
        invariant=exprs(kept.get("invariant")) or (),
        assumes=exprs(kept.get("assumes")) or (),
        proofs=tuple([ProofRecord(claim, "table", 0.0, row) for claim in kept["claims"]]),
    )
    lift = kept.get("lift")
    if lift is not None:
        own = tuple([types[type_] if isinstance(type_, int) else parse_type(type_) for type_ in lift["types"]])
        parts = [exprs(lift[part]) or () for part in _OF_LIFTING]
        answer = replace(answer, lift=Lifting(own, *parts), overflowing=tuple(kept["overflowing"]))
    if kept["verdict"] == "not_associative":
        told = _told(kept, values)
        if told is None:
            return None
        answer = replace(answer, counterexample=told[0], reason=told[1])
    return answer


def has_numbers_of(text: str, type_: Type, place: int) -> bool:
    """Whether the literals of what is `written` that are of the type with this number, and all numbers of a
    counterexample, are numbers of a float type."""
    kept = json.loads(text)
    words = (word.rpartition(":") for word in kept["nodes"].split())
    literals = [number(head[1:]) for head, _, kind in words if head[0] == "=" and kind == str(place)]
    return all(const(type_, float(v)).value == v for v in [*literals, *kept.get("counterexample", {}).values()])


def _told(kept: Mapping[str, Any], values: Values) -> tuple[dict[str, Value], str] | None:
    """A counterexample and a sentence with the names of an update; None where two would be called alike."""
    names = {short: value.name for short, value in values.items() if isinstance(value, Var)}
    taken = set(names.values())
    if any(re.fullmatch(r"(e|start)\d+", name) for name in taken):
        return None
    if any(f"{name}{n}" in taken for name in taken for n in (1, 2)):
        return None

    def named(text: str) -> str:
        return _TOKEN.sub(lambda found: names[found[1]], text)

    return {named(name): value for name, value in kept["counterexample"].items()}, named(kept["reason"])


def plainly_named(answer: Answer) -> Answer:
    """An answer about an update whose names are tokens, with the names of the form: d0, k0, f0."""

    def exprs(parts: Tuple | None) -> Tuple | None:
        return None if parts is None else tuple(map(_plain, parts))

    update, lift = answer.update, answer.lift
    return replace(
        answer,
        update=replace(
            update,
            components=exprs(update.components) or (),
            constants=frozenset(name.strip("@") for name in update.constants),
        ),
        data=exprs(answer.data),
        operator=exprs(answer.operator),
        identity=exprs(answer.identity),
        invariant=exprs(answer.invariant) or (),
        assumes=exprs(answer.assumes) or (),
        lift=None if lift is None else Lifting(lift.types, *(exprs(getattr(lift, part)) or () for part in _OF_LIFTING)),
        counterexample=None
        if answer.counterexample is None
        else {name.replace("@", ""): value for name, value in answer.counterexample.items()},
        reason=None if answer.reason is None else answer.reason.replace("@", ""),
    )


def _plain(expr: Expr) -> Expr:
    def plain(node: Expr) -> Expr | None:
        if isinstance(node, Var):
            return Var(node.type, node.name.strip("@"))
        if isinstance(node, Call) and node.kind == "unknown":
            return Call(node.type, node.name.strip("@"), node.args, node.kind, node.index)
        return None

    return transform(expr, plain)
