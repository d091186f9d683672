"""Reductions that people write, as questions: what the shipped table of known reductions has answers to.

`rfactor/data/reductions.txt` lists them by families:

    # a comment
    [count/where] i32 floats; wrap math; c bool, x1 i32
    o = <; <=
    select(c and a {o} k, x0 + 1, x0), {T}(c)

The head names the family and, after it, the types that what has no type of its own is asked about with; the meanings of
integers, where they are not `wrap` alone; and types of single names, `T` being the type asked about. Then choices and
one update a line. An update is asked about with each combination of the choices that it names as `{name}`; `{T}` is
the type.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter

from rfactor.errors import Error
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import BY_NAME, parse_type
from rfactor.ir.update import Update

TYPES: Mapping[str, tuple[str, ...]] = {
    "signed": ("i8", "i16", "i32", "i64"),
    "unsigned": ("u8", "u16", "u32", "u64"),
    "ints": ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"),
    "floats": ("f16", "f32", "f64"),
    "reals": ("f32", "f64"),
    "numbers": ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"),
    "words": ("i32", "i64", "u32", "u64"),
    "main": ("i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"),
    "common": ("i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "i8", "i16"),
}
"""Short names of several types."""
_HEAD = re.compile(
    r"\[(?P<name>[^]]+)\] (?P<types>[^;]+)(?:; (?P<meanings>(?:wrap|math)(?: (?:wrap|math))?))?(?:; (?P<typed>.+))?"
)
_CHOICE = re.compile(r"(?P<name>[a-z]+) = (?P<values>.+)")


@dataclass(frozen=True, slots=True)
class Question:
    """An update with its types and the meaning of its integers, without an answer."""

    update: str
    type: str
    """Of names that `types` does not name."""
    types: tuple[tuple[str, str], ...]
    semantics: str

    def parsed(self) -> Update:
        """The update. Raises `rfactor.Error` where it has not these types."""
        types = {name: parse_type(type_) for name, type_ in self.types}
        return parse_update(self.update, parse_type(self.type), types, (), Meaning(self.semantics))


@dataclass(frozen=True, slots=True)
class Family:
    """Updates of one kind, at some types."""

    name: str
    types: tuple[str, ...]
    semantics: tuple[str, ...]
    typed: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    templates: Sequence[str]

    def questions(self, template: str) -> Iterator[Question]:
        """The questions of one template: those that can be read, 256 being no u8."""
        named = sorted({name for _, name, _, _ in Formatter().parse(template) if name and name != "T"})
        for values in itertools.product(*(self.choices[name] for name in named)):
            for type_ in self.types:
                update = template.format(T=type_, **dict(zip(named, values, strict=True)))
                own = {name: type_ if t == "T" else t for name, t in self.typed.items() if _names(name, update)}
                floats = all(BY_NAME[t].is_float for t in (type_, *own.values()))
                for meaning in self.semantics[:1] if floats else self.semantics:
                    question = Question(update, type_, tuple(own.items()), meaning)
                    if _is_readable(question):
                        yield question


def families(text: str) -> Iterator[Family]:
    """The families in a text. Raises `ValueError` at a line that is none of a family."""
    for block in re.split(r"\n(?=\[)", "\n" + text):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        head = _HEAD.fullmatch(lines[0])
        if head is None:
            raise ValueError(f"no head of a family: {lines[0]}")
        choices = [found for line in lines[1:] if (found := _CHOICE.fullmatch(line))]
        yield Family(
            head["name"],
            tuple(dict.fromkeys(t for name in head["types"].split() for t in TYPES.get(name, (name,)))),
            tuple((head["meanings"] or "wrap").split()),
            dict(re.findall(r"(\w+) (\w+)", head["typed"] or "")),
            {found["name"]: found["values"].split("; ") for found in choices},
            [line for line in lines[1:] if not _CHOICE.fullmatch(line)],
        )


def questions() -> Iterator[Question]:
    """Every question once, in the order of the file. Raises `ValueError` where an update has none of its types."""
    path = Path(__file__).parent.parent / "data" / "reductions.txt"
    seen: set[Question] = set()
    for family in families(path.read_text(encoding="utf-8")):
        for template in family.templates:
            found = list(family.questions(template))
            if not found:
                raise ValueError(f"{family.name}: {template} has none of the types {' '.join(family.types)}")
            yield from (question for question in found if question not in seen)
            seen.update(found)


def _is_readable(question: Question) -> bool:
    try:
        question.parsed()
    except Error:
        return False
    return True


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
