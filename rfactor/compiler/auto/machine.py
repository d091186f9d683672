"""What a schedule is chosen for: the machine, and what was measured once of such machines.

The figures are of a Zen 4 server at 3.7 GHz. They need not be exact: each decides between schedules that cost the same
at the value where the decision changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from rfactor.compiler.runtime.threads import thread_count
from rfactor.native.engine import host

CHUNK_NS = 16_000.0
"""Work that a thread takes at a time. To start threads that sleep and to wait for the last takes 5 to 20 µs: a loop of
one chunk runs where it is, two are worth it."""
CYCLE_NS = 0.27
BYTE_NS = 0.06
"""Of one core that reads memory from one end to the other."""
CALL_NS = 1.0
"""Of one scalar operation of `libm`, at least; lanes do not help."""
MERGE_NS = 4.0
"""To make one point of an intermediate, and to merge it."""
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
