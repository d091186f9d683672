"""What is beyond the edges of an image: functions that are defined everywhere.

Each takes a `Buffer`, an `ImageParam`, or a `Func` and the (min, extent) pairs of its first dimensions; a pair may be
`Range(min, extent)`, and a dimension with an undefined pair (or without one) is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rfactor.compiler.language.buffer import Buffer, ImageParam, image_of
from rfactor.compiler.language.chance import numbered
from rfactor.compiler.language.expr import Expr, ExprLike, as_expr
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.functions import clamp, max, min, select
from rfactor.compiler.language.public import public
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.variables import Range, Var, end_pairs
from rfactor.errors import AlgorithmError

Pair = tuple[Expr, Expr]


@public
def repeat_edge(f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None = None) -> Func:
    """The nearest value within the bounds."""
    return _moved("repeat_edge", f, bounds, lambda at, low, extent: at)


@public
def repeat_image(f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None = None) -> Func:
    """Copies of the image next to each other."""
    return _moved("repeat_image", f, bounds, lambda at, low, extent: (at - low) % extent + low)


@public
def mirror_image(f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None = None) -> Func:
    """Copies of the image next to each other, every other one mirrored; values at edges occur twice."""

    def mirrored(at: Expr, low: Expr, extent: Expr) -> Expr:
        place = (at - low) % (extent * 2)
        return min(place, extent * 2 - 1 - place) + low

    return _moved("mirror_image", f, bounds, mirrored)


@public
def mirror_interior(f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None = None) -> Func:
    """Copies of the image, every other one mirrored, that overlap in one value."""

    def mirrored(at: Expr, low: Expr, extent: Expr) -> Expr:
        period = max((extent - 1) * 2, 1)
        place = (at - low) % period
        return min(place, period - place) + low

    return _moved("mirror_interior", f, bounds, mirrored)


@public
def constant_exterior(f: Func | Buffer | ImageParam, exterior: ExprLike, bounds: Sequence[Any] | None = None) -> Func:
    """One value (of tuples, a tuple) everywhere outside of the bounds."""
    variables, pairs = _shape(f, bounds)
    inside = [(at >= low) & (at < low + extent) for at, (low, extent) in _bounded(variables, pairs)]
    within = as_expr(True)
    for condition in inside:
        within = condition if condition is inside[0] else within & condition
    held = repeat_edge(f, bounds)[tuple(variables)]
    result = Func("constant_exterior")
    parts = held.components()
    if parts is None:
        result[tuple(variables)] = select(within, held, exterior) if inside else held
    else:
        outside = Tuple(exterior) if isinstance(exterior, Tuple | tuple | list) else Tuple([exterior] * len(parts))
        result[tuple(variables)] = select(within, parts, outside) if inside else Tuple(parts)
    return result


def _moved(
    what: str, f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None, place: Callable[[Expr, Expr, Expr], Expr]
) -> Func:
    """`f` read at the place of each point, held within the bounds."""
    variables, pairs = _shape(f, bounds)
    at: dict[Var, Expr] = {variable: variable for variable in variables}
    for variable, (low, extent) in _bounded(variables, pairs):
        at[variable] = clamp(place(variable, low, extent), low, low + extent - 1)
    if isinstance(f, Buffer) or (bounds is None and image_of(f)):
        numbered()  # a definition of its values
    result = Func(what)
    result[tuple(variables)] = f[tuple(at.values())]
    return result


def _shape(f: Func | Buffer | ImageParam, bounds: Sequence[Any] | None) -> tuple[list[Var], Sequence[Pair | None]]:
    """The variables of the result, and the bounds of its first dimensions; None of one without."""
    if bounds is None:
        if not image_of(f):
            raise AlgorithmError(f"{f!r} has no bounds of its own: give (min, extent) pairs, one a dimension")
        bounds = [(f.dim(d).min(), f.dim(d).extent()) for d in range(f.dimensions())]
    count = f.dimensions()
    pairs = [None if _undefined(one) else end_pairs("the bounds", [one])[0] for one in bounds]
    if len(pairs) > count:
        raise AlgorithmError(f"{len(pairs)} bounds are given for {f.name()}, which has {count} dimensions")
    return f.args() if isinstance(f, Func) else [Var(f"_{d}") for d in range(count)], pairs


def _undefined(bound: Any) -> bool:
    """Whether it is a pair of undefined ends."""
    ends = (bound.min, bound.extent) if isinstance(bound, Range) else bound
    return isinstance(ends, tuple | list) and all(isinstance(end, Expr) and not end.defined() for end in ends)


def _bounded(variables: Sequence[Var], pairs: Sequence[Pair | None]) -> list[tuple[Var, Pair]]:
    """The variables that have bounds, with those."""
    return [(at, pair) for at, pair in zip(variables, pairs, strict=False) if pair is not None]
