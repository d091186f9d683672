"""Operators that choose an element, and the element that the serial loop would choose.

Argmin, argmax, first and last take one of their operands whole: `op(x, y) = select(keeps(x, y), x, y)`. They do not
commute, but only because of ties. Let each element carry its place in the serial order. Then

    choose((x, i), (y, j)) = (x, i) if (keeps(x, y) if i < j else not keeps(y, x)) else (y, j)

commutes for distinct places by construction, and is associative on them exactly if `keeps` and its negation are
transitive (a case analysis over three elements). So any order of merging gives what the serial order gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, select, substitute, variables, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, I32
from rfactor.prover.equality import holds, implies, prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator
from rfactor.prover.verdict import Proven

_LIMITS = Limits(rlimit=4_000_000, seconds=30.0)
"""The clock is for products of reals, on which the solver may not count what it takes."""
_TRUE, _FALSE = Const(BOOL, True), Const(BOOL, False)
PLACE = ".place"
"""What names of places in the serial order begin with: i32 values that are never negative."""
Tuple = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Components of an operator that are chosen together."""

    components: tuple[int, ...]
    keeps: Expr
    """Whether the left operand stays, over `x0…`, `y0…` of these components and constants."""


@lru_cache(maxsize=256)
def choices(operator: Operator, invariant: Tuple = ()) -> tuple[Choice, ...] | None:
    """The choices that keep `operator` from commuting: with the order restored in each, it commutes.

    Components outside of them commute by themselves. None where that is not proved. `invariant` are conditions on
    `y0…` that hold of every element.
    """
    size = range(len(operator.types))
    x, y = operator.operands("x"), operator.operands("y")
    swapped = operator(y, x)
    assumed = _for_each(operator, invariant, "xy")
    free = [k for k in size if _equal(operator, operator.components[k], swapped[k], assumed)]
    open_ = [k for k in size if k not in free]
    found: list[Choice] = []
    for keeps in _conditions(operator):
        if not open_:
            break
        follows = [k for k in size if _equal(operator, operator.components[k], select(keeps, x[k], y[k]), assumed)]
        read = [k for k in size if names(keeps) & {x[k].name, y[k].name}]  # type: ignore[attr-defined]
        chosen = [k for k in open_ if k in follows]
        if chosen and set(read) <= set(follows) and _is_order(operator, keeps, invariant):
            found.append(Choice(tuple(sorted({*read, *chosen})), keeps))
            open_ = [k for k in open_ if k not in chosen]
    inside = {k for choice in found for k in choice.components}
    outside = {f"{side}{k}" for k in size if k not in inside for side in "xy"}
    own = {f"{side}{k}" for k in inside for side in "xy"}
    if open_ or any(names(operator.components[k]) & own for k in size if f"x{k}" in outside):
        return None
    return tuple(found)


def _conditions(operator: Operator) -> Iterator[Expr]:
    """What might decide whether the left operand stays: conditions in the operator, their negations, always, never."""
    seen: set[Expr] = set()
    for component in operator.components:
        for node in walk(component):
            if isinstance(node, Op) and node.op == "select" and node.args[0] not in seen:
                seen.add(node.args[0])
                yield node.args[0]
                yield apply("not", node.args[0])
    yield from (_TRUE, _FALSE)


def _for_each(operator: Operator, invariant: Tuple, letters: str) -> Tuple:
    """The invariant of the elements called by each of `letters`."""
    own = {f"y{i}": variables for i, variables in enumerate(zip(*map(operator.operands, letters), strict=True))}
    return tuple(
        substitute(condition, {name: variables[n] for name, variables in own.items()})
        for n in range(len(letters))
        for condition in invariant
    )


def _equal(operator: Operator, left: Expr, right: Expr, assumed: Tuple = ()) -> bool:
    verdict = prove_equal((left,), (right,), meaning=operator.meaning, assumptions=assumed, limits=_LIMITS)
    return isinstance(verdict, Proven)


