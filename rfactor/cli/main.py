"""The `rfactor` command: one file a subcommand, imported when it is called."""

from __future__ import annotations

import difflib
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from rfactor import __version__

COMMANDS = {
    "check": "Is there an associative operator behind an update? Prove it or show why not.",
    "fold": "Which loops of Python files are folds, and why are the others none? It reads the files.",
    "verify": "Are the bounds that were chosen for the pipelines of a program right? It runs the program.",
    "demo": "Reductions of a photograph, serial and factored, with their proofs.",
    "bench": "The paper's Tables 1 to 3 on this machine, beside Halide, C, NumPy and Numba; time against size.",
    "generate": "Make a table of elementary associative operators.",
    "table": "Look into a table of operators, or prove it again.",
}
"""Subcommands with the line that `rfactor --help` shows; each is `rfactor.cli.NAME:NAME`."""


def _drop_output() -> None:
    """Forget what could not be written, or Python tries once more when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Lazy(click.Group):
    """A group whose commands are imported when they are called for, so that each starts fast."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except BrokenPipeError:  # click exits with 1, which is an answer
            _drop_output()
            sys.exit(141)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"rfactor.cli.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            close = difflib.get_close_matches(name, COMMANDS, 1, 0.6)
            meant = f"Did you mean {close[0]}?" if close else f"Commands are {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command {name!r}. {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rfactor")
def rfactor() -> None:
    """Find the associative operator hidden in a serial reduction, prove it, and compile the loop in parallel.

    \b
    Examples:
      rfactor check "min(x0, a), select(x0 < a, x1, i)"
      rfactor check "x - 5*a" --type u8 --json
      rfactor demo

    Exit codes: 0 yes or done, 1 no (a proven negative), 2 bad input, 3 unknown (a limit was reached).
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. Errors are one line on stderr with exit code 2; Ctrl-C exits with 130, what cannot be
    written to a pipe that is closed with 141."""
    from rfactor.errors import Error

    if sys.stdout is None:  # closed by who calls: what is written fails, as on a disk that is full
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    try:
        code = rfactor.main(args=list(arguments) if arguments is not None else None, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        where = f"{error.ctx.command_path}: " if isinstance(error, click.UsageError) and error.ctx else ""
        dashed = isinstance(error, click.NoSuchOption) and not error.option_name.startswith("--")
        more = " An expression that begins with a minus stands after -- alone." if dashed else ""
        click.echo(f"{where or 'rfactor: '}{' '.join(error.format_message().split())}{more}", err=True)
        sys.exit(2)
    except click.Abort:
        click.echo("rfactor: interrupted", err=True)
        sys.exit(130)
    except Error as error:
        click.echo(f"rfactor: {' '.join(str(error).split())}", err=True)
        sys.exit(2)
    except RecursionError:
        click.echo("rfactor: an expression is nested too deep", err=True)
        sys.exit(3)
    except MemoryError:
        click.echo("rfactor: out of memory", err=True)
        sys.exit(3)
    except OSError as error:
        _drop_output()
        click.echo(f"rfactor: {error}", err=True)
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)
