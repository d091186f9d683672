"""Stores under a mask become stores of all lanes where all lanes have been stored before, and nowhere else."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.masked import unmasked
from rfactor.ir.expr import Expr, Op, Var, apply
from rfactor.ir.loopnest import Allocate, Broadcast, For, If, Let, Ramp, ScalarArgument, Stmt, Store, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32
from tests.codegen.reference import Interpreter, i32, i64, load, pipeline, ramp, sink, source, store, var, wide

LANES = 4
FIRST = ramp(i64(0), 1, LANES)
SOME = apply("<", Ramp(i32(0), i32(1), LANES), Broadcast(var("n"), LANES))
OF_R = ramp(wide("r"), 1, LANES)
WHOLE = store("f", FIRST, Broadcast(i32(7), LANES))
GIVEN = source("a", I32), ScalarArgument("n", I32), sink("f", I32)


def added(index: Expr = FIRST, mask: Expr = SOME) -> Store:
    """`f[index] += a[index]` in the lanes of the mask."""
    one, more = load(I32, "f", index, mask), load(I32, "a", index, mask)
    return store("f", index, apply("+", one, more), mask)


def loop(body: Stmt, kind: Any = "serial", extent: Expr | None = None) -> For:
    return For("r", i32(0), i32(3) if extent is None else extent, kind, body)


def test_lanes_that_are_left_out_are_stored_as_they_were() -> None:
    assert show_nest(unmasked(block(WHOLE, loop(added())))) == dedent("""\
        f[ramp(0, 1, 4)] = x4(7)
        for r in (0, 3):
          f[ramp(0, 1, 4)] = select(ramp(0, 1, 4) < x4(n), f[ramp(0, 1, 4)] + a[ramp(0, 1, 4) if ramp(0, 1, 4) < x4(n)], f[ramp(0, 1, 4)])
        """)  # fmt: skip  # noqa: E501


def test_the_lanes_of_a_mask_are_those_of_a_choice() -> None:
    more, old = load(I32, "a", FIRST, SOME), load(I32, "f", FIRST, SOME)
    less = apply("<", more, old)
    for arms, condition in (((more, old), "n) and a"), ((old, more), "n) and not a")):
        chosen = store("f", FIRST, Op(old.type, "select", (less, *arms)), SOME)
        text = show_nest(unmasked(block(WHOLE, chosen)))
        assert text.count("select(") == 1
        assert condition in text.replace("(a", "a")


@pytest.mark.parametrize(
    "nest",
    [
        added(),  # nothing is known to be there
        block(added(), WHOLE),  # it comes too late
        block(store("f", ramp(i64(1), 1, LANES), Broadcast(i32(7), LANES)), added()),  # another place
        block(store("g", FIRST, Broadcast(i32(7), LANES)), added()),  # another buffer
        block(store("f", FIRST, Broadcast(i32(7), LANES), SOME), added(mask=apply("==", FIRST, FIRST))),
        block(loop(WHOLE, extent=var("n")), added()),  # perhaps no iteration
        block(If(apply("<", var("n"), i32(2)), WHOLE), added()),
        block(WHOLE, loop(added(), "parallel")),  # other threads may be there
        block(WHOLE, Allocate("f", I32, i32(LANES), added())),  # others of the same name
        block(
            store("f", ramp(wide("n"), 1, LANES), Broadcast(i32(7), LANES)),
            Let("n", i32(4), loop(added(ramp(wide("n"), 1, LANES)))),
        ),
        block(loop(store("f", OF_R, WHOLE.value)), loop(added(OF_R))),
        block(store("f", ramp(i64(0), 2, LANES), WHOLE.value), added(ramp(i64(0), 2, LANES))),  # not side by side
        # r is another one: inside a loop, after a loop, after a definition
        Let("r", i32(4), block(store("f", OF_R, WHOLE.value), loop(added(OF_R)))),
        Let("r", i32(4), block(loop(store("f", OF_R, WHOLE.value)), added(OF_R))),
        Let("r", i32(4), block(Let("r", i32(8), store("f", OF_R, WHOLE.value)), added(OF_R))),
    ],
    ids=range(15),
)
def test_other_masks_stay(nest: Stmt) -> None:
    assert unmasked(nest) == nest


def test_values_are_computed_before_the_first_store() -> None:
    """The second component sees what the first was."""
    old, more = load(I32, "f", FIRST, SOME), load(I32, "a", FIRST, SOME)
    at = ramp(i64(4), 1, LANES)
    second = Store("g", at, Var(old.type, "g.value"), SOME)
    both = block(Store("f", FIRST, Var(old.type, "f.value"), SOME), second)
    group = Let("f.value", apply("+", old, more), Let("g.value", apply("*", old, load(I32, "g", at, SOME)), both))
    nest = block(WHOLE, store("g", at, Broadcast(i32(3), LANES)), loop(group))
    changed = unmasked(nest)
    assert show_nest(changed).count("select(") == 2
    agrees(changed, nest)


def test_a_mask_that_reads_what_is_stored_before_it_stays() -> None:
    """The mask of the second component is asked for after the first is stored."""
    masked = apply("<", load(I32, "f", FIRST), Broadcast(i32(8), LANES))
    second = Store("g", FIRST, Broadcast(i32(1), LANES), masked)
    both = block(Store("f", FIRST, Var(I32.with_lanes(LANES), "f.value"), SOME), second)
    nest = block(WHOLE, store("g", FIRST, Broadcast(i32(3), LANES)), Let("f.value", Broadcast(i32(9), LANES), both))
    assert unmasked(nest) == nest


@pytest.mark.parametrize("kind", ["serial", "divided"])
def test_the_bits_are_those_of_the_mask(kind: str) -> None:
    def step(mask: Expr) -> Store:
        if kind == "serial":
            return added(mask=mask)
        return store("f", FIRST, apply("//", load(I32, "a", FIRST, mask), load(I32, "f", FIRST, mask)), mask)

    nest = block(WHOLE, loop(step(SOME)))
    changed = unmasked(nest)
    assert changed != nest
    agrees(changed, nest)


def agrees(changed: Stmt, nest: Stmt) -> None:
    """Every mask leaves the same bits in both."""
    given = *GIVEN, sink("g", I32)
    run = compile_pipeline(pipeline(changed, *given))
    for n in range(LANES + 1):
        expected: dict[str, Any] = {
            "a": np.array([5, -3, 2**31 - 1, 0], np.int32),
            "n": n,
            "f": np.arange(LANES, dtype=np.int32),
            "g": np.arange(2 * LANES, dtype=np.int32),
        }
        values = expected | {name: expected[name].copy() for name in "fg"}
        Interpreter(pipeline(nest, *given), expected)
        run(values)
        for name in "fg":
            np.testing.assert_array_equal(values[name], expected[name], err_msg=f"{n} lanes")


def test_rows_that_end_under_a_mask_store_all_lanes() -> None:
    """Of accumulators in lanes: 16 of each row of 35, then 3."""
    a, f, r = hl.ImageParam(hl.Int(32), 2), hl.Func("f"), hl.RDom([(0, 35), (0, 5)])
    f[()] = hl.i32(0)
    f[()] += a[r.x, r.y]
    xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
    f.update(0).split(r.x, xo, xi, 16)
    line = f.update(0).rfactor([(xi, v)])
    line.compute_root().vectorize(v)
    line.update(0).vectorize(v)
    frozen = freeze(f)
    *_, (_, nest) = passes(frozen.algorithm, frozen.schedule)
    assert "] if " not in show_nest(nest)
    data = np.arange(35 * 5, dtype=np.int32).reshape(5, 35) ** 2
    a.set(data)
    assert f.realize()[()] == data.sum()
