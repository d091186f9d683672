"""`@rfactor.fold`: a plain Python function whose loops are folds, run as the proven parallel ones."""

from __future__ import annotations

import ast
import builtins
import functools
import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from rfactor.errors import Error, FoldError
from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr
from rfactor.ir.types import I64
from rfactor.loops import kinds as K
from rfactor.loops.aliasing import apart
from rfactor.loops.arrays import Data, Replan, gathered
from rfactor.loops.body import POINTED, Body, Datum, Env, Stored, Surroundings
from rfactor.loops.engines import Engines
from rfactor.loops.headers import NoWalk, Walk, walk_of
from rfactor.loops.plan import Plan, holds_value, made
from rfactor.loops.rewrite import Loop, loops_of, opened
from rfactor.loops.run import Left, Outcome, Runner, _plain, holds
from rfactor.loops.sequences import Typed, typed
from rfactor.loops.source import Source, names_loaded, own_nodes, read, stored_in
from rfactor.loops.state_parts import part_of
from rfactor.loops.taken import Taken

if TYPE_CHECKING:
    from rfactor.loops.explain import Explanation

Floats = Literal["reassociate", "serial", "anyway"]
OFTEN, LONG = 3, 1000
"""Inner loops that are begun so often, and are shorter than that on average, are left to Python."""
SHORT = 512
"""Loops of fewer steps are left to Python: compiled code takes longer to call."""
_PLANS = 16
"""How many plans of a loop are kept, for types and forms that differ."""


class FoldWarning(UserWarning):
    """A loop that is no fold, and runs in order or as Python, as `strict=False` allows."""


@dataclass(frozen=True)
class Options:
    """How a function is folded."""

    strict: bool = True
    floats: Floats = "reassociate"
    timeout: float = 5.0
    ways: str = "auto"


class Fold(Engines):
    """A function whose loops are folds. Call it as the function; `python` is the plain one."""

    def __init__(self, function: Callable[..., Any], options: Options) -> None:
        functools.update_wrapper(self, function)
        self.python = function
        self.options = options
        self.source: Source = read(function)
        self.loops: list[Loop] = loops_of(self.source)
        check_function(self.source, self.loops)
        if not self.loops:
            raise self.source.text.refusal(
                "there is no loop", self.source.tree, kind="R4", advice="write the fold as a for loop"
            )
        self.plans: dict[int, list[Plan]] = {}
        self.refusals: dict[int, FoldError] = {}
        self.outcomes: dict[int, str] = {}
        self.taken: dict[int, Taken] = {}
        self._warned: set[int] = set()
        self._lock = threading.RLock()
        self._opened = opened(self.source, lambda: Call(self))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the plain function."""
        return self._opened(*map(as_plain, args), **{k: as_plain(v) for k, v in kwargs.items()})

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Tell what is known of each loop: of a call with these arguments, which is made, or of calls so far.

        Arguments that the function changes in place are copied first. Nothing is raised where a loop is no fold, or
        the call raises: the explanation says so.
        """
        from rfactor.loops.explain import explained

        return explained(self, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __reduce__(self) -> Any:
        return (_found, (self.python.__module__, self.python.__qualname__))


def check_function(source: Source, loops: Sequence[Loop]) -> None:
    """Refuse functions of which no loop can be folded. Raise `FoldError`."""
    text = source.text
    own = set(map(id, own_nodes(source.tree)))
    for node in own_nodes(source.tree):
        called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        if called in ("locals", "exec", "eval"):
            raise text.refusal(
                f"{called}() sees the names of the function, to which rfactor adds its own", node, kind="R1",
                advice="name what you need",
            )  # fmt: skip
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Yield | ast.YieldFrom) and id(node) in own:
            raise text.refusal("the function is a generator", node, kind="R1", advice="append to a list, return it")
        if isinstance(node, ast.Nonlocal) or (isinstance(node, ast.Global) and id(node) in own):
            raise text.refusal(
                f"{', '.join(node.names)} of an outer scope is written", node, kind="R1",
                advice="return the value instead",
            )  # fmt: skip
    for loop in loops:
        header = loop.node.iter if isinstance(loop.node, ast.For) else None
        for node in ast.walk(header) if header is not None else ():
            if isinstance(node, ast.NamedExpr | ast.Await):
                raise text.refusal(
                    "a name is assigned in the header of the loop", node, kind="R4",
                    advice="assign it in a statement before the loop",
                )  # fmt: skip


