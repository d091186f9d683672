"""Variables: pure (`Var`), of a reduction (`RVar`, `RDom`), and given at run time (`Param`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rfactor.compiler.language import spelling
from rfactor.compiler.language.changes import Changing
from rfactor.compiler.language.expr import (
    Expr,
    ExprLike,
    OnEntry,
    Uses,
    as_expr,
    as_i32,
    converted,
    known_on_entry,
)
from rfactor.compiler.language.names import Named, checked
from rfactor.compiler.language.numbers import is_number, of_bits, whole_of
from rfactor.compiler.language.public import integer, public
from rfactor.compiler.language.reading import read_before
from rfactor.compiler.language.types import Type, meant
from rfactor.errors import AlgorithmError, BufferError, NoVariable, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import PARAMETER, ReductionDomain, ReductionVariable, Requirement
from rfactor.ir.expr import Call, walk
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32

if TYPE_CHECKING:
    from rfactor.compiler.language.parameter import Parameter

_AXES = ("x", "y", "z", "w")


class _Declared(Expr):
    """What a user declares: it is there, so that `x or Var()` is `x`. What is made of it has no truth value."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True


@public
class Var(_Declared):
    """A pure variable: one dimension of a function. Two of one name are the same variable."""

    __slots__ = ()
    _count = 0

    def __init__(self, name: Any = None) -> None:
        if name is None:
            name = f"v{Var._count}"
            Var._count += 1
        if not isinstance(name, str):
            raise TypeMismatch(f"Var takes a name, as in Var('x'), or nothing, not {name!r}")
        super().__init__(ir.Var(I32, checked(name)))

    def name(self) -> str:
        """Its name."""
        assert isinstance(self._node, ir.Var)
        return self._node.name

    __str__ = name

    def __repr__(self) -> str:
        return f"<halide.Var '{self.name()}'>"

    def same_as(self, other: Var) -> bool:
        """Whether it is the same variable."""
        return self.name() == other.name()

    @staticmethod
    def implicit(index: int) -> Var:
        """The implicit variable `_0`, `_1`, …: one of the dimensions that `_` stands for."""
        number = integer(index, "index")
        if number < 0:
            raise TypeMismatch(f"Var.implicit({number}): the implicit variables are _0, _1, …")
        return Var(f"_{number}")

    @staticmethod
    def outermost() -> Var:
        """A loop around all others of a stage."""
        return Var("__outermost")

    def is_implicit(self) -> bool:
        """Whether it is an implicit variable, or `_`."""
        return self.is_placeholder() or (self.name()[1:].isdigit() and self.name()[0] == "_")

    def is_placeholder(self) -> bool:
        """Whether it is `_`, which stands for all dimensions that are not spelled out."""
        return self.name() == "_"

    def implicit_index(self) -> int:
        """Which implicit variable it is; -1 for others."""
        return int(self.name()[1:]) if self.is_implicit() and not self.is_placeholder() else -1


@public
class RVar(_Declared):
    """A variable of a reduction domain, or one that `split` and `fuse` make of those."""

    __slots__ = ("_domain", "_range")
    _count = 0

    def __init__(self, name: str | RDom | None = None, domain: RDom | None = None, index: int = 0) -> None:
        if isinstance(name, RDom):
            domain = name
            name = domain.variable_names()[0]
        if name is None:
            name = f"r{RVar._count}$"
            RVar._count += 1
        super().__init__(ir.Var(I32, checked(name) if domain is None else name))
        self._domain = domain
        self._range: tuple[Expr, Expr] | None = None if domain is None else domain.ranges[index]

    @classmethod
    def named(cls, name: str, low: Expr, extent: Expr) -> RVar:
        """The variable of this name and range, of a domain that is not at hand."""
        found = cls.__new__(cls)
        Expr.__init__(found, ir.Var(I32, name))
        found._domain, found._range = None, (low, extent)
        return found

    @property
    def node(self) -> ir.Expr:
        self._bounds()
        return self._node

    @property
    def uses(self) -> Uses:
        return {} if self._domain is None else self._domain.uses

    @property
    def loop(self) -> str:
        """The name of the loop over it: `r.x`."""
        assert isinstance(self._node, ir.Var)
        return self._node.name

    def name(self) -> str:
        """Its name: `r$x`."""
        return spelling.variable_name(self.loop)

    def __repr__(self) -> str:
        low, extent = self._range or (None, None)
        return f"<halide.RVar {self.name()}({_shown(low)}, {_shown(extent)})>"

    def min(self) -> Expr:
        """Its least value."""
        return self._bounds()[0]

    def extent(self) -> Expr:
        """The number of its values."""
        return self._bounds()[1]

    def _bounds(self) -> tuple[Expr, Expr]:
        if self._range is None:
            raise AlgorithmError(
                f"{self.name()} has no range of its own: it names a loop made by a split or fuse, and has no value; "
                "take one of an RDom, as in r.x"
            )
        return self._range


