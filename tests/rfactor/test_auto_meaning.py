"""`auto_rfactor(semantics="math")`: schedules of updates that have an operator where nothing overflows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.auto.apply import auto_rfactor
from rfactor.compiler.auto.machine import Machine
from rfactor.errors import FactorError, TypeMismatch
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.meaning import Meaning

EAGER = Machine(3, 256, threads_ns=60, chunk_ns=15, function_ns=0)
"""On which everything pays soon, so that small arrays have chunks and lanes."""
SIZES = (1, 2, 97, 5000)


def max_plus(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = hl.cast(t, 5)
    f[()] = hl.max(f[()] + a, hl.cast(t, 2))


def largest_prefix(f: Any, r: Any, a: Any, t: Any) -> None:
    f[()] = (hl.cast(t, 0), hl.cast(t, 0))
    f[()] = (f[()][0] + a, hl.max(f[()][1], f[()][0] + a))


def made(update: Callable[..., None], type_: Any, extent: int | None = None) -> tuple[hl.Func, hl.ImageParam]:
    image = hl.ImageParam(type_, 1, "image")
    f, r = hl.Func("f"), hl.RDom([(0, image.width() if extent is None else extent)], "r")
    update(f, r, image[r.x], type_)
    return f, image


def answer(one: tuple[hl.Func, hl.ImageParam], data: Any) -> list[Any]:
    f, image = one
    image.set(data)
    arrays = tuple(np.zeros((), dtype_of(t.ir)) for t in f.types())
    f.realize(arrays if len(arrays) > 1 else arrays[0])
    return [array[()] for array in arrays]


@pytest.mark.parametrize("update", [max_plus, largest_prefix], ids=lambda update: update.__name__)
@pytest.mark.parametrize("type_", [hl.Int(32), hl.Int(64)], ids=str)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("known", [True, False], ids=["sizes known", "sizes given later"])
def test_the_serial_bits_where_nothing_overflows(update, type_, size, known):
    scheduled = made(update, type_, size if known else None)
    chosen = auto_rfactor(scheduled[0], 0, EAGER, semantics=Meaning.MATH)
    data = np.random.default_rng(size).integers(-1000, 1000, size, dtype_of(type_.ir))
    assert chosen.factored or (known and size < SIZES[-1])
    assert answer(scheduled, data) == answer(made(update, type_), data)


@pytest.mark.parametrize("update", [max_plus, largest_prefix], ids=lambda update: update.__name__)
def test_without_the_promise_it_is_refused(update):
    with pytest.raises(FactorError, match="nothing overflows"):
        made(update, hl.Int(32))[0].update(0).auto_rfactor()
    with pytest.raises(FactorError, match="nothing overflows"):
        made(update, hl.Int(32))[0].auto_rfactor(semantics="wrap")


@pytest.mark.parametrize("update", [max_plus, largest_prefix], ids=lambda update: update.__name__)
def test_the_text_says_what_was_promised_and_gives_the_same_schedule(update):
    f, _ = made(update, hl.Int(32), 5000)
    chosen = auto_rfactor(f, 0, EAGER, semantics=Meaning.MATH)
    assert str(chosen).count('semantics="math")') == str(chosen).count(".rfactor(") > 0
    pasted = made(update, hl.Int(32), 5000)
    exec(str(chosen), {chosen.function: pasted[0]})
    data = np.random.default_rng(1).integers(-9, 9, 5000, np.int32)
    assert answer(pasted, data) == answer(made(update, hl.Int(32)), data)


def test_what_the_machine_has_an_operator_for_promises_nothing():
    image = hl.ImageParam(hl.Int(32), 1, "image")
    f, r = hl.Func("f"), hl.RDom([(0, 5000)], "r")
    f[()] = hl.i32(0)
    f[()] += image[r.x]
    text = str(auto_rfactor(f, 0, EAGER, semantics=Meaning.MATH))
    assert ".rfactor(" in text
    assert "semantics" not in text


def test_the_directive_is_there_for_stages_and_for_functions():
    for give in (lambda f: f.update(0).auto_rfactor(semantics="math"), lambda f: f.auto_rfactor(semantics="math")):
        f, _ = made(max_plus, hl.Int(32))
        give(f)
    with pytest.raises(TypeMismatch, match="exact"):
        made(max_plus, hl.Int(32))[0].update(0).auto_rfactor(semantics="exact")
