"""The interpreter of loop nests: what correct nests give, and every fault that it is there to find."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.errors import BufferError
from rfactor.ir.algorithm import Algorithm, Definition, Function
from rfactor.ir.expr import Call, Const, Expr, Var, apply
from rfactor.ir.loopnest import (
    Allocate,
    Assert,
    Atomic,
    For,
    Layout,
    Load,
    Provide,
    Realize,
    Stmt,
    Store,
    block,
    plain_layout,
)
from rfactor.ir.types import BOOL, I32, I64
from rfactor.semantics.interpreter import interpret
from rfactor.semantics.memory import Fault
from rfactor.semantics.nest import TooLong, interpret_nest

X = Var(I32, "x")
ALWAYS = Const(BOOL, True)
PURE = Definition((X,), (X,))
LINE = Algorithm((Function("f", ("x",), (I32,), PURE), Function("g", ("x",), (I32,), PURE)), ("f",))


def number(value: int) -> Const:
    return Const(I32, value)


def loop(body: Stmt, extent: int = 4, kind: Any = "serial", name: str = "x") -> For:
    return For(name, number(0), number(extent), kind, body)


def g(at: Expr) -> Call:
    return Call(I32, "g", (at,), "func")


def plus(a: Expr, value: int) -> Expr:
    return apply("+", a, number(value))


def run(body: Stmt, extent: int = 4, *, flat: bool = False, steps: int = 10**5) -> list[int]:
    found: list[int] = interpret_nest(body, LINE, {}, {}, {"f": ((0, extent),)}, flat=flat, steps=steps)["f"][
        0
    ].tolist()
    return found


def with_g(body: Stmt, low: int = 0, extent: int = 4, layout: Layout | None = None) -> Realize:
    return Realize("g", (I32,), ((number(low), number(extent)),), body, layout or plain_layout(1))


FILL = loop(Provide("g", (X,), (X,)))


@pytest.mark.parametrize("kind", ["serial", "parallel", "vectorized", "unrolled"])
def test_a_loop_writes_every_point(kind: str) -> None:
    assert run(loop(Provide("f", (X,), (plus(X, 1),)), kind=kind)) == [1, 2, 3, 4]


def test_storage_holds_what_was_written() -> None:
    assert run(with_g(block(FILL, loop(Provide("f", (X,), (g(X),)))))) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (with_g(block(FILL, loop(Provide("f", (X,), (g(plus(X, 1)),))))), "read at (4,), outside"),
        (with_g(FILL, extent=3), "written at (3,), outside"),
        (with_g(loop(Provide("f", (X,), (g(X),)))), "where nothing was written"),
        (loop(Provide("f", (X,), (X,)), 3), "never written at (3,)"),
    ],
)
def test_what_no_nest_may_do_is_a_fault(body: Stmt, message: str) -> None:
    with pytest.raises(Fault) as fault:
        run(body)
    assert message in str(fault.value)


def test_a_folded_cell_holds_one_point() -> None:
    folded = Layout((0,), (1,), (2,))
    near = loop(block(Provide("g", (X,), (X,)), Provide("f", (X,), (g(X),))))
    assert run(with_g(near, layout=folded)) == [0, 1, 2, 3]
    with pytest.raises(Fault, match="folded storage holds"):
        run(with_g(block(FILL, loop(Provide("f", (X,), (g(X),)))), layout=folded))


@pytest.mark.parametrize("kind", ["parallel", "vectorized"])
def test_iterations_at_once_share_no_cell(kind: str) -> None:
    total = Provide("g", (number(0),), (plus(g(number(0)), 1),))
    first, last = Provide("g", (number(0),), (number(0),)), loop(Provide("f", (X,), (g(number(0)),)), 1)
    assert run(with_g(block(first, loop(total), last)), 1) == [4]
    assert run(with_g(block(first, loop(Atomic(total, True), kind=kind), last)), 1) == [4]
    with pytest.raises(Fault, match="two iterations that run at once"):
        run(with_g(block(first, loop(total, kind=kind), last)), 1)
    read = loop(Provide("f", (X,), (g(plus(X, 1)),)), 3, kind)
    assert run(with_g(block(FILL, read)), 3) == [1, 2, 3], "many may read"
    shifted = loop(block(Provide("g", (X,), (X,)), Provide("f", (X,), (g(number(0)),))), kind=kind)
    with pytest.raises(Fault, match="two iterations that run at once"):
        run(with_g(block(FILL, shifted)))


def test_storage_within_an_iteration_is_its_own() -> None:
    own = with_g(block(Provide("g", (number(0),), (X,)), Provide("f", (X,), (g(number(0)),))))
    assert run(loop(own, kind="parallel")) == [0, 1, 2, 3]


def test_flat_storage_ends_where_it_ends() -> None:
    def nest(size: int) -> Stmt:
        at = apply("-", Var(I64, "i"), Const(I64, 0))
        put = Store("g.0", at, Const(I32, 7), ALWAYS)
        take = Store("f.0", at, Load(I32, "g.0", at), ALWAYS)
        loops = For("i", number(0), number(4), "serial", block(put, take))
        return Allocate("g.0", I32, Const(I64, size), loops)

    assert run(nest(4), flat=True) == [7] * 4
    with pytest.raises(Fault, match="outside of its storage"):
        run(nest(3), flat=True)


def test_checks_and_limits() -> None:
    with pytest.raises(BufferError, match="no 3"):
        run(Assert(Const(BOOL, False), "no {}", (number(3),)))
    with pytest.raises(TooLong):
        run(loop(Provide("f", (X,), (X,))), steps=2)


def pipeline() -> Any:
    """A window of three rows that slides, in parallel strips and vectors."""
    x, y, yo, yi = hl.Var("x"), hl.Var("y"), hl.Var("yo"), hl.Var("yi")
    a = hl.Buffer(np.arange(70, dtype=np.int16).reshape(7, 10) ** 2 % 51, name="a")
    p, q, r = hl.Func("p"), hl.Func("q"), hl.RDom([(0, 3)], "r")
    p[x, y] = a[hl.clamp(x, 0, 9), hl.clamp(y, 0, 6)] * 3
    q[x, y] = p[x, y - 1] - p[x, y + 1]
    q[x, y] += hl.i16(r.x) * 3
    q.split(y, yo, yi, 4).parallel(yo).vectorize(x, 4)
    q.update(0).vectorize(x, 4)
    p.compute_at(q, yi).store_at(q, yo).vectorize(x, 8)
    return q


def nests(f: Any) -> Mapping[str, Stmt]:
    frozen = freeze(f)
    return dict(passes(frozen.algorithm, frozen.schedule))


@pytest.mark.parametrize("stage", ["bounds", "storage", "tidy", "partition", "vectorize", "final"])
def test_the_nest_of_a_schedule_says_what_the_algorithm_says(stage: str) -> None:
    from tests.fuzz.execute import given

    f, box = pipeline(), ((0, 9), (0, 7))
    frozen = freeze(f)
    inputs, parameters = given(frozen)
    said = interpret(frozen.algorithm, inputs, parameters, {f.name(): box})
    nest = nests(f)[stage]
    found = interpret_nest(nest, frozen.algorithm, inputs, parameters, {f.name(): box}, flat=stage != "bounds")
    assert np.array_equal(said[f.name()][0], found[f.name()][0])


def test_a_nest_with_storage_that_is_too_small_is_caught() -> None:
    from tests.fuzz.execute import given

    f, box = pipeline(), ((0, 9), (0, 7))
    frozen = freeze(f)
    inputs, parameters = given(frozen)

    def smaller(stmt: Any) -> Any:
        if isinstance(stmt, Realize):
            (first, (low, extent)) = stmt.bounds
            return replace(stmt, bounds=(first, (low, apply("-", extent, number(1)))))
        if hasattr(stmt, "statements"):
            return replace(stmt, statements=tuple(map(smaller, stmt.statements)))
        return replace(stmt, body=smaller(stmt.body)) if hasattr(stmt, "body") else stmt

    with pytest.raises(Fault, match="outside of its storage"):
        interpret_nest(smaller(nests(f)["bounds"]), frozen.algorithm, inputs, parameters, {f.name(): box}, flat=False)
