"""Liftings of updates that read a number which data set anew, or which goes through few values.

`select(c, 0, x0 + a), x1 + select(c and x0 > 5, 1, 0)` counts segments by their sums; `select(x0 == 0, ...)` is an
automaton that steers a sum. The number runs by itself, the rest reads it. Where a run starts is unknown until data set
the number; from then on it is known. So a run is: what it does before, the data of the step that sets the number (for
what is read there), what it does to the rest after it, and the number at its end. Of the few values that the update
compares the number with, each has a row besides: where the run takes it, and what it does to the rest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, substitute, transform, variables, walk
from rfactor.ir.expr import replace as exchange
from rfactor.ir.graph import closures, dependencies, restrict
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Exprs, Inner, choose, marked, nought, operands, pruned
from rfactor.matcher.lifting import reset
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, free_of, tidy
from rfactor.prover.claim import Claim, Lift

_MOST_VALUES = 8
"""Values of a number that have a row."""
_MOST_PARTS = 32
"""Components of a richer state."""
_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))
_NOTHING = Action((), (), (), (), ())
"""How a number is acted on that is left as it is, up to `apply`."""


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """What a step does where the number has no row."""

    rows: tuple[Const, ...]
    """Values of the one number that have rows."""
    stays: Expr
    """On data: whether the number is not set anew."""
    fresh: Exprs
    """What it is set to, by data alone."""
    number: Action
    """How steps act on it that do not set it."""


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """Claims for an update some of whose components run by themselves and are read by the others."""
    count = len(update.types)
    if count == 1:
        return
    edges = dependencies(update)
    read = tuple(i for i in range(count) if any(i in edges[j] for j in range(count) if j != i))
    for numbers in dict.fromkeys((*closures(update), read)):
        others = tuple(i for i in range(count) if i not in numbers)
        if not numbers or not others or all(update.types[i].is_bool for i in numbers):
            continue
        if all(edges[i].isdisjoint(numbers) for i in others):
            continue
        part = restrict(update, numbers)
        rest: Action | None = None
        for elsewhere in itertools.chain(_of_few_values(part, update, numbers[0], inner), _set_anew(part, inner)):
            rest = rest or _read_as_data(update, numbers, others, inner)
            if rest is None:
                break
            claim = _Steered(update, numbers, others, elsewhere, rest, inner).claim()
            if claim is not None:
                yield claim


def _read_as_data(update: Update, numbers: tuple[int, ...], others: tuple[int, ...], inner: Inner) -> Action | None:
    """How runs act on the rest where the numbers are data."""
    before = {f"x{i}": Var(update.types[i], _before(i)) for i in numbers}
    as_data = replace(update, components=tuple(substitute(e, before) for e in update.components))
    action = inner(restrict(as_data, others))
    return action if action is not None and _typed(action) else None


def _before(i: int) -> str:
    """What a number is called as data; no name of a user's has a space."""
    return f"number {i}"


def _typed(action: Action) -> bool:
    return all(e.type == type_ for e, type_ in zip(action.identity, action.types, strict=True))


def _set_anew(update: Update, inner: Inner) -> Iterator[_Elsewhere]:
    """Readings of numbers that are all set by data where a condition on data holds."""
    free = free_of(accumulator_names(update))
    plainly = _set_or_kept(update)
    if plainly is not None:
        yield plainly
        return
    for condition in reset.conditions(update):
        parts = [reset.split(component, condition) for component in update.components]
        if not all(free(fresh) for fresh, _ in parts):
            continue
        going_on = tuple(other for _, other in parts)
        kept = replace(_NOTHING, apply=update.accumulators)
        action = kept if going_on == update.accumulators else inner(replace(update, components=going_on))
        if action is not None and _typed(action):
            yield _Elsewhere((), tidy(apply("not", condition)), tuple(fresh for fresh, _ in parts), action)


def _set_or_kept(update: Update) -> _Elsewhere | None:
    """The reading of numbers that data choose to keep or to set, all of them alike."""
    steps = [_step(component, x) for component, x in zip(update.components, update.accumulators, strict=True)]
    found = [step for step in steps if step is not None and step.around is None]
    stays = {tidy(step.stays) for step in found}
    if len(found) < len(steps) or len(stays) > 1 or stays <= {TRUE, FALSE}:
        return None
    (kept,) = stays
    return _Elsewhere((), kept, tuple(tidy(step.fresh) for step in found), replace(_NOTHING, apply=update.accumulators))


