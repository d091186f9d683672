"""`rfactor bench` on small data: it checks its answers, reports all tables, and its tables fit a terminal."""

from __future__ import annotations

import json
from dataclasses import replace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from rfactor.bench import compare as compare_module
from rfactor.bench import search as search_module
from rfactor.bench.compare import Comparison, Row, judged
from rfactor.bench.contender import Absent, Contender
from rfactor.bench.peers import PEERS, of_c, of_halide, of_numpy
from rfactor.bench.rounds import Time
from rfactor.bench.search import Search
from rfactor.bench.table1 import HARD, KEYS, Bar, case
from rfactor.cli import bench as bench_module
from rfactor.cli.bench import WIDTH, bench


def run(*arguments):
    return plainly("--trials", "1", *arguments)


def plainly(*arguments):
    return CliRunner().invoke(bench, [*arguments], standalone_mode=False)


def test_table_1_agrees_with_the_serial_loop_and_numpy(tmp_path):
    out = tmp_path / "bench.json"
    result = run("--size", "4100", "--json", "--table", "1", "--peers", "numpy", "--out", str(out))
    assert result.exception is None
    assert result.return_value == 0
    said = json.loads(result.stdout)
    assert said == json.loads(out.read_text())
    table = said["table1"]
    assert table["size"] == 4100
    assert table["threads"] >= 1
    assert table["runtime"]
    assert table["cpu"]
    assert table["versions"] == {"NumPy": f"NumPy {np.__version__}"}
    assert table["against_halide"] is None
    rows = table["reductions"]
    assert [row["key"] for row in rows] == [*KEYS, *HARD]
    for row in rows:
        assert set(row["answers"].values()) == {"same"}
        assert {"serial", "rfactor", "reading"} <= set(row["ms"])
        assert all(0 < ms["least"] <= ms["median"] for ms in row["ms"].values())
        assert row["bytes"] > 0
        assert 0 < row["compile_ms"] <= row["first_compile_ms"]
        assert row["holds"] is None if row["bar"].endswith("C") else row["holds"] in (True, False)
    assert [row["key"] for row in rows if "NumPy" not in row["ms"]] == ["complex", "sink"]


@pytest.mark.parametrize("name", ["halide", "c"])
def test_peers_give_the_serial_answer(name):
    check_peer(name, [*KEYS, *HARD])


def test_numba_gives_the_serial_answer():
    check_peer("numba", ["argmin"])


def check_peer(name, keys):
    try:
        PEERS[name].version()
        if name == "c":
            of_c.library()
    except Absent as absent:
        pytest.skip(str(absent))
    for key in keys:
        made = case(key, 5000)
        serial, _ = made.program().algorithm()
        right = made.program().outputs()
        serial.realize(right)
        contenders = PEERS[name].contenders(made)
        assert [one.name for one in contenders] == list(PEERS[name].NAMES)
        for contender in contenders:
            contender.run()
            assert judged(contender, right, made) in ("same", *(("another tie",) if contender.any_tie else ())), key


def test_a_wrong_answer_of_a_peer_fails(monkeypatch):
    wrong = Contender("NumPy", lambda: None, lambda: (np.int32(7),))
    monkeypatch.setattr(of_numpy, "contenders", lambda made: [wrong])
    result = run("--json", "--size", "300", "--table", "1", "--only", "maximum", "--peers", "numpy")
    assert result.return_value == 1
    assert json.loads(result.stdout)["table1"]["reductions"][0]["answers"] == {"rfactor": "same", "NumPy": "wrong"}
    assert "maximum, i32: NumPy: not the serial answer" in result.stderr


def test_another_tie_has_the_least_value_and_lies_inside():
    made = case("argmin-equal", 256)
    right = tuple(np.asarray(n, np.int32) for n in (7, 0, 0, 0, 0))

    def said(*answer, any_tie=True):
        numbers = tuple(np.asarray(n, np.int32) for n in answer)
        return judged(Contender("peer", lambda: None, lambda: numbers, any_tie), right, made)

    assert said(7, 0, 0, 0, 0) == "same"
    assert said(7, 3, 1, 2, 0) == "another tie"
    assert said(7, 3, 1, 2, 0, any_tie=False) == "wrong"
    assert said(7, 4, 0, 0, 0) == "wrong"
    assert said(7, -1, 0, 0, 0) == "wrong"
    assert said(6, 0, 0, 0, 0) == "wrong"
    assert said(7, 0, 0, 0) == "wrong"


def test_another_tie_of_the_kitchen_sink_differs_in_positions_alone():
    made = replace(case("sink", 256), arrays=(np.array([5, 1, 5, 1], np.int32),))
    right = tuple(np.asarray(n, np.int32) for n in (25, 12, 5, 0, 1, 1, 52, 0))

    def said(*answer):
        numbers = tuple(np.asarray(n, np.int32) for n in answer)
        return judged(Contender("peer", lambda: None, lambda: numbers, True), right, made)

    assert said(25, 12, 5, 2, 1, 3, 52, 0) == "another tie"
    assert said(25, 12, 5, 1, 1, 3, 52, 0) == "wrong"
    assert said(25, 12, 5, 2, 1, 4, 52, 0) == "wrong"
    assert said(25, 13, 5, 2, 1, 3, 52, 0) == "wrong"


