"""Data and constants that are called like operands (`y0`, `z`): renamed while a claim about them is proved."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rfactor.ir.expr import Var, substitute
from rfactor.prover import sampling
from rfactor.prover.operator import Tuple

if TYPE_CHECKING:
    from rfactor.prover.claim import Claim


def separated(claim: Claim) -> tuple[Claim, dict[str, str]]:
    """The claim with data and constants renamed that are called like operands (`y0`, `z`), and the way back."""
    clashing = [
        var
        for var in _data_and_constants(claim)
        if var.name[0] in "yz" and (not var.name[1:] or var.name[1:].isdigit())
    ]
    if not clashing:
        return claim, {}
    update = claim.update
    forth = {var.name: Var(var.type, f"its {var.name}") for var in clashing}
    components = tuple(substitute(e, forth) for e in update.components)
    constants = frozenset(f"its {name}" if name in forth else name for name in update.constants)
    lift = claim.lift
    renamed = replace(
        claim,
        update=replace(update, components=components, constants=constants),
        data=None if claim.data is None else tuple(substitute(e, forth) for e in claim.data),
        lift=None if lift is None else replace(lift, data=tuple(substitute(e, forth) for e in lift.data)),
        assumes=tuple(substitute(e, forth) for e in claim.assumes),
    )
    return renamed, {f"its {name}": name for name in forth}


def restored(claim: Claim, back: dict[str, str]) -> Claim:
    """Names restored in the parts that speak of data."""

    def restore(exprs: Tuple) -> Tuple:
        return tuple(
            substitute(e, {v.name: Var(v.type, back[v.name]) for v in sampling.used([e]) if v.name in back})
            for e in exprs
        )

    update = claim.update
    constants = frozenset(back.get(name, name) for name in update.constants)
    return replace(
        claim,
        update=replace(update, components=restore(update.components), constants=constants),
        data=None if claim.data is None else restore(claim.data),
        lift=None if claim.lift is None else replace(claim.lift, data=restore(claim.lift.data)),
        assumes=restore(claim.assumes),
    )


def _data_and_constants(claim: Claim) -> tuple[Var, ...]:
    own = {x.name for x in claim.update.accumulators}
    lift_data = claim.lift.data if claim.lift is not None else ()
    exprs = [*claim.update.components, *(claim.data or ()), *lift_data, *claim.assumes]
    return tuple(var for var in sampling.used(exprs) if var.name not in own)
