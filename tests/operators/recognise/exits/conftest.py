"""Exits are tuned early here, so that a scene need not last long."""

from __future__ import annotations

import pytest

from operators.recognise.audits import auditor
from operators.recognise.exits import heard_exits
from tests.operators.recognise.exits.crossing import FIRST_TUNING


@pytest.fixture(autouse=True)
def tuned_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heard_exits, "FIRST_TUNING", FIRST_TUNING)
    monkeypatch.setattr(auditor, "BLOCK_S", 0.1)  # a frame
