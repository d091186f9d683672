"""Which integers depend on how floats are rounded: their bits are not settled by a proof over the reals.

    x0 + a, select(x0 + a > x1, x0 + a, x1), select(x0 + a > x1, i, x2)    sums of another order choose another i
    select(x0 + 1.0 < a + 1.0, a, x0), select(x0 < a, i, x1)               alike for reals, not for rounded numbers
    select(x0*x0 < a*a, a, x0), select(x0*x0 < a*a, i, x1)                 the same for either, in any order
    max(x0, a*b), i32(max(x0, a*b) * 255.0)                                so is this

What rounds is a function of its operands, of which little else is known. Where all that a yes claims of the integers,
and of the floats that they are made of, holds of any such functions, it holds of the operations of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

from rfactor.ir.expr import (
    Call,
    Const,
    Expr,
    Op,
    Var,
    apply,
    conjunction,
    names,
    rewrite,
    select,
    substitute_all,
    transform,
)
from rfactor.ir.graph import restrict
from rfactor.ir.operations import MIRRORED
from rfactor.ir.rounded import rounds
from rfactor.ir.types import Type
from rfactor.matcher.action import nought
from rfactor.matcher.answer import Answer
from rfactor.matcher.obligations import claim_of
from rfactor.matcher.recombine import WEAKER
from rfactor.matcher.starts import after_one_datum
from rfactor.prover.claim import Claim, Discharged, Record
from rfactor.prover.discharge import discharge
from rfactor.prover.limits import Limits
from rfactor.prover.operator import Operator, Tuple, associative
from rfactor.prover.verdict import Proven


def rounded_integer(answer: Answer, limits: Limits) -> tuple[int, Expr] | None:
    """A component of a yes that is no float, with a float that it may depend on and that may be rounded otherwise in
    another order. None where the integers of the yes have the serial bits in every order: of numbers, where no NaN is
    compared and zeros have no sign. Of components that are floats nothing is said.
    """
    claim = claim_of(answer)
    if claim is None or not any(type_.is_float for type_ in (*claim.update.types, *_states(claim))):
        return None
    claim = _mapped(claim, _of_terms)
    for i, type_ in zip(range(len(claim.update.types)), claim.update.types, strict=True):
        if not type_.is_float:
            parts, states = _made_of(claim, i)
            rounded = next(_rounded_in(claim, parts, states), None)
            if rounded is not None and not _holds_of_any(_restricted(claim, parts, states), answer, limits):
                return i, rounded
    return None


def _holds_of_any(claim: Claim, answer: Answer, limits: Limits) -> bool:
    """Whether the claim is proved with any functions in place of what rounds, as far as the answer has it: with an
    identity of its kind, and commutative."""
    claim = replace(_with_functions(claim), known=_laws_of_any(claim, limits))
    found = _discharged(claim, limits)
    if found is None or (answer.commutative and not found.commutative):
        return False
    if claim.identity is None or _as_strong(found, answer):
        return True
    data = after_one_datum(claim.update, claim.identity)  # which may be as infinite as the identity
    found = None if data is None else _discharged(replace(claim, data=data), limits)
    return found is not None and _as_strong(found, answer)


def _laws_of_any(claim: Claim, limits: Limits) -> tuple[Record, ...]:
    """That an operator is associative, if it is with any functions in place of sums of squares, negative ones too.

    That these are not negative is what an identity rests on. Associativity seldom does, and is proved much sooner of
    functions of which nothing is known.
    """
    operator = claim.operator or ()
    if not any(_is_natural(node) for expr in operator for node in _rounded(expr)):
        return ()
    operator = _with_functions(claim, _opaque).operator or ()
    verdict = associative(Operator(operator, claim.update.types, claim.update.meaning), limits)
    return (("associative", verdict),) if isinstance(verdict, Proven) else ()


def _discharged(claim: Claim, limits: Limits) -> Discharged | None:
    try:
        result = discharge(claim, limits)
    except ValueError:  # a part by itself is no claim
        return None
    return result if isinstance(result, Discharged) else None


def _as_strong(found: Discharged, answer: Answer) -> bool:
    return answer.identity_kind is None or WEAKER.index(found.identity_kind) <= WEAKER.index(answer.identity_kind)


# The part of a claim that components are made of.


def _states(claim: Claim) -> tuple[Type, ...]:
    """The types of the richer state of a lifting."""
    return () if claim.lift is None else claim.lift.types


def _made_of(claim: Claim, component: int) -> tuple[list[int], list[int]]:
    """The components of the update that this one is made of, itself included, and those of the operator's state."""
    update, lift = claim.update, claim.lift
    if lift is None:
        parts = _reached({component}, (update.components, "x"), (claim.operator or (), "xy"))
        return parts, parts
    parts = _reached({component}, (update.components, "x"), (lift.apply, "x"))
    return parts, _reached(_read([lift.apply[i] for i in parts], "y"), (lift.operator, "xy"))


