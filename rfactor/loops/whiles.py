"""Steps of `while` loops that walk an index by a fixed distance."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I64
from rfactor.loops.aliasing import changes_in
from rfactor.loops.body import Body, Env, _globals
from rfactor.loops.fold import _NOT_WANTED, Beginning, Frame, Started
from rfactor.loops.kinds import Scalar
from rfactor.loops.plan import Plan
from rfactor.loops.run import Outcome
from rfactor.loops.sequences import Typed
from rfactor.loops.source import names_loaded, names_stored, stored_in
from rfactor.loops.symbols import Binding

_ADVICE = "write it as a for loop over a range or a sequence"


class Walked(Frame):
    """A `while` loop whose index grows by the same in every step, up to a bound that stays the same."""

    def __init__(self, name: str, start: int, by: int, length: int, loop: ast.While, test: Sequence[ast.expr]) -> None:
        self.name, self.start_, self.by, self.loop = name, start, by, loop
        self.dims = (length,)
        self.body = loop.body
        self.test = tuple(test)
        self.fixed = frozenset({name})

    def bind(self, body: Body) -> Env:
        start = Var(I64, "k_start") if self.start_ not in (0, 1) else const(I64, self.start_)
        if isinstance(start, Var):
            body.reading.constants["k_start"] = (("walk", "start"), "int")  # type: ignore[assignment]
        index: Expr = simplify(apply("+", start, apply("*", const(I64, self.by), body.steps[0])))
        return {self.name: Binding(Scalar(index, frozenset({"int"})), ast.Name(self.name, ast.Load()))}

    def number(self, where: tuple[Any, ...]) -> int:
        return self.start_

    def array(self, at: Beginning, path: Any) -> Typed | None:
        raise AssertionError("a while loop has no sequence")

    def signature(self, at: Beginning) -> Any:
        return self.name, self.by, self.start_ if self.start_ in (0, 1) else None, len(self.test), super().signature(at)

    def column(self, at: Beginning, node: ast.expr, guard: ast.expr | None, prelude: tuple[ast.stmt, ...]) -> list[Any]:
        import copy

        value = node if guard is None else ast.IfExp(guard, node, ast.Name("rfactor_not_wanted_", ast.Load()))
        append = ast.Expr(ast.Call(ast.Name("rfactor_append_", ast.Load()), [copy.deepcopy(value)], []))
        walk = ast.For(
            ast.Name(self.name, ast.Store()), ast.Name("rfactor_walk_", ast.Load()),
            [*copy.deepcopy(list(prelude)), append], [],
        )  # fmt: skip
        free = sorted(n for n in at.env if n.isidentifier())
        maker = ast.FunctionDef(
            "column", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []), [walk], [],
            lineno=1, col_offset=0,
        )  # fmt: skip
        module = ast.fix_missing_locations(ast.Module([maker], []))
        values: list[Any] = []
        scope = _globals(at.source) | {
            "rfactor_append_": values.append, "rfactor_not_wanted_": _NOT_WANTED,
            "rfactor_walk_": range(self.start_, self.start_ + self.by * self.dims[0], self.by),
        }  # fmt: skip
        exec(compile(module, at.source.text.file, "exec"), scope)
        with suppress(Exception):  # the step that raises is Python's, which raises again
            scope["column"](*(at.env[n] for n in free))
        return values

    def resumed(self, at: Beginning, plan: Plan, outcome: Outcome) -> Started:
        values = self.values(at, plan, outcome)
        return Started((), {**values, self.name: self.start_ + self.by * outcome.steps})


def while_frame(at: Beginning) -> Frame | None:
    """The steps of a `while` loop. Raises `FoldError` where it walks no index."""
    loop = at.loop.node
    assert isinstance(loop, ast.While)
    stored = stored_in(loop.body) | names_stored(loop.test)
    parts = loop.test.values if isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And) else [loop.test]
    for k in range(len(parts)):
        found = _bounded(at, loop, parts[k], stored)
        if found is not None:
            name, start, by, length = found
            if length < 1:
                return None
            return Walked(name, start, by, length, loop, [*parts[:k], *parts[k + 1 :]])
    reason = "the loop is no walk over data: how often it turns depends on what it computes"
    raise at.no(reason, loop.test, "R4", _ADVICE)


def _bounded(
    at: Beginning, loop: ast.While, test: ast.expr, stored: frozenset[str]
) -> tuple[str, int, int, int] | None:
    """The index of a loop, where it begins, by how much it grows, and how many steps there are."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return None
    for left, op, right in (
        (test.left, type(test.ops[0]), test.comparators[0]),
        (test.comparators[0], _MIRRORED.get(type(test.ops[0])), test.left),
    ):
        if not isinstance(left, ast.Name) or op not in (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.NotEq):
            continue
        if (
            names_loaded(right) & _changing(loop, right, stored)
            or left.id not in at.env
            or any(
                isinstance(n, ast.Call) and not (isinstance(n.func, ast.Name) and n.func.id == "len")
                for n in ast.walk(right)
            )
        ):
            continue
        by = _growth(at, loop, left.id)
        if by is None:
            continue
        start = at.env[left.id]
        try:
            bound = at.evaluate(right)
        except Exception:
            return None
        if type(start) is not int or type(bound) is not int:
            return None
        length = _length(start, by, op, bound)
        if length is None:
            return None
        return left.id, start, by, length
    return None


