"""What a proof over the reals leaves open on floats: what integers that rounding decides are (see `rounding`), and
whether a lifting overflows where the serial loop does not.

A part of the richer state that the loop itself could reach, from some start, is as large as the loop's own values are:
no more is to be said of it than of any sum whose terms are put together in another order.
One that it cannot reach from any start that is tried, and that grows by arithmetic, may leave the type's range on data
for which the loop's values stay small: the product of all factors of a loop that starts at 0, the sum of what a clamp
throws away.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Call, Expr, Op, Var, apply, const, names, substitute, walk
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Lifting
from rfactor.matcher.terms import tidy
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities

_GROWS = ("+", "-", "*", "/")
_STARTS = (0.0, 1.0, -math.inf, math.inf)
_MOST = 64
"""Starts that are tried."""


def unreached(update: Update, lift: Lifting) -> tuple[int, ...]:
    """Parts of the lifting's state that may overflow on floats where the loop does not."""
    suspects: dict[Expr, int] = {Var(lift.types[i], f"y{i}"): i for i in range(len(lift.types)) if _grows(lift, i)}
    if suspects:
        for state in _reached(update, lift):
            if suspects.pop(state, None) is not None and not suspects:
                break
    return tuple(suspects.values())


def _grows(lift: Lifting, i: int) -> bool:
    """Whether arithmetic of floats makes the part, other than a power of a literal that is at most 1."""
    component, datum, type_ = lift.operator[i], lift.data[i], lift.types[i]
    if not type_.is_float:
        return False
    product = apply("*", Var(type_, f"x{i}"), Var(type_, f"y{i}"))
    if component == product and not names(datum) and abs(float(evaluate(datum, {})[0])) <= 1:
        return False
    return any(
        node.type.is_float and (isinstance(node, Call) or (isinstance(node, Op) and node.op in _GROWS)) and names(node)
        for node in walk(component)
    )


def _reached(update: Update, lift: Lifting) -> Iterator[Expr]:
    """States of the loop that starts at literals, or with one accumulator at a part of the richer state.

    Flags of the richer state are set: behind one that is not, a part means nothing.
    """
    flags: dict[str, Expr] = {f"y{i}": const(BOOL, True) for i, t in enumerate(lift.types) if t.is_bool}
    for start in itertools.islice(_starts(update, lift), _MOST):
        for component in lift.apply:
            state = substitute(component, start | flags)
            try:
                yield canonical(tidy(without_infinities(state) if has_infinity(state) else state))
            except Undefined:
                continue


def _starts(update: Update, lift: Lifting) -> Iterator[dict[str, Expr]]:
    literals = [[_literal(x.type, start) for start in _STARTS] for x in update.accumulators]
    names_ = [x.name for x in update.accumulators]
    for chosen in zip(*literals, strict=True):
        yield dict(zip(names_, chosen, strict=True))
    for x in update.accumulators:
        for i, type_ in enumerate(lift.types):
            if type_ == x.type and type_.is_float:
                yield {own.name: _literal(own.type, 0.0) for own in update.accumulators} | {x.name: Var(type_, f"y{i}")}
    for several in itertools.product(*literals):
        yield dict(zip(names_, several, strict=True))


def _literal(type_: Type, value: float) -> Expr:
    return const(type_, value) if type_.is_float else const(type_, int(min(max(value, 0.0), 1.0)))


def rounded_sentence(component: int, rounded: Expr) -> str:
    """What is open where an integer may depend on how a float is rounded."""
    return f"the integer x{component} may depend on how floats are rounded ({rounded}), hence on the order"


def sentences(lift: Lifting, parts: tuple[int, ...]) -> tuple[str, ...]:
    """One sentence about the parts of the state that may overflow, if there are any."""
    if not parts:
        return ()
    listed = ", ".join(f"y{i}" for i in parts)
    narrow = min(lift.types[i].bits for i in parts)
    return (f"{listed} may overflow f{narrow} where the serial loop, which has no such value, stays finite",)
