"""Read a loop's body once on symbols: what a step makes of the state, what it stores, and when it leaves.

Branches become choices; what does not touch the state is data of the step, computed by compiled code where the
expression language has it and by Python otherwise. Whatever cannot be read is refused with the place in the text.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from rfactor.errors import FoldError, TypeMismatch
from rfactor.ir.expr import Const, Expr, Op, Var, apply, cast, const, names
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops import purity
from rfactor.loops.aliasing import VIEWS, Deep, changes_in, reachable
from rfactor.loops.kinds import FALSE, TRUE, Scalar, Untyped
from rfactor.loops.sequences import Typed
from rfactor.loops.source import Source, names_loaded, names_stored, stored_in
from rfactor.loops.symbols import (
    Binding,
    Complex,
    Fixed,
    Missing,
    Opaque,
    Optional,
    Parts,
    Place,
    Symbol,
    Truth,
    View,
    as_complex,
    conjunction,
    disjunction,
    merged,
    negation,
)

Env = dict[str, Binding]
POINTED = "element of "
"""What parts are called that are elements of arrays which a number of the state points to."""
LONGEST = 16
"""Lists and arrays of up to so many elements are state, element by element; inner loops of so many turns are written
out."""


class Again(Exception):
    """A type has become wider: the body is to be read once more."""


@dataclass(frozen=True)
class Slot:
    """One number of the state."""

    name: str
    """The variable of the function that it is, or is a part of."""
    part: str
    """`value`, `has` (is it not None?), `real`, `imag`, or the number of an element."""
    var: Var
    kinds: K.Kinds


@dataclass(frozen=True)
class Stored:
    """Something that each step leaves behind."""

    name: str
    form: str
    """`append` to a list, `add` to a set, or `index`: an element of an array or list."""
    value: Scalar
    mask: Expr
    """Steps of which this holds leave something."""
    index: Expr | None
    node: ast.AST


@dataclass(frozen=True)
class Datum:
    """Something that is read or computed once a step."""

    var: Var
    view: View | None = None
    """An element of an array; else Python computes `node`."""
    node: ast.expr | None = None
    guard: ast.expr | None = None
    """Where this does not hold, the value is not wanted."""
    kind: str = ""
    word: str = ""
    """The loop's own word for it, for messages."""


@dataclass(frozen=True)
class Key:
    """What names the element of a step."""

    expr: Expr | None
    """A number; else Python computes `node`."""
    node: ast.expr | None
    guard: ast.expr | None
    kind: str
    path: Expr = TRUE
    """Steps of which this holds use it."""


@dataclass(frozen=True)
class Requirement:
    """A condition of a step without which the loop goes on in Python."""

    condition: Expr
    why: str


@dataclass
class Reading:
    """What was read of a body."""

    slots: list[Slot] = field(default_factory=list)
    update: list[Expr] = field(default_factory=list)
    kinds: list[K.Kinds] = field(default_factory=list)
    """Of the new values, one a slot."""
    tags: list[Expr] = field(default_factory=list)
    leaves: Expr = FALSE
    """The step leaves the loop."""
    required: list[Requirement] = field(default_factory=list)
    stored: list[Stored] = field(default_factory=list)
    data: dict[str, Datum] = field(default_factory=dict)
    """By the name of the variable, each after those that it needs."""
    constants: dict[str, tuple[ast.expr, str]] = field(default_factory=dict)
    """Numbers that stay the same, by the name of the variable: how they are computed, and their kind."""
    arrays: dict[str, Any] = field(default_factory=dict)
    """Where each array is found: a path into the header, or an expression."""
    literal: dict[str, Any] = field(default_factory=dict)
    """Values that what was read depends on, by the expression that gives them."""
    prelude: list[ast.stmt] = field(default_factory=list)
    """What Python runs at each step before it computes data."""
    changed: frozenset[str] = frozenset()
    """Names of what is changed in place."""
    keys: dict[str, Key] = field(default_factory=dict)
    """What groups are told apart by, by its text."""
    key_of: dict[str, str] = field(default_factory=dict)
    """By name: the key of its elements."""


@dataclass(frozen=True)
class Surroundings:
    """The loop's place: the function, the values of its names where the loop begins, and what is read after it."""

    source: Source
    values: Mapping[str, Any]
    read_after: frozenset[str]


