"""`propagate_adjoints` gives the derivatives that differences of values show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, TypeMismatch

x, y = hl.Var("x"), hl.Var("y")
SIZE = 7


def squares(f: Any, size: int = SIZE) -> Any:
    """The sum of the squares of what a function is over [0, size), times its coordinate and one."""
    loss, r = hl.Func("loss"), hl.RDom([(0, size)])
    loss[()] = hl.f64(0)
    loss[()] += f[r] * f[r] * (r + 1)
    return loss


def pure(c: Any) -> Any:
    f = hl.Func("f")
    f[x] = hl.sin(c[x]) * c[x + 1] / (c[x] * c[x] + 2.0) - hl.exp(c[x] / 4) + hl.sqrt(c[x] + 3)
    return squares(f)


def choices(c: Any) -> Any:
    f = hl.Func("f")
    f[x] = hl.select(c[x] > 1.2, c[x] * 3, hl.max(c[x], c[x + 1] * 0.9)) + hl.abs(c[x] - 2) + hl.min(c[x], 1.5)
    f[x] += hl.floor(c[x]) + hl.atan2(c[x], 2 + c[x]) + hl.pow(c[x] + 1, 2.5) + hl.tanh(c[x]) + hl.log(c[x] + 2)
    return squares(f)


def clamped(c: Any) -> Any:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = c[hl.clamp(x * 2, 0, SIZE - 1)] * c[SIZE - x]
    g[x] = f[x] + f[x - 1] * 3
    return squares(g)


def overwritten(c: Any) -> Any:
    f = hl.Func("f")
    f[x] = c[x] * 3
    f[x] = f[x] * f[x] + c[x + 1]
    f[2] = c[0]
    r = hl.RDom([(1, 3)])
    r.where(r != 2)
    f[r + 1] = f[r + 1] * c[r] * f[r + 1]
    return squares(f)


def scanned(c: Any) -> Any:
    s, r = hl.Func("s"), hl.RDom([(1, SIZE - 1)])
    s[x] = c[x]
    s[r] = s[r - 1] * 0.5 * c[r] + c[r] * s[r] + hl.sin(s[r - 1])
    return squares(s)


def scanned_from_the_end(c: Any) -> Any:
    """Horner's rule: the point that is read lies a number above the one that is written, of an earlier iteration."""
    p, n, r = hl.Func("p"), hl.Param(hl.Int(32), "n", SIZE), hl.RDom([(0, SIZE)])
    p[x, y] = hl.f64(0)
    p[x, n - 1 - r] = p[x, n - r] * c[x] * 0.5 + hl.sin(p[x, n - r]) * c[r] + c[n - 1 - r]
    f = hl.Func("f")
    f[x] = p[x, 0] + p[x, 2]
    return squares(f, 4)


