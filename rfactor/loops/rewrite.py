"""A function with its loops opened: each asks, where it begins, from which step on Python is to run it.

    for T in HEADER:            loop_3 = None if loops.short[3] else loops(3, locals())
        BODY                    if loop_3 and loop_3.values:
    else:               ->          if "s" in loop_3.values: s = loop_3.values["s"]
        LAST                    for T in loop_3.rest if loop_3 else HEADER:
                                    BODY
                                else:
                                    LAST

Steps before `rest` are computed by compiled code. The last step, and one that leaves the loop or raises, is always
Python's own, so that what a loop leaves behind (names, exceptions, `else`) is what Python leaves behind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any

from rfactor.loops.source import Source, names_stored, stored_in


@dataclass(eq=False)
class Loop:
    """A loop of the function's text."""

    number: int
    node: ast.For | ast.While
    parent: Loop | None
    inner: list[Loop] = field(default_factory=list)
    read_after: frozenset[str] = frozenset()
    """Names that are read somewhere in the function outside of the loop."""

    @property
    def nest(self) -> list[Loop]:
        """This loop and those that are the whole body of the one before."""
        found: list[Loop] = [self]
        while (
            isinstance(found[-1].node, ast.For)
            and len(found[-1].node.body) == 1
            and isinstance(found[-1].node.body[0], ast.For)
            and not found[-1].node.orelse
            and found[-1].inner
        ):
            found.append(found[-1].inner[0])
        return found


_CONTEXT, _BEGIN, _LOCALS = "rfactor_loops_", "rfactor_begin_", "rfactor_locals_"


def loops_of(source: Source) -> list[Loop]:
    """The loops of a function, in the order of its text."""
    finder = _Finder()
    for statement in source.tree.body:
        finder.visit(statement)
    for loop in finder.loops:
        inside = {id(n) for n in ast.walk(loop.node)}
        loop.read_after = frozenset(
            n.id
            for n in ast.walk(source.tree)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in inside
        )
    return finder.loops


class _Finder(ast.NodeVisitor):
    def __init__(self) -> None:
        self.loops: list[Loop] = []
        self.stack: list[Loop] = []

    def _loop(self, node: ast.For | ast.While) -> None:
        loop = Loop(len(self.loops), node, self.stack[-1] if self.stack else None)
        self.loops.append(loop)
        if self.stack:
            self.stack[-1].inner.append(loop)
        self.stack.append(loop)
        self.generic_visit(node)
        self.stack.pop()

    visit_For = visit_While = _loop

    def _skip(self, node: ast.AST) -> None:
        return

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _skip


class _Opener(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    def visit_For(self, node: ast.For) -> list[ast.stmt]:
        return self._open(node)

    def visit_While(self, node: ast.While) -> list[ast.stmt]:
        return self._open(node)

    def _open(self, node: ast.For | ast.While) -> list[ast.stmt]:
        number, self.count = self.count, self.count + 1
        name = f"rfactor_loop_{number}_"
        stored = set(stored_in(node.body))
        if isinstance(node, ast.While):
            stored |= names_stored(node.test)
        if isinstance(node, ast.For):
            stored -= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        text = f"{name} = None if {_CONTEXT}.short[{number}] else {_CONTEXT}({number}, {_LOCALS}())\n"
        if stored:
            text += f"if {name} is not None and {name}.values:\n"
            for s in sorted(stored):
                text += f"    if {s!r} in {name}.values: {s} = {name}.values[{s!r}]\n"
        before = ast.parse(text).body
        self.generic_visit(node)
        if isinstance(node, ast.For):
            rest = ast.Attribute(ast.Name(name, ast.Load()), "rest", ast.Load())
            asked = ast.Compare(ast.Name(name, ast.Load()), [ast.Is()], [ast.Constant(None)])
            node.iter = ast.IfExp(asked, node.iter, rest)
        for statement in before:
            for n in ast.walk(statement):
                ast.copy_location(n, node)
        return [*before, node]

    def _skip(self, node: ast.AST) -> ast.AST:
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _skip


def opened(source: Source, begin: Callable[[], Any]) -> FunctionType:
    """The function with its loops opened; `begin` gives, for each call, what the loops ask."""
    import copy

    tree = copy.deepcopy(source.tree)
    tree.decorator_list = []
    tree.returns = None
    for a in (*tree.args.args, *tree.args.posonlyargs, *tree.args.kwonlyargs, tree.args.vararg, tree.args.kwarg):
        if a is not None:
            a.annotation = None
    tree.args.defaults = [ast.Constant(None) for _ in tree.args.defaults]
    tree.args.kw_defaults = [None if d is None else ast.Constant(None) for d in tree.args.kw_defaults]
    opener = _Opener()
    body: list[ast.stmt] = []
    for statement in tree.body:
        made = opener.visit(statement)
        body += made if isinstance(made, list) else [made]
    first = ast.parse(f"{_CONTEXT} = {_BEGIN}()").body[0]
    tree.body = [ast.copy_location(first, tree.body[0]), *body]
    free = [*source.function.__code__.co_freevars, _BEGIN, _LOCALS]
    own: list[ast.stmt] = [] if tree.name in free else [ast.Global([tree.name])]
    maker = ast.FunctionDef(
        "make", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []), [*own, tree], [],
        lineno=1, col_offset=0,
    )  # fmt: skip
    module = ast.fix_missing_locations(ast.Module([maker], []))
    code = compile(module, source.function.__code__.co_filename, "exec")
    inner = _inner_code(_inner_code(code, "make"), tree.name)
    cells = dict(zip(source.function.__code__.co_freevars, source.function.__closure__ or (), strict=True))
    cells |= {_BEGIN: CellType(begin), _LOCALS: CellType(locals)}
    function = source.function
    made_function = FunctionType(
        inner, function.__globals__, function.__name__, function.__defaults__,
        tuple(cells[n] for n in inner.co_freevars),
    )  # fmt: skip
    made_function.__kwdefaults__ = function.__kwdefaults__
    return made_function


def _inner_code(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
