"""Vector indices by quotients and remainders: which dense loads they become, and what those touch."""

from __future__ import annotations

import numpy as np
import pytest

from rfactor.compiler.codegen.lanes import Turns, shared, turns
from rfactor.compiler.codegen.module import compile_pipeline, generate
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Const, Expr, Op, cast
from rfactor.ir.loopnest import Broadcast, Load, Ramp, ScalarArgument
from rfactor.ir.types import BOOL, I32, I64, U8, Type
from rfactor.native.engine import host
from tests.codegen.reference import add, i32, i64, load, pipeline, ramp, sink, source, store, var, wide
from tests.codegen.test_pages import Guarded

LANES = 8


def divided(op: str, start: Expr, count: int, stride: int = 1) -> Expr:
    """`i64x8(ramp(start, stride, 8) op count)`."""
    quotient = Op(I32.with_lanes(LANES), op, (Ramp(start, i32(stride), LANES), Broadcast(i32(count), LANES)))
    return Op(I64.with_lanes(LANES), "cast", (quotient,))


def every(value: Expr) -> Expr:
    return Broadcast(value, LANES)


def total(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = Op(result.type, "+", (result, term))
    return result


def twice(expr: Expr) -> Expr:
    return Op(expr.type, "*", (expr, every(i64(2))))


def test_the_lanes_of_a_quotient_are_in_turn() -> None:
    found = turns(total(every(wide("s")), divided("//", var("m"), 2)))
    assert found is not None
    assert [*map(str, found.starts)] == ["i64(s) + i64(m // 2)", "i64(s) + i64((m + 1) // 2)"]
    assert found.step == 1
    assert turns(divided("//", var("m"), 2, 2)) == Turns((cast(I64, Op(I32, "//", (var("m"), i32(2)))),), 1)


def test_so_are_those_of_a_quotient_in_i64() -> None:
    quotient = Op(I64.with_lanes(LANES), "//", (Ramp(wide("m"), i64(1), LANES), every(i64(2))))
    found = turns(total(every(wide("s")), quotient))
    assert found is not None
    assert [*map(str, found.starts)] == ["i64(s) + i64(m) // 2", "i64(s) + (i64(m) + 1) // 2"]
    assert found.step == 1


def test_quotients_and_remainders_go_together() -> None:
    """As `x // 2 - 1 + 2 * (x % 2)` has them, whose remainder is of another start."""
    there = add(var("m"), Op(I32, "*", (var("s"), i32(8))), i32(1))
    index = total(divided("//", var("m"), 2), every(i64(-1)), twice(divided("%", there, 2)))
    found = turns(index)
    assert found is not None
    assert [*map(str, found.starts)] == [
        "i64(m // 2) + i64((m + s * 8 + 1) % 2) * 2 - 1",
        "i64((m + 1) // 2) + i64((m + s * 8 + 2) % 2) * 2 - 1",
    ]
    assert found.step == 1


@pytest.mark.parametrize(
    "index",
    [
        Ramp(wide("m"), i64(2), LANES),  # no quotient: dense and strided loads have their own rule
        divided("//", var("m"), 5),  # the turns are too many
        divided("//", Load(I32, "a", i64(0)), 2),  # sums of data wrap around
        total(divided("//", var("m"), 2), Ramp(i64(0), wide("n"), LANES)),  # a stride of any size
    ],
    ids=str,
)
def test_lanes_that_depend_on_more_are_not_in_turn(index: Expr) -> None:
    assert turns(index) is None


def test_what_all_lanes_share_is_apart() -> None:
    lane = Op(I64.with_lanes(LANES), "cast", (Load(I32.with_lanes(LANES), "a", ramp(i64(0), 1, LANES)),))
    base, vector = shared(Op(I64.with_lanes(LANES), "-", (total(every(wide("m")), lane), every(i64(3)))))
    assert (str(base), vector) == ("i64(m) - 3", lane)
    assert shared(every(wide("m"))) == (wide("m"), None)
    base, vector = shared(Op(I64.with_lanes(LANES), "-", (every(wide("m")), twice(lane))))
    assert base == wide("m")
    assert str(vector) == f"-({lane} * broadcast(2))"


def indices() -> list[tuple[str, Expr]]:
    m = var("m")
    result = [
        (f"{op}{count}*{stride}", divided(op, m, count, stride))
        for op in ("//", "%")
        for count in (1, 2, 3, 4, 5)
        for stride in (1, 2, -1)
    ]
    larger = total(divided("//", m, 2), every(i64(-1)), twice(divided("%", m, 2)))
    skewed = total(ramp(i64(0), 1, LANES), divided("//", add(m, i32(1)), 2))
    far = total(divided("//", m, 2), *[twice(twice(divided("%", m, 2)))] * 3)
    return [*result, ("larger", larger), ("skewed", skewed), ("far", far)]


@pytest.mark.parametrize("index", [index for _, index in indices()], ids=[name for name, _ in indices()])
@pytest.mark.parametrize("type", [U8, I32], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_each_lane_has_its_element_and_nothing_beyond_them_is_touched(masked: bool, type: Type, index: Expr) -> None:
    """For every residue, of starts below zero too; what is wanted first and last ends the array. Lanes that are masked
    are zero."""
    guarded, lane, wanted = Guarded(), np.arange(LANES), index

    moved = total(wanted, every(cast(I64, var("low"))))
    among = Op(BOOL.with_lanes(LANES), "<", (Ramp(var("first"), i32(1), LANES), every(i32(LANES)))) if masked else None
    body = store("b", ramp(i64(0), 1, LANES), load(type, "a", moved, among))
    scalars = (ScalarArgument(name, I32) for name in ("m", "low", "first"))
    run = compile_pipeline(pipeline(body, source("a", type), *scalars, sink("b", type)))
    for start in range(-5, 8):
        for first in (1, 4, 7) if masked else (0,):
            at = _evaluated(wanted, start, lane)
            asked = at[: LANES - first]
            low = asked.min()
            for at_end in (True, False):
                a, b = guarded.array(type, int(asked.max() - low) + 1, at_end), np.ones(LANES, dtype_of(type))
                run({"a": a, "b": b, "m": start, "low": -int(low), "first": first})
                np.testing.assert_array_equal(b, [*a[asked - low], *[0] * first])


def _evaluated(expr: Expr, m: int, lane: np.ndarray) -> np.ndarray:
    if isinstance(expr, Const):
        return np.asarray(expr.value)
    if isinstance(expr, Broadcast):
        return _evaluated(expr.value, m, lane)
    if isinstance(expr, Ramp):
        return _evaluated(expr.base, m, lane) + _evaluated(expr.stride, m, lane) * lane
    if isinstance(expr, Op):
        args = [_evaluated(arg, m, lane) for arg in expr.args]
        if expr.op == "cast":
            return args[0]
        operations = {"+": np.add, "*": np.multiply, "//": np.floor_divide, "%": np.mod}
        return np.asarray(operations[expr.op](*args))
    return np.asarray(m)


@pytest.mark.parametrize("masked", [False, True])
def test_a_quotient_is_not_gathered(masked: bool) -> None:
    index = total(every(wide("m")), divided("//", var("m"), 2))
    inside = Op(BOOL.with_lanes(LANES), "<", (Ramp(var("m"), i32(1), LANES), every(i32(9)))) if masked else None
    body = store("b", ramp(i64(0), 1, LANES), load(I32, "a", index, inside))
    whole = pipeline(body, source("a", I32), ScalarArgument("m", I32), sink("b", I32))
    assert "gather" not in generate(whole, host())[0]
