"""Loops that may run at once because loops around keep their iterations apart: as asked, with the serial bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import bounded_loops, passes
from rfactor.errors import ScheduleError
from rfactor.ir.loopnest import Block, For, If, Let, Produce, Realize, Stmt
from rfactor.semantics.interpreter import ImageValue
from rfactor.semantics.nest import interpret_nest
from tests.compiler.pipelines import agrees, expected

x, y, t = hl.Var("x"), hl.Var("y"), hl.Var("t")
WIDE, HIGH, STEPS = 21, 13, 5
DATA = np.random.default_rng(8).integers(-50, 50, (HIGH, WIDE), np.int32)


def kinds(f: Any) -> dict[str, str]:
    """How the loops of `f.update(0)` run, by name."""
    frozen = freeze(f)
    found: dict[str, str] = {}
    prefix = f"{f.name()}.s1."

    def visit(stmt: Stmt) -> None:
        if isinstance(stmt, Block):
            for part in stmt.statements:
                visit(part)
        elif isinstance(stmt, For | Let | Produce | Realize):
            if isinstance(stmt, For) and stmt.name.startswith(prefix):
                found[stmt.name.removeprefix(prefix)] = stmt.kind
            visit(stmt.body)
        elif isinstance(stmt, If):
            visit(stmt.then)

    visit(bounded_loops(frozen.algorithm, frozen.schedule))
    return found


def loop(variable: Any, found: dict[str, str]) -> str:
    """The loop over a variable of a domain."""
    (name,) = (one for one in found if one.endswith(variable.name()[-2:].replace("$", ".")))
    return name


def relaxed(
    write: Callable[[Any], Any], reads: Callable[[Any, Any], Any], order: str = "xyt"
) -> tuple[Any, Any, dict[str, Any]]:
    """`f(x, y, write(t)) = reads(f, t)`, over the inside of a plane and some steps, loops in that order."""
    f = hl.Func("f")
    ranges = {"x": (1, WIDE - 2), "y": (1, HIGH - 2), "t": (0, STEPS)}
    r = hl.RDom([ranges[name] for name in order], "r")
    own = dict(zip(order, (r.x, r.y, r.z), strict=True))
    f[x, y, t] = hl.Buffer(DATA)[x, y] + t
    f[own["x"], own["y"], write(own["t"])] = reads(lambda i, j, k: f[own["x"] + i, own["y"] + j, k], own["t"])
    f.bound(x, 0, WIDE).bound(y, 0, HIGH)
    return f, r, own


def cross(f: Any, k: Any) -> Any:
    return f(-1, 0, k) + f(1, 0, k) * 3 + f(0, -1, k) - f(0, 1, k) // 2


CASES: dict[str, tuple[Any, str, dict[str, str]]] = {
    "each step is kept": (
        ((lambda k: k + 1), (lambda f, k: cross(f, k))), "xyt", {"x": "vectorized", "y": "parallel"},
    ),
    "two steps in turn": (
        ((lambda k: (k + 1) % 2), (lambda f, k: cross(f, k % 2))), "xyt", {"x": "vectorized", "y": "parallel"},
    ),
    "three steps in turn": (
        ((lambda k: (k + 2) % 3), (lambda f, k: cross(f, k % 3) + cross(f, (k + 1) % 3))), "xyt",
        {"x": "vectorized", "y": "parallel"},
    ),
    "the same again after two": (((lambda k: (k + 2) % 2), (lambda f, k: cross(f, k % 2))), "xyt", {}),
    "the same plane": (((lambda k: 0), (lambda f, k: cross(f, 0))), "xyt", {}),
    "rows from the one before": (
        ((lambda k: 0), (lambda f, k: f(-1, -1, 0) + f(1, -1, 0))), "xyt", {"x": "vectorized"},
    ),
    "rows from beside": (((lambda k: 0), (lambda f, k: f(-1, 0, 0) + 1)), "xyt", {"y": "parallel"}),
    "steps are innermost": (((lambda k: k + 1), (lambda f, k: cross(f, k))), "txy", {}),
    "steps between": (((lambda k: k + 1), (lambda f, k: cross(f, k))), "xty", {"x": "vectorized"}),
}  # fmt: skip


@pytest.mark.parametrize("why", sorted(CASES))
def test_loops_run_as_asked_where_iterations_do_not_meet_within_those_around(why: str) -> None:
    (write, reads), order, free = CASES[why]
    sizes = [WIDE, HIGH, STEPS + 1]
    f, _, own = relaxed(write, reads, order)
    before = expected(f, sizes)
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).allow_race_conditions().split(own["x"], outer, inner, 4).vectorize(inner).parallel(own["y"])
    found = kinds(f)
    named = {"x": "inner", "y": loop(own["y"], found)}
    assert {one for one, kind in found.items() if kind != "serial"} == {named[one] for one in free}
    for one, kind in free.items():
        assert found[named[one]] == kind
    agrees(f, before, sizes)


def test_the_nest_has_no_race() -> None:
    """Which its interpreter would see."""
    (write, reads), order, _ = CASES["two steps in turn"]
    f, _, own = relaxed(write, reads, order)
    f.update(0).allow_race_conditions().parallel(own["y"])
    before = expected(f, [WIDE, HIGH, 2])
    frozen = freeze(f)
    stages = dict(passes(frozen.algorithm, frozen.schedule))
    images = {frozen.algorithm.images[0].name: ImageValue(DATA, (0, 0))}
    box = {f.name(): ((0, WIDE), (0, HIGH), (0, 2))}
    found = interpret_nest(stages["storage"], frozen.algorithm, images, {}, box, flat=True)
    assert np.array_equal(found[f.name()][0], before[0])


def test_fused_loops_and_lanes_around_loops() -> None:
    (write, reads), order, _ = CASES["each step is kept"]
    sizes = [WIDE, HIGH, STEPS + 1]
    f, _, own = relaxed(write, reads, order)
    before = expected(f, sizes)
    both = hl.RVar("both")
    f.update(0).allow_race_conditions().fuse(own["x"], own["y"], both).parallel(both)
    assert kinds(f)["both"] == "parallel"
    agrees(f, before, sizes)


def test_a_directive_after_says_how_the_loop_runs() -> None:
    (write, reads), order, _ = CASES["each step is kept"]
    f, _, own = relaxed(write, reads, order)
    f.update(0).allow_race_conditions().parallel(own["y"]).serial(own["y"])
    assert set(kinds(f).values()) == {"serial"}


def test_lanes_of_no_known_number_run_in_order() -> None:
    n = hl.Param(hl.Int(32), "raced_n", 9)
    f, r = hl.Func("f"), hl.RDom([(1, n), (0, 4)], "r")
    f[x, t] = x * 5 + t
    f[r.x, r.y + 1] = f[r.x - 1, r.y] + f[r.x + 1, r.y]
    before = expected(f, [12, 5])
    f.update(0).allow_race_conditions().parallel(r.x)
    assert kinds(f)[loop(r.x, kinds(f))] == "parallel"
    agrees(f, before, [12, 5])


@pytest.mark.parametrize(("divisor", "told"), [(2, True), (3, False), (4, True)])
def test_steps_in_turn_of_no_known_number_may_wrap(divisor: int, told: bool) -> None:
    """2^31 - 1 and the step after it, which wraps, are the same by 3, and not by powers of two."""
    start = hl.Param(hl.Int(32), "raced_start", 0)
    f, r = hl.Func("f"), hl.RDom([(1, 9), (start, 4)], "r")
    f[x, t] = x * 5 + t
    f[r.x, (r.y + 1) % divisor] = f[r.x - 1, r.y % divisor] + f[r.x + 1, r.y % divisor]
    before = expected(f, [12, divisor])
    f.update(0).allow_race_conditions().parallel(r.x)
    assert kinds(f)[loop(r.x, kinds(f))] == ("parallel" if told else "serial")
    agrees(f, before, [12, divisor])


@pytest.mark.parametrize("step", [False, True])
def test_storage_outside_a_loop_that_runs_as_asked_is_not_written_inside_it(step: bool) -> None:
    """Its iterations would write it at once; Halide refuses it too, whether iterations meet or not."""
    (write, reads), order, _ = CASES["each step is kept"]
    f, _, own = relaxed(write, reads, order)
    g, h, k = hl.Func("g"), hl.Func("h"), hl.Func("k")
    g[x, y] = hl.Buffer(DATA)[x, y] * 3
    h[x, y, t] = f[x, y, t]
    h[own["x"], own["y"], own["t"] + 1] = h[own["x"], own["y"] + 1, own["t"]] + g[own["x"], own["y"] - 1]
    k[x, y, t] = h[x, y, t]
    f.compute_root()
    h.compute_root().update(0).allow_race_conditions().parallel(own["y"])
    g.compute_at(h, own["t" if step else "y"]).store_root()
    if step:
        sizes = [WIDE, HIGH, STEPS + 1]
        agrees(k, expected(k, sizes), sizes)
        return
    with pytest.raises(ScheduleError, match=r"g is stored outside the parallel loop h\..* store it inside that loop"):
        k.compile_jit()


@pytest.mark.parametrize("order", ["xyt", "yxt"])
def test_fused_loops_of_which_one_meets_itself_run_in_order(order: str) -> None:
    (write, reads), _, free = CASES["rows from beside"]
    assert set(free) == {"y"}
    sizes = [WIDE, HIGH, 1]
    f, _, own = relaxed(write, reads, order)
    before = expected(f, sizes)
    both = hl.RVar("both")
    f.update(0).allow_race_conditions().fuse(own[order[0]], own[order[1]], both).parallel(both)
    assert kinds(f)["both"] == "serial"
    agrees(f, before, sizes)


@pytest.mark.parametrize(("lanes", "kind"), [(1 << 12, "vectorized"), (1 << 13, "serial")])
def test_more_lanes_than_any_vector_has_run_in_order(lanes: int, kind: str) -> None:
    (write, reads), order, _ = CASES["each step is kept"]
    f, _, own = relaxed(write, reads, order)
    outer, inner = hl.RVar("outer"), hl.RVar("inner")
    f.update(0).allow_race_conditions().split(own["x"], outer, inner, lanes).vectorize(inner)
    assert kinds(f)["inner"] == kind
