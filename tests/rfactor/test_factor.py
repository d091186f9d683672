"""The pass by its print: the intermediate and the merge, for the reductions of the paper's section 3 and beyond."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rfactor.compiler.rfactor import Factored, factor
from rfactor.compiler.schedule.directives import Fuse, Split
from rfactor.compiler.split_domain import split_domain
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, Image, ReductionDomain
from rfactor.ir.algorithm_printer import show_function
from rfactor.ir.expr import Const, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.types import BOOL, I32, U8
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, Lifting
from rfactor.prover.infinity import MINUS_INFINITY
from rfactor.semantics.validity import Scope, validate_function
from tests.rfactor.programs import Recognize, answering, expr, extent, function, i32, over, read, reduction, var

A, B, IN = Image("a", I32, 1), Image("b", I32, 1), Image("in", U8, 2)
PIXEL = expr("i32(p)", p=read(IN, var("r.x"), var("r.y")))
BOTH = (("r.x", extent(IN, 0)), ("r.y", extent(IN, 1)))
ADD = answering("x0 + y0", "0")
MAX = answering("max(x0, y0)", "-2147483648")
ARGMIN = answering("min(x0, y0), select(x0 < y0, x1, y1)", "2147483647, 0", "left", False)
COMPLEX = answering("x0*y0 - x1*y1, x0*y1 + x1*y0", "1, 0")


def splitting(f: Function, *relations: Split | Fuse) -> Function:
    return replace(f, updates=(split_domain(f.updates[0], relations), *f.updates[1:]))


def shown(factored: Factored) -> list[str]:
    """The two functions as text; both are valid."""
    image_parameters = {n: Var(I32, n) for i in (A, B, IN) for d in range(2) for n in [f"{i.name}.extent.{d}"]}
    scope = Scope({}, {i.name: i for i in (A, B, IN)}, image_parameters)
    validate_function(factored.intermediate, scope)
    validate_function(factored.merged, replace(scope, functions={factored.intermediate.name: factored.intermediate}))
    lines = show_function(factored.intermediate).splitlines() + show_function(factored.merged).splitlines()
    return [line.strip() for line in lines]


def factored(f: Function, pairs: dict[str, str], recognize: Recognize) -> list[str]:
    return shown(factor(f, 0, tuple(pairs.items()), "intm", recognize=recognize))


SUM = reduction([i32(0)], ["x0 + v"], over(("r.x", extent(A, 0))), v=read(A, var("r.x")))
COMPLEX_PRODUCT = reduction(
    [i32(1), i32(0)],
    ["x0*v - x1*w", "x0*w + x1*v"],
    over(("r.x", extent(A, 0))),
    v=read(A, var("r.x")),
    w=read(B, var("r.x")),
)
HISTOGRAM = function(
    "f", ("i",), [i32(0)], lambda f: Definition((PIXEL,), (expr("h + 1", h=f.at((PIXEL,))),), over(*BOTH))
)


def argmin(loops: ReductionDomain) -> Function:
    v = read(A, var("r.x"))
    return reduction([i32(9), i32(-1)], ["min(x0, v)", "select(x0 < v, x1, r)"], loops, v=v, r=var("r.x"))


def test_a_sum_over_the_slices_of_a_split() -> None:
    assert factored(splitting(SUM, Split("r.x", "ro", "ri", 16)), {"ro": "u"}, ADD) == [
        "intm(u): i32",
        "intm(u) = 0",
        "intm(u) = intm(u) + a(u * 16 + ri) for ri in [0, 16) where u * 16 + ri < a.extent.0",
        "f(): i32",
        "f() = 0",
        "f() = f() + intm(ro) for ro in [0, (a.extent.0 + 15) // 16)",
    ]


def test_an_intermediate_is_factored_again_for_lanes() -> None:
    first = factor(splitting(SUM, Split("r.x", "ro", "ri", 64)), 0, (("ro", "u"),), "intm", recognize=ADD)
    inner = splitting(first.intermediate, Split("ri", "rio", "rii", 8))
    second = factor(inner, 0, (("rii", "v"),), "lanes", recognize=ADD)
    assert [line.strip() for line in show_function(second.intermediate).splitlines()] == [
        "lanes(u, v): i32",
        "lanes(u, v) = 0",
        (
            "lanes(u, v) = lanes(u, v) + a(u * 64 + (rio * 8 + v)) for rio in [0, 8) "
            "where u * 64 + (rio * 8 + v) < a.extent.0"
        ),
    ]
    assert [line.strip() for line in show_function(second.merged).splitlines()] == [
        "intm(u): i32",
        "intm(u) = 0",
        "intm(u) = intm(u) + lanes(u, rii) for rii in [0, 8)",
    ]


def test_a_histogram_merges_over_all_bins() -> None:
    assert factored(HISTOGRAM, {"r.y": "y"}, ADD) == [
        "intm(i, y): i32",
        "intm(i, y) = 0",
        "intm(i32(in(r.x, y)), y) = intm(i32(in(r.x, y)), y) + 1 for r.x in [0, in.extent.0)",
        "f(i): i32",
        "f(i) = 0",
        "f(i) = f(i) + intm(i, r.y) for r.y in [0, in.extent.1)",
    ]


def test_the_circular_maximum_keeps_its_predicate_in_the_intermediate() -> None:
    circle = expr("x*x + y*y <= 100", x=var("r.x"), y=var("r.y"))
    largest = reduction([i32(0)], ["max(x0, v)"], over(*BOTH, where=circle), v=PIXEL)
    assert factored(largest, {"r.y": "y"}, MAX) == [
        "intm(y): i32",
        "intm(y) = -2147483648",
        "intm(y) = max(intm(y), i32(in(r.x, y))) for r.x in [0, in.extent.0) where r.x * r.x + y * y <= 100",
        "f(): i32",
        "f() = 0",
        "f() = max(f(), intm(r.y)) for r.y in [0, in.extent.1)",
    ]


def test_a_complex_product_has_two_components() -> None:
    assert factored(splitting(COMPLEX_PRODUCT, Split("r.x", "ro", "ri", 4)), {"ri": "v"}, COMPLEX) == [
        "intm(v): i32, i32",
        "intm(v) = (1, 0)",
        (
            "intm(v) = (intm(v) * a(ro * 4 + v) - intm(v)[1] * b(ro * 4 + v), "
            "intm(v) * b(ro * 4 + v) + intm(v)[1] * a(ro * 4 + v)) "
            "for ro in [0, (a.extent.0 + 3) // 4) where ro * 4 + v < a.extent.0"
        ),
        "f(): i32, i32",
        "f() = (1, 0)",
        "f() = (f() * intm(ri) - f()[1] * intm(ri)[1], f() * intm(ri)[1] + f()[1] * intm(ri)) for ri in [0, 4)",
    ]


def test_argmin_over_outer_slices_that_always_see_an_element_needs_nothing_more() -> None:
    f = splitting(argmin(over(("r.x", extent(A, 0)))), Split("r.x", "ro", "ri", 16))
    assert factored(f, {"ro": "u"}, ARGMIN) == [
        "intm(u): i32, i32",
        "intm(u) = (2147483647, 0)",
        (
            "intm(u) = (min(intm(u), a(u * 16 + ri)), select(intm(u) < a(u * 16 + ri), intm(u)[1], u * 16 + ri)) "
            "for ri in [0, 16) where u * 16 + ri < a.extent.0"
        ),
        "f(): i32, i32",
        "f() = (9, -1)",
        (
            "f() = (min(f(), intm(ro)), select(f() < intm(ro), f()[1], intm(ro)[1])) "
            "for ro in [0, (a.extent.0 + 15) // 16)"
        ),
    ]


def test_a_left_identity_skips_slices_that_are_known_to_be_empty() -> None:
    f = reduction([i32(9), i32(-1)], ["min(x0, v)", "select(x0 < v, x1, r)"], over(*BOTH), v=PIXEL, r=var("r.x"))
    assert factored(f, {"r.y": "y"}, ARGMIN)[-1].endswith("for r.y in [0, in.extent.1) where 0 < in.extent.0")
    constant = reduction(
        [i32(9), i32(-1)], ["min(x0, v)", "select(x0 < v, x1, r)"], over(("r.x", 5), ("r.y", 3)), v=PIXEL, r=var("r.x")
    )
    assert factored(constant, {"r.y": "y"}, ARGMIN)[-1].endswith("for r.y in [0, 3)")


def test_a_left_identity_carries_a_flag_where_emptiness_depends_on_data() -> None:
    bright = expr("v > 3", v=read(A, var("r.x")))
    f = splitting(argmin(over(("r.x", 20), where=bright)), Split("r.x", "ro", "ri", 4))
    found = factor(f, 0, (("ro", "u"),), "intm", recognize=ARGMIN)
    assert found.intermediate.types == (I32, I32, BOOL)
    assert shown(found) == [
        "intm(u): i32, i32, bool",
        "intm(u) = (2147483647, 0, False)",
        (
            "intm(u) = (min(intm(u), a(u * 4 + ri)), select(intm(u) < a(u * 4 + ri), intm(u)[1], u * 4 + ri), True) "
            "for ri in [0, 4) where a(u * 4 + ri) > 3"
        ),
        "f(): i32, i32",
        "f() = (9, -1)",
        "f() = (min(f(), intm(ro)), select(f() < intm(ro), f()[1], intm(ro)[1])) for ro in [0, 5) where intm(ro)[2]",
    ]


def test_a_flag_serves_the_next_factoring_too() -> None:
    bright = expr("v > 3", v=read(A, var("r.x")))
    f = splitting(argmin(over(("r.x", 20), where=bright)), Split("r.x", "ro", "ri", 10), Split("ri", "rm", "rn", 5))
    outer = factor(f, 0, (("ro", "u"),), "intm", recognize=ARGMIN)
    inner = factor(outer.intermediate, 0, (("rm", "w"),), "part", recognize=ARGMIN)
    assert inner.intermediate.types == outer.intermediate.types
    assert show_function(inner.merged).splitlines()[-1].strip() == (
        "intm(u) = (min(intm(u), part(u, rm)), select(intm(u) < part(u, rm), intm(u)[1], part(u, rm)[1]), "
        "intm(u)[2] or part(u, rm)[2]) for rm in [0, 2) where part(u, rm)[2]"
    )


def test_left_hand_arguments_without_reduction_variables_stay_in_the_merge() -> None:
    f = function(
        "f", ("x", "c"), [i32(0)],
        lambda f: Definition(
            (var("x"), i32(3)),
            (expr("a + v", a=f.at((var("x"), i32(3))), v=PIXEL),),
            over(*BOTH),
        ),
    )  # fmt: skip
    assert factored(f, {"r.y": "u"}, ADD)[-1] == "f(x, 3) = f(x, 3) + intm(x, 3, r.y) for r.y in [0, in.extent.1)"


def test_the_merge_runs_in_the_order_of_the_domain_whatever_the_order_of_the_pairs() -> None:
    loops = over(("r", 2), ("s", 3), ("t", 4))
    f = reduction([i32(9), i32(-1)], ["min(x0, v)", "select(x0 < v, x1, r)"], loops, v=read(A, var("r")), r=var("r"))
    found = factored(f, {"s": "v", "t": "u"}, ARGMIN)
    assert found[0] == "intm(v, u): i32, i32"
    assert found[-1].endswith("intm(s, t)[1])) for t in [0, 4) for s in [0, 3)")


def test_factoring_every_loop_leaves_none_in_the_intermediate() -> None:
    assert factored(SUM, {"r.x": "u"}, ADD) == [
        "intm(u): i32",
        "intm(u) = 0",
        "intm(u) = intm(u) + a(u)",
        "f(): i32",
        "f() = 0",
        "f() = f() + intm(r.x) for r.x in [0, a.extent.0)",
    ]


def test_constants_of_the_operator_are_put_back() -> None:
    f = function(
        "f", ("x",), [i32(0)],
        lambda f: Definition(
            (var("x"),),
            (expr("a + v + k*a*v", a=f.at((var("x"),)), v=PIXEL, k=read(A, var("x"))),),
            over(*BOTH),
        ),
    )  # fmt: skip
    assert factored(f, {"r.y": "u"}, answering("x0 + y0 + a*x0*y0", "0"))[-1] == (
        "f(x) = f(x) + intm(x, r.y) + a(x) * f(x) * intm(x, r.y) for r.y in [0, in.extent.1)"
    )


def horner(update: Update) -> Answer:
    """`x*k + a` as the affine maps that it is made of."""
    assert list(map(str, update.components)) == ["x0 * 31 + a"]
    types = dict.fromkeys(("x0", "x1", "y0", "y1", "a"), I32)
    lift = Lifting(
        (I32, I32),
        parse_tuple("31, a", types, (I32, I32)),
        parse_tuple("x0*y0, x1*y0 + y1", types),
        parse_tuple("1, 0", types, (I32, I32)),
        parse_tuple("x0*y0 + y1", types),
    )
    return Answer(update, "lifted", lift=lift, commutative=False)


def test_a_lifted_intermediate_holds_the_richer_state() -> None:
    f = reduction([i32(7)], ["x0 * 31 + v"], over(("r.x", extent(A, 0))), v=read(A, var("r.x")))
    assert factored(splitting(f, Split("r.x", "ro", "ri", 16)), {"ro": "u"}, horner) == [
        "intm(u): i32, i32",
        "intm(u) = (1, 0)",
        "intm(u) = (intm(u) * 31, intm(u)[1] * 31 + a(u * 16 + ri)) for ri in [0, 16) where u * 16 + ri < a.extent.0",
        "f(): i32",
        "f() = 7",
        "f() = f() * intm(ro) + intm(ro)[1] for ro in [0, (a.extent.0 + 15) // 16)",
    ]


def largest_prefix(update: Update) -> Answer:
    """(sum, largest prefix sum), over the integers only: the second has no identity that its type can hold."""
    if update.meaning is Meaning.WRAP:
        return Answer(update, "not_associative", reason="it may overflow")
    answer = answering("x0 + y0, max(x0 + y1, x1)", "0, 0", "two-sided", False, data="a, a")(update)
    assert answer.identity is not None
    return replace(answer, identity=(answer.identity[0], MINUS_INFINITY))


def test_an_identity_that_the_type_cannot_hold_becomes_a_flag() -> None:
    v = read(A, var("r.x"))
    f = reduction([i32(0), i32(3)], ["x0 + v", "max(x0 + v, x1)"], over(("r.x", extent(A, 0))), v=v)
    f = splitting(f, Split("r.x", "ro", "ri", 16))
    found = factor(f, 0, (("ro", "u"),), "intm", recognize=largest_prefix, semantics=Meaning.MATH)
    assert shown(found) == [
        "intm(u): i32, i32, bool",
        "intm(u) = (0, 0, False)",
        (
            "intm(u) = (intm(u) + a(u * 16 + ri), select(intm(u)[2], max(intm(u) + a(u * 16 + ri), intm(u)[1]), "
            "a(u * 16 + ri)), True) for ri in [0, 16) where u * 16 + ri < a.extent.0"
        ),
        "f(): i32, i32",
        "f() = (0, 3)",
        ("f() = (f() + intm(ro), max(f() + intm(ro)[1], f()[1])) for ro in [0, (a.extent.0 + 15) // 16)"),
    ]
    with pytest.raises(FactorError, match="it may overflow"):
        factor(f, 0, (("ro", "u"),), "intm", recognize=largest_prefix)


def test_what_reads_a_component_without_an_identity_has_none_either() -> None:
    """The third reads the second, which reads the first."""

    def recognize(update: Update) -> Answer:
        answer = answering("max(x0, y0), max(x1, y1), max(x2, y2)", "0, 0, 0", data="a, a, a")(update)
        assert answer.identity is not None
        return replace(answer, identity=(MINUS_INFINITY, *answer.identity[1:]))

    v = read(A, var("r.x"))
    f = reduction([i32(0)] * 3, ["max(x0, v)", "max(x1, x0)", "max(x2, x1)"], over(("r.x", extent(A, 0))), v=v)
    f = splitting(f, Split("r.x", "ro", "ri", 16))
    step = shown(factor(f, 0, (("ro", "u"),), "intm", recognize=recognize))[2]
    assert step.count("select(intm(u)[3], ") == 3


def test_a_flag_that_the_function_has_keeps_its_place() -> None:
    """It says that an element was seen, and is neither first nor last in the intermediate's state."""

    def update(f: Function) -> Definition:
        sums = [expr("s + v", s=f.at((), c), v=read(A, var("r.x"))) for c in (0, 2)]
        return Definition((), (sums[0], Const(BOOL, True), sums[1]), over(("r.x", extent(A, 0))))

    f = function("f", (), [i32(0), Const(BOOL, False), i32(0)], update)
    f = splitting(f, Split("r.x", "ro", "ri", 16))
    assert factored(f, {"ro": "u"}, answering("x0 + y0, x1 + y1", "0, 0"))[-1] == (
        "f() = (f() + intm(ro), f()[1] or intm(ro)[1], f()[2] + intm(ro)[2]) for ro in [0, (a.extent.0 + 15) // 16)"
    )


