"""The loops of a nest as text, in the form of Halide's `print_loop_nest`: a range where it is constant, no values.

produce f:
  for y:
    vectorized x.xi in [0, 7]:
      f(...) = ...

Loops that run once are left out, as are guards; the stages of specializations stand one after the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from rfactor.compiler.lower import affine
from rfactor.compiler.schedule.directives import Schedule, StageSchedule
from rfactor.compiler.schedule.spelled import spelled_loops
from rfactor.ir.expr import Const, Expr, substitute
from rfactor.ir.loopnest import Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt
from rfactor.ir.types import I32

_STAGE = re.compile(r"^.*?\.s\d+\.")
"""What stands before the variable in the name of a loop."""


def show_loops(nest: Stmt, schedule: Schedule) -> str:
    """The loops of a nest whose bounds are known, one a line, ending in a line end."""
    return "".join(f"{line}\n" for line in _Loops(schedule).lines(nest, "", {}))


class _Loops:
    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule.functions
        self._numbers = count()
        self._special: dict[Expr, dict[str, str]] = {}
        """The loops of specializations, by the condition,"""
        self._names: dict[str, str] = {}
        """and of all others."""
        for name, function in self._schedule.items():
            for k, stage in enumerate(function.stages):
                self._names |= self._spelled(f"{name}.s{k}", stage)

    def _spelled(self, prefix: str, stage: StageSchedule) -> dict[str, str]:
        for one in stage.specializations:
            known = self._special.setdefault(one.condition, {})
            known |= self._spelled(prefix, one.schedule)
        names = spelled_loops(stage, self._numbers).names
        return {f"{prefix}.{loop}": re.sub(r"\$[^.]*", "", shown) for loop, shown in names.items()}

    def lines(self, stmt: Stmt, indent: str, known: Mapping[str, Expr]) -> Iterator[str]:
        """The lines of a statement where the constants `known` are defined."""
        deeper = indent + "  "
        if isinstance(stmt, Block):
            for i, part in enumerate(stmt.statements):
                yield from self.lines(part, indent, known)
                rest = stmt.statements[i + 1 :]
                if isinstance(part, Produce) and rest:
                    yield f"{indent}consume {_function(part.name)}:"
                    yield from self.lines(Block(rest), deeper, known)
                    return
        elif isinstance(stmt, Let):
            value = _constant(stmt.value, known)
            inside = known if value is None else {**known, stmt.name: Const(I32, value)}
            yield from self.lines(stmt.body, indent, inside)
        elif isinstance(stmt, For):
            extent, low = _constant(stmt.extent, known), _constant(stmt.min, known)
            if extent == 1:
                yield from self.lines(stmt.body, indent, known)
                return
            kind = "for" if stmt.kind == "serial" else stmt.kind
            told = "" if extent is None or low is None else f" in [{low}, {low + extent - 1}]"
            name = self._names.get(stmt.name) or _STAGE.sub("", stmt.name)
            yield f"{indent}{kind} {name}{told}:"
            yield from self.lines(stmt.body, deeper, known)
        elif isinstance(stmt, If):
            general = self._names
            self._names = {**general, **self._special.get(stmt.condition, {})}
            yield from self.lines(stmt.then, indent, known)
            self._names = general
            if stmt.otherwise is not None:
                yield from self.lines(stmt.otherwise, indent, known)
        elif isinstance(stmt, Produce):
            yield f"{indent}produce {_function(stmt.name)}:"
            yield from self.lines(stmt.body, deeper, known)
        elif isinstance(stmt, Realize):
            own = self._schedule.get(stmt.name)
            apart = own is not None and own.store != own.compute
            if apart:
                yield f"{indent}store {_function(stmt.name)}:"
            yield from self.lines(stmt.body, deeper if apart else indent, known)
        elif isinstance(stmt, Atomic):
            yield from self.lines(stmt.body, indent, known)
        elif isinstance(stmt, Provide):
            yield f"{indent}{_function(stmt.name)}(...) = ..."


def _function(name: str) -> str:
    return name.partition("$")[0]


def _constant(expr: Expr, known: Mapping[str, Expr]) -> int | None:
    return affine.constant_value(affine.tidy(substitute(expr, known)))
