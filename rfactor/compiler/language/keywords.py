"""Keywords as Halide's overloads have them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

_R = TypeVar("_R")


def also_named(**others: str) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """A function some of whose parameters go by another name too: `also_named(rvar="var")`.

    Halide's overloads name one parameter by what it is given.
    """

    def decorated(function: Callable[..., _R]) -> Callable[..., _R]:
        @wraps(function)
        def call(*given: Any, **named: Any) -> _R:
            if named:
                meant = {others.get(name, name): value for name, value in named.items()}
                if len(meant) < len(named):
                    raise TypeError(f"{function.__name__}() is given one argument twice: {', '.join(named)}")
                named = meant
            return function(*given, **named)

        call.also_named = others  # type: ignore[attr-defined]
        return call

    return decorated


def spread(keyword: str) -> Callable[[Callable[..., _R]], Callable[..., _R]]:
    """A method of any number of arguments, which may come as one list instead, or as a list by `keyword`."""

    def decorated(method: Callable[..., _R]) -> Callable[..., _R]:
        @wraps(method)
        def call(self: Any, *given: Any, **named: Any) -> _R:
            if named:
                if given or named.keys() != {keyword}:
                    raise TypeError(f"{method.__name__}() takes several arguments, or a list of them by {keyword}=")
                given = (named[keyword],)
            if len(given) == 1 and isinstance(given[0], list | tuple):
                given = tuple(given[0])
            return method(self, *given)

        call.spread = keyword  # type: ignore[attr-defined]
        return call

    return decorated
