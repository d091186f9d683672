"""Make values that stand for those a function would be called with: of a type that annotations and uses tell.

Nothing of a file is run for them. A stand-in is like what a call would bring in its type and in having many elements;
what its elements are does not matter.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from rfactor.errors import Error

LENGTH = 101
"""Elements of a stand-in for a sequence: more than loops write out, or keep one by one."""
NUMBER = 97
"""The stand-in for an integer."""


class Unknown:
    """Stand for a value of which not even the type is known."""

    def __init__(self, what: str = "") -> None:
        self.what = what

    def __repr__(self) -> str:
        return f"<unknown {self.what}>" if self.what else "<unknown>"


class Thing(Unknown):
    """Stand for an object of which nothing is known but how its attributes are used."""

    def __init__(self, what: str, uses: Uses) -> None:
        super().__init__(what)
        self.uses = uses

    def attribute(self, name: str) -> Any:
        """Give the stand-in for an attribute."""
        return self.uses.guess(f"{self.what}.{name}").value


# Refusals name the type of what is no number.
Unknown.__name__, Thing.__name__ = "unknown value", "object of unknown type"


@dataclass(frozen=True)
class Guess:
    """Hold a stand-in whose type was not written down, and in words what was assumed."""

    value: Any
    text: str


def numbers(dtype: Any = np.int64, shape: tuple[int, ...] = (LENGTH,)) -> Any:
    """Make an array of a type, of elements that differ."""
    count = int(np.prod(shape))
    made = np.arange(count) * 37 % 101 + 1
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (made + 0.5).astype(kind).reshape(shape)
    return made.astype(kind).reshape(shape) if kind.kind in "iub" else np.zeros(shape, kind)


_SCALARS: dict[str, Any] = {
    "int": NUMBER, "float": 1.5, "bool": True, "complex": 1j, "str": "the quick brown fox jumps " * 5,
    "bytes": bytes(range(32, 32 + LENGTH)), "bytearray": bytearray(range(32, 32 + LENGTH)), "None": None,
    "range": range(LENGTH), "object": Unknown("object"), "Any": Unknown("Any"),
}  # fmt: skip
_SEQUENCES = frozenset(
    """list List Sequence Iterable Collection MutableSequence Iterator Generator Reversible deque""".split()  # noqa: SIM905
)
_SETS = frozenset({"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"})
_DICTS = frozenset({"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict"})
_ARRAYS = frozenset({"ndarray", "NDArray", "ArrayLike", "Array"})
_SHORT = re.compile(r"([a-z_]+\d*)\[([:,\s]*)\]")
_DTYPES = {
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
    "u64": "uint64", "f32": "float32", "f64": "float64", "bool": "bool", "int": "int64", "float": "float64",
}  # fmt: skip


def given_type(text: str) -> Any:
    """Give the stand-in for a type that the user says: `f64[:]`, `i32[:, :]`, `int`, `list[float]`. Raise `Error`."""
    found = _SHORT.fullmatch(text.strip())
    if found and ":" in found[2]:
        name = _DTYPES.get(found[1], found[1])
        try:
            return numbers(np.dtype(name), _shape(found[2].count(":")))
        except TypeError:
            raise Error(f"{text}: there is no element type {found[1]}") from None
    if text.strip() in _DTYPES and text.strip() not in _SCALARS:
        return np.dtype(_DTYPES[text.strip()]).type(NUMBER)
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        raise Error(f"{text}: a type is written as int, f64[:] or list[int]") from None
    value = annotated(node)
    if isinstance(value, Unknown):
        raise Error(f"{text}: no type that is known; write int, float, str, f64[:], i32[:, :], list[int] or the like")
    return value.value if isinstance(value, Guess) else value


def _shape(dimensions: int) -> tuple[int, ...]:
    return (LENGTH, 29, 23, 19)[: max(1, min(4, dimensions))]


def annotated(node: ast.expr) -> Any:
    """Give the stand-in of an annotation; a `Guess` where it leaves some open, `Unknown` where it tells nothing."""
    if isinstance(node, ast.Constant):
        if node.value is None:
            return None
        if isinstance(node.value, str):
            try:
                return annotated(ast.parse(node.value, mode="eval").body)
            except SyntaxError:
                return Unknown(node.value)
        return Unknown(ast.unparse(node))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = [annotated(node.left), annotated(node.right)]
        known = [s for s in sides if s is not None and not isinstance(s, Unknown)]
        return known[0] if known else sides[0]
    name = _last(node.value if isinstance(node, ast.Subscript) else node)
    inner = _inner(node)
    if name in ("Optional", "Union", "Final", "Annotated", "ClassVar"):
        found = [annotated(i) for i in inner]
        return next((v for v in found if v is not None and not isinstance(v, Unknown)), Unknown(name))
    if name in _ARRAYS:
        return _array(name, inner)
    if name in ("tuple", "Tuple"):
        if len(inner) == 2 and isinstance(inner[1], ast.Constant) and inner[1].value is Ellipsis:
            return _several(inner[0], tuple)
        return tuple(_plain(annotated(i)) for i in inner) if inner else Guess((NUMBER,) * LENGTH, "tuple[int, ...]")
    if name in _SEQUENCES:
        return _several(inner[0], list) if inner else Guess(_listed(NUMBER, list), "list[int]")
    if name in _SETS:
        return {_plain(annotated(inner[0]))} if inner else Guess({NUMBER}, "set[int]")
    if name in _DICTS:
        if len(inner) == 2:
            return {_hashed(_plain(annotated(inner[0]))): _plain(annotated(inner[1]))}
        return Guess({NUMBER: NUMBER}, "dict[int, int]")
    if name == "Counter":
        return (
            Counter({_hashed(_plain(annotated(inner[0]))): 1}) if inner else Guess(Counter({NUMBER: 1}), "Counter[int]")
        )
    if name == "defaultdict":
        return defaultdict(int, {NUMBER: NUMBER})
    if name in _SCALARS:
        return _SCALARS[name]
    return _scalar_of_numpy(name)


def _scalar_of_numpy(name: str) -> Any:
    kind = getattr(np, name, None) if name else None
    if isinstance(kind, type) and issubclass(kind, np.number | np.bool_) and not kind.__subclasses__():
        return kind(NUMBER)
    return Unknown(name)


def _array(name: str, inner: list[ast.expr]) -> Any:
    dtype = next((_last(i) for i in reversed(inner) for i in (i.slice if isinstance(i, ast.Subscript) else i,)), "")
    try:
        return numbers(np.dtype(_DTYPES.get(dtype, dtype) or "none"))
    except TypeError:
        return Guess(numbers(), "int64[:]")


def _last(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _inner(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript):
        return []
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Guess) else value


def _hashed(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return NUMBER
    return value


def _several(element: ast.expr, form: Callable[[list[Any]], Any]) -> Any:
    found = annotated(element)
    if isinstance(found, Guess):
        return Guess(_listed(found.value, form), f"{form.__name__}[{found.text}]")
    if isinstance(found, Unknown):
        return Guess(_listed(NUMBER, form), f"{form.__name__}[int]")
    return _listed("word" if isinstance(found, str) else found, form)


def _listed(element: Any, form: Callable[[list[Any]], Any]) -> Any:
    return form([element] * LENGTH)


def described(value: Any) -> str:
    """Tell a value's type."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}[{', '.join(':' * value.ndim)}]"
    if isinstance(value, list | tuple) and value and not isinstance(value[0], list | tuple):
        return f"{type(value).__name__}[{described(value[0])}]"
    if isinstance(value, list | tuple) and value:
        return f"{type(value).__name__}[{described_row(value[0])}]"
    if isinstance(value, np.generic):
        return f"np.{value.dtype.name}"
    return "None" if value is None else type(value).__name__


