"""Expressions taken apart and put together again, without recursion: they may be as deep as a program makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from rfactor.ir.nodes import Call, Expr, Op, Var, _set


def rebuild(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """`expr` with other operands of the same types; the very same object if nothing changed."""
    for new, old in zip(children, expr.children, strict=True):
        if new is not old:
            return _with_operands(expr, children)
    return expr


def _with_operands(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    if isinstance(expr, Op):
        return Op(expr.type, expr.op, children)
    if isinstance(expr, Call):
        return Call(expr.type, expr.name, children, expr.kind, expr.index)
    return expr.with_children(children)  # type: ignore[attr-defined, no-any-return]


_FEW = 64


def rewrite(expr: Expr, memo: dict[Expr, Expr], rule: Callable[[Expr], Expr]) -> Expr:
    """`expr` rebuilt bottom-up: every node that `memo` does not know becomes `rule` of itself with rewritten operands.

    Without recursion, so that expressions may be as deep as a program makes them.
    """
    found = memo.get(expr)
    if found is not None:
        return found
    # A long memory is one that simplification shares: other threads change it, and it knows more than leaves.
    if len(memo) <= _FEW and not any(known.children for known in tuple(memo)):
        for node in walk(expr):
            if node not in memo:
                children = node.children
                memo[node] = rule(rebuild(node, tuple([memo[child] for child in children])) if children else node)
        return memo[expr]
    stack = [expr]
    while stack:
        node = stack[-1]
        if node in memo:
            stack.pop()
            continue
        waiting = [child for child in node.children if child not in memo]
        if waiting:
            stack.extend(reversed(waiting))
            continue
        stack.pop()
        children = node.children
        memo[node] = rule(rebuild(node, tuple(memo[child] for child in children)) if children else node)
    return memo[expr]


def transform(expr: Expr, rule: Callable[[Expr], Expr | None]) -> Expr:
    """`expr` rewritten bottom-up: `rule` is asked of every node after its operands; None keeps it."""

    def apply_rule(node: Expr) -> Expr:
        changed = rule(node)
        return node if changed is None else changed

    return rewrite(expr, {}, apply_rule)


def replace(expr: Expr, mapping: Mapping[Expr, Expr]) -> Expr:
    """`expr` with every occurrence of the keys of `mapping`, outermost first, replaced by their values."""
    return _changed((expr,), mapping.get)[0] if mapping else expr


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """`expr` with the variables named in `values` replaced (by expressions of the same type)."""
    return substitute_all((expr,), values)[0]


def substitute_all(exprs: Sequence[Expr], values: Mapping[str, Expr]) -> tuple[Expr, ...]:
    """`substitute` in several expressions; what they share is rebuilt once."""
    known = values.get
    return _changed(exprs, lambda node: known(node.name) if isinstance(node, Var) else None)


def _changed(exprs: Sequence[Expr], rule: Callable[[Expr], Expr | None]) -> tuple[Expr, ...]:
    """The expressions with what `rule` gives, if anything, in place of nodes, outermost first."""
    changed: dict[Expr, Expr] = {}
    known = changed.get
    for expr in exprs:
        for node in walk(expr):
            new = rule(node)
            if new is not None:
                changed[node] = new
            elif changed and node not in changed:
                operands, moved = [], False
                for child in node.children:
                    new = known(child)
                    if new is None:
                        operands.append(child)
                    else:
                        operands.append(new)
                        moved = True
                if moved:
                    changed[node] = _with_operands(node, tuple(operands))
    return tuple([known(expr, expr) for expr in exprs])


def walk(expr: Expr) -> tuple[Expr, ...]:
    """Every distinct node of `expr`, operands before the nodes that use them, left to right."""
    try:
        return expr._nodes
    except AttributeError:
        nodes = _LARGE.get(expr)
        if nodes is None:
            nodes = _walked(expr)
            if len(nodes) <= _REMEMBERED:
                _set(expr, "_nodes", nodes)
                return nodes
            if len(_LARGE) >= _MOST_LARGE:
                _LARGE.clear()
            _LARGE[expr] = nodes
        return nodes


_REMEMBERED = 256
"""Most nodes of an expression that are kept in order with it."""
_MOST_LARGE = 64
_LARGE: dict[Expr, tuple[Expr, ...]] = {}
"""The nodes of expressions that have more, before all are let go."""


def _walked(expr: Expr) -> tuple[Expr, ...]:
    seen: dict[Expr, None] = {}
    stack: list[Expr | tuple[Expr]] = [expr]  # in a tuple once its operands have been put above it
    while stack:
        node = stack.pop()
        if type(node) is tuple:
            seen[node[0]] = None
            continue
        assert isinstance(node, Expr)
        if node in seen:
            continue
        known = getattr(node, "_nodes", None)
        if known is not None:
            seen.update(dict.fromkeys(known))
            continue
        children = node.children
        if children:
            stack.append((node,))
            stack += children[::-1]
        else:
            seen[node] = None
    return tuple(seen)


@lru_cache(maxsize=1 << 14)
def variables(expr: Expr) -> tuple[Var, ...]:
    """The distinct variables of `expr` in order of first occurrence."""
    return tuple(node for node in walk(expr) if isinstance(node, Var))


@lru_cache(maxsize=1 << 14)
def names(expr: Expr) -> frozenset[str]:
    """The names of the variables of `expr`."""
    return frozenset(var.name for var in variables(expr))


def leaves(expr: Expr) -> int:
    """The number of leaves of `expr` as a tree: the size that tables order by."""
    counts: dict[Expr, int] = {}
    for node in walk(expr):
        counts[node] = sum(counts[child] for child in node.children) if node.children else 1
    return counts[expr]
