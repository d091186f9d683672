"""Updates that are done where a condition on the data holds, and leave the state as it is elsewhere.

What stands behind the inner update stands behind the whole: a datum that is passed over gives the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rfactor.ir.expr import Const, Expr, Op, apply, names, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import Inner, bind, choose, operands
from rfactor.matcher.terms import accumulator_names, run_from, tidy
from rfactor.prover.claim import Claim, Discharged, Lift
from rfactor.prover.infinity import Undefined


@dataclass(frozen=True, slots=True)
class _Guarded:
    """`select(condition, inner, x)`."""

    condition: Expr
    inner: Update


def claims(update: Update, solve: Callable[[Update], Discharged | None]) -> Iterator[Claim]:
    """Claims that the inner update's operator stands behind the whole, its data guarded."""
    for guarded in _splits(update, of_state=False, whole=False):
        found = solve(guarded.inner)
        if found is None or found.identity_kind != "two-sided":
            continue
        inner = found.claim
        if inner.operator is None or inner.data is None or inner.identity is None:
            continue
        if any(e.type != type_ for e, type_ in zip(inner.identity, update.types, strict=True)):
            continue
        if _under(update, guarded.condition, False) == update.accumulators:
            pairs = zip(inner.data, inner.identity, strict=True)
            data = tuple(tidy(choose(guarded.condition, g, e)) for g, e in pairs)
        else:
            try:
                data = run_from(update, inner.identity)
            except Undefined:
                continue
        assumes = _assumed(guarded.condition, inner.assumes)
        yield Claim(update, inner.operator, inner.identity, data, invariant=inner.invariant, assumes=assumes)


def lifted(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims that lift the update as its inner update is lifted; the condition may be one that the state keeps."""
    for of_state in (False, True):
        for guarded in _splits(update, of_state):
            action = inner(guarded.inner)
            if action is None:
                continue
            condition = guarded.condition
            if of_state:
                after = bind(action.apply, update.accumulators, operands("y", action.types))
                applied = tuple(choose(condition, new, x) for new, x in zip(after, update.accumulators, strict=True))
                lift = Lift(action.types, action.data, action.operator, action.identity, applied)
                yield Claim(update, lift=lift, invariant=action.invariant, assumes=action.assumes)
                continue
            if any(e.type != type_ for e, type_ in zip(action.identity, action.types, strict=True)):
                continue
            data = tuple(tidy(choose(condition, g, e)) for g, e in zip(action.data, action.identity, strict=True))
            lift = Lift(action.types, data, action.operator, action.identity, action.apply)
            assumes = _assumed(condition, action.assumes)
            yield Claim(update, lift=lift, invariant=action.invariant, assumes=assumes)


def _assumed(condition: Expr, assumes: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """What is assumed of data that are not passed over."""
    return tuple(apply("or", apply("not", condition), assumed) for assumed in assumes)


def _splits(update: Update, of_state: bool, whole: bool = True) -> Iterator[_Guarded]:
    """Conditions (on data, or on the state) without which the state stays as it is, with what is done under them.

    Unless it is `whole`, it is enough that some component stays.
    """
    seen: set[Update] = set()
    for condition in _conditions(update, of_state):
        opposite = apply("not", condition)
        for guard, holds in ((condition, True), (opposite, False)):
            otherwise = zip(_under(update, condition, not holds), update.accumulators, update.components, strict=True)
            stays = [after == x for after, x, component in otherwise if component != x]
            if not (all(stays) if whole else any(stays)):
                continue
            inner = replace(update, components=_under(update, condition, holds))
            if inner not in seen and inner.components != update.components:
                seen.add(inner)
                yield _Guarded(tidy(guard), inner)


def _under(update: Update, condition: Expr, holds: bool) -> tuple[Expr, ...]:
    """The components where the condition is known."""
    value = Const(BOOL, holds)
    return tuple(tidy(exchange(component, {condition: value})) for component in update.components)


def _conditions(update: Update, of_state: bool) -> list[Expr]:
    """The conditions that choose, and the parts of their conjunctions, that speak of one side alone."""
    own = accumulator_names(update)
    found: dict[Expr, None] = {}
    for component in update.components:
        for node in walk(component):
            if not node.type.is_bool or isinstance(node, Const) or not isinstance(node, Op):
                continue
            used = names(node)
            one_side = used & own and used <= own | update.constants if of_state else not used & own
            if one_side and used:
                found.setdefault(node)
    for component in update.components:
        for node in walk(component):
            if isinstance(node, Op) and node.op in ("select", "and", "or"):
                for arg in node.args:
                    if arg.type.is_bool and not arg.children and not isinstance(arg, Const):
                        used = names(arg)
                        if used <= own if of_state else not used & own:
                            found.setdefault(arg)
    return list(found)[::-1]
