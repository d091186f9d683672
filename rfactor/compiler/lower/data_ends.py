"""Coordinates that are stored values between parameters, clamped by these again.

h(x) = clamp(a(x), -p, p); f(x) = b(x + h(x))   ->   f(x) = b(x + clamp(h(x), -p, max(p, -p)))

The clamp changes no value, and makes the index one that intervals bound by expressions of parameters and sizes. Ends
are computed as data are: they wrap around where the values do. A sum is between its ends where neither wraps, which is
required on entry. Indices that are bounded by types and constants stay as they are (`data_range`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rfactor.compiler.lower import float_interval
from rfactor.compiler.lower.affine import reads
from rfactor.compiler.lower.data_range import Ranges
from rfactor.compiler.lower.ends import UNBOUNDED, End, Interval
from rfactor.compiler.lower.float_interval import FloatInterval
from rfactor.compiler.lower.interval import Intervals
from rfactor.compiler.lower.scope import Scope
from rfactor.compiler.lower.values import data_ranges
from rfactor.ir.algorithm import Algorithm, Definition, Function, Requirement
from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, cast, clamp, names, transform, walk
from rfactor.ir.simplify import fold
from rfactor.ir.types import I32, I64, Type


@dataclass(frozen=True, slots=True)
class Known:
    """Expressions of parameters and sizes that values lie between, those that are numbers."""

    low: Expr
    high: Expr
    conditions: tuple[Expr, ...]
    """What the ends rely on."""


def clamp_coordinates(algorithm: Algorithm) -> Algorithm:
    """The algorithm with those coordinates clamped that nothing but the ends of stored values bounds."""
    stored = _Stored(algorithm)
    functions = tuple(_rewritten(function, stored.coordinate) for function in algorithm.functions)
    if functions == algorithm.functions:
        return algorithm
    requirements = algorithm.requirements + tuple(stored.required.values())
    return replace(algorithm, functions=functions, requirements=requirements)


def _rewritten(function: Function, coordinate: Callable[[Expr], Expr]) -> Function:
    """The function with every coordinate that is read or written in place of what it was."""

    def read(node: Expr) -> Expr | None:
        if not _by_calls(node):
            return None
        assert isinstance(node, Call)
        return Call(node.type, node.name, tuple(map(coordinate, node.args)), node.kind, node.index)

    def stage(definition: Definition) -> Definition:
        exprs = (*definition.expressions, *(() if definition.where is None else (definition.where,)))
        if not any(map(_calls, definition.arguments)) and not any(_by_calls(n) for expr in exprs for n in walk(expr)):
            return definition
        domain = definition.domain
        if domain is not None:
            domain = replace(domain, predicate=transform(domain.predicate, read))
        written = (transform(argument, read) for argument in definition.arguments)
        return replace(
            definition,
            arguments=tuple(coordinate(argument) if _calls(argument) else argument for argument in written),
            values=tuple(transform(value, read) for value in definition.values),
            domain=domain,
            where=None if definition.where is None else transform(definition.where, read),
        )

    return replace(function, pure=stage(function.pure), updates=tuple(map(stage, function.updates)))


def _by_calls(node: Expr) -> bool:
    """Whether `node` reads a function or an image where values of functions say."""
    return isinstance(node, Call) and node.kind != "intrinsic" and any(map(_calls, node.args))


def _calls(expr: Expr) -> bool:
    """Whether values of functions are in it."""
    return any(isinstance(node, Call) and node.kind == "func" for node in walk(expr))


class _Stored:
    """What the values of the functions of an algorithm lie between."""

    def __init__(self, algorithm: Algorithm) -> None:
        self._functions = {function.name: function for function in algorithm.functions}
        self._ranges = data_ranges(algorithm.functions)
        self._bounds = Intervals(Scope(), 0)
        """What coordinates, types and clamps bound, whatever functions hold."""
        self._found: dict[tuple[str, int], Known | None] = {}
        self.required: dict[Expr, Requirement] = {}

    def coordinate(self, index: Expr) -> Expr:
        """An i32 index with the calls in it clamped that leave it unbounded."""
        unbounded = None in self._bounds.of(index)

        def clamped(node: Expr) -> Expr | None:
            call = node.args[0] if isinstance(node, Op) and node.op == "cast" and node.type == I32 else node
            if not (isinstance(call, Call) and call.kind == "func") or self._bounded(call):
                return None
            narrow = call.type.is_int and call.type.bits < I32.bits
            if narrow if call is node else not narrow:
                return None
            known = self._known(call) if narrow or (unbounded and (call.type == I32 or call.type.is_float)) else None
            if known is None or (narrow and known.conditions):  # a narrow type bounds it without conditions
                return None
            message = f"Error: {call.name} is part of a coordinate, and what bounds its values leaves its type"
            self.required.update((one, Requirement(one, message)) for one in known.conditions)
            return clamp(node, cast(node.type, known.low), cast(node.type, known.high))

        return transform(index, clamped)

    def _bounded(self, call: Call) -> bool:
        """Whether constants bound its values further than its type does."""
        if call.type.is_float:
            return self._ranges.of_float(call).bounded
        return None not in _constants(self._ranges, call)

    def _known(self, call: Call) -> Known | None:
        key = call.name, call.index
        if key not in self._found:
            self._found[key] = None  # of a value that is made of the function's own
            self._found[key] = self._hull(self._functions[call.name], call.index)
        return self._found[key]

    def _hull(self, function: Function, index: int) -> Known | None:
        """The ends of what the stages of a function store; None where they are not known."""
        if function.types[index].is_bool or function.pure.may_keep(index):
            return None
        whole: list[Interval] = []
        conditions: list[Expr] = []
        for stage in function.stages:
            own = () if stage.domain is None else stage.domain.variables
            varying = frozenset((*function.variables, *(variable.name for variable in own)))
            value = _Value(varying, self._ranges, self._known, conditions)
            whole.append(value.ends(stage.values[index]))
        low, high = whole[0]
        for a, b in whole[1:]:
            low, high = _outer("min", low, a), _outer("max", high, b)
        return None if low is None or high is None else Known(low, high, tuple(conditions))


@dataclass
class _Value:
    """What the values lie between that a stage stores: expressions of parameters and sizes."""

    varying: frozenset[str]
    """The variables of the stage."""
    ranges: Ranges
    called: Callable[[Call], Known | None]
    conditions: list[Expr]
    """What the ends rely on is added to these."""
    _memo: dict[Expr, Interval] = field(default_factory=dict)

    def ends(self, expr: Expr) -> Interval:
        """The ends of an integer or float."""
        if not expr.type.is_float:
            return self._of(expr)
        known = self._float(expr)
        return known.low, known.high

    def _of(self, expr: Expr) -> Interval:
        found = self._memo.get(expr)
        if found is None:
            low, high = (expr, expr) if self._uniform(expr) else self._integer(expr)
            least, greatest = _constants(self.ranges, expr)
            low, high = least if low is None else low, greatest if high is None else high
            found = self._memo[expr] = low, high
        return found

    def _integer(self, expr: Expr) -> Interval:
        if isinstance(expr, Call) and expr.kind == "func":
            return self._called(expr)
        if not isinstance(expr, Op) or expr.type.is_bool:
            return UNBOUNDED
        op, args = expr.op, expr.args
        if op == "cast":
            return self._cast(expr.type, args[0])
        if op == "select":
            (low_a, high_a), (low_b, high_b) = self._of(args[1]), self._of(args[2])
            return _outer("min", low_a, low_b), _outer("max", high_a, high_b)
        if op in ("min", "max"):
            (low_a, high_a), (low_b, high_b) = self._of(args[0]), self._of(args[1])
            if op == "min":
                return _outer("min", low_a, low_b), _inner("min", high_a, high_b)
            return _inner("max", low_a, low_b), _outer("max", high_a, high_b)
        if op in ("+", "-", "neg") and expr.type.bits < I64.bits:
            zero = Const(expr.type, 0)
            a, b = (zero, zero) if op == "neg" else self._of(args[0]), self._of(args[-1])
            return self._sum(expr.type, "+" if op == "+" else "-", a, b if op == "+" else b[::-1])
        return UNBOUNDED

    def _called(self, call: Call) -> Interval:
        known = self.called(call)
        if known is None:
            return UNBOUNDED
        self.conditions.extend(known.conditions)
        return known.low, known.high

    def _sum(self, type: Type, op: str, a: Interval, b: Interval) -> Interval:
        """Of values that wrap around: between the ends if these do not."""
        (low_a, high_a), (low_b, high_b) = a, b
        if low_a is None or high_a is None or low_b is None or high_b is None:
            return UNBOUNDED
        least, greatest = (apply(op, cast(I64, x), cast(I64, y)) for x, y in ((low_a, low_b), (high_a, high_b)))
        self.conditions.append(apply("<=", Const(I64, type.min), least))
        self.conditions.append(apply("<=", greatest, Const(I64, type.max)))
        return apply(op, low_a, low_b), apply(op, high_a, high_b)

    def _cast(self, type: Type, inner: Expr) -> Interval:
        if inner.type.is_float:
            known = self._float(inner)
            for end in (known.low, known.high):
                if end is not None and not isinstance(end, Const):
                    largest = Const(end.type, end.type.largest_finite)
                    self.conditions.append(apply("<=", apply("abs", end), largest))
            return float_interval.truncated(type, known)
        if inner.type.is_bool or inner.type.min < type.min or inner.type.max > type.max:
            return UNBOUNDED
        low, high = self._of(inner)
        return None if low is None else cast(type, low), None if high is None else cast(type, high)

    def _float(self, expr: Expr) -> FloatInterval:
        """An infinite end, or one that is no number, stays so in what is made of it, and is refused at the last."""
        if self._uniform(expr):
            return replace(float_interval.point(expr), nan=True)
        if isinstance(expr, Call) and expr.kind == "func":
            low, high = self._called(expr)
            return self.ranges.of_float(expr) if low is None or high is None else FloatInterval(low, high)
        if isinstance(expr, Op) and expr.op == "select":
            return float_interval.hull(self._float(expr.args[1]), self._float(expr.args[2]))
        if isinstance(expr, Op) and expr.op == "cast" and expr.args[0].type.is_int:
            inner = expr.args[0]
            ends = zip(self._of(inner), self.ranges.of(inner), strict=True)
            low, high = (Const(inner.type, own) if end is None else end for end, own in ends)
            return float_interval.converted(expr.type, low, high)
        if isinstance(expr, Op | Call) and all(arg.type.is_float for arg in expr.children):
            return float_interval.operation(expr, tuple(map(self._float, expr.args)))
        return self.ranges.of_float(expr)

    def _uniform(self, expr: Expr) -> bool:
        """Whether it is made of parameters and sizes alone, and does nothing besides."""
        plain = all(isinstance(node, Const | Var | Op | Call) for node in walk(expr))
        return plain and not reads(expr) and not names(expr) & self.varying


def _constants(ranges: Ranges, expr: Expr) -> Interval:
    """The ends of an integer that are constants, and not there because the type ends; below 0 nothing is unsigned."""
    low, high = ranges.of(expr)
    least = low > expr.type.min or not expr.type.is_signed
    return Const(expr.type, low) if least else None, Const(expr.type, high) if high < expr.type.max else None


def _outer(extreme: str, a: End, b: End) -> End:
    """The outer of two ends; unknown where one is."""
    return None if a is None or b is None else a if a == b else fold(apply(extreme, a, b))


def _inner(extreme: str, a: End, b: End) -> End:
    """The tighter of two ends; the known one where one is not."""
    if a is None or b is None:
        return b if a is None else a
    return a if a == b else fold(apply(extreme, a, b))
