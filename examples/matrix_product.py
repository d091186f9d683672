"""A matrix product, in blocks that stay in registers."""

import argparse
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rfactor as hl


def build(a: NDArray[Any], b: NDArray[Any], scheduled: bool = True) -> tuple[Any, list[int]]:
    """The product of `a` (rows by depth) and `b` (depth by columns), of one type, and its sizes."""
    left, right = hl.Buffer(a), hl.Buffer(b)
    (rows, depth), columns = a.shape, b.shape[1]
    x, y, k = hl.Var("x"), hl.Var("y"), hl.RDom([(0, depth)])
    product = hl.Func("product")
    product[x, y] = hl.cast(left.type(), 0)
    product[x, y] += left[k.x, y] * right[x, k.x]
    if scheduled:
        # A block of 4 rows by 64 columns is summed over all of the depth before the next is begun.
        xi, yi, xo, yo = hl.Var("xi"), hl.Var("yi"), hl.Var("xo"), hl.Var("yo")
        product.vectorize(x, 16).parallel(y, 16)
        blocks = product.update(0).split(x, xo, xi, 64).split(y, yo, yi, 4).reorder(xi, yi, k.x, xo, yo)
        blocks.vectorize(xi, 16).unroll(xi).unroll(yi).parallel(yo)
    return product, [columns, rows]


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    random = np.random.default_rng(0)
    a, b = (random.integers(-9, 9, (64, 64), dtype=np.int32) for _ in range(2))
    product, sizes = build(a, b)
    assert (np.asarray(product.realize(sizes)) == a @ b).all()
    print("the product is NumPy's")


if __name__ == "__main__":
    main()
