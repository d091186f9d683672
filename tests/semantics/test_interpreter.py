"""The interpreter gives the values that the definitions say, point by point."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor import errors
from rfactor.ir.algorithm import Definition, Image
from rfactor.ir.types import I32, U8
from rfactor.semantics.interpreter import ImageValue, interpret
from tests.rfactor.programs import algorithm, expr, extent, function, i32, over, read, var

B = Image("b", U8, 2)
LINE = Image("line", I32, 1)


def values(*numbers: int) -> ImageValue:
    return ImageValue(np.array(numbers, np.int32))


def test_dimension_0_is_the_last_axis() -> None:
    f = function("f", ("x", "y"), [expr("x + 10 * y", x=var("x"), y=var("y"))])
    (found,) = interpret(algorithm(f), {}, {}, {"f": ((1, 3), (-1, 2))})["f"]
    assert found.tolist() == [[-9, -8, -7], [1, 2, 3]]


def test_a_histogram_scatters() -> None:
    pixels = np.array([[3, 1, 3], [0, 3, 1]], np.uint8)
    h = function(
        "h", ("i",), [i32(0)],
        lambda h: Definition(
            (p := expr("i32(b)", b=read(B, var("r.x"), var("r.y"))),),
            (expr("h + 1", h=h.at((p,))),),
            over(("r.x", extent(B, 0)), ("r.y", extent(B, 1))),
        ),
    )  # fmt: skip
    (found,) = interpret(algorithm(h, images=[B]), {"b": ImageValue(pixels)}, {}, {"h": ((0, 5),)})["h"]
    assert found.tolist() == [1, 2, 0, 3, 0]


def test_reduction_variables_run_in_order_and_components_are_read_before_any_is_written() -> None:
    f = function(
        "f", (), [i32(0), i32(1)],
        lambda f: Definition(
            (), (f.at((), 1), expr("a * 10 + v", a=f.at((), 0), v=read(LINE, var("r")))), over(("r", extent(LINE, 0)))
        ),
    )  # fmt: skip
    first, second = interpret(algorithm(f, images=[LINE]), {"line": values(1, 2, 3)}, {}, {"f": ()})["f"]
    assert (first.item(), second.item()) == (12, 13)


def test_a_scan_reads_what_it_wrote() -> None:
    f = function(
        "f", ("x",), [i32(1)],
        lambda f: Definition(
            (var("r"),), (expr("a + b", a=f.at((var("r"),)), b=f.at((expr("r - 1", r=var("r")),))),), over(("r", 4))
        ),
    )  # fmt: skip
    (found,) = interpret(algorithm(f), {}, {}, {"f": ((-2, 7),)})["f"]
    assert found.tolist() == [1, 1, 2, 3, 4, 5, 1]


def test_a_predicate_guards_what_is_read() -> None:
    inside = expr("r < n and v > 1", r=var("r"), n=extent(LINE, 0), v=read(LINE, var("r")))
    f = function(
        "f", (), [i32(0)],
        lambda f: Definition((), (expr("a + v", a=f.at(()), v=read(LINE, var("r"))),), over(("r", 16), where=inside)),
    )  # fmt: skip
    (found,) = interpret(algorithm(f, images=[LINE]), {"line": values(1, 5, 0, 7)}, {}, {"f": ()})["f"]
    assert found.item() == 12


def test_a_negative_extent_counts_as_zero() -> None:
    f = function(
        "f", (), [i32(5)], lambda f: Definition((), (expr("a + 1", a=f.at(())),), over(("r", -3), ("s", 2)))
    )  # fmt: skip
    (found,) = interpret(algorithm(f), {}, {}, {"f": ()})["f"]
    assert found.item() == 5


def test_only_what_is_asked_for_is_read() -> None:
    f = function("f", ("x",), [read(LINE, var("x"))])
    g = function("g", ("x",), [f.at((expr("x * 2", x=var("x")),))])
    program = algorithm(f, g, images=[LINE])
    (found,) = interpret(program, {"line": values(4, 5, 6)}, {}, {"g": ((0, 2),)})["g"]
    assert found.tolist() == [4, 6]


def test_reading_outside_an_image_is_an_error() -> None:
    f = function("f", ("x",), [read(LINE, var("x"))])
    with pytest.raises(errors.BufferError, match=r"line is read at \(3,\), outside its box \[0, 3\)"):
        interpret(algorithm(f, images=[LINE]), {"line": values(4, 5, 6)}, {}, {"f": ((0, 4),)})


def test_images_lie_where_their_minimum_says() -> None:
    f = function("f", ("x",), [read(LINE, var("x"))])
    line = ImageValue(np.array([4, 5, 6], np.int32), (-1,))
    (found,) = interpret(algorithm(f, images=[LINE]), {"line": line}, {}, {"f": ((-1, 3),)})["f"]
    assert found.tolist() == [4, 5, 6]


def test_inputs_must_fit_their_declaration() -> None:
    f = function("f", ("x",), [read(LINE, var("x"))])
    with pytest.raises(errors.BufferError, match="line has 1 dimensions of i32, not 1 of int64"):
        interpret(algorithm(f, images=[LINE]), {"line": ImageValue(np.array([1]))}, {}, {"f": ((0, 1),)})
    with pytest.raises(errors.BufferError, match="no input is given for the image line"):
        interpret(algorithm(f, images=[LINE]), {}, {}, {"f": ((0, 1),)})


def test_parameters_must_be_given() -> None:
    f = function("f", ("x",), [var("k")])
    with pytest.raises(errors.AlgorithmError, match="no value is given for the parameter k"):
        interpret(algorithm(f, parameters=[var("k")]), {}, {}, {"f": ((0, 1),)})
