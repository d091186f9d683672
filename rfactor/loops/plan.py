"""A loop that has been read and proved: the operator behind it, and what a call needs to run it."""

from __future__ import annotations

import ast
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rfactor.errors import FoldError
from rfactor.ir.expr import Expr, Op, Var, apply, const, names, substitute_all, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type
from rfactor.loops.body import POINTED, Body, Key, Reading, Slot
from rfactor.loops.kinds import FALSE
from rfactor.loops.symbols import disjunction
from rfactor.loops.update import Abstracted, abstracted, is_fixed, is_stateful, renumbered
from rfactor.matcher.answer import Answer

YES = ("associative", "lifted")


@dataclass(frozen=True, eq=False)
class Operator:
    """What neighbouring runs of steps make of the state, and how that is joined: all proved.

    `first` is the summary of one step and `update` that of one more; both are over data as the kernels read it. The
    summary of two runs is `joined`, over x (left) and y (right); `applied` is the state x after a run y.
    """

    answer: Answer
    types: tuple[Any, ...]
    first: tuple[Expr, ...]
    update: tuple[Expr, ...]
    joined: tuple[Expr, ...]
    applied: tuple[Expr, ...]
    assumed: tuple[Expr, ...]
    """Conditions on data and constants under which the proofs hold."""
    invariants: tuple[Expr, ...] = ()
    """Conditions on the state before the loop under which they hold; each step keeps them."""
    driver: Any = None
    """The states that the loop is driven by, where a summary is a table over them."""

    @property
    def state(self) -> tuple[Var, ...]:
        """The variables of a summary, on the left."""
        return tuple(Var(t, f"x{k}") for k, t in zip(range(len(self.types)), self.types, strict=True))

    @property
    def right(self) -> tuple[Var, ...]:
        """The same on the right."""
        return tuple(Var(t, f"y{k}") for k, t in zip(range(len(self.types)), self.types, strict=True))

    @property
    def commutes(self) -> bool:
        """May runs be joined in any order?"""
        return self.driver is None and bool(self.answer.commutative)

    @cached_property
    def rounds(self) -> bool:
        """May another order of the steps round floats in another way?

        It does not where each float is an element that is chosen, or one operation on such elements, of which the
        least or greatest is kept: rounding is monotone, so that what holds of reals holds of rounded values.
        """
        from rfactor.loops.rounding import rounds

        return rounds(self.update, self.joined, self.applied)


@dataclass(eq=False)
class Plan:
    """A loop as it is compiled: types are fixed, lengths and numbers are those of the call."""

    reading: Reading
    live: tuple[int, ...]
    """The slots that are carried; others are assigned anew in every step."""
    slots: tuple[Slot, ...]
    update: tuple[Expr, ...]
    """The next value of each carried number, over x0, x1, …."""
    operator: Operator | None
    """None where nothing is carried."""
    leaves: Expr
    required: tuple[tuple[Expr, str], ...]
    depth: int
    kernels: dict[Any, Any] = field(default_factory=dict)
    choice: dict[Any, Any] = field(default_factory=dict)
    """What was found to be fastest, by the size of the call."""
    settled: dict[Expr, int] = field(default_factory=dict)
    """By which bounds a requirement was settled at the latest call: 0 those of types, 1 those of small integers, 2 those
    of the data; -1: by none, it was looked at in every step."""
    key: Key | None = None
    """What the numbers are kept by; None for those of the loop as a whole."""
    groups: tuple[Plan, ...] = ()
    """The plans of numbers that are kept by key."""
    signature: Any = None
    """The types of the loop's surroundings that it was made for."""

    @cached_property
    def fixed_requirements(self) -> tuple[tuple[Expr, str], ...]:
        """Those that are decided before the loop begins."""
        assumed = () if self.operator is None else self.operator.assumed
        return tuple((e, w) for e, w in (*self.required, *((a, "an assumption") for a in assumed)) if is_fixed(e))

    @cached_property
    def data_requirements(self) -> tuple[tuple[Expr, str], ...]:
        """Those of each step's data alone."""
        assumed = () if self.operator is None else self.operator.assumed
        every = (*self.required, *((a, "an assumption") for a in assumed))
        return tuple((e, w) for e, w in every if not is_fixed(e) and not is_stateful(e))

    @cached_property
    def state_requirements(self) -> tuple[tuple[Expr, str], ...]:
        """Those of the state."""
        return tuple((e, w) for e, w in self.required if is_stateful(e))

    @cached_property
    def compares_floats(self) -> bool:
        """Do floats of the state or beside it decide anything? Then NaN is looked out for."""
        return any(
            isinstance(n, Op)
            and n.op in ("<", "<=", ">", ">=", "==", "!=", "min", "max")
            and n.args[0].type.is_float
            and is_stateful(n)
            for e in self.update
            for n in walk(e)
        )

    @cached_property
    def unordered(self) -> Expr:
        """Holds of data that no proof over the reals speaks of: NaN where floats decide, and infinities where they are
        computed with as well."""
        if not self.compares_floats or self.operator is None:
            return FALSE
        computed = any(
            isinstance(n, Op) and n.type.is_float and n.op in ("+", "-", "*", "/") and is_stateful(n)
            for e in self.update
            for n in walk(e)
        )
        found: dict[Expr, None] = {}
        for e in self.update:
            for part in _data_of(e):
                if part.type.is_float:
                    found[part] = None
        condition: Expr = FALSE
        for part in found:
            size = apply("abs", part)
            bad = (
                apply("not", apply("<", size, const(part.type, float("inf")))) if computed else apply("!=", part, part)
            )
            condition = disjunction(condition, bad)
        return condition

    @property
    def floats(self) -> bool:
        """Is any number of the state a float?"""
        return any(s.var.type.is_float for s in self.slots)


