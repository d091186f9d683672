"""Compare a faster form of a function with the plain one: results with their types, arguments, exceptions, prints.

Rounding: where a case is `approx`, floats may differ by 1e-9 of their size plus 1e-13 · n · s², where s is the largest
size of a float among the arguments (at least 1): sums cancel, and squares are summed. For float32 and complex64 these
are 1e-4 and 1e-6. Everything else is equal to the last bit, the sign of a zero included; a NaN equals a NaN.
"""

from __future__ import annotations

import contextlib
import io
import math
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.loops.cases import Case

SIZES = (0, 1, 2, 3, 7, 64, 1000)
"""Numbers of elements that a case is judged with; 70,000 on demand, above one slice of the reassociated sums."""


@dataclass(frozen=True)
class Within:
    """How far floats may be apart."""

    relative: float = 0.0
    absolute: float = 0.0
    relative32: float = 0.0
    absolute32: float = 0.0

    def of(self, dtype: np.dtype[Any]) -> tuple[float, float]:
        """Give the relative and the absolute bound for a type of floats."""
        if dtype.itemsize == (8 if dtype.kind == "c" else 4) or dtype.itemsize < 4:
            return self.relative32, self.absolute32
        return self.relative, self.absolute


EXACT = Within()


def rounding(arguments: tuple[Any, ...], n: int) -> Within:
    """Give the bounds for sums and products of these arguments in another order."""
    scale = min(max(map(_largest, arguments), default=1.0), 1e150) ** 2
    return Within(1e-9, 1e-13 * (n + 10) * scale, 1e-4, 1e-6 * (n + 10) * scale)


def _largest(value: Any) -> float:
    """Give the largest size of a finite number in a value, at least 1."""
    if isinstance(value, (list, tuple)):
        return max(map(_largest, value), default=1.0)
    if isinstance(value, dict):
        return max(map(_largest, value.values()), default=1.0)
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            return max(_largest(value[name]) for name in value.dtype.names)
        if value.dtype.kind not in "iufc" or not value.size:
            return 1.0
        sizes = np.abs(value.astype(complex if value.dtype.kind == "c" else float))
        sizes = sizes[np.isfinite(sizes)]
        return max(1.0, float(sizes.max())) if sizes.size else 1.0
    if isinstance(value, (int, float, complex, np.number)):
        with contextlib.suppress(OverflowError):
            size = float(np.abs(complex(value)))
            return max(1.0, size) if math.isfinite(size) else 1.0
    return 1.0


@dataclass(frozen=True)
class Outcome:
    """All that a call does that its caller can see."""

    result: Any
    error: BaseException | None
    arguments: tuple[Any, ...]
    """The arguments after the call."""
    printed: str
    seconds: float


