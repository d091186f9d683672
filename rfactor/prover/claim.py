"""The one place where a yes is made: a claim about an update, and the discharge of all its obligations.

A plain claim says that `f(x; d) = op(x, g(d))` for an associative `op`; a lifted one that `f(x; d) = apply(x, g(d))`
for an operator on a richer state that `apply` respects. Claims come from any tier of the matcher, from the table or
from a file; none is believed. What is proved is said in the answer, what is not proved is not said: a claim may lose
a side of its identity, or gain an invariant, on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rfactor.ir.expr import Const, Expr, Op, Var, apply, substitute
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, Type
from rfactor.ir.update import Update
from rfactor.prover import defined, sampling
from rfactor.prover.cases import prove_by_cases
from rfactor.prover.equality import holds, prove_equal
from rfactor.prover.infinity import Undefined, has_infinity, without_infinities, writable
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.operator import Kind, Operator, Tuple
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict

TRUE = Const(BOOL, True)
Name = Literal[
    "step", "associative", "left_identity", "right_identity", "commutative", "not_commutative", "action", "invariant"
]
Record = tuple[Name, Proven]


@dataclass(frozen=True, slots=True)
class Lift:
    """A richer state: its types, how data enter it, its operator and unit, and how it acts on the old state."""

    types: tuple[Type, ...]
    data: Tuple
    operator: Tuple
    """Over `x0…` and `y0…` of the richer state."""
    identity: Tuple
    apply: Tuple
    """Over `x0…` (the old state) and `y0…` (the richer state)."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is said of an update. Exactly one of (`operator`, `data`) and `lift` is given."""

    update: Update
    operator: Tuple | None = None
    identity: Tuple | None = None
    """Where an intermediate starts; None if the operator is claimed to have no left identity."""
    data: Tuple | None = None
    lift: Lift | None = None
    invariant: Tuple = ()
    """Conditions on `y0…` that hold for what an intermediate can be."""
    assumes: Tuple = ()
    """Conditions on data and constants."""
    known: tuple[Record, ...] = ()
    """Laws of the operator proved before, at its types and meaning: a row of the table."""


@dataclass(frozen=True, slots=True)
class Discharged:
    """Every obligation is proved."""

    claim: Claim
    """The claim as proved: with the identity dropped if it is none, and the invariant that was needed."""
    identity_kind: Kind
    commutative: bool | None
    proofs: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """An obligation that is not proved, and what was found."""

    name: Name
    verdict: Refuted | Unknown


@dataclass(slots=True)
class _Ledger:
    """The obligations met so far."""

    claim: Claim
    limits: Limits
    proofs: dict[Name, Proven] = field(default_factory=dict)

    def equal(self, name: Name, left: Sequence[Expr], right: Sequence[Expr], assumptions: Tuple = ()) -> Verdict:
        """Prove an obligation and enter it."""
        known = dict(self.claim.known).get(name)
        if known is not None and not assumptions:
            self.proofs[name] = known
            return known
        try:
            sides = [tuple(without_infinities(e) for e in side) for side in (left, right)]
        except Undefined as error:
            return Unknown(str(error))
        meaning = self.claim.update.meaning
        # Where the left side divides by no zero, neither does the right; there they are equal.
        given = (*assumptions, *defined.conditions(sides[0]))
        for condition in defined.conditions(sides[1]):
            if condition not in given:
                verdict = holds(condition, meaning=meaning, assumptions=given, limits=self.limits)
                if not isinstance(verdict, Proven):
                    return verdict
                given = (*given, condition)
        verdict = prove_equal(sides[0], sides[1], meaning=meaning, assumptions=given, limits=self.limits)
        if isinstance(verdict, Proven):
            self.proofs[name] = verdict
        return verdict


def discharge(claim: Claim, limits: Limits = DEFAULT) -> Discharged | Failed:
    """Prove every obligation of a claim, or say which one fails.

    Raises `ValueError` if the parts of the claim do not fit together (numbers of components, types).
    """
    _check_shape(claim)
    for expr, type_ in _shown(claim):
        if expr.type != type_ or not writable(expr):
            return Failed("step", Unknown(f"{expr} is no expression of type {type_}"))
    named, back = separated(claim)
    ledger = _Ledger(named, limits)
    result = _plain(ledger) if named.lift is None else _lifted(ledger, named.lift)
    if isinstance(result, Discharged) and back:
        return replace(result, claim=_renamed(result.claim, back))
    return result


