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
    sign = "-" if factor < 0 else ""
    scaled = "k" if abs(factor) == 1 else f"k * {abs(factor)}"
    shift = "" if not offset else f" {'-' if offset < 0 else '+'} {abs(offset)}"
    text = f"{sign}{scaled}{shift}" if sign == "" or abs(factor) == 1 else f"k * {factor}{shift}"
    return Guess(text, lambda k, low, high: factor * k + offset)


_ENDS = (
    Guess("MIN", lambda k, low, high: np.full_like(k, low)),
    Guess("MAX", lambda k, low, high: np.full_like(k, high)),
)


def _constant(value: int) -> Guess:
    return Guess(str(value), lambda k, low, high: np.full_like(k, value))


@lru_cache(maxsize=8)
def _guesses(components: int, constant: bool, signed: bool) -> tuple[Guess, ...]:
    """Simplest first. Without k, constants alone."""
    simple = [_constant(0), _constant(1), *_ENDS]
    if signed:
        simple.append(_constant(-1))
    if not constant:
        return tuple(simple)
    factors = (1, -1) if components == 2 else (1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6, -6)
    offsets = (0,) if components == 2 else (0, 1, -1)
    return tuple(simple) + tuple(_linear(f, o) for o in offsets for f in factors)


def guesses(
    type_: Type, meaning: Meaning, programs: tuple[np.ndarray, ...], uses_k: bool, seed: int
) -> Iterator[tuple[Side, tuple[str, ...]]]:
    """Sides and values of identities that fit the samples, the simplest first, left ones before right ones.

    `programs` are the components of one operator, (16,) each. MIN and MAX are the ends of the type, and the infinities of
    unbounded integers and reals.
    """
    domain = domain_of(type_, meaning)
    components = len(programs)
    points = samples(type_, domain, (5, _SAMPLES), [seed, 5, type_.bits])
    unbounded = domain.floating
    low: Any = -np.inf if unbounded else type_.min
    high: Any = np.inf if unbounded else type_.max
    if unbounded and type_.code == "uint":
        low = 0
    single = _guesses(components, not uses_k, type_.is_signed or unbounded)
    if type_.is_float:
        single = (*single, Guess("0.5", lambda k, low, high: np.full_like(k, 0.5)))
    choices = list(itertools.product(single, repeat=components))
    # Computed modulo 2^64 and then reduced to the type's width.
    constant = points[4] if unbounded else points[4].astype(np.int64)
    if not unbounded:
        low, high = (np.array(v % (1 << 64), np.uint64).view(np.int64) for v in (int(low), int(high)))
    with np.errstate(over="ignore", invalid="ignore"):
        table = [np.stack([g.value(constant, low, high) for g in choice]).astype(domain.dtype) for choice in choices]
    width = len(choices) * _SAMPLES
    for side, own, other in (("left", 0, 2), ("right", 2, 0)):
        lanes = np.tile(points, len(choices))
        for component in range(components):
            lanes[own + component] = np.concatenate([t[component] for t in table])
        good = np.ones(width, bool)
        for component, program in zip(range(components), programs, strict=True):
            good &= values(domain, program[None], lanes)[0] == lanes[other + component]
        for index in np.flatnonzero(good.reshape(len(choices), _SAMPLES).all(axis=1)):
            texts = tuple(guess.text for guess in choices[index])
            if unbounded and type_.code == "uint" and any(_is_negative(t) for t in texts):
                continue
            yield ("left" if side == "left" else "right"), texts


def _is_negative(text: str) -> bool:
    """Whether an identity may be below zero for some k >= 0."""
    return text.startswith("-") or "* -" in text or " - " in text
