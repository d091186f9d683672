"""Schedules as data: what the directives of a Func leave behind. Words and meanings are Halide's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from rfactor.ir.loopnest import LoopKind


class TailStrategy(Enum):
    """What a split does when the factor does not divide the extent. The last four are Halide's spellings.

    `SHIFT_INWARDS` and `ROUND_UP` only allow points to be computed twice or beyond the end; lowering makes no use of
    that: it skips points beyond the end, and takes the guard out of the main part of the loop.
    """

    AUTO = "auto"
    """`SHIFT_INWARDS` for pure definitions where legal, else `GUARD_WITH_IF`."""
    GUARD_WITH_IF = "guard_with_if"
    """Points beyond the end are skipped."""
    SHIFT_INWARDS = "shift_inwards"
    """The last piece is moved back to end at the end; computes points twice. Pure definitions only."""
    ROUND_UP = "round_up"
    """The extent is rounded up; more is computed than asked. Pure definitions only."""
    Auto = AUTO
    GuardWithIf = GUARD_WITH_IF
    ShiftInwards = SHIFT_INWARDS
    RoundUp = ROUND_UP


@dataclass(frozen=True, slots=True)
class Split:
    """`old` becomes `outer * factor + inner`, `0 <= inner < factor`."""

    old: str
    outer: str
    inner: str
    factor: int
    tail: TailStrategy = TailStrategy.AUTO


@dataclass(frozen=True, slots=True)
class Fuse:
    """`inner` and `outer` become one loop `fused = outer * extent(inner) + inner`."""

    inner: str
    outer: str
    fused: str


@dataclass(frozen=True, slots=True)
class Dimension:
    """One loop of a stage."""

    name: str
    kind: LoopKind = "serial"
    reduction: bool = False
    """Whether it comes from a reduction variable (`RVar`) rather than a pure one."""


@dataclass(frozen=True, slots=True)
class StageSchedule:
    """How the loops of one stage are made."""

    dimensions: tuple[Dimension, ...]
    """The loops, innermost first."""
    relations: tuple[Split | Fuse, ...] = ()
    """In the order in which the directives were given."""


@dataclass(frozen=True, slots=True)
class LoopLevel:
    """Where a function is computed or stored."""

    kind: Literal["inlined", "root", "at"]
    function: str = ""
    """For `at`: the function whose loop it is,"""
    variable: str = ""
    """and that loop."""


INLINED, ROOT = LoopLevel("inlined"), LoopLevel("root")


@dataclass(frozen=True, slots=True)
class FunctionSchedule:
    """The schedule of a function: where, and one loop order a stage."""

    stages: tuple[StageSchedule, ...]
    compute: LoopLevel = INLINED
    store: LoopLevel = INLINED


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule for every function of an algorithm, by name."""

    functions: Mapping[str, FunctionSchedule] = field(default_factory=dict)