def test_absent_peers_are_said_to_be_absent(monkeypatch):

    def absent():
        raise Absent("Halide is not installed: pip install 'rfactor-compiler[bench]'")

    monkeypatch.setattr(of_halide, "version", absent)
    result = run("--size", "300", "--table", "1", "--only", "maximum", "--peers", "halide")
    assert result.return_value == 0
    assert "absent: Halide is not installed: pip install 'rfactor-compiler[bench]'" in result.stdout
    said = json.loads(run("--size", "300", "--table", "1", "--only", "maximum", "--peers", "halide", "--json").stdout)[
        "table1"
    ]
    assert set(said["absent"]) == {"halide"}
    assert "Halide" not in said["reductions"][0]["ms"]


def test_a_compiler_without_openmp_is_absent(monkeypatch):
    monkeypatch.setattr(of_c, "FLAGS", ("--no-such-flag",))
    of_c.library.cache_clear()
    try:
        versions, absent = compare_module.present(["c"])
    finally:
        of_c.library.cache_clear()
    assert not versions
    assert "c" in absent


def test_the_tables_fit_and_show_the_bars(monkeypatch):
    names = bench_module.COLUMNS
    slow = Row(
        "complex", "4-D argmin, u8, least last", 1 << 27,
        {name: Time(500.0 if name == "rfactor" else 999.9, 9999.9) for name in names},
        {"rfactor": "same", "Halide": "another tie"}, Bar(1.15, "reading"), True, 1.0, 2.0,
    )  # fmt: skip
    missed = replace(slow, bar=Bar(1.0, "OpenMP C"), holds=False)
    comparison = Comparison(1 << 24, 3, 2, "POSIX threads", "a processor", {"Numba": "Numba 1"}, {}, (slow, missed))
    monkeypatch.setattr(bench_module, "compare", lambda *given, **named: comparison)
    result = run("--table", "1")
    assert result.return_value == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("16777216 elements, 2 threads on POSIX threads, a processor")
    tables = [line for line in lines if line.startswith(("reduction", "4-D"))]
    assert len(tables) == 6
    assert max(map(len, tables)) <= WIDTH
    assert [line.split()[-1] for line in tables[4:]] == ["yes", "no"]
    assert "takes 2.00x as long, geometric mean of 2 of the six" in result.stdout
    assert "and 2.00x under ours (Halide alike); by median times 1.00x" in result.stdout
    assert "Halide names another of equal elements in: 4-D argmin, u8, least last" in result.stdout


def test_table_2_counts_fewer_lines_than_by_hand():
    said = json.loads(plainly("--table", "2", "--json").stdout)["table2"]
    assert [row["key"] for row in said] == list(KEYS)
    assert all(row["rfactor"] < row["by_hand"] for row in said)
    counted = {row["key"]: (row["by_hand"], row["rfactor"]) for row in said}
    assert counted["maximum"] == (12, 11)


def test_table_3_says_how_long_the_search_takes_and_what_was_refused(monkeypatch):
    found = (Search("dot", "dot product, f32", 3.0, 0.5, 40.0, 50.0), Search("x*x + a", "x*x + a", 30.0, 0.2, None))
    monkeypatch.setattr(search_module, "search", lambda: found)
    lines = plainly("--table", "3").stdout.splitlines()
    assert lines[1].split() == ["dot", "product,", "f32", "3.0", "0.50", "40", "50", "0.12", "131"]
    assert lines[2].split() == ["refused:", "x*x", "+", "a", "30.0", "0.20", "-", "-", "1.20", "-"]
    assert json.loads(plainly("--table", "3", "--json").stdout)["table3"][1]["compile"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--peers", "halide,cobol"], "'cobol' is none of"),
        (["--only", "maximum,median"], "'median' is none of"),
        (["--out", "/no/such/folder/a.json"], "there is no folder"),
        (["--chart", "a.txt"], ".svg or .png"),
        (["--table", "4"], "is not one of"),
    ],
)
def test_bad_usage_is_said_before_anything_runs(monkeypatch, arguments, message):
    monkeypatch.setattr(bench_module, "compare", lambda *given, **named: pytest.fail("it ran"))
    result = run(*arguments)
    assert isinstance(result.exception, click.UsageError)
    assert message in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scaling", "--table", "2"], "leave out --table, or --scaling"),
        (["--scaling", "--table", "all"], "leave out --table, or --scaling"),
        (["--scaling", "--auto"], "leave out --auto"),
        (["--scaling", "--only", f"maximum,{HARD[0]}"], f"{HARD[0]}: of --table 1 alone"),
        (["--only", "none"], "leaves nothing to run: name some of maximum"),
        (["--table", "2", "--size", "300"], "--table 2 takes no --size: leave that out, or ask for --table 1 or all"),
        (["--table", "3", "--auto", "--only", "dot"], "takes no --only, --auto"),
        (["--table", "2", "--chart", "a.svg"], "takes no --chart"),
        (["--table", "1", "--out", "a.svg", "--chart", "a.svg"], "name two files"),
    ],
)
def test_options_that_contradict_each_other_are_refused(monkeypatch, arguments, message):
    for name in ("compare", "_scaling", "_tables"):
        monkeypatch.setattr(bench_module, name, lambda *given, **named: pytest.fail("it ran"))
    result = plainly(*arguments)
    assert isinstance(result.exception, click.UsageError)
    assert message in str(result.exception)


@pytest.mark.parametrize("arguments", [["--scaling", "--only", "dot"], ["--table", "1", "--auto"], ["--size", "300"]])
def test_options_that_go_together_run(monkeypatch, arguments):
    ran = []
    for name in ("_scaling", "_tables"):
        monkeypatch.setattr(bench_module, name, lambda *given: ran.append(given) or ({}, [], None))
    assert plainly(*arguments).return_value == 0
    assert len(ran) == 1
