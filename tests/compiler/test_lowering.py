"""What each pass of lowering prints."""

from __future__ import annotations

import itertools
import re
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language.freeze import freeze
from rfactor.compiler.lower import affine, passes
from rfactor.errors import AlgorithmError, ScheduleError
from rfactor.ir.nest_printer import show_nest

x, y, xo, xi, i = (hl.Var(name) for name in ("x", "y", "xo", "xi", "i"))


def printed(func: Any, name: str) -> str:
    """The nest after a pass, without its checks."""
    frozen = freeze(func)
    text = show_nest(dict(passes(frozen.algorithm, frozen.schedule))[name])
    return "".join(line + "\n" for line in text.splitlines() if not line.lstrip().startswith("assert"))


def checks(func: Any) -> list[str]:
    frozen = freeze(func)
    text = show_nest(dict(passes(frozen.algorithm, frozen.schedule))["final"])
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("assert")]


def line(type: Any = None) -> Any:
    return hl.ImageParam(type or hl.Int(32), 1, "a")


def test_a_nest_is_born_with_holes() -> None:
    a, g, f = line(), hl.Func("g"), hl.Func("f")
    g[x] = a[x] * 2
    f[x] = g[x] + g[x + 1]
    g.compute_root()
    assert printed(f, "nest") == dedent("""\
        realize g((g.min.0, g.extent.0)): i32
        produce g:
          for g.s0.x in (g.s0.x.min, g.s0.x.extent):
            g(g.s0.x) = a(g.s0.x) * 2
        produce f:
          for f.s0.x in (f.s0.x.min, f.s0.x.extent):
            f(f.s0.x) = g(f.s0.x) + g(f.s0.x + 1)
        """)


def test_bounds_fill_the_holes_of_consumers_before_those_of_producers() -> None:
    a, g, f = line(), hl.Func("g"), hl.Func("f")
    g[x] = a[x] * 2
    f[x] = g[x] + g[x + 1]
    g.compute_root()
    assert printed(f, "bounds") == dedent("""\
        let f.s0.x.min = f.min.0
        let f.s0.x.extent = f.extent.0
        let g.s0.x.min = f.min.0
        let g.s0.x.extent = f.extent.0 + 1
        let g.min.0 = f.min.0
        let g.extent.0 = f.extent.0 + 1
        realize g((g.min.0, g.extent.0)): i32
        produce g:
          for g.s0.x in (g.s0.x.min, g.s0.x.extent):
            g(g.s0.x) = a(g.s0.x) * 2
        produce f:
          for f.s0.x in (f.s0.x.min, f.s0.x.extent):
            f(f.s0.x) = g(f.s0.x) + g(f.s0.x + 1)
        """)


def test_a_pure_function_is_inlined_unless_it_is_scheduled() -> None:
    a, g, f = line(), hl.Func("g"), hl.Func("f")
    g[x] = a[x] * 2
    f[x] = g[x] + g[x + 1]
    assert printed(f, "nest") == dedent("""\
        produce f:
          for f.s0.x in (f.s0.x.min, f.s0.x.extent):
            f(f.s0.x) = a(f.s0.x) * 2 + a(f.s0.x + 1) * 2
        """)


def test_compute_at_makes_a_producer_as_large_as_one_iteration_needs() -> None:
    a, g, f = line(), hl.Func("g"), hl.Func("f")
    g[x] = a[x] * 2
    f[x] = g[x] + g[x + 1]
    f.split(x, xo, xi, 4)
    g.compute_at(f, xo)
    assert "    allocate g.0[i32 * 5]\n" in printed(f, "storage")
    assert printed(f, "nest") == dedent("""\
        produce f:
          for f.s0.xo in (0, (f.s0.x.extent + 3) // 4):
            realize g((g.min.0, g.extent.0)): i32
            produce g:
              for g.s0.x in (g.s0.x.min, g.s0.x.extent):
                g(g.s0.x) = a(g.s0.x) * 2
            for f.s0.xi in (0, 4):
              if f.s0.xo * 4 + f.s0.xi + f.s0.x.min < f.s0.x.min + f.s0.x.extent:
                f(f.s0.xo * 4 + f.s0.xi + f.s0.x.min) = g(f.s0.xo * 4 + f.s0.xi + f.s0.x.min) \
+ g(f.s0.xo * 4 + f.s0.xi + f.s0.x.min + 1)
        """)


