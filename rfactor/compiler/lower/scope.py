"""What is known at a place in a nest: the loops around it, what is defined there, and which conditions hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rfactor.compiler.lower.data_range import Ranges
from rfactor.ir.expr import Expr


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
