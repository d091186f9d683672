"""`rfactor bench`: the paper's tables on this machine, beside the peers that are installed; time against size."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from rfactor.bench.compare import AGAINST_HALIDE, AUTO, OURS, READING, ROUNDS, SERIAL, Comparison, Row, compare
from rfactor.bench.peers import PEERS
from rfactor.bench.table1 import HARD, KEYS, SIZE
from rfactor.files import write_whole

if TYPE_CHECKING:
    from rich.table import Table

    from rfactor.bench.lines import Lines
    from rfactor.bench.search import Search

WIDTH = 120
"""Columns that a table takes at most."""
COLUMNS = (
    SERIAL,
    OURS,
    AUTO,
    "Halide",
    "Halide alike",
    "Halide serial",
    "OpenMP C",
    "NumPy",
    "Numba",
    "Numba serial",
    READING,
)


_OF_TABLE_1 = ("size", "trials", "peers", "only", "auto", "chart")
"""Options that say nothing of the other tables."""


class Names(click.ParamType):  # type: ignore[type-arg]
    """Some of the names that there are, separated by commas; `none` for none."""

    name = "names"

    def __init__(self, there: Sequence[str]) -> None:
        self.there = there

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if not isinstance(value, str):
            return tuple(value)
        names = () if value == "none" else tuple(part.strip() for part in value.split(","))
        for name in names:
            if name not in self.there:
                self.fail(f"{name!r} is none of {', '.join(self.there)}", param, ctx)
        return names


@click.command()
@click.option("--table", type=click.Choice(["1", "2", "3", "all"]), default="all", show_default=True)
@click.option("--scaling", is_flag=True, help="Instead: time against size, on one thread and on all.")
@click.option(
    "--size", type=click.IntRange(1 << 8), help=f"Elements a reduction. [default: {SIZE}; scaling: up to 2^28]"
)
@click.option(
    "--trials", type=click.IntRange(1), help=f"Rounds, in which all take turns. [default: {ROUNDS}; scaling: 11]"
)
@click.option("--peers", type=Names(list(PEERS)), default=",".join(PEERS), show_default=True, help="Or `none`.")
@click.option("--only", type=Names((*KEYS, *HARD)), help=f"Some of {', '.join((*KEYS, *HARD))}.")
@click.option("--auto", is_flag=True, help="Table 1 with what auto_rfactor chooses, beside the schedules by hand.")
@click.option("--json", "as_json", is_flag=True, help="Print one object for machines.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write that object to a file too.")
@click.option("--chart", type=click.Path(dir_okay=False, path_type=Path), help="Draw it: a file .svg or .png.")
def bench(
    table: str,
    scaling: bool,
    size: int | None,
    trials: int | None,
    peers: tuple[str, ...],
    only: tuple[str, ...] | None,
    auto: bool,
    as_json: bool,
    out: Path | None,
    chart: Path | None,
) -> int:
    """The six reductions of the paper's Table 1 beside Halide, C with OpenMP, NumPy, Numba and reading memory; the
    lines of code (Table 2) and the time to find the operator (Table 3).

    Serial is the same algorithm without a schedule. Contenders take turns for some rounds; the least time counts, and
    the median is shown. Only ratios within a run mean something. Peers that are not installed are said to be absent
    (pip install 'rfactor-compiler[bench]'). Exits with 1 if an answer is not the serial one.
    """
    _check_options(click.get_current_context(), table, scaling, only)
    _check_paths(out, chart)
    told = _teller(as_json)
    if scaling:
        said, wrong, draw = _scaling(size, trials or 11, peers, only, as_json, told)
    else:
        said, wrong, draw = _tables(table, size or SIZE, trials or ROUNDS, peers, only, auto, as_json, told)
    if as_json:
        click.echo(json.dumps(said))
    if out is not None:
        write_whole(out, json.dumps(said, indent=1) + "\n")
    if chart is not None:
        draw(chart)
    for one in wrong:
        click.echo(f"rfactor bench: {one}: not the serial answer", err=True)
    return 1 if wrong else 0


def _check_options(context: click.Context, table: str, scaling: bool, only: tuple[str, ...] | None) -> None:
    """Options that others leave nothing to do for are refused, not passed over."""
    given = {
        option.name: option.opts[0]
        for option in context.command.params
        if option.name and context.get_parameter_source(option.name) is not ParameterSource.DEFAULT
    }
    if only == ():
        raise click.UsageError(f"--only none leaves nothing to run: name some of {', '.join((*KEYS, *HARD))}")
    if scaling:
        if "table" in given:
            raise click.UsageError("--scaling runs no table: leave out --table, or --scaling")
        if "auto" in given:
            raise click.UsageError("--scaling has curves of what auto_rfactor chooses as it is: leave out --auto")
        data = [key for key in only or () if key not in KEYS]
        if data:
            raise click.UsageError(f"--scaling runs {', '.join(KEYS)}; {', '.join(data)}: of --table 1 alone")
    elif table in ("2", "3"):
        idle = [option for name, option in given.items() if name in _OF_TABLE_1]
        if idle:
            raise click.UsageError(
                f"--table {table} takes no {', '.join(idle)}: leave that out, or ask for --table 1 or all"
            )


def _check_paths(out: Path | None, chart: Path | None) -> None:
    """What would fail at the end of a long run is said before it."""
    for path in (out, chart):
        if path is not None and not path.absolute().parent.is_dir():
            raise click.UsageError(f"there is no folder {path.absolute().parent} to write {path.name} into")
    if chart is not None:
        from rfactor.bench.charts import require

        if out is not None and chart.absolute() == out.absolute():
            raise click.UsageError(f"--out and --chart would both write {chart.name}: name two files")
        if chart.suffix not in (".svg", ".png"):
            raise click.UsageError(f"--chart writes .svg or .png, not {chart.name}")
        try:
            require()
        except ImportError as error:
            raise click.UsageError("--chart needs matplotlib: pip install 'rfactor-compiler[bench]'") from error


def _teller(as_json: bool) -> Callable[[str], None]:
    """Says on stderr what runs now."""
    return lambda what: None if as_json else click.echo(f"{what} ...", err=True)


Result = tuple[dict[str, Any], list[str], Callable[[Path], None]]
"""The object for machines, whose answers are wrong, and what draws the chart."""


def _tables(
    which: str,
    size: int,
    trials: int,
    peers: tuple[str, ...],
    only: tuple[str, ...] | None,
    auto: bool,
    as_json: bool,
    told: Callable[[str], None],
) -> Result:
    said: dict[str, Any] = {}
    wrong: list[str] = []
    comparison: Comparison | None = None
    if which in ("1", "all"):
        comparison = compare(size, trials, peers, only or (*KEYS, *HARD), auto=auto, told=told)
        said["table1"], wrong = comparison.as_dict(), comparison.wrong
        if not as_json:
            _show(comparison)
    if which in ("2", "all"):
        from rfactor.bench.lines import lines

        counted = lines()
        said["table2"] = [{"key": one.key, "by_hand": one.by_hand, "rfactor": one.factored} for one in counted]
        if not as_json:
            _print(lines_table(counted))
    if which in ("3", "all"):
        from dataclasses import asdict

        from rfactor.bench.search import search

        told("the search for operators")
        found = search()
        said["table3"] = [asdict(one) for one in found]
        if not as_json:
            _print(search_table(found))

    def draw(path: Path) -> None:
        from rfactor.bench.charts import bars

        assert comparison is not None, "see _check_options"
        bars(comparison, path)

    return said, wrong, draw


def _scaling(
    size: int | None,
    trials: int,
    peers: tuple[str, ...],
    only: tuple[str, ...] | None,
    as_json: bool,
    told: Callable[[str], None],
) -> Result:
    from rfactor.bench.charts import curves
    from rfactor.bench.scaling import scale

    scaled = scale(size, trials, peers, KEYS if only is None else only, told=told)
    if not as_json:
        for line in scaled.lines():
            click.echo(line)
    return scaled.as_dict(), [], lambda path: curves(scaled, path)


def _print(shown: Table) -> None:
    from rich.console import Console

    Console(highlight=False, width=WIDTH).print(shown)
    click.echo()


def _show(comparison: Comparison) -> None:
    """Table 1 for people."""
    of = f"{comparison.size} elements, {comparison.threads} threads on {comparison.runtime}, {comparison.cpu}"
    click.echo("; ".join(filter(None, (of, ", ".join(comparison.versions.values())))))
    for reason in comparison.absent.values():
        click.echo(f"absent: {reason}")
    click.echo(f"Milliseconds, least and median of {comparison.trials} rounds in turn:")
    _print(times_table(comparison))
    click.echo("How many times longer than rfactor:")
    _print(ratios_table(comparison))
    mean = comparison.against_halide
    if mean is not None:
        mark = "reached" if mean >= AGAINST_HALIDE else "missed"
        ran = sum(row.key in KEYS for row in comparison.rows)
        some = "" if ran == len(KEYS) else f"{ran} of "
        click.echo(
            f"Halide under the schedules of its own benchmark takes {mean:.2f}x as long, "
            f"geometric mean of {some}the six (to reach: {AGAINST_HALIDE}x: {mark}), "
            f"and {comparison.against_halide_alike:.2f}x under ours (Halide alike); "
            f"by median times {comparison.against_halide_median:.2f}x"
        )
        slower = [row.title for row in comparison.rows if (row.ratio("Halide") or 1) < 1]
        click.echo(f"Halide is faster in: {'; '.join(slower) or 'none'}")
    tied = [row.title for row in comparison.rows if "another tie" in row.answers.values()]
    if tied:
        click.echo(f"Halide names another of equal elements in: {'; '.join(tied)}")
    if not comparison.wrong:
        click.echo(f"All {'other ' if tied else ''}answers are the serial ones (floats within rounding).")
    click.echo()


def times_table(comparison: Comparison) -> Table:
    """Milliseconds, least and median."""
    from rich.table import Table

    names = [name for name in COLUMNS if any(name in row.times for row in comparison.rows)]
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("reduction", no_wrap=True)
    for name in names:
        result.add_column(name, justify="right")
    for row in comparison.rows:
        result.add_row(row.title, *(_least(row, name) for name in names))
        result.add_row("", *(_median(row, name) for name in names), style="dim")
    return result


def _least(row: Row, name: str) -> str:
    return f"{row.times[name].least:.3g}" if name in row.times else "-"


def _median(row: Row, name: str) -> str:
    return f"{row.times[name].median:.3g}" if name in row.times else ""


def ratios_table(comparison: Comparison) -> Table:
    """Every contender's least time by that of the factored program, and whether the bar is reached."""
    from rich.table import Table

    names = [name for name in COLUMNS if name != OURS and any(name in row.times for row in comparison.rows)]
    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("reduction", no_wrap=True)
    for name in names:
        result.add_column(name, justify="right")
    for column in ("to reach", "is", ""):
        result.add_column(column, justify="right", no_wrap=True)
    for row in comparison.rows:
        ratios = ((name, row.ratio(name)) for name in names)
        is_ = row.ratio(row.bar.of)
        result.add_row(
            row.title,
            *("-" if ratio is None else f"{ratio:.2f}" for _, ratio in ratios),
            str(row.bar),
            "-" if is_ is None else f"{1 / is_:.2f}",
            {True: "[green]yes[/green]", False: "[red]no[/red]", None: "-"}[row.holds],
        )
    return result


