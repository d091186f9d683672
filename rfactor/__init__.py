"""rfactor: finds the associative operator hidden in a serial reduction, proves it, and compiles the loop to
parallel vector code that gives the serial answer.

`import rfactor as hl` offers the language (names and meanings of Halide's Python bindings) and `check`. Everything is
imported when first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for the types of what is decorated
    from rfactor.errors import FoldError as FoldError
    from rfactor.loops.fold import FoldWarning as FoldWarning
    from rfactor.loops.fold import fold as fold

__version__ = "0.1.0"

_LANGUAGE = "rfactor.compiler.language."
_HOME = {
    **dict.fromkeys(("Int", "UInt", "Float", "BFloat", "Bool", "Handle", "Type", "TypeCode"), _LANGUAGE + "types"),
    **dict.fromkeys(("Var", "RVar", "RDom", "Range", "Param"), _LANGUAGE + "variables"),
    **dict.fromkeys(("_", *(f"_{i}" for i in range(10))), _LANGUAGE + "variables"),
    **dict.fromkeys(("Buffer", "ImageParam"), _LANGUAGE + "buffer"),
    "BufferDimension": _LANGUAGE + "region",
    **dict.fromkeys(("Dimension", "OutputImageParam"), _LANGUAGE + "images"),
    **dict.fromkeys(
        (
            "vars", "funcs", "lambda_func", "evaluate", "evaluate_may_gpu", "memoize_tag", "print", "print_when",
            "require",
        ),
        _LANGUAGE + "shorthands",
    ),
    **dict.fromkeys(("random_uint", "random_int", "random_float"), _LANGUAGE + "chance"),
    "Func": _LANGUAGE + "func",
    **dict.fromkeys(("FuncRef", "FuncTupleElementRef"), _LANGUAGE + "references"),
    **dict.fromkeys(
        (
            "select", "mux", "min", "max", "clamp", "abs", "absd", "lerp", "cast", "saturating_cast", "reinterpret",
            "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
            "i8_sat", "i16_sat", "i32_sat", "i64_sat", "u8_sat", "u16_sat", "u32_sat", "u64_sat",
            "likely", "likely_if_innermost", "strict_float", "unsafe_promise_clamped", "logical_not",
        ),
        _LANGUAGE + "functions",
    ),
    **dict.fromkeys(
        ("Target", "get_host_target", "get_jit_target_from_environment", "get_target_from_environment",
         "host_supports_target_device"),
        _LANGUAGE + "target",
    ),
    **dict.fromkeys(
        ("target_arch_is", "target_bits", "target_has_feature", "target_natural_vector_size", "target_os_is"),
        _LANGUAGE + "target_queries",
    ),
    **dict.fromkeys(
        ("ArgInfo", "ArgInfoDirection", "ArgInfoKind", "Argument", "ArgumentEstimates", "ArgumentKind",
         "OutputFileType", "StmtOutputFormat"),
        _LANGUAGE + "arguments",
    ),
    **dict.fromkeys(
        ("LinkageType", "Module", "NameMangling", "compile_standalone_runtime", "link_modules"), _LANGUAGE + "module"
    ),
    **dict.fromkeys(("DeviceAPI", "target_feature_for_device_api"), _LANGUAGE + "devices"),
    "Parameter": _LANGUAGE + "parameter",
    **dict.fromkeys(("InputBuffer", "InputScalar", "OutputBuffer", "OutputScalar"), _LANGUAGE + "ports"),
    **dict.fromkeys(("Derivative", "propagate_adjoints"), _LANGUAGE + "derivative"),
    "VarOrRVar": _LANGUAGE + "var_or_rvar",
    **dict.fromkeys(
        ("MemoryType", "Partition", "PrefetchBoundStrategy", "LoopAlignStrategy", "EvictionKey"), _LANGUAGE + "hints"
    ),
    **dict.fromkeys(
        ("TargetArch", "TargetFeature", "TargetOS", "TargetProcessorTune"), _LANGUAGE + "target_features"
    ),
    "Pipeline": _LANGUAGE + "pipeline",
    "Callable": _LANGUAGE + "callable",
    "Expr": _LANGUAGE + "expr",
    "Tuple": _LANGUAGE + "tuple",
    "Stage": _LANGUAGE + "stage",
    "LoopLevel": _LANGUAGE + "loop_level",
    **dict.fromkeys(
        (
            "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh",
            "acosh", "atanh", "floor", "ceil", "round", "trunc", "fract", "pow", "hypot", "fma", "erf", "is_nan",
            "is_inf", "is_finite", "fast_exp", "fast_log", "fast_sin", "fast_cos", "fast_pow", "fast_inverse",
            "fast_inverse_sqrt",
        ),
        _LANGUAGE + "mathematics",
    ),
    **dict.fromkeys(
        (
            "popcount", "count_leading_zeros", "count_trailing_zeros", "concat_bits", "extract_bits",
            "div_round_to_zero", "mod_round_to_zero", "saturating_add", "saturating_sub",
            "widening_add", "widening_sub", "widening_mul", "widen_right_add", "widen_right_sub", "widen_right_mul",
            "halving_add", "halving_sub", "rounding_halving_add", "rounding_shift_left", "rounding_shift_right",
            "widening_shift_left", "widening_shift_right", "mul_shift_right", "rounding_mul_shift_right",
        ),
        _LANGUAGE + "integers",
    ),
    **dict.fromkeys(("gather", "scatter"), _LANGUAGE + "several"),
    "undef": _LANGUAGE + "undefined",
    "TailStrategy": "rfactor.compiler.schedule.directives",
    "check": "rfactor.matcher.check",
    **dict.fromkeys(("fold", "FoldWarning"), "rfactor.loops.fold"),
    **dict.fromkeys(("Error", "FoldError"), "rfactor.errors"),
    "HalideError": "rfactor.errors",
    **dict.fromkeys(("sum", "product", "maximum", "minimum", "argmax", "argmin"), _LANGUAGE + "reductions"),
}  # fmt: skip
"""Where each public name lives."""
_MODULES = {"BoundaryConditions": _LANGUAGE + "boundary_conditions", "imageio": "rfactor.imageio"}
"""Public names that are modules."""

__all__ = sorted(
    name for name in {*_HOME, *_MODULES} - {"check", "Error"} | {"install_dir"} if not name.startswith("_")
)
"""What `from rfactor import *` brings: the language, as `from halide import *` does."""

_NOT_YET = frozenset(
    """
    _create_python_generator _generator_helpers _generatorcontext_enter _generatorcontext_exit
    _get_python_generator_names active_generator_context alias
    AutoschedulerParams AutoSchedulerResults create_callable_from_generator
    deserialize_parameters deserialize_pipeline ExternFuncArgument Generator generator GeneratorContext GeneratorParam
    load_plugin main serialize_pipeline user_context_value
    """.split()  # noqa: SIM905 - a list this long is read as text
)
"""Names of Halide's Python bindings that have no meaning here: see docs/language.md."""


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is not None:
        value = made = getattr(import_module(home), name)
        if home.startswith(_LANGUAGE) and not isinstance(value, type):
            value = import_module(_LANGUAGE + "public").public(made)
            if value is not made:
                value.__module__ = __name__  # where pickles find it
        return globals().setdefault(name, value)
    if name in _MODULES:
        module = globals()[name] = import_module(_MODULES[name])
        return module
    if name in _NOT_YET:
        raise NotImplementedError(f"rfactor.{name} is not there")
    raise AttributeError(f"module 'rfactor' has no attribute {name!r}")


def install_dir() -> str:
    """The folder of this package."""
    from pathlib import Path

    return str(Path(__file__).parent)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
