"""What is proved of an update under loop invariants, one question at a time.

What rounds is any function of its operands, so that what is proved of floats holds of those of the machine, infinities
included: nothing is left of their arithmetic, and order alone does not tell infinities from large numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

from rfactor.ir.expr import Const, Expr, substitute_all, walk
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.rounding import with_functions
from rfactor.prover.equality import prove_equal
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Proven, Verdict

Tuple = tuple[Expr, ...]
TRUE = Const(BOOL, True)


@dataclass(frozen=True, slots=True)
class Facts:
    """Answers questions about the expressions of an update."""

    update: Update
    limits: Limits

    def equal(self, left: Tuple, right: Tuple, given: Tuple) -> Verdict:
        """Prove that left = right wherever all that is given holds, or refute it."""
        exprs = (*left, *right, *given)
        if any(_has_floats(expr) for expr in exprs):
            exprs = with_functions(exprs, self.update.constants)
        count = len(left)
        return prove_equal(
            exprs[:count],
            exprs[count : 2 * count],
            meaning=self.update.meaning,
            assumptions=exprs[2 * count :],
            limits=self.limits,
        )

    def holds(self, condition: Expr, given: Tuple) -> bool:
        """Tell whether the condition is proved wherever all that is given holds."""
        return condition == TRUE or condition in given or isinstance(self.equal((condition,), (TRUE,), given), Proven)

    def same(self, left: Expr, right: Expr, given: Tuple) -> bool:
        """Tell whether two expressions are proved equal wherever all that is given holds."""
        return left == right or isinstance(self.equal((left,), (right,), given), Proven)

    def kept(self, invariant: Expr, given: Tuple) -> Verdict:
        """Prove that a step from a state in which all that is given holds leads to one with the invariant."""
        return self.equal((self.after(invariant),), (TRUE,), given)

    def after(self, condition: Expr) -> Expr:
        """Read a condition on the accumulators of what one step makes of them."""
        steps = {f"x{i}": new for i, new in zip(range(len(self.update.types)), self.update.components, strict=True)}
        return substitute_all((condition,), steps)[0]


def _has_floats(expr: Expr) -> bool:
    """Tell whether floats occur in an expression."""
    return any(node.type.is_float for node in walk(expr))
