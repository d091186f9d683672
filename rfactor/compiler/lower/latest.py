"""Innermost loops that choose note in which iteration each lane chose last; what it chose is computed after them.

                                                    allocate a.latest[u8 * 8]; a.latest[ramp(0, 1, 8)] = x8(0)
    for x in (m, 9):                                for x in (m, 9):
      a[…] = select(c[x], x8(x), a[…])        ->      a.latest[…] = select(c[x], x8(u8(x - m + 1)), a.latest[…])
      b[…] = select(c[x], x8(y), b[…])              a[…] = select(a.latest[…] != x8(0), i32x8(a.latest[…]) + …, a[…])
                                                    b[…] = select(a.latest[…] != x8(0), x8(y), b[…])

Positions of a greatest or least value are such. A note is as wide as what is compared, and longer loops run in blocks
of as many iterations as it can tell apart. Where nothing chosen depends on the iteration, every note is a 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rfactor.compiler.lower import affine
from rfactor.compiler.lower.conditions import positive
from rfactor.compiler.lower.groups import Group, group, grouped, taken_apart
from rfactor.compiler.lower.storage import ALWAYS
from rfactor.compiler.lower.vectorize import Lanes
from rfactor.ir.expr import Const, Expr, Op, Var, cast, names, rebuild, walk
from rfactor.ir.loopnest import Allocate, Block, Broadcast, For, If, Load, Ramp, Stmt, Store, block
from rfactor.ir.statements import is_innermost, with_parts
from rfactor.ir.types import BOOL, I32, I64, Type

_LONGEST = 1 << 12
"""Iterations of a block, at most."""


def latest(stmt: Stmt, own: frozenset[str] = frozenset()) -> Stmt:
    """The flat nest of vectors with such loops, over buffers that it allocates: `own`, and those inside."""
    if isinstance(stmt, For) and is_innermost(stmt):
        return _noted(stmt, own)
    if isinstance(stmt, Allocate):
        own |= {stmt.buffer}
    return with_parts(stmt, lambda part: latest(part, own))


@dataclass(frozen=True, slots=True)
class _Choice:
    """A vector that becomes `new` in the lanes in which a condition holds, each time that it is stored."""

    index: Expr
    new: Expr
    conditions: tuple[tuple[int, Expr], ...]
    """Those of each store, with the number of its group: what is read may differ between groups."""


def _noted(loop: For, own: frozenset[str]) -> Stmt:
    steps = loop.body.statements if isinstance(loop.body, Block) else (loop.body,)
    groups = [found for step in steps if (apart := taken_apart(step)) and (found := group(*apart))]
    if len(groups) < len(steps):
        return loop
    choices = _choices(groups, loop, own)
    together: dict[tuple[tuple[int, Expr], ...], dict[str, _Choice]] = {}
    for buffer, choice in choices.items():
        together.setdefault(choice.conditions, {})[buffer] = choice
    notes = {
        _note(next(iter(alike)), conditions[0][1]): alike
        for conditions, alike in together.items()
        if _pays(loop, _note(next(iter(alike)), conditions[0][1]).type, alike)
    }
    if not notes:
        return loop
    longest = [min(int(note.type.max), _LONGEST) for note, alike in notes.items() if _varies(alike, loop)]
    count = affine.constant_value(loop.extent)
    if count is not None and (not longest or count <= min(longest)):
        return _with(loop, groups, notes)
    if not longest:  # where the loop does not run at all, what it chooses may be nowhere
        return If(positive(loop.extent), _with(loop, groups, notes))
    return _in_blocks(loop, min(longest), lambda part: _with(part, groups, notes))


def _note(buffer: str, condition: Expr) -> Load:
    """Of the lanes of `condition`, the number of the iteration that chose last, from 1; 0 where none did."""
    compared = condition
    while isinstance(compared, Op) and compared.op in ("and", "or", "not"):
        compared = compared.args[-1]
    bits = compared.args[0].type.bits if isinstance(compared, Op) else 0
    lanes = condition.type.lanes
    type_ = Type("uint", max(bits, 8), lanes)
    return Load(type_, f"{buffer}.latest", Ramp(Const(I64, 0), Const(I64, 1), lanes), ALWAYS)


def _varies(alike: Mapping[str, _Choice], loop: For) -> bool:
    return any(loop.name in names(choice.new) for choice in alike.values())


def _pays(loop: For, note: Type, alike: Mapping[str, _Choice]) -> bool:
    """Whether to note takes fewer bits in all iterations than to choose, and what is computed after them."""
    bits = sum(choice.new.type.bits for choice in alike.values())
    count = affine.constant_value(loop.extent)
    after = bits + (2 * I32.bits if _varies(alike, loop) else 0)
    return bits > note.bits if count is None else count * (bits - note.bits) > after


def _choices(groups: list[Group], loop: For, own: frozenset[str]) -> dict[str, _Choice]:
    """By buffer, what the loop does nothing else with than to choose so."""
    found: dict[str, _Choice] = {}
    others: set[str] = set()
    for number, (store, value) in ((n, pair) for n, one in enumerate(groups) for pair in one.values()):
        choice = _choice(store, value, loop, number) if store.buffer in own else None
        known = None if choice is None else found.setdefault(store.buffer, choice)
        if choice is None or known is None or (choice.index, choice.new) != (known.index, known.new):
            others.add(store.buffer)
        elif choice is not known:
            found[store.buffer] = replace(known, conditions=known.conditions + choice.conditions)
        read = (store.index, store.predicate, value) if choice is None else (choice.conditions[0][1],)
        others |= {node.buffer for expr in read for node in walk(expr) if isinstance(node, Load)}
    return {buffer: choice for buffer, choice in found.items() if buffer not in others}


def _choice(store: Store, value: Expr, loop: For, number: int) -> _Choice | None:
    if store.predicate != ALWAYS or not (isinstance(value, Op) and value.op == "select" and value.type.lanes > 1):
        return None
    condition, new, old = value.args
    if old != Load(value.type, store.buffer, store.index, ALWAYS) or condition.type.lanes == 1:
        return None
    if loop.name in names(store.index) or any(map(affine.reads, (store.index, loop.min, loop.extent))):
        return None
    known = all(isinstance(node, Const | Var | Op | Load | Ramp | Broadcast) for node in walk(condition))
    return _Choice(store.index, new, ((number, condition),)) if known and _is_plain(new, loop.name) else None


def _is_plain(new: Expr, loop: str) -> bool:
    """Whether `new` can be computed of any lanes' iterations, those outside the loop too."""
    return all(
        isinstance(node, Const | Var | Broadcast)
        or (isinstance(node, Ramp) and loop not in names(node.stride))
        or (isinstance(node, Op) and (node.op in ("+", "-", "*", "neg", "cast") or loop not in names(node)))
        for node in walk(new)
    )


