"""Functions: what programs written for Halide's Python bindings say of them, and the values that they give there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError, Error, FactorError, ScheduleError, TypeMismatch
from tests.compiler.pipelines import expected, same

SETUP = """
x, y, c, _ = hl.Var("x"), hl.Var("y"), hl.Var("c"), hl._
f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
a = np.arange(12, dtype=np.int32).reshape(3, 4) * 7 % 11
b = hl.Buffer(a)
im = hl.ImageParam(hl.Int(32), 2, "im")
im.set(hl.Buffer(a))
edges = hl.BoundaryConditions
"""

PROGRAMS = {
    # implicit variables
    "f[x, y] = x + y; g[_] = f[_] * 2": [2, 2],
    "f[x, y] = x + 10*y; g[x, _] = f[x + 1, _]": [2, 3],
    "f[x, y] = x + 10*y; g[_, x] = f[_, x + 1]": [2, 3],
    "f[x, y, c] = x + 10*y + 100*c; g[_] = f[_, 0] + f[_, 1]": [3, 2],
    "g[x, _] = 1": [3],
    "g[_] = b[_] + 1": [4, 3],
    "g[_] = im[_] + 1": [4, 3],
    "f[x, y] = x; f[0, y] = 7; g[_] = f[_]": [3, 2],
    # constructors
    "g = hl.Func(hl.UInt(8), 2, 'g'); g[x, y] = hl.u8(x)": [3, 2],
    "g = hl.Func([hl.UInt(8), hl.Int(32)], 1, 'g'); g[x] = (hl.u8(x), x)": [3],
    "g = hl.Func(b)": [4, 3],
    "g = hl.Func(im)": [4, 3],
    "g = hl.Func(hl.Expr(3) + 4)": [],
    "g = hl.Func(5)": [],
    "g[[x, y]] = x; g[np.array([x, y])] += 1": [3, 2],
    "g = hl.lambda_func(x, y, x + y)": [3, 2],
    "g = hl.lambda_func(5)": [],
    "f, g = hl.funcs('f g'); x, y = hl.vars('x y'); f[x, y] = x * y; g[x, y] = f[y, x] - f[x, 1]": [3, 3],
    # updates
    "g[x] = 1; g[x] += hl.u8(3)": [2],
    "g[x] = hl.u8(1); g[x] += 1": [2],
    "r = hl.RDom([(0, 5)]); g[x] += r + 0.5": [2],
    "r = hl.RDom([(1, 4)]); g[x] *= r": [2],
    "r = hl.RDom([(1, 4)]); g[x] -= r": [2],
    "r = hl.RDom([(1, 4)]); g[x] /= hl.f32(r)": [2],
    "r = hl.RDom([(0, 4)]); g[x] = g[x] + r": [2],
    "r = hl.RDom([(1, 4)]); g[x] = (0, 0); g[x] = (g[x][0] + r, g[x][1] - 1)": [2],
    "r = hl.RDom([(0, 4)]); g[()] = 0; g[()] += r": [],
    "r = hl.RDom([(0, 4)]); g[()] += r": [],
    "g[()] = 5": [],
    "g[x] = x; g[0] = 7; g[2] = g[1] + 5": [4],
    "r = hl.RDom([(1, 5)]); g[x] = x; g[r.x] = g[r.x - 1] + g[r.x]": [7],
    "r = hl.RDom([(0, 5)]); g[x] = 0; r.where(r.x % 2 == 0); g[r.x] = 1": [5],
    "r = hl.RDom([(0, 4), (0, 3)]); g[x] = 0; r.where(r.x > r.y); r.where(b[r.x, r.y] != 3); "
    "g[hl.clamp(b[r.x, r.y], 0, 10)] += 1": [11],
    "r = hl.RDom(b); g[x] = 0; g[hl.clamp(b[r.x, r.y], 0, 10)] += 1": [11],
    "r = hl.RDom(im); g[x] = 0; g[hl.u8(im[r.x, r.y]) & 15] += 1": [16],
    "r = hl.RDom([hl.Range(1, 2), (0, 2)]); g[x] += r[0] * r[1] + x": [3],
    "r = hl.RDom([(0, 2)] * 5, 'r'); g[x] += r[4] + 2 * r[3] + r.w": [2],
    "r = hl.RDom([(0, 3)]); v = hl.RVar(r); g[x] += v * x": [3],
    "r = hl.RDom([(0, 4)]); g[x] = hl.cast(hl.UInt(8), x); g[x] += hl.cast(hl.UInt(8), r.x)": [3],
    "g[x] = x; g[x] = g[x] + 1; g[x] = g[x] * g[x]; g[3] = 0": [5],
    "g[x] = x; g[x] = hl.select(x > 2, 7, hl.undef(hl.Int(32)))": [5],
    "g[x] = (x, x); g[x] = (hl.undef(hl.Int(32)), 5)": [3],
    "r = hl.RDom([(0, 4)]); g[x] = x; g[r.x] = hl.select(r.x > 2, 7, r.x > 1, hl.undef(hl.Int(32)), g[r.x] + 1)": [5],
    "g[0] += 1": [3],
    "f[x] = 2; g[f[0]] += 1": [4],
    "f[x, y] = x + y; g[_] += f[_]": [3, 2],
    "g[x] /= 2": [2],
    # several points at once
    "g[x] = x*10; g[hl.scatter([0, 3])] = g[hl.gather([3, 0])]": [5],
    "r = hl.RDom([(0, 3)]); g[x] = hl.u8(x); g[hl.scatter([r, r + 1])] = hl.gather([g[r + 1], g[r]])": [5],
    "r = hl.RDom([(0, 2)]); g[x] = x; g[hl.scatter([r, 4 - r, 2])] = hl.gather([g[4 - r], g[r], g[r] * 7])": [5],
    "g[x, y] = x + 10*y; g[x, hl.scatter([1, 3])] += hl.gather([100, 200])": [3, 5],
    "g[x, y] = x + 10*y; g[hl.scatter([1, 0]), hl.scatter([1, 3])] = 100 + hl.gather([g[0, 0], g[1, 3]])": [3, 5],
    "g[x, y] = x + 10*y; g[x, hl.scatter([2, 0])] = g[x, hl.gather([0, 2])] + x": [3, 3],
    "g[x, y] = x + 10*y; g[x, 1] = hl.gather([3, 4])": [3, 3],
    "g[x] = (x, -x); g[hl.scatter([1, 3])] = (hl.gather([3, g[1][1]]), g[hl.gather([3, 0])][0])": [5],
    "g[x] = x; g[hl.scatter([2, 2])] = hl.gather([3, 4])": [5],
    "g[x] = hl.gather([3, 4])": [3],
    "g[x] = 4 - x; g[hl.scatter([hl.clamp(g[0], 0, 4), 0])] = g[hl.gather([0, 1])] + 50": [5],
    "f[x] = x * x; g[x] = 0; g[hl.scatter([0, 2])] = f[hl.gather([5, 3])]": [4],
    # references
    "f[x] = x; g[x] = f[f[x]]": [3],
    "f[x] = hl.u8(x); g[x] = f[f[x]]": [3],
    "f[x] = (x, 2*x); g[x] = f[x]": [3],
    "f[x] = (x, 2*x); g[x] = hl.select(x > 1, f[x], (0, 0))": [3],
    "f[x] = (x, 2*x); g[x] = f[x][0] + f[x][1]": [3],
    "f[x, y] = x + y; g[x, y] = f[x, y] + b[x, y] + im[x, y]": [3, 2],
    "f[()] = 3; g[x] = f[()] + x": [3],
    # reductions in expressions
    "r = hl.RDom([(0, 4)]); g[x] = hl.sum(r * x)": [3],
    "r = hl.RDom([(0, 4)]); g[x] = hl.sum(r, r * x, 's')": [3],
    "r = hl.RDom([(0, 4)]); g[x] = hl.sum(hl.u8(r) * 100)": [2],
    "r = hl.RDom([(0, 4)]); g[x] = hl.product(hl.f32(r) + 1) + hl.maximum(r * x) + hl.minimum(r * x)": [3],
    "r = hl.RDom([(0, 4)]); g[x] = hl.argmax(r, -(r - 2)*(r - 2) + x, 's')": [3],
    "r = hl.RDom([(0, 4), (0, 3)]); g[x] = hl.argmin((r.x - 2)*(r.x - 2) + r.y)": [1],
    "r = hl.RDom([(0, 4), (0, 3)]); g[()] = hl.argmax(b[r.x, r.y])": [],
    "r = hl.RDom([(0, 4)]); g[x] = hl.maximum(hl.f32(r) * -1) + x": [3],
    "r = hl.RDom([(0, 0)]); g[x] = hl.maximum(hl.f32(r))": [1],
    "r = hl.RDom([(0, 0)]); g[x] = hl.minimum(r.x)": [1],
    "r = hl.RDom([(0, 3)]); g[x, y] = hl.sum(b[hl.clamp(x + r, 0, 3), y])": [4, 3],
    # two domains, one of them inside
    "r, s = hl.RDom([(0, 3)]), hl.RDom([(0, 4)]); g[x] = 0; g[x] += r.x * hl.sum(s, s.x + r.x)": [2],
    # wrappers
    "f[x] = x; g[x] = f[x] + f[x + 1]; f.in_(g).compute_root()": [3],
    "f[x] = x; g[x] = f[x] + f[x + 1]; f.in_().compute_root(); f.compute_root()": [3],
    "f[x] = x; h[x] = f[x]; g[x] = f[x] + h[x]; f.in_([g, h]).compute_root()": [3],
    "f[x] = x; f[x] += 2; h[x] = f[x]; g[x] = f[x] + h[x]; f.clone_in(g).compute_root(); f.compute_root(); "
    "h.compute_root()": [3],
    "f[x] = (x, 2*x); g[x] = f[x][1]; f.in_(g).compute_root()": [3],
    "g[x, y] = im[x, y] + 1; im.in_(g).compute_root()": [4, 3],
    # edges
    "g = edges.repeat_edge(b)": [9, 7],
    "g = edges.repeat_image(b)": [9, 7],
    "g = edges.mirror_image(b)": [19, 7],
    "g = edges.mirror_interior(b)": [19, 7],
    "g = edges.constant_exterior(b, 99)": [9, 7],
    "g = edges.constant_exterior(im, hl.Expr(5) * 3)": [9, 7],
    "g = edges.mirror_interior(im)": [9, 7],
    "b.translate([-2, 3]); g = edges.repeat_image(b)": [9, 7],
    "b.translate([-2, 3]); g = edges.mirror_image(b)": [9, 7],
    "b.translate([5, 3]); g = edges.mirror_interior(b)": [19, 9],
    "f[x, y] = x + 10*y; g = edges.repeat_edge(f, [(1, 3)])": [6, 2],
    "f[x, y] = x + 10*y; g = edges.mirror_image(f, [(1, 3), (0, 2)])": [9, 3],
    "f[x, y] = x + 10*y; g = edges.constant_exterior(f, -1, [(1, 3), (0, 2)])": [9, 3],
    "f[x] = (x, 2*x); g = edges.repeat_edge(f, [(0, 2)])": [4],
    "g = edges.mirror_interior(hl.Buffer(np.array([[5]], np.int32)))": [4, 2],
    "g = edges.constant_exterior(hl.Buffer(np.ones((2, 2), np.uint8)), 300)": [4, 3],
}  # fmt: skip


def run(api: Any, text: str) -> Any:
    """The function `g` of a program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope: dict[str, Any] = {"hl": api, "np": np}
        exec(SETUP + text.replace("; ", "\n"), scope)
    return scope["g"]