def _cells(source: Source) -> dict[str, Any]:
    """What the free variables of a function are now."""
    found = {}
    for name, cell in source.closure.items():
        with suppress(ValueError):
            found[name] = cell.cell_contents
    return found


def _identical(a: Any, b: Any) -> bool:
    """Are two values the same to the type and the sign of zeros, elements included?"""
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(_identical, a, b))
    if isinstance(a, float | complex | np.inexact):
        return repr(a) == repr(b)
    return bool(a == b)


def _found(module: str, name: str) -> Any:
    import importlib

    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


@overload
def fold(function: Callable[..., Any], /) -> Fold: ...


@overload
def fold(
    *, strict: bool = True, floats: Floats = "reassociate", timeout: float = 5.0
) -> Callable[[Callable[..., Any]], Fold]: ...


def fold(
    function: Callable[..., Any] | None = None,
    /,
    *,
    strict: bool = True,
    floats: Floats = "reassociate",
    timeout: float = 5.0,
) -> Fold | Callable[[Callable[..., Any]], Fold]:
    """Run the loops of a function as proven parallel folds, with the result of the plain function.

    `strict`: raise `FoldError` at the first call whose loop is no fold; else run it as Python, and warn once. `floats`:
    `"reassociate"` adds floats in fixed slices, whatever the threads; `"serial"` keeps the order of the loop;
    `"anyway"` takes integers that rounded floats decide, too. `timeout`: seconds for a proof.
    """
    if floats not in ("reassociate", "serial", "anyway"):
        raise Error(f'floats={floats!r} is none of "reassociate", "serial", "anyway"')
    options = Options(strict, floats, timeout)
    if function is None:
        return lambda f: fold_with(f, options)
    return fold_with(function, options)


def fold_with(function: Callable[..., Any], options: Options) -> Fold:
    """The fold of a function under some options."""
    return Fold(function.python if isinstance(function, Fold) else function, options)


