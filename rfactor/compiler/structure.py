"""Whether two pipelines are one: what an algorithm and its schedule are, up to the numbers in names given by nobody.

Compiled code is kept by this, so that a program that builds its pipeline again, over arrays of other sizes, compiles
nothing again.

    f3(x) = b7(x) + 1   and   f0(x) = b2(x) + 1   ->   one structure
    f3(x) = b7(x) + 1   and   f0(x) = p2 + 1      ->   two
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache

from rfactor.compiler.schedule.directives import Schedule
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Expr, walk

_NUMBERS = re.compile(r"(?:^|(?<=[_( ]))(f|b|im|r|p|v|loaded)\d+\$?(?=[_(), ]|$)|\$\d+")
"""In names as `language.names` gives them, and in those made of such: `f0`, `f0_intm`, `im0(p0, 3)`, `blur$1` for a
second `blur`."""


def structure(algorithm: Algorithm, schedule: Schedule) -> tuple[Hashable, ...]:
    """Equal for two pipelines only if renaming their functions, arrays, parameters and domains makes them one.

    A word keeps its stem (`blur` of `blur$1`) and is told from others of that stem by when it first occurs, so that no
    two words of one pipeline become one. Words of the language have no number, hence stay what they are.
    """
    variants: dict[str, dict[str, int]] = {}
    words: dict[str, Hashable] = {}
    numbers: dict[Expr, int] = {}
    tokens: list[Hashable] = []

    def word(text: str) -> Hashable:
        found = words.get(text)
        if found is None:
            base, dot, rest = text.partition(".")
            stem = _NUMBERS.sub(r"\1", base)
            known = variants.setdefault(stem, {})
            found = words[text] = (stem, known.setdefault(base, len(known)), dot, rest)
        return found

    def atom(value: object) -> Hashable:
        if isinstance(value, str):
            return word(value)
        if isinstance(value, tuple):
            return tuple([atom(part) for part in value])
        assert isinstance(value, Hashable)
        return (type(value), value)

    def add(value: object) -> None:
        if isinstance(value, Expr):
            for node in walk(value):
                if node not in numbers:
                    children = tuple([numbers[child] for child in node.children])
                    tokens.append((type(node), atom(node._label()), children))
                    numbers[node] = len(numbers)
            tokens.append(numbers[value])
        elif isinstance(value, tuple):
            tokens.append(len(value))
            for part in value:
                add(part)
        elif isinstance(value, Mapping):
            add(tuple(value.items()))
        elif is_dataclass(value) and not isinstance(value, type):
            tokens.append(type(value))
            for name in _fields(type(value)):
                add(getattr(value, name))
        else:
            tokens.append(atom(value))

    add(algorithm)
    add(schedule)
    return tuple(tokens)


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))
