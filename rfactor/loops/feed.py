"""Chunks as they come: how many elements there are so far, those still needed, and lengths not known before the end."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.loops.elements import Column, columns_of, form_of, joined, owned

FAR = 1 << 20
"""The largest number that a length is compared with before the loop: so many elements may have to be kept."""


class Feed:
    """The walked arguments, chunk by chunk; what is behind `drop()` is forgotten."""

    def __init__(
        self,
        walked: Sequence[str],
        chunks: Iterable[Any],
        names: Mapping[str, str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """`names`: columns of tables by argument; `progress` is told how many elements have been read."""
        self.walked, self.names, self.progress = tuple(walked), names, progress
        self.known, self.ended, self.wanted = 0, False, True
        self.lengths_used = False
        self._chunks: Iterator[Any] = iter(chunks)
        self._forms: list[Any] = []
        self._empty: tuple[Column, ...] = tuple([] for _ in walked)
        self._pieces: deque[tuple[int, tuple[Column, ...]]] = deque()
        self._kept = 0

    def more(self) -> None:
        """Read a chunk, or see that there is none."""
        self._own()
        for chunk in self._chunks:
            parts = columns_of(chunk, self.walked, self.names)
            self._check(parts)
            count = len(parts[0])
            if self.progress is not None:
                self.progress(self.known + count)
            if count and self.wanted:
                self._pieces.append((self.known, parts))
            elif not self.known:
                self._empty = parts
            self.known += count
            return
        self.ended = True

    def _check(self, parts: tuple[Column, ...]) -> None:
        """Refuse chunks of other types than those before."""
        forms = [form_of(p) for p in parts]
        if not self._forms:
            self._forms = forms
        elif forms != self._forms:
            k = next(k for k in range(len(forms)) if forms[k] != self._forms[k])
            told = [" ".join(map(str, f[k][:2])).replace("array ", "") for f in (self._forms, forms)]
            raise FoldError(
                f"{self.walked[k]} comes in parts of {told[0]}, then of {told[1]}", kind="R10",
                advice="give all parts one type",
            )  # fmt: skip

    def _own(self) -> None:
        """Copy what is still needed of the chunk read last: its memory may be used again for the next one."""
        if not self._pieces:
            return
        start, parts = self._pieces.pop()
        cut = max(0, self._kept - start)
        parts = tuple(owned(p[cut:]) for p in parts)
        if len(parts[0]):
            self._pieces.append((start + cut, parts))

    def at_least(self, count: int) -> bool:
        """Are there so many elements? Reads on until that is known."""
        while self.known < count and not self.ended:
            self.more()
        return self.known >= count

    def total(self) -> int:
        """The number of all elements; what is read for it is not kept."""
        self.wanted = False
        while not self.ended:
            self.more()
        return self.known

    def drop(self, position: int) -> None:
        """Forget elements before a position."""
        self._kept = max(self._kept, position)
        while self._pieces and self._pieces[0][0] + len(self._pieces[0][1][0]) <= position:
            self._pieces.popleft()

    def boundary(self, position: int) -> int:
        """Where the chunk ends that an element is of."""
        return next((s + len(p[0]) for s, p in self._pieces if position < s + len(p[0])), self.known)

    def column(self, name: str, low: int, high: int) -> Column:
        """Elements of an argument from position `low` to `high`, as far as they have been read."""
        k = self.walked.index(name)
        found = []
        for start, parts in self._pieces:
            begin, end = max(low - start, 0), min(high - start, len(parts[k]))
            if begin < end:
                found.append(parts[k][begin:end] if (begin, end) != (0, len(parts[k])) else parts[k])
        return joined(found) if found else self._empty[k]


class Part:
    """An argument that is taken in parts, as the function has it outside of the loop."""

    def __init__(self, feed: Feed, name: str) -> None:
        self.feed, self.name = feed, name

    def length(self) -> Total:
        """Its length, before all of it has been read."""
        self.feed.lengths_used = True
        return Total(self.feed, 0)

    def count(self) -> int:
        """Its length after the loop; reads on where the loop was left."""
        return self.feed.total()

    def element(self, position: int) -> Any:
        """One of the first elements."""
        self.feed.at_least(position + 1)
        return self.feed.column(self.name, 0, position + 1)[position]

    def truth(self) -> bool:
        """Is there an element? Raises `FoldError` for arrays, whose truth is another."""
        some = self.feed.at_least(1)
        if isinstance(self.feed.column(self.name, 0, 1), np.ndarray):
            raise FoldError(f"the truth of {self.name} as a whole", kind="R4", advice=f"ask len({self.name}) == 0")
        return some

    def attribute(self, name: str) -> Any:
        """Its type, which all parts have."""
        self.feed.at_least(1)
        return getattr(self.feed.column(self.name, 0, 1), name)

    def settled(self, value: Any) -> Any:
        """A value after the loop: lengths are numbers then."""
        return settled(value, self.feed)


def settled(value: Any, feed: Feed) -> Any:
    """A value with numbers in place of lengths."""
    if not feed.lengths_used:
        return value
    if type(value) is Total:
        return feed.total() + value.shift
    if type(value) in (tuple, list, dict) and _has_length(value):
        if type(value) is dict:
            return {k: settled(v, feed) for k, v in value.items()}
        return type(value)(settled(v, feed) for v in value)
    return value


def _has_length(value: Any) -> bool:
    return any(
        type(v) is Total or (type(v) in (tuple, list, dict) and _has_length(v))
        for v in (value.values() if type(value) is dict else value)
    )


class Total:
    """The number of elements, give or take a constant, before all have been read.

    Comparisons with numbers read on until they are decided. Other arithmetic waits for the end: before it, it raises
    `FoldError`.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, feed: Feed, shift: int) -> None:
        self.feed, self.shift = feed, shift

    def value(self) -> int:
        """The number. Raises `FoldError` before the end."""
        if not self.feed.ended:
            raise FoldError(
                "the number of elements is computed with before all of them have been read", kind="R4",
                advice="bound the loop with it, compare it with small numbers, or use it after the loop",
            )  # fmt: skip
        return self.feed.known + self.shift

    def __add__(self, other: Any) -> Any:
        return Total(self.feed, self.shift + other) if type(other) is int else self.value() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if type(other) is Total:
            return self.shift - other.shift
        return Total(self.feed, self.shift - other) if type(other) is int else self.value() - other

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __index__(self) -> int:
        return self.value()

    def _less(self, other: Any, equal: bool) -> bool:
        """Is it less than a number, or equal to it?"""
        if type(other) is Total:
            return self.shift < other.shift + equal
        if self.feed.ended or type(other) is not int:
            return bool(operator.le(self.value(), other) if equal else operator.lt(self.value(), other))
        least = other - self.shift + (1 if equal else 0)
        if least > FAR:
            return self.value() < other
        return not self.feed.at_least(least)

    def __lt__(self, other: Any) -> bool:
        return self._less(other, False)

    def __le__(self, other: Any) -> bool:
        return self._less(other, True)

    def __gt__(self, other: Any) -> bool:
        return not self._less(other, True)

    def __ge__(self, other: Any) -> bool:
        return not self._less(other, False)

    def __eq__(self, other: Any) -> bool:
        if type(other) is Total or type(other) is int:
            return self._less(other, True) and not self._less(other, False)
        return bool(self.value() == other)


def _later(name: str) -> Callable[..., Any]:
    def compute(self: Total, *others: Any) -> Any:
        return getattr(operator, name)(self.value(), *others)

    return compute


def _later_right(name: str) -> Callable[..., Any]:
    def compute(self: Total, other: Any) -> Any:
        return getattr(operator, name)(other, self.value())

    return compute


for _name in ("mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and", "or", "xor"):
    _function = f"{_name}_" if _name in ("and", "or") else _name
    setattr(Total, f"__{_name}__", _later(_function))
    setattr(Total, f"__r{_name}__", _later_right(_function))
for _name in ("neg", "abs", "pos", "invert"):
    setattr(Total, f"__{_name}__", _later(_name))
Total.__rsub__ = _later_right("sub")  # type: ignore[attr-defined]
Total.__float__ = lambda self: float(self.value())  # type: ignore[attr-defined]
Total.__int__ = Total.__index__  # type: ignore[attr-defined]
