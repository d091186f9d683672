"""Test `explain`: what is said of each loop of a folded function."""

import numpy as np
import pytest

import rfactor as rf


def rows(explanation, loop=0):
    """Give the rows of a loop as a dict of lists."""
    found = {}
    for title, value in explanation.loops[loop].rows:
        found.setdefault(title, []).append(value)
    return found


@rf.fold
def total(a):
    s = 0
    for v in a:
        s += v
    return s


@rf.fold
def histogram(a, h):
    for v in a:
        h[v] += 1
    return h


@rf.fold
def first_noise(a, rng):
    s = 0
    for v in a:
        s += v
    for v in a:
        if rng.random() < v:
            s += 1
    return s


@rf.fold
def squares(m):
    s = 0
    for row in m:
        for v in row:
            s += v * v
    return s


def test_update_operator_and_proofs_are_in_the_names_of_the_loop():
    said = total.explain(np.arange(1000))
    assert said.loops[0].verdict == "fold"
    of = rows(said)
    assert of["update"] == ["s := s + v"]
    assert of["operator"] == ["s + s'"]
    assert of["identity"] == ["0 (two-sided)"]
    assert of["commutes"] == ["yes"]
    assert "associative" in of["proofs"][0]
    assert "1000 steps, the last one by Python" in of["schedule"][0]
    assert "s := s + v" in str(said)


def test_measured_times_are_told_where_ways_were_timed():
    said = total.explain(np.arange(200_000))
    assert said.loops[0].times["serial"] > 0
    assert len(said.loops[0].times) > 1
    assert any("x the serial compiled loop" in line for line in rows(said)["measured"])


def test_a_warning_tells_of_integers_that_wrap():
    assert "np.int64(s)" in rows(total.explain(np.arange(1000).astype(np.uint8)))["warning"][0]
    assert "warning" not in rows(total.explain(np.arange(1000)))


def test_arguments_are_left_as_they_are():
    h = np.zeros(10, np.int64)
    said = histogram.explain(np.arange(1000) % 10, h)
    assert said.loops[0].verdict == "group-by"
    assert h.sum() == 0
    assert any("out of range" in line for line in rows(said)["guard"])


def test_a_refusal_is_shown_and_not_raised():
    said = first_noise.explain(np.arange(1000), np.random.default_rng(0))
    assert [loop.verdict for loop in said.loops] == ["fold", "refused"]
    assert "[R1]" in str(said)


def test_what_the_call_raises_is_shown():
    assert "TypeError" in total.explain(np.arange(1000), 3).raised


def test_loops_of_a_nest_are_parts_of_it():
    assert [loop.verdict for loop in squares.explain(np.ones((50, 50))).loops] == ["fold", "part"]


def test_without_arguments_calls_so_far_are_told():
    own = rf.fold(total.python)
    assert own.explain().loops[0].verdict == "not reached"
    own(np.arange(1000))
    assert own.explain().loops[0].verdict == "fold"


@pytest.mark.parametrize("floats", ["reassociate", "serial"])
def test_the_policy_of_floats_is_told(floats):
    said = rf.fold(floats=floats)(total.python).explain(np.ones(1000))
    assert ("slices" in rows(said)["floats"][0]) == (floats == "reassociate")


def test_html_is_escaped():
    @rf.fold
    def below(a):
        n = 0
        for v in a:
            if v < 3 and "<b>" != "":
                n += 1
        return n

    said = below.explain(np.arange(100))._repr_html_()
    assert "&lt;b&gt;" in said
    assert "<b>" not in said


def test_arguments_that_a_call_may_change_are_left_as_they_are():
    def fill(h):
        h[:] = 7

    @rf.fold
    def counted(a, h, g):
        fill(h)
        np.add.at(g, 0, 1)
        n = 0
        for v in a:
            n += v
        return n

    h, g = np.zeros(3), np.zeros(3)
    assert counted.explain(np.arange(1000), h, g).loops[0].verdict == "fold"
    assert h.sum() == g.sum() == 0
