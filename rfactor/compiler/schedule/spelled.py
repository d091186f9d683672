"""The names of loops as Halide writes them, with what each was made of: `x.xo`, or `x.xo.t` of `x.xo` and `y`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from rfactor.compiler.language.spelling import variable_name
from rfactor.compiler.schedule.directives import Fuse, Split, StageSchedule


@dataclass(frozen=True, slots=True)
class Spelled:
    """The loops of a stage."""

    names: dict[str, str]
    """By their own names."""
    relations: tuple[tuple[Split | Fuse, dict[str, str]], ...]
    """Each split and fuse with the names of what it is made of and makes, by field."""


def spelled_loops(schedule: StageSchedule, numbers: Iterator[int] | None = None) -> Spelled:
    """The loops of a stage. `numbers` are taken for those that the program did not name: `x.v0`."""
    free = count() if numbers is None else numbers
    names: dict[str, str] = {}
    relations: list[tuple[Split | Fuse, dict[str, str]]] = []

    def name_of(loop: str) -> str:
        return names.get(loop) or variable_name(loop)

    for relation in schedule.relations:
        if isinstance(relation, Fuse):
            parts = {"inner": name_of(relation.inner), "outer": name_of(relation.outer)}
            names[relation.fused] = parts["fused"] = f"{parts['inner']}.{variable_name(relation.fused)}"
        else:
            old = name_of(relation.old)
            stem = "r" if "$" in old else "v"
            inner = (
                f"{stem}{next(free)}"
                if relation.inner.startswith(f"{relation.old}.")
                else variable_name(relation.inner)
            )
            outer = old.partition("$")[0] if relation.outer == relation.old else variable_name(relation.outer)
            if relation.outer == relation.old:
                outer = outer.rpartition(".")[2]
            parts = {"old": old, "outer": f"{old}.{outer}", "inner": f"{old}.{inner}"}
            names[relation.outer], names[relation.inner] = parts["outer"], parts["inner"]
        relations.append((relation, parts))
    own = {dimension.name: name_of(dimension.name) for dimension in schedule.dimensions}
    return Spelled({**names, **own}, tuple(relations))
