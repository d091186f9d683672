"""What floats decide of integers, which are exact: as truth values and numbers of which nothing is known.

    x + select(a == a, 1, 0)        ->   x + select(c, 1, 0)                   a may be NaN
    select(a + 1.0 > a, x + 1, x*x) ->   select(c, x + 1, x*x)                 a may be too large to grow by 1

To the prover floats are real numbers. An answer about the update with such variables holds whatever floats do, and is
told with what they stand for. So is one about floats themselves that are asked whether they are numbers, or infinite.

What is computed of integers in floats is exact where its numbers are few enough; where it is not, nor decided by floats
that are accumulators themselves (whose rounding depends on the order), the prover says nothing of integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, names, rebuild, substitute, walk
from rfactor.ir.graph import closures
from rfactor.ir.operations import MIRRORED
from rfactor.ir.rounded import is_number, whole_range
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.prover.claim import Claim
from rfactor.prover.commuting import is_refuted
from rfactor.prover.operator import Operator, Tuple

_NAME = "decision "
"""What names of the variables begin with; no name of a user's has a space."""


class Rounded(Exception):
    """Integers depend on how floats that are computed of them are rounded."""


def without_decisions(update: Update) -> tuple[Update, Mapping[str, Expr]]:
    """The update with variables for what floats decide, and what they stand for. Raises `Rounded`."""
    if not any(child.type.is_float for component in update.components for child in walk(component)):
        return update, {}
    decisions = _Decisions({x.name: x.type for x in update.accumulators}, {})
    components = decisions.visit_all(update.components, read_by_integers(update))
    if not decisions.found:
        return update, {}
    constants = {var.name for expr, var in decisions.found.items() if names(expr) <= update.constants}
    meanings = {var.name: expr for expr, var in decisions.found.items()}
    return replace(update, components=components, constants=update.constants | constants), meanings


def both_without_decisions(update: Update, other: Update) -> tuple[Update, Update]:
    """Two updates of one state with the same variables for what floats decide alike. Raises `Rounded`."""
    decisions = _Decisions({x.name: x.type for x in update.accumulators}, {})
    exact = read_by_integers(update) | read_by_integers(other)
    pair = [decisions.visit_all(one.components, exact) for one in (update, other)]
    constants = {var.name for expr, var in decisions.found.items() if names(expr) <= update.constants}
    known = update.constants | constants
    return replace(update, components=pair[0], constants=known), replace(other, components=pair[1], constants=known)


def read_by_integers(update: Update) -> frozenset[int]:
    """The components that are no floats, and those that these are made of: all of them decide alike."""
    reached = zip(closures(update), update.types, strict=True)
    return frozenset(i for parts, type_ in reached if not type_.is_float for i in parts)


def claim_without_decisions(claim: Claim) -> Claim:
    """The claim with variables for what floats decide. Raises `Rounded`."""
    update, lift = claim.update, claim.lift
    types = update.types if lift is None else lift.types
    operands = {f"{letter}{i}": type_ for i, type_ in zip(range(len(types)), types, strict=True) for letter in "xy"}
    found: dict[Expr, Var] = {}
    of_data, of_states = _Decisions({x.name: x.type for x in update.accumulators}, found), _Decisions(operands, found)
    exact = read_by_integers(update)
    components = of_data.visit_all(update.components, exact)
    every = frozenset(range(len(types))) if exact else exact
    if lift is not None:
        onto = _Decisions({**operands, **of_data.own}, found)
        lift = replace(
            lift,
            data=of_data.visit_all(lift.data, every),
            operator=of_states.visit_all(lift.operator, every),
            apply=onto.visit_all(lift.apply, exact),
        )
    data = None if claim.data is None else of_data.visit_all(claim.data, exact)
    operator = None if claim.operator is None else of_states.visit_all(claim.operator, exact)
    constants = {var.name for expr, var in found.items() if names(expr) <= update.constants}
    update = replace(update, components=components, constants=update.constants | constants)
    return replace(claim, update=update, data=data, operator=operator, lift=lift)


def check_exact(components: Iterable[Expr], operands: Mapping[str, Type]) -> None:
    """Raise `Rounded` where integers depend on how floats are rounded that are computed of integer operands."""
    decisions = _Decisions(operands, {})
    for component in components:
        decisions.visit(component, not component.type.is_float, {})


