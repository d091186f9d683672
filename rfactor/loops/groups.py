"""Numbers kept by key: elements of arrays, lists, dicts and sets, one state a group."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Const, Expr, Var, apply, const, names, select, substitute
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops.arrays import Data, column, in_steps
from rfactor.loops.bounds import Range, enclosure, of_type, over_steps
from rfactor.loops.kinds import FALSE, TRUE
from rfactor.loops.plan import Plan
from rfactor.loops.run import THREADED, _plain, _pool, threads
from rfactor.loops.symbols import disjunction, negation
from rfactor.native.evaluator import compile_evaluator
from rfactor.native.fold import STEP, Scatter, Stream, compile_fold

if TYPE_CHECKING:
    from rfactor.loops.fold import Beginning, Frame

Array = NDArray[Any]


@dataclass
class Groups:
    """The keys of a call."""

    count: int
    index: Expr
    """The number of the group of a step."""
    keys: list[Any] | None
    """By number, as the plain run has them; None for elements of arrays and lists."""


@dataclass
class Found:
    """The state of every group after some steps."""

    steps: int
    runner: GroupRunner
    groups: Groups
    states: list[Array]
    born: dict[str, Array]
    """By name of a dict or set: the step in which each key came."""
    tags: list[Array | None]

    def put(self) -> None:
        """Write the state where the loop would have."""
        for name in dict.fromkeys(s.name for s in self.runner.plan.slots):
            self._put(name)

    def _put(self, name: str) -> None:
        base = self.runner.at.env[name]
        own = {
            s.part: (k, s)
            for k, s in zip(range(len(self.states)), self.runner.plan.slots, strict=True)
            if s.name == name
        }
        if isinstance(base, np.ndarray):
            base[...] = self.states[own["at value"][0]].reshape(base.shape)
            return
        if isinstance(base, list):
            base[:] = self._values(*own["at value"])
            return
        assert self.groups.keys is not None
        has = self.states[own["at has"][0]].astype(bool)
        order = np.flatnonzero(has)
        if name in self.born:
            order = order[np.argsort(self.born[name][order], kind="stable")]
        keys = self.groups.keys
        if isinstance(base, set):
            base.update(keys[g] for g in order.tolist())
            return
        values = self._values(*own["at value"]) if "at value" in own else []
        for g in order.tolist():
            base[keys[g]] = values[g]

    def _values(self, k: int, slot: Any) -> list[Any]:
        tags = self.tags[k]
        if tags is not None:
            return [K.python_value(K.kind_of_code(int(t)), v) for t, v in zip(tags, self.states[k], strict=True)]
        kind = next(iter(self.runner.final_kinds(k)))
        if kind in ("int", "float", "bool"):
            return self.states[k].tolist()  # type: ignore[no-any-return]
        return [K.python_value(kind, v) for v in self.states[k]]


class GroupRunner:
    """One call of the plan of a group."""

    def __init__(self, plan: Plan, data: Data, at: Beginning, frame: Frame) -> None:
        self.plan, self.data, self.at, self.frame = plan, data, at, frame
        self.depth = len(data.dims)

    def local(self, expr: Expr) -> Expr:
        return in_steps(expr, self.depth)

    def final_kinds(self, k: int) -> K.Kinds:
        """The kinds of a number that was written."""
        slot = self.plan.slots[k]
        return slot.kinds if len(slot.kinds) == 1 else self.plan.reading.kinds[self.plan.live[k]]

    def run(self) -> Found | None:
        """The state of every group after as many steps as the data allow."""
        plan, data = self.plan, self.data
        groups = self.groups()
        if groups is None or data.limit < 1:
            return None
        states = self.starts(groups)
        if states is None:
            return None
        stop = plan.leaves
        open_ = [e for e, _ in plan.required]
        for of_data in (False, True):
            if open_:
                ranges, memo = self.ranges(states, of_data), dict[Expr, Range]()
                open_ = [e for e in open_ if enclosure(e, ranges, memo) != (1, 1)]
        for e in open_:
            stop = disjunction(stop, negation(e))
        keyed = groups.keys is not None
        tagged = [len(s.kinds) > 1 and not isinstance(self.at.env[s.name], np.ndarray) for s in plan.slots]
        if not keyed and stop == FALSE and not any(tagged) and self._worth_threads(groups):
            return self._parallel(groups, states)
        return self._serial(groups, states, stop, keyed, tagged)

    def ranges(self, states: Sequence[Array], of_data: bool) -> dict[str, Range]:
        """Bounds of what is read, by types or by the data themselves, and of the states over all steps."""
        found: dict[str, Range] = {}
        for name, value in self.data.constants.items():
            v = _plain(value)
            found[name] = (v, v) if v == v else (-float("inf"), float("inf"))
        for k, n in zip(range(self.depth), self.data.dims, strict=True):
            found["t" if self.depth == 1 else f"t{k}"] = (0, n - 1)
        used = {n for e in self.plan.update for n in names(e)} | {n for e, _ in self.plan.required for n in names(e)}
        for name, (stream, _, _) in self.data.streams.items():
            found[name] = of_type(stream.var.type)
            array = self.data.arrays.get(name)
            if of_data and name in used and array is not None and array.dtype.kind in "iuf" and len(array):
                low, high = array.min(), array.max()
                if low == low and high == high:
                    found[name] = (low.item(), high.item())
        start = []
        for array in states:
            if array.dtype.kind in "iu" and len(array):
                start.append((array.min().item(), array.max().item()))
            else:
                start.append((0, 1) if array.dtype.kind == "b" else (-float("inf"), float("inf")))
        bounds = over_steps(self.plan.update, start, self.data.limit, found)
        for slot, r in zip(self.plan.slots, bounds, strict=True):
            found[slot.var.name] = r
        return found

    # -- groups --------------------------------------------------------------------------------------------------------

    def groups(self) -> Groups | None:
        """The groups of the steps; None where the keys cannot be told apart ahead."""
        key, data = self.plan.key, self.data
        assert key is not None
        base = self.at.env[self.plan.slots[0].name]
        if isinstance(base, np.ndarray | list):
            assert key.expr is not None
            size = base.size if isinstance(base, np.ndarray) else len(base)
            return Groups(size, self.local(self._within(key.expr, size)), None) if size else None
        if key.expr is not None:
            codes, keys = _coded(column(data, key.expr), key.kind)
        else:
            assert key.node is not None
            values = self.frame.column(self.at, key.node, key.guard, tuple(self.plan.reading.prelude))
            data.limit = min(data.limit, len(values))
            codes, keys = _coded_objects(values)
        if keys is None or data.limit < 1:
            return None
        name = "code"
        array = np.ascontiguousarray(codes, np.int64)
        data.held.append(array)
        data.arrays[name] = array
        data.streams[name] = Stream(Var(I64, name), True), array.ctypes.data, array.itemsize
        return Groups(len(keys), Var(I64, name), keys)

    def _within(self, index: Expr, size: int) -> Expr:
        """The index kept inside of the array, for steps that use another one, or none: those change nothing there."""
        ranges = {name: of_type(stream.var.type) for name, (stream, _, _) in self.data.streams.items()}
        low, high = enclosure(index, ranges)
        if low >= 0 and high < size:
            return index
        return apply("min", apply("max", index, const(I64, 0)), const(I64, size - 1))

    def starts(self, groups: Groups) -> list[Array] | None:
        """The state of every group before the first step."""
        found: list[Array] = []
        for slot in self.plan.slots:
            base, dtype = self.at.env[slot.name], dtype_of(slot.var.type)
            if groups.keys is None:
                typed = self.at.typed(base)
                if typed is None:
                    return None
                array = np.array(typed.array, dtype).reshape(-1)
            elif slot.part == "at has":
                array = np.fromiter((k in base for k in groups.keys), dtype, groups.count)
            else:
                array = np.fromiter((K.held_value(dict.get(base, k, 0)) for k in groups.keys), dtype, groups.count)
            found.append(array)
        return found

    def _start_tags(self, groups: Groups, slot: Any) -> Array:
        base = self.at.env[slot.name]
        if groups.keys is None:
            values = base if isinstance(base, list) else [base.flat[0]] * groups.count
        else:
            values = [dict.get(base, k, 0) for k in groups.keys]
        return np.array([K.code(K.kind_of(v)) for v in values], np.int64)

    # -- running -------------------------------------------------------------------------------------------------------

    def _serial(self, groups: Groups, states: list[Array], stop: Expr, keyed: bool, tagged: list[bool]) -> Found | None:
        plan, data = self.plan, self.data
        state, update, arrays = [s.var for s in plan.slots], list(map(self.local, plan.update)), list(states)
        tags: list[Array | None] = [None] * len(states)
        rename = {f"kind_x{k}": Var(I64, f"kind_x{k}") for k in plan.live}
        for k, slot in zip(range(len(plan.slots)), plan.slots, strict=True):
            if tagged[k]:
                tag = self.local(self._renamed(plan.reading.tags[plan.live[k]]))
                state.append(rename[f"kind_x{plan.live[k]}"])
                update.append(tag)
                tags[k] = self._start_tags(groups, slot)
                arrays.append(tags[k])  # type: ignore[arg-type]
        born: dict[str, Array] = {}
        for k, slot in zip(range(len(plan.slots)), plan.slots, strict=True):
            if keyed and slot.part == "at has":
                var = Var(I64, f"born{k}")
                new = apply("and", update[k], apply("not", state[k]))
                state.append(var)
                update.append(select(new, STEP, var))
                born[slot.name] = np.full(groups.count, -1, np.int64)
                arrays.append(born[slot.name])
        stop_ = None if stop == FALSE else self.local(stop)
        inputs, streams, constants = data.inputs([*update, groups.index, *([] if stop_ is None else [stop_])])
        kernel = compile_fold(Scatter(inputs, groups.index, tuple(state), tuple(update), None, stop_))
        steps, _ = kernel(streams, constants, arrays, 0, data.limit)
        return Found(steps, self, groups, states, born, tags)

    def _renamed(self, expr: Expr) -> Expr:
        places = zip(range(len(self.plan.live)), self.plan.live, strict=True)
        return substitute(expr, {f"x{k}": self.plan.slots[j].var for j, k in places})

    def _worth_threads(self, groups: Groups) -> bool:
        operator, data = self.plan.operator, self.data
        return (
            operator is not None
            and threads() > 1 and data.limit >= THREADED and groups.count * 8 * threads() <= data.limit
            and not operator.rounds and not operator.assumed and not operator.invariants
            and self.plan.unordered == FALSE
            and operator.answer.verdict == "associative" and operator.answer.update.meaning.value == "wrap"
            and not self.plan.compares_floats and self.plan.key is not None and self.plan.key.path == TRUE
        )  # fmt: skip

    def _parallel(self, groups: Groups, states: list[Array]) -> Found:
        """Each thread has states of its own, which are joined in order."""
        plan, data, operator = self.plan, self.data, self.plan.operator
        assert operator is not None
        update, first = (tuple(map(self.local, e)) for e in (operator.update, operator.first))
        answer = operator.answer
        identity = [e.value for e in answer.identity or () if isinstance(e, Const)]
        neutral = answer.identity_kind == "two-sided" and len(identity) == len(operator.types)
        inputs, streams, constants = data.inputs([*update, *(() if neutral else first), groups.index])
        kernel = compile_fold(Scatter(inputs, groups.index, operator.state, update, None if neutral else first))
        parts = threads()
        per = -(-data.limit // parts)

        def part(k: int) -> list[Array]:
            if neutral:
                own = [np.full(groups.count, v, dtype_of(t)) for v, t in zip(identity, operator.types, strict=True)]
                kernel(streams, constants, own, k * per, min(data.limit, (k + 1) * per))
                return [*own, np.ones(groups.count, np.uint8)]
            own = [np.zeros(groups.count, dtype_of(t)) for t in operator.types]
            seen = np.zeros(groups.count, np.uint8)
            kernel(streams, constants, [*own, seen], k * per, min(data.limit, (k + 1) * per))
            return [*own, seen]

        others = [_pool(os.getpid()).submit(part, k) for k in range(1, parts)]
        results = [part(0), *(o.result() for o in others)]
        evaluator = compile_evaluator(operator.applied, None)
        for *own, seen in results:
            known = {s.var.name: x for s, x in zip(plan.slots, states, strict=True)}
            known |= {y.name: a for y, a in zip(operator.right, own, strict=True)}
            for var in evaluator.variables:
                if var.name not in known:
                    known[var.name] = np.full(groups.count, data.constants[var.name], dtype_of(var.type))
            new = evaluator(known)
            states = [np.where(seen.astype(bool), n, x) for n, x in zip(new, states, strict=True)]
        return Found(data.limit, self, groups, states, {}, [None] * len(states))


def _coded(values: Array, kind: str) -> tuple[Array, list[Any] | None]:
    """Numbers of keys, and the keys by number."""
    if values.dtype.kind == "f" and np.isnan(values).any():
        return values, None
    if values.dtype.kind in "iub":
        whole = values.astype(np.int64, copy=False)
        if values.dtype != np.uint64 or not (values > np.uint64(1 << 62)).any():
            low, high = int(whole.min()), int(whole.max())
            if high - low < 4 * len(values) + 1024:
                return whole - low, [K.python_value(kind, low + k) for k in range(high - low + 1)]
    _, places, codes = np.unique(values, return_index=True, return_inverse=True)
    return codes.reshape(-1), [K.python_value(kind, values[p]) for p in places]


def _coded_objects(values: list[Any]) -> tuple[Array, list[Any] | None]:
    """The same for any keys; those that are not wanted count with the first."""
    from rfactor.loops.fold import _NOT_WANTED

    numbers: dict[Hashable, int] = {}
    try:
        codes = [0 if v is _NOT_WANTED else numbers.setdefault(v, len(numbers)) for v in values]
    except TypeError:
        return np.zeros(0, np.int64), None
    if any(v != v for v in numbers):
        return np.zeros(0, np.int64), None
    return np.array(codes, np.int64), list(numbers) or [None]