def test_without_an_identity_slices_start_from_their_first_element() -> None:
    recognize = answering("2 * x0 * y0", "0", "none", data="a")
    bright = expr("v > 3", v=read(A, var("r.x")))
    f = reduction([i32(1)], ["2 * x0 * v"], over(("r.x", 20), where=bright), v=read(A, var("r.x")))
    found = factor(splitting(f, Split("r.x", "ro", "ri", 4)), 0, (("ri", "v"),), "intm", recognize=recognize)
    assert shown(found) == [
        "intm(v): i32, bool",
        "intm(v) = (0, False)",
        (
            "intm(v) = (select(intm(v)[1], 2 * intm(v) * a(ro * 4 + v), a(ro * 4 + v)), True) "
            "for ro in [0, 5) where a(ro * 4 + v) > 3"
        ),
        "f(): i32",
        "f() = 1",
        "f() = 2 * f() * intm(ri) for ri in [0, 4) where intm(ri)[1]",
    ]


def test_an_intermediate_that_knows_where_it_is_read_needs_no_ordinal() -> None:
    f = splitting(argmin(over(("r.x", extent(A, 0)))), Split("r.x", "ro", "ri", 64))
    recognize = answering(
        "min(x0, y0), select(x0 < y0, x1, y1)",
        "2147483647, 0",
        "left",
        False,
        data=lambda u: (u.components[0].children[1], u.components[1].children[2]),
    )
    first = factor(f, 0, (("ro", "u"),), "intm", recognize=recognize)
    inner = splitting(first.intermediate, Split("ri", "rio", "rii", 8))
    known = factor(inner, 0, (("rii", "v"),), "lanes", recognize=recognize, ranges=first.ranges)
    assert known.intermediate.types == (I32, I32)
    assert [*known.ranges] == ["u", "v"]
    unknown = factor(inner, 0, (("rii", "v"),), "lanes", recognize=recognize)
    assert unknown.intermediate.types == (I32, I32, I32)
