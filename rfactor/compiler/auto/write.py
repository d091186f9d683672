"""Writes what was chosen as directives."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from rfactor.compiler.auto.directive import Argument, Directive, Iterations, Word
from rfactor.compiler.auto.facts import Facts, Loop
from rfactor.compiler.auto.machine import LINE_BYTES, Machine
from rfactor.compiler.auto.own import Own
from rfactor.compiler.auto.work import state_octets
from rfactor.ir.meaning import Meaning

INTERMEDIATES = CHUNKS, LANES, COPIED, PARTED = "chunks", "lanes", "copies", "parts"
"""What intermediates are called in the text."""
TWO = 2
"""Points whose iterations come in turn."""
UNROLLED = 8
"""Iterations of a histogram that are written out."""


@dataclass(frozen=True, slots=True)
class Chunks:
    """How the domain is cut for threads."""

    whole: tuple[Loop, ...]
    """Loops of which each iteration is a task, outermost first."""
    cut: tuple[Loop, int] | None
    """The loop of which so many iterations are one chunk."""
    where: int
    """Iterations from which on threads pay; 0 where that is known beforehand."""
    size: int | None = None
    """Iterations of a chunk, if that is known."""
    in_turn: bool = False
    """Whether `cut` says into how many slices the iterations go in turn, rather than how many of them are a chunk."""


@dataclass(frozen=True, slots=True)
class Parts:
    """How what one thread does is cut into parts that follow each other, an iteration of each in turn."""

    loop: Loop
    size: int
    """Iterations of the loop that are one part."""
    number: int


@dataclass(frozen=True, slots=True)
class Lanes:
    """How neighbours are combined at once."""

    loop: Loop
    lanes: int
    copies: bool = False
    """Unrolled copies of what is updated at points that data choose."""
    parts: Parts | None = None
    """Of the chunk, which take turns: so many lanes of each."""


class Writer:
    """Writes directives, of the function first and of the last intermediate from then on."""

    def __init__(self, function: Word, update: int, facts: Facts) -> None:
        self.facts = facts
        self.of, self.update = function, update
        self.function, self.number = function, update
        self.directives: list[Directive] = []
        self.words = {name: Word(f"r{name.rsplit('.', 1)[-1]}") for name in facts.variables}
        self.now: dict[str, Word | str] = dict(self.words)
        """What is left of each reduction variable: itself, or the inner loop of its split."""
        self.taken = set(facts.taken)
        self.tasks = ""
        """The loop over chunks,"""
        self.whole: tuple[Loop, ...] = ()
        """and loops of which each iteration is one."""
        self.case: tuple[Iterations, ...] = ()
        """The runs for which the update is scheduled now; all if nothing is said."""
        self.outer: dict[str, str] = {}
        """Of loops over own points that are split, the outer ones."""

    def term(self, name: str) -> Word | str:
        """A loop of the update as an argument."""
        return self.words.get(name, name)

    def spoken(self) -> tuple[tuple[str, int], ...]:
        """The reduction variables that the directives speak of, and their places."""
        said = {word.name for one in self.directives for word in one.words()}
        return tuple((word.name, i) for i, word in enumerate(self.words.values()) if word.name in said)

    def name(self, wanted: str) -> str:
        """A new name for a loop."""
        found = next(name for i in count() if (name := f"{wanted}{i or ''}") not in self.taken)
        self.taken.add(found)
        return found

    def say(self, method: str, *arguments: Argument, reason: str = "", whole: bool = False, **more: Any) -> None:
        """One directive of the update, or of the `whole` function."""
        self.give(self.of, None if whole else self.update, method, arguments, reason, **more)

    def give(
        self,
        of: Word,
        update: int | None,
        method: str,
        arguments: tuple[Argument, ...],
        reason: str = "",
        made: Word | None = None,
        where: tuple[Iterations, ...] = (),
    ) -> None:
        """One directive; of the function that is scheduled, for the case that it is scheduled for."""
        own = of == self.function and update is not None
        where = (*self.case, *where) if own else where
        meant = self.facts.meaning if method == "rfactor" and self.facts.meaning is not Meaning.WRAP else None
        self.directives.append(Directive(of, update, method, arguments, reason, made, where, meant))

    def begin(self, *case: Iterations) -> None:
        """Speak of the update as it was, in some runs."""
        self.of, self.update, self.case = self.function, self.number, case
        self.now, self.taken, self.outer = dict(self.words), set(self.facts.taken), {}
        self.tasks, self.whole = "", ()

    def split(self, loop: Loop, factor: int, reason: str) -> tuple[str, str]:
        """The outer and inner loop."""
        outer, inner = self.name(f"{loop.axis}o"), self.name(f"{loop.axis}i")
        self.say("split", self.now[loop.name], outer, inner, factor, reason=reason)
        self.now[loop.name] = inner
        return outer, inner

    def factor(self, made: str, *pairs: tuple[Word | str, str]) -> None:
        """`rfactor`; what follows is about the intermediate."""
        self.say("rfactor", pairs, made=Word(made))
        self.of, self.update = Word(made), 0

    def threads(self, cut: Chunks, parts: Parts | None, merged: int) -> None:
        """Chunks, each reduced into points of its own, in `parts`, of which so many are `merged` at once."""
        pairs: list[tuple[Word | str, str]] = [(self.words[loop.name], self.name("u")) for loop in cut.whole]
        if cut.cut is not None:
            loop, rows = cut.cut
            if cut.in_turn:
                outer, inner = self.split(loop, rows, f"{rows} slices in turn, as rows are of unknown length")
                self.now[loop.name] = outer
                pairs.append((inner, self.name("u")))
            else:
                reason = "chunks of rows" if cut.size is None else f"chunks of about {cut.size} iterations"
                outer, _ = self.split(loop, rows, reason)
                pairs.append((outer, self.name("u")))
        within = [] if parts is None else [self.part(parts)]
        self.factor(CHUNKS, *pairs, *within)
        self.merge_chunks(tuple(loop for loop, _ in reversed(pairs)), merged)
        self.say("compute_root", whole=True)
        tasks = [u for _, u in reversed(pairs)]
        self.whole = cut.whole
        if parts is not None:
            v = within[0][1]
            self.turns(parts, v, *tasks)
        if self.facts.pure:
            self.say("reorder", *map(self.term, self.facts.pure), *tasks)
        self.tasks = str(self.joined(self.of, self.update, *tasks))

    def apart(self) -> None:
        """Each chunk's points in cache lines of their own: where data choose them, threads wait for each other else."""
        if self.facts.scattered:
            narrowest = min(state_octets((type_,)) for type_ in self.facts.types)
            self.say("align_storage", self.facts.points[0], LINE_BYTES // narrowest, whole=True)

    def in_turns(self, parts: Parts) -> None:
        """Parts in storage that is this thread's alone, in turns."""
        base, pair = self.of, self.part(parts)
        self.factor(PARTED, pair)
        if self.tasks:
            self.say("compute_at", base, self.tasks, whole=True)
        else:
            self.say("compute_root", whole=True)
        self.turns(parts, pair[1])

    def part(self, parts: Parts) -> tuple[str, str]:
        """The loop over parts, and the variable that counts them."""
        reason = f"{parts.number} parts in turns, so that none waits for another's last value"
        part, _ = self.split(parts.loop, parts.size, reason if parts.number > 1 else "one part")
        return part, self.name("v")

    def stream(self, parts: Parts) -> tuple[str, str]:
        """The loop over parts that are read in turn, and the variable that counts them."""
        part, _ = self.split(
            parts.loop, parts.size, f"{parts.number} parts in turn, as memory gives several more than one"
        )
        return part, self.name("w")

    def turns(self, parts: Parts, v: str, *tasks: str) -> None:
        """An iteration of each part in turn."""
        if parts.number == 1:
            return
        within = (self.now[loop.name] for loop in self.facts.loops if loop not in self.whole)
        self.say("reorder", v, *within, *tasks)
        self.say("unroll", v)

    def merge_chunks(self, loops: tuple[Word | str, ...], lanes: int) -> None:
        """Chunks of many points are merged as those lie in memory, in `lanes` if that is more than one.

        No lanes beside loops that LLVM makes vectors of: it leaves those alone that stand beside such as are cut.
        """
        own = [x for x in self.facts.points if x in self.facts.called.values()]
        if self.facts.scattered or not own:
            self.merge(self.function, self.number, *loops)
            return
        self.give(self.function, self.number, "reorder", (*own, *loops))
        if lanes > 1 and own[0] == self.facts.points[0]:
            self.give(self.function, self.number, "vectorize", (own[0], lanes))

    def merge(self, of: Word, update: int, *loops: Word | str) -> None:
        """Points that data choose are merged as they lie in memory: those of one slice after the other."""
        if self.facts.scattered and not self.facts.pure:
            self.give(of, update, "reorder", (*self.facts.points, *loops))

    def joined(self, of: Word, update: int, inner: Word | str, *outers: Word | str) -> Word | str:
        """Loops as one, innermost first."""
        for around in outers:
            made = self.name("t")
            self.give(of, update, "fuse", (inner, around, made))
            inner = made
        return inner

    def abreast(self, name: str, lanes: int, shared: Own | None) -> None:
        """Neighbouring points at once."""
        reason = f"{lanes} neighbours in memory at once"
        if shared is None or name not in [loop.name for loop in shared.loops]:
            self.say("vectorize", self.term(name), lanes, reason=reason)
            return
        loop = next(loop for loop in shared.loops if loop.name == name)
        self.now.setdefault(name, name)
        self.outer[name], inner = self.split(loop, lanes, reason)
        self.say("vectorize", inner)

    def abutted(self, name: str, size: int = 1) -> None:
        """Iterations of two points in turn; tasks are of `size` points, if that is more than one."""
        loop = self.term(name)
        if size > 1:
            self.now.setdefault(name, name)
            whole = next(one for one in self.facts.own if one.name == name)
            self.outer[name], loop = self.split(whole, size, f"{size} points at a time")
        inner = self.name(f"{name.rsplit('.', 1)[-1]}i")
        self.say("split", loop, loop, inner, TWO, reason="two points in turn, so that neither waits for its last value")
        self.say("reorder", inner, *(self.now[one.name] for one in self.facts.loops), loop)
        self.say("unroll", inner)

    def tapped(self) -> None:
        """All iterations of a point written out."""
        for loop in self.facts.loops:
            self.say("unroll", self.words[loop.name])

    def share(self, shared: Own, machine: Machine) -> None:
        """Threads over own points: of the function, whose loops have other names once it is factored."""
        factored = self.of != self.function
        tasks = [
            self.outer.get(loop.name, self.facts.called[loop.name] if factored else self.term(loop.name))
            for loop in reversed(shared.loops)
        ]
        inner = self.joined(self.function, self.number, *tasks)
        self.run(self.function, self.number, inner, shared.where, machine)

    def lanes(self, wide: Lanes) -> None:
        """Neighbours combined in lanes, or in copies."""
        base, update, tasks, facts = self.of, self.update, self.tasks, self.facts
        streams = [] if wide.parts is None else [self.stream(wide.parts)]
        if wide.copies:
            reason = f"{wide.lanes} copies in turn, so that equal neighbours do not wait for each other's store"
        else:
            vectors = -(-wide.lanes * facts.widest // facts.vector_bits)
            reason = f"{wide.lanes} lanes, {vectors} vector{'s' * (vectors > 1)} of the widest component"
        outer, inner = self.split(wide.loop, wide.lanes, reason)
        v = self.name("v")
        self.factor(COPIED if wide.copies else LANES, (inner, v), *streams)
        self.merge(base, update, inner, *([tasks] if tasks else []))
        inside = facts.within or tasks
        if inside:
            self.say("compute_at", base, inside, whole=True)
        else:
            self.say("compute_root", whole=True)
        if wide.copies:
            self.say("unroll", v)
            self.say("unroll", outer, UNROLLED // wide.lanes)
        else:
            self.say("vectorize", v, whole=True)
            for _, w in streams:
                self.now[wide.loop.name] = outer
                within = (self.now[loop.name] for loop in facts.loops if loop not in self.whole)
                self.say("unroll", w, whole=True)
                self.say("reorder", v, w, *within, tasks)
                self.say("unroll", w)
            self.say("vectorize", v)
            self.join(base, update, inner)

    def join(self, of: Word, update: int, lanes: str) -> None:
        """Lanes merged pairwise, where that takes one operation."""
        if not self.facts.joins:
            return
        rounds = any(type_.is_float for type_ in self.facts.types) and self.facts.joins & {"+", "*"}
        rounding = (True,) if rounds else ()
        self.give(of, update, "atomic", rounding, "lanes are merged pairwise")
        self.give(of, update, "vectorize", (lanes,))

    def run(self, of: Word, update: int, loop: Word | str, where: int, machine: Machine) -> None:
        """A loop in parallel, in runs of `where` iterations or more."""
        if not where:
            self.give(of, update, "parallel", (loop,), f"{machine.threads} threads")
            return
        reason = f"{machine.threads} threads, from {where} iterations on"
        self.give(of, update, "parallel", (loop,), reason, where=(self.pays(where),))

    def pays(self, where: int, row: tuple[Loop, int] | None = None) -> Iterations:
        """Whether a run has `where` iterations or more, and the loop of a `row` so many."""
        least, loops = where, self.facts.loops
        for one in loops:
            least = -(-least // max(one.extent or 1, 1))
        unknown = tuple(self.words[one.name] for one in reversed(loops) if one.extent is None)
        if row is None or row[0].extent is not None:
            return Iterations(unknown, least)
        loop, length = self.words[row[0].name], row[1]
        if unknown == (loop,) or least <= length:
            return Iterations((loop,), max(least, length))
        return Iterations((loop,), length, Iterations(unknown, least))
