"""`hl.BFloat(16)`: types and values as in Halide, arrays of words, reductions in vectors."""

from __future__ import annotations

import re
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import BufferError, TypeMismatch
from rfactor.ir.bfloat import STORED, of_words, rounded, words
from rfactor.native.engine import host
from tests.compiler.pipelines import agrees, computed, expected
from tests.native.test_evaluator import same_bits

Array = np.ndarray[Any, Any]
BRAIN = hl.BFloat(16)
WORDS = np.arange(1 << 16, dtype=np.uint16)
OTHERS = np.random.default_rng(3).permutation(WORDS)
x = hl.Var("x")

TYPES = [
    "b", "b + 1", "b + 1.5", "1.5 * b", "1 / b", "b // 2", "b % 3", "b ** 2", "-b", "b < 1", "hl.min(b, 2)",
    "hl.max(b, b)",
    "b + hl.f32(x)", "hl.f32(x) + b", "b + hl.cast(hl.Float(64), x)", "b + hl.cast(hl.Float(16), x)",
    "hl.cast(hl.Float(16), x) + b", "b + x", "hl.u8(x) * b", "hl.cast(hl.Bool(), x) + b",
    "hl.min(hl.cast(hl.Int(64), x), b)",
    "hl.exp(b)", "hl.log(b)", "hl.sqrt(b)", "hl.sin(b)", "hl.floor(b)", "hl.ceil(b)", "hl.round(b)", "hl.trunc(b)",
    "hl.fract(b)", "hl.abs(b)", "hl.absd(b, b)", "hl.pow(b, b)", "hl.pow(b, 2)", "hl.atan2(b, b)", "hl.hypot(b, b)",
    "hl.is_nan(b)", "hl.is_inf(b)", "hl.is_finite(b)", "hl.select(x > 0, b, b)", "hl.clamp(b, 0.0, 1.0)",
    "hl.lerp(b, b, 0.5)",
    "hl.lerp(b, b, hl.u8(x))", "hl.cast(hl.Int(32), b)", "hl.saturating_cast(hl.UInt(8), b)",
    "hl.saturating_cast(hl.BFloat(16), x)", "hl.reinterpret(hl.UInt(16), b)",
    "hl.reinterpret(hl.BFloat(16), hl.u16(x))",
    "hl.mux(x, [b, b])", "hl.strict_float(b + b)", "hl.Param(hl.BFloat(16))", "hl.Func(hl.BFloat(16), 1, 'f')",
]  # fmt: skip
ALIKE = [
    "hl.cast(hl.BFloat(16), 1.1)", "hl.cast(hl.BFloat(16), 1e39)", "hl.cast(hl.BFloat(16), 257)",
    "hl.cast(hl.BFloat(16), x)",
    "b + 1", "b + 1.5", "hl.BFloat(16).min()", "hl.BFloat(16).max()", "hl.max(b, 2)", "hl.select(b < 1, b, -b)",
    "hl.floor(b)", "hl.exp(b)", "hl.BFloat(16)", "hl.BFloat(16, 4)", "repr(hl.BFloat(16))", "hl.BFloat(16).bytes()",
    "hl.BFloat(16).is_float()", "hl.BFloat(16).with_code(hl.TypeCode.Float)", "hl.Buffer(hl.BFloat(16), [4, 3])",
]  # fmt: skip


@pytest.mark.parametrize("text", TYPES)
def test_types_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    ours, theirs = (eval(text, {"hl": api, "b": api.cast(api.BFloat(16), v), "x": v}) for api, v in _each(halide))
    told = [[str(t) for t in one.types()] if hasattr(one, "types") else str(one.type()) for one in (ours, theirs)]
    assert told[0] == told[1]


@pytest.mark.parametrize("text", ALIKE)
def test_texts_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (eval(text, {"hl": api, "b": api.cast(api.BFloat(16), v), "x": v}) for api, v in _each(halide))
    assert str(ours) == str(theirs)


def _each(halide: Any) -> list[tuple[Any, Any]]:
    return [(api, api.Var("x")) for api in (hl, halide)]


