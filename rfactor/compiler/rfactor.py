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
4. right identity; otherwise the merge skips slices that saw no element, known by `slices.occupied` before the loop runs
   or by a flag in every point of the intermediate.
5. order: the factored variables are outermost, or the operator commutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.extraction import Extracted, extract, self_calls
from rfactor.compiler.slices import occupied
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Const, Expr, Var, apply, names, substitute, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import BOOL, I32, Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer

Recognize = Callable[[Update], Answer]
_FALSE, _TRUE = Const(BOOL, False), Const(BOOL, True)


@dataclass(frozen=True, slots=True)
class Factored:
    """What `factor` makes."""

    merged: Function
    """The function with its update replaced by the merge."""
    intermediate: Function
    """The new function: the pure variables of the original, then the new ones."""
    answer: Answer
    """The operator, and what proved it."""
    flag: int | None = None
    """The component of the intermediate that says whether a point saw an element, if it needs one."""


@dataclass(frozen=True, slots=True)
class _State:
    """What the intermediate holds, and how it is stepped and merged; over `x0`, `y0`, … and the names of `meanings`."""

    types: tuple[Type, ...]
    identity: tuple[Expr, ...]
    step: tuple[Expr, ...]
    """The state after one more element, over the state `x0`, `x1`, …"""
    merge: tuple[Expr, ...]
    """The function's new values, over its old ones `x0`, … and the state `y0`, …"""
    meanings: Mapping[str, Expr]
    """What every other name stands for in the algorithm."""

    def moved(self, variables: Mapping[str, Expr]) -> _State:
        """The same where loop variables have become others."""
        return replace(self, meanings={name: substitute(e, variables) for name, e in self.meanings.items()})

    def written(self, exprs: Iterable[Expr], x: Iterable[Expr] = (), y: Iterable[Expr] = ()) -> tuple[Expr, ...]:
        """`exprs` in the algorithm's own terms, with `x0`, … and `y0`, … as given."""
        values = dict(self.meanings)
        values |= {f"x{i}": expr for i, expr in enumerate(x)} | {f"y{i}": expr for i, expr in enumerate(y)}
        return tuple(substitute(expr, values) for expr in exprs)


def factor(
    function: Function,
    update: int,
    pairs: tuple[tuple[str, str], ...],
    intermediate_name: str,
    *,
    recognize: Recognize,
    semantics: Meaning = Meaning.WRAP,
) -> Factored:
    """Factor the reduction variables of `pairs` out of update number `update` (0 is the first) of `function`.

    `pairs` names reduction variables of that update, each with the pure variable that it becomes in the intermediate.
    `recognize` finds and proves the operator. The merge loops over the factored variables in the order of the domain,
    whatever the order of `pairs`. Raises `FactorError`, which names the update, the condition that fails, a
    counterexample where there is one, and what would be accepted.
    """
    definition = function.updates[update]
    title = f"rfactor of {function.name}.update({update}) over {', '.join(rvar for rvar, _ in pairs) or 'nothing'}"
    try:
        return _factor(function, update, definition, pairs, intermediate_name, recognize, semantics)
    except FactorError as error:
        raise FactorError(f"{title}: {error}") from error


def _factor(
    function: Function,
    number: int,
    definition: Definition,
    pairs: tuple[tuple[str, str], ...],
    name: str,
    recognize: Recognize,
    semantics: Meaning,
) -> Factored:
    check_pairs(function, definition, pairs)
    seen = seen_component(function, definition)
    kept = tuple(c for c in range(len(function.types)) if c != seen)
    extracted = extract(function, definition, kept, semantics)
    answer = recognize(extracted.update)
    check_answer(answer, extracted)
    check_order(definition, pairs, answer)
    skip = occupied(definition, (rvar for rvar, _ in pairs)) if _kind(answer) == "left" else _TRUE
    state = _state(answer, extracted)
    flag = None
    if seen is not None or skip is None:
        flag = len(state.types) if seen is None or answer.verdict == "lifted" else seen
    intermediate = _intermediate(function, definition, pairs, name, state, flag)
    merge = _merge(function, definition, pairs, intermediate, state, flag, skip, seen)
    updates = (*function.updates[:number], merge, *function.updates[number + 1 :])
    return Factored(replace(function, updates=updates), intermediate, answer, flag)


