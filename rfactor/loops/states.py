"""States that merge: what is known of a run of elements, whatever comes before and after it.

A state keeps its first elements, the summary of the steps between, and its last elements:

    first | steps, summarized | last        the steps that a neighbour's elements belong to are taken where states meet,
                                            and the very last one by Python, as in every call

A run of few elements is kept as it is. The result is that of the function itself: its own text before and after the
loop runs, with the state in the loop's place.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rfactor.errors import FoldError
from rfactor.loops.digests import digest_of, named_fold
from rfactor.loops.elements import columns_of, form_of, joined, owned
from rfactor.loops.feed import Feed, Part, settled
from rfactor.loops.fold import Beginning, Started
from rfactor.loops.samples import FEW, Chunk, Columns
from rfactor.loops.stream import StreamCall, Stretch, geometry_of
from rfactor.loops.summaries import Summarized, Summary, joined_summaries
from rfactor.loops.summary_applied import applied

if TYPE_CHECKING:
    from rfactor.loops.fold import Fold


@dataclass(frozen=True)
class State:
    """A run of elements: merge it with its neighbour on the right by `+`, and ask for the result."""

    fold: Fold
    others: Mapping[str, Any]
    """The arguments that are not cut."""
    digest: str
    """Of the function, what it calls, its constants and `others`: states of another one do not merge."""
    count: int
    """The number of elements."""
    start: int | None
    """The position of the first one, where it is known."""
    first: Columns
    """The first elements of each argument; all, where there is no summary."""
    summary: Summary | None = None
    operator: str = ""
    """The digest of the operator behind the summary."""
    last: Columns = ()
    """The elements from the first step on that is not summarized."""
    stopped: bool = False
    """The summary ends at a step that leaves the loop, or that is Python's."""

    @property
    def stop(self) -> int | None:
        """The position after the last element, where it is known."""
        return None if self.start is None else self.start + self.count

    def __add__(self, other: State) -> State:
        return merged([self, other]) if isinstance(other, State) else NotImplemented

    __iadd__ = __add__

    @staticmethod
    def merge(states: Iterable[State]) -> State:
        """One state of neighbouring runs, in their order. Raises `FoldError`."""
        return merged(list(states))

    def result(self) -> Any:
        """The result of the plain function on all elements. Raises `FoldError` where the state does not tell it."""
        return result_of(self)

    def __reduce__(self) -> Any:
        fields = {k: v for k, v in vars(self).items() if k != "fold"}
        return _unpickled, (self.fold.python.__module__, self.fold.python.__qualname__, self.fold.options, fields)

    def to_json(self) -> str:
        """The state as text; `fold.state_from_json(text)` reads it."""
        from rfactor.loops.state_text import to_json

        return to_json(self)

    def __repr__(self) -> str:
        where = "" if self.start is None else f" from {self.start} on"
        return f"<state of {self.fold.python.__name__}: {self.count} elements{where}>"


def _unpickled(module: str, name: str, options: Any, fields: dict[str, Any]) -> State:
    """A state with the function as it is here. Raises `FoldError` where that is another one."""
    fold = named_fold(module, name, options)
    state = State(fold, **fields)
    if digest_of(fold, state.others) != state.digest:
        raise FoldError(f"the state is of another {name} than that of {module} here", kind="R8",
                        advice="the function, what it calls and its constants must be the same")  # fmt: skip
    return state


# -- making and merging ------------------------------------------------------------------------------------------------


def partial(
    fold: Fold,
    args: Sequence[Any],
    keywords: Mapping[str, Any],
    at: int | None,
    names: Mapping[str, str] | None = None,
) -> State:
    """The state of a chunk: arguments as those of the function, or a table that has the cut ones."""
    streamed = fold.streamed
    cut = streamed.cut
    if names is not None or (len(args) == 1 and len(cut.walked) > 1):
        columns = columns_of(args[0], cut.walked, names)
        others = streamed.bound(keywords)
    else:
        bound = inspect.signature(fold.python).bind(*args, **keywords).arguments
        columns = columns_of(tuple(bound[n] for n in cut.walked), cut.walked)
        others = streamed.bound({n: v for n, v in bound.items() if n in cut.others})
    columns = tuple(map(owned, columns)) if len(columns[0]) <= FEW else columns
    return shortened(State(fold, others, digest_of(fold, others), len(columns[0]), at, columns))


