"""Identities of an operator: e with op(e, y) = y for all y, or op(x, e) = x for all x, or a proof that there is none.

Candidates come from what identities are made of and from the operator's own algebra; where none of them is proved, e is
solved for: "at every e some y of these shows that e is none" is proved, or its counterexample is the next e to try, and
what refutes that one is the next y.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rfactor.errors import TypeMismatch
from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate
from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, conjunction, const, names, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, Type
from rfactor.prover import defined, sampling
from rfactor.prover.equality import holds, prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, has_infinity, is_infinite, without_infinities
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.operator import Kind, Operator, Tuple, constants_of
from rfactor.prover.verdict import Proven, Unknown, Verdict

Side = Literal["left_identity", "right_identity"]
_SIDES: tuple[Side, Side] = ("left_identity", "right_identity")
_TRIED = 4096
"""Most combinations of candidates that are sampled as an identity."""
_ROUNDS = 12
"""Most values of e that are solved for on one side."""
_QUERY = 2_000_000
"""Resource units for one of them."""
_BEFORE_TERMS = 4
"""Rounds before operands near e are looked at."""
_HELD = (0, 1, 5)
"""Values of the operator's constants: without an identity for some of them there is none for all."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Where the operator does nothing, on which side, and what proves it."""

    value: Tuple | None
    """A left (or two-sided) identity, over the constants; for kind `right` a right one."""
    kind: Kind | None
    """None: none is found, and it is not proved that there is none."""
    proofs: tuple[tuple[Side, Proven], ...] = field(default=())
    absent: frozenset[Side] = frozenset()
    """The sides on which it is proved that no e is an identity."""


def left_identity(op: Operator, e: Tuple, limits: Limits = DEFAULT) -> Verdict:
    """Whether op(e, y) = y for all y; with infinite parts in `e`, for all finite y, and without NaN."""
    y = op.operands("y")
    return _acts_as_identity(op(e, y), y, op, limits)


def right_identity(op: Operator, e: Tuple, limits: Limits = DEFAULT) -> Verdict:
    """Whether op(x, e) = x for all x; with infinite parts in `e`, for all finite x, and without NaN."""
    x = op.operands("x")
    return _acts_as_identity(op(x, e), x, op, limits)


def _acts_as_identity(result: Tuple, operand: Tuple, op: Operator, limits: Limits) -> Verdict:
    try:
        result = tuple(without_infinities(e) for e in result)
    except Undefined as error:
        return Unknown(str(error))
    return prove_equal(result, operand, meaning=op.meaning, limits=limits)


def _proved(op: Operator, side: Side, e: Tuple, limits: Limits) -> Verdict:
    return (left_identity if side == "left_identity" else right_identity)(op, e, limits)


def _result(op: Operator, side: Side, e: Tuple, operand: Tuple) -> Tuple:
    """What the operator makes of e on this side and the operand on the other. Raises `Undefined`."""
    result = op(e, operand) if side == "left_identity" else op(operand, e)
    return tuple(map(without_infinities, result))


def identities(op: Operator, limits: Limits = DEFAULT, infinite: bool = False) -> Identity:
    """An identity of the operator, two-sided if one is found, else left, else right.

    With `infinite`, ±inf is tried for unbounded integers too (as constants of type f64, see `prover.infinity`).
    """
    found: dict[Side, tuple[Tuple, Proven]] = {}
    absent: set[Side] = set()
    for side, other in (_SIDES, _SIDES[::-1]):
        for e, proof in _found(op, side, limits, infinite, absent):
            opposite = _proved(op, other, e, limits)
            if isinstance(opposite, Proven):
                proofs = {side: proof, other: opposite}
                return Identity(e, "two-sided", tuple((name, proofs[name]) for name in _SIDES))
            found.setdefault(side, (e, proof))
    kinds: tuple[Kind, Kind] = ("left", "right")
    for side, kind in zip(_SIDES, kinds, strict=True):
        if side in found:
            e, proof = found[side]
            return Identity(e, kind, ((side, proof),), frozenset(absent))
    return Identity(None, "none" if len(absent) == 2 else None, absent=frozenset(absent))


