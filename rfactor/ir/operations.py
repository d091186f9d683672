"""The operations of expressions: a row for each, and the relations that comparisons have with one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Shape = Literal["numeric", "bits", "compare", "logic", "integer", "real"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the language."""

    name: str
    arity: int
    shape: Shape
    """Which operand types it takes: `numeric` any but bool, `bits` integers and bool, `compare` any
    (result bool), `logic` bool, `integer` integers, `real` floats."""
    commutative: bool = False
    associative: bool = False


OPERATIONS: dict[str, Operation] = {
    op.name: op
    for op in (
        Operation("+", 2, "numeric", commutative=True, associative=True),
        Operation("-", 2, "numeric"),
        Operation("*", 2, "numeric", commutative=True, associative=True),
        Operation("/", 2, "real"),
        Operation("//", 2, "integer"),
        Operation("%", 2, "integer"),
        Operation("min", 2, "numeric", commutative=True, associative=True),
        Operation("max", 2, "numeric", commutative=True, associative=True),
        Operation("neg", 1, "numeric"),
        Operation("abs", 1, "numeric"),
        Operation("&", 2, "bits", commutative=True, associative=True),
        Operation("|", 2, "bits", commutative=True, associative=True),
        Operation("^", 2, "bits", commutative=True, associative=True),
        Operation("~", 1, "bits"),
        Operation("<<", 2, "integer"),
        Operation(">>", 2, "integer"),
        Operation("<", 2, "compare"),
        Operation("<=", 2, "compare"),
        Operation(">", 2, "compare"),
        Operation(">=", 2, "compare"),
        Operation("==", 2, "compare", commutative=True),
        Operation("!=", 2, "compare", commutative=True),
        Operation("and", 2, "logic", commutative=True, associative=True),
        Operation("or", 2, "logic", commutative=True, associative=True),
        Operation("not", 1, "logic"),
    )
}
"""Every operation but `select` and `cast`, whose operands have several types."""

MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""The relation that holds of the operands exchanged."""
OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
"""The relation that holds where this one does not; NaN aside."""