def not_written_yet(c: Any) -> Any:
    """Values from before the update: of a level that it does not write, of points of its later iterations, and of odd
    ones, where it writes even ones."""
    f, r, g = hl.Func("f"), hl.RDom([(0, SIZE - 1)]), hl.Func("g")
    f[x, y] = c[x] * (y + 1)
    f[x, 1] = f[x, 0] * f[x, 0] * f[x, 1] + c[x + 1] + f[x, 3]
    f[r, 1] = f[r + 1, 1] * f[r, 1] * c[r] + f[r + 2, 1] * f[0, 2]
    f[r, 2] = f[r + 1, 2] * f[r - 1, 2] * 0.25 + f[r, 0]
    half = hl.RDom([(0, SIZE // 2)])
    f[2 * half, 1] = f[2 * half + 1, 1] * c[half] + f[2 * half - 2, 1] * 0.5
    g[x] = (f[x, 1] + f[x, 2] * f[x, 0]) * hl.f64(0.1)
    return squares(g)


def gathered(c: Any) -> Any:
    h, k, r = hl.Func("h"), hl.Buffer(np.array([0, 1, 0, 2, 2, 6, 1], np.int32)), hl.RDom([(0, SIZE)])
    h[x] = hl.f64(x)
    h[hl.clamp(k[r], 0, 6)] += c[r] * c[r]
    h[x] += c[r] * c[x]
    h[x] -= c[x]
    return squares(h)


def tuples(c: Any) -> Any:
    t, g = hl.Func("t"), hl.Func("g")
    t[x] = (c[x] * 2, x, c[x] * c[x + 1])
    t[x] = (t[x][0] * t[x][2], t[x][1], t[x][2] + c[x])
    g[x] = t[x][0] * t[x][1] + t[x + 1][2]
    return squares(g)


def conditions_on_what_is_overwritten(c: Any) -> Any:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(1, SIZE - 1)])
    f[x] = (c[x], x % 2)
    r.where((f[r][0] > 1.0) & (f[r - 1][1] < 7))
    f[r] = (f[r][0] * -2.0 * hl.f64(f[r - 1][1]), f[r][1] + 3)
    g[x] = f[x][0]
    return squares(g)


def conditions_on_what_is_overwritten_later(c: Any) -> Any:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(1, SIZE - 1)])
    f[x] = (c[x], x % 2)
    r.where((f[r + 1][0] > 1.0) & (f[r - 1][1] < 7))
    f[r] = (f[r][0] * hl.f64(f[r + 1][1] + 2), f[r][1] + f[r + 1][1] + 1)
    g[x] = f[x][0] * f[x][1]
    return squares(g)


def places_that_are_overwritten(c: Any) -> Any:
    f, i = hl.Func("f"), hl.Func("i")
    f[x] = c[x] * 2
    f[x] += c[hl.clamp(hl.i32(f[x]), 0, 5)]
    i[x] = (c[x], x)
    i[x] = (i[x][0] + f[hl.clamp(i[x][1], 0, 5)], i[x][1] + 2)
    f_and_i = hl.Func("f_and_i")
    f_and_i[x] = f[x] * i[x][0]
    return squares(f_and_i)


def arms_that_are_no_numbers(c: Any) -> Any:
    f, t, r = hl.Func("f"), c[x] - 1.3, hl.RDom([(0, 3)])
    f[x] = hl.select(c[x] > 1.5, hl.sqrt(c[x] - 1.5), hl.f64(x)) + hl.select(hl.abs(t) > 0.01, c[x + 1] / t, c[x])
    root = hl.sqrt(c[x] - 1)
    f[x] += hl.select(c[x] > 2, root, hl.f64(0.5)) + hl.select((c[x] > 1.2) & (c[x] < 2), root * 2, hl.f64(0.25))
    f[x] += hl.pow(c[x] - 0.7, hl.f64(x % 3))
    f[r] = f[r] * c[r]
    return squares(f)


def equals(c: Any) -> Any:
    f, g = hl.Func("f"), hl.Func("g")
    g[x] = c[x] * 2
    f[x] = hl.max(g[x], g[x]) + hl.min(g[x], g[x]) * 3
    return squares(f)


PROGRAMS = [
    pure, choices, clamped, overwritten, scanned, scanned_from_the_end, not_written_yet, gathered, tuples,
    conditions_on_what_is_overwritten, conditions_on_what_is_overwritten_later, places_that_are_overwritten,
    arms_that_are_no_numbers, equals,
]  # fmt: skip


@pytest.mark.parametrize(
    ("corner", "slope"),
    [
        (lambda v: hl.max(v, 1.0), 1.0),
        (lambda v: hl.max(1.0, v), 1.0),
        (lambda v: hl.min(1.0, v), 1.0),
        (lambda v: hl.clamp(v, 1.0, 2.0), 1.0),
        (lambda v: hl.max(v, v * v), 3.0),
        (lambda v: hl.abs(v - 1.0), -1.0),
    ],
)
def test_corners_have_the_slope_that_halide_gives_them(corner: Callable[[Any], Any], slope: float) -> None:
    c, f = hl.Func("c"), hl.Func("f")
    c[x] = hl.f64(1.0)
    f[()] = corner(c[0])
    assert np.array(hl.propagate_adjoints(f)[c].realize([1])).tolist() == [slope]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.__name__)
