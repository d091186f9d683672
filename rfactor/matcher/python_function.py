"""Python functions as updates: `lambda acc, x: acc*31 + x` is `acc*31 + x` with the accumulator `acc`.

The function is read, never called. Its source is taken only where compiling it gives the code that the function has:
a file may have changed since it was imported, and a line may have several lambdas.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
from collections.abc import Callable, Collection, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any

from rfactor.errors import ParseError, excerpt
from rfactor.ir.expr import Const, Op, walk
from rfactor.ir.intrinsics import FUNCTIONS
from rfactor.ir.printer import show
from rfactor.ir.types import BY_NAME
from rfactor.ir.update import Update

_BUILTINS = ("min", "max", "abs")
_OURS = ("select", "clamp", *BY_NAME)
"""Functions of the language that Python has not; they are those of `rfactor`."""
_CONSTANTS = ("inf", "nan", "true", "false")
_EXAMPLE = "as in rfactor.check(lambda acc, a: acc*31 + a)"

_Node = ast.Lambda | ast.FunctionDef


def text_of(
    function: Callable[..., Any], state: Sequence[str] = (), functions: Collection[str] = ()
) -> tuple[str, tuple[str, ...]]:
    """The update that a function computes, as text, and the names of its accumulators.

    Those are the first parameters, as many as values are returned, or what a first statement `s, n = acc` unpacks the
    first parameter to; or those in `state`. `functions` may be called besides those of the language. Raises
    `ParseError`.
    """
    if not isinstance(function, FunctionType):
        raise ParseError(f"an update is a text, a lambda or a function, not {excerpt(repr(function))}: {_EXAMPLE}")
    node = _source(function)
    parameters = _parameters(node, function)
    returned, unpacked = _returned(node, parameters, function)
    names = {*parameters, *unpacked} if not unpacked else {*parameters[1:], *unpacked}
    for name in names:
        if name in _CONSTANTS:
            raise ParseError(f"a parameter cannot be called {name}, which is a number here")
    _check_read(returned, names, function, functions)
    components = returned.elts if isinstance(returned, ast.Tuple) else [returned]
    count = len(components)
    own = tuple(state) or unpacked or tuple(parameters[:count])
    if len(own) < count:
        raise ParseError(
            f"{_called(function)} returns {count} values and has {len(own)} parameters for them: {_EXAMPLE}"
        )
    for name in own:
        if name not in names:
            raise ParseError(f"{name} is no parameter of {_called(function)}, which are {', '.join(parameters)}")
    return ", ".join(map(ast.unparse, components)), own


def check_divisions(update: Update) -> None:
    """Refuse quotients that Python rounds otherwise: of a divisor that may be negative it rounds down, where the
    language leaves a remainder that is not negative. Raises `ParseError`."""
    for node in (node for component in update.components for node in walk(component)):
        if isinstance(node, Op) and node.op in ("//", "%"):
            divisor = node.args[1]
            signed = divisor.type.is_signed and not (isinstance(divisor, Const) and divisor.value > 0)
            if signed:
                raise ParseError(
                    f"Python and the language round {show(node)} differently where {show(divisor)} is negative: let it "
                    f"be unsigned or a positive literal, or ask of a text, where the remainder is never negative"
                )


def _source(function: FunctionType) -> _Node:
    """The syntax tree of a function. Raises `ParseError` where there is none that gives its code."""
    code = function.__code__
    try:
        lines, _ = inspect.findsource(code)
        tree = ast.parse("".join(lines))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParseError(
            f"the source of {_called(function)} is not to be had, as of what is typed into an interpreter or made by "
            f"exec: pass the update as a text, with state= for the accumulators"
        ) from None
    there = [n for n in ast.walk(tree) if isinstance(n, _Node) and _first_line(n) == code.co_firstlineno]
    for node in there:
        if _alike(_compiled(node), code):
            return node
    for node in there:
        _check_calls(node)  # a call of what a module holds is compiled otherwise where the module is imported
    if there and code.co_freevars:
        raise ParseError(
            f"{_called(function)} reads {', '.join(code.co_freevars)} from around it: make that a parameter (k, k0, … "
            f"are constants of the loop), or write its value"
        )
    raise ParseError(
        f"the source of {_called(function)} has changed since it was read: pass the update as a text, with state= for "
        f"the accumulators"
    )


def _check_calls(node: ast.AST) -> list[tuple[ast.Name, str]]:
    """The functions that are called, all by names."""
    calls = [part for part in ast.walk(node) if isinstance(part, ast.Call)]
    for call in calls:
        if not isinstance(call.func, ast.Name):
            raise ParseError(f"a call is of a name, as in max(acc, a), not {excerpt(ast.unparse(call))}")
    return [(call.func, call.func.id) for call in calls if isinstance(call.func, ast.Name)]


def _first_line(node: _Node) -> int:
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    return min(part.lineno for part in (node, *decorators))


def _compiled(node: _Node) -> CodeType | None:
    """The code of a function by itself; None where it cannot stand there."""
    try:
        if isinstance(node, ast.Lambda):
            outer = compile(ast.Expression(node), "", "eval", dont_inherit=True)
        else:
            outer = compile(ast.Module([node], []), "", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return None
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    return next((part for part in outer.co_consts if isinstance(part, CodeType) and part.co_name == name), None)


_KIND = (
    inspect.CO_VARARGS
    | inspect.CO_VARKEYWORDS
    | inspect.CO_GENERATOR
    | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR
)


def _alike(one: CodeType | None, other: CodeType) -> bool:
    def told(code: CodeType) -> tuple[object, ...]:
        return (
            code.co_name, code.co_code, repr(code.co_consts), code.co_names, code.co_varnames, code.co_freevars,
            code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags & _KIND,
        )  # fmt: skip

    return one is not None and told(one) == told(other)


def _parameters(node: _Node, function: FunctionType) -> list[str]:
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
        raise ParseError(f"{_called(function)} has parameters other than plain ones: {_EXAMPLE}")
    names = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
    if not names:
        raise ParseError(f"{_called(function)} has no parameter for the accumulator: {_EXAMPLE}")
    return names


def _returned(node: _Node, parameters: Sequence[str], function: FunctionType) -> tuple[ast.expr, tuple[str, ...]]:
    """What is returned, and the names that the first parameter is unpacked to before."""
    if isinstance(node, ast.Lambda):
        return node.body, ()
    body = list(node.body)
    if (
        isinstance(body[0], ast.Expr)
        and isinstance(body[0].value, ast.Constant)
        and isinstance(body[0].value.value, str)
    ):
        body.pop(0)
    unpacked: tuple[str, ...] = ()
    if len(body) == 2:
        unpacked = _unpacked(body[0], parameters)
    last = body[-1] if body else None
    if len(body) != 1 + bool(unpacked) or not isinstance(last, ast.Return) or last.value is None:
        raise ParseError(
            f"{_called(function)} is to be one return statement, after s, n = {parameters[0]} at most: {_EXAMPLE}"
        )
    return last.value, unpacked


def _unpacked(statement: ast.stmt, parameters: Sequence[str]) -> tuple[str, ...]:
    """The names that a statement unpacks the first parameter to; none where it is another statement."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return ()
    target, value = statement.targets[0], statement.value
    if not isinstance(target, ast.Tuple) or not isinstance(value, ast.Name) or value.id != parameters[0]:
        return ()
    names = tuple(one.id for one in target.elts if isinstance(one, ast.Name))
    fresh = len(names) == len(target.elts) == len({*names, *parameters}) - len(parameters)
    return names if fresh else ()


