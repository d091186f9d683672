"""What data say of where a guard holds is computed before the loop, which `partition` then ends there.

                                                  let r.limit.0 = n[y]
    for r in (0, 1024):                           for r in (0, 1024):
      if r < n[y]: f[y] += a[r, y]          ->      if r < r.limit.0: f[y] += a[r, y]

                                                  let r.limit.0 = i32(clamp(i64(s[y + 1]) - i64(s[y]), …))
                                                  if i64(s[y]) + 1023 <= 2147483647:
    for r in (0, 1024):                             for r in (0, 1024):
      if s[y] + r < s[y + 1]: …             ->        if r < r.limit.0: …
                                                  else: … (the loop as it was)

It is done of comparisons that the first iteration makes for certain, whatever else is asked (both sides of an `and` are
computed), so that nothing is loaded that was not; where the extent is not known to be positive, the loop and what is
loaded for it are under a condition. Nothing that the loop stores may be what is loaded. On one side of the comparison
is a sum of coordinates that i32 surely holds. What else is added to it on that side may wrap: the two comparisons are
the same where the sum is in i32 for the least and the greatest of those coordinates, which is asked before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import conjuncts, positive
from rfactor.compiler.lower.overflow import in_i32
from rfactor.compiler.lower.partition import inside
from rfactor.compiler.lower.spans import Spans, span, surely_in_i32
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, conjunction, names, substitute, walk
from rfactor.ir.loopnest import Block, For, If, Let, Load, Produce, Stmt, Store
from rfactor.ir.simplify import simplify
from rfactor.ir.statements import walk_nest, with_body, with_parts
from rfactor.ir.types import I32, I64, Type

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
_COMPARISONS = frozenset(_MIRRORED)


def limits(stmt: Stmt, spans: Spans) -> Stmt:
    """The flat nest with such guards solved. `spans` are what variables are known to lie between.

    Lanes that share a loop would end it at different places: inside of vectorised loops nothing is done.
    """
    if isinstance(stmt, For):
        if stmt.kind == "vectorized":
            return stmt
        loop = with_body(stmt, limits(stmt.body, inside(stmt, spans)))
        return _limited(loop, spans) if loop.kind == "serial" else loop
    known = inside(stmt, spans) if isinstance(stmt, Let) else spans
    return with_parts(stmt, lambda part: limits(part, known))


@dataclass(frozen=True, slots=True)
class _Limit:
    """`moving op limit`, which is what a guard says."""

    op: str
    moving: Expr
    """A sum of coordinates of the loop and of loops inside, which i32 holds."""
    limit: Expr
    """What data say, in i32."""
    asked: tuple[Expr, ...]
    """The conditions under which it is the same."""


def _limited(loop: For, spans: Spans) -> Stmt:
    """`loop` after what data say of its guards."""
    extent = affine.constant_value(loop.extent)
    if extent is not None and extent <= 0:
        return loop
    written = {part.buffer for part in walk_nest(loop.body) if isinstance(part, Store)}
    found: dict[Expr, Expr] = {}
    values: dict[str, Expr] = {}
    asked: dict[Expr, None] = {}
    loops_inside = [part.name for part in walk_nest(loop.body) if isinstance(part, For)]
    for condition, loops, known in _first(loop, spans):
        if any(loops_inside.count(name) > 1 for name in names(condition)):
            continue  # it is asked in loops of one name, each with a range of its own
        limit = None if condition in found else _solved(condition, loops, known, written)
        if limit is not None and loop.name in names(limit.moving):
            name = f"{loop.name}.limit.{len(found)}"
            values[name] = limit.limit
            asked.update(dict.fromkeys(limit.asked))
            found[condition] = apply(limit.op, limit.moving, Var(I32, name))
    if not found:
        return loop
    result: Stmt = replace(loop, body=_told(loop.body, found))
    if asked:
        result = If(conjunction(*asked), result, loop)
    for name, value in values.items():
        result = Let(name, value, result)
    return result if extent is not None else If(positive(loop.extent), result)


def _first(loop: For, spans: Spans) -> Iterator[tuple[Expr, frozenset[str], Spans]]:
    """What the guards ask that the first iteration of `loop` meets for certain, each with the loops that it is in, that
    one included, and with what is known of their coordinates."""

    def met(stmt: Stmt, loops: dict[str, Expr], spans: Spans) -> Iterator[tuple[Expr, frozenset[str], Spans]]:
        if isinstance(stmt, Block):
            for part in stmt.statements:
                yield from met(part, loops, spans)
        elif isinstance(stmt, For):
            if (affine.constant_value(stmt.extent) or 0) > 0:
                yield from met(stmt.body, {**loops, stmt.name: stmt.min}, inside(stmt, spans))
        elif isinstance(stmt, Produce):
            yield from met(stmt.body, loops, spans)
        elif isinstance(stmt, If):
            yield from ((condition, frozenset(loops), spans) for condition in conjuncts(stmt.condition))
            if simplify(substitute(stmt.condition, loops)) == ALWAYS:
                yield from met(stmt.then, loops, spans)

    yield from met(loop.body, {loop.name: loop.min}, inside(loop, spans))


def _told(stmt: Stmt, found: dict[Expr, Expr]) -> Stmt:
    """`stmt` whose guards ask for what `found` says instead."""
    if isinstance(stmt, If):
        condition = conjunction(*(found.get(one, one) for one in conjuncts(stmt.condition)))
        return replace(stmt, condition=condition, then=_told(stmt.then, found))
    return with_parts(stmt, lambda part: _told(part, found)) if isinstance(stmt, Block | For | Produce) else stmt


def _solved(condition: Expr, loops: frozenset[str], spans: Spans, written: set[str]) -> _Limit | None:
    """A comparison of i32 with data; None where it is none, or what it asks for is not known before the loops."""
    if not (isinstance(condition, Op) and condition.op in _COMPARISONS and affine.reads(condition)):
        return None
    side, other, op = *condition.args, condition.op
    if loops & names(other):
        side, other, op = other, side, _MIRRORED[op]
    fixed = [(term, sign) for term, sign in _terms(side, 1) if not loops & names(term)]
    moving = [(term, sign) for term, sign in _terms(side, 1) if loops & names(term)]
    known = (other, *(term for term, _ in fixed))
    if side.type != I32 or loops & names(other) or not all(_known(node, written) for e in known for node in walk(e)):
        return None
    if any(affine.reads(term) for term, _ in moving):
        return None
    limit: Expr = Op(I64, "cast", (other,))
    if not any(affine.reads(term) for term, _ in fixed):
        return _Limit(op, side, in_i32(limit), ()) if surely_in_i32(side, spans) else None
    coordinates, sums = _sum(I32, moving), _sum(I64, fixed)
    low, high = span(coordinates, dict(spans))
    if not (surely_in_i32(coordinates, spans) and I32.min < low and high < I32.max):  # a limit in i32 is beyond both
        return None
    asked = (
        apply(">=", Op(I64, "+", (sums, Const(I64, low))), Const(I64, I32.min)),
        apply("<=", Op(I64, "+", (sums, Const(I64, high))), Const(I64, I32.max)),
    )
    return _Limit(op, coordinates, in_i32(Op(I64, "-", (limit, sums))), asked)


def _sum(type_: Type, terms: list[tuple[Expr, int]]) -> Expr:
    """The terms, which are i32, each added or taken away."""
    total: Expr = Const(type_, 0)
    for term, sign in terms:
        total = Op(type_, "+" if sign > 0 else "-", (total, term if type_ == I32 else Op(type_, "cast", (term,))))
    return affine.tidy(total) if type_ == I32 else total


def _known(node: Expr, written: set[str]) -> bool:
    """Whether a value is the same before the loop, as far as it is no coordinate."""
    if isinstance(node, Load):
        return node.buffer not in written
    return not isinstance(node, Print) and not (isinstance(node, Call) and node.kind != "intrinsic")


def _terms(expr: Expr, sign: int) -> list[tuple[Expr, int]]:
    """What is added to make `expr`, times `sign`, and what is taken away."""
    if isinstance(expr, Op) and expr.op in ("+", "-") and expr.type == I32:
        first, second = expr.args
        return _terms(first, sign) + _terms(second, sign if expr.op == "+" else -sign)
    return [(expr, sign)]
