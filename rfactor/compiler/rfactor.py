"""The `rfactor` pass: one update becomes an intermediate that reduces slices, and a merge of its results.

    f() = f() + b(r.x, r.y) for r.y in [0, h) for r.x in [0, w)
        rfactor(r.y, u)  ->
    intm(u) = 0
    intm(u) = intm(u) + b(r.x, u) for r.x in [0, w)
    f() = f() + intm(r.y) for r.y in [0, h)

After Suriana, Adams and Kamil, *Parallel Associative Reductions in Halide* (2017), section 3, with what it leaves open:
a factoring is made only where all of these conditions are proved, so that for integers the result is that of the
serial definition, bit for bit.

0. form: `extraction.check_form`.
1. step, 2. associativity, 3. left identity: proved by the matcher, whose answer is taken.
3. … or, where it has none or its type cannot hold it, slices start from their first element.
4. right identity; otherwise the merge skips slices that saw no element, known by `slices.occupied` before the loop runs
   or by a flag in every point of the intermediate.
5. order: the factored variables are outermost, or the operator commutes, or it would but for ties, which
   `serial_order` then decides as the serial loop does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.extraction import Extracted, recognized, self_calls
from rfactor.compiler.restore_order import Ordered, order_restored, serial_order, ties
from rfactor.compiler.slices import occupied
from rfactor.compiler.state import FALSE, TRUE, Column, Factoring, State, intermediate, merge
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Const, Expr, Var, apply, names, select, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.prover.infinity import has_infinity

Recognize = Callable[[Update], Answer]
FLAG = Column(".seen", BOOL, FALSE, TRUE)
"""The component that says whether a point saw an element,"""
CHOSEN_FLAG = replace(FLAG, choose=apply("or", FLAG.var("x"), FLAG.var("y")))
"""and where slices are merged in any order."""


@dataclass(frozen=True, slots=True)
class Factored:
    """What `factor` makes."""

    merged: Function
    """The function with its update replaced by the merge."""
    intermediate: Function
    """The new function: the pure variables of the original, then the new ones."""
    answer: Answer
    """The operator, and what proved it."""
    ranges: Mapping[str, ReductionVariable]
    """Where the merge reads the intermediate, by its new pure variables, and the ranges known before."""


def factor(
    function: Function,
    update: int,
    pairs: tuple[tuple[str, str], ...],
    intermediate_name: str,
    *,
    recognize: Recognize,
    semantics: Meaning = Meaning.WRAP,
    ranges: Mapping[str, ReductionVariable] | None = None,
) -> Factored:
    """Factor the reduction variables of `pairs` out of update number `update` (0 is the first) of `function`.

    `pairs` names reduction variables of that update, each with the pure variable that it becomes in the intermediate;
    of none, the intermediate is one slice.
    `recognize` finds and proves the operator, of machine arithmetic if it can, otherwise in the meaning of `semantics`:
    with `math` the serial bits are promised where nothing overflows, in the serial run nor in the factored one.
    `ranges` are those of pure variables outside of which the function is not read, such as an earlier
    `Factored.ranges`: to know them may save a component. The merge loops over the factored variables in the order of
    the domain, whatever the order of `pairs`. Raises `FactorError`, which names the update, the condition that fails,
    a counterexample where there is one, and what would be accepted.
    """
    definition = function.updates[update]
    try:
        return _factor(function, update, definition, pairs, intermediate_name, recognize, semantics, ranges or {})
    except FactorError as error:
        over = ", ".join(rvar for rvar, _ in pairs) or "nothing"
        raise FactorError(f"rfactor of {function.name}.update({update}) over {over}: {error}") from error


def _factor(
    function: Function,
    number: int,
    definition: Definition,
    pairs: tuple[tuple[str, str], ...],
    name: str,
    recognize: Recognize,
    semantics: Meaning,
    ranges: Mapping[str, ReductionVariable],
) -> Factored:
    check_pairs(function, definition, pairs)
    seen = seen_component(function, definition)
    kept = tuple(c for c in range(len(function.types)) if c != seen)
    extracted, answer = asked_about(function, definition, kept, semantics, recognize)
    asked = Factoring(function, definition, pairs, name)
    plan = _plan(asked, answer, extracted, kept, seen, ranges)
    made = intermediate(asked, plan)
    updates = (*function.updates[:number], merge(asked, plan, made), *function.updates[number + 1 :])
    merged = Function(function.name, function.variables, function.types, function.pure, updates)
    became = dict(pairs)
    read = {(name := became[rv.name]): ReductionVariable(name, rv.min, rv.extent) for rv in asked.factored}
    return Factored(merged, made, answer, {**ranges, **read})


def asked_about(
    function: Function, definition: Definition, kept: tuple[int, ...], semantics: Meaning, recognize: Recognize
) -> tuple[Extracted, Answer]:
    """The update of the components `kept`, with an answer of machine arithmetic if there is one, otherwise in the
    meaning of `semantics`. Raises `FactorError` where there is none."""
    extracted, answer = recognized(function, definition, kept, Meaning.WRAP, recognize)
    if semantics is not Meaning.WRAP and answer.verdict not in ("associative", "lifted"):
        extracted, answer = recognized(function, definition, kept, semantics, recognize)
    check_answer(answer, extracted)
    return extracted, answer


def check_pairs(function: Function, definition: Definition, pairs: tuple[tuple[str, str], ...]) -> None:
    """The variables named in `pairs` exist, or are new. Raises `FactorError`."""
    domain = definition.domain or ReductionDomain(())
    held = {rv.name: rv for rv in domain.variables}
    if not held:
        raise FactorError("it has no reduction variables: there is nothing to factor")
    for name in sorted(held.keys() & set(function.variables)):
        raise FactorError(f"a loop over reduction variables has the name of {name} of {function.name}: give it another")
    factored: set[str] = set()
    fresh: set[str] = set()
    for rvar, var in pairs:
        if rvar not in held:
            known = ", ".join(rv.name for rv in reversed(domain.variables)) or "none"
            raise FactorError(f"{rvar} is no reduction variable of this update; it has {known} (outermost first)")
        if rvar in factored:
            raise FactorError(f"{rvar} is named twice")
        factored.add(rvar)
        if var in fresh:
            raise FactorError(f"the variable {var} is given twice; each reduction variable becomes one of its own")
        fresh.add(var)
    used = held.keys() | frozenset().union(*map(names, definition.expressions))
    for var in sorted(fresh & ({*function.variables} | used - factored)):
        raise FactorError(f"the name {var} is taken in {function.name}; use a new Var")
    for rvar in factored:
        needs = (names(held[rvar].min) | names(held[rvar].extent)) & (held.keys() - factored)
        if needs:
            raise FactorError(
                f"the bounds of {rvar} depend on {', '.join(sorted(needs))}, which would stay in the intermediate; "
                "factor both, or use constant bounds with where()"
            )


def check_answer(answer: Answer, extracted: Extracted) -> None:
    """Conditions 1 to 3, as the matcher's answer says. Raises `FactorError`."""
    if answer.verdict not in ("associative", "lifted"):
        said = "is not associative" if answer.verdict == "not_associative" else "was not proved to be associative"
        accepted = "Keep its loop serial, or write it with an associative operator"
        if answer.rounded is not None:
            accepted = (
                'What would be accepted: rfactor(..., semantics="math"), a promise of numbers, not of the machine\'s; '
                f"or an update without x{answer.rounded[0]}, which another one computes"
            )
        raise FactorError(f"the update {_written(extracted)} {said}{_because(answer)}. {accepted}")
    if answer.assumes:
        raise FactorError(
            f"the update {_written(extracted)} is associative only if {show_tuple(answer.assumes)}, which is not known "
            "here; make that so with select() or where()"
        )
    if answer.verdict == "associative" and _start(answer) is None and answer.data is None:
        operator = show_tuple(answer.operator or ())
        raise FactorError(
            f"the operator {operator} of the update {_written(extracted)} has no left identity (claim left_identity), "
            "so there is no value for slices to start from"
        )


