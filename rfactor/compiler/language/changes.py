"""Whether anything that a pipeline is made of has changed, asked in one comparison."""

from __future__ import annotations

from typing import Any

LATEST: list[object] = [object()]
"""The mark of the last change of any function, image or parameter of this process. Whoever keeps the mark that was
there before it looked, and finds it there again, need not look again."""


class Changing:
    """Something that says of each attribute that is set that there was a change, after it was made."""

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        LATEST[0] = object()  # never one of before: a mark is alive as long as it is kept
