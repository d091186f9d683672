"""Sample points of the enumeration: identity lanes, fingerprints and triples, all from one seed.

Half of every set is drawn from boundary values and small values (so that operands coincide), half at random with a
magnitude of its own for each variable: functions that differ only near an end of the type or only on ties are told
apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rfactor.ir.types import Type
from rfactor.native.lanes import Domain
from rfactor.native.scan import BLOCK, LANES, WAYS

BIG = 1 << 13
"""An end of the type among the choices of an identity: far from every sample, yet sums of a few stay exact."""


@dataclass(frozen=True, slots=True)
class Family:
    """The types whose candidates are found together: they share classes, and differ only in what is proved of each."""

    name: str
    domain: Domain
    """Of the scans: 32-bit lanes."""
    natural: bool = False
    """Only values >= 0 that do not overflow: the unbounded integers with unsigned variables."""
    bounded: bool = False
    """Only values that do not overflow, of both signs."""


SIGNED = Family("signed", Domain(32, signed=True))
UNSIGNED = Family("unsigned", Domain(32, signed=False))
NATURAL = Family("natural", Domain(32, signed=True), natural=True)
INTEGER = Family("integer", Domain(32, signed=True), bounded=True)
BOOLEAN = Family("boolean", Domain(32, signed=False, boolean=True))


def identity_lanes(family: Family, components: int) -> np.ndarray:
    """(5, 64 * WAYS) values of x0 x1 y0 y1 k: x a choice of the identity, y a sample.

    One component: 32 choices under each of two constants. Two components: 8 choices for each component.
    """
    signed = family.domain.signed
    greatest, least = (BIG, -BIG) if signed else ((1 << family.domain.bits) - 1, 0)
    low = -3 if signed and not family.natural else 3
    lanes = np.zeros((5, WAYS, BLOCK), np.int64)
    if family.domain.boolean:
        row, column = np.divmod(np.arange(BLOCK), 8)
        lanes[0], lanes[1] = row & 1, column & 1
        lanes[4] = _boolean_constant()
        lanes[2] = np.array([0, 1, 0, 1])[:, None]
        lanes[3] = np.array([0, 0, 1, 1])[:, None]
        if components == 1:
            lanes[3] = 0
    elif components == 1:
        choices = np.array([least, greatest, *range(-14, 16)])
        lanes[0] = np.concatenate([choices, choices])
        lanes[4] = np.repeat([2, 5 if low > 0 else -5], 32)
        lanes[2] = np.array([low, 1, 9, 0])[:, None]
    else:
        choices = np.array([greatest, least, -3, -1, 0, 1, 3, 2])
        lanes[0], lanes[1] = np.repeat(choices, 8), np.tile(choices, 8)
        lanes[4] = 3
        lanes[2] = np.array([5, low, 4, 0])[:, None]
        lanes[3] = np.array([2 * low, 2, 4, 1])[:, None]
    return lanes.reshape(5, WAYS * BLOCK)


def _boolean_constant() -> np.ndarray:
    """k of each lane; the same when the two choices are exchanged."""
    row, column = np.divmod(np.arange(BLOCK), 8)
    return (row >> 1 ^ column >> 1) & 1


def halves(family: Family, components: int) -> tuple[int, int]:
    """The lanes among which some choice must fit, for each constant."""
    if family.domain.boolean:
        high = sum(1 << int(lane) for lane in np.flatnonzero(_boolean_constant()))
        return (1 << 64) - 1 ^ high, high
    low = (1 << 32) - 1
    return (low, low << 32) if components == 1 else ((1 << 64) - 1, (1 << 64) - 1)


def scan_samples(family: Family, components: int, seed: int) -> np.ndarray:
    """(5, LANES) samples of a scan: identity lanes, then fingerprint lanes."""
    rng = np.random.default_rng([seed, components, *family.name.encode()])
    shape = (5, LANES - WAYS * BLOCK)
    if family.domain.boolean:
        prints = rng.integers(0, 2, shape)
    elif family.natural or family.bounded:
        # Eight factors of at most 13 do not overflow 32 bits.
        prints = rng.integers(0 if family.natural else -13, 14, shape)
        prints[:, : shape[1] // 2] = rng.integers(0 if family.natural else -2, 4, (5, shape[1] // 2))
    else:
        prints = mixed(family.domain, shape, rng)
    return np.concatenate([identity_lanes(family, components), prints], axis=1)


def mixed(domain: Domain, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Integers of the domain's width, (variables, samples), object-free int64 (uint64 for 64 unsigned bits)."""
    rows, count = shape
    least = -(1 << (domain.bits - 1)) if domain.signed else 0
    greatest = least + (1 << domain.bits) - 1
    small = count // 4
    ends = small + count // 2
    values = np.empty(shape, object)
    low = -3 if domain.signed else 0
    values[:, :small] = rng.integers(low, low + 7, (rows, small))
    middle = (least + greatest) // 2
    boundary = np.array([least, least + 1, middle, middle + 1, greatest - 1, greatest, 1, 2], object)
    # What goes wrong among the multiples of an eighth of the range goes wrong at 3 bits: dense near every boundary.
    eighths = np.array([least + (i << (domain.bits - 3)) for i in range(8)], object)
    coarse = rng.integers(0, 2, ends - small) == 1
    values[:, small:ends] = np.where(
        coarse,
        eighths[rng.integers(0, 8, (rows, ends - small))],
        boundary[rng.integers(0, len(boundary), (rows, ends - small))],
    )
    magnitudes = rng.integers(1, domain.bits + 1, (rows, count - ends))
    raw = rng.integers(0, 1 << 63, (rows, count - ends)).astype(object) * 2 + rng.integers(0, 2, (rows, count - ends))
    reduced = raw % (2 ** magnitudes.astype(object))
    if domain.signed:
        reduced = np.where(rng.integers(0, 2, reduced.shape) == 1, -reduced, reduced)
    values[:, ends:] = np.vectorize(lambda v: least + (v - least) % (1 << domain.bits), otypes=[object])(reduced)
    order = rng.permutation(count)
    return values[:, order].astype(np.uint64 if domain.bits == 64 and not domain.signed else np.int64)


