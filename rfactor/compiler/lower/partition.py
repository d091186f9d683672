"""Loop partitioning: iterations that a guard cannot stop are run without it, as are those that no clamp changes.

    for x in (0, e):                     for x in (0, m): f[x*8 + …] = …
      if x*8 + 7 < n: f[…] = …     ->    for x in (m, e - m): if x*8 + 7 < n: f[…] = …

`m` comes from the guard, solved for the innermost loop that it depends on and that is no short one: vector, unrolled
and short loops inside take their worst iteration, and so do vectorised loops around, whose lanes are to share its ends.
Where the guard holds for no other iteration, or in no lane for others, only its own range is left. Where all of the
body is guarded, the last range of a loop of constant extent (in a chunk, say) ends where the
guard holds for no iteration inside; an extent known at run time only does not go further. So do the loops inside of the
first and last ranges, which are not split again. A parallel loop keeps one range otherwise, and asks per iteration
which body to run. Tiles that are whole come first (`tiles`). Inside the loops of something else, whose tiles may be a
few vectors, one that a guard cuts, and that no clamp changes, is loaded dense under its mask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.borders import borders, unclamped
from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.lower.guards import (
    all_near,
    assuming,
    beyond,
    bound_in,
    decided,
    end_of_safe,
    first_safe,
    guards_in,
    is_short,
    solve,
)
from rfactor.compiler.lower.peel import is_first
from rfactor.compiler.lower.spans import Spans, span, surely_in_i32
from rfactor.compiler.lower.storage import is_value
from rfactor.compiler.lower.tiles import whole_tiles
from rfactor.ir.expr import Const, Expr, Var, apply, conjunction, names, substitute, walk
from rfactor.ir.loopnest import For, If, Let, Load, Produce, Stmt, block
from rfactor.ir.statements import parts, with_body, with_parts
from rfactor.ir.types import I32


def partition(stmt: Stmt, spans: Spans) -> Stmt:
    """The flat nest with every such loop split in up to three. `spans` are what variables are known to lie between."""
    return _parts(stmt, spans, {}, frozenset(_inner(stmt)))


def _inner(stmt: Stmt, looped: bool = False, inner: bool = False) -> Iterator[str]:
    """The loops of what is computed inside the loops of something else, which may be as short as a tile of it."""
    if isinstance(stmt, For):
        looped = True
        if inner:
            yield stmt.name
    inner = inner or (looped and isinstance(stmt, Produce))
    for part in parts(stmt):
        yield from _inner(part, looped, inner)


def _parts(stmt: Stmt, spans: Spans, lanes: dict[str, For], own: frozenset[str], tiles: bool = True) -> Stmt:
    """The same inside the vectorised loops `lanes`, with whole `tiles` apart or not; `own` are the `_inner` loops."""
    if isinstance(stmt, For):
        apart = _tiles(stmt, spans, lanes, own) if tiles and not is_short(stmt) else None
        return _loop(stmt, spans, lanes, own, tiles) if apart is None else apart
    if isinstance(stmt, Let):
        body = _told(stmt.body, stmt) if _differs(stmt, lanes) else stmt.body
        return with_body(stmt, _parts(body, inside(stmt, spans), lanes, own, tiles))
    return with_parts(stmt, lambda part: _parts(part, spans, lanes, own, tiles))


def _loop(loop: For, spans: Spans, lanes: dict[str, For], own: frozenset[str], tiles: bool) -> Stmt:
    """The same of a loop whose iterations are no tiles, or all as whole as the others."""
    inner = _parts(loop.body, inside(loop, spans), _within(loop, lanes), own, tiles)
    return with_body(loop, inner) if is_short(loop) else _partitioned(loop, inner, spans, lanes, own)


def _tiles(loop: For, spans: Spans, lanes: dict[str, For], own: frozenset[str]) -> Stmt | None:
    """`loop`, whose first iterations, whole tiles, are apart; None where it has no tiles."""
    found = whole_tiles(loop, spans)
    if found is None:
        return None
    last, body = found
    if loop.kind != "parallel":
        stop = Var(I32, f"{loop.name}.tiles")
        last = affine.maximum(last, loop.min)
        within = _with(spans, stop.name, last, last)
        whole = replace(loop, extent=affine.subtract(stop, loop.min), body=body)
        rest = replace(loop, min=stop, extent=affine.subtract(beyond(loop), stop))
        return Let(
            stop.name, last, block(_loop(whole, within, lanes, own, True), _loop(rest, within, lanes, own, False))
        )
    both = _loop(replace(loop, body=body), spans, lanes, own, True), _loop(loop, spans, lanes, own, False)
    arms = [one.body for one in both if isinstance(one, For) and (one.min, one.extent) == (loop.min, loop.extent)]
    return replace(loop, body=If(apply("<", Var(I32, loop.name), last), *arms)) if len(arms) == 2 else None


def _differs(let: Let, lanes: dict[str, For]) -> bool:
    """Whether a coordinate that has a name differs between `lanes`."""
    coordinate = let.value.type == I32 and not is_value(let.name) and not affine.reads(let.value)
    return coordinate and not lanes.keys().isdisjoint(names(let.value))


def _told(stmt: Stmt, let: Let) -> Stmt:
    """`stmt` with the value of `let` for its name in guards, and in what else has a name."""
    value = {let.name: let.value}
    stmt = with_parts(stmt, lambda part: _told(part, let))
    if isinstance(stmt, If):
        return replace(stmt, condition=substitute(stmt.condition, value))
    return replace(stmt, value=substitute(stmt.value, value)) if isinstance(stmt, Let) else stmt


def _within(loop: For, lanes: dict[str, For]) -> dict[str, For]:
    """The vectorised loops around the body of `loop`, which `lanes` are around."""
    return {**lanes, loop.name: loop} if loop.kind == "vectorized" else lanes


def inside(stmt: For | Let, spans: Spans) -> Spans:
    """`spans` in the body of `stmt`, with that of its variable."""
    if isinstance(stmt, For):
        return _with(spans, stmt.name, stmt.min, affine.plus(affine.add(stmt.min, stmt.extent), -1))
    if stmt.value.type != I32 or (affine.reads(stmt.value) and not surely_in_i32(stmt.value, spans)):
        return spans  # sums of data may wrap
    return _with(spans, stmt.name, stmt.value, stmt.value)


def _with(spans: Spans, name: str, low: Expr, high: Expr) -> Spans:
    """`spans` with that of a variable between two coordinates, which i32 holds."""
    known = dict(spans)
    least, greatest = max(span(low, known)[0], int(I32.min)), min(span(high, known)[1], int(I32.max))
    return {**spans, Var(I32, name): (least, max(least, greatest))}  # it has no value where they cross


def _partitioned(loop: For, inner: Stmt, spans: Spans, lanes: dict[str, For], own: frozenset[str]) -> Stmt:
    """`loop`, whose body is `inner` once the loops inside are partitioned; iterations at the ends keep theirs whole."""
    some = _of_some_lane(loop, spans, lanes)
    if some is not None:
        low, high = Var(I32, f"{loop.name}.low"), Var(I32, f"{loop.name}.high")
        first, last = some
        within = _with(_with(spans, low.name, first, first), high.name, last, last)
        some_run = replace(loop, min=low, extent=affine.subtract(high, low))
        return Let(low.name, first, Let(high.name, last, _split(some_run, inner, within, lanes, own)))
    return _split(loop, inner, spans, lanes, own)


def _split(loop: For, inner: Stmt, spans: Spans, lanes: dict[str, For], own: frozenset[str]) -> Stmt:
    """The same of a loop in whose iterations some lane may run."""
    found = [one for one in _guards(loop.body, loop.name, lanes) if not is_first(one[0], loop)]
    guards = [(c, None if loops is None else solve(c, loop.name, loops)) for c, loops in found]
    unknown = bound_in(loop.body)
    # A guard may stand in several loops of one name, each with a range of its own: it is solved in all, or in none.
    left = {c for c, s in guards if s is None or any(unknown & names(e) for e in s.told)}
    safe = [s for c, s in guards if s is not None and c not in left]
    end = beyond(loop)
    near = all_near(loop, safe, spans)
    first = first_safe(loop, end, [limit for s in safe for limit in s.mins], near)
    last = end_of_safe(loop, end, [limit for s in safe for limit in s.ends], near)
    held = {conjunct for s in safe for conjunct in conjuncts(s.condition)}
    body = decided(assuming(inner, held), [one for s in safe for one in s.below])
    if safe and all(s.exact for s in safe) and held <= _around(loop.body):
        return _split(_range(loop, first, last, end, assuming(loop.body, held)), body, spans, lanes, own)
    ends = borders(loop, bool(lanes))
    if not safe and ends is None:
        return replace(loop, body=inner)
    if ends is not None:
        body = unclamped(body, ends.plain)
        if ends.first is not None:
            first = affine.maximum(first, ends.first)
        if ends.end is not None:
            last = affine.minimum(last, ends.end)
    whole = _ended(loop.body, inside(loop, spans), lanes)
    here = Var(I32, loop.name)
    if loop.kind == "parallel":
        within = [apply(">=", here, first)] if first != loop.min else []
        if last != end:
            within.append(apply("<", here, last))
        return replace(loop, body=If(conjunction(*within), body, whole)) if within else replace(loop, body=body)
    rest = whole
    if loop.name in own and safe and ends is not None and ends.in_lanes:
        rest = unclamped(whole, ends.plain)
        if ends.end is not None:
            rest = If(apply("<", here, ends.end), rest, whole)
    return _ranges(loop, body, (whole, rest), first, last, _reached(loop, spans, lanes))


def _of_some_lane(loop: For, spans: Spans, lanes: dict[str, For]) -> tuple[Expr, Expr] | None:
    """The first of the iterations of `loop` in which the guards of all of its body let some of the `lanes` around it
    run, and the one after the last; None where there are no guards that differ between lanes. They do not cross."""
    covering = [(condition, loops) for condition, loops in _covering(loop.body, loop.name, lanes) if loops]
    some = [s for c, loops in covering if loops.keys() <= lanes.keys() and (s := solve(c, loop.name, loops, best=True))]
    if not some:
        return None
    near, end = all_near(loop, some, spans), beyond(loop)
    first = first_safe(loop, end, [limit for s in some for limit in s.mins], near)
    last = end_of_safe(loop, end, [limit for s in some for limit in s.ends], near)
    low = affine.minimum(first, end)
    return low, affine.maximum(last, low)


def _reached(loop: For, spans: Spans, lanes: dict[str, For]) -> Expr:
    """Where `loop` ends, or where all of its body is guarded for good, if that is sooner and its extent is constant."""
    end = beyond(loop)
    covering = _covering(loop.body, loop.name, lanes) if isinstance(loop.extent, Const) else ()
    some = [s for condition, loops in covering if (s := solve(condition, loop.name, loops, best=True))]
    near = all_near(loop, some, spans)
    reached = end_of_safe(loop, end, [limit for s in some for limit in s.ends], near)
    return affine.maximum(reached, loop.min) if near and reached != end else reached


def _ended(stmt: Stmt, spans: Spans, lanes: dict[str, For]) -> Stmt:
    """`stmt`, whose loops are not split, each no longer than to where it does nothing any more."""
    if isinstance(stmt, For):
        inner = with_body(stmt, _ended(stmt.body, inside(stmt, spans), _within(stmt, lanes)))
        if is_short(stmt) or stmt.kind == "parallel":
            return inner
        reached = _reached(stmt, spans, lanes)
        return inner if reached == beyond(stmt) else replace(inner, extent=affine.subtract(reached, stmt.min))
    if isinstance(stmt, Let):
        body = _told(stmt.body, stmt) if _differs(stmt, lanes) else stmt.body
        return with_body(stmt, _ended(body, inside(stmt, spans), lanes))
    return with_parts(stmt, lambda part: _ended(part, spans, lanes))


def _covering(body: Stmt, name: str, inner: dict[str, For]) -> Iterator[tuple[Expr, dict[str, For]]]:
    """The guards on the loop `name` that all of `body` is under, and the loops inside that they depend on."""
    if isinstance(body, For):
        yield from _covering(body.body, name, {**inner, body.name: body})
    elif isinstance(body, If) and body.otherwise is None:
        for condition in conjuncts(body.condition):
            used = names(condition)
            if name in used and not any(isinstance(node, Load) for node in walk(condition)):
                yield condition, {n: loop for n, loop in inner.items() if n in used}
        yield from _covering(body.then, name, inner)


def _around(body: Stmt) -> set[Expr]:
    """The guards that all of `body` is under."""
    if isinstance(body, If) and body.otherwise is None:
        return set(conjuncts(body.condition)) | _around(body.then)
    return set()


def _range(loop: For, first: Expr, last: Expr, end: Expr, body: Stmt) -> For:
    """Only `[first, last)`: nothing is done outside."""
    if first == loop.min:
        return replace(loop, extent=affine.subtract(last, loop.min), body=body)
    low = affine.minimum(first, end)
    return replace(loop, min=low, extent=affine.subtract(affine.maximum(last, low), low), body=body)


def _ranges(loop: For, body: Stmt, whole: tuple[Stmt, Stmt], first: Expr, last: Expr, end: Expr) -> Stmt:
    """`[min, first)` guarded, `[first, last)` not, `[last, end)` guarded; guarded they are `whole`."""
    start, stop = Var(I32, f"{loop.name}.main"), Var(I32, f"{loop.name}.tail")

    def span(low: Expr, high: Expr, inner: Stmt) -> Stmt:
        return replace(loop, min=low, extent=affine.subtract(high, low), body=inner)

    before = first != loop.min
    after = last != end
    low: Expr = start if before else loop.min
    high: Expr = stop if after else end
    result = block(
        span(loop.min, low, whole[0]) if before else None,
        span(low, high, body),
        span(high, end, whole[1]) if after else None,
    )
    if after:
        result = Let(stop.name, affine.maximum(last, low), result)
    if before:
        result = Let(start.name, affine.minimum(first, end), result)
    return result


def _guards(stmt: Stmt, name: str, inner: dict[str, For]) -> Iterator[tuple[Expr, dict[str, For] | None]]:
    """The guards in `stmt` that depend on the loop `name`, with the loops inside that they depend on, one of them as
    often as it stands there; None where such a loop could be partitioned for it, or it asks for data."""
    for condition, loops in guards_in(stmt, name, inner):
        serial = not all(map(is_short, loops.values()))
        yield condition, None if serial or any(isinstance(node, Load) for node in walk(condition)) else loops
