"""From a stage of a function to the update that the matcher is asked about, and back.

Self-references become the accumulators `x0`, `x1`, …; what is read from elsewhere, loop variables and parameters
become names, with most arithmetic around them left in sight. Condition 0 of factoring is checked on the way: the
function occurs only on the right-hand side, at the point that is written, and nothing but values depends on it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, plain
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, rebuild, substitute, walk
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.meaning import Meaning
from rfactor.ir.several import Several
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BY_NAME
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.matcher.caveats import rounded_sentence
from rfactor.prover.defined import is_evident

_OPAQUE = {"//": "quotient", "%": "remainder", "/": "ratio", "<<": "shifted", ">>": "shifted"}
"""Operations on data that nothing is gained by seeing through, and what to call their values."""
_RESERVED = frozenset({"min", "max", "abs", "select", "inf", "nan", *INTRINSICS, *BY_NAME, *keyword.kwlist})


@dataclass(frozen=True, slots=True)
class Extracted:
    """An update with what its names stand for."""

    update: Update
    meanings: Mapping[str, Expr]
    """The expression of the algorithm that each datum and constant of `update` is."""

    def legend(self, shown: Iterable[str]) -> str:
        """What the names in `shown` stand for, for people: `a = a(r.x), n_2 = n.extent.0`."""
        return ", ".join(f"{name} = {self.meanings[name]}" for name in shown if name in self.meanings)


def recognized(
    function: Function,
    definition: Definition,
    components: tuple[int, ...],
    meaning: Meaning,
    recognize: Callable[[Update], Answer],
) -> tuple[Extracted, Answer]:
    """The update, and what is found behind it: with quotients and the like of data by names, or else in sight, where
    what they may be matters, as in `select(a % 8 < 8, x + a, x*x)`. A yes whose integers depend on how floats are
    rounded is none in the `meaning` of the machine. Raises as `extract` does."""
    extracted = extract(function, definition, components, meaning)
    answer = _without_the_evident(_with_serial_integers(recognize(extracted.update)), extracted)
    if answer.verdict in ("associative", "lifted"):
        return extracted, answer
    if not any(isinstance(expr, Op) and expr.type.is_int for expr in extracted.meanings.values()):
        return extracted, answer
    seen = extract(function, definition, components, meaning, in_sight=True)
    other = _without_the_evident(_with_serial_integers(recognize(seen.update)), seen)
    return (seen, other) if other.verdict in ("associative", "lifted") else (extracted, answer)


def _with_serial_integers(answer: Answer) -> Answer:
    """The answer, unknown where integers of the machine may not have their serial bits."""
    if answer.update.meaning is Meaning.MATH or answer.rounded is None:
        return answer
    reason = f"for real numbers it is, but {rounded_sentence(*answer.rounded)}"
    return Answer(answer.update, "unknown", reason=reason, rounded=answer.rounded)


def _without_the_evident(answer: Answer, extracted: Extracted) -> Answer:
    """The answer without assumptions that hold of all that its names stand for: `exp_ > 0.0` of an exponential."""
    if not answer.assumes:
        return answer
    meanings = dict(extracted.meanings)
    left = tuple(e for e in answer.assumes if not is_evident(substitute(e, meanings)))
    return replace(answer, assumes=left)


def extract(
    function: Function, definition: Definition, components: tuple[int, ...], meaning: Meaning, in_sight: bool = False
) -> Extracted:
    """The update that `definition` makes of the given `components`, which become `x0`, `x1`, … in their order.

    A name is a constant of the loop unless a reduction variable occurs in what it stands for. Quotients, remainders and
    shifts of data have names of their own unless they are to stay `in_sight`, or count how far an accumulator with a
    sign is shifted to the left. Raises `FactorError` where the definition is not of the form
    `f(p) = expression of f(p) and data` (condition 0).
    """
    check_form(function, definition)
    domain = definition.domain or ReductionDomain(())
    extraction = _Extraction(function.name, {c: i for i, c in enumerate(components)}, in_sight)
    values = tuple(extraction.visit(definition.values[c]) for c in components)
    moving = {rv.name for rv in domain.variables}
    meanings = {name: expr for expr, name in extraction.named.items()}
    constants = frozenset(name for name, expr in meanings.items() if not names(expr) & moving)
    return Extracted(Update(values, tuple(function.types[c] for c in components), constants, meaning), meanings)


def self_calls(function: str, *exprs: Expr) -> list[Call]:
    """The references to the function of this name in `exprs`, the distinct ones of each."""
    return [
        node
        for expr in exprs
        for node in walk(expr)
        if isinstance(node, Call) and node.kind == "func" and node.name == function
    ]


def check_form(function: Function, definition: Definition) -> None:
    """Condition 0. Raises `FactorError` naming the reference that breaks it."""
    name = function.name
    domain = definition.domain or ReductionDomain(())
    for expr in (*definition.arguments, *definition.values):
        if isinstance(expr, Several):
            raise FactorError(
                "it writes several points at once (scatter): a reduction writes one; write it as several updates, or "
                "keep its loops serial"
            )
    for what, exprs in (
        ("the point that is written", definition.arguments),
        ("the predicate (where)", (domain.predicate,)),
        ("a bound of the reduction domain", [e for rv in domain.variables for e in (rv.min, rv.extent)]),
    ):
        for call in self_calls(name, *exprs):
            raise FactorError(
                f"{what} depends on {call}, that is on what {name} holds so far, so slices cannot be reduced apart; "
                f"only the values of the update may refer to {name}"
            )
    here = definition.arguments
    for value in definition.values:
        for node in walk(value):
            if not isinstance(node, Call) or node.kind == "intrinsic":
                continue
            if node.kind == "func" and node.name == name:
                if node.args != here and tuple(map(simplify, node.args)) != tuple(map(simplify, here)):
                    point = f"{name}({', '.join(map(str, definition.arguments))})"
                    raise FactorError(
                        f"it reads {node}, another point than {point}, which it writes: a recurrence between points is "
                        f"no reduction; only {point} may occur on the right-hand side"
                    )
                continue
            for call in self_calls(name, *node.args):
                raise FactorError(
                    f"it reads {node}, at a place that depends on {call}: data must not depend on what {name} holds "
                    "so far"
                )


class _Extraction:
    """One traversal: the names given so far."""

    def __init__(self, function: str, accumulators: Mapping[int, int], in_sight: bool) -> None:
        self.function, self.accumulators, self.in_sight = function, accumulators, in_sight
        self.named: dict[Expr, str] = {}
        self.taken: set[str] = set()
        self.memo: dict[Expr, Expr] = {}

    def visit(self, expr: Expr) -> Expr:
        done = self.memo.get(expr)
        if done is None:
            done = self.memo[expr] = self.compute(expr)
        return done

    def compute(self, expr: Expr) -> Expr:
        if isinstance(expr, Op):
            if expr.op in _OPAQUE and not (self.in_sight and expr.type.is_int) and not self.computes(expr):
                return Var(expr.type, self.name(expr))
            if expr.op == "<<" and expr.type.is_signed and not self.in_sight:
                value, count = expr.args
                return rebuild(expr, (self.visit(value), self.counted(count)))
        elif isinstance(expr, Const):
            return expr
        elif isinstance(expr, Var):
            return Var(expr.type, self.name(expr))
        elif isinstance(expr, Call):
            if expr.kind == "func" and expr.name == self.function:
                return Var(expr.type, f"x{self.accumulators[expr.index]}")
            if not self.computes(expr):
                return Var(expr.type, self.name(expr))
            if INTRINSICS[expr.name].takes not in ("real", "single", "wide"):
                raise FactorError(
                    f"it takes {expr.name} of what {self.function} holds so far (in {expr}), of which no law is known: "
                    f"{expr.name} of data is fine"
                )
        elif isinstance(expr, Refuse):
            raise FactorError(f"it requires something on the way (in {expr}); require it of the result, elsewhere")
        elif isinstance(expr, Print):
            raise FactorError(f"it prints on the way (in {expr}); print what is read, or the result, elsewhere")
        return rebuild(expr, tuple([self.visit(child) for child in expr.children]))

    def counted(self, count: Expr) -> Expr:
        """A count of bits, of which it counts whether it may be negative."""
        self.in_sight, outside, self.memo = True, self.memo, {}
        seen = self.visit(count)
        self.in_sight, self.memo = False, outside
        return seen

    def computes(self, expr: Expr) -> bool:
        """Whether `expr` is a function of the accumulators."""
        return bool(self_calls(self.function, expr))

    def name(self, expr: Expr) -> str:
        """A name for what `expr` stands for, like its own where that is free."""
        known = self.named.get(expr)
        if known is not None:
            return known
        called = _OPAQUE[expr.op] if isinstance(expr, Op) else plain(getattr(expr, "name", ""))
        stem = _stem(f"{called}_{expr.index}" if isinstance(expr, Call) and expr.index else called)
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}" if not stem.endswith("_") else f"{stem}{count}"
        self.taken.add(name)
        self.named[expr] = name
        return name


@lru_cache(maxsize=1 << 10)
def _stem(called: str) -> str:
    """A name of the expression language for what is called so: `r.x` becomes `r_x`."""
    stem = re.sub(r"\W", "_", called)
    is_taken = stem in _RESERVED or not stem.isidentifier() or re.fullmatch(r"[xyzk]\d*", stem)
    return f"{stem}_" if is_taken else stem
