"""Are two tuples of expressions the same function? The one question under every claim.

Cheapest first: structure, equal polynomials, a few cases of the comparisons, samples that refute, one bit for bitwise
claims, shifts and single bits, minima and maxima of sums, all cases, all values of a small domain, the solver. What
settles a component settles it: the next is asked of the others alone.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence

import numpy as np

from rfactor.ir.evaluate import evaluate, evaluate_all
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, apply, conjunction, substitute, variables, walk
from rfactor.ir.meaning import Meaning
from rfactor.ir.simplify import simplify_real
from rfactor.ir.types import BOOL
from rfactor.kept import Kept
from rfactor.prover import sampling
from rfactor.prover.bijections import without_bijections
from rfactor.prover.bit_polynomials import equal_as_bits
from rfactor.prover.bounded import Unbounded, with_amounts, without_overflow
from rfactor.prover.cases import Cases, Pair, prove_by_cases
from rfactor.prover.embedding import as_reals, ranges
from rfactor.prover.infinity import is_among_reals
from rfactor.prover.lattice import equal_by_cutting
from rfactor.prover.limits import DEFAULT, SETUP, Limits
from rfactor.prover.ordered_sums import without_equal_sums
from rfactor.prover.products import without_products
from rfactor.prover.shifts import equal_under_shifts
from rfactor.prover.signs import equal_by_signs
from rfactor.prover.verdict import Method, Proven, Refuted, Unknown, Verdict

_BITWISE = frozenset("&|^~")
_EXHAUSTED_FIRST, _EXHAUSTED_LAST = 16, 22
"""Bits of all variables together up to which every value is tried: before the solver, and after it gave up."""


_QUICK, _FEW = 32, 400
"""Branches that cost less than trying samples, and less than polynomials over bits where numbers are compared."""
_ADDING = frozenset(("+", "-", "neg", "min", "max", "select", "cast", "<", "<=", ">", ">=", "==", "!="))
_CHOICES = frozenset(("select", "min", "max"))
_LINEAR = 2_000_000
"""Resource units for a claim read as one about sums of integers, before it is read as one about bits."""
_UNDIVIDED = 100_000
"""Resource units for a claim about machine integers before it is divided by its truth values."""
_OPAQUE = ((False, 500_000), (True, 3_000_000))
"""(spread, resource units) for a claim of whose products only some laws are known; not tried on less than a tenth.

