"""What one iteration of an update costs, by its operations: nanoseconds of one core.

Vectors do a number of operations a cycle, one after the other they wait for each other's results. Both are estimates
from tables of instructions, good to a factor of two.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from math import inf
from typing import Any

from rfactor.compiler.auto.machine import BYTE_NS, CALL_NS, CYCLE_NS, Machine
from rfactor.compiler.lower.records import MUCH
from rfactor.ir.algorithm import Definition, ReductionDomain
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, substitute, walk
from rfactor.ir.fused import is_fused
from rfactor.ir.linear import linear
from rfactor.ir.routines import routine
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F32, Type

_SIMPLE = 0.5
"""Cycles of an addition of vectors, or a comparison, or a choice."""
_CAST = 1.0
"""Of a vector that becomes wider or narrower, counted at its wider type."""
_DIVISION = 6.0
"""Of a vector of integers that is divided by a constant, which is several multiplications."""
_ROOT = 12.0
_AT_ONCE = frozenset({"sqrt", "fma"})
"""Functions that are one instruction."""
_LATENCY = {"*": 3.0, "/": 12.0, "//": 20.0, "%": 20.0, "min": 2.0, "max": 2.0}
"""Cycles until the result is known: of a minimum of integers those of a comparison and a choice."""
_FLOATS = 3.0
"""Those of an operation of floats, and of a comparison that is asked for at once."""
JOINED = frozenset({"+", "*", "min", "max", "&", "|", "^", "and", "or"})
"""Operations by which vectors are reduced at once: of loops by LLVM, of lanes by `lower.in_place`."""
_SHORT = 16
"""Iterations of an innermost loop that LLVM makes no vectors of."""
_SHUFFLED = 4
"""Elements between neighbours up to which whole vectors are loaded and shuffled."""
_DEPTH = 12
"""Functions that call each other to be looked into."""


@dataclass(frozen=True, slots=True)
class Work:
    """Of one iteration."""

    lane_ns: float
    """In vectors, or as fast as memory gives it."""
    serial_ns: float
    """One after the other, each waiting for the one before."""
    apart_ns: float
    """One after the other where none waits: those of several points in turn."""
    waits_ns: float
    """Until the next may begin, of one point."""
    octets: int
    """That it reads."""
    loads: tuple[Call, ...]
    """What it reads of other functions and of images."""
    plain: bool
    """Whether LLVM makes vectors of the serial loop."""
    beside: frozenset[int]
    """Components that lanes load and store only where there is a new record."""


def work(name: str, definition: Definition, references: Mapping[str, Any], machine: Machine) -> Work:
    """Of an update of the function `name`, whose definition refers to `references`."""
    domain = definition.domain
    exprs = (*definition.values, *definition.arguments, *(() if domain is None else (domain.predicate,)))
    nodes = tuple(_distinct(exprs, references, 0))
    loads = tuple(node for node in nodes if isinstance(node, Call) and _is_load(node) and node.name != name)
    octets = sum(load.type.bits // 8 or 1 for load in loads)
    own = {node for node in nodes if isinstance(node, Call) and node.kind == "func" and node.name == name}
    moves = domain is not None and any(_moves(argument, domain) for argument in definition.arguments)
    held: set[Call] = set() if moves else own  # in registers
    asked = _often(definition.values, own)
    beside = frozenset(
        component
        for component, (change, value) in enumerate(zip(asked, definition.values, strict=True))
        if change is not value and all(component != record.index for record in own if record in change.children)
    )
    often = set(_distinct((*asked, *exprs[len(definition.values) :]), references, 0))
    lane = scalar = calls = 0.0
    for node in nodes:
        arithmetic = _arithmetic(node)
        if isinstance(node, Call) and node.kind == "intrinsic" and node.name not in _AT_ONCE and arithmetic is None:
            calls += 1
        if node in held:
            continue
        for step in (node,) if arithmetic is None else _distinct((arithmetic,), {}, 0):
            scalar += _alone(step)
            if node in often:
                lane += _throughput(step) * _width(step) / machine.vector_bits
    waits = _waits(definition.values, {node: node.index for node in own})
    lane_ns = max(lane * CYCLE_NS, octets * BYTE_NS, 0.01) + calls * CALL_NS
    apart_ns = max(scalar * CYCLE_NS, octets * BYTE_NS, 0.1) + calls * CALL_NS
    one_by_one = max(apart_ns, waits * CYCLE_NS + calls * CALL_NS)
    plain = _plain(definition, own, loads)
    return Work(lane_ns, lane_ns if plain else one_by_one, apart_ns, waits * CYCLE_NS, octets, loads, plain, beside)


def _often(values: tuple[Expr, ...], own: Container[Expr]) -> list[Expr]:
    """What lanes compute in every iteration of `values`: beside records only whether there is a new one.

    See `lower.records`. What hardly takes longer than to ask is computed.
    """
    asked = [_record_beside(value, values, own) for value in values]
    beside = sum(value.type.bits for value, change in zip(values, asked, strict=True) if change is not None)
    kept = max((change.args[0].type.bits for change in asked if change is not None), default=0)
    if beside <= (MUCH + 1) * kept:
        return list(values)
    return [value if change is None else change for value, change in zip(values, asked, strict=True)]


def _record_beside(value: Expr, values: tuple[Expr, ...], own: Container[Expr]) -> Op | None:
    """The question whether there is a new record, where `value` is another then and what it was otherwise."""
    if not (isinstance(value, Op) and value.op == "select" and any(arm in own for arm in value.args[1:])):
        return None
    change = value.args[0]
    if not (isinstance(change, Op) and change.op in ("<", "<=", ">", ">=")):
        return None
    for kept in change.args:
        if kept in own and isinstance(kept, Call):
            new = values[kept.index]
            least = isinstance(new, Op) and new.op in ("min", "max") and kept in new.args
            if least or (isinstance(new, Op) and new.op == "select" and new.args[0] == change):
                return change
    return None


def _arithmetic(node: Expr) -> Expr | None:
    """What a function is computed by, if that is arithmetic."""
    found = routine(node.name) if isinstance(node, Call) and not _is_load(node) and node.type == F32 else None
    return None if found is None else found.usual or found.value


def _is_load(call: Call) -> bool:
    return call.kind != "intrinsic"


def _distinct(exprs: Iterable[Expr], references: Mapping[str, Any], depth: int) -> Iterable[Expr]:
    """Every node once, those of functions that are computed where they are used among them."""
    seen: dict[Expr, None] = {}
    for expr in exprs:
        for node in walk(expr):
            if node in seen:
                continue
            seen[node] = None
            called = references.get(node.name) if isinstance(node, Call) else None
            stages = getattr(called, "stages", [])
            if called is not None and len(stages) == 1 and depth < _DEPTH:
                values: tuple[Expr, ...] = stages[0].definition.values
                seen.update(dict.fromkeys(_distinct(values, called.references, depth + 1)))
    return seen


def _throughput(node: Expr) -> float:
    """Cycles of a full vector."""
    if isinstance(node, Const | Var):
        return 0.0
    if isinstance(node, Call):
        return _ROOT if node.name == "sqrt" and not _is_load(node) else _SIMPLE
    if not isinstance(node, Op):
        return _SIMPLE
    if node.op == "cast" and node.args[0].type.bits != node.type.bits:
        return _CAST
    if node.op == "*":
        return _SIMPLE if node.type.is_float else {8: 2.0, 64: 1.5}.get(node.type.bits, 1.0)
    if node.op in ("//", "%"):
        if isinstance(by := node.args[1], Const) and isinstance(by.value, int) and by.value.bit_count() == 1:
            return _SIMPLE
        return _DIVISION if isinstance(node.args[1], Const) else 20.0 * 512 / max(node.type.bits, 8) / 8
    if node.op == "/":
        return 8.0
    return _SIMPLE


def _is_sum_of_two(value: Any) -> bool:
    """Whether `value` is the sum or the difference of two powers of two, or one."""
    size = abs(int(value))
    return (size & (size - 1)).bit_count() <= 1 or (size + (size & -size)).bit_count() == 1


def _width(node: Expr) -> int:
    """Bits of a lane of what it works on."""
    source = node.args[0].type.bits if isinstance(node, Op) and node.op == "cast" else 0
    return max(node.type.bits, source, 8)


def _alone(node: Expr) -> float:
    """Cycles where it is no vector: four simple operations in one, one product of integers, or two with constants
    that are the sum or difference of two powers of two."""
    if isinstance(node, Op) and node.op == "*" and not node.type.is_float:
        return _SIMPLE if any(isinstance(arg, Const) and _is_sum_of_two(arg.value) for arg in node.args) else 1.0
    return _throughput(node) / 2


def _plain(definition: Definition, own: Container[Expr], loads: Iterable[Call]) -> bool:
    """Whether LLVM makes vectors of the serial loop.

    It does of sums and the like of integers, and of minima and maxima of floats, each component for itself, whose
    innermost iterations meet at one point and read neighbours.
    """
    domain = definition.domain
    if domain is None or domain.predicate != Const(BOOL, True):
        return False
    if any(_moves(argument, domain) for argument in definition.arguments):
        return False
    innermost, extent = domain.variables[0].name, simplify(domain.variables[0].extent)
    if isinstance(extent, Const) and extent.value < _SHORT:
        return False
    if any(innermost in names(load) and not _beside(load, innermost) for load in loads):
        return False
    for component, value in enumerate(definition.values):
        if not (isinstance(value, Op) and value.op in JOINED):
            return False
        if value.type.is_float and value.op not in ("min", "max"):
            return False
        mine = [arg for arg in value.args if arg in own]
        inside = [node for arg in value.args for node in walk(arg) if node in own]
        if len(mine) != 1 or len(inside) != 1 or mine[0].index != component:  # type: ignore[attr-defined]
            return False
    return True


def _moves(argument: Expr, domain: ReductionDomain) -> bool:
    """Whether the iterations of a domain choose a coordinate of the point that is written."""
    return not names(argument).isdisjoint(variable.name for variable in domain.variables)


def step_ns(operator: tuple[Expr, ...], data: tuple[Expr, ...], update: Work) -> tuple[float, float]:
    """One element, `data`, taken into a state by `operator`, over `x0`, … and `y0`, …: of a slice of an update.

    Where it waits for the one before, and where it does not. Constants among the data shorten the operator.
    """
    element = {f"y{i}": one for i, one in enumerate(data)}
    steps = tuple(simplify(substitute(value, element)) for value in operator)
    nodes = tuple(_distinct(steps, {}, 0))
    names_of = {f"x{i}": i for i in range(len(operator))}
    state: dict[Expr, int] = {n: names_of[n.name] for n in nodes if isinstance(n, Var) and n.name in names_of}
    scalar = sum(_alone(node) * (2 if _double(node) else 1) for node in nodes)
    apart = max(scalar * CYCLE_NS, update.octets * BYTE_NS, 0.1)
    return max(apart, _waits(steps, state) * CYCLE_NS), apart


def _double(node: Expr) -> bool:
    """Whether it is two instructions where it is no vector: a choice by what no comparison has just set flags for."""
    if not isinstance(node, Op):
        return False
    if node.op == "select":
        asked = node.args[0]
        return not (isinstance(asked, Op) and asked.args[0].type != BOOL)
    return node.op in ("min", "max", "and", "or", "not")


def _waits(values: tuple[Expr, ...], state: Mapping[Expr, int]) -> float:
    """Cycles of an iteration that waits for the one before: `values` are the next of the components in `state`.

    The greatest mean over cycles of components that wait for each other (Karp 1978): a component that only follows
    another, as the second word of a sum of two, does not hold it up.
    """
    waits = [_latencies(value, state) for value in values]
    count = len(values)
    walks = [[0.0] * count]  # the longest of so many edges to each component
    for _ in range(count):
        walks.append(
            [max((walks[-1][j] + known for j, known in latencies.items()), default=-inf) for latencies in waits]
        )
    means = [
        min((walks[count][i] - walks[k][i]) / (count - k) for k in range(count) if walks[k][i] > -inf)
        for i in range(count)
        if walks[count][i] > -inf
    ]
    return max(means, default=0.0)


def _latencies(expr: Expr, state: Mapping[Expr, int]) -> dict[int, float]:
    """Cycles from when a component of `state` is known to `expr`, of each that it depends on.

    A constant that is added at once costs none: LLVM writes several iterations out, and adds their constants together.
    """
    known: dict[Expr, dict[int, float]] = {}
    for node in walk(expr):
        found: dict[int, float] = {}
        for child in node.children:
            for component, cycles in known[child].items():
                found[component] = max(found.get(component, 0.0), cycles)
        own = _latency(node)
        known[node] = {state[node]: 0.0} if node in state else {i: cycles + own for i, cycles in found.items()}
    counts = isinstance(expr, Op) and expr.op == "+" and not expr.type.is_float
    if counts and any(child in state for child in expr.children) and any(isinstance(c, Const) for c in expr.children):
        return dict.fromkeys(known[expr], 0.0)
    return known[expr]


def decays(operator: Iterable[Expr]) -> bool:
    """Whether a state that `operator` combines keeps products of floats.

    Products of many factors below one become denormal, which processors take a hundred times as long for, where the
    serial loop adds a datum in each step.
    """
    return any(isinstance(node, Op) and node.op == "*" and node.type.is_float for v in operator for node in walk(v))


def _latency(node: Expr) -> float:
    op = node.op if isinstance(node, Op) else "*" if is_fused(node) else "call"
    floats = any(child.type.is_float for child in node.children)
    if floats and op in ("+", "-", "*", "min", "max", "<", "<=", ">", ">=", "==", "!="):
        return _FLOATS
    if op == "cast" and not (floats or node.type.is_float):
        return 0.0
    return 20.0 if op == "call" else _LATENCY.get(op, 1.0)


def neighbours(loads: Iterable[Call], variable: str) -> int:
    """How many of `loads` read the next element in memory when `variable` grows by one."""
    return sum(1 for load in loads if load.args and _steps_by_one(load.args[0], variable))


def follow(loads: Iterable[Call], variable: str) -> int:
    """How many of `loads` read the next element, or one a few steps further, when `variable` grows by one."""
    return sum(1 for load in loads if any(variable in names(arg) for arg in load.args) and _near(load, variable))


def streams(loads: Iterable[Call], variable: str) -> dict[str, int]:
    """The images and functions whose neighbours in memory are read as `variable` grows, and the bytes of an element."""
    return {
        load.name: load.type.bits // 8 or 1 for load in loads if load.args and _steps_by_one(load.args[0], variable)
    }


def _beside(load: Call, variable: str) -> bool:
    """Whether `load` reads the next element in memory when `variable` grows by one, and no other row."""
    return _steps_by_one(load.args[0], variable) and not any(variable in names(arg) for arg in load.args[1:])


def _steps_by_one(index: Expr, variable: str) -> bool:
    coefficients, _ = linear(index)
    return any(isinstance(atom, Var) and atom.name == variable and abs(c) == 1 for atom, c in coefficients.items())


def gathers(loads: Iterable[Call], variable: str) -> int:
    """How many of `loads` are gathered where `variable` runs over lanes: those of neither one element nor near ones."""
    return sum(1 for load in loads if any(variable in names(arg) for arg in load.args)) - follow(loads, variable)


def _near(load: Call, variable: str) -> bool:
    """Whether `load` reads elements of one row that are few steps apart as `variable` grows."""
    if any(variable in names(arg) for arg in load.args[1:]):
        return False
    coefficients, _ = linear(load.args[0])
    return all(
        isinstance(atom, Var) and abs(c) <= _SHUFFLED for atom, c in coefficients.items() if variable in names(atom)
    )


def state_octets(types: Iterable[Type]) -> int:
    """Bytes of one lane."""
    return reduce(lambda total, type_: total + max(type_.bits // 8, 1), types, 0)
