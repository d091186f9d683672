"""One form for expressions over unbounded integers that are equal by the rules of sums.

What is asserted on entry and what is computed later are often the same sum of the same sizes, put together in another
order: where both have one form, the solver has nothing to find out. Every rule holds of all integers.

x + 3 - (x - y)      ->   y + 3
(16*a + b + 35)//16  ->   a + 2 + (b + 3)//16
min(a + 3, b)        ->   a + 3 + min(0, b - a - 3), and so for max and select
a % 4                ->   a - 4*(a // 4)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rfactor.compiler.verify.terms import integer, plus, times
from rfactor.ir.expr import Const, Expr, Op, rebuild, walk
from rfactor.ir.types import BOOL, I64

Sum = tuple[dict[Expr, int], int]
"""A sum: its terms with their factors, none 0, and a constant."""


def _combined(a: Sum, b: Sum, factor: int) -> Sum:
    """`a + factor*b`."""
    terms = dict(a[0])
    for term, count in b[0].items():
        total = terms.get(term, 0) + factor * count
        if total:
            terms[term] = total
        else:
            terms.pop(term, None)
    return terms, a[1] + factor * b[1]


@dataclass
class Forms:
    """The forms of expressions, found once each."""

    _sums: dict[Expr, Sum] = field(default_factory=dict)
    _others: dict[Expr, Expr] = field(default_factory=dict)
    _written: dict[tuple[frozenset[tuple[Expr, int]], int], Expr] = field(default_factory=dict)

    def of(self, expr: Expr) -> Expr:
        """The form of a condition or an integer."""
        for node in walk(expr):
            if node.type == I64:
                if node not in self._sums:
                    self._sums[node] = self._sum(node)
            elif node not in self._others:
                self._others[node] = self._other(node)
        return self.form(expr)

    def form(self, node: Expr) -> Expr:
        """The form of what is known already."""
        return self._expr(self._sums[node]) if node.type == I64 else self._others[node]

    def _other(self, node: Expr) -> Expr:
        if isinstance(node, Op) and node.type == BOOL and node.args[0].type == I64 and len(node.args) == 2:
            terms, constant = _combined(self._sums[node.args[0]], self._sums[node.args[1]], -1)
            return Op(BOOL, node.op, (self._expr((terms, 0)), integer(-constant)))
        return rebuild(node, tuple(map(self.form, node.children)))

    def _sum(self, node: Expr) -> Sum:
        if isinstance(node, Const):
            return {}, int(node.value)
        if isinstance(node, Op) and node.op != "cast":
            found = self._of_operands(node.op, [self._sums[arg] for arg in node.args if arg.type == I64], node)
            if found is not None:
                return found
        return {rebuild(node, tuple(map(self.form, node.children))): 1}, 0

    def _of_operands(self, op: str, sums: Sequence[Sum], node: Op) -> Sum | None:
        a, b = sums[0], sums[-1]
        if op in ("+", "-"):
            return _combined(a, b, 1 if op == "+" else -1)
        if op == "*" and not (a[0] and b[0]):
            return _combined(({}, 0), a if a[0] else b, (b if a[0] else a)[1])
        if op in ("min", "max"):
            distance = self._expr(_combined(b, a, -1))
            return _combined(a, ({Op(I64, op, (integer(0), distance)): 1}, 0), 1)
        if op == "select":
            distance = self._expr(_combined(a, b, -1))
            return _combined(b, ({Op(I64, op, (self._others[node.args[0]], distance, integer(0))): 1}, 0), 1)
        if op in ("//", "%") and not b[0] and b[1] > 0:
            by = b[1]
            whole = {term: count // by for term, count in a[0].items() if count // by}
            rest = {term: count % by for term, count in a[0].items() if count % by}
            quotient: Sum = (whole, a[1] // by)
            if rest:
                left = Op(I64, "//", (self._expr((rest, a[1] % by)), integer(by)))
                quotient = _combined(quotient, ({left: 1}, 0), 1)
            return quotient if op == "//" else _combined(a, quotient, -by)
        return None

    def _expr(self, total: Sum) -> Expr:
        """A sum as an expression: the same for equal sums, in whatever order they were put together."""
        key = frozenset(total[0].items()), total[1]
        if key not in self._written:
            made = integer(0)
            for term, factor in total[0].items():
                made = plus(made, term if factor == 1 else times(term, integer(factor)))
            self._written[key] = plus(made, integer(total[1]))
        return self._written[key]
