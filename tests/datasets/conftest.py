"""Fixtures for the data tests."""

from __future__ import annotations

import pytest


@pytest.fixture
def no_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither mirror nor network."""
    monkeypatch.delenv("GROUPCF_DATA_MIRROR", raising=False)
    monkeypatch.setenv("GROUPCF_OFFLINE", "1")


@pytest.fixture
def online(no_mirror: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No mirror, but the network is allowed."""
    monkeypatch.delenv("GROUPCF_OFFLINE")
