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

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from rfactor.compiler.lower.data_range import Ranges
from rfactor.compiler.lower.float_interval import FloatInterval
from rfactor.ir.effects import Print
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, names, substitute, variables, walk
from rfactor.ir.types import BOOL, F64, I32, I64, Type
from rfactor.semantics.scalar import intrinsic_of, rule_of

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Real:
    """A float: its value where it is a number, and whether it is none."""

    value: Expr
    nan: Expr


Meant = Expr | Real


class Opaque(Exception):
    """Something that a nest does not hold before storage is flattened."""


def integer(value: int) -> Expr:
    """A literal of any size."""
    if I64.min <= value <= I64.max:
        return Const(I64, value)
    high, low = divmod(value, 1 << 62)
    return plus(times(integer(high), integer(1 << 62)), integer(low))


def _number(op: str, a: Expr, b: Expr) -> Expr:
    return Op(I64, op, (a, b))


def plus(a: Expr, b: Expr) -> Expr:
    """`a + b`."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _folded("+", int(a.value) + int(b.value), a, b)
    return a if b == _ZERO else b if a == _ZERO else _number("+", a, b)


def minus(a: Expr, b: Expr) -> Expr:
    """`a - b`."""
    if isinstance(a, Const) and isinstance(b, Const):
        return _folded("-", int(a.value) - int(b.value), a, b)
    return a if b == _ZERO else _number("-", a, b)


def times(a: Expr, b: Expr) -> Expr:
    """`a * b`."""
    return _number("*", a, b)


def _folded(op: str, value: int, a: Expr, b: Expr) -> Expr:
    return Const(I64, value) if I64.min <= value <= I64.max else _number(op, a, b)


_ZERO = Const(I64, 0)
ONE = Const(I64, 1)


def compare(op: str, a: Expr, b: Expr) -> Expr:
    """A comparison."""
    return Op(BOOL, op, (a, b))


def at_most(a: Expr, b: Expr) -> Expr:
    """`a <= b`."""
    return compare("<=", a, b)


def negation(a: Expr) -> Expr:
    """`not a`."""
    return FALSE if a == TRUE else TRUE if a == FALSE else Op(BOOL, "not", (a,))


def all_of(conditions: Iterable[Expr]) -> Expr:
    """The conjunction."""
    result: Expr = TRUE
    for one in conditions:
        result = one if result == TRUE else result if one == TRUE else Op(BOOL, "and", (result, one))
    return result


def any_of(conditions: Iterable[Expr]) -> Expr:
    """The disjunction."""
    result: Expr = FALSE
    for one in conditions:
        result = one if result == FALSE else result if one == FALSE else Op(BOOL, "or", (result, one))
    return result


def between(low: int, value: Expr, high: int) -> tuple[Expr, Expr]:
    """`low <= value` and `value <= high`."""
    return at_most(integer(low), value), at_most(value, integer(high))


def choice(condition: Expr, true: Expr, false: Expr) -> Expr:
    """`true` where `condition` holds, else `false`."""
    return true if true == false else Op(true.type, "select", (condition, true, false))


def _on_floats(expr: Expr) -> bool:
    return any(one.type.is_float for one in variables(expr))


@dataclass
class Meanings:
    """The variables of one verification, and what is known of each."""

    ranges: Ranges
    facts: dict[str, tuple[Expr, ...]] = field(default_factory=dict)
    """By variable, what it is defined by; these may speak of other variables."""
    values: dict[str, Expr] = field(default_factory=dict)
    """Those variables that are names of an expression."""
    loads: dict[str, Call] = field(default_factory=dict)
    """By variable, the value that it is of: what is loaded from one place, or computed from the same, is the same."""
    shown: dict[str, str] = field(default_factory=dict)
    """How variables are told: by the names of the nest, or the value that is loaded."""
    opaque: set[str] = field(default_factory=set)
    """Variables that are known by their range alone."""
    derived: set[str] = field(default_factory=set)
    """Variables that stand for what is computed from data, or wraps around."""
    claims: dict[tuple[str, int], Range] = field(default_factory=dict)
    """What was taken of the values of functions, by component: to be proved of every store."""
    _known: dict[object, Var] = field(default_factory=dict)
    _spans: dict[Expr, Range | None] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)
    _expanded: dict[str, Expr] = field(default_factory=dict)
    _depends: dict[str, frozenset[str]] = field(default_factory=dict)

    def fresh(self, stem: str, type: Type = I64) -> Var:
        """A variable of a name of its own."""
        name = stem if stem not in self.shown else f"{stem}#{next(self._numbers)}"
        self.shown[name] = stem
        return Var(type, name)

    def defined(self, stem: str, value: Expr) -> Var:
        """A variable that stands for a value."""
        made = self.fresh(stem, value.type)
        self.values[made.name] = value
        self.facts[made.name] = (compare("==", made, value),)
        return made

    def coordinate(self, value: Expr) -> None:
        """A coordinate of the nest: that i32 holds it is an obligation, on which what is made of it relies."""
        if isinstance(value, Var) and value not in self._spans:
            self._spans[value] = int(I32.min), int(I32.max)

    def held(self, stem: str, low: int, high: int) -> Var:
        """A variable of any value between two."""
        made = self.fresh(stem)
        self.facts[made.name] = between(low, made, high)
        self._spans[made] = (low, high)
        return made

    def span(self, expr: Expr) -> Range | None:
        """Between which integers an expression lies, by its variables' facts alone; None if nothing is known."""
        found = self._spans.get(expr, False)
        if found is False:
            for node in walk(expr):
                if node not in self._spans:
                    self._spans[node] = self._span(node)
            found = self._spans[expr]
        assert not isinstance(found, bool)
        return found

    def _span(self, expr: Expr) -> Range | None:
        if isinstance(expr, Const) and expr.type == I64:
            return int(expr.value), int(expr.value)
        if not isinstance(expr, Op) or expr.type != I64:
            return None
        parts = [self._spans[arg] for arg in expr.args if arg.type == I64]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        a, b = known[0], known[-1]
        if expr.op == "+":
            return a[0] + b[0], a[1] + b[1]
        if expr.op == "-":
            return a[0] - b[1], a[1] - b[0]
        if expr.op == "*":
            corners = [x * y for x in a for y in b]
            return min(corners), max(corners)
        if expr.op == "min":
            return min(a[0], b[0]), min(a[1], b[1])
        if expr.op == "max":
            return max(a[0], b[0]), max(a[1], b[1])
        if expr.op == "select":
            return min(a[0], b[0]), max(a[1], b[1])
        if expr.op == "//" and b[0] == b[1] > 0:
            return a[0] // b[0], a[1] // b[0]
        if expr.op == "%" and b[0] == b[1] > 0:
            return 0, b[0] - 1
        return None

    def wrapped(self, type: Type, value: Expr) -> Expr:
        """What an integer type makes of an unbounded value."""
        span, low, high = self.span(value), int(type.min), int(type.max)
        if span is not None and low <= span[0] and span[1] <= high:
            return value
        key = ("wrapped", type, value)
        if key not in self._known:
            made, turns = self.held("wrapped", low, high), self.fresh("turns")
            self.derived |= {made.name, turns.name}
            size = integer(1 << type.bits)
            self.facts[made.name] += (compare("==", made, minus(value, times(turns, size))),)
            self._known[key] = made
        return self._known[key]

    def known_by_range(self, what: object, parts: Sequence[Meant], type: Type, low: int, high: int) -> Expr:
        """A value made of `parts` in a way that `what` tells, of which its range alone is known."""
        whole = ("opaque", type, what, tuple(parts))
        if whole not in self._known:
            made = self.fresh("value", BOOL) if type.is_bool else self.held("value", low, high)
            self.opaque.add(made.name)
            self._made_of(made, f"value {type} {what}", parts)
            self._known[whole] = made
        return self._known[whole]

    def note(self, variable: Expr, fact: Expr) -> None:
        """Something that is true of a variable."""
        if isinstance(variable, Var) and fact not in self.facts[variable.name]:
            self.facts[variable.name] += (fact,)

    def _made_of(self, made: Var, what: str, parts: Sequence[Meant]) -> None:
        """Note that a variable is the same wherever `what` and `parts` are, and depends on these."""
        self.derived.add(made.name)
        own = tuple(e for part in parts for e in ((part.value, part.nan) if isinstance(part, Real) else (part,)))
        if own:
            self.loads[made.name] = Call(made.type, what, own, "unknown")

    def loaded(self, call: Call, args: tuple[Expr, ...], epoch: int) -> Meant:
        """The value of a function or an image at a point; `epoch` tells apart before and after a write."""
        name = f"{call.name}[{call.index}]" if call.index else call.name
        place = f"{name}@{epoch}"
        key = ("load", place, args)
        shown = f"{name}({', '.join(map(str, args))})"
        if call.type.is_float:
            if key not in self._known:
                value, nan = self._real(shown, self.ranges.of_float(call))
                self._known[key], self._known["nan", place, args] = value, nan
                self._made_of(value, place, args)
                self._made_of(nan, f"{place} is NaN", args)
                if call.kind == "func":
                    self.opaque |= {value.name, nan.name}
            return Real(self._known[key], self._known["nan", place, args])
        if key not in self._known:
            if call.type.is_bool:
                made = self.fresh(shown, BOOL)
            else:
                low, high = self._range(call)
                made = self.held(shown, low, high)
            self._made_of(made, place, args)
            self._known[key] = made
        return self._known[key]

    def _range(self, node: Expr) -> Range:
        """What the compiler knows of an integer; the claims about functions that it rests on are noted."""
        for one in walk(node):
            if isinstance(one, Call) and one.kind == "func" and not one.type.is_float:
                found = self.ranges.of(one)
                if found != (int(one.type.min), int(one.type.max)):
                    self.claims[one.name, one.index] = found
        return self.ranges.of(node)

    def _real(self, stem: str, known: FloatInterval) -> tuple[Var, Var]:
        value, nan = self.fresh(stem, F64), self.fresh(f"{stem} is NaN", BOOL)
        facts: list[Expr] = []
        if isinstance(known.low, Const):
            facts.append(at_most(Const(F64, known.low.value), value))
        if isinstance(known.high, Const):
            facts.append(at_most(value, Const(F64, known.high.value)))
        self.facts[value.name] = tuple(facts)
        if not known.nan:
            self.facts[nan.name] = (negation(nan),)
        return value, nan

    def unknown_real(self, node: Expr, what: object, parts: Sequence[Meant] = ()) -> Real:
        """A float made of `parts` in a way that `what` tells, of which its range alone is known."""
        whole = ("real", what, tuple(parts))
        if whole not in self._known:
            self._range_claims(node)
            value, nan = self._real("float", self.ranges.of_float(node))
            self.opaque |= {value.name, nan.name}
            self._made_of(value, f"float {what}", parts)
            self._made_of(nan, f"float {what} is NaN", parts)
            self._known[whole], self._known["nan", whole] = value, nan
        return Real(self._known[whole], self._known["nan", whole])

    def _range_claims(self, node: Expr) -> None:
        for one in walk(node):
            if one.type.is_int:
                self._range(one)

    def expanded(self, expr: Expr) -> Expr:
        """`expr` with what names stand for in place of them."""
        self._expand(expr)
        return substitute(expr, self._expanded)

    def _expand(self, expr: Expr) -> None:
        """Expand the names in `expr`, those first that others are made of."""
        waiting = [name for name in names(expr) if name in self.values]
        while waiting:
            name = waiting[-1]
            value = self.values[name]
            missing = [one for one in names(value) if one in self.values and one not in self._expanded]
            if name not in self._expanded and not missing:
                self._expanded[name] = substitute(value, self._expanded)
            waiting = [*waiting, *missing] if name not in self._expanded else waiting[:-1]

    def depends(self, expr: Expr) -> frozenset[str]:
        """The loops and values that an expression is made of, at whatever distance."""
        return frozenset().union(*map(self._behind, names(expr)))

    def _behind(self, name: str) -> frozenset[str]:
        """The variables that one is made of: of a name those of its value, of a loaded value also its place."""
        if name not in self._depends:
            if name in self.values:
                found = self.depends(self.values[name])
            else:
                found = self.closure((Var(I64, name),))[0] if name in self.derived else frozenset((name,))
            self._depends[name] = found
        return self._depends[name]

    def near(self, exprs: Iterable[Expr], distance: int) -> tuple[frozenset[str], list[Expr]]:
        """The variables of expressions and those that define them, as far as `distance` definitions away, and what is
        known of these alone: facts that speak of others, or of floats, are left out. Coordinates are in i32."""
        found = list(dict.fromkeys(one for expr in exprs for one in variables(expr)))
        seen = set(found)
        fresh = found
        for _ in range(distance):
            defining = (fact for one in fresh for fact in self.facts.get(one.name, ()))
            new = dict.fromkeys(one for fact in defining if not _on_floats(fact) for one in variables(fact))
            fresh = [one for one in new if one not in seen]
            seen.update(fresh)
            found = [*found, *fresh]
        known = frozenset(one.name for one in found)
        facts = [fact for one in found for fact in self.facts.get(one.name, ())
                 if names(fact) <= known and not _on_floats(fact)]  # fmt: skip
        spans = ((one, self._spans.get(one)) for one in found)
        return known, [
            *facts,
            *(end for one, span in spans if span is not None for end in between(span[0], one, span[1])),
        ]

    def closure(self, exprs: Iterable[Expr]) -> tuple[frozenset[str], list[Expr]]:
        """All variables that expressions depend on, and the facts of these."""
        seen: dict[str, None] = {}
        facts: list[Expr] = []
        waiting = [name for expr in exprs for name in sorted(names(expr))]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen[name] = None
            for fact in self.facts.get(name, ()):
                facts.append(fact)
                waiting += sorted(names(fact))
            if name in self.loads:
                waiting += sorted(names(self.loads[name]))
        by_place: dict[str, list[str]] = {}
        for name in seen:
            if name in self.loads:
                by_place.setdefault(self.loads[name].name, []).append(name)
        for same in by_place.values():
            if len(same) > 1:
                facts += [compare("==", Var(self.loads[one].type, one), self.loads[one]) for one in same]
        return frozenset(seen), facts


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
            exact = minus(_ZERO, a)
        elif op in ("abs", "min", "max", "//", "%"):
            exact = Op(I64, op, (a,) if op == "abs" else (a, b))
            if op in ("min", "max") or (op == "//" and second not in (None, -1)) or op == "%":
                return exact
        elif op == "<<" and second is not None and 0 <= second < type_.bits:
            exact = times(a, integer(1 << second))
        elif op == ">>" and second is not None and 0 <= second < type_.bits:
            return Op(I64, "//", (a, integer(1 << second)))
        elif op == "&" and second is not None and second >= 0 and second & (second + 1) == 0:
            return Op(I64, "%", (a, integer(second + 1))) if second else _ZERO
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
            return _ZERO if node.op == "^" else a
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
        for least, most in ((_ZERO, a), (ONE, half)):
            near = (Op(I64, "min", (most, _ZERO)), Op(I64, "max", (most, integer(-1))))
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
                self.meanings.facts[made.name] += (compare("==", made, choice(part.nan, _ZERO, kept)),)
            return made
        if old.is_bool:
            return choice(part, ONE, _ZERO)
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
            return first if first.type.is_bool else compare("!=", first, _ZERO)
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
                exact = {16: 11, 32: 24, 64: 53}[node.type.bits]
                if isinstance(a, Real) and node.args[0].type.bits <= node.type.bits:
                    return a
                if not isinstance(a, Real) and not a.type.is_bool:
                    span = self.meanings.span(a)
                    if span is not None and max(-span[0], span[1]) <= 1 << exact and node.type.bits > 16:
                        return Real(Op(F64, "cast", (a,)), FALSE)
        return self.meanings.unknown_real(node, (type(node).__name__, *node._label()), parts)


