"""Loop nests as text, one statement a line, bodies indented.

```
assert a.min.0 <= 0: "..."
allocate f.0[i32 * 16]
produce f:
  let t = n // 16
  parallel for f.s0.x in (0, t):
    f.0[ramp(0, 1, 16)] = x16(1) if f.s0.x < n
```
Intervals are (min, extent), as in *Formal Semantics for the Halide Language*. A vector is `ramp(base, stride, lanes)`
or `x16(value)`, `any(…)` says whether any lane holds; `if` after a store or a load is its predicate. A long part that a
statement has several times is written once, before it: `let .t0 = …`.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from rfactor.ir.algorithm import plain
from rfactor.ir.expr import Const, Expr, Op, transform
from rfactor.ir.loopnest import (
    Allocate,
    AnyLane,
    Assert,
    Atomic,
    Block,
    Broadcast,
    For,
    If,
    LanePrefix,
    LaneReduction,
    Let,
    Load,
    LoweredPipeline,
    Produce,
    Provide,
    Ramp,
    Realize,
    ScalarArgument,
    Stmt,
    Store,
    Write,
)
from rfactor.ir.printer import Printer, brief, repeated
from rfactor.ir.types import I32, I64


def show_nest(stmt: Stmt) -> str:
    """The statement as text, ending in a line end."""
    return "".join(f"{line}\n" for line in _lines(stmt, "", count()))


def show_pipeline(pipeline: LoweredPipeline) -> str:
    """A lowered pipeline as text: its arguments, then its body."""
    arguments = []
    for argument in pipeline.arguments:
        if isinstance(argument, ScalarArgument):
            arguments.append(f"{plain(argument.name)}: {argument.type}")
        else:
            mark = "out " if argument.output else ""
            arguments.append(f"{mark}{argument.name}: {argument.type}[{argument.dimensions}]")
    body = "".join(f"{line}\n" for line in _lines(pipeline.body, "  ", count()))
    return f"pipeline {pipeline.name}({', '.join(arguments)}):\n{body}"


def show_told(expr: Expr) -> str:
    """What a message tells: a coordinate that is computed in i64 as the i32 that it is; cut where it is long."""

    def narrow(node: Expr) -> Expr | None:
        if isinstance(node, Op) and node.op == "cast" and node.type == I64 and node.args[0].type == I32:
            return node.args[0]
        return None

    return brief(transform(expr, narrow), show_value)


def show_value(expr: Expr) -> str:
    """An expression of a nest, its loads and vectors included."""
    return _Printer().show(expr)


class _Printer(Printer):
    """Texts of expressions of nests."""

    def other(self, expr: Expr) -> str:
        show = self.show
        if isinstance(expr, Load):
            guard = "" if _always(expr.predicate) else f" if {show(expr.predicate)}"
            return f"{expr.buffer}[{show(expr.index)}{guard}]"
        if isinstance(expr, Ramp):
            return f"ramp({show(expr.base)}, {show(expr.stride)}, {expr.type.lanes})"
        if isinstance(expr, Broadcast):
            return f"x{expr.type.lanes}({show(expr.value)})"
        if isinstance(expr, AnyLane):
            return f"any({show(expr.value)})"
        if isinstance(expr, LanePrefix):
            return f"prefixes[{expr.op}]({show(expr.value)})"
        if isinstance(expr, LaneReduction):
            return f"lanes[{expr.op}]({show(expr.value)})"
        return super().other(expr)


def _layout(stmt: Realize) -> str:
    """What is particular about the layout of storage."""
    layout, said = stmt.layout, ""
    if layout.order != tuple(range(len(layout.order))):
        said += f", innermost first {layout.order}"
    for d, padding, fold in zip(range(len(layout.order)), layout.padding, layout.folds, strict=True):
        said += f", dimension {d} padded to {padding}" if padding > 1 else ""
        said += f", dimension {d} modulo {fold}" if fold is not None else ""
    return said


def _always(predicate: Expr) -> bool:
    if isinstance(predicate, Broadcast):
        predicate = predicate.value
    return isinstance(predicate, Const) and predicate.value is True


def _own(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions that are written on the line of a statement."""
    match stmt:
        case For():
            return stmt.min, stmt.extent
        case Let():
            return (stmt.value,)
        case If() | Assert():
            return (stmt.condition,)
        case Provide():
            return (*stmt.arguments, *stmt.values)
        case Realize():
            return tuple(end for ends in stmt.bounds for end in ends)
        case Allocate():
            return (stmt.size,)
        case Store():
            return stmt.index, stmt.value, stmt.predicate
        case Write():
            return stmt.line.arguments
    return ()


def _lines(stmt: Stmt, indent: str, numbers: Iterator[int]) -> Iterator[str]:
    """The lines of a statement; `numbers` are those of parts that are written before what has them several times."""
    printer, deeper = _Printer(), indent + "  "
    show = printer.show
    for part in repeated(_own(stmt)):
        name = f".t{next(numbers)}"
        yield f"{indent}let {name} = {show(part)}"
        printer.names[part] = name
    if isinstance(stmt, Block):
        for one in stmt.statements:
            yield from _lines(one, indent, numbers)
    elif isinstance(stmt, For):
        kind = "" if stmt.kind == "serial" else f"{stmt.kind} "
        yield f"{indent}{kind}for {stmt.name} in ({show(stmt.min)}, {show(stmt.extent)}):"
        yield from _lines(stmt.body, deeper, numbers)
    elif isinstance(stmt, Let):
        yield f"{indent}let {stmt.name} = {show(stmt.value)}"
        yield from _lines(stmt.body, indent, numbers)
    elif isinstance(stmt, If):
        yield f"{indent}if {show(stmt.condition)}:"
        yield from _lines(stmt.then, deeper, numbers)
        if stmt.otherwise is not None:
            yield f"{indent}else:"
            yield from _lines(stmt.otherwise, deeper, numbers)
    elif isinstance(stmt, Produce):
        yield f"{indent}produce {stmt.name}:"
        yield from _lines(stmt.body, deeper, numbers)
    elif isinstance(stmt, Atomic):
        yield f"{indent}atomic:"
        yield from _lines(stmt.body, deeper, numbers)
    elif isinstance(stmt, Provide):
        values = ", ".join(map(show, stmt.values))
        yield f"{indent}{stmt.name}({', '.join(map(show, stmt.arguments))}) = {values}"
    elif isinstance(stmt, Realize):
        box = ", ".join(f"({show(low)}, {show(extent)})" for low, extent in stmt.bounds)
        yield f"{indent}realize {stmt.name}({box}): {', '.join(str(type_) for type_ in stmt.types)}{_layout(stmt)}"
        yield from _lines(stmt.body, indent, numbers)
    elif isinstance(stmt, Allocate):
        yield f"{indent}allocate {stmt.buffer}[{stmt.type} * {show(stmt.size)}]"
        yield from _lines(stmt.body, indent, numbers)
    elif isinstance(stmt, Store):
        guard = "" if _always(stmt.predicate) else f" if {show(stmt.predicate)}"
        yield f"{indent}{stmt.buffer}[{show(stmt.index)}] = {show(stmt.value)}{guard}"
    elif isinstance(stmt, Write):
        yield f"{indent}write {stmt.line.template.format(*map(show, stmt.line.arguments))!r}"
    elif isinstance(stmt, Assert):
        yield f"{indent}assert {show(stmt.condition)}: {stmt.message!r}"
    else:
        raise TypeError(f"not a statement: {stmt!r}")
