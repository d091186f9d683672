"""Warnings that Halide gives on the standard output."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTOLD = ContextVar("_UNTOLD", default=False)


def tell(warning: str) -> None:
    """Write a warning as a line, or as the lines that it is of."""
    if not _UNTOLD.get():
        print(f"Warning: {warning}")


@contextmanager
def untold() -> Iterator[None]:
    """Within it nothing is told: the definitions are not the user's."""
    token = _UNTOLD.set(True)
    try:
        yield
    finally:
        _UNTOLD.reset(token)
