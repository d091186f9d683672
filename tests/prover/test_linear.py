"""Machine integers read as sums less a multiple of 2^width: the solver's answer is what trying every value says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rfactor.ir.evaluate import evaluate
from rfactor.ir.expr import Expr, Var, apply
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.types import I8, I16, U8, U16, Type
from rfactor.prover.limits import Limits
from rfactor.prover.smt import Sat, Unsat, solve

LEAVES = st.sampled_from(["a", "a", "b", "b", "0", "1", "100", "127"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.sampled_from(
        [
            "({} + {})", "({} - {})", "min({}, {})", "max({}, {})", "({} - 3*{})", "({} // 7 + {})", "({} % 5 - {})",
            "select({0} < {1}, {1}, {0} + {1})",
        ]
    )  # fmt: skip
    return st.builds(lambda shape, one, two: shape.format(one, two), binary, inner, inner)


SUMS = st.recursive(LEAVES, _grown, max_leaves=5)
WIDE = {U8: U16, I8: I16}


def every(type_: Type) -> dict[str, np.ndarray]:
    values = np.arange(int(type_.min), int(type_.max) + 1).astype(f"{type_.code[0]}1")
    a, b = (grid.ravel() for grid in np.meshgrid(values, values))
    return {"a": a, "b": b}


@settings(max_examples=150, deadline=None)
@given(SUMS, SUMS, st.sampled_from([U8, I8]), st.booleans())
def test_sums_of_machine_integers_are_equal_where_every_value_says_so(
    one: str, other: str, type_: Type, widened: bool
) -> None:
    kind = WIDE[type_] if widened else type_
    if widened:
        one, other = f"{kind}({one}) + {kind}(b)", f"{kind}({other}) + {kind}(a)"
    names = {"a": type_, "b": type_}
    left, right = (parse_expr(text, names, kind) for text in (one, other))
    different: Expr = apply("!=", left, right)
    found = np.broadcast_to(evaluate(different, every(type_), Meaning.WRAP), (1 << 16,))
    outcome = solve([different], Meaning.WRAP, Limits(rlimit=20_000_000), linear=True)
    if isinstance(outcome, Unsat):
        assert not found.any()
    elif isinstance(outcome, Sat):
        assert found.any()
        point = {name: np.array([outcome.model.get(name, 0)]).astype(f"{type_.code[0]}1") for name in names}
        assert evaluate(different, point, Meaning.WRAP)[0]


def test_a_conversion_of_floats_differs_by_the_type_it_gives() -> None:
    f = Var(parse_expr("f32(a)", {"a": I8}).type, "f")
    left = parse_expr("u16(u8(f))", {"f": f.type})
    right = parse_expr("u16(f)", {"f": f.type})
    assert not isinstance(solve([apply("!=", left, right)], Meaning.WRAP, Limits(), linear=True), Unsat)
