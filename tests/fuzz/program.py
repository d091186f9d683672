"""A program: a script in three parts, which can be run, cut down and pasted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HEADER = "import numpy as np\nimport rfactor as hl\n"


@dataclass(frozen=True)
class Program:
    """Lines of a script. Each is a statement of its own, so that it can be left out."""

    definitions: tuple[str, ...]
    """Inputs, functions, and last `outputs, mins, sizes = [f], [0, -1], [5, 3]`."""
    directives: tuple[str, ...]
    """The schedule. One that is refused counts for nothing."""

    def text(self) -> str:
        """The definitions and directives as they can be pasted."""
        return "\n".join([HEADER, *self.definitions, "", "# schedule", *self.directives]) + "\n"


def parsed(text: str) -> Program:
    """The program that `Program.text` wrote."""
    lines = [line for line in text.splitlines() if line and not line.startswith("import ")]
    at = lines.index("# schedule")
    return Program(tuple(lines[:at]), tuple(lines[at + 1 :]))


def pasteable(program: Program, expected: str) -> str:
    """A script that prints what the compiled program computes, and what it should."""
    return (
        program.text()
        + "\n# what is computed, and what the definitions say\n"
        + "found = [hl.Buffer(t, sizes) for f in outputs for t in f.types()]\n"
        + "for b in found:\n    b.set_min(mins)\n"
        + "hl.Pipeline(outputs).realize(tuple(found))\n"
        + "print([np.array(b).tolist() for b in found])\n"
        + f'print("expected", {expected})\n'
    )


Names = dict[str, Any]
