"""Random valid algorithms, as text: inputs, stages with updates, reductions of known and of arbitrary kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from tests.fuzz.expressions import (
    FLOATS,
    INTEGERS,
    TYPES,
    Scope,
    Source,
    array_of,
    bits,
    cast,
    clamped,
    constant,
    coordinate,
    expression,
    type_object,
)

AXES = ("x", "y", "z")
VARIABLES = ("x", "y", "c")
SIZES = (0, 1, 2, 3, 4, 4, 5, 8, 7, 8, 8, 9, 12, 13, 16, 16, 17)
"""Of outputs: what is computed of one may be no more, whatever its loops are split by."""
LAYOUTS = ["np.asfortranarray({})", "{}[..., ::-1]", "{}[::-1]", "np.repeat({}, 2, axis=-1)[..., ::2]",
           "np.repeat({}, 3, axis=0)[1::3]"]  # fmt: skip
"""Arrays of the same shape with other strides."""
EXTENTS = (0, 1, 1, 2, 3, 4, 5, 5, 7, 8, 9, 11, 13, 17)


@dataclass(frozen=True)
class Writing:
    """What a function being defined is like."""

    name: str
    types: tuple[str, ...]
    variables: tuple[str, ...]
    box: tuple[tuple[int, int], ...] | None
    """Of an output, all that may be written or read of it."""

    def at(self, point: Sequence[str]) -> list[str]:
        """Its components at a point."""
        return [Source(self.name, self.types, len(self.variables)).at(list(point), c) for c in range(len(self.types))]


# -- inputs ----------------------------------------------------------------------------------------------------------


def numbers(random: Random, type: str, count: int, awkward: bool) -> str:
    """`count` values as a list: small ones mostly, so that ties are common."""
    if type == "bool":
        values: list[object] = [random.random() < 0.5 for _ in range(count)]
    elif type in FLOATS:
        small: list[object] = [-2.0, -1.0, 0.0, 1.0, 1.0, 2.0, 3.0]
        more: list[object] = [-0.0, 0.5, -2.75, 1e4, float("inf"), float("-inf"), float("nan")]
        values = [random.choice(small + more * awkward) for _ in range(count)]
    else:
        width, signed = bits(type), type[0] == "i"
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if signed else (0, (1 << width) - 1)
        near = [-2, -1, 0, 1, 1, 2, 3] if signed else [0, 1, 1, 2, 3, 5]
        wide = random.random() < 0.3
        values = [random.randint(low, high) if wide else random.choice([*near * 2, low, high]) for _ in range(count)]
    return "[" + ", ".join(map(repr, values)).replace("inf", "np.inf").replace("nan", "np.nan") + "]"


def image(random: Random, name: str, awkward: bool, least: int = 1) -> tuple[list[str], Source]:
    """An input array, given now or at run time, somewhere in the plane."""
    type, rank = random.choice(TYPES), random.choice([1, 1, 2, 2, 2, 3])
    sizes = [max(random.choice(EXTENTS[:11]), least) for _ in range(rank)]
    mins = [random.choice([0, 0, 0, -3, 2]) for _ in range(rank)]
    count = 1
    for size in sizes:
        count *= size
    shape = ", ".join(map(str, reversed(sizes)))
    given = f"{array_of(type, numbers(random, type, count, awkward))}.reshape({shape})"
    array = random.choice(["{}"] * 6 + LAYOUTS).format(given)
    if random.random() < 0.5:
        lines = [f'{name} = hl.Buffer({array}, name="{name}")']
        moved = name
    else:
        lines = [f'{name} = hl.ImageParam({type_object(type)}, {rank}, "{name}")', f"{name}_given = hl.Buffer({array})"]
        lines.append(f"{name}.set({name}_given)")
        moved = f"{name}_given"
    if any(mins):
        lines.append(f"{moved}.set_min({mins})")
    return lines, Source(name, (type,), rank, tuple(zip(mins, sizes, strict=True)), not awkward)


def parameter(random: Random, name: str) -> tuple[list[str], tuple[str, str]]:
    """A scalar given at run time."""
    type = random.choice(["i32", "i32", *INTEGERS, *FLOATS])
    value = random.randint(0, 6)
    return [f'{name} = hl.Param({type_object(type)}, "{name}", {value})'], (name, type)


# -- reductions of known kinds ---------------------------------------------------------------------------------------

Update = Callable[[list[str], str, str, str, str], list[str]]
"""From the function's components, two data, a constant, and a position (i32), to the new components."""


