"""Laws of a binary operator as it stands: associativity, commutativity, identities, idempotence."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rfactor.ir.expr import Const, Expr, Var, apply, const, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type
from rfactor.prover import sampling
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, without_infinities
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict

Kind = Literal["two-sided", "left", "right", "none"]
Tuple = tuple[Expr, ...]
_TRIED = 4096
"""Most combinations of candidate constants that are sampled as an identity."""


@dataclass(frozen=True, slots=True)
class Operator:
    """`components` over `x0…` (left) and `y0…` (right); every other name is a constant of the loop."""

    components: Tuple
    types: tuple[Type, ...]
    meaning: Meaning = Meaning.WRAP

    def operands(self, letter: str) -> Tuple:
        """The tuple of variables `letter0, letter1, …`."""
        return tuple(Var(type_, f"{letter}{i}") for i, type_ in zip(range(len(self.types)), self.types, strict=True))

    def __call__(self, left: Sequence[Expr], right: Sequence[Expr]) -> Tuple:
        """The operator on two tuples of expressions."""
        values: dict[str, Expr] = {f"x{i}": e for i, e in zip(range(len(left)), left, strict=True)}
        values |= {f"y{i}": e for i, e in zip(range(len(right)), right, strict=True)}
        return substitute_all(self.components, values)

    @property
    def constants(self) -> tuple[Var, ...]:
        """The variables that are no operand."""
        own = {f"{letter}{i}" for letter in "xy" for i in range(len(self.types))}
        return tuple(var for var in sampling.used(self.components) if var.name not in own)


@dataclass(frozen=True, slots=True)
class Identity:
    """Where the operator does nothing, on which side, and what proves it."""

    value: Tuple | None
    """A left (or two-sided) identity, over the constants; for kind `right` a right one."""
    kind: Kind
    proofs: tuple[tuple[Literal["left_identity", "right_identity"], Proven], ...] = field(default=())


def associative(op: Operator, limits: Limits = DEFAULT) -> Verdict:
    """Whether op(op(x, y), z) = op(x, op(y, z)) for all x, y, z."""
    x, y, z = map(op.operands, "xyz")
    left, right = op(op(x, y), z), op(x, op(y, z))
    start = time.perf_counter()
    try:
        sides = [tuple(without_infinities(e) for e in side) for side in (left, right)]
    except Undefined as error:
        return Unknown(str(error))
    verdict = prove_equal(sides[0], sides[1], meaning=op.meaning, limits=limits)
    if isinstance(verdict, Proven):
        return Proven(verdict.method, (time.perf_counter() - start) * 1000)
    return verdict


def commutative(op: Operator, limits: Limits = DEFAULT) -> Verdict:
    """Whether op(x, y) = op(y, x) for all x, y."""
    x, y = map(op.operands, "xy")
    return prove_equal(op(x, y), op(y, x), meaning=op.meaning, limits=limits)


def idempotent(op: Operator, limits: Limits = DEFAULT) -> Verdict:
    """Whether op(x, x) = x for all x."""
    x = op.operands("x")
    return prove_equal(op(x, x), x, meaning=op.meaning, limits=limits)


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


def identities(op: Operator, limits: Limits = DEFAULT, infinite: bool = False) -> Identity:
    """An identity of the operator, two-sided if there is one among the candidates, else left, else right.

    Candidates are the constants that identities are made of (0, 1, all ones, the ends of the type, infinities, and the
    operator's own constants); `none` means that none of these is one. With `infinite`, ±inf is tried for unbounded
    integers too (as constants of type f64, see `prover.infinity`).
    """
    right_only: Identity | None = None
    left_only: Identity | None = None
    for e in _candidates(op, True, infinite):
        proof = left_identity(op, e, limits)
        if not isinstance(proof, Proven):
            continue
        other = right_identity(op, e, limits)
        if isinstance(other, Proven):
            return Identity(e, "two-sided", (("left_identity", proof), ("right_identity", other)))
        left_only = left_only or Identity(e, "left", (("left_identity", proof),))
    if left_only is not None:
        return left_only
    for e in _candidates(op, False, infinite):
        proof = right_identity(op, e, limits)
        if isinstance(proof, Proven):
            right_only = Identity(e, "right", (("right_identity", proof),))
            break
    return right_only or Identity(None, "none")


def constants_of(type_: Type, loop_constants: Sequence[Var], meaning: Meaning, infinite: bool = False) -> list[Expr]:
    """What an identity's component of this type may be, likeliest first."""
    if type_.is_bool:
        return [Const(type_, False), Const(type_, True)]
    values = [0, 1]
    if type_.is_float:
        result: list[Expr] = [const(type_, v) for v in (*values, -1, type_.max, type_.min)]
    elif meaning is Meaning.MATH:
        result = [Const(type_, v) for v in ((0, 1) if type_.code == "uint" else (0, 1, -1))]
        if infinite:
            result += [INFINITY, MINUS_INFINITY]
    else:
        result = [Const(type_, type_.wrap(int(v))) for v in (*values, type_.min, type_.max, -1)]
    for var in loop_constants:
        if var.type == type_:
            result += [var, simplify(apply("neg", var))]
    return list(dict.fromkeys(result))


def _candidates(op: Operator, left: bool, infinite: bool) -> Iterator[Tuple]:
    """Tuples of constants that act as an identity on samples."""
    operand = op.operands("y" if left else "x")
    choices = [constants_of(type_, op.constants, op.meaning, infinite) for type_ in op.types]
    count = 0
    for e in itertools.product(*choices):
        count += 1
        if count > _TRIED:
            return
        try:
            result = tuple(without_infinities(c) for c in (op(e, operand) if left else op(operand, e)))
        except Undefined:
            continue
        if sampling.refute(result, operand, op.meaning, count=32) is None:
            yield e


def counterexample(verdict: Verdict) -> Refuted | None:
    """The refutation in a verdict, if it is one."""
    return verdict if isinstance(verdict, Refuted) else None