def _start(answer: Answer) -> tuple[Expr, ...] | None:
    """The left identity, if there is one."""
    if answer.verdict == "lifted":
        return None if answer.lift is None else answer.lift.identity
    return answer.identity if answer.identity_kind in ("two-sided", "left") else None


def in_order(definition: Definition, pairs: tuple[tuple[str, str], ...]) -> bool:
    """Whether the factored variables are a prefix of the update's order: condition 5 without commutativity."""
    order = serial_order(definition)
    factored = {rvar for rvar, _ in pairs} & set(order)
    return set(order[: len(factored)]) == factored


def _out_of_order(definition: Definition, answer: Answer) -> FactorError:
    """Condition 5 fails."""
    order = serial_order(definition)
    doubtful = "was not proved to commute" if answer.commutative is None else "does not commute"
    operator = show_tuple(answer.operator or (answer.lift.operator if answer.lift else ()))
    return FactorError(
        f"the operator {operator} {doubtful}{_because(answer)} (claim commutative), not even with ties decided by the "
        f"serial order, and the loops are, from the outside, {', '.join(order)}: only outermost ones can be factored "
        f"without a change of order. Factor {order[0]} first, or split it"
    )


def seen_component(function: Function, definition: Definition) -> int | None:
    """The component that says whether a point saw an element: a bool that every element sets to true and that nothing
    else reads. It joins by `or`, from false."""
    for c, (type_, value) in enumerate(zip(function.types, definition.values, strict=True)):
        if type_.is_bool and value == TRUE and len(function.types) > 1:
            read = (call for e in definition.values for call in self_calls(function.name, e))
            if all(call.index != c for call in read):
                return c
    return None


