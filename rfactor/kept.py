"""Values kept for the next time, by whichever thread made them.

Nothing here waits: each step is one operation of a dictionary, which Python makes whole. Two threads may make a value
twice, and a fork finds no lock held.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
Owner = TypeVar("Owner")
_MISSING: Any = object()


class Kept(Generic[K, V]):
    """At most `most` values; the one that was kept or asked for longest ago goes first."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        """The value of `key`, None where there is none."""
        found: V = self._held.get(key, _MISSING)
        if found is _MISSING:
            return None
        if self._held.pop(key, _MISSING) is not _MISSING:
            self._held[key] = found
        return found

    def keep(self, key: K, value: V) -> None:
        """Keep `value` for `key`."""
        self._held.pop(key, None)
        self._held[key] = value
        while len(self._held) > self.most:
            try:
                self._held.pop(next(iter(self._held)), None)
            except (RuntimeError, StopIteration):
                continue  # another thread kept something in between

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)


class once(Generic[Owner, V]):
    """A property that is computed when first asked for. `functools.cached_property` holds a lock meanwhile."""

    def __init__(self, compute: Callable[[Owner], V]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type[Owner], name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type[Owner]) -> once[Owner, V]: ...

    @overload
    def __get__(self, instance: Owner, owner: type[Owner]) -> V: ...

    def __get__(self, instance: Owner | None, owner: type[Owner]) -> once[Owner, V] | V:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
