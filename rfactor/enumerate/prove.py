"""From a survivor of the filters to rows: every claim of a row is proved here, at its exact types and meaning."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rfactor.enumerate.groups import Group
from rfactor.enumerate.laws import Laws, identity_of, laws_of, operator, regrouped
from rfactor.enumerate.laws import components as components_of
from rfactor.enumerate.trees import SWAPPED, leaf_counts, renamed
from rfactor.ir.expr import Expr, Op, Var, leaves, names
from rfactor.ir.printer import show
from rfactor.ir.types import TABLED, Type
from rfactor.native.lanes import CODE
from rfactor.native.programs import WIDTH
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict
from rfactor.table.mirror import mirrored, mirrored_proof, root
from rfactor.table.prints import fingerprint, kind_of
from rfactor.table.rules import is_choice
from rfactor.table.scope import Scope


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one survivor.

    `rows` have the columns of the table but `class`, and whether the rule `choice` covers the operator.
    """

    rows: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)
    refuted: int = 0
    without_identity: int = 0
    """Associative, but with no identity that was found."""


def mirror_row(row: dict[str, Any], group: Group) -> dict[str, Any]:
    """The row of the operator with its operands exchanged: every law carries over, left becoming right."""
    own = group.types[-1]
    types = (own,) * row["components"]
    kind = {"left": "right", "right": "left"}.get(row["identity_kind"], row["identity_kind"])
    left, right = row["identity"], row["right_identity"]
    components = mirrored(row["operator"], types, ",".join([own.name] * len(types)))
    return {
        **row,
        "leaves": sum(map(leaves, components)),
        "root": ",".join(root(e) for e in components),
        "operator": ", ".join(map(show, components)),
        "identity": right if kind == "left" else left if kind == "two-sided" else None,
        "right_identity": left if kind == "right" else None,
        "identity_kind": kind,
        "print": fingerprint(components, kind_of(own, group.meaning)),
        "proofs": json.dumps([mirrored_proof(proof) for proof in json.loads(row["proofs"])]),
    }


def prove(group: Group, programs: tuple[np.ndarray, ...], types: int, seed: int, *, need_identity: bool) -> Outcome:
    """Proves one operator at those types of the group whose bits are set in `types`.

    With `need_identity` an operator without an identity gives no row and is only counted.
    """
    began = time.perf_counter()
    outcome = Outcome()
    wanted = [t for number, t in zip(range(len(group.types)), group.types, strict=True) if types >> number & 1]
    widest = wanted[-1]
    programs = _oriented(programs, widest)
    components = components_of(programs, widest)
    open_ = open_components(components)
    ends = dict.fromkeys((wanted[-1], wanted[0])) if not group.is_width_free else {widest: None}
    found = {type_: identity_of(group, programs, type_, seed) for type_ in ends}
    if need_identity and all(identity.kind == "none" for identity in found.values()):
        return Outcome(without_identity=1)
    if is_choice(components):
        verdicts, everywhere = dict.fromkeys(wanted, _BY_RULE), True
    else:
        verdicts, everywhere = _associative(group, programs, wanted)
    proved: dict[Type, Proven] = {t: v for t, v in verdicts.items() if isinstance(v, Proven)}
    outcome.undecided.extend(
        _undecided(group, t, components, v.reason) for t, v in verdicts.items() if isinstance(v, Unknown)
    )
    held: dict[Laws, list[Type]] = {}
    if everywhere and proved:
        law = laws_of(group, programs, widest, wanted, proved[widest], found[widest], seed)
        if law.width_free:
            held[law] = list(proved)
    if not held:
        for type_, proof in proved.items():
            identity = found[type_] if type_ in found else identity_of(group, programs, type_, seed)
            held.setdefault(laws_of(group, programs, type_, [type_], proof, identity, seed), []).append(type_)
    without = [laws for laws in held if laws.kind == "none" and need_identity]
    for laws in without:
        del held[laws]
    ms = round((time.perf_counter() - began) * 1000, 2)
    text = ", ".join(show(e) for e in components)
    print_ = fingerprint(components, kind_of(widest, group.meaning))
    for law, types_ in held.items():
        outcome.rows.append(
            {
                "types": Scope(tuple(t for t in TABLED if t in types_), open_).text,
                "components": len(components),
                "leaves": sum(map(leaves, components)),
                "root": ",".join(root(e) for e in components),
                "operator": text,
                "identity": law.identity,
                "right_identity": law.right_identity,
                "identity_kind": law.kind,
                "commutative": law.commutative if law.commutative is None else int(law.commutative),
                "semantics": group.meaning.value,
                "print": print_,
                "method": law.method,
                "proofs": law.proofs,
                "ms": ms,
                "choice": is_choice(components),
            }
        )
    refuted = all(isinstance(v, Refuted) for v in verdicts.values())
    return Outcome(outcome.rows, outcome.undecided, int(refuted), int(bool(without) and not outcome.rows))


