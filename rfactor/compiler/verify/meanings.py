"""The variables that stand for what a nest computes, and the facts that each is known by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from rfactor.compiler.lower.data_range import Ranges
from rfactor.compiler.lower.float_interval import FloatInterval
from rfactor.compiler.verify.terms import at_most, between, compare, integer, minus, negation, times
from rfactor.ir.expr import Call, Const, Expr, Op, Var, names, substitute, variables, walk
from rfactor.ir.types import BOOL, F64, I32, I64, Type

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Real:
    """A float: its value where it is a number, and whether it is none."""

    value: Expr
    nan: Expr


Meant = Expr | Real


class Opaque(Exception):
    """Something that a nest does not hold before storage is flattened."""


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
        name = stem
        while name in self.shown:
            name = f"{stem}#{next(self._numbers)}"
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
