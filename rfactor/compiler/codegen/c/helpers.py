"""Functions in C99 that give each operation the meaning that `native` gives it: total, and the same bits."""

from __future__ import annotations

from collections.abc import Callable

from rfactor.compiler.codegen.c.types import constant, short, unsigned, value_type
from rfactor.ir.expr import Const
from rfactor.ir.intrinsics import INTRINSICS, Intrinsic
from rfactor.ir.types import F32, F64, I64, U64, Type
from rfactor.native.output import LONGEST

HALF = """\
/* f16: the float nearest to `value` that f16 holds, ties to even. */
static inline float rf_half(double value) {
    int exponent;
    if (value == 0 || value != value || value - value != 0) return (float)value;
    (void)frexp(value, &exponent);
    const int last = exponent - 11 < -24 ? -24 : exponent - 11; /* the weight of the last bit */
    const double nearest = ldexp(rint(ldexp(value, -last)), last);
    return (float)(fabs(nearest) > 65504 ? copysign(INFINITY, value) : nearest);
}
static inline uint16_t rf_half_bits(float value) {
    int exponent;
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    if (value != value) return sign | 0x7e00;
    if (value - value != 0) return sign | 0x7c00;
    if (value == 0) return sign;
    const double part = frexp(fabs((double)value), &exponent); /* at least 1/2, below 1 */
    if (exponent < -13) return sign | (uint16_t)ldexp(fabs((double)value), 24);
    return sign | (uint16_t)((uint32_t)(exponent + 14) << 10 | ((uint32_t)ldexp(part, 11) & 0x3ff));
}
static inline float rf_half_value(uint16_t bits) {
    const int exponent = bits >> 10 & 31, part = bits & 0x3ff;
    const double size = exponent == 31 ? (part ? NAN : INFINITY)
                      : exponent ? ldexp(part + 1024, exponent - 25) : ldexp(part, -24);
    return (float)(bits >> 15 ? -size : size);
}
"""
"""f16 in two bytes and as a float, whatever the compiler has of it."""
BFLOAT = """\
/* bf16: the float nearest to `value` that bf16 holds, ties to even. */
static inline float rf_bfloat_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
static inline uint16_t rf_bfloat_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(bits >> 16);
}
static inline float rf_bfloat(double value) {
    const float single = (float)value;
    const double back = single;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    if (value != value) return rf_bfloat_value((uint16_t)(bits >> 16 | 0x40));
    if (fabs(back) > fabs(value)) --bits; /* rounded to odd, so that only the second rounding counts */
    if (back != value) bits |= 1;
    return rf_bfloat_value((uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
}
static inline float rf_bfloat_of_i64(int64_t value) {
    const int64_t odd = value >> 16 | ((value & 0xffff) != 0);
    return rf_bfloat(fabs((double)value) < 0x1p52 ? (double)value : (double)odd * 65536);
}
static inline float rf_bfloat_of_u64(uint64_t value) {
    const uint64_t odd = value >> 16 | ((value & 0xffff) != 0);
    return rf_bfloat((double)value < 0x1p52 ? (double)value : (double)odd * 65536);
}
"""
"""bf16 in two bytes and as a float."""
REFUSE = """\
static inline void rf_refuse(bool refused, int32_t *failure, int32_t number) {
    if (refused && !*failure) *failure = number;
}
"""

LINE = f"""\
#include <stdarg.h>
#include <stdio.h>
/* Prints a line, which is cut off after {LONGEST - 1} bytes. */
static void rf_line(const char *form, ...) {{
    char line[{LONGEST}];
    va_list values;
    va_start(values, form);
    vsnprintf(line, sizeof line, form, values);
    va_end(values);
    puts(line);
}}
"""

_WORDS = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "//": "quotient", "%": "remainder", "min": "min", "max": "max",
    "neg": "neg", "abs": "abs", "<<": "shl", ">>": "shr",
}  # fmt: skip
PLAIN = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "==": "==", "!=": "!=", "and": "&", "or": "|"}
"""Operations that C has as they are."""


def operation(op: str, type: Type) -> tuple[str, str]:
    """The name of the function for `op` on operands of `type`, and its definition."""
    name, c = f"rf_{_WORDS[op]}_{type}", value_type(type)
    one = op in ("neg", "abs")
    body = (_real_body if type.is_float else _whole_body)(op, type)
    arguments = f"{c} a" if one else f"{c} a, {c} b"
    return name, f"static inline {c} {name}({arguments}) {{ {body} }}\n"


def _real_body(op: str, type: Type) -> str:
    if op in ("min", "max"):
        sign = "signbit(a)" if op == "min" else "!signbit(a)"
        relation = "<" if op == "min" else ">"
        return f"return a != a ? a : b != b ? b : a == b ? ({sign} ? a : b) : a {relation} b ? a : b;"
    if op == "neg":
        return "return -a;"
    if op == "abs":
        return f"return fabs{'' if type.bits == 64 else 'f'}(a);"
    return f"return {_rounded(type, f'a {op} b')};"


def _rounded(type: Type, text: str) -> str:
    return f"{short(type)}({text})" if short(type) else text


