"""What an intermediate holds, column by column, and the definitions that `rfactor` makes of it.

Expressions here are over `x0`, `x1`, … and `y0`, `y1`, … for the columns of two states, named after them, and over the
names of the extracted update, which `meanings` takes back to the algorithm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Const, Expr, Var, apply, conjunction, names, substitute, substitute_all
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32, Type

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)


@dataclass(frozen=True, slots=True)
class Column:
    """One component of the intermediate."""

    name: str
    """`0`, `1`, … for the state's own; its values are called `x` or `y` and this name."""
    type: Type
    start: Expr
    """Its value before any element, over constants."""
    step: Expr
    """Its value after one more element, over the state `x…` and data."""
    choose: Expr | None = None
    """Its value for two slices `x…` and `y…` in any order; None where slices are merged in order."""

    def var(self, side: str) -> Var:
        return Var(self.type, side + self.name)


@dataclass(frozen=True, slots=True)
class State:
    """The columns of the intermediate, and how the function's values take them in."""

    columns: tuple[Column, ...]
    components: tuple[int, ...]
    """The function's components that are called `x0`, `x1`, … in `merge`."""
    merge: tuple[Expr, ...]
    """The function's new values by component, over its old ones and the state `y…`."""
    visited: Expr
    """Where the merge takes a point in: over the state `y…` and the factored variables."""
    meanings: Mapping[str, Expr]

    @property
    def chooses(self) -> bool:
        """Whether the intermediate chooses among its slices, in any order: all columns say how, or none."""
        return self.columns[0].choose is not None


@dataclass(frozen=True, slots=True)
class Factoring:
    """What is asked: an update, and which of its reduction variables become which pure variables."""

    function: Function
    definition: Definition
    pairs: tuple[tuple[str, str], ...]
    name: str
    """Of the intermediate."""

    @property
    def domain(self) -> ReductionDomain:
        return self.definition.domain or ReductionDomain(())

    @property
    def factored(self) -> tuple[ReductionVariable, ...]:
        """The variables that leave the update, innermost first."""
        gone = {rvar for rvar, _ in self.pairs}
        return tuple([rv for rv in self.domain.variables if rv.name in gone])

    @property
    def arguments(self) -> tuple[Expr, ...]:
        """The function's point in the merge: all points, but a left-hand argument without reduction variables stays."""
        moving = {rv.name for rv in self.domain.variables}
        return tuple(
            Var(I32, variable) if names(argument) & moving else argument
            for variable, argument in zip(self.function.variables, self.definition.arguments, strict=True)
        )

    def at(self, places: Mapping[str, Expr]) -> tuple[Expr, ...]:
        """The intermediate's point for the function's, where each factored variable is at its place."""
        return (*self.arguments, *(places[rvar] for rvar, _ in self.pairs))


def _calls(function: Function, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple([function.at(arguments, c) for c in range(len(function.types))])


def _written(exprs: Sequence[Expr], meanings: Mapping[str, Expr], **states: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """`exprs` in the algorithm's own terms."""
    values = dict(meanings)
    for side, columns in states.items():
        for name, value in columns.items():
            values[side + name] = value
    return substitute_all(exprs, values)


def intermediate(asked: Factoring, state: State) -> Function:
    """The function that reduces slices: from the identity, by a copy of the update (section 3, steps 2 and 3).

    Where slices are merged out of order, a second update first chooses among them, in the first point of each.
    """
    moved: dict[str, Expr] = {rvar: Var(I32, var) for rvar, var in asked.pairs}
    fresh = tuple(Var(I32, var) for _, var in asked.pairs)
    variables = (*asked.function.variables, *(var for _, var in asked.pairs))
    types = tuple(column.type for column in state.columns)
    start = _written([column.start for column in state.columns], state.meanings)
    shell = Function(asked.name, variables, types, Definition(tuple(Var(I32, v) for v in variables), start))
    arguments = (*substitute_all(asked.definition.arguments, moved), *fresh)
    meanings = dict(zip(state.meanings, substitute_all([*state.meanings.values()], moved), strict=True))
    values = _written([c.step for c in state.columns], meanings, x=_by_column(state, _calls(shell, arguments)))
    remaining = tuple(
        ReductionVariable(rv.name, *substitute_all((rv.min, rv.extent), moved))
        for rv in asked.domain.variables
        if rv.name not in moved
    )
    predicate = substitute(asked.domain.predicate, moved)
    domain = ReductionDomain(remaining, predicate) if remaining or predicate != TRUE else None
    slices = Definition(arguments, values, domain)
    updates = (slices, _choice(asked, state, shell)) if state.chooses else (slices,)
    return Function(asked.name, variables, types, shell.pure, updates)


def _by_column(state: State, values: tuple[Expr, ...]) -> Mapping[str, Expr]:
    return {column.name: value for column, value in zip(state.columns, values, strict=True)}


def _choice(asked: Factoring, state: State, shell: Function) -> Definition:
    """The update that takes all slices into the first one."""
    first = {rv.name: rv.min for rv in asked.factored}
    loops = tuple(replace(rv, name=f"{asked.name}.{rv.name}") for rv in asked.factored)
    renamed: dict[str, Expr] = {rv.name: loop.var for rv, loop in zip(asked.factored, loops, strict=True)}
    loops = tuple(
        replace(loop, min=substitute(loop.min, renamed), extent=substitute(loop.extent, renamed)) for loop in loops
    )
    others: Expr = TRUE
    if len(loops) == 1:
        one = Const(I32, 1)
        second, others_count = apply("+", loops[0].min, one), apply("-", loops[0].extent, one)
        loops = (replace(loops[0], min=simplify(second), extent=simplify(others_count)),)
    else:
        same = (apply("==", renamed[rv.name], rv.min) for rv in asked.factored)
        others = apply("not", conjunction(*same))
    into = asked.at(first)
    values = _written(
        [column.choose for column in state.columns if column.choose is not None],
        state.meanings,
        x=_by_column(state, _calls(shell, into)),
        y=_by_column(state, _calls(shell, asked.at(renamed))),
    )
    return Definition(into, values, ReductionDomain(loops, others))


def merge(asked: Factoring, state: State, made: Function) -> Definition:
    """The update that combines slices in the order of the domain (section 3, step 4).

    Where the intermediate has chosen among its slices, only the first point is left to take in.
    """
    loops = asked.factored
    if state.chooses:
        loops = tuple(replace(rv, extent=_at_most_one(rv.extent)) for rv in loops)
    here = _calls(asked.function, asked.arguments)
    there = _by_column(state, _calls(made, asked.at({rv.name: rv.var for rv in asked.factored})))
    old = {str(k): here[c] for k, c in enumerate(state.components)}
    values = _written(state.merge, state.meanings, x=old, y=there)
    (visited,) = _written((state.visited,), {}, y=there)
    return Definition(asked.arguments, values, ReductionDomain(loops, visited, asked.domain.origins))


def _at_most_one(extent: Expr) -> Expr:
    if isinstance(extent, Const):
        return Const(I32, min(int(extent.value), 1))
    return simplify(apply("min", extent, Const(I32, 1)))
