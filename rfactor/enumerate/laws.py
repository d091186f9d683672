"""Laws of one operator: equalities decided by whatever is fastest, identities, commutativity."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.circle import NotLinear, on_circle, over_reals
from rfactor.enumerate.groups import Group
from rfactor.enumerate.identity import guesses
from rfactor.enumerate.points import samples
from rfactor.enumerate.trees import REVERSED, expression, renamed
from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, I64, Type
from rfactor.native.lanes import LEAVES, domain_of
from rfactor.native.programs import values
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict

LIMITS = Limits(rlimit=2_000_000, cases=1500)
"""Deterministic bounds on each proof."""
LINEAR = Limits(rlimit=2_000_000, cases=0)
"""Of a claim in linear real arithmetic."""


@dataclass(frozen=True, slots=True)
class Laws:
    """What holds of an associative operator."""

    method: str
    kind: str
    identity: str | None
    right_identity: str | None
    commutative: bool | None
    proofs: str
    width_free: bool
    """Whether all of it holds at every narrower type too."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to an equality.

    A proof is *width-free*, good for all narrower types of the same signedness, if it is by normal forms and orders
    (which use equality of polynomials mod 2^W, that order is total, and the order of small literals and the type's
    ends), or if it is a claim about the circle or the reals.
    """

    verdict: Verdict
    width_free: bool = False


def components(programs: Sequence[np.ndarray], type_: Type) -> tuple[Expr, ...]:
    """The canonical trees of programs, every variable of this type.

    They are written alike at every width: canonical form is made among signed integers, where a negative coefficient
    is one.
    """
    like = twin(type_)
    return tuple(canonical_at(expression(p, (like,) * len(programs), like), type_) for p in programs)


def twin(type_: Type) -> Type:
    """The type among whose expressions canonical form is made: i64 for every integer type."""
    return I64 if type_.is_int else type_


def canonical_at(expr: Expr, type_: Type) -> Expr:
    """The canonical form of an expression of the twin type, with variables of `type_`."""
    found = canonical(expr)
    return retyped(found, type_) if type_.is_int else found


def retyped(expr: Expr, type_: Type) -> Expr:
    """A tree of i64 with every variable of another integer type; for unsigned ones, signs stand before products."""
    if isinstance(expr, Var):
        return Var(type_, expr.name)
    if isinstance(expr, Const):
        if expr.type.is_bool:
            return expr
        value = int(expr.value)
        if value < 0 and type_.code == "uint":
            return apply("neg", Const(type_, -value))
        return Const(type_, value)
    assert isinstance(expr, Op)
    if expr.op == "*" and type_.code == "uint" and isinstance(expr.args[1], Const) and int(expr.args[1].value) < 0:
        return apply("neg", apply("*", retyped(expr.args[0], type_), Const(type_, -int(expr.args[1].value))))
    args = tuple(retyped(arg, type_) for arg in expr.args)
    return select(*args) if expr.op == "select" else apply(expr.op, *args)


def operator(programs: Sequence[np.ndarray], type_: Type, meaning: Meaning) -> Operator:
    return Operator(components(programs, type_), (type_,) * len(programs), meaning)


def equal(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning) -> Decision:
    """Whether the tuples are equal: by cases, as reals where integers are, and by all that the prover knows."""
    began = time.perf_counter()
    cases = prove_by_cases(left, right, meaning, (), LIMITS)
    if cases is not None:
        return Decision(Proven(cases, (time.perf_counter() - began) * 1000), width_free=True)
    if left[0].type.is_int:
        try:
            both, assumptions = (over_reals if meaning is Meaning.MATH else on_circle)([*left, *right])
        except NotLinear:
            pass
        else:
            half = len(left)
            verdict = prove_equal(both[:half], both[half:], assumptions=assumptions, limits=LINEAR)
            if isinstance(verdict, Proven):
                return Decision(verdict, width_free=True)
    return Decision(prove_equal(left, right, meaning=meaning, limits=LIMITS))


def laws_of(
    group: Group, programs: tuple[np.ndarray, ...], type_: Type, types: Sequence[Type], proof: Proven, seed: int
) -> Laws:
    """The laws at one type; `types` are those at which they are wanted, which decides what witness is looked for."""
    op = operator(programs, type_, group.meaning)
    proofs: list[dict[str, Any]] = [{"claim": "associative", "method": proof.method}]
    kind, left, right = "none", None, None
    used: list[tuple[Literal["left", "right"], Decision]] = []
    found: dict[str, list[tuple[str, ...]]] = {"left": [], "right": []}
    for side, texts in guesses(type_, group.meaning, programs, seed):
        found[side].append(texts)
    both = [t for t in found["left"] if t in found["right"]]
    for texts in both[:_BOTH]:
        decisions = [_identity(op, _expressions(texts, op), side) for side in _SIDES]
        if all(isinstance(decision.verdict, Proven) for decision in decisions):
            kind, left, used = "two-sided", texts, list(zip(_SIDES, decisions, strict=True))
            break
    if left is None:
        for texts in found["left"]:
            decision = _identity(op, _expressions(texts, op), "left")
            if isinstance(decision.verdict, Proven):
                kind, left, used = "left", texts, [("left", decision)]
                break
    if left is None:
        for texts in found["right"]:
            decision = _identity(op, _expressions(texts, op), "right")
            if isinstance(decision.verdict, Proven):
                kind, right, used = "right", texts, [("right", decision)]
                break
    for side, decision in used:
        assert isinstance(decision.verdict, Proven)
        proofs.append({"claim": f"{side}_identity", "method": decision.verdict.method})
    commutes, claim, shared = _commutes(op, programs, type_, types, group, seed)
    proofs += claim
    if commutes and kind in ("left", "right"):
        # A value that is an identity on one side of an operator that commutes is one on the other. An infinity is no
        # value of the operands: where it is undefined on one side (0 * inf), it is not used.
        if domain_of(type_, group.meaning).floating and {"MIN", "MAX"} & set(left or right or ()):
            kind, left, right = "none", None, None
            del proofs[1]
        else:
            other = "right" if kind == "left" else "left"
            proofs.append({**proofs[1], "claim": f"{other}_identity"})
            kind, left, right = "two-sided", left or right, None
    return Laws(
        proof.method,
        kind,
        ", ".join(left) if left else None,
        ", ".join(right) if right else None,
        commutes,
        json.dumps(proofs),
        group.is_width_free or (shared and all(decision.width_free for _, decision in used)),
    )


_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")
_BOTH = 6
"""Values tried as a two-sided identity that fit the samples on both sides."""


def _expressions(texts: tuple[str, ...], op: Operator) -> tuple[Expr, ...]:
    return tuple(identity_expression(text, op.types[0], op.meaning) for text in texts)


def _identity(op: Operator, e: tuple[Expr, ...], side: Literal["left", "right"]) -> Decision:
    """Whether `e` is an identity on this side."""
    if not _is_sound(op, e):
        return _NOT
    other = op.operands("y" if side == "left" else "x")
    try:
        result = tuple(without_infinities(part) for part in (op(e, other) if side == "left" else op(other, e)))
    except Undefined:
        return _NOT
    return equal(result, other, op.meaning)


_NOT = Decision(Unknown("no identity"))


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
    op: Operator, programs: tuple[np.ndarray, ...], type_: Type, types: Sequence[Type], group: Group, seed: int
) -> tuple[bool | None, list[dict[str, Any]], bool]:
    """Whether it commutes, with the proof or the witness, and whether that holds at all of `types`."""
    rng = np.random.default_rng([seed, 7])
    # Small values first: a witness that all types share.
    small = rng.integers(0, 2 if type_.is_bool else 4, (5, 128))
    if not domain_of(type_, group.meaning).floating:
        used = {v.name for e in op.components for v in walk(e) if isinstance(v, Var)}
        used |= {turned(name) for name in used}
        own = samples(type_, domain_of(type_, group.meaning), (5, 256), (seed, 6, type_.bits))
        for points, where in ((small, types), (own, [type_])):
            differing = [_differing(programs, t, points, group.meaning) for t in where]
            for at in np.flatnonzero(np.logical_and.reduce(differing)):
                witness = {
                    name: _literal(points[leaf, at], type_)
                    for leaf, name in zip(range(5), LEAVES, strict=True)
                    if name in used
                }
                return False, [{"claim": "not_commutative", "witness": witness}], where is types
    x, y = map(op.operands, "xy")
    decision = equal(op(x, y), op(y, x), op.meaning)
    verdict = decision.verdict
    if isinstance(verdict, Proven):
        return True, [{"claim": "commutative", "method": verdict.method}], decision.width_free
    if isinstance(verdict, Refuted):
        # A variable that the counterexample leaves out may be anything.
        witness = {name: _plain(value) for name, value in verdict.counterexample.items()}
        return False, [{"claim": "not_commutative", "witness": witness}], group.is_width_free
    return None, [], False


def _differing(programs: tuple[np.ndarray, ...], type_: Type, points: np.ndarray, meaning: Meaning) -> np.ndarray:
    """At which points exchanging the operands changes the result."""
    domain = domain_of(type_, meaning)
    lanes = points.astype(domain.dtype)
    found = np.zeros(points.shape[1], bool)
    for program in programs:
        forth = values(domain, program[None], lanes)[0]
        found |= forth != values(domain, renamed(program[None], REVERSED), lanes)[0]
    return found


def turned(name: str) -> str:
    """The variable in its place when the operands are exchanged."""
    return {"x": "y", "y": "x"}.get(name[0], name[0]) + name[1:]


def _literal(value: Any, type_: Type) -> Any:
    return bool(value) if type_.is_bool else value.item()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value if isinstance(value, int | float | bool) else str(value)