def check_pairs(function: Function, definition: Definition, pairs: tuple[tuple[str, str], ...]) -> None:
    """The variables named in `pairs` exist, or are new. Raises `FactorError`."""
    domain = definition.domain or ReductionDomain(())
    held = {rv.name: rv for rv in domain.variables}
    if not pairs:
        raise FactorError("name at least one reduction variable with the new pure variable that it becomes")
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
    used = {n.name for e in _expressions(definition) for n in walk(e) if isinstance(n, Var)} | held.keys()
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
    written = _written(extracted)
    if answer.verdict not in ("associative", "lifted"):
        said = "is not associative" if answer.verdict == "not_associative" else "was not proved to be associative"
        raise FactorError(
            f"the update {written} {said}{_because(answer, extracted)}. "
            "Keep its loop serial, or write it with an associative operator"
        )
    if answer.assumes:
        raise FactorError(
            f"the update {written} is associative only if {show_tuple(answer.assumes)}, which is not known here; "
            "make that so with select() or where()"
        )
    starts = answer.identity is not None and answer.identity_kind in ("two-sided", "left")
    if answer.verdict == "associative" and not starts:
        operator = show_tuple(answer.operator or ())
        raise FactorError(
            f"the operator {operator} of the update {written} has no left identity (claim left_identity), "
            "so there is no value for slices to start from"
        )


def check_order(definition: Definition, pairs: tuple[tuple[str, str], ...], answer: Answer) -> None:
    """Condition 5: the factored variables are a prefix of the update's order, or the operator commutes."""
    order = serial_order(definition)
    factored = {rvar for rvar, _ in pairs} & set(order)
    if set(order[: len(factored)]) == factored or answer.commutative:
        return
    doubtful = "was not proved to commute" if answer.commutative is None else "does not commute"
    operator = show_tuple(answer.operator or (answer.lift.operator if answer.lift else ()))
    raise FactorError(
        f"the operator {operator} {doubtful}{_because(answer, None)} (claim commutative), and the loops are, from the "
        f"outside, {', '.join(order)}: only outermost ones can be factored without a change of order. "
        f"Factor {order[0]} first, or split it"
    )


def serial_order(definition: Definition) -> tuple[str, ...]:
    """The reduction variables outermost first, without those that stand alone as a left-hand argument."""
    domain = definition.domain or ReductionDomain(())
    alone = {argument.name for argument in definition.arguments if isinstance(argument, Var)}
    return tuple(rv.name for rv in reversed(domain.variables) if rv.name not in alone)


def seen_component(function: Function, definition: Definition) -> int | None:
    """The component that says whether a point saw an element: a bool that every element sets to true and that nothing
    else reads. It joins by `or`, from false."""
    for c, (type_, value) in enumerate(zip(function.types, definition.values, strict=True)):
        if type_.is_bool and value == _TRUE and len(function.types) > 1:
            read = (call for e in definition.values for call in self_calls(function, e))
            if all(call.index != c for call in read):
                return c
    return None


def _expressions(definition: Definition) -> tuple[Expr, ...]:
    domain = definition.domain or ReductionDomain(())
    return (*definition.arguments, *definition.values, domain.predicate)


def _kind(answer: Answer) -> str | None:
    return "two-sided" if answer.verdict == "lifted" else answer.identity_kind


def _written(extracted: Extracted) -> str:
    left = ", ".join(x.name for x in extracted.update.accumulators)
    legend = extracted.legend(extracted.meanings)
    return f"{left} := {show_tuple(extracted.update.components)}" + (f" ({legend})" if legend else "")


def _because(answer: Answer, extracted: Extracted | None) -> str:
    reason = f": {answer.reason}" if answer.reason else ""
    if not answer.counterexample:
        return reason
    values = ", ".join(f"{name} = {value}" for name, value in answer.counterexample.items())
    return f"{reason}; counterexample: {values}"


