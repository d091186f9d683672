"""Stages in the loops of another: the values are those of each alone, and what cannot share loops says why."""

from __future__ import annotations

import re
import sys
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rfactor as hl
from rfactor.errors import ScheduleError, TypeMismatch
from tests.compiler.pipelines import computed, expected, same
from tests.fuzz.execute import passes_of, tried

x, y, xo, xi = hl.Var("x"), hl.Var("y"), hl.Var("xo"), hl.Var("xi")


def pair() -> tuple[Any, Any]:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x * 3 + y
    g[x, y] = x - y * 7
    return f, g


def both(f: Any, g: Any, shift: int = 0) -> Any:
    h = hl.Func("h")
    h[x, y] = f[x + shift, y] * 100 + g[x, y + 2 * shift]
    f.compute_root()
    g.compute_root()
    return h


def wanted(width: int, height: int, shift: int = 0) -> np.ndarray[Any, Any]:
    cols, rows = np.meshgrid(np.arange(width), np.arange(height))
    return ((cols + shift) * 3 + rows) * 100 + cols - (rows + 2 * shift) * 7


def test_reductions_of_one_function_share_loops_once_they_are_factored_out() -> None:
    f, g, total, r = hl.Func("f"), hl.Func("g"), hl.Func("total"), hl.RDom([(0, 100)])
    f[x], g[x], total[()] = x, x * 2, 7
    total[()] += f[r.x]
    total[()] += g[r.x]
    first, second = total.update(0).rfactor([]), total.update(1).rfactor([])
    for one in (f, g, first, second):
        one.compute_root()
    first.update().compute_with(second.update(), r.x)
    assert np.asarray(total.realize()) == 7 + 3 * 4950
    assert total.lowered().count("for ") == 3


@pytest.mark.parametrize("place", ["root", "at"])
@pytest.mark.parametrize("turned", [False, True])
def test_what_needs_one_of_them_and_not_the_other_comes_after_both(place: str, turned: bool) -> None:
    """`user` comes before `second` by name and by use."""
    first, user, second, out = hl.Func("a_first"), hl.Func("b_user"), hl.Func("z_second"), hl.Func("out")
    first[x, y] = x + 2 * y
    user[x, y] = first[x, y] * first[x, y + 1]
    second[x, y] = x * y
    out[x, y] = user[x, y] + 10 * second[x + 1, y] + first[x, y]
    for one in (first, user, second):
        if place == "root":
            one.compute_root()
        else:
            one.compute_at(out, y)
    one, other = (first, second) if turned else (second, first)
    one.compute_with(other, y if place == "root" else x)
    cols, rows = np.meshgrid(np.arange(7), np.arange(5))
    firsts = cols + 2 * rows
    assert np.array_equal(np.asarray(out.realize([7, 5])), firsts * (firsts + 2) + 10 * (cols + 1) * rows + firsts)
    assert out.lowered().count("produce b_user") == 1


@pytest.mark.parametrize("shift", [0, 3, -40])
@pytest.mark.parametrize("schedule", ["outer", "inner", "parallel", "vectors", "split", "unrolled"])
def test_values_are_those_of_loops_apart(schedule: str, shift: int) -> None:
    f, g = pair()
    h = both(f, g, shift)
    for func in (f, g):
        if schedule == "parallel":
            func.parallel(y)
        elif schedule == "vectors":
            func.vectorize(x, 4)
        elif schedule == "split":
            func.split(x, xo, xi, 3).reorder(xi, y, xo)
        elif schedule == "unrolled":
            func.unroll(x, 2)
    g.compute_with(f, {"inner": x, "split": xo}.get(schedule, y))
    for width, height in ((1, 1), (7, 5), (0, 3)):
        assert np.array_equal(np.asarray(h.realize([width, height])), wanted(width, height, shift))


def test_the_loops_are_one_nest() -> None:
    f, g = pair()
    h = both(f, g)
    apart = h.lowered().count("for ")
    g.compute_with(f, x)
    shown = h.lowered()
    assert shown.count("for ") == apart - 2
    assert "for f.s0.y" not in shown or "for g.s0.y" not in shown


def test_outputs_share_loops() -> None:
    f, g = pair()
    g.compute_with(f, y)
    made = hl.Pipeline([f, g]).realize([6, 4])
    cols, rows = np.meshgrid(np.arange(6), np.arange(4))
    assert np.array_equal(np.asarray(made[0]), cols * 3 + rows)
    assert np.array_equal(np.asarray(made[1]), cols - rows * 7)


