"""Tell what was found behind a loop, in the names of the loop and the syntax of `rfactor check`."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from rfactor.ir.expr import Const, Expr, Var, names, rewrite, substitute, variables
from rfactor.ir.printer import brief, show
from rfactor.ir.types import U32
from rfactor.loops.body import Datum, Slot
from rfactor.loops.kinds import FALSE, python_value
from rfactor.loops.plan import Operator, Plan
from rfactor.loops.rewrite import Loop

_LONGEST = 400


@dataclass(frozen=True)
class Part:
    """Hold the numbers of a loop that are proved together: those of the loop as a whole, or of one key."""

    key: str
    """The key of a group, as in the loop; empty for the loop as a whole."""
    state: list[str]
    update: list[str]
    operator: list[str]
    """Over `name` (left) and `name'` (right); for a lifting over s0, s1, … and s0', s1', …."""
    identity: list[str] | None
    identity_kind: str | None
    lifted: bool
    data: list[str]
    """What one step is, as an operand of the operator."""
    apply: list[str]
    """The state after a run of steps; empty where the operator says it."""
    commutes: bool | None
    invariants: list[str]
    assumes: list[str]
    caveats: list[str]
    proofs: list[tuple[str, str, float]]
    meaning: str
    source: str | None
    driven: str = ""
    """The few states that the rest is driven by, where a run is summarized from each of them."""


@dataclass(frozen=True)
class Found:
    """Hold a loop that was read and proved."""

    verdict: str
    """`fold`, `scan`, `map`, `group-by` or `search`."""
    parts: list[Part]
    stored: list[str]
    """What each step leaves behind."""
    leaves: str
    """When a step leaves the loop; empty where none does."""
    required: list[tuple[str, str]] = field(default_factory=list)
    """Conditions of a step and why: a step of which one does not hold is Python's."""


def found(loop: Loop, plan: Plan) -> Found:
    """Tell what a plan says of its loop."""
    words = Words(loop, plan)
    parts = [words.part(p) for p in (plan, *plan.groups) if p.operator is not None]
    stored = [f"{s.name}[{words.text(s.index)}] = {words.text(s.value.expr)}" if s.index is not None
              else f"{s.name}.{s.form}({words.text(s.value.expr)})" for s in plan.reading.stored]  # fmt: skip
    if plan.groups or plan.reading.keys:
        verdict = "group-by"
    elif stored:
        verdict = "scan" if plan.slots else "map"
    elif plan.operator is None and not plan.slots:
        verdict = "search" if plan.leaves != FALSE else "map"
    else:
        verdict = "fold"
    leaves = "" if plan.leaves == FALSE else words.text(plan.leaves)
    required = [(words.text(r.condition), r.why) for r in plan.reading.required]
    return Found(verdict, parts, stored, leaves, required)


