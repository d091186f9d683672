"""Loop peeling: the first iteration of an innermost loop, which fills its windows, runs by itself.

    for x in (m, e):                                   for x in (m, min(e, 1)):
      let g.x.min = select(x > m, x + 1, x)              for g.x in (x, 2): …
      for g.x in (g.x.min, x - g.x.min + 2): …    ->   for x in (m + 1, e - 1):
                                                         let g.x = x + 1: …

What slides has a loop in each iteration, of one more point or a few; what does not move is computed in the first one,
and the others ask whether they are it. Where all loops inside are short and of constant extents once the first
iteration is over, they cost more than what is in them, and LLVM made vectors of each. A loop that has long ones in it
(rows that slide) does not gain, and keeps its one range.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.borders import SHORT
from rfactor.compiler.lower.storage import is_value
from rfactor.compiler.lower.tidy import tidy
from rfactor.ir.expr import Const, Expr, Op, Var, names, substitute, transform, walk
from rfactor.ir.loopnest import For, If, Let, Stmt, block
from rfactor.ir.statements import walk_nest, with_parts
from rfactor.ir.types import BOOL, I32


def peel(stmt: Stmt) -> Stmt:
    """The flat nest with the first iterations of such loops apart."""
    stmt = with_parts(stmt, peel)
    return _peeled(stmt) if isinstance(stmt, For) and stmt.kind == "serial" else stmt


def once(loop: For) -> bool:
    """Whether a loop has one iteration at most, as the first ones that run apart."""
    extent = loop.extent
    return isinstance(extent, Op) and extent.op == "min" and affine.integer(1) in extent.args


def _peeled(loop: For) -> Stmt:
    """`loop`, whose body is done, in two ranges, or as it is."""
    if isinstance(loop.extent, Const) and int(loop.extent.value) <= 1:
        return loop
    asked = _first(loop)
    guarded = any(isinstance(part, If) and not asked.isdisjoint(walk(part.condition)) for part in walk_nest(loop.body))
    if not guarded and not (asked and any(isinstance(part, For) and not _short(part) for part in walk_nest(loop.body))):
        return loop
    later = _when(loop.body, asked, True)
    if not all(_short(part) for part in walk_nest(later) if isinstance(part, For)):
        return loop
    one = affine.integer(1)
    first = replace(loop, extent=affine.minimum(loop.extent, one), body=_when(loop.body, asked, False))
    rest = replace(
        loop, min=affine.add(loop.min, one), extent=affine.subtract(affine.maximum(loop.extent, one), one), body=later
    )
    return tidy(block(first, rest))


def _first(loop: For) -> set[Expr]:
    """The conditions in bounds inside that hold in all iterations but the first, `x > m`, and those of what is done in
    that one alone, `x <= m`."""
    found: set[Expr] = set()
    for part in walk_nest(loop.body):
        bounds = (part.value,) if isinstance(part, Let) else (part.min, part.extent) if isinstance(part, For) else ()
        asked = (node for bound in bounds if bound.type == I32 for node in walk(bound))
        found.update(node for node in asked if _tells_first(node, loop, ">"))
        if isinstance(part, If):
            found.update(node for node in walk(part.condition) if is_first(node, loop))
    return found


def is_first(condition: Expr, loop: For) -> bool:
    """Whether a condition holds in the first iteration of a loop alone."""
    return _tells_first(condition, loop, "<=")


def _tells_first(node: Expr, loop: For, op: str) -> bool:
    if not (isinstance(node, Op) and node.op == op and node.args[0] == Var(I32, loop.name)):
        return False
    return affine.constant_value(affine.subtract(node.args[1], loop.min)) == 0


def _short(loop: For) -> bool:
    return loop.kind != "parallel" and isinstance(loop.extent, Const) and int(loop.extent.value) <= SHORT


def _when(body: Stmt, asked: set[Expr], later: bool) -> Stmt:
    """`body` in the iterations after the first, or in that one, by the conditions `asked`: with sums of coordinates in
    place of their names."""
    answers: dict[Expr, Expr] = {
        node: Const(BOOL, later == (isinstance(node, Op) and node.op == ">")) for node in asked
    }

    def answered(node: Expr) -> Expr | None:
        if isinstance(node, Op) and node.op == "select" and isinstance(node.args[0], Const):
            return node.args[1 if node.args[0].value else 2]
        return answers.get(node)

    def change(stmt: Stmt, plain: Mapping[str, Expr]) -> Stmt:
        def told(expr: Expr) -> Expr:
            return affine.tidy(substitute(transform(expr, answered), plain))

        if (
            isinstance(stmt, Let)
            and stmt.value.type == I32
            and not is_value(stmt.name)
            and not affine.reads(stmt.value)
        ):
            value, inside = told(stmt.value), _without(plain, stmt.name)
            if len(affine.affine(value)[0]) <= 1 and stmt.name not in names(value):
                inside = {**inside, stmt.name: value}
            return Let(stmt.name, value, change(stmt.body, inside))
        if isinstance(stmt, For):
            inner = change(stmt.body, _without(plain, stmt.name))
            return replace(stmt, min=told(stmt.min), extent=told(stmt.extent), body=inner)
        if isinstance(stmt, If):
            stmt = replace(stmt, condition=substitute(transform(stmt.condition, answered), plain))
        inside = _without(plain, stmt.name) if isinstance(stmt, Let) else plain
        return with_parts(stmt, lambda part: change(part, inside))

    return tidy(change(body, {}))


def _without(plain: Mapping[str, Expr], name: str) -> Mapping[str, Expr]:
    """`plain` inside of what defines `name`."""
    return {known: value for known, value in plain.items() if known != name and name not in names(value)}
