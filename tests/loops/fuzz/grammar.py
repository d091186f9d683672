"""The texts of random loops: a header, families of updates that most often are folds, and jumps between them."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from tests.loops.fuzz.columns import Column
from tests.loops.fuzz.expressions import Expressions


@dataclass(frozen=True)
class Program:
    """A function `loop` of one or two columns, and what its text promises."""

    source: str
    columns: tuple[Column, ...]
    kind: str
    """fold, search, scan or group."""
    inexact: bool
    """True where floats are multiplied or divided: another order rounds otherwise."""
    grows: bool
    """True where Python ints may grow with each step: not for many elements."""


@dataclass
class Body:
    """The statements of a loop while they are written."""

    rng: random.Random
    values: Expressions
    starts: list[str] = field(default_factory=list)
    """Assignments before the loop."""
    results: list[str] = field(default_factory=list)
    """Names that are returned."""
    inexact: bool = False
    grows: bool = False

    def new(self, start: str, shown: bool = True) -> str:
        """Declare an accumulator."""
        name = f"x{len(self.starts)}"
        self.starts.append(f"{name} = {start}")
        if shown:
            self.results.append(name)
        return name

    def zero(self) -> str:
        """Draw the start of a sum."""
        if self.values.number == "float":
            return self.rng.choice(["0.0", "0.0", "0", "1.5", "-0.0"])
        return self.rng.choice(["0", "0", "0", "0", "5", "-3", "np.int64(0)"])

    def nil(self) -> str:
        """Draw the zero of a state that has the data's type; an int among floats now and then."""
        return "0.0" if self.values.number == "float" and self.rng.random() < 0.85 else "0"

    def far(self) -> str:
        """Draw a number beyond the data."""
        if self.values.number == "float":
            return self.rng.choice(["float('inf')", "float('inf')", "1e6", "1e6", "10**6"])
        return self.rng.choice(["10**6", "10**6", "10**20", "float('inf')"])

    def update(self) -> list[str]:
        """Draw one family of updates."""
        families = [
            (self.total, 8), (self.count, 4), (self.extremum, 6), (self.none_first, 2), (self.place, 4),
            (self.boolean, 4), (self.reset, 3), (self.run, 3), (self.kadane, 3), (self.prefix_extremum, 2),
            (self.last, 2), (self.automaton, 3), (self.guarded, 2), (self.top_two, 1), (self.swap, 1),
        ]  # fmt: skip
        if self.values.number == "int":
            families += [(self.affine, 4), (self.bits, 4), (self.clamp, 3), (self.digits, 1), (self.wild, 1)]
        else:
            families += [(self.smoothed, 2), (self.clamp, 2)]
        if self.values.kinds["v"] == "char":
            families += [(self.doubled, 5), (self.string_state, 5)]
        return self.rng.choices([one for one, _ in families], [weight for _, weight in families])[0]()

    def total(self) -> list[str]:
        """Add data."""
        x, d = self.new(self.zero()), self.values.number_of()
        return [self.rng.choice([f"{x} += {d}", f"{x} -= {d}", f"{x} = {x} + {d}", f"{x} = {d} + {x}"])]

    def count(self) -> list[str]:
        """Count steps, or those where something holds."""
        x, c = self.new("0"), self.values.condition()
        return self.rng.choice(
            [[f"{x} += 1"], [f"if {c}:", f"    {x} += 1"], [f"{x} += {c}"], [f"{x} += 1 if {c} else 2"]]
        )

    def extremum(self) -> list[str]:
        """Keep the least or greatest datum."""
        d = self.values.number_of()
        word, sign = self.rng.choice([("max", ">"), ("min", "<"), ("max", ">="), ("min", "<=")])
        far = self.far()
        x = self.new(f"-({far})" if word == "max" else far)
        if self.rng.random() < 0.5:
            return [self.rng.choice([f"{x} = {word}({x}, {d})", f"{x} = {word}({d}, {x})"])]
        if self.rng.random() < 0.5:
            return [f"if {d} {sign} {x}:", f"    {x} = {d}"]
        return [f"{x} = {d} if {d} {sign} {x} else {x}"]

    def none_first(self) -> list[str]:
        """Keep an extremum that is None at first."""
        x, d, sign = self.new("None"), self.values.number_of(), self.rng.choice("<>")
        return [f"if {x} is None or {d} {sign} {x}:", f"    {x} = {d}"]

    def place(self) -> list[str]:
        """Keep an extremum and its place, or the last place of something."""
        where = self.values.place or self.values.number_of()
        if self.rng.random() < 0.4:
            x, c = self.new("-1"), self.values.condition()
            return [f"if {c}:", f"    {x} = {where}"]
        d, sign = self.values.number_of(), self.rng.choice(["<", ">", "<=", ">="])
        far = self.far()
        x = self.new(far if "<" in sign else f"-({far})")
        p = self.new("-1")
        if self.rng.random() < 0.3:
            return [f"if {d} {sign} {x}:", f"    {x}, {p} = {d}, {where}"]
        return [f"if {d} {sign} {x}:", f"    {x} = {d}", f"    {p} = {where}"]

    def boolean(self) -> list[str]:
        """Join conditions."""
        c, x = self.values.condition(), self.new(self.rng.choice(["True", "False"]))
        joined = [f"{x} = {x} and {c}", f"{x} = {x} or {c}", f"{x} = {x} != ({c})", f"{x} = ({c}) and not {x}"]
        set_or_flipped = [[f"if {c}:", f"    {x} = {value}"] for value in (f"not {x}", "True", "False")]
        return self.rng.choice([*([one] for one in joined), *set_or_flipped])

    def reset(self) -> list[str]:
        """Add until something holds, then start again."""
        x, c, d = self.new(self.zero()), self.values.condition(), self.values.number_of()
        if self.rng.random() < 0.5:
            return [f"if {c}:", f"    {x} = {self.rng.choice([self.nil(), self.nil(), d])}", "else:", f"    {x} += {d}"]
        return [f"{x} = {x} + 1 if {c} else 0"]

    def run(self) -> list[str]:
        """Keep the longest run."""
        r, best, c = self.new("0"), self.new("0"), self.values.condition()
        keep = self.rng.choice([[f"{best} = max({best}, {r})"], [f"if {r} > {best}:", f"    {best} = {r}"]])
        return [f"if {c}:", f"    {r} += 1", *(f"    {line}" for line in keep), "else:", f"    {r} = 0"]

    def kadane(self) -> list[str]:
        """Keep the greatest sum of neighbours."""
        z = self.nil()
        cur, best, d = self.new(z), self.new(z), self.values.number_of()
        if self.rng.random() < 0.5:
            return [f"{cur} = max({cur} + {d}, {z})", f"{best} = max({best}, {cur})"]
        return [f"{cur} += {d}", f"if {cur} < 0:", f"    {cur} = {z}", f"elif {cur} > {best}:", f"    {best} = {cur}"]

    def prefix_extremum(self) -> list[str]:
        """Keep the least prefix sum, or the greatest rise above an earlier datum."""
        d = self.values.number_of()
        if self.rng.random() < 0.5:
            s, low = self.new(self.nil()), self.new(self.nil())
            return [f"{s} += {d}", f"{low} = min({low}, {s})"]
        low, rise = self.new(self.far()), self.new(self.nil())
        return [f"{low} = min({low}, {d})", f"{rise} = max({rise}, {d} - {low})"]

    def last(self) -> list[str]:
        """Keep the datum before and count where it differs."""
        p, x = self.new("None"), self.new("0")
        return [f"if v != {p}:", f"    {x} += 1", f"{p} = v"]

    def automaton(self) -> list[str]:
        """Walk between a few states."""
        q, x = self.new("0"), self.new("0")
        c, d = self.values.condition(), self.values.condition()
        to = [self.rng.randrange(3) for _ in range(5)]
        return [
            f"if {q} == 0:", f"    {q} = {to[0]} if {c} else {to[1]}",
            f"elif {q} == 1 and {d}:", f"    {q} = {to[2]}", f"    {x} += 1",
            f"elif {c}:", f"    {q} = {to[3]}", "else:", f"    {q} = {to[4]}",
        ]  # fmt: skip

    def guarded(self) -> list[str]:
        """Add while a flag is set."""
        f, x = self.new(self.rng.choice(["True", "False"])), self.new(self.zero())
        flip = self.rng.choice([f"not {f}", "True", "False"])
        steps = [
            [f"if {self.values.condition()}:", f"    {f} = {flip}"],
            [f"if {f}:", f"    {x} += {self.values.number_of()}"],
        ]
        self.rng.shuffle(steps)
        return steps[0] + steps[1]

    def top_two(self) -> list[str]:
        """Keep the two greatest in a list."""
        x, d = self.new(self.rng.choice(["[-(10**6), -(10**6)]", f"[-({self.far()})] * 2"])), self.values.number_of()
        return [
            f"if {d} > {x}[0]:", f"    {x}[1] = {x}[0]", f"    {x}[0] = {d}",
            f"elif {d} > {x}[1]:", f"    {x}[1] = {d}",
        ]  # fmt: skip

    def swap(self) -> list[str]:
        """Exchange two sums."""
        x, y, d = self.new(self.nil()), self.new(self.nil()), self.values.number_of()
        return [self.rng.choice([f"{x}, {y} = {y}, {x} + {d}", f"{x}, {y} = {y} + {d}, {x}"])]

    def affine(self) -> list[str]:
        """Multiply by a constant and add, within a modulus or a mask."""
        x, d, c = self.new(self.rng.choice(["0", "1", "7"])), self.values.number_of(), self.rng.choice([2, 3, 31, 257])
        m = self.rng.choice(["% 97", "% 1000003", "% 1000000007", "& 0xFFFFFFFF", "& 0xFFFF", "% -13"])
        return [self.rng.choice([f"{x} = ({x} * {c} + {d}) {m}", f"{x} = ({x} + {d}) {m}"])]

    def digits(self) -> list[str]:
        """Multiply by a constant and add, without a bound."""
        self.grows = True
        x = self.new("0")
        return [f"{x} = {x} * {self.rng.choice([2, 10, 31])} + {self.values.number_of()}"]

    def bits(self) -> list[str]:
        """Join bits."""
        sign = self.rng.choice("^|&")
        x = self.new("-1" if sign == "&" else "0")
        return [f"{x} {sign}= {self.values.number_of()}"]

    def clamp(self) -> list[str]:
        """Add within walls."""
        z = self.nil()
        x, d, hi = self.new(z), self.values.number_of(), self.rng.choice(["1", "20", "1000"])
        if z == "0.0":
            hi += ".0"
        if self.rng.random() < 0.6:
            return [self.rng.choice([f"{x} = min(max({x} + {d}, {z}), {hi})", f"{x} = max({z}, min({hi}, {x} + {d}))"])]
        return [f"{x} += {d}", f"if {x} > {hi}:", f"    {x} = {hi}", f"elif {x} < -{hi}:", f"    {x} = -{hi}"]

    def smoothed(self) -> list[str]:
        """Multiply floats: rounding differs in another order."""
        self.inexact = True
        x = self.new("1.0")
        return [self.rng.choice([f"{x} = {x} * 0.75 + {self.values.number_of()}", f"{x} = 0.3 * v + 0.7 * {x}"])]

    def doubled(self) -> list[str]:
        """Count characters that follow themselves."""
        p, x = self.new("''"), self.new("0")
        return [f"if v == {p}:", f"    {x} += 1", f"{p} = v"]

    def string_state(self) -> list[str]:
        """Walk between states that are strings."""
        q, x = self.new("'out'"), self.new("0")
        return [
            f"if {q} == 'out':", "    if v == '(':", f"        {q} = 'in'",
            "elif v == ')':", f"    {q} = 'out'", "else:", f"    {x} += 1",
        ]  # fmt: skip

    def wild(self) -> list[str]:
        """Join states as no rule says: most often refused."""
        self.grows = True
        x, y, d = self.new("0"), self.new("1"), self.values.number_of()
        return self.rng.choice(
            [
                [f"{x} = {y} - {x} + {d}", f"if {x} > {y}:", f"    {y} += {d}"],
                [f"if {x} % 2 == 0:", f"    {x} = {x} // 2", "else:", f"    {x} = 3 * {x} + {d}", f"{y} += {x} > 9"],
                [f"{x} = abs({x} + {d})", f"{y} = max({x}, {y})"],
                [f"{x} += {d}", f"{y} += {x} % 10"],
            ]
        )
