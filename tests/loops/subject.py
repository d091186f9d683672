"""What is judged: `rfactor.fold`, imported when it is first asked for, or the plain function itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np


def decorator(plain: bool) -> tuple[Callable[..., Any], tuple[type[BaseException], ...]]:
    """Give the decorator that is judged and the exceptions by which it refuses; raise ImportError while it has none."""
    if plain:
        return lambda function: function, ()
    import rfactor

    try:
        from rfactor.loops.fold import Call

        Call.few = 16  # what is judged is compiled code
        return rfactor.fold, (rfactor.FoldError,)
    except AttributeError as missing:
        raise ImportError(f"{missing}; --plain judges the functions themselves") from None


class Joined:
    """Stand in for a decorated function, with its data joined: what `--plain` tries the comparisons with."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...] | None = None) -> None:
        self.function = function
        self.arguments = arguments

    def __call__(self, *arguments: Any) -> Any:
        """Call the plain function."""
        return self.function(*arguments)

    def partial(self, *arguments: Any) -> Joined:
        """Keep the data of a chunk."""
        return type(self)(self.function, arguments)

    def __iadd__(self, other: Joined) -> Joined:
        """Append the data of the chunk that follows."""
        assert self.arguments is not None
        assert other.arguments is not None
        joined = zip(self.arguments, other.arguments, strict=True)
        self.arguments = tuple(np.concatenate([a, b]) if isinstance(a, np.ndarray) else a + b for a, b in joined)
        return self

    def result(self) -> Any:
        """Call the plain function with all the data."""
        assert self.arguments is not None
        return self.function(*self.arguments)

    def stream(self, chunks: Iterable[Any]) -> Any:
        """Call the plain function with the chunks joined."""
        state: Joined | None = None
        for chunk in chunks:
            one = self.partial(*chunk) if isinstance(chunk, tuple) else self.partial(chunk)
            if state is None:
                state = one
            else:
                state += one
        assert state is not None
        return state.result()


def refusal(error: BaseException) -> dict[str, Any]:
    """Give the reason, the line and the kind of a refusal, as far as it says them."""
    reason = getattr(error, "reason", None)
    told = {
        "reason": str(reason) if reason else str(error).partition("\n")[0],
        "line": getattr(error, "line", None),
        "kind": str(getattr(error, "kind", "") or ""),
        "message": str(error),
    }
    if not isinstance(told["line"], int):
        told["line"] = None
    return told
