"""What proofs by cases know of exp, log, sqrt and pow over the reals, and of quotients.

`exp` turns sums into products of atoms that are positive; `log` gives them back, with the least exponential of its
argument taken out, so that log(exp(a) + exp(b)) and a + log(1 + exp(b - a)) are one. `sin` and `cos` of sums are those
of the terms, multiplied. A root squared is its radicand where that is known not to be negative, an inverse times its
divisor is 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any, Protocol

from rfactor.ir import fused
from rfactor.ir.types import Type
from rfactor.prover.polynomial import ONE, Key, Monomial, Number, Polynomial, Ring, constant_value, key, product

REALS = Ring()
_TERMS = 6
"""Most terms of a sum that is turned by, as each doubles the products, or of which all signs are looked at."""
Base = Number | None
"""What is raised to a power: None for e."""


class Session(Protocol):
    """The proof by cases that asks."""

    described: list[Hashable]
    roots: dict[int, Polynomial]

    def atom(self, description: Hashable) -> int:
        """The atom of a description."""

    def less(self, type_: Type, a: Polynomial, b: Polynomial, state: Any) -> bool:
        """Whether a < b on this branch; splits where that is open."""


def call(session: Session, name: str, type_: Type, args: list[Polynomial], state: Any) -> Polynomial:
    """The value of a function of reals; an opaque atom where nothing is known of it."""
    if name == "exp":
        return exponential(session, type_, args[0], None, state)
    if name == "log":
        return logarithm(session, args[0])
    if name == "sqrt":
        return root(session, type_, args[0], state)
    if name in ("sin", "cos") and len(args[0]) <= _TERMS:
        sine, cosine = turned(session, args[0])
        return sine if name == "sin" else cosine
    if name == "pow":
        base, exponent = map(constant_value, args)
        if exponent is not None and exponent in range(9):
            power = REALS.constant(1)
            for _ in range(int(exponent)):
                power = squared_out(session, REALS.multiply(power, args[0]))
            return power
        if exponent == Fraction(1, 2):
            return root(session, type_, args[0], state)
        if base is not None and base > 0:
            of_base = _logarithm_of_number(session, Fraction(base))
            return exponential(session, type_, REALS.multiply(args[1], of_base), None, state)
    if name == fused.NAME:
        return REALS.add(REALS.multiply(args[0], args[1]), args[2])
    if name == "floor":
        return floor(session, args[0])
    if name == "ceil":
        return REALS.scale(floor(session, REALS.scale(args[0], -1)), -1)
    return _opaque(session, "call", name, *map(key, args))


def _opaque(session: Session, *description: Hashable) -> Polynomial:
    return {((session.atom(description), 1),): 1}


def turned(session: Session, value: Polynomial) -> tuple[Polynomial, Polynomial]:
    """sin and cos of a sum by those of its terms; of one that is subtracted, by those of the term."""
    sine, cosine = REALS.constant(0), REALS.constant(1)
    for monomial, coefficient in sorted(value.items()):
        of_term = key({monomial: coefficient if coefficient > 0 else -coefficient})
        one, other = (_opaque(session, "call", name, of_term) for name in ("sin", "cos"))
        one = REALS.scale(one, 1 if coefficient > 0 else -1)
        sine, cosine = (
            REALS.add(REALS.multiply(sine, other), REALS.multiply(cosine, one)),
            REALS.add(REALS.multiply(cosine, other), REALS.multiply(sine, one), -1),
        )
    return sine, cosine


def floor(session: Session, value: Polynomial) -> Polynomial:
    """The value rounded down; what is an integer comes out."""
    whole: Polynomial = {}
    for monomial, coefficient in value.items():
        if monomial == ONE:
            whole[ONE] = Fraction(math.floor(coefficient))
        elif Fraction(coefficient).denominator == 1 and all(_is_integer(session, *factor) for factor in monomial):
            whole[monomial] = coefficient
    rest = REALS.add(value, whole, -1)
    return REALS.add(whole, _opaque(session, "call", "floor", key(rest))) if rest else REALS.add({}, whole)


def _is_integer(session: Session, atom: int, power: int) -> bool:
    """Whether a power of an atom is one: of what is rounded, or cast from an integer."""
    description = session.described[atom]
    if power < 1 or not isinstance(description, tuple):
        return False
    return description[:2] == ("call", "floor") or (description[0] == "cast" and description[1].is_int)


def exponential(session: Session, type_: Type, value: Polynomial, base: Base, state: Any) -> Polynomial:
    """exp of a sum as the product of the exponentials of its terms, which are positive."""
    powers: dict[int, int] = {}
    factor = REALS.constant(1)
    for monomial, coefficient in value.items():
        fraction = Fraction(coefficient)
        inner = _logarithm_in(session, monomial) if base is None else None
        whole = fraction.denominator == 1 and fraction > 0
        if inner is not None and whole and (is_positive(session, inner) or session.less(type_, {}, inner, state)):
            for _ in range(int(fraction)):
                factor = REALS.multiply(factor, inner)
            continue
        exponent: tuple[Monomial, int] = (monomial, fraction.denominator)
        powers[session.atom(("exp", base, exponent))] = fraction.numerator
    return REALS.multiply(factor, {tuple(sorted(powers.items())): 1})


def _logarithm_in(session: Session, monomial: Monomial) -> Polynomial | None:
    """The argument, if the monomial is one logarithm."""
    if len(monomial) != 1 or monomial[0][1] != 1:
        return None
    description = session.described[monomial[0][0]]
    return dict(description[1]) if isinstance(description, tuple) and description[0] == "log" else None


def _is_exponential(session: Session, atom: int) -> bool:
    description = session.described[atom]
    return isinstance(description, tuple) and description[0] == "exp"


def speaks_of_exponentials(session: Session, value: Polynomial) -> bool:
    """Whether a factor of a term is one."""
    return any(_is_exponential(session, f) for monomial in value for f, _ in monomial)


def logarithm(session: Session, value: Polynomial) -> Polynomial:
    """log, with the least exponential among the terms taken out: log(E * P) = log E + log P, as E is positive."""
    if not value:
        return _opaque(session, "log", key(value))
    value, outside = _without_quotients(session, value)
    parts = [{f: p for f, p in monomial if _is_exponential(session, f)} for monomial in value]
    atoms = sorted({f for part in parts for f in part})
    least = min(tuple(part.get(f, 0) for f in atoms) for part in parts)
    for atom, power in zip(atoms, least, strict=True):
        description = session.described[atom]
        assert isinstance(description, tuple)
        _, base, (monomial, denominator) = description
        if power and base is None:
            outside = REALS.add(outside, {monomial: Fraction(power, denominator)})
        elif power:
            constant = _logarithm_of_number(session, Fraction(base))
            outside = REALS.add(outside, REALS.multiply(constant, {monomial: Fraction(power, denominator)}))
    shift: Monomial = tuple((f, -p) for f, p in zip(atoms, least, strict=True) if p)
    rest = {product(monomial, shift): coefficient for monomial, coefficient in value.items()}
    first = rest.get(ONE, 0)
    if first > 0 and first != 1 and all(_is_exponential(session, f) for monomial in rest for f, _ in monomial):
        outside = REALS.add(outside, _logarithm_of_number(session, Fraction(first)))
        rest = REALS.scale(rest, 1 / Fraction(first))
    return outside if constant_value(rest) == 1 else REALS.add(outside, _opaque(session, "log", key(rest)))


def _logarithm_of_number(session: Session, number: Fraction) -> Polynomial:
    """By small prime factors, so that log 4 is 2 log 2."""
    total: Polynomial = {}
    for part, sign in ((number.numerator, 1), (number.denominator, -1)):
        for prime in (2, 3, 5, 7):
            while part % prime == 0:
                part //= prime
                total = REALS.add(total, _opaque(session, "log", key(REALS.constant(prime))), sign)
        if part != 1:
            total = REALS.add(total, _opaque(session, "log", key(REALS.constant(part))), sign)
    return total


def is_logarithm_of_number(session: Session, value: Polynomial) -> bool:
    """Whether the value is the logarithm of a number but 1: a sum of those of numbers above 1, or its negative."""

    def above_zero(monomial: Monomial) -> bool:
        inner = _logarithm_in(session, monomial)
        number = None if inner is None else constant_value(inner)
        return number is not None and number > 1

    return bool(value) and all(map(above_zero, value)) and len({c > 0 for c in value.values()}) == 1


def _without_quotients(session: Session, value: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`value` times sums that it is divided by (exponentials of minus their logarithms), and minus those logarithms."""
    outside: Polynomial = {}
    for factor in sorted({f for monomial in value for f, _ in monomial if _is_exponential(session, f)}):
        description = session.described[factor]
        assert isinstance(description, tuple)
        _, base, (monomial, denominator) = description
        total = _logarithm_in(session, monomial) if base is None and denominator == 1 else None
        if total is None or not is_positive(session, total):
            continue
        least = min(dict(monomial).get(factor, 0) for monomial in value)
        if least < 0:
            value = REALS.multiply(value, {((factor, -least),): 1})
            outside = REALS.add(outside, {monomial: least})
        value = REALS.substitute(value, factor, total)
    return value, outside


