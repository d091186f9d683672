"""Several variables or functions at once, functions without a name, and the value of an expression."""

from __future__ import annotations

from typing import Any

from rfactor.compiler.language.expr import ExprLike, as_expr
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.variables import Var
from rfactor.errors import TypeMismatch


def vars(names: str) -> tuple[Var, ...]:
    """Variables by name: `x, y = vars("x y")`."""
    return tuple(map(Var, names.split()))


def funcs(names: str) -> tuple[Func, ...]:
    """Functions by name: `f, g = funcs("f g")`."""
    return tuple(map(Func, names.split()))


def lambda_func(*given: Any) -> Func:
    """The function of some variables: `lambda_func(x, y, x + y)`."""
    if not given or not all(isinstance(variable, Var) for variable in given[:-1]):
        raise TypeMismatch(f"lambda_func takes Vars and then a value, not {given!r}")
    result = Func("lambda")
    result[tuple(given[:-1])] = given[-1]
    return result


def evaluate(expression: ExprLike) -> Any:
    """The value of an expression without variables; of a tuple of them, a tuple of values."""
    several = isinstance(expression, Tuple | tuple | list)
    point = Func("evaluate")
    point[()] = Tuple(expression) if several else as_expr(expression)
    result = point.realize()
    return tuple(part[()] for part in result) if isinstance(result, tuple) else (result[()],) if several else result[()]


def evaluate_may_gpu(expression: ExprLike) -> Any:
    """As `evaluate`: there is no GPU."""
    return evaluate(expression)


def memoize_tag(result: ExprLike, *keys: ExprLike) -> Any:
    """`result`: nothing is memoized."""
    return as_expr(result)
