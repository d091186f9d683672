"""Liftings of counters whose remainder steers the rest: every n-th element, sums in turn.

`x0 + 1, x1 + select(x0 % 4 == 3, a, 0)`: a run adds a number to x0, and for each remainder from which it may start it
does something to the rest. Sums keep remainders where they do not wrap, or wrap at a multiple of the modulus.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, substitute, walk
from rfactor.ir.graph import dependencies, restrict
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.action import Action, Exprs, Inner, choose, marked, nought, operands, pruned
from rfactor.matcher.lifting.modular import remainders
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift

_MOST_PHASES, _MOST_PARTS = 16, 32
_BEFORE = "count before"
"""What the counter is called as data; no name of a user's has a space."""


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claims for an integer that is added to, and others that read its remainder by a literal."""
    if len(update.types) == 1:
        return
    edges = dependencies(update)
    for number in range(len(update.types)):
        others = tuple(i for i in range(len(update.types)) if i != number)
        if edges[number] != {number} or not update.types[number].is_int:
            continue
        modulus = _modulus(update, number, others)
        added = None if modulus is None else _added(update, number)
        if modulus is None or added is None:
            continue
        as_data = {f"x{number}": Var(update.types[number], _BEFORE)}
        steered = replace(update, components=tuple(substitute(e, as_data) for e in update.components))
        rest = inner(restrict(steered, others))
        if rest is None or rest.invariant or len(rest.types) * modulus >= _MOST_PARTS:
            continue
        if all(e.type == type_ for e, type_ in zip(rest.identity, rest.types, strict=True)):
            lift = _lifting(update, number, others, modulus, added, rest)
            yield Claim(update, lift=pruned(lift), assumes=rest.assumes)


def _modulus(update: Update, number: int, others: Sequence[int]) -> int | None:
    """The one literal by which remainders of the counter are taken."""
    found: set[int] = set()
    for i in others:
        for node in walk(update.components[i]):
            own = remainders(node) or node
            if not isinstance(own, Op) or own.op != "%" or not isinstance(own.args[1], Const):
                continue
            if f"x{number}" in names(own.args[0]):
                found.add(int(own.args[1].value))
    if len(found) != 1:
        return None
    (modulus,) = found
    keeps = update.meaning is Meaning.MATH or modulus & (modulus - 1) == 0
    return modulus if keeps and 2 <= modulus <= _MOST_PHASES else None


def _added(update: Update, number: int) -> Expr | None:
    """What is added to the counter."""
    x, component = update.accumulators[number], update.components[number]
    terms, _ = linear(component)
    free = free_of(accumulator_names(update))
    if terms.get(x) != 1 or not all(free(atom) for atom in terms if atom != x):
        return None
    return tidy(substitute(component, {x.name: nought(x.type)}))


def _lifting(update: Update, number: int, others: tuple[int, ...], modulus: int, added: Expr, rest: Action) -> Lift:
    """State: what is added to the counter; for each remainder what is done to the rest."""
    type_ = update.types[number]
    phases = [Const(type_, phase) for phase in range(modulus)]
    types = (type_, *(rest.types * modulus))
    (sum_, *flat), (more, *next_flat) = operands("x", types), operands("y", types)
    size = len(rest.types)
    table, next_table = ([e[i : i + size] for i in range(0, len(e), size)] for e in (flat, next_flat))

    def found(value: Expr) -> Sequence[Expr]:
        remainder = apply("%", value, Const(type_, modulus))
        result = next_table[-1]
        for phase, row in reversed(list(zip(phases[:-1], next_table[:-1], strict=True))):
            here = apply("==", remainder, phase)
            result = [choose(here, a, b) for a, b in zip(row, result, strict=True)]
        return result

    operator: list[Expr] = [apply("+", sum_, more)]
    data: list[Expr] = [added]
    for phase, run in zip(phases, table, strict=True):
        operator += rest.combine(run, found(apply("+", sum_, phase)))
        data += map(tidy, marked(rest.data, {_BEFORE: phase}))
    x = update.accumulators
    ended: Exprs = rest.act([x[i] for i in others], found(x[number]))
    applied = {number: apply("+", x[number], more)} | dict(zip(others, ended, strict=True))
    identity = (nought(type_), *(rest.identity * modulus))
    return Lift(types, tuple(data), tuple(operator), identity, tuple(applied[i] for i in range(len(x))))
