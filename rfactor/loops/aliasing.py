"""Does anything that a loop changes in place lie where it reads, or where it changes something else by another name?"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rfactor.loops import purity

CHANGING = frozenset(
    """append extend insert pop remove clear sort reverse add discard update setdefault popitem appendleft popleft
    write writelines fill put send seed shuffle""".split()  # noqa: SIM905
)
"""Methods that change what they are called on."""
_PLAIN = (int, float, bool, complex, str, bytes, type(None), np.generic)


def changes_in(statements: Sequence[ast.stmt]) -> dict[str, list[ast.AST]]:
    """The names of what is changed in place, and where."""
    found: dict[str, list[ast.AST]] = {}
    for statement in statements:
        for name, node in _changes(statement):
            found.setdefault(name, []).append(node)
    return found


@lru_cache(maxsize=4096)
def _changes(statement: ast.stmt) -> tuple[tuple[str, ast.AST], ...]:
    found: list[tuple[str, ast.AST]] = []
    for node in ast.walk(statement):
        name = None
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            name = purity.root(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            base = node.func.value
            name = base.id if isinstance(base, ast.Name) else None
        if name is not None:
            found.append((name, node))
    return tuple(found)


def apart(changed: dict[str, Any], walked: Iterable[Any], read: dict[str, Any]) -> bool:
    """Is each object of `changed` (by name) another than those that are walked over, those that are read by other
    names, and the other changed ones? Objects inside of those count."""
    names = list(changed)
    for one in changed.values():
        if isinstance(one, np.ndarray) and not one.flags.writeable:
            return False
        if isinstance(one, list) and len({id(v) for v in one if not isinstance(v, _PLAIN)}) < sum(
            not isinstance(v, _PLAIN) for v in one
        ):
            return False  # rows that are one object
    for k in range(len(names)):
        one = changed[names[k]]
        if any(_meet(one, changed[other]) for other in names[k + 1 :]):
            return False
        if any(_within(one, w) for w in walked):
            return False
        if any(_within(one, v) for n, v in read.items() if n != names[k]):
            return False
    return True


def _meet(a: Any, b: Any) -> bool:
    """Are two objects the same, or do two arrays share memory?"""
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        try:
            return bool(np.shares_memory(a, b, max_work=10_000))  # type: ignore[arg-type]
        except Exception:  # too hard to tell
            return True
    return False


def _within(one: Any, value: Any) -> bool:
    """Is an object a value, a part of it, or something that it holds?"""
    if isinstance(value, _PLAIN):
        return False
    if _meet(one, value):
        return True
    if isinstance(value, list | tuple | set | frozenset):
        return any(not isinstance(v, _PLAIN) and _meet(one, v) for v in value)
    if isinstance(value, dict):
        return any(not isinstance(v, _PLAIN) and _meet(one, v) for v in value.values())
    if isinstance(value, np.ndarray):
        return False
    try:
        held = vars(value)
    except TypeError:
        return False
    if isinstance(value, type) or callable(value) or type(value).__name__ == "module":
        return False
    return any(_meet(one, v) for v in held.values())
