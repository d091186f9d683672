"""Expressions to LLVM values: the one place where an operation gets its machine meaning.

`RULES` has one row per operation of `ir.expr.OPERATIONS`. Every rule works on scalars and on vectors and is total: no
`nsw`, no fast-math flag, no poison. Scalar and vector code give the same bits; functions that the machine has no
instruction for (`exp`, `pow`, …) call one scalar routine of libm for every lane, `f16` by way of `f32`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
from llvmlite import ir
from llvmlite.ir.instructions import Instruction

from rfactor.errors import TypeMismatch
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.intrinsics import INTRINSICS, Intrinsic
from rfactor.ir.loopnest import AnyLane, Broadcast, LanePrefix, LaneReduction, Load, Ramp
from rfactor.ir.types import F32, F64, Type
from rfactor.native.divide import euclidean_quotient, euclidean_remainder
from rfactor.native.literal import Builder, Literal, LLVMValue, Text, llvm_type, vector
from rfactor.native.output import PUTS, write
from rfactor.native.quotients import factors

Rule = Callable[..., LLVMValue]
Known = dict[Hashable, LLVMValue]
"""Values by the expressions that they are of, and by other keys (see `Emitter.once`)."""

I32 = ir.IntType(32)


def declare(builder: Builder, name: str, result: ir.Type, arguments: list[ir.Type]) -> ir.Function:
    """The function `name` of the module under construction, declared if it is not yet."""
    module = builder.module
    found = module.globals.get(name)
    return ir.Function(module, ir.FunctionType(result, arguments), name) if found is None else found


def call_intrinsic(builder: Builder, name: str, *arguments: LLVMValue, overloads: int = 1) -> LLVMValue:
    """Call LLVM's intrinsic `name`, overloaded on the types of its first `overloads` arguments, of the first's type."""
    suffix = "".join(f".{mangled(a.type)}" for a in arguments[:overloads])
    function = declare(builder, name + suffix, arguments[0].type, [a.type for a in arguments])
    return builder.call(function, list(arguments))


def mangled(type: ir.Type) -> str:
    """The part that `type` has in the name of an overloaded intrinsic."""
    if isinstance(type, ir.VectorType):
        return f"v{type.count}{mangled(type.element)}"
    return f"i{type.width}" if isinstance(type, ir.IntType) else str(type.intrinsic_name)


def splat(builder: Builder, value: LLVMValue, lanes: int) -> LLVMValue:
    """Scalar `value` in each of `lanes` lanes."""
    if isinstance(value, Literal):
        return Literal(value.language_type.with_lanes(lanes), value.value)
    poison = Text(ir.VectorType(value.type, lanes), "poison")
    one = builder.insert_element(poison, value, I32(0))
    return _shuffled(builder, one, poison, Text(ir.VectorType(I32, lanes), "zeroinitializer"))


def freeze(builder: Builder, value: LLVMValue) -> LLVMValue:
    """`value`, as something that LLVM does not look into."""
    instruction = Instruction(builder.block, value.type, "freeze", [value])
    builder._insert(instruction)
    return instruction


def shuffle(builder: Builder, first: LLVMValue, second: LLVMValue, lanes: list[int]) -> LLVMValue:
    """The named lanes of `first` followed by `second`."""
    return _shuffled(builder, first, second, vector(I32, lanes))


class _Shuffle(Instruction):  # type: ignore[misc]
    """llvmlite's own looks at every lane."""

    def descr(self, buf: list[str]) -> None:
        buf.append("shufflevector " + ", ".join(f"{one.type} {one.get_reference()}" for one in self.operands))


def _shuffled(builder: Builder, first: LLVMValue, second: LLVMValue, mask: Text) -> LLVMValue:
    type = ir.VectorType(first.type.element, mask.type.count)
    instruction = _Shuffle(builder.block, type, "shufflevector", [first, second, mask])
    builder._insert(instruction)
    return instruction


# -- arithmetic ------------------------------------------------------------------------------------------------------


def _widened(rule: Rule) -> Rule:
    """A rule for floats, done in f32 for f16: the second rounding never shows, as 24 >= 2 * 11 + 2 bits."""

    def by_way_of_f32(builder: Builder, type: Type, *args: LLVMValue) -> LLVMValue:
        if not (type.is_float and type.bits == 16):
            return rule(builder, type, *args)
        wide = F32.with_lanes(type.lanes)
        result = rule(builder, wide, *(builder.fpext(a, llvm_type(wide)) for a in args))
        return builder.fptrunc(result, llvm_type(type))

    return by_way_of_f32


