"""Sliding windows: what an earlier iteration of a loop computed is not computed again.

    for y: produce g over [y, y + 2]   ->   for y: produce g over [select(y > first, y + 2, y), y + 2]

Storage is around the loop, so that it holds what the iterations before computed. The box that is needed moves up or
down one dimension with the loop: its ends never go back, and nothing else of it depends on the loop. Then the
coordinates up to the end that the iteration before needed are there already. What the window has left behind is needed
no more, so that storage may take coordinates modulo the greatest size of the window (folding).

    for y: produce g over [0, 5]   ->   for y: if y <= first: produce g over [0, 5]

A box in which nothing moves with the loop, nor with one inside, is computed in its first iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.affine import reads
from rfactor.compiler.lower.boxes import Box
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, select, substitute, transform
from rfactor.ir.loopnest import For, If
from rfactor.ir.types import I32
from rfactor.semantics.validity import pure_dimensions

Folds = tuple[int | None, ...]
"""By dimension, what its coordinates are taken modulo in storage."""


@dataclass(frozen=True, slots=True)
class Slid:
    """A box of which only what is new is computed."""

    box: Box
    windows: dict[int, int | None]
    """The dimensions along which it slides: by dimension, the most coordinates that are needed at a time, if known and
    if nothing that the window has left behind is needed again."""
    unknown: frozenset[int] = frozenset()
    """The other dimensions along which it moves with a loop, and is not known to move down."""
    sizes: Mapping[int, int] = field(default_factory=dict)
    """Where each iteration computes all that is needed in it, and is done before the next begins: the most coordinates
    that are needed in one, by dimension, where that is known."""
    first: tuple[Expr, ...] = ()
    """The iterations in which there is anything to compute: the first ones of loops with which nothing moves."""


def slide(
    function: Function, box: Box, around: Sequence[For | If], expanded: Callable[[Expr], Expr], alone: bool
) -> Slid:
    """`box`, needed of `function` inside `around` (outermost first), which its storage is outside of.

    `expanded` puts the values of what is defined inside `around` in place of names. `alone` says that no other place
    computes the function between two iterations. Where one does, its window would not fit into the same folded storage,
    and what updates of other points leave unfinished there would take the place of what is finished.
    """
    seen, single = _seen(around, expanded)

    def spelled(end: Expr) -> Expr:
        return affine.tidy(substitute(expanded(end), single))

    whole = tuple((spelled(low), spelled(high)) for low, high in box)
    pure = frozenset(range(len(box))).intersection(*(pure_dimensions(function, stage) for stage in function.stages))
    lasting = alone or len(pure) == len(box)
    result, windows = list(box), dict[int, int | None]()
    for place in range(len(around)):
        loop = around[place]
        if not isinstance(loop, For) or loop.kind not in ("serial", "unrolled"):
            continue
        moved = [d for d in range(len(box)) if loop.name in names(whole[d][0]) | names(whole[d][1])]
        if len(moved) != 1 or moved[0] not in pure or not lasting or _depends(seen[place + 1 :], loop.name, single):
            continue
        (d,) = moved
        low, high = whole[d]
        inner = {other.name for other in around[place + 1 :] if isinstance(other, For)}
        up, down = (grows(low, loop.name, sign) and grows(high, loop.name, sign) for sign in (1, -1))
        if inner & (names(low) | names(high)) or not (up or down):
            continue
        firsts = {apply(">", Var(I32, loop.name), first) for first in (loop.min, expanded(loop.min), spelled(loop.min))}
        short = affine.tidy(substitute(box[d][0], single)), affine.tidy(substitute(box[d][1], single))
        result[d] = _new(short, low, high, loop, firsts, up)
        windows[d] = _window(low, high, firsts) if alone and not windows else None
    loops = [one.name for one in around if isinstance(one, For)]
    moving = frozenset(d for d in range(len(box)) if d not in windows and not all(_falls(whole[d], n) for n in loops))
    first = _first(whole, around, seen, single) if lasting else ()
    kept = windows or (first and not alone)
    return Slid(tuple(result), windows, moving, {} if kept else _sizes(whole, pure, around), first)


def _first(
    whole: Box, around: Sequence[For | If], seen: Sequence[For | If], single: Mapping[str, Expr]
) -> tuple[Expr, ...]:
    """See `Slid.first`. Where a loop inside moves what is needed, storage may hold no more than its last iteration."""
    used = {name for ends in whole for end in ends for name in names(end)}
    if not whole or any(reads(end) for ends in whole for end in ends):
        return ()
    found: list[Expr] = []
    for place, loop in enumerate(around):
        if not isinstance(loop, For) or loop.kind not in ("serial", "unrolled") or loop.name in single:
            continue
        still = used.isdisjoint(one.name for one in around[place:] if isinstance(one, For))
        if still and not _depends(seen[place + 1 :], loop.name, single):
            found.append(apply("<=", Var(I32, loop.name), loop.min))
    return tuple(found)


def _sizes(whole: Box, pure: frozenset[int], around: Sequence[For | If]) -> dict[int, int]:
    """See `Slid.sizes`: of a box that does not slide. Where updates may widen it, nothing is known."""
    if any(isinstance(one, For) and one.kind not in ("serial", "unrolled") for one in around):
        return {}
    sizes = {d: affine.greatest(affine.subtract(high, low)) for d, (low, high) in enumerate(whole) if d in pure}
    return {d: size + 1 for d, size in sizes.items() if size is not None}


def _falls(ends: tuple[Expr, Expr], name: str) -> bool:
    """Whether neither end is less than it will be: it stays, or moves down."""
    return all(grows(affine.subtract(affine.integer(0), end), name) for end in ends)


def _new(end: tuple[Expr, Expr], low: Expr, high: Expr, loop: For, firsts: set[Op], up: bool) -> tuple[Expr, Expr]:
    """What is new of a box from `low` to `high`, short `end`, that moves up or down with a loop: from beyond the end
    that the iteration before needed; all of it in the first iteration, or where nothing overlaps."""
    here, step = Var(I32, loop.name), affine.integer(1 if up else -1)
    moving, other = (low, high) if up else (high, low)
    before = affine.tidy(substitute(other, {loop.name: affine.subtract(here, affine.integer(1))}))
    start, reached = _chosen(moving, firsts, 1), affine.add(before, step)
    apart = affine.constant_value(affine.subtract(start, reached))
    if apart is not None and (apart >= 0 if up else apart <= 0):
        return end
    later = affine.maximum(start, reached) if up else affine.minimum(start, reached)
    chosen = select(apply(">", here, loop.min), later, _chosen(moving, firsts, 2))
    return (chosen, end[1]) if up else (end[0], chosen)


def _seen(
    around: Sequence[For | If], expanded: Callable[[Expr], Expr]
) -> tuple[tuple[For | If, ...], Mapping[str, Expr]]:
    """Loops and guards with what is `expanded` in their bounds and conditions, and the values of the variables of loops
    of one iteration, which stand for those inside."""
    result: list[For | If] = []
    single: dict[str, Expr] = {}
    for one in around:
        if isinstance(one, If):
            result.append(replace(one, condition=substitute(expanded(one.condition), single)))
            continue
        low, extent = (affine.tidy(substitute(expanded(end), single)) for end in (one.min, one.extent))
        result.append(replace(one, min=low, extent=extent))
        if affine.constant_value(extent) == 1 and not reads(low):
            single[one.name] = low
    return tuple(result), single


def _depends(around: Sequence[For | If], name: str, single: Mapping[str, Expr]) -> bool:
    """Whether it varies with `name`, or with data, which iterations of the loops inside there are.

    A guard that holds up to some iteration of the loop does no harm: those before one where it holds were there. Nor
    does a loop of a `single` iteration."""
    for one in around:
        if isinstance(one, If) and one.otherwise is None and _holds_first(one.condition, name):
            continue
        if isinstance(one, For) and one.name in single:
            continue
        exprs = (one.min, one.extent) if isinstance(one, For) else (one.condition,)
        if any(name in names(expr) or reads(expr) for expr in exprs):
            return True
    return False


def _holds_first(condition: Expr, name: str) -> bool:
    """Whether a comparison that holds in one iteration holds in all before it."""
    if not (isinstance(condition, Op) and condition.op in ("<", "<=") and condition.args[0].type == I32):
        return False
    return grows(affine.subtract(*condition.args), name) and not reads(condition)


def grows(expr: Expr, name: str, sign: int = 1) -> bool:
    """Whether the coordinate `expr` is proved never to become less as the loop variable `name` grows; never greater
    with a `sign` of -1."""
    if name not in names(expr):
        return True
    if isinstance(expr, Op) and expr.op == "select":
        condition, later, first = expr.args
        above = isinstance(condition, Op) and condition.op == ">" and condition.args[0] == Var(I32, name)
        if not above or name in names(condition.children[1]) or reads(condition):
            return False
        behind = affine.greatest(affine.subtract(first, later) if sign > 0 else affine.subtract(later, first))
        joined = isinstance(later, Op) and later.op == ("max" if sign > 0 else "min") and first in later.args
        onward = joined or (behind is not None and behind <= 0)
        return onward and grows(later, name, sign) and grows(first, name, sign)
    terms, _ = affine.affine(expr)
    if terms != ((expr, 1),):
        return all(
            name not in names(term) or grows(term, name, sign if factor > 0 else -sign) for term, factor in terms
        )
    if isinstance(expr, Var):
        return sign > 0
    if isinstance(expr, Op) and not reads(expr):
        if expr.op in ("min", "max"):
            return all(grows(arg, name, sign) for arg in expr.args)
        if expr.op == "//" and isinstance(expr.args[1], Const) and int(expr.args[1].value) > 0:
            return grows(expr.args[0], name, sign)
    return False


def _chosen(expr: Expr, firsts: set[Op], arm: int) -> Expr:
    """`expr` in the first iteration (arm 2) or a later one (arm 1), which the conditions `firsts` tell apart."""

    def rule(node: Expr) -> Expr | None:
        return node.args[arm] if isinstance(node, Op) and node.op == "select" and node.args[0] in firsts else None

    return affine.tidy(transform(expr, rule))


def _window(low: Expr, high: Expr, firsts: set[Op]) -> int | None:
    """The greatest number of coordinates from `low` to `high`, if a constant bounds it."""
    sizes = [affine.greatest(affine.subtract(_chosen(high, firsts, a), _chosen(low, firsts, a))) for a in (1, 2)]
    known = [size for size in sizes if size is not None]
    return max(known) + 1 if len(known) == len(sizes) else None


def folds(function: Function, order: tuple[int, ...], asked: Mapping[str, int], slid: Sequence[Slid]) -> Folds:
    """Along which dimensions storage is taken modulo what: where every place that computes it allows it.

    The innermost dimension is folded only where that was asked for: vectors would be picked apart. What was asked
    for is not done where nothing is left behind for good: where no loop moves up along the dimension. It may be all
    that one iteration needs where nothing is kept for the next.
    """
    result: list[int | None] = []
    for d in range(len(order)):
        sizes = [one.windows.get(d) for one in slid]
        known = [size for size in sizes if size is not None]
        least = max(known) if known and len(known) == len(sizes) else None
        count = asked.get(function.variables[d])
        moving = count is not None and least is None and any(d in one.unknown for one in slid)
        if moving and all(d in one.sizes for one in slid):
            least = max(one.sizes[d] for one in slid)
        if count is not None and least is None:
            if moving:
                raise ScheduleError(
                    f"fold_storage({function.variables[d]}, {count}) of {function.name}: what is needed is not "
                    "known to move up along it with a serial loop, so that what it left behind may be needed again"
                )
            count = None
        elif count is not None and least is not None and least > count:
            raise ScheduleError(
                f"fold_storage({function.variables[d]}, {count}) of {function.name}: {least} coordinates of it are "
                f"needed at a time: fold_storage({function.variables[d]}, {least}) holds them"
            )
        if count is None and least is not None and d != order[0]:
            count = 1 << max(least - 1, 0).bit_length()
        result.append(count)
    return tuple(result)
