"""Full disks, files and folders that may not be written: one line, nothing half written, and runs that go on."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rfactor.cli.main import main
from rfactor.enumerate.backend import Serial
from rfactor.enumerate.run import Parameters, generate
from rfactor.enumerate.units import units
from rfactor.errors import Error, FileError, TableError
from rfactor.files import write_whole
from rfactor.table.merge import merge
from rfactor.table.store import open_table
from rfactor.table.write import Writer
from tests.faults.conftest import SMALL

_OUTPUTS = {
    "svg": ["check", "x + a", "--type", "u8", "--svg"],
    "emit-smt2": ["check", "x + a", "--type", "u8", "--emit-smt2"],
    "rows": ["table", "verify", "TABLE", "--row", "1", "--jobs", "1", "--emit-smt2"],
}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """What a full disk does to whoever writes: files grow to so many bytes."""
    old, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, ignored)


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a command, and what it said on stderr."""
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    return int(stopped.value.code or 0), capsys.readouterr().err


def rows(path: Path) -> list[object]:
    table = open_table(path)
    table.check_whole()
    return [values[:-1] for values in table.stored()]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.6, 0.95])
def test_a_run_meets_a_full_disk_and_goes_on_to_the_same_rows(small: Path, tmp_path: Path, share: float):
    path = tmp_path / "full.sqlite"
    with files_of_at_most(int(share * small.stat().st_size)), pytest.raises(TableError, match=r"disk.*--resume"):
        generate(path, SMALL, Serial())
    with pytest.raises(TableError):
        open_table(path)
    generate(path, SMALL, Serial(), resume=True)
    assert rows(path) == rows(small)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["full.sqlite"]


def test_a_table_that_has_no_room_to_shrink_is_as_good(small: Path, tmp_path: Path):
    path = tmp_path / "wide.sqlite"
    generate(path, SMALL, Serial())
    connection = sqlite3.connect(path, isolation_level=None)
    connection.executescript("CREATE TABLE filler (x); INSERT INTO filler VALUES (zeroblob(300000)); DROP TABLE filler")
    connection.close()
    wide = path.stat().st_size
    writer = Writer(path, SMALL.as_dict(), resume=True)
    with files_of_at_most(1000):
        writer.shrink()
    writer.close()
    assert rows(path) == rows(small)
    generate(path, SMALL, Serial(), resume=True)
    assert path.stat().st_size < wide - 250_000
    assert rows(path) == rows(small)


def test_a_file_of_a_run_that_had_not_begun_is_begun(small: Path, tmp_path: Path):
    for resume in (False, True):
        path = tmp_path / f"empty{resume}.sqlite"
        path.touch()
        writer = Writer(path, SMALL.as_dict(), resume=resume)
        assert not writer.is_complete
        writer.close()


@pytest.mark.parametrize("most", [10_000, 60_000])
def test_a_merge_that_fails_leaves_nothing(most: int, small: Path, tmp_path: Path):
    out = tmp_path / "merged.sqlite"
    with files_of_at_most(most), pytest.raises(TableError, match="disk"):
        merge(out, [open_table(small)])
    assert not out.exists() or out.stat().st_size == 0
    merge(out, [open_table(small)])
    assert len(rows(out)) == len(rows(small))


def test_of_two_writers_one_is_refused_and_readers_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "t.sqlite"
    first = Writer(path, SMALL.as_dict(), resume=False)
    first.finish_unit("a", b"1")
    with pytest.raises(TableError, match="being written by another run"):
        Writer(path, SMALL.as_dict(), resume=True)
    code, line = said(["table", "stats", str(path)], capsys)
    assert (code, len(line.splitlines())) == (2, 1)
    assert "--resume" in line
    first.finish_unit("b", b"2")
    first.close()
    second = Writer(path, SMALL.as_dict(), resume=True)
    assert second.done() == {"a": b"1", "b": b"2"}
    second.close()


def test_a_checkpoint_that_does_not_read_is_named(tmp_path: Path):
    path = tmp_path / "t.sqlite"
    parameters = Parameters(("u8",), (2, 2), (1,), ("wrap",))
    writer = Writer(path, parameters.as_dict(), resume=False)
    for unit in units([group.family for group in parameters.groups], (1,), (2, 2)):
        writer.finish_unit(unit.name, b"no zlib")
    writer.close()
    with pytest.raises(TableError, match="damaged: what the unit"):
        generate(path, parameters, Serial(), resume=True)


