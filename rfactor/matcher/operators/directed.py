"""Sums of steps in a direction that is a sum, on the state as it is: dead reckoning, discounted payments.

Where the coefficient of each sine is, but for its sign, that of some component's cosine, right operands hold them all.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.update import Update
from rfactor.matcher.directed import Directed, directed
from rfactor.prover import sampling
from rfactor.prover.claim import Claim

_Sine = tuple[int, int]
"""Which component's cosine has the coefficient, and with which sign."""
_CHOICES = 16


def claims(update: Update) -> Iterator[Claim]:
    """Claims for a direction that is added to and sums of steps along it."""
    for found in directed(update):
        for sines in itertools.islice(_sines(found), _CHOICES):
            yield _claim(found, sines)


def _claim(found: Directed, sines: Mapping[int, _Sine | None]) -> Claim:
    update = found.update
    type_ = update.types[0]
    x, y = ([Var(type_, f"{v}{i}") for i in range(len(update.types))] for v in "xy")
    operator = [apply("+", a, b) for a, b in zip(x, y, strict=True)]
    data = [found.added] * len(x)
    for i, (w, u, *_) in found.parts.items():
        data[i] = u if i in sines else w
        if i in sines:
            sine = sines[i]
            others = [] if sine is None else [y[sine[0]] if sine[1] > 0 else apply("neg", y[sine[0]])]
            operator[i] = apply("+", x[i], found.along(x[found.at], y[i], *others))
    return Claim(update, tuple(operator), tuple(const(type_, 0) for _ in x), tuple(data))


def _sines(found: Directed) -> Iterator[Mapping[int, _Sine | None]]:
    """For each component that the direction matters to where its sine's coefficient is; of exponentials, None.

    None at all where there is none, or a right operand would have to hold what is added in any direction too.
    """
    zero = const(found.added.type, 0)
    led = {i: part for i, part in found.parts.items() if any(e != zero for e in part[1:])}
    if not led or any(w != zero for w, *_ in led.values()):
        return
    if not found.turns:
        yield dict.fromkeys(led)
        return
    held = [
        [(j, sign) for j, other in led.items() for sign in (1, -1) if j != i and _same(found, part[2], other[1], sign)]
        for i, part in led.items()
    ]
    for chosen in itertools.product(*held):
        sines = dict(zip(led, chosen, strict=True))
        if all(sines[j] == (i, -sign) for i, (j, sign) in sines.items()):  # two quarters of a turn are a half
            yield sines


def _same(found: Directed, one: Expr, other: Expr, sign: int) -> bool:
    """Whether the one is the other, or its negative, on samples."""
    return sampling.refute((one,), (other if sign > 0 else apply("neg", other),), found.update.meaning) is None
