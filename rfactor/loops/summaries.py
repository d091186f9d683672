"""Summaries of runs of steps: by the operator behind a loop, from the steps' own elements, joined in their order.

Beside the carried numbers a summary has the kinds of those that may be of several types, and the number of the step
where the loop uses it and it is not known: these are asked of the matcher as accumulators too.
"""

from __future__ import annotations

import ast
import hashlib
import math
import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr, Var, apply, const, names, substitute
from rfactor.ir.printer import show
from rfactor.ir.types import I64
from rfactor.loops.arrays import Data, gathered
from rfactor.loops.body import POINTED, Body, Slot, Surroundings
from rfactor.loops.bounds import Range, enclosure, of_type
from rfactor.loops.kinds import FALSE
from rfactor.loops.plan import Operator, Plan, proved
from rfactor.loops.run import SLICE, THREADED, Runner, _parted, _plain, _pool, holds, threads
from rfactor.loops.source import names_loaded
from rfactor.loops.symbols import disjunction, negation
from rfactor.native.fold import Inputs, Reduce, Run, Stream, compile_fold

if TYPE_CHECKING:
    from rfactor.loops.fold import Beginning, Frame

Array = NDArray[Any]


@dataclass(frozen=True)
class Summary:
    """What a run of steps makes of the state."""

    values: tuple[Any, ...]
    """Numbers of NumPy's, of the operator's types; none where nothing is carried."""
    steps: int
    ranges: tuple[Range, ...]
    """Bounds of each datum of the steps, by the order in which the loop reads them."""


@dataclass(frozen=True, eq=False)
class Summarized:
    """A loop whose steps are summarized without knowing the state before them."""

    plan: Plan
    whole: Plan
    """The plan with more slots: kinds, then the number of the step."""
    operator: Operator | None
    places: bool
    """Are the numbers of the steps to be known?"""
    counted: bool
    """Is the number of the step an accumulator?"""
    tagged: tuple[int, ...]
    """The slots whose kinds are accumulators."""
    digest: str


def summarized(
    at: Beginning,
    frame: Frame,
    plan: Plan,
    parts: Sequence[str],
    windows: Sequence[str],
    derived: frozenset[str],
    known: bool,
) -> Summarized:
    """How steps are summarized. Raises `FoldError` where they cannot be.

    `parts`: names that each part assigns; `windows`: names of the arrays that move on with the steps; `derived`: names
    that begin with elements or lengths; `known`: are the numbers of the steps known?
    """
    node = at.loop.node
    reading = plan.reading
    if plan.groups:
        raise at.no("numbers are kept by key, which has no state that merges yet", node, "R4", "use .stream()")
    if reading.stored:
        raise at.no("each step leaves something behind that all before it decide", reading.stored[0].node, "R4",
                    "use .stream()")  # fmt: skip
    if _parted(plan.leaves)[1] != FALSE:
        raise at.no("the loop is left by what it has accumulated", node, "R4", "use .stream()")
    own = set(parts) - {n for n in parts if n in windows and type(at.env.get(n)) is int}
    if any(names_loaded(entry[1]) & own for entry in reading.literal.values()):
        raise at.no("the loop was read with the values of its elements", node, "R8", "use .stream()")
    if plan.leaves != FALSE and at._forgets(plan):
        raise at.no("a name that a step assigns anew is used after the loop, which may be left early", node, "R4",
                    "give it a value before the loop, or use .stream()")  # fmt: skip
    if any(s.part.startswith(("last ", POINTED)) for s in plan.slots):
        raise at.no("elements that the state points to are in other parts", node, "R4", "use .stream()")
    if at.fold.options.floats == "serial" and plan.floats:
        raise at.no('floats="serial" keeps the order of the loop', node, "R9", "use .stream()")
    if plan.operator is None and plan.slots:
        raise at.no("there is no operator", node, "R8")
    uses, kept = index_uses(plan, frame, windows)
    if kept and not known:
        raise at.no(
            "data of a step depend on its number", node, "R4", "say where the chunk begins: partial(chunk, at=k)"
        )
    if kept:
        raise at.no("data of a step depend on its number, and are computed by Python or taken from an array that is "
                    "not cut", node, "R4", "give the array in parts as well, or use .stream()")  # fmt: skip
    counted = uses and not known
    if counted and frame.depth > 1:
        raise at.no(
            "nested loops use the number of the step", node, "R4", "say where the chunk begins: partial(chunk, at=k)"
        )
    tagged = tuple(
        j for j, k in zip(range(len(plan.live)), plan.live, strict=True)
        if len(plan.slots[j].kinds) > 1 and len(reading.kinds[k]) > 1
    )  # fmt: skip
    slots, update = list(plan.slots), list(plan.update)
    renamed = {f"x{k}": plan.slots[j].var for j, k in zip(range(len(plan.live)), plan.live, strict=True)}
    for j in tagged:
        var = Var(I64, f"x{len(slots)}")
        slots.append(Slot(plan.slots[j].name, f"at kind {j}", var, frozenset({"int"})))
        renamed[f"kind_x{plan.live[j]}"] = var
    for j in tagged:
        update.append(substitute(reading.tags[plan.live[j]], renamed))
    if any(n.startswith("kind_") for e in update for n in names(e)):
        raise at.no("the types of the accumulators depend on each other", node, "R10", "begin with np.int64(0) or 0.0")
    if counted:
        var = Var(I64, f"x{len(slots)}")
        update = [substitute(e, {"t": var}) for e in update]
        update.append(apply("+", var, const(I64, 1)))
        slots.append(Slot("the number of the step", "at step", var, frozenset({"int"})))
    operator = plan.operator
    if operator is not None and (tagged or counted or any(s.name in derived for s in slots)):
        around = Surroundings(at.source, at.env, at.loop.read_after)
        body = Body(around, frame.body, frame.bind, frame.depth, None, frozenset(frame.fixed), frame.test)
        body.reading = reading
        asked = [replace(s, part=f"at {s.part}") if s.name in derived else s for s in slots]
        operator = proved(
            body, tuple(update), tuple(asked), node,
            timeout=at.fold.options.timeout, floats=at.fold.options.floats,
        )  # fmt: skip
    if counted and "t" in names(plan.leaves):
        raise at.no(
            "the loop is left at a step that its number decides", node, "R4", "say where the chunk begins: at=k"
        )
    whole = replace(
        plan, slots=tuple(slots), update=tuple(update), operator=operator, kernels={}, choice={},
        required=tuple((substitute(e, {"t": slots[-1].var}) if counted else e, why) for e, why in plan.required),
    )  # fmt: skip
    if counted and any("t" in names(e) for e in (whole.unordered, *(e for e, _ in whole.data_requirements))):
        raise at.no("the proof rests on the numbers of the steps", node, "R4", "say where the chunk begins: at=k")
    text = "; ".join(_told(slots, update, operator, plan))
    return Summarized(
        plan, whole, operator, uses and known, counted, tagged, hashlib.sha256(text.encode()).hexdigest()[:16]
    )


