"""The one expression form: constants, variables, operations and calls, typed and immutable.

`==` is structural equality and hashes are precomputed, so expressions serve as dictionary keys.
Operations are rows of one table, `operations.OPERATIONS`; evaluators, translators and printers are dictionaries
over the same names, so that adding an operation is adding a row to each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeVar

from rfactor.errors import TypeMismatch
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.operations import OPERATIONS
from rfactor.ir.types import BOOL, Type

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


def const(type: Type, value: Value) -> Const:
    """A literal of `type`; floats are rounded to the type, integers must fit (`TypeMismatch`)."""
    if type.is_float:
        try:
            float(value)
        except OverflowError:
            raise TypeMismatch(f"an integer of {int(value).bit_length()} bits is beyond all of {type}") from None
    if type.is_float and type.bits < 64 and math.isfinite(value):
        import numpy as np

        with np.errstate(over="ignore"):
            value = float(np.dtype(f"f{type.bits // 8}").type(value))
    return Const(type, value)


def is_held(type: Type, value: int | Fraction) -> bool:
    """Whether a float type has exactly this value."""
    exact, largest = Fraction(value), float(type.largest_finite)
    return -largest <= exact <= largest and Fraction(const(type, float(exact)).value) == exact


def apply(op: str, *args: Expr) -> Op:
    """The operation `op` of `OPERATIONS` on `args`, type-checked.

    Operands have one type; comparisons give `bool` of the same lanes. Raises `TypeMismatch`.
    """
    rule = OPERATIONS[op]
    if len(args) != rule.arity:
        raise TypeMismatch(f"{op} takes {rule.arity} operands, {len(args)} given")
    type_ = args[0].type
    for arg in args[1:]:
        if arg.type != type_:
            raise TypeMismatch(f"{op} of {type_} and {arg.type} (in {args[0]} {op} {arg}): mixed types need a cast")
    shape = rule.shape
    if shape == "compare":
        return Op(BOOL.with_lanes(type_.lanes), op, args)
    if shape == "logic" and not type_.is_bool:
        raise TypeMismatch(f"{op} takes bool operands, not {type_} (in {args[0]}); compare with 0 first")
    if shape == "integer" and not type_.is_int:
        more = "; write / for floats" if op == "//" and type_.is_float else ""
        raise TypeMismatch(f"{op} takes integers, not {type_} (in {args[0]}){more}")
    if shape == "real" and not type_.is_float:
        raise TypeMismatch(f"{op} is for floats, not {type_} (in {args[0]}); write // for integers")
    if shape == "bits" and type_.is_float:
        raise TypeMismatch(f"{op} takes integers or bool, not {type_} (in {args[0]})")
    if shape == "numeric" and type_.is_bool and op not in ("min", "max"):
        raise TypeMismatch(f"{op} of bool (in {args[0]}): cast to an integer type first")
    return Op(type_, op, args)


def select(condition: Expr, true: Expr, false: Expr) -> Op:
    """`true` where `condition` holds, else `false`. Raises `TypeMismatch`."""
    if not condition.type.is_bool:
        raise TypeMismatch(f"the condition of select is {condition.type}, not bool (in {condition})")
    if true.type != false.type:
        raise TypeMismatch(f"select between {true.type} and {false.type} (in {true}, {false}): mixed types need a cast")
    return Op(true.type, "select", (condition, true, false))


def clamp(value: Expr, low: Expr, high: Expr) -> Op:
    """`value` brought between `low` and `high`: `low` where those cross, as Halide has it. Raises `TypeMismatch`."""
    return apply("max", apply("min", value, high), low)


def cast(type: Type, value: Expr) -> Expr:
    """`value` converted to `type` (lanes kept); the expression itself if it has that type already.

    Integers wrap; float to int truncates and saturates, NaN gives 0; anything to bool is `!= 0`.
    """
    type = type.with_lanes(value.type.lanes)
    return value if value.type == type else Op(type, "cast", (value,))


def intrinsic(name: str, *args: Expr) -> Call:
    """A call of one of `INTRINSICS`. Raises `TypeMismatch`."""
    row = INTRINSICS.get(name)
    if row is None:
        raise TypeMismatch(f"unknown function {name!r}; functions are {' '.join(INTRINSICS)}")
    if len(args) != row.arity:
        raise TypeMismatch(f"{name} takes {row.arity} arguments, {len(args)} given")
    for arg in args:
        if not row.accepts(arg.type) or arg.type != args[0].type:
            what = {"real": "floats of one type", "integer": "integers", "bits": f"numbers as wide as {row.gives}"}
            raise TypeMismatch(f"{name} takes {what[row.takes]}, not {arg.type} (in {arg}); cast first")
    return Call(row.result(args[0].type), name, args)


def zero(type: Type) -> Const:
    return Const(type, 0)


def conjunction(*conditions: Expr) -> Expr:
    """All of the conditions; `True` of none."""
    terms = [c for c in conditions if not (isinstance(c, Const) and c.value is True)]
    if not terms:
        return Const(BOOL, True)
    result = terms[0]
    for term in terms[1:]:
        result = apply("and", result, term)
    return result


def disjunction(*conditions: Expr) -> Expr:
    """Some of the conditions; `False` of none."""
    if not conditions:
        return Const(BOOL, False)
    result = conditions[0]
    for term in conditions[1:]:
        result = apply("or", result, term)
    return result


def rebuild(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """`expr` with other operands of the same types; the very same object if nothing changed."""
    for new, old in zip(children, expr.children, strict=True):
        if new is not old:
            return _with_operands(expr, children)
    return expr


def _with_operands(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    if isinstance(expr, Op):
        return Op(expr.type, expr.op, children)
    if isinstance(expr, Call):
        return Call(expr.type, expr.name, children, expr.kind, expr.index)
    return expr.with_children(children)  # type: ignore[attr-defined, no-any-return]


_FEW = 64


def rewrite(expr: Expr, memo: dict[Expr, Expr], rule: Callable[[Expr], Expr]) -> Expr:
    """`expr` rebuilt bottom-up: every node that `memo` does not know becomes `rule` of itself with rewritten operands.

    Without recursion, so that expressions may be as deep as a program makes them.
    """
    found = memo.get(expr)
    if found is not None:
        return found
    # A long memory is one that simplification shares: other threads change it, and it knows more than leaves.
    if len(memo) <= _FEW and not any(known.children for known in tuple(memo)):
        for node in walk(expr):
            if node not in memo:
                children = node.children
                memo[node] = rule(rebuild(node, tuple([memo[child] for child in children])) if children else node)
        return memo[expr]
    stack = [expr]
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        waiting = [child for child in node.children if child not in memo]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        children = node.children
        memo[node] = rule(rebuild(node, tuple(memo[child] for child in children)) if children else node)
    return memo[expr]


def transform(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` rewritten bottom-up: `rule` is asked of every node after its operands; None keeps it."""

    def apply_rule(node: Expr) -> Expr:
        changed = rule(node)
        return node if changed is None else changed

    return rewrite(expr, {}, apply_rule)


