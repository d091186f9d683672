"""Fingerprints: operators that are one function have one, at whatever width, so that rows are found by meaning."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rfactor.ir.evaluate import Array, evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, select
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL, I64, U64, Type

_POINTS = 512
_OPERATIONS = frozenset(
    ("+", "-", "*", "neg", "min", "max", "<", "<=", ">", ">=", "==", "!=", "and", "or", "not", "select", "&", "|", "^")
)


def fingerprint(operator: Sequence[Expr], kind: str, *, mirrored: bool = False) -> int:
    """63 bits of the values of an operator over x0, x1, y0, y1 and k on the fixed samples of a kind (see `kinds`).

    Two's complement is sampled at 64 bits; unbounded integers and reals at small integers, where both are exact. With
    `mirrored`, of the operator with its operands exchanged. Raises `KeyError` for an expression that no table holds: a
    cast, a call, another variable.
    """
    env = _points(kind)
    if mirrored:
        env = {**env, **{f"{a}{i}": env[f"{b}{i}"] for i in range(2) for a, b in ("xy", "yx")}}
    type_ = {"bool": BOOL, "unsigned": U64}.get(kind, I64)
    total = hashlib.blake2b(digest_size=8)
    for component in operator:
        total.update(np.broadcast_to(evaluate(_retyped(component, type_, type_), env), _POINTS).tobytes())
    return int.from_bytes(total.digest()) >> 1


def kind_of(type_: Type, meaning: Meaning) -> str:
    """The samples at which operators on a type are told apart."""
    if type_.is_bool:
        return "bool"
    if type_.is_float:
        return "small"
    if meaning is Meaning.MATH:
        return "natural" if type_.code == "uint" else "small"
    return "unsigned" if type_.code == "uint" else "signed"


def kinds(types: Sequence[Type], meaning: Meaning) -> list[str]:
    """The kinds at which an operator on these types may be held: any of them may be the one that is computed with."""
    return list(dict.fromkeys(kind_of(type_, meaning) for type_ in types))


@lru_cache(maxsize=8)
def _points(kind: str) -> dict[str, Array]:
    rng = np.random.default_rng(2017)
    names = ("x0", "x1", "y0", "y1", "k")
    if kind == "bool":
        return dict(zip(names, rng.integers(0, 2, (5, _POINTS)).astype(bool), strict=True))
    low = {"natural": 0, "small": -3, "signed": -3, "unsigned": 0}[kind]
    # Mostly small values, so that what differs where two things are equal is told apart.
    points = rng.integers(low, low + 8, (5, _POINTS))
    if kind in ("signed", "unsigned"):
        large = points[:, : _POINTS // 4]
        large[:] = rng.integers(-(1 << 63), (1 << 63) - 1, large.shape)
        ends = np.array([1 << 62, (1 << 63) - 1, -(1 << 63), -(1 << 62), -1, 1 << 61])
        points[:, : _POINTS // 8] = ends[rng.integers(0, len(ends), (5, _POINTS // 8))]
    return dict(zip(names, points.astype(np.uint64 if kind == "unsigned" else np.int64), strict=True))


def _retyped(expr: Expr, type_: Type, number: Type) -> Expr:
    if isinstance(expr, Var):
        if expr.name not in ("x0", "x1", "y0", "y1", "k") or type_ != number:
            raise KeyError(expr.name)
        return Var(type_, expr.name)
    if isinstance(expr, Const):
        if expr.type.is_bool:
            return expr
        if not math.isfinite(expr.value) or expr.value != int(expr.value):
            raise KeyError(str(expr))
        return Const(type_, type_.wrap(int(expr.value)))
    if not isinstance(expr, Op) or expr.op not in _OPERATIONS:
        raise KeyError(str(expr))
    args = tuple(_retyped(arg, _place(expr, arg, type_, number), number) for arg in expr.args)
    return select(*args) if expr.op == "select" else apply(expr.op, *args)


def _place(expr: Op, arg: Expr, type_: Type, number: Type) -> Type:
    """The type of an operand: a number where numbers are compared, that of its place where it is chosen."""
    if expr.op == "select":
        return BOOL if arg is expr.args[0] else type_
    return BOOL if arg.type.is_bool else number


__all__ = ["fingerprint", "kind_of", "kinds"]
