"""`erf`: in f32, by a polynomial near 0, and by the logarithm of what is missing to 1 beyond."""

from __future__ import annotations

from rfactor.ir.expr import Expr, apply, intrinsic, select
from rfactor.ir.routines.arithmetic import WHOLE, f32, minus, plus, polynomial, power_of_2, signed, times

_NEAR = 0.75
_ERF = (
    0.12837916612625122, -0.3761261999607086, 0.11283379048109055, -0.026834335178136826, 0.005113156978040934,
    -0.0006737583898939192,
)  # fmt: skip
"""erf(x) / x - 1 in terms of x**2, for |x| <= 3/4: erf(x) is within 2e-9 of itself."""
_MISSING = -1.7916357517242432
"""log2(1 - erf(3/4))."""
_FURTHER = (
    -3.2112555503845215, -1.1655018329620361, -0.07623642683029175, 0.018189432099461555, -0.003222869476303458,
    0.0003028529172297567,
)  # fmt: skip
"""(log2(1 - erf(x)) - `_MISSING`) / u with u = x - 3/4, for x up to 4: erf(x) is within 4e-9."""
_EXP2 = (
    0.6931471824645996, 0.24022649228572845, 0.05550357326865196, 0.009618237614631653, 0.0013390735257416964,
    0.0001540350931463763,
)  # fmt: skip
"""(2**r - 1) / r for |r| <= 1/2: 3e-8."""


def erf(x: Expr) -> Expr:
    """x + x * p(x**2), or 1 - 2**n * 2**r with n + r = log2(1 - erf(|x|)): from 4 on that is 1."""
    size = apply("abs", x)
    square = times(x, x)
    near = plus(size, times(size, polynomial(_ERF, square)))
    # A comparison with NaN is false: it stays.
    u = minus(select(apply(">", size, f32(4.0)), f32(4.0), size), f32(_NEAR))
    further = times(u, polynomial(_FURTHER, u))
    shifted = plus(plus(further, f32(_MISSING)), f32(WHOLE))
    n = minus(shifted, f32(WHOLE))
    r = plus(minus(f32(_MISSING), n), further)
    scale = power_of_2(intrinsic("reinterpret_i32", shifted))
    beyond = minus(minus(f32(1.0), scale), times(scale, times(r, polynomial(_EXP2, r))))
    return signed(select(apply("<", size, f32(_NEAR)), near, beyond), x)
