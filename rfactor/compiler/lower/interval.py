"""Interval arithmetic of coordinates: the least and the greatest value that an expression takes inside loops.

The ends are expressions of what is known outside the loops, or None where nothing bounds the value. Over the integers:
coordinates do not overflow (entry checks see to that); arithmetic on data of narrow types is bounded by constants, and
by the whole type where it may wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from rfactor.compiler.lower import affine, float_interval, quotients
from rfactor.compiler.lower.affine import reads
from rfactor.compiler.lower.casts import as_signed, made_of
from rfactor.compiler.lower.conditions import (
    STRICT,
    compared,
    implied,
    joined,
    multiples,
    negated,
    nonpositive,
)
from rfactor.compiler.lower.ends import UNBOUNDED, End, Interval, chosen, converted, outer, product, tighter, weighted
from rfactor.compiler.lower.float_interval import UNKNOWN, FloatInterval, nonnegative
from rfactor.compiler.lower.paired_terms import joined_quotients, means
from rfactor.compiler.lower.scope import Binding, Definition, LoopRange, Scope, is_known
from rfactor.compiler.lower.sums import Sums
from rfactor.ir.expr import Call, Const, Expr, Op, Var, variables, walk
from rfactor.ir.types import I32, I64, U32

_MOST_ARMS = 256
"""Of nested choices that are told apart by their conditions at one place."""
_MOST_IN_ANY_ORDER = 8
"""Conditions that are all used together, in any order: the time that it takes doubles with each."""
_MOST_TOGETHER = 3
"""Of more conditions."""


@dataclass(frozen=True, slots=True)
class _Condition:
    """A sum of coordinates that is <= 0: `constant` and the `terms`, those that are `moving` not known outside."""

    terms: dict[Expr, int]
    constant: int
    moving: set[Expr]


class Intervals:
    """Intervals at a place, as seen from inside `level` loops: what is bound further in is eliminated."""

    def __init__(
        self,
        scope: Scope,
        level: int,
        sums: Sums | None = None,
        around: Intervals | None = None,
    ) -> None:
        """`sums`, if given, is extended with the interval of every sum that is computed on the way, and with those of
        floats whose ends are to be finite. What `around` found is not computed again: the same level at a place of
        which everything is known here, and no other condition. It counts only where no name is defined here that was
        free there."""
        if around is not None and not around._free.isdisjoint(scope.bindings):
            around = None
        self._free: set[str] = set() if around is None else set(around._free)
        """The names that were met and are defined nowhere."""
        self._scope = scope
        self._level = level
        self._sums = sums
        self._memo: dict[Expr, Interval] = {} if around is None else dict(around._memo)
        self._fills: dict[Expr, Expr] = {} if around is None else dict(around._fills)
        self._floats: dict[Expr, FloatInterval] = {} if around is None else dict(around._floats)
        self._arms: dict[frozenset[Expr], Intervals] = {}
        """Those where conditions of choices hold too, by all that is known to be <= 0 there."""
        self._arms_around: dict[frozenset[Expr], Intervals] = {}
        if around is not None:
            self._arms_around = {**around._arms_around, **around._arms}
        self._open: set[Expr] = set()
        self._conditions: list[_Condition] | None = None
        self._found: dict[tuple[Expr, frozenset[Expr]], Interval] = {}
        """Those of whole coordinates, by the parts that were being looked at."""
        self._rests: dict[tuple[Expr, tuple[int, ...], int], Interval] = {}
        """Those of what is left of coordinates where conditions were used, by those that were not, and how many of
        them may be."""

    def _binding(self, name: str) -> Binding | None:
        binding = self._scope.bindings.get(name)
        if binding is None:
            self._free.add(name)
        return binding

    def of(self, expr: Expr) -> Interval:
        """The interval of an i32 expression, guards taken into account."""
        key = expr, frozenset(self._open)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._of(expr)
        return found

    def _of(self, expr: Expr) -> Interval:
        low, high = self._plain(expr)
        for value, bound, sign in self._scope.ceilings:
            if value == expr:
                if sign > 0:
                    high = tighter(affine.minimum, high, self._plain(bound)[1])
                else:
                    low = tighter(affine.maximum, low, self._plain(bound)[0])
        if self._conditions is None:
            self._conditions = [self._condition(one) for one in self._scope.conditions]
        if not self._conditions:
            return low, high
        filled = self._joined(expr)
        places = tuple(range(len(self._conditions)))
        most = len(places) if len(places) <= _MOST_IN_ANY_ORDER else _MOST_TOGETHER
        known = self._under(filled, places, most, (low, high), before=most == len(places))
        return self._with_quotients(filled, known)

    def _condition(self, written: Expr) -> _Condition:
        terms, constant = affine.affine(self._joined(affine.tidy(written)))
        return _Condition(dict(terms), constant, {term for term, _ in terms if not self._is_outer(term)})

    def _with_quotients(self, expr: Expr, known: Interval) -> Interval:
        """The interval of `expr` where the conditions hold, within what is `known` of it, from its quotients.

        `xo*4 + xi//2` is `(xo*8 + xi)//2`: what a condition says of `xo*8 + xi`, it says of the quotient too.
        """
        terms = dict(affine.affine(expr)[0])
        for term, factor in terms.items():
            if not (isinstance(term, Op) and term.op == "//" and term.type == I32):
                continue
            divisor = affine.constant_value(term.args[1])
            if divisor is None or divisor <= 0 or self._is_outer(term):
                continue
            part = self._filled(term.args[0])
            divided = dict(affine.affine(part)[0])
            for own in (one.terms for one in self._conditions or ()):
                times = {divmod(count, own[name]) for name, count in divided.items() if name in own}
                if len(times) != 1 or (whole := times.pop())[1]:
                    continue
                counts = {
                    name: count * whole[0] for name, count in own.items() if name in terms.keys() - divided.keys()
                }
                taken = tuple((name, count // divisor) for name, count in counts.items() if count % divisor == 0)
                if not taken:
                    continue
                moved = affine.from_affine(taken, 0)
                low, high = self._guarded(affine.add(part, affine.scale(moved, divisor)))
                ends = quotients.divided(low, divisor, self._kept), quotients.divided(high, divisor, self._kept)
                rest = self._guarded(affine.subtract(expr, affine.scale(affine.add(term, moved), factor)))
                least, greatest = ends if factor > 0 else ends[::-1]
                return (
                    tighter(affine.maximum, known[0], weighted(I32, 0, [(factor, least), (1, rest[0])])),
                    tighter(affine.minimum, known[1], weighted(I32, 0, [(factor, greatest), (1, rest[1])])),
                )
        return known

    def _under(self, expr: Expr, places: tuple[int, ...], most: int, known: Interval, before: bool = False) -> Interval:
        """The interval of `expr` where every condition at `places` is <= 0, within what is `known` of it: one is used,
        then those after it (those `before` it too), `most` of them together."""
        low, high = known
        terms = dict(affine.affine(expr)[0])
        inner = {term for term in terms if not self._is_outer(term)}
        conditions = self._conditions or []
        for number, place in enumerate(places if inner and most else ()):
            # expr = whole*condition + rest with condition <= 0 bounds expr by the rest.
            own = conditions[place]
            for condition, whole in multiples(terms, inner & own.terms.keys(), own.moving, own.terms, own.constant):
                rest = affine.subtract(expr, affine.scale(condition, whole))
                key = rest, (*(places[:number] if before else ()), *places[number + 1 :]), most - 1
                ends = self._rests.get(key)
                if ends is None:
                    ends = self._rests[key] = self._under(*key, self._plain(rest))
                if whole > 0:
                    high = tighter(affine.minimum, high, ends[1])
                else:
                    low = tighter(affine.maximum, low, ends[0])
        return low, high

    def _is_outer(self, expr: Expr) -> bool:
        """Whether nothing in `expr` is eliminated."""
        for node in walk(expr):
            if isinstance(node, Var):
                binding = self._binding(node.name)
                if binding is not None and binding.depth > self._level:
                    return False
        return True

    def _filled(self, expr: Expr) -> Expr:
        """`expr` with the definitions that are not visible at the level put in place of their names."""
        done = self._fills.get(expr)
        if done is None:
            values: dict[Expr, Expr] = {}
            for term, _ in affine.affine(expr)[0]:
                binding = self._binding(term.name) if isinstance(term, Var) else None
                if isinstance(binding, Definition) and (
                    binding.depth > self._level or isinstance(binding.value, Const | Var)
                ):
                    values[term] = self._filled(binding.value)
            done = self._fills[expr] = affine.replace_terms(expr, values) if values else expr
        return done

    def _joined(self, expr: Expr) -> Expr:
        """`expr` so filled, with the quotients in it joined to what they are made of."""
        return joined_quotients(self._filled(expr), self._filled)

    def _plain(self, expr: Expr) -> Interval:
        done = self._memo.get(expr)
        if done is None:
            done = self._memo[expr] = self._sum(self._joined(expr))
        return done

    def _sum(self, expr: Expr) -> Interval:
        terms, constant = affine.affine(expr)
        if len(terms) == 1 and terms[0] == (expr, 1):
            return self._term(expr)
        ends: list[tuple[int, End, End]] = []
        middles, terms = means(terms)
        for a, b, factor in middles:
            (low_a, high_a), (low_b, high_b) = self._plain(a), self._plain(b)
            least = outer(affine.minimum, low_a, low_b)
            greatest = outer(affine.maximum, high_a, high_b)
            ends.append((factor, least, greatest) if factor > 0 else (factor, greatest, least))
        for term, factor in terms:
            least, greatest = self._term(term)
            ends.append((factor, least, greatest) if factor > 0 else (factor, greatest, least))
        low = weighted(expr.type, constant, [(factor, end) for factor, end, _ in ends])
        high = weighted(expr.type, constant, [(factor, end) for factor, _, end in ends])
        if low is None or high is None:
            return UNBOUNDED  # what may pass one end of the type comes back at the other
        return self._kept((low, high))

    def _kept(self, sums: Interval) -> Interval:
        """An interval that i32 has to hold. (Of i64 it is known beforehand that nothing wraps around.)"""
        low, high = sums
        if self._sums is not None and low is not None and high is not None and low.type == I32:
            self._sums.keep(sums)
        return sums

    def _term(self, term: Expr) -> Interval:
        fact = self._scope.facts.get(term)
        if fact is not None:
            low, high = self._plain(fact[0])[0], self._plain(fact[1])[1]
            known = self._structure(term)
            if known[0] is not None and known[0] == known[1]:
                constant = isinstance(term, Op) and isinstance(self._plain(term.args[1])[0], Const)
                return known if constant or not self._is_outer(term) else (term, term)  # by this name it has the fact
            return tighter(affine.maximum, known[0], low), tighter(affine.minimum, known[1], high)
        return self._structure(term)

    def _structure(self, term: Expr) -> Interval:
        if isinstance(term, Const):
            return term, term
        if isinstance(term, Var):
            return self._variable(term)
        if isinstance(term, Op) and term.type in (I32, I64):
            return self._operation(term)
        return self._by_type(term)

    def _variable(self, term: Var) -> Interval:
        binding = self._binding(term.name)
        if not isinstance(binding, LoopRange) or binding.depth <= self._level:
            return term, term
        last = affine.subtract(affine.add(binding.min, binding.extent), affine.integer(1))
        return self._guarded(binding.min)[0], self._guarded(last)[1]

    def _operation(self, term: Op) -> Interval:
        op, args = term.op, term.args
        if op == "cast":
            return self._cast(term)
        if op == "select":
            if not reads(term) and all(map(self._is_outer, variables(term))):
                return term, term
            taken = self._taken(args[0])
            if taken is not None:
                return self._guarded(args[1] if taken else args[2])
            if is_known(args[0], self._scope):
                for side in compared(args[0]):
                    self._plain(side)
                (low_a, high_a), (low_b, high_b) = self._guarded(args[1]), self._guarded(args[2])
                by = partial(chosen, args[0])
                return outer(by, low_a, low_b), outer(by, high_a, high_b)
            arms = self._where(args[0], args[1]), self._where(negated(args[0]), args[2])
            (low_a, high_a), (low_b, high_b) = arms[0] or arms[1] or UNBOUNDED, arms[1] or arms[0] or UNBOUNDED
            return outer(affine.minimum, low_a, low_b), outer(affine.maximum, high_a, high_b)
        ends = [self._guarded(arg) for arg in args]
        if all(low is not None and low == high for low, high in ends):
            same = tuple(low for low, _ in ends if low is not None)
            rebuilt = term if all(a is b for a, b in zip(same, args, strict=True)) else Op(term.type, op, same)
            if reads(rebuilt):
                return self._by_type(term)
            return self._kept((rebuilt, rebuilt)) if op == "*" else (rebuilt, rebuilt)
        if op in ("min", "max"):
            extreme = affine.minimum if op == "min" else affine.maximum
            (low_a, high_a), (low_b, high_b) = ends
            if op == "min":
                return outer(extreme, low_a, low_b), tighter(extreme, high_a, high_b)
            return tighter(extreme, low_a, low_b), outer(extreme, high_a, high_b)
        if op == "*":
            low, high = self._kept(product(*ends))
            if low is not None and args[0] == args[1]:
                low = affine.maximum(low, Const(term.type, 0))
            return low, high
        if op in ("//", "%"):
            return self._quotient(term, *ends)
        if op in ("<<", ">>"):
            return self._shift(term, *ends)
        if op == "&":
            return self._common(term, ends)
        if op == "~":
            return self._plain(affine.subtract(Const(term.type, -1), args[0]))  # holds of data too: it does not wrap
        if op == "abs":
            return self._absolute(term, *ends[0])
        return self._by_type(term)

    def _common(self, term: Op, ends: Sequence[Interval]) -> Interval:
        """Of `a & b`: from 0 to the greatest of an operand that is not negative."""
        low, high = self._by_type(term)
        for arg, own in zip(term.args, ends, strict=True):
            if self._constants(arg, own)[0] >= 0 or nonnegative(own[0]):
                low, high = Const(term.type, 0), tighter(affine.minimum, high, own[1])
        return low, high

    def _shift(self, term: Op, value: Interval, count: Interval) -> Interval:
        found = quotients.shifted(term, value, count, self._constants(term.args[1], count), self._kept)
        return self._by_type(term) if found is None else found

    def _constants(self, expr: Expr, ends: Interval) -> tuple[int, int]:
        """Numbers that an expression lies between, of which its ends are known."""
        least, greatest = self._scope.ranges.of(expr)
        low, high = ends
        return (
            max(least, int(low.value)) if isinstance(low, Const) else least,
            min(greatest, int(high.value)) if isinstance(high, Const) else greatest,
        )

    def _absolute(self, term: Op, low: End, high: End) -> Interval:
        if low is None or high is None or (isinstance(low, Const) and low.value == term.type.min):
            return self._by_type(term)
        zero = Const(term.type, 0)
        below, above = self._kept((affine.subtract(zero, high), affine.subtract(zero, low)))
        assert below is not None
        assert above is not None
        return affine.maximum(affine.maximum(low, below), zero), affine.maximum(above, high)

    def _cast(self, term: Op) -> Interval:
        inner = term.args[0]
        if inner.type == I32:
            low, high = self._guarded(inner)
            return converted(term.type, low), converted(term.type, high)
        if self._is_outer(term) and not reads(term):
            return term, term
        if inner.type.is_float:
            return float_interval.truncated(term.type, self._float(inner))
        if inner.type == I64 and term.type == I32:
            return self._narrowed(inner)
        if inner.type == U32 and term.type == I32:
            signed = as_signed(inner)
            if signed is not None:
                return self._plain(signed)
        return self._by_type(term)

    def _narrowed(self, expr: Expr) -> Interval:
        """The interval of an i64 expression cast to i32, which its ends have to fit."""
        ranges, whole = self._scope.ranges, (int(I64.min), int(I64.max))
        if any(ranges.of(node) == whole for node in made_of(expr)):
            return UNBOUNDED  # it may wrap around
        low, high = self._plain(expr)
        if low is None or high is None:
            return UNBOUNDED
        if isinstance(low, Const) and isinstance(high, Const) and not (low.value >= I32.min and high.value <= I32.max):
            return UNBOUNDED
        if self._sums is not None:
            self._sums.keep((low, high))
        return converted(I32, low), converted(I32, high)

    def _float(self, expr: Expr) -> FloatInterval:
        """The interval of a float expression. Ends that are no constants are kept with the sums, to be checked."""
        done = self._floats.get(expr)
        if done is None:
            done = self._floats[expr] = self._computed_float(expr)
            if self._sums is not None:
                for end in (done.low, done.high):
                    if end is not None and not self._surely_finite(end):
                        self._sums.keep((end, end))
        return done

    def _computed_float(self, expr: Expr) -> FloatInterval:
        if isinstance(expr, Const) or (self._is_outer(expr) and not reads(expr)):
            return float_interval.point(expr)
        if isinstance(expr, Op) and expr.op == "select":
            condition, a, b = expr.args
            arms = self._float_where(condition, a), self._float_where(negated(condition), b)
            return float_interval.hull(arms[0] or arms[1] or UNKNOWN, arms[1] or arms[0] or UNKNOWN)
        if isinstance(expr, Op) and expr.op == "cast" and not expr.args[0].type.is_float:
            inner = expr.args[0]
            low, high = self._guarded(inner) if inner.type == I32 else self._by_type(inner)
            least, greatest = (Const(inner.type, end) for end in self._scope.ranges.of(inner))
            return float_interval.converted(
                expr.type, least if low is None else low, greatest if high is None else high
            )
        if isinstance(expr, Call) and expr.kind != "intrinsic":
            return self._scope.ranges.of_float(expr)
        if isinstance(expr, Op | Call) and all(arg.type.is_float for arg in expr.args):
            return float_interval.operation(expr, tuple(map(self._float, expr.args)))
        return self._scope.ranges.of_float(expr)

    def _surely_finite(self, end: Expr) -> bool:
        known = self._scope.ranges.of_float(end)
        return known.bounded and not known.nan

    def _float_where(self, condition: Expr, expr: Expr) -> FloatInterval | None:
        """The interval of an arm of a choice between floats; None where it is never taken."""
        inside = self._inside(condition)
        return None if inside is None else inside._float(expr)

    def _where(self, condition: Expr, expr: Expr) -> Interval | None:
        """The interval of an arm of a choice, which is taken where `condition` holds; None where it never is."""
        inside = self._inside(condition)
        return None if inside is None else inside._guarded(expr)

    def _inside(self, condition: Expr) -> Intervals | None:
        """Intervals where `condition` holds; None where it never does. The same where it says nothing new of a loop
        that is eliminated, and beyond `_MOST_ARMS`."""
        below = implied(condition)
        for side in compared(condition) if below else ():
            self._plain(side)  # so that what it compares is known not to wrap
        if not below or not any(self._is_inner_loop(v.name) for v in variables(condition)):
            return self
        conditions = joined(self._scope.conditions, below)
        if conditions is None or conditions == self._scope.conditions:
            return None if conditions is None else self
        key = frozenset(conditions)
        inside = self._arms.get(key)
        if inside is None:
            if len(self._arms) == _MOST_ARMS:
                return self
            scope = replace(self._scope, conditions=conditions)
            inside = Intervals(scope, self._level, self._sums, self._arms_around.get(key))
            inside._open = self._open  # what is being asked already is not asked again
            inside._free = self._free
            inside._arms, inside._arms_around = self._arms, self._arms_around
            self._arms[key] = inside
        return inside

    def _taken(self, condition: Expr) -> bool | None:
        """Whether a comparison of coordinates holds, where a condition here is it or its opposite."""
        if not isinstance(condition, Op) or condition.op not in STRICT:
            return None
        for holds, one in ((True, condition), (False, negated(condition))):
            below = nonpositive(one)
            if below and below[0] in self._scope.conditions:
                return holds
        return None

    def _is_inner_loop(self, name: str) -> bool:
        binding = self._binding(name)
        return isinstance(binding, LoopRange) and binding.depth > self._level

    def _guarded(self, expr: Expr) -> Interval:
        """The interval of a part of an expression, guards taken into account once on the way down."""
        if expr.type != I32 or expr in self._open:
            return self._plain(expr)
        self._open.add(expr)
        try:
            return self.of(expr)
        finally:
            self._open.remove(expr)

    def _by_type(self, expr: Expr) -> Interval:
        """The interval from the types of the data in it."""
        low, high = self._scope.ranges.of(expr)
        if (low, high) == (I32.min, I32.max):
            return UNBOUNDED
        return Const(expr.type, low), Const(expr.type, high)

    def _symbolic_quotient(self, term: Op, dividend: Interval) -> Interval:
        """The inner and the outer of two fused loops: `fused % n` and `fused // n` of a count `n` known only at run
        time. Where `n` is 0 there is no iteration, and any interval holds."""
        divisor, (low, high) = term.args[1], dividend
        counts = isinstance(divisor, Op) and divisor.op == "max" and affine.integer(0) in divisor.args
        if not counts or not self._is_outer(divisor) or not (isinstance(low, Const) and low.value >= 0):
            return self._by_type(term)
        if term.op == "%":
            return affine.integer(0), affine.maximum(affine.subtract(divisor, affine.integer(1)), affine.integer(0))
        return affine.integer(0), None if high is None else self._most_times(high, divisor)

    def _quotient_by(self, term: Op, dividend: Interval, divisor: Interval) -> Interval:
        """By what is no constant."""
        known = self._constants(term.args[1], divisor)
        found = quotients.divided_by(term, dividend, divisor, known, self._kept)
        return self._by_type(term) if found is None else found

    def _most_times(self, end: Expr, divisor: Expr) -> End:
        """An upper bound of `end // divisor` where `end` is at most a multiple of `divisor` and a remainder."""
        terms, constant = affine.affine(end)
        if len(terms) == 1 and terms[0][1] == 1:
            atom = terms[0][0]
            binding = self._binding(atom.name) if isinstance(atom, Var) else None
            if isinstance(binding, Definition):
                return self._most_times(affine.plus(binding.value, constant), divisor)
            if isinstance(atom, Op) and atom.op in ("min", "max"):
                ends = [self._most_times(affine.plus(arg, constant), divisor) for arg in atom.args]
                joined = tighter if atom.op == "min" else outer
                return joined(affine.minimum if atom.op == "min" else affine.maximum, ends[0], ends[1])
        if constant > I32.max:
            return None
        result: Expr = affine.integer(-1 if constant < 0 else constant)
        for atom, factor in terms:
            if atom == divisor:
                rest: Expr = affine.integer(1)
            elif isinstance(atom, Op) and atom.op == "*" and divisor in atom.args:
                rest = atom.args[1] if atom.args[0] == divisor else atom.args[0]
            else:
                return None
            result = affine.add(result, affine.scale(rest, factor))
        return result

    def _quotient(self, term: Op, dividend: Interval, divisor: Interval) -> Interval:
        value = divisor[0].value if isinstance(divisor[0], Const) and divisor[0] == divisor[1] else None
        if value is None:
            known = self._symbolic_quotient(term, dividend)
            return self._quotient_by(term, dividend, divisor) if None in known else known
        return quotients.by_constant(term, dividend, int(value), self._kept)
