"""Read a Python file without running it: its functions, and what the names of each stand for where a loop begins."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from rfactor.errors import Error
from rfactor.loops.stand_ins import LENGTH, NUMBER, Guess, Unknown, arguments, given_type, is_plain
from rfactor.loops.static_values import Scope, Values, first_of, stand_in_function

_REAL = frozenset(
    """math cmath operator numpy collections itertools functools random string typing time sys os json re statistics
    decimal fractions datetime heapq bisect copy logging pathlib""".split()  # noqa: SIM905
)
"""Modules of which the linter itself looks at what names stand for: all are Python's own, and NumPy."""
_DEEPEST = 4
"""Files that import each other are followed so far, and helpers that call each other."""
_PURE_DECORATORS = frozenset({"njit", "jit", "lru_cache", "cache", "fold", "staticmethod", "wraps", "overload"})


@dataclass
class Function:
    """Hold a function of a file."""

    name: str
    """With the classes and functions around it, as `Account.paid`."""
    tree: ast.FunctionDef | ast.AsyncFunctionDef
    around: dict[str, Any]
    decorator: ast.expr | None
    """`@rfactor.fold`, whatever it is called in the file."""


class File:
    """Hold the names of a module as its statements leave them."""

    def __init__(self, path: Path, text: str, *, depth: int = 0, open_: tuple[Path, ...] = ()) -> None:
        """Raise `SyntaxError`, and `ValueError` for what is no text."""
        self.path, self.lines = path, text.splitlines()
        self.tree = ast.parse(text)
        self.depth, self.open = depth, (*open_, path)
        self.names: dict[str, Any] = {"__name__": path.stem, "__file__": str(path)}
        self.folds: set[str] = set()
        """Names of the file that are `rfactor.fold`; with a dot, an attribute of a module."""
        self.reader = Reader(self)
        self.reader.statements(self.tree.body, Scope(self.names, {}))

    def functions(self) -> Iterator[Function]:
        """List the functions of the file that hold a loop, methods and inner ones too."""
        yield from self._inside(self.tree.body, "", self.names)

    def _inside(self, body: Sequence[ast.stmt], prefix: str, around: dict[str, Any]) -> Iterator[Function]:
        for s in body:
            if isinstance(s, ast.ClassDef):
                yield from self._inside(s.body, f"{prefix}{s.name}.", around)
            elif isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef):
                if any(isinstance(n, ast.For | ast.While | ast.AsyncFor) for n in _own(s)):
                    yield Function(prefix + s.name, s, around, self.decorator(s))
                inner = {n.id for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                inner |= {n.arg for n in ast.walk(s) if isinstance(n, ast.arg)}
                hidden = {n: Unknown(n) for n in inner}
                yield from self._inside(s.body, f"{prefix}{s.name}.", {**around, **hidden})
            else:
                blocks = [getattr(s, f, []) for f in ("body", "orelse", "finalbody")]
                for block in blocks:
                    yield from self._inside(block, prefix, around)

    def decorator(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.expr | None:
        """Find the decorator that is `rfactor.fold`."""
        for d in function.decorator_list:
            called = d.func if isinstance(d, ast.Call) else d
            if ast.unparse(called) in self.folds:
                return d
        return None

    # -- imports -------------------------------------------------------------------------------------------------------

    def imported(self, s: ast.Import | ast.ImportFrom, names: dict[str, Any]) -> None:
        """Give the names of an import what they stand for."""
        if isinstance(s, ast.Import):
            for alias in s.names:
                own = alias.asname or alias.name.split(".")[0]
                if alias.name == "rfactor":
                    self.folds.add(f"{own}.fold")
                found = self._module(alias.name if alias.asname else own, 0)
                names[own] = _as_module(found) if isinstance(found, File) else found
            return
        module = s.module or ""
        home: Any = Unknown(module) if module == "rfactor" else self._module(module, s.level)
        for alias in s.names:
            own = alias.asname or alias.name
            if not s.level and module in ("rfactor", "rfactor.loops.fold") and alias.name in ("fold", "*"):
                self.folds.add("fold" if alias.name == "*" else own)
            if alias.name == "*":
                known = home.names if isinstance(home, File) else vars(home) if isinstance(home, ModuleType) else {}
                names.update({k: v for k, v in known.items() if not k.startswith("_")})
            elif isinstance(home, File):
                names[own] = home.names.get(alias.name, Unknown(alias.name))
                if alias.name in home.folds:
                    self.folds.add(own)
            elif isinstance(home, ModuleType):
                names[own] = getattr(home, alias.name, Unknown(alias.name))
            else:
                names[own] = self._module(f"{module}.{alias.name}" if module else alias.name, s.level)
                if isinstance(names[own], File):
                    names[own] = _as_module(names[own])

    def _module(self, name: str, level: int) -> Any:
        """Find a module of Python or NumPy itself, or the file of another as it is read; else `Unknown`."""
        top = name.split(".")[0]
        if not level and top in _REAL and _is_own(top):
            try:
                return importlib.import_module(name)
            except ImportError:
                return Unknown(name)
        if self.depth >= _DEEPEST:
            return Unknown(name)
        for folder in self._folders(level):
            at = folder.joinpath(*name.split(".")) if name else folder
            for path in (at.with_suffix(".py") if name else at / "__init__.py", at / "__init__.py"):
                if path in self.open or not path.is_file():
                    continue
                try:
                    return File(path, path.read_text(encoding="utf-8"), depth=self.depth + 1, open_=self.open)
                except (OSError, ValueError, SyntaxError):
                    return Unknown(name)
        return Unknown(name)

    def _folders(self, level: int) -> list[Path]:
        here = self.path.resolve().parent
        if level:
            return [here if level == 1 else here.parents[level - 2]]
        found = [here]
        while (found[-1] / "__init__.py").is_file() and found[-1].parent != found[-1]:
            found.append(found[-1].parent)
        return found


@cache
def _is_own(top: str) -> bool:
    """Tell if a module is Python's or NumPy's own, and not a file of the same name beside the one that is read."""
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin in ("built-in", "frozen"):
        return spec is not None
    home = Path(np.__file__).parent if top == "numpy" else Path(sysconfig.get_path("stdlib"))
    return spec.origin is not None and Path(spec.origin).resolve().is_relative_to(home.resolve())


def _as_module(file: File) -> Any:
    made = ModuleType(file.path.stem)
    vars(made).update(file.names)
    return made


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """List the nodes of a function without those of functions and classes inside of it."""
    pending = list(ast.iter_child_nodes(function))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


OnLoop = Callable[[ast.For | ast.While, dict[str, Any]], None]


@dataclass
class Reader:
    """Go through statements once, with stand-ins: both branches, one turn of each loop."""

    file: File
    on_loop: OnLoop | None = None
    returned: list[Any] = field(default_factory=list)
    depth: int = 0

    def __post_init__(self) -> None:
        self.values = Values(self.inside)

    def inside(self, function: FunctionType, args: list[Any], keywords: Mapping[str, Any]) -> Any:
        """Give what a function of the file returns."""
        tree: ast.FunctionDef = vars(function)["rfactor_definition"]
        told = vars(function).get("rfactor_returns")
        if told is not None and not isinstance(told, Unknown):
            return told.value if isinstance(told, Guess) else told
        if self.depth >= _DEEPEST:
            return Unknown(tree.name)
        parameters = [a.arg for a in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs)]
        own: dict[str, Any] = dict(zip(parameters[::-1], (function.__defaults__ or ())[::-1], strict=False))
        own |= dict(zip(parameters, args, strict=False)) | dict(keywords)
        own |= {p: Unknown(p) for p in parameters if p not in own}
        reader = Reader(self.file, depth=self.depth + 1)
        reader.statements(tree.body, Scope(own, function.__globals__))
        known = [v for v in reader.returned if v is not None and not isinstance(v, Unknown)]
        return known[0] if known else Unknown(tree.name)

    def statements(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Go through a block."""
        for s in body:
            self.statement(s, scope)

    def statement(self, s: ast.stmt, scope: Scope) -> None:
        """Go through one statement."""
        names = scope.names
        if isinstance(s, ast.Assign):
            value = self.values.of(s.value, scope)
            for target in s.targets:
                self.assign(target, value, scope)
        elif isinstance(s, ast.AnnAssign):
            if s.value is not None:
                self.assign(s.target, self.values.of(s.value, scope), scope)
        elif isinstance(s, ast.AugAssign):
            if isinstance(s.target, ast.Name):
                load = ast.copy_location(ast.Name(s.target.id, ast.Load()), s.target)
                found = self.values.of(ast.copy_location(ast.BinOp(load, s.op, s.value), s), scope)
                if is_plain(found) and not isinstance(names.get(s.target.id), list | dict | set):
                    names[s.target.id] = found
        elif isinstance(s, ast.For | ast.While):
            self.loop(s, scope)
        elif isinstance(s, ast.If):
            self.branches([s.body, s.orelse], scope)
        elif isinstance(s, ast.Try):
            self.statements(s.body, scope)
            self.branches([[], *(h.body for h in s.handlers)], scope)
            self.statements([*s.orelse, *s.finalbody], scope)
        elif isinstance(s, ast.With):
            for item in s.items:
                if item.optional_vars is not None:
                    self.assign(item.optional_vars, Unknown(), scope)
            self.statements(s.body, scope)
        elif isinstance(s, ast.FunctionDef):
            pure = all(_last_name(d) in _PURE_DECORATORS for d in s.decorator_list)
            around = names if not scope.around else {**scope.around, **names}
            names[s.name] = stand_in_function(s, around, self.values, scope) if pure else Unknown(s.name)
        elif isinstance(s, ast.ClassDef | ast.AsyncFunctionDef):
            names[s.name] = Unknown(s.name)
        elif isinstance(s, ast.Import | ast.ImportFrom):
            self.file.imported(s, names)
        elif isinstance(s, ast.Return):
            self.returned.append(None if s.value is None else self.values.of(s.value, scope))
        elif isinstance(s, ast.Expr):
            self.effect(s.value, scope)
        elif isinstance(s, ast.Delete):
            for t in s.targets:
                if isinstance(t, ast.Name):
                    names.pop(t.id, None)

    def branches(self, blocks: Sequence[Sequence[ast.stmt]], scope: Scope) -> None:
        """Go through blocks of which one is run, and join what they leave."""
        before = dict(scope.names)
        for block in blocks:
            own = Scope(dict(before), scope.around)
            self.statements(block, own)
            for name, value in own.names.items():
                known = scope.names.get(name)
                open_ = name not in scope.names or not is_plain(known)
                better = value is not None and is_plain(value) and (known is None or known is before.get(name))
                if open_ or better:
                    scope.names[name] = value

    def loop(self, s: ast.For | ast.While, scope: Scope) -> None:
        """Go through a loop: what it begins with, and one turn."""
        if self.on_loop is not None:
            self.on_loop(s, dict(scope.names))
        if isinstance(s, ast.For):
            self.values.bind(s.target, first_of(self.values.of(s.iter, scope)), scope.names)
        before = dict(scope.names)
        self.statements(s.body, scope)
        for name, value in before.items():
            after = scope.names.get(name)
            if isinstance(after, Unknown) and is_plain(value) and value is not None:
                scope.names[name] = value
        self.statements(s.orelse, scope)

    def assign(self, target: ast.expr, value: Any, scope: Scope) -> None:
        """Give a target a value; elements of dicts get one, other places keep theirs."""
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            base = scope[target.value.id]
            key = self.values.of(target.slice, scope)
            if isinstance(base, dict) and is_plain(value) and is_plain(key) and not base:
                made = type(base)(base.default_factory) if hasattr(base, "default_factory") else type(base)()
                made[key] = value
                scope.names[target.value.id] = made
            return
        self.values.bind(target, value, scope.names)

    def effect(self, node: ast.expr, scope: Scope) -> None:
        """Keep what a call for its effect leaves in a list or set of the function's own."""
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            return
        if not (isinstance(node.func.value, ast.Name) and len(node.args) == 1):
            return
        name, base = node.func.value.id, scope[node.func.value.id]
        value = self.values.of(node.args[0], scope)
        if is_plain(value) and isinstance(base, list) and node.func.attr == "append" and not base:
            scope.names[name] = [value] * LENGTH
        elif is_plain(value) and isinstance(base, set) and node.func.attr == "add" and not base:
            scope.names[name] = {value} if value.__hash__ is not None else base


def _last_name(node: ast.expr) -> str:
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


@dataclass
class Start:
    """Hold the names of a function where one of its loops begins."""

    values: dict[str, Any]
    guesses: dict[str, str]
    """Parameters whose type was assumed, and which."""


def starts(
    file: File, function: Function, given: Mapping[str, str], instead: Mapping[str, Any]
) -> dict[ast.AST, Start]:
    """Find what the names of a function are where each loop begins. `given`: types by name, or by `function.name`;
    `instead`: other stand-ins for parameters whose type is assumed. Raise `Error` for what is no type."""
    tree = function.tree
    assert isinstance(tree, ast.FunctionDef)
    reader = Reader(file)
    around = Scope({}, function.around)
    spec = tree.args
    positional = (*spec.posonlyargs, *spec.args)
    defaults: dict[str, Any] = {}
    for a, d in zip(positional[::-1], spec.defaults[::-1], strict=False):
        defaults[a.arg] = reader.values.of(d, around)
    for a, k in zip(spec.kwonlyargs, spec.kw_defaults, strict=True):
        defaults[a.arg] = None if k is None else reader.values.of(k, around)
    own = {n.rpartition(".")[2]: t for n, t in given.items() if n.rpartition(".")[0] in ("", function.name)}
    found = arguments(tree, defaults, {n: given_type(t) for n, t in own.items()})
    guesses = {n: v.text for n, v in found.items() if isinstance(v, Guess)}
    values = {n: v.value if isinstance(v, Guess) else v for n, v in found.items()}
    for name, value in instead.items():
        if name in guesses:
            values[name], guesses[name] = (value.value, value.text) if isinstance(value, Guess) else (value, str(value))
    starts_: dict[ast.AST, Start] = {}

    def on_loop(node: ast.For | ast.While, env: dict[str, Any]) -> None:
        starts_.setdefault(node, Start(env, guesses))

    reader.on_loop = on_loop
    reader.statements(tree.body, Scope(values, function.around))
    return starts_


__all__ = ["Error", "File", "Function", "Start", "starts"]
_UNUSED: Any = (NUMBER,)