def _in_blocks(loop: For, longest: int, made: Callable[[For], Stmt]) -> Stmt:
    """`loop` as a loop over what is `made` of at most `longest` of its iterations at a time."""
    count = affine.maximum(loop.extent, affine.integer(0))
    several = Var(loop.min.type, f"{loop.name}.block")
    done = affine.scale(several, longest)
    these = affine.minimum(affine.integer(longest), affine.subtract(count, done))
    some = affine.add(affine.divide(affine.subtract(count, affine.integer(1)), longest), affine.integer(1))
    part = replace(loop, min=affine.add(loop.min, done), extent=these)
    return For(several.name, affine.integer(0), some, "serial", made(part))


def _with(loop: For, groups: list[Group], notes: Mapping[Load, Mapping[str, _Choice]]) -> Stmt:
    """The loop, whose body is `groups`, with `notes` in place of choices, and those after it."""
    first: dict[str, Load | None] = {}
    before: list[Stmt] = []
    after: list[Stmt] = []
    for note, alike in notes.items():
        before.append(Store(note.buffer, note.index, _constant(note.type, 0), ALWAYS))
        chosen = Op(BOOL.with_lanes(note.type.lanes), "!=", (note, _constant(note.type, 0)))
        for buffer, choice in alike.items():
            old = Load(choice.new.type, buffer, choice.index, ALWAYS)
            value = Op(old.type, "select", (chosen, _of_lanes(choice.new, loop, note), old))
            after.append(Store(buffer, choice.index, value, ALWAYS))
            first[buffer] = None
        first[next(iter(alike))] = note
    varying = {note for note, alike in notes.items() if _varies(alike, loop)}

    def noted(stores: Group) -> Stmt:
        result: list[Store] = []
        for buffer, (store, value) in stores.items():
            note = first.get(buffer)
            if note is not None:
                assert isinstance(value, Op)
                now = _now(loop, note.type) if note in varying else _constant(note.type, 1)
                result.append(
                    Store(note.buffer, note.index, Op(note.type, "select", (value.args[0], now, note)), ALWAYS)
                )
            elif buffer not in first:
                result.append(replace(store, value=value))
        return grouped(result)

    result = block(*before, replace(loop, body=block(*map(noted, groups))), *after)
    for note in notes:
        result = Allocate(note.buffer, note.type.element, affine.integer(note.type.lanes), result)
    return result


def _now(loop: For, note: Type) -> Expr:
    """The number of the iteration, from 1, in all lanes."""
    number = affine.add(affine.subtract(Var(loop.min.type, loop.name), loop.min), affine.integer(1))
    return Broadcast(cast(note.element, number), note.lanes)


def _of_lanes(new: Expr, loop: For, note: Load) -> Expr:
    """`new` in the iteration that each lane noted."""
    lanes = note.type.lanes
    type_ = loop.min.type.with_lanes(lanes)
    iteration = Op(type_, "-", (Op(type_, "cast", (note,)), _constant(type_, 1)))
    if affine.constant_value(loop.min) != 0:
        iteration = Op(type_, "+", (iteration, Broadcast(loop.min, lanes)))
    vectors = Lanes(lanes, {loop.name: iteration}, ALWAYS)

    def visit(node: Expr) -> Expr:
        if loop.name not in names(node):
            return node
        if isinstance(node, Broadcast):
            return vectors.wide(vectors.value(node.value))
        if isinstance(node, Ramp):
            step = Ramp(Const(node.type.element, 0), node.stride, lanes)
            return Op(node.type, "+", (vectors.wide(vectors.value(node.base)), step))
        return rebuild(node, tuple(map(visit, node.children)))

    return visit(new)


def _constant(type_: Type, value: int) -> Expr:
    return Broadcast(Const(type_.element, value), type_.lanes)