@pytest.mark.parametrize("kind", ["folder", "no folder", "foreign", "text", "read-only"])
def test_what_cannot_be_made_or_gone_on_with(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "out.sqlite"
    if kind == "folder":
        path.mkdir()
    elif kind == "no folder":
        path = tmp_path / "none" / "out.sqlite"
    elif kind == "foreign":
        sqlite3.connect(path).executescript("CREATE TABLE other (x)").close()
    elif kind == "text":
        path.write_text("no table\n" * 100)
    else:
        Writer(path, SMALL.as_dict(), resume=False).close()
        path = Path("/proc/version")  # nobody may write it, root neither
    before = path.read_bytes() if path.is_file() else None
    arguments = ["generate", "--types", "u8", "--max-leaves", "2", "--jobs", "1", "--out", str(path)]
    for resume in ([], ["--resume"]):
        code, line = said([*arguments, *resume], capsys)
        assert (code, len(line.splitlines())) == (2, 1), line
        assert path.name in line
    assert (path.read_bytes() if path.is_file() else None) == before


@pytest.mark.parametrize("name", _OUTPUTS)
def test_outputs_are_written_whole_or_not_at_all(
    name: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = [str(small) if word == "TABLE" else word for word in _OUTPUTS[name]]
    place = tmp_path / "out"
    with files_of_at_most(20):
        code, line = said([*command, str(place)], capsys)
    assert (code, len(line.strip().splitlines())) == (2, 1), line
    assert "cannot write" in line
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []
    for impossible in ("/dev/null/x", "/proc/none/x"):
        code, line = said([*command, impossible], capsys)
        assert (code, len(line.strip().splitlines())) == (2, 1), line
    assert said([*command, str(place)], capsys)[0] == 0
    assert place.exists()


def test_what_was_there_stays_until_all_is_written(tmp_path: Path):
    place = tmp_path / "out.txt"
    place.write_text("old")
    place.chmod(0o640)
    with files_of_at_most(10), pytest.raises(FileError, match="cannot write"):
        write_whole(place, "new" * 100)
    assert place.read_text() == "old"
    (tmp_path / "link").symlink_to(place)
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (place.read_text(), place.stat().st_mode & 0o777) == ("new", 0o640)
    write_whole("/dev/null", "gone")
    for bad in (tmp_path, tmp_path / "none" / "x", "\0"):
        with pytest.raises(Error, match="cannot write"):
            write_whole(bad, "x")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link", "out.txt"]


def test_a_table_in_a_folder_that_may_not_be_written_is_read(small: Path, tmp_path: Path):
    """Reading makes no file beside it: no journal, no lock."""
    path = Path(shutil.copy(small, tmp_path / "t.sqlite"))
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with files_of_at_most(0):
            assert rows(path) == rows(small)
        assert [file.name for file in tmp_path.iterdir()] == ["t.sqlite"]
    finally:
        tmp_path.chmod(0o755)


_STOPPED = """
import os, signal, sys, threading, time
from rfactor.cli import stops
from rfactor.enumerate.backend import Workers
def work(number):
    time.sleep(60 if number else 0)
    return os.getpid()
with stops.stopping("go on with --resume"):
    workers = Workers(2)
    try:
        for _, pid in workers.run(work, [0, 1, 2]):
            print(pid, flush=True)
    finally:
        workers.close()
"""


@pytest.mark.parametrize(("number", "group"), [(signal.SIGINT, True), (signal.SIGINT, False), (signal.SIGTERM, False)])
def test_a_signal_ends_the_workers_and_says_how_to_go_on(number: signal.Signals, group: bool):
    process = subprocess.Popen(
        [sys.executable, "-c", _STOPPED],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout is not None
    worker = int(process.stdout.readline())
    if group:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert err.splitlines() == [
        f"rfactor: {'interrupted' if number == signal.SIGINT else 'terminated'}; go on with --resume"
    ]
    assert not Path(f"/proc/{worker}").exists()


def test_threads_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    place, failed = tmp_path / "out", []

    def write(letter: str) -> None:
        for _ in range(10):
            try:
                write_whole(place, letter * 50_000)
            except Error as error:
                failed.append(str(error))

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert len(set(place.read_text())) == 1
