"""Whether two pipelines are one: what an algorithm and its schedule are, up to the numbers in names given by nobody.

Compiled code is kept by this, so that a program that builds its pipeline again, over arrays of other sizes, compiles
nothing again.

    f3(x) = b7(x) + 1   and   f0(x) = b2(x) + 1   ->   one structure
    f3(x) = b7(x) + 1   and   f0(x) = p2 + 1      ->   two
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import fields, is_dataclass

from rfactor.compiler.schedule.directives import Schedule
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Expr, walk

_NUMBERS = re.compile(r"(?:^|(?<=_))(f|b|im|r|p|v|loaded)\d+\$?(?=_|$)|\$\d+")
"""In names as `language.names` gives them, and in those made of such: `f0`, `f0_intm`, `blur$1` for a second `blur`."""


def structure(algorithm: Algorithm, schedule: Schedule) -> tuple[Hashable, ...]:
    """Equal for two pipelines only if renaming their functions, arrays, parameters and domains makes them one.

    A word keeps its stem (`blur` of `blur$1`) and is told from others of that stem by when it first occurs, so that no
    two words of one pipeline become one. Words of the language have no number, hence stay what they are.
    """
    variants: dict[str, dict[str, int]] = {}
    numbers: dict[Expr, int] = {}

    def word(text: str) -> Hashable:
        base, dot, rest = text.partition(".")
        stem = _NUMBERS.sub(r"\1", base)
        known = variants.setdefault(stem, {})
        return (stem, known.setdefault(base, len(known)), dot, rest)

    def atom(value: object) -> Hashable:
        if isinstance(value, str):
            return word(value)
        if isinstance(value, tuple):
            return tuple(map(atom, value))
        assert isinstance(value, Hashable)
        return (type(value), value)

    def tokens(value: object) -> Iterator[Hashable]:
        if isinstance(value, Expr):
            for node in walk(value):
                if node not in numbers:
                    yield (type(node), atom(node._label()), tuple(numbers[child] for child in node.children))
                    numbers[node] = len(numbers)
            yield numbers[value]
        elif is_dataclass(value) and not isinstance(value, type):
            yield type(value)
            for field in fields(value):
                yield from tokens(getattr(value, field.name))
        elif isinstance(value, Mapping):
            yield from tokens(tuple(value.items()))
        elif isinstance(value, tuple):
            yield len(value)
            for part in value:
                yield from tokens(part)
        else:
            yield atom(value)

    return (*tokens(algorithm), *tokens(schedule))
