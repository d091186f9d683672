"""Selection by a computed key: the state is replaced as a whole where one condition says so (the paper's Listing 2).

`x := select(C(x; d), t(d), x)`: where the condition speaks of the data only through the t's that the state would take,
the operator is the same with y for t. The identity is a state that no other loses to; where the type holds none that is
found, the operator is claimed without.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, names, replace, select, substitute
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import State, accumulator_names, free_of, run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim
from rfactor.prover.infinity import Undefined, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, constants_of

_STARTS = 400


def claims(update: Update) -> Iterator[Claim]:
    """Claims for an update all of whose components are selected by one condition."""
    own = accumulator_names(update)
    free = free_of(own)
    parts = [_parts(component, x, free) for component, x in zip(update.components, update.accumulators, strict=True)]
    if any(part is None for part in parts):
        return
    conditions = [canonical(part[0]) for part in parts if part is not None]
    if any(condition != conditions[0] for condition in conditions[1:]):
        return
    taken = tuple(part[1] for part in parts if part is not None)
    condition = parts[0][0] if parts[0] is not None else conditions[0]
    y = tuple(Var(type_, f"y{i}") for i, type_ in zip(range(len(update.types)), update.types, strict=True))
    known: dict[Expr, Expr] = {}
    for t, right in zip(taken, y, strict=True):
        if not isinstance(t, Const):
            known.setdefault(t, right)
    general = replace(condition, known)
    loose = names(general) - own - update.constants - {right.name for right in y}
    if loose:
        return
    operator = tuple(select(general, right, x) for right, x in zip(y, update.accumulators, strict=True))
    op = Operator(operator, update.types, update.meaning)
    for e in _units(update, general, op):
        try:
            yield Claim(update, operator, e, run_from(update, e))
        except Undefined:
            continue
    yield Claim(update, operator, None, tuple(map(tidy, taken)))


def _parts(component: Expr, x: Var, is_free: Callable[[Expr], bool]) -> tuple[Expr, Expr] | None:
    """When the component is replaced, and by what."""
    if not isinstance(component, Op):
        return None
    if component.op == "select":
        condition, true, false = component.args
        if false == x and is_free(true):
            return condition, true
        if true == x and is_free(false):
            return apply("not", condition), false
    if component.op in ("min", "max") and x in component.args:
        other = component.args[1] if component.args[0] == x else component.args[0]
        if not is_free(other):
            return None
        return apply("<" if component.op == "min" else ">", other, x), other
    return None


def _units(update: Update, condition: Expr, op: Operator) -> Iterator[State]:
    """States that no other loses to, as far as samples show: constants, and solutions of "the key is at its end"."""
    keyed = names(condition)
    loop_constants = [v for v in sampling.used(update.components) if v.name in update.constants]
    choices: list[list[Expr]] = []
    for i, type_ in zip(range(len(update.types)), update.types, strict=True):
        if f"y{i}" in keyed:
            choices.append(constants_of(type_, loop_constants, update.meaning))
        else:
            choices.append([const(type_, False if type_.is_bool else 0)])
    found = 0
    for e in itertools.islice(itertools.product(*choices), _STARTS):
        if _never_wins(e, op):
            yield e
            found += 1
            if found >= 3:
                return
    if not found:
        yield from _solved(update, condition, op)


def _never_wins(e: State, op: Operator) -> bool:
    x = op.operands("x")
    try:
        after = tuple(without_infinities(c) for c in op(x, e))
    except Undefined:
        return False
    return sampling.refute(after, x, op.meaning, count=48) is None


def _solved(update: Update, condition: Expr, op: Operator) -> Iterator[State]:
    """The right operand's key at the end of its type's range, where comparing keys is all the condition does."""
    form = canonical(condition)
    if isinstance(form, Op) and form.op == "not":
        form = form.args[0]
    if not (isinstance(form, Op) and form.op == "<") or form.args[0].type.is_float:
        return
    right = {f"y{i}" for i in range(len(update.types))}
    left = {f"x{i}" for i in range(len(update.types))}
    own = {f"y{i}": x for i, x in enumerate(update.accumulators)}
    for key, other, lower in ((form.args[0], form.args[1], False), (form.args[1], form.args[0], True)):
        if names(key) & left or not names(key) & right:
            continue
        if sampling.refute((substitute(key, own),), (other,), update.meaning, count=48) is not None:
            continue  # the same is not asked of both
        e = _at_end(key, key.type, lower, update)
        if e is not None and _never_wins(e, op):
            yield e


def _at_end(key: Expr, type_: Type, lower: bool, update: Update) -> State | None:
    from rfactor.prover.smt import Sat, solve

    end = Const(type_, type_.min if lower else type_.max)
    outcome = solve([apply("==", key, end)], update.meaning, Limits(rlimit=3_000_000))
    if not isinstance(outcome, Sat):
        return None
    values: list[Expr] = []
    for i, type_i in zip(range(len(update.types)), update.types, strict=True):
        value = outcome.model.get(f"y{i}", 0)
        values.append(const(type_i, bool(value) if type_i.is_bool else type_i.wrap(int(value))))
    simple = substitute(key, {f"y{i}": e for i, e in zip(range(len(values)), values, strict=True)})
    return tuple(values) if tidy(simple) == end else None
