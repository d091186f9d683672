"""One-to-one maps of a type onto itself: which they are, what undoes them, and what they leave of a claim."""

from __future__ import annotations

import itertools

import pytest

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import Type, parse_type
from rfactor.prover.bijections import cancelled, inverse, mapped, without_bijections
from rfactor.prover.equality import prove_equal
from rfactor.prover.verdict import Proven, Refuted

I8, U8, F64, BOOL = map(parse_type, ("i8", "u8", "f64", "bool"))
MAPS = ("-x", "~x", "x + 5", "x - 5", "5 - x", "5 + x", "x ^ 5", "x + k", "k - x", "x - k", "k ^ x")


def place_of(expr: Expr, meaning: Meaning = Meaning.WRAP) -> int | None:
    """Where x stands, if the expression is a map of it."""
    found = [at for at in mapped(expr, meaning) if expr.children[at] == Var(expr.children[at].type, "x")]
    return found[0] if found else None


@pytest.mark.parametrize(("text", "type_"), [*itertools.product((*MAPS, "x*3", "-5*x"), (I8,)), ("x*171", U8)])
def test_a_map_takes_every_value_once_and_its_inverse_undoes_it(text: str, type_: Type) -> None:
    expr = parse_expr(text, {"x": type_, "k": type_})
    place = place_of(expr)
    assert place is not None
    back = inverse(expr, place)
    assert back is not None
    every = range(int(type_.min), int(type_.max) + 1)
    images = [evaluate_scalar(expr, {"x": v, "k": 77}) for v in every]
    assert sorted(images) == list(every)
    assert [evaluate_scalar(back, {"x": v, "k": 77}) for v in images] == list(every)


def test_maps_of_conditions() -> None:
    for text in ("not x", "x == k", "k != x"):
        expr = parse_expr(text, {"x": BOOL, "k": BOOL})
        place = place_of(expr)
        assert place is not None
        assert inverse(expr, place) == expr
    assert mapped(parse_expr("x == k", {"x": I8, "k": I8}), Meaning.WRAP) == ()
    assert mapped(parse_expr("x or k", {"x": BOOL, "k": BOOL}), Meaning.WRAP) == ()


@pytest.mark.parametrize("text", ["abs(x)", "x*6", "x*y", "x & 5", "x << 1", "max(x, 5)", "select(c, x, 5)"])
def test_what_may_take_a_value_twice_is_no_map(text: str) -> None:
    assert mapped(parse_expr(text, {"x": I8, "y": I8, "c": BOOL}), Meaning.WRAP) == ()


def test_unsigned_numbers_that_are_unbounded_have_no_negatives() -> None:
    for text in MAPS:
        assert mapped(parse_expr(text, {"x": U8, "k": U8}), Meaning.MATH) == ()
    assert mapped(parse_expr("x*3", {"x": I8}), Meaning.MATH) == ()
    assert mapped(parse_expr("x*0.0", {"x": F64}), Meaning.WRAP) == ()
    assert place_of(parse_expr("x + inf", {"x": F64})) is None
    assert place_of(parse_expr("x*k", {"x": F64, "k": F64})) is None


def test_a_map_after_its_inverse_is_nothing() -> None:
    for text in (
        "~~x",
        "-(-x)",
        "x + 5 - 5",
        "5 - (5 - x)",
        "x ^ 5 ^ 5",
        "k ^ (x ^ k)",
        "k - (k - x)",
        "k + (x - k)",
        "x*3*-85",
    ):
        assert cancelled(parse_expr(text, {"x": I8, "k": I8}), Meaning.WRAP) == Var(I8, "x")
    assert cancelled(parse_expr("x*2.0*0.5", {"x": F64}), Meaning.WRAP) == Var(F64, "x")
    for text in ("x + 5 - 4", "4 - (5 - x)", "~(-x)", "x + k - j", "(x ^ k) ^ j", "x - k - k", "x - (x + x)"):
        expr = parse_expr(text, {"x": I8, "k": I8, "j": I8})
        assert cancelled(expr, Meaning.WRAP) == expr


def test_a_claim_of_complements_is_one_of_values() -> None:
    types = {"x": I8, "y": I8}
    left, right = (parse_expr(text, types) for text in ("~max(~x, y)", "~max(y, ~x)"))
    plainer = without_bijections([(left, right)], (), Meaning.WRAP)
    assert plainer is not None
    ((one, other),) = plainer[0]
    assert "~" not in f"{one} {other}"
    assert isinstance(prove_equal((left,), (right,)), Proven)


def test_a_variable_that_stands_elsewhere_too_stays() -> None:
    types = {"x": I8, "y": I8}
    left, right = (parse_expr(text, types) for text in ("max(~x, y)*x", "max(y, ~x)*x"))
    assert without_bijections([(left, right)], (), Meaning.WRAP) is None
    doubled = [(parse_expr("x + (x + y)", types), parse_expr("y", types))]
    assert without_bijections(doubled, (), Meaning.WRAP) is None
    assumed = parse_expr("x < 3", types)
    assert without_bijections([(parse_expr("~x", types), parse_expr("y", types))], (assumed,), Meaning.WRAP) is None


