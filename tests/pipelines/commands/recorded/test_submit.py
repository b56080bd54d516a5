"""``sluice submit``: options that say nothing together."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from pipelines.commands.recorded.submit import command
from serving.errors import BadInput


@pytest.mark.parametrize(
    "arguments",
    [
        ["--status", "night", "--cancel", "day"],
        ["query.yaml", "--status", "night"],
        ["--cancel", "night", "--out", "night.jsonl"],
    ],
)
def test_to_ask_about_a_job_and_to_make_one_are_two_things(arguments: list[str]) -> None:
    error = CliRunner().invoke(command, [*arguments, "--broker", "kafka://localhost:1"]).exception
    assert isinstance(error, BadInput)
    assert str(error) == "--status and --cancel stand alone: each is about one job that workers have"
