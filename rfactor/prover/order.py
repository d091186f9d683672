"""A partly known total preorder: the theory in which proofs by cases decide comparisons."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

Path = Literal["none", "weak", "strict"]


class Preorder:
    """Known edges a <= b, strict or not, between any hashable nodes; `copy` before deciding in two ways."""

    __slots__ = ("above",)

    def __init__(self) -> None:
        self.above: dict[Hashable, dict[Hashable, bool]] = {}
        """For each node the nodes known to be at least as large, and whether strictly."""

    def copy(self) -> Preorder:
        other = Preorder()
        other.above = {node: dict(edges) for node, edges in self.above.items()}
        return other

    def know(self, low: Hashable, high: Hashable, strict: bool) -> None:
        """Record low <= high, or low < high."""
        edges = self.above.setdefault(low, {})
        edges[high] = edges.get(high, False) or strict
        self.above.setdefault(high, {})

    def path(self, low: Hashable, high: Hashable) -> Path:
        """What is known of low <= high by transitivity."""
        if low == high:
            return "weak"
        best: dict[Hashable, bool] = {low: False}
        stack = [low]
        while stack:
            node = stack.pop()
            for above, strict in self.above.get(node, {}).items():
                gained = best[node] or strict
                if above not in best or (gained and not best[above]):
                    best[above] = gained
                    stack.append(above)
        if high not in best:
            return "none"
        return "strict" if best[high] else "weak"

    def equals(self, node: Hashable) -> list[Hashable]:
        """The other nodes known to equal `node`."""
        return [
            other
            for other in self.above
            if other != node and self.path(node, other) == "weak" and self.path(other, node) == "weak"
        ]
