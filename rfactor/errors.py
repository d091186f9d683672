"""The errors that users see. Each message says what is wrong, where, and what would be accepted."""

from __future__ import annotations


def excerpt(text: str, most: int = 300) -> str:
    """A text as an error quotes it: an endless one by its beginning."""
    return text if len(text) <= most else f"{text[:most]}…"


class Error(Exception):
    """Base of every error rfactor raises on purpose."""


HalideError = Error
"""The name that programs written for Halide's bindings catch it under."""


class ParseError(Error, ValueError):
    """The text of an expression is not in the language or is ill-typed. What it says of an endless text ends."""

    def __init__(self, message: str) -> None:
        super().__init__(excerpt(message, 1000))


class TypeMismatch(Error, TypeError):
    """An expression combines types that do not go together."""


class NoTruthValue(TypeMismatch, ValueError):
    """An expression is asked whether it holds, which is known only when the pipeline runs; or an answer, of which there
    are more than two."""


class NoElementType(TypeMismatch, ValueError):
    """An array has elements that the language does not have."""


class ScheduleError(Error, ValueError):
    """A directive that is not legal for the stage it was asked of."""


class FactorError(ScheduleError):
    """`rfactor` was asked of an update that cannot be factored; says which claim fails."""


class AlgorithmError(Error, ValueError):
    """An algorithm breaks a validity rule of the language."""


class NoVariable(AlgorithmError, KeyError):
    """A reduction domain is asked for a variable that it does not have."""

    __str__ = Exception.__str__


class BufferError(Error, ValueError):
    """A buffer given at run time has the wrong type, rank or size."""


class OutOfBounds(BufferError, IndexError):
    """An element or a part of a buffer is asked for that it does not have."""


class TargetError(Error, ValueError):
    """A machine to compile for that is none, or that no code is generated for."""


class FileError(Error, OSError):
    """A file cannot be written."""


class TableError(Error):
    """A table file is damaged, foreign, or of another version."""
