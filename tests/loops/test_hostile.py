"""Programs that were written to break the fold: aliases, effects, iterators, NaN, types, names of some steps only.

Each block of `hostile.txt` has a function `f` and `args()`, its arguments made anew. A fold gives what the plain
function gives, arguments afterwards included, or is refused.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path

import pytest

import rfactor
from tests.loops.judge import difference

BLOCKS = re.findall(r"#== (.*)\n((?:(?!#==).*\n?)*)", (Path(__file__).parent / "hostile.txt").read_text())


def called(function, arguments):
    """The result and the arguments after a call, or the exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "gave", function(*arguments), [a for a in arguments if not callable(a)]
    except rfactor.FoldError:
        raise
    except Exception as error:
        return "raised", f"{type(error).__name__}: {error}", None


def test_there_are_programs():
    assert len(BLOCKS) > 60


@pytest.mark.parametrize(("title", "text"), BLOCKS, ids=[title for title, _ in BLOCKS])
def test_a_fold_gives_what_the_plain_function_gives_or_is_refused(title, text, tmp_path):
    path = tmp_path / f"hostile_{abs(hash(title))}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    plain = called(module.f, module.args())
    try:
        ours = called(rfactor.fold(module.f), module.args())
    except rfactor.FoldError:
        return
    assert plain[0] == ours[0]
    if plain[0] == "raised":
        assert plain[1] == ours[1]
        return
    assert not difference(plain[1], ours[1])
    if not any("object at" in repr(a) for a in plain[2]):
        assert not difference(plain[2], ours[2])


FACTOR, TABLE = 2, [1, 2]


def scaled(a):
    s = 0
    for v in a:
        if v > 0:
            for w in TABLE:
                s += w * FACTOR
    return s


def test_globals_that_change_between_calls_are_seen(monkeypatch):
    fold, data = rfactor.fold(scaled), [1] * 99 + [-1]
    assert fold(data) == 594
    for name, value in (("FACTOR", 3), ("TABLE", [1.0, 2.0]), ("TABLE", [True, 2]), ("FACTOR", -0.5)):
        monkeypatch.setitem(globals(), name, value)
        assert not difference(scaled(data), fold(data))


def counted(d, keys):
    for k in keys:
        d[k] = d.get(k, 0) + 1
    return d


@pytest.mark.parametrize("start", [{1: 2.5}, {1: True}, {1: 1}, {}])
def test_a_plan_for_one_sort_of_values_does_not_serve_another(start):
    fold, keys = rfactor.fold(counted), [k % 3 for k in range(99)]
    fold({1: 1}, keys)
    if start == {1: 2.5}:  # elements of two types
        with pytest.raises(rfactor.FoldError, match="of a float gives an integer"):
            fold(dict(start), keys)
        return
    assert not difference(counted(dict(start), keys), fold(dict(start), keys))


def test_places_outside_of_an_array_are_not_touched():
    def kept(a, n):
        h = [0] * n
        for k in a:
            if 0 <= k < n:
                h[k] += 1
        return h

    data = [(-1) ** k * 10**11 * k if k % 3 else k % 100 for k in range(3000)]
    assert rfactor.fold(kept)(data, 100) == kept(data, 100)


def test_sums_beyond_64_bits_are_exact_beside_what_only_the_data_bound():
    def kept(a, b):
        s = q = 0
        for v, w in zip(a, b):  # noqa: B905
            s += v
            q = max(q, w * w)
        return s, q

    data = [2**61] * 2000, list(range(10**6, 10**6 + 2000))
    assert rfactor.fold(kept)(*data) == kept(*data) == (2**61 * 2000, 1001999**2)
