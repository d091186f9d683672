"""No operator for an update of which some data are fixed, none for the update: a refusal of `x*x + a` is one of
`x*x + a*b`, which is that for `b = 1`.

So a refusal serves each update whose parts that read data alone can be any datum, whatever the other parts are; and
each that does nothing unless a condition holds.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from rfactor.ir.canonical import canonical
from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import Const, Expr, Op, Value, Var, apply, const, names, substitute, variables, walk
from rfactor.ir.linear import linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import FALSE, TRUE
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.matcher.known.data import Parts
from rfactor.matcher.known.guarded import Guarded
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.refusal.instance import Datum, start_names, told
from rfactor.prover.verdict import Proven

Ask = Callable[[Update], Answer | None]
_FEW = 4
"""Data of a condition, and of a part, of which all choices are tried."""
_CHOICES = (1, 0)
"""What data are fixed at."""
_LARGE = 1e6
"""Above what literals are not tried."""
_TRIED = 64
"""Values of a condition's data that are tried."""


def by_parts(update: Update, ask: Ask) -> Answer | None:
    """The refusal of an update with a datum for each part that reads data alone, told of the update."""
    shape = Shape.of(update)
    if shape is None:
        return None
    own = frozenset(x.name for x in update.accumulators)
    parts = Parts(shape.general.components, own, shape.general.constants)
    if parts.are_plain() or not parts.may_stand(shape.meaning):
        return None
    onto = _Onto.of(shape.restored(parts.of), update)
    if onto is None:
        return None
    carriers = {var.name: carried.var for var, carried in zip(parts.of.values(), onto.carried, strict=True)}
    plain = tuple([substitute(component, carriers) for component in shape.restored(parts.components)])
    answer = ask(Update(plain, update.types, update.constants, update.meaning))
    return None if answer is None else _told(update, answer, {own.var.name: own for own in onto.carried}, onto.fixed)


def by_condition(update: Update, guarded: Guarded, answer: Answer) -> Answer | None:
    """The refusal of what is done where a condition holds, told of the update."""
    free = [var for var in variables(guarded.condition) if var.name not in update.constants]
    taken = {var.name for var in guarded.inner.data}
    if len(free) > _FEW or any(var.name in taken for var in free):
        return None
    near = {node.value + n for node in walk(guarded.condition) if _is_number(node) for n in (0, 1, -1)}
    choices = [v for v in sorted(near, key=abs) if v not in _CHOICES and abs(v) < _LARGE]
    for fixed in itertools.islice(_fixings(free, (*_CHOICES, *choices)), _TRIED):
        if canonical(substitute(guarded.condition, fixed)) == TRUE:
            return _told(update, answer, {}, fixed)
    return None


@dataclass(frozen=True, slots=True)
class _Carried:
    """A part that is `sign*var + shift` once other data are fixed: any datum, for some value of `var`."""

    var: Var
    sign: int
    shift: int

    def of(self, value: Value, meaning: Meaning) -> Value | None:
        """The value of the datum where the part has this one."""
        if self.var.type.is_bool:
            return bool(value) if self.sign == 1 else not value
        own = self.sign * (value - self.shift)
        if self.var.type.is_float or meaning is Meaning.MATH:
            return own if self.var.type.is_float or self.var.type.min <= own <= self.var.type.max else None
        return self.var.type.wrap(int(own))


@dataclass(frozen=True, slots=True)
class _Onto:
    """What parts are carried by, each by a datum of its own, and what the other data are fixed at."""

    carried: Sequence[_Carried]
    fixed: Mapping[str, Expr]

    @staticmethod
    def of(parts: Sequence[Expr], update: Update) -> _Onto | None:
        reads = [[var for var in variables(part) if var.name not in update.constants] for part in parts]
        every = list(dict.fromkeys(itertools.chain(*reads)))
        apart = [
            [v for v in own if sum(v in other for other in reads) == 1 and v.type == part.type]
            for own, part in zip(reads, parts, strict=True)
        ]
        if len(every) > _FEW + len(parts) or not all(apart):
            return None
        for carriers in itertools.islice(itertools.product(*apart), _FEW):
            rest = [var for var in every if var not in carriers]
            for fixed in _fixings(rest):
                carried = [
                    _carried(substitute(part, fixed), var, update) for part, var in zip(parts, carriers, strict=True)
                ]
                if all(carried):
                    return _Onto([one for one in carried if one is not None], fixed)
        return None


def _fixings(data: Sequence[Var], choices: Sequence[Value] = _CHOICES) -> Iterator[dict[str, Expr]]:
    """Literals for all data."""
    if len(data) > _FEW:
        return
    for values in itertools.product(*(_literals(var.type, choices) for var in data)):
        yield dict(zip((var.name for var in data), values, strict=True))


