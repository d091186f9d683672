"""Wrong programs end in an error that says whose directive it is, which one, of what, and what would work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import AlgorithmError, Error, FileError, OutOfBounds, ScheduleError, TargetError, TypeMismatch

x, y, u, xo, xi = (hl.Var(name) for name in ("x", "y", "u", "xo", "xi"))


class Programs:
    """What directives are given to: `f` reads `p`, `s` is the sum over `r`."""

    def __init__(self) -> None:
        self.p, self.f, self.s, self.a = hl.Func("p"), hl.Func("f"), hl.Func("s"), hl.Func("a")
        self.p[x, y] = x * 3 + y * 7
        self.a[x, y] = x + y
        self.f[x, y] = self.p[x - 1, y] + self.p[x + 1, y + 1] + self.a[x, y]
        self.r = hl.RDom([(0, 16), (0, 16)], "r")
        self.b = hl.Buffer(np.arange(256, dtype=np.int32).reshape(16, 16), "b")
        self.s[()] = 0
        self.s[()] += self.b[self.r.x, self.r.y]

    def realized(self) -> Any:
        return np.asarray(self.f.realize([4, 4])).tolist()


REFUSED: list[tuple[Callable[[Programs], object], type[Error], str]] = [
    # the Func, the stage, the directive
    (lambda o: o.f.split(None, xo, xi, 4), ScheduleError, "^f: split: None names no loop"),
    (lambda o: o.s.update().rfactor(None, u), ScheduleError, r"^s\.update\(0\): rfactor: None names no loop"),
    (lambda o: o.f.split(x, xo, xi, hl.Expr()), AlgorithmError, r"^f: split: Expr\(\) is no expression yet"),
    (lambda o: o.f.vectorize(x, 0), ScheduleError, r"^f: vectorize: split\(x\) by 0: the factor must be"),
    (lambda o: o.f.rename(x, y), ScheduleError, "^f: rename: split: the name y is taken"),
    (lambda o: o.p.bound(x, 0.5, 2), TypeMismatch, "^p: bound: .* write i32"),
    (lambda o: o.p.compute_at(o.f), ScheduleError, "^p: compute_at takes a function and one of its loops"),
    (lambda o: o.p.compute_at(None, y), ScheduleError, "^p: compute_at takes .* not None"),
    (lambda o: o.p.prefetch(3, x, x), TypeMismatch, r"^p: prefetch: Func.prefetch\(\) takes as image: "),
    (lambda o: o.p.store_in(3), TypeMismatch, "^p: store_in takes a MemoryType, not 3"),
    (lambda o: o.p.bound(u, 0, 2), ScheduleError, r"^bound\(u\): p has no such pure variable; it has x, y"),
    (lambda o: o.s.update().fuse(o.r.x, o.r.x, u), ScheduleError, r"^s\.update\(0\): fuse\(r\.x, r\.x\): two diff"),
    # what is no tail strategy, no factor, no meaning
    (lambda o: o.f.split(x, xo, xi, 4, "GuardWithIf"), TypeMismatch, "^f: split.* takes a TailStrategy, .* not 'Gu"),
    (lambda o: o.f.parallel(x, 4, 3), TypeMismatch, "^f: parallel: split.* takes a TailStrategy, .* not 3"),
    (
        lambda o: o.f.split(x, xo, xi, 2**40),
        ScheduleError,
        "^f: split.x. by 1099511627776 makes a loop .* of i32",
    ),
    (
        lambda o: o.s.update().rfactor(o.r.x, u, semantics="foo"),
        TypeMismatch,
        r"^s\.update\(0\): rfactor: .* as semantics: Literal\['wrap', 'math'\], not 'foo'",
    ),
    (lambda o: o.p.in_([]), ScheduleError, "empty list of Funcs: p.in_.. is for all"),
    # loops that are not there
    (lambda o: (o.p.compute_at(hl.Func("z"), x), o.realized()), ScheduleError, r"^p is computed at z, x, but .* none"),
    (lambda o: (o.p.compute_at(o.f, u), o.realized()), ScheduleError, "f has no such loop; it has x, y"),
    (
        lambda o: (o.p.compute_root().compute_with(o.a, y), o.a.compute_root().compute_with(o.p, y), o.realized()),
        ScheduleError,
        "^Found cyclic dependencies between compute_with of [ap] and [ap]: leave out one of the two",
    ),
    (
        lambda o: (o.p.compute_at(hl.LoopLevel()), o.realized()),
        ScheduleError,
        "no undefined LoopLevels at the start of lowering: set that of p, or",
    ),
    # names that code cannot hold
    (lambda o: hl.Func("a\0b"), AlgorithmError, "has a character that code cannot hold"),
    (lambda o: hl.Var("a\0b"), AlgorithmError, "has a character that code cannot hold"),
    (lambda o: hl.Buffer(np.zeros(3, np.int32), "\ud800"), AlgorithmError, "has a character that code cannot hold"),
    (lambda o: o.f.split(x, "a\0", "b", 4), AlgorithmError, "^f: split: the name 'a.x00' has a character"),
    # a domain that is in use
    (lambda o: o.r.where(o.r.x > 2), AlgorithmError, "^r cannot be given a new predicate, .* update definition of s"),
    # counts
    (lambda o: hl.Pipeline(o.f).get_func(3), OutOfBounds, r"get_func\(3\): there are 3 functions in the pipeline"),
    (lambda o: hl.Pipeline(o.f).get_func(-1), OutOfBounds, "there are 3 functions"),
]


@pytest.mark.parametrize(("wrong", "kind", "says"), REFUSED)
def test_a_wrong_program_is_told_what_is_wrong(
    wrong: Callable[[Programs], object], kind: type[Error], says: str
) -> None:
    with pytest.raises(kind, match=says):
        wrong(Programs())


def test_what_is_refused_changes_nothing() -> None:
    expected = Programs().realized()
    for wrong, _, _ in REFUSED[:17]:
        o = Programs()
        with pytest.raises(Error):
            wrong(o)
        assert o.realized() == expected


def test_a_predicate_before_the_update_leaves_points_out() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 10)], "r")
    r.where(r.x > 2)
    r.where(r.x < 5)
    f[()] = 0
    f[()] += r.x
    assert np.asarray(f.realize([])).item() == 7


def test_arguments_and_names_of_written_functions(tmp_path: Path) -> None:
    o, im = Programs(), hl.ImageParam(hl.Int(32), 1, "im")
    g = hl.Func("g")
    g[x] = im[x]
    with pytest.raises(AlgorithmError, match="compile_to_callable has one twice: im, im"):
        g.compile_to_callable([im, im])
    file = str(tmp_path / "f.c")
    for name in ("for", "int", "class"):
        with pytest.raises(AlgorithmError, match=f"'{name}' is no name for a function: .* give another as fn_name"):
            o.f.compile_to_c(file, [], name)
    wrong: Any = "html"
    with pytest.raises(TypeMismatch, match=r"StmtOutputFormat\.Text or StmtOutputFormat\.HTML, not as 'html'"):
        o.f.compile_to_lowered_stmt(file, [], wrong)
    assert not list(tmp_path.iterdir())
    for arm in (hl.Target("arm-64-linux"), hl.Target("arm-64-linux-sve2")):
        with pytest.raises(TargetError, match=r"x86 alone, not on arm-64-linux: .* compile_to_object once for each"):
            o.f.compile_to_multitarget_static_library(str(tmp_path / "f"), [], [arm, hl.Target("arm-64-linux")])


def test_texts_and_files_that_cannot_be_written(tmp_path: Path) -> None:
    n, g = hl.Param(hl.Int(32), "n", 1), hl.Func("g")
    g[x] = hl.print(hl.require(n > 3, x, "one\ud800"), "two\ud800")
    g.compile_jit()
    g.compile_to_c(str(tmp_path / "g.c"), [n], "g")
    g.compile_to_object(str(tmp_path / "g.o"), [n], "g")
    assert all(text in (tmp_path / "g.o").read_bytes() for text in (b"one?", b"two?"))
    for file in (f"{tmp_path}/a\0b.npy", f"{tmp_path}/no/a.tmp"):
        h = hl.Func("h")
        h[x] = x
        h.debug_to_file(file)
        with pytest.raises(FileError, match="cannot write "):
            h.realize([3])
