"""Identities guessed from samples. What is guessed is proved elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.points import many, samples
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.native.lanes import domain_of
from rfactor.native.programs import values

Side = Literal["left", "right"]
_SAMPLES = 48


@dataclass(frozen=True, slots=True)
class Guess:
    """A value that an identity's component may have: text over k, MIN and MAX, and what it computes."""

    text: str
    value: Callable[[np.ndarray, Any, Any], np.ndarray]
    """From k and the ends of the type."""


def _linear(factor: int, offset: int) -> Guess:
    scaled = ("-k" if factor < 0 else "k") + ("" if abs(factor) == 1 else f" * {abs(factor)}")
    text = scaled + ("" if not offset else f" {'-' if offset < 0 else '+'} {abs(offset)}")
    return Guess(text, lambda k, low, high: factor * k + offset)


_ENDS = (
    Guess("MIN", lambda k, low, high: np.full_like(k, low)),
    Guess("MAX", lambda k, low, high: np.full_like(k, high)),
)


def _constant(value: int) -> Guess:
    return Guess(str(value), lambda k, low, high: np.full_like(k, value))


def _guesses(components: int, type_: Type, signed: bool) -> tuple[Guess, ...]:
    """What one component of an identity may be, simplest first."""
    simple = [_constant(0), _constant(1), *_ENDS]
    if signed:
        simple.append(_constant(-1))
    if type_.is_float:
        simple.append(Guess("0.5", lambda k, low, high: np.full_like(k, 0.5)))
    if type_.is_bool:
        return (*simple[:2], Guess("k", lambda k, low, high: k), Guess("not k", lambda k, low, high: 1 - k))
    factors = (1, -1) if components == 2 else (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6)
    offsets = (0,) if components == 2 else (0, 1, -1)
    return tuple(simple) + tuple(_linear(f, o) for o in offsets for f in factors)


Choice = tuple[Guess, ...]
"""A guess a component."""


@lru_cache(maxsize=32)
def _choices(type_: Type, meaning: Meaning, components: int) -> tuple[Choice, ...]:
    """What an identity may be, simplest first."""
    unbounded = domain_of(type_, meaning).floating
    natural = unbounded and type_.code == "uint"
    single = _guesses(components, type_, type_.is_signed or (unbounded and not natural))
    return tuple(
        choice
        for choice in itertools.product(single, repeat=components)
        if not (natural and any(_is_negative(guess.text) for guess in choice))
    )


def _lanes(type_: Type, meaning: Meaning, points: np.ndarray, choices: Sequence[Choice], own: int) -> np.ndarray:
    """(5, choices * samples): the sample points (5, samples) with each choice at rows `own` and the next."""
    domain = domain_of(type_, meaning)
    low: Any = -np.inf if domain.floating else type_.min
    high: Any = np.inf if domain.floating else type_.max
    constant = points[4]
    if domain.floating and type_.code == "uint":
        low = 0
    if not domain.floating:
        # Computed modulo 2^64 and then reduced to the type's width.
        constant = constant.astype(np.int64)
        low, high = (np.array(int(v) % (1 << 64), np.uint64).view(np.int64) for v in (low, high))
    lanes = np.tile(points, len(choices))
    with np.errstate(over="ignore", invalid="ignore"):
        for component in range(len(choices[0])):
            parts = [choice[component].value(constant, low, high) for choice in choices]
            lanes[own + component] = np.concatenate(parts).astype(domain.dtype)
    return lanes


@lru_cache(maxsize=32)
def _trial(type_: Type, meaning: Meaning, components: int, side: Side, seed: int) -> np.ndarray:
    """All choices on few samples, as lanes."""
    points = samples(type_, domain_of(type_, meaning), (5, _SAMPLES), (seed, 5, type_.bits))
    return _lanes(type_, meaning, points, _choices(type_, meaning, components), _ROWS[side])


_SIDES: tuple[Side, Side] = ("left", "right")
_ROWS: dict[Side, int] = {"left": 0, "right": 2}
"""The first operand's, or the second's, first row among the leaves."""


def fits(type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], side: Side, seed: int) -> np.ndarray:
    """(n, choices): whether a choice is an identity on samples; `programs` are the components of n operators."""
    lanes = _trial(type_, meaning, len(programs), side, seed)
    good = _agrees(type_, meaning, programs, lanes, side)
    fitting: np.ndarray = np.all(good.reshape(len(good), -1, _SAMPLES), axis=2)
    return fitting


def _agrees(
    type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], lanes: np.ndarray, side: Side
) -> np.ndarray:
    """(n, samples): where each operator gives its other operand."""
    other = _ROWS["right" if side == "left" else "left"]
    good = np.ones((len(programs[0]), lanes.shape[1]), bool)
    for component, program in zip(range(len(programs)), programs, strict=True):
        good &= values(domain_of(type_, meaning), program, lanes) == lanes[other + component]
    return good


def has_guess(type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], seed: int) -> np.ndarray:
    """(n,) whether some choice is an identity on samples, on some side."""
    found = np.zeros(len(programs[0]), bool)
    for start in range(0, len(found), _BATCH):
        part = tuple(p[start : start + _BATCH] for p in programs)
        for side in _SIDES:
            found[start : start + _BATCH] |= fits(type_, meaning, part, side, seed).any(axis=1)
    return found


_BATCH = 512


def guesses(
    type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], seed: int
) -> Iterator[tuple[Side, tuple[str, ...]]]:
    """Sides and values of identities of one operator that fit the samples, the simplest first, left ones before right
    ones. A value has a text a component, over k; MIN and MAX are the ends of the type, and the infinities of unbounded
    integers and reals.
    """
    single = tuple(p[None] for p in programs)
    points = many(type_, domain_of(type_, meaning), 5, _MANY, (seed, 8, type_.bits))
    for side in _SIDES:
        for index in np.flatnonzero(fits(type_, meaning, single, side, seed)[0]):
            choice = _choices(type_, meaning, len(programs))[index]
            lanes = _lanes(type_, meaning, points, [choice], _ROWS[side])
            if _agrees(type_, meaning, single, lanes, side).all():
                yield side, tuple(guess.text for guess in choice)


_MANY = 4096
"""Samples on which a guess is tried that fits few: a solver takes a thousand times longer to refute it."""


def _is_negative(text: str) -> bool:
    """Whether an identity may be below zero for some k >= 0."""
    return text.startswith("-") or " - " in text