def _check_shape(claim: Claim) -> None:
    count, lift = len(claim.update.types), claim.lift
    if lift is not None:
        wide = len(lift.types)
        if not len(lift.data) == len(lift.operator) == len(lift.identity) == wide or len(lift.apply) != count:
            raise ValueError(f"a lifting to {wide} components needs {wide} data, operator and identity parts")
        return
    if claim.operator is None or claim.data is None:
        raise ValueError("a claim needs an operator with its data, or a lifting")
    if not len(claim.operator) == len(claim.data) == count or len(claim.identity or claim.operator) != count:
        raise ValueError(f"the update has {count} components; so must the operator, its data and its identity")


def _shown(claim: Claim) -> Iterator[tuple[Expr, Type]]:
    """The parts of a claim that must be expressions of their types."""
    types = claim.update.types
    if claim.lift is not None:
        yield from zip(claim.lift.data, claim.lift.types, strict=True)
        yield from zip(claim.lift.operator, claim.lift.types, strict=True)
        yield from zip(claim.lift.apply, types, strict=True)
    else:
        yield from zip(claim.data or (), types, strict=True)
        yield from zip(claim.operator or (), types, strict=True)


def separated(claim: Claim) -> tuple[Claim, dict[str, str]]:
    """The claim with data and constants renamed that are called like operands (`y0`, `z`), and the way back."""
    clashing = [
        var
        for var in _data_and_constants(claim)
        if var.name[0] in "yz" and (not var.name[1:] or var.name[1:].isdigit())
    ]
    if not clashing:
        return claim, {}
    update = claim.update
    forth = {var.name: Var(var.type, f"its {var.name}") for var in clashing}
    components = tuple(substitute(e, forth) for e in update.components)
    constants = frozenset(f"its {name}" if name in forth else name for name in update.constants)
    lift = claim.lift
    renamed = replace(
        claim,
        update=replace(update, components=components, constants=constants),
        data=None if claim.data is None else tuple(substitute(e, forth) for e in claim.data),
        lift=None if lift is None else replace(lift, data=tuple(substitute(e, forth) for e in lift.data)),
        assumes=tuple(substitute(e, forth) for e in claim.assumes),
    )
    return renamed, {f"its {name}": name for name in forth}


def _renamed(claim: Claim, back: dict[str, str]) -> Claim:
    """Names restored in the parts that speak of data."""

    def restore(exprs: Tuple) -> Tuple:
        return tuple(
            substitute(e, {v.name: Var(v.type, back[v.name]) for v in sampling.used([e]) if v.name in back})
            for e in exprs
        )

    update = claim.update
    constants = frozenset(back.get(name, name) for name in update.constants)
    return replace(
        claim,
        update=replace(update, components=restore(update.components), constants=constants),
        data=None if claim.data is None else restore(claim.data),
        lift=None if claim.lift is None else replace(claim.lift, data=restore(claim.lift.data)),
        assumes=restore(claim.assumes),
    )


def _data_and_constants(claim: Claim) -> tuple[Var, ...]:
    own = {x.name for x in claim.update.accumulators}
    lift_data = claim.lift.data if claim.lift is not None else ()
    exprs = [*claim.update.components, *(claim.data or ()), *lift_data, *claim.assumes]
    return tuple(var for var in sampling.used(exprs) if var.name not in own)


def apply_update(update: Update, state: Sequence[Expr], tag: str = "") -> Tuple:
    """`f(state; d)`, the data's names marked with `tag` so that several steps can stand side by side."""
    values: dict[str, Expr] = {f"x{i}": e for i, e in zip(range(len(state)), state, strict=True)}
    if tag:
        values |= {var.name: Var(var.type, f"{var.name} {tag}") for var in update.data}
    return tuple(substitute(e, values) for e in update.components)


