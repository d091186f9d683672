"""Vectorised loops as vectors.

    vectorized for x in (0, 8):                     g[ramp(0, 1, 8)] = a[ramp(s, 1, 8) if ramp(s, 1, 8) < x8(n)]
      if s + x < n: g[x] = a[s + x]          ->                                              if ramp(s, 1, 8) < x8(n)

The loop variable becomes a ramp; what does not depend on it stays scalar until it meets a vector, and so do quotients
that are the same in all lanes (`multiples`). A guard that differs between lanes becomes the predicate of the loads and
stores under it, so that nothing of an excluded point is loaded; it has a name where they change what it reads.
Lanes of such a loop write points of their own (its variable is pure), hence may run together. What is allocated in the
loop has a place for each (`private`). Where lanes would share a store, or an inner loop whose extents differ, the loop
stays serial.

    vectorized for r in (0, 8): atomic: s[0] = s[0] + a[r]   ->   s[0] = s[0] + lanes[+](a[ramp(0, 1, 8)])

Lanes that update one point by an operation that can be reassociated are joined first. Other lanes of an atomic update
may meet at a point: they run one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.in_place import lanes_in_place
from rfactor.compiler.lower.multiples import NO_RESTS, Rests, in_one_multiple, never_wraps, rest
from rfactor.compiler.lower.private import private
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.errors import ScheduleError
from rfactor.ir.effects import Print, Told
from rfactor.ir.expr import Call, Const, Expr, Op, Var, conjunction, names, rebuild, walk
from rfactor.ir.loopnest import (
    Allocate,
    AnyLane,
    Atomic,
    Block,
    Broadcast,
    For,
    If,
    LaneReduction,
    Let,
    Load,
    Produce,
    Ramp,
    Stmt,
    Store,
    block,
)
from rfactor.ir.simplify import simplify
from rfactor.ir.statements import parts, with_parts
from rfactor.ir.types import I64

_MOST_LANES = 1 << 12
"""Of one vector: code for wider ones takes LLVM minutes, and is slower."""


def vectorize(stmt: Stmt, rests: Rests = NO_RESTS) -> Stmt:
    """The flat nest without vectorised loops; `rests` are known of the variables around. Raises `ScheduleError` for one
    whose extent is no constant."""
    inside = rests
    if isinstance(stmt, For):
        inside = _without(rests, stmt.name)
    elif isinstance(stmt, Let):
        inside = _defined(stmt, rests)
    inner = with_parts(stmt, lambda part: vectorize(part, inside))
    return _vectors(inner, rests) if isinstance(inner, For) and inner.kind == "vectorized" else inner


def _without(rests: Rests, name: str) -> Rests:
    return {other: left for other, left in rests.items() if other != name} if name in rests else rests


def _defined(let: Let, rests: Rests) -> Rests:
    """What is known inside of a definition."""
    left = rest(let.value, rests)
    return {**rests, let.name: left} if left[0] > 1 else _without(rests, let.name)


def _vectors(loop: For, rests: Rests) -> Stmt:
    lanes = affine.constant_value(loop.extent)
    if lanes is None:
        raise ScheduleError(
            f"{loop.name} cannot be vectorized: its extent {loop.extent} is not a constant; give vectorize a factor"
        )
    if lanes > _MOST_LANES:
        raise ScheduleError(
            f"{loop.name} is vectorized over {lanes} lanes: {_MOST_LANES} is the most; split it and vectorize the "
            "inner loop, as in vectorize(x, 16)"
        )
    apart = private(loop, lanes) if lanes > 1 else None
    if apart is None or not _separate(apart.body, {loop.name}):
        return replace(loop, kind="serial")
    ramp = Ramp(loop.min, affine.integer(1), lanes)
    return Lanes(lanes, {loop.name: ramp}, ALWAYS, rests).visit(apart.body)


def _separate(stmt: Stmt, varying: set[str]) -> bool:
    """Whether lanes share no store and all loop bounds; `varying` are the names that differ."""
    if isinstance(stmt, Block):
        return all(_separate(part, varying) for part in stmt.statements)
    if isinstance(stmt, For):
        return not ((names(stmt.min) | names(stmt.extent)) & varying) and _separate(stmt.body, varying)
    if isinstance(stmt, If):
        return _separate(stmt.then, varying) and (stmt.otherwise is None or _separate(stmt.otherwise, varying))
    if isinstance(stmt, Let):
        more = {stmt.name} if names(stmt.value) & varying else set()
        return _separate(stmt.body, varying | more)
    if isinstance(stmt, Produce | Allocate):
        return _separate(stmt.body, varying)
    if isinstance(stmt, Atomic):
        store = stmt.body
        if not isinstance(store, Store) or not scalar(store) or names(store.index) & varying:
            return False
        return lanes_in_place(store) is not None
    if isinstance(stmt, Store):
        return scalar(stmt) and bool(names(stmt.index) & varying)
    return False


def scalar(store: Store) -> bool:
    """Whether nothing in a store has lanes yet."""
    return all(node.type.lanes == 1 for e in (store.index, store.value, store.predicate) for node in walk(e))


@dataclass(frozen=True, slots=True)
class Lanes:
    """A place inside a loop whose iterations run together."""

    lanes: int
    vectors: dict[str, Expr]
    """Names whose value differs between lanes, with the vector of their values."""
    mask: Expr
    """Lanes that run: a vector, or `ALWAYS`."""
    rests: Rests = field(default_factory=dict)
    """What is known of the names that are the same in all lanes."""
    memo: dict[Expr, Expr] = field(init=False, default_factory=dict)

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            return with_parts(stmt, replace(self, rests=_without(self.rests, stmt.name)).visit)
        if isinstance(stmt, Block | Produce | Allocate):
            return with_parts(stmt, self.visit)
        if isinstance(stmt, If):
            return self._branch(stmt)
        if isinstance(stmt, Let):
            return self._definition(stmt)
        if isinstance(stmt, Atomic):
            return self._lanes_joined(stmt)
        if isinstance(stmt, Store):
            return Store(
                stmt.buffer,
                self.wide(self.value(stmt.index)),
                self.wide(self.value(stmt.value)),
                self._and(self.value(stmt.predicate)),
            )
        raise TypeError(f"not separate: {stmt!r}")

    def _lanes_joined(self, stmt: Atomic) -> Stmt:
        """One update of the point that all lanes share, where any of them runs."""
        store = stmt.body
        assert isinstance(store, Store)
        change = lanes_in_place(store)
        assert change is not None
        data, mask = self.wide(self.value(change.data)), self._and(self.value(store.predicate))
        if mask != ALWAYS:
            data = Op(data.type, "select", (self.wide(mask), data, Broadcast(change.identity, self.lanes)))
        value = Op(store.value.type, change.op, (change.kept, LaneReduction(change.joins, data)))
        update: Stmt = Store(store.buffer, store.index, value, ALWAYS)
        if stmt.threads:
            update = replace(stmt, body=update)
        return update if mask == ALWAYS else If(AnyLane(self.wide(mask)), update)

    def _branch(self, stmt: If) -> Stmt:
        condition = self.value(stmt.condition)
        if condition.type.lanes == 1:
            return If(condition, self.visit(stmt.then), None if stmt.otherwise is None else self.visit(stmt.otherwise))
        if _is_changed(condition, stmt):  # by the first of its stores: what runs is decided before them
            name = f"{next(iter(self.vectors))}.mask.{len(self.vectors)}"
            known = Var(condition.type, name)
            inside = replace(self, vectors={**self.vectors, name: known})
            return Let(name, condition, inside._lanes_of(stmt, known))
        return self._lanes_of(stmt, condition)

    def _lanes_of(self, stmt: If, condition: Expr) -> Stmt:
        """Both arms of a branch, in the lanes that take them."""
        then = replace(self, mask=self._and(condition)).visit(stmt.then)
        if stmt.otherwise is None:
            return then
        opposite = Op(condition.type, "not", (condition,))
        return block(then, replace(self, mask=self._and(opposite)).visit(stmt.otherwise))

    def _definition(self, stmt: Let) -> Stmt:
        value = self.value(stmt.value)
        if value.type.lanes == 1:
            same = replace(stmt, value=value)
            return replace(same, body=replace(self, rests=_defined(same, self.rests)).visit(stmt.body))
        known = value if isinstance(value, Ramp) else Var(value.type, stmt.name)
        body = replace(self, vectors={**self.vectors, stmt.name: known}).visit(stmt.body)
        return body if known is value else Let(stmt.name, value, body)

    def _and(self, condition: Expr) -> Expr:
        if self.mask == ALWAYS:
            return condition
        if isinstance(condition, Const) and condition.value is True:
            return self.mask
        return conjunction(self.mask, self.wide(condition))

    def wide(self, expr: Expr) -> Expr:
        """A value as a vector."""
        return expr if expr.type.lanes > 1 else Broadcast(expr, self.lanes)

    def value(self, expr: Expr) -> Expr:
        """`expr` in every lane: a vector where it differs between lanes or is loaded under a mask."""
        if isinstance(expr, Var):
            return self.vectors.get(expr.name, expr)
        if not expr.children:
            return expr
        if expr not in self.memo:
            self.memo[expr] = self._load(expr) if isinstance(expr, Load) else self._value(expr)
        return self.memo[expr]

    def _value(self, expr: Expr) -> Expr:
        if isinstance(expr, Op) and expr.op == "cast" and expr.type == I64 and isinstance(expr.args[0], Var):
            loop = self.vectors.get(expr.args[0].name)
            if isinstance(loop, Ramp):  # of a loop variable, or an affine coordinate: neither overflows
                return self._widened(loop)
        children = tuple(map(self.value, expr.children))
        if isinstance(expr, Told) and self.mask == ALWAYS and children[1].type.lanes == 1:
            if all(child.type.lanes == 1 for child in children):
                return rebuild(expr, children)
            value, condition, *arguments = children
            return Told(expr.template, self.wide(value), condition, tuple(map(self.wide, arguments)))
        if isinstance(expr, Print):
            value, condition, *arguments = map(self.wide, children)
            return type(expr)(expr.template, value, self._and(condition), tuple(arguments))
        if all(child.type.lanes == 1 for child in children):
            return rebuild(expr, children)
        if isinstance(expr, Op) and expr.type.is_int:
            ramp = self._coordinate(expr, children)
            if ramp is not None:
                return ramp
        wide = tuple(map(self.wide, children))
        type_ = expr.type.with_lanes(self.lanes)
        if isinstance(expr, Op):
            return Op(type_, expr.op, wide)
        if isinstance(expr, Call):
            return Call(type_, expr.name, wide, expr.kind, expr.index)
        raise TypeError(f"unexpected in a flat nest: {expr}")

    def _coordinate(self, expr: Op, children: tuple[Expr, ...]) -> Expr | None:
        """A ramp, or one value of all lanes, that an operation on ramps is."""
        first = children[0]
        if isinstance(first, Ramp) and expr.op in ("//", "%"):
            return in_one_multiple(expr.op, first, children[1], self.rests)
        if isinstance(first, Ramp) and expr.op == "cast" and expr.type == I64 and never_wraps(first):
            return self._widened(first)
        return _ramp(expr, children)

    def _widened(self, ramp: Ramp) -> Ramp:
        """A ramp that does not overflow, in 64 bits."""
        base, stride = (Op(I64, "cast", (part,)) for part in ramp.children)
        return Ramp(affine.tidy(base), _constant(stride), self.lanes)

    def _load(self, load: Load) -> Expr:
        index, own = self.value(load.index), self.value(load.predicate)
        if index.type.lanes == 1 and own.type.lanes == 1 and self.mask == ALWAYS:
            return Load(load.type, load.buffer, index, own)
        return Load(load.type.with_lanes(self.lanes), load.buffer, self.wide(index), self._and(own))


def _is_changed(condition: Expr, branch: If) -> bool:
    """Whether stores of `branch` that others may follow change what its condition reads."""
    pending: list[Stmt] = [branch]
    stored: list[str] = []
    repeated = False
    while pending:
        part = pending.pop()
        repeated |= isinstance(part, For)
        stored += [part.buffer] if isinstance(part, Store) else ()
        pending += parts(part)
    read = {node.buffer for node in walk(condition) if isinstance(node, Load)}
    return (repeated or len(stored) > 1) and not read.isdisjoint(stored)


def _constant(stride: Expr) -> Expr:
    """A cast literal as a literal."""
    if isinstance(stride, Op) and isinstance(stride.args[0], Const):
        return Const(stride.type, stride.args[0].value)
    return stride


def _ramp(expr: Op, operands: tuple[Expr, ...]) -> Ramp | None:
    """A sum or product of ramps and scalars that is a ramp again; exact also where it wraps."""

    def combined(op: str, a: Expr, b: Expr) -> Expr:
        return simplify(Op(a.type, op, (a, b)))

    if expr.op == "neg" and isinstance(operands[0], Ramp):
        ramp = operands[0]
        zero = Const(expr.type, 0)
        return Ramp(combined("-", zero, ramp.base), combined("-", zero, ramp.stride), ramp.type.lanes)
    if expr.op not in ("+", "-", "*") or len(operands) != 2:
        return None
    a, b = operands
    lanes = max(a.type.lanes, b.type.lanes)
    if isinstance(a, Ramp) and isinstance(b, Ramp) and expr.op != "*":
        return Ramp(combined(expr.op, a.base, b.base), combined(expr.op, a.stride, b.stride), lanes)
    if isinstance(a, Ramp) and b.type.lanes == 1:
        stride = combined("*", a.stride, b) if expr.op == "*" else a.stride
        return Ramp(combined(expr.op, a.base, b), stride, lanes)
    if isinstance(b, Ramp) and a.type.lanes == 1:
        if expr.op == "*":
            return Ramp(combined("*", a, b.base), combined("*", a, b.stride), lanes)
        stride = b.stride if expr.op == "+" else combined("-", Const(expr.type, 0), b.stride)
        return Ramp(combined(expr.op, a, b.base), stride, lanes)
    return None
