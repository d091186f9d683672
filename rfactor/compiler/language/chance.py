"""Random numbers: a hash of the point that is computed, of the seed, and of which call it is.

The same pipeline gives the same numbers at the same point, whatever its schedule. The call is resolved in the
definition that it stands in: it depends on the definition's pure and reduction variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count

from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr
from rfactor.compiler.language.functions import cast
from rfactor.compiler.language.types import Type
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir.types import F32, I32, U32

_calls = count()


@dataclass(frozen=True, slots=True)
class Draw:
    """One call of a function of this file, until it is known where it stands."""

    number: int
    seed: Expr

    @property
    def name(self) -> str:
        """Of the variable that stands for its 32 bits."""
        return f"random.{self.number}"


def random_uint(seed: ExprLike = 0) -> Expr:
    """A u32, every value equally likely. Raises `TypeMismatch` for a seed that is not i32."""
    held = as_expr(seed)
    if held.node.type != I32:
        raise TypeMismatch(f"the seed {held} is {held.node.type}: it is i32")
    draw = Draw(next(_calls), held)
    return Expr(ir.Var(U32, draw.name), {**held.uses, draw.name: draw})


def random_int(seed: ExprLike = 0) -> Expr:
    """An i32, every value equally likely."""
    return cast(Type(I32), random_uint(seed))


def random_float(seed: ExprLike = 0) -> Expr:
    """An f32 of 24 bits from 0 up to 1, 1 excluded."""
    return cast(Type(F32), random_uint(seed) >> 8) * Expr(ir.const(F32, 2.0**-24))


def resolved(expr: Expr, variables: Iterable[ir.Var]) -> Expr:
    """`expr` in a definition over `variables`: its random numbers are hashes of them."""
    draws = [used for used in expr.uses.values() if isinstance(used, Draw)]
    if not draws:
        return expr
    values: dict[str, ir.Expr] = {}
    for draw in draws:
        bits: ir.Expr = _mixed(ir.Const(U32, draw.number & 0xFFFFFFFF))
        for part in (draw.seed.node, *variables):
            bits = _mixed(ir.apply("^", bits, ir.cast(U32, part)))
        values[draw.name] = bits
    uses: Uses = {name: used for name, used in expr.uses.items() if not isinstance(used, Draw)}
    return Expr(ir.substitute(expr.node, values), uses)


def _mixed(bits: ir.Expr) -> ir.Expr:
    """A permutation of 32 bits in which each bit of the result depends on all: multiply-xorshift, as in lowbias32."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        bits = ir.apply("^", bits, ir.apply(">>", bits, ir.Const(U32, shift)))
        bits = ir.apply("*", bits, ir.Const(U32, factor))
    return ir.apply("^", bits, ir.apply(">>", bits, ir.Const(U32, 16)))
