"""Shared fixtures: where the sample data lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from serving.common.redaction import KNOWN

# No test fails because a machine is slow; and where a run decides whether a change lands, it must not depend on the
# examples of the day.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")

pytest_plugins = [
    "tests.real.centerface",
    "tests.real.kafka",
    "tests.real.rtsp",
    "tests.real.secured",
    "tests.real.browser",
]

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of sample videos, images and weights."""
    path = Path(os.environ.get("SLUICE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no sample data at {path}: set SLUICE_DATA to the folder that holds videos/, images/, weights/")
    return path


@pytest.fixture(autouse=True)
def _no_secrets_of_other_tests() -> Iterator[None]:
    """A process keeps the secrets that it was given; a test begins without those of the tests before it."""
    yield
    KNOWN.clear()


@pytest.fixture(scope="session", autouse=True)
def _no_cache_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests build and measure of models lies in a folder of their own, and is not there at the next run."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SLUICE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
