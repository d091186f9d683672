"""Text to expressions. The syntax is Python's; nothing is ever evaluated as Python.

A type is inferred for every part before anything is built: operands of one operation share a type *cell*, a name has
one cell wherever it occurs, and literals take the type of the cell they end up in. A name that is not declared takes
the type of the declared names it is combined with, otherwise the default; used directly as a condition, it is `bool`.
A function of no known name has one cell for each argument and one for its value, wherever it is called; a value of
which nothing else tells the type has that of the first argument.
"""

from __future__ import annotations

import ast
import difflib
import keyword
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from rfactor.errors import ParseError, TypeMismatch, excerpt
from rfactor.ir.composed import COMPOSED
from rfactor.ir.expr import Call, Const, Expr, Var, apply, cast, clamp, const, select
from rfactor.ir.intrinsics import FUNCTIONS, INTRINSICS
from rfactor.ir.meaning import Meaning
from rfactor.ir.spellings import MEANT, NOT_HERE, OTHERS, has_a_meaning
from rfactor.ir.syntax import components_of, deep_refused
from rfactor.ir.types import BOOL, BY_NAME, I32, Type
from rfactor.ir.unknown import Functions
from rfactor.ir.update import Update

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.Invert: "~", ast.Not: "not"}
_CONSTANT_NAMES = {"inf": float("inf"), "nan": float("nan")}


@dataclass(slots=True, eq=False)
class _Cell:
    """The type of one or more parts of the text, as far as it is known."""

    parent: _Cell | None = None
    type: Type | None = None
    produced: bool = False
    """Whether the type is that of a cast or a comparison: such a type never spreads to a name."""

    def root(self) -> _Cell:
        cell = self
        while cell.parent is not None:
            if cell.parent.parent is not None:
                cell.parent = cell.parent.parent  # the way is half as long for the next
            cell = cell.parent
        return cell


_Build = Callable[[], Expr]


@dataclass(slots=True)
class _Function:
    """The types of a function of no known name."""

    arguments: list[_Cell]
    result: _Cell
    passed: list[tuple[_Cell, _Cell]] = field(default_factory=list)
    """The cell of an argument, and that of what is passed."""
    is_condition: bool = False


