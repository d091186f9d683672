"""Lowering: an algorithm and its schedule become a loop nest, one pass a file, in this order.

The algorithm is rewritten:
    `scans` (in tiles: `scan_tiles`)    what `parallel_scan` was given becomes a reduction of blocks and their scan
    `inline`                            calls of functions without loops become their values
    `data_ends`                         coordinates that are stored values are clamped to what parameters say of them
    `raced`                             loops that were asked to run at once do where loops around keep them apart
    `skip`                              runs that need one arm of a choice alone get loops of their own
Its loops are made, with holes for bounds:
    `nest` (a stage's: `stage_loops`; what shares loops: `sharing`; reductions needed at one point: `one_point`; what
    is known of conditions: `answers`; strides: `rows`; lines of a trace: `trace`)
    `refused`                           directives that mean nothing there
The holes are filled, consumers before producers:
    `bounds` (where windows slide: `sliding`)
    `together` (in turns: `turns`)      stages that `compute_with` puts into the same loops (how long: `shared`)
    `checks` (of sizes: `overflow`)     what is asked on entry; `tags` begins and ends a trace
    `skip`                              what no iteration reads is not computed in it
Functions become memory:
    `storage`                           flat buffers, and points as indices
    `tidy` (rows side by side: `rejoined`) constants folded, loops and branches that do nothing taken away
    `peel`                              iterations that fill windows, the first ones, run apart
    `limits`                            where guards that ask for data cease to hold is computed before their loops
    `partition` (guards: `guards`; clamps, choices: `borders`; whole tiles: `tiles`) iterations that no guard stops run
                                        without it
    `unroll` (of many values one: `choices`)
    `vectorize` (storage inside: `private`; where lanes meet: `in_place`; in one block: `multiples`)
    `tidy`
Vectors are made cheaper:
    `zeros`                             neighbouring rows of zeros are filled by one loop
    `masked`                            lanes that a mask leaves out are stored as they were
    `records`, `no_record`              what improves a least or greatest value is stored where one does
    `latest`                            an innermost loop notes which iteration chose last (stores: `groups`)
    `keep`, `hoist`                     points stay in registers, and vectors are loaded before the loop
    `merged`                            lanes that loops of a few iterations merge are joined as vectors
    `prefixes`                          running values of integers take some points at a time
    `extremes`                          the least and the greatest of floats take some elements at a time
    `totals`                            sums of bytes in a wider type take some elements at a time
    `accumulators`                      lanes that each iteration joins are joined after the loop
    `previous`                          what the iteration before has stored is kept beside the array

What is known of coordinates, for all of them:
    `scope`, `places`                   at a place in a nest
    `affine`, `sums`, `casts`           sums of coordinates in one form, and what i32 must hold
    `conditions`                        what a guard says
    `interval` (`quotients`, `paired_terms`; floats: `float_interval`) over `ends`, and `boxes` of them
    `values`, `data_range`              what data can be
    `spans`                             between which numbers a coordinate lies, whatever is given
    `uses`                              which functions statements call
`loops` prints the nest; `as_written` tells of stages as the user numbered them; `failing` tells of checks that fail in
every run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rfactor.compiler.lower.accumulators import accumulators
from rfactor.compiler.lower.as_written import as_written, renumbered
from rfactor.compiler.lower.bounds import Bounded, define, infer_bounds
from rfactor.compiler.lower.checks import entry_checks, read_first
from rfactor.compiler.lower.data_ends import clamp_coordinates
from rfactor.compiler.lower.extremes import extremes
from rfactor.compiler.lower.hoist import hoist
from rfactor.compiler.lower.inline import inline
from rfactor.compiler.lower.keep import keep
from rfactor.compiler.lower.latest import latest
from rfactor.compiler.lower.limits import limits
from rfactor.compiler.lower.masked import unmasked
from rfactor.compiler.lower.merged import merged
from rfactor.compiler.lower.nest import Nest, build
from rfactor.compiler.lower.no_record import without_record
from rfactor.compiler.lower.partition import partition
from rfactor.compiler.lower.peel import peel
from rfactor.compiler.lower.prefixes import prefixes
from rfactor.compiler.lower.previous import previous
from rfactor.compiler.lower.raced import raced
from rfactor.compiler.lower.records import records
from rfactor.compiler.lower.refused import check_partitions, check_prefetches, idle_prefetches
from rfactor.compiler.lower.scans import scans
from rfactor.compiler.lower.scope import Scope
from rfactor.compiler.lower.shared import defined, lengths
from rfactor.compiler.lower.sharing import neighbours
from rfactor.compiler.lower.skip import only_needed, skip, specialized_by_arms
from rfactor.compiler.lower.spans import extents_of
from rfactor.compiler.lower.storage import buffer_name, flatten
from rfactor.compiler.lower.tags import whole
from rfactor.compiler.lower.tidy import tidy
from rfactor.compiler.lower.together import together
from rfactor.compiler.lower.totals import totals
from rfactor.compiler.lower.unroll import constant_extents, unroll
from rfactor.compiler.lower.values import data_ranges
from rfactor.compiler.lower.vectorize import vectorize
from rfactor.compiler.lower.zeros import zeros
from rfactor.compiler.schedule.directives import Schedule
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Op, Var
from rfactor.ir.loopnest import BufferArgument, LoweredPipeline, ScalarArgument, Stmt, block
from rfactor.ir.types import I32
from rfactor.semantics.validity import validate


def lower(algorithm: Algorithm, schedule: Schedule, sparse: frozenset[str] = frozenset()) -> LoweredPipeline:
    """The nest that code is generated from.

    `sparse` names the caller's arrays whose dimension 0 may have any stride. Raises `AlgorithmError` for an algorithm
    that is not valid or reads out of any bounds, `ScheduleError` for a schedule that does not fit it.
    """
    *_, (_, body) = passes(algorithm, schedule, sparse)
    name = "_".join(algorithm.outputs)
    return LoweredPipeline(name, arguments(algorithm, sparse), body)


def passes(
    algorithm: Algorithm, schedule: Schedule, sparse: frozenset[str] = frozenset()
) -> Iterator[tuple[str, Stmt]]:
    """The nest after each pass, with the pass's name."""
    with as_written(algorithm, schedule):
        yield from _passes(algorithm, schedule, sparse)


