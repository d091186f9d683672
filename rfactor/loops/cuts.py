"""A function rewritten so that its loop takes its arguments in parts.

    def f(a, k):                            def f(a, k):            # a: a `Part` of what is read so far
        PROLOGUE: len(a), a[0]                  PROLOGUE: a.length(), a.element(0)
        for i, v in enumerate(a):       ->      for walk_0, at_0, part_a, base in …:
            BODY: v, i, a[i - 1]                    for i, v in enumerate(walk_0, at_0):
        EPILOGUE: len(a)                                BODY: v, i, part_a[i - base - 1]
                                                    else:
                                                        continue
                                                    break
                                                EPILOGUE: a.length()

The state is that of Python between two parts, so that the result, exceptions and an early exit are the function's.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

from rfactor.errors import FoldError
from rfactor.loops.cut_uses import Inside, Whole, offset_of
from rfactor.loops.source import Source, names_loaded, names_stored


@dataclass(frozen=True)
class Leaf:
    """A piece of the header that moves on with every step."""

    form: str
    """`elements` of an argument, `count` of enumerate, or `range`."""
    variables: tuple[str, ...]
    """What each part is given under: the elements; the first number; the first number and the one after the last."""
    argument: str = ""
    skip: int = 0
    """Elements at the beginning that are not walked, as of a[1:]."""
    short: int = 0
    """Elements at the end that are not walked, as of a[:-1]."""
    first: ast.expr | None = None
    last: ast.expr | None = None
    """The arguments of range and enumerate."""


@dataclass(frozen=True)
class Place:
    """An element beside the step's own: argument[counter + by]."""

    argument: str
    leaf: int
    by: int


