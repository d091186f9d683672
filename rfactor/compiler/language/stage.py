"""Directives as users give them: on a `Func` (its pure definition) and on `f.update(i)`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from rfactor.compiler.language.expr import Expr
from rfactor.compiler.schedule import loops
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import Dimension, Split, StageSchedule, TailStrategy
from rfactor.compiler.schedule.purity import pure_loops
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Var as IrVar
from rfactor.ir.loopnest import LoopKind
from rfactor.ir.meaning import Meaning

if TYPE_CHECKING:
    from rfactor.compiler.language.func import Func


@dataclass(slots=True)
class StageState:
    """A stage as it is now: what it computes and how."""

    definition: Definition
    schedule: StageSchedule


def variable_name(variable: Any) -> str:
    """The name of a loop given as `Var`, `RVar`, one-dimensional `RDom`, or text."""
    if isinstance(variable, str):
        return variable
    if isinstance(variable, Expr) and isinstance(variable.node, IrVar):
        return variable.node.name
    raise ScheduleError(f"{variable!r} names no loop: a Var, an RVar or a one-dimensional RDom does")


_NOT_YET = frozenset(
    """
    add_trace_tag align_bounds align_extent align_storage allow_race_conditions always_partition always_partition_all
    async_ atomic bound bound_extent bound_storage clone_in compile_to compile_to_bitcode compile_to_c
    compile_to_callable compile_to_conceptual_stmt compile_to_file compile_to_header compile_to_module
    compile_to_multitarget_object_files compile_to_multitarget_static_library compile_to_object
    compile_to_static_library compute_with copy_to_device copy_to_host debug_to_file define_extern dump_argument_list
    extern_function_name fold_storage gpu gpu_blocks gpu_lanes gpu_single_thread gpu_threads gpu_tile hexagon
    hoist_storage hoist_storage_root in_ infer_arguments infer_input_bounds is_extern memoize never_partition
    never_partition_all output_buffer output_buffers outputs partition prefetch rename reorder_storage ring_buffer rvars
    set_estimate set_estimates specialize specialize_fail store_at store_in trace_loads trace_realizations trace_stores
    unscheduled update_args update_value update_values values
    """.split()  # noqa: SIM905 - a list this long is read as text
)
"""Methods of Halide's `Func` and `Stage` that have no meaning here yet."""


class Directives:
    """What `Func` and `Stage` have in common: directives on the loops of one stage. Each returns its own object."""

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_YET:
            raise NotImplementedError(f"{type(self).__name__}.{name} is not there yet")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _owner(self) -> Func:
        raise NotImplementedError

    def _index(self) -> int:
        raise NotImplementedError

    def _state(self) -> StageState:
        return self._owner().stages[self._index()]

    def _pure(self) -> frozenset[str]:
        state = self._state()
        return pure_loops(self._owner().function, state.definition, state.schedule)

    def _become(self, schedule: StageSchedule) -> Self:
        self._state().schedule = schedule
        return self

    def split(self, old: Any, outer: Any, inner: Any, factor: int, tail: Any = TailStrategy.AUTO) -> Self:
        """Make two loops of one: `old = outer*factor + inner`."""
        a, b, c = map(variable_name, (old, outer, inner))
        return self._become(loops.split(self._state().schedule, a, b, c, factor, tail))

    def fuse(self, inner: Any, outer: Any, fused: Any) -> Self:
        """Make one loop of two."""
        a, b, c = map(variable_name, (inner, outer, fused))
        return self._become(loops.fuse(self._state().schedule, a, b, c, self._pure()))

    def reorder(self, *order: Any) -> Self:
        """Nest the named loops in this order, the first innermost."""
        given = order[0] if len(order) == 1 and isinstance(order[0], list | tuple) else order
        return self._become(loops.reorder(self._state().schedule, tuple(map(variable_name, given)), self._pure()))

    def tile(self, *given: Any) -> Self:
        """Loop over tiles: `tile(x, y, xo, yo, xi, yi, xfactor, yfactor)`, or without `xo, yo` to reuse `x, y`."""
        if len(given) >= 8:
            x, y, xo, yo, xi, yi, xfactor, yfactor = given[:8]
            tail = given[8:]
        else:
            x, y, xi, yi, xfactor, yfactor = given[:6]
            xo, yo, tail = x, y, given[6:]
        self.split(x, xo, xi, xfactor, *tail)
        self.split(y, yo, yi, yfactor, *tail)
        return self.reorder(xi, yi, xo, yo)

    def _run(self, variable: Any, factor: int | None, kind: LoopKind, directive: str, tail: Any) -> Self:
        name = variable_name(variable)
        schedule = self._state().schedule
        if factor is not None:
            inner = f"{name}.{directive}"
            schedule = loops.split(schedule, name, name, inner, factor, tail)
            if kind != "parallel":
                name = inner
        pure = pure_loops(self._owner().function, self._state().definition, schedule)
        return self._become(loops.run(schedule, name, kind, pure, directive))

    def parallel(self, variable: Any, factor: int | None = None, tail: Any = TailStrategy.AUTO) -> Self:
        """Run the iterations of a loop at once, `factor` of them a task."""
        return self._run(variable, factor, "parallel", "parallel", tail)

    def vectorize(self, variable: Any, factor: int | None = None, tail: Any = TailStrategy.AUTO) -> Self:
        """Run the iterations of a loop as lanes of a vector, `factor` of them at once."""
        return self._run(variable, factor, "vectorized", "vectorize", tail)

    def unroll(self, variable: Any, factor: int | None = None, tail: Any = TailStrategy.AUTO) -> Self:
        """Write out the iterations of a loop, `factor` of them at once."""
        return self._run(variable, factor, "unrolled", "unroll", tail)

    def serial(self, variable: Any) -> Self:
        """Run the iterations of a loop one after the other."""
        schedule = self._state().schedule
        return self._become(loops.run(schedule, variable_name(variable), "serial", self._pure(), "serial"))


