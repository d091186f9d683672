"""The families of liftings, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rfactor.ir.update import Update
from rfactor.matcher.action import Action
from rfactor.matcher.lifting import (
    affine,
    asked,
    average,
    bits,
    carried,
    clamp,
    clock,
    combined,
    control,
    counter,
    decay,
    derived,
    difference,
    directed,
    divided,
    ends,
    factor,
    floor,
    lanes,
    mapped,
    matched,
    merged,
    modular,
    moved,
    narrowed,
    neighbour,
    passing,
    phase,
    polynomial,
    projective,
    reader,
    record,
    rescaled,
    reset,
    rounded,
    saturate,
    scaled,
    settle,
    slots,
    spread,
    stays,
    steered,
    table,
    threshold,
    tropical,
    window,
)
from rfactor.matcher.operators import guard
from rfactor.prover.claim import Claim

Inner = Callable[[Update], Action | None]
"""Finds how the runs of a part act."""

_PLAIN, _OF_PARTS = False, True
_FAMILIES: tuple[tuple[Callable[..., Iterable[Claim]], bool], ...] = (
    (window.claims, _PLAIN),
    (neighbour.claims, _OF_PARTS),
    (mapped.claims, _OF_PARTS),
    (derived.claims, _OF_PARTS),
    (reset.claims, _OF_PARTS),
    (guard.lifted, _OF_PARTS),
    (control.claims, _OF_PARTS),
    (steered.claims, _OF_PARTS),
    (affine.claims, _PLAIN),
    (projective.claims, _PLAIN),
    (polynomial.claims, _PLAIN),
    (directed.claims, _PLAIN),
    (tropical.claims, _PLAIN),
    (slots.claims, _PLAIN),
    (clamp.claims, _PLAIN),
    (scaled.claims, _PLAIN),
    (spread.claims, _PLAIN),
    (factor.claims, _PLAIN),
    (rescaled.claims, _PLAIN),
    (average.claims, _PLAIN),
    (divided.claims, _OF_PARTS),
    (floor.claims, _PLAIN),
    (rounded.claims, _PLAIN),
    (counter.claims, _PLAIN),
    (moved.claims, _PLAIN),
    (decay.claims, _PLAIN),
    (saturate.claims, _PLAIN),
    (ends.claims, _PLAIN),
    (reset.lifted, _OF_PARTS),
    (bits.claims, _PLAIN),
    (table.claims, _PLAIN),
    (lanes.claims, _PLAIN),
    (asked.claims, _PLAIN),
    (matched.claims, _PLAIN),
    (merged.claims, _PLAIN),
    (modular.claims, _PLAIN),
    (modular.widened, _PLAIN),
    (modular.settled, _OF_PARTS),
    (stays.claims, _PLAIN),
    (threshold.claims, _PLAIN),
    (carried.claims, _PLAIN),
    (record.claims, _OF_PARTS),
    (reader.claims, _OF_PARTS),
    (settle.claims, _PLAIN),
    (settle.steering, _OF_PARTS),
    (passing.claims, _PLAIN),
    (clock.claims, _PLAIN),
    (phase.claims, _OF_PARTS),
    (difference.claims, _OF_PARTS),
    (combined.claims, _OF_PARTS),
    (narrowed.claims, _OF_PARTS),
)
"""Each with whether it lifts parts of the update first."""


def of(update: Update, inner: Inner | None) -> Iterator[Iterable[Claim]]:
    """The claims of each family for an update; None for `inner` leaves out those that lift parts."""
    for family, of_parts in _FAMILIES:
        if not of_parts:
            yield family(update)
        elif inner is not None:
            yield family(update, inner)
