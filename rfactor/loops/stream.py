"""Run a function on chunks: the loop goes on from chunk to chunk with the state that Python has between them.

Each stretch of steps is run as the loop of a call is: by proven parallel code, in Python where it must. Where rounding
depends on the order, stretches end at multiples of 65,536 steps, so that the same floats are added in the same order
whatever the chunks are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rfactor.errors import FoldError
from rfactor.loops.backends.tables import chunks_of
from rfactor.loops.cuts import Cut, cut_of
from rfactor.loops.elements import Column
from rfactor.loops.feed import Feed, Part, Total, settled
from rfactor.loops.fold import SHORT, Beginning, Beyond, Call, Fold, Started, as_plain
from rfactor.loops.rewrite import Loop, loops_of, opened
from rfactor.loops.run import SLICE

if TYPE_CHECKING:
    import ast

    from rfactor.loops.plan import Plan
    from rfactor.loops.source import Source
    from rfactor.loops.taken import Taken


@dataclass(frozen=True)
class Geometry:
    """Which elements a step reads: those at its number plus an offset."""

    firsts: tuple[int, ...]
    """Where the counters of the leaves begin."""
    low: int
    """The least offset; below 0 where the first steps look back beyond the first element."""
    high: int
    """The greatest offset."""
    fewer: int
    """By how much there are fewer steps than elements, or more (below 0)."""

    def steps(self, elements: int) -> int:
        """The number of steps over so many elements."""
        return max(0, elements - self.fewer)

    def ready(self, elements: int) -> int:
        """Steps that can be taken while more elements may come."""
        return max(0, min(elements - self.fewer, elements - self.high))

    @property
    def hanging(self) -> int:
        """Steps at the beginning that look back beyond the first element."""
        return max(0, -self.low)


def geometry_of(cut: Cut, evaluate: Callable[[ast.expr], Any]) -> Geometry:
    """What steps read, with the numbers of the header. Raises `FoldError`."""
    firsts: list[int] = []
    fewer: list[int] = []
    offsets: list[int] = []
    for leaf in cut.leaves:
        first = 0 if leaf.first is None else evaluate(leaf.first)
        if type(first) is not int:
            raise cut.source.text.refusal("the first number of the header is no int", leaf.first, kind="R10")
        firsts.append(first)
        if leaf.form == "elements":
            fewer.append(leaf.skip + leaf.short)
            offsets.append(leaf.skip)
        elif leaf.form == "range":
            last = evaluate(leaf.last)  # type: ignore[arg-type]
            if type(last) is not Total:
                raise cut.source.text.refusal(
                    "the range does not end with an argument", leaf.last, kind="R4", advice="write range(len(a))"
                )
            fewer.append(first - last.shift)
    if cut.strict and len(set(fewer)) > 1:
        raise cut.source.text.refusal("zip(strict=True) of different lengths", cut.loop.iter, kind="R4")
    offsets += [firsts[p.leaf] + p.by for p in cut.places]
    return Geometry(tuple(firsts), min(offsets, default=0), max(offsets, default=0), max(fewer, default=0))


class Checked:
    """A part of an argument of which nothing lies before the first element."""

    def __init__(self, values: Column, cut: Cut, name: str) -> None:
        self.values, self.cut, self.name = values, cut, name

    def __getitem__(self, index: Any) -> Any:
        if (index[0] if isinstance(index, tuple) else index) < 0:
            node = next(p for p in self.cut.places if p.argument == self.name)
            raise self.cut.source.text.refusal(
                f"{self.name}[{node.by}] of the first step is one of the last elements", self.cut.loop, kind="R4",
                advice=f"begin at {-node.by}, or ask whether the step is the first",
            )  # fmt: skip
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Stretch:
    """Steps that are taken as one."""

    low: int
    high: int
    form: str = "loop"
    """`loop`; `hanging`: as Python, looking back beyond the first element; `plain`: as Python; `state`: a summary."""
    last: bool = False
    """No step comes after them."""


class Rewritten(Fold):
    """A fold whose loops are those of another text of its function."""

    def __init__(self, fold: Fold, source: Source) -> None:
        self.python, self.options, self.source = fold.python, fold.options, source
        self.loops: list[Loop] = loops_of(source)
        self.plans: dict[int, list[Plan]] = {}
        self.refusals: dict[int, FoldError] = {}
        self.outcomes: dict[int, str] = {}
        self.taken: dict[int, Taken] = {}
        self._warned: set[int] = set()
        self._lock = threading.RLock()


class Streamed(Rewritten):
    """The function that takes parts: its loops, and the plans for them."""

    def __init__(self, fold: Fold) -> None:
        self.cut: Cut = cut_of(fold.source)
        super().__init__(fold, self.cut.source)
        by_line = {(one.node.lineno, one.node.col_offset): one for one in fold.loops}
        for loop in self.loops:
            original = by_line.get((loop.node.lineno, loop.node.col_offset))
            if original is not None and loop.number != self.cut.outer:
                loop.read_after = original.read_after
        self._begun = threading.local()
        self.typical: dict[Any, Any] = {}
        """How the loop is summarized, by the types of its elements and the other arguments."""
        self._opened = opened(self.source, lambda: self._begun.call)

    def run(self, call: StreamCall, parts: Mapping[str, Any], others: Mapping[str, Any]) -> Any:
        """Call the function with parts."""
        before = getattr(self._begun, "call", None)
        self._begun.call = call
        try:
            return self._opened(**parts, **others)
        finally:
            self._begun.call = before

    def bound(self, others: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments that are not cut, with defaults. Raises `TypeError` where one is missing."""
        import inspect

        parameters = inspect.signature(self.python).parameters
        found = {}
        for name in self.cut.others:
            if name in others:
                found[name] = as_plain(others[name])
            elif parameters[name].default is inspect.Parameter.empty:
                raise TypeError(
                    f"{self.python.__name__}() misses the argument {name!r}: give it by name beside the chunks"
                )
            else:
                found[name] = parameters[name].default
        unknown = set(others) - set(self.cut.others)
        if unknown:
            raise TypeError(f"{self.python.__name__}() takes no argument {min(unknown)!r} beside the chunks")
        return found


