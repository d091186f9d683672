"""A partly known total preorder: the theory in which proofs by cases decide comparisons."""

from __future__ import annotations

from typing import Literal

Path = Literal["none", "weak", "strict"]
Fact = tuple[int, int, bool]
"""low <= high, or low < high."""


class Preorder:
    """What is known of a <= b, strict or not, between numbered nodes; `copy` before deciding in two ways.

    What follows by transitivity is kept, as sets of bits.
    """

    __slots__ = ("above", "below", "facts", "strictly")

    def __init__(self) -> None:
        self.above: dict[int, int] = {}
        """For each node that was added the nodes known to be at least as large."""
        self.strictly: dict[int, int] = {}
        """For each node the nodes known to be larger."""
        self.below: dict[int, int] = {}
        """For each node the nodes known to be at most as large."""
        self.facts: tuple[Fact, ...] = ()
        """What was recorded, in its order."""

    def copy(self) -> Preorder:
        other = Preorder()
        other.above, other.strictly, other.below = dict(self.above), dict(self.strictly), dict(self.below)
        other.facts = self.facts
        return other

    def add(self, node: int) -> None:
        """Make place for a node of which nothing is known."""
        self.above[node] = self.strictly[node] = self.below[node] = 0

    def know(self, low: int, high: int, strict: bool) -> None:
        """Record low <= high, or low < high."""
        above, strictly, below = self.above, self.strictly, self.below
        if strictly[low] >> high & 1 or (not strict and above[low] >> high & 1):
            return
        self.facts = (*self.facts, (low, high, strict))
        up, down = above[high] | 1 << high, below[low] | 1 << low
        larger = up if strict else strictly[high]
        for node in _members(down):
            above[node] |= up
            strictly[node] |= up if strictly[node] >> low & 1 else larger
        for node in _members(up):
            below[node] |= down

    def path(self, low: int, high: int) -> Path:
        """What is known of low <= high."""
        if low == high:
            return "weak"
        if self.strictly[low] >> high & 1:
            return "strict"
        return "weak" if self.above[low] >> high & 1 else "none"

    def equals(self, node: int) -> list[int]:
        """The other nodes known to equal `node`, in the order in which they were added."""
        both = self.above[node] & self.below[node] & ~self.strictly[node]
        if not both & ~(1 << node):
            return []
        return [
            other
            for other in self.above
            if other != node and both >> other & 1 and not self.strictly[other] >> node & 1
        ]


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
