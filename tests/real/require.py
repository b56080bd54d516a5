"""What a test does when a real part is missing: skip with one line, or fail where real parts are demanded."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(what: str, why: str, how: str) -> NoReturn:
    """Skip the test with one line that says what is missing, why, and how to get it.

    With ``SLUICE_REQUIRE_REAL=1`` it is a failure instead, so that a run meant to be complete cannot pass half empty.
    """
    line = f"{what} is missing: {why}. To get it: {how}"
    if os.environ.get("SLUICE_REQUIRE_REAL") == "1":
        pytest.fail(f"{line} (SLUICE_REQUIRE_REAL=1)", pytrace=False)
    pytest.skip(line)