def _written(extracted: Extracted) -> str:
    left = ", ".join(x.name for x in extracted.update.accumulators)
    legend = extracted.legend(extracted.meanings)
    return f"{left} := {show_tuple(extracted.update.components)}" + (f" ({legend})" if legend else "")


def _because(answer: Answer) -> str:
    reason = f": {answer.reason}" if answer.reason else ""
    if not answer.counterexample:
        return reason
    values = ", ".join(f"{name} = {value}" for name, value in answer.counterexample.items())
    return f"{reason}; counterexample: {values}"


def _plan(
    asked: Factoring,
    answer: Answer,
    extracted: Extracted,
    kept: tuple[int, ...],
    seen: int | None,
    ranges: Mapping[str, ReductionVariable],
) -> State:
    """The columns of the intermediate, by conditions 4 and 5."""
    columns, merged, starts_empty = _columns(answer, extracted.update)
    flagged = seen is not None or starts_empty
    skips = starts_empty or (answer.verdict == "associative" and answer.identity_kind == "left")
    ordered: Ordered | None = None
    if not in_order(asked.definition, asked.pairs) and not answer.commutative:
        found = ties(answer)
        if found is None:
            raise _out_of_order(asked.definition, answer)
        if found:
            ordered = order_restored(asked, answer, columns, found, extracted, ranges, skips, flagged)
            columns = ordered.columns
    visited: Expr | None = TRUE
    if skips:
        visited = ordered.occupied if ordered else occupied(asked.definition, (rvar for rvar, _ in asked.pairs))
    if flagged or visited is None:
        place = len(columns) if seen is None or answer.verdict == "lifted" else seen
        columns = (*columns[:place], CHOSEN_FLAG if ordered else FLAG, *columns[place:])
        if visited is None:
            visited = FLAG.var("y")
        if seen is not None:
            saw = apply("or", Var(BOOL, f"x{len(kept)}"), FLAG.var("y"))
            kept, merged = (*kept, seen), (*merged[:seen], saw, *merged[seen:])
    meanings = {**extracted.meanings, **ordered.meanings} if ordered else extracted.meanings
    return State(columns, kept, merged, visited, meanings)


def _columns(answer: Answer, update: Update) -> tuple[tuple[Column, ...], tuple[Expr, ...], bool]:
    """The state's own columns, how it joins the function's values, called `x0`, …, and whether a column asks the flag.

    A component whose identity its type cannot hold (an infinite integer), or that has none, starts from its first
    element instead, for which it asks the flag; so does what reads such a component.
    """
    if answer.verdict == "lifted":
        lift = answer.lift
        assert lift is not None
        own = {f"y{i}": value for i, value in enumerate(lift.data)}
        step = substitute_all(lift.operator, own)
        types, data, joined = lift.types, lift.data, lift.apply
    else:
        assert answer.operator is not None
        types, data, step, joined = update.types, answer.data or (), update.components, answer.operator
    start = _start(answer)
    empty = {k for k, t in enumerate(types) if start is None or (not t.is_float and has_infinity(start[k]))}
    more = empty
    while more:
        unknown = {f"x{k}" for k in more}
        more = {k for k, value in enumerate(step) if not unknown.isdisjoint(names(value))} - empty
        empty |= more
    columns = [
        Column(str(k), t, Const(t, 0), select(FLAG.var("x"), step[k], data[k]))
        if start is None or k in empty
        else Column(str(k), t, start[k], step[k])
        for k, t in enumerate(types)
    ]
    return tuple(columns), joined, bool(empty)
