"""May the iterations of an update run in another order?

With `f(x; d) = op(x, g(d))`, op associative and commutative, two neighbouring iterations may change places:
`op(op(x, g1), g2) = op(x, op(g1, g2)) = op(x, op(g2, g1)) = op(op(x, g2), g1)`; those at other points touch nothing of
each other. For floats this holds of reals: another order rounds otherwise.

Nor does it matter which of two iterations writes a point last where both write the same there:
`f(a(r)) = a(r)*2 + x` is 5 where `a(r)` and `x` are 2 and 1, whatever `r` is.
"""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.extraction import recognized, self_calls
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, ReductionDomain
from rfactor.ir.effects import Print
from rfactor.ir.expr import Const, Op, Var, names, replace, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.printer import show_tuple
from rfactor.ir.several import Several
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer


def why_not(function: Function, definition: Definition, recognize: Callable[[Update], Answer]) -> str | None:
    """Why the iterations of `definition` must keep their order; None where they are proved to commute."""
    domain = definition.domain or ReductionDomain(())
    own = {rv.name for rv in domain.variables}
    for rv in domain.variables:
        needs = (names(rv.min) | names(rv.extent)) & own
        if needs:
            return f"the bounds of {rv.name} depend on {', '.join(sorted(needs))}"
    if writes_the_same(function, definition):
        return None
    try:
        components = tuple(range(len(function.types)))
        extracted, answer = recognized(function, definition, components, Meaning.WRAP, recognize)
    except FactorError as error:
        return str(error)
    written = show_tuple(extracted.update.components)
    if answer.verdict not in ("associative", "lifted") or answer.assumes:
        said = "is not associative" if answer.verdict == "not_associative" else "was not proved to be associative"
        reason = f": {answer.reason}" if answer.reason else ""
        return f"the update {written} {said}{reason}"
    if not answer.commutative:
        said = "does not commute" if answer.commutative is False else "was not proved to commute"
        return (
            f"the operator of the update {written} {said} (claim commutative), though it is associative: rfactor of "
            "the outermost loop keeps the order"
        )
    return None


def writes_the_same(function: Function, definition: Definition) -> bool:
    """Whether all iterations that write one point write the same values, whatever was written before: no value is made
    of reduction variables, but for those of the point, and nothing depends on what the function holds."""
    domain = definition.domain or ReductionDomain(())
    exprs = (*definition.expressions, *filter(None, [definition.where]))
    if any(isinstance(node, Several | Print) for expr in exprs for node in walk(expr)):
        return False
    if self_calls(function.name, *exprs):
        return False
    point = {argument: Var(argument.type, "") for argument in definition.arguments if not isinstance(argument, Const)}
    moving = {variable.name for variable in domain.variables}
    return not any(names(replace(value, point)) & moving for value in definition.values)


def rounds(function: Function, definition: Definition) -> bool:
    """Whether what the update holds of floats may depend on the order of the iterations, though they commute over the
    reals: all but `min` and `max` of floats, which give the serial bits in any order."""
    for node in (node for value in definition.values for node in walk(value)):
        operands = node.args if isinstance(node, Op) else (node,)
        floats = any(operand.type.is_float for operand in (node, *operands))
        exact = isinstance(node, Op) and node.op in ("min", "max")
        if floats and not exact and self_calls(function.name, *node.children):
            return True
    return False
