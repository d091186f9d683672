"""Classes of the user's that are made of the language's do what those do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.variables import Param, RDom, Var

x = hl.Var("x")


class Named(Buffer):
    """With another way to make it."""

    def __init__(self, extent: int, value: int = 0) -> None:
        super().__init__(np.full(extent, value, np.int32))
        self.told = "own"


class Input(ImageParam):
    def __init__(self, name: str) -> None:
        super().__init__(hl.Int(32), 1, name)


class Number(Param):
    def __init__(self, name: str) -> None:
        super().__init__(hl.Int(32), name)


class Function(Func):
    def rows(self) -> list[int]:
        return list(self.realize([3]))


class Domain(RDom):
    def __init__(self, extent: int) -> None:
        super().__init__([(0, extent)])


class Variable(Var):
    pass


class Expression(Expr):
    pass


def test_a_buffer_is_read_as_an_image() -> None:
    image, f, out = Named(4, 3), hl.Func("derived_image"), np.zeros(4, np.int32)
    f[x] = image[x] * 2
    for value in (6, 6, 6, 10, 10):
        image.array[...] = value // 2
        f.realize(out)
        assert out.tolist() == [value] * 4
    assert f.prepared.repeated((out,))


def test_a_buffer_is_read_beyond_its_ends() -> None:
    image, g = Named(4, 3), hl.Func("derived_edge")
    image.set_min([5])
    g[x] = hl.BoundaryConditions.constant_exterior(image, 1)[x + 4]
    for _ in range(3):
        assert list(g.realize([3])) == [1, 3, 3]


def test_a_buffer_that_was_read_is_read_where_it_lies_now() -> None:
    image, f, out = Named(4, 3), hl.Func("derived_moved"), np.zeros(4, np.int32)
    f[x] = image[x]
    for _ in range(3):
        f.realize(out)
    image.set_min([1])
    with pytest.raises(hl.Error, match="holds 1 to 4"):
        f.realize(out)


def test_a_buffer_is_set_and_computed_into() -> None:
    image, f = Input("derived_input"), Function("derived_output")
    f[x] = image[x] + 1
    given, out = Named(4, 3), Named(4)
    image.set(given)
    for _ in range(3):
        f.realize(out)
        assert np.array(out).tolist() == [4] * 4
    assert f.prepared.repeated((out,))
    out.set_min([1])
    assert not f.prepared.repeated((out,))
    assert f.rows() == [4] * 3


def test_bounds_are_asked_with_it() -> None:
    image, number, f = Input("asked_input"), Number("asked_number"), hl.Func("asked")
    f[x] = image[x] * number
    call = f.compile_to_callable([image, number])
    query = Named(0)
    query.asks = True
    call(query, 3, hl.Buffer(np.zeros(5, np.int32)))
    assert (query.dim(0).min(), query.dim(0).extent()) == (0, 5)
    out = Named(5)
    call(Named(5, 2), 3, out)
    assert np.array(out).tolist() == [6] * 5


def test_what_is_made_of_a_buffer_is_a_plain_one() -> None:
    image = Named(4, 3)
    made: list[Any] = [
        Named.make_scalar(hl.Int(32)),
        Named.make_interleaved(hl.UInt(8), 4, 4, 3),
        Named.make_with_shape_of(image),
        Named.make_bounds_query(hl.Int(32), [4]),
        image.copy(),
        image.cropped(0, 1, 2),
    ]
    assert [type(one) for one in made] == [hl.Buffer] * len(made)


def test_numbers_and_domains_and_variables() -> None:
    number, r, i, f = Number("derived_number"), Domain(5), Variable("i"), Function("derived_sum")
    number.set(2)
    f[i] = i
    f[i] += r.x * number
    assert f.rows() == [20, 21, 22]
    number.set(3)
    assert f.rows() == [30, 31, 32]


def test_expressions_are_defined_where_they_are_given_something() -> None:
    assert not Expression().defined()
    assert repr(Expression()) == "<undefined halide.Expr>"
    assert Expression(3).defined()
    assert Variable("i").defined()
    f = Function("derived_text")
    f[x] = hl.require(x < 2, x, Expression("too far"))
    with pytest.raises(hl.Error, match="too far"):
        f.realize([3])


def test_an_array_of_a_class_of_its_own_is_given_to_a_callable() -> None:
    class Array(np.ndarray):
        pass

    image, f = Input("derived_array"), hl.Func("derived_callable")
    f[x] = image[x] + 1
    out = np.zeros(4, np.int32).view(Array)
    f.compile_to_callable([image])(np.full(4, 3, np.int32).view(Array), out)
    assert out.tolist() == [4] * 4


@pytest.mark.parametrize("made", [hl.Buffer, lambda array: Named(4, 7)])
def test_a_buffer_among_the_arguments_of_a_callable_is_the_one_given(made: Any) -> None:
    own, f, out = hl.Buffer(np.arange(4, dtype=np.int32)), hl.Func("derived_argument"), np.zeros(4, np.int32)
    f[x] = own[x]
    call = f.compile_to_callable([own])
    call(made(np.full(4, 7, np.int32)), out)
    assert out.tolist() == [7] * 4
    f.realize(out)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(hl.Error, match="holds 0 to 1"):
        call(hl.Buffer(np.zeros(2, np.int32)), out)
