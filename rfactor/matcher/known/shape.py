"""The form of an update that a table of known reductions is asked for.

Data, constants and functions are numbered; literals other than 0, 1 and the ends of their types stand apart from the
form, so that a reduction that is known for every value of a constant serves each of its values. What is left is in
canonical form, which changes no value: literals that it might round, or wrap around where nothing wraps, are not in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Call, Const, Expr, Op, Var, rebuild, substitute, transform, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.matcher.known.data import Parts, are_apart, is_below_zero
from rfactor.matcher.known.nodes import Encoder

_SUMS = ("+", "-", "*")
_MOST = 200
"""Nodes of the largest update that is looked up."""


@dataclass(frozen=True, slots=True)
class Shape:
    """An update without its names and literals, and the way back."""

    text: str
    """The components as nodes (see `rfactor.matcher.known.nodes`), types by their number."""
    types: tuple[Type, ...]
    """The types by number, those of the accumulators first."""
    meaning: Meaning
    values: Mapping[str, Expr | str]
    """What d0, d1, … (data), k0, k1, … (constants and literals) and f0, f1, … (functions, by name) stand for."""
    general: Update
    """The components in canonical form, their names those of `back`."""
    back: Mapping[str, Expr | str]
    """What the names of `general` stand for."""
    apart: bool = True
    """Whether data have their values independently of one another."""

    @property
    def literals(self) -> str:
        """Which constants are which literals, as text."""
        return " ".join([f"{name}={value.value!r}" for name, value in self.values.items() if isinstance(value, Const)])

    @staticmethod
    def of(update: Update) -> Shape | None:
        """The shape of an update; None where its canonical form might not be the same function."""
        components = update.components
        nodes = dict.fromkeys([node for component in components for node in walk(component)])
        integers = any(node.type.is_int for node in nodes)
        meaning = update.meaning if integers else Meaning.WRAP
        if len(nodes) > _MOST or (meaning is Meaning.MATH and not _unbounded(nodes)):
            return None
        if any(isinstance(node, Call) and node.kind not in ("intrinsic", "unknown") for node in nodes):
            return None
        names = _Names(update, meaning)
        forms = tuple([canonical(names.general(component)) for component in components])
        if meaning is Meaning.MATH and any(is_below_zero(n) for form in forms for n in walk(form) if n.type.is_int):
            return None
        encoder = Encoder(update.types)
        text = encoder.text(forms)
        values = {short: names.values[long] for long, short in encoder.renamed.items()}
        constants = frozenset(name for name in names.values if name[0] == "k")
        general = Update(forms, update.types, constants, meaning)
        return Shape(text, tuple(encoder.types), meaning, values, general, names.values)

    def restored(self, exprs: Iterable[Expr]) -> tuple[Expr, ...]:
        """Expressions over the names of `general` over the update's own."""
        values = {name: value for name, value in self.back.items() if isinstance(value, Expr)}
        calls = {name: value for name, value in self.back.items() if isinstance(value, str)}
        return tuple([with_functions(substitute(expr, values), calls) for expr in exprs])

    def over_parts(self) -> Shape | None:
        """The shape with a datum for each largest part that reads data alone; None where that is no other, or unsound.

        A function's values are data like others.
        """
        own, general = frozenset(x.name for x in self.general.accumulators), self.general
        parts = Parts(general.components, own, general.constants)
        if parts.are_plain() or not parts.may_stand(self.meaning):
            return None
        shape = Shape.of(replace(general, components=parts.components))
        if shape is None:
            return None
        stands: dict[str, Expr | str] = dict(self.back)
        for var, part in zip(parts.of.values(), self.restored(parts.of), strict=True):
            stands[var.name] = part
        values: dict[str, Expr | str] = {}
        for short, long in shape.values.items():
            name = long.name if isinstance(long, Var) else long
            # A literal that no part has is one of the canonical form's own: of `2*x` for `x + x`.
            values[short] = name if isinstance(name, Expr) else stands[name]
        return replace(shape, values=values, apart=are_apart(parts.of))


def with_functions(expr: Expr, functions: Mapping[str, str]) -> Expr:
    """The expression with unknown functions called otherwise."""

    def renamed(node: Expr) -> Expr | None:
        if isinstance(node, Call) and node.kind == "unknown":
            return Call(node.type, functions.get(node.name, node.name), node.args, node.kind, node.index)
        return None

    return transform(expr, renamed) if functions else expr