class Body:
    """Reads one body. Raises `FoldError`."""

    def __init__(
        self,
        around: Surroundings,
        body: Sequence[ast.stmt],
        bind: Callable[[Body], Env],
        depth: int = 1,
        evaluate: Callable[[ast.expr, ast.expr | None, Sequence[ast.stmt]], tuple[Typed | None, int]] | None = None,
        fixed: frozenset[str] = frozenset(),
        test: Sequence[ast.expr] = (),
        specialized: bool = False,
    ) -> None:
        """`bind` gives the names that a step begins with; `test`: conditions of a `while` loop that a step begins
        with; `specialized`: numbers that stay the same are read as literals."""
        self.around, self.body, self.bind, self.depth, self.evaluate = around, body, bind, depth, evaluate
        self.test, self.specialized = test, specialized
        self.steps = [Var(I64, "t")] if depth == 1 else [Var(I64, f"t{k}") for k in range(depth)]
        self.stored_names = stored_in(body).union(*map(names_stored, test))
        self.fixed = fixed
        self.kinds: dict[tuple[str, str], K.Kinds] = {}
        self.optional: set[str] = set()
        self.complexed: set[str] = set()
        self.known_data: dict[str, tuple[Typed | None, int]] = {}
        self.inlined = 0
        self.known_elements = True
        """What the loop reads are numbers, texts and sequences of them: nothing with effects of its own."""
        self.unknown: set[type] = set()
        """Types of other objects that it reads."""
        self.used_up = False
        """Are there iterators, or dicts that make keys up, among what it reads?"""
        self._look_around()

    def _look_around(self) -> None:
        """Look at the objects that the loop reads: are there any that may do more than hold values?"""
        names = frozenset().union(*map(names_loaded, (*self.body, *self.test)))
        changed = changes_in(self.body)
        for name in names:
            value = self._known(name)
            if value is None or callable(value) or isinstance(value, ModuleType):
                continue
            self.look_at(value, name in changed)

    def look_at(self, value: Any, known: bool = False) -> None:
        """Note what of a value may do more than hold values; `known`: it is a dict that the loop writes."""
        try:
            for one in reachable(value):
                if hasattr(one, "__next__"):
                    self.used_up = True
                elif isinstance(one, defaultdict) or hasattr(type(one), "__missing__"):
                    self.used_up |= not known and not isinstance(one, Counter)
                elif not isinstance(one, (*purity.BASES, *VIEWS)) and not callable(one):
                    self.unknown.add(type(one))
        except Deep:
            self.unknown.add(object)
        self.known_elements = not self.unknown and not self.used_up

    # -- refusing ------------------------------------------------------------------------------------------------------

    def no(self, reason: str, node: ast.AST | None, kind: str, advice: str = "") -> FoldError:
        """The refusal of the loop because of `node`."""
        return self.around.source.text.refusal(reason, node, kind=kind, advice=advice)

    def require(self, condition: Expr, why: str) -> None:
        """Note what must hold of this step, here."""
        condition = simplify(apply("or", negation(self.path), condition)) if self.path != TRUE else simplify(condition)
        if _always(condition):
            return
        if condition != TRUE and not any(r.condition == condition for r in self.reading.required):
            self.reading.required.append(Requirement(condition, why))

    # -- reading -------------------------------------------------------------------------------------------------------

    def read(self) -> Reading:
        """What the body makes of the state."""
        for _ in range(10):
            try:
                return self._attempt()
            except Again:
                continue
            except RecursionError:
                raise self.no("the body is nested too deep", self.body[0], "R8") from None
        raise self.no("the types of the accumulators do not settle", self.body[0], "R10")

    def _attempt(self) -> Reading:
        self.reading = Reading()
        self.outputs: dict[str, Any] = {}
        self.pointers: dict[str, tuple[View, str, Scalar]] = {}
        self.path: Expr = TRUE
        self.guards: list[ast.expr | None] = []
        self.header_env: Env = {}
        env = self.bind(self)
        self.header_env = dict(env)
        self.targets = set(env)
        self._find_stores()
        before: Env = {}
        for name in sorted((self.stored_names | self.mutated) - self.targets - self.fixed):
            if name in self.around.values:
                before[name] = Binding(self._slot(name, self.around.values[name]))
        env |= before
        self.carried = {n for n, b in before.items() if not isinstance(b.symbol, Missing)}
        for condition in self.test:
            self._leave(negation(self.condition(condition, env)))
        continued: list[tuple[Expr, ast.expr | None, Env]] = []
        after = self.block(self.body, env, continued)
        final = self._end(after, continued)
        for name, binding in final.items():
            unbound = isinstance(binding.symbol, Missing) and name not in before and name not in self.targets
            if unbound and name in self.around.read_after:
                raise self.no(f"{name} is assigned in some steps only, and read after the loop", self._store_of(name),
                              "R6", f"assign {name} before the loop")  # fmt: skip
        self._finish(before, final)
        return self.reading

    def _end(self, after: Env | None, continued: list[tuple[Expr, ast.expr | None, Env]]) -> Env:
        """The names at the end of the body, whichever way there."""
        self.path = TRUE
        if after is None:
            if not continued:
                return {}
            after = continued.pop()[2]
        for condition, node, env in reversed(continued):
            after = self._merge(condition, node, env, after)
        return after

    def _merge(self, condition: Expr, node: ast.expr | None, true: Env, false: Env) -> Env:
        result: Env = {}
        for name in {**true, **false}:
            a, b = true.get(name), false.get(name)
            if a is None or b is None:
                result[name] = Binding(Missing(f"{name} may be unbound"))
            else:
                result[name] = merged(condition, node, a, b, self.require)
        return result

    def _leave(self, condition: Expr) -> None:
        """Note that the step leaves the loop where `condition` holds, here."""
        here = conjunction(self.path, condition)
        self.reading.leaves = disjunction(self.reading.leaves, here)
        self.path = conjunction(self.path, negation(condition))

    # -- the state -----------------------------------------------------------------------------------------------------

    def _find_stores(self) -> None:
        """Which names are changed in place, and how."""
        self.stores = changes_in(self.body)
        values = self.around.values
        self.mutated = {n for n in self.stores if n in values and not isinstance(values[n], ModuleType)}
        self.reading.changed = frozenset(self.mutated)

    def _var(self, name: str, part: str, kinds: K.Kinds) -> Scalar:
        kinds = self.kinds.setdefault((name, part), kinds)
        try:
            var = Var(K.type_of(kinds), f"x{len(self.reading.slots)}")
        except Untyped as error:
            raise self.no(f"{name}: {error}", self._store_of(name), "R10", _TYPES_ADVICE) from None
        self.reading.slots.append(Slot(name, part, var, kinds))
        tag = None if len(kinds) == 1 else Var(I64, f"kind_{var.name}")
        return Scalar(var, kinds, tag)

    def _store_of(self, name: str) -> ast.AST | None:
        for statement in self.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
                    return node
        return self.stores.get(name, [None])[0]

    def _slot(self, name: str, value: Any) -> Symbol:
        """The symbol of an accumulator, and its numbers among the slots."""
        store = self._store_of(name)
        if value is None or name in self.optional:
            self.optional.add(name)
            has = self._var(name, "has", frozenset({"bool"})).expr
            if value is not None:
                self.kinds.setdefault((name, "value"), frozenset({self._kind_of(name, value)}))
            kinds = self.kinds.get((name, "value"))
            if kinds is None:
                return Optional(FALSE, None)
            return Optional(has, self._var(name, "value", kinds))
        known = (list, tuple, set, dict, Counter, defaultdict, OrderedDict, np.ndarray, np.memmap)
        if isinstance(value, list | tuple | set | dict | np.ndarray) and type(value) not in known:
            raise self.no(f"{name} is {_article(value)}, of which not all is known", store, "R10",
                          "keep a list, dict, set or array")  # fmt: skip
        if isinstance(value, complex) or (name in self.complexed and isinstance(value, int | float)):
            return Complex(
                self._var(name, "real", frozenset({"float"})), self._var(name, "imag", frozenset({"float"})),
                "np.complex128" if isinstance(value, np.generic) else "complex",
            )  # fmt: skip
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf"):
            return self._sequence(name, value, store)
        if isinstance(value, set | dict):
            from rfactor.loops.places import keyed_slot

            return keyed_slot(self, name, value)
        if isinstance(value, np.ndarray):
            return Missing(f"{name} is changed in place")
        return self._var(name, "value", frozenset({self._kind_of(name, value)}))

    def _kind_of(self, name: str, value: Any) -> str:
        try:
            kind = K.kind_of(value)
        except Untyped as error:
            raise self.no(f"{name} is {_article(value)}, and an accumulator: {error}", self._store_of(name), "R10",
                          "accumulate numbers") from None  # fmt: skip
        if kind == "int" and not I64.min <= value <= I64.max:
            raise self.no(f"{name} begins beyond 64 bits", self._store_of(name), "R10")
        return kind

    def _sequence(self, name: str, value: Any, store: ast.AST | None) -> Symbol:
        in_place = isinstance(value, np.ndarray) and self._is_augmented(name)
        whole = isinstance(value, tuple) or (name in self.stored_names and not in_place)
        if whole and name in self.mutated:
            raise self.no(f"{name} is changed in place, and assigned as a whole", store, "R5", "do one of both")
        if in_place:
            self.reading.changed |= {name}
        subscripts = [s for s in self.stores.get(name, []) if isinstance(s, ast.Subscript)]
        calls = [s for s in self.stores.get(name, []) if not isinstance(s, ast.Subscript)]
        size = value.size if isinstance(value, np.ndarray) else len(value)
        small = size <= LONGEST and not calls and (whole or all(self._is_fixed_index(s) for s in subscripts))
        if not small:
            if whole and not isinstance(value, tuple):
                raise self.no(f"{name} is assigned as a whole, and grows", store, "R3", "keep a fixed number of values")
            if whole:
                raise self.no(f"{name} is a long tuple that changes", store, "R3")
            if calls or not subscripts:
                return Missing(f"{name} is changed in place")
            from rfactor.loops.places import sequence_slot

            return sequence_slot(self, name, value, subscripts)
        flat = value.ravel() if isinstance(value, np.ndarray) else value
        items: list[Symbol] = []
        for k in range(size):
            element = flat[k]
            if isinstance(element, list | tuple) and len(element) <= 8:
                inner = [
                    self._var(name, f"{k},{j}", frozenset({self._kind_of(name, e)})) for j, e in _numbered(element)
                ]
                items.append(Parts(tuple(inner), type(element).__name__))
            else:
                items.append(self._var(name, str(k), frozenset({self._kind_of(name, element)})))
        if isinstance(value, np.ndarray):
            return Parts(tuple(items), "array", value.shape, value.dtype.name)
        return Parts(tuple(items), type(value).__name__)

    def _is_augmented(self, name: str) -> bool:
        """Is a name assigned by `name += …` alone, which changes an array in place?"""
        nodes = [n for s in self.body for n in ast.walk(s)]
        augmented = sum(
            1 for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name) and n.target.id == name
        )
        stores = sum(1 for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store))
        return 0 < augmented == stores

    def _is_fixed_index(self, node: ast.AST) -> bool:
        while isinstance(node, ast.Subscript):
            loaded = names_loaded(node.slice)
            if loaded & (self.stored_names | self.targets) and not self._unrolled(loaded):
                return False
            node = node.value
        return True

    def _unrolled(self, loaded: frozenset[str]) -> bool:
        """Are all the names that vary counters of inner loops that are short?"""
        inner: set[str] = set()
        for statement in self.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.For):
                    inner |= names_stored(node.target)
        return (loaded & (self.stored_names | self.targets)) <= inner

    def _finish(self, before: Env, final: Env) -> None:
        """Compare the state at the end of the body with that at its beginning."""
        reading = self.reading
        found: dict[str, Scalar] = {}
        again = False
        for name in before:
            symbol = before[name].symbol
            if isinstance(symbol, Missing):
                continue
            new = final.get(name, before[name]).symbol if final else symbol
            if isinstance(new, Opaque | View) and name in final:
                new = self.number(final[name], self._store_of(name) or self.body[0])
            slots = [s for s in reading.slots if s.name == name and not s.part.startswith(POINTED)]
            for slot, value in zip(slots, self._values(name, symbol, new), strict=False):
                again |= self._widens(slot, value)
                found[slot.var.name] = value
        for name, (view, pointer, _) in self.pointers.items():
            slot = next(s for s in reading.slots if s.var.name == name)
            value = self._pointed_after(view, pointer, found[pointer].expr)
            again |= self._widens(slot, value)
            found[name] = value
        if again:
            raise Again
        for slot in reading.slots:
            value = found.get(slot.var.name, Scalar(slot.var, slot.kinds))
            try:
                expr = K.converted(value, slot.var.type, self.require)
            except Untyped as error:
                raise self.no(f"{slot.name}: {error}", self._store_of(slot.name), "R10", _TYPES_ADVICE) from None
            reading.update.append(expr)
            reading.kinds.append(value.kinds)
            reading.tags.append(value.kind)

    def _widens(self, slot: Slot, value: Scalar) -> bool:
        """Is a new value of a kind that the number of the state has not been yet?"""
        if value.kinds - slot.kinds:
            self.kinds[slot.name, slot.part] = slot.kinds | value.kinds
            return True
        return False

    def pointed(self, view: View, index: Expr) -> Scalar | None:
        """The element of an array that a number of the state points to, as a number of the state of its own."""
        if not isinstance(index, Var):
            return None
        owner = next((s for s in self.reading.slots if s.var == index and s.part == "value"), None)
        if owner is None or not isinstance(self.around.values.get(owner.name), int | np.integer):
            return None
        for known, pointer, value in self.pointers.values():
            if known == view and pointer == index.name:
                return value
        value = self._var(owner.name, f"{POINTED}{view.array}", frozenset({view.kind}))
        self.pointers[value.expr.name] = view, index.name, value  # type: ignore[attr-defined]
        return value

    def _pointed_after(self, view: View, pointer: str, after: Expr) -> Scalar:
        """The element pointed to after the step: that of each place that the pointer may be moved to."""
        if isinstance(after, Var) and after.name == pointer:
            return next(v for k, p, v in self.pointers.values() if k == view and p == pointer)
        if isinstance(after, Op) and after.op == "select":
            true, false = (self._pointed_after(view, pointer, e) for e in after.args[1:])
            return K.choose(after.args[0], true, false, self.require)
        if any(n[0] == "x" for n in names(after)):
            raise self.no(f"an element of {view.array} is read where the state says", self.body[0], "R2",
                          "walk over the data in order")  # fmt: skip
        return self.read_view(self.element(view, after))

    def _values(self, name: str, old: Symbol, new: Symbol) -> list[Scalar]:
        """The new numbers of an accumulator, in the order of its slots."""
        boolean = frozenset({"bool"})
        if isinstance(old, Place):
            return self._place_values(name, old, new)
        if isinstance(new, Missing):
            raise self.no(f"{name}: {new.why}", self._store_of(name), "R10", "give it one type, on every path")
        if isinstance(old, Optional):
            if isinstance(new, Scalar):
                new = Optional(TRUE, new)
            if not isinstance(new, Optional):
                raise self.no(f"{name} is None in one step and no number in another", self._store_of(name), "R10")
            if new.value is not None and (name, "value") not in self.kinds:
                self.kinds[name, "value"] = new.value.kinds
                raise Again
            value = new.value if new.value is not None else old.value
            return [Scalar(new.has, boolean)] + ([] if value is None else [value])
        if isinstance(new, Optional):
            self.optional.add(name)
            raise Again
        if isinstance(old, Complex):
            try:
                made = as_complex(new) if isinstance(new, Complex | Scalar) else None
            except Untyped:
                made = None
            if made is None:
                raise self.no(f"{name} is complex in one step and not in another", self._store_of(name), "R10")
            return [made.real, made.imag]
        if isinstance(old, Parts):
            if not isinstance(new, Parts) or (new.form, len(new.items)) != (old.form, len(old.items)):
                raise self.no(f"{name} changes its length", self._store_of(name), "R3", "keep a fixed number of values")
            return [v for p, q in zip(old.items, new.items, strict=True) for v in self._values(name, p, q)]
        if isinstance(new, Complex):
            self.complexed.add(name)
            raise Again
        if isinstance(new, View | Fixed | Opaque):
            raise self.no(f"{name} is no number in a later step", self._store_of(name), "R10", "accumulate numbers")
        if not isinstance(new, Scalar):
            raise self.no(f"{name} becomes a sequence", self._store_of(name), "R3", "keep a fixed number of values")
        return [new]

    def _place_values(self, name: str, old: Place, new: Symbol) -> list[Scalar]:
        """The new numbers of an element that a key names."""
        if not isinstance(new, Place):
            raise self.no(f"{name} is changed in place and assigned", self._store_of(name), "R5")
        found = [] if old.has == TRUE else [Scalar(new.has, frozenset({"bool"}))]
        if new.value is None:
            return found
        if (name, "at value") not in self.kinds:
            self.kinds[name, "at value"] = new.value.kinds
            raise Again
        return [*found, new.value]

    # -- statements ----------------------------------------------------------------------------------------------------

    def block(
        self, statements: Sequence[ast.stmt], env: Env, continued: list[tuple[Expr, ast.expr | None, Env]]
    ) -> Env | None:
        """The names after some statements; None where none of the ways through them goes on."""
        current: Env | None = dict(env)
        for statement in statements:
            if current is None:
                return None
            current = self.statement(statement, current, continued)
        return current

    def statement(self, s: ast.stmt, env: Env, continued: list[tuple[Expr, ast.expr | None, Env]]) -> Env | None:
        """The names after one statement."""
        if isinstance(s, ast.Pass):
            return env
        if isinstance(s, ast.Continue):
            continued.append((self.path, self._guard(), env))
            return None
        if isinstance(s, ast.Break | ast.Return | ast.Raise):
            for name in sorted(names_loaded(s) & self.stored_names - self.targets):
                binding = env.get(name)
                if binding is None or (isinstance(binding.symbol, Missing) and name not in self.around.values):
                    raise self.no(f"{name} may have no value yet, or that of an earlier step", s, "R6",
                                  f"assign {name} before the loop")  # fmt: skip
            self.reading.leaves = disjunction(self.reading.leaves, self.path)
            return None
        if isinstance(s, ast.Assert):
            self._leave(negation(self.condition(s.test, env)))
            return env
        if isinstance(s, ast.If):
            return self._if(s, env, continued)
        if isinstance(s, ast.Assign):
            value = self.value(s.value, env)
            for target in s.targets:
                self.assign(target, value, env, s)
            return env
        if isinstance(s, ast.AnnAssign):
            if s.value is not None:
                self.assign(s.target, self.value(s.value, env), env, s)
            return env
        if isinstance(s, ast.AugAssign):
            return self._augmented(s, env)
        if isinstance(s, ast.Expr):
            return self._effect(s, env)
        if isinstance(s, ast.For | ast.While):
            return self._inner(s, env)
        raise self.no(
            _STATEMENTS.get(type(s), f"{type(s).__name__.lower()} is not taken here"), s, _KINDS.get(type(s), "R6"),
            _ADVICE.get(type(s), ""),
        )  # fmt: skip

    def _guard(self) -> ast.expr | None:
        """The way here as a condition in Python; None where it depends on the state, or there is none."""
        if any(g is None for g in self.guards):
            return None
        parts = [g for g in self.guards if g is not None]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else ast.BoolOp(ast.And(), parts)

    def _if(self, s: ast.If, env: Env, continued: list[tuple[Expr, ast.expr | None, Env]]) -> Env | None:
        condition = self.condition(s.test, env)
        node = self.inlined_node(s.test, env)
        if condition in (TRUE, FALSE):
            return self.block(s.body if condition == TRUE else s.orelse, env, continued)
        path, before = self.path, self._requirements(env)
        self.path = conjunction(path, condition)
        self.guards.append(node)
        true = self.block(s.body, env, continued)
        true_path = self.path
        self.path = conjunction(path, negation(condition))
        self.guards[-1] = None if node is None else ast.UnaryOp(ast.Not(), node)
        false = self.block(s.orelse, env, continued)
        false_path = self.path
        self.guards.pop()
        del before
        if true is None and false is None:
            return None
        if true is None:
            self.path = false_path
            return false
        if false is None:
            self.path = true_path
            return true
        left = true_path != conjunction(path, condition) or false_path != conjunction(path, negation(condition))
        self.path = disjunction(true_path, false_path) if left else path
        return self._merge(condition, node, true, false)

    def _requirements(self, env: Env) -> int:
        return len(self.reading.required)

    def _augmented(self, s: ast.AugAssign, env: Env) -> Env:
        target = s.target
        load = ast.copy_location(_as_load(target), target)
        if isinstance(target, ast.Name) and isinstance(env.get(target.id, Binding(Opaque())).symbol, Parts):
            parts = env[target.id].symbol
            assert isinstance(parts, Parts)
            if parts.form == "list":
                raise self.no(f"{target.id} grows", s, "R3", "keep a fixed number of values")
        old = env[target.id].symbol if isinstance(target, ast.Name) and target.id in env else None
        value = self.value(ast.copy_location(ast.BinOp(load, s.op, s.value), s), env)
        if isinstance(old, Parts) and old.form == "array":
            new = value.symbol
            if not isinstance(new, Parts) or (new.dtype, new.shape) != (old.dtype, old.shape):
                raise self.no("an array is changed to another type in place", s, "R10", "begin with the wider type")
        self.assign(target, value, env, s)
        return env

    def assign(self, target: ast.expr, value: Binding, env: Env, s: ast.stmt) -> None:
        """Give a name, or a place, a value."""
        for alias in _aliases(getattr(s, "value", None)):
            held = env[alias].symbol if alias in env else None
            mutable = isinstance(held, Parts) and held.form in ("list", "array")
            if mutable and (alias in self.mutated or names_in(target) & self.mutated):
                raise self.no(f"{alias} gets a second name, and is changed in place", s, "R5", "copy it")
        if isinstance(target, ast.Name):
            if target.id in self.carried and isinstance(value.symbol, Opaque):
                value = Binding(self.number(value, s), value.node)
            if isinstance(value.symbol, Optional) and value.symbol.has == TRUE and value.symbol.value is not None:
                value = Binding(value.symbol.value, value.node)
            env[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            for t, v in zip(target.elts, self.unpacked(value, len(target.elts), target, s), strict=True):
                self.assign(t, v, env, s)
        elif isinstance(target, ast.Subscript):
            self._assign_place(target, value, env, s)
        elif isinstance(target, ast.Attribute):
            raise self.no(f"{ast.unparse(target)} is assigned", target, "R1",
                          "use a local variable in the loop, and assign the attribute after it")  # fmt: skip
        else:
            raise self.no("starred targets are not taken", target, "R10")

    def unpacked(self, value: Binding, count: int, target: ast.expr, s: ast.AST) -> list[Binding]:
        """The parts of a value that is unpacked."""
        if any(isinstance(t, ast.Starred) for t in getattr(target, "elts", [])):
            raise self.no("starred targets are not taken", target, "R10")
        symbol = value.symbol
        if isinstance(symbol, Parts):
            if len(symbol.items) != count:
                raise self.no(f"{len(symbol.items)} values are unpacked into {count}", s, "R6")
            return [Binding(item, _item(value.node, k)) for k, item in _numbered(symbol.items)]
        if isinstance(symbol, View) and len(symbol.shape) > len(symbol.indices):
            size = symbol.shape[len(symbol.indices)]
            if size == count:
                self.note_shape(symbol)
                return [Binding(self.element(symbol, const(I64, k)), _item(value.node, k)) for k in range(count)]
        if value.node is not None:
            return [Binding(Opaque(), _item(value.node, k)) for k in range(count)]
        raise self.no("a value is unpacked whose parts are not known", s, "R10")

    def note(self, node: ast.expr, value: Any, how: str = "value") -> None:
        """Note a value that what is read depends on; `how`: the value, its `list`, its `members`, a `sequence`, or the
        very object (`same`)."""
        where = None if self.inlined == 0 else (self.around.source, self.around.values)
        key = f"{how} {ast.unparse(node)}" + ("" if where is None else f" in {id(where[0].function)}")
        self.reading.literal[key] = (how, node, value, where)

    def note_shape(self, view: View) -> None:
        """Note that what is read depends on the lengths of an array's rows."""
        where = self.reading.arrays[view.array]
        if where[0] == "value":
            self.note(where[1], tuple(view.shape[1:]), "shape")

    def _assign_place(self, target: ast.Subscript, value: Binding, env: Env, s: ast.stmt) -> None:
        name = purity.root(target)
        binding = env.get(name) if name else None
        if binding is not None and isinstance(binding.symbol, Parts) and binding.symbol.form != "last":
            env[name] = Binding(self._with_element(binding.symbol, target, value, env))  # type: ignore[index]
            return
        self._store(target, value, env, s)

    def _with_element(self, parts: Parts, target: ast.Subscript, value: Binding, env: Env) -> Parts:
        """A small list after an assignment to one of its elements."""
        if isinstance(target.value, ast.Subscript):
            outer = self.fixed_index(target.value.slice, parts, env, target)
            inner = parts.items[outer]
            if not isinstance(inner, Parts):
                raise self.no("an element of a number is assigned", target, "R10")
            at = self.fixed_index(target.slice, inner, env, target)
            return parts.with_item(outer, inner.with_item(at, value.symbol))
        at = self.fixed_index(target.slice, parts, env, target)
        symbol = value.symbol
        if isinstance(parts.items[at], Parts) or isinstance(symbol, Parts):
            raise self.no("a row of an accumulator is assigned as a whole", target, "R5", "assign its elements")
        if parts.form == "array":
            symbol = K.to_kind(f"np.{parts.dtype}", self.scalar(value, target), self.require, stored=True)
        return parts.with_item(at, symbol)

    def fixed_index(self, node: ast.expr, parts: Parts, env: Env, place: ast.AST) -> int:
        """The number of the element of a small list that an index names."""
        if isinstance(node, ast.Tuple):
            index = tuple(self._fixed_int(e, env, place) for e in node.elts)
            shape = parts.shape
            if len(index) != len(shape) or not all(-n <= k < n for k, n in zip(index, shape, strict=True)):
                raise self.no("an index does not fit the array", place, "R6")
            return int(np.ravel_multi_index(tuple(k % n for k, n in zip(index, shape, strict=True)), shape))
        index_ = self._fixed_int(node, env, place)
        size = len(parts.items)
        if parts.form == "array" and len(parts.shape) > 1:
            raise self.no("a row of an accumulator is taken as a whole", place, "R10", "name both indices")
        if not -size <= index_ < size:
            raise self.no("an index is out of range", place, "R6")
        return index_ % size

    def _fixed_int(self, node: ast.expr, env: Env, place: ast.AST) -> int:
        value = self.value(node, env)
        symbol = value.symbol
        if isinstance(symbol, Scalar) and isinstance(symbol.expr, Const) and symbol.expr.type.is_int:
            return int(symbol.expr.value)
        if self.dependence(node, env) == 0:
            found = self.around_value(node)
            if isinstance(found, int | np.integer):
                self.note(node, found)
                return int(found)
        raise self.no("the place in a list depends on data or state", place, "R2", "write the cases out with if")

    def _store(self, target: ast.Subscript, value: Binding, env: Env, s: ast.stmt) -> None:
        """An element of an array or list that each step assigns."""
        from rfactor.loops.places import store

        store(self, target, value, env, s)

    def _effect(self, s: ast.Expr, env: Env) -> Env:
        node = s.value
        if isinstance(node, ast.Constant):
            return env
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            from rfactor.loops.places import effect

            if effect(self, node, env):
                return env
        if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await):
            raise self.no("a value is yielded", node, "R1", "append to a list and return it")
        if isinstance(node, ast.Call):
            raise self.no(f"{ast.unparse(node.func)}() is called for its effect", node, "R1",
                          "collect what it needs, and call it after the loop")  # fmt: skip
        self.value(node, env)
        return env

    def _inner(self, s: ast.For | ast.While, env: Env) -> Env:
        """A loop inside of a step: written out where it is short, else a datum where it does not touch the state."""
        if isinstance(s, ast.For) and self.dependence(s.iter, env) == 0 and purity_known(self, s.iter, env):
            try:
                values = list(self.around_value(s.iter))
            except FoldError:
                raise
            except Exception:
                values = None
            if values is not None and len(values) <= LONGEST and not s.orelse:
                self.note(s.iter, values, "list")
                return self._written_out(s, values, env)
        if self.free(s, env) and not any(isinstance(n, ast.Return) for n in ast.walk(s)):
            return self._computed(s, env)
        raise self.no("an inner loop changes the accumulators", s, "R4",
                      "it is folded by itself where the outer loop runs as Python")  # fmt: skip

    def _written_out(self, s: ast.For, values: list[Any], env: Env) -> Env:
        if not values:
            return env
        path = self.path
        left: list[tuple[Expr, ast.expr | None, Env]] = []
        current: Env | None = env
        for value in values:
            if current is None:
                break
            self.assign(s.target, self.literal_binding(value, s), current, s)
            continued: list[tuple[Expr, ast.expr | None, Env]] = []
            body = [_breaking(statement) for statement in s.body]
            self.breaks, before = left, getattr(self, "breaks", None)
            try:
                after = self._block_with_breaks(body, current, continued, left)
            finally:
                self.breaks = before  # type: ignore[assignment]
            here = self.path
            if after is None and not continued:
                current = None
                break
            reached = [c for c, _, _ in continued]
            if after is None:
                here = continued[-1][0]
                after = continued.pop()[2]
            for condition, node, other in reversed(continued):
                after = self._merge(condition, node, other, after)
            for condition in reached:
                here = disjunction(here, condition)
            self.path = here
            current = after
        if current is None:
            if not left:
                raise self.no("an inner loop never ends", s, "R4")
            current = left.pop()[2]
        for condition, node, other in reversed(left):
            current = self._merge(condition, node, other, current)
        self.path = path
        return current

    def _block_with_breaks(
        self,
        body: Sequence[ast.stmt],
        env: Env,
        continued: list[tuple[Expr, ast.expr | None, Env]],
        left: list[tuple[Expr, ast.expr | None, Env]],
    ) -> Env | None:
        """A turn of an inner loop, whose `break` leaves that loop alone."""
        if any(isinstance(n, ast.Break) for b in body for n in ast.walk(b)):
            raise self.no("an inner loop that touches the state breaks", body[0], "R4", "write the cases out with if")
        return self.block(body, env, continued)

    def literal_binding(self, value: Any, s: ast.AST) -> Binding:
        """A value that is written out."""
        try:
            if isinstance(value, tuple | list):
                return Binding(Parts(tuple(K.literal(v) for v in value), type(value).__name__), None)
            found = K.literal(value)
        except Untyped as error:
            raise self.no(str(error), s, "R10") from None
        node = ast.Constant(value) if type(value) in (int, float, str, bool) else None
        return Binding(found, node)

    def _computed(self, s: ast.For | ast.While, env: Env) -> Env:
        """Let Python run a piece of the step that does not touch the state, before it computes data."""
        if self.used_up:
            raise self.no("an inner loop may use an iterator up", s, "R1", "make it a list before the loop")
        self.check_attributes(s, env)
        if self.path != TRUE:
            raise self.no("an inner loop runs in some steps only", s, "R4", "move it into a function of the data")
        stored = names_stored(s)
        known = [d.node for d in self.reading.data.values() if d.node is not None]
        known += [d.guard for d in self.reading.data.values() if d.guard is not None]
        used = frozenset().union(*map(names_loaded, known)) | self.targets
        kept = {
            n: b for n, b in env.items() if b.node is not None and names_loaded(b.node) & stored and n not in stored
        }
        if stored & used or kept:
            name = min(stored & used) if stored & used else min(kept)
            raise self.no(f"an inner loop changes what {name} is made of", s, "R4", "give it names of its own")
        for name in sorted(stored | names_loaded(s)):
            node = env[name].node if name in env else None
            if node is not None and not (isinstance(node, ast.Name) and node.id == name):
                self.reading.prelude.append(_statement(ast.Assign([ast.Name(name, ast.Store())], node), s))
        self.reading.prelude.append(s)
        for name in sorted(stored):
            own = f"rfactor_{name}_{len(self.reading.prelude)}"  # as a later loop may use the name again
            kept_value = ast.Assign([ast.Name(own, ast.Store())], ast.Name(name, ast.Load()))
            if name in env:
                self.reading.prelude.append(_statement(kept_value, s))
                env[name] = Binding(Opaque(), ast.Name(own, ast.Load()))
            else:
                env[name] = Binding(Missing(f"{name} may have no value"))
        return env

    # -- dependence ----------------------------------------------------------------------------------------------------

    def dependence(self, node: ast.AST, env: Env) -> int:
        """0: the same in all steps; 1: of the step alone; 2: of the state."""
        most = 0
        bound = _bound_inside(node)
        for n in ast.walk(node):
            if isinstance(n, ast.Name) and n.id not in bound:
                if n.id in env:
                    binding = env[n.id]
                    if binding.node is not None:
                        most = max(most, 0 if isinstance(binding.symbol, Fixed) else 1)
                    elif isinstance(binding.symbol, Fixed):
                        pass
                    else:
                        return 2
                elif n.id in self.mutated:
                    return 2
            elif isinstance(n, ast.NamedExpr):
                return 2
        return most

    def free(self, node: ast.AST, env: Env) -> bool:
        """Does a piece of the body leave the state alone, and everything else but its own names?"""
        own = names_stored(node)
        for n in ast.walk(node):
            if (
                isinstance(n, ast.Name)
                and n.id in env
                and env[n.id].node is None
                and not isinstance(env[n.id].symbol, Fixed)
            ):
                return False
            if isinstance(n, ast.Name) and n.id in self.mutated and n.id not in own:
                return False
            if isinstance(n, ast.Subscript | ast.Attribute) and isinstance(n.ctx, ast.Store | ast.Del):
                return False
            if isinstance(n, ast.Call):
                self.check_pure(n, env)
            if isinstance(n, ast.Yield | ast.Await | ast.Global | ast.Nonlocal | ast.Try | ast.With):
                return False
        return not any(name in self.around.values and name not in env for name in own)

    def check_pure(self, node: ast.Call, env: Env) -> None:
        """Refuse a call of which nothing is known, or that may change something."""
        for keyword in node.keywords:
            if keyword.arg in purity.WRITING:
                raise self._unknown_call(node)
        for arg in (*node.args, *(k.value for k in node.keywords)):
            self._check_passed(arg, node, env)
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in env and not isinstance(env[function.id].symbol, Fixed):
                raise self.no(f"nothing is known of what {function.id}() does", node, "R1")
            if self._is_pure_value(self.lookup(function.id, node), function, node):
                return
        elif isinstance(function, ast.Attribute):
            base = purity.root(function)
            owner: Any = None
            known = base is not None and base not in env
            if known:
                with suppress(Exception):
                    owner = self.around_value(function.value)
            if isinstance(owner, ModuleType | type):
                if self._is_pure_value(getattr(owner, function.attr, None), function, node):
                    return
            elif known and owner is not None:
                known_method = isinstance(owner, purity.BASES) and function.attr in purity.METHODS
                if known_method and not purity.writes_by_place(node, None):
                    return
            elif purity.writes_by_place(node, None):
                pass
            elif function.attr in purity.METHODS and self.known_elements:
                return
        raise self._unknown_call(node)

    def _is_pure_value(self, value: Any, function: ast.expr, node: ast.Call) -> bool:
        """Is a callable pure with these arguments? Functions that users wrote are noted: another has other effects."""
        from rfactor.loops.fold import Fold

        plain = value.python if isinstance(value, Fold) else value
        if purity.writes_by_place(node, plain):
            return False
        if not purity.is_pure_function(plain):
            return False
        if isinstance(plain, FunctionType):
            self.note(function, value, "same")
        return self.known_elements or not isinstance(plain, FunctionType | BuiltinFunctionType | type)

    def _check_passed(self, arg: ast.expr, node: ast.Call, env: Env) -> None:
        """Refuse a function that is passed on, and may change something, or an iterator, which is used up."""
        if isinstance(arg, ast.Starred):
            arg = arg.value
        base = purity.root(arg)
        if not isinstance(arg, ast.Name | ast.Attribute) or base is None or base in env or base in _bound_inside(node):
            return
        try:
            value = self.around_value(arg)
        except Exception:
            return
        if hasattr(value, "__next__"):
            raise self.no(f"{ast.unparse(arg)} is an iterator, which is used up", node, "R1", "make it a list before")
        if callable(value) and not self._is_pure_value(value, arg, ast.Call(arg, [], [])):
            owner = getattr(value, "__self__", None)
            method = getattr(value, "__name__", "") in purity.METHODS and isinstance(owner, purity.BASES)
            if not method:
                raise self._unknown_call(node)

    def _unknown_call(self, node: ast.Call) -> FoldError:
        name = ast.unparse(node.func)
        advice = "compute it before the loop, as an array with an element a step"
        if "random" in name or name.split(".")[0] in ("rng", "g", "rand"):
            advice = "draw the numbers before the loop, as an array, and use its elements"
        elif name in ("print", "input", "open"):
            advice = "collect what is to be shown, and show it after the loop"
        return self.no(f"nothing is known of what {name}() does to the next step", node, "R1", advice)

    def lookup(self, name: str, node: ast.AST) -> Any:
        """The value of a name that stays the same. Raises `FoldError` where it has none."""
        if name in self.around.values:
            return self.around.values[name]
        try:
            return self.around.source.value(name)
        except KeyError:
            raise self.no(
                f"{name} has no value before the loop", node, "R6", f"assign {name} before the loop"
            ) from None

    def _known(self, name: str) -> Any:
        """The value of a name that stays the same, if it has one."""
        try:
            return self.around.values[name] if name in self.around.values else self.around.source.value(name)
        except KeyError:
            return None

    def around_value(self, node: ast.expr) -> Any:
        """The value of an expression that is the same in all steps."""
        return self.around.source.evaluate(node, self.around.values)

    def check_attributes(self, node: ast.AST, env: Env) -> None:
        """Refuse attributes that may compute something: properties, and those of classes that make attributes up."""
        for n in ast.walk(node):
            if not isinstance(n, ast.Attribute):
                continue
            base = purity.root(n)
            held: list[Any] = []
            if base is not None and base not in env:
                with suppress(Exception):
                    held = [self.around_value(n.value)]
            if held:
                plain = isinstance(held[0], ModuleType | type) or _is_plain_attribute(type(held[0]), n.attr)
            else:
                plain = all(_is_plain_attribute(owner, n.attr) for owner in self.unknown)
            if not plain:
                raise self.no(f"nothing is known of what .{n.attr} computes", n, "R1",
                              "read it before the loop, or make it a plain attribute")  # fmt: skip

    def inlined_node(self, node: ast.expr, env: Env) -> ast.expr | None:
        """How Python computes an expression from the step's own names; None where it depends on the state."""
        if self.inlined or self.dependence(node, env) == 2:
            return None  # the names of a function that is written in are not those of the step
        if self.used_up and not isinstance(node, ast.Name | ast.Constant):
            return None  # what Python computes ahead might use an iterator up, or make a key
        try:
            self.check_attributes(node, env)
            for n in ast.walk(node):
                if isinstance(n, ast.Call):
                    self.check_pure(n, env)
                elif isinstance(n, ast.Name) and n.id not in env and hasattr(self._known(n.id), "__next__"):
                    return None  # an iterator, which is used up
        except FoldError:
            return None
        bound = _bound_inside(node)
        captured = [env[n].node for n in names_loaded(node) if n in env and n not in bound]
        if any(n is not None and names_loaded(n) & bound for n in captured):
            return None  # a comprehension's own name would be taken for that of the step

        class Inline(ast.NodeTransformer):
            def visit_Name(self, n: ast.Name) -> ast.expr:
                if isinstance(n.ctx, ast.Load) and n.id in env and n.id not in bound:
                    known = env[n.id].node
                    return n if known is None else known
                return n

        made = Inline().visit(_copied(node))
        assert isinstance(made, ast.expr)
        return made

    # -- values --------------------------------------------------------------------------------------------------------

    def scalar(self, value: Binding, node: ast.AST) -> Scalar:
        """A value as a number. Raises `FoldError`."""
        symbol = value.symbol
        if isinstance(symbol, Scalar):
            return symbol
        if isinstance(symbol, Optional):
            if symbol.value is None:
                raise self.no("None is computed with", node, "R6", "test for None first")
            self.require(symbol.has, "a value that is None")
            return symbol.value
        if isinstance(symbol, View):
            if len(symbol.indices) == len(symbol.shape) and symbol.kind:
                return self.read_view(symbol)
            if value.node is None:
                raise self.no("a row is taken for a number", node, "R10")
        if isinstance(symbol, Missing):
            raise self.no(symbol.why, node, "R10")
        if isinstance(symbol, Truth):
            raise self.no("a value of and/or is of several types", node, "R10", "give it one type, as with bool(...)")
        if value.node is not None and not isinstance(symbol, Parts | Complex):
            return self.opaque(value.node, node)
        raise self.no("a value is taken for a number that is none", node, "R10")

    def number(self, value: Binding, place: ast.AST) -> Scalar | Complex:
        """A value as a number, complex ones among them."""
        from rfactor.loops.expressions import COMPLEX, number_of

        if isinstance(value.symbol, View):
            return number_of(self, value, place)
        if isinstance(value.symbol, Opaque) and value.node is not None and self.evaluate is not None:
            guard = self._guard()
            text = ast.unparse(value.node) + ("" if guard is None else f" if {ast.unparse(guard)}")
            if text not in self.known_data:
                self.known_data[text] = self.evaluate(value.node, guard, tuple(self.reading.prelude))
            found = self.known_data[text][0]
            if found is not None and found.kind.endswith(COMPLEX):
                real, imag = (self.opaque(ast.Attribute(value.node, p, ast.Load()), place) for p in ("real", "imag"))
                plain = frozenset({"float"})
                return Complex(Scalar(real.expr, plain), Scalar(imag.expr, plain), found.kind)
        return self.scalar(value, place)

    def opaque(self, node: ast.expr, place: ast.AST) -> Scalar:
        """A datum that Python computes."""
        guard = self._guard()
        text = ast.unparse(node) + ("" if guard is None else f" if {ast.unparse(guard)}")
        name = f"p{abs(hash(text)) % 10**12}"
        for datum in self.reading.data.values():
            if datum.node is not None and datum.var.name == name:
                return Scalar(datum.var, frozenset({datum.kind}))
        if self.evaluate is None:
            raise self.no(f"the type of {ast.unparse(node)} is not known without data", place, "R10")
        if text not in self.known_data:
            self.known_data[text] = self.evaluate(node, guard, tuple(self.reading.prelude))
        found_typed, _ = self.known_data[text]
        if found_typed is None:
            raise self.no(f"{ast.unparse(node)} is no number, or of several types", place, "R10",
                          "give it one type in all steps")  # fmt: skip
        var = Var(K.type_of({found_typed.kind}) if found_typed.kind != "int" else I64, name)
        self.reading.data[name] = Datum(var, node=node, guard=guard, kind=found_typed.kind)
        return Scalar(var, frozenset({found_typed.kind}))

    def read_view(self, view: View) -> Scalar:
        """The number at a place of an array."""
        key = f"{view.array}[{','.join(map(str, view.indices))}].{'.'.join(view.fields)}"
        for datum in self.reading.data.values():
            if datum.view == view:
                return self._as_kind(datum.var, view.kind)
        dtype = np.dtype(view.dtype)
        for name in view.fields:
            dtype = np.dtype(np.float64) if dtype.kind == "c" else dtype[name]
        try:
            type_ = K.type_of({K.kind_of_dtype(dtype)})
        except Untyped as error:
            raise self.no(str(error), None, "R10") from None
        var = Var(type_, f"s{len(self.reading.data)}")
        del key
        self.reading.data[var.name] = Datum(var, view=view, kind=view.kind, word=self._word(view))
        return self._as_kind(var, view.kind)

    def _word(self, view: View) -> str:
        """The name of an element in the loop's text, where it has one."""
        for name, binding in self.header_env.items():
            if isinstance(binding.symbol, View) and binding.symbol == view:
                return name
        return view.array if view.array.isidentifier() and not view.array.startswith("walk_") else ""

    def _as_kind(self, var: Var, kind: str) -> Scalar:
        return Scalar(cast(K.type_of({kind}), var), frozenset({kind}))

    def element(self, view: View, index: Expr) -> View:
        """The element, or row, of an array at one more index."""
        return View(view.array, (*view.indices, index), view.shape, view.dtype, view.kind, view.fields)

    def condition(self, node: ast.expr, env: Env) -> Expr:
        """The truth of an expression."""
        return self.truth(self.value(node, env), node)

    def truth(self, value: Binding, node: ast.AST) -> Expr:
        """Python's truth of a value."""
        symbol = value.symbol
        if isinstance(symbol, Truth):
            return symbol.expr
        if isinstance(symbol, Optional):
            return symbol.has if symbol.value is None else conjunction(symbol.has, K.truth(symbol.value))
        if isinstance(symbol, Parts):
            if symbol.form == "array":
                raise self.no("the truth of an array", node, "R6")
            return TRUE if symbol.items else FALSE
        if isinstance(symbol, Complex):
            return disjunction(K.truth(symbol.real), K.truth(symbol.imag))
        if isinstance(symbol, Opaque | Fixed) or (isinstance(symbol, View) and len(symbol.indices) < len(symbol.shape)):
            if value.node is None:
                raise self.no("the truth of a value that is no number", node, "R10")
            made = ast.Call(ast.Name("bool", ast.Load()), [value.node], [])
            return self.opaque(made, node).expr
        return K.truth(self.scalar(value, node))

    def value(self, node: ast.expr, env: Env) -> Binding:
        """What an expression means."""
        from rfactor.loops.expressions import value_of

        try:
            return value_of(self, node, env)
        except (Untyped, TypeMismatch) as error:
            raise self.no(str(error), node, "R10", _TYPES_ADVICE) from None


