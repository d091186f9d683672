"""Tiles: neighbouring iterations of a scan taken together, in vectors, in order.

    tile(l, t)   = h(1 + t*4 + l)                                        the data of one tile, in lanes
    tile1(l, t)  = tile(l, t);   tile1(r, t) = tile(r - 1, t) + tile(r, t) for r in [1, 4)
    tile2(l, t)  = tile1(l, t);  tile2(r, t) = tile1(r - 2, t) + tile1(r, t) for r in [2, 4)

`prefixes` makes of the data of a tile the runs of its iterations up to each, as above: a step for each bit of the
number of lanes (Hillis and Steele). `whole` makes of them one run: neighbours are joined, then neighbours of those.
Both join in order, so that nothing need commute. The functions are computed for one tile at a time; their values stay
in registers, and what is read a few lanes further is a shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.schedule.defaults import default_stage
from rfactor.compiler.schedule.directives import Bound, FunctionSchedule, LoopLevel, StageSchedule
from rfactor.ir.algorithm import Definition, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Expr, Op, Var, substitute, walk
from rfactor.ir.types import I32, Type

Tuple = tuple[Expr, ...]
_BITS, _MOST = 512, 16
"""Of a vector, and its most lanes: in a register of bytes further lanes are no steps apart."""
_PER_LANE = frozenset({"//", "%"})
"""Operations that vectors of integers do lane by lane."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """How the data of a scan are taken in tiles."""

    name: str
    """What the names of its functions begin with."""
    types: tuple[Type, ...]
    """Of the state."""
    operator: Tuple
    """Over two states `x0`, … and `y0`, …"""
    data: Callable[[Expr], Tuple]
    """The state of one iteration, counted from the first."""
    others: tuple[str, ...]
    """The variables besides those that count iterations."""


def joined(operator: Tuple, x: Tuple, y: Tuple) -> Tuple:
    """`operator` of two states."""
    values = {f"{side}{i}": value for side, of in (("x", x), ("y", y)) for i, value in enumerate(of)}
    return tuple(substitute(expr, values) for expr in operator)


def lanes_of(types: tuple[Type, ...]) -> int:
    """How many states a vector has lanes for."""
    return min(_MOST, _BITS // max(t.bits for t in types))


def pays(lanes: int, operator: Tuple, apply: Tuple, update: Tuple) -> bool:
    """Whether the prefixes of a tile, applied, are less work than `lanes` times the update, one after the other."""
    steps = lanes.bit_length() - 1
    if any(
        isinstance(node, Op) and node.op in _PER_LANE and node.type.is_int
        for expr in (*operator, *apply)
        for node in walk(expr)
    ):
        return False
    return steps * (_work(operator) + len(operator)) + _work(apply) <= _CHAIN * lanes * _work(update)


_CHAIN = 2
"""How much longer an operation takes that waits for the one before than one of many."""


def _work(exprs: Tuple) -> int:
    return len({node for expr in exprs for node in walk(expr) if isinstance(node, Op)})


def prefixes(tiling: Tiling, lanes: int) -> tuple[Function, ...]:
    """Functions of a lane, the others and a tile; the last is the run of the tile's iterations up to each."""
    return tuple(_prefixes(tiling, lanes))


def _prefixes(tiling: Tiling, lanes: int) -> Iterator[Function]:
    lane, others, tile = _variables(tiling)
    before = _first(tiling, lanes)
    yield before
    for step in range(lanes.bit_length() - 1):
        away = 1 << step
        later = ReductionVariable(f"{lane.name}.{step}", affine.integer(away), affine.integer(lanes - away))
        here = (later.var, *others, tile)
        back = (affine.subtract(later.var, affine.integer(away)), *others, tile)
        update = Definition(
            here, joined(tiling.operator, _at(before, back), _at(before, here)), ReductionDomain((later,))
        )
        pure = Definition((lane, *others, tile), _at(before, (lane, *others, tile)))
        before = Function(f"{tiling.name}.{step}", before.variables, tiling.types, pure, (update,))
        yield before


def whole(tiling: Tiling, lanes: int) -> tuple[Function, ...]:
    """Functions of a lane, the others and a tile; the last, whose lane is 0, is the run of the tile's iterations."""
    return tuple(_whole(tiling, lanes))


def _whole(tiling: Tiling, lanes: int) -> Iterator[Function]:
    lane, others, tile = _variables(tiling)
    before = _first(tiling, lanes)
    yield before
    for step in range(lanes.bit_length() - 1):
        left = affine.scale(lane, 2)
        pair = (left, *others, tile), (affine.add(left, affine.integer(1)), *others, tile)
        pure = Definition((lane, *others, tile), joined(tiling.operator, *(_at(before, point) for point in pair)))
        before = Function(f"{tiling.name}.{step}", before.variables, tiling.types, pure)
        yield before


def _variables(tiling: Tiling) -> tuple[Var, tuple[Var, ...], Var]:
    """The lane, the others, the tile."""
    return Var(I32, f"{tiling.name}.lane"), tuple(Var(I32, n) for n in tiling.others), Var(I32, f"{tiling.name}.tile")


def _first(tiling: Tiling, lanes: int) -> Function:
    """The data of each iteration."""
    lane, others, tile = _variables(tiling)
    own = (lane, *others, tile)
    data = tiling.data(affine.add(affine.scale(tile, lanes), lane))
    return Function(tiling.name, tuple(v.name for v in own), tiling.types, Definition(own, data))


def _at(function: Function, point: Tuple) -> Tuple:
    return tuple(function.at(point, c) for c in range(len(function.types)))


def in_lanes(function: Function, lanes: int, level: LoopLevel) -> FunctionSchedule:
    """`lanes` lanes of a function of a tile, as vectors, at the loop over tiles."""
    lane = function.variables[0]
    stages: list[StageSchedule] = []
    for stage in function.stages:
        dimensions = default_stage(function, stage).dimensions
        vectors = [replace(d, kind="vectorized") for d in dimensions if d.name.startswith(lane)]
        stages.append(StageSchedule((*vectors, *(d for d in dimensions if not d.name.startswith(lane)))))
    return FunctionSchedule(tuple(stages), level, level, (Bound(lane, affine.integer(0), affine.integer(lanes)),))
