"""`rfactor bench`: the six reductions of the paper's Table 1 on this machine, beside the limit of memory."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from rfactor.cli.demo import best
from rfactor.cli.programs import Program
from rfactor.cli.table1 import SIZE, programs, reading
from rfactor.compiler.runtime.threads import runtime_name


@click.command()
@click.option("--size", type=click.IntRange(1 << 8), default=SIZE, show_default=True, help="Elements a reduction.")
@click.option("--trials", type=click.IntRange(1), default=5, show_default=True, help="The least time counts.")
@click.option("--json", "as_json", is_flag=True, help="One object for machines.")
def bench(size: int, trials: int, as_json: bool) -> int:
    """The six reductions of the paper's Table 1: serial, factored, NumPy, and reading the same arrays.

    Serial is the same algorithm without a schedule, through the same passes. All figures are milliseconds of one run;
    only their ratios mean something. Fails if a factored integer answer differs from the serial one.
    """
    from rich.console import Console
    from rich.table import Table

    rows = [measure(program, trials) for program in programs(size)]
    wrong = [row["title"] for row in rows if not row["same"]]
    if as_json:
        click.echo(json.dumps({"elements": size, "runtime": runtime_name(), "reductions": rows}))
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(f"{size} elements, {runtime_name()}")
        for column in ("serial", "factored", "speed-up", "reading", "x reading", "NumPy", "compile"):
            table.add_column(column, justify="right", no_wrap=True)
        for row in rows:
            serial, factored, reading, peer = (row[k] for k in ("serial_ms", "factored_ms", "reading_ms", "numpy_ms"))
            table.add_row(
                row["title"], f"{serial:.2f}", f"{factored:.2f}", f"{serial / factored:.1f}x", f"{reading:.2f}",
                f"{factored / reading:.2f}", "-" if peer is None else f"{peer:.2f}", f"{row['compile_ms']:.0f}",
            )  # fmt: skip
        Console(highlight=False).print(table)
    for title in wrong:
        click.echo(f"rfactor bench: {title}: the factored answer is not the serial one", err=True)
    return 1 if wrong else 0


def measure(program: Program, trials: int) -> dict[str, Any]:
    """Times of one program in milliseconds, and whether its two answers agree (to 1e-4 for floats)."""
    import time

    serial, _ = program.algorithm()
    factored, domain = program.algorithm()
    one, other = program.outputs(), program.outputs()
    start = time.perf_counter()
    program.schedule(factored, domain)
    factored.compile_jit()
    compile_ms = (time.perf_counter() - start) * 1e3
    serial_ms = best(lambda: serial.realize(one[0] if len(one) == 1 else one), trials, 0.0)
    factored_ms = best(lambda: factored.realize(other[0] if len(other) == 1 else other), trials)
    reading_ms = best(reading(*program.inputs), trials)
    numpy_ms = None if program.numpy is None else best(program.numpy, trials, 0.0)
    exact = all(array.dtype.kind != "f" for array in one)
    same = all(
        np.array_equal(a, b) if exact else np.allclose(a, b, rtol=1e-4, atol=1.0)
        for a, b in zip(one, other, strict=True)
    )
    return {
        "title": program.title,
        "serial_ms": serial_ms,
        "factored_ms": factored_ms,
        "reading_ms": reading_ms,
        "numpy_ms": numpy_ms,
        "compile_ms": compile_ms,
        "same": same,
    }
