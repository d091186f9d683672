"""`fma` of compiled code has the bits of exact numbers rounded once, wherever it stands and whatever compiles it."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import ir

import rfactor as hl
from rfactor.errors import FactorError, ScheduleError, TypeMismatch
from rfactor.ir.expr import Var, intrinsic
from rfactor.ir.types import F32, F64, Type
from rfactor.native.emit import Emitter
from rfactor.native.engine import compile_module, host
from rfactor.native.literal import llvm_type
from tests.compiler.test_outputs import built, needs_cc
from tests.fused import Array, bits, fused, values

x, y, u = hl.Var("x"), hl.Var("y"), hl.Var("u")
DTYPES = ["f4", "f8"]
_rng = np.random.default_rng(7)
COUNT = 1000
"""No multiple of any number of lanes."""
A, B = (_rng.uniform(-1, 1, COUNT).astype(np.float32) for _ in "ab")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("tail", [hl.TailStrategy.GuardWithIf, hl.TailStrategy.PredicateStores])
def test_values_are_exact_numbers_rounded_once(dtype: str, lanes: int, tail: Any) -> None:
    operands, expected = values(dtype)
    f = hl.Func("f")
    f[x] = hl.fma(*(hl.Buffer(one)[x] for one in operands))
    if lanes > 1:
        f.vectorize(x, lanes, tail)
    assert np.array_equal(bits(np.asarray(f.realize([len(expected)]))), bits(expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_are_folded_with_one_rounding(dtype: str) -> None:
    operands, expected = values(dtype)
    type_ = hl.f32 if dtype == "f4" else hl.f64
    rows = range(0, len(expected), 41)
    f = hl.Func("f")
    f[x] = tuple(hl.fma(*(type_(float(one[row])) for one in operands)) for row in rows)
    found = np.array([np.asarray(part)[0] for part in f.realize([1])])
    assert np.array_equal(bits(found), bits(expected[rows.start : rows.stop : rows.step]))


def test_a_product_and_a_sum_stay_two_roundings() -> None:
    a, b, c = (hl.Buffer(one)[x] for one in (A, B, A[::-1].copy()))
    f = hl.Func("f")
    f[x] = (a * b + c, hl.fma(a, b, c))
    f.vectorize(x, 8)
    twice, once = (np.asarray(part) for part in f.realize([COUNT]))
    assert np.array_equal(twice, A * B + A[::-1])
    assert not np.array_equal(twice, once)


# -- what it takes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("made", "shown", "type_"), [
    (lambda: hl.fma(hl.f32(x), hl.f32(y), 2), "fma(f32(x), f32(y), 2.0)", "float32"),
    (lambda: hl.fma(0.5, hl.f64(x), y), "fma(0.5, f64(x), f64(y))", "float64"),
    (lambda: hl.fma(x, 2.0, hl.f32(y)), "fma(f32(x), 2.0, f32(y))", "float32"),
    (lambda: hl.fma(hl.f32(x), hl.f64(y), 1), "fma(f64(f32(x)), f64(y), 1.0)", "float64"),
    (lambda: hl.fma(2.5, 3, 4), "fma(2.5, 3.0, 4.0)", "float32"),
    (lambda: hl.fma(x, y, 3), "x * y + 3", "int32"),
    (lambda: hl.fma(hl.u8(x), hl.u16(y), 1), "u16(u8(x)) * u16(y) + 1", "uint16"),
])  # fmt: skip
def test_operands_are_promoted_as_those_of_other_operators(made: Any, shown: str, type_: str) -> None:
    expr = made()
    assert f"{expr}" == shown
    assert str(expr.type()) == type_


def test_integers_wrap_around() -> None:
    f = hl.Func("f")
    f[x] = (hl.fma(hl.u8(x), hl.u8(x), hl.u8(7)), hl.fma(x + 60000, x + 60000, -1))
    small, large = (np.asarray(part) for part in f.realize([300]))
    k = np.arange(300, dtype=np.int64)
    assert np.array_equal(small, (k * k + 7).astype(np.uint8))
    assert np.array_equal(large, ((k + 60000) ** 2 - 1).astype(np.int32))


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_floats_of_16_bits_are_refused(type_: str) -> None:
    one = hl.cast(hl.Float(16) if type_ == "f16" else hl.BFloat(16), x)
    with pytest.raises(TypeMismatch, match=rf"of {type_}: it is for f32 and f64; write {type_}\(fma\(f32"):
        hl.fma(one, one, one)


def test_it_is_spelled_as_halide_spells_it() -> None:
    assert str(hl.fma(hl.f32(x), hl.f32(y), 2)) == (
        "<halide.Expr of type float32: (float32)fma(float32(x), float32(y), 2.000000f)>"
    )


# -- where it stands ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [
    "hl.fma(v, 0.5, 7.0)", "hl.fma(v, w, 7.0)", "hl.fma(v, -2.0, w)", "hl.fma(hl.f32(x), 0.125, w * 3)",
    "hl.fma(v, v, hl.min(w, 0.5))", "hl.fma(hl.f32(x), v, -hl.f32(x))", "hl.fma(v, hl.f32(3.0000002), v * -3)",
])  # fmt: skip
def test_what_an_index_of_it_asks_for_is_all_that_it_reads(text: str) -> None:
    """The table is as large as inference asks for, and no larger than what operands of these ends can make."""
    clamped = [hl.clamp(hl.Buffer(one)[x], -0.75, 1.0) for one in (A, B)]
    index = hl.i32(hl.floor(eval(text, {"hl": hl, "x": x, "v": clamped[0], "w": clamped[1]}) * 8)) + 300
    table, f = hl.ImageParam(hl.Int(32), 1, "table"), hl.Func("f")
    f[x] = table[hl.clamp(index, -5000, 5000)]
    f.infer_input_bounds([50])
    low, size = table.get().dim(0).min(), table.get().dim(0).extent()
    seen = hl.Func("seen")
    seen[x] = index
    read = np.asarray(seen.realize([50]))
    assert low <= read.min() <= read.max() < low + size
    assert size < 2000, "nothing was known of it"


def test_bounds_round_once_where_a_product_and_a_sum_would_miss() -> None:
    """The greatest value is 2**-48, and 0 where the product is rounded first."""
    near = np.full(50, 1 + 2.0**-24 * 2, np.float32)
    v = hl.clamp(hl.Buffer(near)[x], 0.0, float(near[0]))
    value = hl.fma(v, v, -float(near[0] * near[0])) * 2.0**46 * 100
    f, table = hl.Func("f"), hl.ImageParam(hl.Int(32), 1, "table")
    f[x] = table[hl.max(hl.i32(value), -3)]
    f.infer_input_bounds([50])
    box = table.get().dim(0)
    assert box.min() == -3
    assert box.min() + box.extent() == 101


def summed(kind: str, type_: Any = None) -> tuple[hl.Func, hl.RDom]:
    f, r = hl.Func("f"), hl.RDom([(0, COUNT)], "r")
    a, b = hl.Buffer(A)[r.x], hl.Buffer(B)[r.x]
    f[()] = hl.f32(0)
    f[()] = hl.fma(a, b, f[()]) if kind == "fma" else a * b + f[()]
    return f, r


def serial() -> Any:
    total = np.float32(0)
    for a, b in zip(A.tolist(), B.tolist(), strict=True):
        total = np.float32(fused("f4", a, b, float(total)))
    return total


def in_lanes(lanes: int) -> Array:
    """The sums of every such element."""
    held = [np.float32(0)] * lanes
    for k, (a, b) in enumerate(zip(A.tolist(), B.tolist(), strict=True)):
        held[k % lanes] = np.float32(fused("f4", a, b, float(held[k % lanes])))
    return np.array(held)


def test_a_sum_of_products_is_serial_without_a_schedule() -> None:
    f, _ = summed("fma")
    assert np.asarray(f.realize()) == serial()
    other, _ = summed("two roundings")
    assert np.asarray(other.realize()) != serial()


def test_it_is_factored_as_a_sum_and_its_slices_keep_it() -> None:
    f, r = summed("fma")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 8)
    lanes = f.update(0).rfactor([(ri, u)])
    lanes.compute_root().vectorize(u).update(0).vectorize(u)
    found = np.asarray(f.realize())
    total = np.float32(0)
    for one in in_lanes(8):
        total += one
    assert found == total
    assert "fma(" in str(lanes.update_value(0))
    assert "fma(" not in str(f.update_value(0))


def test_lanes_of_an_atomic_sum_keep_it() -> None:
    f, r = summed("fma")
    f.update(0).atomic(True).vectorize(r.x, 8)
    held = in_lanes(8)
    held = held[:4] + held[4:]
    held = held[:2] + held[2:]
    assert np.asarray(f.realize()) == held[0] + held[1]


def test_lanes_that_add_a_rounded_product_keep_its_rounding() -> None:
    """`s + fma(a, b, -0.0)` rounds twice."""
    f, g = hl.Func("f"), hl.Func("g")
    for one in (f, g):
        r = hl.RDom([(0, 960)], "r")
        a, b = hl.Buffer(A)[r.x], hl.Buffer(B)[r.x]
        one[()] = hl.f32(0)
        one[()] = one[()] + (hl.fma(a, b, hl.f32(-0.0)) if one is f else a * b)
        one.update(0).atomic(True).vectorize(r.x, 8)
    assert np.asarray(f.realize()) == np.asarray(g.realize())


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(lambda held, datum: hl.fma(held, datum, held), id="a factor and what is added"),
        pytest.param(lambda held, datum: hl.fma(held, datum, datum), id="a factor"),
        pytest.param(lambda held, datum: hl.fma(held * held, datum, held), id="a factor of a factor"),
    ],
)
def test_what_a_factor_reads_of_the_sum_so_far_is_no_datum(made: Any) -> None:
    data = np.random.default_rng(5).random(64, np.float32) / 16

    def result(vector: bool) -> Any:
        f, r = hl.Func("f"), hl.RDom([(0, len(data))])
        f[()] = hl.f32(0.25)
        f[()] = made(f[()], hl.Buffer(data)[r.x])
        if vector:
            f.update(0).atomic(True).vectorize(r.x, 8)
        return np.asarray(f.realize([]))

    assert result(True) == result(False)


def test_lanes_in_another_order_need_permission() -> None:
    f, r = summed("fma")
    with pytest.raises(ScheduleError, match="floats are rounded in another order"):
        f.update(0).atomic().vectorize(r.x, 8)
    with pytest.raises(ScheduleError):
        f.update(0).vectorize(r.x, 8)


def test_auto_rfactor_takes_it_for_a_sum() -> None:
    f, _ = summed("fma")
    said = str(f.update(0).auto_rfactor())
    assert "lanes" in said
    assert abs(float(np.asarray(f.realize())) - float(np.dot(A.astype(np.float64), B))) < 1e-4


def test_what_is_no_sum_is_refused() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, COUNT)], "r")
    f[()] = hl.f32(0)
    f[()] = hl.fma(f[()], f[()], hl.Buffer(A)[r.x])
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 8)
    with pytest.raises(FactorError, match="is not associative"):
        f.update(0).rfactor([(ro, u)])


def test_an_integer_that_its_rounding_decides_is_refused() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, COUNT)], "r")
    f[()] = (hl.f32(0), 0)
    total = hl.fma(hl.Buffer(A)[r.x], hl.Buffer(B)[r.x], f[()][0])
    f[()] = (total, hl.select(total > 1, r.x, f[()][1]))
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 8)
    with pytest.raises(FactorError):
        f.update(0).rfactor([(ro, u)])


def test_choices_by_one_rounding_and_by_two_are_two_choices() -> None:
    """Over the reals both are one, and the update is a count."""
    f, r = hl.Func("f"), hl.RDom([(0, COUNT)], "r")
    a, b = hl.Buffer(A)[r.x], hl.Buffer(B)[r.x]
    f[()] = 1
    old = f[()]
    f[()] = hl.select(hl.fma(a, b, -0.25) > 0, old + 1, hl.select(a * b - 0.25 > 0, old * old, old + 1))
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update(0).split(r.x, ro, ri, 8)
    with pytest.raises(FactorError):
        f.update(0).rfactor([(ro, u)])


def test_derivatives_are_those_of_a_product_and_a_sum() -> None:
    a, b, c = (hl.Buffer(one[:9].astype(np.float64)) for one in (A, B, A[::-1]))
    found = []
    for in_one in (True, False):
        f, loss, r = hl.Func("f"), hl.Func("loss"), hl.RDom([(0, 9)], "r")
        f[x] = hl.fma(a[x], b[x], c[x]) if in_one else a[x] * b[x] + c[x]
        loss[()] = hl.f64(0)
        loss[()] += f[r.x]
        d = hl.propagate_adjoints(loss)
        found.append([np.asarray(d[one].realize([9])) for one in (a, b, c)])
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(found[0][0], B[:9].astype(np.float64))


# -- what compiles it --------------------------------------------------------------------------------------------------


def over_arrays(dtype: str) -> tuple[hl.Func, list[Any]]:
    type_ = hl.Float(32 if dtype == "f4" else 64)
    images = [hl.ImageParam(type_, 1, name) for name in "abc"]
    f = hl.Func("f")
    f[x] = hl.fma(*(image[x] for image in images))
    f.vectorize(x, 8)
    return f, images


MAIN = """
#include "f.h"
#include <stdio.h>
int main(void) {{
    static {c} in[3][{count}], out[{count}];
    FILE *from = fopen("{folder}/in.bin", "rb"), *to = fopen("{folder}/out.bin", "wb");
    if (!from || !to || fread(in, sizeof in, 1, from) != 1) return 1;
    rfactor_dimension line = {{0, {count}, 1}};
    rfactor_buffer a = {{in[0], &line, 1, {type}}}, b = {{in[1], &line, 1, {type}}}, c = {{in[2], &line, 1, {type}}};
    rfactor_buffer result = {{out, &line, 1, {type}}};
    const int status = f(&a, &b, &c, &result);
    fwrite(out, sizeof out, 1, to);
    return fclose(to) || fclose(from) || status;
}}
"""


@needs_cc
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["object", "object without the instruction", "C", "C with the instruction"])
def test_c_programs_have_the_same_bits(tmp_path: Path, dtype: str, kind: str) -> None:
    f, arguments = over_arrays(dtype)
    here = hl.get_host_target()
    options = []
    if kind.startswith("C"):
        f.compile_to_c(str(tmp_path / "f.c"), arguments, "f")
        f.compile_to_header(str(tmp_path / "f.h"), arguments, "f")
        assert "FP_CONTRACT OFF" in (tmp_path / "f.c").read_text()
        options = ["f.c", "-O2", "-Wno-unknown-pragmas"]
        if "with" in kind:
            if not here.has_feature(hl.TargetFeature.FMA):
                pytest.skip("no such instruction")
            options.append("-mfma")
    else:
        target = here if kind == "object" else hl.Target(here.os, here.arch, here.bits)
        f.compile_to_file(str(tmp_path / "f"), arguments, "f", target)
        options = ["f.o"]
    operands, expected = values(dtype)
    np.concatenate(operands).tofile(tmp_path / "in.bin")
    c, type_ = ("float", "rfactor_float32") if dtype == "f4" else ("double", "rfactor_float64")
    built(tmp_path, MAIN.format(c=c, type=type_, count=len(expected), folder=tmp_path), *options)
    assert np.array_equal(bits(np.fromfile(tmp_path / "out.bin", dtype)), bits(expected))


@pytest.mark.parametrize(("target", "has"), [
    ("x86-64-linux-fma-avx", ["vfmadd", "ymm"]), ("x86-64-linux-avx512_skylake", ["vfmadd"]),
    ("arm-64-linux", ["fmla"]), ("riscv-64-linux", ["fmadd.s"]),
    ("x86-64-linux", ["fmaf"]), ("wasm-32-wasmrt", ["fmaf"]),
])  # fmt: skip
def test_other_machines_have_their_instruction_or_call_libm(tmp_path: Path, target: str, has: list[str]) -> None:
    f, arguments = over_arrays("f4")
    f.compile_to_assembly(str(tmp_path / "f.s"), arguments, "f", hl.Target(target))
    text = (tmp_path / "f.s").read_text()
    for one in has:
        assert one in text
    if has != ["fmaf"]:
        assert "fmaf" not in text


@pytest.mark.parametrize(("type_", "dtype"), [(F32, "f4"), (F64, "f8")])
@pytest.mark.parametrize("lanes", [1, 4])
def test_a_machine_without_the_instruction_has_the_same_bits(type_: Type, dtype: str, lanes: int) -> None:
    """Of the evaluators that run in this process."""
    if "+fma" not in host().features.split(","):
        pytest.skip("this machine is one")
    operands, expected = values(dtype)
    found = without_instruction(type_, lanes, [np.ascontiguousarray(one) for one in operands])
    assert np.array_equal(bits(found), bits(expected[: len(found)]))


def without_instruction(type_: Type, lanes: int, operands: list[Array]) -> Array:
    """The values by a function over `lanes` values a call that is compiled for such a machine."""
    wide = llvm_type(type_.with_lanes(lanes))
    module = ir.Module("f")
    module.triple = host().triple
    pointer = ir.PointerType()
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer] * 4), "f")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    size = operands[0].itemsize
    loaded = {name: builder.load(arg, typ=wide, align=size) for name, arg in zip("abc", function.args, strict=False)}
    made = Emitter(builder, loaded, lanes=lanes).emit(intrinsic("fma", *(Var(type_, name) for name in "abc")))
    builder.store(made, function.args[3], align=size)
    builder.ret_void()
    code = compile_module(str(module), ["f"], replace(host(), features="+sse4.1", cpu="x86-64", vector_bits=128))
    assert "fma" in code.assembly()
    assert "vfma" not in code.assembly()
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(code.addresses["f"])
    out = np.zeros(len(operands[0]) // lanes * lanes, operands[0].dtype)
    for at in range(0, len(out), lanes):
        call(*(one.ctypes.data + at * size for one in (*operands, out)))
    return out
