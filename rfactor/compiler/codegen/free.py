"""What a statement needs from outside: the variables and flat buffers that it does not define itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from rfactor.compiler.lower.prefixes import is_prefixes
from rfactor.compiler.lower.totals import is_total
from rfactor.ir.algorithm import ADDRESS
from rfactor.ir.expr import Expr, Var, names, walk
from rfactor.ir.loopnest import (
    Allocate,
    Assert,
    Atomic,
    Block,
    For,
    If,
    Let,
    Load,
    Produce,
    Stmt,
    Store,
    Write,
)
from rfactor.ir.statements import walk_nest


@dataclass(frozen=True, slots=True)
class Free:
    """Names in order of first use."""

    variables: tuple[str, ...]
    buffers: tuple[str, ...]


def free(stmt: Stmt) -> Free:
    """The free names of `stmt`."""
    variables: dict[str, None] = {}
    buffers: dict[str, None] = {}

    def expression(expr: Expr, bound: frozenset[str]) -> None:
        for node in walk(expr):
            if isinstance(node, Var) and node.name not in bound:
                variables.setdefault(node.name)
            elif isinstance(node, Load) and _tag(node.buffer) not in bound:
                buffers.setdefault(node.buffer)

    def statement(stmt: Stmt, bound: frozenset[str]) -> None:
        for expr in expressions(stmt):
            expression(expr, bound)
        if isinstance(stmt, Store) and _tag(stmt.buffer) not in bound:
            buffers.setdefault(stmt.buffer)
        for child, name in bodies(stmt):
            statement(child, bound if name is None else bound | {name})

    statement(stmt, frozenset())
    return Free(tuple(variables), tuple(buffers))


def addressed(stmt: Stmt) -> frozenset[str]:
    """The arrays whose place in memory is checked."""
    checked = (check.condition for check in walk_nest(stmt) if isinstance(check, Assert))
    return frozenset(n.removesuffix(ADDRESS) for condition in checked for n in names(condition) if n.endswith(ADDRESS))


@lru_cache(maxsize=1 << 12)
def read(expr: Expr) -> frozenset[str]:
    """The flat buffers that `expr` loads from."""
    return frozenset(node.buffer for node in walk(expr) if isinstance(node, Load))


def buffers(stmt: Stmt, known: dict[int, tuple[Stmt, frozenset[str]]]) -> frozenset[str]:
    """The flat buffers that are read or written in `stmt`, those that it allocates too. `known`, by identity, are those
    of statements that were looked at before."""
    found = known.get(id(stmt))
    if found is None:
        own = {node.buffer for expr in expressions(stmt) for node in walk(expr) if isinstance(node, Load)}
        own |= {stmt.buffer} if isinstance(stmt, Store) else set()
        inside = (buffers(child, known) for child, _ in bodies(stmt))
        found = known[id(stmt)] = stmt, frozenset(own.union(*inside))
    return found[1]


def uses_vectors(stmt: Stmt) -> bool:
    """Whether any value in `stmt` has several lanes, but for running values and sums of bytes, which no schedule put in
    vectors."""
    if is_prefixes(stmt) or is_total(stmt):
        return False
    return any(node.type.lanes > 1 for expr in expressions(stmt) for node in walk(expr)) or any(
        uses_vectors(child) for child, _ in bodies(stmt)
    )


def largest(stmt: Stmt) -> int:
    """The number of operations in the largest of the expressions in `stmt`."""
    sizes = [len(walk(expr)) for expr in expressions(stmt)]
    return max([0, *sizes, *(largest(child) for child, _ in bodies(stmt))])


def uses_threads(stmt: Stmt) -> bool:
    """Whether any loop in `stmt` is parallel."""
    if isinstance(stmt, For) and stmt.kind == "parallel":
        return True
    return any(uses_threads(child) for child, _ in bodies(stmt))


def innermost(stmt: Stmt) -> list[For]:
    """The loops of `stmt` that have no loop inside."""
    inside = [loop for child, _ in bodies(stmt) for loop in innermost(child)]
    return inside or ([stmt] if isinstance(stmt, For) else [])


def within(stmt: Stmt) -> Iterator[Stmt]:
    """`stmt` and all statements inside."""
    yield stmt
    for child, _ in bodies(stmt):
        yield from within(child)


def _tag(buffer: str) -> str:
    """Buffers and variables are two name spaces; in the set of bound names a buffer has a mark."""
    return f"[{buffer}]"


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """What `stmt` itself computes."""
    match stmt:
        case For():
            return (stmt.min, stmt.extent)
        case Let():
            return (stmt.value,)
        case If():
            return (stmt.condition,)
        case Allocate():
            return (stmt.size,)
        case Store():
            return (stmt.index, stmt.value, stmt.predicate)
        case Write():
            return (stmt.line,)
        case Assert():
            return (stmt.condition, *stmt.arguments)
    return ()


def bodies(stmt: Stmt) -> tuple[tuple[Stmt, str | None], ...]:
    """The statements directly inside, each with the name that is bound in it."""
    match stmt:
        case Block():
            return tuple((child, None) for child in stmt.statements)
        case For() | Let():
            return ((stmt.body, stmt.name),)
        case If():
            return ((stmt.then, None), *(() if stmt.otherwise is None else ((stmt.otherwise, None),)))
        case Allocate():
            return ((stmt.body, _tag(stmt.buffer)),)
        case Produce() | Atomic():
            return ((stmt.body, None),)
    return ()
