"""Values that a definition leaves as they are: `f[x] = select(c, v, undef(Int(32)))` keeps `f[x]` where `c` is false.

A function, or a component of one, that is first defined as `undef` keeps what the caller's array holds, for updates in
place. Anywhere else it starts at 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from rfactor.compiler.language.expr import Expr
from rfactor.compiler.language.types import Type, meant
from rfactor.errors import AlgorithmError
from rfactor.ir import expr as ir

_calls = count()


@dataclass(frozen=True, slots=True)
class Undefined:
    """One call of `undef`, until it is known where it stands."""

    name: str


def undef(type: Type) -> Expr:
    """The value that is there: in an update alone or as a branch of `select`, in a pure definition alone."""
    held, name = meant("undef", type), f"undef.{next(_calls)}"
    return Expr(ir.Var(held, name), {name: Undefined(name)})


def is_undefined(value: Expr) -> bool:
    """Whether this is `undef` and nothing else."""
    return isinstance(value.node, ir.Var) and isinstance(value.uses.get(value.node.name), Undefined)


def kept(what: str, value: Expr, current: ir.Expr | None) -> Expr:
    """`value` with `current` in the place of undefined values. Raises `AlgorithmError`, `NotImplementedError`."""
    names = {name for name, used in value.uses.items() if isinstance(used, Undefined)}
    if not names:
        return value
    if current is None:
        raise NotImplementedError(
            f"undef in {what}: a component of it is undef as a whole or not at all; give it a value first"
        )

    def keep(node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Var) and node.name in names:
            return current
        if isinstance(node, ir.Op) and node.op == "select":
            return ir.select(node.args[0], keep(node.args[1]), keep(node.args[2]))
        return node

    done = keep(value.node)
    if ir.names(done) & names:
        raise AlgorithmError(f"{what} calculates with undef (in {value}): it may be a value, or a branch of select")
    return Expr(done, {name: used for name, used in value.uses.items() if name not in names})