@public
class RDom(Named, _Declared):
    """A reduction domain: loops over the box of (min, extent) pairs, the last outermost. `where` leaves points out.

    A pair may be a `Range`. A `Buffer` or `ImageParam` may be given instead of pairs: the domain is its box.
    """

    def __init__(
        self, region: Any = None, name: str | None = None, *, buffer: Any = None, image_param: Any = None
    ) -> None:
        Named.__init__(self, name or None, "r")
        region = next((one for one in (region, buffer, image_param) if one is not None), None)
        self.ranges = () if region is None else _ranges(region)
        self._predicate: ir.Expr = ir.Const(BOOL, True)
        self._predicate_uses: Uses = {}
        self._user: str | None = None
        """A function with an update over it."""
        Expr.__init__(self, ir.Var(I32, f"{self._name}.{_AXES[0]}"))

    @property
    def uses(self) -> Uses:
        return {self._name: self}

    @property
    def node(self) -> ir.Expr:
        if len(self.ranges) != 1:
            raise TypeMismatch(
                f"{self._name} has {len(self.ranges)} dimensions: write {self._name}.x or {self._name}[0]"
            )
        return self._node

    def variable_names(self) -> tuple[str, ...]:
        """`r.x`, `r.y`, …; `r.4` from the fifth dimension on."""
        return tuple(f"{self._name}.{_AXES[i] if i < 4 else f'd{i}'}" for i in range(len(self.ranges)))

    def dimensions(self) -> int:
        """The number of variables."""
        return len(self.ranges)

    def defined(self) -> bool:
        """Whether it has variables."""
        return bool(self.ranges)

    def __format__(self, spec: str) -> str:
        if len(self.ranges) == 1:
            return format(str(self.node), spec)
        ends = (
            f"{name}({low}, {extent})" for name, (low, extent) in zip(self.variable_names(), self.ranges, strict=True)
        )
        return format(f"RDom({', '.join(ends)})", spec)

    def __repr__(self) -> str:
        lines = "".join(f"  {one.name()}({_shown(one.min())}, {_shown(one.extent())})\n" for one in self)
        return f"<halide.RDom RDom(\n{lines})>" if lines else "<halide.RDom RDom()>"

    def same_as(self, other: RDom) -> bool:
        """Whether it is the same domain."""
        return self is other

    def __iter__(self) -> Iterator[RVar]:
        return (self[i] for i in range(len(self.ranges)))

    def where(self, predicate: ExprLike) -> None:
        """Leave out the points where `predicate` is false; with earlier ones, where one is.

        Raises `AlgorithmError` once an update is over the domain.
        """
        held = as_expr(predicate)
        if self._user is not None:
            raise AlgorithmError(
                f"{self._name} cannot be given a new predicate, {held}, because it has already been used in the update "
                f"definition of {self._user}: write where(…) before that"
            )
        if not held.node.type.is_bool:
            raise TypeMismatch(f"where({held}) is {held.node.type}, not bool: compare it, as in {held} != 0")
        self._predicate = ir.conjunction(self._predicate, held.node)
        self._predicate_uses = {**self._predicate_uses, **{k: v for k, v in held.uses.items() if v is not self}}

    def used_by(self, name: str) -> None:
        """Stay as it is: an update of the function is over it."""
        self._user = name

    def settle(self, settled: Callable[[Expr], Expr]) -> None:
        """Have `settled(predicate)` for the predicate: the first definition over the domain knows what it draws."""
        held = settled(Expr(self._predicate, self._predicate_uses))
        self._predicate, self._predicate_uses = held.node, held.uses

    def domain(self) -> ReductionDomain:
        """The domain as it is now."""
        names = self.variable_names()
        variables = (
            ReductionVariable(name, low.node, extent.node)
            for name, (low, extent) in zip(names, self.ranges, strict=True)
        )
        return ReductionDomain(tuple(variables), self._predicate)

    def all_uses(self) -> Uses:
        """What its bounds and its predicate refer to."""
        result: dict[str, Any] = dict(self._predicate_uses)
        for low, extent in self.ranges:
            result.update(low.uses)
            result.update(extent.uses)
        return result

    def __getitem__(self, index: int) -> RVar:
        if not 0 <= index < len(self.ranges):
            raise NoVariable(f"{self._name} has {len(self.ranges)} dimensions, hence no [{index}]")
        return RVar(self.variable_names()[index], self, index)

    def __len__(self) -> int:
        return len(self.ranges)

    @property
    def x(self) -> RVar:
        return self._axis(0)

    @property
    def y(self) -> RVar:
        return self._axis(1)

    @property
    def z(self) -> RVar:
        return self._axis(2)

    @property
    def w(self) -> RVar:
        return self._axis(3)

    def _axis(self, index: int) -> RVar:
        if index >= len(self.ranges):
            raise AlgorithmError(f"{self._name} has {len(self.ranges)} dimensions, hence no .{_AXES[index]}")
        return self[index]


