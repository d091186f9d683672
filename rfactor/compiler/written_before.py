"""Whether a point is written before it is read: a question over the integers, which Z3 decides.

    f(x) = a(x); f(0) += a(r) for r from 0     a(r) is read after f(0) is written only in iterations r > 0
    f(2*r) = a(2*r + 1)                        no point that is read is ever written
    f(c, x) = select(c == 0, a(0, x), a(1, x)) for c from 0 to 1: an arm is read where it is chosen

Coordinates leave i32 in no pipeline that runs, so that sums of them are those of integers. Of everything but sums,
products, quotients and choices of them no more is known than that it is a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.schedule.directives import Bound
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.ir.algorithm import Definition, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, conjunction, names, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.several import points
from rfactor.ir.types import BOOL, I32
from rfactor.prover.limits import Limits

_LIMITS = Limits(rlimit=1_000_000)
_NUMBERS = frozenset({"+", "-", "*", "//", "%", "min", "max"})
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})


def may_be_written_before(
    function: Function,
    written: Definition,
    read: tuple[Expr, ...],
    reading: Definition,
    where: Sequence[Expr],
    bounds: Sequence[Bound],
) -> bool:
    """Whether some iteration of `written` before one of `reading` writes the point `read` of the latter, as far as is
    known. `reading` is the same stage of the function, or a later one; what it reads makes no difference but `where`
    all of that holds. The function is computed within `bounds`.

    Iterations that differ in a pure variable have no order; others have that of their reduction variables.
    """
    if written is reading and written.domain is None and read == written.arguments:
        return False  # no other iteration is of that point
    numbers = count()
    before, now = (_Iteration(function, stage, side, numbers) for stage, side in ((written, ".before"), (reading, "")))
    conditions = [*before.ranges(), *now.ranges(), *before.known(predicates(written)), *now.known(where)]
    conditions += [one for iteration in (before, now) for bound in bounds for one in iteration.within(bound)]
    if written is reading:
        conditions.append(apply("or", _differ(before, now, pure_variables(function, reading)), _earlier(before, now)))
    return any(
        not _never((*conditions, *(apply("==", before.of(a), now.of(b)) for a, b in zip(point, read, strict=True))))
        for point, _ in points(written.arguments, written.values)
    )


def predicates(stage: Definition) -> tuple[Expr, ...]:
    """Where a stage computes."""
    return () if stage.domain is None else (stage.domain.predicate,)


def _never(conditions: tuple[Expr, ...]) -> bool:
    """Whether integers are proved not to fulfil all conditions."""
    from rfactor.prover.smt import Unsat, solve

    return isinstance(solve(conditions, Meaning.MATH, _LIMITS), Unsat)


@dataclass
class _Iteration:
    """Any iteration of a stage: its variables are marked by `side`."""

    function: Function
    stage: Definition
    side: str
    numbers: Iterator[int]
    own: Mapping[str, Var] = field(init=False)

    def __post_init__(self) -> None:
        loops = () if self.stage.domain is None else tuple(one.name for one in self.stage.domain.variables)
        self.own = {name: Var(I32, f"{name}{self.side}") for name in (*self.function.variables, *loops)}

    def of(self, expr: Expr) -> Expr:
        """A coordinate in the iteration."""
        if isinstance(expr, Const):
            return expr
        if isinstance(expr, Var):
            return self.own.get(expr.name, expr)
        if isinstance(expr, Op) and expr.op in _NUMBERS and expr.type == I32:
            return Op(I32, expr.op, tuple(map(self.of, expr.args)))
        same = not (names(expr) & self.own.keys() or any(isinstance(node, Call) for node in walk(expr)))
        return Var(I32, f".({expr})" if same else f".unknown {next(self.numbers)}")

    def ranges(self) -> Iterator[Expr]:
        """That its loops have it."""
        for variable in () if self.stage.domain is None else self.stage.domain.variables:
            low, at = self.of(variable.min), self.own[variable.name]
            yield apply("<=", low, at)
            yield apply("<", at, Op(I32, "+", (low, self.of(variable.extent))))

    def known(self, where: Iterable[Expr]) -> Iterator[Expr]:
        """What is known where these hold."""
        for one in where:
            for part in conjuncts(one):
                asked = part.args[0] if isinstance(part, Op) and part.op == "not" else part
                if isinstance(asked, Op) and asked.op in _COMPARISONS and asked.args[0].type == I32:
                    holds = Op(BOOL, asked.op, tuple(map(self.of, asked.args)))
                    yield holds if asked is part else Op(BOOL, "not", (holds,))

    def within(self, bound: Bound) -> Iterator[Expr]:
        """That it is of a point within `bound`, if its variable is that of a loop."""
        if bound.min is not None and bound.variable in pure_variables(self.function, self.stage):
            low, at = self.of(bound.min), self.own[bound.variable]
            yield apply("<=", low, at)
            yield apply("<", at, Op(I32, "+", (low, self.of(bound.extent))))


def _differ(before: _Iteration, now: _Iteration, variables: tuple[str, ...]) -> Expr:
    """That two iterations differ in a pure variable."""
    same = conjunction(*(apply("==", before.own[name], now.own[name]) for name in variables))
    return Op(BOOL, "not", (same,))


def _earlier(before: _Iteration, now: _Iteration) -> Expr:
    """That one iteration comes before the other of the same stage, by the order of its domain, the last outermost."""
    result: Expr = Const(BOOL, False)
    for variable in () if now.stage.domain is None else now.stage.domain.variables:
        a, b = before.own[variable.name], now.own[variable.name]
        result = apply("or", apply("<", a, b), apply("and", apply("==", a, b), result))
    return result
