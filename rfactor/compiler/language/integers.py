"""Functions of integers and their bits, written with the operations: saturating, widening, halving, rounding."""

from __future__ import annotations

from collections.abc import Sequence

from rfactor.compiler.language.expr import Expr, ExprLike, as_expr, call, converted, joined, promoted, shift, together
from rfactor.compiler.language.functions import abs, reinterpret, saturating_cast, select
from rfactor.compiler.language.numbers import whole_number
from rfactor.compiler.language.types import Type
from rfactor.errors import TypeMismatch
from rfactor.ir import expr as ir
from rfactor.ir import types as T
from rfactor.ir.composed import COMPOSED


def _integers(what: str, *values: ExprLike) -> tuple[Expr, ...]:
    """The arguments promoted to one integer type. Raises `TypeMismatch`."""
    operands = together(*values)
    if not operands[0].node.type.is_int:
        raise TypeMismatch(f"{what} of {operands[0].node.type} (in {operands[0]}): it is for integers")
    return operands


def _chosen(condition: ExprLike, true: ExprLike, false: ExprLike) -> Expr:
    chosen = select(condition, true, false)
    assert isinstance(chosen, Expr)
    return chosen


def _as(type: T.Type, value: int) -> Expr:
    return Expr(ir.Const(type, value))


def _wider(what: str, type: T.Type) -> T.Type:
    """The type of the same kind and twice the width."""
    if type.is_bool:
        return T.U8
    if type.bits == 64:
        raise TypeMismatch(f"{what} of {type}: there is no type of 128 bits")
    if type.is_bfloat:
        raise TypeMismatch(f"{what} of {type}: there is no such type of 32 bits, write f32(…)")
    return T.Type(type.code, 2 * type.bits)


# -- counting bits ---------------------------------------------------------------------------------------------------


def popcount(x: ExprLike) -> Expr:
    """The number of bits that are set, of x's type."""
    held = as_expr(x)
    return held if held.node.type.is_bool else call("popcount", *_integers("popcount", held))


def count_leading_zeros(x: ExprLike) -> Expr:
    """The number of zeros above the highest bit that is set, of x's type; of 0, the width."""
    held = as_expr(x)
    return ~held if held.node.type.is_bool else call("count_leading_zeros", *_integers("count_leading_zeros", held))


def count_trailing_zeros(x: ExprLike) -> Expr:
    """The number of zeros below the lowest bit that is set, of x's type; of 0, the width."""
    held = as_expr(x)
    return ~held if held.node.type.is_bool else call("count_trailing_zeros", *_integers("count_trailing_zeros", held))


def concat_bits(values: Sequence[ExprLike]) -> Expr:
    """One number of the bits of several, the first the lowest. Their count is a power of two, 64 bits the most."""
    parts = [as_expr(value) for value in values]
    count = len(parts)
    if not count or count & (count - 1):
        raise TypeMismatch(f"concat_bits takes a power of two of values, not {count}")
    own = parts[0].node.type
    if any(part.node.type != own for part in parts) or not own.is_int or own.bits * count > 64:
        types = ", ".join(str(part.node.type) for part in parts)
        raise TypeMismatch(f"concat_bits takes integers of one type, 64 bits together at the most, not {types}")
    unsigned, whole = T.Type("uint", own.bits), T.Type("uint", own.bits * count)
    result = converted(whole, converted(unsigned, parts[0]))
    for place in range(1, count):
        result = result | converted(whole, converted(unsigned, parts[place])) << place * own.bits
    return converted(T.Type(own.code, whole.bits), result)


def extract_bits(type: Type, value: ExprLike, lowest: ExprLike) -> Expr:
    """`type.bits()` bits of `value` from bit `lowest` on, read as `type`; zeros where it has none."""
    held = as_expr(value)
    unsigned = Type(T.Type("uint", held.node.type.bits))
    moved = shift(">>", reinterpret(unsigned, held), lowest)
    return reinterpret(type, converted(T.Type("uint", type.bits()), moved)) if type.is_float() else _cut(type, moved)