def _best(relation: str, left: bool) -> Update:
    def update(f: list[str], v: str, w: str, k: str, at: str) -> list[str]:
        better = f"{v} {relation} {f[0]}" if left else f"{f[0]} {relation} {v}"
        return [f"hl.select({better}, {v}, {f[0]})", f"hl.select({better}, {at}, {f[1]})"]

    return update


def _where(condition: str, new: str, old: str) -> str:
    return f"hl.select({condition}, {new}, {old})"


FAMILIES: dict[str, tuple[tuple[str, ...], Update]] = {
    "sum": (("T",), lambda f, v, w, k, at: [f"{f[0]} + {v}"]),
    "difference": (("T",), lambda f, v, w, k, at: [f"{f[0]} - {v}"]),
    "product": (("T",), lambda f, v, w, k, at: [f"{f[0]} * {v}"]),
    "max": (("T",), lambda f, v, w, k, at: [f"hl.max({f[0]}, {v})"]),
    "min": (("T",), lambda f, v, w, k, at: [f"hl.min({v}, {f[0]})"]),
    "xor": (("I",), lambda f, v, w, k, at: [f"{f[0]} ^ ({v} & {k})"]),
    "and": (("I",), lambda f, v, w, k, at: [f"{f[0]} & {v}"]),
    "or": (("I",), lambda f, v, w, k, at: [f"{f[0]} | {v}"]),
    "any": (("bool",), lambda f, v, w, k, at: [f"{f[0]} | ({v} > {k})"]),
    "count": (("I",), lambda f, v, w, k, at: [f"hl.select({v} > {k}, {f[0]} + 1, {f[0]})"]),
    "last": (("T",), lambda f, v, w, k, at: [v]),
    "clamped": (("I",), lambda f, v, w, k, at: [f"hl.min(hl.max({f[0]}, {k}), {v})"]),
    "horner": (("I",), lambda f, v, w, k, at: [f"{f[0]} * {k} + {v}"]),
    "nonzero": (("I",), lambda f, v, w, k, at: [f"hl.select({f[0]} != 0, {f[0]}, {v})"]),
    "pair": (("T", "T"), lambda f, v, w, k, at: [f"{f[0]} + {v}", f"hl.max({f[1]}, {w})"]),
    "square": (("I", "I"), lambda f, v, w, k, at: [f"{f[0]} + {v}", f"{f[1]} + {v} * {v}"]),
    "complex": (("I", "I"), lambda f, v, w, k, at: [f"{f[0]} * {v} - {f[1]} * {w}", f"{f[0]} * {w} + {f[1]} * {v}"]),
    "saturating": (("U",), lambda f, v, w, k, at: [f"hl.saturating_add({f[0]}, {v})"]),
    "sum, if": (("T",), lambda f, v, w, k, at: [_where(f"{v} > {w}", f"{f[0]} + {v}", f[0])]),
    "max, if": (("T",), lambda f, v, w, k, at: [_where(f"{v} > {k}", f"hl.max({f[0]}, {w})", f[0])]),
    "affine": (("I",), lambda f, v, w, k, at: [f"{f[0]} * {v} + {w}"]),
    "matrix": (("I", "I"), lambda f, v, w, k, at: [f"{f[0]} * {v} + {f[1]}", f"{f[0]} + {w}"]),
    "run": (("I",), lambda f, v, w, k, at: [_where(f"{v} > {k}", f"{f[0]} + 1", f"{f[0]} * 0")]),
    "reset": (("I",), lambda f, v, w, k, at: [_where(f"{v} > {k}", v, f"{f[0]} + {v}")]),
    "two largest": (("I", "I"), lambda f, v, w, k, at: [
        f"hl.max({f[0]}, {v})", f"hl.max({f[1]}, hl.min({f[0]}, {v}))"]),
    "min and how often": (("I", "i32"), lambda f, v, w, k, at: [
        f"hl.min({f[0]}, {v})", _where(f"{v} < {f[0]}", "1", _where(f"{v} == {f[0]}", f"{f[1]} + 1", f[1]))]),
    "extremes": (("T", "T"), lambda f, v, w, k, at: [f"hl.min({f[0]}, {v})", f"hl.max({f[1]}, {v})"]),
    "argmin, where": (("I", "i32", "i32"), lambda f, v, w, k, at: [*_best("<", True)(f, v, w, k, at),
                                                                  _where(f"{v} < {f[0]}", f"{at} * 2", f[2])]),
    "argmin, first": (("T", "i32"), _best("<", True)),
    "argmin, last": (("T", "i32"), _best("<=", True)),
    "argmax, first": (("T", "i32"), _best(">", True)),
    "argmax": (("T", "i32"), _best("<", False)),
}  # fmt: skip
"""Component types (`T` any, `I` an integer type, `U` an unsigned one) and the update."""


