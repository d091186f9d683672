"""C99 that is written for a pipeline computes what the pipeline computes: every bit, on every type."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rfactor as hl
from tests.codegen.reference import elements

CC = shutil.which("cc") or shutil.which("gcc") or ""
pytestmark = pytest.mark.skipif(not CC, reason="needs a C compiler")
x, y = hl.Var("x"), hl.Var("y")


class Dimension(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int32), ("extent", ctypes.c_int32), ("stride", ctypes.c_int64)]


class Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("dim", ctypes.POINTER(Dimension)),
        ("dimensions", ctypes.c_int32),
        ("type", ctypes.c_int32),
    ]


KINDS = {"b": 1, "u": 1, "i": 0, "f": 2, "V": 4}


def passed(array: NDArray[Any], mins: tuple[int, ...] = ()) -> Any:
    """A pointer to the array as C sees it, the last axis innermost."""
    dims = (Dimension * max(array.ndim, 1))()
    for d in range(array.ndim):
        step = array.strides[-1 - d] // array.itemsize
        dims[d] = Dimension((mins or (0,) * array.ndim)[d], array.shape[-1 - d], step)
    bits = 1 if array.dtype == np.bool_ else array.itemsize * 8
    made = Buffer(array.ctypes.data, dims, array.ndim, KINDS[array.dtype.kind] << 8 | bits)
    made.held = (array, dims)
    return ctypes.pointer(made)


def compiled(
    folder: Path, pipeline: Any, arguments: list[Any], name: str
) -> tuple[Callable[..., int], Callable[..., str]]:
    """The function in C and what tells its errors; it must compile without a warning."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    pipeline.compile_to_c(str(source), arguments, name)
    command = [CC, "-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([*command, str(source), "-o", str(library), "-lm"], check=True, timeout=60)
    loaded = ctypes.CDLL(str(library))
    says = loaded[f"{name}_error"]
    says.restype = ctypes.c_char_p
    return loaded[name], lambda number: says(number).decode()


def bits(value: Any) -> Any:
    """The bits of a value as u64; of any NaN the same."""
    if not value.type().is_float():
        return hl.u64(value)
    plain = hl.reinterpret(hl.UInt(value.type().bits()), value)
    return hl.select(hl.is_nan(value), hl.u64(1 << 63), hl.u64(plain))


ALL = [hl.Int(8), hl.Int(16), hl.Int(32), hl.Int(64), hl.UInt(8), hl.UInt(16), hl.UInt(32), hl.UInt(64)]
REAL = [hl.Float(16), hl.BFloat(16), hl.Float(32), hl.Float(64)]


def ends(type_: hl.Type) -> NDArray[Any]:
    """Values at and about the ends of a type."""
    dtype = hl.Buffer(type_, [1]).array.dtype
    if type_.is_float():
        few = [0.0, -0.0, 1.5, -2.5, 0.1, 3e4, -65519.0, 65520.0, 6e-8, 1e-7, 1e9, -1e19, np.inf, -np.inf, np.nan, 0.5]
        few += [257.0, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1e-40, 3.4e38, -(2.0**-134)]
        with warnings.catch_warnings(action="ignore"):
            return elements(type_.ir, few)
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    return np.array(
        [0, 1, 2, 3, 7, 31, 100, high, high - 1, low, low + 1, high // 2, low // 2, 64, 5, 9, (high >> 3) + 1], dtype
    )


def whole_values(a: Any, b: Any) -> list[Any]:
    values = [
        a + b,
        a - b,
        a * b,
        a // b,
        a % b,
        hl.min(a, b),
        hl.max(a, b),
        -a,
        ~a,
        a & b,
        a | b,
        a ^ b,
        a << b,
        a >> b,
    ]
    values += [hl.abs(a), a < b, a <= b, a > b, a >= b, a == b, a != b, hl.select((a < b) & ~(a == 1), a, b)]
    values += [
        hl.popcount(a),
        hl.count_leading_zeros(a),
        hl.count_trailing_zeros(a),
        hl.absd(a, b),
        hl.saturating_add(a, b),
    ]
    return values + [hl.cast(type_, a) for type_ in [*ALL, *REAL, hl.Bool()]]


def real_values(a: Any, b: Any) -> list[Any]:
    values = [a + b, a - b, a * b, a / b, a * b + a, hl.min(a, b), hl.max(a, b), -a, hl.abs(a), a < b, a != b, a == b]
    values += [hl.floor(a), hl.ceil(a), hl.round(a), hl.trunc(a), hl.sqrt(a), hl.exp(a), hl.pow(a, b), hl.is_nan(a)]
    values += [hl.sin(a), hl.cos(a), hl.tan(a), hl.asin(a), hl.acos(a), hl.atan(a), hl.atan2(a, b), hl.log(a)]
    values += [hl.sinh(a), hl.cosh(a), hl.tanh(a), hl.asinh(a), hl.acosh(a), hl.atanh(a), hl.erf(a)]
    return values + [hl.cast(type_, a) for type_ in [*ALL, *REAL, hl.Bool()]]


def test_every_operation_gives_the_same_bits(tmp_path: Path) -> None:
    functions, images, k = [], [], hl.Var("k")
    for type_ in [*ALL, *REAL]:
        one, other = hl.ImageParam(type_, 1, f"a_{type_}"), hl.ImageParam(type_, 1, f"b_{type_}")
        few = ends(type_)
        one.set(np.repeat(few, few.size))
        other.set(np.tile(few, few.size))
        f = hl.Func(f"all_{type_}")
        f[x, k] = hl.mux(k, [bits(v) for v in (real_values if type_.is_float() else whole_values)(one[x], other[x])])
        functions.append(f)
        images += [one, other]
    pipeline = hl.Pipeline(functions)
    wanted = [np.array(b) for b in pipeline.realize([256, 60])]
    call, _ = compiled(tmp_path, pipeline, images, "all")
    found = [np.zeros_like(array) for array in wanted]
    assert call(*(passed(image.get().array) for image in images), *map(passed, found)) == 0
    for type_, one_, other_ in zip([*ALL, *REAL], found, wanted, strict=True):
        assert np.array_equal(one_, other_), f"operations {np.unique(np.nonzero(one_ != other_)[0])} on {type_}"


def histogram() -> tuple[hl.Func, list[Any]]:
    """A blur in tiles, its histogram by `rfactor`, the running sum of that, and a look-up; a table in the code."""
    image, gain = hl.ImageParam(hl.UInt(8), 2, "image"), hl.Param(hl.Float(32), "gain")
    inner = hl.BoundaryConditions.repeat_edge(image)
    blur, bins, total, out = hl.Func("blur"), hl.Func("bins"), hl.Func("total"), hl.Func("register")
    table = hl.Buffer((np.arange(64, dtype=np.int16) * 3 - 50)[::1], "table")
    blur[x, y] = hl.u8((hl.u16(inner[x - 1, y]) + inner[x, y] + inner[x + 1, y]) // 3)
    r, s = hl.RDom([(0, image.width()), (0, image.height())], "r"), hl.RDom([(1, 63)], "s")
    r.where(r.x != r.y)
    bins[x] = hl.u32(0)
    bins[hl.i32(blur[r.x, r.y]) // 4] += hl.u32(1)
    total[x] = bins[x]
    total[s.x] += total[s.x - 1]
    out[x, y] = hl.f64(gain) * total[hl.i32(blur[x, y]) // 4] + table[hl.i32(blur[x, y]) // 4]
    xo, yo, xi, yi, u = map(hl.Var, ("xo", "yo", "xi", "yi", "u"))
    bins.compute_root()
    bins.update().rfactor(r.y, u).compute_root().update().parallel(u)
    total.compute_root()
    out.tile(x, y, xo, yo, xi, yi, 8, 4).vectorize(xi).unroll(yi).parallel(yo)
    blur.compute_root().vectorize(x, 8)
    return out, [image, gain]


def test_a_pipeline_in_c_computes_what_it_computes_here(tmp_path: Path) -> None:
    out, arguments = histogram()
    image = np.random.default_rng(3).integers(0, 256, (13, 21), dtype=np.uint8)
    arguments[0].set(image)
    arguments[1].set(0.1)
    call, says = compiled(tmp_path, out, arguments, "register_")
    found = np.full((9, 30), -1.0)
    part = found[:, 4:23]
    assert call(passed(image), ctypes.c_float(0.1), passed(part, (1, 2))) == 0
    assert np.array_equal(part, np.array(out.realize([20, 11]))[2:, 1:20])
    assert np.all(np.delete(found, np.s_[4:23], axis=1) == -1)
    wrong = call(passed(image.astype(np.int8)), ctypes.c_float(0.1), passed(part))
    assert says(wrong) == "image must hold u8, whose number is 264"
    assert says(call(None, ctypes.c_float(0.1), passed(part))) == "image is null"
    for stride in (1 << 62, -1 << 63):
        far = passed(image)
        far.contents.dim[1].stride = stride
        wrong = call(far, ctypes.c_float(0.1), passed(part, (1, 2)))
        assert says(wrong) == "image spans too much memory in dimension 1: look at its stride"
    for stride, said in ((0, True), (18, True), (-18, True), (19, False)):
        near = passed(part, (1, 2))
        near.contents.dim[1].stride = stride
        assert ("its elements share memory" in says(call(passed(image), ctypes.c_float(0.1), near))) is said
    row = passed(image[:1])
    row.contents.dim[1].stride = -1 << 63
    once = np.zeros((1, 19), part.dtype)
    assert "spans too much" not in says(call(row, ctypes.c_float(0.1), passed(once, (1, 0))))
    assert [says(n) for n in (0, -1, 9999)] == ["done", "no memory for an intermediate", "no error has this number"]


def test_bools_halves_and_requirements(tmp_path: Path) -> None:
    n, flags = hl.Param(hl.Int(32), "n"), hl.ImageParam(hl.Bool(), 1, "flags")
    weight = hl.Param(hl.BFloat(16), "weight")
    half = hl.Buffer(np.array([1.5, -0.25, 6e-8, np.inf], np.float16), "half")
    brain = hl.Buffer(elements(hl.BFloat(16).ir, [1.5, -0.25, 1e-40, np.inf]), "brain")
    f = hl.Func("f")
    value = hl.require(hl.i32(flags[x]) + n != 5, n, "n is", n)
    f[x] = (hl.select(flags[x], half[x] * half[1], hl.f32(half[x])), ~flags[x] & (value > 2), brain[x] * weight)
    call, says = compiled(tmp_path, f, [flags, n, weight], "f")
    given = np.array([True, False, True, False])
    flags.set(given)
    n.set(3)
    weight.set(1.1)  # 1.1015625 as bf16, also where C passes a float
    wanted = [b.array for b in f.realize([4])]
    found = [np.zeros_like(array) for array in wanted]
    passed_weight = ctypes.c_float(1.1)
    assert call(passed(given), 3, passed_weight, *map(passed, found)) == 0
    assert all(map(np.array_equal, found, wanted))
    assert "it is required that" in says(call(passed(given), 4, passed_weight, *map(passed, found)))


def test_names_are_none_of_the_language_and_end_no_comment(tmp_path: Path) -> None:
    n, image = hl.Param(hl.Int(32), "linux"), hl.ImageParam(hl.Int(32), 1, "int32_t")
    table, g, f = hl.Buffer(np.arange(4, dtype=np.int16), "div"), hl.Func("**// #error"), hl.Func("M_PI\n*\\\n/")
    g[x] = image[x] * n
    f[x] = g[x] + table[x]
    g.compute_root()
    call, _ = compiled(tmp_path, f, [n, image], "f")
    found = np.zeros(4, np.int32)
    assert call(3, passed(np.arange(1, 5, dtype=np.int32)), passed(found)) == 0
    assert found.tolist() == [3, 7, 11, 15]


def test_numbers_say_in_c_what_they_say_of_an_object(tmp_path: Path) -> None:
    n, image, f = hl.Param(hl.Int(32), "n"), hl.ImageParam(hl.Int(32), 1, "im"), hl.Func("f")
    f[x] = image[x + n]
    names = {hl.OutputFileType.c_source: "f.c", hl.OutputFileType.c_header: "f.h"}
    f.compile_to({kind: str(tmp_path / name) for kind, name in names.items()}, [image, n], "f")
    source, header = (re.findall(r"^   \d+: .*", (tmp_path / name).read_text(), re.M) for name in ("f.c", "f.h"))
    assert len(header) > 15
    assert source == header


def printing() -> hl.Func:
    """Lines of every kind of value, of a point alone, of what is read, stored and computed."""
    f, g, h = hl.Func("f"), hl.Func("g%"), hl.Func("h")
    h[x, y] = hl.print(hl.f64(x) / 3, "100%s of", hl.u8(x) - 1, x > y, '"?\\"')
    g[x, y] = (hl.f32(x) / 3, hl.u64(-1 - y), hl.f16(0.1) * y)
    f[x, y] = hl.i32(g[x, y][0] * 3) + hl.print_when(x == y, y, "at", x) + hl.i32(h[x, y]) + hl.i32(g[y, x][2])
    f[x, y] = hl.select(f[x, y] > 2, hl.print(f[x, y], "x" * 5000), 7)
    h.compute_at(f, y).trace_stores().trace_realizations()
    g.compute_root().trace_loads().trace_stores()
    f.trace_stores().trace_loads()
    f.split(x, hl.Var("xo"), hl.Var("xi"), 2, hl.TailStrategy.GuardWithIf)
    f.update().unscheduled()
    return f


def test_a_pipeline_in_c_prints_the_lines_that_it_prints_here(tmp_path: Path, capfd: Any) -> None:
    f = printing()
    call, _ = compiled(tmp_path, f, [], "f")
    found = np.zeros((2, 3), np.int32)
    capfd.readouterr()
    expected = f.realize([3, 2]).array
    here = capfd.readouterr().out.splitlines()
    assert call(passed(found)) == 0
    ctypes.CDLL(None).fflush(None)
    there = capfd.readouterr().out.splitlines()
    assert there == here
    assert found.tolist() == expected.tolist()
    starts = ("Load f", "Load g%.2", "Store f", "Store g%.1", "Store h", "Begin realization h", "0.", "1 at", "3 xx")
    assert [start for start in starts if not any(line.startswith(start) for line in here)] == []
