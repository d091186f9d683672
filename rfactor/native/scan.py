"""Compiled scans over pairs of value vectors: which combinations are new functions, which have a left identity.

A *value vector* of a function holds `LANES` sample values: first the identity lanes (`WAYS` samples of y for each of
64 choices of the identity), then the fingerprint lanes. A scan combines every row of one array with every row of
another by an operation of the grammar and keeps what is wanted, a few nanoseconds a combination.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from rfactor.native.lanes import (
    CODE,
    I1,
    I64,
    OPS,
    Domain,
    Kernels,
    address,
    constant,
    counted,
    function,
    intrinsic,
    load,
    store,
)
from rfactor.native.programs import aligned, empty

BLOCK = 64
"""Lanes handled at a time."""
WAYS = 4
"""Samples of y for each choice of the identity."""
PRINTS = 4
"""Blocks of fingerprint lanes."""
LANES = BLOCK * (WAYS + PRINTS)
"""Lanes of a value vector."""
BINARY = OPS[:8]


@dataclass(frozen=True, slots=True)
class _Vectors:
    value: ir.Type
    mask: ir.Type

    @staticmethod
    def of(domain: Domain) -> _Vectors:
        return _Vectors(ir.VectorType(domain.element, BLOCK), ir.VectorType(I1, BLOCK))


def _hash_prints(b: ir.IRBuilder, blocks: Sequence[Any], multipliers: Any) -> Any:
    """A 64-bit hash, never 0, of the fingerprint blocks. `multipliers`: 3 odd vectors a block."""
    wide = ir.VectorType(ir.IntType(32), BLOCK)
    shift = ir.Constant(wide, [ir.Constant(ir.IntType(32), 15)] * BLOCK)
    sums: list[Any] = [ir.Constant(wide, None), ir.Constant(wide, None)]
    for number, block in zip(range(len(blocks)), blocks, strict=True):
        m = [load(b, multipliers, constant(3 * number + j), wide) for j in range(3)]
        mixed = b.mul(b.add(block, m[1]), m[0])
        mixed = b.xor(mixed, b.lshr(mixed, shift))
        mixed = b.mul(mixed, m[1])
        sums[0] = b.add(sums[0], mixed)
        sums[1] = b.add(sums[1], b.mul(b.xor(mixed, b.lshr(mixed, shift)), m[2]))
    low, high = (intrinsic(b, f"llvm.vector.reduce.add.v{BLOCK}i32", ir.IntType(32), s) for s in sums)
    whole = b.or_(b.zext(low, I64), b.shl(b.zext(high, I64), constant(32)))
    return b.or_(whole, constant(1))


def _insert(b: ir.IRBuilder, table: Any, mask: Any, key: Any) -> Any:
    """Whether `key` was not in the open-addressing set yet; it is afterwards."""
    start = b.and_(b.mul(key, constant(0x9E3779B97F4A7C15 - (1 << 64))), mask)
    start = b.and_(b.xor(start, b.lshr(key, constant(29))), mask)
    entry = b.block
    probe, free, done, again = (b.append_basic_block(n) for n in ("probe", "free", "done", "again"))
    b.branch(probe)
    b.position_at_end(probe)
    slot = b.phi(I64)
    slot.add_incoming(start, entry)
    held = load(b, table, slot, I64)
    taken = b.append_basic_block("taken")
    b.cbranch(b.icmp_signed("==", held, constant(0)), free, taken)
    b.position_at_end(taken)
    b.cbranch(b.icmp_signed("==", held, key), done, again)
    b.position_at_end(again)
    slot.add_incoming(b.and_(b.add(slot, constant(1)), mask), again)
    b.branch(probe)
    b.position_at_end(free)
    store(b, key, table, slot)
    b.branch(done)
    b.position_at_end(done)
    new = b.phi(I1)
    new.add_incoming(ir.Constant(I1, 1), free)
    new.add_incoming(ir.Constant(I1, 0), taken)
    return new


class _Scan:
    """The two nested loops with a bounded output: rows of A from a given one on, all of B; stops before it could
    overflow.
    """

    def __init__(self, module: ir.Module, name: str, extra: int) -> None:
        self.b, args = function(module, name, 8 + extra)
        b = self.b
        self.first, self.rows, self.columns = args[0], args[1], args[3]
        self.left, self.right = address(b, args[2]), address(b, args[4])
        self.triangular, self.out, self.room = args[5], address(b, args[6]), args[7]
        self.extra = list(args[8:])
        self.count = b.alloca(I64)
        b.store(constant(0), self.count)

    def keep(self, condition: Any, *numbers: Any) -> None:
        """Appends `numbers` (64-bit) to the output where `condition` holds; out[0] is reserved for the count."""
        b = self.b
        with b.if_then(condition):
            count = b.load(self.count, typ=I64)
            base = b.add(constant(2), b.mul(count, constant(len(numbers))))
            for j, number in zip(range(len(numbers)), numbers, strict=True):
                store(b, number, self.out, b.add(base, constant(j)))
            b.store(b.add(count, constant(1)), self.count)

    def run(self, body: Any) -> None:
        """Emits the loops around `body(i, j)`; the function returns the first row not done and stores the count."""
        b = self.b
        entry = b.block
        head, work, done = (b.append_basic_block(n) for n in ("row.head", "row.body", "row.done"))
        b.branch(head)
        b.position_at_end(head)
        row = b.phi(I64, "row")
        row.add_incoming(self.first, entry)
        fits = b.icmp_signed("<=", b.add(b.load(self.count, typ=I64), self.columns), self.room)
        b.cbranch(b.and_(b.icmp_signed("<", row, self.rows), fits), work, done)
        b.position_at_end(work)
        limit = b.select(b.icmp_signed("!=", self.triangular, constant(0)), b.add(row, constant(1)), self.columns)
        with counted(b, constant(0), limit, "column") as column:
            body(row, column)
        row.add_incoming(b.add(row, constant(1)), b.block)
        b.branch(head)
        b.position_at_end(done)
        store(b, b.load(self.count, typ=I64), self.out, constant(0))
        b.ret(row)


def _element(b: ir.IRBuilder, base: Any, row: Any, block: int, type: ir.Type) -> Any:
    return load(b, base, b.add(b.mul(row, constant(WAYS + PRINTS)), constant(block)), type)


def _keep_with_identity(scan: _Scan, block: Callable[[int], Any], types: _Vectors, at: int, i: Any, j: Any) -> None:
    """Keeps (i, j, mask) of new functions: bit e of the mask is set if all samples of choice e equal the target.

    The arguments from `at` on are the targets, two masks, among each of which some bit must be set, and the set of
    functions seen with its mask and multipliers. The first block of samples already refutes most.
    """
    b = scan.b
    nothing = constant(0)
    targets, low, high = address(b, scan.extra[at]), *scan.extra[at + 1 : at + 3]
    table, slots, multipliers = address(b, scan.extra[at + 3]), scan.extra[at + 4], address(b, scan.extra[at + 5])

    def same(n: int) -> Any:
        return b.bitcast(b.icmp_signed("==", block(n), load(b, targets, constant(n), types.value)), I64)

    def both(mask: Any) -> Any:
        return b.and_(b.icmp_signed("!=", b.and_(mask, low), nothing), b.icmp_signed("!=", b.and_(mask, high), nothing))

    mask = same(0)
    with b.if_then(both(mask), likely=False):
        for n in range(1, WAYS):
            mask = b.and_(mask, same(n))
        with b.if_then(both(mask)):
            prints = [block(n) for n in range(WAYS, WAYS + PRINTS)]
            scan.keep(_insert(b, table, slots, _hash_prints(b, prints, multipliers)), i, j, mask)


def _build(domain: Domain) -> Kernels:
    module = ir.Module("scan")
    types = _Vectors.of(domain)
    signatures: dict[str, int] = {}

    for op in BINARY:
        scan = _Scan(module, name := f"new_{CODE[op]}", 3)
        signatures[name] = 11
        b = scan.b
        table, mask, multipliers = address(b, scan.extra[0]), scan.extra[1], address(b, scan.extra[2])

        def new(
            i: Any, j: Any, s: _Scan = scan, op: str = op, t: Any = table, m: Any = mask, r: Any = multipliers
        ) -> None:
            blocks = [
                domain.apply(
                    s.b, op, _element(s.b, s.left, i, n, types.value), _element(s.b, s.right, j, n, types.value)
                )
                for n in range(WAYS, WAYS + PRINTS)
            ]
            s.keep(_insert(s.b, t, m, _hash_prints(s.b, blocks, r)), i, j)

        scan.run(new)

        scan = _Scan(module, name := f"identity_{CODE[op]}", 6)
        signatures[name] = 14

        def having(i: Any, j: Any, s: _Scan = scan, op: str = op) -> None:
            def block(n: int) -> Any:
                left, right = _element(s.b, s.left, i, n, types.value), _element(s.b, s.right, j, n, types.value)
                return domain.apply(s.b, op, left, right)

            _keep_with_identity(s, block, types, 0, i, j)

        scan.run(having)

    for what, extra in (("new", 4), ("identity", 7)):
        # select: `condition` is a row of WAYS + PRINTS words of 64 bits.
        scan = _Scan(module, name := f"{what}_select", extra)
        signatures[name] = 8 + extra
        condition = address(scan.b, scan.extra[0])

        def chosen(i: Any, j: Any, s: _Scan = scan, what: str = what, c: Any = condition) -> None:
            def block(n: int) -> Any:
                bits = s.b.bitcast(load(s.b, c, constant(n), I64), types.mask)
                true, false = _element(s.b, s.left, i, n, types.value), _element(s.b, s.right, j, n, types.value)
                return s.b.select(bits, true, false)

            if what == "new":
                blocks = [block(n) for n in range(WAYS, WAYS + PRINTS)]
                key = _hash_prints(s.b, blocks, address(s.b, s.extra[3]))
                s.keep(_insert(s.b, address(s.b, s.extra[1]), s.extra[2], key), i, j)
            else:
                _keep_with_identity(s, block, types, 1, i, j)

        scan.run(chosen)

    for name, compare in (("<", domain.less), ("==", domain.equal)):
        # conditions: bits of `left[i] ? right[j]` and, where new up to complement, the pair.
        scan = _Scan(module, full := f"condition_{CODE[name]}", 3)
        signatures[full] = 11

        def condition_of(i: Any, j: Any, s: _Scan = scan, compare: Any = compare) -> None:
            b = s.b
            key: Any = constant(0)
            flip: Any = None
            for n in range(WAYS + PRINTS):
                bits = b.bitcast(
                    compare(b, _element(b, s.left, i, n, types.value), _element(b, s.right, j, n, types.value)), I64
                )
                if flip is None:
                    flip = b.sub(constant(0), b.and_(bits, constant(1)))
                bits = b.xor(bits, flip)
                key = b.mul(b.xor(key, bits), load(b, address(b, s.extra[2]), constant(n), I64))
                key = b.xor(key, b.lshr(key, constant(31)))
            # All zeros up to complement is constant on the samples: its key is 0, which the set holds from the start.
            real = b.icmp_signed("!=", key, constant(0))
            with b.if_then(real):
                s.keep(_insert(b, address(b, s.extra[0]), s.extra[1], key), i, j)

        scan.run(condition_of)

    _materialise(module, domain, types, signatures)
    return Kernels(module, signatures)


def _materialise(module: ir.Module, domain: Domain, types: _Vectors, signatures: dict[str, int]) -> None:
    """`make(n, codes, operands, pool, out)`: value vectors of terms whose operands are rows of `pool`."""
    b, args = function(module, "make", 5)
    signatures["make"] = 5
    codes, operands, pool, out = (address(b, arg) for arg in args[1:])
    with counted(b, constant(0), args[0]) as i:
        code = load(b, codes, i, I64)
        rows = [load(b, operands, b.add(b.mul(i, constant(4)), constant(j)), I64) for j in range(4)]
        done = b.append_basic_block("made")
        bad = b.append_basic_block("bad")
        switch = b.switch(code, bad)
        b.position_at_end(bad)
        b.branch(done)
        for op in (*BINARY, "<", "=="):
            block = b.append_basic_block("case")
            switch.add_case(constant(CODE[op]), block)
            b.position_at_end(block)
            with counted(b, constant(0), constant(WAYS + PRINTS), "block") as n:
                values = [
                    load(b, pool, b.add(b.mul(row, constant(WAYS + PRINTS)), n), types.value)
                    for row in rows[: 4 if op in ("<", "==") else 2]
                ]
                if op in ("<", "=="):
                    compare = domain.less if op == "<" else domain.equal
                    result = b.select(compare(b, values[0], values[1]), values[2], values[3])
                else:
                    result = domain.apply(b, op, *values)
                store(b, result, out, b.add(b.mul(i, constant(WAYS + PRINTS)), n))
            b.branch(done)
        b.position_at_end(done)
    b.ret(constant(0))

    for name, compare in (("<", domain.less), ("==", domain.equal)):
        b, args = function(module, full := f"bits_{CODE[name]}", 3)
        signatures[full] = 3
        left, right, out = (address(b, arg) for arg in args)
        for n in range(WAYS + PRINTS):
            pair = [load(b, side, constant(n), types.value) for side in (left, right)]
            store(b, b.bitcast(compare(b, *pair), I64), out, constant(n))
        b.ret(constant(0))


@lru_cache(maxsize=4)
def _kernels(domain: Domain) -> Kernels:
    return _build(domain)


class HashSet:
    """A set of 64-bit keys that kernels insert into."""

    def __init__(self, capacity: int) -> None:
        self.slots = np.zeros(1 << max(10, (2 * capacity - 1).bit_length()), np.uint64)
        self.used = 0

    def grow(self, more: int) -> None:
        """Room for `more` further keys at a load of at most one half."""
        if 2 * (self.used + more) <= len(self.slots):
            return
        old = self.slots[self.slots != 0]
        self.slots = np.zeros(1 << (4 * (self.used + more) - 1).bit_length(), np.uint64)
        mask = np.uint64(len(self.slots) - 1)
        # Insertion of distinct keys, all at once: rounds of linear probing.
        with np.errstate(over="ignore"):
            start = ((old * np.uint64(0x9E3779B97F4A7C15)) & mask ^ (old >> np.uint64(29))) & mask
        while len(old):
            _, winners = np.unique(start, return_index=True)
            free = winners[self.slots[start[winners]] == 0]
            self.slots[start[free]] = old[free]
            left = np.ones(len(old), bool)
            left[free] = False
            old, start = old[left], (start[left] + np.uint64(1)) & mask


class Scanner:
    """Scans in one domain of 32-bit lanes.

    `samples` is (5, LANES) in the order of `rfactor.native.lanes.LEAVES`; `target` is the row of `samples` that an
    operator with a left identity must equal on the identity lanes. `halves` are the lanes of which some must fit,
    twice.
    """

    def __init__(self, domain: Domain, samples: np.ndarray, target: int, halves: tuple[int, int], seed: int) -> None:
        assert domain.bits == 32
        assert not domain.floating
        self.domain = domain
        self.leaves = aligned(samples.astype(domain.dtype))
        self.target = aligned(self.leaves[target, : BLOCK * WAYS])
        self.halves = tuple(h - (1 << 64) if h >> 63 else h for h in halves)
        rng = np.random.default_rng(seed)
        self._multipliers = aligned(rng.integers(0, 1 << 32, (3 * PRINTS, BLOCK), dtype=np.uint32) | np.uint32(1))
        self._words = aligned(rng.integers(0, 1 << 63, WAYS + PRINTS, dtype=np.uint64) | np.uint64(1))
        self._kernels = _kernels(domain)
        self._out = np.empty(2 + 3 * (1 << 20), np.int64)

    def _run(
        self, name: str, left: np.ndarray, right: np.ndarray, triangular: bool, width: int, extra: Sequence[Any]
    ) -> np.ndarray:
        """The kept rows of a scan: (n, width)."""
        found = []
        row, room = 0, (len(self._out) - 2) // width
        if len(right) > room:
            raise ValueError(f"{len(right)} columns do not fit one scan of {room}")
        while row < len(left):
            row = self._kernels.call(
                name, row, len(left), left, len(right), right, int(triangular), self._out, room, *extra
            )
            count = int(self._out[0])
            found.append(self._out[2 : 2 + count * width].reshape(count, width).copy())
        return np.concatenate(found) if found else np.empty((0, width), np.int64)

    def new(
        self, op: str, left: np.ndarray, right: np.ndarray, known: HashSet, *, triangular: bool = False
    ) -> np.ndarray:
        """Pairs (i, j) for which `op(left[i], right[j])` is a function that `known` has not seen; it has afterwards."""
        rows = max(1, (1 << 22) // max(1, len(right)))
        found = []
        for start in range(0, len(left), rows):
            part = left[start : start + rows]
            known.grow(len(part) * len(right))
            extra = (known.slots, len(known.slots) - 1, self._multipliers)
            if triangular:
                pairs = self._triangle(f"new_{CODE[op]}", left, right, start, min(len(left), start + rows), extra)
            else:
                pairs = self._run(f"new_{CODE[op]}", part, right, False, 2, extra)
                pairs[:, 0] += start
            known.used += len(pairs)
            found.append(pairs)
        return np.concatenate(found) if found else np.empty((0, 2), np.int64)

    def _triangle(
        self, name: str, left: np.ndarray, right: np.ndarray, start: int, stop: int, extra: Sequence[Any]
    ) -> np.ndarray:
        found = []
        row, room = start, (len(self._out) - 2) // 2
        while row < stop:
            row = self._kernels.call(name, row, stop, left, len(right), right, 1, self._out, room, *extra)
            count = int(self._out[0])
            found.append(self._out[2 : 2 + count * 2].reshape(count, 2).copy())
        return np.concatenate(found) if found else np.empty((0, 2), np.int64)

    def new_select(self, condition: np.ndarray, left: np.ndarray, right: np.ndarray, known: HashSet) -> np.ndarray:
        """As `new`, for `select(condition, left[i], right[j])`; `condition` as `bits` gives it."""
        known.grow(len(left) * len(right))
        extra = (condition, known.slots, len(known.slots) - 1, self._multipliers)
        pairs = self._run("new_select", left, right, False, 2, extra)
        known.used += len(pairs)
        return pairs

    def with_identity(
        self, op: str, left: np.ndarray, right: np.ndarray, seen: HashSet, *, triangular: bool = False
    ) -> np.ndarray:
        """Rows (i, j, mask) of the functions not in `seen`; they are afterwards.

        `op(left[i], right[j])` is the target under the choices of the mask, some of them in both halves.
        """
        rows = len(left) if triangular else max(1, (1 << 22) // max(1, len(right)))
        found = [np.empty((0, 3), np.int64)]
        for start in range(0, len(left), rows):
            part = left[start : start + rows]
            kept = self._run(f"identity_{CODE[op]}", part, right, triangular, 3, self._identities(seen, part, right))
            kept[:, 0] += start
            seen.used += len(kept)
            found.append(kept)
        return np.concatenate(found)

    def with_identity_select(
        self, condition: np.ndarray, left: np.ndarray, right: np.ndarray, seen: HashSet
    ) -> np.ndarray:
        """As `with_identity`, for `select(condition, left[i], right[j])`; `condition` as `bits` gives it."""
        extra = (condition, *self._identities(seen, left, right))
        kept = self._run("identity_select", left, right, False, 3, extra)
        seen.used += len(kept)
        return kept

    def _identities(self, seen: HashSet, left: np.ndarray, right: np.ndarray) -> tuple[Any, ...]:
        seen.grow(len(left) * len(right))
        return (self.target, *self.halves, seen.slots, len(seen.slots) - 1, self._multipliers)

    def conditions(
        self, comparison: str, left: np.ndarray, right: np.ndarray, known: HashSet, *, triangular: bool = False
    ) -> np.ndarray:
        """Pairs (i, j) whose comparison is a condition not in `known` up to complement, and not constant."""
        known.grow(len(left) * len(right))
        extra = (known.slots, len(known.slots) - 1, self._words)
        pairs = self._run(f"condition_{CODE[comparison]}", left, right, triangular, 2, extra)
        known.used += len(pairs)
        return pairs

    def bits(self, comparison: str, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """One comparison of two value vectors as words of 64 bits."""
        out = np.empty(WAYS + PRINTS, np.int64)
        self._kernels.call(f"bits_{CODE[comparison]}", left, right, out)
        return out

    def make(self, codes: np.ndarray, operands: np.ndarray, pool: np.ndarray) -> np.ndarray:
        """Value vectors (n, LANES) of the terms `codes[i]` of rows `operands[i]` (n, 4) of `pool`."""
        out = empty((len(codes), LANES), self.domain.dtype)
        self._kernels.call(
            "make",
            len(codes),
            np.ascontiguousarray(codes, np.int64),
            np.ascontiguousarray(operands, np.int64),
            pool,
            out,
        )
        return out
