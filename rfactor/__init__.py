"""rfactor: finds the associative operator hidden in a serial reduction, proves it, and compiles the loop to
parallel vector code that gives the serial answer.

`import rfactor as hl` offers the language (names and meanings of Halide's Python bindings) and `check`. Everything is
imported when first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_LANGUAGE = "rfactor.compiler.language."
_HOME = {
    **dict.fromkeys(("Int", "UInt", "Float", "Bool", "Type"), _LANGUAGE + "types"),
    **dict.fromkeys(("Var", "RVar", "RDom", "Param"), _LANGUAGE + "variables"),
    **dict.fromkeys(("Buffer", "ImageParam"), _LANGUAGE + "buffer"),
    **dict.fromkeys(("Func", "FuncRef"), _LANGUAGE + "func"),
    **dict.fromkeys(
        (
            "select", "mux", "min", "max", "clamp", "abs", "absd", "cast", "saturating_cast", "likely",
            "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64",
            "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "floor", "ceil", "round", "trunc", "pow",
        ),
        _LANGUAGE + "functions",
    ),
    **dict.fromkeys(
        ("Target", "TargetArch", "TargetOS", "get_host_target", "get_jit_target_from_environment",
         "get_target_from_environment"),
        _LANGUAGE + "target",
    ),
    **dict.fromkeys(("Argument", "ArgumentKind", "OutputFileType", "StmtOutputFormat"), _LANGUAGE + "arguments"),
    "TargetFeature": _LANGUAGE + "target_features",
    "Pipeline": _LANGUAGE + "pipeline",
    "Callable": _LANGUAGE + "callable",
    "Expr": _LANGUAGE + "expr",
    "Tuple": _LANGUAGE + "tuple",
    "Stage": _LANGUAGE + "stage",
    "LoopLevel": _LANGUAGE + "loop_level",
    "TailStrategy": "rfactor.compiler.schedule.directives",
    "check": "rfactor.matcher.check",
    "Error": "rfactor.errors",
    **dict.fromkeys(("sum", "product", "maximum", "minimum", "argmax", "argmin"), _LANGUAGE + "reductions"),
}  # fmt: skip
"""Where each public name lives."""

_NOT_YET = frozenset(
    [
        "OutputImageParam",
        "BoundaryConditions",
        "ConciseCasts",
        "Derivative",
        "propagate_adjoints",
        "print",
        "print_when",
        "random_float",
        "random_int",
        "random_uint",
        "sum_unchecked",
        "undef",
        "strict_float",
        "fast_exp",
        "fast_log",
        "fast_pow",
        "fast_inverse",
        "fast_inverse_sqrt",
        "fast_sin",
        "fast_cos",
        "asin",
        "acos",
        "atan",
        "atan2",
        "sinh",
        "cosh",
        "asinh",
        "acosh",
        "atanh",
        "hypot",
        "erf",
        "lerp",
        "popcount",
        "count_leading_zeros",
        "count_trailing_zeros",
        "is_nan",
        "is_inf",
        "is_finite",
        "reinterpret",
        "gather",
        "scatter",
        "widening_add",
        "widening_mul",
        "rounding_shift_right",
        "require",
        "memoize_tag",
        "Generator",
        "generator",
        "GeneratorContext",
        "GeneratorParam",
        "InputBuffer",
        "InputScalar",
        "OutputBuffer",
        "OutputScalar",
        "ExternFuncArgument",
        "define_extern",
        "EvictionKey",
        "PrefetchBoundStrategy",
        "MemoryType",
        "NameMangling",
        "DeviceAPI",
        "Internal",
        "load_plugin",
        "unpredictable",
        "cross_entropy",
        "target_feature_for_device_api",
        "BF16",
        "BFloat",
    ]
)
"""Names of Halide's Python bindings that have no meaning here yet."""


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is not None:
        value = globals()[name] = getattr(import_module(home), name)
        return value
    if name in _NOT_YET:
        raise NotImplementedError(f"rfactor.{name} is not there yet")
    raise AttributeError(f"module 'rfactor' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