class StreamCall(Call):
    """One run of a function over the chunks of a feed."""

    def __init__(self, fold: Streamed, feed: Feed) -> None:
        super().__init__(fold)
        self.cut, self.feed = fold.cut, feed
        self.grain = 0
        self.stretch = Stretch(0, 0)
        self.may_forget = False

    def __call__(self, number: int, env: dict[str, Any]) -> Started:
        if number == self.cut.outer:
            return Started(self.stretches({n: v for n, v in env.items() if not n.startswith("rfactor_")}))
        if number != self.cut.outer + 1:
            return super().__call__(number, env)
        return self.inner(number, {n: v for n, v in env.items() if not n.startswith("rfactor_")})

    def inner(self, number: int, env: dict[str, Any]) -> Started:
        """Take the steps of the stretch at hand."""
        stretch = self.stretch
        if stretch.form in ("hanging", "plain"):
            return Started(Beginning(self, self.fold.loops[number], env).plain(0))
        rounds = self.grain > 1
        self.last = 0 if rounds and not stretch.last and not self.may_forget else 1
        self.few = 0 if rounds and stretch.low else SHORT
        if stretch.low == 0:
            return super().__call__(number, env)
        if stretch.high - stretch.low <= self.few:
            return Started(Beginning(self, self.fold.loops[number], env).plain(0))
        try:
            return Call.__call__(self, number, env)
        except FoldError:
            return Started(Beginning(self, self.fold.loops[number], env).plain(0))

    # -- stretches -----------------------------------------------------------------------------------------------------

    def evaluator(self, env: dict[str, Any]) -> Callable[[ast.expr], Any]:
        return Beginning(self, self.fold.loops[self.cut.outer], env).evaluate

    def stretches(self, env: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        """The names of each part, until there are no more chunks."""
        geometry = self.geometry = geometry_of(self.cut, self.evaluator(env))
        low, feed = 0, self.feed
        while True:
            ready = geometry.steps(feed.known) if feed.ended else geometry.ready(feed.known)
            if not self.grain and ready > low:
                self.grain = self.grain_of(env, geometry, ready)
            form = "loop"
            high = ready
            if low < geometry.hanging:
                form, high = "hanging", min(ready, geometry.hanging)
            elif not feed.ended and self.grain > 1:
                high = low + max(0, ready - 1 - low) // self.grain * self.grain
            if high > low and form == "loop":
                high = self.within(low, high, feed.boundary(low + geometry.low) - geometry.low)
            if high > low:
                self.stretch = Stretch(low, high, form, feed.ended and high == geometry.steps(feed.known))
                yield self.bindings(geometry, low, high, form == "hanging")
                low = high
                feed.drop(low + geometry.low)
            elif feed.ended:
                return
            else:
                feed.more()

    def within(self, low: int, high: int, boundary: int) -> int:
        """Where a stretch ends that joins no more of two chunks than it must."""
        if low < boundary < high:
            return min(high, low + -(-(boundary - low) // self.grain) * self.grain)
        return high

    def bindings(
        self, geometry: Geometry, low: int, high: int, hanging: bool = False, shift: int = 0
    ) -> tuple[Any, ...]:
        """What the names of a part are, for steps `low` to `high`; counters are greater by `shift`."""
        found: list[Any] = []
        for leaf, first in zip(self.cut.leaves, geometry.firsts, strict=True):
            if leaf.form == "elements":
                found.append(self.feed.column(leaf.argument, low + leaf.skip, high + leaf.skip))
            elif leaf.form == "count":
                found.append(first + low + shift)
            else:
                found += [first + low + shift, first + high + shift]
        for name in self.cut.indexed:
            base = max(0, low + geometry.low)
            values = self.feed.column(name, base, high + geometry.high)
            found += [Checked(values, self.cut, name) if hanging else values, base + shift]
        return tuple(found)

    def plan(self, env: dict[str, Any], names: Sequence[Any]) -> tuple[Beginning, Any, Plan] | None:
        """The plan of the loop over a part; None where it has no step. Raises `FoldError`."""
        known = env | dict(zip(self.cut.names, names, strict=True))
        at = Beginning(self, self.fold.loops[self.cut.outer + 1], known)
        frame = at.frame()
        try:
            return None if frame is None else (at, frame, at.plan(frame))
        except Beyond:
            return None  # Python takes the steps

    def grain_of(self, env: dict[str, Any], geometry: Geometry, ready: int) -> int:
        """At multiples of how many steps stretches end. Raises `FoldError` where the loop is refused."""
        loop = self.fold.loops[self.cut.outer + 1]
        low = min(geometry.hanging, ready - 1)
        try:
            found = self.plan(env, self.bindings(geometry, low, ready))
        except FoldError as error:
            if self.fold.options.strict and not loop.inner:
                self.fold.refusals[loop.number] = error
                raise
            return 1
        if found is None or found[2].operator is None or not found[2].operator.rounds:
            return 1
        if self.fold.options.floats == "serial":
            return 1
        from rfactor.loops.kinds import FALSE

        self.may_forget = found[2].leaves != FALSE and found[0]._forgets(found[2])
        return SLICE


def stream(
    fold: Streamed,
    chunks: Any,
    others: Mapping[str, Any],
    names: Mapping[str, str] | None = None,
    progress: Callable[[int], None] | None = None,
) -> Any:
    """The result of the plain function on all chunks, one after the other."""
    feed = Feed(fold.cut.walked, chunks_of(chunks), names, progress)
    parts = {name: Part(feed, name) for name in fold.cut.walked}
    return settled(fold.run(StreamCall(fold, feed), parts, fold.bound(others)), feed)
