"""Pairs of runs that `e` cannot tell apart and some x can: their search, and a proof that one applies at every `e`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rfactor.ir.evaluate import evaluate, evaluate_all, spread, to_value
from rfactor.ir.exactness import simplified_exactly
from rfactor.ir.expr import Expr, Value, Var, apply, conjunction, const, disjunction, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE
from rfactor.matcher.refusal.infinite_starts import MOST, MOST_ASKED, Start, infinite_starts, merged_at
from rfactor.matcher.refusal.instance import Refutation, told
from rfactor.matcher.refusal.runs import Run, followed, probes, step
from rfactor.matcher.refusal.separation import numbered, without_rounding
from rfactor.matcher.terms import State, tidy
from rfactor.prover import defined, sampling
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.equality import holds
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict

ROWS = 24
"""Sampled values of e; the prover's counterexamples are added to them."""
_PAIRS = 6
"""Most pairs of runs that a proof may need."""
_ROUNDS = 6
_BESIDE = 3
"""Places that share one part with a place learnt from, for each part."""
_STEPS = (1, 2, 3, 4, 5, 6)
"""Lengths of runs."""
_ODD = np.uint64(0x9E3779B97F4A7C15)
_Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Table:
    """Pairs of runs, and where they show something."""

    good: sampling.Array
    """(rows, runs, runs): the first and a later run end alike from e and not from a probe."""
    ends: sampling.Array
    """(probes, runs, rows): numbers of the final states."""

    def which(self, pair: _Pair) -> sampling.Array:
        """(rows,): the first probe that tells the two runs apart, where some does."""
        apart = self.ends[:, pair[0]] != self.ends[:, pair[1]]
        found: sampling.Array = np.argmax(apart, axis=0)
        return found

    def beside(self, other: _Table) -> _Table:
        """The two tables' rows as one table."""
        return _Table(np.concatenate([self.good, other.good]), np.concatenate([self.ends, other.ends], axis=2))