def test_maps_that_differ_are_not_taken_off() -> None:
    left, right = (parse_expr(text, {"x": I8}) for text in ("x + 5", "x + 6"))
    assert isinstance(prove_equal((left,), (right,)), Refuted)


def test_a_claim_about_what_a_constant_turns_is_one_of_values() -> None:
    types = {"x": I8, "y": I8, "k": I8}
    left, right = (parse_expr(text, types) for text in ("max(x ^ k, y ^ k) ^ k", "max(k ^ y, x ^ k) ^ k"))
    assert isinstance(prove_equal((left,), (right,)), Proven)
    wrong = parse_expr("max(k ^ y, x ^ k) + k", types)
    assert isinstance(prove_equal((left,), (wrong,)), Refuted)


@pytest.mark.parametrize(("type_", "meaning"), [(F64, Meaning.WRAP), (I8, Meaning.MATH)])
def test_what_only_a_magnitude_reads_is_any_value_from_0_on(type_: Type, meaning: Meaning) -> None:
    types = {"x": type_, "y": type_}
    left, right = (parse_expr(text, types) for text in ("max(abs(x), y)", "max(y, abs(x))"))
    plainer = without_bijections([(left, right)], (), meaning)
    assert plainer is not None
    ((one, other),), known = plainer
    assert "abs" not in f"{one} {other}"
    assert known == (apply("<=", const(type_, 0), Var(type_, "x mapped")),)
    least = parse_expr("max(abs(x), -3)", types)
    assert isinstance(prove_equal((least,), (parse_expr("abs(x)", types),), meaning=meaning), Proven)
    below = parse_expr("max(abs(x), 3)", types)
    assert isinstance(prove_equal((below,), (parse_expr("abs(x)", types),), meaning=meaning), Refuted)


def test_magnitudes_that_wrap_and_those_of_what_stands_elsewhere_stay() -> None:
    for type_, meaning in ((I8, Meaning.WRAP), (U8, Meaning.MATH)):
        pair = tuple(parse_expr(text, {"x": type_, "y": type_}) for text in ("max(abs(x), y)", "max(y, abs(x))"))
        assert without_bijections([(pair[0], pair[1])], (), meaning) is None
    pair = tuple(parse_expr(text, {"x": F64}) for text in ("abs(x) + x", "x + abs(x)"))
    assert without_bijections([(pair[0], pair[1])], (), Meaning.WRAP) is None


SIGNLESS = ("abs(-x*y)", "abs(x*-y)", "abs(abs(x)*y)", "abs(-(x*y))", "abs(abs(x)*abs(-y))", "abs(abs(x*y))")


@pytest.mark.parametrize("text", SIGNLESS)
def test_a_magnitude_of_a_product_is_that_without_signs_also_where_it_wraps(text: str) -> None:
    types = {"x": I8, "y": I8}
    signed, plain = parse_expr(text, types), parse_expr("abs(x*y)", types)
    for meaning in Meaning:
        assert isinstance(prove_equal((signed,), (plain,), meaning=meaning), Proven)
    freed = without_bijections([(signed, plain)], (), Meaning.WRAP)
    assert freed is not None
    assert freed[0][0][0] == freed[0][0][1]
    for x, y in itertools.product((-128, -127, -64, -3, -1, 0, 1, 2, 64, 127), range(-128, 128)):
        wrapped = (x * y + 128) % 256 - 128
        wanted = wrapped if wrapped in (-128, abs(wrapped)) else -wrapped
        assert evaluate_scalar(signed, {"x": x, "y": y}) == wanted


@pytest.mark.parametrize(
    ("text", "without", "type_"),
    [
        ("abs(-x*y)", "abs(x*y)", U8),
        ("abs(x - -y)", "abs(x - y)", I8),
        ("abs(-x + y)", "abs(x + y)", I8),
        ("abs(abs(x) + y)", "abs(x + y)", I8),
        ("abs(~x*y)", "abs(x*y)", I8),
        ("-abs(x*y)", "abs(x*y)", I8),
        ("x*abs(y)", "x*y", I8),
    ],
)
def test_other_signs_count(text: str, without: str, type_: Type) -> None:
    types = {"x": type_, "y": type_}
    signed, plain = parse_expr(text, types), parse_expr(without, types)
    assert isinstance(prove_equal((signed,), (plain,)), Refuted)
    freed = without_bijections([(signed, plain)], (), Meaning.WRAP)  # that samples refute the claim is no help here
    assert freed is None or isinstance(prove_equal(*zip(*freed[0], strict=True)), Refuted)


def test_an_infinity_is_above_every_magnitude_that_is_below_something() -> None:
    types = {"a": F64, "x": F64, "i": I8}
    left = parse_expr("select(abs(a) < x, select(abs(a) < inf, i, 0), 1)", types)
    right = parse_expr("select(abs(a) < x, i, 1)", types)
    assert isinstance(prove_equal((left,), (right,)), Proven)
    wrong = parse_expr("select(abs(a) <= x, i, 1)", types)
    also = parse_expr("select(abs(a) <= x, select(abs(a) < inf, i, 0), 1)", types)
    assert not isinstance(prove_equal((also,), (wrong,)), Proven)  # where both are infinite