def _of_few_values(part: Update, whole: Update, place: int, inner: Inner) -> Iterator[_Elsewhere]:
    """The reading of one integer that is compared with literals, and otherwise kept, turned around, or set by data.

    Where it cannot fall (unsigned, unbounded), it may be added to above the values.
    """
    if len(part.types) > 1 or not part.types[0].is_int:
        return
    (x,) = part.accumulators
    values = _compared(whole, whole.accumulators[place])
    if not 1 <= len(values) <= _MOST_VALUES:
        return
    elsewhere = tidy(_apart(part.components[0], x, values))
    step = _step(elsewhere, x)
    if step is not None and step.around is None:
        yield _Elsewhere(values, step.stays, (step.fresh,), replace(_NOTHING, apply=(x,)))
        return
    closed = None if step is None else _closed(values, x, step.around)
    if step is not None and closed is not None:
        one, other = Var(BOOL, "x0"), Var(BOOL, "y0")
        turned = (choose(other, step.around or x, x),)
        turning = Action((BOOL,), (step.turns,), (apply("!=", one, other),), (FALSE,), turned)
        yield _Elsewhere(closed, step.stays, (step.fresh,), turning)
    elif x.type.code == "uint" and part.meaning is Meaning.MATH and values[-1].value == len(values) - 1:
        action = inner(replace(part, components=(elsewhere,)))
        if action is not None and _typed(action):
            yield _Elsewhere(values, TRUE, (nought(x.type),), action)


def _closed(values: Sequence[Const], x: Var, around: Expr | None) -> tuple[Const, ...] | None:
    """The values with what they are turned to; None if those turn to others."""
    if around is None:
        return None
    images = {value: tidy(substitute(around, {x.name: value})) for value in values}
    found = tuple(dict.fromkeys((*values, *(image for image in images.values() if isinstance(image, Const)))))
    back = (tidy(substitute(around, {x.name: value})) for value in found)
    return found if len(found) <= _MOST_VALUES and all(image in found for image in back) else None


def _compared(update: Update, x: Var) -> tuple[Const, ...]:
    """The literals that decide comparisons of x: those it may be equal to, those on the shorter side of a bound."""
    found: dict[Const, None] = {}
    for component in update.components:
        for node in walk(component):
            if not isinstance(node, Op) or node.op not in _COMPARISONS or x not in node.args:
                continue
            op, (left, right) = node.op, node.args
            if left != x:
                op, left, right = MIRRORED.get(op, op), right, left
            if not isinstance(right, Const):
                continue
            if op in ("==", "!="):
                found.setdefault(right)
            elif x.type.code == "uint":
                below = range(int(right.value) + (op in ("<=", ">")))
                if below.stop > _MOST_VALUES:  # len() has an end
                    return ()
                found |= dict.fromkeys(Const(x.type, value) for value in below)
    return tuple(sorted(found, key=lambda literal: literal.value))


def _apart(expr: Expr, x: Var, values: Sequence[Const]) -> Expr:
    """`expr` where x is none of the values."""
    rows = {int(v.value) for v in values}

    def rule(node: Expr) -> Expr | None:
        if not isinstance(node, Op) or node.op not in _COMPARISONS or x not in node.args:
            return None
        op, (left, right) = node.op, node.args
        if left != x:
            op, left, right = MIRRORED.get(op, op), right, left
        if not isinstance(right, Const):
            return None
        if op in ("==", "!="):
            return Const(BOOL, op == "!=") if right in values else None
        low = range(int(right.value) + (op in ("<=", ">")))
        if x.type.code != "uint" or low.stop > _MOST_VALUES or not rows.issuperset(low):
            return None
        return Const(BOOL, op in (">", ">="))

    return transform(expr, rule)


@dataclass(frozen=True, slots=True)
class _Step:
    """x -> x, or `around` of x where it turns; or `fresh` where it does not stay."""

    stays: Expr
    fresh: Expr
    turns: Expr
    around: Expr | None


def _step(expr: Expr, x: Var) -> _Step | None:
    """How a step without comparisons changes x; None in another way."""
    if expr == x:
        return _Step(TRUE, nought(x.type), FALSE, None)
    used = names(expr)
    if x.name not in used:
        return _Step(FALSE, expr, FALSE, None)
    if used == {x.name}:
        return _Step(TRUE, nought(x.type), TRUE, expr)
    if not isinstance(expr, Op) or expr.op != "select" or x.name in names(expr.args[0]):
        return None
    condition = expr.args[0]
    a, b = _step(expr.args[1], x), _step(expr.args[2], x)
    if a is None or b is None or len({s.around for s in (a, b)} - {None}) > 1:
        return None
    return _Step(
        choose(condition, a.stays, b.stays),
        b.fresh if a.stays == TRUE else a.fresh if b.stays == TRUE else choose(condition, a.fresh, b.fresh),
        choose(condition, a.turns, b.turns),
        a.around or b.around,
    )


