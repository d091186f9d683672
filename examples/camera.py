"""The raw pixels of a camera to a picture: hot pixels, deinterleaving, demosaicking, colours, a curve, sharpening."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl

RIM = 24
"""Pixels of the sensor around the picture: what is read, and what a last vector of 16 reads beyond."""
MATRIX = ((500, -180, -64), (-70, 420, -94), (-20, -150, 426))
"""Of 256: what red, green and blue of the sensor add to those of the picture."""
CURVE = np.round(255 * (np.arange(1024) / 1023) ** (1 / 1.8)).astype(np.uint8)


def build(raw: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The picture and its sizes, 48 less than those of `raw` (u16 to 1023; green, red over blue, green)."""
    source, table = hl.Buffer(raw), hl.Buffer(CURVE)
    height, width = raw.shape
    x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")

    # A pixel that outshines its neighbours of the same colour is brought down to them.
    clean = hl.Func("clean")
    here = hl.i16(source[x, y])
    around = [hl.i16(source[x + dx, y + dy]) for dx, dy in ((-2, 0), (2, 0), (0, -2), (0, 2))]
    clean[x, y] = hl.min(here, hl.max(hl.max(around[0], around[1]), hl.max(around[2], around[3])))

    # Four images of a quarter of the pixels.
    parts = {name: hl.Func(name) for name in ("g_gr", "r_r", "b_b", "g_gb")}
    for i, f in zip(range(4), parts.values(), strict=True):
        f[x, y] = clean[2 * x + i % 2, 2 * y + i // 2]
    g_gr, r_r, b_b, g_gb = parts.values()

    # Green where the sensor saw red or blue: from the pair of neighbours that differ less.
    def nearer(first: tuple[Any, Any], second: tuple[Any, Any]) -> Any:
        return hl.select(hl.absd(*first) < hl.absd(*second), mean(*first), mean(*second))

    g_r, g_b = hl.Func("g_r"), hl.Func("g_b")
    g_r[x, y] = nearer((g_gr[x + 1, y], g_gr[x, y]), (g_gb[x, y - 1], g_gb[x, y]))
    g_b[x, y] = nearer((g_gb[x - 1, y], g_gb[x, y]), (g_gr[x, y + 1], g_gr[x, y]))

    # Red and blue elsewhere: from their neighbours, as far as green changes between here and there.
    def carried(
        name: str, f: Any, green_there: Any, green_here: Any, one: tuple[int, int], two: tuple[int, int]
    ) -> Any:
        a, b = (x + one[0], y + one[1]), (x + two[0], y + two[1])
        result = hl.Func(name)
        result[x, y] = green_here[x, y] - mean(green_there[a], green_there[b]) + mean(f[a], f[b])
        return result

    r_gr = carried("r_gr", r_r, g_r, g_gr, (-1, 0), (0, 0))
    b_gr = carried("b_gr", b_b, g_b, g_gr, (0, -1), (0, 0))
    r_gb = carried("r_gb", r_r, g_r, g_gb, (0, 0), (0, 1))
    b_gb = carried("b_gb", b_b, g_b, g_gb, (0, 0), (1, 0))

    def diagonal(name: str, f: Any, green_there: Any, green_here: Any, across: int, down: int) -> Any:
        falling = carried(f"{name}_falling", f, green_there, green_here, (0, 0), (across, down))
        rising = carried(f"{name}_rising", f, green_there, green_here, (across, 0), (0, down))
        less = hl.absd(f[x, y], f[x + across, y + down]) < hl.absd(f[x + across, y], f[x, y + down])
        result = hl.Func(name)
        result[x, y] = hl.select(less, falling[x, y], rising[x, y])
        return result

    r_b = diagonal("r_b", r_r, g_r, g_b, -1, 1)
    b_r = diagonal("b_r", b_b, g_b, g_r, 1, -1)

    # The four together again.
    def woven(name: str, *four: Any) -> Any:
        at = (x // 2, y // 2)
        result = hl.Func(name)
        upper = hl.select(x % 2 == 0, four[0][at], four[1][at])
        result[x, y] = hl.select(y % 2 == 0, upper, hl.select(x % 2 == 0, four[2][at], four[3][at]))
        return result

    colours = (
        woven("red", r_gr, r_r, r_b, r_gb),
        woven("green", g_gr, g_r, g_b, g_gb),
        woven("blue", b_gr, b_r, b_b, b_gb),
    )
    corrected, curved = hl.Func("corrected"), hl.Func("curved")
    seen = [hl.i32(f[x, y]) for f in colours]
    rows = [sum((seen[i] * row[i] for i in (1, 2)), seen[0] * row[0]) // 256 for row in MATRIX]
    corrected[x, y, c] = hl.select(c == 0, rows[0], hl.select(c == 1, rows[1], rows[2]))
    curved[x, y, c] = table[hl.clamp(corrected[x, y, c], 0, 1023)]

    # What a blur takes away is added again.
    columns, blurred, picture = hl.Func("columns"), hl.Func("blurred"), hl.Func("picture")
    columns[x, y, c] = quarter(curved[x, y - 1, c], curved[x, y, c], curved[x, y + 1, c])
    blurred[x, y, c] = quarter(columns[x - 1, y, c], columns[x, y, c], columns[x + 1, y, c])
    at = (x + RIM, y + RIM, c)
    sharp = hl.i16(curved[at]) + (hl.i16(curved[at]) - hl.i16(blurred[at])) // 2
    picture[x, y, c] = hl.u8(hl.clamp(sharp, hl.i16(0), hl.i16(255)))

    if scheduled:
        strip, yi = hl.Var("strip"), hl.Var("yi")
        picture.split(y, strip, yi, 32).reorder(x, yi, c, strip).parallel(strip).vectorize(x, 16)
        for f in (clean, *parts.values(), g_r, g_b, *colours, corrected, curved):
            f.compute_at(picture, strip).vectorize(x, 16)
    else:
        for f in (clean, *parts.values(), g_r, g_b, *colours, corrected, curved, columns, blurred):
            f.compute_root()
    return picture, [width - 2 * RIM, height - 2 * RIM, 3]


def mean(a: Any, b: Any) -> Any:
    """The mean of two values, rounded up."""
    return (a + b + hl.i16(1)) // 2


def quarter(a: Any, b: Any, c: Any) -> Any:
    """A quarter of the outer ones, half of the middle one, rounded up."""
    return hl.u8((hl.u16(a) + 2 * hl.u16(b) + hl.u16(c) + 2) // 4)


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    random = np.random.default_rng(0)
    raw = random.integers(300, 340, (88, 120)).astype(np.uint16)
    raw[40, 60] = 1023
    picture, sizes = build(raw)
    result = np.asarray(picture.realize(sizes))
    print("a picture of", result.shape, "whose brightest value is", result.max())


if __name__ == "__main__":
    main()
