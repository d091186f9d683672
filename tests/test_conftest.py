"""What tests share does what it says."""

import gc
from collections.abc import Callable

import pytest

import rfactor as hl
from rfactor.compiler.language import names
from tests.conftest import free_names


@pytest.mark.parametrize("then", [None, gc.collect, gc.freeze], ids=["young", "old", "frozen"])
def test_the_name_of_what_is_in_a_cycle_is_free_again(then: Callable[[], object] | None) -> None:
    held: list[object] = [hl.Func("held")]
    known: list[object] = list(names._in_use.values())
    gc.disable()
    try:
        f = hl.Func("in_a_cycle")
        cycle: list[object] = [f]
        cycle.append(cycle)
        if then is not None:
            then()
        del f, cycle
        assert hl.Func("in_a_cycle").name() == "in_a_cycle$1"
        free_names(known)
        assert hl.Func("in_a_cycle").name() == "in_a_cycle"
        assert hl.Func("held").name() == "held$1"
    finally:
        gc.enable()
    assert len(held) == 1


def test_nothing_is_looked_through_where_all_names_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "collect", lambda generation=2: pytest.fail("collected"))
    free_names(list(names._in_use.values()))
