"""Values that a definition leaves as they are: `f[x] = select(c, v, undef(Int(32)))` keeps `f[x]` where `c` is false.

What is calculated with `undef` is undefined, but for the branch of a `select` that is not taken. A function that is
first defined so keeps what the caller's array holds there, for updates in place. Anywhere else it starts at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.types import Type, meant
from rfactor.compiler.undefined import defined as parted
from rfactor.compiler.undefined import differing
from rfactor.errors import AlgorithmError
from rfactor.ir import expr as ir
from rfactor.ir.types import BOOL

_calls = count()


@dataclass(frozen=True, slots=True)
class Undefined:
    """One call of `undef`, until it is known where it stands."""

    name: str


def undef(type: Type) -> Expr:
    """The value that is there, alone or as a part of another; in the index that an update writes, no value: nothing is
    written there. Not in a predicate."""
    held, name = meant("undef", type), f"undef.{next(_calls)}"
    return Expr(ir.Var(held, name), {name: Undefined(name)})


def defined(value: Expr) -> tuple[Expr | None, ir.Expr | None]:
    """`value` where it is defined, and where that is; None for nowhere, and for everywhere."""
    names = {name for name, used in value.uses.items() if isinstance(used, Undefined)}
    if not names:
        return value, None
    done, where = parted(value.node, names)
    uses = {name: used for name, used in value.uses.items() if name not in names}
    return (None if done is None else Expr(done, uses)), where


def kept(value: Expr, current: ir.Expr) -> Expr:
    """`value` with `current` where it is undefined."""
    known, where = defined(value)
    if known is None:
        return Expr(current)
    return known if where is None else Expr(ir.select(where, known.node, current), known.uses)


def located(point: Sequence[Expr], held: list[Expr]) -> tuple[Expr, ...]:
    """`point` where it is defined; where that is, if not everywhere, is added to `held`."""
    found = []
    for argument in point:
        known, where = defined(argument)
        uses = {name: used for name, used in argument.uses.items() if not isinstance(used, Undefined)}
        if known is None or where is not None:
            held.append(Expr(ir.Const(BOOL, False) if where is None else where, uses))
        found.append(Expr(ir.zero(argument.node.type)) if known is None else known)
    return tuple(found)


def started(what: str, values: Sequence[Expr]) -> tuple[list[Expr], tuple[bool, ...], ir.Expr | None]:
    """The values of a pure definition with 0 where they are undefined; which of them are so everywhere, if any is; and
    where the others are not. Raises `AlgorithmError` where that is not the same for all of those."""
    found = list(map(defined, values))
    where = [condition for known, condition in found if known is not None]
    wrong = differing(where)
    if wrong is not None:
        raise AlgorithmError(f"{wrong}\nin {what}: write functions of their own")
    results = [kept(value, ir.zero(value.node.type)) for value in values]
    nowhere = tuple(known is None for known, _ in found)
    return results, nowhere if any(nowhere) else (), where[0] if where else None
