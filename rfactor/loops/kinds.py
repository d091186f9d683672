"""Python's numbers as the expression language has them: kinds, their types, and the arithmetic between them.

A *kind* is the type that a value has in the plain run: `int`, `float`, `bool`, `str` (one character) or a NumPy scalar,
as `np.uint8`. What an operation of two kinds gives is asked of Python and NumPy themselves, on a sample, so that NEP 50
holds as it is installed. Python's integers are held in i64 beside conditions that say when that is right.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rfactor.ir.expr import Const, Expr, Var, apply, cast, const, intrinsic, select
from rfactor.ir.simplify import simplify
from rfactor.ir.types import BOOL, F32, F64, I64, U32, U64, Type, parse_type

Kinds = frozenset[str]
"""What a value may be in the plain run: one kind, or one of several on different paths."""

TRUE, FALSE = Const(BOOL, True), Const(BOOL, False)
LARGEST = 9.2e18
"""Results of Python's integers stay below this, a little less than 2**63, or the loop goes on in Python."""
EXACT = 1 << 53
"""Integers up to this are floats exactly."""


class Untyped(Exception):
    """Kinds that the expression language does not have, or that do not go together; says which."""


@dataclass(frozen=True)
class Scalar:
    """A number of the loop, as an expression over the state, data and constants."""

    expr: Expr
    kinds: Kinds
    tag: Expr | None = None
    """The code of its kind (see `code`), where it may be of several."""

    @property
    def kind(self) -> Expr:
        """The code of its kind as an expression."""
        return self.tag if self.tag is not None else const(I64, code(next(iter(self.kinds))))


def code(kind: str) -> int:
    """The number of a kind."""
    if kind not in _CODES:
        _CODES.append(kind)
    return _CODES.index(kind)


def kind_of_code(number: int) -> str:
    """The kind with this number."""
    return _CODES[number]


_NUMPY = {
    f"np.{name}": parse_type(short)
    for name, short in (
        ("int8", "i8"), ("int16", "i16"), ("int32", "i32"), ("int64", "i64"), ("uint8", "u8"), ("uint16", "u16"),
        ("uint32", "u32"), ("uint64", "u64"), ("float32", "f32"), ("float64", "f64"), ("bool", "bool"),
    )
}  # fmt: skip
_TYPES: dict[str, Type] = {"int": I64, "float": F64, "bool": BOOL, "str": U32, **_NUMPY}
PYTHON = frozenset({"int", "float", "bool"})
_CODES: list[str] = list(_TYPES)
"""Kinds by their number, the same in every process."""


def kind_of(value: Any) -> str:
    """The kind of a value of the plain run. Raises `Untyped`."""
    if isinstance(value, np.generic):
        return kind_of_dtype(value.dtype)
    if type(value) in (bool, int, float, str):
        return type(value).__name__
    raise Untyped(f"{type(value).__name__} is no number")


def kind_of_dtype(dtype: np.dtype[Any]) -> str:
    """The kind of an array's elements. Raises `Untyped`."""
    name = f"np.{dtype.name}"
    if name not in _TYPES or np.dtype(dtype.name).type is not dtype.type:
        raise Untyped(f"elements of {dtype} have no operators here yet")
    return name


def type_of(kinds: Iterable[str]) -> Type:
    """The type in which values of any of the kinds are held exactly. Raises `Untyped`."""
    kinds = frozenset(kinds)
    if len(kinds) == 1:
        return _TYPES[next(iter(kinds))]
    if "str" in kinds:
        raise Untyped(f"a value is text in one case and a number in another ({', '.join(sorted(kinds))})")
    types = {_TYPES[k] for k in kinds if k not in PYTHON}
    if types - {BOOL}:
        types.discard(BOOL)
    if len(types) > 1:
        raise Untyped(f"a value is {' or '.join(sorted(kinds))}: give it one type")
    (numpy,) = types or {BOOL}
    if numpy.is_float or (numpy.is_int and "float" not in kinds):
        return numpy
    if "float" in kinds:
        return F64
    return I64 if "int" in kinds else BOOL


def python_value(kind: str, value: Any) -> Any:
    """A value read from an array of the kind's type, as the plain run has it."""
    if kind == "str":
        return chr(int(value)) if int(value) < EMPTY else _TEXTS[int(value) - EMPTY]
    if kind in PYTHON:
        return {"int": int, "float": float, "bool": bool}[kind](value)
    return np.dtype(kind[3:]).type(value)