def shortened(state: State) -> State:
    """A state that keeps no more elements than it must. Raises `FoldError` where the loop has no operator."""
    if state.summary is not None or state.count <= FEW:
        return state
    chunk = Chunk(state, state.first)
    if state.count <= chunk.few:
        return replace(state, first=tuple(map(owned, state.first)))
    high = state.count - chunk.behind
    loop, _ = chunk.typical(state.start is not None)
    found = chunk.summary(loop, chunk.skip, high, state.start)
    assert found is not None
    summary, stopped = found
    end = chunk.skip + summary.steps
    last = tuple(owned(c[end : end + chunk.behind + 1] if stopped else c[end:]) for c in state.first)
    first = tuple(owned(c[: chunk.keep]) for c in state.first)
    return replace(state, first=first, summary=summary, operator=loop.digest, last=last, stopped=stopped)


def merged(states: Sequence[State]) -> State:
    """One state of neighbouring runs, in their order."""
    if not states:
        raise FoldError("no states are merged", kind="R4", advice="begin with a state of some elements")
    result = states[0]
    for state in states[1:]:
        result = _merged(result, state)
    return result


def _merged(a: State, b: State) -> State:
    if a.digest != b.digest:
        raise FoldError(
            f"states of {a.fold.python.__name__} and {b.fold.python.__name__} whose functions, constants or other "
            "arguments differ do not merge", kind="R4", advice="make both with the same function and arguments",
        )  # fmt: skip
    if a.stop is not None and b.start is not None and a.stop != b.start and a.count and b.count:
        raise FoldError(
            f"states that are no neighbours: one ends at {a.stop}, the other begins at {b.start}", kind="R4",
            advice="merge states in the order of their elements",
        )  # fmt: skip
    if not b.count:
        return a
    if not a.count:
        return b
    for one, other, name in zip(a.first, b.first, a.fold.streamed.cut.walked, strict=True):
        if form_of(one) != form_of(other):
            raise FoldError(f"{name} is of two types in two states", kind="R10", advice="give all parts one type")
    start = a.start if a.start is not None else None if b.start is None else b.start - a.count
    count = a.count + b.count
    if a.stopped:
        return replace(a, count=count, start=start)
    if a.summary is None and b.summary is None:
        both = tuple(joined([x, y]) for x, y in zip(a.first, b.first, strict=True))
        return shortened(replace(a, count=count, start=start, first=both))
    return _met(a, b, count, start)


def _met(a: State, b: State, count: int, start: int | None) -> State:
    """Two runs, of which one has a summary at least: the steps between are taken where they meet."""
    left = a.last if a.summary is not None else a.first
    one = a if a.summary is not None else b
    chunk = Chunk(a, one.first)
    loop, constants = _way_of(chunk, one)
    if any(s.summary is not None and s.operator != loop.digest for s in (a, b)):
        raise FoldError(
            "states whose operators differ do not merge: types of the elements, or whether positions are known",
            kind="R10", advice="give all parts one type, and at= for all or none",
        )  # fmt: skip
    if loop.places and start is None:
        raise FoldError("states of which only some know their positions do not merge", kind="R4",
                        advice="give at= for all or none")  # fmt: skip
    right = tuple(c[: chunk.ahead] for c in b.first) if b.summary is not None else b.first
    seam = tuple(joined([x, y]) for x, y in zip(left, right, strict=True))
    between = Chunk(a, seam)
    low = 0 if a.summary is not None else chunk.skip
    high = len(left[0]) + chunk.skip if b.summary is not None else len(seam[0]) - chunk.behind
    position = None
    if start is not None:
        position = start + (0 if a.summary is None else chunk.skip + a.summary.steps)
    found = between.summary(loop, low, high, position)
    parts = [] if a.summary is None else [a.summary]
    steps, stopped = 0, False
    if found is not None:
        summary, stopped = found
        parts.append(summary)
        steps = summary.steps
    first = a.first
    if a.summary is None:
        both = (joined([x, y]) for x, y in zip(left, b.first, strict=True))
        first = tuple(owned(c[: chunk.keep]) for c in both)
    end = low + steps
    if stopped:
        total = joined_summaries(loop, parts, constants)
        last = tuple(owned(c[end : end + chunk.behind + 1]) for c in seam)
        return State(a.fold, a.others, a.digest, count, start, first, total, loop.digest, last, True)
    if b.summary is not None:
        parts.append(b.summary)
    last = b.last if b.summary is not None else tuple(owned(c[end:]) for c in seam)
    total = joined_summaries(loop, parts, constants)
    return State(a.fold, a.others, a.digest, count, start, first, total, loop.digest, last, b.stopped)


