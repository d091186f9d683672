"""What a schedule is chosen for: the machine, and what was measured once of such machines.

The figures are of a Zen 4 server at 3.7 GHz. They need not be exact: each decides between schedules that cost the same
at the value where the decision changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from rfactor.compiler.runtime.threads import thread_count
from rfactor.native.engine import host

CYCLE_NS = 0.27
BYTE_NS = 0.0125
"""Of one core that reads what another level of its caches holds; memory takes two to three times as long."""
MEMORY_NS = 0.04
"""Of one core, of memory, at least: several streams are worth it where an iteration takes no longer than that."""
CACHED_BYTES = 1 << 25
"""What caches may still hold of the data of the call before."""
STREAMS = 4
"""That a core fetches ahead of: what one of them reads of memory is not all that the core can."""
CALL_NS = 2.0
"""Of one scalar operation of `libm`, at least; lanes do not help. Not of what is arithmetic, see `ir.routines`."""
MERGE_NS = 1.0
"""To make one point of an intermediate, and to merge it."""
RECORD_NS = 10.0
"""To make a lane of a record with what is kept beside it, and to merge it;"""
SETTLE_NS = 3.0
"""and for each byte of what is kept beside until few elements of a long loop are records any more."""
COPY_NS = 0.05
"""What an iteration of a histogram gains by copies, between random data and equal ones,"""
STORE_NS = 1.0
"""and one that has to wait for the store of the one before: to the same point."""
LINE_BYTES = 64
"""That cores take over from each other at once."""
MOVE_NS = 0.5
"""To take over a byte that another thread gave its first value, not in vectors,"""
MOVED_BYTES = 1 << 20
"""of those that are still in the cache of its core;"""
MOVE_LANES_NS = 0.2
"""and in vectors, of which several are under way, wherever it is."""
FIRST_BYTES = 32_768
"""Of the first cache;"""
MISS_NS = 0.4
"""what an iteration of a histogram takes longer whose points do not fit it."""
GATHER_NS = 1.2
"""To load a lane whose neighbours are elsewhere in memory."""
ROWED_NS = 0.4
"""An iteration of a short row, at most, where LLVM makes vectors of the rows;"""
JOIN_NS, MERGED_NS = 1.4, 5.0
"""and to join the lanes of one pairwise, each component, or to begin to merge them one by one."""
VECTOR_NS = 1.0
"""A vector that is loaded, combined and stored by itself, at least."""
PARTIAL_NS = 7.0
"""One of which only some lanes work: it is loaded and stored under a mask."""
ROW_NS = 50.0
"""To begin lanes within a loop and to end them, beside merging them;"""
PLAIN_ROW_NS = 15.0
"""as much of vectors that LLVM makes."""
FLIGHT = 4
"""Vectors that are combined independently: the latency of an addition of floats in cycles."""
COPY_BYTES = 16_384
"""Copies of a histogram that stay in the first cache together."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine."""

    threads: int
    """That run a parallel loop."""
    vector_bits: int
    threads_ns: float = 20_000.0
    """Work on one core from which on threads pay: where calls follow each other two take three quarters of the time.
    Where calls come apart nobody is woken for so little, see `runtime.pool`."""
    chunk_ns: float = 10_000.0
    """Work that a thread takes at a time, so that another is held up but little by one that comes late."""
    function_ns: float = 250.0
    """A call takes at most so much longer for one more function in the pipeline."""

    @property
    def registers(self) -> int:
        """Vector registers that a loop may keep its state in, with some left for what it reads."""
        return 24 if self.vector_bits == 512 else 12

    def state_lanes(self, octets: int) -> int:
        """How many lanes of a state of so many bytes fit the registers."""
        return max(1, self.registers * self.vector_bits // (8 * octets))


def this_machine() -> Machine:
    """The one that this process runs on, with as many threads as parallel loops have."""
    return Machine(thread_count(), host().vector_bits)
