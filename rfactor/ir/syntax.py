"""Text to Python's syntax trees; what is no expression is refused, with what to write instead."""

from __future__ import annotations

import ast
import contextlib
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rfactor.errors import ParseError, excerpt
from rfactor.ir.spellings import FOREIGN

_ASSIGNMENT = re.compile(r"(?<![=!<>])=(?!=)")
_MAX_LENGTH = 100_000
_MAX_DEPTH = 400


def _tree(text: str) -> ast.expr:
    """The syntax tree. Python 3.11 counts the depth of trees for all threads together, and gives up with a
    `SystemError` where two of them happen to make one at once: then it is made again."""
    for _ in range(100):
        with contextlib.suppress(SystemError):
            return ast.parse(text, mode="eval").body
    return ast.parse(text, mode="eval").body


def components_of(text: str) -> list[ast.expr]:
    """The components of `text` as Python syntax trees. Raises `ParseError`."""
    if len(text) > _MAX_LENGTH:
        raise ParseError(f"an expression of {len(text)} characters; the limit is {_MAX_LENGTH}")
    text = text.strip()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Python finds odd is an error here or is meant
            body = _tree(text)
    except SyntaxError as error:
        if (instead := _without_assignment(text)) is not None:
            raise ParseError(f"an update is what the accumulators become, without an assignment{instead}") from None
        for pattern, instead in FOREIGN:
            if pattern.search(text):
                raise ParseError(f"not an expression: {instead}, in: {excerpt(text)}") from None
        at = f" at column {error.offset}" if error.offset else " up to its end"
        raise ParseError(f"not an expression{at} ({error.msg}): {excerpt(text) or 'empty text'}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise ParseError(f"not an expression ({error}): {excerpt(text)}") from None
    # A level takes a character, and what an operand adds to the depth a comma or an operator.
    if 2 * len(text) > _MAX_DEPTH and _depth(body) > _MAX_DEPTH:
        raise ParseError(f"an expression nested more than {_MAX_DEPTH} deep: {excerpt(text)}")
    components = list(body.elts) if isinstance(body, ast.Tuple) else [body]
    if not components:
        raise ParseError("an update needs a component: ()")
    return components


_AUGMENTED: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def assignment_of(text: str) -> tuple[tuple[str, ...], str] | None:
    """The names that an assignment gives new values to, and those values: of `s += a` `s` and `s + a`.

    None for what is no assignment to names, which `components_of` reads or refuses.
    """
    text = text.strip()
    if len(text) > _MAX_LENGTH or not _ASSIGNMENT.search(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None
    statement = statements[0] if len(statements) == 1 else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        operation, value = _AUGMENTED.get(type(statement.op)), statement.value
        written = ast.get_source_segment(text, value)
        if operation is None or isinstance(value, ast.Tuple) or written is None:
            return None
        plain = isinstance(value, ast.Name | ast.Constant | ast.Call)
        name = statement.target.id
        return (name,), f"{name} {operation} {written if plain else f'({written})'}"
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        names = tuple(one.id for one in targets if isinstance(one, ast.Name))
        written = ast.get_source_segment(text, statement.value)
        return None if len(names) < len(targets) or not names or written is None else (names, written)
    return None


def _without_assignment(text: str) -> str | None:
    """What to write instead of an assignment, after a colon; None if the text is none."""
    assigned = _ASSIGNMENT.search(text)
    if assigned is None:
        return None
    left, right = text[: assigned.start()].rstrip(), text[assigned.end() :].strip()
    target = left.rstrip("+-*/%&|^")
    operation, target = left[len(target) :], target.strip()
    if not target.replace(",", "").replace(" ", "").isidentifier():
        return None
    if not right or operation in ("**",) or (operation and "," in target):
        return ""
    return f": {f'{target} {operation} ' if operation else ''}{right}"


def _depth(root: ast.AST) -> int:
    """How deep the expression will be; a chain of n operands is n - 1 operations inside one another."""
    deepest, waiting = 0, [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        operands: Sequence[ast.AST] = ()
        if isinstance(node, ast.BoolOp):
            operands = node.values
        elif isinstance(node, ast.Compare):
            operands = node.comparators
        elif isinstance(node, ast.Call):
            operands = node.args
        inner = depth + max(1, len(operands) - 1)
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]
    return deepest


@contextmanager
def deep_refused(text: str) -> Iterator[None]:
    """What is nested deeper than there is stack for is refused."""
    try:
        yield
    except RecursionError:
        raise ParseError(f"an expression nested too deep: {excerpt(text)}") from None