@dataclass(frozen=True)
class Cut:
    """What of a function is cut, and the function that takes parts."""

    source: Source
    """Of the rewritten function; its nodes keep their places in the text."""
    walked: tuple[str, ...]
    """The arguments that are cut along their first axis, in the order of the function."""
    others: tuple[str, ...]
    """The arguments that are the same for all parts."""
    leaves: tuple[Leaf, ...]
    places: tuple[Place, ...]
    strict: bool
    """zip(strict=True): all parts are of one length."""
    names: tuple[str, ...]
    """The names that each part assigns: those of the leaves, then two an argument that is indexed."""
    outer: int
    """The number of the loop over parts; the loop itself is the next one."""
    loop: ast.For
    derived: frozenset[str] = field(default_factory=frozenset)
    """Names whose values before the loop depend on elements or on the length."""
    asked: frozenset[str] = field(default_factory=frozenset)
    """Names that the loop reads and does not assign."""

    @cached_property
    def indexed(self) -> tuple[str, ...]:
        """The arguments that the body indexes by the step."""
        return tuple(n for n in self.walked if any(p.argument == n for p in self.places))

    @cached_property
    def reach(self) -> int:
        """The greatest position of an element that is used before the loop; -1 without any."""
        found = [
            n.args[0].value for n in ast.walk(self.source.tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "element"
            and n.args and isinstance(n.args[0], ast.Constant) and isinstance(n.args[0].value, int)
        ]  # fmt: skip
        return max(found, default=-1)


def cut_of(source: Source) -> Cut:
    """Rewrite a function. Raises `FoldError` where its loop cannot take its arguments in parts."""
    return Cutter(source).cut()


class Cutter:
    def __init__(self, source: Source) -> None:
        self.source, self.tree = source, copy.deepcopy(source.tree)
        args = self.tree.args
        self.parameters = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        self.used = {n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name)} | set(self.parameters)
        self.lengths: dict[str, str] = {}
        """Names that are a length, give or take: by name the argument."""

    def no(self, reason: str, node: ast.AST | None, advice: str = "") -> FoldError:
        return self.source.text.refusal(reason, node, kind="R4", advice=advice)

    def fresh(self, name: str) -> str:
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name

    def place(self, name: str, counter: str, by: int) -> None:
        """Note an element that a step reads."""
        found = Place(name, self.counters[counter], by)
        if found not in self.places:
            self.places.append(found)

    # -- finding -------------------------------------------------------------------------------------------------------

    def cut(self) -> Cut:
        at = self._loop()
        loop = self.tree.body[at]
        assert isinstance(loop, ast.For)
        before, after = self.tree.body[:at], self.tree.body[at + 1 :]
        self._find_lengths(before)
        self.leaves: list[Leaf] = []
        self.counters: dict[str, int] = {}
        self.strict = False
        iterated = self._leaf(loop.iter, loop.target)
        changed = set().union(*(names_stored(s) for s in loop.body))
        self.places: list[Place] = []
        body_names = _indexed(loop.body, self.parameters, set(self.counters) - changed)
        if (
            not any(leaf.argument for leaf in self.leaves)
            and not body_names
            and not any(leaf.form == "range" for leaf in self.leaves)
        ):
            raise self.no(
                "the loop walks over none of the arguments", loop.iter, "walk over an argument of the function"
            )
        walked = {leaf.argument for leaf in self.leaves if leaf.argument} | body_names
        walked |= {self._length_of(leaf.last) for leaf in self.leaves if leaf.last is not None} - {""}
        self.walked = tuple(p for p in self.parameters if p in walked)
        if not self.walked:
            raise self.no(
                "the loop walks over none of the arguments", loop.iter, "walk over an argument of the function"
            )
        for name in self.walked:
            store = next((n for n in ast.walk(self.tree) if _stores(n, name)), None)
            if store is not None:
                raise self.no(f"{name} is assigned, and taken in parts", store, "give it another name")
        self.windows = {n: (self.fresh(f"part_{n}"), self.fresh(f"base_{n}")) for n in self.walked if n in body_names}
        asked = set().union(*(names_loaded(s) for s in loop.body)) - changed - names_stored(loop.target)
        derived = self._derived(before)
        for name in sorted(asked & self._derived(before, lengths=True)):
            node = next(n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and n.id == name)
            raise self.no(f"{name} depends on how many elements there are, which is known after the last part", node,
                          "use it after the loop")  # fmt: skip
        body = [Inside(self, changed).visit(s) for s in loop.body]
        inner = ast.copy_location(ast.For(loop.target, iterated, body, [ast.copy_location(ast.Continue(), loop)]), loop)
        names = [v for leaf in self.leaves for v in leaf.variables]
        names += [v for pair in self.windows.values() for v in pair]
        target = ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())
        whole = Whole(self, "before the loop")
        prologue = [whole.visit(s) for s in before]
        leaves = tuple(
            replace(
                leaf, first=None if leaf.first is None else whole.visit(leaf.first),
                last=None if leaf.last is None else whole.visit(leaf.last),
            )
            for leaf in self.leaves
        )  # fmt: skip
        whole.where, whole.elements = "after the loop", False
        over: ast.expr = ast.Name(self.walked[0], ast.Load())
        outer = ast.For(target, over, [inner, ast.Break()], [whole.visit(s) for s in loop.orelse])
        self.tree.body = [*prologue, outer, *self._settled(before), *(whole.visit(s) for s in after)]
        for part in ast.walk(outer):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, loop)
        ast.fix_missing_locations(self.tree)
        number = sum(1 for s in prologue for n in _own(s) if isinstance(n, ast.For | ast.While))
        return Cut(
            replace(self.source, tree=self.tree), self.walked,
            tuple(p for p in self.parameters if p not in self.walked), leaves, tuple(self.places), self.strict,
            tuple(names), number, inner, derived, frozenset(asked),
        )  # fmt: skip

    def _loop(self) -> int:
        """The place of the one loop that walks arguments."""
        args = self.tree.args
        if args.vararg or args.kwarg:
            raise self.no("the function takes any number of arguments", self.tree, "name the arguments")
        self._find_lengths(self.tree.body)
        tainted = set(self.parameters) | set(self.lengths)
        found = [k for k in range(len(self.tree.body)) if isinstance(self.tree.body[k], ast.For | ast.While)]
        walks = []
        for k in found:
            loop = self.tree.body[k]
            header = loop.iter if isinstance(loop, ast.For) else loop.test  # type: ignore[attr-defined]
            if names_loaded(header) & tainted:
                walks.append(k)
        if not walks:
            inside = next((n for n in _own(self.tree) if isinstance(n, ast.For | ast.While)), self.tree)
            raise self.no(
                "no loop of the function's own level walks over an argument", inside,
                "write the loop over the argument as a statement of the function",
            )  # fmt: skip
        whole = [k for k in walks if isinstance(self.tree.body[k], ast.For)]
        if not whole:
            raise self.no("a while loop takes no parts", self.tree.body[walks[0]], "write it as a for loop")
        self.lengths = {}
        return whole[0]

    def _find_lengths(self, statements: list[ast.stmt]) -> None:
        for s in statements:
            if isinstance(s, ast.Assign) and len(s.targets) == 1:
                pairs = [(s.targets[0], s.value)]
                if isinstance(s.targets[0], ast.Tuple) and isinstance(s.value, ast.Tuple):
                    pairs = list(zip(s.targets[0].elts, s.value.elts, strict=False))
                for target, value in pairs:
                    if isinstance(target, ast.Name) and (name := self._length_of(value)):
                        self.lengths[target.id] = name

    def _length_of(self, node: ast.expr | None) -> str:
        """The argument whose length, give or take a number, an expression is."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            return self._length_of(node.left) or (self._length_of(node.right) if isinstance(node.op, ast.Add) else "")
        if isinstance(node, ast.Name):
            return self.lengths.get(node.id, "")
        return self.length_call(node)

    def length_call(self, node: ast.AST | None) -> str:
        """The argument of which an expression is the length."""
        if (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
            and "len" not in self.source.globals and len(node.args) == 1 and not node.keywords
            and isinstance(node.args[0], ast.Name) and node.args[0].id in self.parameters
        ):  # fmt: skip
            return node.args[0].id
        if (
            isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
            and isinstance(node.value.value, ast.Name) and node.value.value.id in self.parameters
            and isinstance(node.slice, ast.Constant) and node.slice.value == 0
        ):  # fmt: skip
            return node.value.value.id
        return ""

    # -- the header ----------------------------------------------------------------------------------------------------

    def _leaf(self, node: ast.expr, target: ast.expr | None) -> ast.expr:
        """The header over parts; notes what moves on with every step."""
        if isinstance(node, ast.Name) and node.id in self.parameters:
            return self._elements(node, node.id, 0, 0)
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in self.parameters:
            bounds = _slice(node.slice)
            if bounds is not None:
                return self._elements(node, node.value.id, *bounds)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id not in self.source.globals:
            name, keywords = node.func.id, {k.arg: k.value for k in node.keywords}
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            if name == "enumerate" and node.args and set(keywords) <= {"start"}:
                first = node.args[1] if len(node.args) > 1 else keywords.get("start", ast.Constant(0))
                variable = self.fresh(f"at_{len(self.leaves)}")
                if parts and isinstance(parts[0], ast.Name):
                    self.counters[parts[0].id] = len(self.leaves)
                self.leaves.append(Leaf("count", (variable,), first=first))
                inner = self._leaf(node.args[0], parts[1] if len(parts) == 2 else None)
                return self._at(ast.Call(node.func, [inner, ast.Name(variable, ast.Load())], []), node)
            if name == "zip" and node.args and set(keywords) <= {"strict"}:
                strict = keywords.get("strict")
                self.strict |= isinstance(strict, ast.Constant) and bool(strict.value)
                targets = parts if len(parts) == len(node.args) else [None] * len(node.args)
                inner_parts = [self._leaf(a, t) for a, t in zip(node.args, targets, strict=True)]
                return self._at(ast.Call(node.func, inner_parts, []), node)
            if name == "range" and 1 <= len(node.args) <= 3 and not keywords:
                if len(node.args) == 3 and not (isinstance(node.args[2], ast.Constant) and node.args[2].value == 1):
                    raise self.no("a range with a step of its own takes no parts", node, "walk one by one")
                first, last = (
                    ast.Constant(0) if len(node.args) == 1 else node.args[0],
                    node.args[-1 if len(node.args) == 1 else 1],
                )
                if not self._length_of(last):
                    raise self.no("the range does not end with an argument", node, "write range(len(a))")
                low, high = self.fresh(f"from_{len(self.leaves)}"), self.fresh(f"to_{len(self.leaves)}")
                if isinstance(target, ast.Name):
                    self.counters[target.id] = len(self.leaves)
                self.leaves.append(Leaf("range", (low, high), first=first, last=last))
                return self._at(ast.Call(node.func, [ast.Name(low, ast.Load()), ast.Name(high, ast.Load())], []), node)
        raise self.no(
            f"{ast.unparse(node)} takes no parts",
            node,
            "walk over the arguments themselves, by zip, enumerate or range",
        )

    def _elements(self, node: ast.expr, name: str, skip: int, short: int) -> ast.expr:
        variable = self.fresh(f"walk_{len(self.leaves)}")
        self.leaves.append(Leaf("elements", (variable,), name, skip, short))
        return self._at(ast.Name(variable, ast.Load()), node)

    def _at(self, made: ast.expr, node: ast.AST) -> ast.expr:
        return ast.copy_location(made, node)

    # -- around the loop -----------------------------------------------------------------------------------------------

    def _derived(self, before: list[ast.stmt], lengths: bool = False) -> frozenset[str]:
        """Names that depend on elements or lengths; with `lengths` on these alone."""
        found: set[str] = set()
        sources = set(self.walked)

        def depends(s: ast.stmt) -> bool:
            if lengths:
                return bool(names_loaded(s) & found) or any(self.length_call(n) in sources for n in ast.walk(s))
            return bool(names_loaded(s) & (sources | found))

        for _ in range(len(before) + 1):
            for s in before:
                for n in ast.walk(s):
                    if isinstance(n, ast.stmt) and depends(n):
                        found |= names_stored(n)
                        found |= {_root(t) for t in ast.walk(n) if isinstance(t, ast.Subscript | ast.Attribute)
                                  and isinstance(t.ctx, ast.Store)}  # fmt: skip
                        found |= {_root(c.func) for c in ast.walk(n) if isinstance(c, ast.Call)
                                  and isinstance(c.func, ast.Attribute)} - sources  # fmt: skip
        return frozenset(found - {""})

    def _settled(self, before: list[ast.stmt]) -> list[ast.stmt]:
        """What gives lengths their numbers after the loop."""
        text = ""
        for name in sorted(self._derived(before)):
            if name in self.used and name not in self.source.globals:
                text += f"try: {name} = {self.walked[0]}.settled({name})\nexcept UnboundLocalError: pass\n"
        statements = ast.parse(text).body
        for s in statements:
            for n in ast.walk(s):
                ast.copy_location(n, self.tree.body[-1])
        return statements


def _own(node: ast.AST) -> list[ast.AST]:
    """The nodes of a function, those of functions inside of it aside."""
    found, pending = [], [node]
    while pending:
        at = pending.pop()
        found.append(at)
        pending += [
            c for c in ast.iter_child_nodes(at)
            if not isinstance(c, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda)
        ]  # fmt: skip
    return found


def _root(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _stores(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)


def _indexed(body: list[ast.stmt], parameters: list[str], counters: set[str]) -> set[str]:
    """The arguments that a body indexes by a counter of the header."""
    found = set()
    for s in body:
        for n in ast.walk(s):
            if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in parameters:
                first = n.slice.elts[0] if isinstance(n.slice, ast.Tuple) and n.slice.elts else n.slice
                place = offset_of(first) if isinstance(first, ast.expr) else None
                if place is not None and place[0] in counters:
                    found.add(n.value.id)
    return found


def _slice(node: ast.expr) -> tuple[int, int] | None:
    """How many elements a slice leaves out at the beginning and at the end."""
    if not isinstance(node, ast.Slice) or node.step is not None:
        return None
    skip, short = 0, 0
    if node.lower is not None:
        if not (isinstance(node.lower, ast.Constant) and type(node.lower.value) is int and node.lower.value >= 0):
            return None
        skip = node.lower.value
    if node.upper is not None:
        upper = node.upper
        if not (
            isinstance(upper, ast.UnaryOp) and isinstance(upper.op, ast.USub)
            and isinstance(upper.operand, ast.Constant)
            and type(upper.operand.value) is int and upper.operand.value > 0
        ):  # fmt: skip
            return None
        short = upper.operand.value
    return skip, short
