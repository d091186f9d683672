"""A serial update as the checker and the matcher see it: `x := f(x; d)` with loop constants `k`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from rfactor.ir.expr import Expr, Var, substitute_all, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type


@dataclass(frozen=True, slots=True)
class Update:
    """`x0, x1, … := components`. Every name that is no accumulator and no constant is data of the iteration."""

    components: tuple[Expr, ...]
    """The new value of each accumulator, over `x0`, `x1`, … (as `Var`s), data and constants."""
    types: tuple[Type, ...]
    """The type of each accumulator; component i has type i."""
    constants: frozenset[str] = frozenset()
    """Names that stay the same through the loop."""
    meaning: Meaning = Meaning.WRAP

    @property
    def accumulators(self) -> tuple[Var, ...]:
        return _accumulators(self.types)

    @property
    def data(self) -> tuple[Var, ...]:
        """The per-iteration variables, in order of first occurrence."""
        return _data(self.components, self.types, self.constants)


@lru_cache(maxsize=256)
def _accumulators(types: tuple[Type, ...]) -> tuple[Var, ...]:
    return tuple(Var(type_, f"x{i}") for i, type_ in zip(range(len(types)), types, strict=True))


@lru_cache(maxsize=256)
def _data(components: tuple[Expr, ...], types: tuple[Type, ...], constants: frozenset[str]) -> tuple[Var, ...]:
    own = {x.name for x in _accumulators(types)} | constants
    seen: dict[str, Var] = {}
    for component in components:
        for var in variables(component):
            if var.name not in own:
                seen.setdefault(var.name, var)
    return tuple(seen.values())


def apply_update(update: Update, state: Sequence[Expr], tag: str = "") -> tuple[Expr, ...]:
    """`f(state; d)`, the data's names marked with `tag` so that several steps can stand side by side."""
    values: dict[str, Expr] = {f"x{i}": e for i, e in zip(range(len(state)), state, strict=True)}
    if tag:
        values |= {var.name: Var(var.type, f"{var.name} {tag}") for var in update.data}
    return substitute_all(update.components, values)
