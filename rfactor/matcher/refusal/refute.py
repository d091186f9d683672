"""Proofs that no operator on this state exists: for every `e`, two runs that `e` cannot tell apart and some x can.

If `op` and `g` existed, with an identity or without, let `e` be the right operand `g(m)` of one datum `m`. Runs with
equal results from `e` would have equal right operands when they follow `m`, hence equal results from every x that `m`
leads to. So x is looked for among these. The runs are written as expressions in `e` (for |x - a|: data e + 1 and
e - 1), found on samples and proved for every value. A short list of such pairs covers all `e`; what is proved is that
at every `e` one of the list applies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rfactor.ir.evaluate import as_array, evaluate_all, spread
from rfactor.ir.expr import Const, Expr, Op, Value, Var, const, names, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.refusal import degrees_of_freedom, made_up_words, mixed_bytes, overflowing_remainders, small_states
from rfactor.matcher.refusal import made_up as made_up_for
from rfactor.matcher.refusal.few_data import few_data, zigzags
from rfactor.matcher.refusal.infinite_starts import literal
from rfactor.matcher.refusal.instance import Refutation
from rfactor.matcher.refusal.runs import Run, probes, runs_of, stairs, step
from rfactor.matcher.refusal.search import ROWS, Search
from rfactor.matcher.refusal.separation import numbered, without_rounding
from rfactor.matcher.refusal.shifted import with_shifts
from rfactor.matcher.refusal.solved_runs import solved_runs
from rfactor.matcher.terms import tidy
from rfactor.prover import sampling
from rfactor.prover.limits import Limits

_ONE = 150, 60
"""Most runs of one datum looked at together: at first, and beside longer ones where that does not suffice."""
_TWO = 220
"""Most runs of two data."""
_FIRST = 12
"""Most data that are tried as the first."""
_LEFT_BY_PROBES = 102
"""What divided by the probes, of which 100 is one, leaves remainders of every kind: 0, 2 and more."""
_FIRSTS = (0, 1, 7, 3, -1, 20)
"""Data that are tried as the first beside others."""
_PROOF = 500_000, 200
"""Resource units and cases for the proof that a list of pairs covers every e."""
_LATER_PROOF = 50_000, 200
"""The same once one was given up: the next are as hard as a rule."""


def refute(update: Update, limits: Limits, same_length: bool = False) -> Refutation | None:
    """A proof that no operator on the state of `update` exists, or None if none was found.

    With `same_length` the two runs of a pair have as many data: then other components beside, which read none of these
    data and none of these accumulators, end alike too, and the refutation holds for the update with them.
    """
    for held in _held_constants(update):
        found = _refute(update, held, limits, same_length)
        if found is not None or limits.expired:
            return found
    return None


def _refute(update: Update, held: Mapping[str, Value], limits: Limits, same_length: bool) -> Refutation | None:
    """A proof for these values of the loop's constants."""
    small = small_states.refute(update, held, same_length)
    if small is not None:
        return small
    fixed = {v.name: const(v.type, held[v.name]) for v in sampling.used(update.components) if v.name in held}
    own = replace(update, components=tuple(substitute(c, fixed) for c in update.components))
    for special in (made_up_for.refute, made_up_words.refute, mixed_bytes.refute, overflowing_remainders.refute):
        found = special(own, update, held)
        if found is not None:
            return found
    found = degrees_of_freedom.refute(own, update, held, same_length)
    if found is not None:
        return found
    if own.meaning is Meaning.WRAP:
        own = replace(own, components=tuple(map(with_shifts, own.components)))
    e = tuple(Var(t, f"e {i}") for i, t in zip(range(len(own.types)), own.types, strict=True))
    first = first_data(own, e)
    attempts = [((runs, datum) for runs in _runs(own, e) for datum in first)]
    if _divides_by_state(own):
        left = {v.name: literal(v.type, _LEFT_BY_PROBES) for v in own.data}
        attempts.insert(0, ((_of_literals(runs), left) for runs in _any_runs(own, e)))
    for some in attempts:
        proof = _PROOF
        for runs, datum in some:
            if limits.expired:
                return None
            search = Search(update, held, own, e, runs, datum, same_length)
            found = search.search(limits, proof)
            if found is not None and _one_is_met(search, limits):
                return found
            proof = _LATER_PROOF if search.gave_up else proof
    return None


def _runs(update: Update, e: tuple[Var, ...]) -> Iterator[list[Run]]:
    """Runs that are looked at together, in turn."""
    if not _divides_by_data(update):
        yield from _any_runs(update, e)
        return
    # Literals first, so that the solver divides by numbers alone; unbounded starts may need data that grow with them.
    for runs in _any_runs(update, e):
        yield _of_literals(runs)
    if update.meaning is Meaning.MATH:
        yield next(_any_runs(update, e))


def _of_literals(runs: list[Run]) -> list[Run]:
    """The runs that do not depend on the start."""
    return [run for run in runs if not any(names(t) for datum in run for t in datum.values())]


