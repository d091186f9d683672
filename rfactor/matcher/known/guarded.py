"""A condition on the data alone without which an update does nothing.

`select(c and a > x, a, x)` is `max(x, a)` where `c` holds. Where it does not, the datum is the identity: what is proved
of the update behind the condition is so of the one with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rfactor.ir.expr import Expr, Op, Var, conjunction, names, substitute
from rfactor.ir.simplify import FALSE, TRUE, simplify
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, flagged
from rfactor.matcher.answer import Answer, ClaimName, Lifting, ProofRecord
from rfactor.matcher.known.shape import Shape

_DUAL = {"and": "or", "or": "and"}


@dataclass(frozen=True, slots=True)
class Guarded:
    """An update and the condition under which it is the one that was asked about; otherwise that does nothing."""

    condition: Expr
    inner: Update

    @staticmethod
    def of(update: Update) -> Guarded | None:
        """The largest condition that all components have that change anything; None where there is none."""
        shape = Shape.of(update)
        if shape is None:
            return None
        general = shape.general
        own = frozenset(x.name for x in general.accumulators)
        found: list[_Choice | None] = []
        for x, expr in zip(general.accumulators, general.components, strict=True):
            choice = None if expr == x else _Choice.of(expr, x)
            if choice is None and expr != x:
                return None
            found.append(choice)
        choices = [choice for choice in found if choice is not None]
        if not choices:
            return None
        shared = [
            condition
            for condition in choices[0].conditions
            if not names(condition) & own
            and not names(condition) <= general.constants
            and all(condition in choice.conditions for choice in choices)
        ]
        if not shared:
            return None
        components = tuple(
            x if choice is None else choice.without(shared)
            for x, choice in zip(general.accumulators, found, strict=True)
        )
        (condition,) = shape.restored((conjunction(*shared),))
        return Guarded(condition, replace(update, components=shape.restored(components)))


@dataclass(frozen=True, slots=True)
class _Choice:
    """`value` where all conditions hold; otherwise the accumulator as it was."""

    conditions: tuple[Expr, ...]
    value: Expr
    kept: Var

    @staticmethod
    def of(expr: Expr, x: Var) -> _Choice | None:
        if not (isinstance(expr, Op) and expr.op == "select"):
            return None
        condition, true, false = expr.args
        if false == x:
            return _Choice(tuple(_flat("and", condition)), true, x)
        if true == x:
            return _Choice(tuple([_not(part) for part in _flat("or", condition)]), false, x)
        return None

    def without(self, conditions: list[Expr]) -> Expr:
        """The component where these conditions hold."""
        rest = [condition for condition in self.conditions if condition not in conditions]
        return Op(self.kept.type, "select", (conjunction(*rest), self.value, self.kept)) if rest else self.value


def _flat(op: str, expr: Expr) -> Iterator[Expr]:
    """The operands of a chain of `op`; of a negated chain of its dual, each negated."""
    if isinstance(expr, Op) and expr.op == op:
        for arg in expr.args:
            yield from _flat(op, arg)
    elif isinstance(expr, Op) and expr.op == "not" and isinstance(expr.args[0], Op) and expr.args[0].op == _DUAL[op]:
        for arg in _flat(_DUAL[op], expr.args[0]):
            yield _not(arg)
    else:
        yield expr


def _not(condition: Expr) -> Expr:
    if isinstance(condition, Op) and condition.op == "not":
        return condition.args[0]
    return Op(BOOL, "not", (condition,))


def under(condition: Expr, answer: Answer, update: Update) -> Answer | None:
    """The answer about an update that is another one where a condition on data holds, from the other one's.

    Where the condition reads none of its data, a richer state is needed wherever it was, and where there is no identity
    for a step that does nothing: a flag says then whether there was another. None where the condition may make more so.
    """
    if answer.verdict not in ("associative", "lifted") or answer.assumes or not _starts_inside(answer):
        return None
    if answer.verdict == "associative" and answer.identity_kind == "two-sided":
        if answer.data is None or answer.identity is None:
            return None
        return replace(answer, update=update, data=_either(condition, answer.data, answer.identity))
    if not names(condition).isdisjoint(var.name for var in answer.update.data):
        return None
    lift = answer.lift
    if lift is None:
        if answer.operator is None or answer.data is None or answer.invariant:
            return None
        action = flagged(update.types, answer.operator, answer.data)
        lift = Lifting(action.types, action.data, action.operator, action.identity, action.apply)
        claims = dict.fromkeys(_OF_FLAGGED) | dict.fromkeys(p.claim for p in answer.proofs if "commut" in p.claim)
        proofs = tuple([ProofRecord(claim, "table", 0.0, row) for claim in claims for row in _rows(answer)[:1]])
        answer = replace(
            answer,
            verdict="lifted",
            operator=None,
            identity=None,
            data=None,
            identity_kind="two-sided",
            source="synthesis",
            proofs=proofs,
        )
    data = _either(condition, lift.data, lift.identity)
    return replace(answer, update=update, lift=replace(lift, data=data), overflowing=None)


_OF_FLAGGED: tuple[ClaimName, ...] = ("step", "right_identity", "left_identity", "action")


def _rows(answer: Answer) -> list[int]:
    return [proof.row for proof in answer.proofs if proof.row is not None]


def _starts_inside(answer: Answer) -> bool:
    """Whether the identity is among the values that the claim is about."""
    if not answer.invariant:
        return True
    if answer.identity is None:
        return False
    unit = {f"y{i}": e for i, e in enumerate(answer.identity)}
    return all(simplify(substitute(condition, unit)) == TRUE for condition in answer.invariant)


def _either(condition: Expr, data: tuple[Expr, ...], identity: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple([_chosen(condition, d, e) for d, e in zip(data, identity, strict=True)])


def _chosen(condition: Expr, datum: Expr, unit: Expr) -> Expr:
    return condition if (datum, unit) == (TRUE, FALSE) else choose(condition, datum, unit)
