"""The tables of an operator file and what marks the file as one of ours."""

from __future__ import annotations

from typing import Any

APPLICATION = 0x7266_6163
"""SQLite `application_id` of operator tables ("rfac")."""
VERSION = 1
"""SQLite `user_version`: the layout below. Files of another version are refused."""

OPERATORS = {
    "id": int,
    "types": str,  # a scope, see rfactor.table.scope
    "components": int,
    "leaves": int,
    "root": str,  # roots of the components joined by commas
    "operator": str,  # components joined by ", "
    "identity": str,  # left or two-sided; MIN and MAX are the ends of the type; null otherwise
    "right_identity": str,  # where the kind is right
    "identity_kind": str,
    "commutative": int,  # 1 proved, 0 refuted by a witness, null neither
    "semantics": str,
    "class": int,  # rows of one class are one function
    "method": str,  # of the proof of associativity
    "proofs": str,  # JSON: every claim of the row with its method, and the witness against commutativity
    "ms": float,
}
UNDECIDED = {
    "types": str,
    "leaves": int,
    "operator": str,
    "semantics": str,
    "claim": str,
    "reason": str,
}
SUBTABLES = {
    "types": str,
    "root": str,
    "semantics": str,
    "rows": int,
    "digest": str,
}
META = {"key": str, "value": str}  # values are JSON

TABLES: dict[str, dict[str, Any]] = {
    "operators": OPERATORS,
    "undecided": UNDECIDED,
    "subtables": SUBTABLES,
    "meta": META,
}
HASHED = tuple(column for column in OPERATORS if column not in ("id", "ms"))
"""What digests cover: everything but the times and the numbering."""
