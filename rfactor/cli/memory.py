"""The option that bounds what the solver takes."""

from __future__ import annotations

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

__all__ = ["MEMORY_OPTION"]
