"""Several variables or functions at once, functions without a name, and the value of an expression."""

from __future__ import annotations

from typing import Any

from rfactor.compiler.language.buffer import Buffer, ImageParam
from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, joined, text_of, varying
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.variables import Param, Var
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir.algorithm import Requirement
from rfactor.ir.effects import Print, Refuse


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


def evaluate(expr: ExprLike) -> Any:
    """The value of an expression without variables; of a tuple of them, a tuple of values."""
    several = isinstance(expr, Tuple | tuple | list)
    point = Func("evaluate")
    point[()] = Tuple(expr) if several else as_expr(expr)
    result = point.realize()
    return tuple(part[()] for part in result) if isinstance(result, tuple) else (result[()],) if several else result[()]


def evaluate_may_gpu(expr: ExprLike) -> Any:
    """As `evaluate`: there is no GPU."""
    return evaluate(expr)


def print(*given: Any) -> Expr:
    """The first argument; each time it is computed all of them are written in a line, texts as they are.

    Raises `TypeMismatch` where the first argument is no expression.
    """
    return print_when(True, *given)


def print_when(condition: ExprLike, *given: Any) -> Expr:
    """As `print`, where `condition` holds. Raises `TypeMismatch`."""
    given = tuple(map(_told, given))
    if not given or isinstance(given[0], str):
        raise TypeMismatch("print takes an expression, whose value it is, and then further expressions and texts")
    test, parts = as_expr(condition), [one if isinstance(one, str) else as_expr(one) for one in given]
    if not test.node.type.is_bool:
        raise TypeMismatch(f"print_when({test}) is {test.node.type}, not bool: compare it, as in {test} != 0")
    exprs = [one for one in parts if isinstance(one, Expr)]
    texts = (_verbatim(one) if isinstance(one, str) else "{}" for one in parts)
    line = Print(" ".join(texts), exprs[0].node, test.node, tuple(one.node for one in exprs))
    return Expr(line, joined(test, *exprs))


def require(condition: ExprLike, value: ExprLike, *told: Any) -> Expr:
    """`value`; where `condition` does not hold, the pipeline fails with a `BufferError`. What is told is put after it:
    expressions and texts.

    What depends on parameters and the boxes of images alone is checked on entry; anything else each time that the value
    is computed, and then outputs have been written in part.
    """
    result, test, told = as_expr(value), as_expr(condition), tuple(map(_told, told))
    exprs = [as_expr(one) for one in told if not isinstance(one, str)]
    if all(varying(one) is None for one in (test, *exprs)):
        return Expr(result.node, {**result.uses, **requirement("require", condition, told)})
    if not test.node.type.is_bool:
        raise TypeMismatch(f"require({test}) is {test.node.type}, not bool: compare it, as in {test} != 0")
    fails = Refuse(_message(test, told), result.node, (~test).node, tuple(one.node for one in exprs))
    return Expr(fails, joined(result, test, *exprs))


def _told(value: Any) -> Any:
    text = text_of(value)
    return value if text is None else text


def _message(test: Expr, told: tuple[Any, ...]) -> str:
    """A template of what is told where `test` does not hold, over the expressions among `told`."""
    texts = (_verbatim(one) if isinstance(one, str) else "{}" for one in told)
    return " ".join(["Requirement Failed: (false)", *texts, _verbatim(f"(it is required that {test})")])


def _verbatim(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def requirement(what: str, condition: ExprLike, told: tuple[Any, ...], boxes: frozenset[str] = frozenset()) -> Uses:
    """What has to hold on entry, by a key of its own, and what that refers to.

    Known are `boxes` too, variables that tell where outputs lie. Raises `AlgorithmError`, `TypeMismatch`.
    """
    told = tuple(map(_told, told))
    test, parts = as_expr(condition), [one if isinstance(one, str) else as_expr(one) for one in told]
    exprs = [one for one in parts if isinstance(one, Expr)]
    if not test.node.type.is_bool:
        raise TypeMismatch(f"{what}({test}) is {test.node.type}, not bool: compare it, as in {test} != 0")
    for one in (test, *exprs):
        inputs = {name: used for name, used in one.uses.items() if isinstance(used, Param | Buffer | ImageParam)}
        if varying(Expr(one.node, inputs), boxes) is not None:
            raise AlgorithmError(
                f"{what} of {one}: it is checked on entry, and made of parameters and the boxes of images and outputs"
            )
    asked = Requirement(test.node, _message(test, told), tuple(one.node for one in exprs))
    return {**joined(test, *exprs), f"require {asked}": asked}


def memoize_tag(result: ExprLike, *keys: ExprLike) -> Any:
    """`result`: nothing is memoized."""
    return as_expr(result)
