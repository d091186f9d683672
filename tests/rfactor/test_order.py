"""Operators that fail to commute only by ties: the serial order restored, shown by prints and proofs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rfactor.compiler.rfactor import Factored, factor
from rfactor.compiler.schedule.directives import Split
from rfactor.compiler.serial_choice import choices
from rfactor.compiler.split_domain import split_domain
from rfactor.ir.algorithm import Function, Image
from rfactor.ir.algorithm_printer import show_definition
from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import I32, I64
from rfactor.prover.operator import Operator
from tests.rfactor.programs import answering, expr, extent, i32, over, reached, read, reduction, var

A, B = Image("a", I32, 1), Image("b", I32, 1)
V, W = read(A, var("r")), read(B, var("r"))
LAST = "min(x0, y0), select(x0 < y0, x1, y1)"
FIRST = "min(x0, y0), select(y0 < x0, y1, x1)"


def lines(found: Factored) -> list[str]:
    return [
        *(show_definition(found.intermediate.name, stage) for stage in found.intermediate.stages),
        show_definition("f", found.merged.updates[0]),
    ]


def argmin(position: Expr, size: int | Expr, value: str = "select(x0 < v, x1, p)") -> Function:
    f = reduction([i32(9), i32(-1)], ["min(x0, v)", value], over(("r", size)), v=V, p=position)
    return replace(f, updates=(split_domain(f.updates[0], (Split("r", "ro", "ri", 16),)),))


def test_a_position_that_is_kept_tells_the_order() -> None:
    recognize = answering(LAST, "2147483647, 0", "left", False, data="a, ro * 16 + ri")
    found = factor(argmin(var("r"), extent(A, 0)), 0, (("ri", "v"),), "lanes", recognize=recognize)
    keeps = "select(lanes(0)[1] < lanes(lanes.ri)[1], lanes(0) < lanes(lanes.ri), lanes(lanes.ri) >= lanes(0))"
    assert lines(found) == [
        "lanes(v) = (2147483647, -2147483648)",
        (
            "lanes(v) = (min(lanes(v), a(ro * 16 + v)), select(lanes(v) < a(ro * 16 + v), lanes(v)[1], ro * 16 + v)) "
            "for ro in [0, (a.extent.0 + 15) // 16) where ro * 16 + v < a.extent.0"
        ),
        (
            f"lanes(0) = (select({keeps}, lanes(0), lanes(lanes.ri)), "
            f"select({keeps}, lanes(0)[1], lanes(lanes.ri)[1])) for lanes.ri in [1, 16)"
        ),
        (
            "f() = (min(f(), lanes(ri)), select(f() < lanes(ri), f()[1], lanes(ri)[1])) "
            "for ri in [0, 1) where lanes(ri)[1] != -2147483648"
        ),
    ]


def test_a_payload_that_repeats_gets_an_ordinal() -> None:
    recognize = answering(LAST, "2147483647, 0", "left", False, data="a, b")
    found = factor(argmin(W, 100), 0, (("ri", "v"),), "lanes", recognize=recognize)
    assert found.intermediate.types == (I32, I32, I32)
    assert lines(found)[0] == "lanes(v) = (2147483647, 0, -1)"
    assert "select(lanes(v) < a(ro * 16 + v), lanes(v)[2], ro * 16 + v)) for ro in [0, 7)" in lines(found)[1]
    assert lines(found)[3].endswith("for ri in [0, 1) where lanes(ri)[2] >= 0")


def test_ordinals_are_wide_where_the_domain_is_not_known_to_be_small() -> None:
    recognize = answering(LAST, "2147483647, 0", "left", False, data="a, b")
    found = factor(argmin(W, extent(A, 0)), 0, (("ri", "v"),), "lanes", recognize=recognize)
    assert found.intermediate.types == (I32, I32, I64)


def lanes(position: str) -> Factored:
    """Last smallest value with a payload computed from the position."""
    f = argmin(expr(position, I32, r=var("r")), extent(A, 0))
    recognize = answering(LAST, "2147483647, 0", "left", False, reached)
    return factor(f, 0, (("ri", "v"),), "lanes", recognize=recognize)


@pytest.mark.parametrize("position", ["5 - r", "r * 2147483", "r + 3", "r % 8", "r ^ 1", "r ^ -2147483648", "3"])
def test_payloads_that_may_run_backwards_do_not_tell_the_order(position: str) -> None:
    assert lanes(position).intermediate.types == (I32, I32, I64)


@pytest.mark.parametrize("position", ["r", "r // 2", "select(r > 5, r, 5)"])
def test_payloads_that_never_run_backwards_tell_the_order(position: str) -> None:
    """Where two positions have one payload, it does not matter which is kept."""
    assert lanes(position).intermediate.types == (I32, I32)


def test_with_a_two_sided_identity_nothing_tells_empty_slices_apart() -> None:
    data = "a, select(a < 2147483647, ro * 16 + ri, 0)"
    recognize = answering(FIRST, "2147483647, 0", "two-sided", False, data=data)
    f = argmin(var("r"), extent(A, 0), "select(v < x0, p, x1)")
    found = factor(f, 0, (("ri", "v"),), "lanes", recognize=recognize)
    assert lines(found)[0] == "lanes(v) = (2147483647, 0)"
    assert lines(found)[3].endswith("for ri in [0, 1)")


def test_the_merge_visits_nothing_where_the_factored_loop_is_empty() -> None:
    f = reduction([i32(9)], ["v"], over(("r", extent(A, 0)), ("s", 3)), v=V)
    recognize = answering("y0", "0", "left", False, data="a")
    found = factor(f, 0, (("r", "u"),), "slices", recognize=recognize)
    assert lines(found)[2].endswith("for slices.r in [1, a.extent.0)")
    assert lines(found)[3] == "f() = slices(r) for r in [0, min(a.extent.0, 1)) where slices(r)[1] >= 0"


def test_several_factored_loops_leave_out_the_first_slice() -> None:
    f = reduction([i32(9)], ["v"], over(("r", 4), ("s", 3), ("t", 2)), v=V)
    recognize = answering("y0", "0", "left", False, data="a")
    found = factor(f, 0, (("r", "u"), ("t", "w")), "slices", recognize=recognize)
    assert lines(found)[2].endswith(
        "for slices.t in [0, 2) for slices.r in [0, 4) where not (slices.r == 0 and slices.t == 0)"
    )


def operator(text: str) -> Operator:
    names = {f"{side}{i}": I32 for side in "xy" for i in range(6)}
    components = parse_tuple(text, names)
    return Operator(components, (I32,) * len(components))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x0 + y0, max(x1, y1)", []),
        (LAST, [((0, 1), "x0 < y0")]),
        (FIRST, [((0, 1), "not y0 < x0")]),
        ("y0", [((0,), "False")]),
        ("x0", [((0,), "True")]),
        ("select(x1 > y1, x0, y0), max(x1, y1), x2 + y2", [((0, 1), "x1 > y1")]),
        (
            "max(x0, y0), select(x0 > y0, x1, y1), select(x0 >= y0, x2, y2)",
            [((0, 1), "x0 > y0"), ((0, 2), "x0 >= y0")],
        ),
        (
            "select(x0 < y0 or x0 == y0 and x1 <= y1, x0, y0), min(x0, y0), x2 * y2",
            [],
        ),
    ],
)
def test_choices_are_found(text: str, found: list[tuple[tuple[int, ...], str]]) -> None:
    made = choices(operator(text))
    assert made is not None
    assert [(choice.components, show(choice.keeps)) for choice in made] == found


@pytest.mark.parametrize(
    "text",
    [
        "x0 * y0, x1 * y0 + y1",
        "min(max(x0, 3), y0)",
        "select(x0 != y0, x0, y0), select(x0 != y0, x1, y1)",
        "select(x0 - y0 < 3, x0, y0), select(x0 - y0 < 3, x1, y1)",
        "x0 - y0",
        "min(x0, y0), select(x0 < y0, x1, y1 + 1)",
        "min(x0, y0), select(x0 < y0, x1, y1), x2 + y2 + x1 - x1 * y1",
    ],
)
def test_more_than_ties_is_refused(text: str) -> None:
    assert choices(operator(text)) is None
