"""What is emitted once: values that loads give are shared until something is stored, and nothing that is printed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.pipeline import executable
from rfactor.ir.expr import Expr, apply
from rfactor.ir.loopnest import For, If, Let, Stmt, block
from rfactor.ir.types import I32
from tests.codegen.reference import add, check, i32, i64, load, pipeline, sink, store, var
from tests.codegen.test_statements import serial

x = hl.Var("x")


def loads(f: Any, type_: str) -> int:
    """Loads of elements of a type, before any pass."""
    return executable(f).initial_ir.count(f"load {type_},")


def test_components_share_what_they_read() -> None:
    a, f, r = hl.ImageParam(hl.UInt(8), 1), hl.Func("f"), hl.RDom([(0, 50)])
    f[()] = (hl.u8(255), hl.u8(0), hl.u8(0))
    best, here = f[()][0], a[r.x]
    f[()] = (hl.min(best, here), hl.select(here < best, here + 1, f[()][1]), f[()][2] ^ here ^ best)
    assert loads(f, "i8") == 4  # the element and three components
    data = np.random.default_rng(1).integers(0, 256, 50, np.uint8)
    a.set(data)
    least, place, bits = 255, 0, 0
    for v in map(int, data):
        least, place, bits = min(least, v), (v + 1) % 256 if v < least else place, bits ^ v ^ least
    assert [int(np.asarray(v)) for v in f.realize([])] == [least, place, bits]


def test_a_store_is_seen_by_what_reads_after_it() -> None:
    a, f, r = hl.ImageParam(hl.Int(16), 1), hl.Func("f"), hl.RDom([(0, 2)])
    f[x] = a[x]
    f[0] = f[0] + f[1]
    f[1] = f[0] + f[1]
    f[r.x] = f[1] + f[0]
    f.update(2).unroll(r.x)
    a.set(np.array([3, 4], np.int16))
    assert list(np.asarray(f.realize([2]))) == [18, 29]
    g = hl.Func("g")
    g[x] = a[0]
    g[r.x + 1] = hl.select(g[r.x] > 2, g[r.x] + g[0], g[0])
    assert list(np.asarray(g.realize([3]))) == [3, 6, 9]


def test_a_loop_reads_again_what_its_body_stores() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 9), (0, 3)])
    f[()] = hl.i32(1)
    f[()] = f[()] * 2 + r.x
    value = 1
    for _ in range(3):
        for k in range(9):
            value = value * 2 + k
    assert int(np.asarray(f.realize([]))) == np.int64(value).astype(np.int32)


FIRST = load(I32, "b", i64(0))
"""What is read before, in and after the part that changes it."""
THIRD = load(I32, "b", i64(2))


def twice(times: Expr) -> Stmt:
    """`b[0] += b[0] + i`, so often."""
    return serial("i", times, store("b", i64(0), add(add(FIRST, FIRST), var("i"))))


PARTS: dict[str, Stmt] = {
    "a loop": twice(i32(5)),
    "a loop that may not run": twice(add(FIRST, i32(2))),
    "a loop in a loop": serial("j", i32(3), twice(add(FIRST, i32(-3)))),
    "a loop that stores last": serial("i", i32(4), block(store("b", i64(1), FIRST), store("b", i64(0), var("i")))),
    "one arm": If(apply("==", load(I32, "b", i64(1)), FIRST), store("b", i64(0), i32(9))),
    "two arms": If(apply("==", load(I32, "b", i64(1)), FIRST), store("b", i64(0), i32(9)), store("b", i64(0), FIRST)),
    "an arm of a loop that never runs": If(
        apply("==", load(I32, "b", i64(1)), FIRST), Let("kept", THIRD, serial("i", i32(0), store("b", i64(0), i32(9))))
    ),
    "threads": For("j", i32(0), i32(1), "parallel", twice(i32(5))),
}


@pytest.mark.parametrize("what", sorted(PARTS))
def test_what_changes_a_value_makes_it_read_again(what: str) -> None:
    after = store("b", i64(2), add(FIRST, THIRD, var("before")))
    nest = pipeline(Let("before", add(FIRST, i32(1)), block(PARTS[what], after)), sink("b", I32))
    for values in ([3, 3, 3], [3, 4, 3], [-2, 0, 0]):
        check(nest, {"b": np.array(values, np.int32)})


def test_every_component_prints_for_itself(capsys: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("f")
    told = hl.print(x + 1, "seen")
    f[x] = (told, told * 2, told + x)
    f.realize([2])
    assert capsys.readouterr().out.split("\n")[:-1] == ["1 seen"] * 3 + ["2 seen"] * 3
