"""What the table holds as rules: operators that need no proof, or no row, of their own."""

from __future__ import annotations

from rfactor.ir.expr import Expr, Op, Var, names

CHOICE = "choice"
MIRROR = "mirror"
OPEN = "open"

STATEMENTS = {
    CHOICE: (
        "select(p(x0, k), x0, y0)",
        (
            "Associative for every condition p, by cases: where p holds of x0 both groupings are x0, elsewhere both "
            "are op(y0, z0). e is a left identity where p(e, k) is false. Never commutes: of three values two share p, "
            "and these two do not. The table `choices` lists the conditions that have no row, with their identities."
        ),
    ),
    MIRROR: (
        "op(y, x)",
        (
            "Associative where op is, with the identities of op on the other side. "
            "Every row of kind `left` stands for its mirror of kind `right` too."
        ),
    ),
    OPEN: (
        "select(p, x1, y1)",
        (
            "A component that is only moved, written `*`, may have any type: which operand is chosen does not depend "
            "on it. Proved at one type."
        ),
    ),
}
"""For each rule its form and why it holds."""

LARGEST_CHOICE_WITH_ROW = 5
"""Leaves up to which operators of the rule `choice` have rows in `operators`."""


def is_choice(components: tuple[Expr, ...]) -> bool:
    """Whether an operator is `select(p, x0, y0)` or `select(p, y0, x0)` with p over x0, or over y0, and k alone."""
    if len(components) != 1 or not isinstance(components[0], Op) or components[0].op != "select":
        return False
    condition, true, false = components[0].args
    if not isinstance(true, Var) or not isinstance(false, Var) or {true.name, false.name} != {"x0", "y0"}:
        return False
    return names(condition) <= {"x0", "k"} or names(condition) <= {"y0", "k"}


__all__ = ["CHOICE", "LARGEST_CHOICE_WITH_ROW", "MIRROR", "OPEN", "STATEMENTS", "is_choice"]
