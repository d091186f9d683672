"""Liftings of the last elements, handed on by a place with every step: `a, x0, x1, x2`.

Every component is set to data or to another one as that was. After more steps than it is handed on it holds data; after
fewer it holds what another component held before the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise

from rfactor.ir.expr import Expr, Var, apply
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, choose, nought, operands
from rfactor.matcher.terms import accumulator_names, free_of
from rfactor.prover.claim import Claim, Lift

_LONGEST = 8
"""Most components that a value is handed on by."""


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update that hands its values on, and ends with data everywhere."""
    sources = _sources(update)
    if sources is None or not 2 <= max(map(len, sources)) <= _LONGEST:
        return
    lift = _lifting(update, sources)
    steps = [y for y in operands("y", lift.types) if y.type.is_bool][: max(map(len, sources))]
    kept = tuple(apply("or", fewer, apply("not", more)) for fewer, more in pairwise(steps))
    yield Claim(update, lift=lift, invariant=kept)


def _sources(update: Update) -> list[list[int]] | None:
    """For each component itself and those that its value was in before, back to one that takes data; None where a
    component is no copy of another, or values go round."""
    free = free_of(accumulator_names(update))
    places = {x.name: i for i, x in enumerate(update.accumulators)}
    found: list[list[int]] = []
    for i in range(len(update.types)):
        path = [i]
        while not free(update.components[path[-1]]):
            source = update.components[path[-1]]
            if not isinstance(source, Var) or len(path) > len(update.types):
                return None
            path.append(places[source.name])
        found.append(path)
    return found


def _lifting(update: Update, sources: Sequence[Sequence[int]]) -> Lift:
    """State: whether there was a step, two, as many as a value is handed on; the components, where they hold data."""
    longest = max(map(len, sources))
    wide = ((BOOL,) * longest) + update.types
    x, y = operands("x", wide), operands("y", wide)
    done, more = x[:longest], y[:longest]

    def after(state: Sequence[Expr], i: int) -> Expr:
        """What the i-th component holds after the steps of y, from a state."""
        value = state[i]
        for steps, place in enumerate(sources[i][1:]):
            value = choose(more[steps], state[place], value)
        return choose(more[len(sources[i]) - 1], y[longest + i], value)

    def counted(steps: int) -> Expr:
        """Whether x and y together are more than so many steps."""
        both = (apply("and", done[i], more[steps - 1 - i]) for i in range(steps))
        return reduce(lambda a, b: apply("or", a, b), both, apply("or", done[steps], more[steps]))

    values = (choose(done[0], after(x[longest:], i), y[longest + i]) for i in range(len(update.types)))
    free = free_of(accumulator_names(update))
    data = (c if free(c) else nought(c.type) for c in update.components)
    return Lift(
        wide,
        (TRUE, *(FALSE,) * (longest - 1), *data),
        (*map(counted, range(longest)), *values),
        (*(FALSE,) * longest, *map(nought, update.types)),
        tuple(after(update.accumulators, i) for i in range(len(update.types))),
    )
