"""What lanes and copies gain, and what they cost a call, a row or a chunk: nanoseconds of one core."""

from __future__ import annotations

from math import ceil

from rfactor.compiler.auto.facts import Facts, Loop
from rfactor.compiler.auto.machine import (
    COPY_BYTES,
    COPY_NS,
    CYCLE_NS,
    GATHER_NS,
    JOIN_NS,
    MERGE_NS,
    MERGED_NS,
    PARTIAL_NS,
    PLAIN_ROW_NS,
    RECORD_NS,
    ROWED_NS,
    SETTLE_NS,
    STORE_NS,
    Machine,
)
from rfactor.compiler.auto.work import gathers, state_octets
from rfactor.compiler.auto.write import Lanes

COPIES = 4
"""Of a histogram: neighbours that are equal wait for each other's store, which takes about as many iterations."""
ROW = 64
"""Iterations that a point is taken to have where that is not known."""
OVERLAPPED = 32
"""Iterations of one point that are few enough for those of the next to be begun meanwhile."""
WORTH = 1.3
"""How much faster a richer state, or taking parts in turns, has to make the loop."""
LEAST_ROW, LEAST_JOINED = 16, 8
"""Iterations of rows of unknown length that are reduced in lanes, merged one by one or pairwise."""


def alone_ns(facts: Facts) -> float:
    """An iteration of the serial loop. LLVM makes vectors of short rows, if no iteration is left out."""
    if facts.work.plain or not overlapped(facts):
        return facts.work.serial_ns
    return facts.work.apart_ns if facts.guarded else min(facts.work.apart_ns, max(ROWED_NS, 4 * facts.work.lane_ns))


def overlapped(facts: Facts) -> bool:
    """Whether a point has so few iterations that those of the next are begun meanwhile."""
    return bool(facts.pure) and not facts.lifted and facts.count is not None and facts.count <= OVERLAPPED


def gather_ns(facts: Facts, name: str) -> float:
    """What lanes of a loop take longer for each iteration, as they load what is apart in memory."""
    return GATHER_NS * gathers(facts.work.loads, name)


def gain_ns(facts: Facts, wide: Lanes) -> float:
    """What an iteration takes less in lanes, or in copies, than in the serial loop."""
    if wide.copies:
        return COPY_NS + STORE_NS / (facts.bins or 1)
    row_ns = 0.0
    if facts.work.plain and len(facts.loops) > 1:
        row_ns = PLAIN_ROW_NS / (wide.loop.extent or ROW)
    return alone_ns(facts) - facts.work.lane_ns - gather_ns(facts, wide.loop.name) + row_ns


def cost_ns(facts: Facts, machine: Machine, wide: Lanes) -> float:
    """What lanes, or copies, take beside: of a call, or of a row."""
    if facts.pure:
        return row_ns(facts, wide.lanes)
    return wide.lanes * (facts.bins or 1 if wide.copies else 1) * MERGE_NS + machine.function_ns


def row_ns(facts: Facts, number: int) -> float:
    """To merge so many lanes of a row."""
    return JOIN_NS * len(facts.types) if facts.joins else MERGED_NS + number * MERGE_NS


def least_run(facts: Facts, machine: Machine, wide: Lanes) -> int:
    """Iterations from which on lanes save more than they cost a call."""
    return 1 if facts.pure else ceil(cost_ns(facts, machine, wide) / gain_ns(facts, wide))


def long_row(facts: Facts, machine: Machine, wide: Lanes | str | None) -> tuple[Loop, int] | None:
    """The loop that lanes run along and how many iterations it has where they save more than they cost a row."""
    if not isinstance(wide, Lanes) or (len(facts.loops) == 1 and not facts.pure):
        return None
    if wide.copies:
        return wide.loop, LEAST_ROW
    vectors = -(-wide.lanes * facts.widest // machine.vector_bits)
    costs_ns = row_ns(facts, wide.lanes) if facts.pure else vectors * PARTIAL_NS
    least = LEAST_JOINED if facts.pure and facts.joins else LEAST_ROW
    return wide.loop, max(least, ceil(WORTH * costs_ns / max(gain_ns(facts, wide), CYCLE_NS / 10)))


def lanes_ns(facts: Facts, number: int, iterations: int) -> float:
    """One point in so many lanes, and to merge them: pairwise where that can be, and the point is not short maybe."""
    step_ns = max(number * facts.work.lane_ns, facts.work.waits_ns)
    merges = number.bit_length() - 1 if facts.joins and facts.count is not None else number
    merge_ns = CYCLE_NS
    if facts.work.beside:
        merge_ns = RECORD_NS if facts.pure else record_ns(facts)
    return -(-iterations // number) * step_ns + merges * max(facts.work.waits_ns, merge_ns)


def record_ns(facts: Facts) -> float:
    """To make and to merge a lane of a record, and what it takes until it has found small elements; else nothing."""
    beside = [facts.types[component] for component in facts.work.beside]
    return 0.0 if facts.lifted or not beside else RECORD_NS + SETTLE_NS * state_octets(beside)


def made_ns(facts: Facts, wide: Lanes | str | None) -> float:
    """To make and to merge the points of a chunk that data may choose, its copies among them; or lanes of records."""
    if facts.scattered:
        return MERGE_NS * (facts.bins or 0) * (1 + COPIES if copies_stay(facts) else 1)
    return wide.lanes * record_ns(facts) if isinstance(wide, Lanes) and not facts.pure else 0.0


def copies_stay(facts: Facts) -> bool:
    """Whether copies of a histogram stay in the first cache together."""
    return facts.bins is not None and COPIES * facts.bins * state_octets(facts.types) <= COPY_BYTES


def many_rows(facts: Facts) -> bool:
    """Whether many points are reduced to, each of unknown length: it may be short."""
    return bool(facts.pure) and facts.count is None