def _told(slots: Sequence[Slot], update: Sequence[Expr], operator: Operator | None, plan: Plan) -> list[str]:
    """All that two states must have in common to be joined."""
    numbers = {n: f"data{k}" for k, n in zip(range(len(plan.reading.data)), plan.reading.data, strict=True)}
    exprs = list(update)
    if operator is not None:
        exprs += [*operator.first, *operator.update, *operator.joined, *operator.applied, *operator.invariants]
    found = [re.sub(r"\b[sp]\d+\b", lambda m: numbers.get(m[0], m[0]), f"{show(e)}:{e.type}") for e in exprs]
    found += [f"{s.name}.{s.part}:{'|'.join(sorted(s.kinds))}" for s in slots]
    found += [f"{numbers[n]}:{d.var.type}:{d.kind}" for n, d in plan.reading.data.items()]
    return [*found, str(SLICE)]


def index_uses(plan: Plan, frame: Frame, windows: Sequence[str]) -> tuple[bool, bool]:
    """Is the number of the step used by the operator or conditions, and by what is read or computed for them?"""
    step = "t" if frame.depth == 1 else "t0"
    exprs = [*plan.update, plan.leaves, plan.unordered, *(e for e, _ in plan.required)]
    if plan.operator is not None:
        o = plan.operator
        exprs += [*o.first, *o.update, *o.joined, *o.applied, *o.assumed]
    uses = any(step in names(e) for e in exprs)
    loops = getattr(frame, "loops", [])
    counters = {n.id for loop in loops[:1] for n in ast.walk(loop.node.target) if isinstance(n, ast.Name)}
    kept = False
    for datum in plan.reading.data.values():
        if datum.view is not None:
            where = plan.reading.arrays[datum.view.array]
            moves = where[0] == "walk" or (isinstance(where[1], ast.Name) and where[1].id in windows)
            kept |= not moves and any(step in names(e) for e in datum.view.indices)
        elif datum.node is not None:
            loaded = {n.id for part in (datum.node, datum.guard, *plan.reading.prelude) if part is not None
                      for n in ast.walk(part) if isinstance(n, ast.Name)}  # fmt: skip
            kept |= bool(loaded & _numbers_of(loops[0], counters) if loops else loaded & counters)
    return uses, kept


