"""Directives on the loops of one stage. Each is a rewrite of the stage's loops, allowed under the condition it states.

Loops are named by the variables of the stage, innermost first in `StageSchedule.dimensions`. A loop is *pure* if it
comes from a pure variable or from a reduction variable that is free of races (`purity.py`); pure loops may run in any
order and at once, other reduction loops keep their order. After Reinking et al. 2020, section 8.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count

from rfactor.compiler.schedule.directives import EXACT, Dimension, Fuse, Split, StageSchedule, TailStrategy
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Expr
from rfactor.ir.loopnest import LoopKind
from rfactor.ir.types import I32


def split(
    stage: StageSchedule, old: str, outer: str, inner: str, factor: int | Expr, tail: TailStrategy = TailStrategy.Auto
) -> StageSchedule:
    """
        for x in (m, n): s   ->   for xo in (0, ceil(n/factor)): for xi in (0, factor):
                                    if xo*factor + xi < n: s[x := m + xo*factor + xi]

    The factor is 1 or more; no other loop has the new names (a loop that was split or fused, this one too, has none any
    more). No guard is left where the factor divides a constant extent. A reduction loop takes no tail strategy that
    repeats or adds points.
    """
    if isinstance(factor, bool) or not isinstance(factor, int | Expr) or (isinstance(factor, int) and factor < 1):
        raise ScheduleError(f"split({old}) by {factor}: the factor must be a number, 1 or more")
    if isinstance(factor, int):
        countable(f"split({old}) by {factor}", factor)
    dimension = find(stage, old, "split")
    _new_names(stage, {old}, "split", outer, inner)
    if dimension.reduction and tail not in EXACT:
        raise ScheduleError(
            f"split({old}) with tail strategy {tail.name}: a reduction visits each point once; use GuardWithIf"
        )
    loops = tuple(
        new
        for d in stage.dimensions
        for new in ((replace(dimension, name=inner), replace(dimension, name=outer)) if d is dimension else (d,))
    )
    return replace(stage, dimensions=loops, relations=(*stage.relations, Split(old, outer, inner, factor, tail)))


def fuse(
    stage: StageSchedule,
    inner: str,
    outer: str,
    fused: str,
    pure: frozenset[str],
    why_not: Callable[[], str | None],
) -> StageSchedule:
    """
        for o in (a, m): for i in (b, n): s   ->   for f in (0, m*n): s[o := a + f // n, i := b + f % n]

    `o` is the next loop outside `i`, or one of them moves to the other first: a pure one, else `o` if it may as in
    `reorder`. The fused loop runs as `i` did: parallel or vectorized only where `o` is pure too.
    A pure loop fused with one over a reduction variable is one over a reduction variable. `pure` names the loops that
    may run in any order.
    """
    within, around = find(stage, inner, "fuse"), find(stage, outer, "fuse")
    if inner == outer:
        raise ScheduleError(f"fuse({inner}, {outer}): two different loops are needed")
    _new_names(stage, {inner, outer}, "fuse", fused)
    if not {inner, outer} & pure:
        nested = [d for d in stage.dimensions if d is not around]
        nested.insert(nested.index(within) + 1, around)
        _keeps_order(f"fuse({inner}, {outer})", stage.dimensions, nested, pure, why_not)
    if within.kind in ("parallel", "vectorized") and outer not in pure:
        raise ScheduleError(
            f"fuse({inner}, {outer}): the fused loop would be {within.kind}, as {inner} is, and the iterations of "
            f"{outer} depend on one another: fuse first, then say how the fused loop runs"
        )
    joined = replace(within, name=fused, reduction=within.reduction or around.reduction)
    moves = within if inner in pure and outer not in pure else around  # of two, what is not pure keeps its place
    stays = around if moves is within else within
    loops = tuple(joined if d is stays else d for d in stage.dimensions if d is not moves)
    return replace(stage, dimensions=loops, relations=(*stage.relations, Fuse(inner, outer, fused)))


def reorder(
    stage: StageSchedule, order: tuple[str, ...], pure: frozenset[str], why_not: Callable[[], str | None]
) -> StageSchedule:
    """
        for y: for x: s   ->   for x: for y: s          reorder(y, x): innermost first; loops not named stay

    No two loops change places unless one of them is pure, or the iterations of the update commute: loops over
    reduction variables keep their order where `why_not` has a reason.
    """
    if len(set(order)) != len(order):
        raise ScheduleError(f"reorder({', '.join(order)}): a loop is named twice")
    named = [find(stage, name, "reorder") for name in order]
    places = sorted(stage.dimensions.index(d) for d in named)
    loops = list(stage.dimensions)
    for place, dimension in zip(places, named, strict=True):
        loops[place] = dimension
    _keeps_order(f"reorder({', '.join(order)})", stage.dimensions, loops, pure, why_not)
    return replace(stage, dimensions=tuple(loops))


def _keeps_order(
    directive: str,
    old: Iterable[Dimension],
    new: Iterable[Dimension],
    pure: frozenset[str],
    why_not: Callable[[], str | None],
) -> None:
    """Refuse another order of the reduction loops that are not pure where `why_not` has a reason."""
    before, after = ([d.name for d in loops if d.name not in pure] for loops in (old, new))
    reason = why_not() if before != after else None
    if reason is not None:
        raise ScheduleError(
            f"{directive} changes the order of the reduction loops {', '.join(before[::-1])} "
            f"(outermost first), and with it the result: {reason}"
        )


def run(
    stage: StageSchedule,
    name: str,
    kind: LoopKind,
    pure: frozenset[str],
    directive: str,
    why_not: Callable[[], str | None],
    asked: str | None = None,
) -> StageSchedule:
    """
        for x: s   ->   parallel for x: s               (or vectorized, unrolled)

    A loop that is parallel or vectorized is pure: its iterations write points of their own. Any other is too where the
    stage is atomic and its iterations commute: `why_not` has no reason against it. Where nothing is to be proved,
    others stay as they are; so they do where the stage allows races, but what was asked is kept: where loops around
    keep their iterations apart, which lowering knows (`lower/raced`), they run so. Any loop may be unrolled.
    `asked` is the loop that the directive was given, where `name` is a part of it.
    """
    dimension, asked = find(stage, name, directive), asked or name
    collides = kind in ("parallel", "vectorized") and name not in pure
    if collides and not stage.atomic and stage.races:
        asked_so = tuple(replace(d, at_once=kind) if d is dimension else d for d in stage.dimensions)
        return replace(stage, dimensions=asked_so)
    if collides and not stage.atomic:
        raise ScheduleError(
            f"{directive}({asked}): its iterations update the same points one after the other, so they cannot run "
            f"at once; use rfactor([({asked}, v)]) and {directive} v of the intermediate, or "
            f"atomic() before {directive}({asked})"
        )
    reason = why_not() if collides else None
    if reason is not None and stage.rounding:
        return stage
    if reason is not None:
        raise ScheduleError(
            f"{directive}({asked}) of an atomic update changes the order of its iterations, and with it the result: "
            f"{reason}"
        )
    loops = tuple(replace(d, kind=kind, at_once=None) if d is dimension else d for d in stage.dimensions)
    return replace(stage, dimensions=loops)


def find(stage: StageSchedule, name: str, directive: str) -> Dimension:
    """The loop called `name`. Raises `ScheduleError` naming those that are there."""
    for dimension in stage.dimensions:
        if dimension.name == name:
            return dimension
    loops = ", ".join(d.name for d in reversed(stage.dimensions)) or "none"
    raise ScheduleError(f"{directive}({name}): the stage has no such loop; it has {loops} (outermost first)")


def countable(directive: str, greatest: int) -> None:
    """Refuse a loop that would count further than i32 does."""
    if greatest > int(I32.max):
        raise ScheduleError(f"{directive} makes a loop that counts to {greatest}, beyond the range of i32")


def taken_names(stage: StageSchedule) -> set[str]:
    """The names of its loops, and of those that were split or fused into them."""
    taken = {d.name for d in stage.dimensions}
    for relation in stage.relations:
        taken |= {relation.old} if isinstance(relation, Split) else {relation.inner, relation.outer}
    return taken


def apart(stage: StageSchedule, variables: Iterable[str]) -> tuple[tuple[Split | Fuse, ...], dict[str, str]]:
    """The splits and fuses of a stage with a name for each loop that was ever there, and the names of those that are.

    A loop may have the name of one that was split or fused before it: `split(x, xo, xi, 8)`, `split(xo, x, t, 4)`.
    `variables` are those of the stage itself: they keep theirs.
    """
    used, now, relations = set(variables), dict[str, str](), list[Split | Fuse]()

    def fresh(name: str) -> str:
        now[name] = next(free for n in count() if (free := f"{name}'{n}" if n else name) not in used)
        used.add(now[name])
        return now[name]

    for one in stage.relations:
        if isinstance(one, Split):
            old = now.pop(one.old, one.old)
            relations.append(replace(one, old=old, outer=fresh(one.outer), inner=fresh(one.inner)))
        else:
            inner, outer = (now.pop(name, name) for name in (one.inner, one.outer))
            relations.append(Fuse(inner, outer, fresh(one.fused)))
    return tuple(relations), {d.name: now.get(d.name, d.name) for d in stage.dimensions}


def _new_names(stage: StageSchedule, gone: set[str], directive: str, *names: str) -> None:
    taken = {d.name for d in stage.dimensions} - gone
    for name in names:
        if name in taken:
            raise ScheduleError(f"{directive}: the name {name} is taken by another loop of this stage")
        taken.add(name)
