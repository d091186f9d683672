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
from rfactor.compiler.lower.answers import FALSE
from rfactor.compiler.lower.together import produced_together
from rfactor.compiler.schedule.directives import Schedule, StageSchedule
from rfactor.compiler.schedule.spelled import spelled_loops
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Var, substitute
from rfactor.ir.loopnest import Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt
from rfactor.ir.types import I32

_STAGE = re.compile(r"^.*?\.s\d+\.")
"""What stands before the variable in the name of a loop."""


def show_loops(nest: Stmt, algorithm: Algorithm, schedule: Schedule) -> str:
    """The loops of a nest as `lower.bounded_loops` makes it, one a line, ending in a line end."""
    return "".join(f"{line}\n" for line in _Loops(algorithm, schedule).lines(nest, "", {}))


class _Loops:
    def __init__(self, algorithm: Algorithm, schedule: Schedule) -> None:
        self._schedule, self._outputs = schedule.functions, algorithm.outputs
        self._groups = {functions[-1]: functions for functions in produced_together(algorithm, schedule)}
        """The functions that are produced with one, itself the last."""
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
                inner = part.then if isinstance(part, If) and part.otherwise is None else part
                if isinstance(inner, Produce) and rest:
                    for name in self._produced(inner):
                        if name in self._outputs:  # nothing waits for the caller's arrays
                            continue
                        yield f"{indent}consume {_function(name)}:"
                        indent += "  "
                    yield from self.lines(Block(rest), indent, known)
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
            if self._shared(stmt):
                *made_of, last = name.split(".")
                name = ".".join((*made_of, "fused", last))
            yield f"{indent}{kind} {name}{told}:"
            yield from self.lines(stmt.body, deeper, known)
        elif isinstance(stmt, If):
            general = self._names
            self._names = {**general, **self._special.get(stmt.condition, {})}
            if stmt.condition != FALSE:
                yield from self.lines(stmt.then, indent, known)
            self._names = general
            if stmt.otherwise is not None:
                yield from self.lines(stmt.otherwise, indent, known)
        elif isinstance(stmt, Produce):
            for name in self._produced(stmt):
                yield f"{indent}produce {_function(name)}:"
                indent += "  "
            yield from self.lines(stmt.body, indent, known)
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

    def _shared(self, loop: For) -> bool:
        """Whether stages of several functions are in it: then those that it is not named by come first."""
        if not (isinstance(loop.body, Let) and loop.body.value == Var(I32, loop.name)):
            return False
        both = [
            {name for name in functions if any(one.startswith(f"{name}.s") for one in (loop.name, loop.body.name))}
            for functions in self._groups.values()
        ]
        return any(len(found) > 1 for found in both)

    def _produced(self, stmt: Produce) -> tuple[str, ...]:
        return self._groups.get(stmt.name, (stmt.name,))


def _function(name: str) -> str:
    return name.partition("$")[0]


def _constant(expr: Expr, known: Mapping[str, Expr]) -> int | None:
    return affine.constant_value(affine.tidy(substitute(expr, known)))