def test_the_update_of_a_tuple_reads_all_components_before_it_writes_any() -> None:
    f, r = hl.Func("f"), hl.RDom([(0, 5)], "r")
    f[()] = (0, 1)
    f[()] = (f[()][1], f[()][0] + r.x)
    assert printed(f, "tidy") == dedent("""\
        produce f:
          f.0[0] = 0
          f.1[0] = 1
          for f.s1.r.x in (0, 5):
            let f.0.value = f.1[0]
            let f.1.value = f.0[0] + f.s1.r.x
            f.0[0] = f.0.value
            f.1[0] = f.1.value
        """)


def test_a_guarded_tail_is_split_from_the_main_loop() -> None:
    a, f = line(), hl.Func("f")
    f[x] = a[x] + 1
    f.vectorize(x, 8)
    assert printed(f, "partition") == dedent("""\
        produce f:
          let f.s0.x.tail = max(min(max((f.extent.0 + 7) // 8, 0), f.extent.0 // 8), 0)
          for f.s0.x in (0, f.s0.x.tail):
            vectorized for f.s0.x.vectorize in (0, 8):
              f.0[i64(f.s0.x) * 8 + i64(f.s0.x.vectorize) + i64(f.min.0) - i64(f.0.min.0)] = \
a[i64(f.s0.x) * 8 + i64(f.s0.x.vectorize) + i64(f.min.0) - i64(a.min.0)] + 1
          for f.s0.x in (f.s0.x.tail, max((f.extent.0 + 7) // 8, 0) - f.s0.x.tail):
            vectorized for f.s0.x.vectorize in (0, 8):
              if f.s0.x * 8 + f.s0.x.vectorize + f.min.0 < f.min.0 + f.extent.0:
                f.0[i64(f.s0.x) * 8 + i64(f.s0.x.vectorize) + i64(f.min.0) - i64(f.0.min.0)] = \
a[i64(f.s0.x) * 8 + i64(f.s0.x.vectorize) + i64(f.min.0) - i64(a.min.0)] + 1
        """)


def test_a_guard_that_differs_between_lanes_becomes_a_predicate() -> None:
    a, f = line(), hl.Func("f")
    f[x] = a[x] + 1
    f.vectorize(x, 8)
    guard = "ramp(f.s0.x * 8 + f.min.0, 1, 8) < x8(f.min.0 + f.extent.0)"
    assert printed(f, "vectorize") == dedent(f"""\
        produce f:
          let f.s0.x.tail = max(min(max((f.extent.0 + 7) // 8, 0), f.extent.0 // 8), 0)
          for f.s0.x in (0, f.s0.x.tail):
            f.0[ramp(i64(f.s0.x) * 8 + i64(f.min.0) - i64(f.0.min.0), 1, 8)] = \
a[ramp(i64(f.s0.x) * 8 + i64(f.min.0) - i64(a.min.0), 1, 8)] + x8(1)
          for f.s0.x in (f.s0.x.tail, max((f.extent.0 + 7) // 8, 0) - f.s0.x.tail):
            f.0[ramp(i64(f.s0.x) * 8 + i64(f.min.0) - i64(f.0.min.0), 1, 8)] = \
a[ramp(i64(f.s0.x) * 8 + i64(f.min.0) - i64(a.min.0), 1, 8) if {guard}] + x8(1) if {guard}
        """)


def test_a_parallel_loop_asks_per_iteration_whether_it_needs_its_guard() -> None:
    a, f = line(), hl.Func("f")
    f[x] = a[x]
    f.split(x, xo, xi, 8).parallel(xo)
    text = printed(f, "partition")
    assert text.count("parallel for") == 1
    assert "if f.s0.xo < min(" in text
    assert "else:" in text


def test_unrolled_iterations_stand_one_after_the_other() -> None:
    f = hl.Func("f")
    f[x, i] = x + i
    f.reorder(i, x).unroll(i, 2)
    text = printed(f, "final")
    assert "unrolled" not in text
    assert text.count("f.0[") >= 2


def test_a_loop_of_unknown_extent_is_not_vectorized() -> None:
    f = hl.Func("f")
    f[x] = x
    f.vectorize(x)
    with pytest.raises(ScheduleError, match=r"f\.s0\.x cannot be vectorized: its extent .* give vectorize a factor"):
        f.lowered()


