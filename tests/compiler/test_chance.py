"""Random numbers: those that Halide gives the same program, whatever is defined before."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import rfactor as hl
from rfactor.compiler.language import chance
from rfactor.errors import AlgorithmError, ScheduleError, TypeMismatch

PROGRAM = """
import numpy as np
x, y, u = hl.Var("x"), hl.Var("y"), hl.Var("u")
data = np.arange(12, dtype=np.float32).reshape(3, 4)
b = hl.Buffer(data)
image = hl.ImageParam(hl.Float(32), 2)
image.set(b)
hl.Func(image), hl.Func(b), hl.Parameter(hl.Float(32), True, 2), hl.Parameter(hl.Float(32), False, 0)
r = hl.RDom([(0, 4), (0, 3)])
f, g, h = hl.Func("f"), hl.Func("g"), hl.Func("h")
f[x, y] = (hl.random_uint(), hl.random_int(x - 3), hl.random_float(7))
g[x] = hl.i32(hl.random_float() * 64) + hl.i32(image[0, 0])
g[r.y] += hl.random_int(r.x) % 100 + hl.i32(hl.random_float(r.x) * 64)
edges = hl.BoundaryConditions
edges.repeat_edge(b), edges.constant_exterior(image, 0), edges.mirror_image(image, [(0, 4), (0, 3)])
q = hl.RDom([(0, 30)])
q.where(hl.random_uint(hl.u32(q.x)) % 2 == 0)
h[x] = 0
h[q.x] += 1
h[q.x] += hl.random_int() % 10
t, w = hl.Func("t"), hl.Func("w")
t[x] = 0
t[x] += hl.random_int() % (r.x + 5)
t.update().rfactor([(r.y, u)])
t.in_()
w[x] = hl.sum(r, hl.i32(hl.random_float(x) * 64) * r.x) + hl.argmax(r.x + hl.random_int() % 5)[2]
for one in g, h, t, w:
    one.compute_root()
last = hl.Func("last")
last[x, y] = (f[x, y][0], f[x, y][1], f[x, y][2], g[x], h[x], t[x], w[x], hl.random_int())
parts = last.realize([30, 4])
print([np.asarray(part).ravel().tolist() for part in parts])
"""


def printed(library: str) -> str:
    code = f"import {library} as hl\n{PROGRAM}"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(importlib.util.find_spec("halide") is None, reason="Halide is not installed")
def test_numbers_are_those_of_halide() -> None:
    ours, theirs = printed("rfactor"), printed("halide")
    assert ours == theirs
    assert len(ours) > 5000


def permuted(bits: int) -> int:
    return ((1040796640 * bits + 1121052041) * bits + 576942909) % 2**32


def test_a_number_is_a_hash_of_the_seed_the_call_the_definition_and_the_point() -> None:
    x, y, f = hl.Var("x"), hl.Var("y"), hl.Func("f")
    drawn = hl.random_uint(9)
    call, definition = next(chance._calls), chance.numbered()
    f[x, y] = drawn
    found = np.asarray(f.realize([4, 3]))
    for at in ((0, 0), (3, 0), (1, 2)):
        bits = 0
        for part in (9, call - 1, definition + 1, *reversed(at)):
            bits = permuted((bits + part) % 2**32)
        assert found[at[::-1]] == bits ^ bits >> 16


def test_a_number_of_the_definition_around_is_free_in_a_reduction() -> None:
    x, r, f = hl.Var("x"), hl.RDom([(0, 3)]), hl.Func("f")
    f[x] = hl.sum(r, hl.random_uint(x) % 8 + hl.u32(r.x) * 0)
    assert len(set(np.asarray(f.realize([20])).tolist())) > 3


def test_bounds_and_directives_draw_no_numbers() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = x
    drawn = hl.random_int() % 4
    for refused in (lambda: hl.RDom([(0, drawn)]), lambda: f.specialize(drawn > 2), lambda: f.bound(x, 0, drawn)):
        with pytest.raises((AlgorithmError, ScheduleError)):
            refused()


def test_a_seed_is_i32_or_of_integers_u32() -> None:
    x, f = hl.Var("x"), hl.Func("f")
    f[x] = hl.random_uint(hl.u32(x)) + hl.u32(hl.random_int(hl.u32(3)))
    f.realize([2])
    for wrong in (lambda: hl.random_float(hl.u32(3)), lambda: hl.random_uint(hl.u8(3)), lambda: hl.random_int(2.5)):
        with pytest.raises(TypeMismatch, match="it is i32"):
            wrong()
