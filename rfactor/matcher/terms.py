"""Parts of an update that do not depend on the accumulators: what an operator's right operand must supply."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache, partial, reduce

from rfactor.ir.expr import Call, Const, Expr, Op, apply, const, intrinsic, names, rebuild, substitute, transform
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.operations import MIRRORED, OPERATIONS
from rfactor.ir.simplify import simplify, simplify_real
from rfactor.ir.update import Update
from rfactor.prover.infinity import Undefined, may_be_infinite, without_infinities

State = tuple[Expr, ...]

_CHAINS = frozenset(("*", "min", "max", "&", "|", "^", "and", "or"))


def free_of(own: frozenset[str]) -> Callable[[Expr], bool]:
    """A predicate: does an expression mention none of the names?"""
    memo: dict[Expr, bool] = {}

    def free(expr: Expr) -> bool:
        known = memo.get(expr)
        if known is None:
            known = memo[expr] = names(expr).isdisjoint(own)
        return known

    return free


def accumulator_names(update: Update) -> frozenset[str]:
    return frozenset(f"x{i}" for i in range(len(update.types)))


def gathered(expr: Expr, free: Callable[[Expr], bool]) -> Expr:
    """`expr` with the parts of each sum, product and chain that are free of accumulators joined into one operand."""
    memo: dict[Expr, Expr] = {}

    def visit(node: Expr) -> Expr:
        done = memo.get(node)
        if done is None:
            done = memo[node] = compute(node)
        return done

    def compute(node: Expr) -> Expr:
        if free(node) or not isinstance(node, Op):
            return node
        if node.op in ("+", "-", "neg") and node.type.lanes == 1:
            terms, constant = linear(node)
            loose = {atom: c for atom, c in terms.items() if free(atom)}
            bound = {visit(atom): c for atom, c in terms.items() if atom not in loose}
            rest = from_linear(node.type, loose.items(), constant)
            total = from_linear(node.type, bound.items(), 0)
            if not loose and constant == 0:
                return total
            return Op(node.type, "+", (total, rest))
        if node.op in _CHAINS:
            parts = chain(node.op, node)
            loose_parts = [part for part in parts if free(part)]
            bound_parts = [visit(part) for part in parts if not free(part)]
            join = partial(_join, node)
            if not loose_parts:
                return join(bound_parts)
            return join([join(bound_parts), join(loose_parts)])
        return rebuild(node, tuple(map(visit, node.args)))

    return visit(expr)


def _join(like: Op, parts: list[Expr]) -> Expr:
    result = parts[0]
    for part in parts[1:]:
        result = Op(like.type, like.op, (result, part))
    return result


def chain(op: str, expr: Expr) -> list[Expr]:
    """The operands of a chain of one associative operation."""
    assert OPERATIONS[op].associative
    if isinstance(expr, Op) and expr.op == op:
        return [part for arg in expr.args for part in chain(op, arg)]
    return [expr]


def maximal_free(exprs: Iterable[Expr], free: Callable[[Expr], bool]) -> tuple[Expr, ...]:
    """The largest subexpressions that mention no accumulator and are no literal, once each, left to right."""
    found: dict[Expr, None] = {}

    def visit(node: Expr) -> None:
        if isinstance(node, Const):
            return
        if free(node):
            found.setdefault(node)
            return
        for child in node.children:
            visit(child)

    for expr in exprs:
        visit(expr)
    return tuple(found)


def logarithm(value: Expr) -> Expr:
    """The logarithm of a product, exponentials taken out: `log(b * exp(a))` is `a + log(b)`."""
    factors = chain("*", value)
    powers = [f.args[0] for f in factors if isinstance(f, Call) and f.name == "exp"]
    rest = [f for f in factors if not (isinstance(f, Call) and f.name == "exp")]
    terms = [*powers, *([intrinsic("log", reduce(partial(apply, "*"), rest))] if rest else [])]
    return reduce(partial(apply, "+"), terms)


def run_from(update: Update, state: State) -> State:
    """`f(state; d)`, simplified. Raises `Undefined` where an infinity in the state has no value."""
    values = {f"x{i}": e for i, e in zip(range(len(state)), state, strict=True)}
    after = tuple(without_infinities(substitute(e, values)) for e in update.components)
    for expr, type_ in zip(after, update.types, strict=True):
        if not type_.is_float and may_be_infinite(expr):
            raise Undefined(f"{expr} may be infinite, which no {type_} is")
    return tuple(map(tidy, after))


_EXACT: dict[tuple[str, float], int] = {
    ("sin", 0): 0, ("cos", 0): 1, ("exp", 0): 1, ("log", 1): 0, ("sqrt", 0): 0, ("sqrt", 1): 1,
}  # fmt: skip


def exact_value(node: Expr) -> Expr | None:
    """The value of a function at a literal where it is a literal too."""
    if not isinstance(node, Call) or len(node.args) != 1:
        return None
    argument = tidy(node.args[0])
    value = _EXACT.get((node.name, argument.value)) if isinstance(argument, Const) else None
    return None if value is None else const(node.type, value)


@lru_cache(maxsize=1 << 14)
def tidy(expr: Expr) -> Expr:
    """`expr` simplified, literals on the right; the form in which data are shown."""
    return simplify_real(transform(simplify_real(expr), _literals_right))


def _literals_right(node: Expr) -> Expr | None:
    if not isinstance(node, Op) or len(node.args) != 2:
        return None
    a, b = node.args
    if isinstance(a, Const) and not isinstance(b, Const):
        if node.op in MIRRORED:
            return simplify(Op(node.type, MIRRORED[node.op], (b, a)))
        if OPERATIONS[node.op].commutative:
            a, b = b, a
    neutral = isinstance(b, Const) and (
        (node.op in ("^", "|", "<<", ">>") and b.value == 0)
        or (node.op == "&" and b.value == node.type.wrap(-1) and node.type.is_int)
        or (node.op == "!=" and b.value is False)
        or (node.op == "==" and b.value is True)
        or (node.type.is_float and b.value == {"+": 0.0, "-": 0.0, "*": 1.0}.get(node.op, math.nan))
    )
    if neutral:
        return a
    return None if (a, b) == node.args else Op(node.type, node.op, (a, b))