def _literals(type_: Type, choices: Sequence[Value]) -> list[Const]:
    """The choices that are values of a type."""
    if type_.is_bool:
        return [TRUE, FALSE]
    if type_.is_float:
        return [const(type_, float(value)) for value in choices]
    return [Const(type_, int(value)) for value in choices if value == int(value) and type_.min <= value <= type_.max]


def _is_number(node: Expr) -> TypeGuard[Const]:
    return isinstance(node, Const) and not node.type.is_bool and math.isfinite(node.value)


def _carried(part: Expr, var: Var, update: Update) -> _Carried | None:
    """What a part of which other data are fixed is, where it is any datum for some value of this one."""
    if update.meaning is Meaning.MATH and any(node.type.is_int and not _is_plain(node) for node in walk(part)):
        return None  # the canonical form takes ends of types for bounds, and data for what is not below 0
    if not simplifies_exactly((part,), update.meaning):
        return None
    form = canonical(part)
    if form == var:
        return _Carried(var, 1, 0)
    if names(form) != {var.name}:
        return None
    if var.type.is_bool:
        return _Carried(var, -1, 0) if canonical(apply("not", form)) == var else None
    if update.meaning is Meaning.MATH and not var.type.is_signed:
        return None
    terms, shift = linear(form)
    sign = terms.get(var)
    if len(terms) != 1 or sign not in (1, -1) or (shift and var.type.is_float):
        return None
    return _Carried(var, int(sign), int(shift))


def _is_plain(node: Expr) -> bool:
    return not isinstance(node, Op) or node.op in ("+", "-", "*", "neg", "select")


def _told(update: Update, answer: Answer, carried: Mapping[str, _Carried], fixed: Mapping[str, Expr]) -> Answer | None:
    """The refusal of the update with fixed data as one of the update; None where exact values do not show it."""
    if answer.verdict != "not_associative" or answer.counterexample is None or answer.reason is None:
        return None
    found = _Instance.of(answer)
    if found is None:
        return None
    # What is not read in canonical form may be anything.
    others: dict[str, Value] = {var.name: True if var.type.is_bool else 1 for var in update.data}
    others |= {name: value.value for name, value in fixed.items() if isinstance(value, Const)}
    runs: list[list[dict[str, Value]]] = []
    for run in found.runs:
        steps: list[dict[str, Value]] = []
        for datum in run:
            own = dict(others)
            for name, value in datum.items():
                moved = carried[name].of(value, update.meaning) if name in carried else value
                if moved is None:
                    return None
                own[name] = moved
            steps.append(own)
        runs.append(steps)
    constants = dict(found.constants)
    for component in update.components:
        for var in variables(component):
            if var.name in update.constants:
                constants.setdefault(var.name, True if var.type.is_bool else 1)
    proof = Proven("table", 0.0)
    shown = told(update, found.e, found.x, (runs[0], runs[1]), constants, proof)
    if shown is None:
        return None
    signed = all(type_.is_signed or type_.is_float or type_.is_bool for type_ in update.types)
    hint = answer.reason.rpartition("such a pair")[2] if signed else ""
    return Answer(update, "not_associative", counterexample=shown.instance, reason=shown.sentence + hint)


@dataclass(frozen=True, slots=True)
class _Instance:
    """What a counterexample's names say."""

    e: Sequence[Value]
    x: Sequence[Value]
    runs: tuple[Sequence[Datum], Sequence[Datum]]
    constants: Mapping[str, Value]

    @staticmethod
    def of(answer: Answer) -> _Instance | None:
        """Read from the names that `told` gives; None where they are others."""
        update, held = answer.update, dict(answer.counterexample or {})
        try:
            e = [held.pop(name) for name in start_names(update)]
            x = [held.pop(x.name) for x in update.accumulators]
            taken = {var.name for component in update.components for var in variables(component)}
            constants = {name: held.pop(name) for name in taken & update.constants}
        except KeyError:
            return None
        runs: dict[str, dict[int, dict[str, Value]]] = {"": {}, "'": {}}
        for var in sorted(update.data, key=lambda v: -len(v.name)):
            pattern = re.compile(rf"{re.escape(var.name)}('?)\.?(\d*)")
            for key in list(held):
                match = pattern.fullmatch(key)
                if match:
                    runs[match[1]].setdefault(int(match[2] or 1), {})[var.name] = held.pop(key)
        if held or not all(runs.values()):
            return None
        one, other = ([steps[n] for n in sorted(steps)] for steps in runs.values())
        return _Instance(e, x, (one, other), constants)
