"""`rfactor.check`: the checker as a function."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import Type, parse_type
from rfactor.ir.unknown import Signature, parse_signature
from rfactor.matcher.answer import Answer
from rfactor.matcher.invariants.recognize_from import recognize_assuming, recognize_from
from rfactor.matcher.invariants.stated import Stated, read_assumed, read_start
from rfactor.matcher.recognize import recognize
from rfactor.prover.limits import Limits


def check(
    update: str,
    type: Type | str = "i32",
    types: Mapping[str, Type | str] | None = None,
    const: Collection[str] = (),
    semantics: Meaning | str = "wrap",
    timeout: float = 10.0,
    functions: Mapping[str, Signature | str] | None = None,
    start: Stated | None = None,
    assume: str | Sequence[str] = (),
) -> Answer:
    """Whether the serial update `x := update` hides an associative operator, with a proof of every claim.

    `update`: one expression a component over the accumulators `x` = `x0`, `x1`, …; `k`, `k0`, … and the names in
    `const` stay the same through the loop; every other name is data of the iteration. `type`: the type of names that
    `types` neither declares nor determines. `semantics`: `wrap` (two's complement) or `math` (unbounded integers).
    `timeout`: seconds after which the answer is `unknown`. `functions`: types, as `"i32, i32 -> f32"`, of functions
    that are not known otherwise; the types of those that are not named here are inferred.

    `assume`: loop invariants, as `"x0 <= x1, x2 >= 0"`: conditions on accumulators and constants that hold of the
    accumulators when the loop starts. They are proved to be kept by every step, and to hold at the `start` if that is
    given; else the answer has them in `assumes`. `start`: each accumulator's value before the loop, over constants, as
    `"0, k, _"`, where nothing is known of the last one. Without `assume` invariants are inferred from it, if the update
    as it is has no operator. Where an answer rests on invariants, `from_start` has them, and `update` is what they
    leave of the one that was asked about.

    Raises `ParseError`, and `ValueError` for an unknown type.
    """
    parsed = parse_update(
        update,
        as_type(type),
        {n: as_type(t) for n, t in (types or {}).items()},
        const,
        Meaning(semantics),
        {n: s if isinstance(s, Signature) else parse_signature(s) for n, s in (functions or {}).items()},
    )
    limits = Limits(seconds=timeout)
    before = None if start is None else read_start(start, parsed)
    assumed = read_assumed(assume, parsed, before or ())
    if assumed:
        return recognize_assuming(parsed, assumed, before, limits)
    return recognize(parsed, limits=limits) if before is None else recognize_from(parsed, before, limits)[0]


def as_type(type: Type | str) -> Type:
    """A type given by itself or by its name."""
    return type if isinstance(type, Type) else parse_type(str(type))
