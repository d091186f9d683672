"""Liftings of counters up and down between bounds, at machine width, where a step wraps from an end of the type alone.

`select(c, min(x + 1, 3), max(x - 1, 0))` adds and clamps from anywhere but from the type's least and greatest value,
where x - 1 or x + 1 wraps. No step leads there from elsewhere. So a run is a clamped sum, and where it takes each of
these few values. A sum beyond the span of the type clamps every value alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, select, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.action import bind, choose, operands
from rfactor.matcher.lifting.clamp import Reader
from rfactor.matcher.lifting.tropical import extremal
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift
from rfactor.prover.infinity import has_infinity

_WIDEST = 32
"""Bits of the integers that a wider type has room for."""
_MOST = 4
"""Most values from which a step may wrap."""
_POINTS = 256
_WIDE = "wide"
"""The state in the wider type; no accumulator is called so."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that is added to and clamped, both by choices."""
    (type_, *more) = update.types
    if more or not type_.is_int or type_.bits > _WIDEST or update.meaning is not Meaning.WRAP:
        return
    if not any(isinstance(node, Op) and node.op in ("min", "max", "select") for node in walk(update.components[0])):
        return
    wide = parse_type(f"i{2 * type_.bits}")
    step = _step(update, wide)
    if step is None:
        return
    add, low, high = step
    shifts = _values(add, update)
    below, above = max(0, -min(shifts)), max(0, max(shifts))
    if below + above > _MOST:
        return
    least, most = int(type_.min), int(type_.max)
    near = [*range(least, least + below), *range(most - above + 1, most + 1)]
    (x,) = update.accumulators
    plain = cast(type_, _clamped(apply("+", cast(wide, x), add), _finite(low, wide, least), _finite(high, wide, most)))
    apart = tuple(Const(type_, value) for value in near if _differ(update, plain, Const(type_, value)))
    if not apart:
        return
    first = least + sum(value.value < least + below for value in apart)
    last = most - sum(value.value > most - above for value in apart)
    yield _claim(update, wide, (add, _finite(low, wide, first), _finite(high, wide, last)), apart, (first, last))


def _claim(
    update: Update, wide: Type, step: tuple[Expr, Expr, Expr], apart: tuple[Const, ...], regular: tuple[int, int]
) -> Claim:
    (type_,) = update.types
    span = int(type_.max) - int(type_.min) + 1
    first, last = (Const(wide, value) for value in regular)
    types = (wide, wide, wide, *(type_ for _ in apart))
    (added, bottom, top, *images), (more, new_bottom, new_top, *new_images) = operands("x", types), operands("y", types)

    def taken(value: Expr) -> Expr:
        """Where the later run takes a value of the type."""
        after: Expr = cast(type_, _clamped(apply("+", cast(wide, value), more), new_bottom, new_top))
        for own, image in zip(apart, new_images, strict=True):
            after = choose(apply("==", value, own), image, after)
        return after

    operator = (
        _clamped(apply("+", added, more), Const(wide, -span), Const(wide, span)),
        cast(wide, taken(cast(type_, bottom))),
        cast(wide, taken(cast(type_, top))),
        *map(taken, images),
    )
    identity = (Const(wide, 0), first, last, *apart)
    (component,) = update.components
    (x,) = update.accumulators
    data = (
        *map(tidy, bind(_plainly(operator[:3], wide), identity[:3], step)),
        *(tidy(substitute(component, {x.name: value})) for value in apart),
    )
    within = [apply("and", apply("<=", first, new_bottom), apply("<=", new_top, last))]
    single = apply("==", new_bottom, new_top)
    ends = (Const(wide, type_.min), Const(wide, type_.max))
    invariant = (
        *(apply("<=", Const(wide, -span), more), apply("<=", more, Const(wide, span))),
        *(apply("<=", ends[0], new_bottom), apply("<=", new_bottom, new_top), apply("<=", new_top, ends[1])),
        *(apply("or", single, condition) for condition in within),
        # The ends are as tight as the regular values make them, so that each map is written in one way.
        apply("<=", new_top, apply("max", apply("+", last, more), new_bottom)),
        apply("<=", apply("min", apply("+", first, more), new_top), new_bottom),
    )
    return Claim(update, lift=Lift(types, data, operator, identity, (taken(x),)), invariant=invariant)


def _plainly(operator: tuple[Expr, ...], wide: Type) -> tuple[Expr, ...]:
    """How a regular run's sum and ends go through another regular one."""
    (_, bottom, top), (more, new_bottom, new_top) = operands("x", (wide,) * 3), operands("y", (wide,) * 3)
    return (operator[0], *(_clamped(apply("+", end, more), new_bottom, new_top) for end in (bottom, top)))


def _step(update: Update, wide: Type) -> tuple[Expr, Expr, Expr] | None:
    """What is added, and the ends, as expressions of the wider type over data; infinite where there is none."""
    free = free_of(accumulator_names(update))
    (x,) = update.accumulators
    whole = _widened(update.components[0], x, wide, free)
    if whole is None:
        return None
    state = Var(wide, _WIDE)
    reader = Reader(update, wide, state)
    reader.free = free_of(frozenset((_WIDE,)))
    step = reader.read(extremal(whole, reader.free))
    return None if step is None or step.scale != Const(wide, 1) else (tidy(step.add), step.low, step.high)


def _widened(expr: Expr, x: Var, wide: Type, free: Callable[[Expr], bool]) -> Expr | None:
    """The expression as it would be if nothing wrapped."""
    if expr == x:
        return Var(wide, _WIDE)
    if expr.type.is_bool and free(expr):
        return expr
    if free(expr):
        return Const(wide, expr.value) if isinstance(expr, Const) else cast(wide, expr)
    if not isinstance(expr, Op) or expr.op not in ("+", "-", "min", "max", "select", "<", "<=", ">", ">=", "and", "or"):
        return None
    args = [_widened(arg, x, wide, free) for arg in expr.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    return select(*known) if expr.op == "select" else apply(expr.op, *known)


def _clamped(value: Expr, least: Expr, most: Expr) -> Expr:
    return apply("max", apply("min", value, most), least)


def _finite(end: Expr, wide: Type, value: int) -> Expr:
    """An end with a number of the type for an infinity."""
    if isinstance(end, Op) and end.op == "select" and has_infinity(end):
        condition, true, false = end.args
        return choose(condition, _finite(true, wide, value), _finite(false, wide, value))
    return Const(wide, value) if has_infinity(end) else tidy(end)


def _values(expr: Expr, update: Update) -> list[int]:
    """Values of an expression over data, at samples."""
    used = sampling.used([expr])
    env = sampling.points(used, update.meaning, _POINTS, sampling.literals([expr]))
    values: list[int] = np.ravel(evaluate(expr, env, update.meaning)).tolist()
    return values


def _differ(update: Update, plain: Expr, value: Const) -> bool:
    """Whether a step from a value is not the clamped sum, on samples."""
    name = update.accumulators[0].name
    one, other = (substitute(e, {name: value}) for e in (update.components[0], plain))
    return sampling.refute((one,), (other,), update.meaning) is not None
