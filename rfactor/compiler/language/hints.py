"""Directives that say how a stage may be run or kept, and never change what it computes: checked, and of no effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from rfactor.compiler.language.keywords import also_named, spread
from rfactor.compiler.language.public import public
from rfactor.compiler.language.whose import directives
from rfactor.compiler.numbered import Numbered
from rfactor.errors import ScheduleError, TypeMismatch

if TYPE_CHECKING:
    from rfactor.compiler.language.buffer import Buffer, ImageParam
    from rfactor.compiler.language.func import Func


class MemoryType(Numbered):
    """What kind of memory holds a function; on CPUs there is none of GPUs and none of the last kind."""

    Auto = 0
    Heap = 1
    Stack = 2
    Register = 3
    GPUShared = 4
    GPUTexture = 5
    LockedCache = 6
    VTCM = 7


class Partition(Numbered):
    """Whether the guards of a loop are taken out of its main part."""

    Auto = 0
    Never = 1
    Always = 2


class PrefetchBoundStrategy(Numbered):
    """What is asked for ahead at the ends of an array."""

    Clamp = 0
    GuardWithIf = 1
    NonFaulting = 2


class LoopAlignStrategy(Numbered):
    """How loops of different lengths are laid beside each other by `compute_with`."""

    AlignStart = 0
    AlignEnd = 1
    NoAlign = 2
    Auto = 3


@public
class EvictionKey:
    """A mark of results that are kept: nothing is kept here."""

    def __init__(self, key: Any = None) -> None:
        """Any number or expression."""


def kind_of_memory(given: Any) -> MemoryType:
    """`given`, if it is memory that this machine has. Raises `TypeMismatch`, `NotImplementedError`."""
    if not isinstance(given, MemoryType):
        raise TypeMismatch(f"store_in takes a MemoryType, not {given!r}")
    if given in (MemoryType.GPUShared, MemoryType.GPUTexture, MemoryType.VTCM):
        raise NotImplementedError(f"store_in({given}): memory of devices is not there")
    return given


@directives
@public
class Hints:
    """Directives without effect, on the loops of one stage."""

    @also_named(func="image", **{"from": "from_"})
    def prefetch(
        self,
        image: Func | Buffer | ImageParam,
        at: Any,
        from_: Any,
        offset: Any = 1,
        strategy: PrefetchBoundStrategy = PrefetchBoundStrategy.GuardWithIf,
    ) -> Self:
        """Ask for data ahead of their use: the machine's own prefetchers see to it.

        The loops are looked for when the pipeline is compiled, under the names that they have then; where there is no
        loop over `at`, nothing is asked for. `from_` is a loop around it, or itself.
        """
        own = self._owner()
        if not isinstance(strategy, PrefetchBoundStrategy):
            raise TypeMismatch(f"{own.name()}: prefetch takes a PrefetchBoundStrategy, not {strategy!r}")
        return self._fetching(image.name(), at, from_, offset)

    def partition(self, var: Any, partition_policy: Partition) -> Self:
        """Whether guards and clamps are taken out of a loop: where they can go, they go.

        With `Partition.Always` a loop that has none is refused when the pipeline is compiled.
        """
        if not isinstance(partition_policy, Partition):
            raise TypeMismatch(f"{self._owner().name()}: partition takes a Partition, not {partition_policy!r}")
        return self._partitioned(var, partition_policy == Partition.Always)

    @spread("vars")
    def never_partition(self, *vars: Any) -> Self:
        """See `partition`: of several loops, one after the other or in a list."""
        for var in vars:
            self.partition(var, Partition.Never)
        return self

    @spread("vars")
    def always_partition(self, *vars: Any) -> Self:
        """See `never_partition`."""
        for var in vars:
            self.partition(var, Partition.Always)
        return self

    def never_partition_all(self) -> Self:
        """See `partition`: of all loops that the stage has now."""
        return self._partitioned(None, False)

    def always_partition_all(self) -> Self:
        """See `never_partition_all`."""
        return self._partitioned(None, True)

    def _checked(self, directive: str, variable: Any) -> Self:
        """Itself. Raises `ScheduleError` where the stage has no such loop."""
        raise NotImplementedError

    def _partitioned(self, var: Any, always: bool) -> Self:
        """Itself, with what is asked of a loop, or of all. Raises `ScheduleError` where the stage has no such loop."""
        raise NotImplementedError

    def _fetching(self, name: str, at: Any, start: Any, offset: Any) -> Self:
        """Itself, with a prefetch."""
        raise NotImplementedError

    def unscheduled(self) -> Self:
        """Says that a stage is left as it is on purpose."""
        raise NotImplementedError

    def _owner(self) -> Func:
        raise NotImplementedError


@directives
@public
class FunctionHints:
    """Directives without effect, on a whole function."""

    memoized: bool
    evicted: bool
    """Whether a key was given for what is kept."""

    def store_in(self, memory_type: MemoryType) -> Self:
        """Where its storage is made: small storage of a known size is on the stack, all other on the heap.

        Raises `NotImplementedError` for memory of devices.
        """
        kind_of_memory(memory_type)
        return self

    def memoize(self, eviction_key: EvictionKey | None = None) -> Self:
        """Its values may be kept from one run to the next: they are computed anew. Not of outputs.

        Raises `ScheduleError` for a second key.
        """
        if eviction_key is not None:
            if self.evicted:
                raise ScheduleError(f"Can't redefine memoize eviction key of {self._owner().name()}: it has one")
            self.evicted = True
        self.memoized = True
        return self

    def add_trace_tag(self, trace_tag: str) -> Self:
        """A line `Tag f.0() tag = "…"` near the start of the trace, where loads or realizations are traced."""
        own = self._owner()
        own.trace = replace(own.trace, tags=(*own.trace.tags, str(trace_tag)))
        return self

    def _owner(self) -> Func:
        raise NotImplementedError
