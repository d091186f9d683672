"""What the matcher finds is tested, not what it knows: that has tests of its own."""

from __future__ import annotations

import pytest

from rfactor.matcher import recognize


@pytest.fixture(autouse=True)
def _without_known_reductions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recognize, "shipped", lambda: None)