# -- functions -------------------------------------------------------------------------------------------------------


def tupled(values: list[str]) -> str:
    """One value, or a tuple of them."""
    return values[0] if len(values) == 1 else f"({', '.join(values)})"


def domain(
    random: Random, name: str, scope: Scope, images: list[Source], plain: bool
) -> tuple[list[str], int, Source | None]:
    """A reduction domain with its conditions: lines, dimensions, and the image that it is over, if it is.

    A `plain` one is a line, whole.
    """
    over = random.choice(images) if images and not plain and random.random() < 0.4 else None
    if over is not None and over.box is not None:
        ends = [(str(low), str(extent)) for low, extent in over.box]
        if random.random() < 0.5:
            ends = [(f"{over.name}.dim({d}).min()", f"{over.name}.dim({d}).extent()") for d in range(over.rank)]
    else:
        whole = [text for text, t in scope.given if t == "i32" and "[" not in text]
        ends = []
        for _ in range(1 if plain else random.choice([1, 1, 2, 2, 3])):
            extent = str(random.choice(EXTENTS[:12] if not ends else EXTENTS[:5]))
            if whole and random.random() < 0.25:
                extent = f"{random.choice(whole)} + {random.randint(-1, 3)}"
            ends.append((str(random.choice([0, 0, 0, 1, -2, 3])), extent))
    lines = [f'{name} = hl.RDom([{", ".join(f"({low}, {extent})" for low, extent in ends)}], "{name}")']
    variables = tuple(f"{name}.{AXES[d]}" for d in range(len(ends)))
    inside = replace(scope, variables=variables)
    for _ in range(0 if plain else random.choice([0, 0, 0, 1, 1, 2])):
        form = random.choice(["affine", "affine", "data", "some"])
        if form == "affine":
            total = " + ".join(f"{v} * {random.choice([1, 1, 2, -1])}" for v in variables)
            condition = f"{total} {random.choice(['<', '<=', '>', '!='])} {random.randint(-1, 9)}"
        elif form == "some":
            condition = f"{random.choice(variables)} % 3 != {random.randint(0, 2)}"
        else:
            condition = expression(random, "bool", inside, 1)
        lines.append(f"{name}.where({condition})")
    return lines, len(ends), over


