"""Refusals of directives that say whose directive it was."""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from rfactor.errors import Error

_T = TypeVar("_T", bound=type)


def directives(kind: _T) -> _T:
    """A class whose own methods are directives on the stage that `_where()` names.

    Where one is refused, the error names the stage, and the directive: `f.update(0): split: …`.
    """
    for name, member in list(vars(kind).items()):
        if isinstance(member, types.FunctionType) and not name.startswith("_"):
            setattr(kind, name, _named(member, name))
    return kind


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    @wraps(function)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        try:
            return function(self, *given, **named)
        except Error as error:
            told, where = str(error), self._where()
            if re.search(rf"(^|of |: ){re.escape(where)}(?![\w$])", told):
                raise  # it says so
            directive = "" if re.match(rf"{name}\b", told) else f"{name.strip('_')}: "
            raise type(error)(f"{where}: {directive}{told}") from error

    return call
