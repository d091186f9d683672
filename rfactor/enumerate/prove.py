"""From a survivor of the filters to rows: every claim of a row is proved here, at its exact types and meaning."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.circle import NotLinear, on_circle, over_reals
from rfactor.enumerate.groups import Group
from rfactor.enumerate.identity import guesses
from rfactor.enumerate.points import samples
from rfactor.enumerate.trees import REVERSED, expression, renamed
from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, leaves, names, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import BOOL, SCALARS, Type
from rfactor.native.lanes import CODE, LEAVES, domain_of
from rfactor.native.programs import WIDTH, values
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict
from rfactor.table.scope import Scope

LIMITS = Limits(rlimit=2_000_000, cases=1500)
"""Deterministic bounds on each proof."""
LINEAR = Limits(rlimit=2_000_000, cases=0)
"""Of a claim in linear real arithmetic."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one survivor: rows (columns of the table, without `class`), what stayed open, what was refuted."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    undecided: list[dict[str, Any]] = field(default_factory=list)
    refuted: int = 0
    without_identity: int = 0
    """Associative, but with no identity that was found."""


@dataclass(frozen=True, slots=True)
class _Laws:
    """What holds at one type."""

    method: str
    kind: str
    identity: str | None
    right_identity: str | None
    commutative: bool | None
    proofs: str


def reversed_row(row: dict[str, Any], group: Group) -> dict[str, Any]:
    """The row of the operator with its operands exchanged: every law carries over, left becoming right."""
    types = [group.types[-1]] * row["components"]
    kinds = {f"{letter}{i}": types[i] for letter in "xy" for i in range(len(types))} | {"k": types[0]}
    parsed = parse_tuple(row["operator"], kinds, types)
    swap = {f"{a}{i}": Var(types[i], f"{b}{i}") for a, b in ("xy", "yx") for i in range(len(types))}
    components = tuple(canonical(substitute(e, swap)) for e in parsed)
    kind = {"left": "right", "right": "left"}.get(row["identity_kind"], row["identity_kind"])
    left, right = row["identity"], row["right_identity"]
    proofs = []
    for proof in json.loads(row["proofs"]):
        claim = {"left_identity": "right_identity", "right_identity": "left_identity"}.get(
            proof["claim"], proof["claim"]
        )
        turned = {**proof, "claim": claim}
        if "witness" in proof:
            turned["witness"] = {_turned(name): value for name, value in proof["witness"].items()}
        proofs.append(turned)
    return {
        **row,
        "leaves": sum(map(leaves, components)),
        "root": ",".join(root(e) for e in components),
        "operator": ", ".join(show(e) for e in components),
        "identity": right if kind == "left" else left if kind == "two-sided" else None,
        "right_identity": left if kind == "right" else None,
        "identity_kind": kind,
        "proofs": json.dumps(proofs),
    }


def _turned(name: str) -> str:
    return {"x": "y", "y": "x"}.get(name[0], name[0]) + name[1:]


def prove(group: Group, programs: tuple[np.ndarray, ...], types: int, seed: int, *, need_identity: bool) -> Outcome:
    """Proves one operator at those types of the group whose bits are set in `types`.

    With `need_identity` an operator without an identity gives no row and is only counted.
    """
    began = time.perf_counter()
    outcome = Outcome()
    wanted = [t for number, t in zip(range(len(group.types)), group.types, strict=True) if types >> number & 1]
    widest = wanted[-1]
    components = _components(programs, widest)
    open_ = _open(components)
    verdicts = _associative(group, programs, wanted)
    laws: dict[_Laws, list[Type]] = {}
    without = False
    for type_, verdict in verdicts.items():
        if isinstance(verdict, Refuted):
            continue
        if isinstance(verdict, Unknown):
            outcome.undecided.append(_undecided(group, type_, components, verdict.reason))
            continue
        found = _laws(group, programs, type_, verdict, seed)
        if found.kind == "none" and need_identity:
            without = True
            continue
        laws.setdefault(found, []).append(type_)
    ms = round((time.perf_counter() - began) * 1000, 2)
    text = ", ".join(show(e) for e in components)
    for law, held in laws.items():
        outcome.rows.append(
            {
                "types": Scope(tuple(t for t in SCALARS if t in held), open_).text,
                "components": len(components),
                "leaves": sum(map(leaves, components)),
                "root": ",".join(root(e) for e in components),
                "operator": text,
                "identity": law.identity,
                "right_identity": law.right_identity,
                "identity_kind": law.kind,
                "commutative": law.commutative if law.commutative is None else int(law.commutative),
                "semantics": group.meaning.value,
                "method": law.method,
                "proofs": law.proofs,
                "ms": ms,
            }
        )
    refuted = all(isinstance(v, Refuted) for v in verdicts.values())
    return Outcome(outcome.rows, outcome.undecided, int(refuted), int(without and not outcome.rows))


