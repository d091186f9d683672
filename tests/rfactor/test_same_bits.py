"""The factored algorithm means the same as the serial one, bit for bit, whatever the domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rfactor.compiler.rfactor import Factored, factor
from rfactor.compiler.schedule.directives import Split
from rfactor.compiler.split_domain import split_domain
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, Image, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Expr, cast
from rfactor.ir.types import I8, I32
from rfactor.semantics.interpreter import Box, ImageValue, interpret
from tests.rfactor.programs import Recognize, algorithm, answering, expr, function, i32, over, reached, read, var

A = Image("a", I8, 2)
SHAPE = (3, 7)
V = expr("select(a > 2, 2147483647, select(a < -2, -2147483648, a))", a=cast(I32, read(A, var("r"), var("s"))))
"""Few values, the identities of largest and least among them."""


@dataclass(frozen=True)
class Family:
    """An update by its text over `x0`, …, data `v` and position `p`, with the operator that was proved elsewhere."""

    values: tuple[str, ...]
    recognize: Recognize


def selecting(*conditions: str) -> str:
    """Components 1, 2, … of an operator, each the left one where its condition holds."""
    return ", ".join(f"select({c}, x{i + 1}, y{i + 1})" for i, c in enumerate(conditions))


MIN, MAX = -2147483648, 2147483647
FAMILIES = {
    "sum": Family(("x0 + v",), answering("x0 + y0", "0")),
    "product": Family(("x0 * (v + p)",), answering("x0 * y0", "1")),
    "largest": Family(("max(x0, v)",), answering("max(x0, y0)", f"{MIN}")),
    "complex": Family(("x0*v - x1*p", "x0*p + x1*v"), answering("x0*y0 - x1*y1, x0*y1 + x1*y0", "1, 0")),
    "last": Family(("v",), answering("y0", "0", "left", False, reached)),
    "clamped": Family(("min(max(x0, -2), v)",), answering("min(max(x0, -2), y0)", f"{MAX}", "left", False)),
    "twice": Family(
        ("2 * x0 * v",), answering("2 * x0 * y0", "0", "none", data=lambda u: u.components[0].children[1:])
    ),
    "lastmin": Family(
        ("min(x0, v)", "select(x0 < v, x1, p)"),
        answering(f"min(x0, y0), {selecting('x0 < y0')}", f"{MAX}, 0", "left", False, reached),
    ),
    "firstmin": Family(
        ("min(x0, v)", "select(v < x0, p, x1)"),
        answering(f"min(x0, y0), {selecting('not y0 < x0')}", f"{MAX}, 0", "two-sided", False, reached),
    ),
    "lastvalue": Family(
        ("max(x0, v // 2)", "select(x0 > v // 2, x1, v)"),
        answering(f"max(x0, y0), {selecting('x0 > y0')}", f"{MIN}, 5", "left", False, reached),
    ),
    "firstvalue": Family(
        ("max(x0, v)", "select(x0 >= v, x1, p % 5)"),
        answering(f"max(x0, y0), {selecting('x0 >= y0')}", f"{MIN}, 5", "two-sided", False, reached),
    ),
    "both": Family(
        ("max(x0, v)", "select(x0 >= v, x1, p)", "select(x0 > v, x2, p % 5)", "x3 + v"),
        answering(
            f"max(x0, y0), {selecting('x0 >= y0', 'x0 > y0')}, x3 + y3", f"{MIN}, 5, 0, 0", "left", False, reached
        ),
    ),
}
PREDICATES = ["v > 0", "True", "v != 1", "(p + v) % 3 == 0", "r < s", "r + s < 5", "r <= 4", "False"]


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


@dataclass(frozen=True)
class Case:
    """An update of a family, and what is factored out of it, once or twice."""

    family: str
    extents: tuple[int, int]
    where: str
    left: str
    splits: tuple[Split, ...]
    picks: tuple[int, int]
    """Which loops are factored in each step, a bit each, the innermost lowest; none in the first: all of them stay."""
    first: tuple[int, ...]
    pixels: int
    """The seed of the data."""


def drawn(seed: int) -> Case:
    """A case; spread more evenly than by drawing its parts one by one."""
    random = Random(seed)
    splits = [Split(name, f"{name}o", f"{name}i", random.randint(1, 4)) for name in "rs" if random.random() < 0.4]
    return Case(
        random.choice(sorted(FAMILIES)),
        (random.choice([7, 7, 6, 5, 4, 1, 0]), random.choice([3, 3, 2, 1, 0])),
        random.choice(PREDICATES),
        random.choice(["x", "x", "v % 4", "0", "s", "r // 2", "s * 2 + 1"]),
        tuple(splits),
        (random.randint(0, 7), random.randint(0, 7)),
        tuple(random.choice([0, 1, -5, 127, 2147483647, -2147483648]) for _ in range(4)),
        seed,
    )


def factored(case: Case) -> tuple[Function, list[Factored]]:
    """The function of the case, and the factorings that were not refused."""
    family = FAMILIES[case.family]
    position = expr("r + 7 * s", r=var("r"), s=var("s"))
    predicate = expr(case.where, r=var("r"), s=var("s"), v=V, p=position)
    r, s = case.extents
    original = build(family, over(("r", r), ("s", s), where=predicate), case.left, list(case.first), position)
    current = replace(original, updates=(split_domain(original.updates[0], case.splits),))
    steps: list[Factored] = []
    ranges: Mapping[str, ReductionVariable] = {}
    for number, pick in enumerate(case.picks):
        domain = current.updates[0].domain
        names = [rv.name for rv in domain.variables] if domain else []
        pairs = tuple((rvar, f"u{number}{i}") for i, rvar in enumerate(names) if pick >> i & 1)
        if number and not pairs:
            break
        try:
            steps.append(factor(current, 0, pairs, f"f{number}", recognize=family.recognize, ranges=ranges))
        except FactorError:
            break
        current, ranges = steps[-1].intermediate, steps[-1].ranges
    return original, steps


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 1 << 40).map(drawn))
@example(Case("lastmin", (7, 3), "v > 0", "x", (Split("r", "ro", "ri", 4),), (4, 0), (2147483647, 1, 0, 0), 1))
@example(Case("clamped", (7, 0), "True", "x", (Split("r", "ro", "ri", 4),), (2, 1), (-5, 0, 0, 0), 1))
def test_the_serial_bits(case: Case) -> None:
    pixels = np.random.default_rng(case.pixels).integers(-3, 4, SHAPE).astype(np.int8)
    original, steps = factored(case)
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
