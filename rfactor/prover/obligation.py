"""What has to be proved, as data, and as a text in SMT-LIB that any solver reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rfactor.errors import Error
from rfactor.files import write_whole
from rfactor.ir.expr import Const, Expr, apply, conjunction
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show
from rfactor.ir.types import BOOL

TRUE = Const(BOOL, True)


@dataclass(frozen=True, slots=True)
class Obligation:
    """That two tuples are equal for all values of their variables for which the assumptions hold.

    A condition that holds always is `(condition,)` and `(True,)`.
    """

    name: str
    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    assumptions: tuple[Expr, ...]
    meaning: Meaning

    @property
    def denial(self) -> tuple[Expr, ...]:
        """Conditions that hold together exactly where the obligation fails."""
        same = [
            one if other == TRUE else apply("==", one, other)
            for one, other in zip(self.left, self.right, strict=True)
            if one != other
        ]
        return (*self.assumptions, apply("not", conjunction(*same)) if same else apply("not", TRUE))


def smtlib(obligation: Obligation, about: Sequence[str] = ()) -> str:
    """The denial as a script, expected to be `unsat`, with comments that say what is stated and of what (`about`).

    Raises `rfactor.Error` for an expression that has no term.
    """
    from rfactor.prover.smt import script

    floats = "floats are reals" if any(e.type.is_float for e in (*obligation.left, *obligation.right)) else ""
    integers = "bit-vectors that wrap around" if obligation.meaning is Meaning.WRAP else "unbounded integers"
    stated = [f"{show(one)} = {show(other)}" for one, other in zip(obligation.left, obligation.right, strict=True)]
    lines = [
        *about,
        f"obligation: {obligation.name}",
        *(f"assuming {show(condition)}" for condition in obligation.assumptions),
        *stated,
        f"for all values; integers are {integers}{'; ' if floats else ''}{floats}",
        "the denial is asserted: unsat is a proof",
    ]
    comments = "".join(f"; {part}\n" for line in lines for part in line.splitlines())
    return comments + script(obligation.denial, obligation.meaning)


def write_smtlib(obligations: Sequence[Obligation], folder: Path, about: Sequence[str] = (), prefix: str = "") -> int:
    """Writes each obligation to a file `PREFIXnn-name.smt2` of the folder, which is made; the number of files.

    One that has no term (an infinity where reals are meant) is a file of comments alone, which says so.
    Raises `rfactor.Error` where the files cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, obligation in zip(range(1, len(obligations) + 1), obligations, strict=True):
            try:
                text = smtlib(obligation, about)
            except Error as error:
                text = "".join(f"; {line}\n" for line in (*about, f"obligation: {obligation.name}", str(error)))
            write_whole(folder / f"{prefix}{number:02d}-{obligation.name}.smt2", text)
    except OSError as error:
        raise Error(f"cannot write to {folder}: {error.strerror}") from None
    return len(obligations)


__all__ = ["TRUE", "Obligation", "smtlib", "write_smtlib"]
