"""Whole programs: the header that walks over the data, the body, and the ways in which a loop ends."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.loops.fuzz.columns import Column, column
from tests.loops.fuzz.expressions import Expressions
from tests.loops.fuzz.grammar import Body, Program


@dataclass(frozen=True)
class Header:
    """A walk over the data: lines before the body, and what the body can name."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    """The header and what binds `v` (and `w`), indented as they stand; the body follows."""
    kinds: dict[str, str]
    place: str | None = None
    depth: int = 1
    whole: bool = False
    """True where step k has element k and the index is k."""


def header(rng: random.Random, columns: tuple[Column, ...]) -> Header:
    """Draw a walk."""
    kind = columns[0].kind
    one = {"v": kind}
    if columns[0].container == "rows":
        if rng.random() < 0.5:
            return Header((), ("for row in a:", "    for v in row:"), one, None, 2)
        before = ("h, w = a.shape",)
        lines = ("for i in range(h):", "    for j in range(w):", "        v = a[i, j]")
        return Header(before, lines, one, rng.choice(["i", "j"]), 2)
    if len(columns) == 2:
        both = {"v": kind, "w": columns[1].kind}
        if rng.random() < 0.3:
            return Header((), ("for i, (v, w) in enumerate(zip(a, b)):",), both, "i", whole=True)
        if rng.random() < 0.4:
            return Header((), ("for i in range(len(a)):", "    v, w = a[i], b[i]"), both, "i", whole=True)
        return Header((), ("for v, w in zip(a, b):",), both)
    walks = [
        (Header((), ("for v in a:",), one), 8),
        (Header((), ("for i in range(len(a)):", "    v = a[i]"), one, "i", whole=True), 5),
        (Header((), ("for i, v in enumerate(a):",), one, "i", whole=True), 4),
        (Header((), ("for i, v in enumerate(a, 1):",), one, "i"), 1),
        (Header((), ("for i in range(1, len(a)):", "    v, w = a[i], a[i - 1]"), {"v": kind, "w": kind}, "i"), 3),
        (Header((), ("for i in range(2, len(a), 3):", "    v = a[i]"), one, "i"), 1),
        (Header((), ("for i in range(len(a) - 1, -1, -1):", "    v = a[i]"), one, "i"), 2),
        (Header((), ("for v in reversed(a):",), one), 1),
        (Header((), ("for v in a[1:]:",), one), 1),
        (Header((), ("for v in a[::2]:",), one), 1),
        (Header((), ("for v, w in zip(a, a[1:]):",), {"v": kind, "w": kind}), 1),
        (Header(("i = 0",), ("while i < len(a):", "    v = a[i]", "    i += 1"), one, "i"), 2),
        (Header(("i = len(a) - 1",), ("while i >= 0:", "    v = a[i]", "    i -= 1"), one), 1),
    ]
    return rng.choices([walk for walk, _ in walks], [weight for _, weight in walks])[0]


def generate(seed: int) -> Program:
    """Write the program of a seed."""
    rng = random.Random(seed)
    return write(rng, column(rng))


def write(rng: random.Random, first: Column) -> Program:
    """Write a program over a column, sometimes over a second one or over rows."""
    columns: tuple[Column, ...] = (first,)
    if first.container == "array" and rng.random() < 0.08:
        columns = (Column("rows", first.element, first.values),)
    elif rng.random() < 0.2:
        columns = (first, column(rng))
    if any(one.kind == "float" for one in columns):
        # Large ints among floats would round.
        columns = tuple(one if one.kind == "float" else replace(one, values="small") for one in columns)
    walk = header(rng, columns)
    values = Expressions(rng, walk.kinds, walk.place, rng.random() < 0.08)
    body = Body(rng, values)
    kind = rng.choices(["fold", "search", "scan", "group"], [62, 14, 12, 12])[0]
    steps = [body.update() for _ in range(rng.choices([1, 2, 3], [5, 4, 1])[0])] if kind != "group" else []
    steps = [_nested(rng, values, step) for step in steps]
    after: list[str] = []
    if kind == "fold" and rng.random() < 0.15:
        steps.insert(rng.randrange(len(steps) + 1), [f"if {values.condition()}:", "    continue"])
    if kind == "search":
        after = _ending(rng, body, steps, walk)
    elif kind == "scan":
        _output(rng, body, steps, walk)
    elif kind == "group":
        steps = [_grouped(rng, body, columns, walk)]
        if rng.random() < 0.2:
            steps.insert(0, [f"if {values.condition()}:", "    continue"])
    indent = "    " * walk.depth
    lines = [*body.starts, *walk.before, *walk.lines, *(indent + line for step in steps for line in step), *after]
    if kind == "fold" and rng.random() < 0.06:
        lines += ["t = 0", "for z in a:", "    t += 1"]
        body.results.append("t")
    shown = body.results if rng.random() < 0.9 else rng.sample(body.results, 1)
    lines.append(f"return {', '.join(dict.fromkeys(shown))}")
    names = ", ".join("ab"[: len(columns)])
    source = f"def loop({names}):\n" + "".join(f"    {line}\n" for line in lines)
    grows = body.grows or any(one.values == "huge" for one in columns)
    return Program(source, columns, kind, body.inexact, grows)


def _nested(rng: random.Random, values: Expressions, step: list[str]) -> list[str]:
    """Put an update under a condition now and then."""
    if rng.random() > 0.2:
        return step
    return [f"if {values.condition()}:", *(f"    {line}" for line in step)]


def _ending(rng: random.Random, body: Body, steps: list[list[str]], walk: Header) -> list[str]:
    """Let a loop end early, by what is seen or by what was summed; gives the lines after it."""
    c = body.values.condition()
    found = walk.place or "v"
    form = rng.randrange(5)
    if form == 0:
        steps.insert(rng.randrange(len(steps) + 1), [f"if {c}:", f"    return {found}"])
        return []
    if form == 1 and walk.depth == 1:
        x = body.new("'none'")
        steps.append([f"if {c}:", f"    {x} = {found}", "    break"])
        return ["else:", f"    {x} = -7"] if rng.random() < 0.5 else []
    if form == 2:
        s = body.new("0")
        steps.append(
            [f"{s} += {body.values.number_of()}", f"if {s} > {rng.choice([10, 300])}:", f"    return {found}, {s}"]
        )
        return []
    if form == 3:
        s = body.new("0")
        steps.append([f"if {c}:", f"    {s} += 1", f"    if {s} == 3:", f"        return {found}"])
        return []
    steps.insert(rng.randrange(len(steps) + 1), [f"if {c}:", "    break"])
    return []


def _output(rng: random.Random, body: Body, steps: list[list[str]], walk: Header) -> None:
    """Put out a state at each step."""
    x = rng.choice(body.results)
    if walk.whole and body.values.number == "int" and rng.random() < 0.3:
        body.starts.append("out = np.zeros(len(a), dtype=np.int64)")
        start = next(one for one in body.starts if one.startswith(f"{x} = "))
        numeric = start.split(" = ")[1].lstrip("-").isdigit()
        steps.append([f"out[{walk.place}] = {x}" if numeric else f"out[{walk.place}] = 1"])
    else:
        body.starts.append("out = []")
        where = rng.choice([0, len(steps), len(steps)])
        started = not any(one.startswith(f"{x} = [") for one in body.starts)
        steps.insert(where, [f"out.append({x})" if started else "out.append(v)"])
    body.results.append("out")


def _grouped(rng: random.Random, body: Body, columns: tuple[Column, ...], walk: Header) -> list[str]:
    """Update a place that the data names."""
    name, kind = rng.choice(list(walk.kinds.items()))
    number = kind == "int"
    small = f"{name} % {rng.choice([3, 8])}" if number else f"int({body.values.condition()})"
    key = rng.choice([small, small, name]) if kind != "float" else small
    d = rng.choice(["1", body.values.number_of()])
    form = rng.randrange(8)
    if form == 0:
        dtype = "np.int64" if body.values.number == "int" else "np.float64"
        body.starts.append(f"h = np.zeros(8, dtype={dtype})")
        lines = [f"h[{small}] += {d}"]
    elif form == 1:
        body.starts.append("h = [0] * 8")
        lines = [f"h[{small}] += {d}"]
    elif form == 2:
        body.starts.append("h = {}")
        lines = [f"h[{key}] = h.get({key}, 0) + {d}"]
    elif form == 3:
        body.starts.append(f"h = {rng.choice(['Counter()', 'defaultdict(int)'])}")
        lines = [f"h[{key}] += {d}"]
    elif form == 4:
        body.starts.append("h = set()")
        lines = [f"h.add({key})"]
    elif form == 5:
        body.starts.append("h = {}")
        sign = rng.choice("<>")
        e = body.values.number_of()
        lines = [f"k = {key}", f"if k not in h or {e} {sign} h[k]:", f"    h[k] = {e}"]
    elif form == 6:
        body.starts.append("h = {}")
        last = walk.place or body.values.number_of()
        lines = [f"h[{key}] = {last}"] if rng.random() < 0.5 else [f"if {key} not in h:", f"    h[{key}] = {last}"]
    else:
        body.starts.append(f"h = [-({body.far()})] * 8")
        lines = [f"h[{small}] = max(h[{small}], {body.values.number_of()})"]
    body.results.append("h")
    if rng.random() < 0.3:
        lines += body.update()
    return lines
