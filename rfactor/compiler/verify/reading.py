"""What the expressions of a nest mean, as conditions over unbounded integers that Z3 can decide.

Every value is a variable or an expression over unbounded integers, truth values and reals; what defines a variable is
kept beside it as facts.

x + 1 (a coordinate)     ->   x + 1, unbounded: that i32 holds it is an obligation of its own
i32(a(x)) * 7 (data)     ->   w, with w == d*7 - k*2^32 and -2^31 <= w < 2^31: the machine's bits
a(x)                     ->   d, any value of its type (a function's: any of its known range)
clamp(v, 0.0, 9.5)       ->   a real and whether it is NaN; infinities are reals beyond every finite float
v * 2.0                  ->   an unknown real in the range that interval arithmetic gives: no model refutes with it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rfactor.compiler.verify.meanings import Meanings, Meant, Opaque, Real
from rfactor.compiler.verify.terms import (
    FALSE,
    ONE,
    ZERO,
    all_of,
    any_of,
    at_most,
    choice,
    compare,
    integer,
    minus,
    negation,
    plus,
    times,
)
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.types import BOOL, F64, I32, I64, Type
from rfactor.semantics.scalar import intrinsic_of, rule_of


@dataclass
class Reading:
    """How expressions are read at one place of a nest."""

    meanings: Meanings
    env: Mapping[str, Expr]
    """What the variables of the nest stand for there."""
    epoch: int = 0
    """Tells apart before and after a write, of the functions in `open`: others have one value at each point."""
    open: frozenset[str] = frozenset()
    exact: bool = False
    """Whether coordinates wrap too, as in what a user computes and in the checks on entry."""
    _memo: dict[Expr, Meant] = field(default_factory=dict)
    _data: dict[Expr, bool] = field(default_factory=dict)

    def of(self, expr: Expr) -> Expr:
        """What an integer or a truth value is."""
        found = self._meant(expr)
        if isinstance(found, Real):
            raise Opaque(f"{expr} is a float")
        return found

    def _meant(self, expr: Expr) -> Meant:
        if expr not in self._memo:
            for node in walk(expr):
                if node not in self._memo:
                    self._data[node] = (isinstance(node, Call) and node.kind != "intrinsic") or any(
                        self._data[child] for child in node.children
                    )
                    self._memo[node] = self._make(node)
        return self._memo[expr]

    def _make(self, node: Expr) -> Meant:
        parts = tuple(self._memo[child] for child in node.children)
        if isinstance(node, Const):
            if not node.type.is_float:
                return Const(BOOL, node.value) if node.type.is_bool else integer(int(node.value))
            finite = abs(node.value) <= F64.largest_finite
            return Real(Const(F64, node.value), FALSE) if finite else self.meanings.unknown_real(node, node)
        if isinstance(node, Var):
            if node.type.is_float:
                return self.meanings.unknown_real(node, node)
            found = self.env.get(node.name)
            if found is None:
                raise Opaque(f"{node.name} is not defined here")
            return found
        if isinstance(node, Print):
            return parts[0]
        if isinstance(node, Call) and node.kind in ("func", "image"):
            epoch = self.epoch if node.name in self.open else 0
            return self.meanings.loaded(node, tuple(_whole(part) for part in parts), epoch)
        if node.type.is_float:
            return self._float(node, parts)
        if isinstance(node, Op):
            made = self._bool(node, parts) if node.type.is_bool else self._integer(node, parts)
            if made is not None:
                return made
        return self._unknown(node, parts)

    def _computed(self, node: Op | Call, values: Sequence[Value]) -> Expr:
        """What an operation makes of literals."""
        value = (rule_of(node) if isinstance(node, Op) else intrinsic_of(node))(*values)
        return Const(BOOL, bool(value)) if node.type.is_bool else integer(int(value))

    def _integer(self, node: Op, parts: tuple[Meant, ...]) -> Expr | None:
        op, type_ = node.op, node.type
        if op == "cast":
            return self._cast(node, parts[0])
        if op == "select":
            return choice(_whole(parts[0]), _whole(parts[1]), _whole(parts[2]))
        a, b = _whole(parts[0]), _whole(parts[-1])
        exact: Expr
        second = int(b.value) if isinstance(b, Const) else None
        if op in ("+", "-", "*"):
            exact = plus(a, b) if op == "+" else minus(a, b) if op == "-" else times(a, b)
        elif op == "neg":
            exact = minus(ZERO, a)
        elif op in ("abs", "min", "max", "//", "%"):
            exact = Op(I64, op, (a,) if op == "abs" else (a, b))
            if op in ("min", "max") or (op == "//" and second not in (None, -1)) or op == "%":
                return exact
        elif op == "<<" and second is not None and 0 <= second < type_.bits:
            exact = times(a, integer(1 << second))
        elif op == ">>" and second is not None and 0 <= second < type_.bits:
            return Op(I64, "//", (a, integer(1 << second)))
        elif op == "&" and second is not None and second >= 0 and second & (second + 1) == 0:
            return Op(I64, "%", (a, integer(second + 1))) if second else ZERO
        elif op in ("&", "|", "^"):
            return self._bits(node, a, b)
        elif op == ">>":
            return self._shifted(node, a, b)
        elif op == "~":
            exact = minus(integer(-1 if type_.is_signed else int(type_.max)), a)
        else:
            return None
        if type_ == I32 and not self.exact and not self._data[node]:
            return exact
        return self.meanings.wrapped(type_, exact)

    def _bits(self, node: Op, a: Expr, b: Expr) -> Expr:
        """Operations on bits, all made of one that is known by its range: a ^ b = a + b - 2*(a & b)."""
        if a == b:
            return ZERO if node.op == "^" else a
        both = self._unknown(Op(node.type, "&", node.args), (a, b))
        if node.op == "&":
            return both
        made = self._unknown(node, (a, b))
        twice = both if node.op == "|" else times(both, integer(2))
        self.meanings.note(made, compare("==", made, minus(plus(a, b), twice)))
        return made

    def _shifted(self, node: Op, a: Expr, count: Expr) -> Expr:
        """A quotient by an unknown power of two: no farther from 0, or from -1, than `a`; than its half, by a bit."""
        made, half = self._unknown(node, (a, count)), Op(I64, "//", (a, integer(2)))
        for least, most in ((ZERO, a), (ONE, half)):
            near = (Op(I64, "min", (most, ZERO)), Op(I64, "max", (most, integer(-1))))
            fits = all_of((at_most(near[0], made), at_most(made, near[1])))
            self.meanings.note(made, any_of((compare("<", count, least), fits)))
        return made

    def _unknown(self, node: Expr, parts: Sequence[Meant]) -> Expr:
        """A value that is known by its range, and the same where its operands are."""
        if isinstance(node, Op | Call) and parts and all(map(_is_literal, parts, (arg.type for arg in node.args))):
            return self._computed(node, [part.value for part in parts if isinstance(part, Const)])
        low, high = (0, 1) if node.type.is_bool else self.meanings._range(node)
        what = (type(node).__name__, *node._label())
        return self.meanings.known_by_range(what, parts, node.type, low, high)

    def _cast(self, node: Op, part: Meant) -> Expr:
        old, new = node.args[0].type, node.type
        if isinstance(part, Real):
            key = ("truncated", new, part)
            made = self.meanings._known.get(key)
            if made is None:
                made = self.meanings.held("truncated", int(new.min), int(new.max))
                self.meanings._known[key] = made
                self.meanings.derived.add(made.name)
                whole = self.meanings.fresh("whole")
                as_real = Op(F64, "cast", (whole,))
                above, below = (Op(F64, op, (as_real, Const(F64, 1.0))) for op in ("+", "-"))
                zero = Const(F64, 0.0)
                up = all_of((at_most(as_real, part.value), compare("<", part.value, above)))
                down = all_of((compare("<", below, part.value), at_most(part.value, as_real)))
                self.meanings.facts[whole.name] = (choice(at_most(zero, part.value), up, down),)
                low, high = integer(int(new.min)), integer(int(new.max))
                kept = Op(I64, "max", (Op(I64, "min", (whole, high)), low))
                self.meanings.facts[made.name] += (compare("==", made, choice(part.nan, ZERO, kept)),)
            return made
        if old.is_bool:
            return choice(part, ONE, ZERO)
        if (old, new) == (I32, I64):
            return part
        return self.meanings.wrapped(new, part)

    def _bool(self, node: Op, parts: tuple[Meant, ...]) -> Expr | None:
        first = parts[0]
        if node.op == "select":
            return choice(_whole(first), _whole(parts[1]), _whole(parts[2]))
        if node.op == "cast":
            if isinstance(first, Real):
                return any_of((first.nan, compare("!=", first.value, Const(F64, 0.0))))
            return first if first.type.is_bool else compare("!=", first, ZERO)
        if isinstance(first, Real):
            second = parts[1]
            assert isinstance(second, Real)
            holds = compare(node.op, first.value, second.value)
            if node.op == "!=":
                return any_of((first.nan, second.nan, holds))
            return all_of((negation(first.nan), negation(second.nan), holds))
        return Op(BOOL, node.op, tuple(_whole(part) for part in parts))

    def _float(self, node: Expr, parts: tuple[Meant, ...]) -> Real:
        if isinstance(node, Op):
            a, b = parts[0], parts[-1]
            if node.op in ("min", "max", "select") and isinstance(b, Real):
                if node.op == "select":
                    first, chosen = parts[1], _whole(a)
                    assert isinstance(first, Real)
                    return Real(choice(chosen, first.value, b.value), choice(chosen, first.nan, b.nan))
                assert isinstance(a, Real)
                return Real(Op(F64, node.op, (a.value, b.value)), any_of((a.nan, b.nan)))
            if node.op in ("neg", "abs") and isinstance(a, Real):
                return Real(Op(F64, node.op, (a.value,)), a.nan)
            if node.op == "cast":
                if isinstance(a, Real) and node.type.holds(node.args[0].type):
                    return a
                if not isinstance(a, Real) and not a.type.is_bool:
                    span = self.meanings.span(a)
                    if span is not None and max(-span[0], span[1]) <= 1 << node.type.digits and node.type.bits > 16:
                        return Real(Op(F64, "cast", (a,)), FALSE)
        return self.meanings.unknown_real(node, (type(node).__name__, *node._label()), parts)


def _is_literal(part: Meant, type: Type) -> bool:
    """Whether it is a value of the type, not one that a coordinate has beyond its range."""
    return isinstance(part, Const) and (type.is_bool or int(type.min) <= int(part.value) <= int(type.max))


def _whole(part: Meant) -> Expr:
    if isinstance(part, Real):
        raise Opaque("a float where an integer is expected")
    return part
