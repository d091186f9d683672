"""The tables of an operator file and what marks the file as one of ours."""

from __future__ import annotations

from typing import Any

APPLICATION = 0x7266_6163
"""SQLite `application_id` of operator tables ("rfac")."""
VERSION = 3
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
    "identity_kind": str,  # a row of kind `left` stands for its mirror op(y, x), of kind `right`, too
    "commutative": int,  # 1 proved, 0 refuted by a witness, null neither
    "semantics": str,
    "class": int,  # rows of one class are one function; that of a mirror is the next number
    "print": int,  # of its values on samples, see rfactor.table.prints
    "method": str,  # of the proof of associativity
    "proofs": int,  # see PROOFS
    "ms": float,
}
PROOFS = {"id": int, "claims": str}  # JSON: every claim with its method, and the witness against commutativity
CHOICES = {
    "id": int,  # numbered after the rows of `operators`
    "subtable": int,  # of `subtables`, which has its types, semantics and leaves
    "operator": str,  # select(p, x0, y0) or select(p, y0, x0), p over x0 and k
    "identity": str,  # left
    "class": int,
    "print": int,
    "method": str,  # of the proof of the identity
}
SPELLINGS = {
    "id": int,
    "row": int,  # of `operators`
    "operator": str,  # the same function, in canonical form
    "method": str,  # of the proof that it is
}
RULES = {"rule": str, "statement": str, "note": str}
UNDECIDED = {
    "types": str,
    "leaves": int,
    "operator": str,
    "semantics": str,
    "claim": str,
    "reason": str,
}
SUBTABLES = {
    "id": int,
    "types": str,
    "root": str,  # "choice" for rows of `choices`
    "semantics": str,
    "leaves": int,
    "rows": int,
    "digest": str,
}
META = {"key": str, "value": str}  # values are JSON

TABLES: dict[str, dict[str, Any]] = {
    "operators": OPERATORS,
    "proofs": PROOFS,
    "choices": CHOICES,
    "spellings": SPELLINGS,
    "rules": RULES,
    "undecided": UNDECIDED,
    "subtables": SUBTABLES,
    "meta": META,
}
HASHED = tuple(column for column in OPERATORS if column not in ("id", "ms"))
"""What digests cover of a row: everything but the time and the number; its proofs as text."""
HASHED_SPELLINGS = ("row", "operator", "method")
HASHED_CHOICES = ("operator", "identity", "class", "print", "method")
