"""Expressions as text that is quick to read: one word a node, operands before what uses them.

`x0:0 d0:0 +:0,0,1` is `x0 + d0`: a name, a literal (`=5:0`) or an operation, the number of its type, the numbers of its
operands. A type that has no number stands with its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.simplify import fold
from rfactor.ir.types import Type, parse_type

_OWN = "xy"
"""Letters of operands, which keep their numbers."""


class Encoder:
    """Expressions to words. Names of data, constants and functions are numbered as they occur."""

    def __init__(
        self, types: Iterable[Type], renamed: Mapping[str, str] | None = None, *, growing: bool = True
    ) -> None:
        self.types = list(dict.fromkeys(types))
        self.words: list[str] = []
        self.renamed = dict(renamed or {})
        """Names to those in the words."""
        self._growing = growing
        self._places: dict[Expr, int] = {}
        self._counts = {"d": 0, "k": 0, "f": 0}

    def text(self, exprs: Sequence[Expr]) -> str:
        """The words of the expressions, and after a semicolon the numbers of the expressions themselves."""
        roots = self.roots(exprs)
        return f"{' '.join(self.words)} ; {' '.join(map(str, roots))}"

    def roots(self, exprs: Iterable[Expr]) -> list[int]:
        """Enter the expressions; their numbers."""
        return [self._entered(e) for e in exprs]

    def _entered(self, expr: Expr) -> int:
        places = self._places
        for node in walk(expr):
            if node not in places:
                places[node] = len(self.words)
                self.words.append(self._word(node))
        return places[expr]

    def _word(self, node: Expr) -> str:
        type_ = self._type(node.type)
        if isinstance(node, Var):
            return f"{self._name(node.name)}:{type_}"
        if isinstance(node, Const):
            return f"={node.value!r}:{type_}"
        operands = "".join([f",{self._places[child]}" for child in node.children])
        if isinstance(node, Op):
            return f"{node.op}:{type_}{operands}"
        assert isinstance(node, Call)
        name = f"!{node.name}" if node.kind == "intrinsic" else f"?{self._name(node.name)}"
        return f"{name}:{type_}{operands}"

    def _type(self, type_: Type) -> int | str:
        if type_ not in self.types:
            if not self._growing:
                return type_.name
            self.types.append(type_)
        return self.types.index(type_)

    def _name(self, name: str) -> str:
        if name[0] in _OWN:
            return name
        known = self.renamed.get(name)
        if known is None:
            letter = name[0]
            known = self.renamed[name] = f"{letter}{self._counts[letter]}"
            self._counts[letter] += 1
        return known


def decoded(text: str, types: Sequence[Type], values: Mapping[str, Expr | str]) -> list[Expr]:
    """The nodes of words, names replaced by what they stand for. Raises `ValueError`, `KeyError` or `IndexError`."""
    nodes: list[Expr] = []
    for word in text.split():
        head, _, rest = word.rpartition(":")
        kind, *operands = rest.split(",")
        type_ = types[int(kind)] if kind.isdigit() else parse_type(kind)
        if operands:
            args = tuple([nodes[int(operand)] for operand in operands])
            if head[0] == "!" and head != "!=":
                nodes.append(Call(type_, head[1:], args))
            elif head[0] == "?":
                nodes.append(Call(type_, str(values[head[1:]]), args, "unknown"))
            elif head == "neg" and isinstance(args[0], Const):
                nodes.append(fold(Op(type_, head, args)))
            else:
                nodes.append(Op(type_, head, args))
        elif head[0] == "=":
            nodes.append(Const(type_, number(head[1:])))
        elif head[0] in _OWN:
            nodes.append(Var(type_, head))
        else:
            value = values[head]
            if isinstance(value, str) or value.type != type_:
                raise ValueError(f"{head} is no {type_}")
            nodes.append(value)
    return nodes


def number(text: str) -> bool | int | float:
    """The value of a literal's word."""
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text.lstrip("-").isdigit() else float(text)
