"""Liftings of counters and of what is done when they pass a value: how many runs grew to a length, carries of clocks.

`x0 + 1, x1 + select(x0 == 2, 1, 0)` depends on no data: a run of n steps takes x0 to x0 + n, and met every number from
x0 to below x0 + n. So whether 2 was among them, or how many of them are 2 or more, is known of n and x0. Machine
integers turn round: there a run is n and how often it went round, and each time round passes every value once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, const, names, substitute, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import BOOL, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import choose, nought, operands
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_CONTRARY = OPPOSITE | {"==": "!=", "!=": "=="}
_RELATIONS = frozenset(_CONTRARY)


def claims(update: Update) -> Iterator[Claim]:
    """The claim for a number that counts up or down by one, and others that look at it, without data."""
    if len(update.types) == 1 or update.data:
        return
    for number in range(len(update.types)):
        x, component = update.accumulators[number], update.components[number]
        if not x.type.is_int or linear(component) not in (({x: 1}, 1), ({x: 1}, -1)):
            continue
        up = linear(component) == ({x: 1}, 1)
        others = {i: look(update, i, x) for i in range(len(update.types)) if i != number}
        looks = {i: look for i, look in others.items() if look is not None}
        if len(looks) < len(others):
            continue
        if update.meaning is Meaning.MATH:
            unbounded = _unbounded(update, number, up, looks)
            if unbounded is not None:
                yield Claim(update, lift=unbounded, invariant=(apply("<=", nought(x.type), Var(x.type, "y0")),))
        else:
            turning = _turning(update, number, up, looks)
            if turning is not None:
                yield Claim(update, lift=turning)


@dataclass(frozen=True, slots=True)
class Look:
    """A component that is changed where the number has a relation to a bound, and else is kept."""

    relation: str
    bound: Expr
    changed: Expr
    added: Expr | None
    """What is added where it is changed, if that is what the change is."""


def look(update: Update, i: int, x: Var) -> Look | None:
    """How component i looks at the number, which nothing else in it depends on."""
    component, own = update.components[i], update.accumulators[i]
    found = [n for n in walk(component) if isinstance(n, Op) and n.op in _RELATIONS and x.name in names(n)]
    if len(found) != 1 or found[0].args[0].type != x.type or own.name in names(found[0]):
        return None
    changed, kept = (tidy(exchange(component, {found[0]: Const(BOOL, holds)})) for holds in (True, False))
    relation = found[0].op
    if changed == own:
        changed, kept, relation = kept, changed, _CONTRARY[relation]
    terms, _ = linear(apply("-", *found[0].args))
    factor = terms.pop(x, 0)
    # Machine integers keep no order under sums.
    ordered = relation not in ("==", "!=") and update.meaning is Meaning.WRAP and x not in found[0].args
    if kept != own or factor not in (1, -1) or ordered or not {*names(changed)} <= {own.name} | update.constants:
        return None
    if not all(names(atom) <= update.constants for atom in terms):
        return None
    at_nought = substitute(apply("-", *found[0].args), {x.name: nought(x.type)})
    bound = tidy(apply("neg", at_nought) if factor == 1 else at_nought)
    added = tidy(apply("-", changed, own)) if own.type.is_int else None
    if added is not None and own.name in names(added):
        added = None
    return Look(relation if factor == 1 else MIRRORED.get(relation, relation), bound, changed, added)


def _unbounded(update: Update, number: int, up: bool, looks: dict[int, Look]) -> Lift | None:
    """State: the number of steps. None where what is done more than once is no sum."""
    type_ = update.types[number]
    x, steps = update.accumulators[number], Var(type_, "y0")
    one, zero = Const(type_, 1), nought(type_)
    applied: dict[int, Expr] = {number: apply("+" if up else "-", x, steps)}
    for i, look in looks.items():
        own = update.accumulators[i]
        # How far it is to the bound, and whether it is met.
        away = apply("-", look.bound, x) if up else apply("-", x, look.bound)
        met = apply("and", apply("<=", zero, away), apply("<", away, steps))
        if look.relation == "==":
            applied[i] = choose(met, look.changed, own)
            continue
        if look.added is None or own.type != type_:
            return None
        before = apply("max", apply("min", away, steps), zero)
        there = choose(met, one, zero)
        below = apply("max", apply("min", apply("+", away, one), steps), zero)
        relation = look.relation if up else MIRRORED.get(look.relation, look.relation)
        times = {
            "!=": apply("-", steps, there),
            "<": before,
            "<=": below,
            ">": apply("-", steps, below),
            ">=": apply("-", steps, before),
        }[relation]
        applied[i] = apply("+", own, tidy(apply("*", look.added, times)))
    total = apply("+", Var(type_, "x0"), steps)
    return Lift((type_,), (one,), (total,), (zero,), tuple(applied[i] for i in sorted(applied)))


def _turning(update: Update, number: int, up: bool, looks: dict[int, Look]) -> Lift | None:
    """State: the number of steps as a machine integer, and for each look what it adds for whole turns."""
    type_ = parse_type(f"u{update.types[number].bits}")
    if any(look.added is None or look.relation != "==" for look in looks.values()):
        return None
    added = {i: look.added for i, look in looks.items() if look.added is not None}
    kinds = tuple(dict.fromkeys(update.types[i] for i in looks))
    types = (type_, *kinds)
    (steps, *turns), (more, *more_turns) = operands("x", types), operands("y", types)
    total = apply("+", steps, more)
    operator = [total]
    for kind, one, other in zip(kinds, turns, more_turns, strict=True):
        carry = choose(apply("<", total, steps), const(kind, 1), const(kind, 0))
        operator.append(apply("+", apply("+", one, other), carry))
    x = update.accumulators[number]
    moved = cast(x.type, more)
    applied: dict[int, Expr] = {number: apply("+" if up else "-", x, moved)}
    for i, extra in added.items():
        look, own = looks[i], update.accumulators[i]
        away = apply("-", look.bound, x) if up else apply("-", x, look.bound)
        there = choose(apply("<", cast(type_, away), more), const(own.type, 1), const(own.type, 0))
        times = apply("+", more_turns[kinds.index(own.type)], there)
        applied[i] = apply("+", own, tidy(apply("*", extra, times)))
    data = (Const(type_, 1), *map(nought, kinds))
    identity = tuple(map(nought, types))
    return Lift(types, data, tuple(operator), identity, tuple(applied[i] for i in sorted(applied)))
