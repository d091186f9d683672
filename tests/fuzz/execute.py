"""A program run three ways: as its definitions say, as its loop nest says, and as machine code."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np

import rfactor as hl
from rfactor.compiler.language.buffer import ImageParam
from rfactor.compiler.language.freeze import Frozen
from rfactor.compiler.lower.inline import inline
from rfactor.compiler.lower.refused import inlined
from rfactor.compiler.verify.verify import verify_pipeline
from rfactor.errors import BufferError, Error
from rfactor.ir.bfloat import STORED, of_words
from rfactor.native import engine
from rfactor.semantics.interpreter import Box, ImageValue, interpret
from rfactor.semantics.memory import Fault
from rfactor.semantics.nest import TooLong, interpret_nest
from rfactor.semantics.validity import validate
from tests.fuzz.algorithms import algorithm
from tests.fuzz.program import Program
from tests.fuzz.schedules import schedule
from tests.fuzz.session import Refused, Session, made

Arrays = Mapping[str, tuple[np.ndarray[Any, Any], ...]]
NESTS = {"final": True, "bounds": False}
"""The passes after which the nest is interpreted, and whether its storage is flat then. The first has the checks."""

STEPS = 25_000
"""Expressions that a nest may compute: what takes more is not interpreted."""


@dataclass
class Outcome:
    """What became of a program."""

    kind: str
    """`agree`, `refused`, `invalid`, `skipped`; or a defect: `disagree …`, `internal …`."""
    program: Program
    detail: str = ""
    expected: str = ""
    used: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    proved: Counter[str] = field(default_factory=Counter)
    """Obligations of its bounds, where they are verified: those that are open with their kinds and reasons."""

    @property
    def defect(self) -> bool:
        return self.kind.startswith(("disagree", "internal"))


def generate(seed: int) -> tuple[Program, Random]:
    """The definitions of a seed, without a schedule yet, and where its choices go on."""
    random = Random(seed)
    return Program(tuple(algorithm(random)), ()), random


PASSES = 3
"""How hard LLVM tries where nothing else is asked for: what users get."""


def passes_of(seed: int) -> int:
    """How hard LLVM tries: for every fourth seed as for users, else not at all. Most defects are of our code for it."""
    return PASSES if seed % 4 == 0 else 0


@contextmanager
def tried(passes: int) -> Iterator[None]:
    """Have LLVM try that hard on what is compiled."""
    host = replace(engine.host(), level=passes)
    with patch("rfactor.compiler.codegen.module.host", lambda: host):
        yield


def run_seed(seed: int, told: Any = None, code: bool = True, passes: int = PASSES, prove: bool = False) -> Outcome:
    """Generate and run, without machine code unless `code`. `told` is called with the program before it is compiled.

    With `prove`, its bounds are verified instead.
    """
    program, random = generate(seed)
    return _guarded(program, lambda: _run(program, random, told, code, passes, prove))


def run_program(
    program: Program, told: Any = None, code: bool = True, passes: int = PASSES, prove: bool = False
) -> Outcome:
    """Run a program as it is; see `run_seed`."""
    return _guarded(program, lambda: _run(program, None, told, code, passes, prove))


def _guarded(program: Program, run: Any) -> Outcome:
    try:
        outcome: Outcome = run()
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        detail = traceback.format_exc()
        return Outcome(f"internal {type(error).__name__} in {last.name}", getattr(error, "program", program), detail)
    return outcome


def _run(program: Program, random: Random | None, told: Any, code: bool, passes: int, prove: bool) -> Outcome:
    try:
        session = Session.of(program.definitions)
        frozen = session.frozen()
        validate(frozen.algorithm)
    except Error as error:
        return Outcome("invalid", program, f"{type(error).__name__}: {error}")
    box: Box = tuple(zip(session.names["mins"], session.names["sizes"], strict=True))
    boxes = {f.name(): box for f in session.outputs()}
    inputs, parameters = given(frozen)
    try:
        with np.errstate(all="ignore"):
            reference = {} if prove else interpret(frozen.algorithm, inputs, parameters, boxes)
    except (BufferError, RecursionError, TypeError, OverflowError) as error:
        return Outcome("invalid", program, f"{type(error).__name__}: {error}")
    try:
        if random is not None:
            schedule(random, session, plain(program))
        else:
            session.begin()
            for line in program.directives:
                session.direct(line)
            session.lowers()
        program = Program(program.definitions, tuple(session.directives))
        if prove:
            return _proved(session, program)
        scheduled = session.frozen()
        meant = scheduled if session.why is not None else _meant(scheduled)
        if meant is not scheduled:
            with np.errstate(all="ignore"):
                reference = interpret(meant.algorithm, *given(meant), boxes)
        with tried(passes):
            return _compared(session, meant, program, reference, boxes, told if code else None, code)
    except Exception as error:
        error.program = Program(program.definitions, tuple(session.directives))  # type: ignore[attr-defined]
        raise


def _meant(frozen: Frozen) -> Frozen:
    """What a schedule means, where it inlines what is undefined in part: what is made of that is undefined there too,
    and 0 is stored where it is not inlined."""
    gone = inlined(frozen.algorithm, frozen.schedule)
    pure = [function.pure for function in frozen.algorithm.functions if function.name in gone]
    if not any(one.may_keep(component) for one in pure for component in range(len(one.values))):
        return frozen
    return replace(frozen, algorithm=inline(frozen.algorithm, frozen.schedule))


def plain(program: Program) -> bool:
    """Whether no infinity and no NaN was drawn: then sums of floats in another order stay near."""
    text = program.text()
    return "nan" not in text and "np.inf" not in text and " / " not in text


def given(frozen: Frozen) -> tuple[dict[str, ImageValue], dict[str, Any]]:
    """The inputs and parameters of a pipeline."""
    images = {}
    for image in frozen.images:
        buffer = image.get() if isinstance(image, ImageParam) else image
        images[image.name()] = ImageValue(buffer.array, buffer.mins)
    return images, {p.variable.name: p.get() for p in frozen.parameters}


def _proved(session: Session, program: Program) -> Outcome:
    """What becomes of the obligations of its bounds; one that is refuted is a defect."""
    outcome = Outcome("agree", program, "", "", session.used, session.refused)
    if session.why is not None:
        outcome.kind, outcome.detail = "refused", f"{type(session.why).__name__}: {session.why}"
        return outcome
    frozen = session.frozen()
    try:
        found = verify_pipeline(frozen.algorithm, frozen.schedule)
    except Refused as refused:
        outcome.kind, outcome.detail = "refused", f"{type(refused).__name__}: {refused}"
        return outcome
    for one in found.obligations:
        where = "" if one.verdict == "proven" else f" {one.place.kind}: {one.reason}"
        outcome.proved[f"{one.verdict}{where}"] += 1
    outcome.proved[f"programs {found.verdict}"] += 1
    if found.refuted:
        outcome.kind, outcome.detail = "disagree bounds", str(found.refuted[0])
    return outcome


def _compared(
    session: Session,
    frozen: Frozen,
    program: Program,
    reference: Arrays,
    boxes: Mapping[str, Box],
    told: Any,
    code: bool,
) -> Outcome:
    """How the executions compare with the reference; `frozen` is the pipeline as its schedule means it."""
    expected = str([part.tolist() for parts in reference.values() for part in parts])
    outcome = Outcome("agree", program, "", expected, session.used, session.refused)
    near = any(word in line for line in program.directives for word in ("rfactor", "override", "parallel_scan"))
    inputs, parameters = given(frozen)
    why = session.why
    if why is not None:
        outcome.kind, outcome.detail = "refused", f"{type(why).__name__}: {why}"
        return outcome
    if told is not None:
        told(program)
    try:
        problems = differences("compiled", computed(session, boxes), reference, near) if code else []
    except Refused as refused:
        outcome.kind, outcome.detail = "refused", f"{type(refused).__name__}: {refused}"
        return outcome
    for name, flat in NESTS.items():
        try:
            with np.errstate(all="ignore"):
                nest = session.nests[name]
                found = interpret_nest(nest, frozen.algorithm, inputs, parameters, boxes, flat=flat, steps=STEPS)
        except TooLong:
            outcome.used["(nest not interpreted: too long)"] += 1
        except BufferError as refused:
            if not code:
                outcome.kind, outcome.detail = "refused", f"{type(refused).__name__}: {refused}"
                return outcome
            problems.append((f"nest {name}: refused", str(refused)))
        except Fault as fault:
            problems.append((f"nest {name}: fault", str(fault)))
        else:
            problems += differences(f"nest {name}", found, reference, near)
    if problems:
        outcome.kind = "disagree " + ", ".join(kind for kind, _ in problems)
        outcome.detail = "\n".join(f"{kind}: {detail}" for kind, detail in problems)
    return outcome


def computed(session: Session, boxes: Mapping[str, Box]) -> Arrays:
    """What the machine code says."""
    found: dict[str, tuple[Any, ...]] = {}
    for f in session.outputs():
        buffers = tuple(hl.Buffer(t, session.names["sizes"]) for t in f.types())
        for buffer in buffers:
            buffer.set_min(session.names["mins"])
        found[f.name()] = buffers
    hl.Pipeline(session.outputs()).realize(tuple(b for parts in found.values() for b in parts))
    return {name: tuple(b.array.copy() for b in parts) for name, parts in found.items()}


def _numbers(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Elements as numbers: brain floats as f32."""
    return of_words(array) if array.dtype == STORED else array


