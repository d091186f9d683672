"""The dependency graph of an update and its decomposition (rfactor 2017, section 4.2).

A vertex a component; an edge from i to j where the definition of i refers to `xj`. The subgraph of a component is what
it reaches: if every subgraph hides an associative operator and they agree where they overlap, so does the whole.
"""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const, Expr, Var, names, walk
from rfactor.ir.update import Update

Subgraph = tuple[int, ...]
"""Components, ascending."""


def dependencies(update: Update) -> tuple[frozenset[int], ...]:
    """For each component the components that its definition refers to."""
    index = {x.name: i for i, x in zip(range(len(update.types)), update.accumulators, strict=True)}
    return tuple(frozenset(index[name] for name in names(e) if name in index) for e in update.components)


def closures(update: Update) -> tuple[Subgraph, ...]:
    """For each component everything it reaches, itself included."""
    edges = dependencies(update)
    result = []
    for start in range(len(edges)):
        reached, frontier = {start}, [start]
        while frontier:
            for target in edges[frontier.pop()] - reached:
                reached.add(target)
                frontier.append(target)
        result.append(tuple(sorted(reached)))
    return tuple(result)


def subgraphs(update: Update) -> tuple[Subgraph, ...]:
    """The maximal closures, in order of their first component: the first decomposition that is tried."""
    distinct = sorted(set(closures(update)))
    return tuple(a for a in distinct if not any(set(a) < set(b) for b in distinct))


def shared_data(update: Update, one: Subgraph, other: Subgraph) -> bool:
    """Whether two subgraphs have a part of the iteration's data in common that is more than a constant."""
    return not _data_parts(update, one).isdisjoint(_data_parts(update, other))


def _data_parts(update: Update, subgraph: Subgraph) -> set[Expr]:
    """The subexpressions over data alone."""
    accumulators = {x.name for x in update.accumulators}
    parts: set[Expr] = set()
    for i in subgraph:
        for node in walk(update.components[i]):
            used = names(node)
            if used and not used & accumulators and not used <= update.constants and not isinstance(node, Const):
                parts.add(node)
    return parts


def groupings(update: Update, largest: int | None = None) -> Iterator[tuple[Subgraph, ...]]:
    """Ways to join the initial subgraphs, finest first; only subgraphs that share data are joined.

    `largest` bounds the number of components of a joined group (a larger subgraph on its own stays as it is).
    Section 4.2: the first is the decomposition itself.
    """
    initial = subgraphs(update)
    neighbours = {
        (a, b): shared_data(update, initial[a], initial[b])
        for a in range(len(initial))
        for b in range(a + 1, len(initial))
    }

    def joined(block: tuple[int, ...]) -> Subgraph:
        return tuple(sorted({i for member in block for i in initial[member]}))

    def allowed(block: tuple[int, ...], new: int) -> bool:
        if not any(neighbours[member, new] for member in block):
            return False
        return largest is None or len(joined((*block, new))) <= largest

    partitions: list[tuple[tuple[int, ...], ...]] = [()]
    for new in range(len(initial)):
        grown: list[tuple[tuple[int, ...], ...]] = []
        for partition in partitions:
            grown.append((*partition, (new,)))
            for at, block in zip(range(len(partition)), partition, strict=True):
                if allowed(block, new):
                    grown.append((*partition[:at], (*block, new), *partition[at + 1 :]))
        partitions = grown
        if len(partitions) > 4096:  # a bound on the Bell number, far above what updates reach
            partitions = partitions[:4096]
    for partition in sorted(partitions, key=lambda p: (-len(p), p)):
        yield tuple(joined(block) for block in partition)


def restrict(update: Update, subgraph: Subgraph) -> Update:
    """The update of a closed set of components alone, accumulators renumbered from 0."""
    from rfactor.ir.expr import substitute

    renamed = {
        f"x{old}": Var(update.types[old], f"x{new}") for new, old in zip(range(len(subgraph)), subgraph, strict=True)
    }
    components = tuple(substitute(update.components[i], renamed) for i in subgraph)
    return Update(components, tuple(update.types[i] for i in subgraph), update.constants, update.meaning)
