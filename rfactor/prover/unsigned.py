"""Unsigned parts of states where integers are unbounded: proofs read them as not below zero, so they must not be.

What data give and what the operator makes of them is shown to stay there. A part that may fall below zero (`-a` of
`x - a`) is allowed where it is only added, subtracted, multiplied and handed on: what holds of polynomials for all
numbers from zero up holds for all numbers, and a machine's are the same but for multiples of 2^width. Compared with
others it would be a large number to the machine, and outside what was proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, apply, cast, conjunction, names, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import I64, Type
from rfactor.ir.update import Update
from rfactor.prover import sampling
from rfactor.prover.equality import holds
from rfactor.prover.infinity import has_infinity, is_infinite
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Tuple
from rfactor.prover.verdict import Proven

if TYPE_CHECKING:
    from rfactor.prover.claim import Claim

_RISING = frozenset(("+", "*", "min", "max", "//", "&", "|", "^", "<<", ">>", "~"))
"""Operations that give nothing below zero of operands that are not."""
_ADDING = frozenset(("+", "-", "neg", "*"))
_PROOF = 500_000
"""Resource units for a proof that a value is not below zero."""


class _Unread(Exception):
    """An expression that has no signed form."""


def compares_below_zero(claim: Claim, limits: Limits) -> bool:
    """Whether what is unsigned may fall below zero, in the operator's state or on the way, and is not only added."""
    update, lift = claim.update, claim.lift
    types, data, operator, identity = (
        (update.types, claim.data or (), claim.operator or (), claim.identity)
        if lift is None
        else (lift.types, lift.data, lift.operator, lift.identity)
    )
    unsigned = [i for i in range(len(types)) if _is_unsigned(types[i])]
    if update.meaning is not Meaning.MATH or not unsigned:
        return False
    limits = limits.at_most(rlimit=_PROOF)
    given = (*claim.assumes, *_without_overflow(update))
    started = [i for i in unsigned if identity is None or _stays(identity[i], (), limits)]
    below = {i for i in unsigned if i not in started or not _stays(data[i], given, limits)}
    left = {f"y{i}": Var(t, f"x{i}") for i, t in zip(range(len(types)), types, strict=True)}
    reached = (*claim.invariant, *substitute_all(claim.invariant, left))
    while True:
        spoilt = _operands("xy", below)
        more = {
            i
            for i in unsigned
            if i not in below and (names(operator[i]) & spoilt or not _stays(operator[i], reached, limits))
        }
        if not more:
            break
        below |= more
    if any(names(c) & spoilt for c in claim.invariant):
        return True
    reader = _Reader(reached, limits)
    if lift is None:
        return not all(reader.adds(e, spoilt) for e in operator)
    own = _operands("y", below)
    after = _operands("x", (i for i in range(len(lift.apply)) if names(lift.apply[i]) & own))
    acting = _Reader(claim.invariant, limits)
    return not (all(reader.adds(e, spoilt) for e in operator) and all(acting.adds(e, own | after) for e in lift.apply))


def _operands(letters: str, indices: Iterable[int]) -> frozenset[str]:
    return frozenset(f"{letter}{i}" for i in indices for letter in letters)


def _is_unsigned(type_: Type) -> bool:
    return type_.code == "uint"


@dataclass(frozen=True, slots=True)
class _Reader:
    """What is known of operands."""

    given: Tuple
    limits: Limits

    def adds(self, expr: Expr, spoilt: frozenset[str]) -> bool:
        """Whether what may be below zero, in the expression or of the spoilt variables, is only added and handed on."""
        if not isinstance(expr, Op):
            return isinstance(expr, Var | Const) or not names(expr) & spoilt
        if expr.op == "select":
            condition, *branches = expr.args
            return self.adds(condition, spoilt) and all(self.adds(branch, spoilt) for branch in branches)
        added = expr.op in _ADDING and _is_unsigned(expr.type)
        return all(
            self.adds(arg, spoilt)
            and (added or not (names(arg) & spoilt or (_is_unsigned(arg.type) and not self.stays(arg))))
            for arg in expr.args
        )

    def stays(self, expr: Expr) -> bool:
        return _stays(expr, self.given, self.limits)


