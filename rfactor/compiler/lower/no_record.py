"""Iterations without a new record are passed over some at a time.

    for y in (m, e):                           for y.several in (0, e // 4):
      if any(a[y] < best[…]):                    if any(min(a[m + y.several*4], …, a[m + y.several*4 + 3]) < best[…]):
        at[…] = select(a[y] < best[…], …)  ->      for y in (m + y.several*4, 4): … (the loop as it was)
      best[…] = min(best[…], a[y])             for y in (m + e // 4 * 4, e % 4): … (the loop as it was)

Where `e` is a number, the last four may be among those before: what has been compared is no record any more, if all
iterations leave the best of all in its place.

What an iteration without a new record stores is what was there. So if none of the next four is one beside the record as
it is, none is beside what the others leave, and nothing changes. A minimum is cheaper than to ask and to branch.
Nothing changes either once no lane can have a record, as bytes of 0 in all lanes have no lesser ones: the rest of long
loops is passed over then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, reduce

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.ir.expr import Const, Expr, Op, Var, apply, names, substitute, walk
from rfactor.ir.loopnest import AnyLane, Block, Broadcast, For, If, Let, Load, Ramp, Stmt, Store, block
from rfactor.ir.operations import MIRRORED, OPPOSITE
from rfactor.ir.statements import walk_nest, with_parts

_AT_A_TIME = 4
_FEW, _MANY = 16, 64
"""Blocks before which it is worth asking whether there can be a record, and after how many that is asked again."""
_NARROW = 16
"""Bits of a type whose least and greatest values are met often enough to ask."""
_RARE = frozenset({"<", ">"})
"""Relations that do not hold of what is equal: bytes are, more often than not."""


def without_record(stmt: Stmt) -> Stmt:
    """The flat nest of vectors, records in branches of their own, with such loops."""
    if isinstance(stmt, For) and stmt.kind == "serial":
        found, count = _records(stmt.body, stmt.name), affine.constant_value(stmt.extent)
        if found and (count is None or count >= 2 * _AT_A_TIME):
            return _several(stmt, found)
    return with_parts(stmt, without_record)


@dataclass(frozen=True, slots=True)
class _Record:
    """Some stores of an iteration change nothing where `here relation best` holds in none of the `lanes`."""

    relation: str
    here: Expr
    best: Load
    lanes: Expr = ALWAYS
    """A mask that is the same in all iterations."""
    kept: bool = False
    """Whether an iteration leaves the better of the two as the best, besides what it does where there is a record."""


def _several(loop: For, found: tuple[_Record, ...]) -> Stmt:
    """`loop`, in which an iteration changes nothing where it has none of the records `found`."""
    several, count = Var(loop.min.type, f"{loop.name}.several"), affine.constant_value(loop.extent)
    done = affine.scale(several, _AT_A_TIME)
    stored = {part.buffer for part in walk_nest(loop.body) if isinstance(part, Store)}
    if count is not None and _are_left(loop.body, found) and not any(_loads(one.here) & stored for one in found):
        # An iteration that is run again has no record: the last block may begin among those of the one before.
        some: Expr = _at(-(-count // _AT_A_TIME))
        done = affine.minimum(done, _at(count - _AT_A_TIME)) if count % _AT_A_TIME else done
        rest = None
    else:
        some = affine.divide(_count(loop), _AT_A_TIME)
        left = affine.scale(some, _AT_A_TIME)
        rest = replace(loop, min=affine.add(loop.min, left), extent=affine.subtract(_count(loop), left))
    start = affine.add(loop.min, done)
    starts = [affine.add(start, _at(i)) for i in range(_AT_A_TIME)]
    some_record = _some(found, [_farthest(one, loop.name, starts) for one in found])
    these = replace(loop, min=start, extent=_at(_AT_A_TIME))
    blocks = _while_possible(For(several.name, _at(0), some, "serial", If(some_record, these)), found)
    return blocks if rest is None else block(blocks, rest)


def _are_left(body: Stmt, found: tuple[_Record, ...]) -> bool:
    """Whether what has been compared is no record any more, since nothing makes the best of `found` worse again."""
    relations = {(one.best.buffer, one.relation) for one in found}
    best = {buffer for buffer, _ in relations}
    branches = [part for part in walk_nest(body) if isinstance(part, If)]
    changed = {part.buffer for branch in branches for part in walk_nest(branch) if isinstance(part, Store)}
    return all(one.kept for one in found) and len(best) == len(relations) and best.isdisjoint(changed)


def _loads(expr: Expr) -> set[str]:
    return {node.buffer for node in walk(expr) if isinstance(node, Load)}


def _some(found: tuple[_Record, ...], values: list[Expr]) -> AnyLane:
    """Whether `values` would be records."""
    each = (apply(one.relation, value, one.best) for one, value in zip(found, values, strict=True))
    under = (new if one.lanes == ALWAYS else apply("and", one.lanes, new) for one, new in zip(found, each, strict=True))
    return AnyLane(reduce(partial(apply, "or"), under))


def _farthest(record: _Record, loop: str, iterations: list[Expr]) -> Expr:
    """The least or greatest of the data in some iterations."""
    data = [affine.tidy(substitute(record.here, {loop: one})) for one in iterations]
    return reduce(partial(apply, _extreme(record.relation)), data)


def _while_possible(blocks: For, found: tuple[_Record, ...]) -> Stmt:
    """`blocks`, of which none runs any more once all lanes hold the least, or greatest, value of a narrow type; asked
    before each of many of them."""
    count = affine.constant_value(blocks.extent)
    if any(one.best.type.bits > _NARROW for one in found) or (count is not None and count < _FEW):
        return blocks
    ends = [_end(one) for one in found]
    if count is not None and count <= _MANY:
        return If(_some(found, ends), blocks)
    many = Var(blocks.min.type, f"{blocks.name}.many")
    done = affine.scale(many, _MANY)
    these = replace(blocks, min=done, extent=affine.minimum(_at(_MANY), affine.subtract(blocks.extent, done)))
    return For(many.name, _at(0), affine.divide_up(blocks.extent, _MANY), "serial", If(_some(found, ends), these))


def _end(record: _Record) -> Expr:
    """The value beyond which there is no record."""
    type_ = record.best.type.element
    return Broadcast(Const(type_, type_.min if record.relation == "<" else type_.max), record.best.type.lanes)


def _count(loop: For) -> Expr:
    return affine.maximum(loop.extent, _at(0))


def _at(value: int) -> Const:
    return affine.integer(value)


def _extreme(relation: str) -> str:
    return "min" if relation == "<" else "max"


def _records(body: Stmt, loop: str) -> tuple[_Record, ...]:
    """Those without which an iteration of `loop` changes nothing; none where it may all the same."""
    parted = isinstance(body, Block) and not any(isinstance(part, Store) for part in body.statements)
    groups = body.statements if isinstance(body, Block) and parted else (body,)
    found = [_record(one, loop) for one in groups]
    return tuple(one for one in found if one is not None) if all(found) else ()


def _record(body: Stmt, loop: str) -> _Record | None:
    """The record without which `body` changes nothing, of integers that lie side by side, beside one in the same place
    in all iterations of `loop`."""
    lets: dict[str, Expr] = {}
    while isinstance(body, Let):
        lets[body.name] = substitute(body.value, lets)
        body = body.body
    statements = body.statements if isinstance(body, Block) else (body,)
    branches = [part for part in statements if isinstance(part, If)]
    stores = [part for part in statements if isinstance(part, Store)]
    if len(branches) != 1 or len(stores) + 1 != len(statements) or branches[0].otherwise is not None:
        return None
    condition = substitute(branches[0].condition, lets)
    lanes, compared = _under(condition.value) if isinstance(condition, AnyLane) else (ALWAYS, condition)
    record = _relation(compared)
    if record is None or loop in names(lanes) or affine.reads(lanes):
        return None
    for relation, here, best in (record, (MIRRORED[record[0]], record[2], record[1])):
        if relation not in _RARE or not (isinstance(best, Load) and best.type.is_int and best.predicate == ALWAYS):
            continue
        if loop in names(here) and loop not in names(best.index) and _dense(here, lanes):
            found = _Record(relation, here, best, lanes)
            if all(s.buffer == best.buffer and s.index == best.index and s.predicate == ALWAYS
                   and _is_kept(substitute(s.value, lets), found) for s in stores):  # fmt: skip
                return replace(found, kept=bool(stores))
    return None


def _is_kept(value: Expr, record: _Record) -> bool:
    """Whether `value` is what was the best in lanes without the record."""
    if isinstance(value, Op) and value.op == "select" and (value.args[0], value.args[2]) == (record.lanes, record.best):
        value = value.args[1]
    return (
        isinstance(value, Op)
        and value.op == _extreme(record.relation)
        and set(value.args) == {record.here, record.best}
    )


def _under(changed: Expr) -> tuple[Expr, Expr]:
    """The mask that the lanes of a condition are under, which is always there if there is none, and the condition."""
    if isinstance(changed, Op) and changed.op == "and":
        return changed.args[0], changed.args[1]
    return ALWAYS, changed


def _relation(condition: Expr) -> tuple[str, Expr, Expr] | None:
    """`(relation, a, b)` of a condition `a relation b`."""
    negated = False
    while isinstance(condition, Op) and condition.op == "not":
        negated, condition = not negated, condition.args[0]
    if not (isinstance(condition, Op) and condition.op in OPPOSITE):
        return None
    a, b = condition.args
    return OPPOSITE[condition.op] if negated else condition.op, a, b


def _dense(here: Expr, lanes: Expr) -> bool:
    """Whether `here` is computed from vectors that lie side by side, and nothing can be told from that it is."""
    for node in walk(here):
        if isinstance(node, Load) and node.type.lanes > 1:
            if node.predicate not in (ALWAYS, lanes) or not (
                isinstance(node.index, Ramp) and _is_one(node.index.stride)
            ):
                return False
        elif not isinstance(node, Const | Var | Op | Load | Ramp | Broadcast):
            return False
    return True


def _is_one(stride: Expr) -> bool:
    return affine.constant_value(stride) == 1
