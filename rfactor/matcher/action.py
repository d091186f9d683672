"""How a run of the loop acts on the state, whatever proved it: the common face of plain operators and of liftings.

Liftings are built from others: "reset, or do what the inner update does" carries a flag and the inner action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, Op, Var, apply, const, select, substitute, transform
from rfactor.ir.simplify import simplify_real
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import tidy
from rfactor.prover.claim import Discharged, Lift
from rfactor.prover.infinity import is_infinite

Exprs = tuple[Expr, ...]
Inner = Callable[[Update], "Action | None"]
"""Finds how an inner update acts."""

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)


@dataclass(frozen=True, slots=True)
class Action:
    """States of `types` with unit `identity`, `operator` (over x, y) and `apply` (x the loop's state, y the action)."""

    types: tuple[Type, ...]
    data: Exprs
    operator: Exprs
    identity: Exprs
    apply: Exprs
    invariant: Exprs = ()
    """Conditions on y0… that hold for all that runs are, for those who pass them on."""
    assumes: Exprs = ()
    """Conditions on data and constants, for those who pass them on."""

    def combine(self, first: Sequence[Expr], second: Sequence[Expr]) -> Exprs:
        """First `first`, then `second`."""
        return bind(self.operator, first, second)

    def act(self, state: Sequence[Expr], action: Sequence[Expr]) -> Exprs:
        """The loop's state after the action."""
        return bind(self.apply, state, action)


def bind(exprs: Exprs, x: Sequence[Expr], y: Sequence[Expr]) -> Exprs:
    """Expressions over x0… and y0… read at two tuples."""
    values: dict[str, Expr] = {f"x{i}": e for i, e in zip(range(len(x)), x, strict=True)}
    values |= {f"y{i}": e for i, e in zip(range(len(y)), y, strict=True)}
    return tuple(substitute(e, values) for e in exprs)


def of(proved: Discharged) -> Action | None:
    """The action behind a proved claim; None where nothing says how to start."""
    claim = proved.claim
    if claim.lift is not None:
        lift = claim.lift
        return Action(lift.types, lift.data, lift.operator, lift.identity, lift.apply, claim.invariant, claim.assumes)
    if claim.operator is None or claim.identity is None or claim.data is None:
        return None
    fits = all(e.type == type_ for e, type_ in zip(claim.identity, claim.update.types, strict=True))
    if proved.identity_kind != "two-sided" or not fits:
        return flagged(claim.update.types, claim.operator, claim.data)
    own = (claim.invariant, claim.assumes)
    return Action(claim.update.types, claim.data, claim.operator, claim.identity, claim.operator, *own)


def flagged(types: tuple[Type, ...], operator: Exprs, data: Exprs) -> Action:
    """The action of an operator without an identity on both sides: a flag says whether there was an element."""
    count = len(types)
    own = operands("x", (*types, BOOL))
    other = operands("y", (*types, BOOL))
    some, more = own[count], other[count]
    joined = bind(operator, own[:count], other[:count])
    merged = tuple(
        choose(some, choose(more, both, left), right)
        for both, left, right in zip(joined, own[:count], other[:count], strict=True)
    )
    applied = tuple(choose(more, both, left) for both, left in zip(joined, own[:count], strict=True))
    return Action(
        (*types, BOOL),
        (*data, TRUE),
        (*merged, apply("or", some, more)),
        (*map(nought, types), FALSE),
        applied,
    )


def operands(letter: str, types: Sequence[Type], start: int = 0) -> Exprs:
    """The variables `letter0`, `letter1`, … of the given types, numbered from `start`."""
    return tuple(Var(type_, f"{letter}{start + i}") for i, type_ in zip(range(len(types)), types, strict=True))


def nought(type_: Type) -> Expr:
    """A value that stands where no value matters."""
    return const(type_, False if type_.is_bool else 0)


def choose(condition: Expr, true: Expr, false: Expr) -> Expr:
    """`select`, simplified where the branches agree or the condition is known."""
    if true == false or condition == TRUE:
        return true
    if condition == FALSE:
        return false
    if is_infinite(true) or is_infinite(false):
        return Op(false.type if is_infinite(true) else true.type, "select", (condition, true, false))
    if true == TRUE:
        return apply("or", condition, false)
    if false == FALSE:
        return apply("and", condition, true)
    if true == FALSE:
        return apply("and", apply("not", condition), false)
    return select(condition, true, false)


def joined(some: Expr, more: Expr, both: Sequence[Expr], first: Sequence[Expr], second: Sequence[Expr]) -> Exprs:
    """Two runs, of which one or both may be empty: `both` where there were `some` steps and then `more`."""
    return tuple(choose(some, choose(more, c, a), b) for c, a, b in zip(both, first, second, strict=True))


def marked(exprs: Exprs, values: Mapping[str, Expr]) -> Exprs:
    """Expressions with names replaced."""
    return tuple(substitute(e, values) for e in exprs)


def pruned(lift: Lift) -> Lift:
    """A lifting without the components that are what the identity has in every run."""
    fixed = {
        i: unit
        for i, (datum, unit) in enumerate(zip(lift.data, lift.identity, strict=True))
        if datum == unit and isinstance(unit, Const)
    }
    while True:
        values: dict[str, Expr] = {f"{letter}{i}": unit for letter in "xy" for i, unit in fixed.items()}
        kept = {i: unit for i, unit in fixed.items() if _with_values(lift.operator[i], values) == unit}
        if kept == fixed:
            break
        fixed = kept
    left = [i for i in range(len(lift.types)) if i not in fixed]
    for new, old in enumerate(left):
        values |= {f"{letter}{old}": Var(lift.types[old], f"{letter}{new}") for letter in "xy"}
    on_data = {name: value for name, value in values.items() if name.startswith("y")}

    def chosen(exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(exprs[i] for i in left)

    return Lift(
        chosen(lift.types),  # type: ignore[arg-type]
        chosen(lift.data),
        tuple(tidy(_with_values(part, values)) for part in chosen(lift.operator)),
        chosen(lift.identity),
        tuple(tidy(_with_values(part, on_data)) for part in lift.apply),
    )


def _with_values(expr: Expr, values: dict[str, Expr]) -> Expr:
    """`expr` with the values put in; a product with 0 is 0, for numbers are finite here."""

    def rule(node: Expr) -> Expr | None:
        return next((arg for arg in node.children if _is_zero(arg)), None) if _is_product(node) else None

    return simplify_real(transform(substitute(expr, values), rule))


def _is_product(node: Expr) -> bool:
    return isinstance(node, Op) and node.op == "*"


def _is_zero(expr: Expr) -> bool:
    return isinstance(expr, Const) and not expr.type.is_bool and expr.value == 0
