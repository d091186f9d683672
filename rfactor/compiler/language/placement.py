"""Directives on a whole function: where it is computed and kept, over which box, and how its storage is laid out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, Self

from rfactor.compiler.language.buffer import coordinate
from rfactor.compiler.language.expr import Expr, as_expr
from rfactor.compiler.language.given import startup, variable_name, whole
from rfactor.compiler.language.hints import FunctionHints
from rfactor.compiler.language.keywords import also_named, spread
from rfactor.compiler.language.public import public
from rfactor.compiler.language.stage import Directives, StageState
from rfactor.compiler.language.variables import end_pairs, estimated
from rfactor.compiler.language.whose import directives
from rfactor.compiler.schedule.directives import (
    INLINED,
    PLAIN,
    ROOT,
    SILENT,
    UNDEFINED,
    Alignment,
    Bound,
    LoopLevel,
    Storage,
    Trace,
)
from rfactor.errors import ScheduleError
from rfactor.ir.expr import Expr as IrExpr
from rfactor.ir.types import I32


@directives
@public
class Placement(FunctionHints, Directives):
    """The part of a `Func` that says where and how it is computed and kept."""

    stages: list[StageState]
    references: dict[str, Any]
    _variables: tuple[str, ...]

    def _unplaced(self) -> None:
        """The schedule of a function that no directive has touched."""
        self._computed: LoopLevel | Settable = INLINED
        self._kept: LoopLevel | Settable | None = None
        """None: where it is computed."""
        self.bounds: tuple[Bound | Alignment, ...] = ()
        self.storage: Storage = PLAIN
        self.memoized = self.evicted = False
        self.trace: Trace = SILENT
        self.debug_file: str | None = None
        self.estimates: dict[str, int] = {}
        """Extents that are expected, by variable; they change nothing but what `auto_rfactor` chooses."""

    def scheduled_as(self, other: Placement) -> None:
        """Take over what directives have said of another as a whole; its stages keep their own loops."""
        self._computed, self._kept = other._computed, other._kept
        self.bounds, self.storage, self.estimates = other.bounds, other.storage, other.estimates
        self.memoized, self.evicted = other.memoized, other.evicted
        self.trace, self.debug_file = other.trace, other.debug_file

    @property
    def level(self) -> LoopLevel:
        """Where it is computed."""
        return _now(self._computed, self._owner().name())

    @property
    def store_level(self) -> LoopLevel | None:
        """Where its storage is kept; None for where it is computed."""
        return None if self._kept is None else _now(self._kept, self._owner().name())

    # Tracing

    def trace_loads(self) -> Self:
        """Write a line `Load f.0(3) = 7` for each value that is read from its storage."""
        self.trace = replace(self.trace, loads=True)
        return self

    def trace_stores(self) -> Self:
        """Write a line `Store f.0(3) = 7` for each value that is put into its storage."""
        self.trace = replace(self.trace, stores=True)
        return self

    def trace_realizations(self) -> Self:
        """Write a line where its storage begins and ends, and where boxes of it are produced and consumed."""
        self.trace = replace(self.trace, realizations=True)
        return self

    def debug_to_file(self, filename: str) -> None:
        """Write its values to a file each time that a pipeline with it is realized. See `compiler/debug_files.py`."""
        self.debug_file = str(filename)

    # Where

    def compute_root(self) -> Self:
        """Compute all that is needed of it before its consumers, once."""
        self._computed = ROOT
        return self

    @also_named(rvar="var", loop_level="f")
    def compute_at(self, f: Any, var: Any = None) -> Self:
        """Compute what is needed of it in each iteration of a loop of `f`, there."""
        self._computed = _place(f, var, "compute_at")
        return self

    def compute_inline(self) -> Self:
        """As if nothing had been said of it: its calls are replaced by its value, if it has no updates."""
        self._computed, self._kept = INLINED, None
        return self

    def store_root(self) -> Self:
        """Keep its storage for the whole pipeline, wherever it is computed.

        What an earlier iteration of a serial loop computed is then not computed again, and where a window moves along
        the loop, only that much is kept.
        """
        return self._stored(ROOT)

    @also_named(rvar="var", loop_level="f")
    def store_at(self, f: Any, var: Any = None) -> Self:
        """Keep its storage for an iteration of a loop of `f`, around the loop where it is computed."""
        return self._stored(_place(f, var, "store_at"))

    @also_named(rvar="var", loop_level="f")
    def hoist_storage(self, f: Any, var: Any = None) -> Self:
        """Make its storage once for an iteration of a loop of `f`; nothing that it held is used again."""
        return self._stored(_place(f, var, "hoist_storage"), slides=False)

    def hoist_storage_root(self) -> Self:
        """Make its storage once for the whole pipeline; nothing that it held is used again."""
        return self._stored(ROOT, slides=False)

    def _stored(self, level: LoopLevel | Settable, slides: bool = True) -> Self:
        self._kept = level
        self.storage = replace(self.storage, slides=slides)
        return self

    # Over which box

    def bound(self, var: Any, min: Any, extent: Any) -> Self:
        """Compute it over `min <= var < min + extent`, which must hold all that is needed of it."""
        first = self._size("bound", min)
        return self._bounded(Bound(self._dimension("bound", var), first, self._extent("bound", extent)))

    def bound_extent(self, var: Any, extent: Any) -> Self:
        """Compute `extent` of it from the first coordinate that is needed on; more may not be needed."""
        return self._bounded(Bound(self._dimension("bound_extent", var), None, self._extent("bound_extent", extent)))

    def align_bounds(self, var: Any, modulus: Any, remainder: Any = 0) -> Self:
        """Let what is computed of it begin at `remainder` and end before `remainder` modulo `modulus`.

        Nothing more is computed of an output than what is asked for, nor where one of the two is not a number, but made
        of parameters and boxes of images.
        """
        return self._aligned_to("align_bounds", var, modulus, remainder)

    def align_extent(self, var: Any, modulus: Any) -> Self:
        """Let the extent that is computed of it be a multiple of `modulus`. See `align_bounds`."""
        return self._aligned_to("align_extent", var, modulus)

    def _aligned_to(self, directive: str, var: Any, modulus: Any, *remainder: Any) -> Self:
        name, given = self._dimension(directive, var), (modulus, *remainder)
        if any(isinstance(whole(one), IrExpr) for one in given):
            for one in given:
                self._size(directive, one)
            return self
        count, rest = self._count(directive, modulus), [*map(whole, remainder)]
        if any(isinstance(one, bool) or not isinstance(one, int) for one in rest):
            raise ScheduleError(f"{directive}({name}) of {self._owner().name()}: the remainder must be a number")
        return self._bounded(Alignment(name, count, rest[0] % count if rest else None))

    def set_estimate(self, var: Any, min: Any, extent: Any) -> Self:
        """What the box will be like: `auto_rfactor` chooses by the extent. `Expr()` says nothing.

        Raises `AlgorithmError` for what is no number.
        """
        name = self._dimension("set_estimate", var)
        _, points = (estimated(f"{name} of {self._owner().name()}", as_expr(end)) for end in (min, extent))
        if points.defined() and isinstance(count := whole(points), int):
            self.estimates = {**self.estimates, name: count}
        return self

    def set_estimates(self, estimates: Sequence[Any]) -> Self:
        """`set_estimate` of every dimension: a (min, extent) each."""
        given = end_pairs(f"set_estimates of {self._owner().name()}", estimates)
        variables = self._owner().function.variables
        if len(given) != len(variables):
            raise ScheduleError(f"set_estimates of {self._owner().name()}: one (min, extent) a dimension is needed")
        for name, (low, extent) in zip(variables, given, strict=True):
            self.set_estimate(name, low, extent)
        return self

    def _bounded(self, bound: Bound | Alignment) -> Self:
        self.bounds = (*self.bounds, bound)
        return self

    # How it is kept

    @spread("dims")
    def reorder_storage(self, *dims: Any) -> Self:
        """Lay its storage out with these dimensions innermost first. The caller's arrays have the strides they have."""
        named = [self._dimension("reorder_storage", one) for one in dims]
        if len(named) < 2 or len(set(named)) < len(named):
            raise ScheduleError(
                f"reorder_storage({', '.join(named)}) of {self._owner().name()}: name two dimensions or more, each once"
            )
        order = list(self.storage.order or self._owner().function.variables)
        places = sorted(map(order.index, named))
        for place, name in zip(places, named, strict=True):
            order[place] = name
        self.storage = replace(self.storage, order=tuple(order))
        return self

    def align_storage(self, dim: Any, alignment: Any) -> Self:
        """Round its extent in storage up to a multiple. The caller's arrays have the strides they have."""
        return self._padded("align_storage", dim, alignment)

    def bound_storage(self, dim: Any, bound: Any) -> Self:
        """Keep `bound` coordinates of a dimension at most: a number, or made of parameters and boxes of images.

        Storage has the size that is needed; that the bound holds it is checked on entry.
        """
        name, most = self._dimension("bound_storage", dim), self._extent("bound_storage", bound)
        limits: Mapping[str, IrExpr] = {**dict(self.storage.limits), name: most}
        self.storage = replace(self.storage, limits=tuple(limits.items()))
        return self

    def fold_storage(self, dim: Any, extent: Any, fold_forward: bool = True) -> Self:
        """Keep only `extent` coordinates of a dimension at a time, along which a serial loop moves, up or down.

        With `fold_forward=False` it is a hint: how much is kept is found, and nothing is refused.
        """
        name = self._dimension("fold_storage", dim)
        kept, count = dict(self.storage.folds), self._count("fold_storage", extent)
        kept.pop(name, None)
        if fold_forward:
            kept[name] = count
        self.storage = replace(self.storage, folds=tuple(kept.items()))
        return self

    def _padded(self, directive: str, variable: Any, count: Any) -> Self:
        name = self._dimension(directive, variable)
        padding: Mapping[str, int] = {**dict(self.storage.padding), name: self._count(directive, count)}
        self.storage = replace(self.storage, padding=tuple(padding.items()))
        return self

    # What is given

    def _dimension(self, directive: str, variable: Any) -> str:
        """The pure variable that is meant."""
        name, function = variable_name(variable), self._owner().function
        if name not in function.variables:
            raise ScheduleError(
                f"{directive}({name}): {function.name} has no such pure variable; "
                f"it has {', '.join(function.variables) or 'none'}"
            )
        return name

    def _extent(self, directive: str, value: Any) -> IrExpr:
        number = whole(value)
        if isinstance(number, int) and number < 0:
            raise ScheduleError(f"{directive} of {self._owner().name()}: an extent is 0 or more, not {number}")
        return self._size(directive, value)

    def _size(self, directive: str, value: Any) -> IrExpr:
        expr: Expr = coordinate(directive, as_expr(value))
        return startup(self._owner(), expr, f"{directive} of {self._owner().name()}")

    def _count(self, directive: str, value: Any) -> int:
        number = whole(value)
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ScheduleError(f"{directive} of {self._owner().name()}: {value} must be a number, 1 or more")
        if number > I32.max:
            raise ScheduleError(f"{directive} of {self._owner().name()}: {value} must be a number up to {I32.max}")
        return number


