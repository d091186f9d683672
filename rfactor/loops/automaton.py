"""Loops that are driven by few states: a run of steps is summarized from each of them.

Some numbers of the state, the *driver*, take a handful of values from where they begin, whatever the data: flags,
modes of a parser, small counters. The others are *driven*: with the driver's value as data of the step, they have an
operator.
A run is then a table: for each value of the driver at its beginning, the value at its end and the summary of what is
driven. Tables are joined by looking the second up where the first ends. (A cascade: the composition of Krohn and
Rhodes, with the driver written out as a finite map.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, names, select, substitute_all, walk
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I32, Type
from rfactor.ir.update import Update

MOST = 8
"""Values of the driver that are told apart."""
_CODE = I32

Values = tuple[Const, ...]


@dataclass(frozen=True)
class Driver:
    """Numbers of the state that take few values."""

    places: tuple[int, ...]
    values: tuple[Values, ...]
    """All that they may be together in any step, first of all where they begin."""


def driver_of(update: Update, start: Sequence[Expr | None]) -> Driver | None:
    """The driver of an update that begins at `start` (None: anywhere), of as many numbers as can be; None without."""
    count = len(update.components)
    reads = [{int(n[1:]) for n in names(e) if n[0] == "x" and n[1:].isdigit()} for e in update.components]
    closed: list[frozenset[int]] = []
    for k in range(count):
        reached, pending = set[int](), [k]
        while pending:
            j = pending.pop()
            if j not in reached:
                reached.add(j)
                pending += reads[j]
        closed.append(frozenset(reached))
    found: Driver | None = None
    chosen: frozenset[int] = frozenset()
    for group in sorted(set(closed), key=len):
        places = sorted(chosen | group)
        values = _reached(update, start, places)
        if values is not None:
            chosen, found = chosen | group, Driver(tuple(places), values)
    return found


def _reached(update: Update, start: Sequence[Expr | None], places: list[int]) -> tuple[Values, ...] | None:
    """All values of some numbers of the state in any step; None where they are too many, or not known."""
    begin = tuple(start[k] for k in places)
    if not all(isinstance(e, Const) for e in begin):
        return None
    first: Values = tuple(e for e in begin if isinstance(e, Const))
    found: dict[Values, None] = {first: None}
    pending = [first]
    while pending:
        at = pending.pop()
        step = substitute_all([update.components[k] for k in places], _named(places, at))
        alternatives = []
        for e in step:
            ends = _ends(simplify(e))
            if ends is None:
                return None
            alternatives.append(ends)
        size = 1
        for ends in alternatives:
            size *= len(ends)
        if size > MOST:
            return None
        for after in product(*alternatives):
            if after not in found:
                found[after] = None
                pending.append(after)
        if len(found) > MOST:
            return None
    return tuple(found)


def _named(places: Sequence[int], values: Values) -> dict[str, Expr]:
    return {f"x{k}": v for k, v in zip(places, values, strict=True)}


def _ends(e: Expr) -> list[Const] | None:
    """All values of an expression, where it chooses among literals; None where it may be more."""
    if isinstance(e, Const):
        return [e]
    if isinstance(e, Op) and e.op == "select":
        parts = [_ends(a) for a in e.args[1:]]
        if parts[0] is None or parts[1] is None:
            return None
        return list(dict.fromkeys([*parts[0], *parts[1]]))
    if e.type.is_bool:
        return [Const(e.type, False), Const(e.type, True)]
    if isinstance(e, Op) and e.op == "cast" and e.args[0].type.is_bool:
        return [Const(e.type, 0), Const(e.type, 1)]
    return None


@dataclass(frozen=True)
class Table:
    """A run of steps, from each value of the driver."""

    types: tuple[Type, ...]
    first: tuple[Expr, ...]
    update: tuple[Expr, ...]
    joined: tuple[Expr, ...]
    applied: tuple[Expr, ...]
    """The state x after the run y."""


def driven_update(update: Update, driver: Driver) -> tuple[Update, tuple[int, ...]]:
    """The update of what is driven, with the driver as data; and the places of its numbers."""
    rest = tuple(k for k in range(len(update.components)) if k not in driver.places)
    values: dict[str, Expr] = {f"x{k}": Var(update.types[k], f"driver{k}") for k in driver.places}
    values |= {f"x{k}": Var(update.types[k], f"x{j}") for j, k in zip(range(len(rest)), rest, strict=True)}
    components = substitute_all([update.components[k] for k in rest], values)
    types = tuple(update.types[k] for k in rest)
    return Update(components, types, update.constants, update.meaning), rest


def table(
    update: Update,
    driver: Driver,
    rest: Sequence[int],
    first: Sequence[Expr],
    step: Sequence[Expr],
    joined: Sequence[Expr],
    applied: Sequence[Expr],
    types: Sequence[Type],
) -> Table:
    """The operator on tables, from that of what is driven: `first` and `step` (over x0, … and data, the driver among
    them), `joined` and `applied` (over x and y)."""
    codes, width = range(len(driver.values)), 1 + len(types)
    all_types = [t for _ in codes for t in (_CODE, *types)]

    def next_code(at: Values) -> Expr:
        after = substitute_all([update.components[k] for k in driver.places], _named(driver.places, at))
        return _code_after(driver, tuple(simplify(e) for e in after))

    def drive(exprs: Sequence[Expr], at: Values) -> list[Expr]:
        known = {f"driver{k}": v for k, v in zip(driver.places, at, strict=True)}
        return [_shorter(e) for e in substitute_all(exprs, known)]

    start: list[Expr] = []
    for at in driver.values:
        start += [next_code(at), *drive(first, at)]

    after: list[Expr] = []
    for c in codes:
        own = Var(_CODE, f"x{c * width}")
        mine = {f"x{j}": Var(t, f"x{c * width + 1 + j}") for j, t in zip(range(len(types)), types, strict=True)}
        steps = [[next_code(at), *substitute_all(drive(step, at), mine)] for at in driver.values]
        after += _chosen(own, steps)

    both: list[Expr] = []
    for c in codes:
        own = Var(_CODE, f"x{c * width}")
        options = []
        for d in codes:
            known: dict[str, Expr] = {}
            for j, t in zip(range(len(types)), types, strict=True):
                known[f"x{j}"] = Var(t, f"x{c * width + 1 + j}")
                known[f"y{j}"] = Var(t, f"y{d * width + 1 + j}")
            options.append([Var(_CODE, f"y{d * width}"), *substitute_all(joined, known)])
        both += _chosen(own, options)

    here = _code_of(driver, [Var(update.types[k], f"x{k}") for k in driver.places])
    ends: list[list[Expr]] = []
    for d in codes:
        known = {f"x{j}": Var(update.types[k], f"x{k}") for j, k in zip(range(len(rest)), rest, strict=True)}
        known |= {f"y{j}": Var(t, f"y{d * width + 1 + j}") for j, t in zip(range(len(types)), types, strict=True)}
        code = Var(_CODE, f"y{d * width}")
        driven = dict(zip(rest, substitute_all(applied, known), strict=True))
        option = []
        for k in range(len(update.components)):
            if k in driver.places:
                at_ = driver.places.index(k)
                option.append(_chosen(code, [[v[at_]] for v in driver.values])[0])
            else:
                option.append(driven[k])
        ends.append(option)
    return Table(tuple(all_types), tuple(start), tuple(after), tuple(both), tuple(_chosen(here, ends)))


def _shorter(e: Expr) -> Expr:
    return e if e.type.is_float else simplify(e)


def _code_of(driver: Driver, state: Sequence[Expr]) -> Expr:
    """The number of a value of the driver."""
    result: Expr = const(_CODE, len(driver.values) - 1)
    for c in reversed(range(len(driver.values) - 1)):
        same: Expr | None = None
        for e, v in zip(state, driver.values[c], strict=True):
            here = apply("==", e, v)
            same = here if same is None else apply("and", same, here)
        assert same is not None
        result = select(same, const(_CODE, c), result)
    return simplify(result)


def _code_after(driver: Driver, state: tuple[Expr, ...]) -> Expr:
    """The number of the driver's value where each part of it is a choice among literals."""
    for e in state:
        if isinstance(e, Const):
            continue
        condition = e.args[0] if isinstance(e, Op) and e.op in ("select", "cast") else e
        arms = []
        for truth in (True, False):
            arm = tuple(_decided(part, condition, truth) for part in state)
            arms.append(_code_after(driver, arm))
        return arms[0] if arms[0] == arms[1] else select(condition, arms[0], arms[1])
    values: list[tuple[Expr, ...]] = list(driver.values)
    return const(_CODE, values.index(state))


def _decided(e: Expr, condition: Expr, truth: bool) -> Expr:
    """A choice, where a condition is known."""
    if e == condition:
        return Const(e.type, truth)
    if isinstance(e, Op) and e.op == "cast" and e.args[0] == condition:
        return Const(e.type, int(truth))
    if isinstance(e, Op) and e.op == "select":
        if e.args[0] == condition:
            return _decided(e.args[1 if truth else 2], condition, truth)
        return simplify(select(e.args[0], _decided(e.args[1], condition, truth), _decided(e.args[2], condition, truth)))
    return e


def _chosen(code: Expr, options: Sequence[Sequence[Expr]]) -> list[Expr]:
    """Of each row of options, the one that `code` names."""
    results = list(options[-1])
    for c in reversed(range(len(options) - 1)):
        here = apply("==", code, const(code.type, c))
        results = [o if o == r else select(here, o, r) for o, r in zip(options[c], results, strict=True)]
    return [_shorter(r) for r in results]


def size(exprs: Sequence[Expr]) -> int:
    """The number of operations."""
    return len({n for e in exprs for n in walk(e) if isinstance(n, Op)})
