"""How far long work has come: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click


@contextmanager
def progress_shown() -> Iterator[Callable[[str, int, int], None]]:
    """A bar with rate and time left on a terminal, a line every few seconds elsewhere."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.text import Text

        class _Rate(ProgressColumn):
            """Units a second."""

            def render(self, task: Task) -> Text:
                return Text(f"{task.speed:.1f}/s" if task.speed else "")

        columns = (
            TextColumn("{task.description:8}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            tasks: dict[str, object] = {}

            def show(stage: str, done: int, total: int) -> None:
                if stage not in tasks:
                    tasks[stage] = bar.add_task(stage, total=total)
                bar.update(tasks[stage], completed=done, total=total)  # type: ignore[arg-type]

            yield show
        return
    last = 0.0

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if done == total or now - last > 5:
            last = now
            click.echo(f"{stage}: {done} of {total}", err=True)

    yield tell