def update(
    random: Random, f: Writing, number: int, scope: Scope, images: list[Source], family: str | None
) -> list[str]:
    """One update: its domain, and the assignment."""
    lines: list[str] = []
    variables: tuple[str, ...] = ()
    over: Source | None = None
    room = [d for d in range(len(f.variables)) if f.box is None or f.box[d][1] > 1]
    stepping = family is not None and bool(room) and random.random() < 0.3
    along = random.choice(room) if stepping else 0
    if stepping or random.random() < (0.9 if family else 0.65):
        name = f"r{f.name[1:]}{'abc'[number % 3]}"
        if stepping and f.box is not None:
            low, extent = f.box[along]
            lines, rank = [f'{name} = hl.RDom([({low + 1}, {extent - 1})], "{name}")'], 1
        else:
            lines, rank, over = domain(random, name, scope, images, stepping)
        variables = tuple(f"{name}.{AXES[d]}" for d in range(rank))
    reads_itself = random.random() < 0.15
    forms = []
    for d in range(len(f.variables)):
        if stepping or (f.box is not None and f.box[d][1] == 0):
            forms.append("own")
        else:
            moved = ["reduced", "scatter", "moved"] if variables else []
            forms.append(random.choice(["own", "own", *moved, "fixed", *(["scatter"] * 2 if reads_itself else [])]))
    reduced = replace(scope, variables=variables)
    kept = [form == "own" and not (stepping and d == along) for d, form in enumerate(forms)]
    itself = somewhere(random, f, reduced, kept) if reads_itself else ()
    if itself and variables and random.random() < 0.5:
        value, type = random.choice(itself)
        relation = random.choice(["<", "<=", ">", ">=", "!=", "=="])
        lines.append(f"{name}.where({value} {relation} {constant(random, type)})")
    point, pure = [], []
    for d, (own, form) in enumerate(zip(f.variables, forms, strict=True)):
        inside = replace(reduced, given=(*scope.given, *itself))
        low, high = (-1, 4) if f.box is None else (f.box[d][0], f.box[d][0] + f.box[d][1] - 1)
        if form == "own":
            point.append(own)
            pure.append(own)
        elif form == "fixed":
            point.append(str(random.randint(low, min(high, low + 4))))
        elif form == "reduced" and f.box is None:
            point.append(random.choice(variables))
        elif form == "moved" and f.box is None:
            point.append(coordinate(random, inside, None))
        else:
            whole = [text for text, t in itself if t in INTEGERS]
            read = cast("i32", random.choice(whole)) if whole and random.random() < 0.5 else None
            high = min(high, low + 7)
            point.append(clamped(random, inside, low, high) if read is None else f"hl.clamp({read}, {low}, {high})")
    everywhere = (*variables, *pure)
    if variables and pure and not stepping and random.random() < 0.3:
        relation = random.choice(["<", "<=", ">", ">=", "!=", "=="])
        scaled = random.choice(["{v}", "{v}", "{v} * 2", "{v} // 2", "{v} % 3", "-{v}"]).format(v=random.choice(pure))
        lines.append(f"{name}.where({random.choice(variables)} {relation} {scaled} + {random.randint(-2, 4)})")
    own_values = f.at(point)
    given = (*scope.given, *zip(own_values, f.types, strict=True))
    if f.box is None and variables and random.random() < 0.3:
        other = [
            p if p in pure else random.choice([f"{p} - 1", f"{random.choice(variables)} + {random.randint(-2, 2)}"])
            for p in point
        ]
        given += tuple(zip(f.at(other), f.types, strict=True))
    here = replace(scope, variables=everywhere, given=given)
    if stepping:
        point[along] = variables[0]
        own_values = f.at([*point[:along], f"{variables[0]} - 1", *point[along + 1 :]])
        here = replace(here, given=scope.given, variables=tuple(v for v in everywhere if v != f.variables[along]))
    values = _values(random, f, here, own_values, variables, over, family)
    lines.append(f"{f.name}[{', '.join(point) or '()'}] = {tupled(values)}")
    return lines


def somewhere(random: Random, f: Writing, scope: Scope, own: list[bool]) -> tuple[tuple[str, str], ...]:
    """The components of a function at one of its points, with their types, of its `own` variables in some dimensions;
    none if it has no points."""
    if f.box is not None and any(extent == 0 for _, extent in f.box):
        return ()
    boxes = f.box or ((-1, 6),) * len(f.variables)
    point = [
        variable if kept else clamped(random, scope, low, low + min(extent, 8) - 1)
        for variable, kept, (low, extent) in zip(f.variables, own, boxes, strict=True)
    ]
    return tuple(zip(f.at(point), f.types, strict=True))


