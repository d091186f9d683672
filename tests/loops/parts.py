"""Call a fold in parts: its walked arguments cut along their first axis, streamed or as states that are merged."""

from __future__ import annotations

import inspect
import random
from itertools import pairwise
from typing import Any

import rfactor
from tests.loops.cases import Case
from tests.loops.judge import EXACT, Outcome, Verdict, compare, outcome, rounding


def cut(fold: Any, arguments: tuple[Any, ...], cuts: tuple[int, ...]) -> tuple[list[tuple[Any, ...]], dict[str, Any]]:
    """Give the chunks of the walked arguments, and the others by name."""
    bound = inspect.signature(fold.python).bind(*arguments).arguments
    walked = fold.streamed.cut.walked
    whole = [bound[n] for n in walked]
    if any(not hasattr(w, "__len__") or isinstance(w, set | frozenset | dict) for w in whole):
        raise rfactor.FoldError("an iterator is not cut")
    bounds = [0, *cuts, max(map(len, whole))]
    chunks = [tuple(w[s:e] for w in whole) for s, e in pairwise(bounds)]
    return chunks, {n: v for n, v in bound.items() if n not in walked}


def streamed(fold: Any, arguments: tuple[Any, ...], cuts: tuple[int, ...]) -> Any:
    """Stream the chunks."""
    chunks, others = cut(fold, arguments, cuts)
    return fold.stream(iter(chunks), **others)


def merged(fold: Any, arguments: tuple[Any, ...], cuts: tuple[int, ...], known: bool = False) -> Any:
    """Merge the states of the chunks, the first ones first."""
    chunks, others = cut(fold, arguments, cuts)
    at, states = 0, []
    for chunk in chunks:
        given = dict(zip(fold.streamed.cut.walked, chunk, strict=True))
        states.append(fold.partial(**given, **others, at=at if known else None))
        at += len(chunk[0])
    return type(states[0]).merge(states).result()


def judged(case: Case, fold: Any, way: str, n: int, seed: int = 0) -> Verdict:
    """Compare one way with the plain function on new data; messages of exceptions may name places in a chunk."""
    import numpy as np

    rng = random.Random(seed * 1000 + n)
    cuts = tuple(sorted(rng.randint(0, n) for _ in range(rng.choice([1, 2, 4]))))

    def fresh() -> tuple[Any, ...]:
        return case.gen(np.random.default_rng([seed, n]), n)

    plain = outcome(case.function, fresh())
    call = {
        "stream": lambda *a: streamed(fold, a, cuts),
        "partial": lambda *a: merged(fold, a, cuts),
        "at": lambda *a: merged(fold, a, cuts, True),
    }[way]
    other = outcome(call, fresh())
    if plain.error is not None and type(plain.error) is type(other.error):
        other = Outcome(other.result, plain.error, other.arguments, other.printed, other.seconds)
    within = rounding(fresh(), n) if case.approx else EXACT
    return compare(plain, other, within, (rfactor.FoldError,))
