"""Claims that cannot overflow are proved as claims about integers, others are not."""

from __future__ import annotations

from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, I8, I16
from rfactor.prover.bounded import without_overflow
from rfactor.prover.equality import prove_equal
from rfactor.prover.verdict import Proven, Refuted

TYPES = {"x": I8, "a": I8, "v": I16, "w": I16}


def test_a_sum_of_widened_bytes_cannot_overflow() -> None:
    assert without_overflow([parse_expr("i16(x) + i16(a)", TYPES)], ()) is not None


def test_a_sum_of_bytes_can_overflow() -> None:
    assert without_overflow([parse_expr("x + a", TYPES)], ()) is None
    left, right = (parse_expr(t, TYPES) for t in ("max(x, a) + 1", "max(x + 1, a + 1)"))
    assert isinstance(prove_equal((left,), (right,)), Refuted)


def test_a_narrowing_that_loses_bits_is_not_taken_for_the_value() -> None:
    assert without_overflow([parse_expr("i8(i16(x) + i16(a))", TYPES)], ()) is None
    assert without_overflow([parse_expr("i8(min(max(i16(x) + i16(a), -128), 127))", TYPES)], ()) is not None


def test_assumed_ranges_count_and_so_do_those_that_come_through_another_variable() -> None:
    assumed = tuple(parse_expr(t, TYPES, BOOL) for t in ("-100 <= v", "v <= w", "w <= 100"))
    total = parse_expr("v + w", TYPES)
    assert without_overflow([total], assumed) is not None
    assert without_overflow([total], assumed[:2]) is None
    left, right = (parse_expr(t, TYPES) for t in ("max(v, w) + 50", "max(v + 50, w + 50)"))
    assert isinstance(prove_equal((left,), (right,), assumptions=assumed), Proven)
