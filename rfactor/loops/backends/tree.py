"""One state of many: neighbours are merged in pairs, in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rfactor.loops.digests import named_fold
from rfactor.loops.elements import columns_of
from rfactor.loops.states import State, merged, partial


def pairwise(states: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Merge neighbours until one is left."""
    level = list(states)
    while len(level) > 1:
        level = [merge(level[k], level[k + 1]) if k + 1 < len(level) else level[k] for k in range(0, len(level), 2)]
    return level[0]


def named(fold: Any) -> tuple[str, str, Any]:
    """How another process finds a fold. Raises `FoldError` where it cannot."""
    name = fold.python.__module__, fold.python.__qualname__, fold.options
    if name[0] != "__main__":
        named_fold(*name)
    return name


def part(name: tuple[str, str, Any], at: int | None, columns: Any, others: dict[str, Any], *chunk: Any) -> State:
    """The state of a chunk: what a worker does."""
    import numpy as np

    fold = named_fold(*name)
    if columns is not None:
        return partial(fold, chunk, others, at, columns)
    chunk = tuple(np.require(c, requirements="A") if isinstance(c, np.ndarray) else c for c in chunk)
    cut = fold.streamed.cut
    return partial(fold, (), dict(zip(cut.walked, columns_of(chunk, cut.walked), strict=True)) | others, at)


def both(a: State, b: State) -> State:
    """Two neighbours as one."""
    return merged([a, b])


def finish(state: State) -> Any:
    """The result of a state."""
    return state.result()