def test_a_scatter_is_bounded_by_the_type_of_its_data() -> None:
    b, f = hl.ImageParam(hl.UInt(8), 1, "b"), hl.Func("f")
    r = hl.RDom(b, "r")
    f[i] = 0
    f[hl.i32(b[r.x])] += 1
    (stored,) = [check for check in checks(f) if "'output f is computed" in check]
    assert "max(i64(f.min.0) + i64(f.extent.0) - 1, 255)" in stored


def test_an_index_that_nothing_bounds_is_refused() -> None:
    b, f = hl.ImageParam(hl.Int(32), 1, "b"), hl.Func("f")
    r = hl.RDom([(0, 4)], "r")
    f[i] = 0
    f[b[r.x]] += 1
    with pytest.raises(AlgorithmError, match=r"f is read at b\(f.s1.r.x\) .* nothing bounds .* clamp\("):
        f.lowered()
    g = hl.Func("g")
    g[i] = 0
    g[hl.clamp(b[r.x], 0, 9)] += 1
    assert "max(g.min.0 + g.extent.0 - 1, 9)" in g.lowered()


def test_a_predicate_bounds_what_is_read_under_it() -> None:
    a, f = line(), hl.Func("f")
    r = hl.RDom([(0, 100)], "r")
    r.where(r.x * 2 + 1 < a.width())
    f[()] = 0
    f[()] += a[r.x * 2 + 1]
    (read,) = [check for check in checks(f) if "'input a is read" in check]
    assert "min(i64(a.extent.0) - 1, 199)" in read or "min(199, i64(a.extent.0) - 1)" in read


def test_conditions_that_read_data_stay_inside_those_that_do_not() -> None:
    a, f = line(), hl.Func("f")
    r = hl.RDom([(0, 9), (0, 3)], "r")
    r.where((a[r.x] > 0) & (r.y > 1))
    f[()] = 0
    f[()] += r.x
    assert printed(f, "nest") == dedent("""\
        produce f:
          f() = 0
          for f.s1.r.y in (0, 3):
            if f.s1.r.y > 1:
              for f.s1.r.x in (0, 9):
                if a(f.s1.r.x) > 0:
                  f() = f() + f.s1.r.x
        """)


def test_the_loops_print_as_halide_prints_them(capsys: pytest.CaptureFixture[str]) -> None:
    a, g, f = line(), hl.Func("g"), hl.Func("f")
    g[x] = a[x]
    f[x, y] = g[x] + y
    f.parallel(y).vectorize(x, 4)
    g.compute_at(f, y)
    f.print_loop_nest()
    assert capsys.readouterr().err == dedent("""\
        produce f:
          parallel y:
            produce g:
              for x:
                g(...) = ...
            consume g:
              for x.x:
                vectorized x.v0 in [0, 3]:
                  f(...) = ...
        """)


@pytest.mark.parametrize(("factor", "copies"), [(8, 4), (32, 1)])
def test_partitioning_grows_the_nest_by_one_copy_a_guard_at_most(factor: int, copies: int) -> None:
    f = hl.Func("f")
    f[x, y, i] = x + y + i
    for v in (x, y, i):
        f.split(v, v, hl.Var(f"{v}i"), factor)
    assert printed(f, "partition").count("f.0[") == copies


def test_a_bound_that_follows_from_many_is_put_together_once_a_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """At each stage the bounds of all stages before are known through one another: a few of each, not all again."""
    count, filled, replace = 24, [], affine.replace_terms

    def counted(*given: Any) -> Any:
        filled.append(given)
        return replace(*given)

    monkeypatch.setattr(affine, "replace_terms", counted)
    fs = [hl.Func(f"f{number}") for number in range(count)]
    fs[0][x, y] = x + y
    for before, f in itertools.pairwise(fs):
        f[x, y] = before[x - 1, y] + before[x, y + 1]
    fs[-1].split(y, y, i, 8).vectorize(x, 8)
    for f in fs[:-1]:
        f.compute_at(fs[-1], y).vectorize(x, 8)
    printed(fs[-1], "bounds")
    assert len(filled) < 8 * count * count


