"""Steps of `for` loops: one loop, or several of which each is the whole body of the one before."""

from __future__ import annotations

import ast
import itertools
from contextlib import suppress
from typing import Any

from rfactor.ir.expr import Expr, Var, apply, const
from rfactor.ir.simplify import simplify
from rfactor.ir.types import I64
from rfactor.loops import purity
from rfactor.loops.aliasing import changes_in
from rfactor.loops.body import Body, Env, _globals
from rfactor.loops.fold import _NOT_WANTED, Beginning, Frame, Started
from rfactor.loops.headers import Count, Enumerated, Items, NoWalk, Walk, Zipped, walk_of
from rfactor.loops.kinds import Scalar
from rfactor.loops.plan import Plan
from rfactor.loops.rewrite import Loop
from rfactor.loops.run import Outcome
from rfactor.loops.sequences import Typed
from rfactor.loops.source import names_loaded, names_stored, stored_in
from rfactor.loops.symbols import Binding, Opaque, Parts, Symbol, View


class Nest(Frame):
    """Loops over sequences whose lengths are known."""

    def __init__(self, loops: list[Any], walks: list[Walk | None], dims: tuple[int, ...]) -> None:
        self.loops, self.walks, self.dims = loops, walks, dims
        self.body = loops[-1].node.body

    @staticmethod
    def of(at: Beginning) -> Nest | None:
        """The deepest nest of rectangular loops; None without steps."""
        first = at.walk()
        walks: list[Walk | None] = [first]
        loops, dims = [at.loop], [first.length]
        varying = names_stored(_for(at.loop).target)
        for inner in at.loop.nest[1:]:
            node = _for(inner)
            if node.orelse or any(isinstance(n, ast.Break) for s in node.body for n in ast.walk(s)):
                break
            loaded = names_loaded(node.iter)
            if loaded & (stored_in(node.body) | frozenset(changes_in(node.body))) or not _is_repeatable(at, node.iter):
                break
            row = _row_of(loops[-1], walks[-1], node.iter)
            if row is not None:
                loops.append(inner)
                walks.append(None)
                dims.append(row)
                varying |= names_stored(node.target)
                continue
            if loaded & varying:
                break
            try:
                walk = walk_of(node.iter, at.evaluate, at._is_builtin)
            except (NoWalk, NameError):
                break
            loops.append(inner)
            walks.append(walk)
            dims.append(walk.length)
            varying |= names_stored(node.target)
        if not all(dims):
            return None
        if len(loops) > 1 and any(isinstance(n, ast.Break) for s in _for(loops[-1]).body for n in ast.walk(s)):
            loops, walks, dims = loops[:1], walks[:1], dims[:1]
        return Nest(loops, walks, tuple(dims))

    @property
    def origins(self) -> tuple[Any, ...]:
        return tuple(o for walk in self.walks if walk is not None for o in walk.origins)

    # -- names ---------------------------------------------------------------------------------------------------------

    def bind(self, body: Body) -> Env:
        env: Env = {}
        for origin in self.origins:
            body.look_at(origin)
        for k in range(len(self.loops)):
            walk, target = self.walks[k], self.loops[k].node.target
            step = body.steps[k]
            if walk is None:
                name = self.loops[k].node.iter.id
                row = env[name].symbol
                assert isinstance(row, View)
                self._bind(body, env, target, body.element(row, step), None)
            else:
                self._bind(body, env, target, self._symbol(body, walk, (k,), step), walk)
        return env

    def _bind(self, body: Body, env: Env, target: ast.expr, symbol: Symbol, walk: Walk | None) -> None:
        if isinstance(target, ast.Name):
            env[target.id] = Binding(symbol, ast.Name(target.id, ast.Load()))
            return
        if not isinstance(target, ast.Tuple | ast.List) or any(isinstance(t, ast.Starred) for t in target.elts):
            raise body.no("the target of the loop is no name", target, "R10")
        if isinstance(symbol, Parts):
            if len(symbol.items) != len(target.elts):
                raise body.no(f"{len(symbol.items)} values are unpacked into {len(target.elts)}", target, "R6")
            for t, item in zip(target.elts, symbol.items, strict=True):
                self._bind(body, env, t, item, None)
            return
        if isinstance(symbol, View) and len(symbol.shape) > len(symbol.indices):
            size = symbol.shape[len(symbol.indices)]
            if size != len(target.elts):
                raise body.no(f"{size} values are unpacked into {len(target.elts)}", target, "R6")
            for k, t in zip(range(size), target.elts, strict=True):
                self._bind(body, env, t, body.element(symbol, const(I64, k)), None)
            return
        for t in target.elts:
            self._bind(body, env, t, Opaque(), None)

    def _symbol(self, body: Body, walk: Walk, path: tuple[int, ...], step: Var) -> Symbol:
        """An element of what is walked over, as a symbol."""
        if isinstance(walk, Count):
            numbers = walk.numbers
            start = self._number(body, (*path, "start"), numbers.start)
            by = self._number(body, (*path, "step"), numbers.step)
            return Scalar(simplify(apply("+", start, apply("*", by, step))), frozenset({"int"}))
        if isinstance(walk, Enumerated):
            inner = self._symbol(body, walk.inner, (*path, 0), step)
            first = self._number(body, (*path, "first"), walk.first)
            return Parts((Scalar(simplify(apply("+", first, step)), frozenset({"int"})), inner), "tuple")
        if isinstance(walk, Zipped):
            numbered = zip(range(len(walk.parts)), walk.parts, strict=True)
            return Parts(tuple(self._symbol(body, w, (*path, k), step) for k, w in numbered), "tuple")
        assert isinstance(walk, Items)
        found = walk.typed
        if found is None:
            return Opaque()
        name = "walk_" + "_".join(map(str, path))
        body.reading.arrays[name] = ("walk", path)
        return View(name, (step,), found.array.shape, _dtype(found), found.kind)

    def _number(self, body: Body, path: tuple[Any, ...], value: int) -> Expr:
        if value in (0, 1, -1):
            return const(I64, value)
        name = "k_" + "_".join(map(str, path))
        body.reading.constants[name] = (("walk", path), "int")  # type: ignore[assignment]
        return Var(I64, name)

    def _at(self, path: tuple[Any, ...]) -> Walk:
        walk: Walk | None = self.walks[path[0]]
        assert walk is not None
        for k in path[1:]:
            if isinstance(walk, Enumerated):
                walk = walk.inner
            else:
                assert isinstance(walk, Zipped)
                walk = walk.parts[k]
        return walk

    def number(self, where: tuple[Any, ...]) -> int:
        *path, which = where[1]
        walk = self._at(tuple(path))
        if which == "first":
            assert isinstance(walk, Enumerated)
            return walk.first
        assert isinstance(walk, Count)
        return walk.numbers.start if which == "start" else walk.numbers.step

    def array(self, at: Beginning, path: Any) -> Typed | None:
        walk = self._at(path)
        assert isinstance(walk, Items)
        return walk.typed

    def signature(self, at: Beginning) -> Any:
        shapes = tuple((None if w is None else w.signature, _numbers(w), _rows(w)) for w in self.walks)
        return len(self.dims), shapes, super().signature(at)

    # -- Python --------------------------------------------------------------------------------------------------------

    def column(self, at: Beginning, node: ast.expr, guard: ast.expr | None, prelude: tuple[ast.stmt, ...]) -> list[Any]:
        value = node if guard is None else ast.IfExp(guard, node, ast.Name("rfactor_not_wanted_", ast.Load()))
        append = ast.Expr(ast.Call(ast.Name("rfactor_append_", ast.Load()), [value], []))
        import copy

        inside: list[ast.stmt] = [*copy.deepcopy(list(prelude)), copy.deepcopy(append)]
        for k in reversed(range(len(self.loops))):
            walk = self.walks[k]
            source: ast.expr = (
                copy.deepcopy(self.loops[k].node.iter) if walk is None
                else ast.Call(ast.Name(f"rfactor_walk_{k}_", ast.Load()), [ast.Constant(0)], [])
            )  # fmt: skip
            inside = [ast.For(copy.deepcopy(self.loops[k].node.target), source, inside, [])]
        free = sorted(n for n in at.env if n.isidentifier())
        maker = ast.FunctionDef(
            "column", ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []), inside, [],
            lineno=1, col_offset=0,
        )  # fmt: skip
        module = ast.fix_missing_locations(ast.Module([maker], []))
        values: list[Any] = []
        scope = _globals(at.source) | {"rfactor_append_": values.append, "rfactor_not_wanted_": _NOT_WANTED}
        for k in range(len(self.loops)):
            walk = self.walks[k]
            if walk is not None:
                scope[f"rfactor_walk_{k}_"] = walk.rest
        exec(compile(module, at.source.text.file, "exec"), scope)
        with suppress(Exception):  # the step that raises is Python's, which raises again
            scope["column"](*(at.env[n] for n in free))
        return values

    def resumed(self, at: Beginning, plan: Plan, outcome: Outcome) -> Started:
        values = self.values(at, plan, outcome)
        steps = outcome.steps
        sizes = list(itertools.accumulate(reversed(self.dims), lambda a, b: a * b))[::-1]
        where = []
        rest = steps
        for k in range(len(self.dims)):
            below = sizes[k + 1] if k + 1 < len(sizes) else 1
            where.append(rest // below)
            rest %= below
        for loop, number in zip(self.loops[1:], where[1:], strict=True):
            if number:
                at.call.resume[loop.number] = number
        first = self.walks[0]
        assert first is not None
        return Started(first.rest(where[0]), values)


def _for(loop: Loop) -> ast.For:
    assert isinstance(loop.node, ast.For)
    return loop.node


def _is_repeatable(at: Beginning, header: ast.expr) -> bool:
    """May a header be evaluated once, for all the times that the plain loop evaluates it?"""
    for node in ast.walk(header):
        if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield):
            return False
        if isinstance(node, ast.Call):
            try:
                function = at.evaluate(node.func)
            except Exception:
                return False
            method = isinstance(node.func, ast.Attribute) and node.func.attr in purity.METHODS
            known = method and isinstance(getattr(function, "__self__", None), purity.BASES)
            if not (known or purity.is_pure_function(function)):
                return False
    return True


