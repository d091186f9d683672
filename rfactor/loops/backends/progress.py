"""Show how far a run is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def shown(progress: Any, total: int | None = None) -> Iterator[Callable[[int], None] | None]:
    """Give what is told the number of elements done: a callable as it is; True: a bar, on a terminal."""
    if callable(progress):
        yield progress
        return
    if not progress or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    with Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("elements", total=total)
        yield lambda done: bar.update(task, completed=done)