def _is_order(operator: Operator, keeps: Expr, invariant: Tuple) -> bool:
    """Whether `keeps` and its negation are transitive."""
    x, y, z = (operator.operands(letter) for letter in "xyz")

    def between(left: Tuple, right: Tuple) -> Expr:
        values = {f"x{i}": e for i, e in enumerate(left)} | {f"y{i}": e for i, e in enumerate(right)}
        return substitute(keeps, values)

    first, second, whole = between(x, y), between(y, z), between(x, z)
    no_first, no_second, no_whole = (apply("not", e) for e in (first, second, whole))
    assumed = _for_each(operator, invariant, "xyz")
    return all(
        isinstance(holds(claim, meaning=operator.meaning, assumptions=assumed, limits=_LIMITS), Proven)
        for claim in (
            implies(apply("and", first, second), whole),
            implies(apply("and", no_first, no_second), no_whole),
        )
    )


def stays(choice: Choice, x: Tuple, y: Tuple, precedes: Expr) -> Expr:
    """Whether the state `x` is chosen before the state `y`, where `precedes` says that it came first."""
    forth = {f"x{i}": e for i, e in enumerate(x)} | {f"y{i}": e for i, e in enumerate(y)}
    back = {f"x{i}": e for i, e in enumerate(y)} | {f"y{i}": e for i, e in enumerate(x)}
    return select(precedes, substitute(choice.keeps, forth), apply("not", substitute(choice.keeps, back)))


def lexicographic(left: Tuple, right: Tuple) -> Expr:
    """Whether `left` is before `right`, the first component deciding first."""
    result: Expr = _FALSE
    for a, b in zip(reversed(left), reversed(right), strict=True):
        here = apply("<", a, b)
        result = here if result == _FALSE else apply("or", here, apply("and", apply("==", a, b), result))
    return result


@lru_cache(maxsize=256)
def told_by_payload(
    operator: Operator, choice: Choice, data: Tuple, places: tuple[str, ...], payload: tuple[int, ...]
) -> bool:
    """Whether the components `payload` of two elements say which came first, as far as the choice depends on it.

    `data` are the elements' components over their own variables, `places` the names of those (i32) that count the
    serial order, the outermost first.
    """
    first, second = (_renamed(data, letter) for letter in "ab")
    early, late = (tuple(Var(I32, f"{name}.{letter}") for name in places) for letter in "ab")
    before = lexicographic(tuple(first[k] for k in payload), tuple(second[k] for k in payload))
    serial, other = operator(first, second), operator(second, first)
    return all(
        isinstance(
            prove_equal(
                (select(before, serial[k], other[k]),),
                (serial[k],),
                meaning=operator.meaning,
                assumptions=(lexicographic(early, late),),
                limits=_LIMITS,
            ),
            Proven,
        )
        for k in choice.components
    )


def _renamed(data: Tuple, letter: str) -> Tuple:
    return tuple(substitute(e, {v.name: Var(v.type, f"{v.name}.{letter}") for v in variables(e)}) for e in data)


@lru_cache(maxsize=256)
def never_kept(operator: Operator, choice: Choice, identity: Tuple) -> bool:
    """Whether the identity gives way to every element."""
    y = operator.operands("y")
    values = {f"x{i}": e for i, e in enumerate(identity)} | {f"y{i}": e for i, e in enumerate(y)}
    claim = apply("not", substitute(choice.keeps, values))
    return isinstance(holds(claim, meaning=operator.meaning, limits=_LIMITS), Proven)


@lru_cache(maxsize=256)
def is_left_identity(operator: Operator, identity: Tuple) -> bool:
    """Whether `op(identity, y) = y` for all y."""
    y = operator.operands("y")
    verdict = prove_equal(operator(identity, y), y, meaning=operator.meaning, limits=_LIMITS)
    return isinstance(verdict, Proven)


@lru_cache(maxsize=256)
def never(claim: Expr, meaning: Meaning) -> bool:
    """Whether `claim` is false for all values of its variables, places being never negative."""
    places = (v for v in variables(claim) if v.name.startswith(PLACE))
    assumed = tuple(apply(">=", place, Const(I32, 0)) for place in places)
    return isinstance(holds(apply("not", claim), meaning=meaning, assumptions=assumed, limits=_LIMITS), Proven)
