"""What the matcher finds is tested, not what it knows: that has tests of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rfactor.matcher import recognize


@pytest.fixture(autouse=True)
def _without_known_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognize, "shipped", lambda: None)


@pytest.fixture(autouse=True, scope="package")
def _answers_of_their_own() -> Iterator[None]:
    """Keep no answer of other tests here, and none of these, which the table did not give, for others."""
    recognize.forget()
    yield
    recognize.forget()
