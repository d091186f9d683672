"""Products as values of a function of which some laws are known, so that what is left to the solver is linear.

Bits that are multiplied, and polynomials over the integers, are what solvers are slowest at. Most claims about small
operators need little of them: that 0 and 1 are what they are, that factors may be regrouped, that products distribute,
and for unbounded integers and reals the signs, the sizes and the order of products. These laws are stated of the
products at hand (incremental linearisation, Cimatti et al. 2018). Every law is true of products, so what has no model
under the laws has none; a model says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from rfactor.ir.expr import Call, Const, Expr, Op, apply, conjunction, rewrite, select, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type

_MOST_PRODUCTS = 40
"""Products of which laws are stated."""
_MOST_ORDERED = 120
"""Pairs of products with a common factor that are put in order."""
_MOST_FACTORS = 5
"""Of a product that is taken apart."""


def without_products(conditions: Sequence[Expr], meaning: Meaning, *, spread: bool) -> tuple[Expr, ...] | None:
    """The boolean `conditions` with an opaque term for each product of two that are no literals, and its laws.

    With `spread`, also that a product with a choice is the choice of the products, which makes many more terms.
    What satisfies the conditions satisfies the result. None where there is no such product.
    """
    if not any(_multiplies(node) for condition in conditions for node in walk(condition)):
        return None
    products = _Products(meaning, spread)
    images = [products.image(condition) for condition in conditions]
    return (*images, *products.laws())


def _multiplies(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.op == "*" and not any(isinstance(arg, Const) for arg in expr.args)


class _Products:
    """The products of one query."""

    def __init__(self, meaning: Meaning, spread: bool) -> None:
        self.meaning, self.spread = meaning, spread
        self.images: dict[Expr, Expr] = {}
        self.numbers: dict[Expr, int] = {}
        """Factors in the order in which they were met: that in which products are written."""
        self.factors: dict[Expr, tuple[Expr, ...]] = {}
        self.splits: list[tuple[Expr, Expr, Expr]] = []
        """(product, one part, the other part)"""

    def image(self, expr: Expr) -> Expr:
        """`expr` with an opaque term for each product."""
        return rewrite(expr, self.images, self.opened)

    def opened(self, expr: Expr) -> Expr:
        if isinstance(expr, Op) and expr.op == "*" and not expr.type.is_bool:
            return self.product(expr.type, expr.args)
        return expr

    def product(self, type_: Type, values: Sequence[Expr]) -> Expr:
        """The product of images as an image: literals stay in front."""
        literals: list[Const] = []
        factors: list[Expr] = []
        pending = list(values)
        while pending:
            value = pending.pop()
            if isinstance(value, Op) and value.op == "*":
                pending.extend(value.args)
            elif isinstance(value, Const):
                literals.append(value)
            else:
                factors.extend(self.factors.get(value, (value,)))
        for factor in factors:
            self.numbers.setdefault(factor, len(self.numbers))
        result = self.term(type_, tuple(sorted(factors, key=self.numbers.__getitem__))) if factors else literals.pop()
        for literal in literals:
            result = apply("*", literal, result)
        return result

    def term(self, type_: Type, factors: tuple[Expr, ...]) -> Expr:
        """The opaque term of a product of factors in their order."""
        if len(factors) == 1:
            return factors[0]
        term = self.opaque(type_, self.term(type_, factors[:-1]), factors[-1])
        self.factors.setdefault(term, factors)
        return term

    def opaque(self, type_: Type, one: Expr, other: Expr) -> Expr:
        return Call(type_, f"product of {type_.name}", (one, other), "intrinsic")

    def laws(self) -> Iterator[Expr]:
        """Of all products, and of those that the laws themselves speak of."""
        done: set[Expr] = set()
        while len(done) < _MOST_PRODUCTS:
            term = next((t for t in self.factors if t not in done), None)
            if term is None:
                break
            done.add(term)
            if self.spread:
                yield from self.distributed(term)
            for one, other in self.parts(term):
                self.splits.append((term, one, other))
                yield from self.equations(term, one, other)
                if self.is_ordered(term.type):
                    yield from _sizes(term, one, other)
                    yield from _sizes(term, other, one)
        yield from self.ordered()

    def is_ordered(self, type_: Type) -> bool:
        return type_.is_float or self.meaning is Meaning.MATH

    def parts(self, term: Expr) -> Iterator[tuple[Expr, Expr]]:
        """The ways to part the factors in two."""
        factors = self.factors[term]
        if len(factors) > _MOST_FACTORS:
            return
        seen = set()
        for size in range(1, len(factors)):
            for chosen in combinations(range(1, len(factors)), size):
                one = tuple(f for i, f in zip(range(len(factors)), factors, strict=True) if i not in chosen)
                other = tuple(factors[i] for i in chosen)
                if (one, other) not in seen:
                    seen.add((one, other))
                    yield self.term(term.type, one), self.term(term.type, other)

    def equations(self, term: Expr, one: Expr, other: Expr) -> Iterator[Expr]:
        """Products commute and associate; 0 and 1."""
        zero, unit = Const(term.type, 0), Const(term.type, 1)
        for a, b in dict.fromkeys(((one, other), (other, one))):
            again = self.opaque(term.type, a, b)
            if again != term:
                yield apply("==", term, again)
            yield _implies(apply("==", term, zero), apply("==", a, zero))
            yield _implies(apply("==", term, b), apply("==", a, unit))

    def distributed(self, term: Expr) -> Iterator[Expr]:
        """The product with a choice is the choice of the products."""
        factors = self.factors[term]
        index = next((i for i in range(len(factors)) if _is_choice(factors[i])), None)
        if index is None:
            return
        choice = factors[index]
        rest = factors[:index] + factors[index + 1 :]
        assert isinstance(choice, Op)
        if choice.op == "select":
            condition, one, other = choice.args
        else:
            one, other = choice.args
            condition = apply("<" if choice.op == "min" else ">", one, other)
        yield apply(
            "==",
            term,
            select(condition, self.product(term.type, (one, *rest)), self.product(term.type, (other, *rest))),
        )

    def ordered(self) -> Iterator[Expr]:
        """Products with a common factor are in the order of what it multiplies, or in the opposite one."""
        by_factor: dict[Expr, dict[Expr, Expr]] = {}
        for term, one, other in self.splits:
            if self.is_ordered(term.type):
                by_factor.setdefault(one, {})[other] = term
                by_factor.setdefault(other, {})[one] = term
        left = _MOST_ORDERED
        for factor, multiples in by_factor.items():
            for (a, least), (b, most) in combinations(multiples.items(), 2):
                if left == 0:
                    return
                left -= 1
                for low, high, less, more in ((a, b, least, most), (b, a, most, least)):
                    yield from _order(factor, low, high, less, more)


def _order(factor: Expr, low: Expr, high: Expr, less: Expr, more: Expr) -> Iterator[Expr]:
    """Of `less` = factor * low and `more` = factor * high, where low < high."""
    zero, below = Const(factor.type, 0), apply("<", low, high)
    if factor.type.is_float:
        yield _implies(apply("<", less, more), apply("<", zero, factor), below)
        yield _implies(apply("<", more, less), apply("<", factor, zero), below)
    else:  # they differ by 1 at least
        yield _implies(apply("<=", apply("+", less, factor), more), apply("<", zero, factor), below)
        yield _implies(apply("<=", more, apply("+", less, factor)), apply("<", factor, zero), below)


_TANGENTS = (-1, 0, 1, 2)
"""Between two neighbours no integer lies; 0 and 1 are where products change direction."""


def _sizes(term: Expr, factor: Expr, other: Expr) -> Iterator[Expr]:
    """(factor - c) * other has the sign that its factors give it, for small c; and only 0 makes a product 0."""
    zero = Const(term.type, 0)
    signs = [(apply("<=", zero, other), True), (apply("<=", other, zero), False)]
    for c in _TANGENTS:
        bound, multiple = _literal(term.type, c), _multiple(c, other)
        for side, above in ((apply("<=", bound, factor), True), (apply("<=", factor, bound), False)):
            for sign, positive in signs:
                low, high = (multiple, term) if above == positive else (term, multiple)
                yield _implies(apply("<=", low, high), side, sign)
    yield _implies(apply("!=", term, zero), apply("!=", factor, zero), apply("!=", other, zero))


def _literal(type_: Type, value: int) -> Expr:
    """`value`, which an unsigned type has no literal of where it is negative."""
    return Const(type_, value) if value >= 0 else apply("-", Const(type_, 0), Const(type_, -value))


def _multiple(factor: int, value: Expr) -> Expr:
    """A small multiple."""
    zero = Const(value.type, 0)
    if factor < 0:
        return apply("-", zero, _multiple(-factor, value))
    return apply("*", Const(value.type, factor), value) if factor > 1 else value if factor else zero


def _is_choice(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.op in ("select", "min", "max")


def _implies(conclusion: Expr, *premises: Expr) -> Expr:
    return apply("or", apply("not", conjunction(*premises)), conclusion)


__all__ = ["without_products"]
