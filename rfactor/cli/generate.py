"""`rfactor generate`: the offline run that makes a table of operators."""

from __future__ import annotations

import logging
import os
import time
from contextlib import closing
from pathlib import Path

import click

from rfactor.cli.memory import MEMORY_OPTION
from rfactor.cli.progress import progress_shown
from rfactor.cli.stops import stopping
from rfactor.ir.types import TABLED


def _types(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
    known = [t.name for t in TABLED]
    names = known if value == "all" else [name.strip() for name in value.split(",")]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.BadParameter(f"{', '.join(unknown)}; types are {' '.join(known)}, or all")
    from rfactor.enumerate.run import ordered_types

    return ordered_types(names)


def _leaves(_: click.Context, __: click.Parameter, value: str) -> tuple[int, int]:
    try:
        numbers = [int(part) for part in value.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (1, 2) or not all(1 <= n <= 8 for n in numbers):
        raise click.BadParameter(f"{value!r}; a number from 1 to 8, or two of them as in 6,8")
    return numbers[0], numbers[-1]


def _listed(*allowed: str) -> object:
    def read(_: click.Context, __: click.Parameter, value: str) -> tuple[str, ...]:
        chosen = [part.strip() for part in value.split(",")]
        if wrong := [part for part in chosen if part not in allowed]:
            raise click.BadParameter(f"{', '.join(wrong)}; choose from {', '.join(allowed)}")
        return tuple(part for part in allowed if part in chosen)

    return read


@click.command()
@click.option("--out", "out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The file to make.")
@click.option("--types", callback=_types, default="all", show_default=True, help="Types, e.g. i32,u8.")
@click.option(
    "--max-leaves",
    callback=_leaves,
    default="8",
    show_default=True,
    help="Most leaves of an operator; 6,8 for 6 of one component and 8 of two.",
)
@click.option("--components", callback=_listed("1", "2"), default="1,2", show_default=True, help="Sizes of tuples.")
@click.option("--semantics", callback=_listed("wrap", "math"), default="wrap,math", show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="all cores")
@click.option("--resume", is_flag=True, help="Go on with the run that was begun in --out.")
@click.option("--reductions", is_flag=True, help="Make the table of known reductions instead.")
@click.option(
    "--questions",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Of that table, in the form of check --batch, in place of the shipped ones.",
)
@click.option("--backend", "where", type=click.Choice(["local", "dask"]), default="local", show_default=True)
@click.option("--scheduler", metavar="ADDRESS", help="Of the Dask cluster.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the sample points.")
@click.option("--log", type=click.Path(path_type=Path, dir_okay=False), help="Write the log of all workers here.")
@MEMORY_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print the meta data of the finished table as JSON.")
def generate(
    out: Path,
    types: tuple[str, ...],
    max_leaves: tuple[int, int],
    components: tuple[str, ...],
    semantics: tuple[str, ...],
    jobs: int,
    resume: bool,
    reductions: bool,
    questions: Path | None,
    where: str,
    scheduler: str | None,
    seed: int,
    log: Path | None,
    memory: int,
    as_json: bool,
) -> None:
    """Make a table of elementary associative operators, each proved; with --reductions one of answers about updates.

    The same arguments and seed give the same rows, whatever the number of workers, and however often the run was killed
    and resumed.
    """
    import json

    from rfactor.enumerate.backend import backend
    from rfactor.enumerate.run import Parameters
    from rfactor.enumerate.run import generate as run
    from rfactor.prover.smt import limit_memory

    if questions is not None and not reductions:
        raise click.UsageError("--questions are those of --reductions")
    if reductions:
        from rfactor.cli.reductions import generate_reductions

        with (
            stopping(f"what is finished is kept beside {out}: the same command with --resume goes on"),
            progress_shown() as progress,
        ):
            made = generate_reductions(questions, out, jobs, resume, memory, progress)
        click.echo(json.dumps(made) if as_json else f"{out}: {out.stat().st_size / 1e6:.1f} MB, {made['counts']}")
        return
    parameters = Parameters(types, max_leaves, tuple(map(int, components)), semantics, seed)
    _log_to(log)
    began = time.perf_counter()
    with stopping(f"what is finished is kept in {out}: the same command with --resume goes on"):
        limit_memory(memory)
        with progress_shown() as progress, closing(backend(where, jobs, scheduler, memory)) as chosen:
            meta = run(out, parameters, chosen, resume=resume, progress=progress)
    if as_json:
        click.echo(json.dumps(meta, sort_keys=True))
        return
    kept = {name: counts.get("kept", 0) for name, counts in meta["counts"].items()}
    for name, number in kept.items():
        open_ = meta["counts"][name].get("undecided", 0)
        click.echo(f"{name:14} {number:6} operators" + (f", {open_} undecided" if open_ else ""))
    click.echo(f"{out}: {out.stat().st_size / 1e6:.1f} MB in {time.perf_counter() - began:.1f} s")


def _log_to(path: Path | None) -> None:
    logger = logging.getLogger("rfactor")
    logger.setLevel(logging.INFO)
    if path is not None:
        handler: logging.Handler = logging.FileHandler(path)
        handler.setFormatter(logging.Formatter("%(asctime)s %(processName)s %(name)s: %(message)s"))
        logger.addHandler(handler)
    else:
        logger.addHandler(logging.NullHandler())
