"""The families of liftings, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rfactor.ir.update import Update
from rfactor.matcher import (
    guard,
    lift_affine,
    lift_asked,
    lift_average,
    lift_bits,
    lift_clamp,
    lift_clock,
    lift_control,
    lift_counter,
    lift_decay,
    lift_difference,
    lift_ends,
    lift_factor,
    lift_floor,
    lift_matched,
    lift_modular,
    lift_moved,
    lift_neighbour,
    lift_passing,
    lift_payload,
    lift_phase,
    lift_polynomial,
    lift_projective,
    lift_reader,
    lift_record,
    lift_rescaled,
    lift_reset,
    lift_saturate,
    lift_scaled,
    lift_settle,
    lift_spread,
    lift_steered,
    lift_table,
    lift_threshold,
    tropical,
)
from rfactor.matcher.action import Action
from rfactor.prover.claim import Claim

Inner = Callable[[Update], Action | None]
"""Finds how the runs of a part act."""

_PLAIN, _OF_PARTS = False, True
_FAMILIES: tuple[tuple[Callable[..., Iterable[Claim]], bool], ...] = (
    (lift_neighbour.claims, _OF_PARTS),
    (lift_reset.claims, _OF_PARTS),
    (guard.lifted, _OF_PARTS),
    (lift_control.claims, _OF_PARTS),
    (lift_steered.claims, _OF_PARTS),
    (lift_affine.claims, _PLAIN),
    (lift_projective.claims, _PLAIN),
    (lift_polynomial.claims, _PLAIN),
    (tropical.claims, _PLAIN),
    (lift_clamp.claims, _PLAIN),
    (lift_scaled.claims, _PLAIN),
    (lift_spread.claims, _PLAIN),
    (lift_factor.claims, _PLAIN),
    (lift_rescaled.claims, _PLAIN),
    (lift_average.claims, _PLAIN),
    (lift_floor.claims, _PLAIN),
    (lift_counter.claims, _PLAIN),
    (lift_moved.claims, _PLAIN),
    (lift_decay.claims, _PLAIN),
    (lift_saturate.claims, _PLAIN),
    (lift_ends.claims, _PLAIN),
    (lift_reset.lifted, _OF_PARTS),
    (lift_bits.claims, _PLAIN),
    (lift_table.claims, _PLAIN),
    (lift_asked.claims, _PLAIN),
    (lift_matched.claims, _PLAIN),
    (lift_modular.claims, _PLAIN),
    (lift_modular.widened, _PLAIN),
    (lift_modular.settled, _OF_PARTS),
    (lift_threshold.claims, _PLAIN),
    (lift_payload.claims, _PLAIN),
    (lift_record.claims, _OF_PARTS),
    (lift_reader.claims, _OF_PARTS),
    (lift_settle.claims, _PLAIN),
    (lift_settle.steering, _OF_PARTS),
    (lift_passing.claims, _PLAIN),
    (lift_clock.claims, _PLAIN),
    (lift_phase.claims, _OF_PARTS),
    (lift_difference.claims, _OF_PARTS),
)
"""Each with whether it lifts parts of the update first."""


def of(update: Update, inner: Inner | None) -> Iterator[Iterable[Claim]]:
    """The claims of each family for an update; None for `inner` leaves out those that lift parts."""
    for family, of_parts in _FAMILIES:
        if not of_parts:
            yield family(update)
        elif inner is not None:
            yield family(update, inner)
