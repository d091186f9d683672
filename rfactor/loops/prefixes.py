"""The function on many parts of its elements: on those of each key, on every prefix, on every window."""

from __future__ import annotations

import ast
import copy
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rfactor.errors import FoldError
from rfactor.loops.cuts import Cut
from rfactor.loops.digests import digest_of
from rfactor.loops.elements import Column, as_column, columns_of, joined
from rfactor.loops.fold import Call, Fold
from rfactor.loops.rewrite import opened
from rfactor.loops.samples import Chunk
from rfactor.loops.source import names_loaded
from rfactor.loops.states import State
from rfactor.loops.stream import Rewritten

SCALARS = (int, float, complex, str, bytes, bool, np.generic, type(None))


def arguments(fold: Fold, args: Sequence[Any], keywords: Mapping[str, Any]) -> tuple[dict[str, Column], dict[str, Any]]:
    """The arguments that are cut, by name, and the others. Raises `FoldError` where the former differ in length."""
    cut = fold.streamed.cut
    bound = inspect.signature(fold.python).bind(*args, **keywords).arguments
    columns = columns_of(tuple(bound[n] for n in cut.walked), cut.walked)
    others = fold.streamed.bound({n: v for n, v in bound.items() if n in cut.others})
    return dict(zip(cut.walked, columns, strict=True)), others


# -- by key ------------------------------------------------------------------------------------------------------------