def _any_runs(update: Update, e: tuple[Var, ...]) -> Iterator[list[Run]]:
    """Runs of one, two and three data, expressions in `e` too."""
    solved = solved_runs(update, e)
    solved = [*(run for run in solved if len(run) == 1), *(run for run in solved if len(run) == 2)]
    one, more = _ONE
    yield [*runs_of(update, e, 1, one), *solved]
    again = runs_of(update, e, 1, more)
    yield [*again, *solved, *runs_of(update, e, 2, _TWO)]
    yield [*again, *stairs(update, e)]
    longer = few_data(update) or zigzags(update, e)
    if longer:
        yield longer


def _one_is_met(search: Search, limits: Limits) -> bool:
    """Whether what a search found also holds with infinite starts that it leaves open, as (inf, -inf) for two sums.

    Data that act in as many ways and one more cannot all have these for right operands: where there is a proof after
    each of them, one of the proofs applies. Not of a part: what else right operands hold may tell these data apart.
    """
    left = set(search.open)
    firsts = [search.first[0]]
    update = search.update
    if not left or search.same_length:
        return not left
    for n in _FIRSTS[: 2 * len(left) + 2]:
        datum = {v.name: literal(v.type, n) for v in update.data}
        acts = step(update, update.accumulators, datum)
        others = (step(update, update.accumulators, one) for one in firsts)
        if any(sampling.refute(acts, other, update.meaning) is None for other in others):
            continue
        again = search.after(datum)
        if again.search(limits, _LATER_PROOF) is None:
            continue
        left |= again.open
        firsts.append(datum)
        if len(firsts) > len(left):
            return True
    return False


def first_data(update: Update, e: tuple[Var, ...]) -> list[Mapping[str, Expr]]:
    """Of some literal data those that lead to the most states from samples: the plainest, and the most general."""
    starts = probes(update, e)
    env = sampling.points(e, update.meaning, ROWS, sampling.literals(update.components))
    rows = len(next(iter(env.values())))
    parts = [spread(v, rows) for v in evaluate_all([p for s in starts for p in s], env, update.meaning)]
    state = {f"x{i}": np.concatenate(parts[i :: len(e)]) for i in range(len(e))}
    choices = [[(v.name, literal) for literal in _literals(v, update)] for v in update.data]
    total = math.prod(map(len, choices))
    found: list[tuple[int, int, int, int, Mapping[str, Expr]]] = []
    for pick in itertools.islice(itertools.product(*choices), 0, None, -(-total // _FIRST)):
        datum = dict(pick)
        values = {name: as_array(v.type, [v.value], update.meaning) for name, v in pick}
        ends = evaluate_all(update.components, state | values, update.meaning)
        size = rows * len(starts)
        columns = [without_rounding(spread(end, size)) for end in ends]
        nodes = sum(len(list(walk(tidy(part)))) for part in step(update, e, datum))
        count, kinds = sampling.distinct(numbered(columns)).size, len(set(datum.values()))
        found.append((-count, nodes, -kinds, len(found), datum))
    most = min(found)[0]
    many = [one for one in found if 4 * one[0] <= 3 * most]
    plainest: Mapping[str, Expr] = min(many, key=lambda one: one[1:4])[4]
    general: Mapping[str, Expr] = min(many, key=lambda one: one[2:4])[4]
    return [plainest] if plainest == general else [plainest, general]


def _literals(var: Var, update: Update) -> list[Const]:
    """Values of a datum: not special, special, and an end: the lowest of signed, the highest of unsigned numbers."""
    type_ = var.type
    if type_.is_bool:
        return [Const(type_, False), Const(type_, True)]
    own = [Const(type_, n) for n in (7, 0, 1)]
    bounded = type_.is_int and update.meaning is Meaning.WRAP
    if type_.code == "uint":
        return [*own, Const(type_, type_.max)]
    return [*own, Const(type_, type_.min if bounded else -1)]


def _divides_by_data(update: Update) -> bool:
    """Whether data divide or shift."""
    return _by_one_of(update, ("//", "%", "<<", ">>"), update.data)


def _divides_by_state(update: Update) -> bool:
    """Whether integer accumulators divide."""
    return _by_one_of(update, ("//", "%"), update.accumulators)


def _by_one_of(update: Update, ops: tuple[str, ...], vars_: Sequence[Var]) -> bool:
    """Whether a second operand of one of the operations reads one of the variables."""
    read = {v.name for v in vars_}
    return any(
        isinstance(node, Op) and node.op in ops and not names(node.args[1]).isdisjoint(read)
        for component in update.components
        for node in walk(component)
    )


def _held_constants(update: Update) -> Iterator[dict[str, Value]]:
    """Values of the loop's constants: without an operator for some of them there is none for all. Of two integers that
    may be ends of a range each is the lower once."""
    constants = [v for v in sampling.used(update.components) if v.name in update.constants]
    yield {v.name: True if v.type.is_bool else value for v, value in zip(constants, itertools.count(5, 4))}
    if len(constants) == 2 and all(v.type.is_int for v in constants):
        one, other = (v.name for v in constants)
        yield {one: 100, other: 0}
        yield {one: 0, other: 100}
