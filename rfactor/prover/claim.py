"""What is said of an update, and what becomes of it: proved, or the obligation that is not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.prover.obligation import Obligation
from rfactor.prover.operator import Kind, Tuple
from rfactor.prover.verdict import Proven, Refuted, Unknown

Name = Literal[
    "step", "associative", "left_identity", "right_identity", "commutative", "not_commutative", "action", "invariant"
]
Record = tuple[Name, Proven]


@dataclass(frozen=True, slots=True)
class Lift:
    """A richer state: its types, how data enter it, its operator and unit, and how it acts on the old state."""

    types: tuple[Type, ...]
    data: Tuple
    operator: Tuple
    """Over `x0…` and `y0…` of the richer state."""
    identity: Tuple
    apply: Tuple
    """Over `x0…` (the old state) and `y0…` (the richer state)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of an update. Exactly one of (`operator`, `data`) and `lift` is given."""

    update: Update
    operator: Tuple | None = None
    identity: Tuple | None = None
    """Where an intermediate starts; None if the operator is claimed to have no left identity."""
    data: Tuple | None = None
    lift: Lift | None = None
    invariant: Tuple = ()
    """Conditions on `y0…` that hold for what an intermediate can be."""
    assumes: Tuple = ()
    """Conditions on data and constants."""
    known: tuple[Record, ...] = ()
    """Laws of the operator proved before, at its types and meaning: a row of the table."""


@dataclass(frozen=True, slots=True)
class Discharged:
    """Every obligation is proved."""

    claim: Claim
    """The claim as proved: with the identity dropped if it is none, and the invariant that was needed."""
    identity_kind: Kind
    commutative: bool | None
    proofs: tuple[Record, ...]
    obligations: tuple[Obligation, ...] = ()
    """All that was proved, or was proved before: what the yes rests on."""


@dataclass(frozen=True, slots=True)
class Failed:
    """An obligation that is not proved, and what was found."""

    name: Name
    verdict: Refuted | Unknown
