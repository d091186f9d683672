"""Boxes in directives: only the caller's arrays have one on entry."""

from __future__ import annotations

import re
from collections.abc import Set

from rfactor.compiler.schedule.directives import FunctionSchedule, entry_values
from rfactor.errors import ScheduleError
from rfactor.ir.expr import names

_OF_BOX = re.compile(r"([^.]*)(?:\.\d+)?\.(?:min|extent|stride)\.\d+")
"""Of a function with the number of the component whose array it is, where that counts."""


def check_boxes(name: str, own: FunctionSchedule, known: Set[str]) -> None:
    """Raise `ScheduleError` for a directive of the function `name` over the box of what is no array of the caller's;
    those are `known`: images and outputs."""
    for expr in entry_values(own):
        for whose in sorted(match[1] for variable in names(expr) if (match := _OF_BOX.fullmatch(variable))):
            if whose not in known:
                raise ScheduleError(
                    f"{name}: {expr} is over the box of {whose}, which is no output of this pipeline: only the boxes "
                    "of images and outputs are known before anything runs"
                )
