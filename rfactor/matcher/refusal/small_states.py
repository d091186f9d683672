"""Refutation by trying every state: few bits of state, so that runs are tables from all states to all states.

For every start two runs are looked for that it cannot tell apart and that are different tables on the states that one
datum leads to: see `refute`. Where there are more such tables than states, every start has such a pair. So it has where
there are more on all states: each needs a right operand of its own. Where each step takes a remainder by a small
literal, all starts are among the remainders once a first datum is put before both runs.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from rfactor.ir.evaluate import Floats, as_array, dtype_of, evaluate_all, to_value
from rfactor.ir.expr import Call, Const, Op, Value, Var, walk
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.prover import defined, sampling
from rfactor.prover.verdict import Proven

_BITS = 16
"""Most bits of state."""
_REMAINDERS = 1 << 12
"""Most remainders."""
_ENTRIES = 1 << 21
"""Most entries of the tables of all runs together."""
_MOST = 256
"""Data that are tried at most."""
_SIZES = (32, 256, 1024, _ENTRIES)
"""Tables that are looked at together: where there are as many as states, or some more, no more are needed."""

_TOGETHER = 1 << 16
"""Most steps that are computed together."""
_SHOWN = 1 << 12
"""States by which it is seen which table leads to the most."""
_STRIDE = 61
"""Of so many states one is looked at before all are."""


def _is_exact(call: Call) -> bool:
    """Whether a call has one value: it counts bits, where functions of reals are rounded."""
    return call.kind == "intrinsic" and INTRINSICS[call.name].takes == "integer"


def refute(update: Update, held: Mapping[str, Value], same_length: bool) -> Refutation | None:
    """A proof that no start tells apart what others do, by trying all; None if there is none or too many states.

    The loop's constants have the values `held`. With `same_length` only runs of as many data are compared.
    """
    bits = sum(t.bits for t in update.types)
    nodes = {node for component in update.components for node in walk(component)}
    floats = any(node.type.is_float for node in nodes)
    left = 0 if floats or defined.conditions(update.components, everywhere=True) else _remainders(update)
    size = left or 1 << min(bits, _BITS + 1)
    if any(isinstance(node, Call) and not _is_exact(node) for node in nodes):
        return None
    wraps = update.meaning is Meaning.WRAP or all(t.is_bool for t in update.types)
    if (
        (bits > (8 if floats else _BITS) and not left)
        or not wraps
        or not update.data
        or any(t.is_float for t in update.types)
    ):
        return None
    start = time.perf_counter()
    columns = [np.arange(left).astype(dtype_of(update.types[0]))] if left else states(update.types)
    data = _data(update, min(_MOST, _ENTRIES // size))
    tables = _tables(update, data, held, floats, columns)
    found = [(datum, t) for datum, t in zip(data, tables, strict=True) if t is not None]
    data, single = [datum for datum, _ in found], [table for _, table in found]
    if len(data) < 2:
        return None
    reached = _most_reached(single, twice=left > 0)
    there = single if len(reached) == len(single[0]) else [table[reached] for table in single]
    for runs in _lengths(len(data), same_length, _ENTRIES // size):
        different: dict[bytes, tuple[tuple[int, ...], sampling.Array]] = {}
        for some in _SIZES:
            for run in runs:
                key = (there[run[0]] if len(run) == 1 else single[run[1]][there[run[0]]]).tobytes()
                if key not in different:
                    different[key] = run, single[run[0]] if len(run) == 1 else single[run[1]][single[run[0]]]
                if len(different) == some:
                    break
            if len(different) < 2:
                break
            ends = np.stack([table for _, table in different.values()])
            if len(ends) > len(single[0]) or (_all_repeat(ends[:, ::_STRIDE]) and _all_repeat(ends)):
                told_runs = [[data[i] for i in run] for run, _ in different.values()]
                return _shown(update, told_runs, ends, reached, held, start, columns)
            if len(different) < some:
                break
    counted = [] if left or bits > 8 or same_length else _more_than_states(data, single)
    if not counted:
        return None
    ends = np.stack([table for _, table in counted])
    every = np.arange(ends.shape[1])
    return _shown(update, [run for run, _ in counted], ends, every, held, start, columns)


def _more_than_states(
    data: Sequence[Mapping[str, Value]], single: Sequence[sampling.Array]
) -> list[tuple[list[Mapping[str, Value]], sampling.Array]]:
    """Runs with tables that differ from each other, one more than there are states; none if fewer are found."""
    size = len(single[0])
    different: dict[bytes, tuple[list[Mapping[str, Value]], sampling.Array]] = {}
    longest: list[tuple[list[Mapping[str, Value]], sampling.Array]] = [([], np.arange(size))]
    tried = 0
    while longest:
        longer = []
        for (run, table), (datum, last) in itertools.product(longest, zip(data, single, strict=True)):
            ends = last[table]
            tried += 1
            if different.setdefault(ends.tobytes(), ([*run, datum], ends))[1] is ends:
                longer.append(([*run, datum], ends))
                if len(different) > size:
                    return list(different.values())
            if tried > _ENTRIES // size:
                return []
        longest = longer
    return []


def _remainders(update: Update) -> int:
    """How many remainders one integer may be after a step, each of which takes one by a literal; 0 if many."""
    (type_, *more), step = update.types, update.components[0]
    if more or not type_.is_int or not isinstance(step, Op) or step.op not in ("%", "&"):
        return 0
    literal = step.args[1]
    if not isinstance(literal, Const):
        return 0
    count = int(literal.value) + (step.op == "&")
    return count if 1 < count <= _REMAINDERS and (step.op == "%" or count & (count - 1) == 0) else 0


def _most_reached(tables: Sequence[sampling.Array], twice: bool = False) -> sampling.Array:
    """The states that a table leads to, or leads to `twice`, of those that lead to the most, as far as some of the
    states show."""
    every = max(1, len(tables[0]) // _SHOWN)
    most, size = tables[0], 0
    for table in tables:
        ends = table[table] if twice else table
        found = len(_values_of(ends, every))
        if found > size:
            most, size = ends, found
        if found == len(ends[::every]):
            break
    return _values_of(most)


def _values_of(table: sampling.Array, every: int = 1) -> sampling.Array:
    """The states that a table leads to, from one state of so many."""
    found = np.zeros(len(table), dtype=bool)
    found[table[::every]] = True
    return np.flatnonzero(found)


def _all_repeat(tables: sampling.Array) -> bool:
    """Whether from every state two runs lead to the same."""
    if tables.dtype == np.uint8:
        count = tables.shape[1]
        ends = tables + (np.arange(count) << 8)
        return bool(np.all(np.bincount(ends.ravel(), minlength=count << 8).reshape(count, 256).max(axis=1) > 1))
    for run in range(1, len(tables)):
        repeated = (tables[:run] == tables[run]).any(axis=0)
        if repeated.all():
            return True
        if repeated.any():
            tables = tables[:, ~repeated]
    return False


def _lengths(count: int, same_length: bool, most: int) -> Iterator[Iterator[tuple[int, ...]]]:
    """Sets of runs to compare, by the numbers of their data."""
    ones: list[tuple[int, ...]] = [(i,) for i in range(count)]
    yield iter(ones)
    twos = itertools.islice(_spread(count), max(0, most - count))
    yield twos if same_length else itertools.chain(ones, twos)


def _spread(count: int) -> Iterator[tuple[int, ...]]:
    """Pairs, those of small numbers first."""
    for total in range(2 * count - 1):
        yield from ((i, total - i) for i in range(max(0, total - count + 1), min(total, count - 1) + 1))


def _data(update: Update, most: int) -> list[dict[str, Value]]:
    """Values of the data of one step: all, if they are few, else a spread."""
    choices = [_values(var, update) for var in update.data]
    sizes = [len(c) for c in choices]
    while np.prod(sizes) > most and max(sizes) > 2:
        sizes[int(np.argmax(sizes))] -= 1
    cut = [c[:size] for c, size in zip(choices, sizes, strict=True)]
    names = [var.name for var in update.data]
    return [dict(zip(names, values, strict=True)) for values in itertools.islice(itertools.product(*cut), most)]


def _values(var: Var, update: Update) -> list[Value]:
    """What a datum may be, likeliest first."""
    type_ = var.type
    if type_.is_bool:
        return [False, True]
    if type_.is_float:
        return [0.0, 1.0, 2.0, -1.0, 0.5, 3.0, 10.0, 100.0, -2.0, 1000.0]
    low, high = int(type_.min), int(type_.max)
    near = [int(v) + step for v in sampling.literals(update.components).get(type_, ()) for step in (0, -1, 1)]
    powers = [1 << p for p in range(2, type_.bits)]
    first = [0, 1, 2, 3, low, high, *near, high - 1, low + 1, 5, 7, *powers]
    every = range(low, high + 1) if type_.bits <= 8 else ()
    return [v for v in dict.fromkeys([*first, *every]) if low <= v <= high]


def _tables(
    update: Update,
    data: Sequence[Mapping[str, Value]],
    held: Mapping[str, Value],
    floats: bool,
    columns_of: Sequence[sampling.Array] | None = None,
) -> list[sampling.Array | None]:
    """For each datum the number of the state that each state leads to; None where one divides by zero."""
    columns_of = columns_of or states(update.types)
    size = len(columns_of[0])
    columns = dict(zip((x.name for x in update.accumulators), columns_of, strict=True))
    types = {v.name: v.type for v in sampling.used(update.components)}
    kind: Floats = "real" if floats else "ieee"
    constants = {name: as_array(types[name], [value], update.meaning, kind) for name, value in held.items()}
    quotients = defined.conditions(update.components, everywhere=True)
    # Objects are computed with one by one: then what depends on data alone is computed once.
    objects = floats or update.meaning is Meaning.MATH
    count = 1 if objects else max(1, _TOGETHER // size)
    result: list[sampling.Array | None] = []
    for start in range(0, len(data), count):
        some = data[start : start + count]
        shape = (len(some), size)
        env = constants | {name: np.tile(column, len(some)) for name, column in columns.items()}
        for name in some[0]:
            values = as_array(types[name], [datum[name] for datum in some], update.meaning, kind)
            env[name] = values if len(some) == 1 else np.repeat(values, shape[1])
        found = evaluate_all((*quotients, *update.components), env, update.meaning, kind)
        values_of = [np.broadcast_to(value, (shape[0] * shape[1],)).reshape(shape) for value in found]
        fine = np.ones(len(some), dtype=bool)
        for nonzero in values_of[: len(quotients)]:
            fine &= nonzero.astype(bool).all(axis=1)
        tables = _numbers(values_of[len(quotients) :], update.types)
        result += [table if defined_ else None for table, defined_ in zip(tables, fine.tolist(), strict=True)]
    return result


def _numbers(state: Sequence[sampling.Array], types: Sequence[Type]) -> sampling.Array:
    """The numbers of states, given their components; a wider one is its own number."""
    if sum(t.bits for t in types) > _BITS:
        return state[0].astype(np.uint16)
    dtype = np.uint8 if sum(t.bits for t in types) <= 8 else np.uint16
    number: sampling.Array | None = None
    for part, type_ in zip(reversed(state), reversed(types), strict=True):
        own = part.astype(dtype_of(type_), copy=False).view(f"u{max(1, type_.bits // 8)}").astype(dtype, copy=False)
        number = own if number is None else np.bitwise_or(np.left_shift(number, type_.bits), own)
    assert number is not None
    return number


def states(types: Sequence[Type]) -> list[sampling.Array]:
    """Every state, a column a component: state number n has component i in its bits, the first lowest."""
    number = np.arange(1 << sum(t.bits for t in types), dtype=np.int64)
    columns = []
    for type_ in types:
        columns.append((number & ((1 << type_.bits) - 1)).astype(dtype_of(type_)))
        number = number >> type_.bits
    return columns


def _shown(
    update: Update,
    runs: Sequence[Sequence[Mapping[str, Value]]],
    tables: sampling.Array,
    reached: sampling.Array,
    held: Mapping[str, Value],
    start: float,
    columns: Sequence[sampling.Array],
) -> Refutation | None:
    """The first start with two runs that it does not tell apart, and another, of those reached, that does."""

    def state(number: int) -> list[Value]:
        return [to_value(column[number]) for column in columns]

    proof = Proven("exhaustive", (time.perf_counter() - start) * 1000)
    for e in range(tables.shape[1]):
        seen: dict[int, int] = {}
        for at, end in enumerate(tables[:, e].tolist()):
            other = seen.setdefault(end, at)
            if other != at:
                x = int(reached[np.argmax(tables[other][reached] != tables[at][reached])])
                found = told(update, state(e), state(x), (runs[other], runs[at]), held, proof)
                if found is not None:
                    return found
    return None
