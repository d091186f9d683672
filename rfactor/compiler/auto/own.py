"""Threads over a function's own points: where there are enough of them nothing need be factored for threads."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from rfactor.compiler.auto.facts import Facts, Loop, extents
from rfactor.compiler.auto.machine import MOVE_LANES_NS, MOVE_NS, MOVED_BYTES, Machine
from rfactor.compiler.auto.work import state_octets

TURNS = 2
"""Tasks for each thread from which on they are enough."""
HANDED = 2.5
"""How much more work pays for threads where they take over points that another gave their first value."""


@dataclass(frozen=True, slots=True)
class Own:
    """Loops over own points that threads share."""

    loops: tuple[Loop, ...]
    """Each iteration of all of them a task, outermost first."""
    lanes: int
    """Of how many neighbours one iteration of the innermost of them is made; 1 where no lanes are."""
    where: int
    """Iterations of the reduction from which on threads pay; 0 where that is known beforehand."""


def own(facts: Facts, machine: Machine, pace: float, along: str | None, lanes: int) -> Own | None:
    """The loops, or None where too few tasks are known of, or too little work for threads.

    An iteration takes `pace` ns. `along` is the loop that is in `lanes` already, if there is one. A loop that the
    reduction is computed within is not joined with others.
    """
    points = extents(facts.own)
    if machine.threads < 2 or not points:
        return None
    octets = points * (facts.bins or 1) * state_octets(facts.types)
    moved = MOVE_LANES_NS * octets if along is not None else MOVE_NS * min(octets, MOVED_BYTES)
    least = -(-int((HANDED * machine.threads_ns + moved) / pace) // points)
    if facts.count is not None and facts.count < least:
        return None
    shared: list[Loop] = []
    for loop in reversed(facts.own):
        shared.append(loop)
        width = lanes if loop.name == along else 1
        tasks = prod(one.extent or 0 for one in shared) // width
        if tasks >= TURNS * machine.threads:
            return Own(tuple(shared), width, least if facts.count is None else 0)
        if width > 1 or loop.name == facts.pure[0]:
            return None
    return None
