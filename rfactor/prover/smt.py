"""The wall around the solver: expressions to Z3 terms, and answers that no caller can mistake for one another.

Integers are bit-vectors of their exact width under `wrap` and unbounded under `math`; floats are reals. What has no
faithful term (bitwise operations on unbounded integers, transcendental functions, conversions to and from floats) is
an uninterpreted function of its operands: what holds for every function holds for the real one, so `Unsat` is a proof,
and a model is a hint that callers confirm by evaluation. Only this file and
`smt_operations` import z3.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import z3

from rfactor.errors import Error
from rfactor.forks import GATE
from rfactor.ir.evaluate import nearest
from rfactor.ir.expr import Call, Const, Expr, Op, Value, Var, walk
from rfactor.ir.fused import as_sum, is_fused
from rfactor.ir.meaning import Meaning
from rfactor.ir.types import Type
from rfactor.prover.infinity import is_among_reals
from rfactor.prover.limits import MEMORY, PATIENCE, SETUP, Limits
from rfactor.prover.smt_operations import BOOL, EXACT, WRAP, bits_counted, if_
from rfactor.prover.sums import Sum, plus
from rfactor.prover.waiting import interruptibly


@dataclass(frozen=True, slots=True)
class Sat:
    """The conditions have this model of their variables; confirm it by evaluation."""

    model: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Unsat:
    """No values satisfy the conditions."""


@dataclass(frozen=True, slots=True)
class GaveUp:
    """A limit was reached, or the conditions are outside what can be said to the solver."""

    reason: str


Outcome = Sat | Unsat | GaveUp

_PLAIN, _PLAIN_INTEGERS = 30_000, 500_000
"""Resource units for the plain solver where another is asked after it: of anything, of unbounded integers."""


def limit_memory(megabytes: int) -> None:
    """Bound what Z3 takes in this process and its children: a query that would take more gives up.

    It looks now and then, so that it may have taken half as much again.
    """
    z3.set_param("memory_high_watermark_mb", megabytes)


limit_memory(MEMORY)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Around what calls Z3: Ctrl-C raises `KeyboardInterrupt`, wherever it comes.

    Z3's interface runs Python for each argument that it hands over, and of what a signal raises there ctypes keeps no
    more than the text.
    """
    try:
        yield
    except ctypes.ArgumentError as error:
        if KeyboardInterrupt.__name__ not in str(error):
            raise
        raise KeyboardInterrupt from None


class _NoTerm(Exception):
    """An expression that has no term: a call of a Func."""


def solve(conditions: Sequence[Expr], meaning: Meaning, limits: Limits, linear: bool = False) -> Outcome:
    """Whether the boolean `conditions` hold together for some values of their variables.

    With `linear`, integers that wrap are sums of integers less a multiple of 2^width, not bits: for what only adds,
    compares and chooses.
    """
    if limits.expired:
        return GaveUp("the time limit was reached")
    if not all(map(is_among_reals, conditions)):
        return GaveUp("an infinity or NaN has no place among the reals")
    # The context is gone when its function returns, hence inside the gate.
    with GATE, _interruptible():
        return _solve(conditions, meaning, limits, linear)


def _solve(conditions: Sequence[Expr], meaning: Meaning, limits: Limits, linear: bool) -> Outcome:
    # A context of its own makes the answer a function of the query alone, and costs 1 ms.
    context = z3.Context()
    terms = LinearTerms(context, meaning) if linear and meaning is Meaning.WRAP else Terms(context, meaning)
    try:
        terms.spelt_out = not _divides_remainders(conditions)
        claims = [*map(terms.term, conditions)]
        reals = any(map(z3.is_real, terms.variables.values()))
        with GATE.interrupted_by(context.interrupt):
            for solver, rlimit in _solvers(context, meaning, linear, reals, limits.rlimit):
                answer = _checked(solver, [*claims, *terms.ranges], limits, rlimit)
                if answer != z3.unknown:
                    break
        limits.spend(SETUP + _units(solver))
    except _NoTerm as error:
        return GaveUp(str(error))
    except z3.Z3Exception as error:
        said = error.value.decode() if isinstance(error.value, bytes) else str(error)
        return GaveUp(f"the solver failed: {said}")
    if answer == z3.unsat:
        return Unsat()
    if answer == z3.sat:
        model = solver.model()
        return Sat({name: _value(model.eval(term, model_completion=True)) for name, term in terms.variables.items()})
    return GaveUp(f"the solver gave up: {solver.reason_unknown()}")


