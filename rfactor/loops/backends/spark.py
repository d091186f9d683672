"""Run a fold over a Spark data frame: a state a partition, merged in the order of the partitions."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from typing import Any

from rfactor.errors import FoldError
from rfactor.loops.backends.tree import named, part
from rfactor.loops.fold import Fold
from rfactor.loops.states import State, merged


def spark(fold: Fold, frame: Any, columns: Mapping[str, str] | None, order: Any, others: Mapping[str, Any]) -> Any:
    """The result of the plain function on columns of a data frame in the order of others.

    Raises `FoldError` without `order` where the operator does not commute: the rows of a data frame have no order.
    """
    walked = fold.streamed.cut.walked
    labels = {n: (columns or {}).get(n, n) for n in walked}
    if order is not None:
        frame = frame.orderBy(*([order] if isinstance(order, str) else order))
    rows = frame.select(*dict.fromkeys(labels.values()))
    name, given = named(fold), dict(others)

    def summarize(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow
        from pyspark import TaskContext

        found: State | None = None
        for batch in batches:
            one = part(name, None, labels, given, batch)
            found = one if found is None else found + one
        if found is not None:
            context = TaskContext.get()
            assert context is not None
            yield pyarrow.RecordBatch.from_pydict(
                {"partition": [context.partitionId()], "state": [pickle.dumps(found)]}
            )

    states = rows.mapInArrow(summarize, "partition long, state binary").collect()
    if not states:
        return fold.stream((), **given)
    found = [pickle.loads(bytes(s["state"])) for s in sorted(states, key=lambda s: s["partition"])]
    if order is None and not _commutes(fold, found):
        raise FoldError(
            "the rows of a Spark data frame have no order, and the result depends on one", kind="R4",
            advice='say which: order="ts"',
        )  # fmt: skip
    return merged(found).result()


def _commutes(fold: Fold, states: list[State]) -> bool:
    """May the elements come in any order?"""
    from rfactor.loops.samples import Chunk

    cut = fold.streamed.cut
    if cut.places or any(leaf.form != "elements" or leaf.skip or leaf.short for leaf in cut.leaves) or cut.derived:
        return False
    for state in states:
        if state.summary is not None:
            loop = Chunk(state, state.first).typical(False)[0]
            operator = loop.operator
            return operator is not None and operator.answer.commutative is True and operator.driver is None and (
                not loop.counted and not loop.plan.compares_floats
            ) and not state.stopped  # fmt: skip
    return merged(states).count < 2
