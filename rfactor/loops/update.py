"""From what a step does to the update that the matcher is asked about: data of the step become variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, names, rebuild, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update


@dataclass(frozen=True)
class Abstracted:
    """An update, and what its variables stand for."""

    update: Update
    meanings: dict[str, Expr]
    """By name of a datum or constant: the expression over arrays' elements, the step and numbers that stay the same."""

    def concrete(self, exprs: Sequence[Expr]) -> tuple[Expr, ...]:
        """Expressions over the update's variables, written with what those stand for."""
        return substitute_all(exprs, self.meanings)


def abstracted(components: Sequence[Expr], meaning: Meaning, whole: bool = True, choices: bool = False) -> Abstracted:
    """The update with a variable for each largest part that does not depend on the state; with `whole` false, for each
    smallest one; with `choices`, choices among literals stay."""
    known: dict[Expr, Var] = {}
    meanings: dict[str, Expr] = {}
    constants: set[str] = set()
    memo: dict[Expr, Expr] = {}

    def variable(e: Expr) -> Expr:
        if isinstance(e, Const):
            return e
        if e not in known:
            fixed = all(n.startswith(("k", "dim")) for n in names(e))
            name = f"{'c' if fixed else 'd'}{len(known)}"
            known[e] = Var(e.type, name)
            meanings[name] = e
            if fixed:
                constants.add(name)
        return known[e]

    def visit(e: Expr) -> Expr:
        if e not in memo:
            if not is_stateful(e) and (whole or not isinstance(e, Op)) and not (choices and _is_choice(e)):
                memo[e] = variable(e)
            elif e.children:
                memo[e] = rebuild(e, tuple(visit(c) for c in e.children))
            else:
                memo[e] = e
        return memo[e]

    visited = tuple(visit(c) for c in components)
    types = tuple(c.type for c in components)
    return Abstracted(Update(visited, types, frozenset(constants), meaning), meanings)


def _is_choice(e: Expr) -> bool:
    """Is it one of several literals?"""
    return isinstance(e, Op) and e.op == "select" and all(isinstance(a, Const) or _is_choice(a) for a in e.args[1:])


def is_stateful(e: Expr) -> bool:
    """Does an expression read the state?"""
    return any(n[0] == "x" or n.startswith("kind_x") for n in names(e))


def is_fixed(e: Expr) -> bool:
    """Is the value of an expression the same in all steps?"""
    return all(n.startswith(("k", "dim")) and not n.startswith("kind_") for n in names(e))


def renumbered(components: Sequence[Expr], kept: Sequence[int]) -> tuple[Expr, ...]:
    """Components with the variables of the state numbered from 0, of those kept."""
    values = {f"x{k}": Var(components[k].type, f"x{j}") for j, k in zip(range(len(kept)), kept, strict=True)}
    return substitute_all([components[k] for k in kept], values)
