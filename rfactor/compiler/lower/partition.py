"""Loop partitioning: iterations that a guard cannot stop are run without it, as are those that no clamp changes.

    for x in (0, e):                     for x in (0, m): f[x*8 + …] = …
      if x*8 + 7 < n: f[…] = …     ->    for x in (m, e - m): if x*8 + 7 < n: f[…] = …

`m` comes from the guard, solved for the innermost loop that it depends on and that is no short one: vector, unrolled
and short loops inside take their worst iteration, and so do vectorised loops around, whose lanes are to share its ends.
Where the guard holds for no other iteration, or in no lane for others, only its own range is left. Where all of the
body is guarded, the last range of a loop of constant extent (in a chunk, say) ends where the
guard holds for no iteration inside; an extent known at run time only does not go further. So do the loops inside of the
first and last ranges, which are not split again. A parallel loop keeps one range otherwise, and asks per iteration
which body to run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.borders import SHORT, borders, unclamped
from rfactor.compiler.lower.conditions import conjuncts, nonpositive
from rfactor.compiler.lower.overflow import Spans, in_i32, in_i64, span, sum_in_i64, surely_in_i32
from rfactor.compiler.lower.peel import once
from rfactor.compiler.lower.storage import is_value
from rfactor.compiler.lower.tidy import tidy
from rfactor.ir.expr import Const, Expr, Op, Var, apply, conjunction, names, substitute, variables, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import For, If, Let, Load, Stmt, block
from rfactor.ir.statements import parts, walk_nest, with_body, with_parts
from rfactor.ir.types import I32


def partition(stmt: Stmt, spans: Spans) -> Stmt:
    """The flat nest with every such loop split in up to three. `spans` are what variables are known to lie between."""
    return _parts(stmt, spans, {})


def _parts(stmt: Stmt, spans: Spans, lanes: dict[str, For]) -> Stmt:
    """The same inside the vectorised loops `lanes`."""
    if isinstance(stmt, For):
        inner = _parts(stmt.body, inside(stmt, spans), _within(stmt, lanes))
        return with_body(stmt, inner) if _short(stmt) else _partitioned(stmt, inner, spans, lanes)
    if isinstance(stmt, Let):
        body = _told(stmt.body, stmt) if _differs(stmt, lanes) else stmt.body
        return with_body(stmt, _parts(body, inside(stmt, spans), lanes))
    return with_parts(stmt, lambda part: _parts(part, spans, lanes))


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


@dataclass(frozen=True, slots=True)
class _Limit:
    """`dividend // divisor`, where a guard begins or ceases to hold; the divisor is positive."""

    dividend: Expr
    divisor: int

    def narrow(self) -> Expr:
        """In i32, which may not hold it or a sum in it."""
        return affine.divide(self.dividend, self.divisor)

    def wide(self) -> Expr:
        """In i64, which holds it."""
        return affine.divide(in_i64(self.dividend), self.divisor)


@dataclass(frozen=True, slots=True)
class _Safe:
    """Iterations from all of `mins` on, before all of `ends`, for which a guard holds whatever the loops inside do."""

    condition: Expr
    mins: tuple[_Limit, ...]
    ends: tuple[_Limit, ...]
    exact: bool
    """Whether it holds for no other iteration."""
    below: tuple[Expr, ...]
    """Sums of coordinates that are <= 0 in these iterations."""

    @property
    def told(self) -> tuple[Expr, ...]:
        """What it is made of: it has to be known before the loop."""
        return (*(limit.dividend for limit in (*self.mins, *self.ends)), *self.below)


def _partitioned(loop: For, inner: Stmt, spans: Spans, lanes: dict[str, For]) -> Stmt:
    """`loop`, whose body is `inner` once the loops inside are partitioned; iterations at the ends keep theirs whole."""
    some = _of_some_lane(loop, spans, lanes)
    if some is not None:
        low, high = Var(I32, f"{loop.name}.low"), Var(I32, f"{loop.name}.high")
        first, last = some
        within = _with(_with(spans, low.name, first, first), high.name, last, last)
        own = replace(loop, min=low, extent=affine.subtract(high, low))
        return Let(low.name, first, Let(high.name, last, _split(own, inner, within, lanes)))
    return _split(loop, inner, spans, lanes)


def _split(loop: For, inner: Stmt, spans: Spans, lanes: dict[str, For]) -> Stmt:
    """The same of a loop in whose iterations some lane may run."""
    found = _guards(loop.body, loop.name, lanes)
    guards = [(c, None if loops is None else _solve(c, loop.name, loops)) for c, loops in found]
    unknown = {part.name for part in walk_nest(loop.body) if isinstance(part, Let)}
    # A guard may stand in several loops of one name, each with a range of its own: it is solved in all, or in none.
    left = {c for c, s in guards if s is None or any(unknown & names(e) for e in s.told)}
    safe = [s for c, s in guards if s is not None and c not in left]
    end = _after(loop)
    near = _near(loop, safe, spans)
    first = _begin(loop, end, [limit for s in safe for limit in s.mins], near)
    last = _end(loop, end, [limit for s in safe for limit in s.ends], near)
    held = {conjunct for s in safe for conjunct in conjuncts(s.condition)}
    body = _decided(_assuming(inner, held), [one for s in safe for one in s.below])
    if safe and all(s.exact for s in safe) and held <= _around(loop.body):
        return _split(_range(loop, first, last, end, _assuming(loop.body, held)), body, spans, lanes)
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
    if loop.kind == "parallel":
        here = Var(I32, loop.name)
        within = [apply(">=", here, first)] if first != loop.min else []
        if last != end:
            within.append(apply("<", here, last))
        return replace(loop, body=If(conjunction(*within), body, whole)) if within else replace(loop, body=body)
    return _ranges(loop, body, whole, first, last, _reached(loop, spans, lanes))


def _of_some_lane(loop: For, spans: Spans, lanes: dict[str, For]) -> tuple[Expr, Expr] | None:
    """The first of the iterations of `loop` in which the guards of all of its body let some of the `lanes` around it
    run, and the one after the last; None where there are no guards that differ between lanes. They do not cross."""
    covering = [(condition, loops) for condition, loops in _covering(loop.body, loop.name, lanes) if loops]
    some = [
        s for c, loops in covering if loops.keys() <= lanes.keys() and (s := _solve(c, loop.name, loops, best=True))
    ]
    if not some:
        return None
    near, end = _near(loop, some, spans), _after(loop)
    first = _begin(loop, end, [limit for s in some for limit in s.mins], near)
    last = _end(loop, end, [limit for s in some for limit in s.ends], near)
    low = affine.minimum(first, end)
    return low, affine.maximum(last, low)


def _after(loop: For) -> Expr:
    """The first coordinate after those of `loop`."""
    return affine.add(loop.min, affine.maximum(loop.extent, affine.integer(0)))


def _reached(loop: For, spans: Spans, lanes: dict[str, For]) -> Expr:
    """Where `loop` ends, or where all of its body is guarded for good, if that is sooner and its extent is constant."""
    end = _after(loop)
    covering = _covering(loop.body, loop.name, lanes) if isinstance(loop.extent, Const) else ()
    some = [s for condition, loops in covering if (s := _solve(condition, loop.name, loops, best=True))]
    near = _near(loop, some, spans)
    reached = _end(loop, end, [limit for s in some for limit in s.ends], near)
    return affine.maximum(reached, loop.min) if near and reached != end else reached


def _ended(stmt: Stmt, spans: Spans, lanes: dict[str, For]) -> Stmt:
    """`stmt`, whose loops are not split, each no longer than to where it does nothing any more."""
    if isinstance(stmt, For):
        inner = with_body(stmt, _ended(stmt.body, inside(stmt, spans), _within(stmt, lanes)))
        if _short(stmt) or stmt.kind == "parallel":
            return inner
        reached = _reached(stmt, spans, lanes)
        return inner if reached == _after(stmt) else replace(inner, extent=affine.subtract(reached, stmt.min))
    if isinstance(stmt, Let):
        body = _told(stmt.body, stmt) if _differs(stmt, lanes) else stmt.body
        return with_body(stmt, _ended(body, inside(stmt, spans), lanes))
    return with_parts(stmt, lambda part: _ended(part, spans, lanes))


def _begin(loop: For, end: Expr, limits: Sequence[_Limit], near: bool) -> Expr:
    """The first iteration of `loop`, which ends before `end`, that is before none of `limits`."""
    if near or not limits:
        return reduce(affine.maximum, (limit.narrow() for limit in limits), loop.min)
    first = reduce(affine.maximum, (limit.wide() for limit in limits), in_i64(loop.min))
    return in_i32(affine.minimum(first, in_i64(end)))


def _end(loop: For, end: Expr, limits: Sequence[_Limit], near: bool) -> Expr:
    """The first iteration of `loop` at `end` or one of `limits`; where they are not all near, no earlier one."""
    if near or not limits:
        return reduce(affine.minimum, (limit.narrow() for limit in limits), end)
    last = reduce(affine.minimum, (limit.wide() for limit in limits), in_i64(end))
    return in_i32(affine.maximum(last, in_i64(loop.min)))


def _near(loop: For, solved: Sequence[_Safe], spans: Spans) -> bool:
    """Whether i32 surely holds each limit and its distance from the first iteration."""
    limits = [limit.narrow() for s in solved for limit in (*s.mins, *s.ends)]
    return all(surely_in_i32(e, spans) for narrow in limits for e in (narrow, affine.subtract(narrow, loop.min)))


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


def _ranges(loop: For, body: Stmt, whole: Stmt, first: Expr, last: Expr, end: Expr) -> Stmt:
    """`[min, first)` guarded, which `whole` is, `[first, last)` not, `[last, end)` guarded."""
    start, stop = Var(I32, f"{loop.name}.main"), Var(I32, f"{loop.name}.tail")

    def span(low: Expr, high: Expr, inner: Stmt) -> Stmt:
        return replace(loop, min=low, extent=affine.subtract(high, low), body=inner)

    before = first != loop.min
    after = last != end
    low: Expr = start if before else loop.min
    high: Expr = stop if after else end
    result = block(
        span(loop.min, low, whole) if before else None,
        span(low, high, body),
        span(high, end, whole) if after else None,
    )
    if after:
        result = Let(stop.name, affine.maximum(last, low), result)
    if before:
        result = Let(start.name, affine.minimum(first, end), result)
    return result


def _guards(stmt: Stmt, name: str, inner: dict[str, For]) -> Iterator[tuple[Expr, dict[str, For] | None]]:
    """The guards in `stmt` that depend on the loop `name`, with the loops inside that they depend on, one of them as
    often as it stands there; None where such a loop could be partitioned for it, or it asks for data."""
    if isinstance(stmt, For):
        inner = {**inner, stmt.name: stmt}
    elif isinstance(stmt, If):
        for condition in conjuncts(stmt.condition):
            used = names(condition)
            serial = any(n in used and not _short(loop) for n, loop in inner.items())
            if name in used:
                solved = not serial and not any(isinstance(node, Load) for node in walk(condition))
                yield condition, {n: loop for n, loop in inner.items() if n in used} if solved else None
    for part in parts(stmt):
        yield from _guards(part, name, inner)


def _short(loop: For) -> bool:
    """Whether the loop is not worth splitting itself: its worst iteration stands for all."""
    if loop.kind in ("vectorized", "unrolled"):
        return True
    small = isinstance(loop.extent, Const) and int(loop.extent.value) <= SHORT
    return once(loop) or (loop.kind == "serial" and small and not _has_vectors(loop.body))


def _has_vectors(stmt: Stmt) -> bool:
    """Whether there is a vectorised loop in `stmt`."""
    return any(isinstance(part, For) and part.kind == "vectorized" for part in walk_nest(stmt))


def _solve(condition: Expr, name: str, inner: dict[str, For], best: bool = False) -> _Safe | None:
    """Where `condition` holds whatever the loops `inner` do; with `best`, outside of where it never does."""
    mins, ends, below = list[_Limit](), list[_Limit](), list[Expr]()
    comparisons = nonpositive(condition)
    if not comparisons:
        return None
    for comparison in comparisons:
        terms, constant = affine.affine(comparison)
        factor = dict(terms).get(Var(I32, name), 0)
        rest = affine.from_affine((), constant)
        for term, own in terms:
            if term == Var(I32, name):
                continue
            worst = _worst(term, -own if best else own, inner)
            if worst is None or name in names(worst) or (best and names(worst) & inner.keys()):
                return None
            rest = affine.add(rest, affine.scale(worst, own))
        if not factor or not sum_in_i64(rest):
            return None
        below.append(affine.add(affine.scale(Var(I32, name), factor), rest))
        if factor > 0:  # factor*x + rest <= 0
            ends.append(_Limit(affine.plus(affine.scale(rest, -1), factor), factor))
        else:  # rest <= -factor*x
            mins.append(_Limit(affine.plus(rest, -factor - 1), -factor))
    return _Safe(condition, tuple(mins), tuple(ends), not inner, tuple(below))


def _worst(term: Expr, factor: int, inner: dict[str, For]) -> Expr | None:
    """The value of a term, over the loops inside, at which `factor * term` is greatest."""
    loops = [v.name for v in variables(term) if v.name in inner]
    if not loops:
        return term
    if not isinstance(term, Var):
        return None
    loop = inner[term.name]
    if not isinstance(loop.extent, Const):
        return None
    return loop.min if factor < 0 else affine.add(loop.min, affine.integer(int(loop.extent.value) - 1))


def _assuming(stmt: Stmt, held: set[Expr]) -> Stmt:
    """`stmt` where the conditions `held` are known to hold."""
    if isinstance(stmt, If) and not held.isdisjoint(asked := list(conjuncts(stmt.condition))):
        left = [condition for condition in asked if condition not in held]
        if not left:
            return _assuming(stmt.then, held)
        stmt = replace(stmt, condition=conjunction(*left))
    return with_parts(stmt, lambda part: _assuming(part, held)) if held else stmt


def _decided(stmt: Stmt, below: list[Expr]) -> Stmt:
    """`stmt`, whose boxes are no longer cut where sums of coordinates that are <= 0 say that nothing is cut off."""
    whole = _whole(stmt, below) if below else stmt
    return stmt if whole == stmt else tidy(whole)


def _whole(stmt: Stmt, below: list[Expr]) -> Stmt:
    if isinstance(stmt, Let) and stmt.value.type == I32 and not is_value(stmt.name):
        arms = {node: arm for node in walk(stmt.value) if (arm := _arm(node, below)) is not None}
        if arms:
            stmt = replace(stmt, value=affine.tidy(replaced(stmt.value, arms)))
    return with_parts(stmt, lambda part: _whole(part, below))


def _arm(expr: Expr, below: list[Expr]) -> Expr | None:
    """The operand that an extreme of coordinates is where the sums `below` are <= 0."""
    if not (isinstance(expr, Op) and expr.op in ("min", "max") and expr.type == I32):
        return None
    first, second = expr.args if expr.op == "min" else expr.args[::-1]
    for one in below:
        for low, high in ((first, second), (second, first)):
            over = affine.constant_value(affine.subtract(affine.subtract(low, high), one))
            if over is not None and over <= 0:  # low - high <= one <= 0
                return low if expr.op == "min" else high
    return None
