"""Where LLVM's own vectorizers may gain: their passes cost a third of the time that all take.

Of the two, that of loops comes first, and makes gathers and scatters of elements that lie further apart than a vector
is long: of a loop that is unrolled so far (`unroll(x, 16)`), whose iteration the other makes vectors of.
"""

from __future__ import annotations

from rfactor.compiler.codegen.free import innermost, within
from rfactor.compiler.lower.affine import affine
from rfactor.compiler.lower.zeros import is_zero, step
from rfactor.ir.expr import walk
from rfactor.ir.loopnest import For, Let, Load, Stmt, Store

_NEAR = 8
"""Elements that are further apart are loaded one by one, whether in lanes or not."""


def vectorizable(stmt: Stmt) -> bool:
    """Whether some innermost loop of `stmt` walks along memory.

    One that stores where data say cannot run in lanes, and one whose steps are far or unknown does not gain; what
    fills memory with zeros becomes a call anyway. Where it is not clear the answer is yes.
    """
    return any(map(_walks, innermost(stmt)))


def most_stores(stmt: Stmt) -> int:
    """The stores in the innermost loop of `stmt` that has most of them."""
    return max((sum(isinstance(one, Store) for one in within(loop.body)) for loop in innermost(stmt)), default=0)


def side_by_side(name: str, body: Stmt) -> bool:
    """Whether each iteration of the loop `name` stores elements side by side, and the next ones far from there."""
    groups: dict[object, set[int]] = {}
    steps: set[int | None] = set()
    for one in within(body):
        if isinstance(one, Store):
            if one.index.type.lanes > 1:
                return False
            steps.add(step(one.index, name))
            terms, constant = affine(one.index)
            groups.setdefault((one.buffer, frozenset(terms)), set()).add(constant)
        elif isinstance(one, For):
            return False
    far = bool(steps) and not any(each is None or abs(each) <= _NEAR for each in steps)
    return far and all(len(group) > _NEAR and max(group) - min(group) < len(group) for group in groups.values())


def _walks(loop: For) -> bool:
    """The same of an innermost loop."""
    inside = list(within(loop.body))
    if any(isinstance(one, Let) for one in inside):
        return True
    stores = [one for one in inside if isinstance(one, Store)]
    steps = [step(store.index, loop.name) for store in stores]
    if None in steps:
        return False
    if any(_near(step) and not is_zero(store.value) for step, store in zip(steps, stores, strict=True)):
        return True
    loads = (node for store in stores for node in walk(store.value) if isinstance(node, Load))
    return any(_near(step(load.index, loop.name)) for load in loads)


def _near(step: int | None) -> bool:
    return step is not None and 0 < abs(step) <= _NEAR