def _arithmetic(integer: str, real: str) -> Rule:
    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        return getattr(builder, real if type.is_float else integer)(a, b)

    return _widened(rule)


def _extremum(name: str) -> Rule:
    least = name == "min"

    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        if type.is_bool:
            return builder.and_(a, b) if least else builder.or_(a, b)
        if not type.is_float:
            return call_intrinsic(builder, f"llvm.{'s' if type.is_signed else 'u'}{name}", a, b)
        if type.lanes > 1 and str(builder.module.triple).startswith("x86_64"):
            return _float_extremum(builder, type, least, a, b)
        return call_intrinsic(builder, f"llvm.{name}imum", a, b)

    return _widened(rule)


def _float_extremum(builder: Builder, type: Type, least: bool, a: LLVMValue, b: LLVMValue) -> LLVMValue:
    """`llvm.minimum` or `llvm.maximum` of vectors for x86, where LLVM's own takes twice the instructions in one chain.

    Where neither operand is the lesser, they are equal (then only zeros differ, in the sign) or one is NaN (then so is
    the union of their bits): the union, with the sign of both for a minimum and that in common for a maximum.
    """
    for end, other in ((a, b), (b, a)):
        if isinstance(end, Literal) and not math.isnan(end.value):
            return _float_extremum_of(builder, type, least, end, other)
    word = Type("uint", type.bits, type.lanes)
    better = builder.select(builder.fcmp_ordered("<" if least else ">", a, b), a, b)
    x, y = builder.bitcast(a, llvm_type(word)), builder.bitcast(b, llvm_type(word))
    union = builder.or_(x, y)
    if not least:
        sign = 1 << (type.bits - 1)
        common = builder.and_(builder.and_(x, y), Literal(word, sign))
        union = builder.or_(builder.and_(union, Literal(word, sign - 1)), common)
    tied = builder.fcmp_unordered("==", a, b)
    return builder.select(tied, builder.bitcast(union, a.type), better)


def _float_extremum_of(builder: Builder, type: Type, least: bool, end: Literal, value: LLVMValue) -> LLVMValue:
    """The same of a literal that is not NaN, in one instruction: `value` stays where it is NaN or equal.

    Where it is equal and another zero, a sum with zero is the greater of both, and the negated one the lesser.
    """
    nearer = builder.select(builder.fcmp_ordered("<" if least else ">", end, value), end, value)
    if end.value != 0 or (math.copysign(1, end.value) < 0) != least:
        return nearer
    if not least:
        return builder.fadd(nearer, Literal(type, 0.0))
    return builder.fneg(builder.fadd(builder.fneg(nearer), Literal(type, 0.0)))


