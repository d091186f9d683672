"""What a prover can answer. Three answers that no caller can take for one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NoReturn

from rfactor.ir.expr import Value

Method = Literal["normal_form", "order", "bits", "exhaustive", "smt", "table"]


class _NotATruthValue:
    __slots__ = ()

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict has three values; match on Proven, Refuted and Unknown")


@dataclass(frozen=True, slots=True)
class Proven(_NotATruthValue):
    """The claim holds for all values of its variables."""

    method: Method
    ms: float = 0.0
    row: int | None = None
    """For method `table`: the row whose stored proof was used."""


@dataclass(frozen=True, slots=True)
class Refuted(_NotATruthValue):
    """The claim is false, and here is where. Both sides were evaluated at `counterexample` and differ."""

    counterexample: Mapping[str, Value]
    left: tuple[Value, ...]
    right: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Unknown(_NotATruthValue):
    """No answer within the limits. Never a yes."""

    reason: str


Verdict = Proven | Refuted | Unknown
