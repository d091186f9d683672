"""A script being run line by line: what it defined, what was refused, and how to go back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import rfactor as hl
from rfactor.compiler.language import names as bearers
from rfactor.compiler.language.freeze import Frozen, freeze
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.stage import StageState
from rfactor.compiler.lower import passes
from rfactor.errors import Error
from rfactor.ir.loopnest import Stmt
from tests.fuzz.program import Program

Refused = (Error, NotImplementedError)
"""What a directive that is not legal, or not there, raises. Anything else is a defect."""
_PLACING = frozenset(
    """compute_at compute_root compute_inline store_at store_root hoist_storage hoist_storage_root fold_storage bound
    bound_extent compute_with in_ clone_in parallel_scan""".split()  # noqa: SIM905 - a list this long is read as text
)
"""Directives that are seen to be legal only when the pipeline is lowered."""
_KEPT = ("_computed", "_kept", "bounds", "storage", "trace")


@dataclass
class Session:
    """The names of a script and the lines that were accepted."""

    names: dict[str, Any] = field(default_factory=lambda: {"np": np, "hl": hl})
    directives: list[str] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, definitions: list[str] | tuple[str, ...]) -> Session:
        """With these definitions made, by the names of their script, whatever has them by now.

        Raises `Error` for one that is not valid.
        """
        bearers._in_use.clear()
        self = cls()
        for line in definitions:
            exec(line, self.names)
        return self

    def direct(self, line: str) -> bool:
        """Run a directive; whether it was accepted."""
        try:
            exec(line, self.names)
        except Refused:
            self.refused[directive(line)] += 1
            return False
        except (NameError, AttributeError) as error:
            if not _missing(error):
                raise
            return False
        self.used[directive(line)] += 1
        self.directives.append(line)
        return True

    def outputs(self) -> list[Func]:
        return list(self.names["outputs"])

    def frozen(self) -> Frozen:
        return freeze(*self.outputs())

    def funcs(self) -> dict[str, Func]:
        """Every function, by the name that the script has for it."""
        return {name: value for name, value in self.names.items() if isinstance(value, Func)}

    def lowers(self) -> Error | NotImplementedError | None:
        """Why the whole is refused; None if it is not, and `nests` has its nest after each pass."""
        try:
            frozen = self.frozen()
            self.nests = dict(passes(frozen.algorithm, frozen.schedule))
            self.why = None
        except Refused as refused:
            self.why = refused
        return self.why

    def repaired(self) -> None:
        """Leave out the directives for which the whole is refused. Each is tried on top of those before it."""
        for doubtful in (_PLACING, None):
            if self.lowers() is None:
                return
            lines, self.directives = self.directives, []
            self.back()
            for line in lines:
                self._tried(line, doubtful is None or directive(line) in doubtful)
        self.lowers()

    def _tried(self, line: str, doubtful: bool) -> None:
        """The directive once more, unless the whole is refused for it."""
        before = snapshot(self.names) if doubtful else None
        self.used[directive(line)] -= 1
        if self.direct(line) and before is not None and self.lowers() is not None:
            self.used[directive(line)] -= 1
            self.refused[directive(line)] += 1
            self.directives.pop()
            restore(self.names, before)

    start: Any = None
    why: Any = None
    nests: dict[str, Stmt] = field(default_factory=dict)

    def begin(self) -> None:
        """Remember the state without a schedule."""
        self.start = snapshot(self.names)

    def back(self) -> None:
        """To the state without a schedule."""
        restore(self.names, self.start)


def _missing(error: NameError | AttributeError) -> bool:
    """Whether the script itself named what was refused before."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return isinstance(error, NameError) and trace is not None and trace.tb_frame.f_code.co_filename == "<string>"


def directive(line: str) -> str:
    """The name of the last method that a line calls."""
    head = line.split("=", 1)[1] if " = " in line.split("(", 1)[0] else line
    called = head.replace(".update(", " ").split("(")[0].split(".")[-1]
    return called.split(" ")[-1].split(")")[-1].strip() or head.split(").", 1)[-1].split("(")[0]


Snapshot = tuple[dict[str, Any], dict[str, Any], list[tuple[Func, list[tuple[Any, Any]], dict[str, Any]]]]


def snapshot(names: dict[str, Any]) -> Snapshot:
    """The schedules and definitions of all functions, and which names are taken."""
    held = []
    for func in (value for value in names.values() if isinstance(value, Func)):
        rest = {key: getattr(func, key) for key in _KEPT}
        rest["references"], rest["wrappers"] = dict(func.references), dict(func.wrappers)
        held.append((func, [(s.definition, s.schedule) for s in func.stages], rest))
    return dict(names), dict(bearers._in_use), held


def restore(names: dict[str, Any], state: Snapshot) -> None:
    """As they were."""
    old, in_use, held = state
    names.clear()
    names.update(old)
    bearers._in_use.clear()
    bearers._in_use.update(in_use)
    for func, stages, rest in held:
        func.stages = [StageState(*stage) for stage in stages]
        for key, value in rest.items():
            setattr(func, key, dict(value) if isinstance(value, dict) else value)


def made(program: Program) -> Session:
    """A session with the whole program run; raises `Error` where a definition is not valid."""
    session = Session.of(program.definitions)
    for line in program.directives:
        session.direct(line)
    return session
