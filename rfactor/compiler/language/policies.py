"""What directives are told in words: places of storage, and how loops are cut, fetched ahead for and aligned."""

from __future__ import annotations

from enum import Enum

from rfactor.errors import ScheduleError


class MemoryType(Enum):
    """Where storage may be kept."""

    Auto = 0
    Heap = 1
    Stack = 2
    Register = 3
    GPUShared = 4
    GPUTexture = 5
    LockedCache = 6
    VTCM = 7


class Partition(Enum):
    """Whether guards are taken out of a loop."""

    Auto = 0
    Never = 1
    Always = 2


class PrefetchBoundStrategy(Enum):
    """What is fetched ahead beyond the ends of an array."""

    Clamp = 0
    GuardWithIf = 1
    NonFaulting = 2


class LoopAlignStrategy(Enum):
    """How loops of different lengths are laid beside each other by `compute_with`."""

    AlignStart = 0
    AlignEnd = 1
    NoAlign = 2
    Auto = 3


_OF_DEVICES = frozenset({MemoryType.GPUShared, MemoryType.GPUTexture, MemoryType.VTCM})


def checked_memory(func: str, memory: MemoryType) -> None:
    """Raises `ScheduleError` for what is no `MemoryType`, `NotImplementedError` for memory of a device."""
    if not isinstance(memory, MemoryType):
        raise ScheduleError(f"store_in of {func} takes a MemoryType, as MemoryType.Stack, not {memory!r}")
    if memory in _OF_DEVICES:
        raise NotImplementedError(f"store_in({memory}) of {func}: that memory is of a device, which is not there")