def _passes(algorithm: Algorithm, schedule: Schedule, sparse: frozenset[str]) -> Iterator[tuple[str, Stmt]]:
    validate(algorithm)
    algorithm, schedule, nest = built(algorithm, schedule)
    yield "nest", nest.body
    bounded = infer_bounds(nest, algorithm, schedule)
    needed = only_needed(bounded.body, bounded.needed)
    yield "bounds", read_first(algorithm, sparse, define(bounded.definitions, needed))
    body = skip(checked(bounded, algorithm, schedule, sparse), algorithm, schedule)
    check_partitions(body, algorithm, schedule)
    body = flatten(body, algorithm, sparse, schedule.traces)
    yield "storage", body
    body = peel(tidy(body))
    yield "tidy", body
    spans = extents_of(algorithm)
    body = partition(limits(body, spans), spans)
    yield "partition", body
    body = vectorize(unroll(constant_extents(body)))
    yield "vectorize", body
    body = without_record(records(unmasked(zeros(tidy(body)))))
    yield "final", previous(accumulators(totals(extremes(prefixes(hoist(keep(latest(merged(body)))))))))


def bounded_loops(algorithm: Algorithm, schedule: Schedule) -> Stmt:
    """The nest whose bounds are known, with stages in shared loops and nothing checked. Raises as `lower` does."""
    with as_written(algorithm, schedule):
        validate(algorithm)
        algorithm, schedule, nest = built(algorithm, schedule)
        bounded = infer_bounds(nest, algorithm, schedule)
        return define(bounded.definitions, together(bounded.body, algorithm, schedule, bounded.definitions))


