"""Shared fixtures: where the sample data lies."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import settings

from serving.common.redaction import KNOWN

# No test fails because a machine is slow; and where a run decides whether a change lands, it must not depend on the
# examples of the day.
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") or os.environ.get("SLUICE_REQUIRE_REAL") else "here")

pytest_plugins = [
    "tests.real.centerface",
    "tests.real.kafka",
    "tests.real.rtsp",
    "tests.real.secured",
    "tests.real.browser",
]

ROOT = Path(__file__).resolve().parents[1]
REAL_PARTS = ("tests/integration/", "tests/faults/", "tests/how_to/")
"""Where tests start brokers, cameras, browsers and commands, and mostly wait for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that wait among those that compute, so that tests at once neither idle nor crowd the machine."""
    files: dict[str, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.nodeid.partition("::")[0], []).append(item)
    waiting = [tests for file, tests in files.items() if file.startswith(REAL_PARTS)]
    computing = [tests for file, tests in files.items() if not file.startswith(REAL_PARTS)]
    items[:] = chain.from_iterable(evenly(waiting, computing))


def evenly(some: list[list[pytest.Item]], many: list[list[pytest.Item]]) -> list[list[pytest.Item]]:
    """Both lists as one, ``some`` at even distances from the beginning on; the orders in both stay."""
    step = len(many) // (len(some) + 1) + 1
    count = max(len(some), len(many) // step + 1)
    return [*chain.from_iterable(some[at : at + 1] + many[at * step : (at + 1) * step] for at in range(count))]


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
def _nothing_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests build and measure of models lies in a folder of their own, and is not there at the next run; models
    that the user has pulled are not there either."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        patched.setenv("SLUICE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
