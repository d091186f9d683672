"""Reductions written inside an expression: `sum(im[x + r.x])` is a function of its own, over the variables in it.

Each takes `(expression)` or `(domain, expression)`, and then a name for the function, or a `Func` of one's own that it
defines, so that it can be scheduled. With a domain given, the variables of other domains are arguments of the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import TypeVar

from rfactor.compiler.language.expr import Expr, ExprLike, Uses, as_expr, entry_names, typed_binary
from rfactor.compiler.language.func import Func
from rfactor.compiler.language.functions import cast, select
from rfactor.compiler.language.variables import RDom, Var
from rfactor.errors import AlgorithmError, TypeMismatch
from rfactor.ir.expr import Var as IrVar
from rfactor.ir.expr import substitute, variables

_R = TypeVar("_R")
_KEYWORDS = ("rdom", "expr", "name")


@dataclass(frozen=True, slots=True)
class _Reduction:
    """What a reduction was given, read as a function of its own."""

    func: Func
    domain: RDom
    value: Expr
    """Over the function's own variables and those of the domain."""
    variables: tuple[Var, ...]
    place: tuple[Expr, ...]
    """Where the function is called: what its variables stand for in the expression around."""


def _reduction(what: str, given: tuple[ExprLike, ...]) -> _Reduction:
    """Raises `AlgorithmError` where it is not clear which domain is meant."""
    func = Func(what)
    if given and isinstance(given[-1], str | Func):
        *rest, named = given
        given = tuple(rest)
        func = named if isinstance(named, Func) else Func(named or what)
    if func.defined():
        raise AlgorithmError(f"{what} defines the Func that it is given, and {func.name()} is defined already")
    if not (len(given) == 1 or (len(given) == 2 and isinstance(given[0], RDom))):
        raise TypeMismatch(f"{what} takes an expression, or an RDom and an expression, and then a name or a Func")
    value = as_expr(given[-1])
    used = [one for one in value.uses.values() if isinstance(one, RDom)]
    domains = [given[0]] if len(given) == 2 else used
    if len(domains) != 1:
        raise AlgorithmError(f"{what}({value}) is over one RDom; {len(domains)} were found: give it first")
    domain = domains[0]
    taken = {*domain.variable_names(), *entry_names(value.uses)}
    owners = {name: {one.name(): one} for one in used if one is not domain for name in one.variable_names()}
    free = [v for v in variables(value.node) if v.name not in taken]
    own = tuple(Var(v.name.replace(".", "_")) for v in free)
    inner = substitute(value.node, {v.name: o.node for v, o in zip(free, own, strict=True) if v.name != o.name()})
    uses: Uses = {name: one for name, one in value.uses.items() if one is domain or not isinstance(one, RDom)}
    place = tuple(Expr(IrVar(v.type, v.name), owners.get(v.name, {})) for v in free)
    return _Reduction(func, domain, Expr(inner, {**uses, domain.name(): domain}), own, place)


def _reduced(
    what: str, given: tuple[ExprLike, ...], first: Callable[[Expr], Expr], step: Callable[[Expr, Expr], Expr]
) -> Expr:
    asked = _reduction(what, given)
    asked.func[asked.variables] = first(asked.value)
    asked.func[asked.variables] = step(asked.func[asked.variables], asked.value)
    return asked.func[asked.place]


def _by_name(function: Callable[..., _R]) -> Callable[..., _R]:
    """The reduction, whose arguments may be given as `rdom`, `expr` and `name` too."""

    @wraps(function)
    def call(*given: ExprLike, **named: ExprLike) -> _R:
        if strange := named.keys() - _KEYWORDS:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {min(strange)!r}")
        return function(*given, *(named[key] for key in _KEYWORDS if key in named))

    return call


@_by_name
def sum(*given: ExprLike) -> Expr:
    """The sum of an expression over its reduction domain, of its type."""
    return _reduced("sum", given, lambda value: cast(value.type(), 0), lambda a, b: a + b)


@_by_name
def product(*given: ExprLike) -> Expr:
    """The product of an expression over its reduction domain, of its type."""
    return _reduced("product", given, lambda value: cast(value.type(), 1), lambda a, b: a * b)


@_by_name
def maximum(*given: ExprLike) -> Expr:
    """The greatest value of an expression over its reduction domain; the type's least of an empty one."""
    return _reduced("maximum", given, lambda value: value.type().min(), lambda a, b: typed_binary("max", a, b))


@_by_name
def minimum(*given: ExprLike) -> Expr:
    """The least value of an expression over its reduction domain; the type's greatest of an empty one."""
    return _reduced("minimum", given, lambda value: value.type().max(), lambda a, b: typed_binary("min", a, b))


@_by_name
def argmax(*given: ExprLike) -> tuple[Expr, ...]:
    """The point of the first greatest value in the reduction domain, then the value."""
    return _position("argmax", given, lambda value: value.type().min(), lambda new, best: new > best)


@_by_name
def argmin(*given: ExprLike) -> tuple[Expr, ...]:
    """The point of the first least value in the reduction domain, then the value."""
    return _position("argmin", given, lambda value: value.type().max(), lambda new, best: new < best)


def _position(
    what: str, given: tuple[ExprLike, ...], first: Callable[[Expr], Expr], better: Callable[[Expr, Expr], Expr]
) -> tuple[Expr, ...]:
    asked = _reduction(what, given)
    func, domain, value, free = asked.func, asked.domain, asked.value, asked.variables
    count = domain.dimensions()
    func[free] = (*(as_expr(0) for _ in range(count)), first(value))
    best = func[free][count]
    found = (select(better(value, best), domain[d], func[free][d]) for d in range(count))
    func[free] = (*found, select(better(value, best), value, best))
    return tuple(func[asked.place][i] for i in range(count + 1))