EMPTY = 0x110000
"""Stands for the empty string. Less are characters, more are longer texts, which are told apart by number."""
_TEXTS: list[str] = [""]
_NUMBERS: dict[str, int] = {"": EMPTY}


def held_value(value: Any) -> Any:
    """A value of the plain run as arrays of its kind's type hold it."""
    if type(value) is str:
        if len(value) == 1:
            return ord(value)
        if value not in _NUMBERS:
            _NUMBERS[value] = EMPTY + len(_TEXTS)
            _TEXTS.append(value)
        return _NUMBERS[value]
    return value


def literal(value: Any) -> Scalar:
    """A number of the program's text or of its surroundings. Raises `Untyped`."""
    kind = kind_of(value)
    if kind == "int" and not I64.min <= value <= I64.max:
        raise Untyped(f"{value} does not fit 64 bits")
    if isinstance(value, np.generic):
        value = value.item()
    return Scalar(const(_TYPES[kind], held_value(value)), frozenset({kind}))


# -- conversions -------------------------------------------------------------------------------------------------------

Require = Callable[[Expr, str], None]
"""Notes a condition without which the loop goes on in Python, and why."""


def converted(value: Scalar, type_: Type, require: Require) -> Expr:
    """The value in another type, which must hold it exactly."""
    own = value.expr.type
    if own == type_:
        return value.expr
    if type_.is_float:
        if own.is_int:
            limit = EXACT if type_ is F64 else 1 << 24
            require_between(value.expr, -limit, limit, require, "an integer beside floats that may round it")
        elif own.is_float:
            narrow = cast(type_, value.expr)
            require(same_float(cast(own, narrow), value.expr), "a float that its type may round")
        return cast(type_, value.expr)
    if type_.is_int and (own.is_int or own.is_bool):
        if own.is_int and not (type_.min <= own.min and own.max <= type_.max):
            require_between(value.expr, int(type_.min), int(type_.max), require, f"a number that does not fit {type_}")
        return cast(type_, value.expr)
    raise Untyped(f"a value is {own} in one case and {type_} in another")


def same_float(a: Expr, b: Expr) -> Expr:
    both = apply("and", apply("!=", a, a), apply("!=", b, b))
    return apply("or", apply("==", a, b), both)


def require_between(value: Expr, low: int, high: int, require: Require, why: str) -> None:
    """Note that an integer must lie in a range."""
    type_ = value.type
    conditions = []
    if low > type_.min:
        conditions.append(apply(">=", value, const(type_, low)))
    if high < type_.max:
        conditions.append(apply("<=", value, const(type_, high)))
    for condition in conditions:
        require(simplify(condition), why)


def choose(condition: Expr, true: Scalar, false: Scalar, require: Require) -> Scalar:
    """One value or the other."""
    if true == false:
        return true
    kinds = true.kinds | false.kinds
    type_ = type_of(kinds)
    a = converted(true, type_, lambda c, why: require(implied(condition, c), why))
    b = converted(false, type_, lambda c, why: require(apply("or", condition, c), why))
    tag = None if len(kinds) == 1 else simplify(select(condition, true.kind, false.kind))
    return Scalar(simplify(select(condition, a, b)), kinds, tag)


def implied(condition: Expr, then: Expr) -> Expr:
    """`then`, wherever `condition` holds."""
    return simplify(apply("or", apply("not", condition), then))


# -- arithmetic --------------------------------------------------------------------------------------------------------

_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "neg": operator.neg, "~": operator.invert,
    "abs": operator.abs, "pos": operator.pos,
}  # fmt: skip


def sample(kind: str) -> Any:
    return (
        {"int": 1, "float": 1.0, "bool": True, "str": "a"}[kind]
        if kind in (*PYTHON, "str")
        else np.dtype(kind[3:]).type(1)
    )


