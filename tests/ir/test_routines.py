"""Functions of f32 that are arithmetic: near the exact values, everywhere."""

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from rfactor.ir.evaluate import evaluate
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.routines import PARAMETERS, ROUTINES, Routine, routine

Floats = NDArray[np.float32]


def _routine(name: str) -> Routine:
    found = routine(name)
    assert found is not None
    return found


ENDS = [0.0, np.inf, np.nan, 1.0, 88.72283, 88.72284, 87.33655, 103.97208, 103.9721, 1e-45, 3e38, 0.5, 0.75, 4.0,
        2.0**20, 2.0**47, 2.0**74, 2.0**101]  # fmt: skip
ROUGH = ("fast_sin", "fast_cos")
OF_ONE = sorted(name for name in ROUTINES if INTRINSICS[name].arity == 1 and name not in ROUGH)
IN_SINGLES = ("exp", "log", "erf")
"""Those that are not computed in doubles."""
NUMPYS = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh",
          "atanh": "arctanh"}  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE)
def test_values_are_within_a_unit_in_the_last_place(name: str) -> None:
    bits = np.arange(0, 1 << 32, 3989, dtype=np.uint64).astype(np.uint32)
    ends = np.array(ENDS, np.float32)
    x = np.concatenate([bits.view(np.float32), ends, -ends, np.nextafter(ends, np.float32(0))])
    with np.errstate(all="ignore"):
        exact = _exact(name, x)
        nearest = exact.astype(np.float32)
    value = _value(name, x)
    assert _off(value, exact) < (1 if name in IN_SINGLES else 0.51)
    np.testing.assert_array_equal(np.signbit(value[nearest == 0]), np.signbit(nearest[nearest == 0]))


@pytest.mark.parametrize("name", ROUGH)
def test_rough_functions_are_within_a_millionth(name: str) -> None:
    bits = np.arange(0, 1 << 32, 3989, dtype=np.uint64).astype(np.uint32)
    turns = np.linspace(-5000, 5000, 1 << 20, dtype=np.float32)
    x = np.concatenate([bits.view(np.float32), turns, np.array([*ENDS, -0.0], np.float32)])
    with np.errstate(all="ignore"):
        exact = _exact(name.removeprefix("fast_"), x)
    value = _value(name, x)
    np.testing.assert_array_equal(np.isnan(value), np.isnan(exact))
    known = ~np.isnan(exact)
    assert np.max(np.abs(value - exact)[known]) < 1e-6
    np.testing.assert_array_equal(np.signbit(value[x == 0]), np.signbit(exact[x == 0]))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("sin", 1.5, 1.625), ("cos", 3.0, 3.25), ("fast_sin", 1.5, 1.625), ("fast_cos", 3.0, 3.25),
     ("erf", 3.0, 4.5), ("tanh", 8.0, 11.0)],
)  # fmt: skip
def test_functions_that_reach_1_do_not_pass_it(name: str, low: float, high: float) -> None:
    """Every float there; that they do not is what bounds of loads rest on."""
    first, last = (int(np.float32(end).view(np.uint32)) for end in (low, high))
    assert np.max(np.abs(_value(name, np.arange(first, last, dtype=np.uint32).view(np.float32)))) <= 1


@pytest.mark.parametrize("name", sorted(name for name in ROUTINES if _routine(name).usual is not None))
def test_what_lanes_compute_of_usual_numbers_has_the_same_bits(name: str) -> None:
    found = _routine(name)
    assert found.usual is not None
    assert found.is_rare is not None
    random = np.random.default_rng(6)
    anywhere = random.integers(0, 1 << 32, (2, 1 << 18), np.uint32).view(np.float32)
    close = random.standard_normal((2, 1 << 18)).astype(np.float32) * np.float32(9)
    ends = np.array(list(itertools.product([*ENDS, *(-end for end in ENDS)], repeat=2)), np.float32).T
    given = dict(zip((parameter.name for parameter in PARAMETERS), np.hstack([anywhere, close, ends]), strict=True))
    value, usual, rare = (evaluate(part, given) for part in (found.value, found.usual, found.is_rare))
    assert np.mean(rare) < 0.9
    np.testing.assert_array_equal(usual[~rare].view(np.uint32), value[~rare].view(np.uint32))


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_angles_next_to_whole_quarter_turns_lose_nothing(name: str) -> None:
    """What is left of the floats nearest to multiples of pi / 2 is small: all below the first 2**16, then at random."""
    random = np.random.default_rng(5)
    counts = np.concatenate([np.arange(1, 1 << 16), np.floor(2.0 ** random.uniform(16, 62, 1 << 16))])
    quarter = (np.longdouble(np.pi) + np.longdouble(1.2246467991473532e-16)) / 2
    x = (counts.astype(np.longdouble) * quarter).astype(np.float32)
    x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(0))])
    assert _off(_value(name, x), _exact(name, x)) < 0.51


