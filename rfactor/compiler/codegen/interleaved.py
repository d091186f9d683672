"""Stores one after the other that fill memory between them, as into an image whose channels lie beside each other.

f[ramp(b, 3, 8)] = r
f[ramp(b + 1, 3, 8)] = g     ->   f[ramp(b, 1, 24)] = r₀ g₀ b₀ r₁ g₁ b₁ …
f[ramp(b + 2, 3, 8)] = b

Each by itself would store every lane apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rfactor.compiler.lower.affine import affine
from rfactor.ir.expr import Const, walk
from rfactor.ir.loopnest import Broadcast, Load, Ramp, Stmt, Store
from rfactor.ir.types import I64
from rfactor.native.instructions import shuffle
from rfactor.native.literal import Builder, LLVMValue

WIDEST = 4
"""As many stores are put together."""


def groups(statements: Sequence[Stmt]) -> Iterator[tuple[Stmt, ...]]:
    """The statements in order: stores that fill memory together as one group, by address, each other by itself."""
    at = 0
    while at < len(statements):
        stride = _stride(statements[at])
        found = _filling(statements[at : at + stride], stride) if stride else None
        yield found or (statements[at],)
        at += stride if found else 1


def interleave(builder: Builder, values: Sequence[LLVMValue]) -> LLVMValue:
    """Vectors of one type as one: the first lane of each, the second of each, and so on."""
    count, lanes = len(values), values[0].type.count
    if count == 1:
        return values[0]
    if count % 2 == 0:
        # Of even ones and odd ones: pairs of lanes are what machines put together.
        first, second = interleave(builder, values[::2]), interleave(builder, values[1::2])
        half = lanes * count // 2
        return shuffle(builder, first, second, [lane // 2 + lane % 2 * half for lane in range(2 * half)])
    joined = values[0]
    for number, value in zip(range(1, count), values[1:], strict=True):
        wide = shuffle(builder, value, value, [lane % lanes for lane in range(number * lanes)])
        joined = shuffle(builder, joined, wide, list(range((number + 1) * lanes)))
    return shuffle(builder, joined, joined, [lane // count + lane % count * lanes for lane in range(count * lanes)])


def _stride(stmt: Stmt) -> int:
    """How many elements apart a vector is stored, where that may be filled; else 0."""
    if not (isinstance(stmt, Store) and isinstance(stmt.index, Ramp) and isinstance(stmt.index.stride, Const)):
        return 0
    stride = int(stmt.index.stride.value)
    whole = 2 <= stride <= WIDEST and stmt.index.base.type == I64 and _always(stmt)
    return stride if whole else 0


def _filling(statements: Sequence[Stmt], stride: int) -> tuple[Store, ...] | None:
    """`statements` by address, where they are `stride` stores that begin at as many elements beside each other, and
    none reads what another stores."""
    stores = [one for one in statements if isinstance(one, Store) and _stride(one) == stride]
    if len(stores) < stride:
        return None
    first = stores[0]
    begins: dict[int, Store] = {}
    for store in stores:
        assert isinstance(store.index, Ramp)
        if store.buffer != first.buffer or store.value.type != first.value.type:
            return None
        read = (node for expr in (store.value, store.index) for node in walk(expr) if isinstance(node, Load))
        if any(load.buffer == first.buffer for load in read):
            return None
        terms, constant = affine(store.index.base)
        begins[constant] = store
        if terms != affine(first.index.base)[0]:  # type: ignore[attr-defined]
            return None
    least = min(begins)
    return (
        tuple(begins[least + k] for k in range(stride)) if sorted(begins) == [*range(least, least + stride)] else None
    )


def _always(store: Store) -> bool:
    """Whether all lanes are stored."""
    predicate = store.predicate
    if isinstance(predicate, Broadcast):
        predicate = predicate.value
    return isinstance(predicate, Const) and bool(predicate.value)
