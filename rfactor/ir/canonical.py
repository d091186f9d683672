"""The canonical form that patterns and updates are compared in (rfactor 2017, section 4.1, point 2).

Variables stand as far left and as far up as they can, `x` before `y` before data before constants; comparisons are
`<` and `==`; chains of one associative operation lean left. Equal up to the meaning of proofs (floats are reals), so it
is for matching and never for code. `canonical(canonical(e)) == canonical(e)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rfactor.ir.expr import Const, Expr, Op, Var, leaves, rewrite
from rfactor.ir.linear import from_linear, linear
from rfactor.ir.simplify import FALSE, TRUE, fold
from rfactor.ir.types import BOOL, Type

Rank = Callable[[str], Any]
_LATTICE = {"min": "max", "max": "min", "and": "or", "or": "and", "&": "|", "|": "&"}
_BOOL_WORDS = {"&": "and", "|": "or", "min": "and", "max": "or", "^": "!="}


def default_rank(name: str) -> tuple[int, int, str]:
    """Accumulators `x0 x1 …`, then right operands `y0 y1 …`, then other names, then constants `k k0 …`."""
    letter, digits = name[0], name[1:]
    if letter in "xyk" and (not digits or digits.isdigit()):
        return ("xy.k".index(letter), int(digits or -1), name)
    return (2, 0, name)


def canonical(expr: Expr, rank: Rank = default_rank) -> Expr:
    """`expr` in canonical form, where `rank(name)` orders the variables."""
    if rank is not default_rank:
        return _in_order(expr, rank, {}, {})
    if len(_shared[0]) > _REMEMBERED:
        _shared[:] = {}, {}  # not cleared: another thread may be at work in them
    return _in_order(expr, rank, *_shared)


_shared: list[dict[Expr, Any]] = [{}, {}]
"""Canonical forms, and keys, in the default order."""
_REMEMBERED = 1 << 15


def _in_order(expr: Expr, rank: Rank, forms: dict[Expr, Expr], keys: dict[Expr, tuple[Any, ...]]) -> Expr:
    def key(node: Expr) -> tuple[Any, ...]:
        found = keys.get(node)
        if found is None:
            found = keys[node] = _key(node, key, rank)
        return found

    def rule(node: Expr) -> Expr:
        return _canonical(node, key) or node

    return rewrite(expr, forms, rule)


def _key(expr: Expr, key: Callable[[Expr], tuple[Any, ...]], rank: Rank) -> tuple[Any, ...]:
    """Sorts by the first variable, then by size and shape; constants last."""
    if isinstance(expr, Const):
        return ((9,), 1, "", (repr(expr.value),))
    if isinstance(expr, Var):
        return (rank(expr.name), 1, "", ())
    children = tuple(map(key, expr.children))
    first = min((child[0] for child in children), default=(8,))
    label = expr.op if isinstance(expr, Op) else f"{type(expr).__name__} {getattr(expr, 'name', '')}"
    return (first, leaves(expr), f"{label} {expr.type}", children)


def _canonical(expr: Expr, key: Callable[[Expr], tuple[Any, ...]]) -> Expr | None:
    if not isinstance(expr, Op):
        return None
    folded = fold(expr)
    if folded is not expr:
        return folded
    op, args, type_ = expr.op, expr.args, expr.type
    if type_.is_bool and op in _BOOL_WORDS:
        return _canonical(Op(type_, _BOOL_WORDS[op], args), key) or Op(type_, _BOOL_WORDS[op], args)
    if op == "~" and type_.is_bool:
        return _negate(args[0])
    if op in ("+", "-", "neg"):
        return _sum(expr, key)
    if op == "*":
        return _product(expr, key)
    if op in _LATTICE:
        return _lattice(op, type_, args, key)
    if op == "^":
        return _xor(type_, args, key)
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return _comparison(op, args, key)
    if op == "not":
        return _negate(args[0])
    if op == "select":
        return _select(type_, args, key)
    if op == "cast" and isinstance(args[0], Op) and args[0].op == "cast":
        from rfactor.ir.simplify import simplify

        return simplify(expr)
    return None


def _sum(expr: Op, key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    terms, constant = linear(expr)
    return from_linear(expr.type, sorted(terms.items(), key=lambda term: key(term[0])), constant)


def _flatten(op: str, args: tuple[Expr, ...]) -> list[Expr]:
    """The operands of a chain of `op`."""
    flat: list[Expr] = []
    for arg in args:
        flat += _flatten(op, arg.args) if isinstance(arg, Op) and arg.op == op else [arg]
    return flat


def _chain(op: str, type: Type, operands: list[Expr]) -> Expr:
    result = operands[0]
    for operand in operands[1:]:
        result = Op(type, op, (result, operand))
    return result


def _product(expr: Op, key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    """Factors in order, the numeric coefficient last; a coefficient over a sum goes to its terms."""
    factors: list[Expr] = []
    coefficient: int | float = 1
    for factor in _flatten("*", expr.args):
        terms, constant = linear(factor)
        if isinstance(factor, Const):
            coefficient *= factor.value
        elif len(terms) == 1 and constant == 0:  # a negated or scaled factor gives its sign and scale up
            ((atom, scale),) = terms.items()
            coefficient *= scale
            factors += _flatten("*", (atom,))
        else:
            factors.append(factor)
    factors.sort(key=key)
    if not factors:
        return from_linear(expr.type, (), coefficient)
    if len(factors) == 1:
        terms, constant = linear(Op(expr.type, "*", (factors[0], Const(expr.type, 1))))
        scaled = [(atom, c * coefficient) for atom, c in terms.items()]
        return _resum(expr.type, scaled, constant * coefficient)
    return _resum(expr.type, [(_chain("*", expr.type, factors), coefficient)], 0)


def _resum(type: Type, terms: list[tuple[Expr, int | float]], constant: int | float) -> Expr:
    from rfactor.ir.linear import reduce

    kept = [(atom, c) for atom, value in terms if (c := reduce(type, value)) != 0]
    return from_linear(type, kept, reduce(type, constant))


def _lattice(op: str, type: Type, args: tuple[Expr, ...], key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    """min, max, and, or, &, |: sorted, without repetition, absorbed, the constants folded into one."""
    present: dict[Expr, None] = {}
    constant: Expr | None = None
    for operand in _flatten(op, args):
        if isinstance(operand, Const):
            constant = operand if constant is None else fold(Op(type, op, (constant, operand)))
        else:
            present[operand] = None
    neutral, absorbing = _ends(op, type)
    if constant is not None and constant == absorbing:
        return constant
    if constant is not None and constant == neutral and present:
        constant = None
    dual = _LATTICE[op]
    operands = [
        operand
        for operand in present
        if not (
            isinstance(operand, Op)
            and operand.op == dual
            and any(part in present for part in _flatten(dual, operand.args))
        )
    ]
    if type.is_bool and any(_negate(operand) in present for operand in operands):
        return absorbing
    operands.sort(key=key)
    if constant is not None:
        operands.append(constant)
    return _chain(op, type, operands)


def _ends(op: str, type: Type) -> tuple[Const, Const]:
    """The neutral and the absorbing constant of a lattice operation."""
    if op in ("min", "max"):
        low, high = Const(type, type.min), Const(type, type.max)
        return (high, low) if op == "min" else (low, high)
    ones = TRUE if type.is_bool else Const(type, type.wrap(-1))
    nought = FALSE if type.is_bool else Const(type, 0)
    return (ones, nought) if op in ("and", "&") else (nought, ones)


def _xor(type: Type, args: tuple[Expr, ...], key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    counted: dict[Expr, int] = {}
    constant: Expr = Const(type, 0)
    for operand in _flatten("^", args):
        if isinstance(operand, Const):
            constant = fold(Op(type, "^", (constant, operand)))
        else:
            counted[operand] = counted.get(operand, 0) ^ 1
    operands = sorted((operand for operand, odd in counted.items() if odd), key=key)
    if constant != Const(type, 0) or not operands:
        operands.append(constant)
    return _chain("^", type, operands)


def _comparison(op: str, args: tuple[Expr, ...], key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    a, b = args
    if op in (">", "<="):
        op, a, b = {">": "<", "<=": ">="}[op], b, a
    if op == ">=":
        return _negate(_comparison("<", (a, b), key))
    if a == b:
        return FALSE if op in ("<", "!=") else TRUE
    if op == "<" and a.type.is_int and (b == Const(a.type, a.type.min) or a == Const(a.type, a.type.max)):
        return FALSE
    if op == "<":
        if a.type.is_bool:
            return _lattice("and", BOOL, (_negate(a), b), key)
        return Op(BOOL, "<", (a, b))
    if a.type.is_bool:
        return _boolean_equality(op == "==", a, b, key)
    a, b = sorted((a, b), key=key)
    equal = Op(BOOL, "==", (a, b))
    return equal if op == "==" else Op(BOOL, "not", (equal,))


def _boolean_equality(equal: bool, a: Expr, b: Expr, key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    """Chains of != on bool are sorted, with at most one negation, outside: `a == b` is `not (a != b)`."""
    operands: dict[Expr, int] = {}
    stack = [a, b]
    while stack:
        node = stack.pop()
        if isinstance(node, Op) and node.op == "not":
            equal = not equal
            stack.append(node.args[0])
        elif isinstance(node, Op) and node.op in ("!=",) and node.args[0].type.is_bool:
            stack += node.args
        elif isinstance(node, Const):
            equal ^= bool(node.value)
        else:
            operands[node] = operands.get(node, 0) ^ 1
    odd = sorted((node for node, count in operands.items() if count), key=key)
    if not odd:
        return TRUE if equal else FALSE
    chain = _chain("!=", BOOL, odd)
    return _negate(chain) if equal else chain


def _negate(a: Expr) -> Expr:
    """The complement, at most one `not`, at the top."""
    if isinstance(a, Const):
        return FALSE if a.value else TRUE
    if isinstance(a, Op) and a.op == "not":
        return a.args[0]
    return Op(BOOL, "not", (a,))


def _select(type: Type, args: tuple[Expr, ...], key: Callable[[Expr], tuple[Any, ...]]) -> Expr:
    condition, true, false = args
    if isinstance(condition, Const):
        return true if condition.value else false
    if true == false:
        return true
    if isinstance(condition, Op) and condition.op == "not":
        condition, true, false = condition.args[0], false, true
        if true == false:
            return true
    if isinstance(condition, Op) and condition.op == "<" and not type.is_bool:
        low, high = condition.args
        if (true, false) == (low, high):
            return _lattice("min", type, (low, high), key)
        if (true, false) == (high, low):
            return _lattice("max", type, (low, high), key)
    if isinstance(condition, Op) and condition.op == "==" and {true, false} == set(condition.args):
        return false
    if type.is_bool:
        if true in (TRUE, condition):
            return _lattice("or", type, (condition, false), key)
        if false in (FALSE, condition):
            return _lattice("and", type, (condition, true), key)
        if true == FALSE:
            return _lattice("and", type, (_negate(condition), false), key)
        if false == TRUE:
            return _lattice("or", type, (_negate(condition), true), key)
    true, false = (_under(branch, condition, truth) for branch, truth in ((true, True), (false, False)))
    return true if true == false else Op(type, "select", (condition, true, false))


def _under(branch: Expr, condition: Expr, truth: bool) -> Expr:
    """A branch that chooses by the same condition again needs only one side of that choice."""
    while isinstance(branch, Op) and branch.op == "select" and branch.args[0] == condition:
        branch = branch.args[1] if truth else branch.args[2]
    return branch
