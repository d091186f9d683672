"""The programs that the project is for: factored twice, parallel and vectorised, with the serial bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.bench.program import Program
from rfactor.bench.table1 import programs

PROGRAMS = {program.title: program for program in programs(1 << 12)}


@pytest.mark.parametrize("title", PROGRAMS)
def test_the_programs_of_table_1_give_the_serial_answer(title: str) -> None:
    program: Program = PROGRAMS[title]
    serial, _ = program.algorithm()
    factored, domain = program.algorithm()
    program.schedule(factored, domain)
    one, other = program.outputs(), program.outputs()
    serial.realize(one)
    factored.realize(other)
    for a, b in zip(one, other, strict=True):
        if a.dtype.kind == "f":
            np.testing.assert_allclose(a, b, rtol=1e-4)
        else:
            assert np.array_equal(a, b)


@pytest.mark.parametrize("n", [0, 1, 15, 16, 1000, 40000])
def test_the_product_of_complex_numbers_in_parallel_lanes(n: int) -> None:
    random = np.random.default_rng(n)
    a, b = (hl.Buffer(random.integers(-(2**31), 2**31, n, dtype=np.int32) | 1) for _ in range(2))

    def algorithm() -> tuple[Any, Any]:
        f, r = hl.Func("f"), hl.RDom([(0, n)])
        f[()] = (hl.i32(1), hl.i32(0))
        f[()] = (f[()][0] * a[r.x] - f[()][1] * b[r.x], f[()][0] * b[r.x] + f[()][1] * a[r.x])
        return f, r

    serial, _ = algorithm()
    f, r = algorithm()
    u, v = hl.Var("u"), hl.Var("v")
    ro, ri, rio, rii = (hl.RVar(s) for s in ("ro", "ri", "rio", "rii"))
    f.update(0).split(r.x, ro, ri, 16384)
    intm = f.update(0).rfactor([(ro, u)])
    intm.compute_root().update(0).parallel(u).split(ri, rio, rii, 16)
    lanes = intm.update(0).rfactor([(rii, v)])
    lanes.compute_at(intm, u).vectorize(v)
    lanes.update(0).vectorize(v)
    out_re, out_im = np.zeros((), np.int32), np.zeros((), np.int32)
    f.realize((out_re, out_im))
    assert [b[()] for b in serial.realize()] == [out_re, out_im]
    if n:
        assert "ramp(0, 1, 16)" in f.lowered()


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (5, 3), (64, 33)])
def test_a_histogram_by_rows_in_parallel(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)
    im, hist, i, u = hl.ImageParam(hl.UInt(8), 2), hl.Func("hist"), hl.Var("i"), hl.Var("u")
    im.set(image)
    r = hl.RDom([(0, im.width()), (0, im.height())])
    hist[i] = 0
    hist[hl.cast(hl.Int(32), im[r.x, r.y])] += 1
    intm = hist.update(0).rfactor([(r.y, u)])
    intm.compute_root().update(0).parallel(u)
    intm.vectorize(hl.Var("i"), 16)
    hist.update(0).vectorize(hl.Var("i"), 16)
    assert np.array_equal(np.asarray(hist.realize([256])), np.bincount(image.ravel(), minlength=256))
