"""Where units of work run: here, in worker processes, or on a Dask cluster. Results come as they are ready."""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

from rfactor.errors import Error
from rfactor.prover.limits import MEMORY

LOG = logging.getLogger("rfactor.enumerate")

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


_SIGNALS = {signal.SIGINT, signal.SIGTERM}


@contextmanager
def _deaf() -> Iterator[None]:
    """What is forked inside has signals wait until it is ready for them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def _begin_worker(megabytes: int) -> None:
    # Ctrl-C is for the process that writes; it ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    _bound_memory(megabytes)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Ends this process when the one that writes is gone, even by SIGKILL: nobody waits for its work any more."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _bound_memory(megabytes: int) -> None:
    """Bounds the memory of this process to what it has and three times so much.

    The solver stops by itself before; what does not, or is no solver, fails here and not on another's account.
    """
    try:
        import resource

        has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        bound = has + 3 * megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (bound if most < 0 else min(bound, most), most))
    except (ImportError, OSError, ValueError):  # not on this system
        return


class Workers:
    """Worker processes; their log records come to this process's handlers.

    The tasks of a worker that dies are run again. Raises `Error` where workers die again and again, or run out of
    memory: each may take three times as many `megabytes` as the solver may.
    """

    def __init__(self, jobs: int, megabytes: int = MEMORY) -> None:
        from multiprocessing_logging import install_mp_handler

        install_mp_handler(logging.getLogger("rfactor"))
        self._jobs, self._megabytes = jobs, megabytes
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        methods = multiprocessing.get_all_start_methods()
        context = multiprocessing.get_context("fork" if "fork" in methods else None)
        return ProcessPoolExecutor(
            self._jobs, mp_context=context, initializer=_begin_worker, initargs=(self._megabytes,)
        )

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        missing = dict(zip(range(len(tasks)), tasks, strict=True))
        losses = 0
        while missing:
            try:
                for index, result in self._some(function, missing):
                    del missing[index]
                    losses = 0
                    yield index, result
            except MemoryError:
                raise Error(
                    "a worker process ran out of memory; what is finished is kept: go on with --resume, more --memory"
                ) from None
            except BrokenProcessPool:
                losses += 1
                if losses > _LOSSES:
                    raise Error(
                        f"a worker process was lost {losses} times in a row (out of memory?); "
                        "what is finished is kept: go on with --resume and fewer --jobs"
                    ) from None
                LOG.warning("a worker process was lost; its work is run again")
                self._pool.shutdown(wait=False, cancel_futures=True)
                self._pool = self._start()

    def _some(self, function: Callable[[Task], Result], missing: Mapping[int, Task]) -> Iterator[tuple[int, Result]]:
        """Results as they are ready, with few tasks ahead of the workers."""
        waiting = iter(list(missing.items()))
        running: dict[Future[Result], int] = {}
        while True:
            for index, task in itertools.islice(waiting, 2 * self._jobs - len(running)):
                with _deaf():  # the first one starts the workers
                    running[self._pool.submit(function, task)] = index
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), future.result()

    def close(self) -> None:
        """Ends the workers at once, whatever they are doing."""
        for process in list((self._pool._processes or {}).values()):
            process.terminate()
        self._pool.shutdown(wait=True, cancel_futures=True)


_LOSSES = 3
"""Workers lost in a row, with no task finished between, after which a run gives up."""


class Dask:
    """The workers of a Dask cluster; a task of a worker that is lost runs again elsewhere. Raises `Error` where no
    scheduler answers."""

    def __init__(self, scheduler: str) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise Error("--backend dask needs the extra: pip install 'rfactor-compiler[distributed]'") from error
        try:
            self._client = Client(scheduler)
        except (OSError, ValueError) as error:
            raise Error(f"no Dask scheduler is reached at {scheduler}, as in --scheduler HOST:8786: {error}") from error

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[tuple[int, Result]]:
        from distributed import as_completed

        futures = [self._client.submit(function, task, pure=False, retries=5) for task in tasks]
        index = {future.key: number for number, future in zip(range(len(futures)), futures, strict=True)}
        for future in as_completed(futures):
            yield index[future.key], future.result()
            future.release()

    def close(self) -> None:
        self._client.close()


def backend(name: str, jobs: int, scheduler: str | None, megabytes: int = MEMORY) -> Backend:
    """The backend called `local` or `dask`. Raises `Error` where it cannot be had."""
    if name == "dask":
        if not scheduler:
            raise Error("--backend dask needs --scheduler ADDRESS")
        return Dask(scheduler)
    return Serial() if jobs <= 1 else Workers(jobs, megabytes)
