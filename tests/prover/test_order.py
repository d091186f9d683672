"""What a preorder keeps is what a search through the recorded facts finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rfactor.prover.order import Path, Preorder

NODES = 7
facts_of_nodes = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.booleans()).filter(lambda f: f[0] != f[1]),
    max_size=14,
)


def search(facts: list[tuple[int, int, bool]], low: int, high: int) -> Path:
    """The simple way: from node to node along the facts."""
    if low == high:
        return "weak"
    best = {low: False}
    stack = [low]
    while stack:
        node = stack.pop()
        for below, above, strict in facts:
            gained = best[node] or strict
            if below == node and (above not in best or (gained and not best[above])):
                best[above] = gained
                stack.append(above)
    return "none" if high not in best else "strict" if best[high] else "weak"


def consistent(facts: list[tuple[int, int, bool]]) -> list[tuple[int, int, bool]]:
    """The facts without those that contradict earlier ones."""
    kept: list[tuple[int, int, bool]] = []
    for low, high, strict in facts:
        back = search(kept, high, low)
        if back == "none" or (back == "weak" and not strict):
            kept.append((low, high, strict))
    return kept


def made(facts: list[tuple[int, int, bool]]) -> Preorder:
    order = Preorder()
    for node in range(NODES):
        order.add(node)
    for fact in facts:
        order.know(*fact)
    return order


@given(facts_of_nodes)
def test_paths_are_those_of_a_search(drawn: list[tuple[int, int, bool]]) -> None:
    facts = consistent(drawn)
    order = made(facts)
    for low in range(NODES):
        for high in range(NODES):
            assert order.path(low, high) == search(facts, low, high)
        same = [n for n in range(NODES) if n != low and search(facts, low, n) == search(facts, n, low) == "weak"]
        assert order.equals(low) == same


@given(facts_of_nodes)
def test_the_facts_that_are_kept_say_all_that_was_recorded(drawn: list[tuple[int, int, bool]]) -> None:
    facts = consistent(drawn)
    kept = list(made(facts).facts)
    assert len(kept) <= len(facts)
    assert all(search(kept, low, high) == search(facts, low, high) for low in range(NODES) for high in range(NODES))


def test_a_copy_knows_nothing_of_what_is_decided_later() -> None:
    order = made([(0, 1, False)])
    other = order.copy()
    other.know(1, 2, True)
    assert other.path(0, 2) == "strict"
    assert order.path(0, 2) == "none"
    assert order.facts == ((0, 1, False),)
