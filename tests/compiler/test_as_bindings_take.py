"""What Halide's bindings take, and what they refuse, beside numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import rfactor as hl
from rfactor.errors import Error

x, y, u = hl.Var("x"), hl.Var("y"), hl.Var("u")
BETWEEN = ["hl.i32(x)", "hl.u8(x)", "hl.f32(x)", "hl.f64(x)", "x > 3", "3", "0.5", "hl.i64(3)", "hl.u8(3)", "hl.f64(2)"]


class Several:
    """A class of a user's that stands for a list."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]


def plain(name: str = "f") -> hl.Func:
    f = hl.Func(name)
    f[x] = x
    return f


def elements(result: Any) -> list[Any]:
    found: list[Any] = np.asarray(result).tolist()
    return found


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("function", ["api.select(x > 1, a, b)", "api.mux(x, [a, b])"])
def test_values_are_chosen_between_where_halide_chooses(function: str) -> None:
    halide = pytest.importorskip("halide")

    def chosen(api: Any, first: str, second: str) -> str:
        scope = {"hl": api, "api": api, "x": api.Var("x")}
        values = {"a": eval(first, scope), "b": eval(second, scope)}
        try:
            return str(eval(function, {**scope, **values}).type())
        except (Error, halide.HalideError):
            return "refused"

    for first in BETWEEN:
        for second in BETWEEN:
            assert chosen(hl, first, second) == chosen(halide, first, second), (first, second)


@pytest.mark.parametrize("modulus", [lambda p: p, lambda p: p + 1, lambda p: hl.i32(4)])
def test_bounds_are_aligned_to_what_is_known_on_entry(modulus: Callable[[hl.Param], Any]) -> None:
    p, f, g = hl.Param(hl.Int(32), 3), plain(), hl.Func("g")
    g[x] = f[x] + f[x + 1]
    f.compute_root().align_bounds(x, modulus(p), p).align_extent(x, modulus(p))
    assert elements(g.realize([5])) == [1, 3, 5, 7, 9]


def test_bounds_are_aligned_to_nothing_that_varies() -> None:
    for wrong in (x, plain("h")[3]):
        with pytest.raises(hl.HalideError, match="parameters and boxes"):
            plain().align_bounds(x, wrong)


def test_an_update_is_undefined_where_its_value_is() -> None:
    f = plain()
    f[x] = hl.select(x > 1, 7, hl.undef(hl.Int(32)))
    f[x] = hl.undef(hl.Int(32))
    assert elements(f.realize([4])) == [0, 1, 7, 7]


def test_sizes_come_from_what_can_be_run_through_once() -> None:
    assert elements(plain().realize(size for size in [4])) == [0, 1, 2, 3]
    with pytest.raises(hl.HalideError, match="2 dimensions"):
        plain().realize(iter([4, 4]))


def test_a_wrapper_is_of_the_functions_of_any_sequence() -> None:
    f, g = plain(), hl.Func("g")
    g[x] = f[x] * 2
    wrapper = f.in_(Several(g))
    wrapper.compute_root()
    assert elements(g.realize([3])) == [0, 2, 4]
    assert f.in_(g) is wrapper
    with pytest.raises(hl.HalideError, match="empty list of Funcs"):
        f.in_([])
    with pytest.raises(TypeError, match="takes as f"):
        f.in_([3])


@pytest.mark.parametrize("given", [[x], [(x,)], x, [3], 3])
def test_what_is_factored_is_given_in_pairs(given: Any) -> None:
    g, r = hl.Func("g"), hl.RDom([(0, 4)])
    g[()] = 0
    g[()] += r.x
    with pytest.raises(TypeError, match="takes pairs"):
        g.update().rfactor(given)
    g.update().rfactor(zip([r.x], [u], strict=True))
    assert int(np.asarray(g.realize())) == 6


def test_an_embedded_dimension_has_the_stride_of_an_outermost_one() -> None:
    halide = pytest.importorskip("halide")

    def strides(api: Any, d: int) -> list[int]:
        made = api.Buffer(api.Int(32), [3, 2]).embedded(d, 4)
        return [made.dim(i).stride() for i in range(3)]

    assert [strides(hl, d) for d in range(3)] == [strides(halide, d) for d in range(3)]
    held = hl.Buffer(np.arange(6, dtype=np.int32).reshape(2, 3))
    f, middle = hl.Func("f"), held.embedded(1, 4)
    f[x, y] = middle[x, 4, y]
    assert elements(f.realize([3, 2])) == [[0, 1, 2], [3, 4, 5]]
    middle[2, 4, 1] = 9
    assert held[2, 1] == 9


def test_an_array_lies_where_coordinates_reach() -> None:
    held = hl.Buffer(hl.Int(32), [2])
    for far in (1 << 40, -(1 << 31) - 1):
        with pytest.raises(TypeError, match="32 bits"):
            held.set_min([far])
        with pytest.raises(TypeError, match="32 bits"):
            held.embedded(0, far)
    held.set_min([-(1 << 31)])
    assert held.dim(0).min() == -(1 << 31)


def test_a_domain_of_nothing_and_the_memory_of_a_scalar_can_be_asked() -> None:
    assert not hl.RDom([]).defined()
    assert hl.RDom([]).dimensions() == 0
    assert hl.Parameter(hl.Int(32), False, 0).memory_type() == hl.MemoryType.Auto
