"""Schedules as data: what the directives of a Func leave behind. Words and meanings are Halide's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from rfactor.compiler.numbered import Numbered
from rfactor.ir.algorithm import Definition
from rfactor.ir.expr import Expr
from rfactor.ir.loopnest import LoopKind
from rfactor.ir.types import Type


class TailStrategy(Numbered):
    """What a split does when the factor does not divide the extent.

    Strategies differ in what they allow: points computed twice or beyond the end, loads and stores under a mask.
    Lowering makes no use of what they allow: it skips points beyond the end, by masks in vectors, and takes the guard
    out of the main part of the loop.
    """

    RoundUp = 0
    """The extent is rounded up; more is computed than asked. Pure variables only."""
    GuardWithIf = 1
    """Points beyond the end are skipped."""
    Predicate = 2
    """Points beyond the end are masked out of vectors."""
    PredicateLoads = 3
    """As `RoundUp`, but nothing is loaded beyond the end. Pure variables only."""
    PredicateStores = 4
    """As `RoundUp`, but nothing is stored beyond the end. Pure variables only."""
    ShiftInwards = 5
    """The last piece is moved back to end at the end; computes points twice. Pure definitions only."""
    ShiftInwardsAndBlend = 6
    """As `ShiftInwards`, but points are changed once. Pure variables only."""
    RoundUpAndBlend = 7
    """As `RoundUp`, but points beyond the end keep their value. Pure variables only."""
    Auto = 8
    """`ShiftInwards` for pure definitions where legal, else `GuardWithIf`."""


EXACT = frozenset({TailStrategy.Auto, TailStrategy.GuardWithIf, TailStrategy.Predicate})
"""Strategies that visit each point once: those that a loop over a reduction variable may have."""


@dataclass(frozen=True, slots=True)
class Split:
    """`old` becomes `outer * factor + inner`, `0 <= inner < factor`."""

    old: str
    outer: str
    inner: str
    factor: int | Expr
    """A number, 1 or more; or an i32 that is known before anything runs, and counts as 1 where it is less."""
    tail: TailStrategy = TailStrategy.Auto

    @property
    def renames(self) -> bool:
        """Whether it only gives the loop another name: see `Stage.rename`."""
        return self.inner.startswith(f"{self.old}.rename")


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
    partitioned: bool = False
    """Whether something in it must be there to be partitioned."""
    at_once: LoopKind | None = None
    """How it was asked to run where races are allowed: its iterations meet, unless loops around keep them apart."""


@dataclass(frozen=True, slots=True)
class StageSchedule:
    """How the loops of one stage are made."""

    dimensions: tuple[Dimension, ...]
    """The loops, innermost first."""
    relations: tuple[Split | Fuse, ...] = ()
    """In the order in which the directives were given."""
    specializations: tuple[Specialization, ...] = ()
    """Tried in this order; the loops above are for where no condition holds."""
    failure: str | None = None
    """Why the pipeline stops where no condition holds, if it does."""
    races: bool = False
    """Whether loops whose iterations meet may be asked to run at once; they run in order where they do."""
    atomic: bool = False
    """Whether iterations that update the same points may run at once, each update as one."""
    rounding: bool = False
    """Whether an atomic update may round floats otherwise than the serial loop; and its loops run in order, though they
    were asked to run at once, where it is not proved to commute."""
    companion: Companion | None = None
    """Another stage whose loops this one shares."""
    scan: Scan | None = None
    """A loop that runs as a parallel scan."""
    prefetches: tuple[Prefetch, ...] = ()
    """What is asked for ahead, in the order in which the directives were given: they are checked and change nothing."""


@dataclass(frozen=True, slots=True)
class Prefetch:
    """In a loop over `at`, ask for what is read of a function or an image `offset` iterations of `start` later."""

    name: str
    at: str
    start: str
    offset: str
    """As it is told."""


@dataclass(frozen=True, slots=True)
class Companion:
    """Stage `stage` of `function`, and the innermost loop that is shared with it."""

    function: str
    stage: int
    variable: str


@dataclass(frozen=True, slots=True)
class Scan:
    """A recurrence `f(r) = F(f(r - 1), d)` that was proved to be a scan."""

    variable: str
    """`r`"""
    block: int
    """How many iterations are taken together."""
    types: tuple[Type, ...]
    """Of the state that blocks reduce to."""
    data: tuple[Expr, ...]
    """That of one iteration."""
    operator: tuple[Expr, ...]
    """That of two runs of iterations: over the states `x0`, `x1`, … and `y0`, `y1`, … of both."""
    apply: tuple[Expr, ...]
    """The function's value after a run: over its value `x0`, `x1`, … before it and the run's state `y0`, `y1`, …"""
    commutes: bool
    """Whether the operator is proved to commute."""


@dataclass(frozen=True, slots=True)
class Specialization:
    """Loops of their own for runs in which a condition holds."""

    condition: Expr
    """bool, over parameters and boxes of images: known before anything runs."""
    schedule: StageSchedule
    definition: Definition | None = None
    """What is computed in them, where it was factored apart from the other cases: then it is known which hold."""


@dataclass(frozen=True, slots=True)
class LoopLevel:
    """Where a function is computed or stored."""

    kind: Literal["inlined", "root", "at", "undefined"]
    function: str = ""
    """For `at`: the function whose loop it is,"""
    variable: str = ""
    """and that loop."""


OUTERMOST = "__outermost"
"""The loop around all others of a stage, which runs once."""
INLINED, ROOT = LoopLevel("inlined"), LoopLevel("root")
UNDEFINED = LoopLevel("undefined")


@dataclass(frozen=True, slots=True)
class Bound:
    """A function is computed over `min <= variable < min + extent`, whatever of it is asked for."""

    variable: str
    min: Expr | None
    """None: where what is asked for begins."""
    extent: Expr


@dataclass(frozen=True, slots=True)
class Alignment:
    """What is computed of a function grows to a multiple of `modulus`."""

    variable: str
    modulus: int
    remainder: int | None
    """What the least coordinate leaves by `modulus`; None: it stays, the extent alone grows."""


@dataclass(frozen=True, slots=True)
class Storage:
    """How the storage of a function is laid out."""

    order: tuple[str, ...] = ()
    """Dimensions, innermost first; none: their own order."""
    padding: tuple[tuple[str, int], ...] = ()
    """Dimensions whose extent in storage is rounded up to a multiple."""
    folds: tuple[tuple[str, int], ...] = ()
    """Dimensions of which only that many coordinates are kept at a time."""
    limits: tuple[tuple[str, Expr], ...] = ()
    """Dimensions of which no more coordinates than an i32, known before anything runs, may have to be kept."""
    slides: bool = True
    """Whether what an earlier iteration computed may be taken over from it."""


PLAIN = Storage()


@dataclass(frozen=True, slots=True)
class FunctionSchedule:
    """The schedule of a function: where, how it is kept, and one loop order a stage."""

    stages: tuple[StageSchedule, ...]
    compute: LoopLevel = INLINED
    store: LoopLevel = INLINED
    bounds: tuple[Bound | Alignment, ...] = ()
    """In the order in which the directives were given."""
    storage: Storage = PLAIN
    memoized: bool = False
    """Whether its values may be kept from one run to the next: none are."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What is written of a function or an image while the pipeline runs."""

    loads: bool = False
    stores: bool = False
    realizations: bool = False
    tags: tuple[str, ...] = ()
    """Lines of the program's own."""

    @property
    def silent(self) -> bool:
        """Whether nothing of it is told."""
        return not (self.loads or self.stores or self.realizations)


SILENT = Trace()


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule for every function of an algorithm, by name."""

    functions: Mapping[str, FunctionSchedule] = field(default_factory=dict)
    traces: Mapping[str, Trace] = field(default_factory=dict)
    """What is told of functions and images, by name."""


def entry_values(own: FunctionSchedule) -> Iterator[Expr]:
    """The sizes and conditions in the directives of a function: they are known before anything runs."""
    for bound in own.bounds:
        if isinstance(bound, Bound):
            yield from (bound.extent,) if bound.min is None else (bound.min, bound.extent)
    yield from (limit for _, limit in own.storage.limits)
    stages = list(own.stages)
    for stage in stages:
        yield from (one.factor for one in stage.relations if isinstance(one, Split) and isinstance(one.factor, Expr))
        yield from (one.condition for one in stage.specializations)
        stages += (one.schedule for one in stage.specializations)
