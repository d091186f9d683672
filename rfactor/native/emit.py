"""Expressions to LLVM values, at one place of the code after the other.

What operations mean to the machine is in `rules` and `conversions`; functions that the machine has no instruction for
are arithmetic in all lanes at once where `ir.routines` has them (those of `f32`), else (those of `f64`) one scalar
routine of libm is called for every lane; `f16` and `bf16` by way of `f32`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from llvmlite import ir

from rfactor.errors import TypeMismatch
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.intrinsics import INTRINSICS, Intrinsic
from rfactor.ir.loopnest import AnyLane, Broadcast, LanePrefix, LaneReduction, Load, Ramp
from rfactor.ir.routines import PARAMETERS, routine
from rfactor.ir.types import F32, F64, Type
from rfactor.native import bfloat
from rfactor.native.conversions import convert, saturate
from rfactor.native.instructions import I32, call_intrinsic, declare, mangled, shuffle, splat
from rfactor.native.literal import Builder, Literal, LLVMValue, Text, llvm_type, vector
from rfactor.native.narrowing import between, saturated
from rfactor.native.output import PUTS, write
from rfactor.native.quotients import factors
from rfactor.native.rules import RULES, widened

Known = dict[Hashable, LLVMValue]
"""Values by the expressions that they are of, and by other keys (see `Emitter.once`)."""


def _held(expr: Op) -> tuple[Expr, int, int] | None:
    """The float that is cast to an integer in `expr`, and the ends that constants hold the integer to; None where
    nothing is cast or nothing but the type holds it."""
    node, low, high = between(expr)
    if not (isinstance(node, Op) and node.op == "cast" and node.args[0].type.is_float):
        return None
    return node.args[0], low, high


def _multiplied(builder: Builder, expr: Op, type: Type, number: LLVMValue, by: LLVMValue) -> LLVMValue | None:
    """The quotient `expr` of floats as products, where an integer of few values is divided by a literal."""
    whole = expr.args[0]
    if not (isinstance(by, Literal) and type.lanes > 1 and isinstance(whole, Op) and whole.op == "cast"):
        return None
    (integer,) = whole.args
    if not integer.type.is_int or integer.type.is_bool:
        return None
    _, low, high = between(integer)
    found = factors(type.element, low, high, float(by.value))
    if found is None:
        return None
    first, second = (builder.fmul(number, Literal(type, factor)) if factor else None for factor in found)
    return first if second is None else builder.fadd(first, second)


def _function(builder: Builder, expr: Call, operand: Type, args: list[LLVMValue]) -> LLVMValue:
    """A call of an intrinsic on operands of type `operand`."""
    row = INTRINSICS[expr.name]
    if row.takes == "bits":
        result = row.result(operand)
        target = llvm_type(result)
        if operand.is_bfloat:
            args = [bfloat.words(builder, operand, *args)]
        if result.is_bfloat:
            bits = builder.bitcast(args[0], llvm_type(Type("uint", 16, result.lanes)))
            return bfloat.of_words(builder, result, bits)
        return args[0] if args[0].type == target else builder.bitcast(args[0], target)
    if row.takes == "integer":
        return _count(builder, row, *args)
    if row.llvm is not None:
        name = f"llvm.{row.llvm}"
        return widened(lambda b, t, *a: call_intrinsic(b, name, *a))(builder, operand, *args)
    return widened(lambda b, t, *a: _routine(b, t, row, a))(builder, operand, *args)


def _routine(builder: Builder, type: Type, row: Intrinsic, args: tuple[LLVMValue, ...]) -> LLVMValue:
    """A function of libm, or what stands for it."""
    arithmetic = routine(row.name) if type.element == F32 else None
    if arithmetic is None:
        return _each_lane(builder, type, row, args)
    emitter = _of_parameters(builder, type, args)
    if arithmetic.usual is None or arithmetic.is_rare is None or type.lanes == 1:
        return emitter.emit(arithmetic.value)
    usual, asked = emitter.emit(arithmetic.usual), emitter.emit(arithmetic.is_rare)
    before, word = builder.block, ir.IntType(type.lanes)
    with builder.if_then(builder.icmp_unsigned("!=", builder.bitcast(asked, word), word(0)), likely=False):
        rare = builder.call(_whole(builder, type, row.name, arithmetic.value, len(args)), args)
        inside = builder.block
    value = builder.phi(usual.type)
    value.add_incoming(usual, before)
    value.add_incoming(rare, inside)
    return value


def _whole(builder: Builder, type: Type, name: str, value: Expr, arity: int) -> ir.Function:
    """A function of the module for what lanes seldom want: `value`, all of a routine, in the lanes of `type`."""
    full, one = f"rfactor.{name}.{type}", llvm_type(type)
    known = builder.module.globals.get(full)
    if known is not None:
        return known
    function = declare(builder, full, one, [one] * arity)
    function.linkage = "internal"
    for attribute in ("noinline", "readnone", "nounwind"):
        function.attributes.add(attribute)
    inner = ir.IRBuilder(function.append_basic_block("entry"))
    inner.ret(_of_parameters(inner, type, function.args).emit(value))
    return function


def _of_parameters(builder: Builder, type: Type, args: Sequence[LLVMValue]) -> Emitter:
    """An emitter for a routine of `args`."""
    given = {parameter.name: arg for parameter, arg in zip(PARAMETERS, args, strict=False)}
    return Emitter(builder, given, lanes=type.lanes)


def _count(builder: Builder, row: Intrinsic, value: LLVMValue) -> LLVMValue:
    """A count of bits; of zero, all bits are leading and trailing zeros."""
    if row.llvm == "ctpop":
        return call_intrinsic(builder, "llvm.ctpop", value)
    return call_intrinsic(builder, f"llvm.{row.llvm}", value, ir.Constant(ir.IntType(1), 0))


def _each_lane(builder: Builder, type: Type, row: Intrinsic, args: tuple[LLVMValue, ...]) -> LLVMValue:
    """Call libm's routine for every lane."""
    scalar = llvm_type(type.element)
    function = declare(builder, f"rfactor.{row.name}.{type.element}", scalar, [scalar] * len(args))
    function.attributes.add("readnone")
    function.attributes.add("nounwind")
    if type.lanes == 1:
        return builder.call(function, list(args))
    result: LLVMValue = Text(llvm_type(type), "poison")
    for lane in range(type.lanes):
        one = builder.call(function, [builder.extract_element(a, I32(lane)) for a in args])
        result = builder.insert_element(result, one, I32(lane))
    return result


