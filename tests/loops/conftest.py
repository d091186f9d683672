"""Tests of loops fold short ones too, which calls leave to Python."""

import pytest

from rfactor.loops.fold import Call


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Leave fewer steps to Python than calls do."""
    monkeypatch.setattr(Call, "few", 48)