def realized(func: Any, sizes: list[int]) -> list[np.ndarray[Any, Any]]:
    result = func.realize(sizes)
    return [np.array(part) for part in (result if isinstance(result, tuple | list) else (result,))]


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_give_the_values_of_the_interpreter_and_of_halide(text: str) -> None:
    sizes = PROGRAMS[text]
    g = run(hl, text)
    ours = realized(g, sizes)
    for one, meant in zip(ours, expected(g, sizes), strict=True):
        assert same(one, meant)
    halide = pytest.importorskip("halide")
    for one, theirs in zip(ours, realized(run(halide, text), sizes), strict=True):
        assert one.dtype == theirs.dtype
        np.testing.assert_array_equal(one, theirs)


def test_a_function_tells_its_definitions() -> None:
    x, r, f = hl.Var("x"), hl.RDom([(0, 4), (0, 2)], "r"), hl.Func("f")
    assert not f.defined()
    f[x] = x
    f[x] += r.x + r.y
    f[0] = 3
    assert (f.num_update_definitions(), f.has_update_definition(), f.outputs()) == (2, True, 1)
    assert [v.name() for v in f.args()] == ["x"]
    assert format(f.value()) == format(f.values()[0]) == "x"
    assert [format(e) for e in f.update_args(0)] == ["x"]
    assert format(f.update_value()) == "f(x) + (r.x + r.y)"
    assert [len(f.update_values(i)) for i in range(2)] == [1, 1]
    assert [v.name() for v in f.rvars(0)] == ["r$x", "r$y"]
    assert f.rvars(1) == []
    assert not f.is_extern()
    with pytest.raises(AlgorithmError, match="has 2 updates, hence no update 2"):
        f.update_value(2)