def _rounded_in(claim: Claim, parts: Sequence[int], states: Sequence[int]) -> Iterator[Expr]:
    """The outermost floats that are rounded on the way to components, first those that are made of the state."""
    update, lift = claim.update, claim.lift
    operator, data, apply_ = (
        (claim.operator, claim.data, ()) if lift is None else (lift.operator, lift.data, lift.apply)
    )
    own = {x.name for x in update.accumulators}
    in_update = [node for i in parts for node in _rounded(update.components[i])]
    yield from (node for node in in_update if names(node) & own)
    yield from in_update
    joins = [exprs[i] for exprs in (data, operator) if exprs for i in states] + [apply_[i] for i in parts if apply_]
    yield from (node for expr in (*joins, *claim.invariant) for node in _rounded(expr))


def _restricted(claim: Claim, parts: Sequence[int], states: Sequence[int]) -> Claim:
    """What is claimed of these components alone."""
    update, lift = claim.update, claim.lift
    left, right = _numbered("x", update.types, parts), _numbered("y", _states(claim) or update.types, states)
    both = right | _numbered("x", _states(claim) or update.types, states)

    def kept(exprs: Tuple, chosen: Sequence[int], renamed: Mapping[str, Expr]) -> Tuple:
        return substitute_all([exprs[i] for i in chosen], renamed)

    if lift is not None:
        lift = replace(
            lift,
            types=tuple(lift.types[i] for i in states),
            data=kept(lift.data, states, {}),
            operator=kept(lift.operator, states, both),
            identity=kept(lift.identity, states, {}),
            apply=kept(lift.apply, parts, left | right),
        )
    own = frozenset(f"y{i}" for i in range(len(_states(claim) or update.types))) - right.keys()
    return replace(
        claim,
        update=restrict(update, tuple(parts)),
        operator=None if claim.operator is None else kept(claim.operator, parts, both),
        identity=None if claim.identity is None else kept(claim.identity, parts, {}),
        data=None if claim.data is None else kept(claim.data, parts, {}),
        lift=lift,
        invariant=substitute_all([e for e in claim.invariant if own.isdisjoint(names(e))], right),
    )


def _reached(start: Iterable[int], *tuples: tuple[Tuple, str]) -> list[int]:
    """The components that those of `start` are made of, themselves included, in order."""
    reached, new = frozenset[int](), frozenset(start)
    while new:
        reached |= new
        read = (_read([exprs[i] for i in new], sides) for exprs, sides in tuples)
        new = frozenset[int]().union(*read) - reached
    return sorted(reached)


def _read(exprs: Iterable[Expr], sides: str) -> frozenset[int]:
    """The components of the operands on these sides that occur in `exprs`."""
    found = frozenset[str]().union(*map(names, exprs))
    return frozenset(int(name[1:]) for name in found if name[0] in sides and name[1:].isdecimal())


def _numbered(side: str, types: Sequence[Type], chosen: Sequence[int]) -> dict[str, Expr]:
    """Operands of the chosen components by their names, numbered anew."""
    return {f"{side}{i}": Var(types[i], f"{side}{n}") for n, i in zip(range(len(chosen)), chosen, strict=True)}


def _mapped(claim: Claim, new: Callable[[Tuple], Tuple]) -> Claim:
    """The claim with others in place of its expressions."""
    update, lift = claim.update, claim.lift
    if lift is not None:
        lift = replace(
            lift,
            data=new(lift.data),
            operator=new(lift.operator),
            identity=new(lift.identity),
            apply=new(lift.apply),
        )
    return replace(
        claim,
        update=replace(update, components=new(update.components)),
        operator=None if claim.operator is None else new(claim.operator),
        identity=None if claim.identity is None else new(claim.identity),
        data=None if claim.data is None else new(claim.data),
        lift=lift,
        invariant=new(claim.invariant),
        assumes=new(claim.assumes),
    )


# Differences that are compared with 0.


def _of_terms(exprs: Tuple) -> Tuple:
    """Expressions with terms compared in place of their differences: `a - b > 0` where `a > b`, of floats too, as small
    differences are not rounded and that of equal infinities is no number. Such a one tells `>=` from `>`."""
    return tuple(transform(expr, _terms_compared) for expr in exprs)


def _terms_compared(node: Expr) -> Expr | None:
    if not isinstance(node, Op) or node.op not in ("<", ">"):
        return None
    for (whole, other), op in ((node.args, node.op), (node.args[::-1], MIRRORED[node.op])):
        terms = _subtracted(whole)
        if terms is not None and other == nought(other.type):
            return apply(op, *terms)
    return None


