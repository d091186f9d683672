"""Data and constants that are called like operands (`y0`, `z`): renamed while a claim about them is proved."""

from __future__ import annotations

from collections.abc import Callable
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
    # Operators have operands of their own called y, and may read a constant called z.
    held = {name: var for name, var in forth.items() if name in update.constants and name[0] == "z"}
    renamed = _with(
        replace(claim, update=replace(update, components=components, constants=constants)),
        lambda exprs: tuple(substitute(e, forth) for e in exprs),
        lambda exprs: tuple(substitute(e, held) for e in exprs),
    )
    return renamed, {f"its {name}": name for name in forth}


def _with(claim: Claim, of_data: Callable[[Tuple], Tuple], of_states: Callable[[Tuple], Tuple]) -> Claim:
    """The claim with other parts that speak of data, and that speak of states."""
    lift = claim.lift
    if lift is not None:
        operator, identity, apply = map(of_states, (lift.operator, lift.identity, lift.apply))
        lift = replace(lift, data=of_data(lift.data), operator=operator, identity=identity, apply=apply)
    return replace(
        claim,
        data=None if claim.data is None else of_data(claim.data),
        operator=None if claim.operator is None else of_states(claim.operator),
        identity=None if claim.identity is None else of_states(claim.identity),
        invariant=of_states(claim.invariant),
        lift=lift,
        assumes=of_data(claim.assumes),
    )


def restored(claim: Claim, back: dict[str, str]) -> Claim:
    """Names restored."""

    def restore(exprs: Tuple) -> Tuple:
        return tuple(
            substitute(e, {v.name: Var(v.type, back[v.name]) for v in sampling.used([e]) if v.name in back})
            for e in exprs
        )

    update = claim.update
    constants = frozenset(back.get(name, name) for name in update.constants)
    whole = replace(claim, update=replace(update, components=restore(update.components), constants=constants))
    return _with(whole, restore, restore)


def _data_and_constants(claim: Claim) -> tuple[Var, ...]:
    own = {x.name for x in claim.update.accumulators}
    lift_data = claim.lift.data if claim.lift is not None else ()
    exprs = [*claim.update.components, *(claim.data or ()), *lift_data, *claim.assumes]
    return tuple(var for var in sampling.used(exprs) if var.name not in own)