class Stage(Directives):
    """The schedule of one update: `f.update(0)`."""

    def __init__(self, func: Func, index: int) -> None:
        self._func, self._number = func, index

    def _owner(self) -> Func:
        return self._func

    def _index(self) -> int:
        return self._number

    def name(self) -> str:
        """`f.update(0)`."""
        return f"{self._func.name()}.update({self._number - 1})"

    def rfactor(self, pairs: Any, variable: Any = None, *, semantics: str = "wrap") -> Func:
        """Factor the update: `rfactor([(r.y, u)])`, or `rfactor(r.y, u)`. Returns the intermediate.

        Every named reduction variable becomes a pure variable of the intermediate, which reduces over the others; the
        update becomes the merge of the intermediate's results. Raises `FactorError` unless the operator behind the
        update is found and proved to allow it.
        """
        from rfactor.compiler.language.func import Func, replaced
        from rfactor.compiler.language.names import Named
        from rfactor.compiler.rfactor import factor
        from rfactor.compiler.split_domain import split_domain
        from rfactor.matcher.recognize import recognize

        given: Iterable[Any] = pairs if variable is None else [(pairs, variable)]
        names = tuple((variable_name(r), variable_name(v)) for r, v in given)
        state = self._state()
        own = split_domain(state.definition, state.schedule.relations)
        function = replaced(self._func.function, self._number - 1, own)
        taken = Named(f"{self._func.name()}_intm", "f")
        name = taken.name()
        factored = factor(
            function,
            self._number - 1,
            names,
            name,
            recognize=recognize,
            semantics=Meaning(semantics),
            ranges=self._func.ranges,
        )
        del taken
        intermediate = Func.of(factored.intermediate, self._func.references, factored.answer, factored.ranges)
        before = state.schedule
        changed = intermediate.stages[1]
        moved = renamed(before, dict(names))
        changed.schedule = carried(factored.intermediate, changed.definition, moved, fresh=True)
        state.definition = factored.merged.updates[self._number - 1]
        state.schedule = carried(factored.merged, state.definition, before)
        self._func.references[name] = intermediate
        return intermediate


def renamed(schedule: StageSchedule, variables: Mapping[str, str]) -> StageSchedule:
    """`schedule` with the loops of factored reduction variables as serial loops of the pure ones that they become."""
    dimensions = tuple(Dimension(variables[d.name]) if d.name in variables else d for d in schedule.dimensions)
    return replace(schedule, dimensions=dimensions)


def carried(function: Function, stage: Definition, before: StageSchedule, fresh: bool = False) -> StageSchedule:
    """The schedule of a stage that `rfactor` made: what was asked of loops that it still has.

    How pure loops run is not carried over to a `fresh` function: where that is computed is not known yet. Splits and
    fuses of reduction variables are in its domain by now; those of pure variables are kept.
    """
    after = default_stage(function, stage)
    held = {d.name for d in after.dimensions if d.reduction or not fresh}
    for relation in before.relations:
        here = {d.name for d in after.dimensions if not d.reduction}
        olds = {relation.old} if isinstance(relation, Split) else {relation.inner, relation.outer}
        if olds <= here:
            if isinstance(relation, Split):
                after = loops.split(after, relation.old, relation.outer, relation.inner, relation.factor, relation.tail)
            else:
                after = loops.fuse(after, relation.inner, relation.outer, relation.fused, frozenset(here))
    kinds = {d.name: d.kind for d in before.dimensions}
    order = {name: place for place, name in enumerate(kinds)}
    pure = pure_loops(function, stage, after)

    def kind(name: str) -> LoopKind:
        asked = kinds.get(name, "serial")
        if name not in held:
            return "serial"
        return asked if asked in ("serial", "unrolled") or name in pure else "serial"

    # Loops that are new stay outside; the others keep the order that they were given.
    known = sorted((d for d in after.dimensions if d.name in order), key=lambda d: order[d.name])
    new = [d for d in after.dimensions if d.name not in order]
    return StageSchedule(tuple(replace(d, kind=kind(d.name)) for d in (*known, *new)), after.relations)
