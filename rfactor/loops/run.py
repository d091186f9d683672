"""Run a plan: how many steps compiled code takes, what the state is after them, and what it leaves behind."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate_scalar
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, names, walk
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops.arrays import Data, in_steps
from rfactor.loops.bounds import Range, enclosure, of_type, over_steps
from rfactor.loops.kinds import FALSE, TRUE
from rfactor.loops.plan import Operator, Plan
from rfactor.loops.symbols import conjunction, disjunction, negation
from rfactor.loops.update import is_stateful
from rfactor.native.fold import Inputs, Kernel, Reduce, Run, Stream, compile_fold

Array = NDArray[Any]
SLICE = 1 << 16
"""Steps that are summarized by themselves, whatever the threads and chunks: floats are added in this order."""
THREADED = 1 << 18
"""Steps from which on threads are worth waking."""
MEASURED = 1 << 15
"""Steps from which on ways to run a loop are timed against each other."""


@dataclass
class Left:
    """What steps left behind at one place of the body."""

    values: Array
    mask: Array | None = None
    """Which steps left something; None: all."""
    tags: Array | None = None
    """The codes of the values' kinds, where those are several."""


@dataclass
class Outcome:
    """What compiled code has done."""

    steps: int
    """So many steps; Python takes the rest."""
    state: list[Any]
    """The carried numbers after them, in the order of the plan's slots."""
    kinds: list[str]
    stored: list[Left]
    """By the order of the reading."""
    how: str = "serial"
    groups: list[Any] = field(default_factory=list)
    """What was found for numbers kept by key: each is put in its place by `put()`."""


@cache
def threads() -> int:
    """How many threads take slices at the same time."""
    asked = os.environ.get("RFACTOR_NUM_THREADS") or os.environ.get("HL_NUM_THREADS")
    if asked and asked.isdigit():
        return max(1, int(asked))
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


@cache
def _pool(pid: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads(), thread_name_prefix="rfactor-fold")


def holds(expr: Expr, constants: dict[str, Any]) -> bool:
    """Is a condition on numbers that stay the same true?"""
    if expr in (TRUE, FALSE):
        return expr == TRUE
    return bool(evaluate_scalar(expr, {n: _plain(constants[n]) for n in names(expr)}))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else K.held_value(value)


class _Large(Exception):
    """Integers are larger than was taken for granted."""


@dataclass(frozen=True)
class Way:
    """How steps are run."""

    lanes: int = 0
    """Subsequences of a slice that are folded at once; none: the serial loop."""
    interleaved: bool = False
    rare: bool = False
    """Steps that change nothing are passed over by a branch."""


SERIAL = Way()


