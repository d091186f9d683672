"""Laws of a binary operator as it stands: associativity, commutativity, idempotence."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rfactor.ir.expr import Const, Expr, Var, apply, const, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type
from rfactor.prover import sampling
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, without_infinities
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.verdict import Proven, Unknown, Verdict

Kind = Literal["two-sided", "left", "right", "none"]
Tuple = tuple[Expr, ...]


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