def test_derivatives_are_those_of_differences(program: Callable[[Any], Any]) -> None:
    values = np.array([0.7, 1.3, 2.2, 0.4, 1.9, 1.1, 0.2, 2.6, 1.7])
    image = hl.ImageParam(hl.Float(64), 1, "image")
    c = hl.Func("c")
    c[x] = image[hl.clamp(x, 0, values.size - 1)]
    loss = program(c)
    derivative = hl.propagate_adjoints(loss)
    image.set(values)
    found = np.array(derivative[image].realize([values.size]))
    step, wanted = 1e-6, np.zeros(values.size)
    for i in range(values.size):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[i] += sign * step
            image.set(moved)
            ends.append(float(loss.realize()[()]))
        wanted[i] = (ends[0] - ends[1]) / (2 * step)
    assert np.allclose(found, wanted, rtol=1e-6, atol=1e-6)
    assert np.count_nonzero(wanted) > 2


def test_of_parameters_matrices_and_states() -> None:
    a, v = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])
    matrix, vector, p = hl.Buffer(a), hl.Buffer(v), hl.Param(hl.Float(64), 1.5)
    m, r, q, loss = hl.Func("m"), hl.RDom([(0, 3)]), hl.RDom([(0, 2)]), hl.Func("loss")
    m[y] = hl.f64(0)
    m[y] += matrix[r, y] * vector[r] * p
    m[y] *= 2.0
    loss[()] = hl.f64(0)
    loss[()] += m[q] * m[q]
    d = hl.propagate_adjoints(loss)
    product = a @ v
    assert np.allclose(np.array(d[matrix].realize([3, 2])), 8 * p.get() ** 2 * np.outer(product, v))
    assert np.allclose(np.array(d[vector].realize([3])), 8 * p.get() ** 2 * a.T @ product)
    assert np.isclose(d[p].realize()[()], 8 * p.get() * (product @ product))
    last, first = np.array(d[m, 1].realize([2])), np.array(d[m].realize([2]))
    assert np.allclose(last, 4 * p.get() * product)
    assert np.allclose(first, 2 * last)
    assert d[loss].realize()[()] == 1
    assert not d[hl.Func("elsewhere")].defined()


def test_a_derivative_of_a_derivative() -> None:
    """The function whose adjoint is read is named there, and read by nothing."""
    c, f, loss, slope, r = (
        hl.Buffer(np.array([1.0, 2.0])),
        hl.Func("f"),
        hl.Func("loss"),
        hl.Func("slope"),
        hl.RDom([(0, 2)]),
    )
    f[x] = c[x] * c[x] * c[x] * 2 + c[x]
    loss[()] += f[r]
    first = hl.propagate_adjoints(loss)[c]
    slope[()] += first[r] * first[r]
    assert np.asarray(first.realize([2])).tolist() == [7, 25]
    assert np.asarray(hl.propagate_adjoints(slope)[c].realize([2])).tolist() == [2 * 7 * 12, 2 * 25 * 24]


def test_adjoints_that_are_given() -> None:
    c, f, w = hl.Func("c"), hl.Func("f"), hl.Func("w")
    c[x] = hl.f32(x)
    f[x] = c[x] * c[x + 1]
    w[x] = hl.f32(x + 1)
    weights = np.arange(1, 6, dtype=np.float32)
    wanted = [1, 2 * 2 + 0, 3 * 3 + 2 * 1, 4 * 4 + 3 * 2, 5 * 5 + 4 * 3, 5 * 4]
    by_buffer = hl.propagate_adjoints(f, hl.Buffer(weights))
    assert np.array(by_buffer[c].realize([6])).tolist() == wanted
    by_func = hl.propagate_adjoints(f, w, [(0, 5)])
    assert np.array(by_func[c].realize([5])).tolist() == wanted[:5]


