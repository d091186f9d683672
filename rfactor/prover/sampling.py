"""Refutation by values. Agreement on samples never supports a yes; it only says that a proof is worth its price."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate, evaluate_all, nearest, to_value
from rfactor.ir.expr import Const, Expr, Value, Var, variables, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover.verdict import Refuted

Array = NDArray[Any]
Point = Mapping[str, Array]
TOLERANCE = 1e-7
"""Relative difference above which sampled reals, computed in double precision, are taken to differ."""
_COLUMNS = 48
_FEW = 1 << 14
"""Points up to which all intermediate values are kept at once."""
_MIXED = 256
"""Samples from which on small values of one variable stand beside boundaries of another."""


@lru_cache(maxsize=4096)
def column(type_: Type, meaning: Meaning, index: int, count: int, near: tuple[Value, ...] = ()) -> Array:
    """Sample values of one variable: a third small with many ties, a third at boundaries, a third of random size.

    Reals are small dyadic fractions in double precision, so that polynomials of them are exact.
    """
    values = _plain_column(type_, meaning, index % _COLUMNS, count)
    if type_.is_bool or not near:
        return values
    values = values.copy()
    if type_.is_float:
        around = [float(v) for v in near if abs(float(v)) < 1e9]
        places = range(index % 16, count, 16)
    else:
        low, high = _range(type_, meaning)
        around = [v for value in near if not isinstance(value, float) for v in (value - 1, value, value + 1)]
        around = [value for value in around if low <= value <= high]
        places = range(count // 3 + index % 2, 2 * count // 3, 2)
    for turn, place in zip(range(index, index + count), places, strict=False):
        if around:
            values[place] = around[(turn + turn // len(around)) % len(around)]
    return values


def _range(type_: Type, meaning: Meaning) -> tuple[int, int]:
    """The values of an integer type, or those of the unbounded integers that are sampled."""
    if meaning is Meaning.MATH:
        return (0 if type_.code == "uint" else -(1 << 40)), 1 << 40
    return int(type_.min), int(type_.max)


@cache
def _plain_column(type_: Type, meaning: Meaning, index: int, count: int) -> Array:
    """Sample values of a variable among no literals; of many, so that boundaries meet small values of another too."""
    values = _thirds(type_, meaning, index, count)
    return np.roll(values, (index % 3) * (count // 9)) if count >= _MIXED else values


def _thirds(type_: Type, meaning: Meaning, index: int, count: int) -> Array:
    """Small values, boundaries, values of random size."""
    random = np.random.default_rng(index * 7919 + count)
    if type_.is_bool:
        values: Array = random.integers(0, 2, count).astype(bool)
        if index < 6 and count >= 64:
            values[:64] = (np.arange(64) >> index) & 1
        return values
    small = count // 3
    if type_.is_float:
        parts = random.integers(-4, 5, count).astype(np.float64)
        parts[small : 2 * small] = random.integers(-64, 65, small) / 8.0
        parts[2 * small :] = random.integers(-1000, 1001, count - 2 * small) / 4.0
        return parts
    low, high = _range(type_, meaning)
    bits = 20 if meaning is Meaning.MATH else type_.bits - (type_.code == "int")
    pool = random.integers(max(low, -3), 4, count).tolist()
    ends = [low, low + 1, high, high - 1, 0, 1, 2, high // 2, high // 2 + 1, max(low, -1), low // 2]
    ends += [1 << int(p) for p in random.integers(0, bits, 4)]
    if meaning is Meaning.MATH:
        ends = [0, 1, 2, max(low, -1), max(low, -2), 100, max(low, -100), 1000]
    pool[small : 2 * small] = [ends[i] for i in random.integers(0, len(ends), small).tolist()]
    magnitudes = random.integers(1, bits + 1, count - 2 * small).tolist()
    signs = random.integers(0, 2, count - 2 * small).tolist()
    parts64 = random.integers(0, 1 << 62, count - 2 * small).tolist()
    for row, magnitude, sign, part in zip(range(2 * small, count), magnitudes, signs, parts64, strict=True):
        value = (part << 2) >> (64 - magnitude)
        pool[row] = -value if low < 0 and sign else value
    if meaning is Meaning.MATH:
        boxed = np.empty(count, dtype=object)
        boxed[:] = pool
        return boxed
    native: Array = np.array(pool, dtype=object).astype(dtype_of(type_))
    return native


def literals(exprs: Sequence[Expr]) -> dict[Type, tuple[Value, ...]]:
    """The constants in `exprs`, by type: values near which functions tend to change."""
    found: dict[Type, set[Value]] = {}
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Const) and not node.type.is_bool and abs(float(node.value)) < 2.0**65:
                found.setdefault(node.type, set()).add(node.value)
    return {type_: tuple(sorted(values)) for type_, values in found.items()}


def points(
    vars_: Sequence[Var], meaning: Meaning, count: int, near: Mapping[Type, tuple[Value, ...]]
) -> dict[str, Array]:
    """`count` sample points of the variables."""
    return {
        var.name: column(var.type, meaning, index, count, near.get(var.type, ()))
        for index, var in zip(range(len(vars_)), vars_, strict=True)
    }


def used(exprs: Sequence[Expr]) -> tuple[Var, ...]:
    """The variables of several expressions, once each."""
    seen: dict[str, Var] = {}
    for expr in exprs:
        for var in variables(expr):
            seen.setdefault(var.name, var)
    return tuple(seen.values())


def differs(left: Array, right: Array) -> Array:
    """Where two arrays of values differ; beyond rounding, for floats. NaN equals NaN."""
    same: Array = np.asarray(np.equal(left, right)).astype(bool)
    if same.all() or not left.dtype.kind == right.dtype.kind == "f":
        return ~same
    with np.errstate(all="ignore"):
        # An infinity is near nothing: the distance to it would be within any part of it.
        close = np.abs(left - right) <= TOLERANCE * (1.0 + np.maximum(np.abs(left), np.abs(right)))
        close &= np.isfinite(left) & np.isfinite(right)
    different: Array = ~(close | same | (np.isnan(left) & np.isnan(right)))
    return different


def distinct(values: Array) -> Array:
    """The different values, ascending, by sorting.

    NumPy's `unique` hashes in C++, where a daemon cannot end with the interpreter: taking the lock again there is
    `std::terminate`. So do `isin` and `intersect1d`, which ask it.
    """
    ordered: Array = np.sort(values, axis=None)
    found: Array = ordered[np.append(True, ordered[1:] != ordered[:-1])[: ordered.size]]
    return found


def among(values: Array, others: Array) -> Array:
    """For each value whether it is one of the others, of which there is one at least."""
    ordered = np.sort(others, axis=None)
    found: Array = ordered[np.searchsorted(ordered, values).clip(max=ordered.size - 1)] == values
    return found


def refute(
    left: Sequence[Expr],
    right: Sequence[Expr],
    meaning: Meaning,
    assumptions: Sequence[Expr] = (),
    count: int = 96,
) -> Refuted | None:
    """A sample point where left != right although the assumptions hold, or None."""
    everything = [*left, *right, *assumptions]
    env = points(used(everything), meaning, count, literals(everything))
    return refute_at(left, right, meaning, assumptions, env, count)


def refute_at(
    left: Sequence[Expr],
    right: Sequence[Expr],
    meaning: Meaning,
    assumptions: Sequence[Expr],
    env: Point,
    count: int,
) -> Refuted | None:
    """The first of the given points where left != right although the assumptions hold, or None."""
    pairs = [(one, other) for one, other in zip(left, right, strict=True) if one != other]
    exprs = [*assumptions, *(e for pair in pairs for e in pair)]
    # Of many points not all that the expressions share is kept.
    values = evaluate_all(exprs, env, meaning) if count <= _FEW else (evaluate(e, env, meaning) for e in exprs)
    allowed = np.ones(count, dtype=bool)
    for _ in assumptions:
        allowed = allowed & next(values).astype(bool)
    for _ in pairs:
        bad = differs(next(values), next(values)) & allowed
        if bad.any():
            row = int(np.argmax(bad))
            refuted = at_point(left, right, meaning, {name: to_value(v[row]) for name, v in env.items()}, assumptions)
            if refuted is not None:
                return refuted
    return None


def at_point(
    left: Sequence[Expr],
    right: Sequence[Expr],
    meaning: Meaning,
    point: Mapping[str, Value],
    assumptions: Sequence[Expr] = (),
) -> Refuted | None:
    """The refutation at one point, computed exactly (floats as rationals); None if the sides agree there."""
    vars_ = used([*left, *right, *assumptions])
    env = exactly(vars_, meaning, point)
    found = evaluate_all([*assumptions, *left, *right], env, meaning, "real")
    if not all(bool(next(found)[0]) for _ in assumptions):
        return None
    values = [[_plain(next(found)[0]) for _ in side] for side in (left, right)]
    if not unlike(values[0], values[1]):
        return None
    shown = {var.name: _plain(env[var.name][0]) for var in vars_}
    return Refuted(shown, tuple(values[0]), tuple(values[1]))


def exactly(vars_: Sequence[Var], meaning: Meaning, point: Mapping[str, Value]) -> dict[str, Array]:
    """One point as arrays, floats as rationals."""
    env: dict[str, Array] = {}
    for var in vars_:
        value = point.get(var.name, 0)
        boxed = np.empty(1, dtype=object)
        if var.type.is_float:
            boxed[0] = Fraction(value) if np.isfinite(nearest(value)) else value
        elif var.type.is_int and meaning is Meaning.MATH:
            boxed[0] = int(value)
        elif var.type.is_int:
            boxed = np.array([var.type.wrap(int(value))], dtype=object).astype(dtype_of(var.type))
        else:
            boxed = np.array([bool(value)])
        env[var.name] = boxed
    return env


def unlike(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether two tuples of values that were computed exactly differ."""
    values = [[_plain(value) for value in side] for side in (left, right)]
    if any(value != value for side in values for value in side):
        return False  # a quotient by zero, or what double precision does not hold: nothing is said of it
    return not all(_agree(a, b) for a, b in zip(*values, strict=True))


def _plain(value: Any) -> Value:
    return nearest(value) if isinstance(value, Fraction) else to_value(value)


def _agree(a: Value, b: Value) -> bool:
    if isinstance(a, float) or isinstance(b, float):
        x, y = nearest(a), nearest(b)
        if not (math.isfinite(x) and math.isfinite(y)):
            return x == y or (x != x and y != y)
        return abs(x - y) <= 1e-9 * (1.0 + max(abs(x), abs(y)))
    return a == b
