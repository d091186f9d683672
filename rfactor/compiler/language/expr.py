"""Expressions as users write them: a shell of operators over `ir.expr`, with Halide's promotions.

A Python or NumPy number is f32 with a decimal point, i32 without, i64 where i32 does not hold it; beside an operand of
an operator a whole number in the range of i32 takes the other's type. Of two types: a float wins over an integer, the
wider of two floats wins, the wider of two integers of one sign wins, and signed with unsigned is signed of the greater
width; `&`, `|` and `^` are of one sign alone. Functions (`min`, `pow`, …) take numbers as they are: `min(u8(x), 3)` is
i32.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from rfactor.compiler.language.elementwise import elementwise
from rfactor.compiler.language.numbers import (
    is_i32,
    is_number,
    literal,
    number_of,
    peer,
    warn_of_rounding,
    whole_number,
)
from rfactor.compiler.language.types import Type, text
from rfactor.errors import AlgorithmError, NoTruthValue, TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T

Uses = Mapping[str, Any]
"""The functions, images, parameters and domains that an expression refers to, by name."""
ExprLike = Any
"""An `Expr`, or a number."""


class OnEntry:
    """What expressions refer to that is known before anything is computed: parameters, arrays by their boxes."""

    __slots__ = ()

    def entry_names(self) -> frozenset[str]:
        """The variables that hold what is known."""
        raise NotImplementedError


def entry_names(uses: Uses) -> frozenset[str]:
    """The variables that hold what is known on entry, of all that is referred to.

    Variables are told apart by this, never by the names of what is referred to: a `Var` may be called like a `Param`.
    """
    return frozenset().union(*(used.entry_names() for used in uses.values() if isinstance(used, OnEntry)))


def read_on_entry(expr: ir.Expr, uses: Uses) -> Uses:
    """Those of `uses` whose variables `expr` has."""
    read = ir.names(expr)
    return {name: used for name, used in uses.items() if isinstance(used, OnEntry) and used.entry_names() & read}


@elementwise
class Expr:
    """An expression. Python numbers, `Var`s, `RVar`s, one-dimensional `RDom`s and `Param`s count as expressions.

    `Expr()` is none yet: all that can be done with it is to leave something out. `Expr("text")` is text, which `print`,
    `print_when` and `require` take: it has no value.
    """

    __slots__ = ("_node", "_text", "_uses")

    def __init__(self, value: ir.Expr | ExprLike = None, uses: Uses | None = None) -> None:
        if isinstance(value, ir.Expr):
            self._node, self._uses = value, uses or {}
        elif isinstance(value, str):
            self._text = value
        elif value is not None:
            other = as_expr(value)
            self._node, self._uses = other.node, other.uses

    @property
    def node(self) -> ir.Expr:
        """The expression itself."""
        return self._node

    @property
    def uses(self) -> Uses:
        """What it refers to."""
        return self._uses

    def type(self) -> Type:
        """Its type."""
        return Type(self.node.type) if text_of(self) is None else text()

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("_node", "_uses"):
            told = text_of(self)
            if told is not None:
                raise TypeMismatch(f'"{told}" is text, it has no value: print, print_when and require take it')
            raise AlgorithmError("Expr() is no expression yet: give it a value, as in Expr(3)")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __format__(self, spec: str) -> str:
        """As text of the language, cut where it is long: `f"{x // 3}"` is `x // 3`."""
        from rfactor.ir.printer import brief

        return format(brief(self.node), spec)

    def __repr__(self) -> str:
        """As Halide shows it: `<halide.Expr of type int32: (x/3)>`."""
        from rfactor.compiler.language.spelling import spelled

        told = text_of(self)
        if told is not None:
            return f'<halide.Expr of type {text()}: "{told}">'
        if not self.defined():
            return "<undefined halide.Expr>"
        return f"<halide.Expr of type {Type(self.node.type)}: {spelled(self.node, self.uses)}>"

    def __bool__(self) -> bool:
        raise NoTruthValue(
            f"{self} is an expression, it has no truth value while the program is being written, and cannot be "
            "converted to a bool: use select(…), and & | ~ for and, or, not"
        )

    __hash__ = object.__hash__

    def __add__(self, other: ExprLike) -> Expr:
        return binary("+", self, other)

    def __radd__(self, other: ExprLike) -> Expr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> Expr:
        return binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> Expr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> Expr:
        return binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> Expr:
        return binary("*", other, self)

    def __truediv__(self, other: ExprLike) -> Expr:
        return divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> Expr:
        return divide(other, self)

    def __floordiv__(self, other: ExprLike) -> Expr:
        return floor_divide(self, other)

    def __rfloordiv__(self, other: ExprLike) -> Expr:
        return floor_divide(other, self)

    def __mod__(self, other: ExprLike) -> Expr:
        return modulo(self, other)

    def __rmod__(self, other: ExprLike) -> Expr:
        return modulo(other, self)

    def __pow__(self, other: ExprLike) -> Expr:
        return power(self, other)

    def __rpow__(self, other: ExprLike) -> Expr:
        return power(other, self)

    def __and__(self, other: ExprLike) -> Expr:
        return binary("&", self, other)

    def __rand__(self, other: ExprLike) -> Expr:
        return binary("&", other, self)

    def __or__(self, other: ExprLike) -> Expr:
        return binary("|", self, other)

    def __ror__(self, other: ExprLike) -> Expr:
        return binary("|", other, self)

    def __xor__(self, other: ExprLike) -> Expr:
        return binary("^", self, other)

    def __rxor__(self, other: ExprLike) -> Expr:
        return binary("^", other, self)

    def __lshift__(self, other: ExprLike) -> Expr:
        return shift("<<", self, other)

    def __rlshift__(self, other: ExprLike) -> Expr:
        return shift("<<", other, self)

    def __rshift__(self, other: ExprLike) -> Expr:
        return shift(">>", self, other)

    def __rrshift__(self, other: ExprLike) -> Expr:
        return shift(">>", other, self)

    def __lt__(self, other: ExprLike) -> Expr:
        return binary("<", self, other)

    def __le__(self, other: ExprLike) -> Expr:
        return binary("<=", self, other)

    def __gt__(self, other: ExprLike) -> Expr:
        return binary(">", self, other)

    def __ge__(self, other: ExprLike) -> Expr:
        return binary(">=", self, other)

    def __eq__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return binary("==", self, other) if isinstance(other, Expr) or is_number(other) else NotImplemented

    def __ne__(self, other: ExprLike) -> Expr:  # type: ignore[override]
        return binary("!=", self, other) if isinstance(other, Expr) or is_number(other) else NotImplemented

    def __neg__(self) -> Expr:
        return self if self.node.type.is_bool else Expr(ir.apply("neg", self.node), self.uses)

    def __pos__(self) -> Expr:
        return self

    def __invert__(self) -> Expr:
        return Expr(ir.apply("not" if self.node.type.is_bool else "~", self.node), self.uses)

    def __abs__(self) -> Expr:
        from rfactor.compiler.language.functions import abs

        return abs(self)

    def logical_not(self) -> Expr:
        """The negation of a condition."""
        if not self.node.type.is_bool:
            raise TypeMismatch(f"logical_not({self}) of {self.node.type}: it is for bool, as in {self} == 0")
        return ~self

    def defined(self) -> bool:
        """Whether it is one: `Expr()` is not."""
        try:
            return type(self).node is not Expr.node or object.__getattribute__(self, "_node") is not None
        except AttributeError:
            return text_of(self) is not None


def text_of(value: object) -> str | None:
    """A text that is given as it is, or as `Expr("text")`; None of anything else."""
    if isinstance(value, str):
        return value
    if not isinstance(value, Expr):
        return None
    try:
        found: str = object.__getattribute__(value, "_text")
    except AttributeError:
        return None
    return found


def is_sequence(value: object) -> bool:
    """Whether it stands for a tuple of values: a tuple, a list, or an object of a class of the user's with elements."""
    if isinstance(value, tuple | list):
        return True
    if isinstance(value, Expr | str | bytes | dict) or is_number(value) or getattr(value, "shape", None) == ():
        return False
    # Not by `hasattr`: a class of an enumeration has both, of its members.
    own = {name for kind in type(value).__mro__ for name in vars(kind)}
    return own >= {"__len__", "__getitem__"} and not hasattr(value, "components")


