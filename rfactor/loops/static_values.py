"""Evaluate expressions of a file that is read and not run.

Operations on stand-ins are computed here, one by one, and only those that are known to be small and to change nothing;
everything else is `Unknown`. No code of the file is ever compiled to be run.
"""

from __future__ import annotations

import ast
import builtins
import operator
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from rfactor.loops import purity
from rfactor.loops.stand_ins import LENGTH, Guess, Thing, Unknown, annotated, is_plain

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift, ast.RShift: operator.rshift,
}  # fmt: skip
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
_LARGEST = 1 << 128
_MADE = frozenset({"zeros", "ones", "empty", "full"})
_OF_ARRAYS = frozenset(
    """array asarray ascontiguousarray zeros_like ones_like empty_like full_like abs absolute sqrt cumsum cumprod diff
    sum prod min max mean std var argmin argmax where clip round floor ceil exp log log2 log10 sin cos tan maximum
    minimum sign concatenate stack sort argsort unique float_power power mod isnan isfinite frombuffer ravel transpose
    iinfo finfo dtype result_type bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_not flip
    median percentile quantile arange linspace eye identity""".split()  # noqa: SIM905
)
"""NumPy's functions that are called on stand-ins."""
_MATH = frozenset(
    """sqrt exp log log2 log10 sin cos tan atan atan2 tanh erf fabs floor ceil inf isnan isfinite isinf hypot gcd trunc
    copysign radians degrees pow isqrt""".split()  # noqa: SIM905
)
_BUILT_IN: tuple[Any, ...] = (
    len, int, float, bool, str, abs, min, max, sum, sorted, list, tuple, set, frozenset, dict, ord, chr, round, divmod,
    bytes, bytearray, complex, any, all, reversed, enumerate, zip, repr, bin,
    hex, oct, pow,
)  # fmt: skip


class Scope:
    """Look up the names of a piece of a file."""

    def __init__(self, names: dict[str, Any], around: Mapping[str, Any]) -> None:
        self.names, self.around = names, around

    def __getitem__(self, name: str) -> Any:
        for known in (self.names, self.around, vars(builtins)):
            if name in known:
                value = known[name]
                return value.value if isinstance(value, Guess) else value
        return Unknown(name)


Inside = Callable[[FunctionType, list[Any], dict[str, Any]], Any]


