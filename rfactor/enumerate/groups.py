"""Which types are treated together: one search, one proof wherever a proof of one is a proof of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rfactor.enumerate.points import BOOLEAN, INTEGER, NATURAL, SIGNED, UNSIGNED, Family
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import TABLED, Type
from rfactor.native.lanes import REAL, Domain, domain_of


@dataclass(frozen=True, slots=True)
class Group:
    """Types of one kind under one meaning."""

    name: str
    types: tuple[Type, ...]
    """Narrowest first."""
    meaning: Meaning
    family: Family
    """Whose candidates are tested."""

    @property
    def domain(self) -> Domain:
        """The domain of the widest type; of all of them where width does not matter."""
        return domain_of(self.types[-1], self.meaning)

    @property
    def all_types(self) -> int:
        """A bit for every type."""
        return (1 << len(self.types)) - 1

    @property
    def is_width_free(self) -> bool:
        """Whether the types differ in nothing that a proof sees: unbounded integers, reals, bool."""
        return self.domain == REAL or self.types[0].is_bool


def groups(types: Sequence[Type], meanings: Sequence[Meaning]) -> list[Group]:
    """The groups that cover these types under these meanings; floats and bool have one meaning."""
    chosen = [t for t in TABLED if t in types]

    def of(code: str) -> tuple[Type, ...]:
        return tuple(t for t in chosen if t.code == code)

    candidates = [Group("bool", of("bool"), Meaning.WRAP, BOOLEAN), Group("float", of("float"), Meaning.WRAP, SIGNED)]
    if Meaning.WRAP in meanings:
        candidates += [
            Group("signed", of("int"), Meaning.WRAP, SIGNED),
            Group("unsigned", of("uint"), Meaning.WRAP, UNSIGNED),
        ]
    if Meaning.MATH in meanings:
        candidates += [
            Group("signed-math", of("int"), Meaning.MATH, INTEGER),
            Group("unsigned-math", of("uint"), Meaning.MATH, NATURAL),
        ]
    return [group for group in candidates if group.types]
