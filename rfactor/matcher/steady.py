"""Operators that weigh by exponentials, told so that these neither overflow nor vanish where the serial loop's do not.

    log(exp(x0) + exp(s)), (x1*exp(x0) + v*exp(s))/(exp(x0) + exp(s))

is, over the reals, the same written with x0 and y0; but a slice in which all exp(y0) are 0 divides 0 by 0, where the
loop starts from a larger sum. Quotients of sums of exponentials are divided through by the exponential of each term,
`x1/(exp(y0 - x0) + 1) + y1/(exp(x0 - y0) + 1)`, logarithms taken relative to the larger operand, and exponentials
in data that a logarithm or a quotient undoes left out. It is proved anew, and taken where samples show a difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce

from rfactor.ir.expr import Call, Const, Expr, Op, apply, const, intrinsic, names, transform, walk
from rfactor.ir.linear import linear
from rfactor.matcher.answer import Answer, ProofRecord
from rfactor.matcher.exponentials import unsteady
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.operators.conjugate import careful_log
from rfactor.matcher.terms import chain, logarithm, tidy
from rfactor.prover.claim import Discharged
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits

Term = tuple[list[Expr], Expr | None]
"""The factors of a product, and the exponent of the exponential among them."""


def with_steady_exponentials(answer: Answer, limits: Limits) -> Answer:
    """A yes with an operator whose exponentials stay finite where samples show that its own do not."""
    claim = claim_of(answer)
    if claim is None or claim.operator is None or claim.data is None or len(claim.operator) == 1:
        return answer  # a logarithm of a sum alone is finite where the loop's is
    if not any(map(_has_exponential, claim.operator)):
        return answer
    operator = tuple(transform(transform(e, _as_quotient), _steady) for e in claim.operator)
    data = tuple(_without_undone(e) if _has_exponential(e) else e for e in claim.data)
    if (operator, data) == (claim.operator, claim.data):
        return answer
    if not unsteady(claim.update, claim.operator, claim.data, claim.assumes):
        return answer
    if unsteady(claim.update, operator, data, claim.assumes):
        return answer
    found = discharge(replace(claim, operator=operator, data=data), limits)
    if not isinstance(found, Discharged) or found.claim.identity != claim.identity:
        return answer
    if found.commutative != answer.commutative or found.identity_kind not in (answer.identity_kind, "two-sided"):
        return answer
    return replace(
        answer,
        operator=operator,
        data=data,
        identity_kind=found.identity_kind,
        source="synthesis",
        invariant=found.claim.invariant,
        proofs=tuple(ProofRecord(name, proof.method, proof.ms, proof.row) for name, proof in found.proofs),
    )


def _has_exponential(expr: Expr) -> bool:
    return any(isinstance(node, Call) and node.name == "exp" and names(node) for node in walk(expr))


def _exponent(expr: Expr) -> Expr | None:
    return expr.args[0] if isinstance(expr, Call) and expr.name == "exp" else None


def _as_quotient(node: Expr) -> Expr | None:
    """`exp(a - log(b))` as `exp(a)/b`."""
    exponent = _exponent(node)
    if not isinstance(exponent, Op) or exponent.op != "-":
        return None
    above, below = exponent.args
    return (
        apply("/", intrinsic("exp", above), below.args[0]) if isinstance(below, Call) and below.name == "log" else None
    )


def _steady(node: Expr) -> Expr | None:
    """A quotient of sums of exponentials, or the logarithm of two."""
    if isinstance(node, Call) and node.name == "log":
        exponents = [_exponent(e) for e in _operands(node.args[0])]
        if len(exponents) == 2 and exponents[0] is not None and exponents[1] is not None:
            return careful_log(const(node.type, 1))(exponents[0], exponents[1])
    if isinstance(node, Op) and node.op == "/" and node.type.is_float:
        above, below = map(_terms, node.args)
        if above and below and len(below) > 1 and all(exponent is not None for _, exponent in (*above, *below)):
            return reduce(partial(apply, "+"), [_divided(term, below) for term in above])
    return None


def _operands(expr: Expr) -> list[Expr]:
    return list(expr.args) if isinstance(expr, Op) and expr.op == "+" else [expr]


def _terms(expr: Expr) -> list[Term]:
    """The terms of a sum; none where a literal is added."""
    terms, constant = linear(expr)
    if constant:
        return []
    return [
        _term(atom if number == 1 else apply("*", atom, Const(atom.type, number))) for atom, number in terms.items()
    ]


def _term(expr: Expr) -> Term:
    factors = chain("*", expr)
    found = next((f for f in factors if _exponent(f) is not None), None)
    if found is None:
        return factors, None
    factors.remove(found)
    return factors, _exponent(found)


def _divided(term: Term, below: Sequence[Term]) -> Expr:
    """A term over a sum, both divided by the term's exponential."""
    factors, exponent = term
    assert exponent is not None
    one = const(exponent.type, 1)
    parts: list[Expr] = []
    for others, other in below:
        assert other is not None
        weight = [] if other == exponent else [intrinsic("exp", apply("-", other, exponent))]
        parts.append(reduce(partial(apply, "*"), [*others, *weight] or [one]))
    return apply("/", reduce(partial(apply, "*"), factors or [one]), reduce(partial(apply, "+"), parts))


def _without_undone(expr: Expr) -> Expr:
    """Of data, twice: `exp(s - log(exp(s)))` is `exp(s - s)`, that is 1."""
    return tidy(transform(tidy(transform(expr, _undone)), _undone))


def _undone(node: Expr) -> Expr | None:
    """What an exponential is undone in: `log(b*exp(a))`, `b*exp(a)/exp(a)`."""
    if isinstance(node, Call) and node.name == "log":
        plain = logarithm(node.args[0])
        return None if plain == node else plain
    exponent = _exponent(node)
    if exponent is not None:
        return const(node.type, 1) if linear(exponent) == ({}, 0) else None
    if not isinstance(node, Op) or node.op != "/" or not node.type.is_float:
        return None
    above, below = (chain("*", arg) for arg in node.args)
    shared = [f for f in above if _exponent(f) is not None and f in below]
    if not shared:
        return None
    for factor in shared:
        if factor in below:
            above.remove(factor)
            below.remove(factor)
    one: Expr = const(node.type, 1)
    up, down = (reduce(partial(apply, "*"), factors, one) for factors in (above, below))
    return tidy(apply("/", up, down)) if below else tidy(up)