def differences(what: str, found: Arrays, reference: Arrays, near: bool) -> list[tuple[str, str]]:
    """Where two answers differ: the kind and a description of each component that does."""
    problems = []
    for name, parts in reference.items():
        for component, (right, wrong) in enumerate(zip(parts, found[name], strict=True)):
            if not alike(right, wrong, near):
                told = "expected {}\n found    {}".format(*(_numbers(part).tolist() for part in (right, wrong)))
                problems.append((what, f"{name}[{component}]\n {told}"))
    return problems[:1]


def alike(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], near: bool) -> bool:
    """Whether two arrays have the same bits, NaNs of any payload being the same; of floats, `near` allows rounding."""
    rounding = 5e-2 if a.dtype == STORED else {2: 1e-2, 4: 1e-4, 8: 1e-9}.get(a.dtype.itemsize, 0)
    a, b = _numbers(a), _numbers(b)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    if near:
        wide, other = a.astype(np.float64), b.astype(np.float64)
        return bool(np.allclose(wide, other, rounding, rounding, equal_nan=True))
    numbers = ~np.isnan(a)
    same_signs = np.signbit(a[numbers]) == np.signbit(b[numbers]) if np.array_equal(numbers, ~np.isnan(b)) else False
    return bool(np.array_equal(a, b, equal_nan=True) and np.all(same_signs))


__all__ = ["Outcome", "generate", "made", "run_program", "run_seed"]
