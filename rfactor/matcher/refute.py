"""Proofs that no operator on this state exists: for every `e`, two runs that `e` cannot tell apart and some x can.

If `op`, `g` and `e` existed, equal results from `e` would mean equal right operands, hence equal results from every x.
The runs are written as expressions in `e` (for |x - a|: data e + 1 and e - 1), found on samples and proved for
every value. A short list of such pairs covers all `e`; what is proved is that at every `e` one of the list applies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rfactor.ir.evaluate import evaluate, to_value
from rfactor.ir.expr import Const, Expr, Op, Value, Var, apply, cast, conjunction, const, substitute, variables, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.separation import numbered
from rfactor.matcher.terms import State, tidy
from rfactor.prover import sampling
from rfactor.prover.equality import holds
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Refuted

_ROWS = 24
"""Sampled values of e; the prover's counterexamples are added to them."""
_RUNS = ((150, 0), (60, 150))
"""Most runs of one and of two data looked at together: at first, and where that does not suffice."""
_PAIRS = 6
"""Most pairs of runs that a proof may need."""
_ROUNDS = 6


@dataclass(frozen=True, slots=True)
class Refutation:
    """No operator exists; and one instance of why."""

    instance: Mapping[str, Value]
    sentence: str
    proof: Proven


def start_names(update: Update) -> tuple[str, ...]:
    """What an instance calls the start: `e0`, `e1`, …, or `start0`, … where a datum or a constant is called `e0`."""
    taken = {var.name for component in update.components for var in variables(component)}
    names = tuple(f"e{i}" for i in range(len(update.types)))
    return names if taken.isdisjoint(names) else tuple(f"start{i}" for i in range(len(update.types)))


_Run = tuple[Mapping[str, Expr], ...]
"""The data of one or two steps as expressions in e."""


def refute(update: Update, limits: Limits, same_length: bool = False) -> Refutation | None:
    """A proof that no operator on the state of `update` exists, or None if none was found.

    With `same_length` the two runs of a pair have as many data: then other components beside, which read none of these
    data and none of these accumulators, end alike too, and the refutation holds for the update with them.
    """
    for one, two in _RUNS:
        if limits.expired:
            return None
        found = _Search(update, one, two, same_length).search(limits)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Table:
    """Pairs of runs, and where they show something."""

    first: sampling.Array
    second: sampling.Array
    good: sampling.Array
    """(pairs, rows): the two end alike from e and not from a probe."""
    which: sampling.Array
    """(pairs, rows): the first such probe."""