class _Decisions:
    def __init__(self, own: Mapping[str, Type], found: dict[Expr, Var]) -> None:
        self.own = own
        self.found = found

    def visit_all(self, exprs: Tuple, exact: Set[int]) -> Tuple:
        """Expressions without their decisions, those of these places without any."""
        return tuple(self.visit(expr, i in exact, {}) for i, expr in zip(range(len(exprs)), exprs, strict=True))

    def visit(self, expr: Expr, exact: bool, memo: dict[Expr, Expr]) -> Expr:
        """`expr` with its decisions as variables: all where it is to be `exact`, else those that tell numbers."""
        done = memo.get(expr)
        if done is None:
            decision = self.decision(expr) if _decides(expr) and (exact or _tells_numbers(expr)) else None
            if decision is None:
                children = tuple(self.visit(child, exact, memo) for child in expr.children)
                decision = rebuild(expr, children) if children != expr.children else expr
            done = memo[expr] = decision
        return done

    def decision(self, expr: Expr) -> Expr | None:
        """What stands for a decision; None where it may stay. Raises `Rounded`."""
        own = [self.own[name] for name in names(expr) if name in self.own]
        if not own:
            return self.variable(expr) if names(expr) else None
        if _is_same(expr) or not (any(type_.is_float for type_ in own) or all(map(_is_exact, expr.children))):
            raise Rounded(f"{expr}")
        return None

    def variable(self, expr: Expr) -> Expr:
        """The variable for a decision about data; the same one for what is the opposite or the mirrored one."""
        assert isinstance(expr, Op | Call)
        if isinstance(expr, Op) and expr.op == "!=":
            return apply("not", self.variable(apply("==", *expr.args)))
        if isinstance(expr, Op) and expr.op in (">", ">="):
            return self.variable(apply(MIRRORED[expr.op], *expr.args[::-1]))
        return self.found.setdefault(expr, Var(expr.type, f"{_NAME}{len(self.found)}"))


def _decides(expr: Expr) -> bool:
    """Whether floats become something else."""
    return not expr.type.is_float and any(child.type.is_float for child in expr.children)


def _tells_numbers(expr: Expr) -> bool:
    """Whether a comparison asks what holds of all real numbers, or of none."""
    if not (isinstance(expr, Op) and expr.op != "cast"):
        return False
    return _is_same(expr) or any(isinstance(a, Const) and math.isinf(a.value) for a in expr.args)


def _is_same(expr: Expr) -> bool:
    """Whether something is compared with itself, as in a test for NaN."""
    return isinstance(expr, Op) and expr.op != "cast" and expr.args[0] == expr.args[1]


def _is_exact(expr: Expr) -> bool:
    """Whether a float that depends on integers is the number that it would be without rounding."""
    if isinstance(expr, Call) and expr.kind == "unknown":
        return all(isinstance(arg, Var) or not arg.type.is_float or _is_exact(arg) for arg in expr.args)
    return is_number(expr) or whole_range(expr) is not None


def with_decisions(answer: Answer, update: Update, meanings: Mapping[str, Expr]) -> Answer:
    """The answer about `update`, of which the variables in `meanings` are parts.

    Floats may never decide as the runs do that show an operator not to commute, so that these are looked for again.
    """

    def told(exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        return tuple(substitute(expr, meanings) for expr in exprs)

    lift = answer.lift
    if lift is not None:
        lift = replace(lift, data=told(lift.data), operator=told(lift.operator), identity=told(lift.identity),
                       apply=told(lift.apply))  # fmt: skip
    told_answer = replace(
        answer,
        update=update,
        operator=None if answer.operator is None else told(answer.operator),
        identity=None if answer.identity is None else told(answer.identity),
        data=None if answer.data is None else told(answer.data),
        invariant=told(answer.invariant),
        assumes=told(answer.assumes),
        lift=lift,
        rounded=None if answer.rounded is None else (answer.rounded[0], substitute(answer.rounded[1], meanings)),
    )
    return told_answer if answer.commutative is not False or _differs(told_answer) else _without_order(told_answer)


def _differs(answer: Answer) -> bool:
    """Whether two runs show that the operator of an answer does not commute."""
    update, lift = answer.update, answer.lift
    operator, data, types = (
        (answer.operator, answer.data, update.types) if lift is None else (lift.operator, lift.data, lift.types)
    )
    assert operator is not None
    assert data is not None
    return is_refuted(Operator(operator, types, update.meaning), update, data, answer.assumes)


def _without_order(answer: Answer) -> Answer:
    """The answer with nothing said of the order of operands."""
    proofs = tuple(proof for proof in answer.proofs if proof.claim != "not_commutative")
    return replace(answer, commutative=None, proofs=proofs)