class Values:
    """Evaluate expressions; `inside` gives what a function of the file returns."""

    def __init__(self, inside: Inside | None = None) -> None:
        self.inside = inside

    def of(self, node: ast.expr, scope: Scope) -> Any:
        """Give the value of an expression, `Unknown` where it is not to be had without running the file."""
        try:
            with np.errstate(all="ignore"):
                return self._of(node, scope)
        except (ArithmeticError, TypeError, ValueError, LookupError, AttributeError, RecursionError, MemoryError):
            return Unknown(ast.unparse(node))

    def _of(self, node: ast.expr, scope: Scope) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return scope[node.id]
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            return self._display(node, scope)
        if isinstance(node, ast.Dict):
            pairs = [(self.of(k, scope), self.of(v, scope)) for k, v in zip(node.keys, node.values, strict=True) if k]
            return dict(pairs)
        if isinstance(node, ast.BinOp):
            return self._binary(node, self.of(node.left, scope), self.of(node.right, scope))
        if isinstance(node, ast.UnaryOp):
            value = self.of(node.operand, scope)
            return _UNARY[type(node.op)](value) if is_plain(value) else Unknown(ast.unparse(node))
        if isinstance(node, ast.BoolOp):
            values = [self.of(v, scope) for v in node.values]
            return values[-1] if is_plain(values[-1]) else values[0]
        if isinstance(node, ast.Compare):
            return self._compare(node, scope)
        if isinstance(node, ast.IfExp):
            values = [self.of(node.body, scope), self.of(node.orelse, scope)]
            return next((v for v in values if v is not None and is_plain(v)), values[0])
        if isinstance(node, ast.Subscript):
            return self._element(self.of(node.value, scope), node.slice, scope)
        if isinstance(node, ast.Attribute):
            return self._attribute(self.of(node.value, scope), node)
        if isinstance(node, ast.Call):
            return self._call(node, scope)
        if isinstance(node, ast.JoinedStr):
            return "text"
        if isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
            return self._comprehension(node, scope)
        if isinstance(node, ast.Lambda):
            body = ast.copy_location(ast.Return(node.body), node)
            tree = ast.FunctionDef(
                "lambda_", node.args, [body], [], None, lineno=node.lineno, col_offset=node.col_offset
            )
            return stand_in_function(ast.fix_missing_locations(tree), {**scope.around, **scope.names}, self, scope)
        if isinstance(node, ast.NamedExpr):
            value = scope.names[node.target.id] = self.of(node.value, scope)
            return value
        return Unknown(ast.unparse(node))

    def _display(self, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Any:
        values: list[Any] = []
        for e in node.elts:
            if isinstance(e, ast.Starred):
                part = self.of(e.value, scope)
                values += list(part)[:LENGTH] if isinstance(part, list | tuple | range) else [Unknown()]
            else:
                values.append(self.of(e, scope))
        return values if isinstance(node, ast.List) else tuple(values) if isinstance(node, ast.Tuple) else set(values)

    def _binary(self, node: ast.BinOp, a: Any, b: Any) -> Any:
        if not (is_plain(a) and is_plain(b)):
            return Unknown(ast.unparse(node))
        for many, times in ((a, b), (b, a)):
            if (
                isinstance(many, list | tuple | str | bytes)
                and isinstance(times, int)
                and isinstance(node.op, ast.Mult)
            ):
                return (many * min(times, LENGTH))[: max(LENGTH, len(many))]
        if (
            isinstance(node.op, ast.Pow | ast.LShift)
            and isinstance(a, int)
            and isinstance(b, int)
            and not 0 <= b <= 128
        ):
            return (
                Unknown(ast.unparse(node)) if b > 0 else a ** (b % 2 - 1) if isinstance(node.op, ast.Pow) and a else 0
            )
        if isinstance(node.op, ast.Mod) and isinstance(a, str | bytes):
            return "text"
        found = _BINARY[type(node.op)](a, b)
        if type(found) is int and abs(found) > _LARGEST:
            return Unknown(ast.unparse(node))
        return found[: 4 * LENGTH] if isinstance(found, list | tuple | str | bytes) else found

    def _compare(self, node: ast.Compare, scope: Scope) -> Any:
        values = [self.of(v, scope) for v in (node.left, *node.comparators)]
        if (
            len(values) == 2
            and all(is_plain(v) for v in values)
            and type(node.ops[0]) in _COMPARE
            and any(isinstance(v, np.ndarray | np.generic) for v in values)
        ):
            return _COMPARE[type(node.ops[0])](*values)
        return True

    def _element(self, base: Any, index: ast.expr, scope: Scope) -> Any:
        if not is_plain(base):
            return Unknown()
        if isinstance(index, ast.Slice):
            parts = [None if e is None else self.of(e, scope) for e in (index.lower, index.upper, index.step)]
            if any(isinstance(p, Unknown) for p in parts):
                return base
            found = base[slice(*parts)]
            return found if len(found) else base[:]
        if isinstance(index, ast.Tuple) and isinstance(base, np.ndarray):
            if any(isinstance(e, ast.Slice) for e in index.elts):
                keep = sum(isinstance(e, ast.Slice) for e in index.elts)
                return base[(0,) * (base.ndim - keep)] if keep < base.ndim else base
            return base[(0,) * min(base.ndim, len(index.elts))]
        at = self.of(index, scope)
        if isinstance(base, dict):
            return base[at] if is_plain(at) and _hashable(at) and at in base else next(iter(base.values()), Unknown())
        if isinstance(at, np.ndarray):
            return base[at] if at.dtype.kind in "b" and at.shape == base.shape else base
        if isinstance(base, str | bytes | list | tuple | range | np.ndarray | deque | bytearray) and len(base):
            fits = isinstance(at, int | np.integer) and -len(base) <= at < len(base)
            return base[int(at) if fits else 0]
        return Unknown()

    def _attribute(self, base: Any, node: ast.Attribute) -> Any:
        if isinstance(base, ModuleType):
            return vars(base).get(node.attr, getattr(base, node.attr, Unknown(node.attr)))
        if isinstance(base, np.ndarray | np.generic) and node.attr in (
            "shape",
            "size",
            "ndim",
            "dtype",
            "T",
            "real",
            "imag",
            "nbytes",
            "itemsize",
        ):
            return getattr(base, node.attr)
        if isinstance(base, int | float | complex) and node.attr in ("real", "imag"):
            return getattr(base, node.attr)
        if type(base) in (np.iinfo, np.finfo) and node.attr in ("min", "max", "eps", "bits", "tiny"):
            return getattr(base, node.attr)
        if isinstance(base, type) and issubclass(base, np.generic | int | float | str | dict):
            return getattr(base, node.attr, Unknown(node.attr))
        return base.attribute(node.attr) if isinstance(base, Thing) else Unknown(ast.unparse(node))

    # -- calls ---------------------------------------------------------------------------------------------------------

    def _call(self, node: ast.Call, scope: Scope) -> Any:
        args = [self.of(a, scope) for a in node.args if not isinstance(a, ast.Starred)]
        keywords = {k.arg: self.of(k.value, scope) for k in node.keywords if k.arg}
        if isinstance(node.func, ast.Attribute):
            base = self.of(node.func.value, scope)
            if not isinstance(base, ModuleType | type | Unknown | FunctionType):
                return self._method(base, node.func.attr, args)
        function: Any = self.of(node.func, scope)
        if isinstance(function, FunctionType) and "rfactor_definition" in vars(function):
            return Unknown(ast.unparse(node)) if self.inside is None else self.inside(function, args, keywords)
        if function in (map, filter) and len(args) > 1:
            return self._mapped(function, args)
        if function is defaultdict and len(args) == 1 and isinstance(args[0], FunctionType) and self.inside is not None:
            start = self.inside(args[0], [], {})
            return defaultdict(lambda: start) if is_plain(start) else Unknown("defaultdict")
        if any(isinstance(a, FunctionType | Unknown) for a in (*args, *keywords.values())):
            return self._typed_anyway(function)
        return self._known(function, args, keywords)

    def _mapped(self, function: Any, args: list[Any]) -> Any:
        """Give a list of what `map` or `filter` would give first."""
        first = [first_of(a) for a in args[1:]]
        if function is filter or any(isinstance(v, Unknown) for v in first):
            return [first[0]] * LENGTH if is_plain(first[0]) else Unknown("map")
        own = isinstance(args[0], FunctionType) and "rfactor_definition" in vars(args[0]) and self.inside is not None
        found = self.inside(args[0], first, {}) if own else self._known(args[0], first, {})  # type: ignore[misc]
        return [found] * LENGTH if is_plain(found) else Unknown("map")

    def _typed_anyway(self, function: Any) -> Any:
        """Give what the function alone tells."""
        if function in (int, len, ord, round):
            return 1
        return (
            {float: 1.0, bool: True, str: "text"}.get(function, Unknown()) if isinstance(function, type) else Unknown()
        )

    def _known(self, function: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        name = getattr(function, "__name__", "")
        if function is range:
            return range(*args)
        if function in (Counter, defaultdict, deque):
            return (
                function(*args) if function is not defaultdict or not args or isinstance(args[0], type) else Unknown()
            )
        if function in (int, float) and args and isinstance(args[0], str):
            return function(1)
        if function in _BUILT_IN:
            found = function(*args, **{k: v for k, v in keywords.items() if k in ("start", "default", "reverse")})
            return list(found)[:LENGTH] if isinstance(found, reversed | enumerate | zip) else found
        module = (getattr(function, "__module__", None) or "").split(".")[0]
        if module == "math" and name in _MATH:
            return function(*args)
        if isinstance(function, type) and issubclass(function, np.generic):
            return function(*args)
        if (module == "numpy" or isinstance(function, np.ufunc)) and vars(np).get(name, self) is function:
            if name in _MADE:
                return getattr(np, name)(_small(args[0] if args else keywords.pop("shape")), *args[1:], **keywords)
            if name in ("arange", "linspace", "eye", "identity"):
                return getattr(np, name)(*map(_small, args), **keywords)
            if name in _OF_ARRAYS:
                return function(*args, **keywords)
        return Unknown(name)

    def _method(self, base: Any, name: str, args: list[Any]) -> Any:
        if (
            not isinstance(base, purity.BASES)
            or name not in purity.METHODS
            or any(isinstance(a, Unknown) for a in args)
        ):
            return Unknown(name)
        if any(isinstance(a, int) and abs(a) > 4 * LENGTH for a in args):
            args = [min(a, LENGTH) if isinstance(a, int) else a for a in args]
        if name in ("index", "find", "rfind", "count"):
            return 0
        found = getattr(base, name)(*args)
        if isinstance(base, str) and name in ("split", "splitlines", "rsplit") and len(found) < 2:
            return ["1"] * 9
        return list(found) if type(found).__name__.startswith("dict_") else found

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, scope: Scope) -> Any:
        inner = Scope(dict(scope.names), scope.around)
        for g in node.generators:
            self.bind(g.target, first_of(self.of(g.iter, inner)), inner.names)
        if isinstance(node, ast.DictComp):
            return {self.of(node.key, inner): self.of(node.value, inner)}
        element = self.of(node.elt, inner)
        return {element} if isinstance(node, ast.SetComp) else [element] * LENGTH

    def bind(self, target: ast.expr, value: Any, names: dict[str, Any]) -> None:
        """Give the names of a target their values."""
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.Starred):
            self.bind(target.value, [value] * LENGTH, names)
        elif isinstance(target, ast.Tuple | ast.List):
            parts: list[Any] = [Unknown()] * len(target.elts)
            if isinstance(value, tuple | list | str | np.ndarray) and len(value) >= len(target.elts):
                parts = [value[k] for k in range(len(target.elts))]
            for t, v in zip(target.elts, parts, strict=True):
                self.bind(t, v, names)


