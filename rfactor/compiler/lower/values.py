"""The values of functions, from their definitions: what is stored is known wherever it is read.

h(x) = x % 5; h.compute_root(); f(x) = a(h(x))   ->   a is read from 0 to 4
"""

from __future__ import annotations

from collections.abc import Iterable

from rfactor.compiler.lower import float_interval
from rfactor.compiler.lower.data_range import Known, Ranges
from rfactor.compiler.lower.float_interval import FloatInterval
from rfactor.ir.algorithm import Function
from rfactor.ir.expr import Call


def data_ranges(functions: Iterable[Function]) -> Ranges:
    """The ranges of expressions that call these functions. Each is looked into when its values are first asked for."""
    named = {function.name: function for function in functions}
    found: dict[tuple[str, int], Known | None] = {}

    def called(call: Call) -> Known | None:
        key = call.name, call.index
        if key not in found:
            found[key] = None  # of a value that is made of the function's own
            found[key] = _values(named[call.name], call.index, ranges)
        return found[key]

    ranges = Ranges(called)
    return ranges


def _values(function: Function, index: int, ranges: Ranges) -> Known | None:
    """The hull of what the stages of a function store; None where it keeps what the caller's array holds."""
    if function.pure.may_keep(index):
        return None
    values = [stage.values[index] for stage in function.stages]
    if function.types[index].is_float:
        whole = ranges.of_float(values[0])
        for value in values[1:]:
            whole = float_interval.hull(whole, ranges.of_float(value))
        return whole if whole != FloatInterval() else None
    ends = [ranges.of(value) for value in values]
    return min(low for low, _ in ends), max(high for _, high in ends)