def test_what_a_function_must_have_is_known_before_it_is_defined() -> None:
    f = hl.Func([hl.UInt(8), hl.Float(32)], 2, "f")
    assert [str(t) for t in f.types()] == ["uint8", "float32"]
    assert (f.dimensions(), f.outputs(), f.defined(), f.name()) == (2, 2, False, "f")


def test_variables_know_what_is_implicit() -> None:
    assert hl._.is_placeholder()
    assert hl._.is_implicit()
    assert not hl.Var("x").is_implicit()
    assert hl._3.implicit_index() == 3
    assert hl.Var("x").implicit_index() == -1
    assert hl.Var.implicit(2).same_as(hl._2)
    assert not hl._0.same_as(hl._1)


def test_a_reduction_domain_tells_its_variables() -> None:
    r = hl.RDom([(2, 4), (0, 3)], "r")
    assert [format(r.x.min()), format(r.x.extent()), format(r.y.extent())] == ["2", "4", "3"]
    assert [v.name() for v in r] == [r[0].name(), r[1].name()]
    assert len(r) == r.dimensions() == 2
    assert r.defined()
    assert not hl.RDom().defined()
    assert r.same_as(r)


def test_a_reduction_defines_the_function_that_it_is_given() -> None:
    x, r, f, total = hl.Var("x"), hl.RDom([(0, 100)], "r"), hl.Func("f"), hl.Func("total")
    f[x] = hl.sum(r.x + x, total)
    u = hl.Var("u")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    total.compute_root()
    intm = total.update(0).split(r.x, ro, ri, 10).rfactor(ro, u)
    intm.compute_root().update(0).parallel(u)
    assert np.asarray(f.realize([3])).tolist() == [4950, 5050, 5150]
    with pytest.raises(AlgorithmError, match="total is defined already"):
        hl.sum(r.x, total)


