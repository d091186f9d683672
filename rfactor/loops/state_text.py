"""States as text: JSON in which floats keep their bits and arrays their types."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor import __version__
from rfactor.errors import FoldError
from rfactor.loops.summaries import Summary

if TYPE_CHECKING:
    from rfactor.loops.fold import Fold
    from rfactor.loops.states import State


def to_json(state: State) -> str:
    """A state as JSON, without the arguments that are not cut. Raises `FoldError` for what JSON cannot keep."""
    summary = state.summary
    told = {
        "rfactor": __version__,
        "function": state.fold.python.__qualname__,
        "digest": state.digest,
        "operator": state.operator,
        "count": state.count,
        "start": state.start,
        "stopped": state.stopped,
        "first": [_text(c) for c in state.first],
        "last": [_text(c) for c in state.last],
        "summary": None if summary is None else {
            "values": [_text(v) for v in summary.values],
            "steps": summary.steps,
            "ranges": [[_text(v) for v in r] for r in summary.ranges],
        },
    }  # fmt: skip
    return json.dumps(told)


def from_json(fold: Fold, text: str, others: Mapping[str, Any]) -> State:
    """The state of a text that `to_json` wrote. Raises `FoldError` where it is of another function or arguments."""
    from rfactor.loops.digests import digest_of
    from rfactor.loops.states import State

    told = json.loads(text)
    others = fold.streamed.bound(others)
    digest = digest_of(fold, others)
    if told.get("digest") != digest:
        raise FoldError(
            f"the state is of {told.get('function')} under rfactor {told.get('rfactor')}, with the digest "
            f"{told.get('digest')}; here {fold.python.__qualname__} has {digest}", kind="R8",
            advice="the function, what it calls, its constants, its other arguments and rfactor must be the same",
        )  # fmt: skip
    kept = told["summary"]
    summary = None
    if kept is not None:
        ranges = tuple((_value(low), _value(high)) for low, high in kept["ranges"])
        summary = Summary(tuple(map(_value, kept["values"])), kept["steps"], ranges)
    return State(
        fold, others, digest, told["count"], told["start"], tuple(map(_value, told["first"])), summary,
        told["operator"], tuple(map(_value, told["last"])), told["stopped"],
    )  # fmt: skip


def _text(value: Any) -> Any:
    """A value as JSON has it: a letter for its type, and its text."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        if array.dtype.hasobject:
            raise FoldError(f"elements of {array.dtype} cannot be kept as text", kind="R10", advice="pickle the state")
        dtype = array.dtype.descr if array.dtype.names else array.dtype.str
        form = "a" if isinstance(value, np.ndarray) else "n"
        return [form, dtype, list(np.shape(value)), base64.b64encode(array.tobytes()).decode()]
    if value is None or isinstance(value, bool):
        return value
    if type(value) is int:
        return ["i", str(value)]
    if type(value) is float:
        return ["f", value.hex()]
    if type(value) is str:
        return ["s", value]
    if isinstance(value, bytes | bytearray):
        return ["y" if isinstance(value, bytes) else "z", base64.b64encode(value).decode()]
    if type(value) is range:
        return ["r", value.start, value.stop, value.step]
    if type(value) in (list, tuple):
        return ["l" if isinstance(value, list) else "t", [_text(v) for v in value]]
    raise FoldError(f"a {type(value).__name__} cannot be kept as text", kind="R10", advice="pickle the state")


def _value(told: Any) -> Any:
    """The value of a text."""
    if told is None or isinstance(told, bool):
        return told
    form, first, *rest = told
    if form in "an":
        dtype = np.dtype(first if isinstance(first, str) else [tuple(f) for f in first])
        array = np.frombuffer(base64.b64decode(rest[1]), dtype).reshape(rest[0]).copy()
        return array if form == "a" else array[()]
    if form in "yz":
        found = base64.b64decode(first)
        return found if form == "y" else bytearray(found)
    if form == "r":
        return range(first, *rest)
    if form in "lt":
        values = [_value(v) for v in first]
        return values if form == "l" else tuple(values)
    if form == "i":
        return int(first)
    return float.fromhex(first) if form == "f" else first
