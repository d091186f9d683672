"""Expressions of a lowered nest as C99. What is used twice, or is long, is a constant before the statement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from rfactor.compiler.codegen.c import helpers
from rfactor.compiler.codegen.c.types import constant, literal, short, value_type
from rfactor.errors import TypeMismatch
from rfactor.ir.effects import Print, Refuse
from rfactor.ir.expr import Call, Const, Expr, Op, Var, walk
from rfactor.ir.intrinsics import INTRINSICS
from rfactor.ir.loopnest import Assert, Load
from rfactor.ir.nest_printer import show_told
from rfactor.ir.routines import PARAMETERS, routine
from rfactor.ir.types import F64, Type
from rfactor.native.output import form

_LONG = 160
"""Characters of an expression that is not put into another one."""


class Unit:
    """What the whole file holds: functions that were needed, names in use, and what may fail."""

    def __init__(self, taken: frozenset[str], messages: list[str]) -> None:
        self.helpers: dict[str, str] = {}
        self.messages = messages
        """Of the errors 1, 2, …"""
        self._taken = set(taken)

    def need(self, named: tuple[str, str | None]) -> str:
        """The name of a function, which the file then defines."""
        name, definition = named
        if definition is not None:
            self.helpers[name] = definition
        return name

    def fresh(self, name: str) -> str:
        """A name in C after one of the nest, in use nowhere else: as no name of the language or its libraries does, it
        ends in an underscore."""
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_") or "v"
        plain = f"v{plain}" if plain[0].isdigit() else plain
        found, number = f"{plain}_", 0
        while found in self._taken:
            number += 1
            found = f"{plain}_{number}_"
        self._taken.add(found)
        return found

    def told(self, check: Assert | Refuse) -> int:
        """The number of a failure. Values that are only known then are not told."""
        template = check.message if isinstance(check, Assert) else check.template
        self.messages.append(template.format(*map(show_told, check.arguments)))
        return len(self.messages)


class Expressions:
    """The expressions of one statement."""

    def __init__(self, unit: Unit, names: Mapping[str, str], roots: tuple[Expr, ...]) -> None:
        """`names` are the variables and buffers in C; `roots` all expressions that will be asked for."""
        self._unit, self._names = unit, names
        self._texts: dict[Expr, str] = {}
        self.lines: list[str] = []
        """Constants to be declared before the statement."""
        nodes = dict.fromkeys(node for root in roots for node in walk(root))
        self._uses = Counter((*roots, *(child for node in nodes for child in node.children)))

    def text(self, root: Expr) -> str:
        """`root` as an expression in C; what it prints is printed by `lines`."""
        for node in walk(root):
            if node not in self._texts:
                self._texts[node] = self._held(node, self._written(node))
        return self._texts[root]

    def _held(self, node: Expr, text: str) -> str:
        if isinstance(node, Const | Var) or (self._uses[node] < 2 and len(text) < _LONG):
            return text
        name = self._unit.fresh("t")
        self.lines.append(f"const {value_type(node.type)} {name} = {text};")
        return name

    def _written(self, node: Expr) -> str:
        if isinstance(node, Const):
            return constant(node)
        if isinstance(node, Var):
            return self._names[node.name]
        parts = [self._texts[child] for child in node.children]
        if isinstance(node, Op):
            return self._operation(node, parts)
        if isinstance(node, Load):
            return self._load(node, *parts)
        if isinstance(node, Call) and node.kind == "intrinsic":
            return f"{self._function(node.name, node.args[0].type)}({', '.join(parts)})"
        if isinstance(node, Refuse):
            value, condition, *_ = parts
            self._unit.helpers["rf_refuse"] = helpers.REFUSE
            return f"(rf_refuse({condition}, &rf_failure, {self._unit.told(node)}), {value})"
        if isinstance(node, Print):
            value, condition, *shown = parts
            self.lines.append(self._line(node, condition, shown))
            return value
        raise TypeMismatch(f"{node} cannot stand in C")

    def _function(self, called: str, type: Type) -> str:
        """The name of the function for the intrinsic `called` of arguments of `type`."""
        arithmetic = routine(called) if type != F64 else None
        if arithmetic is None:
            return self._unit.need(helpers.function(called, type))
        names = [parameter.name for parameter in PARAMETERS[: INTRINSICS[called].arity]]
        whole = arithmetic.value
        inner = Expressions(self._unit, {name: name for name in names}, (whole,))
        value = inner.text(whole)
        return self._unit.need(helpers.of_lines(f"rf_{called}_{type}", type, names, inner.lines, value))

    def _line(self, line: Print, condition: str, shown: list[str]) -> str:
        """What prints a line of the nest; see `native.output`."""
        self._unit.helpers["rf_line"] = helpers.LINE
        types = [argument.type for argument in line.arguments]
        text = literal(line.template.replace("%", "%%").format(*map(form, types)))
        wide = "".join(f", {_passed(type, value)}" for type, value in zip(types, shown, strict=True))
        always = line.condition == Const(line.condition.type, True)
        return f"{'' if always else f'if ({condition}) '}rf_line({text}{wide});"

    def _operation(self, node: Op, parts: list[str]) -> str:
        type, op = node.args[0].type, node.op
        if op == "select":
            return f"({parts[0]} ? {parts[1]} : {parts[2]})"
        if op == "cast":
            if node.type.is_bool:
                return f"({parts[0]} != 0)"
            return f"{self._unit.need(helpers.cast(type, node.type))}({parts[0]})"
        if op == "not" or (op == "~" and type.is_bool):
            return f"(!{parts[0]})"
        if op == "~":
            return f"(({value_type(type)})~{parts[0]})"
        if type.is_bool and op in ("min", "max"):
            return f"({parts[0]} {'&' if op == 'min' else '|'} {parts[1]})"
        if op in ("&", "|", "^"):
            return f"(({value_type(type)})({parts[0]} {op} {parts[1]}))"
        if op in helpers.PLAIN:
            return f"({parts[0]} {helpers.PLAIN[op]} {parts[1]})"
        return f"{self._unit.need(helpers.operation(op, type))}({', '.join(parts)})"

    def _load(self, node: Load, index: str, predicate: str) -> str:
        text = f"{self._names[node.buffer]}[{index}]"
        if node.type.is_bool:
            text = f"({text} != 0)"
        elif (kind := short(node.type)) is not None:
            text = f"{kind}_value({text})"
        return text if node.predicate == Const(node.predicate.type, True) else f"({predicate} ? {text} : 0)"


def _passed(type: Type, value: str) -> str:
    """A value as an argument without a prototype."""
    if type.is_bool:
        return f'{value} ? "true" : "false"'
    return f"({'double' if type.is_float else 'long long' if type.is_signed else 'unsigned long long'}){value}"
