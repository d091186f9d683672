"""Stages by the numbers that they have for the user: cases and parts of an update are stages of the function's, too.

f.update(0).specialize(p > 3).rfactor(r.y, u)     what the nest calls    f.s3.x, of f.update(1), is
f.update(1).vectorize(x)                                                 f.s2.x
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rfactor.compiler.lower.scans import scans
from rfactor.compiler.schedule.directives import Schedule
from rfactor.errors import Error
from rfactor.ir.algorithm import Algorithm, Function


@contextmanager
def as_written(algorithm: Algorithm, schedule: Schedule) -> Iterator[None]:
    """What is refused while this lasts tells of stages as the user numbered them."""
    try:
        yield
    except Error as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            with suppress(Error):  # which `scans` raises, too
                error.args = (renumbered(error.args[0], algorithm, schedule),)
        raise


def renumbered(text: str, algorithm: Algorithm, schedule: Schedule) -> str:
    """`text` with the numbers that stages have for the user, where those of the nest are others."""
    numbers = {function.name: _others(function) for function in scans(algorithm, schedule)[0].functions}
    numbers = {name: others for name, others in numbers.items() if others}
    if not numbers:
        return text
    names = "|".join(map(re.escape, sorted(numbers, key=len, reverse=True)))

    def told(found: re.Match[str]) -> str:
        name, place = found[1], int(found[2])
        return f"{name}.s{numbers[name].get(place, place)}"

    return re.sub(rf"(?<![\w$.])({names})\.s(\d+)\b", told, text)


def _others(function: Function) -> dict[int, int]:
    """By place: the numbers of stages that have others for the user. One that knows none follows that before it."""
    found, last = dict[int, int](), -1
    for place, stage in enumerate(function.stages):
        last = last + 1 if stage.update is None else stage.update + 1
        if last != place:
            found[place] = last
    return found