def exact(shape: tuple[int, int], rng: np.random.Generator, *, natural: bool, dyadic: bool) -> np.ndarray:
    """Doubles for the integers or the reals: small enough that small trees of them stay exact.

    `natural` leaves out negative values; `dyadic` mixes in halves and quarters.
    """
    rows, count = shape
    bound = 2 ** rng.integers(1, 7, (rows, count))
    values = rng.integers(0 if natural else -bound, bound + 1).astype(np.float64)
    small = count // 2
    values[:, :small] = rng.integers(0 if natural else -2, 4 if natural else 3, (rows, small))
    if dyadic:
        fractional = rng.integers(0, 3, (rows, count)) == 0
        values[fractional] /= 4
    return values[:, rng.permutation(count)]


@lru_cache(maxsize=128)
def samples(type: Type, domain: Domain, shape: tuple[int, int], seed: tuple[int, ...]) -> np.ndarray:
    """Samples of `type` for the kernels of `domain`: (variables, samples) of its dtype, not to be written to."""
    rng = np.random.default_rng(seed)
    if type.is_bool:
        found = rng.integers(0, 2, shape).astype(domain.dtype)
    elif domain.floating:
        found = exact(shape, rng, natural=type.code == "uint", dyadic=type.is_float)
    else:
        found = mixed(domain, shape, rng).astype(domain.dtype)
    found.flags.writeable = False
    return found


@lru_cache(maxsize=32)
def many(type: Type, domain: Domain, rows: int, count: int, seed: tuple[int, ...]) -> np.ndarray:
    """More samples (rows, count), not to be written to: a third of them near the fractions of the range, independently.

    A multiple of such a value is small: an equation of a few values and their small multiples has its solutions there.
    """
    found = samples(type, domain, (rows, count), seed)
    if type.is_bool:
        return found
    if domain.floating:
        # Times the factors of a guess they stay exact in products of many.
        clipped: np.ndarray = np.clip(found, -13, 13)
        clipped.flags.writeable = False
        return clipped
    span = 1 << domain.bits
    parts = [span * a // d for d in range(1, _DENOMINATORS + 1) for a in range(d)]
    near = sorted({(part + e) % span for part in parts for e in range(-4, 5)})
    fractions = np.array(near, np.uint64).astype(domain.dtype)
    rng = np.random.default_rng(seed)
    mixed = found.copy()
    chosen = rng.integers(0, 3, mixed.shape) == 0
    mixed[chosen] = fractions[rng.integers(0, len(fractions), int(chosen.sum()))]
    # Of the last row every one occurs, if there is room.
    mixed[-1, : len(fractions)] = fractions[:count]
    mixed.flags.writeable = False
    return mixed


_DENOMINATORS = 12