def test_stages_keep_their_order() -> None:
    f, g = pair()
    r = hl.RDom([(0, 5)], "r")
    f[x, y] += r.x
    g[x, y] *= 2
    g[x, 0] = 1
    h = both(f, g)
    before = np.asarray(h.realize([5, 4])).copy()
    g.compute_with(f, y)
    g.update(0).compute_with(f.update(0), y)
    assert np.array_equal(np.asarray(h.realize([5, 4])), before)
    g.update(1).compute_with(f, x)
    with pytest.raises(ScheduleError, match="an earlier stage of g runs with this or a later one"):
        h.realize([5, 4])


def test_a_producer_may_be_computed_inside() -> None:
    p, f, g, h = hl.Func("p"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    p[x, y] = x + y * y
    f[x, y] = p[x, y] + p[x, y + 1]
    g[x, y] = x - y
    h[x, y] = f[x, y] * 2 + g[x, y + 3]
    before = np.asarray(h.realize([6, 5])).copy()
    f.compute_root()
    g.compute_root().compute_with(f, y)
    for _ in range(2):
        assert np.array_equal(np.asarray(h.realize([6, 5])), before)
        p.store_root().compute_at(f, y)


def test_both_may_be_computed_in_a_loop() -> None:
    f, g = pair()
    h = both(f, g, 2)
    f.compute_at(h, y)
    g.compute_at(h, y).compute_with(f, x)
    assert np.array_equal(np.asarray(h.realize([9, 5])), wanted(9, 5, 2))


def test_what_cannot_share_loops_says_why() -> None:
    f, g = pair()
    h = both(f, g)
    g.compute_at(h, y).compute_with(f, y)
    with pytest.raises(ScheduleError, match=r"g: compute_with\(f, y\): they are not computed in the same place"):
        h.realize([3, 3])
    g.compute_root()
    g.parallel(y)
    with pytest.raises(ScheduleError, match=r"must be the same, but they are .*parallel y"):
        h.realize([3, 3])
    f.compute_inline()
    with pytest.raises(ScheduleError, match=r"Invalid compute_with: f\.s0 is scheduled inline"):
        h.realize([3, 3])


def test_a_function_and_what_it_needs_do_not_share_loops() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x, y] = x + y
    g[x, y] = f[x, y] + 1
    h = both(f, g)
    g.compute_with(f, y)
    with pytest.raises(ScheduleError, match=r"g needs f, .* compute_at\(\) computes f inside"):
        h.realize([3, 3])


def test_what_is_given_is_checked() -> None:
    f, g = pair()
    with pytest.raises(ScheduleError, match="two functions, not of two stages of one"):
        f.compute_with(f, y)
    with pytest.raises(TypeMismatch, match=r"takes a LoopAlignStrategy, not 'start'"):
        f.compute_with(g, y, "start")
    with pytest.raises(ScheduleError, match="no such loop"):
        f.compute_with(g, y, [("z", hl.LoopAlignStrategy.AlignEnd)])
    h = both(f, g)
    g.compute_with(f, "z", hl.LoopAlignStrategy.Auto)
    with pytest.raises(ScheduleError, match=r"no such loop; it has y, x \(outermost first\)"):
        h.realize([3, 3])


@pytest.mark.parametrize("align", ["AlignStart", "AlignEnd", "NoAlign", "Auto"])
def test_loops_are_shared_whatever_their_alignment(align: str) -> None:
    def values(api: Any, shared: bool) -> Any:
        x, y = api.vars("x y")
        f, g, h = api.funcs("f g h")
        f[x, y] = x * 3 + y
        g[x, y] = x - y * 5
        h[x, y] = f[x, y + 7] + g[x * 2, y] * 11
        f.compute_root()
        g.compute_root()
        strategy = getattr(api.LoopAlignStrategy, align)
        if shared:
            f.compute_with(g, y, [(x, strategy), (y, strategy)] if align == "AlignEnd" else strategy)
        return np.array(h.realize([5, 6]))

    assert np.array_equal(values(hl, True), values(hl, False))
    assert np.array_equal(values(hl, True), values(pytest.importorskip("halide"), True))


