"""Loops after real ones: each gives what the plain loop gives, or is refused. None is wrong, at any size."""

from __future__ import annotations

import warnings
from copy import deepcopy

import numpy as np
import pytest

import rfactor
from rfactor.loops.fold import Call
from tests.loops.cases import own_cases
from tests.loops.judge import EXACT, difference, rounding

SLOW = {"squared_state", "crc8", "xorshift", "lfsr"}
"""Cases of which a proof takes all the time that it is given."""
NEEDLESS = {
    "digital_root", "records", "rotate_xor", "brackets_to_add", "roman_back", "zero_runs", "laps", "covered",
    "one_trade", "pairs_by_while", "closest",
}  # fmt: skip
"""Folds that are refused, though there may be an operator (docs/refusals.md)."""
CASES = [one for one in own_cases() if one.name not in SLOW]


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Compile short loops too."""
    monkeypatch.setattr(Call, "few", 2)


def outcome(function, arguments):
    """The result or the exception of a call, and the arguments after it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments), None, arguments
    except rfactor.FoldError:
        raise
    except Exception as error:
        return None, error, arguments


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_folded_loop_gives_what_the_plain_loop_gives(case):
    refused = []
    for n in (1, 3, 64, 400):
        if n < case.least:
            continue
        arguments = case.gen(np.random.default_rng(n), n)
        plain, error, after = outcome(case.function, deepcopy(arguments))
        try:
            ours, ours_error, ours_after = outcome(rfactor.fold(case.function), deepcopy(arguments))
        except rfactor.FoldError as refusal:
            refused.append(refusal)
            continue
        assert (type(error), str(error)) == (type(ours_error), str(ours_error))
        if error is None:
            within = rounding(arguments, n) if case.approx else EXACT
            assert not difference(plain, ours, within)
            assert not difference(list(after), list(ours_after), within)
    if case.expect in ("fold", "scan", "group") and case.name not in NEEDLESS:
        assert not refused, refused[0]
    for one in refused:
        assert one.line
        assert one.reason
        assert one.kind