def _numbers_of(loop: Any, counters: set[str]) -> set[str]:
    """The names of the header that are numbers of steps."""
    found: set[str] = set()

    def visit(header: ast.expr, target: ast.expr) -> None:
        if isinstance(header, ast.Call) and isinstance(header.func, ast.Name):
            inside = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            if header.func.id == "range":
                found.update(inside)
            elif header.func.id == "enumerate":
                if len(parts) == 2:
                    found.update(n.id for n in ast.walk(parts[0]) if isinstance(n, ast.Name))
                    visit(header.args[0], parts[1])
                else:
                    found.update(inside)
            elif header.func.id == "zip":
                if len(parts) == len(header.args):
                    for h, t in zip(header.args, parts, strict=True):
                        visit(h, t)
                else:
                    found.update(inside)

    visit(loop.node.iter, loop.node.target)
    return found & counters


# -- steps -------------------------------------------------------------------------------------------------------------


def summary_of(loop: Summarized, at: Beginning, frame: Frame, first: int) -> tuple[Summary, bool]:
    """The summary of the steps of a frame, the first of which is number `first`, and whether it ends before the last of
    them: at a step that leaves the loop or that is Python's. Raises `FoldError`."""
    plan, node = loop.plan, at.loop.node
    constants = at.constants(plan, frame)
    for value in constants.values():
        if isinstance(value, int) and not I64.min <= value <= 2 * I64.max:
            raise at.no("a number that stays the same is beyond 64 bits", node, "R10")
    dims = {f"dim{k}": n for k, n in zip(range(len(frame.dims)), frame.dims, strict=True)}
    if not all(holds(e, constants | dims) for e, _ in loop.whole.fixed_requirements):
        raise at.no("a number that stays the same does not allow the operator", node, "R8", "use .stream()")
    data = gathered(
        plan.reading, frame.dims, constants, lambda name, where: at.array(frame, where),
        lambda datum: at.recomputed(frame, datum, plan), frame.total,
    )  # fmt: skip
    if data.limit < 1:
        return Summary((), 0, ()), True
    inner = frame.total // frame.dims[0]
    runner = Runner(plan, data, at.starts(plan, data, frame), at.fold.options.floats)
    bounded = _bounds(loop, data)
    stop = _parted(plan.leaves)[0]
    ranges = {n: r for n, r in bounded.items() if not (n[0] == "x" and n[1:].isdigit())}
    for e, _ in loop.whole.data_requirements:
        if enclosure(e, ranges) != (1, 1):
            stop = disjunction(stop, negation(e))
    shift = first * inner
    steps = data.limit if stop == FALSE else _first_of(stop, runner, shift)
    stopped = steps < frame.total
    steps -= steps % inner
    bounds = tuple(bounded.get(name, (-math.inf, math.inf)) for name in plan.reading.data)
    if steps < 1:
        return Summary((), 0, bounds), stopped
    if loop.operator is None:
        return Summary((), steps // inner, bounds), stopped
    values = _values(loop, runner, shift, steps)
    if values is None:
        raise at.no(
            "there are NaNs or infinities where floats decide",
            node,
            "R9",
            "use .stream(), which goes step by step there",
        )
    return Summary(values, steps // inner, bounds), stopped


def _bounds(loop: Summarized, data: Data) -> dict[str, Range]:
    """Bounds of the data, as far as anything rests on them."""
    whole, operator = loop.whole, loop.operator
    found: dict[str, Range] = {}
    for name, value in data.constants.items():
        v = _plain(value)
        found[name] = (v, v) if v == v else (-math.inf, math.inf)
    for k, n in zip(range(len(data.dims)), data.dims, strict=True):
        found["t" if len(data.dims) == 1 else f"t{k}"] = (0, n - 1)
    used = {n for e, _ in whole.required for n in names(e)}
    if whole.required or (operator is not None and operator.answer.update.meaning.value != "wrap"):
        used |= {n for e in whole.update for n in names(e)}
    for name, (stream, _, _) in data.streams.items():
        type_ = stream.var.type
        found[name] = of_type(type_)
        array = data.arrays.get(name)
        if name not in used or type_.is_bool or (type_.is_int and type_.bits < 64) or array is None or not len(array):
            continue
        low, high = _extent(stream, array) if type_.is_int else (array.min().item(), array.max().item())
        if low == low and high == high:
            found[name] = (low, high)
    return found


def _extent(stream: Stream, array: Array) -> Range:
    """The least and the greatest of some integers, by one walk."""
    type_ = stream.var.type
    low, high, more, most = (Var(type_, n) for n in ("x0", "x1", "y0", "y1"))
    dense = array.strides[0] == array.itemsize
    update = (apply("min", low, stream.var), apply("max", high, stream.var))
    joined = (apply("min", low, more), apply("max", high, most))
    kernel = compile_fold(
        Reduce(
            Inputs((Stream(stream.var, dense),)), (low, high), (stream.var, stream.var), update, (more, most), joined,
            32 if dense else 1, dense,
        )
    )  # fmt: skip
    ends = [np.empty(1, array.dtype), np.empty(1, array.dtype)]
    kernel([(array.ctypes.data, array.strides[0])], (), ends, 0, len(array), len(array))
    return ends[0].item(), ends[1].item()


def _shifted(data: Data, exprs: Sequence[Expr], shift: int) -> tuple[Inputs, list[tuple[int, int]], list[Any]]:
    """What a kernel takes whose steps are numbered from `shift` on."""
    inputs, streams, constants = data.inputs(exprs)
    return inputs, [(address - shift * stride, stride) for address, stride in streams], constants


def _first_of(condition: Expr, runner: Runner, shift: int) -> int:
    """The number of steps before the first of which a condition on data holds."""
    local = runner.local(condition)
    inputs, streams, constants = _shifted(runner.data, [local], shift)
    high = shift + runner.data.limit
    if not compile_fold(Reduce(inputs, (), (), (), (), (), 16, True, failed=local))(
        streams, constants, (), shift, high, SLICE
    )[1]:
        return runner.data.limit
    return compile_fold(Run(inputs, (), (), stop=local))(streams, constants, (), shift, high)[0] - shift


def _values(loop: Summarized, runner: Runner, shift: int, steps: int) -> tuple[Any, ...] | None:
    """The summary's numbers; None where data are met that the proofs do not speak of."""
    operator, data = loop.operator, runner.data
    assert operator is not None
    first, update, joined = (tuple(map(runner.local, e)) for e in (operator.first, operator.update, operator.joined))
    bad = None if loop.whole.unordered == FALSE else runner.local(loop.whole.unordered)
    inputs, streams, constants = _shifted(data, [*first, *update, *joined, *([] if bad is None else [bad])], shift)
    lanes, interleaved = (1, False)
    if steps >= 256:
        widest = max((t.bits for t in operator.types), default=64)
        lanes, interleaved = (max(8, 1024 // max(widest, 8)), True) if operator.answer.commutative else (8, False)
        if operator.driver is not None:
            lanes, interleaved = 1, False
    kernel = compile_fold(
        Reduce(inputs, operator.state, first, update, operator.right, joined, lanes, interleaved, bad)
    )
    count = -(-steps // SLICE)
    arrays = [np.empty(count, dtype_of(t)) for t in operator.types]
    parts = min(threads(), count) if steps >= THREADED and threading.current_thread() is threading.main_thread() else 1
    per = -(-count // parts)

    def part(k: int) -> bool:
        low, high = shift + k * per * SLICE, shift + min(steps, (k + 1) * per * SLICE)
        own = [a[k * per : (k + 1) * per] for a in arrays]
        return low < high and kernel(streams, constants, own, low, high, SLICE)[1]

    others = [_pool(os.getpid()).submit(part, k) for k in range(1, parts)]
    if any([part(0), *(o.result() for o in others)]):
        return None
    return _reduced(operator, arrays, data.constants)


def _reduced(operator: Operator, arrays: Sequence[Array], constants: dict[str, Any]) -> tuple[Any, ...]:
    """Summaries, one after the other, as one."""
    states = [a[:1].copy() for a in arrays]
    if len(arrays[0]) > 1:
        from rfactor.ir.expr import variables

        types = {v.name: v for e in operator.joined for v in variables(e)}
        known = [n for n in constants if n in types]
        inputs = Inputs(tuple(Stream(y) for y in operator.right), tuple(types[n] for n in known))
        kernel = compile_fold(Run(inputs, operator.state, operator.joined))
        streams = [(a.ctypes.data, a.itemsize) for a in arrays]
        kernel(streams, [constants[n] for n in known], states, 1, len(arrays[0]))
    return tuple(s[0] for s in states)


def joined_summaries(loop: Summarized, parts: Sequence[Summary], constants: dict[str, Any]) -> Summary:
    """One summary of neighbouring runs of steps, in their order."""
    some = [p for p in parts if p.steps]
    if not some:
        return parts[0]
    ranges = tuple(
        (min(r[0] for r in one), max(r[1] for r in one)) for one in zip(*(p.ranges for p in some), strict=True)
    )
    steps = sum(p.steps for p in some)
    if loop.operator is None or len(some) == 1:
        return Summary(some[0].values, steps, ranges)
    types = loop.operator.types
    arrays = [np.array([p.values[k] for p in some], dtype_of(types[k])) for k in range(len(types))]
    return Summary(_reduced(loop.operator, arrays, constants), steps, ranges)
