"""Questions from templates: one text for all spellings and types of a reduction."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import Formatter

from rfactor.ir.types import BY_NAME

SIGNED = ("i8", "i16", "i32", "i64")
UNSIGNED = ("u8", "u16", "u32", "u64")
INTS = SIGNED + UNSIGNED
FLOATS = ("f16", "f32", "f64")
REALS = ("f32", "f64")
WORDS = ("i32", "i64", "u32", "u64")
SIGNED_WORDS = ("i32", "i64")
MAIN = ("i32", "i64", "u32", "f32", "f64")
COMMON = ("i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64")
NUMBERS = INTS + FLOATS
WRAP, MATH, BOTH = ("wrap",), ("math",), ("wrap", "math")


@dataclass(frozen=True, slots=True)
class Question:
    """An update with its types and the meaning of its integers, without an answer."""

    update: str
    type: str
    types: tuple[tuple[str, str], ...]
    semantics: str


@dataclass(frozen=True, slots=True)
class Family:
    """Updates of one kind: each template, with each combination of the choices that it names, for each type.

    A template names a choice as `{name}`, the same value wherever it stands; `{T}` is the type. `types` are those of
    what `typed` does not name; one that is written `T` in `typed` is the type, too. `semantics`: the meanings of
    integers that are asked about; of floats alone there is one.
    """

    name: str
    types: Sequence[str]
    templates: Sequence[str]
    choices: Mapping[str, Sequence[object]] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    semantics: Sequence[str] = WRAP

    def questions(self) -> Iterator[Question]:
        """The questions, in the order of types, meanings, templates and choices."""
        for type_ in self.types:
            typed = {name: type_ if t == "T" else t for name, t in self.typed.items()}
            integers = BY_NAME[type_].is_int or any(BY_NAME[t].is_int for t in typed.values())
            for meaning in self.semantics if integers else self.semantics[:1]:
                for update in self.updates(type_):
                    own = tuple(pair for pair in typed.items() if _names(pair[0], update))
                    yield Question(update, type_, own, meaning)

    def updates(self, type_: str) -> Iterator[str]:
        """The texts for one type."""
        for template in self.templates:
            named = sorted({name for _, name, _, _ in Formatter().parse(template) if name and name != "T"})
            for values in itertools.product(*(self.choices[name] for name in named)):
                yield template.format(T=type_, **dict(zip(named, values, strict=True)))


def _names(name: str, update: str) -> bool:
    """Whether a name stands in an update, or is an accumulator of it."""
    if name[0] == "x" and name[1:].isdigit() and int(name[1:]) < _components(update):
        return True
    return re.search(rf"\b{name}\b", update) is not None


def _components(update: str) -> int:
    """The number of expressions of a tuple."""
    outside = re.sub(r"[^(),]", "", update)
    while (inner := re.sub(r"\([^()]*\)", "", outside)) != outside:
        outside = inner
    return outside.count(",") + 1
