"""Algorithm and schedule to a loop nest with holes for bounds.

Every function that is not inlined becomes `realize f(…): produce f: <stages>` around what consumes it, at the root or
inside the loop of its compute level; every stage becomes its scheduled loops around `Provide`. A stage's pure loops
run over the holes `f.s0.x.min`, `f.s0.x.extent`, storage over `f.min.0`, `f.extent.0`: bounds inference fills them.
After *Formal Semantics for the Halide Language*, section 6 and figure 12.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.rows import layout
from rfactor.compiler.lower.sharing import sharing
from rfactor.compiler.lower.trace import around
from rfactor.compiler.schedule.directives import (
    OUTERMOST,
    SILENT,
    FunctionSchedule,
    LoopLevel,
    Schedule,
    Split,
    StageSchedule,
    entry_values,
)
from rfactor.compiler.schedule.loops import apart, countable
from rfactor.compiler.schedule.purity import pure_loops, pure_variables
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, cast, conjunction, names, substitute, transform, walk
from rfactor.ir.loopnest import Assert, Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt, block
from rfactor.ir.types import BOOL, I32, I64

_LONGEST = 1 << 20
"""Iterations of an inner loop whose number is an expression, at most: no sum of coordinates overflows."""
TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)


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


def hole(*parts: object) -> Var:
    """The variable that stands for a bound until it is filled: `f.s0.x.min`, `f.extent.1`."""
    return Var(I32, ".".join(map(str, parts)))


def build(algorithm: Algorithm, schedule: Schedule) -> Nest:
    """The whole nest. Raises `ScheduleError` where a function is not computed around all its uses."""
    _known_on_entry(algorithm, schedule)
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
        elif (
            own.compute.kind == "inlined"
            and own.store.kind == "inlined"
            and _bound_to_a_loop(function.name, algorithm, schedule)
        ):
            nest = _innermost(nest, function, own, produce, told)
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


def _known_on_entry(algorithm: Algorithm, schedule: Schedule) -> None:
    """Refuse directives over the box of a function that is no output: only the caller's arrays have one on entry."""
    inner = {function.name for function in algorithm.functions} - set(algorithm.outputs)
    for name, own in schedule.functions.items():
        for expr in entry_values(own):
            for whose in {variable.split(".")[0] for variable in names(expr)} & inner:
                raise ScheduleError(
                    f"{name}: {expr} is over the box of {whose}, which is no output of this pipeline: only the boxes "
                    "of images and outputs are known before anything runs"
                )


def _bound_to_a_loop(name: str, algorithm: Algorithm, schedule: Schedule) -> bool:
    """Whether something that a function needs is computed in a loop of what uses the function: then it is needed there
    itself, and not at the root."""
    functions = {function.name: function for function in algorithm.functions}
    needed: set[str] = set()
    waiting = [name]
    while waiting:
        one = waiting.pop()
        if one in functions and one not in needed:
            needed.add(one)
            waiting += called_functions(functions[one])
    levels = (schedule.functions[one].compute for one in needed - {name})
    return any(level.kind == "at" and level.function not in needed for level in levels)


def called_functions(function: Function) -> set[str]:
    """The functions that the stages of one call."""
    return {
        node.name
        for stage in function.stages
        for expr in (*stage.arguments, *stage.values, *(() if stage.domain is None else (stage.domain.predicate,)))
        for node in walk(expr)
        if isinstance(node, Call) and node.kind == "func"
    }


def _innermost(nest: Stmt, function: Function, schedule: FunctionSchedule, produce: Produce, told: bool) -> Stmt:
    """The nest with the function computed at each innermost statement that calls it, or around a vectorized loop."""
    name, places = function.name, count()

    def visit(stmt: Stmt) -> Stmt:
        if isinstance(stmt, Block):
            return Block(tuple(map(visit, stmt.statements)))
        if not uses(stmt, name):
            return stmt
        if (
            isinstance(stmt, For)
            and stmt.kind != "vectorized"
            and not (called(stmt.min, name) or called(stmt.extent, name))
        ):
            return replace(stmt, body=visit(stmt.body))
        if isinstance(stmt, If) and not called(stmt.condition, name):
            return If(stmt.condition, visit(stmt.then), None if stmt.otherwise is None else visit(stmt.otherwise))
        if isinstance(stmt, Produce | Realize):
            return replace(stmt, body=visit(stmt.body))
        return once(
            f"{name}.{next(places)}", _realize(function, schedule, _computed(function, produce, stmt, told), told)
        )

    return visit(nest)


