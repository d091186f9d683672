"""`rfactor.check`: the checker as a function."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_update
from rfactor.ir.types import Type, parse_type
from rfactor.ir.unknown import Signature, parse_signature
from rfactor.matcher.answer import Answer
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
) -> Answer:
    """Whether the serial update `x := update` hides an associative operator, with a proof of every claim.

    `update`: one expression a component over the accumulators `x` = `x0`, `x1`, …; `k`, `k0`, … and the names in
    `const` stay the same through the loop; every other name is data of the iteration. `type`: the type of names that
    `types` neither declares nor determines. `semantics`: `wrap` (two's complement) or `math` (unbounded integers).
    `timeout`: seconds after which the answer is `unknown`. `functions`: types, as `"i32, i32 -> f32"`, of functions
    that are not known otherwise; the types of those that are not named here are inferred. Raises `ParseError`, and
    `ValueError` for an unknown type.
    """
    parsed = parse_update(
        update,
        as_type(type),
        {n: as_type(t) for n, t in (types or {}).items()},
        const,
        Meaning(semantics),
        {n: s if isinstance(s, Signature) else parse_signature(s) for n, s in (functions or {}).items()},
    )
    return recognize(parsed, limits=Limits(seconds=timeout))


def as_type(type: Type | str) -> Type:
    """A type given by itself or by its name."""
    return type if isinstance(type, Type) else parse_type(str(type))