def as_plain(value: Any) -> Any:
    """An argument as loops take it: arrays of other libraries as NumPy's, without a copy where that is possible."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray):
            raise Error("a masked array: fill it, or give its mask as an argument of its own")
        return value
    module = type(value).__module__.split(".")[0]
    if module in ("builtins", "numpy", "collections", "__main__"):
        return value
    if module == "pyarrow" and hasattr(value, "null_count"):
        if value.null_count:
            raise Error("an Arrow array with nulls: fill them, as with .fill_null(0)")
        return value.to_numpy(zero_copy_only=False) if hasattr(value, "buffers") else value.to_numpy()
    if module in ("pandas", "polars", "xarray") and hasattr(value, "to_numpy"):
        return value.to_numpy()
    if hasattr(value, "__array_interface__") or (module in ("torch", "jax", "cupy") and hasattr(value, "__dlpack__")):
        return np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
    return value


@dataclass
class Started:
    """What a loop is told where it begins."""

    rest: Iterable[Any]
    values: Mapping[str, Any] = field(default_factory=dict)


class Call:
    """One call of a folded function: what its loops ask."""

    few = SHORT
    """Loops of up to so many steps are Python's."""
    last = 1
    """So many steps at the end are Python's."""

    def __init__(self, fold: Fold) -> None:
        self.fold = fold
        self.folded: set[int] = set()
        self.resume: dict[int, int] = {}
        self.short = [False] * len(fold.loops)
        """Inner loops that are begun often and are short: they are Python's from then on."""
        self._begun: dict[int, tuple[int, int]] = {}

    def _count(self, loop: Loop, steps: int) -> None:
        """Note how long an inner loop is."""
        if loop.parent is None:
            return
        times, total = self._begun.get(loop.number, (0, 0))
        self._begun[loop.number] = times, total = times + 1, total + steps
        self.short[loop.number] = times >= OFTEN and total < times * LONG

    def __call__(self, number: int, env: dict[str, Any]) -> Started:
        """From which step on Python runs loop `number`, and the values of its names there."""
        loop = self.fold.loops[number]
        env = {n: v for n, v in env.items() if not n.startswith("rfactor_")}
        at = Beginning(self, loop, env)
        outer = loop.parent
        while outer is not None:
            if outer.number in self.folded:
                if number not in self.resume:
                    self.short[number] = True
                return Started(at.plain(self.resume.pop(number, 0)))
            outer = outer.parent
        at.prepare()
        try:
            return at.start()
        except Exception as raised:
            error = raised if isinstance(raised, FoldError) else _internal(at, raised)
            self.fold.refusals[number] = error
            if loop.inner:
                return Started(at.plain(0))
            parent = loop.parent
            first = error
            while parent is not None:
                first = self.fold.refusals.get(parent.number, first)
                parent = parent.parent
            if self.fold.options.strict:
                raise first from None
            self.warn(number, error, 4)
            return Started(at.plain(0))

    def warn(self, number: int, error: FoldError, level: int) -> None:
        """Say once why a loop is not run in parallel."""
        if number not in self.fold._warned:
            self.fold._warned.add(number)
            warnings.warn(str(error), FoldWarning, stacklevel=level)


def _internal(at: Beginning, error: Exception) -> FoldError:
    """An error of ours as a refusal."""
    if os.environ.get("RFACTOR_DEBUG"):
        raise error
    return at.no(f"an error of rfactor's own: {type(error).__name__}: {error}", at.loop.node, "R8", "please report it")