def described_row(row: Any) -> str:
    """Tell the type of an element that is a sequence of its own."""
    return f"{type(row).__name__}[{', '.join(map(described, row[:4]))}{', …' if len(row) > 4 else ''}]"


# -- guesses by use ----------------------------------------------------------------------------------------------------

_TEXT = frozenset(
    """startswith endswith split strip lstrip rstrip upper lower isdigit isalpha isalnum isspace isupper islower
    encode splitlines replace title zfill partition casefold format""".split()  # noqa: SIM905
)
_MAPPING = frozenset({"get", "items", "keys", "values", "setdefault"})
_ARRAY = frozenset(
    {
        "shape",
        "dtype",
        "size",
        "ndim",
        "T",
        "sum",
        "mean",
        "astype",
        "ravel",
        "reshape",
        "min",
        "max",
        "tolist",
        "copy",
        "flat",
    }
)


class Uses:
    """Look up how a function uses its names."""

    def __init__(self, function: ast.AST) -> None:
        self.parents: dict[ast.AST, ast.AST] = {}
        self.targets: dict[str, list[tuple[str, ast.expr]]] = {}
        """By a name that is walked over: the name, or the tuple, that its elements are given."""
        self.names: dict[str, list[ast.expr]] = {}
        for node in ast.walk(function):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
            if isinstance(node, ast.Name):
                self.names.setdefault(node.id, []).append(node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                self.names.setdefault(f"{node.value.id}.{node.attr}", []).append(node)
            if isinstance(node, ast.For | ast.comprehension):
                self._walked(node.iter, node.target)
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.value, ast.Subscript)
                and isinstance(node.targets[0], ast.Tuple)
            ):  # x, y = a[i]
                self._walked(node.value.value, node.targets[0])

    def _walked(self, over: ast.expr, target: ast.expr) -> None:
        if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.args:
            elements = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            if over.func.id == "enumerate" and len(elements) == 2:
                self._walked(over.args[0], elements[1])
            elif over.func.id == "zip" and len(elements) == len(over.args):
                for part, own in zip(over.args, elements, strict=True):
                    self._walked(part, own)
            elif over.func.id in ("reversed", "sorted", "list", "iter", "tuple"):
                self._walked(over.args[0], target)
            elif over.func.id in ("map", "filter") and len(over.args) == 2:
                self._walked(over.args[1], target if over.func.id == "filter" else ast.Name("", ast.Store()))
            return
        if isinstance(over, ast.Subscript):
            over = over.value
        if isinstance(over, ast.Name | ast.Attribute):
            self.targets.setdefault(ast.unparse(over), []).append(("walk", target))

    def guess(self, name: str, deep: int = 0) -> Guess:
        """Give the stand-in that the uses of a name speak for."""
        nodes = self.names.get(name, [])
        attributes = {p.attr for n in nodes if isinstance(p := self.parents.get(n), ast.Attribute)}
        subscripts = [p for n in nodes if isinstance(p := self.parents.get(n), ast.Subscript) and p.value is n]
        if any(isinstance(p := self.parents.get(n), ast.Call) and p.func is n for n in nodes):
            return Guess(Unknown(name), "a function")
        if attributes & {"append", "extend", "pop", "insert"}:
            return Guess([NUMBER] * LENGTH, "list[int]")
        if attributes & {"add", "discard"}:
            return Guess({NUMBER}, "set[int]")
        if attributes & _MAPPING or (subscripts and any(_is_text(s.slice) for s in subscripts)):
            return Guess({NUMBER: NUMBER}, "dict[int, int]")
        if (deep == 0 and self._is_text(nodes)) or attributes & _TEXT:
            return Guess(_SCALARS["str"], "str")
        targets = [t for _, t in self.targets.get(name, [])]
        if targets or subscripts:
            return self._sequence(targets, subscripts, deep)
        if attributes & _ARRAY or self._is_measured(nodes):
            return Guess(numbers(), "int64[:]")
        if attributes:
            return Guess(Thing(name, self), "an object")
        return Guess(1.5, "float") if self._is_float(nodes) else Guess(NUMBER, "int")

    def _sequence(self, targets: list[ast.expr], subscripts: list[ast.Subscript], deep: int) -> Guess:
        fields = self._fields([t for t in targets if isinstance(t, ast.Name)], subscripts)
        if fields:
            made = np.zeros(LENGTH, [(f, np.int64) for f in fields])
            return Guess(made, f"records of int64 {', '.join(fields)}")
        dimensions = 1
        for s in subscripts:
            here = 0
            at: ast.AST | None = s
            while isinstance(at, ast.Subscript):
                here += len(at.slice.elts) if isinstance(at.slice, ast.Tuple) else 1
                parent = self.parents.get(at)
                at = parent if isinstance(parent, ast.Subscript) and parent.value is at else None
            dimensions = max(dimensions, here)
        for target in targets:
            if isinstance(target, ast.Tuple | ast.List):
                shape = (LENGTH, *_unpacked(target))
                return Guess(numbers(np.int64, shape), f"int64[{', '.join(map(str, (':', *shape[1:])))}]")
            if isinstance(target, ast.Name) and deep < 3:
                nodes = self.names.get(target.id, [])
                longer = self._is_long_text(nodes)
                if longer:
                    return Guess(["word"] * LENGTH, "list[str]")
                if self._is_text(nodes):
                    return Guess(_SCALARS["str"], "str")
                inner = self.guess(target.id, deep + 1)
                if isinstance(inner.value, str):
                    return Guess(["word"] * LENGTH, "list[str]")
                if isinstance(inner.value, np.ndarray):
                    dimensions = max(dimensions, 1 + inner.value.ndim)
        made = numbers(np.int64, _shape(dimensions))
        return Guess(made, described(made))

    def _fields(self, targets: list[ast.Name], subscripts: list[ast.Subscript]) -> list[str]:
        """List the texts that elements are subscripted with."""
        elements: list[ast.AST] = [*subscripts, *(n for t in targets for n in self.names.get(t.id, []))]
        found: dict[str, None] = {}
        for n in elements:
            p = self.parents.get(n)
            named = isinstance(p, ast.Subscript) and p.value is n and _is_text(p.slice)
            if named:
                found[p.slice.value] = None  # type: ignore[union-attr]
        return list(found)

    def _is_text(self, nodes: list[ast.expr]) -> bool:
        for n in nodes:
            p = self.parents.get(n)
            if isinstance(p, ast.Compare) and any(map(_is_text, (p.left, *p.comparators))):
                return True
            if isinstance(p, ast.Call) and isinstance(p.func, ast.Name) and p.func.id == "ord":
                return True
            if isinstance(p, ast.Attribute) and p.attr in _TEXT:
                return True
        return False

    def _is_long_text(self, nodes: list[ast.expr]) -> bool:
        """Tell if elements are words, rather than characters."""
        for n in nodes:
            p = self.parents.get(n)
            if isinstance(p, ast.Attribute) and p.attr in (
                "startswith",
                "endswith",
                "split",
                "strip",
                "encode",
                "replace",
            ):
                return True
            if isinstance(p, ast.Compare):
                for e in (p.left, *p.comparators):
                    if (
                        isinstance(e, ast.Constant)
                        and isinstance(e.value, str)
                        and len(e.value) != 1
                        and not any(isinstance(o, ast.In | ast.NotIn) for o in p.ops)
                    ):
                        return True
        return False

    def _is_measured(self, nodes: list[ast.expr]) -> bool:
        return any(
            isinstance(p := self.parents.get(n), ast.Call) and isinstance(p.func, ast.Name)
            and p.func.id in ("len", "sum", "sorted", "set", "list", "enumerate", "zip", "reversed")
            for n in nodes
        )  # fmt: skip

    def _is_float(self, nodes: list[ast.expr]) -> bool:
        for n in nodes:
            p = self.parents.get(n)
            if isinstance(p, ast.BinOp) and (
                isinstance(p.op, ast.Div)
                or any(isinstance(e, ast.Constant) and isinstance(e.value, float) for e in (p.left, p.right))
            ):
                return True
        return False


