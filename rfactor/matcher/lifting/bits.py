"""Liftings of steps that shift or rotate by a fixed amount, mask and mix in data: `(x << 8) | a`, rotate-xor hashes.

x -> (shift(x, n) & m) ^ v is closed under composition: amounts add up, masks and data are shifted along. So are steps
of each bit by itself, (x & m) ^ v. Any other step
that maps exclusive ors to exclusive ors (shift registers, checksums, xorshift) is a matrix of bits and a vector: the
images of the single bits, a word each, and that of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Literal

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, names, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.update import Update
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover import sampling
from rfactor.prover.claim import Claim, Lift

_DATA = 16
"""Sampled data."""
Kind = Literal["left", "right", "rotate"]


@dataclass(frozen=True, slots=True)
class _Move:
    """Where every bit of the state goes in one step."""

    kind: Kind
    by: int


def claims(update: Update) -> Iterator[Claim]:
    """The claim for an update of one integer that moves its bits by a fixed amount."""
    (type_, *more) = update.types
    if more or not type_.is_int or update.meaning is not Meaning.WRAP:
        return
    counted = _counted(update, type_)
    if counted is not None:
        yield counted
        return
    used = {node.op for node in walk(update.components[0]) if isinstance(node, Op)}
    if not used & {"<<", ">>", "^", "|", "&", "~"}:
        return
    columns = _columns(update, type_)
    if columns is None:
        return
    if all(column in (0, 1 << j) for row in columns for j, column in zip(range(type_.bits), row, strict=True)):
        yield Claim(update, lift=_in_place(update, type_))
        return
    if not used & {"<<", ">>", "*"}:
        return
    move = _move(columns, type_.bits)
    if move is None:
        yield Claim(update, lift=_matrix(update, type_, columns))
        return
    whole = _moved_mask(move, type_.bits)
    masked = any(_union(row) != whole for row in columns)
    lift = _lifting(update, type_, move, masked)
    top = Const(lift.types[0], type_.bits - (move.kind == "rotate"))
    yield Claim(update, lift=lift, invariant=(apply("<=", Var(lift.types[0], "y0"), top),))


def _counted(update: Update, type_: Type) -> Claim | None:
    """The claim for a state that is only shifted, or divided by a power of two: the amounts add up."""
    (x,) = update.accumulators
    step = update.components[0]
    if not isinstance(step, Op) or step.op not in ("<<", ">>", "//") or step.args[0] != x:
        return None
    op, by = step.op, step.args[1]
    if isinstance(by, Const):
        value = int(by.value)
        if value < 1 or (op == "//" and value & (value - 1)):
            return None
        by = Const(type_, min(value if op != "//" else value.bit_length() - 1, type_.bits))
    elif op == "//" or type_.is_signed or x.name in names(by):
        return None  # a negative amount moves the other way
    most = Const(type_, type_.bits)
    first, second = Var(type_, "x0"), Var(type_, "y0")
    operator = apply("min", apply("+", first, second), most)
    applied = apply("<<" if op == "<<" else ">>", x, second)
    lift = Lift((type_,), (tidy(apply("min", by, most)),), (operator,), (Const(type_, 0),), (applied,))
    return Claim(update, lift=lift, invariant=(apply("<=", Const(type_, 0), second), apply("<=", second, most)))


def _in_place(update: Update, type_: Type) -> Lift:
    """State: the bits that stay, or are the opposite, and the image of 0."""
    ones, nothing = Const(type_, type_.wrap(-1)), Const(type_, 0)
    (all_set,), (none_set,) = run_from(update, (ones,)), run_from(update, (nothing,))
    kept, mixed, mask, more = (Var(type_, name) for name in ("x0", "x1", "y0", "y1"))
    operator = apply("&", kept, mask), apply("^", apply("&", mixed, mask), more)
    applied = apply("^", apply("&", Var(type_, "x0"), mask), more)
    data = tidy(apply("^", all_set, none_set)), tidy(none_set)
    return Lift((type_, type_), data, operator, (ones, nothing), (applied,))


def _columns(update: Update, type_: Type) -> list[list[int]] | None:
    """For each sampled datum the images of the single bits, less that of 0; None where bits do not add up."""
    (x,) = update.accumulators
    component = update.components[0]
    loose = [v for v in sampling.used(update.components) if v != x]
    near = sampling.literals(update.components)
    data = sampling.points(loose, update.meaning, _DATA, near)
    full = (1 << type_.bits) - 1
    random = np.random.default_rng(type_.bits)
    mixed = [int.from_bytes(random.bytes(type_.bits // 8), "little") for _ in range(8)]
    states = [0, *(1 << j for j in range(type_.bits)), *mixed]
    count = len(states)
    wrapped = np.array([type_.wrap(s) for s in states], dtype=object).astype(f"{type_.code[0]}{type_.bits // 8}")
    env = {name: np.repeat(values, count) for name, values in data.items()}
    env[x.name] = np.tile(wrapped, _DATA)
    images = np.broadcast_to(evaluate(component, env, update.meaning), (_DATA * count,)).reshape(_DATA, count)
    rows: list[list[int]] = []
    for image in images.tolist():
        moved = [(int(value) ^ int(image[0])) & full for value in image]
        columns = moved[1 : 1 + type_.bits]
        for state, value in zip(mixed, moved[1 + type_.bits :], strict=True):
            total = 0
            for j in range(type_.bits):
                total ^= columns[j] if state >> j & 1 else 0
            if total != value:
                return None
        rows.append(columns)
    return rows


def _union(row: list[int]) -> int:
    total = 0
    for column in row:
        total |= column
    return total


def _move(rows: list[list[int]], bits: int) -> _Move | None:
    """The one amount by which all bits move, those that are masked away aside."""
    pairs = {(j, k) for row in rows for j, column in zip(range(bits), row, strict=True) for k in _set_bits(column)}
    offsets = {k - j for j, k in pairs}
    if len(offsets) == 1:
        (by,) = offsets
        return _Move("left" if by > 0 else "right", abs(by)) if by else None
    around = {offset % bits for offset in offsets}
    return _Move("rotate", around.pop()) if len(around) == 1 else None


def _set_bits(column: int) -> Iterator[int]:
    while column:
        low = column & -column
        yield low.bit_length() - 1
        column ^= low


def _moved_mask(move: _Move, bits: int) -> int:
    full = (1 << bits) - 1
    if move.kind == "rotate":
        return full
    return full << move.by & full if move.kind == "left" else full >> move.by


def _matrix(update: Update, type_: Type, columns: list[list[int]]) -> Lift:
    """State: the image of each bit, less that of 0, and the image of 0."""
    own = parse_type(f"u{type_.bits}")
    numbers = range(type_.bits)
    (nothing,) = run_from(update, (Const(type_, 0),))
    nothing = cast(own, nothing)
    fixed = all(row == columns[0] for row in columns)

    def image(j: int) -> Expr:
        if fixed:
            return Const(own, columns[0][j])
        (moved,) = run_from(update, (Const(type_, type_.wrap(1 << j)),))
        return tidy(apply("^", cast(own, moved), nothing))

    def through(value: Expr) -> Expr:
        """A vector times the second's matrix."""
        bits = (apply("&", apply(">>", value, Const(own, i)), Const(own, 1)) for i in numbers)
        terms = [apply("*", bit, Var(own, f"y{i}")) for i, bit in zip(numbers, bits, strict=True)]
        return reduce(lambda a, b: apply("^", a, b), terms)

    wide = (own,) * (type_.bits + 1)
    data = (*map(image, numbers), tidy(nothing))
    offset = Var(own, f"y{type_.bits}")
    operator = (
        *(through(Var(own, f"x{i}")) for i in numbers),
        apply("^", through(Var(own, f"x{type_.bits}")), offset),
    )
    identity = (*(Const(own, 1 << i) for i in numbers), Const(own, 0))
    applied = cast(type_, apply("^", through(cast(own, Var(type_, "x0"))), offset))
    return Lift(wide, data, operator, identity, (applied,))