class _Steered:
    """The lifting for one reading of the numbers, and one action of the rest.

    State: a row for each value that has one; whether the number was set elsewhere, and what it is since; what the run
    does before that; where the rest reads what that was, the data of the step that sets it and what is done after.
    """

    def __init__(
        self,
        update: Update,
        numbers: tuple[int, ...],
        others: tuple[int, ...],
        elsewhere: _Elsewhere,
        rest: Action,
        inner: Inner,
    ) -> None:
        self.update, self.numbers, self.others, self.elsewhere, self.rest = update, numbers, others, elsewhere, rest
        self.inner = inner
        self.before = tuple(Var(update.types[i], _before(i)) for i in numbers)
        self.free = free_of(frozenset(v.name for v in self.before))
        (self.number_types,) = (tuple(update.types[i] for i in numbers),)

    def claim(self) -> Claim | None:
        """The claim; None where what is read before the number is set stays unknown."""
        away = self.rest.data
        if self.elsewhere.rows:
            (x,) = self.before
            away = tuple(_apart(e, x, self.elsewhere.rows) for e in away)
        away = tuple(map(tidy, away))
        going = self.elsewhere.number
        self.set_by: tuple[Var, ...] = ()
        self.together = False
        self.reads = not all(map(self.free, away))
        if not self.reads:
            self.on_the_way, self.setting = away, away
        else:
            self.on_the_way = _where(away, self.elsewhere.stays, True)
            self.setting = _where(away, self.elsewhere.stays, False)
            self.together = not all(map(self.free, self.on_the_way))
            if self.together:
                whole = self.whole_way()
                if whole is None:
                    return None
                going, self.on_the_way = whole, ()
            own = {v.name for v in self.before} | self.update.constants
            found = dict.fromkeys(v for e in self.setting for v in variables(e))
            self.set_by = tuple(v for v in found if v.name not in own)
        rows = len(self.elsewhere.rows)
        run = len(self.rest.types)
        self.layout = [
            *[len(self.number_types), run] * rows,
            1,
            len(self.number_types),
            len(going.types),
            0 if self.together else run,
            len(self.set_by),
            run if self.reads else 0,
        ]
        if sum(self.layout) > _MOST_PARTS:
            return None
        lift = self.lift(going)
        kept = self.invariant(going)
        assumes = tuple(dict.fromkeys((*self.rest.assumes, *going.assumes)))
        if kept:
            return Claim(self.update, lift=lift, invariant=kept, assumes=assumes)
        return Claim(self.update, lift=pruned(lift), assumes=assumes)

    def whole_way(self) -> Action | None:
        """How steps act on all together that do not set the number, where the rest has an operator on itself."""
        plain = self.rest.types == tuple(self.update.types[i] for i in self.others)
        if self.elsewhere.rows or not plain or self.rest.apply != self.rest.operator:
            return None
        components = _where(self.update.components, self.elsewhere.stays, True)
        action = self.inner(replace(self.update, components=components))
        return action if action is not None and _typed(action) else None

    def invariant(self, going: Action) -> Exprs:
        found: list[Expr] = []
        rows = 2 * len(self.elsewhere.rows)
        for at in range(len(self.layout)):
            start = sum(self.layout[:at])
            action = going if at == rows + 2 else None
            if (at < rows and at % 2) or at in (rows + 3, rows + 5):
                action = self.rest if self.layout[at] else None
            if action is not None:
                found += [renumbered(c, {i: start + i for i in range(len(action.types))}) for c in action.invariant]
        return tuple(found)

    def parts(self, letter: str, types: Sequence[Type]) -> _State:
        flat, groups = list(operands(letter, types)), []
        for size in self.layout:
            groups.append(tuple(flat[:size]))
            del flat[:size]
        rows = 2 * len(self.elsewhere.rows)
        return _State(tuple(zip(groups[:rows:2], groups[1:rows:2], strict=True)), groups[rows][0], *groups[rows + 1 :])

    def lift(self, going: Action) -> Lift:
        rest, elsewhere = self.rest, self.elsewhere
        row: tuple[Type, ...] = (*self.number_types, *rest.types) * len(elsewhere.rows)
        after = rest.types if self.reads else ()
        way = () if self.together else rest.types
        types = (*row, BOOL, *self.number_types, *going.types, *way, *(v.type for v in self.set_by), *after)
        s, t = self.parts("x", types), self.parts("y", types)
        operator: list[Expr] = []
        data: list[Expr] = []
        identity: list[Expr] = []
        for value, (number, run) in zip(elsewhere.rows, s.rows, strict=True):
            then, more = self.effect(number, t, going)
            operator += [*then, *rest.combine(run, more)]
            (x,) = (self.update.accumulators[i] for i in self.numbers)
            component = self.update.components[self.numbers[0]]
            data.append(tidy(substitute(component, {x.name: value})))
            data += map(tidy, marked(rest.data, {self.before[0].name: value}))
            identity += [value, *rest.identity]
        then, more = self.effect(s.now, t, going)
        operator += [
            apply("or", s.set, t.set),
            *_each(s.set, then, t.now),
            *_each(s.set, s.number, going.combine(s.number, t.number)),
        ]
        if self.reads:
            operator += _each(s.set, s.run, rest.combine(s.run, t.run)) if way else ()
            operator += _each(s.set, s.by, t.by)
            operator += _each(s.set, rest.combine(s.after, more), t.after)
        else:
            operator += rest.combine(s.run, _each(s.set, more, t.run))
        stays = elsewhere.stays
        data += [tidy(apply("not", stays)), *elsewhere.fresh]
        data += map(tidy, _each(stays, going.data, going.identity))
        if self.reads:
            data += map(tidy, _each(stays, self.on_the_way, rest.identity)) if way else ()
            data += [*self.set_by, *rest.identity]
        else:
            data += self.on_the_way
        identity += [FALSE, *map(nought, self.number_types), *going.identity, *(rest.identity if way else ())]
        identity += [nought(v.type) for v in self.set_by]
        identity += rest.identity if self.reads else ()
        x_all = self.update.accumulators
        then, run = self.effect([x_all[i] for i in self.numbers], t, going)
        ended = rest.act([x_all[i] for i in self.others], run)
        applied = dict(zip(self.numbers, then, strict=True)) | dict(zip(self.others, ended, strict=True))
        return Lift(types, tuple(data), tuple(operator), tuple(identity), tuple(applied[i] for i in sorted(applied)))

    def effect(self, number: Sequence[Expr], t: _State, going: Action) -> tuple[Exprs, Exprs]:
        """Where the run t takes a number, and how it acts on the rest then."""
        rest = self.rest
        if self.together:
            # What the rest does from its unit is what is done to it.
            state = dict(zip(self.numbers, number, strict=True)) | dict(zip(self.others, rest.identity, strict=True))
            ended = going.act([state[i] for i in sorted(state)], t.number)
            reached, way = (tuple(ended[i] for i in part) for part in (self.numbers, self.others))
        else:
            reached, way = going.act(number, t.number), t.run
        run = way
        if self.reads:
            values: dict[str, Expr] = {v.name: e for v, e in zip(self.before, reached, strict=True)}
            values |= {v.name: e for v, e in zip(self.set_by, t.by, strict=True)}
            set_ = rest.combine(rest.combine(way, marked(self.setting, values)), t.after)
            run = _each(t.set, set_, way)
        then = _each(t.set, t.now, reached)
        for value, (image, own) in zip(reversed(self.elsewhere.rows), reversed(t.rows), strict=True):
            here = apply("==", number[0], value)
            then, run = _each(here, image, then), _each(here, own, run)
        return then, run


