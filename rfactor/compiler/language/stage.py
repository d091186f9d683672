"""Directives as users give them: on a `Func` (its pure definition) and on `f.update(i)`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Literal, Self

from rfactor.compiler.language import spelling
from rfactor.compiler.language.buffer import coordinate
from rfactor.compiler.language.changes import Changing
from rfactor.compiler.language.expr import Expr, as_expr
from rfactor.compiler.language.given import startup, variable_name, whole
from rfactor.compiler.language.hints import Hints, LoopAlignStrategy
from rfactor.compiler.language.keywords import also_named, spread
from rfactor.compiler.language.public import public
from rfactor.compiler.language.reading import Reading, read_before, written_out
from rfactor.compiler.language.told import tell
from rfactor.compiler.language.whose import directives
from rfactor.compiler.schedule import loops
from rfactor.compiler.schedule.directives import (
    OUTERMOST,
    Companion,
    Prefetch,
    Specialization,
    StageSchedule,
    TailStrategy,
)
from rfactor.compiler.schedule.purity import pure_loops
from rfactor.compiler.schedule.tails import check_parallel, check_tail
from rfactor.errors import AlgorithmError, ScheduleError, TypeMismatch
from rfactor.ir.algorithm import Definition
from rfactor.ir.expr import Const, cast
from rfactor.ir.expr import Expr as IrExpr
from rfactor.ir.loopnest import LoopKind
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32

if TYPE_CHECKING:
    from rfactor.compiler.auto.directive import AutoSchedule
    from rfactor.compiler.language.func import Func


@dataclass(slots=True)
class StageState(Changing):
    """A stage as it is now: what it computes and how."""

    definition: Definition
    schedule: StageSchedule
    touched: bool = False
    """Whether a directive was given, `unscheduled` among them."""


_NOT_YET = frozenset(
    """
    async_ copy_to_device copy_to_host define_extern gpu gpu_blocks gpu_lanes gpu_single_thread gpu_threads gpu_tile
    hexagon ring_buffer
    """.split()  # noqa: SIM905 - a list this long is read as text
)
"""Methods of Halide's `Func` and `Stage` for devices, extern stages and asynchronous execution."""


_OF_TILE = (
    "x", "y", "xo", "yo", "xi", "yi", "xfactor", "yfactor", "previous", "outers", "inners", "factors",
)  # fmt: skip
"""What `tile` calls its arguments, in their order."""


