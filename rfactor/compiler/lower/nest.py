"""Algorithm and schedule to a loop nest with holes for bounds.

Every function that is not inlined becomes `realize f(…): produce f: <stages>` around what consumes it, at the root or
inside the loop of its compute level; every stage becomes its scheduled loops around `Provide`. A stage's pure loops
run over the holes `f.s0.x.min`, `f.s0.x.extent`, storage over `f.min.0`, `f.extent.0`: bounds inference fills them.
After *Formal Semantics for the Halide Language*, section 6 and figure 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.answers import FALSE, TRUE, assumed_of
from rfactor.compiler.lower.one_point import lanes_apart, of_one_point
from rfactor.compiler.lower.rows import layout
from rfactor.compiler.lower.sharing import sharing
from rfactor.compiler.lower.stage_loops import hole, stage_nest
from rfactor.compiler.lower.trace import around
from rfactor.compiler.lower.uses import called, called_functions, uses, uses_outside
from rfactor.compiler.schedule.directives import (
    OUTERMOST,
    SILENT,
    FunctionSchedule,
    LoopLevel,
    Schedule,
    StageSchedule,
)
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Expr, Op, conjunction
from rfactor.ir.loopnest import Assert, Block, For, If, Produce, Realize, Stmt, block
from rfactor.ir.statements import parts, with_parts
from rfactor.ir.types import BOOL


@dataclass(frozen=True, slots=True)
class Nest:
    """A nest with holes, and what is known of it besides."""

    body: Stmt
    facts: Mapping[Expr, tuple[Expr, Expr]] = field(default_factory=dict)
    """Terms that fusing leaves, such as `fused // extent`, with their least and greatest value."""
    required: tuple[Assert, ...] = ()
    """What must hold before anything runs: that some specialization fits where nothing else is there."""
    interleaved: frozenset[str] = frozenset()
    """What stages that share a loop compute each for itself, in turns, in storage around it: no window slides."""


def build(algorithm: Algorithm, schedule: Schedule) -> Nest:
    """The whole nest. Raises `ScheduleError` where a function is not computed around all its uses."""
    facts: dict[Expr, tuple[Expr, Expr]] = {}
    required: list[Assert] = []
    interleaved: set[str] = set()
    nest: Stmt = Block(())
    for function in reversed(algorithm.functions):
        if function.name not in algorithm.outputs and not uses(nest, function.name):
            continue  # others are called in its place
        if function.name not in algorithm.outputs:
            function = in_own_storage(function)
        own = schedule.functions[function.name]
        stages = [specialized(function, k, own.stages[k], facts) for k in range(len(function.stages))]
        if function.pure.keeps_all:
            stages[0] = If(FALSE, stages[0])
        produce = Produce(function.name, block(*stages))
        for k in range(len(function.stages)):
            required += _required(own.stages[k], ())
        told = schedule.traces.get(function.name, SILENT).realizations
        if function.name in algorithm.outputs:
            nest = block(_boxed("produce", function, produce) if told else produce, nest)
        elif own.compute.kind == "at":
            level, store = sharing(own.compute, schedule), sharing(own.store, schedule)
            nest, places = _inject(nest, function, own, produce, (level, store), told)
            shared = len({stage.split(".")[0] for stage in level}) > 1
            if shared and own.store != own.compute and len(set(places)) > 1:
                interleaved.add(function.name)
        elif own.compute.kind == own.store.kind == "inlined" and (
            loops := _loops_of_needed(function.name, algorithm, schedule)
        ):
            in_lanes = partial(_in_lanes, loops=loops, apart=lanes_apart(function, own))
            nest = _innermost(nest, function, own, produce, told, in_lanes)
        elif own.compute.kind == own.store.kind == "inlined" and of_one_point(function, algorithm, schedule):
            nest = _innermost(nest, function, own, produce, told, lambda loop: True)
        else:
            if own.store.kind == "at":
                raise ScheduleError(
                    f"{function.name} is stored at {own.store.function}, {own.store.variable}, but computed outside "
                    f"that loop: compute it at {own.store.function}, {own.store.variable} or at a loop inside"
                )
            nest = _realize(function, own, _computed(function, produce, nest, told), told)
    for name in algorithm.outputs:
        if schedule.traces.get(name, SILENT).realizations:
            nest = _boxed("realization", algorithm.function(name), nest)
    return Nest(nest, facts, tuple(required), frozenset(interleaved))


def in_own_storage(function: Function) -> Function:
    """A function that is no output, and so is 0 where it is undefined: nothing is there that could be kept."""
    return replace(function, pure=replace(function.pure, keeps=(), where=None))


def _loops_of_needed(name: str, algorithm: Algorithm, schedule: Schedule) -> frozenset[str]:
    """The loops of what uses a function in which something that the function needs is computed: then it is needed
    there itself, and not at the root."""
    functions = {function.name: function for function in algorithm.functions}
    needed: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in functions and one not in needed:
            needed.add(one)
            waiting += called_functions(functions[one])
    levels = (schedule.functions[one].compute for one in needed - {name})
    return frozenset(
        f"{stage}.{level.variable}"
        for level in levels
        if level.kind == "at" and level.function not in needed
        for stage in sharing(level, schedule)
    )


def _in_lanes(loop: For, loops: frozenset[str], apart: Callable[[For], bool]) -> bool:
    """Whether a vectorized loop is, or holds, one of `loops`, or its lanes need a point each."""
    return _has_loop(loop, loops) or apart(loop)


def _has_loop(stmt: Stmt, loops: frozenset[str]) -> bool:
    """Whether one of the loops is in a statement, or is it."""
    return (isinstance(stmt, For) and stmt.name in loops) or any(_has_loop(part, loops) for part in parts(stmt))


def _innermost(
    nest: Stmt,
    function: Function,
    schedule: FunctionSchedule,
    produce: Produce,
    told: bool,
    in_lanes: Callable[[For], bool],
) -> Stmt:
    """The nest with the function computed at each innermost statement that calls it, around a vectorized loop unless
    that is one to be computed `in_lanes`."""
    name, places = function.name, count()

    def visit(stmt: Stmt) -> Stmt:
        if not uses(stmt, name):
            return stmt
        if isinstance(stmt, For):
            around = called(stmt.min, name) or called(stmt.extent, name)
            around = around or (stmt.kind == "vectorized" and not in_lanes(stmt))
        else:
            around = not isinstance(stmt, Block | If | Produce | Realize)
            around = around or (isinstance(stmt, If) and called(stmt.condition, name))
        if not around:
            return with_parts(stmt, visit)
        return once(
            f"{name}.{next(places)}", _realize(function, schedule, _computed(function, produce, stmt, told), told)
        )

    return visit(nest)


def specialized(function: Function, index: int, schedule: StageSchedule, facts: dict[Expr, tuple[Expr, Expr]]) -> Stmt:
    """The loops of one stage; of its specializations too, each under its condition."""
    branches: list[tuple[Expr, Stmt]] = []
    for one in schedule.specializations:
        inside = assumed_of(function, index, one.condition, TRUE)
        branches.append((one.condition, specialized(inside, index, one.schedule, facts)))
        function = assumed_of(function, index, one.condition, FALSE)
    result: Stmt | None = None if schedule.failure is not None else stage_nest(function, index, schedule, facts)
    for condition, branch in reversed(branches):
        result = If(condition, branch, result)
    return If(FALSE, stage_nest(function, index, schedule, facts)) if result is None else result


def _required(schedule: StageSchedule, reached: tuple[Expr, ...]) -> Iterator[Assert]:
    """What must hold so that no `specialize_fail` is reached, which `reached` leads to."""
    others = tuple(Op(BOOL, "not", (one.condition,)) for one in schedule.specializations)
    for place, one in zip(range(len(others)), schedule.specializations, strict=True):
        yield from _required(one.schedule, (*reached, *others[:place], one.condition))
    if schedule.failure is not None:
        told = f"A schedule specialized with specialize_fail() was chosen: {schedule.failure}"
        message = told.replace("{", "{{").replace("}", "}}")
        yield Assert(Op(BOOL, "not", (conjunction(*reached, *others),)), message)


def _computed(function: Function, produce: Produce, body: Stmt, told: bool) -> Stmt:
    """`body` after what it consumes is computed; what is done is written if it is to be `told`."""
    return (
        block(_boxed("produce", function, produce), _boxed("consume", function, body)) if told else block(produce, body)
    )


def _boxed(what: str, function: Function, body: Stmt) -> Stmt:
    """`body` between lines that tell the box of what is done of the function."""
    name, ends = function.name, ("min", "extent")
    if what == "realization":
        box = [hole(name, end, d) for d in range(len(function.variables)) for end in ends]
    else:
        box = [hole(f"{name}.s0", variable, end) for variable in function.variables for end in ends]
    return around(what, name, box, body)


def _realize(function: Function, schedule: FunctionSchedule, body: Stmt, told: bool) -> Realize:
    dimensions = range(len(function.variables))
    bounds = tuple((hole(function.name, "min", d), hole(function.name, "extent", d)) for d in dimensions)
    body = _boxed("realization", function, body) if told else body
    return Realize(function.name, function.types, bounds, body, layout(function, schedule))


def _inject(
    nest: Stmt,
    function: Function,
    schedule: FunctionSchedule,
    produce: Produce,
    stages: tuple[frozenset[str], frozenset[str]],
    told: bool,
) -> tuple[Stmt, list[str]]:
    """`for v: body -> for v: realize g: produce g; body` for every loop of the compute level whose body uses `g`, and
    those loops.

    Storage goes around the body of the store level's loops, where that is another level. `stages` are those whose
    loops those of the two levels are.
    """
    level, store = schedule.compute, schedule.store
    apart = store != level

    def computed(body: Stmt) -> Stmt:
        inner = _computed(function, produce, body, told)
        return inner if apart else _realize(function, schedule, inner, told)

    result, places, loops = _at_loops(nest, level, stages[0], function.name, computed)
    if places is None:
        raise ScheduleError(
            f"{function.name} is computed at {level.function}, {level.variable}, but {_lacks(level.function, loops)}"
        )
    if uses_outside(result, function.name):
        raise ScheduleError(
            f"{function.name} is computed at {level.function}, {level.variable}, but is also used outside that loop: "
            f"compute it at a loop around all its uses, or compute_root()"
        )
    if not apart:
        return result, places

    def kept(body: Stmt) -> Stmt:
        _no_race(body, function.name, ())
        return _realize(function, schedule, body, told)

    if store.kind != "at":
        return kept(result), places
    result, found, loops = _at_loops(result, store, stages[1], function.name, kept)
    if found is None:
        raise ScheduleError(
            f"{function.name} is stored at {store.function}, {store.variable}, but {_lacks(store.function, loops)}"
        )
    if _computed_outside(result, function.name):
        raise ScheduleError(
            f"{function.name} is stored at {store.function}, {store.variable}, but computed at {level.function}, "
            f"{level.variable}, which is not inside that loop: store it at a loop around the one where it is computed"
        )
    return result, places


def _lacks(name: str, loops: list[str]) -> str:
    """That a function has no loop of a name, and what it has."""
    if loops:
        return f"{name} has no such loop; it has {', '.join(loops)}"
    return (
        f"{name} has no such loop; it has none where this is used: it must be computed from it, and be an output or "
        "have compute_root() or compute_at()"
    )


def _at_loops(
    nest: Stmt, level: LoopLevel, sharing: frozenset[str], name: str, change: Callable[[Stmt], Stmt]
) -> tuple[Stmt, list[str] | None, list[str]]:
    """The nest with the bodies of the loops of `level` that use `name` changed, in all stages that are `sharing` them;
    those loops, None if there are none of `level`; and the loops that the level's function has. What is changed is
    inside the guards of a loop: iterations beyond its end ask for nothing."""
    stages = f"{level.function}.s"
    named = {f"{stage}.{level.variable}" for stage in sharing}
    seen: list[str] = []
    changed: list[str] = []

    def is_level(loop: str) -> bool:
        return loop in named

    def within(body: Stmt) -> Stmt:
        if isinstance(body, If) and body.otherwise is None and not affine.reads(body.condition):
            return replace(body, then=within(body.then))
        return change(body)

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, For):
            seen.append(stmt.name)
            if is_level(stmt.name):
                if not uses(stmt.body, name):
                    return stmt
                changed.append(stmt.name)
                return replace(stmt, body=within(stmt.body))
        if isinstance(stmt, Produce) and level.variable == OUTERMOST:
            parts = stmt.body.statements if isinstance(stmt.body, Block) else (stmt.body,)
            loops = (f"{stmt.name}.s{k}.{OUTERMOST}" for k in range(len(parts)))
            within_loops = (once(n, p) if is_level(n) else p for n, p in zip(loops, parts, strict=True))
            return replace(stmt, body=block(*map(visit, within_loops)))
        return with_parts(stmt, visit)

    result = visit(nest)
    found = changed if any(map(is_level, seen)) else None
    return result, found, sorted({n.split(".", 2)[2] for n in seen if n.startswith(stages)})


def once(name: str, body: Stmt) -> Stmt:
    """`body` in a loop that runs once, so that bounds of what is computed in it are its own."""
    if isinstance(body, For) and body.name == name:
        return body
    return For(name, affine.integer(0), affine.integer(1), "serial", body)


def _no_race(stmt: Stmt, name: str, around: tuple[For, ...]) -> None:
    """Refuse `name` computed inside a loop whose iterations run at once, if its storage is outside."""
    if isinstance(stmt, Produce) and stmt.name == name:
        for loop in around:
            if loop.kind in ("parallel", "vectorized"):
                raise ScheduleError(
                    f"{name} is stored outside the {loop.kind} loop {loop.name} and computed inside it, so that its "
                    f"iterations would write the same storage at once: store it inside that loop"
                )
    for part in parts(stmt):
        _no_race(part, name, (*around, stmt) if isinstance(stmt, For) else around)


def _computed_outside(stmt: Stmt, name: str) -> bool:
    """Whether `name` is computed outside its storage."""
    if isinstance(stmt, Realize) and stmt.name == name:
        return False
    if isinstance(stmt, Produce) and stmt.name == name:
        return True
    return any(_computed_outside(part, name) for part in parts(stmt))
