"""Functions: `Func`, its references `f[x, y]`, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rfactor.compiler.language.buffer import coordinate
from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, binary, converted, is_number, joined
from rfactor.compiler.language.images import OutputImageParam
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.stage import Directives, Stage, StageState, variable_name
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import RDom, RVar, Var
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import INLINED, ROOT, LoopLevel
from rfactor.errors import AlgorithmError, ScheduleError, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.types import Type as IrType
from rfactor.matcher.answer import Answer


class FuncRef(Expr):
    """`f[x, y]`: the value of a function at a point, or a component of it by `[i]`."""

    __slots__ = ("_arguments", "_func")

    def __init__(self, func: Func, arguments: tuple[Expr, ...]) -> None:
        self._func, self._arguments = func, arguments

    @property
    def node(self) -> ir.Expr:
        function = self._func.function
        if len(function.types) != 1:
            raise TypeMismatch(
                f"{self._func.name()} has {len(function.types)} components: take one, as in {self._func.name()}[…][0]"
            )
        return function.at(tuple(a.node for a in self._arguments))

    @property
    def uses(self) -> Uses:
        return {**(joined(*self._arguments) if self._arguments else {}), self._func.name(): self._func}

    def __getitem__(self, component: int) -> Expr:
        function = self._func.function
        if not 0 <= component < len(function.types):
            raise TypeMismatch(f"{self._func.name()} has {len(function.types)} components, hence no [{component}]")
        return Expr(function.at(tuple(a.node for a in self._arguments), component), self.uses)

    def __len__(self) -> int:
        return len(self._func.function.types)

    def size(self) -> int:
        """The number of components."""
        return len(self)

    def components(self) -> tuple[Expr, ...] | None:
        """The components of a function that has several; None of one."""
        return tuple(self[i] for i in range(len(self))) if len(self) > 1 else None

    def _updated(self, op: str, value: ExprLike, start: int) -> Expr | Tuple:
        """`f[…] op= value`; a function that is not defined yet starts at `start`."""
        if not self._func.defined():
            self._func.start(self._arguments, value, start)
        if len(self) > 1:
            parts = Tuple(value)
            return Tuple([binary(op, self[i], parts[i]) for i in range(len(self))])
        return binary(op, self, value)

    def __iadd__(self, value: ExprLike) -> Any:
        return self._updated("+", value, 0)

    def __isub__(self, value: ExprLike) -> Any:
        return self._updated("-", value, 0)

    def __imul__(self, value: ExprLike) -> Any:
        return self._updated("*", value, 1)

    def __str__(self) -> str:
        return f"{self._func.name()}({', '.join(map(str, self._arguments))})"

    __repr__ = __str__


class Func(Named, Directives):
    """A function from points to values: defined once by pure variables, then updated any number of times."""

    def __init__(self, name: str | Expr | None = None) -> None:
        super().__init__(name if isinstance(name, str) else None, "f")
        self._variables: tuple[str, ...] = ()
        self._types: tuple[IrType, ...] = ()
        self.stages: list[StageState] = []
        self.level: LoopLevel = INLINED
        self.references: dict[str, Any] = {}
        """What its definitions refer to, by name."""
        self.output_images: list[OutputImageParam] = []
        """What is promised of the arrays that it is computed into, a component each, once it was asked for."""
        self.answer: Answer | None = None
        """For an intermediate that `rfactor` made: the operator, and what proved it,"""
        self.ranges: Mapping[str, ReductionVariable] = {}
        """and where it is read, by pure variable."""
        self.executables: dict[Any, Any] = {}
        """Compiled pipelines with this function as output, by all that they were made from."""
        self.prepared: Any = None
        """What `realize` last used, for as long as nothing changes: see `pipeline.Prepared`."""
        if isinstance(name, Expr):
            self[()] = name

    @classmethod
    def of(cls, function: Function, references: Uses, answer: Answer, ranges: Mapping[str, ReductionVariable]) -> Func:
        """The shell of a function that a pass made, whose name is free."""
        self = cls.__new__(cls)
        Named.__init__(self, function.name, "f")
        self._variables, self._types = function.variables, function.types
        self.stages = [StageState(stage, default_stage(function, stage)) for stage in function.stages]
        self.level = ROOT
        self.references = dict(references)
        self.output_images = []
        self.answer = answer
        self.ranges = ranges
        self.executables = {}
        self.prepared = None
        return self

    def defined(self) -> bool:
        """Whether it has its pure definition."""
        return bool(self.stages)

    def require(self) -> None:
        """Raise `AlgorithmError` unless it is defined."""
        if not self.stages:
            raise AlgorithmError(f"{self.name()} is used before it is defined: write {self.name()}[…] = … first")

    @property
    def function(self) -> Function:
        """Its definition as it is now. Raises `AlgorithmError` if there is none."""
        self.require()
        pure, *updates = (state.definition for state in self.stages)
        return Function(self.name(), self._variables, self._types, pure, tuple(updates))

    def dimensions(self) -> int:
        """The number of dimensions."""
        return len(self.function.variables)

    def args(self) -> list[Var]:
        """Its pure variables."""
        return [Var(name) for name in self.function.variables]

    def types(self) -> list[Type]:
        """The type of each component."""
        return [Type(type_) for type_ in self.function.types]

    def type(self) -> Type:
        """The type of its one component."""
        return self.types()[0]

    def output_types(self) -> list[Type]:
        """The type of each component."""
        return self.types()

    def num_update_definitions(self) -> int:
        """The number of updates."""
        return max(len(self.stages) - 1, 0)

    def output_buffers(self) -> list[OutputImageParam]:
        """The arrays that it is computed into, a component each: promises of their boxes may be made."""
        if not self.output_images:
            name, function = self.name(), self.function
            for component, type_ in zip(range(len(function.types)), self.types(), strict=True):
                buffer = f"{name}.{component}"
                self.output_images.append(
                    OutputImageParam(name, type_, len(function.variables), "output", buffer, None)
                )
        return self.output_images

    def output_buffer(self) -> OutputImageParam:
        """The array that its one component is computed into. Raises `TypeMismatch` for several."""
        found = self.output_buffers()
        if len(found) != 1:
            raise TypeMismatch(f"{self.name()} has {len(found)} components: take output_buffers()[i]")
        return found[0]

    def has_update_definition(self) -> bool:
        """Whether it has updates."""
        return len(self.stages) > 1

    def value(self) -> Expr:
        """The value of the pure definition."""
        return Expr(self.function.pure.values[0], self.references)

    def __getitem__(self, index: Any) -> FuncRef:
        given = index if isinstance(index, tuple) else (index,)
        if self.stages and len(given) != len(self._variables):
            raise TypeMismatch(f"{self.name()} has {len(self._variables)} dimensions, {len(given)} indices were given")
        return FuncRef(self, tuple(coordinate(self.name(), as_expr(one)) for one in given))

    def __call__(self, *index: ExprLike) -> FuncRef:
        return self[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        given = tuple(
            coordinate(self.name(), as_expr(one)) for one in (index if isinstance(index, tuple) else (index,))
        )
        if isinstance(value, FuncRef) and len(value) > 1:
            value = [value[i] for i in range(len(value))]
        values = list(value) if isinstance(value, Tuple | tuple | list) else [value]
        if self.stages:
            self._update(given, values)
        else:
            self._define(given, [as_expr(one) for one in values])

    def _define(self, arguments: tuple[Expr, ...], values: list[Expr]) -> None:
        """The pure definition."""
        names = []
        for argument in arguments:
            if not isinstance(argument, Var):
                raise AlgorithmError(
                    f"{self.name()} is first defined at {argument}: the first definition is over Vars alone, "
                    f"as in {self.name()}[x] = …; updates may follow"
                )
            names.append(argument.name())
        self._variables = tuple(names)
        self._types = tuple(value.node.type for value in values)
        self._add(arguments, values, None, "the pure definition")

    def _update(self, arguments: tuple[Expr, ...], values: list[Any]) -> None:
        if len(arguments) != len(self._variables):
            raise TypeMismatch(
                f"{self.name()} has {len(self._variables)} dimensions, {len(arguments)} indices were given"
            )
        if len(values) != len(self._types):
            raise TypeMismatch(f"{self.name()} has {len(self._types)} components, {len(values)} values were given")
        exprs = []
        for i, (value, type_) in zip(range(len(values)), zip(values, self._types, strict=True), strict=True):
            expr = as_expr(value, type_ if is_number(value) else None)
            if expr.node.type != type_ and isinstance(expr.node, ir.Const):
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

    def _add(self, arguments: tuple[Expr, ...], values: list[Expr], domain: RDom | None, what: str) -> None:
        references: dict[str, Any] = {}
        for expr in (*arguments, *values):
            references.update(expr.uses)
        loops: ReductionDomain | None = None
        if domain is not None:
            references.update(domain.all_uses())
            del references[domain.name()]
            loops = domain.domain()
        elif any(isinstance(one, RDom | RVar) for one in references.values()):
            raise AlgorithmError(f"{what} of {self.name()} uses a reduction variable: only updates do")
        references.pop(self.name(), None)
        definition = Definition(tuple(a.node for a in arguments), tuple(v.node for v in values), loops)
        self.references.update(references)
        self.stages.append(StageState(definition, default_stage_of(self, definition)))

    def start(self, arguments: tuple[Expr, ...], value: Any, start: int) -> None:
        """Define it as `start` everywhere, before its first `+=` or `*=`."""
        names = [
            a if isinstance(a, Var) else Var(f"{self.name()}.d{d}")
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

    def update(self, index: int = 0) -> Stage:
        """The schedule of an update, the first by default."""
        if not 0 <= index < self.num_update_definitions():
            raise ScheduleError(f"{self.name()} has {self.num_update_definitions()} updates, hence no update({index})")
        return Stage(self, index + 1)

    def compute_root(self) -> Func:
        """Compute all that is needed of it before its consumers, once."""
        self.level = ROOT
        return self

    def compute_at(self, consumer: Func | LoopLevel, variable: ExprLike = None) -> Func:
        """Compute what is needed of it in each iteration of a loop of `consumer`, there."""
        if isinstance(consumer, LoopLevel):
            self.level = consumer
            return self
        owner = consumer if isinstance(consumer, Func) else consumer._owner()
        name = variable_name(variable)
        if not any(name == d.name for state in owner.stages for d in state.schedule.dimensions):
            loops = sorted({d.name for state in owner.stages for d in state.schedule.dimensions})
            raise ScheduleError(
                f"compute_at({owner.name()}, {name}): {owner.name()} has no such loop; it has "
                f"{', '.join(loops) or 'none'}"
            )
        self.level = LoopLevel("at", owner.name(), name)
        return self

    def compute_inline(self) -> Func:
        """Replace its calls by its value. Raises `ScheduleError` if it has updates."""
        if self.has_update_definition():
            raise ScheduleError(f"{self.name()} has updates, so it cannot be inlined: compute_root() or compute_at()")
        self.level = INLINED
        return self

    def store_root(self) -> Func:
        """Keep its storage for the whole pipeline; its default where it is computed at the root."""
        if self.level != ROOT:
            raise NotImplementedError(f"store_root of {self.name()}, which is computed at a loop, is not there yet")
        return self

    # Running

    def realize(self, *given: Any) -> Any:
        """Compute it: over `sizes` (dimension 0 first) into new `Buffer`s, or into the arrays given.

        `f.realize([w, h])`, `f.realize(array)`, `f.realize((a, b))` for two components. Returns a `Buffer`, a tuple of
        them for several components, None when arrays were given. Raises `BufferError`, `AlgorithmError`,
        `ScheduleError`.
        """
        from rfactor.compiler.pipeline import realize

        return realize(self, given)

    def compile_jit(self, target: Any = None) -> None:
        """Compile it now rather than at the first `realize`."""
        from rfactor.compiler.pipeline import executable

        executable(self)

    def lowered(self) -> str:
        """The lowered nest as text."""
        from rfactor.compiler.pipeline import lowered
        from rfactor.ir.nest_printer import show_pipeline

        return show_pipeline(lowered(self))

    def compile_to_lowered_stmt(
        self, filename: str, arguments: Any = None, fmt: Any = None, target: Any = None
    ) -> None:
        """Write the lowered nest to a file."""
        _write(filename, self.lowered())

    def compile_to_llvm_assembly(
        self, filename: str, arguments: Any = None, fn_name: str = "", target: Any = None
    ) -> None:
        """Write the LLVM IR, after all passes, to a file."""
        from rfactor.compiler.pipeline import executable

        _write(filename, executable(self).llvm_ir())

    def compile_to_assembly(self, filename: str, arguments: Any = None, fn_name: str = "", target: Any = None) -> None:
        """Write the target's assembly to a file."""
        from rfactor.compiler.pipeline import executable

        _write(filename, executable(self).assembly())

    def print_loop_nest(self) -> None:
        """Print the loops, without bounds."""
        from rfactor.compiler.pipeline import loop_nest

        print(loop_nest(self), end="")

    def __repr__(self) -> str:
        return f"Func({self.name()})"


def default_stage_of(func: Func, definition: Definition) -> Any:
    """The default schedule of a stage that `func` is given."""
    function = Function(func.name(), func._variables, func._types, definition)
    return default_stage(function, definition)


def _write(filename: str, text: str) -> None:
    with open(filename, "w", encoding="utf-8") as file:
        file.write(text)


def replaced(function: Function, index: int, definition: Definition) -> Function:
    """`function` with another update number `index`, 0 the first."""
    updates = (*function.updates[:index], definition, *function.updates[index + 1 :])
    return replace(function, updates=updates)