def outcome(call: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call a function, catching what it raises and prints."""
    out = io.StringIO()
    result, error = None, None
    begun = time.perf_counter()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out):
        warnings.simplefilter("ignore")
        try:
            result = call(*arguments)
            if isinstance(result, Iterator):
                result = list(result)
        except Exception as caught:
            error = caught
    return Outcome(result, error, arguments, out.getvalue(), time.perf_counter() - begun)


def difference(plain: Any, other: Any, within: Within = EXACT, path: str = "result") -> str | None:
    """Say where two values differ, in value or in type; None where they do not."""
    if type(plain) is not type(other):
        return f"{path}: {_short(plain)} is {_kind(plain)}, {_short(other)} is {_kind(other)}"
    if isinstance(plain, np.ndarray):
        return _arrays(plain, other, within, path)
    if isinstance(plain, (float, complex, np.inexact)):
        return _numbers(np.asarray(plain), np.asarray(other), within, path)
    if isinstance(plain, np.void):
        return _arrays(np.asarray(plain), np.asarray(other), within, path)
    if isinstance(plain, (list, tuple)):
        return _sequences(plain, other, within, path)
    if isinstance(plain, dict):
        return _dicts(plain, other, within, path)
    if isinstance(plain, (set, frozenset)):
        one, two = (Counter((type(v).__name__, repr(v)) for v in each) for each in (plain, other))
        return None if one == two else f"{path}: {_short(plain)} is not {_short(other)}"
    if isinstance(plain, Iterator):
        return _sequences(list(plain), list(other), within, f"rest of {path}")
    if hasattr(plain, "__dict__") and "__eq__" not in vars(type(plain)) and not callable(plain):
        return _dicts(vars(plain), vars(other), within, f"{path}.__dict__")
    return None if plain is other or plain == other else f"{path}: {_short(plain)} is not {_short(other)}"


def _sequences(plain: Any, other: Any, within: Within, path: str) -> str | None:
    if len(plain) != len(other):
        return f"{path}: {len(plain)} elements are not {len(other)}: {_short(plain)}, {_short(other)}"
    found = (difference(p, o, within, f"{path}[{k}]") for k, (p, o) in enumerate(zip(plain, other, strict=True)))
    return next((one for one in found if one), None)


def _dicts(plain: Any, other: Any, within: Within, path: str) -> str | None:
    """Compare keys with their order and types, then values."""
    if isinstance(plain, defaultdict) and plain.default_factory is not other.default_factory:
        return f"{path}: default_factory {plain.default_factory} is not {other.default_factory}"
    found = difference(list(plain), list(other), EXACT, f"list({path})")
    if found:
        return found
    values = (difference(v, other[k], within, f"{path}[{k!r}]") for k, v in plain.items() if k == k)
    return next((one for one in values if one), None)


def _arrays(plain: Any, other: Any, within: Within, path: str) -> str | None:
    if plain.dtype != other.dtype:
        return f"{path}: dtype {plain.dtype} is not {other.dtype}"
    if plain.shape != other.shape:
        return f"{path}: shape {plain.shape} is not {other.shape}"
    if plain.dtype.names:
        fields = (_arrays(plain[f], other[f], within, f"{path}[{f!r}]") for f in plain.dtype.names)
        return next((one for one in fields if one), None)
    if plain.dtype.kind in "fc":
        return _numbers(plain, other, within, path)
    if plain.dtype.kind == "O":
        return _sequences(plain.ravel().tolist(), other.ravel().tolist(), within, path)
    return _first(plain == other, plain, other, path)


def _numbers(plain: Any, other: Any, within: Within, path: str) -> str | None:
    """Compare floats or complex numbers of one type, or arrays of them."""
    if plain.dtype.kind == "c":
        bounds = Within(*within.of(plain.dtype), *within.of(plain.dtype))
        return _numbers(plain.real, other.real, bounds, f"{path}.real") or _numbers(
            plain.imag, other.imag, bounds, f"{path}.imag"
        )
    relative, absolute = within.of(plain.dtype)
    nans = np.isnan(plain) & np.isnan(other)
    if not relative:
        return _first(nans | ((plain == other) & (np.signbit(plain) == np.signbit(other))), plain, other, path)
    with np.errstate(all="ignore"):
        wide, wide_other = plain.astype(np.float64), other.astype(np.float64)
        apart = np.abs(wide - wide_other)
        near = apart <= absolute + relative * np.maximum(np.abs(wide), np.abs(wide_other))
        near &= np.isfinite(wide) == np.isfinite(wide_other)
    return _first(nans | (plain == other) | near, plain, other, path)


def _first(same: Any, plain: Any, other: Any, path: str) -> str | None:
    """Say where the first element is that is not the same."""
    same = np.asarray(same)
    if same.all():
        return None
    if not same.shape:
        return f"{path}: {plain!s} is not {other!s}" if str(plain) != str(other) else f"{path}: {plain!r}, {other!r}"
    at = tuple(int(k) for k in np.argwhere(~same)[0])
    return f"{path}[{', '.join(map(str, at))}]: {plain[at]!r} is not {other[at]!r} ({int((~same).sum())} differ)"


def _kind(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def _short(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= 120 else f"{told[:100]} … {told[-16:]}"


@dataclass(frozen=True)
class Verdict:
    """What is said of one call: its status, why, and how long it took."""

    status: str
    """right, refused, wrong, or crash: an exception that is neither a refusal nor the plain one."""
    detail: str = ""
    seconds: float = 0.0
    plain_seconds: float = 0.0
    plain_error: str = ""
    """The exception of the plain run, if it raised."""
    line: int | None = None
    """The line that a refusal names."""


def compare(
    plain: Outcome, other: Outcome, within: Within = EXACT, refusals: tuple[type[BaseException], ...] = ()
) -> Verdict:
    """Judge an outcome by the plain one."""
    told = _error(plain.error) if plain.error else ""

    def verdict(status: str, detail: str = "", line: int | None = None) -> Verdict:
        return Verdict(status, detail, other.seconds, plain.seconds, told, line)

    if other.error is not None and isinstance(other.error, refusals):
        line = getattr(other.error, "line", None)
        return verdict("refused", str(getattr(other.error, "reason", "") or other.error), line)
    if other.error is not None:
        if plain.error is None or type(plain.error) is not type(other.error):
            return verdict("crash", f"{_error(other.error)}; plain: {told or 'returns'}")
        if str(plain.error) != str(other.error):
            return verdict("wrong", f"{_error(other.error)}; plain: {told}")
    elif plain.error is not None:
        return verdict("wrong", f"returns {_short(other.result)}; plain: {told}")
    found = (
        difference(plain.result, other.result, within)
        or difference(plain.arguments, other.arguments, within, "arguments")
        or difference(plain.printed, other.printed, EXACT, "printed")
    )
    return verdict("wrong", found) if found else verdict("right")


def _error(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def judge(
    case: Case,
    call: Callable[..., Any],
    n: int,
    seed: int = 0,
    refusals: tuple[type[BaseException], ...] = (),
) -> Verdict:
    """Call the plain function and another form of it on the same data, new for each, and compare."""

    def fresh() -> tuple[Any, ...]:
        return case.gen(np.random.default_rng([seed, n]), n)

    plain = outcome(case.function, fresh())
    other = outcome(call, fresh())
    return compare(plain, other, rounding(fresh(), n) if case.approx else EXACT, refusals)
