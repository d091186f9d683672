"""What earlier iterations have computed: sliding windows, and folded storage that holds no more than them.

    for y: produce g over lo(y) … hi(y)

Between the storage of g and its computation runs a serial loop y, from `first`. If `lo(t + 1) <= hi(t) + 1` for
every earlier iteration t, all of `lo(first) … hi(y)` has been computed: by induction, what is new begins where the
iteration before ended, or earlier. Where storage is folded to n places, a point e lives as long as nothing that
shares its place is written: points from e + n on are beyond `hi(y) < e + n`, and those up to e - n are before
`lo(t) > e - n`, as no box holds more than n coordinates and none goes back. Boxes that move down are the same the
other way round.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rfactor.compiler.lower.affine import reads
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.compiler.verify.meanings import Meanings
from rfactor.compiler.verify.spec import Around, Exists, Place, Scope, Spec, Step, ranged
from rfactor.compiler.verify.terms import ONE, all_of, at_most, compare, integer, minus, negation, plus
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Const, Expr, Op, Var, names, substitute
from rfactor.ir.loopnest import For, If, Let
from rfactor.ir.types import I64

Ends = tuple[Expr, Expr]
"""Least coordinate and extent."""


@dataclass(frozen=True, slots=True)
class Moving:
    """A box in one dimension, as a function of a serial loop around."""

    loop: Var
    first: Expr
    ends: Ends
    earlier: Var
    """An iteration."""

    @property
    def down(self) -> bool:
        """Whether the boxes seem to move down: how it may be proven, no more."""
        return _direction(self.ends[0], self.loop.name) < 0

    def at(self, iteration: Expr) -> Ends:
        """The ends in an iteration."""
        low, extent = (substitute(end, {self.loop.name: iteration}) for end in self.ends)
        return low, extent

    def end(self, iteration: Expr) -> Expr:
        """One past the last coordinate in an iteration."""
        return plus(*self.at(iteration))

    def pairs(self) -> tuple[Expr, Expr]:
        """That `earlier` and the iteration after it have been reached."""
        return at_most(self.first, self.earlier), at_most(plus(self.earlier, ONE), self.loop)


class Boxes:
    """What is computed of a function around a place; `alone` where no other place computes it in between."""

    def __init__(self, function: Function, scope: Scope, meanings: Meanings, alone: bool) -> None:
        self.function, self.scope, self.meanings, self.alone = function, scope, meanings, alone

    def stages(self) -> range:
        """The stages that come before the place."""
        return range(self.scope.open.get(self.function.name, len(self.function.stages)))

    def ends(self, stage: int, variable: str) -> Ends:
        """The box of a stage in a dimension. Raises `KeyError` where none is around."""
        prefix = f"{self.function.name}.s{stage}.{variable}"
        return self.scope.env[f"{prefix}.min"], self.scope.env[f"{prefix}.extent"]

    def between(self, stage: int, variable: str) -> tuple[Around, ...]:
        """What is around the computation and within the storage."""
        home = self.scope.homes.get(self.function.name)
        if home is None:
            return ()
        hole = f"{self.function.name}.s{stage}.{variable}.min"
        places = [i for i, one in zip(range(len(self.scope.path)), self.scope.path, strict=True)
                  if isinstance(one.stmt, Let) and one.stmt.name == hole]  # fmt: skip
        return self.scope.path[home.depth : places[-1]] if places else ()

    def moving(self, stage: int, variable: str) -> Moving | str | None:
        """The box as a function of the loop that it moves with: None where it moves with none, or why that is no
        serial window."""
        low, extent = self.ends(stage, variable)
        around = self.between(stage, variable)
        depends = self.meanings.depends(low) | self.meanings.depends(extent)
        movers = [i for i, one in zip(range(len(around)), around, strict=True)
                  if one.variable is not None and one.variable.name in depends]  # fmt: skip
        if not movers:
            return None
        loop = around[movers[-1]]
        assert isinstance(loop.stmt, For)
        assert loop.variable is not None
        own = loop.variable.name
        if loop.stmt.kind not in ("serial", "unrolled"):
            return f"the {loop.stmt.kind} loop {loop.stmt.name} is within the storage of {self.function.name}"
        moved = {own}
        for one in around[movers[-1] + 1 :]:
            depends_on = frozenset().union(*map(self.meanings.depends, one.terms))
            if one.variable is not None and moved & depends_on and self._runs_once(one):
                moved.add(one.variable.name)
            elif moved & depends_on or _data(one):
                return f"what runs in an iteration of {loop.stmt.name} varies"
        ends = self.meanings.expanded(low), self.meanings.expanded(extent)
        if not self.lasting():
            return f"{self.function.name} is computed elsewhere in between, and not all of it is finished there"
        if own in (depends - (names(ends[0]) | names(ends[1]))):
            return f"the box depends on {loop.stmt.name} through data"
        for k in self.stages():
            if variable not in pure_variables(self.function, self.function.stages[k]):
                return f"stage {k} of {self.function.name} has no box in {variable}"
            for other in pure_variables(self.function, self.function.stages[k]):
                if other != variable and any(moved & self.meanings.depends(end) for end in self.ends(k, other)):
                    return f"the box of {self.function.name} moves with {loop.stmt.name} in {other} too"
        return Moving(loop.variable, loop.terms[0], ends, self.meanings.fresh(f"earlier {loop.stmt.name}"))

    def lasting(self) -> bool:
        """Whether what is computed stays as it is: other places in between, if any, write what is finished."""
        stages = [set(pure_variables(self.function, stage)) for stage in self.function.stages]
        return self.alone or all(set(self.function.variables) == own for own in stages)

    def _runs_once(self, loop: Around) -> bool:
        """Whether a loop has one iteration, whatever is around it."""
        extent = self.meanings.expanded(loop.terms[1])
        return isinstance(extent, Const) and extent.value == 1

    def computed(self, place: Place, stage: int, variable: str, point: Expr) -> Spec:
        """That `point` is within what `stage` computes, now or in an earlier iteration."""
        low, extent = self.ends(stage, variable)
        plain = self.scope.spec(place, Step(all_of(ranged(point, low, extent))))
        found = self.moving(stage, variable)
        if found is None:
            return plain
        if isinstance(found, str):
            return replace(plain, steps=(replace(plain.steps[0], decisive=False),))
        then = plus(found.earlier, ONE)
        if found.down:
            reached = all_of((at_most(low, point), compare("<", point, found.end(found.first))))
            joined = at_most(found.at(found.earlier)[0], found.end(then))
        else:
            reached = all_of((at_most(found.at(found.first)[0], point), compare("<", point, plus(low, extent))))
            joined = at_most(found.at(then)[0], found.end(found.earlier))
        steps = [Step(reached), Step(joined, found.pairs())]
        for k in self.stages():
            if k != stage:
                steps += [Step(compare("==", a, b)) for a, b in zip(self.ends(k, variable), (low, extent), strict=True)]
        once = all_of((at_most(found.first, found.earlier), at_most(found.earlier, found.loop)))
        there = all_of((once, *ranged(point, *found.at(found.earlier))))
        return replace(plain, instead=tuple(steps), otherwise=Exists((found.earlier,), there))

    def reached(self, where: Expr) -> Step:
        """That `where`, under which all stages are computed, holds in this iteration, or has held in the first one of
        loops with which neither their boxes move nor what runs inside."""
        own = {k: pure_variables(self.function, self.function.stages[k]) for k in self.stages()}
        moved = [self.meanings.depends(end) for k in own for one in own[k] for end in self.ends(k, one)]
        around = min((self.between(k, own[k][0]) for k in own if own[k]), key=len, default=())
        first: dict[str, Expr] = {}
        asked: list[Expr] = []
        stopped = not self.lasting()
        for one in reversed(() if stopped else around):
            if isinstance(one.stmt, If):
                stopped = stopped or _data(one)
                asked.append(one.terms[0] if one.taken else negation(one.terms[0]))
            elif isinstance(one.stmt, For) and one.variable is not None:
                name = one.variable.name
                stopped = stopped or one.stmt.kind not in ("serial", "unrolled") or any(name in of for of in moved)
                if stopped:
                    break
                first[name] = one.terms[0]
                moved += [self.meanings.depends(end) for end in one.terms]
        then = [substitute(self.meanings.expanded(one), first) for one in (where, *asked)]
        return Step(all_of(then), decisive=not stopped)

    def folded(self, place: Place, variable: str, fold: int, point: Expr) -> Spec:
        """That what shares the place of `point` in folded storage is not written before it is read."""
        low, extent = self.ends(0, variable)
        room = integer(fold)
        fits = Step(at_most(extent, room))
        found = self.moving(0, variable)
        if found is None:
            return self.scope.spec(place, fits)
        if isinstance(found, str):
            return self.scope.spec(place, fits, problem=found)
        if not self.alone:
            return self.scope.spec(place, fits, problem=f"{self.function.name} is computed elsewhere in between")
        then = plus(found.earlier, ONE)
        (before, _), (after, _) = found.at(found.earlier), found.at(then)
        ends = (before, after), (found.end(found.earlier), found.end(then))
        onward = all_of(at_most(*(pair[::-1] if found.down else pair)) for pair in ends)
        small = at_most(found.at(found.earlier)[1], room)
        reached = at_most(found.first, found.earlier), at_most(found.earlier, found.loop)
        alive = compare("<", minus(point, low), room) if found.down else at_most(minus(plus(low, extent), point), room)
        return self.scope.spec(
            place, Step(alive), Step(small, reached), Step(onward, found.pairs(), decisive=False)
        )  # fmt: skip


def _direction(expr: Expr, name: str) -> int:
    """Where an end seems to move as `name` grows: up (1), down (-1) or, as far as is seen, neither (0)."""
    if isinstance(expr, Var):
        return int(expr.name == name)
    if not isinstance(expr, Op) or expr.type != I64:
        return 0
    parts = [_direction(arg, name) for arg in expr.args]
    if expr.op == "-":
        return parts[0] or -parts[1]
    if expr.op == "*":
        factors = [int(arg.value) for arg in expr.args if isinstance(arg, Const)]
        return next((part for part in parts if part), 0) * (-1 if factors and factors[0] < 0 else 1)
    return next((part for part in parts if part), 0)


def _data(one: Around) -> bool:
    return isinstance(one.stmt, If) and reads(one.stmt.condition)
