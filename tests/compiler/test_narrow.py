"""Reductions over bytes and truth values, and of lanes: the bits of the serial loop, and what stays as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.codegen.module import compile_pipeline, passes_for
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.language.types import Type, dtype_of
from rfactor.compiler.lower import passes
from rfactor.compiler.pipeline import lowered
from rfactor.ir.nest_printer import show_nest
from rfactor.ir.types import I16, I32, I64, U8, U16, U32, U64
from rfactor.semantics.interpreter import ImageValue
from rfactor.semantics.nest import interpret_nest

x, y, v = hl.Var("x"), hl.Var("y"), hl.Var("v")
BYTE, TRUTH = hl.UInt(8), hl.Bool()
COUNTS = (-3, 0, 1, 3, 31, 63, 64, 65, 127, 128, 129, 191, 300)


def nest(f: Any) -> str:
    frozen = freeze(f)
    *_, (_, found) = passes(frozen.algorithm, frozen.schedule)
    return show_nest(found)


def total(datum: Callable[[Any, Any], Any], type_: Any, of: Any = BYTE, less: bool = False) -> tuple[Any, Any, Any]:
    """`f() += datum(a, r.x)`, or `-=`, over `n` elements of `a`, both parameters."""
    a, n, f = hl.ImageParam(of, 1, "narrow_a"), hl.Param(hl.Int(32), "narrow_n"), hl.Func("narrow_total")
    r = hl.RDom([(0, n)], "r")
    f[()] = hl.cast(type_, 5)
    f[()] = f[()] - datum(a, r.x) if less else f[()] + datum(a, r.x)
    return f, a, n


@pytest.mark.parametrize("less", [False, True])
@pytest.mark.parametrize("type_", [U16, I16, U32, I32, U64, I64], ids=str)
def test_sums_of_bytes_have_the_serial_bits(type_: Any, less: bool) -> None:
    f, a, n = total(lambda a, at: hl.cast(Type(type_), a[at]), Type(type_), less=less)
    assert "lanes[+](u32x64(" in nest(f)
    for data in (np.random.default_rng(1).integers(0, 256, 300, np.uint8), np.full(300, 255, np.uint8)):
        a.set(data)
        for count in COUNTS:
            n.set(count)
            some = int(data[: max(count, 0)].sum(dtype=np.int64))
            right = np.array(5 - some if less else 5 + some).astype(dtype_of(type_))
            assert np.asarray(f.realize()) == right, count


def test_truth_values_are_counted() -> None:
    """Any byte that is not 0 is true."""
    f, a, n = total(lambda a, at: hl.i32(a[at]), hl.Int(32), TRUTH)
    g, b, m = total(lambda a, at: hl.i32(hl.u16(a[at] > 200)), hl.Int(32))
    assert "lanes[+](" in nest(f)
    assert "lanes[+](" in nest(g)
    data = np.random.default_rng(2).integers(0, 256, 300, np.uint8)
    data[::3] = 0
    a.set(data.view(bool))
    b.set(data)
    for count in COUNTS:
        n.set(count)
        m.set(count)
        some = data[: max(count, 0)]
        assert np.asarray(f.realize()) == 5 + np.count_nonzero(some)
        assert np.asarray(g.realize()) == 5 + np.count_nonzero(some > 200)


@pytest.mark.parametrize("count", [-1, 0, 63, 64, 130])
def test_the_nest_of_a_sum_means_the_same(count: int) -> None:
    f, a, n = total(lambda a, at: hl.i32(a[at] * 3 + 1), hl.Int(32))
    data = np.random.default_rng(3).integers(0, 256, 130, np.uint8)
    a.set(data)
    n.set(count)
    frozen = freeze(f)
    *_, (_, body) = passes(frozen.algorithm, frozen.schedule)
    algorithm = frozen.algorithm
    images, given = {algorithm.images[0].name: ImageValue(data, (0,))}, {algorithm.parameters[0].name: count}
    found = interpret_nest(body, algorithm, images, given, {f.name(): ()}, flat=True)
    assert np.asarray(f.realize()) == found[f.name()][0]


def test_rows_of_bytes_at_all_offsets() -> None:
    a, f, r = hl.ImageParam(BYTE, 2), hl.Func("narrow_rows"), hl.RDom([(3, 150)], "r")
    f[y] = hl.u16(0)
    f[y] += hl.u16(a[r.x, y])
    f.update(0).parallel(y)
    assert "lanes[+](" in nest(f)
    data = np.random.default_rng(4).integers(0, 256, (7, 200), np.uint8)
    a.set(data)
    assert np.array_equal(np.asarray(f.realize([7])), data[:, 3:153].sum(1, dtype=np.uint16))


SERIAL: dict[str, Callable[[], Any]] = {
    "floats round": lambda: total(lambda a, at: hl.f32(a[at]), hl.Float(32))[0],
    "wide elements": lambda: total(lambda a, at: hl.i32(a[at]), hl.Int(32), hl.UInt(16))[0],
    "signed bytes": lambda: total(lambda a, at: hl.i32(a[at]), hl.Int(32), hl.Int(8))[0],
    "no wider type": lambda: total(lambda a, at: a[at], BYTE)[0],
    "elements lie apart": lambda: total(lambda a, at: hl.i32(a[at * 2]), hl.Int(32))[0],
    "something is printed": lambda: total(lambda a, at: hl.i32(hl.print(a[at])), hl.Int(32))[0],
}


@pytest.mark.parametrize("why", sorted(SERIAL))
def test_what_is_no_sum_of_bytes(why: str) -> None:
    assert "lanes[+](" not in nest(SERIAL[why]())


def test_sums_of_bytes_leave_other_loops_to_llvm() -> None:
    f, _, _ = total(lambda a, at: hl.i32(a[at]), hl.Int(32))
    assert passes_for(lowered([f])).loop_vectorizer


# -- lanes that are merged ------------------------------------------------------------------------------------------

MERGES: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda f, a: f + a,
    "*": lambda f, a: f * a,
    "min": hl.min,
    "max": hl.max,
    "&": lambda f, a: f & a,
    "|": lambda f, a: f | a,
    "^": lambda f, a: f ^ a,
}


def in_lanes(step: Callable[[Any, Any], Any], type_: Any, count: int, width: int = 16) -> tuple[Any, Any]:
    """`f(y) = step(f(y), a(r.x, y))` over `count` elements, factored into lanes that a serial loop merges."""
    a, f, r = hl.ImageParam(type_, 2), hl.Func("narrow_lanes"), hl.RDom([(0, count)], "r")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f[y] = hl.cast(type_, 1)
    f[y] = step(f[y], a[r.x, y])
    f.update(0).split(r.x, ro, ri, width)
    lanes = f.update(0).rfactor([(ri, v)])
    lanes.compute_at(f, y).vectorize(v)
    lanes.update(0).vectorize(v)
    return f, a


@pytest.mark.parametrize("op", sorted(MERGES))
@pytest.mark.parametrize("type_", [U8, I16, I32, U64], ids=str)
def test_merged_lanes_have_the_serial_bits(op: str, type_: Any) -> None:
    ends: Any = np.iinfo(dtype_of(type_))
    for count in (16, 40, 3):  # whole vectors, a tail under a mask, lanes that see nothing
        f, a = in_lanes(MERGES[op], Type(type_), count)
        assert f"lanes[{op}](" in nest(f)
        data = np.random.default_rng(5).integers(ends.min, ends.max, (5, count), dtype_of(type_), endpoint=True)
        data[1], data[2] = ends.min, ends.max
        a.set(data)
        right = np.ones(5, dtype_of(type_))
        with np.errstate(over="ignore"):
            for column in data.T:
                function: Any = {"+": np.add, "*": np.multiply, "min": np.minimum, "max": np.maximum,
                                 "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}[op]  # fmt: skip
                right = function(right, column)
        assert np.array_equal(np.asarray(f.realize([5])), right), count


def test_floats_are_merged_one_by_one() -> None:
    f, a = in_lanes(lambda f, a: f + a, hl.Float(32), 40)
    assert "lanes[" not in nest(f)
    data = np.random.default_rng(6).random((5, 40), np.float32)
    a.set(data)
    assert np.allclose(np.asarray(f.realize([5])), 1 + data.sum(1), rtol=1e-5)


def test_many_lanes_are_merged_one_by_one() -> None:
    f, _ = in_lanes(lambda f, a: f + a, hl.Int(32), 256, 128)
    assert "lanes[" not in nest(f)


# -- truth values ---------------------------------------------------------------------------------------------------

TRUTHS: dict[str, tuple[bool, Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "any": (False, lambda f, a: f | a, np.any),
    "all": (True, lambda f, a: f & a, np.all),
    "none": (True, lambda f, a: f & ~a, lambda data: not data.any()),
    "odd": (False, lambda f, a: f ^ a, lambda data: bool(np.count_nonzero(data) % 2)),
}
SCHEDULES = ("serial", "auto", "atomic", "lanes")


def truths(kind: str, schedule: str, count: int) -> tuple[Any, Any]:
    start, step, _ = TRUTHS[kind]
    a, f, r = hl.ImageParam(TRUTH, 1), hl.Func("narrow_truths"), hl.RDom([(0, count)], "r")
    f[()] = hl.cast(TRUTH, int(start))
    f[()] = step(f[()], a[r.x])
    if schedule == "auto":
        f.update(0).auto_rfactor()
    elif schedule == "atomic":
        f.update(0).atomic().vectorize(r.x, 32)
    elif schedule == "lanes":
        ro, ri = hl.RVar("ro"), hl.RVar("ri")
        f.update(0).split(r.x, ro, ri, 32)
        lanes = f.update(0).rfactor([(ri, v)])
        lanes.compute_root().vectorize(v)
        lanes.update(0).vectorize(v)
    return f, a


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("kind", sorted(TRUTHS))
def test_truth_values_are_reduced_whatever_bytes_stand_for_them(kind: str, schedule: str) -> None:
    random = np.random.default_rng(7)
    for count in (1, 31, 32, 100):
        f, a = truths(kind, schedule, count)
        for fill in (0, 1, 2, 128, 255, None):
            data = random.integers(0, 4, count, np.uint8) if fill is None else np.full(count, fill, np.uint8)
            for at in (None, 0, count - 1):
                some = data.copy()
                if at is not None:
                    some[at] = 0 if data[at] else 64
                a.set(some.view(bool))
                found = np.asarray(f.realize()).view(np.uint8)
                assert found == TRUTHS[kind][2](some != 0), (count, fill, at)


def test_lanes_of_truth_values_are_bytes() -> None:
    """As bits that a loop hands on they took twenty times as long."""
    for kind in ("any", "all"):
        f, _ = truths(kind, "lanes", 320)
        assert "phi <32 x i1>" not in compile_pipeline(lowered([f])).llvm_ir()


def test_what_the_caller_put_there_is_no_byte_of_ours() -> None:
    f, r, a = hl.Func("narrow_kept"), hl.RDom([(0, 40)], "r"), hl.ImageParam(TRUTH, 1)
    f[x] = hl.undef(TRUTH)
    f[r.x] = f[r.x] | a[r.x]
    f.update(0).vectorize(r.x, 8)
    there, data = np.zeros(40, np.uint8), np.zeros(40, np.uint8)
    there[::3], data[::5] = 2, 4
    a.set(data.view(bool))
    f.realize(there.view(bool))
    assert np.array_equal(there, (np.arange(40) % 3 == 0) | (np.arange(40) % 5 == 0))


def test_choices_of_truth_values() -> None:
    a, b, f = hl.ImageParam(TRUTH, 1), hl.ImageParam(BYTE, 1), hl.Func("narrow_choice")
    f[x] = hl.select(b[x] > 9, a[x] & (b[x] > 99), ~a[x] | hl.cast(TRUTH, 0))
    f.vectorize(x, 16)
    random = np.random.default_rng(8)
    bits, bytes_ = random.integers(0, 3, 50, np.uint8), random.integers(0, 200, 50, np.uint8)
    a.set(bits.view(bool))
    b.set(bytes_)
    right = np.where(bytes_ > 9, (bits != 0) & (bytes_ > 99), bits == 0)
    assert np.array_equal(np.asarray(f.realize([50])).view(np.uint8), right)


# -- quotients by negative numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("lanes", [0, 16])
def test_quotients_and_remainders_by_negative_constants(bits: int, lanes: int) -> None:
    least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    type_ = hl.Int(bits)
    data = np.array(sorted({*range(-20, 21), *range(least, least + 12), *range(most - 11, most + 1)}), f"i{bits // 8}")
    for by in (-1, -2, -3, -7, -8, -100, -128, least, least + 1):
        q, r, a = hl.Func("narrow_q"), hl.Func("narrow_r"), hl.ImageParam(type_, 1)
        q[x] = a[x] // hl.cast(type_, by)
        r[x] = a[x] % hl.cast(type_, by)
        if lanes:
            q.vectorize(x, lanes)
            r.vectorize(x, lanes)
        a.set(data)
        rests = [int(one) % -by for one in data]
        quotients = [(int(one) - rest) // by for one, rest in zip(data, rests, strict=True)]
        wrapped = [(one - least) % (1 << bits) + least for one in quotients]
        assert np.asarray(q.realize([len(data)])).tolist() == wrapped, by
        assert np.asarray(r.realize([len(data)])).tolist() == rests, by


def test_quotients_by_negative_constants_are_no_divisions() -> None:
    q, a = hl.Func("narrow_code"), hl.ImageParam(hl.Int(16), 1)
    q[x] = a[x] // hl.i16(-3)
    q.vectorize(x, 16)
    assert "fdiv" not in compile_pipeline(lowered([q])).llvm_ir()
