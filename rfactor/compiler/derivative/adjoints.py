"""Reverse-mode derivatives of a pipeline, as functions of the same language.

The adjoint `F` of a function `f` says of each point how much the result grows for each unit that `f` grows there. From
the result back to what it is made of, every stage `f(a) = value` adds `F(a) * d value / d g(c)` to the adjoint of `g`
at `c`, for every point that the stage computes:

    f(x) = g(x + 1)*2             ->   G(x) += F(x - 1)*2              the other way round, where that is unique
    f(x) = g(clamp(x, 0, 9))*2    ->   G(clamp(r, 0, 9)) += F(r)*2     r over the box that is needed of f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from rfactor.compiler.derivative.boxes import Box
from rfactor.compiler.derivative.rules import adjoints
from rfactor.compiler.derivative.writes import Written, once, written
from rfactor.compiler.language.expr import Expr, Uses, read_on_entry
from rfactor.compiler.language.freeze import Frozen
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.names import Named
from rfactor.compiler.language.variables import Param, RDom, Var
from rfactor.compiler.language.wrappers import calling
from rfactor.compiler.lower import affine
from rfactor.errors import AlgorithmError
from rfactor.ir import expr as ir
from rfactor.ir.algorithm import Definition, plain
from rfactor.ir.several import Several
from rfactor.ir.types import F32, I32, Type

Point = tuple[ir.Expr, ...]


@dataclass
class Backward:
    """A pipeline on the way from its result to its inputs."""

    pipeline: Frozen
    boxes: Mapping[str, Box]
    inputs: Uses
    """Its images and parameters, and what is read of images before anything is computed, by name."""
    found: dict[str, Func] = field(default_factory=dict)
    """The adjoint of each function's last values, of images and of parameters, by name, as far as it is known."""
    states: dict[tuple[str, int], Func] = field(default_factory=dict)
    """The adjoint of the values of a function after an update; -1 for those of its pure definition."""

    dropped: set[str] = field(default_factory=set)
    """The functions that were called on the way, of whose derivatives there is a warning."""

    def run(self, seed: Any) -> None:
        """From the last function, whose adjoint is `seed`, a value or an `Expr` over its variables, to the inputs."""
        functions = self.pipeline.functions
        last = self.adjoint(functions[-1].name())
        variables = last.args()
        last[tuple(variables)] = seed(variables)
        for func in reversed(functions):
            state = self.found.get(func.name())
            if state is None or not any(type_.is_float() for type_ in func.types()):
                continue
            for k in range(func.num_update_definitions() - 1, -1, -1):
                self.states[func.name(), k] = state
                state = self._update(func, k, state)
            self.states[func.name(), -1] = state
            pure = func.function.pure
            self._give(func, pure, state, lambda node: node, {})

    def __contains__(self, name: str) -> bool:
        """Whether the result is computed from a function, an image or a parameter of that name."""
        return name in self.inputs or any(one.name() == name for one in self.pipeline.functions)

    def adjoint(self, name: str) -> Func:
        """The adjoint of a function, an image or a parameter: 0 until something is added."""
        if name not in self.found:
            used = next((one for one in self.pipeline.functions if one.name() == name), None) or self.inputs[name]
            types = used.types() if isinstance(used, Func) else [used.type()]
            rank = 0 if isinstance(used, Param) else used.dimensions()
            variables = used.args() if isinstance(used, Func) else [Var(f"_{d}") for d in range(rank)]
            made = self.found[name] = Func(f"{name}_d")
            made[tuple(variables)] = tuple(Expr(ir.zero(_real(type_.ir))) for type_ in types)
        return self.found[name]

    # One update

    def _update(self, func: Func, k: int, after: Func) -> Func:
        """The adjoint of the values before update `k`, of which that after it is `after`."""
        stage, name = func.function.updates[k], func.name()
        point, values = stage.arguments, stage.values
        where = f"propagate_adjoints: update {k} of {name}"
        domain = stage.domain
        predicate = () if domain is None else (domain.predicate,)
        real = [value for value in values if value.type.is_float]
        nodes = [node for one in (*point, *real, *predicate) for node in ir.walk(one)]
        if any(isinstance(node, Several) for one in values for node in ir.walk(one)):
            raise AlgorithmError(f"{where} writes several points at once, which has no derivative here")
        if self._adds(func, stage, after):
            self._give(func, stage, after, lambda node: node, {})
            return after
        if not once(stage, func.args()):
            raise AlgorithmError(
                f"{where} depends on intermediate values, which it overwrites: only sums may write a point twice"
            )
        others = {node for node in nodes if _own(node, name) and node.args != point}
        kinds = {node: written(stage, node.args, func.args()) for node in others}
        behind = {node for node, kind in kinds.items() if kind is Written.EARLIER}
        if len({node.args for node in behind}) > 1 or None in kinds.values():
            raise AlgorithmError(
                f"{where} reads {name} at {' and '.join(sorted(str(node) for node in others))}: only the point that it "
                "writes, one that an earlier iteration wrote, a number away along a variable of its domain, and any "
                "that no iteration has written yet"
            )
        before = _state(func, k)
        now = _state(func, k + 1) if behind else before
        references: Uses = {before.name(): before, now.name(): now}

        def primal(node: ir.Expr) -> ir.Expr:
            """What the update reads of itself, as values that are still there."""

            def kept(one: ir.Expr) -> ir.Expr | None:
                if _own(one, name):
                    held = now if kinds.get(one) is Written.EARLIER else before
                    at = tuple(ir.transform(a, kept) for a in one.args)
                    return ir.Call(one.type, held.name(), at, "func", one.index)
                return None

            return ir.transform(node, kept)

        if domain is not None:
            stage = replace(stage, domain=replace(domain, predicate=primal(domain.predicate)))
        swept = any(node.type.is_float for node in behind)
        seen = self._swept(func, stage, after, primal, references) if swept else after
        self._give(func, stage, seen, primal, references)
        earlier = Func(f"{name}_d{k}")
        earlier[tuple(func.args())] = tuple(seen[tuple(func.args())][i] for i in range(len(func.types())))
        loops = _Loops(self, func, stage, (), references)
        parts = self._parts(stage, seen, primal)
        uses = {**func.references, **references, seen.name(): seen, **loops.uses}

        def given(at: Point) -> list[Expr]:
            """What an iteration gives each component of a point that it reads."""
            total: list[ir.Expr] = [ir.zero(_real(type_.ir)) for type_ in func.types()]
            for node, part in parts.items():
                if _own(node, name) and node.args == at:
                    total[node.index] = ir.apply("+", total[node.index], part)
            return [loops.expr(one, uses) for one in total]

        earlier[tuple(loops.expr(a, uses) for a in point)] = tuple(given(point))
        read = [node for node in parts if _own(node, name)]
        for at in dict.fromkeys(node.args for node in read if kinds.get(node) is Written.NOT_YET):
            place = tuple(loops.expr(primal(a), uses) for a in at)
            earlier[place] = tuple(earlier[place][i] + one for i, one in enumerate(given(at)))
        return earlier

    def _swept(self, func: Func, stage: Definition, after: Func, primal: Any, references: Uses) -> Func:
        """`after`, with what each iteration adds to the point that it reads, from the last iteration to the first."""
        swept = Func(f"{func.name()}_d_swept")
        count = range(len(func.types()))
        swept[tuple(func.args())] = tuple(after[tuple(func.args())][i] for i in count)
        loops = _Loops(self, func, stage, (), references, backward=True)
        parts = self._parts(stage, swept, primal)
        uses = {**func.references, **references, swept.name(): swept, **loops.uses}
        own, point = func.args(), stage.arguments
        read = [
            n
            for n in parts
            if _own(n, func.name()) and n.args != point and written(stage, n.args, own) is Written.EARLIER
        ]
        at = tuple(loops.expr(a, uses) for a in read[0].args)
        given = {node.index: loops.expr(parts[node], uses) for node in read}
        swept[at] = tuple(swept[at][i] + given[i] if i in given else swept[at][i] for i in count)
        return swept

    def _adds(self, func: Func, stage: Definition, after: Func) -> bool:
        """Whether the update adds what does not depend on the function to points that do not either."""
        name, parts, seeds = func.name(), self._parts(stage, after, lambda node: node), _seeds(after, stage)
        predicate = () if stage.domain is None else (stage.domain.predicate,)
        if _reads(name, *stage.arguments, *predicate):
            return False
        for node, part in parts.items():
            if _own(node, name):
                if node.args != stage.arguments or part != seeds[node.index]:
                    return False
            elif _reads(name, node, part):
                return False
        kept = {node.index for node in parts if _own(node, name)}
        return kept == {i for i, value in enumerate(stage.values) if value.type.is_float}

    # What a stage adds

    def _parts(self, stage: Definition, state: Func, primal: Any) -> dict[ir.Expr, ir.Expr]:
        """What each thing that the stage reads adds, over the variables of the stage."""
        total: dict[ir.Expr, ir.Expr] = {}
        for value, seed in zip(stage.values, _seeds(state, stage), strict=True):
            if not value.type.is_float:
                continue
            for node, part in adjoints(value, seed, self._reads, self.dropped).items():
                total[node] = part if node not in total else ir.apply("+", total[node], part)
        return {node: primal(part) for node, part in total.items()}

    def _reads(self, node: ir.Expr) -> bool:
        if isinstance(node, ir.Var):
            used = self.inputs.get(plain(node.name))
            return isinstance(used, Param) and used.variable == node
        return isinstance(node, ir.Call) and node.kind in ("func", "image")

    def _give(self, func: Func, stage: Definition, state: Func, primal: Any, references: Uses) -> None:
        """Add to the adjoints of all that a stage reads but the function itself."""
        for node, part in self._parts(stage, state, primal).items():
            assert isinstance(node, ir.Call | ir.Var)
            if _own(node, func.name()):
                continue
            at: Point = tuple(map(primal, node.args)) if isinstance(node, ir.Call) else ()
            index = node.index if isinstance(node, ir.Call) and node.kind == "func" else 0
            target = self.adjoint(plain(node.name))
            loops = _Loops(self, func, stage, at, references, target)
            uses = {**func.references, **references, state.name(): state, **loops.uses}
            place = tuple(Expr(a, uses) for a in loops.point(at))
            value = loops.expr(part, uses)
            if target.outputs() > 1:
                kept = [target[place][i] for i in range(target.outputs())]
                kept[index] = kept[index] + value
                target[place] = tuple(kept)
            else:
                target[place] = Expr(target[place].node, target[place].uses) + value


