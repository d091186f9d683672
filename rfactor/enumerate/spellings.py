"""The other spellings of what has a row: canonical trees of the grammar that are the same function.

The search has one tree a function (`rfactor.enumerate.classes`). Here all canonical trees up to a few leaves are made
whose parts are in smallest form; those that have a row's values on samples are proved equal to it, and what is proved
is one of its spellings.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rfactor.enumerate.classes import CHUNK, Classes, Terms, binary, choices, select_sizes
from rfactor.enumerate.groups import Group
from rfactor.enumerate.laws import components as components_of
from rfactor.enumerate.laws import equal
from rfactor.enumerate.points import samples
from rfactor.enumerate.prove import open_components
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Op, walk
from rfactor.ir.parser import parse_tuple
from rfactor.ir.printer import show
from rfactor.ir.types import Type
from rfactor.native.lanes import LEAVES
from rfactor.native.linking import link
from rfactor.native.programs import values
from rfactor.prover.verdict import Proven
from rfactor.table.scope import Scope, parse_scope

MOST_LEAVES = 5
"""Leaves up to which spellings are listed, of all components together."""
_POINTS = 96


def spellings(group: Group, rows: Sequence[Mapping[str, Any]], most: int, seed: int) -> list[dict[str, Any]]:
    """Spellings of at most `most` leaves of the rows of a group that have as many components each.

    The group is of machine integers or truth values, whose operators stay among the values that a proof speaks of.

    Keys: `class` and `types` of the row, `operator`, `method` of the proof that it is the row's function.
    """
    if not rows:
        return []
    count = rows[0]["components"]
    type_ = group.types[-1]
    points = samples(type_, group.domain, (len(LEAVES), _POINTS), (seed, 8))
    wanted = [_values(group, _parsed(row["operator"], type_, count), points) for row in rows]
    alike = _alike(group, count, most - count + 1, points, {key for keys in wanted for key in keys}, seed)
    found = []
    for row, keys in zip(rows, wanted, strict=True):
        for parts in itertools.product(*(alike.get(key, ()) for key in keys)):
            text = ", ".join(text for _, text in parts)
            if sum(size for size, _ in parts) <= most and text != row["operator"]:
                method = _same(group, row, text, count)
                if method is not None:
                    entry = {"class": row["class"], "types": row["types"], "operator": text, "method": method}
                    found.append((sum(size for size, _ in parts), entry))
    found.sort(key=lambda one: (one[1]["class"], one[1]["types"], one[0], len(one[1]["operator"]), one[1]["operator"]))
    return [entry for _, entry in found]


def _parsed(text: str, type_: Type, count: int) -> tuple[Expr, ...]:
    kinds = {f"{letter}{i}": type_ for letter in "xy" for i in range(count)} | {"k": type_}
    return parse_tuple(text, kinds, [type_] * count)


def _values(group: Group, components: Sequence[Expr], points: np.ndarray) -> list[bytes]:
    """What each component is at the points, as the kernels have it."""
    own = np.dtype(bool) if group.types[-1].is_bool else group.domain.dtype
    env = {name: row.astype(own) for name, row in zip(LEAVES, points, strict=True)}
    found = [np.broadcast_to(evaluate(e, env, group.meaning), points.shape[1]) for e in components]
    return [part.astype(group.domain.dtype).tobytes() for part in found]


def _alike(
    group: Group, count: int, most: int, points: np.ndarray, wanted: set[bytes], seed: int
) -> dict[bytes, list[tuple[int, str]]]:
    """(leaves, text) of canonical trees of at most `most` leaves that have the wanted values, smallest first."""
    type_ = group.types[-1]
    found: dict[bytes, dict[str, int]] = {}
    grammar = Classes(group.family, count, seed)
    sizes: list[np.ndarray] = [grammar.programs[:0], grammar.programs]
    functions: set[bytes] = set()
    for size in range(1, most + 1):
        smallest: list[np.ndarray] = []
        for programs in [sizes[1]] if size == 1 else _combined(grammar, sizes, size):
            made = values(group.domain, programs, points)
            constant = (made == made[:, :1]).all(axis=1) & (size > 1)
            for program, row, skipped in zip(programs, made, constant.tolist(), strict=True):
                key = row.tobytes()
                if skipped:
                    continue
                if key not in functions:
                    functions.add(key)
                    smallest.append(program)
                if key in wanted:
                    (tree,) = components_of((program,), type_)
                    found.setdefault(key, {}).setdefault(show(tree), size)
        if size > 1:
            sizes.append(np.array(smallest, np.uint8).reshape(-1, grammar.programs.shape[1]))
    return {key: [(size, text) for text, size in texts.items()] for key, texts in found.items()}


def _combined(grammar: Classes, sizes: Sequence[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """Programs of the trees of `size` leaves over smaller ones, in chunks; of a commutative operation one order."""
    pool = np.concatenate(sizes)
    starts = np.cumsum([0, *map(len, sizes)])
    rows = [np.arange(starts[s], starts[s + 1]) for s in range(len(sizes))]
    terms: list[Terms] = []
    for s in range(1, size):
        left, right = np.meshgrid(rows[s], rows[size - s], indexing="ij")
        once = left >= right
        for op in grammar.operations:
            if op in grammar.ordered:
                terms.append(binary(op, left.ravel(), right.ravel()))
            elif s >= size - s:
                terms.append(binary(op, left[once], right[once]))
    for condition, true, false in select_sizes(size):
        branches = [part.ravel() for part in np.meshgrid(rows[true], rows[false], indexing="ij")]
        ones, others = (part[branches[0] != branches[1]] for part in branches)
        for s in range(1, condition):
            for p, q in itertools.product(rows[s].tolist(), rows[condition - s].tolist()):
                if p != q:
                    terms += [choices(c, p, q, ones, others) for c in ("<", "==") if c == "<" or p > q]
    whole = Terms.join(terms)
    for start in range(0, len(whole), CHUNK):
        part = whole[start : start + CHUNK]
        yield link(part.codes, part.operands, pool)


def _same(group: Group, row: Mapping[str, Any], text: str, count: int) -> str | None:
    """The method by which a spelling is proved to be the function of a row at all its types; None if it is not."""
    scope = parse_scope(row["types"])
    types = [t for t in group.types if t in scope.types]
    method: str | None = None
    for type_ in reversed(types):
        own, other = (_parsed(operator, type_, count) for operator in (row["operator"], text))
        if Scope(scope.types, open_components(other)) != Scope(scope.types, scope.open):
            return None
        decision = equal(own, other, group.meaning)
        if not isinstance(decision.verdict, Proven):
            return None
        method = method or decision.verdict.method
        # What does not multiply holds at every width if it holds at the widest (`rfactor.enumerate.prove`).
        if group.is_width_free or decision.width_free or not _multiplies((*own, *other)):
            break
    return method


def _multiplies(exprs: Sequence[Expr]) -> bool:
    return any(isinstance(node, Op) and node.op == "*" for e in exprs for node in walk(e))


__all__ = ["MOST_LEAVES", "spellings"]
