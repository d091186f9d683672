"""Random arguments of corpus functions: each function here gives a generator `part(rng, n)`, joined by `args`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Part = Callable[[np.random.Generator, int], Any]


def args(*parts: Any) -> Callable[[np.random.Generator, int], tuple[Any, ...]]:
    """Join parts to positional arguments; what is not callable is given as it is."""
    return lambda rng, n: tuple(part(rng, n) if callable(part) else part for part in parts)


def ints(lo: int = -50, hi: int = 50, dtype: Any = np.int64) -> Part:
    """Draw integers of lo <= v < hi."""
    return lambda rng, n: rng.integers(lo, hi, n, dtype=dtype)


def u8(hi: int = 256) -> Part:
    """Draw unsigned bytes below hi."""
    return lambda rng, n: rng.integers(0, hi, n, dtype=np.uint8)


def floats(scale: float = 8.0, dtype: Any = np.float64) -> Part:
    """Draw normal floats, rounded to three places so that ties occur."""
    return lambda rng, n: np.round(rng.normal(size=n) * scale, 3).astype(dtype)


def prices() -> Part:
    """Draw positive floats around 100 that walk."""
    return lambda rng, n: np.round(100 * np.exp(np.cumsum(rng.normal(size=n) * 0.003)), 2)


def unit(lo: float = 0.0, hi: float = 1.0, dtype: Any = np.float64) -> Part:
    """Draw floats of lo <= v < hi."""
    return lambda rng, n: np.round(lo + (hi - lo) * rng.random(n), 3).astype(dtype)


def dirty(share: float = 0.1, values: Sequence[float] = (float("nan"), -0.0, 0.0)) -> Part:
    """Draw floats, a share of them replaced by the given values."""

    def part(rng: np.random.Generator, n: int) -> Any:
        out = np.round(rng.normal(size=n) * 4, 1)
        mask = rng.random(n) < share
        out[mask] = rng.choice(np.array(values), int(mask.sum()))
        return out

    return part


def flags(share: float = 0.6) -> Part:
    """Draw Booleans, a share of them true."""
    return lambda rng, n: rng.random(n) < share


def listed(part: Part) -> Part:
    """Turn a part's array into a list of Python values."""
    return lambda rng, n: part(rng, n).tolist()


def tupled(part: Part) -> Part:
    """Turn a part's array into a tuple of Python values."""
    return lambda rng, n: tuple(part(rng, n).tolist())


def text(alphabet: str = 'ab (c)\n ,"x 9') -> Part:
    """Draw a string over an alphabet."""
    return lambda rng, n: "".join(alphabet[k] for k in rng.integers(0, len(alphabet), n))


def octets(alphabet: bytes = b'ab (c)\n ,"x 9') -> Part:
    """Draw bytes over an alphabet."""
    return lambda rng, n: bytes(alphabet[k] for k in rng.integers(0, len(alphabet), n))


def rows(columns: int, part: Part) -> Part:
    """Draw an array of n rows."""
    return lambda rng, n: part(rng, n * columns).reshape(n, columns)


def cubes(rows_: int, columns: int, part: Part) -> Part:
    """Draw an array of n matrices."""
    return lambda rng, n: part(rng, n * rows_ * columns).reshape(n, rows_, columns)


def pairs(left: Part, right: Part) -> Part:
    """Draw a list of n pairs of Python values."""
    return lambda rng, n: list(zip(left(rng, n).tolist(), right(rng, n).tolist(), strict=True))


def words(choices: Sequence[str]) -> Part:
    """Draw a list of strings."""
    return lambda rng, n: [choices[k] for k in rng.integers(0, len(choices), n)]


def at_most(limit: int, part: Part) -> Part:
    """Draw as many as asked for, but no more than a limit: for loops whose cost grows faster than n."""
    return lambda rng, n: part(rng, min(n, limit))


def ascending(part: Part) -> Part:
    """Sort what a part draws."""
    return lambda rng, n: np.sort(part(rng, n))


def size() -> Part:
    """Give n itself."""
    return lambda rng, n: n


def one_of(*values: Any) -> Part:
    """Draw one value of several."""
    return lambda rng, n: values[int(rng.integers(0, len(values)))]
