"""Runs put together in any way, with units between, end where the serial run does: what a lifting is for.

Read from the printed answer alone, and tried at 8 bits on updates of the classes that read how a run began.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.cli.check import batch_line
from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import BOOL, Type, parse_type

Row = list[Any]
_WIDTH = 48
_CONDITION = st.sampled_from(["c", "not c", "a > 0", "a == 2", "c and a < 3"])
_LITERAL = st.sampled_from(["0", "1", "2", "3", "5"])
_RELATION = st.sampled_from(["==", "==", "!=", "<", ">", "<=", ">="])
_GOING = st.sampled_from(["x0 + 1", "x0 + a", "max(x0, a)", "x0 - 1", "x0", "x0*2 + a", "x0 ^ a"])
_ADDED = st.sampled_from(["1", "a", "x0", "x0*a", "2"])
_TEST = st.builds(lambda relation, literal: f"x0 {relation} {literal}", _RELATION, _LITERAL)
_READER = st.sampled_from(
    ["x1 + select({t}, {g}, 0)", "select({t}, max(x1, {g}), x1)", "select({t}, {g}, x1)", "select({t}, x1*3 + {g}, x1)"]
)


def _read(reader: str, test: str, added: str) -> str:
    return reader.replace("{t}", test).replace("{g}", added)


_RESETS = st.builds(
    lambda c, g, reader, test, both, added: (
        f"select({c}, 0, {g}), {_read(reader, f'{c} and {test}' if both else f'not ({c}) and {test}', added)}"
    ),
    _CONDITION, _GOING, _READER, _TEST, st.booleans(), _ADDED,
)  # fmt: skip
_BRANCH = st.one_of(_LITERAL, st.sampled_from(["x0", "1 - x0"]))
_AUTOMATA = st.builds(
    lambda test, c, one, two, three, reader, look, added: (
        f"select({test}, {one}, select({c}, {two}, {three})), {_read(reader, look, added)}"
    ),
    _TEST, _CONDITION, _BRANCH, _BRANCH, _BRANCH, _READER, _TEST, _ADDED,
)  # fmt: skip
_CLOCKS = st.builds(
    lambda relation, last, carry, sign: f"select(x0 {relation} {last}, 0, x0 + 1), x1 {sign} select(x0 {carry}, 1, 0)",
    st.sampled_from(["==", ">="]), st.sampled_from(["1", "4", "9"]), st.sampled_from(["== 9", ">= 4", "== 4", "== 1"]),
    st.sampled_from("+-"),
)  # fmt: skip
_COUNTS = st.builds(
    lambda step, look, reader, added: f"x0 {step}, {_read(reader, look, added)}",
    st.sampled_from(["+ 1", "- 1", "+ a"]),
    st.one_of(_TEST, st.sampled_from(["x0 % 4 == 3", "(x0 & 1) == 0", "(x0 + 1) % 3 == 0"])), _READER, _ADDED,
)  # fmt: skip


class _Run:
    """Expressions of an answer, evaluated on columns of values."""

    def __init__(self, answer: Mapping[str, Any], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        types = {name: parse_type(text) for name, text in answer["types"].items()}
        self.update = parse_update(answer["update"], types["x0"], types)
        lift = answer["lift"]
        wide = [parse_type(text) for text in lift["types"]]
        self.state = {x.name: x.type for x in self.update.accumulators}
        self.outside = {name: t for name, t in types.items() if name not in self.state}
        right = {f"y{i}": t for i, t in zip(range(len(wide)), wide, strict=True)}
        left = {f"x{i}": t for i, t in zip(range(len(wide)), wide, strict=True)}
        self.data = self.parsed(lift["data"], self.outside, wide)
        self.operator = self.parsed(lift["operator"], left | right, wide)
        self.apply = self.parsed(lift["apply"], self.state | right, self.update.types)
        self.unit = self.on(self.parsed(lift["identity"], {}, wide), {})
        self.assumes = [parse_expr(text, self.outside, BOOL) for text in answer["assumes"]]

    def parsed(self, texts: Sequence[str], names: Mapping[str, Type], types: Sequence[Type]) -> list[Expr]:
        return [parse_expr(text, names, type_) for text, type_ in zip(texts, types, strict=True)]

    def on(self, exprs: Sequence[Expr], env: Mapping[str, Any]) -> Row:
        return [np.broadcast_to(evaluate(e, env), (_WIDTH,)) for e in exprs]

    def column(self, type_: Type) -> Any:
        if type_.is_bool:
            return self.random.random(_WIDTH) < self.random.random()
        anything = self.random.integers(int(type_.min), int(type_.max) + 1, _WIDTH)
        small = self.random.integers(0, 6, _WIDTH)
        return np.where(self.random.random(_WIDTH) < 0.6, small, anything).astype(f"{type_.code[0]}{type_.bits // 8}")

    def drawn(self, types: Mapping[str, Type]) -> dict[str, Any]:
        return {name: self.column(type_) for name, type_ in types.items()}

    def joined(self, parts: list[Row]) -> Row:
        """The parts put together, two neighbours at a time, in random order."""
        parts = list(parts)
        while len(parts) > 1:
            at = int(self.random.integers(0, len(parts) - 1))
            parts[at : at + 2] = [self.on(self.operator, _named("x", parts[at]) | _named("y", parts[at + 1]))]
        return parts[0]

    def check(self, length: int) -> None:
        start = list(self.drawn(self.state).values())
        steps = [self.drawn(self.outside) for _ in range(length)]
        allowed = np.ones(_WIDTH, dtype=bool)
        serial = start
        for step in steps:
            for claim in self.assumes:
                allowed = allowed & evaluate(claim, step).astype(bool)
            serial = self.on(self.update.components, step | _named("x", serial))
        parts = [self.on(self.data, step) for step in steps]
        for _ in range(2):
            parts.insert(int(self.random.integers(0, len(parts) + 1)), self.unit)
        ended = self.on(self.apply, _named("x", start) | _named("y", self.joined(parts)))
        for one, other in zip(serial, ended, strict=True):
            assert not ((one != other) & allowed).any(), (self.update, start, steps)


def _named(letter: str, state: Row) -> dict[str, Any]:
    return {f"{letter}{i}": value for i, value in zip(range(len(state)), state, strict=True)}


def _answer(text: str, type_: str, seconds: float = 1.0) -> dict[str, Any]:
    types = {"c": "bool"} if "c" in text.replace("select", "") else {}
    record, read = batch_line(json.dumps({"update": text, "type": type_, "types": types}), seconds)
    assert read, record
    answer: dict[str, Any] = json.loads(json.dumps(record))
    return answer


@settings(max_examples=60, deadline=None)
@given(st.one_of(_RESETS, _AUTOMATA, _CLOCKS, _COUNTS), st.sampled_from(["u8", "i8"]), st.integers(0, 1000))
def test_any_bracketing_ends_where_the_serial_run_does(text: str, type_: str, seed: int) -> None:
    answer = _answer(text, type_)
    if answer["verdict"] == "lifted":
        run = _Run(answer, seed)
        for length in (1, 2, 5, 12):
            run.check(length)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("select(x0 == 9, 0, x0 + 1), x1 + select(x0 == 9, 1, 0)", "u8"),
        ("select(x0 >= 4, 1, x0 + 1), x1 - select(x0 >= 4, 1, 0)", "i8"),
        ("select(x + 1 >= 60, 0, x + 1)", "i8"),
        ("x0 + 1, x1 + select(x0 == 2, 3, 0)", "u8"),
        ("x0 - 1, x1 + select(x0 == 2, 1, 0)", "i8"),
    ],
)
def test_counters_that_go_round_do_so_in_long_runs(text: str, type_: str) -> None:
    answer = _answer(text, type_, 20.0)
    assert answer["verdict"] == "lifted"
    run = _Run(answer, 0)
    for length in (1, 59, 60, 255, 256, 700):
        run.check(length)
