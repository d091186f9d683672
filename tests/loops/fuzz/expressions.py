"""Expressions over data: numbers and conditions of an element, of a second one, and of the index."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass
class Expressions:
    """What can be said of the data of one step."""

    rng: random.Random
    kinds: dict[str, str]
    """Names of data to int, float, bool or char; `v` is always there."""
    place: str | None = None
    """The name of the index, where there is one."""
    risky: bool = False
    """True where an expression may raise for some data."""

    @property
    def number(self) -> str:
        """Give the kind of the numbers: float where there is one, else int."""
        return "float" if "float" in self.kinds.values() else "int"

    def atom(self) -> str:
        """Draw a number of the data without an operation."""
        name, kind = self.rng.choice(list(self.kinds.items()))
        if self.place and self.rng.random() < 0.15:
            return self.place
        if kind == "char":
            return f"ord({name})"
        if kind == "bool":
            return f"(1 if {name} else {self.rng.choice(['0', '-1'])})"
        return name

    def number_of(self, depth: int = 0) -> str:
        """Draw a number of the data; ints and floats as the data has them, wrapping as it wraps."""
        if depth > 1 or self.rng.random() < 0.55:
            return self.atom()
        inner = self.number_of(depth + 1)
        other = self.number_of(depth + 1)
        c = self.rng.choice([1, 2, 3, 5, 7])
        if self.risky and self.rng.random() < 0.1:
            return f"(100 // {inner})" if self.number == "int" else f"int({inner})"
        forms = [
            f"({inner} + {other})", f"({inner} - {c})", f"({inner} * {c})", f"abs({inner})", f"min({inner}, {other})",
            f"max({inner}, {c})", f"({inner} if {self.condition(1)} else {self.rng.choice([other, '0'])})",
        ]  # fmt: skip
        if self.number == "int":
            forms += [
                f"({inner} % {c})", f"({inner} // {c})", f"({inner} & {self.rng.choice([1, 15])})", f"int({inner})",
            ]  # fmt: skip
        else:
            forms += [f"({inner} * 0.5)", f"({inner} * {inner})", f"(-{inner})"]
        return self.rng.choice(forms)

    def condition(self, depth: int = 0) -> str:
        """Draw a condition of the data."""
        if depth == 0 and self.rng.random() < 0.25:
            a, b = self.condition(1), self.condition(1)
            return self.rng.choice([f"({a} and {b})", f"({a} or {b})", f"(not {a})"])
        name, kind = self.rng.choice(list(self.kinds.items()))
        if kind == "char":
            return self.rng.choice(
                [f"{name} == 'a'", f"{name} in 'ab'", f"{name} != ' '", f"{name}.isdigit()", f"{name} < 'b'"]
            )
        if kind == "bool":
            return self.rng.choice([name, f"not {name}"]) if depth == 0 else f"(not {name})"
        c = self.rng.choice([0, 1, -3, 10, 40, 97])
        forms = [
            f"{name} > {c}",
            f"{name} <= {c}",
            f"{name} == {c}",
            f"{name} != {c}",
            f"{-abs(c)} <= {name} < {c + 9}",
        ]
        if kind == "int":
            forms += [f"{name} % {self.rng.choice([2, 3, 7])} == 0", f"{name} & 1"] if depth else [f"{name} % 2 == 1"]
        if self.place:
            forms.append(f"{self.place} % 2 == 0")
        told = self.rng.choice(forms)
        return f"({told})" if depth else told
