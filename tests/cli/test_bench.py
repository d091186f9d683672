"""`rfactor bench` on small data: it checks its answers, reports all six reductions, and its table fits a terminal."""

from __future__ import annotations

import json
from dataclasses import fields, replace

import numpy as np
from click.testing import CliRunner

from rfactor.cli import bench as bench_module
from rfactor.cli.bench import WIDTH, Row, agree, bench, in_turn
from rfactor.cli.table1 import maximum, programs, reading


def run(*arguments):
    return CliRunner().invoke(bench, ["--trials", "1", *arguments], standalone_mode=False)


def test_six_reductions_agree_with_the_serial_loop_and_numpy():
    result = run("--size", "4100", "--json")
    assert result.exception is None
    assert result.return_value == 0
    said = json.loads(result.stdout)
    assert said["elements"] == 4100
    assert said["threads"] >= 1
    assert len(said["reductions"]) == 6
    for row in said["reductions"]:
        assert row["same"]
        assert set(row) == {field.name for field in fields(Row)}
        assert all(row[key] > 0 for key in ("compile_ms", "serial_ms", "factored_ms", "reading_ms"))
    assert [row["numpy_ms"] is not None for row in said["reductions"]] == [True, True, False, True, True, False]


def test_the_table_fits(monkeypatch):
    slow = Row("complex product, i32", 9999.9, 9999.9, 9999.99, 999.99, 999.99, 9999.99, True)
    monkeypatch.setattr(bench_module, "programs", lambda size: [slow])
    monkeypatch.setattr(bench_module, "measure", lambda program, trials: program)
    result = run()
    assert result.return_value == 0
    first, head, line = result.stdout.splitlines()
    assert first.startswith("16777216 elements, ")
    assert " ".join(head.split()) == "reduction serial factored speed-up reading x reading NumPy compile same"
    assert " ".join(line.split()) == "complex product, i32 9999.99 999.99 10.0x 999.99 1.00 9999.99 10000 yes"
    assert max(map(len, (head, line))) <= WIDTH


def test_a_wrong_answer_fails(monkeypatch):
    right = maximum(np.arange(300, dtype=np.int32))
    monkeypatch.setattr(bench_module, "programs", lambda size: [right, replace(right, numpy=lambda: (np.int32(7),))])
    result = run("--json")
    assert result.return_value == 1
    assert [row["same"] for row in json.loads(result.stdout)["reductions"]] == [True, False]
    assert "maximum, i32: the factored answer is not the serial one" in result.stderr


def test_any_size_has_its_programs():
    for size in (256, 257, 1000, 4095, 1 << 14):
        made = programs(size)
        assert [program.inputs[0].size for program in made[:3]] == [size] * 3
        assert all(0 < array.size <= size for program in made for array in program.inputs)


def test_reading_takes_arrays_of_any_length():
    reading(np.ones(13, np.uint8), np.ones((3, 5), np.float32))()


def test_floats_agree_within_rounding_and_integers_exactly():
    assert agree(np.float32([100]), np.float32([100.001]), 1000)
    assert not agree(np.float32([100]), np.float32([101]), 1000)
    assert not agree(np.int32([100000]), np.int32([100001]), 1000)


def test_what_is_timed_takes_turns():
    order = []
    least = in_turn([lambda: order.append("a"), lambda: order.append("b")], 2)
    assert order == ["a", "b"] * 3
    assert all(0 <= ms < 1000 for ms in least)
