"""The answer about an update: the object of `rfactor check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NoReturn

from rfactor.errors import NoTruthValue
from rfactor.ir.expr import Expr, Value
from rfactor.ir.types import Type
from rfactor.ir.update import Update
from rfactor.prover.verdict import Method

IdentityKind = Literal["two-sided", "left", "right", "none"]
ClaimName = Literal[
    "step", "associative", "left_identity", "right_identity", "commutative", "not_commutative", "action", "invariant"
]
InvariantClaim = Literal["initial", "inductive", "simplified"]
"""Invariants hold at the start; a step keeps one; under them the simplified update does the same."""


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """One discharged claim."""

    claim: ClaimName
    method: Method
    ms: float
    row: int | None = None
    """Id of the table row whose proof was used, for method `table`."""


@dataclass(frozen=True, slots=True)
class Lifting:
    """A richer state with an associative operator, and how it acts on the old state."""

    types: tuple[Type, ...]
    data: tuple[Expr, ...]
    operator: tuple[Expr, ...]
    identity: tuple[Expr, ...]
    apply: tuple[Expr, ...]
    """Over x (the old state) and y (the richer state)."""


@dataclass(frozen=True, slots=True)
class InvariantProof:
    """One discharged claim about loop invariants."""

    claim: InvariantClaim
    method: Method
    ms: float


@dataclass(frozen=True, slots=True)
class FromStart:
    """What an answer rests on that holds of an update under loop invariants alone."""

    update: Update
    """The update that was asked about. The answer's is proved to do the same in every state with the invariants."""
    invariants: tuple[Expr, ...]
    """Conditions on x0, x1, … and constants that hold before the loop and after each step of the serial run."""
    proofs: tuple[InvariantProof, ...]
    start: tuple[Expr | None, ...] | None
    """Each accumulator's value before the loop; None where it is for the caller to see that the invariants hold."""
    assumes: tuple[Expr, ...] = ()
    """Conditions on constants under which they are invariants."""

    @property
    def promised(self) -> bool:
        """Tell whether it is for the caller to see that the invariants hold at the start; else that is proved."""
        return self.start is None


@dataclass(frozen=True, slots=True)
class Answer:
    """Is there an associative operator behind an update? With every claim that a yes rests on."""

    update: Update
    verdict: Literal["associative", "lifted", "not_associative", "unknown"]
    operator: tuple[Expr, ...] | None = None
    """One expression a component over x0… (left), y0… (right) and constants."""
    identity: tuple[Expr, ...] | None = None
    """One expression a component, over constants; None where the kind is `right` or `none`."""
    identity_kind: IdentityKind | None = None
    data: tuple[Expr, ...] | None = None
    """y_j as an expression of the update's data and constants."""
    commutative: bool | None = None
    """None where neither proved nor refuted by a witness."""
    groups: tuple[tuple[int, ...], ...] = ()
    source: Literal["table", "synthesis"] | None = None
    invariant: tuple[Expr, ...] = ()
    assumes: tuple[Expr, ...] = ()
    lift: Lifting | None = None
    counterexample: Mapping[str, Value] | None = None
    reason: str | None = None
    proofs: tuple[ProofRecord, ...] = field(default=())
    ms: float = 0.0
    overflowing: tuple[int, ...] | None = None
    """Parts of the lifted state that may overflow on floats where the loop does not; None where nobody has looked."""
    rounded: tuple[int, Expr] | None = None
    """A component that is no float but may depend on how a float is rounded, and that float."""
    text: str | None = field(default=None, compare=False)
    """The update in the user's words, where it was asked about in words."""
    state: tuple[str, ...] = field(default=(), compare=False)
    """The user's names of the accumulators, where they are not `x`, or `x0`, `x1`, …"""
    note: str | None = field(default=None, compare=False)
    """What the user may have meant otherwise."""
    from_start: FromStart | None = None
    """Loop invariants, where `update` is what they leave of the one that was asked about."""

    @property
    def asked(self) -> Update:
        """The update that the question was about."""
        return self.update if self.from_start is None else self.from_start.update

    @property
    def assumed_of_data(self) -> tuple[Expr, ...]:
        """The assumptions on data and constants; others are promises about the start."""
        promised = () if self.from_start is None else self.from_start.invariants
        return tuple(e for e in self.assumes if e not in promised)

    @property
    def associative(self) -> bool:
        """Tell whether there is an operator on the state as it is."""
        return self.verdict == "associative"

    @property
    def ok(self) -> bool:
        """Tell whether there is an operator, on the state as it is or on a richer one."""
        return self.verdict in ("associative", "lifted")

    def __bool__(self) -> NoReturn:
        raise NoTruthValue(
            "an answer is neither true nor false: ask .associative (an operator on the state as it is), .ok (that, or "
            "one on a richer state) or .verdict"
        )

    def __str__(self) -> str:
        from rfactor.matcher.report import to_text

        return to_text(self)

    def _repr_html_(self) -> str:
        from rfactor.matcher.report import to_html

        return to_html(self)

    def element(self, **data: Any) -> Any:
        """Compute the state of one step from its data, and from the constants that it reads.

        Data are numbers or NumPy arrays, of which each element is a step. A state is a number or an array, or a tuple
        of those where it has several parts, of the answer's types: those of `lift` where there is one. Raises
        `rfactor.Error` where there is no operator, and for what is no value of its type.
        """
        from rfactor.matcher.values import element_of

        return element_of(self, data)

    def combine(self, s: Any, t: Any, **constants: Any) -> Any:
        """Join the states of two runs, that of the earlier one first; raises as `element` does."""
        from rfactor.matcher.values import combined

        return combined(self, s, t, constants)

    def apply(self, x: Any, s: Any, **constants: Any) -> Any:
        """Compute what a run that has the state `s` makes of the accumulators `x`; raises as `element` does."""
        from rfactor.matcher.values import applied

        return applied(self, x, s, constants)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What the proof over the reals leaves open on floats, one sentence each."""
        from rfactor.matcher.caveats import rounded_sentence, sentences, unreached

        rounded = (*(() if self.rounded is None else (rounded_sentence(*self.rounded),)), *self._of_cancelled())
        if self.lift is None:
            return rounded + self._of_exponentials()
        overflowing = unreached(self.update, self.lift) if self.overflowing is None else self.overflowing
        return rounded + sentences(self.lift, overflowing)

    def _of_cancelled(self) -> tuple[str, ...]:
        from rfactor.matcher.cancelled import cancelled, sentence

        return tuple(sentence(*found) for found in cancelled(self.update)) if self.ok else ()

    def _of_exponentials(self) -> tuple[str, ...]:
        from rfactor.matcher.exponentials import unsteady, unsteady_sentence

        if self.operator is None or self.data is None:
            return ()
        parts = unsteady(self.update, self.operator, self.data, self.assumed_of_data)
        return (unsteady_sentence(self.update, self.operator, parts),) if parts else ()
