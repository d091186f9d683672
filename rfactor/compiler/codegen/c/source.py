"""A pipeline as a file of C99, with the entry that its object file would have. See docs/aot.md."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rfactor.compiler.codegen.c import helpers
from rfactor.compiler.codegen.c.expressions import Unit
from rfactor.compiler.codegen.c.statements import OUT_OF_MEMORY, Statements
from rfactor.compiler.codegen.c.types import constant, literal, memory_type, short, value_type
from rfactor.compiler.codegen.entry import Constant, Entry, longest_way, type_number
from rfactor.compiler.codegen.free import addressed
from rfactor.compiler.codegen.header import declared, header
from rfactor.compiler.runtime.arguments import FOLDED
from rfactor.ir.algorithm import ADDRESS
from rfactor.ir.expr import Const
from rfactor.ir.loopnest import BufferArgument, Stmt
from rfactor.ir.types import Type

_START = """\
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Products and sums are rounded one by one. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

"""


def source(entry: Entry, body: Stmt) -> str:
    """The file. `body` is the nest before loops are vectorized or unrolled."""
    messages: list[str] = []
    unit = Unit(frozenset({entry.name, f"{entry.name}_error"}), messages)
    checks, given = list(_checks(entry, messages)), dict(_given(entry, unit))
    declarations = [line for line, _ in given.values() if line]
    known = {name: own for name, (_, own) in given.items()}
    statements = list(Statements(unit, known).lines(body))
    arrays = [_array(entry, name, known[name]) for name in entry.constants]
    signature = ", ".join(declared(a, i) for i, a in enumerate(entry.arguments))
    function = [
        f"int32_t {entry.name}({signature or 'void'}) {{",
        "    int32_t rf_failure = 0;",
        *(f"    {line}" for line in (*checks, *declarations, *statements)),
        "    return rf_failure;",
        "}",
    ]
    own = (*unit.helpers.values(), *arrays, "\n".join(function))
    floats = (helpers.HALF, helpers.BFLOAT) if any("rf_bfloat" in part for part in own) else (helpers.HALF,)
    return "\n".join((header(entry, messages), _START, *floats, *own, _errors(entry.name, messages)))


def _checks(entry: Entry, messages: list[str]) -> Iterator[str]:
    """What can be told of the arguments without looking at the nest."""

    def check(holds: str, message: str) -> str:
        messages.append(message)
        return f"if (!({holds})) return {len(messages)};"

    places = {argument.name: f"a{i}" for i, argument in enumerate(entry.arguments)}
    for argument in entry.arguments:
        if not isinstance(argument, BufferArgument) or argument not in entry.lowered.arguments:
            continue
        given, title, type = places[argument.name], entry.titles.get(argument.name, argument.name), argument.type
        number, size = type_number(type), max(type.bits // 8, 1)
        yield check(given, f"{title} is null")
        yield check(
            f"{given}->dimensions == {argument.dimensions}", f"{title} must have {argument.dimensions} dimensions"
        )
        yield check(f"{given}->type == {number}", f"{title} must hold {type}, whose number is {number}")
        empty = "false"
        if argument.dimensions:
            yield check(f"{given}->dim", f"{title} has a null dim")
        for d in range(argument.dimensions):
            dim = f"{given}->dim[{d}]"
            yield check(f"{dim}.extent >= 0", f"{title} has a negative extent in dimension {d}")
            ends = f"(int64_t){dim}.min + {dim}.extent <= INT32_MAX"
            yield check(ends, f"{title} ends beyond 2^31 in dimension {d}: coordinates are i32")
            empty += f" || {dim}.extent == 0"
        for d in range(argument.dimensions):
            dim, longest = f"{given}->dim[{d}]", longest_way(argument)
            near = f"{empty} || {dim}.extent == 1 || {_step(dim)} <= UINT64_C({longest}) / (uint64_t)({dim}.extent - 1)"
            yield check(near, f"{title} spans too much memory in dimension {d}: look at its stride")
        if argument.output and argument.dimensions:
            yield check(f"{empty} || ({_unfolded(given, argument.dimensions)})", FOLDED.format(title))
        yield check(f"{empty} || {given}->data", f"{title} has elements but its data is null")
        aligned = f"((uintptr_t){given}->data & {size - 1}) == 0"
        yield check(aligned, f"{title} must be aligned to its elements of {size} bytes")
    for one, other in entry.alike:
        for d in range(one.dimensions):
            a, b = f"{places[one.name]}->dim[{d}]", f"{places[other.name]}->dim[{d}]"
            message = f"{one.name} and {other.name} must have one box; they differ in dimension {d}"
            yield check(f"{a}.min == {b}.min && {a}.extent == {b}.extent", message)


def _step(dim: str) -> str:
    """The stride of a dimension without its sign."""
    return f"({dim}.stride < 0 ? -(uint64_t){dim}.stride : (uint64_t){dim}.stride)"


def _unfolded(given: str, dimensions: int) -> str:
    """That each step of an array is longer than all that shorter ones span: see `folded`."""
    dims = [f"{given}->dim[{d}]" for d in range(dimensions)]
    held = []
    for d, dim in enumerate(dims):
        step = _step(dim)
        below = [
            f"({_step(other)} {'<=' if e < d else '<'} {step} ? {_step(other)} * (uint64_t)({other}.extent - 1) : 0)"
            for e, other in enumerate(dims)
            if e != d
        ]
        held.append(f"({dim}.extent == 1 || {step} > {' + '.join(below) or '0'})")
    return " && ".join(held)


def _given(entry: Entry, unit: Unit) -> Iterator[tuple[str, tuple[str, str]]]:
    """What the nest expects from outside: the name there, and the line that declares it with its name in C."""
    places = {argument.name: f"a{i}" for i, argument in enumerate(entry.arguments)}

    def declared(name: str, type: str, value: str) -> tuple[str, tuple[str, str]]:
        own = unit.fresh(name)
        return name, (f"const {type} {own} = {value}; (void){own};", own)

    placed = addressed(entry.lowered.body)
    for argument in entry.lowered.arguments:
        name = argument.name
        if isinstance(argument, BufferArgument):
            if name in placed:
                yield declared(name + ADDRESS, "int64_t", f"(int64_t)(uintptr_t){places[name]}->data")
            kept = entry.constants.get(name)
            if kept is None:
                pointer = unit.fresh(name)
                element = f"{'' if argument.output else 'const '}{memory_type(argument.type)} *"
                yield name, (f"{element}const {pointer} = {places[name]}->data; (void){pointer};", pointer)
            else:
                yield name, ("", unit.fresh(name))
            for d in range(argument.dimensions):
                for what, type in (("min", "int32_t"), ("extent", "int32_t"), ("stride", "int64_t")):
                    value = f"{places[name]}->dim[{d}].{what}" if kept is None else str(_kept(kept, what, d))
                    yield declared(f"{name}.{what}.{d}", type, value)
        elif name in entry.boxes:
            buffer, d, what = entry.boxes[name]
            yield declared(name, "int32_t", f"{places[buffer]}->dim[{d}].{what}")
        else:
            rounds = short(argument.type)
            value = places[name] if rounds is None else f"{rounds}({places[name]})"
            yield declared(name, value_type(argument.type), value)


def _kept(constant: Constant, what: str, d: int) -> int:
    array = np.ascontiguousarray(constant.array)
    if what == "min":
        return constant.mins[d]
    return array.shape[-1 - d] if what == "extent" else 1 if d == 0 else array.strides[-1 - d] // array.itemsize


def _array(entry: Entry, name: str, own: str) -> str:
    """An array that is a part of the file."""
    array = np.ascontiguousarray(entry.constants[name].array)
    argument = next(a for a in entry.lowered.arguments if a.name == name)
    type: Type = argument.type
    if short(type):
        values = (str(int(bits)) for bits in array.view(np.uint16).ravel())
    elif type.is_bool:
        values = (str(int(value)) for value in array.ravel())
    else:
        values = (constant(Const(type, value)) for value in array.ravel().tolist())
    return f"static const {memory_type(type)} {own}[] = {{{', '.join(values) or '0'}}};\n"


def _errors(name: str, messages: list[str]) -> str:
    said = {0: "done", OUT_OF_MEMORY: "no memory for an intermediate", **dict(enumerate(messages, 1))}
    cases = "".join(f"    case {number}: return {literal(message)};\n" for number, message in said.items())
    other = '    default: return "no error has this number";\n'
    return f"\nconst char *{name}_error(int32_t number) {{\n    switch (number) {{\n{cases}{other}    }}\n}}\n"
