"""The one place where a yes is made: a claim about an update, and the discharge of all its obligations.

A plain claim says that `f(x; d) = op(x, g(d))` for an associative `op`; a lifted one that `f(x; d) = apply(x, g(d))`
for an operator on a richer state that `apply` respects. Claims come from any tier of the matcher, from the table or
from a file; none is believed. What is proved is said in the answer, what is not proved is not said: a claim may lose
a side of its identity, or gain an invariant, on the way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from rfactor.ir.evaluate import evaluate
from rfactor.ir.exactness import simplifies_exactly
from rfactor.ir.expr import Expr, names, substitute_all
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify
from rfactor.ir.types import Type
from rfactor.ir.update import apply_update
from rfactor.prover import defined, sampling
from rfactor.prover.chosen import lost
from rfactor.prover.claim import Claim, Discharged, Failed, Lift, Name
from rfactor.prover.commuting import commutes
from rfactor.prover.equality import prove_equal
from rfactor.prover.infinity import Undefined, calculated_with, has_infinity, without_infinities, writable
from rfactor.prover.invariants import candidates
from rfactor.prover.ledger import Ledger
from rfactor.prover.limits import DEFAULT, Limits
from rfactor.prover.operand_names import restored, separated
from rfactor.prover.operator import Kind, Operator, Tuple
from rfactor.prover.unsigned import compares_below_zero
from rfactor.prover.verdict import Proven, Refuted, Unknown, Verdict


def discharge(claim: Claim, limits: Limits = DEFAULT) -> Discharged | Failed:
    """Prove every obligation of a claim, or say which one fails.

    Raises `ValueError` if the parts of the claim do not fit together (numbers of components, types, names).
    """
    _check_shape(claim)
    _check_names(claim)
    for expr, type_ in _shown(claim):
        if expr.type != type_ or not writable(expr):
            return Failed("step", Unknown(f"{expr} is no expression of type {type_}"))
    if any(map(_never, claim.assumes)):
        return Failed("step", Unknown("what is assumed never holds"))
    named, back = separated(claim)
    failed = lost(named)
    if failed is not None:
        return failed
    ledger = Ledger(named, limits)
    try:
        result = _plain(ledger) if named.lift is None else _lifted(ledger, named.lift)
    except RecursionError:
        return Failed("step", Unknown("the claim is nested too deep"))
    if isinstance(result, Discharged) and compares_below_zero(result.claim, limits):
        return Failed("invariant", Unknown("what is unsigned may fall below zero"))
    if isinstance(result, Discharged) and back:
        return replace(result, claim=restored(result.claim, back))
    return result


def _never(condition: Expr) -> bool:
    """Whether a condition without variables is false."""
    return not names(condition) and not bool(evaluate(condition, {}, Meaning.WRAP))


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


def _check_names(claim: Claim) -> None:
    """Raise `ValueError` for a variable that has no value where it stands, or another type.

    Data change from step to step and are the same from any state: an operator has its operands and the loop's
    constants alone, and what data give reads no accumulator.
    """
    update, lift = claim.update, claim.lift
    own = {x.name: x.type for x in update.accumulators}
    read = {var.name: var.type for var in sampling.used(update.components)}
    held = {name: type_ for name, type_ in read.items() if name in update.constants}
    types = update.types if lift is None else lift.types
    left, right = (_operands(letter, types) for letter in "xy")
    operator, identity, data = claim.operator or (), claim.identity or (), claim.data or ()
    if lift is not None:
        operator, identity, data = lift.operator, lift.identity, lift.data
        _check_known(lift.apply, own | right | held)
    _check_known(operator, left | right | held)
    _check_known(identity, held)
    _check_known(claim.invariant, right | held)
    given = (*data, *claim.assumes)
    outside = {var.name: read.get(var.name, var.type) for var in sampling.used(given) if var.name not in own}
    _check_known(given, outside)


def _check_known(exprs: Tuple, known: Mapping[str, Type]) -> None:
    for var in sampling.used(exprs):
        if known.get(var.name) != var.type:
            there = f"is {known[var.name]}, not {var.type} as" if var.name in known else "has no value"
            raise ValueError(f"{var.name} {there} in {', '.join(map(str, exprs))}")


def _operands(letter: str, types: Sequence[Type]) -> dict[str, Type]:
    return {f"{letter}{i}": type_ for i, type_ in enumerate(types)}


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


def _at(exprs: Tuple, operand: Sequence[Expr]) -> Tuple:
    """Conditions on y0… read of another tuple."""
    values = {f"y{i}": e for i, e in zip(range(len(operand)), operand, strict=True)}
    return substitute_all(exprs, values)


def _needs(verdict: Verdict, name: Name) -> Failed | None:
    return None if isinstance(verdict, Proven) else Failed(name, verdict)


# Plain claims.


_SOON = 100_000
"""Resource units for the proof of a step before the laws are looked at."""


def _plain(ledger: Ledger) -> Discharged | Failed:
    claim, update = ledger.claim, ledger.claim.update
    assert claim.operator is not None
    assert claim.data is not None
    op = Operator(claim.operator, update.types, update.meaning)
    sides = update.components, op(op.operands("x"), claim.data)
    soon = Ledger(claim, ledger.limits.at_most(rlimit=_SOON), ledger.proofs, ledger.obligations)
    step = soon.equal("step", *sides, claim.assumes)
    if isinstance(step, Refuted):
        return Failed("step", step)

    def finished(attempt: Ledger) -> Discharged | Failed:
        """What is proved, if the step is; one that is hard to prove is mostly that of an operator that is none."""
        last = step if isinstance(step, Proven) else attempt.equal("step", *sides, claim.assumes)
        return _finish(attempt, op) if isinstance(last, Proven) else Failed("step", last)

    if not _starts(ledger):
        claim = ledger.claim = replace(claim, identity=None)
    data = claim.data or ()
    failure: Failed | None = None
    for invariant in candidates(claim.invariant, claim.identity, data, op):
        attempt = ledger.trying(replace(claim, invariant=invariant))
        found = _laws(attempt, op) or _right_side(attempt, op)
        if found is None:
            return finished(attempt)
        failure = failure or found
        if failure.name == "associative" and isinstance(failure.verdict, Refuted) and claim.identity is None:
            return failure
    assert failure is not None
    if claim.identity is not None and isinstance(failure.verdict, Unknown):
        # Where the laws are not known to fail somewhere, it is enough that they hold for what runs from e reach: one
        # induction step gives them there.
        attempt = ledger.trying(claim)
        reached = _by_induction(attempt, op) or _right_side(attempt, op)
        if reached is None:
            return finished(attempt)
    if claim.identity is not None:
        without = ledger.trying(replace(claim, identity=None, invariant=()))
        if _laws(without, op) is None:
            return finished(without)
    return failure


def starts(claim: Claim, limits: Limits = DEFAULT) -> bool:
    """Whether the update itself may start from the identity of a plain claim that is proved of an equal update.

    Equal updates may differ there: `x + (a - x)` has no value at an infinity, `a` has.
    """
    return _starts(Ledger(separated(claim)[0], limits))


def _starts(ledger: Ledger) -> bool:
    """Whether a run may start from the identity: from an infinite one, the first datum gives what it is claimed to.

    From a finite one it does by the step and the left identity.
    """
    claim, limits = ledger.claim, ledger.limits
    if claim.identity is None or claim.data is None or not any(map(has_infinity, claim.identity)):
        return True
    try:
        numbers = calculated_with(claim.update.components, claim.update.data)
        first = tuple(without_infinities(e, numbers) for e in apply_update(claim.update, claim.identity))
        data = tuple(without_infinities(e, numbers) for e in claim.data)
    except Undefined:
        return False
    verdict = prove_equal(first, data, meaning=claim.update.meaning, assumptions=claim.assumes, limits=limits)
    if isinstance(verdict, Proven):
        ledger.owe("start", first, data, claim.assumes)
    return isinstance(verdict, Proven)


def _laws(ledger: Ledger, op: Operator) -> Failed | None:
    """Associativity and the left identity on everything that satisfies the invariant, which the update keeps."""
    claim, e = ledger.claim, ledger.claim.identity
    x, y, z = map(op.operands, "xyz")
    on_y, on_z = _at(claim.invariant, y), _at(claim.invariant, z)
    if claim.invariant:
        kept = _keeps_invariant(ledger, op, on_y)
        if kept is not None:
            return kept
    grouped = op(op(x, y), z), op(x, op(y, z))
    if not ledger.settled("associative", *grouped):
        failure = _needs(ledger.equal("associative", *grouped, on_y + on_z), "associative")
        if failure is not None:
            return failure
    if e is not None and (claim.invariant or not ledger.settled("left_identity", *_finite(op(e, y), y))):
        return _needs(ledger.equal("left_identity", op(e, y), y, on_y), "left_identity")
    return None


def _keeps_invariant(ledger: Ledger, op: Operator, on_y: Tuple) -> Failed | None:
    """The invariant holds for one datum, and each further one keeps it."""
    claim = ledger.claim
    assert claim.data is not None
    y = op.operands("y")
    first = _at(claim.invariant, claim.data)
    later = _at(claim.invariant, apply_update(claim.update, y))
    proof: Proven | None = None
    for conditions, assumptions in ((first, ()), (later, on_y)):
        verdict = ledger.hold(conditions, (*assumptions, *claim.assumes))
        if not isinstance(verdict, Proven):
            return Failed("invariant", verdict)
        proof = verdict if proof is None else Proven(verdict.method, proof.ms + verdict.ms)
    if proof is not None:
        ledger.proofs["invariant"] = proof
    return None


def _by_induction(ledger: Ledger, op: Operator) -> Failed | None:
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


def _right_side(ledger: Ledger, op: Operator) -> Failed | None:
    """Enter the right identity if it holds; without it the claim stands as left only."""
    claim, e = ledger.claim, ledger.claim.identity
    if e is None:
        return None
    x = op.operands("x")
    try:
        at_e = [without_infinities(condition) for condition in _at(claim.invariant, e)]
    except Undefined:
        return None
    for condition in at_e:
        if not isinstance(ledger.holds("invariant", condition, ()), Proven):
            return None
    holds_right = ledger.settled("right_identity", *_finite(op(x, e), x)) or isinstance(
        ledger.equal("right_identity", op(x, e), x), Proven
    )
    if not holds_right and any(map(has_infinity, e)):
        numbers = calculated_with(op.components, x)
        holds_right = isinstance(ledger.equal("right_identity", op(x, e), x, numbers=numbers), Proven)
    if holds_right and any(map(has_infinity, e)) and not prove_unit(op, e):
        del ledger.proofs["right_identity"]
    return None


def _finite(left: Tuple, right: Tuple) -> tuple[Tuple, Tuple]:
    """Two sides without infinities where these have a value."""
    try:
        return tuple(map(without_infinities, left)), tuple(map(without_infinities, right))
    except Undefined:
        return left, right


def prove_unit(op: Operator, e: Tuple) -> bool:
    """Whether op(e, e) = e where e has infinite parts: no NaN arises."""
    try:
        result = tuple(map(without_infinities, op(e, e)))
        return result == e or (simplifies_exactly(result, op.meaning) and tuple(map(simplify, result)) == e)
    except Undefined:
        return False


def _finish(ledger: Ledger, op: Operator) -> Discharged:
    claim = ledger.claim
    right = "right_identity" in ledger.proofs
    kind: Kind = "none" if claim.identity is None else "two-sided" if right else "left"
    assert claim.data is not None
    commutative = _commuting(ledger, op, claim.data, _at(claim.invariant, op.operands("x")))
    return Discharged(claim, kind, commutative, tuple(ledger.proofs.items()), tuple(ledger.obligations))


def _commuting(ledger: Ledger, op: Operator, data: Tuple, on_x: Tuple) -> bool | None:
    """Enter whether the operator commutes, as far as that is known."""
    claim = ledger.claim
    x, y = map(op.operands, "xy")
    if not on_x and ledger.settled("commutative", op(x, y), op(y, x)):
        return True
    known = dict(claim.known).get("not_commutative")
    if not on_x and not ledger.signs and known is not None:
        ledger.proofs["not_commutative"] = known
        return False
    on_y = _at(claim.invariant, op.operands("y"))
    found = commutes(op, claim.update, data, on_x + on_y, claim.assumes, ledger.limits)
    if found is False:
        ledger.proofs["not_commutative"] = Proven("normal_form")  # of two sides without variables: their values
        return False
    if found is None:
        x, y = map(op.operands, "xy")
        few = Ledger(claim, ledger.limits.at_most(rlimit=3_000_000), ledger.proofs, ledger.obligations)
        return True if isinstance(few.equal("commutative", op(x, y), op(y, x), on_x + on_y), Proven) else None
    if ledger.signs:
        return True if isinstance(ledger.equal("commutative", op(x, y), op(y, x), on_x + on_y), Proven) else None
    ledger.proofs["commutative"] = found
    ledger.owe("commutative", op(x, y), op(y, x), on_x + on_y)
    return True


# Lifted claims.


def _lifted(ledger: Ledger, lift: Lift) -> Discharged | Failed:
    claim, update = ledger.claim, ledger.claim.update
    op = Operator(lift.operator, lift.types, update.meaning)
    act = Operator(lift.apply, update.types, update.meaning)
    x, s, t = update.accumulators, op.operands("y"), op.operands("z")
    on_s, on_t = _at(claim.invariant, s), _at(claim.invariant, t)
    e = lift.identity

    def apply_to(state: Sequence[Expr], richer: Sequence[Expr]) -> Tuple:
        values = {f"x{i}": v for i, v in zip(range(len(state)), state, strict=True)}
        values |= {f"y{i}": v for i, v in zip(range(len(richer)), richer, strict=True)}
        return substitute_all(act.components, values)

    one_by_one, together = apply_to(apply_to(x, s), t), apply_to(x, op(s, t))
    obligations: list[tuple[Name, Tuple, Tuple, Tuple]] = [
        ("step", update.components, apply_to(x, lift.data), claim.assumes),
        ("right_identity", apply_to(x, e), x, ()),
        ("left_identity", op(e, s), s, on_s),
        ("action", one_by_one, together, on_s + on_t),
    ]
    # What is wrong is mostly the action, and a sample shows it before the rest is proved.
    acting = (*one_by_one, *together)
    if not any(map(has_infinity, acting)) and not defined.conditions(acting):
        refuted = sampling.refute(one_by_one, together, op.meaning, on_s + on_t)
        if refuted is not None:
            return Failed("action", refuted)
    if claim.invariant:
        for conditions, assumptions in (
            (_at(claim.invariant, lift.data), claim.assumes),
            (_at(claim.invariant, e), ()),
            (_at(claim.invariant, op(s, t)), on_s + on_t),
        ):
            verdict = ledger.hold(conditions, assumptions)
            if not isinstance(verdict, Proven):
                return Failed("invariant", verdict)
            ledger.proofs["invariant"] = verdict
    for name, left, right, assumptions in obligations:
        failure = _needs(ledger.equal(name, left, right, assumptions), name)
        if failure is not None:
            return failure
    if any(map(has_infinity, e)) and not prove_unit(op, e):
        return Failed("left_identity", Unknown("the operator has no value on its infinite identity twice"))
    if any(map(has_infinity, lift.data)):
        try:
            for state in (*op(lift.data, s), *op(s, lift.data)):
                without_infinities(state)
        except Undefined as error:
            return Failed("action", Unknown(str(error)))
    commutative = _commuting(ledger, op, lift.data, _at(claim.invariant, op.operands("x")))
    return Discharged(claim, "two-sided", commutative, tuple(ledger.proofs.items()), tuple(ledger.obligations))
