"""Statements taken apart and put together: what passes over nests walk by."""

import pytest

from rfactor.ir.expr import Const, Var, apply
from rfactor.ir.loopnest import Allocate, Atomic, Block, For, If, Let, Produce, Realize, Stmt, Store, plain_layout
from rfactor.ir.statements import is_innermost, parts, walk_nest, with_parts
from rfactor.ir.types import BOOL, I32

ZERO, SIZE = Const(I32, 0), Const(I32, 8)
X = Var(I32, "x")


def store(buffer: str) -> Store:
    return Store(buffer, X, ZERO, Const(BOOL, True))


A, B = store("a"), store("b")
ASKED = apply("<", X, SIZE)
AROUND: tuple[Stmt, ...] = (
    For("x", ZERO, SIZE, "serial", A),
    Let("y", X, A),
    Produce("f", A),
    Allocate("a", I32, SIZE, A),
    Realize("f", (I32,), ((ZERO, SIZE),), A, plain_layout(1)),
    Atomic(A, threads=True),
    If(ASKED, A),
    If(ASKED, A, B),
    Block((A, B)),
)


@pytest.mark.parametrize("stmt", [*AROUND, A], ids=repr)
def test_where_nothing_changes_the_statement_is_the_very_same(stmt: Stmt) -> None:
    assert with_parts(stmt, lambda part: part) is stmt


@pytest.mark.parametrize("stmt", AROUND, ids=repr)
def test_each_part_is_changed_in_its_place(stmt: Stmt) -> None:
    changed = with_parts(stmt, lambda part: store(f"{part.buffer}.new") if isinstance(part, Store) else part)
    assert parts(changed) == tuple(store(f"{part.buffer}.new") for part in parts(stmt) if isinstance(part, Store))
    others = iter(parts(stmt))
    assert type(changed) is type(stmt)
    assert with_parts(changed, lambda part: next(others)) == stmt


def test_what_becomes_a_block_in_a_block_is_part_of_it() -> None:
    assert with_parts(Block((A, B)), lambda part: Block((part, part))) == Block((A, A, B, B))


def test_a_nest_is_walked_from_outside_in_order() -> None:
    loop = For("x", ZERO, SIZE, "serial", Block((A, If(ASKED, B, A))))
    assert list(walk_nest(loop)) == [loop, loop.body, A, If(ASKED, B, A), B, A]


def test_innermost_loops_hold_neither_loops_nor_branches() -> None:
    inner = For("x", ZERO, SIZE, "serial", Let("y", X, Block((A, Produce("f", B)))))
    assert is_innermost(inner)
    assert not is_innermost(For("z", ZERO, SIZE, "serial", inner))
    assert not is_innermost(For("x", ZERO, SIZE, "serial", Block((A, If(ASKED, B)))))
    assert not is_innermost(For("x", ZERO, SIZE, "parallel", A))
