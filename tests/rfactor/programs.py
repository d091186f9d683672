"""Algorithms written briefly, and answers written by hand, for the tests of the pass and of the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rfactor.ir.algorithm import Algorithm, Definition, Function, Image, ReductionDomain, ReductionVariable
from rfactor.ir.expr import Call, Const, Expr, Var, substitute, variables
from rfactor.ir.parser import parse_expr, parse_tuple
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, I32, Type
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer, IdentityKind

Recognize = Callable[[Update], Answer]


def i32(value: int) -> Expr:
    return Const(I32, value)


def var(name: str) -> Var:
    return Var(I32, name)


def expr(text: str, expected: Type | None = None, **parts: Expr) -> Expr:
    """`text` with the names in `parts` standing for those expressions."""
    return substitute(parse_expr(text, {name: part.type for name, part in parts.items()}, expected), parts)


def read(image: Image, *args: Expr) -> Call:
    return Call(image.type, image.name, args, "image")


def over(*loops: tuple[str, int | Expr], where: Expr | None = None) -> ReductionDomain:
    """The domain with the loops (name, extent) from 0, innermost first."""
    bounds = ((name, i32(extent) if isinstance(extent, int) else extent) for name, extent in loops)
    variables = tuple(ReductionVariable(name, i32(0), extent) for name, extent in bounds)
    return ReductionDomain(variables, where if where is not None else Const(BOOL, True))


def function(
    name: str, names: Sequence[str], first: Sequence[Expr], *updates: Callable[[Function], Definition]
) -> Function:
    """The function with the pure definition `first` and updates made by functions of it."""
    made = Function(
        name,
        tuple(names),
        tuple(value.type for value in first),
        Definition(tuple(var(n) for n in names), tuple(first)),
    )
    return Function(name, made.variables, made.types, made.pure, tuple(update(made) for update in updates))


def reduction(first: Sequence[Expr], values: Sequence[str], loops: ReductionDomain, **data: Expr) -> Function:
    """`f()` from `first`, updated to `values`, in which `x0`, `x1`, … are its own components."""

    def update(f: Function) -> Definition:
        own = {f"x{i}": f.at((), i) for i in range(len(first))}
        return Definition((), tuple(expr(t, e.type, **own, **data) for t, e in zip(values, first, strict=True)), loops)

    return function("f", (), first, update)


def algorithm(*functions: Function, images: Sequence[Image] = (), parameters: Sequence[Var] = ()) -> Algorithm:
    """The algorithm whose output is the last function."""
    return Algorithm(functions, (functions[-1].name,), tuple(images), tuple(parameters))


def extent(image: Image, d: int) -> Var:
    return var(f"{image.name}.extent.{d}")


def answering(
    operator: str,
    identity: str,
    kind: IdentityKind = "two-sided",
    commutative: bool | None = True,
    data: str | Callable[..., tuple[Expr, ...]] | None = None,
    **constants: Type,
) -> Recognize:
    """A matcher that knows one operator and gives it for every update of as many components."""
    parts = len(identity.split(","))

    def recognize(update: Update) -> Answer:
        types = {f"{side}{i}": t for i, t in zip(range(9), update.types, strict=False) for side in "xy"}
        types |= constants
        if len(update.types) != parts:
            return Answer(update, "unknown", reason=f"this is not the update of {parts} components that is known")
        types |= {v.name: v.type for c in update.components for v in variables(c) if v.name not in types}
        start = parse_tuple(identity, types, update.types)
        return Answer(
            update,
            "associative",
            parse_tuple(operator, types, update.types),
            start,
            kind,
            commutative=commutative,
            data=_data(data, update, types, start),
        )

    return recognize


def _data(
    data: str | Callable[..., tuple[Expr, ...]] | None,
    update: Update,
    types: dict[str, Type],
    start: tuple[Expr, ...],
) -> tuple[Expr, ...] | None:
    if data is reached:
        return reached(update, start)
    return parse_tuple(data, types, update.types) if isinstance(data, str) else data and data(update)


def reached(update: Update, start: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The state after one element: `f(e; d)`."""
    values = {f"x{i}": value for i, value in enumerate(start)}
    return tuple(simplify(substitute(component, values)) for component in update.components)


def refusing(reason: str, **counterexample: int) -> Recognize:
    """A matcher that has an answer for no update."""

    def recognize(update: Update) -> Answer:
        return Answer(update, "not_associative", counterexample=counterexample or None, reason=reason)

    return recognize
