"""What cancels over the reals and not on floats: a compensation, of which the operator of real numbers has nothing.

    x0 + (a - x1), (x0 + (a - x1) - x0) - (a - x1)     Kahan's sum: over the reals x1 becomes 0
    (x + a) - a                                        over the reals x: on floats, x without its last digits

Values are computed at samples, exactly and as floats: a name cancels where the exact ones do not depend on it and the
floats do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from rfactor.ir.evaluate import Array, Floats, as_array, evaluate
from rfactor.ir.expr import Expr, Var, variables
from rfactor.ir.meaning import Meaning
from rfactor.ir.update import Update

_POINTS = 12


def cancelled(update: Update) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The float components whose values depend on some names by rounding alone, with these names."""
    for i, component in enumerate(update.components):
        if component.type.is_float:
            read = variables(component)
            counts = _occurrences(component)
            gone = tuple(v.name for v in read if counts[v.name] > 1 and _by_rounding(component, read, v.name))
            if gone:
                yield i, gone


def sentence(component: int, gone: tuple[str, ...]) -> str:
    """What is open where names cancel."""
    return (
        f"over the reals {', '.join(gone)} cancel{'s' * (len(gone) == 1)} in x{component}; what floats leave there is "
        f"rounding, such as a compensation, and the operator has none of it"
    )


def _occurrences(expr: Expr) -> Counter[str]:
    """How often names occur, up to twice: what occurs once does not cancel."""
    counts: Counter[str] = Counter()
    visits: Counter[Expr] = Counter()
    pending = [expr]
    while pending:
        node = pending.pop()
        if visits[node] < 2:
            visits[node] += 1
            if isinstance(node, Var):
                counts[node.name] += 1
            pending += node.children
    return counts


def _by_rounding(component: Expr, read: tuple[Var, ...], name: str) -> bool:
    """Whether the value depends on a name on floats and not exactly."""
    random = np.random.default_rng(0)
    one = {var.name: _drawn(var, random) for var in read}
    for var in read:
        if var.name != name:
            one[var.name][::3] = 0  # beside what is large, rounding is not seen
    other = one | {var.name: _drawn(var, random) for var in read if var.name == name}
    rounded = [_values(component, read, env, "ieee") for env in (one, other)]
    exact = [_values(component, read, env, "real") for env in (one, other)]
    finite = np.isfinite(rounded[0]) & np.isfinite(rounded[1])
    return bool(np.all(exact[0] == exact[1]) and np.any(finite & (rounded[0] != rounded[1])))


def _values(component: Expr, read: tuple[Var, ...], env: Mapping[str, Array], floats: Floats) -> Array:
    given = {var.name: as_array(var.type, env[var.name].tolist(), Meaning.WRAP, floats) for var in read}
    return np.broadcast_to(evaluate(component, given, Meaning.WRAP, floats), (_POINTS,))


def _drawn(var: Var, random: np.random.Generator) -> Array:
    if var.type.is_float:
        return as_array(var.type, random.uniform(0.5, 8.0, _POINTS))
    return as_array(var.type, random.integers(0, 2 if var.type.is_bool else 10, _POINTS))
