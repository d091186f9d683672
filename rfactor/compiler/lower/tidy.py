"""Simplification of a flat nest: constants folded, trivial loops and branches and definitions taken away.

let a = 16; for x in (0, a): …       ->   for x in (0, 16): …
for x in (m, 1): f[x] = …            ->   f[m] = …
if True: s                           ->   s
if x < n + 8: s  (x from n to n + 7) ->   s
if n == 3: for x in (0, n): …        ->   if n == 3: for x in (0, 3): …
let a = min(x*16 + 15, 63)  (x < 4)  ->   let a = x*16 + 15
let a = b; …  (unused, or a name)    ->   …
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import conjuncts, equal_constants, nonpositive
from rfactor.compiler.lower.rejoined import rejoined
from rfactor.compiler.lower.spans import span
from rfactor.compiler.lower.storage import is_value
from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Expr, Op, Var, conjunction, names, rebuild, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Allocate, Assert, Atomic, Block, For, If, Let, Load, Produce, Stmt, Store, Write, block
from rfactor.ir.simplify import simplify
from rfactor.ir.statements import walk_nest
from rfactor.ir.types import I32

Environment = dict[str, Expr]


def tidy(stmt: Stmt) -> Stmt:
    """The statement, simplified. Values keep their bits; coordinates are taken not to overflow."""
    counters = frozenset(part.name for part in walk_nest(stmt) if isinstance(part, For))
    return _pruned(_Tidying({}, {}, counters).visit(stmt))[0]


class _Tidying:
    def __init__(
        self, environment: Environment, loops: dict[Expr, tuple[int, int]], counters: frozenset[str] = frozenset()
    ) -> None:
        self._environment = environment
        """Variables that stand for something simpler."""
        self._counters = counters
        """Loop variables. A branch for one iteration keeps them: lanes are told apart by them."""
        self._loops = loops
        """The first and the last iteration of loops around, where they are numbers."""
        self._memo: tuple[dict[Expr, Expr], dict[Expr, Expr]] = {}, {}

    def _with(self, name: str, value: Expr) -> _Tidying:
        return _Tidying({**self._environment, name: value}, self._loops, self._counters)

    def _without(self, name: str) -> _Tidying:
        """Inside of what gives a variable another value."""
        if name not in self._environment:
            return self
        return _Tidying(
            {other: value for other, value in self._environment.items() if other != name}, self._loops, self._counters
        )

    def coordinate(self, expr: Expr) -> Expr:
        return rejoined(affine.tidy(self._substituted(expr, True)))

    def bound(self, expr: Expr) -> Expr:
        """A coordinate in which extremes that the loops around decide are the arm that they are."""
        bound = self.coordinate(expr)
        decided = {node: arm for node in walk(bound) if (arm := _decided(node, self._loops)) is not None}
        return affine.tidy(replaced(bound, decided)) if decided else bound

    def value(self, expr: Expr) -> Expr:
        return simplify(self._substituted(expr, False))

    def condition(self, expr: Expr) -> Expr:
        if isinstance(expr, Const):
            return expr
        plain = self._substituted(expr, False)
        return simplify(plain, coordinates=not any(isinstance(node, Load) for node in walk(plain)))

    def guard(self, expr: Expr) -> Expr:
        """A condition without the comparisons of coordinates that hold in all iterations of the loops around."""
        condition = self.condition(expr)
        asked = list(conjuncts(condition))
        left = [one for one in asked if not _always(one, self._loops)]
        return condition if len(left) == len(asked) else conjunction(*left)

    def _substituted(self, expr: Expr, coordinate: bool) -> Expr:
        """`expr` with known variables replaced; the indices of loads are coordinates wherever they stand.

        Without recursion but into loads: what is inlined into one expression may be deep.
        """
        if not expr.children:
            return self._environment.get(expr.name, expr) if isinstance(expr, Var) else expr
        memo = self._memo[coordinate]
        for node in walk(expr):
            if isinstance(node, Load) or (isinstance(node, Var) and node.name in self._environment):
                break
        else:
            return expr
        stack = [expr]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
            elif isinstance(node, Var):
                memo[node] = self._environment.get(node.name, node)
            elif isinstance(node, Load):
                memo[node] = Load(node.type, node.buffer, self.coordinate(node.index), self.condition(node.predicate))
            else:
                waiting = [child for child in node.children if child not in memo]
                if waiting:
                    stack.extend(reversed(waiting))
                else:
                    memo[node] = rebuild(node, tuple([memo[child] for child in node.children]))
        return memo[expr]

    def visit(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Block):
            return block(*map(self.visit, stmt.statements))
        if isinstance(stmt, Produce):
            body = self.visit(stmt.body)
            return body if body == NOTHING else Produce(stmt.name, body)
        if isinstance(stmt, Atomic):
            return replace(stmt, body=self.visit(stmt.body))
        if isinstance(stmt, For):
            return self._loop(stmt)
        if isinstance(stmt, If):
            return self._branch(stmt)
        if isinstance(stmt, Let):
            return self._definition(stmt)
        if isinstance(stmt, Allocate):
            body = self.visit(stmt.body)
            return body if body == NOTHING else Allocate(stmt.buffer, stmt.type, self.coordinate(stmt.size), body)
        if isinstance(stmt, Store):
            predicate = self.condition(stmt.predicate)
            return Store(stmt.buffer, self.coordinate(stmt.index), self.value(stmt.value), predicate)
        if isinstance(stmt, Write):
            return Write(self._line(stmt.line))
        if isinstance(stmt, Assert):
            condition = self.condition(stmt.condition)
            if isinstance(condition, Const) and condition.value:
                return NOTHING
            return Assert(condition, stmt.message, tuple(map(self.coordinate, stmt.arguments)))
        raise TypeError(f"unexpected in a flat nest: {stmt!r}")

    def _line(self, line: Print) -> Print:
        return line.with_children(tuple(map(self.coordinate, line.children)))

    def _loop(self, loop: For) -> Stmt:
        low, extent = self.bound(loop.min), self.bound(loop.extent)
        count = affine.constant_value(extent)
        if count is not None and count <= 0:
            return NOTHING
        if count == 1:
            return self._with(loop.name, low).visit(loop.body)
        around, first = self._loops, affine.constant_value(low)
        if count is not None and first is not None:
            self._loops = {**around, Var(I32, loop.name): (first, first + count - 1)}
        body = self._without(loop.name).visit(loop.body)
        self._loops = around
        return body if body == NOTHING else For(loop.name, low, extent, loop.kind, body)

    def _branch(self, branch: If) -> Stmt:
        condition = self.guard(branch.condition)
        then = self._where(condition).visit(branch.then)
        otherwise = NOTHING if branch.otherwise is None else self.visit(branch.otherwise)
        if isinstance(condition, Const):
            return then if condition.value else otherwise
        if then == NOTHING and otherwise == NOTHING:
            return NOTHING
        return If(condition, then, None if otherwise == NOTHING else otherwise)

    def _where(self, condition: Expr) -> _Tidying:
        """Inside of a branch: variables that have one value there are that value."""
        values = {name: value for name, value in equal_constants(condition) if name not in self._counters}
        return _Tidying({**self._environment, **values}, self._loops, self._counters) if values else self

    def _definition(self, let: Let) -> Stmt:
        exact = is_value(let.name) or let.value.type != I32
        value = self.value(let.value) if exact else self.bound(let.value)
        if isinstance(value, Const | Var):
            return self._with(let.name, value).visit(let.body)
        return Let(let.name, value, self._without(let.name).visit(let.body))


def _decided(expr: Expr, loops: dict[Expr, tuple[int, int]]) -> Expr | None:
    """The operand that a minimum or maximum of i32 is in all iterations of `loops`, where nothing in it wraps."""
    if not (isinstance(expr, Op) and expr.op in ("min", "max") and expr.type == I32):
        return None
    if any(span(arm, dict(loops)) != _in_i32(span(arm, dict(loops))) for arm in expr.args):
        return None
    least, greatest = span(affine.subtract(*expr.args), dict(loops))
    if least < 0 < greatest:
        return None
    return expr.args[0 if (greatest <= 0) == (expr.op == "min") else 1]


def _in_i32(ends: tuple[int, int]) -> tuple[int, int]:
    return max(ends[0], int(I32.min)), min(ends[1], int(I32.max))


def _always(condition: Expr, loops: dict[Expr, tuple[int, int]]) -> bool:
    """Whether a comparison of coordinates, which do not overflow, holds in all iterations of `loops`."""
    if not (isinstance(condition, Op) and condition.op in ("<", "<=", ">", ">=")):
        return False
    below = nonpositive(condition)
    return bool(below) and all(_greatest(one, loops) <= 0 for one in below)


def _greatest(expr: Expr, loops: dict[Expr, tuple[int, int]]) -> float:
    """What a sum of coordinates of `loops` is at most; infinite where it has other terms."""
    terms, constant = affine.affine(expr)
    if any(term not in loops for term, _ in terms):
        return inf
    return constant + sum(max(factor * end for end in loops[term]) for term, factor in terms)


NOTHING = Block(())


def _pruned(stmt: Stmt) -> tuple[Stmt, frozenset[str]]:
    """The statement without definitions that nothing uses, and the names of the variables that it uses."""
    if isinstance(stmt, Block):
        parts = [_pruned(part) for part in stmt.statements]
        return block(*(part for part, _ in parts)), frozenset().union(*(used for _, used in parts))
    if isinstance(stmt, For):
        body, used = _pruned(stmt.body)
        return For(stmt.name, stmt.min, stmt.extent, stmt.kind, body), used | names(stmt.min) | names(stmt.extent)
    if isinstance(stmt, If):
        then, used = _pruned(stmt.then)
        if stmt.otherwise is None:
            return If(stmt.condition, then), used | names(stmt.condition)
        otherwise, more = _pruned(stmt.otherwise)
        return If(stmt.condition, then, otherwise), used | more | names(stmt.condition)
    if isinstance(stmt, Let):
        body, used = _pruned(stmt.body)
        if stmt.name not in used:
            return body, used
        return Let(stmt.name, stmt.value, body), used | names(stmt.value)
    if isinstance(stmt, Produce):
        body, used = _pruned(stmt.body)
        return Produce(stmt.name, body), used
    if isinstance(stmt, Atomic):
        body, used = _pruned(stmt.body)
        return replace(stmt, body=body), used
    if isinstance(stmt, Allocate):
        body, used = _pruned(stmt.body)
        return Allocate(stmt.buffer, stmt.type, stmt.size, body), used | names(stmt.size)
    if isinstance(stmt, Store):
        return stmt, names(stmt.index) | names(stmt.value) | names(stmt.predicate)
    if isinstance(stmt, Write):
        return stmt, names(stmt.line)
    if isinstance(stmt, Assert):
        return stmt, names(stmt.condition).union(*map(names, stmt.arguments))
    raise TypeError(f"unexpected in a flat nest: {stmt!r}")