@lru_cache(maxsize=4096)
def result_kind(op: str, *kinds: str) -> str:
    """What the operation of such values gives in the plain run. Raises `Untyped`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return kind_of(_OPERATORS[op](*map(sample, kinds)))
        except TypeError:
            raise Untyped(f"{op} of {' and '.join(kinds)}") from None


def binary(op: str, a: Scalar, b: Scalar, require: Require) -> Scalar:
    """`a op b` as the plain run has it. Raises `Untyped` for what has no form here."""
    if op in ("<", "<=", ">", ">=", "==", "!="):
        return _comparison(op, a, b, require)
    found: dict[str, Expr] = {}
    for x in sorted(a.kinds):
        for y in sorted(b.kinds):
            kind = result_kind(op, x, y)
            made = _arithmetic(op, x, a, y, b, kind, require)
            if found.setdefault(kind, made) != made:
                raise Untyped(f"{op} of values that are {' or '.join(sorted(a.kinds | b.kinds))}")
    return _joined(found, lambda: _tag(op, a, b))


def _joined(found: dict[str, Expr], tag: Callable[[], Expr]) -> Scalar:
    kinds = frozenset(found)
    if len(kinds) == 1:
        return Scalar(next(iter(found.values())), kinds)
    made = set(found.values())
    if len(made) > 1:
        raise Untyped(f"a result is {' or '.join(sorted(kinds))}, which compute differently: give one type")
    (expr,) = made
    if expr.type != type_of(kinds):
        raise Untyped(f"a result is {' or '.join(sorted(kinds))}: give it one type")
    return Scalar(expr, kinds, tag())


def _tag(op: str, a: Scalar, b: Scalar) -> Expr:
    """The code of the result's kind, by the operands'."""
    result: Expr = const(I64, 0)
    for x in sorted(a.kinds):
        for y in sorted(b.kinds):
            here = apply("and", apply("==", a.kind, const(I64, code(x))), apply("==", b.kind, const(I64, code(y))))
            result = select(here, const(I64, code(result_kind(op, x, y))), result)
    return simplify(result)


def _arithmetic(op: str, x: str, a: Scalar, y: str, b: Scalar, kind: str, require: Require) -> Expr:
    """One pair of kinds: `x` of `a`, `y` of `b`, whose result is `kind`."""
    if "str" in (x, y, kind):
        raise Untyped(f"{op} of text")
    type_ = _TYPES[kind]
    python = x in PYTHON and y in PYTHON
    if type_.is_bool and op not in ("&", "|", "^"):
        raise Untyped(f"{op} of truth values of NumPy")
    p, q = (_operand(v, k, type_, op, python, require) for v, k in ((a, x), (b, y)))
    if op == "/":
        if python:
            require(apply("!=", q, const(type_, 0.0)), "a division by zero")
        return apply("/", p, q)
    if op in ("//", "%"):
        if type_.is_float:
            raise Untyped(f"{op} of floats")
        if python:
            require(simplify(apply("!=", q, const(type_, 0))), "a division by zero")
        if kind == "int" and op == "//":
            require(simplify(apply("!=", p, const(type_, int(type_.min)))), "an integer beyond 64 bits")
        positive = is_parameter(b.expr) and type_.is_signed
        if positive:
            require(apply(">", q, const(type_, 0)), NOT_POSITIVE)
        return floored(op, p, q, positive)
    if op in ("<<", ">>"):
        require(simplify(apply(">=", q, const(type_, 0))), "a negative shift count")
        if op == "<<" and kind == "int":
            require(simplify(apply("<=", q, const(type_, 62))), "an integer beyond 64 bits")
            _require_small(apply("*", cast(F64, p), cast(F64, apply("<<", const(I64, 1), q))), require)
        return apply(op, p, q)
    if op == "**":
        return _power(kind, p, q, b.expr, python, require)
    result = apply(op, p, q)
    if kind == "int" and op in ("+", "-", "*"):
        _require_small(apply(op, cast(F64, p), cast(F64, q)), require)
    return simplify(result) if not type_.is_float else result


def _operand(value: Scalar, kind: str, type_: Type, op: str, python: bool, require: Require) -> Expr:
    """An operand of kind `kind` in the type in which the result is computed."""
    own = value.expr.type
    if own == type_:
        return value.expr
    if own.is_float and not type_.is_float:
        raise Untyped(f"{op} of a float gives an integer")
    if type_.is_float and own.is_int:
        if kind in PYTHON:
            limit = EXACT if type_ is F64 else 1 << 24
            require_between(value.expr, -limit, limit, require, "an integer beside floats that may round it")
        return cast(type_, value.expr)
    if kind == "int" and type_.is_int:
        if type_ is U64:
            require_between(value.expr, 0, int(I64.max), require, f"a number that does not fit {type_}")
        else:
            require_between(value.expr, int(type_.min), int(type_.max), require, f"a number that does not fit {type_}")
    if own.is_float and type_ is F32 and kind == "float":
        return cast(type_, value.expr)  # a weak float takes the other's type, rounded
    return cast(type_, value.expr)


def _require_small(size: Expr, require: Require) -> None:
    """Note that an exact result, given in f64, fits 64 bits."""
    require(apply("<", apply("abs", size), const(F64, LARGEST)), "an integer beyond 64 bits")


def floored(op: str, p: Expr, q: Expr, positive: bool = False) -> Expr:
    """Python's `//` and `%`: the quotient is rounded down, the remainder has the divisor's sign."""
    plain = apply(op, p, q)
    if (isinstance(q, Const) and q.value > 0) or not q.type.is_signed or positive:
        return simplify(plain)
    rest = apply("%", p, q)
    off = apply("and", apply("<", q, const(q.type, 0)), apply("!=", rest, const(q.type, 0)))
    one = const(q.type, 1)
    return simplify(
        select(off, apply("-", plain, one), plain) if op == "//" else select(off, apply("+", rest, q), rest)
    )


def _power(kind: str, p: Expr, q: Expr, exponent: Expr, python: bool, require: Require) -> Expr:
    if p.type.is_float and p.type is not F64:
        raise Untyped("a power of f32, which NumPy rounds in a way of its own")
    if not p.type.is_float and isinstance(exponent, Const) and exponent.value in (1, 2, 3, 4):
        q = const(p.type, exponent.value)
        result, size = p, cast(F64, p)
        for _ in range(int(q.value) - 1):
            result, size = apply("*", result, p), apply("*", size, cast(F64, p))
        if kind == "int":
            _require_small(size, require)
        return result
    if not p.type.is_float:
        raise Untyped("a power of integers")
    whole = isinstance(exponent, Const) and float(exponent.value).is_integer() and float(exponent.value) >= 0
    if python:
        if not whole:
            require(apply(">", p, const(p.type, 0.0)), "a power of a number that is not positive")
        finite = apply("<", apply("abs", intrinsic("pow", p, q)), const(p.type, math.inf))
        require(finite, "a power beyond all floats")
    return intrinsic("pow", p, q)


def unary(op: str, a: Scalar, require: Require) -> Scalar:
    """`-a`, `~a`, `+a` or `abs(a)` as the plain run has it."""
    found: dict[str, Expr] = {}
    for x in sorted(a.kinds):
        kind = result_kind(op, x)
        type_ = _TYPES[kind]
        value = _operand(a, x, type_, op, True, require)
        if type_.is_bool and op != "~":
            raise Untyped(f"{op} of truth values of NumPy")
        if kind == "int" and op in ("neg", "abs"):
            require(simplify(apply("!=", value, const(type_, int(type_.min)))), "an integer beyond 64 bits")
        if op == "abs" and type_.is_int and not type_.is_signed:
            found[kind] = value
            continue
        found[kind] = value if op == "pos" else simplify(apply(op, value)) if not type_.is_float else apply(op, value)
    return _joined(found, lambda: a.kind)


def _comparison(op: str, a: Scalar, b: Scalar, require: Require) -> Scalar:
    kinds = frozenset(result_kind(op, x, y) for x in a.kinds for y in b.kinds)
    truth_ = _relation(op, a, b, require)
    return Scalar(truth_, kinds, _tag(op, a, b) if len(kinds) > 1 else None)


def _relation(op: str, a: Scalar, b: Scalar, require: Require) -> Expr:
    p, q = a.expr, b.expr
    if "str" in a.kinds | b.kinds:
        if a.kinds != b.kinds:
            raise Untyped("text beside a number")
        if op not in ("==", "!="):
            for side in (p, q):
                require(simplify(apply("<", side, const(U32, EMPTY))), "the order of texts of several characters")
        return simplify(apply(op, p, q))
    if p.type.is_bool and q.type.is_bool:
        if op in ("==", "!="):
            return simplify(apply(op, p, q))
        p, q = cast(I64, p), cast(I64, q)
    if p.type.is_float or q.type.is_float:
        narrow = {p.type, q.type} == {F32} or (
            F32 in (p.type, q.type) and all(k in PYTHON for v in (a, b) if v.expr.type is not F32 for k in v.kinds)
        )
        type_ = F32 if narrow else F64
        for value in (a, b):
            if value.expr.type.is_int and value.kinds & {"int"}:
                limit = EXACT if type_ is F64 else 1 << 24
                require_between(value.expr, -limit, limit, require, "an integer beside floats that may round it")
        return simplify(apply(op, cast(type_, p), cast(type_, q)))
    if p.type != q.type:
        if U64 in (p.type, q.type):
            other = b if p.type is U64 else a
            if other.expr.type.is_signed:
                require(simplify(apply(">=", other.expr, const(other.expr.type, 0))), "a negative number beside u64")
            p, q = cast(U64, p), cast(U64, q)
        else:
            p, q = cast(I64, p), cast(I64, q)
    return simplify(apply(op, p, q))


def truth(a: Scalar) -> Expr:
    """Python's truth of a value."""
    e = a.expr
    if e.type.is_bool:
        return e
    if "str" in a.kinds:
        return simplify(apply("!=", e, const(U32, EMPTY)))
    return simplify(apply("!=", e, const(e.type, 0)))


