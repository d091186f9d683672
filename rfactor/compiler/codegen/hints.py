"""What LLVM is told of a loop."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def step_by_step(module: ir.Module) -> Any:
    """That iterations of the loop whose branch back has this metadata are not to be put together into vectors.

    LLVM asks that it be of one loop, and name itself first.
    """
    note = module.add_metadata(
        [ir.MetaDataString(module, "llvm.loop.vectorize.enable"), ir.Constant(ir.IntType(1), False)]
    )
    own = module.add_metadata([ir.MetaDataString(module, f"loop {len(module.metadata)}"), note])
    own.operands = (own, note)
    return own