def _at(exprs: Tuple, operand: Sequence[Expr]) -> Tuple:
    """Conditions on y0… read of another tuple."""
    values = {f"y{i}": e for i, e in zip(range(len(operand)), operand, strict=True)}
    return tuple(substitute(e, values) for e in exprs)


def _needs(verdict: Verdict, name: Name) -> Failed | None:
    return None if isinstance(verdict, Proven) else Failed(name, verdict)


# Plain claims.


def _plain(ledger: _Ledger) -> Discharged | Failed:
    claim, update = ledger.claim, ledger.claim.update
    assert claim.operator is not None
    assert claim.data is not None
    op = Operator(claim.operator, update.types, update.meaning)
    x = op.operands("x")
    step = ledger.equal("step", update.components, op(x, claim.data), claim.assumes)
    if not isinstance(step, Proven):
        return Failed("step", step)
    failure: Failed | None = None
    for invariant in _invariants(claim, op):
        attempt = _Ledger(replace(claim, invariant=invariant), ledger.limits, dict(ledger.proofs))
        found = _laws(attempt, op) or _right_side(attempt, op)
        if found is None:
            return _finish(attempt, op)
        failure = failure or found
        if failure.name == "associative" and isinstance(failure.verdict, Refuted) and claim.identity is None:
            return failure
    assert failure is not None
    if claim.identity is not None and isinstance(failure.verdict, Unknown):
        # Where the laws are not known to fail somewhere, it is enough that they hold for what runs from e reach: one
        # induction step gives them there.
        attempt = _Ledger(claim, ledger.limits, dict(ledger.proofs))
        reached = _by_induction(attempt, op) or _right_side(attempt, op)
        if reached is None:
            return _finish(attempt, op)
    if claim.identity is not None:
        without = _Ledger(replace(claim, identity=None, invariant=()), ledger.limits, dict(ledger.proofs))
        if _laws(without, op) is None:
            return _finish(without, op)
    return failure


def _fixed(claim: Claim, op: Operator) -> Tuple:
    """That right operands are what the data always are: a constant, or alike."""
    assert claim.data is not None
    y = op.operands("y")
    found: list[Expr] = []
    for i, (own, data) in zip(range(len(y)), zip(y, claim.data, strict=True), strict=True):
        twin = next((j for j in range(i) if claim.data[j] == data and y[j].type == own.type), None)
        if isinstance(data, Const):
            found.append(apply("==", own, data))
        elif twin is not None:
            found.append(apply("==", y[twin], own))
    return tuple(found)


def _invariants(claim: Claim, op: Operator) -> Iterator[Tuple]:
    """Invariants to try: the one given, none, what data always are, and that the identity leaves y as it is."""
    if claim.invariant:
        yield claim.invariant
    yield ()
    fixed = _fixed(claim, op)
    for condition in fixed:
        yield (condition,)
    if len(fixed) > 1:
        yield fixed
    if claim.identity is None:
        return
    y = op.operands("y")
    try:
        after = [simplify(without_infinities(result)) for result in op(claim.identity, y)]
    except Undefined:
        return
    if any(has_infinity(result) and not _among_floats(result) for result in after):
        return
    kept = [apply("==", result, operand) for result, operand in zip(after, y, strict=True) if result != operand]
    needed = tuple(
        condition
        for condition in kept
        if prove_by_cases((condition,), (TRUE,), op.meaning, (), Limits(cases=200)) is None
    )
    if needed and needed != claim.invariant:
        yield needed


def _among_floats(expr: Expr) -> bool:
    """Whether infinities in `expr` are only compared with floats, so that it can be written down."""
    if isinstance(expr, Op) and any(map(has_infinity, expr.args)):
        operands = {arg.type for arg in expr.args if not arg.type.is_bool} - (
            {expr.type} if expr.op == "select" else set()
        )
        return all(t.is_float for t in operands) and len(operands) <= 1 and all(map(_among_floats, expr.args))
    return True


