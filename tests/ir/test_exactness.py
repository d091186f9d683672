"""Forms of unbounded integers are the same functions, or are not taken."""

from __future__ import annotations

import itertools

import pytest

from rfactor.ir.canonical import canonical
from rfactor.ir.evaluate import evaluate_scalar
from rfactor.ir.exactness import simplified_exactly
from rfactor.ir.meaning import Meaning
from rfactor.ir.parser import parse_expr
from rfactor.ir.simplify import simplify
from rfactor.ir.types import U8


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("x - 1 + 1", "x"),
        ("select(x - 2 + 1 == y - 1, x, y - 1 + 1)", "select(x - 1 == y - 1, x, y)"),
        ("2 - z - (3 + z)", None),  # -2*z - 1, not 254*z + 255
        ("select(0 - 1 == x - z, x, y)", None),
        ("min(x - y, 0)", None),  # 0 is no lower end of a difference
        ("x - y <= 0", None),
        ("x*16*16 - y", None),
    ],
)
def test_a_form_is_the_same_function_or_is_not_taken(text: str, form: str | None) -> None:
    types = dict.fromkeys("xyz", U8)
    expr = parse_expr(text, types)
    for how in (simplify, canonical):
        found = simplified_exactly(how, expr, Meaning.MATH)
        assert (found == expr) == (form is None)
        for values in itertools.product((0, 1, 2, 9, 300), repeat=3):
            env = dict(zip("xyz", values, strict=True))
            assert evaluate_scalar(found, env, Meaning.MATH) == evaluate_scalar(expr, env, Meaning.MATH)
    if form is not None:
        assert simplified_exactly(canonical, expr, Meaning.MATH) == canonical(parse_expr(form, types))