def _unpacked(target: ast.Tuple | ast.List) -> tuple[int, ...]:
    """Give the shape of what is unpacked into a target."""
    inner = [_unpacked(t) for t in target.elts if isinstance(t, ast.Tuple | ast.List)]
    same = len(inner) == len(target.elts) and len(set(inner)) == 1
    return (len(target.elts), *(inner[0] if same else ()))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def arguments(function: ast.FunctionDef, defaults: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Make a stand-in for every parameter: given, annotated, the default's, or a `Guess` by use."""
    uses = Uses(function)
    found: dict[str, Any] = {}
    spec = function.args
    for a in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs):
        value: Any = Unknown()
        if a.arg in given:
            found[a.arg] = given[a.arg]
            continue
        if a.annotation is not None:
            value = annotated(a.annotation)
        if isinstance(value, Unknown) and defaults.get(a.arg) is not None and not isinstance(defaults[a.arg], Unknown):
            value = defaults[a.arg]
        if isinstance(value, Unknown):
            value = uses.guess(a.arg)
        found[a.arg] = value
    if spec.vararg is not None:
        found[spec.vararg.arg] = Guess((NUMBER,) * LENGTH, "tuple[int, ...]")
    if spec.kwarg is not None:
        found[spec.kwarg.arg] = Unknown("keywords")
    return found


def is_plain(value: Any) -> bool:
    """Tell if it is a value to look into, rather than a module, a function or what is not known."""
    return not isinstance(value, Unknown | ModuleType | FunctionType | type)
