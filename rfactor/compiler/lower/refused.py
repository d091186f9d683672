"""Directives that mean nothing where a function is computed: what is said of loops that a function does not have.

An inlined function has no loops and no storage. What is fetched ahead has to be there, and in a loop of the stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rfactor.compiler.lower.affine import reads
from rfactor.compiler.lower.uses import expressions, uses
from rfactor.compiler.schedule.directives import (
    OUTERMOST,
    Dimension,
    FunctionSchedule,
    Fuse,
    Prefetch,
    Schedule,
    StageSchedule,
    TailStrategy,
)
from rfactor.compiler.schedule.spelled import spelled_loops
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, walk
from rfactor.ir.loopnest import For, Let, LoopKind, Provide, Realize, Stmt
from rfactor.ir.statements import parts

_RUNS: Mapping[LoopKind, str] = {"parallel": "parallelize", "vectorized": "vectorize", "unrolled": "unroll"}
_PLACES = "compute_root() or compute_at() gives it loops of its own"


def inlined(algorithm: Algorithm, schedule: Schedule) -> frozenset[str]:
    """The functions that are pure, no output, and scheduled to be inlined.

    Raises `ScheduleError` for one that is to be stored, run in a way of its own, specialized or kept, and for an output
    that is to be kept.
    """
    found = []
    for function in reversed(algorithm.functions):
        name, own = function.name, schedule.functions[function.name]
        if name in algorithm.outputs:
            if own.memoized:
                raise ScheduleError(
                    f"Can't compile Pipeline with memoized output Func: {name}. Memoization is valid only on "
                    "intermediate Funcs because it takes control of buffer allocation: memoize what it reads"
                )
        elif own.memoized and own.storage.slides and own.store != own.compute and own.compute.kind != "inlined":
            raise ScheduleError(
                f"Function {name} cannot be memoized because it has compute and storage scheduled at different loop "
                "levels: leave out store_at and store_root"
            )
        elif own.compute.kind == "inlined":
            _not_stored(name, own)
            if not function.updates:
                _without_loops(name, own)
                found.append(name)
    return frozenset(found)


def _not_stored(name: str, own: FunctionSchedule) -> None:
    if own.store.kind == "inlined":
        return
    root = own.store.kind == "root"
    asked = "store" if own.storage.slides else "hoist_storage"
    asked += "_root" if root else "_at" if own.storage.slides else ""
    raise ScheduleError(
        f'Func "{name}" is scheduled {asked}(), but is inlined. Funcs that use {asked} must also call '
        f"{'compute_root or ' if root else ''}compute_at."
    )


def _without_loops(name: str, own: FunctionSchedule) -> None:
    (stage,) = own.stages
    if stage.specializations or stage.failure is not None:
        raise ScheduleError(
            f"Function {name} is scheduled inline, so it must not have any specializations. Specialize on the "
            f"scheduled function instead: {_PLACES}"
        )
    if own.memoized:
        raise ScheduleError(f"Cannot memoize function {name} because the function is scheduled inline: {_PLACES}")
    for dimension in stage.dimensions:
        if dimension.kind != "serial":
            loop = spelled_loops(stage).names[dimension.name]
            raise ScheduleError(
                f"Cannot {_RUNS[dimension.kind]} dimension {loop} of function {name} because the function is scheduled "
                f"inline: {_PLACES}"
            )
    if stage.companion is not None:
        raise ScheduleError(f"Invalid compute_with: {name}.s0 is scheduled inline: {_PLACES}")


def check_prefetches(nest: Stmt, algorithm: Algorithm, schedule: Schedule) -> None:
    """Raise `ScheduleError` where what is fetched ahead in a loop is not there, or not by the number of a loop around.

    A loop that the stage does not have fetches nothing.
    """
    images = {image.name for image in algorithm.images}
    for function in algorithm.functions:
        for k, stage in enumerate(schedule.functions[function.name].stages):
            for one in _fetched(stage):
                where = f"{function.name}.s{k}.{one.at}"
                if one.name not in images and one.name not in schedule.functions:
                    raise ScheduleError(
                        f"{function.name}: prefetch({one.name}): this pipeline has no {one.name}: name an ImageParam "
                        "or a Func that it reads"
                    )
                if one.name not in images and _before_storage(nest, where, one.name):
                    raise ScheduleError(
                        f'Prefetch to buffer "{one.name}" which has not been allocated: its storage is to be around '
                        f"the loop over {one.at} of {function.name}"
                    )


def check_partitions(nest: Stmt, algorithm: Algorithm, schedule: Schedule) -> None:
    """Raise `ScheduleError` where a loop is to be partitioned, and nothing in it could be taken out of some iterations:
    no guard of a tail, and no value that is one thing or another by the loop's coordinate."""
    for function in algorithm.functions:
        for k, stage in enumerate(schedule.functions[function.name].stages):
            for asked, spelled, guarded in _to_partition(stage):
                name = f"{function.name}.s{k}.{asked}"
                bodies = [loop.body for loop in _loops(nest, name)]
                if bodies and not guarded and not any(_chooses(body, frozenset((name,))) for body in bodies):
                    raise ScheduleError(
                        f"Loop Partition Policy is set to Always for {function.name}.s{k}.{spelled}, but no loop "
                        f"partitioning was performed: nothing in the loop is guarded, clamped or chosen by its "
                        "coordinate; leave the policy as it was, Partition.Auto"
                    )