LIBM_SYMBOLS = {f"rfactor.{row.name}.{F64}": row.libm for row in INTRINSICS.values() if row.libm is not None} | {
    PUTS: "puts"
}
"""The C library's name of each symbol that code may refer to, bound in `native.engine`: `rfactor.exp.f64` is `exp`."""

FUSED_SYMBOLS = "fma", "fmaf"
"""What LLVM calls for `llvm.fma` where the machine has no such instruction."""


_OF_BITS = {"and": "==", "&": "==", "min": "==", "or": "!=", "|": "!=", "max": "!="}
"""What the bits of all lanes are to those that are all set, or none of which is, where the lanes are joined."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Somewhere outside, that runs before what is emitted."""

    block: LLVMValue
    known: Known
    """Values of expressions without loads that dominate what comes after `block`."""
    frozen: Known = field(default_factory=dict)
    """Addresses' parts that LLVM is to take as they are."""


class Emitter:
    """Emits expressions at a builder's position; equal subexpressions are emitted once.

    An emitter serves one place of the code: values that it has emitted must dominate what it emits later, and no store
    may come between (loads are shared too). For later emitters it leaves what loads nothing in `known`, and what loads
    in `read`; what prints, it prints itself.
    """

    def __init__(
        self,
        builder: Builder,
        variables: Mapping[str, LLVMValue],
        load: Callable[[Load, Emitter], LLVMValue] | None = None,
        lanes: int = 1,
        known: Known | None = None,
        outside: Callable[[Expr], Place | None] | None = None,
        refuse: Callable[[Refuse, LLVMValue, list[LLVMValue]], None] | None = None,
        read: Known | None = None,
    ) -> None:
        """`variables` by name; `load` emits loads; with `lanes`, scalar expressions stand for vectors of that many.

        `known` are values of expressions without loads that dominate this place, `read` of those with loads, where no
        store came since; `outside` says where to compute what need not be computed here; `refuse` emits failures.
        """
        self.builder, self.variables, self.load, self.lanes = builder, variables, load, lanes
        self._known: Known = {} if known is None else known
        self._read: Known = {} if read is None else read
        self._printed: Known = {}
        """Values of what prints, which no other emitter may take for its own."""
        self._outside, self._refuse = outside, refuse

    def emit(self, expr: Expr) -> LLVMValue:
        """The value of `expr`. Raises `KeyError` for an unknown variable, `TypeMismatch` for a call of no intrinsic."""
        pending = [expr]
        while pending:
            node = pending[-1]
            if self._has(node):
                pending.pop()
                continue
            # Operands first, by hand rather than by recursion: sums of hundreds of terms are deep.
            operands = node.args if isinstance(node, Op | Call) else ()
            missing = [operand for operand in reversed(operands) if not self._has(operand)]
            if missing:
                pending.extend(missing)
                continue
            pending.pop()
            place = None if self._outside is None else self._outside(node)
            self._keep(node, self._compute(node) if place is None else self._placed(node, place))
        return self._value(expr)

    def once(self, key: Hashable, of: Iterable[Expr], compute: Callable[[], LLVMValue]) -> LLVMValue:
        """What `compute` emits, a value of the expressions `of` alone, where it was not emitted before under `key`."""
        if not self._has(key):
            kept = self._known
            for node in (node for expr in of for node in walk(expr)):
                if isinstance(node, Print):
                    kept = self._printed
                    break
                if isinstance(node, Load):
                    kept = self._read
            kept[key] = compute()
        return self._value(key)

    def _has(self, expr: Hashable) -> bool:
        read, printed = self._read, self._printed  # which are empty most of the time
        return expr in self._known or (bool(read) and expr in read) or (bool(printed) and expr in printed)

    def _value(self, expr: Hashable) -> LLVMValue:
        known = self._known.get(expr)
        if known is None:
            known = self._read.get(expr)
        return self._printed[expr] if known is None else known

    def _keep(self, node: Expr, value: LLVMValue) -> None:
        """Remember the value of an expression whose operands are remembered, a load's aside."""
        known, read = self._known, self._read
        if isinstance(node, Load):
            kept = self._printed if any(isinstance(inner, Print) for inner in walk(node)) else read
        elif isinstance(node, Print):
            kept = self._printed
        else:
            kept = known
            for child in node.children:
                if child in known:
                    continue
                kept = read
                if child not in read:
                    kept = self._printed
                    break
        kept[node] = value

    def inner(self) -> Emitter:
        """An emitter for a branch: it knows the values emitted so far, and this one learns none of the branch's."""
        inner = Emitter(
            self.builder, self.variables, self.load, self.lanes, dict(self._known), self._outside, self._refuse,
            dict(self._read),
        )  # fmt: skip
        inner._printed.update(self._printed)
        return inner

    def _placed(self, expr: Expr, place: Place) -> LLVMValue:
        value = place.known.get(expr)
        if value is None:
            with self.builder.goto_block(place.block):
                value = place.known[expr] = self._compute(expr)
        return value

    def typed(self, type: Type) -> Type:
        """`type` in as many lanes as are emitted."""
        return type.with_lanes(self.lanes) if type.lanes == 1 else type

    def _compute(self, expr: Expr) -> LLVMValue:
        if isinstance(expr, Const):
            return Literal(self.typed(expr.type), expr.value)
        if isinstance(expr, Var):
            return self.variables[expr.name]
        if isinstance(expr, Op):
            return self._operation(expr)
        if isinstance(expr, Load) and self.load is not None:
            return self.load(expr, self)
        if isinstance(expr, Broadcast):
            return splat(self.builder, self.emit(expr.value), expr.type.lanes)
        if isinstance(expr, Ramp):
            return self._ramp(expr)
        if isinstance(expr, AnyLane):
            word = ir.IntType(expr.value.type.lanes)
            return self.builder.icmp_unsigned("!=", self.builder.bitcast(self.emit(expr.value), word), word(0))
        if isinstance(expr, LaneReduction):
            return self._joined(expr)
        if isinstance(expr, LanePrefix):
            return self._prefixes(expr)
        if isinstance(expr, Print):
            value, condition, *arguments = map(self.emit, expr.children)
            if not isinstance(expr, Refuse):
                write(self.builder, expr, condition, arguments)
                return value
            if self._refuse is not None:
                self._refuse(expr, condition, arguments)
                return value
        if isinstance(expr, Call) and expr.kind == "intrinsic":
            return _function(self.builder, expr, self.typed(expr.args[0].type), [self.emit(a) for a in expr.args])
        raise TypeMismatch(f"{expr} cannot stand in generated code")

    def _operation(self, expr: Op) -> LLVMValue:
        args = [self.emit(arg) for arg in expr.args]
        operand = self.typed(expr.args[0].type)
        if expr.op == "select":
            # A scalar condition chooses between whole vectors.
            return self.builder.select(*args)
        if expr.op in ("min", "max") and operand.lanes > 1 and operand.is_int and (held := _held(expr)):
            value, low, high = held
            return saturate(self.builder, self.typed(value.type), operand, self.emit(value), low, high)
        if expr.op == "/" and (product := _multiplied(self.builder, expr, operand, *args)):
            return product
        if expr.op == "cast":
            if found := saturated(expr):
                name, *terms = found
                return call_intrinsic(self.builder, f"llvm.{name}", *map(self.emit, terms))
            return convert(self.builder, operand, self.typed(expr.type), args[0])
        return RULES[expr.op](self.builder, operand, *args)

    def _joined(self, expr: LaneReduction) -> LLVMValue:
        """Halves joined as vectors while there are some, then lane by lane; a sum of integers as what LLVM knows
        instructions for (of bytes, by eights), truth values as the bits of a word."""
        type, value, rule = expr.value.type, self.emit(expr.value), RULES[expr.op]
        if type.is_bool and (relation := _OF_BITS.get(expr.op)) is not None:
            word = ir.IntType(type.lanes)
            return self.builder.icmp_unsigned(
                relation, self.builder.bitcast(value, word), word(-1 if relation == "==" else 0)
            )
        if expr.op == "+" and type.is_int:
            name = f"llvm.vector.reduce.add.{mangled(value.type)}"
            return self.builder.call(declare(self.builder, name, value.type.element, [value.type]), [value])
        while type.lanes % 2 == 0 and type.lanes > 2:
            half = type.lanes // 2
            type = type.with_lanes(half)
            low, high = (shuffle(self.builder, value, value, list(range(at, at + half))) for at in (0, half))
            value = rule(self.builder, type, low, high)
        lanes = [self.builder.extract_element(value, I32(lane)) for lane in range(type.lanes)]
        return reduce(lambda a, b: rule(self.builder, expr.type, a, b), lanes)

    def _prefixes(self, expr: LanePrefix) -> LLVMValue:
        """Every lane joined with the one 1, 2, 4, … before it; there is the identity before the first."""
        value, lanes, away = self.emit(expr.value), expr.type.lanes, 1
        before = splat(self.builder, self.emit(expr.identity), lanes)
        while away < lanes:
            moved = shuffle(self.builder, before, value, [lanes - away + lane for lane in range(lanes)])
            value = RULES[expr.op](self.builder, expr.type, moved, value)
            away *= 2
        return value

    def _ramp(self, expr: Ramp) -> LLVMValue:
        lanes, element = expr.type.lanes, expr.type.element
        if isinstance(expr.stride, Const):
            step = int(expr.stride.value)
            steps = vector(llvm_type(element), [int(element.wrap(lane * step)) for lane in range(lanes)])
        else:
            stride = splat(self.builder, self.emit(expr.stride), lanes)
            steps = self.builder.mul(stride, vector(llvm_type(element), range(lanes)))
        if expr.base == Const(element, 0):
            return steps
        return self.builder.add(splat(self.builder, self.emit(expr.base), lanes), steps)
