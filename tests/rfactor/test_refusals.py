"""What cannot be factored is refused, with the condition that fails and what would work."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rfactor.compiler.rfactor import factor
from rfactor.errors import FactorError
from rfactor.ir.algorithm import Definition, Function, Image
from rfactor.ir.expr import Expr
from rfactor.ir.types import I32
from rfactor.ir.update import Update
from rfactor.matcher.answer import Answer
from tests.rfactor.programs import Recognize, answering, expr, function, i32, over, read, reduction, refusing, var

A = Image("a", I32, 1)
V = read(A, var("r"))
LOOPS = over(("r", 4), ("s", 3))
ADD = answering("x0 + y0", "0")
SUM = reduction([i32(0)], ["x0 + v"], LOOPS, v=V)
AFFINE = reduction([i32(1), i32(0)], ["x0 * v", "x1 * v + 3"], LOOPS, v=V)


def refused(f: Function, *pairs: tuple[str, str], recognize: Recognize = ADD) -> str:
    with pytest.raises(FactorError) as caught:
        factor(f, 0, pairs, "intm", recognize=recognize)
    said = str(caught.value)
    assert said.startswith(f"rfactor of {f.name}.update(0) over {', '.join(r for r, _ in pairs) or 'nothing'}: ")
    return said


def updating(value: str, left: Expr, where: Expr | None = None, **data: Expr) -> Function:
    """`f(left) = value` over the loops, with `a` the point itself and `b` its neighbour."""

    def update(f: Function) -> Definition:
        parts = {"a": f.at((left,)), "b": f.at((expr("p + 1", p=left),)), "v": V, **data}
        return Definition((left,), (expr(value, I32, **parts),), over(("r", 4), ("s", 3), where=where))

    return function("f", ("x",), [i32(0)], update)


def never(update: Update) -> Answer:
    raise AssertionError("the form was to be refused before the matcher was asked")


def test_a_reference_to_another_point() -> None:
    said = refused(updating("a + b", var("s")), ("s", "u"), recognize=never)
    assert "it reads f(s + 1), another point than f(s), which it writes" in said


def test_the_same_point_written_differently_is_accepted() -> None:
    left = expr("s + 1", s=var("s"))
    f = function(
        "f", ("x",), [i32(0)],
        lambda f: Definition((left,), (expr("a + v", a=f.at((expr("1 + s + 0", s=var("s")),)), v=V),), LOOPS),
    )  # fmt: skip
    factor(f, 0, (("s", "u"),), "intm", recognize=ADD)


def test_data_that_depend_on_the_accumulator() -> None:
    f = function(
        "f", (), [i32(0)], lambda f: Definition((), (expr("a + w", a=f.at(()), w=read(A, f.at(()))),), LOOPS)
    )  # fmt: skip
    assert "it reads a(f()), at a place that depends on f()" in refused(f, ("s", "u"), recognize=never)


def test_a_point_that_depends_on_the_accumulator() -> None:
    f = function(
        "f", ("x",), [i32(0)],
        lambda f: Definition((p := f.at((i32(0),)),), (expr("a + 1", a=f.at((p,))),), LOOPS),
    )  # fmt: skip
    assert "the point that is written depends on f(0)" in refused(f, ("s", "u"), recognize=never)


def test_a_predicate_that_depends_on_the_accumulator() -> None:
    f = function("f", (), [i32(0)], lambda f: Definition(
        (), (expr("a + v", a=f.at(()), v=V),), over(("r", 4), ("s", 3), where=expr("a < 9", a=f.at(()))),
    ))  # fmt: skip
    assert "the predicate (where) depends on f(), that is on what f holds" in refused(f, ("s", "u"), recognize=never)


def test_an_update_without_an_operator_says_why_and_where() -> None:
    f = reduction([i32(0)], ["abs(x0 - v)"], LOOPS, v=V)
    said = refused(f, ("s", "u"), recognize=refusing("e + 1 and e - 1 cannot be told apart", e=0, x=5))
    assert "the update x0 := abs(x0 - a) (a = a(r)) is not associative: e + 1 and e - 1 cannot be told apart" in said
    assert "counterexample: e = 0, x = 5" in said
    assert said.endswith("Keep its loop serial, or write it with an associative operator")


def test_unknown_is_not_a_yes() -> None:
    def unknown(update: Update) -> Answer:
        return Answer(update, "unknown", reason="the limit was reached")

    assert "was not proved to be associative: the limit was reached" in refused(SUM, ("s", "u"), recognize=unknown)


def test_assumptions_are_not_taken_for_granted() -> None:
    def assuming(update: Update) -> Answer:
        return replace(ADD(update), assumes=(expr("p != 0", p=var("a")),))

    assert "is associative only if a != 0, which is not known here" in refused(SUM, ("s", "u"), recognize=assuming)


@pytest.mark.parametrize("kind", ["right", "none"])
def test_an_operator_without_a_left_identity(kind: str) -> None:
    recognize = answering("2 * x0 * y0", "0", kind)  # type: ignore[arg-type]
    assert "has no left identity (claim left_identity)" in refused(SUM, ("s", "u"), recognize=recognize)


@pytest.mark.parametrize(("commutative", "said"), [(False, "does not commute"), (None, "was not proved to commute")])
def test_inner_loops_of_an_operator_that_does_not_commute(commutative: bool | None, said: str) -> None:
    affine = answering("x0*y0, x1*y0 + y1", "1, 0", commutative=commutative, data="a, 3")
    message = refused(AFFINE, ("r", "u"), recognize=affine)
    assert f"the operator x0 * y0, x1 * y0 + y1 {said} (claim commutative), not even with ties decided" in message
    assert "the loops are, from the outside, s, r" in message
    assert message.endswith("Factor s first, or split it")


def test_outer_loops_need_no_commutativity() -> None:
    affine = answering("x0*y0, x1*y0 + y1", "1, 0", commutative=False, data="a, 3")
    factor(AFFINE, 0, (("s", "u"),), "intm", recognize=affine)
    factor(AFFINE, 0, (("r", "v"), ("s", "u")), "intm", recognize=affine)


def test_loops_that_stand_alone_on_the_left_have_no_order() -> None:
    clamped = answering("min(max(x0, 3), y0)", "2147483647", "left", commutative=False, data="a")
    factor(updating("min(max(a, 3), v)", var("s")), 0, (("r", "u"),), "intm", recognize=clamped)
    refused(updating("min(max(a, 3), v)", expr("s // 2", s=var("s"))), ("r", "u"), recognize=clamped)


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ((("q", "u"),), "q is no reduction variable of this update; it has s, r (outermost first)"),
        ((("s", "u"), ("s", "v")), "s is named twice"),
        ((("s", "u"), ("r", "u")), "the variable u is given twice"),
        ((("s", "x"),), "the name x is taken in f"),
        ((("s", "r"),), "the name r is taken in f"),
        ((("s", "k"),), "the name k is taken in f"),
    ],
)
def test_pairs_that_do_not_fit(pairs: tuple[tuple[str, str], ...], said: str) -> None:
    assert said in refused(updating("a + v * k", var("x"), k=var("k")), *pairs, recognize=never)


def test_an_update_without_a_domain_has_nothing_to_factor() -> None:
    plain = replace(SUM, updates=(Definition((), (i32(3),)),))
    assert refused(plain, recognize=never).endswith("it has no reduction variables: there is nothing to factor")


def test_a_new_variable_may_have_the_name_of_the_loop_that_it_replaces() -> None:
    found = factor(SUM, 0, (("s", "s"),), "intm", recognize=ADD)
    assert found.intermediate.variables == ("s",)
