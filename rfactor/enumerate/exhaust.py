"""Rows tried on all values: the laws of operators whose states are at most 256, by compiled code."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rfactor.ir.evaluate import dtype_of, evaluate
from rfactor.ir.expr import Expr, Var, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.native.evaluator import compile_evaluator
from rfactor.native.exhaustion import failing_triple
from rfactor.table.row import Row
from rfactor.table.rules import is_choice

Bytes = NDArray[np.uint8]


def has_few_states(row: Row) -> bool:
    """Whether a row can be tried on all values: one component of 8 bits, or truth values."""
    return row.meaning is Meaning.WRAP and sum(t.bits for t in row.types) <= 8


def exhausted(row: Row) -> dict[str, str | None]:
    """What the columns of a row with few states say of its laws, tried on all states and all constants.

    For each law the values for which it fails, or None. A choice with a left identity is associative and does not
    commute by its rule: its identity alone is tried.
    """
    states = _States(row.types)
    if is_choice(row.components) and row.identity_kind == "left":
        return {"left_identity": _failing_choice(row, states)}
    found: dict[str, str | None] = {"associative": None}
    found |= dict.fromkeys(_sides(row))
    if row.commutative:
        found["commutative"] = None
    elif row.commutative is False:
        found["not_commutative"] = "it commutes"
    checked: set[bytes] = set()
    for k, table in _tables(row, states):
        for side, identity in _sides(row).items():
            found[side] = found[side] or _failing_identity(side, identity, states, k, table)
        seen = table.tobytes()
        if seen in checked:
            continue
        checked.add(seen)
        if found.get("commutative", "") is None and (table != table.T).any():
            x, y = (int(part[0]) for part in np.nonzero(table != table.T))
            found["commutative"] = _shown(states, {"x": x, "y": y}, k)
        if found.get("not_commutative") and (table != table.T).any():
            found["not_commutative"] = None
        triple = None if found["associative"] else failing_triple(table)
        if triple is not None:
            found["associative"] = _shown(states, dict(zip("xyz", triple, strict=True)), k)
    return found


def _sides(row: Row) -> dict[str, tuple[Expr, ...]]:
    """The sides on which a row has an identity."""
    right = row.identity if row.identity_kind == "two-sided" else row.right_identity
    both = {"left_identity": row.identity, "right_identity": right}
    return {side: identity for side, identity in both.items() if identity is not None}


def _shown(states: _States, numbers: Mapping[str, int], k: Any) -> str:
    """States by the letter of their operand, as values of variables."""
    values = {
        f"{letter}{at}": part[number].item()
        for letter, number in numbers.items()
        for at, part in zip(range(len(states.values)), states.values, strict=True)
    }
    return str(values | {"k": k})


class _States:
    """All values of a tuple of types, numbered: a number is the bits of the values, those of the first on top."""

    def __init__(self, types: Sequence[Type]) -> None:
        self.types = tuple(types)
        every = list(itertools.product(*(_every(t) for t in types)))
        self.values = [np.array(part, dtype_of(t)) for part, t in zip(zip(*every, strict=True), types, strict=True)]

    def __len__(self) -> int:
        return len(self.values[0])

    def number(self, parts: Sequence[np.ndarray]) -> Bytes:
        """The numbers of states given by their components."""
        number: Bytes = parts[0].view(np.uint8)
        for part, type_ in zip(parts[1:], self.types[1:], strict=True):
            number = (number << type_.bits | part.view(np.uint8)).astype(np.uint8)
        return number


def _every(type_: Type) -> np.ndarray:
    """All values of a type of at most 8 bits, in the order of their bits."""
    if type_.is_bool:
        return np.array([False, True])
    return np.arange(256, dtype=np.uint8).view(dtype_of(type_))


def _uses_k(components: Sequence[Expr]) -> bool:
    return any(v.name == "k" for e in components for v in variables(e))


def _tables(row: Row, states: _States) -> Iterator[tuple[Any, Bytes]]:
    """The multiplication table of the row's operator for each constant k: (k, numbers of op(x, y) by those of x, y)."""
    constants = _every(row.types[0])
    grid = _grid(row.types, _uses_k(row.components))
    parts = compile_evaluator(row.components, _arguments(row.components))(grid)
    tables = states.number(parts).reshape(-1, len(states), len(states))
    for at, k in zip(range(len(constants)), constants, strict=True):
        yield k.item(), tables[at % len(tables)]


def _arguments(components: Sequence[Expr]) -> tuple[Var, ...]:
    return tuple(dict.fromkeys(v for e in components for v in variables(e)))


@lru_cache(maxsize=4)
def _grid(types: tuple[Type, ...], with_k: bool) -> dict[str, np.ndarray]:
    """All constants and pairs of states, as values of variables."""
    states = _States(types)
    constants = _every(types[0])[: None if with_k else 1]
    size = range(len(states))
    k, x, y = (part.ravel() for part in np.meshgrid(range(len(constants)), size, size, indexing="ij"))
    return {
        "k": constants[k],
        **{f"x{at}": part[x] for at, part in zip(range(len(types)), states.values, strict=True)},
        **{f"y{at}": part[y] for at, part in zip(range(len(types)), states.values, strict=True)},
    }


def _failing_identity(side: str, identity: Sequence[Expr], states: _States, k: Any, table: Bytes) -> str | None:
    env = {"k": np.array([k], dtype_of(states.types[0]))}
    parts = [np.broadcast_to(evaluate(part, env, Meaning.WRAP), (1,)).copy() for part in identity]
    e = int(states.number(parts)[0])
    failing = (table[e] if side == "left_identity" else table[:, e]) != np.arange(len(states))
    letter = "y" if side == "left_identity" else "x"
    return _shown(states, {letter: int(np.flatnonzero(failing)[0])}, k) if failing.any() else None


def _failing_choice(row: Row, states: _States) -> str | None:
    (component,), (type_,) = row.components, row.types
    assert row.identity is not None
    k, y = (part.ravel() for part in np.meshgrid(_every(type_), states.values[0], indexing="ij"))
    e = np.broadcast_to(evaluate(row.identity[0], {"k": k}, row.meaning), k.shape)
    failing = np.broadcast_to(evaluate(component, {"x0": e, "y0": y, "k": k}, row.meaning), k.shape) != y
    return str({"y0": y[failing][0].item(), "k": k[failing][0].item()}) if failing.any() else None


__all__ = ["exhausted", "has_few_states"]
