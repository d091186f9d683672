"""Liftings of updates that flags steer: toggles, parities, "until the first".

The flags run by themselves; the other components read them beside the data. From each state of the flags a run leads to
another, and acts on the rest as the inner update does along the way: a run is the table of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from rfactor.ir.expr import Const, Expr, Var, names, substitute
from rfactor.ir.graph import closures, restrict
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update, apply_update
from rfactor.matcher.action import Action, Exprs, Inner, choose, marked, operands
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Claim, Lift

_MOST_FLAGS = 2
_MOST_PARTS = 24
Flags = tuple[bool, ...]


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for an update some of whose components are flags that run by themselves and steer the others."""
    reach = closures(update)
    flags = [i for i in range(len(update.types)) if all(update.types[j].is_bool for j in reach[i])]
    others = [i for i in range(len(update.types)) if i not in flags]
    steering = {f"x{i}" for i in flags}
    if not others or not 1 <= len(flags) <= _MOST_FLAGS:
        return
    if not any(names(update.components[i]) & steering for i in others):
        return
    as_data = {f"x{i}": Var(BOOL, f"flag {i}") for i in flags}
    steered = Update(
        tuple(substitute(c, as_data) for c in update.components), update.types, update.constants, update.meaning
    )
    action = inner(restrict(steered, tuple(others)))
    if action is None or (len(action.types) + len(flags)) << len(flags) > _MOST_PARTS:
        return
    table = _Table(update, flags, others, action)
    yield Claim(update, lift=table.lift(), invariant=table.invariant())


class _Table:
    """A row for each state of the flags: where they lead, and what is done to the rest."""

    def __init__(self, update: Update, flags: Sequence[int], others: Sequence[int], action: Action) -> None:
        self.update, self.flags, self.others, self.action = update, flags, others, action
        self.states: list[Flags] = list(itertools.product((False, True), repeat=len(flags)))
        self.width = len(flags) + len(action.types)

    def lift(self) -> Lift:
        row: tuple[Type, ...] = (BOOL,) * len(self.flags) + self.action.types
        wide = row * len(self.states)
        first, second = operands("x", wide), operands("y", wide)
        data: list[Expr] = []
        operator: list[Expr] = []
        identity: list[Expr] = []
        for number, state in zip(range(len(self.states)), self.states, strict=True):
            data += self.step(state)
            leads, run = self.row(first, number)
            then, rest = self.found(second, leads)
            operator += [*then, *self.action.combine(run, rest)]
            identity += [*(Const(BOOL, value) for value in state), *self.action.identity]
        x = self.update.accumulators
        then, rest = self.found(second, [x[i] for i in self.flags])
        after = self.action.act([x[i] for i in self.others], rest)
        applied = dict(zip(self.flags, then, strict=True)) | dict(zip(self.others, after, strict=True))
        return Lift(wide, tuple(data), tuple(operator), tuple(identity), tuple(applied[i] for i in range(len(x))))

    def invariant(self) -> Exprs:
        """What is true of the rest's action, of that in each row."""
        starts = [number * self.width + len(self.flags) for number in range(len(self.states))]
        places = [{i: start + i for i in range(len(self.action.types))} for start in starts]
        return tuple(renumbered(c, shift) for shift in places for c in self.action.invariant)

    def step(self, state: Flags) -> list[Expr]:
        """What one datum does from a state of the flags."""
        values: dict[str, Expr] = {f"flag {i}": Const(BOOL, v) for i, v in zip(self.flags, state, strict=True)}
        x: list[Expr] = list(self.update.accumulators)
        for i, value in zip(self.flags, state, strict=True):
            x[i] = Const(BOOL, value)
        after = apply_update(self.update, x)
        return [*(tidy(after[i]) for i in self.flags), *map(tidy, marked(self.action.data, values))]

    def row(self, table: Sequence[Expr], number: int) -> tuple[Sequence[Expr], Sequence[Expr]]:
        own = table[number * self.width : (number + 1) * self.width]
        return own[: len(self.flags)], own[len(self.flags) :]

    def found(self, table: Sequence[Expr], flags: Sequence[Expr]) -> tuple[Sequence[Expr], Sequence[Expr]]:
        """The row of a table that flags choose."""

        def part(at: int, flag: int, low: int, high: int) -> Expr:
            if high - low == 1:
                return table[low * self.width + at]
            middle = (low + high) // 2
            return choose(flags[flag], part(at, flag + 1, middle, high), part(at, flag + 1, low, middle))

        parts = [part(at, 0, 0, len(self.states)) for at in range(self.width)]
        return parts[: len(self.flags)], parts[len(self.flags) :]
