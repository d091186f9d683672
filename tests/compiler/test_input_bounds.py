"""What a pipeline reads of its inputs, inferred for an output."""

from __future__ import annotations

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError

x, y = hl.Var("x"), hl.Var("y")


def boxes(*images: hl.ImageParam) -> list[list[tuple[int, int]]]:
    return [[(i.get().min(d), i.get().extent(d)) for d in range(i.dimensions())] for i in images]


def test_each_image_becomes_just_what_is_read() -> None:
    a, b, n = hl.ImageParam(hl.UInt(8), 2, "a"), hl.ImageParam(hl.Float(32), 1, "b"), hl.Param(hl.Int(32), "n", 3)
    g, f = hl.Func("g"), hl.Func("f")
    g[x, y] = hl.i32(a[x - 1, y]) + hl.i32(a[x + 2, y * 2])
    f[x, y] = g[x, y] + g[x, y + n] + hl.i32(b[y])
    g.compute_root()
    f.infer_input_bounds([10, 20])
    assert boxes(a, b) == [[(-1, 13), (0, 45)], [(0, 20)]]
    a.reset()
    out = hl.Buffer(hl.Int(32), [4, 5])
    out.set_min(100, -7)
    hl.Pipeline(f).infer_input_bounds(out)
    assert boxes(a, b) == [[(99, 7), (-14, 15)], [(0, 20)]]
    with pytest.raises(BufferError, match="b is read from -7 to -3"):
        f.realize(out)
    b.reset()
    f.infer_input_bounds([out])
    f.realize(out)
    assert not np.asarray(out).any()


def test_what_cannot_be_inferred_is_said() -> None:
    a, f, n = hl.ImageParam(hl.UInt(8), 1, "a"), hl.Func("f"), hl.Param(hl.Int(32), "n")
    f[x] = a[hl.min(x, a.width() - 1)] + hl.u8(n)
    with pytest.raises(BufferError, match="parameter n has no value"):
        f.infer_input_bounds([3])
    n.set(1)
    with pytest.raises(AlgorithmError, match=r"what is read of a depends on a\.extent\.0"):
        f.infer_input_bounds([3])
    with pytest.raises(BufferError, match="takes 1 sizes"):
        f.infer_input_bounds([3, 4])