def _way_of(chunk: Chunk, state: State) -> tuple[Summarized, dict[str, Any]]:
    """How a state was summarized, and the numbers that stay the same. Raises `FoldError`."""
    ways = (True, False) if state.start is not None else (False, True)
    for known in ways:
        try:
            found = chunk.typical(known)
        except FoldError:
            if known == ways[1]:
                raise
            continue
        if found[0].digest == state.operator:
            return found
    raise FoldError(
        "the state is of another operator than this function has now", kind="R8", advice="make the states anew"
    )


# -- the result --------------------------------------------------------------------------------------------------------


class _Known(Feed):
    """The elements that a state keeps, at their positions."""

    def __init__(self, state: State, after: int) -> None:
        super().__init__(state.fold.streamed.cut.walked, ())
        self.known, self.ended = state.count, True
        self._empty = state.first
        self._pieces.append((0, state.first))
        self.after, self.last = after, state.last

    def behind(self) -> None:
        """Go on with the elements after the summary."""
        self._pieces.clear()
        self._pieces.append((self.after, self.last))


class _Finish(StreamCall):
    """A call in which the summary stands for the steps that it is of."""

    def __init__(self, state: State, chunk: Chunk, after: int) -> None:
        self.known = _Known(state, after)
        super().__init__(state.fold.streamed, self.known)
        self.state, self.chunk = state, chunk

    def stretches(self, env: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
        geometry, state, cut = geometry_of(self.cut, self.evaluator(env)), self.state, self.cut
        low = geometry.hanging
        if low:
            self.stretch = Stretch(0, low, "hanging")
            yield self.bindings(geometry, 0, low, True)
        assert state.summary is not None
        after = low + state.summary.steps
        if state.summary.steps:
            self.stretch = Stretch(low, after, "state")
            yield self.bindings(geometry, low, low)
        self.known.behind()
        high = geometry.steps(state.count)
        if state.stopped:
            high = min(high, after + len(state.last[0]) - self.chunk.width)
        self.stretch = Stretch(after, high, "plain")
        if high > after:
            yield self.bindings(geometry, after, high)
        if state.stopped and high < geometry.steps(state.count):
            raise cut.source.text.refusal(
                "a step is Python's, and the elements after it are not kept",
                cut.loop,
                kind="R6",
                advice="use .stream()",
            )

    def inner(self, number: int, env: dict[str, Any]) -> Started:
        if self.stretch.form != "state":
            return super().inner(number, env)
        state, chunk = self.state, self.chunk
        assert state.summary is not None
        at = Beginning(self, self.fold.loops[number], env)
        loop, constants = _way_of(chunk, state)
        return Started((), applied(loop, at, state.summary, constants, self.stretch.low))


def result_of(state: State) -> Any:
    """The result of the plain function on the elements of a state."""
    streamed = state.fold.streamed
    if state.summary is None:
        return state.fold.python(**dict(zip(streamed.cut.walked, state.first, strict=True)), **state.others)
    chunk = Chunk(state, state.first)
    if state.start and _way_of(chunk, state)[0].places:
        raise FoldError(
            f"the state begins at element {state.start}, and its loop uses the numbers of the steps", kind="R4",
            advice="merge it with those before it",
        )  # fmt: skip
    call = _Finish(state, chunk, chunk.skip + state.summary.steps)
    parts = {name: Part(call.feed, name) for name in streamed.cut.walked}
    return settled(streamed.run(call, parts, state.others), call.feed)
