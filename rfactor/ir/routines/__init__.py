"""Functions of f32 as arithmetic, for scalars and lanes alike: no table, and nothing of the C library.

Whatever computes them computes these operations, each rounded by itself, so that the interpreter, machine code of any
number of lanes and C have the same bits. Errors are below one unit in the last place (subnormal results of `exp`:
one of those). Coefficients are those of the least greatest error (Remez's exchange), at 50 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from rfactor.ir.expr import Expr, Var, select
from rfactor.ir.routines import circular, error, hyperbolic, inverse, powers
from rfactor.ir.types import F32

PARAMETERS = Var(F32, "x"), Var(F32, "y")
"""What the functions are of: as many of the first ones as the function has arguments."""


@dataclass(frozen=True, slots=True)
class Routine:
    """A function in terms of `PARAMETERS`."""

    value: Expr
    usual: Expr | None = None
    """What takes less, and has the same bits but where `is_rare` holds: lanes compute it alone where none is."""
    is_rare: Expr | None = None


def _of_angles(function: Callable[[Expr, bool], Expr]) -> Routine:
    x = PARAMETERS[0]
    near, is_far = function(x, False), circular.is_far(x)
    return Routine(select(is_far, function(x, True), near), near, is_far)


def _rough(function: Callable[[Expr], Expr], exact: str) -> Routine:
    x, whole = PARAMETERS[0], _ROUTINES[exact]()
    usual, is_far = function(x), circular.is_fast_far(x)
    return Routine(select(is_far, whole.value, usual), usual, is_far)


def _log() -> Routine:
    x = PARAMETERS[0]
    return Routine(powers.log(x), powers.log_of_normal(x), powers.is_not_normal(x))


def _pow() -> Routine:
    return Routine(powers.pow(*PARAMETERS), powers.usual_pow(*PARAMETERS), powers.is_unusual(*PARAMETERS))


_ROUTINES: dict[str, Callable[[], Routine]] = {
    "exp": lambda: Routine(powers.exp(PARAMETERS[0])),
    "log": _log,
    "pow": _pow,
    "sin": lambda: _of_angles(circular.sin),
    "cos": lambda: _of_angles(circular.cos),
    "tan": lambda: _of_angles(circular.tan),
    "fast_sin": lambda: _rough(circular.fast_sin, "sin"),
    "fast_cos": lambda: _rough(circular.fast_cos, "cos"),
    "asin": lambda: Routine(inverse.asin(PARAMETERS[0])),
    "acos": lambda: Routine(inverse.acos(PARAMETERS[0])),
    "atan": lambda: Routine(inverse.atan(PARAMETERS[0])),
    "atan2": lambda: Routine(inverse.atan2(*PARAMETERS)),
    "sinh": lambda: Routine(hyperbolic.sinh(PARAMETERS[0])),
    "cosh": lambda: Routine(hyperbolic.cosh(PARAMETERS[0])),
    "tanh": lambda: Routine(hyperbolic.tanh(PARAMETERS[0])),
    "asinh": lambda: Routine(hyperbolic.asinh(PARAMETERS[0])),
    "acosh": lambda: Routine(hyperbolic.acosh(PARAMETERS[0])),
    "atanh": lambda: Routine(hyperbolic.atanh(PARAMETERS[0])),
    "erf": lambda: Routine(error.erf(PARAMETERS[0])),
}
ROUTINES = tuple(_ROUTINES)
"""The names of the functions."""


@cache
def routine(name: str) -> Routine | None:
    """The function of that name; None where it is no arithmetic."""
    return _ROUTINES[name]() if name in _ROUTINES else None
