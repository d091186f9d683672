"""Other spellings of an update: truth values cast to numbers as choices, minima and maxima by arithmetic as such, what
every branch of a choice adds to added once, exponentials of sums as products, choices by a value that change nothing
left out.

`x + max(a - x, 0)`, `0.5*(x + a + abs(x - a))` and `x + (a - x)*(a > x)` are all `max(x, a)`: where sums are exact, one
normal form says so. What is found for the other spelling is proved for the update as it is written.
"""

from __future__ import annotations

from dataclasses import replace

from rfactor.ir.expr import (
    Call,
    Const,
    Expr,
    Op,
    Var,
    apply,
    const,
    intrinsic,
    leaves,
    names,
    rebuild,
    select,
    substitute,
    transform,
)
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.update import Update
from rfactor.prover.ordered_sums import normal_form

_READ = frozenset(("+", "-", "neg", "*", "/", "//", "min", "max", "abs", "select", "<", "<=", ">", ">="))
_PART = "part "
"""Before the number of what is no sum, extremum or choice; no name of a user's has a space."""


def respelled(update: Update) -> Update:
    """The update in the other spelling; the same update where there is none."""
    own = frozenset(v.name for v in update.accumulators)

    def rule(node: Expr) -> Expr | None:
        return _as_choice(node) or _needless(node) or _added_once(node, own, update.meaning) or _exponential(node, own)

    chosen = tuple(transform(e, rule) for e in update.components)
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


def _needless(node: Expr) -> Expr | None:
    """Of a choice by whether a variable has a value, the other branch, where at that value it is the one for it:
    of `select(x == 2, 2, select(a, min(x + 1, 2), x))` the inner choice.
    """
    if not isinstance(node, Op) or node.op != "select":
        return None
    test, equal, other = node.args
    if not isinstance(test, Op) or test.op not in ("==", "!="):
        return None
    if test.op == "!=":
        equal, other = other, equal
    for variable, value in (test.args, test.args[::-1]):
        if isinstance(variable, Var) and isinstance(value, Const):
            there = simplify(substitute(other, {variable.name: value}))
            if there == simplify(substitute(equal, {variable.name: value})):
                return other
    return None


def _added_once(node: Expr, own: frozenset[str], meaning: Meaning) -> Expr | None:
    """A choice by data in which both branches add to the same accumulators: `select(c, x + 1, x - 1)`."""
    if not isinstance(node, Op) or node.op != "select" or node.type.is_bool or not own.isdisjoint(names(node.args[0])):
        return None
    if node.type.code == "uint" and meaning is Meaning.MATH:
        return None  # what is added may be below 0
    condition, *branches = node.args
    (one, first), (other, second) = (linear(branch) for branch in branches)
    common = {atom: c for atom, c in one.items() if not own.isdisjoint(names(atom))}
    if not common or common != {atom: c for atom, c in other.items() if not own.isdisjoint(names(atom))}:
        return None
    rests = [
        from_linear(node.type, ((atom, c) for atom, c in terms.items() if atom not in common), constant)
        for terms, constant in ((one, first), (other, second))
    ]
    return apply("+", from_linear(node.type, common.items(), 0), select(condition, *rests))


def _exponential(node: Expr, own: frozenset[str]) -> Expr | None:
    """The exponential of a sum of state and data as that of the state times that of the data."""
    if not isinstance(node, Call) or node.name != "exp":
        return None
    terms, constant = linear(node.args[0])
    state = {atom: c for atom, c in terms.items() if not own.isdisjoint(names(atom))}
    data = {atom: c for atom, c in terms.items() if atom not in state}
    if not state or not (data or constant) or not all(own.issuperset(names(atom)) for atom in state):
        return None
    of_data = intrinsic("exp", from_linear(node.type, data.items(), constant))
    return apply("*", intrinsic("exp", from_linear(node.type, state.items(), 0)), of_data)


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
