"""States that merge and streams of chunks give what the plain function gives on all elements."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import rfactor
from rfactor.loops import samples, states
from tests.loops.cases import own_cases
from tests.loops.folds import (
    best_stretch,
    changes,
    climbs,
    counts,
    first_above,
    mean,
    running,
    smallest,
    top,
    total,
    weighted,
)
from tests.loops.judge import Within, difference
from tests.loops.parts import judged, merged, streamed

NUMBERS = np.random.default_rng(7).integers(-500, 501, 3000)
CUTS = [(1500,), (1, 2, 3, 200), (0, 0, 2999), (700, 701, 2000)]
SUMMARIZED = [(total, ()), (best_stretch, ()), (top, ()), (climbs, ()), (smallest, ()), (first_above, (480,))]


@pytest.fixture
def few(monkeypatch):
    """Summarize runs of few elements too."""
    monkeypatch.setattr(states, "FEW", 1)
    monkeypatch.setattr(samples, "FEW", 1)


@pytest.mark.parametrize(("fold", "others"), SUMMARIZED, ids=lambda one: getattr(one, "__name__", ""))
@pytest.mark.parametrize("cuts", CUTS)
def test_merged_states_and_streams_give_the_plain_result(few, fold, others, cuts):
    arguments = (NUMBERS, *others)
    plain = fold.python(*arguments)
    for found in (merged(fold, arguments, cuts), merged(fold, arguments, cuts, True), streamed(fold, arguments, cuts)):
        assert difference(plain, found) is None


@pytest.mark.parametrize("n", [0, 1, 2, 3])
@pytest.mark.parametrize(("fold", "others"), SUMMARIZED, ids=lambda one: getattr(one, "__name__", ""))
def test_few_elements_are_those_of_the_plain_function(fold, others, n):
    arguments = (NUMBERS[:n], *others)
    if fold is top and not n:
        with pytest.raises(IndexError):
            merged(fold, arguments, (0,))
        return
    assert difference(fold.python(*arguments), merged(fold, arguments, (n // 2,))) is None


def test_merging_is_associative_and_keeps_the_states_that_are_merged(few):
    a, b, c = (best_stretch.partial(NUMBERS[k : k + 1000]) for k in (0, 1000, 2000))
    plain = best_stretch.python(NUMBERS)
    assert ((a + b) + c).result() == (a + (b + c)).result() == states.State.merge([a, b, c]).result() == plain
    assert a.result() == best_stretch.python(NUMBERS[:1000])


def test_an_empty_chunk_is_neutral(few):
    state = best_stretch.partial(NUMBERS[:0]) + best_stretch.partial(NUMBERS) + best_stretch.partial(NUMBERS[:0])
    assert state.result() == best_stretch.python(NUMBERS)


def test_states_are_kept_as_text_and_pickled_with_all_bits(few):
    numbers = np.random.default_rng(1).normal(size=5000)
    state = mean.partial(numbers[:3000])
    again = mean.state_from_json(state.to_json())
    last = pickle.loads(pickle.dumps(mean.partial(numbers[3000:])))
    assert difference((state + mean.partial(numbers[3000:])).result(), (again + last).result()) is None
    assert len(state.to_json()) < 2000


def test_a_state_of_another_function_or_of_other_arguments_is_refused():
    text = weighted.partial(NUMBERS, NUMBERS, 2).to_json()
    assert weighted.state_from_json(text, k=2).count == 3000
    for fold, others in ((weighted, {"k": 3}), (mean, {})):
        with pytest.raises(rfactor.FoldError, match="digest"):
            fold.state_from_json(text, **others)
    with pytest.raises(rfactor.FoldError, match="differ"):
        weighted.partial(NUMBERS, NUMBERS, 2) + weighted.partial(NUMBERS, NUMBERS, 3)


def test_states_known_not_to_be_neighbours_are_refused():
    first, last = total.partial(NUMBERS[:10], at=0), total.partial(NUMBERS[11:], at=11)
    with pytest.raises(rfactor.FoldError, match="no neighbours"):
        first + last
    with pytest.raises(rfactor.FoldError, match="no neighbours"):
        total.partial(NUMBERS[10:], at=10) + first


def test_elements_of_another_type_are_refused():
    with pytest.raises(rfactor.FoldError, match="two types"):
        total.partial(NUMBERS[:10]) + total.partial(NUMBERS[10:].astype(float))
    with pytest.raises(rfactor.FoldError, match="comes in parts of int64"):
        total.stream([NUMBERS[:10], NUMBERS[10:].astype(float)])


@pytest.mark.parametrize("fold", [running, counts, changes])
def test_what_has_no_state_that_merges_is_streamed(fold):
    with pytest.raises(rfactor.FoldError) as refused:
        merged(fold, (NUMBERS,), (100,))
    assert refused.value.line
    assert "stream" in str(refused.value)
    assert difference(fold.python(NUMBERS), streamed(fold, (NUMBERS,), (100, 2000))) is None


@pytest.mark.parametrize("size", [1000, 65_536, 70_000, 199_999])
def test_streamed_floats_have_the_bits_of_the_call_whatever_the_chunks(size):
    numbers = np.random.default_rng(3).normal(size=200_001)
    assert mean.stream(numbers[k : k + size] for k in range(0, len(numbers), size)) == mean(numbers)


def test_a_stream_is_left_early_and_not_read_on():
    read = []

    def chunks():
        for k in range(0, 3000, 100):
            read.append(k)
            yield NUMBERS[k : k + 100]

    found = first_above.stream(chunks(), limit=480)
    assert found == first_above.python(NUMBERS, 480)
    assert read[-1] == found[0] // 100 * 100


def test_the_memory_of_a_chunk_may_be_used_again():
    def chunks():
        memory = np.empty(100)
        for k in range(0, 3000, 100):
            memory[:] = NUMBERS[k : k + 100]
            yield memory

    assert mean.stream(chunks()) == pytest.approx(mean(NUMBERS))
    assert climbs.stream(chunks()) == climbs(NUMBERS.astype(float))


def test_progress_is_told_how_many_elements_are_read():
    told = []
    total.stream([NUMBERS[:1000], NUMBERS[1000:]], progress=told.append)
    assert told == [1000, 3000]


@rfactor.fold
def uses_all(a):
    s = 0
    for v in a:
        s += v * len(a)
    return s


@rfactor.fold
def sorted_after(a):
    s = 0
    for v in a:
        s += v
    return s, sorted(a)


@rfactor.fold
def looks_around(a):
    n = 0
    for i in range(len(a)):
        if a[i] > a[i - 1]:
            n += 1
    return n


@pytest.mark.parametrize(("fold", "why"), [(uses_all, "whole in the loop"), (sorted_after, "after the loop")])
def test_an_argument_that_is_used_as_a_whole_is_refused_with_its_line(fold, why):
    with pytest.raises(rfactor.FoldError, match=why) as refused:
        fold.stream([NUMBERS])
    assert refused.value.line


def test_looking_back_beyond_the_first_element_is_refused():
    with pytest.raises(rfactor.FoldError, match="last elements"):
        looks_around.stream([NUMBERS])


def test_guards_on_the_length_are_answered_by_reading_no_more_than_they_need():
    @rfactor.fold
    def spread(a):
        n = len(a)
        if n < 3:
            return n
        low, high = a[0], a[0]
        for v in a:
            low, high = min(low, v), max(high, v)
        return high - low, n

    for n in (0, 2, 3, 3000):
        chunks = [NUMBERS[k : k + 2] for k in range(0, n, 2)]
        chunks = [c[: n - 2 * k] for k, c in enumerate(chunks)]
        assert spread.stream(chunks) == spread.python(NUMBERS[:n])


def test_scan_rolling_and_by_are_the_function_on_prefixes_windows_and_keys():
    numbers = NUMBERS[:200]
    keys = NUMBERS[200:400] % 7
    near = Within(1e-12, 1e-12)
    for fold in (total, best_stretch, top, climbs, mean):
        prefixes = [fold.python(numbers[:k]) for k in range(1, 201)]
        windows = [fold.python(numbers[k : k + 60]) for k in range(141)]
        grouped = {k: fold.python(numbers[keys == k]) for k in dict.fromkeys(keys)}
        assert difference(prefixes, fold.scan(numbers), near) is None
        assert difference(windows, fold.rolling(60)(numbers), near) is None
        assert difference(grouped, fold.by(keys)(numbers), near) is None
    with pytest.raises(rfactor.FoldError):
        counts.scan(numbers)


CASES = [c for c in own_cases() if c.expect == "fold"][::7]


@pytest.mark.parametrize("way", ["stream", "partial", "at"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_cases_of_the_corpus_in_parts_are_right_or_refused(few, case, way):
    try:
        fold = rfactor.fold(case.function)
        assert fold.streamed
    except rfactor.FoldError:
        return
    for n in (0, 3, 90, 500):
        verdict = judged(case, fold, way, n)
        assert verdict.status in ("right", "refused"), verdict.detail
        if verdict.status == "refused":
            break
