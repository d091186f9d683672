"""Rows of a table of known reductions: each is asked about in its canonical form and answered by the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rfactor.errors import Error, TableError
from rfactor.ir.expr import Const, Expr, Var
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.printer import show_tuple
from rfactor.ir.types import TABLED, Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from rfactor.matcher.caveats import unreached
from rfactor.matcher.known.lookup import types_text
from rfactor.matcher.known.nodes import decoded
from rfactor.matcher.known.record import read, token, written
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recognize import forget, recognize
from rfactor.prover.claim import Failed
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.verdict import Refuted
from rfactor.table.known import Known

LIMITS = Limits(seconds=60.0)
"""Of one answer; the clock ends what hangs."""
_PURSE = 12_000_000
"""What the solver may take for one answer: a second or two."""
_SHORT = {
    "all": TABLED,
    "ints": tuple(t for t in TABLED if t.is_int),
    "floats": tuple(t for t in TABLED if t.is_float),
}


@dataclass(frozen=True, slots=True)
class Seed:
    """A question about an update at one type and meaning; no answer."""

    update: str
    type: str
    types: tuple[tuple[str, str], ...]
    semantics: str
    const: tuple[str, ...]


def seeds_of(record: Mapping[str, Any]) -> Iterator[Seed]:
    """The questions of one object: `update`; `type`, or `types_of`, a list of types, of `all`, `ints` or `floats`;
    `types` of single names; `semantics`, one or a list; `const`. Raises `rfactor.Error`.
    """
    update = record.get("update")
    if not isinstance(update, str):
        raise Error('a seed is an object with the key update, a text such as "x + a"')
    try:
        kinds = [
            type_.name
            for name in _listed(record.get("types_of") or record.get("type") or "i32")
            for type_ in (_SHORT.get(name) or (parse_type(name),))
        ]
    except ValueError as error:
        raise Error(str(error)) from None
    own = tuple(sorted((record.get("types") or {}).items()))
    for type_ in dict.fromkeys(kinds):
        for semantics in _listed(record.get("semantics") or "wrap"):
            yield Seed(update, type_, own, semantics, tuple(_listed(record.get("const") or ())))


def _listed(value: Any) -> list[str]:
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(value)


def parsed(seed: Seed) -> Update:
    """The update of a seed. Raises `rfactor.Error`."""
    types: dict[str, Type] = {name: parse_type(type_) for name, type_ in seed.types}
    return parse_update(seed.update, parse_type(seed.type), types, seed.const, Meaning(seed.semantics))


def asked(form: str, types: tuple[Type, ...], semantics: str, literals: str) -> Update:
    """The update that a row is about, its names tokens. Raises `ValueError` where the row is none of ours."""
    held = dict(part.split("=") for part in literals.split())
    values: dict[str, Expr | str] = {}
    words, _, roots = form.partition(" ; ")
    for word in words.split():
        head, _, rest = word.rpartition(":")
        kind, *operands = rest.split(",")
        if head[0] == "?":
            values[head[1:]] = token(head[1:])
        elif head[0] in "dk" and not operands:
            type_ = types[int(kind)]
            number = held.get(head)
            values[head] = Var(type_, token(head)) if number is None else Const(type_, _number(number, type_))
    nodes = decoded(words, types, values)
    components = tuple(nodes[int(root)] for root in roots.split())
    constants = frozenset(v.name for short, v in values.items() if isinstance(v, Var) and short[0] == "k")
    return Update(components, tuple(e.type for e in components), constants, Meaning(semantics))


def _number(text: str, type_: Type) -> int | float:
    return float(text) if type_.is_float else int(text)


def question(update: Update) -> Known | None:
    """The row about an update, its answer yet to be found; None where the update has no form."""
    shape = Shape.of(update)
    if shape is None:
        return None
    about = (shape.text, types_text(shape.types), shape.meaning.value, shape.literals)
    again = Shape.of(asked(shape.text, shape.types, shape.meaning.value, shape.literals))
    if again is None or (again.text, again.literals) != (shape.text, shape.literals):
        return None
    return Known(0, *about, "", "unknown", show_tuple(update.components))


def rows_of(record: Mapping[str, Any]) -> Iterator[Known]:
    """The questions of one object as rows; at types that do not fit the update there are none.

    Raises `rfactor.Error` where none fits.
    """
    read, last = 0, None
    for seed in seeds_of(record):
        try:
            row = question(parsed(seed))
        except Error as error:
            last = error
            continue
        read += 1
        if row is not None:
            yield row
    if last is not None and not read:
        raise last


def answered(row: Known) -> Known:
    """The row with its answer, found by search; as it is where that is unknown, or cannot be told of other names."""
    types = tuple(map(parse_type, row.types.split(",")))
    update = asked(row.form, types, row.semantics, row.literals)
    answer = recognize(update, limits=LIMITS.with_purse(_PURSE), known=False)
    if answer.verdict == "unknown" or (answer.verdict == "not_associative" and "?" in row.form):
        return row
    if answer.lift is not None:
        answer = replace(answer, overflowing=unreached(update, answer.lift))
    text = written(answer, types)
    return row if text is None else replace(row, answer=text, verdict=answer.verdict)


def update_of(row: Known) -> tuple[Update, Answer | None]:
    """The update that a row is about, its names tokens, and what the row says of it.

    Raises `TableError` where the row does not read.
    """
    try:
        types = tuple(map(parse_type, row.types.split(",")))
        update = asked(row.form, types, row.semantics, row.literals)
        shape = Shape.of(update)
        if shape is None or (shape.text, shape.literals) != (row.form, row.literals):
            raise ValueError("its form is none")
        return update, read(row.answer, update, types, shape.values, row.id, shape.meaning)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, Error) as error:
        raise TableError(f"row {row.id} does not read: {error}; generate the table again") from error


def proved_again(row: Known) -> tuple[str, str]:
    """`proved`, `refuted` or `unknown`, and why: what a row says, proved without it. Raises `TableError`."""
    update, answer = update_of(row)
    forget()
    if answer is None:
        return "unknown", "its names are confused"
    claim = claim_of(answer)
    if claim is None:
        verdict = recognize(update, limits=LIMITS.with_purse(_PURSE), known=False).verdict
        result = {row.verdict: "proved", "unknown": "unknown"}.get(verdict, "refuted")
        return result, f"the search says {verdict}"
    found = discharge(claim, LIMITS)
    if isinstance(found, Failed):
        return "refuted" if isinstance(found.verdict, Refuted) else "unknown", found.name
    if (found.identity_kind, found.commutative) != (answer.identity_kind, answer.commutative):
        said = f"its identity is {found.identity_kind}, commutative {found.commutative}"
        less = (
            found.identity_kind == "left" or found.commutative is None
        )  # a side, or whether it commutes, was not proved
        return "unknown" if less else "refuted", said
    return "proved", ""
