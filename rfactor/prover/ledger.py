"""The obligations of one claim as they are met: each is proved, also where data put infinities into it, and entered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rfactor.ir.expr import Expr, conjunction, substitute_all, walk
from rfactor.ir.meaning import Meaning
from rfactor.prover import defined
from rfactor.prover.at_infinity import Signs, extends, infinite_components, placings
from rfactor.prover.claim import Claim, Name
from rfactor.prover.equality import holds, prove_equal
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities
from rfactor.prover.limits import Limits
from rfactor.prover.obligation import TRUE, Obligation
from rfactor.prover.operator import Tuple
from rfactor.prover.verdict import Proven, Unknown, Verdict

_TOO_MANY_PLACES = Unknown("infinities may stand in too many places")


@dataclass(slots=True)
class Ledger:
    """The obligations met so far."""

    claim: Claim
    limits: Limits
    proofs: dict[Name, Proven] = field(default_factory=dict)
    obligations: list[Obligation] = field(default_factory=list)
    signs: Signs = field(init=False)
    """Components that data may make infinite."""

    def __post_init__(self) -> None:
        claim, lift = self.claim, self.claim.lift
        data, operator = (claim.data, claim.operator) if lift is None else (lift.data, lift.operator)
        self.signs = infinite_components(data or (), operator or ())

    def trying(self, claim: Claim) -> Ledger:
        """A ledger for another claim about the same update that starts with what is in this one."""
        return Ledger(claim, self.limits, dict(self.proofs), list(self.obligations))

    def settled(self, name: Name, left: Tuple, right: Tuple) -> bool:
        """Whether a law, that left = right, was proved before; then it is entered."""
        known = dict(self.claim.known).get(name)
        if known is None or self.signs:
            return False
        self.proofs[name] = known
        self.owe(name, left, right)
        return True

    def owe(self, name: str, left: Tuple, right: Tuple, assumptions: Tuple = ()) -> None:
        """Enter what is proved as a statement."""
        self.obligations.append(Obligation(name, left, right, assumptions, self.claim.update.meaning))

    def holds(self, name: str, condition: Expr, assumptions: Tuple) -> Verdict:
        """Prove a condition and enter it."""
        verdict = holds(condition, meaning=self.claim.update.meaning, assumptions=assumptions, limits=self.limits)
        if isinstance(verdict, Proven):
            self.owe(name, (condition,), (TRUE,), assumptions)
        return verdict

    def equal(
        self,
        name: Name,
        left: Sequence[Expr],
        right: Sequence[Expr],
        assumptions: Tuple = (),
        numbers: frozenset[Expr] = frozenset(),
    ) -> Verdict:
        """Prove an obligation, also where data put infinities into operands, and enter it; `numbers` are finite."""
        verdict = self.equal_numbers(name, left, right, assumptions, numbers)
        if name == "step":
            return verdict

        def extended(left: Tuple, right: Tuple) -> Verdict:
            half = len(left)

            def there(exprs: Tuple, finite: frozenset[Expr]) -> Verdict:
                finite |= numbers
                given = tuple(without_infinities(e, finite) for e in exprs[2 * half :])
                return self.equal_numbers(name, exprs[:half], exprs[half : 2 * half], given, finite)

            return self.at_infinity(verdict, (*left, *right, *assumptions), there)

        found = extended(tuple(left), tuple(right))
        if found is _TOO_MANY_PLACES and len(left) > 1:  # each component by itself has fewer
            each = (extended((a,), (b,)) for a, b in zip(left, right, strict=True))
            found = next((one for one in each if not isinstance(one, Proven)), verdict)
        verdict = found
        if isinstance(verdict, Proven):
            self.proofs[name] = verdict
        else:
            self.proofs.pop(name, None)  # what holds for some ways of placing infinities is not proved
        return verdict

    def hold(self, conditions: Tuple, assumptions: Tuple) -> Verdict:
        """Whether conditions hold where the assumptions do, also where data put infinities into operands."""
        meaning, count = self.claim.update.meaning, len(conditions)

        def there(exprs: Tuple, finite: frozenset[Expr]) -> Verdict:
            values = tuple(without_infinities(e, finite) for e in exprs)
            found = _hold(values[:count], meaning, values[count:], self.limits)
            if isinstance(found, Proven):
                self.owe("invariant", values[:count], (TRUE,) * count, values[count:])
            return found

        verdict = _hold(conditions, meaning, assumptions, self.limits)
        if isinstance(verdict, Proven):
            self.owe("invariant", conditions, (TRUE,) * count, assumptions)
        return self.at_infinity(verdict, (*conditions, *assumptions), there)

    def at_infinity(
        self, verdict: Verdict, exprs: Tuple, there: Callable[[Tuple, frozenset[Expr]], Verdict]
    ) -> Verdict:
        """The verdict on what `exprs` say of finite operands, if it holds where data put infinities into them, too.

        `there` gives the verdict for one way of placing them, from the expressions with them and their finite parts.
        """
        letters = "xyz" if self.claim.lift is None else "yz"
        if not self.signs or not isinstance(verdict, Proven) or extends(exprs, self.signs, letters):
            return verdict
        placed = placings(exprs, self.signs, letters)
        if placed is None:
            return _TOO_MANY_PLACES
        for values in placed:
            at = substitute_all(exprs, values)
            nodes = (node for e in at for node in walk(e))
            finite = frozenset(node for node in nodes if node.type.is_float and not has_infinity(node))
            try:
                found = there(at, finite)
            except Undefined as error:
                return Unknown(str(error))
            if not isinstance(found, Proven):
                return found
        return verdict

    def equal_numbers(
        self,
        name: Name,
        left: Sequence[Expr],
        right: Sequence[Expr],
        assumptions: Tuple = (),
        numbers: frozenset[Expr] = frozenset(),
    ) -> Verdict:
        """Prove an obligation of finite operands and enter it."""
        try:
            sides = [tuple(without_infinities(e, numbers) for e in side) for side in (left, right)]
        except Undefined as error:
            return Unknown(str(error))
        meaning = self.claim.update.meaning
        # Where the left side divides by no zero, neither does the right; there they are equal. An identity is met where
        # the serial run does no step: there nothing may be divided by zero.
        first, second = map(defined.conditions, sides)
        always = name in ("left_identity", "right_identity")
        given = assumptions if always else (*assumptions, *first)
        for condition in (*first, *second) if always else second:
            if condition not in given:
                verdict = self.holds(f"{name}-defined", condition, given)
                if not isinstance(verdict, Proven):
                    return verdict
                given = (*given, condition)
        verdict = prove_equal(sides[0], sides[1], meaning=meaning, assumptions=given, limits=self.limits)
        if isinstance(verdict, Proven):
            self.proofs[name] = verdict
            self.owe(name, sides[0], sides[1], given)
        return verdict


def _hold(conditions: Tuple, meaning: Meaning, assumptions: Tuple, limits: Limits) -> Verdict:
    """Whether all conditions hold where the assumptions do: together, for the cases are the same, else one by one."""
    verdict = holds(conjunction(*conditions), meaning=meaning, assumptions=assumptions, limits=limits)
    if len(conditions) == 1 or not isinstance(verdict, Unknown):
        return verdict
    for condition in conditions:
        verdict = holds(condition, meaning=meaning, assumptions=assumptions, limits=limits)
        if not isinstance(verdict, Proven):
            return verdict
    return verdict