def _row_of(outer: Any, walk: Walk | None, iterated: ast.expr) -> int | None:
    """The length of the rows that an inner loop walks over, where the outer one gives rows of one array."""
    target = outer.node.target
    if not (isinstance(iterated, ast.Name) and isinstance(target, ast.Name) and target.id == iterated.id):
        return None
    if isinstance(walk, Items) and walk.typed is not None and walk.typed.array.ndim > 1:
        return int(walk.typed.array.shape[1])
    return None


def _dtype(found: Typed) -> Any:
    return found.array.dtype if found.array.dtype.names else found.array.dtype.str


def _numbers(walk: Walk | None) -> Any:
    if isinstance(walk, Count):
        return tuple(v if v in (0, 1, -1) else None for v in (walk.numbers.start, walk.numbers.step))
    if isinstance(walk, Enumerated):
        return (walk.first if walk.first in (0, 1, -1) else None, _numbers(walk.inner))
    if isinstance(walk, Zipped):
        return tuple(map(_numbers, walk.parts))
    return None


def _rows(walk: Walk | None) -> Any:
    if isinstance(walk, Enumerated):
        return _rows(walk.inner)
    if isinstance(walk, Zipped):
        return tuple(map(_rows, walk.parts))
    if isinstance(walk, Items) and walk.typed is not None:
        return walk.typed.array.shape[1:]
    return None