The second is not tried on machine integers, whose products have no order.
"""


_SETTLED: Kept[tuple[object, ...], Proven | Refuted] = Kept(4096)
"""Questions already answered for good: laws of common operators recur all the time."""
Tuple = tuple[Expr, ...]


def prove_equal(
    left: tuple[Expr, ...],
    right: tuple[Expr, ...],
    *,
    meaning: Meaning = Meaning.WRAP,
    assumptions: tuple[Expr, ...] = (),
    limits: Limits = DEFAULT,
) -> Verdict:
    """Whether left = right for all values of the variables for which the `assumptions` (bool) hold.

    Integers at their exact width (`wrap`) or unbounded (`math`); floats are reals, or any ordered values including the
    infinities where they are only compared and chosen. What was proved or refuted once is remembered.
    """
    # Where limits are deterministic, so is what is known: an answer found with others is another answer.
    deterministic = limits.seconds is None and limits.until is None
    question = (left, right, meaning, assumptions, (limits.rlimit, limits.cases) if deterministic else None)
    known = _SETTLED.get(question)
    if known is not None:
        return known
    limits.spend(SETUP)
    verdict = _prove_equal(left, right, meaning, assumptions, limits)
    if isinstance(verdict, Proven | Refuted):
        _SETTLED.keep(question, verdict)
    return verdict


def _prove_equal(
    left: tuple[Expr, ...],
    right: tuple[Expr, ...],
    meaning: Meaning,
    assumptions: tuple[Expr, ...],
    limits: Limits,
) -> Verdict:
    start = time.perf_counter()

    def proven(method: Method) -> Proven:
        return Proven(method, (time.perf_counter() - start) * 1000)

    # What is left of the claim: a component that is settled costs no more.
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    for one, other in pairs:
        if one.type != other.type:
            return Unknown(f"{one} is an infinity, which no {other.type if one.type.is_float else one.type} is")
    left, right = _sides(pairs)
    cases = Cases(left, right, meaning, assumptions, limits)
    pairs = cases.without_alike(pairs)
    if not pairs:
        return proven("normal_form")
    pairs = cases.without_equal(pairs, few=_QUICK)
    if not pairs:
        return proven("order")
    left, right = _sides(pairs)
    refuted = sampling.refute(left, right, meaning, assumptions)
    if refuted is not None:
        return refuted
    real = as_reals((*left, *right, *assumptions)) if meaning is Meaning.MATH else None
    if real is not None:
        known = (*real[2 * len(left) :], *ranges((*left, *right)))
        verdict = _prove_equal(real[: len(left)], real[len(left) : 2 * len(left)], meaning, known, limits)
        if isinstance(verdict, Proven):
            return proven(verdict.method)
    plainer = without_bijections(pairs, assumptions, meaning)
    if plainer is not None:
        verdict = _prove_equal(*_sides(plainer[0]), meaning, plainer[1], limits)
        if not isinstance(verdict, Refuted):
            return proven(verdict.method) if isinstance(verdict, Proven) else verdict
    pairs = [pair for pair in pairs if not (_is_bitwise(pair, meaning) and _equal_on_bits(*pair))]
    if not pairs:
        return proven("bits")
    left, right = _sides(pairs)
    if equal_by_cutting(left, right, assumptions) or equal_by_signs(left, right, meaning, assumptions):
        return proven("order")
    if meaning is Meaning.WRAP and equal_under_shifts(left, right, assumptions):
        return proven("bits")
    # Comparisons have long polynomials over bits: where there are any, the cases are tried first, if they are few.
    if any(map(_compares, (*left, *right))):
        pairs = cases.without_equal(pairs, few=_FEW)
        if not pairs:
            return proven("order")
        left, right = _sides(pairs)
    if (meaning is Meaning.WRAP or _is_bitwise((*left, *right), meaning)) and equal_as_bits(left, right, limits):
        return proven("bits")
    pairs = without_equal_sums(pairs, meaning, assumptions)
    pairs = cases.without_equal(pairs)
    if not pairs:
        return proven("order")
    left, right = _sides(pairs)
    bits = _bits([*left, *right, *assumptions], meaning)
    if bits is not None and bits <= _EXHAUSTED_FIRST:
        tried = _exhaust(left, right, meaning, assumptions)
        if not isinstance(tried, Unknown):
            return tried
    refuted = sampling.refute(left, right, meaning, assumptions, count=1500 if meaning is Meaning.WRAP else 300)
    if refuted is not None:
        return refuted
    if meaning is Meaning.WRAP and _only_chosen((*left, *right, *assumptions)):
        verdict = _by_solver(left, right, Meaning.MATH, assumptions, limits, start)
        if isinstance(verdict, Proven):
            return verdict
    elif meaning is Meaning.WRAP:
        method = _without_overflow(left, right, assumptions, limits)
        if method is not None:
            return proven(method)
        method = _flag_by_flag(left, right, assumptions, limits)
        if method is not None:
            return proven(method)
    verdict = _by_solver(left, right, meaning, assumptions, limits, start)
    if isinstance(verdict, Unknown) and bits is not None and bits <= _EXHAUSTED_LAST and not limits.expired:
        return _exhaust(left, right, meaning, assumptions)
    return verdict


def _sides(pairs: Sequence[Pair]) -> tuple[Tuple, Tuple]:
    return tuple(a for a, _ in pairs), tuple(b for _, b in pairs)


_FEW_CASES = 40
"""Branches that cost less than the solver."""
_FLAGS = 6
"""Most truth values of variables of which every choice may be a claim of its own."""
_DIVIDED = 4
"""Most truth values of which every choice is a question for the solver."""


def _without_overflow(
    left: tuple[Expr, ...], right: tuple[Expr, ...], assumptions: tuple[Expr, ...], limits: Limits
) -> Method | None:
    """A proof over unbounded integers, where nothing can overflow.

    Where there are remainders or clamps, truth values are chosen one by one: under a choice less may overflow.
    """
    flags = [var for var in sampling.used([*left, *right]) if var.type.is_bool]
    limiting = any(isinstance(n, Op) and n.op in ("%", "min", "max") for e in (*left, *right) for n in walk(e))
    choosing = limiting and 0 < len(flags) <= _FLAGS
    unbounded = without_overflow([*left, *right], assumptions)
    if unbounded is not None and unbounded.ranges and (not choosing or unbounded.exact):
        # Soon proved for all choices at once, or for each.
        soon = limits.at_most(rlimit=_UNDIVIDED) if choosing else limits
        method = _over_integers(unbounded, len(left), soon)
        if method is not None:
            return method
    return _by_choices(left, right, assumptions, flags, limits) if choosing else None


def _by_choices(
    left: tuple[Expr, ...], right: tuple[Expr, ...], assumptions: tuple[Expr, ...], flags: list[Var], limits: Limits
) -> Method | None:
    """A proof over unbounded integers, for each choice of the flags where there is none for all."""
    unbounded = without_overflow([*left, *right], assumptions)
    if unbounded is not None:
        half = len(left)
        if not flags:
            return _over_integers(unbounded, half, limits)
        sides = unbounded.exprs[:half], unbounded.exprs[half:]
        known = (*unbounded.assumptions, *unbounded.ranges)
        if not without_equal_sums(list(zip(*sides, strict=True)), Meaning.MATH, known):
            return "order"
    if not flags or limits.expired:
        return None
    # Where truth values only choose amounts, a proof for all amounts takes as long as one for one choice.
    general = with_amounts((*left, *right, *assumptions))
    if general is not None:
        exprs, ranges = general
        count = len(left)
        some = _by_choices(exprs[:count], exprs[count : 2 * count], (*exprs[2 * count :], *ranges), [], limits)
        if some is not None:
            return some
    methods: list[Method] = []
    for value in (True, False):
        chosen = {flags[0].name: Const(BOOL, value)}

        def under(exprs: tuple[Expr, ...], chosen: dict[str, Const] = chosen) -> tuple[Expr, ...]:
            return tuple(simplify_real(substitute(e, chosen)) for e in exprs)

        method = _by_choices(under(left), under(right), under(assumptions), flags[1:], limits)
        if method is None:
            return None
        methods.append(method)
    return max(methods, key=("normal_form", "order", "smt").index)


def _flag_by_flag(left: Tuple, right: Tuple, assumptions: Tuple, limits: Limits) -> Method | None:
    """A proof for each choice of truth values, of machine integers, where the solver does not soon find one for all."""
    flags = [var for var in sampling.used([*left, *right]) if var.type.is_bool]
    if not 0 < len(flags) <= _DIVIDED or not _has_integers([*left, *right]):
        return None
    start = time.perf_counter()
    soon = _by_solver(left, right, Meaning.WRAP, assumptions, limits.at_most(rlimit=_UNDIVIDED), start)
    if not isinstance(soon, Unknown):
        return soon.method if isinstance(soon, Proven) else None
    for values in itertools.product((True, False), repeat=len(flags)):
        chosen = {var.name: Const(BOOL, value) for var, value in zip(flags, values, strict=True)}
        a, b = (tuple(simplify_real(substitute(e, chosen)) for e in side) for side in (left, right))
        given = tuple(substitute(e, chosen) for e in assumptions)
        if not isinstance(_prove_equal(a, b, Meaning.WRAP, given, limits), Proven):
            return None
    return "smt"


def _over_integers(claim: Unbounded, half: int, limits: Limits) -> Method | None:
    sides = claim.exprs[:half], claim.exprs[half:]
    pairs = list(zip(*sides, strict=True))
    if not without_equal_sums(pairs, Meaning.MATH, (*claim.assumptions, *claim.ranges)):
        return "order"
    method = prove_by_cases(*sides, Meaning.MATH, claim.assumptions, limits.at_most(cases=_FEW_CASES))
    if method is None:
        known = (*claim.assumptions, *claim.ranges)
        if not claim.exact and sampling.refute(*sides, Meaning.MATH, known) is not None:
            return None  # too much became a variable
        solved = _by_solver(*sides, Meaning.MATH, known, limits, time.perf_counter())
        method = solved.method if isinstance(solved, Proven) else None
    return method


def _by_solver(
    left: tuple[Expr, ...],
    right: tuple[Expr, ...],
    meaning: Meaning,
    assumptions: tuple[Expr, ...],
    limits: Limits,
    start: float,
) -> Verdict:
    for one, other in zip(left, right, strict=True):
        conditions = (*assumptions, apply("!=", one, other))
        asked = (conditions, meaning, limits.rlimit)
        model = _MODELS.get(asked)
        if model is not None:
            return _at_model(left, right, meaning, model, assumptions)
        if not all(map(is_among_reals, conditions)):  # nothing for the solver, which takes long to load
            if _unequal_products(conditions, meaning, limits):
                continue
            return Unknown("an infinity or NaN has no place among the reals")
        from rfactor.prover.smt import GaveUp, Sat, solve

        linear = meaning is Meaning.WRAP and _only_adds(conditions)
        outcome = solve(conditions, meaning, limits.at_most(rlimit=_LINEAR), linear=True) if linear else None
        if outcome is None and _unequal_products(conditions, meaning, limits):
            continue
        if outcome is None or (isinstance(outcome, GaveUp) and (limits.rlimit > _LINEAR or _has_integers(conditions))):
            outcome = solve(conditions, meaning, limits)
        if isinstance(outcome, GaveUp):
            return Unknown(outcome.reason)
        if isinstance(outcome, Sat):
            _MODELS.keep(asked, outcome.model)
            return _at_model(left, right, meaning, outcome.model, assumptions)
    return Proven("smt", (time.perf_counter() - start) * 1000)


_MODELS: Kept[tuple[Tuple, Meaning, int], Mapping[str, Value]] = Kept(64)
"""Values for which the solver said that conditions hold, which need not be so: of some functions it knows congruence
alone. Questions about several components ask of the first one again and again.
"""


def _at_model(left: Tuple, right: Tuple, meaning: Meaning, model: Mapping[str, Value], assumptions: Tuple) -> Verdict:
    refuted = sampling.at_point(left, right, meaning, model, assumptions)
    return refuted if refuted is not None else Unknown("neither a proof nor a counterexample was found")


def equal_by_products(left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, limits: Limits) -> bool:
    """Whether left = right by linear arithmetic and a few laws of products: no more is tried."""
    pairs = [(a, b) for a, b in zip(left, right, strict=True) if a != b]
    return all(a.type == b.type and _unequal_products((apply("!=", a, b),), meaning, limits) for a, b in pairs)


def _unequal_products(conditions: Tuple, meaning: Meaning, limits: Limits) -> bool:
    """Whether the conditions exclude one another by laws of products alone."""
    bits = meaning is Meaning.WRAP and _has_integers(conditions)
    for spread, rlimit in _OPAQUE:
        if limits.rlimit < rlimit // 10 or (spread and bits):
            return False
        if (conditions, meaning, spread) in _MODELLED:
            continue
        opaque = without_products(conditions, meaning, spread=spread)
        if opaque is None:
            return False
        if not all(map(is_among_reals, opaque)):
            continue
        from rfactor.prover.smt import Sat, Unsat, solve

        outcome = solve(opaque, meaning, limits.at_most(rlimit=rlimit))
        if isinstance(outcome, Unsat):
            return True
        if isinstance(outcome, Sat):
            # More resources find the same.
            _MODELLED.keep((conditions, meaning, spread), None)
    return False


_MODELLED: Kept[tuple[Tuple, Meaning, bool], None] = Kept(64)
"""Conditions that the laws of products allow."""


def _compares(expr: Expr) -> bool:
    """Whether numbers are compared, or asked whether they are 0."""
    return any(isinstance(n, Op) and n.type.is_bool and not all(a.type.is_bool for a in n.args) for n in walk(expr))


def _has_integers(exprs: Sequence[Expr]) -> bool:
    return any(v.type.is_int for expr in exprs for v in variables(expr))


def _only_chosen(exprs: Sequence[Expr]) -> bool:
    """Whether integers beside other numbers are only compared and chosen: what holds of all holds at any width."""
    nodes = [node for expr in exprs for node in walk(expr)]
    if any(map(_may_round, nodes)):
        return False
    whole = [node for node in nodes if node.type.is_int]
    plain = all(isinstance(n, Var | Const) or (isinstance(n, Op) and n.op in _CHOICES) for n in whole)
    return plain and bool(whole) and any(node.type.is_float for node in nodes)


def _may_round(node: Expr) -> bool:
    """Whether integers become floats, two of them perhaps the same one."""
    if not (isinstance(node, Op) and node.op == "cast" and node.type.is_float):
        return False
    old = node.args[0].type
    return old.is_int and old.bits - old.is_signed > node.type.digits


def _only_adds(exprs: Sequence[Expr]) -> bool:
    """Whether integers are only added, multiplied and divided by literals, compared and chosen."""
    for expr in exprs:
        for node in walk(expr):
            if not isinstance(node, Op) or not node.args[-1].type.is_int:
                continue
            if node.op == "*" and any(isinstance(arg, Const) for arg in node.args):
                continue
            if node.op in ("//", "%") and isinstance(node.args[1], Const):
                continue
            if node.op not in _ADDING:
                return False
    return True


def holds(
    claim: Expr,
    *,
    meaning: Meaning = Meaning.WRAP,
    assumptions: tuple[Expr, ...] = (),
    limits: Limits = DEFAULT,
) -> Verdict:
    """Whether the boolean `claim` is true wherever the assumptions are."""
    return prove_equal((claim,), (Const(BOOL, True),), meaning=meaning, assumptions=assumptions, limits=limits)


def implies(premise: Expr, *conclusions: Expr) -> Expr:
    """The implication as an expression."""
    return apply("or", apply("not", premise), conjunction(*conclusions))


def _is_bitwise(exprs: Sequence[Expr], meaning: Meaning) -> bool:
    """Whether every bit of the values depends on the same bit of the variables alone.

    Unbounded unsigned integers have bits beyond the width, which literals and their complements treat otherwise.
    """
    for expr in exprs:
        for node in walk(expr):
            if not node.type.is_int:
                return False
            beyond = meaning is Meaning.MATH and node.type.code == "uint"
            if isinstance(node, Op):
                if node.op not in _BITWISE or (beyond and node.op == "~"):
                    return False
            elif not isinstance(node, Var | Const) or (beyond and isinstance(node, Const) and node.value):
                return False
    return True


def _equal_on_bits(left: Expr, right: Expr) -> bool:
    """Exact for bitwise expressions: all zeros and all ones for every variable, constants with their own bits."""
    vars_ = sampling.used([left, right])
    if len(vars_) > 12:
        return False
    env = {}
    for index, var in zip(range(len(vars_)), vars_, strict=True):
        ones = (np.arange(1 << len(vars_)) >> index) & 1
        env[var.name] = np.where(ones == 1, var.type.wrap(-1), 0).astype(f"{var.type.code[0]}{var.type.bits // 8}")
    one, other = evaluate_all((left, right), env, Meaning.WRAP)
    return not np.any(one != other)


def _bits(exprs: Sequence[Expr], meaning: Meaning) -> int | None:
    """The bits of all variables together; None where a variable has no finite range."""
    vars_ = sampling.used(exprs)
    if any(var.type.is_float or (var.type.is_int and meaning is Meaning.MATH) for var in vars_):
        return None
    return sum(var.type.bits for var in vars_)


def _exhaust(
    left: tuple[Expr, ...], right: tuple[Expr, ...], meaning: Meaning, assumptions: tuple[Expr, ...]
) -> Verdict:
    """By every value of every variable: proven only where both sides are the same exactly, reals as rationals."""
    start = time.perf_counter()
    vars_ = sampling.used([*left, *right, *assumptions])
    total = sum(var.type.bits for var in vars_)
    index = np.arange(1 << total, dtype=np.int64)
    env = {}
    for var in vars_:
        part = index & ((1 << var.type.bits) - 1)
        env[var.name] = part.astype("bool" if var.type.is_bool else f"{var.type.code[0]}{var.type.bits // 8}")
        index = index >> var.type.bits
    refuted = sampling.refute_at(left, right, meaning, assumptions, env, 1 << total)
    if refuted is not None:
        return refuted
    if any(isinstance(node, Call) for e in (*left, *right, *assumptions) for node in walk(e)):
        return Unknown("values of functions are rounded")
    allowed = np.ones(1 << total, dtype=bool)
    for claim in assumptions:
        allowed &= np.asarray(evaluate(claim, env, meaning, "real")).astype(bool)
    for one, other in zip(left, right, strict=True):
        same = np.asarray(evaluate(one, env, meaning, "real") == evaluate(other, env, meaning, "real")).astype(bool)
        if not (same | ~allowed).all():
            return Unknown("values differ, but not by more than rounding may")
    return Proven("exhaustive", (time.perf_counter() - start) * 1000)
