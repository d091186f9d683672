"""One case of a specialized update, factored by itself: other cases, and the runs that they decide, are as before."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import frozen
from rfactor.compiler.pipeline import loop_nest
from rfactor.compiler.verify.verify import bounded_nest, verify_nest
from rfactor.errors import BufferError, FactorError, ScheduleError
from rfactor.ir.expr import Const
from rfactor.ir.loopnest import If, Produce, Stmt
from rfactor.ir.types import BOOL
from tests.compiler.corrupt import parts
from tests.compiler.pipelines import agrees, expected
from tests.compiler.test_lowering import checks, printed

x, u, v, w = (hl.Var(name) for name in ("x", "u", "v", "w"))
ro, ri = hl.RVar("ro"), hl.RVar("ri")
WIDTH, HEIGHT = 11, 5


class Program:
    """An update over the elements of an image, by the parameters p and q."""

    def __init__(self, start: Any, update: Callable[[Any, Any, Any, Any], Any], where: Any = None) -> None:
        self.p, self.q = hl.Param(hl.Int(32), "p", 0), hl.Param(hl.Int(32), "q", 0)
        self.a = hl.ImageParam(hl.Int(32), 2, "a")
        self.a.set(np.random.default_rng(7).integers(0, 9, (HEIGHT, WIDTH)).astype(np.int32))
        self.r = hl.RDom([(0, self.a.width()), (0, self.a.height())], "r")
        if where is not None:
            self.r.where(where(self.r, self.a, self.p))
        self.f = hl.Func("f")
        self.f[()] = start
        self.f[()] = update(self.f[()], self.a[self.r.x, self.r.y], self.r, self.p)

    def case(self, condition: Any) -> Any:
        return self.f.update(0).specialize(condition)

    def values(self) -> dict[tuple[int, int], list[Any]]:
        """What the interpreter says of the function as it is, in all runs."""
        found = {}
        for given in ((0, 0), (2, 1), (4, 0), (4, 7), (9, 2)):
            self.p.set(given[0])
            self.q.set(given[1])
            found[given] = expected(self.f, [])
        return found

    def agrees(self, before: dict[tuple[int, int], list[Any]]) -> None:
        """What is computed, and what the algorithm means now, is what it was before."""
        assert self.values() == before
        for (p, q), answer in before.items():
            self.p.set(p)
            self.q.set(q)
            agrees(self.f, answer, [])


def summed() -> Program:
    return Program(hl.i32(0), lambda f, a, r, p: f + a)


def argmin(f: Any, a: Any, r: Any, p: Any) -> Any:
    return hl.min(f[0], a), hl.select(f[0] < a, f[1], r.x), hl.select(f[0] < a, f[2], r.y)


PROGRAMS: dict[str, Callable[[], Program]] = {
    "sum": summed,
    "argmin, whose identity is on the left": lambda: Program((hl.i32(100), hl.i32(-1), hl.i32(-1)), argmin),
    "the last element": lambda: Program(hl.i32(5), lambda f, a, r, p: a),
    "the last element that is left": lambda: Program(
        hl.i32(5), lambda f, a, r, p: a, lambda r, a, p: (a[r.x, r.y] % 3 == 1) & (r.x + p < 12)
    ),
    "in order": lambda: Program(hl.i32(1), lambda f, a, r, p: f * 31 + a),
    "of two": lambda: Program((hl.i32(0), hl.i32(1)), lambda f, a, r, p: (f[0] + a, f[1] * (a | 1))),
    "of a choice": lambda: Program(hl.i32(0), lambda f, a, r, p: hl.select(p > 3, f + a, hl.max(f, a))),
    "where": lambda: Program(hl.i32(0), lambda f, a, r, p: f + a, lambda r, a, p: (r.x >= p) & (a[r.x, r.y] > 2)),
}


def rows(program: Program) -> None:
    made = program.case(program.p > 3).rfactor(program.r.y, u)
    made.update(0).parallel(u)


def chunks(program: Program) -> None:
    case = program.case(program.p > 3)
    case.split(program.r.x, ro, ri, 4)
    case.rfactor([(program.r.y, u), (ro, v)]).update(0).parallel(u)


def several(program: Program) -> None:
    program.case(program.p > 8).rfactor(program.r.y, u)
    program.case(program.p > 3)
    program.case(program.p > 1).rfactor([(program.r.y, u), (program.r.x, v)])


def nested(program: Program) -> None:
    outer = program.case(program.p > 1)
    inner = outer.specialize(program.q > 5)
    inner.rfactor(program.r.y, u)
    outer.specialize(program.q > 0)
    outer.rfactor([])


def within(program: Program) -> None:
    case = program.case(program.p > 3)
    case.rfactor(program.r.y, u).update(0).specialize(program.q > 5).rfactor(program.r.x, v)
    case.specialize(program.q > 5).rfactor(program.r.y, w)


def again(program: Program) -> None:
    case = program.case(program.p > 3)
    case.rfactor([(program.r.y, u), (program.r.x, v)])
    made = case.rfactor(program.r.y, w)
    made.update(0).unroll(program.r.x, 2)
    made.specialize(program.q > 0).vectorize(w, 4)


def rest(program: Program) -> None:
    program.case(program.p > 3).rfactor(program.r.y, u)
    program.case(program.p > 1)
    program.f.update(0).rfactor(program.r.y, v)


SCHEDULES = [rows, chunks, several, nested, within, again, rest]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("what", PROGRAMS)
def test_a_factored_case_has_the_serial_bits(what: str, schedule: Callable[[Program], None]) -> None:
    program = PROGRAMS[what]()
    before = program.values()
    schedule(program)
    program.agrees(before)


def test_in_the_mathematical_meaning_too() -> None:
    program = Program(hl.i32(0), lambda f, a, r, p: hl.select(f + a > 1000, 1000, f + a))
    before = program.values()
    case = program.case(program.p > 3)
    with pytest.raises(FactorError, match="associative"):
        case.rfactor(program.r.y, u)
    case.rfactor(program.r.y, u, semantics="math")
    program.agrees(before)


def test_the_nest_has_the_cases_in_their_order() -> None:
    program = summed()
    case = program.case(program.p > 3)
    case.rfactor(program.r.y, u).update(0).parallel(u)
    program.case(program.p > 2).unroll(program.r.x, 2)
    assert loop_nest([program.f]) == dedent("""\
        produce f_intm:
          for u:
            f_intm(...) = ...
          parallel u:
            for r:
              f_intm(...) = ...
        consume f_intm:
          produce f:
            f(...) = ...
            for r:
              f(...) = ...
            for r:
              for r.r:
                unrolled r.r0 in [0, 1]:
                  f(...) = ...
            for r:
              for r:
                f(...) = ...
        """)


def test_directives_that_follow_are_of_the_case_alone() -> None:
    program = summed()
    before = program.values()
    case = program.case(program.p > 3)
    case.split(program.r.x, ro, ri, 4)
    made = case.rfactor([(ri, u)])
    made.compute_root().vectorize(u).update(0).vectorize(u)
    case.unroll(ri)
    assert case.dump_argument_list() == "Vars: ri __outermost\n"
    assert program.f.update(0).dump_argument_list() == "Vars: r$x r$y __outermost\n"
    assert program.f.update_value(0).node == (program.f[()] + program.a[program.r.x, program.r.y]).node
    program.agrees(before)


def test_an_intermediate_is_computed_in_the_runs_of_its_case() -> None:
    program = summed()
    program.case(program.p > 3).rfactor(program.r.y, u)
    program.case(program.q > 0).rfactor(program.r.x, u)
    text = re.sub(r"\$\d+", "", printed(program.f, "tidy"))
    assert re.findall(r"if (.*):\n +produce (\w+)", text) == [("p > 3", "f_intm"), ("p <= 3 and q > 0", "f_intm")]
    assert "i64(max(select(p > 3, a.extent.1, 0), 0))" in text  # its storage


def test_what_an_intermediate_needs_is_computed_in_those_runs(capsys: pytest.CaptureFixture[str]) -> None:
    p, g, f, r = hl.Param(hl.Int(32), "p"), hl.Func("g"), hl.Func("f"), hl.RDom([(0, 4), (0, 3)], "r")
    g[x] = hl.print_when(x == 1, x * 3, "g")
    f[()] = 0
    f[()] += hl.select(p > 3, g[r.x] + r.y, r.y)
    before = {}
    for value in (1, 5):
        p.set(value)
        before[value] = expected(f, [])
    made = f.update(0).specialize(p > 3).rfactor(r.y, u)
    g.compute_at(made, u).store_root()
    told = {}
    for value in (1, 5):
        p.set(value)
        capsys.readouterr()
        agrees(f, before[value], [])
        told[value] = "g" in capsys.readouterr().out
    assert told == {1: False, 5: True}


def test_a_case_asks_for_nothing_in_other_runs() -> None:
    p, n, r = hl.Param(hl.Int(32), "p", 1), hl.Param(hl.Int(32), "n", 3), None
    a, f = hl.ImageParam(hl.Int(32), 1, "a"), hl.Func("f")
    r = hl.RDom([(0, n), (0, n)], "r")
    f[()] = 0
    f[()] += hl.select(p > 3, a[r.x * 2 + r.y], a[r.x])
    made = f.update(0).specialize(p > 3).rfactor([(r.y, u), (r.x, v)])
    made.bound(u, 0, 4)
    for value, size in ((1, 3), (5, 8)):  # of 4 rows
        p.set(value)
        a.reset()
        f.infer_input_bounds([])
        assert a.get().width() == size
    a.set(np.arange(100, dtype=np.int32))
    p.set(1)
    n.set(40)
    assert np.asarray(f.realize([])) == sum(range(40)) * 40
    p.set(5)
    with pytest.raises(BufferError, match=r"Bounds given for f\S*_intm in u \(from 0 to 3\) do not cover"):
        f.realize([])


def test_a_case_has_no_storage_in_other_runs() -> None:
    few = hl.Param(hl.Bool(), "few", False)
    a, f, x0 = hl.ImageParam(hl.UInt(8), 2, "a"), hl.Func("f"), hl.Var("x0")
    r = hl.RDom([(0, a.width()), (0, a.height())], "r")
    f[x0] = hl.u8(0)
    f[x0] += a[r.x, r.y]
    f.update(0).specialize(few).rfactor([(r.y, u), (r.x, v)])
    a.set(np.ones((1 << 14, 1), np.uint8))
    assert np.asarray(f.realize([1])).tolist() == [0]
    out = hl.Buffer(hl.UInt(8), [1 << 18])
    f.realize(out)  # 2^32 elements would be there
    few.set(True)
    with pytest.raises(BufferError, match=r"the storage of f\S*_intm would exceed"):
        f.realize(out)


def test_what_its_conditions_say_is_known_to_a_case() -> None:
    program = Program(hl.i32(1), lambda f, a, r, p: hl.select(p > 3, f + a, f * f + a))
    before = program.values()
    with pytest.raises(FactorError):
        program.f.update(0).rfactor(program.r.y, u)
    with pytest.raises(FactorError):
        program.case(program.q > 0).rfactor(program.r.y, u)
    made = program.case(program.p > 7).rfactor(program.r.y, u)
    assert str(made.update_value(0)) == "f_intm[u] + a[r$x, u]" or "select" not in str(made.update_value(0))
    program.agrees(before)
    other = Program(hl.i32(1), lambda f, a, r, p: hl.select(p > 3, f * f + a, f + a))
    before = other.values()
    other.case(other.p > 3)
    other.case(other.q > 0).rfactor(other.r.y, u)  # where the one before does not hold
    other.agrees(before)


def test_no_case_that_holds_stops_a_run() -> None:
    program = summed()
    before = program.values()
    program.case(program.p > 3).rfactor(program.r.y, u)
    program.case(program.p > 1).specialize(program.q == 1).rfactor(program.r.y, v)
    program.case(program.p > 1).specialize_fail("{not} one")
    program.f.update(0).specialize_fail("too few")
    for (p, q), answer in before.items():
        program.p.set(p)
        program.q.set(q)
        if p > 1:
            agrees(program.f, answer, [])
        else:
            with pytest.raises(BufferError, match=r"specialize_fail\(\) was chosen: too few"):
                program.f.realize([])
    program.p.set(2)
    program.q.set(0)
    with pytest.raises(BufferError, match=r"was chosen: \{not\} one"):
        program.f.realize([])


def test_what_is_said_of_a_case_names_the_update_that_it_is_of() -> None:
    p, f, g = hl.Param(hl.Int(32), "p"), hl.Func("f"), hl.Func("g")
    a = hl.ImageParam(hl.Int(32), 1, "a")
    r = hl.RDom([(0, 10)], "r")
    f[x] = 0
    f[r] += a[r]
    f[x] += 1
    f[r] += a[r + 1]
    f.update(0).specialize(p > 3).rfactor(r, u)
    f.update(1).unscheduled()
    f.update(2).unscheduled()
    readers = [line for line in checks(f) if "is read" in line]
    assert readers
    assert all("read by f_intm.update(0), f.update(0), f.update(2):" in line for line in readers)
    written = next(line for line in checks(f) if "is computed" in line)
    assert "written by f.update(0), f.update(2):" in written
    g[x] = 0
    g[x] += x
    g.compute_root()
    h = hl.Func("h")
    h[x] = f[x] + g[x]
    f.compute_root()
    f.update(1).compute_with(g.update(0), x)
    a.set(np.arange(11, dtype=np.int32))
    p.set(1)
    before = expected(h, [20])
    for value in (1, 5):
        p.set(value)
        agrees(h, before, [20])
    f.update(0).compute_with(g, r)
    with pytest.raises(ScheduleError, match=r"compute_with\(g, r.x\): g.s0 has no such loop"):
        h.lowered()


def test_a_clone_has_the_cases_of_its_function() -> None:
    program = summed()
    first, second = hl.Func("first"), hl.Func("second")
    first[()] = program.f[()] + 1
    second[()] = program.f[()] * 2 + first[()]
    program.f.compute_root()
    program.case(program.p > 3).rfactor(program.r.y, u)
    copy = program.f.clone_in(second)
    copy.compute_root()
    for value in (1, 5):
        program.p.set(value)
        agrees(second, expected(second, []), [])
        assert np.asarray(second.realize([])) == 3 * int(program.a.get().array.sum()) + 1


def test_bounds_of_cases_are_proven_and_wrong_ones_are_not() -> None:
    program = summed()
    case = program.case(program.p > 3)
    case.split(program.r.x, ro, ri, 8)
    case.rfactor([(program.r.y, u), (ri, v)])
    program.case(program.q > 2).rfactor(program.r.y, w)
    assert program.f.verify().verdict == "proven"
    pipeline = frozen((program.f,))
    nest, algorithm, schedule = bounded_nest(pipeline.algorithm, pipeline.schedule)
    assert verify_nest(nest, algorithm, schedule).verdict == "proven"
    assert verify_nest(_never(nest), algorithm, schedule).verdict == "refuted"


def _never(stmt: Stmt) -> Stmt:
    """The nest with the functions of cases computed in no run."""
    if isinstance(stmt, If) and isinstance(stmt.then, Produce):
        return replace(stmt, condition=Const(BOOL, False))
    for number in range(len(list(parts(stmt)))):
        part, put = list(parts(stmt))[number]
        stmt = put(_never(part))
    return stmt


def test_what_is_no_update_has_nothing_to_factor() -> None:
    program = summed()
    with pytest.raises(ScheduleError, match=r"f is a pure definition, which reduces nothing"):
        program.f.specialize(program.p > 3).rfactor([])
    case = program.case(program.p > 3)
    with pytest.raises(FactorError, match=r"rfactor of f.update\(0\) over r.z: r.z is no reduction variable"):
        case.rfactor("r.z", u)