class _Search:
    """Runs as expressions in e, and what they lead to at sampled e."""

    def __init__(self, update: Update, one: int, two: int, same_length: bool) -> None:
        self.update = update
        self.e = tuple(Var(t, f"e {i}") for i, t in zip(range(len(update.types)), update.types, strict=True))
        self.constants = tuple(v for v in sampling.used(update.components) if v.name in update.constants)
        self.runs = [*_runs(update, self.e, 1, one), *(_runs(update, self.e, 2, two) if two else [])]
        self.probes = _probes(update, self.e)
        lengths = np.array([len(run) for run in self.runs])
        self.allowed = lengths[:, None] == lengths[None, :] if same_length else np.ones((len(lengths),) * 2, dtype=bool)
        near = sampling.literals(update.components)
        self.env = sampling.points([*self.e, *self.constants], update.meaning, _ROWS, near)
        self.values: dict[Expr, sampling.Array] = {}
        self.inputs = [self._inputs(steps) for steps in (1, 2)]

    def search(self, limits: Limits) -> Refutation | None:
        """Find pairs that cover the samples, try to prove that they cover all, learn from where they do not."""
        if len(self.runs) < 2:
            return None
        for _ in range(_ROUNDS):
            table = self.table()
            chosen = None if table is None else _cover(table.good)
            if table is None or chosen is None:
                return None
            claim: Expr | None = None
            for pair in chosen:
                i, j = int(table.first[pair]), int(table.second[pair])
                for number in sorted({int(n) for n in table.which[pair][table.good[pair]]}):
                    applies = self.applies(self.runs[i], self.runs[j], self.probes[number])
                    claim = applies if claim is None else apply("or", claim, applies)
            assert claim is not None
            verdict = holds(claim, meaning=self.update.meaning, limits=limits.at_most(rlimit=3_000_000, seconds=1.0))
            if isinstance(verdict, Proven):
                if not _infinite_starts(self.update):
                    return None
                pair = chosen[0]
                row = int(np.argmax(table.good[pair]))
                runs = (self.runs[int(table.first[pair])], self.runs[int(table.second[pair])])
                return self.instance(runs, self.probes[int(table.which[pair, row])], row, verdict)
            if not isinstance(verdict, Refuted) or limits.expired:
                return None
            self.learn(verdict)
        return None

    def learn(self, verdict: Refuted) -> None:
        """Add the place where the pairs did not apply to the samples."""
        for var in (*self.e, *self.constants):
            value = verdict.counterexample.get(var.name, 0)
            old = self.env[var.name]
            more = np.empty(1, dtype=old.dtype)
            more[0] = value
            self.env[var.name] = np.concatenate([old, more])
        self.values.clear()
        self.inputs = [self._inputs(steps) for steps in (1, 2)]

    def table(self) -> _Table | None:
        """Pairs of runs that end alike from e and not from some probe; None if a row has no such pair."""
        ends = self.ends(self.e)
        first, second = np.nonzero(np.triu(np.any(ends[:, None] == ends[None, :], axis=2) & self.allowed, 1))
        same = ends[first] == ends[second]
        if not same.any(axis=0).all():
            return None
        apart = np.zeros_like(same)
        which = np.zeros(same.shape, dtype=np.int16)
        for number, probe in enumerate(self.probes):
            ends = self.ends(probe)
            different = ends[first] != ends[second]
            which[different & ~apart] = number
            apart |= different
            if not (same & ~apart).any():
                break
        return _Table(first, second, same & apart, which)

    def value(self, term: Expr) -> sampling.Array:
        """The values of an expression in e at the sampled e."""
        known = self.values.get(term)
        if known is None:
            rows = len(next(iter(self.env.values())))
            known = np.broadcast_to(evaluate(term, self.env, self.update.meaning), (rows,))
            self.values[term] = known
        return known

    def _inputs(self, steps: int) -> list[dict[str, sampling.Array]]:
        """What all runs of that many steps read, for each step: data and constants, (runs * rows,)."""
        runs = [run for run in self.runs if len(run) == steps]
        if not runs:
            return []
        repeated = {v.name: np.tile(self.env[v.name], len(runs)) for v in self.constants}
        return [
            repeated | {name: np.concatenate([self.value(run[step][name]) for run in runs]) for name in runs[0][step]}
            for step in range(steps)
        ]

    def ends(self, start: State) -> sampling.Array:
        """(runs, rows): numbers of the final states, equal where the states are."""
        rows = len(next(iter(self.env.values())))
        batches: list[sampling.Array] = []
        for steps, inputs in zip((1, 2), self.inputs, strict=True):
            count = sum(len(run) == steps for run in self.runs)
            if not count:
                continue
            state = [np.tile(self.value(part), count) for part in start]
            for given in inputs:
                env = given | {f"x{i}": part for i, part in enumerate(state)}
                state = [
                    np.broadcast_to(evaluate(c, env, self.update.meaning), (rows * count,))
                    for c in self.update.components
                ]
            batches.append(numbered(_without_rounding(part) for part in state).reshape(count, rows))
        return np.concatenate(batches)

    def final(self, run: _Run, start: State) -> State:
        """Where a run leads, as expressions in e."""
        for datum in run:
            start = _step(self.update, start, datum)
        return start

    def applies(self, one: _Run, other: _Run, probe: State) -> Expr:
        """The two runs end alike from e, and not from the probe."""
        from_e = zip(self.final(one, self.e), self.final(other, self.e), strict=True)
        from_x = zip(self.final(one, probe), self.final(other, probe), strict=True)
        different: Expr | None = None
        for a, b in from_x:
            unequal = apply("!=", a, b)
            different = unequal if different is None else apply("or", different, unequal)
        assert different is not None
        return apply("and", conjunction(*(apply("==", a, b) for a, b in from_e)), different)

    def instance(self, pair: tuple[_Run, _Run], probe: State, row: int, proof: Proven) -> Refutation:
        """One pair at one e, as values and as a sentence."""
        point = {name: values[row : row + 1] for name, values in self.env.items()}

        def value(expr: Expr) -> Value:
            return to_value(np.atleast_1d(evaluate(expr, point, self.update.meaning))[0])

        def shown(state: State) -> str:
            return str(value(state[0])) if len(state) == 1 else f"({', '.join(str(value(c)) for c in state)})"

        starts = start_names(self.update)
        instance: dict[str, Value] = {name: value(v) for name, v in zip(starts, self.e, strict=True)}
        instance |= {f"x{i}": value(c) for i, c in zip(range(len(probe)), probe, strict=True)}
        instance |= {v.name: value(v) for v in self.constants}
        described = []
        for mark, run in zip(("", "'"), pair, strict=True):
            for number, datum in zip(range(1, 3), run, strict=False):
                suffix = str(number) if len(run) > 1 else ""
                instance |= {f"{name}{mark}{suffix}": value(t) for name, t in datum.items()}
            described.append(" then ".join(", ".join(f"{n} = {value(t)}" for n, t in datum.items()) for datum in run))
        ends = [shown(self.final(run, probe)) for run in pair]
        sentence = (
            f"no operator on this state exists: from {shown(self.e)} the data ({described[0]}) and ({described[1]}) "
            f"both lead to {shown(self.final(pair[0], self.e))}, but from {shown(probe)} they lead to {ends[0]} and "
            f"{ends[1]}; and every other start has such a pair"
        )
        return Refutation(instance, sentence, proof)