@pytest.mark.parametrize("pairs", [["ba", "cb"], ["ba", "ca", "da"], ["db", "bc"], ["cd", "ab"]], ids=" ".join)
@pytest.mark.parametrize("loops", ["yyy", "xyx", "yxy"])
def test_any_number_of_functions_shares_loops(pairs: list[str], loops: str) -> None:
    """Chains, a star and two nests of their own; the loops that two share may be more than a third has with them."""
    a, b, c, d = functions = [hl.Func(name) for name in "abcd"]
    for k, f in enumerate(functions):
        f[x, y] = x * (k + 2) - y * k
        f.compute_root()
    h = hl.Func("h")
    h[x, y] = a[x, y] + b[x + 3, y] * 10 + c[x, y - 2] * 100 + d[x - 1, y + 1] * 1000
    named = dict(zip(("a", "b", "c", "d"), functions, strict=True))
    for pair, loop in zip(pairs, loops, strict=False):
        named[pair[0]].compute_with(named[pair[1]], {"x": x, "y": y}[loop])
    shown = h.lowered()
    for loop, shared in (("y", len(pairs)), ("x", loops[: len(pairs)].count("x"))):
        assert len(set(re.findall(rf"for (\w).s0.{loop}", shown))) == 5 - shared
    for width, height in ((7, 5), (1, 1)):
        col, row = np.meshgrid(np.arange(width), np.arange(height))
        terms = ((col, row), (col + 3, row), (col, row - 2), (col - 1, row + 1))
        wanted = sum((u * (k + 2) - v * k) * 10**k for k, (u, v) in enumerate(terms))
        assert np.array_equal(np.asarray(h.realize([width, height])), wanted)


def test_updates_of_three_functions_share_loops_of_their_own() -> None:
    f, g, e, h = hl.Func("f"), hl.Func("g"), hl.Func("e"), hl.Func("h")
    for k, func in enumerate((f, g, e)):
        func[x, y] = x + k
        func[x, y] += y * (k + 1)
        func.compute_root()
    h[x, y] = f[x, y] + g[x, y + 1] * 10 + e[x + 1, y] * 100
    before = np.asarray(h.realize([6, 5])).copy()
    e.compute_with(g, y)
    g.update().compute_with(f.update(), y)
    e.update().compute_with(g.update(), x)
    assert np.array_equal(np.asarray(h.realize([6, 5])), before)
    assert str(h.verify()).startswith("proven")
    f.compute_with(e.update(), y)  # the row of each stage before that of the next
    assert np.array_equal(np.asarray(h.realize([6, 5])), before)


def test_a_chain_is_refused_where_its_ends_cannot_meet() -> None:
    f, g, e, h = hl.Func("f"), hl.Func("g"), hl.Func("e"), hl.Func("h")
    f[x, y] = x + y
    g[x, y] = x - y
    e[x, y] = f[x, y] + 1
    h[x, y] = f[x, y] + g[x, y] + e[x, y]
    for func in (f, g, e):
        func.compute_root()
    g.compute_with(f, y)
    e.compute_with(g, y)
    with pytest.raises(ScheduleError, match="e needs f, so that their loops cannot run together"):
        h.realize([3, 3])


def read_by_both(api: Any, shared: bool) -> list[Any]:
    x, y = api.vars("x y")
    p, f, g = api.funcs("p f g")
    p[x, y] = x + y + 1
    f[x, y] = 100 - p[x, y]
    g[x, y] = x + p[x, y + 1]
    if shared:
        p.compute_at(f, y)
        g.compute_with(f, y)
    return [f, g]


def computed_outermost(api: Any, shared: bool) -> list[Any]:
    x, y = api.vars("x y")
    p, f, g, e, h = api.funcs("p f g e h")
    p[x, y] = x * 3 + y
    f[x, y], g[x, y], e[x, y] = p[x, y], p[x, y] >> 2, p[x, y + 2] * 5
    h[x, y] = f[x, y] + g[x, y] + e[x, y]
    for func in (f, g, e):
        func.compute_root()
    if shared:
        p.compute_at(f, api.Var.outermost())
        g.compute_with(f, api.Var.outermost())
        e.compute_with(f, api.Var.outermost())
    return [h]


def nested(api: Any, shared: bool) -> list[Any]:
    x, y = api.vars("x y")
    p, f, g, a, b = api.funcs("p f g a b")
    p[x, y] = x + y
    f[x, y] = p[x, y] + 20
    g[x, y] = p[x, y] * p[x, y]
    a[x, y] = f[x, y] + x + y
    b[x, y] = f[x, y] * g[x, y]
    if shared:
        p.compute_at(f, y)
        g.compute_with(f, y)
        f.compute_at(a, y)
        g.compute_at(a, y)
        b.compute_with(a, x)
    return [a, b]