def specialized(function: Function, index: int, schedule: StageSchedule, facts: dict[Expr, tuple[Expr, Expr]]) -> Stmt:
    """The loops of one stage; of its specializations too, each under its condition."""
    branches: list[tuple[Expr, Stmt]] = []
    for one in schedule.specializations:
        inside = assumed(function, index, one.condition, TRUE)
        branches.append((one.condition, specialized(inside, index, one.schedule, facts)))
        function = assumed(function, index, one.condition, FALSE)
    result: Stmt | None = None if schedule.failure is not None else stage_nest(function, index, schedule, facts)
    for condition, branch in reversed(branches):
        result = If(condition, branch, result)
    return If(FALSE, stage_nest(function, index, schedule, facts)) if result is None else result


def assumed(function: Function, index: int, condition: Expr, value: Const) -> Function:
    """The function where `condition` is known to be true or false: stage `index` asks it no more."""
    stage = function.stages[index]
    where = None if stage.where is None else answered(stage.where, condition, value)
    stage = replace(stage, values=tuple(answered(one, condition, value) for one in stage.values), where=where)
    if index == 0:
        return replace(function, pure=stage)
    return replace(function, updates=(*function.updates[: index - 1], stage, *function.updates[index:]))


def answered(expr: Expr, condition: Expr, value: Const) -> Expr:
    """`expr` where `condition` is known to be true or false."""

    def known(node: Expr) -> Expr | None:
        if node == condition:
            return value
        if not isinstance(node, Op) or not {TRUE, FALSE} & {*node.args}:
            return None
        if node.op == "select" and node.args[0] in (TRUE, FALSE):
            return node.args[1 if node.args[0] == TRUE else 2]
        if node.type.is_bool and node.op in ("and", "&", "or", "|"):
            ends, (a, b) = FALSE if node.op in ("and", "&") else TRUE, node.args
            return ends if ends in node.args else b if a in (TRUE, FALSE) else a
        return (FALSE if node.args[0] == TRUE else TRUE) if node.op == "not" else None

    return transform(expr, known)


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
            f"{function.name} is computed at {level.function}, {level.variable}, but {level.function} has no such "
            f"loop; it has {', '.join(loops) or 'none'}"
        )
    if _uses_outside(result, function.name):
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
            f"{function.name} is stored at {store.function}, {store.variable}, but {store.function} has no such "
            f"loop; it has {', '.join(loops) or 'none'}"
        )
    if _computed_outside(result, function.name):
        raise ScheduleError(
            f"{function.name} is stored at {store.function}, {store.variable}, but computed at {level.function}, "
            f"{level.variable}, which is not inside that loop: store it at a loop around the one where it is computed"
        )
    return result, places


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
            if not is_level(stmt.name):
                return replace(stmt, body=visit(stmt.body))
            if not uses(stmt.body, name):
                return stmt
            changed.append(stmt.name)
            return replace(stmt, body=within(stmt.body))
        if isinstance(stmt, Block):
            return Block(tuple(map(visit, stmt.statements)))
        if isinstance(stmt, If):
            return If(stmt.condition, visit(stmt.then), None if stmt.otherwise is None else visit(stmt.otherwise))
        if isinstance(stmt, Produce) and level.variable == OUTERMOST:
            parts = stmt.body.statements if isinstance(stmt.body, Block) else (stmt.body,)
            loops = (f"{stmt.name}.s{k}.{OUTERMOST}" for k in range(len(parts)))
            within_loops = (once(n, p) if is_level(n) else p for n, p in zip(loops, parts, strict=True))
            return replace(stmt, body=block(*map(visit, within_loops)))
        if isinstance(stmt, Produce | Realize):
            return replace(stmt, body=visit(stmt.body))
        return stmt

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