def _found(
    op: Operator, side: Side, limits: Limits, infinite: bool, absent: set[Side]
) -> Iterator[tuple[Tuple, Proven]]:
    """Identities on one side; the side is entered as `absent` where there is none."""
    any_found = False
    for e in _candidates(op, side, infinite):
        proof = _proved(op, side, e, limits)
        if isinstance(proof, Proven):
            any_found = True
            yield e, proof
    if any_found:
        return
    solved = _solved(op, side, limits, infinite)
    if solved is None:
        absent.add(side)
    elif not isinstance(solved, Unknown):
        yield solved


# What may be an identity.


def _candidates(op: Operator, side: Side, infinite: bool) -> Iterator[Tuple]:
    """Tuples that act as an identity on samples."""
    operand = op.operands("y" if side == "left_identity" else "x")
    choices = [constants_of(type_, op.constants, op.meaning, infinite) for type_ in op.types]
    for e in itertools.islice(dict.fromkeys((*itertools.product(*choices), *algebraic(op, side))), _TRIED):
        try:
            result = _result(op, side, e, operand)
        except Undefined:
            continue
        if sampling.refute(result, operand, op.meaning, count=32) is None:
            yield e


def algebraic(op: Operator, side: Side) -> list[Tuple]:
    """What solves op(e, y) = y for e at single y, of an operator of one component: by bits, or where it is affine in e.

    Candidates, not proved to be anything.
    """
    if len(op.types) > 1 or op.types[0].is_bool:
        return []
    (type_,) = op.types
    zero, one = const(type_, 0), const(type_, 1)

    def at(e: Expr, y: Expr) -> Expr:
        result = op((e,), (y,)) if side == "left_identity" else op((y,), (e,))
        return canonical(simplify(result[0]))

    found: list[Expr] = []
    moved = [apply(sign, k, one) for k in op.constants if k.type == type_ for sign in "+-"]
    for y in (zero, one, const(type_, 2), const(type_, 3), *(k for k in op.constants if k.type == type_), *moved):
        added = at(zero, y)
        slope = canonical(simplify(apply("-", at(one, y), added)))
        rest = apply("-", y, added)
        if not isinstance(slope, Const):
            continue
        if slope == one:
            found.append(rest)
        elif slope == const(type_, -1) if type_.code != "uint" else slope.value == type_.max:
            found.append(apply("neg", rest))
        else:
            solution = _quotient(type_, op.meaning, canonical(simplify(rest)), slope)
            found += [] if solution is None else [solution]
    if type_.is_int and op.meaning is Meaning.WRAP:
        # The bits of e that are 1: those where a 0 would change a 0 or a 1 of y.
        zeros, ones = at(zero, zero), apply("~", at(zero, const(type_, type_.wrap(-1))))
        found += [zeros, ones, apply("|", zeros, ones)]
    return [(tidied,) for tidied in dict.fromkeys(canonical(simplify(e)) for e in found)]