def _always(condition: Expr) -> bool:
    """Is a condition one or its opposite?"""
    return isinstance(condition, Op) and condition.op == "or" and negation(condition.args[0]) == condition.args[1]


def purity_known(body: Body, node: ast.expr, env: Env) -> bool:
    """Are all calls in an expression of known functions?"""
    try:
        for n in ast.walk(node):
            if isinstance(n, ast.Call):
                body.check_pure(n, env)
    except FoldError:
        return False
    return True


_TYPES_ADVICE = "begin with a value of the type that the loop gives it, as np.int64(0) or 0.0"
_STATEMENTS: dict[type, str] = {
    ast.Try: "exceptions are used as control flow", ast.With: "a context is entered in every step",
    ast.Global: "a global variable is written", ast.Nonlocal: "a variable of an outer function is written",
    ast.Delete: "something is deleted", ast.FunctionDef: "a function is defined in every step",
    ast.ClassDef: "a class is defined in every step", ast.Import: "something is imported in every step",
    ast.Match: "match statements are not taken",
}  # fmt: skip
_KINDS: dict[type, str] = {ast.Try: "R6", ast.With: "R1", ast.Global: "R1", ast.Nonlocal: "R1", ast.Delete: "R3"}
_ADVICE: dict[type, str] = {
    ast.Try: "test for the case with if", ast.With: "enter it before the loop",
    ast.Global: "use a local variable, and assign the global one after the loop",
    ast.FunctionDef: "define it before the loop", ast.Match: "write it with if and elif",
}  # fmt: skip


