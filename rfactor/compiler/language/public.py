"""What a call of the language says where it fails because an argument is not of the type that is annotated."""

from __future__ import annotations

import collections.abc
import inspect
import operator
import os
import types
import typing
from collections.abc import Callable, Mapping
from functools import wraps
from itertools import count
from typing import Any, TypeVar, cast

import numpy as np

from rfactor.errors import Error, TypeMismatch, excerpt

_T = TypeVar("_T")
_OR_NONE: Mapping[str, tuple[type, ...]] = {"": (), " | None": (type(None),)}
_LIKE: Mapping[type, tuple[type, ...]] = {
    bool: (bool, int, np.bool_),
    int: (int, np.integer, np.bool_),
    float: (int, float, np.number, np.bool_),
    str: (str, os.PathLike),
}
"""What passes for a type of Python's."""
_PLAIN = {kind.__name__ + more: (*passes, *none) for kind, passes in _LIKE.items() for more, none in _OR_NONE.items()}
"""By annotation."""
_LIBRARIES = ("enum", "numpy")
"""Whose failures may be because of an argument too."""
_LISTS = (tuple, list, range)
"""See `listed`: made once, it is asked for each time that a Func or a Buffer is indexed."""
_CALLED = ("__init__", "__call__", "__getitem__", "__setitem__")


def public(thing: _T) -> _T:
    """A function, or a class with its own methods, that users call.

    An argument that is annotated as a number, a text or a truth value is one, or `TypeMismatch` is raised before
    anything is done; an object with `__index__` is given as its number. Others are looked at only where a call fails by
    another error than the language's own: the first that is not what its annotation says is named then. Where all are
    what they should be, or code of the user's raised it, the failure stays as it is.
    """
    if not isinstance(thing, type):
        return cast(_T, _told(thing, thing.__name__)) if isinstance(thing, types.FunctionType) else thing
    for name, member in list(vars(thing).items()):
        if name.startswith("_") and name not in _CALLED:
            continue
        if isinstance(member, staticmethod | classmethod):
            setattr(thing, name, type(member)(_told(member.__func__, f"{thing.__name__}.{name}")))
        elif isinstance(member, types.FunctionType):
            setattr(thing, name, _told(member, "{}" if name == "__init__" else f"{{}}.{name}"))
    return thing


def integer(value: Any, what: str, of: object = "") -> int:
    """A whole number of Python's or NumPy's. Raises `TypeMismatch` for any other value, by what it is asked for.

    In `what`, `{}` stands for `of`.
    """
    number = _whole(value)
    if number is None:
        raise TypeMismatch(f"{what.format(of)} is a whole number, not {_shown(value)}")
    return number


def listed(value: Any) -> tuple[Any, ...] | None:
    """The elements of a list of coordinates or sizes: a tuple, a list, a range, or an array of one dimension; None of
    anything else."""
    if isinstance(value, _LISTS) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return tuple(value)
    return None


def _whole(value: Any) -> int | None:
    """The number that it says to be by `__index__`."""
    try:
        return operator.index(value)
    except TypeError:
        return None


