"""``sluice doctor`` as a person and as a script see it."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from pipelines.commands.doctor import command


def test_each_line_has_its_mark_and_what_is_missing_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_BROKER", raising=False)
    done = CliRunner().invoke(command, ["--broker", "kafka://127.0.0.1:1"])
    assert done.exit_code == 1
    broker, remedy = done.output.splitlines()[-2:]
    assert broker.split()[:2] == ["missing", "broker"]
    assert remedy.split()[0] == "→"


def test_json_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLUICE_BROKER", raising=False)
    done = CliRunner().invoke(command, ["--json"])
    found = {each["what"]: each for each in json.loads(done.output)}
    assert done.exit_code == (1 if any(each["state"] == "missing" for each in found.values()) else 0)
    assert found["broker"]["state"] == "note"
    assert found["machine"]["state"] in ("ok", "note")