def _shown(end: Expr | None) -> str:
    """An end of a range as Halide prints it."""
    return "(undefined)" if end is None or not end.defined() else spelling.spelled(end.node, end.uses)


def _ranges(given: Any) -> tuple[tuple[Expr, Expr], ...]:
    if hasattr(given, "dimensions") and hasattr(given, "dim"):
        return tuple((as_expr(given.dim(d).min()), as_expr(given.dim(d).extent())) for d in range(given.dimensions()))
    if isinstance(given, Range) or (
        isinstance(given, Sequence) and len(given) == 2 and not any(isinstance(one, Sequence | Range) for one in given)
    ):
        given = [given]
    return end_pairs("RDom", given)


@public
class Range:
    """A range of coordinates: from `min` on, `extent` of them. `Range(min, extent)`, or the two in a tuple."""

    __match_args__ = ("min", "extent")
    __slots__ = ("extent", "min")

    def __init__(self, *given: Any) -> None:
        """`Range()` has undefined ends. Raises `TypeMismatch` for other than two ends."""
        ends = given[0] if len(given) == 1 and isinstance(given[0], tuple | list) else given or (Expr(), Expr())
        if len(ends) != 2:
            raise TypeMismatch(f"Range takes a least coordinate and an extent, not {given!r}")
        self.min, self.extent = map(as_expr, ends)

    def __repr__(self) -> str:
        return f"<halide.Range min {_shown(self.min)} extent {_shown(self.extent)}>"


def end_pairs(what: str, given: Any) -> tuple[tuple[Expr, Expr], ...]:
    """(min, extent) pairs as i32 expressions. Raises `AlgorithmError`, `TypeMismatch`."""
    ranges = []
    for one in given if isinstance(given, Sequence) else [None]:
        match one:
            case Range(low, extent) | (low, extent):
                ranges.append((_end(what, low), _end(what, extent)))
            case _:
                raise AlgorithmError(f"{what} takes (min, extent) pairs, one a dimension, not {given!r}")
    return tuple(ranges)


def _end(what: str, value: ExprLike) -> Expr:
    given = as_expr(value)
    end = as_i32(given)
    if end is None:
        type_ = Type(given.node.type)
        raise TypeMismatch(
            f"the bounds of {what} are integers that int32 holds, not {given} of type {type_}: i32(…) is"
        )
    if any(isinstance(node, Call) and node.kind == "func" for node in walk(end.node)):
        raise AlgorithmError(
            f"the bound {end} of {what} depends on a call to a Func: bounds are of numbers, parameters and what images "
            "hold at points of such"
        )
    return read_before(f"bound {end} of {what}", end)


