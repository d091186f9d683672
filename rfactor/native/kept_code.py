"""Keep object code on disk, so that a loop that was compiled before is only linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from functools import cache

from rfactor import disk_cache
from rfactor.native.engine import Code, Target, compile_module, host, linked, object_of


def compile_kept(text: str, exports: Sequence[str], target: Target | None = None) -> Code:
    """Compile as `compile_module` does, or link the object code that was made of the same text for the same target."""
    target = host() if target is None else target
    if not (target.near and disk_cache.enabled()):
        return compile_module(text, exports, target)
    key = disk_cache.key_of("object", _versions(), repr(astuple(target)), *exports, text)
    code = disk_cache.read("code", key)
    if code is not None:
        try:
            return linked(code, text, exports, target)
        except RuntimeError:  # no object code after all: made anew
            pass
    code = object_of(text, target)
    made = linked(code, text, exports, target)
    disk_cache.write("code", key, code)
    return made


@cache
def _versions() -> str:
    """Give the versions of what generates code."""
    import llvmlite
    import llvmlite.binding as llvm

    return f"{llvmlite.__version__} {llvm.llvm_version_info}"


__all__ = ["compile_kept"]
