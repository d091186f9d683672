"""Tell which loops of a file are folds. The file is read, not run: `static_file` infers what names stand for."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.loops.body import Body, Surroundings, _globals
from rfactor.loops.fold import Beginning, Frame, Options, check_function
from rfactor.loops.headers import Count, Walk
from rfactor.loops.plan import Plan, made
from rfactor.loops.purity import root
from rfactor.loops.rewrite import Loop, loops_of
from rfactor.loops.sequences import Typed, typed
from rfactor.loops.source import Source, Text, names_loaded, names_stored
from rfactor.loops.stand_ins import LENGTH, Guess, Unknown, numbers
from rfactor.loops.static_file import File, Function, Reader, Start, starts
from rfactor.loops.static_values import Scope, first_of, stand_in_function
from rfactor.loops.wording import Found, found

FOLDS = ("fold", "scan", "map", "group-by", "search")
"""Verdicts of loops that rfactor runs; the others are refused, unknown, part (of the loop around) and outer."""


@dataclass(frozen=True)
class Verdict:
    """Hold what is said of one loop."""

    line: int
    end_line: int
    header: str
    verdict: str
    """One of `FOLDS`; `refused`; `unknown`: within the limits, or without its types; `part` of the loop around it,
    which is folded whole; `outer`: it runs as Python, and the loops inside of it are judged by themselves."""
    found: Found | None = None
    refusal: FoldError | None = None
    assuming: tuple[str, ...] = ()
    """Types that were guessed, as `a: int64[:]`."""


@dataclass(frozen=True)
class Judged:
    """Hold a function with its loops."""

    name: str
    line: int
    decorated: bool
    strict: bool
    """Decorated so that a loop that is no fold is an error."""
    loops: tuple[Verdict, ...]

    @property
    def worst(self) -> str:
        """Give `refused`, `unknown` or `fold`."""
        verdicts = {v.verdict for v in self.loops}
        return "refused" if "refused" in verdicts else "unknown" if "unknown" in verdicts else "fold"


@dataclass
class Settings:
    """Hold how loops are judged."""

    timeout: float = 2.0
    """Seconds for a proof."""
    only_decorated: bool = False
    types: Mapping[str, str] = field(default_factory=dict)


def lint(path: Path, text: str, settings: Settings) -> list[Judged]:
    """Judge the functions of a file that hold loops. Raise `SyntaxError`, `ValueError`; `Error` for no types."""
    file = File(path, text)
    chosen = [f for f in file.functions() if f.decorator is not None or not settings.only_decorated]
    return [judged(file, f, settings) for f in chosen]


def judged(file: File, function: Function, settings: Settings) -> Judged:
    """Judge the loops of a function."""
    options = _options(function.decorator, settings)
    decorated = function.decorator is not None
    tree = function.tree
    shown = Text(_short(file.path), tuple(file.lines))
    if isinstance(tree, ast.AsyncFunctionDef):
        error = shown.refusal("the function is async", tree, kind="R4", advice="fold a plain function inside of it")
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.For | ast.While | ast.AsyncFor)]
        refused = tuple(_verdict(n, "refused", refusal=error) for n in nodes)
        return Judged(function.name, tree.lineno, decorated, options.strict, refused)
    stub = stand_in_function(tree, function.around, Reader(file).values, Scope({}, function.around))
    source = Source(stub, tree, shown, function.around)
    loops = loops_of(source)
    try:
        check_function(source, loops)
    except FoldError as error:
        refused = tuple(_verdict(loop.node, "refused", refusal=error) for loop in loops)
        return Judged(function.name, tree.lineno, decorated, options.strict, refused)
    judge = _Judge(file, function, source, options, settings)
    verdicts = judge.all(loops)
    return Judged(function.name, tree.lineno, decorated, options.strict, verdicts)


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _options(decorator: ast.expr | None, settings: Settings) -> Options:
    """Read the options that a decorator is called with, where they are written out."""
    known: dict[str, Any] = {}
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg in ("strict", "floats") and isinstance(keyword.value, ast.Constant):
            known[keyword.arg] = keyword.value.value
    return Options(timeout=settings.timeout, **known)


def _verdict(node: ast.AST, verdict: str, **more: Any) -> Verdict:
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.While):
        header = f"while {ast.unparse(node.test)}:"
    else:
        assert isinstance(node, ast.For | ast.AsyncFor)
        header = f"for {ast.unparse(node.target).strip('()')} in {ast.unparse(node.iter)}:"
    return Verdict(line, getattr(node, "end_lineno", line), header, verdict, **more)


class _Judge:
    """Judge the loops of one function."""

    def __init__(self, file: File, function: Function, source: Source, options: Options, settings: Settings) -> None:
        self.file, self.function, self.source = file, function, source
        self.options, self.settings = options, settings
        self._starts: dict[str, dict[ast.AST, Start]] = {}

    def all(self, loops: Sequence[Loop]) -> tuple[Verdict, ...]:
        """Give the verdicts, in the order of the text."""
        done: dict[int, Verdict] = {}
        for loop in loops:
            around = loop.parent
            if around is not None and done[around.number].verdict in (*FOLDS, "part"):
                done[loop.number] = _verdict(loop.node, "part")
            else:
                done[loop.number] = self.one(loop)
        for loop in reversed(loops):
            own = done[loop.number]
            inner = [done[i.number].verdict for i in loop.inner]
            if own.verdict in ("refused", "unknown") and inner and all(v in (*FOLDS, "outer") for v in inner):
                done[loop.number] = replace(own, verdict="outer")
        return tuple(done[k] for k in sorted(done))

    def one(self, loop: Loop) -> Verdict:
        """Give the verdict on a loop, under other types where those that were guessed do not go."""
        first = self._under(loop, "")
        if first.verdict in FOLDS or first.refusal is None or first.refusal.kind not in ("R10", "R6", "R3", "R4"):
            return first
        guessed = self._guessed(loop)
        if not guessed:
            return first
        for name in _INSTEAD:
            other = self._under(loop, name)
            if other.verdict in FOLDS:
                return other
        of_type = "length" in first.refusal.reason or "walking over" in first.refusal.reason
        if first.refusal.kind == "R3" or (first.refusal.kind == "R4" and not of_type):
            return first
        return replace(first, verdict="unknown", assuming=first.assuming or tuple(guessed))

    def _start(self, instead: str) -> dict[ast.AST, Start]:
        if instead not in self._starts:
            plain = starts(self.file, self.function, self.settings.types, {}) if instead else {}
            guesses = next(iter(plain.values())).guesses if plain else {}
            values = next(iter(plain.values())).values if plain else {}
            others = {n: _INSTEAD[instead](values[n]) for n in guesses if n in values} if instead else {}
            others = {n: v for n, v in others.items() if v is not None}
            self._starts[instead] = starts(self.file, self.function, self.settings.types, others)
        return self._starts[instead]

    def _guessed(self, loop: Loop) -> list[str]:
        """List the types that were assumed of what the loop reads, directly or by way of other names."""
        start = self._start("").get(loop.node)
        if start is None:
            return []
        reached = names_loaded(loop.node)
        for s in reversed(list(ast.walk(self.function.tree))):
            if isinstance(s, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.For) and names_stored(s) & reached:
                reached |= names_loaded(s)
        return [f"{n}: {t}" for n, t in start.guesses.items() if n in reached]

    def _under(self, loop: Loop, instead: str) -> Verdict:
        """Give the verdict on a loop, under one choice of types."""
        start = self._start(instead).get(loop.node)
        text = self.source.text
        if start is None:
            error = text.refusal("the loop is not reached", loop.node, kind="R10")
            return _verdict(loop.node, "unknown", refusal=error)
        reached = {t.split(":")[0] for t in self._guessed(loop)}
        assuming = tuple(f"{n}: {t}" for n, t in start.guesses.items() if n in reached)
        at = _Still(self.file, self.source, self.options, loop, start.values)
        try:
            plan = at.found()
        except FoldError as error:
            doubtful = bool(at.doubts) and error.kind in ("R10", "R6", "R4", "R3", "R2", "R5")
            verdict = "unknown" if doubtful or error.kind == "R8" else "refused"
            return _verdict(loop.node, verdict, refusal=error, assuming=assuming)
        except RecursionError:
            deep = text.refusal("the body is nested too deep", loop.node, kind="R8")
            return _verdict(loop.node, "unknown", refusal=deep)
        except Exception as fault:  # a fault of ours in one loop must not cost those of the others
            failed = text.refusal(f"rfactor failed: {type(fault).__name__}: {fault}", loop.node, kind="R8")
            return _verdict(loop.node, "unknown", refusal=failed, assuming=assuming)
        said = found(loop, plan)
        return _verdict(loop.node, said.verdict, found=said, assuming=assuming)


def _as_float(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        made = numbers(np.float64, value.shape)
        return Guess(made, f"float64[{', '.join(':' * value.ndim)}]")
    return Guess([1.5] * LENGTH, "list[float]") if isinstance(value, list) else None


def _as_text(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return Guess("the quick brown fox " * 6, "str")
    return None


def _as_words(value: Any) -> Any:
    return Guess(["word"] * LENGTH, "list[str]") if isinstance(value, np.ndarray) and value.ndim == 1 else None


def _as_list(value: Any) -> Any:
    return Guess([97] * LENGTH, "list[int]") if isinstance(value, np.ndarray) and value.ndim == 1 else None


_INSTEAD = {"float": _as_float, "list": _as_list, "text": _as_text, "words": _as_words}
"""Other types for parameters of which nothing is written down."""


class _NotKnown(NameError):
    """Say that it is not known what a header walks over."""


class _StillBody(Body):
    """Read a body without running anything."""

    still: _Still

    def around_value(self, node: ast.expr) -> Any:
        """Give the value of an expression that is the same in all steps."""
        scope = Scope(dict(self.around.values), _globals(self.around.source))
        return self.still.noted(self.still.reader.values.of(node, scope), node)


class _Fold:
    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.plans: dict[int, list[Plan]] = {}


class _Call:
    def __init__(self, fold: _Fold) -> None:
        self.fold = fold


class _Still(Beginning):
    """Stand where a loop begins, of a function that is not run."""

    def __init__(self, file: File, source: Source, options: Options, loop: Loop, env: dict[str, Any]) -> None:
        super().__init__(_Call(_Fold(source, options)), loop, env)  # type: ignore[arg-type]
        self.reader = Reader(file)
        self.doubts = [n for n in names_loaded(loop.node) if isinstance(env.get(n), Unknown)]

    def noted(self, value: Any, node: ast.AST) -> Any:
        """Give the value, noted where it is not known."""
        if isinstance(value, Unknown):
            self.doubts.append(ast.unparse(node))
        return value

    def evaluate(self, node: ast.expr) -> Any:
        """Give the value of a piece of the header. Raise `_NotKnown`."""
        value = self.noted(self.reader.values.of(node, Scope(dict(self.env), self.source.globals)), node)
        if isinstance(value, Unknown):
            raise _NotKnown(ast.unparse(node))
        return value

    def walk(self) -> Walk:
        """Find what the loop walks over, at least a few steps of it. Raise `FoldError`."""
        node = self.loop.node
        try:
            walk = super().walk()
        except _NotKnown as error:
            advice = f"annotate it, or say --types {error}=f64[:]" if str(error).isidentifier() else "give its type"
            raise self.no(f"the type of {error} is not known", getattr(node, "iter", node), "R10", advice) from None
        except (TypeError, ValueError, AttributeError):
            raise self.no("what is walked over is not known", getattr(node, "iter", node), "R10") from None
        if isinstance(walk, Count) and not walk.length:
            step = walk.numbers.step
            self._walk = walk = Count(LENGTH, range(walk.numbers.start, walk.numbers.start + LENGTH * step, step))
        return walk

    def found(self) -> Plan:
        """Make the plan of the loop. Raise `FoldError`."""
        self._check_attributes()
        frame = self.frame()
        if frame is None:
            self.doubts.append("the number of steps")
            raise self.no("how many steps there are is not known", self.loop.node, "R10")
        errors: list[FoldError] = []
        for specialized in (False, True):
            compute: Any = partial(self.computed, frame)
            body = _StillBody(
                Surroundings(self.source, self.env, self.loop.read_after), frame.body, frame.bind, frame.depth,
                compute, frozenset(frame.fixed), frame.test, specialized,
            )  # fmt: skip
            body.still = self
            try:
                return made(body, self.loop.node, timeout=self.fold.options.timeout, floats=self.fold.options.floats)
            except FoldError as error:
                errors.append(error)
                if error.kind not in ("R7", "R8") or not body.reading.constants:
                    break
        raise errors[0]

    def _check_attributes(self) -> None:
        """Refuse a loop that assigns attributes of an object, whatever it is. Raise `FoldError`."""
        for node in ast.walk(self.loop.node):
            if not (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
                continue
            if isinstance(self.env.get(root(node) or ""), Unknown) and not self.loop.inner:
                advice = "use a local variable in the loop, and assign the attribute after it"
                raise self.no(f"{ast.unparse(node)} is assigned", node, "R1", advice)

    def computed(
        self, frame: Frame, node: ast.expr, guard: ast.expr | None, prelude: Sequence[ast.stmt], kind: str = ""
    ) -> tuple[Typed | None, int]:
        """Find the type of what Python would compute in a step."""
        names = dict(self.env)
        scope = Scope(names, self.source.globals)
        for loop in getattr(frame, "loops", None) or ():
            if isinstance(loop, Loop) and isinstance(loop.node, ast.For):
                over = self.reader.values.of(loop.node.iter, scope)
                self.reader.values.bind(loop.node.target, first_of(over), names)
        self.reader.statements(prelude, scope)
        value = self.noted(self.reader.values.of(node, scope), node)
        if isinstance(value, Unknown):
            return None, 0
        found_ = typed([value] * 3)
        return (found_ if found_ is not None and found_.array.ndim == 1 else None), 3
