"""Reductions written inside an expression: `sum(im[x + r.x])` is a function of its own, over `r` and the variables."""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.language.buffer import ImageParam
from rfactor.compiler.language.expr import Expr, ExprLike, as_expr
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.functions import cast, select
from rfactor.compiler.language.functions import max as greater
from rfactor.compiler.language.functions import min as smaller
from rfactor.compiler.language.tuple import Tuple
from rfactor.compiler.language.types import Type
from rfactor.compiler.language.variables import RDom, Var
from rfactor.errors import AlgorithmError
from rfactor.ir.expr import Var as IrVar
from rfactor.ir.expr import variables


def _parts(what: str, given: tuple[ExprLike, ...]) -> tuple[RDom, Expr, tuple[Var, ...]]:
    """The domain, the value and the pure variables of `what(value)` or `what(domain, value)`."""
    value = as_expr(given[-1])
    domains = [used for used in value.uses.values() if isinstance(used, RDom)]
    if len(given) == 2 and isinstance(given[0], RDom) and given[0] not in domains:
        domains.append(given[0])
    if len(domains) != 1:
        raise AlgorithmError(f"{what}({value}) is over one RDom; {len(domains)} were found")
    taken = set(domains[0].variable_names()) | set(value.uses)
    for name, used in value.uses.items():
        if isinstance(used, ImageParam):
            taken |= {f"{name}.{end}.{d}" for d in range(used.dimensions()) for end in ("min", "extent", "stride")}
    free = (v for v in variables(value.node) if isinstance(v, IrVar) and v.name not in taken)
    return domains[0], value, tuple(Var(v.name) for v in free)


def _reduced(what: str, given: tuple[ExprLike, ...], first: Expr, step: Callable[[Expr, Expr], Expr]) -> Expr:
    _, value, free = _parts(what, given)
    func = Func(what)
    func[free] = first
    func[free] = step(func[free], value)
    return func[free]


def sum(*given: ExprLike) -> Expr:
    """The sum of an expression over its reduction domain: `sum(value)` or `sum(domain, value)`."""
    return _reduced("sum", given, cast(_type(given), 0), lambda a, b: a + b)


def product(*given: ExprLike) -> Expr:
    """The product of an expression over its reduction domain."""
    return _reduced("product", given, cast(_type(given), 1), lambda a, b: a * b)


def maximum(*given: ExprLike) -> Expr:
    """The greatest value of an expression over its reduction domain; the type's least of an empty one."""
    return _reduced("maximum", given, _type(given).min(), greater)


def minimum(*given: ExprLike) -> Expr:
    """The least value of an expression over its reduction domain; the type's greatest of an empty one."""
    return _reduced("minimum", given, _type(given).max(), smaller)


def argmax(*given: ExprLike) -> Tuple:
    """The point of the first greatest value in the reduction domain, then the value."""
    return _position("argmax", given, _type(given).min(), lambda new, best: new > best)


def argmin(*given: ExprLike) -> Tuple:
    """The point of the first least value in the reduction domain, then the value."""
    return _position("argmin", given, _type(given).max(), lambda new, best: new < best)


def _position(what: str, given: tuple[ExprLike, ...], first: Expr, better: Callable[[Expr, Expr], Expr]) -> Tuple:
    domain, value, free = _parts(what, given)
    func, count = Func(what), domain.dimensions()
    func[free] = (*(as_expr(0) for _ in range(count)), first)
    best = func[free][count]
    found = (select(better(value, best), domain[d], func[free][d]) for d in range(count))
    func[free] = (*found, select(better(value, best), value, best))
    return Tuple([func[free][i] for i in range(count + 1)])


def _type(given: tuple[ExprLike, ...]) -> Type:
    return as_expr(given[-1]).type()
