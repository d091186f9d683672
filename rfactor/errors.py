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


class FoldError(Error):
    """A loop that is no fold, or is not known to be one: says where, why, and what to write instead."""

    def __init__(
        self,
        reason: str,
        *,
        kind: str = "R8",
        file: str = "",
        line: int = 0,
        column: int = 0,
        end: int = 0,
        source: tuple[tuple[int, str], ...] = (),
        advice: str = "",
    ) -> None:
        """`kind`: the heading in docs/refusals.md. `source`: numbered lines, the last of which has the caret."""
        self.reason, self.kind, self.file, self.line, self.column = reason, kind, file, line, column
        self.end, self.source, self.advice = end, source, advice
        super().__init__(self._text())

    def _text(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        lines = [f"{place}not a fold: {self.reason}" + (f" [{self.kind}]" if self.kind else "")]
        width = max((len(str(number)) for number, _ in self.source), default=0) + 4
        lines += [f"{number:>{width}} | {text}" for number, text in self.source]
        if self.source:
            span = "^" * max(1, self.end - self.column)
            lines.append(f"{'':>{width}} | {' ' * self.column}{span}" + (f" {self.advice}" if self.advice else ""))
        elif self.advice:
            lines.append(f"  {self.advice}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        keywords = {name: getattr(self, name) for name in ("kind", "file", "line", "column", "end", "source", "advice")}
        return (_fold_error, (self.reason, keywords))


def _fold_error(reason: str, keywords: dict[str, object]) -> FoldError:
    return FoldError(reason, **keywords)  # type: ignore[arg-type]
