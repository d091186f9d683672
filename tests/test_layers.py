"""The layout: which folder may import which, and where outside libraries may be used (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rfactor"

BELOW = {
    "ir": set(),
    "native": {"ir"},
    "prover": {"native", "ir"},
    "table": {"ir"},
    "semantics": {"ir"},
    "matcher": {"table", "prover", "native", "ir"},
    "enumerate": {"prover", "table", "native", "ir"},
    "compiler": {"matcher", "semantics", "native", "prover", "table", "ir"},
    "loops": {"compiler", "matcher", "semantics", "native", "prover", "table", "ir"},
    "bench": {"compiler", "matcher", "semantics", "native", "ir"},
    "cli": {"bench", "loops", "compiler", "enumerate", "matcher", "prover", "semantics", "native", "table", "ir"},
}
"""Folder to the folders it may import."""

EVERYWHERE = {"disk_cache", "errors", "files", "forks", "kept", "__version__"}
"""What everything may import."""

LIBRARIES = {
    "z3": ["rfactor/prover/smt.py", "rfactor/prover/smt_operations.py"],
    "llvmlite": ["rfactor/native/", "rfactor/compiler/codegen/", "rfactor/compiler/runtime/"],
    "sqlite3": ["rfactor/table/"],
    "sqlite_utils": ["rfactor/table/"],
    "click": ["rfactor/cli/"],
    "rich": ["rfactor/cli/", "rfactor/loops/backends/progress.py"],
    "pyarrow": ["rfactor/loops/backends/"],
    "dask": ["rfactor/loops/backends/dask.py"],
    "ray": ["rfactor/loops/backends/ray.py"],
    "pyspark": ["rfactor/loops/backends/spark.py"],
    "skimage": ["rfactor/cli/"],
    "matplotlib": ["rfactor/bench/"],
    "halide": ["rfactor/bench/peers/"],
    "numba": ["rfactor/bench/peers/"],
}


@cache
def imports(path: Path) -> set[str]:
    """Every module that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


FILES = sorted(PACKAGE.rglob("*.py"))


def test_there_are_files_to_check():
    assert len(FILES) > 20
    assert {path.relative_to(PACKAGE).parts[0] for path in FILES if len(path.relative_to(PACKAGE).parts) > 1} == set(
        BELOW
    ) | {"data"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_arrows_point_downward(path):
    parts = path.relative_to(PACKAGE).parts
    if len(parts) == 1:
        return
    own = parts[0]
    for module in imports(path):
        if module.startswith("rfactor."):
            target = module.split(".")[1]
            if target in BELOW:
                assert target == own or target in BELOW[own], f"{own} may not import {target}"
            else:
                assert target in EVERYWHERE or own in ("cli", "bench"), "the public face is for users"
    relative = str(path.relative_to(ROOT))
    for library, homes in LIBRARIES.items():
        if any(module.split(".")[0] == library for module in imports(path)):
            assert any(relative.startswith(home) for home in homes), f"{library} belongs in {homes}"


def test_the_public_face_never_calls_enumerate():
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    assert not [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "enumerate"]


@pytest.mark.parametrize("name", ["enumerate", "table", "matcher", "compiler", "data"])
def test_stages_are_linked_at_the_root_and_nothing_imports_through_the_links(name):
    link = ROOT / name
    assert link.is_symlink()
    assert link.resolve() == PACKAGE / name
    for path in FILES:
        assert not any(module.split(".")[0] == name for module in imports(path)), path


@pytest.mark.parametrize("package", ["compiler", "compiler/lower"])
def test_a_package_of_many_files_says_what_each_is_for(package):
    folder = PACKAGE / package
    said = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    files = {path.stem for path in folder.glob("*.py")} - {"__init__"}
    folders = {f"{path.parent.name}/" for path in folder.glob("*/__init__.py")}
    directives = {"parallel_scan", "compute_with"}
    assert set(re.findall(r"`([a-z_0-9]+/?)`", said)) - directives == (files | folders) - directives


HASHED = {"unique": {"return_index", "return_inverse", "return_counts"}, "intersect1d": {"assume_unique"}}
"""What NumPy hashes in C++ unless one of these is asked for: there a daemon cannot end with the interpreter."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_daemon_is_inside_what_numpy_hashes(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "np":
            assert node.attr not in ("isin", "setdiff1d", "union1d", "unique_values"), f"{path}: {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in HASHED:
            assert HASHED[node.func.attr] & {word.arg for word in node.keywords}, f"{path}: {node.lineno}"
