"""Coordinates in affine form: integer combinations of terms that no further rule takes apart.

Bounds, loop extents and flat indices are sums such as `xo*16 + xi + f.min.0`. Keeping them in this form is what makes
`x.max - x.min + 1` a constant and a vector index a ramp. The rules here hold over the integers: they are for
coordinates, whose arithmetic does not overflow, never for the values that a user computes. Data may stand in an index
too, and their arithmetic wraps: `tidy` leaves quotients, minima and maxima of data as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache, reduce
from itertools import permutations

from rfactor.ir.expr import Call, Const, Expr, Op, rebuild, walk
from rfactor.ir.loopnest import Load
from rfactor.ir.types import I32, I64, Type

Terms = tuple[tuple[Expr, int], ...]


@lru_cache(maxsize=1 << 15)
def affine(expr: Expr) -> tuple[Terms, int]:
    """`expr` (i32 or i64, scalar) as `sum(coefficient * term) + constant`, terms in order of first occurrence."""
    terms: dict[Expr, int] = {}
    constant = _collect(expr, 1, terms)
    return tuple((term, factor) for term, factor in terms.items() if factor), constant


def _collect(expr: Expr, factor: int, terms: dict[Expr, int]) -> int:
    if isinstance(expr, Const):
        return int(expr.value) * factor
    if isinstance(expr, Op):
        args = expr.args
        if expr.op == "+":
            return _collect(args[0], factor, terms) + _collect(args[1], factor, terms)
        if expr.op == "-":
            return _collect(args[0], factor, terms) + _collect(args[1], -factor, terms)
        if expr.op == "neg":
            return _collect(args[0], -factor, terms)
        if expr.op == "*":
            for a, b in (args, args[::-1]):
                if isinstance(b, Const):
                    return _collect(a, factor * int(b.value), terms)
    terms[expr] = terms.get(expr, 0) + factor
    return 0


@lru_cache(maxsize=1 << 14)
def from_affine(terms: Terms, constant: int, type: Type = I32) -> Expr:
    """The expression of an affine form: terms in their order, subtracted ones after an added one."""
    result: Expr | None = None
    ordered = [t for t in terms if t[1] > 0] + [t for t in terms if t[1] < 0]
    if ordered and ordered[0][1] < 0 and constant:
        result, constant = _literal(type, constant), 0
    for term, factor in ordered:
        if result is None:
            result = _times(term, factor)
            continue
        result = Op(type, "+" if factor > 0 else "-", (result, _times(term, abs(factor))))
    if result is None:
        return _literal(type, constant)
    if constant:
        result = Op(type, "+" if constant > 0 else "-", (result, _literal(type, abs(constant))))
    return result


def _literal(type: Type, value: int) -> Expr:
    """A number; in parts, where the type does not hold it: a constant that wrapped would be another coordinate."""
    return Const(type, value) if _holds(type, value) else _times(Const(type, 1), value)


def _times(term: Expr, factor: int) -> Expr:
    """`term * factor`; in parts, `term*a*b + term*c`, where the type does not hold the factor."""
    if factor == 1:
        return term
    if _holds(term.type, factor):
        return Op(term.type, "*", (term, Const(term.type, factor)))
    part = 1 << (term.type.bits - 2)
    whole = Op(term.type, "*", (_times(term, factor // part), Const(term.type, part)))
    return Op(term.type, "+", (whole, _times(term, factor % part))) if factor % part else whole


def _holds(type: Type, value: int) -> bool:
    return int(type.min) <= value <= int(type.max)


def greatest(expr: Expr, depth: int = 8) -> int | None:
    """A constant that the coordinate `expr` never exceeds, found by taking minima, maxima and choices apart; None if
    none is."""
    return _limit(expr, True, depth)


def _limit(expr: Expr, upper: bool, depth: int) -> int | None:
    terms, constant = affine(expr)
    if not terms:
        return constant
    for term, factor in terms:
        if depth and isinstance(term, Op) and term.op == "select":
            one = _limit(_assumed(terms, constant, expr.type, term.args[0], 1), upper, depth - 1)
            if one is None:
                return None
            other = _limit(_assumed(terms, constant, expr.type, term.args[0], 2), upper, depth - 1)
            return None if other is None else (max if upper else min)(one, other)
        extreme = _choice(term) if depth and factor in (1, -1) else None
        if extreme is not None:
            op, arms = extreme
            rest = from_affine(tuple(t for t in terms if t[0] != term), constant, expr.type)
            join = add if factor == 1 else subtract
            limits = [_limit(join(rest, arm), upper, depth - 1) for arm in arms]
            known = [limit for limit in limits if limit is not None]
            # Both arms of the extreme that can be taken must be known, one arm of the other suffices.
            if (op == "max") == (upper == (factor == 1)):
                return (max if upper else min)(known) if len(known) == 2 else None
            return (min if upper else max)(known) if known else None
    return _quotients_apart(terms, constant, upper, depth) if depth else None


def _quotients_apart(terms: Terms, constant: int, upper: bool, depth: int) -> int | None:
    """The limit of a sum in which two quotients by one number are subtracted: `a//n - b//n` is at most `(a - b)/n`,
    rounded up."""
    for (one, factor), (other, opposite) in permutations(terms, 2):
        by = quotient_by(one)
        if by is None or factor < 0 or opposite != -factor or quotient_by(other) != by or reads(one) or reads(other):
            continue
        left = tuple(part for part in terms if part[0] not in (one, other))
        rest = _limit(from_affine(left, constant, one.type), upper, depth - 1)
        distance = _limit(subtract(one.children[0], other.children[0]), upper, depth - 1)
        if rest is not None and distance is not None:
            return rest + factor * (-(-distance // by) if upper else distance // by)
    return None


def quotient_by(term: Expr) -> int | None:
    """`n` of `x // n` for a constant above 0; None for anything else."""
    count = constant_value(term.args[1]) if isinstance(term, Op) and term.op == "//" else None
    return count if count is not None and count > 0 else None


def _assumed(terms: Terms, constant: int, type: Type, condition: Expr, arm: int) -> Expr:
    """The sum with argument `arm` of each choice by `condition` in its place."""
    chosen: dict[Expr, Expr] = {
        term: term.args[arm]
        for term, _ in terms
        if isinstance(term, Op) and term.op == "select" and term.args[0] == condition
    }
    return tidy(replace_terms(from_affine(terms, constant, type), chosen))


def _choice(term: Expr) -> tuple[str, tuple[Expr, Expr]] | None:
    """A term as the minimum or maximum of two: `min(a, b)`, and `(min(a, b) + c) // n` as `min((a + c) // n, …)`."""
    if not isinstance(term, Op):
        return None
    if term.op in ("min", "max"):
        return term.op, (term.args[0], term.args[1])
    count = quotient_by(term)
    if count is None:
        return None
    terms, constant = affine(term.args[0])
    for part, factor in terms:
        if factor == 1 and isinstance(part, Op) and part.op in ("min", "max"):
            rest = from_affine(tuple(t for t in terms if t[0] != part), constant, term.type)
            return part.op, (divide(add(rest, part.args[0]), count), divide(add(rest, part.args[1]), count))
    return None


def apart(expr: Expr) -> Expr:
    """A coordinate that `expr` never exceeds, in which the arms of two minima stand that `expr` takes apart.

    min(a, b) - min(c, d)   ->   max(a - c, b - d), the arms paired that have most in common; so of two maxima
    """
    terms, constant = affine(expr)
    for added, _ in (one for one in terms if one[1] == 1):
        for taken, _ in (one for one in terms if one[1] == -1):
            if isinstance(added, Op) and isinstance(taken, Op) and added.op == taken.op in ("min", "max"):
                (a, b), (c, d) = added.args, taken.args
                straight, crossed = ((subtract(a, c), subtract(b, d)), (subtract(a, d), subtract(b, c)))
                first, second = min(straight, crossed, key=lambda arms: sum(len(affine(one)[0]) for one in arms))
                rest = tuple(one for one in terms if one[0] not in (added, taken))
                return add(apart(from_affine(rest, constant, expr.type)), maximum(first, second))
    return expr


def integer(value: int) -> Const:
    """A coordinate literal."""
    return Const(I32, value)


def add(a: Expr, b: Expr) -> Expr:
    """`a + b`."""
    return _combined(a, b, 1)


def plus(a: Expr, number: int) -> Expr:
    """`a + number`, of a number that the type may not hold."""
    terms, constant = affine(a)
    return from_affine(terms, constant + number, a.type)


def subtract(a: Expr, b: Expr) -> Expr:
    """`a - b`."""
    difference = _combined(a, b, -1)
    terms, constant = affine(difference)
    if sum(isinstance(term, Op) and term.op in ("min", "max") for term, _ in terms) > 1:
        moved, by = _from_zero(terms)
        if not moved:
            return _literal(a.type, constant + by)
    return difference


@lru_cache(maxsize=1 << 15)
def _combined(a: Expr, b: Expr, sign: int) -> Expr:
    (terms_a, constant_a), (terms_b, constant_b) = affine(a), affine(b)
    if not terms_b and not constant_b:
        return a
    merged = dict(terms_a)
    for term, factor in terms_b:
        merged[term] = merged.get(term, 0) + sign * factor
    kept = tuple((term, factor) for term, factor in merged.items() if factor)
    return from_affine(kept, constant_a + sign * constant_b, a.type)


@lru_cache(maxsize=1 << 15)
def scale(a: Expr, factor: int) -> Expr:
    """`a * factor`."""
    terms, constant = affine(a)
    if not factor:
        return _literal(a.type, 0)
    return from_affine(tuple((term, own * factor) for term, own in terms), constant * factor, a.type)


def multiply(a: Expr, b: Expr) -> Expr:
    """`a * b`."""
    for one, other in ((a, b), (b, a)):
        value = constant_value(other)
        if value is not None:
            return scale(one, value)
    return Op(a.type, "*", (a, b))


def constant_value(expr: Expr) -> int | None:
    """The value of a coordinate that does not vary, or None."""
    terms, constant = affine(expr)
    return None if terms else constant


@lru_cache(maxsize=1 << 15)
def divide(a: Expr, divisor: int) -> Expr:
    """`a // divisor` for a positive divisor: rounded down."""
    if divisor == 1:
        return a
    terms, constant = affine(a)
    whole = tuple((term, factor // divisor) for term, factor in terms if factor % divisor == 0)
    rest = tuple((term, factor) for term, factor in terms if factor % divisor)
    if not rest:
        return from_affine(whole, constant // divisor, a.type)
    quotient = Op(a.type, "//", (dividend(a, divisor), _literal(a.type, divisor)))
    return add(from_affine(whole, constant // divisor, a.type), quotient) if whole or constant // divisor else quotient


def dividend(a: Expr, divisor: int) -> Expr:
    """What is left in `a // divisor` to be divided: neither multiples of the divisor nor a constant beyond it."""
    terms, constant = affine(a)
    return from_affine(tuple((term, factor) for term, factor in terms if factor % divisor), constant % divisor, a.type)


def divide_up(a: Expr, divisor: int) -> Expr:
    """`a / divisor` for a positive divisor, rounded up."""
    value = constant_value(a)
    if value is not None:
        return _literal(a.type, -(-value // divisor))
    return divide(add(a, _literal(a.type, divisor - 1)), divisor)


def minimum(a: Expr, b: Expr) -> Expr:
    """`min(a, b)`."""
    return _extreme("min", a, b)


def maximum(a: Expr, b: Expr) -> Expr:
    """`max(a, b)`."""
    return _extreme("max", a, b)


@lru_cache(maxsize=1 << 15)
def _extreme(op: str, a: Expr, b: Expr) -> Expr:
    """Of arms that differ by constants one stays, as it was: max(max(a, b), a + 1) = max(a + 1, b). So of two where one
    is never less than the other: max((x + 7)//8*8, x) = (x + 7)//8*8."""
    better = min if op == "min" else max
    best: dict[frozenset[tuple[Expr, int]], tuple[int, Terms, int]] = {}
    for terms, constant in (*_arms(op, a), *_arms(op, b)):
        moved, by = _from_zero(terms)
        arm = constant + by, terms, constant
        key = frozenset(moved)
        best[key] = better(best.get(key, arm), arm, key=lambda each: each[0])
    result: Expr | None = None
    for terms, constant in _undominated(op, [(terms, constant) for _, terms, constant in best.values()]):
        arm_ = from_affine(terms, constant, a.type)
        result = arm_ if result is None else Op(a.type, op, (result, arm_))
    assert result is not None
    return result


def _undominated(op: str, arms: list[tuple[Terms, int]]) -> list[tuple[Terms, int]]:
    """`arms` without those that another is never beyond."""
    if not any(_count(term) for terms, _ in arms for term, _ in terms):
        return arms
    kept: list[tuple[Terms, int]] = []
    for arm in arms:
        if any(_never_less(*((arm, other) if op == "min" else (other, arm))) for other in kept):
            continue
        kept = [other for other in kept if not _never_less(*((other, arm) if op == "min" else (arm, other)))]
        kept.append(arm)
    return kept


def _never_less(a: tuple[Terms, int], b: tuple[Terms, int]) -> bool:
    """Whether the sum `a` is at least `b` whatever their terms are, as n*(d//n) = d - d % n, where 0 <= d % n < n."""
    difference = dict(a[0])
    for term, factor in b[0]:
        difference[term] = difference.get(term, 0) - factor
    least, scale = a[1] - b[1], 1  # `scale` times the difference, which is an integer
    while True:
        divided = next((term for term, factor in difference.items() if factor and _count(term)), None)
        if divided is None:
            return least > -scale and not any(difference.values())
        assert isinstance(divided, Op)
        count, factor = _count(divided), difference.pop(divided)
        if factor % count:
            least, scale, factor = least * count, scale * count, factor * count
            difference = {term: own * count for term, own in difference.items()}
        times = factor // count
        terms, constant = affine(divided.args[0])
        for term, own in terms:
            difference[term] = difference.get(term, 0) + times * own
        least += times * constant - max(times, 0) * (count - 1)


def _count(term: Expr) -> int:
    """What a quotient is divided by, where that is a constant above 0; 0 where it is not, or `term` no quotient."""
    if not (isinstance(term, Op) and term.op == "//"):
        return 0
    return max(constant_value(term.args[1]) or 0, 0)


def _from_zero(terms: Terms) -> tuple[Terms, int]:
    """The same sum with its extremes moved so that their least constant is 0, and by how much in all.

    max(a + 1, b + 2) is max(a, b + 1) + 1. Equal extremes look equal so; they are compared so and not computed so, as
    what is moved might leave the type.
    """
    if not any(isinstance(term, Op) and term.op in ("min", "max") for term, _ in terms):
        return terms, 0
    merged: dict[Expr, int] = {}
    total = 0
    for term, factor in terms:
        moved, by = _at_zero(term)
        merged[moved] = merged.get(moved, 0) + factor
        total += factor * by
    return tuple((term, factor) for term, factor in merged.items() if factor), total


@lru_cache(maxsize=1 << 15)
def _at_zero(term: Expr) -> tuple[Expr, int]:
    if not (isinstance(term, Op) and term.op in ("min", "max")):
        return term, 0
    arms: dict[frozenset[tuple[Expr, int]], tuple[Terms, int]] = {}
    for terms, constant in _arms(term.op, term):
        moved, by = _from_zero(terms)
        known = arms.get(frozenset(moved))
        if known is None or (constant + by > known[1]) == (term.op == "max"):
            arms[frozenset(moved)] = moved, constant + by
    # Any order does that depends on the arms alone: nothing but comparisons see it.
    shift = 0 if frozenset() in arms else min(constant for _, constant in arms.values())
    ordered = sorted((from_affine(terms, constant - shift, term.type) for terms, constant in arms.values()), key=hash)
    return reduce(lambda a, b: Op(term.type, term.op, (a, b)), ordered), shift


def _arms(op: str, expr: Expr) -> Iterator[tuple[Terms, int]]:
    """What `expr` is the minimum or maximum of, in affine form."""
    terms, constant = affine(expr)
    if len(terms) == 1 and terms[0][1] == 1 and isinstance(terms[0][0], Op) and terms[0][0].op == op:
        for arg in terms[0][0].args:
            for inner, own in _arms(op, arg):
                yield inner, own + constant
    else:
        yield terms, constant


def tidy(expr: Expr) -> Expr:
    """The coordinate `expr` with its sums, products, quotients, minima and maxima in the forms above."""
    return _tidy(expr) if expr.type in (I32, I64) else expr


@lru_cache(maxsize=1 << 15)
def _tidy(expr: Expr) -> Expr:
    if not expr.children or isinstance(expr, Load):
        return expr
    if isinstance(expr, Op) and expr.type in (I32, I64):
        args = tuple(map(tidy, expr.args))
        if expr.op in ("+", "-", "neg"):
            return from_affine(*affine(Op(expr.type, expr.op, args)), expr.type)
        if expr.op == "*":
            return multiply(*args)
        if any(map(reads, args)):
            return rebuild(expr, args)
        if expr.op == "min":
            return minimum(*args)
        if expr.op == "max":
            return maximum(*args)
        if expr.op in ("//", "%") and isinstance(args[1], Const) and int(args[1].value) > 0:
            divisor = int(args[1].value)
            if expr.op == "//":
                return divide(args[0], divisor)
            value = constant_value(args[0])
            return Op(expr.type, "%", args) if value is None else _literal(expr.type, value % divisor)
        if expr.op == "cast" and isinstance(args[0], Const) and args[0].type.is_int:
            return Const(expr.type, expr.type.wrap(int(args[0].value)))
        return rebuild(expr, args)
    return rebuild(expr, tuple(map(tidy, expr.children)))


@lru_cache(maxsize=1 << 14)
def operands(expr: Expr) -> tuple[tuple[Expr, bool], ...]:
    """The sums that quotients, extremes, choices and comparisons inside `expr` are made of, as they are written, and
    whether other sums are computed in their place: `(x + 2)//3 - 1` for `(x - 1)//3`. Both are the same where neither
    wraps."""
    found: dict[Expr, bool] = {}
    for node in walk(expr):
        if isinstance(node, Op) and node.op not in _LINEAR and not reads(node):
            for arg in node.args:
                if arg.type == I32 and isinstance(arg, Op) and arg.op in (*_LINEAR, "*"):
                    found[arg] = found.get(arg, False) or _moves(node)
    return tuple(found.items())


_LINEAR = frozenset({"+", "-", "neg"})


def _moves(node: Op) -> bool:
    """Whether `tidy`, or a solver of guards, may move what is added in an operand out of `node`, or drop an operand."""
    if node.op in ("min", "max"):
        return tidy(node) != rebuild(node, tuple(map(tidy, node.args)))
    return node.op in ("//", "%") or node.type.is_bool


@lru_cache(maxsize=1 << 14)
def reads(expr: Expr) -> bool:
    """Whether data is read in `expr`."""
    return any(isinstance(node, Load) or (isinstance(node, Call) and node.kind != "intrinsic") for node in walk(expr))


def replace_terms(expr: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """The coordinate `expr` with whole terms of its affine form replaced."""
    terms, constant = affine(expr)
    merged: dict[Expr, int] = {}
    for term, factor in terms:
        value = values.get(term)
        own, more = affine(value) if value is not None else (((term, 1),), 0)
        constant += factor * more
        for part, times in own:
            merged[part] = merged.get(part, 0) + factor * times
    return from_affine(tuple((term, factor) for term, factor in merged.items() if factor), constant, expr.type)
