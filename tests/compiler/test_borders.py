"""Vectors of clamped coordinates are loaded dense where no lane is clamped, and have the same values everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import passes
from rfactor.compiler.lower.borders import borders
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Var, apply, cast, select
from rfactor.ir.loopnest import For, Load, Store, block
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I32, I64

x, y = hl.Var("x"), hl.Var("y")
WIDTH = 37
DATA = np.arange(100, 100 + WIDTH, dtype=np.int32)


def loads(func: Any, name: str = "a") -> list[str]:
    """The lines of the final nest that load from the array `name`, its checks aside."""
    frozen = freeze(func)
    text = show_nest(dict(passes(frozen.algorithm, frozen.schedule))["final"])
    return [line.strip() for line in text.splitlines() if f"{name}[" in line]


def blurred(index: Callable[[Any], Any], source: Any, lanes: int = 8) -> Any:
    f = hl.Func("f")
    f[x] = source[index(x)]
    f.vectorize(x, lanes)
    return f


def test_vectors_inside_are_dense_and_those_at_the_ends_are_not() -> None:
    a = hl.ImageParam(hl.Int(32), 1, "a")
    first, main, last = loads(blurred(lambda at: hl.clamp(at - 1, 0, 99), a))
    assert main.endswith(" = a[ramp(i64(f.s0.x) * 8 + i64(f.min.0) - i64(a.min.0) - 1, 1, 8)]")
    assert all("a[i64x8(max(min(ramp(" in end for end in (first, last))


@pytest.mark.parametrize("index", [lambda at: at // 2 - 1, lambda at: (at + 1) // 2, lambda at: 9 - (at // 2 + 1) // 2])
def test_quotients_inside_are_loaded_as_if_there_were_no_clamp(index: Callable[[Any], Any]) -> None:
    """As those of images that are enlarged."""
    a = hl.ImageParam(hl.Int(32), 1, "a")
    first, main, *rest = loads(blurred(lambda at: hl.clamp(index(at), 0, 99), a))
    assert "max(" not in main
    assert all("max(" in line for line in (first, rest[-1]))


@pytest.mark.parametrize("index", [lambda at: at // 5000 - 1, lambda at: at // 4000 // 4000 // 4000 - 1])
def test_quotients_by_large_numbers_keep_their_clamp(index: Callable[[Any], Any]) -> None:
    """64 bits would not hold the sums by which they are told."""
    a = hl.ImageParam(hl.Int(32), 1, "a")
    assert all("max(" in line for line in loads(blurred(lambda at: hl.clamp(index(at), 0, 99), a)))


def test_a_vector_that_a_guard_cuts_is_loaded_dense_where_no_lane_is_clamped() -> None:
    a = hl.ImageParam(hl.Int(32), 1, "a")
    first, main, cut, last = loads(wide(a))
    assert " if " not in main
    assert "a[ramp(" in cut
    assert "if ramp(" in cut
    assert all("max(" in line for line in (first, last))


@pytest.mark.parametrize("size", [1, 7, 8, 20, 37, 60])
@pytest.mark.parametrize("low", [-30, -3, 0, 9, 30])
def test_values_of_vectors_that_a_guard_cuts_are_those_of_numpy(size: int, low: int) -> None:
    out = hl.Buffer(hl.Int(32), [size])
    out.set_min([low])
    wide(hl.Buffer(DATA)).realize(out)
    at = low + np.arange(size)
    expected = sum(DATA[np.clip(at + side, 0, WIDTH - 1)] for side in (-1, 0, 1))
    np.testing.assert_array_equal(np.array(out), expected)


def wide(source: Any) -> Any:
    """Sums of three of what is computed in strips that are two wider than whole vectors."""
    f, g = hl.Func("f"), hl.Func("g")
    g[x] = source[hl.clamp(x, 0, WIDTH - 1)]
    f[x] = g[x - 1] + g[x] + g[x + 1]
    xo, xi = hl.Var("xo"), hl.Var("xi")
    f.split(x, xo, xi, 16).vectorize(xi, 8)
    g.compute_at(f, xo).vectorize(x, 8)
    return f


@pytest.mark.parametrize(
    "index",
    [
        lambda at: hl.clamp(hl.i32(hl.Buffer(DATA)[hl.clamp(3, 0, 9)]) + 0 * at, 0, 36),  # no lane differs
        lambda at: hl.clamp(at * at, 0, 36),  # no sum of the loops
        lambda at: hl.min(at, hl.clamp(36 - at, 0, 36)),  # both arms move
    ],
)
def test_what_is_not_seen_through_stays_as_it_was(index: Callable[[Any], Any]) -> None:
    a = hl.ImageParam(hl.Int(32), 1, "a")
    assert len(loads(blurred(index, a))) <= 2


REPEATED = [
    hl.BoundaryConditions.repeat_image,
    hl.BoundaryConditions.mirror_image,
    hl.BoundaryConditions.mirror_interior,
]


@pytest.mark.parametrize("condition", REPEATED)
@pytest.mark.parametrize("bounds", [None, [(0, 99)], [(-7, 99)]])
def test_vectors_inside_repeated_and_mirrored_images_are_dense(condition: Any, bounds: Any) -> None:
    a, repeated = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("repeated")
    source = condition(a) if bounds is None else condition(a, bounds)
    repeated[x] = source[x - 1] + source[x + 1]
    repeated.vectorize(x, 8)
    first, main, *others = [text for text in loads(repeated) if "+ a[" in text]
    assert "%" not in main
    assert "a[ramp(" in main
    assert all("% x8(" in text for text in (first, *others))


@pytest.mark.parametrize("condition", REPEATED)
@pytest.mark.parametrize("least", [0, 5, -11])
@pytest.mark.parametrize("width", [1, 2, 17, WIDTH])
@pytest.mark.parametrize(("low", "size"), [(-100, 200), (3, 9), (7, 40)])
def test_values_of_repeated_and_mirrored_images_are_those_without_vectors(
    condition: Any, least: int, width: int, low: int, size: int
) -> None:
    results = []
    for lanes in (1, 8):
        a = hl.ImageParam(hl.Int(32), 1, "a")
        held = hl.Buffer(DATA[:width])
        held.set_min([least])
        a.set(held)
        source = condition(a)
        out = hl.Buffer(hl.Int(32), [size])
        out.set_min([low])
        f = hl.Func("f")
        f[x] = source[x - 1] * 3 + source[x + 2]
        f.vectorize(x, lanes)
        f.realize(out)
        results.append(np.array(out))
    np.testing.assert_array_equal(results[0], results[1])


def test_remainders_of_a_few_are_not_seen_through() -> None:
    a = hl.ImageParam(hl.Int(32), 1, "a")
    assert len(loads(blurred(lambda at: hl.clamp(at % 8, 0, 36), a))) == 2  # the main loop and its tail


@pytest.mark.parametrize("name", ["mirror_image", "mirror_interior", "repeat_image"])
@pytest.mark.parametrize("width", [1, 2, 20, 65])
@pytest.mark.parametrize("least", [0, -7, 100])
def test_copies_of_an_image_have_the_values_of_numpy(name: str, width: int, least: int) -> None:
    row = np.arange(width, dtype=np.int32) * 3 + 1
    held = hl.Buffer(row)
    held.set_min([least])
    copies = getattr(hl.BoundaryConditions, name)(held)
    f, out = hl.Func("f"), hl.Buffer(hl.Int(32), [203])
    f[x] = copies[x - 1] + copies[x + 2]
    f.vectorize(x, 8)
    out.set_min([-40])
    f.realize(out)
    mode: Any = {"mirror_image": "symmetric", "mirror_interior": "reflect", "repeat_image": "wrap"}[name]
    around = np.pad(row, 400, mode=mode)[400 - 40 - least :]
    assert np.array_equal(np.array(out), around[2:205] + np.pad(row, 400, mode=mode)[400 - 41 - least :][:203])


def test_rows_are_not_split_for_clamps_that_all_lanes_share() -> None:
    a, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f")
    f[x, y] = a[x, hl.clamp(y, 0, 9)]
    f.vectorize(x, 8)
    assert len(loads(f)) == 2  # the main loop and its tail


@pytest.mark.parametrize(
    "index",
    [
        lambda at: hl.clamp(at, 0, WIDTH - 1),
        lambda at: hl.clamp(at - 40, 3, 20),
        lambda at: hl.clamp(20 - at, 0, WIDTH - 1),
        lambda at: hl.clamp(3 * at - 50, 1, WIDTH - 2),
        lambda at: hl.clamp(30 - 2 * at, 0, WIDTH - 1) // 2,
        lambda at: hl.clamp(at, 20, 10),  # always 20
        lambda at: hl.max(hl.clamp(at, 0, 5), hl.clamp(at, -3, 7)),
        lambda at: hl.min(hl.max(at + 1, 0), 30) + hl.clamp(at, 0, 3),
        lambda at: hl.clamp(hl.clamp(at - 5, 2, 30) + 2, 0, WIDTH - 1),
        lambda at: hl.clamp(at // 2 - 1 + 2 * (at % 2), 0, WIDTH - 1),
        lambda at: hl.clamp(at // 2 + 1, 0, WIDTH - 1),
        lambda at: hl.clamp(9 - (at - 3) // 2, 0, WIDTH - 1),
        lambda at: hl.clamp((at // 2 + 1) // 2 - 3, 0, WIDTH - 1),
        lambda at: hl.clamp(3 - at // -2, 0, WIDTH - 1),
        lambda at: hl.clamp((2 * at + 1) // 3, 1, WIDTH - 2),
        lambda at: hl.clamp(at + at // 2, 0, WIDTH - 1),
        lambda at: hl.clamp(3 * (at // 4), 0, WIDTH - 1),
        lambda at: hl.clamp(at % WIDTH, 0, WIDTH - 1),
        lambda at: hl.clamp((5 - at) % WIDTH, 0, WIDTH - 1),
        lambda at: hl.clamp(at % -WIDTH, 0, WIDTH - 1),  # a remainder by a number below 0 is not below 0
        lambda at: hl.clamp(at % 0, 0, WIDTH - 1),
        lambda at: hl.clamp(hl.min(at % 72, 72 - at % 72), 0, WIDTH - 1),
        lambda at: hl.clamp(hl.min(73 - (at - 3) % 74, (at - 3) % 74), 0, WIDTH - 1),
        lambda at: hl.clamp(hl.max((at - 72) % 72, 72 - at % 72) - 36, 0, WIDTH - 1),
        lambda at: hl.clamp(hl.min(at, hl.clamp(36 - at, 0, 36)), 0, WIDTH - 1),
        lambda at: hl.clamp(2 * hl.min(at % 20, 20 - at % 20) - 1, 0, WIDTH - 1),
    ],
)
@pytest.mark.parametrize(("low", "size"), [(-20, 1), (-20, 7), (0, 8), (-45, 100)])
def test_values_are_those_without_vectors(index: Callable[[Any], Any], low: int, size: int) -> None:
    results = []
    for lanes in (1, 8):
        out = hl.Buffer(hl.Int(32), [size])
        out.set_min([low])
        blurred(index, hl.Buffer(DATA), lanes).realize(out)
        results.append(np.array(out))
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize(("first", "by", "join"), [(-(2**31), 1000, hl.min), (2**31 - 1 - WIDTH, -1000, hl.max)])
def test_ends_may_be_any_numbers(first: int, by: int, join: Callable[[Any, Any], Any]) -> None:
    """What is compared reaches beyond i32, where a difference that wraps would have taken every vector for inside."""
    end, f, a = hl.Param(hl.Int(32), "end"), hl.Func("f"), hl.Buffer(DATA)
    a.set_min([first])
    f[x, y] = a[join(x + y + by, end)]
    f.bound(x, 0, 8).vectorize(x)
    for place in (0, 3, WIDTH - 1):
        end.set(first + place)
        np.testing.assert_array_equal(np.array(f.realize([8, 50])), np.full((50, 8), DATA[place]))


def test_no_iteration_is_inside_where_the_last_would_be_before_i32() -> None:
    least = -(2**31)
    end, f, a, out = hl.Param(hl.Int(32), "end", least), hl.Func("f"), hl.Buffer(DATA), hl.Buffer(hl.Int(32), [8, 20])
    a.set_min([least])
    out.set_min([0, least])
    f[x, y] = a[hl.min(x + y, end)]
    f.bound(x, 0, 8).vectorize(x)
    f.realize(out)
    np.testing.assert_array_equal(np.array(out), np.full((20, 8), DATA[0]))


@pytest.mark.parametrize(
    ("end", "value"),
    [
        (lambda p: hl.abs(p), -(2**31)),
        (lambda p: p // -1, -(2**31)),
        (lambda p: p << 16, 2**15),
        (lambda p: hl.i32(hl.u32(p) * hl.u32(p)), 2**16 - 1),
        (lambda p: ~p, 2**31 - 1),
    ],
)
def test_ends_that_wrap_are_what_they_wrap_to(end: Callable[[Any], Any], value: int) -> None:
    results = []
    for lanes in (1, 8):
        p = hl.Param(hl.Int(32), "p")
        last = end(p)

        def clamped(at: Any, last: Any = last) -> Any:
            return hl.clamp(hl.min(at, last), 0, WIDTH - 1)

        f = blurred(clamped, hl.Buffer(DATA), lanes)
        p.set(value)
        results.append(np.array(f.realize([60])))
    np.testing.assert_array_equal(results[0], results[1])
    assert results[0].max() == DATA[0]


def test_sums_tails_threads_and_updates_have_the_values_of_numpy() -> None:
    """Short loops inside, unrolled ones, guards beside the clamps, a parallel loop that is itself split."""
    image = np.arange(5 * WIDTH, dtype=np.int32).reshape(5, WIDTH) ** 2 % 1009
    a, xi = hl.Buffer(image), hl.Var("xi")
    s = hl.RDom([(0, 3), (0, 3)], "s")

    def near(dx: Any, dy: Any) -> Any:
        return a[hl.clamp(x + dx - 1, 0, WIDTH - 1), hl.clamp(y + dy - 1, 0, 4)]

    inlined, updated, threads = hl.Func("inlined"), hl.Func("updated"), hl.Func("threads")
    inlined[x, y] = sum(near(dx, dy) for dx in range(3) for dy in range(3))
    inlined.split(x, x, xi, 16).vectorize(xi, 8).unroll(y, 2)
    updated[x, y] = 0
    updated[x, y] += near(s.x, s.y)
    updated.update(0).reorder(s.x, s.y, x, y).vectorize(x, 8)
    threads[x, y] = sum(near(dx, dy) for dx in range(3) for dy in range(3))
    threads.split(x, x, xi, 8).vectorize(xi).parallel(x)
    for columns, rows in ((WIDTH, 5), (3, 5), (200, 2)):
        expected = np.zeros((rows, columns), np.int32)
        for dx in range(3):
            for dy in range(3):
                places = np.clip(np.arange(rows) + dy - 1, 0, 4), np.clip(np.arange(columns) + dx - 1, 0, WIDTH - 1)
                expected += image[np.ix_(*places)]
        for f in (inlined, updated, threads):
            np.testing.assert_array_equal(np.array(f.realize([columns, rows])), expected)


def test_a_clamp_is_left_where_it_is_not_seen_through_in_every_loop() -> None:
    at = apply("+", apply("*", Var(I32, "x"), Const(I32, 8)), Var(I32, "xi"))
    clamped = cast(I64, apply("max", apply("min", at, Const(I32, 99)), Const(I32, 0)))
    store = Store("f.0", cast(I64, at), Load(I32, "a", clamped, ALWAYS), ALWAYS)
    zero, eight = Const(I32, 0), Const(I32, 8)

    def around(*loops: For) -> For:
        return For("x", zero, Var(I32, "n"), "serial", block(*loops))

    vectors, plain = (For("xi", zero, eight, kind, store) for kind in ("vectorized", "serial"))
    longer = For("xi", zero, Var(I32, "n"), "serial", store)
    assert borders(around(vectors, plain)) is not None
    assert borders(around(plain)) is not None  # an innermost loop
    assert borders(around(plain), around=True) is None  # whose iterations are those of lanes
    assert borders(around(longer)) is None
    assert borders(around(vectors, longer)) is None


def test_innermost_loops_without_vectors_load_what_no_clamp_changes() -> None:
    a, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f")
    f[x, y] = a[hl.clamp(x - 1, 0, 99), hl.clamp(y, 0, 99)] + a[hl.clamp(x + 1, 0, 99), y]
    first, main, last = loads(f)
    assert "max(min(f.s0.x - 1, 99), 0)" in first
    assert "max(min(f.s0.x - 1, 99), 0)" in last
    assert main.count("max(") == 1  # of the row
    assert "max(min(f.s0.y, 99), 0)" in main


def test_short_loops_inside_an_innermost_one_are_taken_at_their_worst() -> None:
    a, f, r = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f"), hl.RDom([(0, 5)], "r")
    f[x] = 0
    f[x] += a[hl.clamp(x + r.x - 2, 0, 99)]
    first, main, last = (line for line in loads(f) if "f.s1" in line)
    assert "max(" not in main
    assert "max(" in first
    assert "max(" in last


@pytest.mark.parametrize("make", [lambda f: f.parallel(x), lambda f: f.reorder(y, x)])
def test_loops_in_threads_and_loops_around_others_stay_whole(make: Callable[[Any], None]) -> None:
    a, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f")
    f[x, y] = a[hl.clamp(x - 1, 0, 99), y]
    make(f)
    assert len(loads(f)) == 1


def test_what_is_clamped_to_something_that_moves_too_stays() -> None:
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    f[x] = a[hl.min(x, 99 - x)]
    assert len(loads(f)) == 1


@pytest.mark.parametrize(("low", "size"), [(-20, 1), (-20, 7), (0, 8), (-45, 100), (3, 30)])
def test_innermost_loops_have_the_values_that_threads_give(low: int, size: int) -> None:
    results = []
    for alone in (False, True):
        f, out = hl.Func("f"), hl.Buffer(hl.Int(32), [size])
        source = hl.Buffer(DATA)
        f[x] = source[hl.clamp(x - 3, 2, WIDTH - 1)] * 3 - source[hl.clamp(2 * x + 1, 0, WIDTH - 2)]
        if alone:
            f.parallel(x)
        out.set_min([low])
        f.realize(out)
        results.append(np.array(out))
    np.testing.assert_array_equal(results[0], results[1])


def around(*sides: int, rows: bool = False) -> Any:
    """A sum of neighbours in an image with 7 around it, in vectors."""
    held, f = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f")
    image = hl.BoundaryConditions.constant_exterior(held, 7)
    f[x, y] = sum(image[x + side, y + side if rows else y] for side in sides)
    return f.vectorize(x, 8), held


def stores(func: Any) -> list[str]:
    """The lines of the final nest that store what they load from the array `a`."""
    return [line for line in loads(func) if line.startswith("f.0[")]


def test_vectors_inside_images_with_a_constant_around_are_chosen_of_nothing() -> None:
    lines = stores(around(-1, 1)[0])
    dense = [line for line in lines if "a[ramp(" in line and "select(" not in line]
    assert len(dense) == 1
    assert all("select(" in line for line in lines if line not in dense)


@pytest.mark.parametrize(
    ("inside", "dense"),
    [
        (lambda a: hl.select((x >= 0) & (x < 99), a[hl.clamp(x, 0, 98)], 7), True),
        (lambda a: hl.select((x < 0) | (x > 98), 7, a[hl.clamp(x, 0, 98)]), True),
        (lambda a: hl.select(x < 1, 7, hl.select(x > 97, 8, a[hl.clamp(x - 1, 0, 98)])), True),
        (lambda a: hl.select(x < hl.Param(hl.Int(32), "limit") + 3, a[x], 7), True),
        (lambda a: hl.select((x // 2 > 0) & (x // 2 < 99), a[hl.clamp(x // 2, 0, 98)], 7), True),
        (lambda a: hl.select((x // 2 > 0) & ((x - 1) // 3 < 99), a[x], 7), True),
        (lambda a: hl.select(x // hl.Param(hl.Int(32), "by") > 3, a[x], 7), False),  # no number divides
        (lambda a: hl.select(x < 9, a[x], a[x + 1]), False),  # no arm loads more
        (lambda a: hl.select((x < 9) | (x > 20), a[x], 7), False),  # either makes it so
        (lambda a: hl.select(x == 9, a[x], 7), False),
        (lambda a: hl.select(x * x < 90, a[x], 7), False),  # no sum
        (lambda a: hl.select(a[x] < 90, a[x + 1], 7), False),
        (lambda a: hl.select(x < 9, a[x], 7) + hl.select(x < 9, 7, a[x + 1]), False),  # two answers
    ],
)
def test_the_arm_that_loads_more_is_taken_where_sums_of_coordinates_say_so(
    inside: Callable[[Any], Any], dense: bool
) -> None:
    f = hl.Func("f")
    f[x] = inside(hl.ImageParam(hl.Int(32), 1, "a"))
    f.vectorize(x, 8)
    assert any("select(" not in line for line in stores(f)) is dense


def test_rows_inside_images_with_a_constant_around_are_not_asked_for() -> None:
    lines = stores(around(-1, 1, rows=True)[0])
    assert [line for line in lines if "a[ramp(" in line and "select(" not in line and "x8(" not in line.split(" = ")[1]]


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 2), (40, 9)])
@pytest.mark.parametrize(("low", "size"), [((-9, -3), (70, 16)), ((2, 1), (5, 1)), ((3, 20), (64, 3))])
@pytest.mark.parametrize("schedule", ["rows", "threads", "strips"])
def test_images_with_a_constant_around_have_the_values_of_numpy(
    width: int, height: int, low: tuple[int, int], size: tuple[int, int], schedule: str
) -> None:
    f, held = around(-1, 0, 2, rows=True)
    if schedule == "threads":
        f.parallel(y)
    elif schedule == "strips":
        yi = hl.Var("yi")
        f.split(y, y, yi, 5).parallel(y)
    image = np.arange(width * height, dtype=np.int32).reshape(height, width) ** 2 + 1
    held.set(hl.Buffer(image))
    out = hl.Buffer(hl.Int(32), list(size))
    out.set_min(list(low))
    f.realize(out)
    padded = np.pad(image, 100, constant_values=7)
    rows, columns = 100 + low[1] + np.arange(size[1]), 100 + low[0] + np.arange(size[0])
    expected = sum(padded[np.ix_(rows + side, columns + side)] for side in (-1, 0, 2))
    np.testing.assert_array_equal(np.array(out), expected)


@pytest.mark.parametrize(
    "condition",
    [
        lambda p: x * 100_000_000 < p,
        lambda p: x * 100_000_000 > p,
        lambda p: p - 5 < x * 7,  # wraps for the least number
        lambda p: x + p < 5,
        lambda p: x + p >= -5,
        lambda p: ~((x + p < -3) | (p - x >= 9)),
        lambda p: x * 60_000_000 + p < 4 - x * 60_000_000,
        lambda p: x * 100_000 * 100_000 >= p,
        lambda p: (x * 60_000_000) // 2 < p,
        lambda p: (x + p) // 2 < 5,
        lambda p: (x + p) // 2 >= -5,
        lambda p: 5 - (p - x) // 2 >= -5,
        lambda p: (p - x) // 3 >= -5,
        lambda p: (x + p) // 4 - 3 >= x // 2,
    ],
)
@pytest.mark.parametrize("given", [-(2**31), -(2**31) + 30, -7, 9, 2**31 - 30, 2**31 - 1])
def test_what_is_compared_may_wrap(condition: Callable[[Any], Any], given: int) -> None:
    results = []
    for lanes in (1, 8):
        p, f, a = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.Buffer(DATA)
        f[x, y] = hl.select(condition(p), a[hl.clamp(x, 0, WIDTH - 1)], 7)
        if lanes > 1:
            f.vectorize(x, lanes)
        else:
            f.reorder(y, x)  # no innermost loop that asks
        p.set(given)
        out = hl.Buffer(hl.Int(32), [150, 1])
        out.set_min([-60, 0])
        f.realize(out)
        results.append(np.array(out))
    np.testing.assert_array_equal(results[0], results[1])


def test_a_comparison_is_left_where_it_is_not_answered_in_every_loop() -> None:
    at = apply("+", apply("*", Var(I32, "x"), Const(I32, 8)), Var(I32, "xi"))
    below = apply("<", at, Const(I32, 99))
    index = cast(I64, at)
    chosen = Store("f.0", index, select(below, Load(I32, "a", index, ALWAYS), Const(I32, 0)), ALWAYS)
    asked = Store("f.0", index, cast(I32, below), ALWAYS)
    zero, eight, many = Const(I32, 0), Const(I32, 8), Var(I32, "n")

    def outer(*loops: For) -> For:
        return For("x", zero, many, "serial", block(*loops))

    vectors = For("xi", zero, eight, "vectorized", chosen)
    assert borders(outer(vectors)) is not None
    assert borders(outer(vectors), around=True) is None
    assert borders(outer(vectors, For("xi", zero, eight, "serial", asked))) is not None
    assert borders(outer(vectors, For("xi", zero, many, "serial", asked))) is None
