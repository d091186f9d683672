"""JSON objects from outside, read part by part: what is not of the kind that is needed is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rfactor.errors import Error, excerpt
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.unknown import Signature, parse_signature


def read_object(text: str | bytes, needs: str) -> dict[str, Any]:
    """The object that a text is. Raises `rfactor.Error`, which says what the object `needs`."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, numbers too long, or nested too deep
        raise Error(f"not a JSON object: {error}") from None
    if not isinstance(record, dict):
        raise Error(needs)
    return record


def with_settings(record: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The object, with the settings for keys that it has not, or has as null."""
    return {**settings, **{key: value for key, value in record.items() if value is not None}}


def known_type(name: object) -> Type:
    """The type called `name`. Raises `rfactor.Error` naming the accepted ones."""
    if not isinstance(name, str):
        raise Error(f"a type is a name such as i32, not {name!r:.80}")
    try:
        return parse_type(name)
    except ValueError as error:
        raise Error(excerpt(str(error))) from None


def type_of(record: Mapping[str, Any]) -> Type:
    """The type of names that nothing else types."""
    return known_type(record.get("type") or "i32")


def types_of(record: Mapping[str, Any]) -> dict[str, Type]:
    """The types of single names."""
    types = record.get("types") or {}
    if not isinstance(types, dict):
        raise Error('types is an object of names and types, such as {"i": "i32"}')
    return {name: known_type(type_) for name, type_ in types.items()}


def constants_of(record: Mapping[str, Any]) -> list[str]:
    """The names that stay the same through the loop: a list, or a text with commas."""
    return _names_of(record, "const")


def state_of(record: Mapping[str, Any]) -> list[str]:
    """The names of the accumulators, in order: a list, or a text with commas."""
    return _names_of(record, "state")


def _names_of(record: Mapping[str, Any], key: str) -> list[str]:
    names = record.get(key) or []
    if isinstance(names, str):
        names = [name.strip() for name in names.split(",") if name.strip()]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Error(f"{key} is a list of names")
    return names


def meaning_of(record: Mapping[str, Any]) -> Meaning:
    """The meaning of integer arithmetic."""
    semantics = record.get("semantics") or "wrap"
    if semantics not in ("wrap", "math"):
        raise Error(f"semantics is wrap or math, not {semantics!r:.80}")
    return Meaning(semantics)


def functions_of(record: Mapping[str, Any]) -> dict[str, Signature]:
    """The types of functions that are not known otherwise."""
    functions = record.get("functions") or {}
    if not isinstance(functions, dict):
        raise Error('functions is an object of names and types, such as {"h": "i32 -> f32"}')
    try:
        return {name: parse_signature(str(text)) for name, text in functions.items()}
    except ValueError as error:
        raise Error(excerpt(str(error))) from None


def start_of(record: Mapping[str, Any]) -> str | list[Any] | None:
    """The accumulators' values before the loop: a text with commas, or a list."""
    start = record.get("start")
    if isinstance(start, list) and all(value is None or isinstance(value, str | bool | int | float) for value in start):
        return start
    if start is not None and not isinstance(start, str):
        raise Error('start is a text such as "0, k, _", or a list of values')
    return start


def assumed_of(record: Mapping[str, Any]) -> str | list[str]:
    """Loop invariants that are assumed: a text with commas, or a list."""
    assumed = record.get("assume") or ""
    return assumed if isinstance(assumed, str) else texts_of(record, "assume")


def texts_of(record: Mapping[str, Any], key: str) -> list[str]:
    """A list of expressions as text; empty where there is none."""
    texts = record.get(key) or []
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Error(f"{key} is a list of expressions as text")
    return texts