def sum_while_small(c: Any) -> Any:
    f, r = hl.Func("f"), hl.RDom([(0, SIZE)])
    f[x] = hl.f64(0)
    r.where(f[0] < 3.0)
    f[0] += c[r] * c[r]
    return f


def sum_at_a_place_that_it_says(c: Any) -> Any:
    f, r = hl.Func("f"), hl.RDom([(0, 3)])
    f[x] = c[x]
    f[0] += c[hl.clamp(hl.i32(f[0]), 0, 5) + r]
    return f


def integers_that_are_gone(c: Any) -> Any:
    f, g, r = hl.Func("f"), hl.Func("g"), hl.RDom([(1, 5)])
    f[x] = (c[x], x % 2)
    f[r] = (f[r][0] * hl.f64(f[6 - r][1]), f[r][1] + 1)
    g[x] = f[x][0]
    return g


@pytest.mark.parametrize("program", [sum_while_small, sum_at_a_place_that_it_says, integers_that_are_gone])
def test_what_depends_on_its_own_values_is_refused(program: Callable[[Any], Any]) -> None:
    c = hl.Func("c")
    c[x] = hl.f64(x)
    with pytest.raises(AlgorithmError, match=r"depends on intermediate values|reads f at"):
        hl.propagate_adjoints(squares(program(c)))


def _constant(api: Any) -> list[Any]:
    """Adjoints that are 0: of what is rounded, or compared."""
    x, f, g, loss = api.Var("x"), api.Func("f"), api.Func("g"), api.Func("loss")
    a, b = (api.Buffer(np.arange(4, dtype=np.float32)) for _ in range(2))
    r = api.RDom([(0, 4)])
    f[x] = a[x] * 2
    g[x] = api.floor(f[x]) + api.select(b[x] > 1, 3.0, a[x] * 0)
    loss[()] = api.f32(0)
    loss[()] += g[r.x]
    d = api.propagate_adjoints(loss)
    assert not d[api.Buffer(np.zeros(4, np.float32))].defined()
    return [np.asarray(d[one].realize([4])).tolist() for one in (a, b, f)]


def test_what_the_result_does_not_change_with_has_a_derivative_of_zero() -> None:
    assert _constant(hl) == [[0.0] * 4] * 3
    assert _constant(pytest.importorskip("halide")) == [[0.0] * 4] * 3


def test_what_has_no_derivative_is_refused() -> None:
    c, f, g, h = hl.Func("c"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    r = hl.RDom([(0, 4)])
    c[x] = hl.f32(x)
    f[()] = c[0]
    f[()] = hl.max(f[()], c[r])
    with pytest.raises(AlgorithmError, match="update 0 of f depends on intermediate values"):
        hl.propagate_adjoints(f)
    g[x] = c[x]
    g[r] = g[4 - r] * 2
    with pytest.raises(AlgorithmError, match=r"update 0 of g reads g at g\(4 - r"):
        hl.propagate_adjoints(squares(g))
    h[x] = hl.i32(c[x])
    with pytest.raises(TypeMismatch, match="floats alone"):
        hl.propagate_adjoints(h)
    k = hl.Func("k")
    k[x] = c[hl.clamp(x, 0, 3)]
    with pytest.raises(
        AlgorithmError, match=r"needs the box of k, and that of k is not given: propagate_adjoints\(k, adjoint, "
    ):
        hl.propagate_adjoints(k)
    with pytest.raises(AlgorithmError, match="a range for each of its dimensions"):
        hl.propagate_adjoints(k, c, [])


def test_values_that_are_told_or_required_have_the_derivative_of_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    p, f, loss = hl.Param(hl.Float(32), "p", 3.0), hl.Func("f"), hl.Func("loss")
    bits = hl.reinterpret(hl.Float(32), hl.reinterpret(hl.UInt(32), p))  # those of a number are no number to derive by
    f[x] = hl.print_when(x > 5, p * p) + hl.require(p > 0, p * 2, "positive") + bits
    loss[()] = f[3]
    assert float(np.asarray(hl.propagate_adjoints(loss)[p].realize([]))) == 8
    assert capsys.readouterr().out == ""