class Search:
    """Runs as expressions in e, and what they lead to at sampled e."""

    def __init__(
        self,
        whole: Update,
        held: Mapping[str, Value],
        update: Update,
        e: tuple[Var, ...],
        runs: Sequence[Run],
        first: Mapping[str, Expr],
        same_length: bool,
    ) -> None:
        self.whole, self.held, self.update, self.e = whole, held, update, e
        self.quotients = defined.conditions(update.components, everywhere=True)
        self.runs = list(runs)
        near = sampling.literals(update.components)
        self.env = sampling.points(self.e, update.meaning, ROWS, near)
        self.first = (first,)
        """The datum after which runs are compared."""
        reached = [(self.final(self.first, probe), probe) for probe in probes(update, self.e)]
        reached.sort(key=lambda pair: sum(len(list(walk(part))) for part in pair[0]))
        self.reached, self.probes = [state for state, _ in reached], [probe for _, probe in reached]
        lengths = np.array([len(run) for run in self.runs])
        self.comparable = [np.flatnonzero(lengths == n) for n in _STEPS] if same_length else [np.arange(len(lengths))]
        """Sets of runs of which any two may be a pair."""
        alike = lengths[:, None] == lengths[None, :] if same_length else np.ones((len(lengths),) * 2, dtype=bool)
        self.pairs = np.triu(alike, 1)
        self.values: dict[Expr, sampling.Array] = {}
        self.terms: dict[Expr, int] = {}
        """What runs read, with its number."""
        self.inputs = [self._inputs(steps) for steps in _STEPS]
        self.applying: dict[tuple[int, int, int], Expr] = {}
        """When a pair of runs shows something for a probe."""
        self.gave_up = False
        """Whether a proof was neither found nor refuted."""
        self.open: frozenset[Start] = frozenset()
        """Infinite starts for which nothing is shown."""
        self.same_length = same_length
        self.seen: _Table | None = None
        """The table at the points of e that were looked at."""

    def after(self, first: Mapping[str, Expr]) -> Search:
        """The search for what can be told apart after another datum."""
        return Search(self.whole, self.held, self.update, self.e, self.runs, first, self.same_length)

    def search(self, limits: Limits, proof: tuple[int, int]) -> Refutation | None:
        """Find pairs that cover the samples, try to prove that they cover all, learn from where they do not.

        A `proof` may take so many resource units and cases.
        """
        if len(self.runs) < 2:
            return None
        for _ in range(_ROUNDS):
            table = self.table()
            chosen = None if table is None else _cover(table.good)
            if table is None or chosen is None:
                return None
            shown = [
                (i, j, number)
                for i, j in chosen
                for number in sorted({int(n) for n in table.which((i, j))[table.good[:, i, j]]})
            ]
            claim = disjunction(*(self.applies(i, j, number) for i, j, number in shown))
            # Literals that are folded leave a product of them a literal, and the claim about sums, which is easier.
            # Where integers are unbounded sums of literals may leave the type.
            claim = tidy(claim) if self.update.meaning is Meaning.WRAP else claim
            verdict = self.decided(claim, limits.at_most(*proof))
            if isinstance(verdict, Proven):
                left = self.left_open(shown, limits.at_most(*proof))
                if left is None:
                    return None
                self.open = left
                return self.shown(table, chosen, verdict)
            if isinstance(verdict, Unknown):
                self.gave_up = True
                return None
            if limits.expired:
                return None
            self.learn(verdict)
        return None

    def decided(self, claim: Expr, limits: Limits) -> Verdict:
        """Whether a claim holds; most do not at some sample, which is seen before any proof is tried."""
        meaning = self.update.meaning
        refuted = sampling.refute((claim,), (TRUE,), meaning)
        return holds(claim, meaning=meaning, limits=limits) if refuted is None else refuted

    def learn(self, verdict: Refuted) -> None:
        """Add the place where the pairs did not apply to the samples, and places that have one part in common with it:
        it may be that part alone which other pairs must cover."""
        beside = _BESIDE if len(self.e) > 1 else 0
        for i, var in enumerate(self.e):
            value = verdict.counterexample.get(var.name, 0)
            old = self.env[var.name]
            more = np.resize(old[ROWS // 2 :], 1 + beside * len(self.e)).astype(old.dtype)
            more[0] = value
            more[1 + beside * i : 1 + beside * (i + 1)] = value
            self.env[var.name] = np.concatenate([old, more])
        self.values.clear()

    def table(self) -> _Table | None:
        """Pairs of runs that end alike from e and not from some probe; None if a row has no such pair."""
        rows = len(next(iter(self.env.values())))
        known = 0 if self.seen is None else len(self.seen.good)
        if known < rows:
            new = self.followed({name: values[known:] for name, values in self.env.items()})
            if new is None:
                return None
            self.seen = new if self.seen is None else self.seen.beside(new)
        return self.seen

    def followed(self, env: Mapping[str, sampling.Array]) -> _Table | None:
        """The table at some points of e."""
        ends = self.ends([self.e], env)[0]
        if not all(np.any([_repeats(ends[some]) for some in self.comparable], axis=0)):
            return None
        ends_of = self.ends(self.reached, env)
        # Where runs end from all probes together, as one number: equal numbers may be chance, and tell nothing apart.
        together = np.zeros(ends.shape, dtype=np.uint64)
        for probe in ends_of:
            together = (together + probe + np.uint64(1)) * _ODD
            together ^= together >> np.uint64(29)
        if not all(np.any([_repeats(ends[some], together[some]) for some in self.comparable], axis=0)):
            return None
        one, all_ = _numbered_anew(ends), _numbered_anew(together)
        good = one[:, :, None] == one[:, None, :]
        good &= all_[:, :, None] != all_[:, None, :]
        good &= self.pairs
        return _Table(good, ends_of)

    def value(self, term: Expr) -> sampling.Array:
        """The values of an expression in e at the sampled e."""
        known = self.values.get(term)
        if known is None:
            rows = len(next(iter(self.env.values())))
            known = spread(evaluate(term, self.env, self.update.meaning), rows)
            self.values[term] = known
        return known

    def _inputs(self, steps: int) -> list[dict[str, list[int]]]:
        """What all runs of that many steps read, for each step: numbers of terms."""
        runs = [run for run in self.runs if len(run) == steps]
        if not runs:
            return []
        number = self.terms
        return [
            {name: [number.setdefault(run[step][name], len(number)) for run in runs] for name in runs[0][step]}
            for step in range(steps)
        ]

    def ends(self, starts: Sequence[State], env: Mapping[str, sampling.Array]) -> sampling.Array:
        """(starts, runs, rows): numbers of the final states, equal where the states are, at points of e."""
        meaning, rows = self.update.meaning, len(next(iter(env.values())))
        parts = [part for start in starts for part in start]
        values = [spread(v, rows) for v in evaluate_all([*self.terms, *parts], env, meaning)]
        first = len(self.terms)
        width = len(self.e)
        batches: list[sampling.Array] = []
        for inputs in self.inputs:
            if not inputs:
                continue
            count = len(next(iter(inputs[0].values())))
            size = len(starts) * count * rows
            state = [
                np.tile(np.stack(values[first + i :: width])[:, None], (1, count, 1)).reshape(size)
                for i in range(width)
            ]
            for given in inputs:
                read = {
                    name: np.tile(np.concatenate([values[n] for n in numbers]), len(starts))
                    for name, numbers in given.items()
                }
                read |= {f"x{i}": part for i, part in enumerate(state)}
                state = [spread(v, size) for v in evaluate_all(self.update.components, read, meaning)]
            batches.append(numbered(map(without_rounding, state)).reshape(len(starts), count, rows))
        return np.concatenate(batches, axis=1)

    def final(self, run: Run, start: State) -> State:
        """Where a run leads, as expressions in e."""
        return followed(self.update, start, run)

    def applies(self, one: int, other: int, number: int) -> Expr:
        """The two runs end alike from e, and not from where the first datum leads a probe to, and divide by no zero,
        where nothing is claimed."""
        known = self.applying.get((one, other, number))
        if known is None:
            known = self.applying[one, other, number] = self._applies(one, other, number)
        return known

    def _applies(self, one: int, other: int, number: int) -> Expr:
        runs = (self.runs[one], self.runs[other])
        pairs = zip(*(self.final(run, self.e) for run in runs), strict=True)
        from_e = [(a, b) for a, b in pairs if not prove_by_cases((a,), (b,), self.update.meaning, (), Limits(cases=0))]
        different = self.different(runs, self.reached[number])
        divided = [c for run in runs for c in self.divided(run, number)]
        return apply("and", conjunction(*dict.fromkeys(divided), *(apply("==", a, b) for a, b in from_e)), different)

    def left_open(self, shown: Sequence[tuple[int, int, int]], limits: Limits) -> frozenset[Start] | None:
        """Infinite starts that nothing is shown for; None if they are more than a few, or partly finite."""
        starts = infinite_starts(self.update, tuple(self.first[0].items()))
        left: set[Start] = set()
        for asked, start in enumerate(filter(starts.is_open, starts.all)):
            if asked == MOST_ASKED:
                return None
            if not self.applies_at(start, shown, limits):
                left.add(start)
                if None in start or len(left) > MOST:
                    return None
        return frozenset(left)

    def applies_at(self, start: Start, shown: Sequence[tuple[int, int, int]], limits: Limits) -> bool:
        """Whether at every such infinite start one of the pairs is proved to end alike, and not from what the first
        datum leads some finite probe to."""
        if self.quotients:
            return False
        nought = {v.name: const(v.type, 0) for v, part in zip(self.e, start, strict=True) if part is not None}
        claims: list[Expr] = []
        for i, j, number in shown:
            pair = (self.runs[i], self.runs[j])
            alike = merged_at(self.update, self.e, start, pair)
            if alike is not None:
                probe = tuple(substitute(part, nought) for part in self.reached[number])
                claims.append(apply("and", alike, self.different(pair, probe)))
        verdict = holds(disjunction(*claims), meaning=self.update.meaning, limits=limits) if claims else None
        return isinstance(verdict, Proven)

    def different(self, pair: tuple[Run, Run], start: State) -> Expr:
        """The two runs do not end alike from a state."""
        ends = zip(*(self.final(run, start) for run in pair), strict=True)
        return disjunction(*(apply("!=", a, b) for a, b in ends))

    def shown(self, table: _Table, chosen: Sequence[_Pair], proof: Proven) -> Refutation | None:
        """The first pair and sampled e at which exact values show what was proved."""
        for pair in chosen:
            runs = (self.runs[pair[0]], self.runs[pair[1]])
            which = table.which(pair)
            for row in np.flatnonzero(table.good[:, pair[0], pair[1]]).tolist():
                number = int(which[row])
                if any(self.divides_by_zero(run, number, row) for run in runs):
                    continue
                e, x = ([self.at(part, row) for part in state] for state in (self.e, self.reached[number]))
                one, other = ([{name: self.at(t, row) for name, t in datum.items()} for datum in run] for run in runs)
                found = told(self.whole, e, x, (one, other), self.held, proof)
                if found is not None:
                    return found
        return None

    def divided(self, run: Run, number: int) -> list[Expr]:
        """Conditions under which a run divides by no zero from e, nor after the first datum from a probe."""
        return [*self.defined(run, self.e), *self.defined((*self.first, *run), self.probes[number])]

    def defined(self, run: Run, start: State) -> list[Expr]:
        """Conditions under which a run divides by no zero."""
        found: list[Expr] = []
        for datum in run if self.quotients else ():
            values = {f"x{i}": part for i, part in enumerate(start)} | dict(datum)
            found += [self.tidied(substitute(condition, values)) for condition in self.quotients]
            start = step(self.update, start, datum)
        return found

    def divides_by_zero(self, run: Run, number: int, row: int) -> bool:
        """Whether a run does so at a sampled e."""
        values = {v.name: const(v.type, self.at(v, row)) for v in self.e}
        return FALSE in [self.tidied(substitute(condition, values)) for condition in self.divided(run, number)]

    def tidied(self, condition: Expr) -> Expr:
        """The condition, simplified where it stays the same."""
        return simplified_exactly(tidy, condition, self.update.meaning)

    def at(self, expr: Expr, row: int) -> Value:
        """The value of an expression in e at a sampled e."""
        return to_value(self.value(expr)[row])


def _repeats(ends: sampling.Array, others: sampling.Array | None = None) -> sampling.Array:
    """(rows,): whether two runs have the same number, and different ones among the others."""
    if others is None:
        ordered = np.sort(ends, axis=0)
        repeated: sampling.Array = np.any(ordered[1:] == ordered[:-1], axis=0)
        return repeated
    order = np.argsort(ends, axis=0)
    ordered, other = np.take_along_axis(ends, order, axis=0), np.take_along_axis(others, order, axis=0)
    apart: sampling.Array = np.any((ordered[1:] == ordered[:-1]) & (other[1:] != other[:-1]), axis=0)
    return apart


def _numbered_anew(numbers: sampling.Array) -> sampling.Array:
    """(rows, runs): short numbers, equal where those are of which there are (runs, rows)."""
    _, short = np.unique(numbers.T, return_inverse=True)
    return short.reshape(numbers.T.shape).astype(np.uint16)


def _cover(good: sampling.Array) -> list[_Pair] | None:
    """Pairs of runs of which one applies in every row, few and early ones preferred; None if rows are left over."""
    left = good
    chosen: list[_Pair] = []
    while len(left) and len(chosen) < _PAIRS:
        gain = left.sum(axis=0, dtype=np.uint8)
        i, j = divmod(int(np.argmax(gain)), gain.shape[1])
        if not gain[i, j]:
            return None
        chosen.append((i, j))
        left = left[~left[:, i, j]]
    return None if len(left) else chosen
