"""A misspelt command names the one that was meant."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from pipelines.cli import sluice
from tests.real.command import sluice as command


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["wach"], "did you mean 'watch'?"),
        (["models", "lst"], "did you mean 'list'?"),
        (["xyz"], "there are init, run, "),
    ],
)
def test_a_misspelt_command_names_what_was_meant(typed: list[str], meant: str) -> None:
    done = CliRunner().invoke(sluice, typed)
    assert done.exit_code == 2
    assert f"there is no command {typed[-1]!r}: " in done.output
    assert meant in done.output


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["serve", "yard.yaml"], "Got unexpected extra argument (yard.yaml): see `sluice serve --help`"),
        (["models", "list", "x"], "Got unexpected extra argument (x): see `sluice models list --help`"),
        (["check", "q.yaml", "--zzz"], "No such option: --zzz: see `sluice check --help`"),
        (["check"], "Missing argument 'QUERY': see `sluice check --help`"),
        (["run", "clip.mp4", "--limit", "0"], "Invalid value for '--limit': 0 is not in the range x>=1."),
    ],
)
def test_a_word_too_many_or_too_few_is_told_with_where_to_read_which_there_are(typed: list[str], said: str) -> None:
    done = command(*typed)
    assert (done.returncode, done.stderr) == (2, f"sluice: error: {said}\n")


def test_a_misspelt_option_names_what_was_meant_and_nothing_more() -> None:
    done = command("run", "clip.mp4", "--lmit", "3")
    assert "--limit" in done.stderr
    assert "--help" not in done.stderr


def test_debug_is_listed() -> None:
    assert "--debug" in CliRunner().invoke(sluice, ["--help"]).output


def test_commands_that_exist_are_found() -> None:
    assert isinstance(sluice, click.Group)
    assert CliRunner().invoke(sluice, ["models", "--help"]).exit_code == 0


def test_commands_can_be_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMP_WORDS", "sluice wor")
    monkeypatch.setenv("COMP_CWORD", "1")
    done = CliRunner().invoke(sluice, env={"_SLUICE_COMPLETE": "bash_complete"}, prog_name="sluice")
    assert done.output.split() == ["plain,worker"]


@pytest.mark.parametrize("arguments", [[], ["topics"]])
def test_without_a_subcommand_the_help_is_shown_as_it_is(arguments: list[str]) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: ")
    assert "error" not in done.stderr