def root(expr: Expr) -> str:
    """The root node of an expression: its operation, or the variable."""
    return expr.op if isinstance(expr, Op) else expr.name if isinstance(expr, Var) else "literal"


def _components(programs: Sequence[np.ndarray], type_: Type) -> tuple[Expr, ...]:
    return tuple(canonical(expression(p, (type_,) * len(programs), type_)) for p in programs)


def _open(components: tuple[Expr, ...]) -> tuple[bool, ...]:
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


def _associative(group: Group, programs: Sequence[np.ndarray], wanted: list[Type]) -> dict[Type, Verdict]:
    """A verdict for each type, from as few proofs as suffice.

    The widest type is proved first. Its proof by normal forms and orders holds at the narrower ones: it uses equality
    of polynomials mod 2^W, and that order is total. So does any proof of an operator that does not multiply, because
    v -> v << (W - w) embeds the narrower type; those are proved for all widths at once in `rfactor.enumerate.circle`.
    """
    verdicts: dict[Type, Verdict] = {}
    free = group.is_width_free or not _multiplies(programs)
    for type_ in reversed(wanted):
        op = _operator(programs, type_, group.meaning)
        x, y, z = map(op.operands, "xyz")
        verdict = equal(op(op(x, y), z), op(x, op(y, z)), group.meaning)
        verdicts[type_] = verdict
        narrower = [t for t in wanted if t.bits < type_.bits]
        if (
            isinstance(verdict, Proven) and (verdict.method in ("normal_form", "order") or free)
        ) or group.is_width_free:
            verdicts |= dict.fromkeys(narrower, verdict)
            break
    return {t: verdicts[t] for t in wanted}


def equal(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning) -> Verdict:
    """Whether the tuples are equal: by cases, as reals where integers are, and by all that the prover knows."""
    began = time.perf_counter()
    cases = prove_by_cases(left, right, meaning, (), LIMITS)
    if cases is not None:
        return Proven(cases, (time.perf_counter() - began) * 1000)
    if left[0].type.is_int:
        try:
            both, assumptions = (over_reals if meaning is Meaning.MATH else on_circle)([*left, *right])
        except NotLinear:
            pass
        else:
            half = len(left)
            verdict = prove_equal(both[:half], both[half:], assumptions=assumptions, limits=LINEAR)
            if isinstance(verdict, Proven):
                return verdict
    return prove_equal(left, right, meaning=meaning, limits=LIMITS)


def _multiplies(programs: Sequence[np.ndarray]) -> bool:
    return any(CODE["*"] in p[: p[WIDTH - 1]] for p in programs)


def _operator(programs: Sequence[np.ndarray], type_: Type, meaning: Meaning) -> Operator:
    return Operator(_components(programs, type_), (type_,) * len(programs), meaning)


def _undecided(group: Group, type_: Type, components: tuple[Expr, ...], reason: str) -> dict[str, Any]:
    return {
        "types": ",".join([type_.name] * len(components)),
        "leaves": sum(map(leaves, components)),
        "operator": ", ".join(show(e) for e in components),
        "semantics": group.meaning.value,
        "claim": "associative",
        "reason": reason,
    }


def _laws(group: Group, programs: tuple[np.ndarray, ...], type_: Type, proof: Proven, seed: int) -> _Laws:
    op = _operator(programs, type_, group.meaning)
    proofs: list[dict[str, Any]] = [{"claim": "associative", "method": proof.method}]
    kind, left, right = "none", None, None
    found: dict[str, list[tuple[str, ...]]] = {"left": [], "right": []}
    for side, texts in guesses(type_, group.meaning, programs, seed):
        found[side].append(texts)
    both = [t for t in found["left"] if t in found["right"]]
    for texts in both[:_BOTH]:
        methods = [_identity_method(op, _expressions(texts, op), side) for side in _SIDES]
        if all(methods):
            kind, left = "two-sided", texts
            proofs += [{"claim": f"{side}_identity", "method": m} for side, m in zip(_SIDES, methods, strict=True)]
            break
    if left is None:
        for texts in found["left"]:
            method = _identity_method(op, _expressions(texts, op), "left")
            if method:
                kind, left = "left", texts
                proofs.append({"claim": "left_identity", "method": method})
                break
    if left is None:
        for texts in found["right"]:
            method = _identity_method(op, _expressions(texts, op), "right")
            if method:
                kind, right = "right", texts
                proofs.append({"claim": "right_identity", "method": method})
                break
    commutes, claim = _commutes(op, programs, type_, group, seed)
    proofs += claim
    return _Laws(
        proof.method,
        kind,
        ", ".join(left) if left else None,
        ", ".join(right) if right else None,
        commutes,
        json.dumps(proofs),
    )


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_BOTH = 6
"""Values tried as a two-sided identity that fit the samples on both sides."""