def _unbounded(nodes: Mapping[Expr, None]) -> bool:
    """Whether the canonical form is the same function of unbounded integers.

    Literals are not in it. A coefficient is a product of numbers of addends, at most 3^(n/3) of n leaves: it must fit.
    """
    if any(isinstance(node, Op) and node.op == "cast" and _is_cast(node.args[0]) for node in nodes):
        return False
    leaves: dict[Expr, int] = {}
    for node in nodes:
        leaves[node] = sum(leaves[child] for child in node.children) or 1
    return all(0.53 * leaves[node] < node.type.bits - 1 for node in nodes if node.type.is_int)


def _is_cast(expr: Expr) -> bool:
    return isinstance(expr, Op) and expr.op == "cast"


class _Names:
    """General names for those of an update: d0, … and k0, … in an order that is not that of the names."""

    def __init__(self, update: Update, meaning: Meaning) -> None:
        self.meaning = meaning
        self.values: dict[str, Expr | str] = {}
        self._own = {x.name for x in update.accumulators}
        self._new: dict[Expr, Expr] = {}
        self._functions: dict[str, str] = {}
        uses: dict[Expr, list[str]] = {}
        for at, component in zip(range(len(update.components)), update.components, strict=True):
            uses.setdefault(component, []).append(f"{at}")
            for node in walk(component):
                for place, child in zip(range(len(node.children)), node.children, strict=True):
                    if not child.children:
                        uses.setdefault(child, []).append(f"{at}{_place(node, place)}")
        apart = [node for node in uses if isinstance(node, Var | Const) and not node.children]
        for node in sorted(apart, key=lambda leaf: sorted(uses[leaf])):
            if isinstance(node, Var) and node.name not in self._own:
                self._name("k" if node.name in update.constants else "d", node)
            elif isinstance(node, Const) and not self._stays(node):
                self._name("k", node)

    def general(self, expr: Expr) -> Expr:
        """The expression with general names."""
        new = self._new
        for node in walk(expr):
            if node not in new:
                new[node] = self._general(node)
        return new[expr]

    def _general(self, node: Expr) -> Expr:
        if not node.children:
            return node
        children = tuple([self._new[child] for child in node.children])
        if isinstance(node, Op) and node.op in _SUMS:
            children = tuple(
                [
                    self._signed(old) if isinstance(old, Const) else new
                    for old, new in zip(node.children, children, strict=True)
                ]
            )
        if isinstance(node, Call) and node.kind == "unknown":
            name = self._functions.setdefault(node.name, f"f{len(self._functions)}")
            self.values[name] = node.name
            return Call(node.type, name, children, node.kind, node.index)
        return rebuild(node, children)

    def _signed(self, literal: Const) -> Expr:
        """A literal of a sum or a product: the sign of one below 0 belongs to the form."""
        value = literal.value
        if value < 0 and -value <= literal.type.max and not self._stays(literal):
            positive = Const(literal.type, -value)
            return Op(literal.type, "neg", (self._new.get(positive) or self._name("k", positive),))
        return self._new.get(literal, literal)

    def _stays(self, literal: Const) -> bool:
        """Whether a literal belongs to the form."""
        type_, value = literal.type, literal.value
        if type_.is_bool or (type_.is_float and (value in (0, 1, -1) or not math.isfinite(value))):
            return True
        return type_.is_int and self.meaning is Meaning.WRAP and value in (0, 1, -1, type_.min, type_.max)

    def _name(self, letter: str, node: Var | Const) -> Var:
        name = f"{letter}{len(self.values)}"
        self.values[name] = node
        var = self._new[node] = Var(node.type, name)
        return var


def _place(node: Expr, place: int) -> str:
    """What a leaf is to the node that it is an operand of, however the node is spelled."""
    if not isinstance(node, Op):
        return f"{type(node).__name__}{place}"
    op = node.op
    if op in OPERATIONS and OPERATIONS[op].commutative:
        place = 0
    elif op in (">", ">=", "<="):
        op, place = "<", place if op == "<=" else 1 - place
    return f"{op}{place}"
