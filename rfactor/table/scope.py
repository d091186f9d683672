"""The types that a row speaks of: `i32`, `signed`, `u8|u16,*`.

An operator's components have one type T each, or are *open*: only moved, never computed with, so that any type will
do. A scope lists the types T may be, by name or by group, and writes `*` for an open component: `signed,*` is a row
for a pair whose first component is any signed integer and whose second is anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rfactor.errors import TableError
from rfactor.ir.types import BF16, BY_NAME, F32, TABLED, Type

GROUPS: dict[str, tuple[Type, ...]] = {
    "signed": tuple(t for t in TABLED if t.code == "int"),
    "unsigned": tuple(t for t in TABLED if t.code == "uint"),
    "int": tuple(t for t in TABLED if t.is_int),
    "float": tuple(t for t in TABLED if t.is_float),
    "number": tuple(t for t in TABLED if not t.is_bool),
}
"""Names for sets of types."""
OPEN = "*"
_MOST_COMPONENTS = 2


@dataclass(frozen=True, slots=True)
class Scope:
    """Which tuples of types a row holds for."""

    types: tuple[Type, ...]
    """What T may be, in the order of `TABLED`."""
    open: tuple[bool, ...]
    """For each component whether it takes any type."""

    @property
    def text(self) -> str:
        named = [name for name, members in GROUPS.items() if members == self.types]
        inner = named[0] if named else "|".join(t.name for t in self.types)
        return ",".join(OPEN if free else inner for free in self.open)

    def holds(self, types: Sequence[Type]) -> bool:
        """Whether the row speaks of a tuple of these types; what is proved of f32, as of reals, holds for bf16 too."""
        if len(types) != len(self.open):
            return False
        fixed = {t for t, free in zip(types, self.open, strict=True) if not free}
        return len(fixed) <= 1 and all((F32 if t is BF16 else t) in self.types for t in fixed)

    def members(self) -> Iterator[tuple[Type, ...]]:
        """Every tuple of types that the row holds for."""
        for own in self.types:
            tuples: list[tuple[Type, ...]] = [()]
            for free in self.open:
                tuples = [(*start, t) for start in tuples for t in (TABLED if free else (own,))]
            yield from tuples


@lru_cache(maxsize=256)
def parse_scope(text: object) -> Scope:
    """The scope written `text`. Raises `TableError`."""
    parts = text.split(",") if isinstance(text, str) else []
    inner = {part for part in parts if part != OPEN}
    if len(inner) > 1 or not 1 <= len(parts) <= _MOST_COMPONENTS:
        raise TableError(f"a scope names one set of types for one component or two, not {text!r:.80}")
    types = GROUPS.get(text_of := next(iter(inner), "number")) or tuple(_named(name) for name in text_of.split("|"))
    return Scope(types, tuple(part == OPEN for part in parts))


def _named(name: str) -> Type:
    if name not in BY_NAME:
        raise TableError(f"no type or group of types is called {name!r:.80}")
    return BY_NAME[name]