def _check_read(returned: ast.expr, names: Collection[str], function: FunctionType, functions: Collection[str]) -> None:
    """Refuse a name that is no parameter, and a call of what the language has not, or has otherwise."""
    calls = _check_calls(returned)
    for _, name in calls:
        if name in names or not _is_of_language(name, _meaning(name, function), functions):
            raise ParseError(
                f"{name} in {_called(function)} is none of the functions that are read there: {', '.join(_BUILTINS)}, "
                f"those of math that the language has, and {', '.join(_OURS[:2])} and casts of rfactor"
            )
    called = {id(node) for node, _ in calls}
    for part in ast.walk(returned):
        if isinstance(part, ast.Name) and id(part) not in called and part.id not in names:
            raise ParseError(
                f"{part.id} is no parameter of {_called(function)}: make it one (k, k0, … are constants of the loop), "
                f"or write its value"
            )


_NOTHING = object()


def _meaning(name: str, function: FunctionType) -> object:
    """What a global name stands for where the function was made."""
    return function.__globals__.get(name, getattr(builtins, name, _NOTHING))


def _is_of_language(name: str, meaning: object, functions: Collection[str]) -> bool:
    if name in functions:
        return True
    if name in _BUILTINS and meaning is getattr(builtins, name):
        return True
    if name in FUNCTIONS and meaning is getattr(math, name, _NOTHING):
        return True
    ours = getattr(meaning, "__module__", "") or ""
    return (name in _OURS or name in FUNCTIONS or name in _BUILTINS) and (
        not isinstance(meaning, ModuleType) and ours.partition(".")[0] == "rfactor"
    )


def _called(function: FunctionType) -> str:
    return "the lambda" if function.__name__ == "<lambda>" else f"the function {function.__name__}"