class _Loops:
    """The variables of a stage as those of an update that adds to something at `at`.

    A pure variable that stands alone, or with a number, in one coordinate of `at` and in no other is that coordinate of
    the update; all others are reduction variables over the box that is needed of the function.
    """

    def __init__(
        self, backward_: Backward, func: Func, stage: Definition, at: Point, references: Uses,
        target: Func | None = None, backward: bool = False,
    ) -> None:  # fmt: skip
        own = func.function.variables
        pure = [v for v in own if any(v in ir.names(a) for a in stage.arguments)]
        self.values: dict[str, ir.Expr] = {}
        self._turned: dict[int, ir.Expr] = {}
        """Coordinates of `at` that are variables of the target."""
        if target is not None:
            self._turn(pure, at, target)
        ranges: list[tuple[ir.Expr, ir.Expr]] = []
        names: list[str] = []
        for variable in pure if target is not None else ():
            if variable not in self.values:
                box = backward_.boxes.get(func.name())
                if box is None:
                    (output,) = backward_.pipeline.algorithm.outputs
                    raise AlgorithmError(
                        f"propagate_adjoints needs the box of {func.name()}, and that of {output} is not given: "
                        f"propagate_adjoints({output}, adjoint, [(min, extent), …]) or a sum of all"
                    )
                ranges.append(box[own.index(variable)])
                names.append(variable)
        for one in () if stage.domain is None else stage.domain.variables:
            if (ir.names(one.min) | ir.names(one.extent)) & set(pure):
                raise AlgorithmError(
                    f"propagate_adjoints: the bounds of {one.name} of {func.name()} depend on its variables"
                )
            ranges.append((one.min, one.extent))
            names.append(one.name)
        self.uses: dict[str, Any] = {}
        if ranges:
            ends = [tuple(Expr(end, read_on_entry(end, backward_.inputs)) for end in pair) for pair in ranges]
            domain = RDom(ends)
            for i, name in enumerate(names):
                variable_: ir.Expr = domain[i].node
                if backward:
                    low, extent = ranges[i]
                    last = ir.apply("-", ir.apply("+", low, extent), ir.const(I32, 1))
                    variable_ = ir.apply("-", ir.apply("+", low, last), variable_)
                self.values[name] = variable_
            self.uses = {domain.name(): domain}
            if stage.domain is not None and stage.domain.predicate != ir.Const(stage.domain.predicate.type, True):
                domain.where(self.expr(stage.domain.predicate, {**func.references, **references, **self.uses}))

    def _turn(self, pure: Sequence[str], at: Point, target: Func) -> None:
        """Coordinates of `at` as variables of the target, where a variable of the stage follows from them."""
        own = target.args()
        for variable in pure:
            places = [j for j, a in enumerate(at) if variable in ir.names(a)]
            if len(places) != 1:
                continue
            (j,) = places
            offset = affine.subtract(at[j], ir.Var(I32, variable))
            if affine.constant_value(offset) is None or len(ir.names(at[j])) != 1:
                continue
            self.values[variable] = affine.subtract(own[j].node, offset)
            self._turned[j] = own[j].node

    def point(self, at: Point) -> Point:
        """`at` over the variables of the update."""
        return tuple(self._turned.get(j, affine.tidy(ir.substitute(a, self.values))) for j, a in enumerate(at))

    def expr(self, node: ir.Expr, uses: Uses) -> Expr:
        """An expression over the variables of the stage."""
        moved = ir.substitute(node, self.values)
        return Expr(affine.tidy(moved) if moved.type == I32 else moved, uses)


def _own(node: ir.Expr, name: str) -> TypeGuard[ir.Call]:
    """Whether a node is a call of the function."""
    return isinstance(node, ir.Call) and node.kind == "func" and node.name == name


def _reads(name: str, *exprs: ir.Expr) -> bool:
    """Whether the function is called in any of them."""
    return any(_own(node, name) for expr in exprs for node in ir.walk(expr))


def _real(type: Type) -> Type:
    """The type of what is added: that of a float; integers have no derivative."""
    return type if type.is_float else F32


def _seeds(state: Func, stage: Definition) -> list[ir.Expr]:
    """What each component of the point that a stage writes adds."""
    return [state.function.at(stage.arguments, i) for i in range(len(stage.values))]


def _state(func: Func, updates: int) -> Func:
    """The function as it is after so many updates."""
    if updates == func.num_update_definitions():
        return func
    free = Named(f"{func.name()}_before", "f")
    name = free.name()
    del free
    function = replace(func.function, updates=func.function.updates[:updates])
    made = Func.of(replace(calling(function, {function.name: name}), name=name), func.references, None, func.ranges)
    return made if updates else made.compute_inline()
