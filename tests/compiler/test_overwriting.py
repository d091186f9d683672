"""Outputs that are computed over the arrays that they read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError

Made = Callable[[Any, Any], Any]


def _point(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = im[x, y] * 2 + x + im[x, y]
    return f


def _in_vectors(api: Any, im: Any) -> Any:
    x, y = api.Var("x"), api.Var("y")
    return _point(api, im).vectorize(x, 4).parallel(y)


def _chain(api: Any, im: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    g[x, y] = im[x, y] + 1
    f[x, y] = g[x, y] * 3
    g.compute_at(f, y)
    return f


def _blur_before(api: Any, im: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    g[x, y] = im[7 - x, y] + im[x, api.max(y - 1, 0)]
    g.compute_root()
    f[x, y] = g[x, y] + im[x, y]
    return f


def _updated(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(1, 7)])
    f[x, y] = im[x, y]
    f[x, y] += 5
    f[r, y] += f[r - 1, y]
    return f


def _undefined(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = api.undef(api.Int(32))
    f[x, y] = f[x, y] + im[x, y]
    return f


def _histogram(api: Any, im: Any) -> Any:
    x, y, f, h, r = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("h"), api.RDom([(0, 8), (0, 6)])
    h[x] = 0
    h[api.clamp(im[r.x, r.y], 0, 31)] += 1
    h.compute_root()
    f[x, y] = h[api.clamp(im[x, y], 0, 31)]
    return f


def _together(api: Any, im: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    g[x, y] = im[7 - x, y]
    f[x, y] = im[x, y]
    out = api.Func("out")
    out[x, y] = f[x, y] + g[x, y]
    f.compute_root()
    g.compute_root().compute_with(f, y)
    return out


def _over_itself(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(0, 8)])
    f[x, y] = api.undef(api.Int(32))
    f[r, y] = im[r, y] * 3 + y
    f[r, y] += 1
    return f


def _over_some(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom(im)
    r.where(im[r.x, r.y] % 2 == 0)
    f[x, y] = api.undef(api.Int(32))
    f[r.x, r.y] = im[r.x, r.y] + r.x
    f.update().reorder(r.y, r.x).vectorize(r.y, 2)
    return f


def _moved_down(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(1, 6), (0, 5)])
    f[x, y] = api.undef(api.Int(32))
    f[r.x, r.y] = im[r.x + 1, r.y] + im[r.x - 1, r.y + 1] * 2 - im[r.x, r.y]
    return f


def _then(*stages: Callable[[Any, Any, Any, Any], None]) -> Made:
    """Such updates of a copy of the image."""

    def made(api: Any, im: Any) -> Any:
        x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(1, 6), (1, 4)])
        f[x, y] = im[x, y]
        for stage in stages:
            stage(f, im, x, r)
        return f

    return made


def _at_itself(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, r.y] = im[r.x, r.y] * 2 + r.x


def _ahead(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, r.y] = f[r.x - 1, r.y] + im[r.x, r.y + 1]


def _copied(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, 2] = im[r.x, 2]


def _one_row(f: Any, im: Any, x: Any, _: Any) -> None:
    f[x, 3] = im[x, 3] + 1


def _added(f: Any, im: Any, x: Any, _: Any) -> None:
    f[x, 2] += im[x, 2]


def _into_one(f: Any, im: Any, x: Any, r: Any) -> None:
    f[1, 1] += im[r.x, r.y]


def _into_one_row(f: Any, im: Any, x: Any, r: Any) -> None:
    f[x, 0] += im[x, r.y]


def _row_above(f: Any, im: Any, x: Any, _: Any) -> None:
    f[x, 3] = im[x, 2] + im[x, 3]


def _doubled(f: Any, im: Any, x: Any, r: Any) -> None:
    f[r.x // 2 * 2, r.y] = im[r.x // 2 * 2 + 1, r.y]


def _where(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(0, 8), (0, 6)])
    r.where(r.x > 2)
    f[x, y] = im[x, y]
    f[2, 0] += im[r.x, r.y]
    return f


def _by_channel(*arms: tuple[int, ...], bound: bool = True) -> Made:
    """Rows by turns, as the parts of complex numbers lie: each arm reads such rows, those of the last are left."""

    def made(api: Any, im: Any) -> Any:
        x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
        values = [sum((im[x, row] for row in rows), x) for rows in arms]
        *others, value = values
        for row in range(len(others))[::-1]:
            value = api.select(y == row, others[row] * 3, value)
        f[x, y] = value
        if bound:
            f.bound(y, 0, 6)
        return f

    return made


def _parity(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = api.select(y % 2 == 0, im[x, y // 2 * 2], im[x, y // 2 * 2 + 1]) + y
    return f


_COPIES = [
    _then(_into_one), _then(_into_one_row), _then(_doubled), _then(_row_above), _where,
    _then(_into_one, lambda f, im, x, r: f.__setitem__((r.x + 1, 5), im[r.x, 4])),
]  # fmt: skip
_COPIES += [_then(_at_itself), _then(_added), _then(_ahead), _then(_copied, _copied, _at_itself), _then(_one_row)]
_READ_BEFORE = [
    _point, _in_vectors, _chain, _blur_before, _updated, _undefined, _histogram, _together, _over_itself, _over_some,
    _moved_down, _by_channel((0,), (1,), (2,), (3,), (4,), (5,)), _by_channel((), (1,), ()), _parity, *_COPIES,
]  # fmt: skip


@pytest.mark.parametrize("made", _READ_BEFORE)
@pytest.mark.parametrize("fixed", [False, True])
def test_each_point_is_read_before_it_is_written(made: Made, fixed: bool) -> None:
    halide = pytest.importorskip("halide")
    answers = []
    for api in (hl, halide):
        array = np.arange(48, dtype=np.int32).reshape(6, 8) * 7 % 31
        im = api.Buffer(array, "b") if fixed else api.ImageParam(api.Int(32), 2, "im")
        func = made(api, im)
        buffer = im if fixed else api.Buffer(array)
        if not fixed:
            im.set(buffer)
        func.realize(buffer)
        func.realize(buffer)
        answers.append(array)
    ours, theirs = answers
    assert np.array_equal(ours, theirs)


def _mirrored(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = im[7 - x, y]
    return f


def _wrapping(api: Any, im: Any) -> Any:
    """The condition holds at y = 5 too, where the product wraps."""
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = api.select(y * 858993460 <= 4, im[x, 0], im[x, y])
    f.bound(y, 0, 6)
    return f


def _clamped(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = im[x, api.clamp(y, 0, 4)]
    return f


def _read_late(api: Any, im: Any) -> Any:
    x, y, f = api.Var("x"), api.Var("y"), api.Func("f")
    f[x, y] = 0
    f[x, y] += im[x, y]
    return f


def _read_again(api: Any, im: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    g[x, y] = im[x, y]
    f[x, y] = im[x, y] + 1
    f[x, y] += g[x, y]
    return f


def _neighbours(api: Any, im: Any) -> Any:
    x, y, f, g = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g")
    g[x, y] = im[x, y]
    f[x, y] = g[x, y] + g[x, y + 1]
    g.compute_at(f, y)
    return f


def _inlined_neighbours(api: Any, im: Any) -> Any:
    x, y, f, g, h = api.Var("x"), api.Var("y"), api.Func("f"), api.Func("g"), api.Func("h")
    g[x, y] = im[x, y]
    f[x, y] = g[x, y] + g[x, y + 1]
    h[x, y] = f[x, y]
    f.compute_at(h, y)
    return h


def _rows(api: Any, im: Any) -> Any:
    x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(0, 8)])
    f[x, y] = api.sum(im[r, y])
    return f


def _over_domain(written: Callable[[Any], Any], read: Callable[[Any], Any]) -> Made:
    """What is written at the points of a domain by what is read at others."""

    def made(api: Any, im: Any) -> Any:
        x, y, f, r = api.Var("x"), api.Var("y"), api.Func("f"), api.RDom([(1, 3), (1, 3)])
        f[x, y] = api.undef(api.Int(32))
        f[written(r)] = im[read(r)] + 1
        return f

    return made


def _behind(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, r.y] = im[r.x - 1, r.y] + 1


def _summed(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, 2] += im[r.x, r.y]


def _slanted(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, r.x + r.y] = im[r.x, r.x + r.y - 1]


def _moved(f: Any, im: Any, _: Any, r: Any) -> None:
    f[r.x, 2] = im[r.x - 1, 2]


def _into_the_last(f: Any, im: Any, x: Any, r: Any) -> None:
    f[6, 4] += im[r.x, r.y] + im[r.x - 1, r.y] + im[7 - r.x, 5 - r.y]


def _of_data(f: Any, im: Any, x: Any, r: Any) -> None:
    f[1, 1] += im[im[r.x, r.y] % 8, r.y]


_LATE_UPDATES = [
    _then(_into_the_last), _then(_of_data), _then(_into_one, _into_one), _then(_into_one, _copied, _at_itself),
    _then(_behind), _then(_row_above, _row_above), _then(_summed), _then(_slanted), _then(_one_row, _at_itself),
    _then(_at_itself, _copied), _then(_moved, _copied),
]  # fmt: skip
_LATE = {
    "again and again": _over_domain(lambda r: (r.x, 2), lambda r: (r.x, 2)),
    "behind": _over_domain(lambda r: (r.x, r.y), lambda r: (r.x - 1, r.y)),
    "behind outside": _over_domain(lambda r: (r.x, r.y), lambda r: (r.x + 1, r.y - 1)),
    "the other order": _over_domain(lambda r: (r.y, r.x), lambda r: (r.y - 1, r.x + 1)),
    "mirrored": _over_domain(lambda r: (r.x, r.y), lambda r: (4 - r.x, r.y)),
    "faster": _over_domain(lambda r: (2 * r.x, r.y), lambda r: (2 * r.x - 2, r.y)),
    "along both": _over_domain(lambda r: (r.x, r.x + r.y - 1), lambda r: (r.x + 1, r.x + r.y - 1)),
}


@pytest.mark.parametrize(
    "made",
    [
        _by_channel((0,), (1,), (2,), (3,), (4, 5), (5,)), _by_channel((0,), (1,), (2,), (3,), (4,), (5,), bound=False),
        _by_channel((0,), (0,), (0,)), _wrapping, _mirrored, _clamped,
        _read_late, _read_again, _neighbours, _inlined_neighbours, _rows, *_LATE_UPDATES,
        *_LATE.values(),
    ],
)  # fmt: skip
def test_what_may_be_written_before_it_is_read_is_refused(made: Made) -> None:
    array = np.arange(48, dtype=np.int32).reshape(6, 8)
    kept = array.copy()
    func = made(hl, hl.Buffer(array))
    with pytest.raises(BufferError, match=r"overlaps .*own\. The array of an output may be that of an image"):
        func.realize(array)
    assert np.array_equal(array, kept)


def test_the_array_is_the_image_point_for_point() -> None:
    x, y = hl.Var("x"), hl.Var("y")
    array = np.arange(48, dtype=np.int32).reshape(6, 8)
    kept = array.copy()
    im, f = hl.ImageParam(hl.Int(32), 2), hl.Func("f")
    f[x, y] = im[x, y] + 100
    whole = hl.Buffer(array)
    part = whole.cropped([(2, 5), (1, 4)])
    moved = hl.Buffer(array[1:5, 2:7])
    im.set(whole)
    for wrong in (moved, hl.Buffer(array[::-1]), hl.Buffer(array[:, ::2]), hl.Buffer(array[:3])):
        if wrong is moved:
            im.set(whole)
        elif wrong.height() == 3:
            im.set(hl.Buffer(array[1:4]))
        with pytest.raises(BufferError, match="overlaps"):
            f.realize(wrong)
    assert np.array_equal(array, kept)
    im.set(whole)
    f.realize(part)
    kept[1:5, 2:7] += 100
    assert np.array_equal(array, kept)
    im.set(hl.Buffer(array[::-1]))
    f.realize(hl.Buffer(array[::-1]))
    assert np.array_equal(array, kept + 100)
    im.set(part)
    with pytest.raises(BufferError):  # the box of the output is not in that of the image
        f.realize(whole)
    call = f.compile_to_callable([im])
    call(whole, whole)
    assert np.array_equal(array, kept + 200)
    call(whole, hl.Buffer(np.zeros((0, 8), np.int32)))


def test_signed_values_are_written_over_unsigned() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    array = np.arange(250, 256, dtype=np.uint8)
    f[x] = hl.i8(hl.Buffer(array)[x])
    f.realize(hl.Buffer(array.view(np.int8)))
    assert array.view(np.int8).tolist() == [-6, -5, -4, -3, -2, -1]
    g = hl.Func("g")
    g[x] = hl.u16(hl.Buffer(array)[x])
    with pytest.raises(BufferError, match="overlaps"):
        g.realize(hl.Buffer(array.view(np.uint16)))


def test_several_outputs_have_arrays_of_their_own() -> None:
    x, f, g, t = hl.Var("x"), hl.Func("f"), hl.Func("g"), hl.Func("t")
    array = np.arange(6, dtype=np.int32)
    b = hl.Buffer(array)
    f[x] = b[x]
    g[x] = b[x] + 1
    t[x] = (b[x], b[x] + 1)
    for owner in (hl.Pipeline([f, g]), t):
        with pytest.raises(BufferError, match="overlaps"):
            owner.realize((array, np.zeros(6, np.int32)))
