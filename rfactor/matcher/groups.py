"""Which components are solved together: cycles of the dependency graph, and groups joined because they share data."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.ir.graph import Subgraph, closures, shared_data, subgraphs
from rfactor.ir.update import Update


def cycles(update: Update) -> tuple[Subgraph, ...]:
    """The strongly connected components of the dependency graph, each after those it refers to."""
    reach = closures(update)
    groups = {tuple(j for j in reach[i] if i in reach[j]) for i in range(len(reach))}
    return tuple(sorted(groups, key=lambda group: (len(reach[group[0]]), group)))


def first_groups(update: Update) -> tuple[Subgraph, ...]:
    """The maximal subgraphs, joined where they share a cycle of several components: it is solved once."""
    merged: list[set[int]] = []
    shared = [set(cycle) for cycle in cycles(update) if len(cycle) > 1]
    for group in subgraphs(update):
        block = set(group)
        touching = [other for other in merged if any(cycle <= block and cycle <= other for cycle in shared)]
        merged = [other for other in merged if other not in touching]
        merged.append(block.union(*touching))
    return tuple(sorted(tuple(sorted(block)) for block in merged))


def joined(update: Update, failing: Sequence[Subgraph], others: Sequence[Subgraph]) -> tuple[tuple[Subgraph, ...], ...]:
    """Coarser groups around each failing subgraph: first with the failing ones it shares data with, then with all.

    Section 4.2 of the paper: only subgraphs that share data are worth joining.
    """
    first = _connected(update, failing, ())
    second = _connected(update, failing, others)
    return (first,) if first == second else (first, second)


def _connected(update: Update, failing: Sequence[Subgraph], others: Sequence[Subgraph]) -> tuple[Subgraph, ...]:
    blocks: list[set[int]] = []
    pool = [*failing, *others]
    left = set(range(len(pool)))
    for start in range(len(failing)):
        if start not in left:
            continue
        left.discard(start)
        block, frontier = set(pool[start]), [start]
        while frontier:
            at = frontier.pop()
            for other in sorted(left):
                if shared_data(update, pool[at], pool[other]):
                    left.discard(other)
                    block |= set(pool[other])
                    frontier.append(other)
        blocks.append(block)
    return tuple(tuple(sorted(block)) for block in blocks)
