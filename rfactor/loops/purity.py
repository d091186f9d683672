"""Calls that may be computed ahead, in any order or not at all: those of functions of their arguments alone."""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

BUILTINS = frozenset(
    """abs all any bin bool bytes chr complex dict divmod enumerate float format frozenset hash hex int isinstance len
    list map max min oct ord pow range repr reversed round set slice sorted str sum tuple zip filter""".split()  # noqa: SIM905
)
"""Built-in functions without effects, on data without effects."""

METHODS = frozenset(
    """all any argmax argmin astype bit_count bit_length capitalize casefold conjugate copy count cumsum dot encode
    decode endswith find format get index isalnum isalpha isascii isdecimal isdigit isidentifier islower isnumeric
    isprintable isspace istitle isupper item items join keys lower lstrip max mean min ord prod replace rfind rindex
    rstrip split splitlines startswith std strip sum swapcase title tolist total translate upper values var zfill
    is_integer union intersection difference issubset issuperset isdisjoint ravel reshape transpose date year""".split()  # noqa: SIM905
)
"""Methods of numbers, texts, sequences, mappings and arrays that change nothing."""

WRITING = frozenset({"out", "where", "copy", "overwrite_input", "casting", "file", "inplace"})
"""Keywords by which functions are told to write somewhere."""
MODULES = frozenset({"math", "cmath", "operator", "numpy"})
_RANDOM = ("random", "rand", "seed", "shuffle", "choice")
BASES = (
    str, bytes, bytearray, list, tuple, dict, set, frozenset, int, float, complex, bool, np.ndarray, np.generic, range,
    Counter, memoryview,
)  # fmt: skip
"""Types of which the methods are known."""


def is_pure_function(value: Any) -> bool:
    """Is the callable known to be a function of its arguments?"""
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, type):
        return value in (int, float, bool, str, complex, bytes, list, tuple, dict, set, frozenset, range, slice,
                         enumerate, zip, reversed, map, filter, Counter) or issubclass(value, np.generic)  # fmt: skip
    if isinstance(value, BuiltinFunctionType):
        module = getattr(value, "__module__", None) or ""
        if module == "builtins":
            return value.__name__ in BUILTINS
        return module.split(".")[0] in MODULES and value.__name__ not in _RANDOM
    if isinstance(value, FunctionType):
        module = value.__module__ or ""
        if module.split(".")[0] == "numpy" and "random" not in module:
            called = value.__name__
            return called not in _EFFECTS and getattr(np, called, None) is value
        return _is_pure_definition(value)
    if callable(value):
        name = getattr(value, "__name__", "")
        numpy = type(value).__module__.startswith("numpy")  # dispatchers of NumPy
        return numpy and getattr(np, name, None) is value and name not in _EFFECTS
    return False


_EFFECTS = frozenset(
    {"save", "savez", "savetxt", "copyto", "put", "place", "putmask", "fill_diagonal", "seterr", "load"}
)