def root(session: Session, type_: Type, value: Polynomial, state: Any) -> Polynomial:
    """sqrt: the absolute value of what was squared, or an atom whose square is the argument."""
    if not value:
        return {}
    plain = _square_root(value)
    if plain is not None:
        negative = not is_positive(session, plain) and session.less(type_, plain, {}, state)
        return REALS.scale(plain, -1) if negative else plain
    known = is_nonnegative(session, value) or _is_sum_of_such(session, type_, value, state)
    if not known and session.less(type_, value, {}, state):
        return _opaque(session, "root of a negative", key(value))
    atom = session.atom(("sqrt", key(value)))
    session.roots[atom] = value
    return {((atom, 1),): 1}


def _is_sum_of_such(session: Session, type_: Type, value: Polynomial, state: Any) -> bool:
    """Whether the value is a sum of products of which the factors are not below zero on this branch."""
    if len(value) > _TERMS or any(coefficient < 0 for coefficient in value.values()):
        return False
    single = {f for monomial in value for f, power in monomial if power % 2 and f not in session.roots}
    if all(len(monomial) < 2 for monomial in value):
        return False
    return not any(session.less(type_, {((f, 1),): 1}, {}, state) for f in sorted(single))


def _square_root(value: Polynomial) -> Polynomial | None:
    """Of one term that is a square; of more, none is looked for."""
    if len(value) != 1:
        return None
    ((monomial, coefficient),) = value.items()
    fraction = Fraction(coefficient)
    if fraction < 0 or any(power % 2 for _, power in monomial):
        return None
    up, down = math.isqrt(fraction.numerator), math.isqrt(fraction.denominator)
    if up * up != fraction.numerator or down * down != fraction.denominator:
        return None
    return {tuple((f, power // 2) for f, power in monomial): Fraction(up, down)}


def squared_out(session: Session, value: Polynomial) -> Polynomial:
    """`value` with squares of roots replaced by what stands under the root."""
    while session.roots:
        square = next(
            ((monomial, f, power) for monomial in value for f, power in monomial if f in session.roots and power >= 2),
            None,
        )
        if square is None:
            return value
        monomial, atom, power = square
        rest = dict(value)
        coefficient = rest.pop(monomial)
        others: Monomial = tuple((f, p - 2 if f == atom else p) for f, p in monomial if f != atom or power > 2)
        value = REALS.add(rest, REALS.multiply({others: coefficient}, session.roots[atom]))
    return value


def is_positive(session: Session, value: Polynomial) -> bool:
    """Whether the terms show that the value is above zero."""
    return is_nonnegative(session, value) and any(
        all(_is_exponential(session, f) for f, _ in monomial) for monomial in value
    )


def is_nonnegative(session: Session, value: Polynomial) -> bool:
    """Whether the terms show that the value is not below zero."""
    return all(
        coefficient > 0
        and all(power % 2 == 0 or f in session.roots or _is_exponential(session, f) for f, power in monomial)
        for monomial, coefficient in value.items()
    )


def cleared(session: Session, value: Polynomial) -> Polynomial:
    """A multiple of `value` by something that is not zero, without inverses of sums, also as exp(-log(…))."""
    for _ in range(12):
        inverses = {
            f
            for monomial in value
            for f, _ in monomial
            if isinstance(session.described[f], tuple) and session.described[f][0] == "inverse"  # type: ignore[index]
        }
        if not inverses:
            multiple = _without_quotients(session, value)[0]
            if multiple == value:
                return value
            value = squared_out(session, multiple)
            continue
        atom = max(inverses)  # what it divides by may hold older ones
        divisor: Polynomial = dict(session.described[atom][1])  # type: ignore[index]
        by_power: dict[int, Polynomial] = {}
        for monomial, coefficient in value.items():
            rest: Monomial = tuple((f, p) for f, p in monomial if f != atom)
            by_power.setdefault(dict(monomial).get(atom, 0), {})[rest] = coefficient
        total: Polynomial = {}
        for power in range(min(by_power), max(by_power) + 1):  # by Horner's rule
            sums = dict(by_power.get(power, {}))
            for (left, p), (right, q) in itertools.product(total.items(), divisor.items()):
                monomial = product(left, right)
                sums[monomial] = sums.get(monomial, 0) + p * q
            total = {monomial: coefficient for monomial, coefficient in sums.items() if coefficient}
        value = squared_out(session, total)
    return value


def replaced(session: Session, type_: Type, value: Polynomial, atom: int, image: Polynomial, state: Any) -> Polynomial:
    """A polynomial over the reals with an atom replaced, inside exponentials and logarithms too."""
    for factor in sorted({f for monomial in value for f, _ in monomial}):
        description = session.described[factor]
        if not isinstance(description, tuple) or atom not in _inside(session, factor):
            continue
        if description[0] == "exp":
            _, base, (monomial, denominator) = description
            inner = replaced(session, type_, {monomial: Fraction(1, denominator)}, atom, image, state)
            value = _power_replaced(value, factor, exponential(session, type_, inner, base, state))
        elif description[0] == "log":
            whole, taken = _multiplied_out(session, dict(description[1]))
            inner = replaced(session, type_, whole, atom, image, state)
            outside = replaced(session, type_, taken, atom, image, state)
            value = REALS.substitute(value, factor, REALS.add(logarithm(session, inner), outside, -1))
    return REALS.substitute(value, atom, image)


def _multiplied_out(session: Session, value: Polynomial) -> tuple[Polynomial, Polynomial]:
    """`value` times exponentials so that none stands in a negative power, and the logarithm of those."""
    taken: Polynomial = {}
    for factor in sorted({f for monomial in value for f, _ in monomial if _is_exponential(session, f)}):
        least = min(dict(monomial).get(factor, 0) for monomial in value)
        description = session.described[factor]
        if least < 0 and isinstance(description, tuple) and description[1] is None:
            value = REALS.multiply(value, {((factor, -least),): 1})
            taken = REALS.add(taken, {description[2][0]: Fraction(-least, description[2][1])})
    return value, taken


def _power_replaced(value: Polynomial, atom: int, image: Polynomial) -> Polynomial:
    """`value` with an atom replaced; by one term in negative powers too."""
    if len(image) != 1:
        return REALS.substitute(value, atom, image)
    ((new, coefficient),) = image.items()
    result: Polynomial = {}
    for monomial, number in value.items():
        power = dict(monomial).get(atom, 0)
        rest: Monomial = tuple((f, p) for f, p in monomial if f != atom)
        scaled = tuple((f, p * power) for f, p in new) if power else ONE
        result = REALS.add(result, {product(rest, scaled): number * Fraction(coefficient) ** power})
    return result


def spoken_of(session: Session, value: Polynomial) -> set[int]:
    """The atoms of a polynomial and those inside its exponentials and logarithms."""
    found = {f for monomial in value for f, _ in monomial}
    return found.union(*(_inside(session, factor) for factor in found))


def _inside(session: Session, factor: int) -> set[int]:
    """The atoms that an atom is made of, where it can be made again."""
    description = session.described[factor]
    if isinstance(description, tuple) and description[0] == "exp":
        return spoken_of(session, {description[2][0]: 1})
    if isinstance(description, tuple) and description[0] == "log":
        return spoken_of(session, dict(description[1]))
    return set()


__all__ = ["Key", "call", "cleared", "is_positive", "replaced", "spoken_of", "squared_out"]


def signs_of_logarithms(session: Session) -> list[tuple[Polynomial, Polynomial, bool]]:
    """That the logarithm of a sum of exponentials is above each exponent, and what those of literals are."""
    facts: list[tuple[Polynomial, Polynomial, bool]] = []
    for atom, description in zip(range(len(session.described)), session.described, strict=True):
        if not isinstance(description, tuple) or description[0] != "log":
            continue
        inner: Polynomial = dict(description[1])
        own: Polynomial = {((atom, 1),): 1}
        if not is_positive(session, inner):
            continue
        if constant_value(inner) is not None:
            facts.append(({}, own, True) if inner[ONE] > 1 else (own, {}, inner[ONE] < 1))
            continue
        for monomial, coefficient in inner.items():
            exponent = _exponent(session, monomial)
            if coefficient >= 1 and exponent is not None:
                facts.append((exponent, own, len(inner) > 1))
    return facts


def _exponent(session: Session, monomial: Monomial) -> Polynomial | None:
    """The logarithm of a product of exponentials."""
    total: Polynomial = {}
    for factor, power in monomial:
        description = session.described[factor]
        if not isinstance(description, tuple) or description[0] != "exp" or description[1] is not None:
            return None
        total = REALS.add(total, {description[2][0]: Fraction(power, description[2][1])})
    return total
