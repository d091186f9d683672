"""A coordinate that becomes known: choices by it, which `mux` makes of many values, are taken apart once.

select(x == 0, a, select(x == 1, b, c)) of x = 1   ->   b
i64(x) * 24 of x = m + 1                           ->   (i64(m) + 1) * 24
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rfactor.compiler.lower.storage import widen
from rfactor.ir.expr import Const, Expr, Op, Var, names, replace, substitute
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I32, I64


@dataclass(frozen=True, slots=True)
class _Choice:
    """A chain of selects."""

    index: Expr
    arms: dict[object, Expr]
    """By the number that `index` is,"""
    otherwise: Expr
    """and for every other number."""


@dataclass(slots=True)
class Choices:
    """The choices by a variable in expressions, found once for all values that it takes."""

    name: str
    _outermost: dict[Expr, tuple[Expr, ...]] = field(default_factory=dict)
    _taken_apart: dict[Expr, _Choice] = field(default_factory=dict)

    def of(self, expr: Expr, value: Expr) -> Expr:
        """`expr` where the variable is `value`: arms that are not chosen are not looked at."""
        chosen = replace(self._chosen(expr, value), {self._wide: widen(value)})
        return substitute(chosen, {self.name: value})

    @property
    def _wide(self) -> Expr:
        """The coordinate as indices have it: of `m + 1` they have `i64(m) + 1`, so that its neighbours are known."""
        return Op(I64, "cast", (Var(I32, self.name),))

    def _chosen(self, expr: Expr, value: Expr) -> Expr:
        if self.name not in names(expr):
            return expr
        known: dict[Expr, Expr] = {}
        for root in self._roots(expr):
            choice = self._taken_apart[root]
            index = simplify(substitute(choice.index, {self.name: value}))
            if isinstance(index, Const):
                known[root] = self._chosen(choice.arms.get(index.value, choice.otherwise), value)
        return replace(expr, known)

    def _roots(self, expr: Expr) -> tuple[Expr, ...]:
        """The chains in `expr` that are inside of no other."""
        found = self._outermost.get(expr)
        if found is None:
            roots: list[Expr] = []
            waiting, seen = [expr], set[Expr]()
            while waiting:
                node = waiting.pop()
                if node not in seen:
                    seen.add(node)
                    choice = _choice(node, self.name)
                    if choice is None:
                        waiting += node.children
                    else:
                        self._taken_apart[node] = choice
                        roots.append(node)
            found = self._outermost[expr] = tuple(roots)
        return found


def _choice(expr: Expr, name: str) -> _Choice | None:
    """The chain that begins at `expr`, over a number that depends on the variable `name`."""
    index: Expr | None = None
    arms: dict[object, Expr] = {}
    while isinstance(expr, Op) and expr.op == "select":
        condition = expr.args[0]
        if not (isinstance(condition, Op) and condition.op == "==" and isinstance(condition.args[1], Const)):
            break
        own, number = condition.args
        if index is None and own.type.is_int and own.type.lanes == 1 and name in names(own):
            index = own
        if own != index:
            break
        assert isinstance(number, Const)
        arms.setdefault(number.value, expr.args[1])
        expr = expr.args[2]
    return None if index is None else _Choice(index, arms, expr)