def read_by_the_other(api: Any, shared: bool) -> list[Any]:
    x, y = api.vars("x y")
    p, q, f, g = api.funcs("p q f g")
    for made in (p, q):
        made[x, y] = x
        made[x, y] += 1
    r = api.RDom([(0, 10)], "r")
    f[x] = x
    f[x] += p[x, r]
    g[x] = x
    g[x] += q[x, r]
    if shared:
        p.compute_at(f, r)
        q.compute_at(f, r)
        g.update().compute_with(f.update(), r)
    return [f, g]


def in_turns(api: Any, shared: bool) -> list[Any]:
    x, y = api.vars("x y")
    f, g, h = api.funcs("f g h")
    f[x, y] = x + y
    f[x, y] += y
    g[x, y] = x - y
    g[x, y] += 10
    h[x, y] = f[x, y + 2] * 100 + g[x, y]
    f.compute_root()
    g.compute_root()
    if shared:
        f.update(0).compute_with(g, y)
        f.compute_with(g, x)
    return [h]


def special(api: Any, shared: bool) -> list[Any]:
    x, y, xo, xi = api.vars("x y xo xi")
    f, g, h = api.funcs("f g h")
    f[x, y] = x + y
    g[x, y] = x - y
    h[x, y] = f[x - 1, y + 1] + g[x + 2, y - 2] * 7
    f.compute_root()
    g.compute_root()
    if shared:
        yes = api.Param(api.Bool())
        yes.set(True)
        f.specialize(yes).split(x, xo, xi, 3)
        g.compute_with(f, y)
    return [h]


@pytest.mark.parametrize("program", [read_by_both, computed_outermost, nested, read_by_the_other, in_turns, special])
def test_values_beside_halide(program: Any) -> None:
    def values(api: Any, shared: bool) -> list[Any]:
        outputs = program(api, shared)
        sizes = [[4, 5], [6, 3]] if outputs[0].dimensions() == 2 else [[4], [6]]
        made = [api.Buffer(api.Int(32), size) for size, _ in zip(sizes, outputs, strict=False)]
        api.Pipeline(outputs).realize(made)
        return [np.array(one) for one in made]

    serial, shared = values(hl, False), values(hl, True)
    assert all(map(np.array_equal, shared, serial))
    assert all(map(np.array_equal, shared, values(pytest.importorskip("halide"), True)))


@pytest.mark.parametrize("program", [read_by_both, computed_outermost, nested, read_by_the_other, in_turns, special])
def test_their_bounds_are_proven(program: Any) -> None:
    assert str(hl.Pipeline(program(hl, True)).verify()).startswith("proven")


def test_loops_are_shared_in_each_case_of_a_stage() -> None:
    (h,) = special(hl, True)
    shown = h.lowered()
    assert "else" in shown
    assert len(set(re.findall(r"for ([fg])\.s0\.y", shown))) == 1


@pytest.mark.parametrize("kept", ["there", "around", "hoisted"])
@pytest.mark.parametrize("at", ["y", "x"])
def test_what_both_read_is_computed_where_they_share_a_loop(kept: str, at: str) -> None:
    def made(shared: bool) -> Any:
        p, f, g, h = hl.Func("p"), hl.Func("f"), hl.Func("g"), hl.Func("h")
        p[x, y] = x * y
        p[x, y] += y
        f[x, y] = p[x, y] + p[x, y + 1]
        g[x, y] = p[x, y + 21] - p[x + 1, y + 16]  # rows that would be kept where those of f are
        h[x, y] = f[x, y] * 100 + g[x, y - 3]
        for func in (f, g):
            func.compute_root()
        if shared:
            p.compute_at(f, at)
            if kept != "there":
                _ = p.store_root() if kept == "around" else p.hoist_storage_root()
            g.compute_with(f, x)
        return h

    for size in ([7, 9], [1, 1], [0, 3]):
        assert np.array_equal(np.asarray(made(True).realize(size)), np.asarray(made(False).realize(size)))