def as_expr(value: ExprLike, type: T.Type | None = None) -> Expr:
    """`value` as an expression; a number of no stated type is i32 (or i64), or f32 with a decimal point.

    Raises `TypeMismatch` for what is no expression and for a number that the type does not hold.
    """
    if isinstance(value, Expr):
        return value
    number = number_of(value)
    if number is not None:
        if type is None and isinstance(number, float):
            warn_of_rounding(number)
        return Expr(literal(number, type))
    raise TypeMismatch(f"{value!r} is no expression: numbers, Var, RVar, RDom, Param and calls of Func and Buffer are")


def varying(expr: Expr, boxes: frozenset[str] = frozenset()) -> ir.Expr | None:
    """The first part that reads values, or that varies while loops run; None where all is known on entry.

    Known are `boxes` too, variables that tell where outputs lie.
    """
    known = entry_names(expr.uses) | boxes
    for node in ir.walk(expr.node):
        if isinstance(node, ir.Call) and node.kind != "intrinsic":
            return node
        if isinstance(node, ir.Var) and node.name not in known:
            return node
    return None


def known_on_entry(expr: Expr, what: str) -> None:
    """Raise `AlgorithmError`, saying what the expression is for, where it reads values or varies while loops run."""
    node = varying(expr)
    if node is not None:
        raise AlgorithmError(
            f"{what} is known before anything is computed, unlike {Expr(node, expr.uses)} in {expr}: it is made of "
            "numbers, parameters and the boxes of images"
        )