def _subtracted(expr: Expr) -> tuple[Expr, Expr] | None:
    """The terms of a difference of floats, also one that is spelled `a + -b`."""
    if not (isinstance(expr, Op) and expr.type.is_float and expr.op in ("+", "-")):
        return None
    one, other = expr.args
    if expr.op == "-":
        return one, other
    if isinstance(other, Op) and other.op == "neg":
        return one, other.args[0]
    return (other, one.args[0]) if isinstance(one, Op) and one.op == "neg" else None


# What rounds, as functions.


def _with_functions(claim: Claim, squares: Callable[[Expr, Expr], Expr] | None = None) -> Claim:
    """The claim with functions of no known name in place of what rounds, as `with_functions` has them."""
    return _mapped(claim, lambda exprs: with_functions(exprs, claim.update.constants, squares))


def with_functions(exprs: Tuple, constants: Set[str], squares: Callable[[Expr, Expr], Expr] | None = None) -> Tuple:
    """Put functions of no known name in place of what rounds; `squares` makes those of sums of squares, from the sum
    and the functions of its operations: by default such that they are not negative."""
    squares = _natural if squares is None else squares

    def function(expr: Expr) -> Expr:
        return _function(expr, constants) if rounds(expr) else expr

    inside: dict[Expr, Expr] = {}
    calls: dict[Expr, Expr] = {}
    for node in (node for expr in exprs for node in _rounded(expr)):
        if node not in calls:
            called = rewrite(node, inside, function)
            calls[node] = squares(node, called) if _is_natural(node) else called
    return tuple(rewrite(expr, calls, lambda node: node) for expr in exprs)


def _function(expr: Expr, constants: Set[str]) -> Expr:
    """What rounds as a function of its operands. Constants come first, 0 adds nothing, 1 and -1 leave the magnitude; a
    literal and its opposite are 0."""
    if isinstance(expr, Call):
        return Call(expr.type, f"rounded {expr.name}", expr.args, "unknown")
    assert isinstance(expr, Op)
    op, args = expr.op, expr.args
    if op == "-":
        op, args = "+", (args[0], _negated(args[1]))
    if op in ("+", "*"):
        args = tuple(sorted(args, key=lambda arg: str(arg) if names(arg) <= constants else "~"))
        if isinstance(args[0], Const) and abs(float(args[0].value)) == (0 if op == "+" else 1):
            return _negated(args[1]) if args[0].value == -1 else args[1]
    function = Call(expr.type, f"rounded {op} {args[0].type} {expr.type}", args, "unknown")
    if op == "+" and isinstance(args[0], Const):
        return select(apply("==", args[1], _negated(args[0])), nought(expr.type), function)
    return function


def _natural(expr: Expr, function: Expr) -> Expr:
    """The function where it is not negative, and 0 where all parts of the expression are."""
    zero = nought(function.type)
    return select(conjunction(*(apply("==", part, zero) for part in _parts(expr))), zero, apply("max", function, zero))


def _opaque(expr: Expr, function: Expr) -> Expr:
    """A function of all parts of the expression, the same for all expressions that are made alike."""
    parts = tuple(_parts(expr))
    places: dict[Expr, Expr] = {part: Var(part.type, f"part {i}") for i, part in enumerate(parts)}
    shape, types = rewrite(expr, places, lambda node: node), ", ".join(str(part.type) for part in parts)
    return Call(function.type, f"rounded {shape} of {types}", parts, "unknown")


def _is_natural(expr: Expr) -> bool:
    """Whether a float is made of squares alone, by sums and roots: so it is not negative, and 0 where its parts are."""
    if isinstance(expr, Call):
        return expr.name == "sqrt" and _is_natural(expr.args[0])
    if not isinstance(expr, Op) or expr.op not in ("+", "*") or not names(expr):
        return False
    return all(map(_is_natural, expr.args)) or (expr.op == "*" and expr.args[0] == expr.args[1])


def _parts(expr: Expr) -> Iterator[Expr]:
    """What a float is made of by operations that round."""
    pending, seen = [expr], {expr}
    while pending:
        node = pending.pop()
        if rounds(node):
            pending += [child for child in dict.fromkeys(node.children) if child not in seen]
            seen |= {*node.children}
        elif names(node):
            yield node


def _negated(expr: Expr) -> Expr:
    if isinstance(expr, Const):
        return Const(expr.type, -float(expr.value))
    return expr.args[0] if isinstance(expr, Op) and expr.op == "neg" else apply("neg", expr)


def _rounded(expr: Expr) -> Iterator[Expr]:
    """The outermost floats in `expr` that are rounded and no constants."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if rounds(node):
            yield node
        else:
            pending += node.children
