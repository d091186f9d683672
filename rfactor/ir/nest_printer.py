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
or `x16(value)`, `any(…)` says whether any lane holds; `if` after a store or a load is its predicate.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Call, Const, Expr, Op, Var, transform
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
from rfactor.ir.printer import show
from rfactor.ir.types import I32, I64


def show_nest(stmt: Stmt) -> str:
    """The statement as text, ending in a line end."""
    return "".join(f"{line}\n" for line in _lines(stmt, ""))


def show_pipeline(pipeline: LoweredPipeline) -> str:
    """A lowered pipeline as text: its arguments, then its body."""
    arguments = []
    for argument in pipeline.arguments:
        if isinstance(argument, ScalarArgument):
            arguments.append(f"{argument.name}: {argument.type}")
        else:
            mark = "out " if argument.output else ""
            arguments.append(f"{mark}{argument.name}: {argument.type}[{argument.dimensions}]")
    body = "".join(f"{line}\n" for line in _lines(pipeline.body, "  "))
    return f"pipeline {pipeline.name}({', '.join(arguments)}):\n{body}"


def show_told(expr: Expr) -> str:
    """What a message tells: a coordinate that is computed in i64 as the i32 that it is."""

    def narrow(node: Expr) -> Expr | None:
        if isinstance(node, Op) and node.op == "cast" and node.type == I64 and node.args[0].type == I32:
            return Var(I64, show_value(node.args[0]))
        return None

    return show_value(transform(expr, narrow))


def show_value(expr: Expr) -> str:
    """An expression of a nest, its loads and vectors included."""
    return show(transform(expr, _as_name))


def _as_name(node: Expr) -> Expr | None:
    """The text of a node that only nests have, as a variable: the printer of expressions sets a name as it stands."""
    if isinstance(node, Load):
        guard = "" if _always(node.predicate) else f" if {show(node.predicate)}"
        return Var(node.type, f"{node.buffer}[{show(node.index)}{guard}]")
    if isinstance(node, Ramp):
        return Var(node.type, f"ramp({show(node.base)}, {show(node.stride)}, {node.type.lanes})")
    if isinstance(node, Broadcast):
        return Var(node.type, f"x{node.type.lanes}({show(node.value)})")
    if isinstance(node, AnyLane):
        return Var(node.type, f"any({show(node.value)})")
    if isinstance(node, LanePrefix):
        return Var(node.type, f"prefixes[{node.op}]({show(node.value)})")
    if isinstance(node, LaneReduction):
        return Var(node.type, f"lanes[{node.op}]({show(node.value)})")
    if isinstance(node, Call) and node.kind != "intrinsic":
        suffix = f"[{node.index}]" if node.kind == "func" and node.index else ""
        return Var(node.type, f"{node.name}({', '.join(map(show, node.args))}){suffix}")
    return None


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


def _lines(stmt: Stmt, indent: str) -> Iterator[str]:
    deeper = indent + "  "
    if isinstance(stmt, Block):
        for part in stmt.statements:
            yield from _lines(part, indent)
    elif isinstance(stmt, For):
        kind = "" if stmt.kind == "serial" else f"{stmt.kind} "
        yield f"{indent}{kind}for {stmt.name} in ({show_value(stmt.min)}, {show_value(stmt.extent)}):"
        yield from _lines(stmt.body, deeper)
    elif isinstance(stmt, Let):
        yield f"{indent}let {stmt.name} = {show_value(stmt.value)}"
        yield from _lines(stmt.body, indent)
    elif isinstance(stmt, If):
        yield f"{indent}if {show_value(stmt.condition)}:"
        yield from _lines(stmt.then, deeper)
        if stmt.otherwise is not None:
            yield f"{indent}else:"
            yield from _lines(stmt.otherwise, deeper)
    elif isinstance(stmt, Produce):
        yield f"{indent}produce {stmt.name}:"
        yield from _lines(stmt.body, deeper)
    elif isinstance(stmt, Atomic):
        yield f"{indent}atomic:"
        yield from _lines(stmt.body, deeper)
    elif isinstance(stmt, Provide):
        values = ", ".join(map(show_value, stmt.values))
        yield f"{indent}{stmt.name}({', '.join(map(show_value, stmt.arguments))}) = {values}"
    elif isinstance(stmt, Realize):
        box = ", ".join(f"({show_value(low)}, {show_value(extent)})" for low, extent in stmt.bounds)
        yield f"{indent}realize {stmt.name}({box}): {', '.join(str(type_) for type_ in stmt.types)}{_layout(stmt)}"
        yield from _lines(stmt.body, indent)
    elif isinstance(stmt, Allocate):
        yield f"{indent}allocate {stmt.buffer}[{stmt.type} * {show_value(stmt.size)}]"
        yield from _lines(stmt.body, indent)
    elif isinstance(stmt, Store):
        guard = "" if _always(stmt.predicate) else f" if {show_value(stmt.predicate)}"
        yield f"{indent}{stmt.buffer}[{show_value(stmt.index)}] = {show_value(stmt.value)}{guard}"
    elif isinstance(stmt, Write):
        yield f"{indent}write {stmt.line.template.format(*map(show_value, stmt.line.arguments))!r}"
    elif isinstance(stmt, Assert):
        yield f"{indent}assert {show_value(stmt.condition)}: {stmt.message!r}"
    else:
        raise TypeError(f"not a statement: {stmt!r}")
