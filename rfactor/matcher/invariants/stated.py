"""Starts and loop invariants as text, over the names of an update."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from rfactor.errors import ParseError, excerpt
from rfactor.ir.expr import Expr, Value, const, variables
from rfactor.ir.parser import parse_tuple
from rfactor.ir.syntax import components_of
from rfactor.ir.types import BOOL, Type
from rfactor.ir.unknown import signatures
from rfactor.ir.update import Update
from rfactor.matcher.invariants.runs import Start

UNKNOWN = "_"
"""Written in place of a value before the loop of which nothing is known."""
Stated = str | Sequence[str | Value | None]
"""A text with commas, or values one by one."""


def read_start(stated: Stated, update: Update) -> Start:
    """Read each accumulator's value before the loop, over constants: of the update, or of names of their own.

    Raises `ParseError`.
    """
    parts: Sequence[str | Value | None] = stated if not isinstance(stated, str) else _texts(stated)
    if len(parts) != len(update.types):
        raise ParseError(f"the start has {len(parts)} values, the update {len(update.types)} accumulators")
    return tuple(_value(part, type_, update) for part, type_ in zip(parts, update.types, strict=True))


def read_assumed(stated: str | Sequence[str], update: Update, start: Start = ()) -> tuple[Expr, ...]:
    """Read conditions on accumulators and constants, of the update or of its start. Raises `ParseError`."""
    text = stated if isinstance(stated, str) else ", ".join(stated)
    if not text.strip():
        return ()
    before = {var.name: var.type for value in start if value is not None for var in variables(value)}
    known = {x.name: x.type for x in update.accumulators} | before | _known(update)
    texts = [re.sub(r"\bx\b", "x0", part) for part in _texts(text)]
    for part in texts:
        for name in _names(part):
            if name not in known:
                raise ParseError(f"{name} is no accumulator and no constant of the update, in: {excerpt(part)}")
            if name not in update.constants and name not in before and not re.fullmatch(r"x\d+", name):
                raise ParseError(
                    f"{name} is a datum of one iteration, of which a loop invariant does not speak: {excerpt(part)}"
                )
    return parse_tuple(", ".join(texts) + ",", known, [BOOL] * len(texts), signatures(update.components))


def _value(part: str | Value | None, type_: Type, update: Update) -> Expr | None:
    if part is None or (isinstance(part, str) and part.strip() == UNKNOWN):
        return None
    if not isinstance(part, str):
        if type_.is_bool != isinstance(part, bool):
            raise ParseError(f"the start of an accumulator of type {type_} is not {part!r}")
        return parse_tuple(f"{part!r},", {}, [type_])[0] if not isinstance(part, bool) else const(type_, part)
    known = _known(update)
    for name in _names(part):
        if name in known and name not in update.constants:
            raise ParseError(f"{name} is a datum of the iterations, and has no value before the loop: {excerpt(part)}")
        if re.fullmatch(r"[xyz]\d*", name):
            raise ParseError(f"{name} names an operand, and is no constant: {excerpt(part)}")
        known.setdefault(name, type_)
    return parse_tuple(f"{part},", known, [type_], signatures(update.components))[0]


def _known(update: Update) -> dict[str, Type]:
    """Give the types of data and constants."""
    own = {x.name for x in update.accumulators}
    return {v.name: v.type for component in update.components for v in variables(component) if v.name not in own}


def _texts(text: str) -> list[str]:
    """Cut a text at the commas between its components. Raises `ParseError`."""
    return [ast.unparse(node) for node in components_of(text)]


def _names(text: str) -> list[str]:
    """Name the variables of a text, but for those with a meaning."""
    called = {id(n.func) for c in components_of(text) for n in ast.walk(c) if isinstance(n, ast.Call)}
    found = [n for c in components_of(text) for n in ast.walk(c) if isinstance(n, ast.Name) and id(n) not in called]
    return [name.id for name in found if name.id not in ("inf", "nan")]
