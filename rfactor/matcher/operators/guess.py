"""Values of an update at sample points, and the plainest expression of its data that has given values there."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Call, Const, Expr, Op, Var, const, select, transform
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import F64, Type
from rfactor.ir.update import Update
from rfactor.matcher.terms import accumulator_names, free_of, maximal_free, tidy
from rfactor.prover import sampling

ROWS = 24
Column = sampling.Array


class Points:
    """Sampled data and constants of an update, and states of the caller's choice."""

    def __init__(self, update: Update, positive: frozenset[int] = frozenset()) -> None:
        self.update = update
        loose = [v for v in sampling.used(update.components) if v.name not in accumulator_names(update)]
        self.env = sampling.points(loose, update.meaning, ROWS, sampling.literals(update.components))
        for number, var in zip(range(len(loose)), loose, strict=True):
            if var.type.is_float:  # small, so that exponentials of differences keep their digits
                self.env[var.name] = _state(var.type, update.meaning, 11 + number, False)
        self.states = [
            {x.name: _state(x.type, update.meaning, seed, i in positive) for i, x in _numbered(update.accumulators)}
            for seed in (1, 2, 3)
        ]

    def keep(self, rows: Column) -> bool:
        """Keep these samples only; whether enough are left to tell anything."""
        chosen = np.flatnonzero(rows.astype(bool))
        if len(chosen) < ROWS // 4:
            return False
        again = np.resize(chosen, ROWS)
        self.env = {name: value[again] for name, value in self.env.items()}
        return True

    def values(self, expr: Expr, state: Mapping[str, Column] | None = None) -> Column | None:
        """The values of an expression, None where it has none."""
        try:
            with np.errstate(all="ignore"):
                found = evaluate(transform(expr, _doubled), {**self.env, **(state or {})}, self.update.meaning)
        except (KeyError, OverflowError):
            return None
        return np.broadcast_to(found, (ROWS,))

    def is_free(self, value: Callable[[Mapping[str, Column]], Column | None]) -> bool:
        """Whether a function of the state depends on data alone, at the samples."""
        return self.free_value(value) is not None

    def free_value(self, value: Callable[[Mapping[str, Column]], Column | None]) -> Column | None:
        """The values of a function of the state that depends on data alone; None where it does not."""
        results = [value(state) for state in self.states]
        first = results[0]
        if first is None:
            return None
        for other in results[1:]:
            if other is None or bool(np.any(sampling.differs(first, other))):
                return None
        return None if first.dtype.kind == "f" and not np.all(np.isfinite(first)) else first

    def plainest(self, type_: Type, wanted: Column) -> Expr | None:
        """A literal, a datum, or a part of the update free of accumulators, with the wanted values."""
        first = wanted[0].item() if isinstance(wanted[0], np.generic) else wanted[0]
        if not np.any(sampling.differs(wanted, np.full(ROWS, wanted[0], dtype=wanted.dtype))):
            if not type_.is_float:
                return const(type_, first) if type_.is_bool or type_.min <= first <= type_.max else None
            near = (0.0, 1.0, -1.0, *sampling.literals(self.update.components).get(type_, ()), round(first, 9))
            return const(type_, next(v for v in near if abs(v - first) <= 1e-9 * (1 + abs(first))))
        plain = [e for e in (*map(_plain, self.update.data), *self.parts()) if e.type == type_]
        for candidate in itertools.chain(plain, self.masked(type_, plain)):
            value = self.values(candidate)
            if value is not None and not np.any(sampling.differs(wanted, value)):
                return candidate
        return None

    def masked(self, type_: Type, plain: Sequence[Expr]) -> Iterator[Expr]:
        """1, or something plain, where a condition on the data holds, else 0."""
        for condition in (e for e in self.parts() if e.type.is_bool):
            for value in (const(type_, 1), *plain) if not type_.is_bool else ():
                yield select(condition, value, const(type_, 0))
                yield select(condition, const(type_, 0), value)

    def parts(self) -> Sequence[Expr]:
        """The largest parts of the update that are free of accumulators."""
        free = free_of(accumulator_names(self.update))
        return [tidy(part) for part in maximal_free(self.update.components, free)]


def _doubled(node: Expr) -> Expr | None:
    """A narrow float in double precision: a guess is about reals."""
    if not node.type.is_float or node.type == F64:
        return None
    if isinstance(node, Const):
        return Const(F64, node.value)
    if isinstance(node, Var):
        return Var(F64, node.name)
    if isinstance(node, Op):
        return Op(F64, node.op, node.args)
    return Call(F64, node.name, node.args) if isinstance(node, Call) else None


def _plain(var: Var) -> Expr:
    return var


def _numbered(accumulators: Sequence[Var]) -> list[tuple[int, Var]]:
    return list(zip(range(len(accumulators)), accumulators, strict=True))


def _state(type_: Type, meaning: Meaning, seed: int, positive: bool) -> Column:
    random = np.random.default_rng(seed * 31 + type_.bits)
    if type_.is_bool:
        return np.asarray(random.integers(0, 2, ROWS).astype(bool))
    numbers = random.integers(1 if positive or type_.code == "uint" else -9, 10, ROWS)
    if type_.is_float:
        small: Column = numbers / 8.0 + random.integers(0, 8, ROWS) / 64.0
        return small
    return numbers.astype(object) if meaning is Meaning.MATH else numbers.astype(dtype_of(type_))