def test_a_guard_that_a_loop_alone_decides_becomes_its_range() -> None:
    f = hl.Func("f")
    f[x] = x
    f.split(x, xo, xi, 32)
    assert printed(f, "partition") == dedent("""\
        produce f:
          for f.s0.xo in (0, (f.extent.0 + 31) // 32):
            for f.s0.xi in (0, min(32, f.extent.0 - f.s0.xo * 32)):
              f.0[i64(f.s0.xo) * 32 + i64(f.s0.xi) + i64(f.min.0) - i64(f.0.min.0)] = \
f.s0.xo * 32 + f.s0.xi + f.min.0
        """)


def test_a_chunk_beside_the_last_vector_ends_where_the_domain_does() -> None:
    """It is not 262144 iterations long, of which all but some do nothing."""
    a, f, r = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("f"), hl.RDom([(0, hl.Param(hl.Int(32), "n"))], "r")
    f[x] = 0
    f[x] += a[x, r.x]
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f.update().split(r.x, ro, ri, 1 << 18).reorder(ri, x, ro).vectorize(x, 8)
    text = printed(f, "partition")
    assert text.count("(0, i32(max(min(262144, ") == 2
    assert "(0, 262144)" not in text


def test_a_short_loop_around_vectors_has_its_tail_apart() -> None:
    a, f, r, v = line(), hl.Func("f"), hl.RDom([(0, 40)], "r"), hl.Var("v")
    ro, ri = hl.RVar("ro"), hl.RVar("ri")
    f[()] = hl.i32(0)
    f[()] = f[()] + a[r.x]
    f.update(0).split(r.x, ro, ri, 16)
    lanes = f.update(0).rfactor([(ri, v)])
    lanes.compute_root().vectorize(v)
    lanes.update(0).vectorize(v)
    loads = [text for text in printed(f, "final").splitlines() if "= f_intm.0[ramp(0, 1, 16)] +" in text]
    assert len(loads) == 1
    assert " if " not in loads[0]
    masked = [text for text in printed(f, "final").splitlines() if "a[" in text and " if " in text]
    assert len(masked) == 1


def chunked(size: Any) -> hl.Func:
    """A sum in chunks of 1024, each in vectors of 8."""
    a, f, r = line(), hl.Func("f"), hl.RDom([(0, size)], "r")
    ro, ri, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rio", "rii"))
    u, v = hl.Var("u"), hl.Var("v")
    f[()] = hl.i32(0)
    f[()] += a[r.x]
    f.update(0).split(r.x, ro, ri, 1024)
    chunks = f.update(0).rfactor([(ro, u)])
    chunks.compute_root().update(0).split(ri, rio, rii, 8)
    lanes = chunks.update(0).rfactor([(rii, v)])
    lanes.compute_at(chunks, u).vectorize(v)
    lanes.update(0).vectorize(v)
    return f


@pytest.mark.parametrize("size", [1, 20, 24, 1000, 1023, 1024])
def test_the_tail_of_a_short_chunk_ends_with_the_domain(size: int) -> None:
    lines = printed(chunked(size), "final").splitlines()
    whole = [f"(0, {size // 8})"] if size >= 16 else []  # a single vector is in no loop
    assert [text.split(" in ")[1].rstrip(":") for text in lines if "for f_intm_intm.s1.rio in" in text] == whole
    assert sum(" if " in text for text in lines) == bool(size % 8)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1023, 1024, 1025, 2055])
def test_chunks_of_a_size_given_at_run_time_see_all_of_it_once(size: int) -> None:
    f = chunked(hl.Param(hl.Int(32), size))
    data = np.arange(3000, dtype=np.int32)
    image = next(iter(freeze(f).images))
    assert isinstance(image, hl.ImageParam)
    image.set(data)
    assert int(f.realize().array) == int(data[:size].sum())


def channels(value: Any) -> Any:
    """`f(x, c)` in vectors along x, with the channels innermost."""
    f, c = hl.Func("f"), hl.Var("c")
    f[x, c] = value(c)
    f.reorder(c, x).bound(x, 0, 8).vectorize(x)
    return f


