"""Whatever update is thrown at the recogniser, what it claims is true: all values of 8 bits are tried."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr
from rfactor.ir.parser import parse_expr, parse_update
from rfactor.ir.types import I8, U8, Type
from rfactor.matcher.check import check
from rfactor.matcher.report import to_json
from tests.matcher.oracle import Judge, Wrong

LEAVES = st.sampled_from(["x", "x", "a", "a", "b", "k", "0", "1", "3", "100"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        ["({} + {})", "({} - {})", "({} * {})", "min({}, {})", "max({}, {})", "({} & {})", "({} | {})", "({} ^ {})"]
    )
    chosen = st.builds(
        lambda sign, one, two, true, false: f"select({one} {sign} {two}, {true}, {false})",
        st.sampled_from(["<", "<=", "==", ">"]), inner, inner, inner, inner,
    )  # fmt: skip
    return st.builds(lambda shape, one, two: shape.format(one, two), binary, inner, inner) | chosen


UPDATES = st.recursive(LEAVES, _grown, max_leaves=6)


@settings(max_examples=120, deadline=None)
@given(UPDATES, st.sampled_from([U8, I8]))
def test_no_claim_about_a_random_update_is_false(text: str, type_: Type) -> None:
    answer = check(f"x = {text}", type=type_, timeout=1.5)  # an assignment need not read what it assigns
    record = json.loads(json.dumps(to_json(answer, text)))
    Judge(record, count=400).check()
    if answer.verdict == "associative":
        exhaust(record, type_)


@settings(max_examples=50, deadline=None)
@given(UPDATES, UPDATES, st.sampled_from([U8, I8]))
def test_no_claim_about_a_random_pair_is_false(one: str, two: str, type_: Type) -> None:
    text = f"{one}, {two.replace('x', 'x1').replace('max1', 'max')}".replace("x1(", "x(")
    assume(re.search(r"\bx1?\b", text))
    answer = check(text, type=type_, timeout=1.0)
    Judge(json.loads(json.dumps(to_json(answer, text))), count=400).check()


def exhaust(record: dict[str, Any], type_: Type) -> None:
    """Step, associativity and identities of a one-component answer for all x and y of 8 bits, a few z, d and k."""
    dtype = np.dtype(f"{type_.code[0]}1")
    every = np.arange(int(type_.min), int(type_.max) + 1).astype(dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(every, every))
    update = parse_update(record["update"], type_)
    constants = {name: type_ for name in record["types"] if name == "k"}
    outside = {name: type_ for name in record["types"] if name != "x0"}
    operator = parse_expr(record["operator"][0], {"x0": type_, "y0": type_} | constants, type_)
    data = parse_expr(record["data"][0], outside, type_)
    ends = [int(type_.min), int(type_.max), 0, 1, 7]

    def at(expr: Expr, **values: Any) -> Any:
        return np.broadcast_to(evaluate(expr, {n: np.asarray(v, dtype=dtype) for n, v in values.items()}), x.shape)

    for k, other in itertools.product(ends[:4], ends):
        fixed = {"k": [k]} if constants else {}
        if "a" in outside:
            datum = {"a": y} | {name: [other] for name in outside if name not in ("a", "k")} | fixed
        else:
            datum = {name: [other] for name in outside if name != "k"} | fixed
        step = at(update.components[0], x0=x, **datum)
        if not np.array_equal(step, at(operator, x0=x, y0=at(data, **datum), **fixed)):
            raise Wrong(f"step at k = {k}, other = {other}")
        inside_y = inside_z = True
        for text in record["invariant"]:
            condition = parse_expr(text, {"y0": type_} | constants)
            inside_y, inside_z = at(condition, y0=y, **fixed), at(condition, y0=[other], **fixed)
        z = np.full_like(x, other)
        left = at(operator, x0=at(operator, x0=x, y0=y, **fixed), y0=z, **fixed)
        right = at(operator, x0=x, y0=at(operator, x0=y, y0=z, **fixed), **fixed)
        if ((left != right) & inside_y & inside_z).any():
            raise Wrong(f"associativity at z = {other}, k = {k}")
        if record["identity"] is not None:
            e = at(parse_expr(record["identity"][0], constants, type_), **fixed)
            if ((at(operator, x0=e, y0=y, **fixed) != y) & inside_y).any():
                raise Wrong(f"left identity at k = {k}")
            if record["identity_kind"] == "two-sided" and (at(operator, x0=x, y0=e, **fixed) != x).any():
                raise Wrong(f"right identity at k = {k}")