def replace(expr: Expr, mapping: Mapping[Expr, Expr]) -> Expr:
    """`expr` with every occurrence of the keys of `mapping`, outermost first, replaced by their values."""
    return rewrite(expr, dict(mapping), lambda node: node) if mapping else expr


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """`expr` with the variables named in `values` replaced (by expressions of the same type)."""
    return substitute_all((expr,), values)[0]


def substitute_all(exprs: Sequence[Expr], values: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """`substitute` in several expressions; what they share is rebuilt once."""
    changed: dict[Expr, Expr] = {}
    known = changed.get
    for expr in exprs:
        for node in walk(expr):
            if isinstance(node, Var):
                new = values.get(node.name)
                if new is not None:
                    changed[node] = new
            elif changed:
                operands, moved = [], False
                for child in node.children:
                    new = known(child)
                    if new is None:
                        operands.append(child)
                    else:
                        operands.append(new)
                        moved = True
                if moved and node not in changed:
                    changed[node] = _with_operands(node, tuple(operands))
    return tuple([known(expr, expr) for expr in exprs])


def walk(expr: Expr) -> tuple[Expr, ...]:
    """Every distinct node of `expr`, operands before the nodes that use them, left to right."""
    try:
        return expr._nodes
    except AttributeError:
        nodes = _LARGE.get(expr)
        if nodes is None:
            nodes = _walked(expr)
            if len(nodes) <= _REMEMBERED:
                _set(expr, "_nodes", nodes)
                return nodes
            if len(_LARGE) >= _MOST_LARGE:
                _LARGE.clear()
            _LARGE[expr] = nodes
        return nodes


_REMEMBERED = 256
"""Most nodes of an expression that are kept in order with it."""
_MOST_LARGE = 64
_LARGE: dict[Expr, tuple[Expr, ...]] = {}
"""The nodes of expressions that have more, before all are let go."""


def _walked(expr: Expr) -> tuple[Expr, ...]:
    seen: dict[Expr, None] = {}
    stack: list[Expr | tuple[Expr]] = [expr]  # in a tuple once its operands have been put above it
    while stack:
        node = stack.pop()
        if type(node) is tuple:
            seen[node[0]] = None
            continue
        assert isinstance(node, Expr)
        if node in seen:
            continue
        known = getattr(node, "_nodes", None)
        if known is not None:
            seen.update(dict.fromkeys(known))
            continue
        children = node.children
        if children:
            stack.append((node,))
            stack += children[::-1]
        else:
            seen[node] = None
    return tuple(seen)


@lru_cache(maxsize=1 << 14)
def variables(expr: Expr) -> tuple[Var, ...]:
    """The distinct variables of `expr` in order of first occurrence."""
    return tuple(node for node in walk(expr) if isinstance(node, Var))


@lru_cache(maxsize=1 << 14)
def names(expr: Expr) -> frozenset[str]:
    """The names of the variables of `expr`."""
    return frozenset(var.name for var in variables(expr))


def leaves(expr: Expr) -> int:
    """The number of leaves of `expr` as a tree: the size that tables order by."""
    counts: dict[Expr, int] = {}
    for node in walk(expr):
        counts[node] = sum(counts[child] for child in node.children) if node.children else 1
    return counts[expr]