def _negate(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    return builder.fneg(a) if type.is_float else builder.sub(Literal(type, 0), a)


def _absolute(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    if type.is_float:
        return call_intrinsic(builder, "llvm.fabs", a)
    return call_intrinsic(builder, "llvm.abs", a, ir.Constant(ir.IntType(1), 0)) if type.is_signed else a


def _bits(name: str) -> Rule:
    return lambda builder, type, a, b: getattr(builder, name)(a, b)


def _invert(builder: Builder, type: Type, a: LLVMValue) -> LLVMValue:
    return builder.xor(a, Literal(type, type.max if type.is_bool or not type.is_signed else -1))


def _compare(relation: str) -> Rule:
    def rule(builder: Builder, type: Type, a: LLVMValue, b: LLVMValue) -> LLVMValue:
        if type.is_float:
            return (builder.fcmp_unordered if relation == "!=" else builder.fcmp_ordered)(relation, a, b)
        return (builder.icmp_signed if type.is_signed else builder.icmp_unsigned)(relation, a, b)

    return rule


def _shift(left: bool) -> Rule:
    """A shift that a count of the width or more shifts out whole, and that a negative count turns around."""

    def toward(builder: Builder, type: Type, left: bool, a: LLVMValue, count: LLVMValue) -> LLVMValue:
        if not left and type.is_signed:
            return builder.ashr(a, call_intrinsic(builder, "llvm.umin", count, Literal(type, type.bits - 1)))
        inside = builder.icmp_unsigned("<", count, Literal(type, type.bits))
        masked = builder.and_(count, Literal(type, type.bits - 1))
        moved = builder.shl(a, masked) if left else builder.lshr(a, masked)
        return builder.select(inside, moved, Literal(type, 0))

    def rule(builder: Builder, type: Type, a: LLVMValue, count: LLVMValue) -> LLVMValue:
        forth = toward(builder, type, left, a, count)
        if not type.is_signed:
            return forth
        back = toward(builder, type, not left, a, builder.sub(Literal(type, 0), count))
        return builder.select(builder.icmp_signed("<", count, Literal(type, 0)), back, forth)

    return rule


RULES: dict[str, Rule] = {
    "+": _arithmetic("add", "fadd"),
    "-": _arithmetic("sub", "fsub"),
    "*": _arithmetic("mul", "fmul"),
    "/": _arithmetic("", "fdiv"),
    "//": euclidean_quotient,
    "%": euclidean_remainder,
    "min": _extremum("min"),
    "max": _extremum("max"),
    "neg": _negate,
    "abs": _absolute,
    "&": _bits("and_"),
    "|": _bits("or_"),
    "^": _bits("xor"),
    "~": _invert,
    "<<": _shift(True),
    ">>": _shift(False),
    "<": _compare("<"),
    "<=": _compare("<="),
    ">": _compare(">"),
    ">=": _compare(">="),
    "==": _compare("=="),
    "!=": _compare("!="),
    "and": _bits("and_"),
    "or": _bits("or_"),
    "not": _invert,
}
"""(builder, type of the operands, operands) to the result, for every operation but select and cast."""


# -- casts and functions ---------------------------------------------------------------------------------------------


def convert(builder: Builder, old: Type, new: Type, value: LLVMValue) -> LLVMValue:
    """`value` of type `old` as `new`, of as many lanes: see `ir.expr.cast`."""
    target = llvm_type(new)
    if new.is_bool:
        return RULES["!="](builder, old, value, Literal(old, 0))
    if old.is_float:
        if new.is_float:
            return _float_to_float(builder, old, new, value)
        if old.lanes > 1:
            return saturate(builder, old, new, value, int(new.min), int(new.max))
        if old.bits == 16:
            old = F32
            value = builder.fpext(value, llvm_type(old))
        name = f"llvm.fpto{'s' if new.is_signed else 'u'}i.sat.{mangled(target)}"
        function = declare(builder, f"{name}.{mangled(value.type)}", target, [value.type])
        return builder.call(function, [value])
    if new.is_float:
        # Through f32 for f16 is exact: integers of more than 24 bits are infinite in f16 either way.
        via = F32.with_lanes(new.lanes) if new.bits == 16 else new
        signed = old.is_signed and not old.is_bool
        wide = (builder.sitofp if signed else builder.uitofp)(value, llvm_type(via))
        return wide if via == new else builder.fptrunc(wide, target)
    if new.bits < old.bits:
        return builder.trunc(value, target)
    if new.bits == old.bits:
        return value
    return (builder.sext if old.is_signed and not old.is_bool else builder.zext)(value, target)


def saturate(builder: Builder, old: Type, new: Type, value: LLVMValue, low: int, high: int) -> LLVMValue:
    """Vectors of floats truncated and held from `low` to `high`, NaN as 0: what `llvm.fptosi.sat` does lane by lane.

    Where both ends are floats, they are what the float is held to: one instruction an end.
    """
    if old.bits == 16:
        old = F32.with_lanes(old.lanes)
        value = builder.fpext(value, llvm_type(old))
    least, most = _inward(old, low, math.inf), _inward(old, high, -math.inf)
    held = builder.select(builder.fcmp_ordered(">", value, Literal(old, least)), value, Literal(old, least))
    held = builder.select(builder.fcmp_ordered("<", held, Literal(old, most)), held, Literal(old, most))
    whole = (builder.fptosi if new.is_signed else builder.fptoui)(held, llvm_type(new))
    if least != low:
        below = builder.fcmp_ordered("<", value, Literal(old, least))
        whole = builder.select(below, Literal(new, low), whole)
    if most != high:
        above = builder.fcmp_ordered(">", value, Literal(old, most))
        whole = builder.select(above, Literal(new, high), whole)
    nothing = min(max(0, low), high)
    if int(least) != nothing:  # NaN became the least
        whole = builder.select(builder.fcmp_unordered("uno", value, value), Literal(new, nothing), whole)
    return whole


def _inward(type: Type, end: int, toward: float) -> float:
    """`end`, or the next float of `type` in that direction."""
    scalar = np.float32 if type.bits == 32 else np.float64
    nearest = scalar(end)
    beyond = int(nearest) < end if toward > 0 else int(nearest) > end
    return float(np.nextafter(nearest, scalar(toward)) if beyond else nearest)


def _held(expr: Op) -> tuple[Expr, int, int] | None:
    """The float that is cast to an integer in `expr`, and the ends that constants hold the integer to; None where
    nothing is cast or nothing but the type holds it."""
    node, low, high = _between(expr)
    if not (isinstance(node, Op) and node.op == "cast" and node.args[0].type.is_float):
        return None
    return node.args[0], low, high


def _between(expr: Expr) -> tuple[Expr, int, int]:
    """What `expr`, an integer, is before constants hold it between ends, and these ends or those of its type."""
    ends: list[tuple[str, int]] = []
    node = expr
    while isinstance(node, Op) and node.op in ("min", "max") and (end := _constant(node.args[1])) is not None:
        ends.append((node.op, end))
        node = node.args[0]
    low, high = int(node.type.min), int(node.type.max)
    for op, end in reversed(ends):
        join = min if op == "min" else max
        low, high = join(low, end), join(high, end)
    return node, low, high


def _multiplied(builder: Builder, expr: Op, type: Type, number: LLVMValue, by: LLVMValue) -> LLVMValue | None:
    """The quotient `expr` of floats as products, where an integer of few values is divided by a literal."""
    whole = expr.args[0]
    if not (isinstance(by, Literal) and type.lanes > 1 and isinstance(whole, Op) and whole.op == "cast"):
        return None
    (integer,) = whole.args
    if not integer.type.is_int or integer.type.is_bool:
        return None
    _, low, high = _between(integer)
    found = factors(type.element, low, high, float(by.value))
    if found is None:
        return None
    first, second = (builder.fmul(number, Literal(type, factor)) if factor else None for factor in found)
    return first if second is None else builder.fadd(first, second)


def _constant(expr: Expr) -> int | None:
    """The integer that all lanes are."""
    if isinstance(expr, Broadcast):
        expr = expr.value
    return int(expr.value) if isinstance(expr, Const) and expr.type.is_int and not expr.type.is_bool else None


def _float_to_float(builder: Builder, old: Type, new: Type, value: LLVMValue) -> LLVMValue:
    if new.bits > old.bits:
        return builder.fpext(value, llvm_type(new))
    if not (old.bits == 64 and new.bits == 16):
        return builder.fptrunc(value, llvm_type(new))
    # f64 to f16 by way of f32 rounded to odd, so that the second rounding is the only one that counts.
    lanes = old.lanes
    single, word = F32.with_lanes(lanes), Type("uint", 32, lanes)
    nearest = builder.fptrunc(value, llvm_type(single))
    back = builder.fpext(nearest, value.type)
    away = builder.fcmp_ordered(">", _absolute(builder, old, back), _absolute(builder, old, value))
    inexact = builder.fcmp_ordered("!=", back, value)
    bits = builder.bitcast(nearest, llvm_type(word))
    bits = builder.sub(bits, builder.zext(away, bits.type))
    bits = builder.or_(bits, builder.zext(inexact, bits.type))
    return builder.fptrunc(builder.bitcast(bits, nearest.type), llvm_type(new))


def _function(builder: Builder, expr: Call, operand: Type, args: list[LLVMValue]) -> LLVMValue:
    """A call of an intrinsic on operands of type `operand`."""
    row = INTRINSICS[expr.name]
    if row.takes == "bits":
        target = llvm_type(row.result(operand))
        return args[0] if args[0].type == target else builder.bitcast(args[0], target)
    if row.takes == "integer":
        return _count(builder, row, *args)
    if row.llvm is not None:
        name = f"llvm.{row.llvm}"
        return _widened(lambda b, t, a: call_intrinsic(b, name, a))(builder, operand, *args)
    return _widened(lambda b, t, *a: _each_lane(b, t, row, a))(builder, operand, *args)


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


LIBM_SYMBOLS = {
    f"rfactor.{row.name}.{type}": row.libm + ("f" if type is F32 else "")
    for row in INTRINSICS.values()
    if row.libm is not None
    for type in (F32, F64)
} | {PUTS: "puts"}
"""The C library's name of each symbol that code may refer to, bound in `native.engine`: `rfactor.exp.f32` is `expf`."""


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
            return convert(self.builder, operand, self.typed(expr.type), args[0])
        return RULES[expr.op](self.builder, operand, *args)

    def _joined(self, expr: LaneReduction) -> LLVMValue:
        """Halves joined as vectors while there are some, then lane by lane."""
        type, value, rule = expr.value.type, self.emit(expr.value), RULES[expr.op]
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
