"""Run a fold over a Ray dataset: a task a block, states merged in the order of the blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rfactor.loops.backends.tree import both, finish, named, pairwise, part
from rfactor.loops.fold import Fold


def ray(fold: Fold, dataset: Any, columns: Mapping[str, str] | None, others: Mapping[str, Any]) -> Any:
    """The result of the plain function on columns of a dataset, whose blocks are taken in their order."""
    import ray as library

    walked = fold.streamed.cut.walked
    labels = {n: (columns or {}).get(n, n) for n in walked}
    if columns is None and len(walked) == 1 and walked[0] not in dataset.columns():
        (only,) = dataset.columns()
        labels = {walked[0]: only}
    name, given = named(fold), dict(others)
    step = library.remote(part)
    merge = library.remote(both)
    context = dataset.context.execution_options
    before, context.preserve_order = context.preserve_order, True
    try:
        blocks = dataset.select_columns(list(dict.fromkeys(labels.values()))).to_arrow_refs()
    finally:
        context.preserve_order = before
    if not blocks:
        return fold.stream((), **given)
    states = [step.remote(name, None, labels, given, block) for block in blocks]
    return finish(library.get(pairwise(states, merge.remote)))