def _is_literal(part: Meant, type: Type) -> bool:
    """Whether it is a value of the type, not one that a coordinate has beyond its range."""
    return isinstance(part, Const) and (type.is_bool or int(type.min) <= int(part.value) <= int(type.max))


def _whole(part: Meant) -> Expr:
    if isinstance(part, Real):
        raise Opaque("a float where an integer is expected")
    return part


def evaluated(expr: Expr, model: Mapping[str, Value]) -> Value | None:
    """The value of a condition over unbounded integers; None where it speaks of reals or is beyond what is known."""
    found: dict[Expr, Value] = {}
    for node in walk(expr):
        if node.type.is_float:
            return None
        args = [found[child] for child in node.children]
        if isinstance(node, Const):
            found[node] = node.value
        elif isinstance(node, Var):
            found[node] = model.get(node.name, 0)
        elif isinstance(node, Op) and node.op in _VALUES:
            found[node] = _VALUES[node.op](*args)
        else:
            return None
    return found[expr]


def _quotient(a: int, b: int) -> int:
    return 0 if b == 0 else (a - a % abs(b)) // b


_VALUES: dict[str, Callable[..., Value]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": _quotient,
    "%": lambda a, b: 0 if b == 0 else a % abs(b),
    "min": min,
    "max": max,
    "abs": abs,
    "select": lambda c, a, b: a if c else b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a and b,
    "&": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "|": lambda a, b: a or b,
    "^": lambda a, b: a != b,
    "not": lambda a: not a,
    "~": lambda a: not a,
}  # fmt: skip
