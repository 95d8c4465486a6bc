"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Directory of the data mirror; tests that need it are skipped by name without."""
    value = os.environ.get("GROUPCF_DATA_MIRROR", "").strip()
    if not value:
        pytest.skip("GROUPCF_DATA_MIRROR is not set: data of public repositories not at hand")
    return Path(value)