def _quotient(type_: Type, meaning: Meaning, value: Expr, divisor: Const) -> Const | None:
    """The constant e with e * divisor = value; under `wrap` by an odd divisor alone."""
    if not isinstance(value, Const) or not divisor.value:
        return None
    if type_.is_float:
        solution = float(value.value) / float(divisor.value)
        return const(type_, solution) if abs(solution) <= type_.largest_finite else None
    a, b = int(value.value), int(divisor.value)
    if meaning is Meaning.MATH:
        return None if a % b else Const(type_, a // b)
    return Const(type_, type_.wrap(a * pow(b, -1, 1 << type_.bits))) if b % 2 else None


# Solving for it.


def _solved(op: Operator, side: Side, limits: Limits, infinite: bool) -> tuple[Tuple, Proven] | Unknown | None:
    """An identity on one side with its proof; None if it is proved that there is none.

    The constants of the operator are held at a few values. What is solved for these is no identity for all of them,
    but where there is none for some of them there is none for all.
    """
    if not op.constants:
        return _solved_without_constants(op, side, limits, infinite)
    for value in _HELD:
        held = {k.name: const(k.type, bool(value) if k.type.is_bool else value) for k in op.constants}
        components = tuple(simplify(substitute(e, held)) for e in op.components)
        if _solved_without_constants(replace(op, components=components), side, limits, infinite) is None:
            return None
    return Unknown("no expression in the constants was found")


def _solved_without_constants(
    op: Operator, side: Side, limits: Limits, infinite: bool
) -> tuple[Tuple, Proven] | Unknown | None:
    choices: list[list[Expr]] = []
    for i, type_ in zip(range(len(op.types)), op.types, strict=True):
        parts: list[Expr] = [Var(type_, f"e {i}")]
        if type_.is_float:
            parts += [const(type_, type_.max), const(type_, type_.min)]
        elif type_.is_int and op.meaning is Meaning.MATH and infinite:
            parts += [INFINITY, MINUS_INFINITY]
        choices.append(parts)
    unknown: Unknown | None = None
    for e in itertools.product(*choices):
        solved = _solved_for(op, side, e, limits)
        if isinstance(solved, tuple):
            return solved
        unknown = solved if unknown is None else unknown
    return unknown


def _solved_for(op: Operator, side: Side, e: Tuple, limits: Limits) -> tuple[Tuple, Proven] | Unknown | None:
    """The identity that e becomes for some values of its variables; None if it is proved that it becomes none."""
    operands = [tuple(const(t, bool(v) if t.is_bool else v) for t in op.types) for v in (0, 1, 2)]
    for number in range(_ROUNDS):
        if limits.expired:
            return Unknown("the time limit was reached")
        seen = [*operands, *_shifted(op, e)] if number == _BEFORE_TERMS else operands
        verdict = holds(_is_none(op, side, e, seen), meaning=op.meaning, limits=limits.at_most(_QUERY))
        if isinstance(verdict, Proven):
            return None
        if number == _BEFORE_TERMS:
            continue
        if isinstance(verdict, Unknown):
            return verdict
        values = verdict.counterexample
        try:
            candidate = tuple(const(p.type, values.get(p.name, 0)) if isinstance(p, Var) else p for p in e)
        except TypeMismatch:
            return Unknown("the solution is outside the type")  # of an unbounded integer
        proof = _proved(op, side, candidate, limits)
        if isinstance(proof, Proven):
            return candidate, proof
        if isinstance(proof, Unknown):
            return proof
        letter = "y" if side == "left_identity" else "x"
        try:
            operand = tuple(const(t, proof.counterexample.get(f"{letter}{i}", 0)) for i, t in _numbered(op.types))
        except TypeMismatch:
            return Unknown("what refutes the solution is outside the type")
        if operand in operands:
            return Unknown("the solution is not exact")
        operands.append(operand)
    return Unknown("no identity was found, nor a proof that there is none")


def _shifted(op: Operator, e: Tuple) -> Iterator[Tuple]:
    """Operands near e: one part more or less by 1."""
    finite = [const(t, 0) if is_infinite(part) else part for part, t in zip(e, op.types, strict=True)]
    for at, sign in itertools.product(range(len(e)), "+-"):
        type_ = op.types[at]
        below_zero = sign == "-" and type_.code == "uint" and op.meaning is Meaning.MATH
        if not (type_.is_bool or is_infinite(e[at]) or below_zero):
            yield (*finite[:at], apply(sign, finite[at], const(type_, 1)), *finite[at + 1 :])


def _is_none(op: Operator, side: Side, e: Tuple, operands: Sequence[Tuple]) -> Expr:
    """That one of the operands is changed by e, without a division by zero."""
    found: Expr = Const(BOOL, False)
    for operand in operands:
        try:
            result = _result(op, side, e, operand)
        except Undefined:
            if _is_nan(op, side, e, operand):
                return Const(BOOL, True)
            continue
        changed: Expr = Const(BOOL, False)
        for one, other in zip(result, operand, strict=True):
            if is_infinite(one):
                changed = Const(BOOL, True)
            elif not has_infinity(one):
                changed = apply("or", changed, apply("!=", one, other))
        divided = defined.conditions(result, everywhere=True)
        found = apply("or", found, conjunction(*divided, changed))
    return simplify(found) if simplifies_exactly((found,), op.meaning) else found


def _is_nan(op: Operator, side: Side, e: Tuple, operand: Tuple) -> bool:
    """Whether arithmetic makes a NaN of e and the operand in some component; False where variables leave that open."""
    result = op(e, operand) if side == "left_identity" else op(operand, e)
    ground = [part for part in result if part.type.is_float and not names(part)]
    exact = [part for part in ground if not any(map(_divides_or_rounds, walk(part)))]
    values = [evaluate(part, {}, op.meaning, "real")[0] for part in exact]
    return any(bool(value != value) for value in values)


def _divides_or_rounds(node: Expr) -> bool:
    return isinstance(node, Call) or (isinstance(node, Op) and node.op == "/")


def _numbered(types: Sequence[Type]) -> Iterator[tuple[int, Type]]:
    return zip(range(len(types)), types, strict=False)
