"""The schedules of the paper's Table 1, in our language or in Halide's: `hl` is the module of either."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rfactor.compiler.auto.machine import this_machine

Schedule = Callable[[Any, Any], None]
"""Factors update 0 of a Func over its reduction domain."""


def lanes_that_fit(octets: int, state: int | None = None, streams: int = 1) -> int:
    """Lanes of each of some streams of elements of so many bytes, where a lane has a state of `state` bytes.

    Four vectors in all, or fewer: with more than registers hold, the state of some lanes would be stored and loaded
    again in each iteration. A power of two, at least one vector.
    """
    machine = this_machine()
    vector = machine.vector_bits // (8 * octets)
    most = min(4 * vector // streams, machine.state_lanes((state or octets) * streams))
    return max(vector, 1 << (most.bit_length() - 1))


def chunks_streams_and_lanes(hl: Any, chunk: int, streams: int, lanes: int) -> Schedule:
    """Chunks of the line in parallel; in each, `lanes` neighbours at once, from `streams` equal parts in turn.

    A core fetches ahead of each stream that it reads, and only so far: what one stream reads of memory is not all that
    the core can.
    """

    def schedule(f: Any, r: Any) -> None:
        u, v, w = hl.Var("u"), hl.Var("v"), hl.Var("w")
        ro, ri, rs, rj, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rs", "rj", "rio", "rii"))
        f.update(0).split(r.x, ro, ri, chunk)
        intm = f.update(0).rfactor([(ro, u)])
        intm.compute_root().update(0).parallel(u).split(ri, rs, rj, chunk // streams).split(rj, rio, rii, lanes)
        line = intm.update(0).rfactor([(rii, v), (rs, w)])
        line.compute_at(intm, u).vectorize(v).unroll(w)
        line.update(0).reorder(v, w, rio, u).vectorize(v).unroll(w)

    return schedule


def chunks_and_lanes(hl: Any, chunk: int, lanes: int) -> Schedule:
    """Chunks of the line in parallel, `lanes` neighbours at once."""

    def schedule(f: Any, r: Any) -> None:
        u, v = hl.Var("u"), hl.Var("v")
        ro, ri, rio, rii = (hl.RVar(name) for name in ("ro", "ri", "rio", "rii"))
        f.update(0).split(r.x, ro, ri, chunk)
        intm = f.update(0).rfactor([(ro, u)])
        intm.compute_root().update(0).parallel(u).split(ri, rio, rii, lanes)
        line = intm.update(0).rfactor([(rii, v)])
        line.compute_at(intm, u).vectorize(v)
        line.update(0).vectorize(v)

    return schedule


def lanes_alone(hl: Any, lanes: int) -> Schedule:
    """`lanes` neighbours at once, on one core."""

    def schedule(f: Any, r: Any) -> None:
        v, ro, ri = hl.Var("v"), hl.RVar("ro"), hl.RVar("ri")
        f.update(0).split(r.x, ro, ri, lanes)
        line = f.update(0).rfactor([(ri, v)])
        line.compute_root().vectorize(v)
        line.update(0).vectorize(v)

    return schedule


def copies_alone(hl: Any, copies: int) -> Schedule:
    """Neighbours count into `copies` in turn, on one core."""

    def schedule(f: Any, r: Any) -> None:
        v, xo, xi = hl.Var("v"), hl.RVar("xo"), hl.RVar("xi")
        f.update(0).split(r.x, xo, xi, copies)
        f.update(0).rfactor([(xi, v)]).compute_root().update(0).unroll(v)

    return schedule


def strips_and_copies(hl: Any, height: int, copies: int, columns: int) -> Schedule:
    """Strips of `height` rows in parallel; in each, `columns` columns are written out, counting into `copies` in turn.

    There is a counter for each u8, so that all sizes are known. One copy alone would wait, where neighbours are equal,
    until the last count has been stored.
    """

    def schedule(f: Any, r: Any) -> None:
        u, v, i = hl.Var("u"), hl.Var("v"), hl.Var("i")
        yo, yi, xo, xi = (hl.RVar(name) for name in ("yo", "yi", "xo", "xi"))
        f.bound(i, 0, 256).update(0).split(r.y, yo, yi, height)
        strip = f.update(0).rfactor([(yo, u)])
        strip.compute_root().update(0).parallel(u).split(r.x, xo, xi, copies)
        copy = strip.update(0).rfactor([(xi, v)])
        strip.update(0).reorder(i, u)
        copy.compute_at(strip, u).update(0).unroll(v).unroll(xo, columns // copies)

    return schedule


def strips(hl: Any, height: int, lanes: int) -> Schedule:
    """Strips of `height` rows in parallel, a count at a time; counters are set `lanes` at once.

    They are merged one by one: with lanes there Halide 21 writes where it should not, and crashes now and then.
    """

    def schedule(f: Any, r: Any) -> None:
        u, i, yo, yi = hl.Var("u"), hl.Var("i"), hl.RVar("yo"), hl.RVar("yi")
        f.update(0).split(r.y, yo, yi, height)
        f.update(0).rfactor([(yo, u)]).compute_root().vectorize(i, lanes).update(0).parallel(u)

    return schedule


def slabs_and_lanes(hl: Any, slab: int, lanes: int) -> Schedule:
    """Slabs of the outermost of four dimensions in parallel, `lanes` neighbours in the innermost at once."""

    def schedule(f: Any, r: Any) -> None:
        u, v = hl.Var("u"), hl.Var("v")
        wo, wi, xo, xi = (hl.RVar(name) for name in ("wo", "wi", "xo", "xi"))
        f.update(0).split(r.w, wo, wi, slab)
        slabs = f.update(0).rfactor([(wo, u)])
        slabs.compute_root().update(0).parallel(u).split(r.x, xo, xi, lanes)
        line = slabs.update(0).rfactor([(xi, v)])
        line.compute_at(slabs, u).vectorize(v)
        line.update(0).vectorize(v)

    return schedule