def test_what_one_of_them_reads_elsewhere_is_not_computed_in_a_loop_that_they_do_not_share() -> None:
    f, g = read_by_both(hl, False)
    p = f.function and next(iter(f.references.values()))
    p.compute_at(f, x)
    g.compute_with(f, y)
    with pytest.raises(ScheduleError, match="p is computed at f, x, but is also used outside that loop"):
        hl.Pipeline([f, g]).realize([4, 4])


_TURNS = {"split": "xo", "twice": "x", "fuse": "xo", "tile": "yi", "vectorize": "x", "rename": "xo"}
"""Ways of making loops, and one that is shared."""


def turns(api: Any, shared: bool, kind: str = "split") -> list[Any]:
    """Three stages of a function in the loops of another, however they are made."""
    x, y, xo, xi, yi, t = api.vars("x y xo xi yi t")
    f, g, h = api.funcs("f g h")
    f[x, y] = x * 3 + y
    f[x, y] += y * x
    f[x, y] = f[x, y] * 2 + 1
    g[x, y] = x - y
    h[x, y] = f[x, y + 2] * 100 + g[x, y] + f[x - 1, y]
    guarded = api.TailStrategy.GuardWithIf
    for func in (f, g):
        func.compute_root()
    for stage in (f, f.update(0), f.update(1), g):
        if kind == "split":
            stage.split(y, xo, xi, 3, guarded)
        elif kind == "twice":
            stage.split(y, xo, xi, 4, guarded).split(xo, xo, t, 2, guarded).reorder(t, x, xo, xi)
        elif kind == "fuse":
            stage.fuse(x, y, xo)
        elif kind == "tile":
            stage.tile(x, y, xo, t, xi, yi, 4, 3, guarded).parallel(t)
        elif kind == "vectorize":
            stage.vectorize(x, 4, guarded)
        else:
            stage.rename(y, xo)
    if shared:
        loop = api.Var(_TURNS[kind])
        f.compute_with(g, loop)
        f.update(0).compute_with(g, loop)
        f.update(1).compute_with(g, loop)
    return [h]


@pytest.mark.parametrize("kind", _TURNS)
def test_stages_of_a_function_run_in_turns_in_loops_made_alike(kind: str) -> None:
    def values(api: Any, shared: bool) -> Any:
        (h,) = turns(api, shared, kind)
        return np.asarray(h.realize([7, 8]))

    serial = values(hl, False)
    assert np.array_equal(values(hl, True), serial)
    shown = turns(hl, True, kind)[0].lowered()
    assert len(set(re.findall(rf"for ([fg]\.s\d)\.{_TURNS[kind]}\b", shown))) == 1
    assert np.array_equal(values(pytest.importorskip("halide"), True), serial)


@pytest.mark.parametrize("kind", ["fuse", "tile"])
def test_bounds_of_stages_in_turns_are_proven(kind: str) -> None:
    assert str(hl.Pipeline(turns(hl, True, kind)).verify()).startswith("proven")


def test_stages_that_are_ahead_of_an_earlier_one_are_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    f[x], g[x] = x * 3, x
    f[x] += f[x] // 2
    h[x] = f[x] + g[x + 1]
    for func in (f, g):
        func.compute_root()
    for stage, factor in ((f, 2), (f.update(), 3), (g, 2)):
        stage.split(x, xo, xi, factor)
    f.compute_with(g, xo)
    f.update().compute_with(g, xo)
    with pytest.raises(ScheduleError, match="in turns"):
        hl.Pipeline([h]).verify()
    monkeypatch.setattr(sys.modules["rfactor.compiler.lower.together"], "coordinates", lambda *given: ())
    found = hl.Pipeline([h]).verify()
    assert found.verdict == "unknown"
    assert {one.place.kind for one in found.obligations if one.verdict != "proven"} == {"computed"}


def test_stages_run_in_turns_in_each_case_of_them() -> None:
    def made(shared: bool, small: bool) -> Any:
        f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
        p = hl.Param(hl.Bool(), "p")
        p.set(small)
        f[x, y], g[x, y] = x + y, x - y
        f[x, y] += y
        h[x, y] = f[x, y] + g[x, y + 1]
        for func in (f, g):
            func.compute_root()
        if shared:
            for stage in (f, f.update(), g):
                stage.specialize(p).split(y, xo, xi, 2)
                stage.split(y, xo, xi, 4)
            f.compute_with(g, xo)
            f.update().compute_with(g, xo)
        return h.realize([3, 9])

    for small in (False, True):
        assert np.array_equal(np.asarray(made(True, small)), np.asarray(made(False, small)))


