"""Entry checks that fail in every run: their conditions are false by what is known when code is made."""

from __future__ import annotations

from collections.abc import Iterator

from rfactor.ir.expr import Const
from rfactor.ir.loopnest import Assert, Block, Let, Stmt


def always_failing(nest: Stmt) -> Iterator[str]:
    """What such checks of a lowered nest say, with a name in place of a number that is given at run time."""
    if isinstance(nest, Block):
        for statement in nest.statements:
            yield from always_failing(statement)
    elif isinstance(nest, Let):
        yield from always_failing(nest.body)
    elif isinstance(nest, Assert) and isinstance(nest.condition, Const) and not nest.condition.value:
        yield nest.message.format(*(a.value if isinstance(a, Const) else a for a in nest.arguments))