class Runner:
    """One call of a plan."""

    def __init__(self, plan: Plan, data: Data, start: Sequence[Any], floats: str, ways: str = "auto") -> None:
        """`start`: the carried numbers before the first step, as arrays hold them."""
        self.plan, self.data, self.start, self.floats, self.ways = plan, data, list(start), floats, ways
        self.depth = len(data.dims)
        self._ranges: dict[int, dict[str, Range]] = {}
        self._memos: list[dict[Expr, Range]] = [{}, {}, {}]

    def local(self, expr: Expr) -> Expr:
        """An expression over the number of the step."""
        return in_steps(expr, self.depth)

    def kernel(self, fold: Run | Reduce) -> Kernel:
        """The compiled fold, kept with the plan."""
        known = self.plan.kernels.get(fold)
        if known is None:
            known = self.plan.kernels[fold] = compile_fold(fold)
        return known

    # -- what is to be looked out for ----------------------------------------------------------------------------------

    def run(self) -> Outcome | None:
        """Take as many steps as compiled code may; None where Python is to take all."""
        if self.data.limit < 1:
            return None
        try:
            return self._run()
        except _Large:
            self._level, self._rests_on_small = 2, False
            return self._run()

    def _run(self) -> Outcome | None:
        plan, data = self.plan, self.data
        leaves_data, leaves_state = _parted(plan.leaves)
        hand_over = leaves_data
        suspects = [negation(e) for e, _ in plan.data_requirements]
        open_state = [e for e, _ in plan.state_requirements if not self._settled(e)]
        suspects_open = [e for e in suspects if not self._settled(negation(e))]
        for e in suspects_open:
            hand_over = disjunction(hand_over, e)
        state_stop = leaves_state
        for e in open_state:
            state_stop = disjunction(state_stop, negation(e))
        if plan.reading.stored or state_stop != FALSE:
            if self._rests_on_small and self._any(self._small(), data.limit):
                raise _Large
            return self._in_order(disjunction(hand_over, state_stop))
        steps = data.limit
        if self._rests_on_small and (leaves_data != FALSE or not plan.slots) and self._any(self._small(), steps):
            raise _Large
        if leaves_data != FALSE:
            steps = self._first(hand_over, steps)
            hand_over = FALSE
        if steps < 1:
            return None
        if not plan.slots:
            return self._first_only(hand_over, steps)
        return self._folded(steps, hand_over)

    def _first_only(self, hand_over: Expr, steps: int) -> Outcome | None:
        if hand_over != FALSE:
            steps = self._first(hand_over, steps)
        return Outcome(steps, [], [], [], "search") if steps else None

    def _settled(self, condition: Expr) -> bool:
        """Does a condition hold in every step, by the bounds of what it reads?

        Bounds are those of types first; then integers of 64 bits are taken to be small enough for the number of steps,
        which is looked at with the data (`_small`); then those of the data themselves.
        """
        for level in range(self._level, 3):
            if enclosure(condition, self.ranges(level), self._memos[level]) == (1, 1):
                self._level = max(self._level, level)
                self._rests_on_small |= level == 1
                self.plan.settled[condition] = level
                return True
        self.plan.settled[condition] = -1
        return False

    _level = 0
    """The least bounds that are still tried: 0 those of types, 1 small numbers, 2 those of the data."""
    _rests_on_small = False
    """Does anything rest on integers being small, whatever else rests on the data themselves?"""

    def ranges(self, level: int) -> dict[str, Range]:
        """Bounds of everything that the loop reads, and of its state in all steps."""
        known = self._ranges.get(level)
        if known is not None:
            return known
        found: dict[str, Range] = {}
        for name, value in self.data.constants.items():
            v = _plain(value)
            found[name] = (v, v) if v == v else (-float("inf"), float("inf"))
        for k, n in zip(range(self.depth), self.data.dims, strict=True):
            found["t" if self.depth == 1 else f"t{k}"] = (0, n - 1)
        used = {v for r in self.plan.reading.required for v in names(r.condition)} | {
            v for e in self.plan.update for v in names(e)
        }
        for name, (stream, _, _) in self.data.streams.items():
            type_ = stream.var.type
            found[name] = of_type(type_)
            if name not in used or type_.is_bool or level == 0 or (type_.is_int and type_.bits < 64):
                continue
            if level == 1:
                if type_.is_int:
                    found[name] = (max(-self._most, int(type_.min)), self._most)
                continue
            array = self.data.arrays.get(name)
            if array is not None and len(array):
                low, high = array.min(), array.max()
                if low == low and high == high:
                    found[name] = (low.item(), high.item())
        start = [(v, v) if v == v else (-float("inf"), float("inf")) for v in map(_plain, self.start)]
        bounds = over_steps(self.plan.update, start, self.data.limit, found)
        for slot, r in zip(self.plan.slots, bounds, strict=True):
            found[slot.var.name] = r
        self._ranges[level] = found
        return found

    @property
    def _most(self) -> int:
        """So large may integers be that as many as there are steps add up to one of 64 bits."""
        return (1 << 59) // max(1, self.data.limit)

    def _small(self) -> Expr:
        """Holds of data that are larger than was taken for granted."""
        result: Expr = FALSE
        if not self._rests_on_small:
            return result
        used = {v for r in self.plan.reading.required for v in names(r.condition)} | {
            v for e in self.plan.update for v in names(e)
        }
        limit = Var(I64, "most")
        self.data.constants["most"] = self._most
        for name, (stream, _, _) in self.data.streams.items():
            if name in used and stream.var.type.is_int and stream.var.type.bits == 64:
                large = apply(">", stream.var, cast(stream.var.type, limit))
                if stream.var.type.is_signed:
                    large = apply("or", large, apply("<", stream.var, apply("neg", limit)))
                result = disjunction(result, large)
        return result

    # -- searches ------------------------------------------------------------------------------------------------------

    def _any(self, condition: Expr, steps: int) -> bool:
        """Does a condition on data hold in any step?"""
        if condition == FALSE:
            return False
        condition = self.local(condition)
        inputs, streams, constants = self.data.inputs([condition])
        kernel = self.kernel(Reduce(inputs, (), (), (), (), (), 16, True, failed=condition))
        return kernel(streams, constants, (), 0, steps, steps)[1]

    def _first(self, condition: Expr, steps: int) -> int:
        """The first step of which a condition on data holds, or `steps`."""
        condition = self.local(condition)
        inputs, streams, constants = self.data.inputs([condition])
        narrow = self.kernel(Run(inputs, (), (), stop=condition))
        low, block = 0, 1 << 12
        if steps > block:
            wide = self.kernel(Reduce(inputs, (), (), (), (), (), 16, True, failed=condition))
            while low < steps:
                high = min(steps, low + block)
                if wide(streams, constants, (), low, high, SLICE)[1]:
                    break
                low, block = high, min(block * 4, 1 << 18)
            else:
                return steps
            steps = high
        return narrow(streams, constants, (), low, steps)[0]

    # -- in order ------------------------------------------------------------------------------------------------------

    def _states(self) -> list[Array]:
        return [np.array([v], dtype_of(s.var.type)) for v, s in zip(self.start, self.plan.slots, strict=True)]

    def _serial(self, steps: int, rare: bool = False) -> Outcome:
        """All steps one after the other: what every other way is held against."""
        return self._outcome(steps, [s[0] for s in self._serial_loop(steps, rare)], [])

    def _serial_loop(self, steps: int, rare: bool) -> list[Array]:
        update = tuple(map(self.local, self.plan.update))
        inputs, streams, constants = self.data.inputs(update)
        states = self._states()
        variables = tuple(s.var for s in self.plan.slots)
        changed = changes(update, self.plan.slots) if rare else None
        self.kernel(Run(inputs, variables, update, changed=changed))(streams, constants, states, 0, steps)
        return states

    def _in_order(self, stop: Expr) -> Outcome | None:
        """One step after the other, for what is stored by steps and for conditions on the state."""
        plan, data = self.plan, self.data
        stop_ = None if stop == FALSE else self.local(stop)
        update = tuple(map(self.local, plan.update))
        values, masks, tags = [], [], []
        for s in plan.reading.stored:
            values.append(self.local(self._renamed(s.value.expr)))
            masks.append(self.local(self._renamed(s.mask)))
            tags.append(None if s.value.tag is None else self.local(self._renamed(s.value.tag)))
        state, starts = [s.var for s in plan.slots], self._states()
        count = len(state)
        if any(t is not None for t in tags):
            more, update_, begin = self._kinds_beside()
            state, update, starts = [*state, *more], (*update, *update_), [*starts, *begin]
        stored = [*values, *(m for m in masks if m != TRUE), *(t for t in tags if t is not None)]
        inputs, streams, constants = data.inputs([*update, *stored, *([] if stop_ is None else [stop_])])
        outputs = [np.empty(data.limit, dtype_of(e.type)) for e in stored]
        kernel = self.kernel(Run(inputs, tuple(state), update, stop_, tuple(stored)))
        steps, _ = kernel(streams, constants, starts, 0, data.limit, stored=outputs)
        if steps < 1:
            return None
        rest = iter([o[:steps] for o in outputs[len(values) :]])
        masked = [None if m == TRUE else next(rest) for m in masks]
        tagged = [None if t is None else next(rest) for t in tags]
        for value, s in zip(outputs, plan.reading.stored, strict=False):
            if s.form == "add" and value.dtype.kind == "f" and np.isnan(value[:steps]).any():
                return None  # sets take the same NaN object for equal
        left = [Left(v[:steps], m, t) for v, m, t in zip(outputs, masked, tagged, strict=False)]
        return self._outcome(steps, [s[0] for s in starts[:count]], left)

    def _kinds_beside(self) -> tuple[list[Var], tuple[Expr, ...], list[Array]]:
        """The kinds of the state's numbers as a state of their own: variables, update, start."""
        plan = self.plan
        variables = [Var(I64, f"kind_x{k}") for k in plan.live]
        update = tuple(self.local(self._renamed(plan.reading.tags[k])) for k in plan.live)
        return variables, update, [np.array([K.code(k)], np.int64) for k in self.start_kinds]

    def _renamed(self, expr: Expr) -> Expr:
        """An expression of the reading over the carried numbers."""
        from rfactor.ir.expr import substitute

        places = zip(range(len(self.plan.live)), self.plan.live, strict=True)
        return substitute(expr, {f"x{k}": self.plan.slots[j].var for j, k in places})

    # -- by the operator -----------------------------------------------------------------------------------------------

    def _folded(self, steps: int, hand_over: Expr) -> Outcome | None:
        plan = self.plan
        operator = plan.operator
        if operator is None:
            if self._rests_on_small and self._any(self._small(), steps):
                raise _Large
            if hand_over != FALSE:
                steps = self._first(hand_over, steps)
            return self._serial(steps) if steps else None
        unfit = (self.floats == "serial" and plan.floats) or not self._fits(operator, steps)
        failed = disjunction(disjunction(hand_over, plan.unordered), self._small())
        way = SERIAL if unfit or not self._begins_right(operator) else self._way(steps)
        if way.lanes == 0:
            if self._rests_on_small and self._any(self._small(), steps):
                raise _Large
            if hand_over != FALSE:
                steps = self._first(hand_over, steps)
            return self._serial(steps, way.rare) if steps else None
        lanes, interleaved = way.lanes, way.interleaved
        found = self.summary(0, steps, way, failed)
        if found is None:
            if self._rests_on_small:
                raise _Large
            if hand_over != FALSE:
                steps = self._first(hand_over, steps)
                if steps < 1:
                    return None
            return self._serial(steps)
        state = self.applied(self._states(), found)
        result = [s[0] for s in state]
        if self._doubtful(result, found):
            return self._serial(steps)
        outcome = self._outcome(steps, result, [])
        outcome.how = f"{threads() if steps >= THREADED else 1} threads, {lanes} lanes" + (
            "" if interleaved or lanes == 1 else ", parts side by side"
        )
        return outcome

    def _doubtful(self, result: list[Any], found: list[Array]) -> bool:
        """May floats be others than the serial ones for a reason that is no rounding: NaN, overflow, a zero's sign?"""
        plan = self.plan
        assert plan.operator is not None
        for array in found:
            if array.dtype.kind == "f" and np.isnan(array).any():
                return True
        for value, slot, e in zip(result, plan.slots, plan.update, strict=True):
            if slot.var.type.is_float:
                if not np.isfinite(value) and _computes(e):
                    return True
                if value == 0:
                    return True  # the sign of a zero is that of the order
        return False

    def _begins_right(self, operator: Operator) -> bool:
        """Do the invariants that the proofs rest on hold before the first step?"""
        if not operator.invariants:
            return True
        known = self.data.constants | {s.var.name: v for s, v in zip(self.plan.slots, self.start, strict=True)}
        return all(holds(e, known) for e in operator.invariants)

    def _fits(self, operator: Operator, steps: int) -> bool:
        """Under `math`: does no integer of the factored run leave its type?"""
        if operator.answer.update.meaning.value == "wrap":
            return True
        for level in range(self._level, 3):
            if self._fits_within(operator, steps, self.ranges(level)):
                self._level = max(self._level, level)
                self._rests_on_small |= level == 1
                return True
        return False

    def _fits_within(self, operator: Operator, steps: int, known: dict[str, Range]) -> bool:
        ranges = {n: r for n, r in known.items() if not (n[0] == "x" and n[1:].isdigit())}
        first = [enclosure(e, ranges) for e in operator.first]
        bounds = over_steps(operator.update, first, steps, ranges)
        merged = ranges | {f"x{k}": r for k, r in zip(range(len(bounds)), bounds, strict=True)}
        merged |= {f"y{k}": r for k, r in zip(range(len(bounds)), bounds, strict=True)}
        applied = ranges | {s.var.name: known[s.var.name] for s in self.plan.slots}
        applied |= {f"y{k}": r for k, r in zip(range(len(bounds)), bounds, strict=True)}
        parts = [
            *((e, merged) for e in (*operator.update, *operator.joined)),
            *((e, applied) for e in operator.applied),
        ]
        return all(_unwrapped(e, r) for e, r in parts) and all(_unwrapped(e, known) for e in self.plan.update)

    def _way(self, steps: int) -> Way:
        """The fastest way to run so many steps."""
        plan, operator = self.plan, self.plan.operator
        assert operator is not None
        if self.ways == "serial":
            return SERIAL
        widest = max((t.bits for t in operator.types), default=64)
        usual = Way(2048 // max(widest, 8), True) if operator.commutes else Way(8, False)
        if operator.commutes and len(operator.types) > 4:
            usual = Way(max(8, 1024 // widest), True)
        if operator.rounds and self.floats != "anyway":
            cost = _cost(operator.update) / max(1, _cost(plan.update))
            return usual if cost <= 6 else SERIAL
        if steps < MEASURED:
            return SERIAL
        size = max(15, min(22, steps.bit_length()))
        key = ("way", size, threads())
        if key not in plan.choice:
            plan.choice[key] = self._fastest(steps, usual)
        found: Way = plan.choice[key]
        return found

    def _fastest(self, steps: int, usual: Way) -> Way:
        """Time the serial loop against the operator in lanes, on the first steps."""
        sample = min(steps, 1 << 17 if steps < 1 << 22 else 1 << 20)
        share = 1.0 if steps < THREADED else 1.05 / min(threads(), steps // SLICE)
        branches = changes(self.plan.update, self.plan.slots) is not None
        times: dict[Way, float] = {}

        def spent(way: Way) -> float:
            if way not in times:
                if way.lanes:
                    times[way] = share * _least(lambda: self.summary(0, sample, way, FALSE, alone=True))
                else:
                    times[way] = _least(lambda: self._serial_loop(sample, way.rare))
            return times[way]

        serial, lanes = spent(SERIAL), spent(usual)
        if branches and spent(Way(rare=True)) < 0.9 * serial and usual.lanes <= 16:
            spent(Way(usual.lanes, usual.interleaved, True))
        if lanes > 0.6 * serial:
            spent(Way(1))
            if usual.interleaved:
                spent(Way(8))
        self.plan.choice["times", steps.bit_length()] = {w: t / sample for w, t in times.items()}
        return min(times, key=lambda w: times[w] * (1.0 if w.lanes == 0 else 1.03))

    def _slice(self, steps: int) -> int:
        """Steps that are summarized by themselves: as many for all threads and chunks where floats are rounded."""
        operator = self.plan.operator
        assert operator is not None
        if operator.rounds:
            return SLICE
        return max(SLICE, -(-steps // threads()))

    def summary(self, low: int, high: int, way: Way, failed: Expr, alone: bool = False) -> list[Array] | None:
        """One state a slice of the steps from `low` on; None where `failed` held of any."""
        operator = self.plan.operator
        assert operator is not None
        first, update = (tuple(map(self.local, e)) for e in (operator.first, operator.update))
        joined = tuple(map(self.local, operator.joined))
        bad = None if failed == FALSE else self.local(failed)
        inputs, streams, constants = self.data.inputs([*first, *update, *joined, *([] if bad is None else [bad])])
        changed = changes(update, operator.state) if way.rare else None
        kernel = self.kernel(
            Reduce(
                inputs, operator.state, first, update, operator.right, joined, way.lanes, way.interleaved, bad, changed
            )
        )
        size = self._slice(high - low)
        count = -(-(high - low) // size)
        states = [np.empty(count, dtype_of(t)) for t in operator.types]
        if alone or high - low < THREADED or threads() == 1 or count == 1:
            return None if kernel(streams, constants, states, low, high, size)[1] else states
        parts = min(threads(), count)
        per = -(-count // parts)

        def part(k: int) -> bool:
            begin, end = low + k * per * size, min(high, low + (k + 1) * per * size)
            own = [s[k * per : (k + 1) * per] for s in states]
            return begin < end and kernel(streams, constants, own, begin, end, size)[1]

        others = [_pool(os.getpid()).submit(part, k) for k in range(1, parts)]
        bads = [part(0), *(o.result() for o in others)]
        return None if any(bads) else states

    def applied(self, states: list[Array], summaries: list[Array]) -> list[Array]:
        """The state after summaries, one after the other."""
        operator = self.plan.operator
        assert operator is not None
        count = len(summaries[0]) if summaries else 0
        constants = self.data.constants
        used = {n for e in operator.applied for n in names(e)}
        known = [n for n in constants if n in used]
        types = {v.name: v for e in operator.applied for v in _vars(e)}
        inputs = Inputs(tuple(Stream(y) for y in operator.right), tuple(types[n] for n in known))
        kernel = self.kernel(Run(inputs, tuple(s.var for s in self.plan.slots), operator.applied))
        streams = [(s.ctypes.data, s.itemsize) for s in summaries]
        kernel(streams, [constants[n] for n in known], states, 0, count)
        return states

    # -- kinds ---------------------------------------------------------------------------------------------------------

    def _outcome(self, steps: int, state: list[Any], stored: list[Left]) -> Outcome:
        return Outcome(steps, state, self._kinds(steps, state), stored)

    def _kinds(self, steps: int, state: list[Any]) -> list[str]:
        """What each number of the state is in the plain run after some steps."""
        found = [self._kind_by_value(k, v) for k, v in zip(range(len(state)), state, strict=True)]
        if None in found:
            tagged = self._tagged(steps)
            found = [f or t for f, t in zip(found, tagged, strict=True)]
        return [f for f in found if f is not None]

    def _kind_by_value(self, k: int, value: Any) -> str | None:
        """The kind of a number, where its value tells; None where it does not."""
        slot, new = self.plan.slots[k], self.plan.reading.kinds[self.plan.live[k]]
        for kinds in (slot.kinds, new):
            if len(kinds) == 1:
                return next(iter(kinds))
        possible: set[str] = set()
        if not self._collect(k, value, possible, set()):
            return None
        return possible.pop() if len(possible) == 1 else None

    def _collect(self, k: int, value: Any, possible: set[str], seen: set[int]) -> bool:
        """Gather the kinds that a number of the state may be of where it has a value; False where not all are known."""
        if k in seen:
            return True
        seen.add(k)
        if _same(self.start[k], value):
            possible.add(self.start_kinds[k])
        tag = self._renamed(self.plan.reading.tags[self.plan.live[k]])
        return self._collect_of(self.plan.update[k], tag, value, possible, seen)

    def _collect_of(self, e: Expr, tag: Expr, value: Any, possible: set[str], seen: set[int]) -> bool:
        if isinstance(e, Const) and not _same(e.value, value):
            return True
        if isinstance(e, Op) and e.op == "select":
            tags = (
                tag.args[1:] if isinstance(tag, Op) and tag.op == "select" and tag.args[0] == e.args[0] else (tag, tag)
            )
            return all(self._collect_of(a, t, value, possible, seen) for a, t in zip(e.args[1:], tags, strict=True))
        if isinstance(tag, Const):
            possible.add(K.kind_of_code(int(tag.value)))
            return True
        if isinstance(tag, Var) and isinstance(e, Var) and tag.name.startswith("kind_x"):
            other = self.plan.live.index(int(tag.name[6:]))
            return e == self.plan.slots[other].var and self._collect(other, value, possible, seen)
        return False

    def _tagged(self, steps: int) -> list[str]:
        """The kinds after some steps, by running them with the kinds beside the numbers."""
        plan = self.plan
        update = list(map(self.local, plan.update))
        variables, tags, begin = self._kinds_beside()
        exprs = [*update, *tags]
        inputs, streams, constants = self.data.inputs(exprs)
        states = [*self._states(), *begin]
        kernel = self.kernel(Run(inputs, (*(s.var for s in plan.slots), *variables), tuple(exprs)))
        kernel(streams, constants, states, 0, steps)
        return [K.kind_of_code(int(s[0])) for s in states[len(plan.slots) :]]

    start_kinds: Sequence[str] = ()


def changes(update: Sequence[Expr], state: Sequence[Any]) -> Expr | None:
    """A condition without which a step leaves the whole state as it is; None where there is none that says much."""
    result: Expr = FALSE
    for e, own in zip(update, state, strict=True):
        var = own if isinstance(own, Var) else own.var
        part = _changed(e, var)
        if part == TRUE:
            return None
        result = disjunction(result, part)
    return result


def _changed(e: Expr, var: Var) -> Expr:
    if e == var:
        return FALSE
    if isinstance(e, Op) and e.op == "select":
        condition, true, false = e.args[0], _changed(e.args[1], var), _changed(e.args[2], var)
        if true == TRUE and false == TRUE:
            return TRUE
        return disjunction(
            FALSE if true == FALSE else conjunction(condition, true),
            FALSE if false == FALSE else conjunction(negation(condition), false),
        )
    return TRUE


def _same(a: Any, b: Any) -> bool:
    """Are two numbers equal? The sign of a zero does not count."""
    return bool(a == b) or (a != a and b != b)


def _vars(e: Expr) -> tuple[Var, ...]:
    from rfactor.ir.expr import variables

    return variables(e)


def _computes(e: Expr) -> bool:
    return any(
        isinstance(n, Op) and n.type.is_float and n.op in ("+", "-", "*", "/") and is_stateful(n) for n in walk(e)
    )


def _least(f: Any) -> float:
    f()
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        f()
        best = min(best, time.perf_counter() - start)
    return best


def _cost(exprs: Sequence[Expr]) -> int:
    return len({n for e in exprs for n in walk(e) if isinstance(n, Op)}) + 1


def _parted(condition: Expr) -> tuple[Expr, Expr]:
    """A condition as one on data, or one on the state."""
    if condition == FALSE:
        return FALSE, FALSE
    if isinstance(condition, Op) and condition.op == "or":
        a, b = (_parted(e) for e in condition.args)
        return disjunction(a[0], b[0]), disjunction(a[1], b[1])
    return (FALSE, condition) if is_stateful(condition) else (condition, FALSE)


def _unwrapped(e: Expr, ranges: dict[str, Range]) -> bool:
    """Does no operation on integers leave its type?"""
    memo: dict[Expr, Range] = {}
    for n in walk(e):
        if isinstance(n, Op) and n.type.is_int and n.op in ("+", "-", "*", "neg", "<<", "abs"):
            parts = [enclosure(a, ranges, memo) for a in n.args]
            from rfactor.loops.bounds import _operation

            found = _operation(n.op, parts, n)
            low, high = of_type(n.type)
            if found is None or found[0] < low or found[1] > high:
                return False
        elif isinstance(n, Op) and n.op == "cast" and n.type.is_int and n.args[0].type.is_int:
            a, whole = enclosure(n.args[0], ranges, memo), of_type(n.type)
            if a[0] < whole[0] or a[1] > whole[1]:
                return False
    return True
