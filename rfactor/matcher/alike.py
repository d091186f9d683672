"""Updates that differ in the names of data and constants alone: what is said of one is said of the other.

A claim holds of all values that names may have, so that it holds under other names too, as long as no two become one
and none is taken for an operand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rfactor.ir.expr import Expr, Var, substitute, substitute_all, variables
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, Lifting

_LIKE_OPERANDS = re.compile("[xyz]")
"""How names begin that stand among those of operands, or after them, in the order of the alphabet."""


@dataclass(frozen=True, slots=True)
class Form:
    """An update with numbers for the names of its data and constants."""

    update: Update
    """The number of a name is its place in the order of the alphabet, which what is found may depend on."""
    variables: tuple[Var, ...]
    """What the numbers stand for."""

    @staticmethod
    @lru_cache(maxsize=256)
    def of(update: Update) -> Form | None:
        """None where a name is like one of an operand's, or is that of two variables."""
        own = {x.name for x in update.accumulators}
        free = {var for component in update.components for var in variables(component) if var.name not in own}
        ordered = tuple(sorted(free, key=lambda var: var.name))
        if len({var.name for var in ordered}) < len(ordered) or any(_LIKE_OPERANDS.match(v.name) for v in ordered):
            return None
        numbers = {var.name: f"{place:06}" for place, var in enumerate(ordered)}
        components = substitute_all(update.components, {v.name: Var(v.type, numbers[v.name]) for v in ordered})
        constants = frozenset(numbers[name] for name in update.constants if name in numbers)
        return Form(Update(components, update.types, constants, update.meaning), ordered)

    def said_of(self, answer: Answer, update: Update) -> Answer | None:
        """What `answer`, a yes about an update of this form, says of `update`, which has this form as well."""
        known = Form.of(answer.update)
        if known is None or known.update != self.update:
            return None
        names = {old.name: new for old, new in zip(known.variables, self.variables, strict=True)}
        return renamed(answer, update, names)


def renamed(answer: Answer, update: Update, variables: Mapping[str, Var]) -> Answer:
    """The answer about `update`, which has `variables` in place of those of these names."""

    def new(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return substitute_all(exprs, variables)

    lift = answer.lift
    if lift is not None:
        lift = Lifting(lift.types, new(lift.data), new(lift.operator), new(lift.identity), new(lift.apply))
    return replace(
        answer,
        update=update,
        operator=None if answer.operator is None else new(answer.operator),
        identity=None if answer.identity is None else new(answer.identity),
        data=None if answer.data is None else new(answer.data),
        invariant=new(answer.invariant),
        assumes=new(answer.assumes),
        lift=lift,
        rounded=None if answer.rounded is None else (answer.rounded[0], substitute(answer.rounded[1], variables)),
    )
