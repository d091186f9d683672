"""What LLVM is told of a loop, at its branch back."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

_NO_VECTORS = ("llvm.loop.vectorize.enable", ir.Constant(ir.IntType(1), False))
_NOT_UNROLLED = ("llvm.loop.unroll.disable",)


def step_by_step(back: Any) -> None:
    """Iterations of the loop are not to be put together into vectors."""
    _told(back, _NO_VECTORS)


def leave_alone(back: Any) -> None:
    """Nor is the loop to be unrolled."""
    _told(back, _NO_VECTORS, _NOT_UNROLLED)


def _told(back: Any, *notes: tuple[Any, ...]) -> None:
    """LLVM asks that what is said be of one loop, and name itself first."""
    module = back.function.module
    said = [module.add_metadata([ir.MetaDataString(module, key), *value]) for key, *value in notes]
    own = module.add_metadata([ir.MetaDataString(module, f"loop {len(module.metadata)}"), *said])
    own.operands = (own, *said)
    back.set_metadata("llvm.loop", own)
