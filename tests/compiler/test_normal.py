"""Expressions over unbounded integers and their form: the same values everywhere, and one form for equal sums."""

from __future__ import annotations

from random import Random

from rfactor.compiler.verify.coordinates import sums
from rfactor.compiler.verify.decide import alike
from rfactor.compiler.verify.normal import Forms
from rfactor.compiler.verify.terms import TRUE, at_most, choice, evaluated, integer, minus, plus, times
from rfactor.ir.expr import Const, Expr, Op, Var
from rfactor.ir.types import BOOL, I32, I64

A, B, C = (Var(I64, name) for name in "abc")


def drawn(random: Random, depth: int) -> Expr:
    if depth == 0:
        return random.choice([A, B, C, integer(random.randint(-40, 40))])
    one, other = drawn(random, depth - 1), drawn(random, depth - 1)
    by = integer(random.choice([1, 2, 3, 16]))
    made = [plus(one, other), minus(one, other), times(one, by), times(one, other), choice(at_most(one, other), one, A)]
    return random.choice([*made, *(Op(I64, op, (one, by)) for op in ("//", "%", "min", "max"))])


def test_a_form_has_the_values_of_what_it_is_of() -> None:
    random, forms = Random(3), Forms()
    for _ in range(300):
        one = drawn(random, 4)
        condition = at_most(one, drawn(random, 2))
        for _ in range(4):
            values = {name: random.randint(-100, 100) for name in "abc"}
            assert evaluated(one, values) == evaluated(forms.of(one), values), one
            assert evaluated(condition, values) == evaluated(forms.of(condition), values), condition


def test_equal_sums_have_one_form() -> None:
    def div(a: Expr, by: int) -> Expr:
        return Op(I64, "//", (a, integer(by)))

    def least(a: Expr, b: Expr) -> Expr:
        return Op(I64, "min", (a, b))

    forms = Forms()
    for one, other in [
        (plus(A, minus(integer(3), minus(A, B))), plus(integer(3), B)),
        (div(plus(plus(times(integer(16), A), B), integer(35)), 16),
         plus(div(plus(B, integer(3)), 16), plus(A, integer(2)))),
        (least(plus(A, integer(3)), plus(B, integer(3))), plus(least(A, B), integer(3))),
        (Op(I64, "%", (A, integer(4))), minus(A, times(div(A, 4), integer(4)))),
        (at_most(plus(A, integer(1)), B), at_most(A, minus(B, integer(1)))),
    ]:  # fmt: skip
        assert forms.of(one) == forms.of(other)
    assert forms.of(div(A, 3)) != forms.of(div(plus(A, integer(1)), 3))


def test_conditions_are_alike_where_names_alone_differ() -> None:
    first = (at_most(A, plus(B, integer(1))), at_most(B, A))
    assert alike(first) == alike((at_most(C, plus(A, integer(1))), at_most(A, C)))
    assert alike(first) != alike((at_most(C, plus(A, integer(1))), at_most(C, A)))
    assert alike(first) != alike((at_most(A, plus(B, integer(2))), at_most(B, A)))


def test_a_coordinate_in_an_arm_matters_where_it_is_chosen() -> None:
    n, x = Var(I32, "n"), Var(I32, "x")
    two, three, none = (Const(I32, value) for value in (2, 3, 0))
    dividend = Op(I32, "+", (x, two))
    arm = Op(I32, "//", (dividend, three))
    chosen = Op(BOOL, ">", (n, none))
    found = dict(sums(Op(I32, "select", (chosen, arm, none))))
    assert found[dividend] == found[arm] == chosen
    both = dict(sums(Op(I32, "max", (Op(I32, "select", (chosen, arm, none)), arm))))
    assert both[arm] == both[dividend] == TRUE