def _data_of(e: Expr) -> list[Expr]:
    """The largest parts that do not depend on the state and are no literals."""
    from rfactor.ir.expr import Const

    if isinstance(e, Const):
        return []
    if not is_stateful(e):
        return [e]
    return [part for child in e.children for part in _data_of(child)]


def made(body: Body, loop: ast.For | ast.While, *, timeout: float, floats: str, prove: bool = True) -> Plan:
    """Read the loop, and prove the operators behind it. Raises `FoldError`.

    Without `prove` there are no operators: steps are taken in order.
    """
    reading = body.read()
    observed = [reading.leaves, *(r.condition for r in reading.required)]
    for s in reading.stored:
        observed += [s.value.expr, s.mask]
    live = _live(reading, observed)
    owner = {f"x{k}": _group_of(reading, k) for k in range(len(reading.slots))}
    for e in (*observed, *reading.update):
        _check_apart(body, e, owner, loop)
    for s in reading.stored:
        if any(owner.get(n) for e in (s.value.expr, s.mask) for n in names(e)):
            raise body.no("what is kept by key is stored step by step", s.node, "R5", "keep it in a variable")
    for k, e in zip(range(len(reading.update)), reading.update, strict=True):
        if any(owner[n] != _group_of(reading, k) for n in names(e) if n in owner):
            raise body.no(
                f"{reading.slots[k].name} depends on what is kept by key", loop, "R5",
                "the loop remembers what it saw: compute that before it",
            )  # fmt: skip
    parts = []
    for group in ("", *reading.keys):
        chosen = [k for k in live if _group_of(reading, k) == group]
        if group and not chosen:
            continue
        parts.append(_part(body, reading, group, chosen, owner, loop, timeout, floats, prove))
    parts[0].groups = tuple(parts[1:])
    return parts[0]


def _group_of(reading: Reading, k: int) -> str:
    """The key of a number of the state; empty for one of the loop as a whole."""
    slot = reading.slots[k]
    return reading.key_of.get(slot.name, "") if slot.part.startswith("at ") else ""


def _check_apart(body: Body, e: Expr, owner: Mapping[str, str], loop: ast.AST) -> None:
    if len({owner[n] for n in names(e) if n in owner}) > 1:
        raise body.no("numbers kept by different keys are used together", loop, "R5", "use one key in a step")


