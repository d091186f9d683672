"""The lines that `trace_loads`, `trace_stores` and `trace_realizations` ask for, in the form of Halide's default trace.

Load g.0(3, 1) = 7                          component 0 of g, at a point
Begin realization g.0(0, 8, 1, 2)           least coordinate and extent, dimension by dimension
Tag g.0() tag = "func_type_and_dim: 1 2 32 1 2 0 8 1 2"
                                            components, each one's code, bits and lanes; dimensions, and the box of all
                                            that is computed (0 0 where that depends on data)
Store f.0(<0, 1>, <4, 4>) = <3, 7>          two lanes of a vector
"""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.effects import Print, Told
from rfactor.ir.expr import Const, Expr, cast
from rfactor.ir.loopnest import Stmt, Write, block
from rfactor.ir.types import BOOL, U8

ALWAYS = Const(BOOL, True)


def access(what: str, name: str, component: int, point: Sequence[Expr], value: Expr) -> Expr:
    """`value`, which is loaded or stored at a point; a line is written each time that it is computed."""
    shown = cast(U8, value) if value.type.is_bool else value
    template = f"{_head(what, name, component, len(point))} = {{}}"
    return Told(template, value, ALWAYS, (*point, shown))


def around(what: str, name: str, box: Sequence[Expr], body: Stmt) -> Stmt:
    """`body` between `Begin what` and `End what` (nothing begins but is produced or consumed)."""
    begin = what.capitalize() if what in ("produce", "consume") else f"Begin {what}"
    return block(line(begin, name, box), body, line(f"End {what}", name, box))


def line(what: str, name: str, box: Sequence[Expr]) -> Stmt:
    """`what`, and of what."""
    return Write(Print(_head(what, name, 0, len(box)), ALWAYS, ALWAYS, tuple(box)))


def _head(what: str, name: str, component: int, count: int) -> str:
    shown = name.replace("{", "{{").replace("}", "}}")
    return f"{what} {shown}.{component}({', '.join(['{}'] * count)})"