def _without_rounding(values: sampling.Array) -> sampling.Array:
    """Floats rounded, so that those are equal that are so but for rounding."""
    return np.round(values.astype(np.float64), 6) if values.dtype.kind == "f" else values


def _at(expr: Expr, update: Update, state: State) -> Expr:
    return substitute(expr, {f"x{i}": part for i, part in zip(range(len(state)), state, strict=True)})


def _terms(type_: Type, e: State, update: Update, results: State) -> list[Expr]:
    """What a datum of this type may be, as an expression in e: likeliest first."""
    if type_.is_bool:
        own: list[Expr] = [Const(BOOL, False), Const(BOOL, True)]
        return [*own, *(v for v in e if v.type.is_bool)]
    one, two = const(type_, 1), const(type_, 2)
    literals = [const(type_, v) for v in sampling.literals(update.components).get(type_, ()) if v not in (0, 1)][:3]
    mine = [v for v in e if v.type == type_]
    terms: list[Expr] = [const(type_, 0), one]
    for v in mine:
        terms += [apply("neg", v), apply("-", one, v), v, apply("+", v, one), apply("-", v, one)]
        for literal in literals:
            terms += [apply("-", literal, v), apply("-", apply("-", literal, one), v)]
    for result in results:
        if result.type == type_ and result not in mine:
            terms += [apply("neg", result), apply("-", one, result), result]
    terms += [two, *literals]
    if type_.code != "uint":
        terms.append(const(type_, -1))
    for v in mine:
        terms += [apply("+", v, two), apply("-", v, two)]
        if type_.is_int:
            terms += [apply("~", v), apply("^", v, one)]
    terms += [cast(type_, v) for v in e if v.type.is_int and type_.is_int and v.type != type_]
    if type_.is_int and update.meaning is Meaning.WRAP:
        terms += [Const(type_, v) for v in (type_.min, type_.max, 1 << (type_.bits - 2))]
    if _bounded_below(type_, update):
        terms = [t for t in terms if not any(isinstance(n, Op) and n.op in ("-", "neg", "~") for n in walk(t))]
    return list(dict.fromkeys(map(tidy, terms)))


