"""The factored algorithm means the same as the serial one, bit for bit, whatever the domain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rfactor.compiler.rfactor import Factored, factor
from rfactor.compiler.schedule.directives import Split
from rfactor.compiler.split_domain import split_domain
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, Image, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Expr, Op, cast
from rfactor.ir.types import I8, I32
from rfactor.ir.update import Update
from rfactor.semantics.interpreter import Box, ImageValue, interpret
from tests.rfactor.programs import Recognize, algorithm, answering, expr, function, i32, over, read, var

A = Image("a", I8, 2)
SHAPE = (3, 7)
V = cast(I32, read(A, var("r"), var("s")))


@dataclass(frozen=True)
class Family:
    """An update by its text over `x0`, …, data `v` and position `p`, with the operator that was proved elsewhere."""

    values: tuple[str, ...]
    recognize: Recognize


def operand(component: int, place: int) -> Callable[[Update], Expr]:
    """An operand of a component of the update: where its data stand."""

    def take(update: Update) -> Expr:
        node = update.components[component]
        assert isinstance(node, Op)
        return node.args[place]

    return take


def each(*parts: Callable[[Update], Expr]) -> Callable[[Update], tuple[Expr, ...]]:
    return lambda update: tuple(part(update) for part in parts)


FAMILIES = {
    "sum": Family(("x0 + v",), answering("x0 + y0", "0")),
    "product": Family(("x0 * (v + p)",), answering("x0 * y0", "1")),
    "largest": Family(("max(x0, v)",), answering("max(x0, y0)", "-2147483648")),
    "complex": Family(("x0*v - x1*p", "x0*p + x1*v"), answering("x0*y0 - x1*y1, x0*y1 + x1*y0", "1, 0")),
    "last": Family(("v",), answering("y0", "0", "left", False, data=lambda u: u.components)),
    "clamped": Family(("min(max(x0, -2), v)",), answering("min(max(x0, -2), y0)", "2147483647", "left", False)),
    "lastmin": Family(
        ("min(x0, v)", "select(x0 < v, x1, p)"),
        answering(
            "min(x0, y0), select(x0 < y0, x1, y1)",
            "2147483647, 0",
            "left",
            False,
            each(operand(0, 1), operand(1, 2)),
        ),
    ),
    "firstmin": Family(
        ("min(x0, v)", "select(v < x0, p, x1)"),
        answering(
            "min(x0, y0), select(y0 < x0, y1, x1)",
            "2147483647, 0",
            "two-sided",
            False,
            each(operand(0, 1), operand(1, 1)),
        ),
    ),
    "twice": Family(("2 * x0 * v",), answering("2 * x0 * y0", "0", "none", data=each(operand(0, 1)))),
    "lastvalue": Family(
        ("max(x0, v // 2)", "select(x0 > v // 2, x1, v)"),
        answering(
            "max(x0, y0), select(x0 > y0, x1, y1)",
            "-2147483648, 5",
            "left",
            False,
            each(operand(0, 1), operand(1, 2)),
        ),
    ),
    "firstvalue": Family(
        ("max(x0, v // 2)", "select(x0 >= v // 2, x1, v)"),
        answering(
            "max(x0, y0), select(x0 >= y0, x1, y1)",
            "-2147483648, 5",
            "two-sided",
            False,
            each(operand(0, 1), operand(1, 2)),
        ),
    ),
    "both": Family(
        ("max(x0, v)", "select(x0 >= v, x1, p)", "select(x0 > v, x2, p)", "x3 + v"),
        answering(
            "max(x0, y0), select(x0 >= y0, x1, y1), select(x0 > y0, x2, y2), x3 + y3",
            "-2147483648, 5, 0, 0",
            "left",
            False,
            each(operand(0, 1), operand(1, 2), operand(2, 2), operand(3, 1)),
        ),
    ),
}
PREDICATES = ["True", "v > 0", "(p + v) % 3 == 0", "r < s", "r + s < 5", "r <= 4", "False"]


def build(family: Family, domain: ReductionDomain, left: str, first: list[int], position: Expr) -> Function:
    """`f(x)` updated at `left` over `domain`."""
    point = expr(left, I32, x=var("x"), v=V, r=var("r"), s=var("s"))

    def update(f: Function) -> Definition:
        own = {f"x{i}": f.at((point,), i) for i in range(len(family.values))}
        return Definition((point,), tuple(expr(t, I32, **own, v=V, p=position) for t in family.values), domain)

    start = [expr("x * 3 + k", x=var("x"), k=i32(k)) for k in first[: len(family.values)]]
    return function("f", ("x",), start, update)


def same(before: Function, after: list[Factored], pixels: np.ndarray) -> None:
    """Both give the same values on a box around all points that are written."""
    box: dict[str, Box] = {"f": ((-2, 10),)}
    image = {"a": ImageValue(pixels)}
    expected = interpret(algorithm(before, images=[A]), image, {}, box)["f"]
    made = {g.name: g for step in after for g in (step.intermediate, step.merged)}
    order = [*reversed([step.intermediate.name for step in after]), "f"]
    found = interpret(algorithm(*(made[name] for name in order), images=[A]), image, {}, box)["f"]
    for e, g in zip(expected, found, strict=True):
        np.testing.assert_array_equal(e, g)


@settings(max_examples=250, deadline=None)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    r=st.integers(0, 7),
    s=st.integers(0, 3),
    where=st.sampled_from(PREDICATES),
    left=st.sampled_from(["x", "0", "v % 4", "s", "r // 2", "s * 2 + 1"]),
    splits=st.lists(st.tuples(st.sampled_from(["r", "s"]), st.integers(1, 4)), max_size=2, unique_by=lambda t: t[0]),
    picks=st.tuples(st.integers(0, 15), st.integers(0, 15)),
    first=st.lists(st.sampled_from([0, 1, -5, 127, 2147483647, -2147483648]), min_size=4, max_size=4),
    seed=st.integers(0, 1 << 20),
)
@example("lastmin", 7, 3, "v > 0", "x", [("r", 4)], (4, 0), [2147483647, 1, 0, 0], 1)
@example("clamped", 7, 0, "True", "x", [("r", 4)], (2, 1), [-5, 0, 0, 0], 1)
def test_the_serial_bits(
    family: str,
    r: int,
    s: int,
    where: str,
    left: str,
    splits: list[tuple[str, int]],
    picks: tuple[int, int],
    first: list[int],
    seed: int,
) -> None:
    pixels = np.random.default_rng(seed).integers(-3, 4, SHAPE).astype(np.int8)
    position = expr("r + 7 * s", r=var("r"), s=var("s"))
    predicate = expr(where, r=var("r"), s=var("s"), v=V, p=position)
    original = build(FAMILIES[family], over(("r", r), ("s", s), where=predicate), left, first, position)
    relations = tuple(Split(name, f"{name}o", f"{name}i", factor) for name, factor in splits)
    current = replace(original, updates=(split_domain(original.updates[0], relations),))
    steps: list[Factored] = []
    name = "f"
    ranges: Mapping[str, ReductionVariable] = {}
    for number, pick in enumerate(picks):
        domain = current.updates[0].domain
        names = [rv.name for rv in domain.variables] if domain else []
        chosen = [rvar for bit, rvar in enumerate(names) if pick >> bit & 1]
        if not chosen:
            break
        pairs = tuple((rvar, f"u{number}{i}") for i, rvar in enumerate(chosen))
        try:
            step = factor(current, 0, pairs, f"{name}{number}", recognize=FAMILIES[family].recognize, ranges=ranges)
            ranges = step.ranges
        except FactorError:
            break
        steps.append(step)
        current = step.intermediate
    assume(steps)
    same(original, steps, pixels)


def test_the_property_can_fail() -> None:
    """With an operator that keeps the first element, the last one is lost."""
    pixels = np.arange(21).reshape(SHAPE).astype(np.int8)
    original = build(FAMILIES["last"], over(("r", 7), ("s", 3)), "x", [0, 0], i32(0))
    right = factor(original, 0, (("s", "u"),), "g", recognize=FAMILIES["last"].recognize)
    same(original, [right], pixels)
    wrong = factor(original, 0, (("s", "u"),), "g", recognize=answering("x0", "0", "left", False))
    with pytest.raises(AssertionError):
        same(original, [wrong], pixels)