def _whole_body(op: str, type: Type) -> str:
    c, u = value_type(type), unsigned(type)
    if op in ("+", "-", "*"):
        return f"return ({c})(({u})a {op} ({u})b);"
    if op in ("min", "max"):
        return f"return a {'<' if op == 'min' else '>'} b ? a : b;"
    if op == "neg":
        return f"return ({c})(0 - ({u})a);"
    if op == "abs":
        return f"return a < 0 ? ({c})(0 - ({u})a) : a;" if type.is_signed else "return a;"
    if op in ("<<", ">>"):
        return _shift_body(op, type)
    if not type.is_signed:
        return f"return b ? ({c})(a {'/' if op == '//' else '%'} b) : 0;"
    if op == "//":
        return (
            f"if (b == 0) return 0; if (b == -1) return ({c})(0 - ({u})a); "
            f"const {c} q = ({c})(a / b); return a % b < 0 ? ({c})(b < 0 ? q + 1 : q - 1) : q;"
        )
    return (
        f"if (b == 0 || b == -1) return 0; const {c} r = ({c})(a % b); return r < 0 ? ({c})(b < 0 ? r - b : r + b) : r;"
    )


def _shift_body(op: str, type: Type) -> str:
    c, u, bits = value_type(type), unsigned(type), type.bits
    own = f"uint{bits}_t"

    def toward(op: str, count: str) -> str:
        if op == "<<":
            return f"({count} < {bits} ? ({c})(({u})a << {count}) : 0)"
        if type.is_signed:
            return f"({c})(a >> ({count} < {bits} ? {count} : {bits - 1}))"
        return f"({count} < {bits} ? ({c})(a >> {count}) : 0)"

    if not type.is_signed:
        return f"return {toward(op, 'b')};"
    other = ">>" if op == "<<" else "<<"
    return (
        f"const {own} n = b < 0 ? ({own})(0 - ({u})b) : ({own})b; "
        f"return b < 0 ? {toward(other, 'n')} : {toward(op, 'n')};"
    )


def cast(old: Type, new: Type) -> tuple[str, str | None]:
    """The name of what turns a value of `old` into one of `new`, and its definition if it needs one."""
    if new.is_float:
        rounds = short(new)
        if rounds is None or old == new:
            return f"({value_type(new)})", None
        return f"{rounds}_of_{old}" if new.is_bfloat and old in (I64, U64) else rounds, None
    if new.is_bool or not old.is_float:
        return f"({value_type(new)})", None
    name, c, v = f"rf_{new}_of_{old}", value_type(new), value_type(old)
    wide = F64 if old.bits == 64 else F32
    least, beyond = constant(Const(wide, float(new.min))), constant(Const(wide, float(int(new.max) + 1)))
    lowest, highest = constant(Const(new, new.min)), constant(Const(new, new.max))
    body = f"return a != a ? 0 : a < {least} ? {lowest} : a >= {beyond} ? {highest} : ({c})a;"
    return name, f"static inline {c} {name}({v} a) {{ {body} }}\n"


def function(called: str, type: Type) -> tuple[str, str]:
    """The name of the function for the intrinsic `called` of arguments of `type`, and its definition."""
    row = INTRINSICS[called]
    name = f"rf_{called}_{type}"
    make: Callable[[Intrinsic, Type, str], str] = _real_function
    if row.takes == "bits":
        make = _reinterpreted
    elif row.takes == "integer":
        make = _counted
    return name, make(row, type, name)


def of_lines(name: str, type: Type, parameters: list[str], lines: list[str], value: str) -> tuple[str, str]:
    """A function of floats by name, and its definition: `lines`, after which `value` is what it gives."""
    body = "".join(f"    {line}\n" for line in (*lines, f"return {_rounded(type, value)};"))
    c = value_type(type)
    return name, f"static inline {c} {name}({', '.join(f'{c} {one}' for one in parameters)}) {{\n{body}}}\n"


def _real_function(row: Intrinsic, type: Type, name: str) -> str:
    c = value_type(type)
    routine = (row.libm or {"roundeven": "rint"}.get(str(row.llvm), str(row.llvm))) + ("" if type.bits == 64 else "f")
    names = "abc"[: row.arity]
    given = ", ".join(f"{c} {one}" for one in names)
    called = f"{routine}({', '.join(names)})"
    return f"static inline {c} {name}({given}) {{ return {_rounded(type, called)}; }}\n"


def _counted(row: Intrinsic, type: Type, name: str) -> str:
    c, bits, u = value_type(type), type.bits, f"uint{type.bits}_t"
    test, start = {
        "ctpop": (f"for (; v; v = ({u})(v & (v - 1))) ++n", "0"),
        "ctlz": (f"for (; v; v = ({u})(v >> 1)) --n", str(bits)),
        "cttz": (f"for (; v; v = ({u})((unsigned long long)v << 1)) --n", str(bits)),
    }[str(row.llvm)]
    return f"static inline {c} {name}({c} a) {{ {u} v = ({u})a; {c} n = {start}; {test}; return n; }}\n"


def _reinterpreted(row: Intrinsic, type: Type, name: str) -> str:
    new = row.result(type)
    old_c, new_c = value_type(type), value_type(new)
    if new != type and (short(new) or short(type)):
        bits = f"{short(type)}_bits(a)" if short(type) else "(uint16_t)a"
        inner = f"{short(new)}_value({bits})" if short(new) else f"({new_c}){bits}"
        return f"static inline {new_c} {name}({old_c} a) {{ return {inner}; }}\n"
    return f"static inline {new_c} {name}({old_c} a) {{ {new_c} b; memcpy(&b, &a, sizeof b); return b; }}\n"
