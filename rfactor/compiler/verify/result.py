"""What `verify` answers: every obligation with its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rfactor.compiler.verify.spec import Place
from rfactor.ir.expr import Expr, Value
from rfactor.ir.meaning import Meaning

Verdict = Literal["proven", "refuted", "unknown"]


@dataclass(frozen=True)
class Obligation:
    """One thing that must hold of a nest. It has no truth value: compare its `verdict`."""

    place: Place
    verdict: Verdict
    reason: str = ""
    """Why it is unknown."""
    values: Mapping[str, Value] = field(default_factory=dict)
    """Where it is refuted: loop variables, parameters, sizes and what was loaded."""
    seconds: float = 0.0
    """Of processor time."""
    questions: tuple[tuple[Expr, ...], ...] = ()
    """What the solver was asked: conditions that cannot hold together if the obligation is proven by this question."""

    def __bool__(self) -> bool:
        raise TypeError("an obligation is proven, refuted or unknown: compare its verdict")

    def smt2(self) -> str:
        """What the solver was asked, as SMT-LIB text: one script a question, each ending in `(check-sat)`.

        Proven if each of them is `unsat`. Empty where nothing had to be asked.
        """
        from rfactor.prover.smt import script

        return "(reset)\n".join(script(question, Meaning.MATH) for question in self.questions)

    def __str__(self) -> str:
        place = self.place
        of = f" of {place.function}" if place.function else ""
        within = f", in {place.variable}" if place.variable else ""
        loops = f", inside {', '.join(place.loops)}" if place.loops else ""
        text = f"{self.verdict}: {place.kind}{of}{within}: {place.access}, in {place.stage or 'the nest'}{loops}"
        if self.reason:
            text += f"\n    because {self.reason}"
        if self.values:
            text += "\n    where " + ", ".join(f"{name} = {value}" for name, value in self.values.items())
        return text

    def json(self) -> dict[str, Any]:
        """As plain data: `kind`, `function`, `stage`, `access`, `variable`, `loops`, `verdict`, `reason`, `values`,
        `seconds`."""
        place = self.place
        return {
            "kind": place.kind, "function": place.function, "stage": place.stage, "access": place.access,
            "variable": place.variable, "loops": list(place.loops), "verdict": self.verdict, "reason": self.reason,
            "values": dict(self.values), "seconds": round(self.seconds, 6),
        }  # fmt: skip


@dataclass(frozen=True)
class Verification:
    """All obligations of a pipeline's bounds."""

    obligations: tuple[Obligation, ...]

    def __bool__(self) -> bool:
        raise TypeError("bounds are proven, refuted or unknown: compare the verdict")

    @property
    def verdict(self) -> Verdict:
        """`refuted` if any obligation is, else `unknown` if any is, else `proven`."""
        found = {one.verdict for one in self.obligations}
        return "refuted" if "refuted" in found else "unknown" if "unknown" in found else "proven"

    @property
    def proven(self) -> tuple[Obligation, ...]:
        """Those that are proven."""
        return tuple(one for one in self.obligations if one.verdict == "proven")

    @property
    def refuted(self) -> tuple[Obligation, ...]:
        """Those that fail."""
        return tuple(one for one in self.obligations if one.verdict == "refuted")

    @property
    def unknown(self) -> tuple[Obligation, ...]:
        """Those that could not be decided."""
        return tuple(one for one in self.obligations if one.verdict == "unknown")

    @property
    def seconds(self) -> float:
        """Of processor time."""
        return sum(one.seconds for one in self.obligations)

    def __str__(self) -> str:
        return self.summary(len(self.obligations))

    def summary(self, most: int) -> str:
        """The counts, and `most` of the obligations that are refuted or unknown."""
        kinds = Counter((one.place.kind, one.verdict) for one in self.obligations)
        counts = f"{len(self.proven)} of {len(self.obligations)} obligations proven"
        counts += f", {len(self.refuted)} refuted, {len(self.unknown)} unknown"
        lines = [f"{self.verdict}: {counts}; {self.seconds:.2f} s"]
        for kind in dict.fromkeys(one.place.kind for one in self.obligations):
            told = (f"{kinds[kind, v]} {v}" for v in ("proven", "refuted", "unknown") if kinds[kind, v])
            lines.append(f"  {kind:10}{', '.join(told)}")
        left = (*self.refuted, *self.unknown)
        lines += [str(one) for one in left[:most]]
        if len(left) > most:
            lines.append(f"and {len(left) - most} others")
        return "\n".join(lines)

    def json(self) -> dict[str, Any]:
        """As plain data: `verdict`, `seconds` and the `obligations`."""
        return {
            "verdict": self.verdict,
            "seconds": round(self.seconds, 6),
            "obligations": [one.json() for one in self.obligations],
        }