def _told(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function; errors call it `name`, where `{}` is the class of its first argument."""
    plain = function
    while hasattr(plain, "__wrapped__"):
        plain = plain.__wrapped__
    annotations = plain.__annotations__
    if {annotations[one] for one in annotations if one != "return"} <= {"Any", "ExprLike"}:
        return function  # there is nothing to tell
    # Not by `inspect.signature`: that of all would take a tenth of a second as the language is imported.
    counted = zip(count(), plain.__code__.co_varnames[: plain.__code__.co_argcount], strict=False)
    looked = [(i, one, _PLAIN[hint]) for i, one in counted if (hint := annotations.get(one)) in _PLAIN]

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        count = len(given)
        for i, one, kinds in looked:
            if i < count:
                if isinstance(given[i], kinds):
                    continue
                value = given[i]
            elif named and one in named:
                value = named[one]
                if isinstance(value, kinds):
                    continue
            else:
                continue
            number = _whole(value) if np.integer in kinds else None
            if number is None:
                raise TypeMismatch(_refused(_called(name, given), one, annotations[one], value))
            if i < count:
                given = (*given[:i], number, *given[i + 1 :])
            else:
                named = {**named, one: number}
        try:
            return function(*given, **named)
        except Exception as error:
            _tell(error, function, name, given, named)
            raise

    return call


def _tell(
    error: Exception, function: Callable[..., Any], name: str, given: tuple[Any, ...], named: Mapping[str, Any]
) -> None:
    """Raise `TypeMismatch` where the call failed because an argument is not what its annotation says.

    The language's own errors, and what code of the user's raised that was called on the way, say what they say.
    """
    if isinstance(error, Error | NotImplementedError | OSError) or not _raised_by(function, error):
        return
    message = _misfit(function, _called(name, given), given, named)
    if message is not None:
        raise TypeMismatch(message) from error


def _raised_by(function: Callable[..., Any], error: Exception) -> bool:
    """Whether it was raised here, and not by code of the user's: an iterator, an `__index__`, a `__repr__`."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    where = "" if frame is None else str(frame.tb_frame.f_globals.get("__name__"))
    return where.partition(".")[0] in (function.__module__.partition(".")[0], *_LIBRARIES)


def _misfit(function: Callable[..., Any], name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """The first argument that is not what its annotation says, for people; None where all are, or are not taken."""
    plain = inspect.unwrap(function)
    try:
        bound = inspect.signature(plain).bind(*given, **named).arguments
    except TypeError:
        return None
    space = _Names(plain.__globals__)
    for parameter in inspect.signature(plain).parameters.values():
        if parameter.name in bound and isinstance(parameter.annotation, str):
            value, hint = bound[parameter.name], _meant(parameter.annotation, space)
            several = parameter.kind is parameter.VAR_POSITIONAL
            wrong = [one for one in (value if several else (value,)) if not _fits(one, hint)]
            if wrong:
                return _refused(name, parameter.name, parameter.annotation, wrong[0])
    return None


def _called(name: str, given: tuple[Any, ...]) -> str:
    return name.format(type(given[0]).__name__) if given and "{}" in name else name


def _refused(name: str, parameter: str, annotation: str, value: Any) -> str:
    return f"{name}() takes as {parameter}: {annotation}, not {_shown(value)}"


class _Names(dict[str, Any]):
    """The names of a module, and those of the language, which it may import for annotations alone."""

    def __missing__(self, name: str) -> Any:
        import rfactor

        if name not in rfactor.__all__:
            raise KeyError(name)
        return getattr(rfactor, name)


def _meant(annotation: str, space: _Names) -> Any:
    """What an annotation stands for; anything, where that is not known here."""
    try:
        return eval(annotation, {}, space)
    except (AttributeError, NameError, TypeError):
        return Any


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is what is annotated, its elements too where they can be looked at without being used up."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is typing.Literal:
        return value in inner
    if hint is Any:
        return True
    if hint is None:
        return value is None
    if hint in _LIKE:
        return isinstance(value, _LIKE[hint]) or (hint is int and _whole(value) is not None)
    kind = origin or hint
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if isinstance(value, str | bytes) and kind is collections.abc.Sequence:
        return False  # though Python takes it for one
    if not isinstance(value, kind):
        return kind is collections.abc.Sequence and hasattr(value, "__len__") and hasattr(value, "__getitem__")
    if isinstance(value, Mapping) and len(inner) == 2:
        return all(_fits(key, inner[0]) and _fits(one, inner[1]) for key, one in value.items())
    if isinstance(value, list | tuple | set | frozenset) and len(inner) == 1:
        return all(_fits(one, inner[0]) for one in value)
    return True


def _shown(value: Any) -> str:
    """A value as an error quotes it, and its type."""
    try:
        text = repr(value)
    except Exception:  # the object's own
        text = "what has no text"
    return f"{excerpt(' '.join(text.split()), 80)} ({type(value).__name__})"
