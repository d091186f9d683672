"""`rfactor check`: is there an associative operator behind an update, and if not, why not."""

from __future__ import annotations

import gc
import json
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from rfactor.cli.memory import MEMORY_OPTION, keep_freed
from rfactor.errors import Error, excerpt
from rfactor.files import write_whole
from rfactor.prover.limits import MEMORY

if TYPE_CHECKING:
    from rfactor.matcher.answer import Answer

EXIT_CODES = {"associative": 0, "lifted": 0, "not_associative": 1, "unknown": 3}


@click.command()
@click.argument("update", required=False)
@click.option("--type", "type_", default="i32", metavar="TYPE", help="Type of names that nothing else types.")
@click.option("--types", default="", metavar="NAME=TYPE,…", help="Types of single names, as x0=u8,i=i32.")
@click.option("--state", default="", metavar="NAME,…", help="Names of the accumulators, in order: then x is data.")
@click.option("--const", default="", metavar="NAME,…", help="Names that stay the same through the loop (k… always do).")
@click.option(
    "--function",
    multiple=True,
    metavar='"NAME: TYPE, … -> TYPE"',
    help="Type of a function that is not known otherwise.",
)
@click.option(
    "--start",
    metavar='"VALUE, …"',
    help="Each accumulator before the loop, over constants; _ for what is not known. Loop invariants are inferred from "
    "it where the update as it is has no operator.",
)
@click.option(
    "--assume",
    metavar='"CONDITION, …"',
    help="Loop invariants over accumulators and constants: proved to be kept by every step, and promised to hold "
    "before the loop, or proved by --start.",
)
@click.option("--semantics", type=click.Choice(["wrap", "math"]), default="wrap", help="Meaning of integer arithmetic.")
@click.option("--timeout", default=10.0, metavar="SECONDS", help="After this the answer is unknown.")
@MEMORY_OPTION
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--operator", is_flag=True, help="UPDATE is a binary operator over x and y: ask of it as it stands.")
@click.option(
    "--batch",
    metavar="FILE",
    help="Read one JSON object or one update a line (- is standard input), write one answer a line: an object for an "
    "object, or with --json. Types and the like that are given beside it are for lines that have none.",
)
@click.option("--claim", metavar="FILE", help="Prove the claim in a JSON file (- is standard input).")
@click.option("--explain", is_flag=True, help="Also show the dependency graph and its decomposition.")
@click.option("--emit-smt2", "folder", metavar="DIR", help="Write what a yes rests on as SMT-LIB files.")
@click.option("--svg", metavar="FILE", help="Draw the graph and the decomposition to a file.")
def check(
    update: str | None,
    type_: str,
    types: str,
    state: str,
    const: str,
    function: tuple[str, ...],
    start: str | None,
    assume: str | None,
    semantics: str,
    timeout: float,
    memory: int,
    as_json: bool,
    operator: bool,
    batch: str | None,
    claim: str | None,
    explain: bool,
    folder: str | None,
    svg: str | None,
) -> int:
    """Is there an associative operator behind the serial update x := UPDATE? Prove it, or show why not.

    Accumulators are x (= x0), x1, …, or the names given with --state; k, k0, … are constants of the loop; every other
    name is data of the iteration. An assignment such as "s += a" names its accumulator itself. A function of no known
    name may be any function: a yes holds for all of them. UPDATE - reads updates from standard input, one a line.

    \b
    Examples:
      rfactor check "min(x0, a), select(x0 < a, x1, i)"
      rfactor check "acc*31 + x" --state acc
      rfactor check "max(x + a, b)" --semantics math --json
      printf 'x + a\nmax(x, a)\n' | rfactor check -
      rfactor check --operator "x + y + 7*x*y"

    Exit codes: 0 yes, 1 no (proved), 2 bad input, 3 unknown.
    """
    if update == "-":
        if batch is not None:
            raise click.UsageError("- and --batch both name what is read: leave out one")
        update, batch = None, "-"
    if folder is not None and (batch is not None or operator):
        raise click.UsageError("--emit-smt2 takes an update or a --claim, not --batch or --operator")
    if (explain or svg is not None) and (batch is not None or operator or claim is not None):
        raise click.UsageError("--explain and --svg take one update, not --batch, --operator or --claim")
    if not timeout > 0:
        raise click.UsageError(f"--timeout must be positive, not {timeout:g}")
    settings = {
        "type": type_, "types": _typed_names(types), "const": _names(const), "semantics": semantics,
        "functions": _functions(function), "state": _names(state, "--state"), "start": start, "assume": assume,
    }  # fmt: skip
    if memory != MEMORY:
        from rfactor.prover.smt import limit_memory

        limit_memory(memory)
    if batch is not None:
        if update is not None or operator or claim is not None:
            raise click.UsageError("--batch takes no update, --operator or --claim beside it")
        return run_batch(batch, timeout, settings, as_json)
    if claim is not None:
        if update is not None or operator:
            raise click.UsageError("--claim takes no update or --operator beside it")
        from rfactor.cli.claims import check_claim

        if start is not None or assume is not None:
            raise click.UsageError("--start and --assume are of an update, not of a --claim")
        return check_claim(_read(claim), timeout, as_json, None if folder is None else Path(folder), settings)
    if update is None:
        raise click.UsageError('an update is needed, as in: rfactor check "x + a"')
    if operator:
        if start is not None or assume is not None:
            raise click.UsageError("--start and --assume are of an update, not of an --operator")
        from rfactor.cli.operators import check_operator

        return check_operator(update, settings, timeout, as_json)
    answer = answer_to(update, settings, timeout)
    if folder is not None:
        emit(answer, update, Path(folder), timeout)
    return show(answer, update, as_json, explain, svg)


