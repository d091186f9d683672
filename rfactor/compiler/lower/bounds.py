"""Bounds inference: fills the holes of a nest by interval arithmetic, consumers before producers.

The box that a function must be right on (its compute bounds) holds every point at which it is read inside its
`realize`, seen from there; that of an output is asked for by the caller. Going backwards through the stages, each
stage covers the box of those after it, and what it reads and writes of its own function is added for those before.
After *Formal Semantics for the Halide Language*, section 7 (figure 10), solved by intervals in place of an
oracle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import islice

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.boxes import Box, Touched, either, extent_of, hull, hulls, joined
from rfactor.compiler.lower.conditions import compared, conjuncts, negated, positive
from rfactor.compiler.lower.ends import Interval
from rfactor.compiler.lower.interval import Intervals
from rfactor.compiler.lower.nest import Nest
from rfactor.compiler.lower.places import Places
from rfactor.compiler.lower.scope import Binding, Lets, LoopRange, Scope, defined, expanded, is_known, where
from rfactor.compiler.lower.sliding import Folds, Slid, folds, slide
from rfactor.compiler.lower.spans import extents_of, span
from rfactor.compiler.lower.stage_loops import hole
from rfactor.compiler.lower.sums import Computed, Sums
from rfactor.compiler.lower.uses import meeting
from rfactor.compiler.lower.values import data_ranges
from rfactor.compiler.schedule.directives import Bound, Schedule
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.errors import AlgorithmError, ScheduleError
from rfactor.ir.algorithm import Algorithm, Function, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, conjunction, names, select, walk
from rfactor.ir.loopnest import (
    Assert,
    Atomic,
    Block,
    For,
    If,
    Let,
    Produce,
    Provide,
    Realize,
    Stmt,
    Write,
    block,
)
from rfactor.ir.several import points
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32


@dataclass(frozen=True, slots=True)
class Bounded:
    """A nest whose holes are filled, and what it asks of the arrays that the caller gives."""

    body: Stmt
    definitions: Lets
    """Bounds that hold for the whole nest, outermost first."""
    images: Mapping[str, tuple[Touched, ...]]
    """What is read of each image."""
    outputs: Mapping[str, Box]
    """What each output must have room for."""
    sums: Mapping[Interval, Computed]
    """Least and greatest values of sums of coordinates, which i32 must hold, and what they are computed for."""
    sizes: tuple[tuple[str, tuple[Expr, ...], Expr], ...]
    """The greatest extents of the storage of each function, and where there is any."""
    covered: tuple[Covered, ...] = ()
    """What directives promise of what is needed of functions."""
    required: tuple[Assert, ...] = ()
    """See `Nest.required`."""
    computed: Mapping[str, Sequence[tuple[Interval, ...]]] = field(default_factory=dict)
    """What is computed of functions that are traced, one place after the other, over all loops."""
    limited: tuple[Limited, ...] = ()
    """What directives promise of storage."""
    needed: Mapping[str, Expr] = field(default_factory=dict)
    """Functions that are read only where a condition holds that is known on entry: elsewhere they ask for nothing."""


@dataclass(frozen=True, slots=True)
class Limited:
    """Of one dimension of a function no more coordinates are kept than `bound_storage` says."""

    name: str
    variable: str
    most: Expr
    kept: Expr
    live: Expr
    """Where it is kept at all."""


@dataclass(frozen=True, slots=True)
class Covered:
    """What is computed of a function in one dimension, by `bound`, must hold what is needed."""

    name: str
    variable: str
    given: Interval
    needed: Interval
    live: Expr
    """Where it is computed at all."""


@dataclass(slots=True)
class _Home:
    """The storage of a function, while what is inside is walked."""

    scope: Scope
    path: int
    """How many loops and conditions are around it."""
    boxes: list[Box] = field(default_factory=list)
    """What is computed, as seen from there, where it is computed further in."""
    slid: list[Slid] = field(default_factory=list)
    """How each box that is computed further in moves."""


def infer_bounds(nest: Nest, algorithm: Algorithm, schedule: Schedule) -> Bounded:
    """The nest with `Let`s for its holes. Raises `AlgorithmError` for an index that nothing bounds."""
    inference = _Inference(algorithm, nest, schedule)
    scope = Scope(facts=nest.facts, ranges=data_ranges(algorithm.functions))
    inference.domains(algorithm, scope)
    definitions, body = inference.visit(nest.body, scope)
    inference.last_points(algorithm, scope)
    images = {image.name: tuple(inference.touched[image.name]) for image in algorithm.images}
    return Bounded(
        body,
        definitions,
        images,
        inference.outputs,
        inference.sums.found,
        tuple(inference.sizes),
        tuple(inference.covered),
        nest.required,
        inference.computed,
        tuple(inference.limited),
        inference.needed,
    )


class _Inference:
    """One backward walk over a nest."""

    def __init__(self, algorithm: Algorithm, nest: Nest, schedule: Schedule) -> None:
        self._schedule = schedule.functions
        self._skips = not schedule.traces and not any(
            stage.companion for own in schedule.functions.values() for stage in own.stages
        )
        """Whether what is not read is not computed: where nothing is told of it, and none in the loops of others."""
        self._functions = {function.name: function for function in algorithm.functions}
        self._images = {image.name for image in algorithm.images}
        self._outputs = algorithm.outputs
        self._spans = extents_of(algorithm)
        self._interleaved = nest.interleaved
        pairs = [(name, one.companion) for name, own in self._schedule.items() for one in own.stages if one.companion]
        self._together = {end for name, companion in pairs for end in (name, companion.function)}
        """The functions with stages in the loops of others."""
        self._meeting = meeting(nest.body)
        self.touched: dict[str, dict[Touched, None]] = {name: {} for name in (*self._images, *algorithm.outputs)}
        self._level: dict[str, int] = dict.fromkeys(self.touched, 0)
        self.outputs: dict[str, Box] = {}
        self._read: tuple[Scope, set[tuple[str, tuple[Expr, ...]]]] = Scope(), set()
        """This place, and the functions and images with the points at which they are read here."""
        self.sums = Sums()
        """Ends of the sums of coordinates, as seen from outside all loops."""
        self._places = Places(self.sums)
        self.sizes: list[tuple[str, tuple[Expr, ...], Expr]] = []
        """The greatest extents of the storage of each function, and where there is any."""
        self.needed: dict[str, Expr] = {}
        """Where functions are read at all, of those that are not in all runs,"""
        self._asked_on_entry: set[Expr] = set()
        """and the conditions that are known on entry of which that is made."""
        self._extents: dict[str, tuple[Expr | None, ...]] = {}
        """Those of the storage that was walked last, by function and dimension."""
        self.limited: list[Limited] = []
        self.covered: list[Covered] = []
        self.computed: dict[str, list[tuple[Interval, ...]]] = {name: [] for name in schedule.traces}
        self._stage = ""
        """The stage that is walked."""
        self._homes: dict[str, _Home] = {}
        self._path: list[For | If] = []
        """The loops and conditions around this place, outermost first."""

    def domains(self, algorithm: Algorithm, scope: Scope) -> None:
        """What the ends of reduction domains are computed of."""
        for variable in self._reduction_variables(algorithm):
            for end in (variable.min, variable.extent):
                self._computed(end, scope)

    def last_points(self, algorithm: Algorithm, scope: Scope) -> None:
        """The last coordinates of reduction domains: where a loop is split or fused none counts up to them."""
        one = affine.integer(1)
        for variable in self._reduction_variables(algorithm):
            more = affine.subtract(affine.maximum(variable.extent, one), one)
            self._noted((affine.add(variable.min, more),), scope)

    def _reduction_variables(self, algorithm: Algorithm) -> Iterator[ReductionVariable]:
        """Those of all updates, and those that splits and fuses made them of; what is noted is told to be of each."""
        for function in algorithm.functions:
            for stage in function.stages:
                domain = stage.domain or ReductionDomain(())
                for variable in (*domain.variables, *domain.origins):
                    self.sums.here = Computed(f"the domain of {variable.name} in an update of {function.name}")
                    yield variable

    def visit(self, stmt: Stmt, scope: Scope) -> tuple[Lets, Stmt]:
        """The statement with its holes filled, and the definitions that belong before it, outermost first."""
        if isinstance(stmt, Block):
            lets: Lets = ()
            parts: list[Stmt] = []
            for part in stmt.statements:
                if isinstance(part, Produce) and part.name not in self._outputs:
                    self.touched[part.name] = {}
                    self._level[part.name] = scope.depth
            for part in reversed(stmt.statements):
                own, part = self.visit(part, scope)
                scope = defined(scope, own)
                lets += own
                parts.append(part)
            return lets, block(*reversed(parts))
        if isinstance(stmt, For):
            return (), self._loop(stmt, scope)
        if isinstance(stmt, If):
            return self._guarded(stmt, scope)
        if isinstance(stmt, Produce):
            return self._produced(stmt, scope)
        if isinstance(stmt, Realize):
            return self._realized(stmt, scope)
        if isinstance(stmt, Provide):
            return (), self._provided(stmt, scope)
        if isinstance(stmt, Write):
            return (), stmt
        if isinstance(stmt, Atomic):
            self.visit(stmt.body, scope)
            return (), stmt
        raise TypeError(f"unexpected before bounds inference: {stmt!r}")

    def _loop(self, loop: For, scope: Scope) -> Stmt:
        depth = scope.depth + 1
        _countable(loop)
        self.sums.here = Computed(f"the loop {loop.name}")
        end = affine.add(loop.min, loop.extent)
        self._noted((loop.min, end, affine.subtract(end, affine.integer(1))), scope)
        bindings: dict[str, Binding] = dict(scope.bindings)
        bindings[loop.name] = LoopRange(depth, loop.min, loop.extent)
        self._path.append(loop)
        lets, body = self.visit(loop.body, replace(scope, depth=depth, bindings=bindings))
        self._path.pop()
        return For(loop.name, loop.min, loop.extent, loop.kind, define(lets, body))

    def _guarded(self, stmt: If, scope: Scope) -> tuple[Lets, Stmt]:
        self._reads(stmt.condition, scope)
        self.sums.here = Computed(f"a guard of {self._stage}:", stmt.condition)
        self._noted((*compared(stmt.condition), *_next_to(stmt.condition, scope)), scope)
        if not affine.reads(stmt.condition):
            self._computed(stmt.condition, scope)
        self._path.append(stmt)
        around, known = self.touched, is_known(stmt.condition, scope)
        branches, touched = list[Stmt | None](), list[dict[str, dict[Touched, None]]]()
        for condition, branch in ((stmt.condition, stmt.then), (negated(stmt.condition), stmt.otherwise)):
            self.touched = {name: {} for name in around} if known else around
            if known:
                self._asked_on_entry.update(conjuncts(condition))
            lets, inner = ((), None) if branch is None else self.visit(branch, where(scope, condition))
            branches.append(None if inner is None else define(lets, inner))
            touched.append(self.touched)
        self.touched = around
        self._path.pop()
        for name, entries in around.items() if known else ():
            entries.update(dict.fromkeys(either(stmt.condition, *(one[name] for one in touched))))
        then, otherwise = branches
        assert then is not None
        return (), If(stmt.condition, then, otherwise)

    def _realized(self, stmt: Realize, scope: Scope) -> tuple[Lets, Stmt]:
        self.touched[stmt.name] = {}
        self._level[stmt.name] = scope.depth
        home = self._homes[stmt.name] = _Home(scope, len(self._path))
        lets, body = self.visit(stmt.body, scope)
        layout = stmt.layout
        if home.boxes:
            box = home.boxes[0]
            for other in home.boxes[1:]:
                box = hull(box, other)
            lets += self._stored(stmt.name, box, defined(scope, lets))
        function = self._functions[stmt.name]
        folded = folds(function, layout.order, dict(self._schedule[function.name].storage.folds), home.slid)
        self._limit(function, folded)
        return lets, Realize(stmt.name, stmt.types, stmt.bounds, body, replace(layout, folds=folded))

    def _limit(self, function: Function, folded: Folds) -> None:
        """Require that what was just stored is as little as the schedule says."""
        for variable, limit in self._schedule[function.name].storage.limits:
            d = function.variables.index(variable)
            fold = folded[d]
            kept = self._extents[function.name][d] if fold is None else affine.integer(fold)
            if kept is None:
                raise ScheduleError(
                    f"bound_storage({variable}) of {function.name}: how much of it is needed is not known before "
                    "anything runs"
                )
            self.limited.append(Limited(function.name, variable, limit, kept, self._live_on_entry(function.name)))

    def _produced(self, stmt: Produce, scope: Scope) -> tuple[Lets, Stmt]:
        """Stages, last to first: each is walked once the box that it must cover is known."""
        function = self._functions[stmt.name]
        live = self._read_where(function.name, scope)
        parts = stmt.body.statements if isinstance(stmt.body, Block) else (stmt.body,)
        box = self._widened(function, self._asked(function), scope)
        outside = self.touched
        if live is not None:
            self.touched, scope = {name: {} for name in outside}, where(scope, live)
        home = self._homes.get(function.name)
        needed = box
        first: tuple[Expr, ...] = ()
        if home is not None and self._schedule[function.name].storage.slides and function.name not in self._interleaved:
            around = self._path[home.path :]
            alone = function.name not in self._meeting
            slid = slide(function, box, around, lambda expr: expanded(expr, scope, home.scope.depth), alone)
            box = slid.box
            first = () if function.name in self._together else slid.first
            home.slid.append(slid)
        elif home is not None:
            home.slid.append(Slid(box, {}))
        lets: Lets = ()
        outer = self._stage
        stages: list[Stmt] = []
        shared: dict[Expr, Expr] = {}
        """Ends by one name in all stages: what is asked where one of them is live is asked where the others are."""
        for index in reversed(range(len(parts))):
            prefix = f"{function.name}.s{index}"
            own: Lets = ()
            ends: list[Expr] = []
            for name in pure_variables(function, function.stages[index]):
                low, high = box[function.variables.index(name)]
                extent = extent_of(low, high)
                for end, value in (("min", low), ("extent", extent)):
                    ends.append(value)
                    named = hole(prefix, name, end)
                    own += ((named.name, shared.get(value, value)),)
                    if not isinstance(value, Const | Var):
                        shared.setdefault(value, named)
            self._stage = function.told(index)
            self.sums.here = Computed(f"the points that are computed of {self._stage}")
            self._noted(ends, scope)
            scope = defined(scope, own)
            lets += own
            before = len(self.touched[function.name])
            inner, stage = self.visit(parts[index], scope)
            scope = defined(scope, inner)
            lets += inner
            stages.append(stage)
            pure = pure_variables(function, function.stages[index])
            fixed = frozenset(d for d in range(len(box)) if function.variables[d] in pure)
            box = joined(box, islice(self.touched[function.name], before, None), fixed)
        self._stage = outer
        if live is not None:
            for name, entries in outside.items():
                entries.update(dict.fromkeys(either(live, self.touched[name], ())))
            self.touched = outside
        produced: Stmt = Produce(stmt.name, block(*reversed(stages)))
        if first:
            produced = If(conjunction(*first), produced)
        if function.name in self.computed:
            whole_of = Intervals(scope, 0).of
            self.computed[function.name].append(tuple((whole_of(low)[0], whole_of(high)[1]) for low, high in box))
        if home is None:
            self.outputs[function.name] = box
        elif home.scope.depth == scope.depth:
            lets += self._stored(function.name, box, scope)
        else:
            whole = tuple(needed[d] if d in home.slid[-1].windows else box[d] for d in range(len(box)))
            home.boxes.append(self._seen_from(home, whole, function, scope))
        return lets, produced

    def _read_where(self, name: str, scope: Scope) -> Expr | None:
        """Where a function is read at all, as far as it is known on entry; None where that may be in all runs, or it
        is computed elsewhere than there."""
        home = self._homes.get(name)
        if not self._skips or home is None or scope.depth or not self.touched[name]:
            return None
        result: Expr = Const(BOOL, False)
        for live in dict.fromkeys(entry.live for entry in self.touched[name]):
            known = [one for one in conjuncts(live) if one in self._asked_on_entry]
            result = simplify(apply("or", result, conjunction(*known)))
        if isinstance(result, Const):
            return None
        self._asked_on_entry.update(conjuncts(result))
        self.needed[name] = result
        return result

    def _live_on_entry(self, name: str) -> Expr:
        return self.needed.get(name, Const(BOOL, True))

    def _stored(self, name: str, box: Box, scope: Scope) -> Lets:
        """The holes of the storage that holds `box`; there is none where nothing is computed."""
        storage: Lets = ()
        extents = tuple(extent_of(low, high) for low, high in box)
        for d, (low, _), extent in zip(range(len(box)), box, extents, strict=True):
            if name in self.needed and not isinstance(extent, Const):
                extent = select(self.needed[name], extent, affine.integer(0))
            storage += ((hole(name, "min", d).name, low),)
            storage += ((hole(name, "extent", d).name, extent),)
        self.sums.here = Computed(f"the storage of {name}")
        greatest = tuple(
            _least(of_ends, affine.greatest(expanded(extent, scope, 0)))
            for extent, (_, of_ends) in zip(extents, self._noted(extents, defined(scope, storage)), strict=True)
        )
        self._extents[name] = greatest
        known = tuple(extent for extent in greatest if extent is not None)
        self.sizes.append((name, known, self._live_on_entry(name)))
        return storage

    def _seen_from(self, home: _Home, box: Box, function: Function, scope: Scope) -> Box:
        """The hull of `box` over the loops around this place that its storage is outside of."""
        intervals = Intervals(scope, home.scope.depth)
        result: Box = ()
        for d, (least, greatest) in zip(range(len(box)), box, strict=True):
            low, high = intervals.of(least)[0], intervals.of(greatest)[1]
            if low is None or high is None:
                raise AlgorithmError(
                    f"{function.name} is stored outside the loop where it is computed, and nothing known there bounds "
                    f"what is computed of it in {function.variables[d]}: store it where it is computed"
                )
            result += ((low, high),)
        return result

    def _widened(self, function: Function, box: Box, scope: Scope) -> Box:
        """`box` as `bound` and its like would have it."""
        result = list(box)
        for asked in self._schedule[function.name].bounds:
            d = function.variables.index(asked.variable)
            self.sums.here = Computed(f"the bounds of {function.name} in {asked.variable}")
            low, high = result[d]
            if isinstance(asked, Bound):
                first = low if asked.min is None else asked.min
                last = affine.subtract(affine.add(first, asked.extent), affine.integer(1))
                result[d] = first, last
                (outer, _), (_, end) = self._noted((low, high), scope)
                (begin, _), (_, stop) = self._noted((first, last), scope)
                if asked.min is None:  # the ends move together
                    extent = extent_of(low, high)
                    one = affine.integer(1)
                    whole = affine.subtract(expanded(extent, scope, 0), one)
                    most = affine.greatest(whole)
                    near = affine.apart(whole) if most is None else affine.integer(most)
                    ends = self._noted((affine.subtract(extent, one), near), scope)
                    known = [last for _, last in ends if last is not None]
                    end = reduce(affine.minimum, known) if known else None
                    ((_, stop),) = self._noted((affine.subtract(asked.extent, one),), scope)
                    outer = begin = affine.integer(0)
                live = self._live_on_entry(function.name)
                self.covered.append(Covered(function.name, asked.variable, (begin, stop), (outer, end), live))
            elif function.name not in self._outputs:
                count = asked.modulus
                if asked.remainder is not None:
                    rest = affine.integer(asked.remainder)
                    low = affine.add(affine.scale(affine.divide(affine.subtract(low, rest), count), count), rest)
                extent = affine.scale(affine.divide_up(extent_of(low, high), count), count)
                result[d] = low, affine.subtract(affine.add(low, extent), affine.integer(1))
        return tuple(result)

    def _asked(self, function: Function) -> Box:
        """The box that the function must be right on."""
        touched = self.touched[function.name]
        if function.name in self._outputs:
            box: Box = ()
            for d in range(len(function.variables)):
                low, extent = hole(function.name, "min", d), hole(function.name, "extent", d)
                box += ((low, affine.subtract(affine.add(low, extent), affine.integer(1))),)
            return joined(box, touched)
        if not touched:  # scheduled, but nothing reads it: nothing is computed
            return tuple((affine.integer(0), affine.integer(-1)) for _ in function.variables)
        first = next(iter(hulls(touched).items()))
        return joined(first[1], [entry for entry in touched if entry.live != first[0]])

    def _provided(self, stmt: Provide, scope: Scope) -> Provide:
        for expr in (*stmt.arguments, *stmt.values):
            self._reads(expr, scope)
        for arguments, _ in points(stmt.arguments, stmt.values):
            self._touch(stmt.name, arguments, scope, f"{stmt.name} is written")
        return replace(stmt, arguments=tuple(map(affine.tidy, stmt.arguments)))

    def _reads(self, expr: Expr, scope: Scope) -> None:
        for node in walk(expr):
            if isinstance(node, Call) and node.kind != "intrinsic" and (node.name, node.args) not in self._seen(scope):
                self._seen(scope).add((node.name, node.args))
                self._touch(node.name, node.args, scope, f"{node.name} is read")

    def _touch(self, name: str, written: tuple[Expr, ...], scope: Scope, what: str) -> None:
        for argument in written:
            self.sums.here = Computed(f"{self._stage}, where {what} at", argument)
            self._computed(argument, scope)
        level, arguments = self._level[name], tuple(map(affine.tidy, written))
        intervals = self._places.at(scope, level)
        box: Box = ()
        for d, argument in zip(range(len(arguments)), arguments, strict=True):
            self.sums.here = Computed(f"{self._stage}, where {what} in dimension {d} at", argument)
            low, high = intervals.of(argument)
            if low is None or high is None:
                raise AlgorithmError(
                    f"{what} at {argument} in dimension {d}, and nothing bounds that index: "
                    f"write clamp({argument}, low, high)"
                )
            box += ((low, high),)
        if level:
            self._noted(arguments, scope)
        entry = Touched(self._live(scope, intervals, level, self._apart(name)), box)
        self.touched[name][entry] = None

    def _noted(self, exprs: Iterable[Expr], scope: Scope) -> list[Interval]:
        """The intervals of coordinates as seen from outside all loops; their sums are kept for the entry checks."""
        outermost = self._places.at(scope, 0)
        return [outermost.of(expr) for expr in exprs]

    def _computed(self, written: Expr, scope: Scope) -> None:
        """Keep the sums in a coordinate, as it is written and as it is computed, for the entry checks."""
        for form in (written, simplify(written, coordinates=True)):
            for expr, moves in affine.operands(form):
                ((low, high),) = self._noted((expr,), scope)
                if moves and (low is None or high is None):
                    raise AlgorithmError(
                        f"{expr} is part of a coordinate, and nothing keeps it within the range of i32"
                    )

    def _seen(self, scope: Scope) -> set[tuple[str, tuple[Expr, ...]]]:
        """What was read already at this place."""
        if self._read[0] is not scope:
            self._read = scope, set()
        return self._read[1]

    def _apart(self, name: str) -> bool:
        """Whether a function is stored around the loop in which it is computed, and may slide."""
        own = self._schedule.get(name)
        return own is not None and own.store != own.compute

    def _live(self, scope: Scope, intervals: Intervals, level: int, slides: bool) -> Expr:
        """Whether every loop inside `level` around this place has an iteration at all. Where it may be so that a box
        `slides`, loops that have one whatever is asked for are left out: boxes move with loops, conditions do not."""
        conditions: list[Expr] = []
        for binding in scope.bindings.values():
            if isinstance(binding, LoopRange) and binding.depth > level:
                most = intervals.of(binding.extent)[1]
                if most is not None and not self._runs(most, scope, slides):
                    condition = positive(most)
                    if condition not in conditions:
                        conditions.append(condition)
        return conjunction(*conditions)

    def _runs(self, extent: Expr, scope: Scope, sized: bool) -> bool:
        """Whether a loop of this extent has an iteration in all runs, as a constant says, or how `sized` arrays are."""
        if isinstance(extent, Const):
            return int(extent.value) > 0
        return sized and span(expanded(extent, scope, -1), dict(self._spans))[0] > 0


def _next_to(condition: Expr, scope: Scope) -> Iterator[Expr]:
    """The last and the first numbers that coordinates may be by strict comparisons: `p - 1` of `x < p`."""
    for part in conjuncts(condition):
        if isinstance(part, Op) and part.op in ("<", ">") and part.args[0].type == I32 and not affine.reads(part):
            below, above = part.args if part.op == "<" else part.args[::-1]
            for side, other, step in ((below, above, 1), (above, below, -1)):
                moves = not names(other).isdisjoint(scope.bindings)
                if moves and names(side).isdisjoint(scope.bindings) and not isinstance(side, Const):
                    yield affine.plus(side, step)


def _least(one: Expr | None, other: int | None) -> Expr | None:
    """What neither of two upper ends exceeds, of those that are known."""
    if other is None:
        return one
    return affine.integer(other) if one is None else affine.minimum(one, affine.integer(other))


def _countable(loop: For) -> None:
    """Refuse a loop of constant bounds that ends beyond i32."""
    first, extent = affine.constant_value(loop.min), affine.constant_value(loop.extent)
    if first is not None and extent is not None and first + extent > int(I32.max):
        raise AlgorithmError(f"the loop {loop.name} runs from {first} to {first + extent - 1}, beyond the range of i32")


def define(lets: Lets, body: Stmt) -> Stmt:
    """`body` after the definitions, the first outermost."""
    for name, value in reversed(lets):
        body = Let(name, value, body)
    return body
