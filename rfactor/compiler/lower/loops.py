"""The loops of a nest as text, in the manner of Halide's `print_loop_nest`: no bounds, no values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rfactor.ir.loopnest import Atomic, Block, For, If, Produce, Provide, Realize, Stmt
from rfactor.ir.printer import show

_STAGE = re.compile(r"^.*?\.s\d+\.")
"""What stands before the variable in the name of a loop."""


def show_loops(nest: Stmt) -> str:
    """The loops, one a line, ending in a line end."""
    return "".join(f"{line}\n" for line in _lines(nest, ""))


def _lines(stmt: Stmt, indent: str) -> Iterator[str]:
    deeper = indent + "  "
    if isinstance(stmt, Block):
        for i, part in zip(range(len(stmt.statements)), stmt.statements, strict=True):
            yield from _lines(part, indent)
            rest = stmt.statements[i + 1 :]
            if isinstance(part, Produce) and rest:
                yield f"{indent}consume {part.name}:"
                yield from _lines(Block(rest), deeper)
                return
    elif isinstance(stmt, For):
        kind = "for" if stmt.kind == "serial" else stmt.kind
        yield f"{indent}{kind} {_STAGE.sub('', stmt.name)}:"
        yield from _lines(stmt.body, deeper)
    elif isinstance(stmt, If):
        if stmt.otherwise is None:
            yield from _lines(stmt.then, indent)
            return
        yield f"{indent}if {show(stmt.condition)}:"
        yield from _lines(stmt.then, deeper)
        yield f"{indent}else:"
        yield from _lines(stmt.otherwise, deeper)
    elif isinstance(stmt, Produce):
        yield f"{indent}produce {stmt.name}:"
        yield from _lines(stmt.body, deeper)
    elif isinstance(stmt, Realize | Atomic):
        yield from _lines(stmt.body, indent)
    elif isinstance(stmt, Provide):
        yield f"{indent}{stmt.name}(...) = ..."
