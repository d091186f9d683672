"""`rfactor verify`: are the bounds that were chosen for the pipelines of a program right?"""

from __future__ import annotations

import contextlib
import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rfactor.errors import Error

if TYPE_CHECKING:
    from rfactor.compiler.verify.result import Verification
    from rfactor.ir.algorithm import Algorithm

EXIT_CODES = {"proven": 0, "refuted": 1, "unknown": 3}
_SHOWN = 20
"""Obligations of a pipeline that are printed."""


@click.command()
@click.argument("program", metavar="FILE.py[:NAME]")
@click.option("--timeout", default=1.0, metavar="SECONDS", help="Of the solver's work for one question.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with every obligation.")
def verify(program: str, timeout: float, as_json: bool) -> int:
    """Prove the bounds of the pipelines in a program: every access, computed box, fold, loop and coordinate.

    This RUNS the program, with all that it does, as `python FILE.py` would; what it prints goes to standard error.
    Every pipeline that it realizes is verified, for all sizes, parameters and data. With a NAME the program is run as
    if it were imported, and verified is what has that name in it: a Func, a Pipeline, a list of Funcs, or a function
    without arguments that returns one of these, perhaps as the first of a tuple.

    \b
    Examples:
      rfactor verify examples/blur.py
      rfactor verify pipelines.py:sharpened --json

    Exit codes: 0 proven, 1 refuted, 2 bad input, 3 unknown.
    """
    if not timeout > 0:
        raise click.UsageError(f"--timeout must be positive, not {timeout:g}")
    head, colon, name = program.rpartition(":")
    file = Path(head if colon and head.endswith(".py") else program)
    if not file.is_file():
        raise click.UsageError(f"there is no file {file}")
    found = dict(_named(file, name, timeout) if colon and head.endswith(".py") else _realized(file, timeout))
    if not found:
        raise Error(f"{file} realizes nothing: name what is to be verified, as in {file}:f")
    verdicts = {one.verdict for one in found.values()}
    verdict = "refuted" if "refuted" in verdicts else "unknown" if "unknown" in verdicts else "proven"
    if as_json:
        pipelines = [{"outputs": outputs, **one.json()} for outputs, one in found.items()]
        click.echo(json.dumps({"file": str(file), "verdict": verdict, "pipelines": pipelines}))
    else:
        for outputs, one in found.items():
            click.echo(f"{outputs}: {one.summary(_SHOWN)}")
    return EXIT_CODES[verdict]


def _realized(file: Path, timeout: float) -> Iterator[tuple[str, Verification]]:
    """Every pipeline that a program compiles, by the names of its outputs."""
    from rfactor.compiler import pipeline
    from rfactor.compiler.schedule.directives import Schedule
    from rfactor.compiler.verify.verify import verify_pipeline

    compiled: dict[str, tuple[Algorithm, Schedule]] = {}

    def told(algorithm: Algorithm, schedule: Schedule) -> None:
        if (algorithm, schedule) not in compiled.values():
            name = ", ".join(algorithm.outputs)
            compiled[name if name not in compiled else f"{name} ({len(compiled)})"] = algorithm, schedule

    pipeline.told_of.append(told)
    try:
        _run(file, "__main__")
    finally:
        pipeline.told_of.remove(told)
    for name, one in compiled.items():
        yield name, verify_pipeline(*one, timeout)


def _named(file: Path, name: str, timeout: float) -> Iterator[tuple[str, Verification]]:
    """What has a name in a program."""
    from rfactor.compiler.language.func import Func
    from rfactor.compiler.language.pipeline import Pipeline
    from rfactor.compiler.verify.verify import verify

    names = _run(file, file.stem)
    if name not in names:
        raise Error(f"{file} has nothing named {name}")
    value = names[name]
    if callable(value) and not isinstance(value, Func | Pipeline):
        with contextlib.redirect_stdout(sys.stderr), _failing(file):
            value = value()
    if isinstance(value, tuple) and value and not all(isinstance(one, Func) for one in value):
        value = value[0]
    if isinstance(value, Func | Pipeline):
        yield name, value.verify(timeout)
    elif isinstance(value, list | tuple) and value and all(isinstance(one, Func) for one in value):
        yield name, verify(value, timeout)
    else:
        raise Error(f"{name} is no Func and no Pipeline: {type(value).__name__}")


def _run(file: Path, name: str) -> dict[str, Any]:
    """The names that a program defines when it is run under a name."""
    arguments, path = sys.argv, sys.path
    sys.argv, sys.path = [str(file)], [str(file.parent), *path]
    try:
        with contextlib.redirect_stdout(sys.stderr), _failing(file):
            return runpy.run_path(str(file), run_name=name)
    finally:
        sys.argv, sys.path = arguments, path


@contextlib.contextmanager
def _failing(file: Path) -> Iterator[None]:
    """What the program raises is bad input."""
    try:
        yield
    except SystemExit as stopped:
        if stopped.code not in (None, 0):
            raise Error(f"{file} ended with status {stopped.code}") from None
    except Exception as error:
        raise Error(f"{file} raised {type(error).__name__}: {error}") from error
