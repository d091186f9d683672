"""From facts to directives: chunks of the domain for threads, lanes or copies within them.

    for r.y: for r.x: f() = f() + a(r.x, r.y)
        chunks of rows, in parallel                       as much work as pays for a thread
            lanes of neighbours, several vectors at once  as many as registers hold

Chunks are of constant size: a domain of one chunk is not run in parallel, so that small sizes cost what one core costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, log2

from rfactor.compiler.auto.cost import (
    COPIES,
    ROW,
    WORTH,
    alone_ns,
    copies_stay,
    cost_ns,
    gain_ns,
    gather_ns,
    lanes_ns,
    least_run,
    long_row,
    made_ns,
    many_rows,
    overlapped,
)
from rfactor.compiler.auto.directive import AutoSchedule, Iterations, Word
from rfactor.compiler.auto.facts import Facts, Loop, extents
from rfactor.compiler.auto.machine import (
    CACHED_BYTES,
    FIRST_BYTES,
    FLIGHT,
    MEMORY_NS,
    MISS_NS,
    PARTIAL_NS,
    ROW_NS,
    STREAMS,
    VECTOR_NS,
    Machine,
)
from rfactor.compiler.auto.own import Own, own
from rfactor.compiler.auto.work import follow, gathers, neighbours, state_octets, streams
from rfactor.compiler.auto.write import CHUNKS, COPIED, LANES, TWO, Chunks, Lanes, Parts, Writer

ROWS = 8
"""Of a chunk whose rows are of unknown length, where the order must be kept."""
TURNS = 2
"""Slices for each thread that rows of unknown length go to in turn."""
TASKS = 16
"""Chunks for each thread, beyond which smaller ones are not asked for."""
SMALL = 64
"""Iterations of an outer loop that are few enough to be a task each."""
FILLED = 10
"""How much longer a chunk of a histogram takes than to make and to merge its points, or one of records its lanes;"""
FILLED_AT_LEAST = 4
"""and one of records where the size of the domain is not known: a smaller one has one chunk."""
LEAST_LANES = 8
LONG = 4096
"""Iterations of an innermost loop beside which it does not matter that its vectors are merged where it ends."""
TAPS = 16
"""Iterations of one point that are written out: LLVM makes vectors of the points then, and each is stored once."""
AS_GOOD = 1.1
"""More lanes are taken as long as they take no longer than so many times the best number of them."""
FEW = 8
"""Iterations of an innermost loop that are written out."""
SHORT_ROW = 4
"""Iterations of a point that are written out for two points in turn: LLVM makes vectors of both; of longer ones it
makes better ones of rows."""
POINTS = 1024
"""Such points that are one task."""
LONG_ROW = 64
"""Iterations of a point from which on LLVM's vectors of it are as fast as two points in turn."""
PARTS, MOST_PARTS = 2, 4
"""Parts that are computed in turns, where an iteration would wait for the one before; more where that is WORTH it."""


def choose(function: str, number: int, facts: Facts, machine: Machine, *, vectors: bool = True) -> AutoSchedule:
    """The directives for one update, called `function`; without lanes of reduction variables unless `vectors`."""
    if not facts.loops:
        why = "nothing is reduced: its loops may be parallel and vectorized as they are"
        return AutoSchedule(function, number, why=why)
    refused = (None, "they are refused")
    wide, narrow = lanes(facts, machine, None) if vectors else refused
    pace = _pace(facts, machine, wide)
    along = wide if isinstance(wide, str) else None
    taps = along is not None and not facts.guarded and (facts.count or TAPS + 1) <= TAPS
    shared = own(facts, machine, pace, along, 1 if taps else _abreast(facts, machine, along))
    cut, alone = chunks(facts, machine, pace, wide) if shared is None else (None, "")
    if cut is not None and vectors:
        wide, narrow = lanes(facts, machine, cut)
        wide, cut = _streamed(facts, machine, cut, wide)
    if facts.lifted and cut is not None and machine.threads * facts.work.serial_ns < WORTH * facts.slice_ns:
        cut, alone = None, f"a state of {len(facts.types)} components costs more than {machine.threads} threads gain"
    if facts.decays:
        cut, alone = (
            None,
            "products of floats, which the state of a slice keeps, may become denormal and slow",
        )
    writer = Writer(Word(function), number, facts)
    parts = None
    if facts.count is None and (cut is not None or isinstance(wide, Lanes)):
        _cases(writer, machine, shared, cut, wide, vectors)
    else:
        parts = _loops(writer, machine, cut, wide, vectors, alone=shared is None)
        if taps:
            writer.tapped()
        elif isinstance(wide, str) and cut is None:
            writer.abreast(wide, _abreast(facts, machine, wide), shared)
        elif vectors and wide is None and cut is None:
            _in_turn(writer, machine, shared)
        if shared is not None:
            writer.share(shared, machine)
    what = COPIED if facts.scattered else LANES
    said = (
        "own points for threads" if shared else "chunks for threads" if cut else f"no threads, because {alone}",
        f"no {what}, because {narrow}" if wide is None else "written out" if taps else what,
        *(["parts"] if parts is not None and cut is None else []),
    )
    return AutoSchedule(function, number, writer.spoken(), tuple(writer.directives), "; ".join(said))