class Settable(Protocol):
    """A place that may be another later: `language.loop_level.LoopLevel`."""

    level: LoopLevel


def _now(place: LoopLevel | Settable, name: str) -> LoopLevel:
    level = place if isinstance(place, LoopLevel) else place.level
    if level is UNDEFINED:
        raise ScheduleError(
            f"There should be no undefined LoopLevels at the start of lowering: set that of {name}, or write "
            "LoopLevel.inlined() instead of LoopLevel()"
        )
    return level


def _place(consumer: Any, variable: Any, directive: str) -> LoopLevel | Settable:
    """The loop that is named; a level as it stands, which may be set later."""
    level = loop_level(consumer, variable, directive)
    return consumer if getattr(consumer, "level", None) is level and not isinstance(consumer, Directives) else level


def loop_level(consumer: Any, variable: Any, directive: str) -> LoopLevel:
    """The loop that is named. The consumer need not have it yet: lowering asks whether it does."""
    if isinstance(consumer, LoopLevel):
        return consumer
    if isinstance(given := getattr(consumer, "level", None), LoopLevel) and not isinstance(consumer, Directives):
        return given
    if variable is None:
        raise ScheduleError(f"{directive} takes a function and one of its loops, or a LoopLevel")
    if not isinstance(consumer, Directives):
        raise ScheduleError(f"{directive} takes a function and one of its loops, or a LoopLevel, not {consumer!r}")
    return LoopLevel("at", consumer._owner().name(), variable_name(variable))
