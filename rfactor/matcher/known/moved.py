"""A row at other types from one that is known: its claim with the types exchanged, proved there.

Proving a claim is a tenth of the work of finding it. A lifted answer is moved between types of one kind alone: at
another an operator on the state as it is might be found.
"""

from __future__ import annotations

import json
from dataclasses import replace

from rfactor.errors import Error
from rfactor.ir.expr import Const
from rfactor.ir.types import Type, parse_type
from rfactor.matcher.answer import ProofRecord
from rfactor.matcher.caveats import unreached
from rfactor.matcher.known.make import LIMITS, asked
from rfactor.matcher.known.nodes import number
from rfactor.matcher.known.record import read, written
from rfactor.matcher.known.shape import Shape
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recall import number_at
from rfactor.prover.claim import Failed
from rfactor.prover.discharge import discharge
from rfactor.table.known import Known

_PURSE = 3_000_000
"""What the solver may take for one proof: a third of a second."""


def moved(row: Known, source: Known) -> Known | None:
    """The row with the answer of one that differs from it in types alone; None where that is not proved to be one."""
    old, new = (tuple(map(parse_type, own.types.split(","))) for own in (source, row))
    text = _at(source.answer, old, new) if _may_move(source, row, old, new) else None
    if text is None:
        return None
    update = asked(row.form, new, row.semantics, row.literals)
    shape = Shape.of(update)
    if shape is None or (shape.text, shape.literals) != (row.form, row.literals):
        return None
    try:
        answer = read(text, update, new, shape.values, 0, shape.meaning)
        claim = None if answer is None else claim_of(answer)
        found = None if claim is None else discharge(claim, LIMITS.with_purse(_PURSE))
    except (ValueError, Error):  # the parts of the claim do not fit these types
        return None
    if answer is None or found is None or isinstance(found, Failed) or found.identity_kind != answer.identity_kind:
        return None
    if (found.commutative is None) != (answer.commutative is None):
        return None
    answer = replace(
        answer,
        identity=None if answer.lift is not None else found.claim.identity,
        commutative=found.commutative,
        invariant=found.claim.invariant,
        overflowing=None if answer.lift is None else unreached(update, answer.lift),
        proofs=tuple([ProofRecord(name, proof.method, proof.ms) for name, proof in found.proofs]),
    )
    told = written(answer, new)
    return None if told is None else replace(row, answer=told, verdict=answer.verdict)


def _may_move(source: Known, row: Known, old: tuple[Type, ...], new: tuple[Type, ...]) -> bool:
    if (source.form, source.semantics, source.literals) != (row.form, row.semantics, row.literals):
        return False
    if source.verdict not in ("associative", "lifted") or len(old) != len(new):
        return False
    plain = source.verdict == "associative"
    return all(o.code == n.code or (plain and o.is_int and n.is_int) for o, n in zip(old, new, strict=True))


def _at(answer: str, old: tuple[Type, ...], new: tuple[Type, ...]) -> str | None:
    """An answer with literals that mean at the new types what they did at the old; None where there are none."""
    kept = json.loads(answer)
    words: list[str] = []
    for word in kept["nodes"].split():
        head, _, kind = word.rpartition(":")
        if head[0] == "=" and kind.isdigit() and old[int(kind)] != new[int(kind)]:
            type_ = new[int(kind)]
            value = number_at(Const(old[int(kind)], number(head[1:])), old[int(kind)], type_)
            if value is None or (type_.is_int and not type_.min <= value <= type_.max):
                return None
            words.append(f"={Const(type_, value).value!r}:{kind}")
        else:
            words.append(word)
    return json.dumps({**kept, "nodes": " ".join(words)})