def _loops(
    writer: Writer, machine: Machine, cut: Chunks | None, wide: Lanes | str | None, vectors: bool, *, alone: bool
) -> Parts | None:
    """Chunks, if there are any, and what is done within them; the parts in turns, if it is those."""
    facts = writer.facts
    parts = _parts(facts, machine, cut) if wide is None and alone and not facts.decays else None
    if cut is not None:
        writer.threads(cut, None if vectors else parts, 1 if wide is None else machine.vector_bits // facts.widest)
        if wide is None:
            writer.apart()
            if parts is None and _short(facts, cut):
                writer.say("unroll", writer.words[facts.loops[0].name], reason="few iterations")
    tasks = writer.tasks
    if parts is not None and (cut is None or vectors):
        writer.in_turns(parts)
    if isinstance(wide, Lanes):
        writer.lanes(wide)
    elif isinstance(wide, str) and cut is not None:
        writer.abreast(wide, _abreast(facts, machine, wide), None)
    if cut is not None:
        writer.run(Word(CHUNKS), 0, tasks, 0, machine)
    return parts


def _cases(
    writer: Writer, machine: Machine, shared: Own | None, cut: Chunks | None, wide: Lanes | str | None, vectors: bool
) -> None:
    """Where sizes are given at run time: runs that have work for threads, those that have it for lanes, all others.

    The first that holds decides, and what is left is the serial loop, of two points in turn where it is one of several.
    Rows of tables that are short have no lanes.
    """
    facts = writer.facts
    along = wide if isinstance(wide, str) else None
    if cut is not None:
        writer.begin(writer.pays(cut.where, long_row(facts, machine, wide)))
        _loops(writer, machine, cut, wide, vectors, alone=True)
    uncut = lanes(facts, machine, None)[0] if vectors else None
    if isinstance(uncut, Lanes):
        writer.begin(writer.pays(least_run(facts, machine, uncut), long_row(facts, machine, uncut)))
        writer.lanes(uncut)
        if shared is not None:
            writer.share(shared, machine)
    if vectors and along is None:
        _in_turn(writer, machine, shared)
    else:
        writer.begin()
    if along is not None:
        writer.abreast(along, _abreast(facts, machine, along), shared)
    if shared is not None:
        writer.share(shared, machine)


def _abreast(facts: Facts, machine: Machine, name: str | None) -> int:
    """How many own points, neighbours in memory, are computed at once; 1 where a row is faster one by one.

    Several vectors where so many are known of. What is left of a row is a vector of which few lanes work, and costs
    more than a whole one.
    """
    if name is None:
        return 1
    extent = next(loop.extent for loop in facts.own if loop.name == name)
    if extent is None:
        return machine.vector_bits // facts.widest

    def row_ns(width: int) -> float:
        if width == 1:
            return extent * (facts.work.apart_ns if overlapped(facts) else facts.work.serial_ns)
        return extent // width * max(width * facts.work.lane_ns, VECTOR_NS) + (PARTIAL_NS if extent % width else 0)

    most = min(_lane_count(facts, machine), 1 << max(extent - 1, 0).bit_length())
    widths = [1 << i for i in range(most.bit_length()) if i != 1]
    return min(reversed(widths), key=row_ns)


def _short(facts: Facts, cut: Chunks) -> bool:
    """Whether the innermost loop of a chunk has so few iterations that they are written out, as LLVM does elsewhere.

    Not of rows, which have vectors of several points.
    """
    inner = facts.loops[0]
    whole = inner in cut.whole or (cut.cut is not None and cut.cut[0] == inner)
    few = inner.extent is not None and inner.extent <= FEW
    return few and not (whole or facts.pure or facts.scattered or facts.work.plain or facts.guarded)


def _in_turn(writer: Writer, machine: Machine, shared: Own | None) -> None:
    """The iterations of two points in turn, where there are several points, of unknown length or of few iterations.

    What LLVM makes vectors of is faster one point after the other, where they are long: a case of its own, which comes
    first, so that none is made where threads have a case of long points.
    """
    facts = writer.facts
    writer.begin()
    points = facts.own[0].extent if facts.own else 1
    if facts.scattered or (points is not None and points < TWO):
        return
    inner = facts.loops[0]
    if facts.count is not None:
        if 1 < facts.count <= SHORT_ROW and not facts.guarded:
            writer.abutted(facts.pure[0], _at_a_time(facts.own[0], machine, shared))
            writer.tapped()
        return
    if facts.work.plain and shared is not None:
        return
    if facts.work.plain and inner.extent is None:
        writer.begin(Iterations((writer.words[inner.name],), LONG_ROW))
        writer.say("serial", facts.pure[0], reason="LLVM makes vectors of long rows")
        writer.begin()
    if not facts.work.plain or inner.extent is None or inner.extent < LONG_ROW:
        writer.abutted(facts.pure[0])


def _at_a_time(loop: Loop, machine: Machine, shared: Own | None) -> int:
    """How many points of a loop that threads share are a task, so that LLVM makes vectors of them; 1 where few are."""
    if shared is None or loop not in shared.loops or loop.extent is None:
        return 1
    size = min(POINTS, 1 << max(loop.extent // (TASKS * machine.threads), 1).bit_length() - 1)
    return size if size > TWO else 1


def _pace(facts: Facts, machine: Machine, wide: Lanes | str | None) -> float:
    """Nanoseconds of one iteration on one core."""
    if isinstance(wide, str):
        return facts.work.lane_ns
    if wide is None or wide.copies:
        misses = facts.scattered and (facts.bins or 0) * state_octets(facts.types) > FIRST_BYTES
        step_ns = _turns(facts, facts.slice_ns)[1] if _waiting(facts) else facts.slice_ns
        return (facts.work.apart_ns if overlapped(facts) else step_ns) + (MISS_NS if misses else 0.0)
    length = wide.loop.extent or wide.lanes
    rounded = -(-length // wide.lanes) * wide.lanes
    lane_ns = max(facts.work.lane_ns, facts.work.waits_ns / wide.lanes) * rounded / length
    each_ns = (ROW_NS + wide.lanes * facts.work.waits_ns) / facts.count if facts.pure and facts.count else 0.0
    return gather_ns(facts, wide.loop.name) + lane_ns + each_ns


def _power(iterations: float) -> int:
    """The nearest power of two."""
    return 1 << max(0, round(log2(iterations)))


def chunks(facts: Facts, machine: Machine, pace: float, wide: Lanes | str | None) -> tuple[Chunks | None, str]:
    """How the domain is cut, whose iterations take `pace` ns each in `wide` lanes, or why it is not."""
    if machine.threads < 2:
        return None, "there is one thread"
    if facts.scattered and facts.bins is None:
        return None, "data may choose any point, so that slices might take more memory and time than they save"
    made = made_ns(facts, wide) / pace
    total, threads = facts.count, machine.threads
    filled = FILLED if facts.scattered or total is not None else FILLED_AT_LEAST
    size = max(_power(machine.chunk_ns / pace), ceil(filled * made))
    least = max(ceil(machine.threads_ns / pace), 2 * size)
    if total is not None:
        # A chunk for each thread has to be WORTH it.
        worth = WORTH * threads * made / (1 - min(WORTH / threads, WORTH / 2))
        least = max(ceil(machine.threads_ns / pace), ceil(worth))
    if total is not None and total < least:
        return None, f"{total} iterations are less than the {least} from which on threads pay"
    if total is not None:
        size = max(size, _power(total / (TASKS * threads)))
        size = -(-total // max(round(total / size / threads) * threads, threads)) if total < TASKS * size else size
    whole: tuple[Loop, ...] = ()
    where = least if total is None else 0
    for loop in reversed(facts.loops):
        inner = extents(facts.loops[: facts.loops.index(loop)])
        if inner is None and loop.extent is not None and loop.extent <= SMALL:
            continue
        if inner is None:
            # Of rows of unknown length any fixed number may be too few or too many.
            if facts.any_order:
                return Chunks((), (loop, TURNS * machine.threads), where, in_turn=True), ""
            return Chunks((), (loop, ROWS), where), ""
        rows = max(size // max(inner, 1), 1)
        if rows > MOST_PARTS:
            more = rows + -rows % MOST_PARTS
            rows = more if more < (loop.extent or 0) else rows - rows % MOST_PARTS
        if rows > 1 or loop.extent is None:
            cut = (loop, rows) if loop.extent is None or loop.extent > rows else None
            return Chunks(whole, cut, where, size), ""
        whole = (*whole, loop)
        if (extents(whole) or 0) >= TASKS * machine.threads:
            break
    return Chunks(whole, None, where, size), ""


def _parts(facts: Facts, machine: Machine, cut: Chunks | None) -> Parts | None:
    """How a chunk, or the domain, is cut into parts whose iterations come in turns, where those of one would wait for
    each other.

    As many of a chunk as pay anywhere: their state begins where they do, so that LLVM knows it, has vectors of it and
    computes once what is the same in all. One part where iterations are left out: what a chunk has come to is stored in
    each iteration that is not, and beside what other threads store each would wait.
    """
    if cut is None:
        loop, extent, total, alone_ns = facts.loops[-1], facts.loops[-1].extent, facts.count, facts.work.serial_ns
    elif cut.cut is None or cut.in_turn:
        return None
    else:
        (loop, extent), total, alone_ns = cut.cut, cut.size, facts.slice_ns
    if extent is None or not _waiting(facts):
        return None
    number, turns_ns = _turns(facts, alone_ns, extent)
    if number > 1 and cut is not None and extent >= MOST_PARTS:
        number = MOST_PARTS
    if 1 < number <= extent and (total or 0) * (alone_ns - turns_ns) >= machine.function_ns:
        return Parts(loop, -(-extent // number), number)
    return Parts(loop, extent, 1) if cut is not None and facts.guarded else None


def _waiting(facts: Facts) -> bool:
    """Whether the iterations of one point may be cut into parts in turns."""
    return not (facts.pure or facts.scattered or facts.decays)


def _turns(facts: Facts, alone_ns: float, extent: int = MOST_PARTS) -> tuple[int, float]:
    """How many parts of a loop, and what an iteration takes where those of several come in turns; one, and `alone_ns`,
    where that is as good."""
    few_ns, most_ns = (max(facts.apart_ns, facts.slice_ns / number) for number in (PARTS, MOST_PARTS))
    number, turns_ns = (MOST_PARTS, most_ns) if extent >= MOST_PARTS and few_ns >= WORTH * most_ns else (PARTS, few_ns)
    return (number, turns_ns) if alone_ns >= WORTH * turns_ns else (1, alone_ns)


def lanes(facts: Facts, machine: Machine, cut: Chunks | None) -> tuple[Lanes | str | None, str]:
    """The lanes: of a reduction variable, or the name of a pure loop to vectorize; or why there are none."""
    if facts.scattered:
        return _copies(facts, machine, cut)
    loads = facts.work.loads
    fits = [(loop, length) for loop, length in _inside(facts, cut) if length is None or length >= LEAST_LANES]
    best, length = min(fits, key=lambda one: _badness(facts, one[0].name), default=(None, None))
    along = max(facts.pure, key=lambda name: (neighbours(loads, name), follow(loads, name)), default=None)
    apart = float("inf") if best is None else gather_ns(facts, best.name)
    if along is not None and follow(loads, along) and gather_ns(facts, along) <= apart:
        short = _abreast(facts, machine, along) == 1
        return (None, "neighbours in memory are few points, faster one by one") if short else (along, "")
    if best is None:
        return None, "no loop is as long as a vector"
    if facts.work.plain and not facts.lifted and fits[0] == (best, length) and (length or 0) >= LONG:
        return None, "LLVM makes vectors of the innermost loop"
    if not facts.any_order:
        return None, "the operator does not commute, and neighbours in lanes come in another order"
    if alone_ns(facts) - facts.work.lane_ns < apart:
        return None, "no loop that is as long as a vector runs along memory"
    number = _merged_count(facts, _lane_count(facts, machine), facts.count if cut is None else cut.size)
    if length is not None:
        number = min(number, 1 << (length - 1).bit_length())  # what is too short is one vector, under a mask
    wide = Lanes(best, number)
    if facts.count is None and cut is None and gain_ns(facts, wide) <= 0:
        return None, "LLVM makes vectors of the innermost loop"
    if facts.count is not None and cut is None and facts.count * gain_ns(facts, wide) < cost_ns(facts, machine, wide):
        return None, f"{facts.count} iterations are too few to gain by it"
    return wide, ""


def _streamed(
    facts: Facts, machine: Machine, cut: Chunks, wide: Lanes | str | None
) -> tuple[Lanes | str | None, Chunks]:
    """Lanes of several parts of a chunk in turn, where threads read more than caches hold, and the chunks; else `wide`.

    As many parts as make up the streams that a core fetches ahead of, and as registers hold a vector of the state of.
    All chunks are about as long, as what the last one lacks of its last part is looked for in all of its parts.
    """
    same = wide, cut
    if isinstance(wide, str) or cut.cut is None or cut.size is None or facts.count is None or facts.scattered:
        return same
    (outer, rows), work = cut.cut, facts.work
    inner = facts.loops[0] if wide is None else wide.loop
    if (wide is None and not work.plain) or facts.pure or not facts.any_order or inner != facts.loops[0]:
        return same
    read = streams(work.loads, inner.name)
    octets = sum(read.values())
    if gathers(work.loads, inner.name) or facts.count * octets < CACHED_BYTES or work.lane_ns > octets * MEMORY_NS:
        return same
    state = state_octets(facts.held)
    vector = machine.vector_bits // min(8 * min(read.values()), *(max(type_.bits, 8) for type_ in facts.held))
    number = STREAMS // max(len(read), 1) or 1
    while number > 1 and (machine.state_lanes(number * state) < vector or rows < number):
        number //= 2
    most = min(_lane_count(facts, machine) // number, machine.state_lanes(number * state))
    each = max(vector, 1 << (most.bit_length() - 1))
    if number < 2 or (inner != outer and (inner.extent or 0) < each):
        return same
    extent, within = outer.extent or rows, number * (each if inner == outer else 1)
    rows = -(-extent // -(-extent // rows))
    rows += -rows % within
    return Lanes(inner, each, parts=Parts(outer, rows // number, number)), replace(cut, cut=(outer, rows))


def _merged_count(facts: Facts, most: int, iterations: int | None) -> int:
    """How many lanes, at `most`, are as good as the best number for so many iterations: those of few cost to merge.

    Where it is not known how many iterations each point has, they may be few: no more lanes than cost little then.
    """
    if iterations is None and not many_rows(facts):
        return most
    numbers = [1 << i for i in range(LEAST_LANES.bit_length() - 1, most.bit_length())]
    taken = {number: lanes_ns(facts, number, iterations or ROW) for number in numbers}
    return max(number for number in numbers if taken[number] <= AS_GOOD * min(taken.values()))


def _badness(facts: Facts, name: str) -> tuple[float, int]:
    """Of lanes of a loop: less where they load what lies together."""
    return gather_ns(facts, name), -neighbours(facts.work.loads, name)


def _inside(facts: Facts, cut: Chunks | None) -> Iterator[tuple[Loop, int | None]]:
    """The loops of a chunk with their lengths, innermost first."""
    chunk = None if cut is None or cut.in_turn else cut.cut
    for loop in facts.loops:
        if cut is None or loop not in cut.whole:
            yield loop, chunk[1] if chunk is not None and chunk[0] == loop else loop.extent


def _lane_count(facts: Facts, machine: Machine) -> int:
    """Several vectors of the widest component, as far as registers hold the state."""
    widest = max(max(type_.bits, 8) for type_ in facts.held)
    narrowest = min(max(type_.bits, 8) for type_ in facts.held)
    wanted = max(FLIGHT * machine.vector_bits // widest, machine.vector_bits // narrowest)
    number = min(wanted, machine.state_lanes(state_octets(facts.held)))
    return max(1 << (number.bit_length() - 1), LEAST_LANES)


def _copies(facts: Facts, machine: Machine, cut: Chunks | None) -> tuple[Lanes | None, str]:
    """Copies of a histogram."""
    if facts.bins is None or facts.pure:
        return None, "data choose the points"
    if not copies_stay(facts):
        return None, f"{COPIES} copies of {facts.bins} points do not stay in the first cache"
    if not facts.any_order:
        return None, "the operator does not commute, and neighbours in copies come in another order"
    fits = [loop for loop, length in _inside(facts, cut) if length is None or length >= 4 * COPIES]
    if not fits:
        return None, "no loop is long enough"
    wide = Lanes(fits[0], COPIES, True)
    if cut is None and facts.count is not None and facts.count * gain_ns(facts, wide) < cost_ns(facts, machine, wide):
        return None, f"{facts.count} iterations are few for {COPIES} copies of {facts.bins} points"
    return wide, ""