def answer_to(update: str, settings: Mapping[str, Any], timeout: float) -> Answer:
    """The answer about one update; the settings are those of an object of a batch. Raises `rfactor.Error`."""
    from rfactor.cli.objects import (
        assumed_of,
        constants_of,
        functions_of,
        meaning_of,
        start_of,
        state_of,
        type_of,
        types_of,
    )
    from rfactor.matcher.check import check as decide

    return decide(
        update,
        type_of(settings),
        types_of(settings),
        constants_of(settings),
        meaning_of(settings),
        timeout,
        functions_of(settings),
        state_of(settings),
        start_of(settings),
        assumed_of(settings),
    )


def emit(answer: Answer, update: str, folder: Path, timeout: float) -> None:
    """Write the obligations of a yes to a folder. Raises `rfactor.Error` where there are none."""
    from rfactor.matcher.invariants.inductive import obligations_from_start
    from rfactor.matcher.obligations import obligations_of
    from rfactor.prover.limits import Limits
    from rfactor.prover.obligation import write_smtlib

    found = obligations_of(answer, Limits(seconds=timeout))
    if found is None:
        raise Error(f"--emit-smt2: the answer is {answer.verdict.replace('_', ' ')}; only a yes rests on obligations")
    found += obligations_from_start(answer)
    write_smtlib(found, folder, [f"update: {update}", f"types {', '.join(map(str, answer.update.types))}"])


def show(answer: Answer, update: str, as_json: bool, explain: bool, svg: str | None) -> int:
    """Print one answer; the exit code."""
    from rfactor.matcher import report

    if svg is not None:
        from rfactor.matcher.drawing import draw

        write_whole(svg, draw(answer))
    if as_json:
        click.echo(json.dumps(report.to_json(answer, update), ensure_ascii=False))
    else:
        click.echo(report.to_text(answer, update))
        if explain:
            click.echo(report.explain(answer))
    return EXIT_CODES[answer.verdict]


def _names(text: str, option: str = "--const") -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if not name.isidentifier():
            raise click.UsageError(f"{option}: {excerpt(name)!r} is not a name")
    return names


def _typed_names(text: str) -> dict[str, str]:
    result = {}
    for part in (part.strip() for part in text.split(",")):
        if not part:
            continue
        name, equals, type_ = (piece.strip() for piece in part.partition("="))
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--types takes NAME=TYPE, separated by commas, not {excerpt(part)!r}")
        result[name] = type_
    return result