def _solvers(context: Any, meaning: Meaning, linear: bool, reals: bool, rlimit: int) -> Iterator[tuple[Any, int]]:
    """Solvers in the order in which they are asked, each with its resource units.

    The plain one costs less to set up than most answers take, and is as quick on integers; of sums of machine integers
    it looks at all parts at once. The other one chooses a strategy for the query, which products and bits need.
    """
    machine = meaning is Meaning.WRAP
    if not reals or linear:
        plain = z3.SimpleSolver(ctx=context)
        if linear and machine and not reals:
            plain.set("smt.relevancy", 0)
            yield plain, rlimit
            return
        first = _PLAIN if machine or reals else _PLAIN_INTEGERS
        yield plain, min(first, rlimit)
        if rlimit <= first:
            return
    yield z3.Solver(ctx=context), rlimit


def _checked(solver: Any, conditions: Sequence[Any], limits: Limits, rlimit: int) -> Any:
    """What the solver says of the terms within the limits."""
    solver.set("rlimit", rlimit)
    # Z3 would take Ctrl-C for a limit that was reached, and nobody else would see it: Python tells of it.
    solver.set("ctrl_c", False)
    seconds = limits.remaining()
    solver.set("timeout", max(1, int(1000 * (PATIENCE if seconds is None else seconds))))
    for condition in conditions:
        z3.Z3_solver_assert(solver.ctx.ref(), solver.solver, condition.ast)
    return interruptibly(solver.check, solver.ctx.interrupt)


def _units(solver: Any) -> int:
    """The resource units that the solver and those before it in its context took."""
    found = solver.statistics()
    return int(found.get_key_value("rlimit count")) if "rlimit count" in found.keys() else 0  # noqa: SIM118


def script(conditions: Sequence[Expr], meaning: Meaning) -> str:
    """A script in SMT-LIB that asks whether the conditions hold together, of the terms that `solve` asks of.

    Raises `rfactor.Error` for an expression that has no term.
    """
    if not all(map(is_among_reals, conditions)):
        raise Error("an infinity or NaN has no place among the reals")
    with GATE, _interruptible():
        context = z3.Context()
        terms = Terms(context, meaning)
        terms.spelt_out = not _divides_remainders(conditions)
        solver = z3.Solver(ctx=context)
        try:
            claims = [*map(terms.term, conditions)]  # which fill the ranges
            for condition in [*claims, *terms.ranges]:
                z3.Z3_solver_assert(context.ref(), solver.solver, condition.ast)
        except _NoTerm as error:
            raise Error(str(error)) from None
        lines = solver.to_smt2().splitlines(keepends=True)
    body = "".join(line for line in lines if not line.startswith(("; ", "(set-")))
    return f"(set-info :status unsat)\n(set-logic {_logic(terms)})\n{body}(exit)\n"


def _logic(terms: Terms) -> str:
    """The least logic of SMT-LIB that has all the terms."""
    made = [term for term in terms.memo.values() if not z3.is_bool(term)]
    vectors, reals = any(map(z3.is_bv, made)), any(map(z3.is_real, made))
    integers = any(map(z3.is_int, made))
    functions = "UF" if terms.functions else ""
    if vectors and (reals or integers):
        return "ALL"
    if vectors:
        return f"QF_{functions}BV"
    if reals and integers:
        return "AUFNIRA"
    return f"QF_{functions}NRA" if reals else f"QF_{functions}NIA" if integers else "QF_UF"