def test_angles_of_points_are_those_of_c() -> None:
    """Annex F.9.1.4 of the standard, by NumPy's `arctan2`, and points anywhere."""
    sizes = [0.0, 1e-45, 1e-39, 0.5, 1.0, 1.5, 3e38, np.inf]
    values = np.array([*sizes, *(-size for size in sizes), np.nan], np.float32)
    random = np.random.default_rng(9)
    anywhere = random.integers(0, 1 << 32, (2, 1 << 19), np.uint32).view(np.float32)
    close = random.standard_normal((2, 1 << 19)).astype(np.float32)
    for y, x in (np.array(list(itertools.product(values, values)), np.float32).T, anywhere, close):
        with np.errstate(all="ignore"):
            exact = np.arctan2(y.astype(np.longdouble), x.astype(np.longdouble))
        value = _value("atan2", y, x)
        assert _off(value, exact) < 0.51
        known = ~np.isnan(exact)
        np.testing.assert_array_equal(np.signbit(value[known]), np.signbit(exact[known]))


def test_powers_are_within_six_tenths_of_a_unit_in_the_last_place() -> None:
    random = np.random.default_rng(8)
    size = 1 << 20
    any_x, any_y = random.integers(0, 1 << 32, (2, size), np.uint32).view(np.float32)
    positive = np.exp(random.uniform(-103, 88, size)).astype(np.float32)
    near_1 = (1 + random.standard_normal(size) * 1e-3).astype(np.float32)
    # Exponents such that the powers are anywhere between the least and the greatest.
    with np.errstate(all="ignore"):
        inside = (random.uniform(-104, 89, size) / np.log(positive.astype(np.float64))).astype(np.float32)
        far = (random.uniform(-104, 89, size) / np.log(near_1.astype(np.float64))).astype(np.float32)
    whole = random.integers(-40, 40, size).astype(np.float32)
    mixed = random.standard_normal(size).astype(np.float32)
    for x, y in ((any_x, any_y), (positive, inside), (near_1, far), (mixed, whole), (2 * abs(mixed), 9 * mixed[::-1])):
        with np.errstate(all="ignore"):
            exact = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        assert _off(_power(x, y), exact) < 0.6


def test_powers_of_every_small_exponent_are_within_six_tenths_of_a_unit_in_the_last_place() -> None:
    x = np.arange(0, 1 << 32, 65521, dtype=np.uint64).astype(np.uint32).view(np.float32)
    for y in (2.2, 1 / 2.2, 0.5, -0.5, 1.0, 2.0, -1.0, 3.0, -3.0, 1e-3, 127.5, 1 / 3, 2.4, 100.0, -149.0):
        exponent = np.full_like(x, y)
        with np.errstate(all="ignore"):
            exact = np.power(x.astype(np.longdouble), exponent.astype(np.longdouble))
        assert _off(_power(x, exponent), exact) < 0.6


def test_powers_that_floats_hold_are_exact() -> None:
    whole = np.arange(-9, 10, dtype=np.float32)
    x, y = (part.ravel() for part in np.meshgrid(np.arange(-64, 65, dtype=np.float32), whole))
    exact = np.array(
        [math.pow(a, b) if a or b >= 0 else math.copysign(math.inf, a) ** -b for a, b in zip(x, y, strict=True)]
    )
    held = exact == exact.astype(np.float32)
    np.testing.assert_array_equal(_power(x, y)[held], exact[held])


def test_powers_of_zeros_infinities_ones_and_no_numbers_are_those_of_c() -> None:
    """Annex F.9.4.4 of the standard, by NumPy's `power`, with the signs of zeros."""
    sizes = [0.0, 1e-45, 1e-39, 0.5, 0.99999994, 1.0, 1.0000001, 1.5, 2.0, 3.0, 4.0, 149.0, 16777215.0, 16777216.0,
             2.0**40, 3.4e38, np.inf]  # fmt: skip
    values = np.array([*sizes, *(-size for size in sizes), np.nan], np.float32)
    x, y = np.array(list(itertools.product(values, values)), np.float32).T
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
        nearest = exact.astype(np.float32)
    value = _power(x, y)
    assert _off(value, exact) < 0.6
    signed = ~np.isnan(nearest)
    np.testing.assert_array_equal(np.signbit(value[signed]), np.signbit(nearest[signed]))
    none = (nearest == 0) | ~np.isfinite(nearest)
    np.testing.assert_array_equal(value[none], nearest[none])


def _power(x: Floats, y: Floats) -> Floats:
    return _value("pow", x, y)


def _value(name: str, *args: Floats) -> Floats:
    given = {parameter.name: arg for parameter, arg in zip(PARAMETERS, args, strict=False)}
    return evaluate(_routine(name).value, given)


def _exact(name: str, x: Floats) -> NDArray[np.floating]:
    """In more digits than f32 has."""
    if name == "erf":
        return np.vectorize(math.erf, otypes=[float])(x.astype(np.float64))
    return getattr(np, NUMPYS.get(name, name))(x.astype(np.longdouble))


def _off(value: Floats, exact: NDArray[np.floating]) -> float:
    """By how many units in the last place `value` is off, at most; where `exact` is not finite, it is the same."""
    with np.errstate(all="ignore"):
        nearest = exact.astype(np.float32)
        finite = np.isfinite(nearest)
        np.testing.assert_array_equal(value[~finite], nearest[~finite])
        unit = np.spacing(np.abs(nearest[finite])).astype(exact.dtype)
        return float(np.max(np.abs(value[finite].astype(exact.dtype) - exact[finite]) / unit))