def first_of(value: Any) -> Any:
    """Give the first element of what is walked over."""
    if isinstance(value, dict | set | frozenset | list | tuple | str | bytes | range | np.ndarray | deque) and len(
        value
    ):
        return next(iter(value))
    return Unknown()


def _small(shape: Any) -> Any:
    """Give a shape, or a bound of a range, of few elements."""
    if isinstance(shape, tuple | list):
        return tuple(min(int(n), LENGTH if len(shape) < 3 else 29) for n in shape)
    return min(int(shape), LENGTH) if isinstance(shape, int | np.integer) else shape


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def stand_in_function(tree: ast.FunctionDef, around: dict[str, Any], values: Values, scope: Scope) -> FunctionType:
    """Make a function object that has a definition and no code: it is read where a real one is, and cannot be run."""
    made = _stub(tree.name, around)
    spec = tree.args
    made.__defaults__ = tuple(values.of(d, scope) for d in spec.defaults) or None
    pairs = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    made.__kwdefaults__ = {a.arg: values.of(d, scope) for a, d in pairs if d is not None} or None
    vars(made)["rfactor_definition"] = tree
    vars(made)["rfactor_returns"] = None if tree.returns is None else annotated(tree.returns)
    return made


def _not_run(*_: Any, **__: Any) -> Any:
    raise AssertionError("this function is read, not run")


def _stub(name: str, around: dict[str, Any]) -> FunctionType:
    made = FunctionType(_not_run.__code__, around, name)
    made.__qualname__ = name
    made.__module__ = str(around.get("__name__", ""))
    return made
