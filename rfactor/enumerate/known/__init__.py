"""Reductions that people write, as questions: what the shipped table of known reductions has answers to."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.enumerate.known import folds, recurrences, refused, states, tuples
from rfactor.enumerate.known.template import Family, Question
from rfactor.errors import Error
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import parse_type

FAMILIES: tuple[Family, ...] = (
    *folds.FAMILIES,
    *recurrences.FAMILIES,
    *states.FAMILIES,
    *tuples.FAMILIES,
    *refused.FAMILIES,
)


def seeds() -> Iterator[Question]:
    """Each question once, in a fixed order, at the types that its update can have."""
    return iter(dict.fromkeys(question for family in FAMILIES for question in family.questions() if fits(question)))


def fits(question: Question) -> bool:
    """Whether the update can be read at the types asked about: 256 is no u8."""
    types = {name: parse_type(type_) for name, type_ in question.types}
    try:
        parse_update(question.update, parse_type(question.type), types, (), Meaning(question.semantics))
    except Error:
        return False
    return True