def _runs(update: Update, e: State, steps: int, most: int) -> list[_Run]:
    """Up to `most` runs of `steps` data, a spread of all combinations."""
    data = update.data
    at_fixed = []
    for value in (0, 1):
        fixed = {v.name: const(v.type, bool(value) if v.type.is_bool else value) for v in data}
        at_fixed += [tidy(substitute(_at(c, update, e), fixed)) for c in update.components]
    results = tuple(dict.fromkeys(at_fixed))[:3]
    options = [(step, v, _terms(v.type, e, update, results)) for step in range(steps) for v in data]
    if not options:
        return []
    if steps == 2:
        options = [(step, v, terms if step == 0 else [terms[0], terms[1], *terms[-4:]]) for step, v, terms in options]
    sizes = [len(terms) for _, _, terms in options]
    total = math.prod(sizes)
    if total <= most:
        picks = list(itertools.product(*map(range, sizes)))
    else:
        random = np.random.default_rng(len(sizes))
        even = max(2, int(most ** (1 / len(sizes))))
        low = set(itertools.islice(itertools.product(*(range(min(size, even)) for size in sizes)), (2 * most) // 3))
        drawn = {tuple(int(random.integers(0, size)) for size in sizes) for _ in range(2 * most)}
        picks = [*sorted(low), *sorted(drawn - low)][:most]
    runs: list[_Run] = []
    for pick in picks:
        chosen: list[dict[str, Expr]] = [{} for _ in range(steps)]
        for (step, v, terms), at in zip(options, pick, strict=True):
            chosen[step][v.name] = terms[at]
        runs.append(tuple(chosen))
    return runs


def _step(update: Update, state: State, datum: Mapping[str, Expr]) -> State:
    values = {f"x{i}": part for i, part in zip(range(len(state)), state, strict=True)} | dict(datum)
    return tuple(substitute(component, values) for component in update.components)


def _probes(update: Update, e: State) -> list[State]:
    """States x at which two runs may differ, as expressions in e."""
    shapes = 10
    columns: list[list[Expr]] = []
    for v in e:
        type_ = v.type
        if type_.is_bool:
            columns.append([(v, apply("not", v), Const(BOOL, True), Const(BOOL, False))[i % 4] for i in range(shapes)])
            continue
        one = const(type_, 1)
        down = apply("+", v, const(type_, 3)) if _bounded_below(type_, update) else apply("-", v, one)
        ends: list[Expr] = [const(type_, 7), const(type_, 50), apply("+", v, const(type_, 5))]
        if type_.is_int and update.meaning is Meaning.WRAP:
            low, high = Const(type_, type_.min), Const(type_, type_.max)
            ends = [low, high, apply("+", v, low if type_.code == "int" else const(type_, 1 << (type_.bits - 1)))]
        columns.append(
            [
                apply("+", v, one),
                const(type_, 0),
                one,
                down,
                *ends,
                apply("+", v, const(type_, 2)),
                const(type_, 100),
                apply("+", v, apply("+", v, one)),
            ]
        )
    return [tuple(column[i] for column in columns) for i in range(shapes)]


def _bounded_below(type_: Type, update: Update) -> bool:
    return type_.code == "uint" and update.meaning is Meaning.MATH


def _cover(good: sampling.Array) -> list[int] | None:
    """Pairs of runs of which one applies in every row, few and early ones preferred; None if rows are left over."""
    left = np.ones(good.shape[1], dtype=bool)
    chosen: list[int] = []
    while left.any() and len(chosen) < _PAIRS:
        gain = (good & left).sum(axis=1)
        best = int(np.argmax(gain)) if len(gain) else 0
        if not len(gain) or not gain[best]:
            return None
        chosen.append(best)
        left &= ~good[best]
    return None if left.any() else chosen


def _infinite_starts(update: Update) -> bool:
    """Whether no infinite `e` (floats, unbounded integers) tells data apart either: each sends two to one end."""
    from rfactor.prover.infinity import INFINITY, MINUS_INFINITY

    unbounded = [t.is_float or (t.is_int and update.meaning is Meaning.MATH) for t in update.types]
    if not any(unbounded):
        return True
    choices: list[list[Expr | None]] = []
    for type_, can in zip(update.types, unbounded, strict=True):
        ends: list[Expr | None] = [None]
        if can and type_.is_float:
            ends += [const(type_, type_.max), const(type_, type_.min)]
        elif can:
            ends += [MINUS_INFINITY, INFINITY]
        choices.append(ends)
    for e in itertools.product(*choices):
        if any(part is not None for part in e) and not _merges(update, e):
            return False
    return True


def _merges(update: Update, e: Sequence[Expr | None]) -> bool:
    """Whether two data lead to one state from `e` (parts that are None are any value) and to two from some x."""
    state = tuple(x if part is None else part for x, part in zip(update.accumulators, e, strict=True))
    data = update.data
    first = {v.name: const(v.type, False if v.type.is_bool else 0) for v in data}
    for values in (1, 2, 5):
        second = {v.name: const(v.type, True if v.type.is_bool else values) for v in data}
        try:
            ends = [
                tuple(_tidied(without_infinities(c)) for c in _step(update, state, datum)) for datum in (first, second)
            ]
        except Undefined:
            return True  # the state is NaN, which nothing tells apart
        steps = [_step(update, update.accumulators, datum) for datum in (first, second)]
        if ends[0] == ends[1] and sampling.refute(steps[0], steps[1], update.meaning) is not None:
            return True
    return False


def _tidied(expr: Expr) -> Expr:
    """Simplified where no infinity stands in the way."""
    return expr if has_infinity(expr) else tidy(expr)
