"""The language: operators, promotions, and what errors say."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, NoTruthValue, TypeMismatch

x, y = hl.Var("x"), hl.Var("y")


def type_of(expr: Any) -> str:
    return str(expr.type())


def test_a_number_takes_the_type_of_the_other_operand() -> None:
    assert type_of(hl.u8(1) + 3) == "uint8"
    assert type_of(3 - hl.i64(1)) == "int64"
    assert type_of(hl.f64(1) * 2.5) == "float64"
    assert type_of(hl.f32(1) * 2) == "float32"
    assert type_of(x * 2.5) == "float32"
    with pytest.raises(TypeMismatch, match="300 does not fit u8"):
        hl.u8(1) + 300


@pytest.mark.parametrize(
    ("type_", "most", "said"),
    [(hl.Float(16), 2048, "float16"), (hl.BFloat(16), 256, "bfloat16"), (hl.Float(32), 1 << 24, "float32")],
    ids=str,
)
def test_a_whole_number_that_a_float_type_does_not_hold_is_refused_as_in_halide(
    type_: hl.Type, most: int, said: str
) -> None:
    value = hl.cast(type_, x)
    message = (
        f"Integer constant {most + 1} will be implicitly coerced to type {said}, which changes its value to {most}.0"
    )
    for make in (lambda: value + (most + 1), lambda: (most + 1) * value, lambda: value < most + 1):
        with pytest.raises(TypeMismatch, match=message):
            make()
    assert type_of(value + most) == type_of(hl.max(value, most + 1)) == said
    assert type_of(hl.f64(x) + (most + 1)) == "float64"


@pytest.mark.parametrize(
    ("a", "b", "together"),
    [
        ("u8", "u16", "uint16"), ("i8", "i64", "int64"), ("u8", "i8", "int8"), ("u32", "i16", "int32"),
        ("i64", "f32", "float32"), ("f16", "f64", "float64"), ("u8", "f16", "float16"),
    ],
)  # fmt: skip
def test_mixed_types_meet_as_in_halide(a: str, b: str, together: str) -> None:
    left, right = getattr(hl, a)(x), getattr(hl, b)(x)
    assert type_of(left + right) == type_of(right + left) == together


def test_division_is_euclidean_for_integers_and_real_for_floats() -> None:
    assert format(x / 2) == format(x // 2) == "x // 2"
    assert format(hl.f32(x) / 2) == "f32(x) / 2.0"
    assert "floor" in format(hl.f32(x) // 2)


def test_conditions_join_by_and_or_and_not() -> None:
    assert format((x > 1) & ~(y < 2)) == "x > 1 and not y < 2"
    assert format((x > 1) | (y < 2)) == "x > 1 or y < 2"
    assert format((x & 3) == 0) == "x & 3 == 0" or format((x & 3) == 0) == "(x & 3) == 0"


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(TypeMismatch, match=r"no truth value .* select"):
        bool(x < 3)
    with pytest.raises(ValueError, match="cannot be converted to a bool"):
        (x < 3) and (y < 3)  # noqa: B018


def test_what_is_declared_is_there() -> None:
    n, r = hl.Param(hl.Int(32)), hl.RDom([(0, 3)])
    for one in (x, r, r.x, n):
        assert (one or None) is one
    with pytest.raises(NoTruthValue):
        bool(x + 1)


def test_what_is_no_expression_is_none_of_its_kind() -> None:
    for one in (x, x + 1, hl.Param(hl.Int(32))):
        assert (one == None, one != None, one == "a", one in [None], one == [1]) == (False, True, False, False, False)  # noqa: E711
    assert format(x == np.int32(3)) == "x == 3"
    with pytest.raises(TypeMismatch):
        x < None  # noqa: B015


def test_beside_an_array_an_operation_is_one_of_each_element() -> None:
    weights = np.array([[1, 2], [3, 4]])
    for product in (x * weights, weights * x):
        assert product.shape == (2, 2)
    f = hl.Func("f")
    f[x] = sum((x * weights[0] + np.arange(2)).tolist())
    assert list(f.realize([3])) == [1, 4, 7]
    for refused in (lambda: f[x] % weights, lambda: x > weights):
        with pytest.raises(TypeMismatch, match="is no expression"):
            refused()


def test_the_magnitude_of_an_integer_is_unsigned() -> None:
    assert type_of(hl.abs(x)) == "uint32"
    assert type_of(hl.abs(hl.f32(x))) == "float32"
    assert type_of(hl.absd(hl.i8(x), hl.i8(y))) == "uint8"


def test_types_know_their_ends() -> None:
    assert format(hl.UInt(8).max()) == "255"
    assert format(hl.Int(16).min()) == "-32768"
    assert hl.Bool() == hl.UInt(1)
    assert hl.Int(32).bits() == 32
    with pytest.raises(TypeMismatch, match=r"Int\(7\): widths are 8, 16, 32, 64"):
        hl.Int(7)


def test_a_buffer_shares_the_memory_of_its_array_with_axes_reversed() -> None:
    array = np.arange(6, dtype=np.int32).reshape(2, 3)
    buffer = hl.Buffer(array)
    assert (buffer.width(), buffer.height()) == (3, 2)
    assert buffer[2, 1] == array[1, 2]
    buffer[2, 1] = 50
    assert array[1, 2] == 50
    assert np.shares_memory(np.asarray(buffer), array)
    buffer.set_min(10, 20)
    assert buffer[12, 21] == 50
    with pytest.raises(BufferError, match="index 0 is out of bounds for axis 0 with min=10, extent=3"):
        buffer[0, 20]


def test_names_in_use_are_not_given_twice() -> None:
    f, g = hl.Func("same"), hl.Func("same")
    assert f.name() == "same"
    assert g.name() == "same$1"
    del g
    assert hl.Func("same").name() == "same$1"


def test_the_first_definition_is_over_variables() -> None:
    f = hl.Func("f")
    with pytest.raises(AlgorithmError, match=r"first defined at x \+ 1: the first definition is over Vars"):
        f[x + 1] = 0
    g = hl.Func("g")
    with pytest.raises(AlgorithmError, match="f is used before it is defined"):
        g[x] = f[x] + 1
    with pytest.raises(AlgorithmError, match="f is used before it is defined"):
        f[x] = 2 * f[x] + 1


def test_an_update_has_the_type_of_the_function() -> None:
    f = hl.Func("f")
    f[x] = hl.u8(0)
    with pytest.raises(TypeMismatch, match=r"component 0 of f is u8, the update gives i32 .* write u8"):
        f[x] = f[x] + x


def test_an_update_is_over_one_domain() -> None:
    f, r, s = hl.Func("f"), hl.RDom([(0, 3)], "r"), hl.RDom([(0, 3)], "s")
    f[x] = 0
    with pytest.raises(AlgorithmError, match="uses the domains r and s: an update is over one RDom"):
        f[x] += r.x + s.x


def test_a_pure_definition_has_no_reduction_variable() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 3)], "r")
    with pytest.raises(AlgorithmError, match="pure definition of f uses a reduction variable"):
        f[x] = x + r.x


def test_an_undefined_function_starts_its_sum_at_zero() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 5)], "r")
    f[x] += r.x + x
    assert np.asarray(f.realize([3])).tolist() == [10, 15, 20]


def test_domains_say_what_they_take() -> None:
    with pytest.raises(AlgorithmError, match=r"has 1 dimensions, hence no \.y"):
        hl.RDom([(0, 3)], "r").y  # noqa: B018
    with pytest.raises(TypeMismatch, match=r"has 2 dimensions: write r\.x"):
        hl.RDom([(0, 3), (0, 4)], "r") + 1
    with pytest.raises(AlgorithmError, match=r"takes \(min, extent\) pairs"):
        hl.RDom([3])
    with pytest.raises(TypeMismatch, match="is i32, not bool"):
        hl.RDom([(0, 3)], "r").where(x)


@pytest.mark.parametrize(
    ("end", "number"),
    [(4.0, 4), (np.float64(4), 4), (hl.f64(3.0), 3), (hl.i64(5), 5), (hl.u8(2), 2), (True, 1), (hl.Expr(1) == 1, 1)],
)
def test_ends_of_domains_are_numbers_that_i32_holds(end: Any, number: int) -> None:
    f, r = hl.Func("f"), hl.RDom([(0, end)])
    f[()] += r.x + 1
    assert f.realize()[()] == number * (number + 1) // 2
    beyond = hl.BoundaryConditions.repeat_edge(hl.Buffer(np.arange(6, dtype=np.int32)), [(0, end)])
    assert beyond.realize([7])[6] == number - 1


@pytest.mark.parametrize(
    "end", [2.5, float("nan"), float("inf"), 2**31, 2**40, 4e9, hl.i64(2**33), hl.Param(hl.UInt(32)), hl.f32(x)]
)
def test_what_i32_may_not_hold_is_no_end_of_a_domain(end: Any) -> None:
    for ends in ((0, end), (end, 3)):
        with pytest.raises(TypeMismatch, match="integers that int32 holds"):
            hl.RDom([ends])


def test_a_condition_is_an_index_of_0_and_1() -> None:
    image = hl.Buffer(np.array([7, 2, 9, 4, 5], np.int32))
    f, r = hl.Func("f"), hl.RDom([(0, 5)])
    f[x] = 0
    f[image[r] > 4] += image[r]
    assert list(f.realize([2])) == [6, 21]
    f.update().rfactor(r.x, y).compute_root().vectorize(x, 2)
    assert list(f.realize([2])) == [6, 21]
    g = hl.Func("g")
    g[x] = image[x > 1]
    assert list(g.realize([3])) == [7, 7, 2]


@pytest.mark.parametrize("index", [hl.i64(2**33), 2**32, hl.u64(2**63), 2.0])
def test_what_i32_does_not_hold_is_no_index(index: Any) -> None:
    with pytest.raises(TypeMismatch, match="Implicit cast from"):
        hl.ImageParam(hl.Int(32), 1)[index]


def test_a_selected_tuple_is_a_tuple() -> None:
    both = hl.select(x > 0, (x, y), (0, 1))
    assert [format(part) for part in both] == ["select(x > 0, x, 0)", "select(x > 0, y, 1)"]
    assert format(hl.select(x > 0, 1, x > -5, 2, 3)) == "select(x > 0, 1, select(x > -5, 2, 3))"


def test_what_is_not_there_yet_says_so() -> None:
    with pytest.raises(NotImplementedError, match=r"rfactor\.Generator is not there"):
        hl.Generator  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        hl.colour  # noqa: B018


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hl.cast(3, x), r"cast takes a type first, as in cast\(Int\(32\), …\), not 3"),
        (lambda: hl.saturating_cast("u8", x), "saturating_cast takes a type first"),
        (lambda: hl.reinterpret(x, x), "reinterpret takes a type first"),
        (lambda: hl.undef(32), "undef takes a type first"),
        (lambda: hl.Param("x"), "Param takes a type first"),
        (lambda: hl.ImageParam("x", 2), "ImageParam takes a type first"),
        (
            lambda: hl.ImageParam(hl.Int(32), "x"),
            "a number of dimensions and a name: the second is a whole number, not 'x'",
        ),
        (lambda: hl.Var(3), r"Var takes a name, as in Var\('x'\), or nothing, not 3"),
    ],
)
def test_what_is_no_type_and_no_name_is_refused(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_a_pure_definition_has_a_variable_a_dimension() -> None:
    f = hl.Func("f")
    with pytest.raises(hl.Error, match="must be distinct; x is there twice"):
        f[x, x] = 1
    with pytest.raises(hl.Error, match="first defined at 0"):
        f[x, 0] = 1
    f[x, y] = x + y
    f[x, x] = 5
    assert np.asarray(f.realize([2, 2])).tolist() == [[5, 1], [1, 5]]


def test_a_domain_of_any_dimensions_can_be_printed() -> None:
    assert format(hl.RDom([(0, 3), (1, 4)], "d")) == "RDom(d.x(0, 3), d.y(1, 4))"
    assert format(hl.RDom([(0, 3)], "e")) == "e.x"
    assert format(hl.RDom()) == "RDom()"


def test_every_public_name_can_be_imported() -> None:
    for name in hl._HOME:
        assert getattr(hl, name) is not None


def test_importing_costs_next_to_nothing() -> None:
    code = "import sys, rfactor; print([m for m in ('numpy', 'z3', 'llvmlite') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_shifts_have_the_kind_of_the_left_operand_and_the_greater_width() -> None:
    assert type_of(hl.u8(x) << 3) == "uint8"
    assert type_of(hl.u8(x) << x) == "uint32"
    f = hl.Func("f")
    f[x] = (hl.u32(16) << (x - 2), hl.i8(-64) >> hl.u8(x))
    left, right = (np.asarray(b).tolist() for b in f.realize([4]))
    assert left == [4, 8, 16, 32]
    assert right == [-64, -32, -16, -8]


def test_whole_powers_are_products() -> None:
    assert format(x**3) == "x * x * x"
    assert type_of(hl.f32(x) ** 0.5) == "float32"


def test_methods_that_are_not_there_yet_say_so() -> None:
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(NotImplementedError, match=r"Func\.define_extern is not there"):
        f.define_extern("g", [], hl.Int(32), 1)
    with pytest.raises(AttributeError):
        f.colour  # noqa: B018


@pytest.mark.parametrize(
    "make", [lambda n: hl.Param(hl.Int(32), n), hl.Func, hl.Var, hl.RVar, lambda n: hl.RDom([(0, 3)], n)]
)
def test_names_with_dots_are_those_of_loop_bounds(make):
    with pytest.raises(hl.Error, match="has a dot"):
        make("f.s0.x.min")
