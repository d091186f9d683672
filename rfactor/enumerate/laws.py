"""Laws of one operator: equalities decided by whatever is fastest, identities, commutativity."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rfactor.enumerate.circle import NotLinear, on_circle, over_reals
from rfactor.enumerate.groups import Group
from rfactor.enumerate.identity import Side, guesses
from rfactor.enumerate.points import samples
from rfactor.enumerate.trees import REVERSED, expression, renamed
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Var, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, Type
from rfactor.ir.widthless import canonical_at, twin
from rfactor.native.lanes import LEAVES, domain_of
from rfactor.native.programs import values
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.equality import equal_by_products, prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict
from rfactor.table.mirror import turned

LIMITS = Limits(rlimit=500_000, cases=1500)
"""Deterministic bounds on each proof: twice as much decides a few in a hundred more, of those that multiply."""
QUICK = Limits(rlimit=200_000, cases=100)
"""Of the first attempt: most of what can be proved takes less."""


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


def operator(programs: Sequence[np.ndarray], type_: Type, meaning: Meaning) -> Operator:
    return Operator(components(programs, type_), (type_,) * len(programs), meaning)


def by_cases(
    left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, limits: Limits | None = None
) -> Decision:
    """Whether the tuples are equal, by cases alone: few of them if no limits are given."""
    began = time.perf_counter()
    cases = prove_by_cases(left, right, meaning, (), limits or QUICK)
    if cases is None:
        return _OPEN
    return Decision(Proven(cases, (time.perf_counter() - began) * 1000), width_free=True)


def equal(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning) -> Decision:
    """Whether the tuples are equal: by cases, as reals, by all that the prover knows; cheap first."""
    decision = by_cases(left, right, meaning)
    if isinstance(decision.verdict, Proven):
        return decision
    decision = as_reals(left, right, meaning, _uncased(QUICK))
    if isinstance(decision.verdict, Proven):
        return decision
    decision = Decision(prove_equal(left, right, meaning=meaning, limits=_uncased(QUICK)))
    if not isinstance(decision.verdict, Unknown):
        return decision
    cases = by_cases(left, right, meaning, LIMITS)
    if isinstance(cases.verdict, Proven):
        return cases
    # On polynomials over the reals the solver's limits do not hold it back, and what it decides it decides soon.
    if left[0].type.is_float:
        began = time.perf_counter()
        proved = equal_by_products(left, right, meaning, LIMITS)
        return Decision(Proven("smt", (time.perf_counter() - began) * 1000)) if proved else decision
    if meaning is Meaning.WRAP:
        reals = as_reals(left, right, meaning, _uncased(LIMITS))
        if isinstance(reals.verdict, Proven):
            return reals
    return Decision(prove_equal(left, right, meaning=meaning, limits=_uncased(LIMITS)))


def _uncased(limits: Limits) -> Limits:
    return replace(limits, cases=0)


def regrouped(op: Operator) -> Decision:
    """Whether op(op(x, y), z) = op(x, op(y, z))."""
    return equal(*sides(op), op.meaning)


def sides(op: Operator) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """op(op(x, y), z) and op(x, op(y, z))."""
    x, y, z = map(op.operands, "xyz")
    return op(op(x, y), z), op(x, op(y, z))


def as_reals(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, limits: Limits) -> Decision:
    """Whether tuples of integers are equal as reals, or on the circle."""
    if not left[0].type.is_int:
        return _OPEN
    try:
        both, assumptions = (over_reals if meaning is Meaning.MATH else on_circle)([*left, *right])
    except NotLinear:
        return _OPEN
    half = len(left)
    verdict = prove_equal(both[:half], both[half:], assumptions=assumptions, limits=limits)
    return Decision(verdict, width_free=True) if isinstance(verdict, Proven) else _OPEN


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of an operator at a type: its kind, the sides as text, and the proofs."""

    kind: str
    left: tuple[str, ...] | None = None
    right: tuple[str, ...] | None = None
    used: tuple[tuple[Side, Decision], ...] = ()


def identity_of(group: Group, programs: tuple[np.ndarray, ...], type_: Type, seed: int) -> Identity:
    """A proved identity among those that fit the samples: two-sided, else left, else right."""
    op = operator(programs, type_, group.meaning)
    found: dict[Side, list[tuple[str, ...]]] = {"left": [], "right": []}
    for side, texts in guesses(type_, group.meaning, programs, seed):
        found[side].append(texts)
    for texts in [t for t in found["left"] if t in found["right"]][:_BOTH]:
        decisions = [_identity(op, _expressions(texts, op), side) for side in _SIDES]
        if all(isinstance(decision.verdict, Proven) for decision in decisions):
            return Identity("two-sided", texts, None, tuple(zip(_SIDES, decisions, strict=True)))
    for side in _SIDES:
        chosen = _one_sided(op, found[side], side)
        if chosen is not None:
            texts, decision = chosen
            return Identity(
                side, texts if side == "left" else None, texts if side == "right" else None, ((side, decision),)
            )
    return Identity("none")


def laws_of(
    group: Group,
    programs: tuple[np.ndarray, ...],
    type_: Type,
    types: Sequence[Type],
    proof: Proven,
    identity: Identity,
    seed: int,
) -> Laws:
    """The laws at one type; `types` are those at which they are wanted, which decides what witness is looked for."""
    op = operator(programs, type_, group.meaning)
    proofs: list[dict[str, Any]] = [{"claim": "associative", "method": proof.method}]
    kind, left, right, used = identity.kind, identity.left, identity.right, identity.used
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


_SIDES: tuple[Side, Side] = ("left", "right")
_BOTH = 6
"""Values tried as a two-sided identity that fit the samples on both sides."""


_OPEN_ENDS = 3
"""Values that neither fail nor are proved, after which no more are tried."""


def _one_sided(op: Operator, choices: Sequence[tuple[str, ...]], side: Side) -> tuple[tuple[str, ...], Decision] | None:
    """The first of the choices that is an identity by cases, or else by whatever proof."""
    for decide in (by_cases, equal):
        left = _OPEN_ENDS
        for texts in choices:
            decision = _identity(op, _expressions(texts, op), side, decide)
            if isinstance(decision.verdict, Proven):
                return texts, decision
            if decide is equal and isinstance(decision.verdict, Unknown):
                left -= 1
                if not left:
                    break
    return None


def _expressions(texts: tuple[str, ...], op: Operator) -> tuple[Expr, ...]:
    return tuple(identity_expression(text, op.types[0], op.meaning) for text in texts)


def _identity(
    op: Operator,
    e: tuple[Expr, ...],
    side: Side,
    decide: Callable[[tuple[Expr, ...], tuple[Expr, ...], Meaning], Decision] = equal,
) -> Decision:
    """Whether `e` is an identity on this side."""
    if not _is_sound(op, e):
        return _NOT
    other = op.operands("y" if side == "left" else "x")
    try:
        result = tuple(without_infinities(part) for part in (op(e, other) if side == "left" else op(other, e)))
    except Undefined:
        return _NOT
    return decide(result, other, op.meaning)


_NOT = Decision(Unknown("no identity"))
_OPEN = Decision(Unknown("not by cases"))


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


def _literal(value: Any, type_: Type) -> Any:
    return bool(value) if type_.is_bool else value.item()


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value if isinstance(value, int | float | bool) else str(value)
