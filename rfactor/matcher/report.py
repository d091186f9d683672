"""Answers as the JSON object of the command line, and as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from rfactor.ir.expr import Expr, Value, Var, variables
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
    return {
        "update": text if text is not None else show_tuple(update.components),
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
    } | {
        key: value
        for key, value in (
            ("functions", functions),
            ("caveats", list(answer.caveats)),
            ("loop_invariant", _texts(() if answer.from_start is None else answer.from_start.invariants)),
            ("simplified", _texts(() if answer.from_start is None else answer.update.components)),
        )
        if value
    }


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


def to_text(answer: Answer, text: str) -> str:
    """The answer for people."""
    update = answer.asked
    lines = [f"update      {_assignment(text, len(update.types))}"]
    if answer.from_start is not None:
        lines += _listed("invariant", [show(e) for e in answer.from_start.invariants])
        named = zip(range(len(answer.update.types)), answer.update.components, strict=True)
        lines += _listed("leaves", [f"x{i} := {show(e)}" for i, e in named])
    lines.append(f"verdict     {_VERDICTS[answer.verdict]}")
    if answer.operator is not None:
        lines += _listed("operator", [show(e) for e in answer.operator])
        if answer.identity is not None:
            lines.append(f"identity    {show_tuple(answer.identity)}   ({_KINDS[answer.identity_kind or 'none']})")
        else:
            lines.append("identity    none")
        assert answer.data is not None
        lines += _listed(
            "data", [f"y{i} = {show(e)}" for i, e in zip(range(len(answer.data)), answer.data, strict=True)]
        )
    if answer.lift is not None:
        lift = answer.lift
        lines.append(f"state       {', '.join(map(str, lift.types))}")
        lines += _listed("operator", [show(e) for e in lift.operator])
        lines.append(f"identity    {show_tuple(lift.identity)}")
        lines += _listed("data", [f"y{i} = {show(e)}" for i, e in zip(range(len(lift.data)), lift.data, strict=True)])
        lines += _listed(
            "apply", [f"x{i} := {show(e)}" for i, e in zip(range(len(lift.apply)), lift.apply, strict=True)]
        )
    if answer.commutative is not None:
        lines.append(f"commutes    {'yes' if answer.commutative else 'no'}")
    if answer.invariant:
        lines.append(f"where       {show_tuple(answer.invariant)}")
    if answer.assumes:
        lines.append(f"assuming    {show_tuple(answer.assumes)}")
    lines += [f"caveat      {sentence}" for sentence in answer.caveats]
    for name, signature in signatures(update.components).items():
        lines.append(f"function    {name}: {signature}, which may be any function")
    if answer.reason:
        lines.append(f"because     {answer.reason}")
    if names_of(update)[len(update.types) :] and not _reads_itself(update):
        lines.append("note        no accumulator is read; accumulators are called x, or x0, x1, …")
    if answer.proofs:
        proofs: list[tuple[str, Method, float]] = [(p.claim, p.method, p.ms) for p in answer.proofs]
        proofs += [] if answer.from_start is None else [(p.claim, p.method, p.ms) for p in answer.from_start.proofs]
        lines.append("proved      " + ", ".join(f"{claim} ({method}, {ms:.1f} ms)" for claim, method, ms in proofs))
    return "\n".join(lines)


def _reads_itself(update: Update) -> bool:
    own = {x.name for x in update.accumulators}
    return any(var.name in own for component in update.components for var in variables(component))


_VERDICTS = {
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


def _assignment(text: str, count: int) -> str:
    return f"{', '.join(f'x{i}' for i in range(count))} := {text}"


def _listed(title: str, entries: list[str]) -> list[str]:
    return [f"{title if i == 0 else '':<12}{entry}" for i, entry in zip(range(len(entries)), entries, strict=True)]


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