def _stays(expr: Expr, given: Tuple, limits: Limits) -> bool:
    """Whether an unsigned value is shown not to be below zero where the conditions hold."""
    if _evidently(expr):
        return True
    if has_infinity(expr):
        return False
    try:
        value = _signed(expr)
        known = [_signed(condition) for condition in given]
    except _Unread:
        return False
    nought = Const(I64, 0)
    variables = (v for v in sampling.used([expr, *given]) if _is_unsigned(v.type))
    ranges = (apply(">=", Var(I64, v.name), nought) for v in variables)
    claim = apply(">=", value, nought)
    verdict = holds(claim, meaning=Meaning.MATH, assumptions=(*known, *ranges), limits=limits)
    return isinstance(verdict, Proven)


def _evidently(expr: Expr) -> bool:
    """Whether it is so whatever the variables are, by the operations alone."""
    if isinstance(expr, Const):
        return is_infinite(expr) or expr.value >= 0
    if isinstance(expr, Var | Call):
        return _is_unsigned(expr.type)
    if not isinstance(expr, Op):
        return False
    if expr.op == "cast":
        return not expr.args[0].type.is_int or _evidently(expr.args[0])
    if expr.op == "max":
        return any(map(_evidently, expr.args))
    if expr.op == "select":
        return all(map(_evidently, expr.args[1:]))
    return expr.op == "%" or (expr.op in _RISING and all(map(_evidently, expr.args)))


def _signed(expr: Expr) -> Expr:
    """The expression over integers of either sign, whose values are the same where integers are unbounded."""
    unsigned = _is_unsigned(expr.type)
    if isinstance(expr, Const):
        return _number(expr.value) if unsigned else expr
    if isinstance(expr, Var):
        return Var(I64, expr.name) if unsigned else expr
    if not isinstance(expr, Op):
        raise _Unread
    args = tuple(map(_signed, expr.args))
    type_ = I64 if unsigned else expr.type
    if expr.op == "cast":
        return cast(type_, args[0])
    if expr.op == "~" and unsigned:
        return apply("-", _number(expr.type.max), args[0])
    return Op(type_, expr.op, args)


def _number(value: Value) -> Const:
    """A literal, if it is one of either sign too."""
    if value > I64.max:
        raise _Unread
    return Const(I64, value)


def _without_overflow(update: Update) -> Tuple:
    """What holds where no unsigned number falls below zero in the serial run: nothing is claimed elsewhere."""
    found: dict[Expr, None] = {}
    for component in update.components:
        for pair, path in _differences(component, ()):
            at_least = apply(">=", *pair)
            found[apply("or", apply("not", conjunction(*path)), at_least) if path else at_least] = None
    return tuple(found)


def _differences(expr: Expr, path: Tuple) -> Iterator[tuple[tuple[Expr, Expr], Tuple]]:
    """Pairs of which the first is at least the second where the path's conditions hold."""
    if not isinstance(expr, Op):
        return
    if expr.op == "select":
        condition, true, false = expr.args
        yield from _differences(condition, path)
        yield from _differences(true, (*path, condition))
        yield from _differences(false, (*path, apply("not", condition)))
        return
    if _is_unsigned(expr.type):
        nought = Const(expr.args[0].type, 0)
        if expr.op == "-":
            yield (expr.args[0], expr.args[1]), path
        elif expr.op == "neg":
            yield (nought, expr.args[0]), path
        elif expr.op == "cast" and expr.args[0].type.code == "int":
            yield (expr.args[0], nought), path
    for arg in expr.args:
        yield from _differences(arg, path)