def _literal_divisor(node: Expr) -> int | None:
    """The literal but 0, 1 and -1 of which an integer has the quotient or remainder."""
    if not isinstance(node, Op) or node.op not in ("//", "%") or not node.type.is_int:
        return None
    divisor = node.args[1]
    return int(divisor.value) if isinstance(divisor, Const) and abs(divisor.value) > 1 else None


def _divides_remainders(conditions: Sequence[Expr]) -> bool:
    """Whether sums and products of remainders are divided: the solver's own rules take the inner ones away."""
    divisions = {node for condition in conditions for node in walk(condition) if _literal_divisor(node) is not None}
    return any(_has_remainder(node.children[0]) for node in divisions)


def _has_remainder(expr: Expr) -> bool:
    """Whether it is a remainder, or made of one by adding and multiplying."""
    if not isinstance(expr, Op):
        return False
    return expr.op == "%" or (expr.op in ("+", "-", "*", "neg") and any(map(_has_remainder, expr.args)))


def _value(term: Any) -> Value:
    if z3.is_true(term) or z3.is_false(term):
        return bool(z3.is_true(term))
    if z3.is_bv_value(term) or z3.is_int_value(term):
        return int(term.as_long())
    if z3.is_rational_value(term):
        return nearest(Fraction(term.numerator_as_long(), term.denominator_as_long()))
    if z3.is_algebraic_value(term):
        approximation = term.approx(20)
        return nearest(Fraction(approximation.numerator_as_long(), approximation.denominator_as_long()))
    return 0


