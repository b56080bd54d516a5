"""Shared fixtures: where the sample data lies."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Where a run decides whether a change lands, it must not depend on the examples of the day.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest_plugins = ["tests.real.kafka", "tests.real.rtsp"]

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of sample videos, images and weights."""
    path = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no sample data at {path}: set SLUICE_DATA to the folder that holds videos/, images/, weights/")
    return path