def _is_plain_attribute(owner: type, name: str) -> bool:
    """Is an attribute just held: by the object, a slot or a named tuple, or by a class that NumPy or Python brings?"""
    if issubclass(owner, (*purity.BASES, FunctionType)):
        return True
    if owner is object or owner.__getattribute__ is not object.__getattribute__ or hasattr(owner, "__getattr__"):
        return False
    held = inspect.getattr_static(owner, name, None)
    return (
        held is None
        or not hasattr(type(held), "__get__")
        or inspect.ismemberdescriptor(held)
        or isinstance(held, FunctionType)
    )


def _aliases(node: ast.AST | None) -> list[str]:
    """The names of which an expression gives the very objects."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Tuple | ast.List):
        return [n for e in node.elts for n in _aliases(e)]
    if isinstance(node, ast.IfExp):
        return _aliases(node.body) + _aliases(node.orelse)
    return _aliases(node.value) if isinstance(node, ast.NamedExpr) else []


def names_in(node: ast.AST) -> set[str]:
    """All names in a piece of syntax."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _article(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _numbered(items: Sequence[Any]) -> list[tuple[int, Any]]:
    return list(zip(range(len(items)), items, strict=True))


def _item(node: ast.expr | None, k: int) -> ast.expr | None:
    if node is None:
        return None
    if isinstance(node, ast.Tuple | ast.List):
        return node.elts[k]
    return ast.Subscript(node, ast.Constant(k), ast.Load())


def _as_load(node: ast.expr) -> ast.expr:
    made = _copied(node)
    made.ctx = ast.Load()  # type: ignore[attr-defined]
    return made


def _copied(node: ast.expr) -> ast.expr:
    import copy

    return copy.deepcopy(node)


def _statement(node: ast.stmt, at: ast.AST) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(node, at))


def _breaking(statement: ast.stmt) -> ast.stmt:
    return statement


def _bound_inside(node: ast.AST) -> set[str]:
    """The names that comprehensions and lambdas inside of an expression bind."""
    found: set[str] = set()
    for n in ast.walk(node):
        if isinstance(n, ast.comprehension):
            found |= {m.id for m in ast.walk(n.target) if isinstance(m, ast.Name)}
        elif isinstance(n, ast.Lambda):
            found |= {a.arg for a in n.args.args}
    return found


def _globals(source: Source) -> dict[str, Any]:
    known = dict(source.globals)
    for name, cell in source.closure.items():
        try:
            known[name] = cell.cell_contents
        except ValueError:
            continue
    return known
