"""Test the cache on disk: object code and claims, which damaged or foreign files never change."""

import json

import numpy as np
import pytest

from rfactor import disk_cache
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import I64
from rfactor.loops import kept_answers
from rfactor.loops.fold import fold_with
from rfactor.loops.update import abstracted
from rfactor.matcher.invariants.recognize_from import recognize_from
from rfactor.matcher.recognize import forget
from rfactor.native import kept_code
from rfactor.native.engine import host
from rfactor.prover.limits import Limits

IR = "define i64 @f(i64 %x) {\n  %y = add i64 %x, 1\n  ret i64 %y\n}\n"


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    """Keep everything in a folder of the test."""
    monkeypatch.setenv("RFACTOR_CACHE", "1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "rfactor" / "loops"


def files(folder, kind):
    """List the files of a kind."""
    return [p for p in (folder / kind).glob("*") if not p.name.startswith(".")] if folder.exists() else []


def test_a_value_is_read_back_under_its_key_alone():
    key, other = disk_cache.key_of("a", "b"), disk_cache.key_of("ab", "")
    assert key != other
    disk_cache.write("code", key, b"value")
    assert disk_cache.read("code", key) == b"value"
    assert disk_cache.read("code", other) is None
    assert disk_cache.read("answers", key) is None


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:20], lambda b: b"", lambda b: b[:-1] + b"?"])
def test_damaged_files_are_taken_for_none_and_written_again(own_folder, damage):
    key = disk_cache.key_of("k")
    disk_cache.write("code", key, b"value")
    (path,) = files(own_folder, "code")
    path.write_bytes(damage(path.read_bytes()))
    assert disk_cache.read("code", key) is None
    disk_cache.write("code", key, b"value")
    assert disk_cache.read("code", key) == b"value"


def test_a_file_under_another_key_is_not_believed(own_folder):
    one, two = disk_cache.key_of("one"), disk_cache.key_of("two")
    disk_cache.write("code", one, b"value")
    (own_folder / "code" / one).rename(own_folder / "code" / two)
    assert disk_cache.read("code", two) is None


@pytest.mark.parametrize(
    ("cache", "ci", "on"), [("0", "", False), ("", "true", False), ("1", "true", True), ("", "", True)]
)
def test_the_environment_turns_it_off(monkeypatch, own_folder, cache, ci, on):
    monkeypatch.setenv("RFACTOR_CACHE", cache)
    monkeypatch.setenv("CI", ci)
    disk_cache.write("code", disk_cache.key_of("k"), b"value")
    assert disk_cache.enabled() == on
    assert bool(files(own_folder, "code")) == on


def test_nothing_is_kept_where_the_folder_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    disk_cache.write("code", disk_cache.key_of("k"), b"value")
    assert disk_cache.read("code", disk_cache.key_of("k")) is None


@pytest.mark.skipif(not host().near, reason="code in memory is not linked here")
def test_object_code_is_linked_and_made_anew_where_it_is_none(own_folder, monkeypatch):
    import ctypes

    def call(code):
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.addresses["f"])(41)

    assert call(kept_code.compile_kept(IR, ["f"])) == 42
    assert len(files(own_folder, "code")) == 1
    made = []
    compiled = kept_code.object_of
    monkeypatch.setattr(kept_code, "object_of", lambda *a: made.append(a) or compiled(*a))
    assert call(kept_code.compile_kept(IR, ["f"])) == 42
    assert not made
    key = files(own_folder, "code")[0].name
    disk_cache.write("code", key, b"no object code")
    assert call(kept_code.compile_kept(IR, ["f"])) == 42
    assert made


def found(text="max(x0 + d0, 0), max(x1, max(x0 + d0, 0))"):
    """Search for the answer about an update; give the question with it."""
    update = parse_update(text, types={"x0": I64, "x1": I64, "d0": I64}).components
    start = (None,) * len(update)
    form = abstracted(update, Meaning.MATH)
    forget()
    return update, start, form, recognize_from(form.update, start, Limits(seconds=10))[0]


def test_an_answer_is_proved_again_and_the_same(own_folder):
    update, start, form, answer = found()
    assert answer.verdict in ("associative", "lifted")
    kept_answers.keep(update, start, "reassociate", form, True, answer, 1.0)
    again = kept_answers.recalled(update, start, "reassociate", Limits(seconds=5))
    assert again is not None
    assert kept_answers._said(again[1]) == kept_answers._said(answer)
    assert {p.claim for p in again[1].proofs} >= {"step"}
    assert kept_answers.recalled(update, start, "serial", Limits(seconds=5)) is None


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(operator=["x0 + y0", "x1 + y1"], lift=None, data=["d0", "d0"], identity=["0", "0"]),
        lambda r: r.update(update=["x0 + d0", "x1 + d0"]),
        lambda r: r.update(meaning="none"),
        lambda r: r.clear(),
        lambda r: r.update(operator=["x0 +", "nonsense("], lift={"types": ["i1000"]}),
    ],
)
def test_a_wrong_claim_is_no_answer(change):
    update, start, form, answer = found()
    kept_answers.keep(update, start, "reassociate", form, True, answer, 1.0)
    key = kept_answers._key(update, start, "reassociate")
    record = json.loads(disk_cache.read("answers", key))
    change(record)
    disk_cache.write("answers", key, json.dumps(record).encode())
    assert kept_answers.recalled(update, start, "reassociate", Limits(seconds=5)) is None


def test_a_function_is_the_same_with_what_was_kept(own_folder):
    from rfactor.loops.fold import Options

    def stretch(gains):
        cur = best = start = lo = hi = 0
        for i, v in enumerate(gains):
            cur += v
            if cur <= 0:
                cur, start = 0, i + 1
            elif cur > best:
                best, lo, hi = cur, start, i + 1
        return best, lo, hi

    a = np.random.default_rng(0).integers(-9, 9, 70_000)
    plain = stretch(a)
    for _ in range(2):
        forget()
        one = fold_with(stretch, Options())
        assert one(a) == plain
        assert len(files(own_folder, "answers")) == 1
    for path in [*files(own_folder, "answers"), *files(own_folder, "code")]:
        path.write_bytes(path.read_bytes()[:60])
    forget()
    assert fold_with(stretch, Options())(a) == plain
