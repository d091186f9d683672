"""Each rule of the language refuses what breaks it, and accepts its nearest neighbour that does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rfactor.errors import AlgorithmError
from rfactor.ir.algorithm import Algorithm, Definition, Function, Image, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Call, Op
from rfactor.ir.types import BOOL, F32, I32, U8
from rfactor.semantics.validity import validate
from tests.rfactor.programs import algorithm, expr, function, i32, over, read, var

B = Image("b", U8, 1)
G = function("g", ("x",), [var("x")])


def f_with(update: Callable[[Function], Definition]) -> Algorithm:
    return algorithm(G, function("f", ("x", "y"), [i32(0)], update), images=[B], parameters=[var("p")])


def at(f: Function, x: object, y: object) -> Call:
    return f.at(tuple(expr(str(e), I32, x=var("x"), y=var("y"), r=var("r")) for e in (x, y)))


def updating(left: tuple[str, str], *right: tuple[str, str]) -> Callable[[Function], Definition]:
    """`f(left) = sum of f(right)` over r."""

    def update(f: Function) -> Definition:
        value = i32(1)
        for point in right:
            value = expr("a + b", a=value, b=at(f, *point))
        return Definition(at(f, *left).args, (value,), over(("r", 3)))

    return update


def test_pure_variables_alone_in_their_place_are_accepted() -> None:
    validate(f_with(updating(("x", "r"), ("x", "r"), ("x", "r - 1"), ("x", "0"))))
    validate(f_with(updating(("3", "r"), ("r", "4"))))


@pytest.mark.parametrize(
    ("left", "right", "said"),
    [
        (("x", "y"), ("x + 1", "y"), r"the pure variable x is used, but f\(x \+ 1, y\) has x \+ 1 in its place"),
        (("x", "y"), ("r", "y"), r"f\(r, y\) has r in its place"),
        (("x + 1", "y"), ("x", "y"), r"f\(x \+ 1, y\) has x \+ 1 in its place"),
        (("y", "x"), ("y", "x"), r"f\(y, x\) has y in its place"),
        (("r", "r"), ("x", "r"), r"f\(r, r\) has r in its place"),
    ],
)
def test_separation_restriction(left: tuple[str, str], right: tuple[str, str], said: str) -> None:
    with pytest.raises(AlgorithmError, match=said):
        validate(f_with(updating(left, right)))


def test_separation_restriction_holds_in_predicates_too() -> None:
    def update(f: Function) -> Definition:
        where = expr("a < 3", a=at(f, "r", "y"))
        return Definition((var("x"), var("y")), (i32(1),), over(("r", 3), where=where))

    with pytest.raises(AlgorithmError, match=r"f\(r, y\) has r in its place"):
        validate(f_with(update))


def test_a_pure_variable_unused_on_the_left_may_not_be_used_at_all() -> None:
    with pytest.raises(AlgorithmError, match=r"f\(0, y\) has 0 in its place"):
        validate(f_with(lambda f: Definition((i32(0), var("y")), (var("x"),))))


@pytest.mark.parametrize(
    ("update", "said"),
    [
        (lambda f: Definition((var("x"),), (i32(0),)), "f has 2 dimensions, not 1"),
        (lambda f: Definition((var("x"), var("y")), (i32(0), i32(0))), r"values have types \(i32, i32\)"),
        (lambda f: Definition((var("x"), var("q")), (i32(0),)), "q is unknown there"),
        (lambda f: Definition((var("x"), read(B, i32(0))), (i32(0),)), r"argument 1 \(b\(0\)\) is u8"),
        (lambda f: Definition((var("x"), var("y")), (G.at((i32(0), i32(0))),)), "g has 1 dimensions; .* gives 2"),
        (lambda f: Definition((var("x"), var("y")), (Call(I32, "h", (), "func"),)), "calls h, which is not defined"),
        (lambda f: Definition((var("x"), var("y")), (Call(I32, "c", (), "image"),)), "the image c is not declared"),
        (lambda f: Definition((var("x"), var("y")), (Call(I32, "b", (i32(0),), "image"),)), "b holds .u8."),
        (lambda f: Definition((var("x"), var("y")), (Op(I32, "+", (i32(0), read(B, i32(0)))),)), "mixed types"),
        (lambda f: Definition((var("x"), var("y")), (Op(F32, "cast", (i32(0),)),)), r"values have types \(f32\)"),
        (lambda f: Definition((var("x"), var("y")), (i32(0),), over(("r", 3), where=i32(1))), "is i32, not bool"),
        (lambda f: Definition((var("x"), var("y")), (i32(0),), over(("r", 3), ("r", 2))), "r is there twice"),
        (lambda f: Definition((var("x"), var("y")), (i32(0),), over(("x", 3))), "both a reduction variable and"),
        (
            lambda f: Definition((var("x"), var("y")), (i32(0),), over(("r", G.at((i32(0),))))),
            r"the extent of r reads g\(0\); .* where\(\)",
        ),
    ],
)
def test_updates_that_are_refused(update: Callable[[Function], Definition], said: str) -> None:
    with pytest.raises(AlgorithmError, match=said):
        validate(f_with(update))


def test_bounds_may_depend_on_parameters_and_outer_loops() -> None:
    def update(inner: str, outer: str) -> Callable[[Function], Definition]:
        loops = (
            ReductionVariable("r", i32(0), expr("s + p", s=var(inner), p=var("p"))),
            ReductionVariable("s", i32(0), var(outer)),
        )
        return lambda f: Definition((var("x"), var("y")), (var("r"),), ReductionDomain(loops))

    validate(f_with(update("s", "p")))
    with pytest.raises(AlgorithmError, match="r is unknown there"):
        validate(f_with(update("p", "r")))


def test_recursion_is_for_updates_only() -> None:
    def pure(f: Function) -> Function:
        return Function("f", ("x",), (I32,), Definition((var("x"),), (f.at((var("x"),)),)))

    with pytest.raises(AlgorithmError, match=r"f, pure definition: refers to itself in f\(x\)"):
        validate(algorithm(pure(function("f", ("x",), [i32(0)]))))


def test_functions_call_only_what_is_defined_before_them() -> None:
    h = function("h", ("x",), [G.at((var("x"),))])
    validate(algorithm(G, h))
    with pytest.raises(AlgorithmError, match="calls g, which is not defined before h"):
        validate(algorithm(h, G))


def test_names_are_distinct_and_outputs_exist() -> None:
    with pytest.raises(AlgorithmError, match="g is there twice"):
        validate(algorithm(G, G))
    with pytest.raises(AlgorithmError, match="the output q is not defined"):
        validate(Algorithm((G,), ("q",)))


def test_predicates_may_read_the_function_where_it_stands() -> None:
    def update(f: Function) -> Definition:
        where = expr("a < 3", a=at(f, "x", "y"))
        assert where.type == BOOL
        return Definition((var("x"), var("y")), (i32(1),), over(("r", 3), where=where))

    validate(f_with(update))