@dataclass(slots=True)
class _Parser:
    text: str
    declared: Mapping[str, Type]
    default: Type
    closed: bool
    """Whether undeclared names are errors."""
    accumulators: frozenset[str] = frozenset()
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Other spellings of names."""
    settled: bool = False
    names: dict[str, _Cell] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    """Declared functions."""
    unknown: dict[str, _Function] = field(default_factory=dict)
    """Functions of no known name, as far as their types are known."""
    conditions: list[str] = field(default_factory=list)
    """Undeclared names used directly as conditions."""
    deferred: list[tuple[_Cell, _Cell, ast.AST]] = field(default_factory=list)
    """Equalities with produced types, checked once every name has its type."""

    def error(self, message: str, node: ast.AST | None = None) -> ParseError:
        where = ast.get_source_segment(self.text, node) if node is not None else None
        return ParseError(f"{message}, in: {excerpt(where or self.text)}")

    def unify(self, a: _Cell, b: _Cell, node: ast.AST) -> None:
        a, b = a.root(), b.root()
        if a is b:
            return
        if a.type is not None and b.type is not None and a.type != b.type:
            types = sorted((a.type, b.type), key=lambda type_: type_.is_bool)
            more = ", which is 1 where a condition holds and 0 elsewhere" if types[1].is_bool else ""
            raise self.error(f"{types[0]} and {types[1]} do not mix without a cast, as in {types[0]}(…){more}", node)
        if (a.produced or b.produced) and not self.settled:
            self.deferred.append((a, b, node))
            return
        if a.type is None:
            a, b = b, a
        b.parent = a

    def name_cell(self, name: str, node: ast.AST) -> _Cell:
        """The cell of the name (already without alias)."""
        cell = self.names.get(name)
        if cell is None:
            type_ = self.declared.get(name)
            if type_ is None and name in ("true", "false"):
                raise self.error(f"{name!r} would be a datum of that name; write {name.capitalize()}", node)
            if type_ is None and self.closed:
                known = ", ".join(self.declared) or "none"
                raise self.error(f"unknown name {name!r}; names here are {known}", node)
            cell = self.names[name] = _Cell(type=type_)
        return cell

    def condition(self, node: ast.expr) -> _Build:
        """A part that must be bool: a condition or an operand of and, or, not."""
        if isinstance(node, ast.Name) and node.id not in _CONSTANT_NAMES:
            self.conditions.append(self.aliases.get(node.id, node.id))
        _, build = self.visit(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.unknown:
            self.unknown[node.func.id].is_condition = True

        def checked() -> Expr:
            expr = build()
            if not expr.type.is_bool:
                raise self.error(f"a condition must be bool, this is {expr.type}; compare with 0", node)
            return expr

        return checked

    def literal(self, value: object, node: ast.AST) -> tuple[_Cell, _Build]:
        if isinstance(value, bool):
            constant = Const(BOOL, value)
            return _produced(BOOL), lambda: constant
        if not isinstance(value, int | float):
            raise self.error(f"a literal is an integer, a float, True or False, not {value!r}", node)
        number = value
        cell = _Cell()

        def build() -> Expr:
            type_ = self.resolve(cell)
            if isinstance(number, float) and not type_.is_float:
                raise self.error(f"{number} is a float where {type_} is needed; the type of names may be f32", node)
            if type_.is_bool:
                beside = next((name for name, other in self.names.items() if other.root() is cell.root()), None)
                typed = "" if beside is None else f", or give {beside}, which is bool here, a type of numbers"
                raise self.error(f"{number} is a number where bool is needed; write True or False{typed}", node)
            try:
                built = const(type_, number)
            except (TypeMismatch, OverflowError):
                raise self.error(
                    f"{number} does not fit {type_}, whose range is {type_.min} to {type_.max}", node
                ) from None
            if isinstance(number, int) and type_.is_float and abs(number) > type_.largest_finite:
                raise self.error(f"{number} does not fit {type_}", node)
            return built

        return cell, build

    def resolve(self, cell: _Cell) -> Type:
        return cell.root().type or self.default

    def visit(self, node: ast.expr) -> tuple[_Cell, _Build]:
        match node:
            case ast.Constant(value=value):
                return self.literal(value, node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)) if not isinstance(
                value, bool
            ):
                return self.literal(-value, node)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Name(id=name)) if name in _CONSTANT_NAMES:
                return self.literal(-_CONSTANT_NAMES[name], node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.visit(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                inner = self.condition(operand)
                return _produced(BOOL), lambda: apply("not", inner())
            case ast.UnaryOp(op=op, operand=operand):
                cell, build = self.visit(operand)
                name = _UNARY[type(op)]
                return cell, lambda: self.make(name, node, build)
            case ast.Name(id=name):
                if name in _CONSTANT_NAMES:
                    return self.literal(_CONSTANT_NAMES[name], node)
                full = self.aliases.get(name, name)
                named = self.name_cell(full, node)
                return named, lambda: Var(self.resolve(named), full)
            case ast.BinOp(left=left, op=op, right=right):
                if type(op) not in _BINARY:
                    raise self.error(OTHERS.get(type(op), f"{type(op).__name__} is not an operation"), node)
                return self.same(node, _BINARY[type(op)], (left, right))
            case ast.BoolOp(op=op, values=values):
                builds = [self.condition(value) for value in values]
                word = "and" if isinstance(op, ast.And) else "or"
                return _produced(BOOL), lambda: self.chain(word, builds, node)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.compare(node, [left, *comparators], ops)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.select(node, test, body, orelse)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(node, name, args)
            case ast.Call(func=ast.Attribute(attr=name), keywords=[]):
                raise self.error(f"a call is of a name, as in {MEANT.get(name, name)}(…)", node)
            case ast.Call():
                raise self.error("a call is of a name, without keywords", node)
            case ast.Tuple():
                raise self.error("a tuple inside an expression; components stand at the top, separated by commas", node)
        raise self.error(f"{NOT_HERE.get(type(node), 'this')} is not part of the expression language", node)

    def make(self, op: str, node: ast.AST, *builds: _Build) -> Expr:
        return self.checked(node, lambda: apply(op, *(build() for build in builds)))

    def checked(self, node: ast.AST, build: _Build) -> Expr:
        try:
            return build()
        except TypeMismatch as error:
            raise self.error(str(error), node) from None

    def alike(self, node: ast.AST, operands: Sequence[ast.expr]) -> tuple[_Cell, list[_Build]]:
        """Operands of one type."""
        parts = [self.visit(operand) for operand in operands]
        for cell, _ in parts[1:]:
            self.unify(parts[0][0], cell, node)
        return parts[0][0], [build for _, build in parts]

    def same(self, node: ast.AST, op: str, operands: Sequence[ast.expr]) -> tuple[_Cell, _Build]:
        """An operation whose operands and result share one type; folded from the left."""
        cell, builds = self.alike(node, operands)
        return cell, lambda: self.chain(op, builds, node)

    def chain(self, op: str, builds: Sequence[_Build], node: ast.AST) -> Expr:
        result = builds[0]()
        for build in builds[1:]:
            right = build()
            result = self.make(op, node, lambda left=result: left, lambda right=right: right)  # type: ignore[misc]
        return result

    def compare(self, node: ast.AST, operands: list[ast.expr], ops: list[ast.cmpop]) -> tuple[_Cell, _Build]:
        parts = [self.visit(operand) for operand in operands]
        words: list[str] = []
        for i, op in zip(range(len(ops)), ops, strict=True):
            if type(op) not in _COMPARE:
                raise self.error(f"comparisons are {', '.join(_COMPARE.values())}", node)
            words.append(_COMPARE[type(op)])
            self.unify(parts[i][0], parts[i + 1][0], node)

        def pair(i: int) -> _Build:
            return lambda: self.make(words[i], node, parts[i][1], parts[i + 1][1])

        return _produced(BOOL), lambda: self.chain("and", [pair(i) for i in range(len(words))], node)

    def select(self, node: ast.AST, test: ast.expr, true: ast.expr, false: ast.expr) -> tuple[_Cell, _Build]:
        condition = self.condition(test)
        (cell, if_true), (other, if_false) = self.visit(true), self.visit(false)
        self.unify(cell, other, node)

        return cell, lambda: self.checked(node, lambda: select(condition(), if_true(), if_false()))

    def call(self, node: ast.Call, name: str, args: list[ast.expr]) -> tuple[_Cell, _Build]:
        if any(isinstance(arg, ast.Starred) for arg in args):
            raise self.error("starred arguments are not part of the language", node)

        def need(count: int) -> None:
            if len(args) != count:
                raise self.error(f"{name} takes {count} argument{'s' * (count != 1)}, {len(args)} given", node)

        if name in ("min", "max"):
            if len(args) < 2:
                raise self.error(f"{name} takes two arguments or more, as in {name}(x, a)", node)
            return self.same(node, name, args)
        if name == "abs":
            need(1)
            cell, build = self.visit(args[0])
            return cell, lambda: self.make("abs", node, build)
        if name == "clamp":
            need(3)
            cell, (value, low, high) = self.alike(node, args)
            return cell, lambda: self.checked(node, lambda: clamp(value(), low(), high()))
        if name == "select":
            need(3)
            return self.select(node, *args)
        if name in BY_NAME:
            need(1)
            return self.cast(BY_NAME[name], args[0])
        if name in FUNCTIONS:
            need(INTRINSICS[name].arity)
            return self.same_call(node, name, args)
        if name in COMPOSED:
            need(COMPOSED[name].arity)
            return self.composed(node, name, args)
        if name in MEANT:
            raise self.error(f"unknown function {name!r}; write {MEANT[name]}(…)", node)
        known = ["min", "max", "abs", "clamp", "select", *FUNCTIONS, *COMPOSED, *BY_NAME]
        if name not in self.functions:
            if has_a_meaning(name):
                raise self.error(f"unknown function {name!r}; functions are {', '.join(known)}", node)
            close = difflib.get_close_matches(name, known, 1, 0.8)
            if close:
                raise self.error(f"unknown function {name!r}; is {close[0]} meant? Or declare its type", node)
        return self.unknown_call(node, name, args)

    def unknown_call(self, node: ast.AST, name: str, args: list[ast.expr]) -> tuple[_Cell, _Build]:
        """A call of a function of which only the types are known."""
        function = self.unknown.get(name)
        if function is None:
            if not args:
                raise self.error(f"{name} has no arguments; a value that stays the same is a name, as k", node)
            declared = self.functions.get(name)
            function = self.unknown[name] = (
                _Function([_Cell() for _ in args], _Cell())
                if declared is None
                else _Function([_Cell(type=t) for t in declared.arguments], _Cell(type=declared.result))
            )
        count = len(function.arguments)
        if len(args) != count:
            raise self.error(f"{name} takes {count} argument{'s' * (count != 1)}, {len(args)} given", node)
        builds = []
        for arg, own in zip(args, function.arguments, strict=True):
            cell, build = self.visit(arg)
            self.unify(own, cell, node)
            function.passed.append((own, cell))
            builds.append(build)
        result = function.result

        def build_call() -> Expr:
            return Call(self.resolve(result), name, tuple(build() for build in builds), "unknown")

        return result, build_call

    def same_call(self, node: ast.AST, name: str, args: list[ast.expr]) -> tuple[_Cell, _Build]:
        cell, builds = self.alike(node, args)

        def build() -> Expr:
            values = tuple(part() for part in builds)
            if not INTRINSICS[name].accepts(values[0].type):
                such = "i32" if INTRINSICS[name].takes == "integer" else "f32"
                takes = {"integer": "integers", "single": "f32", "wide": "f32 or f64"}.get(
                    INTRINSICS[name].takes, "floats"
                )
                raise self.error(f"{name} takes {takes}, not {values[0].type}; cast, or let names be {such}", node)
            return Call(values[0].type, name, values)

        return cell, build

    def composed(self, node: ast.AST, name: str, args: list[ast.expr]) -> tuple[_Cell, _Build]:
        """A function that is written with operations."""
        cell, builds = self.alike(node, args)
        takes = COMPOSED[name].takes

        def build() -> Expr:
            values = [part() for part in builds]
            own = values[0].type
            if not (own.is_float if takes == "floats" else own.is_int):
                such = "f32" if takes == "floats" else "i32"
                raise self.error(f"{name} takes {takes}, not {own}; cast, or let names be {such}", node)
            return COMPOSED[name].build(*values)

        return cell, build

    def cast(self, type: Type, node: ast.expr) -> tuple[_Cell, _Build]:
        """A conversion; of a bare literal, that literal in the given type."""
        cell, build = self.visit(node)
        is_literal = (
            isinstance(node, ast.Constant)
            or (
                isinstance(node, ast.UnaryOp)
                and isinstance(node.op, ast.USub)
                and isinstance(node.operand, ast.Constant)
            )
            or (isinstance(node, ast.Name | ast.UnaryOp) and ast.unparse(node).lstrip("-") in _CONSTANT_NAMES)
        )
        if is_literal and cell.type is None:
            cell.type = type
        return _produced(type), lambda: cast(type, build())

    def settle(self) -> None:
        """Give every name its type, then check what casts and comparisons produce against it."""
        for name in self.conditions:
            root = self.names[name].root()
            if root.type is None and name not in self.accumulators:
                root.type = BOOL
        for function in self.unknown.values():
            for own, cell in function.passed:
                if own.root().type is None and cell.root().produced:
                    own.root().type = cell.root().type
            if function.is_condition and function.result.root().type is None:
                function.result.root().type = BOOL
        for cell in [*self.names.values(), *(arg for f in self.unknown.values() for arg in f.arguments)]:
            root = cell.root()
            if root.type is None:
                root.type = self.default
        for function in self.unknown.values():
            result = function.result.root()
            if result.type is None:
                result.type = function.arguments[0].root().type
        self.settled = True
        for a, b, node in self.deferred:
            self.unify(a, b, node)


def _produced(type: Type) -> _Cell:
    return _Cell(type=type, produced=True)


_NO_FUNCTIONS: Functions = MappingProxyType({})


def parse_tuple(
    text: str, types: Mapping[str, Type], expected: Sequence[Type | None] = (), functions: Functions = _NO_FUNCTIONS
) -> tuple[Expr, ...]:
    """The components of `text`, over the names in `types` alone.

    `expected` gives the type of each component where it is known; a literal alone needs it. `functions` are those of
    which only the types are known. Raises `ParseError`.
    """
    components = components_of(text)
    if expected and len(expected) != len(components):
        raise ParseError(f"{len(components)} components where {len(expected)} are needed: {excerpt(text)}")
    parser = _Parser(text.strip(), types, I32, closed=True, functions=functions)
    builds = []
    with deep_refused(text):
        for node, type_ in zip(components, expected or [None] * len(components), strict=True):
            cell, build = parser.visit(node)
            if type_ is not None:
                parser.unify(cell, _produced(type_), node)
            builds.append(build)
        parser.settle()
        return tuple(build() for build in builds)


def parse_expr(
    text: str, types: Mapping[str, Type], expected: Type | None = None, functions: Functions = _NO_FUNCTIONS
) -> Expr:
    """One expression over the names in `types` alone, as `parse_tuple` reads it. Raises `ParseError`."""
    components = parse_tuple(text, types, [expected], functions)
    return components[0]


def parse_update(
    text: str,
    default: Type = I32,
    types: Mapping[str, Type] | None = None,
    constants: Collection[str] = (),
    meaning: Meaning = Meaning.WRAP,
    functions: Functions = _NO_FUNCTIONS,
    state: Sequence[str] = (),
) -> Update:
    """The update `x0, x1, … := text`. `x` is `x0`; `k`, `k0`, … and `constants` stay the same; other names are data.

    `state` names the accumulators otherwise, in order: then `x` is a name like any other. `default` is the type of
    names that `types` neither declares nor determines. `functions` are the types of functions of which nothing else is
    known; those of others are inferred. Raises `ParseError`.
    """
    components = components_of(text)
    accumulators = [f"x{i}" for i in range(len(components))]
    aliases = _named(state, components, text) if state else {"x": "x0"}
    declared = {aliases.get(name, name): type_ for name, type_ in (types or {}).items()}
    parser = _Parser(
        text.strip(),
        declared,
        default,
        closed=False,
        accumulators=frozenset(accumulators),
        aliases=aliases,
        functions=functions,
    )
    if state:
        _check_free_of_operands(components, aliases, text)
    with deep_refused(text):
        parts = [parser.visit(node) for node in components]
    for name, node, (cell, _) in zip(accumulators, components, parts, strict=True):
        own = parser.name_cell(name, node).root()
        if own.type is None and name in parser.conditions and cell.root().type == BOOL:
            own.type = BOOL  # a condition that becomes one
        parser.unify(own, cell, node)
    builds = [build for _, build in parts]
    parser.settle()
    for name in (*parser.names, *declared):
        if re.fullmatch(r"x\d*", name) and name not in accumulators and not state:
            raise ParseError(
                f"{name} is an accumulator, but the update has {len(components)} component"
                f"{'s' * (len(components) > 1)} ({', '.join(accumulators)}): {excerpt(text)}"
            )
    fixed = frozenset(aliases.get(name, name) for name in constants)
    for name in fixed:
        if name in accumulators:
            raise ParseError(f"{name} is an accumulator and cannot be a constant: {excerpt(text)}")
        if re.fullmatch(r"y\d*", name):
            raise ParseError(
                f"a constant cannot be called {name}: y names the operator's right operand: {excerpt(text)}"
            )
    loop_constants = fixed | {name for name in parser.names if re.fullmatch(r"k\d*", name)}
    with deep_refused(text):
        built = tuple(build() for build in builds)
    return Update(built, tuple(expr.type for expr in built), frozenset(loop_constants), meaning)


def _named(state: Sequence[str], components: Sequence[ast.expr], text: str) -> dict[str, str]:
    """The accumulators by the names that the user gives them. Raises `ParseError`."""
    for name in state:
        if not name.isidentifier() or keyword.iskeyword(name) or name in _CONSTANT_NAMES:
            raise ParseError(f"an accumulator is called by a name, not {excerpt(name)!r}")
    if len({*state}) < len(state):
        raise ParseError(f"accumulators need different names, not {', '.join(state)}")
    if len(state) != len(components):
        raise ParseError(
            f"{len(state)} accumulator{'s' * (len(state) > 1)} ({', '.join(state)}) for an update of {len(components)} "
            f"component{'s' * (len(components) > 1)}: {excerpt(text)}"
        )
    return {name: f"x{i}" for name, i in zip(state, range(len(state)), strict=True)}


def _check_free_of_operands(components: Sequence[ast.expr], aliases: Mapping[str, str], text: str) -> None:
    """Refuse data that are called as answers call the accumulators."""
    for node in (node for component in components for node in ast.walk(component)):
        if isinstance(node, ast.Name) and node.id not in aliases and re.fullmatch(r"x\d+", node.id):
            raise ParseError(
                f"{node.id} is what answers call an accumulator: name it as one, or call it otherwise: {excerpt(text)}"
            )
