"""Updates that keep a one-to-one map of a number that is easier to follow: its negative, its complement, `x ^ k`.

In `~max(min(~x, a), b)` the complement of x is clamped, in `max(x ^ k, a) ^ k` a maximum is kept with some bits turned,
in `sqrt(0.9*x*x + 0.1*a*a)` the root of an average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from dataclasses import replace as replaced
from functools import partial, reduce

from rfactor.ir.expr import Call, Expr, Op, apply, intrinsic, names, select, substitute, transform, walk
from rfactor.ir.update import Update
from rfactor.matcher.terms import chain, tidy
from rfactor.prover.bijections import cancelled, inverse, mapped, replace_at

_Map = Callable[[Expr], Expr]
_INVERSE: dict[str, _Map] = {
    "sqrt": lambda e: apply("*", e, e),
    "exp": lambda e: intrinsic("log", e),
    "log": lambda e: intrinsic("exp", e),
}
"""The inverses of functions that take each value once, and give numbers from 0 on, above 0, and any."""


@dataclass(frozen=True, slots=True)
class Through:
    """An update in other coordinates, and the way there and back: a component is `forth` of what is followed."""

    update: Update
    maps: dict[int, tuple[_Map, _Map]]
    """For components in other coordinates: forth and back."""

    def forth(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.maps[i][0](e) if i in self.maps else e for i, e in enumerate(exprs))

    @property
    def functions(self) -> bool:
        """Whether components are functions of what is followed, such as roots, and so not any real."""
        return any(isinstance(forth(self.update.accumulators[i]), Call) for i, (forth, _) in self.maps.items())

    def back(self, exprs: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(self.maps[i][1](e) if i in self.maps else e for i, e in enumerate(exprs))


def through(update: Update) -> Through | None:
    """The update of numbers of which components are maps, where it is shorter."""
    maps: dict[int, tuple[_Map, _Map]] = {}
    for i in range(len(update.types)):
        for one in _maps(update, i):
            if _size(_read(update, {i: one})) < _size(update):
                maps[i] = one
                break
    return Through(_read(update, maps), maps) if maps else None


def _maps(update: Update, i: int) -> Iterator[tuple[_Map, _Map]]:
    """The map that gives a component, or the inverse of one that reads the accumulator, each with its inverse."""
    found = _map(update.components[i], update)
    if found is not None:
        yield found
    x = update.accumulators[i]
    for node in dict.fromkeys(node for e in update.components for node in walk(e) if x in node.children):
        found = _map(node, update, x)
        if found is not None:
            yield found[::-1]


def _map(expr: Expr, update: Update, operand: Expr | None = None) -> tuple[_Map, _Map] | None:
    """The map that a function, or an operation with a literal or a constant of the loop, is, and its inverse."""
    if isinstance(expr, Call):
        undo = _INVERSE.get(expr.name)
        return None if undo is None or operand is not None else (partial(intrinsic, expr.name), undo)
    for place in mapped(expr, update.meaning):
        if operand is not None and expr.children[place] != operand:
            continue
        others = [child for at, child in enumerate(expr.children) if at != place]
        back = inverse(expr, place)
        if names(expr.children[place]) <= update.constants or not all(names(e) <= update.constants for e in others):
            continue
        if back is not None and isinstance(expr, Op) and isinstance(back, Op):
            return partial(replace_at, expr, place), partial(replace_at, back, back.args.index(expr.children[place]))
    return None


def _read(update: Update, maps: dict[int, tuple[_Map, _Map]]) -> Update:
    """The update of what the maps are of."""
    values = {f"x{i}": forth(update.accumulators[i]) for i, (forth, _) in maps.items()}
    components = [substitute(e, values) for e in update.components]
    components = [_mapped(maps[i][1], e) if i in maps else e for i, e in enumerate(components)]
    return replaced(
        update, components=tuple(tidy(cancelled(transform(e, _undone), update.meaning)) for e in components)
    )


def _undone(node: Expr) -> Expr | None:
    """What is left of a function after its inverse."""
    if isinstance(node, Call) and node.name in ("exp", "log"):
        inner = node.args[0]
        undoes = isinstance(inner, Call) and {node.name, inner.name} == {"exp", "log"}
        return inner.children[0] if undoes else None
    if not isinstance(node, Op) or node.op != "*" or not node.type.is_float:
        return None
    factors = chain("*", node)
    root = next((e for e in factors if isinstance(e, Call) and e.name == "sqrt" and factors.count(e) > 1), None)
    if root is None:
        return None
    factors.remove(root)
    factors[factors.index(root)] = root.args[0]
    return reduce(lambda a, b: apply("*", a, b), factors)


def _mapped(map_: _Map, expr: Expr) -> Expr:
    """A map of an expression, of the branches where it chooses."""
    if isinstance(expr, Op) and expr.op == "select":
        return select(expr.args[0], _mapped(map_, expr.args[1]), _mapped(map_, expr.args[2]))
    return map_(expr)


def _size(update: Update) -> int:
    """The number of operations."""
    return sum(1 for e in update.components for node in walk(e) if node.children)