def _to_partition(stage: StageSchedule) -> Iterator[tuple[str, str, bool]]:
    """The loops that are to be partitioned, how they are told of, and whether the end of one has a guard."""
    asked = [loop for loop in stage.dimensions if loop.partitioned]
    if asked:
        told = spelled_loops(stage).names
        yield from ((loop.name, told[loop.name], _guarded(stage, loop)) for loop in asked)
    for special in stage.specializations:
        yield from _to_partition(special.schedule)


_UNGUARDED = frozenset({TailStrategy.Auto, TailStrategy.ShiftInwards, TailStrategy.RoundUp})
"""Tails that visit each point without asking, in loops over pure variables."""


def _guarded(stage: StageSchedule, loop: Dimension) -> bool:
    """Whether a loop is made of the outer one of a split whose tail is guarded, or is of vectors that may be moved."""
    vectors = any(one.kind == "vectorized" for one in stage.dimensions)
    outer: set[str] = set()
    for one in stage.relations:
        if isinstance(one, Fuse):
            outer = outer - {one.inner, one.outer} | ({one.fused} if {one.inner, one.outer} & outer else set())
            continue
        asks = one.tail not in _UNGUARDED or (one.tail == TailStrategy.Auto and loop.reduction)
        asks = asks or (vectors and one.tail != TailStrategy.RoundUp)
        made = {one.outer} if one.old in outer or (asks and not one.renames) else set()
        outer = outer - {one.old, one.outer, one.inner} | made
    return loop.name in outer


def _loops(stmt: Stmt, name: str) -> Iterator[For]:
    """The loops of that name that run one after the other or in parallel, more than once for all that is known."""
    if isinstance(stmt, For) and stmt.name == name:
        once = isinstance(stmt.extent, Const) and stmt.extent.value <= 1
        if stmt.kind in ("serial", "parallel") and not once:
            yield stmt
    for part in parts(stmt):
        yield from _loops(part, name)


def _chooses(stmt: Stmt, moving: frozenset[str]) -> bool:
    """Whether a value in a statement is one thing or another by the variables `moving`, whatever data say."""
    if isinstance(stmt, Let) and names(stmt.value) & moving:
        moving |= {stmt.name}
    exprs = (*stmt.arguments, *stmt.values) if isinstance(stmt, Provide) else ()
    nodes = [node for expr in exprs for node in walk(expr) if isinstance(node, Op) and not reads(node.args[0])]
    here = any(
        _bounded_by(node.args[0], moving) if node.op == "select" else names(node) & moving and not reads(node)
        for node in nodes
        if node.op in ("min", "max", "select")
    )
    return here or any(_chooses(part, moving) for part in parts(stmt))


def _bounded_by(expr: Expr, moving: frozenset[str]) -> bool:
    """Whether one of the variables `moving` stands in a condition where it could be solved for: not in a remainder, a
    product or quotient of two that vary, an absolute value, bits, or another type."""
    if isinstance(expr, Var):
        return expr.name in moving
    if isinstance(expr, Op):
        fixed = [isinstance(one, Const) for one in expr.args]
        if expr.op in _UNSOLVED or (expr.op in ("*", "//", "<<", ">>") and not any(fixed)):
            return False
    return not isinstance(expr, Call) and any(_bounded_by(child, moving) for child in expr.children)


_UNSOLVED = frozenset({"%", "&", "|", "^", "~", "abs", "cast"})


def idle_prefetches(nest: Stmt, algorithm: Algorithm, schedule: Schedule) -> Iterator[str]:
    """What Halide says of each array that is fetched ahead in a loop that does not read it."""
    for function in algorithm.functions:
        for k, stage in enumerate(schedule.functions[function.name].stages):
            for one in _fetched(stage):
                told = spelled_loops(stage).names
                at, start = (f"{function.name}.s{k}.{told.get(loop, loop)}" for loop in (one.at, one.start))
                if not _reads(nest, f"{function.name}.s{k}.{one.at}", one.name):
                    yield (
                        f"Removing prefetch of {one.name} at loop nest of {at} from location {start} + offset "
                        f"{one.offset}) since the prefetched area will always be empty."
                    )


def _fetched(stage: StageSchedule) -> Iterator[Prefetch]:
    """What loops of a stage fetch: of one array, that which was asked for last."""
    loops = [*(d.name for d in stage.dimensions), OUTERMOST]
    for one in {(one.name, one.at): one for one in stage.prefetches if one.at in loops}.values():
        if one.start not in loops[loops.index(one.at) :]:
            raise ScheduleError(
                f"Prefetch 'from' variable '{one.start}' could not be found in an active loop. (Are the 'at' and "
                f"'from' variables swapped?): name a loop around that over {one.at}, or itself"
            )
        yield one
    for special in stage.specializations:
        yield from _fetched(special.schedule)


def _reads(stmt: Stmt, loop: str, name: str) -> bool:
    """Whether what a loop runs uses `name`."""
    if isinstance(stmt, For) and stmt.name == loop:
        return any(isinstance(e, Call) and e.name == name for one in expressions(stmt.body) for e in walk(one))
    return any(_reads(part, loop, name) for part in parts(stmt))


def _before_storage(stmt: Stmt, loop: str, name: str) -> bool:
    """Whether a loop uses `name` and is not inside its storage."""
    if isinstance(stmt, Realize) and stmt.name == name:
        return False
    if isinstance(stmt, For) and stmt.name == loop:
        return uses(stmt.body, name)
    return any(_before_storage(part, loop, name) for part in parts(stmt))
