"""`rfactor bench`: the six reductions of the paper's Table 1 on this machine, beside the limit of memory."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from rfactor.cli.programs import Array, Program
from rfactor.cli.table1 import SIZE, programs, reading
from rfactor.compiler.runtime.threads import runtime_name, thread_count

if TYPE_CHECKING:
    from rich.table import Table

WIDTH = 100
"""Columns that the table takes at most."""


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds of one reduction, the least of all trials, and whether its answers agree."""

    title: str
    compile_ms: float
    """Matching, lowering and LLVM of the factored program, once its proofs are known,"""
    first_compile_ms: float
    """and the first time."""
    serial_ms: float
    factored_ms: float
    reading_ms: float
    """Reading all of its arrays, and nothing else."""
    numpy_ms: float | None
    same: bool
    """The factored answer is the serial one bit for bit, and NumPy's; floats to within their rounding."""


@click.command()
@click.option("--size", type=click.IntRange(1 << 8), default=SIZE, show_default=True, help="Elements a reduction.")
@click.option("--trials", type=click.IntRange(1), default=7, show_default=True, help="The least time counts.")
@click.option("--json", "as_json", is_flag=True, help="One object for machines.")
def bench(size: int, trials: int, as_json: bool) -> int:
    """The six reductions of the paper's Table 1: serial, factored, NumPy, and reading the same arrays.

    Serial is the same algorithm without a schedule, through the same passes. All figures are milliseconds of one run;
    only their ratios mean something. Fails if a factored answer is not the serial one.
    """
    from rich.console import Console

    rows = [measure(program, trials) for program in programs(size)]
    if as_json:
        said = {"elements": size, "threads": thread_count(), "runtime": runtime_name()}
        click.echo(json.dumps({**said, "reductions": [asdict(row) for row in rows]}))
    else:
        click.echo(f"{size} elements, {thread_count()} threads on {Path(runtime_name()).name}; milliseconds")
        Console(highlight=False, width=WIDTH).print(table(rows))
    wrong = [row.title for row in rows if not row.same]
    for title in wrong:
        click.echo(f"rfactor bench: {title}: the factored answer is not the serial one", err=True)
    return 1 if wrong else 0


def table(rows: list[Row]) -> Table:
    """The rows for people."""
    from rich.table import Table

    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("reduction", no_wrap=True)
    for column in ("serial", "factored", "speed-up", "reading", "x reading", "NumPy", "compile", "same"):
        result.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        result.add_row(
            row.title,
            f"{row.serial_ms:.2f}",
            f"{row.factored_ms:.2f}",
            f"{row.serial_ms / row.factored_ms:.1f}x",
            f"{row.reading_ms:.2f}",
            f"{row.factored_ms / row.reading_ms:.2f}",
            "-" if row.numpy_ms is None else f"{row.numpy_ms:.2f}",
            f"{row.compile_ms:.0f}",
            "yes" if row.same else "[bold red]NO[/bold red]",
        )
    return result


def measure(program: Program, trials: int) -> Row:
    """Times of one program. What is compared takes turns, so that a busy moment hits all of it."""
    serial, _ = program.algorithm()
    one, other = program.outputs(), program.outputs()
    limit = reading(*program.inputs)
    limit()
    compiled: list[float] = []
    for _ in range(2):
        factored, domain = program.algorithm()
        start = time.perf_counter()
        program.schedule(factored, domain)
        factored.compile_jit()
        compiled.append((time.perf_counter() - start) * 1e3)
    calls: list[Callable[[], object]] = [lambda: serial.realize(one), lambda: factored.realize(other), limit]
    peer = program.numpy
    least = in_turn(calls if peer is None else [*calls, peer], trials)
    pairs = list(zip(one, other, strict=True))
    if peer is not None:
        pairs += zip(one, map(np.asarray, peer()), strict=True)
    same = all(agree(a, b, program.inputs[0].size) for a, b in pairs)
    serial_ms, factored_ms, reading_ms = least[:3]
    numpy_ms = least[3] if peer else None
    return Row(program.title, min(compiled), compiled[0], serial_ms, factored_ms, reading_ms, numpy_ms, same)


def in_turn(calls: list[Callable[[], object]], trials: int) -> list[float]:
    """The least time of each call in milliseconds, over `trials` rounds after one that does not count."""
    least = [float("inf")] * len(calls)
    for trial in range(trials + 1):
        for i in range(len(calls)):
            start = time.perf_counter()
            calls[i]()
            if trial:
                least[i] = min(least[i], (time.perf_counter() - start) * 1e3)
    return least


def agree(a: Array, b: Array, terms: int) -> bool:
    """Whether two answers are one, floats as far as the order of a sum of `terms` terms of size 1 allows."""
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    return bool(np.allclose(a, b, rtol=1e-4, atol=1e-7 * terms))
