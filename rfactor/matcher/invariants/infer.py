"""The loop invariants of an update from a known start: guesses, of which the largest inductive set is kept (Houdini).

x0, x1 := select(a < x0, a, x0), select(a < x0, x1, select(a > x1, a, x1))   from (k, k)   keeps x0 <= x1
x0, x1 := max(x0 + a, 0), max(x1, x0 + a)                                    from (0, 0)   keeps 0 <= x0, 0 <= x1
"""

from __future__ import annotations

from rfactor.ir.expr import Expr
from rfactor.ir.update import Update
from rfactor.matcher.decisions import Rounded, without_decisions
from rfactor.matcher.invariants.candidates import candidates
from rfactor.matcher.invariants.facts import TRUE, Facts, Tuple
from rfactor.matcher.invariants.inductive import before, check_constant, verdict_on
from rfactor.matcher.invariants.runs import Start
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.obligation import Obligation
from rfactor.prover.verdict import Proven

BUDGET = 3_000_000
"""Resource units for all guesses together: about a third of a second at most."""
_QUERY, _CASES = 100_000, 400
"""Resource units, and branches, for one question."""


def infer(update: Update, start: Start, limits: Limits = DEFAULT) -> Tuple:
    """Find conditions on x0, x1, … that hold at the start and that every step keeps, all of them proved together.

    `start` has each accumulator's value before the loop, over constants of the loop; None where nothing is known of
    it. Empty where nothing is found within a budget that is counted in steps. Raises `ValueError` for a start that is
    made of data.
    """
    check_constant(update, start, ())
    if all(value is None for value in start):
        return ()
    try:
        own, _ = without_decisions(update)
    except Rounded:
        return ()
    limits = bounded(limits)
    facts = Facts(own, limits)
    guessed = [e for e in candidates(own, start) if _holds_before(e, facts, start)]
    alone = [e for e in guessed if isinstance(facts.kept(e, (e,)), Proven)]
    return _largest(guessed, frozenset(alone), facts)


def bounded(limits: Limits) -> Limits:
    """Give the limits of a search that is not worth more than its budget."""
    return limits.starting_now().at_most(rlimit=_QUERY, cases=_CASES).with_purse(BUDGET)


def _largest(guessed: list[Expr], alone: frozenset[Expr], facts: Facts) -> Tuple:
    """Drop what is not kept under all that is left, until all of it is. What is kept by itself stays."""
    left = guessed
    while not facts.limits.expired:
        given = tuple(left)
        kept = [e for e in left if e in alone or isinstance(facts.kept(e, given), Proven)]
        if len(kept) == len(left):
            return tuple(kept)
        left = kept
    return tuple(e for e in guessed if e in alone)


def _holds_before(condition: Expr, facts: Facts, start: Start) -> bool:
    """Tell whether a condition is proved of the start, whatever what is not known of it may be."""
    stated = Obligation("initial", (before(condition, facts.update, start),), (TRUE,), (), facts.update.meaning)
    return isinstance(verdict_on(stated, facts), Proven)