def _functions(texts: tuple[str, ...]) -> dict[str, str]:
    """Types of functions by name. Raises `click.UsageError`."""
    result = {}
    for text in texts:
        name, colon, signature = (piece.strip() for piece in text.partition(":"))
        if not colon or not name.isidentifier():
            raise click.UsageError(f'--function takes "h: i32, i32 -> f32", not {excerpt(text)!r}')
        result[name] = signature
    return result


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None


# Many updates in one run.

TIDIED = 1_000_000
"""Objects made since memory was last tidied after which it is again."""


def run_batch(path: str, timeout: float, settings: Mapping[str, Any], as_json: bool = False) -> int:
    """Answer every line in order; 0 if each could be read, else 2. The settings are for keys that a line has not.

    A line is an object, which is answered by one, or an update by itself, answered by a line for people unless
    `as_json` asks for objects.
    """
    bad = False
    gc.disable()  # memory is tidied between answers, not within one
    keep_freed()
    try:
        for line in _lines(path):
            if not line.strip():
                continue
            result, read = batch_line(line, timeout, settings)
            bad = bad or not read
            click.echo(json.dumps(result) if as_json or _is_object(line) else readable(line, result))
            if gc.get_count()[0] > TIDIED:
                gc.collect()
    finally:
        gc.enable()
    return 2 if bad else 0


def _lines(path: str) -> Iterator[bytes]:
    if path == "-":
        yield from sys.stdin.buffer
        return
    try:
        source = open(path, "rb")  # noqa: SIM115 - closed below, opening errors told apart
    except OSError as error:
        raise Error(f"cannot read {path}: {error.strerror}") from None
    with source:
        yield from source


def batch_line(
    line: str | bytes, timeout: float, settings: Mapping[str, Any] = MappingProxyType({})
) -> tuple[dict[str, Any], bool]:
    """The answer to one line, and whether the line was readable. The settings are for keys that it has not."""
    from rfactor.cli.objects import read_object, with_settings
    from rfactor.matcher import report

    case: dict[str, Any] = {}
    try:
        case = read_object(line, "a line is a JSON object with the key update") if _is_object(line) else _alone(line)
        update = case.get("update")
        if not isinstance(update, str):
            raise Error('the key update is needed, a text such as "x + a"')
        answer = answer_to(update, with_settings(case, settings), timeout)
        return {"id": case.get("id")} | report.to_json(answer, update), True
    except Error as error:
        return {"id": case.get("id"), "error": str(error)}, False
    except RecursionError:
        return {"id": case.get("id"), "error": "an expression is nested too deep"}, False
    except Exception as error:  # a fault of ours in one answer must not cost those to the other lines
        traceback.print_exc()
        return {"id": case.get("id"), "error": f"rfactor failed: {type(error).__name__}: {error}"}, False


def _is_object(line: str | bytes) -> bool:
    """Whether a line is meant as JSON: no update begins like one."""
    start = line.lstrip()[:1]
    return start in (b"{", b"[") if isinstance(start, bytes) else start in ("{", "[")


def _alone(line: str | bytes) -> dict[str, Any]:
    """The object of an update that stands by itself on a line. Raises `rfactor.Error`."""
    try:
        return {"update": (line.decode() if isinstance(line, bytes) else line).strip()}
    except UnicodeDecodeError as error:
        raise Error(f"a line is no UTF-8: {error}") from None


def readable(line: str | bytes, result: Mapping[str, Any]) -> str:
    """One line for people about one update: what it is, its operator or why there is none."""
    text = line.decode(errors="replace") if isinstance(line, bytes) else line
    return f"{excerpt(text.strip())}: {' '.join(_said(result).split())}"


def _said(result: Mapping[str, Any]) -> str:
    from rfactor.matcher.report import VERDICTS

    if "error" in result:
        return f"error: {result['error']}"
    verdict = VERDICTS[result["verdict"]]
    if result["reason"]:
        return f"{verdict}: {result['reason']}"
    operator = ", ".join((result["lift"] or result)["operator"])
    identity = (result["lift"] or result)["identity"]
    caveats = "".join(f"; {caveat}" for caveat in result.get("caveats", ()))
    return f"{verdict}, operator {operator}, identity {'none' if identity is None else ', '.join(identity)}{caveats}"
