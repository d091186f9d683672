"""Bounds as obligations: those that are chosen are proven, and wrong ones are refuted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import frozen
from rfactor.compiler.verify.verify import bounded_nest, verify_nest
from rfactor.errors import Error
from rfactor.ir.expr import Call, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import If, Stmt
from tests.compiler.corrupt import first, less, mutants, parts
from tests.examples.programs import inputs, load

x, y, xi, yi, xo, xy = (hl.Var(name) for name in ("x", "y", "xi", "yi", "xo", "xy"))


def stencil() -> tuple[hl.Func, hl.Func]:
    a = hl.ImageParam(hl.UInt(16), 2, "a")
    across, down = hl.Func("across"), hl.Func("down")
    across[x, y] = (a[x - 1, y] + a[x, y] + a[x + 1, y]) // 3
    down[x, y] = (across[x, y - 1] + across[x, y] + across[x, y + 1]) // 3
    return across, down


def at_the_root() -> hl.Func:
    across, down = stencil()
    across.compute_root()
    return down


def in_tiles() -> hl.Func:
    across, down = stencil()
    down.tile(x, y, xi, yi, 64, 32).parallel(y)
    across.compute_at(down, x)
    return down


def sliding() -> hl.Func:
    across, down = stencil()
    across.compute_at(down, y).store_root().fold_storage(y, 3)
    return down


def gathered() -> hl.Func:
    a, places = hl.ImageParam(hl.UInt(8), 1, "a"), hl.ImageParam(hl.Int(32), 1, "places")
    h, f, r = hl.Func("h"), hl.Func("f"), hl.RDom([(0, 100)], name="r")
    h[x] = 0
    h[hl.clamp(hl.i32(a[r.x]), 0, 63)] += 1
    f[x] = h[hl.clamp(places[x], 0, 63)]
    h.compute_root().update(0).split(r.x, hl.RVar("ro"), hl.RVar("ri"), 8)
    return f


def together() -> hl.Func:
    a = hl.ImageParam(hl.Int(32), 1, "a")
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x], g[x] = a[x] + 1, a[x] * 2
    h[x] = f[x] + g[x + 2]
    g.compute_root()
    f.compute_root().compute_with(g, x)
    return h


def by_value() -> hl.Func:
    a, b = hl.ImageParam(hl.Int(32), 1, "a"), hl.ImageParam(hl.Int(32), 1, "b")
    h, f = hl.Func("h"), hl.Func("f")
    h[x] = (b[x] * 7) % 5
    f[x] = a[h[x] + 1]
    h.compute_root()
    return f


def where_floats_say() -> hl.Func:
    a, f, r = hl.ImageParam(hl.Float(32), 1, "a"), hl.Func("f"), hl.RDom([(0, 30)], "r")
    r.where((a[r.x] > 1.5) & (hl.i32(a[r.x + 1] * 2) != (r.x ^ 5)))
    f[x] = 0
    f[r.x] += r.x
    f.update(0).split(r.x, hl.RVar("ro"), hl.RVar("ri"), 8)
    return f


def several_points() -> hl.Func:
    f, r, n = hl.Func("f"), hl.RDom([(0, 30)], "r"), hl.Param(hl.Int(32), "n")
    f[x] = 0
    f[hl.scatter((r.x, 60 - r.x, hl.clamp(n, 3, 9)))] = hl.gather((f[61 - r.x], f[r.x + 1], 7))
    f.update(0).split(r.x, hl.RVar("ro"), hl.RVar("ri"), 4)
    return f


def specialized() -> hl.Func:
    n, h, f = hl.Param(hl.Int(32), "n"), hl.Func("h"), hl.Func("f")
    r = hl.RDom([(0, n)], "r")
    h[()] = n * 3
    h.compute_root()
    r.where(h[()] != 5)
    f[x] = 0
    f[x] += r
    for size in (8, 4):
        f.specialize(n > size).split(x, xo, xi, size)
        f.update(0).specialize(n > size).split(x, xo, xi, size)
    f.vectorize(x, 4)
    return f


def defined_in_part() -> hl.Func:
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    f[x] = hl.select(a[x + 1] > 2, x, hl.undef(hl.Int(32)))
    f[x] += 1  # in place
    f.split(x, xo, xi, 8)
    return f


def read_where_defined(least: int, updated: bool = False) -> hl.Pipeline:
    a, f, g = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f"), hl.Func("g")
    f[x] = (hl.select(a[x] > 2, x, hl.undef(hl.Int(32))), hl.undef(hl.UInt(8)))
    if updated:
        f[x] = (7, f[x][1])
    g[x] = hl.select(a[x] > least, f[x][0], 0)
    f.compute_root()
    return hl.Pipeline([f, g])


PROGRAMS = (
    at_the_root,
    in_tiles,
    sliding,
    gathered,
    together,
    by_value,
    where_floats_say,
    several_points,
    specialized,
    defined_in_part,
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_chosen_bounds_are_proven(program: Callable[[], hl.Func]) -> None:
    found = program().verify()
    assert found.verdict == "proven", str(found)
    assert len(found.obligations) == len(found.proven) > 10


@pytest.mark.parametrize("program", [sliding, gathered, several_points])
def test_every_wrong_bound_is_refuted(program: Callable[[], hl.Func]) -> None:
    pipeline = frozen((program(),))
    body, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    tried = 0
    for what, wrong in mutants(body):
        found = first(wrong, algorithm, schedule)
        harmless = what.startswith(("across.min.1", "across.extent.1"))  # folded: storage asks for neither
        assert found.verdict == ("proven" if harmless else "refuted"), f"{what}\n{found}"
        tried += 1
    assert tried > 8


def sliding_down() -> hl.Func:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, 20 - y] + f[x, 22 - y]
    f.compute_at(g, y).store_root().fold_storage(y, 3)
    return g


@pytest.mark.parametrize(
    ("program", "part"), [(sliding_down, "folded to"), (sliding_down, "s0.y.min more"), (defined_in_part, "xo ends")]
)
def test_what_one_part_would_make_wrong_is_refuted(program: Callable[[], hl.Func], part: str) -> None:
    pipeline = frozen((program(),))
    body, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    wrong = [nest for what, nest in mutants(body) if part in what]
    assert wrong
    assert all(first(nest, algorithm, schedule).verdict == "refuted" for nest in wrong)


def test_a_condition_on_other_data_is_not_proven() -> None:
    pipeline = frozen((where_floats_say(),))
    body, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    (load, *_) = [n for loop in guards(body) for n in walk(loop.condition) if isinstance(n, Call) and n.name == "a"]
    other = replaced(load, {load.args[0]: less(load.args[0])})

    def wrong(stmt: Stmt) -> Stmt:
        if isinstance(stmt, If) and load in set(walk(stmt.condition)):
            return replace(stmt, condition=replaced(stmt.condition, {load: other}))
        for part, put in parts(stmt):
            changed = wrong(part)
            if changed is not part:
                return put(changed)
        return stmt

    found = verify_nest(wrong(body), algorithm, schedule)
    assert {one.place.kind for one in (*found.refuted, *found.unknown)} >= {"covered"}


def guards(stmt: Stmt) -> Iterator[If]:
    if isinstance(stmt, If):
        yield stmt
    for part, _ in parts(stmt):
        yield from guards(part)


def test_a_window_less_by_one_is_refuted_with_the_access() -> None:
    pipeline = frozen((at_the_root(),))
    body, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    wrong = dict(mutants(body))["across.s0.y.extent less by one"]
    found = verify_nest(wrong, algorithm, schedule)
    assert found.verdict == "refuted"
    (one,) = found.refuted
    assert (one.place.kind, one.place.function, one.place.variable, one.place.stage) == (
        "computed",
        "across",
        "y",
        "down.s0",
    )
    assert one.place.loops == ("down.s0.y", "down.s0.x")
    assert one.values["down.s0.y"] == one.values["down.min.1"] + one.values["down.extent.1"] - 1
    assert "across(down.s0.x, down.s0.y + 1)" in str(found)


def test_points_where_an_output_is_undefined_may_not_be_read() -> None:
    assert read_where_defined(2).verify().verdict == "proven"
    found = read_where_defined(1).verify()
    (one,) = found.refuted
    assert found.verdict == "refuted"
    assert one.place.kind == "computed"
    shown = re.sub(r"\$\d+", "", f"{one.place.function} in {one.place.stage}: {one.place.access}")
    assert shown == "f in g.s0: f(g.s0.x) of f.s0 where a(x) > 2"
    (one,) = read_where_defined(1, updated=True).verify().unknown
    assert "need not do harm" in one.reason


def test_values_that_bounds_rely_on_are_proved_of_every_store() -> None:
    pipeline = frozen((by_value(),))
    body, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    kinds = [one.place.kind for one in verify_nest(body, algorithm, schedule).obligations]
    assert kinds.count("value") == 1


@pytest.mark.parametrize("name", ["equalize", "matrix_product"])
def test_examples_are_proven(name: str) -> None:
    function, _ = load(name)["build"](*inputs(name, 48, 64), scheduled=True)
    found = function.verify()
    assert found.verdict == "proven", str(found)


def test_no_answer_is_unknown_with_the_reason() -> None:
    found = hl.Pipeline(gathered()).verify(timeout=1e-7)
    assert found.verdict == "unknown"
    assert all(one.reason for one in found.unknown)


def test_answers_are_text_data_and_scripts() -> None:
    import z3

    found = at_the_root().verify()
    assert str(found).startswith(f"proven: {len(found.obligations)} of {len(found.obligations)} obligations proven")
    data = json.loads(json.dumps(found.json()))
    assert data["verdict"] == "proven"
    assert data["obligations"][0].keys() >= {"kind", "function", "stage", "variable", "loops", "verdict", "values"}
    for one in found.obligations[::4]:
        for script in one.smt2().split("(reset)\n"):
            solver = z3.Solver()
            solver.from_string(script)
            assert solver.check() == z3.unsat
    with pytest.raises(TypeError, match="verdict"):
        bool(found)
    with pytest.raises(AttributeError):
        found.obligations = ()


def test_a_timeout_is_positive() -> None:
    with pytest.raises((Error, ValueError), match="positive"):
        at_the_root().verify(timeout=0)
