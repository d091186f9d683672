"""Refutations for unknown functions: an operator for every function would be one for each of a few."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rfactor.ir.canonical import canonical
from rfactor.ir.expr import Call, Expr, Var, apply, cast, const, rewrite, select
from rfactor.ir.types import Type
from rfactor.ir.unknown import unknown_calls
from rfactor.ir.update import Update
from rfactor.matcher.refusal.instance import Refutation

Choice = Callable[[Type, tuple[Expr, ...]], Expr]


def refuted(update: Update, refute: Callable[[Update], Refutation | None]) -> Refutation | None:
    """A refutation of the update with all its unknown functions taken to be plain ones, which the sentence names."""
    for said, instance in instances(update):
        found = refute(instance)
        if found is not None:
            return replace(found, sentence=f"where {said}: {found.sentence}")
    return None


def instances(update: Update) -> Iterator[tuple[str, Update]]:
    """The update with its functions taken to be plain ones, and which."""
    calls = {call.name: call for call in unknown_calls(update.components)}
    for choice in (_shifted, _squared):

        def chosen(node: Expr, choice: Choice = choice) -> Expr:
            return _value(node, choice) if isinstance(node, Call) and node.kind == "unknown" else node

        memo: dict[Expr, Expr] = {}
        components = tuple(rewrite(e, memo, chosen) for e in update.components)
        said = []
        for call in calls.values():
            args = tuple(Var(arg.type, f"u{i}") for i, arg in zip(range(len(call.args)), call.args, strict=True))
            general = Call(call.type, call.name, args, "unknown")
            said.append(f"{general} = {canonical(_value(general, choice))}")
        yield " and ".join(said), replace(update, components=components)


def _value(call: Call, choice: Choice) -> Expr:
    """The value of a plain function: a number, or whether the first argument is above one."""
    numbers = [arg.type for arg in call.args if not arg.type.is_bool]
    type_ = call.type if not call.type.is_bool else numbers[0] if numbers else call.type
    if type_.is_bool:
        value = call.args[0]
        for arg in call.args[1:]:
            value = apply("and", value, apply("not", arg))
        return value
    args = tuple(
        select(arg, const(type_, 1), const(type_, 0)) if arg.type.is_bool else cast(type_, arg) for arg in call.args
    )
    if call.type.is_bool:
        return apply(">", args[0], apply("*", const(type_, 2), choice(type_, args[1:] or args)))
    return choice(type_, args)


def _shifted(type_: Type, args: tuple[Expr, ...]) -> Expr:
    return apply("+", _weighed(type_, args), const(type_, 1))


def _squared(type_: Type, args: tuple[Expr, ...]) -> Expr:
    value = _weighed(type_, args)
    return apply("*", value, value)


def _weighed(type_: Type, args: tuple[Expr, ...]) -> Expr:
    value = args[0]
    for i, arg in enumerate(args[1:], 2):
        value = apply("+", value, apply("*", const(type_, i), arg))
    return value
