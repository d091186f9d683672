"""Operators from the table: canonical wildcard matching, subtable by subtable (rfactor 2017, section 4.3, step 6).

A row's laws were proved when the table was made, at its types and meaning and for every `k`, so all that is left to
prove of a match is the step.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import product

from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.expr import Const, Expr, Op, Var, leaves, substitute, variables, walk
from rfactor.ir.graph import Subgraph
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.operators.wildcard import Matcher
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import run_from, tidy
from rfactor.prover.claim import Claim, Record
from rfactor.prover.infinity import Undefined, has_infinity, is_infinite
from rfactor.prover.verdict import Proven
from rfactor.table.row import Row
from rfactor.table.store import LARGEST, Table, open_table

_LIKE = {"+": ("+", "-", "neg"), "-": ("+", "-", "neg"), "neg": ("+", "-", "neg", "*"), "*": ("*", "neg")}
"""Roots of patterns that an expression with this root may be an instance of, where it is not its own alone."""
_WORD = re.compile(r"select|min|max|and|or|not|<<|>>|<=|>=|==|!=|[<>&|^~*+-]")
_SIGNS = {"-": "+", "neg": "+"}
_LARGEST = 2
"""Components of the largest operators in a table."""


@cache
def shipped() -> Table:
    """The shipped table, opened once."""
    return open_table()


_Key = tuple[tuple[Type, ...], str, Meaning, int]
_Counts = tuple[int, ...]
_Written = tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Shelves:
    """The rows of a table by what they are written with, so that few are compared with an update.

    Those that a reduction can start from: by how often each accumulator is written (a wildcard never stands for one),
    and by their operations.
    """

    table: Table
    shelves: dict[_Key, dict[_Counts, list[Row]]] = field(default_factory=dict)
    sorted: dict[tuple[_Key, _Counts], dict[_Written, list[Row]]] = field(default_factory=dict)

    def rows(self, update: Update, roots: str, used: Mapping[str, int], counts: _Counts, large: int) -> Iterator[Row]:
        """The rows with these roots and so many leaves that use operations no more often than `used` says, and x0, x1
        as often as the update does.
        """
        key = (update.types, roots, update.meaning, large)
        shelf = self.shelves.get(key)
        if shelf is None:
            shelf = self.shelves[key] = {}
            for row in self.table.subtable(update.types, roots, update.meaning, leaves=large):
                if row.identity_kind in ("two-sided", "left"):
                    text = row.column("operator")
                    shelf.setdefault(tuple([text.count(x) for x in ("x0", "x1")[: len(counts)]]), []).append(row)
        if counts not in shelf:
            return
        if (key, counts) not in self.sorted:
            by_operations = self.sorted[key, counts] = {}
            for row in shelf[counts]:
                by_operations.setdefault(_written(row.column("operator")), []).append(row)
        for written, rows in self.sorted[key, counts].items():
            if all(used.get(op, 0) >= times for op, times in written):
                yield from rows


@lru_cache(maxsize=1 << 16)
def _written(operator: str) -> _Written:
    """The operations in the text of an operator, with how often each is written."""
    return tuple(_counted(_WORD.findall(operator)).items())


def _counted(operations: Iterable[str]) -> dict[str, int]:
    """How often each operation is written; `-` is `+`, and sums and products count once: signs and factors may vary."""
    found: dict[str, int] = {}
    for word in operations:
        op = _SIGNS.get(word, word)
        found[op] = 1 if op in ("+", "*") else found.get(op, 0) + 1
    return found


@lru_cache(maxsize=8)
def _shelves(table: Table) -> Shelves:
    return Shelves(table)


def claims(update: Update, table: Table) -> Iterator[Claim]:
    """Claims that rows of the table stand behind the update, for each order of its components, simplest rows first."""
    count = len(update.types)
    if count > _LARGEST:
        return
    for order in ((0,),) if count == 1 else ((0, 1), (1, 0)):
        for claim in _in_order(reordered(update, order), table):
            yield _back(claim, update, order)


def _in_order(update: Update, table: Table) -> Iterator[Claim]:
    matcher = Matcher.of(update)
    subjects = tuple(map(matcher.canonical, update.components))
    nodes = _occurrences(subjects)
    used = _counted(
        node.op for node, times in nodes.items() if isinstance(node, Op) for _ in range(min(times, LARGEST))
    )
    counts = tuple([nodes.get(x, 0) for x in update.accumulators])
    roots = [",".join(choice) for choice in product(*map(_roots, subjects))]
    # A wildcard stands for at least one leaf.
    for size in range(1, min(sum(map(leaves, subjects)), LARGEST) + 1):
        found = [row for root in roots for row in _shelves(table).rows(update, root, used, counts, size)]
        for row in sorted(found, key=lambda row: row.id):
            for bindings in matcher.matches(row.components, subjects):
                claim = _claim(update, row, bindings)
                if claim is not None:
                    yield claim
                    break


def _occurrences(exprs: Sequence[Expr]) -> dict[Expr, int]:
    """How often each node is written in the expressions."""
    times: dict[Expr, int] = {}
    for expr in exprs:
        own = {expr: 1}
        for node in reversed(tuple(walk(expr))):
            for child in node.children:
                own[child] = own.get(child, 0) + own[node]
        for node, count in own.items():
            times[node] = times.get(node, 0) + count
    return times


def _roots(subject: Expr) -> tuple[str, ...]:
    """The root nodes of the patterns that `subject` may be an instance of."""
    if isinstance(subject, Op):
        return _LIKE.get(subject.op, (subject.op,))
    return (subject.name,) if isinstance(subject, Var) else ()


def _claim(update: Update, row: Row, bindings: Mapping[str, Expr]) -> Claim | None:
    if row.identity is None:
        return None
    operator, identity = row.components, row.identity
    if "k" in bindings:
        operator, identity = (_with_k(part, bindings["k"], update.meaning) for part in (operator, identity))
    operands = [f"y{i}" for i in range(len(update.types))]
    if all(name in bindings for name in operands):
        data = tuple(bindings[name] for name in operands)
    else:
        try:
            data = run_from(update, identity)
        except Undefined:
            return None
    return Claim(update, operator, identity, data, known=tuple(_known(row, data, update)))


def _with_k(exprs: Sequence[Expr], k: Expr, meaning: Meaning) -> tuple[Expr, ...]:
    """Parts of a row for one `k`, shortened: where integers are unbounded, only what is one that its type holds."""
    return tuple(_shortened(substitute(e, {"k": k}), meaning) for e in exprs)


def _shortened(expr: Expr, meaning: Meaning) -> Expr:
    if has_infinity(expr):
        return expr
    if meaning is Meaning.WRAP:
        return tidy(expr)
    if not expr.type.is_int or variables(expr):
        return expr
    value = int(evaluate_scalar(expr, {}, meaning))
    return Const(expr.type, value) if expr.type.wrap(value) == value else expr


def _known(row: Row, data: Sequence[Expr], update: Update) -> Iterator[Record]:
    """The laws that were proved of a row; that it does not commute, where the data may be any values, a witness too."""
    proof = Proven("table", 0.0, row.id)
    yield ("associative", proof)
    if not _infinite_in_arithmetic(row):
        yield ("left_identity", proof)
        if row.identity_kind == "two-sided":
            yield ("right_identity", proof)
    if row.commutative:
        yield ("commutative", proof)
    elif row.commutative is False and set(data) <= set(update.data) and len(set(data)) == len(data):
        yield ("not_commutative", proof)


def _infinite_in_arithmetic(row: Row) -> bool:
    """Whether an infinite identity may meet arithmetic and be undefined there (0 * inf): then it is proved again."""
    arithmetic = any(
        isinstance(node, Op) and node.op in ("+", "-", "*", "neg") for part in row.components for node in walk(part)
    )
    return arithmetic and any(map(is_infinite, row.identity or ()))


def reordered(update: Update, order: Subgraph) -> Update:
    """The update with component `order[i]` as its i-th."""
    if order == tuple(range(len(order))):
        return update
    names = {f"x{old}": Var(update.types[old], f"x{new}") for new, old in zip(range(len(order)), order, strict=True)}
    components = tuple(substitute(update.components[old], names) for old in order)
    return Update(components, tuple(update.types[old] for old in order), update.constants, update.meaning)


def _back(claim: Claim, update: Update, order: Subgraph) -> Claim:
    """A claim about the reordered update, as one about the update itself."""
    if claim.update is update:
        return claim
    assert claim.operator is not None
    assert claim.identity is not None
    assert claim.data is not None
    place = {old: new for new, old in zip(range(len(order)), order, strict=True)}
    numbers = dict(zip(range(len(order)), order, strict=True))
    columns = range(len(order))
    operator = tuple(renumbered(claim.operator[place[i]], numbers) for i in columns)
    identity = tuple(claim.identity[place[i]] for i in columns)
    return Claim(update, operator, identity, tuple(claim.data[place[i]] for i in columns), known=claim.known)
