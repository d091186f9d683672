"""Guards inside of a loop, solved for it: the iterations in which they hold, and what the loop does in these.

if x*8 + v < n                 v in (0, 8):    x < (n - 7) // 8
min(x*8 + 7, n - 1) - x*8 + 1                  is 8 there
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.borders import SHORT
from rfactor.compiler.lower.conditions import conjuncts, nonpositive
from rfactor.compiler.lower.overflow import in_i32, in_i64, sum_in_i64
from rfactor.compiler.lower.peel import once
from rfactor.compiler.lower.spans import Spans, surely_in_i32
from rfactor.compiler.lower.storage import is_value
from rfactor.compiler.lower.tidy import tidy
from rfactor.ir.expr import Const, Expr, Op, Var, conjunction, names, variables, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import For, If, Let, Stmt
from rfactor.ir.statements import parts, walk_nest, with_parts
from rfactor.ir.types import I32


@dataclass(frozen=True, slots=True)
class Limit:
    """`dividend // divisor`, where a guard begins or ceases to hold; the divisor is positive."""

    dividend: Expr
    divisor: int

    def narrow(self) -> Expr:
        """In i32, which may not hold it or a sum in it."""
        return affine.divide(self.dividend, self.divisor)

    def wide(self) -> Expr:
        """In i64, which holds it."""
        return affine.divide(in_i64(self.dividend), self.divisor)


@dataclass(frozen=True, slots=True)
class Safe:
    """Iterations from all of `mins` on, before all of `ends`, for which a guard holds whatever the loops inside do."""

    condition: Expr
    mins: tuple[Limit, ...]
    ends: tuple[Limit, ...]
    exact: bool
    """Whether it holds for no other iteration."""
    below: tuple[Expr, ...]
    """Sums of coordinates that are <= 0 in these iterations."""

    @property
    def told(self) -> tuple[Expr, ...]:
        """What it is made of: it has to be known before the loop."""
        return (*(limit.dividend for limit in (*self.mins, *self.ends)), *self.below)


def bound_in(stmt: Stmt) -> set[str]:
    """The names that have their values inside of `stmt` alone."""
    return {part.name for part in walk_nest(stmt) if isinstance(part, Let | For)}


def beyond(loop: For) -> Expr:
    """The first coordinate after those of `loop`."""
    return affine.add(loop.min, affine.maximum(loop.extent, affine.integer(0)))


def first_safe(loop: For, end: Expr, limits: Sequence[Limit], near: bool) -> Expr:
    """The first iteration of `loop`, which ends before `end`, that is before none of `limits`."""
    if near or not limits:
        return reduce(affine.maximum, (limit.narrow() for limit in limits), loop.min)
    first = reduce(affine.maximum, (limit.wide() for limit in limits), in_i64(loop.min))
    return in_i32(affine.minimum(first, in_i64(end)))


def end_of_safe(loop: For, end: Expr, limits: Sequence[Limit], near: bool) -> Expr:
    """The first iteration of `loop` at `end` or one of `limits`; where they are not all near, no earlier one."""
    if near or not limits:
        return reduce(affine.minimum, (limit.narrow() for limit in limits), end)
    last = reduce(affine.minimum, (limit.wide() for limit in limits), in_i64(end))
    return in_i32(affine.maximum(last, in_i64(loop.min)))


def all_near(loop: For, solved: Sequence[Safe], spans: Spans) -> bool:
    """Whether i32 surely holds each limit and its distance from the first iteration."""
    limits = [limit.narrow() for s in solved for limit in (*s.mins, *s.ends)]
    return all(surely_in_i32(e, spans) for narrow in limits for e in (narrow, affine.subtract(narrow, loop.min)))


def guards_in(stmt: Stmt, name: str, inner: dict[str, For]) -> Iterator[tuple[Expr, dict[str, For]]]:
    """The guards in `stmt` that depend on the loop `name`, with the loops inside that they depend on."""
    if isinstance(stmt, For):
        inner = {**inner, stmt.name: stmt}
    elif isinstance(stmt, If):
        for condition in conjuncts(stmt.condition):
            used = names(condition)
            if name in used:
                yield condition, {n: loop for n, loop in inner.items() if n in used}
    for part in parts(stmt):
        yield from guards_in(part, name, inner)


def is_short(loop: For) -> bool:
    """Whether the loop is not worth splitting itself: its worst iteration stands for all."""
    if loop.kind in ("vectorized", "unrolled"):
        return True
    small = isinstance(loop.extent, Const) and int(loop.extent.value) <= SHORT
    return once(loop) or (loop.kind == "serial" and small and not _has_vectors(loop.body))


def _has_vectors(stmt: Stmt) -> bool:
    """Whether there is a vectorised loop in `stmt`."""
    return any(isinstance(part, For) and part.kind == "vectorized" for part in walk_nest(stmt))


def solve(condition: Expr, name: str, inner: dict[str, For], best: bool = False) -> Safe | None:
    """Where `condition` holds whatever the loops `inner` do; with `best`, outside of where it never does."""
    mins, ends, below = list[Limit](), list[Limit](), list[Expr]()
    comparisons = nonpositive(condition)
    if not comparisons:
        return None
    for comparison in comparisons:
        terms, constant = affine.affine(comparison)
        factor = dict(terms).get(Var(I32, name), 0)
        rest = affine.from_affine((), constant)
        for term, own in terms:
            if term == Var(I32, name):
                continue
            worst = _worst(term, -own if best else own, inner)
            if worst is None or name in names(worst) or (best and names(worst) & inner.keys()):
                return None
            rest = affine.add(rest, affine.scale(worst, own))
        if not factor or not sum_in_i64(rest):
            return None
        below.append(affine.add(affine.scale(Var(I32, name), factor), rest))
        if factor > 0:  # factor*x + rest <= 0
            ends.append(Limit(affine.plus(affine.scale(rest, -1), factor), factor))
        else:  # rest <= -factor*x
            mins.append(Limit(affine.plus(rest, -factor - 1), -factor))
    return Safe(condition, tuple(mins), tuple(ends), not inner, tuple(below))


def _worst(term: Expr, factor: int, inner: dict[str, For]) -> Expr | None:
    """The value of a term, over the loops inside, at which `factor * term` is greatest."""
    loops = [v.name for v in variables(term) if v.name in inner]
    if not loops:
        return term
    if not isinstance(term, Var):
        return None
    loop = inner[term.name]
    if not isinstance(loop.extent, Const):
        return None
    return loop.min if factor < 0 else affine.add(loop.min, affine.integer(int(loop.extent.value) - 1))


def assuming(stmt: Stmt, held: set[Expr]) -> Stmt:
    """`stmt` where the conditions `held` are known to hold."""
    if isinstance(stmt, If) and not held.isdisjoint(asked := list(conjuncts(stmt.condition))):
        left = [condition for condition in asked if condition not in held]
        if not left:
            return assuming(stmt.then, held)
        stmt = replace(stmt, condition=conjunction(*left))
    return with_parts(stmt, lambda part: assuming(part, held)) if held else stmt


def decided(stmt: Stmt, below: list[Expr]) -> Stmt:
    """`stmt`, whose boxes are no longer cut where sums of coordinates that are <= 0 say that nothing is cut off."""
    whole = _whole(stmt, below) if below else stmt
    return stmt if whole == stmt else tidy(whole)


def _whole(stmt: Stmt, below: list[Expr]) -> Stmt:
    if isinstance(stmt, Let) and stmt.value.type == I32 and not is_value(stmt.name):
        arms = {node: arm for node in walk(stmt.value) if (arm := _arm(node, below)) is not None}
        if arms:
            stmt = replace(stmt, value=affine.tidy(replaced(stmt.value, arms)))
    return with_parts(stmt, lambda part: _whole(part, below))


def _arm(expr: Expr, below: list[Expr]) -> Expr | None:
    """The operand that an extreme of coordinates is where the sums `below` are <= 0."""
    if not (isinstance(expr, Op) and expr.op in ("min", "max") and expr.type == I32):
        return None
    first, second = expr.args if expr.op == "min" else expr.args[::-1]
    for one in below:
        for low, high in ((first, second), (second, first)):
            over = affine.constant_value(affine.subtract(affine.subtract(low, high), one))
            if over is not None and over <= 0:  # low - high <= one <= 0
                return low if expr.op == "min" else high
    return None
