"""Ctrl-C and SIGTERM in the middle of long work: workers are ended, files closed, and one line says how to go on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Stopped(BaseException):
    """One of the signals came."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def stopping(advice: str) -> Iterator[None]:
    """A signal ends what is inside; then the process exits with 128 + its number, after a line with the advice.

    What is inside ends once: later signals wait until it is done with its `finally`s. Signals that are ignored stay so.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _: object) -> None:
        for other in taken:
            signal.signal(other, signal.SIG_IGN)
        raise _Stopped(number)

    taken = {number: old for number in _SIGNALS if (old := signal.getsignal(number)) not in (signal.SIG_IGN, None)}
    for number in taken:
        signal.signal(number, stop)
    try:
        yield
    except _Stopped as stopped:
        what = "interrupted" if stopped.number == signal.SIGINT else "terminated"
        click.echo(f"rfactor: {what}; {advice}", err=True)
        raise SystemExit(128 + stopped.number) from None
    finally:
        for number, old in taken.items():
            signal.signal(number, old)


__all__ = ["stopping"]