def test_a_wrapper_is_made_once_and_sees_later_definitions() -> None:
    x, f, g, h = hl.Var("x"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x] = x
    g[x] = f[x]
    w = f.in_(g)
    assert f.in_(g) is w
    assert f.in_() is f.in_() is not w
    g[x] += f[x + 1]
    w.compute_root()
    assert "produce f_in_g" in g.lowered()
    assert np.asarray(g.realize([3])).tolist() == [1, 3, 5]
    h[x] = f[x]
    with pytest.raises(ScheduleError, match="f in itself"):
        f.in_(f)
    assert f.in_([g, h]) is w
    with pytest.raises(ScheduleError, match=r"since g already has a wrapper \(f_in_g\$0\) while h doesn't"):
        f.in_([h, g])


def _wrap_for_more(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    made = f.in_([g, m])
    made.compute_root()
    return f.in_([g, k, m]).name() == made.name()


def _another_for_one(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    f.in_(k)
    f.in_(g)
    f.in_([k, g])


def _shared_by_another(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    f.in_([g, m])
    f.in_([g, k])


def _cloned_where_it_is_not_called(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    h = api.Func("h")
    h[api.Var("x")] = 3
    g2, x = api.Func("g2"), api.Var("x")
    g2[x] = h[x] + m[x]
    f.clone_in([m, h])
    g2.realize([3])


def _wrapper_wrapped_where_it_is_not_called(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    f.in_(g).in_(k)
    k.realize([3])


def _clone_keeps_its_function(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    f.clone_in(g)
    f.in_(f.clone_in(g))
    k.realize([3])


def _names_of_wrappers(api: Any, f: Any, g: Any, k: Any, m: Any) -> Any:
    made = f.in_(g), f.in_([k]), f.in_(), k.clone_in([m, f])
    im, x = api.ImageParam(api.Int(32), 1), api.Var("x")
    u, v = api.Func(), api.Func()
    u[x] = v[x] = im[x]
    return [one.name().rsplit("_", 1)[1] for one in (*made[1:], im.in_([v]), im.in_())], made[0].name()[-2:]


_WRAPPED: list[Callable[[Any, Any, Any, Any, Any], Any]] = [
    lambda api, f, g, k, m: f.in_([g, g]),
    lambda api, f, g, k, m: f.clone_in([g, g]),
    lambda api, f, g, k, m: f.in_([]),
    lambda api, f, g, k, m: f.clone_in(f),
    lambda api, f, g, k, m: f.in_(g).name() == f.in_([g, k]).name(),
    lambda api, f, g, k, m: f.clone_in(g).name() == f.clone_in([g, k]).name() == f.in_(g).name(),
    lambda api, f, g, k, m: f.in_().name() != f.in_(g).name(),
    _wrap_for_more,
    _another_for_one,
    _shared_by_another,
    _cloned_where_it_is_not_called,
    _wrapper_wrapped_where_it_is_not_called,
    _clone_keeps_its_function,
    _names_of_wrappers,
]


@pytest.mark.parametrize("program", _WRAPPED)
def test_wrappers_are_taken_and_refused_as_in_halide(program: Callable[[Any, Any, Any, Any, Any], Any]) -> None:
    halide = pytest.importorskip("halide")
    answers = []
    for api in (hl, halide):
        x, f, g, k, m = api.Var("x"), api.Func("f"), api.Func("g"), api.Func("k"), api.Func("m")
        f[x] = x * 3
        g[x] = f[x] + 1
        k[x] = f[x] + g[x]
        m[x] = f[x] * 2
        try:
            answers.append(program(api, f, g, k, m))
        except api.HalideError:
            answers.append("refused")
    assert answers[0] == answers[1]


def test_a_consumer_calls_the_wrapper_of_its_wrapper() -> None:
    x, f, g, im = hl.Var("x"), hl.Func("f"), hl.Func("g"), hl.ImageParam(hl.Int(32), 1, "im")
    im.set(hl.Buffer(np.arange(5, dtype=np.int32)))
    f[x] = x
    h, e = hl.Func("h"), hl.Func("e")
    e[x] = f[x] + 1
    h[x] = x * 2
    g[x] = f[x] + im[x] + h[x] + e[x]
    pairs = [(one := f.in_(g), one.in_(g)), (one := im.in_(g), one.in_(g)), (one := h.in_(), one.in_())]
    pairs.append((one := f.in_(e), f.in_(one)))
    for outer in (f, h, e, *(wrapper for pair in pairs for wrapper in pair)):
        outer.compute_root()
    assert [one.name() for pair in pairs for one in pair if f"produce {one.name()}:" not in g.lowered()] == []
    assert np.asarray(g.realize([5])).tolist() == [1, 6, 11, 16, 21]


def test_a_wrapper_asked_for_after_realize_is_seen() -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    f[x] = x
    g[x] = f[x]
    before = np.asarray(g.realize([3]))
    f.in_(g).compute_root()
    assert "produce f_in_g" in g.lowered()
    assert np.array_equal(before, np.asarray(g.realize([3])))


def test_a_clone_has_a_schedule_of_its_own() -> None:
    x, f, g = hl.Var("x"), hl.Func("f"), hl.Func("g")
    f[x] = x
    f[x] = f[x] * 2 + f[x]
    g[x] = f[x]
    c = f.clone_in(g)
    c.compute_root().update(0).vectorize(x, 4)
    assert c is f.clone_in(g) is not f
    assert "f$" not in g.lowered()
    assert "produce f:" not in g.lowered()
    assert np.asarray(g.realize([5])).tolist() == [0, 3, 6, 9, 12]


def test_a_clone_begins_with_the_schedule_of_its_function(capfd: pytest.CaptureFixture[str]) -> None:
    x, xo, xi, f, g, k = hl.Var("x"), hl.Var("xo"), hl.Var("xi"), hl.Func("f"), hl.Func("g"), hl.Func("k")
    f[x] = x
    f[x] += 1
    g[x] = f[x]
    k[x] = f[x] + g[x]
    f.compute_root().split(x, xo, xi, 2).update().unroll(x, 4)
    c = f.clone_in(g)
    c.vectorize(xi)
    assert c.name() == "f_clone_in_g$0"
    k.print_loop_nest()
    assert "vectorized x.xi in [0, 1]:\n        f_clone_in_g(...)" in capfd.readouterr().err
    with pytest.raises(ScheduleError, match="has no such loop; it has xo, xi"):
        c.split(x, xo, xi, 2)
    assert np.asarray(k.realize([5])).tolist() == [2, 4, 6, 8, 10]


def test_the_components_of_a_function_are_chosen_by_mux() -> None:
    x, c, f, g = hl.Var("x"), hl.Var("c"), hl.Func("f"), hl.Func("g")
    f[x] = (12, 45, x)
    g[x, c] = hl.mux(c, f[x])
    assert np.asarray(g.realize([2, 4])).tolist() == [[12, 12], [45, 45], [0, 1], [0, 1]]


def test_evaluate_gives_python_numbers() -> None:
    assert hl.evaluate(hl.Expr(7) // 2) == 3
    assert hl.evaluate(hl.f32(3)) == 3.0
    assert hl.evaluate((hl.Expr(3), hl.Expr(True))) == (3, True)
    assert hl.evaluate(hl.memoize_tag(hl.Expr(3), hl.Var("x") * 0 + 1)) == 3


def test_what_is_required_is_checked_on_entry() -> None:
    x, f, n, im = hl.Var("x"), hl.Func("f"), hl.Param(hl.Int(32), "n", 3), hl.ImageParam(hl.UInt(8), 1, "im")
    f[x] = hl.require((n > 0) & (im.width() > n), im[x] + n, "n was {", n, "}")
    im.set(np.arange(8, dtype=np.uint8))
    assert np.asarray(f.realize([4])).tolist() == [3, 4, 5, 6]
    n.set(9)
    with pytest.raises(BufferError, match=r"Requirement Failed: \(false\) n was { 9 } \(it is required that .*\)"):
        f.realize([4])
    with pytest.raises(TypeMismatch, match="not bool"):
        hl.require(im[0], 7)
    with pytest.raises(TypeMismatch, match="not bool"):
        hl.require(n, 7)


def test_a_pipeline_requires_what_it_is_told() -> None:
    x, f, n = hl.Var("x"), hl.Func("f"), hl.Param(hl.Int(32), "n", 3)
    f[x] = x
    pipeline = hl.Pipeline(f)
    assert np.asarray(pipeline.realize([2])).tolist() == [0, 1]
    pipeline.add_requirement(n > 2, "n was", n)
    assert np.asarray(pipeline.realize([2])).tolist() == [0, 1]
    n.set(1)
    with pytest.raises(BufferError, match=r"n was 1 \(it is required that n.* > 2\)"):
        pipeline.realize([2])
    assert np.asarray(f.realize([2])).tolist() == [0, 1]
    assert [one.name for one in pipeline.infer_arguments()] == [n.name()]
    for wrong in (x > 3, f[0] > 3):
        with pytest.raises(AlgorithmError, match=r"add_requirement of .*made of parameters"):
            pipeline.add_requirement(wrong)
    with pytest.raises(TypeMismatch, match="not bool"):
        pipeline.add_requirement(n)


# -- chance ------------------------------------------------------------------------------------------------------------


def test_random_numbers_do_not_depend_on_the_schedule() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = (hl.random_uint(), hl.random_float(3), hl.random_int())
    g[x, y] = (f[x, y][0], f[x, y][1], f[x, y][2])
    serial = realized(g, [40, 30])
    f.compute_root().vectorize(x, 8).parallel(y)
    for one, other, meant in zip(serial, realized(g, [40, 30]), expected(g, [40, 30]), strict=True):
        assert np.array_equal(one, other)
        assert np.array_equal(one, meant)


def test_random_numbers_look_random() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = (hl.random_float(), hl.random_uint(), hl.random_uint())
    numbers, bits, others = realized(f, [20000])
    assert numbers.dtype == np.float32
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(numbers.var() - 1 / 12) < 0.005
    assert len(np.unique(bits)) > 19990
    assert abs(np.bitwise_count(bits).mean() - 16) < 0.1
    assert not (bits == others).any() or (bits == others).mean() < 0.001
    assert abs(np.corrcoef(bits[1:], bits[:-1])[0, 1]) < 0.03


def test_every_iteration_draws_its_own_number() -> None:
    x, r, f = hl.Var("x"), hl.RDom([(0, 64)]), hl.Func("f")
    f[x] = hl.u32(0)
    f[r.x] = hl.random_uint(hl.i32(r.x) * 0)
    drawn = realized(f, [64])[0]
    assert len(np.unique(drawn)) == 64
    with pytest.raises(TypeMismatch, match="it is i32"):
        hl.random_float(2.5)


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f[x, y] = x; g[x, y] = f[x]", "has 2 dimensions, 1 indices"),
        ("f[x, y] = x; g[_] = f[_, _]", "is given _ 2 times"),
        ("g = hl.Func(hl.UInt(8), 2, 'g'); g[x, y] = x", "only hold values of type uint8 but .* of type int32"),
        ("g = hl.Func(hl.UInt(8), 2, 'g'); g[x] = hl.u8(x)", "exactly 2 dimensions, but is defined with 1 dimensions"),
        ("g = hl.Func({})", "Func takes a name, a value"),
        ("f[x] = (x, x); f.value()", "has 2 components: ask for values"),
        ("f[x] = (x, x); g[x] = f[x][2]", "has 2 components, hence no"),
        ("f[x] = (x, x); f.type()", "ask for types"),
        ("f[x] = x; f[1.5] = 3", "indices are i32"),
        ("g[x, x] = 3; g.realize([2, 2])", "must be distinct; x is there twice"),
        ("g[x] = y", 'Undefined variable "y" in definition of Func "g"'),
        ("g[x] = x; g[y] = y", 'Undefined variable "y" .* the variables of g that stand on its left-hand side'),
        ("g[x, y] = x; g[x, 0] = y", 'Undefined variable "y" in definition of Func "g"'),
        ("g[x] = x; g[x + 1] = 0", 'Undefined variable "x" in definition of Func "g"'),
        ("g[x] = b[x, 0] + hl.Var(b.name())", 'Undefined variable "b.*" in definition of Func "g"'),
        ("g[x] = 0; r = hl.RDom([(0, y)]); g[x] += r.x", 'Undefined variable "y" in definition of Func "g"'),
        ("g[x] = 0; r = hl.RDom([(0, 3)]); r.where(y > r.x); g[x] += r.x", 'Undefined variable "y" in definition'),
        ("r, s = hl.RDom([(0, 3)]), hl.RDom([(0, 3)]); r.where(r.x > s.x); g[x] = 0; g[x] += r", "Undefined variable"),
        ("g[x] = 0; s = hl.RDom([(0, 3)]); r = hl.RDom([(0, s.x)]); g[x] += r.x", "Undefined variable"),
        ("f[x, y] = x; g[x] = f[x, _]", "implicit variables, but the left-hand-side does not contain the placeholder"),
        ("f[x, y] = x; g[x] = 1; g[x] += f[x, _]", 'Undefined variable "_0" in definition of Func "g"'),
        ("g[x, y] = 1; g.realize([2])", "realize takes 2 sizes"),
        ("hl.sum(x + 1)", "is over one RDom; 0 were found"),
        ("r, s = hl.RDom([(0, 3)]), hl.RDom([(0, 3)]); hl.sum(r.x + s.x)", "2 were found: give it first"),
        ("hl.sum(1, 2, 3)", "takes an expression, or an RDom and an expression"),
        ("r = hl.RDom([(0, 3)]); r.z", r"hence no \.z"),
        ("hl.RDom([(0, 3, 4)])", r"takes \(min, extent\) pairs"),
        ("hl.RDom([(0, b[0, x])])", "reads data"),
        ("g[0] = g[x] + 1", "used before it is defined"),
        ("f[x] = g[x] + 1", "used before it is defined"),
        ("one = g[x] + 1; g[x] = one; g[x] = one", "that can only be assigned to .* itself, once"),
        ("hl.select((x < 3, y < 3), (x, y), x + y < 9, (1, 2), (3, 4))", "may not mix .* tuples, or none is"),
        ("f[x, y] = x; edges.repeat_edge(f)", "has no bounds of its own"),
        ("f[x] = x; edges.repeat_edge(f, [(0, 3), (0, 3)])", "2 bounds are given for .*, which has 1"),
        ("edges.repeat_edge(b, [3])", r"takes \(min, extent\) pairs"),
        ("edges.constant_exterior(hl.Func(hl.Float(32), 1, 'q'), 1, [(0, 3)])", "used before it is defined"),
        ("hl.lambda_func(x + 1, 3)", "lambda_func takes Vars"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, message: str) -> None:
    with pytest.raises(Error, match=message):
        run(hl, text)


# -- names ----------------------------------------------------------------------------------------------------------


def test_types_are_asked_as_in_halide() -> None:
    asked = """
    hl.Int(32).with_bits(8), hl.Int(32).with_code(hl.TypeCode.Float), hl.Type(hl.TypeCode.UInt, 16, 1), hl.UInt(1)
    hl.Int(32).can_represent(hl.UInt(16)), hl.Int(32).can_represent(hl.UInt(32)), hl.UInt(8).can_represent(hl.Bool())
    hl.Float(32).can_represent(hl.Int(16)), hl.Float(32).can_represent(hl.Int(32))
    hl.Float(64).can_represent(hl.Float(32)), hl.Float(32).can_represent(hl.Float(64))
    hl.Int(8).is_max(127), hl.Int(8).is_min(-127), hl.Bool().bits(), hl.Bool().bytes(), hl.Int(64).bytes()
    hl.Int(8).is_int(), hl.UInt(8).is_uint(), hl.Bool().is_bool(), hl.Bool().is_uint(), hl.Float(16).is_float()
    hl.Int(32) == hl.Int(32), hl.Int(32) == hl.UInt(32), hl.Int(32) != hl.Int(16)
    hl.Int(8).lanes(), hl.Int(8).is_scalar(), hl.Int(8).can_represent(hl.Int(8))
    hl.Int(8).is_vector(), hl.Int(8).element_of(), hl.Int(8).is_handle(), hl.Int(8).is_bfloat(), hl.Int(8).with_lanes(1)
    hl.Int(32, 4), hl.Bool(4), hl.UInt(1, 8), hl.Int(32, 4).lanes(), hl.Int(32, 4).is_vector(), hl.Int(32, 4).bytes()
    hl.Int(32, 4).element_of(), hl.Int(32, 4) == hl.Int(32), hl.Int(32).can_represent(hl.Int(32, 4))
    hl.Float(32, 8).with_bits(16), hl.Float(32, 8).with_code(hl.TypeCode.Int), hl.Int(8, 2).is_max(127)
    hl.Handle(), hl.Handle(4), hl.Handle().bits(), hl.Handle().is_handle(), hl.Handle().is_int(), hl.BFloat(16)
    hl.BFloat(16).bits(), hl.BFloat(16).is_float(), hl.BFloat(16).is_bfloat(), hl.BFloat(16) == hl.Float(16)
    hl.Int(8).code().name, hl.Bool().code().name, hl.Float(32).code().name
    """
    halide = pytest.importorskip("halide")
    for line in asked.strip().splitlines():
        ours, theirs = (eval(line.strip(), {"hl": api}) for api in (hl, halide))
        assert list(map(str, ours)) == list(map(str, theirs)), line


def test_vectors_and_pointers_are_types_without_values() -> None:
    for type_ in (hl.Int(32, 4), hl.Int(32).with_lanes(4), hl.Type(hl.TypeCode.Int, 32, 2)):
        for make in (lambda t: hl.cast(t, 1), hl.Param, lambda t: hl.Buffer(t, [3]), lambda t: t.max()):
            with pytest.raises(TypeMismatch, match="vectors are made by vectorize"):
                make(type_)
    for make in (lambda t: hl.cast(t, 1), hl.Param, lambda t: hl.Buffer(t, [3]), lambda t: hl.Func(t, 1, "f")):
        with pytest.raises(NotImplementedError, match="handle64"):
            make(hl.Type(hl.TypeCode.Handle, 64, 1))
    for wrong in (lambda: hl.BFloat(32), lambda: hl.Int(32, 0), lambda: hl.Type(hl.TypeCode.Handle, 32, 1)):
        with pytest.raises(TypeMismatch):
            wrong()


def test_every_name_of_the_bindings_is_there_or_says_that_it_is_not() -> None:
    halide = pytest.importorskip("halide")
    inner = {"FuncTupleElementRef", "VarOrRVar", "halide_"}
    for name in dir(halide):
        if name in inner or name.startswith("_"):
            continue
        if name in hl._NOT_YET:
            with pytest.raises(NotImplementedError, match=name):
                getattr(hl, name)
        else:
            assert getattr(hl, name) is not None


def test_errors_are_caught_under_the_name_of_the_bindings() -> None:
    with pytest.raises(hl.HalideError):
        hl.Func("f")[hl.Var("x")].type()


def test_functions_of_bits_are_factored_in_data_and_refused_of_what_is_accumulated() -> None:
    image = np.random.default_rng(0).integers(0, 256, 1000, dtype=np.uint8)
    im, u = hl.Buffer(image), hl.Var("u")
    f, r = hl.Func("f"), hl.RDom([(0, 1000)], "r")
    f[()] = 0
    f[()] += hl.i32(hl.popcount(im[r.x])) + hl.i32(hl.reinterpret(hl.Int(32), hl.f32(im[r.x])) & 1)
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 100).rfactor(ro, u).compute_root().update(0).parallel(u)
    assert np.asarray(f.realize()) == np.bitwise_count(image).sum() + (image.astype("f4").view("i4") & 1).sum()
    g = hl.Func("g")
    g[()] = hl.u8(0)
    g[()] = hl.popcount(g[()]) + im[r.x]
    with pytest.raises(FactorError, match=r"popcount of what g\S* holds so far"):
        g.update(0).rfactor(r.x, u)
