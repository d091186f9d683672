"""Does anything that a loop changes in place lie where it reads, or where it changes something else by another name?"""

from __future__ import annotations

import ast
import gc
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
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
    """Is an object a value, a part of it, or something that it holds or reads?"""
    try:
        return any(_meet(one, v) for v in reachable(value))
    except Deep:
        return True


class Deep(Exception):
    """There are too many objects to look at."""


def reachable(value: Any, most: int = 20_000, depth: int = 6) -> Iterator[Any]:
    """The objects that a value is, holds, or reads as a function: elements, attributes, cells and globals.

    Numbers and texts are left out. Raises `Deep` where there are more than `most`.
    """
    seen: set[int] = set()
    pending: list[tuple[Any, int]] = [(value, 0)]
    count = 0
    while pending:
        at, level = pending.pop()
        if isinstance(at, (*_PLAIN, ModuleType, range)) or id(at) in seen:
            continue
        seen.add(id(at))
        count += 1
        if count > most:
            raise Deep
        yield at
        if level < depth:
            pending.extend((v, level + 1) for v in _held(at))
        elif not isinstance(at, type):
            raise Deep


def _held(value: Any) -> Iterator[Any]:
    """What an object holds, numbers aside."""
    if isinstance(value, list | tuple | set | frozenset | deque):
        if not all(issubclass(t, _PLAIN) for t in set(map(type, value))):
            yield from value
    elif isinstance(value, dict):
        yield from value.values()
        yield from (k for k in value if isinstance(k, tuple))
    elif isinstance(value, VIEWS):
        yield from gc.get_referents(value)
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            with suppress(ValueError):
                yield cell.cell_contents
        for name in value.__code__.co_names:
            if name in value.__globals__:
                yield value.__globals__[name]
        yield from value.__defaults__ or ()
    elif isinstance(value, MethodType):
        yield value.__self__
        yield value.__func__
    elif isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            yield from value.ravel().tolist()
    elif not isinstance(value, type | np.ufunc | BuiltinFunctionType):
        yield from getattr(value, "__dict__", {}).values()
        for owner in type(value).__mro__:
            names = owner.__dict__.get("__slots__", ())
            for name in (names,) if isinstance(names, str) else names:
                with suppress(AttributeError):
                    yield getattr(value, name)


VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
