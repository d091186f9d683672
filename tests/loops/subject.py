"""What is judged: `rfactor.fold`, imported when it is first asked for, or the plain function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def decorator(plain: bool) -> tuple[Callable[..., Any], tuple[type[BaseException], ...]]:
    """Give the decorator that is judged and the exceptions by which it refuses; raise ImportError while it has none."""
    if plain:
        return lambda function: function, ()
    import rfactor

    try:
        return rfactor.fold, (rfactor.FoldError,)
    except AttributeError as missing:
        raise ImportError(f"{missing}; --plain judges the functions themselves") from None


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
