"""Conditions that are alternatives of flags which are all set, as sets: what is there in a run of two runs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial, reduce

from rfactor.ir.expr import Expr, apply
from rfactor.matcher.action import FALSE, TRUE

Presence = frozenset[frozenset[Expr]]
"""One of these sets of flags is set."""

ALWAYS: Presence = frozenset((frozenset[Expr](),))
NEVER: Presence = frozenset()


def of(flag: Expr) -> Presence:
    """That a flag, or a literal, is set."""
    return ALWAYS if flag == TRUE else NEVER if flag == FALSE else frozenset((frozenset((flag,)),))


def both(a: Presence, b: Presence) -> Presence:
    return _shortest(one | other for one in a for other in b)


def either(a: Presence, b: Presence) -> Presence:
    return _shortest((*a, *b))


def implies(a: Presence, b: Presence) -> bool:
    """Whether a is there only where b is."""
    return all(any(other <= one for other in b) for one in a)


def expression(a: Presence) -> Expr:
    """The condition, the same for the same set."""
    chains = sorted(sorted(map(str, flags)) for flags in a)
    known = {str(flag): flag for flags in a for flag in flags}
    if a in (ALWAYS, NEVER):
        return TRUE if a else FALSE
    alternatives = [reduce(partial(apply, "and"), [known[name] for name in names]) for names in chains]
    return reduce(partial(apply, "or"), alternatives)


def _shortest(found: Iterable[frozenset[Expr]]) -> Presence:
    sets = frozenset(found)
    return frozenset(one for one in sets if not any(other < one for other in sets))
