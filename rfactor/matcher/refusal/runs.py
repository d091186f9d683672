"""Runs of one or two data as expressions in the start `e`, and other starts as expressions in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

import numpy as np

from rfactor.ir.expr import Const, Expr, Op, apply, cast, const, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import State, tidy
from rfactor.prover import sampling

Run = tuple[Mapping[str, Expr], ...]
"""The data of one or two steps as expressions in e."""


def _at(expr: Expr, state: State) -> Expr:
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
        low, high = int(type_.min), int(type_.max)
        terms += [Const(type_, v) for v in (low + 1, high - 1, low, high, 1 << (type_.bits - 2))]
    if _bounded_below(type_, update):
        terms = [t for t in terms if not any(isinstance(n, Op) and n.op in ("-", "neg", "~") for n in walk(t))]
    return list(dict.fromkeys(map(tidy, terms)))


def _likely(type_: Type, terms: list[Expr]) -> list[Expr]:
    """Of what a datum may be the simplest and the strangest: for second steps."""
    two = [] if type_.is_bool else [const(type_, 2)]
    return list(dict.fromkeys([*terms[:2], *two, *terms[-4:]]))


def runs_of(update: Update, e: State, steps: int, most: int) -> list[Run]:
    """Up to `most` runs of `steps` data as expressions in `e`, a spread of all combinations."""
    data = update.data
    at_fixed = []
    for value in (0, 1):
        fixed = {v.name: const(v.type, bool(value) if v.type.is_bool else value) for v in data}
        at_fixed += [tidy(substitute(_at(c, e), fixed)) for c in update.components]
    results = tuple(dict.fromkeys(at_fixed))[:3]
    options = [(step, v, _terms(v.type, e, update, results)) for step in range(steps) for v in data]
    if not options:
        return []
    if steps == 2:
        options = [(at, v, terms if at == 0 else _likely(v.type, terms)) for at, v, terms in options]
    sizes = [len(terms) for _, _, terms in options]
    total = math.prod(sizes)
    if total <= most:
        picks = list(itertools.product(*map(range, sizes)))
    else:
        random = np.random.default_rng(len(sizes))
        even = max(2, int(most ** (1 / len(sizes))))
        low = set(itertools.islice(itertools.product(*(range(min(size, even)) for size in sizes)), (2 * most) // 3))
        drawn = set(map(tuple, random.integers(0, sizes, size=(2 * most, len(sizes))).tolist()))
        picks = [*sorted(low), *sorted(drawn - low)][:most]
    runs: list[Run] = []
    for pick in picks:
        chosen: list[dict[str, Expr]] = [{} for _ in range(steps)]
        for (step, v, terms), at in zip(options, pick, strict=True):
            chosen[step][v.name] = terms[at]
        runs.append(tuple(chosen))
    return runs


_STAIRS = ((1, 5), (2, 5), (3, 5), (2, 2, 4), (1, 3, 4), (1, 4, 5), (2, 3, 5), (3, 3, 5))


_INTERVALS = (((2, 4),), ((1, 2), (3, 4)), ((2, 3), (3, 4)))
"""Of two data that are the ends of intervals: as long together, with a gap and without."""


def stairs(update: Update, e: State) -> list[Run]:
    """Runs of one, two and three data, in this order, that climb or go down.

    They do from an accumulator's start, and around the probes 7 and 0.

    Extrema take each of the data for a new one, so that sums and numbers of new ones are alike from `e` and not from
    between them. So are lengths of intervals. The other data are 1 or true.
    """
    found: list[Run] = []
    others: dict[str, Expr] = {v.name: const(v.type, v.type.is_bool or 1) for v in update.data}
    data = [v for v in update.data if not v.type.is_bool and v.type in update.types]
    for datum in data:
        for sign, foot in _feet(datum.type, update, e):
            climbs = [[tidy(apply(sign, foot, const(datum.type, n))) for n in steps] for steps in _STAIRS]
            found += [tuple(others | {datum.name: value} for value in climb) for climb in climbs]
    for one, other in itertools.permutations(data, 2):
        for sign, foot in _feet(one.type, update, e) if one.type == other.type else ():
            for steps in _INTERVALS:
                ends = [[tidy(apply(sign, foot, const(one.type, n))) for n in step] for step in steps]
                found.append(tuple(others | {one.name: low, other.name: high} for low, high in ends))
    return sorted(found, key=len)


def _feet(type_: Type, update: Update, e: State) -> Iterator[tuple[str, Expr]]:
    """Where stairs of a type begin, and whether they climb or go down."""
    for sign, feet in ("+", (5,)), ("-", (9, 2)):
        for foot in feet:
            if type_.code != "uint" or foot >= 5:
                yield sign, const(type_, foot)
        if sign == "+" or not _bounded_below(type_, update):
            yield from ((sign, v) for v in e if v.type == type_)


def step(update: Update, state: State, datum: Mapping[str, Expr]) -> State:
    values = {f"x{i}": part for i, part in zip(range(len(state)), state, strict=True)} | dict(datum)
    return tuple(substitute(component, values) for component in update.components)


def followed(update: Update, state: State, run: Run) -> State:
    """Where a run leads from a state."""
    for datum in run:
        state = step(update, state, datum)
    return state


_SHAPES = 11
"""Numbers that are tried; truth values are combined with each."""


def probes(update: Update, e: State) -> list[State]:
    """States x at which two runs may differ, as expressions in e."""
    columns: list[list[Expr]] = []
    for v in e:
        type_ = v.type
        if type_.is_bool:
            values = (v, apply("not", v), Const(BOOL, True), Const(BOOL, False))
            columns.append([values[(i % _SHAPES + i // _SHAPES) % 4] for i in range(4 * _SHAPES)])
            continue
        one = const(type_, 1)
        # A count that is 0 after the first datum and another.
        unsigned = type_.code == "uint"
        below_zero: Expr = const(type_, type_.wrap(-2) if unsigned else -2)
        before_zero = apply("+", v, const(type_, 7)) if _bounded_below(type_, update) else below_zero
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
                before_zero,
            ]
        )
    count = max(map(len, columns))
    return [tuple(column[i % len(column)] for column in columns) for i in range(count)]


def _bounded_below(type_: Type, update: Update) -> bool:
    return type_.code == "uint" and update.meaning is Meaning.MATH