class Words:
    """Put the names of a loop in place of the variables of what was read of it."""

    def __init__(self, loop: Loop, plan: Plan) -> None:
        self.loop, self.reading = loop, plan.reading
        self.steps: dict[str, str] = {}
        self.walks: dict[str, str] = {}
        nest = loop.nest
        for k in range(plan.depth):
            node = nest[k].node if k < len(nest) else None
            counter = "t" if plan.depth == 1 else f"t{k}"
            if isinstance(node, ast.For):
                self._header(node.target, node.iter, f"walk_{k}", counter, f"k_{k}")
        self._data: dict[str, str] = {}
        for name, datum in plan.reading.data.items():
            self._data[name] = self._datum(datum)
        self._constants = {
            n: ast.unparse(node) if isinstance(node, ast.AST) else self.steps.get(n, "start")
            for n, (node, _) in plan.reading.constants.items()
        }

    def _header(self, target: ast.expr, over: ast.expr, walk: str, counter: str, start: str) -> None:
        """Find what the elements of a header are called, and the number of the step."""
        called = over.func.id if isinstance(over, ast.Call) and isinstance(over.func, ast.Name) else ""
        args = over.args if isinstance(over, ast.Call) else []
        elements = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        if called == "enumerate" and len(elements) == 2:
            if len(args) < 2 and not over.keywords:  # type: ignore[attr-defined]
                self.steps.setdefault(counter, ast.unparse(elements[0]))
            else:
                first = args[1] if len(args) > 1 else over.keywords[0].value  # type: ignore[attr-defined]
                self.steps[f"{start}_first"] = ast.unparse(first)
            self._header(elements[1], args[0], f"{walk}_0", counter, f"{start}_0")
        elif called == "zip" and len(elements) == len(args):
            for k, (t, a) in zip(range(len(args)), zip(elements, args, strict=True), strict=True):
                self._header(t, a, f"{walk}_{k}", counter, f"{start}_{k}")
        elif called == "range":
            if len(args) == 1:
                self.steps.setdefault(counter, ast.unparse(target))
            else:
                self.steps[f"{start}_start"] = ast.unparse(args[0])
                if len(args) > 2:
                    self.steps[f"{start}_step"] = ast.unparse(args[2])
        else:
            self.walks[walk] = ast.unparse(target)

    def _datum(self, datum: Datum) -> str:
        if datum.view is None:
            return f"({ast.unparse(datum.node)})" if datum.node is not None else datum.var.name
        view = datum.view
        known = self.walks.get(view.array)
        indices = view.indices
        if known is not None:
            elements = known.strip("()").split(", ")
            if len(indices) == 2 and len(elements) > 1 and not names(indices[1]):
                at = show(indices[1])
                text = elements[int(at)] if at.isdigit() and int(at) < len(elements) else f"{known}[{at}]"
            else:
                rest = ", ".join(self.text(i) for i in indices[1:])
                text = f"{known}[{rest}]" if rest else known
        else:
            where = self.reading.arrays.get(view.array)
            array = view.array if where is None or where[0] == "walk" else ast.unparse(where[1])
            text = f"{array}[{', '.join(self.text(i) for i in indices)}]"
        return text + "".join(f"[{f!r}]" for f in view.fields)

    def text(self, expr: Expr, more: dict[str, str] | None = None) -> str:
        """Write an expression with the loop's own names."""
        known = {f"x{k}": _slot(s) for k, s in _numbered(self.reading.slots)} if more is None else more
        values: dict[str, Expr] = {}
        for v in variables(expr):
            name = known.get(v.name) or getattr(self, "_data", {}).get(v.name) or self.steps.get(v.name)
            name = name or getattr(self, "_constants", {}).get(v.name)
            if name:
                values[v.name] = Var(v.type, name)
        made = substitute(self._quoted(expr), values)
        text = show(made) if len(names(made)) < 40 else brief(made)
        return text if len(text) <= _LONGEST else brief(made)

    def _quoted(self, expr: Expr) -> Expr:
        """Put characters and texts in place of their numbers."""
        if not any(d.kind == "str" for d in self.reading.data.values()):
            return expr

        def visit(e: Expr) -> Expr:
            if isinstance(e, Const) and e.type == U32:
                return Var(U32, repr(python_value("str", e.value)))
            return e

        return rewrite(expr, {}, visit)

    def part(self, plan: Plan) -> Part:
        """Tell of the numbers of one key, or of the loop as a whole."""
        operator = plan.operator
        assert operator is not None
        answer = operator.answer
        state = [_slot(s, bool(plan.key)) for s in plan.slots]
        left = {f"x{k}": n for k, n in _numbered(state)}
        lifted = answer.lift is not None or operator.driver is not None
        own = [f"s{k}" for k in range(len(operator.types))] if lifted else state
        pair = {f"x{k}": n for k, n in _numbered(own)} | {f"y{k}": f"{n}'" for k, n in _numbered(own)}
        onto = left | {f"y{k}": f"s{k}'" for k in range(len(operator.types))}
        identity = answer.identity if answer.lift is None else answer.lift.identity
        identity = None if operator.driver is not None else identity
        commutes = operator.commutes if operator.driver is not None else answer.commutative
        return Part(
            key=self._key(plan),
            state=state,
            update=[self.text(e, left) for e in plan.update],
            operator=[self.text(e, pair) for e in operator.joined],
            identity=None if identity is None else [self.text(e, pair) for e in identity],
            identity_kind=_kind_of_identity(operator),
            lifted=lifted,
            data=[self.text(e, left) for e in operator.first],
            apply=[self.text(e, onto) for e in operator.applied] if lifted else [],
            commutes=commutes,
            invariants=[self.text(e, left) for e in operator.invariants],
            assumes=[self.text(e, left) for e in operator.assumed],
            caveats=list(answer.caveats),
            proofs=[(p.claim, p.method, p.ms) for p in answer.proofs],
            meaning=answer.update.meaning.value,
            source=answer.source,
            driven=self._driven(operator, state),
        )

    def _driven(self, operator: Operator, state: list[str]) -> str:
        if operator.driver is None:
            return ""
        own = ", ".join(state[k] for k in operator.driver.places)
        values = [", ".join(map(show, v)) for v in operator.driver.values]
        return f"{own} in {' | '.join(values)}"

    def _key(self, plan: Plan) -> str:
        """Write what the numbers are kept by, as the loop does."""
        if plan.key is None:
            return ""
        own = {s.name for s in plan.slots}
        for node in ast.walk(self.loop.node):
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in own:
                return ast.unparse(node.slice)
            method = node.func if isinstance(node, ast.Call) and node.args else None
            if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name) and method.value.id in own:
                return ast.unparse(node.args[0])  # type: ignore[attr-defined]
        return "key"


def _kind_of_identity(operator: Operator) -> str | None:
    if operator.driver is not None:
        return None
    return operator.answer.identity_kind if operator.answer.lift is None else "two-sided"


def _slot(slot: Slot, keyed: bool = False) -> str:
    """Write a number of the state as the loop would."""
    if slot.part == "value":
        return slot.name
    if slot.part.startswith("at "):
        return f"{slot.name}[key]" if slot.part == "at value" else f"key in {slot.name}"
    if slot.part == "has":
        return f"{slot.name} is not None"
    if slot.part == "last":
        return f"{slot.name}[last]"
    if slot.part in ("real", "imag"):
        return f"{slot.name}.{slot.part}"
    return slot.name + "".join(f"[{k}]" for k in slot.part.split(","))


def _numbered(items: Any) -> list[tuple[int, Any]]:
    return list(zip(range(len(items)), items, strict=True))


def assigned(state: list[str], values: list[str]) -> str:
    """Write `a, b := max(a, v), b + 1`."""
    return f"{', '.join(state)} := {', '.join(values)}"


__all__ = ["Found", "Operator", "Part", "Words", "assigned", "found"]
