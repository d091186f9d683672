"""Functions as other processes find and tell them apart."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import pickle
import textwrap
from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from rfactor import __version__
from rfactor.errors import FoldError

if TYPE_CHECKING:
    from rfactor.loops.fold import Fold


@lru_cache(maxsize=64)
def named_fold(module: str, name: str, options: Any) -> Fold:
    """The fold of a function that is found by its name."""
    from rfactor.loops.fold import Fold, fold_with

    value: Any = importlib.import_module(module)
    for part in name.split("."):
        if part == "<locals>":
            raise FoldError(f"{name} is defined inside of a function, where no other process finds it", kind="R4",
                            advice="define it at the top of a module")  # fmt: skip
        value = getattr(value, part)
    return value if isinstance(value, Fold) and value.options == options else fold_with(value, options)


def digest_of(fold: Fold, others: Mapping[str, Any]) -> str:
    """The digest of a function with all that its result depends on, elements aside."""
    found = [__version__, fold.options.floats, *_texts(fold.python, set())]
    told = hashlib.sha256("\n".join(found).encode())
    for name in sorted(others):
        told.update(name.encode() + pickle.dumps(others[name], 4))
    return told.hexdigest()[:16]


def _texts(function: Any, seen: set[int]) -> Iterator[str]:
    """The texts of a function and of those that it calls, and the constants that they read."""
    if id(function) in seen:
        return
    seen.add(id(function))
    yield _text_of(function)
    names = set(function.__code__.co_names) | set(function.__code__.co_freevars)
    known = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:
            continue
    for name in sorted(names & set(known)):
        value = known[name]
        value = getattr(value, "python", value)
        if isinstance(value, FunctionType):
            yield from _texts(value, seen)
        elif not inspect.ismodule(value) and not isinstance(value, type) and not callable(value):
            try:
                yield name + hashlib.sha256(pickle.dumps(value, 4)).hexdigest()
            except Exception:
                yield name + repr(type(value))


@lru_cache(maxsize=256)
def _text_of(function: FunctionType) -> str:
    """The text of a function without its decorators, comments and layout."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError, TypeError):
        return repr(function.__code__.co_code) + repr(function.__code__.co_consts)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.decorator_list = []
    return ast.dump(tree)