def _laws(ledger: _Ledger, op: Operator) -> Failed | None:
    """Associativity and the left identity on everything that satisfies the invariant, which the update keeps."""
    claim, e = ledger.claim, ledger.claim.identity
    x, y, z = map(op.operands, "xyz")
    on_y, on_z = _at(claim.invariant, y), _at(claim.invariant, z)
    if claim.invariant:
        kept = _keeps_invariant(ledger, op, on_y)
        if kept is not None:
            return kept
    failure = _needs(ledger.equal("associative", op(op(x, y), z), op(x, op(y, z)), on_y + on_z), "associative")
    if failure is None and e is not None:
        failure = _needs(ledger.equal("left_identity", op(e, y), y, on_y), "left_identity")
    return failure


def _keeps_invariant(ledger: _Ledger, op: Operator, on_y: Tuple) -> Failed | None:
    """The invariant holds for one datum, and each further one keeps it."""
    claim = ledger.claim
    assert claim.data is not None
    y = op.operands("y")
    first = _at(claim.invariant, claim.data)
    later = _at(claim.invariant, apply_update(claim.update, y))
    proof: Proven | None = None
    for conditions, assumptions in ((first, ()), (later, on_y)):
        for condition in conditions:
            verdict = holds(
                condition,
                meaning=op.meaning,
                assumptions=(*assumptions, *claim.assumes),
                limits=ledger.limits,
            )
            if not isinstance(verdict, Proven):
                return Failed("invariant", verdict)
            proof = verdict if proof is None else Proven(verdict.method, proof.ms + verdict.ms)
    if proof is not None:
        ledger.proofs["invariant"] = proof
    return None


def _by_induction(ledger: _Ledger, op: Operator) -> Failed | None:
    """Associativity where y and z are results of runs from e: op(x, f(y; d)) = f(op(x, y); d), and op(e, g) = g."""
    claim, e = ledger.claim, ledger.claim.identity
    assert e is not None
    assert claim.data is not None
    x, y = map(op.operands, "xy")
    update = claim.update
    on_y = _at(claim.invariant, y)
    if claim.invariant:
        kept = _keeps_invariant(ledger, op, on_y)
        if kept is not None:
            return kept
    failure = _needs(ledger.equal("left_identity", op(e, claim.data), claim.data, claim.assumes), "left_identity")
    if failure is not None:
        return failure
    left, right = op(x, apply_update(update, y)), apply_update(update, op(x, y))
    return _needs(ledger.equal("associative", left, right, (*on_y, *claim.assumes)), "associative")


def _right_side(ledger: _Ledger, op: Operator) -> Failed | None:
    """Enter the right identity if it holds; without it the claim stands as left only."""
    claim, e = ledger.claim, ledger.claim.identity
    if e is None:
        return None
    x = op.operands("x")
    for condition in _at(claim.invariant, e):
        if not isinstance(holds(condition, meaning=op.meaning, limits=ledger.limits), Proven):
            return None
    verdict = ledger.equal("right_identity", op(x, e), x)
    if isinstance(verdict, Proven) and any(map(has_infinity, e)):
        both = prove_unit(op, e)
        if not both:
            del ledger.proofs["right_identity"]
    return None


def prove_unit(op: Operator, e: Tuple) -> bool:
    """Whether op(e, e) = e where e has infinite parts: no NaN arises."""
    try:
        return tuple(simplify(without_infinities(c)) for c in op(e, e)) == e
    except Undefined:
        return False


def _finish(ledger: _Ledger, op: Operator) -> Discharged:
    claim = ledger.claim
    right = "right_identity" in ledger.proofs
    kind: Kind = "none" if claim.identity is None else "two-sided" if right else "left"
    assert claim.data is not None
    x, y = map(op.operands, "xy")
    commutative = _commutes(
        ledger, op(x, y), op(y, x), _at(claim.invariant, x) + _at(claim.invariant, y), op, claim.data
    )
    return Discharged(claim, kind, commutative, tuple(ledger.proofs.items()))