@lru_cache(maxsize=1024)
def _is_pure_definition(function: FunctionType) -> bool:
    """Does a function that a user wrote compute with its arguments alone?"""
    tree = definition(function)
    if tree is None:
        return False
    local = {a.arg for a in (*tree.args.args, *tree.args.posonlyargs, *tree.args.kwonlyargs)}
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    fresh = {n for n in stored - local if _is_fresh(tree, n)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await | ast.Delete):
            return False
        if (
            isinstance(node, ast.Attribute | ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            and not (isinstance(node.value, ast.Name) and node.value.id in fresh)
        ):
            return False
        if (
            isinstance(node, ast.AugAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id not in fresh
            and isinstance(node.op, ast.Add | ast.Mult | ast.BitOr | ast.BitAnd | ast.BitXor | ast.Sub)
        ):
            return False  # it may be a list, a set or an array of the caller's
        if isinstance(node, ast.Call) and not _is_pure_call(node, function, fresh, local | stored):
            return False
    return True


def _is_fresh(tree: ast.FunctionDef, name: str) -> bool:
    """Is a name of a function only ever given objects that the function has made?"""
    given = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            if not _makes(node.value):
                return False
            given += 1
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
            if node.value is not None and not _makes(node.value):
                return False
            given += 1
    stores = sum(1 for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store))
    augmented = sum(
        1 for n in ast.walk(tree)
        if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name
    )  # fmt: skip
    return stores == given + augmented


def _makes(node: ast.expr) -> bool:
    """Does an expression surely make a new object that nobody else has?"""
    if isinstance(node, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Constant):
        return not isinstance(node, ast.List) or not any(isinstance(e, ast.Name) for e in node.elts)
    if isinstance(node, ast.BinOp):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return name in ("list", "dict", "set", "sorted", "zeros", "ones", "empty", "full", "Counter", "defaultdict")
    return False


def writes_by_place(node: ast.Call, function: Any) -> bool:
    """May one of so many arguments be where NumPy writes?"""
    count = len(node.args)
    if isinstance(function, np.ufunc):
        return count > function.nin
    if isinstance(node.func, ast.Attribute) and node.func.attr in _REDUCTIONS and count > 1:
        return True
    module = getattr(function, "__module__", "") or ""
    return module.split(".")[0] == "numpy" and count > _ARGUMENTS.get(getattr(function, "__name__", ""), 2)


_REDUCTIONS = frozenset(
    "cumsum cumprod sum mean min max dot argmax argmin std var prod any all round take clip trace".split()  # noqa: SIM905
)
_ARGUMENTS = {"where": 3, "clip": 3, "interp": 3, "linspace": 3, "arange": 3, "full": 2, "isclose": 4, "allclose": 4}
"""How many arguments functions of NumPy take before the one that they write to; others 2."""


def _is_pure_call(node: ast.Call, function: FunctionType, own: set[str], local: set[str]) -> bool:
    if any(k.arg in WRITING for k in node.keywords) or writes_by_place(node, None):
        return False
    for arg in (*node.args, *(k.value for k in node.keywords)):
        if isinstance(arg, ast.Attribute) and arg.attr not in METHODS and root(arg) is not None:
            owner = function.__globals__.get(root(arg) or "")
            if not isinstance(owner, ModuleType):
                return False  # a method that is passed on
        if isinstance(arg, ast.Name) and arg.id not in own | local:
            passed = function.__globals__.get(arg.id, getattr(builtins, arg.id, None))
            if hasattr(passed, "__next__") or (
                callable(passed) and passed is not function and not is_pure_function(passed)
            ):
                return False
    if isinstance(node.func, ast.Name):
        if node.func.id == function.__name__:
            return True
        if node.func.id in own | local:
            return False
        value = function.__globals__.get(node.func.id, getattr(builtins, node.func.id, None))
        if value is None and node.func.id in function.__code__.co_freevars:
            cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
            value = cells[node.func.id].cell_contents
        return is_pure_function(value)
    if isinstance(node.func, ast.Attribute):
        base = root(node.func)
        if (
            isinstance(node.func.value, ast.Name)
            and base in own
            and node.func.attr in ("append", "add", "extend", "pop", "sort", "reverse", "update", "insert")
        ):
            return True
        module = function.__globals__.get(base) if base is not None and base not in own | local else None
        if isinstance(module, ModuleType):
            return is_pure_function(getattr(module, node.func.attr, None))
        return node.func.attr in METHODS
    return False


@lru_cache(maxsize=1024)
def definition(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The syntax tree of a function that a user wrote; None where its text is not to be had, or is another's."""
    if hasattr(function, "__wrapped__"):
        return None
    known = getattr(function, "rfactor_definition", None)  # of a file that is read and not run
    if known is not None:
        return known  # type: ignore[no-any-return]
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return None
    if isinstance(tree, ast.FunctionDef):
        return tree
    lambdas = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
    if len(lambdas) != 1:
        return None
    made = ast.FunctionDef("lambda_", lambdas[0].args, [ast.Return(lambdas[0].body)], [])
    return ast.fix_missing_locations(ast.copy_location(made, lambdas[0]))


def root(node: ast.AST) -> str | None:
    """The name at the beginning of a chain of attributes and subscripts."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


MATH = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
