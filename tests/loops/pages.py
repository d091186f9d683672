"""Run the Python blocks of a page of the docs, and compare what they print with the text blocks after them.

A block runs in a file `loops.py` of its own, with the names of the blocks before it. A text block right after it is
what it prints, an uncaught `FoldError` included. `python -m tests.loops.pages docs/refusals.md` writes those anew.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rfactor.errors import FoldError

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.M | re.S)


@dataclass
class Block:
    """Hold a Python block of a page and the text that it is to print."""

    code: str
    line: int
    text: str | None
    begin: int
    """Where the text block begins in the page."""
    end: int
    printed: str = ""


def blocks_of(page: str) -> list[Block]:
    """List the Python blocks of a page."""
    found: list[Block] = []
    after = -1
    for match in _BLOCK.finditer(page):
        if match[1] == "python":
            found.append(Block(match[2], page[: match.start()].count("\n") + 2, None, match.end(), match.end()))
            after = match.end()
        elif match[1] == "text" and found and page[after : match.start()].strip() == "":
            found[-1].text, found[-1].begin, found[-1].end = match[2], match.start(2), match.end(2)
    return found


def ran(blocks: list[Block], folder: Path) -> Iterator[Block]:
    """Run the blocks one after the other; give each when what it has printed is known."""
    names: dict[str, Any] = {"__name__": "page"}
    for number, block in enumerate(blocks):
        own = folder / str(number)
        own.mkdir()
        (own / "loops.py").write_text(block.code)
        printed = io.StringIO()
        with contextlib.chdir(own), contextlib.redirect_stdout(printed):
            try:
                exec(compile(block.code, str(own / "loops.py"), "exec"), names)
            except FoldError as error:
                if block.text is None:
                    raise
                printed.write(f"{error}\n")
        block.printed = printed.getvalue()
        yield block


def write(path: Path) -> None:
    """Write the text blocks of a page anew."""
    page = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        for block in reversed(list(ran(blocks_of(page), Path(folder).resolve()))):
            if block.text is not None:
                page = page[: block.begin] + block.printed + page[block.end :]
    path.write_text(page)


if __name__ == "__main__":
    os.environ.setdefault("RFACTOR_CACHE", "0")
    for name in sys.argv[1:]:
        write(ROOT / name)
