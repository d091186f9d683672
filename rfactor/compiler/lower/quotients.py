"""Intervals of quotients, remainders and shifts, from those of their operands.

x // 3, x from 1 to n     ->   0 to n // 3
x // d, d from 1 to 4     ->   min(low, low // 4) to max(high, high // 4)
x >> q                    ->   low >> q to high >> q, for a `q` that is the same in all iterations and not negative

By 0 a quotient and a remainder are 0; a shift by the width or more shifts everything out, by less than 0 the other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.ends import UNBOUNDED, End, Interval, outer, product
from rfactor.compiler.lower.float_interval import nonnegative
from rfactor.ir.expr import Const, Op
from rfactor.ir.types import I32

Kept = Callable[[Interval], Interval]
"""Told of ends that i32 has to hold; gives them back."""
Numbers = tuple[int, int]
"""What is known of an operand: its least and greatest value."""


def divided(end: End, divisor: int, kept: Kept) -> End:
    """`end // divisor`. What is divided in the end may be greater than `end`: (x - 1)//3 is (x + 2)//3 - 1."""
    if end is None:
        return None
    dividend = affine.dividend(end, divisor)
    kept((dividend, dividend))
    return affine.divide(end, divisor)


def by_constant(term: Op, dividend: Interval, count: int, kept: Kept) -> Interval:
    """Of `dividend // count` or `dividend % count`."""
    low, high = dividend
    zero = Const(term.type, 0)
    size = abs(count)
    if count == 0:
        return zero, zero
    if size > term.type.max:
        return (zero, Const(term.type, size - 1)) if term.op == "%" else UNBOUNDED
    if term.op == "//":
        first, last = divided(low, size, kept), divided(high, size, kept)
        if count > 0:
            return first, last
        return kept((_negated(last), _negated(first)))
    if isinstance(low, Const) and isinstance(high, Const) and int(low.value) // size == int(high.value) // size:
        return Const(term.type, int(low.value) % size), Const(term.type, int(high.value) % size)
    return zero, Const(term.type, size - 1)


def divided_by(term: Op, dividend: Interval, divisor: Interval, known: Numbers, kept: Kept) -> Interval | None:
    """Of `term`, a quotient or a remainder by what lies in `divisor` and between the numbers `known`; None where no
    rule holds."""
    if term.type != I32:
        return None
    if term.op == "%":
        return _remainder(dividend, divisor, kept)
    low, high = dividend
    if low is None or high is None:
        return None
    if divisor[0] is not None and divisor[0] == divisor[1]:
        kept((low, _negated(low)))  # the least number divided by -1 would wrap around
        first, last = (Op(I32, "//", (end, divisor[0])) for end in (low, high))
        return affine.minimum(first, last), affine.maximum(first, last)
    least, greatest = known
    if least > greatest:  # where nothing runs
        return None
    if least > 0:
        return _hull([(divided(low, by, kept), divided(high, by, kept)) for by in known])
    zero = affine.integer(0)
    if least == 0:
        return _hull([dividend, (zero, zero)])
    return _hull([dividend, kept((_negated(high), _negated(low)))])  # no farther from 0


def _remainder(dividend: Interval, divisor: Interval, kept: Kept) -> Interval | None:
    zero, one = affine.integer(0), affine.integer(1)
    least, greatest = divisor
    if least is not None and greatest is not None:
        below = affine.subtract(zero, least)
        kept((least, below))
        size = affine.maximum(greatest, below)
        return zero, affine.maximum(affine.subtract(size, one), zero)
    low, high = dividend
    return (zero, high) if nonnegative(low) else None


def shifted(term: Op, value: Interval, count: Interval, known: Numbers, kept: Kept) -> Interval | None:
    """Of `term`, a shift by what lies in `count` and between the numbers `known`; None where no rule holds."""
    low, high = value
    least, greatest = known
    most = term.type.bits - 2  # the greatest power of two that the type holds
    if low is None or high is None or not 0 <= least <= greatest:
        return None
    same = count[0] if count[0] == count[1] else None
    if term.op == "<<":
        if greatest > most:
            return None
        if same is None or isinstance(same, Const):
            return kept(product(value, (Const(term.type, 1 << least), Const(term.type, 1 << greatest))))
        power = Op(term.type, "<<", (Const(term.type, 1), same))
        return kept((affine.multiply(low, power), affine.multiply(high, power)))
    if same is not None and not isinstance(same, Const):
        return Op(term.type, ">>", (low, same)), Op(term.type, ">>", (high, same))
    sign = Const(term.type, -1), Const(term.type, 0)
    if least > most:
        return sign
    ends = [(divided(low, 1 << by, kept), divided(high, 1 << by, kept)) for by in (least, min(greatest, most))]
    if greatest > most:  # of a value below 0 is left -1, of any other 0: both are passed by the ends above
        ends.append((sign[1], sign[0]))
    return _hull(ends)


def _hull(ends: Sequence[Interval]) -> Interval:
    """From the least of the first ends to the greatest of the last."""
    low, high = ends[0]
    for least, greatest in ends[1:]:
        low, high = outer(affine.minimum, low, least), outer(affine.maximum, high, greatest)
    return low, high


def _negated(end: End) -> End:
    return None if end is None else affine.subtract(Const(end.type, 0), end)
