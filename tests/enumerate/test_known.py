"""The list of reductions that people write: how it is read, and that all of it can be asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

import rfactor.data
from rfactor.enumerate.known import Question, families

TEXT = """
# a comment
[count/where] u8 reals; wrap math; c bool, x1 T, i i32
o = <; |
x0 + {T}(c)
select(c, x0 + 256, x0), select(a < x0, a, x1), i

[plain] bool
x | a
"""


def test_the_format() -> None:
    count, plain = families(TEXT)
    assert (count.name, count.types, count.semantics) == ("count/where", ("u8", "f32", "f64"), ("wrap", "math"))
    assert count.choices == {"o": ["<", "|"]}
    assert count.typed == {"c": "bool", "x1": "T", "i": "i32"}
    assert list(count.questions("x0 + {T}(c)"))[:3] == [
        Question("x0 + u8(c)", "u8", (("c", "bool"),), "wrap"),
        Question("x0 + u8(c)", "u8", (("c", "bool"),), "math"),
        Question("x0 + f32(c)", "f32", (("c", "bool"),), "wrap"),
    ]
    assert list(plain.questions("x | a")) == [Question("x | a", "bool", (), "wrap")]


def test_what_does_not_fit_a_type_is_not_asked_of_it() -> None:
    count, _ = families(TEXT)
    asked = list(count.questions(count.templates[1]))
    assert {q.type for q in asked} == {"f32", "f64"}
    assert asked[0].types == (("c", "bool"), ("x1", "f32"), ("i", "i32"))
    assert {q.semantics for q in asked} == {"wrap", "math"}  # i is an integer


def test_choices_are_combined() -> None:
    (family,) = families("[f] u8\no = |; &\nn = 1; 2\n(x {o} a) + {n}\n")
    assert [q.update for q in family.questions(family.templates[0])] == [
        "(x | a) + 1", "(x & a) + 1", "(x | a) + 2", "(x & a) + 2",
    ]  # fmt: skip


def test_what_is_no_family_is_refused() -> None:
    with pytest.raises(ValueError, match="no head of a family: x \\+ a"):
        list(families("x + a\n"))


def test_every_template_can_be_asked_about() -> None:
    text = (Path(rfactor.data.__file__).parent / "reductions.txt").read_text(encoding="utf-8")
    unread = [
        template
        for family in families(text)
        for template in family.templates
        if next(family.questions(template), None) is None
    ]
    assert not unread