def parts(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements directly in one."""
    if isinstance(stmt, Block):
        return stmt.statements
    if isinstance(stmt, If):
        return (stmt.then,) if stmt.otherwise is None else (stmt.then, stmt.otherwise)
    return (stmt.body,) if isinstance(stmt, For | Produce | Realize | Let | Atomic) else ()


def expressions(stmt: Stmt) -> Iterator[Expr]:
    """Every expression of a statement and of the statements in it."""
    if isinstance(stmt, Block):
        for part in stmt.statements:
            yield from expressions(part)
    elif isinstance(stmt, For):
        yield from (stmt.min, stmt.extent)
        yield from expressions(stmt.body)
    elif isinstance(stmt, If):
        yield stmt.condition
        yield from expressions(stmt.then)
        if stmt.otherwise is not None:
            yield from expressions(stmt.otherwise)
    elif isinstance(stmt, Provide):
        yield from stmt.arguments
        yield from stmt.values
    elif isinstance(stmt, Produce | Realize | Let | Atomic):
        yield from expressions(stmt.body)


def called(expr: Expr, name: str) -> bool:
    """Whether the function `name` is called in `expr`."""
    return any(isinstance(node, Call) and node.kind == "func" and node.name == name for node in walk(expr))


def uses(stmt: Stmt, name: str) -> bool:
    """Whether the function `name` is called anywhere in `stmt`."""
    return any(called(expr, name) for expr in expressions(stmt))


def _uses_outside(stmt: Stmt, name: str) -> bool:
    """Whether `name` is called where no `produce name` comes before it."""
    if isinstance(stmt, Block):
        if any(isinstance(part, Produce) and part.name == name for part in stmt.statements):
            return False
        return any(_uses_outside(part, name) for part in stmt.statements)
    if isinstance(stmt, For):
        return called(stmt.min, name) or called(stmt.extent, name) or _uses_outside(stmt.body, name)
    if isinstance(stmt, If):
        return called(stmt.condition, name) or any(_uses_outside(part, name) for part in parts(stmt))
    if isinstance(stmt, Produce | Realize):
        return _uses_outside(stmt.body, name)
    return uses(stmt, name)


@dataclass(slots=True)
class _Loop:
    """Bounds of a loop that a stage may have, over the stage's own variables."""

    min: Expr
    extent: Expr


def stage_nest(function: Function, index: int, schedule: StageSchedule, facts: dict[Expr, tuple[Expr, Expr]]) -> Stmt:
    """The loops of one stage. `facts` is extended with the ranges of the terms that fused loops give rise to."""
    stage = function.stages[index]
    prefix = f"{function.name}.s{index}"
    loops: dict[str, _Loop] = {
        name: _Loop(hole(prefix, name, "min"), hole(prefix, name, "extent")) for name in pure_variables(function, stage)
    }
    domain = () if stage.domain is None else stage.domain.variables
    ranges: dict[Expr, Expr] = {}
    for variable in domain:
        loops[variable.name] = _Loop(variable.min, variable.extent)
    zero = affine.integer(0)
    defined: list[tuple[str, Expr, Expr | None]] = []
    relations, keys = apart(schedule, (*function.variables, *(variable.name for variable in domain)))
    for relation, said in zip(relations, schedule.relations, strict=True):
        if isinstance(relation, Split) and isinstance(relation.factor, Expr):
            old = loops.pop(relation.old)
            size: Expr = affine.maximum(affine.minimum(relation.factor, affine.integer(_LONGEST)), affine.integer(1))
            # What is true in any case is part of the value: nothing else bounds a product of two unknown numbers.
            reached: Expr = apply("*", cast(I64, Var(I32, relation.outer)), cast(I64, size))
            reached = cast(I32, apply("min", reached, cast(I64, affine.maximum(old.extent, zero))))
            distance = affine.add(reached, Var(I32, relation.inner))
            last = affine.subtract(affine.add(old.min, old.extent), affine.integer(1))
            value = affine.minimum(affine.add(distance, old.min), last)
            defined.append((relation.old, value, apply("<", distance, old.extent)))
            rounded = affine.add(old.extent, affine.subtract(size, affine.integer(1)))
            loops[relation.outer] = _Loop(zero, apply("//", rounded, size))
            loops[relation.inner] = _Loop(zero, size)
        elif isinstance(relation, Split):
            assert isinstance(relation.factor, int)
            assert isinstance(said, Split)
            old = loops.pop(relation.old)
            scaled = affine.scale(Var(I32, relation.outer), relation.factor)
            value = affine.add(affine.add(scaled, Var(I32, relation.inner)), old.min)
            known = affine.constant_value(old.extent)
            divides = known is not None and known % relation.factor == 0
            if known is not None:
                countable(f"split({said.old})", -(-known // relation.factor) * relation.factor - 1)
            guard: Expr | None = (
                None if divides else apply("<", Var(I32, relation.old), affine.add(old.min, old.extent))
            )
            defined.append((relation.old, value, guard))
            loops[relation.outer] = _Loop(zero, affine.divide_up(affine.tidy(old.extent), relation.factor))
            loops[relation.inner] = _Loop(zero, affine.integer(relation.factor))
        else:
            inner, outer = loops.pop(relation.inner), loops.pop(relation.outer)
            fused = Var(I32, relation.fused)
            quotient, remainder = _quotient(fused, inner.extent), _remainder(fused, inner.extent)
            defined.append((relation.outer, affine.add(quotient, outer.min), None))
            defined.append((relation.inner, affine.add(remainder, inner.min), None))
            counts = affine.constant_value(inner.extent), affine.constant_value(outer.extent)
            if counts[0] is not None and counts[1] is not None:
                countable(f"fuse({said.inner}, {said.outer})", max(counts[0], 0) * counts[1])
            loops[relation.fused] = _Loop(zero, affine.multiply(affine.maximum(inner.extent, zero), outer.extent))
            ranges[quotient], ranges[remainder] = outer.extent, inner.extent
    environment: dict[str, Expr] = {key: Var(I32, f"{prefix}.{name}") for name, key in keys.items()}
    for name, value, _ in reversed(defined):
        environment[name] = affine.tidy(substitute(value, environment))
    conditions = [substitute(guard, environment) for _, _, guard in defined if guard is not None]
    for term, extent in ranges.items():
        last = affine.subtract(substitute(extent, environment), affine.integer(1))
        whole = affine.tidy(substitute(term, environment))
        _, other = facts.get(whole, (None, last))  # of another specialization
        facts[whole] = (affine.integer(0), affine.maximum(last, other))
    for asked in (None if stage.domain is None else stage.domain.predicate, stage.where):
        if asked is not None:
            conditions.extend(substitute(term, environment) for term in conjuncts(asked))
    provide: Stmt = Provide(
        function.name,
        tuple(substitute(a, environment) for a in stage.arguments),
        tuple(substitute(v, environment) for v in stage.values),
        stage.keeps,
    )
    if schedule.atomic:
        pure = pure_loops(function, stage, schedule)
        shared = {d.kind for d in schedule.dimensions if d.name not in pure}
        if shared & {"parallel", "vectorized"}:
            provide = Atomic(provide, "parallel" in shared)
    ordered = [
        For(
            f"{prefix}.{d.name}",
            affine.tidy(substitute(loops[keys[d.name]].min, environment)),
            affine.tidy(substitute(loops[keys[d.name]].extent, environment)),
            d.kind,
            provide,
        )
        for d in schedule.dimensions
    ]
    return _nested(ordered, conditions, provide)


def _quotient(fused: Expr, extent: Expr) -> Expr:
    return Op(I32, "//", (fused, extent))


def _remainder(fused: Expr, extent: Expr) -> Expr:
    return Op(I32, "%", (fused, extent))


def conjuncts(condition: Expr) -> list[Expr]:
    """The terms of a conjunction, left to right; none for `True`."""
    if isinstance(condition, Op) and (condition.op == "and" or (condition.op == "&" and condition.type.is_bool)):
        return conjuncts(condition.args[0]) + conjuncts(condition.args[1])
    return [] if getattr(condition, "value", None) is True else [condition]


def _nested(loops: list[For], conditions: list[Expr], body: Stmt) -> Stmt:
    """`body` in `loops` (innermost first). A condition goes as far out as its variables allow; one that reads data
    stays innermost, after those before it, so that nothing is loaded for a point that they exclude."""
    own = {loop.name for loop in loops}
    waiting = [(names(c) & own, any(isinstance(node, Call) for node in walk(c)), c) for c in conditions]
    for _, _, condition in reversed([w for w in waiting if w[1]]):
        body = If(condition, body)
    waiting = [w for w in waiting if not w[1]]
    for loop in loops:
        for _, _, condition in reversed([w for w in waiting if loop.name in w[0]]):
            body = If(condition, body)
        waiting = [w for w in waiting if loop.name not in w[0]]
        body = For(loop.name, loop.min, loop.extent, loop.kind, body)
    for _, _, condition in reversed(waiting):
        body = If(condition, body)
    return body