class Beginning:
    """A loop where it begins: the values of its names, what it walks, and the plan that fits."""

    def __init__(self, call: Call, loop: Loop, env: dict[str, Any]) -> None:
        self.call, self.fold, self.loop, self.env = call, call.fold, loop, env
        self.source = call.fold.source
        self.walks: list[Walk] = []
        self._typed: dict[int, tuple[Any, Typed | None]] = {}
        self._walk: Walk | None = None
        self._no_walk: NoWalk | None = None

    # -- walking as Python ---------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Any:
        """The value of a piece of the header."""
        return self.source.evaluate(node, self.env)

    def _is_builtin(self, name: str) -> bool:
        return name not in self.env and name not in self.source.globals and hasattr(builtins, name)

    def walk(self) -> Walk:
        """What the loop walks over. Raises `FoldError`."""
        node = self.loop.node
        assert isinstance(node, ast.For)
        if self._walk is None:
            if self._no_walk is None:
                self.prepare()
            if self._no_walk is not None:
                error = self._no_walk
                raise self.no(error.reason, error.node, "R4", error.advice) from None
        assert self._walk is not None
        return self._walk

    def no(self, reason: str, node: ast.AST | None, kind: str, advice: str = "") -> FoldError:
        return self.source.text.refusal(reason, node, kind=kind, advice=advice)

    def plain(self, start: int) -> Iterable[Any]:
        """What Python's loop takes from step `start` on."""
        node = self.loop.node
        if isinstance(node, ast.While):
            return ()
        if self._walk is None and self._no_walk is None:
            self.prepare()
        if self._walk is None:
            assert self._no_walk is not None
            return self._no_walk.values  # type: ignore[no-any-return]
        return self._walk.rest(start)

    # -- folding -------------------------------------------------------------------------------------------------------

    def prepare(self) -> None:
        """Evaluate the header: what it raises is raised where the plain loop would."""
        node = self.loop.node
        if isinstance(node, ast.For):
            try:
                self._walk = walk_of(node.iter, self.evaluate, self._is_builtin)
            except NoWalk as error:
                self._no_walk = error

    def start(self) -> Started:
        """Fold as many steps as can be. Raises `FoldError`."""
        if self._walk is not None and self._walk.length <= self.call.few and self.fold.plans.get(self.loop.number):
            self.call._count(self.loop, self._walk.length)
            return Started(self.plain(0))
        frame = self.frame()
        if frame is None:
            return Started(self.plain(0))
        self.call._count(self.loop, frame.total)
        for _ in range(3):
            try:
                plan = self.plan(frame)
            except Beyond:
                return Started(self.plain(0))
            self.call.folded.add(self.loop.number)
            taken = self.fold.taken[self.loop.number] = Taken(plan, frame.dims)
            if frame.total <= self.call.few:
                return Started(self.plain(0))
            begun = time.perf_counter()
            try:
                outcome = self.run(plan, frame)
            except Beyond:
                return Started(self.plain(0))
            except Replan:
                self.fold.plans[self.loop.number].remove(plan)
                continue
            taken.ended(outcome, time.perf_counter() - begun)
            if outcome is None:
                return Started(self.plain(0))
            return frame.resumed(self, plan, outcome)
        return Started(self.plain(0))

    def frame(self) -> Frame | None:
        """The steps of the loop; None where there are none."""
        if isinstance(self.loop.node, ast.While):
            from rfactor.loops.whiles import while_frame

            return while_frame(self)
        return for_frame(self)

    def plan(self, frame: Frame) -> Plan:
        """The plan that fits the types of the call, made where there is none."""
        key = frame.signature(self)
        with self.fold._lock:
            plans = self.fold.plans.setdefault(self.loop.number, [])
            for plan in plans:
                if plan.signature == key and self._holds(plan):
                    return plan
            errors: list[FoldError] = []
            for specialized in (False, True):
                around = Surroundings(self.source, self.env, self.loop.read_after)
                body = Body(
                    around, frame.body, frame.bind, frame.depth, lambda n, g, p: self.computed(frame, n, g, p),
                    frozenset(frame.fixed), frame.test, specialized,
                )  # fmt: skip
                try:
                    plan = made(
                        body, self.loop.node, timeout=self.fold.options.timeout, floats=self.fold.options.floats
                    )
                except FoldError as error:
                    errors.append(error)
                    if error.kind not in ("R7", "R8") or not body.reading.constants:
                        break
                    continue
                plan.signature = key
                plans.insert(0, plan)
                del plans[_PLANS:]
                return plan
            if not self.fold.options.strict and errors[0].kind in ("R7", "R8", "R9"):
                return self._unproved(frame, key, errors[0])
            raise errors[0]

    def _unproved(self, frame: Frame, key: Any, error: FoldError) -> Plan:
        """A plan without an operator, whose steps compiled code takes in order."""
        around = Surroundings(self.source, self.env, self.loop.read_after)
        body = Body(
            around, frame.body, frame.bind, frame.depth, lambda n, g, p: self.computed(frame, n, g, p),
            frozenset(frame.fixed), frame.test,
        )  # fmt: skip
        options = self.fold.options
        plan = made(body, self.loop.node, timeout=options.timeout, floats=options.floats, prove=False)
        plan.signature = key
        self.fold.plans[self.loop.number].insert(0, plan)
        self.fold.refusals[self.loop.number] = error
        self.call.warn(self.loop.number, error, 6)
        return plan

    def _holds(self, plan: Plan) -> bool:
        """Are the values that a plan depends on those of this call?"""
        for how, node, value, where in plan.reading.literal.values():
            try:
                now = self.evaluate(node) if where is None else where[0].evaluate(node, _cells(where[0]))
                if how == "list":
                    now = list(now)
                elif how == "members":
                    now = sorted(map(repr, now))
                elif how == "shape":
                    now = np.shape(now)[1:]
                elif how == "sequence":
                    now = (type(now).__name__, list(now))
                alike = now is value if how == "same" else _identical(now, value)
            except Exception:
                return False
            if not alike:
                return False
        for node, kind in plan.reading.constants.values():
            if isinstance(node, ast.expr):
                try:
                    if K.kind_of(self.evaluate(node)) != kind:
                        return False
                except Exception:
                    return False
        return True

    def constants(self, plan: Plan, frame: Frame) -> dict[str, Any]:
        """The numbers that stay the same."""
        found = {}
        for name, (node, _) in plan.reading.constants.items():
            value = frame.number(node) if isinstance(node, tuple) else self.evaluate(node)
            found[name] = K.held_value(value)
        return found

    def run(self, plan: Plan, frame: Frame) -> Outcome | None:
        """Run the plan; None where Python is to take all steps."""
        constants = self.constants(plan, frame)
        for name, (_, kind) in plan.reading.constants.items():
            if kind == "int" and not I64.min <= constants[name] <= I64.max:
                return None
        dims = {f"dim{k}": n for k, n in zip(range(len(frame.dims)), frame.dims, strict=True)}
        if not all(holds(e, constants | dims) for e, _ in plan.fixed_requirements):
            return None
        data = gathered(
            plan.reading, frame.dims, constants, lambda name, where: self.array(frame, where),
            lambda datum: self.recomputed(frame, datum, plan), frame.total - self.call.last,
        )  # fmt: skip
        if not frame.alone(self, plan):
            return None
        for stored in plan.reading.stored:
            if stored.index is not None:
                first, second = (_at_step(stored.index, plan, frame, self, k) for k in (0, 1))
                size, by = len(self.env[stored.name]), second - first
                last = size - 1 if by > 0 else 0
                data.limit = min(data.limit, (last - first) // by + 1 if 0 <= first < size else 0)
        outcome = self.taken(plan, frame, data)
        if outcome is not None:
            left = outcome.steps < frame.total - 1
            if left and outcome.steps > 0 and self._forgets(plan):
                return self._one_less(plan, frame, data, outcome)
            self.fold.outcomes[self.loop.number] = outcome.how
        return outcome

    def _forgets(self, plan: Plan) -> bool:
        """Are there names that a step assigns and no state keeps?"""
        kept = {s.name for s in plan.slots}
        stored = stored_in(self.loop.node.body) - kept
        return bool(stored & self.loop.read_after)

    def _one_less(self, plan: Plan, frame: Frame, data: Data, outcome: Outcome) -> Outcome | None:
        """Stop a step earlier: the last whole step gives names their values, and is Python's."""
        if outcome.steps < 2:
            return None
        data.limit = outcome.steps - 1
        return self.taken(plan, frame, data)

    def taken(self, plan: Plan, frame: Frame, data: Data) -> Outcome | None:
        """As many steps as all numbers of the state allow."""
        from rfactor.loops.groups import GroupRunner

        options = self.fold.options
        for _ in range(2 + len(plan.groups)):
            start = self.starts(plan, data, frame)
            if not all(holds_value(s.var.type, _plain(v)) for s, v in zip(plan.slots, start, strict=True)):
                return None
            runner = Runner(plan, data, start, options.floats, options.ways)
            runner.start_kinds = self.start_kinds(plan)
            outcome = runner.run()
            if outcome is None:
                return None
            data.limit = outcome.steps
            for group in plan.groups:
                found = GroupRunner(group, data, self, frame).run()
                if found is None or found.steps < 1:
                    return None
                outcome.groups.append(found)
                if found.steps < data.limit:
                    data.limit = found.steps
                    break
            else:
                return outcome
        return None

    def starts(self, plan: Plan, data: Data, frame: Frame) -> list[Any]:
        """The carried numbers before the first step, as arrays hold them."""
        found = []
        for s in plan.slots:
            if s.part.startswith(POINTED):
                array = self.evaluate(_node_of(plan.reading.arrays[s.part[len(POINTED) :]]))
                at = self.env[s.name]
                found.append(K.held_value(array[at]) if -len(array) <= at < len(array) else math.nan)
            elif s.part.startswith("last "):
                index = next(o.index for o in plan.reading.stored if o.name == s.name)
                assert index is not None
                first, second = (_at_step(index, plan, frame, self, k) for k in (0, 1))
                base = self.env[s.name]
                at = first - (second - first) * int(s.part[5:])
                found.append(K.held_value(base[at]) if -len(base) <= at < len(base) else 0)
            else:
                found.append(part_of(self.env[s.name], s.part))
        return found

    def start_kinds(self, plan: Plan) -> list[str]:
        """What they are in the plain run."""
        found = []
        for s in plan.slots:
            value = None if s.part.startswith(("last ", POINTED)) else part_of(self.env[s.name], s.part, held=False)
            found.append(next(iter(s.kinds)) if value is None else "bool" if s.part == "has" else K.kind_of(value))
        return found

    # -- data ----------------------------------------------------------------------------------------------------------

    def typed(self, value: Any) -> Typed | None:
        """A sequence as an array, once a call."""
        known = self._typed.get(id(value))
        if known is None or known[0] is not value:
            known = self._typed[id(value)] = value, typed(value)
        return known[1]

    def array(self, frame: Frame, where: Any) -> Typed | None:
        """An array of the loop."""
        if where[0] == "walk":
            return frame.array(self, where[1])
        return self.typed(self.evaluate(where[1]))

    def recomputed(self, frame: Frame, datum: Datum, plan: Plan) -> tuple[Typed | None, int]:
        """What Python computes for a datum in this call."""
        assert datum.node is not None
        return self.computed(frame, datum.node, datum.guard, tuple(plan.reading.prelude), datum.kind)

    def computed(
        self, frame: Frame, node: ast.expr, guard: ast.expr | None, prelude: Sequence[ast.stmt], kind: str = ""
    ) -> tuple[Typed | None, int]:
        """The value of an expression in each step, as far as it can be computed, and how many there are. `kind` is
        what it is taken for where no step wants it."""
        values = frame.column(self, node, guard, tuple(prelude))
        if not values:
            return None, 0
        wanted = [v for v in values if v is not _NOT_WANTED]
        if not wanted:
            if not kind:
                truth = isinstance(node, ast.Compare) or (
                    isinstance(node, ast.Call) and ast.unparse(node.func) == "bool"
                )
                kind = "bool" if truth else "int"
            return Typed(np.zeros(len(values), dtype_of(K.type_of({kind}))), kind), len(values)
        fill = wanted[0]
        found = typed([fill if v is _NOT_WANTED else v for v in values])
        if found is None and set(map(type, wanted)) == {int}:
            raise Beyond
        return (found if found is None or found.array.ndim == 1 else None), len(values)


class Beyond(Exception):
    """Integers of the data do not fit 64 bits: the loop is Python's."""


_NOT_WANTED = object()


# -- frames ------------------------------------------------------------------------------------------------------------


class Frame:
    """The steps of a loop, or of a nest of loops: how many, what they begin with, and how Python goes on."""

    dims: tuple[int, ...]
    body: list[ast.stmt]
    fixed: frozenset[str] = frozenset()
    test: tuple[ast.expr, ...] = ()

    @property
    def depth(self) -> int:
        return len(self.dims)

    @property
    def total(self) -> int:
        return int(np.prod(self.dims, dtype=object))

    def bind(self, body: Body) -> Env:
        """The names that a step begins with."""
        raise NotImplementedError

    def number(self, where: tuple[Any, ...]) -> int:
        """A number of the header."""
        raise NotImplementedError

    def array(self, at: Beginning, path: Any) -> Typed | None:
        """A sequence of the header."""
        raise NotImplementedError

    def column(self, at: Beginning, node: ast.expr, guard: ast.expr | None, prelude: tuple[ast.stmt, ...]) -> list[Any]:
        """The value of an expression in each step, by Python."""
        raise NotImplementedError

    def signature(self, at: Beginning) -> Any:
        """All types that a plan depends on."""
        env = at.env
        names = sorted((names_loaded(at.loop.node) | stored_in(at.loop.node.body)) & set(env))
        return tuple((n, _signature(at, env[n], n)) for n in names)

    def resumed(self, at: Beginning, plan: Plan, outcome: Outcome) -> Started:
        """Go on as Python after the steps that were taken."""
        raise NotImplementedError

    @property
    def origins(self) -> tuple[Any, ...]:
        """The objects that are walked over."""
        return ()

    def alone(self, at: Beginning, plan: Plan) -> bool:
        """Does nothing that the loop changes lie where it reads?"""
        if not plan.reading.changed:
            return True
        read: dict[str, Any] = {}
        for name in names_loaded(at.loop.node):
            with suppress(KeyError):
                read[name] = at.env[name] if name in at.env else at.source.value(name)
        return apart({n: at.env[n] for n in plan.reading.changed}, self.origins, read)

    def values(self, at: Beginning, plan: Plan, outcome: Outcome) -> dict[str, Any]:
        """The variables of the function after the steps that were taken; what is changed in place is changed."""
        parts: dict[str, dict[str, Any]] = {}
        for slot, value, kind in zip(plan.slots, outcome.state, outcome.kinds, strict=True):
            if slot.part.startswith(("last ", POINTED)):
                continue
            parts.setdefault(slot.name, {})[slot.part] = K.python_value(kind, value)
        found: dict[str, Any] = {}
        for name, own in parts.items():
            found[name] = _assembled(at.env[name], own, name in plan.reading.changed)
        for name in dict.fromkeys(s.name for s in plan.reading.stored):
            pairs = [(s, o) for s, o in zip(plan.reading.stored, outcome.stored, strict=True) if s.name == name]
            if len(pairs) > 1 and pairs[0][0].form == "append":
                _appended(at.env[name], pairs)
            else:
                for stored, left in pairs:
                    _left_behind(at.env[name], stored, left, self, at, plan)
        for group in outcome.groups:
            group.put()
        return found


def _assembled(old: Any, parts: dict[str, Any], in_place: bool) -> Any:
    """A variable's value from its numbers; `in_place`: the old value is changed, as the loop changes it."""
    if "has" in parts:
        return parts.get("value") if parts["has"] else None
    if "value" in parts:
        return parts["value"]
    if "real" in parts:
        return complex(parts["real"], parts["imag"])
    whole = not in_place
    if (
        whole
        and not isinstance(old, tuple)
        and all(_identical(part_of(old, p, held=False), v) for p, v in parts.items())
    ):
        return old  # no step has given the name another object, as far as values tell
    if isinstance(old, np.ndarray):
        target = old.copy() if whole else old
        for part, value in parts.items():
            target.flat[int(part)] = value
        return target
    flat: list[Any] = list(old)
    for part, value in parts.items():
        if "," in part:
            outer, inner = map(int, part.split(","))
            row = flat[outer]
            if isinstance(row, tuple):
                flat[outer] = (*row[:inner], value, *row[inner + 1 :])
            else:
                if whole and row is old[outer]:
                    row = flat[outer] = list(row)
                row[inner] = value
        else:
            flat[int(part)] = value
    if isinstance(old, tuple):
        return tuple(flat)
    if whole:
        return flat
    old[:] = flat
    return old


def _appended(target: list[Any], pairs: Sequence[tuple[Stored, Left]]) -> None:
    """Append what several places of a step left behind, in the order of the steps."""
    lists = [_plain_list(s.value.kinds, o.values, o.tags) for s, o in pairs]
    masks = [np.ones(len(o.values), bool) if o.mask is None else o.mask for _, o in pairs]
    steps, places = np.nonzero(np.column_stack(masks))
    target.extend(lists[p][t] for t, p in zip(steps.tolist(), places.tolist(), strict=True))


def _left_behind(target: Any, stored: Stored, left: Left, frame: Frame, at: Beginning, plan: Plan) -> None:
    """Put what the steps left behind into its list, set or array."""
    values, mask, tags = left.values, left.mask, left.tags
    if stored.index is not None:
        first, second = (_at_step(stored.index, plan, frame, at, k) for k in (0, 1))
        by, count = second - first, len(values)
        if mask is None and isinstance(target, np.ndarray):
            last = first + by * (count - 1)
            target[min(first, last) : max(first, last) + 1 : abs(by)] = values[:: 1 if by > 0 else -1]
            return
        places = np.arange(first, first + by * count, by)
        if mask is not None:
            places, values = places[mask], values[mask]
            tags = None if tags is None else tags[mask]
        if isinstance(target, np.ndarray):
            target[places] = values
        else:
            for place, value in zip(places.tolist(), _plain_list(stored.value.kinds, values, tags), strict=True):
                target[place] = value
        return
    if mask is not None:
        values, tags = values[mask], None if tags is None else tags[mask]
    found = _plain_list(stored.value.kinds, values, tags)
    if stored.form == "append":
        target.extend(found)
    else:
        target.update(found)


def _at_step(index: Expr, plan: Plan, frame: Frame, at: Beginning, step: int) -> int:
    from rfactor.ir.evaluate import evaluate_scalar
    from rfactor.ir.expr import names

    known = at.constants(plan, frame) | {"t": step} | {f"t{k}": 0 for k in range(frame.depth)}
    if frame.depth > 1:
        known[f"t{frame.depth - 1}"] = step
    return int(evaluate_scalar(index, {n: known[n] for n in names(index)}))


def _plain_list(kinds: K.Kinds, values: Any, tags: Any = None) -> list[Any]:
    """Numbers as the plain run has them; `tags`: the code of each one's kind, where they are of several."""
    if tags is not None:
        return [K.python_value(K.kind_of_code(int(t)), v) for t, v in zip(tags, values, strict=True)]
    (kind,) = kinds
    if kind in K.PYTHON:
        return values.tolist()  # type: ignore[no-any-return]
    if kind == "str":
        return [K.python_value("str", v) for v in values]
    return list(values.astype(np.dtype(kind[3:]), copy=False))


def _node_of(where: Any) -> ast.expr:
    """The expression that gives an array of the loop's surroundings."""
    if where[0] != "value":
        raise Replan("an element of what is walked over")
    node: ast.expr = where[1]
    return node


def _signature(at: Beginning, value: Any, name: str) -> Any:
    if value is None or isinstance(value, bool | int | float | complex | np.generic | str):
        return type(value).__name__
    if isinstance(value, np.ndarray):
        small = value.shape if value.size <= 16 else (None, *value.shape[1:])
        return ("array", str(value.dtype), small)
    if isinstance(value, list | tuple):
        if len(value) <= 16:
            return (type(value).__name__, tuple(_signature(at, v, name) for v in value))
        found = at.typed(value)
        return (type(value).__name__, None if found is None else (found.signature, found.array.shape[1:]))
    if isinstance(value, dict):
        factory = getattr(value, "default_factory", None)
        return type(value).__name__, frozenset(map(type, value.values())), factory
    if isinstance(value, bytes | bytearray | set | range):
        return type(value).__name__
    return id(value)


def for_frame(at: Beginning) -> Frame | None:
    """The steps of a `for` loop and of those that are its whole body."""
    from rfactor.loops.nests import Nest

    return Nest.of(at)


__all__ = ["Call", "Fold", "FoldWarning", "Frame", "Options", "fold"]