def by_key(fold: Fold, key: Any, args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[Any, Any]:
    """The result on the elements of each key, in their order; keys in the order in which they come first."""
    columns, others = arguments(fold, args, keywords)
    keys = as_column(key, "the key")
    lengths = {len(keys), *map(len, columns.values())}
    if len(lengths) > 1:
        raise FoldError(f"there are {len(keys)} keys, and {max(lengths - {len(keys)})} elements", kind="R4",
                        advice="give a key for each element")  # fmt: skip
    return {
        k: fold(**{n: _chosen(c, places) for n, c in columns.items()}, **others) for k, places in _groups(keys).items()
    }


def _groups(keys: Column) -> dict[Any, Any]:
    """The places of each key."""
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iubUS" and keys.ndim == 1:
        _, first, codes = np.unique(keys, return_index=True, return_inverse=True)
        order = np.argsort(codes, kind="stable")
        places = np.split(order, np.cumsum(np.bincount(codes, minlength=len(first)))[:-1]) if len(first) else []
        return {keys[first[g]]: places[g] for g in np.argsort(first, kind="stable").tolist()}
    found: dict[Hashable, list[int]] = {}
    for k, place in zip(keys, range(len(keys)), strict=True):
        found.setdefault(k, []).append(place)
    return {k: np.array(p, np.int64) for k, p in found.items()}


def _chosen(column: Column, places: Any) -> Column:
    if isinstance(column, np.ndarray):
        return column[places]
    if isinstance(column, list | range):
        return [column[p] for p in places.tolist()]
    return joined([column[p : p + 1] for p in places.tolist()]) if len(places) else column[:0]


# -- windows -----------------------------------------------------------------------------------------------------------


def rolling(fold: Fold, width: int, args: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """The result on each window of `width` elements."""
    if width < 1:
        raise FoldError(f"windows of {width} elements", kind="R4", advice="ask for one element at least")
    columns, others = arguments(fold, args, keywords)
    count = min(map(len, columns.values()), default=0)
    return [
        fold(**{n: c[k : k + width] for n, c in columns.items()}, **others) for k in range(max(0, count - width + 1))
    ]


# -- prefixes ----------------------------------------------------------------------------------------------------------


class Scanned(Rewritten):
    """The function that gives its result after every step."""

    def __init__(self, fold: Fold, fewer: int) -> None:
        super().__init__(fold, _scanning(fold, fewer))
        self._opened = opened(self.source, lambda: Call(self))


def scan(fold: Fold, args: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """The result on every prefix of one element or more. Raises `FoldError` where it is not that of a step."""
    columns, others = arguments(fold, args, keywords)
    count = min(map(len, columns.values()), default=0)
    cut = fold.streamed.cut
    if not count:
        return []
    whole = tuple(columns.values())
    g = Chunk(State(fold, others, digest_of(fold, others), count, 0, whole), whole).geometry
    if g.low < 0 or g.high > max(g.fewer, 0) or g.fewer < 0:
        raise cut.source.text.refusal(
            "steps look at elements beyond those that have been walked", cut.loop, kind="R4",
            advice="look back, not ahead, and begin where there is something to look back at",
        )  # fmt: skip
    if cut.reach > 0:
        raise cut.source.text.refusal(
            "the function looks at a second element before its loop", cut.source.tree, kind="R4",
            advice="call the function on each prefix",
        )  # fmt: skip
    early = [fold.python(**{n: c[:k] for n, c in columns.items()}, **others) for k in range(1, min(g.fewer, count) + 1)]
    steps = g.steps(count)
    if not steps:
        return early
    with fold.streamed._lock:
        known: dict[int, Scanned] = fold.__dict__.setdefault("_scanned", {})
        if g.fewer not in known:
            known[g.fewer] = Scanned(fold, g.fewer)
    found = known[g.fewer]._opened(**columns, **others)
    lists = found if isinstance(found, tuple) else (found,)
    if any(not issubclass(t, SCALARS) for one in lists for t in set(map(type, one))):
        raise cut.source.text.refusal(
            "the result is a list or array that each step changes", cut.source.tree.body[-1], kind="R3",
            advice="return numbers, or call the function on each prefix",
        )  # fmt: skip
    result = early + (list(zip(*lists, strict=True)) if isinstance(found, tuple) else list(found))
    if len(result) < count:
        result += [fold(**columns, **others)] * (count - len(result))
    return result


def _scanning(fold: Fold, fewer: int) -> Any:
    """The text of the function with its result appended to lists after every step. Raises `FoldError`."""
    source, cut = fold.source, fold.streamed.cut
    tree = copy.deepcopy(source.tree)
    at = next(k for k in range(len(tree.body)) if _is_place(tree.body[k], cut))
    loop = tree.body[at]
    assert isinstance(loop, ast.For)
    after = tree.body[at + 1 :]
    no: Callable[..., FoldError] = lambda why, node, advice: source.text.refusal(why, node, kind="R4", advice=advice)  # noqa: E731
    if loop.orelse or len(after) != 1 or not isinstance(after[0], ast.Return) or after[0].value is None:
        raise no(
            "the result after a step is not one expression",
            after[0] if after else loop,
            "return it right after the loop",
        )
    value = after[0].value
    lengths = _Lengths(cut.walked, "scan_count_")
    for s in tree.body[:at]:
        for n in ast.walk(s):
            if (
                isinstance(n, ast.If | ast.While | ast.IfExp)
                and not _only_empty(n.test)
                and _Lengths.found(n.test, cut)
            ):
                raise no(
                    "what is done before the loop depends on how many elements there are", n, "decide it in the loop"
                )
    sized = {n.id for s in tree.body[:at] if _Lengths.found(s, cut) for n in ast.walk(s)
             if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}  # fmt: skip
    if sized & names_loaded(value):
        raise no("the result uses a length that is taken before the loop", value, "use len() in the result")
    parts = value.elts if isinstance(value, ast.Tuple) and value.elts else [value]
    names = [f"scan_out_{k}_" for k in range(len(parts))]
    text = "\n".join(f"{n} = []" for n in names)
    counts = bool(_Lengths.found(value, cut))
    begin = ast.parse(text + (f"\nscan_count_ = {fewer}" if counts else "")).body

    def kept() -> list[ast.stmt]:
        made: list[ast.stmt] = ast.parse("scan_count_ += 1").body if counts else []
        for name, part in zip(names, parts, strict=True):
            call = ast.Call(
                ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load()),
                [lengths.visit(copy.deepcopy(part))],
                [],
            )
            made.append(ast.Expr(call))
        for s in made:
            for n in ast.walk(s):
                ast.copy_location(n, value)
        return made

    loop.body = [*(x for s in loop.body for x in _Steps(kept).flat(s)), *kept()]
    result = (
        ast.Tuple([ast.Name(n, ast.Load()) for n in names], ast.Load())
        if isinstance(value, ast.Tuple)
        else ast.Name(names[0], ast.Load())
    )
    end = ast.copy_location(ast.Return(result), after[0])
    for s in (*begin, end):
        for n in ast.walk(s):
            ast.copy_location(n, loop)
    tree.body = [*tree.body[:at], *begin, loop, end]
    ast.fix_missing_locations(tree)
    return replace(source, tree=tree)


def _is_place(s: ast.stmt, cut: Cut) -> bool:
    return isinstance(s, ast.For) and (s.lineno, s.col_offset) == (cut.loop.lineno, cut.loop.col_offset)


def _only_empty(test: ast.expr) -> bool:
    """Does a test ask only whether there are no elements?"""
    return ast.unparse(test).replace(" ", "").split("(")[0] in ("not", "notlen") or ast.unparse(test).endswith(
        ("== 0", "< 1")
    )


class _Lengths(ast.NodeTransformer):
    """Lengths as the number of elements so far."""

    def __init__(self, walked: Sequence[str], name: str) -> None:
        self.walked, self.name = walked, name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = isinstance(node.func, ast.Name) and node.func.id == "len" and node.args
        if called and isinstance(node.args[0], ast.Name) and node.args[0].id in self.walked:
            return ast.copy_location(ast.Name(self.name, ast.Load()), node)
        return self.generic_visit(node)

    @staticmethod
    def found(node: ast.AST, cut: Cut) -> bool:
        """Is a length taken, or the truth of an argument?"""
        return any(
            (isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "len"
            and bool(names_loaded(n) & set(cut.walked)))
            or (isinstance(n, ast.Attribute) and n.attr in ("shape", "size"))
            for n in ast.walk(node)
        )  # fmt: skip


class _Steps(ast.NodeTransformer):
    """Ends of a step inside of its body."""

    def __init__(self, kept: Callable[[], list[ast.stmt]]) -> None:
        self.kept = kept

    def flat(self, s: ast.stmt) -> list[ast.stmt]:
        made = self.visit(s)
        return made if isinstance(made, list) else [made]

    def visit_Continue(self, node: ast.Continue) -> list[ast.stmt]:
        return [*self.kept(), node]

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        return ast.copy_location(ast.Break(), node)

    def _inner(self, node: ast.AST) -> ast.AST:
        if any(isinstance(n, ast.Return) for n in ast.walk(node)):
            raise FoldError("an inner loop returns", kind="R4", advice="call the function on each prefix")
        return node

    visit_For = visit_While = visit_FunctionDef = visit_Lambda = _inner
