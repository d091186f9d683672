"""Explain a folded function: for each loop its update, operator, proofs, guards, schedule and times."""

from __future__ import annotations

import ast
import copy
import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.ir.expr import Op, walk
from rfactor.loops import purity
from rfactor.loops.kinds import PYTHON
from rfactor.loops.plan import Operator, Plan
from rfactor.loops.rewrite import Loop
from rfactor.loops.taken import Taken
from rfactor.loops.update import is_fixed, is_stateful
from rfactor.loops.wording import Found, Part, Words, assigned, found

if TYPE_CHECKING:
    from rfactor.loops.fold import Fold

_LONGEST = 240


@dataclass(frozen=True)
class LoopExplanation:
    """Hold what is known of one loop."""

    line: int
    lines: tuple[tuple[int, str], ...]
    """The text of the loop with the numbers of its lines."""
    verdict: str
    """`fold`, `scan`, `map`, `group-by`, `search`; `refused`, `part`, `not reached`."""
    found: Found | None = None
    refusal: FoldError | None = None
    rows: tuple[tuple[str, str], ...] = ()
    """All else by title, in the order in which it is shown."""
    times: Mapping[str, float] = field(default_factory=dict)
    """Nanoseconds a step of each way that was timed."""

    def text(self) -> str:
        """Write the explanation."""
        width = len(str(self.lines[-1][0])) if self.lines else 1
        shown = [f"{number:>{width + 2}} | {text}" for number, text in self.lines]
        shown.append(f"  {'verdict':<11} {self.verdict}")
        before = ""
        for title, value in self.rows:
            shown.append(f"  {title if title != before else '':<11} {value}")
            before = title
        if self.refusal is not None:
            shown += [f"  {line}" for line in str(self.refusal).splitlines()]
        return "\n".join(shown)


@dataclass(frozen=True)
class Explanation:
    """Hold what is known of the loops of a function: print it, or look at `loops`."""

    name: str
    file: str
    loops: tuple[LoopExplanation, ...]
    raised: str = ""
    """What the call that was made for it raised."""

    def __str__(self) -> str:
        head = f"{self.name} ({self.file})"
        end = [f"the call raised {self.raised}"] if self.raised else []
        return "\n\n".join([head, *(loop.text() for loop in self.loops), *end])

    __repr__ = __str__

    def print(self) -> None:
        """Print it."""
        print(self)

    def _repr_html_(self) -> str:
        parts = [f"<h4>{html.escape(self.name)} <small>{html.escape(self.file)}</small></h4>"]
        for loop in self.loops:
            code = html.escape("\n".join(f"{number:>4}  {text}" for number, text in loop.lines))
            rows = [("verdict", loop.verdict), *loop.rows]
            cells = "".join(
                f"<tr><th style='text-align:left;vertical-align:top'>{html.escape(title)}</th>"
                f"<td style='text-align:left'><code>{html.escape(value)}</code></td></tr>"
                for title, value in rows
            )
            refusal = f"<pre>{html.escape(str(loop.refusal))}</pre>" if loop.refusal is not None else ""
            parts.append(f"<pre>{code}</pre><table>{cells}</table>{refusal}")
        if self.raised:
            parts.append(f"<p>the call raised {html.escape(self.raised)}</p>")
        return "".join(parts)


