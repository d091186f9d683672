"""Bounded nests made wrong on purpose: a bound less by one, a fold less by one, a clamp left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rfactor.compiler.schedule.directives import Schedule
from rfactor.compiler.verify.decide import Decider
from rfactor.compiler.verify.query import query
from rfactor.compiler.verify.result import Obligation, Verification
from rfactor.ir.algorithm import Algorithm
from rfactor.ir.expr import Const, Expr, Op, walk
from rfactor.ir.expr import replace as replaced
from rfactor.ir.loopnest import Atomic, Block, For, If, Let, Produce, Provide, Realize, Stmt
from rfactor.ir.types import I32

Mutant = tuple[str, Stmt]


def less(expr: Expr, by: int = 1) -> Expr:
    return Op(I32, "-", (expr, Const(I32, by)))


def mutants(stmt: Stmt) -> Iterator[Mutant]:
    """Every nest that differs in one place."""
    if isinstance(stmt, Let):
        if stmt.name.endswith(".extent") or ".extent." in stmt.name:
            yield f"{stmt.name} less by one", replace(stmt, value=less(stmt.value))
        if stmt.name.endswith(".min") or ".min." in stmt.name:
            yield f"{stmt.name} more by one", replace(stmt, value=less(stmt.value, -1))
    if isinstance(stmt, For):
        yield f"{stmt.name} ends one earlier", replace(stmt, extent=less(stmt.extent))
        yield f"{stmt.name} begins one later", replace(stmt, min=less(stmt.min, -1), extent=less(stmt.extent))
    if isinstance(stmt, Realize):
        for d, fold in zip(range(len(stmt.bounds)), stmt.layout.folds, strict=True):
            if fold is not None and fold > 1:
                folds = (*stmt.layout.folds[:d], fold - 1, *stmt.layout.folds[d + 1 :])
                yield f"{stmt.name} folded to {fold - 1}", replace(stmt, layout=replace(stmt.layout, folds=folds))
    if isinstance(stmt, Provide):
        for value in dict.fromkeys(clamp for expr in (*stmt.arguments, *stmt.values) for clamp in clamps(expr)):
            (inside,) = (arg.args[0] for arg in value.args if isinstance(arg, Op) and arg.op == "min")
            arguments = tuple(replaced(one, {value: inside}) for one in stmt.arguments)
            values = tuple(replaced(one, {value: inside}) for one in stmt.values)
            yield f"{value} without its clamp", replace(stmt, arguments=arguments, values=values)
    for part, put in parts(stmt):
        for what, made in mutants(part):
            yield what, put(made)


def clamps(expr: Expr) -> Iterator[Op]:
    for node in walk(expr):
        extreme = isinstance(node, Op) and node.op == "max" and node.type == I32
        if extreme and sum(isinstance(arg, Op) and arg.op == "min" for arg in node.children) == 1:
            assert isinstance(node, Op)
            yield node


def parts(stmt: Stmt) -> Iterator[tuple[Stmt, Callable[[Stmt], Stmt]]]:
    if isinstance(stmt, Block):
        for i, one in zip(range(len(stmt.statements)), stmt.statements, strict=True):
            before, after = stmt.statements[:i], stmt.statements[i + 1 :]
            yield one, lambda new, before=before, after=after: Block((*before, new, *after))  # type: ignore[misc]
    elif isinstance(stmt, If):
        yield stmt.then, lambda new: replace(stmt, then=new)
        if stmt.otherwise is not None:
            yield stmt.otherwise, lambda new: replace(stmt, otherwise=new)
    elif isinstance(stmt, For | Let | Produce | Realize | Atomic):
        yield stmt.body, lambda new: replace(stmt, body=new)


def first(body: Stmt, algorithm: Algorithm, schedule: Schedule) -> Verification:
    """The obligations of a nest up to the first that is refuted."""
    asked = query(body, algorithm, schedule)
    decider = Decider(asked, 1.0)
    found: list[Obligation] = []
    for spec in asked.specs:
        found.append(decider.decide(spec))
        if found[-1].verdict == "refuted":
            break
    return Verification(tuple(found))