def checked(bounded: Bounded, algorithm: Algorithm, schedule: Schedule, sparse: frozenset[str] = frozenset()) -> Stmt:
    """The bounded nest after its entry checks, with stages in shared loops: the last that knows points and boxes."""
    body = together(bounded.body, algorithm, schedule, bounded.definitions)
    if body is not bounded.body:
        around = defined(Scope(ranges=data_ranges(algorithm.functions)), dict(bounded.definitions))
        bounded = replace(bounded, sums={**lengths(bounded.body, body, around), **bounded.sums})
    body = only_needed(body, bounded.needed)
    checks = entry_checks(bounded, algorithm, sparse)
    if schedule.traces:
        body = whole(body, bounded, algorithm, schedule.traces)
    known = promised(algorithm)
    if known:  # holds after the checks, which ask whether it does
        body = block(define(bounded.definitions, checks), define((*known, *bounded.definitions), body))
    else:
        body = define(bounded.definitions, block(checks, body))
    return read_first(algorithm, sparse, body)


def promised(algorithm: Algorithm) -> tuple[tuple[str, Expr], ...]:
    """What is required to equal a constant, by name: `f.extent.2 == 3`."""
    conditions = (asked.condition for asked in algorithm.requirements)
    equal = (c.args for c in conditions if isinstance(c, Op) and c.op == "==")
    return tuple((left.name, right) for left, right in equal if isinstance(left, Var) and isinstance(right, Const))


def built(algorithm: Algorithm, schedule: Schedule) -> tuple[Algorithm, Schedule, Nest]:
    """The nest with holes, and the algorithm and schedule that it is of: scans rewritten, functions inlined."""
    algorithm, schedule = scans(algorithm, schedule)
    algorithm = clamp_coordinates(inline(algorithm, schedule))
    schedule = raced(algorithm, schedule)
    schedule = specialized_by_arms(algorithm, schedule)
    algorithm = neighbours(algorithm, schedule)
    nest = build(algorithm, schedule)
    check_prefetches(nest.body, algorithm, schedule)
    return algorithm, schedule, nest


def without_effect(algorithm: Algorithm, schedule: Schedule) -> tuple[str, ...]:
    """What there is to warn of in the loops: prefetches of what is not read there. Raises as `lower` does."""
    if not any(stage.prefetches for one in schedule.functions.values() for stage in one.stages):
        return ()
    with as_written(algorithm, schedule):
        validate(algorithm)
        made, loops, nest = built(algorithm, schedule)
        found = idle_prefetches(nest.body, made, loops)
        return tuple(renumbered(one, algorithm, schedule) for one in found)


def arguments(algorithm: Algorithm, sparse: frozenset[str]) -> tuple[BufferArgument | ScalarArgument, ...]:
    """What the caller gives: images, scalars, the box asked of each output (`f.min.d`, `f.extent.d`), outputs."""
    given: list[BufferArgument | ScalarArgument] = [
        BufferArgument(image.name, image.type, image.dimensions, False, image.name not in sparse)
        for image in algorithm.images
    ]
    given.extend(ScalarArgument(parameter.name, parameter.type) for parameter in algorithm.parameters)
    for name in algorithm.outputs:
        function = algorithm.function(name)
        for d in range(len(function.variables)):
            given.extend(ScalarArgument(f"{name}.{end}.{d}", I32) for end in ("min", "extent"))
        for component in range(len(function.types)):
            buffer = buffer_name(name, component)
            type_, dimensions = function.types[component], len(function.variables)
            stored = not function.pure.may_keep(component)
            given.append(BufferArgument(buffer, type_, dimensions, True, buffer not in sparse, stored))
    return tuple(given)
