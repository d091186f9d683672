"""Other spellings of an update: truth values cast to numbers as choices, minima and maxima by arithmetic as such.

`x + max(a - x, 0)`, `0.5*(x + a + abs(x - a))` and `x + (a - x)*(a > x)` are all `max(x, a)`: where sums are exact, one
normal form says so. What is found for the other spelling is proved for the update as it is written.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.ir.expr import Const, Expr, Op, Var, const, leaves, rebuild, select, substitute, transform
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.prover.ordered_sums import normal_form

_READ = frozenset(("+", "-", "neg", "*", "/", "//", "min", "max", "abs", "select", "<", "<=", ">", ">="))
_PART = "part "
"""Before the number of what is no sum, extremum or choice; no name of a user's has a space."""


def respelled(update: Update) -> Update:
    """The update in the other spelling; the same update where there is none."""
    chosen = tuple(transform(e, _as_choice) for e in update.components)
    return replace(update, components=tuple(_simplest(e, update.meaning) for e in chosen))


def _as_choice(node: Expr) -> Expr | None:
    if not isinstance(node, Op):
        return None
    if node.op == "cast" and node.args[0].type.is_bool:
        return select(node.args[0], const(node.type, 1), const(node.type, 0))
    if node.op == "*":
        for flag, other in (node.args, node.args[::-1]):
            if (
                isinstance(flag, Op)
                and flag.op == "select"
                and flag.args[1:] == (const(flag.type, 1), const(flag.type, 0))
            ):
                return select(flag.args[0], other, flag.args[2])
    return None


def _simplest(expr: Expr, meaning: Meaning) -> Expr:
    """`expr` with each of its largest sums, choices and extrema in normal form where that is shorter."""
    if not isinstance(expr, Op):
        return expr
    if expr.type.is_float or (expr.type.is_int and meaning is Meaning.MATH):
        parts: dict[Expr, Var] = {}
        form = normal_form(_over_parts(expr, parts), meaning)
        if form is not None:
            written = substitute(form, {var.name: part for part, var in parts.items()})
            if leaves(written) < leaves(expr):
                return written
    return rebuild(expr, tuple(_simplest(arg, meaning) for arg in expr.args))


def _over_parts(expr: Expr, parts: dict[Expr, Var]) -> Expr:
    """`expr` with a variable for each part that is not read here."""
    if isinstance(expr, Const | Var):
        return expr
    if not isinstance(expr, Op) or expr.op not in _READ:
        return parts.setdefault(expr, Var(expr.type, f"{_PART}{len(parts)}"))
    return rebuild(expr, tuple(_over_parts(arg, parts) for arg in expr.args))
