"""Names for things that a user did not name, or named twice.

Expressions refer to functions, arrays and domains by name, so two that live at the same time must differ: the second
`Func("f")` is called `f$1`. A name is free again when what bore it is gone.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from itertools import count
from typing import NoReturn

from rfactor.compiler.language.public import public
from rfactor.errors import AlgorithmError


@public
class Named:
    """Something that expressions refer to by name."""

    def __init__(self, wanted: str | None, prefix: str) -> None:
        """Take the name `wanted`, with a number after it if it is in use, or `prefix` and a number.

        Raises `AlgorithmError` for a name that `checked` refuses.
        """
        if wanted is not None:
            checked(wanted)
        tries = (f"{prefix}{i}" for i in count()) if wanted is None else _variants(wanted)
        own = _Bearer(self, _free)
        for own.name in tries:
            # One operation of the dictionary asks and takes: another thread may be looking for a name too.
            if _in_use.setdefault(own.name, own) is own:
                break
        self._name = own.name
        self._wanted = wanted

    def name(self) -> str:
        """Its name."""
        return self._name

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises `TypeError`: a copy would have the name too, and be taken for it, or it for the copy."""
        raise TypeError(f"{self._name} can be neither copied nor pickled: there is one {type(self).__name__} of a name")

    @property
    def wanted(self) -> str | None:
        """The name that it was to have; None where it was to have any."""
        return self._wanted


def checked(name: str) -> str:
    """The name itself. Raises `AlgorithmError` if it has a dot, as what is made of names has (`f.x.min`, `n.param`), or
    what cannot be written to files."""
    if not name or "." in name:
        raise AlgorithmError(f"the name {name!r} is empty or has a dot; names with dots are those of loop bounds")
    return writable(name)


def writable(name: str) -> str:
    """The name itself. Raises `AlgorithmError` where it has a character that no code holds: a null, half a pair."""
    if re.search("[\\0\\ud800-\\udfff]", name):
        raise AlgorithmError(f"the name {name!r} has a character that code cannot hold: letters, digits and _ are best")
    return name


def _variants(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}${i}" for i in count(1))


class _Bearer(weakref.ref[Named]):
    __slots__ = ("name",)
    name: str


def _free(gone: weakref.ref[Named]) -> None:
    assert isinstance(gone, _Bearer)
    _in_use.pop(gone.name, None)


_in_use: dict[str, _Bearer] = {}