@pytest.mark.parametrize("why", ["factor", "box", "fused", "reduction", "recurrence", "cases"])
def test_stages_of_a_function_run_in_turns_only_where_they_stay_apart(why: str) -> None:
    f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
    r = hl.RDom([(1, 4)], "r")
    f[x, y], g[x, y] = x + y, x - y
    if why == "box":
        f[x, -3] = 5  # makes the box of the first stage larger than that of the last
    if why == "reduction":
        f[x, y] += f[x, y] * r
    elif why == "recurrence":
        g[x, y] = x * 2
        f[x, r.x] += f[x, r.x - 1]
        f[x, r.x] += f[x, r.x + 1]
        g[x, r.x] += 1
    else:
        f[x, y] += y
    h[x, y] = f[x, y] + g[x, y + 1] + f[x + 1, y]
    for func in (f, g):
        func.compute_root()
    last = f.update(1 if why in ("box", "recurrence") else 0)
    if why == "recurrence":
        f.update(0).compute_with(g.update(1), r.x)
        last.compute_with(g.update(1), r.x)
    else:
        for stage in (f, last, g):
            if why == "cases" and stage is last:
                stage.specialize(hl.Param(hl.Bool())).split(y, xo, xi, 3)
            if why == "fused":
                stage.fuse(*((y, x) if stage is last else (x, y)), xo)
            elif why == "reduction" and stage is last:
                stage.fuse(x, r.x, xi).fuse(xi, y, xo)
            else:
                stage.split(y, xo, xi, 2 if stage is not last or why != "factor" else 3)
        f.compute_with(g, xo)
        last.compute_with(g, xo)
    with pytest.raises(ScheduleError, match="an earlier stage of f runs with this or a later one"):
        h.lowered()


def drawn(random: Random, shared: bool) -> Any:
    """Two stages of other boxes under the same random directives, which share some loops if `shared`."""
    p, f, g, h = hl.Func("p"), hl.Func("f"), hl.Func("g"), hl.Func("h")
    p[x, y] = x * 5 - y
    f[x, y] = p[x + random.randint(-2, 2), y + random.randint(-2, 2)] * 2
    g[x, y] = p[x, y + random.randint(-1, 1)] - x * y
    if random.random() < 0.4:
        r = hl.RDom([(0, 3)], "r")
        f[x, y] += r.x * x
        g[x, 1] += 7
    a, b, c = (random.randint(-4, 6) for _ in range(3))
    h[x, y] = f[x + a, y + b] + f[x, y] * 3 + g[x + c, y // 2] * 11
    at = random.choice(["root", "root", "y", "x"])
    for func in (f, g):
        _ = func.compute_root() if at == "root" else func.compute_at(h, at)
    loops = ["y", "x"]
    for step in range(random.randint(0, 2)):
        loop, factor = random.choice(loops), random.choice([2, 3, 4])
        kind = random.choice(["split", "swap", "parallel", "unroll"])
        for func in (f, g):
            if kind == "split":
                func.split(loop, f"o{step}", f"i{step}", factor)
            elif kind == "swap":
                func.reorder(*loops)
            elif kind == "parallel":
                func.parallel(loop)
            else:
                func.unroll(loop, 2)
        loops = [d.name for d in reversed(f.stages[0].schedule.dimensions)]
    place = random.choice(["inline", "root", "at", "slide"])
    if place == "root":
        p.compute_root()
    inside, until = random.choice([f, g]), random.choice(loops)
    if place in ("at", "slide") and shared:
        if random.random() < 0.3:
            p.clone_in(g if inside is f else f).compute_root()
            p.compute_at(inside, random.choice(loops))
        else:
            p.compute_at(inside, random.choice(loops[: loops.index(until) + 1]))
        if place == "slide":
            p.store_root()
    if shared:
        g.compute_with(f, until)
    return h


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 40))
def test_random_stages_that_share_loops(seed: int) -> None:
    sizes = [seed % 9, seed // 9 % 7]
    before = expected(drawn(Random(seed), False), sizes)
    h = drawn(Random(seed), True)
    try:
        with tried(passes_of(seed)):
            after = computed(h, sizes)
    except ScheduleError as refused:
        if "stored outside" not in str(refused):
            raise
        return
    assert same(before[0], after[0]), f"{before[0]}\n{after[0]}\n{h.lowered()}"
