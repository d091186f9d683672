"""Headers of loops: what is walked over, how many steps there are, and how to go on from any of them."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from rfactor.loops.aliasing import VIEWS
from rfactor.loops.purity import is_pure_function
from rfactor.loops.sequences import Typed, typed


class NoWalk(Exception):
    """A header that walks over nothing that could be cut into parts."""

    def __init__(self, reason: str, node: ast.AST, values: Any, advice: str = "") -> None:
        """`values`: what Python's loop walks over."""
        super().__init__(reason)
        self.reason, self.node, self.values, self.advice = reason, node, values, advice


@dataclass(frozen=True, eq=False)
class Walk:
    """A finite sequence of steps."""

    length: int

    def rest(self, start: int) -> Iterable[Any]:
        """What Python's loop takes from step `start` on."""
        raise NotImplementedError

    @property
    def origins(self) -> tuple[Any, ...]:
        """The objects that are walked over."""
        return ()

    @property
    def signature(self) -> tuple[Any, ...]:
        """All that a compiled loop depends on, numbers aside."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Count(Walk):
    """`range`."""

    numbers: range

    def rest(self, start: int) -> Iterable[Any]:
        return self.numbers[start:]

    @property
    def signature(self) -> tuple[Any, ...]:
        return ("range",)


@dataclass(frozen=True, eq=False)
class Items(Walk):
    """The elements of a sequence."""

    values: Any
    name: str
    """Its text in the header, where it is a name."""
    typed: Typed | None
    backward: bool = False
    origin: Any = None
    """The object that is walked over."""
    again: Callable[[], Iterable[Any]] | None = None
    """Gives the elements one by one, as Python's loop takes them, where they are computed."""

    @property
    def origins(self) -> tuple[Any, ...]:
        return (self.origin,)

    @property
    def unordered(self) -> bool:
        """Is it a set, which cannot be reversed?"""
        return isinstance(self.origin, set | frozenset)

    def rest(self, start: int) -> Iterable[Any]:
        if self.backward:
            backward: Iterable[Any] = self.values[::-1][start:]
            return backward
        if self.again is not None:
            return islice(self.again(), start, None)
        if start and isinstance(self.values, np.ndarray | bytes | str | range | tuple):
            return iter(self.values[start:])
        unlike = isinstance(self.origin, (dict, set, frozenset, *VIEWS))  # Python notices where they change
        return islice(self.origin if unlike else self.values, start, None)

    @property
    def signature(self) -> tuple[Any, ...]:
        return ("items", self.backward, None if self.typed is None else self.typed.signature)


@dataclass(frozen=True, eq=False)
class Enumerated(Walk):
    """`enumerate`."""

    inner: Walk
    first: int

    @property
    def origins(self) -> tuple[Any, ...]:
        return self.inner.origins

    def rest(self, start: int) -> Iterable[Any]:
        return builtins.enumerate(self.inner.rest(start), self.first + start)

    @property
    def signature(self) -> tuple[Any, ...]:
        return ("enumerate", self.inner.signature)


@dataclass(frozen=True, eq=False)
class Zipped(Walk):
    """`zip`."""

    parts: tuple[Walk, ...]

    @property
    def origins(self) -> tuple[Any, ...]:
        return tuple(o for part in self.parts for o in part.origins)

    def rest(self, start: int) -> Iterable[Any]:
        return zip(*(part.rest(start) for part in self.parts), strict=False)

    @property
    def signature(self) -> tuple[Any, ...]:
        return ("zip", *(part.signature for part in self.parts))


Value = Callable[[ast.expr], Any]
"""Evaluates a piece of the header where the loop begins."""


