"""Reduction domains that are bounded by what an image holds: it is read once, checked, before anything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler import pipeline
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.structure import structure
from rfactor.errors import AlgorithmError, BufferError
from tests.codegen.test_c import CC, compiled, passed
from tests.compiler.pipelines import agrees, expected

x, y = hl.Var("x"), hl.Var("y")


def counts(api: Any, *values: int) -> Callable[[int], Any]:
    """The elements of an image, each at a parameter: a number would be read when the domain is made."""
    image = api.Buffer(np.array(values, np.int32))

    def element(index: int) -> Any:
        place = api.Param(api.Int(32))
        place.set(index)
        return image[place]

    return element


def _scattered(api: Any, n: Any) -> Any:
    x, f, r = api.Var("x"), api.Func("f"), api.RDom([(1, n(1))])
    f[x] = x
    f[r.x] = -1
    return f


def _of_bytes(api: Any, n: Any) -> Any:
    x, f, b = api.Var("x"), api.Func("f"), api.Buffer(np.array([3, 200, 41], np.uint8))
    r = api.RDom([(0, api.i32(b[n(0)]) // 10), (n(0), 2)])
    f[x] = 0
    f[x] += r.x * x + r.y
    return f


def _vectors(api: Any, n: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(0, n(1))])
    f[x, y] = x
    f[r.x, y] += y + r.x
    f.update().vectorize(r.x, 4).parallel(y)
    g = api.Func("g")
    g[x] = f[x, 0] + f[x, 1]
    f.compute_root()
    return g


def _factored(api: Any, n: Any) -> Any:
    x, u, f, r = api.Var("x"), api.Var("u"), api.Func("f"), api.RDom([(0, n(1))])
    ro, ri = api.RVar("ro"), api.RVar("ri")
    f[x] = 5
    f[x] += r.x * x
    f.update().split(r.x, ro, ri, 4).rfactor(ro, u).compute_root().update().parallel(u)
    return f


def _inside(api: Any, n: Any) -> Any:
    x, f, g, r = api.Var("x"), api.Func("f"), api.Func("g"), api.RDom([(0, n(1))])
    g[x] = 0
    g[x] += r.x
    f[x] = g[x] + g[x + 1] + api.sum(r.x * x)
    g.compute_at(f, x)
    return f


PROGRAMS = [_scattered, _of_bytes, _vectors, _factored, _inside]
Program = Callable[[Any, Any], Any]


@pytest.mark.parametrize("program", PROGRAMS)
def test_values_are_those_of_the_definition_and_of_halide(program: Program) -> None:
    code = set()
    for count in (7, 0, 1, -3):
        f = program(hl, counts(hl, 1, count, 2))
        agrees(f, expected(f, [20]), [20])
        code.add(id(pipeline.executable(f).code))
    assert len(code) == 1  # the number is no part of it
    halide = pytest.importorskip("halide")
    ours, theirs = (np.array(program(api, counts(api, 1, 7, 2)).realize([20])) for api in (hl, halide))
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("program", [_scattered, _inside])
def test_bounds_of_it_are_proven(program: Program) -> None:
    assert program(hl, counts(hl, 1, 7, 2)).verify().verdict == "proven"


def at(index: Any) -> tuple[Any, Any]:
    """What fills as many as an image holds at a point, and the image."""
    image, f = hl.ImageParam(hl.Int(32), 1, "counts"), hl.Func("f")
    r = hl.RDom([(0, image[index])])
    f[x] = 0
    f[r.x] = 9
    return f, image


def test_what_is_outside_of_the_image_is_not_read() -> None:
    p = hl.Param(hl.Int(32), "p")
    f, image = at(p * p - 1)
    data = np.array([5, 3, 4, 2], np.int32)
    image.set(data[::-2])  # 2, 3: neither dense nor forward
    for value, count in ((1, 2), (-1, 2), (0, None), (2, None), (1 << 16, None), (46341, None)):
        p.set(value)
        out = np.full(6, 7, np.int32)
        if count is None:
            with pytest.raises(
                BufferError, match=r"input counts is read from (-?\d+) to \1 in dimension 0, but it holds"
            ):
                f.realize(out)
            assert out.tolist() == [7] * 6
        else:
            f.realize(out)
            assert out.tolist() == [9] * count + [0] * (6 - count)
    p.set(1)
    image.set(np.array([9], np.int32))
    with pytest.raises(BufferError, match="is computed from 0 to 8 in dimension 0"):
        f.realize(np.zeros(6, np.int32))


def test_an_image_is_read_at_what_another_holds() -> None:
    image = hl.ImageParam(hl.Int(32), 1, "im")
    f, r = hl.Func("f"), hl.RDom([(image[2], image[image[image[0]] + 3])])  # an ImageParam is read when it is given
    f[x] = 0
    f[r.x] = 9
    image.set(np.array([1, 2, 3, 9, 9, 4], np.int32))
    agrees(f, expected(f, [10]), [10])
    assert np.array(f.realize([10])).tolist() == [0, 0, 0, 9, 9, 9, 9, 0, 0, 0]
    image.set(np.array([1, 3, 3, 9, 9, 4], np.int32))
    with pytest.raises(BufferError, match="is read from 6 to 6"):
        f.realize([10])


def test_what_is_read_of_others_is_inferred_where_it_is_known() -> None:
    image, data, f = hl.ImageParam(hl.Int(32), 1, "counts"), hl.ImageParam(hl.UInt(8), 1, "data"), hl.Func("f")
    r = hl.RDom([(0, image[0])])
    f[()] = 0
    f[()] += hl.i32(data[r.x + 2])
    with pytest.raises(AlgorithmError, match="set its images first"):
        f.infer_input_bounds([])
    image.set(np.array([5], np.int32))
    f.infer_input_bounds([])
    assert (data.get().dim(0).min(), data.get().dim(0).extent()) == (2, 5)


@pytest.mark.skipif(not CC, reason="needs a C compiler")
def test_a_c_program_is_told_what_is_outside(tmp_path: Path) -> None:
    p = hl.Param(hl.Int(32), "p")
    f, image = at(p)
    call, says = compiled(tmp_path, f, [image, p], "filled")
    out = np.full(6, 7, np.int32)
    assert says(call(passed(np.array([3, 4], np.int32)), 2, passed(out))).startswith("input counts is read from ")
    far = passed(np.array([3, 4], np.int32))
    far.contents.dim[0].stride = 1 << 40
    assert says(call(far, 1, passed(out))).startswith("input counts has stride")
    assert out.tolist() == [7] * 6
    assert call(passed(np.array([3, 4], np.int32)), 1, passed(out)) == 0
    assert out.tolist() == [9, 9, 9, 9, 0, 0]


def test_what_is_read_has_the_name_of_its_place_in_messages(tmp_path: Path) -> None:
    image, p, f = hl.ImageParam(hl.Int(32), 2, "ends"), hl.Param(hl.Int(32), "p"), hl.Func("f")
    r = hl.RDom([(0, image[p, 3])])
    f[x] = 0
    f[r.x] = 9
    f.compile_to_header(str(tmp_path / "f.h"), [image, p])
    assert "max(f.min.0 + f.extent.0 - 1, ends(p, 3) - 1)" in (tmp_path / "f.h").read_text(encoding="utf-8")


def test_a_program_whose_names_are_chosen_for_it_is_one_when_it_is_built_again() -> None:
    def built() -> Any:
        image, p, f = hl.ImageParam(hl.Int(32), 1), hl.Param(hl.Int(32)), hl.Func()
        r = hl.RDom([(0, image[p])])
        f[x] = 0
        f[r.x] = 9
        frozen = freeze(f)
        return structure(frozen.algorithm, frozen.schedule)

    assert built() == built()


def test_what_varies_bounds_nothing() -> None:
    b, g, r = hl.Buffer(np.ones(4, np.int32)), hl.Func("g"), hl.RDom([(0, 3)])
    g[x] = x
    for made, message in (
        (lambda: hl.RDom([(0, b[x])]), "reads data at a point that varies with x"),
        (lambda: hl.RDom([(b[r.x], 2)]), r"reads data at a point that varies with r.*\.x"),
        (lambda: hl.RDom([(0, g[3])]), "depends on a call to a Func"),
        (lambda: hl.RDom([(0, b[hl.clamp(g[3], 0, 3)])]), "depends on a call to a Func"),
    ):
        with pytest.raises(AlgorithmError, match=message):
            made()


_SLOPES = {
    "pure": {3: [2, 4, 6, 0, 0], 2: [2, 4, 0, 0, 0]},
    "into one": {3: [56, 172, 174, 176, 0], 2: [32, 100, 102, 8, 0]},
    "recurrence": {3: [522, 260, 126, 52, 0], 2: [106, 52, 22, 8, 0]},
}
"""By what the domain is of, and what bounds it."""


@pytest.mark.parametrize("moving", _SLOPES)
def test_derivatives_over_such_a_domain(moving: str) -> None:
    n, p = hl.ImageParam(hl.Int(32), 1, "n"), hl.Param(hl.Int(32), "p")
    a, g, loss = hl.Buffer(np.arange(1, 9, dtype=np.float32)), hl.Func("g"), hl.Func("loss")
    loss[()] = hl.f32(0)
    if moving == "pure":
        g[x] = a[x] * a[x]
        loss[()] += g[hl.RDom([(0, n[p])]).x]
    else:
        r, q = hl.RDom([(1, n[p])]), hl.RDom([(0, 4)])
        g[x] = a[x]
        if moving == "into one":
            g[0] += a[r.x] * 3
        else:
            g[r.x] += g[r.x - 1] * 2
        loss[()] += g[q.x] * g[q.x]
    d = hl.propagate_adjoints(loss)
    p.set(1)
    for count, wanted in _SLOPES[moving].items():
        n.set(hl.Buffer(np.array([9, count], np.int32)))
        assert np.asarray(d[a].realize([5])).tolist() == wanted
