"""What runs for microseconds beside a parallel loop stays in the entry; what may run for long has its own function."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import compile_pipeline, generate, passes_for
from rfactor.compiler.codegen.pains import heavy, launches, together
from rfactor.compiler.pipeline import executable
from rfactor.errors import BufferError
from rfactor.ir.expr import apply
from rfactor.ir.loopnest import Assert, For, If, LoopKind, Produce, Stmt, block
from rfactor.ir.types import I32
from tests.codegen.reference import TRUE, add, check, i32, i64, load, pipeline, sink, store, var, wide


def loop(count: Any, kind: LoopKind = "serial", name: str = "i", body: Stmt | None = None) -> For:
    """`b[i] = b[i] + i`."""
    own = store("b", wide(name), add(load(I32, "b", wide(name)), var(name)))
    return For(name, i32(0), i32(count) if isinstance(count, int) else count, kind, own if body is None else body)


def functions(body: Stmt) -> list[str]:
    lowered = pipeline(body, sink("b", I32))
    return re.findall(r'(?m)^define .*@"([^"]*)"', generate(lowered, passes_for(lowered))[0])


def test_loops_of_some_runs_have_a_function_of_their_own() -> None:
    some = apply("<", load(I32, "b", i64(0)), i32(3))
    assert functions(If(some, loop(5_000)))[1:] == ["pipeline.body", "case"]
    assert functions(If(some, If(some, loop(9_000))))[1:] == ["pipeline.body", "case"]
    again = loop(5_000, body=store("b", i64(0), add(load(I32, "b", i64(0)), var("i"))))
    for stays in (loop(5_000), If(some, loop(50)), If(some, again), loop(5, name="j", body=If(some, loop(5_000)))):
        assert functions(stays)[1:] == ["pipeline.body"]


def test_what_is_heavy() -> None:
    assert not heavy(loop(100))
    assert heavy(loop(100_000))
    assert heavy(loop(var("n")))
    assert heavy(loop(2, body=loop(2, "parallel", "j")))
    assert not heavy(For("i", i32(0), var("n"), "serial", store("b", wide("i"), i32(0))))  # one call
    assert not heavy(loop(-5, body=loop(var("n"), name="j")))


def test_what_launches() -> None:
    assert launches(Produce("f", If(TRUE, loop(4, "parallel"))))
    assert launches(Assert(TRUE, "holds", ()))
    assert not launches(loop(2, body=loop(4, "parallel", "j")))


def test_neighbours_that_are_heavy_are_one() -> None:
    light, long, starts = loop(3), loop(var("n")), loop(4, "parallel")
    assert together([long, long, light, long, starts, long]) == [block(long, long), light, long, starts, long]


@pytest.mark.parametrize(
    ("body", "own"),
    [
        (block(loop(50), loop(8, "parallel", "j"), loop(50)), []),
        (block(loop(1_200), loop(8, "parallel", "j"), loop(50)), ["part"]),
        (block(loop(1_200), loop(1_100), loop(8, "parallel", "j"), loop(1_100)), ["part", "part.1"]),
        (If(TRUE, block(loop(8, "parallel", "j"), Produce("f", loop(1_100)))), ["part"]),
        (block(loop(8, "parallel", "j"), loop(2, name="k", body=loop(8, "parallel", "j"))), ["part", "j.launch"]),
        (loop(1_200), ["pipeline.body"]),
        (loop(10), ["pipeline.body"]),
    ],
)
def test_functions_and_values(body: Stmt, own: list[str]) -> None:
    assert [name for name in functions(body)[1:] if not name.startswith("j.body")] == own
    check(pipeline(body, sink("b", I32)), {"b": np.arange(1_200, dtype=np.int32)})


@pytest.mark.parametrize(("first", "fails"), [(7, False), (6, True)])
def test_checks_are_made_in_the_entry(first: int, fails: bool) -> None:
    asked = Assert(apply("==", load(I32, "b", i64(0)), i32(7)), "begins with {}", (load(I32, "b", i64(0)),))
    run = compile_pipeline(pipeline(block(asked, loop(8, "parallel", "j"), loop(1_100)), sink("b", I32)))
    values = np.full(1_100, first, np.int32)
    if fails:
        with pytest.raises(BufferError, match="begins with 6"):
            run({"b": values})
        assert (values == 6).all()
        return
    run({"b": values})
    assert values[:10].tolist() == [7 + 2 * i for i in range(8)] + [7 + 8, 7 + 9]


def test_a_merge_of_few_is_in_the_entry() -> None:
    data = hl.Buffer(np.arange(1 << 12, dtype=np.int32))
    f, r, u = hl.Func("f"), hl.RDom([(0, 1 << 12)], "r"), hl.Var("u")
    f[()] = hl.i32(0)
    f[()] += data[r.x]
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).split(r.x, outer, inner, 1 << 8)
    f.update(0).rfactor([(outer, u)]).compute_root().update(0).parallel(u)
    found = re.findall(r'(?m)^define .*@"([^"]*)"', executable(f).initial_ir)
    assert [name for name in found if "part" in name or "launch" in name] == []
    assert len(found) == 3
    assert int(np.asarray(f.realize())) == (1 << 12) * ((1 << 12) - 1) // 2
