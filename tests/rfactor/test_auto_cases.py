"""A case of an update is factored as pays, by itself and by what is known in it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.auto.apply import auto_rfactor
from rfactor.compiler.pipeline import loop_nest
from rfactor.errors import FactorError, ScheduleError
from tests.rfactor.test_auto import EAGER

DATA = np.random.default_rng(5).integers(-99, 99, (70, 400)).astype(np.int32)


def chosen_by_a_parameter(known: bool) -> tuple[Any, Any, Any]:
    """A sum where p > 3, otherwise a remainder that has no operator; over sizes that are known, or not."""
    p, f = hl.Param(hl.Int(32), "p"), hl.Func("f")
    a = hl.ImageParam(hl.Int(32), 2, "a")
    a.set(DATA)
    sizes = (400, 70) if known else (a.width(), a.height())
    r = hl.RDom([(0, sizes[0]), (0, sizes[1])], "r")
    f[()] = 1
    step = a[r.x, r.y]
    f[()] = hl.select(p > 3, f[()] + step, (f[()] * f[()] + step) % 1009)
    return f, p, f.update(0).specialize(p > 3)


def other() -> int:
    value = 1
    for step in DATA.ravel().tolist():
        value = (value * value + step) % 1009
    return value


@pytest.mark.parametrize("known", [True, False])
def test_a_case_is_factored_and_other_runs_are_as_before(known: bool) -> None:
    f, p, case = chosen_by_a_parameter(known)
    chosen = auto_rfactor(f, 0, EAGER, path=case._path())
    assert chosen.factored
    for given, value in ((9, 1 + int(DATA.sum())), (1, other())):
        p.set(given)
        assert int(np.asarray(f.realize())[()]) == value


def test_its_text_gives_the_same_schedule() -> None:
    nests, texts = [], []
    for known in (True, False):
        f, _, case = chosen_by_a_parameter(known)
        texts.append(str(auto_rfactor(f, 0, EAGER, path=case._path())))
        nests.append(loop_nest([f]))
        assert texts[-1].startswith("# case of f.update(0): ")
        del f, case
    for known, text, nest in zip((True, False), texts, nests, strict=True):
        f, _, case = chosen_by_a_parameter(known)
        exec(text, {"f": f, "case": case})
        assert loop_nest([f]) == nest
        del f, case


def test_a_case_with_directives_is_left_alone() -> None:
    f, p, case = chosen_by_a_parameter(True)
    case.unroll(f.rvars(0)[0], 2)
    with pytest.raises(ScheduleError, match=r"auto_rfactor of a case of f\.update\(0\) chooses all of its loops"):
        case.auto_rfactor()
    with pytest.raises(FactorError):
        f.update(0).specialize(p > 1).auto_rfactor()
    assert not f.update(0).specialize(p > 2)._schedule().relations