def _part(
    body: Body, reading: Reading, group: str, chosen: list[int], owner: Mapping[str, str], loop: ast.AST,
    timeout: float, floats: str, prove: bool,
) -> Plan:  # fmt: skip
    """The plan of the numbers of one group."""
    values = {f"x{k}": Var(reading.slots[k].var.type, f"x{j}") for j, k in zip(range(len(chosen)), chosen, strict=True)}
    update = renumbered(reading.update, chosen)
    slots = tuple(
        Slot(s.name, s.part, Var(s.var.type, f"x{j}"), s.kinds)
        for j, s in zip(range(len(chosen)), (reading.slots[k] for k in chosen), strict=True)
    )
    own = {f"x{k}" for k in chosen}

    def of_group(e: Expr) -> bool:
        return (not group and not names(e) & set(owner)) or bool(names(e) & own)

    leaves: Expr = FALSE
    for term in _terms(reading.leaves):
        if of_group(term):
            leaves = disjunction(leaves, substitute_all([term], values)[0])
    required = tuple(
        (substitute_all([r.condition], values)[0], r.why) for r in reading.required if of_group(r.condition)
    )
    operator = proved(body, update, slots, loop, timeout=timeout, floats=floats) if chosen and prove else None
    key = reading.keys[group] if group else None
    return Plan(reading, tuple(chosen), slots, update, operator, leaves, required, body.depth, key=key)


def _terms(condition: Expr) -> list[Expr]:
    """The parts of a disjunction."""
    if isinstance(condition, Op) and condition.op == "or":
        return [t for e in condition.args for t in _terms(e)]
    return [] if condition == FALSE else [condition]


def _live(reading: Reading, exprs: list[Expr]) -> list[int]:
    """The slots whose old value matters, with the others of their variables."""
    used = {n for e in exprs for n in names(e)}
    live: set[int] = set()
    for k in range(len(reading.slots)):
        of_key = reading.slots[k].part.startswith("at ") and reading.slots[k].name in reading.key_of
        if of_key or f"x{k}" in used or any(f"x{k}" in names(e) for e in reading.update):
            live.add(k)
    whole = {reading.slots[k].name for k in live}
    return [k for k in range(len(reading.slots)) if reading.slots[k].name in whole]


def proved(
    body: Body, update: tuple[Expr, ...], slots: tuple[Slot, ...], loop: ast.AST, *, timeout: float, floats: str
) -> Operator:
    """The operator behind an update. Raises `FoldError` where there is none or none is found."""
    from rfactor.loops.kept_answers import keep, recalled
    from rfactor.matcher.invariants.recognize_from import recognize_from
    from rfactor.prover.limits import Limits

    start = tuple(_start_of(body, s) for s in slots)

    size = sum(map(_written_size, update))
    if size > LARGEST:
        raise body.no(
            f"what a step does to {', '.join(dict.fromkeys(s.name for s in slots))} is too large to prove anything of "
            f"({size:.3g} operations when written out)", loop, "R8", "make the step smaller, or split the loop",
        )  # fmt: skip
    integers = any(n.type.is_int for e in update for n in walk(e))
    meanings = [Meaning.WRAP, Meaning.MATH] if integers else [Meaning.WRAP]
    refused: tuple[Abstracted, Answer] | None = None
    limits = Limits(seconds=timeout).starting_now()
    kept = recalled(update, start, floats, limits)
    if kept is not None and (kept[1].rounded is None or floats == "anyway"):
        return operator_of(*kept)
    begun = time.perf_counter()
    for meaning in meanings:
        for whole in (True, False):
            form = abstracted(update, meaning, whole)
            if whole:
                driven = _driven(abstracted(update, meaning, choices=True), start, limits, floats)
                if driven is not None:
                    return driven
            answer, invariants, _ = recognize_from(form.update, start, limits)
            if answer.verdict in YES:
                if answer.rounded is not None and floats != "anyway":
                    raise body.no(
                        "an integer is decided by floats that rounding may change: another order may give another",
                        loop, "R9", 'floats="anyway" takes that, integers in place of floats avoid it',
                    )  # fmt: skip
                keep(update, start, floats, form, whole, answer, time.perf_counter() - begun)
                return operator_of(form, answer, invariants)
            better = answer.verdict == "not_associative" and (refused is None or meaning is Meaning.MATH)
            if refused is None or better or (answer.verdict, refused[1].verdict) == ("not_associative", "unknown"):
                refused = form, answer
            if not _has_inner_data(form):
                break
    assert refused is not None
    raise _refusal(body, *refused, slots, loop)


