"""`rfactor.check`: the checker as a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type, parse_type
from rfactor.ir.unknown import Signature, parse_signature
from rfactor.matcher.answer import Answer
from rfactor.matcher.invariants.recognize_from import recognize_assuming, recognize_from
from rfactor.matcher.invariants.stated import Stated, read_assumed, read_start
from rfactor.matcher.question import Asked, check_reads_state, mistaken, read_question, with_x, without_x
from rfactor.matcher.recognize import recognize
from rfactor.prover.limits import Limits


def check(
    update: str | Callable[..., Any],
    type: Type | str = "i32",
    types: Mapping[str, Type | str] | None = None,
    const: Collection[str] = (),
    semantics: Meaning | str = "wrap",
    timeout: float = 10.0,
    functions: Mapping[str, Signature | str] | None = None,
    state: str | Sequence[str] = (),
    start: Stated | None = None,
    assume: str | Sequence[str] = (),
) -> Answer:
    """Prove that the serial update `x := update` hides an associative operator, or show why not.

    `update`: one expression a component over the accumulators `x` = `x0`, `x1`, …; `k`, `k0`, … and the names in
    `const` stay the same through the loop; every other name is data of the iteration. An assignment such as `s += a`
    names its accumulator itself. A lambda or a function that returns one expression takes its accumulators first, as
    many as it returns values. `state`: names of the accumulators, in order, a list or a text with commas.

    `type`: the type of names that `types` neither declares nor determines. `semantics`: `wrap` (two's complement) or
    `math` (unbounded integers). `timeout`: seconds after which the answer is `unknown`. `functions`: types, as `"i32,
    i32 -> f32"`, of functions that are not known otherwise; the types of those that are not named here are inferred.

    `assume`: loop invariants, as `"x0 <= x1, x2 >= 0"`: conditions on accumulators, by their names in the update, and
    constants that hold of the accumulators when the loop starts. They are proved to be kept by every step, and to hold
    at the `start` if that is given; else the answer has them in `assumes`. `start`: each accumulator's value before the
    loop, over constants, as `"0, k, _"`, where nothing is known of the last one. Without `assume` invariants are
    inferred from it, if the update as it is has no operator. Where an answer rests on invariants, `from_start` has
    them, and `update` is what they leave of the one that was asked about.

    Raises `ParseError`, also for an update that reads no accumulator, and `ValueError` for an unknown type.
    """
    question = read_question(
        update,
        as_type(type),
        {n: as_type(t) for n, t in (types or {}).items()},
        const,
        Meaning(semantics),
        {n: s if isinstance(s, Signature) else parse_signature(s) for n, s in (functions or {}).items()},
        names_in(state),
    )
    check_reads_state(question)
    before = None if start is None else read_start(start, question.update, question.state)
    assumed = read_assumed(assume, question.update, before or (), question.state)
    asked = without_x(Asked(question.update, before, assumed))
    answer = with_x(_answer(asked, Limits(seconds=timeout)), question.update)
    return replace(answer, text=question.text, state=question.state, note=mistaken(question))


def _answer(asked: Asked, limits: Limits) -> Answer:
    """Answer with the loop invariants that are assumed, else those of the start if that is known."""
    update, start = asked.update, asked.start
    if asked.assumed:
        return recognize_assuming(update, asked.assumed, start, limits)
    return recognize(update, limits=limits) if start is None else recognize_from(update, start, limits)[0]


def as_type(type: Type | str) -> Type:
    """A type given by itself or by its name."""
    return type if isinstance(type, Type) else parse_type(str(type))


def names_in(names: str | Sequence[str]) -> tuple[str, ...]:
    """Names in a list, or in a text with commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip()) if isinstance(names, str) else tuple(names)