def test_every_type_that_can_represent_another_is_said_to_as_in_halide() -> None:
    halide = pytest.importorskip("halide")

    def told(api: Any) -> list[bool]:
        others = [
            api.Bool(),
            *map(api.UInt, (8, 16, 32, 64)),
            *map(api.Int, (8, 16, 32, 64)),
            *map(api.Float, (16, 32, 64)),
        ]
        brain = api.BFloat(16)
        return [brain.can_represent(brain), *(f(t) for t in others for f in (brain.can_represent, lambda t: t.can_represent(brain)))]  # fmt: skip  # noqa: E501

    assert told(hl) == told(halide)


EXACT = [
    "a + b", "a - b", "a * b", "a / b", "-a", "a < b", "a + 1", "a * 2", "a + 1.5", "hl.cast(hl.Float(32), a)",
    "hl.cast(hl.Float(64), a)", "hl.sqrt(a)", "hl.floor(a)", "hl.ceil(a)", "hl.trunc(a)", "hl.is_nan(a)",
    "hl.is_inf(a)",
    "a // 2", "hl.cast(hl.BFloat(16), hl.cast(hl.Int(16), u))", "hl.cast(hl.BFloat(16), u)",
    "hl.cast(hl.BFloat(16), f)", "a + hl.cast(hl.Int(16), u)",
]  # fmt: skip
"""What both round once; Halide takes no NaN for less than a number, as here."""


def values(api: Any, text: str) -> Array:
    """At all words; of bf16 the words."""
    at = api.Var("x")
    first, second, brain = api.Buffer(WORDS), api.Buffer(OTHERS), api.BFloat(16)
    singles = api.Buffer((WORDS.astype(np.uint32) << np.uint32(16) | np.uint32(0x8000)).view(np.float32))
    scope = {"hl": api, "u": first[at], "f": singles[at]}
    scope |= {"a": api.reinterpret(brain, first[at]), "b": api.reinterpret(brain, second[at])}
    value = eval(text, scope)
    f = api.Func("f")
    f[at] = api.reinterpret(api.UInt(16), value) if value.type().is_bfloat() else value
    found = np.array(f.realize([1 << 16]))
    if value.type().is_bfloat():
        return np.where((found & 0x7FFF) > 0x7F80, np.uint16(0x7FC0), found)
    return found


@pytest.mark.parametrize("text", EXACT)
def test_values_are_those_of_halide(text: str) -> None:
    halide = pytest.importorskip("halide")
    ours, theirs = values(hl, text), values(halide, text)
    if text == "hl.cast(hl.BFloat(16), f)":  # of some NaNs Halide makes numbers
        ours, theirs = ours[(WORDS & 0x7FFF) < 0x7F80], theirs[(WORDS & 0x7FFF) < 0x7F80]
    np.testing.assert_array_equal(ours, theirs)


ALL = [
    "a + b", "a * b - a", "a / b", "hl.min(a, b)", "hl.max(a, b)", "hl.abs(a)", "hl.round(a)", "a % 3", "hl.sqrt(a)",
    "hl.select(a < b, a, b)", "hl.clamp(a, -1, 1)", "hl.lerp(a, b, 0.5)", "hl.cast(hl.Int(32), a)",
    "hl.cast(hl.UInt(8), a)",
    "hl.cast(hl.Float(16), a)", "hl.cast(hl.BFloat(16), hl.reinterpret(hl.Float(16), u))", "a ** 3", "hl.exp(a)",
    "hl.cast(hl.BFloat(16), hl.cast(hl.Float(64), f) * 1.0000001)", "hl.cast(hl.Bool(), a)", "hl.f32(a) + b",
]  # fmt: skip


