"""Loops that fill neighbouring rows with zeros become one loop, which code generators make one call of.

    for v in (0, 4):
      for i in (m, e):                              ->    for i in (0, 4 * max(e, 0)):
        f[i + v*max(e, 0) - m] = 0                          f[i] = 0

Each loop less is a millisecond that LLVM does not take to find that there is nothing to gain in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import copysign, prod

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Expr, Op, Var, cast, names, substitute, walk
from rfactor.ir.loopnest import Allocate, For, Let, Load, Stmt, Store
from rfactor.ir.statements import with_parts
from rfactor.ir.types import I32, I64


def zeros(stmt: Stmt, lets: Mapping[str, Expr] | None = None, own: frozenset[str] = frozenset()) -> Stmt:
    """The flat nest with such loops joined, over buffers that it allocates (`own`): all their indices are i32.

    `lets` are the values of names that read no memory, in terms of names that have none.
    """
    lets = {} if lets is None else lets
    told = lets
    if isinstance(stmt, Let) and not affine.reads(stmt.value):
        told = {**lets, stmt.name: substitute(stmt.value, lets)}
    elif isinstance(stmt, Allocate):
        own |= {stmt.buffer}
    inner = with_parts(stmt, lambda part: zeros(part, told, own))
    return (_joined(inner, lets, own) or inner) if isinstance(inner, For) else inner


def clears(loop: For) -> bool:
    """Whether `loop` does nothing but fill elements of memory that follow each other with zeros."""
    store = loop.body
    if not isinstance(store, Store) or store.value.type.lanes > 1 or store.index.type != I64:
        return False
    return store.predicate == ALWAYS and is_zero(store.value) and step(store.index, loop.name) == 1


def step(index: Expr, name: str) -> int | None:
    """By how much `index` grows where the variable does by one; None where data or unknown sizes say."""
    total = 0
    for term, factor in affine.affine(index)[0]:
        if _plain(term, name):
            total += factor
        elif any(isinstance(node, Load) for node in walk(term)) or name in names(term):
            return None
    return total


def is_zero(value: Expr) -> bool:
    """Whether all bits are 0."""
    return isinstance(value, Const) and value.value == 0 and copysign(1, value.value) > 0


def _plain(term: Expr, name: str) -> bool:
    """Whether a term is the variable, or the variable converted."""
    plain = term.args[0] if isinstance(term, Op) and term.op == "cast" else term
    return isinstance(plain, Var) and plain.name == name


def _joined(rows: For, lets: Mapping[str, Expr], own: frozenset[str]) -> For | None:
    """A loop over rows as one over all that they hold, where each begins at the end of the one before."""
    row = rows.body
    if not (isinstance(row, For) and rows.kind == row.kind == "serial" and clears(row)):
        return None
    store = row.body
    assert isinstance(store, Store)
    if store.buffer not in own or rows.name in names(row.min) | names(row.extent):
        return None
    length, number = (affine.maximum(loop.extent, affine.integer(0)) for loop in (row, rows))
    most = prod(affine.constant_value(size) or 1 for size in (length, number))
    if most > I32.max or not _follows(store.index, rows.name, length, lets):
        return None
    start = substitute(store.index, {rows.name: rows.min, row.name: row.min})
    index = affine.add(cast(I64, Var(I32, row.name)), affine.tidy(start))
    return replace(row, min=affine.integer(0), extent=affine.multiply(number, length), body=replace(store, index=index))


def _follows(index: Expr, name: str, length: Expr, lets: Mapping[str, Expr]) -> bool:
    """Whether `index` grows by `length` where the variable `name` does by one."""
    own = [(term, factor) for term, factor in affine.affine(index)[0] if name in names(term)]
    if len(own) != 1:
        return False
    ((term, factor),) = own
    constant = affine.constant_value(length)
    if _plain(term, name):
        return factor == constant
    if not (isinstance(term, Op) and term.op == "*" and factor == 1 and constant is None):
        return False
    for variable, stride in (term.args, term.args[::-1]):
        if _plain(variable, name):
            return substitute(stride, lets) == cast(I64, substitute(length, lets))
    return False
