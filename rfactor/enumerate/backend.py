"""Where units of work run: here, in worker processes, or on a Dask cluster. Results come as they are ready."""

from __future__ import annotations

import logging
import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

from rfactor.errors import Error

Task = TypeVar("Task")
Result = TypeVar("Result")


class Backend(Protocol):
    """Runs a function on tasks. A task may be run again after its worker is lost, so functions are pure."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        """(index of the task, result) in any order."""
        ...

    def close(self) -> None: ...


class Serial:
    """One task after the other, here."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        for index, task in zip(range(len(tasks)), tasks, strict=True):
            yield index, function(task)

    def close(self) -> None:
        return


def _begin_worker() -> None:
    # Ctrl-C is for the process that writes; it ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


class _Indexed(Generic[Task, Result]):
    def __init__(self, function: Callable[[Task], Result]) -> None:
        self.function = function

    def __call__(self, pair: tuple[int, Task]) -> tuple[int, Result]:
        return pair[0], self.function(pair[1])


class Workers:
    """Worker processes; their log records come to this process's handlers."""

    def __init__(self, jobs: int) -> None:
        from multiprocessing_logging import install_mp_handler

        install_mp_handler(logging.getLogger("rfactor"))
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if "fork" in methods else None)
        self._pool = context.Pool(jobs, initializer=_begin_worker)

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        pairs = list(zip(range(len(tasks)), tasks, strict=True))
        yield from self._pool.imap_unordered(_Indexed(function), pairs)

    def close(self) -> None:
        self._pool.terminate()
        self._pool.join()


class Dask:
    """The workers of a Dask cluster; a task of a worker that is lost runs again elsewhere."""

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise Error("--backend dask needs the extra: pip install 'rfactor[distributed]'") from error
        self._client = Client(scheduler)

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        from distributed import as_completed

        futures = [self._client.submit(function, task, pure=False, retries=5) for task in tasks]
        index = {future.key: number for number, future in zip(range(len(futures)), futures, strict=True)}
        for future in as_completed(futures):
            yield index[future.key], future.result()
            future.release()

    def close(self) -> None:
        self._client.close()


def backend(name: str, jobs: int, scheduler: str | None) -> Backend:
    """The backend called `local` or `dask`. Raises `Error` where it cannot be had."""
    if name == "dask":
        if not scheduler:
            raise Error("--backend dask needs --scheduler ADDRESS")
        return Dask(scheduler)
    return Serial() if jobs <= 1 else Workers(jobs)
