"""Expressions run symbolically: in one case every value is a polynomial over opaque atoms, or a truth value."""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Call, Const, Expr, Op, Var
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover import functions
from rfactor.prover.bit_sums import BitSum, combined
from rfactor.prover.comparisons import Comparisons, Split, State, SymbolicValue, Unsupported
from rfactor.prover.polynomial import Key, Number, Polynomial, Ring, constant_value, key, product, single_atom


class Values(Comparisons):
    """The values of expressions in one case."""

    def __init__(self, meaning: Meaning, assumptions: tuple[Expr, ...]) -> None:
        super().__init__(meaning)
        self.asking: set[Expr] = set()
        """Divisors known not to be zero whose values are being computed."""
        self.bit_sums: dict[tuple[Type, Key], BitSum] = {}
        """Words that were made by bitwise operations."""
        self.nonzero = [
            claim.args[0]
            for claim in assumptions
            if isinstance(claim, Op) and claim.op == "!=" and claim.args[1] == Const(claim.args[1].type, 0)
        ]

    def condition(self, expr: Expr, state: State) -> bool:
        value = state.values.get(expr)
        if value is None:
            value = state.values[expr] = self.compute(expr, state)
        assert isinstance(value, bool)
        return value

    def number(self, expr: Expr, state: State) -> Polynomial:
        value = state.values.get(expr)
        if value is None:
            value = state.values[expr] = self.compute(expr, state)
        assert isinstance(value, dict)
        return value

    def value(self, expr: Expr, state: State) -> SymbolicValue:
        return self.condition(expr, state) if expr.type.is_bool else self.number(expr, state)

    def compute(self, expr: Expr, state: State) -> SymbolicValue:
        if not isinstance(expr, Op):
            return self.leaf(expr, state)
        op, args = expr.op, expr.args
        if op == "select":
            return self.value(args[1 if self.condition(args[0], state) else 2], state)
        if op == "cast":
            return self.cast(expr, state)
        operand = args[0].type
        if operand.is_bool:
            return self.logic(expr, state)
        first = self.number(args[0], state)
        if len(args) == 1:
            numbers = [first]
        else:
            second = self.number(args[1], state)
            if expr.type.is_bool:
                return self.compare(op, operand, first, second, state)
            if op in ("min", "max"):
                return first if self.less(operand, first, second, state) == (op == "min") else second
            numbers = [first, second]
        if self.infinite and any(map(self.meets_infinity, numbers)):
            raise Unsupported
        return self.arithmetic(expr, numbers, state)

    def leaf(self, expr: Expr, state: State) -> SymbolicValue:
        if isinstance(expr, Const):
            return self.constant(expr)
        if isinstance(expr, Var):
            if expr.type.is_bool:
                return self.boolean(("var", expr.name), state)
            return self.opaque("var", expr.name, expr.type)
        if isinstance(expr, Call):
            return self.unknown(expr, state) if expr.kind == "unknown" else self.call(expr, state)
        raise Unsupported

    def boolean(self, description: Hashable, state: State) -> bool:
        known = state.booleans.get(description)
        if known is None:
            raise Split(("bool", 1), None, description)
        return known

    def logic(self, expr: Op, state: State) -> bool:
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

    def arithmetic(self, expr: Op, args: list[Polynomial], state: State) -> Polynomial:
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
            value = ring.add(ring.constant(int(top)), args[0], -1)
            inverted = combined("^", {frozenset(): 1}, self.bit_sum(type_, args[0], ring)) if ring.bits else None
            if inverted is not None:
                self.bit_sums[type_, key(value)] = inverted
            return value
        if op == "/":
            return self.divide(args[0], args[1], ring, state, type_)
        constants = [constant_value(arg) for arg in args]
        if all(value is not None for value in constants):
            values = [type_.wrap(int(v or 0)) if ring.bits else int(v or 0) for v in constants]
            if not all(type_.min <= v <= type_.max for v in values):
                raise Unsupported
            point = tuple(Const(type_, v) for v in values)
            return ring.constant(int(evaluate_scalar(Op(type_, op, point), {}, self.meaning)))
        if op in ("//", "%") and not args[0]:
            return {}
        if op == "<<" and constants[1] is not None and 0 <= constants[1] < expr.type.bits:
            return ring.scale(args[0], 1 << int(constants[1]))
        if op in ("&", "|", "^"):
            return self.bitwise(op, type_, args, ring)
        if op == "%":
            return self.remainder(type_, args[0], args[1], ring)
        if op == "//" and not ring.bits:
            return self.quotient(type_, args[0], args[1], state)
        if op == ">>" and not ring.bits and constants[1] is not None and 0 <= constants[1] < expr.type.bits:
            return self.quotient(type_, args[0], ring.constant(1 << int(constants[1])), state)
        return self.opaque(op, type_, *map(key, args))

    def remainder(self, type_: Type, value: Polynomial, modulus: Polynomial, ring: Ring) -> Polynomial:
        """value % modulus; inside it, a remainder by the same modulus may be left out, as long as nothing wraps."""
        number = constant_value(modulus)
        alone = single_atom(value)
        inner = None if alone is None else self.described[alone]
        if isinstance(inner, tuple) and inner[0] == "%" and inner[3] == key(modulus):
            return value
        if ring.bits and (not number or number > type_.max or int(number) & (int(number) - 1)):
            return self.opaque("%", type_, key(value), key(modulus))  # 2^width is no multiple of the modulus
        for atom in {atom for monomial in value for atom, _ in monomial}:
            description = self.described[atom]
            if isinstance(description, tuple) and description[0] == "%" and description[3] == key(modulus):
                value = ring.substitute(value, atom, dict(description[2]))
        if number:
            size = abs(int(number))
            value = {monomial: rest for monomial, c in value.items() if (rest := int(c) % size)}
            left = constant_value(value)
            if left is not None:
                return ring.constant(left)
        return self.opaque("%", type_, key(value), key(modulus))

    def quotient(self, type_: Type, value: Polynomial, divisor: Polynomial, state: State) -> Polynomial:
        """value // divisor among unbounded integers, where it rounds down if the divisor is above zero.

        (w // m + r) // n = (w + m*r) // (m*n) then, and multiples of the divisor come out.
        """
        ring, number = Ring(), constant_value(divisor)
        if number in (1, -1):
            return ring.scale(value, number)
        if number is not None and number < 0:
            return ring.scale(self.quotient(type_, value, ring.scale(divisor, -1), state), -1)
        if not self.is_above_zero(type_, divisor, state):
            return self.opaque("//", type_, key(value), key(divisor))
        value = self.with_quotients(type_, value, number, state)
        for monomial, sign in value.items():
            description = self.described[monomial[0][0]] if len(monomial) == 1 and monomial[0][1] == 1 else None
            if sign not in (1, -1) or not isinstance(description, tuple) or description[0] != "//":
                continue
            inner, size = dict(description[2]), dict(description[3])
            if self.is_above_zero(type_, size, state):
                if sign == -1:  # -(w // m) = (m - 1 - w) // m
                    inner = ring.add(ring.add(size, ring.constant(1), -1), inner, -1)
                rest = {m: c for m, c in value.items() if m != monomial}
                total = ring.add(inner, ring.multiply(size, rest))
                return self.quotient(type_, total, ring.multiply(size, divisor), state)
        whole: Polynomial = {}
        if len(divisor) == 1:
            ((unit, times),) = divisor.items()
            inverse = tuple((atom, -power) for atom, power in unit)
            for monomial, coefficient in value.items():
                quotient = product(monomial, inverse)
                if coefficient // times and all(power > 0 for _, power in quotient):
                    whole[quotient] = coefficient // times
        left = ring.add(value, ring.multiply(whole, divisor), -1)
        return ring.add(whole, self.opaque("//", type_, key(left), key(divisor))) if left else whole

    def with_quotients(self, type_: Type, value: Polynomial, divisor: Number | None, state: State) -> Polynomial:
        """`value` with w - m*(w // m) for each w % m of which m is a multiple of the divisor, so that it comes out."""
        ring = Ring()
        for monomial, coefficient in list(value.items()) if divisor else ():
            description = self.described[monomial[0][0]] if len(monomial) == 1 and monomial[0][1] == 1 else None
            if not isinstance(description, tuple) or description[0] != "%":
                continue
            inner, modulus = dict(description[2]), dict(description[3])
            number = constant_value(modulus)
            if number and number > 0 and int(number) % int(divisor or 1) == 0:
                rounded = ring.multiply(modulus, self.quotient(type_, inner, modulus, state))
                value = ring.add(value, ring.add(inner, rounded, -1), coefficient)
                value = ring.add(value, {monomial: 1}, -coefficient)
        return value

    def is_above_zero(self, type_: Type, value: Polynomial, state: State) -> bool:
        """Whether that is known on this branch, without a split: of a product, by its factors."""
        if len(value) != 1:
            return False
        ((monomial, coefficient),) = value.items()
        if coefficient <= 0:
            return False
        for atom, _ in monomial:
            order, low, high = self.place(type_, {}, {((atom, 1),): 1}, state)
            if order.path(low, high) != "strict":
                return False
        return True

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
            if op == "&" and value is not None and 0 < value < type_.max and not int(value) & (int(value) + 1):
                return self.remainder(type_, other, ring.constant(int(value) + 1), ring)  # the low bits
        found = combined(op, *(self.bit_sum(type_, arg, ring) for arg in args)) if ring.bits else None
        if found is None:
            return self.opaque(op, type_, frozenset(map(key, args)))
        total: Polynomial = {}
        for words, times in found.items():
            total = ring.add(total, self.conjunction(type_, words, ring), times)
        self.bit_sums[type_, key(total)] = found
        return total

    def conjunction(self, type_: Type, words: frozenset[Key], ring: Ring) -> Polynomial:
        """The bits that all the words have."""
        if len(words) > 1:
            return self.opaque("&", type_, words)
        return dict(*words) if words else ring.constant(-1)

    def bit_sum(self, type_: Type, value: Polynomial, ring: Ring) -> BitSum:
        """A word as a sum of conjunctions of the words that it was made of, or of itself."""
        known = self.bit_sums.get((type_, key(value)))
        if known is None:
            known = {frozenset((key(value),)): 1}
            if constant_value(value) == ring.reduce(-1):
                known = {frozenset(): 1}
        return known

    def divide(self, a: Polynomial, b: Polynomial, ring: Ring, state: State, type_: Type) -> Polynomial:
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

    def is_not_zero(self, type_: Type, value: Polynomial, state: State) -> bool:
        """Whether that is known on this branch, without a split."""
        if functions.is_positive(self, value) or functions.is_logarithm_of_number(self, value):
            return True
        for expr in self.nonzero:
            if expr.type.is_float and expr not in self.asking:  # one that divides by itself says nothing of itself
                self.asking.add(expr)
                try:
                    if key(self.number(expr, state)) == key(value):
                        return True
                finally:
                    self.asking.remove(expr)
        order, low, high = self.place(type_, value, {}, state)
        return "strict" in (order.path(low, high), order.path(high, low))

    def unknown(self, expr: Call, state: State) -> SymbolicValue:
        """A function of which only congruence is known: one atom for equal arguments."""
        parts: list[Hashable] = []
        for arg in expr.args:
            if arg.type.is_bool:
                parts.append(self.condition(arg, state))
                continue
            value = self.number(arg, state)
            if self.infinite and self.meets_infinity(value):
                raise Unsupported
            parts.append(key(value))
        if expr.type.is_bool:
            return self.boolean(("unknown", expr.name, *parts), state)
        return self.opaque("unknown", expr.name, expr.type, *parts)

    def call(self, expr: Call, state: State) -> Polynomial:
        if expr.kind != "intrinsic":
            raise Unsupported
        args = [self.number(arg, state) for arg in expr.args]
        if self.infinite and any(f in self.infinite for arg in args for m in arg for f, _ in m):
            raise Unsupported
        known = INTRINSICS.get(expr.name)
        if expr.name == "popcount" and self.meaning is Meaning.WRAP:
            return self.popcount(expr, args[0])
        if known is not None and known.takes == "integer":
            return self.opaque("call", expr.name, expr.type, *map(key, args))
        return functions.call(self, expr.name, expr.type, args, state)

    def popcount(self, expr: Call, word: Polynomial) -> Polynomial:
        """Bits are counted in each conjunction of a sum of them alone: those of x | y are those of x and y less those
        of both."""
        type_, ring = expr.args[0].type, self.ring(expr.type)
        value = constant_value(word)
        if value is not None:
            return ring.constant((int(value) % (1 << type_.bits)).bit_count())
        total: Polynomial = {}
        for words, times in self.bit_sum(type_, word, self.ring(type_)).items():
            part = key(self.conjunction(type_, words, self.ring(type_)))
            counted = self.opaque("call", expr.name, expr.type, part) if words else ring.constant(type_.bits)
            total = ring.add(total, counted, times)
        return total

    def cast(self, expr: Op, state: State) -> SymbolicValue:
        old, new = expr.args[0].type, expr.type
        if old.is_bool:
            return self.ring(new).constant(1) if self.condition(expr.args[0], state) else {}
        value = self.number(expr.args[0], state)
        if new.is_bool:
            return not self.compare("==", old, value, {}, state)
        if old.is_float and new.is_float:
            return value
        if self.infinite and any(f in self.infinite for m in value for f, _ in m):
            raise Unsupported
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
