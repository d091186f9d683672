"""The state after a summary, with what must be looked at where the state before it is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rfactor.ir.evaluate import dtype_of
from rfactor.ir.expr import Expr
from rfactor.loops import kinds as K
from rfactor.loops.arrays import Data
from rfactor.loops.bounds import Range, enclosure, over_steps
from rfactor.loops.plan import Operator, Plan, holds_value
from rfactor.loops.run import Outcome, Runner, _plain
from rfactor.loops.summaries import Summarized, Summary

if TYPE_CHECKING:
    from rfactor.loops.fold import Beginning


def applied(loop: Summarized, at: Beginning, summary: Summary, constants: dict[str, Any], first: int) -> dict[str, Any]:
    """The variables of the function after summarized steps, the first of them number `first`. Raises `FoldError`."""
    from rfactor.loops.fold import Frame
    from rfactor.loops.state_parts import part_of

    plan, operator, node = loop.plan, loop.operator, at.loop.node
    if operator is None or not summary.steps:
        return {}
    start, kinds = [], []
    for slot in plan.slots:
        value = at.env.get(slot.name)
        held = part_of(value, slot.part)
        kind = (
            next(iter(slot.kinds))
            if slot.part == "has" or (slot.part == "value" and value is None)
            else K.kind_of(part_of(value, slot.part, held=False))
        )
        if kind not in slot.kinds:
            raise at.no(
                f"{slot.name} is {kind} before the loop, {' or '.join(sorted(slot.kinds))} was expected", node, "R10"
            )
        start.append(held)
        kinds.append(kind)
    begun = [*start, *(K.code(kinds[j]) for j in loop.tagged), *([first] if loop.counted else [])]
    for slot, value in zip(plan.slots, start, strict=True):
        if not holds_value(slot.var.type, _plain(value)):
            raise at.no(
                f"{slot.name} begins with {value}, which does not fit {slot.var.type}", node, "R10", "use .stream()"
            )
    data = Data((summary.steps,), summary.steps, constants=constants)
    runner = Runner(loop.whole, data, begun, at.fold.options.floats)
    fixed = dict(zip(plan.reading.data, summary.ranges, strict=True))
    ranges = _all_ranges(loop.whole, begun, constants, fixed, first + summary.steps)
    memo: dict[Expr, Range] = {}
    for e, why in loop.whole.state_requirements:
        if enclosure(e, ranges, memo) != (1, 1):
            raise at.no(
                f"{why}: bounds of the data do not exclude it", node, "R10", "use .stream(), which looks at each step"
            )
    if not _fits(runner, operator, summary.steps, ranges):
        raise at.no("an integer may leave 64 bits: bounds of the data do not exclude it", node, "R10", "use .stream()")
    if not runner._begins_right(operator):
        raise at.no("the loop begins with values for which the operator is not proved", node, "R8", "use .stream()")
    values = [np.array([v], dtype_of(t)) for v, t in zip(summary.values, operator.types, strict=True)]
    states = [np.array([v], dtype_of(s.var.type)) for v, s in zip(begun, loop.whole.slots, strict=True)]
    after = [s[0] for s in runner.applied(states, values)]
    if runner._doubtful(after, values):
        raise at.no("floats are infinite, NaN or a zero whose sign the order decides", node, "R9", "use .stream()")
    found = []
    for j, k in zip(range(len(plan.live)), plan.live, strict=True):
        slot, new = plan.slots[j], plan.reading.kinds[k]
        if j in loop.tagged:
            found.append(K.kind_of_code(int(after[len(plan.slots) + loop.tagged.index(j)])))
        else:
            found.append(next(iter(slot.kinds if len(slot.kinds) == 1 else new)))
    outcome = Outcome(summary.steps, after[: len(plan.slots)], found, [])
    outcome.stored = []
    return Frame().values(at, plan, outcome)


def _fits(runner: Runner, operator: Operator, steps: int, ranges: dict[str, Range]) -> bool:
    """Under `math`: does no integer leave its type, by the bounds of the data?"""
    wraps = operator.answer.update.meaning.value == "wrap"
    return wraps or runner._fits_within(operator, steps, ranges)


def _all_ranges(
    plan: Plan, start: Sequence[Any], constants: dict[str, Any], data: dict[str, Range], steps: int
) -> dict[str, Range]:
    """Bounds of all that the steps read, and of the state in them."""

    found: dict[str, Range] = dict(data)
    for name, value in constants.items():
        v = _plain(value)
        found[name] = (v, v) if v == v else (-float("inf"), float("inf"))
    found["t"] = found["t0"] = (0, max(0, steps - 1))
    begin = [(v, v) if v == v else (-float("inf"), float("inf")) for v in map(_plain, start)]
    bounds = over_steps(plan.update, begin, steps, found)
    for slot, r in zip(plan.slots, bounds, strict=True):
        found[slot.var.name] = r
    return found