def _values(
    random: Random,
    f: Writing,
    scope: Scope,
    own: list[str],
    variables: tuple[str, ...],
    over: Source | None,
    family: str | None,
) -> list[str]:
    """What an update gives."""
    if family is None:
        made = []
        for value, type in zip(own, f.types, strict=True):
            new = expression(random, type, scope, min(scope.depth, 2))
            op = random.choice(["+", "^", "max", "new", "new"])
            if op == "^" and type not in FLOATS:
                made.append(f"{value} ^ ({new})")
            elif op == "max":
                made.append(f"hl.max({value}, {new})")
            elif op == "+" and type != "bool":
                made.append(f"{value} + ({new})")
            else:
                made.append(new)
        return made
    data = replace(scope, given=tuple(g for g in scope.given if g[0] not in own))
    of = f.types[0]
    if of == "bool":
        of = "i16"
    exact = replace(data, wild=data.wild and of not in FLOATS)
    if over is not None:
        read = over.at(list(variables), 0)
        v = read if over.types[0] == of else cast(of, read)
        w = f"({v} + {cast(of, variables[0])})"
    else:
        v, w = (f"({expression(random, of, exact, min(scope.depth, 2))})" for _ in "vw")
    k = f"hl.{of}({random.randint(0, 3)})"
    at = random.choice(variables) if variables else "hl.i32(7)"
    return FAMILIES[family][1](own, v, w, k, at)


def several(random: Random, f: Writing, scope: Scope) -> list[str]:
    """An update that writes several points at once, along one dimension; the others are its own."""
    if not f.variables or (f.box is not None and any(extent == 0 for _, extent in f.box)):
        return []
    count, along = random.choice([2, 2, 3]), random.randrange(len(f.variables))
    low, high = (-1, 4) if f.box is None else (f.box[along][0], f.box[along][0] + f.box[along][1] - 1)
    pure = tuple(v for d, v in enumerate(f.variables) if d != along)
    lines: list[str] = []
    variables: tuple[str, ...] = ()
    if random.random() < 0.5:
        name = f"r{f.name[1:]}s"
        lines, rank, _ = domain(random, name, scope, [], True)
        variables = tuple(f"{name}.{AXES[d]}" for d in range(rank))
    inside = replace(scope, variables=variables)
    here = replace(scope, variables=(*variables, *pure))

    def at(coordinate: str) -> list[str]:
        return [*f.variables[:along], coordinate, *f.variables[along + 1 :]]

    places = [clamped(random, inside, low, high) for _ in range(count)]
    reads = [clamped(random, inside, low, high) for _ in range(count)]
    read = f.at(at(f"hl.gather([{', '.join(reads)}])"))
    values = []
    for own, type in zip(read, f.types, strict=True):
        fresh = ", ".join(expression(random, type, here, 1) for _ in range(count))
        values.append(random.choice([own, f"hl.gather([{fresh}])", f"hl.max({own}, hl.gather([{fresh}]))"]))
    point = at(f"hl.scatter([{', '.join(places)}])")
    return [*lines, f"{f.name}[{', '.join(point)}] = {tupled(values)}"]


def bordered(random: Random, name: str, image: Source) -> tuple[list[str], Source]:
    """An image continued beyond its ends."""
    kind = random.choice(["repeat_edge", "repeat_image", "mirror_image", "mirror_interior", "constant_exterior"])
    more = f", {constant(random, image.types[0])}" if kind == "constant_exterior" else ""
    return [f"{name} = hl.BoundaryConditions.{kind}({image.name}{more})"], Source(name, image.types, image.rank)


def stencil(random: Random, type: str, scope: Scope) -> str:
    """A function of the same dimensions read around the point, perhaps at half or double the scale; or nothing."""
    alike = [s for s in scope.sources if s.box is None and s.rank == len(scope.variables) > 0]
    if not alike or random.random() < 0.5:
        return ""
    source = random.choice(alike)
    component = random.randrange(len(source.types))
    reads = []
    scale = random.choice(["{v}", "{v}", "{v}", "{v}", "{v} * 2", "{v} // 2", "-{v}"])
    for _ in range(random.randint(2, 3)):
        point = [f"{scale.format(v=v)} + {random.randint(-2, 2)}" for v in scope.variables]
        read = source.at(point, component)
        reads.append(read if source.types[component] == type else cast(type, read))
    return (" ^ " if type == "bool" else " + ").join(reads)


def undefined(random: Random, f: Writing, values: list[str]) -> list[str]:
    """The values with one component undefined, or those of an output undefined in part."""
    gone = [f"hl.undef({type_object(t)})" for t in f.types]
    if f.box is not None and f.variables and random.random() < 0.6:
        condition = f"{random.choice(f.variables)} % 3 {random.choice(['>', '==', '!='])} 1"
        return [f"hl.select({condition}, {v}, {nothing})" for v, nothing in zip(values, gone, strict=True)]
    at = random.randrange(len(values))
    return [*values[:at], gone[at], *values[at + 1 :]]


