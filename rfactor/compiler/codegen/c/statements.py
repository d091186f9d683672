"""Statements of a lowered nest as C99, every loop one iteration after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from rfactor.compiler.codegen.c.expressions import Expressions, Unit
from rfactor.compiler.codegen.c.types import memory_type, short, value_type
from rfactor.compiler.codegen.header import comment
from rfactor.errors import TypeMismatch
from rfactor.ir.expr import Const, Expr
from rfactor.ir.loopnest import Allocate, Assert, Atomic, Block, For, If, Let, Produce, Stmt, Store, Write

OUT_OF_MEMORY = -1
"""What is returned where an allocation failed."""


class Statements:
    """The statements of one function. `rf_failure` is where a failure within loops is noted."""

    def __init__(self, unit: Unit, names: Mapping[str, str]) -> None:
        """`names` are the variables and buffers in C."""
        self._unit, self._names = unit, dict(names)
        self._heap: list[str] = []

    def lines(self, stmt: Stmt) -> Iterator[str]:
        """`stmt`, a line at a time."""
        match stmt:
            case Block():
                yield from chain.from_iterable(map(self.lines, stmt.statements))
            case For():
                yield from self._loop(stmt)
            case Let():
                yield from self._let(stmt)
            case If():
                yield from self._branch(stmt)
            case Produce():
                yield f"/* {comment(stmt.name)} */"
                yield from self.lines(stmt.body)
            case Allocate():
                yield from self._allocate(stmt)
            case Store():
                yield from self._store(stmt)
            case Atomic():
                yield from self.lines(stmt.body)
            case Assert():
                yield from self._assert(stmt)
            case Write():
                yield from self._values(stmt.line)[0]
            case _:
                raise TypeMismatch(f"{stmt} cannot stand in C")

    def _values(self, *exprs: Expr) -> tuple[list[str], list[str]]:
        """The lines that come first, and the expressions."""
        values = Expressions(self._unit, self._names, exprs)
        texts = [values.text(expr) for expr in exprs]
        return values.lines, texts

    def _inside(self, name: str, body: Stmt, own: str = "") -> tuple[str, list[str]]:
        """The name in C of a variable or buffer, in use nowhere else, and `body`, in which it is known."""
        own, outer = own or self._unit.fresh(name), self._names.get(name)
        self._names[name] = own
        lines = list(self.lines(body))
        del self._names[name]
        if outer is not None:
            self._names[name] = outer
        return own, lines

    def _loop(self, loop: For) -> Iterator[str]:
        before, (first, extent) = self._values(loop.min, loop.extent)
        own, body = self._inside(loop.name, loop.body)
        end, wide = self._unit.fresh(f"{own}_end"), self._unit.fresh(f"{own}_wide")
        yield from before
        yield f"const int64_t {end} = (int64_t){first} + {extent};"
        # The counter is wide: the last iteration may be at the end of the range of i32.
        yield f"for (int64_t {wide} = {first}; {wide} < {end}; ++{wide}) {{"
        yield from _indented([f"const int32_t {own} = (int32_t){wide};", f"(void){own};", *body])
        yield "}"

    def _let(self, let: Let) -> Iterator[str]:
        before, (value,) = self._values(let.value)
        own, body = self._inside(let.name, let.body)
        yield from before
        yield f"const {value_type(let.value.type)} {own} = {value};"
        yield f"(void){own};"
        yield from body

    def _branch(self, branch: If) -> Iterator[str]:
        before, (condition,) = self._values(branch.condition)
        yield from before
        yield f"if ({condition}) {{"
        yield from _indented(self.lines(branch.then))
        if branch.otherwise is not None:
            yield "} else {"
            yield from _indented(self.lines(branch.otherwise))
        yield "}"

    def _allocate(self, allocation: Allocate) -> Iterator[str]:
        before, (size,) = self._values(allocation.size)
        self._heap.append(self._unit.fresh(allocation.buffer))
        own, body = self._inside(allocation.buffer, allocation.body, self._heap[-1])
        self._heap.pop()
        element, count = memory_type(allocation.type), self._unit.fresh(f"{own}_size")
        yield from before
        yield f"const int64_t {count} = {size};"
        yield f"{element} *const {own} = malloc((size_t)({count} > 0 ? {count} : 1) * sizeof({element}));"
        yield f"if (!{own}) {{"
        yield f"    rf_failure = {OUT_OF_MEMORY};"
        yield "} else {"
        yield from _indented(body)
        yield f"    free({own});"
        yield "}"

    def _store(self, store: Store) -> Iterator[str]:
        before, (index, value, predicate) = self._values(store.index, store.value, store.predicate)
        if (kind := short(store.value.type)) is not None:
            value = f"{kind}_bits({value})"
        line = f"{self._names[store.buffer]}[{index}] = {value};"
        always = isinstance(store.predicate, Const) and store.predicate.value
        yield from before
        yield line if always else f"if ({predicate}) {line}"

    def _assert(self, check: Assert) -> Iterator[str]:
        before, (condition,) = self._values(check.condition)
        number = self._unit.told(check)
        leave = " ".join([*(f"free({name});" for name in self._heap), f"return {number};"])
        yield from before
        yield f"if (!{condition}) {{ {leave} }}"


def _indented(lines: Iterator[str] | list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