def _lifting(update: Update, type_: Type, move: _Move, masked: bool) -> Lift:
    own = parse_type(f"u{type_.bits}")
    width = Const(own, type_.bits)
    ones = Const(own, (1 << type_.bits) - 1)

    def moved(value: Expr, by: Expr) -> Expr:
        if move.kind == "left":
            return apply("<<", value, by)
        if move.kind == "right":
            return apply(">>", value, by)
        return apply("|", apply("<<", value, by), apply(">>", value, apply("-", width, by)))

    (nothing,) = run_from(update, (Const(type_, 0),))
    value = cast(own, nothing)
    wide = (own, own, own) if masked else (own, own)
    first = [Var(t, f"x{i}") for i, t in zip(range(len(wide)), wide, strict=True)]
    second = [Var(t, f"y{i}") for i, t in zip(range(len(wide)), wide, strict=True)]
    by, more = first[0], second[0]
    total = apply("+", by, more)
    amount = apply("&", total, Const(own, type_.bits - 1)) if move.kind == "rotate" else apply("min", total, width)

    def through(bits: Expr) -> Expr:
        """Bits after the second's moving and masking."""
        return apply("&", moved(bits, more), second[2]) if masked else moved(bits, more)

    operator: list[Expr] = [amount, apply("^", through(first[1]), second[1])]
    data = [Const(own, move.by), tidy(value)]
    identity: list[Expr] = [Const(own, 0), Const(own, 0)]
    if masked:
        # Ones are shifted into a mask, so that the unit leaves every mask as it is; what they let through is 0.
        operator.append(apply("&", apply("~", moved(apply("~", first[2]), more)), second[2]))
        (all_set,) = run_from(update, (Const(type_, type_.wrap(-1)),))
        data.append(tidy(apply("^", cast(own, all_set), value)))
        identity.append(ones)
    x = cast(own, Var(type_, "x0"))
    applied = cast(type_, apply("^", through(x), second[1]))
    return Lift(wide, tuple(data), tuple(operator), tuple(identity), (applied,))
