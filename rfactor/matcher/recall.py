"""What was found for an update before, found again for one that differs in names and in the width of its type alone.

The memory holds claims, not answers: one that is recalled is proved anew at the types in question, so that a wrong
recollection costs time and nothing else. That nothing was found is remembered only where no proof was given up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from rfactor.ir.expr import Const, Expr, Op, Value, Var, rewrite, walk
from rfactor.ir.types import BOOL, F32, I32, U32, Type
from rfactor.ir.update import Update
from rfactor.kept import Kept
from rfactor.prover import sampling
from rfactor.prover.claim import Claim

Kind = Literal["quick", "thorough", "lifted"]
_MOST = 2048
_SMALL = 100
"""Literals up to here mean the same at every width."""
_SHAPES = {"int": I32, "uint": U32, "float": F32, "bfloat": F32}


@dataclass(frozen=True, slots=True)
class Likeness:
    """An update in the form that it shares with its likes, and the way back."""

    shape: Update
    type: Type | None
    """The one numeric type of the update, which is 32 bits wide in the shape; None where types are kept."""
    names: dict[str, str]
    """Names in the shape to names in the update."""

    @staticmethod
    @lru_cache(maxsize=64)
    def of(update: Update) -> Likeness:
        """The form with data d0, d1, …, constants c0, c1, …, and the type, if there is one alone, 32 bits wide."""
        accumulators = {x.name for x in update.accumulators}
        forth: dict[str, str] = {}
        for var in sampling.used(update.components):
            if var.name not in accumulators:
                forth[var.name] = f"{'c' if var.name in update.constants else 'd'}{len(forth)}"
        nodes = {node for component in update.components for node in walk(component)}
        types = {node.type for node in nodes if node.type != BOOL} | {t for t in update.types if t != BOOL}
        type_ = next(iter(types)) if len(types) == 1 else None
        new = None if type_ is None else _SHAPES[type_.code]
        if type_ is not None and new is not None and any(number_at(n, type_, new) is None for n in nodes):
            type_ = new = None
        components = tuple(_changed(e, type_, new, forth) or e for e in update.components)
        own = tuple(new if t == type_ and new is not None else t for t in update.types)
        constants = frozenset(forth[name] for name in update.constants if name in forth)
        shape = Update(components, own, constants, update.meaning)
        return Likeness(shape, type_, {short: name for name, short in forth.items()})

    def to_shape(self, claim: Claim) -> Claim | None:
        """A claim about the update as one about its shape."""
        new = None if self.type is None else _SHAPES[self.type.code]
        return _claim(claim, self.shape, self.type, new, {name: short for short, name in self.names.items()})

    def to_update(self, claim: Claim, update: Update) -> Claim | None:
        """A claim about the shape as one about the update."""
        old = None if self.type is None else _SHAPES[self.type.code]
        return _claim(claim, update, old, self.type, self.names)


@dataclass(slots=True)
class Memory:
    """Claims that were proved, None where there was nothing, by the shape of the update."""

    claims: Kept[tuple[Update, Kind], tuple[str, Claim] | None] = field(default_factory=lambda: Kept(_MOST))

    def knows(self, likeness: Likeness, kind: Kind) -> bool:
        """Whether an update of this shape was asked about."""
        return (likeness.shape, kind) in self.claims

    def recall(self, update: Update, likeness: Likeness, kind: Kind) -> tuple[str, Claim] | None:
        """The tier that found it, and the claim about this update; None if nothing was found then."""
        held = self.claims.get((likeness.shape, kind))
        claim = None if held is None else likeness.to_update(held[1], update)
        return None if held is None or claim is None else (held[0], claim)

    def keep(self, likeness: Likeness, kind: Kind, tier: str, claim: Claim | None) -> None:
        """Remember what was found, if it can be said of the shape."""
        shaped = None if claim is None else likeness.to_shape(claim)
        if claim is not None and shaped is None:
            return
        self.claims.keep((likeness.shape, kind), None if shaped is None else (tier, shaped))


def _claim(claim: Claim, update: Update, old: Type | None, new: Type | None, names: dict[str, str]) -> Claim | None:
    """A claim with types and names changed; what a row of a table proved is proved again."""

    def changed(exprs: tuple[Expr, ...]) -> tuple[Expr, ...] | None:
        result = [_changed(e, old, new, names) for e in exprs]
        return None if None in result else tuple(e for e in result if e is not None)

    parts = [changed(p) if p is not None else () for p in (claim.operator, claim.identity, claim.data)]
    invariant, assumes = changed(claim.invariant), changed(claim.assumes)
    if any(part is None for part in parts) or invariant is None or assumes is None:
        return None
    operator, identity, data = (p if had is not None else None for p, had in zip(
        parts, (claim.operator, claim.identity, claim.data), strict=True
    ))  # fmt: skip
    lift = claim.lift
    if lift is not None:
        fields = [changed(p) for p in (lift.data, lift.operator, lift.identity, lift.apply)]
        if any(f is None for f in fields):
            return None
        own = tuple(new if t == old and new is not None else t for t in lift.types)
        given = [f for f in fields if f is not None]
        lift = replace(lift, types=own, data=given[0], operator=given[1], identity=given[2], apply=given[3])
    return Claim(update, operator, identity, data, lift, invariant, assumes)


def _changed(expr: Expr, old: Type | None, new: Type | None, names: dict[str, str]) -> Expr | None:
    """An expression with names, and type `old`, exchanged; None where a literal has no counterpart."""
    if old is not None and new is not None and any(number_at(node, old, new) is None for node in walk(expr)):
        return None

    def visit(node: Expr) -> Expr:
        type_ = new if node.type == old and new is not None else node.type
        if isinstance(node, Var):
            return Var(type_, names.get(node.name, node.name))
        if isinstance(node, Const) and old is not None and new is not None:
            value = number_at(node, old, new)
            assert value is not None
            return Const(type_, value)
        return node if type_ is node.type or not isinstance(node, Op) else Op(type_, node.op, node.args)

    return rewrite(expr, {}, visit)


def number_at(node: Expr, old: Type, new: Type) -> Value | None:
    """The value that stands for a literal at another width; 0 for what is no literal, None where there is none."""
    if not isinstance(node, Const):
        return 0 if isinstance(node, Var | Op) and node.type in (old, BOOL) else None
    if node.type != old:
        return node.value if node.type == BOOL else None
    if node.type.is_float:
        small = abs(node.value) <= _SMALL and float(node.value * 16).is_integer()
        return node.value if small or abs(node.value) == float("inf") else None
    if node.value == old.min:
        return new.min
    if node.value == old.max:
        return new.max
    return node.value if abs(node.value) <= _SMALL else None
