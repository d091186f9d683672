"""What `rfactor bench` stands on: programs of any size, rounds, programs by hand, curves, pictures, the search."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

from rfactor.bench import by_hand, search
from rfactor.bench.compare import Comparison, Row, compare, measure
from rfactor.bench.lines import lines
from rfactor.bench.program import agree
from rfactor.bench.rounds import Time, in_turn
from rfactor.bench.scaling import LANES, Curve, Scaling, scale
from rfactor.bench.table1 import HARD, KEYS, Bar, case, programs, reading


def test_any_size_has_its_programs():
    for size in (256, 257, 1000, 4095, 1 << 14):
        made = programs(size)
        assert [program.inputs[0].size for program in made[:3]] == [size] * 3
        assert all(0 < array.size <= size for program in made for array in program.inputs)


def test_the_complex_numbers_have_a_product_that_is_not_zero():
    real, imaginary = case("complex", 4096).arrays
    assert (real % 2 == 1).all()  # units modulo 2^32: a product of others soon ends in zeros alone
    assert (imaginary % 2 == 0).all()


def test_hard_data_do_not_let_argmin_pass_over_them():
    equal, late = (case(key, 4096).arrays[0] for key in HARD)
    assert equal.min() == equal.max()
    assert late.argmin() == late.size - 1


def test_reading_takes_arrays_of_any_length():
    reading(np.ones(13, np.uint8), np.ones((3, 5), np.float32))()


def test_floats_agree_within_rounding_and_integers_exactly():
    assert agree(np.float32([100]), np.float32([100.001]), 1000)
    assert not agree(np.float32([100]), np.float32([101]), 1000)
    assert not agree(np.int32([100000]), np.int32([100001]), 1000)


def test_what_is_timed_takes_turns():
    order = []
    times = in_turn([lambda: order.append("a"), lambda: order.append("b")], 9)
    rounds = ["".join(order[i : i + 2]) for i in range(0, len(order), 2)]
    assert len(rounds) == 10
    assert set(rounds) == {"ab", "ba"}
    assert all(0 <= time.least <= time.median < 1000 for time in times)


def test_short_calls_run_often_in_a_round():
    calls = []
    in_turn([lambda: calls.append(1)], 3, batch_ms=0.05)
    assert len(calls) > 10


def test_calls_that_compile_twice_run_often_in_a_round_too():
    calls = []

    def call():
        calls.append(1)
        if len(calls) < 3:
            time.sleep(0.01)

    in_turn([call], 3, batch_ms=0.05)
    assert len(calls) > 20


def test_what_auto_rfactor_chooses_is_timed_where_it_is_asked_for():
    row = measure(case("sink", 3000), 1, [], auto=True)
    assert set(row.times) == {"serial", "rfactor", "auto", "reading"}
    assert row.answers["auto"] == "same"


def test_a_row_has_every_contender_and_its_bar():
    row = measure(case("maximum", 3000), 1, ["numpy"])
    assert set(row.times) == {"serial", "rfactor", "NumPy", "reading"}
    assert row.ratio("Halide") is None
    assert row.holds == (row.times["rfactor"].least <= 1.15 * row.times["reading"].least)


def test_a_peer_of_no_name_is_an_error():
    with pytest.raises(KeyError):
        compare(256, 1, ["cobol"])


BY_HAND = {"histogram": (8, 4, 16), "argmin": (4, 4)}


@pytest.mark.parametrize("key", KEYS)
def test_programs_by_hand_give_the_serial_answer(key):
    made = case(key, 1 << 12)
    serial, _ = made.program().algorithm()
    right, answer = made.program().outputs(), made.program().outputs()
    serial.realize(right)
    getattr(by_hand, made.function)(*made.arrays, *BY_HAND.get(key, (1 << 10, 16))).realize(answer)
    assert all(agree(a, b, 1 << 12) for a, b in zip(right, answer, strict=True))


def test_lines_are_counted_without_heads_docstrings_and_returns():
    assert {one.key: one.factored for one in lines()}["maximum"] == 3 + 8


def test_a_curve_for_each_contender_and_number_of_threads(monkeypatch):
    monkeypatch.setenv("RFACTOR_NUM_THREADS", "2")
    scaled = scale(1024, 1, ["numpy"], ["maximum"])
    found = {(curve.name, curve.threads) for curve in scaled.curves}
    assert found == {
        ("rfactor", 1),
        ("NumPy", 1),
        ("auto", 1),
        ("serial", 2),
        ("auto", 2),
        (LANES, 2),
        ("rfactor", 2),
        ("NumPy", 2),
    }
    assert all(set(curve.points) == {256, 1024} for curve in scaled.curves)
    assert all(ms > 0 for curve in scaled.curves for ms in curve.points.values())
    said = json.loads(json.dumps(scaled.as_dict()))
    assert set(said) == {"curves", "crossover"}
    assert any("maximum" in line for line in scaled.lines())


def curves(parallel, alone):
    return Scaling(
        (
            Curve("maximum", "rfactor", 1, dict.fromkeys(parallel, 9.0)),
            Curve("maximum", "serial", 2, dict.fromkeys(alone, 9.0)),
            Curve("maximum", LANES, 2, alone),
            Curve("maximum", "rfactor", 2, parallel),
        )
    )


def test_threads_pay_from_where_they_stay_ahead():
    alone = {256: 1.0, 1024: 2.0, 4096: 4.0}
    assert curves({256: 0.5, 1024: 3.0, 4096: 3.0}, alone).crossover("maximum") == 4096
    assert curves({256: 0.5, 1024: 1.0, 4096: 3.0}, alone).crossover("maximum") == 256
    assert curves({256: 0.5, 1024: 1.0, 4096: 5.0}, alone).crossover("maximum") is None


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_pictures_are_drawn(tmp_path: Path, suffix: str):
    pytest.importorskip("matplotlib")
    from rfactor.bench import charts

    scaled = curves({256: 0.5, 1024: 1.0}, {256: 1.0, 1024: 2.0})
    charts.curves(scaled, tmp_path / f"curves.{suffix}")
    row = Row(
        "maximum", "maximum, i32", 9, {"rfactor": Time(1, 2), "reading": Time(1, 1)}, {}, Bar(1, "reading"), True, 1, 1
    )
    charts.bars(Comparison(300, 1, 2, "pool", "processor", {}, {}, (row,)), tmp_path / f"bars.{suffix}")
    magic = {"svg": b"<?xml", "png": b"\x89PNG"}[suffix]
    for name in ("curves", "bars"):
        made = (tmp_path / f"{name}.{suffix}").read_bytes()
        assert made.startswith(magic)
        assert suffix == "png" or b"maximum" in made


def test_what_has_no_operator_is_refused_and_timed(monkeypatch):
    monkeypatch.setattr(search, "KEYS", ("maximum",))
    few = {"(x + a) >> 1": search.refused()["(x + a) >> 1"]}
    monkeypatch.setattr(search, "refused", lambda: few)
    found = search._here()
    assert [one.key for one in found] == ["maximum", "(x + a) >> 1"]
    assert all(one.first > 0 and one.again > 0 for one in found)
    assert [one.compile is None for one in found] == [False, True]
    with pytest.raises(AssertionError, match="was factored"):
        search._factor(case("maximum", 256).program().algorithm, accepted=False)
