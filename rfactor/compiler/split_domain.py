"""Splits and fuses of reduction variables, moved from the schedule into the algorithm.

    f() = f() + b(r) for r in [0, n)
        split(r, ro, ri, 16)  ->
    f() = f() + b(ro * 16 + ri) for ro in [0, (n + 15) // 16) for ri in [0, 16) where ro * 16 + ri < n

`rfactor` works on the reduction variables of the algorithm, so those that a schedule makes must be there first (Suriana
et al. 2017, figure 1). Both rewrites keep the order in which the points of the domain are visited, but for a fuse of
loops that were reordered: then the domain has the order of the schedule, whose directives keep the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from rfactor.compiler.schedule.directives import EXACT, Fuse, Split
from rfactor.compiler.schedule.loops import countable
from rfactor.errors import ScheduleError
from rfactor.ir.algorithm import Definition, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Const, Expr, apply, conjunction, names, substitute
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I32


def split_domain(
    definition: Definition, relations: tuple[Split | Fuse, ...], order: tuple[str, ...] = ()
) -> Definition:
    """`definition` over the domain that `relations` make of its own, taken in order.

    `order` names the loops that there are in the end, innermost first, where that is known to give the same result:
    the domain gets it where variables that are no neighbours are fused.
    Relations of pure variables are left alone: they are the schedule's. Raises `ScheduleError` for a new name that is
    taken, a factor below one, a tail strategy that repeats or adds points, and without `order` a fuse of variables
    that are not neighbours.
    """
    apart = False
    for relation in relations:
        domain = definition.domain
        if domain is None:
            break
        held = {rv.name for rv in domain.variables}
        if isinstance(relation, Split) and relation.old in held:
            definition = _split(definition, domain, relation)
        elif isinstance(relation, Fuse) and {relation.inner, relation.outer} & held:
            apart |= not _neighbours(domain, relation)
            if apart and not order:
                raise ScheduleError(
                    f"fuse({relation.inner}, {relation.outer}): {relation.outer} must be the next loop outside "
                    f"{relation.inner} in the reduction domain, whose order is "
                    f"{', '.join(rv.name for rv in reversed(domain.variables))} from the outside"
                )
            definition = _fuse(definition, domain, relation)
    return _ordered(definition, order) if apart else definition


def _neighbours(domain: ReductionDomain, fuse: Fuse) -> bool:
    return _find(domain, fuse.outer)[1] == _find(domain, fuse.inner)[1] + 1


def _ordered(definition: Definition, order: tuple[str, ...]) -> Definition:
    """`definition` with its loops nested as in `order`, innermost first."""
    domain = definition.domain
    assert domain is not None
    own = {rv.name for rv in domain.variables}
    if any((names(rv.min) | names(rv.extent)) & own for rv in domain.variables):
        raise ScheduleError("loops whose bounds depend on one another are fused in the order that they have")
    variables = tuple(sorted(domain.variables, key=lambda rv: order.index(rv.name)))
    return replace(definition, domain=replace(domain, variables=variables))


def _literal(value: int) -> Expr:
    return Const(I32, value)


def _split(definition: Definition, domain: ReductionDomain, split: Split) -> Definition:
    """`old` is `min + outer * factor + inner`; points past its end are excluded, if there are any."""
    size = split.factor if isinstance(split.factor, int) else None
    if size is not None and size < 1:
        raise ScheduleError(f"split({split.old}) by {split.factor}: the factor must be 1 or more")
    if split.tail not in EXACT:
        raise ScheduleError(
            f"split({split.old}) with tail strategy {split.tail.name}: a reduction visits each point once; "
            "use GuardWithIf"
        )
    old, position = _find(domain, split.old)
    _unused(domain, {split.old}, split.outer, split.inner)
    factor = (
        simplify(apply("max", split.factor, _literal(1))) if isinstance(split.factor, Expr) else _literal(split.factor)
    )
    if size is not None and isinstance(old.extent, Const):
        whole = -(-int(old.extent.value) // size)
        countable(f"split({split.old}) by {size}", whole * size - 1)
        blocks: Expr = _literal(whole)
    else:
        more = simplify(apply("-", factor, _literal(1)))
        blocks = simplify(apply("//", apply("+", old.extent, more), factor))
    outer = ReductionVariable(split.outer, _literal(0), blocks)
    inner = ReductionVariable(split.inner, _literal(0), factor)
    along = apply("+", apply("*", outer.var, factor), inner.var)
    divides = size is not None and isinstance(old.extent, Const) and int(old.extent.value) % size == 0
    guard = () if divides else (apply("<", along, old.extent),)
    variables = (*domain.variables[:position], inner, outer, *domain.variables[position + 1 :])
    return _rewritten(definition, variables, {old.name: simplify(apply("+", along, old.min))}, guard)


def _fuse(definition: Definition, domain: ReductionDomain, fuse: Fuse) -> Definition:
    """`fused` counts the pairs (outer, inner) in their order."""
    inner, position = _find(domain, fuse.inner)
    outer, above = _find(domain, fuse.outer)
    _unused(domain, {fuse.inner, fuse.outer}, fuse.fused)
    count, rows = _count(inner.extent), _count(outer.extent)
    if isinstance(count, Const) and isinstance(rows, Const):
        countable(f"fuse({fuse.inner}, {fuse.outer})", int(count.value) * int(rows.value))
    fused = ReductionVariable(fuse.fused, _literal(0), simplify(apply("*", rows, count)))
    variables = tuple(fused if place == position else rv for place, rv in enumerate(domain.variables) if place != above)
    values = {
        inner.name: simplify(apply("+", inner.min, apply("%", fused.var, count))),
        outer.name: simplify(apply("+", outer.min, apply("//", fused.var, count))),
    }
    return _rewritten(definition, variables, values, ())


def _count(extent: Expr) -> Expr:
    """The number of iterations: a negative extent counts as zero."""
    return simplify(apply("max", extent, _literal(0)))


def _find(domain: ReductionDomain, name: str) -> tuple[ReductionVariable, int]:
    for position, rv in enumerate(domain.variables):
        if rv.name == name:
            return rv, position
    held = ", ".join(rv.name for rv in reversed(domain.variables))
    raise ScheduleError(f"{name} is no reduction variable of this update; it has {held} (outermost first)")


def _unused(domain: ReductionDomain, replaced: set[str], *names: str) -> None:
    """Refuse new names that another loop of the domain has, or that are the same."""
    taken = {rv.name for rv in domain.variables} - replaced
    for name in names:
        if name in taken:
            raise ScheduleError(f"the name {name} is taken by another loop of this update; use a new RVar")
        taken.add(name)


def _rewritten(
    definition: Definition,
    variables: tuple[ReductionVariable, ...],
    values: Mapping[str, Expr],
    guard: tuple[Expr, ...],
) -> Definition:
    """`definition` over other variables: the old ones become `values`, `guard` is asked before its own predicate."""
    assert definition.domain is not None
    held = definition.domain.variables
    moving = {rv.name for rv in held}
    gone = tuple(rv for rv in held if rv.name in values and not (names(rv.min) | names(rv.extent)) & moving)

    def new(expr: Expr) -> Expr:
        return substitute(expr, values)

    domain = ReductionDomain(
        tuple(rv if rv.name in values else ReductionVariable(rv.name, new(rv.min), new(rv.extent)) for rv in variables),
        conjunction(*guard, new(definition.domain.predicate)),
        (*definition.domain.origins, *gone),
    )
    return Definition(tuple(map(new, definition.arguments)), tuple(map(new, definition.values)), domain)
