"""An independent judge of answers: reads the printed object only, and tries every claim in it on values.

Nothing of the prover or the matcher is used: expressions are parsed back and evaluated by the reference evaluator.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Const, Expr, variables, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import BOOL, Type, parse_type
from rfactor.ir.unknown import parse_signature
from rfactor.ir.update import Update
from rfactor.matcher.question import read_question

Row = list[Any]


class Wrong(AssertionError):
    """A claim of an answer is false."""


class Judge:
    """Checks one answer (the object of `check --json`) on `count` random points."""

    def __init__(self, answer: Mapping[str, Any], const: Sequence[str] = (), count: int = 200, seed: int = 0) -> None:
        self.answer, self.count = answer, count
        self.random = np.random.default_rng(seed)
        types = {name: parse_type(t) for name, t in answer["types"].items()}
        self.meaning = Meaning(answer["semantics"])
        self.functions = {name: parse_signature(text) for name, text in answer.get("functions", {}).items()}
        asked, default, state = answer["update"], types["x0"], answer.get("state", ())
        self.update: Update = read_question(asked, default, types, const, self.meaning, self.functions, state).update
        nodes = {node for component in self.update.components for node in walk(component)}
        self.literals = sorted({int(n.value) for n in nodes if isinstance(n, Const) and n.type.is_int})
        own = {x.name for x in self.update.accumulators}
        self.constants = {n: t for n, t in types.items() if n in self.update.constants}
        self.outside = {n: t for n, t in types.items() if n not in own}
        self.assumes = [parse_expr(t, self.outside, BOOL, self.functions) for t in answer["assumes"]]

    def check(self) -> None:
        """Raises `Wrong` at the first false claim."""
        verdict = self.answer["verdict"]
        if verdict == "associative":
            self.plain()
        elif verdict == "lifted":
            self.lifted()
        claims = {p["claim"] for p in self.answer["proofs"]}
        needed: set[str] = set()
        if verdict == "associative":
            needed = {"step", "associative"}
            kind = self.answer["identity_kind"]
            needed |= {"left_identity"} if kind in ("left", "two-sided") else set()
            needed |= {"right_identity"} if kind == "two-sided" else set()
        elif verdict == "lifted":
            needed = {"step", "action", "left_identity", "right_identity"}
        if verdict in ("associative", "lifted") and self.answer["commutative"] is not None:
            needed.add("commutative" if self.answer["commutative"] else "not_commutative")
        if not needed <= claims:
            raise Wrong(f"no proof of {needed - claims}")

    # Values.

    def values(self, type_: Type) -> Row:
        """Small values with ties, ends of the type, literals of the update, values of random size."""
        if type_.is_bool:
            return [bool(b) for b in self.random.integers(0, 2, self.count)]
        if type_.is_float:
            return [float(v) for v in self.random.integers(-16, 17, self.count) / 4.0]
        low, high = int(type_.min), int(type_.max)
        if self.meaning is Meaning.MATH:
            low, high = (0 if type_.code == "uint" else -500), 500
        row = []
        for _ in range(self.count):
            how = self.random.integers(0, 4)
            if how == 0:
                row.append(int(self.random.integers(max(low, -2), 4)))
            elif how == 1:
                literals = [value for value in self.literals if low <= value <= high]
                ends = (low, high, low + 1, high - 1, high // 2 + 1, max(low, -1), *literals, *literals)
                row.append(ends[int(self.random.integers(0, len(ends)))])
            else:
                bits = int(self.random.integers(1, high.bit_length() + 1))
                value = int(self.random.integers(0, 1 << min(bits, 62)))
                value = min(value, high)
                row.append(-value if low < 0 and self.random.integers(0, 2) and -value >= low else value)
        return row

    def boxed(self, type_: Type, row: Row) -> Any:
        if type_.is_bool:
            return np.array(row, dtype=bool)
        if type_.is_float:
            return np.array(row, dtype=np.float64)
        if self.meaning is Meaning.MATH or any(isinstance(v, float) for v in row):
            array = np.empty(len(row), dtype=object)
            array[:] = row
            return array
        return np.array(row, dtype=object).astype(f"{type_.code[0]}{type_.bits // 8}")

    def draw(self, types: Mapping[str, Type]) -> dict[str, Any]:
        return {name: self.boxed(t, self.values(t)) for name, t in types.items()}

    def steps(self, constants: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Data of three iterations, with ties between them."""
        types = {n: t for n, t in self.outside.items() if n not in self.constants}
        drawn = [self.draw(types) for _ in range(3)]
        for later, earlier in ((1, 0), (2, 1)):
            for name in types:
                tied = self.random.integers(0, 3, self.count) == 0
                drawn[later][name] = np.where(tied, drawn[earlier][name], drawn[later][name])
        return [step | dict(constants) for step in drawn]

    def run(self, exprs: Sequence[Expr], env: Mapping[str, Any]) -> list[Any]:
        return [np.broadcast_to(evaluate(e, env, self.meaning), (self.count,)) for e in exprs]

    def same(self, left: Sequence[Any], right: Sequence[Any], what: str, where: Any = None, env: Any = None) -> None:
        for i, (a, b) in zip(range(len(left)), zip(left, right, strict=True), strict=True):
            if a.dtype.kind == "f" or b.dtype.kind == "f":
                x, y = a.astype(float), b.astype(float)
                with np.errstate(all="ignore"):
                    # A serial run that divides by zero has no value; nothing is claimed of it.
                    nothing = np.isnan(x) if what in ("step", "associative", "action") else np.isnan(x) & np.isnan(y)
                    bad = ~((x == y) | (np.abs(x - y) <= 1e-6 * (1 + np.abs(x) + np.abs(y))) | nothing)
            else:
                bad = np.asarray(a != b).astype(bool)
            if where is not None:
                bad = bad & where
            if bad.any():
                row = int(np.argmax(bad))
                at = {n: v[row] for n, v in (env or {}).items()}
                raise Wrong(f"{what}, component {i}: {a[row]} against {b[row]} at {at}")

    # Plain answers.

    def named(self, letter: str, state: Sequence[Any]) -> dict[str, Any]:
        return {f"{letter}{i}": v for i, v in zip(range(len(state)), state, strict=True)}

    def parse(self, texts: Sequence[str], names: Mapping[str, Type], types: Sequence[Type]) -> list[Expr]:
        result = []
        for text, type_ in zip(texts, types, strict=True):
            expr = parse_expr(text, names, type_, self.functions)
            if expr.type != type_:
                raise Wrong(f"{text} has type {expr.type}, not {type_}")
            result.append(expr)
        return result

    def identity(self, texts: Sequence[str], types: Sequence[Type], env: Mapping[str, Any]) -> list[Any]:
        values = []
        for text, type_ in zip(texts, types, strict=True):
            if text in ("inf", "-inf"):
                if type_.is_int and self.meaning is not Meaning.MATH:
                    raise Wrong(f"{text} is no {type_}")
                row = [float(text)] * self.count
                values.append(self.boxed(type_, row) if type_.is_float else np.array(row, dtype=object))
            else:
                values += self.run(self.parse([text], self.constants, [type_]), env)
        return values

    def allowed(self, env: Mapping[str, Any], suffixes: Sequence[str] = ("",)) -> Any:
        ok = np.ones(self.count, dtype=bool)
        for suffix in suffixes:
            for claim in self.assumes:
                own = {n: env[n + suffix] if n not in self.constants else env[n] for n in self.outside}
                ok = ok & evaluate(claim, own, self.meaning).astype(bool)
        return ok

    def plain(self) -> None:
        types = self.update.types
        pair = {f"{letter}{i}": t for letter in "xy" for i, t in zip(range(len(types)), types, strict=True)}
        operator = self.parse(self.answer["operator"], pair | self.constants, types)
        data = self.parse(self.answer["data"], self.outside, types)
        state = {x.name: x.type for x in self.update.accumulators}
        for expr in operator:
            loose = {v.name for v in variables(expr)} - set(pair) - set(self.constants)
            if loose:
                raise Wrong(f"the operator speaks of {loose}")
        constants = self.draw(self.constants)
        steps = self.steps(constants)
        ok = np.ones(self.count, dtype=bool)
        for step in steps:
            ok = ok & self.allowed(step)
        x = list(self.draw(state).values())

        def op(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
            return self.run(operator, self.named("x", a) | self.named("y", b) | constants)

        def f(a: Sequence[Any], d: Mapping[str, Any]) -> list[Any]:
            return self.run(self.update.components, dict(d) | self.named("x", a))

        g = [self.run(data, step) for step in steps]
        env = steps[0] | self.named("x", x)
        self.same(f(x, steps[0]), op(x, g[0]), "step", ok, env)
        kind, claimed = self.answer["identity_kind"], self.answer["invariant"]
        invariant = [
            parse_expr(t, {n: t2 for n, t2 in pair.items() if n[0] == "y"} | self.constants, BOOL) for t in claimed
        ]

        def inside(state_: Sequence[Any]) -> Any:
            good = np.ones(self.count, dtype=bool)
            for condition in invariant:
                good = good & evaluate(condition, self.named("y", state_) | constants, self.meaning).astype(bool)
            return good

        reached = [g[0], op(g[0], g[1]), op(op(g[0], g[1]), g[2])]
        later = [g[1], g[2], op(g[1], g[2])]
        for state_ in reached:
            if not inside(state_)[ok].all():
                raise Wrong(f"the invariant {claimed} does not hold after a run")
        free = [list(self.draw(state).values()) for _ in range(2)]
        for y, z in [*itertools.product(reached, later), (free[0], free[1]), (free[0], g[2]), (g[0], free[1])]:
            where = ok & inside(y) & inside(z)
            self.same(
                op(op(x, y), z),
                op(x, op(y, z)),
                "associative",
                where,
                self.named("x", x) | self.named("y", y) | self.named("z", z),
            )
        if kind in ("left", "two-sided"):
            e = self.identity(self.answer["identity"], types, constants)
            if not any(
                t.is_int and text in ("inf", "-inf") for t, text in zip(types, self.answer["identity"], strict=True)
            ):
                self.same(f(e, steps[0]), g[0], "data are the update at the identity", ok, env)
            for y in [*reached, free[0]]:
                self.same(op(e, y), y, "left identity", ok & inside(y), self.named("y", y))
            if kind == "two-sided":
                self.same(op(x, e), x, "right identity", ok, self.named("x", x))
                self.same(op(e, e), e, "identity twice")
        elif self.answer["identity"] is not None:
            raise Wrong("an identity without a side")
        if self.answer["commutative"]:
            for y, z in itertools.product(reached, later):
                self.same(op(y, z), op(z, y), "commutative", ok)
        if self.answer["commutative"] is False:
            self.differ([(op(y, z), op(z, y)) for y, z in itertools.product(reached, later)])

    def differ(self, pairs: Sequence[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        for left, right in pairs:
            if any(np.asarray(a != b).astype(bool).any() for a, b in zip(left, right, strict=True)):
                return
        raise Wrong("not commutative is claimed, and nothing shows it")

    # Liftings.

    def lifted(self) -> None:
        lift = self.answer["lift"]
        if any(self.answer[key] is not None for key in ("operator", "identity", "data")):
            raise Wrong("a lifted answer has no plain operator")
        types = [parse_type(t) for t in lift["types"]]
        pair = {f"{letter}{i}": t for letter in "xy" for i, t in zip(range(len(types)), types, strict=True)}
        state = {x.name: x.type for x in self.update.accumulators}
        right = {f"y{i}": t for i, t in zip(range(len(types)), types, strict=True)}
        operator = self.parse(lift["operator"], pair | self.constants, types)
        data = self.parse(lift["data"], self.outside, types)
        apply = self.parse(lift["apply"], state | right | self.constants, self.update.types)
        constants = self.draw(self.constants)
        steps = self.steps(constants)
        ok = np.ones(self.count, dtype=bool)
        for step in steps:
            ok = ok & self.allowed(step)
        x = list(self.draw(state).values())
        invariant = [parse_expr(t, right | self.constants, BOOL) for t in self.answer["invariant"]]

        def op(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
            return self.run(operator, self.named("x", a) | self.named("y", b) | constants)

        def act(a: Sequence[Any], s: Sequence[Any]) -> list[Any]:
            return self.run(apply, self.named("x", a) | self.named("y", s) | constants)

        def inside(s: Sequence[Any]) -> Any:
            good = np.ones(self.count, dtype=bool)
            for condition in invariant:
                good = good & evaluate(condition, self.named("y", s) | constants, self.meaning).astype(bool)
            return good

        g = [self.run(data, step) for step in steps]
        self.same(
            self.run(self.update.components, steps[0] | self.named("x", x)),
            act(x, g[0]),
            "step",
            ok,
            self.named("x", x) | steps[0],
        )
        e = self.identity(lift["identity"], types, constants)
        self.same(act(x, e), x, "apply at the identity")
        reached = [g[0], op(g[0], g[1])]
        later = [g[2], op(g[1], g[2])]
        free = [list(self.draw(right).values()) for _ in range(2)]
        for s, t in [*itertools.product(reached, later), (free[0], free[1]), (e, g[0]), (g[0], e)]:
            where = ok & inside(s) & inside(t)
            self.same(
                act(act(x, s), t),
                act(x, op(s, t)),
                "action",
                where,
                self.named("x", x) | self.named("y", s) | self.named("z", t),
            )
        for s in [*reached, free[0]]:
            self.same(op(e, s), s, "left identity", ok & inside(s))
        for s in reached:
            if not inside(s)[ok].all():
                raise Wrong("the invariant does not hold after a run")
        if self.answer["commutative"]:
            for s, t in itertools.product(reached, later):
                self.same(op(s, t), op(t, s), "commutative", ok)
        if self.answer["commutative"] is False:
            self.differ([(op(s, t), op(t, s)) for s, t in itertools.product(reached, later)])
