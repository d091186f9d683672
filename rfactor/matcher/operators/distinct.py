"""Operators of sets that are kept as bits, beside what is counted of bits that are new or were there before.

`seen | (1 << a), count + select((seen >> a) & 1 == 0, 1, 0)` counts different values: of two runs each has its own
count, and what both have seen is counted twice. Whether any value came twice, or none did, is asked of the same bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from rfactor.ir.expr import Expr, Op, Var, apply, cast, const, intrinsic, names, select, substitute
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update
from rfactor.matcher.terms import accumulator_names, chain, free_of, tidy
from rfactor.prover.claim import Claim

_MOST = 4
"""Most components."""


def claims(update: Update) -> Iterator[Claim]:
    """Claims for a set of bits and components that depend on it and on themselves."""
    count = len(update.types)
    if update.meaning is not Meaning.WRAP or not 2 <= count <= _MOST:
        return
    own = accumulator_names(update)
    for i, step in enumerate(update.components):
        x, y = update.accumulators[i], Var(update.types[i], f"y{i}")
        added = _added(step, x, own)
        if added is None:
            continue
        empty = {x.name: const(x.type, 0)}
        data: list[Expr] = []
        options: list[list[Expr]] = []
        for j, other in enumerate(update.components):
            rest = added if j == i else _beside(other, update.accumulators[j], x, own)
            if rest is None:
                break
            data.append(tidy(substitute(rest, empty)))
            options.append([apply("|", x, y)] if j == i else _joined(other, update.accumulators[j], x, y))
        if len(data) < count:
            continue
        identity = tuple(map(_neutral, update.components, update.accumulators))
        for operator in product(*options):
            yield Claim(update, tuple(operator), identity, tuple(data))


def _added(step: Expr, x: Var, own: frozenset[str]) -> Expr | None:
    """What a step adds to a set of bits."""
    if not isinstance(step, Op) or step.op != "|" or not x.type.is_int:
        return None
    parts = chain("|", step)
    rest = [part for part in parts if part != x]
    if len(rest) != len(parts) - 1 or not all(map(free_of(own), rest)):
        return None
    return rest[0] if len(rest) == 1 else _all("|", rest)


def _all(op: str, parts: list[Expr]) -> Expr:
    total = parts[0]
    for part in parts[1:]:
        total = apply(op, total, part)
    return total


def _beside(step: Expr, x: Var, bits: Var, own: frozenset[str]) -> Expr | None:
    """What a step adds to x, or what x is joined with, if that depends on the bits and on data alone."""
    if x.type.is_bool:
        if not isinstance(step, Op) or step.op not in ("or", "and"):
            return None
        parts = chain(step.op, step)
        rest = [part for part in parts if part != x]
        added = _all(step.op, rest) if len(rest) == len(parts) - 1 and rest else None
    else:
        added = _counted(step, x)
    return added if added is not None and names(added) & own == {bits.name} else None


def _counted(step: Expr, x: Var) -> Expr | None:
    """What a step adds to a number, in both branches of a choice."""
    if not x.type.is_int:
        return None
    if isinstance(step, Op) and step.op == "select" and x.name not in names(step.args[0]):
        one, other = (_counted(arg, x) for arg in step.args[1:])
        return None if one is None or other is None else select(step.args[0], one, other)
    terms, constant = linear(step)
    if terms.pop(x, 0) != 1:
        return None
    return from_linear(x.type, terms.items(), constant)


def _joined(step: Expr, x: Var, bits: Var, other: Var) -> list[Expr]:
    """What x may be after two runs, given the bits of both."""
    y = Var(x.type, f"y{x.name[1:]}")
    both = apply("&", bits, other)
    if not x.type.is_bool:
        counted = cast(x.type, intrinsic("popcount", both))
        return [apply(op, apply("+", x, y), counted) for op in ("-", "+")]
    assert isinstance(step, Op)
    met = apply("!=" if step.op == "or" else "==", both, const(bits.type, 0))
    return [apply(step.op, apply(step.op, x, y), met)]


def _neutral(step: Expr, x: Var) -> Expr:
    return const(x.type, isinstance(step, Op) and step.op == "and") if x.type.is_bool else const(x.type, 0)
