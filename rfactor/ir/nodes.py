"""The nodes of expressions: constants, variables, operations and calls, typed and immutable.

`==` is structural equality and hashes are precomputed, so expressions serve as dictionary keys. What is equal is one
object, as long as it is held.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from rfactor.errors import TypeMismatch
from rfactor.ir.types import Type

Value = bool | int | float
CallKind = Literal["intrinsic", "unknown", "func", "image"]


_E = TypeVar("_E", bound="Expr")


class Expr:
    """An expression. Subclasses: `Const`, `Var`, `Op`, `Call`, and in loop nests `Load`, `Ramp`,
    `Broadcast`, `AnyLane`."""

    __slots__ = ("_hash", "_nodes", "type")
    type: Type
    _hash: int
    _nodes: tuple[Expr, ...]
    """What `walk` gives, once it was asked for."""

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("expressions are immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("expressions are immutable")

    def _key(self) -> tuple[object, ...]:
        raise NotImplementedError

    def _label(self) -> tuple[object, ...]:
        """What a node is, its operands aside."""
        return (self.type,)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Expr):
            return NotImplemented
        if self._hash != other._hash or type(self) is not type(other) or self._label() != other._label():
            return False
        if not self.children:
            return True
        pairs: list[tuple[Expr, Expr]] = [(self, other)]
        seen = {(id(self), id(other))}  # once each: parts may be shared, and then there are many more ways to them
        for a, b in pairs:
            for one, two in zip(a.children, b.children, strict=True):
                if one is two:
                    continue
                if one._hash != two._hash or type(one) is not type(two) or one._label() != two._label():
                    return False
                if one.children and (id(one), id(two)) not in seen:
                    seen.add((id(one), id(two)))
                    pairs.append((one, two))
        for a, b in pairs:
            if isinstance(a, Op | Call):
                # Equal operands may be the same: then the next comparison with either is short.
                _set(b, "args", a.args)
        return True

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), self._key())

    def __str__(self) -> str:
        """All of it, a long part that is shared once. For messages: `printer.brief`; for the parser: `show`."""
        from rfactor.ir.printer import whole

        return whole(self)

    __repr__ = __str__

    @property
    def children(self) -> tuple[Expr, ...]:
        """The operands, left to right."""
        return ()


_set = object.__setattr__
_MOST_HELD = 1 << 16
"""Constants, variables, operations, and others, that are held so that equal ones are the same object, before all are
let go."""


def _held(held: dict[tuple[object, ...], _E], key: tuple[object, ...], expr: _E) -> _E:
    """The expression, from now on the one with this key: equality is then mostly identity."""
    if len(held) >= _MOST_HELD:
        held.clear()
    held[key] = expr
    return expr


class Const(Expr):
    """A literal of a scalar type. The value is in the type's range; floats are rounded to the type by callers."""

    __slots__ = ("value",)
    value: Value

    def __new__(cls, type: Type, value: Value) -> Const:
        value = float(value) if type.is_float else bool(value) if type.is_bool else int(value)
        key = (type, repr(value) if type.is_float else value)  # the sign of a zero tells constants apart
        known = _CONSTANTS.get(key)
        if known is not None:
            return known
        if type.is_int and not type.min <= value <= type.max:
            raise TypeMismatch(f"{value} does not fit {type}, whose range is {type.min} to {type.max}")
        self = object.__new__(cls)
        _set(self, "type", type)
        _set(self, "value", value)
        # The sign of a zero and NaN are told apart: folding must not confuse them.
        _set(self, "_hash", hash(("const", type, repr(value) if type.is_float else value)))
        return _held(_CONSTANTS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.type, self.value)

    def _label(self) -> tuple[object, ...]:
        # The sign of a zero tells constants apart, and NaN is equal to itself.
        return (self.type, repr(self.value) if self.type.is_float else self.value)


class Var(Expr):
    """A variable: an accumulator, a datum, a constant of the loop, a loop index or a parameter."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, type: Type, name: str) -> Var:
        key = (type, name)
        known = _VARS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", type)
        _set(self, "name", name)
        _set(self, "_hash", hash(("var", type, name)))
        return _held(_VARS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.type, self.name)

    _label = _key


class Op(Expr):
    """An operation on operands: an `OPERATIONS` name, `select` (condition, if true, if false) or `cast`."""

    __slots__ = ("args", "op")
    op: str
    args: tuple[Expr, ...]

    def __new__(cls, type: Type, op: str, args: tuple[Expr, ...]) -> Op:
        key = (op, type, args)
        known = _OPS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", type)
        _set(self, "op", op)
        _set(self, "args", args)
        _set(self, "_hash", hash(key))
        return _held(_OPS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.type, self.op, self.args)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.op, len(self.args))

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args


_CONSTANTS: dict[tuple[object, ...], Const] = {}
_VARS: dict[tuple[object, ...], Var] = {}
_OPS: dict[tuple[object, ...], Op] = {}


class Call(Expr):
    """Value `index` of a call: of an intrinsic, of a function of which only its type is known (`unknown`), or (in
    algorithms) of a Func or an image at a point."""

    __slots__ = ("args", "index", "kind", "name")
    name: str
    args: tuple[Expr, ...]
    kind: CallKind
    index: int

    def __new__(
        cls,
        type: Type,
        name: str,
        args: tuple[Expr, ...],
        kind: CallKind = "intrinsic",
        index: int = 0,
    ) -> Call:
        key = (name, type, args, kind, index)
        known = _CALLS.get(key)
        if known is not None:
            return known
        self = object.__new__(cls)
        _set(self, "type", type)
        _set(self, "name", name)
        _set(self, "args", args)
        _set(self, "kind", kind)
        _set(self, "index", index)
        _set(self, "_hash", hash(key))
        return _held(_CALLS, key, self)

    def _key(self) -> tuple[object, ...]:
        return (self.type, self.name, self.args, self.kind, self.index)

    def _label(self) -> tuple[object, ...]:
        return (self.type, self.name, len(self.args), self.kind, self.index)

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args


_CALLS: dict[tuple[object, ...], Call] = {}
