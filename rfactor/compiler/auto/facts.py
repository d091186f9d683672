"""What a schedule of an update depends on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from rfactor.compiler.auto.machine import Machine
from rfactor.compiler.auto.work import JOINED, Work, decays, step_ns, work
from rfactor.compiler.lower.data_range import data_range
from rfactor.compiler.restore_order import ties
from rfactor.compiler.rfactor import Recognize, asked_about, seen_component
from rfactor.compiler.schedule.purity import pure_variables, race_free
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Const, Expr, Op, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, Type
from rfactor.matcher.answer import Answer

MOST_BINS = 1 << 22


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop of an update."""

    name: str
    extent: int | None
    """None where it is known only when the pipeline runs."""

    @property
    def axis(self) -> str:
        """What it is called in its domain."""
        return self.name.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Facts:
    """Of one update."""

    loops: tuple[Loop, ...]
    """Those whose iterations meet, of reduction variables; innermost first."""
    pure: tuple[str, ...]
    """Loops whose iterations write points of their own, innermost first."""
    within: str
    """What the innermost of them is called once the reduction is factored: a variable of the function; or nothing."""
    own: tuple[Loop, ...]
    """The same loops as `pure`, with how many points each is over as far as that is known or expected."""
    called: Mapping[str, str]
    """What they are called once the reduction is factored: variables of the function."""
    points: tuple[str, ...]
    """The function's own variables."""
    variables: tuple[str, ...]
    """All reduction variables, innermost first."""
    vector_bits: int
    taken: frozenset[str]
    """Names that are in use."""
    types: tuple[Type, ...]
    """Of the state that slices are reduced to, as far as it is known."""
    work: Work
    guarded: bool
    """Whether iterations are left out."""
    scattered: bool
    """Whether data or reduction variables decide which point is written."""
    bins: int | None
    """Points that may be written, for one of the pure loops; None where data might be anything."""
    any_order: bool
    """Whether the loops may be factored in any order."""
    lifted: bool
    """Whether slices keep a richer state than the function."""
    joins: frozenset[str]
    """Operations by which two slices become one, each component by one of them; none where it takes more than that."""
    decays: bool
    """Whether that state keeps products of floats, which may become denormal."""
    meaning: Meaning
    """In which it has an operator."""
    slice_ns: float
    """One iteration of a slice, one after the other,"""
    apart_ns: float
    """and where it does not wait for the one before: those of several slices in turn."""

    @property
    def widest(self) -> int:
        """Bits of the widest component."""
        return max(max(type_.bits, 8) for type_ in self.types)

    @property
    def held(self) -> tuple[Type, ...]:
        """Of the components that lanes keep in registers: what is stored beside a record is not."""
        kept = tuple(type_ for i, type_ in enumerate(self.types) if i not in self.work.beside)
        return self.types if self.lifted else kept

    @property
    def count(self) -> int | None:
        """Iterations of the loops; None where that is not known."""
        return extents(self.loops)


def extents(loops: tuple[Loop, ...]) -> int | None:
    """The product of the extents; None where one is not known."""
    known = [loop.extent for loop in loops if loop.extent is not None]
    return prod(known) if len(known) == len(loops) else None


def facts(
    function: Function,
    number: int,
    references: Mapping[str, Any],
    recognize: Recognize,
    machine: Machine,
    expected: Mapping[str, int],
    semantics: Meaning = Meaning.WRAP,
) -> Facts:
    """Of update `number` of `function`, of which so many points are `expected` by its variables; of machine arithmetic
    where that has an operator, otherwise in the meaning of `semantics`.

    Raises `FactorError` where no operator is found and proved behind it.
    """
    definition = function.updates[number]
    domain = definition.domain
    own = race_free(function, definition)
    variables = () if domain is None else domain.variables
    every = {**expected, **{rv.name: _extent(rv.extent) for rv in variables}}
    loops = tuple(Loop(rv.name, every[rv.name]) for rv in variables if rv.name not in own)
    pure = (*(rv.name for rv in variables if rv.name in own), *pure_variables(function, definition))
    done = work(function.name, definition, references, machine)
    types, any_order, lifted, faint, meaning = function.types, True, False, False, Meaning.WRAP
    joins = frozenset[str]()
    slice_ns, apart_ns = done.serial_ns, done.apart_ns
    if loops:
        seen = seen_component(function, definition)
        kept = tuple(c for c in range(len(function.types)) if c != seen)
        _, answer = asked_about(function, definition, kept, semantics, recognize)
        meaning = answer.update.meaning
        lifted = answer.verdict == "lifted"
        if answer.lift is not None and lifted:
            types = answer.lift.types
            slice_ns, apart_ns = step_ns(answer.lift.operator, answer.lift.data, done)
            faint = decays(answer.lift.operator)
        joins = _joins(answer) if answer.commutative and not lifted else joins
        any_order = bool(answer.commutative) or ties(answer) is not None
    arguments = zip(function.variables, definition.arguments, strict=True)
    called = {argument.name: x for x, argument in arguments if isinstance(argument, Var) and argument.name in pure}
    moving = tuple(a for a in definition.arguments if not (isinstance(a, Var) and a.name in pure))
    scattered = any(not isinstance(simplify(argument), Const) for argument in moving)
    taken = frozenset((*function.variables, *(rv.name for rv in variables), *references, function.name))
    return Facts(
        loops=loops,
        pure=pure,
        within=called.get(pure[0], "") if pure else "",
        own=tuple(Loop(name, every.get(name)) for name in pure),
        called=called,
        points=function.variables,
        variables=tuple(rv.name for rv in variables),
        vector_bits=machine.vector_bits,
        taken=taken,
        types=types,
        work=done,
        guarded=domain is not None and domain.predicate != Const(BOOL, True),
        scattered=scattered,
        bins=_bins(moving),
        any_order=any_order,
        lifted=lifted,
        joins=joins,
        decays=faint,
        meaning=meaning,
        slice_ns=slice_ns,
        apart_ns=apart_ns,
    )


def _joins(answer: Answer) -> frozenset[str]:
    """The operations of an operator whose components are each `x + y` or the like."""
    operator = answer.operator or ()
    pairs = [{Var(value.type, f"x{i}"), Var(value.type, f"y{i}")} for i, value in enumerate(operator)]
    plain = all(
        isinstance(value, Op) and value.op in JOINED and set(value.args) == pair
        for value, pair in zip(operator, pairs, strict=True)
    )
    return frozenset(value.op for value in operator if isinstance(value, Op)) if plain else frozenset()


def _extent(extent: Expr) -> int | None:
    known = simplify(extent)
    return max(int(known.value), 0) if isinstance(known, Const) else None


def _bins(arguments: tuple[Expr, ...]) -> int | None:
    bins = 1
    for argument in arguments:
        known = data_range(argument)
        if known is None:
            return None
        bins *= known[1] - known[0] + 1
    return bins if bins <= MOST_BINS else None