@directives
@public
class Directives(Hints):
    """What `Func` and `Stage` have in common: directives on the loops of one stage. Each returns its own object."""

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_YET:
            raise NotImplementedError(f"{type(self).__name__}.{name} is not there")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _owner(self) -> Func:
        raise NotImplementedError

    def _index(self) -> int:
        raise NotImplementedError

    def _path(self) -> tuple[int, ...]:
        """The specializations, each within the one before, whose loops are meant."""
        return ()

    def _where(self) -> str:
        """The stage, for messages."""
        index = self._index()
        return f"{self._owner().name()}.update({index - 1})" if index else self._owner().name()

    def _state(self) -> StageState:
        return self._owner().stages[self._index()]

    def _schedule(self) -> StageSchedule:
        schedule = self._state().schedule
        for place in self._path():
            schedule = schedule.specializations[place].schedule
        return schedule

    def _definition(self) -> Definition:
        """What the loops compute: that of a case, where it was factored."""
        state = self._state()
        definition, schedule = state.definition, state.schedule
        for place in self._path():
            case = schedule.specializations[place]
            definition, schedule = case.definition or definition, case.schedule
        return definition

    def _pure(self) -> frozenset[str]:
        return pure_loops(self._owner().function, self._definition(), self._schedule())

    def _become(self, schedule: StageSchedule, definition: Definition | None = None) -> Self:
        """Other loops; and another definition, where one is given."""
        state, path = self._state(), self._path()
        if definition is not None and not path:
            state.definition = definition
        state.schedule = _put(state.schedule, path, schedule, definition)
        state.touched = True
        return self

    def unscheduled(self) -> Self:
        """Says that a stage is left as it is on purpose: there is no warning of it.

        Raises `ScheduleError` where it has directives, this one among them.
        """
        if self._state().touched:
            raise ScheduleError(f"{self._where()}: Stage::unscheduled called on an update definition with a schedule")
        self._state().touched = True
        return self

    def _checked(self, directive: str, variable: Any) -> Self:
        loops.find(self._schedule(), variable_name(variable), directive)
        return self

    def _partitioned(self, var: Any, always: bool) -> Self:
        schedule = self._schedule()
        named = schedule.dimensions if var is None else (loops.find(schedule, variable_name(var), "partition"),)
        dimensions = tuple(replace(d, partitioned=always) if d in named else d for d in schedule.dimensions)
        state = self._state()
        state.schedule = _put(state.schedule, self._path(), replace(schedule, dimensions=dimensions))
        return self

    def split(self, old: Any, outer: Any, inner: Any, factor: Any, tail: Any = TailStrategy.Auto) -> Self:
        """Make two loops of one: `old = outer*factor + inner`."""
        a, b, c = map(variable_name, (old, outer, inner))
        return self._become(self._split(self._schedule(), a, b, c, factor, tail))

    def _split(
        self, schedule: StageSchedule, old: str, outer: str, inner: str, factor: Any, tail: Any
    ) -> StageSchedule:
        if not isinstance(tail, TailStrategy):
            raise TypeMismatch(f"split({old}) takes a TailStrategy, as in TailStrategy.GuardWithIf, not {tail!r}")
        if self._index() and tail is TailStrategy.ShiftInwards:
            raise ScheduleError(
                f"split({old}) with tail strategy {tail.name}: an update changes each point once; use GuardWithIf"
            )
        check_tail(schedule, old, tail, self._index() > 0)
        return loops.split(schedule, old, outer, inner, self._factor(old, factor), tail)

    def _factor(self, old: str, factor: Any) -> Any:
        """A number; or what is made of parameters and boxes of images, as i32."""
        number = whole(factor)
        if not isinstance(number, IrExpr):
            return number
        if not number.type.is_int:
            raise ScheduleError(f"split({old}) by {factor} of {number.type}: the factor is an integer")
        known = simplify(cast(I32, startup(self._owner(), factor, f"split({old})")))
        return int(known.value) if isinstance(known, Const) else known

    def _fetching(self, name: str, at: Any, start: Any, offset: Any) -> Self:
        ahead = startup(self._owner(), coordinate("prefetch", as_expr(offset)), f"{self._where()}: prefetch({name})")
        made = Prefetch(name, variable_name(at), variable_name(start), f"{Expr(ahead)}")
        return self._become(replace(self._schedule(), prefetches=(*self._schedule().prefetches, made)))

    def rename(self, old_name: Any, new_name: Any) -> Self:
        """Call a loop otherwise from now on."""
        old, new = variable_name(old_name), variable_name(new_name)
        taken = loops.taken_names(self._schedule())
        inner = next(free for n in count() if (free := f"{old}.rename.{n}" if n else f"{old}.rename") not in taken)
        return self._become(loops.split(self._schedule(), old, new, inner, 1))

    def fuse(self, inner: Any, outer: Any, fused: Any) -> Self:
        """Make one loop of two."""
        a, b, c = map(variable_name, (inner, outer, fused))
        return self._become(loops.fuse(self._schedule(), a, b, c, self._pure(), self._commutes))

    @spread("vars")
    def reorder(self, *vars: Any) -> Self:
        """Nest the named loops in this order, the first innermost."""
        names = tuple(map(variable_name, vars))
        return self._become(loops.reorder(self._schedule(), names, self._pure(), self._commutes))

    def _commutes(self) -> str | None:
        """Why the iterations of the update may not run in another order; None where they are proved to commute."""
        from rfactor.compiler.commuting import why_not
        from rfactor.matcher.recognize import recognize

        return why_not(self._owner().function, self._definition(), recognize)

    def _collides(self, schedule: StageSchedule) -> str | None:
        """Why the iterations of an atomic update may not run at once; None where they may."""
        from rfactor.compiler.commuting import rounds

        if rounds(self._owner().function, self._definition()) and not schedule.rounding:
            return (
                "floats are rounded in another order (and what is compared with a NaN differs); "
                "atomic(override_associativity_test=True) allows that"
            )
        reason = self._commutes()
        return f"{reason}; leave the loop serial" if reason is not None else None

    def atomic(self, override_associativity_test: bool = False) -> Self:
        """Let iterations that update the same points run at once, each update as one: for loops over reduction
        variables that are made `parallel` or `vectorize`d afterwards.

        The update must be proved to be associative and commutative, or to write the same whichever iteration writes
        last. `override_associativity_test` allows that floats are rounded in another order; it replaces no proof: where
        there is none, loops run in their own order.
        """
        rounding = self._schedule().rounding or bool(override_associativity_test)
        return self._become(replace(self._schedule(), atomic=True, rounding=rounding))

    def allow_race_conditions(self) -> Self:
        """Allow that the iterations of any loop run at once: where they may meet, the loop runs in its own order,
        which is one of those allowed, and `parallel` and `vectorize` have no effect. Where loops around keep them
        apart, as steps in time do whose points are those of the step before, it runs as asked.
        """
        return self._become(replace(self._schedule(), races=True))

    @also_named(loop_level="stage")
    def compute_with(self, stage: Any, var: Any = None, align: Any = LoopAlignStrategy.Auto) -> Self:
        """Run this stage in the loops of another, `g` or `g.update(i)`, from the outermost to that over `var`, or in
        those of a `LoopLevel`, after which `align` is the second argument.

        Both loops must be named and run alike, both functions be computed in the same place, and neither need the
        other: that is checked when the pipeline is compiled. The loops run over all that either of them needs.
        `align`, a strategy or a list of (loop, strategy), is checked and changes nothing: which iterations come
        together makes no difference to values. Loops inside what one of them computes for itself are not shared. What
        is computed at a loop that they share is computed there for each that reads it. Where a case of a stage is
        factored, its other runs share loops; of a case of another stage that whole stage is meant.
        """
        if not isinstance(stage, Directives) and isinstance(var, LoopAlignStrategy | list | tuple):
            var, align = None, var
        self._aligned(align)
        if isinstance(stage, Directives):
            other = Companion(stage._owner().name(), stage._index(), variable_name(var))
        elif getattr(getattr(stage, "level", None), "kind", "") == "at" and var is None:
            other = Companion(stage.level.function, 0, stage.level.variable)
        else:
            raise ScheduleError(f"{self._where()}: compute_with takes a stage and a loop of it, not {stage!r}")
        if other.function == self._owner().name():
            raise ScheduleError(f"{self._where()}: compute_with is of two functions, not of two stages of one")
        before = self._schedule().companion
        if before is not None:
            old, new = (f"{one.function}.s{one.stage}.{one.variable}" for one in (before, other))
            tell(f"{self._where()} already has a compute_with at {old}. Replacing it with a new compute_with at {new}")
        return self._become(replace(self._schedule(), companion=other))

    def _aligned(self, align: Any) -> None:
        for one in align if isinstance(align, list | tuple) else [(None, align)]:
            loop, strategy = one if isinstance(one, list | tuple) and len(one) == 2 else (None, one)
            if not isinstance(strategy, LoopAlignStrategy):
                raise TypeMismatch(f"{self._where()}: compute_with takes a LoopAlignStrategy, not {strategy!r}")
            if loop is not None:
                self._checked("compute_with", loop)

    def tile(self, *given: Any, **named: Any) -> Self:
        """Loop over tiles.

        `tile(x, y, xo, yo, xi, yi, xfactor, yfactor)`, or without `xo, yo` to reuse `x, y`; for any number of
        dimensions `tile([x, …], [xo, …], [xi, …], [factor, …])`, or without the outer loops.
        """
        tail = (named.pop("tail"),) if "tail" in named else ()
        if strange := [name for name in named if name not in _OF_TILE]:
            raise TypeError(f"tile() got an unexpected keyword argument {strange[0]!r}")
        given = (*given, *(named[name] for name in _OF_TILE if name in named))
        if given and isinstance(given[-1], TailStrategy):
            given, tail = given[:-1], (given[-1],)
        if len(given) not in (3, 4, 6, 8):
            raise ScheduleError(
                f"{self._where()}: tile takes x, y, xo, yo, xi, yi, xfactor, yfactor, or the same without xo, yo, "
                f"or lists of loops, outer loops, inner loops and factors; {len(given)} arguments were given"
            )
        if len(given) in (6, 8):
            dimensions = 2
            given = tuple(given[i : i + dimensions] for i in range(0, len(given), dimensions))
        olds, *outers, inners, factors = given
        names = outers[0] if outers else olds
        if not all(isinstance(listed, list | tuple) for listed in (olds, names, inners, factors)):
            raise ScheduleError(f"{self._where()}: tile takes lists of loops, outer loops, inner loops and factors")
        if not len(olds) == len(names) == len(inners) == len(factors):
            raise ScheduleError(f"{self._where()}: tile takes as many outer and inner loops and factors as loops")
        for old, outer, inner, factor in zip(olds, names, inners, factors, strict=True):
            self.split(old, outer, inner, factor, *tail)
        return self.reorder(*inners, *names)

    def _run(self, variable: Any, factor: Any, kind: LoopKind, directive: str, tail: Any) -> Self:
        name = asked = variable_name(variable)
        schedule = self._schedule()
        if factor is not None:
            taken = loops.taken_names(schedule)
            own = f"{name}.{directive}"
            inner = next(free for n in count() if (free := f"{own}.{n}" if n else own) not in taken)
            schedule = self._split(schedule, name, name, inner, factor, tail)
            if kind != "parallel":
                name = inner
        pure = pure_loops(self._owner().function, self._definition(), schedule)
        done = schedule
        run = loops.run(done, name, kind, pure, directive, lambda: self._collides(done), asked)
        if kind == "parallel":
            check_parallel(run)
        return self._become(run)

    def parallel(self, var: Any, task_size: Any = None, tail: Any = TailStrategy.Auto) -> Self:
        """Run the iterations of a loop at once, `task_size` of them a task."""
        return self._run(var, task_size, "parallel", "parallel", tail)

    def vectorize(self, var: Any, factor: Any = None, tail: Any = TailStrategy.Auto) -> Self:
        """Run the iterations of a loop as lanes of a vector, `factor` of them at once."""
        return self._run(var, factor, "vectorized", "vectorize", tail)

    def unroll(self, var: Any, factor: Any = None, tail: Any = TailStrategy.Auto) -> Self:
        """Write out the iterations of a loop, `factor` of them at once."""
        return self._run(var, factor, "unrolled", "unroll", tail)

    def serial(self, var: Any) -> Self:
        """Run the iterations of a loop one after the other."""
        schedule = self._schedule()
        name = variable_name(var)
        return self._become(loops.run(schedule, name, "serial", self._pure(), "serial", lambda: None))

    def specialize(self, condition: Any) -> Stage:
        """Loops of their own for runs in which `condition` holds, as they are now; returns them, to be scheduled.

        The condition is over parameters, boxes of images and of the outputs, what images hold at points of such, read
        on entry, and functions of one definition of those. The first that holds decides.
        """
        schedule, owner = self._schedule(), self._owner()
        if schedule.failure is not None:
            raise ScheduleError("specialize after specialize_fail: nothing would ever reach it")
        known = [one for one in owner.references.values() if isinstance(one, Reading)]
        try:
            asked, read = written_out("condition", as_expr(condition))
            if asked.node.type != BOOL:
                raise ScheduleError(f"specialize({asked}): the condition is {asked.node.type}, not bool")
            test = startup(owner, read_before("condition", asked, known), "specialize")
        except AlgorithmError as varies:
            raise ScheduleError(f"specialize({as_expr(condition)}): {varies}") from None
        for func in read:
            func.use()
        for place, special in enumerate(schedule.specializations):
            if special.condition == test:
                return Stage(owner, self._index(), (*self._path(), place))
        made = Specialization(test, replace(schedule, specializations=()))
        self._become(replace(schedule, specializations=(*schedule.specializations, made)))
        return Stage(owner, self._index(), (*self._path(), len(schedule.specializations)))

    def specialize_fail(self, message: str) -> None:
        """Stop with `message` where no condition given to `specialize` holds."""
        schedule = self._schedule()
        if schedule.failure is not None:
            raise ScheduleError(f"{self._where()}: specialize_fail was called already, with {schedule.failure!r}")
        self._become(replace(schedule, failure=message))