def _commutes(ledger: _Ledger, forth: Tuple, back: Tuple, assumptions: Tuple, op: Operator, data: Tuple) -> bool | None:
    """Whether the operator commutes on what runs reach; False only with a witness, two runs that do not."""
    claim = ledger.claim
    for name, proof in claim.known:
        if name in ("commutative", "not_commutative") and not assumptions:
            ledger.proofs[name] = proof
            return name == "commutative"
    meaning = claim.update.meaning
    if not has_infinity_in(forth) and prove_by_cases(forth, back, meaning, (), Limits(cases=0)) == "normal_form":
        ledger.proofs["commutative"] = Proven("normal_form")
        return True
    if _witness(op, data, claim.assumes, claim.update):
        ledger.proofs["not_commutative"] = Proven("exhaustive")
        return False
    limits = ledger.limits.at_most(rlimit=3_000_000, seconds=1.0)
    verdict = _Ledger(claim, limits, ledger.proofs).equal("commutative", forth, back, assumptions)
    return True if isinstance(verdict, Proven) else None


def has_infinity_in(exprs: Tuple) -> bool:
    """Whether ±inf occurs in any of the expressions."""
    return any(map(has_infinity, exprs))


def _witness(op: Operator, data: Tuple, assumes: Tuple, update: Update) -> bool:
    """Whether two runs of one or two data are found whose results do not commute, all values computed."""

    def run(tag: str, long: bool) -> Tuple:
        marked = [_marked(data, update, f"{tag}{i}") for i in range(2 if long else 1)]
        return op(marked[0], marked[1]) if long else marked[0]

    for long in (False, True):
        first, second = run("a", long), run("b", long)
        try:
            sides = [tuple(without_infinities(e) for e in side) for side in (op(first, second), op(second, first))]
        except Undefined:
            return False
        conditions = [c for tag in ("a0", "a1", "b0", "b1") for c in _marked(assumes, update, tag)]
        if sampling.refute(sides[0], sides[1], update.meaning, conditions, count=64) is not None:
            return True
    return False


def _marked(exprs: Tuple, update: Update, tag: str) -> Tuple:
    """Data renamed, constants kept."""
    return tuple(
        substitute(
            e, {v.name: Var(v.type, f"{v.name} {tag}") for v in sampling.used([e]) if v.name not in update.constants}
        )
        for e in exprs
    )


# Lifted claims.


def _lifted(ledger: _Ledger, lift: Lift) -> Discharged | Failed:
    claim, update = ledger.claim, ledger.claim.update
    op = Operator(lift.operator, lift.types, update.meaning)
    act = Operator(lift.apply, update.types, update.meaning)
    x, s, t = update.accumulators, op.operands("y"), op.operands("z")
    on_s, on_t = _at(claim.invariant, s), _at(claim.invariant, t)
    e = lift.identity

    def apply_to(state: Sequence[Expr], richer: Sequence[Expr]) -> Tuple:
        values = {f"x{i}": v for i, v in zip(range(len(state)), state, strict=True)}
        values |= {f"y{i}": v for i, v in zip(range(len(richer)), richer, strict=True)}
        return tuple(substitute(part, values) for part in act.components)

    obligations: list[tuple[Name, Tuple, Tuple, Tuple]] = [
        ("step", update.components, apply_to(x, lift.data), claim.assumes),
        ("right_identity", apply_to(x, e), x, ()),
        ("left_identity", op(e, s), s, on_s),
        ("action", apply_to(apply_to(x, s), t), apply_to(x, op(s, t)), on_s + on_t),
    ]
    if claim.invariant:
        for conditions, assumptions in (
            (_at(claim.invariant, lift.data), claim.assumes),
            (_at(claim.invariant, e), ()),
            (_at(claim.invariant, op(s, t)), on_s + on_t),
        ):
            for condition in conditions:
                verdict = holds(condition, meaning=op.meaning, assumptions=assumptions, limits=ledger.limits)
                if not isinstance(verdict, Proven):
                    return Failed("invariant", verdict)
                ledger.proofs["invariant"] = verdict
    for name, left, right, assumptions in obligations:
        failure = _needs(ledger.equal(name, left, right, assumptions), name)
        if failure is not None:
            return failure
    if any(map(has_infinity, e)) and not prove_unit(op, e):
        return Failed("left_identity", Unknown("the operator has no value on its infinite identity twice"))
    commutative = _commutes(ledger, op(s, t), op(t, s), on_s + on_t, op, lift.data)
    return Discharged(claim, "two-sided", commutative, tuple(ledger.proofs.items()))