def _expressions(texts: tuple[str, ...], op: Operator) -> tuple[Expr, ...]:
    return tuple(identity_expression(text, op.types[0], op.meaning) for text in texts)


def _identity_method(op: Operator, e: tuple[Expr, ...], side: Literal["left", "right"]) -> str | None:
    """The method that proves `e` to be an identity on this side, or None."""
    if not _is_sound(op, e):
        return None
    other = op.operands("y" if side == "left" else "x")
    try:
        result = tuple(without_infinities(part) for part in (op(e, other) if side == "left" else op(other, e)))
    except Undefined:
        return None
    verdict = equal(result, other, op.meaning)
    return verdict.method if isinstance(verdict, Proven) else None


def identity_expression(text: str, type_: Type, meaning: Meaning) -> Expr:
    """A guess as an expression over k. Infinite ends of unbounded integers are constants of type f64."""
    if text in ("MIN", "MAX"):
        if type_.is_int and meaning is Meaning.MATH:
            if text == "MIN" and type_.code == "uint":
                return Const(type_, 0)
            return INFINITY if text == "MAX" else MINUS_INFINITY
        return Const(type_, type_.max if text == "MAX" else type_.min)
    if type_.is_bool and text in ("0", "1"):
        return Const(BOOL, text == "1")
    return parse_expr(text, {"k": type_}, type_)


def _is_sound(op: Operator, e: tuple[Expr, ...]) -> bool:
    """For floats: no NaN where the identity meets itself or a finite value, in IEEE arithmetic."""
    if not any(t.is_float for t in op.types):
        return True
    type_ = op.types[0]
    finite = np.array([0.0, 1.0, -2.5, float(np.finfo(f"f{type_.bits // 8}").max)], f"f{type_.bits // 8}")
    k = np.repeat(finite, len(finite))
    other = np.tile(finite, len(finite))
    own = [evaluate(part, {"k": k}, op.meaning) for part in e]
    own = [np.broadcast_to(part, k.shape) for part in own]
    for left, right in ((own, own), (own, [other] * len(own)), ([other] * len(own), own)):
        env = {"k": k}
        env |= {f"x{i}": value for i, value in zip(range(len(left)), left, strict=True)}
        env |= {f"y{i}": value for i, value in zip(range(len(right)), right, strict=True)}
        with np.errstate(all="ignore"):
            if any(np.isnan(evaluate(part, env, op.meaning)).any() for part in op.components if not part.type.is_bool):
                return False
    return True


def _commutes(
    op: Operator, programs: tuple[np.ndarray, ...], type_: Type, group: Group, seed: int
) -> tuple[bool | None, list[dict[str, Any]]]:
    """Whether it commutes, with the proof or the witness; (None, []) where neither was found."""
    domain = domain_of(type_, group.meaning)
    rng = np.random.default_rng([seed, 7])
    # Small values first: a witness that all types share.
    shared = rng.integers(0, 2 if type_.is_bool else 4, (5, 128)).astype(domain.dtype)
    own = samples(type_, domain, (5, 256), (seed, 6, type_.bits))
    if not domain.floating:
        used = {v.name for e in op.components for v in walk(e) if isinstance(v, Var)}
        used |= {_turned(name) for name in used}
        for points in (shared, own):
            for program in programs:
                forth = values(domain, program[None], points)[0]
                back = values(domain, renamed(program[None], REVERSED), points)[0]
                different = np.flatnonzero(forth != back)
                if len(different):
                    at = {
                        name: _literal(points[leaf, different[0]], type_)
                        for leaf, name in zip(range(5), LEAVES, strict=True)
                        if name in used
                    }
                    return False, [{"claim": "not_commutative", "witness": at}]
    x, y = map(op.operands, "xy")
    verdict = equal(op(x, y), op(y, x), op.meaning)
    if isinstance(verdict, Proven):
        return True, [{"claim": "commutative", "method": verdict.method}]
    if isinstance(verdict, Refuted):
        # A variable that the counterexample leaves out may be anything.
        return False, [
            {"claim": "not_commutative", "witness": {k: _plain(v) for k, v in verdict.counterexample.items()}}
        ]
    return None, []


def _literal(value: Any, type_: Type) -> Any:
    return bool(value) if type_.is_bool else value.item()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value if isinstance(value, int | float | bool) else str(value)


__all__ = ["LIMITS", "Outcome", "identity_expression", "prove", "reversed_row", "root"]
