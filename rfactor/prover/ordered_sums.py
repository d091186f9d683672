"""Minima and maxima of sums, in normal form: a maximum of minima of polynomials, for every choice of the truth values.

Addition distributes over `min` and `max`, and so does what is known not to be negative when it multiplies (Butkovic,
Max-linear Systems, 2010). What is left is written as a maximum of minima, without the parts that others are known to
make superfluous: in the distributive lattice that polynomials generate freely this form is unique. A comparison that is
not such a choice is a truth value of its own, of which nothing is known. So a yes holds for unbounded integers and
reals; a no says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce

from rfactor.ir.expr import Call, Const, Expr, Op, Var, apply, is_held
from rfactor.ir.linear import from_linear
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover.polynomial import ONE, Key, Monomial, Number, Polynomial, Ring, TooLarge, constant_value, key
from rfactor.prover.sampling import used

Lattice = frozenset[frozenset[Key]]
"""The maximum of the minima of polynomials."""
Pair = tuple[Expr, Expr]
_EXACT = Ring()
_MOST_CHOICES = 64
"""Branches by truth values."""
_MOST_PARTS = 40
"""Minima in one maximum, and polynomials in one minimum."""
_MOST_WORK = 8000
"""Polynomials added up or compared in one claim."""


class _Unread(Exception):
    """Something that is no sum, choice or comparison here, or too much of it."""


@dataclass(slots=True)
class _Open(Exception):
    """A truth value that must be chosen before going on."""

    key: Hashable


def without_equal_sums(pairs: Sequence[Pair], meaning: Meaning, assumptions: Sequence[Expr]) -> list[Pair]:
    """The pairs that are not shown equal by normal forms, wherever the assumptions hold."""
    facts = _Facts(meaning)
    for claim in assumptions:
        facts.learn(claim)
    return [(one, other) for one, other in pairs if not _equal(one, other, facts)]


def normal_form(expr: Expr, meaning: Meaning) -> Expr | None:
    """A sum, choice or extremum of polynomials of variables as a maximum of minima; None where it is none."""
    facts = _Facts(meaning)
    try:
        value = _Reader(facts).number(expr)
    except (_Unread, _Open, TooLarge):
        return None
    variables = {facts.atoms.get(("var", var.name, var.type)): var for var in used((expr,))}
    if len(facts.atoms) > len(variables):
        return None
    if not all(_is_written(dict(p), expr.type) for part in value for p in part):
        return None
    parts = [[_written(dict(p), expr.type, variables) for p in sorted(part, key=sorted)] for part in value]
    minima = sorted((reduce(partial(apply, "min"), part) for part in parts), key=str)
    return reduce(partial(apply, "max"), minima)


def _is_written(value: Polynomial, type_: Type) -> bool:
    """Whether literals of the type are enough to write a polynomial."""
    if type_.is_float:
        return all(is_held(type_, coefficient) for coefficient in value.values())
    begins = type_.is_signed or not value or any(coefficient > 0 for coefficient in value.values())
    largest = int(type_.max)
    return begins and all(-largest <= coefficient <= largest for coefficient in value.values())


def _written(value: Polynomial, type_: Type, variables: Mapping[int | None, Var]) -> Expr:
    """A polynomial as an expression."""
    terms: dict[Expr, int | float] = {}
    constant: int | float = 0
    for monomial, coefficient in sorted(value.items()):
        number = float(coefficient) if type_.is_float else int(coefficient)
        factors: list[Expr] = [variables[atom] for atom, power in monomial for _ in range(power)]
        if factors:
            terms[reduce(partial(apply, "*"), factors)] = number
        else:
            constant = number
    return from_linear(type_, terms.items(), constant)


def _equal(left: Expr, right: Expr, facts: _Facts) -> bool:
    pending = [_Reader(facts)]
    choices = 0
    while pending:
        reader = pending.pop()
        try:
            if reader.read(left) != reader.read(right):
                return False
        except _Open as open_:
            choices += 1
            if choices > _MOST_CHOICES:
                return False
            pending += [reader.where(open_.key, value) for value in (True, False)]
        except (_Unread, TooLarge):
            return False
    return True


class _Facts:
    """The atoms of polynomials, and what is known not to be negative."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.atoms: dict[Hashable, int] = {}
        self.nonnegative: set[int] = set()
        self.lowest: dict[int, Number] = {}
        self.highest: dict[int, Number] = {}
        """Literal bounds of atoms."""
        self.differences: list[Polynomial] = []
        """Polynomials that are not negative."""
        self.work = 0

    def count(self, work: int) -> None:
        """Give up before too much is multiplied out."""
        self.work += work
        if self.work > _MOST_WORK:
            raise _Unread

    def atom(self, *description: Hashable) -> Polynomial:
        return {((self.atoms.setdefault(description, len(self.atoms)), 1),): 1}

    def variable(self, var: Var) -> Polynomial:
        value = self.atom("var", var.name, var.type)
        if var.type.code == "uint":
            atom = self.atoms["var", var.name, var.type]
            self.nonnegative.add(atom)
            self.lowest.setdefault(atom, 0)
        return value

    def learn(self, claim: Expr) -> None:
        """Use `p <= q` of polynomials."""
        if not (isinstance(claim, Op) and claim.op in ("<", "<=", ">", ">=")):
            return
        try:
            reader = _Reader(self)
            low, high = (_alone(reader.number(arg)) for arg in claim.args)
        except (_Unread, _Open, TooLarge):
            return
        if low is None or high is None:
            return
        difference = _EXACT.add(high, low, -1) if claim.op in ("<", "<=") else _EXACT.add(low, high, -1)
        if not self.learn_bound(difference):
            self.differences.append(difference)

    def learn_bound(self, difference: Polynomial) -> bool:
        """Keep the literal bound of an atom in a difference that is not negative; False where there is none."""
        rest = dict(difference)
        constant = rest.pop(ONE, 0)
        if len(rest) != 1:
            return False
        ((monomial, coefficient),) = rest.items()
        if len(monomial) != 1 or monomial[0][1] != 1:
            return False
        atom, bound = monomial[0][0], -Fraction(constant) / coefficient
        if coefficient > 0:
            self.lowest[atom] = max(self.lowest.get(atom, bound), bound)
            if bound >= 0:
                self.nonnegative.add(atom)
        else:
            self.highest[atom] = min(self.highest.get(atom, bound), bound)
        return True

    def is_nonnegative(self, value: Polynomial) -> bool:
        """Whether the terms and literal bounds of atoms show that the value is not below zero."""
        total: Number = 0
        for monomial, coefficient in value.items():
            bounds = self.lowest if coefficient > 0 else self.highest
            if monomial == ONE:
                total += coefficient
            elif len(monomial) == 1 and monomial[0][1] == 1 and monomial[0][0] in bounds:
                total += coefficient * bounds[monomial[0][0]]
            elif not self.is_nonnegative_term(monomial, coefficient):
                return False
        return total >= 0

    def is_nonnegative_term(self, monomial: Monomial, coefficient: Number) -> bool:
        return coefficient > 0 and all(power % 2 == 0 or atom in self.nonnegative for atom, power in monomial)

    def at_most(self, low: Key, high: Key) -> bool:
        """Whether low <= high is known."""
        if low == high:
            return True
        self.count(1)
        difference = _EXACT.add(dict(high), dict(low), -1)
        open_ = {m for m, coefficient in difference.items() if not self.is_nonnegative_term(m, coefficient)}
        if not open_ or self.is_nonnegative(difference):
            return True
        return any(
            known.keys() >= open_ and self.is_nonnegative(_EXACT.add(difference, known, -1))
            for known in self.differences
        )

    def reduced(self, parts: Iterable[frozenset[Key]]) -> Lattice:
        """The maximum of minima without what changes nothing."""
        minima = {self.least(part) for part in parts}
        if len(minima) > _MOST_PARTS or any(len(part) > _MOST_PARTS for part in minima):
            raise _Unread
        if len(minima) == 1:
            return frozenset(minima)
        kept: list[frozenset[Key]] = []
        for part in sorted(minima, key=len):
            if not any(self.is_below(part, other) for other in kept):
                kept = [other for other in kept if not self.is_below(other, part)]
                kept.append(part)
        return frozenset(kept)

    def least(self, part: frozenset[Key]) -> frozenset[Key]:
        """The polynomials of a minimum that no other is below."""
        if len(part) == 1:
            return part
        kept: list[Key] = []
        for value in part:
            if not any(self.at_most(other, value) for other in kept):
                kept = [other for other in kept if not self.at_most(value, other)]
                kept.append(value)
        return frozenset(kept)

    def is_below(self, one: frozenset[Key], other: frozenset[Key]) -> bool:
        """Whether min(one) <= min(other) is known."""
        return one >= other or all(any(self.at_most(low, high) for low in one) for high in other)


