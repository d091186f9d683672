"""The parts of a bounds query: obligations, and what is known at a place of a nest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rfactor.compiler.verify.meanings import Meanings
from rfactor.compiler.verify.terms import TRUE, at_most, compare, negation, plus
from rfactor.ir.expr import Expr, Var
from rfactor.ir.loopnest import For, If, Let, Produce, Realize


@dataclass(frozen=True, slots=True)
class Place:
    """What an obligation is about."""

    kind: str
    """`storage`, `computed`, `folded`, `range`, `covered` or `value`: see `query`."""
    function: str
    """The function or image whose points are meant; empty where none is."""
    stage: str
    """The stage that it is asked in, as `f.s0`; `caller` for what is asked of outputs."""
    access: str
    """The access, loop or coordinate, as in the nest."""
    variable: str
    """The dimension of the function, by its variable or number; empty where all are meant."""
    loops: tuple[str, ...]
    """The loops around it, outermost first."""


@dataclass(frozen=True, slots=True)
class Step:
    """`goal`, wherever `given` holds besides what is given to the whole."""

    goal: Expr
    given: tuple[Expr, ...] = ()
    decisive: bool = True
    """Whether the obligation fails where this does; else it is a way to prove it and no more."""


@dataclass(frozen=True, slots=True)
class Exists:
    """A condition of which it is asked whether some values of `variables` fulfil it."""

    variables: tuple[Var, ...]
    condition: Expr


@dataclass(frozen=True, slots=True)
class Spec:
    """An obligation: all of `steps`, or all of `instead`."""

    place: Place
    given: tuple[Expr, ...]
    """The conditions around it."""
    running: tuple[Expr, ...]
    """The loops around it have this iteration."""
    steps: tuple[Step, ...]
    instead: tuple[Step, ...] = ()
    """Another way to prove it."""
    otherwise: Exists | None = None
    """Where a step fails at some values, the obligation fails there only if nothing fulfils this."""
    problem: str = ""
    """Why it cannot be said to the solver, if it cannot."""
    before: int | None = None
    """Of a check on entry: how many others are made before."""
    defined: int | None = None
    """Of a value that checks on entry are made of: how many others are made before."""


@dataclass(frozen=True)
class Query:
    """All obligations of a nest."""

    specs: tuple[Spec, ...]
    meanings: Meanings
    asserted: tuple[Expr, ...]
    """What the checks on entry guarantee."""


@dataclass(frozen=True, slots=True)
class Around:
    """A statement around a place."""

    stmt: For | If | Let | Realize | Produce
    variable: Var | None = None
    """Of a loop."""
    taken: bool = True
    """Of a condition: whether this is where it holds."""
    terms: tuple[Expr, ...] = ()
    """Of a loop its min and extent, of a condition itself."""


@dataclass(frozen=True, slots=True)
class Home:
    """The storage of a function around a place."""

    depth: int
    """How many statements are around what is inside it."""
    bounds: tuple[tuple[Expr, Expr], ...]
    folds: tuple[int | None, ...]


@dataclass(frozen=True)
class Scope:
    """What is known at a place."""

    env: Mapping[str, Expr]
    path: tuple[Around, ...] = ()
    homes: Mapping[str, Home] = field(default_factory=dict)
    produced: Mapping[str, Expr] = field(default_factory=dict)
    """The functions that are computed before, each with where it is."""
    open: Mapping[str, int] = field(default_factory=dict)
    """The functions that are being computed, each with the number of its stage."""
    stage: str = ""
    epoch: int = 0
    """The same in two places only if nothing is written between."""

    @property
    def given(self) -> tuple[Expr, ...]:
        """The conditions that hold here."""
        return tuple(
            one.terms[0] if one.taken else negation(one.terms[0]) for one in self.path if isinstance(one.stmt, If)
        )

    @property
    def running(self) -> tuple[Expr, ...]:
        """The ranges of the loops around."""
        found: list[Expr] = []
        for one in self.path:
            if one.variable is not None:
                found += ranged(one.variable, *one.terms)
        return tuple(found)

    @property
    def loops(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(one.stmt.name for one in self.path if isinstance(one.stmt, For))

    def spec(self, place: Place, *steps: Step, problem: str = "") -> Spec:
        """An obligation here."""
        return Spec(place, self.given, self.running, steps, problem=problem)


def ranged(value: Expr, low: Expr, extent: Expr) -> tuple[Expr, Expr]:
    """`low <= value < low + extent`."""
    return at_most(low, value), compare("<", value, plus(low, extent))


__all__ = ["TRUE", "Around", "Exists", "Home", "Place", "Query", "Scope", "Spec", "Step", "ranged"]
