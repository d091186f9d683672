"""Proof by cases: both sides are run symbolically, and split on every comparison that is not yet decided.

In each case every `select`, `min`, `max` and `abs` is resolved, so that a value is a polynomial over opaque atoms and
the two sides are compared as polynomials. Comparisons are decided in the theory of total preorders over those
polynomials, which knows nothing of arithmetic: a case that arithmetic excludes may be visited, so a failure proves
nothing, but a success holds at every width the polynomials are right for. It is the 0-1 principle, the few values of an
order-only claim, and the opaque key of a computed selection, in one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover import functions
from rfactor.prover.contradiction import contradict
from rfactor.prover.limits import Limits
from rfactor.prover.order import Preorder
from rfactor.prover.polynomial import (
    ONE,
    Number,
    Polynomial,
    Ring,
    TooLarge,
    constant_value,
    key,
    single_atom,
)
from rfactor.prover.verdict import Method

_Value = Polynomial | bool
_MOST_FACTS, _MOST_ASKED = 80, 40
"""Comparisons on a branch, and branches, up to which arithmetic is asked whether a branch exists."""
_Domain = tuple[str, int]


class _Unsupported(Exception):
    """The claim is outside what this procedure reads."""


class _OutOfCases(Exception):
    """The budget of branches is used up."""


@dataclass(slots=True)
class _Split(Exception):
    """A comparison, or (with `low` None) a boolean atom, that must be decided before going on."""

    domain: _Domain
    low: Hashable
    high: Hashable
    equality: bool = False


@dataclass(slots=True)
class _State:
    """What is decided on this branch, and the values that follow from it."""

    orders: dict[_Domain, Preorder] = field(default_factory=dict)
    booleans: dict[Hashable, bool] = field(default_factory=dict)
    values: dict[Expr, _Value] = field(default_factory=dict)

    def copy(self) -> _State:
        orders = {domain: order.copy() for domain, order in self.orders.items()}
        return _State(orders, dict(self.booleans), dict(self.values))


def prove_by_cases(
    left: Sequence[Expr],
    right: Sequence[Expr],
    meaning: Meaning,
    assumptions: Sequence[Expr],
    limits: Limits,
) -> Method | None:
    """`normal_form` or `order` if left = right componentwise wherever the assumptions hold; None if not shown."""
    session = _Cases(meaning, tuple(assumptions), limits)
    for side in (left, right, assumptions):
        for expr in side:
            session.meet_infinities(expr)
    try:
        for one, other in zip(left, right, strict=True):
            if one != other and not session.equal(one, other):
                return None
    except (_Unsupported, _OutOfCases, TooLarge):
        return None
    return "order" if session.splits else "normal_form"


class _Cases:
    def __init__(self, meaning: Meaning, assumptions: tuple[Expr, ...], limits: Limits) -> None:
        self.meaning, self.assumptions, self.limits = meaning, assumptions, limits
        self.atoms: dict[Hashable, int] = {}
        self.described: list[Hashable] = []
        self.nodes: dict[Hashable, Polynomial] = {}
        self.infinite: set[int] = set()
        self.roots: dict[int, Polynomial] = {}
        self.splits = 0
        self.asked = 0
        self.nonzero = [
            claim.args[0]
            for claim in assumptions
            if isinstance(claim, Op) and claim.op == "!=" and claim.args[1] == Const(claim.args[1].type, 0)
        ]

    def meet_infinities(self, expr: Expr) -> None:
        """Know the infinite ends in advance: everything of their type lies between them."""
        for node in walk(expr):
            if isinstance(node, Const) and isinstance(node.value, float) and math.isinf(node.value):
                self.constant(node)

    # The search.

    def equal(self, left: Expr, right: Expr) -> bool:
        pending = [_State()]
        while pending:
            state = pending.pop()
            try:
                if (
                    all(self.condition(claim, state) for claim in self.assumptions)
                    and not self.same(left, right, state)
                    and not self.excluded(state)
                ):
                    return False
            except _Split as split:
                self.splits += 1
                if self.splits > self.limits.cases or (self.splits % 64 == 0 and self.limits.expired):
                    raise _OutOfCases from None
                pending.extend(self.branches(split, state))
        return True

    def excluded(self, state: _State) -> bool:
        """Whether arithmetic on the reals or the unbounded integers leaves nothing of this branch."""
        facts = [
            (self.nodes[low], self.nodes[high], strict)
            for domain, order in state.orders.items()
            if domain[1] == 0
            for low, edges in order.above.items()
            for high, strict in edges.items()
        ]
        if not self.limits.cases or len(facts) > _MOST_FACTS or self.asked >= _MOST_ASKED:
            return False
        self.asked += 1
        return contradict(facts, self.infinite, self.limits)

    def branches(self, split: _Split, state: _State) -> list[_State]:
        result = []
        if split.low is None:
            for value in (True, False):
                branch = state.copy()
                branch.booleans[split.high] = value
                result.append(branch)
            return result
        low, high = split.low, split.high
        edges = [[(low, high, True)], [(high, low, False)]]
        if split.equality:
            order = state.orders[split.domain]
            edges = [[(low, high, False), (high, low, False)]]
            if order.path(high, low) == "none":
                edges.append([(low, high, True)])
            if order.path(low, high) == "none":
                edges.append([(high, low, True)])
        for choice in edges:
            branch = state.copy()
            for edge in choice:
                branch.orders[split.domain].know(*edge)
            result.append(branch)
        return result

    def same(self, left: Expr, right: Expr, state: _State) -> bool:
        if left.type.is_bool:
            return self.condition(left, state) == self.condition(right, state)
        ring = self.ring(left.type)
        difference = ring.add(self.number(left, state), self.number(right, state), -1)
        for _ in range(8):
            if left.type.is_float:
                difference = functions.cleared(self, difference)
            if not difference:
                return True
            smaller = self.by_equalities(difference, ring, left.type, state)
            if smaller is None:
                return False
            difference = smaller
        return False

    def by_equalities(self, value: Polynomial, ring: Ring, type_: Type, state: _State) -> Polynomial | None:
        """`value` with an atom replaced by what this case says it equals; None if nothing changes it."""
        order = state.orders.get(self.domain(type_))
        if order is None:
            return None
        for node in list(order.above):
            poly = self.nodes.get(node)
            if poly is None:
                continue
            atom = single_atom(poly)
            if atom is None or atom not in functions.spoken_of(self, value):
                continue
            for other in order.equals(node):
                image = self.nodes[other]
                if any(atom == factor for monomial in image for factor, _ in monomial):
                    continue
                if single_atom(image) is not None and single_atom(image) > atom:  # type: ignore[operator]
                    continue  # towards the older atom, so that this ends
                if type_.is_float:
                    return functions.replaced(self, type_, value, atom, image, state)
                return ring.substitute(value, atom, image)
        return None

    # Values.

    def ring(self, type_: Type) -> Ring:
        return Ring(type_.bits if type_.is_int and self.meaning is Meaning.WRAP else 0)

    def domain(self, type_: Type) -> _Domain:
        if type_.is_int and self.meaning is Meaning.WRAP:
            return (type_.code, type_.bits)
        return ("int" if type_.is_int else "float", 0)

    def atom(self, description: Hashable) -> int:
        number = self.atoms.get(description)
        if number is None:
            number = self.atoms[description] = len(self.described)
            self.described.append(description)
        return number

    def opaque(self, *description: Hashable) -> Polynomial:
        return {((self.atom(description), 1),): 1}

    def condition(self, expr: Expr, state: _State) -> bool:
        value = self.value(expr, state)
        assert isinstance(value, bool)
        return value

    def number(self, expr: Expr, state: _State) -> Polynomial:
        value = self.value(expr, state)
        assert isinstance(value, dict)
        return value

    def value(self, expr: Expr, state: _State) -> _Value:
        value = state.values.get(expr)
        if value is None:
            value = state.values[expr] = self.compute(expr, state)
        return value

    def compute(self, expr: Expr, state: _State) -> _Value:
        if isinstance(expr, Const):
            return self.constant(expr)
        if isinstance(expr, Var):
            if expr.type.is_bool:
                return self.boolean(("var", expr.name), state)
            return self.opaque("var", expr.name, expr.type)
        if isinstance(expr, Call):
            return self.call(expr, state)
        if not isinstance(expr, Op):
            raise _Unsupported
        if expr.op == "select":
            return self.value(expr.args[1 if self.condition(expr.args[0], state) else 2], state)
        if expr.op == "cast":
            return self.cast(expr, state)
        operand = expr.args[0].type
        if operand.is_bool:
            return self.logic(expr, state)
        if expr.type.is_bool:
            first, second = (self.number(arg, state) for arg in expr.args)
            return self.compare(expr.op, operand, first, second, state)
        if expr.op in ("min", "max"):
            first, second = (self.number(arg, state) for arg in expr.args)
            first_is_less = self.less(operand, first, second, state)
            return first if first_is_less == (expr.op == "min") else second
        args = [self.number(arg, state) for arg in expr.args]
        if self.infinite and any(f in self.infinite for arg in args for m in arg for f, _ in m):
            raise _Unsupported
        return self.arithmetic(expr, args, state)

    def constant(self, expr: Const) -> _Value:
        if expr.type.is_bool:
            return bool(expr.value)
        if isinstance(expr.value, float):
            if math.isnan(expr.value):
                raise _Unsupported
            if math.isinf(expr.value):
                atom = self.atom(("inf", expr.value > 0))
                self.infinite.add(atom)
                return {((atom, 1),): 1}
            number = Fraction(expr.value)
            return self.ring(expr.type).constant(number.numerator if number.denominator == 1 else number)
        return self.ring(expr.type).constant(expr.value)

    def boolean(self, description: Hashable, state: _State) -> bool:
        known = state.booleans.get(description)
        if known is None:
            raise _Split(("bool", 1), None, description)
        return known

    def logic(self, expr: Op, state: _State) -> bool:
        op = expr.op
        first = self.condition(expr.args[0], state)
        if op in ("not", "~"):
            return not first
        if op in ("and", "&", "min") and not first:
            return False
        if op in ("or", "|", "max") and first:
            return True
        second = self.condition(expr.args[1], state)
        if op in ("and", "&", "min", "or", "|", "max"):
            return second
        return {
            "^": first != second, "!=": first != second, "==": first == second,
            "<": first < second, "<=": first <= second, ">": first > second, ">=": first >= second,
        }[op]  # fmt: skip

    def arithmetic(self, expr: Op, args: list[Polynomial], state: _State) -> Polynomial:
        op, type_ = expr.op, expr.args[0].type
        ring = self.ring(expr.type)
        if op == "+":
            return ring.add(args[0], args[1])
        if op == "-":
            return ring.add(args[0], args[1], -1)
        if op == "*":
            return functions.squared_out(self, ring.multiply(args[0], args[1]))
        if op == "neg":
            return ring.scale(args[0], -1)
        if op == "abs":
            negative = type_.is_signed and self.less(type_, args[0], {}, state)
            return ring.scale(args[0], -1) if negative else args[0]
        if op == "~":
            top = type_.max if type_.code == "uint" and self.meaning is Meaning.MATH else -1
            return ring.add(ring.constant(int(top)), args[0], -1)
        if op == "/":
            return self.divide(args[0], args[1], ring, state, type_)
        constants = [constant_value(arg) for arg in args]
        if all(value is not None for value in constants):
            values = [type_.wrap(int(v or 0)) if ring.bits else int(v or 0) for v in constants]
            if not all(type_.min <= v <= type_.max for v in values):
                raise _Unsupported
            point = tuple(Const(type_, v) for v in values)
            return ring.constant(int(evaluate_scalar(Op(type_, op, point), {}, self.meaning)))
        if op in ("//", "%") and not args[0]:
            return {}
        if op == "<<" and constants[1] is not None and 0 <= constants[1] < expr.type.bits:
            return ring.scale(args[0], 1 << int(constants[1]))
        if op in ("&", "|", "^"):
            return self.bitwise(op, type_, args, ring)
        return self.opaque(op, type_, *map(key, args))

    def bitwise(self, op: str, type_: Type, args: list[Polynomial], ring: Ring) -> Polynomial:
        if key(args[0]) == key(args[1]):
            return {} if op == "^" else args[0]
        ones = ring.reduce(-1)
        for one, other in (args, args[::-1]):
            value = constant_value(one)
            if value == 0:
                return {} if op == "&" else other
            if value == ones and (ring.bits or type_.code == "int"):
                return other if op == "&" else one if op == "|" else ring.add(one, other, -1)
        return self.opaque(op, type_, frozenset(map(key, args)))

    def divide(self, a: Polynomial, b: Polynomial, ring: Ring, state: _State, type_: Type) -> Polynomial:
        value = constant_value(b)
        if value:
            return ring.scale(a, Fraction(1) / value)
        if value is None and self.is_not_zero(type_, b, state):
            if len(b) == 1:
                ((monomial, coefficient),) = b.items()
                inverse: Polynomial = {tuple((atom, -power) for atom, power in monomial): Fraction(1) / coefficient}
                return ring.multiply(a, inverse)
            return ring.multiply(a, self.opaque("inverse", key(b)))
        return self.opaque("/", key(a), key(b))

    def is_not_zero(self, type_: Type, value: Polynomial, state: _State) -> bool:
        """Whether that is known on this branch, without a split."""
        if functions.is_positive(self, value):
            return True
        if any(key(self.number(expr, state)) == key(value) for expr in self.nonzero if expr.type.is_float):
            return True
        order, low, high = self.place(type_, value, {}, state)
        return "strict" in (order.path(low, high), order.path(high, low))

    def call(self, expr: Call, state: _State) -> Polynomial:
        if expr.kind != "intrinsic":
            raise _Unsupported
        args = [self.number(arg, state) for arg in expr.args]
        if self.infinite and any(f in self.infinite for arg in args for m in arg for f, _ in m):
            raise _Unsupported
        return functions.call(self, expr.name, expr.type, args, state)

    def cast(self, expr: Op, state: _State) -> _Value:
        old, new = expr.args[0].type, expr.type
        if old.is_bool:
            return self.ring(new).constant(1) if self.condition(expr.args[0], state) else {}
        value = self.number(expr.args[0], state)
        if new.is_bool:
            return not self.compare("==", old, value, {}, state)
        if old.is_float and new.is_float:
            return value
        if self.infinite and any(f in self.infinite for m in value for f, _ in m):
            raise _Unsupported
        if self.meaning is Meaning.MATH and old.is_int:
            return value
        if old.is_int and new.is_int:
            if new.bits <= old.bits:
                return self.truncate(value, old, new)
            number = constant_value(value)
            if number is not None:
                return self.ring(new).constant(old.wrap(int(number)))
        return self.opaque("cast", old, new, key(value))

    def truncate(self, value: Polynomial, old: Type, new: Type) -> Polynomial:
        """Keeping the low bits is a ring homomorphism, and undoes a widening cast."""
        ring = self.ring(new)

        def image(atom: int) -> Polynomial:
            description = self.described[atom]
            if isinstance(description, tuple) and description[0] == "cast" and description[1].is_int:
                inner: Type = description[1]
                if inner.bits == new.bits:
                    return dict(description[3])
                if inner.bits > new.bits:
                    return self.truncate(dict(description[3]), inner, new)
                return self.opaque("cast", inner, new, description[3])
            if old.bits == new.bits:
                return {((atom, 1),): 1}
            return self.opaque("low bits", new.bits, atom)

        return ring.map_atoms(value, image)

    # Comparisons.

    def compare(self, op: str, type_: Type, a: Polynomial, b: Polynomial, state: _State) -> bool:
        if op == "<":
            return self.less(type_, a, b, state)
        if op == ">":
            return self.less(type_, b, a, state)
        if op == "<=":
            return not self.less(type_, b, a, state)
        if op == ">=":
            return not self.less(type_, a, b, state)
        equal = self.equality(type_, a, b, state)
        return equal == (op == "==")

    def less(self, type_: Type, a: Polynomial, b: Polynomial, state: _State) -> bool:
        order, low, high = self.place(type_, a, b, state)
        if low == high or order.path(high, low) != "none":
            return False
        if order.path(low, high) == "strict":
            return True
        raise _Split(self.domain(type_), low, high)

    def equality(self, type_: Type, a: Polynomial, b: Polynomial, state: _State) -> bool:
        order, low, high = self.place(type_, a, b, state)
        if low == high:
            return True
        up, down = order.path(low, high), order.path(high, low)
        if "strict" in (up, down):
            return False
        if up == down == "weak":
            return True
        raise _Split(self.domain(type_), low, high, equality=True)

    def place(self, type_: Type, a: Polynomial, b: Polynomial, state: _State) -> tuple[Preorder, Hashable, Hashable]:
        """The two polynomials as nodes of the preorder of their type, with what is known of constants."""
        if not self.ring(type_).bits:
            a, b = _sides(a, b)
        order = state.orders.setdefault(self.domain(type_), Preorder())
        return order, self.node(type_, a, order), self.node(type_, b, order)

    def node(self, type_: Type, value: Polynomial, order: Preorder) -> Hashable:
        number: Number | float | None = constant_value(value)
        atom = single_atom(value)
        if number is not None:
            number = type_.wrap(int(number)) if self.ring(type_).bits else number
        elif atom in self.infinite:
            number = math.inf if self.described[atom or 0] == ("inf", True) else -math.inf
        node: Hashable = key(value) if number is None else ("constant", number, type_)
        if node in order.above:
            return node
        self.nodes[node] = value
        known = [other for other in order.above if isinstance(other, tuple)]
        order.above[node] = {}
        if number is not None:
            for other in known:
                low, high = (node, other) if number < other[1] else (other, node)
                order.know(low, high, True)
            return node
        for low_value, high_value in self.bounds(type_, atom):
            if low_value is not None:
                order.know(self.end(type_, low_value, order), node, False)
            if high_value is not None:
                order.know(node, self.end(type_, high_value, order), False)
        return node

    def end(self, type_: Type, value: int | float, order: Preorder) -> Hashable:
        """The node of a bound."""
        poly = self.constant(Const(type_, value)) if math.isinf(value) else self.ring(type_).constant(int(value))
        assert isinstance(poly, dict)
        return self.node(type_, poly, order)

    def bounds(self, type_: Type, atom: int | None) -> list[tuple[int | float | None, int | float | None]]:
        """Ranges that hold for a node: of its type, of a variable, of a widened value."""
        ranges: list[tuple[int | float | None, int | float | None]] = []
        if self.ring(type_).bits:
            ranges.append((int(type_.min), int(type_.max)))
        if type_.is_float and self.infinite:
            ranges.append((-math.inf, math.inf))
        description = self.described[atom] if atom is not None else None
        if isinstance(description, tuple):
            ranges += _range_of_division(description, bool(self.ring(type_).bits))
            if description[0] == "var" and self.meaning is Meaning.MATH and description[2].code == "uint":
                ranges.append((0, None))
            widened = description[0] == "cast" and description[1].is_int and type_.is_int
            if widened and type_.bits > description[1].bits and (description[1].code == "uint" or type_.code == "int"):
                ranges.append((int(description[1].min), int(description[1].max)))
        return ranges


def _range_of_division(
    description: tuple[Hashable, ...], wraps: bool
) -> list[tuple[int | float | None, int | float | None]]:
    """The values of a remainder, and of a quotient or a mask by a literal."""
    if description[0] == "%":
        divisor = constant_value(dict(description[3]))  # type: ignore[call-overload]
        return [(0, None if divisor is None else max(0, abs(_signed(divisor, description[1])) - 1))]
    if description[0] == "//" and wraps:
        divisor = constant_value(dict(description[3]))  # type: ignore[call-overload]
        type_ = description[1]
        assert isinstance(type_, Type)
        if divisor is not None and _signed(divisor, type_) > 0:
            number = _signed(divisor, type_)
            return [(int(type_.min) // number, int(type_.max) // number)]
    return []


def _signed(value: Number, type_: Hashable) -> int:
    """A coefficient as a value of its type."""
    assert isinstance(type_, Type)
    return int(type_.wrap(int(value)))


def _sides(a: Polynomial, b: Polynomial) -> tuple[Polynomial, Polynomial]:
    """a < b with what is common cancelled, and only positive terms but for a constant that stands alone."""
    exact = Ring()
    difference = exact.add(a, b, -1)
    constant = difference.pop(ONE, 0)
    left = {m: c for m, c in difference.items() if c > 0}
    right = {m: -c for m, c in difference.items() if c < 0}
    if not constant:
        return left, right
    if not right or (left and constant < 0):
        return left, exact.add(right, {ONE: -constant})
    return exact.add(left, {ONE: constant}), right
