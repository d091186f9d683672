"""Random updates from random starts: no run leaves its invariants, and what they leave of the update runs alike.

Floats are those of the machine, infinities and rounding included; runs that meet a NaN are left out.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from rfactor.errors import ParseError
from rfactor.ir.evaluate import as_array, evaluate_all
from rfactor.ir.expr import Expr, Var, apply, const, walk
from rfactor.ir.parser import parse_update
from rfactor.ir.types import BOOL, F32, I8, I32, U8, Type
from rfactor.ir.update import Update
from rfactor.matcher.invariants.infer import infer
from rfactor.matcher.invariants.runs import Start
from rfactor.matcher.invariants.simplify import simplify_under

RUNS, STEPS, UPDATES = 300, 10, 60
Draw = random.Random


def number(r: Draw, depth: int, count: int, real: bool) -> str:
    if depth == 0 or r.random() < 0.25:
        literal = r.choice(["0", "1", "3"]) + (".0" if real else "")
        return r.choice([*[f"x{r.randrange(count)}"] * 3, "a", "a", "b", literal])
    operands = number(r, depth - 1, count, real), number(r, depth - 1, count, real)
    return r.choice(
        [
            f"select({condition(r, depth - 1, count, real)}, {operands[0]}, {operands[1]})",
            f"{r.choice(['min', 'max'])}({operands[0]}, {operands[1]})",
            f"({operands[0]} {r.choice('++-*')} {operands[1]})",
        ]
    )


def condition(r: Draw, depth: int, count: int, real: bool) -> str:
    if r.random() < 0.2:
        return "q"
    if r.random() < 0.2 and depth:
        return f"({condition(r, depth - 1, count, real)} {r.choice(['and', 'or'])} q)"
    return f"{number(r, depth, count, real)} {r.choice(['<', '<=', '==', '>'])} {number(r, depth, count, real)}"


def drawn_update(r: Draw) -> Update | None:
    """An update of two or three accumulators, the last of which may be a flag; None where a name has two types."""
    count, type_, flagged = r.choice([2, 3]), r.choice([I8, U8, I32, F32, F32]), r.random() < 0.4
    real, types = type_.is_float, {"q": BOOL}
    components = [number(r, r.choice([1, 2, 3]), count - flagged, real) for _ in range(count - flagged)]
    if flagged:
        flag = f"x{count - 1}"
        types[flag] = BOOL
        components = [c if r.random() < 0.5 else f"select({flag}, {c}, {r.choice(['a', c])})" for c in components]
        components.append(r.choice(["True", f"{flag} or {condition(r, 1, count - 1, real)}", f"{flag} and q"]))
    try:
        return parse_update(", ".join(components), type_, types)
    except ParseError:
        return None


def drawn_start(r: Draw, update: Update) -> Start:
    ends = [(float("-inf"), float("inf")) if t.is_float else (t.min, t.max) for t in update.types]
    return tuple(
        None if r.random() < 0.2 else const(t, r.random() < 0.3 if t.is_bool else r.choice([0, 0, 1, 5, *end]))
        for t, end in zip(update.types, ends, strict=True)
    )


def column(type_: Type, random_: np.random.Generator) -> Any:
    if type_.is_bool:
        return random_.integers(0, 2, RUNS).astype(bool)
    small = random_.integers(-4, 6, RUNS)
    rare = random_.random(RUNS) < 0.1
    if type_.is_float:
        values = small * random_.choice([1, 0.1, 1e8, 3e-5])
        return np.where(rare, random_.choice([np.inf, -np.inf, 3e38, 1e-30], RUNS), values).astype(np.float32)
    far = random_.integers(int(type_.min), int(type_.max) + 1, RUNS)
    return as_array(type_, [type_.wrap(int(v)) for v in np.where(rare, far, small)])


def after(update: Update, env: dict[str, Any]) -> list[Any]:
    return [np.broadcast_to(values, RUNS) for values in evaluate_all(update.components, env)]


def fault(update: Update, simple: Update, start: Start, invariants: tuple[Expr, ...], seed: int) -> str | None:
    """What goes wrong in runs of both from the start, if anything does."""
    random_ = np.random.default_rng(seed)
    first: list[Any] = [
        column(t, random_) if v is None else np.broadcast_to(next(evaluate_all((v,), {})), RUNS)
        for t, v in zip(update.types, start, strict=True)
    ]
    states: tuple[list[Any], list[Any]]
    states, numbers = (first, first), np.ones(RUNS, bool)
    for _ in range(STEPS):
        data = {var.name: column(var.type, random_) for var in update.data}
        envs = [data | {f"x{i}": values for i, values in enumerate(state)} for state in states]
        for e, held in zip(invariants, evaluate_all(invariants, envs[0]), strict=True):
            if (~held & numbers).any():
                return f"{e} does not hold"
        for one, env in zip((update, simple), envs, strict=True):
            nodes = [node for component in one.components for node in walk(component) if node.type.is_float]
            for values in evaluate_all(nodes, env):
                numbers = numbers & ~np.isnan(values)
        states = after(update, envs[0]), after(simple, envs[1])
        if any(((a != b) & numbers).any() for a, b in zip(*states, strict=True)):
            return "the runs differ"
    return None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_no_run_leaves_its_invariants_and_both_updates_run_alike(seed):
    r, simplified = Draw(seed), 0
    for _ in range(UPDATES):
        update = drawn_update(r)
        if update is None:
            continue
        start = drawn_start(r, update)
        invariants = infer(update, start)
        simple = simplify_under(update, invariants)
        simplified += simple != update
        assert fault(update, simple, start, invariants, seed) is None, (update, start, invariants, simple)
    assert simplified > UPDATES // 10


def test_what_is_false_is_seen():
    update = parse_update("max(x0, a), x1 + select(a > x0, 1, 0)")
    start = (const(I32, 0), const(I32, 0))
    x0, x1 = Var(I32, "x0"), Var(I32, "x1")
    other = parse_update("max(x0, a), x1 + 1")
    assert fault(update, update, start, (apply("<=", const(I32, 0), x0),), 1) is None
    assert fault(update, update, start, (apply("<=", x0, x1),), 1) == f"{apply('<=', x0, x1)} does not hold"
    assert fault(update, other, start, (), 1) == "the runs differ"
