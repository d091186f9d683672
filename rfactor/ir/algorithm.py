"""Algorithms: what is computed. Functions over unbounded integer lattices, each a pure definition and updates.

After *Formal Semantics for the Halide Language* (2020), section 3: a function's stages run in order; an update may read
its own function; a reduction domain is an ordered list of serial loops with a predicate.
Coordinates are `i32`; dimension 0 and reduction variable 0 are innermost.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rfactor.ir.expr import Call, Const, Expr, Var
from rfactor.ir.types import BOOL, I32, Type

PARAMETER = ".param"
"""What the variable of a parameter ends in: `n.param` of `n`. No name of a user's has a dot, so that a pure variable
`n` is another."""


ADDRESS = ".address"
"""What the variable of an array's place in memory ends in: the i64 `b.address` of `b`. Requirements alone have it."""


def plain(name: str) -> str:
    """What people call a variable: the parameter by its own name."""
    return name.removesuffix(PARAMETER)


@dataclass(frozen=True, slots=True)
class ReductionVariable:
    """One serial loop of a reduction domain: `min <= name < min + extent`. Names are unique in a pipeline."""

    name: str
    min: Expr
    """i32; a constant, or an expression of parameters, image extents, readings and, after `rfactor`, pure variables
    and outer reduction variables."""
    extent: Expr
    """i32; negative counts as zero."""

    @property
    def var(self) -> Var:
        return Var(I32, self.name)


@dataclass(frozen=True, slots=True)
class ReductionDomain:
    """The points that an update visits, in order."""

    variables: tuple[ReductionVariable, ...]
    """Innermost first: variable 0 moves fastest."""
    predicate: Expr = field(default_factory=lambda: Const(BOOL, True))
    """bool; points where it is false are not visited, and nothing of them is loaded."""
    origins: tuple[ReductionVariable, ...] = ()
    """The variables that others of this update were made of, by splits and fuses: i32 holds their coordinates too."""


@dataclass(frozen=True, slots=True)
class Definition:
    """One stage of a function: `name(arguments) = values`, over `domain` for updates that have one.

    An update may write several points at once: see `several`.
    """

    arguments: tuple[Expr, ...]
    """i32 each; for the pure definition the function's own variables. Dimension 0 first."""
    values: tuple[Expr, ...]
    """One a component. All are read before any is written."""
    domain: ReductionDomain | None = None
    keeps: tuple[bool, ...] = ()
    """Of the pure definition, by component, if any: the array of an output keeps what the caller put there, and the
    value is not stored."""
    where: Expr | None = None
    """Of the pure definition: where it does not hold, values are 0, and the array of an output is left as it is."""
    update: int | None = None
    """Which update of the user's it is a part or a case of, 0 the first; None: that in whose place it stands."""

    def may_keep(self, component: int) -> bool:
        """Whether the caller's array may hold values of `component` that nobody computed."""
        return self.where is not None or bool(self.keeps and self.keeps[component])

    @property
    def keeps_all(self) -> bool:
        """Whether there is nothing to compute where the caller's arrays hold the values."""
        return bool(self.keeps) and all(self.keeps)

    @property
    def expressions(self) -> tuple[Expr, ...]:
        """The arguments and the values, and the predicate of the domain, if there is one."""
        return (*self.arguments, *self.values, *(() if self.domain is None else (self.domain.predicate,)))


@dataclass(frozen=True, slots=True)
class Function:
    """A function from integer points to tuples of values."""

    name: str
    variables: tuple[str, ...]
    """The pure variables, one a dimension, dimension 0 (innermost) first."""
    types: tuple[Type, ...]
    """Type of each component."""
    pure: Definition
    updates: tuple[Definition, ...] = ()

    def at(self, arguments: tuple[Expr, ...], component: int = 0) -> Call:
        """The call of one component of this function at a point."""
        return Call(self.types[component], self.name, arguments, "func", component)

    @property
    def stages(self) -> tuple[Definition, ...]:
        """The pure definition, then the updates."""
        return (self.pure, *self.updates)

    def told(self, stage: int) -> str:
        """A stage as directives name it: `f`, `f.update(0)`."""
        update = self.stages[stage].update
        return f"{self.name}.update({stage - 1 if update is None else update})" if stage else self.name


@dataclass(frozen=True, slots=True)
class Image:
    """An input array that an algorithm reads: an `ImageParam` or a concrete `Buffer`."""

    name: str
    type: Type
    dimensions: int


@dataclass(frozen=True, slots=True)
class Reading:
    """An element of an image that is read once, before anything is computed: what bounds a reduction domain."""

    var: Var
    """What it is called by whom it concerns."""
    value: Call
    """An image at a point of parameters, boxes of images, and readings before this one."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a pipeline asks of what it is given, known before anything is computed: checked on entry."""

    condition: Expr
    """bool, over parameters, the boxes of images (`b.min.d`, `b.extent.d`, the i64 `b.stride.d`) and of outputs, and
    where arrays begin (`b.address`)."""
    message: str
    """What is wrong where it does not hold: a template for `str.format`, over `arguments`."""
    arguments: tuple[Expr, ...] = ()


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A whole pipeline: every function the outputs need, producers before consumers."""

    functions: tuple[Function, ...]
    outputs: tuple[str, ...]
    """Names of the output functions."""
    images: tuple[Image, ...] = ()
    parameters: tuple[Var, ...] = ()
    """Scalars given at run time: `n.param` of the parameter `n`. An image `b` also has the i32 parameters `b.min.d` and
    `b.extent.d` a dimension d, and the i64 `b.stride.d`."""
    requirements: tuple[Requirement, ...] = ()
    readings: tuple[Reading, ...] = ()

    def function(self, name: str) -> Function:
        """The function called `name`; `KeyError` if there is none."""
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)
