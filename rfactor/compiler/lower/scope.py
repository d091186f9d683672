"""What is known at a place in a nest: the loops around it, what is defined there, and which conditions hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import ceilings, implied, is_comparison
from rfactor.compiler.lower.data_range import Ranges
from rfactor.ir.expr import Expr, names, substitute


@dataclass(frozen=True, slots=True)
class LoopRange:
    """A loop variable: `min <= name < min + extent`, defined inside `depth` loops (its own included)."""

    depth: int
    min: Expr
    extent: Expr


@dataclass(frozen=True, slots=True)
class Definition:
    """A variable with one value, such as a hole that is filled; defined inside `depth` loops."""

    depth: int
    value: Expr


Binding = LoopRange | Definition
Lets = tuple[tuple[str, Expr], ...]
"""Names with what they are defined as, outermost first."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is known at a place in the nest."""

    depth: int = 0
    """The number of loops around it."""
    bindings: Mapping[str, Binding] = field(default_factory=dict)
    facts: Mapping[Expr, tuple[Expr, Expr]] = field(default_factory=dict)
    """Terms with their least and greatest value."""
    conditions: tuple[Expr, ...] = ()
    """Coordinates that are <= 0 here, from guards and predicates that read no data."""
    ceilings: tuple[tuple[Expr, Expr, int], ...] = ()
    """`(a, b, sign)`: here `sign * a <= sign * b`, from predicates that read data; `b` reads none."""
    ranges: Ranges = field(default_factory=Ranges)
    """What is known of data."""


def defined(scope: Scope, lets: Lets) -> Scope:
    """`scope` after the definitions."""
    if not lets:
        return scope
    bindings: dict[str, Binding] = dict(scope.bindings)
    bindings.update((name, Definition(scope.depth, value)) for name, value in lets)
    return replace(scope, bindings=bindings)


def where(scope: Scope, condition: Expr) -> Scope:
    """`scope` where the condition holds too."""
    return replace(
        scope,
        conditions=scope.conditions + implied(condition),
        ceilings=scope.ceilings + tuple(ceilings(condition)),
    )


def is_known(condition: Expr, scope: Scope) -> bool:
    """Whether parameters and sizes alone say if it holds, and do so wherever it is computed."""
    return is_comparison(condition) and names(condition).isdisjoint(scope.bindings)


def within(scope: Scope, other: Scope) -> bool:
    """Whether all that is known in `other` is known in `scope`."""
    if scope is other:
        return True
    held, ceiled = other.conditions, other.ceilings
    return (
        scope.facts is other.facts
        and scope.ranges is other.ranges
        and scope.conditions[: len(held)] == held
        and scope.ceilings[: len(ceiled)] == ceiled
        and all(scope.bindings.get(name) is binding for name, binding in other.bindings.items())
    )


def alike(scope: Scope, other: Scope) -> bool:
    """Whether the same conditions hold in `scope` as in `other`, which is around it."""
    return len(scope.conditions) == len(other.conditions) and len(scope.ceilings) == len(other.ceilings)


def expanded(expr: Expr, scope: Scope, level: int) -> Expr:
    """`expr` with what is defined inside more than `level` loops in place of its name."""
    values: dict[str, Expr] = {}

    def unfolded(part: Expr) -> Expr:
        inner = {}
        for name in names(part):
            binding = scope.bindings.get(name)
            if isinstance(binding, Definition) and binding.depth > level:
                if name not in values:
                    values[name] = unfolded(binding.value)
                inner[name] = values[name]
        return substitute(part, inner) if inner else part

    return affine.tidy(unfolded(expr))
