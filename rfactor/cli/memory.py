"""What memory a command takes: the option that bounds the solver, and what is kept of what was freed."""

from __future__ import annotations

import ctypes
import sys

import click

from rfactor.prover.limits import MEMORY

MEMORY_OPTION = click.option(
    "--memory",
    type=click.IntRange(50),
    default=MEMORY,
    show_default=True,
    metavar="MB",
    help="That the solver may take in a process; a query that would take more is unknown.",
)


_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""
_KEPT, _LARGEST = 256 << 20, 32 << 20
"""Bytes that are kept when they are freed, and of the largest piece that is taken from those."""


def keep_freed() -> None:
    """Let the C library keep what is freed: solvers come and go with each answer, and a page that is taken anew costs
    more than the work on it. Nothing is done where it has no such setting.
    """
    mallopt = None if sys.platform == "win32" else getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGEST)


__all__ = ["MEMORY_OPTION", "keep_freed"]