def function(random: Random, f: Writing, scope: Scope, images: list[Source], family: str | None) -> list[str]:
    """A definition and its updates."""
    here = replace(scope, variables=f.variables)
    if family is not None and random.random() < 0.6:
        values = [cast(t, f"hl.i32({random.randint(0, 3)})") for t in f.types]
    else:
        values = [stencil(random, t, here) or expression(random, t, here, scope.depth) for t in f.types]
    if f.variables and random.random() < 0.06:  # never fails, but has to be asked each time
        values = [f'hl.require({f.variables[0]} < 1000000, {value}, "at", {f.variables[0]})' for value in values]
    if random.random() < 0.08:
        values = undefined(random, f, values)
    left = ", ".join(f.variables) or "()"
    lines = [f'{f.name} = hl.Func("{f.name}")', f"{f.name}[{left}] = {tupled(values)}"]
    count = random.choice([1, 1, 1, 2]) if family is not None else random.choice([0, 0, 0, 1, 1, 2])
    for number in range(count):
        lines += update(random, f, number, scope, images, family if number == 0 or random.random() < 0.3 else None)
    if random.random() < 0.12:
        lines += several(random, f, scope)
    return lines


def component_types(random: Random, family: str | None) -> tuple[str, ...]:
    if family is None:
        return tuple(random.choice(TYPES) for _ in range(random.choice([1, 1, 1, 1, 2, 2, 3])))
    pattern = FAMILIES[family][0]
    own = random.choice({"I": INTEGERS, "U": INTEGERS[:4]}.get(pattern[0], [*INTEGERS, *INTEGERS, *FLOATS]))
    return tuple(own if t in "TIU" else t for t in pattern)


def algorithm(random: Random) -> list[str]:
    """The definitions of a whole program."""
    awkward, depth = random.random() < 0.3, random.choice([1, 1, 1, 2, 2, 3])
    lines = ['x, y, c = hl.Var("x"), hl.Var("y"), hl.Var("c")']
    images: list[Source] = []
    empty: list[Source] = []
    given: list[tuple[str, str]] = []
    for i in range(random.choice([1, 1, 2])):
        made, source = image(random, f"a{i}", awkward)
        lines += made
        images.append(source)
    if random.random() < 0.2:
        made, source = image(random, "e0", awkward, 0)
        lines += made
        empty.append(source)
    for i in range(random.choice([0, 1, 1, 2])):
        made, value = parameter(random, f"p{i}")
        lines += made
        given.append(value)
    count = random.choice([1, 1, 2, 2, 2, 3] if depth < 2 else [1, 2, 2, 3, 3, 4])
    results = min(count, random.choice([1, 1, 1, 1, 2, 2, 3]))
    rank = random.choice([0, 1, 1, 2, 2, 2, 3])
    sizes = [random.choice(SIZES[: (17, 17, 12, 8)[rank]]) for _ in range(rank)]
    mins = [random.choice([0, 0, 0, -4, 3]) for _ in range(rank)]
    functions: list[Source] = []
    if random.random() < 0.25:
        made, source = bordered(random, "b0", random.choice(images))
        lines += made
        functions.append(source)
    for i in range(count):
        family = random.choice(sorted(FAMILIES)) if random.random() < 0.6 else None
        types = component_types(random, family)
        output = i >= count - results
        own_rank = rank if output else random.choice([0, 1, 1, 2, 2, 2, 3])
        box = tuple(zip(mins, sizes, strict=True)) if output else None
        scope = Scope((), (*images, *functions, *functions), tuple(given), awkward, depth)
        f = Writing(f"f{i}", types, VARIABLES[:own_rank], box)
        lines += function(random, f, scope, [*images, *empty], family)
        functions.append(Source(f.name, types, own_rank))
    names = ", ".join(f.name for f in functions[len(functions) - results :])
    lines.append(f"outputs, mins, sizes = [{names}], {mins}, {sizes}")
    return lines
