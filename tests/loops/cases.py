"""A case of the corpus: a plain loop, the data it is called with, and what may be answered about it."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

EXPECTED = ("fold", "scan", "group", "refuse", "any")
"""Kinds of answers: a proved operator, an element a step, a scatter by key, `FoldError`, right or `FoldError`."""


@dataclass(frozen=True)
class Case:
    """A plain function with a loop and how to call it."""

    name: str
    function: Callable[..., Any]
    gen: Callable[[np.random.Generator, int], tuple[Any, ...]]
    """Positional arguments with about n elements, new ones at each call."""
    expect: str = "fold"
    kind: str = ""
    source: str = ""
    note: str = ""
    approx: bool = False
    """True where rounding may differ in another order of the same additions."""
    least: int = 0
    """The smallest n for which the plain function returns."""
    raises: bool = False
    """True where the plain function may raise on the data that `gen` gives."""


def case(
    gen: Callable[[np.random.Generator, int], tuple[Any, ...]],
    source: str,
    expect: str = "fold",
    kind: str = "",
    note: str = "",
    approx: bool = False,
    least: int = 0,
    raises: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Mark a function as a case; `cases_of` finds it in its module."""
    if expect not in EXPECTED:
        raise ValueError(f"expect={expect!r} is none of {', '.join(EXPECTED)}")

    def mark(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        marked = Case(name, function, gen, expect, kind, source, note, approx, least, raises)
        function.case = marked  # type: ignore[attr-defined]
        return function

    return mark


def cases_of(module: ModuleType) -> list[Case]:
    """List the cases of a module in their order: its marked functions, or those of its `CASES`."""
    if hasattr(module, "CASES"):
        return [_adapted(one) for one in module.CASES.values()]
    return [value.case for value in vars(module).values() if isinstance(getattr(value, "case", None), Case)]


def _adapted(one: Any) -> Case:
    """Copy the fields of a case of another class; it does not say which data the plain function raises for."""
    fields = (one.name, one.function, one.gen, one.expect, one.kind, one.source, one.note, one.approx)
    return Case(*fields, raises=True)


def own_cases() -> list[Case]:
    """List the cases of `tests.loops.corpus`, by file; raise ValueError where a name is there twice."""
    import tests.loops.corpus as package

    found: dict[str, Case] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda one: one.name):
        for one in cases_of(importlib.import_module(f"{package.__name__}.{info.name}")):
            if one.name in found:
                raise ValueError(f"two cases are called {one.name}")
            found[one.name] = one
    return list(found.values())


def cases_in_file(path: Path) -> list[Case]:
    """List the cases of a Python file outside the package."""
    name = f"_corpus_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return cases_of(module)
