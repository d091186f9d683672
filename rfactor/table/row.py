"""One operator of a table: its columns, and its expressions at one tuple of types."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Literal, cast

from rfactor.errors import ParseError, TableError, TypeMismatch
from rfactor.ir.expr import Const, Expr
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_tuple
from rfactor.ir.types import F64, Type
from rfactor.kept import once
from rfactor.table.schema import OPERATORS

IdentityKind = Literal["two-sided", "left", "right", "none"]
Method = Literal["normal_form", "order", "bits", "exhaustive", "smt", "table"]
_PLACES = {name: place for place, name in enumerate(OPERATORS)}


class Row:
    """One operator for one tuple of types. Expressions are parsed when first asked for; rows are never changed."""

    __slots__ = ("__dict__", "_values", "types")

    def __init__(self, values: Sequence[Any], types: tuple[Type, ...]) -> None:
        self._values = values
        self.types = types

    def at(self, types: tuple[Type, ...]) -> Row:
        """The same stored row at other types of its scope."""
        return Row(self._values, types)

    def column(self, name: str) -> Any:
        """A column as it is stored."""
        return self._values[_PLACES[name]]

    @property
    def id(self) -> int:
        return cast(int, self._values[0])

    @once
    def components(self) -> tuple[Expr, ...]:
        """One expression a component over x0, x1, y0, y1, k."""
        return self._parsed("operator") or ()

    @once
    def identity(self) -> tuple[Expr, ...] | None:
        """The left or two-sided identity; None where there is none."""
        return self._parsed("identity")

    @once
    def right_identity(self) -> tuple[Expr, ...] | None:
        """The identity of a row whose kind is `right`."""
        return self._parsed("right_identity")

    @property
    def leaves(self) -> int:
        return cast(int, self.column("leaves"))

    @property
    def root(self) -> str:
        return cast(str, self.column("root"))

    @property
    def identity_kind(self) -> IdentityKind:
        return cast(IdentityKind, self.column("identity_kind"))

    @property
    def commutative(self) -> bool | None:
        value = self.column("commutative")
        return None if value is None else bool(value)

    @property
    def meaning(self) -> Meaning:
        stored = self.column("semantics")
        if stored not in ("wrap", "math"):
            raise self._unreadable(f"its semantics is {stored!r}")
        return Meaning(stored)

    @once
    def proofs(self) -> list[dict[str, Any]]:
        """Every claim with its method, and the witness against commutativity."""
        try:
            proofs = json.loads(self.column("proofs"))
        except (ValueError, TypeError, RecursionError) as error:
            raise self._unreadable(f"its proofs are no JSON ({error})") from None
        if not isinstance(proofs, list) or not all(
            isinstance(p, dict) and isinstance(p.get("claim"), str) for p in proofs
        ):
            raise self._unreadable("its proofs are no list of claims")
        return proofs

    @property
    def klass(self) -> int:
        """Rows of one class are the same function written differently."""
        return cast(int, self.column("class"))

    @property
    def method(self) -> Method:
        return cast(Method, self.column("method"))

    @property
    def ms(self) -> float:
        return cast(float, self.column("ms"))

    def text(self, column: str) -> tuple[str, ...] | None:
        """The components of `operator`, `identity` or `right_identity` as text in the syntax of expressions.

        Raises `TableError` where the column holds none.
        """
        stored = self.column(column)
        if stored is None and column != "operator":
            return None
        parts = split_components(stored) if isinstance(stored, str) and len(stored) <= LONGEST else []
        if len(parts) != len(self.types):
            raise self._unreadable(f"its {column} is no text of {len(self.types)} components")
        return tuple(_end(part, type_, self.meaning) for part, type_ in zip(parts, self.types, strict=True))

    def _parsed(self, column: str) -> tuple[Expr, ...] | None:
        texts = self.text(column)
        if texts is None:
            return None
        kinds = {f"{letter}{i}": t for letter in "xy" for i, t in zip(range(len(self.types)), self.types, strict=True)}
        kinds["k"] = self.types[0]
        try:
            return tuple(
                Const(F64, math.inf if text == "inf" else -math.inf)
                if text in ("inf", "-inf") and not type_.is_float
                else parse_tuple(text, kinds, (type_,))[0]
                for text, type_ in zip(texts, self.types, strict=True)
            )
        except (ParseError, TypeMismatch) as error:
            raise self._unreadable(str(error)) from error

    def _unreadable(self, reason: str) -> TableError:
        return TableError(f"row {self.id} of the table does not read: {reason}; generate the table again")

    def __repr__(self) -> str:
        return f"Row({self.id}, {', '.join(map(str, self.types))}: {self.column('operator')})"


LONGEST = 10_000
"""Characters of the longest text of a row that is read."""


def split_components(text: str) -> list[str]:
    """The components of a tuple written as text: split at the commas outside parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in zip(range(len(text)), text, strict=True):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()]


def _end(text: str, type_: Type, meaning: Meaning) -> str:
    """MIN and MAX as literals of a type; infinities for floats and for the unbounded integers; truth values as such."""
    if text not in ("MIN", "MAX"):
        return {"0": "False", "1": "True"}.get(text, text) if type_.is_bool else text
    if type_.is_float or (type_.is_int and meaning is Meaning.MATH and (text == "MAX" or type_.code == "int")):
        return "inf" if text == "MAX" else "-inf"
    return str(type_.max if text == "MAX" else type_.min)


__all__ = ["IdentityKind", "Method", "Row", "split_components"]
