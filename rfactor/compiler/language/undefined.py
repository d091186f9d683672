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
from rfactor.errors import AlgorithmError
from rfactor.ir import expr as ir
from rfactor.ir.types import BOOL

_calls = count()
TRUE = ir.Const(BOOL, True)


@dataclass(frozen=True, slots=True)
class Undefined:
    """One call of `undef`, until it is known where it stands."""

    name: str


def undef(type: Type) -> Expr:
    """The value that is there, alone or as a part of another; not in an index that is written, or in a predicate."""
    held, name = meant("undef", type), f"undef.{next(_calls)}"
    return Expr(ir.Var(held, name), {name: Undefined(name)})


def defined(value: Expr) -> tuple[Expr | None, ir.Expr | None]:
    """`value` where it is defined, and where that is; None for nowhere, and for everywhere."""
    names = {name for name, used in value.uses.items() if isinstance(used, Undefined)}
    if not names:
        return value, None
    known: dict[ir.Expr, tuple[ir.Expr | None, ir.Expr | None]] = {}

    def visit(node: ir.Expr) -> tuple[ir.Expr | None, ir.Expr | None]:
        if node not in known:
            known[node] = parted(node)
        return known[node]

    def parted(node: ir.Expr) -> tuple[ir.Expr | None, ir.Expr | None]:
        if isinstance(node, ir.Var) and node.name in names:
            return None, None
        found = [visit(child) for child in node.children]
        chosen = isinstance(node, ir.Op) and node.op == "select"
        operands = [part for part, _ in found if part is not None]
        conditions = [where for _, where in (found[:1] if chosen else found) if where is not None]
        if chosen and found[0][0] is not None and (found[1][0] is None) != (found[2][0] is None):
            taken = 1 if found[2][0] is None else 2
            test = found[0][0] if taken == 1 else ir.apply("not", found[0][0])
            arm, where = found[taken]
            return arm, ir.conjunction(*conditions, test, *(() if where is None else (where,)))
        if len(operands) < len(found):
            return None, None
        if chosen and (found[1][1] is not None or found[2][1] is not None):
            conditions.append(ir.select(operands[0], found[1][1] or TRUE, found[2][1] or TRUE))
        return ir.rebuild(node, tuple(operands)), ir.conjunction(*conditions) if conditions else None

    done, where = visit(value.node)
    uses = {name: used for name, used in value.uses.items() if name not in names}
    return (None if done is None else Expr(done, uses)), where


def kept(value: Expr, current: ir.Expr) -> Expr:
    """`value` with `current` where it is undefined."""
    known, where = defined(value)
    if known is None:
        return Expr(current)
    return known if where is None else Expr(ir.select(where, known.node, current), known.uses)


def started(what: str, values: Sequence[Expr]) -> tuple[list[Expr], tuple[bool, ...], ir.Expr | None]:
    """The values of a pure definition with 0 where they are undefined; which of them are so everywhere, if any is; and
    where the others are not. Raises `AlgorithmError` where that is not the same for all of those."""
    found = list(map(defined, values))
    where = [condition for known, condition in found if known is not None]
    if any(condition != where[0] for condition in where):
        shown = (f"  Condition {i}: {'(undefined)' if c is None else c}" for i, c in zip(count(), where, strict=False))
        raise AlgorithmError(
            "\n".join(("Conditionally-undef values in a Tuple should have the same conditions", *shown))
            + f"\nin {what}: write functions of their own"
        )
    results = [kept(value, ir.zero(value.node.type)) for value in values]
    nowhere = tuple(known is None for known, _ in found)
    return results, nowhere if any(nowhere) else (), where[0] if where else None
