"""Smaller programs that fail in the same way: lines are left out, and expressions become parts of themselves."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.program import Program

Fails = Callable[[Program], bool]
"""Whether a program still fails in the way that is looked into."""


def shrunk(program: Program, fails: Fails, tries: int = 600) -> Program:
    """The smallest program found in that many tries. `program` itself fails."""
    left = tries

    def attempt(candidate: Program) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(candidate)

    while left > 0:
        before = program
        program = _without(program, "directives", attempt)
        program = _without(program, "definitions", attempt)
        program = _simplified(program, attempt)
        if program == before:
            break
    return program


def _without(program: Program, part: str, attempt: Fails) -> Program:
    """Runs of lines left out, long ones first."""
    size = max(len(getattr(program, part)) // 2, 1)
    while size:
        at = 0
        while at < len(getattr(program, part)):
            lines = getattr(program, part)
            candidate = replace(program, **{part: lines[:at] + lines[at + size :]})
            if attempt(candidate):
                program = candidate
            else:
                at += size
        size //= 2
    return program


def _simplified(program: Program, attempt: Fails) -> Program:
    """Expressions replaced by their operands, numbers by smaller ones, in every line but those of data."""
    for part in ("directives", "definitions"):
        for at in range(len(getattr(program, part))):
            number = 0
            while number < _size(getattr(program, part)[at]):
                for line in _simpler(getattr(program, part)[at], number):
                    lines = list(getattr(program, part))
                    lines[at] = line
                    candidate = replace(program, **{part: tuple(lines)})
                    if attempt(candidate):
                        program = candidate
                        break
                else:
                    number += 1
    return program


def _size(line: str) -> int:
    """The number of expressions that may be made simpler."""
    if "np.array" in line or "Func(" in line or "Var(" in line:
        return 0
    return sum(isinstance(node, ast.expr) for node in ast.walk(ast.parse(line)))


def _simpler(line: str, number: int) -> Iterator[str]:
    """The line with expression `number`, outermost first, made simpler in every way."""
    choice = 0
    while True:
        changed = _Change(number, choice)
        new = changed.visit(ast.parse(line))
        if not changed.done:
            return
        text = ast.unparse(ast.fix_missing_locations(new))
        if len(text) < len(line):
            yield text
        choice += 1


class _Change(ast.NodeTransformer):
    """Expression `number` of a statement, outermost first, replaced by its simplification number `choice`."""

    def __init__(self, number: int, choice: int) -> None:
        self.left, self.choice, self.done = number, choice, False

    def visit(self, node: ast.AST) -> ast.AST:
        if self.done:
            return node
        if isinstance(node, ast.expr):
            if self.left == 0:
                options = list(_parts(node))
                self.left -= 1
                if self.choice < len(options):
                    self.done = True
                    return options[self.choice]
                return node
            self.left -= 1
        return self.generic_visit(node)


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    match node:
        case ast.BinOp():
            yield ast.Constant(1)
            yield node.left
            yield node.right
        case ast.UnaryOp():
            yield node.operand
        case ast.Compare():
            yield node.left
        case ast.Call():
            if len(ast.unparse(node)) > 8 and not _is_type(node):
                yield ast.Constant(1)
            yield from (arg for arg in reversed(node.args) if not _is_type(arg))
        case ast.List() if len(node.elts) > 1:
            yield ast.List(node.elts[: len(node.elts) // 2], ast.Load())
            yield ast.List(node.elts[:-1], ast.Load())
        case ast.Constant(value=value) if isinstance(value, int) and not isinstance(value, bool):
            for other in (0, 1, value // 2, value - 1):
                if 0 <= other < value:
                    yield ast.Constant(other)


def _is_type(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr[0].isupper()
