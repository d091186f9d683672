"""Execute examples/fold.ipynb without Jupyter: `python -m tests.loops.notebook` writes its outputs anew.

Cells are taken from the file. A cell prints, and shows the value of its last expression, as HTML where it has one.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.loops.pages import ROOT

PATH = ROOT / "examples" / "fold.ipynb"


def executed(notebook: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Run the cells; give the notebook with their outputs."""
    names: dict[str, Any] = {"__name__": "notebook"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        count += 1
        own = folder / str(count)
        own.mkdir()
        with contextlib.chdir(own):
            cell["outputs"] = _run("".join(cell["source"]), own / "cell.py", names, count)
        cell["execution_count"] = count
    return notebook


def _run(source: str, path: Path, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    path.write_text(source)
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value: Any = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, str(path), "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = _lines(value._repr_html_())
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def notebook_of(cells: list[tuple[str, str]]) -> dict[str, Any]:
    """Make a notebook of cells: their kind and their text."""
    made: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"c{number}", "metadata": {}, "source": _lines(text.strip())}
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    spec = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": made, "metadata": {"kernelspec": spec, "language_info": {"name": "python"}}, "nbformat": 4,
        "nbformat_minor": 5,
    }  # fmt: skip


def main() -> None:
    """Write the outputs anew."""
    os.environ.setdefault("RFACTOR_CACHE", "0")
    with tempfile.TemporaryDirectory() as folder:
        made = executed(json.loads(PATH.read_text()), Path(folder).resolve())
    PATH.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