@public
class Param(Changing, OnEntry, Named, _Declared):
    """A scalar given at run time: `Param(Int(32))`, `Param(Int(32), "n", 5)`; `set` gives its value."""

    def __init__(self, type: Type, name: Any = None, value: Any = None) -> None:
        if name is not None and not isinstance(name, str):
            name, value = None, name
        held = meant("Param", type)
        Named.__init__(self, name or None, "p")
        Expr.__init__(self, ir.Var(held, self._name + PARAMETER))
        self._value: bool | int | float | None = None
        self.promises: Mapping[str, Expr] = {}
        """The ends of its range that were set: `min` and `max`."""
        self.default, self.estimate = Expr(), Expr()
        if value is not None:
            self.set(value)

    @property
    def uses(self) -> Uses:
        return {self._name: self}

    def entry_names(self) -> frozenset[str]:
        """That of its value."""
        return frozenset({self.variable.name})

    @property
    def variable(self) -> ir.Var:
        """What holds its value."""
        assert isinstance(self._node, ir.Var)
        return self._node

    def __repr__(self) -> str:
        return f"<halide.Param '{self._name}' type {self.type()}>"

    def set(self, value: bool | int | float) -> None:
        """Give the value, or its bits: -1 of u8 is 255. Raises `TypeMismatch` where the type does not hold it."""
        converted_ = as_expr(of_bits(self.node.type, whole_of(self.node.type, value)), self.node.type)
        if not isinstance(converted_.node, ir.Const):
            raise TypeMismatch(f"{self._name} is set to {value!r}, which is no number")
        self._value = converted(self.node.type, converted_).node.value  # type: ignore[attr-defined]

    def get(self) -> bool | int | float:
        """The value. Raises `BufferError` if none was given."""
        if self._value is None:
            raise BufferError(f"the parameter {self._name} has no value: call {self._name}.set(…) before realize")
        return self._value

    def set_range(self, low: ExprLike, high: ExprLike) -> None:
        """Promise that the value is between two ends; checked on entry of the pipeline.

        Raises `AlgorithmError` for numbers between which there is none.
        """
        if is_number(low) and is_number(high) and high < low:
            raise AlgorithmError(
                f"set_range({low}, {high}) of {self._name}: no value is between; the least comes first"
            )
        self.set_min_value(low)
        self.set_max_value(high)

    def set_min_value(self, low: ExprLike) -> None:
        """Promise that the value is no less."""
        self._promise("min", low)

    def set_max_value(self, high: ExprLike) -> None:
        """Promise that the value is no greater."""
        self._promise("max", high)

    def min_value(self) -> Expr:
        """The least value, undefined if none was set."""
        return self.promises.get("min", Expr())

    def max_value(self) -> Expr:
        """The greatest value, undefined if none was set."""
        return self.promises.get("max", Expr())

    def set_estimate(self, value: ExprLike) -> None:
        """Say what the value will be like: for readers, as there are no autoschedulers.

        Raises `AlgorithmError` for what is no number.
        """
        given = whole_of(self.node.type, value)
        self.estimate = estimated(self._name, as_expr(given, self.node.type if is_number(given) else None))

    def parameter(self) -> Parameter:
        """What is known of it before the pipeline runs."""
        from rfactor.compiler.language.parameter import Parameter

        return Parameter.of(self)

    def _promise(self, end: str, value: ExprLike) -> None:
        held = as_expr(value, self.node.type if is_number(value) else None)
        known_on_entry(held, f"the {end} of {self._name}")
        self.promises = {**self.promises, end: converted(self.node.type, held)}

    def requirements(self) -> tuple[Requirement, ...]:
        """What is checked on entry."""
        found = []
        for end, value in self.promises.items():
            holds = ir.apply(">=" if end == "min" else "<=", self.node, value.node)
            side = "least" if end == "min" else "most"
            message = f"the parameter {self._name} is {{}}, where at {side} {{}} was promised"
            found.append(Requirement(holds, message, (self.node, value.node)))
        return tuple(found)

    def references(self) -> Uses:
        """What its promises refer to."""
        return {name: used for value in self.promises.values() for name, used in value.uses.items()}


def estimated(name: str, estimate: Expr) -> Expr:
    """An estimate of `name` as a constant, or `Expr()`, which says nothing. Raises `AlgorithmError` where it varies."""
    if not estimate.defined():
        return estimate
    number = simplify(estimate.node)
    if not isinstance(number, ir.Const):
        raise AlgorithmError(f"the estimate {estimate} of {name} is no constant: give the number that is usual")
    return Expr(number)


def one_of_a_name(expr: Expr) -> Expr:
    """`expr` with the first for all parameters of one name and type, which Halide takes for one in an expression."""
    given = [used for used in expr.uses.values() if isinstance(used, Param) and used.wanted is not None]
    firsts: dict[tuple[Any, ...], Param] = {}
    others = {
        other.name(): (other.variable.name, first.node)
        for other in given
        if (first := firsts.setdefault((other.wanted, other.node.type), other)) is not other
    }
    if not others:
        return expr
    uses = {name: used for name, used in expr.uses.items() if name not in others}
    return Expr(ir.substitute(expr.node, dict(others.values())), uses)


_ = Var("_")
_0, _1, _2, _3, _4 = (Var(f"_{i}") for i in range(5))
_5, _6, _7, _8, _9 = (Var(f"_{i}") for i in range(5, 10))
