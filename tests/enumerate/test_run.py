"""Runs: the same rows whatever the workers and however often killed; refusals; the command."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rfactor.cli.generate import generate as command
from rfactor.cli.table import table as table_command
from rfactor.enumerate.backend import Serial, Workers, backend
from rfactor.enumerate.exhaust import exhausted
from rfactor.enumerate.run import Parameters, generate
from rfactor.enumerate.verify import verify
from rfactor.errors import Error, TableError
from rfactor.ir.types import BOOL, U8
from rfactor.table.export import difference, exported, statistics
from rfactor.table.row import Row
from rfactor.table.schema import OPERATORS
from rfactor.table.store import open_table

SMALL = Parameters(("u8", "i8"), (3, 4), (1, 2), ("wrap",), 0)


class Interrupted(Serial):
    """Stops after some tasks, as a kill would."""

    def __init__(self, tasks: int) -> None:
        self.left = tasks

    def run(self, function, tasks):
        for found in super().run(function, tasks):
            if self.left == 0:
                raise KeyboardInterrupt
            self.left -= 1
            yield found


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "small.db"
    generate(path, SMALL, Serial())
    return path


def lines(path: Path) -> list[str]:
    return [json.dumps(row) for row in exported(open_table(path))]


def test_two_workers_make_the_rows_of_one(small: Path, tmp_path: Path):
    other = tmp_path / "two.db"
    workers = Workers(2)
    try:
        generate(other, SMALL, workers)
    finally:
        workers.close()
    assert lines(other) == lines(small)
    assert open_table(other).meta["digest"] == open_table(small).meta["digest"]


@pytest.mark.parametrize("tasks", [0, 3, 9])
def test_a_run_that_was_killed_goes_on_to_the_same_rows(small: Path, tmp_path: Path, tasks: int):
    path = tmp_path / "killed.db"
    with pytest.raises(KeyboardInterrupt):
        generate(path, SMALL, Interrupted(tasks))
    with pytest.raises(TableError, match="not finished"):
        open_table(path)
    generate(path, SMALL, Serial(), resume=True)
    assert lines(path) == lines(small)


def test_other_parameters_are_no_resumption(tmp_path: Path):
    path = tmp_path / "t.db"
    with pytest.raises(KeyboardInterrupt):
        generate(path, SMALL, Interrupted(1))
    with pytest.raises(TableError, match="other parameters"):
        generate(path, Parameters(("u8",), (3, 4), (1, 2), ("wrap",), 0), Serial(), resume=True)
    with pytest.raises(TableError, match="exists"):
        generate(path, SMALL, Serial())


def test_there_is_one_writer(tmp_path: Path):
    path = tmp_path / "t.db"
    with pytest.raises(KeyboardInterrupt):
        generate(path, SMALL, Interrupted(1))
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TableError, match="another run"):
        generate(path, SMALL, Serial(), resume=True)
    holder.close()


def test_every_claim_of_a_fresh_table_is_proved_again(small: Path):
    checks = list(verify(open_table(small)))
    assert len(checks) > 100
    assert {check.result for check in checks} == {"proved"}


def test_exhaustion_agrees_with_the_proofs(small: Path):
    table = open_table(small)
    few = [values[0] for values in table.stored() if "k" not in values[5] and values[2] == 1][:8]
    with_k = [values[0] for values in table.stored() if "k" in values[5]][:2]
    checks = list(verify(table, exhaustive=True, rows=[*few, *with_k]))
    assert {check.detail for check in checks if check.row} == {"exhaustive"}
    assert {check.row for check in checks} == {0, *few, *with_k}
    laws = {"associative", "left_identity", "right_identity", "commutative", "not_commutative"}
    assert laws <= {check.claim for check in checks}
    assert {check.result for check in checks} == {"proved"}


def test_pairs_of_truth_values_are_exhausted_too():
    table = open_table()
    shelf = next(s for s in table.subtables() if s["types"] == "bool,bool")
    rows = table.subtable((BOOL, BOOL), shelf["root"], leaves=shelf["leaves"])
    for row in rows[:20]:
        assert set(exhausted(row).values()) == {None}
        changed = Row(["not x0, y1" if name == "operator" else row.column(name) for name in OPERATORS], row.types)
        assert set(exhausted(changed).values()) != {None}


@pytest.mark.parametrize(
    ("change", "law"),
    [
        ({"operator": "x0 - y0"}, "associative"),
        ({"identity": "7"}, "left_identity"),
        ({"commutative": 0}, "not_commutative"),
        ({"operator": "x0", "identity_kind": "none", "identity": None}, "commutative"),
        ({"operator": "max(x0 - k, 0) + max(y0 - k, 0)"}, "left_identity"),
    ],
)
def test_exhaustion_refutes_what_a_row_says_falsely(small: Path, change: dict[str, Any], law: str):
    row = next(row for row in open_table(small).rows((U8,)) if row.column("operator") == "x0 + y0")
    assert set(exhausted(row).values()) == {None}
    changed = Row([change.get(name, row.column(name)) for name in OPERATORS], (U8,))
    assert exhausted(changed)[law] is not None


def test_rows_are_simplest_first_and_counted(small: Path):
    found = statistics(open_table(small))
    assert found["rows"] + found["mirrors"] > 40
    assert found["meta"]["counts"]["signed"]["refuted by a proof"] == 0
    assert found["meta"]["counts"]["signed"]["candidates"] > found["meta"]["counts"]["signed"]["associative on samples"]


def test_a_table_does_not_differ_from_itself(small: Path):
    found = difference(open_table(small), open_table(small))
    assert found == {"only_first": [], "only_second": [], "laws_differ": []}


def test_unknown_backends_say_what_is_missing():
    with pytest.raises(Error, match="--scheduler"):
        backend("dask", 1, None)


def test_commands(small: Path, tmp_path: Path):
    run = CliRunner()
    made = run.invoke(
        command,
        [
            "--types",
            "i8",
            "--components",
            "1",
            "--max-leaves",
            "2",
            "--semantics",
            "wrap",
            "--jobs",
            "1",
            "--out",
            str(tmp_path / "x.db"),
            "--json",
        ],
    )
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout.splitlines()[-1])["complete"] is True
    assert run.invoke(command, ["--types", "i9", "--out", "x"]).exit_code == 2
    assert run.invoke(command, ["--types", "i8", "--max-leaves", "9", "--out", "x"]).exit_code == 2
    stats = run.invoke(table_command, ["stats", str(small), "--json"])
    assert json.loads(stats.stdout)["rows"] == statistics(open_table(small))["rows"]
    shown = run.invoke(table_command, ["show", "3", str(small)])
    assert "associative" in shown.stdout
    export = run.invoke(table_command, ["export", str(small)])
    assert set(json.loads(export.stdout.splitlines()[0])) == {
        "types", "operator", "identity", "identity_kind", "commutative", "semantics", "leaves", "root", "class",
    }  # fmt: skip
    differing = run.invoke(table_command, ["diff", str(small), str(tmp_path / "x.db")], standalone_mode=False)
    assert differing.return_value == 1


def square_or_die(task: tuple[int, str]) -> int:
    """Kills its process the first time it meets the file that is not there yet."""
    number, marker = task
    if number == 3 and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def always_die(_: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_work_of_a_lost_worker_is_run_again(tmp_path: Path):
    workers = Workers(2)
    try:
        tasks = [(number, str(tmp_path / "died")) for number in range(8)]
        assert sorted(workers.run(square_or_die, tasks)) == [(n, n * n) for n in range(8)]
        assert (tmp_path / "died").exists()
    finally:
        workers.close()


def test_workers_that_die_again_and_again_end_the_run_with_a_reason():
    workers = Workers(1)
    try:
        with pytest.raises(Error, match="--resume"):
            list(workers.run(always_die, [1]))
    finally:
        workers.close()


def test_workers_end_with_the_process_that_writes(tmp_path: Path):
    """Also where it is killed and can tell nobody."""
    code = (
        "import os, sys, time\n"
        "from rfactor.enumerate.backend import Workers\n"
        "def pid(_):\n"
        "    return os.getpid()\n"
        "workers = Workers(1)\n"
        "[(_, worker)] = workers.run(pid, [0])\n"
        "print(worker, flush=True)\n"
        "time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{worker}/status").exists() and "zombie" not in Path(f"/proc/{worker}/status").read_text():
        assert time.monotonic() < deadline, "the worker is still there"
        time.sleep(0.05)