@dataclass(frozen=True, slots=True)
class _State:
    rows: tuple[tuple[Exprs, Exprs], ...]
    set: Expr
    now: Exprs
    number: Exprs
    run: Exprs
    by: Exprs
    after: Exprs


def _each(condition: Expr, true: Sequence[Expr], false: Sequence[Expr]) -> Exprs:
    return tuple(choose(condition, a, b) for a, b in zip(true, false, strict=True))


def _where(exprs: Exprs, condition: Expr, holds: bool) -> Exprs:
    """Expressions where it is known whether a condition holds."""
    known = _facts(condition, holds)
    return tuple(tidy(exchange(e, known)) for e in exprs)


def _facts(condition: Expr, holds: bool) -> dict[Expr, Expr]:
    """What is known of conditions where one holds, or does not."""
    found: dict[Expr, Expr] = {condition: Const(BOOL, holds), apply("not", condition): Const(BOOL, not holds)}
    if not isinstance(condition, Op):
        return found
    if condition.op == "not":
        found |= _facts(condition.args[0], not holds)
    if condition.op == ("and" if holds else "or"):
        for part in condition.args:
            found |= _facts(part, holds)
    if condition.op in OPPOSITE and not condition.args[0].type.is_float:
        found[apply(OPPOSITE[condition.op], *condition.args)] = Const(BOOL, not holds)
    if condition.op in ("==", "!="):
        found[apply("!=" if condition.op == "==" else "==", *condition.args)] = Const(BOOL, not holds)
    return found
