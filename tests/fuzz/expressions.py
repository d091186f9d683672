"""Random expressions, as text. Every operand has exactly the type it is asked for, so that all are well typed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

INTEGERS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
FLOATS = ("f16", "bf16", "f32", "f64")
TYPES = ("bool", *INTEGERS, *FLOATS)
NUMPY = {
    "bool": "bool_", **{t: f"{'u' if t[0] == 'u' else ''}int{t[1:]}" for t in INTEGERS},
    **{t: f"float{t[1:]}" for t in FLOATS if t != "bf16"},
}  # fmt: skip


def type_object(type: str) -> str:
    """The type as the language writes it."""
    if type == "bool":
        return "hl.Bool()"
    if type == "bf16":
        return "hl.BFloat(16)"
    return f"hl.{ {'u': 'UInt', 'i': 'Int', 'f': 'Float'}[type[0]] }({type[1:]})"


def bits(type: str) -> int:
    """Its width."""
    return 1 if type == "bool" else int(type.lstrip("bfiu"))


def array_of(type: str, values: str) -> str:
    """A list of numbers as an array: of brain floats, which NumPy has not, as what is in memory."""
    if type == "bf16":
        upper = f"np.array({values}, np.float32).view(np.uint32) >> 16"
        return f"({upper}).astype(np.uint16).view([('bfloat16', np.uint16)])"
    return f"np.array({values}, np.{NUMPY[type]})"


@dataclass(frozen=True)
class Source:
    """A function or an image that expressions may read."""

    name: str
    types: tuple[str, ...]
    rank: int
    box: tuple[tuple[int, int], ...] | None = None
    """(min, extent) a dimension, of an image: what may be read."""
    finite: bool = True
    """Whether an image holds no NaN."""

    def at(self, point: list[str], component: int) -> str:
        """A component of it at a point."""
        read = f"{self.name}[{', '.join(point) or '()'}]"
        return read if len(self.types) == 1 else f"{read}[{component}]"


@dataclass(frozen=True)
class Scope:
    """What an expression may use."""

    variables: tuple[str, ...]
    """i32, of a few values each: where functions are read around."""
    sources: tuple[Source, ...] = ()
    given: tuple[tuple[str, str], ...] = ()
    """Values as they stand, with their types: parameters, and accesses of the function itself."""
    wild: bool = True
    """Whether floats may be divided and rooted: what is not exact."""
    depth: int = 2
    """Of expressions, at most."""

    def only(self, *variables: str) -> Scope:
        """With these variables alone and nothing that varies besides."""
        return replace(self, variables=variables)


def constant(random: Random, type: str) -> str:
    """A small number, or an end of the range."""
    if type == "bool":
        return random.choice(["(hl.i32(0) == 1)", "(hl.i32(0) == 0)"])
    if type in FLOATS:
        return f"hl.{type}({random.choice([0.0, 1.0, -1.0, 2.0, 0.5, 3.0, -0.0, -2.5])})"
    width, signed = bits(type), type[0] == "i"
    low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
    near = list(range(-3 if signed else 0, 6))
    return f"hl.{type}({random.choice([*near, *near, low, high, width - 1, high // 2])})"


def coordinate(random: Random, scope: Scope, box: tuple[int, int] | None) -> str:
    """Where a function is read in one dimension; inside `box` if given."""
    if box is not None:
        return clamped(random, scope, box[0], box[0] + box[1] - 1)
    v = random.choice(scope.variables) if scope.variables else "0"
    c, k = random.randint(-2, 2), random.choice([2, 2, 3])
    forms = [v, v, v, v, f"{v} + {c}", f"{v} + {c}", f"{v} + {c}", f"{c} - {v}", f"{v} * {k} + {c}"]
    forms += [f"{v} // {k}", f"{v} % {k}", f"{c}", f"hl.min({v} + {c}, {random.randint(0, 6)})", f"hl.max({v}, {c})"]
    if len(scope.variables) > 1:
        forms.append(f"{v} + {random.choice(scope.variables)}")
    forms.append(clamped(random, scope, c, c + random.randint(0, 7)))
    return random.choice(forms)


def clamped(random: Random, scope: Scope, low: int, high: int) -> str:
    """Any coordinate, held between two ends."""
    v = random.choice(scope.variables) if scope.variables and random.random() < 0.7 else None
    at = f"{v} + {random.randint(-2, 2)}" if v is not None else expression(random, "i32", scope, 1)
    return f"hl.clamp({at}, {low}, {high})"


def leaf(random: Random, type: str, scope: Scope, depth: int) -> str:
    """A constant, a variable, or something that is read."""
    forms = ["constant"]
    if scope.variables:
        forms += ["variable"] * 2
    reads = [(s, c) for s in scope.sources for c, t in enumerate(s.types) if t == type]
    others = [(s, c) for s in scope.sources for c, t in enumerate(s.types) if t != type]
    given = [text for text, t in scope.given if t == type]
    forms += ["read"] * (6 if reads else 0) + ["cast"] * (2 if others else 0) + ["given"] * (4 if given else 0)
    form = random.choice(forms)
    if form == "constant":
        return constant(random, type)
    if form == "variable":
        return cast(type, f"({random.choice(scope.variables)} + {random.randint(0, 2)})")
    if form == "given":
        return random.choice(given)
    source, component = random.choice(reads if form == "read" else others)
    narrow = scope if depth > 0 else replace(scope, sources=())
    point = [coordinate(random, narrow, source.box[d] if source.box else None) for d in range(source.rank)]
    read = source.at(point, component)
    return read if form == "read" else cast(type, read)


def cast(type: str, value: str) -> str:
    """`value` as `type`."""
    return f"hl.cast({type_object(type)}, {value})"


_ANY = ["{a} + {b}", "{a} - {b}", "{a} * {b}", "hl.min({a}, {b})", "hl.max({a}, {b})"]
_SAME = ["hl.saturating_add({a}, {b})", "hl.saturating_sub({a}, {b})", "hl.halving_add({a}, {b})", "hl.popcount({a})",
         "hl.count_leading_zeros({a})", "hl.count_trailing_zeros({a})", "hl.rounding_halving_add({a}, {b})",
         "hl.div_round_to_zero({a}, {b})", "hl.mod_round_to_zero({a}, {b})"]  # fmt: skip
_CAST = ["hl.absd({a}, {b})", "hl.abs({a})", "{a} << ({b} & 7)", "{a} >> ({b} & 7)", "{a} << {b}", "{a} >> {b}",
         "hl.rounding_shift_right({a}, {b} & 3)"]  # fmt: skip
_NARROW = ["hl.widening_mul({a}, {b})", "hl.widening_add({a}, {b})", "hl.widening_sub({a}, {b})"]
_SINGLE = ["hl.sqrt({a})", "hl.floor({a})", "hl.ceil({a})", "hl.trunc({a})"]
"""Functions of brain floats that are f32."""
_WIDE = ["hl.fma({a}, {b}, {a})"]
"""Functions of f32 and f64 alone."""
_LIBM = ["exp({a})", "sin({a})", "cos({a})", "tanh({a})", "atan({a})", "erf({a})", "log(hl.abs({a}) + 1)",
         "pow(hl.abs({a}) + 1, {b})", "atan2({a}, {b})", "hypot({a}, {b})", "sinh({a})"]  # fmt: skip
"""Routines of the C library: executions round them differently, so what is kept of them is coarse."""


def routine(random: Random, type: str, a: str, b: str) -> str:
    """A routine of the C library, of small operands, rounded to eighths (not where a simple value lies)."""
    wide = "f32" if type in ("f16", "bf16") else type
    first, second = (f"hl.clamp({a if type == wide else cast(wide, a)}, -3, 3)" for a in (a, b))
    coarse = f"hl.floor(hl.{random.choice(_LIBM).format(a=first, b=second)} * 8 + hl.{wide}(0.3))"
    return coarse if type == wide else cast(type, coarse)


def expression(random: Random, type: str, scope: Scope, depth: int) -> str:
    """An expression of exactly `type`."""
    if depth <= 0 or random.random() < 0.2:
        return leaf(random, type, scope, depth)

    def operand(of: str) -> str:
        return f"({expression(random, of, scope, depth - 1)})"

    if random.random() < 0.15:
        return f"hl.select({operand('bool')}, {operand(type)}, {operand(type)})"
    if type == "bool":
        if random.random() < 0.6:
            of = random.choice(TYPES[1:])
            return f"{operand(of)} {random.choice(['<', '<=', '>', '>=', '==', '!='])} {operand(of)}"
        return random.choice(["{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}"]).format(a=operand(type), b=operand(type))
    if random.random() < 0.12:
        other = random.choice([t for t in TYPES if t != type])
        return cast(type, operand(other))
    if type in FLOATS:
        forms = [*_ANY, "-{a}", "hl.abs({a})"]
        if random.random() < 0.15:
            return routine(random, type, operand(type), operand(type))
        if scope.wild:
            forms += ["{a} / {b}", "hl.round({a})", *_SINGLE, *(_WIDE if bits(type) > 16 else [])]
        form = random.choice(forms)
        text = form.format(a=operand(type), b=operand(type))
        return cast(type, text) if type == "bf16" and form in _SINGLE else text
    forms = [*_ANY, *_ANY, "{a} & {b}", "{a} | {b}", "{a} ^ {b}", "~{a}", "{a} // {b}", "{a} % {b}"]
    form = random.choice([*forms, *_SAME, *_CAST, *(_NARROW if bits(type) < 64 else ())])
    text = form.format(a=operand(type), b=operand(type))
    return cast(type, text) if form in _CAST or form in _NARROW else text
