"""The limit bounds every case, also searches with many components and many starts."""

from __future__ import annotations

import itertools
import time

from rfactor.matcher.check import check
from rfactor.matcher.operators.substitution import _nearest


def test_starts_come_by_distance_as_they_are_asked_for() -> None:
    for sizes in ([3, 2, 4], [1], [5, 1, 1, 2]):
        assert list(_nearest(sizes)) == sorted(itertools.product(*map(range, sizes)), key=lambda at: (sum(at), at))
    many = itertools.islice(_nearest([40] * 8), 10)  # all of them would fill any memory
    assert next(many) == (0,) * 8
    assert len(list(many)) == 9


def test_eight_components_that_feed_each_other_end_with_the_limit() -> None:
    row = " + ".join(f"x{i}*a{i}" for i in range(8))
    update = ", ".join([row, *(f"x{i}" for i in range(7))])
    start = time.process_time()  # what it worked, not how long a busy machine kept it waiting
    answer = check(update, timeout=0.3)
    assert time.process_time() - start < 1.3
    assert answer.verdict in ("unknown", "lifted")
    assert check("x0*a0, x1 + a1", timeout=5.0).verdict == "associative"
