"""Liftings of machine integers that each step brings into a literal range: clamp(x + select(c, 1, -1), 0, 100).

One end of the range may be that of the type: `min(x + 1, 10)`.

The first step may wrap around, for x may be anything before it; from the range none does. So a run is its first data,
and how the others add and clamp within the range. Amounts are kept within its span: what is beyond clamps every x
alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, apply, cast, substitute
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, marked, nought, operands
from rfactor.matcher.lifting.clamp import Reader
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity

_WIDEST = 64
_AMPLE = 1 << 29
_Step = tuple[Expr, Expr, Expr]
"""What is added; the greatest and the least value."""


@dataclass(frozen=True, slots=True)
class _Range:
    """The range, and the type in which sums within it are formed."""

    low: int
    high: int
    wide: Type

    def end(self, value: int) -> Expr:
        return Const(self.wide, value)


def claims(update: Update) -> Iterator[Claim]:
    """The claim for one machine integer that ends between two literals, or beside one."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.WRAP:
        return
    found = _ends(update.components[0])
    if found is None:
        return
    low, high = found
    near = type_.is_signed and type_.bits >= 32 and low >= -_AMPLE and high <= _AMPLE
    if not near and type_.bits > _WIDEST // 2:
        return
    range_ = _Range(low, high, type_ if near else parse_type(f"i{2 * type_.bits}"))
    step = _step(update, range_)
    if step is not None:
        yield _claim(update, range_, step)


def _ends(component: Expr) -> tuple[int, int] | None:
    """The literals between which the outermost extrema keep the value."""
    type_ = component.type
    ends: dict[str, int] = {} if type_.is_signed else {"max": 0}
    while isinstance(component, Op) and component.op in ("min", "max"):
        literals = [arg for arg in component.args if isinstance(arg, Const)]
        if len(literals) != 1 or (component.op in ends and type_.is_signed):
            break
        ends[component.op] = int(literals[0].value)
        component = component.args[component.args[0] == literals[0]]
    low, high = ends.get("max", int(type_.min)), ends.get("min", int(type_.max))
    return (low, high) if ends and int(type_.min) < high and low < high else None


def _step(update: Update, range_: _Range) -> _Step | None:
    """What a step adds within the range, and its ends there, as samples bear out."""
    (type_,), (x,) = update.types, update.accumulators
    inside = substitute(update.components[0], {x.name: _brought(x, range_)})
    for step in _guesses(update, range_):
        total = apply("+", cast(range_.wide, _brought(x, range_)), step[0])
        meant = cast(type_, _clamped(total, step[2], step[1]))
        if sampling.refute((inside,), (meant,), update.meaning, count=300) is None:
            return step
    return None


def _guesses(update: Update, range_: _Range) -> Iterator[_Step]:
    """As it is written; else by what it makes of the ends, and of a point."""
    (type_,) = update.types
    if type_.is_signed:
        read = Reader(update, type_).read(update.components[0])
        if read is not None and read.scale == Const(type_, 1) and not any(map(has_infinity, (read.high, read.low))):
            add, high, low = (tidy(cast(range_.wide, part)) for part in (read.add, read.high, read.low))
            yield add, high, low
    (least,), (most,) = (run_from(update, (Const(type_, end),)) for end in (range_.low, range_.high))
    for point in dict.fromkeys(((range_.low + range_.high) // 2, range_.low, range_.high)):
        (after,) = run_from(update, (Const(type_, point),))
        yield _spread(cast(range_.wide, after), point), cast(range_.wide, most), cast(range_.wide, least)


def _brought(x: Expr, range_: _Range) -> Expr:
    """x where it is in the range, else the end that is next."""
    least, most = Const(x.type, range_.low), Const(x.type, range_.high)
    return apply("max", apply("min", x, most), least)


def _spread(value: Expr, point: int) -> Expr:
    """value - point, in the branches of choices."""
    if isinstance(value, Op) and value.op == "cast" and isinstance(value.args[0], Op) and value.args[0].op == "select":
        condition, true, false = value.args[0].args
        return choose(condition, _spread(cast(value.type, true), point), _spread(cast(value.type, false), point))
    if isinstance(value, Op) and value.op == "select":
        condition, true, false = value.args
        return choose(condition, _spread(true, point), _spread(false, point))
    return tidy(apply("-", value, Const(value.type, point)))


def _clamped(value: Expr, low: Expr, high: Expr) -> Expr:
    return apply("max", apply("min", value, high), low)


def _claim(update: Update, range_: _Range, step: _Step) -> Claim:
    """State: whether there was an element, its data, and what those after it add, their greatest and least value."""
    (type_,), (x,) = update.types, update.accumulators
    data, wide = update.data, range_.wide
    types = (BOOL, *(v.type for v in data), wide, wide, wide)
    cut = 1 + len(data)
    first, second = operands("x", types), operands("y", types)
    some, start, run = first[0], first[1:cut], first[cut:]
    more, next_start, next_run = second[0], second[1:cut], second[cut:]
    span = range_.high - range_.low + 1
    least, most = range_.end(-span), range_.end(span)

    def joined(one: tuple[Expr, ...], other: tuple[Expr, ...]) -> tuple[Expr, ...]:
        (add, high, low), (by, top, bottom) = one, other
        return (
            _clamped(apply("+", add, by), least, most),
            _clamped(apply("+", high, by), bottom, top),
            _clamped(apply("+", low, by), bottom, top),
        )

    later: dict[str, Expr] = {v.name: datum for v, datum in zip(data, next_start, strict=True)}
    through = joined(joined(run, marked(step, later)), next_run)
    operator = (
        apply("or", some, more),
        *(choose(some, a, b) for a, b in zip(start, next_start, strict=True)),
        *(choose(some, choose(more, both, a), b) for both, a, b in zip(through, run, next_run, strict=True)),
    )
    (after,) = marked(update.components, later)
    add, high, low = next_run
    reached = cast(type_, _clamped(apply("+", cast(wide, after), add), low, high))
    unit = (range_.end(0), range_.end(range_.high), range_.end(range_.low))
    empty = (FALSE, *(nought(v.type) for v in data), *unit)
    lift = Lift(types, (TRUE, *data, *unit), operator, empty, (choose(more, reached, x),))
    ordered = ((least, add), (add, most), (unit[2], low), (low, high), (high, unit[1]))
    return Claim(update, lift=lift, invariant=tuple(apply("<=", a, b) for a, b in ordered))


__all__ = ["claims"]