def _changing(loop: ast.While, bound: ast.expr, stored: frozenset[str]) -> frozenset[str]:
    """The names whose values, or whose lengths where a length is the bound, the loop changes."""
    changes = changes_in(loop.body)
    if isinstance(bound, ast.Call):  # len(…): elements may be assigned
        changes = {n: [c for c in cs if not isinstance(c, ast.Subscript)] for n, cs in changes.items()}
    return stored | frozenset(n for n, cs in changes.items() if cs)


_MIRRORED: dict[type, type] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.NotEq: ast.NotEq}


def _length(start: int, by: int, op: Any, bound: int) -> int | None:
    if op is ast.Lt and by > 0:
        return len(range(start, bound, by))
    if op is ast.LtE and by > 0:
        return len(range(start, bound + 1, by))
    if op is ast.Gt and by < 0:
        return len(range(start, bound, by))
    if op is ast.GtE and by < 0:
        return len(range(start, bound - 1, by))
    if op is ast.NotEq and (bound - start) % by == 0 and (bound - start) // by >= 0:
        return (bound - start) // by
    return None


def _growth(at: Beginning, loop: ast.While, name: str) -> int | None:
    """By how much each step changes an index; None where it is not the same in every step."""
    changes = [
        s for s in loop.body
        if isinstance(s, ast.AugAssign | ast.Assign) and name in names_stored(s)
    ]  # fmt: skip
    everywhere = sum(
        1 for s in loop.body for n in ast.walk(s)
        if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store | ast.Del)
    )  # fmt: skip
    if len(changes) != 1 or everywhere != 1:
        return None
    change = changes[0]
    before = loop.body[: loop.body.index(change)]
    if any(isinstance(n, ast.Continue) for s in before for n in ast.walk(s) if not isinstance(s, ast.For | ast.While)):
        return None
    value: ast.expr
    if isinstance(change, ast.AugAssign) and isinstance(change.op, ast.Add | ast.Sub):
        value, sign = change.value, 1 if isinstance(change.op, ast.Add) else -1
    elif isinstance(change, ast.Assign) and isinstance(change.value, ast.BinOp) and len(change.targets) == 1:
        whole = change.value
        if not (isinstance(whole.left, ast.Name) and whole.left.id == name and isinstance(whole.op, ast.Add | ast.Sub)):
            return None
        value, sign = whole.right, 1 if isinstance(whole.op, ast.Add) else -1
    else:
        return None
    if not isinstance(value, ast.Constant) or type(value.value) is not int or value.value == 0:
        return None
    return sign * value.value
