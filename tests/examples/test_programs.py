"""The programs in examples/ give what NumPy and SciPy give, whatever the schedule, and what Halide gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from tests.examples.programs import INTEGERS, PROGRAMS, inputs, load, run


def blur(image: np.ndarray) -> np.ndarray:
    wide = image.astype(np.uint32)
    rows = ((wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) & 0xFFFF) // 3
    return (((rows[:-2] + rows[1:-1] + rows[2:]) & 0xFFFF) // 3).astype(np.uint16)


def luminance(image: np.ndarray) -> np.ndarray:
    return np.tensordot(np.array([0.299, 0.587, 0.114]), image.astype(np.float64), 1)


def unsharp(image: np.ndarray) -> np.ndarray:
    gray = luminance(image)
    weights = np.exp(-(np.arange(-3, 4) ** 2) / (2 * 1.5**2)) / (np.sqrt(2 * np.pi) * 1.5)
    blurred = ndimage.convolve1d(ndimage.convolve1d(gray, weights, 0), weights, 1)
    ratio = (2 * gray - blurred) / np.maximum(gray, 1e-3)
    return (ratio * image)[:, 3:-3, 3:-3]


def equalize(image: np.ndarray) -> np.ndarray:
    running = np.bincount(image.ravel(), minlength=256).cumsum()
    return (running[image] * 255 // image.size).astype(np.uint8)


def harris(image: np.ndarray) -> np.ndarray:
    gray = luminance(image)
    across, down = ndimage.sobel(gray, 1) / 12, ndimage.sobel(gray, 0) / 12
    xx, yy, xy = (9 * ndimage.uniform_filter(f, 3) for f in (across * across, down * down, across * down))
    return (xx * yy - xy * xy - 0.04 * (xx + yy) ** 2)[2:-2, 2:-2]


def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b


def bilateral_grid(image: np.ndarray) -> np.ndarray:
    """The same filter with a cell more on each side, and SciPy's interpolation."""
    cell, levels, rim = 8, 10, 4
    height, width = image.shape
    rows, columns = -(-height // cell) + 2 * rim, -(-width // cell) + 2 * rim
    first = -rim * cell - cell // 2
    reach = [np.clip(np.arange(n * cell) + first, 0, size - 1) for n, size in ((rows, height), (columns, width))]
    value = image[np.ix_(*reach)]
    level = (value * np.float32(levels) + np.float32(0.5)).astype(int)
    y, x = np.indices(value.shape) // cell
    grid = np.zeros((2, levels + 5, rows, columns))
    np.add.at(grid[0], (level + 2, y, x), value)
    np.add.at(grid[1], (level + 2, y, x), 1)
    for axis in (1, 2, 3):
        grid = ndimage.convolve1d(grid, [1, 4, 6, 4, 1], axis, mode="constant")
    y, x = np.indices(image.shape)
    at = [image * np.float32(levels) + 2, y / cell + rim, x / cell + rim]
    total, number = (ndimage.map_coordinates(part, at, order=1) for part in grid)
    return total / number


def level_set(image: np.ndarray, level: np.ndarray) -> np.ndarray:
    inside, outside = (image[side].mean() / 255 if side.any() else 0.0 for side in (level > 0, level <= 0))
    phi = level.astype(np.float64)
    down, across = (0.5 * ndimage.correlate1d(phi, [-1, 0, 1], axis) for axis in (0, 1))
    yy, xx = (ndimage.correlate1d(phi, [1, -2, 1], axis) for axis in (0, 1))
    xy = ndimage.correlate(phi, np.array([[1, 0, -1], [0, 0, 0], [-1, 0, 1]]) / 4)
    slope = across**2 + down**2 + 1e-6
    curvature = (xx * down**2 - 2 * xy * across * down + yy * across**2) / slope**1.5
    force = (image / 255 - outside) ** 2 - (image / 255 - inside) ** 2
    return (phi + 0.2 / (1 + phi**2) * (0.02 * curvature + force))[1:-1, 1:-1]


def local_laplacian(image: np.ndarray) -> np.ndarray:
    """The same filter on an image with a wide rim."""
    rim, levels = 96, 4
    height, width = image.shape[1:]
    sides = [(rim, rim + -size % 16) for size in (height, width)]
    floating = np.pad(image, [(0, 0), *sides], mode="edge").astype(np.float32) / np.float32(65535)
    gray = np.float32(0.299) * floating[0] + np.float32(0.587) * floating[1] + np.float32(0.114) * floating[2]

    def smaller(a: np.ndarray) -> np.ndarray:
        for axis in (0, 1):
            a = np.pad(np.moveaxis(a, axis, 0), [(1, 2), (0, 0)], mode="edge")
            n = a.shape[0] - 3
            a = np.moveaxis((a[0:n:2] + 3 * (a[1 : n + 1 : 2] + a[2 : n + 2 : 2]) + a[3 : n + 3 : 2]) / 8, 0, axis)
        return a

    def larger(a: np.ndarray) -> np.ndarray:
        for axis in (0, 1):
            i = np.arange(2 * a.shape[axis])
            far = np.clip(i // 2 - 1 + 2 * (i % 2), 0, a.shape[axis] - 1)
            a = np.take(a, far, axis) / 4 + np.take(a, i // 2, axis) * 3 / 4
        return a

    def pyramid(a: np.ndarray) -> list[np.ndarray]:
        return [a, *(a := smaller(a) for _ in range(3))]

    details = []
    for k in range(levels):
        offset = (np.clip((gray * 768).astype(int), 0, 768) - 256 * k) / 256
        about = pyramid(gray + 0.3 * offset * np.exp(-offset * offset / 2))
        details.append([*(about[j] - larger(about[j + 1]) for j in range(3)), about[3]])
    result: Any = None
    for j in reversed(range(4)):
        bright = pyramid(gray)[j] * (levels - 1)
        lower = np.clip(bright.astype(int), 0, levels - 2)
        share = bright - lower
        of = np.stack([detail[j] for detail in details])
        here = [np.take_along_axis(of, (lower + i)[None], 0)[0] for i in range(2)]
        chosen = (1 - share) * here[0] + share * here[1]
        result = chosen if result is None else chosen + larger(result)
    colour = np.clip(result * (floating + 0.01) / (gray + 0.01), 0, 1) * 65535
    return colour[:, rim : rim + height, rim : rim + width].astype(np.uint16)


def camera(raw: np.ndarray) -> np.ndarray:
    """The same steps on whole arrays that wrap around; the rim is cut off at the end."""
    program = load("camera")
    height, width = (size // 2 * 2 for size in raw.shape)
    full = np.pad(raw, [(0, 2), (0, 2)])[: height + 2, : width + 2].astype(np.int64)

    def at(a: np.ndarray, dx: int, dy: int) -> np.ndarray:
        return np.roll(a, (-dy, -dx), (0, 1))

    def mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a + b + 1) >> 1

    around = np.max([at(full, *by) for by in ((-2, 0), (2, 0), (0, -2), (0, 2))], 0)
    clean = np.minimum(full, around)
    g_gr, r_r, b_b, g_gb = (clean[i // 2 :: 2, i % 2 :: 2] for i in range(4))

    def nearer(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        return np.where(abs(a - b) < abs(c - d), mean(a, b), mean(c, d))

    g_r = nearer(at(g_gr, 1, 0), g_gr, at(g_gb, 0, -1), g_gb)
    g_b = nearer(at(g_gb, -1, 0), g_gb, at(g_gr, 0, 1), g_gr)

    def carried(f: np.ndarray, there: np.ndarray, here: np.ndarray, one: Any, two: Any) -> np.ndarray:
        return here - mean(at(there, *one), at(there, *two)) + mean(at(f, *one), at(f, *two))

    def diagonal(f: np.ndarray, there: np.ndarray, here: np.ndarray, dx: int, dy: int) -> np.ndarray:
        less = abs(f - at(f, dx, dy)) < abs(at(f, dx, 0) - at(f, 0, dy))
        falling = carried(f, there, here, (0, 0), (dx, dy))
        return np.where(less, falling, carried(f, there, here, (dx, 0), (0, dy)))

    def woven(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
        result = np.zeros_like(full)
        result[::2, ::2], result[::2, 1::2], result[1::2, ::2], result[1::2, 1::2] = a, b, c, d
        return result

    here = (0, 0)
    r_gr, r_gb = carried(r_r, g_r, g_gr, (-1, 0), here), carried(r_r, g_r, g_gb, here, (0, 1))
    b_gr, b_gb = carried(b_b, g_b, g_gr, (0, -1), here), carried(b_b, g_b, g_gb, here, (1, 0))
    red = woven(r_gr, r_r, diagonal(r_r, g_r, g_b, -1, 1), r_gb)
    green = woven(g_gr, g_r, g_b, g_gb)
    blue = woven(b_gr, diagonal(b_b, g_b, g_r, 1, -1), b_b, b_gb)
    corrected = np.tensordot(np.array(program["MATRIX"]), np.stack([red, green, blue]), 1) >> 8
    curved = program["CURVE"][np.clip(corrected, 0, 1023)].astype(np.int64)
    blurred = curved
    for axis in (1, 2):
        blurred = (np.roll(blurred, 1, axis) + 2 * blurred + np.roll(blurred, -1, axis) + 2) >> 2
    picture = np.clip(curved + ((curved - blurred) >> 1), 0, 255).astype(np.uint8)
    rim = program["RIM"]
    return picture[:, rim : raw.shape[0] - rim, rim : raw.shape[1] - rim]


REFERENCES = {name: globals()[name] for name in PROGRAMS}


def agree(name: str, found: np.ndarray, expected: np.ndarray, contracted: bool = False) -> None:
    """Equal, floats up to rounding. `contracted`: one side joins products and sums, as Halide does."""
    assert found.shape == expected.shape
    if name in INTEGERS:
        assert np.array_equal(found, expected)
    elif name == "local_laplacian":
        difference = np.abs(found.astype(int) - expected)
        # A brightness that rounds to the next of 768 places moves the answer by a visible step, but seldom.
        assert np.mean(difference > 2) <= (0.03 if contracted else 0)
        assert difference.max() < 600
    else:
        assert np.allclose(found, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("scheduled", [False, True], ids=["plain", "scheduled"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_numpy_gives(name: str, scheduled: bool) -> None:
    given = inputs(name)
    agree(name, run(name, given, scheduled), REFERENCES[name](*given))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize(("rows", "columns"), [(13, 17), (33, 64)])
def test_schedules_give_the_same_bits(name: str, rows: int, columns: int) -> None:
    rim = 48 if name == "camera" else 0
    given = inputs(name, rows + rim, columns + rim)
    assert np.array_equal(run(name, given, False), run(name, given, True))


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_program_in_halide_gives_the_same(name: str) -> None:
    pytest.importorskip("halide")
    given = inputs(name)
    agree(name, run(name, given, True), run(name, given, False, "halide"), contracted=True)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_wrong_answer_would_be_seen(name: str) -> None:
    given = inputs(name)
    expected = REFERENCES[name](*given)
    wrong = expected.copy()
    wrong.flat[wrong.size // 2] += 1 if name != "local_laplacian" else 3
    with pytest.raises(AssertionError):
        agree(name, wrong, expected)


def test_equalizing_factors_the_histogram() -> None:
    function, _ = load("equalize")["build"](*inputs("equalize"))
    assert "histogram_intm" in function.lowered()
    plain, _ = load("equalize")["build"](*inputs("equalize"), scheduled=False)
    assert "_intm" not in plain.lowered()