class Terms:
    """Translates expressions of one query, sharing what is common."""

    def __init__(self, context: Any, meaning: Meaning) -> None:
        self.context, self.meaning = context, meaning
        self.memo: dict[Expr, Any] = {}
        self.variables: dict[str, Any] = {}
        self.ranges: list[Any] = []
        self.functions: dict[tuple[object, ...], Any] = {}
        self.spelt_out = True
        """Whether quotients by literals are variables, where integers are unbounded."""

    def term(self, expr: Expr) -> Any:
        found = self.memo.get(expr)
        if found is None:
            found = self.memo[expr] = self.make(expr)
        return found

    def sort(self, type_: Type) -> Any:
        if type_.is_bool:
            return z3.BoolSort(self.context)
        if type_.is_float:
            return z3.RealSort(self.context)
        return z3.IntSort(self.context) if self.meaning is Meaning.MATH else z3.BitVecSort(type_.bits, self.context)

    def constant(self, type_: Type, value: Value) -> Any:
        if type_.is_bool:
            return z3.BoolVal(bool(value), self.context)
        if type_.is_float:
            fraction = Fraction(float(value))
            return z3.Q(fraction.numerator, fraction.denominator, self.context)
        if self.meaning is Meaning.MATH:
            return z3.IntVal(int(value), self.context)
        return z3.BitVecVal(int(value), type_.bits, self.context)

    def make(self, expr: Expr) -> Any:
        if isinstance(expr, Const):
            return self.constant(expr.type, expr.value)
        if isinstance(expr, Var):
            variable = z3.Const(expr.name, self.sort(expr.type))
            self.variables[expr.name] = variable
            if expr.type.code == "uint" and self.meaning is Meaning.MATH:
                self.ranges.append(variable >= 0)
            return variable
        if isinstance(expr, Call) and expr.name == "popcount" and self.meaning is Meaning.WRAP:
            return bits_counted(self.term(expr.args[0]), expr.type.bits)
        if is_fused(expr):
            return self.term(as_sum(expr))
        if isinstance(expr, Call) and expr.kind == "intrinsic":
            kind = expr.type if expr.type.is_int else None  # -1 has more bits in a wider type, and one sqrt in all
            return self.uninterpreted(expr.type, ("call", expr.name, kind), expr.args)
        if isinstance(expr, Call) and expr.kind == "unknown":
            signature = (expr.type, *(arg.type for arg in expr.args))
            return self.uninterpreted(expr.type, ("unknown", expr.name, signature), expr.args)
        if not isinstance(expr, Op):
            raise _NoTerm(f"{expr} is not an expression of its arguments alone")
        args = [self.term(arg) for arg in expr.args]
        if expr.op == "select":
            return if_(*args)
        if expr.op == "cast":
            return self.cast(expr, args[0])
        operand = expr.args[0].type
        if operand.is_bool:
            return BOOL[expr.op](*args)
        if operand.is_float or self.meaning is Meaning.MATH:
            divisor = _literal_divisor(expr) if self.spelt_out else None
            if divisor is not None:
                return self.divided_by(divisor, args[0])[expr.op == "%"]
            rule = EXACT.get(expr.op)
            if expr.op == "~":
                top = operand.max if operand.code == "uint" else -1
                return self.constant(operand, top) - args[0]
            return self.uninterpreted(expr.type, (expr.op, operand), expr.args) if rule is None else rule(*args)
        return WRAP[expr.op](operand.code == "int", *args)

    def divided_by(self, divisor: int, value: Any) -> tuple[Any, Any]:
        """Quotient and remainder by a literal but 0, 1 and -1: value = divisor * quotient + remainder, 0 <= remainder <
        |divisor|. The solver takes longer with divisions of its own.
        """
        quotient = z3.Const(f"quotient {value.get_id()} {divisor}", z3.IntSort(self.context))
        rest = value - divisor * quotient
        self.ranges += [rest >= 0, rest < abs(divisor)]
        return quotient, rest

    def uninterpreted(self, result: Type, description: tuple[object, ...], args: tuple[Expr, ...]) -> Any:
        """A function about which only congruence is known."""
        function = self.functions.get(description)
        if function is None:
            sorts = [self.sort(arg.type) for arg in args] + [self.sort(result)]
            function = self.functions[description] = z3.Function(f"f{len(self.functions)}", *sorts)
        return function(*map(self.term, args))

    def cast(self, expr: Op, value: Any) -> Any:
        old, new = expr.args[0].type, expr.type
        if new.is_bool:
            return value != self.constant(old, 0)
        if old.is_bool:
            return z3.If(value, self.constant(new, 1), self.constant(new, 0), self.context)
        if old.is_float and new.is_float:
            return value
        if old.is_int and new.is_int:
            if self.meaning is Meaning.MATH:
                return value
            if new.bits <= old.bits:
                return z3.Extract(new.bits - 1, 0, value) if new.bits < old.bits else value
            extend = z3.SignExt if old.code == "int" else z3.ZeroExt
            return extend(new.bits - old.bits, value)
        if old.is_int and self.meaning is Meaning.MATH:
            return z3.ToReal(value)
        return self.uninterpreted(new, ("cast", old, new), expr.args)


