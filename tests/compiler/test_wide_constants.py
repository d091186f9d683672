"""Conditions whose constants, brought to one side, are beyond i32; and guards of what is split and fused."""

import numpy as np
import pytest

from rfactor import Buffer, Expr, Func, ImageParam, Int, RDom, RVar, Var, i32
from rfactor.compiler.lower import affine
from rfactor.ir.expr import Var as Name
from rfactor.ir.types import I32

_CONDITIONS = {
    "below": lambda x: x - 1000 < i32(2147483647),
    "at most": lambda x: x - 1000 <= i32(2147483647),
    "at least": lambda x: x + 1000 >= i32(-2147483648),
    "of a quotient": lambda x: (x - 1000) // 4 <= 536870911,
    "either": lambda x: (x - 1000 < i32(2147483647)) | (x - 500 < i32(2147483647)),
}


@pytest.mark.parametrize("name", _CONDITIONS)
def test_a_condition_that_always_holds_leaves_all_to_be_read(name: str) -> None:
    image, f, x, r = ImageParam(Int(32), 1, "image"), Func("f"), Var("x"), RDom([(0, 8)], "r")
    condition: Expr = _CONDITIONS[name](r.x)
    r.where(condition)
    f[x] = i32(0)
    f[x] += image[r.x]
    f.infer_input_bounds([3])
    box = image.get().dim(0)
    assert (box.min(), box.extent()) == (0, 8)
    image.set(Buffer(np.arange(1, 9, dtype=np.int32)))
    assert list(np.array(f.realize([3]))) == [36, 36, 36]


@pytest.mark.parametrize("constant", [2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 3 << 40, -(5 << 33) + 7])
def test_a_sum_keeps_constants_and_factors_that_the_type_does_not_hold(constant: int) -> None:
    x, y = Name(I32, "x"), Name(I32, "y")
    for terms in ((), ((x, 1),), ((x, constant),), ((x, 1), (y, constant)), ((x, -1),), ((x, constant), (y, -1))):
        found, own = affine.affine(affine.from_affine(terms, constant))
        assert (dict(found), own) == (dict(terms), constant)


@pytest.mark.parametrize("across", [False, True])
def test_a_guard_bounds_what_is_fused_split_and_factored(across: bool) -> None:
    image, f, r = ImageParam(Int(32), 1, "image"), Func("f"), RDom([(0, 9), (0, 4)], "r")
    outer, inner, fused, block, lane = (RVar(name) for name in ("outer", "inner", "fused", "block", "lane"))
    f[()] = i32(0)
    f[()] += image[r.x] * (r.y + 1)
    pair = (outer, inner) if across else (inner, outer)
    rows = f.update().split(r.x, outer, inner, 8).fuse(*pair, fused).rfactor(r.y, Var("u"))
    lanes = rows.update().split(fused, block, lane, 16).rfactor(lane, Var("v"))
    lanes.update().vectorize(Var("v"))
    f.infer_input_bounds([])
    assert (image.get().dim(0).min(), image.get().dim(0).extent()) == (0, 9)
    image.set(Buffer(np.arange(9, dtype=np.int32)))
    assert int(np.array(f.realize())) == 360
