"""Answers as the JSON object of the command line, and as text for people."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from rfactor.ir.expr import Expr, Value, Var, substitute_all, variables
from rfactor.ir.graph import closures
from rfactor.ir.printer import show, show_tuple
from rfactor.ir.unknown import signatures
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, Lifting
from rfactor.prover.verdict import Method

Json = dict[str, Any]


def to_json(answer: Answer, text: str | None = None) -> Json:
    """The object of `rfactor check --json`; expressions are text in the syntax that the parser reads."""
    update = answer.asked
    lift = answer.lift
    functions = {name: str(signature) for name, signature in signatures(update.components).items()}
    more: dict[str, list[str] | dict[str, str] | None] = {
        "state": list(answer.state),
        "functions": functions,
        "caveats": list(answer.caveats),
    }
    if answer.from_start is not None:
        more |= {
            "loop_invariant": _texts(answer.from_start.invariants),
            "simplified": _texts(answer.update.components),
        }
    return {
        "update": next((t for t in (text, answer.text) if t is not None), show_tuple(update.components)),
        "types": {var.name: str(var.type) for var in names_of(update)},
        "semantics": str(update.meaning),
        "verdict": answer.verdict,
        "operator": _texts(answer.operator),
        "identity": _texts(answer.identity),
        "identity_kind": answer.identity_kind,
        "data": _texts(answer.data),
        "commutative": answer.commutative,
        "groups": [list(group) for group in answer.groups],
        "source": answer.source,
        "invariant": _texts(answer.invariant),
        "assumes": _texts(answer.assumes),
        "lift": None if lift is None else _lift(lift),
        "counterexample": None if answer.counterexample is None else values_json(answer.counterexample),
        "reason": answer.reason,
        "proofs": [
            {"claim": proof.claim, "method": proof.method, "ms": round(proof.ms, 3)}
            | ({"row": proof.row} if proof.row is not None else {})
            for proof in answer.proofs
        ]
        + _of_invariants(answer),
        "ms": round(answer.ms, 3),
    } | {key: value for key, value in more.items() if value}


def _of_invariants(answer: Answer) -> list[Json]:
    """Give the proofs that loop invariants rest on."""
    proofs = () if answer.from_start is None else answer.from_start.proofs
    return [{"claim": proof.claim, "method": proof.method, "ms": round(proof.ms, 3)} for proof in proofs]


def names_of(update: Update) -> tuple[Var, ...]:
    """Accumulators, then every other variable, in order of occurrence."""
    seen = {var.name: var for var in update.accumulators}
    for component in update.components:
        for var in variables(component):
            seen.setdefault(var.name, var)
    return tuple(seen.values())


def _texts(exprs: Iterable[Expr] | None) -> list[str] | None:
    return None if exprs is None else [show(e) for e in exprs]


def _lift(lift: Lifting) -> Json:
    return {
        "types": [str(type_) for type_ in lift.types],
        "data": _texts(lift.data),
        "operator": _texts(lift.operator),
        "identity": _texts(lift.identity),
        "apply": _texts(lift.apply),
    }


def values_json(values: Mapping[str, Value]) -> Json:
    """Values as JSON has them: infinities and NaN as text."""
    return {name: _plain(value) for name, value in values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def to_text(answer: Answer, text: str | None = None) -> str:
    """The answer for people, one line an entry; `text` is the update where the answer has no words for it."""
    return "\n".join(f"{title:<12}{entry}" for title, entry in entries(answer, text))


def to_html(answer: Answer) -> str:
    """The answer for people as a table, for notebooks."""
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(title)}</th>'
        f'<td style="text-align: left"><code>{escape(entry)}</code></td></tr>'
        for title, entry in entries(answer)
    )
    return f"<table>{rows}</table>"


def entries(answer: Answer, text: str | None = None) -> list[tuple[str, str]]:
    """What there is to say, by titles; an entry that goes on with the last one has none."""
    update = answer.asked
    names = answer.state or tuple(x.name for x in update.accumulators)
    words = next((t for t in (answer.text, text) if t is not None), show_tuple(update.components))
    said = [("update", f"{', '.join(names)} := {words}")]
    if answer.from_start is not None:
        said += _listed("invariant", _conditions(answer, answer.from_start.invariants))
        said += _listed("leaves", _assigned(answer, answer.update.components))
    said.append(("verdict", VERDICTS[answer.verdict]))
    if answer.state:
        said.append(("names", ", ".join(f"x{i} is {n}" for i, n in zip(range(len(names)), names, strict=True))))
    if answer.operator is not None:
        said += _listed("operator", [show(e) for e in answer.operator])
        if answer.identity is not None:
            said.append(("identity", f"{show_tuple(answer.identity)}   ({_KINDS[answer.identity_kind or 'none']})"))
        else:
            said.append(("identity", "none"))
        assert answer.data is not None
        said += _listed("data", _given("y", "=", answer.data))
    if answer.lift is not None:
        lift = answer.lift
        said.append(("state", ", ".join(map(str, lift.types))))
        said += _listed("operator", [show(e) for e in lift.operator])
        said.append(("identity", show_tuple(lift.identity)))
        said += _listed("data", _given("y", "=", lift.data))
        said += _listed("apply", _assigned(answer, lift.apply))
    if answer.commutative is not None:
        said.append(("commutes", "yes" if answer.commutative else "no"))
    if answer.invariant:
        said.append(("where", show_tuple(answer.invariant)))
    if answer.assumes:
        said.append(("assuming", ", ".join(_conditions(answer, answer.assumes))))
    said += [("caveat", sentence) for sentence in answer.caveats]
    for name, signature in signatures(update.components).items():
        said.append(("function", f"{name}: {signature}, which may be any function"))
    if answer.reason:
        said.append(("because", answer.reason))
    if answer.note:
        said.append(("note", answer.note))
    if names_of(update)[len(update.types) :] and not _reads_itself(update):
        said.append(("note", "no accumulator is read: the last step alone decides"))
    if answer.proofs:
        owed: list[tuple[str, Method, float]] = [(p.claim, p.method, p.ms) for p in answer.proofs]
        owed += [] if answer.from_start is None else [(p.claim, p.method, p.ms) for p in answer.from_start.proofs]
        said.append(("proved", ", ".join(f"{claim} ({method}, {ms:.1f} ms)" for claim, method, ms in owed)))
    return said


def _given(letter: str, sign: str, exprs: Sequence[Expr]) -> list[str]:
    return [f"{letter}{i} {sign} {show(e)}" for i, e in zip(range(len(exprs)), exprs, strict=True)]


def _conditions(answer: Answer, exprs: Sequence[Expr]) -> list[str]:
    return [show(e) for e in substitute_all(exprs, _own(answer, exprs))]


def _assigned(answer: Answer, exprs: Sequence[Expr]) -> list[str]:
    """What becomes of the accumulators."""
    own = _own(answer, exprs)
    named = zip(answer.update.accumulators, substitute_all(exprs, own), strict=True)
    return [f"{show(own.get(x.name, x))} := {show(e)}" for x, e in named]


def _own(answer: Answer, exprs: Iterable[Expr]) -> dict[str, Expr]:
    """The user's names of the accumulators, where those are none of an operand's and none that is read beside them."""
    read = {var.name for expr in exprs for var in variables(expr)}
    if not answer.state or any(_OPERAND.fullmatch(name) or name in read for name in answer.state):
        return {}
    named = zip(answer.update.accumulators, answer.state, strict=True)
    return {x.name: Var(x.type, name) for x, name in named}


_OPERAND = re.compile(r"[xyz]\d*")


def _reads_itself(update: Update) -> bool:
    own = {x.name for x in update.accumulators}
    return any(var.name in own for component in update.components for var in variables(component))


VERDICTS = {
    "associative": "associative",
    "lifted": "associative on a richer state",
    "not_associative": "not associative",
    "unknown": "unknown",
}
_KINDS = {
    "two-sided": "on both sides",
    "left": "on the left only: a slice that sees no element must not be merged",
    "right": "on the right only",
    "none": "none",
}


def _listed(title: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(title if i == 0 else "", line) for i, line in zip(range(len(lines)), lines, strict=True)]


def explain(answer: Answer) -> str:
    """The dependency graph of the update and its decomposition into groups, as text (rfactor 2017, figure 4)."""
    update = answer.update
    own = {x.name: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
    reach = closures(update)
    lines = ["graph"]
    for i, component in zip(range(len(update.components)), update.components, strict=True):
        used = [var.name for var in variables(component)]
        inner = [name for name in used if name in own]
        outer = [name for name in used if name not in own]
        lines.append(f"  x{i} <- {', '.join(inner) or 'no accumulator'}; data {', '.join(outer) or 'none'}")
    lines.append("subgraphs")
    for group in sorted(set(reach)):
        lines.append(f"  {{{', '.join(f'x{i}' for i in group)}}}")
    lines.append("groups solved")
    for group in answer.groups:
        lines.append(f"  {{{', '.join(f'x{i}' for i in group)}}}")
        if answer.operator is not None:
            lines += [f"    x{i} := {show(answer.operator[i])}" for i in group]
    if not answer.groups:
        lines.append("  none")
    return "\n".join(lines)