class LinearTerms(Terms):
    """Machine integers as integers: what is compared or chosen is reduced to its type's range by a multiple of 2^width.

    The multiple is a new variable, bounded by what the sum can be; each value has exactly one. Products of variables,
    divisions by them and operations on bits are functions about which nothing is known.
    """

    def __init__(self, context: Any, meaning: Meaning) -> None:
        super().__init__(context, meaning)
        self.atoms: list[tuple[Any, int, int]] = []
        """Terms with their least and greatest value."""
        self.numbers: dict[object, int] = {}
        self.sums: dict[Expr, Sum] = {}
        self.reduced: dict[tuple[object, ...], Any] = {}

    def sort(self, type_: Type) -> Any:
        return z3.IntSort(self.context) if type_.is_int else super().sort(type_)

    def constant(self, type_: Type, value: Value) -> Any:
        return z3.IntVal(int(value), self.context) if type_.is_int else super().constant(type_, value)

    def make(self, expr: Expr) -> Any:
        if expr.type.is_int:
            return self.value(self.sum(expr), expr.type)
        if isinstance(expr, Op) and expr.args[0].type.is_int and expr.op != "cast":
            return EXACT[expr.op](*map(self.term, expr.args))
        return super().make(expr)

    def atom(self, key: object, term: Any, low: int, high: int) -> Sum:
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.atoms)
            self.atoms.append((term, low, high))
            self.ranges += [term >= low, term <= high]
        return Sum({number: 1}, 0)

    def sum(self, expr: Expr) -> Sum:
        found = self.sums.get(expr)
        if found is None:
            found = self.sums[expr] = self._sum(expr)
        return found

    def _sum(self, expr: Expr) -> Sum:
        type_ = expr.type
        low, high = int(type_.min), int(type_.max)
        if isinstance(expr, Const):
            return Sum({}, int(expr.value))
        if isinstance(expr, Var):
            self.variables[expr.name] = z3.Const(expr.name, self.sort(type_))
            return self.atom(expr, self.variables[expr.name], low, high)
        if not isinstance(expr, Op):
            raise _NoTerm(f"{expr} is not an expression of its arguments alone")
        args = expr.args
        if expr.op in ("+", "-", "neg"):
            first = self.sum(args[0]) if len(args) == 2 else Sum({}, 0)
            return plus(first, self.sum(args[-1]), 1 if expr.op == "+" else -1, type_)
        if expr.op == "*" and any(isinstance(arg, Const) for arg in args):
            factor, other = args if isinstance(args[0], Const) else args[::-1]
            assert isinstance(factor, Const)
            return plus(Sum({}, 0), self.sum(other), int(factor.value), type_)
        if expr.op == "cast":
            old = args[0].type
            if old.is_int and type_.bits <= old.bits:
                return plus(Sum({}, 0), self.sum(args[0]), 1, type_)
            if old.is_int:
                value = self.term(args[0])
                return self.atom((value.get_id(), old), value, int(old.min), int(old.max))
            if old.is_bool:
                one = z3.If(self.term(args[0]), self.constant(type_, 1), self.constant(type_, 0), self.context)
                return self.atom(("bool", expr), one, 0, 1)
        if expr.op in ("//", "%") and isinstance(args[1], Const):
            return self.divided(expr, args[0], int(args[1].value))
        if expr.op in ("min", "max", "select"):
            parts = tuple(map(self.term, args))
            chosen = if_(*parts) if expr.op == "select" else EXACT[expr.op](*parts)
            return self.atom(expr, chosen, low, high)
        description = (expr.op, type_, *(arg.type for arg in args))
        return self.atom(expr, self.uninterpreted(type_, description, args), low, high)

    def divided(self, expr: Op, operand: Expr, divisor: int) -> Sum:
        """Quotient or remainder by a literal."""
        if divisor == 0:
            return Sum({}, 0)
        if abs(divisor) == 1:
            return plus(Sum({}, 0), self.sum(operand), divisor, expr.type) if expr.op == "//" else Sum({}, 0)
        low, high = int(expr.type.min), int(expr.type.max)
        value = self.term(operand)
        quotient, remainder = self.divided_by(divisor, value)
        part = self.atom(("//", value.get_id(), divisor), quotient, low, high)
        rest = self.atom(("%", value.get_id(), divisor), remainder, 0, abs(divisor) - 1)
        return part if expr.op == "//" else rest

    def value(self, total: Sum, type_: Type) -> Any:
        """A sum as a value of its type."""
        key = (frozenset(total.terms.items()), total.constant, type_)
        found = self.reduced.get(key)
        if found is not None:
            return found
        term: Any = z3.IntVal(total.constant, self.context)
        low = high = total.constant
        for number, factor in total.terms.items():
            atom, least, most = self.atoms[number]
            term = term + (atom if factor == 1 else factor * atom)
            low += min(factor * least, factor * most)
            high += max(factor * least, factor * most)
        size = 1 << type_.bits
        first, last = (low - int(type_.min)) // size, (high - int(type_.min)) // size
        if first == last:
            term = term - first * size if first else term
        else:
            times = z3.Const(f"times {len(self.reduced)}", z3.IntSort(self.context))
            term = term - times * size
            self.ranges += [times >= first, times <= last, term >= int(type_.min), term <= int(type_.max)]
        self.reduced[key] = term
        return term
