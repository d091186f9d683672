"""The bounds query of a nest: what must hold of the bounds that fill its holes, for them to be right.

After *Formal Semantics for the Halide Language* (2020), figure 10, for what every statement says:

for, if, let                what is inside is given their ranges, conditions and values
f(e) = … g(e') …            `storage`: e and e' are within the storage of f and g, or the caller's arrays
                            `computed`: e' is within what every stage of g has computed before
                            `folded`: coordinates that share a place in folded storage are not needed at once
the loops of a stage        `covered`: they visit every point of its box and of its domain
coordinates                 `range`: i32 holds them, so that they are what unbounded integers are
f(e) = v                    `value`: v is in the range of f that the bounds of others rely on
the box asked of an output  `computed`: it is within that of every stage

The paper asks that what is read be right only where somebody needs the result. Nothing is computed wrong on purpose
here, so it is asked of all that is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import conjuncts
from rfactor.compiler.lower.nest import in_own_storage
from rfactor.compiler.lower.storage import buffer_name
from rfactor.compiler.lower.uses import meeting
from rfactor.compiler.lower.values import data_ranges
from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.schedule.purity import pure_variables
from rfactor.compiler.verify.coordinates import sums, uses
from rfactor.compiler.verify.cover import Leaf, covering, visiting
from rfactor.compiler.verify.history import Boxes
from rfactor.compiler.verify.meanings import Meanings, Opaque
from rfactor.compiler.verify.reading import Reading
from rfactor.compiler.verify.spec import Around, Home, Place, Query, Scope, Spec, Step, ranged
from rfactor.compiler.verify.terms import (
    TRUE,
    all_of,
    any_of,
    at_most,
    between,
    compare,
    integer,
    minus,
    negation,
    plus,
)
from rfactor.ir.algorithm import Algorithm, Function
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.loopnest import Assert, Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt, Write
from rfactor.ir.several import points
from rfactor.ir.statements import parts
from rfactor.ir.types import I32, I64, Type

_ONE, _ZERO = integer(1), integer(0)


def query(body: Stmt, algorithm: Algorithm, schedule: Schedule) -> Query:
    """The obligations of a bounded nest with its entry checks (`lower.checked`), of an algorithm as it is lowered."""
    walk_ = _Walk(algorithm, schedule, meeting(body))
    walk_.visit(body, Scope(walk_.arguments()))
    walk_.values()
    return Query(tuple(walk_.specs), walk_.meanings, tuple(walk_.asserted))


class _Walk:
    def __init__(self, algorithm: Algorithm, schedule: Schedule, meeting: frozenset[str]) -> None:
        self.algorithm, self.schedule, self.meeting = algorithm, schedule, meeting
        self.functions = {f.name: f if f.name in algorithm.outputs else in_own_storage(f) for f in algorithm.functions}
        self.meanings = Meanings(data_ranges(algorithm.functions))
        self.specs: list[Spec] = []
        self.asserted: list[Expr] = []
        self.epoch = 1
        self.checked = False
        """Whether the checks on entry have been met."""
        self.leaves: dict[tuple[str, int], list[Leaf]] = {}
        self.stores: dict[str, list[tuple[Provide, Scope]]] = {}
        self.fitting: dict[Expr, list[tuple[Around, ...]]] = {}
        self.readings: dict[tuple[int, int, frozenset[str], bool], tuple[Scope, Reading]] = {}

    # What the caller gives

    def arguments(self) -> dict[str, Expr]:
        """The caller's scalars, and the boxes of arrays: their ends are coordinates."""
        env: dict[str, Expr] = {}
        given = [(image.name, image.dimensions) for image in self.algorithm.images]
        for name in self.algorithm.outputs:
            function = self.functions[name]
            buffers = (buffer_name(name, component) for component in range(len(function.types)))
            given += [(one, len(function.variables)) for one in (name, *buffers)]
        for name, dimensions in given:
            for d in range(dimensions):
                low, extent = (self._scalar(env, f"{name}.{end}.{d}", I32) for end in ("min", "extent"))
                end = between(int(I32.min), plus(low, extent), int(I32.max))
                last = at_most(integer(int(I32.min)), plus(low, minus(extent, _ONE)))
                self.meanings.facts[extent.name] += (at_most(_ZERO, extent), *end, last)
                self._scalar(env, f"{name}.stride.{d}", I64)
        for parameter in self.algorithm.parameters:
            if not parameter.type.is_float and parameter.name not in env:
                self._scalar(env, parameter.name, parameter.type)
        return env

    def _scalar(self, env: dict[str, Expr], name: str, type_: Type) -> Var:
        held = self.meanings.held
        made = self.meanings.fresh(name, type_) if type_.is_bool else held(name, int(type_.min), int(type_.max))
        env[name] = made
        return made

    # The walk

    def visit(self, stmt: Stmt, scope: Scope) -> None:
        """Collect the obligations of a statement."""
        if isinstance(stmt, Block):
            for part in stmt.statements:
                self.visit(part, replace(scope, epoch=self.epoch))
                after = {name: number + _stages(part, name) for name, number in scope.open.items()}
                scope = replace(scope, produced={**scope.produced, **self._produced(part, scope)}, open=after)
        elif isinstance(stmt, Assert):
            self._assert(stmt, scope)
        elif isinstance(stmt, Let):
            self._let(stmt, scope)
        elif isinstance(stmt, For):
            self._loop(stmt, scope)
        elif isinstance(stmt, If):
            self._branch(stmt, scope)
        elif isinstance(stmt, Realize):
            bounds = tuple((self._read(low, scope), self._read(extent, scope)) for low, extent in stmt.bounds)
            home = Home(len(scope.path) + 1, bounds, stmt.layout.folds)
            path = (*scope.path, Around(stmt))
            without = {name: where for name, where in scope.produced.items() if name != stmt.name}
            self.visit(stmt.body, replace(scope, path=path, homes={**scope.homes, stmt.name: home}, produced=without))
        elif isinstance(stmt, Produce):
            self._produce(stmt, scope)
        elif isinstance(stmt, Atomic):
            self.epoch += 1
            self.visit(stmt.body, replace(scope, epoch=self.epoch))
        elif isinstance(stmt, Provide):
            self._provide(stmt, scope)
        elif not isinstance(stmt, Write):
            raise TypeError(f"unexpected in a bounded nest: {stmt!r}")

    def _produced(self, stmt: Stmt, scope: Scope) -> dict[str, Expr]:
        """The functions that are computed once a statement has run, each with where it is."""
        if isinstance(stmt, Produce):
            return dict.fromkeys(_provided(stmt.body), TRUE)
        if isinstance(stmt, Block):
            return {name: where for part in stmt.statements for name, where in self._produced(part, scope).items()}
        if isinstance(stmt, Realize):
            return {name: where for name, where in self._produced(stmt.body, scope).items() if name != stmt.name}
        if isinstance(stmt, If) and stmt.otherwise is None and isinstance(stmt.then, Produce):
            return dict.fromkeys(_provided(stmt.then.body), self._read(stmt.condition, scope))
        return self._produced(stmt.body, scope) if isinstance(stmt, Let) else {}

    def _assert(self, stmt: Assert, scope: Scope) -> None:
        if any(isinstance(one.stmt, If | For) for one in scope.path):
            return
        self.checked = True
        for condition in conjuncts(stmt.condition):
            try:
                self._checked(condition, scope, ())
                self.asserted.append(self._read(condition, scope))
            except Opaque:
                continue  # nothing is known by it

    def _checked(self, condition: Expr, scope: Scope, given: tuple[Expr, ...]) -> None:
        """i32 holds the coordinates of a check, as far as they decide it: after `not a or`, where a holds."""
        if isinstance(condition, Op) and condition.op in ("and", "or"):
            first, second = condition.args
            self._checked(first, scope, given)
            holds = self._read(first, scope)
            self._checked(second, scope, (*given, holds if condition.op == "and" else negation(holds)))
            return
        place = Place("range", "", "checks on entry", "", "", ())
        for part, when in sums(condition):
            term = self._read(part, scope)
            span = self.meanings.span(term)
            if isinstance(term, Var) or (span is not None and span[0] >= I32.min and span[1] <= I32.max):
                continue
            goal = all_of(between(int(I32.min), term, int(I32.max)))
            step = Step(goal, (*given, *self._when(when, scope)), decisive=False)
            spec = scope.spec(replace(place, access=str(part)), step)
            self.specs.append(replace(spec, before=len(self.asserted)))

    def _let(self, stmt: Let, scope: Scope) -> None:
        value = self._read(stmt.value, scope)
        self._fits(stmt.value, scope, stmt.name, None if self.checked else len(self.meanings.values))
        named = value if isinstance(value, Const | Var) else self.meanings.defined(stmt.name, value)
        self.meanings.coordinate(named)
        path = (*scope.path, Around(stmt))
        self.visit(stmt.body, replace(scope, env={**scope.env, stmt.name: named}, path=path))

    def _loop(self, stmt: For, scope: Scope) -> None:
        function, number, _ = stmt.name.split(".", 2) if stmt.name.count(".") > 1 else (stmt.name, "", "")
        scope = replace(scope, stage=f"{function}.{number}" if number.startswith("s") else scope.stage)
        for bound in (stmt.min, stmt.extent):
            self._reads(bound, scope)
            self._fits(bound, scope, f"bounds of the loop {stmt.name}")
        self._fits(affine.add(stmt.min, stmt.extent), scope, f"end of the loop {stmt.name}")
        low, extent = self._read(stmt.min, scope), self._read(stmt.extent, scope)
        variable = self.meanings.fresh(stmt.name)
        self.meanings.facts[variable.name] = (*ranged(variable, low, extent), *self._quotients(variable, extent))
        self.meanings.coordinate(variable)
        self.epoch += 1
        path = (*scope.path, Around(stmt, variable, terms=(low, extent)))
        inside = replace(scope, env={**scope.env, stmt.name: variable}, path=path, epoch=self.epoch)
        self.visit(stmt.body, inside)
        self.epoch += 1

    def _quotients(self, variable: Var, extent: Expr) -> Iterator[Expr]:
        """Of a fused loop, over a product: what is true of its quotient by a factor, which solvers find hard."""
        whole = extent
        while isinstance(whole, Var) and whole.name in self.meanings.values:
            whole = self.meanings.values[whole.name]
        if not (isinstance(whole, Op) and whole.op == "*"):
            return
        for size, times in (whole.args, whole.args[::-1]):
            inner = [size, *(size.args if isinstance(size, Op) and size.op == "max" else ())]
            for by in inner:
                if isinstance(by, Const):
                    continue
                quotient, rest = (Op(I64, op, (variable, by)) for op in ("//", "%"))
                inside = all_of((at_most(_ONE, by), at_most(_ZERO, variable), compare("<", variable, extent)))
                known = all_of((*ranged(quotient, _ZERO, times), *ranged(rest, _ZERO, by)))
                if by == size:
                    yield any_of((negation(inside), known))
                else:
                    yield any_of((negation(all_of((inside, compare("==", size, by)))), known))

    def _branch(self, stmt: If, scope: Scope) -> None:
        self._reads(stmt.condition, scope)
        self._fits(stmt.condition, scope, "a condition")
        holds = self._read(stmt.condition, scope)
        for part, taken in ((stmt.then, True), (stmt.otherwise, False)):
            if part is not None:
                self.visit(part, replace(scope, path=(*scope.path, Around(stmt, taken=taken, terms=(holds,)))))

    def _produce(self, stmt: Produce, scope: Scope) -> None:
        done: dict[str, int] = {}
        scope = replace(scope, path=(*scope.path, Around(stmt)))
        for part in stmt.body.statements if isinstance(stmt.body, Block) else (stmt.body,):
            here = {name: done.get(name, 0) for name in _provided(part)}
            self.visit(part, replace(scope, open={**scope.open, **done, **here}, epoch=self.epoch))
            done.update((name, number + _stages(part, name)) for name, number in here.items())
        for name in done:
            function = self.functions[name]
            for number in range(len(function.stages)):
                leaves = self.leaves.pop((name, number), [])
                if number or not function.pure.keeps_all:
                    stages = self.schedule.functions[name].stages
                    cut = [Leaf(leaf.provide, leaf.path[len(scope.path) :]) for leaf in leaves]
                    self.specs += covering(function, number, stages[number], cut, scope, self.meanings)
            if name in self.algorithm.outputs:
                self._asked(name, scope)

    def _asked(self, name: str, scope: Scope) -> None:
        """What the caller asks of an output is computed."""
        function = self.functions[name]
        boxes = self._boxes(function, replace(scope, open={}))
        for d, variable in zip(range(len(function.variables)), function.variables, strict=True):
            point = self.meanings.fresh(f"{variable} of {name}")
            low, extent = (scope.env[f"{name}.{end}.{d}"] for end in ("min", "extent"))
            asked = ranged(point, low, extent)
            self.meanings.facts[point.name] = asked
            for number in range(len(function.stages)):
                if variable in pure_variables(function, function.stages[number]) and (
                    number or not function.pure.keeps_all
                ):
                    place = Place("computed", name, "caller", f"what is asked of {name}.s{number}", variable, ())
                    spec = boxes.computed(place, number, variable, point)
                    self.specs.append(replace(spec, running=(*spec.running, *asked)))

    def _provide(self, stmt: Provide, scope: Scope) -> None:
        for expr in (*stmt.arguments, *stmt.values):
            self._reads(expr, scope)
        number = scope.open.get(stmt.name, 0)
        scope = replace(scope, stage=f"{stmt.name}.s{number}")
        components = range(len(stmt.values))
        for point, _ in points(stmt.arguments, stmt.values):
            shown = f"{stmt.name}({', '.join(map(str, point))})"
            for argument in point:
                self._fits(argument, scope, shown)
            self._inside(stmt.name, components, point, scope, f"{shown} = …", written=True)
        self.leaves.setdefault((stmt.name, number), []).append(Leaf(stmt, scope.path))
        self.stores.setdefault(stmt.name, []).append((stmt, scope))
        self.epoch += 1

    def _reads(self, expr: Expr, scope: Scope) -> None:
        for node in walk(expr):
            if isinstance(node, Call) and node.kind in ("func", "image"):
                for argument in node.args:
                    self._fits(argument, scope, str(node))
                self._inside(node.name, (node.index,), node.args, scope, str(node), written=False)
                if node.kind == "func":
                    self._computed(node, scope)
                    self._defined(node, expr, scope)

    # Obligations

    def _boxes(self, function: Function, scope: Scope) -> Boxes:
        return Boxes(function, scope, self.meanings, function.name not in self.meeting)

    def _inside(
        self, name: str, components: Iterable[int], point: tuple[Expr, ...], scope: Scope, shown: str, written: bool
    ) -> None:
        """An access is within storage."""
        function = self.functions.get(name)
        for d in range(len(point)):
            variable = str(d) if function is None else function.variables[d]
            place = Place("storage", name, scope.stage, shown, variable, scope.loops)
            at = self._read(point[d], scope)
            home = scope.homes.get(name)
            if function is None or name in self.algorithm.outputs:
                buffers = [name] if function is None else [buffer_name(name, c) for c in components]
                boxes = [(scope.env[f"{b}.min.{d}"], scope.env[f"{b}.extent.{d}"]) for b in buffers]
            elif home is None:
                self.specs.append(scope.spec(place, problem=f"{name} has no storage here"))
                continue
            elif home.folds[d] is None:
                boxes = [home.bounds[d]]
            elif written:
                try:
                    boxes = [self._boxes(function, scope).ends(0, variable)]
                except KeyError:
                    self.specs.append(scope.spec(place, problem=f"{name} is written where it is not computed"))
                    continue
            else:
                fold = home.folds[d]
                assert fold is not None
                place = replace(place, kind="folded")
                try:
                    self.specs.append(self._boxes(function, scope).folded(place, variable, fold, at))
                except KeyError:
                    self.specs.append(scope.spec(place, problem=f"{name} is read where it is not computed"))
                continue
            goal = all_of(condition for low, extent in boxes for condition in ranged(at, low, extent))
            self.specs.append(scope.spec(place, Step(goal)))

    def _computed(self, call: Call, scope: Scope) -> None:
        """What is read of a function has been computed, by every stage before this place."""
        function = self.functions[call.name]
        place = Place("computed", call.name, scope.stage, str(call), "", scope.loops)
        if call.name not in scope.produced and not scope.open.get(call.name):
            self.specs.append(scope.spec(place, problem=f"{call.name} is not computed before"))
            return
        where = scope.produced.get(call.name, TRUE)
        boxes = self._boxes(function, scope)
        if where != TRUE and not scope.open.get(call.name):
            self.specs.append(scope.spec(place, boxes.reached(where)))
        for number in boxes.stages():
            if number == 0 and function.pure.keeps_all:
                continue
            turns = _shared(call.name, number, scope)
            if turns:
                point = {v: self._read(at, scope) for v, at in zip(function.variables, call.args, strict=True)}
                here = replace(place, access=f"{call} of {call.name}.s{number}, in turns")
                schedule = self.schedule.functions[call.name].stages[number]
                steps = visiting(function, number, schedule, point, turns, scope, self.meanings)
                self.specs.append(scope.spec(here, *steps))
            for variable in pure_variables(function, function.stages[number]):
                at = self._read(call.args[function.variables.index(variable)], scope)
                here = replace(place, access=f"{call} of {call.name}.s{number}", variable=variable)
                try:
                    self.specs.append(boxes.computed(here, number, variable, at))
                except KeyError:
                    self.specs.append(scope.spec(here, problem=f"{call.name} is not computed around this place"))

    def _defined(self, call: Call, expr: Expr, scope: Scope) -> None:
        """What is read of an output in `expr`, where that matters, is a point where the output is defined. Its own
        updates work in place: they may read what the caller's array holds."""
        function = self.functions[call.name]
        where = function.pure.where
        if where is None or call.name in scope.open:
            return
        point = {v: self._read(at, scope) for v, at in zip(function.variables, call.args, strict=True)}
        goal = Reading(self.meanings, {**scope.env, **point}, scope.epoch, frozenset(scope.open)).of(where)
        place = Place("computed", call.name, scope.stage, f"{call} of {call.name}.s0 where {where}", "", scope.loops)
        step = Step(goal, self._when(uses(expr)[call], scope), decisive=not function.updates)
        self.specs.append(scope.spec(place, step))

    def _fits(self, expr: Expr, scope: Scope, shown: str, defined: int | None = None) -> None:
        """i32 holds the coordinates in an expression: every sum that something else is made of."""
        for part, when in sums(expr):
            term = self._read(part, scope)
            span = self.meanings.span(term)
            if isinstance(term, Var) or (span is not None and span[0] >= I32.min and span[1] <= I32.max):
                continue
            known = self.fitting.setdefault(term, [])
            if any(scope.path[: len(path)] == path for path in known):
                continue
            if when == TRUE:
                known.append(scope.path)
            text = str(part) if part == expr else f"{part} in {shown}"
            place = Place("range", "", scope.stage, text, "", scope.loops)
            goal = all_of(between(int(I32.min), term, int(I32.max)))
            spec = scope.spec(place, Step(goal, self._when(when, scope), decisive=False))
            self.specs.append(replace(spec, defined=defined))

    def _when(self, condition: Expr, scope: Scope) -> tuple[Expr, ...]:
        """The condition under which a coordinate matters; none where it always does."""
        return () if condition == TRUE else (self._read(condition, scope),)

    def values(self) -> None:
        """What is stored of functions is in the ranges that were relied on; that of others may be relied on for it."""
        done: set[tuple[str, int]] = set()
        while waiting := [claim for claim in self.meanings.claims if claim not in done]:
            for name, component in waiting:
                done.add((name, component))
                low, high = self.meanings.claims[name, component]
                for stmt, scope in self.stores.get(name, ()):
                    for point, values in points(stmt.arguments, stmt.values):
                        value = values[component]
                        shown = f"{name}({', '.join(map(str, point))})[{component}] = {value}"
                        place = Place("value", name, scope.stage, shown, "", scope.loops)
                        term = self._reading(scope, exact=True).of(value)
                        if value.type.is_bool:
                            goal = term if low == high == 1 else negation(term)
                        else:
                            goal = all_of(between(low, term, high))
                        self.specs.append(scope.spec(place, Step(goal)))

    # Reading

    def _read(self, expr: Expr, scope: Scope) -> Expr:
        return self._reading(scope).of(expr)

    def _reading(self, scope: Scope, exact: bool = False) -> Reading:
        key = id(scope.env), scope.epoch, frozenset(scope.open), exact
        if key not in self.readings:
            self.readings[key] = scope, Reading(self.meanings, scope.env, scope.epoch, frozenset(scope.open), exact)
        return self.readings[key][1]


