"""Loops note in which iteration a lane chose last, in place of what it chose; answers stay as they are."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import compile_pipeline
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.latest import latest
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast
from rfactor.ir.loopnest import Allocate, Broadcast, For, Let, Load, Ramp, ScalarArgument, Stmt, Store, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32, I64, U8, Type
from tests.codegen.reference import Interpreter, i32, i64, load, pipeline, ramp, sink, source, store, times, var

LANES = 4
AT = ramp(i64(0), 1, LANES)
GIVEN = source("a", U8), ScalarArgument("m", I32), ScalarArgument("n", I32), sink("f", I32), sink("g", I32)


def here(shift: int = 0) -> Expr:
    """Four elements of iteration r, which follow those of the iteration before."""
    at = apply("+", times(cast(I64, apply("-", var("r"), var("m"))), LANES), i64(shift))
    return load(U8, "a", Ramp(at, i64(1), LANES))


def fewer(shift: int = 0) -> Expr:
    return apply("<", here(shift), Broadcast(Const(U8, 90), LANES))


def chosen(buffer: str, new: Expr, condition: Expr | None = None) -> Store:
    old = load(new.type.element, buffer, AT)
    return store(buffer, AT, Op(old.type, "select", (fewer() if condition is None else condition, new, old)))


def together(*stores: Store) -> Stmt:
    """The stores, once all values are known."""
    result = block(*(Store(s.buffer, s.index, Var(s.value.type, f"{s.buffer}.value"), s.predicate) for s in stores))
    for s in reversed(stores):
        result = Let(f"{s.buffer}.value", s.value, result)
    return result


def loop(*body: Stmt, first: Expr | None = None, extent: Expr | None = None) -> For:
    return For(
        "r", var("m") if first is None else first, var("n") if extent is None else extent, "serial", block(*body)
    )


def own(body: Stmt) -> Stmt:
    """`body` over storage of its own, which begins as the outputs are and is stored into them."""
    for buffer in ("f", "g"):
        there, inside = Load(I32.with_lanes(LANES), buffer, AT), f"{buffer}.own"
        moved = Load(I32.with_lanes(LANES), inside, AT)
        body = Allocate(inside, I32, i32(LANES), block(store(inside, AT, there), body, store(buffer, AT, moved)))
    return body


ROW, COLUMN = Broadcast(var("m"), LANES), Broadcast(var("r"), LANES)
SPREAD = Ramp(times(var("r"), LANES), i32(1), LANES)


def test_the_iteration_is_noted_and_what_was_chosen_is_computed_afterwards() -> None:
    nest = loop(together(chosen("f", SPREAD), chosen("g", ROW)), first=i32(0), extent=i32(9))
    assert show_nest(latest(nest, frozenset("fg"))) == dedent("""\
        allocate f.latest[u8 * 4]
        f.latest[ramp(0, 1, 4)] = x4(0)
        for r in (0, 9):
          f.latest[ramp(0, 1, 4)] = select(a[ramp(i64(r - m) * 4 + 0, 1, 4)] < x4(90), x4(u8(r + 1)), f.latest[ramp(0, 1, 4)])
        f[ramp(0, 1, 4)] = select(f.latest[ramp(0, 1, 4)] != x4(0), (i32x4(f.latest[ramp(0, 1, 4)]) - x4(1)) * x4(4) + ramp(0, 1, 4), f[ramp(0, 1, 4)])
        g[ramp(0, 1, 4)] = select(f.latest[ramp(0, 1, 4)] != x4(0), x4(m), g[ramp(0, 1, 4)])
        """)  # fmt: skip  # noqa: E501


def test_nothing_but_a_1_is_noted_where_the_iteration_does_not_matter() -> None:
    """Two stores an iteration then, and loops of any length. What one that does not run would choose may be nowhere."""
    tail = together(chosen("f", ROW, fewer(2)), chosen("g", ROW, fewer(2)))
    text = show_nest(latest(loop(together(chosen("f", ROW), chosen("g", ROW)), tail), frozenset("fg")))
    assert text.count("x4(1)") == 2
    assert ".block" not in text
    assert text.startswith("if n > 0:\n")


@pytest.mark.parametrize(
    "nest",
    [
        loop(chosen("f", ROW), extent=i32(1)),  # longer afterwards than in the loop
        loop(chosen("f", COLUMN, apply("<", load(I32, "b", AT), ROW))),  # as many bits
        loop(chosen("h", ROW)),  # an array of the caller's
        loop(chosen("f", ROW), store("g", AT, load(I32, "f", AT))),  # what was chosen is read
        loop(chosen("f", ROW, apply("<", load(I32, "f", AT), COLUMN))),  # also by the condition
        loop(chosen("f", ROW), chosen("f", COLUMN)),  # two values
        loop(chosen("f", load(I32, "g", AT)), store("g", AT, COLUMN)),  # a value that changes
        loop(store("f", AT, Op(ROW.type, "select", (fewer(), ROW, COLUMN)))),  # it does not stay
        loop(chosen("f", apply("//", ROW, COLUMN))),  # what other iterations than the loop's may refuse
        For("r", i32(0), i32(9), "parallel", chosen("f", ROW)),
        loop(chosen("f", ROW), extent=load(I32, "f", i64(0))),  # the loop ends where the data say
    ],
    ids=range(11),
)
def test_other_loops_stay_as_they_are(nest: Stmt) -> None:
    assert latest(nest, frozenset("fg")) == nest


def test_conditions_that_read_what_changes_in_between_are_noted_apart() -> None:
    """They look the same."""
    least = load(U8, "k", AT)
    lower = Op(least.type, "min", (least, here()))
    smaller = apply("<", here(), least)
    body = block(together(store("k", AT, lower), chosen("f.own", COLUMN, smaller)), chosen("g.own", COLUMN, smaller))
    start = store("k", AT, Broadcast(Const(U8, 255), LANES))
    agrees(own(Allocate("k", U8, i32(LANES), block(start, loop(body)))), notes=2)


@pytest.mark.parametrize("note", [U8, Type("uint", 16)])
@pytest.mark.parametrize("new", [COLUMN, SPREAD])
def test_every_length_gives_the_same_bits(note: Type, new: Expr) -> None:
    """No iteration, fewer and more than a note can tell apart."""
    wide = Op(note.with_lanes(LANES), "cast", (here(),))
    few = apply("<", wide, Broadcast(Const(note, 2), LANES))
    agrees(own(loop(together(chosen("f.own", new, few), chosen("g.own", ROW, few)))), notes=1)


def agrees(nest: Stmt, notes: int) -> None:
    changed = latest(nest)
    assert show_nest(changed).count(".latest[u") == notes
    run = compile_pipeline(pipeline(changed, *GIVEN))
    random = np.random.default_rng(0)
    for n in (-1, 0, 1, 7, 254, 255, 256, 510, 511, 1100):
        for m in (0, -3, 100):
            values: dict[str, Any] = {
                "a": random.integers(0, 256, max(n, 0) * LANES + 4, np.uint8),
                "m": m,
                "n": n,
                "f": np.arange(LANES, dtype=np.int32),
                "g": np.arange(LANES, dtype=np.int32),
            }
            values["a"][max(n - 1, 0) * LANES] = 0  # the last iteration chooses
            expected = values | {name: values[name].copy() for name in "fg"}
            Interpreter(pipeline(nest, *GIVEN), expected)
            run(values)
            for name in "fg":
                np.testing.assert_array_equal(values[name], expected[name], err_msg=f"{n} iterations from {m}")


@pytest.mark.parametrize("change", ["<=", ">="])
@pytest.mark.parametrize(("width", "height", "depth"), [(64, 3, 2), (35, 300, 2), (16 * 520 + 3, 2, 2), (7, 5, 3)])
def test_positions_are_those_of_the_serial_loop(change: str, width: int, height: int, depth: int) -> None:
    a = hl.ImageParam(hl.UInt(8), 3)

    def made(lanes: int) -> Any:
        f, r = hl.Func("f"), hl.RDom([(2, width), (1, height), (0, depth)])
        f[()] = (hl.u8(200 if change == "<=" else 10), hl.i32(-1), hl.i32(-1), hl.i32(-1))
        best, at = f[()][0], a[r.x, r.y, r.z]
        new = at <= best if change == "<=" else best <= at
        value = hl.min(best, at) if change == "<=" else hl.max(best, at)
        f[()] = (value, *(hl.select(new, where, f[()][i + 1]) for i, where in enumerate((r.x, r.y, r.z))))
        if lanes:
            xo, xi, v = hl.RVar("xo"), hl.RVar("xi"), hl.Var("v")
            f.update(0).split(r.x, xo, xi, lanes)
            line = f.update(0).rfactor([(xi, v)])
            line.compute_root().vectorize(v)
            line.update(0).vectorize(v)
        return f

    found, expected = made(16), made(0)
    frozen = freeze(found)
    *_, (_, nest) = passes(frozen.algorithm, frozen.schedule)
    assert "latest" in show_nest(nest)
    random = np.random.default_rng(width).integers(0, 256, (depth, height + 1, width + 2)).astype(np.uint8)
    few = random % 3 + 20
    for data in (random, few, np.full_like(random, 20), np.full_like(random, 250), np.full_like(random, 1)):
        a.set(data)
        assert [x[()] for x in found.realize()] == [x[()] for x in expected.realize()]