def _cut(type: Type, value: Expr) -> Expr:
    return (value & 1) != 0 if type.is_bool() else converted(type.ir, value)


# -- division towards zero -------------------------------------------------------------------------------------------


def div_round_to_zero(a: ExprLike, b: ExprLike) -> Expr:
    """`a / b` rounded towards zero, as in C; by zero, 0."""
    left, right = _integers("div_round_to_zero", a, b)
    quotient = left // right
    if left.node.type.code == "uint":
        return quotient
    toward = _chosen(right < 0, -1, _as(left.node.type, 1))
    return quotient + _chosen((left < 0) & (left % right != 0), toward, 0)


def mod_round_to_zero(a: ExprLike, b: ExprLike) -> Expr:
    """What `div_round_to_zero` leaves: of a's sign; by zero, 0."""
    left, right = _integers("mod_round_to_zero", a, b)
    rest = left % right
    if left.node.type.code == "uint":
        return rest
    magnitude = converted(left.node.type, abs(right))
    return rest - _chosen((left < 0) & (rest != 0), magnitude, 0)


# -- saturating ------------------------------------------------------------------------------------------------------


def saturating_add(a: ExprLike, b: ExprLike) -> Expr:
    """`a + b`, held within the range of their type."""
    return _composed("saturating_add", a, b)


def saturating_sub(a: ExprLike, b: ExprLike) -> Expr:
    """`a - b`, held within the range of their type."""
    return _composed("saturating_sub", a, b)


def _composed(name: str, a: ExprLike, b: ExprLike) -> Expr:
    operands = _integers(name, a, b)
    return Expr(COMPOSED[name].build(*(operand.node for operand in operands)), joined(*operands))


# -- widening --------------------------------------------------------------------------------------------------------


def widening_add(a: ExprLike, b: ExprLike) -> Expr:
    """`a + b` in the type of twice the width."""
    left, right = together(a, b)
    wide = _wider("widening_add", left.node.type)
    return converted(wide, left) + converted(wide, right)


def widening_sub(a: ExprLike, b: ExprLike) -> Expr:
    """`a - b` in the signed type of twice the width."""
    left, right = together(a, b)
    wide = _wider("widening_sub", left.node.type)
    if not wide.is_float:
        wide = T.Type("int", wide.bits)
    return converted(wide, left) - converted(wide, right)


def widening_mul(a: ExprLike, b: ExprLike) -> Expr:
    """`a * b` in the type of twice the greater width, signed where one of them is."""
    left, right = as_expr(a), as_expr(b)
    own, other = left.node.type, right.node.type
    if own.is_float or other.is_float:
        wide = _wider("widening_mul", promoted(own, other))
    else:
        code: T.Code = "int" if "int" in (own.code, other.code) else "uint"
        bits = max(own.bits, other.bits)
        wide = _wider("widening_mul", T.BOOL if bits == 1 else T.Type(code, bits))
    return converted(wide, left) * converted(wide, right)


def widen_right_add(a: ExprLike, b: ExprLike) -> Expr:
    """`a + b`, where b is of half a's width and of its kind."""
    left, right = _half("widen_right_add", a, b)
    return left + right


def widen_right_sub(a: ExprLike, b: ExprLike) -> Expr:
    """`a - b`, where b is of half a's width and of its kind."""
    left, right = _half("widen_right_sub", a, b)
    return left - right


def widen_right_mul(a: ExprLike, b: ExprLike) -> Expr:
    """`a * b`, where b is of half a's width and of its kind."""
    left, right = _half("widen_right_mul", a, b)
    return left * right


def _half(what: str, a: ExprLike, b: ExprLike) -> tuple[Expr, Expr]:
    left, right = as_expr(a), as_expr(b)
    own, other = left.node.type, right.node.type
    if own.is_bool or own.code != other.code or own.bits != 2 * other.bits:
        raise TypeMismatch(
            f"{what} of {own} and {other}: the second has half the width of the first and is of its kind"
        )
    return left, converted(own, right)


# -- halving ---------------------------------------------------------------------------------------------------------


def halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """`(a + b) / 2` rounded down, without overflow."""
    return _composed("halving_add", a, b)


def rounding_halving_add(a: ExprLike, b: ExprLike) -> Expr:
    """`(a + b + 1) / 2` rounded down, without overflow."""
    return _composed("rounding_halving_add", a, b)


def halving_sub(a: ExprLike, b: ExprLike) -> Expr:
    """`(a - b) / 2` rounded down, without overflow on the way; of unsigned values it wraps where a < b."""
    return _composed("halving_sub", a, b)


# -- shifts ----------------------------------------------------------------------------------------------------------


def _shifted(what: str, value: ExprLike, count: ExprLike) -> tuple[Expr, Expr]:
    """A value and a count of one width, each of its own kind; a number as count is of the value's width."""
    held = as_expr(value)
    count = whole_number(count)
    if isinstance(count, int):
        by = Expr(ir.Const(T.Type("uint" if count >= 0 else "int", held.node.type.bits), count))
    else:
        by = as_expr(count)
    if not (held.node.type.is_int and by.node.type.is_int):
        raise TypeMismatch(f"{what} of {held.node.type} by {by.node.type} (in {held}, {by}): for integers only")
    bits = max(held.node.type.bits, by.node.type.bits)
    return tuple(converted(T.Type(one.node.type.code, bits), one) for one in (held, by))  # type: ignore[return-value]


def rounding_shift_right(a: ExprLike, b: ExprLike) -> Expr:
    """`a >> b`, rounded to the nearest and up from the middle; a negative count shifts left."""
    value, count = _shifted("rounding_shift_right", a, b)
    last = shift(">>", value, count - 1) & 1
    return shift(">>", value, count) + _chosen(count > 0, last, 0)


def rounding_shift_left(a: ExprLike, b: ExprLike) -> Expr:
    """`a << b`; a negative count shifts right, rounded to the nearest and up from the middle."""
    value, count = _shifted("rounding_shift_left", a, b)
    moved = shift("<<", value, count)
    if count.node.type.code == "uint":
        return moved
    return moved + _chosen(count < 0, shift(">>", value, ~count) & 1, 0)


def widening_shift_left(a: ExprLike, b: ExprLike) -> Expr:
    """`a << b` in the type of twice the width."""
    value, count = _shifted("widening_shift_left", a, b)
    return shift("<<", converted(_wider("widening_shift_left", value.node.type), value), count)


def widening_shift_right(a: ExprLike, b: ExprLike) -> Expr:
    """`a >> b` in the type of twice the width: bits that a negative count shifts left are kept."""
    value, count = _shifted("widening_shift_right", a, b)
    return shift(">>", converted(_wider("widening_shift_right", value.node.type), value), count)


def mul_shift_right(a: ExprLike, b: ExprLike, q: ExprLike) -> Expr:
    """`(a * b) >> q` without overflow on the way, held within the range of their type. The count is unsigned."""
    left, right, count = _mul_shift("mul_shift_right", a, b, q)
    return saturating_cast(left.type(), shift(">>", widening_mul(left, right), count))


def rounding_mul_shift_right(a: ExprLike, b: ExprLike, q: ExprLike) -> Expr:
    """As `mul_shift_right`, rounded to the nearest and up from the middle."""
    left, right, count = _mul_shift("rounding_mul_shift_right", a, b, q)
    return saturating_cast(left.type(), rounding_shift_right(widening_mul(left, right), count))


def _mul_shift(what: str, a: ExprLike, b: ExprLike, q: ExprLike) -> tuple[Expr, Expr, Expr]:
    left, right = _integers(what, a, b)
    bits = left.node.type.bits
    q = whole_number(q)
    count = Expr(ir.Const(T.Type("uint", bits), q)) if isinstance(q, int) else as_expr(q)
    if count.node.type.code != "uint":
        raise TypeMismatch(f"{what} by {count} of {count.node.type}: the count is unsigned")
    wide = T.Type(left.node.type.code, max(bits, count.node.type.bits))
    return converted(wide, left), converted(wide, right), count
