"""Coordinates that are computed with floats, wide integers and stored data: what they ask for, and that nothing else
is read or written."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, BufferError
from tests.compiler.pipelines import computed, expected, same

Array = np.ndarray[Any, Any]
COUNT = 60
MOST = 2**31 - 1
_rng = np.random.default_rng(3)
FLOATS = _rng.uniform(-2, 3, COUNT).astype(np.float32)
BYTES = _rng.integers(0, 256, COUNT, dtype=np.uint8)
WORDS = _rng.integers(0, 65536, COUNT, dtype=np.uint16)
TABLE = np.arange(0, 2000, dtype=np.int32) * 7


def names(hl: Any, special: Array = FLOATS) -> dict[str, Any]:
    """What an index may say: x, f32 data v, u8 data u, u16 data w, and the parameter p (0.75)."""
    x, p = hl.Var("x"), hl.Param(hl.Float(32), "p")
    p.set(0.75)
    data = {"v": special, "u": BYTES, "w": WORDS}
    return {"hl": hl, "x": x, "p": p, **{name: hl.Buffer(array)[x] for name, array in data.items()}}


def looked_up(hl: Any, indices: list[str], into: str, lanes: int = 1) -> list[Array]:
    """The table, or a stored function, at every index."""
    scope = names(hl)
    x, z, f, g = scope["x"], hl.Var("z"), hl.Func("f"), hl.Func("g")
    if into == "stored":
        g[z] = z * 3 + 1
        g.compute_root()
    table = g if into == "stored" else hl.Buffer(TABLE)
    f[x] = tuple(hl.i32(table[eval(index, scope)]) for index in indices)
    if lanes > 1:
        f.vectorize(x, lanes)
    result = f.realize([COUNT])
    return [np.array(part) for part in (result if isinstance(result, tuple | list) else (result,))]


INDICES = """
hl.i32(hl.clamp(v, 0.0, 1.0)*10.0)
hl.u8(hl.clamp(v, 0.0, 1.0)*255.0)
hl.u16(hl.clamp(v, 0.0, 1.0)*255.0)
hl.i32(hl.i16(hl.clamp(v, 0.0, 1.0)*10.0))
hl.i32(hl.floor(hl.sqrt(x*x)))
hl.i32(hl.hypot(x, x))
hl.i32(x*0.5)
hl.i32(hl.floor(x*p)) + 1
hl.i32(x/p + 0.5)
hl.i32(hl.ceil(x*p))
hl.i32(hl.round(x*p))
hl.i32((hl.f32(x) + 0.5)*p - 0.5 + 1.0)
hl.i32(hl.f32(u)/255.0*9.0 + 0.5)
hl.i32(hl.f32(w)/65535.0*9.0 + 0.5)
hl.i32(hl.abs(hl.f32(u) - 128.0))
hl.i32(hl.exp(hl.clamp(v, 0.0, 2.0)))
hl.i32(hl.log(hl.clamp(v, 1.0, 2.0))*10.0)
hl.i32(hl.pow(hl.clamp(v, 0.0, 1.0), 2)*255.0)
hl.i32(hl.select(v > 0.0, hl.clamp(v, 0.0, 2.0), 5.0))
hl.i32(hl.f32(x) % 7.0)
hl.i32(hl.f64(u)*0.5)
hl.i32(hl.cast(hl.Float(16), u)*hl.cast(hl.Float(16), 0.5))
hl.i32(hl.cast(hl.BFloat(16), u)*hl.cast(hl.BFloat(16), 0.5))
hl.i32(hl.cast(hl.BFloat(16), x)*p + 1.5)
hl.i32(hl.cast(hl.BFloat(16), hl.clamp(v, 0.0, 1.0)*40.0))
hl.i32(hl.clamp(v, -p, p)*10.0 + 10.0)
hl.i32(9.0/(hl.f32(u) + 1.0))
hl.i32(hl.clamp(v, 0.0, 1.0)*hl.f32(u))
hl.i32(hl.saturating_cast(hl.UInt(8), v*100.0))
hl.i32(hl.log(hl.f32(x) + 1.0)*10.0)
hl.i32(hl.min(hl.f32(x), p*20))
hl.i32(hl.select(x < 30, hl.f32(x), 59.0 - x))
hl.i32(hl.select(p > 0.5, hl.f32(x), 59.0 - x))
x >> 1
(x >> 1) + (x >> 2)
x << 1
hl.i32(u) << 1
hl.i32(1) << (u >> 6)
~x + 100
hl.i32(hl.abs(x - 30))
hl.i32(hl.absd(x, 30))
hl.i32(hl.i64(x)*3)
hl.i32((hl.i64(x)*1000000) >> 20)
hl.i32((hl.i64(u)*1000000) >> 20)
hl.i32(hl.mul_shift_right(x, x, 4))
hl.rounding_shift_right(x, 1)
x % (hl.i32(p) + 7)
x // (hl.i32(p) + 7)
""".strip().splitlines()
SOME = [INDICES[at : at + 9] for at in range(0, len(INDICES), 9)]


@pytest.mark.parametrize("indices", SOME)
def test_an_index_is_bounded_by_what_it_is_made_of(indices: list[str]) -> None:
    scope, f = names(hl), hl.Func("f")
    f[scope["x"]] = tuple(hl.i32(eval(index, scope)) for index in indices)
    places = [np.asarray(part) for part in f.realize([COUNT])]
    for index, at, one, other in zip(
        indices, places, looked_up(hl, indices, "image"), looked_up(hl, indices, "stored", 8), strict=True
    ):
        assert one.tolist() == TABLE[at].tolist(), index
        assert other.tolist() == (at * 3 + 1).tolist(), index


@pytest.mark.parametrize("indices", SOME)
def test_halide_reads_the_same(indices: list[str]) -> None:
    halide = pytest.importorskip("halide")
    ours, theirs = looked_up(hl, indices, "image"), looked_up(halide, indices, "image")
    for index, one, other in zip(indices, ours, theirs, strict=True):
        assert one.tolist() == other.tolist(), index


@pytest.mark.parametrize(
    ("index", "low", "high"),
    [
        ("hl.i32(hl.clamp(v, 0.0, 1.0)*10.0)", 0, 10),
        ("hl.i32(hl.clamp(v, 2.0, 5.0))", 0, 5),  # of NaN it is 0
        ("hl.i32(hl.clamp(hl.f32(u), 2.0, 5.0))", 2, 5),
        ("hl.i32(hl.clamp(v, -5.0, -2.0))", -5, 0),
        ("hl.i32(x*p - 3.0)", -3, 41),
        ("hl.i32(-hl.f32(x))", -59, 0),
        ("hl.i32(hl.f32(u)/-2.0)", -127, 0),
        ("hl.i32(hl.sqrt(hl.f32(u)))", 0, 15),
        ("hl.i32(hl.f32(x - 30)*hl.f32(x - 30))", 0, 900),
        ("(x - 30)*(x - 30)", 0, 900),
        ("hl.i32(hl.abs(x - 30))", 0, 30),
        ("hl.i32(hl.abs(hl.f32(x) - 70))", 11, 70),
        ("hl.i32(hl.sin(v)*10.0)", -10, 10),
        ("hl.i32(hl.trunc(hl.f32(u)*0.5))", 0, 127),
        ("hl.i32(hl.i8(hl.clamp(v, -500.0, 1.0)))", -128, 1),
        ("hl.i32(hl.u8(v)) + 3", 3, 258),
    ],
)  # fmt: skip
def test_no_more_is_asked_for_than_can_be_read(index: str, low: int, high: int) -> None:
    scope = names(hl)
    f, a = hl.Func("f"), hl.ImageParam(hl.Int(32), 1, "a")
    f[scope["x"]] = a[eval(index, scope)]
    f.infer_input_bounds([COUNT])
    dimension = a.get().dim(0)
    assert (dimension.min(), dimension.min() + dimension.extent() - 1) == (low, high)


@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("low", [0.0, 2.0])
def test_nan_reads_coordinate_0(low: float, lanes: int) -> None:
    data = FLOATS.copy()
    data[::5], data[3], data[7] = np.nan, np.inf, -np.inf
    scope = names(hl, data)
    x, z, f, g = scope["x"], hl.Var("z"), hl.Func("f"), hl.Func("g")
    g[z] = z + 100
    g.compute_root()
    f[x] = g[hl.i32(hl.clamp(scope["v"], low, 9.0))]
    if lanes > 1:
        f.vectorize(x, lanes)
    got = computed(f, [COUNT])[0]
    assert same(expected(f, [COUNT])[0], got)
    assert np.all(got[np.isnan(data)] == 100)
    assert got[3] == 109
    assert got[7] == 100 + low


def test_a_histogram_of_floats() -> None:
    f, v, r = hl.Func("f"), hl.Var("v"), hl.RDom([(0, COUNT)])
    f[v] = 0
    f[hl.i32(hl.clamp(hl.Buffer(FLOATS)[r.x], 0.0, 1.0) * 9.0)] += 1
    wanted = np.bincount((np.clip(FLOATS, 0, 1) * np.float32(9)).astype(np.int32), minlength=10)
    assert np.asarray(f.realize([10])).tolist() == wanted.tolist()
    with pytest.raises(BufferError, match="from 0 to 9"):
        f.realize(np.zeros(9, np.int32))


def test_distances_from_a_centre() -> None:
    f, v, r = hl.Func("f"), hl.Var("v"), hl.RDom([(-5, 11), (-5, 11)])
    f[v] = 0
    f[hl.i32(hl.floor(hl.sqrt(hl.f32(r.x * r.x + r.y * r.y))))] += 1
    y, x = np.mgrid[-5:6, -5:6]
    wanted = np.bincount(np.floor(np.sqrt((x * x + y * y).astype(np.float32))).astype(int).ravel())
    assert np.asarray(f.realize([8])).tolist() == wanted.tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38])
def test_what_is_not_finite_bounds_nothing(value: float) -> None:
    x, z, p, f, g = hl.Var("x"), hl.Var("z"), hl.Param(hl.Float(32), "p"), hl.Func("f"), hl.Func("g")
    g[z] = z
    g.compute_root()
    f[x] = g[hl.i32(hl.clamp(x * p - x * p, 2.0, 9.0))]
    p.set(2.0)
    assert np.asarray(f.realize([5])).tolist() == [2] * 5
    p.set(value)
    with pytest.raises(BufferError, match="infinite or not a number"):
        f.realize([5])


def test_a_parameter_by_itself_may_be_anything() -> None:
    x, p, f = hl.Var("x"), hl.Param(hl.Float(32), "p"), hl.Func("f")
    f[x] = hl.Buffer(TABLE)[x + hl.i32(p)]
    p.set(np.nan)
    assert np.asarray(f.realize([3])).tolist() == [0, 7, 14]
    p.set(3.9)
    assert np.asarray(f.realize([3])).tolist() == [21, 28, 35]


@pytest.mark.parametrize(
    "index",
    [
        "hl.i32(v)",
        "hl.i32(hl.max(v, 0.0))",
        "hl.i32(hl.clamp(v, 0.0, 1.0)/hl.clamp(v, 0.0, 1.0))",
        "hl.i32(hl.f32(x)/hl.f32(x + 1))",
        "hl.i32(hl.log(hl.clamp(v, 0.0, 1.0)))",
        "hl.i32(hl.pow(v, v))",
        "hl.i32(w)*hl.i32(w)",
        "hl.i32(hl.i64(hl.i32(w))*hl.i64(hl.i32(w)))",
    ],
)
def test_what_nothing_bounds_is_refused(index: str) -> None:
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        looked_up(hl, [index], "stored")


def test_more_coordinates_than_can_be_counted_are_refused() -> None:
    scope, z, f, g = names(hl), hl.Var("z"), hl.Func("f"), hl.Func("g")
    g[z] = z
    g.compute_root()
    f[scope["x"]] = g[hl.i32(scope["v"]) >> 1]
    with pytest.raises(AlgorithmError):
        f.realize([4])
    h, b = hl.Func("h"), hl.Buffer(np.arange(8, dtype=np.int32) - 4)
    h[scope["x"]] = g[hl.clamp(b[scope["x"]], -(2**30), 2**30 - 1)]
    with pytest.raises(AlgorithmError, match="more coordinates than i32 can count"):
        h.realize([8])


def test_a_wide_sum_that_leaves_i32_is_refused() -> None:
    x, p, f = hl.Var("x"), hl.Param(hl.Int(32), "p"), hl.Func("f")
    f[x] = hl.Buffer(TABLE)[hl.i32(hl.i64(x) + p)]
    p.set(4)
    assert np.asarray(f.realize([3])).tolist() == [28, 35, 42]
    p.set(MOST)
    with pytest.raises(BufferError, match="beyond the range of i32"):
        f.realize([3])


@pytest.mark.parametrize(
    ("value", "size"),
    [
        ("hl.clamp(hl.i32(v*10), 0, 9)", 10),
        ("hl.i32(u) + 3", 259),
        ("x % 5", 5),
        ("hl.clamp(v, 0.0, 9.0)", 10),
        ("hl.u8(u & 15)", 16),
        ("hl.f32(u)/2", 128),
    ],
)
def test_stored_values_are_known_where_they_are_read(value: str, size: int) -> None:
    scope, f, h = names(hl), hl.Func("f"), hl.Func("h")
    x = scope["x"]
    h[x] = eval(value, scope)
    h.compute_root()
    f[x] = hl.Buffer(TABLE[:size])[hl.i32(h[x])]
    assert same(expected(f, [COUNT])[0], computed(f, [COUNT])[0])
    g = hl.Func("g")
    g[x] = hl.Buffer(TABLE[: size - 1])[hl.i32(h[x])]
    with pytest.raises(BufferError, match=f"from 0 to {size - 1}|from 3 to {size - 1}"):
        g.realize([COUNT])


def test_updates_count_among_stored_values() -> None:
    x, f, h, r = hl.Var("x"), hl.Func("f"), hl.Func("h"), hl.RDom([(0, 5)])
    h[x] = 3
    h[r.x] = 7
    h.compute_root()
    f[x] = hl.Buffer(TABLE[:8])[hl.i32(h[x])]
    assert np.asarray(f.realize([7])).tolist() == [49] * 5 + [21] * 2
    g, more = hl.Func("g"), hl.Func("more")
    more[x] = 3
    more[r.x] = 7
    more[r.x] = more[r.x] + 1
    more.compute_root()
    g[x] = hl.Buffer(TABLE[:8])[hl.i32(more[x])]
    with pytest.raises(AlgorithmError, match="nothing bounds that index"):
        g.realize([7])


def _float(pick: random.Random, depth: int) -> str:
    if depth == 0 or pick.random() < 0.15:
        leaves = ["v", "hl.f32(x)", "hl.f32(u)", "p", "hl.f32(x*2 - 30)", f"{pick.uniform(-5, 20):.2f}"]
        return pick.choice(leaves)
    a, b, c = (_float(pick, depth - 1) for _ in range(3))
    forms = [
        f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * {a})", f"({a} / 3.0)", f"({a} / p)", f"({a} % 7.5)",
        f"hl.clamp({a}, -3.0, 5.5)", f"hl.clamp({a}, -p, 9.0)", f"hl.floor({a})", f"hl.round({a})", f"hl.sqrt({a})",
        f"hl.abs({a})", f"hl.select(x < 20, {a}, {b})", f"hl.exp({a})", f"hl.log({a})", f"hl.tanh({a})",
        f"hl.lerp({a}, {b}, hl.clamp({c}, 0.0, 1.0))",
    ]  # fmt: skip
    return pick.choice(forms)


@pytest.mark.parametrize("seed", range(24))
def test_random_indices_stay_within_what_they_ask_for(seed: int) -> None:
    pick = random.Random(seed)
    text = f"hl.i32({_float(pick, 3)})"
    data = FLOATS.copy() * 10
    data[::9], data[3], data[7], data[11] = np.nan, np.inf, -np.inf, 1e30
    scope = names(hl, data)
    scope["p"].set(pick.choice([0.5, 2.0, -1.5, 0.0, 1e38, np.inf, np.nan, 1e-40]))
    x, f, g, a = scope["x"], hl.Func("f"), hl.Func("g"), hl.ImageParam(hl.Int(32), 1, "a")
    f[x] = eval(text, scope)
    values = np.asarray(f.realize([COUNT]))
    g[x] = a[eval(text, scope)]
    if seed % 2:
        g.vectorize(x, 8)
    try:
        g.infer_input_bounds([COUNT])
        low, size = a.get().dim(0).min(), min(a.get().dim(0).extent(), 10**5)
        table = hl.Buffer(hl.Int(32), [max(size, 1)])
        table.set_min([low])
        np.asarray(table)[:] = np.arange(max(size, 1)) + low
        a.set(table)
        got = np.asarray(g.realize([COUNT]))
    except (AlgorithmError, BufferError):
        return
    assert got.tolist() == values.tolist(), text