def walk_of(node: ast.expr, value: Value, is_builtin: Callable[[str], bool]) -> Walk:
    """What a `for` loop over `node` walks. Raises `NoWalk`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and is_builtin(node.func.id):
        name, args, keywords = node.func.id, node.args, {k.arg: k.value for k in node.keywords}
        plain = not any(isinstance(a, ast.Starred) for a in args)
        if name == "range" and plain and not keywords:
            numbers = range(*map(value, args))
            return Count(len(numbers), numbers)
        if name == "enumerate" and plain and args and set(keywords) <= {"start"}:
            start = value(args[1]) if len(args) > 1 else value(keywords["start"]) if keywords else 0
            try:
                inner = walk_of(args[0], value, is_builtin)
            except NoWalk as error:
                raise NoWalk(error.reason, node, builtins.enumerate(error.values, start), error.advice) from None
            return Enumerated(inner.length, inner, start)
        if name == "zip" and plain and args and set(keywords) <= {"strict"}:
            parts = tuple(_parts_of(args, node, value, is_builtin))
            lengths = {part.length for part in parts}
            if len(lengths) > 1 and keywords and value(keywords["strict"]):
                whole = builtins.zip(*(part.rest(0) for part in parts), strict=True)
                raise NoWalk("zip(strict=True) of different lengths", node, whole)
            return Zipped(min(lengths), parts)
        if name == "reversed" and len(args) == 1 and plain:
            inner = walk_of(args[0], value, is_builtin)
            if isinstance(inner, Count):
                return Count(inner.length, inner.numbers[::-1])
            if isinstance(inner, Items) and inner.unordered:
                builtins.reversed(set())  # type: ignore[call-overload]
            if isinstance(inner, Items) and not inner.backward:
                return Items(inner.length, inner.values, inner.name, _backward(inner.typed), True, inner.origin)
            raise NoWalk("reversed of what is no sequence", node, builtins.reversed(_values(inner)))
        if name in ("map", "filter") and plain and not keywords and len(args) > 1:
            return _mapped(node, value)
    return _items(value(node), node)


def _parts_of(
    args: Sequence[ast.expr], node: ast.expr, value: Value, is_builtin: Callable[[str], bool]
) -> Iterator[Walk]:
    """The walks over what `zip` joins; where one is none, all are Python's."""
    parts: list[Walk | NoWalk] = []
    for arg in args:
        try:
            parts.append(walk_of(arg, value, is_builtin))
        except NoWalk as error:
            parts.append(error)
    bad = next((p for p in parts if isinstance(p, NoWalk)), None)
    if bad is not None:
        whole = builtins.zip(*(p.values if isinstance(p, NoWalk) else p.rest(0) for p in parts), strict=False)
        raise NoWalk(bad.reason, node, whole, bad.advice)
    return (p for p in parts if isinstance(p, Walk))


def _mapped(node: ast.Call, value: Value) -> Walk:
    """A walk over what `map` or `filter` gives, computed ahead where that is the same. Raises `NoWalk`."""
    function, *sources = map(value, node.args)
    if hasattr(function, "rfactor_definition"):  # a stand-in, which is not run
        return _items(value(node), node)
    lazy = builtins.map if getattr(node.func, "id", "") == "map" else builtins.filter
    known = function is None or is_pure_function(function)
    if known and not any(isinstance(s, Iterator) for s in sources):
        try:
            found = list(lazy(function, *sources))
        except Exception:
            pass  # in the step where Python's loop comes to it
        else:
            return Items(
                len(found), found, "", typed(found), origin=tuple(sources), again=lambda: lazy(function, *sources)
            )  # fmt: skip
    whole = lazy(function, *sources)
    raise NoWalk(f"{ast.unparse(node)} is computed step by step", node, whole, "make it a list before the loop")


def _values(walk: Walk) -> Any:
    """The object that a walk is over, for what only Python knows to do with it."""
    return walk.values if isinstance(walk, Items) else list(walk.rest(0))


def _backward(found: Typed | None) -> Typed | None:
    return None if found is None else Typed(found.array[::-1], found.kind)


def _items(values: Any, node: ast.expr) -> Walk:
    """A walk over the elements of a value, if it has a length. Raises `NoWalk`."""
    if isinstance(values, range):
        return Count(len(values), values)
    if isinstance(values, Iterator):
        raise NoWalk(
            f"{ast.unparse(node)} is an iterator, which can be walked once and not in parts", node, values,
            "make it a list before the loop, or use .stream()",
        )  # fmt: skip
    if isinstance(values, np.ndarray) and values.ndim == 0:
        raise NoWalk("an array without dimensions", node, values)
    try:
        length = len(values)
    except TypeError:
        raise NoWalk(f"{ast.unparse(node)} has no length", node, values, "walk over a sequence") from None
    name = node.id if isinstance(node, ast.Name) else ""
    if not isinstance(
        values, np.ndarray | list | tuple | str | bytes | bytearray | range | dict | set | frozenset
    ) and type(values).__module__ not in ("builtins", "array", "collections"):
        raise NoWalk(
            f"nothing is known of walking over a {type(values).__name__}", node, values, "make it a list or an array"
        )
    source = (
        list(values) if isinstance(values, dict | set | frozenset) or not hasattr(values, "__getitem__") else values
    )
    return Items(length, source, name, typed(source), origin=values)
