"""Liftings of updates that read only a part of what they keep: `i64(i32(x)) + a`, `(x & 255) + a`, `x % 7 + a`.

What is read, the low half or a remainder, follows an update of its own: the part of each new value. A run is how all
its steps but the last act on that, and the data of the last, which alone says what lies beyond the part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace as replaced

from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, names, replace, transform, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import BOOL
from rfactor.ir.update import Update
from rfactor.matcher.action import FALSE, TRUE, Action, Inner, choose, joined, marked, nought, operands
from rfactor.matcher.lifting.modular import remainder
from rfactor.matcher.solve import renumbered
from rfactor.matcher.terms import accumulator_names, tidy
from rfactor.prover.claim import Claim, Lift

_MOST = 6
"""Most data that a run carries."""
_ADDING = frozenset(("+", "-", "*", "neg", "cast"))


def claims(update: Update, inner: Inner) -> Iterator[Claim]:
    """The claim for an update of which some component is read through one operation alone."""
    whole = update
    if update.meaning is Meaning.WRAP:
        update = replaced(update, components=tuple(transform(e, _cast_inside) for e in update.components))
    parts = {i: part for i in range(len(update.types)) if (part := _part(update, i)) is not None}
    data = update.data
    if not parts or len(data) > _MOST:
        return
    x = update.accumulators
    read = tuple(parts.get(i, x[i]) for i in range(len(x)))
    types = tuple(e.type for e in read)
    own = tuple(Var(t, v.name) for t, v in zip(types, x, strict=True))
    # First to names of their own: the part of an i32 may be an i32 by the same name.
    apart = {e: Var(e.type, f"part {i}") for i, e in parts.items()}
    after = tuple(replace(e, apart) for e in update.components)
    if any(names(e) & {x[i].name for i in parts} for e in after):
        return
    back = {var.name: own[i] for i, var in zip(parts, apart.values(), strict=True)}
    step = marked(after, back)
    onward = tuple(tidy(replace(parts[i], {x[i]: e})) if i in parts else e for i, e in enumerate(step))
    action = inner(replaced(update, components=onward, types=types))
    if action is None or action.assumes:
        return
    yield replaced(_claim(update, read, step, action), update=whole)


def _cast_inside(node: Expr) -> Expr | None:
    """The low bits of a sum or product as one of low bits."""
    if not isinstance(node, Op) or node.op != "cast" or not isinstance(node.args[0], Op):
        return None
    inner = node.args[0]
    if not (node.type.is_int and inner.type.is_int and node.type.bits < inner.type.bits) or inner.op not in _ADDING:
        return None
    if inner.op == "cast":
        return None
    return Op(node.type, inner.op, tuple(_cast_inside(e) or e for e in (cast(node.type, arg) for arg in inner.args)))


def _claim(update: Update, read: tuple[Expr, ...], step: tuple[Expr, ...], action: Action) -> Claim:
    """State: whether there was a step, the data of the last, and how those before it act on what is read."""
    data = update.data
    types = (BOOL, *(v.type for v in data), *action.types)
    cut = 1 + len(data)
    first, second = operands("x", types), operands("y", types)
    (some, *_), last, run = first, first[1:cut], first[cut:]
    (more, *_), next_last, next_run = second, second[1:cut], second[cut:]

    def of(exprs: tuple[Expr, ...], values: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return marked(exprs, {v.name: value for v, value in zip(data, values, strict=True)})

    both = action.combine(action.combine(run, of(action.data, last)), next_run)
    operator = (
        apply("or", some, more),
        *joined(some, more, next_last, last, next_last),
        *joined(some, more, both, run, next_run),
    )
    before = {f"x{i}": e for i, e in enumerate(action.act(read, next_run))}
    values = before | {v.name: value for v, value in zip(data, next_last, strict=True)}
    after = marked(step, values)
    applied = tuple(choose(more, new, old) for new, old in zip(after, update.accumulators, strict=True))
    empty = (FALSE, *(nought(v.type) for v in data), *action.identity)
    lift = Lift(types, (TRUE, *data, *action.identity), operator, empty, applied)
    places = {i: i + cut for i in range(len(action.types))}
    return Claim(update, lift=lift, invariant=tuple(renumbered(condition, places) for condition in action.invariant))


def _part(update: Update, i: int) -> Expr | None:
    """Low bits or a remainder that are all that is read of an accumulator, where those of its new value follow them."""
    x, component = update.accumulators[i], update.components[i]
    readers = dict.fromkeys(node for e in update.components for node in walk(e) if x in node.children)
    if x in update.components or len(readers) != 1 or not x.type.is_int:
        return None
    (reader,) = readers
    wraps = update.meaning is Meaning.WRAP
    if not isinstance(reader, Op) or reader.args[0] != x or reader.type.is_bool or names(reader) != {x.name}:
        return None
    if reader.op == "cast":
        known = wraps and reader.type.is_int and reader.type.bits < x.type.bits
    else:
        parts = remainder(reader)
        known = parts is not None and isinstance(parts[1], Const)
        if known and parts is not None and isinstance(parts[1], Const):
            size = int(parts[1].value)
            known = size > 1 and (not wraps or size & (size - 1) == 0)
    return reader if known and _adds(component, accumulator_names(update), reader) else None


def _adds(expr: Expr, own: frozenset[str], part: Expr) -> bool:
    """Whether accumulators are only added, multiplied, cast and chosen from, all but in one part."""
    if expr == part or names(expr).isdisjoint(own):
        return True
    if isinstance(expr, Op) and expr.op == "select" and names(expr.args[0]).isdisjoint(own):
        return all(_adds(arg, own, part) for arg in expr.args[1:])
    known = isinstance(expr, Op) and expr.type.is_int and expr.op in _ADDING
    return isinstance(expr, Var) or (known and all(_adds(arg, own, part) for arg in expr.children))