def to_int(a: Scalar, require: Require) -> Scalar:
    """`int(a)`."""
    e = a.expr
    if "str" in a.kinds:
        raise Untyped("int() of text")
    if e.type.is_float:
        wide = cast(F64, e)
        require(apply("<", apply("abs", wide), const(F64, LARGEST)), "a float that is no integer of 64 bits")
        return Scalar(cast(I64, e), frozenset({"int"}))
    if e.type is U64:
        require_between(e, 0, int(I64.max), require, "an integer beyond 64 bits")
    return Scalar(cast(I64, e), frozenset({"int"}))


def to_float(a: Scalar, require: Require) -> Scalar:
    """`float(a)`."""
    if "str" in a.kinds:
        raise Untyped("float() of text")
    if a.expr.type.is_int and a.expr.type.bits == 64 and "int" in a.kinds:
        require_between(a.expr, -EXACT, EXACT, require, "an integer that a float would round")
    return Scalar(cast(F64, a.expr), frozenset({"float"}))


def to_kind(kind: str, a: Scalar, require: Require, stored: bool = False) -> Scalar:
    """A NumPy scalar of the value, as `np.int64(a)`; `stored`: as an element of an array, which must hold integers."""
    type_, e = _TYPES[kind], a.expr
    if "str" in a.kinds:
        raise Untyped("a number of text")
    if type_.is_int and e.type.is_float:
        require(
            apply("<", apply("abs", cast(F64, e)), const(F64, min(LARGEST, float(type_.max)))),
            "a float that does not fit",
        )
        if not type_.is_signed:
            require(apply(">", cast(F64, e), const(F64, -1.0)), "a negative float for an unsigned type")
    elif type_.is_int and ("int" in a.kinds or stored):
        require_between(
            e,
            int(max(type_.min, I64.min)),
            int(min(type_.max, I64.max)),
            require,
            f"a number that does not fit {type_}",
        )
    if type_ is F32 and e.type.is_int and "int" in a.kinds:
        e = cast(F64, e)  # Python's integers are rounded twice
    return Scalar(cast(type_, e), frozenset({kind}))