def explained(fold: Fold, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Explanation:
    """Explain a fold: of the call with these arguments, of calls so far where there are none."""
    raised = ""
    if args or kwargs:
        raised = _called(fold, args, kwargs)
    loops = tuple(_of_loop(fold, loop) for loop in fold.loops)
    return Explanation(fold.python.__qualname__, fold.source.text.file, loops, raised)


def _called(fold: Fold, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """Call the function with copies of what it changes; give what it raises, refusals aside."""
    changed = _changed_names(fold.source.tree)
    spec = fold.source.tree.args
    names: Iterable[str] = (a.arg for a in (*spec.posonlyargs, *spec.args))
    own = [_copied(v) if name in changed else v for v, name in zip(args, [*names, *[""] * len(args)], strict=False)]
    fold.taken.clear()
    fold.refusals.clear()
    try:
        fold(*own, **{n: _copied(v) if n in changed else v for n, v in kwargs.items()})
    except FoldError:
        return ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else copy.deepcopy(value)


def _changed_names(tree: ast.FunctionDef) -> set[str]:
    """List the names that a function may change in place, aliases of them too."""
    found_: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            found_.add(purity.root(node) or "")
        elif isinstance(node, ast.Call) and not _is_harmless(node.func):
            found_ |= {purity.root(node.func) or "", *(n.id for n in ast.walk(node) if isinstance(n, ast.Name))}
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            found_.add(node.target.id)
    for _ in range(3):
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id in found_ for t in node.targets):
                found_ |= {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    return found_


def _is_harmless(function: ast.expr) -> bool:
    """Tell if a call changes none of its arguments, going by what is called."""
    if isinstance(function, ast.Name):
        return function.id in purity.BUILTINS
    if not isinstance(function, ast.Attribute):
        return False
    of_module = isinstance(function.value, ast.Name) and function.value.id in ("np", "numpy", "math")
    return function.attr in purity.METHODS or (of_module and function.attr not in purity._EFFECTS)


def _of_loop(fold: Fold, loop: Loop) -> LoopExplanation:
    text = fold.source.text
    first, last = loop.node.lineno, loop.node.end_lineno or loop.node.lineno
    lines = tuple((n, text.lines[n - text.first]) for n in range(first, last + 1))
    taken = fold.taken.get(loop.number)
    if taken is not None:
        said = found(loop, taken.plan)
        rows = tuple(_rows(fold, loop, taken, said))
        refusal = fold.refusals.get(loop.number)
        if refusal is not None and taken.plan.operator is None and taken.plan.slots:
            verdict = "refused, and run in order as strict=False allows"
            return LoopExplanation(first, lines, verdict, said, refusal, rows)
        return LoopExplanation(first, lines, said.verdict, said, None, rows, _times(taken.plan, taken))
    around = loop.parent
    while around is not None:
        if around.number in fold.taken:
            return LoopExplanation(first, lines, "part", rows=(("", f"of the loop at line {around.node.lineno}"),))
        around = around.parent
    refusal = fold.refusals.get(loop.number)
    if refusal is not None:
        verdict = "runs as Python, the loops inside of it are folded" if loop.inner else "refused"
        return LoopExplanation(first, lines, verdict, refusal=refusal)
    return LoopExplanation(first, lines, "not reached", rows=(("", "no call has begun this loop with a step to take"),))


# -- rows --------------------------------------------------------------------------------------------------------------


def _rows(fold: Fold, loop: Loop, taken: Taken, said: Found) -> Iterable[tuple[str, str]]:
    plan = taken.plan
    plans = [p for p in (plan, *plan.groups) if p.operator is not None]
    for part, own in zip(said.parts, plans, strict=True):
        yield from _of_part(part, own, fold.options.floats)
    for text in said.stored:
        yield "each step", text
    if said.leaves:
        yield "ends", f"where {said.leaves}: that step, and what follows the loop, is Python's"
    yield from _guards(loop, plan)
    yield from _schedule(plan, taken)
    yield from _warnings(loop, plan)


def _of_part(part: Part, plan: Plan, floats: str) -> Iterable[tuple[str, str]]:
    operator = plan.operator
    assert operator is not None
    yield "update", assigned(part.state, part.update) + (f" by {part.key}" if part.key else "")
    if part.driven:
        yield "driven by", f"{part.driven}: a run of steps is summarized from each of them"
    yield "operator", _cut(", ".join(part.operator))
    if part.lifted:
        yield "", f"over {len(part.operator)} numbers a run of steps (s0, s1, …), found by {_source(part)}"
        yield "one step", _cut(", ".join(part.data))
        yield "applied", _cut(assigned(part.state, part.apply))
    elif part.data != part.state:
        yield "one step", _cut(", ".join(part.data))
    if part.identity is not None:
        yield "identity", f"{', '.join(part.identity)} ({part.identity_kind})"
    order = {True: "yes", False: "no: runs are joined in order", None: "not known: runs are joined in order"}
    yield "commutes", order[part.commutes]
    if part.proofs:
        yield (
            "proofs",
            ", ".join(
                f"{claim} ({method}{f', {ms:.1f} ms' if ms >= 0.05 else ''})" for claim, method, ms in part.proofs
            ),
        )
    if part.meaning == "math":
        yield (
            "integers",
            "proved without bounds; run so only where no part leaves its type, else one step after another",
        )
    for text in part.invariants:
        yield "invariant", f"{text}: it holds at the start, and every step keeps it"
    for text in part.assumes:
        yield "assumes", text
    if plan.floats:
        yield "floats", _floats(operator, floats)
    for text in part.caveats:
        yield "caveat", text


def _source(part: Part) -> str:
    return "a table" if part.source == "table" else "composing steps"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters: .loops[…].found has all)"


def _floats(operator: Operator, floats: str) -> str:
    if not operator.rounds:
        return "only chosen and compared: the bits of the plain loop"
    if floats == "serial":
        return "added in the order of the loop: the bits of the plain loop"
    return "added in slices of 65,536 steps, the same whatever the threads: rounding may differ from the plain loop's"


def _guards(loop: Loop, plan: Plan) -> Iterable[tuple[str, str]]:
    words = Words(loop, plan)
    for own in (plan, *plan.groups):
        left = {f"x{k}": s.name for k, s in zip(range(len(own.slots)), own.slots, strict=True)}
        for condition, why in own.required:
            settled = own.settled.get(condition)
            if is_fixed(condition):
                how = "looked at once, before the loop"
            elif settled is None:
                how = "looked at with the data" if not is_stateful(condition) else "not looked at yet"
            else:
                how = _SETTLED[settled]
            yield "guard", f"against {why}: {_cut(words.text(condition, left))}: {how}"


_SETTLED = {
    -1: "looked at in every step",
    0: "settled by the bounds of the types and the number of steps",
    1: "settled where integers are small, which is looked at with the data",
    2: "settled by the least and the greatest of the data",
}


def _schedule(plan: Plan, taken: Taken) -> Iterable[tuple[str, str]]:
    total = int(np.prod(taken.dims, dtype=object))
    if not taken.steps:
        yield "schedule", f"Python took all {total} steps: so few are faster there, or a guard did not hold"
        return
    rest = total - taken.steps
    steps = f"{taken.steps} of {total} steps" if rest > 1 else f"{total} steps, the last one by Python"
    how = "a state for each key" if plan.operator is None and plan.groups else taken.how
    yield "schedule", f"{how}; {steps}; {taken.seconds * 1e3:.2f} ms in the latest call"
    times = _times(plan, taken)
    for name, ns in times.items():
        gain = f", {times['serial'] / ns:.2f}x the serial compiled loop" if name != "serial" and ns else ""
        yield "measured", f"{name}: {ns:.3f} ns a step{gain}"


def _times(plan: Plan, taken: Taken) -> dict[str, float]:
    """Give the nanoseconds a step of each way that was timed for so many steps."""
    total = int(np.prod(taken.dims, dtype=object))
    known = plan.choice.get(("times", total.bit_length())) or plan.choice.get(("times", taken.steps.bit_length())) or {}
    return {_called_way(way): seconds * 1e9 for way, seconds in known.items()}


def _called_way(way: Any) -> str:
    rare = ", branches for what is rare" if way.rare else ""
    if not way.lanes:
        return f"serial{rare}"
    many = "" if way.lanes == 1 else "s" if way.interleaved else "s in parts side by side"
    return f"{way.lanes} lane{many}{rare}"


def _warnings(loop: Loop, plan: Plan) -> Iterable[tuple[str, str]]:
    """Warn of integers of NumPy that wrap, where the loop begins with one of Python's, and of sums that cancel."""
    for slot, k in zip(plan.slots, plan.live, strict=True):
        after = plan.reading.kinds[k] if k < len(plan.reading.kinds) else frozenset()
        small = sorted(n for n in after if n not in PYTHON and n[3:] in _WRAPPING)
        if slot.part == "value" and small and "int" in slot.kinds:
            yield (
                "warning",
                (
                    f"{slot.name} becomes {' or '.join(small)} in the plain loop, and wraps there: begin with "
                    f"{slot.name} = np.int64({slot.name}) if that is not meant"
                ),
            )
    if plan.operator is not None and plan.operator.rounds and _subtracts_itself(plan):
        yield (
            "caveat",
            "what rounding left over is computed with (as Kahan's sum does): another order cancels otherwise",
        )


_WRAPPING = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64"})


def _subtracts_itself(plan: Plan) -> bool:
    """Tell if a float of the state is subtracted from a sum that has it: zero, but for rounding."""
    for e in plan.update:
        for n in walk(e):
            if not (isinstance(n, Op) and n.op == "-" and n.type.is_float and isinstance(n.args[0], Op)):
                continue
            if n.args[0].op == "+" and n.args[1] in n.args[0].args and is_stateful(n.args[1]):
                return True
    return False


__all__ = ["Explanation", "LoopExplanation", "explained"]