def test_vectors_that_an_innermost_loop_repeats_are_loaded_before_it() -> None:
    a = hl.ImageParam(hl.Int(32), 2, "a")
    f = channels(lambda c: (a[x, 0] * a[x, 1]) + a[x, c])
    assert printed(f, "final") == dedent("""\
        produce f:
          if f.extent.1 > 0:
            let f.s0.c.same.0 = a[ramp(-i64(a.min.0) - i64(a.min.1) * a.stride.1, 1, 8)] \
* a[ramp(a.stride.1 - i64(a.min.0) - i64(a.min.1) * a.stride.1, 1, 8)]
            for f.s0.c in (f.min.1, f.extent.1):
              f.0[ramp(i64(f.s0.c) * f.0.stride.1 - i64(f.0.min.0) - i64(f.0.min.1) * f.0.stride.1, 1, 8)] = \
f.s0.c.same.0 + a[ramp(i64(f.s0.c) * a.stride.1 - i64(a.min.0) - i64(a.min.1) * a.stride.1, 1, 8)]
        """)


def test_what_differs_or_is_stored_in_a_loop_is_not_loaded_before_it() -> None:
    a, g, r = hl.ImageParam(hl.Int(32), 2, "a"), hl.Func("g"), hl.RDom([(0, 9)], "r")
    assert ".same." not in printed(channels(lambda c: a[x, c]), "final")
    g[x] = 0
    g[x] = g[x] * r.x + a[x, 0]
    g.bound(x, 0, 8).update(0).reorder(x, r.x).vectorize(x)
    text = printed(g, "final")
    assert text.count("let g.s1.r.x.same.") == 1
    assert "let g.s1.r.x.same.0 = a[" in text


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_loop_has_the_values_of_before_it_however_often_it_runs(count: int) -> None:
    held = np.arange(24, dtype=np.int32).reshape(3, 8) - 11
    image = hl.Buffer(held)
    f = channels(lambda c: image[x, 0] * image[hl.clamp(image[x, 1], 0, 7), 2] + image[x, c])
    expected = held[0] * held[2][np.clip(held[1], 0, 7)] + held[:count]
    np.testing.assert_array_equal(np.asarray(f.realize([8, count])), expected)


def blocks(a: Any) -> Any:
    """A product of matrices, in blocks of 16 by 4 that registers hold."""
    product, f, yo, k = hl.Func("product"), hl.Func("f"), hl.Var("yo"), hl.RDom([(0, 9)], "k")
    product[x, y] += a[k, y] * a[x, k]
    f[x, y] = product[x, y]
    f.tile(x, y, xo, yo, xi, i, 16, 4).vectorize(xi, 8).unroll(xi).unroll(i)
    product.compute_at(f, xo).vectorize(x, 8).unroll(x).unroll(y)
    product.update().reorder(x, y, k).vectorize(x, 8).unroll(x).unroll(y)
    return f


def test_what_loops_of_known_length_decide_is_not_asked() -> None:
    nest = printed(blocks(hl.ImageParam(hl.Int(32), 2, "a")).bound(x, 0, 64).bound(y, 0, 12), "vectorize")
    assert not re.findall(r"if |min\(", nest), "the tile is as large as its factors say"


@pytest.mark.parametrize("sizes", [(64, 12), (37, 11), (5, 3)])
def test_tiles_that_end_before_the_function_does_are_whole(sizes: tuple[int, int]) -> None:
    a = hl.ImageParam(hl.Int(32), 2, "a")
    f = blocks(a)
    cut = [line for line in printed(f, "vectorize").splitlines() if "extent = min(" in line]
    assert [line.split(".")[2] for line in cut] == ["x", "x", "y"], "the last tiles of a row, and the last rows"
    image = np.arange(64 * 64, dtype=np.int32).reshape(64, 64) % 97
    a.set(hl.Buffer(image))
    assert (np.asarray(f.realize(sizes)) == image[: sizes[1], :9] @ image[:9, : sizes[0]]).all()


@pytest.mark.parametrize("offset", [0, 1])
def test_an_extreme_is_kept_where_one_iteration_needs_it(offset: int) -> None:
    g, f = hl.Func("g"), hl.Func("f")
    g[x] = x
    f[x] = g[hl.min(x, 62 + offset)]
    f.bound(x, 0, 64).split(x, xo, xi, 8)
    g.compute_at(f, xo)
    assert ("let g.s0.x.extent = min(" in printed(f, "tidy")) == (offset == 0)
    assert (np.asarray(f.realize([64])) == np.minimum(np.arange(64), 62 + offset)).all()