_BY_RULE: Verdict = Proven("order", 0.0)
"""Of associativity, for every operator of the rule `choice`."""


def _oriented(programs: tuple[np.ndarray, ...], type_: Type) -> tuple[np.ndarray, ...]:
    """Of two components that each depend on the other, the order whose text comes first."""
    if len(programs) == 1:
        return programs
    counts = [leaf_counts(p[None])[0] for p in programs]
    if counts[0][1] + counts[0][3] == 0:
        return programs
    exchanged = tuple(renamed(p[None], SWAPPED)[0] for p in reversed(programs))
    texts = [", ".join(map(show, components_of(order, type_))) for order in (programs, exchanged)]
    return programs if texts[0] <= texts[1] else exchanged


def open_components(components: tuple[Expr, ...]) -> tuple[bool, ...]:
    """Which components are only moved: chosen between by selects, and never operated on, compared, or mixed with k."""
    if len(components) == 1:
        return (False,)
    return tuple(_is_moved(components, index) for index in range(2))


def _is_moved(components: tuple[Expr, ...], index: int) -> bool:
    own = {f"x{index}", f"y{index}"}

    def is_choice(expr: Expr) -> bool:
        if isinstance(expr, Var):
            return expr.name in own
        return (
            isinstance(expr, Op)
            and expr.op == "select"
            and not own & names(expr.args[0])
            and is_choice(expr.args[1])
            and is_choice(expr.args[2])
        )

    return is_choice(components[index]) and not own & names(components[1 - index])


def _associative(group: Group, programs: Sequence[np.ndarray], wanted: list[Type]) -> tuple[dict[Type, Verdict], bool]:
    """A verdict for each type, from as few proofs as suffice; and whether one proof serves all.

    The widest type is proved first; see `rfactor.enumerate.laws.Decision` for when its proof holds at the narrower
    ones, to which comes: any proof of an operator that does not multiply, because v -> v << (W - w) embeds the
    narrower type. Where neither the widest nor the narrowest is decided, those between are not tried.
    """
    verdicts: dict[Type, Verdict] = {}
    free = group.is_width_free or not _multiplies(programs)
    for type_ in dict.fromkeys((wanted[-1], wanted[0], *wanted)):
        decision = regrouped(operator(programs, type_, group.meaning))
        if type_ == wanted[-1] and (
            group.is_width_free or (isinstance(decision.verdict, Proven) and (decision.width_free or free))
        ):
            return dict.fromkeys(wanted, decision.verdict), True
        verdicts[type_] = decision.verdict
        ends = [verdicts.get(wanted[0]), verdicts.get(wanted[-1])]
        if all(isinstance(verdict, Unknown) for verdict in ends):
            return dict.fromkeys(wanted, decision.verdict), False
    return {t: verdicts[t] for t in wanted}, False


def _multiplies(programs: Sequence[np.ndarray]) -> bool:
    return any(CODE["*"] in p[: p[WIDTH - 1]] for p in programs)


def _undecided(group: Group, type_: Type, components: tuple[Expr, ...], reason: str) -> dict[str, Any]:
    return {
        "types": ",".join([type_.name] * len(components)),
        "leaves": sum(map(leaves, components)),
        "operator": ", ".join(show(e) for e in components),
        "semantics": group.meaning.value,
        "claim": "associative",
        "reason": reason,
    }


__all__ = ["Outcome", "mirror_row", "open_components", "prove"]
