"""Data of an iteration taken for one datum: an update whose data are expressions is one with plain data, instantiated.

`x*31 + (a ^ b)` is `x*31 + d` at `d = a ^ b`. What is proved for all data holds for those that are values of an
expression; what is not so of all data may be so of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rfactor.ir.expr import Const, Expr, Op, Var, rebuild, walk
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.meaning import Meaning

_CHAINS = ("*", "min", "max", "&", "|", "^", "and", "or", "!=")
_NATURAL = ("+", "*", "min", "max", "abs", "//", "%", "&", "|", "^", ">>", "select")
"""What of values that are not below 0 is not below 0."""
PART = "part "
"""Before the number of a datum that stands for an expression; no name of a user's has a space."""


class Parts:
    """Canonical expressions with a datum for each largest part that reads data and no accumulator."""

    def __init__(self, exprs: Sequence[Expr], accumulators: frozenset[str], constants: frozenset[str]) -> None:
        self.of: dict[Expr, Var] = {}
        """Parts, each with its datum."""
        self._made: dict[Expr, Expr] = {}
        self._reads: dict[Expr, bool] = {}
        """Whether an expression reads an accumulator."""
        self._moves: dict[Expr, bool] = {}
        """Whether it reads data."""
        for expr in exprs:
            for node in walk(expr):
                children = node.children
                self._reads[node] = any(self._reads[child] for child in children)
                self._moves[node] = any(self._moves[child] for child in children)
                if isinstance(node, Var):
                    self._reads[node] = node.name in accumulators
                    self._moves[node] = node.name not in accumulators and node.name not in constants
        self.components = tuple([self._over(expr) for expr in exprs])

    def are_plain(self) -> bool:
        """Whether every part is a variable."""
        return all(isinstance(part, Var) for part in self.of)

    def may_stand(self, meaning: Meaning) -> bool:
        """Whether each part has values that a datum may have."""
        return all(_is_datum(part, meaning) for part in self.of)

    def _datum(self, part: Expr) -> Var:
        known = self.of.get(part)
        if known is None:
            known = self.of[part] = Var(part.type, f"{PART}{len(self.of)}")
        return known

    def _over(self, expr: Expr) -> Expr:
        made = self._made.get(expr)
        if made is None:  # parts that are shared would be met exponentially often
            made = self._made[expr] = self._rewritten(expr)
        return made

    def _rewritten(self, expr: Expr) -> Expr:
        if not self._reads[expr]:
            return self._datum(expr) if self._moves[expr] else expr
        if isinstance(expr, Op) and expr.op in ("+", "-"):
            return self._sum(expr)
        if isinstance(expr, Op) and expr.op in _CHAINS and expr.args[0].type == expr.type:
            return self._chain(expr)
        return rebuild(expr, tuple([self._over(child) for child in expr.children]))

    def _sum(self, expr: Op) -> Expr:
        terms, constant = linear(expr)
        if any(atom not in self._reads for atom in terms):
            return rebuild(expr, tuple([self._over(child) for child in expr.children]))
        own = [(self._over(atom), c) for atom, c in terms.items() if self._reads[atom]]
        rest = [(atom, c) for atom, c in terms.items() if not self._reads[atom]]
        if not any(self._moves[atom] for atom, _ in rest):
            return from_linear(expr.type, [*own, *rest], constant)
        datum = self._datum(from_linear(expr.type, rest, constant))
        return from_linear(expr.type, [*own, (datum, 1)], 0)

    def _chain(self, expr: Op) -> Expr:
        operands = _flat(expr.op, expr)
        rest = [operand for operand in operands if not self._reads[operand]]
        own = [self._over(operand) for operand in operands if self._reads[operand]]
        if any(self._moves[operand] for operand in rest):
            rest = [self._datum(_joined(expr, rest))]
        return _joined(expr, [*own, *rest])


def _flat(op: str, expr: Expr) -> list[Expr]:
    if not (isinstance(expr, Op) and expr.op == op):
        return [expr]
    return [operand for arg in expr.args for operand in _flat(op, arg)]


def _joined(expr: Op, operands: Sequence[Expr]) -> Expr:
    result = operands[0]
    for operand in operands[1:]:
        result = Op(expr.type, expr.op, (result, operand))
    return result


def _is_datum(part: Expr, meaning: Meaning) -> bool:
    """Whether a part is finite and, of an unsigned type without bounds, not below 0."""
    for node in walk(part):
        if isinstance(node, Const) and node.type.is_float and not math.isfinite(node.value):
            return False
        natural = meaning is Meaning.MATH and node.type.is_int and not node.type.is_signed
        if natural and is_below_zero(node):
            return False
        if natural and node.children and not (isinstance(node, Op) and (node.op in _NATURAL or _is_widened(node))):
            return False
    return True


def is_below_zero(node: Expr) -> bool:
    """Whether a node of a canonical form is a factor below 0 that an unsigned type wrapped around."""
    return isinstance(node, Const) and not node.type.is_signed and node.value > node.type.max // 2


def _is_widened(node: Op) -> bool:
    return node.op == "cast" and not node.args[0].type.is_signed and not node.args[0].type.is_float


def are_apart(parts: Mapping[Expr, Var]) -> bool:
    """Whether no two parts read the same datum, so that each has its values whatever the others have."""
    seen: set[str] = set()
    for part in parts:
        own = {node.name for node in walk(part) if isinstance(node, Var) and node.name[0] != "k"}
        if own & seen:
            return False
        seen |= own
    return True
