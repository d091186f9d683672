"""Random schedules: directives that fit the loops as they are at the time, most of them legal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rfactor.compiler.language.buffer import ImageParam
from rfactor.compiler.language.func import Func
from tests.fuzz.session import Session

TAILS = (
    "Auto", "GuardWithIf", "ShiftInwards", "RoundUp", "Predicate", "PredicateLoads", "PredicateStores",
    "ShiftInwardsAndBlend", "RoundUpAndBlend",
)  # fmt: skip
FACTORS = (1, 2, 2, 3, 4, 4, 5, 8, 8, 16)
LANES = (2, 3, 4, 4, 8, 8, 16)


@dataclass
class Scheduling:
    """A schedule being written."""

    random: Random
    session: Session
    rounding: bool
    """Whether directives that round floats in another order may be asked for."""
    count: int = 0
    special: list[str] = field(default_factory=list)
    """Names of specialized stages."""

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def loop(self) -> str:
        """The name of a loop to be made: a new one, or one that a loop has or had."""
        return self.fresh("v") if self.random.random() < 0.7 else self.random.choice(["x", "y", "v1", "v2", "v3"])

    # -- what there is -----------------------------------------------------------------------------------------------

    def funcs(self) -> dict[str, Func]:
        return self.session.funcs()

    def stage(self, updates: bool = False) -> tuple[str, Any] | None:
        """A stage as text, and its loops, innermost first."""
        found = [(name, value) for name in self.special if (value := self.session.names.get(name)) is not None]
        for name, func in self.funcs().items():
            count = func.num_update_definitions()
            found += [(name, func)] * (not updates)
            for i in range(count):
                found += [(f"{name}.update({i})", func.update(i))] * 2
        if not found:
            return None
        return self.random.choice(found)

    def loops(self, stage: Any) -> list[str]:
        return [f'"{d.name}"' for d in stage._schedule().dimensions]

    def tail(self) -> str:
        return f", hl.TailStrategy.{self.random.choice(TAILS)}" if self.random.random() < 0.3 else ""

    # -- directives on loops -----------------------------------------------------------------------------------------

    def split(self, text: str, loops: list[str]) -> str:
        a, b = self.loop(), self.loop()
        return f'{text}.split({self.random.choice(loops)}, "{a}", "{b}", {self.random.choice(FACTORS)}{self.tail()})'

    def fuse(self, text: str, loops: list[str]) -> str:
        at = self.random.randrange(len(loops))
        inner, outer = (loops[at - 1], loops[at]) if at else (loops[0], loops[-1])
        return f'{text}.fuse({inner}, {outer}, "{self.loop()}")'

    def reorder(self, text: str, loops: list[str]) -> str:
        chosen = self.random.sample(loops, self.random.randint(min(2, len(loops)), len(loops)))
        return f"{text}.reorder({', '.join(chosen)})"

    def tile(self, text: str, loops: list[str]) -> str:
        if len(loops) < 2:
            return self.split(text, loops)
        a, b = self.random.sample(loops, 2)
        new = [f'"{self.loop()}"' for _ in range(4)]
        sizes = f"{self.random.choice(FACTORS)}, {self.random.choice(FACTORS)}"
        names = new if self.random.random() < 0.6 else new[2:]
        return f"{text}.tile({a}, {b}, {', '.join(names)}, {sizes}{self.tail()})"

    def vectorize(self, text: str, loops: list[str]) -> str:
        loop = loops[0] if self.random.random() < 0.5 else self.random.choice(loops)
        factor = f", {self.random.choice(LANES)}{self.tail()}" if self.random.random() < 0.75 else ""
        return f"{text}.vectorize({loop}{factor})"

    def unroll(self, text: str, loops: list[str]) -> str:
        factor = f", {self.random.choice([2, 3, 4, 5])}{self.tail()}" if self.random.random() < 0.75 else ""
        return f"{text}.unroll({self.random.choice(loops)}{factor})"

    def parallel(self, text: str, loops: list[str]) -> str:
        loop = loops[-1] if self.random.random() < 0.5 else self.random.choice(loops)
        size = f", {self.random.choice(FACTORS)}{self.tail()}" if self.random.random() < 0.3 else ""
        return f"{text}.parallel({loop}{size})"

    def serial(self, text: str, loops: list[str]) -> str:
        return f"{text}.serial({self.random.choice(loops)})"

    def partition(self, text: str, loops: list[str]) -> str:
        return f"{text}.never_partition({self.random.choice(loops)})"

    def rename(self, text: str, loops: list[str]) -> str:
        return f'{text}.rename({self.random.choice(loops)}, "{self.loop()}")'

    def on_loops(self) -> list[str]:
        """One directive on the loops of a stage."""
        found = self.stage()
        if found is None or not (loops := self.loops(found[1])):
            return []
        kinds: list[Callable[[str, list[str]], str]] = [
            self.split, self.split, self.split, self.fuse, self.reorder, self.reorder, self.tile, self.vectorize,
            self.fuse, self.tile, self.vectorize, self.unroll, self.unroll, self.parallel, self.parallel, self.serial,
            self.partition, self.rename,
        ]  # fmt: skip
        return [self.random.choice(kinds)(found[0], loops)]

    def specialize(self) -> list[str]:
        found = self.stage()
        return [] if found is None else self.case(found[0])

    def case(self, text: str) -> list[str]:
        """A case of a stage, of those that hold in this run and of others; rarely it is the only one."""
        parameters = [(n, v) for n, v in self.session.names.items() if n[0] == "p" and n[1:].isdigit()]
        conditions = [f"{n} > 2" for n, _ in parameters]
        holding = [f"{n} > 2" for n, v in parameters if v.get() > 2]
        for name, value in self.session.names.items():
            if isinstance(value, ImageParam):
                conditions.append(f"{name}.dim(0).extent() {self.random.choice(['==', '>='])} {value.get().extent(0)}")
                holding.append(conditions[-1])
        if not conditions:
            return []
        name = self.fresh("s")
        self.special.append(name)
        chosen = self.random.choice(conditions)
        lines = [f"{name} = {text}.specialize({chosen})"]
        if chosen in holding and self.random.random() < 0.3:
            lines.append(f'{text}.specialize_fail("no condition holds")')
        return lines

    # -- updates -----------------------------------------------------------------------------------------------------

    def exact(self, func: Func) -> bool:
        return self.rounding or not any(t.is_float() for t in func.types())

    def atomic(self) -> list[str]:
        found = self.stage(updates=True)
        if found is None or not self.exact(found[1]._owner()):
            return []
        text, stage = found
        given = "override_associativity_test=True" if self.random.random() < 0.5 else ""
        loops = [f'"{d.name}"' for d in stage._schedule().dimensions if d.reduction] or self.loops(stage)
        if not loops:
            return []
        lines = [f"{text}.atomic({given})"]
        for _ in range(self.random.randint(1, 2)):
            lines.append(self.random.choice([self.vectorize, self.parallel])(text, loops))
        return lines

    def rfactor(self) -> list[str]:
        found = self.stage(updates=True)
        if found is None or not self.exact(found[1]._owner()) or not found[1]._index():
            return []
        text, stage = found
        own = [f'"{d.name}"' for d in stage._schedule().dimensions if d.reduction]
        if not own:
            return []
        lines = []
        form = self.random.random()
        if form < 0.4:
            a, b = self.loop(), self.loop()
            old = self.random.choice(own)
            lines.append(f'{text}.split({old}, "{a}", "{b}", {self.random.choice(FACTORS)})')
            own = [o for o in own if o != old] + [f'"{a}"', f'"{b}"']
        elif form < 0.55 and len(own) > 1:
            at, fused = self.random.randrange(len(own) - 1), f'"{self.fresh("v")}"'
            lines.append(f"{text}.fuse({own[at]}, {own[at + 1]}, {fused})")
            own[at : at + 2] = [fused]
        outermost = own[-1:] if self.random.random() < 0.5 else []
        chosen = outermost or self.random.sample(own, min(len(own), self.random.choice([1, 1, 1, 2])))
        name = self.fresh("m")
        news = [self.fresh("u") for _ in chosen]
        pairs = ", ".join(f'({old}, "{new}")' for old, new in zip(chosen, news, strict=True))
        lines.append(f"{name} = {text}.rfactor([{pairs}])")
        rest = [o for o in own if o not in chosen]
        if rest and self.random.random() < 0.25:
            again = self.fresh("u")
            lines.append(f'{self.fresh("m")} = {name}.update(0).rfactor([({rest[-1]}, "{again}")])')
        for new in news:
            kind = self.random.choice(["", "", "parallel", "vectorize"])
            if kind:
                lanes = f", {self.random.choice(LANES)}" if kind == "vectorize" else ""
                lines.append(f'{name}.update(0).{kind}("{new}"{lanes})')
        return lines

    def parallel_scan(self) -> list[str]:
        """A scan of every update that steps along a variable of its domain: those that are none are refused."""
        lines = []
        for name, func in self.funcs().items():
            for i, state in enumerate(func.stages[1:]):
                own = [d.name for d in state.schedule.dimensions if d.reduction]
                stepping = [str(a) for a in state.definition.arguments if str(a) in own]
                if stepping and self.exact(func):
                    block = self.random.choice([2, 5, 4, 8])
                    text = f"{name}.update({i})"
                    if self.random.random() < 0.3 and (case := self.case(text)):
                        lines += case
                        text = self.random.choice([text, self.special[-1]])
                    lines.append(f'{text}.parallel_scan("{stepping[0]}", {block})')
        return lines

    # -- where -------------------------------------------------------------------------------------------------------

    def placed(self, name: str = "") -> list[str]:
        """Where a function is computed and kept, and how."""
        funcs = self.funcs()
        names = list(funcs)
        name = name or self.random.choice(names)
        later = names[names.index(name) + 1 :]
        where = self.random.choice(["root", "root", "at", "at", "at", "inline"])
        if where == "root" or (where == "at" and not later):
            return [f"{name}.compute_root()", *self.kept(name, funcs[name])]
        if where == "inline":
            return [f"{name}.compute_inline()"]
        users = [n for n in later if funcs[name].name() in funcs[n].references]
        consumer = self.random.choice(users or later)
        state = self.random.choice(funcs[consumer].stages)
        loops = [f'"{d.name}"' for d in state.schedule.dimensions] + ["hl.Var.outermost()"] * (
            self.random.random() < 0.2
        )
        if not loops:
            return [f"{name}.compute_root()"]
        at = self.random.randrange(len(loops))
        lines = [f"{name}.compute_at({consumer}, {loops[at]})"]
        keep = self.random.choice(["", "", "store_at", "store_at", "store_root", "hoist_storage", "hoist_storage_root"])
        if keep.endswith("root"):
            lines.append(f"{name}.{keep}()")
        elif keep:
            lines.append(f"{name}.{keep}({consumer}, {self.random.choice(loops[at:])})")
        variables = [f'"{v}"' for v in funcs[name].function.variables]
        if keep.startswith("store") and variables and self.random.random() < 0.4:
            lines.append(f"{name}.fold_storage({self.random.choice(variables)}, {self.random.choice([4, 8, 16, 32])})")
        return [*lines, *self.kept(name, funcs[name])]

    def kept(self, name: str, func: Func) -> list[str]:
        """How it is laid out, and over which box."""
        variables = [f'"{v}"' for v in func.function.variables]
        if not variables or self.random.random() < 0.6:
            return []
        v, k = self.random.choice(variables), self.random.choice([2, 3, 4, 8])
        forms = [
            f"align_storage({v}, {k})", f"align_bounds({v}, {k}, {self.random.randint(0, 3)})",
            f"align_bounds({v}, {k})", f"align_extent({v}, {k})", f"bound({v}, -20, 60)",
            f"bound_extent({v}, {self.random.choice([5, 8, 30])})", f"fold_storage({v}, {k})", f"fold_storage({v}, 16)",
        ]  # fmt: skip
        if name in [n for n, f in self.funcs().items() if f in self.session.outputs()]:
            mins, sizes = self.session.names["mins"], self.session.names["sizes"]
            d = variables.index(v)
            forms = [f"bound({v}, {mins[d]}, {sizes[d]})", *forms[1:4]]
        if len(variables) > 1:
            forms += [f"reorder_storage({', '.join(self.random.sample(variables, len(variables)))})"] * 2
        return [f"{name}.{self.random.choice(forms)}"]

    def compute_with(self) -> list[str]:
        found, other = self.stage(), self.stage()
        if found is None or other is None:
            return []
        loops = [loop for loop in self.loops(found[1]) if loop in self.loops(other[1])]
        if not loops or found[0].split(".")[0] == other[0].split(".")[0]:
            return []
        return [f"{found[0]}.compute_with({other[0]}, {self.random.choice(loops)})"]

    def together(self) -> list[str]:
        """Two functions at the root, of which neither reads the other, with a loop of both."""
        funcs = self.funcs()
        pairs = [(a, b) for a, one in funcs.items() for b, other in funcs.items() if a < b and a[0] == b[0] == "f"
                 and one.name() not in other.references and other.name() not in one.references]  # fmt: skip
        if not pairs:
            return []
        first, second = self.random.choice(pairs)
        shared = [
            v for v in map(str, funcs[first].function.variables) if v in map(str, funcs[second].function.variables)
        ]
        if not shared:
            return []
        lines = [f"{first}.compute_root()", f"{second}.compute_root()"]
        outer = shared[-1]
        kind = self.random.choice(["", "parallel", "unroll", "vectorize"])
        if kind == "parallel":
            lines += [f'{name}.parallel("{outer}")' for name in (first, second)]
        elif kind:
            number = self.random.choice([2, 4])
            lines += [f'{name}.{kind}("{outer}", {number})' for name in (first, second)]
        return [*lines, f'{second}.compute_with({first}, "{outer}")']

    def traced(self) -> list[str]:
        name = self.random.choice(list(self.funcs()))
        return [f"{name}.trace_{self.random.choice(['loads', 'stores', 'realizations'])}()"]

    def wrapped(self) -> list[str]:
        names = list(self.funcs())
        if len(names) < 2:
            return []
        a = self.random.randrange(len(names) - 1)
        b = self.random.randrange(a + 1, len(names))
        name = self.fresh("w")
        form = self.random.choice([f"in_({names[b]})", "in_()", f"clone_in({names[b]})"])
        return [f"{name} = {names[a]}.{form}", f"{name}.compute_root()"]

    def prefetch(self) -> list[str]:
        found = self.stage()
        images = [n for n in self.session.names if n[0] == "a" and n[1:].isdigit()]
        if found is None or not images or not (loops := self.loops(found[1])):
            return []
        at = self.random.randrange(len(loops))
        start = self.random.choice(loops[at:])
        return [f"{found[0]}.prefetch({self.random.choice(images)}, {loops[at]}, {start}, 2)"]

    def looped(self) -> list[str]:
        """Loops for what would be inlined with directives on loops: such a function is refused."""
        outputs = self.session.outputs()
        return [
            f"{name}.compute_root()"
            for name, func in self.funcs().items()
            if func not in outputs and func.level.kind == "inlined" and has_loops(func)
        ]

    def bounded(self) -> list[str]:
        name = self.random.choice(list(self.funcs()))
        return self.kept(name, self.funcs()[name])


def has_loops(func: Func) -> bool:
    """Whether something is said of the loops of a pure function that makes no sense where it is inlined."""
    (own, *updates) = (state.schedule for state in func.stages)
    said = (
        own.specializations
        or own.failure is not None
        or own.companion
        or any(d.kind != "serial" for d in own.dimensions)
    )
    return bool(said) and not updates


def schedule(random: Random, session: Session, rounding: bool) -> None:
    """Give the functions of `session` random directives; what is refused is left out."""
    writing = Scheduling(random, session, rounding)
    session.begin()
    kinds = [
        *[writing.on_loops] * 8, *[writing.placed] * 4, *[writing.rfactor] * 2, *[writing.atomic] * 3,
        writing.parallel_scan, *[writing.compute_with] * 2, *[writing.specialize] * 2, *[writing.bounded] * 2,
        writing.wrapped, writing.prefetch, *[writing.together] * 2, *[writing.traced] * (random.random() < 0.1),
    ]  # fmt: skip
    for name, func in session.funcs().items():
        if func.has_update_definition() and random.random() < 0.6:
            session.direct(f"{name}.compute_root()")
        elif random.random() < 0.5:
            for line in writing.placed(name):
                session.direct(line)
    # What changes an update comes before what is said of its loops: it would be refused afterwards.
    first = [writing.rfactor] * random.choice([0, 1, 1, 2]) + [writing.parallel_scan] * (random.random() < 0.4)
    random.shuffle(first)
    for directive in [*first, *random.choices(kinds, k=random.randint(2, 14))]:
        for line in directive():
            session.direct(line)
    for line in writing.looped():
        session.direct(line)
    session.repaired()
