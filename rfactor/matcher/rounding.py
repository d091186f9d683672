"""Which integers depend on how float accumulators are rounded, so that their bits are not settled over the reals.

    x0 + a, select(x0 + a > x1, x0 + a, x1), select(x0 + a > x1, i, x2)    x2 is decided by sums, x0 + a
    select(x0 < a, a, x0), select(x0 < a, i, x1)                           nothing is rounded
    select(x0*x0 < a*a, a, x0), select(x0*x0 < a*a, i, x1)                 as rounded for either, in any order

An accumulator that is rounded on the way holds another number in another order, by which other integers may be chosen.
What is rounded in a comparison of the same function of two elements, neither of which is rounded, is no matter of
order: there the operator must round what the update does, as what is equal for real numbers (`x0*x0` and `abs(x0)` as
keys) is not for rounded ones. The rule is one of form: it errs by naming integers that would not differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from rfactor.ir.expr import Call, Const, Expr, Op, names, substitute_all, walk
from rfactor.ir.operations import OPPOSITE
from rfactor.matcher.answer import Answer
from rfactor.matcher.decisions import whole_range
from rfactor.prover.operator import Tuple

_EXACT = ("select", "min", "max", "neg", "abs")
"""Operations on floats that give one of the numbers they take, but for its sign."""


def rounded_integer(answer: Answer) -> tuple[int, Expr] | None:
    """A component that is no float, with a float that it may depend on and that is rounded in an order of its own.

    None where the integers of a yes have the serial bits in every order. Of components that are floats nothing is said.
    """
    update, lift = answer.update, answer.lift
    if not any(type_.is_float for type_ in (*update.types, *(lift.types if lift else ()))):
        return None
    for i, type_ in zip(range(len(update.types)), update.types, strict=True):
        found = None if type_.is_float else _deciding(answer, i)
        if found is not None:
            return i, found
    return None


def sentence(component: int, rounded: Expr) -> str:
    """What is open where `rounded_integer` finds something."""
    return f"the integer x{component} may depend on how floats are rounded ({rounded}), hence on the order"


def _deciding(answer: Answer, component: int) -> Expr | None:
    """A float that is rounded on the way to the component, in the update or in what joins its results."""
    update, lift = answer.update, answer.lift
    if lift is not None:
        parts = _reached((update.components, lift.apply), {component}, "x")
        states = _reached((lift.operator,), _read([lift.apply[i] for i in parts], "y"), "xy")
        own = _operands(max(len(update.types), len(lift.types)))
        joins = [*(lift.apply[i] for i in parts), *(lift.operator[i] for i in states)]
        updates, put = [update.components[i] for i in parts], [lift.data[i] for i in states]
        rounded = (node for expr in (*updates, *joins) for node in _rounded(expr) if names(node) & own)
        return next(rounded, None) or _absent(put, updates)
    assert answer.operator is not None
    parts = _reached((update.components, answer.operator), {component}, "xy")
    own, constants = _operands(len(update.types)), update.constants
    updates, joins = [update.components[i] for i in parts], [answer.operator[i] for i in parts]
    put = [] if answer.data is None else [answer.data[i] for i in parts]
    left = {x.name.replace("x", "y"): x for x in update.accumulators}
    keys = [[node for e in exprs for node in _rounded(e) if names(node) & own] for exprs in (updates, joins)]
    keys[1] = list(substitute_all(keys[1], left))
    found = next((node for expr in (*updates, *joins) for node in _out_of_order(expr, own, constants)), None)
    return found or _absent(put, updates) or _absent(keys[0], keys[1]) or _absent(keys[1], keys[0])


def _operands(count: int) -> frozenset[str]:
    return frozenset(f"{side}{i}" for i in range(count) for side in "xy")


def _read(exprs: Iterable[Expr], sides: str) -> frozenset[int]:
    """The components of the operands on these sides that occur in `exprs`."""
    found = frozenset[str]().union(*map(names, exprs))
    return frozenset(int(name[1:]) for name in found if name[0] in sides and name[1:].isdecimal())


def _reached(tuples: tuple[Tuple, ...], start: Set[int], sides: str) -> list[int]:
    """The components that those of `start` are made of, themselves included, in order."""
    reached, new = frozenset[int](), frozenset(start)
    while new:
        reached |= new
        new = _read([exprs[i] for exprs in tuples for i in new], sides) - reached
    return sorted(reached)


def _out_of_order(expr: Expr, own: Set[str], constants: Set[str]) -> Iterator[Expr]:
    """Floats made of operands that are rounded anywhere but in a comparison of the same function of two elements."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if _rounds(node):
            if names(node) & own:
                yield node
        elif not (isinstance(node, Op) and node.op in OPPOSITE and _alike(node.args[0], node.args[1], own, constants)):
            pending += node.children


def _alike(one: Expr, other: Expr, own: Set[str], constants: Set[str]) -> bool:
    """Whether operands in both are rounded in the same way, those of one side in each, without data."""
    rounded = [node for expr in (one, other) for node in _rounded(expr) if names(node) & own]
    if not rounded:
        return one == other or not (
            isinstance(one, Const) or isinstance(other, Const) or own.isdisjoint(names(one) | names(other))
        )
    return (
        isinstance(one, Op | Call)
        and isinstance(other, Op | Call)
        and (one.type, _head(one)) == (other.type, _head(other))
        and len(one.children) == len(other.children)
        and all(len({name[0] if name in own else name for name in names(e) - constants}) == 1 for e in rounded)
        and all(_alike(a, b, own, constants) for a, b in zip(one.children, other.children, strict=True))
    )


def _head(expr: Op | Call) -> str:
    return expr.op if isinstance(expr, Op) else expr.name


def _absent(exprs: Iterable[Expr], held: Iterable[Expr]) -> Expr | None:
    """A float that is rounded in `exprs`, but does not occur in `held`."""
    known = {node for expr in held for node in walk(expr)}
    return next((node for expr in exprs for node in _rounded(expr) if node not in known), None)


def _rounded(expr: Expr) -> Iterator[Expr]:
    """The outermost floats in `expr` that are rounded and no constants."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if _rounds(node):
            yield node
        else:
            pending += node.children


def _rounds(expr: Expr) -> bool:
    """Whether an operation gives a float that is not the number it would be without rounding."""
    if not expr.type.is_float or not names(expr) or whole_range(expr) is not None:
        return False
    if isinstance(expr, Call):
        return expr.kind == "intrinsic"
    if not isinstance(expr, Op) or expr.op in _EXACT:
        return False
    if expr.op == "cast":
        (value,) = expr.args
        return not (value.type.is_float and value.type.digits <= expr.type.digits)
    return True
