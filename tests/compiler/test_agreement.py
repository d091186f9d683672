"""Any pipeline under any schedule that is accepted gives the interpreter's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings

from tests.compiler.pipelines import Case, computed, pointwise, reduction, same, scheduled

Scheduled = tuple[Case, list[np.ndarray[Any, Any]]]
relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def check(drawn: Scheduled) -> None:
    case, before = drawn
    after = computed(case.func, case.sizes)
    for a, b in zip(before, after, strict=True):
        assert same(a, b), f"{case.log}\n{a}\n{b}\n{case.func.lowered()}"


@relaxed
@given(scheduled(pointwise()))
def test_pointwise_pipelines_agree_with_the_interpreter(drawn: Scheduled) -> None:
    check(drawn)


@relaxed
@given(scheduled(reduction()))
def test_reductions_agree_with_the_interpreter(drawn: Scheduled) -> None:
    check(drawn)
