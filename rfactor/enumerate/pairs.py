"""Candidate pairs: two components with a left identity in common.

A pair op(x, y) = (f0, f1) has a left identity e only if f0(e, y) = y0 and f1(e, y) = y1, so each component must turn
into a projection for some e on its own. Few functions do, and fewer share the e: the square of the number of
functions is never met. The functions for component 1 are those for component 0 with the indices exchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rfactor.enumerate.classes import Candidates, Classes
from rfactor.enumerate.filters import first_seen
from rfactor.enumerate.trees import SWAPPED, leaf_counts, renamed
from rfactor.native.programs import WIDTH, hashes

JOINED = 1 << 20
"""Pairs looked at in one step."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The functions of one size that may be a component: for component 0, and for component 1."""

    zero: Candidates
    one: Candidates


def parts(classes: Classes, size: int, fingerprints: set[int]) -> Parts:
    """The parts of `size` leaves that use x and y; `fingerprints` collects what was seen: call by growing size."""
    source = classes.known(size) if size <= classes.largest else classes.streamed(size)
    programs, masks = [np.empty((0, WIDTH), np.uint8)], [np.empty(0, np.uint64)]
    samples = classes.scanner.leaves
    for found in source:
        counts = leaf_counts(found.programs)
        both = (counts[:, 0] + counts[:, 1] > 0) & (counts[:, 2] + counts[:, 3] > 0)
        keep = np.flatnonzero((found.masks != 0) & both)
        fresh = keep[first_seen(hashes(classes.family.domain, found.programs[keep], samples), fingerprints)]
        programs.append(found.programs[fresh])
        masks.append(found.masks[fresh])
    zero = Candidates(np.concatenate(programs), np.concatenate(masks))
    return Parts(zero, Candidates(renamed(zero.programs, SWAPPED), transposed(zero.masks)))


def transposed(masks: np.ndarray) -> np.ndarray:
    """Masks over 8 x 8 choices (e0, e1) with the two exchanged."""
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little").reshape(-1, 8, 8)
    return np.packbits(bits.transpose(0, 2, 1).reshape(-1, 64), axis=1, bitorder="little").view(np.uint64)[:, 0]


def joined(zero: Candidates, one: Candidates, *, same_size: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Index pairs (i, j) of components that share a choice of identity and depend on one another.

    With `same_size`, `one` is `zero` with indices exchanged, and of each two mirror pairs only one is given.
    """
    if not len(zero) or not len(one):
        return
    own = leaf_counts(zero.programs)
    other = leaf_counts(one.programs)
    zero_uses_one = own[:, 1] + own[:, 3] > 0
    one_uses_zero = other[:, 0] + other[:, 2] > 0
    step = max(1, JOINED // len(one))
    for start in range(0, len(zero), step):
        rows = slice(start, start + step)
        share = (zero.masks[rows, None] & one.masks[None, :]) != 0
        share &= zero_uses_one[rows, None] | one_uses_zero[None, :]
        i, j = np.nonzero(share)
        i = i + start
        if same_size:
            keep = i <= j
            i, j = i[keep], j[keep]
        yield i, j
