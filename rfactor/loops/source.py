"""A function's text: its syntax tree at the lines of its file, and refusals that point into it."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from rfactor.errors import FoldError


@dataclass(frozen=True)
class Text:
    """The lines of a file from `first` on, with `indent` blanks taken away."""

    file: str
    lines: tuple[str, ...]
    first: int = 1
    indent: int = 0

    def refusal(self, reason: str, node: ast.AST | None = None, *, kind: str, advice: str = "") -> FoldError:
        """The error that says why a loop is no fold, with a caret under `node`."""
        line = getattr(node, "lineno", 0)
        if not line:
            return FoldError(reason, kind=kind, file=self.file, advice=advice)
        index = line - self.first
        shown = tuple(
            (self.first + k, " " * self.indent + self.lines[k])
            for k in range(max(0, index - 1), index + 1)
            if k < len(self.lines)
        )
        column = getattr(node, "col_offset", 0) + self.indent
        one_line = getattr(node, "end_lineno", line) == line
        end = getattr(node, "end_col_offset", 0) + self.indent if one_line else len(shown[-1][1]) if shown else column
        return FoldError(
            reason, kind=kind, file=self.file, line=line, column=column, end=end, source=shown, advice=advice
        )


@dataclass(frozen=True)
class Source:
    """A Python function with its syntax tree."""

    function: Callable[..., Any]
    tree: ast.FunctionDef
    text: Text
    globals: Mapping[str, Any] = field(repr=False)

    @cached_property
    def closure(self) -> dict[str, Any]:
        """Cells of the free variables by name."""
        names, cells = self.function.__code__.co_freevars, self.function.__closure__ or ()
        return dict(zip(names, cells, strict=True))

    def evaluate(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        """The value of an expression of the function where its local names have `values`."""
        code, nested = _compiled(node, self.text.file)
        scope = dict(values)
        for name, cell in self.closure.items():
            with suppress(ValueError):
                scope.setdefault(name, cell.cell_contents)
        if nested:  # comprehensions and lambdas see no local names of `eval`
            return eval(code, {**self.globals, **scope})
        return eval(code, self.globals, scope)  # type: ignore[arg-type]

    def value(self, name: str) -> Any:
        """The value of a name that is no local one. Raises `KeyError`."""
        if name in self.closure:
            try:
                return self.closure[name].cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in self.globals:
            return self.globals[name]
        return vars(builtins)[name]


@lru_cache(maxsize=4096)
def _compiled(node: ast.expr, file: str) -> tuple[CodeType, bool]:
    """An expression as code, and whether there are scopes of their own in it."""
    scopes = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    code = compile(ast.fix_missing_locations(ast.Expression(node)), file, "eval")
    return code, any(isinstance(n, scopes) for n in ast.walk(node))


def read(function: Callable[..., Any]) -> Source:
    """The source of a function. Raises `FoldError` where there is none, or for what is no plain function."""
    name = getattr(function, "__qualname__", repr(function))
    if not inspect.isfunction(function):
        raise FoldError(f"{name} is no Python function", kind="R4", advice="decorate a function that is defined by def")
    file = _short(function.__code__.co_filename)
    if hasattr(function, "__wrapped__"):
        raise FoldError(
            f"{name} is wrapped by another decorator, whose effect is not known", kind="R1", file=file,
            advice="put @rfactor.fold below the other decorators",
        )  # fmt: skip
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise FoldError(
            f"the source of {name} cannot be read", kind="R4", file=file,
            advice="define it in a file or a notebook cell: the loop is found in its text",
        ) from None  # fmt: skip
    plain = textwrap.dedent("".join(lines))
    indent = len(lines[0]) - len(lines[0].lstrip())
    try:
        tree = ast.parse(plain)
    except SyntaxError:
        raise FoldError(f"{name} stands inside of an expression", kind="R4", file=file, line=first,
                        advice="write it with def, as a statement of its own") from None  # fmt: skip
    ast.increment_lineno(tree, first - 1)
    text = Text(file, tuple(plain.splitlines()), first, indent)
    definition = tree.body[0]
    if isinstance(definition, ast.AsyncFunctionDef):
        raise text.refusal("the function is async", definition, kind="R4", advice="fold a plain function inside of it")
    if not isinstance(definition, ast.FunctionDef):
        raise text.refusal(f"{name} is a lambda", definition, kind="R4", advice="write it with def, and a loop")
    return Source(function, _mangled(definition, function.__qualname__), text, function.__globals__)


def _mangled(tree: ast.FunctionDef, qualname: str) -> ast.FunctionDef:
    """The tree with private names (`self.__x`) as a class makes them, where the function is defined in one."""
    owner = qualname.split(".")[-2].lstrip("_") if "." in qualname else ""
    if not owner or owner == "<locals>":
        return tree
    for node in ast.walk(tree):
        for field_ in ("id", "attr", "arg"):
            name = getattr(node, field_, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, field_, f"_{owner}{name}")
    return tree


def own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's text, those of functions and classes inside of it aside."""
    pending: list[ast.AST] = list(ast.iter_child_nodes(tree))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def _short(file: str) -> str:
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except ValueError:
        return file


@lru_cache(maxsize=4096)
def names_loaded(node: ast.AST) -> frozenset[str]:
    """The names that are read anywhere in a piece of syntax."""
    return frozenset(n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


def stored_in(statements: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that are assigned in any of some statements."""
    return frozenset().union(*map(names_stored, statements))


@lru_cache(maxsize=4096)
def names_stored(node: ast.AST) -> frozenset[str]:
    """The names that are assigned anywhere in a piece of syntax, comprehensions aside."""
    found: set[str] = set()
    pending: list[ast.AST] = [node]
    while pending:
        at = pending.pop()
        if isinstance(at, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp | ast.Lambda):
            found |= {n.target.id for n in ast.walk(at) if isinstance(n, ast.NamedExpr)}
            continue
        if isinstance(at, ast.FunctionDef | ast.ClassDef):
            found.add(at.name)
            continue
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Store | ast.Del):
            found.add(at.id)
        pending.extend(ast.iter_child_nodes(at))
    return frozenset(found)
