"""Each obligation to the solver, with no more beside it than it may need; then with all there is.

A proof from fewer conditions is a proof. A counterexample has to fulfil all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rfactor.compiler.verify.normal import Forms
from rfactor.compiler.verify.result import Obligation
from rfactor.compiler.verify.spec import Query, Spec, Step
from rfactor.compiler.verify.terms import TRUE, any_of, compare, evaluated, integer, negation
from rfactor.ir.expr import Const, Expr, Value, Var, names, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, I64, Type
from rfactor.prover.limits import Limits
from rfactor.prover.smt import GaveUp, Outcome, Sat, Unsat, solve

_SPELT_OUT, _FARTHEST = 2, 6
"""How many definitions away from the goal names are spelt out, and the last conditions are taken from."""
_LITTLE = 0.02
"""Of the solver's work for one question, what is spent where fewer conditions may be enough."""
_HIDDEN = ("earlier ", "wrapped", "turns", "whole", "truncated", "float", "value", "some ")


@dataclass
class Decider:
    """Answers the obligations of one query."""

    query: Query
    timeout: float
    _answers: dict[tuple[Expr, ...], Outcome] = field(default_factory=dict)
    _forms: dict[Form, bool] = field(default_factory=dict)
    _written: Forms = field(default_factory=Forms)

    def __post_init__(self) -> None:
        number = {name: at for at, name in enumerate(self.query.meanings.values)}
        self._last = [max((number.get(name, -1) for name in names(one)), default=-1) for one in self.query.asserted]
        """Of each check on entry, the last value that it is made of."""

    def decide(self, spec: Spec) -> Obligation:
        """Its verdict."""
        started = time.process_time()
        asked: list[tuple[Expr, ...]] = []
        verdict, reason, values = self._verdict(spec, asked)
        seconds = time.process_time() - started
        return Obligation(spec.place, verdict, reason, values, seconds, tuple(dict.fromkeys(asked)))  # type: ignore[arg-type]

    def _verdict(self, spec: Spec, asked: list[tuple[Expr, ...]]) -> tuple[str, str, Mapping[str, Value]]:
        if spec.problem:
            return "unknown", spec.problem, {}
        outcomes = [(step, self._step(spec, step, asked)) for step in spec.steps]
        failed = [(step, outcome) for step, outcome in outcomes if not isinstance(outcome, Unsat)]
        if not failed:
            return "proven", "", {}
        reason = ""
        candidates: list[tuple[Step, Outcome]] = [*failed]
        if spec.instead:
            first = list(asked)
            asked.clear()
            others = [(step, self._step(spec, step, asked)) for step in spec.instead]
            if all(isinstance(outcome, Unsat) for _, outcome in others):
                return "proven", "", {}
            asked[:0] = first
            both = [
                Step(any_of((step.goal, other.goal)), (*step.given, *other.given))
                for step, _ in failed for other, outcome in others if not isinstance(outcome, Unsat)
            ]  # fmt: skip
            candidates = [(step, self._step(spec, step, asked)) for step in both]
        for step, outcome in candidates:
            if isinstance(outcome, GaveUp):
                reason = reason or outcome.reason
            elif isinstance(outcome, Sat):
                doubt = (
                    "the condition may fail, which need not do harm"
                    if not step.decisive
                    else self._doubt(spec, step, outcome)
                )
                if not doubt:
                    return "refuted", "", self._told(outcome.model)
                reason = reason or doubt
        return "unknown", reason or "no way to prove it holds", {}

    def _step(self, spec: Spec, step: Step, asked: list[tuple[Expr, ...]]) -> Outcome:
        """Whether the goal may fail."""
        if step.goal == TRUE:
            return Unsat()
        goal = [negation(step.goal), *step.given, *spec.given]
        for conditions in self._near(goal, spec):
            if self._never(conditions):
                asked.append(conditions)
                return Unsat()
        for conditions in (self._behind(goal, spec), self._behind([*goal, *spec.running], spec), self._all(goal, spec)):
            outcome = self._asked(conditions)
            if isinstance(outcome, Unsat):
                break
        asked.append(conditions)
        return outcome

    def _near(self, goal: Sequence[Expr], spec: Spec) -> Iterator[tuple[Expr, ...]]:
        """The goal with what is known of its variables; then of those that these are defined by, and so on."""
        before: tuple[Expr, ...] = ()
        for distance in range(_FARTHEST):
            if distance == _SPELT_OUT:
                yield self._spelt_out(goal, spec)
            known, facts = self.query.meanings.near(goal, distance)
            conditions = self._with(goal, facts, known, spec)
            if conditions == before:
                break
            yield conditions
            before = conditions

    def _spelt_out(self, goal: Sequence[Expr], spec: Spec) -> tuple[Expr, ...]:
        """The goal in terms of loops, sizes and data, and what is known of these, each in the form of all that equal it
        by the rules of sums."""
        meanings = self.query.meanings
        spelt = [*map(meanings.expanded, goal)]
        for _ in range(_SPELT_OUT):
            _, facts = meanings.near(spelt, 0)
            _, more = meanings.near(spelt, 1)
            spelt = [*dict.fromkeys((*spelt, *map(meanings.expanded, (*facts, *more))))]
        known = frozenset().union(*map(names, spelt))
        checks = [one for one in map(meanings.expanded, self._checks(spec)) if names(one) <= known]
        return tuple(dict.fromkeys(map(self._written.of, (*spelt, *checks))))

    def _behind(self, goal: Sequence[Expr], spec: Spec) -> tuple[Expr, ...]:
        """The goal with all that its variables are defined by."""
        known, facts = self.query.meanings.closure(goal)
        return self._with(goal, facts, known, spec)

    def _with(self, goal: Sequence[Expr], facts: Sequence[Expr], known: frozenset[str], spec: Spec) -> tuple[Expr, ...]:
        checks = [one for one in self._checks(spec) if names(one) <= known]
        return tuple(dict.fromkeys((*goal, *facts, *checks)))

    def _never(self, conditions: tuple[Expr, ...]) -> bool:
        """Whether little work shows that the conditions cannot hold together, or conditions of the same form."""
        form = alike(conditions)
        if form not in self._forms:
            self._forms[form] = isinstance(solve(conditions, Meaning.MATH, _limits(self.timeout * _LITTLE)), Unsat)
        return self._forms[form]

    def _all(self, goal: Sequence[Expr], spec: Spec) -> tuple[Expr, ...]:
        """Everything that is known there: checks of something else may fail too, so that nothing runs at all."""
        everything = [*goal, *spec.running, *self._checks(spec)]
        _, facts = self.query.meanings.closure(everything)
        return tuple(dict.fromkeys((*everything, *facts)))

    def _checks(self, spec: Spec) -> Sequence[Expr]:
        """The checks on entry that an obligation may rely on: what is asked of a value that checks are made of comes
        before those of later values."""
        if spec.defined is None:
            return self.query.asserted[: spec.before]
        return [one for one, last in zip(self.query.asserted, self._last, strict=True) if last < spec.defined]

    def _asked(self, conditions: tuple[Expr, ...]) -> Outcome:
        found = self._answers.get(conditions)
        if found is None:
            found = self._answers[conditions] = solve(conditions, Meaning.MATH, _limits(self.timeout))
        return found

    def _doubt(self, spec: Spec, step: Step, found: Sat) -> str:
        """Why a counterexample may be none; empty where it is one."""
        goal = [negation(step.goal), *step.given, *spec.given]
        conditions = self._all(goal, spec)
        vague = self.query.meanings.opaque & self.query.meanings.closure((*goal, *spec.running))[0]
        if vague:
            return f"{self.query.meanings.shown[min(vague)]} is known by its range alone"
        if any(evaluated(condition, found.model) is False for condition in conditions):
            return "the solver's values were not confirmed"
        if spec.otherwise is not None:
            free = {variable.name for variable in spec.otherwise.variables}
            fixed = [
                compare("==", Var(_type(value), name), _literal(value))
                for name, value in found.model.items()
                if name not in free and not isinstance(value, float) and name in _plain(conditions)
            ]
            _, facts = self.query.meanings.closure((spec.otherwise.condition,))
            outcome = self._asked((spec.otherwise.condition, *fixed, *facts))
            if not isinstance(outcome, Unsat):
                return "another iteration may do it"
        return ""

    def _told(self, model: Mapping[str, Value]) -> dict[str, Value]:
        shown = self.query.meanings.shown
        return {
            name: value
            for name, value in sorted(model.items())
            if not name.startswith(("quotient ", *_HIDDEN)) and name in shown
        }


Form = tuple[tuple[object, ...], ...]


def alike(conditions: Sequence[Expr]) -> Form:
    """The form of conditions, in order: the same where they differ in the names of variables alone."""
    places: dict[Expr, int] = {}
    form: list[tuple[object, ...]] = []
    for condition in conditions:
        for node in walk(condition):
            if node not in places:
                places[node] = len(places)
                own = node.type if isinstance(node, Var) else node._label()
                form.append((type(node), own, *(places[child] for child in node.children)))
        form.append((places[condition],))
    return tuple(form)


def _limits(timeout: float) -> Limits:
    """Work for about that many seconds, counted: a busy machine changes no verdict, but for four times as many."""
    return Limits(rlimit=max(1, int(timeout * 10_000_000)), seconds=4 * timeout)


def _plain(conditions: Iterable[Expr]) -> frozenset[str]:
    return frozenset().union(*map(names, conditions))


def _type(value: Value) -> Type:
    return BOOL if isinstance(value, bool) else I64


def _literal(value: Value) -> Expr:
    return Const(BOOL, value) if isinstance(value, bool) else integer(int(value))
