"""Operators that insert what the right operand holds, datum by datum: the k smallest, with or without payload.

`op(x, y) = f(… f(f(x; y's first), y's second) …)`, where the components hold data in slots. Order among the slots that
every run keeps is claimed as an invariant.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Var, apply, const, substitute
from rfactor.ir.update import Update, apply_update
from rfactor.matcher.operators.substitution import Samples, agrees
from rfactor.matcher.terms import State, run_from
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import INFINITY, MINUS_INFINITY, Undefined, is_infinite
from rfactor.prover.operator import Operator

_MOST = 12


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update whose components are slots for its data."""
    data = update.data
    count = len(update.types)
    if not data or count % len(data) or not 1 < count <= _MOST or count == len(data):
        return
    samples = Samples(update)
    step = samples.values(update.components)
    y = tuple(Var(type_, f"y{i}") for i, type_ in zip(range(count), update.types, strict=True))
    for e in _starts(update):
        try:
            first = run_from(update, e)
        except Undefined:
            continue
        if any(map(is_infinite, first)) and update.meaning.value == "math" and not update.types[0].is_float:
            continue
        for slots in _layouts(update):
            operator: State = update.accumulators
            for slot in slots:
                operator = _inserted(update, operator, {v.name: y[i] for v, i in zip(data, slot, strict=True)})
            op = Operator(operator, update.types, update.meaning)
            if agrees(samples.values(op(samples.x, first)), step):
                yield Claim(update, operator, e, first, invariant=_order(update, e))


def _inserted(update: Update, state: State, datum: Mapping[str, Expr]) -> State:
    values = {f"x{i}": part for i, part in zip(range(len(state)), state, strict=True)} | dict(datum)
    return tuple(substitute(component, values) for component in update.components)


def _starts(update: Update) -> Iterator[State]:
    """The ends of the types, all alike; 0 in components that another type or no comparison makes a payload."""
    for high in (True, False):
        full: list[Expr] = []
        mixed: list[Expr] = []
        for type_ in update.types:
            if type_.is_int and update.meaning.value == "math":
                end: Expr = INFINITY if high else MINUS_INFINITY
            else:
                end = const(type_, type_.max if high else type_.min)
            full.append(end)
            mixed.append(end if type_ == update.types[0] else const(type_, 0))
        yield tuple(full)
        if mixed != full:
            yield tuple(mixed)
        half = len(full) // 2
        yield (*full[:half], *(const(t, False if t.is_bool else 0) for t in update.types[half:]))


def _layouts(update: Update) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Which components make a slot: side by side, or one block a datum; in either order of slots."""
    width = len(update.data)
    count = len(update.types)
    slots = count // width
    side = tuple(tuple(range(s * width, (s + 1) * width)) for s in range(slots))
    blocks = tuple(tuple(q * slots + s for q in range(width)) for s in range(slots))
    for layout in dict.fromkeys((side, blocks)):
        for order in itertools.permutations(range(width)):
            arranged = tuple(tuple(slot[q] for q in order) for slot in layout)
            fits = all(update.types[i] == v.type for slot in arranged for v, i in zip(update.data, slot, strict=True))
            if fits:
                yield arranged
                yield arranged[::-1]


def _order(update: Update, e: State) -> tuple[Expr, ...]:
    """Comparisons of components that hold after every sampled run from `e`."""
    if any(is_infinite(part) and part.type != type_ for part, type_ in zip(e, update.types, strict=True)):
        return ()
    state: tuple[Expr, ...] = e
    runs = []
    for at in range(4):
        state = apply_update(update, state, f"of step {at}")
        runs.append(state)
    env = sampling.points(sampling.used([c for run in runs for c in run]), update.meaning, 64, {})
    values = [[np.broadcast_to(evaluate(c, env, update.meaning), (64,)) for c in run] for run in runs[::3]]
    found = []
    for i, j in itertools.permutations(range(len(update.types)), 2):
        alike = update.types[i] == update.types[j] and not update.types[i].is_bool
        if alike and all(bool(np.all(run[i] <= run[j])) for run in values):
            found.append((i, j))
    kept = [(i, j) for i, j in found if not any((i, m) in found and (m, j) in found for m in range(len(update.types)))]
    y = [Var(type_, f"y{i}") for i, type_ in zip(range(len(update.types)), update.types, strict=True)]
    return tuple(apply("<=", y[i], y[j]) for i, j in kept)