def both(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Two operands, numbers typed by the other side, not yet of one type."""
    if not isinstance(a, Expr) and isinstance(b, Expr):
        return as_expr(a, peer(b.node.type, a)), b
    if isinstance(a, Expr) and not isinstance(b, Expr):
        return a, as_expr(b, peer(a.node.type, b))
    return as_expr(a), as_expr(b)


def promoted(a: T.Type, b: T.Type) -> T.Type:
    """The type in which operands of two types meet, by Halide's rules."""
    if a == b:
        return a
    if a.is_float or b.is_float:
        if not (a.is_float and b.is_float):
            return a if a.is_float else b
        return a if a.bits > b.bits else b  # of f16 and bf16 the second
    if a.is_bool or b.is_bool:
        return b if a.is_bool else a
    bits = max(a.bits, b.bits)
    return T.Type(a.code if a.code == b.code else "int", bits)


def matched(a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    """Two operands of one type."""
    left, right = both(a, b)
    if left.node.type == right.node.type:
        return left, right
    type_ = promoted(left.node.type, right.node.type)
    return converted(type_, left), converted(type_, right)


def converted(type: T.Type, value: Expr) -> Expr:
    """`value` as `type`; a constant that fits stays a constant."""
    node = value.node
    if isinstance(node, ir.Const) and _holds(type, node):
        return Expr(ir.const(type, node.value), value.uses)
    if isinstance(node, ir.Const) and type.is_int and node.type.is_int:
        return Expr(ir.Const(type, type.wrap(int(node.value))), value.uses)
    return Expr(ir.cast(type, node), value.uses)


def as_i32(value: Expr) -> Expr | None:
    """`value` as i32 where i32 holds it: a constant by its number, what varies by its type. None where it may not."""
    node = value.node
    if node.type == T.I32:
        return value
    if isinstance(node, ir.Const):
        whole = not node.type.is_float or float(node.value).is_integer()
        return Expr(ir.const(T.I32, int(node.value)), value.uses) if whole and is_i32(int(node.value)) else None
    if node.type.is_bool or (node.type.is_int and node.type.bits < T.I32.bits):
        return converted(T.I32, value)
    return None


def _holds(type: T.Type, constant: ir.Const) -> bool:
    """Whether a constant is a value of `type` too."""
    if type.is_float or type == constant.type:
        return True
    return not constant.type.is_float and type.min <= constant.value <= type.max


def joined(*operands: Expr) -> Uses:
    """What the operands refer to, together."""
    result: Uses = operands[0].uses
    for operand in operands[1:]:
        more = operand.uses
        if more and more is not result:
            result = {**result, **more} if result else more
    return result


def binary(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """`a op b`, operands promoted to one type."""
    if op in _BITWISE:
        a, b = both(a, b)
        _of_one_sign(op, a, b)
    return typed_binary(op, *matched(a, b))


def _of_one_sign(op: str, left: Expr, right: Expr) -> None:
    """Raise `TypeMismatch` where bits of a signed integer would meet those of an unsigned one, or of a condition."""
    one, other = left.node.type, right.node.type
    if not one.is_float and not other.is_float and one.is_signed != other.is_signed:
        raise TypeMismatch(
            f"Arguments to {_BITWISE[op]} must be both be signed or both be unsigned.\nLHS type: "
            f"{_in_bits(one)} RHS type: {_in_bits(other)}: in {left} {op} {right} cast one to the other's type"
        )


def typed_binary(op: str, left: Expr, right: Expr) -> Expr:
    """`left op right` of operands of one type."""
    if left.node.type.is_bool:
        op = _OF_CONDITIONS.get(op, op)
    return Expr(ir.apply(op, left.node, right.node), joined(left, right))


def _in_bits(type: T.Type) -> str:
    """The type as Halide's errors call it, bool as well."""
    return f"{'int' if type.is_signed else 'uint'}{type.bits}"


_BITWISE = {"&": "bitwise and", "|": "bitwise or", "^": "bitwise xor"}
_OF_CONDITIONS = {"&": "and", "|": "or", "^": "!=", "+": "!=", "-": "!=", "*": "and"}
"""`&` and `|` of conditions are `and` and `or`: the second is not asked where the first decides. Arithmetic on them is
that of one bit."""


def divide(a: ExprLike, b: ExprLike) -> Expr:
    """`a / b`: of integers Euclidean division, as Halide's `/`."""
    left, right = matched(a, b)
    return Expr(ir.apply("/" if left.node.type.is_float else "//", left.node, right.node), joined(left, right))


def floor_divide(a: ExprLike, b: ExprLike) -> Expr:
    """`a // b`: of integers as `/`, of floats rounded down."""
    left, right = matched(a, b)
    if not left.node.type.is_float:
        return binary("//", left, right)
    quotient = Expr(ir.apply("/", left.node, right.node), joined(left, right))
    return intrinsic("floor", quotient)


def modulo(a: ExprLike, b: ExprLike) -> Expr:
    """`a % b`: of integers Euclidean, of floats `a - b*floor(a/b)`."""
    left, right = matched(a, b)
    if not left.node.type.is_float:
        return binary("%", left, right)
    return left - right * converted(left.node.type, floor_divide(left, right))


def shift(op: str, a: ExprLike, b: ExprLike) -> Expr:
    """`a << b` or `a >> b`, of `a`'s kind and the greater width; a negative count shifts the other way."""
    a, b = _as_it_is(a), whole_number(b)
    if isinstance(b, int) and (held := as_expr(a).node.type).is_int:
        if b < 0:
            return shift(">>" if op == "<<" else "<<", a, min(-b, int(held.max)))
        if is_i32(b) and b <= T.Type("uint", held.bits).max:  # counts are unsigned
            b = Expr(ir.Const(held, min(b, int(held.max))))
    left, right = both(a, b)
    if right.node.type.is_bool and left.node.type.is_int:
        right = converted(left.node.type, right)
    for operand in (left, right):
        if not operand.node.type.is_int:
            raise TypeMismatch(
                f"{op} of {left.node.type} by {right.node.type} (in {left} {op} {right}): for integers only"
            )
    type_ = T.Type(left.node.type.code, max(left.node.type.bits, right.node.type.bits))
    value, count = converted(type_, left).node, right.node
    if count.type.code == type_.code:
        return Expr(ir.apply(op, value, converted(type_, right).node), joined(left, right))
    if isinstance(count, ir.Const):  # the value's kind may not hold it: by the width or more, everything is shifted out
        if count.value < 0:
            op = ">>" if op == "<<" else "<<"
        places = ir.Const(type_, min(abs(int(count.value)), type_.bits))
        return Expr(ir.apply(op, value, places), joined(left, right))
    if not count.type.is_signed:  # an unsigned count that the signed type may not hold shifts everything out anyway
        count = ir.apply("min", count, ir.Const(count.type, min(type_.bits, count.type.max)))
        return Expr(ir.apply(op, value, ir.cast(type_, count)), joined(left, right))
    opposite = ">>" if op == "<<" else "<<"
    forward = ir.apply(op, value, ir.cast(type_, count))
    back = ir.apply(opposite, value, ir.cast(type_, ir.apply("neg", count)))
    return Expr(ir.select(ir.apply("<", count, ir.zero(count.type)), back, forward), joined(left, right))


def _as_it_is(value: ExprLike) -> ExprLike:
    """What is shifted: a number has the type that it has alone, whatever it is shifted by."""
    return as_expr(whole_number(value)) if is_number(value) else value


def power(a: ExprLike, b: ExprLike) -> Expr:
    """`a ** b`: by products where `b` is a constant of a signed integer type, in floats otherwise."""
    base, exponent = as_expr(a), as_expr(b)
    if is_signed_constant(exponent):
        whole = int(exponent.node.value)  # type: ignore[attr-defined]
        if whole >= 0 or not base.node.type.is_bool:
            return _whole_power(base, whole)
    return intrinsic("pow", base, exponent)


def is_signed_constant(value: Expr) -> bool:
    """Whether it is a constant of a signed integer type, as a Python number is."""
    return isinstance(value.node, ir.Const) and value.node.type.code == "int"


def _whole_power(base: Expr, exponent: int) -> Expr:
    """A product of `exponent` factors, squared and multiplied from the highest bit of the exponent down."""
    if exponent < 0:
        return divide(1, _whole_power(base, -exponent))
    if exponent == 0:
        return Expr(ir.const(base.node.type, 1))
    if exponent == 1:
        return base
    half = _whole_power(base, exponent // 2)
    square = typed_binary("*", half, half)
    return typed_binary("*", square, base) if exponent % 2 else square


def together(*values: ExprLike) -> tuple[Expr, ...]:
    """The arguments of a function, promoted to one type; numbers have the type that they have alone."""
    operands = [as_expr(value) for value in values]
    type_ = operands[0].node.type
    for operand in operands[1:]:
        type_ = promoted(type_, operand.node.type)
    return tuple(converted(type_, operand) for operand in operands)


def intrinsic(name: str, *args: ExprLike) -> Expr:
    """A function of floats, of the first operand's type, f32 where that is no float, or bf16: as in Halide."""
    operands = [as_expr(arg) for arg in args]
    type_ = operands[0].node.type
    if not type_.is_float or type_.is_bfloat:
        type_ = T.F32
    return call(name, *(converted(type_, operand) for operand in operands))


def call(name: str, *operands: Expr) -> Expr:
    """A row of `ir.intrinsics` on operands as they are."""
    return Expr(ir.intrinsic(name, *(operand.node for operand in operands)), joined(*operands))
