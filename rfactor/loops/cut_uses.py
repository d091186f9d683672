"""Uses of arguments that are taken in parts: outside of the loop, and in its body."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rfactor.loops.cuts import Cutter


class Whole(ast.NodeTransformer):
    """Uses of cut arguments outside of the loop: their lengths, and before it the first elements."""

    def __init__(self, cutter: Cutter, where: str) -> None:
        self.cutter, self.where, self.elements = cutter, where, True

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = self.cutter.length_call(node)
        return self._length(name, node) if name in self.cutter.walked else self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        name = self.cutter.length_call(node)
        if name in self.cutter.walked:
            return self._length(name, node)
        if (
            self.elements and isinstance(node.value, ast.Name) and node.value.id in self.cutter.walked
            and isinstance(node.slice, ast.Constant) and type(node.slice.value) is int and node.slice.value >= 0
            and isinstance(node.ctx, ast.Load)
        ):  # fmt: skip
            return self._asked(node.value.id, "element", node, [node.slice])
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        if (
            isinstance(node.op, ast.Not)
            and isinstance(node.operand, ast.Name)
            and node.operand.id in self.cutter.walked
        ):
            return ast.copy_location(ast.UnaryOp(node.op, self._asked(node.operand.id, "truth", node, [])), node)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        if isinstance(node.test, ast.Name) and node.test.id in self.cutter.walked:
            node.test = self._asked(node.test.id, "truth", node.test, [])
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if self.elements and node.attr in ("dtype", "ndim") and isinstance(node.value, ast.Name):
            name = node.value.id
            if name in self.cutter.walked and isinstance(node.ctx, ast.Load):
                return self._asked(name, "attribute", node, [ast.Constant(node.attr)])
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.cutter.walked:
            raise self.cutter.no(
                f"{node.id} is used as a whole {self.where}, and is taken in parts", node,
                f"use only len({node.id})" + (f" and {node.id}[0] there" if self.elements else " there"),
            )  # fmt: skip
        return node

    def _length(self, name: str, node: ast.expr) -> ast.expr:
        return self._asked(name, "length" if self.elements else "count", node, [])

    def _asked(self, name: str, what: str, node: ast.expr, args: list[ast.expr]) -> ast.expr:
        made = ast.Call(ast.Attribute(ast.Name(name, ast.Load()), what, ast.Load()), args, [])
        for n in ast.walk(made):
            ast.copy_location(n, node)
        return made


class Inside(ast.NodeTransformer):
    """Elements beside the step's own, read from the part at hand."""

    def __init__(self, cutter: Cutter, changed: set[str]) -> None:
        self.cutter, self.changed = cutter, changed

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if not (isinstance(node.value, ast.Name) and node.value.id in self.cutter.walked):
            return self.generic_visit(node)
        name = node.value.id
        first, *rest = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        found = offset_of(first)
        if found is None or found[0] not in self.cutter.counters or found[0] in self.changed:
            raise self.cutter.no(
                f"{ast.unparse(node)} may lie in another part", node, "index it by the step, give or take a number",
            )  # fmt: skip
        if not isinstance(node.ctx, ast.Load):
            raise self.cutter.no(f"{name} is changed, and is taken in parts", node, "append to a list instead")
        counter, by = found
        self.cutter.place(name, counter, by)
        window, base = self.cutter.windows[name]
        index: ast.expr = ast.BinOp(ast.Name(counter, ast.Load()), ast.Sub(), ast.Name(base, ast.Load()))
        if by:
            index = ast.BinOp(index, ast.Add() if by > 0 else ast.Sub(), ast.Constant(abs(by)))
        rest = [self.visit(r) for r in rest]
        made = ast.Subscript(
            ast.Name(window, ast.Load()), ast.Tuple([index, *rest], ast.Load()) if rest else index, node.ctx
        )
        for n in ast.walk(made):
            if not hasattr(n, "lineno"):
                ast.copy_location(n, node)
        return made

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.cutter.walked:
            raise self.cutter.no(
                f"{node.id} is used as a whole in the loop, and is taken in parts",
                node,
                "compute it before, as an argument",
            )
        return node


def offset_of(node: ast.expr) -> tuple[str, int] | None:
    """A counter and what is added to it."""
    if isinstance(node, ast.Name):
        return node.id, 0
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        if isinstance(node.left, ast.Name) and isinstance(node.right, ast.Constant) and type(node.right.value) is int:
            return node.left.id, node.right.value if isinstance(node.op, ast.Add) else -node.right.value
        if (
            isinstance(node.op, ast.Add) and isinstance(node.right, ast.Name)
            and isinstance(node.left, ast.Constant) and type(node.left.value) is int
        ):  # fmt: skip
            return node.right.id, node.left.value
    return None
