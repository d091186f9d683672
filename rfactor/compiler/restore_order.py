"""Condition 5 where an operator fails to commute only by ties: the order of the serial loop, restored.

Every slice remembers where in the serial order its element came from: in a component of its own, the ordinal of the
iteration, or without one where the user's components tell it, such as the position that argmin keeps. Slices may then
be chosen among in any order. A slice without an element comes before every element, and the function's own value comes
first because the merge takes in only what has been chosen in the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.extraction import Extracted
from rfactor.compiler.serial_choice import (
    PLACE,
    Choice,
    choices,
    is_left_identity,
    lexicographic,
    never,
    never_kept,
    stays,
    told_by_payload,
)
from rfactor.compiler.slices import in_range
from rfactor.compiler.state import Column, Factoring
from rfactor.ir.algorithm import Definition, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Call, Const, Expr, Var, apply, cast, select, substitute, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.linear import linear
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32, I64
from rfactor.matcher.answer import Answer
from rfactor.prover.operator import Operator

Ranges = Mapping[str, ReductionVariable]
_ORDINAL = ".ordinal"


@dataclass(frozen=True, slots=True)
class Ordered:
    """The columns of an intermediate whose slices may be chosen among in any order."""

    columns: tuple[Column, ...]
    occupied: Expr | None
    """Over the state `y…`: whether it holds an element. None where only a flag can say."""
    meanings: Mapping[str, Expr]
    """What the names that the columns add stand for in the algorithm."""


def serial_order(definition: Definition) -> tuple[str, ...]:
    """The reduction variables outermost first, without those that stand alone as a left-hand argument."""
    domain = definition.domain or ReductionDomain(())
    alone = {argument.name for argument in definition.arguments if isinstance(argument, Var)}
    return tuple(rv.name for rv in reversed(domain.variables) if rv.name not in alone)


def ties(answer: Answer) -> tuple[Choice, ...] | None:
    """The choices that keep `answer`'s operator from commuting, none if it commutes after all.

    None where its lack of commutativity is more than ties, or not understood.
    """
    if answer.verdict != "associative" or answer.data is None:
        return None
    return choices(_operator(answer), answer.invariant)


def _operator(answer: Answer) -> Operator:
    assert answer.operator is not None
    return Operator(answer.operator, answer.update.types, answer.update.meaning)


def order_restored(
    asked: Factoring,
    answer: Answer,
    columns: tuple[Column, ...],
    found: tuple[Choice, ...],
    extracted: Extracted,
    ranges: Ranges,
    skips: bool,
    flagged: bool,
) -> Ordered:
    """The `columns` for `answer`'s operator, which chooses as `found`, made fit to be chosen among in any order.

    With `skips`, a state that holds no element must be told from one that does; `flagged` says that a flag does.
    """
    assert answer.data is not None
    operator = _operator(answer)
    x, y = operator.operands("x"), operator.operands("y")
    start, chosen = [column.start for column in columns], list(operator(x, y))
    hidden: list[Column] = []
    occupied: Expr | None = None
    for number, choice in enumerate(found):
        payload, abstract = _payload(asked, answer.data, extracted, operator, choice, ranges)
        if payload and skips and not flagged:
            lowest = list(start)
            for k in payload:
                lowest[k] = Const(I32, int(I32.min))
            distinct = never(apply("==", abstract[payload[0]], lowest[payload[0]]), operator.meaning)
            if answer.invariant or not distinct or not is_left_identity(operator, tuple(lowest)):
                payload = ()
            else:
                start = lowest
                occupied = apply("!=", y[payload[0]], Const(I32, int(I32.min)))
        if payload:
            precedes = lexicographic(tuple(x[k] for k in payload), tuple(y[k] for k in payload))
            keeps = stays(choice, x, y, precedes)
        else:
            column, keeps = _ordinal_column(asked, answer.data, tuple(start), operator, choice, number, skips)
            hidden.append(column)
            occupied = apply(">=", column.var("y"), Const(column.type, 0))
        if skips and flagged:
            keeps = _among_seen(keeps, Var(BOOL, "x.seen"), Var(BOOL, "y.seen"))
        keeps = simplify(keeps)
        for k in choice.components:
            chosen[k] = select(keeps, x[k], y[k])
    own = tuple(replace(column, start=start[k], choose=chosen[k]) for k, column in enumerate(columns))
    meanings = {_ORDINAL: _ordinal(asked.definition)} if hidden else {}
    return Ordered((*own, *hidden), None if flagged else occupied, meanings)


def _ordinal_column(
    asked: Factoring,
    data: tuple[Expr, ...],
    start: tuple[Expr, ...],
    operator: Operator,
    choice: Choice,
    number: int,
    skips: bool,
) -> tuple[Column, Expr]:
    """A hidden component for the ordinal of the element that `choice` keeps, -1 before any; and whether `x` is kept."""
    type_ = _ordinal(asked.definition).type
    x, y = operator.operands("x"), operator.operands("y")
    mine, its = Var(type_, f"x.place.{number}"), Var(type_, f"y.place.{number}")
    stays_here = substitute(choice.keeps, {f"y{k}": value for k, value in enumerate(data)})
    keeps = stays(choice, x, y, apply("<", mine, its))
    if skips:
        seen, its_seen = (apply(">=", v, Const(type_, 0)) for v in (mine, its))
        keeps = _among_seen(keeps, seen, its_seen)
        if not never_kept(operator, choice, start):
            stays_here = apply("and", seen, stays_here)
    ordinal = Var(type_, _ORDINAL)
    step, chosen = simplify(select(stays_here, mine, ordinal)), simplify(select(keeps, mine, its))
    return Column(mine.name[1:], type_, Const(type_, -1), step, chosen), keeps


def _among_seen(keeps: Expr, mine: Expr, its: Expr) -> Expr:
    """Whether `x` is kept, where a state that holds no element always gives way."""
    return apply("or", apply("not", its), apply("and", mine, keeps))


def _ordinal(definition: Definition) -> Expr:
    """The number of iterations before this one, in the serial order of those that may meet at one point."""
    loops = _loops(definition)
    total = 1
    for name in serial_order(definition):
        extent = loops[name].extent
        total *= max(int(extent.value), 1) if isinstance(extent, Const) else int(I32.max)
    type_ = I32 if total <= int(I32.max) else I64
    result: Expr | None = None
    for name in serial_order(definition):
        rv = loops[name]
        along = cast(type_, simplify(apply("-", rv.var, rv.min)))
        result = along if result is None else apply("+", apply("*", result, cast(type_, rv.extent)), along)
    assert result is not None
    return simplify(result)


def _loops(definition: Definition) -> dict[str, ReductionVariable]:
    return {rv.name: rv for rv in (definition.domain or ReductionDomain(())).variables}


def _payload(
    asked: Factoring, data: tuple[Expr, ...], extracted: Extracted, operator: Operator, choice: Choice, ranges: Ranges
) -> tuple[tuple[int, ...], tuple[Expr, ...]]:
    """Components of the choice that tell which of two elements came first, the first to compare in front; or none.

    With the data of an element in terms of its places in the serial order, i32 and never negative.
    """
    order = serial_order(asked.definition)
    data = _without_reads(tuple(substitute(value, extracted.meanings) for value in data))
    candidates: list[tuple[tuple[str, ...], int, Expr]] = []
    for k in choice.components:
        for node in reversed(tuple(walk(data[k]))):
            segment = _segment(node, asked.definition, ranges)
            if segment and operator.types[k] == I32:
                candidates.append((segment, k, node))
                break
    payload: list[int] = []
    places: dict[Expr, Expr] = {}
    rest = order
    while rest:
        found = next((c for c in candidates if rest[: len(c[0])] == c[0]), None)
        if found is None:
            return (), data
        segment, k, node = found
        places[node] = Var(I32, f"{PLACE}{len(payload)}")
        payload.append(k)
        rest = rest[len(segment) :]
    abstract = tuple(replaced(value, places) for value in data)
    names_ = tuple(f"{PLACE}{i}" for i in range(len(payload)))
    told = told_by_payload(operator, choice, abstract, names_, tuple(payload))
    return (tuple(payload) if told else ()), abstract


def _without_reads(data: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """`data` with a variable in place of everything that is read."""
    reads: dict[Expr, Expr] = {}
    for value in data:
        for node in walk(value):
            if isinstance(node, Call):
                reads.setdefault(node, Var(node.type, f".read{len(reads)}"))
    return tuple(replaced(value, reads) for value in data)


def _segment(expr: Expr, definition: Definition, ranges: Ranges) -> tuple[str, ...]:
    """The neighbouring loops of the serial order, outermost first, that `expr` counts; none if it counts no loops.

    It does if it is a sum that grows strictly from each iteration of those loops to the next, and never overflows.
    """
    if expr.type != I32:
        return ()
    order, loops = serial_order(definition), _loops(definition)
    terms, _ = linear(expr)
    counted = {atom.name: int(c) for atom, c in terms.items() if isinstance(atom, Var) and atom.name in order}
    segment = tuple(name for name in order if name in counted)
    if not segment or not in_range(expr, {**ranges, **loops}):
        return ()
    start = order.index(segment[0])
    if order[start : start + len(segment)] != segment:
        return ()
    inside = 0
    for position, name in reversed(tuple(enumerate(segment))):
        if counted[name] <= inside:
            return ()
        extent = loops[name].extent
        if position:
            if not isinstance(extent, Const):
                return ()
            inside += counted[name] * (int(extent.value) - 1)
    return segment
