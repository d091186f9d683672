"""Printing from inside a pipeline: what is written, where, and that values do not change."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, FactorError, TypeMismatch
from tests.compiler.pipelines import expected

x = hl.Var("x")
LINES = {
    "hl.print(x, 'is x')": 2,
    "hl.print(x)": 2,
    "hl.print(x, '100% of {', hl.f32(x) / 3, '}', hl.f64(x) / 3)": 2,
    "hl.print(hl.u8(x) + 250, hl.i64(x) * 10**12, x > 0, 'a', hl.u64(x), -1.5 * hl.f32(x), hl.i8(x) - 3)": 2,
    "hl.print_when(x == 1, x * 10, 'hit', x) + 1": 4,
    "hl.print(x, hl.Expr('a text'), x, hl.Expr('{}'))": 2,
    "hl.print_when(x > 0, x, hl.Expr('hi'), 'there')": 2,
    "hl.select(x > 1, hl.print(x, 'both are computed'), x)": 3,
}


def written(api: Any, text: str, size: int, capfd: pytest.CaptureFixture[str]) -> tuple[list[str], list[int]]:
    v, f = api.Var("x"), api.Func("f")
    f[v] = eval(text, {"hl": api, "x": v})
    capfd.readouterr()
    values = np.array(f.realize([size])).tolist()
    return capfd.readouterr().out.splitlines(), values


def test_lines_go_where_python_prints() -> None:
    f = hl.Func("f")
    f[x] = hl.print(hl.u8(x), "is", 1, "and", hl.f32(3.1415), "saw")
    with contextlib.redirect_stdout(io.StringIO()) as output:
        f.realize(hl.Buffer(hl.UInt(8), [1]))
    assert output.getvalue() == "0 is 1 and 3.141500 saw\n"


@pytest.mark.parametrize("text", LINES)
def test_lines_are_those_of_halide(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    halide = pytest.importorskip("halide")
    assert written(hl, text, LINES[text], capfd) == written(halide, text, LINES[text], capfd)


@pytest.mark.parametrize("size", [8, 11])
def test_every_lane_prints_once(size: int, capfd: pytest.CaptureFixture[str]) -> None:
    f = hl.Func("f")
    f[x] = hl.print_when(x % 3 != 1, x * 2, "at", x) + hl.print(5, "constant")
    meant = expected(f, [size])[0]
    f.vectorize(x, 4)
    capfd.readouterr()
    assert np.array_equal(np.asarray(f.realize([size])), meant)
    lines = capfd.readouterr().out.splitlines()
    within = [line for line in lines if line != "5 constant"]
    assert sorted(within) == sorted(f"{2 * i} at {i}" for i in range(size) if i % 3 != 1)
    assert lines.count("5 constant") == size


def test_every_thread_prints_whole_lines() -> None:
    y, f = hl.Var("y"), hl.Func("f")
    f[x, y] = hl.print(x + y, "at", x, y)
    f.parallel(y).vectorize(x, 4)
    with contextlib.redirect_stdout(io.StringIO()) as output:
        f.realize([8, 50])
    assert sorted(output.getvalue().splitlines()) == sorted(f"{i + j} at {i} {j}" for i in range(8) for j in range(50))


def test_printing_needs_an_expression_and_a_condition() -> None:
    with pytest.raises(TypeMismatch, match="print takes an expression"):
        hl.print("only text")
    with pytest.raises(TypeMismatch, match="print takes an expression"):
        hl.print(hl.Expr("only text"))
    with pytest.raises(TypeMismatch, match="is i32, not bool"):
        hl.print_when(x, x)


def test_a_text_is_an_expression_without_a_value() -> None:
    text, f = hl.Expr("text"), hl.Func("f")
    assert repr(text) == str(text) == '<halide.Expr of type char64: "text">'
    assert (str(text.type()), text.type().is_handle(), text.type().bits(), text.defined()) == ("char64", True, 64, True)
    assert not text.type().same_handle_type(hl.Handle())
    for wrong in (
        lambda: text + x, lambda: text == text, lambda: hl.select(x > 0, text, text), lambda: hl.i32(text),
        lambda: hl.Expr(hl.Expr("")) + 1, lambda: f.__setitem__(x, text), lambda: f.__setitem__(text, x),
        lambda: hl.require(x > 0, text),
    ):  # fmt: skip
        with pytest.raises(TypeMismatch, match="is text, it has no value"):
            wrong()
    f[x] = hl.require(x < 1, x, hl.Expr("{least}"), x)
    with pytest.raises(BufferError, match=r"Failed: \(false\) \{least\} 1 "):
        f.realize([2])


def test_a_reduction_that_prints_is_not_factored() -> None:
    f, r, u = hl.Func("f"), hl.RDom([(0, 9)], "r"), hl.Var("u")
    f[()] = 0
    f[()] = hl.print(f[()]) + r.x
    with pytest.raises(FactorError, match="it prints on the way"):
        f.update(0).rfactor(r.x, u)


def test_a_check_that_prints_and_fails_is_made_once(capfd: pytest.CaptureFixture[str]) -> None:
    x, p, f = hl.Var("x"), hl.Param(hl.Int(32), "p", -7), hl.Func("f")
    f[x] = hl.require(hl.print(p, "is p") > 0, x, "p is", p)
    for _ in range(3):
        with pytest.raises(BufferError, match="p is -7"):
            f.realize([4])
        assert capfd.readouterr().out == "-7 is p\n"


COUNTS = ["x << 3", "x << -3", "x >> -3", "hl.u8(x) << -3", "hl.i8(x) << -7", "hl.u64(x) >> 40", "x << 40",
          "x << (x - 3)", "hl.i32(5) << -1", "5 << x", "x << hl.i32(-3)"]  # fmt: skip


@pytest.mark.parametrize("text", COUNTS)
def test_counts_of_shifts_are_spelled_as_in_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    found = [str(eval(text, {"hl": api, "x": api.Var("x")})) for api in (halide, hl)]
    assert found[0] == found[1]


def test_a_negative_count_that_the_type_does_not_hold_shifts_the_other_way() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = (hl.i8(x - 3) << -128, hl.i8(x - 3) >> -128)
    assert [np.asarray(part).tolist() for part in f.realize([5])] == [[-1, -1, -1, 0, 0], [0] * 5]
    with pytest.raises(hl.HalideError, match=r"<< of f32 by f32 \(in .* << -2.0\): for integers only"):
        hl.f32(x) << -2


def test_estimates_change_nothing() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = x
    assert f.set_estimate(x, 1, hl.i32(2) + 1).set_estimates([(1, 3)]) is f
    assert np.asarray(f.realize([3])).tolist() == [0, 1, 2]
