"""Identities guessed from samples. What is guessed is proved elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from rfactor.enumerate.points import samples
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


@dataclass(frozen=True, slots=True)
class _Trial:
    """All choices of an identity with the samples they are tried on."""

    texts: tuple[tuple[str, ...], ...]
    lanes: dict[Side, np.ndarray]
    """(5, choices * samples)."""


@lru_cache(maxsize=32)
def _trial(type_: Type, meaning: Meaning, components: int, seed: int) -> _Trial:
    domain = domain_of(type_, meaning)
    unbounded = domain.floating
    points = samples(type_, domain, (5, _SAMPLES), (seed, 5, type_.bits))
    low: Any = -np.inf if unbounded else type_.min
    high: Any = np.inf if unbounded else type_.max
    if unbounded and type_.code == "uint":
        low = 0
    single = _guesses(components, type_, type_.is_signed or (unbounded and type_.code != "uint"))
    choices = [
        choice
        for choice in itertools.product(single, repeat=components)
        if not (unbounded and type_.code == "uint" and any(_is_negative(guess.text) for guess in choice))
    ]
    # Computed modulo 2^64 and then reduced to the type's width.
    constant = points[4] if unbounded else points[4].astype(np.int64)
    if not unbounded:
        low, high = (np.array(int(v) % (1 << 64), np.uint64).view(np.int64) for v in (low, high))
    with np.errstate(over="ignore", invalid="ignore"):
        table = [np.stack([g.value(constant, low, high) for g in choice]).astype(domain.dtype) for choice in choices]
    lanes: dict[Side, np.ndarray] = {}
    for side, own in _SIDES:
        lanes[side] = np.tile(points, len(choices))
        for component in range(components):
            lanes[side][own + component] = np.concatenate([t[component] for t in table])
    return _Trial(tuple(tuple(guess.text for guess in choice) for choice in choices), lanes)


_SIDES: tuple[tuple[Side, int], ...] = (("left", 0), ("right", 2))


def fits(
    type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], side: Side, seed: int
) -> tuple[np.ndarray, tuple[tuple[str, ...], ...]]:
    """((n, choices) whether a choice is an identity on samples, the choices), simplest first.

    `programs` are the components of n operators, (n, 16) each. A choice has a text a component, over k; MIN and MAX
    are the ends of the type, and the infinities of unbounded integers and reals.
    """
    domain = domain_of(type_, meaning)
    trial = _trial(type_, meaning, len(programs), seed)
    lanes = trial.lanes[side]
    other = 2 if side == "left" else 0
    good = np.ones((len(programs[0]), lanes.shape[1]), bool)
    for component, program in zip(range(len(programs)), programs, strict=True):
        good &= values(domain, program, lanes) == lanes[other + component]
    fitting: np.ndarray = np.all(good.reshape(len(good), len(trial.texts), _SAMPLES), axis=2)
    return fitting, trial.texts


def has_guess(type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], seed: int) -> np.ndarray:
    """(n,) whether some choice is an identity on samples, on some side."""
    found = np.zeros(len(programs[0]), bool)
    for start in range(0, len(found), _BATCH):
        part = tuple(p[start : start + _BATCH] for p in programs)
        for side, _ in _SIDES:
            found[start : start + _BATCH] |= fits(type_, meaning, part, side, seed)[0].any(axis=1)
    return found


_BATCH = 512


def guesses(
    type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], seed: int
) -> Iterator[tuple[Side, tuple[str, ...]]]:
    """Sides and values of identities of one operator that fit the samples, the simplest first, left ones before right
    ones.
    """
    for side, _ in _SIDES:
        good, texts = fits(type_, meaning, tuple(p[None] for p in programs), side, seed)
        for index in np.flatnonzero(good[0]):
            yield side, texts[index]


def _is_negative(text: str) -> bool:
    """Whether an identity may be below zero for some k >= 0."""
    return text.startswith("-") or " - " in text