def test_the_interpreter_scalars_and_vectors_have_the_same_values() -> None:
    some = slice(0, None, 97)
    first, second = (hl.Buffer(one[some], type=BRAIN) for one in (WORDS, OTHERS))
    singles = hl.Buffer((WORDS[some].astype(np.uint32) << np.uint32(16) | np.uint32(0x8000)).view(np.float32))
    integers = hl.Buffer(WORDS[some])
    scope = {"hl": hl, "a": first[x], "b": second[x], "f": singles[x], "u": integers[x]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [eval(text, scope) for text in ALL]
    serial, lanes = hl.Func("serial"), hl.Func("lanes")
    serial[x] = lanes[x] = parts
    lanes.vectorize(x, 16)
    sizes = [first.width()]
    for text, *three in zip(ALL, expected(serial, sizes), computed(serial, sizes), computed(lanes, sizes), strict=True):
        meant, one, several = (of_words(array) if array.dtype == STORED else array for array in three)
        assert same_bits(one, several), text
        assert same_bits(meant, one), text


# -- arrays ------------------------------------------------------------------------------------------------------------


def test_words_are_read_as_brain_floats_without_a_copy() -> None:
    given = np.array([[0x3F80, 0x4000, 0xC040], [0x0001, 0x7F80, 0x3F8D]], np.uint16)
    buffer = hl.Buffer(given, "named", type=BRAIN)
    assert (buffer.name(), buffer.type(), buffer.width(), buffer.height()) == ("named", BRAIN, 3, 2)
    assert np.shares_memory(buffer.array, given)
    assert [buffer[0, 0], buffer[2, 0], buffer[0, 1], buffer[1, 1]] == [1.0, -3.0, 2.0**-133, np.inf]
    buffer[1, 0] = 1.1
    assert given[0, 1] == 0x3F8D
    back = hl.Buffer(buffer.translated([7, 8]), type=hl.UInt(16))
    assert (back.type(), back.dim(1).min()) == (hl.UInt(16), 8)
    assert np.shares_memory(np.asarray(back), given)
    assert hl.Buffer(given[:, ::-1], type=BRAIN)[0, 0] == -3.0
    assert hl.Buffer(buffer=given, type=BRAIN)[2, 1] == buffer[0, 0] * 1.1015625
    assert hl.Buffer(given.data, type=BRAIN).type() == BRAIN
    assert hl.Buffer(given, type=hl.UInt(16)).type() == hl.UInt(16)
    for other, wanted in ((given.astype(np.int32), BRAIN), (given, hl.Float(16)), (buffer, hl.Float(32))):
        with pytest.raises(TypeMismatch, match="over an array"):
            hl.Buffer(other, type=wanted)


def test_elements_are_numbers() -> None:
    buffer = hl.Buffer(BRAIN, [3, 2])
    assert np.asarray(buffer, np.float32).tolist() == [[0, 0, 0]] * 2
    buffer.fill(0.1)
    assert buffer[2, 1] == 0.10009765625
    assert buffer.all_equal(0.10009765625)
    assert not buffer.all_equal(0.1)
    buffer.fill(-0.0)
    assert buffer.all_equal(0)
    buffer[1, 1] = np.nan
    assert not buffer.all_equal(np.nan)
    assert np.isnan(buffer.copy()[1, 1])
    part = buffer.cropped(0, 1, 2)
    part.copy_from(hl.Buffer.make_with_shape_of(buffer))
    assert buffer[1, 1] == 0
    with pytest.raises(TypeMismatch, match="is no number"):
        buffer[0, 0] = "one"


def test_numpy_has_the_values_where_they_are_asked_for_and_says_no_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    buffer = hl.Buffer(np.array([0x3FC0, 0xC000], np.uint16), type=BRAIN)
    for dtype in (np.float32, np.float64, np.int8):
        found = np.asarray(buffer, dtype)
        assert (found.dtype, found.tolist()) == (np.dtype(dtype), [dtype(1.5), -2])
    for ask in (np.asarray, np.array, lambda b: b.__array__(), lambda b: b.__buffer__(0)):
        with pytest.raises(ValueError, match=r"Unsupported Buffer<> type.*np.float32.*UInt\(16\)"):
            ask(buffer)


def test_arrays_of_ml_dtypes_are_taken_and_given(monkeypatch: pytest.MonkeyPatch) -> None:
    known = pytest.importorskip("ml_dtypes")
    given = np.array([[1.5, -2, 3], [4, 5, np.inf]], known.bfloat16)
    buffer = hl.Buffer(given)
    assert buffer.type() == BRAIN
    assert np.asarray(buffer).dtype == given.dtype
    assert np.shares_memory(np.asarray(buffer), given)
    y, image, f, out = hl.Var("y"), hl.ImageParam(BRAIN, 2, "im"), hl.Func("f"), np.zeros_like(given)
    f[x, y] = image[x, y] * image[x, y]
    image.set(given)
    f.realize(out)
    assert out.tolist() == (given * given).tolist()
    f.compile_to_callable([image])(given[:, ::-1], out)
    assert out[:, ::-1].tolist() == (given * given).tolist()
    buffer[0, 0] = known.bfloat16(7)
    assert given[0, 0] == 7


def test_the_package_is_asked_for_no_sooner_than_its_type_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("ml_dtypes")
    stand_in.bfloat16 = STORED  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ml_dtypes", stand_in)
    buffer = hl.Buffer(BRAIN, [4])
    assert np.shares_memory(np.asarray(buffer), buffer.array)
    assert not np.shares_memory(np.array(buffer), buffer.array)


def test_parameters_images_and_outputs(tmp_path: Path) -> None:
    image, weight, f = hl.ImageParam(BRAIN, 1, "im"), hl.Param(BRAIN, "w", 1.1), hl.Func("f")
    f[x] = image[x] * weight
    assert (f.type(), weight.get()) == (BRAIN, 1.1015625)
    given = hl.Buffer(words(np.arange(9, dtype=np.float32)), type=BRAIN)
    image.set(given)
    meant = rounded(np.arange(9, dtype=np.float32) * np.float32(1.1015625))
    agrees(f, expected(f, [9]), [9])
    out = hl.Buffer(BRAIN, [9])
    f.realize(out)
    f.compile_to_callable([image, weight])(given, 1.1, out)
    assert np.asarray(out, np.float32).tolist() == meant.tolist()
    for wrong in (np.zeros(9, np.uint16), np.zeros(9, np.float16)):
        with pytest.raises(BufferError, match="has type bfloat16 but type of the buffer passed in is"):
            image.set(wrong)
    with pytest.raises(BufferError, match=r"uint16: Buffer\(words, type=BFloat\(16\)\) reads them as such"):
        f.compile_to_callable([image, weight])(given, 1.1, np.zeros(9, np.uint16))
    f.compile_to_header(str(tmp_path / "f.h"), [image, weight], "f")
    text = (tmp_path / "f.h").read_text()
    assert "rfactor_bfloat16 = 1040," in text
    assert re.search(r"int32_t f\(const rfactor_buffer \*a0, float a1, rfactor_buffer \*a2\)", text)


def test_types_that_there_are_not_are_refused() -> None:
    value = hl.cast(BRAIN, x)
    with pytest.raises(TypeMismatch, match="widths are 16"):
        hl.BFloat(32)
    for widening in (hl.widening_add, hl.widening_mul, hl.widening_sub):
        with pytest.raises(TypeMismatch, match=r"there is no such type of 32 bits, write f32"):
            widening(value, value)
    with pytest.raises(TypeMismatch, match="takes integers"):
        value & value


# -- reductions --------------------------------------------------------------------------------------------------------


SIZE = 5003


def data(seed: int) -> tuple[hl.Buffer, Array]:
    """Numbers of both signs, some of which are equal."""
    held = rounded(np.random.default_rng(seed).normal(size=SIZE).astype(np.float32) * 8)
    return hl.Buffer(words(held), type=BRAIN), held


def greatest(a: hl.Buffer) -> hl.Func:
    f, r = hl.Func("greatest"), hl.RDom([(0, SIZE)])
    f[()] = BRAIN.min()
    f[()] = hl.max(f[()], a[r.x])
    return f


def least_at(a: hl.Buffer) -> hl.Func:
    f, r = hl.Func("least_at"), hl.RDom([(0, SIZE)])
    f[()] = (0, BRAIN.max())
    closer = a[r.x] < f[()][1]
    f[()] = (hl.select(closer, r.x, f[()][0]), hl.min(a[r.x], f[()][1]))
    return f


def total(a: hl.Buffer) -> hl.Func:
    f, r = hl.Func("total"), hl.RDom([(0, SIZE)])
    f[()] = hl.f32(0)
    f[()] += hl.f32(a[r.x])
    return f


def by_hand(f: hl.Func) -> None:
    outer, inner, lane = hl.RVar("outer"), hl.RVar("inner"), hl.Var("lane")
    part = f.update().split(f.rvars(0)[0], outer, inner, 64).rfactor(inner, lane)
    part.compute_root().vectorize(lane, 64).update().reorder(lane, outer).vectorize(lane, 64)


@pytest.mark.parametrize("factored", [by_hand, lambda f: f.update().auto_rfactor()], ids=["by hand", "auto"])
def test_reductions_give_the_serial_values(factored: Any) -> None:
    a, held = data(1)
    f, g, h = greatest(a), least_at(a), total(a)
    for one in (f, g, h):
        factored(one)
    assert f.realize()[()] == held.max()
    at, value = g.realize()
    assert (at[()], value[()]) == (held.argmin(), held.min())
    np.testing.assert_allclose(h.realize()[()], held.sum(dtype=np.float64), rtol=1e-5)


@pytest.mark.parametrize("factored", [by_hand, lambda f: f.update().auto_rfactor()], ids=["by hand", "auto"])
def test_a_dot_product_whose_sums_are_held_exactly(factored: Any) -> None:
    """Whole numbers up to 256, in any order."""
    random = np.random.default_rng(2)
    left, right = (random.integers(-1, 2, SIZE) * (random.random(SIZE) < 0.1) for _ in range(2))
    a, b = (hl.Buffer(words(one.astype(np.float32)), type=BRAIN) for one in (left, right))
    f, r = hl.Func("dot"), hl.RDom([(0, SIZE)])
    f[()] = hl.cast(BRAIN, 3)
    f[()] += a[r.x] * b[r.x]
    serial = f.realize()[()]
    factored(f)
    assert f.realize()[()] == serial == 3 + (left * right).sum()


def test_a_sum_in_brain_floats_is_rounded_at_each_step() -> None:
    f = hl.Func("f")
    f[()] = hl.cast(BRAIN, 256)
    f[()] += hl.cast(BRAIN, 1)
    f[()] += hl.cast(BRAIN, 3)
    assert f.realize()[()] == 260.0
    agrees(f, expected(f, []), [])


def test_nan_spreads_through_extrema_and_zeros_are_told_apart() -> None:
    for sign in (0, 0x8000):
        bits = np.full(SIZE, 0x3F80, np.uint16)
        bits[4000] = 0x7FC1 | sign
        f = greatest(hl.Buffer(bits, type=BRAIN))
        by_hand(f)
        assert np.isnan(f.realize()[()])
    bits = np.full(SIZE, 0x8000, np.uint16)
    bits[123] = 0
    f = greatest(hl.Buffer(bits, type=BRAIN))
    by_hand(f)
    assert not np.signbit(f.realize()[()])


@pytest.mark.skipif(not host().triple.startswith("x86_64") or host().vector_bits < 256, reason="what x86 makes of it")
@pytest.mark.parametrize("make", [greatest, least_at, total])
def test_reductions_are_in_vectors_that_are_converted_by_shifts(make: Any, tmp_path: Path) -> None:
    """The loop over the data takes no lane out and stores nothing: what it accumulates stays in registers, as f32."""
    a, _ = data(3)
    f = make(a)
    by_hand(f)
    f.compile_to_assembly(str(tmp_path / "f.s"), [], "f")
    loops = _loops((tmp_path / "f.s").read_text())
    hot = [loop for loop in loops if "vpmovzxwd" in loop and "vpslld" in loop]
    assert hot
    for loop in hot:
        assert not re.search(r"vpinsrw|vpextrw|vpmovdw|vpackus|\bcall", loop)


def _loops(text: str) -> list[str]:
    """From each label to a jump back to it, those without an inner one."""
    lines = text.splitlines()
    labels = {line.split(":")[0]: i for i, line in enumerate(lines) if re.match(r"\.\w+:", line)}
    jumps = [(i, found[1]) for i, line in enumerate(lines) if (found := re.match(r"\s+j\w+\s+(\.\w+)", line))]
    loops = [(labels[to], i) for i, to in jumps if labels.get(to, len(lines)) < i]
    innermost = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    return ["\n".join(lines[start:end]) for start, end in innermost]


def test_values_of_words_are_those_that_the_language_has() -> None:
    f = hl.Func("f")
    f[x] = hl.f32(hl.Buffer(WORDS, type=BRAIN)[x])
    found = np.asarray(f.realize([1 << 16]))
    assert np.array_equal(found, of_words(WORDS), equal_nan=True)
