"""Functions: `Func`, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import count as naturals
from typing import TYPE_CHECKING, Any, Literal

from rfactor.compiler.deep import deep
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.chance import numbered, resolved, unnumbered
from rfactor.compiler.language.changes import Changing
from rfactor.compiler.language.compiled import Compiled
from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, converted, entry_names, is_sequence
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.implicit import count, expanded, implicit, is_placeholder
from rfactor.compiler.language.keywords import also_named
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.numbers import is_number
from rfactor.compiler.language.placement import Placement
from rfactor.compiler.language.public import listed, public
from rfactor.compiler.language.queries import Queries
from rfactor.compiler.language.references import FuncRef, Pending, point_of
from rfactor.compiler.language.several import spread
from rfactor.compiler.language.stage import Stage, StageState
from rfactor.compiler.language.told import tell
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.undefined import kept, located, started
from rfactor.compiler.language.variables import RDom, RVar, Var, one_of_a_name
from rfactor.compiler.language.wrappers import Wrapped, Wrappers, clone
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.errors import AlgorithmError, ScheduleError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import several
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import I32
from rfactor.ir.types import Type as IrType
from rfactor.matcher.answer import Answer

if TYPE_CHECKING:
    from rfactor.compiler.auto.directive import AutoSchedules


_PLACEHOLDER = Var("_")


@public
class Func(Changing, Named, Queries, Wrapped, Placement, Compiled):
    """A function from points to values: defined once by pure variables, then updated any number of times."""

    def __init__(
        self,
        *given: Any,
        name: str | None = None,
        required_type: Any = None,
        required_types: Any = None,
        required_dimensions: int | None = None,
    ) -> None:
        """`Func()`, `Func("f")`; `Func(expression)`, `Func(buffer)` or `Func(image)` with its values; or
        `Func(type, dimensions, "f")`, also with a list of types, which its definition must have."""
        types = required_types if required_type is None else required_type
        wanted, value, self._required = _meant((*given, *(x for x in (types, required_dimensions) if x is not None)))
        super().__init__(name or wanted, "f")
        self._variables: tuple[str, ...] = ()
        self._types: tuple[IrType, ...] = ()
        self.stages: list[StageState] = []
        self._unplaced()
        self.references: dict[str, Any] = {}
        """What its definitions refer to, by name."""
        self.output_images: list[OutputImageParam] = []
        """What is promised of the arrays that it is computed into, a component each, once it was asked for."""
        self.answer: Answer | None = None
        """For an intermediate that `rfactor` made: the operator, and what proved it,"""
        self.ranges: Mapping[str, ReductionVariable] = {}
        """and where it is read, by pure variable."""
        self.prepared: Any = None
        """What `realize` last used, for as long as nothing changes: see `pipeline.Prepared`."""
        self.wrappers: Wrappers = {}
        self._used = False
        if isinstance(value, ImageParam):
            with unnumbered():  # in Halide it is the function that the image is
                self[_PLACEHOLDER] = value[_PLACEHOLDER]
        elif isinstance(value, Buffer):
            self[_PLACEHOLDER] = value[_PLACEHOLDER]
        elif value is not None:
            self[()] = value

    @classmethod
    def of(
        cls, function: Function, references: Uses, answer: Answer | None, ranges: Mapping[str, ReductionVariable]
    ) -> Func:
        """The shell of a function that a pass made, whose name is free; the definitions of a copy have no numbers."""
        if answer is not None:
            for _ in function.stages:
                numbered()
        self = cls.__new__(cls)
        Named.__init__(self, function.name, "f")
        self._variables, self._types = function.variables, function.types
        self.stages = [StageState(stage, default_stage(function, stage)) for stage in function.stages]
        self._unplaced()
        self.compute_root()
        self.references = dict(references)
        self.output_images = []
        self.wrappers = {}
        self._required, self._used = None, False
        self.answer = answer
        self.ranges = ranges
        self.prepared = None
        return self

    def use(self) -> None:
        """Give it no more updates: it is computed, or others read it."""
        if not self._used:
            self._used = True

    @property
    def used(self) -> bool:
        """Whether it gets no more updates."""
        return self._used

    def variables(self) -> list[Var]:
        """Its pure variables."""
        return self.args()

    @also_named(fs="f")
    def clone_in(self, f: Func | Sequence[Func]) -> Func:
        """A function with the definitions and directives that this one has now, which `f`, one or several, call."""
        return clone(self, f)

    __iter__ = None
    """A function has a value at every point: there is no end to them."""

    def __getitem__(self, index: Any) -> FuncRef:
        given = _indices(index)
        if self.stages:
            given = expanded(self.name(), given, len(self._variables))
            if len(given) != len(self._variables):
                raise TypeMismatch(
                    f"{self.name()} has {len(self._variables)} dimensions, {len(given)} indices were given"
                )
        return FuncRef(self, point_of(self, given))

    def __call__(self, *index: ExprLike) -> FuncRef:
        return self[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        if isinstance(value, Pending):
            index, value = value.started(self, index)
        values = list(Tuple(value)) if _several(value) else [value]
        given = _indices(index)
        if self.stages:
            rank = len(self._variables)
        else:
            rank = len(given) - 1 + count([as_expr(one) for one in values]) if any(map(is_placeholder, given)) else 0
        arguments = point_of(self, expanded(self.name(), given, rank))
        if self.stages:
            self._update(arguments, values)
        else:
            self._define(arguments, [as_expr(one) for one in values])

    def _define(self, arguments: tuple[Expr, ...], values: list[Expr]) -> None:
        """The pure definition."""
        names = []
        for argument in arguments:
            if not isinstance(argument, Var):
                raise AlgorithmError(
                    f"{self.name()} is first defined at {argument}: the first definition is over Vars alone, "
                    f"as in {self.name()}[x] = …; updates may follow"
                )
            if argument.name() in names:
                raise AlgorithmError(
                    f"the variables that {self.name()} is first defined over must be distinct; "
                    f"{argument.name()} is there twice"
                )
            names.append(argument.name())
        types = tuple(value.node.type for value in values)
        if self._required is not None:
            wanted, rank = self._required
            if types != wanted:
                raise TypeMismatch(
                    f"{self.name()} is constrained to only hold values of type {_listed(wanted)} "
                    f"but is defined with values of type {_listed(types)}"
                )
            if len(names) != rank:
                raise TypeMismatch(
                    f"{self.name()} is constrained to have exactly {rank} dimensions, "
                    f"but is defined with {len(names)} dimensions"
                )
        self._variables, self._types = tuple(names), types
        self._add(arguments, values, None, "the pure definition")

    def _update(self, arguments: tuple[Expr, ...], values: list[Any]) -> None:
        if self._used:
            raise AlgorithmError(
                f"Func {self.name()} cannot be given a new update definition, because it has already been realized or "
                f"used in the definition of another Func. Give all its updates before, or define another function by it"
            )
        if len(arguments) != len(self._variables):
            raise TypeMismatch(
                f"{self.name()} has {len(self._variables)} dimensions, {len(arguments)} indices were given"
            )
        if len(values) != len(self._types):
            raise TypeMismatch(f"{self.name()} has {len(self._types)} components, {len(values)} values were given")
        exprs = []
        for i, (value, type_) in zip(range(len(values)), zip(values, self._types, strict=True), strict=True):
            expr = as_expr(value, type_ if is_number(value) else None)
            if expr.node.type != type_ and is_number(value):
                expr = converted(type_, expr)
            if expr.node.type != type_:
                raise TypeMismatch(
                    f"component {i} of {self.name()} is {type_}, the update gives {expr.node.type} (in {expr}): "
                    f"write {type_}(…) around it, or define {self.name()} with that type"
                )
            exprs.append(expr)
        what = f"update {len(self.stages) - 1}"
        domains = {k: v for e in (*arguments, *exprs) for k, v in e.uses.items() if isinstance(v, RDom)}
        if len(domains) > 1:
            raise AlgorithmError(
                f"{what} of {self.name()} uses the domains {' and '.join(domains)}: an update is over one RDom, "
                f"of as many dimensions as needed"
            )
        domain = next(iter(domains.values()), None)
        self._add(arguments, exprs, domain, what)

    @deep
    def _add(self, arguments: tuple[Expr, ...], values: list[Expr], domain: RDom | None, what: str) -> None:
        names = [a.node.name for a in arguments if isinstance(a.node, ir.Var) and a.node.name in self._variables]
        names += () if domain is None else domain.variable_names()
        point = tuple(ir.Var(I32, name) for name in names)
        keeps: tuple[bool, ...] = ()
        where: ir.Expr | None = None
        number = numbered()
        arguments = tuple(one_of_a_name(resolved(argument, number, point)) for argument in arguments)
        values = [one_of_a_name(resolved(value, number, point)) for value in values]
        if domain is not None:
            domain.settle(lambda predicate: resolved(predicate, number, point))
        written = spread(f"{what} of {self.name()}", arguments, values)
        values = list(written[-1][1])
        held: list[Expr] = []
        """Where the points are defined."""
        if self.stages:
            written = [(located(point, held), found) for point, found in written]
            written = [(point, self._without_undef(point, found)) for point, found in written]
        else:
            values, keeps, where = started(f"{what} of {self.name()}", values)
            written = [(arguments, tuple(values))]
        references: dict[str, Any] = {}
        for expr in (*held, *(expr for point, found in written for expr in (*point, *found))):
            references.update(expr.uses)
        loops: ReductionDomain | None = None
        if domain is not None:
            references.update(domain.all_uses())
            references.pop(domain.name(), None)  # what is undefined everywhere names it no more
            loops = domain.domain()
        elif any(isinstance(one, RDom | RVar) for one in references.values()):
            raise AlgorithmError(f"{what} of {self.name()} uses a reduction variable: only updates do")
        if held:
            loops = loops or ReductionDomain(())
            loops = replace(loops, predicate=ir.conjunction(loops.predicate, *(one.node for one in held)))
        references.pop(self.name(), None)
        made_of = [one.node for point, found in written for one in (*point, *found)]
        if loops is not None:
            made_of += [loops.predicate, *(end for one in loops.variables for end in (one.min, one.extent))]
        self._all_known(made_of, names, references, what)
        nodes = [(tuple(a.node for a in point), tuple(v.node for v in found)) for point, found in written]
        if self.stages and domain is None:
            self._tell_of_hidden(nodes)
        definition = Definition(*several.joined(nodes), loops, keeps, where)
        for used in references.values():
            if isinstance(used, Func):
                used.use()
        self.references.update(references)
        if domain is not None:
            domain.used_by(self.name())
        self.stages = [*self.stages, StageState(definition, default_stage_of(self, definition))]

    def _all_known(self, nodes: Iterable[ir.Expr], names: Container[str], references: Uses, what: str) -> None:
        """Raise `AlgorithmError` for a variable that is none of `names`, no parameter, and no end of a box."""
        known = entry_names(references)
        unknown = {
            node.name: node
            for expr in nodes
            for node in ir.walk(expr)
            if isinstance(node, ir.Var) and node.name not in names and node.name not in known
        }
        if not unknown:
            return
        if not self.stages and any(implicit(node) is not None for node in unknown.values()):
            raise AlgorithmError(
                f"Right-hand-side of {what} of {self.name()} uses implicit variables, but the left-hand-side does not "
                "contain the placeholder symbol '_': write it there, for the dimensions that it stands for"
            )
        raise AlgorithmError(
            f'Undefined variable "{next(iter(unknown))}" in definition of Func "{self.name()}": {what} knows the '
            f"variables of {self.name()} that stand on its left-hand side as they are, those of its domain, and "
            "parameters"
        )

    def _tell_of_hidden(self, written: Sequence[tuple[tuple[ir.Expr, ...], tuple[ir.Expr, ...]]]) -> None:
        """Warn of an update without a domain that writes all points and reads none of them."""
        everywhere = [point for point, _ in written] == [tuple(ir.Var(I32, name) for name in self._variables)]
        values = [value for _, found in written for value in found]
        if everywhere and not any(isinstance(e, ir.Call) and e.name == self.name() for v in values for e in ir.walk(v)):
            tell(
                f'In update definition {len(self.stages) - 1} of Func "{self.name()}":\nUpdate definition completely '
                "hides earlier definitions,  because all the arguments are pure, it contains no self-references,  and "
                "no reduction domain. This may be an accidental re-definition of  an already-defined function."
            )

    def _without_undef(self, point: tuple[Expr, ...], values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        at = tuple(argument.node for argument in point)
        return tuple(kept(value, self.function.at(at, i)) for value, i in zip(values, naturals(), strict=False))

    def start(self, arguments: tuple[Expr, ...], value: Any, start: int) -> None:
        """Define it as `start` everywhere, before its first `+=` or `*=`."""
        names = [
            a if isinstance(a, Var) else Var(f"{self.name()}_d{d}")
            for d, a in zip(range(len(arguments)), arguments, strict=True)
        ]
        parts = Tuple(value)
        self[tuple(names)] = [converted(part.node.type, as_expr(start)) for part in parts]

    # Schedule

    def _state(self) -> StageState:
        self.require()
        return self.stages[0]

    def _owner(self) -> Func:
        return self

    def _index(self) -> int:
        return 0

    def update(self, idx: int = 0) -> Stage:
        """The schedule of an update, the first by default."""
        if not 0 <= idx < self.num_update_definitions():
            raise ScheduleError(f"{self.name()} has {self.num_update_definitions()} updates, hence no update({idx})")
        return Stage(self, idx + 1)

    def auto_rfactor(self, *, semantics: Literal["wrap", "math"] = "wrap") -> AutoSchedules:
        """`update(i).auto_rfactor()` of every update; nothing is changed where one is refused."""
        from rfactor.compiler.auto.apply import auto_rfactor_all

        self.require()
        return auto_rfactor_all(self, semantics=Meaning(semantics))

    def results(self) -> tuple[Func, ...]:
        """The function itself: what `realize` computes."""
        return (self,)

    def __repr__(self) -> str:
        return f"<halide.Func '{self.name()}'>"


def _meant(given: tuple[Any, ...]) -> tuple[str | None, Any, tuple[tuple[IrType, ...], int] | None]:
    """What `Func` was given: a name, a value, and the types and dimensions that it must have."""
    match given:
        case () | (None,):
            return None, None, None
        case (str() as name,):
            return name, None, None
        case (Expr() | Buffer() | ImageParam() | bool() | int() | float() as value,):
            return None, value, None
        case (_, int() as rank, *_) if rank < 0:
            raise TypeMismatch(f"Func of {rank} dimensions: give it 0 or more")
        case (Type() as type_, int() as rank, *names):
            return (names[0] if names else None), None, ((type_.ir,), rank)
        case (list() | tuple() as types, int() as rank, *names) if all(isinstance(one, Type) for one in types):
            return (names[0] if names else None), None, (tuple(type_.ir for type_ in types), rank)
    raise TypeMismatch(f"Func takes a name, a value, or types, a number of dimensions and a name, not {given!r}")


def _indices(index: Any) -> list[Any]:
    several = listed(index)
    return [index] if several is None else list(several)


def _several(value: Any) -> bool:
    if isinstance(value, FuncRef):
        return len(value) > 1
    return isinstance(value, Tuple) or is_sequence(value)


def _listed(types: tuple[IrType, ...]) -> str:
    """Types as Halide writes them: one by itself, several in brackets."""
    listed = ", ".join(str(Type(type_)) for type_ in types)
    return listed if len(types) == 1 else f"({listed})"


def default_stage_of(func: Func, definition: Definition) -> Any:
    """The default schedule of a stage that `func` is given."""
    function = Function(func.name(), func._variables, func._types, definition)
    return default_stage(function, definition)


def replaced(function: Function, index: int, definition: Definition) -> Function:
    """`function` with another update number `index`, 0 the first."""
    if definition is function.updates[index]:
        return function
    updates = (*function.updates[:index], definition, *function.updates[index + 1 :])
    return replace(function, updates=updates)
