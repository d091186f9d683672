"""Comparisons of polynomials in a theory that knows only order: total preorders with what is known of constants.

A comparison that is not decided asks for the case to be split. What is known without deciding: the order of constants,
the ranges of types, of widened values and of remainders, that sums of squares are not negative.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction

from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover import functions
from rfactor.prover.order import Preorder
from rfactor.prover.polynomial import (
    ONE,
    Key,
    Number,
    Polynomial,
    Ring,
    constant_value,
    key,
    ring_of,
    single_atom,
)

SymbolicValue = Polynomial | bool
Domain = tuple[str, int]


class Unsupported(Exception):
    """The claim is outside what this procedure reads."""


@dataclass(slots=True)
class Split(Exception):
    """A comparison, or (with `low` None) a boolean atom, that must be decided before going on."""

    domain: Domain
    low: int | None
    high: Hashable
    equality: bool = False


@dataclass(slots=True)
class State:
    """What is decided on this branch, and the values that follow from it."""

    orders: dict[Domain, Preorder] = field(default_factory=dict)
    booleans: dict[Hashable, bool] = field(default_factory=dict)
    values: dict[Expr, SymbolicValue] = field(default_factory=dict)

    def copy(self) -> State:
        orders = {domain: order.copy() for domain, order in self.orders.items()}
        return State(orders, dict(self.booleans), dict(self.values))


class Comparisons:
    """Atoms, and the order of polynomials over them, case by case."""

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.atoms: dict[Hashable, int] = {}
        self.described: list[Hashable] = []
        self.numbers: dict[tuple[Domain, Hashable], int] = {}
        """The nodes of all orders. A constant is another polynomial in each domain: -7 is 2^32 - 7 among 32 bits."""
        self.nodes: list[Polynomial] = []
        self.constants: dict[int, Number | float] = {}
        """The nodes that are constants."""
        self.infinite: set[int] = set()
        self.roots: dict[int, Polynomial] = {}

    def ring(self, type_: Type) -> Ring:
        return ring_of(type_.bits if type_.is_int and self.meaning is Meaning.WRAP else 0)

    def domain(self, type_: Type) -> Domain:
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

    def constant(self, expr: Const) -> SymbolicValue:
        if expr.type.is_bool:
            return bool(expr.value)
        if isinstance(expr.value, float):
            if math.isnan(expr.value):
                raise Unsupported
            if math.isinf(expr.value):
                atom = self.atom(("inf", expr.value > 0))
                self.infinite.add(atom)
                return {((atom, 1),): 1}
            number = Fraction(expr.value)
            return self.ring(expr.type).constant(number.numerator if number.denominator == 1 else number)
        return self.ring(expr.type).constant(expr.value)

    def compare(self, op: str, type_: Type, a: Polynomial, b: Polynomial, state: State) -> bool:
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

    def less(self, type_: Type, a: Polynomial, b: Polynomial, state: State) -> bool:
        order, low, high = self.place(type_, a, b, state)
        if low == high or order.path(high, low) != "none":
            return False
        if order.path(low, high) == "strict":
            return True
        raise Split(self.domain(type_), low, high)

    def equality(self, type_: Type, a: Polynomial, b: Polynomial, state: State) -> bool:
        order, low, high = self.place(type_, a, b, state)
        if low == high:
            return True
        up, down = order.path(low, high), order.path(high, low)
        if "strict" in (up, down):
            return False
        if up == down == "weak":
            return True
        raise Split(self.domain(type_), low, high, equality=True)

    def place(self, type_: Type, a: Polynomial, b: Polynomial, state: State) -> tuple[Preorder, int, int]:
        """The two polynomials as nodes of the preorder of their type, with what is known of constants."""
        domain = self.domain(type_)
        if not domain[1]:
            a, b = _sides(a, b)
        order = state.orders.get(domain)
        if order is None:
            order = state.orders[domain] = Preorder()
        return order, self.node(type_, domain, a, order), self.node(type_, domain, b, order)

    def node(self, type_: Type, domain: Domain, value: Polynomial, order: Preorder) -> int:
        number: Number | float | None = constant_value(value)
        if number is not None:
            number = type_.wrap(int(number)) if domain[1] else number
        elif self.infinite and (atom := single_atom(value)) in self.infinite:
            number = math.inf if self.described[atom or 0] == ("inf", True) else -math.inf
        place = (domain, key(value) if number is None else number)
        node = self.numbers.get(place)
        if node is None:
            node = self.numbers[place] = len(self.nodes)
            self.nodes.append(value)
            if number is not None:
                self.constants[node] = number
        if node in order.above:
            return node
        known = list(order.above)
        order.add(node)
        if number is not None:
            for other in known:
                its = self.constants.get(other)
                if its is not None:
                    low, high = (node, other) if number < its else (other, node)
                    order.know(low, high, True)
            return node
        for low_value, high_value in self.bounds(type_, value):
            if low_value is not None:
                order.know(self.end(type_, domain, low_value, order), node, False)
            if high_value is not None:
                order.know(node, self.end(type_, domain, high_value, order), False)
        return node

    def end(self, type_: Type, domain: Domain, value: int | float, order: Preorder) -> int:
        """The node of a bound."""
        known = self.numbers.get((domain, value))
        if known is not None and known in order.above:
            return known
        poly = self.constant(Const(type_, value)) if math.isinf(value) else self.ring(type_).constant(int(value))
        assert isinstance(poly, dict)
        return self.node(type_, domain, poly, order)

    def bounds(self, type_: Type, value: Polynomial) -> list[tuple[int | float | None, int | float | None]]:
        """Ranges that hold for a node: of its type, of a variable, of a widened value, of a remainder, of a square."""
        ranges: list[tuple[int | float | None, int | float | None]] = []
        if self.ring(type_).bits:
            ranges.append((int(type_.min), int(type_.max)))
        elif value and functions.is_nonnegative(self, value) and not self.meets_infinity(value):
            ranges.append((0, None))
        if type_.is_float and self.infinite:
            ranges.append((-math.inf, math.inf))
        atom = single_atom(value)
        description = self.described[atom] if atom is not None else None
        if not isinstance(description, tuple):
            return ranges
        if description[0] == "var" and self.meaning is Meaning.MATH and description[2].code == "uint":
            ranges.append((0, None))
        widened = description[0] == "cast" and description[1].is_int and type_.is_int
        if widened and type_.bits > description[1].bits and (description[1].code == "uint" or type_.code == "int"):
            ranges.append((int(description[1].min), int(description[1].max)))
        if description[0] == "%":
            modulus = self.literal(type_, description[3])
            ranges.append((0, abs(modulus) - 1 if modulus else None))
        if description[0] == "//" and self.ring(type_).bits:
            divisor = self.literal(type_, description[3])
            if divisor is not None and divisor > 0:
                ranges.append((int(type_.min) // divisor, int(type_.max) // divisor))
        if description[0] == "&":
            masks = [mask for operand in description[2] if (mask := self.literal(type_, operand)) is not None]
            ranges += [(0, mask) for mask in masks if mask >= 0]
        return ranges

    def meets_infinity(self, value: Polynomial) -> bool:
        """Whether an infinity occurs in the value."""
        return any(atom in self.infinite for monomial in value for atom, _ in monomial)

    def literal(self, type_: Type, operand: Key) -> int | None:
        """The integer that a key stands for, if it is one."""
        value = constant_value(dict(operand))
        return None if value is None else type_.wrap(int(value)) if self.ring(type_).bits else int(value)


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