FUNCTIONS = {
    "sqrt": ("sqrt", ">=", 0.0), "exp": ("exp", "<", 709.0), "log": ("log", ">", 0.0), "sin": ("sin", None, 0.0),
    "cos": ("cos", None, 0.0), "tan": ("tan", None, 0.0), "atan": ("atan", None, 0.0), "tanh": ("tanh", None, 0.0),
    "erf": ("erf", None, 0.0), "fabs": ("", None, 0.0),
}  # fmt: skip
"""Functions of `math` and where they are defined: relation and bound of the argument."""


def function(name: str, numpy: bool, a: Scalar, require: Require) -> Scalar:
    """A function of `math`, or NumPy's of that name."""
    called, relation, bound = FUNCTIONS[name]
    value = converted(a, F64, require) if not a.expr.type.is_float else a.expr
    if not numpy:
        value = cast(F64, value)
        if relation is not None:
            require(apply(relation, value, const(F64, bound)), f"{name} of a number outside its domain")
        if called in ("sin", "cos", "tan"):
            require(apply("<", apply("abs", value), const(F64, math.inf)), f"{name} of an infinity")
        return Scalar(intrinsic(called, value), frozenset({"float"}))
    if value.type is not F64:
        raise Untyped(f"np.{name} of f32")
    return Scalar(intrinsic(called, value), frozenset({"np.float64"}))


def is_parameter(expr: Expr) -> bool:
    """Is it a number that stays the same, and is known when the loop begins?"""
    return isinstance(expr, Var) and expr.name.startswith("k") and not expr.name.startswith("kind_")


NOT_POSITIVE = "a divisor that is not positive"
"""Why a plan does not fit a divisor: then its number is read as a literal."""
