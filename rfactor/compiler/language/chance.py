"""Random numbers: a hash of the seed, of which call it is, of the definition it stands in, and of the point.

The same program gives the same numbers whatever its schedule, and those that Halide gives it: calls and definitions are
numbered as there, in the order in which a process makes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count

from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr
from rfactor.compiler.language.functions import cast
from rfactor.compiler.language.types import Type
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.types import F32, I32, U32

_calls = count()
_definitions = count()
_UNNUMBERED = ContextVar("_UNNUMBERED", default=False)


@dataclass(frozen=True, slots=True)
class Draw:
    """One call of a function of this file, until it is known where it stands: a call of this name, of its seed."""

    number: int

    @property
    def name(self) -> str:
        """What its 32 bits are called."""
        return f"random.{self.number}"

    def types(self) -> list[Type]:
        """Of its value, as a function tells it."""
        return [Type(U32)]


def random_uint(seed: ExprLike | None = None) -> Expr:
    """A u32, every value equally likely. Raises `TypeMismatch` for a seed that is neither i32 nor u32."""
    held = None if seed is None else as_expr(seed)
    if held is not None and held.node.type not in (I32, U32):
        raise TypeMismatch(f"the seed {held} is {held.node.type}: it is i32 or u32")
    draw = Draw(next(_calls))
    seeds = () if held is None else (held.node,)
    return Expr(ir.Call(U32, draw.name, seeds, "func"), {**({} if held is None else held.uses), draw.name: draw})


def random_int(seed: ExprLike | None = None) -> Expr:
    """An i32, every value equally likely."""
    return cast(Type(I32), random_uint(seed))


def random_float(seed: ExprLike | None = None) -> Expr:
    """An f32 of 23 bits from 0 up to 1, 1 excluded. Raises `TypeMismatch` for a seed that is not i32."""
    if seed is not None and as_expr(seed).node.type != I32:
        raise TypeMismatch(f"the seed {as_expr(seed)} is {as_expr(seed).node.type}: it is i32")
    return cast(Type(F32), random_uint(seed) >> 9) * Expr(ir.const(F32, 2.0**-23))


def numbered() -> int:
    """The number of the next definition that this process makes; within `unnumbered`, of none."""
    return -1 if _UNNUMBERED.get() else next(_definitions)


@contextmanager
def unnumbered() -> Iterator[None]:
    """Within it definitions count for nothing, as Halide makes none: they may have no random numbers."""
    token = _UNNUMBERED.set(True)
    try:
        yield
    finally:
        _UNNUMBERED.reset(token)


def resolved(expr: Expr, number: int, variables: Sequence[ir.Var]) -> Expr:
    """`expr` in the definition `number` over `variables`, outermost last: its random numbers are hashes of them."""
    draws = {name: used.number for name, used in expr.uses.items() if isinstance(used, Draw)}
    if not draws:
        return expr

    def drawn(node: ir.Expr) -> ir.Expr | None:
        if not isinstance(node, ir.Call) or node.name not in draws:
            return None
        known = (ir.Const(U32, n & 0xFFFFFFFF) for n in (draws[node.name], number))
        return _hash((*node.args, *known, *reversed(variables)))

    uses: Uses = {name: used for name, used in expr.uses.items() if name not in draws}
    return Expr(ir.transform(expr.node, drawn), uses)


def _hash(parts: Sequence[ir.Expr]) -> ir.Expr:
    """The 32 bits of Halide's `random_int`: a quadratic permutation of u32, applied for each part to the sum so far."""
    bits: ir.Expr = ir.Const(U32, 0)
    for part in parts:
        bits = ir.apply("+", bits, ir.cast(U32, part))
        square = ir.apply("*", bits, ir.Const(U32, 1040796640))
        factor = ir.apply("+", square, ir.Const(U32, 1121052041))
        bits = ir.apply("+", ir.apply("*", factor, bits), ir.Const(U32, 576942909))
    return ir.apply("^", bits, ir.apply(">>", bits, ir.Const(U32, 16)))