def _plain(value: Polynomial) -> Lattice:
    return frozenset((frozenset((key(value),)),))


def _alone(value: Lattice) -> Polynomial | None:
    """The polynomial that a value is, if it is one."""
    if len(value) == 1:
        (part,) = value
        if len(part) == 1:
            (alone,) = part
            return dict(alone)
    return None


@dataclass(slots=True)
class _Reader:
    """Values under a choice of truth values."""

    facts: _Facts
    chosen: dict[Hashable, bool] = field(default_factory=dict)
    values: dict[Expr, Lattice | bool] = field(default_factory=dict)

    def where(self, key: Hashable, value: bool) -> _Reader:
        return _Reader(self.facts, self.chosen | {key: value}, dict(self.values))

    def read(self, expr: Expr) -> Lattice | bool:
        found = self.values.get(expr)
        if found is None:
            found = self.values[expr] = self.truth(expr) if expr.type.is_bool else self.compute(expr)
        return found

    def number(self, expr: Expr) -> Lattice:
        value = self.read(expr)
        assert isinstance(value, frozenset)
        return value

    def choice(self, key: Hashable) -> bool:
        value = self.chosen.get(key)
        if value is None:
            raise _Open(key)
        return value

    def truth(self, expr: Expr) -> bool:
        if isinstance(expr, Const):
            return bool(expr.value)
        if isinstance(expr, Var):
            return self.choice(expr.name)
        if not isinstance(expr, Op):
            raise _Unread
        args = expr.args
        if expr.op == "select":
            return bool(self.read(args[1 if self.read(args[0]) else 2]))
        if expr.op in ("not", "~"):
            return not self.read(args[0])
        if args[0].type.is_bool:
            return self.logic(expr.op, args)
        if expr.op == "cast" or not self.is_exact(args[0].type):
            return self.choice(expr)
        low, high = map(self.number, args)
        if expr.op in ("==", "!="):
            return self.same(low, high) == (expr.op == "==")
        if expr.op in (">", "<="):
            low, high = high, low
        return self.less(low, high) == (expr.op in ("<", ">"))

    def logic(self, op: str, args: tuple[Expr, ...]) -> bool:
        first = bool(self.read(args[0]))
        if op in ("and", "&", "min"):
            return first and bool(self.read(args[1]))
        if op in ("or", "|", "max"):
            return first or bool(self.read(args[1]))
        if op in ("==", "!=", "^"):
            return (first == bool(self.read(args[1]))) == (op == "==")
        raise _Unread

    def is_exact(self, type_: Type) -> bool:
        """Whether sums of the type are what they are over the integers or the reals."""
        return type_.is_float or (type_.is_int and self.facts.meaning is Meaning.MATH)

    def less(self, low: Lattice, high: Lattice) -> bool:
        if self.extremum(False, low, high) == low:
            return False
        one, other = _alone(low), _alone(high)
        if one is None or other is None:
            return self.choice((low, high))
        difference = _EXACT.add(other, one, -1)
        value = constant_value(difference)
        return self.choice(key(difference)) if value is None else value > 0

    def same(self, low: Lattice, high: Lattice) -> bool:
        if low == high:
            return True
        one, other = _alone(low), _alone(high)
        if one is None or other is None:
            return self.choice(("==", frozenset((low, high))))
        difference = _EXACT.add(other, one, -1)
        if constant_value(difference) is not None:
            return False
        return self.choice(("==", frozenset((key(difference), key(_EXACT.scale(difference, -1))))))

    def compute(self, expr: Expr) -> Lattice:
        type_ = expr.type
        if not self.is_exact(type_):
            raise _Unread
        if isinstance(expr, Const):
            if isinstance(expr.value, float):
                if not math.isfinite(expr.value):
                    raise _Unread
                number = Fraction(expr.value)
                return _plain(_EXACT.constant(number.numerator if number.denominator == 1 else number))
            return _plain(_EXACT.constant(expr.value))
        if isinstance(expr, Var):
            return _plain(self.facts.variable(expr))
        if isinstance(expr, Call):
            return self.opaque(("call", expr.kind, expr.name, expr.index), expr)
        if not isinstance(expr, Op):
            raise _Unread
        if expr.op == "select":
            return self.select(*expr.args)
        if expr.op == "cast":
            return self.cast(expr)
        if expr.op == "/" and isinstance(expr.args[1], Const) and expr.args[1].value:
            divisor = expr.args[1].value
            if not math.isfinite(divisor):
                raise _Unread
            return self.scaled(self.number(expr.args[0]), 1 / Fraction(divisor))
        if expr.op == "//" and isinstance(expr.args[1], Const) and expr.args[1].value > 0:
            return self.divided(expr, int(expr.args[1].value))
        if expr.op in ("min", "max", "+", "-", "*"):
            one, other = map(self.number, expr.args)
            if expr.op == "*":
                return self.product(one, other)
            if expr.op == "-":
                return self.plus(one, self.scaled(other, -1))
            return self.plus(one, other) if expr.op == "+" else self.extremum(expr.op == "min", one, other)
        if expr.op == "neg":
            return self.scaled(self.number(expr.args[0]), -1)
        if expr.op == "abs":
            value = self.number(expr.args[0])
            return self.extremum(False, value, self.scaled(value, -1))
        return self.opaque(expr.op, expr)

    def opaque(self, description: Hashable, expr: Expr) -> Lattice:
        """A function of which only congruence is known."""
        args = tuple((arg.type, self.read(arg)) for arg in expr.children)
        return _plain(self.facts.atom("function", description, expr.type, args))

    def cast(self, expr: Op) -> Lattice:
        value, old = self.read(expr.args[0]), expr.args[0].type
        if isinstance(value, bool):
            return _plain(_EXACT.constant(int(value)))
        if (old.is_float and expr.type.is_float) or (old.is_int and expr.type.is_int):
            return value
        return self.opaque("cast", expr)

    def select(self, condition: Expr, true: Expr, false: Expr) -> Lattice:
        """The branch that is chosen; a minimum or maximum where the condition compares the branches."""
        if (
            isinstance(condition, Op)
            and condition.op in ("<", "<=", ">", ">=")
            and self.is_exact(condition.args[0].type)
        ):
            low, high = map(self.number, condition.args)
            if condition.op in (">", ">="):
                low, high = high, low
            one, other = self.number(true), self.number(false)
            if (one, other) in ((low, high), (high, low)):
                return self.extremum(one == low, one, other)
            parts = [_alone(part) for part in (low, high, one, other)]
            a, b, c, d = parts
            if a is not None and b is not None and c is not None and d is not None:
                whole, strict = condition.args[0].type.is_int, condition.op in ("<", ">")
                least = _is_minimum(_EXACT.add(d, c, -1), _EXACT.add(b, a, -1), strict, whole)
                if least is not None:
                    return self.extremum(least, one, other)
        return self.number(true if self.read(condition) else false)

    def extremum(self, least: bool, one: Lattice, other: Lattice) -> Lattice:
        if not least:
            return self.facts.reduced(one | other)
        self.facts.count(sum(map(len, one)) * sum(map(len, other)))
        return self.facts.reduced(a | b for a in one for b in other)

    def plus(self, one: Lattice, other: Lattice) -> Lattice:
        self.facts.count(sum(map(len, one)) * sum(map(len, other)))
        return self.facts.reduced(
            frozenset(key(_EXACT.add(dict(p), dict(q))) for p in a for q in b) for a in one for b in other
        )

    def scaled(self, value: Lattice, factor: Number) -> Lattice:
        """A multiple; a negative one exchanges minima and maxima."""
        parts = [frozenset(key(_EXACT.scale(dict(p), factor)) for p in part) for part in value]
        return self.facts.reduced(parts) if factor > 0 else self.minimum_of_maxima(parts)

    def divided(self, expr: Op, divisor: int) -> Lattice:
        """The floor of a quotient that is an integer."""
        value = self.number(expr.args[0])
        if any(coefficient % divisor for part in value for p in part for _, coefficient in p):
            return self.opaque(expr.op, expr)
        return self.facts.reduced(frozenset(key({m: int(c) // divisor for m, c in p}) for p in part) for part in value)

    def minimum_of_maxima(self, parts: Sequence[frozenset[Key]]) -> Lattice:
        result: Lattice | None = None
        for part in parts:
            maximum = frozenset(frozenset((p,)) for p in part)
            result = self.facts.reduced(maximum) if result is None else self.extremum(True, result, maximum)
        assert result is not None
        return result

    def product(self, one: Lattice, other: Lattice) -> Lattice:
        """By a polynomial that is known not to be negative, or not to be positive; of polynomials, any."""
        for value, factor in ((one, _alone(other)), (other, _alone(one))):
            if factor is None:
                continue
            negative = _EXACT.scale(factor, -1)
            turned = self.facts.is_nonnegative(negative)
            if _alone(value) is None and not turned and not self.facts.is_nonnegative(factor):
                continue
            parts = [frozenset(key(_EXACT.multiply(dict(p), factor)) for p in part) for part in value]
            return self.minimum_of_maxima(parts) if turned else self.facts.reduced(parts)
        raise _Unread


def _is_minimum(value: Polynomial, unit: Polynomial, strict: bool, whole: bool) -> bool | None:
    """Whether the branches of a choice are in the order of what is compared, or in the opposite one; else None.

    The `value` is what the other branch has more where `unit` is positive (at least 0 if not `strict`): r * unit + s.
    Of whole numbers, unit is at least 1 there, or at most -1 elsewhere: s may be as much as r and not matter.
    """
    rest, own = dict(value), dict(unit)
    more, constant = Fraction(rest.pop(ONE, 0)), Fraction(own.pop(ONE, 0))
    if not rest or rest.keys() != own.keys():
        return None
    monomial: Monomial = next(iter(own))
    ratio = Fraction(rest[monomial]) / Fraction(own[monomial])
    if any(rest[m] != ratio * c for m, c in own.items()):
        return None
    slack = (more - ratio * constant) * (1 if ratio > 0 else -1)
    room = abs(ratio) if whole else 0
    fits = -room <= slack <= 0 if strict else 0 <= slack <= room
    return ratio > 0 if fits else None