LARGEST = 3000
"""Operations of an update, those that are shared counted each time, that the matcher is asked about."""


def _written_size(e: Expr) -> float:
    """The number of operations of an expression when it is written out."""
    sizes: dict[Expr, float] = {}
    for node in walk(e):
        sizes[node] = 1 + sum(sizes.get(c, 1.0) for c in node.children)
    return sizes[e]


def _driven(form: Abstracted, start: tuple[Expr | None, ...], limits: Any, floats: str) -> Operator | None:
    """The operator of a loop that few states drive; None where there is no such driver, or what it drives has none."""
    from rfactor.loops.automaton import driven_update, driver_of, table
    from rfactor.matcher.recognize import recognize

    driver = driver_of(form.update, start)
    if driver is None or len(driver.values) < 2:
        return None
    rest_update, rest = driven_update(form.update, driver)
    if not rest:
        answer = Answer(form.update, "lifted", source="synthesis")
        made_ = table(form.update, driver, rest, (), (), (), (), ())
    else:
        answer = recognize(rest_update, limits=limits.at_most(rlimit=limits.rlimit // 4), effort="find")
        if answer.verdict not in YES or (answer.rounded is not None and floats != "anyway"):
            return None
        inner = operator_of(Abstracted(rest_update, {}), answer)
        made_ = table(
            form.update, driver, rest, inner.first, inner.update, inner.joined, inner.applied, inner.types
        )  # fmt: skip
    c = form.concrete
    invariant = _one_of(driver, form.update)
    return Operator(
        answer, made_.types, c(made_.first), c(made_.update), c(made_.joined), c(made_.applied),
        c(answer.assumes), c((invariant,)), driver,
    )  # fmt: skip


def _one_of(driver: Any, update: Any) -> Expr:
    """The state is one of the driver's."""
    result: Expr = FALSE
    for values in driver.values:
        same: Expr | None = None
        for k, v in zip(driver.places, values, strict=True):
            here = apply("==", Var(update.types[k], f"x{k}"), v)
            same = here if same is None else apply("and", same, here)
        assert same is not None
        result = disjunction(result, same)
    return result


def _has_inner_data(form: Abstracted) -> bool:
    return any(isinstance(e, Op) for n, e in form.meanings.items() if n[0] == "d")


def _start_of(body: Body, slot: Slot) -> Expr | None:
    """The value of a number of the state before the loop; None where it is not known, or of one element by key."""
    from rfactor.loops.state_parts import part_of

    if slot.part.startswith(("last ", "at ", POINTED)):
        return None
    value = part_of(body.around.values[slot.name], slot.part)
    value = value.item() if hasattr(value, "item") else value
    return const(slot.var.type, value) if holds_value(slot.var.type, value) else None


def holds_value(type_: Type, value: Any) -> bool:
    """Does a type have a number exactly?"""
    if type_.is_float:
        if isinstance(value, int):
            return abs(value) <= 1 << (type_.digits)
        return type_.bits == 64 or not math.isfinite(value) or const(type_, value).value == value
    if isinstance(value, float):
        return False
    return bool(type_.min <= value <= type_.max)


def operator_of(form: Abstracted, answer: Answer, invariants: tuple[Expr, ...] = ()) -> Operator:
    """An answer with what its variables stand for put in."""
    if answer.verdict == "associative":
        assert answer.operator is not None
        assert answer.data is not None
        types = form.update.types
        first, joined = answer.data, answer.operator
        update = answer.update.components
        applied = joined
    else:
        assert answer.lift is not None
        lift = answer.lift
        types, first, joined, applied = lift.types, lift.data, lift.operator, lift.apply
        update = substitute_all(joined, {f"y{k}": e for k, e in zip(range(len(first)), first, strict=True)})
        update = tuple(e if e.type.is_float else simplify(e) for e in update)
    c = form.concrete
    return Operator(answer, tuple(types), c(first), c(update), c(joined), c(applied), c(answer.assumes), c(invariants))


def _refusal(body: Body, form: Abstracted, answer: Answer, slots: tuple[Slot, ...], loop: ast.AST) -> FoldError:
    from rfactor.loops.reasons import reason_of

    reason, kind, advice = reason_of(form, answer, slots, body.reading)
    return body.no(reason, loop, kind, advice)