def _state(answer: Answer, extracted: Extracted) -> _State:
    """What the answer says of the intermediate's state."""
    update = extracted.update
    if answer.verdict == "lifted":
        lift = answer.lift
        assert lift is not None
        data = {f"y{i}": value for i, value in enumerate(lift.data)}
        step = tuple(substitute(expr, data) for expr in lift.operator)
        return _State(lift.types, lift.identity, step, lift.apply, extracted.meanings)
    assert answer.operator is not None
    assert answer.identity is not None
    return _State(update.types, answer.identity, update.components, answer.operator, extracted.meanings)


def _with(values: tuple[Expr, ...], position: int | None, own: Expr) -> tuple[Expr, ...]:
    """`values` with `own` put in at `position`, if there is one."""
    return values if position is None else (*values[:position], own, *values[position:])


def _without(values: tuple[Expr, ...], position: int | None) -> tuple[Expr, ...]:
    return values if position is None else (*values[:position], *values[position + 1 :])


def _calls(function: Function, arguments: tuple[Expr, ...]) -> tuple[Expr, ...]:
    return tuple(function.at(arguments, c) for c in range(len(function.types)))


def _intermediate(
    function: Function,
    definition: Definition,
    pairs: tuple[tuple[str, str], ...],
    name: str,
    state: _State,
    flag: int | None,
) -> Function:
    """The function that reduces slices: from the identity, by a copy of the update (section 3, steps 2 and 3)."""
    assert definition.domain is not None
    variables = (*function.variables, *(var for _, var in pairs))
    moved: dict[str, Expr] = {rvar: Var(I32, var) for rvar, var in pairs}
    types = tuple(value.type for value in _with(tuple(Var(t, "") for t in state.types), flag, _FALSE))
    pure = Definition(
        tuple(Var(I32, variable) for variable in variables), _with(state.written(state.identity), flag, _FALSE)
    )
    shell = Function(name, variables, types, pure)
    arguments = (
        *(substitute(argument, moved) for argument in definition.arguments),
        *(Var(I32, var) for _, var in pairs),
    )
    before = _without(_calls(shell, arguments), flag)
    values = _with(state.moved(moved).written(state.step, x=before), flag, _TRUE)
    remaining = tuple(
        ReductionVariable(rv.name, substitute(rv.min, moved), substitute(rv.extent, moved))
        for rv in definition.domain.variables
        if rv.name not in moved
    )
    predicate = substitute(definition.domain.predicate, moved)
    domain = ReductionDomain(remaining, predicate) if remaining or predicate != _TRUE else None
    return replace(shell, updates=(Definition(arguments, values, domain),))


def _merge(
    function: Function,
    definition: Definition,
    pairs: tuple[tuple[str, str], ...],
    intermediate: Function,
    state: _State,
    flag: int | None,
    occupied: Expr | None,
    seen: int | None,
) -> Definition:
    """The update that combines slices in the order of the domain (section 3, step 4).

    It runs over all points of the function, but a left-hand argument that depends on no reduction variable stays.
    It visits the points that are `occupied`; where that is None, those whose flag is set.
    """
    assert definition.domain is not None
    moving = {rv.name for rv in definition.domain.variables}
    arguments = tuple(
        Var(I32, variable) if names(argument) & moving else argument
        for variable, argument in zip(function.variables, definition.arguments, strict=True)
    )
    became = {var: rvar for rvar, var in pairs}
    there = _calls(intermediate, (*arguments, *(Var(I32, became[var]) for _, var in pairs)))
    here = _calls(function, arguments)
    values = state.written(state.merge, x=_without(here, seen), y=_without(there, flag))
    if flag is not None and seen is not None:
        values = _with(values, seen, apply("or", here[seen], there[flag]))
    predicate = occupied
    if predicate is None:
        assert flag is not None
        predicate = there[flag]
    factored = tuple(rv for rv in definition.domain.variables if rv.name in became.values())
    return Definition(arguments, values, ReductionDomain(factored, predicate))
