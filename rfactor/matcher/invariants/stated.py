"""Starts and loop invariants as text, over the names of an update."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

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


def read_start(stated: Stated, update: Update, state: Sequence[str] = ()) -> Start:
    """Read each accumulator's value before the loop, over constants: of the update, or of names of their own.

    `state` has the user's names of the accumulators, where those are not `x`, or `x0`, `x1`, … Raises `ParseError`.
    """
    parts: Sequence[str | Value | None] = stated if not isinstance(stated, str) else _texts(stated)
    if len(parts) != len(update.types):
        raise ParseError(f"the start has {len(parts)} values, the update {len(update.types)} accumulators")
    called, known = _called(update, state), _known(update)
    return tuple(_value(part, type_, update, called, known) for part, type_ in zip(parts, update.types, strict=True))


def read_assumed(
    stated: str | Sequence[str], update: Update, start: Start = (), state: Sequence[str] = ()
) -> tuple[Expr, ...]:
    """Read conditions on accumulators and constants, of the update or of its start. Raises `ParseError`.

    `state` has the user's names of the accumulators, as in `read_start`.
    """
    text = stated if isinstance(stated, str) else ", ".join(stated)
    if not text.strip():
        return ()
    before = {var.name: var.type for value in start if value is not None for var in variables(value)}
    called, outside, texts = _called(update, state), before | _known(update), _texts(text)
    for part in texts:
        for name in _names(part):
            if name not in called and name not in outside:
                raise ParseError(f"{name} is no accumulator and no constant of the update, in: {excerpt(part)}")
            if name not in called and name not in update.constants and name not in before:
                raise ParseError(
                    f"{name} is a datum of one iteration, of which a loop invariant does not speak: {excerpt(part)}"
                )
    types = {x.name: x.type for x in update.accumulators} | outside
    renamed = ", ".join(_in_other_names(part, called) for part in texts)
    return parse_tuple(f"{renamed},", types, [BOOL] * len(texts), signatures(update.components))


def _called(update: Update, state: Sequence[str]) -> dict[str, str]:
    """Give the names in the update of what accumulators are called: by the user, and by answers where that is clear."""
    own = [x.name for x in update.accumulators]
    if not state:
        return {name: name for name in own} | ({} if "x" in _known(update) else {"x": "x0"})
    plain = () if any(re.fullmatch(r"x\d+", name) for name in state) else own
    return {name: name for name in plain} | dict(zip(state, own, strict=True))


def _value(
    part: str | Value | None, type_: Type, update: Update, called: Mapping[str, str], known: dict[str, Type]
) -> Expr | None:
    """Read one value; a constant of its own gets the accumulator's type, and has it for the others too."""
    if part is None or (isinstance(part, str) and part.strip() == UNKNOWN):
        return None
    if not isinstance(part, str):
        if type_.is_bool != isinstance(part, bool):
            raise ParseError(f"the start of an accumulator of type {type_} is not {part!r}")
        return parse_tuple(f"{part!r},", {}, [type_])[0] if not isinstance(part, bool) else const(type_, part)
    data = {var.name for var in update.data}
    for name in _names(part):
        if name in called:
            raise ParseError(f"{name} is an accumulator, and has no value before the loop: {excerpt(part)}")
        if name in data:
            raise ParseError(f"{name} is a datum of the iterations, and has no value before the loop: {excerpt(part)}")
        if re.fullmatch(r"[xyz]\d*", name) and not (name == "x" and name in known):
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
    return [name.id for name in _variables(components_of(text)) if name.id not in ("inf", "nan")]


def _variables(components: Sequence[ast.expr]) -> list[ast.Name]:
    """Give the names that are no functions."""
    nodes = [node for component in components for node in ast.walk(component)]
    functions = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return [node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions]


def _in_other_names(text: str, called: Mapping[str, str]) -> str:
    """Write a text with other names of its variables."""
    nodes = components_of(text)
    for name in _variables(nodes):
        name.id = called.get(name.id, name.id)
    return ", ".join(map(ast.unparse, nodes))