def lines_table(counted: tuple[Lines, ...]) -> Table:
    """Table 2 for people."""
    from rich.table import Table

    from rfactor.bench.lines import PAPER

    result = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("lines of code", "by hand", "rfactor", "fewer", "paper: by hand", "rfactor", "fewer"):
        result.add_column(column, justify="left" if column == "lines of code" else "right")
    for one in counted:
        hand, factored = PAPER[one.key]
        result.add_row(
            one.key, str(one.by_hand), str(one.factored), f"{1 - one.factored / one.by_hand:.0%}",
            str(hand), str(factored), f"{1 - factored / hand:.0%}",
        )  # fmt: skip
    return result


def search_table(found: tuple[Search, ...]) -> Table:
    """Table 3 for people."""
    from rich.table import Table

    from rfactor.bench.search import PAPER, PAPER_REFUSAL

    result = Table(box=None, pad_edge=False, header_style="bold")
    result.add_column("milliseconds of the processor")
    for column in ("first with proofs", "again", "whole compile", "Halide's", "paper: search", "compile"):
        result.add_column(column, justify="right")
    for one in found:
        search_ms, compile_ms = PAPER.get(one.key, (PAPER_REFUSAL, None))
        result.add_row(
            one.title if one.compile is not None else f"refused: {one.title}",
            f"{one.first:.1f}", f"{one.again:.2f}", "-" if one.compile is None else f"{one.compile:.0f}",
            "-" if one.halide is None else f"{one.halide:.0f}",
            f"{search_ms:.2f}", "-" if compile_ms is None else f"{compile_ms:.0f}",
        )  # fmt: skip
    return result
