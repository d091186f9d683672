"""The loop over a few elements, as if they were the first: names, types, and how its steps are summarized."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rfactor.errors import FoldError
from rfactor.loops.arrays import Replan
from rfactor.loops.elements import Column, form_of
from rfactor.loops.feed import Feed, Part
from rfactor.loops.fold import Beginning, Beyond
from rfactor.loops.stream import Geometry, StreamCall, geometry_of
from rfactor.loops.summaries import Summarized, Summary, index_uses, summarized, summary_of

if TYPE_CHECKING:
    from rfactor.loops.fold import Frame
    from rfactor.loops.states import State

FEW = 64
"""Runs of up to so many elements are kept as they are."""
SAMPLE = 20
"""So many elements tell the types of a loop as any number does: of fewer each is looked at by itself."""
Columns = tuple[Column, ...]


class _Reached(BaseException):
    """The loop begins."""

    def __init__(self, env: dict[str, Any], geometry: Geometry) -> None:
        super().__init__()
        self.env, self.geometry = env, geometry


class _Sample(Feed):
    """Elements that more come after, as far as anyone asks."""

    def __init__(self, walked: Sequence[str], columns: Columns) -> None:
        super().__init__(walked, [columns])
        self.more()

    def more(self) -> None:
        if not self.known:
            super().more()

    def at_least(self, count: int) -> bool:
        return True

    def total(self) -> int:
        raise FoldError("the number of elements is used before the loop", kind="R4", advice="use it after the loop")


class _Oracle(StreamCall):
    """A call that goes as far as the loop."""

    def stretches(self, env: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        raise _Reached(env, geometry_of(self.cut, self.evaluator(env)))


class Chunk:
    """Some elements, and the loop as it is where they are the first: names, types, the plan and its summaries."""

    def __init__(self, state: State, columns: Columns) -> None:
        fold, others = state.fold.streamed, state.others
        self.fold, self.digest, self.columns = fold, state.digest, columns
        self.feed = _Sample(fold.cut.walked, columns)
        self.call = _Oracle(fold, self.feed)
        parts = {name: Part(self.feed, name) for name in fold.cut.walked}
        try:
            fold.run(self.call, parts, others)
        except _Reached as reached:
            self.env, self.geometry = reached.env, reached.geometry
        else:
            raise fold.source.text.refusal(
                "the function returns before its loop for some elements", fold.source.tree, kind="R4",
                advice="decide that after the loop, or use .stream()",
            )  # fmt: skip
        cut = fold.cut
        for name in sorted(cut.derived & cut.asked):
            node = next(n for n in ast.walk(cut.loop) if isinstance(n, ast.Name) and n.id == name)
            raise fold.source.text.refusal(
                f"{name} depends on the first elements, which other parts do not know", node, kind="R4",
                advice="give it as an argument, or use .stream()",
            )  # fmt: skip
        g = self.geometry
        self.skip, self.width = max(0, g.low), max(0, g.high) - g.low
        self.ahead = self.skip + self.width
        """So many elements at the beginning are kept."""
        self.behind = self.width + 1 + max(0, g.fewer - g.high)
        """And so many at the end."""
        self.keep = max(SAMPLE + self.ahead, cut.reach + 1)
        self.few = max(FEW, self.keep + self.behind)

    def begun(self, low: int, high: int) -> tuple[Beginning, Frame] | None:
        """The loop over windows `low` to `high`, numbered as if they were the first; None where there are none."""
        if high <= low:
            return None
        g, fold = self.geometry, self.fold
        names = self.call.bindings(g, low - g.low, high - g.low, False, g.low - low)
        env = self.env | dict(zip(fold.cut.names, names, strict=True))
        at = Beginning(self.call, fold.loops[fold.cut.outer + 1], env)
        frame = at.frame()
        return None if frame is None else (at, frame)

    def loop(self, at: Beginning, frame: Frame, known: bool) -> Summarized:
        """How the loop is summarized, once a plan. Raises `FoldError`."""
        cut = self.fold.cut
        windows = [n for n in cut.names if n not in {v for leaf in cut.leaves for v in leaf.variables}]
        with self.fold._lock:
            try:
                plan = at.plan(frame)
            except Beyond:
                reason = "an integer of the data does not fit 64 bits"
                raise at.no(reason, at.loop.node, "R10", "call the function itself, which is exact") from None
            known |= not index_uses(plan, frame, windows)[0]
            found: Summarized | None = plan.choice.get(("summarized", known))
            if found is None:
                found = plan.choice["summarized", known] = summarized(
                    at, frame, plan, cut.names, windows, cut.derived, known
                )
        return found

    def typical(self, known: bool) -> tuple[Summarized, dict[str, Any]]:
        """How the loop is summarized, and its numbers that stay the same. Raises `FoldError`."""
        key = (self.digest, tuple(map(form_of, self.columns)), known)
        found = self.fold.typical.get(key)
        if found is None:
            begun = self.begun(self.skip, min(self.feed.known - self.width, self.skip + 4 * SAMPLE))
            assert begun is not None
            loop = self.loop(*begun, known)
            found = self.fold.typical[key] = loop, begun[0].constants(loop.plan, begun[1])
        result: tuple[Summarized, dict[str, Any]] = found
        return result

    def summary(self, loop: Summarized, low: int, high: int, position: int | None) -> tuple[Summary, bool] | None:
        """The summary of windows `low` to `high`, and whether it ends before; None where there are none. `position` is
        that of the first element, where it is known."""
        begun = self.begun(low, high)
        if begun is None:
            return None
        try:
            return summary_of(loop, *begun, 0 if position is None else position + low - self.geometry.low)
        except Replan:
            raise self.fold.source.text.refusal(
                "elements are of another type than those before", self.fold.cut.loop.iter, kind="R10",
                advice="give all parts one type",
            ) from None  # fmt: skip
