"""What a folded function does beside being called: chunks, states that merge, and engines with data in parts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rfactor.loops.states import State
    from rfactor.loops.stream import Streamed

Progress = bool | Callable[[int], None] | None


class Engines:
    """The ways to run a fold on data that are not there as a whole."""

    _streamed: Streamed | None = None
    _cutting = threading.Lock()

    @property
    def streamed(self) -> Streamed:
        """The function that takes its arguments in parts. Raises `FoldError` where it cannot."""
        if self._streamed is None:
            from rfactor.loops.stream import Streamed

            self._streamed = Streamed(self)  # type: ignore[arg-type]
        return self._streamed

    def stream(
        self,
        chunks: Iterable[Any],
        *,
        columns: Mapping[str, str] | None = None,
        progress: Progress = None,
        **others: Any,
    ) -> Any:
        """The result of the plain function on the chunks joined, with one chunk in memory at a time.

            f.stream(chunks)                    a chunk is the part of the one argument that f walks
            f.stream(zip(xs, ys), k=3)          or a tuple of parts; other arguments are given by name
            f.stream(table.to_batches(), columns={"a": "price"})      or a table, whose columns have names

        Chunks are arrays, lists, bytes, text, Arrow batches and tables, data frames of pandas and Polars. `progress`
        is told the number of elements read, or True for a bar. Raises `FoldError` where the function uses an argument
        as a whole.
        """
        from rfactor.loops.backends.progress import shown
        from rfactor.loops.stream import stream

        with shown(progress) as told:
            return stream(self.streamed, chunks, others, columns, told)

    def partial(
        self, *chunk: Any, at: int | None = None, columns: Mapping[str, str] | None = None, **others: Any
    ) -> State:
        """The state of a part of the elements, which merges with its neighbours.

            s = f.partial(a[:k]); s += f.partial(a[k:]); s.result()      is f(a)

        Arguments are those of the function; those that its loop walks are cut along their first axis, all others are
        the same for all parts. `at`: the position of the chunk's first element, where it is known. Raises `FoldError`
        where the loop has no state that merges: it keeps an order, leaves something behind in each step, or an
        argument is used as a whole.
        """
        from rfactor.loops.states import partial

        return partial(self, chunk, others, at, columns)  # type: ignore[arg-type]

    def state_from_json(self, text: str, **others: Any) -> State:
        """The state that `state.to_json()` has written; `others` are the arguments that are not cut.

        Raises `FoldError` where the function, what it calls, its constants or `others` are not those of the state.
        """
        from rfactor.loops.state_text import from_json

        return from_json(self, text, others)  # type: ignore[arg-type]

    def parquet(
        self,
        files: Any,
        columns: Mapping[str, str] | None = None,
        *,
        state: Any = None,
        progress: Progress = None,
        **others: Any,
    ) -> Any:
        """The result of the plain function on columns of Parquet files, row group by row group.

            f.parquet("s3://…/*.parquet", columns={"gains": "v"}, state="run.state", progress=True)

        `files`: a path, a pattern or several, taken in that order; `columns`: the column of each argument that is cut,
        where it has another name. `state`: a file that keeps what is known after each row group; a run that was ended
        goes on from it, with the same result. It asks for a loop whose states merge; without it any loop that
        `.stream()` takes will do.
        """
        from rfactor.loops.backends.parquet import parquet, rows
        from rfactor.loops.backends.progress import shown

        with shown(progress, rows(files) if progress is True else None) as told:
            return parquet(self, files, columns, state, others, told)  # type: ignore[arg-type]

    def dask(self, *collections: Any, columns: Mapping[str, str] | None = None, **others: Any) -> Any:
        """A Dask `Delayed` of the result: `f.dask(x).compute()`.

        A collection an argument that is cut: arrays of one dimension or whose other dimensions are whole, bags; or one
        data frame, whose columns are the arguments. Blocks are taken in their order, states merged in pairs; keys are
        pure, so that lost work is done again with the same result. The function is found by its name in the workers.
        """
        from rfactor.loops.backends.dask import dask

        return dask(self, collections, columns, others)  # type: ignore[arg-type]

    def ray(self, dataset: Any, columns: Mapping[str, str] | None = None, **others: Any) -> Any:
        """The result on columns of a Ray dataset, whose blocks are taken in their order."""
        from rfactor.loops.backends.ray import ray

        return ray(self, dataset, columns, others)  # type: ignore[arg-type]

    def spark(self, frame: Any, columns: Mapping[str, str] | None = None, *, order: Any = None, **others: Any) -> Any:
        """The result on columns of a Spark data frame, ordered by the columns `order`.

        Without `order` the loop must not depend on the order of the rows; else `FoldError`.
        """
        from rfactor.loops.backends.spark import spark

        return spark(self, frame, columns, order, others)  # type: ignore[arg-type]

    def by(self, key: Any) -> Callable[..., dict[Any, Any]]:
        """The function on the elements of each key: `f.by(key)(a)` is `{k: f(a where key == k)}`.

        Keys come in the order in which they come first, elements in theirs; arguments that are not cut are the same
        for all keys.
        """
        from rfactor.loops.prefixes import by_key

        return lambda *args, **others: by_key(self, key, args, others)  # type: ignore[arg-type]

    def scan(self, *args: Any, **others: Any) -> list[Any]:
        """The result after every element: `[f(a[:1]), f(a[:2]), …, f(a)]`, by one walk.

        Raises `FoldError` where the result after a step cannot be told from the loop's text: it must be returned right
        after the loop, as numbers.
        """
        from rfactor.loops.prefixes import scan

        return scan(self, args, others)  # type: ignore[arg-type]

    def rolling(self, width: int) -> Callable[..., list[Any]]:
        """The function on each window: `f.rolling(w)(a)` is `[f(a[0:w]), f(a[1:w + 1]), …]`."""
        from rfactor.loops.prefixes import rolling

        return lambda *args, **others: rolling(self, width, args, others)  # type: ignore[arg-type]