def _put(
    whole: StageSchedule, path: tuple[int, ...], part: StageSchedule, definition: Definition | None = None
) -> StageSchedule:
    """`whole` with the loops of a specialization replaced; its definition too, where one is given."""
    if not path:
        return part
    place, *rest = path
    old = whole.specializations[place]
    new = replace(old, schedule=_put(old.schedule, tuple(rest), part, definition))
    if definition is not None and not rest:
        new = replace(new, definition=definition)
    return replace(whole, specializations=(*whole.specializations[:place], new, *whole.specializations[place + 1 :]))


@directives
@public
class Stage(Directives):
    """The schedule of one update: `f.update(0)`."""

    def __init__(self, func: Func, index: int = 0, path: tuple[int, ...] = ()) -> None:
        self._func, self._number, self._inside = func, index, path

    def _owner(self) -> Func:
        return self._func

    def _index(self) -> int:
        return self._number

    def _path(self) -> tuple[int, ...]:
        return self._inside

    def name(self) -> str:
        """`f.update(0)`."""
        return self._where()

    def dump_argument_list(self) -> str:
        """The loops, innermost first, in a line."""
        return (
            " ".join(["Vars:", *(spelling.variable_name(d.name) for d in self._schedule().dimensions), OUTERMOST])
            + "\n"
        )

    def parallel_scan(self, variable: Any, block: int = 1 << 16) -> Self:
        """Run the loop of a recurrence `f[r.x] = F(f[r.x - 1], …)` as a parallel scan, `block` iterations together.

        Every value is that of the serial loop; for floats up to rounding. The first pass reduces blocks, the second
        runs the update in all of them at once. Raises `ScheduleError` unless the update reads no other point of the
        function, has no predicate, and an associative operator behind it is found and proved.
        """
        from rfactor.compiler.cases import at_path
        from rfactor.compiler.parallel_scan import scan_of
        from rfactor.matcher.recognize import recognize

        count = whole(block)
        if isinstance(count, bool) or not isinstance(count, int) or count < 2:
            raise ScheduleError(f"{self._where()}: parallel_scan takes blocks of 2 iterations or more, not {block}")
        definition = at_path(self._state().definition, self._state().schedule, self._path())
        scan = scan_of(self._owner().function, definition, variable_name(variable), count, recognize)
        return self._become(replace(self._schedule(), scan=scan))

    def auto_rfactor(self, *, semantics: Literal["wrap", "math"] = "wrap") -> AutoSchedule:
        """Factor the update as pays on this machine: chunks for threads, lanes or copies, and how they run. A case,
        `f.update(0).specialize(p > 3)`, is factored by itself, by what is known in it.

        The directives that it gives are returned; as text they are Python that can be pasted instead, and edited. None
        are given where factoring does not pay. `semantics` is that of `rfactor`: with `math` the bits are the serial
        ones wherever nothing overflows, neither in the serial loop nor in the factored one. Raises `FactorError` where
        no associative operator is found and proved behind the update, `ScheduleError` where the update has directives
        already.
        """
        from rfactor.compiler.auto.apply import auto_rfactor

        return auto_rfactor(self._func, self._number - 1, path=self._inside, semantics=Meaning(semantics))

    @also_named(r="preserved")
    def rfactor(self, preserved: Any, v: Any = None, *, semantics: Literal["wrap", "math"] = "wrap") -> Func:
        """Factor the update: `rfactor([(r.y, u)])`, or `rfactor(r.y, u)`. Returns the intermediate.

        Every named reduction variable becomes a pure variable of the intermediate, which reduces over the others (all
        of them: `rfactor([])`); the update becomes the merge of the intermediate's results. Raises `FactorError` unless
        the operator behind the update is found and proved to allow it.

        `f.update(0).specialize(p > 3).rfactor(r.y, u)` factors the update in those runs alone, where more of it may be
        known; what was specialized before keeps its own.
        """
        from rfactor.compiler.language.factoring import factored

        return factored(self, preserved, v, semantics)