def _stages(stmt: Stmt, name: str) -> int:
    """How many stages of a function a statement runs, one after the other."""
    if isinstance(stmt, Provide):
        return int(stmt.name == name)
    if isinstance(stmt, Realize) and stmt.name == name:
        return 0
    found = [_stages(part, name) for part in parts(stmt)]
    return max(found, default=0) if isinstance(stmt, If) else sum(found)


def _shared(name: str, stage: int, scope: Scope) -> dict[str, Expr]:
    """The iteration of each loop around that an earlier stage of the function runs in too, by the stage's own name."""
    prefix = f"{name}.s{stage}."
    found: dict[str, Expr] = {}
    loops: set[str] = set()
    for one in scope.path:
        if isinstance(one.stmt, For) or (isinstance(one.stmt, Let) and _same_loop(one.stmt, frozenset(loops))):
            loops.add(one.stmt.name)
            if one.stmt.name.startswith(prefix):
                found[one.stmt.name.removeprefix(prefix)] = scope.env[one.stmt.name]
    return found


def _same_loop(stmt: Let, around: frozenset[str]) -> bool:
    """Whether a definition gives another name to a loop around, which stages share."""
    if not (isinstance(stmt.value, Var) and stmt.value.name in around):
        return False
    return stmt.name.split(".", 2)[2:] == stmt.value.name.split(".", 2)[2:]


def _provided(stmt: Stmt) -> frozenset[str]:
    """The functions that are written in a statement, and neither stored in it nor produced by a statement in it."""
    if isinstance(stmt, Provide):
        return frozenset((stmt.name,))
    if isinstance(stmt, Realize):
        return _provided(stmt.body) - {stmt.name}
    if isinstance(stmt, Block):
        return frozenset().union(*map(_provided, stmt.statements))
    if isinstance(stmt, If):
        return _provided(stmt.then) | (frozenset() if stmt.otherwise is None else _provided(stmt.otherwise))
    return _provided(stmt.body) if isinstance(stmt, For | Let | Atomic) else frozenset()
